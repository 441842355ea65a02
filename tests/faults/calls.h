/* The file calls of a process, counted; the one that is wanted fails, moves less than was asked for, or is where the process ends.
 *
 * A program that includes this defines the C library's functions itself, so that a shared library that it uses calls them. Only calls
 * between calls_arm and calls_disarm count. */
#ifndef CALLS_H
#define CALLS_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum call_kind { OPEN, CREATE, READ, WRITE, CUT, STAT, CLOSE, RENAME, RENAME_NEW, LINK, UNLINK, MKDIR, SYNC, LIST, LOCK, SEND, CALL_KINDS } call_kind;

static const char *const CALL[] = {"open", "create", "read", "write", "truncate", "stat", "close", "rename", "renameat2", "link", "unlink", "mkdir", "sync", "list", "lock", "send"};

enum { MOST_ERRNOS = 9 };

/* What each call can fail with; 0 ends a list. ENOENT is left out: it is what the file system says of a file that is not there. */
static const int ERRNOS[CALL_KINDS][MOST_ERRNOS + 1] = {
    [OPEN] = {EIO, EACCES, EINTR, EMFILE, ENFILE, ENOMEM, ETIMEDOUT, EAGAIN},
    [CREATE] = {ENOSPC, EIO, EACCES, EINTR, EDQUOT, EROFS, EMFILE, ENOMEM, EPERM},
    [READ] = {EIO, EINTR, ESTALE, ETIMEDOUT, ENOMEM, EAGAIN},
    [WRITE] = {ENOSPC, EIO, EINTR, EDQUOT, EFBIG, EPERM},
    [CUT] = {EIO, ENOSPC, EINTR, EFBIG, EPERM},
    [STAT] = {EIO, EACCES, EINTR, ENOMEM},
    [CLOSE] = {EIO, ENOSPC, EINTR, EDQUOT},
    [RENAME] = {EIO, ENOSPC, EACCES, EINTR, EDQUOT, EROFS, EXDEV, ENOMEM},
    [RENAME_NEW] = {EIO, ENOSPC, EACCES, EINVAL, ENOSYS, EDQUOT, EROFS, ENOMEM},
    [LINK] = {EIO, ENOSPC, EPERM, EMLINK, EXDEV, EDQUOT},
    [UNLINK] = {EIO, EACCES, EBUSY, EROFS, EINTR},
    [MKDIR] = {EIO, ENOSPC, EACCES, EDQUOT, EROFS, EMLINK},
    [SYNC] = {EIO, ENOSPC, EINTR, EDQUOT},
    [LIST] = {EIO, ENOMEM, EINTR},
    [LOCK] = {ENOLCK, EIO, EINTR, EDEADLK, ENOTSUP},
    [SEND] = {ECONNRESET, EPIPE, ETIMEDOUT, EINTR},
};

/* What happens: a call fails once, or all of its kind from there on; a transfer moves half, or all move a few bytes at most; the process ends
 * before a call, or within a write; or before a call, and the one that goes on as well. */
typedef enum call_mode { COUNT, FAIL_ONCE, FAIL_FROM, SHORT_ONCE, SHORT_ALL, KILL_BEFORE, KILL_WITHIN, KILL_TWICE, CALL_MODES } call_mode;

static struct {
    atomic_int armed;
    atomic_long seen;
    call_mode mode;
    /* The number of the call among those that have a point, which error of its kind's list, and the most bytes of each transfer. */
    long point;
    int error;
    size_t most;
    /* What was hit; threads of the library look at it, too. */
    atomic_int hit, injected, kind;
} calls;

static void calls_arm(call_mode mode, long point, int error, size_t most) {
    calls.mode = mode, calls.point = point, calls.error = error, calls.most = most;
    calls.hit = 0;
    calls.injected = 0;
    atomic_store(&calls.seen, 0);
    atomic_store(&calls.armed, 1);
}

static void calls_disarm(void) { atomic_store(&calls.armed, 0); }

#define REAL(name, result, ...) \
    static result (*real)(__VA_ARGS__); \
    if (real == NULL) { \
        void *found = dlsym(RTLD_NEXT, name); \
        memcpy(&real, &found, sizeof real); \
    }

/* Whether a mode has a point at calls of a kind: only transfers are cut, and only writes are where the process ends within. */
static int has_point(call_kind kind) {
    if (calls.mode == KILL_WITHIN) return kind == WRITE;
    return calls.mode != SHORT_ONCE || kind == READ || kind == WRITE;
}

/* Whether a call fails; errno says how then. `*at`: it is the one that is wanted. */
static int call_fails_at(call_kind kind, int *at) {
    *at = 0;
    if (!atomic_load_explicit(&calls.armed, memory_order_relaxed) || !has_point(kind)) return 0;
    long n = atomic_fetch_add(&calls.seen, 1) + 1;
    *at = n == calls.point;
    if (*at && calls.mode == KILL_BEFORE) _exit(9);
    if (calls.mode != FAIL_ONCE && calls.mode != FAIL_FROM) return 0;
    if (*at) calls.kind = (int)kind;
    int again = calls.mode == FAIL_FROM && calls.hit && (int)kind == calls.kind;
    if ((!*at && !again) || (*at && ERRNOS[kind][calls.error] == 0)) return 0;
    int number = again ? calls.injected : ERRNOS[kind][calls.error];
    /* A signal does not come for ever. */
    if (calls.mode == FAIL_FROM && number == EINTR) return 0;
    calls.injected = number;
    calls.hit = 1;
    errno = number;
    return 1;
}

