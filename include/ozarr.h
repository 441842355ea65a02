/*
 * ozarr: Zarr arrays for simulation codes.                      SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Write a field:
 *
 *     ozarr_array *t = NULL;
 *     int64_t shape[] = {100, 64, 64}, start[] = {0, 0, 0}, count[] = {1, 64, 64};
 *     if (ozarr_array_create("run.zarr/temperature", OZARR_FLOAT64, 3, shape, NULL, OZARR_CREATE_NEW, &t))
 *         goto fail;
 *     if (ozarr_array_write_region(t, start, count, OZARR_FLOAT64, u, sizeof u)) goto fail;
 *     if (ozarr_array_close(t)) goto fail;
 *
 * Read a plane of it, in another program:
 *
 *     ozarr_array *t = NULL;
 *     if (ozarr_array_open("run.zarr/temperature", "r", &t) != OZARR_OK) {
 *         fprintf(stderr, "%s\n", ozarr_last_error());
 *         return 1;
 *     }
 *     double plane[64][64];
 *     int64_t start[] = {10, 0, 0}, count[] = {1, 64, 64};
 *     ozarr_status s = ozarr_array_read_region(t, start, count, OZARR_FLOAT64, plane, sizeof plane);
 *     ozarr_array_free(t);
 *
 * The rules, for all functions:
 *
 * Statuses.  0 (OZARR_OK) is success, errors are negative; ozarr_last_error() says what was found and what
 *            was expected. Output arguments come last. They are written only on
 *            success, except where a function says so: but a variable for a new handle is NULL after a
 *            failure.
 * Errors.    Each function's text names its errors after "Errors:". Not named there are those that any
 *            function can have: OZARR_ERR_NULL for a pointer, OZARR_ERR_INVALID_HANDLE and OZARR_ERR_FORKED
 *            for a handle, OZARR_ERR_ARGUMENT for a text that is not UTF-8 and for a struct_size that cannot
 *            be, OZARR_ERR_UNSUPPORTED for members of a later version's struct, OZARR_ERR_BUFFER_SIZE for
 *            texts out, OZARR_ERR_NO_MEMORY, and OZARR_ERR_INTERNAL. "Those of" stands for
 *            - documents: the metadata are malformed or not understood, or another process has just changed
 *              them: OZARR_ERR_METADATA, OZARR_ERR_UNSUPPORTED, OZARR_ERR_EXTENSION, OZARR_ERR_LIMIT,
 *              OZARR_ERR_CONFLICT, OZARR_ERR_STATE; or the node of a handle, or its checkpoint, was removed,
 *              or one of the other kind or a file took its place: OZARR_ERR_NOT_FOUND, OZARR_ERR_NODE_KIND,
 *              OZARR_ERR_LOCATION; or they are to be changed, of an array that this program has erased or
 *              replaced since: OZARR_ERR_STATE;
 *            - chunks: their bytes cannot be decoded: OZARR_ERR_CHUNK, OZARR_ERR_CHECKSUM,
 *              OZARR_ERR_SHARD_INDEX, OZARR_ERR_TRUNCATED, OZARR_ERR_MISSING, OZARR_ERR_UNSUPPORTED,
 *              OZARR_ERR_LIMIT; or they are to be stored, of an array that this program has erased or
 *              replaced since: OZARR_ERR_STATE, or another one: OZARR_ERR_NOT_FOUND;
 *            - stores: the system, the server or a store of your own fails: OZARR_ERR_IO,
 *              OZARR_ERR_NO_SPACE, OZARR_ERR_PERMISSION, OZARR_ERR_TOO_MANY_FILES, OZARR_ERR_CONFLICT,
 *              OZARR_ERR_PARTIAL, OZARR_ERR_TIMEOUT, OZARR_ERR_NETWORK, OZARR_ERR_THROTTLED,
 *              OZARR_ERR_RANGES, OZARR_ERR_TRUNCATED, OZARR_ERR_LIMIT, OZARR_ERR_UNSUPPORTED for what a
 *              kind of store cannot do, and OZARR_ERR_CALLBACK.
 * Handles.   Release every handle with its _close (flushes, and returns the result) or its _free (does not
 *            report errors). A NULL handle is an error, except to free. The functions of a freed handle
 *            report an error, not a crash.
 * Threads.   Functions on a pointer to const may run at the same time in any threads on the same handle,
 *            reading and writing of regions (hyperslabs) among them. Other functions are serialised for each
 *            handle by an internal lock.
 * Signals.   No function may be called in a signal handler, as malloc may not: let it set a flag, and look at
 *            that between two steps.
 * Callbacks. Neither a C++ exception nor a longjmp may leave a function of yours that the library calls. A
 *            status other than OZARR_OK that it returns stops the call, which returns it, too, whether the
 *            call's text names it or not; a number that is none stops it with OZARR_ERR_CALLBACK.
 * Texts in   are UTF-8 and end in NUL. They, and all other memory of the caller, are used during the call
 *            only.
 * Texts out  go to `buf`, which has `cap` bytes, with a NUL at the end. `*len` is the length without the NUL,
 *            and is set also when the buffer is too small (OZARR_ERR_BUFFER_SIZE). `buf` NULL with `cap` 0
 *            asks for the length only; `len` may be NULL.
 * Numbers    int64_t for shapes, indices, steps and byte strides, one for each dimension (the pointer may be
 *            NULL for rank 0); size_t for bytes.
 * Side effects. The library prints nothing, installs no signal handlers, and preserves errno and the
 *            floating-point environment.
 */

/* Generated from the sources by cbindgen: a change here is lost. */

#ifndef OZARR_H
#define OZARR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__STRICT_ANSI__) && !defined(__cplusplus)
#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L
#error "ozarr.h needs C99 or newer: -std=c99"
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The compiler warns where a status is dropped; define OZARR_CHECKED as nothing first to be left alone.
 * From C++17 and C23 on, (void) in front of a call says that its status is dropped on purpose. */
#ifndef OZARR_CHECKED
#if defined(__cplusplus) ? __cplusplus >= 201703L : defined(__STDC_VERSION__) && __STDC_VERSION__ > 201710L
#define OZARR_CHECKED [[nodiscard]]
#elif defined(__GNUC__)
#define OZARR_CHECKED __attribute__((warn_unused_result))
#else
#define OZARR_CHECKED
#endif
#endif

/* ========================================================================================================
 * Statuses and errors
 * ========================================================================================================
 *
 * Every function that can fail returns an `ozarr_status`: `OZARR_OK` (0), or a negative number that says
 * what kind of thing went wrong. The groups are: -1xx an argument, -2xx the state of things, -3xx
 * metadata, -4xx stored data, -5xx the store, -6xx the operating system, -7xx a limit, -9xx the library
 * itself. Numbers are never reused; new ones may come.
 *
 * The message of the last failure in this thread is `ozarr_last_error()`: one line that names the key and
 * the field, what was found and what was expected. Successful calls leave it as it is. */

/** `OZARR_OK`, or one of the negative numbers `OZARR_ERR_...`; never positive. */
typedef int32_t ozarr_status;

enum {
    OZARR_OK = 0,                        /**< The call did what it says. */
    OZARR_ERR_ARGUMENT = -101,           /**< An argument has a value that is never allowed. */
    OZARR_ERR_NULL = -102,               /**< A pointer argument is NULL that must not be. */
    OZARR_ERR_BOUNDS = -103,             /**< A region, index or axis is outside of the array. */
    OZARR_ERR_RANK = -104,               /**< A rank differs from the array's, or exceeds the limit. */
    /** A buffer is smaller than needed; for a fixed-size value: of another size. */
    OZARR_ERR_BUFFER_SIZE = -105,
    OZARR_ERR_TYPE = -106,               /**< A type cannot be converted into the other. */
    OZARR_ERR_RANGE = -107,              /**< A value does not fit into the type that it is converted to. */
    OZARR_ERR_NAME = -108,               /**< A node or attribute name is not allowed. */
    /** A location (path or URL) cannot be understood, or a file is where a directory is expected. */
    OZARR_ERR_LOCATION = -109,
    OZARR_ERR_INVALID_HANDLE = -110,     /**< A handle is stale, freed, or of another kind. */
    OZARR_ERR_READ_ONLY = -201,          /**< The store, or the handle, is open for reading only. */
    OZARR_ERR_EXISTS = -202,             /**< A node already exists where one should be created. */
    OZARR_ERR_STATE = -203,              /**< The call does not fit the handle's present state. */
    OZARR_ERR_AGAIN = -204,              /**< The work would have to wait; try again. */
    OZARR_ERR_CANCELLED = -205,          /**< The request was cancelled. */
    OZARR_ERR_FORKED = -206,             /**< The handle or request belongs to the process before `fork`. */
    OZARR_ERR_NOT_FOUND = -301,          /**< There is no node, attribute or key of that name. */
    OZARR_ERR_NODE_KIND = -302,          /**< The node is an array where a group is needed, or the reverse. */
    OZARR_ERR_METADATA = -303,           /**< A metadata document is malformed or contradicts itself. */
    OZARR_ERR_UNSUPPORTED = -304,        /**< Known by name only, or not at all: a codec, type or feature. */
    OZARR_ERR_EXTENSION = -305,          /**< An extension that must be understood is not. */
    OZARR_ERR_CHUNK = -401,              /**< The bytes of a chunk cannot be decoded. */
    OZARR_ERR_CHECKSUM = -402,           /**< A checksum does not match. */
    OZARR_ERR_SHARD_INDEX = -403,        /**< The index of a shard is damaged. */
    OZARR_ERR_MISSING = -404,            /**< A chunk is missing where that was asked to be an error. */
    OZARR_ERR_TRUNCATED = -405,          /**< Stored bytes end too early. */
    OZARR_ERR_PERMISSION = -501,         /**< The store refuses access. */
    OZARR_ERR_CONFLICT = -502,           /**< Another writer changed the key in between. */
    OZARR_ERR_TIMEOUT = -503,            /**< The store did not answer in time. */
    OZARR_ERR_NETWORK = -504,            /**< The network or the server failed. */
    OZARR_ERR_THROTTLED = -505,          /**< The server asks for fewer requests. */
    OZARR_ERR_RANGES = -506,             /**< The server does not serve byte ranges. */
    /** A store of the program's own has stored a part of a write; ozarr never says so. */
    OZARR_ERR_PARTIAL = -507,
    OZARR_ERR_IO = -601,                 /**< The operating system reports an input or output error. */
    OZARR_ERR_NO_SPACE = -602,           /**< The device or quota is full. */
    OZARR_ERR_NO_MEMORY = -603,          /**< Memory cannot be had. */
    OZARR_ERR_TOO_MANY_FILES = -604,     /**< The limit of open files is reached. */
    OZARR_ERR_LIMIT = -701,              /**< A limit of the library is exceeded. */
    OZARR_ERR_INTERNAL = -901,           /**< A defect of the library (a caught panic). */
    OZARR_ERR_CALLBACK = -902            /**< A callback of the caller failed. */
};

/**
 * Returns the name of `status`, such as `"OZARR_ERR_BOUNDS"`; `"OZARR_ERR_UNKNOWN"` for a number that
 * this version does not define. The string is never NULL, and must not be freed.
 */
const char *ozarr_status_name(ozarr_status status);

/**
 * Returns the message of the calling thread's last failure; an empty string if there was none. It is
 * never NULL, and must not be freed.
 *
 * The string is valid until the next call that fails in this thread: copy it to keep it longer.
 */
const char *ozarr_last_error(void);

/** Which index runs fastest in memory. */
typedef int32_t ozarr_order;

enum {
    OZARR_ORDER_C = 0,                   /**< The last index (row-major, as in C). */
    OZARR_ORDER_F = 1                    /**< The first index (column-major, as in Fortran). */
};

/**
 * Returns the message of `ozarr_last_error` for a language with that order of dimensions: with
 * `OZARR_ORDER_F` the message has the dimensions of indices and shapes reversed, and counts dimensions
 * and indices from 1, as Fortran and Julia do.
 */
const char *ozarr_last_error_in(ozarr_order order);

/**
 * The details of the calling thread's last failure. The strings are never NULL, and are valid as long
 * as that of `ozarr_last_error`.
 */
typedef struct ozarr_error_info {
    /** `sizeof(ozarr_error_info)`, set by the caller before the call. */
    size_t struct_size;
    /** The status that the call returned; `OZARR_OK` if nothing failed yet in this thread. */
    ozarr_status status;
    /** The operating system's `errno`, or 0. */
    int32_t os_errno;
    /** The HTTP status that a server gave, or 0. */
    int32_t http_status;
    /** 0. */
    int32_t reserved;
    /** The message, as of `ozarr_last_error`. */
    const char *message;
    /** The key in the store that the error is about (`"run/t/zarr.json"`), or an empty text. */
    const char *key;
    /**
     * The member of a metadata document, or the codec (`"codecs[0].configuration.level"`), or an empty
     * text.
     */
    const char *field;
} ozarr_error_info;

/** The first value of an `ozarr_error_info`: {0} with its size. */
#define OZARR_ERROR_INFO_INIT \
    {sizeof(ozarr_error_info), 0, 0, 0, 0, NULL, NULL, NULL}

/** Gives `*error_info` the value OZARR_ERROR_INFO_INIT. */
static inline void ozarr_error_info_init(ozarr_error_info *error_info) {
    const ozarr_error_info init = OZARR_ERROR_INFO_INIT;
    *error_info = init;
}

/**
 * Fills `info` with the details of the calling thread's last failure. The caller sets
 * `info->struct_size` before (`OZARR_ERROR_INFO_INIT`).
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_last_error_info(ozarr_error_info *info);

/* ========================================================================================================
 * The library
 * ======================================================================================================== */

#define OZARR_VERSION_MAJOR 0            /**< The version of this header: the major number. */
#define OZARR_VERSION_MINOR 2            /**< The minor number. */
#define OZARR_VERSION_PATCH 0            /**< The number of the correction. */
/** All three: 10000 * major + 100 * minor + patch, for `#if OZARR_VERSION_NUMBER >= 300`. */
#define OZARR_VERSION_NUMBER 200
/**
 * The version of the binary interface, which is also that in the library's name (`libozarr.so.1`). It changes
 * only when a program that was compiled before can no longer run; a program runs on every later library of
 * the same number. docs/stability.md says what that promises.
 */
#define OZARR_ABI_VERSION 1

/** Returns the version of the library that runs, such as `"0.2.0"`. The string must not be freed. */
const char *ozarr_version(void);

/** Returns the OZARR_ABI_VERSION of the library that runs. */
int32_t ozarr_abi_version(void);

/**
 * Returns whether this build has the codec, store or format `name`: `"zstd"`, `"blosc"`, `"lzma"`,
 * `"sharding"`, `"transpose"`, `"memory"`, `"zip"`, `"cloud"`, `"v2"`, ... Codecs have their names in
 * metadata, of v2 or v3, stores those of locations: `"file"`, `"s3"`, `"https"`. False for names that it
 * does not know, and for NULL.
 */
bool ozarr_has_feature(const char *name);

/* ========================================================================================================
 * Handles and numbers
 * ========================================================================================================
 *
 * A handle refers to an open object. It is not an address: using one that was freed, or one of another
 * type, is an error (`OZARR_ERR_INVALID_HANDLE`) and never a crash. Release every handle with its own
 * `..._close` or `..._free`. `..._free` takes NULL; for a handle that was freed before it does nothing
 * but set `ozarr_last_error()`. The order does not matter: an array stays usable after its store's
 * handle is freed. */

/** An array: open for reading, or for reading and writing. */
typedef struct ozarr_array ozarr_array;

/** A group: a directory of arrays and groups, with attributes. */
typedef struct ozarr_group ozarr_group;

/**
 * An array or a group, for what both have: attributes, path, metadata. It is the handle of the array or
 * group itself (`ozarr_array_node`, `ozarr_group_node`), and ends with it.
 */
typedef struct ozarr_node ozarr_node;

/**
 * What an array to be created is like: shape, type, chunks, codecs, names. Changed by setters, used any
 * number of times.
 */
typedef struct ozarr_spec ozarr_spec;

/** A store: what holds a hierarchy. A directory, a zip archive, an object store, or memory. */
typedef struct ozarr_store ozarr_store;

/** A cursor over the children of a group. */
typedef struct ozarr_node_iter ozarr_node_iter;

/** Elements of variable length that were read. */
typedef struct ozarr_varlen ozarr_varlen;

/** A cursor over the stored chunks of an array. */
typedef struct ozarr_chunk_iter ozarr_chunk_iter;

/** A shard that is being written, inner chunk by inner chunk. */
typedef struct ozarr_shard_writer ozarr_shard_writer;

/** An appender: makes an array longer along one dimension, step by step. */
typedef struct ozarr_appender ozarr_appender;

/** The steps of a run: the variables of a dataset grow together along one dimension. */
typedef struct ozarr_series ozarr_series;

/** A dataset: a group whose arrays share named dimensions. */
typedef struct ozarr_dataset ozarr_dataset;

/** A non-blocking read or write, which goes on while the program does other things. */
typedef struct ozarr_request ozarr_request;

/** Settings that stores are opened with, such as the number of threads. */
typedef struct ozarr_context ozarr_context;

/** A data type: describes elements, also those for which `ozarr_type` has no number. */
typedef struct ozarr_dtype ozarr_dtype;

/** What a function of a store of your own gives for a key. */
typedef struct ozarr_answer ozarr_answer;

/** Where a function of a store of your own lists keys. */
typedef struct ozarr_keys ozarr_keys;

/**
 * The type of the elements in your memory, or of an array: one of the constants below. In your memory they
 * are always in this machine's byte order. Those of fewer than 8 bits have a byte each: the library writes
 * the sign (of `OZARR_INT2`, `OZARR_INT4`) or 0 into its upper bits, and ignores them when it reads.
 */
typedef int32_t ozarr_type;

enum {
    OZARR_AS_STORED = 0,                 /**< In calls that move elements: the array's own type. */
    OZARR_BOOL = 1,                      /**< One byte, 0 or 1 (C99 `bool`). */
    OZARR_INT8 = 2,                      /**< `int8_t` */
    OZARR_INT16 = 3,                     /**< `int16_t` */
    OZARR_INT32 = 4,                     /**< `int32_t` */
    OZARR_INT64 = 5,                     /**< `int64_t` */
    OZARR_UINT8 = 6,                     /**< `uint8_t` */
    OZARR_UINT16 = 7,                    /**< `uint16_t` */
    OZARR_UINT32 = 8,                    /**< `uint32_t` */
    OZARR_UINT64 = 9,                    /**< `uint64_t` */
    OZARR_FLOAT16 = 10,                  /**< IEEE 754 binary16, two bytes */
    OZARR_FLOAT32 = 11,                  /**< `float` */
    OZARR_FLOAT64 = 12,                  /**< `double` */
    OZARR_COMPLEX64 = 13,                /**< Two `float`: real and imaginary part (C99 `float complex`) */
    OZARR_COMPLEX128 = 14,               /**< Two `double`: real and imaginary part (C99 `double complex`) */
    OZARR_INT2 = 15,                     /**< -2 to 1, a byte with its sign */
    OZARR_INT4 = 16,                     /**< -8 to 7, a byte with its sign */
    OZARR_UINT2 = 17,                    /**< 0 to 3, a byte */
    OZARR_UINT4 = 18,                    /**< 0 to 15, a byte */
    OZARR_BFLOAT16 = 19,                 /**< The upper half of a `float`, two bytes */
    OZARR_FLOAT8_E3M4 = 20,              /**< 8 bits: 3 of exponent, 4 of mantissa */
    OZARR_FLOAT8_E4M3 = 21,              /**< 8 bits with infinities, as in IEEE 754; not `float8_e4m3fn` */
    OZARR_FLOAT8_E4M3B11FNUZ = 22,       /**< 8 bits, bias 11; no infinities, one NaN */
    OZARR_FLOAT8_E4M3FNUZ = 23,          /**< 8 bits, bias 8; no infinities, one NaN */
    OZARR_FLOAT8_E4M3FN = 24,            /**< 8 bits without infinities, up to 448 */
    OZARR_FLOAT8_E5M2 = 25,              /**< The upper half of a binary16 */
    OZARR_FLOAT8_E5M2FNUZ = 26,          /**< 8 bits, bias 16; no infinities, one NaN */
    OZARR_FLOAT8_E8M0FNU = 27,           /**< The powers of two from 2^-127 to 2^127, and NaN; no zero */
    OZARR_FLOAT6_E2M3FN = 28,            /**< 6 bits in a byte, -7.5 to 7.5; numbers only */
    OZARR_FLOAT6_E3M2FN = 29,            /**< 6 bits in a byte, -28 to 28; numbers only */
    OZARR_FLOAT4_E2M1FN = 30,            /**< 4 bits in a byte, -6 to 6; numbers only */
    /** Another type: the answer for arrays of text, times and structs; in `ozarr_memory`, that of `dtype` */
    OZARR_BY_DTYPE = 100,
    /** UTF-8 text of any length; written and read by the functions for variable length */
    OZARR_STRING = 101,
    /** Bytes of any length; written and read by the functions for variable length */
    OZARR_BYTES = 102,
    /** Any JSON value, as its text; format 2 only; written and read by the functions for variable length */
    OZARR_JSON = 103,
    /** The answer for arrays of lists of numbers; written and read by the functions for variable length */
    OZARR_LIST = 104
};

