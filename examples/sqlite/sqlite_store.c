/* A store as a table of functions: ozarr asks for the bytes of a key, or of a range of it, and hands over those to be stored. */
#include "sqlite_store.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { GET, PUT, PUT_NEW, PUT_SAME, ERASE, LIST, STATEMENTS };

static const char *const SQL[STATEMENTS] = {
    "SELECT rowid, version FROM zarr WHERE key = ?1",
    "INSERT INTO zarr VALUES (?1, ?2, 1) ON CONFLICT (key) DO UPDATE SET value = ?2, version = version + 1",
    "INSERT OR IGNORE INTO zarr VALUES (?1, ?2, 1)",
    "UPDATE zarr SET value = ?2, version = version + 1 WHERE key = ?1 AND version = ?3",
    "DELETE FROM zarr WHERE key = ?1",
    "SELECT key FROM zarr WHERE substr(key, 1, length(?1)) = ?1",
};

typedef struct database {
    sqlite3 *sql;
    sqlite3_stmt *ready[STATEMENTS];
} database;

static ozarr_status fail(database *d) {
    int full = sqlite3_errcode(d->sql) == SQLITE_FULL;
    return ozarr_set_error(full ? OZARR_ERR_NO_SPACE : OZARR_ERR_IO, sqlite3_errmsg(d->sql), NULL);
}

static sqlite3_stmt *with_key(database *d, int which, const char *key) {
    sqlite3_reset(d->ready[which]);
    sqlite3_bind_text(d->ready[which], 1, key, -1, SQLITE_TRANSIENT);
    return d->ready[which];
}

/* The bytes of the ranges, straight from the database into ozarr's memory. */
static ozarr_status get_ranges(void *user, const char *key, const ozarr_byte_range *ranges, int64_t count, ozarr_answer *answer) {
    database *d = user;
    sqlite3_stmt *find = with_key(d, GET, key);
    int found = sqlite3_step(find);
    if (found != SQLITE_ROW) return found == SQLITE_DONE ? OZARR_ERR_NOT_FOUND : fail(d);
    sqlite3_int64 row = sqlite3_column_int64(find, 0), version = sqlite3_column_int64(find, 1);
    sqlite3_blob *blob = NULL;
    if (sqlite3_blob_open(d->sql, "main", "zarr", "value", row, 0, &blob) != SQLITE_OK) return fail(d);
    int64_t all = sqlite3_blob_bytes(blob);
    ozarr_status status = ozarr_answer_version(answer, &version, sizeof version);
    if (status == OZARR_OK) status = ozarr_answer_size(answer, all);
    for (int64_t i = 0; i < count && status == OZARR_OK; i++) {
        int64_t from = ranges[i].offset, size = ranges[i].size;
        if (ranges[i].kind == OZARR_BYTE_RANGE_KIND_WHOLE) size = all;
        if (size > all || from > all - size) status = ozarr_set_error(OZARR_ERR_TRUNCATED, "the value is shorter than the range", NULL);
        if (status == OZARR_OK && ranges[i].kind == OZARR_BYTE_RANGE_KIND_SUFFIX) from = all - size;
        void *room = NULL;
        if (status == OZARR_OK) status = ozarr_answer_room(answer, (size_t)size, &room);
        if (status == OZARR_OK && size > 0 && sqlite3_blob_read(blob, room, (int)size, (int)from) != SQLITE_OK) status = fail(d);
    }
    sqlite3_blob_close(blob);
    sqlite3_reset(find);
    return status;
}

static ozarr_status get(void *user, const char *key, ozarr_answer *answer) {
    ozarr_byte_range whole = {0};
    return get_ranges(user, key, &whole, 1, answer);
}

static ozarr_status change(database *d, int which, const char *key, const void *data, size_t size, const void *version) {
    sqlite3_stmt *statement = with_key(d, which, key);
    if (which != ERASE) sqlite3_bind_blob64(statement, 2, data ? data : "", size, SQLITE_STATIC);
    if (version) {
        sqlite3_int64 number;
        memcpy(&number, version, sizeof number);
        sqlite3_bind_int64(statement, 3, number);
    }
    int done = sqlite3_step(statement);
    sqlite3_reset(statement);
    return done == SQLITE_DONE ? OZARR_OK : fail(d);
}

static ozarr_status put(void *user, const char *key, const void *data, size_t size) {
    return change(user, PUT, key, data, size, NULL);
}

static ozarr_status put_if(void *user, const char *key, const void *data, size_t size, const void *version, size_t version_size) {
    database *d = user;
    if (version && version_size != sizeof(sqlite3_int64)) return OZARR_ERR_CONFLICT;
    ozarr_status status = change(d, version ? PUT_SAME : PUT_NEW, key, data, size, version);
    return status == OZARR_OK && sqlite3_changes(d->sql) == 0 ? OZARR_ERR_CONFLICT : status;
}

static ozarr_status erase(void *user, const char *key) {
    database *d = user;
    ozarr_status status = change(d, ERASE, key, NULL, 0, NULL);
    return status == OZARR_OK && sqlite3_changes(d->sql) == 0 ? OZARR_ERR_NOT_FOUND : status;
}

static ozarr_status list(void *user, const char *prefix, ozarr_keys *keys) {
    database *d = user;
    sqlite3_stmt *all = with_key(d, LIST, prefix);
    ozarr_status status = OZARR_OK;
    int row;
    while (status == OZARR_OK && (row = sqlite3_step(all)) == SQLITE_ROW)
        status = ozarr_keys_add(keys, (const char *)sqlite3_column_text(all, 0));
    if (status == OZARR_OK && row != SQLITE_DONE) status = fail(d);
    sqlite3_reset(all);
    return status;
}

static void destroy(void *user) {
    database *d = user;
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(d->ready[i]);
    sqlite3_close(d->sql);
    free(d);
}

ozarr_status sqlite_store_open(const char *path, const char *mode, ozarr_store **out) {
    database *d = calloc(1, sizeof *d);
    if (!d) return OZARR_ERR_NO_MEMORY;
    ozarr_status status = OZARR_OK;
    if (sqlite3_open(path, &d->sql) != SQLITE_OK ||
        sqlite3_exec(d->sql, "CREATE TABLE IF NOT EXISTS zarr (key TEXT PRIMARY KEY, value BLOB NOT NULL, version INTEGER)", NULL, NULL, NULL))
        status = fail(d);
    for (int i = 0; i < STATEMENTS && status == OZARR_OK; i++)
        if (sqlite3_prepare_v2(d->sql, SQL[i], -1, &d->ready[i], NULL) != SQLITE_OK) status = fail(d);

    ozarr_store_table table = OZARR_STORE_TABLE_INIT;
    table.flags = OZARR_STORE_HAS_VERSIONS;
    table.name = "sqlite:";
    table.user = d;
    table.destroy = destroy;
    table.get = get;
    table.get_ranges = get_ranges;
    table.put = put;
    table.put_if = put_if;
    table.erase = erase;
    table.list = list;
    if (status == OZARR_OK) status = ozarr_store_from_table(NULL, &table, mode, out);
    if (status != OZARR_OK) destroy(d);
    return status;
}
