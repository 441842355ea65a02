// ozarr.hpp: datasets, what numbers mean, requests, mdspans, parallel programs, copies, contexts and logs.
#include <ozarr.hpp>

#include "throws.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <thread>

// Whether a call compiles with arguments of these types.
template <class... Args>
constexpr auto reads(int) -> decltype(std::declval<ozarr::array &>().iread(std::declval<Args>()...), bool()) { return true; }
template <class... Args>
constexpr bool reads(long) { return false; }
template <class... Args>
constexpr auto writes(int) -> decltype(std::declval<ozarr::array &>().iwrite(std::declval<Args>()...), bool()) { return true; }
template <class... Args>
constexpr bool writes(long) { return false; }

// The memory of a request outlives the call.
using doubles = std::vector<double>;
static_assert(reads<doubles &>(0) && reads<doubles &, ozarr::region>(0) && reads<ozarr::strided<double>>(0));
static_assert(!reads<doubles>(0) && !reads<doubles, ozarr::region>(0) && !reads<doubles, ozarr::region, ozarr::request_options>(0));
static_assert(writes<doubles &>(0) && writes<const doubles &, ozarr::region>(0) && writes<ozarr::strided<const double>>(0));
static_assert(!writes<doubles>(0) && !writes<doubles, ozarr::region>(0) && writes<doubles, ozarr::region, ozarr::request_options>(0));
static_assert(!writes<const doubles>(0) && !writes<const doubles, ozarr::region>(0));
#ifdef __cpp_lib_span
static_assert(reads<std::span<double>>(0) && writes<std::span<const double>>(0));
#endif

static std::vector<double> counted(std::size_t n) {
    std::vector<double> v(n);
    std::iota(v.begin(), v.end(), 0.0);
    return v;
}

// What std::mdspan is, as far as ozarr.hpp looks at it; and a two-dimensional one with any strides.
template <class T, std::size_t Rank>
class plain_mdspan {
public:
    struct extents_type {
        static constexpr std::size_t rank() { return Rank; }
        std::array<std::size_t, Rank> all;
        std::size_t extent(std::size_t d) const { return all[d]; }
    };
    struct mapping_type {
        std::size_t size;
        std::array<std::size_t, Rank> strides;
        std::size_t required_span_size() const { return size; }
        template <std::size_t R = Rank, class = std::enable_if_t<(R > 0)>>
        std::size_t stride(std::size_t d) const {
            return strides[d];
        }
    };
    using element_type = T;
    using reference = T &;
    plain_mdspan(T *data, std::array<std::size_t, Rank> extents, std::array<std::size_t, Rank> strides) : data_(data), extents_{extents}, strides_(strides) {}
    T *data_handle() const { return data_; }
    const extents_type &extents() const { return extents_; }
    std::size_t stride(std::size_t d) const { return mapping().stride(d); }
    mapping_type mapping() const {
        std::size_t size = 1;
        for (std::size_t d = 0; d < Rank; d++) size += (extents_.all[d] - 1) * strides_[d];
        return {size, strides_};
    }

private:
    T *data_;
    extents_type extents_;
    std::array<std::size_t, Rank> strides_;
};

// Its elements are not what is in the memory: such as std::linalg::scaled gives it.
struct computed_mdspan : plain_mdspan<double, 1> {
    using reference = double;
};
static_assert(writes<plain_mdspan<double, 1> &>(0) && !writes<computed_mdspan &>(0) && !reads<computed_mdspan &>(0));

