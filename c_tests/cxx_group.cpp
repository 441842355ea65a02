// ozarr.hpp with exceptions: groups, children, attributes, stores, contexts.
#include <ozarr.hpp>

#include "throws.h"

// Without the white space that JSON may have.
static std::string bare(std::string json) {
    std::string out;
    for (char c : json)
        if (c != ' ' && c != '\n') out += c;
    return out;
}

static void children_are_a_range() {
    auto g = ozarr::group::create("run.zarr");
    g.create_group("fields/inner").close();
    g.create_array("time", ozarr::spec::of<double>({3}));
    std::string seen;
    for (const ozarr::child &c : g.children()) seen += c.name + (c.kind == ozarr::node_kind::group ? "/ " : " ");
    TEXT(seen.c_str(), "fields/ time ");
    CHECK(g.open_array("time").rank() == 1 && g.open_group("fields").children().size() == 1 && g.zarr_format() == 3);
    g.consolidate();
    CHECK(g.metadata().find("consolidated_metadata") != std::string::npos);
    THROWS(OZARR_ERR_NODE_KIND, "", g.open_group("time"));
    THROWS(OZARR_ERR_NOT_FOUND, "", g.open_array("nothing"));
    THROWS(OZARR_ERR_EXISTS, "", g.create_group("fields"));
    ozarr::erase("run.zarr/fields");
    EQUAL(ozarr::group::open("run.zarr").children().size(), 1);
}

template <class Node>
static void attributes(Node &node) {
    node.set_attr("units", "K");
    node.set_attr("note", std::string(1000, 'x'));
    node.set_attr("dt", 0.25);
    node.set_attr("steps", 12);
    node.set_attr("huge", UINT64_MAX);
    node.set_attr("restart", true);
    node.set_attr_json("list", "[1,2]");
    CHECK(node.template attr<std::uint64_t>("huge") == UINT64_MAX && node.template attr<std::vector<int>>("list") == std::vector<int>({1, 2}));
    THROWS(OZARR_ERR_TYPE, "", (void)node.template attr<int>("list"));
    // C would end these texts at the NUL inside.
    const std::string cut("dt\0.", 4);
    THROWS(OZARR_ERR_ARGUMENT, "", (void)node.template attr<double>(cut));
    THROWS(OZARR_ERR_ARGUMENT, "", node.set_attr(cut, 1));
    THROWS(OZARR_ERR_ARGUMENT, "", node.set_attr("units", cut));
    THROWS(OZARR_ERR_ARGUMENT, "", node.set_attr("meanings", std::vector<std::string>{"land", cut}));
    THROWS(OZARR_ERR_ARGUMENT, "", ozarr::group::open(std::string("run.zarr\0/x", 11)));
    node.set_attr("range", std::vector<float>{0.1f, 500});
    CHECK(bare(node.attr_json("range")) == "[0.1,500.0]" && node.template attr<std::vector<float>>("range")[0] == 0.1f);
    node.set_attr("meanings", std::vector<std::string>{"land", "", "sea"});
    CHECK((node.template attr<std::vector<std::string>>("meanings") == std::vector<std::string>{"land", "", "sea"}));
    // Lists in braces are lists, whatever else a text or a single value could be made of.
    const std::string sea = "sea";
    node.set_attr("range", {65, 66}), node.set_attr("meanings", {"land", "sea"});
    CHECK(bare(node.attr_json("range")) == "[65,66]" && bare(node.attr_json("meanings")) == "[\"land\",\"sea\"]");
    node.set_attr("range", {0.5, 500.0}), node.set_attr("meanings", {sea, sea});
    CHECK(bare(node.attr_json("range")) == "[0.5,500.0]" && bare(node.attr_json("meanings")) == "[\"sea\",\"sea\"]");
    node.set_attr("range", {0}), node.set_attr("meanings", {"land"});
    CHECK(bare(node.attr_json("range")) == "[0]" && bare(node.attr_json("meanings")) == "[\"land\"]");
    node.set_attr("meanings", sea);
    CHECK(node.attr_json("meanings") == "\"sea\"");
    node.erase_attr("range"), node.erase_attr("meanings");
    CHECK(node.template attr<std::string>("units") == "K" && node.template attr<std::string>("note").size() == 1000);
    CHECK(node.template attr<double>("dt") == 0.25 && node.template attr<float>("steps") == 12 && node.template attr<int>("steps") == 12);
    CHECK(node.template attr<bool>("restart") && bare(node.attr_json("list")) == "[1,2]" && node.attr_json("huge") == "18446744073709551615");
    CHECK(node.attr_kind("list") == ozarr::json_kind::array && node.has_attr("dt") && !node.has_attr("nothing"));
    EQUAL(node.attr_names().size(), 7);
    CHECK(node.attr_names()[0] == "units");
    THROWS(OZARR_ERR_NOT_FOUND, "", (void)node.template attr<int>("nothing"));
    THROWS(OZARR_ERR_TYPE, "", (void)node.template attr<int>("units"));
    THROWS(OZARR_ERR_TYPE, "", (void)node.template attr<bool>("units"));
    THROWS(OZARR_ERR_RANGE, "", node.set_attr("many", 300), (void)node.template attr<std::uint8_t>("many"));
    THROWS(OZARR_ERR_RANGE, "", node.set_attr("less", -1), (void)node.template attr<unsigned>("less"));
    THROWS(OZARR_ERR_RANGE, "", node.set_attr("nan", 0.0 / 0.0));
    THROWS(OZARR_ERR_ARGUMENT, "", node.set_attr("nul", std::string("a\0b", 3)));
    node.erase_attr("list");
    THROWS(OZARR_ERR_NOT_FOUND, "", node.erase_attr("list"));
    node.begin_attrs();
    node.set_attrs_json("{}");
    node.set_attr("only", 1);
    node.commit_attrs();
    CHECK(bare(node.attrs_json()) == "{\"only\":1}");
    node.flush();
}

