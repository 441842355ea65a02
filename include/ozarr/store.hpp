// ozarr.hpp: stores. Part of ozarr.hpp, which includes it.
#ifndef OZARR_STORE_HPP
#define OZARR_STORE_HPP

#include <ozarr_extend.h>
#include <ozarr/callback.hpp>
#include <ozarr/context.hpp>
#include <ozarr/group.hpp>

#include <memory>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

#ifndef OZARR_NO_EXCEPTIONS
/// A store of a program's own: derive from it, and give an object to `store::own`. Keys and prefixes come as in ozarr.h, "Stores of
/// your own". What is thrown becomes the error of the call that needed the store: an ozarr::error with its status, anything else
/// OZARR_ERR_CALLBACK. What `can()` does not promise is not called.
class own_store {
public:
    using bytes = std::vector<unsigned char>;

    virtual ~own_store() = default;
    /// What messages call it, where it is not empty. Stores of one name are one store to the locks that keep threads apart.
    virtual std::string name() const { return {}; }
    /// A sum of OZARR_STORE_CAN_WRITE, OZARR_STORE_CAN_ERASE, OZARR_STORE_CAN_LIST; and OZARR_CALLBACK_ANY_THREAD where any threads may call it at once.
    virtual std::uint32_t can() const { return 0; }
    /// All bytes of a key; nothing if it holds nothing.
    virtual std::optional<bytes> get(const std::string &key) = 0;
    virtual void put(const std::string &, const void *, std::size_t) { throw error(OZARR_ERR_UNSUPPORTED, "put"); }
    /// False if the key held nothing.
    virtual bool erase(const std::string &) { throw error(OZARR_ERR_UNSUPPORTED, "erase"); }
    virtual std::vector<std::string> list(const std::string &) { throw error(OZARR_ERR_UNSUPPORTED, "list"); }
    virtual void flush() {}
};

namespace detail {

inline own_store &own(void *user) { return *static_cast<own_store *>(user); }

/// The functions of an own_store as C calls them.
inline ozarr_store_table own_table(own_store &functions, const std::string &name) {
    ozarr_store_table t = OZARR_STORE_TABLE_INIT;
    const std::uint32_t can = functions.can();
    t.flags = can & OZARR_CALLBACK_ANY_THREAD;
    t.name = name.empty() ? nullptr : detail::c_text(name);
    t.user = &functions;
    t.destroy = [](void *user) { delete &own(user); };
    t.get = [](void *user, const char *key, ozarr_answer *answer) {
        return caught([&] {
            const auto value = own(user).get(key);
            return value ? ozarr_answer_put(answer, value->data(), value->size()) : OZARR_ERR_NOT_FOUND;
        });
    };
    if ((can & OZARR_STORE_CAN_WRITE) != 0)
        t.put = [](void *user, const char *key, const void *data, std::size_t size) {
            return caught([&] { return own(user).put(key, data, size), OZARR_OK; });
        };
    if ((can & OZARR_STORE_CAN_ERASE) != 0)
        t.erase = [](void *user, const char *key) {
            return caught([&] { return own(user).erase(key) ? OZARR_OK : OZARR_ERR_NOT_FOUND; });
        };
    if ((can & OZARR_STORE_CAN_LIST) != 0)
        t.list = [](void *user, const char *prefix, ozarr_keys *keys) {
            return caught([&]() -> ozarr_status {
                for (const std::string &key : own(user).list(prefix))
                    if (const ozarr_status status = ozarr_keys_add(keys, detail::c_text(key))) return status;
                return OZARR_OK;
            });
        };
    t.flush = [](void *user) { return caught([&] { return own(user).flush(), OZARR_OK; }); };
    return t;
}

} // namespace detail
#endif