static void mdspans_are_memory() {
    auto t = ozarr::store::memory().create_array("t", ozarr::spec::of<double>({3, 4, 5}).chunks({1, 4, 5}));
    t.write(counted(60));
    std::vector<double> halo(6 * 7, -1);
    const plain_mdspan<double, 2> inside(&halo[8], {4, 5}, {7, 1}), turned(&halo[8], {5, 4}, {1, 7});
    t.read(inside, {{1, 0, 0}, {1, 4, 5}});
    CHECK(halo[8] == 20 && halo[12] == 24 && halo[15] == 25 && halo[33] == 39 && halo[7] == -1 && halo[13] == -1);
    halo[8] = 100;
    t.write(inside, {{2, 0, 0}, {1, 4, 5}});
    CHECK((t.read<double>({{2, 0, 0}, {1, 1, 2}}) == std::vector<double>{100, 21}));
    std::vector<float> all(60);
    const plain_mdspan<float, 3> columns(all.data(), {3, 4, 5}, {1, 3, 12});
    t.read(columns);
    CHECK(all[1] == 20 && all[3] == 5 && all[12] == 1);
    THROWS(OZARR_ERR_BUFFER_SIZE, "the memory has the shape [5, 4], expected [1, 4, 5]", t.read(turned, {{1, 0, 0}, {1, 4, 5}}));
    THROWS(OZARR_ERR_BUFFER_SIZE, "expected [3, 4, 5]", t.read(inside));
    THROWS(OZARR_ERR_RANK, "start", t.read(inside, {{0}, {4}}));
    const plain_mdspan<const double, 2> constant(halo.data(), {4, 5}, {7, 1});
    t.write(constant, {{0, 0, 0}, {1, 4, 5}});
    CHECK((t.read<double>({{0, 1, 1}, {1, 1, 1}}) == std::vector<double>{100}));
    // One value, whose mdspan has no dimension.
    auto ones = ozarr::store::memory().create_array("t", ozarr::spec::of<double>({1, 1}));
    double value = 5;
    const plain_mdspan<double, 0> single(&value, {}, {});
    ones.write(single);
    value = 0;
    ones.read(single, {{0, 0}, {1, 1}});
    CHECK(value == 5);
    value = 0;
    ones.read(single);
    CHECK(value == 5);
    THROWS(OZARR_ERR_BUFFER_SIZE, "the memory has the shape [], expected [3, 4, 5]", t.read(single));
}

static void requests_take_what_reads_take() {
    auto t = ozarr::store::memory().create_array("t", ozarr::spec::of<int>({8, 6}).chunks({4, 6}));
    std::vector<int> in(48);
    std::iota(in.begin(), in.end(), 0);
    int called = 0;
    ozarr::request_options options;
    options.seconds = 60;
    options.done = [&](ozarr_status status, const char *) { called += status == OZARR_OK ? 1 : 100; };
    std::vector<ozarr::request> all;
    all.push_back(t.iwrite(in, {}, options));
    ozarr::wait_all(all, 60);
    CHECK(called == 1 && all[0].state() == ozarr::request_state::done && !all[0].problem());
    int halo[10][8] = {};
    all.push_back(t.iread(ozarr::strided(&halo[0][0], 80, {8, 1}, 9)));
    const plain_mdspan<int, 2> part(&halo[9][0], {1, 6}, {8, 1});
    all.push_back(t.iread(part, {{7, 0}, {1, 6}}));
    CHECK(ozarr::wait_any(all) == 0);
    ozarr::wait_all(all);
    CHECK(halo[1][1] == 0 && halo[8][6] == 47 && halo[0][1] == 0 && halo[9][5] == 47);
    auto late = t.iread(in.data(), in.size());
    options.done = [](ozarr_status, const char *) { throw 1; };
    all.clear();
    all.push_back(t.iwrite(in, {}, options));
    ozarr::wait_all(all);
    late.wait();
    options.done = nullptr;
    options.seconds = -1;
    THROWS(OZARR_ERR_ARGUMENT, "seconds", t.iwrite(in, {}, options));
    THROWS(OZARR_ERR_RANK, "strides", t.iread(ozarr::strided(&halo[0][0], 80, {8})));
    THROWS(OZARR_ERR_NULL, "", ozarr::request().wait());
    // Which request it was is said of one that failed, too.
    options = {};
    std::vector<int> back(48);
    all.clear();
    all.push_back(ozarr::request());
    all.push_back(t.iread(back, {}, options));
    all[1].cancel();
    std::int64_t which = -2;
    try {
        ozarr::wait_any(all, -1, which);
    } catch (const ozarr::error &e) {
        EQUAL(e.status(), OZARR_ERR_CANCELLED);
    }
    EQUAL(which, 1);
    all[1] = ozarr::request();
    ozarr::wait_any(all, -1, which);
    EQUAL(which, -1);
    // A vector that is gone when the call returns is to be copied.
    THROWS(OZARR_ERR_ARGUMENT, "copy", t.iwrite(std::vector<int>(48, 7), {}, ozarr::request_options{}));
    ozarr::request_options copied;
    copied.copy = true;
    t.iwrite(std::vector<int>(48, 7), {}, copied).wait();
    CHECK(t.read<int>() == std::vector<int>(48, 7));
    ozarr::shutdown();
}