// Attributes of numbers that a type shorter than double has: of two bytes in C++23.
template <class T, class Node>
static void short_floats(Node &node) {
    node.set_attr("short", static_cast<T>(1.5f));
    node.set_attr("shorts", std::vector<T>{static_cast<T>(0.5f), static_cast<T>(-2.0f)});
    CHECK(bare(node.attr_json("short")) == "1.5" && bare(node.attr_json("shorts")) == "[0.5,-2.0]");
    CHECK(node.template attr<T>("short") == static_cast<T>(1.5f));
    CHECK(node.template attr<std::vector<T>>("shorts") == std::vector<T>({static_cast<T>(0.5f), static_cast<T>(-2.0f)}));
    node.set_attr("much", 1e39);
    THROWS(OZARR_ERR_RANGE, "", (void)node.template attr<T>("much"));
}

static void stores() {
    auto m = ozarr::store::memory();
    m.create_group("a/b", ozarr::existing::fail, 2);
    CHECK(m.open_group("a").zarr_format() == 2 && m.kind("a/b") == ozarr::node_kind::group && m.kind("c") == ozarr::node_kind::none);
    auto t = m.create_array("a/t", ozarr::spec::of<int>({2}).zarr_format(2));
    CHECK(m.open_array("a/t").zarr_format() == 2 && m.kind("a/t") == ozarr::node_kind::array);
    m.erase("a/b");
    CHECK(m.kind("a/b") == ozarr::node_kind::none);
    m.flush();
    m.close();
    t.write(std::vector<int>{1, 2});
    CHECK((t.read<int>() == std::vector<int>{1, 2}));

    auto settings = ozarr::context::create();
    settings.set("threads", "2");
    auto s = ozarr::store::open("other.zarr", "r+", {{"file.sync", "none"}}, &settings);
    s.create_array("x", ozarr::spec::of<int>({2})).close();
    CHECK(ozarr::store::open("other.zarr").open_array("x").rank() == 1);
    THROWS(OZARR_ERR_ARGUMENT, "", (void)ozarr::store::open("other.zarr", "r+", {{"file.colour", "red"}}));
    THROWS(OZARR_ERR_ARGUMENT, "", settings.set("threads", "0"));
    CHECK(ozarr::group(s.create_group("g").release()).children().empty());
    ozarr_array *raw = ozarr::array::open("other.zarr/x").release();
    CHECK(ozarr::array::adopt(raw).rank() == 1);
}

