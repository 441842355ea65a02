// ozarr.hpp: every member function on an object without a handle (its value was moved away), and wrong lists: an exception with the status and a
// message. tools/names.py checks that no member of the table of names is forgotten.
#include <ozarr.hpp>

#include "table.h"

template <class F>
static void refuses(int line, const char *what, ozarr_status status, F call) {
    try {
        call();
        FAIL("line %d: %s: nothing was thrown", line, what);
    } catch (const ozarr::error &e) {
        if (e.status() != status || std::string(e.what()).empty()) FAIL("line %d: %s gave %s: %s", line, what, e.name(), e.what());
    }
}
// What has no handle.
#define REFUSES(what, ...) refuses(__LINE__, what, OZARR_ERR_NULL, [&] { (void)(__VA_ARGS__); })
// Another wrong argument.
#define WRONG(status, what, ...) refuses(__LINE__, what, status, [&] { (void)(__VA_ARGS__); })

static ozarr::store st = ozarr::store::memory();
static const std::vector<int> four{1, 2, 3, 4};
static const std::vector<double> reals{1, 2, 3, 4};
static const std::vector<std::int64_t> four_indices{0, 1, 2, 3};

template <class T>
static void moved_away(T &from) {
    const T taken(std::move(from));
}

static void arrays() {
    ozarr::group root = st.create_group("");
    ozarr::array a = root.create_array("a", ozarr::spec::of<int>({4}));
    WRONG(OZARR_ERR_RANK, "array::read, region", a.read<int>({{0, 0}, {1, 1}}));
    WRONG(OZARR_ERR_RANK, "array::resize", a.resize({4, 4}));
    WRONG(OZARR_ERR_BUFFER_SIZE, "array::write, size", a.write(std::vector<int>{1}));
    WRONG(OZARR_ERR_RANK, "array::set_dimension_names", a.set_dimension_names({"x", "y"}));
    WRONG(OZARR_ERR_BOUNDS, "array::chunk_extent", a.chunk_extent(1, 0));
    WRONG(OZARR_ERR_BOUNDS, "array::append, dim", a.append(four, 1));
    WRONG(OZARR_ERR_RANK, "spec::chunks, rank", ozarr::spec::of<int>({4}).chunks({2, 2}).to_json());
    int to[4];
    ozarr::array closed = root.open_array("a"), none;
    closed.close();
    moved_away(a);
    for (ozarr::array *empty : {&a, &closed, &none}) {
        CHECK(!*empty && empty->rank() == 0);
        REFUSES("array::read, region", empty->read<int>({{0, 0}, {1, 1}}));
        REFUSES("array::read_orthogonal", empty->read_orthogonal<int>({{}, {}}));
        REFUSES("array::read_points", empty->read_points<int>({1, 2, 3}));
        REFUSES("array::resize", empty->resize({4, 4}));
        REFUSES("array::set_dimension_names", empty->set_dimension_names({"x", "y"}));
        REFUSES("array::partition", empty->partition(2, 0, {{0, 0}, {1, 1}}));
    }
    REFUSES("array::read", a.read<int>());
    REFUSES("array::read", a.read(to, 4));
    REFUSES("array::write", a.write(four));
    REFUSES("array::append", a.append(four));
    REFUSES("array::iread", a.iread(to, 4));
    REFUSES("array::iwrite", a.iwrite(four.data(), 4));
    REFUSES("array::write_orthogonal", a.write_orthogonal({four_indices}, four));
    REFUSES("array::write_points", a.write_points({0, 1, 2, 3}, four));
    REFUSES("array::read_mask", a.read_mask<int>({1, 1, 1, 1}));
    REFUSES("array::write_mask", a.write_mask({1, 1, 1, 1}, four));
    REFUSES("array::fill", a.fill(1));
    REFUSES("array::explain", a.explain());
    REFUSES("array::info", a.info());
    REFUSES("array::stats", a.stats());
    REFUSES("array::summarize", a.summarize());
    REFUSES("array::digest", a.digest());
    REFUSES("array::compare", a.compare(a));
    REFUSES("array::read_unpacked", a.read_unpacked<double>());
    REFUSES("array::write_packed", a.write_packed(reals));
    REFUSES("array::read_times", a.read_times("days since 2026-01-01"));
    REFUSES("array::write_times", a.write_times("days since 2026-01-01", {1}));
    REFUSES("array::shape", a.shape());
    REFUSES("array::chunk_shape", a.chunk_shape());
    REFUSES("array::inner_chunk_shape", a.inner_chunk_shape());
    REFUSES("array::grid_shape", a.grid_shape());
    REFUSES("array::chunk_extent", a.chunk_extent(0, 0));
    REFUSES("array::type", a.type());
    REFUSES("array::item_size", a.item_size());
    REFUSES("array::data_type", a.data_type());
    REFUSES("array::dimension_names", a.dimension_names());
    REFUSES("array::dimension_names, of no dimensions", ozarr::array().dimension_names());
    REFUSES("array::set_dimension_names", a.set_dimension_names({"x"}));
    REFUSES("array::fill_value", a.fill_value<int>());
    REFUSES("array::missing_value", a.missing_value<int>());
    REFUSES("array::partition", a.partition(2, 0));
    REFUSES("array::resize", a.resize({5}));
    REFUSES("array::wait_growth", a.wait_growth(0, 0, 0));
    REFUSES("array::close", a.close());
    REFUSES("attr", a.attr<int>("x"));
    REFUSES("attr", a.attr<std::string>("x"));
    REFUSES("attr_json", a.attr_json("x"));
    REFUSES("attr_kind", a.attr_kind("x"));
    REFUSES("has_attr", a.has_attr("x"));
    REFUSES("attr_names", a.attr_names());
    REFUSES("attrs_json", a.attrs_json());
    REFUSES("set_attr", a.set_attr("x", 1));
    REFUSES("set_attr", a.set_attr("x", "y"));
    REFUSES("set_attr", a.set_attr("x", reals));
    REFUSES("set_attr_json", a.set_attr_json("x", "1"));
    REFUSES("set_attrs_json", a.set_attrs_json("{}"));
    REFUSES("erase_attr", a.erase_attr("x"));
    REFUSES("begin_attrs", a.begin_attrs());
    REFUSES("commit_attrs", a.commit_attrs());
    REFUSES("exported", a.exported());
    REFUSES("flush", a.flush());
    REFUSES("metadata", a.metadata());
    REFUSES("path", a.path());
    REFUSES("refresh", a.refresh());
    REFUSES("set", a.set("write_back", "1"));
    REFUSES("setting", a.setting("mode"));
    REFUSES("zarr_format", a.zarr_format());
    REFUSES("appender::open", ozarr::appender::open(a));
}

