// ozarr.hpp without exceptions: every function gives a result. Compiled with -fno-exceptions.
#include <ozarr.hpp>

#include "table.h"

static ozarr::result<double> first(const char *location) {
    auto t = ozarr::array::open(location);
    if (!t) return t.error();
    auto v = t->read<double>();
    if (!v) return v.error();
    return v->front();
}

struct pair {
    double x;
    float y;
};

// A field whose type failed is an error where the struct is used.
static void types_keep_their_problem() {
    auto d = ozarr::dtype::struct_of<pair>();
    d.field("x", &pair::x, ozarr::dtype::parse("no such type")).field("y", &pair::y);
    const auto refused = ozarr::store::memory()->create_array("a", ozarr::spec(d, {1}));
    CHECK(!refused && refused.error().status() == OZARR_ERR_UNSUPPORTED && d.problem().has_value());
    // So is a fill value of such a type.
    auto s = ozarr::spec::of<double>({1});
    const double one = 1;
    s.fill_value(ozarr::dtype::of<double>().field("x", &pair::x), &one, sizeof one);
    CHECK(s.problem().has_value() && !s.to_json());
}

// What a result that is gone had can be looped over and named: it is moved out of it.
static_assert(std::is_same_v<decltype(*std::declval<ozarr::result<std::vector<int>>>()), std::vector<int>>);
static_assert(std::is_same_v<decltype(std::declval<ozarr::result<void>>().error()), ozarr::error>);
static void values_outlive_their_results() {
    auto all = ozarr::store::memory();
    CHECK(all && all->create_group("a").ok() && all->create_group("b").ok());
    std::string seen;
    for (const ozarr::child &c : *all->open_group("")->children()) seen += c.name;
    TEXT(seen.c_str(), "ab");
    const auto &failed = all->open_array("none").error();
    EQUAL(failed.status(), OZARR_ERR_NOT_FOUND);
}

// Of cxx_result_2.cpp, which has exceptions.
bool with_exceptions();

int main() {
    auto t = ozarr::array::create<double>("run.zarr/t", {4}, {2});
    CHECK(t.ok());
    CHECK(t->write(std::vector<double>{1, 2, 3, 4}).ok());
    CHECK(t->set_attr("units", "K").ok() && *t->attr<std::string>("units") == "K" && !*t->has_attr("x"));
    auto missing = t->attr<int>("x");
    CHECK(!missing && missing.error().status() == OZARR_ERR_NOT_FOUND);
    auto beyond = t->read<double>({{3}, {2}});
    CHECK(!beyond && beyond.error().status() == OZARR_ERR_BOUNDS && std::string(beyond.error().what()) != "");
    ozarr::array taken = *std::move(t);
    CHECK(taken.rank() == 1 && taken.close().ok());
    CHECK(*first("run.zarr/t") == 1.0);
    CHECK(first("run.zarr/x").error().status() == OZARR_ERR_NOT_FOUND);

    // The first failing setter is what is reported.
    auto wrong = ozarr::spec::of<int>({2, 2});
    wrong.chunks({1}).compressor("none");
    auto refused = ozarr::array::create("run.zarr/w", wrong);
    CHECK(!refused && refused.error().status() == OZARR_ERR_RANK);
    CHECK(!wrong.to_json() && wrong.problem().has_value());
    ozarr::copy_options as_wrong;
    as_wrong.spec = &wrong;
    auto copied = ozarr::copy("run.zarr/t", "run.zarr/w", as_wrong);
    CHECK(!copied && copied.error().status() == OZARR_ERR_RANK && !ozarr::array::open("run.zarr/w").ok());
    const auto unread = ozarr::spec::from_json("{");
    as_wrong.spec = &unread;
    copied = ozarr::copy("run.zarr/t", "run.zarr/w", as_wrong);
    CHECK(!copied && copied.error().status() == OZARR_ERR_ARGUMENT);

    auto g = ozarr::group::open("run.zarr");
    CHECK(g && g->children()->size() == 1);
    auto m = ozarr::store::memory();
    CHECK(m && m->create_group("g").ok() && *m->kind("g") == ozarr::node_kind::group);
    auto c = ozarr::context::create();
    CHECK(c && c->set("threads", "1").ok() && !c->set("colour", "red").ok());
    const auto cut = ozarr::group::open(std::string("run.zarr\0/x", 11));
    CHECK(!cut && cut.error().status() == OZARR_ERR_ARGUMENT && std::string(cut.error().what()).find("NUL") != std::string::npos);
    types_keep_their_problem();
    values_outlive_their_results();
    CHECK(with_exceptions());
    return finish();
}
