/*
 * ozarr_extend.h: stores, codecs, data types and other extensions that a program brings itself. Not yet
 * stable: a minor version may change what is declared here.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

/* Generated from the sources by cbindgen: a change here is lost. */

#ifndef OZARR_EXTEND_H
#define OZARR_EXTEND_H

#include "ozarr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ========================================================================================================
 * Stores of your own
 * ========================================================================================================
 *
 * A store can be a table of functions of your program: a database, an archive, another library. Arrays and
 * groups live in it as in any other. Fill an `ozarr_store_table` and give it to `ozarr_store_from_table`.
 *
 * Functions give `OZARR_OK`, or the status of what went wrong, best through `ozarr_set_error`; anything
 * but a status is `OZARR_ERR_CALLBACK`. `OZARR_ERR_NOT_FOUND` means that a key holds nothing, or that no
 * key has the prefix: no other error is ever taken for that. Keys are checked before they come to you
 * (`"run/t/c/0/0"`: UTF-8, no empty, `.` or `..` parts); a prefix is empty or ends in `/`. What the
 * functions give is checked, too.
 *
 * Unless the table says `OZARR_CALLBACK_ANY_THREAD`, the functions of all such tables are called one
 * at a time, and only by threads that are inside a call of yours: reads and writes of arrays there use
 * the calling thread alone. A function may call ozarr, on other stores; others have their turn until
 * that call returns, but not in those that only give an answer or an error (`ozarr_answer_put`,
 * `_room`, `_size`, `_version`, `ozarr_keys_add`, `ozarr_set_error`), which wait for nothing. It must
 * not touch the array or the document that it is called for, nor wait for another thread that erases,
 * renames or replaces that node, nor let a C++ exception or `longjmp` out. `errno` and the
 * floating-point environment are the host's own in it.
 *
 * Such functions and flags are also in the tables by which codecs, data types and more are registered
 * (see "Extensions"). */

enum {
    /**
     * In the flags of a store's table: every answer has a version (`ozarr_answer_version`). Without it, whole
     * values are read and compared.
     */
    OZARR_STORE_HAS_VERSIONS = 512
};

/** Which bytes a range has. */
typedef int32_t ozarr_byte_range_kind;

enum {
    OZARR_BYTE_RANGE_KIND_WHOLE = 0,     /**< All bytes. `offset` and `size` are 0. */
    OZARR_BYTE_RANGE_KIND_SPAN = 1,      /**< `size` bytes from `offset` on. */
    OZARR_BYTE_RANGE_KIND_SUFFIX = 2     /**< The last `size` bytes. `offset` is 0. */
};

/** Which bytes of what a key holds. */
typedef struct ozarr_byte_range {
    /** One of `OZARR_BYTE_RANGE_KIND_...`. */
    ozarr_byte_range_kind kind;
    /** 0. */
    int32_t reserved;
    /** The first byte of a span. */
    int64_t offset;
    /** The number of bytes of a span or suffix. */
    int64_t size;
} ozarr_byte_range;

/**
 * Frees what belongs to `user`: called once, after the last use of a table. It returns nothing: no call is
 * left that could report a failure.
 */
typedef void (*ozarr_destroy_fn)(void *user);

/** Puts all bytes of a key into `answer`, as one part. */
typedef ozarr_status (*ozarr_get_fn)(void *user, const char *key, ozarr_answer *answer);

/**
 * Puts the bytes of each range into `answer`, in order. All are of one version. A range that reaches over
 * the end is `OZARR_ERR_TRUNCATED`. `count` may be 0: then only the version is wanted.
 */
typedef ozarr_status (*ozarr_get_ranges_fn)(void *user, const char *key, const ozarr_byte_range *ranges,
    int64_t count, ozarr_answer *answer);

/** Stores `size` bytes under a key: readers see the old value or the new one, whole. */
typedef ozarr_status (*ozarr_put_fn)(void *user, const char *key, const void *data, size_t size);

