/* The table's functions of files: create, open, define and data mode, sync, abort, close. */
#include "hierarchy.h"
#include "parallel.h"
#include "table.h"
#include "types.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <ozarr_advanced.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
    const char *location;
    bool open;
    int mode;
    oz_comm_kind kind;
    const void *comm;
} pending;

void oz_set_pending(const char *location, bool open) {
    pending.location = location;
    pending.open = open;
    if (!location) pending.kind = OZ_COMM_NONE;
}

void oz_set_pending_mode(int mode) { pending.mode = mode; }

void oz_set_pending_ranks(int kind, const void *comm) {
    pending.kind = (oz_comm_kind)kind;
    pending.comm = comm;
}

/* Takes the slashes at its end away from a path. */
static void trim(char *path) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') path[--len] = 0;
}

/* Follows a link to what is not there yet: a file is made there, as netCDF makes it. Frees the path that is given. */
static char *behind_links(char *path) {
    enum { MOST = 40 };
    char target[PATH_MAX];
    struct stat is;
    for (int links = 0; path && links < MOST && !strstr(path, "://") && stat(path, &is) && errno == ENOENT; links++) {
        ssize_t len = readlink(path, target, sizeof target - 1);
        if (len < 1) break;
        target[len] = 0;
        /* It would be taken for a URL, and is the name of a folder. */
        if (strstr(target, "://")) break;
        const char *last = *target == '/' ? NULL : strrchr(path, '/');
        char *next = NULL;
        if (asprintf(&next, "%.*s%s", last ? (int)(last - path + 1) : 0, path, target) < 0) next = NULL;
        free(path);
        path = next;
        if (path) trim(path);
    }
    return path;
}

/* The store's location: without the scheme of files, netCDF's fragment, and the document by which netCDF-C tells the format. Only a URL has a
 * fragment: in a plain name a `#` is a letter like others, and without what is behind it the name would be that of another file. */
static char *location_of(const char *path) {
    if (pending.location) path = pending.location;
    bool is_url = strstr(path, "://") != NULL;
    if (strncmp(path, "file://", 7) == 0) path += 7;
    char *location = strdup(path);
    if (!location) return NULL;
    char *end = is_url ? strchr(location, '#') : NULL;
    if (end) *end = 0;
    static const char *const documents[] = {"/zarr.json", "/.zgroup", "/.zattrs", "/.zmetadata"};
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        size_t len = strlen(location), size = strlen(documents[i]);
        if (len > size && strcmp(location + len - size, documents[i]) == 0) location[len - size] = 0;
    }
    trim(location);
    return behind_links(location);
}

/* Makes room for a new hierarchy. Only Zarr and files go; another folder with anything in it stays. */
static int clear_place(const char *location, int cmode, ozarr_store *store) {
    struct stat status;
    ozarr_node_kind kind = OZARR_NODE_KIND_NONE;
    bool is_url = strstr(location, "://") != NULL;
    if (!is_url && stat(location, &status)) return errno == ENOENT || errno == ENOTDIR ? NC_NOERR : errno;
    if (!is_url && !S_ISDIR(status.st_mode)) {
        /* A device, as /dev/null, or a pipe is no file that could be made anew. */
        if (!S_ISREG(status.st_mode)) oz_log("%s is no file", location);
        if (cmode & NC_NOCLOBBER || !S_ISREG(status.st_mode)) return NC_EEXIST;
        return unlink(location) ? errno : NC_NOERR;
    }
    const ozarr_status found = ozarr_store_node_kind(store, "", &kind);
    if (found) return oz_error(found);
    if (kind != OZARR_NODE_KIND_NONE) return cmode & NC_NOCLOBBER ? NC_EEXIST : NC_NOERR;
    DIR *folder = is_url ? NULL : opendir(location);
    if (!is_url && !folder) return errno;
    bool empty = true;
    /* Locks and temporary files are the library's own: of a writer that was killed. */
    for (const struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && strncmp(entry->d_name, ".ozarr", 6) != 0) empty = false;
    if (folder) closedir(folder);
    if (!empty) oz_log("%s is a folder with other things than Zarr in it", location);
    return empty ? NC_NOERR : NC_EEXIST;
}

