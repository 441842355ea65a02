/* Keeps programs apart that store in one file by this library: what one of them has read the others do not change before it has stored what it makes of it. */
#include "hierarchy.h"
#include "parallel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <endian.h>
#include <sys/xattr.h>
#endif

/* How many bytes of a path its parent has. */
static size_t above(const char *path, size_t len) {
    while (len && path[len - 1] != '/') len--;
    return len ? len - 1 : 0;
}

/* Whether a path's first bytes are a group in which files may be made. */
static bool is_group(const char *path, size_t len) {
    char *folder = len ? strndup(path, len) : NULL, *documents[2] = {NULL, NULL};
    bool there = folder && !access(folder, W_OK);
    if (there && asprintf(&documents[0], "%s/zarr.json", folder) < 0) documents[0] = NULL;
    if (there && asprintf(&documents[1], "%s/.zgroup", folder) < 0) documents[1] = NULL;
    there = (documents[0] && !access(documents[0], F_OK)) || (documents[1] && !access(documents[1], F_OK));
    free(documents[0]);
    free(documents[1]);
    free(folder);
    return there;
}

/* The length that a removed file gets, for programs on network file systems that may still see it at its path. */
enum { REMOVED_LEN = 0x6f7a };

/* How many links the file that was locked has, if it is still the one at the path, else 0: who gives a lock back removes it. */
static nlink_t links(int locked, const char *path) {
    struct stat own, there;
    if (fstat(locked, &own) || own.st_size == REMOVED_LEN || lstat(path, &there)) return 0;
    return own.st_ino == there.st_ino && own.st_dev == there.st_dev ? own.st_nlink : 0;
}

#ifdef __linux__
/* Gives a new file the access list of its folder, with an entry for the folder's owner where he is not the file's; false where neither is needed, or there are
 * no lists. */
static bool share_list(int made, const char *folder, const struct stat *own, const struct stat *all) {
    enum { OWNER = 1, USER = 2, GROUP = 4, MASK = 16, OTHERS = 32, MOST = 1000 };
    static const char name[] = "system.posix_acl_access";
    struct {
        uint32_t version;
        struct {
            uint16_t tag, rights;
            uint32_t id;
        } entries[MOST + 1];
    } list = {htole32(2), {{htole16(OWNER), 0, 0}, {0}, {htole16(GROUP), 0, 0}, {htole16(MASK), 0, 0}, {htole16(OTHERS), 0, 0}}};
    list.entries[2].rights = htole16(all->st_mode >> 3 & 7), list.entries[4].rights = htole16(all->st_mode & 7);
    const size_t head = sizeof list.version, size = sizeof *list.entries;
    size_t count = 5;
    ssize_t len = getxattr(folder, name, &list, head + MOST * size);
    if (len < 0 && own->st_uid == all->st_uid) return false;
    if (len >= 0) {
        count = ((size_t)len - head) / size + 1;
        memmove(list.entries + 2, list.entries + 1, (count - 2) * size);
    }
    list.entries[1].tag = htole16(USER), list.entries[1].id = htole32(all->st_uid);
    for (size_t i = 0; i < count; i++) {
        bool writes = i < 2 || list.entries[i].tag == htole16(MASK) || list.entries[i].rights & htole16(2);
        list.entries[i].rights = htole16(writes ? 6 : 0);
    }
    return !fsetxattr(made, name, &list, head + count * size, 0);
}
#else
static bool share_list(int made, const char *folder, const struct stat *own, const struct stat *all) { return (void)made, (void)folder, (void)own, (void)all, false; }
#endif

/* Lets all open a new file who may write in its folder, also its owner. */
static void share(int made, const char *path) {
    struct stat own, all;
    char *folder = strndup(path, above(path, strlen(path)));
    if (folder && !fstat(made, &own) && !stat(folder, &all) && (all.st_mode & 022 || own.st_uid != all.st_uid)) {
        int moved = fchown(made, (uid_t)-1, all.st_gid);
        (void)moved;
        if (!share_list(made, folder, &own, &all)) (void)fchmod(made, (own.st_mode | (all.st_mode & 022) * 3) & 0777);
    }
    free(folder);
}

