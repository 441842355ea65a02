// ozarr.hpp with exceptions: arrays, every way of reading and writing, and what goes wrong.
#define I 1i // as <complex.h> defines it: the header must not mind
#include <ozarr.hpp>
#undef I

#include "throws.h"

#include <array>
#include <numeric>
#include <thread>

static_assert(!std::is_copy_constructible_v<ozarr::array> && std::is_nothrow_move_constructible_v<ozarr::array>);
static_assert(!std::is_copy_constructible_v<ozarr::spec> && std::is_nothrow_move_constructible_v<ozarr::group>);
static_assert(ozarr::type_of<long>::value == ozarr::type::int64 && ozarr::type_of<unsigned char>::value == ozarr::type::uint8);
static_assert(ozarr::type_of<short>::value == ozarr::type::int16 && ozarr::type_of<unsigned>::value == ozarr::type::uint32);

enum { ROWS = 6, COLUMNS = 4 };
enum class strict { one = 1 };
static_assert(!std::is_constructible_v<ozarr::index, strict> && !std::is_constructible_v<ozarr::index, double>);

static std::vector<double> counted(std::size_t n) {
    std::vector<double> v(n);
    std::iota(v.begin(), v.end(), 0.0);
    return v;
}

static void enumerators_are_lengths() {
    auto t = ozarr::array::create<double>("memory:", {ROWS, COLUMNS}, {ROWS / 2, COLUMNS});
    t.write(counted(COLUMNS), {{3, 0}, {1, COLUMNS}});
    CHECK(t.read<double>({{3, 0}, {1, COLUMNS}}) == counted(COLUMNS));
    const decltype(ROWS) list[] = {ROWS, COLUMNS};
    CHECK((t.shape() == ozarr::index(list, 2)) && (t.shape() == ozarr::index{ROWS, 4L}) && (t.shape() == std::vector{ROWS, COLUMNS}));
}

static void vectors_go_in_and_out() {
    auto t = ozarr::array::create<double>("run.zarr/t", {4, 3, 5}, {2, 3, 5});
    std::vector<double> all = counted(60);
    t.write(all);
    CHECK(t.read<double>() == all);
    CHECK((t.read<double>({{1, 0, 2}, {1, 2, 2}}) == std::vector<double>{17, 18, 22, 23}));
    CHECK((t.read<double>({{3, 2, 4}, {2, 1, 3}, {-2, 1, -2}}) == std::vector<double>{59, 57, 55, 29, 27, 25}));
    CHECK((t.read<std::int16_t>({{0, 1, 0}, {1, 1, 3}}) == std::vector<std::int16_t>{5, 6, 7}));
    std::vector<float> out(1000);
    t.read(out, {{0, 0, 0}, {1, 1, 5}});
    CHECK((out == std::vector<float>{0, 1, 2, 3, 4}));
    t.write(std::vector<int>{-1, -2}, {{0, 0, 0}, {1, 1, 2}, {1, 1, 4}});
    CHECK((t.read<double>({{0, 0, 0}, {1, 1, 5}}) == std::vector<double>{-1, 1, 2, 3, -2}));
    CHECK((t.shape() == ozarr::index{4, 3, 5}) && (t.chunk_shape() == ozarr::index{2, 3, 5}) && t.rank() == 3);
    CHECK(t.type() == ozarr::type::float64 && t.item_size() == 8 && t.zarr_format() == 3 && t.path() == "t");
    t.close();
    CHECK(ozarr::array::open("run.zarr/t").read<double>().size() == 60);
}