/* What says, in a store without folders, that a file is being made: by it nc_create and `ozarr rm` know what a kill has left. It says by which program, too. */
static const char MAKES[] = "ozarr-copy.json";

static void name_mark(oz_file *file) {
    unsigned long long id[2];
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (getentropy(id, sizeof id)) id[0] = (unsigned long long)getpid(), id[1] = (unsigned long long)now.tv_sec << 30 | (unsigned long long)now.tv_nsec;
    snprintf(file->mark, sizeof file->mark, "{\"from\": \"nc_create\", \"program\": \"%016llx%016llx\"}", id[0], id[1]);
}

static ozarr_status mark(const oz_file *file, ozarr_store *store) { return ozarr_store_key_put(store, MAKES, file->mark, strlen(file->mark)); }

int oz_file_is_own(const oz_file *file) {
    char now[sizeof file->mark];
    size_t len = 0;
    if (!file->hidden || !*file->mark) return NC_NOERR;
    const ozarr_status status = ozarr_store_key_get(file->store, MAKES, now, sizeof now, &len);
    if (!status && len == strlen(file->mark) && !memcmp(now, file->mark, len)) return NC_NOERR;
    if (status && status != OZARR_ERR_NOT_FOUND && status != OZARR_ERR_BUFFER_SIZE) return oz_error(status);
    oz_log("another program has begun to make %s since", file->location);
    return NC_EEXIST;
}

/* Ends a listing by its first key. */
static ozarr_status stop(void *user, const char *key) {
    (void)user, (void)key;
    return OZARR_ERR_CANCELLED;
}

/* Marks a place in an object store where a new file is to be seen with all its definitions. An older file, or what a kill has left of one, is erased first,
 * its root before all else. Where there is anything else, or that cannot be told, the root is made at once. */
static int begin_far(oz_file *file, ozarr_store *store) {
    ozarr_node_kind kind = OZARR_NODE_KIND_NONE;
    ozarr_status status = ozarr_store_node_kind(store, "", &kind), marked = ozarr_store_key_get(store, MAKES, NULL, 0, NULL);
    if (!status && marked != OZARR_ERR_NOT_FOUND) status = marked;
    bool left = !status && (kind != OZARR_NODE_KIND_NONE || !marked);
    name_mark(file);
    if (left) {
        status = mark(file, store);
        if (!status) status = ozarr_store_key_erase(store, "zarr.json", NULL);
        if (!status) status = ozarr_store_key_erase(store, ".zgroup", NULL);
        if (!status) status = ozarr_store_node_erase(store, "");
    } else if (!status) {
        file->hidden = !ozarr_store_key_list(store, "", stop, NULL);
        if (!file->hidden) return NC_NOERR;
    }
    return oz_error(status ? status : mark(file, store));
}

void oz_file_shown(oz_file *file) {
    oz_file_note_place(file);
    if (strstr(file->location, "://") && ozarr_store_key_erase(file->store, MAKES, NULL)) oz_log("%s", ozarr_last_error());
}

/* Makes the root group in an empty place. */
static int make_root(oz_file *file, int cmode) {
    ozarr_store *probe = NULL;
    int status = oz_store_open(file->location, "r+", &probe);
    if (!status) status = clear_place(file->location, cmode, probe);
    /* Other ranks open it at once. */
    file->hidden = !file->ranks;
    if (!status && file->hidden && strstr(file->location, "://")) status = begin_far(file, probe);
    ozarr_store_free(probe);
    if (!status) status = file->hidden ? oz_store_make(file->location, &file->store) : oz_store_open(file->location, "r+", &file->store);
    if (status) return status;
    int format = oz_get_defaults()->format;
    ozarr_group **root = &file->groups[0]->handle;
    ozarr_status made = ozarr_group_create_at(file->store, "", format, OZARR_CREATE_OVERWRITE, root);
    /* With this key the library keeps NCZarr's others, too, but for variables of types that NCZarr does not have. */
    if (!made && format == 2) made = ozarr_attr_set_json(ozarr_group_node(*root), "_nczarr_superblock", "{\"version\":\"2.0.0\"}");
    return oz_error(made);
}