/* Opens the file at a path, or makes it; -1 with `errno`. That of another user may be one for reading only, which can be locked on most file systems. */
static int open_file(const char *path) {
    const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int opened = open(path, O_RDWR | flags);
    if (opened < 0 && (errno == EACCES || errno == EPERM)) opened = open(path, O_RDONLY | flags);
    if (opened >= 0 || errno != ENOENT) return opened;
    opened = open(path, O_RDWR | O_CREAT | O_EXCL | flags, 0666);
    if (opened >= 0) share(opened, path);
    /* No file may be made there: there is none to wait for. */
    else if (errno == EACCES) errno = EROFS;
    return opened;
}

/* Tries once to lock the file at a path; -1 where another one has it, is just making it, or has just removed it, or where it cannot be locked.
 * `*again`: that may change; `*refused`: it is open for reading only, of which the file system has no such locks. */
static int try_lock(const char *path, bool *again, bool *refused) {
    int locked = open_file(path);
    bool held = locked >= 0 && !flock(locked, LOCK_EX | LOCK_NB);
    *again = held || errno == EWOULDBLOCK || errno == EINTR || errno == EACCES || errno == EEXIST;
    *refused = locked >= 0 && !held && errno == EBADF;
    if (held && links(locked, path)) return locked;
    if (locked >= 0) close(locked);
    return -1;
}

