/* A Zarr hierarchy in a SQLite database: one row for each key. */
#ifndef SQLITE_STORE_H
#define SQLITE_STORE_H

#include <ozarr_extend.h>

/* Opens or makes the database at `path`. `mode` is "r" or "r+". */
ozarr_status sqlite_store_open(const char *path, const char *mode, ozarr_store **out);

#endif