static int create(oz_file *file, int cmode) {
    const bool is_open = oz_file_is_open(file);
    if (is_open) oz_log("this program has %s open", file->location);
    /* As netCDF-4 has it: a program that reads what it then makes anew would find nothing there any more. A rank may have it open by itself. */
    int status = oz_agree(file->ranks, !is_open ? NC_NOERR : cmode & NC_NOCLOBBER ? NC_EEXIST : EACCES);
    if (!status) status = oz_agree(file->ranks, oz_stores(file) ? make_root(file, cmode) : NC_NOERR);
    if (!status && !oz_stores(file)) status = oz_store_open(file->location, "r+", &file->store);
    file->groups[0]->dirty = file->dirty = file->stale = file->created = file->writable = file->defining = true;
    if (cmode & NC_NETCDF4) file->format = cmode & NC_CLASSIC_MODEL ? NC_FORMAT_NETCDF4_CLASSIC : NC_FORMAT_NETCDF4;
    else file->format = cmode & NC_64BIT_DATA ? NC_FORMAT_CDF5 : cmode & NC_64BIT_OFFSET ? NC_FORMAT_64BIT_OFFSET : NC_FORMAT_CLASSIC;
    file->classic = file->format != NC_FORMAT_NETCDF4;
    /* netCDF-4 says so of a folder that is not there; a bucket is one of the service's own. */
    return status == ENOENT && !strstr(file->location, "://") ? EACCES : status;
}

static int open_at(const char *path, int mode, int ncid, bool make, oz_comm_kind kind, const void *comm) {
    /* Bytes in memory are no store; the parameters of the call are not a communicator then. */
    if (mode & NC_INMEMORY) return NC_ENOTNC;
    /* What the program changes is to be in its memory alone. */
    if (!make && mode & NC_DISKLESS && mode & NC_WRITE && !(mode & NC_PERSIST)) return NC_EDISKLESS;
    char *location = location_of(path);
    oz_file *file = location ? oz_file_new(ncid, location, mode) : NULL;
    free(location);
    if (!file) return NC_ENOMEM;
    int status = oz_ranks_begin(file, kind, comm);
    if (!status && make) {
        status = create(file, mode);
    } else if (!status) {
        file->writable = mode & NC_WRITE;
        status = oz_store_open(file->location, file->writable ? "r+" : "r", &file->store);
        if (!status) status = oz_hierarchy_read(file);
    }
    oz_ranks *ranks = file->ranks;
    status = oz_agree(ranks, status);
    /* The ranks read one after the other, while another program may add records. */
    if (!status && !make) status = oz_agree_on_lengths(file);
    if (!status) return oz_file_note_place(file), NC_NOERR;
    oz_file_free(file);
    oz_ranks_free(ranks);
    return status;
}

int oz_create(const char *path, int cmode, size_t initial, int basepe, size_t *hint, void *parameters, const NC_Dispatch *table, int ncid) {
    (void)initial, (void)basepe, (void)hint, (void)table;
    if (!pending.location) return open_at(path, cmode, ncid, true, parameters ? OZ_COMM_POINTER : OZ_COMM_NONE, parameters);
    return open_at(path, pending.mode, ncid, !pending.open, pending.kind, pending.comm);
}

int oz_open(const char *path, int mode, int basepe, size_t *hint, void *parameters, const NC_Dispatch *table, int ncid) {
    (void)basepe, (void)hint, (void)table;
    return open_at(path, mode, ncid, false, parameters ? OZ_COMM_POINTER : OZ_COMM_NONE, parameters);
}

int oz_to_define(oz_file *file) {
    if (!file->writable) return NC_EPERM;
    if (file->defining) return NC_NOERR;
    if (file->classic) return NC_ENOTINDEFINE;
    file->defining = true;
    return NC_NOERR;
}