/**
 * What to do with a number that does not fit into the type that it is converted to, in memory or in the
 * array. Converting NaN to an integer, to bool or to a type without NaN is always `OZARR_ERR_RANGE`,
 * whatever this setting.
 */
typedef int32_t ozarr_overflow;

enum {
    OZARR_OVERFLOW_ERROR = 0,            /**< `OZARR_ERR_RANGE`. */
    /**
     * Integers modulo 2^n, also what is left of a real number without its fraction (an infinity is an error).
     * Real numbers become infinite, or NaN in a type without infinity, or its largest number where it has
     * neither. All but 0 is true.
     */
    OZARR_OVERFLOW_WRAP = 1,
    /** The least or the largest number of the type. All but 0 is true. */
    OZARR_OVERFLOW_SATURATE = 2
};

enum {
    OZARR_STORE_CAN_WRITE = 1,           /**< A store can be written. */
    OZARR_STORE_CAN_LIST = 2,            /**< A store can list its keys. */
    OZARR_STORE_CAN_ERASE = 4,           /**< A store can erase what it holds. */
    /** A store is far away: reads are worth having in flight together. */
    OZARR_STORE_IS_REMOTE = 8
};

enum {
    /**
     * In the flags of a request, or of a table of functions: what they name may be called by any thread, also
     * by several at once.
     */
    OZARR_CALLBACK_ANY_THREAD = 256
};

/** What to do if a node already exists where one is to be created. */
typedef int32_t ozarr_create_mode;

enum {
    OZARR_CREATE_NEW = 0,                /**< `OZARR_ERR_EXISTS`. */
    /**
     * Replace it, with everything below it, by the new one. In a folder others find the old node or the new
     * one, also after a kill: the new one is made beside it, and both change their names at once (on file
     * systems that cannot do that, such as NFS, there is no node between two renames, nor after a kill there,
     * which leaves the old one beside its place under a hidden name that ends in `.tmp.tmp`). Consolidated
     * metadata of groups above name neither for that moment. In memory and in object stores the old node is
     * erased first; archives cannot overwrite. Chunks of the old node are never taken for the new one's:
     * handles of this process on its arrays, which were opened before, store nothing any more
     * (`OZARR_ERR_STATE`), as after erasing and renaming; those of other processes are not told, and are to
     * be closed before. In a parallel program one process creates, and the others open the node after a
     * barrier: each one that creates replaces what those before it wrote. A node in which a series is open,
     * here or in another process, is `OZARR_ERR_AGAIN` where the store has locks (folders). Object stores
     * cannot tell whether the writer of a mark lives: the node is replaced there, and the writer that goes on
     * is told (`OZARR_ERR_STATE`) when it stores its next steps. So is an appender without a series in any
     * store.
     */
    OZARR_CREATE_OVERWRITE = 1,
    /**
     * Open it if it would be just so; else `OZARR_ERR_EXISTS`. Compared are the format, and of an array the
     * shape (a length of 0, of an array that is appended to, is like any other), chunks and their keys, type,
     * fill value and codecs; where they are given also the names of its dimensions and the attributes
     * `_FillValue`, `scale_factor`, `add_offset`, `units` and `calendar`. Other attributes stay as they are.
     */
    OZARR_CREATE_OPEN_IF_SAME = 2
};

/** The kind of the node at a path. */
typedef int32_t ozarr_node_kind;

enum {
    OZARR_NODE_KIND_NONE = 0,            /**< Nothing. */
    OZARR_NODE_KIND_ARRAY = 1,           /**< An array. */
    OZARR_NODE_KIND_GROUP = 2,           /**< A group. */
    OZARR_NODE_KIND_UNKNOWN = 3          /**< A node whose metadata cannot be understood. */
};

/** The kinds of JSON values, for attributes. */
typedef int32_t ozarr_json_kind;

enum {
    OZARR_JSON_KIND_NULL = 0,            /**< `null` */
    OZARR_JSON_KIND_BOOL = 1,            /**< `true` or `false` */
    OZARR_JSON_KIND_INTEGER = 2,         /**< A number without fraction and exponent. */
    OZARR_JSON_KIND_NUMBER = 3,          /**< Any other number. */
    OZARR_JSON_KIND_STRING = 4,          /**< A text. */
    OZARR_JSON_KIND_ARRAY = 5,           /**< A list. */
    OZARR_JSON_KIND_OBJECT = 6           /**< An object. */
};

/* ========================================================================================================
 * Contexts
 * ========================================================================================================
 *
 * A context holds settings for the stores that are opened with it. Functions that take a location and no
 * context use the default context, whose settings are changed by NULL in place of a context. Without a
 * setting the library uses as many threads as `OZARR_NUM_THREADS` says, from 1 to 4096 (of anything else
 * `OZARR_LOG` tells), or as the process may run on; it starts them when the first call gains by it. */

/** How important a message of a log is. */
typedef int32_t ozarr_log_level;

enum {
    OZARR_LOG_LEVEL_OFF = 0,             /**< No messages. */
    OZARR_LOG_LEVEL_WARNING = 1,         /**< Something in a file is unusual, and was read nevertheless. */
    OZARR_LOG_LEVEL_INFO = 2             /**< Something may be of interest. */
};

/**
 * Takes a message of one line, which is valid during the call only. It runs in the thread that is inside
 * of a call of the library (in several at once, if several use the context), and may call the library
 * itself. Its status has no effect: a message is no reason to stop.
 */
typedef ozarr_status (*ozarr_log_fn)(void *user, ozarr_log_level level, const char *message);

/**
 * Creates a context with the default settings.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_context_new(ozarr_context **out);

/**
 * Changes a setting of a context; NULL is the default context, which functions that take a location and no
 * context use. Stores that are open already keep theirs. What is true or false is `"1"`, `"true"` or
 * `"on"`, or `"0"`, `"false"` or `"off"`.
 *
 * - `"threads"`: how many threads a call may use, the calling one among them, from 1 to 4096. In
 *   object stores, whose requests take their time, copying, erasing, and publishing the steps of a
 *   series, use 32 at least, which mostly wait.
 * - `"strict"`: `"1"` makes deviations in a node's metadata errors (`OZARR_ERR_METADATA`) that are read
 *   nevertheless with `"0"`, the default. docs/formats.md lists them.
 * - `"chunk_cache"`: the bytes of memory for decoded chunks that all arrays which are opened with the
 *   context from now on share; `"0"`, the default, keeps none. `ozarr_node_set` explains it, and sets
 *   it for one array; arrays whose chunks are too large for it do not use it.
 * - `"file.sync"`: `"none"`, `"batch"` (the default) or `"each"`, as the option of `ozarr_store_open_ex`
 *   says, for stores that are opened without that option.
 * - `"file.lock"`: `"require"`, `"try"` (the default) or `"none"`, in the same way.
 * - `"non_finite"`: `"1"` lets attributes hold NaN and infinities, which are then stored as Python stores
 *   them, as bare words that are no JSON: other programs may refuse to read the whole document. With `"0"`,
 *   the default, new ones are refused; those that other programs stored are read, and stay, in any case.
 *   It holds for stores and nodes that are opened after it was set.
 * - `"huge_pages"`: with `"1"`, the default, a read of 32 MiB or more that returns when it is done, into
 *   memory that was never written before and is overwritten as a whole, asks the system to make it of
 *   huge pages, where the system waits to be asked (Linux, transparent huge pages: madvise), and
 *   withdraws that before it returns. It saves half of the time of an uncompressed read; the memory keeps
 *   these pages until it is freed, and a mapping of the program's own is divided where the memory
 *   begins and ends, which `mremap` minds. `"0"` leaves memory as the program made it, in stores that
 *   are opened from now on. See `ozarr_buffer_alloc`, too.
 * - `"bytes_in_flight"`: how many bytes of elements the requests that are not done may have, from 1 on; at
 *   once, also for stores that are open. A request of more than that is `OZARR_ERR_LIMIT`, also where it
 *   waits for room.
 * - `"when_full"`: what the next request does then: `"wait"`, the default, or `"again"`, to be
 *   `OZARR_ERR_AGAIN`; at once, also for stores that are open.
 * - `"measure_time"`: `"1"` measures the time in codecs for `ozarr_context_stats` and the like, in stores
 *   that are open, too; `"0"` is the default.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown setting or value.
 *
 * @param[in] context may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_context_set(ozarr_context *context, const char *key, const char *value);

/**
 * Gets a setting of a context (NULL: the default one), in the form in which it can be set again. If
 * `"threads"` was never set it is the number that calls use. `"lost"` can only be asked for: how often
 * an open array of this process has become `"lost"` (`ozarr_node_set`) so far, whatever its context. While
 * it stays the same, no handle becomes so.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown setting.
 *
 * @param[in] context may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_context_get(const ozarr_context *context, const char *key, char *buf,
    size_t cap, size_t *len);

/**
 * Sets the function `fn` that is called for deviations in the nodes of stores that are opened with this
 * context (NULL: the default one) from now on, once for each open, with a message such as `"HD-10:
 * t/.zarray: ..."`; the ids are those of docs/formats.md. `level` is the last level that is reported.
 * `fn` is called with `user`, which must stay valid as long as those stores and their nodes are open.
 * NULL ends it, also what `OZARR_LOG` in the environment (`warning` or `info`) asks for: such messages
 * go to standard error unless a function takes them.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another `level`.
 *
 * @param[in] context may be NULL
 * @param[in] fn may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_context_set_log(ozarr_context *context, ozarr_log_level level,
    ozarr_log_fn fn, void *user);

/** Frees a context; stores that were opened with it are not affected. NULL is allowed. */
void ozarr_context_free(ozarr_context *context);

/* ========================================================================================================
 * Arrays
 * ========================================================================================================
 *
 * A location is a path to the node. The hierarchy's root is the first part of it that ends in `.zarr`, or
 * in `.zip` or `.ozx` for a zip archive: in `"data/run.zarr/fields/temperature"` the root is
 * `data/run.zarr` and the node's path in it `fields/temperature`. Without such a part the whole location
 * is the root. Creating a node creates the groups above it, up to the root.
 *
 * Element types in memory and in the file may differ: reading and writing convert, and a value that does
 * not fit is `OZARR_ERR_RANGE`. `size` is always the bytes that may be touched at `data`; fewer than
 * needed are `OZARR_ERR_BUFFER_SIZE`, and nothing is touched. */

/**
 * Creates an array at `location`, with elements of `type`, `rank` dimensions (0 to 64) and the lengths
 * `shape`. `chunks` is the shape of a chunk; NULL lets the library choose. The array has Zarr format 3,
 * is compressed with zstd, and has the fill value 0 (a floating-point variable of a dataset has NaN);
 * `ozarr_array_create_ex` has every choice. `mode` says what to do if a node already exists there;
 * with `OZARR_CREATE_NEW` that is `OZARR_ERR_EXISTS`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative length, an extent of 0, or an unknown type or mode;
 * `OZARR_ERR_RANK`; `OZARR_ERR_TYPE`; `OZARR_ERR_LIMIT`; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`;
 * `OZARR_ERR_EXISTS`, `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an
 * array; `OZARR_ERR_READ_ONLY`; those of documents and stores.
 *
 * @param[in] shape array(rank)
 * @param[in] chunks array(rank), may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_create(const char *location, ozarr_type type, int32_t rank,
    const int64_t *shape, const int64_t *chunks, ozarr_create_mode mode, ozarr_array **out);

/**
 * Opens the array at `location`. `mode` `"r"` is for reading only, `"r+"` for reading and writing.
 * `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_NODE_KIND` if a group is.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`;
 * `OZARR_ERR_READ_ONLY` where the store cannot be written; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_array_open(const char *location, const char *mode, ozarr_array **out);

/**
 * Reads the whole array to `data`: contiguous, the last index fastest. Elements that were never written
 * have the fill value. Fewer bytes than needed are `OZARR_ERR_BUFFER_SIZE`; a value that does not fit
 * into `type` is `OZARR_ERR_RANGE`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a `type` that does not fit; those of chunks and
 * stores.
 */
OZARR_CHECKED ozarr_status ozarr_array_read(const ozarr_array *array, ozarr_type type, void *data,
    size_t size);

/**
 * Writes the whole array from `data`: contiguous, the last index fastest.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BUFFER_SIZE` for fewer bytes than needed; `OZARR_ERR_RANGE`
 * for a value that does not fit into the array's type; `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a
 * `type` that does not fit; those of chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_array_write(const ozarr_array *array, ozarr_type type, const void *data,
    size_t size);

/**
 * Reads a region (a hyperslab): the box of `shape` elements that begins at `start`, one number for each
 * dimension. The elements go to `data` as `type`: contiguous, the last index fastest. A box that leaves
 * the array is `OZARR_ERR_BOUNDS`.
 *
 * Errors: `OZARR_ERR_BUFFER_SIZE` for fewer bytes than the box has; `OZARR_ERR_RANGE` for a value that
 * does not fit into `type`; `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a `type` that does not fit;
 * those of chunks and stores.
 *
 * @param[in] start,shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_read_region(const ozarr_array *array, const int64_t *start,
    const int64_t *shape, ozarr_type type, void *data, size_t size);

/**
 * Writes a region (a hyperslab): the box of `shape` elements that begins at `start`, one number for
 * each dimension. The elements come from `data` as `type`: contiguous, the last index fastest. A box
 * that leaves the array is `OZARR_ERR_BOUNDS`.
 *
 * Threads and processes may write to one array at the same time, even to parts of the same chunk. A chunk
 * that the box covers whole is written without being read, and without a lock between processes: in a
 * folder it may be lost to another process that, in the same instant, stores a part of it that it has
 * changed. Keep such calls apart.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BUFFER_SIZE` for fewer bytes than the box has;
 * `OZARR_ERR_RANGE` for a value that does not fit into the array's type; `OZARR_ERR_ARGUMENT` and
 * `OZARR_ERR_TYPE` for a `type` that does not fit; those of chunks and stores.
 *
 * @param[in] start,shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_write_region(const ozarr_array *array, const int64_t *start,
    const int64_t *shape, ozarr_type type, const void *data, size_t size);

/**
 * Stores what waits to be written, flushes the store and frees the handle, which is gone whatever the
 * status says. A checkpoint is complete when this returns `OZARR_OK`.
 *
 * Errors: those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_array_close(ozarr_array *array);

/**
 * Frees the handle; NULL is allowed. Calls in progress in other threads complete normally. Writes that
 * wait (the setting `"write_back"` of `ozarr_node_set`) are stored after the last such call, and those of
 * an open dataset's variable when that is closed, but errors are not reported: use `ozarr_array_close` to
 * see them.
 */
void ozarr_array_free(ozarr_array *array);

/**
 * Gets the number of dimensions, 0 to 64.
 *
 * Errors: none of its own.
 *
 * @param[out] rank
 */
OZARR_CHECKED ozarr_status ozarr_array_rank(const ozarr_array *array, int32_t *rank);

/**
 * Gets the lengths of the dimensions: `shape` has a capacity of one number for each dimension.
 *
 * Errors: none of its own.
 *
 * @param[out] shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_shape(const ozarr_array *array, int64_t *shape);

/**
 * Gets the shape of a chunk, the piece that is stored as one object (of a shard, if the array has
 * shards). If chunks have uneven extents (a rectilinear grid) `shape` is the largest extent along each
 * dimension; `ozarr_array_chunk_extent` gives those of each chunk.
 *
 * Errors: none of its own.
 *
 * @param[out] shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_chunk_shape(const ozarr_array *array, int64_t *shape);

/**
 * Gets the shape of the smallest piece that can be read on its own: of the inner chunks of a shard, or,
 * without shards, of a chunk.
 *
 * Errors: none of its own.
 *
 * @param[out] shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_inner_chunk_shape(const ozarr_array *array, int64_t *shape);

/**
 * Gets the type of the elements. `OZARR_BY_DTYPE` means text, times or structs, which
 * `ozarr_array_copy_dtype` describes; reads and writes with `OZARR_BY_DTYPE` move such elements without
 * conversion, in this machine's byte order. Times (counts of 64 bits) also convert to and from
 * `OZARR_INT64`.
 *
 * Errors: none of its own.
 *
 * @param[out] type
 */
OZARR_CHECKED ozarr_status ozarr_array_type(const ozarr_array *array, ozarr_type *type);

/**
 * Gets the size of one element in bytes; 0 for elements of variable length.
 *
 * Errors: none of its own.
 *
 * @param[out] bytes
 */
OZARR_CHECKED ozarr_status ozarr_array_item_size(const ozarr_array *array, size_t *bytes);

/**
 * Gets the name of dimension `dim`, from 0. A dimension without a name gives an empty string and
 * `*named` false (`named` may be NULL).
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no dimension `dim`; those of documents and stores, where the
 * attributes say the names (format 2) and cannot be read.
 *
 * @param[out] named may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_dimension_name(const ozarr_array *array, int32_t dim, char *buf,
    size_t cap, size_t *len, bool *named);

/**
 * Changes the names of the dimensions: `names` has one string for each dimension, or NULL for one
 * without a name. Format 2 has names for all dimensions or for none. `names` NULL removes all names.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; those of documents and stores.
 *
 * @param[in] names array(rank), may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_set_dimension_names(ozarr_array *array, const char *const *names);

/**
 * Gets the fill value, the value of elements that were never written: one element of the array's type
 * to `value`, which has `size` bytes. An array of format 2 may leave it undefined: `*defined` becomes
 * false (`defined` may be NULL) and the value is 0.
 *
 * Errors: `OZARR_ERR_TYPE` for elements of variable length; `OZARR_ERR_BUFFER_SIZE` for fewer bytes than
 * an element has.
 *
 * @param[out] defined may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_fill_value(const ozarr_array *array, void *value, size_t size,
    bool *defined);

enum {
    /**
     * `ozarr_array_resize`: keeps chunks outside of the new shape, and values beyond its edge: this is
     * quicker, and they come back if the array grows again.
     */
    OZARR_RESIZE_KEEP = 1
};