static void lists_of_elements() {
    auto t = ozarr::array::create<double>("run.zarr/lists", {4, 3, 5}, {2, 3, 5});
    t.write(counted(60));
    CHECK((t.read_points<int>({0, 0, 1, 3, 2, 4, 0, 0, 1}) == std::vector<int>{1, 59, 1}));
    CHECK((t.read_orthogonal<double>({{{3, 0}}, {{1}}, std::nullopt}) == std::vector<double>{50, 51, 52, 53, 54, 5, 6, 7, 8, 9}));
    CHECK(t.read_orthogonal<double>({{{3, 0}}, std::vector<std::int64_t>{}, std::nullopt}).empty());
    CHECK((t.read_mask<float>({1, 0, 0, 1}, {{0, 0, 0}, {2, 2, 1}}) == std::vector<float>{0, 20}));
    t.write_points({0, 0, 1}, std::vector<float>{-1.5f});
    t.write_orthogonal({{{3}}, {{2}}, {{4, 3}}}, std::vector<int>{-2, -3});
    t.write_mask({0, 1}, std::vector<double>{-4}, {{1, 1, 1}, {1, 1, 2}});
    CHECK((t.read_points<double>({0, 0, 1, 3, 2, 4, 3, 2, 3, 1, 1, 2}) == std::vector<double>{-1.5, -2, -3, -4}));
    t.fill(7, {{0, 0, 0}, {1, 1, 5}});
    CHECK((t.read<int>({{0, 0, 0}, {1, 1, 5}}) == std::vector<int>{7, 7, 7, 7, 7}));
    auto flags = ozarr::store::memory().create_array("b", ozarr::spec::of<bool>({2}));
    flags.fill(true);
    CHECK((flags.read<std::uint8_t>() == std::vector<std::uint8_t>{1, 1}));
    t.fill(2.5);
    CHECK((t.read_points<double>({2, 2, 2}) == std::vector<double>{2.5}));
    THROWS(OZARR_ERR_BOUNDS, "point 0, dimension 1", t.read_points<double>({0, 3, 0}));
    THROWS(OZARR_ERR_ARGUMENT, "multiple", t.read_points<double>({0, 3}));
    THROWS(OZARR_ERR_RANK, "the selection has 1 lists, expected 3", t.read_orthogonal<double>({{{0}}}));
    THROWS(OZARR_ERR_ARGUMENT, "mask of 3 bytes", t.read_mask<double>({0, 1, 1}));
    THROWS(OZARR_ERR_ARGUMENT, "steps", t.read_mask<double>({1}, {{0, 0, 0}, {1, 1, 1}, {1, 1, 2}}));
    THROWS(OZARR_ERR_BUFFER_SIZE, "", t.write_points({0, 0, 1, 0, 0, 2}, std::vector<double>{1}));
    THROWS(OZARR_ERR_BUFFER_SIZE, "found 3 elements, expected 2", t.write_points({0, 0, 1, 0, 0, 2}, std::vector<double>{1, 2, 3}));
    THROWS(OZARR_ERR_BUFFER_SIZE, "found 3 elements, expected 2", t.write_orthogonal({{{3}}, {{2}}, {{4, 3}}}, std::vector<int>{-2, -3, -4}));
    THROWS(OZARR_ERR_BUFFER_SIZE, "found 2 elements, expected 1", t.write_mask({0, 1}, std::vector<double>{-4, 5}, {{1, 1, 1}, {1, 1, 2}}));
}

static void longer_vectors_are_refused() {
    auto g = ozarr::group::create("longer.zarr");
    auto t = g.create_array("t", ozarr::spec::of<double>({4, 5}));
    auto times = g.create_array("times", ozarr::spec(ozarr::dtype::parse("<M8[s]"), {2}));
    const auto more = counted(21), line = counted(5);
    const ozarr::region row{{1, 0}, {1, 5}}, none{{4, 0}, {0, 5}}, negative{{1, 0}, {1, -5}};
    const ozarr::request_options copied = [] {
        ozarr::request_options o;
        o.copy = true;
        return o;
    }();
    THROWS(OZARR_ERR_BUFFER_SIZE, "found 21 elements, expected 20", t.write(more));
    THROWS(OZARR_ERR_BUFFER_SIZE, "found 21 elements, expected 5", t.write(more, row));
    THROWS(OZARR_ERR_BUFFER_SIZE, "found 5 elements, expected 3", t.write(line, {{1, 0}, {1, 3}, {1, 2}}));
    THROWS(OZARR_ERR_BUFFER_SIZE, "found 5 elements, expected 0", t.write(line, none));
    THROWS(OZARR_ERR_BUFFER_SIZE, "found 21 elements, expected 5", t.iwrite(more, row));
    THROWS(OZARR_ERR_BUFFER_SIZE, "found 21 elements, expected 5", t.iwrite(counted(21), row, copied));
    THROWS(OZARR_ERR_BUFFER_SIZE, "found 21 elements, expected 20", t.write_packed(more));
    THROWS(OZARR_ERR_BUFFER_SIZE, "found 3 elements, expected 2", times.write_times("hours since 2026-01-01", {1, 2, 3}));
    THROWS(OZARR_ERR_BUFFER_SIZE, "found 21 elements, expected 20", g.put("u", {4, 5}, more));
    THROWS(OZARR_ERR_RANK, "region", t.write(more, {{0}, {5}}));
    THROWS(OZARR_ERR_BUFFER_SIZE, "", t.write(line));
    THROWS(OZARR_ERR_BOUNDS, "", t.write(more, negative));
    CHECK(t.info().chunks == 0 && g.children().size() == 2);
    /* A pointer and a size are memory that is large enough. */
    t.write(more.data(), more.size(), row);
    t.write(line, row);
    t.write(std::vector<double>(), none);
    g.put("u", {4, 5}, counted(20));
    g.put("v", {1, 5}, more.data(), more.size());
    CHECK(t.read<double>(row) == line);
}

