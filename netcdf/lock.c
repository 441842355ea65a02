/* Keeps programs apart that store in one file by this library: what one of them has read the others do not change before it has stored what it makes of it. */
#include "hierarchy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The path of the file that is locked: listings hide the name, as that of a temporary file. The folder itself is locked by who has made it. */
static char *path_of(const oz_file *file) {
    static const char name[] = "/.ozarr-netcdf.tmp";
    char *path = malloc(strlen(file->folder) + sizeof name);
    if (path) strcat(strcpy(path, file->folder), name);
    return path;
}

/* Whether the file that was locked is still the one at the path: who gives a lock back removes it. */
static bool is_there(int locked, const char *path) {
    struct stat own, there;
    return !fstat(locked, &own) && !stat(path, &there) && own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

/* Tries once to lock the file at a path; -1 where another one has it, or has just removed it. `*again`: that may change. */
static int try_lock(const char *path, bool *again) {
    int locked = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    bool held = locked >= 0 && !flock(locked, LOCK_EX | LOCK_NB);
    *again = locked >= 0 && (held || errno == EWOULDBLOCK || errno == EINTR);
    if (held && is_there(locked, path)) return locked;
    if (locked >= 0) close(locked);
    return -1;
}

/* Seconds of a clock that nobody sets. */
static time_t now(void) {
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* One whose holder stands still is waited for once in a while, and not again for each group and variable. */
int oz_lock(oz_file *file) {
    enum { TRIES = 10000, FEW_TRIES = 10, WAIT = 1000000, MINUTE = 60 };
    char *path = oz_file_alone(file) ? NULL : path_of(file);
    int locked = -1, tries = now() < file->impatient_until ? FEW_TRIES : TRIES;
    bool again = path != NULL;
    for (int i = 0; i < tries && again && locked < 0; i++) {
        if (i) nanosleep(&(struct timespec){.tv_nsec = WAIT}, NULL);
        locked = try_lock(path, &again);
    }
    if (locked >= 0) file->impatient_until = 0;
    if (locked < 0 && again && tries == TRIES) {
        oz_log("%s stays locked by another program: what that stores at the same time may be lost", path);
        file->impatient_until = now() + MINUTE;
    }
    free(path);
    return locked;
}

void oz_unlock(const oz_file *file, int lock) {
    char *path = lock < 0 ? NULL : path_of(file);
    if (path) (void)unlink(path);
    free(path);
    if (lock >= 0) close(lock);
}
