// ozarr.hpp: groups. Part of ozarr.hpp, which includes it.
#ifndef OZARR_GROUP_HPP
#define OZARR_GROUP_HPP

#include <ozarr/array.hpp>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

/// A child of a group.
struct child {
    std::string name;
    node_kind kind = node_kind::none;
    /// Why it cannot be understood, if its kind is unknown.
    std::string error;
};

class group : public detail::node<ozarr_group> {
    using node = detail::node<ozarr_group>;

public:
    group() = default;
    /// Takes over a handle of the C library.
    explicit group(ozarr_group *h) noexcept : node(h) {}

    static returned<group> open(const std::string &location, const char *mode = "r") {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_open(location.c_str(), mode, &h));
        return group(h);
    }
    static returned<group> create(const std::string &location, existing flags = existing::fail) {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_create(location.c_str(), static_cast<ozarr_create_mode>(flags), &h));
        return group(h);
    }

    returned<array> open_array(const std::string &path) const {
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_open_array(h_, path.c_str(), &h));
        return array::adopt(h);
    }
    returned<group> open_group(const std::string &path) const {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_open_group(h_, path.c_str(), &h));
        return group(h);
    }
    returned<array> create_array(const std::string &path, const spec &s, existing flags = existing::fail) {
        OZARR_HPP_CHECK(s.problem());
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_create_array(h_, path.c_str(), s.get(), static_cast<ozarr_create_mode>(flags), &h));
        return array::adopt(h);
    }
    returned<group> create_group(const std::string &path, existing flags = existing::fail) {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_create_group(h_, path.c_str(), static_cast<ozarr_create_mode>(flags), &h));
        return group(h);
    }

    /// The children as they are now, sorted by name: `for (const ozarr::child &c : g.children()) …`
    returned<std::vector<child>> children() const {
        struct iter : detail::handle<ozarr_node_iter, ozarr_node_iter_free> {
            using handle::handle;
        };
        ozarr_node_iter *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_list_nodes(h_, nullptr, 1, &h));
        iter it(h);
        std::vector<child> all;
        for (bool more = false;;) {
            OZARR_HPP_TRY(ozarr_node_iter_next(h, &more));
            if (!more) return all;
            child c;
            ozarr_node_kind kind = 0;
            OZARR_HPP_TRY(ozarr_node_iter_kind(h, &kind));
            c.kind = static_cast<node_kind>(kind);
            OZARR_HPP_TRY(detail::text(c.name, [&](char *b, std::size_t n, std::size_t *l) { return ozarr_node_iter_name(h, b, n, l); }));
            OZARR_HPP_TRY(detail::text(c.error, [&](char *b, std::size_t n, std::size_t *l) { return ozarr_node_iter_error(h, b, n, l); }));
            all.push_back(std::move(c));
        }
    }
    /// Collects the metadata of everything below into one document.
    returned<void> consolidate() {
        OZARR_HPP_TRY(ozarr_group_consolidate(h_));
        return returned<void>();
    }
};

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_GROUP_HPP