/**
 * As `put`, if the key holds the value of that version still, or (`version` NULL) holds nothing; else
 * `OZARR_ERR_CONFLICT`.
 */
typedef ozarr_status (*ozarr_put_if_fn)(void *user, const char *key, const void *data, size_t size,
    const void *version, size_t version_size);

/** Removes a key (`erase`), or all keys with a prefix (`erase_prefix`). */
typedef ozarr_status (*ozarr_erase_fn)(void *user, const char *key);

/** Adds keys to `keys`, in any order. */
typedef ozarr_status (*ozarr_list_fn)(void *user, const char *prefix, ozarr_keys *keys);

/** Makes durable what was put. */
typedef ozarr_status (*ozarr_flush_fn)(void *user);

/**
 * A store as functions. `get` is required. Other functions may be NULL: then the store cannot do this,
 * or ozarr uses the others for it.
 */
typedef struct ozarr_store_table {
    /** `sizeof(ozarr_store_table)`. */
    size_t struct_size;
    /**
     * A sum of `OZARR_CALLBACK_ANY_THREAD`, `OZARR_STORE_HAS_VERSIONS`, and `OZARR_STORE_IS_REMOTE` (reads
     * are worth having in flight together, which is taken for granted of ranges with versions, and of no
     * effect for values that are read whole), or 0.
     */
    uint32_t flags;
    /** 0. */
    int32_t reserved;
    /**
     * What the store is called in messages, such as `"sqlite:run.db"`. Stores of one name are one store
     * to the locks that keep threads apart: give others other names. NULL is `"user:"` and the address of
     * `user`. Copied.
     */
    const char *name;
    /** Handed on to every function. */
    void *user;
    /**
     * Called when the last handle is gone and the last call has ended, which with functions that any
     * thread may call, or that answer later, can be shortly after the call that frees the handle. May
     * be NULL.
     */
    ozarr_destroy_fn destroy;
    /** All bytes of a key. */
    ozarr_get_fn get;
    /**
     * Ranges of a key. Used with `OZARR_STORE_HAS_VERSIONS` only; else, and without it, whole values are
     * read, each once for an access, and again to see whether it has changed.
     */
    ozarr_get_ranges_fn get_ranges;
    /**
     * As `get_ranges`, without waiting: `OZARR_OK` says that the read was started, and that some thread
     * will call `ozarr_answer_done` exactly once, perhaps before this returns. `ranges` goes when it
     * returns. An error ends the read here.
     */
    ozarr_get_ranges_fn start_get_ranges;
    /** Stores a value. Without it the store is for reading only. */
    ozarr_put_fn put;
    /**
     * Stores a value on a condition. Without it the condition is looked at before, and two programs may
     * both think that they were first.
     */
    ozarr_put_if_fn put_if;
    /** Removes a key. Without it nothing can be erased. */
    ozarr_erase_fn erase;
    /** Removes all keys that begin with a prefix; may be NULL. */
    ozarr_erase_fn erase_prefix;
    /** All keys that begin with a prefix. Without it groups cannot be listed. */
    ozarr_list_fn list;
    /** The names directly below a prefix, without it; those of sub-prefixes end in `/`. May be NULL. */
    ozarr_list_fn list_dir;
    /** May be NULL. */
    ozarr_flush_fn flush;
} ozarr_store_table;

/** The first value of an `ozarr_store_table`: {0} with its size. */
#define OZARR_STORE_TABLE_INIT \
    {sizeof(ozarr_store_table), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL}

/** Gives `*store_table` the value OZARR_STORE_TABLE_INIT. */
static inline void ozarr_store_table_init(ozarr_store_table *store_table) {
    const ozarr_store_table init = OZARR_STORE_TABLE_INIT;
    *store_table = init;
}

/* ========================================================================================================
 * Stores of your own: making one, and its answers
 * ========================================================================================================
 *
 * A function that reads puts bytes, or keys, into the handle that it was given. */