/**
 * Changes the array's shape to `shape`; the rank stays. With `flags` 0 elements beyond the new shape are
 * erased: if the array grows again, they have the fill value. With `OZARR_RESIZE_KEEP` they are kept,
 * until a write of all elements that the array has of a chunk replaces the chunk with those outside. A
 * rectilinear grid keeps its chunks; elements beyond the last one get one more chunk. What a killed program
 * appended (by an appender, a series or `ozarr_array_append`) and did not publish is outside of the shape,
 * and shows in the new part until that is written, as those functions do when they go on.
 *
 * Object stores have no locks, and erase without a condition. A call that makes an array shorter there ends
 * erasing within 0.2 s once another process has made the array longer again, which waits for 0.4 s where it
 * finds that call under way. What is stored in the new part before that may be erased, and what two calls
 * cut off at the same time may come back: best let the array alone until the call has returned.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_ARGUMENT` for a negative length or another flag; those of
 * documents, chunks and stores.
 *
 * @param[in] shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_resize(ozarr_array *array, const int64_t *shape, uint32_t flags);

/**
 * Extends dimension `dim` (from 0) by `count` elements and writes the new slab from `data`: contiguous,
 * the last index fastest, with the array's shape except that dimension `dim` has `count` elements. For
 * many steps an appender (`ozarr_appender_open`) is cheaper.
 *
 * On object stores the array is made longer first, so that no other process takes the place. Where that
 * cannot be taken back after an error, it stays longer, with the fill value where nothing was written:
 * look at the shape (`ozarr_node_refresh`) before the slab is given again.
 *
 * The next flush makes the slab durable: a power cut before it may leave the new length with a slab of
 * fill values, or of chunks without bytes (`OZARR_ERR_TRUNCATED`). A series publishes steps that are
 * durable.
 *
 * In any store a slab stays, and is not to be given again, where it was stored and consolidated metadata
 * above the array could not be told of it, as on a full disk: the message says "what was given is
 * appended", and the next flush or close of the store tells them.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_STATE` if another process appends at this moment;
 * `OZARR_ERR_BOUNDS` if there is no dimension `dim`; `OZARR_ERR_ARGUMENT` for a negative `count`;
 * `OZARR_ERR_BUFFER_SIZE` for fewer bytes than the slab has; `OZARR_ERR_RANGE`, `OZARR_ERR_TYPE` as for
 * writing a region; those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_array_append(ozarr_array *array, int32_t dim, int64_t count, ozarr_type type,
    const void *data, size_t size);

/* ========================================================================================================
 * Any region, any memory
 * ========================================================================================================
 *
 * A region (a hyperslab) takes every `step`-th element; memory has any distance between neighbours
 * along each dimension. Together they let a program read and write the middle of a field with a halo
 * (ghost cells), a column-major array, or a mirrored one, without a copy of its own:
 *
 *     // The interior of u[66][66], which has a halo of one element around it, to t[0][..][..].
 *     int64_t start[] = {0, 0, 0}, shape[] = {1, 64, 64}, sizes[] = {1, 66, 66}, starts[] = {0, 1, 1};
 *     ozarr_region region = OZARR_REGION_INIT;
 *     ozarr_memory memory = OZARR_MEMORY_INIT;
 *     region.start = start;
 *     region.shape = shape;
 *     memory.data = u;
 *     memory.size = sizeof u;
 *     memory.sizes = sizes;
 *     memory.starts = starts;
 *     memory.type = OZARR_FLOAT64;
 *     if (ozarr_array_write_ex(t, &region, &memory)) goto fail;
 *
 *     // All of u, with the halo, from a field that is periodic along y and x.
 *     int64_t outside[] = {0, -1, -1};
 *     bool periodic[] = {false, true, true};
 *     region.start = outside;
 *     region.shape = sizes;
 *     region.periodic = periodic;
 *     memory.starts = NULL;
 *     if (ozarr_array_read_ex(t, &region, &memory)) goto fail;
 *
 * Every type of number becomes every other, except complex ones real ones. A value that does not fit is
 * `OZARR_ERR_RANGE`, unless `memory.overflow` lets it wrap or saturate. The message names such an
 * element, not always the first, by its index in the region: `element [3, 17] is 70000, int16 ends at
 * 32767`. Numbers are rounded to the nearest, ties to even, once; real numbers lose their fraction when
 * they become integers. After such an error in reading, the memory's elements hold what the array has,
 * or what they held before, and those near the named one anything; in writing, the chunks with such
 * elements are as before, all others are written. */

/**
 * Which elements of an array: element i along dimension d is `start[d] + i * step[d]`. Set it to
 * `OZARR_REGION_INIT` first.
 */
typedef struct ozarr_region {
    /** `sizeof(ozarr_region)`; set by `OZARR_REGION_INIT`. */
    size_t struct_size;
    /** The first element, one number for each dimension of the array. */
    const int64_t *start;
    /** The number of elements along each dimension. */
    const int64_t *shape;
    /**
     * The distance between selected elements along each dimension: not 0, negative for backwards. NULL
     * is 1 in every dimension.
     */
    const int64_t *step;
    /**
     * True for each dimension that is periodic: a region that begins before its first element or goes on
     * behind its last one continues at the other end, so that one call reads a block with its ghost cells.
     * NULL: none is. Only for `ozarr_array_read_ex`, `_write_ex`, `_iread_ex`, `_iwrite_ex`,
     * `_read_unpacked` and `_write_packed`; others refuse it. A write that would reach an element twice is
     * `OZARR_ERR_BOUNDS`.
     */
    const bool *periodic;
} ozarr_region;

/** The first value of an `ozarr_region`: {0} with its size. */
#define OZARR_REGION_INIT \
    {sizeof(ozarr_region), NULL, NULL, NULL, NULL}

/** Gives `*region` the value OZARR_REGION_INIT. */
static inline void ozarr_region_init(ozarr_region *region) {
    const ozarr_region init = OZARR_REGION_INIT;
    *region = init;
}

/**
 * Memory of the caller. No byte outside of `data` to `data + size` is touched. Set it to
 * `OZARR_MEMORY_INIT` first.
 */
typedef struct ozarr_memory {
    /** `sizeof(ozarr_memory)`; set by `OZARR_MEMORY_INIT`. */
    size_t struct_size;
    /** The first byte that may be touched. Writing to an array only reads from here. */
    void *data;
    /** The number of bytes that may be touched. */
    size_t size;
    /** The distance in bytes from `data` to the region's first element. */
    size_t offset;
    /**
     * The distance in bytes between neighbours along each dimension; may be negative. 0 repeats an element
     * along that dimension when writing; when reading, no two elements may overlap. One for each dimension
     * of the array, of no meaning where the region is 1 long. NULL: the elements are contiguous, in
     * `order`.
     */
    const int64_t *strides;
    /** `OZARR_ORDER_C` or `OZARR_ORDER_F`; counts where `strides` is NULL. */
    ozarr_order order;
    /** The type of the elements; `OZARR_AS_STORED` is the array's, `OZARR_BY_DTYPE` that of `dtype`. */
    ozarr_type type;
    /** What happens to numbers that do not fit: `OZARR_OVERFLOW_ERROR`, ..._WRAP or ..._SATURATE. */
    ozarr_overflow overflow;
    /** 0. */
    int32_t reserved;
    /** With `OZARR_BY_DTYPE`: the type of the elements; NULL is the array's. */
    const struct ozarr_dtype *dtype;
    /**
     * Only this field of the array's structs: `"x"`, or `"a.b"` for the field b of the field a. `type`
     * and `dtype` are then the field's. In a field that has a shape they are those of each value, and
     * the values are contiguous; `"v[1]"` (from 0; `"m[0,2]"`) is one of them. Writing leaves the others
     * as they are. NULL: the whole element.
     */
    const char *field;
    /**
     * Where the region is a part of a larger contiguous array in memory (in `order`): the shape of that
     * array, as `MPI_Type_create_subarray` has it, one number for each dimension of the stored array.
     * `strides` must be NULL then. NULL: the region is no such part.
     */
    const int64_t *sizes;
    /**
     * With `sizes`: the index (from 0) in the array in memory at which the region begins, one number for each
     * dimension; NULL is 0 in all. A region that leaves that array is `OZARR_ERR_BOUNDS`.
     */
    const int64_t *starts;
} ozarr_memory;

/** The first value of an `ozarr_memory`: {0} with its size. */
#define OZARR_MEMORY_INIT \
    {sizeof(ozarr_memory), NULL, 0, 0, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL}

/** Gives `*memory` the value OZARR_MEMORY_INIT. */
static inline void ozarr_memory_init(ozarr_memory *memory) {
    const ozarr_memory init = OZARR_MEMORY_INIT;
    *memory = init;
}

/**
 * Reads a region (a hyperslab; NULL: the whole array) to any memory, such as the inside of a field with
 * ghost cells. A region that leaves the array is `OZARR_ERR_BOUNDS`; memory that is too small is
 * `OZARR_ERR_BUFFER_SIZE`.
 *
 * Errors: `OZARR_ERR_BOUNDS` for a step of 0, too; `OZARR_ERR_RANGE` (see above); `OZARR_ERR_ARGUMENT`
 * for elements that overlap in memory, an unknown constant, or members that exclude each other;
 * `OZARR_ERR_TYPE`; `OZARR_ERR_NOT_FOUND` for an unknown field; those of chunks and stores.
 *
 * @param[in] region may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_read_ex(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory);

/**
 * Writes a region (a hyperslab; NULL: the whole array) from any memory, such as the inside of a field
 * with ghost cells. A region that leaves the array is `OZARR_ERR_BOUNDS`; memory that is too small is
 * `OZARR_ERR_BUFFER_SIZE`.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` for a step of 0, too; `OZARR_ERR_RANGE` (see above);
 * `OZARR_ERR_ARGUMENT` for an unknown constant or members that exclude each other; `OZARR_ERR_TYPE`;
 * `OZARR_ERR_NOT_FOUND` for an unknown field; those of chunks and stores.
 *
 * @param[in] region may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_write_ex(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory);

/* ========================================================================================================
 * Attributes
 * ========================================================================================================
 *
 * Small named values beside an array or a group: units, parameters, provenance. The functions take either
 * kind of node:
 *
 *     ozarr_attr_set_string(ozarr_array_node(t), "units", "K");
 *
 * Each setter stores its value at once, and with it a new document of all attributes: it takes the longer
 * the more there are, 10,000 one after the other some seconds. Between `ozarr_attrs_begin` and
 * `ozarr_attrs_commit` they are stored in one write, which takes milliseconds. A name has at least one
 * character (`OZARR_ERR_NAME`). */

enum {
    /** Instead of a count, for `ozarr_attr_set_numbers`: one number that is not a list. */
    OZARR_SINGLE = -1
};

/**
 * Gets the number of attributes.
 *
 * Errors: those of documents and stores.
 *
 * @param[out] count
 */
OZARR_CHECKED ozarr_status ozarr_attr_count(const ozarr_node *node, int64_t *count);

/**
 * Gets the name of attribute number `index`, from 0, in the order of the document.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no attribute `index`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attr_name(const ozarr_node *node, int64_t index, char *buf, size_t cap,
    size_t *len);

/**
 * Gets the kind of JSON value of an attribute. `OZARR_ERR_NOT_FOUND` if there is no attribute `name`.
 *
 * Errors: those of documents and stores.
 *
 * @param[out] kind
 */
OZARR_CHECKED ozarr_status ozarr_attr_kind(const ozarr_node *node, const char *name, ozarr_json_kind *kind);

/**
 * Gets an attribute that is an integer. Another kind of value is `OZARR_ERR_TYPE`; an integer that does
 * not fit is `OZARR_ERR_RANGE`.
 *
 * Errors: `OZARR_ERR_NOT_FOUND`; those of documents and stores.
 *
 * @param[out] value
 */
OZARR_CHECKED ozarr_status ozarr_attr_get_int64(const ozarr_node *node, const char *name, int64_t *value);

/**
 * Gets an attribute that is a number. Another kind of value is `OZARR_ERR_TYPE`.
 *
 * Errors: `OZARR_ERR_NOT_FOUND`; those of documents and stores.
 *
 * @param[out] value
 */
OZARR_CHECKED ozarr_status ozarr_attr_get_double(const ozarr_node *node, const char *name, double *value);

/**
 * Gets an attribute that is `true` or `false`. Another kind of value is `OZARR_ERR_TYPE`.
 *
 * Errors: `OZARR_ERR_NOT_FOUND`; those of documents and stores.
 *
 * @param[out] value
 */
OZARR_CHECKED ozarr_status ozarr_attr_get_bool(const ozarr_node *node, const char *name, bool *value);

/**
 * Gets an attribute that is a string. Another kind of value is `OZARR_ERR_TYPE`. A NUL inside of it, which
 * other programs may have stored, is no end: `*len` counts all of the string.
 *
 * Errors: `OZARR_ERR_NOT_FOUND`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attr_get_string(const ozarr_node *node, const char *name, char *buf,
    size_t cap, size_t *len);

/**
 * Gets an attribute that is a list of strings, or one string. `*count` (`count` may be NULL) becomes
 * the number of strings. `buf` receives them one after the other, each with a NUL at its end; `*len` is
 * the number of bytes without the last NUL, so a list of one string is what `ozarr_attr_get_string`
 * gives. A string that contains a NUL is `OZARR_ERR_RANGE`.
 *
 * Errors: `OZARR_ERR_NOT_FOUND`; `OZARR_ERR_TYPE` for another kind of value; those of documents and
 * stores.
 *
 * @param[out] count may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_attr_get_strings(const ozarr_node *node, const char *name, char *buf,
    size_t cap, size_t *len, int64_t *count);

/**
 * Gets an attribute that is a list of numbers, or one number, as elements of `type`: an integer or
 * floating-point type; `OZARR_AS_STORED` is the array's type. `values` has a capacity of `cap`
 * elements. `*count` becomes the number of elements, also if it exceeds `cap`
 * (`OZARR_ERR_BUFFER_SIZE`); `values` NULL with `cap` 0 asks for it. `OZARR_ERR_RANGE` names the first
 * element that does not fit into `type`, `OZARR_ERR_TYPE` the first that is not a number or, for an
 * integer type, not an integer.
 *
 * Errors: `OZARR_ERR_NOT_FOUND`; `OZARR_ERR_ARGUMENT` for an unknown type or a negative `cap`; those of
 * documents and stores.
 *
 * @param[out] values array(cap)
 * @param[out] count
 */
OZARR_CHECKED ozarr_status ozarr_attr_get_numbers(const ozarr_node *node, const char *name, ozarr_type type,
    void *values, int64_t cap, int64_t *count);

/**
 * Gets an attribute of any kind, as JSON in its shortest form.
 *
 * Errors: `OZARR_ERR_NOT_FOUND`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attr_get_json(const ozarr_node *node, const char *name, char *buf,
    size_t cap, size_t *len);

/**
 * Sets an attribute to an integer, whatever it was before.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attr_set_int64(ozarr_node *node, const char *name, int64_t value);

/**
 * Sets an attribute to a number. NaN and infinities have no form in JSON: `OZARR_ERR_RANGE`, unless the
 * context's setting `"non_finite"` allows them. `_FillValue` of a floating-point array of format 3 is
 * stored as xarray wants it there, as the base64 text of a `double`, NaN too; `ozarr_attr_get_double`
 * gives the number back.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attr_set_double(ozarr_node *node, const char *name, double value);

/**
 * Sets an attribute to `true` or `false`.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attr_set_bool(ozarr_node *node, const char *name, bool value);

/**
 * Sets an attribute to a string.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attr_set_string(ozarr_node *node, const char *name, const char *value);

/**
 * Sets an attribute to a list of `count` strings.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; `OZARR_ERR_ARGUMENT` for a negative
 * `count`; those of documents and stores.
 *
 * @param[in] values array(count)
 */
OZARR_CHECKED ozarr_status ozarr_attr_set_strings(ozarr_node *node, const char *name,
    const char *const *values, int64_t count);

/**
 * Sets an attribute to a list of `count` numbers of `type`, an integer or floating-point type;
 * `OZARR_AS_STORED` is that of the array, as the CF conventions want it for `valid_range` and the like.
 * A `count` of `OZARR_SINGLE` sets it to the one number at `values`, which then is not a list. Each
 * number reads back unchanged. NaN, infinities and `_FillValue` are as `ozarr_attr_set_double` has
 * them.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; `OZARR_ERR_ARGUMENT` for a negative
 * `count` or an unknown type; `OZARR_ERR_TYPE` for a type of no numbers; `OZARR_ERR_RANGE` for NaN and
 * infinities; those of documents and stores.
 *
 * @param[in] values array(count)
 */
OZARR_CHECKED ozarr_status ozarr_attr_set_numbers(ozarr_node *node, const char *name, ozarr_type type,
    const void *values, int64_t count);

/**
 * Sets an attribute to any value, given as JSON. Malformed JSON is `OZARR_ERR_ARGUMENT`.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; `OZARR_ERR_RANGE` for NaN,
 * infinities and numbers that no double can hold; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attr_set_json(ozarr_node *node, const char *name, const char *json);

/**
 * Removes an attribute. `OZARR_ERR_NOT_FOUND` if there is no attribute `name`.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_ARGUMENT` for the one that makes a group a checkpoint; those
 * of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attr_erase(ozarr_node *node, const char *name);

/**
 * Gets all attributes, as one JSON object.
 *
 * Errors: those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attrs_get(const ozarr_node *node, char *buf, size_t cap, size_t *len);

/**
 * Replaces all attributes by those of a JSON object.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; `OZARR_ERR_ARGUMENT` for malformed
 * JSON; `OZARR_ERR_TYPE` for JSON that is no object; `OZARR_ERR_RANGE` for NaN, infinities and numbers
 * that no double can hold; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attrs_set(ozarr_node *node, const char *json);

/**
 * Begins to collect what setters of this handle set, instead of storing each value at once. Getters of
 * this handle see the collected values.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_STATE` after another `ozarr_attrs_begin`; those of documents
 * and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attrs_begin(ozarr_node *node);

/**
 * Stores in one write what was set since `ozarr_attrs_begin`. Freeing the handle without this call
 * discards it.
 *
 * Errors: `OZARR_ERR_STATE` without `ozarr_attrs_begin`, as where another thread has stored it just before;
 * those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attrs_commit(ozarr_node *node);

/* ========================================================================================================
 * Groups
 * ======================================================================================================== */

/**
 * Creates a group at `location`, with the groups above it that are missing, up to the root. It has the
 * Zarr format of the group above it; 3 without one. `mode` says what to do if a node already exists
 * there.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown mode; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`;
 * `OZARR_ERR_EXISTS`, `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an array;
 * `OZARR_ERR_READ_ONLY`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_create(const char *location, ozarr_create_mode mode,
    ozarr_group **out);

/**
 * Opens the group at `location`. `mode` `"r"` is for reading only, `"r+"` for reading and writing.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_READ_ONLY` where the store cannot be
 * written; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there;
 * `OZARR_ERR_NODE_KIND` if an array is; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_open(const char *location, const char *mode, ozarr_group **out);

/**
 * Creates a group at `path` below `group`, with the Zarr format of `group`. `path` may have several
 * names, `"a/b"`; groups in between that are missing are created.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown mode; `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS`,
 * `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an array;
 * `OZARR_ERR_READ_ONLY`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_create_group(ozarr_group *group, const char *path,
    ozarr_create_mode mode, ozarr_group **out);

/**
 * Opens the group at `path` below `group`, in the mode of `group`. Consolidated metadata that `group`
 * was opened with are used; see the option `"consolidated"` of `ozarr_store_open_ex`. What they list is
 * opened without a look at its place: where an array is gone, or has another spelling of its name (in
 * Unicode form), its elements are the fill value. `ozarr_node_refresh` is `OZARR_ERR_NOT_FOUND` then.
 *
 * Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_NODE_KIND` if an array
 * is; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_open_group(const ozarr_group *group, const char *path,
    ozarr_group **out);

/**
 * Creates an array at `path` below `group` as `spec` says; `mode` as for `ozarr_array_create`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown mode or choices that contradict each other;
 * `OZARR_ERR_STATE` for a specification without a shape; `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS`,
 * `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an array;
 * `OZARR_ERR_READ_ONLY`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_create_array(ozarr_group *group, const char *path,
    const ozarr_spec *spec, ozarr_create_mode mode, ozarr_array **out);

/**
 * Opens the array at `path` below `group`, in the group's mode. Consolidated metadata are used as by
 * `ozarr_group_open_group`.
 *
 * Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_NODE_KIND` if a group
 * is; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_open_array(const ozarr_group *group, const char *path,
    ozarr_array **out);

/**
 * Collects the metadata of everything below the group into one document, so that readers open the
 * hierarchy with one read (xarray looks for it). Call it again after nodes were added or changed. While a
 * series publishes, what its documents say at that moment is collected: variables may differ by steps
 * until it has published.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_consolidate(ozarr_group *group);

/**
 * Flushes and frees. The handle is gone, whatever the status says. A group of `ozarr_checkpoint_begin` is
 * ended by `ozarr_checkpoint_commit` instead: closing it gives the checkpoint up, and the status is still
 * `OZARR_OK`.
 *
 * Errors: those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_close(ozarr_group *group);

/** Frees the handle; NULL is allowed. */
void ozarr_group_free(ozarr_group *group);

