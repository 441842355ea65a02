/* Fails an allocation of the program, and of the Fortran modules that are in it: for fortran_memory.f90. Those of MPI and of libozarr are left alone. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
void fail_allocation(long n);
int end_failing(void);

static long countdown = -1; /* allocations until one fails; negative: none does */
static int failed;

/* Lets allocation number `n` fail, from 0. */
void fail_allocation(long n) { failed = 0, countdown = n; }

/* Ends that; how many have failed. */
int end_failing(void) {
    countdown = -1;
    return failed;
}

static int fails(void *caller) {
    Dl_info here, program;
    if (countdown < 0) return 0;
    const long left = countdown;
    countdown = -1;
    const int mine = dladdr(caller, &here) != 0 && dladdr((void *)(uintptr_t)fail_allocation, &program) != 0 && here.dli_fbase == program.dli_fbase;
    countdown = mine ? left - 1 : left;
    return mine && left == 0 ? ++failed : 0;
}

void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size); }