static int call_fails(call_kind kind) {
    int at;
    return call_fails_at(kind, &at);
}

/* A transfer that moves only `n` bytes. */
static ssize_t call_cut(size_t n) {
    calls.hit = 1;
    return (ssize_t)n;
}

/* How many of `want` bytes a transfer moves; -1: it fails. `*last`: the process ends after it. */
static ssize_t call_moves(call_kind kind, size_t want, int *last) {
    int at;
    *last = 0;
    if (!atomic_load_explicit(&calls.armed, memory_order_relaxed)) return (ssize_t)want;
    if (call_fails_at(kind, &at)) return -1;
    if (calls.mode == SHORT_ALL && want > calls.most) return call_cut(calls.most);
    if (want < 2 || !at) return (ssize_t)want;
    if (calls.mode == SHORT_ONCE) return call_cut(calls.most ? calls.most : want / 2);
    if (calls.mode == KILL_WITHIN && kind == WRITE) return *last = 1, (ssize_t)(want / 2);
    return (ssize_t)want;
}

static ssize_t moved(ssize_t n, int last) {
    if (last) _exit(9);
    return n;
}

int openat(int folder, const char *path, int flags, ...) {
    REAL("openat", int, int, const char *, int, ...)
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    return call_fails(flags & O_CREAT ? CREATE : OPEN) ? -1 : real(folder, path, flags, mode);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset) {
    REAL("pread", ssize_t, int, void *, size_t, off_t)
    int last;
    ssize_t most = call_moves(READ, count, &last);
    return most < 0 ? -1 : real(fd, bytes, (size_t)most, offset);
}

ssize_t send(int fd, const void *bytes, size_t count, int flags) {
    REAL("send", ssize_t, int, const void *, size_t, int)
    return call_fails(SEND) ? -1 : real(fd, bytes, count, flags);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    REAL("pwrite", ssize_t, int, const void *, size_t, off_t)
    int last;
    ssize_t most = call_moves(WRITE, count, &last);
    return most < 0 ? -1 : moved(real(fd, bytes, (size_t)most, offset), last);
}

/* The first `most` bytes of some parts. */
static int cut_parts(struct iovec *cut, const struct iovec *parts, int count, size_t most) {
    int n = 0;
    for (; n < count && n < 64 && most > 0; n++) {
        cut[n] = parts[n];
        if (cut[n].iov_len > most) cut[n].iov_len = most;
        most -= cut[n].iov_len;
    }
    return n;
}

static size_t bytes_of(const struct iovec *parts, int count) {
    size_t all = 0;
    for (int i = 0; i < count; i++) all += parts[i].iov_len;
    return all;
}

#define VECTOR(kind, call) \
    struct iovec cut[64]; \
    int last; \
    size_t all = bytes_of(parts, count); \
    ssize_t most = call_moves(kind, all, &last); \
    if (most < 0) return -1; \
    if ((size_t)most < all) count = cut_parts(cut, parts, count, (size_t)most), parts = cut; \
    return moved(call, last)

ssize_t preadv(int fd, const struct iovec *parts, int count, off_t offset) {
    REAL("preadv", ssize_t, int, const struct iovec *, int, off_t)
    VECTOR(READ, real(fd, parts, count, offset));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL("writev", ssize_t, int, const struct iovec *, int)
    VECTOR(WRITE, real(fd, parts, count));
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    REAL("pwritev", ssize_t, int, const struct iovec *, int, off_t)
    VECTOR(WRITE, real(fd, parts, count, offset));
}

#define PLAIN(kind, name, params, args, ...) \
    int name params { \
        REAL(#name, int, __VA_ARGS__) \
        return call_fails(kind) ? -1 : real args; \
    }

PLAIN(CUT, ftruncate, (int fd, off_t len), (fd, len), int, off_t)
PLAIN(STAT, fstat, (int fd, struct stat *st), (fd, st), int, struct stat *)
PLAIN(STAT, fstatat, (int d, const char *path, struct stat *st, int flags), (d, path, st, flags), int, const char *, struct stat *, int)
PLAIN(RENAME, renameat, (int d, const char *from, int e, const char *to), (d, from, e, to), int, const char *, int, const char *)
PLAIN(RENAME_NEW, renameat2, (int d, const char *from, int e, const char *to, unsigned f), (d, from, e, to, f), int, const char *, int, const char *, unsigned)
PLAIN(LINK, linkat, (int d, const char *from, int e, const char *to, int f), (d, from, e, to, f), int, const char *, int, const char *, int)
PLAIN(UNLINK, unlinkat, (int d, const char *path, int flags), (d, path, flags), int, const char *, int)
PLAIN(MKDIR, mkdirat, (int d, const char *path, mode_t mode), (d, path, mode), int, const char *, mode_t)
PLAIN(SYNC, fdatasync, (int fd), (fd), int)
PLAIN(SYNC, fsync, (int fd), (fd), int)

/* The descriptor is gone, whatever close says. */
int close(int fd) {
    REAL("close", int, int)
    int fails = call_fails(CLOSE), number = errno, done = real(fd);
    return fails ? (errno = number, -1) : done;
}

int fcntl(int fd, int command, ...) {
    REAL("fcntl", int, int, int, ...)
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    int locks = command == F_OFD_SETLK || command == F_OFD_SETLKW;
    return locks && call_fails(LOCK) ? -1 : real(fd, command, argument);
}

long syscall(long number, ...) {
    REAL("syscall", long, long, ...)
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    return number == SYS_getdents64 && call_fails(LIST) ? -1 : real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#endif
