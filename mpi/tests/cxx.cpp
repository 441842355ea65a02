/* The C++ layer: what each of its functions does, and that what one rank finds wrong before a call is an error on all. Compiled with exceptions,
 * and with -fno-exceptions.
 *
 *   cxx FOLDER */
#include <ozarr_mpi.hpp>

#include "check.h"

#include <algorithm>
#include <cfenv>
#include <clocale>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

using ozarr::array;
using ozarr::group;
using ozarr::region;

/* --- values and failures in both modes --- */

#ifdef OZARR_NO_EXCEPTIONS
template <class T>
static T got(ozarr::result<T> r, int line) {
    if (!r) {
        std::fprintf(stderr, "rank %d, line %d: %s\n", rank, line, r.error().what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if constexpr (!std::is_void_v<T>) return *std::move(r);
}
template <class F>
static ozarr_status failure(F call) {
    auto r = call();
    return r ? OZARR_OK : r.error().status();
}
#define GET(call) got((call), __LINE__)
#else
template <class F>
static auto got(F call, int line) -> decltype(call()) {
    try {
        return call();
    } catch (const ozarr::error &e) {
        std::fprintf(stderr, "rank %d, line %d: %s\n", rank, line, e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
        std::abort();
    }
}
template <class F>
static ozarr_status failure(F call) {
    try {
        static_cast<void>(call());
        return OZARR_OK;
    } catch (const ozarr::error &e) {
        return e.status();
    }
}
#define GET(call) got([&]() { return call; }, __LINE__)
#endif

static constexpr int rows = 23, columns = 10;

/* The rows of this rank. */
static region mine() {
    const int first = rows * rank / ranks;
    return {{first, 0}, {rows * (rank + 1) / ranks - first, columns}};
}

static std::vector<double> values(const region &r, double factor) {
    std::vector<double> u;
    for (std::int64_t i = r.start[0]; i < r.start[0] + r.shape[0]; i++)
        for (int j = 0; j < columns; j++) u.push_back(factor * static_cast<double>(i * columns + j));
    return u;
}

static void regions(ozarr::ranks &m) {
    auto t = GET(m.create<float>("cxx.zarr/t", {rows, columns}, {4, 5}, ozarr::existing::overwrite));
    const region r = mine();
    GET(m.write(t, values(r, 1), r));
    CHECK(GET(m.size()) == ranks && GET(m.rank()) == rank);
    std::vector<double> all;
    GET(m.read(t, all));
    CHECK(all == values({{0, 0}, {rows, columns}}, 1));
    /* Strides: columns first in memory. */
    std::vector<double> u(static_cast<std::size_t>(r.shape[0]) * columns), v(u.size());
    const auto n = static_cast<std::int64_t>(r.shape[0]);
    for (std::int64_t i = 0; i < n; i++)
        for (int j = 0; j < columns; j++) u[static_cast<std::size_t>(j * n + i)] = 2.0 * static_cast<double>((r.start[0] + i) * columns + j);
    GET(m.write(t, ozarr::strided(u.data(), u.size(), {1, n}), r));
    GET(m.read(t, ozarr::strided(v.data(), v.size(), {1, n}), r));
    CHECK(u == v);
    GET(m.read(t, all));
    CHECK(all == values({{0, 0}, {rows, columns}}, 2));
    /* While the program computes. */
    const auto w = values(r, 3);
    auto request = GET(m.iwrite(t, w.data(), w.size(), r));
    CHECK(failure([&] { return m.close(); }) == OZARR_ERR_STATE && m.get() != nullptr);
    while (!GET(request.test())) {}
    GET(request.wait());
    std::vector<double> part(w.size());
    request = GET(m.iread(t, part.data(), part.size(), r));
    GET(request.wait());
    CHECK(part == w);
    /* A rank with nothing. */
    const region none{{0, 0}, {0, columns}};
    GET(m.write(t, rank == 0 ? values({{0, 0}, {rows, columns}}, 4) : std::vector<double>(), rank == 0 ? region{{0, 0}, {rows, columns}} : none));
    GET(m.read(t, all));
    CHECK(all == values({{0, 0}, {rows, columns}}, 4));
    GET(m.close(t));
    CHECK(!t);
}

/* Numbers as attributes are those of ozarr.hpp, also where the program rounds otherwise, and is as it was afterwards. */
static void attribute_roundings(ozarr::ranks &m, ozarr::array &a) {
    for (int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
        std::fesetround(rounding);
        for (double value : {1.0006818445022662e-13, 1.0 / 3, 0.1, 1.2345e-310}) {
            GET(m.set_attr(a, "number", value));
            GET(a.set_attr("other", value));
            CHECK(GET(a.attr_json("number")) == GET(a.attr_json("other")));
            CHECK(GET(a.attr<double>("number")) == value);
        }
        CHECK(std::fegetround() == rounding);
    }
}

/* Numbers as attributes are those of ozarr.hpp, also where the locale has another decimal sign. */
static void attribute_numbers(ozarr::ranks &m, ozarr::array &a) {
    const auto check = [&](auto value, const char *json) {
        GET(m.set_attr(a, "number", value));
        CHECK(GET(a.attr_json("number")) == json);
    };
    for (const char *locale : {"C", "de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8", "C"}) {
        if (std::setlocale(LC_ALL, locale) == nullptr) continue;
        check(0.25, "0.25");
        check(0.1f, "0.1");
        check(0.1, "0.1");
        check(1.0 / 3, "0.3333333333333333");
        check(7.0, "7.0");
        GET(m.set_attr(a, "number", -1.5e300));
        CHECK(GET(a.attr<double>("number")) == -1.5e300);
        check(16777217, "16777217");
        check(std::numeric_limits<std::uint64_t>::max(), "18446744073709551615");
    }
}

/* NaN, infinities and `_FillValue` are as those of ozarr.hpp. */
static void attribute_fill_values(ozarr::ranks &m) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    for (int format : {3, 2}) {
        for (auto t : {ozarr::type::float32, ozarr::type::float64, ozarr::type::float16, ozarr::type::int32}) {
            auto a = GET(m.create("fill_values.zarr", ozarr::spec(t, {columns}).zarr_format(format), ozarr::existing::overwrite));
            for (double value : {-9.0, 0.1, 12345.5, -inf, nan}) {
                const auto status = failure([&] { return m.set_attr(a, "_FillValue", value); });
                const std::string found = status == OZARR_OK ? GET(a.attr_json("_FillValue")) : "";
                /* The same call of each rank by itself. */
                CHECK(failure([&] { return a.set_attr("_FillValue", value); }) == status);
                if (status == OZARR_OK) CHECK(GET(a.attr_json("_FillValue")) == found);
                CHECK(failure([&] { return m.set_attr(a, "number", value); }) == (std::isfinite(value) ? OZARR_OK : OZARR_ERR_RANGE));
            }
            GET(m.close(a));
        }
    }
}

static void nodes(ozarr::ranks &m) {
    auto g = GET(m.create_group("nodes.zarr", ozarr::existing::overwrite));
    ozarr::spec s(ozarr::type::int32, {0, columns});
    auto a = GET(m.create_array(g, "a", s));
    GET(m.set_attr(a, "rate", 0.5));
    GET(m.set_attr(g, "steps", 7));
    CHECK(GET(a.attr<double>("rate")) == 0.5 && GET(g.attr<int>("steps")) == 7);
    attribute_fill_values(m);
    attribute_numbers(m, a);
    attribute_roundings(m, a);
    const region r = mine();
    const auto u = values(r, 1);
    GET(m.append(a, 0, rows, r, u.data(), u.size()));
    GET(m.resize(a, {rows + 1, columns}));
    CHECK(GET(a.shape()) == ozarr::index(rows + 1, columns));
    GET(m.refresh(a));
    GET(m.close(a));
    a = GET(m.open_array(g, "a"));
    CHECK(GET(a.shape()) == ozarr::index(rows + 1, columns));
    std::vector<double> found;
    GET(m.read(a, found, r));
    CHECK(found == u);
    GET(m.close(a));
    GET(m.close(g));
    auto c = GET(m.begin_checkpoint("states.zarr", "one"));
    GET(m.put(c, "u", {rows, columns}, u.data(), u.size(), r));
    GET(m.commit(c));
    auto latest = GET(m.latest_checkpoint("states.zarr"));
    std::vector<double> back(u.size());
    GET(m.get(latest, "u", back.data(), back.size(), r));
    CHECK(back == u);
    GET(m.close(latest));
}

static void failures_of_one(ozarr::ranks &m) {
    auto t = GET(m.create<double>("failures.zarr", {rows, columns}, {}, ozarr::existing::overwrite));
    const region r = mine(), line{{0}, {columns}};
    const auto u = values(r, 1);
    const int last = ranks - 1;
    for (int who = 0; who < ranks; who += last > 0 ? last : 1) {
        CHECK(failure([&] { return m.write(t, u, rank == who ? line : r); }) == OZARR_ERR_RANK);
        std::vector<double> out;
        CHECK(failure([&] { return m.read(t, out, rank == who ? line : r); }) == OZARR_ERR_RANK);
        CHECK(failure([&] { return m.iwrite(t, u.data(), u.size(), rank == who ? line : r); }) == OZARR_ERR_RANK);
        CHECK(failure([&] { return m.resize(t, rank == who ? ozarr::index(rows) : ozarr::index(rows, columns)); }) == OZARR_ERR_RANK);
        CHECK(failure([&] { return m.write(t, u.data(), rank == who ? 1 : u.size(), r); }) == OZARR_ERR_BUFFER_SIZE);
        CHECK(failure([&] { return m.write(t, rank == who ? values({{0, 0}, {rows + 1, columns}}, 1) : u, r); }) == OZARR_ERR_BUFFER_SIZE);
        char named[32];
        std::snprintf(named, sizeof named, "rank %d: ", who);
        CHECK(std::strstr(ozarr_last_error(), named) != nullptr && same_everywhere(ozarr_last_error()));
    }
    CHECK(failure([&] { return m.open_array("nowhere.zarr"); }) == OZARR_ERR_NOT_FOUND);
    CHECK(failure([&] { return m.once([]() -> ozarr::returned<void> { return ozarr::detail::checked(ozarr_set_error(OZARR_ERR_IO, "torn", nullptr)); }); }) ==
          OZARR_ERR_IO);
    int calls = 0;
    GET(m.once([&]() -> ozarr::returned<void> {
        calls++;
        return ozarr::returned<void>();
    }));
    CHECK(calls == (rank == 0));
    GET(m.write(t, u, r));
    GET(m.close(t));
}

/* A request whose own error is OZARR_ERR_STATE, as that of a wait that leaves it, is empty then. */
static void replaced(ozarr::ranks &m) {
    auto old = GET(m.create<double>("replaced.zarr", {rows, columns}, {}, ozarr::existing::overwrite));
    const region r = mine();
    const auto u = values(r, 6);
    ozarr::ranks_request request;
    ozarr_status failed = OZARR_OK;
    // Its chunks may be stored by the time at which the handle is called lost.
    for (int i = 0; i < 500 && failed == OZARR_OK; i++) {
        GET(m.refresh(old));
        request = GET(m.iwrite(old, u.data(), u.size(), r));
        CHECK(ozarr_node_set(ozarr_array_node(old.get()), "lost", "1") == OZARR_OK);
        failed = failure([&] { return request.wait(); });
    }
    CHECK(failed == OZARR_ERR_STATE);
    CHECK(!request);
    auto now = GET(m.create<double>("replaced.zarr", {rows, columns}, {}, ozarr::existing::overwrite));
    CHECK(failure([&] { return m.write(old, u, r); }) == OZARR_ERR_STATE);
    GET(m.write(now, u, r));
    std::vector<double> found;
    GET(m.read(now, found, r));
    CHECK(found == u);
    const auto closed = failure([&] { return m.close(old); });
    CHECK(closed == OZARR_OK || closed == OZARR_ERR_STATE);
    GET(m.close(now));
}

#ifndef OZARR_NO_EXCEPTIONS
/* An exception while requests go on: their memory may go with it, what they were given is stored, and the ranks go on. */
static void exceptions_meanwhile(ozarr::ranks &m) {
    auto t = GET(m.create("thrown.zarr", ozarr::spec(ozarr::type::float64, {rows, columns}).chunks({rows, 3}), ozarr::existing::overwrite));
    const region r = mine();
    const auto old = values(r, 1), expected = values(r, 5);
    GET(m.write(t, old, r));
    std::vector<double> later(expected.size(), -1), found;
    bool caught = false;
    try {
        auto u = expected;
        const auto writing = m.iwrite(t, u.data(), u.size(), r), reading = m.iread(t, later.data(), later.size(), r);
        throw std::runtime_error("the solver has diverged");
    } catch (const std::runtime_error &) {
        caught = true;
    }
    CHECK(caught && later == expected);
    std::fill(later.begin(), later.end(), -2);
    GET(m.read(t, found, r));
    CHECK(found == expected);
    GET(m.close(t));
    CHECK(later == std::vector<double>(later.size(), -2));
    /* Let go of, and completed by the end of the ranks. */
    auto others = GET(ozarr::ranks::open(MPI_COMM_WORLD));
    t = GET(others.open_array("thrown.zarr", "r+"));
    try {
        auto u = old;
        const auto writing = others.iwrite(t, u.data(), u.size(), r);
        throw std::runtime_error("again");
    } catch (const std::runtime_error &) {
    }
    GET(others.close());
    GET(t.close());
    t = GET(m.open_array("thrown.zarr"));
    GET(m.read(t, found, r));
    CHECK(found == old);
    GET(m.close(t));
}
#endif

/* Calls of a start and a shape refuse all other regions by name, on all ranks; {} is all of an array. */
static void regions_of_boxes(ozarr::ranks &m) {
    const region r = mine(), all, none{{0, 0}, {0, columns}};
    const struct {
        region wrong;
        ozarr_status status;
        const char *word;
    } cases[] = {
        {{{0}, {columns}}, OZARR_ERR_RANK, "region's start"},
        {{r.start, {rows}}, OZARR_ERR_RANK, "region's shape"},
        {{r.start, r.shape, {1, 2}}, OZARR_ERR_UNSUPPORTED, "region.step[1] is 2"},
        {r.periodic({false, true}), OZARR_ERR_UNSUPPORTED, "region.periodic[1] is true"},
    };
    auto g = GET(m.create_group("boxes.zarr", ozarr::existing::overwrite));
    auto u = values(r, 1);
    GET(m.put(g, "u", {rows, columns}, u.data(), u.size(), r));
    auto a = GET(m.open_array(g, "u"));
    const auto refused = [&](ozarr_status found, ozarr_status status, const char *word) {
        CHECK(same_everywhere(ozarr_last_error()) && found == status && std::strstr(ozarr_last_error(), word) != nullptr);
    };
    for (const auto &c : cases) {
        const region &given = rank == ranks - 1 ? c.wrong : r;
        refused(failure([&] { return m.put(g, "v", {rows, columns}, u.data(), u.size(), given); }), c.status, c.word);
        refused(failure([&] { return m.get(g, "u", u.data(), u.size(), given); }), c.status, c.word);
        refused(failure([&] { return m.append(a, 0, 1, given, u.data(), u.size()); }), c.status, c.word);
    }
    refused(failure([&] { return m.append(a, 0, 1, all, u.data(), u.size()); }), OZARR_ERR_RANK, "region's start");
    CHECK(GET(a.shape()) == ozarr::index(rows, columns));
    GET(m.close(a));
    const auto whole = values({{0, 0}, {rows, columns}}, 2);
    std::vector<double> back(whole.size());
    GET(m.put(g, "v", {rows, columns}, whole.data(), rank == 0 ? whole.size() : 0, rank == 0 ? all : none));
    GET(m.get(g, "v", back.data(), back.size(), all));
    CHECK(back == whole);
    CHECK(failure([&] { return m.get(g, "v", back.data(), rank == ranks - 1 ? 1 : back.size(), all); }) == OZARR_ERR_BUFFER_SIZE);
    CHECK(failure([&] { return m.get(g, "w", back.data(), back.size(), all); }) == OZARR_ERR_NOT_FOUND);
    GET(m.close(g));
}

/* Steps of a dataset that rank 0 makes: from a vector, and from memory with ghost cells; a restart keeps two of them. */
static void steps(ozarr::ranks &m) {
    const region r = mine();
    const auto n = static_cast<std::size_t>(r.shape[0]);
    GET(m.once([]() -> ozarr::returned<void> {
        auto ds = GET(ozarr::dataset::create("steps.zarr"));
        GET(ds.define_dimension("y", rows));
        GET(ds.define_dimension("x", columns));
        GET(ds.define_time("time", 0, "seconds since 2026-01-01"));
        const std::vector<std::int64_t> chunks = {3, 8, columns};
        const char *const dims[] = {"time", "y", "x"};
        ozarr_variable v = OZARR_VARIABLE_INIT;
        v.type = OZARR_FLOAT64, v.rank = 3, v.dimensions = dims, v.chunks = chunks.data();
        GET(ozarr::detail::checked(ozarr_dataset_define_variable_ex(ds.get(), "u", &v, OZARR_CREATE_NEW, nullptr)));
        return ds.close();
    }));
    auto run = GET(ozarr::ranks_series::open(m, "steps.zarr", "time"));
    for (int step = 0; step < 4; step++) {
        std::vector<double> with_ghosts((n + 2) * (columns + 2), -1.0);
        for (std::size_t j = 0; j < n; j++)
            for (std::size_t i = 0; i < columns; i++) with_ghosts[(j + 1) * (columns + 2) + i + 1] = step;
        const double *inside = &with_ghosts[columns + 3];
        GET(run.put("u", r, ozarr::strided(inside, with_ghosts.size() - columns - 3, {columns + 2, 1})));
        GET(run.step(60 * step));
    }
    CHECK(GET(run.position()) == 4 && GET(run.published()) == 3);
    GET(run.flush());
    CHECK(GET(run.published()) == 4);
    GET(run.close());
    run = GET(ozarr::ranks_series::open(m, "steps.zarr", "time", 2));
    CHECK(GET(run.position()) == 2);
    const std::vector<double> u(n * columns, 7.0);
    CHECK(failure([&] { return run.put("u", {r.start, r.shape, {1, 2}}, u.data(), u.size()); }) == OZARR_ERR_UNSUPPORTED);
    CHECK(failure([&] { return run.put("u", r.periodic({false, true}), u.data(), u.size()); }) == OZARR_ERR_UNSUPPORTED);
    CHECK(failure([&] { return run.put("u", {r.start, r.shape, {1}}, u.data(), u.size()); }) == OZARR_ERR_RANK);
    CHECK(failure([&] { return run.put("u", {}, u.data(), u.size()); }) == OZARR_ERR_RANK);
    auto longer = u;
    if (rank == ranks - 1) longer.push_back(8);
    CHECK(failure([&] { return run.put("u", r, longer); }) == OZARR_ERR_BUFFER_SIZE && same_everywhere(ozarr_last_error()));
    CHECK(failure([&] { return run.put("u", r, ozarr::strided(u.data(), u.size(), {1})); }) == OZARR_ERR_RANK);
    GET(run.put("u", r, longer.data(), longer.size()));
    CHECK(failure([&] { return run.put("u", r, u.data(), u.size()); }) == OZARR_ERR_STATE);
    GET(run.step(120));
    GET(run.close());
    auto t = GET(m.open_array("steps.zarr/u"));
    std::vector<double> all;
    GET(m.read(t, all));
    CHECK(all.size() == 3 * rows * columns);
    for (std::size_t i = 0; i < all.size(); i++) CHECK(all[i] == std::vector<double>({0.0, 1.0, 7.0})[i / (rows * columns)]);
    GET(m.close(t));
}

/* What one rank closes while the others call something else is open on all of them, and can be closed then. */
static void ends_that_differ(ozarr::ranks &m) {
    if (ranks == 1) return;
    const auto refused = [&](ozarr::ranks &with, auto end) {
        const ozarr_status found = rank == 0 ? failure(end) : failure([&] { return with.agree(OZARR_OK); });
        CHECK(same_everywhere(ozarr_last_error()) && found == OZARR_ERR_ARGUMENT);
    };
    auto a = GET(m.create<double>("differ.zarr", {rows, columns}));
    refused(m, [&] { return m.close(a); });
    CHECK(a);
    GET(m.close(a));
    auto g = GET(m.create_group("differ-group.zarr"));
    refused(m, [&] { return m.close(g); });
    CHECK(g);
    GET(m.close(g));
    g = GET(m.begin_checkpoint("differ-states.zarr", "first"));
    refused(m, [&] { return m.abandon(g); });
    CHECK(g);
    GET(m.abandon(g));
    g = GET(m.begin_checkpoint("differ-states.zarr", "first"));
    refused(m, [&] { return m.commit(g); });
    CHECK(g);
    GET(m.commit(g));
    auto run = GET(ozarr::ranks_series::open(m, "steps.zarr", "time"));
    GET(run.step(1000));
    refused(m, [&] { return run.close(); });
    GET(run.close());
    a = GET(m.open_array("steps.zarr/u"));
    CHECK(GET(a.shape())[0] == 4);
    GET(m.close(a));
    auto others = GET(ozarr::ranks::open(MPI_COMM_WORLD));
    refused(others, [&] { return others.close(); });
    CHECK(others);
    GET(others.close());
    CHECK(!others);
}

int main(int argc, char **argv) {
    begin_ranks(&argc, &argv);
    {
        auto m = GET(ozarr::ranks::open(MPI_COMM_WORLD));
        GET(m.set("aggregators", "2"));
        regions(m);
        nodes(m);
        failures_of_one(m);
        replaced(m);
#ifndef OZARR_NO_EXCEPTIONS
        exceptions_meanwhile(m);
#endif
        regions_of_boxes(m);
        steps(m);
        ends_that_differ(m);
        GET(m.agree(OZARR_OK));
        GET(m.close());
        CHECK(failure([] { return ozarr::ranks::open(MPI_COMM_NULL); }) == OZARR_ERR_ARGUMENT);
        auto left = GET(ozarr::ranks::open(MPI_COMM_WORLD)); /* closed by its destructor */
    }
    return end_ranks();
}