static void texts_are_strings() {
    auto t = ozarr::array::create<std::string>("run.zarr/names", {2, 3});
    CHECK(t.type() == ozarr::type::string && t.item_size() == 0);
    t.write(std::vector<std::string>{"a", "", "Zürich", std::string("n\0l", 3), "b", "c"});
    CHECK((t.read<std::string>({{0, 2}, {2, 1}}) == std::vector<std::string>{"Zürich", "c"}));
    t.write(std::vector<std::string>{"x", "y"}, {{1, 1}, {1, 2}});
    CHECK((t.read<std::string>() == std::vector<std::string>{"a", "", "Zürich", std::string("n\0l", 3), "x", "y"}));
    THROWS(OZARR_ERR_BUFFER_SIZE, "expected 6", t.write(std::vector<std::string>{"a"}));
    t.append(std::vector<std::string>{"p", "q"}, 1);
    CHECK((t.read<std::string>({{0, 2}, {2, 2}}) == std::vector<std::string>{"Zürich", "p", "y", "q"}));
    THROWS(OZARR_ERR_BUFFER_SIZE, "multiple of 2", t.append(std::vector<std::string>{"r"}, 1));
    t.resize({2, 3});
    THROWS(OZARR_ERR_RANGE, "UTF-8", t.write(std::vector<std::string>{"\xff"}, {{0, 0}, {1, 1}}));
    THROWS(OZARR_ERR_TYPE, "variable length", t.read<double>());
    THROWS(OZARR_ERR_BOUNDS, "dimension 1", t.read<std::string>({{0, 2}, {1, 2}}));
    THROWS(OZARR_ERR_RANK, "region", t.read<std::string>({{0}, {1}}));
}

static void pointers_have_sizes_and_strides() {
    auto t = ozarr::array::create("run.zarr/p", ozarr::type::int32, {2, 3});
    const int rows[6] = {1, 2, 3, 4, 5, 6};
    t.write(rows, 6);
    int halo[4][5] = {};
    t.read(ozarr::strided<int>(&halo[0][0], 20, {5, 1}, 6));
    CHECK(halo[1][1] == 1 && halo[1][3] == 3 && halo[2][3] == 6 && halo[0][1] == 0 && halo[1][4] == 0);
    int columns[6];
    t.read(ozarr::strided(columns, 6, {1, 2}));
    CHECK(columns[0] == 1 && columns[1] == 4 && columns[2] == 2 && columns[5] == 6);
    t.write(ozarr::strided<const int>(rows, 6, {-3, -1}, 5));
    CHECK((t.read<int>() == std::vector<int>{6, 5, 4, 3, 2, 1}));
    const int seven = 7;
    t.write(ozarr::strided<const int>(&seven, 1, {0, 0}), {{0, 1}, {2, 2}});
    CHECK((t.read<int>() == std::vector<int>{6, 7, 7, 3, 7, 7}));
    int few[5];
    THROWS(OZARR_ERR_BUFFER_SIZE, "", t.read(few, 5));
    THROWS(OZARR_ERR_RANK, "strides", t.read(ozarr::strided(columns, 6, {1})));
    THROWS(OZARR_ERR_BUFFER_SIZE, "", t.read(ozarr::strided(columns, 6, {3, 1}, 1)));
    THROWS(OZARR_ERR_BOUNDS, "stride", t.read(ozarr::strided(columns, 6, {INT64_MAX, 1})));
#ifdef __cpp_lib_span
    std::array<int, 6> six{};
    t.read(std::span(six));
    CHECK(six[0] == 6 && six[5] == 7);
    t.write(std::span<const int>(six).first(3), {{1, 0}, {1, 3}});
    t.write(std::span(six).last<1>(), {{0, 0}, {1, 1}});
    CHECK((t.read<int>() == std::vector<int>{7, 7, 7, 6, 7, 7}));
#endif
}

