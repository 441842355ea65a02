// ozarr.hpp: what arrays and groups have in common: closing, documents, attributes. Part of ozarr.hpp, which includes it.
#ifndef OZARR_NODE_HPP
#define OZARR_NODE_HPP

#include <ozarr/types.hpp>

#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

namespace detail {

inline void free_node(ozarr_array *a) noexcept { ozarr_array_free(a); }
inline void free_node(ozarr_group *g) noexcept { ozarr_group_free(g); }
inline ozarr_status close_node(ozarr_array *a) noexcept { return ozarr_array_close(a); }
inline ozarr_status close_node(ozarr_group *g) noexcept { return ozarr_group_close(g); }
inline ozarr_node *as_node(const ozarr_array *a) noexcept { return ozarr_array_node(a); }
inline ozarr_node *as_node(const ozarr_group *g) noexcept { return ozarr_group_node(g); }

/// The `ozarr_type` of a number's C++ type.
template <class T>
constexpr ozarr_type number_type() {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8, "an integer or floating-point type of up to 8 bytes");
    // Two types have two bytes: std::float16_t and std::bfloat16_t.
    if constexpr (std::is_floating_point_v<T> && sizeof(T) < 4) return static_cast<ozarr_type>(type_of<T>::value);
    else if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? OZARR_FLOAT32 : OZARR_FLOAT64;
    else if constexpr (std::is_signed_v<T>) return sizeof(T) == 1 ? OZARR_INT8 : sizeof(T) == 2 ? OZARR_INT16 : sizeof(T) == 4 ? OZARR_INT32 : OZARR_INT64;
    else return sizeof(T) == 1 ? OZARR_UINT8 : sizeof(T) == 2 ? OZARR_UINT16 : sizeof(T) == 4 ? OZARR_UINT32 : OZARR_UINT64;
}

/// Whether `T` is a `std::vector` of what attributes hold in lists.
template <class T>
struct attr_list : std::false_type {};
template <class T>
struct attr_list<std::vector<T>> : std::bool_constant<(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) || std::is_same_v<T, std::string>> {
    using item = T;
};

/// What arrays and groups have in common: closing, the document, attributes.
template <class H>
class node : public handle<H, free_node> {
    using base = handle<H, free_node>;

protected:
    using base::h_;

public:
    using base::base;

    /// Makes durable what was written.
    returned<void> flush() {
        return detail::checked(ozarr_node_flush(as_node(h_)));
    }
    /// Flushes and frees; the handle is empty afterwards, whatever comes. The destructor frees only.
    returned<void> close() {
        return detail::checked(close_node(this->release()));
    }
    /// Reads the documents again: shape, attributes and all else may have been changed by others.
    returned<void> refresh() {
        return detail::checked(ozarr_node_refresh(as_node(h_), nullptr, 0));
    }
    /// The path in the store; empty for the root.
    returned<std::string> path() const {
        return text_of([&](char *b, std::size_t n, std::size_t *l) { return ozarr_node_path(as_node(h_), b, n, l); });
    }
    /// The metadata document as JSON.
    returned<std::string> metadata() const {
        return text_of([&](char *b, std::size_t n, std::size_t *l) { return ozarr_node_metadata(as_node(h_), b, n, l); });
    }
    /// 2 or 3.
    returned<int> zarr_format() const {
        std::int32_t format = 0;
        OZARR_HPP_TRY(ozarr_node_zarr_format(as_node(h_), &format));
        return format;
    }
    /// Changes a rarely used setting of this handle, such as "write_fill_chunks", "chunk_cache" or "write_back".
    returned<void> set(const std::string &key, const std::string &value) {
        return detail::checked(ozarr_node_set(as_node(h_), detail::c_text(key), detail::c_text(value)));
    }
    /// By an integer; else a 0 would be a text that is nowhere.
    template <class Int, class = std::enable_if_t<std::is_integral_v<Int>>>
    returned<void> set(const std::string &key, Int value) {
        return set(key, std::to_string(value));
    }
    /// The value of a setting of this handle; see ozarr_node_get.
    returned<std::string> setting(const std::string &key) const {
        return text_of([&](char *b, std::size_t n, std::size_t *l) { return ozarr_node_get(as_node(h_), detail::c_text(key), b, n, l); });
    }

    /// The metadata, a group's with those of all below it, for import_node in other processes: one reads and sends them to the others.
    returned<std::vector<unsigned char>> exported() const {
        std::string bytes;
        OZARR_HPP_TRY(text(bytes, [&](char *b, std::size_t n, std::size_t *l) { return ozarr_node_export(as_node(h_), b, n, l); }));
        return std::vector<unsigned char>(bytes.begin(), bytes.end());
    }

