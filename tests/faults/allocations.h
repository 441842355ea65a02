/* The allocations of a process, counted; the one that is wanted fails, or all from there on.
 *
 * A program that includes this defines malloc and its family, anonymous mmap, and pthread_create itself, so that the calls of a shared library that it
 * uses, and of that library's C codecs, come here. */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum { ONCE, FROM, LARGE, MODES, BIG = 32 << 10 };
static const char *const MODE[] = {"once", "from", "large"};

static atomic_int armed;
static atomic_long seen, live;
static long point;
static int mode;

/* Whether this allocation is to fail. */
static int fails(size_t size) {
    if (!atomic_load_explicit(&armed, memory_order_relaxed) || (mode == LARGE && size < BIG)) return 0;
    long n = atomic_fetch_add(&seen, 1) + 1;
    return point > 0 && (n == point || (mode != ONCE && n > point));
}

static void *counted(void *p) {
    if (p != NULL) atomic_fetch_add(&live, 1);
    return p;
}

static void *refused(void) {
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size) { return fails(size) ? refused() : counted(__libc_malloc(size)); }
void *calloc(size_t n, size_t size) { return fails(n * size) ? refused() : counted(__libc_calloc(n, size)); }
void *memalign(size_t align, size_t size) { return fails(size) ? refused() : counted(__libc_memalign(align, size)); }
void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }

void *realloc(void *p, size_t size) {
    if (fails(size)) return refused();
    void *q = __libc_realloc(p, size);
    return p == NULL ? counted(q) : q;
}

int posix_memalign(void **out, size_t align, size_t size) {
    void *p = memalign(align, size);
    if (p == NULL) return ENOMEM;
    *out = p;
    return 0;
}

void free(void *p) {
    if (p != NULL) atomic_fetch_sub(&live, 1);
    __libc_free(p);
}

void *mmap(void *at, size_t size, int access, int flags, int fd, off_t offset) {
    if (flags & MAP_ANONYMOUS && fails(size)) return errno = ENOMEM, MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, access, flags, fd, offset);
}
void *mmap64(void *at, size_t size, int access, int flags, int fd, off_t offset) { return mmap(at, size, access, flags, fd, offset); }

/* A thread takes memory of the system's, too. */
static int (*real_pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* To be called before a thread is started. */
static void find_pthread_create(void) { *(void **)&real_pthread_create = dlsym(RTLD_NEXT, "pthread_create"); }

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *with) {
    return fails(BIG) ? EAGAIN : real_pthread_create(thread, attributes, run, with);
}

#endif