static void every_type_and_rank() {
    auto store = ozarr::store::memory();
    auto b = store.create_array("b", ozarr::spec::of<bool>({3}));
    const bool bits[3] = {true, false, true};
    b.write(bits, 3);
    CHECK((b.read<std::uint8_t>() == std::vector<std::uint8_t>{1, 0, 1}));
    auto c = store.create_array("c", ozarr::spec::of<std::complex<double>>({2}).fill_value(std::complex<double>(1, -1)));
    c.write(std::vector<std::complex<float>>{{2, 3}}, {{1}, {1}});
    CHECK((c.read<std::complex<double>>() == std::vector<std::complex<double>>{{1, -1}, {2, 3}}));
    CHECK(c.fill_value<std::complex<double>>() == std::complex<double>(1, -1));
    THROWS(OZARR_ERR_TYPE, "", c.fill_value<double>());
    THROWS(OZARR_ERR_TYPE, "", c.read<double>());
    auto scalar = store.create_array("s", ozarr::spec::of<float>({}));
    scalar.write(std::vector<float>{2.5F});
    CHECK((scalar.read<float>() == std::vector<float>{2.5F}) && scalar.rank() == 0 && scalar.shape().empty());
    std::vector<std::int64_t> ones(64, 1);
    auto high = store.create_array("h", ozarr::spec::of<int>(ones));
    high.write(std::vector<int>{9});
    CHECK((high.read<int>({ozarr::index::zeros(64), ones}) == std::vector<int>{9}));
    ones.push_back(1);
    THROWS(OZARR_ERR_RANK, "65", ozarr::spec::of<int>(ones));
    THROWS(OZARR_ERR_RANK, "65", ozarr::array::create<int>("run.zarr/high", ones));
    THROWS(OZARR_ERR_RANK, "65", high.read<int>({ones, ones}));
}

// A start of 0 in a list is a number, not a null pointer.
static void regions_of_rank_one() {
    auto a = ozarr::array::create("line.zarr", ozarr::spec::of<int>({9}));
    a.write(std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8});
    CHECK((a.read<int>({{0}, {5}, {2}}) == std::vector<int>{0, 2, 4, 6, 8}));
    int spread[6] = {-1, -1, -1, -1, -1, -1};
    a.read(ozarr::strided(spread, 6, {2}, 1), {{0}, {3}});
    CHECK(spread[0] == -1 && spread[1] == 0 && spread[3] == 1 && spread[5] == 2);
}

static void empty_arrays_and_regions() {
    auto t = ozarr::array::create<double>("run.zarr/empty", {0, 3}, {2, 3});
    CHECK(t.read<double>().empty());
    t.write(std::vector<double>{});
    t.append(counted(6));
    t.append(counted(3));
    CHECK((t.shape() == ozarr::index{3, 3}));
    CHECK((t.read<double>({{1, 0}, {2, 3}}) == std::vector<double>{3, 4, 5, 0, 1, 2}));
    CHECK(t.read<double>({{3, 0}, {0, 3}}).empty());
    THROWS(OZARR_ERR_BUFFER_SIZE, "multiple of 3", t.append(counted(4)));
    t.resize({1, 3});
    CHECK(t.read<double>().size() == 3);
    THROWS(OZARR_ERR_RANK, "shape", t.resize({1}));
    THROWS(OZARR_ERR_BOUNDS, "`dim` is 5", t.append(counted(3), 5));
    THROWS(OZARR_ERR_BOUNDS, "`dim` is 2", t.append(counted(4), 2));
}

