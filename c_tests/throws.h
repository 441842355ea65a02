// What a call throws, for programs of tests with ozarr.hpp.
#ifndef THROWS_H
#define THROWS_H

#include "table.h"
#include <string>

// A call throws an error of that status whose message has that word.
template <class F>
static void throws(int line, ozarr_status status, const char *word, F call) {
    try {
        call();
    } catch (const ozarr::error &e) {
        if (e.status() != status || std::string(e.what()).find(word) == std::string::npos) {
            failures++;
            std::fprintf(stderr, "line %d: found %s \"%s\", expected %s with \"%s\"\n", line, e.name(), e.what(), ozarr_status_name(status), word);
        }
        return;
    }
    failures++;
    std::fprintf(stderr, "line %d: nothing was thrown, expected %s\n", line, ozarr_status_name(status));
}
#define THROWS(status, word, ...) throws(__LINE__, status, word, [&] { __VA_ARGS__; })

#endif