// A function that is called as a request is done may free that request, and begin the next one in its place.
static void requests_go_on_in_their_place() {
    auto t = ozarr::store::memory().create_array("t", ozarr::spec::of<int>({8}));
    std::vector<int> out(8);
    ozarr::request current;
    ozarr::request_options options;
    int left = 3, lost = 0;
    auto token = std::make_shared<int>(1);
    const std::weak_ptr<int> watched = token;
    options.done = [&, token](ozarr_status, const char *) {
        // The function's own variables may be gone behind the assignment: these stay.
        int &gone = lost;
        const std::weak_ptr<int> *const watch = &watched;
        const long owners = watch->use_count();
        current = ozarr::request();
        gone += watch->use_count() != owners;
        if (gone == 0 && --left > 0) current = t.iread(out, {}, options);
    };
    current = t.iread(out, {}, options);
    while (current) current.wait();
    CHECK(lost == 0 && left == 0);
    options.done = nullptr;
    EQUAL(token.use_count(), 1);
}

static void datasets_hold_what_numbers_mean() {
    auto ds = ozarr::dataset::create("run.zarr");
    ds.define_coordinate("x", std::vector<double>{0.5, 1.5, 2.5}, "m");
    auto time = ds.define_time("time", 2, "hours since 2026-01-01");
    time.write_times("minutes since 2026-01-01", {0, 90 * 60});
    CHECK((time.read_times("hours since 2026-01-01") == std::vector<std::int64_t>{0, 90}));
    THROWS(OZARR_ERR_RANGE, "", time.write_times("seconds since 2026-01-01", {1}, {{0}, {1}}));
    TEXT(ozarr::time_to_text("hours since 2026-01-01", 90).c_str(), "2026-01-04 18:00:00");
    EQUAL(ozarr::time_from_text("hours since 2026-01-01", "2026-01-04 18:00:00"), 90);
    const char *along[] = {"time", "x"};
    ozarr_variable v = OZARR_VARIABLE_INIT;
    const std::int16_t missing = -1;
    v.type = OZARR_INT16;
    v.rank = 2;
    v.dimensions = along;
    v.scale_factor = 0.5;
    v.add_offset = 100;
    v.missing = &missing;
    auto p = ds.define_variable("p", v);
    p.write_packed(std::vector<double>{100, 101.5, NAN, 90, 91, 92});
    CHECK((p.read<int>() == std::vector<int>{0, 3, -1, -20, -18, -16}) && p.missing_value<std::int16_t>() == missing);
    const auto values = p.read_unpacked<float>({{0, 0}, {1, 3}});
    CHECK(values[0] == 100 && values[1] == 101.5F && std::isnan(values[2]));
    double wide[2][4] = {};
    p.read_unpacked(ozarr::strided(&wide[0][0], 8, {4, 1}));
    CHECK(wide[1][2] == 92 && wide[0][3] == 0);
    p.write_packed(ozarr::strided<const double>(&wide[1][0], 4, {0, 1}), {{0, 0}, {2, 3}});
    CHECK((p.read<int>({{0, 0}, {1, 3}}) == std::vector<int>{-20, -18, -16}));
    THROWS(OZARR_ERR_TYPE, "missing value", p.missing_value<double>());
    THROWS(OZARR_ERR_RANGE, "", p.write_packed(std::vector<double>(6, 1e9)));
    CHECK(!time.missing_value<std::int64_t>().has_value() || time.type() != ozarr::type::int64);
    EQUAL(ds.dimension_length("x"), 3);
    EQUAL(ds.longest("time"), 2);
    auto g = ds.as_group();
    CHECK(ozarr::dataset::of(g).dimensions().size() == 2);
    ds.close();
    CHECK(ozarr::dataset::open("run.zarr").variables(true).size() == 2);
}

