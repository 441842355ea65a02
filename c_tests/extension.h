/* What the tests of extensions share: how many registrations were let go, and what a document of a store says. */
#ifndef EXTENSION_H
#define EXTENSION_H

#include "table.h"
#include <stdatomic.h>

static atomic_int gone;
static void count_gone(void *context) {
    (void)context;
    atomic_fetch_add(&gone, 1);
}

/* The text of a document, which has both words; until the next call. */
static inline char *document(ozarr_store *store, const char *key, const char *word1, const char *word2) {
    static char text[4096];
    size_t len = 0;
    text[0] = 0;
    if (!OK(ozarr_store_key_get(store, key, text, sizeof text - 1, &len))) return text;
    text[len] = 0;
    if (!strstr(text, word1) || !strstr(text, word2)) FAIL("%s lacks %s or %s: %s", key, word1, word2, text);
    return text;
}

#endif
