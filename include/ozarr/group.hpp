// ozarr.hpp: groups. Part of ozarr.hpp, which includes it.
#ifndef OZARR_GROUP_HPP
#define OZARR_GROUP_HPP

#include <ozarr/array.hpp>

#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

/// A child of a group.
struct child {
    std::string name;
    node_kind kind = node_kind::none;
    /// Why it cannot be understood, if its kind is unknown.
    std::string error;
};

namespace detail {
/// The nodes under the cursor that `open(&cursor)` makes.
template <class F>
returned<std::vector<child>> listed(F open) {
    ozarr_node_iter *h = nullptr;
    OZARR_HPP_TRY(open(&h));
    const handle<ozarr_node_iter, ozarr_node_iter_free> owned(h);
    std::vector<child> all;
    for (bool more = false;;) {
        OZARR_HPP_TRY(ozarr_node_iter_next(h, &more));
        if (!more) return all;
        child c;
        ozarr_node_kind kind = 0;
        OZARR_HPP_TRY(ozarr_node_iter_kind(h, &kind));
        c.kind = static_cast<node_kind>(kind);
        OZARR_HPP_TRY(text(c.name, [&](char *b, std::size_t n, std::size_t *l) { return ozarr_node_iter_name(h, b, n, l); }));
        OZARR_HPP_TRY(text(c.error, [&](char *b, std::size_t n, std::size_t *l) { return ozarr_node_iter_error(h, b, n, l); }));
        all.push_back(std::move(c));
    }
}
} // namespace detail

class group : public detail::node<ozarr_group> {
    using node = detail::node<ozarr_group>;

public:
    group() = default;
    /// Takes over a handle of the C library.
    explicit group(ozarr_group *h) noexcept : node(h) {}

    static returned<group> open(const std::string &location, const char *mode = "r") {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_open(detail::c_text(location), mode, &h));
        return group(h);
    }
    /// Of format 3; of format 2 it is `dataset::create(location, flags, 2)` and its `as_group()`, or a store's `create_group`.
    static returned<group> create(const std::string &location, existing flags = existing::fail) {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_create(detail::c_text(location), static_cast<ozarr_create_mode>(flags), &h));
        return group(h);
    }

    returned<array> open_array(const std::string &path) const {
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_open_array(h_, detail::c_text(path), &h));
        return array::adopt(h);
    }
    returned<group> open_group(const std::string &path) const {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_open_group(h_, detail::c_text(path), &h));
        return group(h);
    }
    returned<array> create_array(const std::string &path, const spec &s, existing flags = existing::fail) {
        OZARR_HPP_CHECK(s.problem());
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_create_array(h_, detail::c_text(path), s.get(), static_cast<ozarr_create_mode>(flags), &h));
        return array::adopt(h);
    }
    returned<group> create_group(const std::string &path, existing flags = existing::fail) {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_create_group(h_, detail::c_text(path), static_cast<ozarr_create_mode>(flags), &h));
        return group(h);
    }

    /// The children as they are now, sorted by name: `for (const ozarr::child &c : g.children()) …`
    returned<std::vector<child>> children() const { return nodes(nullptr, 1); }
    /// The nodes below, down to so many levels (negative: all) that fit a pattern such as "*/t" (nullptr: all), sorted by path.
    returned<std::vector<child>> nodes(const char *pattern, int depth = -1) const {
        return detail::listed([&](ozarr_node_iter **out) { return ozarr_group_list_nodes(h_, pattern, depth, out); });
    }
    /// Creates an array at a path below and writes it, from `size` elements at `data`; or from a vector.
    template <class T>
    returned<void> put(const std::string &path, const index &shape, const T *data, std::size_t size) {
        if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) size = std::numeric_limits<std::size_t>::max() / sizeof(T);
        const auto rank = static_cast<std::int32_t>(shape.size() <= index::max_rank ? shape.size() : index::max_rank + 1);
        return detail::checked(ozarr_group_put(h_, detail::c_text(path), static_cast<ozarr_type>(type_of<T>::value), rank, shape.data(), data, size * sizeof(T)));
    }
    template <class T>
    returned<void> put(const std::string &path, const index &shape, const std::vector<T> &data) {
        if (shape.size() <= index::max_rank) OZARR_HPP_CHECK(detail::no_more(data.size(), shape));
        return put(path, shape, data.data(), data.size());
    }
    /// Not texts: create_array(path, ozarr::spec::of<std::string>(shape)).write(texts) takes them.
    returned<void> put(const std::string &path, const index &shape, const std::vector<std::string> &data) = delete;
    returned<void> put(const std::string &path, const index &shape, const std::string *data, std::size_t size) = delete;
    /// Reads all of the array at a path below, to `size` elements at `data`.
    template <class T>
    returned<void> get(const std::string &path, T *data, std::size_t size) const {
        if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) size = std::numeric_limits<std::size_t>::max() / sizeof(T);
        return detail::checked(ozarr_group_get(h_, detail::c_text(path), static_cast<ozarr_type>(type_of<T>::value), data, size * sizeof(T)));
    }
    using detail::node<ozarr_group>::get;
    /// Moves the node at a path to another path below this group.
    returned<void> rename(const std::string &path, const std::string &to) { return detail::checked(ozarr_group_rename(h_, detail::c_text(path), detail::c_text(to))); }
    /// Erases the node at a path, with everything below it.
    returned<void> erase(const std::string &path) { return detail::checked(ozarr_group_erase(h_, detail::c_text(path))); }
    /// Collects the metadata of everything below into one document.
    returned<void> consolidate() {
        return detail::checked(ozarr_group_consolidate(h_));
    }
};