static void processes_share_metadata_and_parts() {
    auto a = ozarr::array::create<double>("parts.zarr/a", {10, 12}, {5, 3});
    std::int64_t elements = 0;
    for (int worker = 0; worker < 3; worker++) {
        const ozarr::region part = a.partition(3, worker);
        elements += part.shape[0] * part.shape[1];
        a.fill(worker + 1, part);
    }
    CHECK(elements == 120 && a.read_points<int>({0, 0})[0] > 0);
    CHECK((a.partition(1, 0, {{0, 3}, {10, 3}}).start == ozarr::index{0, 3}));
    THROWS(OZARR_ERR_BOUNDS, "worker 3 of 3", a.partition(3, 3));
    const auto bytes = a.exported();
    auto node = ozarr::import_node("parts.zarr", bytes);
    CHECK(std::get<ozarr::array>(node).read<double>() == a.read<double>());
    auto group = ozarr::open_node("parts.zarr");
    auto again = ozarr::store::open("parts.zarr").import_node(std::get<ozarr::group>(group).exported());
    CHECK(std::get<ozarr::group>(again).nodes("**")[0].name == "a");
    THROWS(OZARR_ERR_METADATA, "", ozarr::import_node("parts.zarr", {1, 2}));
    CHECK(a.explain({{0, 0}, {1, 1}}, true).changed_chunks == 1 && a.info().chunks == 8 && a.stats().writes > 0);
    CHECK(a.summarize({{0, 0}, {1, 1}}).elements == 1 && a.digest() == a.digest() && a.digest({{0, 0}, {1, 1}}) != a.digest());
    CHECK(a.compare(a).differing == 0);
    THROWS(OZARR_ERR_BOUNDS, "", a.summarize({{0, 0}, {1, 1000000}}));
    THROWS(OZARR_ERR_ARGUMENT, "absolute", a.compare(a, -1));
    a.set_dimension_names({"y", ""});
    CHECK((a.dimension_names() == std::vector<std::string>{"y", ""}));
    THROWS(OZARR_ERR_RANK, "names", a.set_dimension_names({"y"}));
}

static void copies_tell_their_progress() {
    auto s = ozarr::store::memory();
    std::int64_t seen = 0;
    ozarr::copy_options options;
    options.progress = [&](std::int64_t, std::int64_t total) { return (seen = total) >= 0; };
    ozarr::copy("parts.zarr", "copied.zarr", options);
    CHECK(seen > 0 && ozarr::array::open("copied.zarr/a").shape()[1] == 12);
    THROWS(OZARR_ERR_EXISTS, "copied.zarr", ozarr::copy("parts.zarr", "copied.zarr"));
    options = {};
    options.flags = OZARR_COPY_RAW | OZARR_COPY_VERIFY;
    ozarr::copy(ozarr::store::open("parts.zarr"), "a", s, "b", options);
    CHECK(s.open_array("b").rank() == 2);
    const auto large = ozarr::array::create<std::int32_t>("large.zarr", {2});
    large.write(std::vector<std::int32_t>{300, -5});
    const auto small = ozarr::spec::of<std::uint8_t>({2});
    options = {};
    options.spec = &small;
    THROWS(OZARR_ERR_RANGE, "", ozarr::copy("large.zarr", "small.zarr", options));
    options.overflow = OZARR_OVERFLOW_SATURATE;
    ozarr::copy("large.zarr", "small.zarr", options);
    CHECK((ozarr::array::open("small.zarr").read<int>() == std::vector<int>{255, 0}));
    options = {};
    options.progress = [](std::int64_t, std::int64_t) { return false; };
    THROWS(OZARR_ERR_CANCELLED, "returned false", ozarr::copy("parts.zarr", "never.zarr", options));
    options.progress = [](std::int64_t, std::int64_t) -> bool { throw 1; };
    THROWS(OZARR_ERR_CALLBACK, "", ozarr::copy("parts.zarr", "never2.zarr", options));
    options.progress = [](std::int64_t, std::int64_t) -> bool { throw std::runtime_error("the meter is broken"); };
    THROWS(OZARR_ERR_CALLBACK, "the meter is broken", ozarr::copy("parts.zarr", "never3.zarr", options));
    auto g = ozarr::group::open("copied.zarr", "r+");
    g.rename("a", "b");
    g.erase("b");
    CHECK(g.children().empty());
}

static int heard = 0;
static void hear(ozarr::log_level, const char *message) { heard += *message != '\0'; }