    /// The names of all attributes, in the order of the document.
    returned<std::vector<std::string>> attr_names() const {
        std::int64_t count = 0;
        OZARR_HPP_TRY(ozarr_attr_count(as_node(h_), &count));
        std::vector<std::string> names(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; i++)
            OZARR_HPP_TRY(text(names[static_cast<std::size_t>(i)],
                               [&](char *b, std::size_t n, std::size_t *l) { return ozarr_attr_name(as_node(h_), i, b, n, l); }));
        return names;
    }
    returned<bool> has_attr(const std::string &name) const {
        ozarr_json_kind kind = 0;
        ozarr_status status = ozarr_attr_kind(as_node(h_), detail::c_text(name), &kind);
        if (status == OZARR_ERR_NOT_FOUND) return false;
        OZARR_HPP_TRY(status);
        return true;
    }
    returned<json_kind> attr_kind(const std::string &name) const {
        ozarr_json_kind kind = 0;
        OZARR_HPP_TRY(ozarr_attr_kind(as_node(h_), detail::c_text(name), &kind));
        return static_cast<json_kind>(kind);
    }

    /// The value of an attribute as bool, an integer type, a floating type, std::string, or a std::vector of numbers or strings (which
    /// also takes a single one). One of another kind is an error, and so is a number that does not fit.
    template <class T>
    returned<T> attr(const std::string &name) const {
        static_assert(std::is_arithmetic_v<T> || std::is_same_v<T, std::string> || attr_list<T>::value,
                      "attributes are bool, integers, floating point, std::string, or vectors of numbers or strings; else attr_json()");
        T value{};
        OZARR_HPP_TRY(fetch(detail::c_text(name), value));
        return value;
    }
    /// The value of an attribute of any kind, as JSON.
    returned<std::string> attr_json(const std::string &name) const {
        return text_of([&](char *b, std::size_t n, std::size_t *l) { return ozarr_attr_get_json(as_node(h_), detail::c_text(name), b, n, l); });
    }
    /// All attributes, as one JSON object.
    returned<std::string> attrs_json() const {
        return text_of([&](char *b, std::size_t n, std::size_t *l) { return ozarr_attrs_get(as_node(h_), b, n, l); });
    }

    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    returned<void> set_attr(const std::string &name, T value) {
        if constexpr (std::is_same_v<T, bool>) {
            OZARR_HPP_TRY(ozarr_attr_set_bool(as_node(h_), detail::c_text(name), value));
        } else if constexpr (sizeof(T) > 8) {
            OZARR_HPP_TRY(ozarr_attr_set_double(as_node(h_), detail::c_text(name), static_cast<double>(value)));
        } else {
            OZARR_HPP_TRY(ozarr_attr_set_numbers(as_node(h_), detail::c_text(name), number_type<T>(), &value, OZARR_SINGLE));
        }
        return returned<void>();
    }
    // A template, so that a list in braces is never taken for the letters of a text. Pointers, which may be null, are not for it.
    template <class Text,
              class = std::enable_if_t<std::is_convertible_v<const Text &, std::string> && !std::is_convertible_v<const Text &, const char *>>,
              class = void>
    returned<void> set_attr(const std::string &name, const Text &text) {
        const std::string &value = text;
        OZARR_HPP_CHECK(no_nul(value));
        return detail::checked(ozarr_attr_set_string(as_node(h_), detail::c_text(name), detail::c_text(value)));
    }
    returned<void> set_attr(const std::string &name, const char *value) {
        return detail::checked(ozarr_attr_set_string(as_node(h_), detail::c_text(name), value));
    }
    /// Sets an attribute to a list of numbers or of strings: a vector, or a list in braces, {0, 500}.
    template <class T, class = std::enable_if_t<attr_list<std::vector<T>>::value>>
    returned<void> set_attr(const std::string &name, const std::vector<T> &values) {
        return set_list(name, values.data(), values.size());
    }
    // Lists in braces of literals and strings, too.
    returned<void> set_attr(const std::string &name, const std::vector<std::string> &values) { return set_list(name, values.data(), values.size()); }
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T> || std::is_same_v<T, std::string>>>
    returned<void> set_attr(const std::string &name, std::initializer_list<T> values) {
        static_assert(!std::is_same_v<T, bool>, "a list of bool is set as JSON: set_attr_json(name, \"[true, false]\")");
        return set_list(name, values.begin(), values.size());
    }
    returned<void> set_attr(const std::string &name, std::initializer_list<const char *> values) {
        return detail::checked(ozarr_attr_set_strings(as_node(h_), detail::c_text(name), values.begin(), static_cast<std::int64_t>(values.size())));
    }
    /// Sets an attribute to any value, given as JSON.
    returned<void> set_attr_json(const std::string &name, const std::string &json) {
        return detail::checked(ozarr_attr_set_json(as_node(h_), detail::c_text(name), detail::c_text(json)));
    }
    /// Replaces all attributes by those of a JSON object.
    returned<void> set_attrs_json(const std::string &json) {
        return detail::checked(ozarr_attrs_set(as_node(h_), detail::c_text(json)));
    }
    returned<void> erase_attr(const std::string &name) {
        return detail::checked(ozarr_attr_erase(as_node(h_), detail::c_text(name)));
    }
    /// From here on setters are collected; commit_attrs() stores them in one write.
    returned<void> begin_attrs() {
        return detail::checked(ozarr_attrs_begin(as_node(h_)));
    }
    returned<void> commit_attrs() {
        return detail::checked(ozarr_attrs_commit(as_node(h_)));
    }

private:
    ozarr_status fetch(const char *name, bool &value) const { return ozarr_attr_get_bool(as_node(h_), name, &value); }
    ozarr_status fetch(const char *name, std::string &value) const {
        return text(value, [&](char *b, std::size_t n, std::size_t *l) { return ozarr_attr_get_string(as_node(h_), name, b, n, l); });
    }
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    ozarr_status fetch(const char *name, T &value) const {
        std::int64_t count = 0;
        ozarr_json_kind kind = 0;
        ozarr_status status = ozarr_attr_kind(as_node(h_), name, &kind);
        if (status != OZARR_OK) return status;
        // Of a list the error of the getters for one number is wanted.
        if (kind == OZARR_JSON_KIND_ARRAY) {
            double none = 0;
            return ozarr_attr_get_double(as_node(h_), name, &none);
        }
        if constexpr (sizeof(T) > 8) {
            double found = 0;
            status = ozarr_attr_get_double(as_node(h_), name, &found);
            value = found;
            return status;
        } else {
            return ozarr_attr_get_numbers(as_node(h_), name, number_type<T>(), &value, 1, &count);
        }
    }
    template <class T>
    ozarr_status fetch(const char *name, std::vector<T> &values) const {
        std::int64_t count = 0;
        ozarr_status status = ozarr_attr_get_numbers(as_node(h_), name, number_type<T>(), nullptr, 0, &count);
        if (status != OZARR_OK) return status;
        values.resize(static_cast<std::size_t>(count));
        status = ozarr_attr_get_numbers(as_node(h_), name, number_type<T>(), values.data(), count, &count);
        // Another thread may have set fewer in between.
        if (status == OZARR_OK) values.resize(static_cast<std::size_t>(count));
        return status;
    }
    ozarr_status fetch(const char *name, std::vector<std::string> &values) const {
        std::int64_t count = 0;
        std::string all;
        ozarr_status status =
            text(all, [&](char *b, std::size_t n, std::size_t *l) { return ozarr_attr_get_strings(as_node(h_), name, b, n, l, &count); });
        for (std::size_t at = 0; status == OZARR_OK && count > 0; count--) {
            std::size_t end = all.find('\0', at);
            values.push_back(all.substr(at, end == std::string::npos ? end : end - at));
            at = end + 1;
        }
        return status;
    }

    template <class T>
    returned<void> set_list(const std::string &name, const T *values, std::size_t count) {
        return detail::checked(ozarr_attr_set_numbers(as_node(h_), detail::c_text(name), number_type<T>(), values, static_cast<std::int64_t>(count)));
    }
    returned<void> set_list(const std::string &name, const std::string *values, std::size_t count) {
        std::vector<const char *> pointers;
        for (std::size_t i = 0; i < count; i++) {
            OZARR_HPP_CHECK(no_nul(values[i]));
            pointers.push_back(detail::c_text(values[i]));
        }
        return detail::checked(ozarr_attr_set_strings(as_node(h_), detail::c_text(name), pointers.data(), static_cast<std::int64_t>(pointers.size())));
    }
    static problem no_nul(const std::string &value) {
        std::size_t at = value.find('\0');
        if (at == std::string::npos) return {};
        return ozarr::error(OZARR_ERR_ARGUMENT, "the text has a NUL at byte " + std::to_string(at) + ", expected none");
    }
};

} // namespace detail

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_NODE_HPP