/// A group that is there as a whole or not at all: begun under a name, filled, committed. Destroyed before that, it is not there.
class checkpoint : public group {
public:
    checkpoint() = default;
    static returned<checkpoint> begin(const std::string &location, const std::string &name) {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_checkpoint_begin(detail::c_text(location), detail::c_text(name), &h));
        return checkpoint(h);
    }
    /// Makes it durable, and there for everybody, at once. Close its arrays and groups before.
    returned<void> commit() { return detail::checked(ozarr_checkpoint_commit(release())); }
    /// Not closed, which would give up what was written: committed or abandoned.
    returned<void> close() = delete;
    /// Removes what was written of it.
    returned<void> abandon() { return detail::checked(ozarr_checkpoint_abandon(release())); }

    /// The newest one that was committed, for reading; OZARR_ERR_NOT_FOUND if there is none.
    static returned<group> latest(const std::string &location) {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_checkpoint_latest(detail::c_text(location), &h));
        return group(h);
    }
    /// All that were committed, the oldest first.
    static returned<std::vector<child>> list(const std::string &location) {
        return detail::listed([&](ozarr_node_iter **out) { return ozarr_checkpoint_list(detail::c_text(location), out); });
    }
    /// Removes all but the newest `keep`.
    static returned<void> prune(const std::string &location, std::int64_t keep) { return detail::checked(ozarr_checkpoint_prune(detail::c_text(location), keep)); }

private:
    explicit checkpoint(ozarr_group *h) noexcept : group(h) {}
};

/// An array or a group.
using any_node = std::variant<array, group>;

namespace detail {
/// The node whose handle `open(&array, &group)` puts to the one or the other.
template <class F>
returned<any_node> either(F open) {
    ozarr_array *a = nullptr;
    ozarr_group *g = nullptr;
    OZARR_HPP_TRY(open(&a, &g));
    if (a == nullptr) return any_node(group(g));
    auto made = array::adopt(a);
#ifdef OZARR_NO_EXCEPTIONS
    if (!made) return made.error();
    return any_node(*std::move(made));
#else
    return any_node(std::move(made));
#endif
}
} // namespace detail

/// Opens what a location holds: `std::get_if<ozarr::array>(&node)`.
inline returned<any_node> open_node(const std::string &location, const char *mode = "r") {
    return detail::either([&](ozarr_array **a, ozarr_group **g) { return ozarr_node_open(detail::c_text(location), mode, a, g); });
}
/// Opens what exported() gave, in the store at a location, without reading metadata.
inline returned<any_node> import_node(const std::string &location, const std::vector<unsigned char> &bytes, const char *mode = "r") {
    return detail::either([&](ozarr_array **a, ozarr_group **g) { return ozarr_node_import(detail::c_text(location), mode, bytes.data(), bytes.size(), a, g); });
}

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_GROUP_HPP