static void steps() {
    auto a = ozarr::array::create<double>("run.zarr/steps", {0, 3}, {2, 3});
    auto reader = ozarr::array::open("run.zarr/steps");
    auto out = ozarr::appender::open(a);
    out.append(std::vector<double>{0, 1, 2});
    CHECK(out.position() == 1 && out.published() == 0);
    THROWS(OZARR_ERR_TIMEOUT, "expected more than 0", reader.wait_growth(0, 0, 0.001));
    out.append(std::vector<double>{3, 4, 5, 6, 7, 8});
    CHECK(out.published() == 2 && reader.wait_growth(0, 0, 1) == 2);
    THROWS(OZARR_ERR_BUFFER_SIZE, "multiple of 3", out.append(std::vector<double>{1}));
    out.close();
    reader.refresh();
    CHECK((reader.read<double>() == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
    THROWS(OZARR_ERR_LIMIT, "48", ozarr::appender::open(a, 0, 0, 47));
}

static void specifications() {
    auto s = ozarr::spec::of<float>({0, 720, 1440});
    s.chunks({1, 720, 1440}).inner_chunks({1, 72, 144}).compressor("zstd", 5).dimension_names({"time", "lat", "lon"}).fill_value(-1.0);
    auto rain = ozarr::array::create("run.zarr/rain", s);
    CHECK((rain.dimension_names() == std::vector<std::string>{"time", "lat", "lon"}));
    CHECK((rain.inner_chunk_shape() == ozarr::index{1, 72, 144}) && rain.fill_value<float>() == -1);
    // An empty name is none, as dimension_names() gives it and set_dimension_names takes it.
    auto part = ozarr::store::memory().create_array("part", ozarr::spec::of<float>({4, 4}).dimension_names({"", "x"}));
    CHECK(part.metadata().find("[null, \"x\"]") != std::string::npos || part.metadata().find("[null,\"x\"]") != std::string::npos);
    CHECK(ozarr::spec::of<float>({4, 4}).dimension_names(part.dimension_names()).to_json().find("\"\"") == std::string::npos);
    auto uneven = ozarr::array::create("run.zarr/uneven", ozarr::spec::of<float>({10, 6}).chunks({4, 3}).chunk_extents(0, {4, 3, 3}));
    CHECK((uneven.grid_shape() == ozarr::index{3, 2}) && (uneven.chunk_extent(0, 2) == std::pair<std::int64_t, std::int64_t>{7, 3}));
    auto again = ozarr::array::create("run.zarr/rain2", ozarr::spec::from_json(rain.metadata()));
    CHECK(again.metadata() == rain.metadata());
    auto sized = ozarr::array::create<float>("run.zarr/rain", {0, 720, 1440}, {}, ozarr::existing::overwrite);
    CHECK(sized.read<float>().empty());
    THROWS(OZARR_ERR_RANK, "chunk shape", s.chunks({1, 2}));
    THROWS(OZARR_ERR_RANK, "names", s.dimension_names({"a"}));
    THROWS(OZARR_ERR_STATE, "document", ozarr::spec::from_json(rain.metadata()).chunks({1, 2, 3}));
    THROWS(OZARR_ERR_RANK, "chunk shape", ozarr::array::create<int>("run.zarr/x", {3}, {1, 1}));
    THROWS(OZARR_ERR_METADATA, "", ozarr::spec::from_json(R"({"zarr_format": 3, "node_type": "array"})"));
    THROWS(OZARR_ERR_ARGUMENT, "", ozarr::spec::from_json("{"));
}

static void failures_say_what_and_where() {
    auto t = ozarr::array::create<double>("run.zarr/f", {4, 4});
    THROWS(OZARR_ERR_BOUNDS, "", t.read<double>({{0, 0}, {5, 1}}));
    THROWS(OZARR_ERR_BOUNDS, "", t.read<double>({{0, 0}, {INT64_MAX, INT64_MAX}}));
    THROWS(OZARR_ERR_BOUNDS, "", t.read<double>({{-1, 0}, {1, 1}}));
    THROWS(OZARR_ERR_BOUNDS, "-1", t.read<double>({{0, 0}, {-1, 1}}));
    THROWS(OZARR_ERR_RANK, "start has 1 numbers, expected 2", t.read<double>({0, 4}));
    THROWS(OZARR_ERR_RANK, "step", t.read<double>({{0, 0}, {1, 1}, {1}}));
    THROWS(OZARR_ERR_RANGE, "", t.write(std::vector<double>(16, 1e9)), t.read<std::int8_t>());
    THROWS(OZARR_ERR_EXISTS, "run.zarr", ozarr::array::create<double>("run.zarr/f", {1}));
    THROWS(OZARR_ERR_READ_ONLY, "", ozarr::array::open("run.zarr/f").write(std::vector<double>(16)));
    THROWS(OZARR_ERR_NULL, "", ozarr::array().read<double>());
    // What it says first: an array of this size fits no memory.
    auto huge = ozarr::store::memory().create_array("t", ozarr::spec::of<double>({1000000, 10000000000}).chunks({1000, 1000}));
    std::vector<double> none;
    THROWS(OZARR_ERR_RANK, "start has 1 numbers, expected 2", huge.read<double>({{0}, {1}}));
    THROWS(OZARR_ERR_RANK, "shape has 3 numbers, expected 2", huge.read(none, {{0, 0}, {1, 1, 1}}));
    THROWS(OZARR_ERR_RANK, "start has 3 numbers, expected 2", huge.read_unpacked<double>({{0, 0, 0}, {1, 1, 1}}));
    THROWS(OZARR_ERR_RANK, "step", huge.read_times("days since 2026-01-01", {{0, 0}, {1, 1}, {1}}));
    CHECK(none.capacity() == 0);
    auto moved = std::move(t);
    CHECK(!t && moved && moved.rank() == 2);
    THROWS(OZARR_ERR_NULL, "", t.flush());
    moved.close();
    THROWS(OZARR_ERR_NULL, "", moved.read<double>());
    const std::string broken = R"({"zarr_format":3,"node_type":"array","shape":[4.5]})";
    put_file("run.zarr/f/zarr.json", broken.data(), broken.size());
    try {
        ozarr::array::open("run.zarr/f");
        FAIL("nothing was thrown");
    } catch (const std::exception &any) {
        const auto &e = dynamic_cast<const ozarr::error &>(any);
        EQUAL(e.status(), OZARR_ERR_METADATA);
        TEXT(e.name(), "OZARR_ERR_METADATA");
        CHECK(e.key().find("zarr.json") != std::string::npos && e.os_errno() == 0);
    }
}

// Lengths whose product cannot be counted, and arrays that no memory holds.
static void counts_do_not_overflow() {
    auto m = ozarr::store::memory();
    const std::int64_t half = std::int64_t(1) << 32;
    auto none = m.create_array("none", ozarr::spec::of<float>({half, half, 0}).chunks({1 << 10, 1 << 10, 1}));
    CHECK(none.read<float>().empty() && none.read_orthogonal<float>({std::nullopt, std::nullopt, std::nullopt}).empty());
    auto huge = m.create_array("huge", ozarr::spec::of<float>({half, half / 2 - 1}).chunks({1 << 10, 1 << 10}));
    THROWS(OZARR_ERR_NO_MEMORY, "", huge.read<float>());
    THROWS(OZARR_ERR_NO_MEMORY, "", huge.read<float>(ozarr::region({0, 0}, {half, half}).periodic({true, true})));
    THROWS(OZARR_ERR_NO_MEMORY, "", huge.read_orthogonal<float>({std::nullopt, std::nullopt}));
    THROWS(OZARR_ERR_NO_MEMORY, "", huge.write_orthogonal({std::nullopt, std::nullopt}, std::vector<float>()));
}

static void threads_share_an_array() {
    auto t = ozarr::store::memory().create_array("t", ozarr::spec::of<int>({8, 1000}).chunks({1, 1000}));
    std::vector<std::thread> threads;
    for (int k = 0; k < 8; k++) threads.emplace_back([&t, k] { t.write(std::vector<int>(1000, k), {{k, 0}, {1, 1000}}); });
    for (auto &thread : threads) thread.join();
    for (int k = 0; k < 8; k++) CHECK((t.read<int>({{k, 999}, {1, 1}}) == std::vector<int>{k}));
}

struct particle {
    double x;
    std::int16_t id;
    float v[3];
    char name[4];
};

static void structs_by_their_members() {
    auto d = ozarr::dtype::struct_of<particle>();
    d.field("x", &particle::x).field("id", &particle::id).field("v", &particle::v);
    d.field("name", &particle::name, ozarr::dtype::chars(4));
    TEXT(d.to_json(2).c_str(), "[[\"x\",\"<f8\"],[\"id\",\"<i2\"],[\"v\",\"<f4\",[3]],[\"name\",\"|S4\"]]");
    ozarr::spec s(d, {4});
    s.zarr_format(2).chunks({3});
    auto a = ozarr::array::create("structs.zarr", s);
    const particle in[4] = {{1.5, 1, {1, 2, 3}, "a"}, {2.5, 2, {}, "bc"}, {3.5, 3, {}, ""}, {4.5, 4, {7, 8, 9}, "def"}};
    particle out[4] = {};
    a.write(d, in, 4);
    a.read(d, out, 4);
    for (int i = 0; i < 4; i++) CHECK(out[i].x == in[i].x && out[i].v[1] == in[i].v[1] && std::string(out[i].name) == in[i].name);
    std::int64_t ids[4];
    a.read_field("id", ids, 4);
    CHECK(ids[3] == 4);
    float second[4];
    a.read_field("v[1]", second, 4);
    CHECK(second[0] == 2 && second[1] == 0 && second[3] == 8);
    const double x[2] = {-1, -2};
    a.write_field("x", x, 2, {{1}, {2}});
    a.read(d, out, 4);
    CHECK(out[0].x == 1.5 && out[1].x == -1 && out[2].x == -2 && out[3].x == 4.5 && out[3].id == 4);
    EQUAL(a.data_type().item_size(), 26);
    auto more = ozarr::appender::open(a);
    more.append(d, in, 3, 3);
    more.append(d, in + 3, 1);
    THROWS(OZARR_ERR_BUFFER_SIZE, "", more.append(d, in, 1, 2));
    THROWS(OZARR_ERR_TYPE, "elements of 3 bytes", more.append(d, reinterpret_cast<const char(*)[3]>(in), 1));
    more.close();
    EQUAL(a.shape()[0], 8);
    a.read(d, out, 4, {{4}, {4}});
    for (int i = 0; i < 4; i++) CHECK(out[i].x == in[i].x && out[i].v[1] == in[i].v[1] && std::string(out[i].name) == in[i].name);
    THROWS(OZARR_ERR_ARGUMENT, "\"x\"", d.field("x", &particle::id));
}

struct named {
    std::int32_t id;
};
struct weighed {
    double weight;
};
struct charged : named, weighed {
    float charge;
};

// A member that a struct has from its bases lies elsewhere in the base.
static void structs_with_bases() {
    auto d = ozarr::dtype::struct_of<charged>();
    d.field<charged>("weight", &charged::weight).field<charged>("id", &charged::id).field("charge", &charged::charge);
    THROWS(OZARR_ERR_ARGUMENT, "another class", d.field("other", &charged::weight));
    THROWS(OZARR_ERR_ARGUMENT, "another class", d.field("other", &particle::x));
    THROWS(OZARR_ERR_ARGUMENT, "another class", d.field<weighed>("other", &charged::weight));
    TEXT(d.to_json(3).c_str(), ozarr::dtype::parse("[[\"weight\",\"<f8\"],[\"id\",\"<i4\"],[\"charge\",\"<f4\"]]").to_json(3).c_str());
    auto a = ozarr::store::memory().create_array("a", ozarr::spec(d, {1}));
    charged in;
    in.id = 7, in.weight = 2.5, in.charge = -1;
    a.write(d, &in, 1);
    double weight = 0;
    a.read_field("weight", &weight, 1);
    CHECK(weight == 2.5);
}

struct wide {
    float grid[2][3];
    char words[2][8];
    char letters[4];
    float one[1];
    std::int32_t last;
};

static void arrays_in_structs() {
    auto d = ozarr::dtype::struct_of<wide>();
    d.field("grid", &wide::grid).field("words", &wide::words, ozarr::dtype::chars(8));
    d.field("letters", &wide::letters, ozarr::dtype::chars(1)).field("one", &wide::one);
    TEXT(d.to_json(2).c_str(), "[[\"grid\",\"<f4\",[2,3]],[\"words\",\"|S8\",[2]],[\"letters\",\"|S1\",[4]],[\"one\",\"<f4\"]]");
    // Whatever is not of the member's size would be read over its neighbours, or leave a part of it.
    auto e = ozarr::dtype::struct_of<wide>();
    THROWS(OZARR_ERR_TYPE, "\"last\": the member has 4 bytes", e.field("last", &wide::last, ozarr::dtype::of<std::int16_t>()));
    THROWS(OZARR_ERR_TYPE, "8 bytes", e.field("last", &wide::last, ozarr::dtype::of<double>()));
    THROWS(OZARR_ERR_TYPE, "\"letters\"", e.field("letters", &wide::letters, ozarr::dtype::chars(8)));
    THROWS(OZARR_ERR_TYPE, "\"words\"", e.field("words", &wide::words, ozarr::dtype::chars(5)));
    THROWS(OZARR_ERR_TYPE, "\"grid\"", e.field("grid", &wide::grid, ozarr::dtype::of<double>()));
}

// Elements that lie in memory otherwise than the data type says.
static void elements_of_another_size() {
    auto d = ozarr::dtype::struct_of<named>();
    d.field("id", &named::id);
    auto a = ozarr::store::memory().create_array("a", ozarr::spec(d, {2}));
    charged others[2] = {};
    THROWS(OZARR_ERR_TYPE, "elements of 24 bytes", a.write(d, others, 2));
    THROWS(OZARR_ERR_TYPE, "elements of 24 bytes", a.read(d, others, 2));
    // Bytes, and parts of an element.
    const named in[2] = {{1}, {2}};
    a.write(d, reinterpret_cast<const unsigned char *>(in), sizeof in);
    std::int16_t parts[4] = {};
    a.read(d, parts, 4);
    named out[2] = {};
    a.read(d, out, 2);
    CHECK(out[0].id == 1 && out[1].id == 2 && (parts[0] == 1 || parts[1] == 1));
}

// Fields whose type could not be made are not left out.
static void types_that_failed() {
    auto d = ozarr::dtype::struct_of<particle>();
    auto away = ozarr::dtype::of<double>();
    const auto here = std::move(away);
    THROWS(OZARR_ERR_NULL, "\"x\"", d.field("x", &particle::x, away));
    auto moved = std::move(d);
    THROWS(OZARR_ERR_NULL, "\"x\"", d.field("x", &particle::x, here));
    CHECK(moved.field("x", &particle::x, here).to_json(2) == "[[\"x\",\"<f8\"]]");
}

static void requests_go_on_by_themselves() {
    auto t = ozarr::store::memory().create_array("t", ozarr::spec::of<int>({8, 1000}).chunks({1, 1000}));
    std::vector<int> in(8000, 5), out(8000);
    auto write = t.iwrite(in.data(), in.size());
    auto read = t.iread(out.data(), out.size());
    while (!write.test()) std::this_thread::yield();
    read.wait();
    CHECK(out == in);
    {
        std::vector<int> gone(1000, 7);
        ozarr::request_options options;
        options.copy = true;
        write = t.iwrite(gone, {{3, 0}, {1, 1000}}, options);
    }
    write.wait_for(60);
    CHECK((t.read<int>({{3, 999}, {1, 1}}) == std::vector<int>{7}));
    read = t.iread(out.data(), out.size());
    read.cancel();
    try {
        t.iread(out.data(), 1);
        FAIL("nothing was thrown");
    } catch (const ozarr::error &e) {
        EQUAL(e.status(), OZARR_ERR_BUFFER_SIZE);
    }
}

// A block with ghost cells of a periodic field, in one call.
static void reads_around_the_ends() {
    auto a = ozarr::array::create<int>("periodic.zarr", {4, 5}, {2, 2}, ozarr::existing::overwrite);
    std::vector<int> all(20);
    for (int i = 0; i < 20; i++) all[static_cast<std::size_t>(i)] = i;
    a.write(all);
    const auto block = a.read<int>(ozarr::region({-1, 3}, {3, 3}).periodic({true, true}));
    const std::vector<int> expected = {18, 19, 15, 3, 4, 0, 8, 9, 5};
    CHECK(block == expected);
    // More than the array has, in a vector that gets its size.
    const auto more = a.read<int>(ozarr::region({-1, -1}, {6, 7}).periodic({true, true}));
    CHECK(more.size() == 42 && more[0] == 19 && more[8] == 0 && more[41] == 0);
    THROWS(OZARR_ERR_BOUNDS, "dimension 1", a.read<int>(ozarr::region({-1, 0}, {6, 7}).periodic({true, false})));
    THROWS(OZARR_ERR_RANK, "periodic", a.read<int>(ozarr::region({0, 0}, {1, 1}).periodic({true})));
}

int main() {
    reads_around_the_ends();
    requests_go_on_by_themselves();
    structs_by_their_members();
    structs_with_bases();
    arrays_in_structs();
    types_that_failed();
    elements_of_another_size();
    enumerators_are_lengths();
    vectors_go_in_and_out();
    lists_of_elements();
    longer_vectors_are_refused();
    texts_are_strings();
    pointers_have_sizes_and_strides();
    every_type_and_rank();
    regions_of_rank_one();
    empty_arrays_and_regions();
    steps();
    specifications();
    failures_say_what_and_where();
    counts_do_not_overflow();
    threads_share_an_array();
    return finish();
}
