/* Whether what has the name of a variable or a group is still what this program has opened by it: others rename, erase and replace arrays meanwhile. The
 * documents do not say; folders do, which keep their number when they are renamed. Also which folders are none of the file's. */
#include "hierarchy.h"
#include "listed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The path of the folder at a path below the root, or of the one that this is in; free it. */
static char *folder_path(const oz_file *file, const char *path, bool above) {
    const char *last = strrchr(path, '/');
    size_t len = above ? (last ? (size_t)(last - path) : 0) : strlen(path);
    char *full = NULL;
    return asprintf(&full, "%s/%.*s", file->folder, (int)len, path) < 0 ? NULL : full;
}

static oz_folder folder_at(const oz_file *file, const char *path) {
    oz_folder found = {0, 0};
    struct stat is;
    char *full = folder_path(file, path, false);
    if (full && !stat(full, &is) && S_ISDIR(is.st_mode)) found = (oz_folder){is.st_dev, is.st_ino};
    free(full);
    return found;
}

static bool is_one(oz_folder a, oz_folder b) { return a.inode && a.inode == b.inode && a.device == b.device; }

/* Whether the folder that was at a path has another name by now. One that is not there any more was erased, or its number is none that lasts. */
static bool is_moved(const oz_file *file, const char *path, oz_folder known) {
    bool found = false;
    if (!known.inode || is_one(folder_at(file, path), known)) return false;
    char *above = folder_path(file, path, true);
    DIR *folder = above ? opendir(above) : NULL;
    for (const struct dirent *one = folder ? readdir(folder) : NULL; one && !found; one = readdir(folder)) found = one->d_ino == known.inode;
    if (folder) closedir(folder);
    free(above);
    return found;
}

void oz_group_note_place(oz_group *group) {
    char *path = group->file->writable && group->parent ? oz_group_path(group) : NULL;
    if (path) group->folder = folder_at(group->file, path);
    free(path);
}

bool oz_group_is_moved(const oz_group *group) {
    bool moved = false;
    for (; group->parent && !moved; group = group->parent) {
        char *path = oz_group_path(group);
        moved = path && is_moved(group->file, path, group->folder);
        free(path);
    }
    return moved;
}

void oz_var_note_place(oz_var *var) {
    char *path = var->group->file->writable && !oz_file_alone(var->group->file) ? oz_var_path(var) : NULL;
    if (path) var->folder = folder_at(var->group->file, path);
    free(path);
}

bool oz_var_in_folder(const oz_var *var) {
    char *path = var->folder.inode ? oz_var_path(var) : NULL;
    bool is = path && is_one(folder_at(var->group->file, path), var->folder);
    free(path);
    return is;
}

/* Whether a record lists a name: as a member of an object, or in a list. */
static bool lists(const json *record, const char *member, const char *name) {
    const json *all = json_member(record, member), *item = all ? all->first : NULL;
    while (item && strcmp(item->name ? item->name : item->kind == JSON_STRING ? item->text : "", name) != 0) item = item->next;
    return item != NULL;
}

bool oz_is_foreign(const oz_group *group, const char *name) {
    const json *record = group->reading->record, *nczarr = group->reading->nczarr;
    if (lists(record, "variables", name) || lists(record, "groups", name) || lists(nczarr, "arrays", name) || lists(nczarr, "groups", name)) return false;
    char *above = oz_group_path(group), *path = NULL;
    if (!above || asprintf(&path, "%s/%s%s%s", group->file->folder, above, *above ? "/" : "", name) < 0) path = NULL;
    bool foreign = path && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) && errno == EACCES;
    if (foreign) oz_log("the folder %s is left out: this user may not enter it", path);
    free(above);
    free(path);
    return foreign;
}

/* By what elements are found and moved; 0 is what cannot be told of arrays that the library does not read. */
typedef struct form {
    ozarr_type type;
    int32_t rank;
    size_t size;
    int64_t chunk[64], inner[64];
} form;

static bool read_form(const ozarr_array *array, form *f) {
    memset(f, 0, sizeof *f);
    if (ozarr_array_rank(array, &f->rank) || f->rank > 64 || ozarr_array_type(array, &f->type)) return false;
    if (ozarr_array_item_size(array, &f->size)) f->size = 0;
    if (ozarr_array_chunk_shape(array, f->chunk)) memset(f->chunk, 0, sizeof f->chunk);
    if (ozarr_array_inner_chunk_shape(array, f->inner)) memset(f->inner, 0, sizeof f->inner);
    return true;
}

int oz_stored_name(const ozarr_array *array, int d, char *name) {
    bool named = false;
    ozarr_status status = ozarr_array_dimension_name(array, d, name, NC_MAX_NAME + 1, NULL, &named);
    if (status || !named) *name = 0;
    return status == OZARR_ERR_BUFFER_SIZE ? NC_NOERR : oz_error(status);
}

