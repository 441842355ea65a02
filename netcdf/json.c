/* JSON: a reader that gives a tree, and a text that grows. */
#include "json.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All that the library reads, whose documents have 127 levels at most. */
enum { MAX_DEPTH = 128 };

typedef struct reader {
    const char *text;
    size_t at;
    /* Memory has ended. */
    bool starved;
} reader;

static void skip(reader *r) {
    while (r->text[r->at] && strchr(" \t\r\n", r->text[r->at])) r->at++;
}

static json *new_value(reader *r, json_kind kind) {
    json *value = calloc(1, sizeof *value);
    if (value) value->kind = kind;
    else r->starved = true;
    return value;
}

static int hex(const char *digits, unsigned *code) {
    *code = 0;
    for (int i = 0; i < 4; i++) {
        char c = digits[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return -1;
        *code = *code * 16 + (unsigned)digit;
    }
    return 0;
}

static size_t put_utf8(char *to, unsigned code) {
    if (code < 0x80) return (void)(to[0] = (char)code), (size_t)1;
    if (code < 0x800) return (void)(to[0] = (char)(0xc0 | code >> 6)), (void)(to[1] = (char)(0x80 | (code & 63))), (size_t)2;
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 63));
        to[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 63));
    to[2] = (char)(0x80 | (code >> 6 & 63));
    to[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* Decodes what follows a backslash; the number of bytes that it becomes, or 0. */
static size_t read_escape(reader *r, char *to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char c = r->text[r->at++];
    const char *known = c ? strchr(from, c) : NULL;
    if (known) return (void)(*to = into[known - from]), (size_t)1;
    unsigned code, low;
    if (c != 'u' || hex(r->text + r->at, &code)) return 0;
    r->at += 4;
    if (code >= 0xd800 && code < 0xdc00 && r->text[r->at] == '\\' && r->text[r->at + 1] == 'u' && !hex(r->text + r->at + 2, &low)) {
        r->at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    return put_utf8(to, code & 0x1fffff);
}

/* Reads a string behind its first quote. */
static char *read_string(reader *r, size_t *len) {
    const char *end = r->text + r->at;
    while (*end && *end != '"') end += *end == '\\' && end[1] ? 2 : 1;
    char *bytes = malloc((size_t)(end - (r->text + r->at)) + 5);
    size_t n = 0;
    if (!bytes) return r->starved = true, NULL;
    while (r->text[r->at] && r->text[r->at] != '"') {
        if (r->text[r->at] != '\\') {
            bytes[n++] = r->text[r->at++];
            continue;
        }
        r->at++;
        size_t more = read_escape(r, bytes + n);
        if (!more) break;
        n += more;
    }
    if (r->text[r->at] != '"') return free(bytes), NULL;
    r->at++;
    bytes[n] = 0;
    *len = n;
    return bytes;
}

static json *read_value(reader *r, int depth);

static json *read_word(reader *r) {
    static const struct { const char *word; json_kind kind; } words[] = {
        {"null", JSON_NULL}, {"true", JSON_BOOL}, {"false", JSON_BOOL}, {"NaN", JSON_NUMBER}, {"Infinity", JSON_NUMBER}, {"-Infinity", JSON_NUMBER}};
    const char *start = r->text + r->at;
    json_kind kind = JSON_INTEGER;
    size_t len = strspn(start, "+-0123456789.eE");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i].word);
        if (strncmp(start, words[i].word, size) == 0) {
            kind = words[i].kind;
            len = size;
            break;
        }
    }
    if (!len) return NULL;
    if (kind == JSON_INTEGER && memchr(start, '.', len)) kind = JSON_NUMBER;
    if (kind == JSON_INTEGER && (memchr(start, 'e', len) || memchr(start, 'E', len))) kind = JSON_NUMBER;
    json *value = new_value(r, kind);
    if (!value) return NULL;
    value->text = strndup(start, len);
    value->len = len;
    r->at += len;
    if (!value->text) return json_free(value), r->starved = true, NULL;
    return value;
}

/* Reads the elements of a list, or the members of an object, behind its bracket. */
static json *read_children(reader *r, json *value, int depth) {
    char close = value->kind == JSON_ARRAY ? ']' : '}';
    json **last = &value->first;
    r->at++;
    skip(r);
    if (r->text[r->at] == close) return r->at++, value;
    for (;;) {
        char *name = NULL;
        size_t len;
        skip(r);
        if (close == '}') {
            if (r->text[r->at] != '"') break;
            r->at++;
            name = read_string(r, &len);
            if (!name) break;
            skip(r);
            if (r->text[r->at++] != ':') { free(name); break; }
        }
        json *child = read_value(r, depth + 1);
        if (!child) { free(name); break; }
        child->name = name;
        *last = child;
        last = &child->next;
        value->count++;
        skip(r);
        char next = r->text[r->at];
        if (next) r->at++;
        if (next == close) return value;
        if (next != ',') break;
    }
    json_free(value);
    return NULL;
}

static json *read_value(reader *r, int depth) {
    skip(r);
    if (depth > MAX_DEPTH) return NULL;
    size_t from = r->at;
    char c = r->text[r->at];
    json *value = NULL;
    if (c == '"') {
        value = new_value(r, JSON_STRING);
        r->at++;
        if (value && !(value->text = read_string(r, &value->len))) return json_free(value), NULL;
    } else if (c == '[' || c == '{') {
        value = new_value(r, c == '[' ? JSON_ARRAY : JSON_OBJECT);
        if (value) value = read_children(r, value, depth);
    } else {
        value = read_word(r);
    }
    if (value) {
        value->from = from;
        value->to = r->at;
    }
    return value;
}