// Whatever can be called takes a context's messages.
static void logs_are_functions() {
    const std::string odd = R"({"zarr_format": 3, "node_type": "group", "node_type": "group"})";
    ozarr::group::create("odd2.zarr").close();
    put_file("odd2.zarr/zarr.json", odd.data(), odd.size());
    const auto opened = [](ozarr::context &c) { ozarr::store::open("odd2.zarr", "r", {}, &c).open_group(""); };
    auto c = ozarr::context::create();
    c.set_log(ozarr::log_level::info, hear);
    opened(c);
    EQUAL(heard, 1);
    void (*const pointer)(ozarr::log_level, const char *) = &hear;
    c.set_log(ozarr::log_level::info, pointer);
    opened(c);
    c.set_log(ozarr::log_level::info, &hear);
    opened(c);
    EQUAL(heard, 3);
    const auto counts = [](ozarr::log_level, const std::string &message) { heard += message.empty() ? 0 : 10; };
    c.set_log(ozarr::log_level::info, counts);
    opened(c);
    EQUAL(heard, 13);
    ozarr::defaults::set_log(ozarr::log_level::off, counts);
    ozarr::defaults::set_log(ozarr::log_level::off, hear);
    c.set_log(ozarr::log_level::off, nullptr);
    ozarr::defaults::set_log(ozarr::log_level::off, nullptr);
}

static void contexts_have_settings_and_logs() {
    auto c = ozarr::context::create();
    c.set("threads", "3");
    CHECK(c.setting("threads") == "3" && ozarr::defaults::setting("strict") == "0");
    ozarr::defaults::set("strict", "true");
    CHECK(ozarr::defaults::setting("strict") == "1");
    ozarr::defaults::set("strict", 0);
    CHECK(ozarr::defaults::setting("strict") == "0");
    c.set("threads", 2);
    CHECK(c.setting("threads") == "2");
    ozarr::array::create<int>("settings.zarr", {4}).set("write_fill_chunks", 0);
    int said = 0;
    auto log = [&](ozarr::log_level, const char *message) { said += *message != '\0'; };
    c.set_log(ozarr::log_level::info, log);
    ozarr::defaults::set_log(ozarr::log_level::off, log);
    CHECK(c.stats().reads == 0 && said == 0);
    ozarr::group::create("odd.zarr").close();
    const std::string odd = R"({"zarr_format": 3, "node_type": "group", "node_type": "group"})";
    put_file("odd.zarr/zarr.json", odd.data(), odd.size());
    ozarr::group::open("odd.zarr").close();
    CHECK(said == 0);
    ozarr::store::open("odd.zarr", "r", {}, &c).open_group("").close();
    CHECK(said == 1);
    THROWS(OZARR_ERR_ARGUMENT, "colour", c.set("colour", "red"));
    auto moved = std::move(c);
    THROWS(OZARR_ERR_NULL, "the context is empty", c.set("threads", "1")); // NOLINT(bugprone-use-after-move)
    THROWS(OZARR_ERR_NULL, "the context is empty", c.setting("threads"));
    CHECK(!ozarr::version().empty() && ozarr::abi_version() >= 0 && !ozarr::has_feature("time travel"));
}

static void appenders_take_any_memory() {
    auto a = ozarr::array::create<double>("steps.zarr", {0, 2, 3}, {2, 2, 3});
    double halo[4][5] = {};
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 3; i++) halo[j + 1][i + 1] = 10 * j + i;
    auto out = ozarr::appender::open(a);
    out.append(ozarr::strided<const double>(&halo[0][0], 20, {0, 5, 1}, 6));
    THROWS(OZARR_ERR_RANK, "strides", out.append(ozarr::strided<const double>(&halo[0][0], 20, {5, 1}, 6)));
    THROWS(OZARR_ERR_BUFFER_SIZE, "[3, 2]", out.append(plain_mdspan<const double, 2>(&halo[1][1], {3, 2}, {1, 5})));
    out.append(plain_mdspan<const double, 2>(&halo[1][1], {2, 3}, {5, 1}));
    out.close();
    CHECK((a.read<double>({{1, 0, 0}, {1, 2, 3}}) == std::vector<double>{0, 1, 2, 10, 11, 12}));
    out = ozarr::appender::open(a);
    out.append(std::vector<float>(6, 1));
    out.close();
    CHECK((a.read<double>({{0, 0, 0}, {1, 2, 3}}) == std::vector<double>{0, 1, 2, 10, 11, 12}) && a.shape()[0] == 3);
    out = ozarr::appender::open(a);
    auto two = counted(12);
    out.append(two);
    THROWS(OZARR_ERR_BUFFER_SIZE, "multiple of 6", out.append(counted(7)));
    THROWS(OZARR_ERR_BUFFER_SIZE, "12 elements, expected the shape [3, 2, 3]", out.append(two, 3));
    out.append(two, 2);
    EQUAL(out.position(), 7);