/* Whether an array, the names of whose dimensions cannot be read, may be another one than a variable's: to a writer where it is not in the folder that it was
 * in, to a reader where a server does not answer. */
static bool may_be_other(const oz_var *var, int status) {
    const oz_file *file = var->group->file;
    if (oz_is_short(status)) return true;
    return file->writable ? !oz_var_in_folder(var) : oz_is_remote(file) && oz_is_out_of_reach(status);
}

/* Tells whether the dimensions have the names that they had, or others by a renaming: then they are none of those that this program knows, and the array is
 * where it was. Names that cannot be read are what they were; those of a variable of others, none. */
static int has_names(const oz_var *var, const ozarr_array *now, int rank, bool *has) {
    *has = true;
    for (int d = 0; d < rank && *has; d++) {
        char was[NC_MAX_NAME + 1], is[NC_MAX_NAME + 1];
        int status = oz_stored_name(var->array, d, was);
        if (!status) status = oz_stored_name(now, d, is);
        if (status && may_be_other(var, status)) return status;
        if (status) {
            *has = oz_list_find(&var->group->vars, var->name) == var;
            return NC_NOERR;
        }
        if (strcmp(was, is) == 0 || (d < var->rank && var->dims[d]->renamed)) continue;
        *has = !oz_dim_by_name(var->group, is) && (!var->group->file->writable || oz_var_in_folder(var));
    }
    return NC_NOERR;
}

int oz_var_is_like(const oz_var *var, const ozarr_array *now, bool *like) {
    form was, is;
    *like = read_form(var->array, &was) && read_form(now, &is) && !memcmp(&was, &is, sizeof was);
    return *like ? has_names(var, now, is.rank, like) : NC_NOERR;
}

void oz_file_note_lost(oz_file *file) { __atomic_store_n(&file->lost, true, __ATOMIC_RELAXED); }

void oz_file_note_spoilt(oz_file *file, int status) {
    int none = NC_NOERR;
    (void)__atomic_compare_exchange_n(&file->spoilt, &none, status, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void oz_var_note_lost(oz_var *var) {
    ozarr_array *written = var->endless ? var->endless : var->array;
    var->lost = true;
    /* What waits would be stored with the array that is there by now when the handle is freed. */
    if (var->buffered && written) (void)oz_error(ozarr_node_set(ozarr_array_node(written), "lost", "1"));
    if (!var->put) return;
    oz_log("what this program has written to the variable %s is lost: another one has renamed, erased or replaced it", var->name);
    var->put = false;
    oz_file_note_lost(var->group->file);
}

/* Goes on with an array that was opened anew. */
static void take(oz_var *var, ozarr_array *now) {
    oz_var_close(var);
    var->array = now;
    var->lost = false;
    oz_var_note_place(var);
}

int oz_var_open_made(oz_var *var) { return var->recreate && !oz_var_made(var) && oz_var_in_folder(var) ? oz_var_open(var) : NC_NOERR; }

/* Opens the array of a variable that could not be opened again behind a renaming of this program, if that is still where it was put. */
static void open_renamed(oz_var *var) {
    bool may = var->lost && !oz_var_made(var) && (!var->folder.inode || oz_var_in_folder(var));
    if (may && !oz_var_open(var)) var->lost = false;
}

/* Does what `oz_var_look` does; `*fresh` (may be NULL): the array as it is opened for that, unless it became the variable's own. */
static int look(oz_var *var, int64_t *shape, ozarr_array **fresh) {
    ozarr_array *now = NULL;
    open_renamed(var);
    char *path = oz_var_path(var);
    int status = path ? oz_var_handle(var) : NC_ENOMEM;
    ozarr_status opened = status || !var->array ? OZARR_OK : ozarr_array_open_at(var->group->file->store, path, &now);
    if (!status && opened != OZARR_ERR_NOT_FOUND && opened != OZARR_ERR_NODE_KIND) status = oz_error(opened);
    /* What cannot be understood in another folder is another array. */
    if (opened && status && var->folder.inode && !oz_is_out_of_reach(status) && !oz_var_in_folder(var)) status = NC_NOERR;
    bool same = false;
    if (now) status = oz_var_is_like(var, now, &same);
    same = same && !status && !is_moved(var->group->file, path, var->folder) && !oz_group_is_moved(var->group);
    if (same && shape) status = oz_error(ozarr_array_shape(now, shape));
    if (!status && !same) oz_var_note_lost(var);
    /* The folder of a new file has its name once that is shown. */
    if (same && !var->folder.inode) oz_var_note_place(var);
    if (!status && same && (var->lost || !var->group->file->writable)) take(var, now), now = NULL;
    if (same && fresh) *fresh = now, now = NULL;
    ozarr_array_free(now);
    free(path);
    return status;
}

int oz_var_look(oz_var *var, int64_t *shape) { return look(var, shape, NULL); }

int oz_var_find(oz_var *var, ozarr_array **fresh) { return var->lost || !oz_var_in_folder(var) ? look(var, NULL, fresh) : NC_NOERR; }