/**
 * Makes a store of functions. Mode `"r"` never calls those that change it; `"r+"` does. `context` has
 * settings, or is NULL. The table is copied. After an error `destroy` is not called, and `table->user`
 * stays yours.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another `mode`, an unknown flag, or functions that need others.
 *
 * @param[in] context may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_store_from_table(const ozarr_context *context,
    const ozarr_store_table *table, const char *mode, ozarr_store **out);

/**
 * Makes `message` the calling thread's last error and returns `status`, for callbacks that fail:
 * `return ozarr_set_error(OZARR_ERR_IO, "the tape is torn", NULL);`. The call that ran the callback then
 * fails with that status, and its message has yours in it. `message` is one line of UTF-8; NULL is
 * allowed. A value that is not an error status becomes `OZARR_ERR_CALLBACK`.
 *
 * `details` says more, for `ozarr_last_error_info`: its `os_errno`, `http_status`, `key` and `field`, of
 * which the last two are also put in front of the message. Its status and message do not count.
 *
 * Errors: `status`, or `OZARR_ERR_CALLBACK`: it never returns OK.
 *
 * @param[in] message may be NULL
 * @param[in] details may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_set_error(ozarr_status status, const char *message,
    const ozarr_error_info *details);

/**
 * Adds the next part of an answer: `size` bytes, which are copied. In an answer for ranges the parts
 * are those of the ranges, in order, and their sizes are checked.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for more parts than ranges, and for a part longer than its range;
 * `OZARR_ERR_TRUNCATED` for a shorter one; `OZARR_ERR_LIMIT`.
 */
OZARR_CHECKED ozarr_status ozarr_answer_put(ozarr_answer *answer, const void *data, size_t size);

/**
 * Allocates the next part of an answer: `*data` becomes a pointer to `size` bytes of 0, to be filled
 * before the function returns (of a read that was started: before `ozarr_answer_done`).
 *
 * Errors: `OZARR_ERR_ARGUMENT` for more parts than ranges, and for a part longer than its range;
 * `OZARR_ERR_TRUNCATED` for a shorter one; `OZARR_ERR_LIMIT`.
 *
 * @param[out] data
 */
OZARR_CHECKED ozarr_status ozarr_answer_room(ozarr_answer *answer, size_t size, void **data);

/**
 * Says which version of the key's value the answer is of: any bytes (an ETag, a counter), at most 1,024,
 * that never come back for another value of that key.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for more bytes.
 */
OZARR_CHECKED ozarr_status ozarr_answer_version(ozarr_answer *answer, const void *version, size_t size);

/**
 * Says how many bytes the whole value has that the answer is of: of use where ranges are asked for, or the
 * version only. Optional; without it a value is read whole where its length must be known.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative size.
 */
OZARR_CHECKED ozarr_status ozarr_answer_size(ozarr_answer *answer, int64_t size);

/**
 * Ends a read that `start_get_ranges` started, from any thread: with `OZARR_OK` once all parts are
 * given, or with what went wrong (`OZARR_ERR_NOT_FOUND`: the key holds nothing). The handle is gone
 * then. Hold no lock then that a function of a table takes: others may have their turn in it.
 *
 * Errors: `OZARR_ERR_STATE` for an answer that is not one of `start_get_ranges`, or was ended before.
 */
OZARR_CHECKED ozarr_status ozarr_answer_done(ozarr_answer *answer, ozarr_status status);

/**
 * Adds one key (or, for `list_dir`, one name) to a listing.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_keys_add(ozarr_keys *keys, const char *key);

/* ========================================================================================================
 * Extensions
 * ========================================================================================================
 *
 * What the specification leaves open a program can fill: storage transformers, codecs, data types, chunk
 * key encodings, and members of `zarr.json` that must be understood. They are registered under their names
 * for the whole process, as tables of functions like those of a store of your own, and then used by every
 * array whose metadata name them; new arrays name them through `ozarr_spec_set_member_json`.
 *
 * A name that is taken, by the library or by another registration, is `OZARR_ERR_EXISTS` unless
 * `OZARR_REGISTER_REPLACE` is among the flags. Arrays that are open keep what they were opened with. A
 * registration lives until it is unregistered or replaced and its last user is gone: then `destroy` is
 * called with its `user`. After an error of the registering call it is not called.
 *
 * Functions give `OZARR_OK` or a status, best through `ozarr_set_error`, and follow the rules of "Stores
 * of your own". Without `OZARR_CALLBACK_ANY_THREAD`, arrays that use them are read and written by the
 * calling thread alone. */