/**
 * Creates an array at `path` below `group` and writes it: `data` is contiguous, the last index
 * fastest, of `rank` dimensions `shape`. Chunks and compression are those of `ozarr_array_create`;
 * `OZARR_ERR_EXISTS` if a node is already there. The values are stored before the array is there: after a
 * kill or an error it has them, or does not exist. Of two processes that create it in an object store at the
 * same moment one is refused so, and the array may have the values of either, chunk by chunk.
 *
 * Errors: `OZARR_ERR_NAME`; `OZARR_ERR_READ_ONLY`; `OZARR_ERR_RANK`; `OZARR_ERR_ARGUMENT` for a negative
 * length or an unknown type; `OZARR_ERR_TYPE`; `OZARR_ERR_BUFFER_SIZE` for fewer bytes than the array
 * has; `OZARR_ERR_RANGE`; `OZARR_ERR_NODE_KIND` if a node above is an array; those of documents, chunks
 * and stores.
 *
 * @param[in] shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_group_put(ozarr_group *group, const char *path, ozarr_type type,
    int32_t rank, const int64_t *shape, const void *data, size_t size);

/**
 * Reads all of the array at `path` below `group` into `data`, as `ozarr_array_read` does.
 *
 * Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND`, also for a checkpoint that was removed meanwhile, be
 * another one in its place or not (what `data` holds is not to be used then); `OZARR_ERR_NODE_KIND` if a
 * group is there; `OZARR_ERR_BUFFER_SIZE` for fewer bytes than needed; `OZARR_ERR_RANGE` for a value that
 * does not fit; `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a `type` that does not fit; those of
 * documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_get(const ozarr_group *group, const char *path, ozarr_type type,
    void *data, size_t size);

/* ========================================================================================================
 * The nodes below a group
 * ========================================================================================================
 *
 * Each group is listed once and each document read once (none, where they are consolidated); in remote
 * stores many at once. The list is what the store held at the time of the call. A link in a directory
 * that leads back to a group above is listed, and not followed.
 *
 *     ozarr_node_iter *it = NULL;
 *     bool more = false;
 *     if (ozarr_group_list_nodes(g, NULL, 1, &it)) goto fail;
 *     while (ozarr_node_iter_next(it, &more) == OZARR_OK && more) {
 *         char name[256];
 *         if (ozarr_node_iter_name(it, name, sizeof name, NULL)) goto fail;
 *         puts(name);
 *     }
 *     ozarr_node_iter_free(it); */

/**
 * Lists the nodes below the group as they are now, down to `depth` levels (1: its children; negative:
 * all), each followed by those below it, sorted by name, under a cursor that is before the first. A node
 * that cannot be understood is among them (`OZARR_NODE_KIND_UNKNOWN`) and hides no other.
 *
 * With a `pattern` (NULL: all) only nodes whose path relative to the group matches it: `*` matches any
 * characters except a slash, `?` one such character, and `**` any characters including slashes. Two
 * stars, a slash and a name match every node of that name, at any level, children included.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a malformed pattern; those of documents and stores.
 *
 * @param[in] pattern may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_group_list_nodes(const ozarr_group *group, const char *pattern,
    int32_t depth, ozarr_node_iter **out);

/**
 * Moves to the next node; `*more` becomes false at the end, and stays so.
 *
 * Errors: none of its own.
 *
 * @param[out] more
 */
OZARR_CHECKED ozarr_status ozarr_node_iter_next(ozarr_node_iter *iter, bool *more);

/**
 * Gets the path of the node relative to the group: for a child its name.
 *
 * Errors: `OZARR_ERR_STATE` before the first node and after the last.
 */
OZARR_CHECKED ozarr_status ozarr_node_iter_name(const ozarr_node_iter *iter, char *buf, size_t cap,
    size_t *len);

/**
 * Gets the kind of the node. Where only children are listed, in a directory, the first call reads the
 * child's metadata.
 *
 * Errors: `OZARR_ERR_STATE` before the first node and after the last.
 *
 * @param[out] kind
 */
OZARR_CHECKED ozarr_status ozarr_node_iter_kind(const ozarr_node_iter *iter, ozarr_node_kind *kind);

/**
 * Gets the error message of a node that cannot be understood; an empty string if it can.
 *
 * Errors: `OZARR_ERR_STATE` before the first node and after the last.
 */
OZARR_CHECKED ozarr_status ozarr_node_iter_error(const ozarr_node_iter *iter, char *buf, size_t cap,
    size_t *len);

/** Frees the cursor; NULL is allowed. */
void ozarr_node_iter_free(ozarr_node_iter *iter);

/* ========================================================================================================
 * Nodes of either kind
 * ========================================================================================================
 *
 * Functions for what arrays and groups have in common take nodes: `ozarr_node_path(ozarr_array_node(t),
 * ...)`. */

/**
 * Returns the array's own handle as a node, for functions that take arrays and groups. There is nothing
 * to free.
 */
ozarr_node *ozarr_array_node(const ozarr_array *array);

/**
 * Returns the group's own handle as a node, for functions that take arrays and groups. There is nothing
 * to free.
 */
ozarr_node *ozarr_group_node(const ozarr_group *group);

/**
 * Opens the node at `location`, an array or a group; mode as for `ozarr_array_open`. One of `*array`
 * and `*group` becomes its handle, the other one NULL.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_READ_ONLY` where the store cannot be
 * written; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; those of
 * documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_node_open(const char *location, const char *mode, ozarr_array **array,
    ozarr_group **group);

/**
 * Erases the node at `location`, with everything below it; of a node in a group the folder, too. What an
 * interrupted copy, migration or erasing has left there goes as well. An error may come when the node is
 * gone already, which its message says then. Arrays that another process has open there read fill values
 * from then on; `ozarr_node_refresh` of one is `OZARR_ERR_NOT_FOUND`.
 *
 * Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there;
 * `OZARR_ERR_AGAIN` while a series is open in it (see `OZARR_CREATE_OVERWRITE`);
 * `OZARR_ERR_READ_ONLY`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_node_erase(const char *location);

/**
 * Gets the node's path in its store, such as `"fields/temperature"`; empty for the root.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_node_path(const ozarr_node *node, char *buf, size_t cap, size_t *len);

/**
 * Gets the node's metadata document (`zarr.json`, `.zarray` or `.zgroup`) as JSON.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_node_metadata(const ozarr_node *node, char *buf, size_t cap, size_t *len);

/**
 * Gets the Zarr format: 2 or 3.
 *
 * Errors: none of its own.
 *
 * @param[out] format
 */
OZARR_CHECKED ozarr_status ozarr_node_zarr_format(const ozarr_node *node, int32_t *format);

/**
 * Changes a rarely used setting of this handle. What is true or false is `"1"`, `"true"` or `"on"`, or
 * `"0"`, `"false"` or `"off"`.
 *
 * - `"raw_attributes"`: `"1"` shows attributes that are for programs only, too, where attributes are
 *   counted, listed, or replaced all at once: `_ARRAY_DIMENSIONS` of format 2 (the dimensions' names), and
 *   those of netCDF-C (`_nczarr...`, `_NCProperties`) and of libozarr_netcdf (`_nc_model`). By its name each
 *   is found in any case. `"0"` is the default.
 *
 * - `"history"`: says where the data come from, in the attributes that netCDF users expect. The first line
 *   of the value, `"ocean 2.1: ocean run.nml"`, is put with the time in front of the attribute `history`,
 *   as NCO and CDO do; `source` becomes what is in front of `": "`, else the first word, and `Conventions`
 *   `"CF-1.11"`, unless they are there; `ozarr_version` is this library's. Further lines (a namelist, say)
 *   are kept in the attribute `run_parameters`. Each call adds a line to what is stored by then; this is
 *   stored at once. In a list of texts, as netCDF-4 has it, the line becomes the first one.
 *
 * - `"attributes"`: sets the attributes that are the members of a JSON object, in one write; all others
 *   stay as they are stored by then. After an error none of them is set. What is asked for is
 *   `ozarr_attrs_get`.
 *
 * Of groups:
 *
 * - `"link_unchanged"`: for a group of `ozarr_checkpoint_begin`, before arrays are written: `"1"` makes
 *   chunks that are the same as in the newest checkpoint hard links to its files, which are compared
 *   instead of written. No checkpoint changes another. In other stores than folders all is written.
 *
 * Of arrays (handles that `ozarr_dataset_open_variable` gives of one variable share these):
 *
 * - `"write_fill_chunks"`: `"1"` stores also chunks that hold nothing but the fill value; `"0"` (the
 *   default) does not store them: their elements have the fill value in any case.
 * - `"chunk_cache"`: the bytes of memory for decoded chunks (inner chunks of shards) of which only
 *   parts are read; `"0"`, the default, keeps none. Every use checks whether the stored chunk has
 *   changed (one system call for a file), so that changes by others are seen, on file systems with
 *   reliable times. It is for programs that read element by element, and of no use for remote stores
 *   (`ozarr_store_cached` is for them). Less than one chunk is `OZARR_ERR_LIMIT`. Chunks of elements of
 *   variable length are not kept: each read of a part decodes the chunk.
 * - `"write_back"`: the bytes of memory in which parts of chunks that are written, in any order, wait
 *   until their chunks are whole, so that each is encoded once; `"0"`, the default: nothing waits. A
 *   part takes the memory of its chunk, and a bit for each element where parts make no box. Where the
 *   context has threads for it, one of them stores a chunk of 256 KiB and more that became whole while
 *   the program goes on. Calls of this process that touch such a chunk wait for that, whatever handle
 *   they use; other processes see it soon after, or after a flush. Reading by this handle stores what
 *   it is about to read. What waits comes after what other handles write meanwhile: flush before one
 *   of them writes the same elements. When the memory is used up, the chunks that have waited longest
 *   are stored. Flushing and closing (the array, or the store or a group by which it was opened) report
 *   errors of storing; chunks that could not be stored keep waiting, and the next flush tries again. Less
 *   than one chunk is `OZARR_ERR_LIMIT`. Elements of variable length do not wait. After `fork` no writes
 *   wait in the child.
 * - `"measure_time"`: `"1"` measures the time in codecs for `ozarr_array_stats`; `"0"` is the default.
 * - `"list_changes"`: `"1"` lists the keys of chunks that this handle stores or erases from now on, for
 *   `"changes"` of `ozarr_node_get`: to find out which process wrote what. `"0"`, the default, lists none.
 * - `"lost"`: `"1"` where the program has found that another one has renamed, erased or replaced the array,
 *   of which this process is not told: what waits by this handle (`"write_back"`) is never stored, and
 *   calls that store chunks by it are `OZARR_ERR_STATE`, as after such a change by this process, until
 *   `ozarr_node_refresh`. What waited until then is told of once, by the next call that would store it,
 *   and is gone. `"0"` changes nothing.
 * - `"claim"`: what `ozarr_node_get` gave to the process that has a series, of the variable as its dataset
 *   has it (`ozarr_dataset_open_variable`). What this handle stores of steps for it (`ozarr_series_declare`)
 *   replaces no chunk of a newer series, in a store without locks where the server keeps conditions of
 *   puts. Elsewhere it is empty, which changes nothing; `""` ends it.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown setting or value; `OZARR_ERR_TYPE` for `"history"` where
 * the attribute is neither a text nor a list of texts; `OZARR_ERR_NAME`, `OZARR_ERR_RANGE` and
 * `OZARR_ERR_TYPE` for `"attributes"` as `ozarr_attrs_set` says; `OZARR_ERR_READ_ONLY`; those of
 * documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_node_set(ozarr_node *node, const char *key, const char *value);

/**
 * Gets a setting of `ozarr_node_set`, in the form in which it can be set again (`"1"` or `"0"`, or a
 * number of bytes). Others are read-only: `"mode"` is `"r+"` where the node may be changed, else
 * `"r"`; `"draft"` is the draft of Zarr v3 that the node is in, `"d0"` or `"d2"`, and empty where it is
 * in none (drafts are only read; `ozarr_migrate` makes Zarr v3 of them); `"location"` is that of the
 * node's store, by which other processes open it and import nodes, whatever their current folders are:
 * for a checkpoint that was begun, the place where it is made, and empty where there is none (memory,
 * functions of a program, a part of an archive); `"changes"` of an array has the keys that
 * `"list_changes"` listed, sorted, a line for each.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown setting; `OZARR_ERR_TYPE` for `"history"` as for
 * `ozarr_node_set`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_node_get(const ozarr_node *node, const char *key, char *buf, size_t cap,
    size_t *len);

/**
 * Reads the node's metadata documents again (`data` NULL, `size` 0), because other handles and
 * processes may have changed its shape or attributes. Or takes what another process found out: the
 * `size` bytes of its `ozarr_node_export` of the same node; then nothing is read from the store.
 * Refresh an array that another handle may have made longer before writing its last chunk along that
 * dimension: the chunk is stored as a whole where a write covers what the handle knows of it.
 *
 * Errors: `OZARR_ERR_NOT_FOUND` if the node is gone, or the checkpoint in whose group it was opened, be
 * another one in its place or not; `OZARR_ERR_NODE_KIND` if it became one of the other kind;
 * `OZARR_ERR_STATE` if it became an array of another number of dimensions, which is to be opened again;
 * `OZARR_ERR_ARGUMENT` for an export of another node; those of documents and stores.
 *
 * @param[in] data may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_node_refresh(ozarr_node *node, const void *data, size_t size);

/**
 * Stores writes that wait (the setting `"write_back"`), of a group those of all arrays of its store, and
 * makes durable what was written to the node's store, as far as its `"file.sync"` says: at the end of a
 * checkpoint, for example.
 *
 * Errors: those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_node_flush(ozarr_node *node);

/* ========================================================================================================
 * Specifications: what to create
 * ========================================================================================================
 *
 * Every choice about a new array. A specification is checked as a whole when it is used
 * (`OZARR_ERR_METADATA` or `OZARR_ERR_UNSUPPORTED`, or `OZARR_ERR_ARGUMENT` where choices contradict
 * each other, such as inner chunks that do not divide the chunks; with the name of the member), and
 * stays usable afterwards:
 *
 *     ozarr_spec *s = NULL;
 *     int64_t shape[] = {0, 720, 1440}, chunks[] = {1, 720, 1440};
 *     const char *names[] = {"time", "lat", "lon"};
 *     if (ozarr_spec_new(OZARR_FLOAT32, 3, shape, &s)) goto fail;
 *     if (ozarr_spec_set_chunks(s, chunks)) goto fail;
 *     if (ozarr_spec_set_dimension_names(s, names)) goto fail;
 *     if (ozarr_spec_set_compressor(s, "blosc:zstd", 5)) goto fail;
 *     if (ozarr_spec_set_shuffle(s, OZARR_SHUFFLE_BIT)) goto fail;
 *     if (ozarr_spec_set_keep_bits(s, 12)) goto fail;
 *     if (ozarr_array_create_ex("run.zarr/rain", s, OZARR_CREATE_NEW, &a)) goto fail;
 *     ozarr_spec_free(s); */

/**
 * Makes a specification for an array of that type, rank (0 to 64) and shape: format 3, chunks of a
 * suggested shape, compressed with zstd, fill value 0. `shape` may be NULL: then `ozarr_spec_set_shape`
 * gives it later, or, for a variable of a dataset (`ozarr_variable`), the dataset's dimensions do.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative length or an unknown type; `OZARR_ERR_RANK`;
 * `OZARR_ERR_TYPE`; those of documents.
 *
 * @param[in] shape array(rank), may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_spec_new(ozarr_type type, int32_t rank, const int64_t *shape,
    ozarr_spec **out);

/**
 * Changes the shape; the rank stays. One specification can so serve several arrays. Chunks that the
 * library chose are chosen anew for it.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative length; those of documents.
 *
 * @param[in] shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_shape(ozarr_spec *spec, const int64_t *shape);

/**
 * Makes a specification from a metadata document: the text of a `zarr.json` or a `.zarray`, as of
 * `ozarr_node_metadata`. Malformed JSON is `OZARR_ERR_ARGUMENT`.
 *
 * Errors: `OZARR_ERR_NODE_KIND` for the document of a group; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_from_json(const char *document, ozarr_spec **out);

/**
 * Creates an array as the specification says; `location` and `mode` as for `ozarr_array_create`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown mode or choices that contradict each other;
 * `OZARR_ERR_STATE` for a specification without a shape; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`;
 * `OZARR_ERR_EXISTS`, `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an
 * array; `OZARR_ERR_READ_ONLY`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_array_create_ex(const char *location, const ozarr_spec *spec,
    ozarr_create_mode mode, ozarr_array **out);

/**
 * Sets the Zarr format: 3 (the default) or 2.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another number; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_zarr_format(ozarr_spec *spec, int32_t format);

/**
 * Sets the chunk's shape: one number for each dimension, at least 1. It replaces extents that were set
 * before.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an extent below 1; those of documents.
 *
 * @param[in] chunks array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_chunks(ozarr_spec *spec, const int64_t *chunks);

/**
 * Sets chunks of uneven extents along dimension `dim` (from 0), such as the domains of a parallel (MPI)
 * program: `count` extents, each at least 1, whose sum is at least the array's length there. The other
 * dimensions keep the chunks that were set before, or suggested ones. Extents that differ make a
 * rectilinear grid (format 3), which few other libraries read by now; if all are equal along every
 * dimension the grid is the usual one.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an extent or a count below 1; `OZARR_ERR_BOUNDS` if there is no
 * dimension `dim`; those of documents.
 *
 * @param[in] extents array(count)
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_chunk_extents(ozarr_spec *spec, int32_t dim, const int64_t *extents,
    int64_t count);

/**
 * Sets the shape of inner chunks, many of which are stored in one object (format 3): the chunks of
 * `ozarr_spec_set_chunks` become shards, and must be a multiple of `chunks` along each dimension. NULL
 * removes the inner chunks, so that chunks are not shards: a specification of an existing array
 * (`ozarr_array_copy_spec`) keeps the codecs of its inner chunks, for the chunks. An array of rank 64
 * cannot have inner chunks, whose index has a dimension more.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an extent below 1; `OZARR_ERR_UNSUPPORTED` for NULL where codecs are
 * behind the shards; those of documents.
 *
 * @param[in] chunks array(rank), may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_inner_chunks(ozarr_spec *spec, const int64_t *chunks);

/**
 * Changes the type of the elements. The fill value is converted; if it does not fit, it becomes the
 * default of the new type. In a specification that is like an array, codecs that are made for the old
 * type, and would make other values of the new one (`fixedscaleoffset`), are left out, unless they were
 * set since. A copy has the numbers that elements mean by the attribute `_Unsigned`, and goes without it.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown type, and for a second type of a copy, once attributes
 * have followed the first; `OZARR_ERR_TYPE`; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_type(ozarr_spec *spec, ozarr_type type);

/**
 * Sets the fill value: one element of `type` (`OZARR_AS_STORED`: the array's type) at `value`. That of
 * elements of variable length is set by `ozarr_spec_set_fill_dtype`, or as the member `"fill_value"`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown type; `OZARR_ERR_TYPE`; `OZARR_ERR_RANGE` for a value that
 * does not fit; those of documents.
 *
 * @param[in] value
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_fill_value(ozarr_spec *spec, ozarr_type type, const void *value);

/**
 * Sets a member of the metadata document as JSON: `"fill_value"`, as the document has it; `"attributes"`,
 * an object; `"codecs"` (format 3, the whole list), `"compressor"` and `"filters"` (format 2,
 * `{"id": "zstd", "level": 3}` and a list of such objects, or `null`), `"storage_transformers"` (format 3,
 * a list, the first one next to the array), `"chunk_key_encoding"`, a member that was registered
 * (`ozarr_register_member`), or one with `"must_understand": false`. Codecs that calculate
 * (`fixedscaleoffset`, `astype`, `delta`, `scale_offset`, `quantize`, ...) have to give the fill value back
 * as it was: an array with another one, such as NaN where integers are stored, is not created
 * (`OZARR_ERR_METADATA`).
 *
 * Errors: `OZARR_ERR_ARGUMENT` for malformed JSON; `OZARR_ERR_TYPE` for attributes that are no object;
 * those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_member_json(ozarr_spec *spec, const char *name, const char *json);

/**
 * Sets the dimensions' names, one string for each dimension; NULL is a dimension without a name. In
 * format 2 an array with names has no fill value (null; "not a time" of times) unless one is set: xarray
 * and netCDF take it for "missing" there, and 0 is data. What is not written reads as 0 all the same.
 *
 * Errors: those of documents.
 *
 * @param[in] names array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_dimension_names(ozarr_spec *spec, const char *const *names);

/**
 * Sets the order of the elements in a stored chunk (format 2: `order`; format 3: a `transpose`). It
 * changes no index and no result, only which reads are quick.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another constant; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_order(ozarr_spec *spec, ozarr_order order);

/**
 * Sets whether the elements are stored big-endian; the default is little-endian. Elements in memory are
 * always in this machine's byte order.
 *
 * Errors: those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_big_endian(ozarr_spec *spec, bool big);

/**
 * Sets the separator between the numbers in a chunk's key: `"/"` (a directory for each dimension) or
 * `"."`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another separator; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_separator(ozarr_spec *spec, const char *separator);

/**
 * Sets the compressor. `level` is the codec's own, -1 its default:
 *
 * - `"none"`
 * - `"zstd"` -131072 to 22, default 1
 * - `"gzip"`, `"zlib"` 0 to 9, default 5
 * - `"bz2"` 1 to 9, default 5
 * - `"lzma"` 0 to 9, default 6
 * - `"lz4"` its acceleration, 1 to 65537, default 1
 * - `"blosc:lz4"`, `"blosc:lz4hc"`, `"blosc:blosclz"`, `"blosc:zlib"`, `"blosc:zstd"` 0 to 9, default 5:
 *   Blosc, which shuffles (`ozarr_spec_set_shuffle`) and compresses; `"blosc"` is `"blosc:lz4"`
 * - `"pcodec"` 0 to 12, default 8: of numbers only
 *
 * With inner chunks each of them is compressed. In format 3 zlib, bz2, lzma, lz4 and pcodec are the
 * codecs `numcodecs.…`, which zarr-python (with a warning that they are not in the specification; of
 * pcodec with the package `pcodec` only) and zarrs read. Replaces the choice of `ozarr_spec_set_zfp`.
 *
 * Errors: `OZARR_ERR_UNSUPPORTED` for an unknown name; `OZARR_ERR_ARGUMENT` for a level that it does not
 * have; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_compressor(ozarr_spec *spec, const char *name, int32_t level);

/** How the bytes of neighbouring elements are arranged before they are compressed. */
typedef int32_t ozarr_shuffle;

