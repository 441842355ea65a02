/* Real numbers as text, with a decimal point, whatever the locale that the program has set has for it. */
#include "numbers.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t plain;

/* Made once and kept. Where there is none the thread stays in its own. */
static void make_plain(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

/* Brings this thread alone into the locale of C; gives the one that it had. */
static locale_t enter_plain(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_plain);
    return uselocale(plain);
}

double number_read(const char *text) {
    locale_t before = enter_plain();
    double number = strtod(text, NULL);
    uselocale(before);
    return number;
}

float number_read_float(const char *text) {
    locale_t before = enter_plain();
    float number = strtof(text, NULL);
    uselocale(before);
    return number;
}

void number_write(char *out, size_t size, int digits, double value) {
    locale_t before = enter_plain();
    int len = snprintf(out, size, "%.*g", digits, value);
    uselocale(before);
    if (!strpbrk(out, ".e") && len >= 0) snprintf(out + len, size - (size_t)len, ".0");
}