enum {
    /** In the flags of a registration: a name that is taken is replaced. */
    OZARR_REGISTER_REPLACE = 1024
};

/** What `ozarr_unregister` removes. */
typedef int32_t ozarr_extension;

enum {
    OZARR_EXTENSION_TRANSFORMER = 1,     /**< A storage transformer. */
    OZARR_EXTENSION_MEMBER = 2,          /**< A member of `zarr.json`. */
    OZARR_EXTENSION_CODEC = 3,           /**< A codec, by its name or id; both names go. */
    OZARR_EXTENSION_DTYPE = 4,           /**< A data type, by its name in v3 or v2; both names go. */
    OZARR_EXTENSION_KEY_ENCODING = 5     /**< A chunk key encoding. */
};

/**
 * Fills `table`, which is empty but for its size, with a store over `inner`. `configuration` is a JSON
 * object (`"{}"` where the metadata have none). `inner` holds the chunks of the array, under their keys
 * (`"c/0/0"`) or whatever keys the transformer likes; it is valid until `table->destroy` has been
 * called, and must not be freed.
 */
typedef ozarr_status (*ozarr_transformer_open_fn)(void *user, const char *configuration, ozarr_store *inner,
    ozarr_store_table *table);

/** Whether a value, as JSON, is one that the program understands. */
typedef ozarr_status (*ozarr_member_check_fn)(void *user, const char *value);

/** A storage transformer: it makes stores over the store that holds an array's chunks. */
typedef struct ozarr_transformer_table {
    /** `sizeof(ozarr_transformer_table)`. */
    size_t struct_size;
    /**
     * A sum of `OZARR_REGISTER_REPLACE` and `OZARR_CALLBACK_ANY_THREAD` (which concerns `open`; the
     * store's functions have flags of their own), or 0.
     */
    uint32_t flags;
    /** 0. */
    int32_t reserved;
    /** The name in `storage_transformers`. Copied. */
    const char *name;
    /** Handed on to `open`. */
    void *user;
    /** May be NULL. */
    ozarr_destroy_fn destroy;
    /**
     * Called whenever an array with this transformer is opened, created or copied. The `flush` of what it
     * makes is called with that of the array's store, and before its `destroy` if anything was put since.
     */
    ozarr_transformer_open_fn open;
} ozarr_transformer_table;

/** The first value of an `ozarr_transformer_table`: {0} with its size. */
#define OZARR_TRANSFORMER_TABLE_INIT \
    {sizeof(ozarr_transformer_table), 0, 0, NULL, NULL, NULL, NULL}

/** Gives `*transformer_table` the value OZARR_TRANSFORMER_TABLE_INIT. */
static inline void ozarr_transformer_table_init(ozarr_transformer_table *transformer_table) {
    const ozarr_transformer_table init = OZARR_TRANSFORMER_TABLE_INIT;
    *transformer_table = init;
}

/**
 * The end of the key of the chunk `index` (as many numbers as `rank`; NULL for 0), behind the array's
 * prefix: `buf` has `cap` bytes, and `*len` becomes the length without the NUL. Two chunks have two keys,
 * and none is `"zarr.json"`.
 */
typedef ozarr_status (*ozarr_key_encode_fn)(void *user, const char *configuration, int32_t rank,
    const int64_t *index, char *buf, size_t cap, size_t *len);

/** The reverse, for listings: whether `key`, behind the array's prefix, is a chunk's, and then its index. */
typedef ozarr_status (*ozarr_key_decode_fn)(void *user, const char *configuration, int32_t rank,
    const char *key, int64_t *index, bool *is_chunk);

