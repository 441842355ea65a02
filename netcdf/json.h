/* JSON: a reader that gives a tree, and a text that grows. */
#ifndef OZARR_NETCDF_JSON_H
#define OZARR_NETCDF_JSON_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum json_kind { JSON_NULL, JSON_BOOL, JSON_INTEGER, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_kind;

typedef struct json {
    json_kind kind;
    /* The name of a member; NULL elsewhere. */
    char *name;
    /* A string's bytes, which may contain NUL, with a NUL behind; of anything else its text. */
    char *text;
    size_t len;
    /* Where the value begins and ends in what was read. */
    size_t from, to;
    /* Of lists and objects. */
    struct json *first;
    size_t count;
    struct json *next;
} json;

/* Reads a value; NULL with `errno` EINVAL where it is malformed or too deep, ENOMEM without memory. NaN and infinities are numbers, as Python writes them. */
json *json_read(const char *text);
void json_free(json *value);
/* Reads the value that begins at `*at`, as `json_read` does, or passes it; `*at` becomes its end. */
json *json_read_at(const char *text, size_t *at);
bool json_skip(const char *text, size_t *at);
/* Where a member's name is in the text, without quotes, and its bytes; free them. */
typedef struct json_name {
    size_t from, len;
} json_name;
char *json_read_name(const char *text, const json_name *name);
/* Moves to the value of an object's next member: from its brace, or from behind a value. False, and `*at` as it was, behind the last one and where
 * something else is. */
bool json_next_member(const char *text, size_t *at, json_name *name);
/* The member of an object, or NULL (also where `object` is NULL or none). */
json *json_member(const json *object, const char *name);
/* Whether a member is `true`. */
bool json_true(const json *object, const char *name);

/* A text that grows; `failed` once memory is short. Begin with {0}, end with free(bytes). */
typedef struct text {
    char *bytes;
    size_t len, capacity;
    bool failed;
} text;

void text_add(text *t, const char *bytes, size_t len);
void text_put(text *t, const char *string);
/* Adds a string in quotes. */
void text_quote(text *t, const char *bytes, size_t len);
/* Adds a number as a format, which has at most a few letters more, says. */
void text_number(text *t, const char *format, long long number);
/* Adds a comma unless a bracket or nothing comes before. */
void text_comma(text *t);
/* Adds `"name":`, with a comma before it where one is needed. */
void text_member(text *t, const char *name);

/* Adds bytes as base64, in quotes; its digits. */
void text_base64(text *t, const unsigned char *bytes, size_t size);
extern const char TEXT_BASE64[];

/* Whether the bytes are UTF-8. */
bool utf8(const char *bytes, size_t len);

#endif