/// A place that holds a hierarchy: a folder, or memory.
class store : public detail::handle<ozarr_store, ozarr_store_free> {
public:
    /// `options`: pairs of key and value, such as {{"file.sync", "each"}}.
    static returned<store> open(const std::string &location, const char *mode = "r",
                                const std::vector<std::pair<std::string, std::string>> &options = {}, const context *settings = nullptr) {
        if (settings != nullptr) OZARR_HPP_CHECK(settings->empty());
        std::vector<const char *> list;
        for (const auto &option : options) {
            list.push_back(detail::c_text(option.first));
            list.push_back(detail::c_text(option.second));
        }
        list.push_back(nullptr);
        store s;
        OZARR_HPP_TRY(ozarr_store_open_ex(settings == nullptr ? nullptr : settings->get(), detail::c_text(location), mode, list.data(), &s.h_));
        return s;
    }
    /// Takes over a handle of the C library.
    static store adopt(ozarr_store *handle) {
        store s;
        s.h_ = handle;
        return s;
    }
#ifndef OZARR_NO_EXCEPTIONS
    /// A store of the program's own functions. The object lives as long as any handle on the store.
    static store own(std::unique_ptr<own_store> functions, const char *mode = "r+", const context *settings = nullptr) {
        if (!functions) throw error(OZARR_ERR_NULL, "the store has no functions");
        if (settings != nullptr) OZARR_HPP_CHECK(settings->empty());
        const std::string name = functions->name();
        const ozarr_store_table table = detail::own_table(*functions, name);
        store s;
        OZARR_HPP_TRY(ozarr_store_from_table(settings == nullptr ? nullptr : settings->get(), &table, mode, &s.h_));
        static_cast<void>(functions.release());
        return s;
    }
#endif
    /// What lies below a path of this store, as a store of its own; all of it if the path is empty.
    returned<store> below(const std::string &path, const char *mode = "r") const {
        store s;
        OZARR_HPP_TRY(ozarr_store_below(h_, detail::c_text(path), mode, &s.h_));
        return s;
    }
    /// This store behind a cache of so many bytes in memory.
    returned<store> cached(std::size_t bytes, const char *mode = "r") const {
        store s;
        OZARR_HPP_TRY(ozarr_store_cached(h_, bytes, mode, &s.h_));
        return s;
    }

    /// An empty store in memory.
    static returned<store> memory() {
        store s;
        OZARR_HPP_TRY(ozarr_store_memory(&s.h_));
        return s;
    }

    returned<array> open_array(const std::string &path) const {
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_array_open_at(h_, detail::c_text(path), &h));
        return array::adopt(h);
    }
    returned<group> open_group(const std::string &path) const {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_open_at(h_, detail::c_text(path), &h));
        return group(h);
    }
    returned<array> create_array(const std::string &path, const spec &s, existing flags = existing::fail) {
        OZARR_HPP_CHECK(s.problem());
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_array_create_at(h_, detail::c_text(path), s.get(), static_cast<ozarr_create_mode>(flags), &h));
        return array::adopt(h);
    }
    /// `zarr_format`: 2, 3, or 0 for that of the group above.
    returned<group> create_group(const std::string &path, existing flags = existing::fail, int zarr_format = 0) {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_create_at(h_, detail::c_text(path), zarr_format, static_cast<ozarr_create_mode>(flags), &h));
        return group(h);
    }
    /// Opens what exported() of a node gave, without reading metadata.
    returned<any_node> import_node(const std::vector<unsigned char> &bytes) const {
        return detail::either([&](ozarr_array **a, ozarr_group **g) { return ozarr_node_import_at(h_, bytes.data(), bytes.size(), a, g); });
    }
    /// The kind of the node at a path; nothing is no error.
    returned<node_kind> kind(const std::string &path) const {
        ozarr_node_kind k = 0;
        OZARR_HPP_TRY(ozarr_store_node_kind(h_, detail::c_text(path), &k));
        return static_cast<node_kind>(k);
    }
    /// Erases a node with everything below it.
    returned<void> erase(const std::string &path) {
        return detail::checked(ozarr_store_node_erase(h_, detail::c_text(path)));
    }
    returned<void> flush() {
        return detail::checked(ozarr_store_flush(h_));
    }
    /// Flushes and frees; the handle is empty afterwards.
    returned<void> close() {
        return detail::checked(ozarr_store_close(release()));
    }
};

/// Erases the node at a location, with everything below it.
inline returned<void> erase(const std::string &location) {
    return detail::checked(ozarr_node_erase(detail::c_text(location)));
}

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_STORE_HPP