/** A chunk key encoding as functions. */
typedef struct ozarr_key_encoding_table {
    /** `sizeof(ozarr_key_encoding_table)`. */
    size_t struct_size;
    /** A sum of `OZARR_REGISTER_REPLACE` and `OZARR_CALLBACK_ANY_THREAD`, or 0. */
    uint32_t flags;
    /** 0. */
    int32_t reserved;
    /** The name in `chunk_key_encoding`. Copied. */
    const char *name;
    /** Handed on to every function. */
    void *user;
    /** May be NULL. */
    ozarr_destroy_fn destroy;
    /** Checks a configuration (a JSON object). NULL takes every one. */
    ozarr_member_check_fn check;
    /** From indices to keys. */
    ozarr_key_encode_fn encode;
    /** From keys to indices. */
    ozarr_key_decode_fn decode;
} ozarr_key_encoding_table;

/** The first value of an `ozarr_key_encoding_table`: {0} with its size. */
#define OZARR_KEY_ENCODING_TABLE_INIT \
    {sizeof(ozarr_key_encoding_table), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL}

/** Gives `*key_encoding_table` the value OZARR_KEY_ENCODING_TABLE_INIT. */
static inline void ozarr_key_encoding_table_init(ozarr_key_encoding_table *key_encoding_table) {
    const ozarr_key_encoding_table init = OZARR_KEY_ENCODING_TABLE_INIT;
    *key_encoding_table = init;
}

/**
 * Registers a chunk key encoding. The table is copied. `"default"` and `"v2"` cannot be replaced.
 *
 * Errors: `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NAME` for a name that cannot be;
 * `OZARR_ERR_ARGUMENT` for an empty one, and for an unknown flag or constant.
 */
OZARR_CHECKED ozarr_status ozarr_register_key_encoding(const ozarr_key_encoding_table *table);

/**
 * Registers a storage transformer. The table is copied.
 *
 * Errors: `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NAME` for a name that cannot be;
 * `OZARR_ERR_ARGUMENT` for an empty one, and for an unknown flag or constant.
 */
OZARR_CHECKED ozarr_status ozarr_register_transformer(const ozarr_transformer_table *table);

/**
 * Says that the program understands a member of `zarr.json` (of arrays or groups) of that name, whatever
 * its `"must_understand"`: nodes with it can be opened, and it is kept when they are changed. `check` is
 * called with its value when one is opened, and may refuse it; it may be NULL, as may `destroy`. `flags`
 * are `OZARR_REGISTER_REPLACE` and `OZARR_CALLBACK_ANY_THREAD`, or 0.
 *
 * Errors: `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NAME` for a name that cannot be;
 * `OZARR_ERR_ARGUMENT` for an empty one, and for an unknown flag or constant.
 *
 * @param[in] check,destroy may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_register_member(const char *name, uint32_t flags,
    ozarr_member_check_fn check, void *user, ozarr_destroy_fn destroy);

/**
 * Removes a registration: `extension` is one of `OZARR_EXTENSION_...`. If the library has an extension
 * of its own under the name, that is used again. `OZARR_ERR_NOT_FOUND` if there is no such
 * registration.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another `extension`.
 */
OZARR_CHECKED ozarr_status ozarr_unregister(ozarr_extension extension, const char *name);

/* ========================================================================================================
 * Codecs of your own
 * ========================================================================================================
 *
 * A codec is a table of functions, registered under its name in v3, its id in v2, or both. Elements
 * come to it in this machine's byte order, one after the other in the order of the buffer; it does not
 * receive the shape. */

/** What a codec turns into what. */
typedef int32_t ozarr_codec_kind;

enum {
    OZARR_CODEC_KIND_BYTES = 1,          /**< Bytes to bytes, as compressors and checksums. */
    OZARR_CODEC_KIND_ARRAY = 2,          /**< Elements to as many elements, perhaps of another type. */
    OZARR_CODEC_KIND_ARRAY_TO_BYTES = 3  /**< Elements to bytes. */
};