#ifdef __cpp_lib_span
    out.append(std::span<const double>(two));
    out.append(std::span<double>(two), 2);
    THROWS(OZARR_ERR_BUFFER_SIZE, "multiple of 6", out.append(std::span<double>(two).first(5)));
    THROWS(OZARR_ERR_BUFFER_SIZE, "12 elements", out.append(std::span<double>(two), 1));
    EQUAL(out.position(), 11);
#endif
    out.close();
    CHECK((a.read<double>({{3, 0, 0}, {2, 2, 3}}) == two) && (a.read<double>({{a.shape()[0] - 2, 0, 0}, {2, 2, 3}}) == two));
}

static void series_write_all_variables() {
    auto ds = ozarr::dataset::create("series.zarr");
    ds.define_dimension("x", 3);
    ds.define_time("time", 0, "seconds since 2026-01-01");
    for (const char *name : {"t", "p"}) ds.define_variable<float>(name, {"time", "x"});
    auto steps = ozarr::series::open(ds, "time", -1, 1);
    const double halo[5] = {-1, 7, 8, 9, -1};
    const std::vector<float> t{1, 2, 3};
    const auto p = ozarr::strided(&halo[0], 5, {0, 1}, 1);
    THROWS(OZARR_ERR_RANK, "strides", steps.put("p", ozarr::strided(&halo[0], 5, {1}, 1)));
    THROWS(OZARR_ERR_RANK, "strides", steps.step(0, "t", t, "p", ozarr::strided(&halo[0], 5, {0, 0, 1}, 1)));
    THROWS(OZARR_ERR_BUFFER_SIZE, "[2]", steps.put("p", plain_mdspan<const double, 1>(&halo[1], {2}, {1})));
    // Not the first three of them.
    const std::vector<float> six(6, 1);
    THROWS(OZARR_ERR_BUFFER_SIZE, "6 elements, expected the shape [1, 3]", steps.put("p", six));
    THROWS(OZARR_ERR_BUFFER_SIZE, "6 elements", steps.step(0, "t", six));
    THROWS(OZARR_ERR_BUFFER_SIZE, "2 elements", steps.put("p", std::vector<float>(2)));
#ifdef __cpp_lib_span
    THROWS(OZARR_ERR_BUFFER_SIZE, "6 elements", steps.put("p", std::span<const float>(six)));
#endif
    THROWS(OZARR_ERR_NOT_FOUND, "q", steps.put("q", six));
    steps.put("t", plain_mdspan<const double, 1>(&halo[1], {3}, {1}));
    steps.put("p", p);
    steps.step(0);
    steps.step(60, "t", t);
    THROWS(OZARR_ERR_STATE, "\"t\"", steps.step(120, "t", t, "p", p, "t", t));
    steps.step(120, "t", t, std::string("p"), p);
    CHECK(steps.position() == 3 && steps.published() == 3);
    EQUAL(ozarr::dataset::open("series.zarr", "r").wait_growth("time", 2, 5), 3);
    THROWS(OZARR_ERR_TIMEOUT, "expected more than 3", ozarr::dataset::open("series.zarr", "r").wait_growth("time", 3, 0));
    THROWS(OZARR_ERR_NOT_FOUND, "q", steps.put("q", halo, 3));
    THROWS(OZARR_ERR_ARGUMENT, "", steps.step(60));
    steps.close();
    ds.close();
    ds = ozarr::dataset::open("series.zarr", "r+");
    CHECK((ds.variable("p").read<int>({{2, 0}, {1, 3}}) == std::vector<int>{7, 8, 9}));
    CHECK((ds.variable("t").read<int>({{0, 0}, {2, 3}}) == std::vector<int>{7, 8, 9, 1, 2, 3}));
    CHECK((ds.variable("time").read<int>() == std::vector<int>{0, 60, 120}));
    EQUAL(ozarr::series::open(ds, "time").position(), 3);
    THROWS(OZARR_ERR_BOUNDS, "found 3 steps", ozarr::series::open(ds, "time", 4));
    EQUAL(ozarr::series::open(ds, "time", 2).position(), 2);
    THROWS(OZARR_ERR_NOT_FOUND, "height", ozarr::series::open(ds, "height"));
}

