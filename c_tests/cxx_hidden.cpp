// ozarr.hpp in a program and in a library of its own, both compiled with -fvisibility=hidden, where each has its own copy of what the header has:
// the same struct is the same to both, and structs of unnamed namespaces, of which each has another one of the same name, are not.
#include <ozarr.hpp>

struct particle {
    double x;
    float charge;
};

namespace {
struct local {
#ifdef cxx_hidden_library_EXPORTS
    float pad, x;
#else
    float x, pad;
#endif
};
} // namespace

// The library's: each adds a member of its struct, and gives the status. (An exception is caught where it is thrown: not each C++ library knows it
// by its name elsewhere.)
__attribute__((visibility("default"))) ozarr_status add_to_particle(ozarr::dtype &type);
__attribute__((visibility("default"))) ozarr_status add_to_local(ozarr::dtype &type);

#ifdef cxx_hidden_library_EXPORTS
template <class S, class M>
static ozarr_status add(ozarr::dtype &type, const char *name, M S::*member) {
    try {
        type.field(name, member);
    } catch (const ozarr::error &e) {
        return e.status();
    }
    return OZARR_OK;
}
ozarr_status add_to_particle(ozarr::dtype &type) { return add(type, "charge", &particle::charge); }
ozarr_status add_to_local(ozarr::dtype &type) { return add(type, "x", &local::x); }
#else
#include "table.h"

int main() {
    auto d = ozarr::dtype::struct_of<particle>();
    d.field("x", &particle::x);
    EQUAL(add_to_particle(d), OZARR_OK);
    TEXT(d.to_json(3).c_str(), ozarr::dtype::parse("[[\"x\",\"<f8\"],[\"charge\",\"<f4\"]]").to_json(3).c_str());
    auto mine = ozarr::dtype::struct_of<local>();
    mine.field("pad", &local::pad);
    EQUAL(add_to_local(mine), OZARR_ERR_ARGUMENT);
    EQUAL(add_to_local(d), OZARR_ERR_ARGUMENT);
    return finish();
}
#endif
