/* What a random program knows of an array: a matrix of int32_t, row by row. */
#ifndef MODEL_H
#define MODEL_H

#include <stdint.h>
#include <string.h>

enum { MODEL_SIZE = 128 };

/* Gives a matrix of at most MODEL_SIZE elements, which has room for `size`, another shape; new elements and the room behind are `fill`. */
static inline void reshape(int32_t *values, int size, int64_t *shape, int32_t fill, int64_t rows, int64_t columns) {
    int32_t next[MODEL_SIZE];
    for (int i = 0; i < size; i++) next[i] = fill;
    for (int64_t r = 0; r < rows && r < shape[0]; r++)
        for (int64_t c = 0; c < columns && c < shape[1]; c++) next[r * columns + c] = values[r * shape[1] + c];
    memcpy(values, next, (size_t)size * sizeof *next);
    shape[0] = rows, shape[1] = columns;
}

#endif