json *json_read(const char *text) {
    size_t at = 0;
    json *value = json_read_at(text, &at);
    at += strspn(text + at, " \t\r\n");
    if (value && text[at]) return json_free(value), errno = EINVAL, NULL;
    return value;
}

json *json_read_at(const char *text, size_t *at) {
    reader r = {text, *at, false};
    json *value = read_value(&r, 0);
    *at = r.at;
    if (!value) errno = r.starved ? ENOMEM : EINVAL;
    return value;
}

/* Passes a string behind its first quote. */
static bool skip_string(const char *text, size_t *at) {
    size_t end = *at;
    while (text[end] && text[end] != '"') end += text[end] == '\\' && text[end + 1] ? 2 : 1;
    *at = end + (text[end] == '"');
    return text[end] == '"';
}

/* Goes by quotes and brackets alone: what is between them is checked by those who read it. */
bool json_skip(const char *text, size_t *at) {
    static const bool stops[256] = {[0] = true, ['"'] = true, ['['] = true, [']'] = true, ['{'] = true, ['}'] = true};
    int depth = 0;
    if (text[*at] != '"' && text[*at] != '[' && text[*at] != '{') {
        size_t len = strcspn(text + *at, ",]} \t\r\n");
        *at += len;
        return len > 0;
    }
    do {
        while (!stops[(unsigned char)text[*at]]) ++*at;
        char c = text[*at];
        if (!c) return false;
        ++*at;
        if (c == '"' && !skip_string(text, at)) return false;
        if (c != '"') depth += c == '[' || c == '{' ? 1 : -1;
    } while (depth > 0);
    return true;
}

bool json_next_member(const char *text, size_t *at, json_name *name) {
    reader r = {text, *at, false};
    skip(&r);
    if (text[r.at] != '{' && text[r.at] != ',') return false;
    r.at++;
    skip(&r);
    if (text[r.at] != '"') return false;
    name->from = ++r.at;
    if (!skip_string(text, &r.at)) return false;
    name->len = r.at - 1 - name->from;
    skip(&r);
    if (text[r.at] != ':') return false;
    r.at++;
    skip(&r);
    *at = r.at;
    return true;
}

char *json_read_name(const char *text, const json_name *name) {
    reader r = {text, name->from, false};
    size_t len;
    return read_string(&r, &len);
}

void json_free(json *value) {
    while (value) {
        json *next = value->next;
        json_free(value->first);
        free(value->name);
        free(value->text);
        free(value);
        value = next;
    }
}

json *json_member(const json *object, const char *name) {
    if (!object || object->kind != JSON_OBJECT) return NULL;
    for (json *member = object->first; member; member = member->next)
        if (strcmp(member->name, name) == 0) return member;
    return NULL;
}

bool json_true(const json *object, const char *name) {
    const json *member = json_member(object, name);
    return member && member->kind == JSON_BOOL && member->text[0] == 't';
}

void text_add(text *t, const char *bytes, size_t len) {
    if (t->failed) return;
    if (t->len + len + 1 > t->capacity) {
        size_t capacity = 2 * (t->len + len + 1);
        char *larger = realloc(t->bytes, capacity);
        if (!larger) {
            t->failed = true;
            return;
        }
        t->bytes = larger;
        t->capacity = capacity;
    }
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
    t->bytes[t->len] = 0;
}

void text_put(text *t, const char *string) { text_add(t, string, strlen(string)); }

void text_quote(text *t, const char *bytes, size_t len) {
    text_put(t, "\"");
    size_t from = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c >= ' ' && c != '"' && c != '\\') continue;
        char escape[8];
        if (c == '"' || c == '\\') snprintf(escape, sizeof escape, "\\%c", c);
        else snprintf(escape, sizeof escape, "\\u%04x", c);
        text_add(t, bytes + from, i - from);
        text_put(t, escape);
        from = i + 1;
    }
    text_add(t, bytes + from, len - from);
    text_put(t, "\"");
}

void text_comma(text *t) {
    if (t->len && t->bytes[t->len - 1] != '{' && t->bytes[t->len - 1] != '[') text_put(t, ",");
}

void text_number(text *t, const char *format, long long number) {
    char out[64];
    snprintf(out, sizeof out, format, number);
    text_put(t, out);
}

void text_member(text *t, const char *name) {
    text_comma(t);
    text_quote(t, name, strlen(name));
    text_put(t, ":");
}

const char TEXT_BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void text_base64(text *t, const unsigned char *bytes, size_t size) {
    const char *digits = TEXT_BASE64;
    text_put(t, "\"");
    for (size_t i = 0; i < size; i += 3) {
        unsigned bits = (unsigned)bytes[i] << 16;
        if (i + 1 < size) bits |= (unsigned)bytes[i + 1] << 8;
        if (i + 2 < size) bits |= bytes[i + 2];
        char out[4] = {digits[bits >> 18], digits[bits >> 12 & 63], i + 1 < size ? digits[bits >> 6 & 63] : '=', i + 2 < size ? digits[bits & 63] : '='};
        text_add(t, out, 4);
    }
    text_put(t, "\"");
}

bool utf8(const char *bytes, size_t len) {
    const unsigned char *s = (const unsigned char *)bytes;
    for (size_t i = 0; i < len;) {
        unsigned char c = s[i];
        size_t more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 9;
        if (more > len - i - 1) return false;
        for (size_t k = 1; k <= more; k++)
            if ((s[i + k] & 0xc0) != 0x80) return false;
        if ((c == 0xe0 && s[i + 1] < 0xa0) || (c == 0xed && s[i + 1] > 0x9f) || (c == 0xf0 && s[i + 1] < 0x90) || (c == 0xf4 && s[i + 1] > 0x8f)) return false;
        i += more + 1;
    }
    return true;
}