static void groups() {
    ozarr::group g = st.open_group("");
    ozarr::spec s = ozarr::spec::of<int>({4});
    moved_away(g);
    REFUSES("group::create_array", g.create_array("x", s));
    REFUSES("group::create_group", g.create_group("x"));
    REFUSES("group::open_array", g.open_array("a"));
    REFUSES("group::open_group", g.open_group("a"));
    REFUSES("group::nodes", g.nodes("*"));
    REFUSES("group::children", g.children());
    REFUSES("group::put", g.put("x", {4}, four));
    int to[4];
    REFUSES("group::get", g.get("a", to, 4));
    REFUSES("group::rename", g.rename("a", "b"));
    REFUSES("group::erase", g.erase("a"));
    REFUSES("group::consolidate", g.consolidate());
    REFUSES("group::close", g.close());
    REFUSES("dataset::of", ozarr::dataset::of(g));
    ozarr::checkpoint c = ozarr::checkpoint::begin("c.zarr", "one");
    moved_away(c);
    REFUSES("checkpoint::commit", c.commit());
    REFUSES("checkpoint::abandon", c.abandon());
}

static void datasets_and_steps() {
    ozarr::dataset ds = ozarr::dataset::create("ds.zarr");
    ds.define_time("time", 0, "days since 2026-01-01");
    ozarr::series steps = ozarr::series::open(ds, "time");
    moved_away(steps);
    REFUSES("series::put", steps.put("v", four));
    REFUSES("series::step", steps.step(1));
    REFUSES("series::position", steps.position());
    REFUSES("series::published", steps.published());
    REFUSES("series::flush", steps.flush());
    REFUSES("series::close", steps.close());
    moved_away(ds);
    REFUSES("dataset::define_dimension", ds.define_dimension("x", 4));
    REFUSES("dataset::resize_dimension", ds.resize_dimension("x", 4));
    REFUSES("dataset::dimensions", ds.dimensions());
    REFUSES("dataset::dimension_length", ds.dimension_length("x"));
    REFUSES("dataset::longest", ds.longest("x"));
    REFUSES("dataset::wait_growth", ds.wait_growth("x", 0, 0));
    REFUSES("dataset::define_variable", ds.define_variable<int>("v", {"x"}));
    REFUSES("dataset::define_coordinate", ds.define_coordinate("x", reals));
    REFUSES("dataset::define_time", ds.define_time("t", 0, "days since 2026-01-01"));
    REFUSES("dataset::set_coordinate", ds.set_coordinate("x"));
    REFUSES("dataset::variables", ds.variables());
    REFUSES("dataset::variable", ds.variable("v"));
    REFUSES("dataset::as_group", ds.as_group());
    REFUSES("dataset::close", ds.close());
    REFUSES("series::open", ozarr::series::open(ds, "time"));
    ozarr::array a = st.create_array("grows", ozarr::spec::of<int>({0}));
    ozarr::appender all = ozarr::appender::open(a);
    moved_away(all);
    REFUSES("appender::append", all.append(four));
    REFUSES("appender::position", all.position());
    REFUSES("appender::published", all.published());
    REFUSES("appender::flush", all.flush());
    REFUSES("appender::close", all.close());
    ozarr::request r;
    REFUSES("request::test", r.test());
    REFUSES("request::wait", r.wait());
    REFUSES("request::wait_for", r.wait_for(0));
    REFUSES("request::cancel", r.cancel());
    REFUSES("request::state", r.state());
    REFUSES("request::problem", r.problem());
}

