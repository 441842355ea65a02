// ozarr.hpp with results in a program that has exceptions: what its functions throw does not leave the library.
#define OZARR_NO_EXCEPTIONS
#include <ozarr.hpp>

#include "table.h"

#include <new>
#include <stdexcept>

// What a copy gives whose progress throws.
template <class Thrown>
static ozarr::error stopped(Thrown thrown) {
    ozarr::copy_options options;
    options.progress = [&](std::int64_t, std::int64_t) -> bool { throw thrown; };
    const auto copied = ozarr::copy("run.zarr", "never.zarr", options);
    return copied ? ozarr::error(OZARR_OK, "nothing") : copied.error();
}

int main() {
    auto a = ozarr::array::create<int>("run.zarr/a", {4});
    CHECK(a && a->write(std::vector<int>{1, 2, 3, 4}).ok());
    const ozarr::error mine = stopped(std::runtime_error("mine"));
    EQUAL(mine.status(), OZARR_ERR_CALLBACK);
    CHECK(std::string(mine.what()).find("mine") != std::string::npos);
    EQUAL(stopped(std::bad_alloc()).status(), OZARR_ERR_NO_MEMORY);
    EQUAL(stopped(ozarr::error(OZARR_ERR_PERMISSION, "secret")).status(), OZARR_ERR_PERMISSION);
    EQUAL(stopped(1).status(), OZARR_ERR_CALLBACK);

    int called = 0;
    ozarr::request_options options;
    options.done = [&](ozarr_status, const char *) {
        called++;
        throw std::runtime_error("mine");
    };
    std::vector<int> out(4);
    const auto request = a->iread(out, {}, options);
    CHECK(request && request->wait().ok() && out[3] == 4);
    EQUAL(called, 1);
    // The error of a request stays its own.
    put_file("run.zarr/a/c/0", "", 0);
    const auto cut = a->iread(out, {}, options);
    const auto waited = cut->wait();
    CHECK(called == 2 && !waited && std::string(waited.error().what()).find("mine") == std::string::npos);

    const std::string odd = R"({"zarr_format": 3, "node_type": "group", "node_type": "group"})";
    CHECK(ozarr::group::create("odd.zarr").ok());
    put_file("odd.zarr/zarr.json", odd.data(), odd.size());
    auto c = ozarr::context::create();
    const auto log = [&](ozarr::log_level, const char *) {
        called++;
        throw std::runtime_error("mine");
    };
    CHECK(c && c->set_log(ozarr::log_level::info, log).ok());
    const auto s = ozarr::store::open("odd.zarr", "r", {}, &*c);
    CHECK(s && s->open_group("").ok());
    EQUAL(called, 3);
    return finish();
}