int oz_file_format(const oz_file *file) {
    int32_t format = oz_get_defaults()->format;
    return file->created ? format : ozarr_node_zarr_format(ozarr_group_node(file->groups[0]->handle), &format) ? 3 : format;
}

bool oz_file_alone(const oz_file *file) { return file->created && oz_get_defaults()->format == 3; }

bool oz_signs_are_free(const oz_file *file) { return file->classic && file->format != NC_FORMAT_CDF5; }

bool oz_type_allowed(const oz_file *file, nc_type type) {
    return !file->classic || type <= (file->format == NC_FORMAT_CDF5 ? NC_UINT64 : NC_DOUBLE);
}

int oz_not_classic(const oz_file *file, int status) { return file->format == NC_FORMAT_NETCDF4_CLASSIC ? NC_ESTRICTNC3 : status; }

/* Tells whether each type has members, as netCDF wants it of those that are to be stored. */
static int check_types(const oz_file *file) {
    for (int i = 0; i < file->type_count; i++) {
        const oz_type *type = file->types[i];
        if (oz_type_has_members(type)) continue;
        oz_log("the type %s has no %s, or a field of such a type", type->name, type->kind == NC_ENUM ? "members" : "fields");
        return NC_EINVAL;
    }
    return NC_NOERR;
}

int oz_to_data(oz_file *file) {
    if (!file->defining) return NC_NOERR;
    if (file->classic) return NC_EINDEFINE;
    int status = check_types(file);
    if (!status) status = oz_hierarchy_store(file);
    if (!status) file->defining = false;
    return status;
}

int oz_redef(int ncid) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (!group->file->writable) return NC_EPERM;
    if (group->file->defining) return group->file->classic ? NC_EINDEFINE : NC_NOERR;
    group->file->defining = true;
    return NC_NOERR;
}

int oz_enddef(int ncid, size_t a, size_t b, size_t c, size_t d) {
    (void)a, (void)b, (void)c, (void)d;
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    /* A write may have ended define mode on some ranks and failed on others. */
    if (!oz_agree(group->file->ranks, group->file->defining)) return NC_ENOTINDEFINE;
    status = check_types(group->file);
    if (!status) status = oz_agree(group->file->ranks, oz_hierarchy_store(group->file));
    if (!status) group->file->defining = false;
    return status;
}

/* Stores the elements of arrays that are in the store, and shows them to readers. Where there is something to tell them the file stays locked, until
 * `unlock`: whatever others define meanwhile would not be as long as the arrays here. */
static int store_elements(oz_file *file) {
    int status = oz_elements_flush(file);
    if (file->stale || file->doubtful || oz_lengths_differ(file)) oz_lock(file);
    status = oz_lengths_store(file, status);
    if (!status && !file->hidden) status = oz_consolidate(file);
    return oz_agree(file->ranks, status);
}

static void unlock(oz_file *file) {
    if (file->lock_depth) oz_unlock(file);
}

/* Stores all: the elements even where a definition cannot be stored, which can neither be taken back nor mended. */
static int store_all(oz_file *file) {
    /* What an earlier look found may be mended since. */
    file->spoilt = NC_NOERR;
    int defined = oz_agree(file->ranks, oz_hierarchy_store(file));
    /* Nobody is to see a root without its record. */
    if (defined && !file->groups[0]->dirty) (void)oz_hierarchy_show(file);
    int status = store_elements(file);
    return defined ? defined : status;
}

/* Tells once that elements were written to a variable which another program has renamed or erased, or what is wrong with a document that it has spoilt. */
static int take_lost(oz_file *file) {
    int lost = oz_agree(file->ranks, file->lost ? NC_ENOTVAR : file->spoilt);
    file->lost = false;
    file->spoilt = NC_NOERR;
    return lost;
}

int oz_sync(int ncid) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (!group->file->writable) {
        status = oz_agree(group->file->ranks, oz_hierarchy_refresh(group->file));
        return status ? status : oz_agree_on_lengths(group->file);
    }
    if (group->file->defining && group->file->classic) return NC_EINDEFINE;
    status = store_all(group->file);
    unlock(group->file);
    int lost = take_lost(group->file);
    if (!status) status = check_types(group->file);
    if (!status) group->file->defining = false;
    return status ? status : lost;
}