/* Steps have the shape that a variable has when the series is opened, whatever the dataset's handle knew: another program has resized it since. */
static void series_follow_a_resize() {
    for (const auto &[name, columns] : {std::pair("resized.zarr", 3), std::pair("wide.zarr", 5)}) {
        auto made = ozarr::dataset::create(name);
        made.define_dimension("x", columns);
        made.define_time("time", 0, "seconds since 2026-01-01");
        made.define_variable<float>("t", {"time", "x"});
        made.close();
    }
    auto ds = ozarr::dataset::open("resized.zarr", "r+");
    for (const std::string document : {"/zarr.json", "/t/zarr.json"})
        std::filesystem::copy("wide.zarr" + document, "resized.zarr" + document, std::filesystem::copy_options::overwrite_existing);
    auto steps = ozarr::series::open(ds, "time");
    THROWS(OZARR_ERR_BUFFER_SIZE, "3 elements, expected the shape [1, 5]", steps.put("t", std::vector<float>(3)));
    steps.step(0, "t", std::vector<float>{1, 2, 3, 4, 5});
    steps.close();
    CHECK((ozarr::array::open("resized.zarr/t").read<int>() == std::vector<int>{1, 2, 3, 4, 5}));
}

/* A text with a number behind it. GCC 12 warns of `+` in C++20. */
static std::string numbered(std::string text, int number) {
    text += std::to_string(number);
    return text;
}

static void threads_share_a_series() {
    auto ds = ozarr::dataset::create("shared_series.zarr");
    ds.define_dimension("x", 3);
    ds.define_time("time", 0, "seconds since 2026-01-01");
    for (int k = 0; k < 16; k++) ds.define_variable<float>(numbered("v", k), {"time", "x"});
    auto steps = ozarr::series::open(ds, "time");
    auto &itself = steps;
    steps = std::move(itself);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&steps, t] { for (int k = t; k < 16; k += 4) steps.put(numbered("v", k), std::vector<float>(3, 1)); });
    for (auto &thread : threads) thread.join();
    steps.step(0);
    steps.close();
}

// A checkpoint is committed: closing it like a group would give it up.
template <class Group>
constexpr auto closes(int) -> decltype(std::declval<Group &>().close(), bool()) { return true; }
template <class Group>
constexpr bool closes(long) { return false; }
static_assert(closes<ozarr::group>(0) && !closes<ozarr::checkpoint>(0));

static void checkpoints_are_whole() {
    for (int step = 1; step <= 3; step++) {
        auto c = ozarr::checkpoint::begin("points.zarr", numbered("step-", step));
        c.put("u", {4, 2}, std::vector<double>(8, step));
        c.set_attr("step", step);
        c.commit();
    }
    auto never = ozarr::checkpoint::begin("points.zarr", "step-4");
    never.put("u", {2}, std::vector<int>{1, 2});
    never.abandon();
    EQUAL(ozarr::checkpoint::list("points.zarr").size(), 3);
    auto g = ozarr::checkpoint::latest("points.zarr");
    std::vector<float> u(8);
    g.get("u", u.data(), u.size());
    CHECK(u == std::vector<float>(8, 3) && g.attr<int>("step") == 3);
    THROWS(OZARR_ERR_BUFFER_SIZE, "", g.get("u", u.data(), 7));
    ozarr::checkpoint::prune("points.zarr", 1);
    CHECK(ozarr::checkpoint::list("points.zarr")[0].name == "step-3");
    THROWS(OZARR_ERR_NOT_FOUND, "", ozarr::checkpoint::latest("none.zarr"));
    THROWS(OZARR_ERR_NULL, "", never.commit());
}

static void specifications_in_detail() {
    auto s = ozarr::spec::of<float>({64, 64});
    s.chunks({32, 32}).inner_chunks({8, 8}).shuffle(OZARR_SHUFFLE_BYTE).keep_bits(10).checksum().no_inner_chunks();
    CHECK(s.to_json().find("sharding") == std::string::npos && s.to_json().find("crc32c") != std::string::npos);
    CHECK(!s.element_type(ozarr::type::float64).suggest().empty());
    CHECK(s.to_json().find("float64") != std::string::npos);
}

int main() {
    mdspans_are_memory();
    requests_take_what_reads_take();
    requests_go_on_in_their_place();
    datasets_hold_what_numbers_mean();
    processes_share_metadata_and_parts();
    copies_tell_their_progress();
    contexts_have_settings_and_logs();
    logs_are_functions();
    appenders_take_any_memory();
    specifications_in_detail();
    series_write_all_variables();
    series_follow_a_resize();
    threads_share_a_series();
    checkpoints_are_whole();
    return finish();
}