enum {
    /** In the flags of an `OZARR_CODEC_KIND_ARRAY`: what an element becomes does not depend on the others. */
    OZARR_CODEC_IS_ELEMENTWISE = 2048
};

/**
 * Checks a configuration (a JSON object; in v2 the parameters beside the id) for elements of that type
 * (`OZARR_BY_DTYPE` where no number says it) and size in bytes; for bytes those are `OZARR_UINT8` or what
 * the bytes are, and can be ignored. `*state` may become what the other functions get. `*encoded` is
 * `type`: an `OZARR_CODEC_KIND_ARRAY` whose elements have another type afterwards sets it.
 */
typedef ozarr_status (*ozarr_codec_open_fn)(void *user, const char *configuration, int32_t zarr_format,
    ozarr_type type, size_t item_size, void **state, ozarr_type *encoded);

/** Frees what `open` has put into `*state`. It is not called after an `open` that failed. */
typedef void (*ozarr_codec_close_fn)(void *user, void *state);

/** How many bytes `decoded` bytes are encoded to: at most, or, if it sets `*exact`, exactly. */
typedef ozarr_status (*ozarr_codec_size_fn)(void *user, void *state, size_t decoded, size_t *size,
    bool *exact);

/**
 * Encodes or decodes `size` bytes into `dst`, which has `cap` bytes; `*len` becomes the number that was
 * written. A `dst` that is too small for what is decoded is `OZARR_ERR_BUFFER_SIZE`: where the decoded
 * size is not known, the function is called again with a larger one.
 */
typedef ozarr_status (*ozarr_codec_fn)(void *user, void *state, const void *src, size_t size, void *dst,
    size_t cap, size_t *len);

/** A codec as functions. */
typedef struct ozarr_codec_table {
    /** `sizeof(ozarr_codec_table)`. */
    size_t struct_size;
    /**
     * A sum of `OZARR_REGISTER_REPLACE`, `OZARR_CALLBACK_ANY_THREAD` and `OZARR_CODEC_IS_ELEMENTWISE`, or
     * 0.
     */
    uint32_t flags;
    /**
     * One of `OZARR_CODEC_KIND_...`: its position in a v3 list. In v2 codecs of all kinds can be at any
     * position.
     */
    ozarr_codec_kind kind;
    /** The name in v3, or NULL. Copied. */
    const char *name;
    /** The id in v2, or NULL. Copied. */
    const char *id;
    /** Handed on to every function. */
    void *user;
    /** May be NULL. */
    ozarr_destroy_fn destroy;
    /** Called for each array that uses the codec. NULL takes every configuration and type. */
    ozarr_codec_open_fn open;
    /** May be NULL. */
    ozarr_codec_close_fn close;
    /** Not used by an `OZARR_CODEC_KIND_ARRAY`. */
    ozarr_codec_size_fn encoded_size;
    /** Encodes. `cap` is what `encoded_size` said. */
    ozarr_codec_fn encode;
    /** Decodes. What comes from a file can be anything. */
    ozarr_codec_fn decode;
} ozarr_codec_table;