enum {
    /** Blosc shuffles bytes (elements of one byte: bits), other compressors do not shuffle. */
    OZARR_SHUFFLE_DEFAULT = 0,
    OZARR_SHUFFLE_NONE = 1,              /**< No shuffle. */
    /** The first bytes of all elements, then the second bytes, and so on. */
    OZARR_SHUFFLE_BYTE = 2,
    OZARR_SHUFFLE_BIT = 3                /**< The first bits of all elements, and so on; with Blosc only. */
};

/**
 * Sets the shuffle before compression. Blosc has its own; before other compressors bytes are shuffled
 * by numcodecs' codec `shuffle`, at which zarr-python warns in format 3.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another constant; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_shuffle(ozarr_spec *spec, ozarr_shuffle shuffle);

/**
 * Lossy compression: rounds floating-point numbers to `bits` bits of their mantissa when they are written
 * (12 bits of a float keep 4 decimal digits), so that they compress better. 0 keeps all bits, the default.
 * NaN stays as it is, and no number becomes infinite. The fill value must be a number that rounding leaves
 * as it is, such as 0, -8192 or NaN; an array with another one, such as 1e20, is not created
 * (`OZARR_ERR_METADATA`). In format 3 the codec is `numcodecs.bitround`, at which zarr-python warns when it
 * opens the array that other implementations may lack it.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative number, and for more bits than the mantissa has; those of
 * documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_keep_bits(ozarr_spec *spec, int32_t bits);

/** What zfp keeps of numbers. */
typedef int32_t ozarr_zfp;

enum {
    OZARR_ZFP_REVERSIBLE = 0,            /**< Every bit; `parameter` is 0. */
    /**
     * `parameter` is the largest error of a number, above 0, in blocks of like numbers (see
     * `ozarr_spec_set_zfp`).
     */
    OZARR_ZFP_ACCURACY = 1,
    /** `parameter` is the number of bit planes of each block that are kept, 1 to 64. */
    OZARR_ZFP_PRECISION = 2,
    /** `parameter` is the average number of bits of a stored number, above 0. */
    OZARR_ZFP_RATE = 3
};

/**
 * Compresses numbers in chunks of up to four dimensions by zfp instead of a compressor. In format 3
 * this is `numcodecs.zfpy` for the types int32, int64, float32 and float64, and `zfp` for others.
 *
 * All modes but `OZARR_ZFP_REVERSIBLE` round the numbers of a block (4 along each dimension of the chunk)
 * together, by the largest one. NaN and infinities become numbers there; an infinity, or a number that is
 * much larger than its neighbours, destroys these. So does the fill value, which stands in a stored chunk
 * for what is not written yet and for what lies beyond the array's edge, and reads as what zfp makes of
 * it: 0 where a block has nothing but NaN. Choose one like the data, such as 0; not NaN, which is that of
 * floating-point variables of a dataset, nor 1e20.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another mode or parameter; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_zfp(ozarr_spec *spec, ozarr_zfp mode, double parameter);

/**
 * Sets whether a CRC-32C is stored after each chunk (each inner chunk), which readers verify.
 *
 * Errors: those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_checksum(ozarr_spec *spec, bool checksum);

/**
 * Gets, as JSON, the metadata document that an array created now would have.
 *
 * Errors: `OZARR_ERR_STATE` without a shape; `OZARR_ERR_ARGUMENT` for inner chunks that do not
 * divide the chunks; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_to_json(const ozarr_spec *spec, char *buf, size_t cap, size_t *len);

/**
 * Sets chunks of a suggested shape, and explains the choice in a short text. An array that grows (with
 * a length of 0) and would make more than 4,096 objects in 10,000 steps gets them as inner chunks of
 * shards, unless version 2 of the format was set.
 *
 * Errors: `OZARR_ERR_STATE` without a shape; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_suggest(ozarr_spec *spec, char *buf, size_t cap, size_t *len);

/** Frees the specification; NULL is allowed. */
void ozarr_spec_free(ozarr_spec *spec);

/* ========================================================================================================
 * Layouts: chunks and compression in one struct
 * ========================================================================================================
 *
 * The usual choices about how an array is stored, for a specification that is made in one call:
 *
 *     ozarr_layout layout = OZARR_LAYOUT_INIT;
 *     int64_t shard[] = {100, 512, 512}, chunk[] = {1, 128, 128};
 *     layout.chunks = shard, layout.inner_chunks = chunk;
 *     layout.compressor = "blosc:zstd", layout.level = 5, layout.shuffle = OZARR_SHUFFLE_BIT;
 *     layout.keep_bits = 12;
 *     if (ozarr_spec_new_ex(OZARR_FLOAT32, 3, shape, &layout, &s)) goto fail;
 *     if (ozarr_array_create_ex("run.zarr/rain", s, OZARR_CREATE_NEW, &a)) goto fail;
 *     ozarr_spec_free(s); */

/**
 * How an array is stored. Set it to `OZARR_LAYOUT_INIT` first; a member that is NULL or 0 is left to the
 * library, as `ozarr_spec_new` does it.
 */
typedef struct ozarr_layout {
    /** `sizeof(ozarr_layout)`; set by `OZARR_LAYOUT_INIT`. */
    size_t struct_size;
    /** The shape of a chunk; of a shard, where there are inner chunks. */
    const int64_t *chunks;
    /** The shape of a chunk within a shard (`ozarr_spec_set_inner_chunks`). */
    const int64_t *inner_chunks;
    /** The dimensions' names (`ozarr_spec_set_dimension_names`). */
    const char *const *dimension_names;
    /** The compressor, as for `ozarr_spec_set_compressor`; NULL: zstd. */
    const char *compressor;
    /** The compressor's level; 0 is its default. */
    int32_t level;
    /** One of `OZARR_SHUFFLE_...`. */
    ozarr_shuffle shuffle;
    /** The bits of the mantissa that are kept (`ozarr_spec_set_keep_bits`); 0: all. */
    int32_t keep_bits;
    /** 1: a checksum after each chunk (`ozarr_spec_set_checksum`). */
    int32_t checksum;
} ozarr_layout;

/** The first value of an `ozarr_layout`: {0} with its size. */
#define OZARR_LAYOUT_INIT \
    {sizeof(ozarr_layout), NULL, NULL, NULL, NULL, 0, 0, 0, 0}

/** Gives `*layout` the value OZARR_LAYOUT_INIT. */
static inline void ozarr_layout_init(ozarr_layout *layout) {
    const ozarr_layout init = OZARR_LAYOUT_INIT;
    *layout = init;
}

/**
 * As `ozarr_spec_new`, with a layout; NULL is one that leaves everything to the library.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative length or an unknown type; `OZARR_ERR_RANK`;
 * `OZARR_ERR_TYPE`; those of documents.
 *
 * @param[in] shape array(rank), may be NULL
 * @param[in] layout may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_spec_new_ex(ozarr_type type, int32_t rank, const int64_t *shape,
    const ozarr_layout *layout, ozarr_spec **out);

/* ========================================================================================================
 * Data types as values
 * ========================================================================================================
 *
 * What an element is, where one of the numbers of `ozarr_type` does not say it: text of a length, times of
 * a unit, structs. `ozarr_array_copy_dtype()` gives an array's; `ozarr_memory.dtype` says what is in your
 * memory. A program describes its own struct from `offsetof`, and reads an array of them with one call;
 * the struct may have fewer fields than the array's, at other offsets and of other types. The
 * bytes between them stay as they are:
 *
 *     struct particle { double x, v[3]; int32_t id; };
 *     int64_t three[] = {3};
 *     ozarr_dtype *f64 = NULL, *i32 = NULL, *p = NULL;
 *     if (ozarr_dtype_of(OZARR_FLOAT64, &f64) || ozarr_dtype_of(OZARR_INT32, &i32)) goto fail;
 *     if (ozarr_dtype_struct(sizeof(struct particle), &p)) goto fail;
 *     if (ozarr_dtype_add_field(p, "x", offsetof(struct particle, x), f64, 0, NULL)) goto fail;
 *     if (ozarr_dtype_add_field(p, "v", offsetof(struct particle, v), f64, 1, three)) goto fail;
 *     if (ozarr_dtype_add_field(p, "id", offsetof(struct particle, id), i32, 0, NULL)) goto fail;
 *     memory.type = OZARR_BY_DTYPE;
 *     memory.dtype = p;
 *     if (ozarr_array_read_ex(a, NULL, &memory)) goto fail;
 *
 * In memory, elements and fields are always in this machine's byte order, whatever the type says. */

/**
 * Parses the description of a data type. `format` 2: as in a `.zarray` (`<f8`, `|S20`, `>M8[10s]`,
 * `[["x", "<f8"], ["id", "<i4"]]`); 3: as in a `zarr.json` (`float64`, an object with a name and a
 * configuration); 0: either, or a name of C (`double`, `int32_t`). A text that fits several types is
 * `OZARR_ERR_ARGUMENT`, and the message names them.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another format, too; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_dtype_parse(const char *text, int32_t format, ozarr_dtype **out);

/**
 * Makes the data type of a number of `ozarr_type`: one of `OZARR_BOOL` ... .
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown type; `OZARR_ERR_TYPE`.
 */
OZARR_CHECKED ozarr_status ozarr_dtype_of(ozarr_type type, ozarr_dtype **out);

/**
 * Makes the type of text of `size` bytes in memory, padded with `pad`: `' '` as Fortran holds it,
 * 0 as C does. C's text ends at its first 0: bytes behind it are not stored (`"|S8"` of
 * `ozarr_dtype_parse` is bytes that may have 0 among them). It converts to and from every type of
 * text; an array cannot have blanks for padding.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another `pad`, or a size of 0 or too large.
 */
OZARR_CHECKED ozarr_status ozarr_dtype_chars(size_t size, int32_t pad, ozarr_dtype **out);

/**
 * Makes a struct of `size` bytes without fields.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a size of 0 or too large.
 */
OZARR_CHECKED ozarr_status ozarr_dtype_struct(size_t size, ozarr_dtype **out);

/**
 * Adds a field to a struct: its name, its offset from the struct's beginning (`offsetof`), its type,
 * and the rank and shape of a field that is an array itself (0 and NULL for one value). Fields may
 * leave gaps; an array that is made with the type has none.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an empty name, a name that the struct has already, a field that
 * leaves the struct or overlaps another, and where `dtype` is no struct; `OZARR_ERR_RANK`.
 *
 * @param[in] shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_dtype_add_field(ozarr_dtype *dtype, const char *name, size_t offset,
    const ozarr_dtype *field, int32_t rank, const int64_t *shape);

/** Frees the handle; NULL is allowed. */
void ozarr_dtype_free(ozarr_dtype *dtype);

/**
 * Gets the data type of an array, with the byte order in which format 2 stores it.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_array_copy_dtype(const ozarr_array *array, ozarr_dtype **out);

/**
 * Makes a specification for an array of that data type, else as `ozarr_spec_new`. A struct is stored
 * without the gaps between its fields. A type that a program lacks (zarr-python 3.1: a struct in format 3,
 * one with a field that has a shape or is a struct in format 2, too, numbers of `ml_dtypes` in both) hides
 * all of a dataset from it, and from xarray over it: it reads the consolidated metadata, which have every
 * variable. xarray itself fails at a struct that has a fill value. Put such a variable into a group of its
 * own.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative length or a struct without fields; `OZARR_ERR_RANK`;
 * `OZARR_ERR_TYPE` for a type that exists in memory only; those of documents.
 *
 * @param[in] shape array(rank), may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_spec_new_dtype(const ozarr_dtype *dtype, int32_t rank, const int64_t *shape,
    ozarr_spec **out);

/**
 * Sets the fill value: one element of type `dtype` at `value`, which has `size` bytes. Text and bytes of
 * variable length are given as they are, without a NUL at their end.
 *
 * Errors: `OZARR_ERR_BUFFER_SIZE` for another size than the type's; `OZARR_ERR_ARGUMENT` for a struct
 * without fields; `OZARR_ERR_TYPE`, also for JSON and lists of variable length; `OZARR_ERR_RANGE` for a
 * value that does not fit; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_spec_set_fill_dtype(ozarr_spec *spec, const ozarr_dtype *dtype,
    const void *value, size_t size);

/* ========================================================================================================
 * Datasets: dimensions, variables, coordinates
 * ========================================================================================================
 *
 * A dataset is a group as netCDF and xarray see it: its arrays are variables, which share named
 * dimensions, and those that give the values of a dimension are its coordinates. What is written so opens
 * in xarray with its coordinates, units, times and missing values, in both formats:
 *
 *     ozarr_dataset *ds = NULL;
 *     ozarr_array *time = NULL, *t = NULL;
 *     const char *const dims[] = {"time", "x"};
 *     if (ozarr_dataset_create("run.zarr", 0, OZARR_CREATE_NEW, &ds)) goto fail;
 *     if (ozarr_dataset_define_time(ds, "time", 0, 0, "hours since 2026-01-01", NULL, &time)) goto fail;
 *     if (ozarr_dataset_define_coordinate(ds, "x", OZARR_FLOAT64, 100, 0, x, sizeof x, "m", NULL)) goto fail;
 *     if (ozarr_dataset_define_variable(ds, "t", OZARR_FLOAT32, 2, dims, &t)) goto fail;
 *     if (ozarr_attr_set_string(ozarr_array_node(t), "units", "K")) goto fail;
 *     ...
 *     if (ozarr_dataset_close(ds)) goto fail;
 *
 * Dimensions are stored with the arrays that have them; one without is forgotten with the handle. */

/**
 * Creates a group for a dataset at `location`, with the groups above it that are missing. `zarr_format`
 * is 2 or 3; 0 is the format of the group above it, or 3 without one. `mode` as for
 * `ozarr_array_create`.
 *
 * A program that makes the same calls each time it is started takes `OZARR_CREATE_OPEN_IF_SAME`: then
 * the calls that define something through this handle open what is there and the same
 * (`OZARR_CREATE_NEW` is `OZARR_CREATE_OPEN_IF_SAME`), and define what a kill has left out. What is
 * defined with a length of 0 may have grown.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown mode or format; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`;
 * `OZARR_ERR_EXISTS`, `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an array;
 * `OZARR_ERR_READ_ONLY`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_dataset_create(const char *location, int32_t zarr_format,
    ozarr_create_mode mode, ozarr_dataset **out);

/**
 * Opens the dataset at `location`. A variable that has a dimension without a name is
 * `OZARR_ERR_METADATA` with its name. Variables may differ in length along a dimension, as they do in a
 * run that grows or was killed: `ozarr_dataset_dimension_length` has both lengths, the log is told, and
 * `ozarr_dataset_resize_dimension` or `ozarr_series_open` makes them equal. With mode `"r+"` consolidated
 * metadata that a kill left behind are brought up to date when a dimension is first asked for, when the
 * dataset is changed, and at its close; the open reads nothing else. Mode `"r"` or `"r+"`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_READ_ONLY` where the store cannot be
 * written; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there;
 * `OZARR_ERR_NODE_KIND` if an array is; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_dataset_open(const char *location, const char *mode, ozarr_dataset **out);

/**
 * Opens a group as a dataset, in the group's mode, with the checks of `ozarr_dataset_open`. The group
 * stays open.
 *
 * Errors: those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_open_dataset(const ozarr_group *group, ozarr_dataset **out);

/**
 * Opens the dataset's group, for its attributes, as a new handle.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_dataset_open_group(const ozarr_dataset *dataset, ozarr_group **out);

/**
 * Defines a dimension. A dimension of that name and length may exist already; another length is
 * `OZARR_ERR_EXISTS`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative length; `OZARR_ERR_NAME`; `OZARR_ERR_READ_ONLY`; those of
 * documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_dataset_define_dimension(ozarr_dataset *dataset, const char *name,
    int64_t length);

/**
 * Changes the length of a dimension: all variables that have it are resized, as by `ozarr_array_resize`.
 *
 * Errors: `OZARR_ERR_NOT_FOUND` if there is no such dimension; `OZARR_ERR_READ_ONLY`;
 * `OZARR_ERR_ARGUMENT` for a negative length; those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_dataset_resize_dimension(ozarr_dataset *dataset, const char *name,
    int64_t length);

/**
 * Gets the number of dimensions.
 *
 * Errors: those of documents and stores.
 *
 * @param[out] count
 */
OZARR_CHECKED ozarr_status ozarr_dataset_dimension_count(const ozarr_dataset *dataset, int64_t *count);