// A specification keeps its first problem until it is used.
static void specs() {
    const auto gone = [] {
        ozarr::spec s = ozarr::spec::of<int>({4});
        moved_away(s);
        return s;
    };
#define REFUSES_SPEC(what, call) refuses(__LINE__, what, OZARR_ERR_NULL, [&] { auto s = gone(); s.call; if (s.problem()) throw *s.problem(); })
    REFUSES_SPEC("spec::zarr_format", zarr_format(2));
    REFUSES_SPEC("spec::no_inner_chunks", no_inner_chunks());
    REFUSES_SPEC("spec::fill_value", fill_value(1));
    REFUSES_SPEC("spec::fill_json", fill_json("1"));
    REFUSES_SPEC("spec::order", order(OZARR_ORDER_F));
    REFUSES_SPEC("spec::big_endian", big_endian());
    REFUSES_SPEC("spec::separator", separator('.'));
    REFUSES_SPEC("spec::compressor", compressor("zstd"));
    REFUSES_SPEC("spec::shuffle", shuffle(OZARR_SHUFFLE_BIT));
    REFUSES_SPEC("spec::keep_bits", keep_bits(5));
    REFUSES_SPEC("spec::zfp", zfp(OZARR_ZFP_RATE, 8));
    REFUSES_SPEC("spec::checksum", checksum());
    REFUSES_SPEC("spec::member_json", member_json("x", "1"));
    REFUSES_SPEC("spec::attributes_json", attributes_json("{}"));
    REFUSES_SPEC("spec::element_type", element_type(ozarr::type::int8));
    REFUSES_SPEC("spec::chunk_extents", chunk_extents(0, {4}));
    REFUSES_SPEC("spec::chunks", chunks({4}));
    REFUSES_SPEC("spec::inner_chunks", inner_chunks({4}));
    REFUSES_SPEC("spec::shape", shape({4}));
    REFUSES_SPEC("spec::dimension_names", dimension_names({"x"}));
    REFUSES_SPEC("spec::suggest", suggest());
    REFUSES_SPEC("spec::to_json", to_json());
    REFUSES("array::create", ozarr::array::create("never.zarr", gone()));
    const ozarr::spec away = gone();
    ozarr::copy_options as_away;
    as_away.spec = &away;
    st.create_array("whole", ozarr::spec::of<int>({4}));
    REFUSES("ozarr::copy", ozarr::copy("c.zarr", "never.zarr", as_away));
    REFUSES("ozarr::copy", ozarr::copy(st, "whole", st, "never", as_away));
    CHECK(st.kind("never") == ozarr::node_kind::none);
}