// Whether these calls compile with a vector of T: texts are no memory that the library could take as it lies.
template <class T>
constexpr auto puts(int) -> decltype(std::declval<ozarr::group &>().put("x", {2}, std::declval<std::vector<T>>()), bool()) { return true; }
template <class T>
constexpr bool puts(long) { return false; }
template <class T>
constexpr auto defines(int) -> decltype(std::declval<ozarr::dataset &>().define_coordinate("x", std::declval<std::vector<T>>()), bool()) { return true; }
template <class T>
constexpr bool defines(long) { return false; }
static_assert(puts<double>(0) && !puts<std::string>(0) && defines<double>(0) && !defines<std::string>(0));

// What takes them.
static void texts() {
    const std::vector<std::string> names{"Basel", "a text that is longer than those that are kept in the object"};
    auto g = ozarr::group::create("texts.zarr");
    g.create_array("names", ozarr::spec::of<std::string>({2})).write(names);
    CHECK(g.open_array("names").read<std::string>() == names);
    auto ds = ozarr::dataset::create("stations.zarr");
    ds.define_dimension("station", 2);
    ds.define_variable<std::string>("station", {"station"}).write(names);
    CHECK(ds.variable("station").read<std::string>() == names && ds.variables(true) == std::vector<std::string>{"station"});
    ds.close();
}

static void datasets() {
    auto ds = ozarr::dataset::create("ds.zarr");
    ds.define_coordinate("x", std::vector<double>{0.5, 1.5, 2.5}, "m");
    ds.define_time("time", 2, "hours since 2026-01-01").write(std::vector<std::int64_t>{0, 6});
    auto t = ds.define_variable<float>("t", {"time", "x"});
    t.set_attr("units", "K");
    ds.define_variable<int>("run", {});
    ds.set_coordinate("run");
    ds.as_group().set_attr("title", "from C++");
    THROWS(OZARR_ERR_NOT_FOUND, "", (void)ds.define_variable<int>("z", {"y"}));
    THROWS(OZARR_ERR_EXISTS, "", ds.define_dimension("x", 4));
    ozarr_variable v = OZARR_VARIABLE_INIT;
    const char *const along[] = {"x"};
    v.type = OZARR_INT8, v.rank = 1, v.dimensions = along, v.scale_factor = 0.5;
    CHECK(ds.define_variable("packed", v).attr<double>("scale_factor") == 0.5);
    ds.close();
    auto again = ozarr::dataset::open("ds.zarr");
    CHECK((again.variables() == std::vector<std::string>{"packed", "run", "t", "time", "x"}));
    CHECK((again.variables(true) == std::vector<std::string>{"run", "time", "x"}));
    auto dims = again.dimensions();
    CHECK(dims.size() == 2 && dims[0].name == "x" && dims[0].length == 3 && dims[1].name == "time" && dims[1].length == 2);
    CHECK(again.variable("t").attr<std::string>("units") == "K" && again.as_group().attr<std::string>("title") == "from C++");
}

int main() {
    children_are_a_range();
    texts();
    datasets();
    auto g = ozarr::group::create("attrs.zarr");
    attributes(g);
    auto a = ozarr::array::create<int>("attrs.zarr/a", {1});
    attributes(a);
    short_floats<float>(a);
#if defined(__STDCPP_FLOAT16_T__)
    short_floats<std::float16_t>(a);
#endif
#if defined(__STDCPP_BFLOAT16_T__)
    short_floats<std::bfloat16_t>(a);
#endif
    stores();
    return finish();
}