/**
 * Gets the name and the length (`*extent`; `extent` may be NULL) of dimension number `index`, from 0.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no dimension `index`; those of documents and stores.
 *
 * @param[out] extent may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_dataset_dimension(const ozarr_dataset *dataset, int64_t index, char *buf,
    size_t cap, size_t *len, int64_t *extent);

/**
 * Gets the length of a dimension: the one that all its variables have (`*length`), and that of the longest
 * (`*longest`; `longest` may be NULL), which differs while they are appended to one after the other, and
 * after a kill. What is appended through this dataset's variables counts at once.
 * `OZARR_ERR_NOT_FOUND` if there is no dimension `name`.
 *
 * Errors: those of documents and stores.
 *
 * @param[out] length
 * @param[out] longest may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_dataset_dimension_length(const ozarr_dataset *dataset, const char *name,
    int64_t *length, int64_t *longest);

/**
 * Defines a variable and creates its array: the type of its elements and its `rank` dimensions, which
 * are defined before (`OZARR_ERR_NOT_FOUND`). The fill value of a floating-point variable is NaN
 * (`ozarr_array_create` sets 0), of times it is "not a time"; that of other types is 0, or undefined in
 * format 2. `out` may be NULL.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown type; `OZARR_ERR_RANK`; `OZARR_ERR_TYPE`;
 * `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS` if a node of that name is there: the dataset knows it then, if it
 * is an array; `OZARR_ERR_READ_ONLY`; those of documents and stores.
 *
 * @param[in] dimensions array(rank)
 * @param[out] out may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_dataset_define_variable(ozarr_dataset *dataset, const char *name,
    ozarr_type type, int32_t rank, const char *const *dimensions, ozarr_array **out);

/**
 * What variable to define. Set it to `OZARR_VARIABLE_INIT` first; a member that is NULL or 0 is left
 * out.
 */
typedef struct ozarr_variable {
    /** `sizeof(ozarr_variable)`; set by `OZARR_VARIABLE_INIT`. */
    size_t struct_size;
    /** The type of the stored elements; 0 with `spec`: that of it. */
    ozarr_type type;
    /** The number of dimensions. */
    int32_t rank;
    /** Their names. */
    const char *const *dimensions;
    /** The shape of a chunk. */
    const int64_t *chunks;
    /**
     * All other choices about the array, such as inner chunks. Its shape may be left out (NULL in
     * `ozarr_spec_new` or `ozarr_spec_new_dtype`); if there is one, it must be that of the dimensions.
     */
    const struct ozarr_spec *spec;
    /** The attribute `units`. */
    const char *units;
    /** The attribute `calendar`, where units are those of time. */
    const char *calendar;
    /** The attribute `long_name`. */
    const char *long_name;
    /** The attribute `standard_name`. */
    const char *standard_name;
    /** Further attributes, as a JSON object. */
    const char *attributes;
    /**
     * The value that means "missing", one element of `type`. It is also the fill value, of elements
     * that were never written.
     */
    const void *missing;
    /** Stored numbers are multiplied with it; 0: no factor. */
    double scale_factor;
    /** Then this is added. */
    double add_offset;
    /** The compressor, as for `ozarr_spec_set_compressor`; NULL: that of `spec`, or zstd. */
    const char *compressor;
    /** The compressor's level; 0 is its default. */
    int32_t level;
    /** One of `OZARR_SHUFFLE_...`; 0: that of `spec`, or the compressor's. */
    ozarr_shuffle shuffle;
    /**
     * The bits of the mantissa that are kept (`ozarr_spec_set_keep_bits`); 0: as `spec` says, or all.
     * `missing` is a number that this does not change, such as -8192 or NaN.
     */
    int32_t keep_bits;
    /** 0. */
    int32_t reserved;
} ozarr_variable;

/** The first value of an `ozarr_variable`: {0} with its size. */
#define OZARR_VARIABLE_INIT \
    {sizeof(ozarr_variable), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, 0, 0, \
    0, 0}

/** Gives `*variable` the value OZARR_VARIABLE_INIT. */
static inline void ozarr_variable_init(ozarr_variable *variable) {
    const ozarr_variable init = OZARR_VARIABLE_INIT;
    *variable = init;
}

/**
 * Defines a variable with every choice, else as `ozarr_dataset_define_variable`. `mode` says what to
 * do if a node of that name already exists. `ozarr_array_write_packed` writes packed numbers and
 * missing values.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown constant or members that contradict each other;
 * `OZARR_ERR_NOT_FOUND` for an unknown dimension; `OZARR_ERR_RANK`; `OZARR_ERR_TYPE`;
 * `OZARR_ERR_RANGE`; `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS`, `OZARR_ERR_AGAIN` (see `mode`);
 * `OZARR_ERR_READ_ONLY`; those of documents and stores.
 *
 * @param[out] out may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_dataset_define_variable_ex(ozarr_dataset *dataset, const char *name,
    const ozarr_variable *variable, ozarr_create_mode mode, ozarr_array **out);

/**
 * Defines a dimension of `length` values and its coordinate: the variable of the same name, which is
 * written from `data`: `length` numbers of the type `type`, `size` bytes; NULL with `size` 0 writes none.
 * It has `chunk` values in a chunk; 0: as many as seem good (1,024 where `length` is 0, to be appended to).
 * `units` is its attribute, or NULL; others, such as `standard_name`, are set afterwards. `out` may be
 * NULL. The values are stored before the variable is there: after a kill or an error it has them, or does
 * not exist. One that is opened because it is the same has these values already, else it is
 * `OZARR_ERR_EXISTS`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative length or an unknown type; `OZARR_ERR_TYPE`;
 * `OZARR_ERR_BUFFER_SIZE` for fewer bytes than needed; `OZARR_ERR_RANGE`; `OZARR_ERR_NAME`;
 * `OZARR_ERR_EXISTS` if the dimension has another length, or a node of that name is there;
 * `OZARR_ERR_READ_ONLY`; those of documents, chunks and stores.
 *
 * @param[in] units may be NULL
 * @param[out] out may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_dataset_define_coordinate(ozarr_dataset *dataset, const char *name,
    ozarr_type type, int64_t length, int64_t chunk, const void *data, size_t size, const char *units,
    ozarr_array **out);

/**
 * Defines a time axis: a dimension of `length` (0: to be appended to) and the variable of the same name,
 * counts of 64 bits of `units`, such as `"hours since 2026-01-01"`, `chunk` of them in a chunk; 0: as many
 * as seem good (1,024 where `length` is 0). `calendar` is one of the CF conventions, NULL is `"standard"`.
 * `out` may be NULL. An axis whose values have fractions, such as the middles of days, is a dimension
 * (`ozarr_dataset_define_dimension`) and a variable of `OZARR_FLOAT64` of the same name, which
 * `ozarr_dataset_define_variable_ex` gives units, calendar and `standard_name`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative length, and for units that cannot be understood;
 * `OZARR_ERR_UNSUPPORTED` for an unknown calendar, and for units that differ in length (months, years);
 * `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS` if the dimension has another length, or a node of that name is
 * there; `OZARR_ERR_READ_ONLY`; those of documents and stores.
 *
 * @param[in] calendar may be NULL
 * @param[out] out may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_dataset_define_time(ozarr_dataset *dataset, const char *name, int64_t length,
    int64_t chunk, const char *units, const char *calendar, ozarr_array **out);

/**
 * Marks a variable as an auxiliary coordinate (one that is not named after its dimension): the variables
 * along its dimensions name it in their attribute `coordinates` from `ozarr_dataset_close` on.
 *
 * Errors: `OZARR_ERR_NOT_FOUND` if there is no such variable; `OZARR_ERR_READ_ONLY`; those of documents
 * and stores.
 */
OZARR_CHECKED ozarr_status ozarr_dataset_set_coordinate(ozarr_dataset *dataset, const char *name);

/**
 * Gets the number of variables, coordinates included.
 *
 * Errors: none of its own.
 *
 * @param[out] count
 */
OZARR_CHECKED ozarr_status ozarr_dataset_variable_count(const ozarr_dataset *dataset, int64_t *count);

/**
 * Gets the name of variable number `index`, from 0, in the order of the names, and whether it is a
 * coordinate (`coordinate` may be NULL).
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no variable `index`; those of documents and stores.
 *
 * @param[out] coordinate may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_dataset_variable(const ozarr_dataset *dataset, int64_t index, char *buf,
    size_t cap, size_t *len, bool *coordinate);

/**
 * Opens the array of a variable, as a new handle. All handles of a variable share its lengths, and the
 * settings of arrays (`ozarr_node_set`). `ozarr_array_dimension_name` gives the names of its dimensions.
 *
 * Errors: `OZARR_ERR_NOT_FOUND` if there is no such variable; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_dataset_open_variable(const ozarr_dataset *dataset, const char *name,
    ozarr_array **out);

/**
 * Writes which variables are coordinates, stores what waits to be written, consolidates metadata, flushes
 * and frees. The handle is gone, whatever the status says. Variables that have come to disagree on the
 * length of a dimension since they were opened are `OZARR_ERR_METADATA` after that, if the dataset can be
 * changed: others refuse it. (While a series of the dimension is open, they may for a moment, in stores
 * with locks; those of a killed run are brought in step by the next series.)
 *
 * Errors: those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_dataset_close(ozarr_dataset *dataset);

/**
 * Frees the handle, without what `ozarr_dataset_close` writes: what is stored stays as it is, after a
 * kill of its writer, too, and is of use to readers. The next one that is opened to be changed and is
 * closed, or given a series, brings it in order. NULL is allowed.
 */
void ozarr_dataset_free(ozarr_dataset *dataset);

/* ========================================================================================================
 * What numbers mean: packing, missing values, times
 * ========================================================================================================
 *
 * By the attributes of the CF conventions a stored number may represent another: the stored number
 * times `scale_factor` plus `add_offset`, or a time as a count of hours since some day. `_FillValue`
 * (in format 2 the fill value) and `missing_value` mark missing values. The functions here read and
 * write the represented values, in the pass that converts the elements; all other functions move the
 * stored numbers. */

/**
 * Reads a region (NULL: the whole array) and unpacks its numbers: as doubles, rounded once to the type
 * in memory, a floating-point type. Missing values become NaN.
 *
 * Errors: `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND`
 * as for `ozarr_array_read_ex`; `OZARR_ERR_TYPE` for a type in memory that is not floating-point;
 * `OZARR_ERR_RANGE`; those of documents, chunks and stores.
 *
 * @param[in] region may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_read_unpacked(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory);

/**
 * Packs the numbers in memory, of a floating-point type, and writes them to a region (NULL: the whole
 * array): rounded to the nearest integer in an array of integers; NaN as the missing value. A number
 * that does not fit, and NaN in an array of integers without a missing value, is `OZARR_ERR_RANGE`. (A
 * number that happens to be packed into the missing value reads as missing.)
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_ARGUMENT`,
 * `OZARR_ERR_NOT_FOUND` as for `ozarr_array_write_ex`; `OZARR_ERR_TYPE` for a type in memory that is
 * not floating-point; those of documents, chunks and stores.
 *
 * @param[in] region may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_write_packed(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory);

/**
 * Reads the times of a region (NULL: the whole array) as counts of `units`, `"seconds since
 * 1970-01-01"`, to `counts`: contiguous, the last index fastest, `size` bytes. The date in `units` is
 * one of the array's own calendar. Counts are rounded down, those of real numbers to the nearest;
 * missing ones are `INT64_MIN`. The array has an attribute `units` such as `"days since 2000-01-01"`,
 * and perhaps `calendar`, `scale_factor` and `add_offset`; or its elements are points in time.
 *
 * Errors: `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`; `OZARR_ERR_ARGUMENT` for units that cannot be
 * understood; `OZARR_ERR_TYPE` for elements that are no numbers; `OZARR_ERR_METADATA` for an array
 * without units of time, or packed so that its numbers are no whole nanoseconds; `OZARR_ERR_RANGE` for a
 * time that has no count; those of documents, chunks and stores.
 *
 * @param[in] region may be NULL
 * @param[out] counts array(elements)
 */
OZARR_CHECKED ozarr_status ozarr_array_read_times(const ozarr_array *array, const ozarr_region *region,
    const char *units, int64_t *counts, size_t size);

/**
 * Writes times to a region (NULL: the whole array), given as counts of `units` as for
 * `ozarr_array_read_times`; `INT64_MIN` is written as the missing value. Where the array names none,
 * floating-point arrays hold NaN, and `int64` in the calendars `standard` and `proleptic_gregorian` the
 * number as it is, which xarray reads as missing there; in others it is `OZARR_ERR_RANGE`. A time that is
 * not a whole count of the array's own unit, or whose count means "missing" in the array, is
 * `OZARR_ERR_RANGE`; floating-point arrays hold fractions of the unit, and a time that their digits would
 * change, counted in `units`, is `OZARR_ERR_RANGE` there.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`; `OZARR_ERR_ARGUMENT` for
 * units that cannot be understood; `OZARR_ERR_TYPE` for elements that are no numbers;
 * `OZARR_ERR_METADATA` as for `ozarr_array_read_times`; those of documents, chunks and stores.
 *
 * @param[in] region may be NULL
 * @param[in] counts array(elements)
 */
OZARR_CHECKED ozarr_status ozarr_array_write_times(const ozarr_array *array, const ozarr_region *region,
    const char *units, const int64_t *counts, size_t size);

/**
 * Gets the stored value that means "missing": one element of the array's type to `value`, which has
 * `size` bytes. `*defined` becomes whether there is one; if not, `value` is left as it is.
 *
 * Errors: `OZARR_ERR_BUFFER_SIZE` for fewer bytes than an element has; those of documents and stores.
 *
 * @param[out] defined
 */
OZARR_CHECKED ozarr_status ozarr_array_missing_value(const ozarr_array *array, void *value, size_t size,
    bool *defined);

/**
 * Converts `count` of `units` to a date and time, such as `"2026-01-31 12:30:00"`: in UTC where `units` have
 * a time zone (`"hours since 2026-01-01 06:00 +01:00"`; `Z`, `UTC` and `GMT` are 0). `calendar` is one of
 * the CF conventions (`"standard"`, `"proleptic_gregorian"`, `"julian"`, `"noleap"`, `"all_leap"`,
 * `"360_day"`); NULL is `"standard"`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for units that cannot be understood; `OZARR_ERR_UNSUPPORTED` for an
 * unknown calendar, and for units that differ in length (months, years); `OZARR_ERR_RANGE` for a time
 * that is too far away.
 *
 * @param[in] calendar may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_time_to_text(const char *units, const char *calendar, int64_t count,
    char *buf, size_t cap, size_t *len);

/**
 * Converts a date and time (`moment`), `"2026-01-31"` or `"2026-01-31 12:30:00.5"`, without a time zone, to a
 * count of `units`, rounded down.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for units or a moment that cannot be understood; `OZARR_ERR_UNSUPPORTED`
 * for an unknown calendar, and for units that differ in length (months, years); `OZARR_ERR_RANGE` for a
 * time that has no count.
 *
 * @param[in] calendar may be NULL
 * @param[out] count
 */
OZARR_CHECKED ozarr_status ozarr_time_from_text(const char *units, const char *calendar, const char *moment,
    int64_t *count);

/* ========================================================================================================
 * Series: the steps of a run
 * ========================================================================================================
 *
 * A series writes the steps of all variables of a dataset that have one dimension, such as time.
 * Readers see a step when all variables have it: the chunks are stored first, then the lengths of all
 * variables, that of the coordinate last, and the consolidated metadata, by which xarray and other
 * programs open the run, change at once. A run that was killed goes on behind the last step that all
 * variables have. A reader waits for steps by `ozarr_dataset_wait_growth`. See docs/timesteps.md.
 *
 *     ozarr_series *steps = NULL;
 *     if (ozarr_series_open(ds, "time", -1, 0, 0, &steps)) goto fail;
 *     if (ozarr_series_position(steps, &step, NULL)) goto fail;
 *     for (; step < STEPS; step++) {
 *         compute(t, p);
 *         if (ozarr_series_step(steps, 60.0 * step, 2, names, memories)) goto fail;
 *     }
 *     if (ozarr_series_close(steps)) goto fail; */

/**
 * Opens the steps of a dataset along a dimension, behind the last step that is published: as many as the
 * coordinate has, else as the shortest variable that has any. What some variables have beyond that,
 * after a kill, is cut off. Variables are defined before, with a length of 0 in a new run; one that is
 * defined later, by `dataset`, or by another program and then put, has the fill value in the steps before.
 * One of another program that is not put stays as long as it was made until the series is closed, or one is
 * opened again, which gives it the fill value: xarray refuses to open the dataset meanwhile. Where
 * consolidated metadata tell more steps of others, no step is cut off for such a variable, nor for a
 * coordinate without values. The dataset may be closed after or before the series.
 *
 * `keep`: how many steps stay, as the checkpoint of a restart tells; those beyond are cut off, for all
 * readers at once, and come again. Negative: all that are published. An archive, or a store of functions
 * without `erase`, erases nothing and keeps them outside of the variables: until a step is written again
 * it shows what it had where `ozarr_dataset_resize_dimension` or `ozarr_array_resize` makes a variable
 * longer.
 *
 * `publish_every`: readers see the steps when their number passes a multiple of it. 0: of the depth of
 * the chunks, the largest of the variables that have further dimensions. Numbers that are not
 * multiples of a variable's depth store its chunks in part, which are read and encoded again later.
 *
 * `memory`: the most bytes that waiting steps may take; 0: no limit. One chunk along the dimension
 * across each variable must fit: less is `OZARR_ERR_LIMIT`, whose message has both numbers.
 *
 * A dimension has one series at a time, in this process or another one, where the store has locks: while
 * it is open another is `OZARR_ERR_AGAIN`, nothing is changed, and it can be opened when that one is
 * closed or its process has ended. What a program writes without a series is found before it is written
 * over (`OZARR_ERR_STATE`); close the series then, what is published stays.
 * An object store has no locks: a series that is opened there later goes on with the run from its first
 * step on, and this one is `OZARR_ERR_STATE` when it stores its next steps, or both are where this one
 * publishes at that moment. What was published until then stays. Where the server keeps conditions of puts
 * (`"cloud.conditional_put"`), a chunk of this one whose put comes late replaces none of the newer one; only
 * where that one leaves a chunk out, as it holds the fill value, may it be stored, with `OZARR_OK` there.
 * See docs/timesteps.md.
 *
 * Errors: `OZARR_ERR_NOT_FOUND` without such a dimension, `OZARR_ERR_ARGUMENT` if no variable has it,
 * `OZARR_ERR_BOUNDS` for fewer than `keep` steps (nothing is changed), `OZARR_ERR_READ_ONLY`,
 * `OZARR_ERR_TYPE` for variables whose elements have no fixed size; `OZARR_ERR_UNSUPPORTED` for one that
 * has the dimension twice; `OZARR_ERR_AGAIN` while another series of the dimension is open; those of
 * documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_series_open(ozarr_dataset *dataset, const char *dimension, int64_t keep,
    int64_t publish_every, size_t memory, ozarr_series **out);

/**
 * Gives variable `name` its values of the step that comes next, from `data`: contiguous, the last
 * index fastest, of the variable's shape without the series' dimension. They are copied: `data` may be
 * changed when this returns. A variable may be left out of steps: it has the fill value there. A
 * series moves stored numbers: those of a packed variable (`scale_factor`, `add_offset`) are packed by
 * the program, and NaN does not become the missing value.
 *
 * After an error the variable does not have its values of this step; the call may be repeated, also
 * when a full disk has room again.
 *
 * Errors: `OZARR_ERR_NOT_FOUND`; `OZARR_ERR_ARGUMENT` for a variable without the dimension;
 * `OZARR_ERR_STATE` if it has its values of this step already; for values of the coordinate
 * `OZARR_ERR_ARGUMENT` for one that goes back, is the last one again or NaN, and `OZARR_ERR_RANGE` for
 * another one that its type cannot tell from the last one; `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
 * `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT` as for writing a region; those of chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_series_put(ozarr_series *series, const char *name, ozarr_type type,
    const void *data, size_t size);

/**
 * Gives a variable its values from any memory: with a halo (ghost cells), of another type,
 * column-major. Else as `ozarr_series_put`. The memory is that of a region of the variable that has one
 * step: `sizes`, `starts` and `strides` have a number for each of its dimensions, for that of the steps,
 * too (1, 0 and any).
 *
 * Errors: `OZARR_ERR_NOT_FOUND`, `OZARR_ERR_STATE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_RANGE` as for
 * `ozarr_series_put`; `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
 * `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT` as for `ozarr_array_write_ex`; those of chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_series_put_ex(ozarr_series *series, const char *name,
    const ozarr_memory *memory);

/**
 * Gives `count` variables their values of the step that comes next, as `ozarr_series_put_ex` does, and
 * ends the step: one call a step. `names` and `memories` may be NULL if `count` is 0: all was put before.
 * `value` is that of the coordinate, unless the coordinate was given its values as a variable (as
 * integers above 2^53 are) or the series has none. Variables that were left out have the fill value.
 * Publishes when it is time.
 *
 * The values of the coordinate rise, or fall: one that goes back, as after a restart at the wrong
 * step, is `OZARR_ERR_ARGUMENT`, NaN too; a fraction in a coordinate of integers is `OZARR_ERR_RANGE`, and
 * so is a value that the coordinate's type cannot tell from the last one (one of float32 counts seconds
 * to 16,777,216, which are 194 days).
 * All arguments are checked first: after a wrong one nothing is taken. After a number that does not fit
 * or a failure of the store, the call may be repeated if `ozarr_series_position` says that the step was
 * not taken; variables that were taken keep their values. If it was taken, publishing failed (a full
 * disk): the next step, flush or close publishes it.
 *
 * Errors: `OZARR_ERR_NOT_FOUND`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`, `OZARR_ERR_BOUNDS` as for
 * `ozarr_series_put_ex`; `OZARR_ERR_STATE` if a variable has its values of this step already, or another
 * process has written; those of documents, chunks and stores.
 *
 * @param[in] names,memories array(count), may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_series_step(ozarr_series *series, double value, int64_t count,
    const char *const *names, const ozarr_memory *memories);

/**
 * Gets the number of steps that were taken (`*position`), which is also the index of the next one, and
 * the number that readers see (`*published`); either may be NULL. A restart asks for the position
 * after opening.
 *
 * Errors: none of its own.
 *
 * @param[out] position,published may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_series_position(ozarr_series *series, int64_t *position, int64_t *published);

/**
 * Stores and publishes all steps that were taken, and makes them durable as far as the store's
 * `"file.sync"` promises it. What could not be stored stays in memory; each further flush tries again.
 *
 * Errors: `OZARR_ERR_STATE` if another process has written; those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_series_flush(ozarr_series *series);

/**
 * Flushes and frees. The handle is gone, whatever the status says; steps that could not be stored are
 * lost, and so are values of a step that was not ended. Variables that another program has defined
 * meanwhile get the steps of the others, with the fill value; an error of one that no series can write is
 * told when all steps are published. Where the dataset was closed before, what its
 * closing brings up to date is once more (`"consolidate"`, `"nczarr"`). In a child of `fork` nothing is
 * flushed (`OZARR_ERR_FORKED`).
 *
 * Errors: `OZARR_ERR_STATE` if another process has written; those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_series_close(ozarr_series *series);

/**
 * Frees the series; NULL is allowed. Steps that wait are stored and published, but errors are not
 * reported: use `ozarr_series_close` to see them.
 */