static void others() {
    ozarr::context c = ozarr::context::create();
    moved_away(c);
    REFUSES("context::set", c.set("threads", "1"));
    REFUSES("context::setting", c.setting("threads"));
    REFUSES("context::stats", c.stats());
    ozarr::dtype d = ozarr::dtype::of<int>();
    moved_away(d);
    REFUSES("dtype::item_size", d.item_size());
    REFUSES("dtype::to_json", d.to_json(3));
    REFUSES("store::open, context", ozarr::store::open("c.zarr", "r", {}, &c));
    struct nothing : ozarr::own_store {
        std::optional<bytes> get(const std::string &) override { return {}; }
    };
    REFUSES("store::own, context", ozarr::store::own(std::make_unique<nothing>(), "r", &c));
    moved_away(st);
    REFUSES("store::create_array", st.create_array("x", ozarr::spec::of<int>({4})));
    REFUSES("store::create_group", st.create_group("x"));
    REFUSES("store::open_array", st.open_array("x"));
    REFUSES("store::open_group", st.open_group("x"));
    REFUSES("store::below", st.below("x"));
    REFUSES("store::cached", st.cached(1 << 20));
    REFUSES("store::import_node", st.import_node({1}));
    REFUSES("store::kind", st.kind("x"));
    REFUSES("store::erase", st.erase("x"));
    REFUSES("store::flush", st.flush());
    REFUSES("store::close", st.close());
    auto hear = [](ozarr::log_level, const std::string &) {};
    REFUSES("context::set_log", c.set_log(ozarr::log_level::off, hear));
    WRONG(OZARR_ERR_ARGUMENT, "defaults::set", ozarr::defaults::set("nothing", "1"));
    WRONG(OZARR_ERR_ARGUMENT, "defaults::setting", ozarr::defaults::setting("nothing"));
    WRONG(OZARR_ERR_UNSUPPORTED, "dtype::parse", ozarr::dtype::parse("quaternion").item_size());
    WRONG(OZARR_ERR_ARGUMENT, "spec::from_json", ozarr::spec::from_json("{").to_json());
    WRONG(OZARR_ERR_UNSUPPORTED, "ozarr::erase", ozarr::erase("gopher://x"));
    WRONG(OZARR_ERR_UNSUPPORTED, "ozarr::open_node", ozarr::open_node("gopher://x"));
    WRONG(OZARR_ERR_METADATA, "ozarr::import_node", ozarr::import_node("c.zarr", {1}));
    WRONG(OZARR_ERR_ARGUMENT, "ozarr::time_from_text", ozarr::time_from_text("days since 2026-01-01", "yesterday"));
    WRONG(OZARR_ERR_ARGUMENT, "ozarr::time_to_text", ozarr::time_to_text("parsecs", 1));
    WRONG(OZARR_ERR_UNSUPPORTED, "store::open", ozarr::store::open("gopher://x"));
    WRONG(OZARR_ERR_UNSUPPORTED, "array::open", ozarr::array::open("gopher://x"));
    WRONG(OZARR_ERR_UNSUPPORTED, "group::open", ozarr::group::open("gopher://x"));
    WRONG(OZARR_ERR_UNSUPPORTED, "group::create", ozarr::group::create("gopher://x"));
    WRONG(OZARR_ERR_UNSUPPORTED, "dataset::open", ozarr::dataset::open("gopher://x"));
    WRONG(OZARR_ERR_UNSUPPORTED, "dataset::create", ozarr::dataset::create("gopher://x"));
    WRONG(OZARR_ERR_NAME, "checkpoint::begin", ozarr::checkpoint::begin("c.zarr", ""));
    WRONG(OZARR_ERR_NOT_FOUND, "checkpoint::latest", ozarr::checkpoint::latest("none.zarr"));
    WRONG(OZARR_ERR_UNSUPPORTED, "checkpoint::list", ozarr::checkpoint::list("gopher://x"));
    WRONG(OZARR_ERR_ARGUMENT, "checkpoint::prune", ozarr::checkpoint::prune("c.zarr", -1));
}

int main() {
    arrays();
    groups();
    datasets_and_steps();
    specs();
    others();
    return finish();
}
