/* Numbers that look random and are the same in every run, for random programs (splitmix64). */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

typedef struct numbers {
    uint64_t state;
} numbers;

static inline uint64_t next_number(numbers *n) {
    n->state += 0x9e3779b97f4a7c15u;
    uint64_t z = n->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A number from `low` to `high`. */
static inline int64_t pick(numbers *n, int64_t low, int64_t high) { return low + (int64_t)(next_number(n) % (uint64_t)(high - low + 1)); }

#endif