/* Seconds of a clock that nobody sets. */
static time_t now(void) {
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* Locks the file at a path, or not. Where one does not become free, no other one is waited for until that is, or for a minute: its holder may have those of
 * many groups. One that may not be opened in all the time is what a killed program of another user has left, and is removed. */
static int lock_path(oz_file *file, const char *path) {
    enum { TRIES = 10000, FEW_TRIES = 10, WAIT = 1000000, MINUTE = 60 };
    bool again = true, refused = false;
    int locked = -1, tries = now() < file->impatient_until ? FEW_TRIES : TRIES;
    for (int i = 0; i < tries && again && locked < 0; i++) {
        if (i) nanosleep(&(struct timespec){.tv_nsec = WAIT}, NULL);
        locked = try_lock(path, &again, &refused);
    }
    const bool closed = locked < 0 && errno == EACCES;
    if (closed && tries == TRIES && !unlink(path)) locked = try_lock(path, &again, &refused);
    const bool busy = locked < 0 && (again || refused);
    if (busy && (refused ? now() >= file->refused_until : tries == TRIES)) {
        oz_log(refused  ? "%s is another user's file, which cannot be locked here: what others store at the same time may be lost"
               : closed ? "%s is another user's file, which may not be opened: what others store at the same time may be lost"
                        : "%s stays locked by another program: what that stores at the same time may be lost",
               path);
        *(refused ? &file->refused_until : &file->impatient_until) = now() + MINUTE;
    }
    const bool waited = busy && !refused && tries == TRIES, freed = locked >= 0 && file->busy && strcmp(file->busy, path) == 0;
    if (freed) file->impatient_until = 0;
    if (waited || freed) {
        free(file->busy);
        file->busy = waited ? strdup(path) : NULL;
    }
    file->locked_out = file->locked_out || busy;
    return locked;
}

/* Whether half of the files that the process may have are open, whoever has opened them: the next one is beyond. */
static bool is_half_full(void) {
    struct rlimit limit = {0};
    const int next = open("/", O_RDONLY | O_CLOEXEC);
    if (next >= 0) close(next);
    return next < 0 || getrlimit(RLIMIT_NOFILE, &limit) || (rlim_t)next >= limit.rlim_cur / 2;
}

/* Makes room for one more lock, each of which is an open file: behind the first ones half of those that the process may have are left for all else. */
static bool make_room(oz_file *file, const char *path) {
    enum { FIRST = 64, MINUTE = 60 };
    const bool full = file->lock_count >= FIRST && is_half_full();
    void *larger = full ? NULL : realloc(file->locks, (size_t)(file->lock_count + 1) * sizeof *file->locks);
    if (larger) return file->locks = larger, true;
    file->locked_out = true;
    if (!full || now() < file->refused_until) return false;
    oz_log("%s is not locked, for half of the files that may be open (ulimit -n) are: what others store at the same time may be lost", path);
    file->refused_until = now() + MINUTE;
    return false;
}

/* Locks the file of a folder, which is a path's first bytes, unless this program has it already; whether it has it. Listings hide the name, as that of a
 * temporary file. */
static bool hold(oz_file *file, const char *folder, size_t len) {
    char *path;
    if (asprintf(&path, "%.*s/.ozarr-netcdf.tmp", (int)len, folder) < 0) return false;
    bool held = false;
    for (int i = 0; i < file->lock_count && !held; i++) held = strcmp(file->locks[i].path, path) == 0;
    int locked = held || !make_room(file, path) ? -1 : lock_path(file, path);
    if (locked < 0) return free(path), held;
    file->locks[file->lock_count].path = path;
    file->locks[file->lock_count++].file = locked;
    return true;
}

/* In the outermost group where that may be, for a group may be open as a file of its own; and in the file's own folder, for others may not write above it,
 * or see nothing there. The folder itself is locked by who has made it. */
void oz_lock(oz_file *file) {
    if (file->lock_depth++ || !oz_stores(file) || oz_file_alone(file)) return;
    file->real_folder = realpath(file->folder, NULL);
    const char *folder = file->real_folder;
    size_t len = folder ? strlen(folder) : 0, own = len;
    while (len && is_group(folder, above(folder, len))) len = above(folder, len);
    if (own && len != own) (void)hold(file, folder, len);
    file->has_lock = own && hold(file, folder, own);
    file->own_locks = file->lock_count;
}

bool oz_lock_group(const oz_group *group) {
    oz_file *file = group->file;
    if (oz_file_alone(file)) return true;
    if (!group->parent || !file->real_folder) return file->has_lock;
    char *path = oz_group_path(group), *folder = NULL;
    int len = path ? asprintf(&folder, "%s/%s", file->real_folder, path) : -1;
    bool held = len > 0 && hold(file, folder, (size_t)len);
    if (len > 0) free(folder);
    free(path);
    return held;
}

typedef struct waited_for {
    const oz_group *group;
    char *path;
} waited_for;

static int by_path(const void *a, const void *b) { return strcmp(((const waited_for *)a)->path, ((const waited_for *)b)->path); }

void oz_lock_groups(oz_file *file, bool (*is_one)(const oz_group *group)) {
    waited_for *all = malloc((size_t)file->group_count * sizeof *all);
    int count = 0;
    for (int i = 0; i < file->group_count && all; i++) {
        if (!is_one(file->groups[i])) continue;
        all[count] = (waited_for){file->groups[i], oz_group_path(file->groups[i])};
        if (all[count].path) count++;
    }
    if (count) qsort(all, (size_t)count, sizeof *all, by_path);
    for (int i = 0; i < count; i++) {
        (void)oz_lock_group(all[i].group);
        free(all[i].path);
    }
    free(all);
}

bool oz_is_locked_out(const oz_file *file) { return file->locked_out; }

/* Gives back all locks but the first ones. */
static void give_back(oz_file *file, int kept) {
    while (file->lock_count > kept) {
        const int locked = file->locks[--file->lock_count].file;
        char *path = file->locks[file->lock_count].path;
        nlink_t count = links(locked, path);
        /* One that a copy of the folder has, too, is not marked: it could not be locked there any more. */
        bool marked = count && !unlink(path) && count == 1 && !ftruncate(locked, REMOVED_LEN);
        (void)marked;
        free(path);
        close(locked);
    }
}

void oz_unlock_groups(oz_file *file) { give_back(file, file->own_locks); }

void oz_unlock(oz_file *file) {
    if (--file->lock_depth) return;
    give_back(file, 0);
    free(file->real_folder);
    free(file->locks);
    file->real_folder = NULL;
    file->locks = NULL;
    file->own_locks = 0;
    file->has_lock = file->locked_out = false;
}