void ozarr_series_free(ozarr_series *series);

/**
 * Waits until all variables along a dimension are longer than `beyond`; `*length` (`length` may be NULL)
 * becomes the length that all have, which is that of the dataset and of the arrays opened from it from
 * then on. A series publishes it when all its steps are stored: what is read of them is whole.
 * `OZARR_ERR_TIMEOUT` after `seconds`: 0 looks once, a negative number sets no limit. A reader that is
 * faster than the writer waits here again and loses nothing. Steps that were cut off since they were
 * seen, by a run that began again at an earlier one, are waited for like new ones. A dimension that no
 * variable has yet is 0 long: the reader may come before the writer has defined it, and the dataset knows
 * the variables that were defined meanwhile when this returns the first steps.
 *
 * The variables' metadata documents are checked one after the other after pauses of 1 ms that grow to
 * 64 ms (in a remote store 0.1 s to 1.6 s). Checking a file is one system call; it is read only if it has
 * changed.
 *
 * Errors: `OZARR_ERR_NOT_FOUND` if a variable is gone; `OZARR_ERR_STATE` if one with another number of
 * dimensions is in its place; `OZARR_ERR_ARGUMENT` for a negative `beyond` or NaN; those of documents and
 * stores.
 *
 * @param[out] length may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_dataset_wait_growth(ozarr_dataset *dataset, const char *dimension,
    int64_t beyond, double seconds, int64_t *length);

/* ========================================================================================================
 * Checkpoints
 * ========================================================================================================
 *
 * A checkpoint is a group that is there as a whole or not at all, whatever is killed when: on folders,
 * in memory, in archives and in object stores. It is begun under a name, filled with arrays, groups
 * and attributes like any group, and committed; a restart opens the newest one. See
 * docs/checkpoints.md.
 *
 *     ozarr_group *g = NULL;
 *     if (ozarr_checkpoint_begin("run-checkpoints.zarr", "step-100", &g)) goto fail;
 *     if (ozarr_group_put(g, "u", OZARR_FLOAT64, 3, shape, u, sizeof u)) goto fail;
 *     if (ozarr_attr_set_int64(ozarr_group_node(g), "step", 100)) goto fail;
 *     if (ozarr_checkpoint_commit(g)) goto fail;
 *     ...
 *     if (ozarr_checkpoint_latest("run-checkpoints.zarr", &g)) goto fail;
 *     if (ozarr_group_get(g, "u", OZARR_FLOAT64, u, sizeof u)) goto fail; */

/**
 * Begins a checkpoint in the group at `location`, which is created if it is not there. `*out` is a
 * group to put arrays, groups and attributes into; readers do not find it before
 * `ozarr_checkpoint_commit`. Its nodes have paths relative to the checkpoint. Other processes may
 * write regions of its arrays, which they open at the `"location"` of the group's `ozarr_node_get`, `/`
 * and the array's path once it is created; they are to have closed them before the commit.
 *
 * A committed checkpoint of the same name stays until this one is committed, which is then the node
 * `name` with a dot and a number. What a kill left of one of that name is removed. One process at a
 * time may begin and commit checkpoints of a group.
 *
 * Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS` if a node of that name is no
 * checkpoint, or an array is at `location`; `OZARR_ERR_NODE_KIND` if one is above it;
 * `OZARR_ERR_READ_ONLY`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_checkpoint_begin(const char *location, const char *name, ozarr_group **out);

/**
 * Commits the checkpoint that was begun with `group`, and frees the handle, whatever the status says:
 * everything in it is made durable as far as the store's `"file.sync"` promises it, then the
 * checkpoint is there for everybody, at once. A checkpoint of the same name that was there before is
 * removed after that. Close its arrays and groups before.
 *
 * After an error (a full disk) the checkpoint is not there, what was written of it is removed if that
 * is possible, and the one before is still the newest. What fails when the checkpoint is there (the
 * consolidated metadata above it, the removal of the one before) is no error: the log is told, and the
 * next checkpoint of that name, or pruning, does it. Where a server's last answer was lost, the
 * checkpoint may be there, or come later, whole and the newest: what was written stays then, until the
 * next checkpoint of that name, or pruning. So it may be where the system could not make it durable,
 * as the message says.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a group that is no begun checkpoint; `OZARR_ERR_FORKED` in a child of
 * `fork`, where nothing is done; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_checkpoint_commit(ozarr_group *group);

/**
 * Gives up the checkpoint that was begun with `group`, removes what was written of it, and frees the
 * handle, whatever the status says.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a group that is no begun checkpoint, of which nothing is removed;
 * `OZARR_ERR_FORKED` in a child of `fork`, where nothing is done; `OZARR_ERR_UNSUPPORTED` in archives,
 * where nothing can be removed; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_checkpoint_abandon(ozarr_group *group);

/**
 * Opens the newest committed checkpoint in the group at `location`, for reading. `ozarr_node_path` has
 * its name. `OZARR_ERR_NOT_FOUND` if no checkpoint was committed: a run then starts from the beginning.
 *
 * Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_checkpoint_latest(const char *location, ozarr_group **out);

/**
 * Lists the committed checkpoints in the group at `location`, the oldest first, under a cursor as that
 * of `ozarr_group_list_nodes`; none if the group is not there. `ozarr_group_open` opens one at
 * `location`, `/` and its name.
 *
 * Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_checkpoint_list(const char *location, ozarr_node_iter **out);

/**
 * Removes all committed checkpoints in the group at `location` but the newest `keep`, and what killed
 * ones have left, also in the group's consolidated metadata. A checkpoint that is being removed is gone
 * for readers first. Several processes may call it at once, but not while another one writes a
 * checkpoint: what that has begun is removed, too, and its commit is `OZARR_ERR_STATE`. What this
 * process has begun stays. `OZARR_ERR_UNSUPPORTED` in archives, where nothing can be removed. On a full
 * disk checkpoints are removed before consolidated metadata can be told, which are when there is room:
 * with `OZARR_ERR_NO_SPACE` some may be gone already, and the same call goes on.
 *
 * Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_ARGUMENT` for a negative `keep`;
 * `OZARR_ERR_NODE_KIND` if an array is at `location`; `OZARR_ERR_READ_ONLY`; those of documents and
 * stores.
 */
OZARR_CHECKED ozarr_status ozarr_checkpoint_prune(const char *location, int64_t keep);

/* ========================================================================================================
 * Parallel programs
 * ========================================================================================================
 *
 * The processes of a parallel program (the ranks of MPI) open the same array and read and write regions
 * of it at the same time. `ozarr_array_partition` gives each process a part that ends at the borders of
 * chunks, so that no two processes write to one chunk. */

enum {
    /** `ozarr_array_partition`: cuts between the chunks inside of shards, too, for reading. */
    OZARR_PARTITION_INNER = 1
};

/**
 * Computes the part of a region (NULL: the whole array; without steps) for worker `index`, from 0, of
 * `workers`: a box at `start` of `shape` elements, one number for each dimension. The parts are
 * disjoint, make up the region, and end only where chunks (shards) end, so that workers write without
 * waiting for each other. All have about the same number of chunks; along one dimension the numbers
 * differ by at most 1. If there are fewer chunks than workers, the last workers get boxes without
 * elements.
 *
 * The region is bisected recursively along chunk boundaries; each cut minimises the difference of the
 * loads. Ties prefer the cut nearest the middle, then the first dimension. The load is the number of
 * chunks; on a rectilinear grid, of elements. The result is deterministic: every process computes the same
 * parts.
 *
 * Errors: `OZARR_ERR_BOUNDS` for a region that leaves the array, and for an `index` that is not below
 * `workers`; `OZARR_ERR_ARGUMENT` for a step, another flag, or a periodic region; `OZARR_ERR_RANK` for
 * an array without dimensions and more than one worker: its one element makes no box without elements.
 *
 * @param[in] region may be NULL
 * @param[out] start,shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_partition(const ozarr_array *array, const ozarr_region *region,
    int64_t workers, int64_t index, uint32_t flags, int64_t *start, int64_t *shape);

/**
 * Writes the node's metadata (a group's with those of everything below it) to `buf`, for
 * `ozarr_node_import` in other processes of a parallel program: one process reads the metadata and
 * sends it to the others. `*len` becomes the number of bytes, also where `cap` is too small
 * (`OZARR_ERR_BUFFER_SIZE`); NULL with `cap` 0 asks for it.
 *
 * Errors: those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_node_export(const ozarr_node *node, void *buf, size_t cap, size_t *len);

/**
 * Opens an exported node in the store at `location` (the root, as for `ozarr_store_open`). No metadata
 * are read from the store, neither for the node nor for nodes that are opened below a group; where other
 * writers have two keys for one chunk (the only one of an array of rank 0, those of v2 arrays without
 * `"dimension_separator"`), it is looked which of them is there. One of `*array` and `*group` becomes its
 * handle, the other one NULL. Mode as for `ozarr_array_open`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_LOCATION`; `OZARR_ERR_READ_ONLY` where
 * the store cannot be written; `OZARR_ERR_NOT_FOUND` for reading an archive that is not there; those
 * of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_node_import(const char *location, const char *mode, const void *data,
    size_t size, ozarr_array **array, ozarr_group **group);

/**
 * Opens an exported node in an open store, as `ozarr_node_import` does.
 *
 * Errors: those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_node_import_at(const ozarr_store *store, const void *data, size_t size,
    ozarr_array **array, ozarr_group **group);

/* ========================================================================================================
 * Requests: reads and writes that go on while the program computes
 * ========================================================================================================
 *
 * The names and rules are MPI's. A call with an i (`ozarr_array_iwrite_region`) begins a read or a write,
 * gives a request and returns; the request is tested or waited for, and freed:
 *
 *     ozarr_request *r = NULL;
 *     if (ozarr_array_iwrite_region(t, start, shape, OZARR_FLOAT64, u, sizeof u, 0, &r)) goto fail;
 *     compute(v);                          // u is not touched meanwhile
 *     if (ozarr_request_wait(r, -1)) goto fail; // the write's own status
 *     ozarr_request_free(r);
 *
 * Memory.    Until the request is done, the elements of a write must not change and those of a read
 *            mean nothing. With `OZARR_REQUEST_COPY` those of a write are copied before the call
 *            returns, and are yours again. The structs and lists of arguments are always used during
 *            the call only. The array may be freed.
 * Ending.    A request is done when its work is, or when it is cancelled, freed or too late for its
 *            deadline. From then on nothing touches its memory, which may be freed at once. Cancelling
 *            blocks only while elements are being copied, or another thread is in the request's `done`,
 *            never on I/O. A cancelled write has stored some of its chunks and not others; each is old
 *            or new. Freed requests whose elements were copied are not cancelled, but go on.
 * Order.     Requests on one array whose chunks overlap are carried out in the order in which they were
 *            submitted in this process, unless both read; a blocking read or write,
 *            `ozarr_array_append`, and a resize that erases, come behind those submitted before. So
 *            overlapping writes end as if each had been a blocking call, and a read sees the writes
 *            before it. Everything else has no order: other chunks, the raw chunks and shard writers,
 *            and the same files opened by another name. Nothing waits inside of a function that the
 *            work on a request or a chunk's write calls (of a store, a codec; `done` of any thread): what
 *            a blocking call, a flush or a close does there has no order with requests under way.
 * Flushing.  `ozarr_node_flush`, `ozarr_array_close`, `ozarr_store_flush` and `ozarr_store_close` wait
 *            for the requests on what they flush. Errors of these are reported by the requests only.
 * Threads.   A context of N threads has N - 1 threads of the library for all this. With N = 1 (and in
 *            stores and codecs of your own that must stay in your threads) requests go on only inside
 *            of test, wait and the calls that wait for them. A request may be used by several threads
 *            at once.
 * Bounds.    All requests of a context that are not done have `"bytes_in_flight"` bytes of elements at
 *            most (`ozarr_context_set`; by default half of the memory, at most 16 GiB). The next one
 *            waits until others are done, and helps along; or, with `"when_full"` as `"again"`, and inside
 *            of such a function, is `OZARR_ERR_AGAIN`. One that alone has more is `OZARR_ERR_LIMIT`.
 * Fork.      In a child, requests of the parent are `OZARR_ERR_FORKED`; there they can only be freed. */

enum {
    /** In the flags of a write: the elements are copied before the call returns. */
    OZARR_REQUEST_COPY = 1
};

/** How far a request is. */
typedef int32_t ozarr_request_state;

enum {
    OZARR_REQUEST_STATE_QUEUED = 0,      /**< It waits for earlier requests on the same chunks. */
    OZARR_REQUEST_STATE_RUNNING = 1,     /**< It is under way. */
    OZARR_REQUEST_STATE_DONE = 2,        /**< It is done, and went well. */
    OZARR_REQUEST_STATE_FAILED = 3       /**< It is done, and has an error (`ozarr_request_error`). */
};

/**
 * Called once when a request has ended, with its status and the message of an error ("" without one),
 * which is valid during the call only. It may begin other requests, but not wait for one, nor flush or
 * read what others write (see Order). What it returns has no effect: the request has ended.
 */
typedef ozarr_status (*ozarr_request_done_fn)(void *user, ozarr_status status, const char *message);

/** How a request is to be carried out. Set it to `OZARR_REQUEST_OPTIONS_INIT` first. */
typedef struct ozarr_request_options {
    /** `sizeof(ozarr_request_options)`; set by `OZARR_REQUEST_OPTIONS_INIT`. */
    size_t struct_size;
    /** A sum of `OZARR_REQUEST_COPY` (writes only) and `OZARR_CALLBACK_ANY_THREAD`, or 0. */
    uint32_t flags;
    /** 0. */
    int32_t reserved;
    /**
     * The deadline, in seconds from now: a request that is not done by then ends with
     * `OZARR_ERR_TIMEOUT`. The time is checked in each call on the request, and before each piece of
     * its work. 0: no deadline.
     */
    double seconds;
    /**
     * Called with `user` when the request is done; may be NULL. Without `OZARR_CALLBACK_ANY_THREAD` it
     * runs in the call that first finds the request done (test, wait, cancel), in that call's thread,
     * and not at all if the request is freed before. With it, it runs in whichever thread ends the
     * request, one of the library's perhaps, perhaps before the call that began it returns; where that
     * is in a call that changes a document, at its end, with the lock given back, or before in one that
     * looks at the request or flushes its array. The request is done when it has returned.
     */
    ozarr_request_done_fn done;
    /** Handed to `done`. */
    void *user;
} ozarr_request_options;

/** The first value of an `ozarr_request_options`: {0} with its size. */
#define OZARR_REQUEST_OPTIONS_INIT \
    {sizeof(ozarr_request_options), 0, 0, 0, NULL, NULL}

/** Gives `*request_options` the value OZARR_REQUEST_OPTIONS_INIT. */
static inline void ozarr_request_options_init(ozarr_request_options *request_options) {
    const ozarr_request_options init = OZARR_REQUEST_OPTIONS_INIT;
    *request_options = init;
}

/**
 * Begins to read a region (a hyperslab), the box of `shape` elements that begins at `start`, to `data`:
 * contiguous, the last index fastest. Errors in the arguments are returned at once, all others by the
 * request.
 *
 * Errors: `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`; `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a
 * `type` that does not fit; `OZARR_ERR_AGAIN` and `OZARR_ERR_LIMIT` (see Bounds above).
 *
 * @param[in] start,shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_iread_region(const ozarr_array *array, const int64_t *start,
    const int64_t *shape, ozarr_type type, void *data, size_t size, ozarr_request **out);

/**
 * Begins to write a region (a hyperslab), the box of `shape` elements that begins at `start`, from
 * `data`: contiguous, the last index fastest. `flags`: `OZARR_REQUEST_COPY`, or 0.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_STATE` for an array that this program has erased or
 * replaced since; `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`; `OZARR_ERR_ARGUMENT` for another
 * flag, `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a `type` that does not fit; `OZARR_ERR_AGAIN`
 * and `OZARR_ERR_LIMIT` (see Bounds above).
 *
 * @param[in] start,shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_iwrite_region(const ozarr_array *array, const int64_t *start,
    const int64_t *shape, ozarr_type type, const void *data, size_t size, uint32_t flags,
    ozarr_request **out);

/**
 * Begins to read a region (NULL: the whole array) to any memory. `options` may be NULL.
 *
 * Errors: `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`, `OZARR_ERR_ARGUMENT`,
 * `OZARR_ERR_NOT_FOUND` as for `ozarr_array_read_ex`; `OZARR_ERR_AGAIN` and `OZARR_ERR_LIMIT` (see
 * Bounds above).
 *
 * @param[in] region,options may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_iread_ex(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory, const ozarr_request_options *options, ozarr_request **out);

/**
 * Begins to write a region (NULL: the whole array) from any memory. `options` may be NULL.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_STATE` for an array that this program has erased or
 * replaced since; `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
 * `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for `ozarr_array_write_ex`; `OZARR_ERR_AGAIN` and
 * `OZARR_ERR_LIMIT` (see Bounds above).
 *
 * @param[in] region,options may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_iwrite_ex(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory, const ozarr_request_options *options, ozarr_request **out);

/**
 * Checks whether the request is done (`*done`), and does a part of its work if no thread of the library
 * does. When it is done the status is the request's own, and `*done` is true whatever the status is.
 *
 * Errors: those of the request: `OZARR_ERR_RANGE`, `OZARR_ERR_CANCELLED`, `OZARR_ERR_TIMEOUT` after its
 * deadline; those of chunks and stores.
 *
 * @param[out] done
 */