/** The first value of an `ozarr_codec_table`: {0} with its size. */
#define OZARR_CODEC_TABLE_INIT \
    {sizeof(ozarr_codec_table), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

/** Gives `*codec_table` the value OZARR_CODEC_TABLE_INIT. */
static inline void ozarr_codec_table_init(ozarr_codec_table *codec_table) {
    const ozarr_codec_table init = OZARR_CODEC_TABLE_INIT;
    *codec_table = init;
}

/**
 * Registers a codec. The table is copied. A chain or shard's own codecs (`"bytes"`, `"transpose"`,
 * `"sharding_indexed"`, `"vlen-utf8"` and their like) cannot be replaced.
 *
 * Errors: `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NAME` for a name that cannot be;
 * `OZARR_ERR_ARGUMENT` for an empty one, and for an unknown flag or constant.
 */
OZARR_CHECKED ozarr_status ozarr_register_codec(const ozarr_codec_table *table);

/* ========================================================================================================
 * Data types of your own
 * ========================================================================================================
 *
 * A data type of your own, or another meaning of an existing one: its elements have a fixed size in the
 * file. In memory they are elements of a number type that the table names and converts from and to, and
 * are read and written as any other array of that type, in any other number type, too. Without
 * conversion they are, in memory, the bytes themselves: raw bits of that size, or, where their bytes
 * have an order, unsigned integers of 2, 4 or 8 bytes.
 *
 * An `ozarr_dtype` of it comes from `ozarr_dtype_parse`, by its name. */

enum {
    /**
     * In the flags of a data type: the bytes of an element have an order, which the codec `"bytes"` turns;
     * the functions see this machine's.
     */
    OZARR_DTYPE_HAS_BYTE_ORDER = 4096
};

/**
 * Converts `count` elements from `src` to `dst`, which do not overlap. Elements may be unaligned. A
 * value that does not fit is `OZARR_ERR_RANGE`.
 */
typedef ozarr_status (*ozarr_dtype_convert_fn)(void *user, const void *src, void *dst, int64_t count);

/** Reads a fill value, as JSON, into one element in memory. */
typedef ozarr_status (*ozarr_dtype_fill_fn)(void *user, const char *json, void *element);

/**
 * Writes the fill value of one element in memory as JSON: `buf` has `cap` bytes, and `*len` becomes the
 * length without the NUL. Too small a buffer is `OZARR_ERR_BUFFER_SIZE`, with `*len` what is needed.
 */
typedef ozarr_status (*ozarr_dtype_json_fn)(void *user, const void *element, char *buf, size_t cap,
    size_t *len);

/** A data type as functions. */
typedef struct ozarr_dtype_table {
    /** `sizeof(ozarr_dtype_table)`. */
    size_t struct_size;
    /**
     * A sum of `OZARR_REGISTER_REPLACE`, `OZARR_CALLBACK_ANY_THREAD` and `OZARR_DTYPE_HAS_BYTE_ORDER`, or
     * 0.
     */
    uint32_t flags;
    /**
     * The type in memory (`OZARR_INT8` ...), which `encode` and `decode` convert; `OZARR_AS_STORED` (0)
     * without conversion.
     */
    ozarr_type type;
    /** Bytes of an element in the file. */
    size_t item_size;
    /** The name in v3, or NULL. Copied. */
    const char *name;
    /** The name in v2, or NULL. Copied. */
    const char *name_v2;
    /** Handed on to every function. */
    void *user;
    /** May be NULL. */
    ozarr_destroy_fn destroy;
    /** From memory to the file. */
    ozarr_dtype_convert_fn encode;
    /** From the file to memory. */
    ozarr_dtype_convert_fn decode;
    /** NULL, with `fill_to_json`, for the JSON of the type in memory. */
    ozarr_dtype_fill_fn fill_from_json;
    /** See `fill_from_json`. */
    ozarr_dtype_json_fn fill_to_json;
} ozarr_dtype_table;

/** The first value of an `ozarr_dtype_table`: {0} with its size. */
#define OZARR_DTYPE_TABLE_INIT \
    {sizeof(ozarr_dtype_table), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}

/** Gives `*dtype_table` the value OZARR_DTYPE_TABLE_INIT. */
static inline void ozarr_dtype_table_init(ozarr_dtype_table *dtype_table) {
    const ozarr_dtype_table init = OZARR_DTYPE_TABLE_INIT;
    *dtype_table = init;
}

/**
 * Registers a data type. The table is copied. Types cannot be the fields of structs.
 *
 * Errors: `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NAME` for a name that cannot be;
 * `OZARR_ERR_ARGUMENT` for an empty one, and for an unknown flag or constant; `OZARR_ERR_LIMIT` for
 * elements that are too large.
 */
OZARR_CHECKED ozarr_status ozarr_register_dtype(const ozarr_dtype_table *table);

#ifdef __cplusplus
}
#endif

#endif /* OZARR_EXTEND_H */