/* Whether a path is a folder in which this process may store. */
static bool is_own_folder(const char *path) {
    struct stat is;
    return path && !stat(path, &is) && S_ISDIR(is.st_mode) && !access(path, W_OK);
}

static int close_file(oz_file *file, int status) {
    for (oz_var *var = NULL; (var = oz_next_var(file, var));) oz_var_close(var);
    if (file->decoders) oz_templates_free(file->decoders), free(file->decoders);
    ozarr_store *store = file->store;
    oz_ranks *ranks = file->ranks;
    file->store = NULL;
    /* After an error some lengths may be published and others not: consolidated metadata stay as they are. */
    bool complete = file->writable && store && !status;
    int closed = complete ? oz_error(ozarr_store_close(store)) : NC_NOERR;
    if (!complete) ozarr_store_free(store);
    unlock(file);
    oz_file_free(file);
    status = oz_agree(ranks, status ? status : closed);
    oz_ranks_free(ranks);
    return status;
}

/* A file that was not defined to the end is removed, unless an nc_sync that could not store all has shown it; of another one in define mode, what was
 * defined since is not stored, but the elements are, and readers see them. In data mode all is. */
int oz_abort(int ncid) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    oz_file *file = group->file;
    /* One rank may have failed where the others had nothing to store. */
    bool unseen = file->created && !file->stored && (file->hidden || file->ranks);
    bool defining = oz_agree(file->ranks, file->defining), undefined = oz_agree(file->ranks, unseen);
    if (file->writable && !defining) return oz_close(file->ncid, NULL);
    if (file->writable && !undefined) status = store_elements(file);
    int lost = take_lost(file);
    if (oz_stores(file) && undefined) {
        status = oz_file_is_own(file);
        if (!status) status = oz_error(ozarr_store_node_erase(file->store, ""));
        else if (status == NC_EEXIST) status = NC_NOERR;
        rmdir(file->folder);
        ozarr_store_free(file->store);
        file->store = NULL;
    }
    status = close_file(file, status);
    return status ? status : lost;
}

int oz_delete(const char *path) {
    ozarr_store *store = NULL;
    char *location = location_of(path);
    int status = location ? oz_store_open(location, "r+", &store) : NC_ENOMEM;
    if (!status) status = oz_error(ozarr_store_node_erase(store, ""));
    ozarr_store_free(store);
    struct stat is;
    if (!status && stat(location, &is) == 0 && (S_ISDIR(is.st_mode) ? rmdir(location) : unlink(location))) status = NC_EIO;
    free(location);
    return status;
}

int oz_close(int ncid, void *memory) {
    (void)memory;
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (group->parent) return NC_EBADGRPID;
    /* A type without members is an error: all else is stored, and the file stays open, so that the type can get some. */
    int types = check_types(group->file);
    /* A program that finds all done may follow one that was killed before it told so, which is so in folders. */
    group->file->doubtful = group->file->consolidates && !group->file->compared && is_own_folder(group->file->folder);
    if (group->file->writable) status = store_all(group->file);
    /* No call comes after this one that would store what memory was too short for. */
    if (status == NC_ENOMEM) unlock(group->file), status = store_all(group->file);
    if (types && !status) return unlock(group->file), types;
    int lost = group->file->writable ? take_lost(group->file) : NC_NOERR;
    status = close_file(group->file, status);
    return status ? status : lost;
}

int oz_set_fill(int ncid, int mode, int *old) {
    oz_group *group;
    int status = oz_find_group(ncid, &group);
    if (status) return status;
    if (!group->file->writable) return NC_EPERM;
    if (mode != NC_FILL && mode != NC_NOFILL) return NC_EINVAL;
    if (old) *old = group->file->no_fill ? NC_NOFILL : NC_FILL;
    group->file->no_fill = mode == NC_NOFILL;
    return NC_NOERR;
}
