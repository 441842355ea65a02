// The calls of ozarr.hpp whose allocations each_allocation.c fails. With exceptions a call throws ozarr::error or std::bad_alloc; without them its
// result has the status, and only what the program keeps in std::string and std::vector itself may end it: texts are short here.
#include <ozarr.hpp>

#include <new>
#include <string>
#include <vector>

namespace {

struct world {
    ozarr::store store;
    ozarr::group group, other;
    ozarr::array a, b;
    ozarr::dataset dataset;
    ozarr::series series;
    ozarr::appender appender;
    ozarr::request request;
    std::vector<double> u = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, v = std::vector<double>(12);
    std::vector<std::string> axes = {"time", "x"}, names;
    std::vector<double> row = {1, 2, 3};
    std::vector<float> floats = {1, 2};
    std::string text;
    bool stepped = false;
};
world *w;

// The status of a call: that of its result, or of what it throws.
#ifdef OZARR_NO_EXCEPTIONS
template <class T>
T take(ozarr::result<T> &&result) {
    return *std::move(result);
}
template <class T>
ozarr_status status_of(const ozarr::result<T> &result) {
    return result.ok() ? OZARR_OK : result.error().status();
}
template <class T>
ozarr_status put(T &place, ozarr::result<T> &&result) {
    if (result.ok()) place = *std::move(result);
    return status_of(result);
}
#define DO(call) (void)(call)
#define STATUS(call) return status_of(call)
#define PUT(place, call) return put(place, call)
#else
template <class T>
T &&take(T &&value) {
    return std::move(value);
}
template <class F>
ozarr_status status_of(F &&call) {
    try {
        call();
    } catch (const ozarr::error &e) {
        return e.what()[0] != 0 ? e.status() : OZARR_ERR_INTERNAL;
    } catch (const std::bad_alloc &) {
        return OZARR_ERR_NO_MEMORY;
    }
    return OZARR_OK;
}
#define DO(call) call
#define STATUS(call) return status_of([&] { call; })
#define PUT(place, call) return status_of([&] { place = call; })
#endif

struct call_of {
    ozarr_status (*call)();
    void (*prepare)();
    bool (*is_done)();
};

void nothing() {}
bool always() { return true; }
void define_two() {
    DO(w->dataset.define_variable<double>("t", w->axes));
    DO(w->dataset.define_variable<double>("p", w->axes));
}
void open_series() {
    define_two();
    w->series = take(ozarr::series::open(w->dataset, "time"));
}
void create_growing() { w->b = take(w->group.create_array("b", ozarr::spec::of<double>({0, 4}).chunks({2, 4}))); }

const call_of CALLS[] = {
    {[] { PUT(w->store, ozarr::store::memory()); }, nothing, always},
    {[] { PUT(w->b, w->group.open_array("a")); }, nothing, [] { return w->b.rank() == 2; }},
    {[] { PUT(w->other, w->group.create_group("new")); }, nothing, always},
    {[] { PUT(w->other, w->group.open_group("d")); }, nothing, always},
    {[] { PUT(w->b, w->group.create_array("b", ozarr::spec::of<double>({4, 3}).chunks({2, 3}).compressor("zstd", 2).fill_value(1.0).attributes_json("{\"k\": 1}"))); },
     nothing, [] { return w->b.rank() == 2; }},
    {[] { STATUS(w->a.set_attr("units", "m")); }, nothing, always},
    {[] { STATUS(w->a.set_attr("k", 1.5)); }, nothing, always},
    {[] { STATUS(w->a.set_attr("list", w->floats)); }, nothing, always},
    {[] { PUT(w->text, w->a.attr<std::string>("units")); }, nothing, [] { return w->text == "K"; }},
    {[] { PUT(w->text, w->a.attr_json("units")); }, nothing, [] { return w->text == "\"K\""; }},
    {[] { STATUS(w->a.read(w->v)); }, nothing, [] { return w->v == w->u; }},
    {[] { STATUS(w->a.write(w->u)); }, nothing, always},
    {[] { STATUS(w->a.resize({5, 5})); }, nothing, always},
    {[] { STATUS(w->a.append(w->row)); }, nothing, always},
    {[] { PUT(w->text, w->a.path()); }, nothing, [] { return w->text == "a"; }},
    {[] { STATUS(w->a.set("write_back", "1000000")); }, nothing, always},
    {[] { STATUS(w->a.flush()); }, nothing, always},
    {[] { STATUS(w->a.refresh()); }, nothing, always},
    {[] { STATUS(w->a.begin_attrs()); }, nothing, always},
    {[] { PUT(w->b, w->dataset.define_variable<double>("t", w->axes)); }, nothing, [] { return w->b.rank() == 2; }},
    {[] { STATUS(w->a.set_dimension_names(w->axes)); }, nothing, always},
    {[] { PUT(w->b, w->dataset.define_coordinate("y", w->u, "m")); }, nothing, [] { return w->b.rank() == 1; }},
    {[] { PUT(w->b, w->dataset.variable("t")); }, define_two, always},
    {[] { PUT(w->series, ozarr::series::open(w->dataset, "time")); }, define_two, always},
    {[] { STATUS(w->series.put("t", w->u.data(), 4)); }, open_series, always},
    {[] { STATUS(w->series.step(1)); }, open_series, always},
    {[] { STATUS(w->series.close()); }, open_series, always},
    {[] { PUT(w->appender, ozarr::appender::open(w->b)); }, create_growing, always},
    {[] { STATUS(w->a.close()); }, nothing, always},
    {[] { STATUS(w->dataset.close()); }, define_two, always},
    {[] { STATUS(w->group.consolidate()); }, nothing, always},
};

} // namespace

extern "C" {
int number_of_calls() { return static_cast<int>(sizeof CALLS / sizeof *CALLS); }

int outcome(int n) {
    (void)n;
    return OZARR_OK;
}

void prepare(int n) {
    w = new world;
    w->store = take(ozarr::store::memory());
    w->group = take(w->store.create_group(""));
    w->a = take(w->group.create_array("a", ozarr::spec::of<double>({4, 3}).chunks({2, 3})));
    DO(w->a.write(w->u));
    DO(w->a.set_attr("units", "K"));
    w->other = take(w->group.create_group("d"));
    w->dataset = take(ozarr::dataset::of(w->other));
    DO(w->dataset.define_dimension("x", 4));
    DO(w->dataset.define_dimension("time", 0));
    CALLS[n - 1].prepare();
}

int call(int n) { return CALLS[n - 1].call(); }

// What is wrong afterwards: a success that is none, or the next call.
int look(int n, int status) {
    if (status == OZARR_OK && !CALLS[n - 1].is_done()) return 1;
    if (!w->a) return 0;
    std::vector<double> part(1);
    ozarr_status read = OZARR_OK;
    const std::int64_t start[] = {0, 0}, shape[] = {1, 1};
    ozarr_region region = OZARR_REGION_INIT;
    region.start = start, region.shape = shape;
    ozarr_memory memory = OZARR_MEMORY_INIT;
    memory.data = part.data(), memory.size = sizeof(double), memory.type = OZARR_FLOAT64;
    read = ozarr_array_read_ex(w->a.get(), &region, &memory);
    return read == OZARR_OK && part[0] == 1 ? 0 : 2;
}
}