OZARR_CHECKED ozarr_status ozarr_request_test(const ozarr_request *request, bool *done);

/**
 * Waits until the request is done, helping with the work, and returns its status; waiting again returns
 * it again. `seconds` is the longest wait, negative without a limit: `OZARR_ERR_TIMEOUT` if the request is
 * not done by then: it goes on, and may be waited for again. (One that missed its own deadline is done, and
 * `ozarr_request_get_state` says so.) With one thread, the time is looked at between two pieces of work.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for NaN; `OZARR_ERR_STATE` from inside of a function that a request
 * calls; those of the request: `OZARR_ERR_RANGE`, `OZARR_ERR_CANCELLED`; those of chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_request_wait(const ozarr_request *request, double seconds);

/**
 * Cancels the request, unless it is done: its status becomes `OZARR_ERR_CANCELLED`. When this returns,
 * its memory is no longer used. This blocks only while elements are being copied, or another thread is in
 * the request's `done`, never on I/O. Some chunks of a write may be stored, each as a whole.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_request_cancel(const ozarr_request *request);

/**
 * Frees the handle; NULL is allowed. A request that is not done is cancelled, or, if its elements were
 * copied, goes on. When this returns, its memory is not touched any more. This blocks as
 * `ozarr_request_cancel` does.
 */
void ozarr_request_free(ozarr_request *request);

/**
 * Gets the state of the request, without working on it.
 *
 * Errors: none of its own.
 *
 * @param[out] state
 */
OZARR_CHECKED ozarr_status ozarr_request_get_state(const ozarr_request *request, ozarr_request_state *state);

/**
 * Fills `info`, whose `struct_size` the caller has set, with the request's own error; its status is
 * `OZARR_OK` without one. The texts live as long as the request. `OZARR_ERR_STATE` before it is done.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_request_error(const ozarr_request *request, ozarr_error_info *info);

/**
 * Waits until all requests are done (NULL ones count as done), for at most `seconds` (negative: without
 * end): then `OZARR_ERR_TIMEOUT`, if one is not. Else the status is that of the first, in the order of
 * the list, that failed. `statuses`, unless it is NULL, gets the status of each, in any case
 * (`OZARR_ERR_STATE` of those that are not done; a request may have failed with it, too, of which
 * `ozarr_request_get_state` says that it is done).
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative `count` or NaN; `OZARR_ERR_STATE` from inside of a
 * function that a request calls; those of the requests: `OZARR_ERR_RANGE`, `OZARR_ERR_CANCELLED`; those
 * of chunks and stores.
 *
 * @param[in] requests array(count)
 * @param[out] statuses array(count), may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_requests_wait_all(ozarr_request *const *requests, int64_t count,
    double seconds, ozarr_status *statuses);

/**
 * Waits until one of the requests is done, for at most `seconds` (negative: without end). `*index`
 * becomes its index in the list, from 0, whose entry is then best set to NULL; -1 if all are NULL. The
 * status is that request's own: `*index` is set whatever it is, except to `OZARR_ERR_TIMEOUT` when none
 * is done in time, which leaves it at -1.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative `count` or NaN; `OZARR_ERR_STATE` from inside of a
 * function that a request calls; those of the request: `OZARR_ERR_RANGE`, `OZARR_ERR_CANCELLED`; those
 * of chunks and stores.
 *
 * @param[in] requests array(count)
 * @param[out] index
 */
OZARR_CHECKED ozarr_status ozarr_requests_wait_any(ozarr_request *const *requests, int64_t count,
    double seconds, int64_t *index);

/**
 * Waits for all requests of the process, those whose handles are freed among them, and ends the threads
 * of the library: call it before `MPI_Finalize`, `dlclose` or the end of `main`, if the program must
 * not have other threads then: a process whose `main` ends by `pthread_exit` would stay with them.
 * Later calls start threads again. Stores with threads of their own (object stores, web servers) keep
 * them until they are closed.
 * `OZARR_ERR_STATE` from inside of a function that the library calls in one of its threads.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_shutdown(void);

/* ========================================================================================================
 * Stores
 * ========================================================================================================
 *
 * Locations are enough for most programs. A store handle saves opening one location again for each of
 * many nodes, reaches nodes by their path in it, and is the only way to a hierarchy in memory.
 *
 * A zip archive (`x.zip`, `x.ozx`, or `zip:` and any path) is a store, too. It is written by appending,
 * so it cannot erase, nor shrink or overwrite a node; and others can read it only after a flush or
 * close, each of which writes a directory of all keys: use one store handle for many nodes. (Those that
 * newer ones made useless take at most as much room as what is stored, in archives that ozarr made and
 * that have no comment.) The last
 * handle that is freed without that finishes the archive, too, but cannot say whether it worked; after a
 * kill see `ozarr_zip_repair`. A handle that only reads a file sees what others flush into it when it
 * reads metadata again (`ozarr_node_refresh`, the functions that wait for growth), takes them from an
 * export, or looks for a chunk that it does not know. One that is open for writing does not: if another
 * program has changed the file, its first write, and the first after a flush, is `OZARR_ERR_CONFLICT`.
 * The handles of a process that write to an archive share the strictest of their options. Where an
 * archive has all in one folder that is a node, that folder is the root; a location may name it, too.
 *
 * An object store or web server is a location like any other: `s3://bucket/run.zarr`, `gs://`,
 * `az://container/run.zarr`, `abfs://container@account/run.zarr`, `https://host/run.zarr`. Credentials
 * are taken from the options below, else from the environment and the files of the service's own tools
 * (`AWS_...` and `~/.aws`, `GOOGLE_...`, `AZURE_...`), all of them from the first of these that has
 * some. Who is sent them is said by options, or by the location and the environment: keys of `AZURE_...`
 * are for the account that the environment names, else for that of the location; its tokens, and those
 * that are got by it or for a machine, are for all accounts. Both are sent to Azure's own hosts, the host
 * that the environment names and that of `"cloud.endpoint"`, and to no other that a location names. They
 * are read when a handle's store is reached first; where S3 says that they have expired, the AWS tools'
 * files are read again, and what was renewed there is used from then on. Without credentials requests are
 * not signed, as public buckets need none.
 * The variable `OZARR_CLOUD_OPTIONS` may hold options as JSON, for calls that take none. Its credentials
 * are of no effect where a call has some. What only another service knows is of no effect, either, nor an
 * endpoint or a token beside it; web servers are sent none of its tokens. An `"endpoint"` beside options of
 * the location's service and of another one is an error: name it as `"aws_endpoint_url"`,
 * `"azure_storage_endpoint"` or `"google_base_url"`. Unless an option names the
 * endpoint, its keys for Azure go to the account that it names, if it names one, and keys and tokens to
 * the hosts as above only.
 * The variables that name an endpoint are `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` (also of the service
 * that gives out keys for a web identity, if `AWS_ENDPOINT_URL_STS` does not), `AZURE_STORAGE_ENDPOINT`,
 * `AZURE_STORAGE_CONNECTION_STRING`, `GOOGLE_BASE_URL` and `STORAGE_EMULATOR_HOST` (which is asked
 * without a signature, unless an option has a credential); a host in the location goes before them.
 * Redirections of reads are followed; another host is sent no credentials, no key of yours to encrypt
 * with and no `Referer`. A service on the machine or its link that gives out the machine's credentials is
 * asked without a proxy. Web servers are read by keys and cannot list.
 * Only 404 and 410 mean that a chunk is missing; every other failure is an error, after tries within
 * the deadline. A library that was built without the feature `cloud` answers such a location with
 * `OZARR_ERR_UNSUPPORTED`.
 *
 * A path in a store is made of node names separated by `/`, without one in front (`"run/temperature"`);
 * the empty text is the root. */

/**
 * Opens the store at `location` (here, the whole of it is the root). `mode` `"r"` is for reading only;
 * `"r+"` is for reading and writing, and creates the store (a directory, say) with the first write.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_LOCATION`; `OZARR_ERR_READ_ONLY` where
 * the store cannot be written; `OZARR_ERR_UNSUPPORTED` for a service that this build does not have;
 * `OZARR_ERR_NOT_FOUND` for reading an archive that is not there; those of stores.
 */
OZARR_CHECKED ozarr_status ozarr_store_open(const char *location, const char *mode, ozarr_store **out);

/**
 * Opens a store as `ozarr_store_open` does, with settings (`context`, or NULL) and options (NULL, or
 * key, value, key, value, ..., NULL):
 *
 * - `"file.sync"`: when files are made durable against a power cut. `"batch"` (the default): what is
 *   replaced at once, what is new at flush or close; `"each"`: everything at once; `"none"`: left to the
 *   system. Against a kill of the process everything stored is whole in any case.
 * - `"file.lock"`: whether processes that change parts of one chunk, or one node's metadata, at the same
 *   time are kept apart by locks of the file system (Lustre needs the mount option `flock`; with
 *   `localflock` locks hold on one machine only). `"try"` (the default): where it has locks; where it
 *   refuses one, the change is made without, and the log of the context is told once. `"require"`: such a
 *   change fails with `OZARR_ERR_IO`, and `ozarr_last_error_info` has the key and the system's errno.
 *   `"none"`: the program itself sees to it that no two processes change one chunk or one node.
 * - `"file.publish"`: when a directory that does not exist yet appears. `"put"` (the default): when the
 *   first value is stored. `"flush"`: whole, by the first flush or close of the store or of a node in it;
 *   it is made beside its place under a hidden name, its files are stored faster, and no thread may read
 *   what another one stores at the moment. Without a flush it is removed when the last handle is freed,
 *   after a kill when the same directory is made again; on a file system of a network (NFS, Lustre, FUSE,
 *   ...) only on the same machine (in the same container), and before that is started anew: else
 *   `ozarr verify` tells of it, and it can be removed by hand. If somebody else makes the directory
 *   meanwhile, the flush fails with `OZARR_ERR_EXISTS`; in a child of `fork` with `OZARR_ERR_FORKED`
 *   until the parent has flushed. In the directory of a group, and where others are
 *   making the same one, it appears as with `"put"`. In an object store without a root the document of
 *   the root alone waits for that flush: nobody finds the root before all that was made until then, and
 *   what a kill leaves has none.
 * - `"consolidated"`: `"auto"` (the default) opens and lists what is below a group from the group's
 *   consolidated metadata, if it has any, as they were when the group was opened; a change through this
 *   process ends that. `"never"` reads every node's own document.
 * - `"consolidate"`: when consolidated metadata are written without `ozarr_group_consolidate`.
 *   `"named"` (the default): when the store, a group, or an array that was created by its location is
 *   closed, for the root and for each group in which arrays with named dimensions were made (xarray
 *   warns without them), and, if it can be done, of what may be left of a killed run: for those above an
 *   array that `OZARR_CREATE_OPEN_IF_SAME` found, and for a root without any above a dataset that grows or
 *   is defined again; `"close"`: at these times for nodes of any kind; `"flush"`: as
 *   `"close"`, and by `ozarr_store_flush`; `"step"`: with the first change, and in step with every further
 *   one; `"never"`. Those that are there already are kept in step with every change in any case, except
 *   that with `"flush"` changes wait until then, so that readers see all of them at once.
 * - `"nczarr"`: when netCDF-C's own keys of format 2 (`_nczarr_group` and its like) are written: at the
 *   times of `"consolidate"`, `"keep"` (the default) where the root has them, for netCDF-C finds nodes by
 *   them; `"on"` in every hierarchy of format 2, and arrays of types that netCDF does not have are an
 *   error; `"off"` never. Nodes of format 3 have no such keys: `"on"` with the option `"zarr_format"` of
 *   `"3"` is an error, and does nothing for those that are created as 3.
 * - `"zarr_format"`: `"2"` or `"3"` sees nodes of that version only; `"auto"` (the default) sees both,
 *   and v3 where both exist.
 * - `"dimension_separator"`: `"."` or `"/"`, of the chunks' keys of v2 arrays whose metadata do not
 *   say; `"auto"` (the default) takes `"."`, unless chunks are found in directories.
 * - `"bytes_fill"`: `"text"` takes the fill values of bytes of a fixed length in v2 metadata for the text
 *   itself, where that fits, as netCDF-C without its own keys, R and Julia write them; `"base64"` is the
 *   default, and what the specification says. Metadata that tell their writer need no option.
 * - `"empty_chunks"`: `"missing"` takes chunks of no bytes for missing ones; `"error"` is the default.
 * - `"clipped_chunks"`: `"read"` reads chunks at the edge that were stored without their part outside of
 *   the array; `"error"` is the default.
 * - `"checksums"`: `"ignore"` reads chunks whose checksums do not match; `"verify"` is the default.
 * - `"unknown_members"`: `"ignore"` reads v3 nodes with metadata that must be understood and are not (the
 *   data may be other than they seem); `"error"` is the default.
 *
 * For object stores and web servers (they are checked, and of no effect, for other locations):
 *
 * - `"cloud.endpoint"`: the URL of a server that speaks the service's language (MinIO, Ceph, ...).
 *   `"cloud.region"`; `"cloud.path_style"`: `"false"` has the bucket in the host's name.
 * - `"cloud.access_key_id"`, `"cloud.secret_access_key"`, `"cloud.session_token"` (S3);
 *   `"cloud.profile"`, `"cloud.credentials_file"`: of the AWS tools (a profile that has a role or a sign-on,
 *   or a process and no keys in the credentials file, is an error that says so); `"cloud.account_name"`,
 *   `"cloud.account_key"`, `"cloud.sas_token"` (Azure); `"cloud.service_account"`: a file (Google);
 *   `"cloud.bearer_token"`. `"cloud.anonymous"`: `"true"` or `"false"`; `"auto"` (the default) signs
 *   requests where credentials are found. No message shows a credential.
 * - `"cloud.deadline"`: seconds for one operation with all its tries (300; a second more for each 64
 *   KiB); `"cloud.connect_timeout"` (10), `"cloud.idle_timeout"` (30): seconds, the latter of silence,
 *   and a second more for each 64 KiB on their way to the server (64 at most); `"cloud.retries"` (10).
 *   A host that has never answered, because its name is not known, no server listens there, or what does
 *   ends each connection within the TLS handshake, is tried 3 times at most; a certificate or a proxy
 *   that refuses, once.
 * - `"cloud.requests"` (64): the most requests of this store in flight at once; `"cloud.bytes"`
 *   (67108864): the most bytes of one call in flight, not of all calls at the same time: what was asked
 *   for and is not yet decoded, or encoded and not yet stored. A chunk that is larger goes alone; a put
 *   takes about three times its bytes of memory. `"cloud.merge_gap"` (1048576): ranges with at most this
 *   many bytes between them are read as one; `"cloud.part_size"` (16777216): larger values that copying
 *   and rechunking store are put in parts of this many bytes, and behind the first 5,000 in longer ones,
 *   as services take 10,000 parts. What is written is one put for each chunk or shard, and S3 takes at
 *   most 5 GiB in one.
 * - `"cloud.ca_file"`: a PEM file of certificates that are trusted besides the system's, which
 *   `SSL_CERT_FILE` and `SSL_CERT_DIR` replace (S3: also the variable `AWS_CA_BUNDLE`).
 * - `"cloud.proxy"`: a URL, `"http://user:password@host:port"` (else the variables `HTTP_PROXY`,
 *   `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`); `"cloud.allow_http"`: `"true"` allows endpoints without TLS
 *   (on this machine they are); `"cloud.user_agent"`.
 * - `"cloud.conditional_put"`: whether the server keeps conditions of puts, by which processes that change
 *   one node's metadata or parts of one chunk at the same time lose nothing. `"auto"` (the default) finds
 *   out; where it does not, changes are made all the same, and the log of the context is told once.
 *   `"require"`: they fail with `OZARR_ERR_UNSUPPORTED` there. `"always"`: it does; `"never"`: it does not,
 *   and conditions are not used.
 * - `"cloud.forbidden"`: `"missing"` takes a key that the server forbids to read for a missing one,
 *   because S3 reports missing keys as forbidden when the caller may not list the bucket; `"error"` is
 *   the default.
 * - `"cloud.options"`: a JSON object with any of these (without `cloud.`), and with what else the crate
 *   `object_store` knows of the service.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown option or value; `OZARR_ERR_LOCATION`;
 * `OZARR_ERR_READ_ONLY` where the store cannot be written; `OZARR_ERR_UNSUPPORTED` for a service
 * that this build does not have; `OZARR_ERR_NOT_FOUND` for reading an archive that is not there;
 * those of stores.
 *
 * @param[in] context may be NULL
 * @param[in] options array(NULL), may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_store_open_ex(const ozarr_context *context, const char *location,
    const char *mode, const char *const *options, ozarr_store **out);

/**
 * Creates an empty store in memory. Its content is kept as long as any handle on it: the store's, a
 * group's or an array's.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_store_memory(ozarr_store **out);

/**
 * Creates the array `path` as `spec` says, with the groups above it that are missing; `mode` as for
 * `ozarr_array_create`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown mode or choices that contradict each other;
 * `OZARR_ERR_STATE` for a specification without a shape; `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS`,
 * `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an array;
 * `OZARR_ERR_READ_ONLY`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_array_create_at(ozarr_store *store, const char *path, const ozarr_spec *spec,
    ozarr_create_mode mode, ozarr_array **out);

/**
 * Opens the array `path`, in the store's mode.
 *
 * Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_NODE_KIND` if a group
 * is; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_array_open_at(const ozarr_store *store, const char *path, ozarr_array **out);

/**
 * Creates the group `path`, with the groups above it that are missing. `zarr_format` is 2, 3, or 0 for
 * that of the group above it (3 without one).
 *
 * Errors: `OZARR_ERR_ARGUMENT` for an unknown mode or format; `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS`,
 * `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an array;
 * `OZARR_ERR_READ_ONLY`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_create_at(ozarr_store *store, const char *path, int32_t zarr_format,
    ozarr_create_mode mode, ozarr_group **out);

/**
 * Opens the group `path`, in the store's mode.
 *
 * Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_NODE_KIND` if an array
 * is; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_open_at(const ozarr_store *store, const char *path, ozarr_group **out);

/**
 * Gets the kind of the node at `path`: an array, a group, a node that cannot be understood, or nothing
 * (which is not an error).
 *
 * Errors: `OZARR_ERR_NAME`; those of stores.
 *
 * @param[out] kind
 */
OZARR_CHECKED ozarr_status ozarr_store_node_kind(const ozarr_store *store, const char *path,
    ozarr_node_kind *kind);

/**
 * Erases the node at `path`, with everything below it. What an interrupted copy, migration or erasing has
 * left there goes as well.
 *
 * Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_AGAIN` while a
 * series is open in it (see `OZARR_CREATE_OVERWRITE`); `OZARR_ERR_READ_ONLY`; those of
 * documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_store_node_erase(ozarr_store *store, const char *path);

/**
 * Makes everything durable that was written through any handle on this store, and stores before what
 * waits in its arrays (the setting `"write_back"`). What an appender, a series or a shard writer has taken
 * is stored by its own functions. For a zip archive: writes its directory, without which others cannot
 * read it.
 *
 * Errors: those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_store_flush(ozarr_store *store);

/**
 * Flushes and frees. The handle is gone, whatever the status says. What groups and arrays that stay open
 * change afterwards is told above (see the option `"consolidate"`) when they are flushed or closed.
 *
 * Errors: those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_store_close(ozarr_store *store);

/** Frees the handle; NULL is allowed. Groups and arrays that were opened from it stay usable. */
void ozarr_store_free(ozarr_store *store);

#ifdef __cplusplus
}
#endif

#endif /* OZARR_H */
