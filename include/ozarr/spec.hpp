// ozarr.hpp: data types and specifications of arrays. Part of ozarr.hpp, which includes it.
#ifndef OZARR_SPEC_HPP
#define OZARR_SPEC_HPP

#include <ozarr_advanced.h>
#include <ozarr/types.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

namespace detail {
/// The lengths of an array type, and a 1 behind them.
template <class M, std::size_t... Dimensions>
constexpr std::array<std::int64_t, sizeof...(Dimensions) + 1> lengths(std::index_sequence<Dimensions...>) {
    return {{static_cast<std::int64_t>(std::extent_v<M, Dimensions>)..., 1}};
}
} // namespace detail

/// What an element is, where no C++ type says it: structs, text, times. A program's own struct is described member by member:
/// `auto d = ozarr::dtype::struct_of<particle>(); d.field("x", &particle::x).field("v", &particle::v);`, where numbers and arrays of numbers
/// know their types.
class dtype : public detail::chained<ozarr_dtype, ozarr_dtype_free> {
public:
    /// Takes over a handle of the C library.
    explicit dtype(ozarr_dtype *h) noexcept : chained(h) {}
    /// From a text: `"<M8[s]"`, `"float64"`, `"double"`, JSON of a metadata document; `format` 2 or 3 takes that format's only.
    static dtype parse(const std::string &text, int format = 0) {
        dtype d(nullptr);
        d.made(ozarr_dtype_parse(detail::c_text(text), format, &d.h_));
        return d;
    }
    /// The type of numbers T.
    template <class T>
    static dtype of() {
        dtype d(nullptr);
        d.made(ozarr_dtype_of(static_cast<ozarr_type>(type_of<T>::value), &d.h_));
        return d;
    }
    /// Text of `size` bytes in memory, padded with NUL or blanks.
    static dtype chars(std::size_t size, char pad = '\0') {
        dtype d(nullptr);
        d.made(ozarr_dtype_chars(size, pad, &d.h_));
        return d;
    }
    /// A struct S, without fields yet.
    template <class S>
    static dtype struct_of() {
        dtype d(nullptr);
        d.made(ozarr_dtype_struct(sizeof(S), &d.h_));
        d.class_ = &class_of<S>;
        d.class_name_ = class_name<S>();
        return d;
    }
    /// Adds a member that is a number, or an array of numbers. One that a struct P has from a base: `field<P>("x", &P::x)`.
    template <class Struct = void, class S, class M>
    dtype &field(const std::string &name, M S::*member) {
        static_assert(!std::is_same_v<std::remove_all_extents_t<M>, std::string>, "text in a struct is an array of char: give ozarr::dtype::chars as its type");
        return field<Struct>(name, member, of<std::remove_cv_t<std::remove_all_extents_t<M>>>());
    }
    /// Adds a member of that type, whose size has to be the member's; of an array, that of its values or (text, say) of its rows.
    template <class Struct = void, class S, class M>
    dtype &field(const std::string &name, M S::*member, const dtype &type) {
        // The type of &P::x is that of a member of the base where P has x from one: its place there is not that in P.
        using owner = std::conditional_t<std::is_void_v<Struct>, S, Struct>;
        M owner::*const inside = member;
        alignas(owner) unsigned char place[sizeof(owner)] = {};
        const auto *first = reinterpret_cast<const unsigned char *>(std::addressof(reinterpret_cast<const owner *>(place)->*inside));
        const auto lengths = detail::lengths<M>(std::make_index_sequence<std::rank_v<M>>());
        std::size_t size = 0;
        if (type.problem()) fail(*type.problem());
        else if (h_ == nullptr || !type) fail(error(OZARR_ERR_NULL, "the field \"" + name + "\": the " + (h_ == nullptr ? "struct" : "field's type") + " is empty"));
        if (class_ != nullptr && class_ != &class_of<owner> && !is_named(class_name<owner>()))
            fail(error(OZARR_ERR_ARGUMENT, "the field \"" + name + "\": the member is one of another class than the struct; expected field<P>(name, &P::member) of the struct P"));
        if (problem() || h_ == nullptr || !type) return *this;
        made(ozarr_dtype_item_size(type.get(), &size));
        // Goes outwards from single values until there are as many bytes as the type has.
        std::size_t rank = std::rank_v<M>, found = sizeof(std::remove_all_extents_t<M>);
        while (rank > 0 && found < size) found *= static_cast<std::size_t>(lengths[--rank]);
        if (found != size) {
            fail(error(OZARR_ERR_TYPE, "the field \"" + name + "\": the member has " + std::to_string(sizeof(M)) + " bytes, in values of " +
                                           std::to_string(sizeof(std::remove_all_extents_t<M>)) + "; expected values of " + std::to_string(size) +
                                           " bytes, those of its type"));
            return *this;
        }
        if (found == sizeof(M)) rank = 0;
        made(ozarr_dtype_add_field(h_, detail::c_text(name), static_cast<std::size_t>(first - place), type.get(), static_cast<std::int32_t>(rank), lengths.data()));
        return *this;
    }
    /// As a metadata document of that format has it.
    returned<std::string> to_json(int format) const {
        OZARR_HPP_CHECK(problem());
        std::string out;
        OZARR_HPP_TRY(detail::text(out, [&](char *b, std::size_t n, std::size_t *l) { return ozarr_dtype_to_json(h_, format, b, n, l); }));
        return out;
    }
    /// The bytes of one element.
    returned<std::size_t> item_size() const {
        OZARR_HPP_CHECK(problem());
        std::size_t bytes = 0;
        OZARR_HPP_TRY(ozarr_dtype_item_size(h_, &bytes));
        return bytes;
    }

private:
    /// Its address says which class a struct is. (Not constant: linkers may put constants that are alike into one place.)
    template <class S>
    static inline char class_of = 0;
    /// Says it between a program and a library, too, of which each has an address of its own where symbols are hidden: the class as the compiler writes it.
    template <class S>
    static const char *class_name() noexcept {
#ifdef _MSC_VER
        return __FUNCSIG__;
#else
        return __PRETTY_FUNCTION__;
#endif
    }
    /// Whether the struct is of the class of that name. One of an unnamed namespace ("{anonymous}", "(anonymous namespace)", "`anonymous-namespace'",
    /// "<unnamed>") is another one in each file.
    bool is_named(const char *name) const noexcept {
        return std::strcmp(class_name_, name) == 0 && std::strstr(name, "anonymous") == nullptr && std::strstr(name, "<unnamed>") == nullptr;
    }
    const char *class_ = nullptr, *class_name_ = nullptr;
};

/// What an array to be created is like. Setters return a reference to the spec: chain them in the call that takes it, as in
/// `array::create("run.zarr/t", ozarr::spec::of<float>({0, 720}).chunks({1, 720}).compressor("zstd", 5))`, or call them on a named
/// one: `auto s = ozarr::spec::of<float>({0, 720}); s.chunks({1, 720}).fill_value(NAN);`.
class spec : public detail::chained<ozarr_spec, ozarr_spec_free> {
public:
    spec(type t, const index &shape) {
        // A list that is too long says so by its rank.
        rank_ = static_cast<std::int32_t>(shape.size() <= index::max_rank ? shape.size() : index::max_rank + 1);
        made(ozarr_spec_new(static_cast<ozarr_type>(t), rank_, shape.data(), &h_));
    }
    spec(const dtype &d, const index &shape) {
        rank_ = static_cast<std::int32_t>(shape.size() <= index::max_rank ? shape.size() : index::max_rank + 1);
        if (d.problem()) fail(*d.problem());
        else made(ozarr_spec_new_dtype(d.get(), rank_, shape.data(), &h_));
    }
    /// A specification for elements of type T.
    template <class T>
    static spec of(const index &shape) { return spec(type_of<T>::value, shape); }
    /// A specification from a metadata document, as of array::metadata(). Its chunks and names are what stands there.
    static spec from_json(const std::string &document) {
        spec s;
        s.made(ozarr_spec_from_json(detail::c_text(document), &s.h_));
        return s;
    }

    spec &chunks(const index &shape) { return ranked("chunk shape", shape.size()) ? set(ozarr_spec_set_chunks(h_, shape.data())) : *this; }
    /// Chunks of uneven extents along dimension `dim`, in all at least the array's length there (a rectilinear grid).
    spec &chunk_extents(int dim, const std::vector<std::int64_t> &extents) {
        return set(ozarr_spec_set_chunk_extents(h_, dim, extents.data(), static_cast<std::int64_t>(extents.size())));
    }
    spec &inner_chunks(const index &shape) {
        return ranked("inner chunk shape", shape.size()) ? set(ozarr_spec_set_inner_chunks(h_, shape.data())) : *this;
    }
    template <class T>
    spec &fill_value(const T &value) { return set(ozarr_spec_set_fill_value(h_, static_cast<ozarr_type>(type_of<T>::value), &value)); }
    spec &fill_json(const std::string &json) { return set(ozarr_spec_set_member_json(h_, "fill_value", detail::c_text(json))); }
    /// One name for each dimension; an empty one is none.
    spec &dimension_names(const std::vector<std::string> &names) {
        if (!ranked("list of names", names.size())) return *this;
        return set(ozarr_spec_set_dimension_names(h_, detail::dimension_names(names, true).list));
    }
    spec &zarr_format(int format) { return set(ozarr_spec_set_zarr_format(h_, format)); }
    spec &order(ozarr_order order) { return set(ozarr_spec_set_order(h_, order)); }
    spec &big_endian(bool big = true) { return set(ozarr_spec_set_big_endian(h_, big)); }
    spec &separator(char separator) {
        const char text[] = {separator, 0};
        return set(ozarr_spec_set_separator(h_, text));
    }
    spec &compressor(const std::string &name, int level = -1) { return set(ozarr_spec_set_compressor(h_, detail::c_text(name), level)); }
    spec &shape(const index &shape) { return ranked("shape", shape.size()) ? set(ozarr_spec_set_shape(h_, shape.data())) : *this; }
    spec &shuffle(ozarr_shuffle shuffle) { return set(ozarr_spec_set_shuffle(h_, shuffle)); }
    spec &keep_bits(int bits) { return set(ozarr_spec_set_keep_bits(h_, bits)); }
    spec &zfp(ozarr_zfp mode, double parameter = 0) { return set(ozarr_spec_set_zfp(h_, mode, parameter)); }
    spec &checksum(bool checksum = true) { return set(ozarr_spec_set_checksum(h_, checksum)); }
    /// A member of the metadata document, such as `codecs`, `compressor` or `filters`.
    spec &member_json(const std::string &name, const std::string &json) { return set(ozarr_spec_set_member_json(h_, detail::c_text(name), detail::c_text(json))); }
    spec &attributes_json(const std::string &json) { return set(ozarr_spec_set_member_json(h_, "attributes", detail::c_text(json))); }

    /// Chunks are no shards any more.
    spec &no_inner_chunks() { return set(ozarr_spec_set_inner_chunks(h_, nullptr)); }
    /// Changes the type of the elements; the fill value is converted.
    spec &element_type(type t) { return set(ozarr_spec_set_type(h_, static_cast<ozarr_type>(t))); }
    /// The fill value as `size` bytes that are as `what` says.
    spec &fill_value(const dtype &what, const void *value, std::size_t size) {
        if (what.problem()) fail(*what.problem());
        return set(ozarr_spec_set_fill_dtype(h_, what.get(), value, size));
    }
    /// Sets chunks of a suggested shape, and gives a text that explains the choice.
    returned<std::string> suggest() {
        OZARR_HPP_CHECK(problem());
        return detail::text_of([&](char *b, std::size_t n, std::size_t *l) { return ozarr_spec_suggest(h_, b, n, l); });
    }

    /// The metadata document that an array created now would have.
    returned<std::string> to_json() const {
        OZARR_HPP_CHECK(problem());
        std::string out;
        OZARR_HPP_TRY(detail::text(out, [&](char *b, std::size_t n, std::size_t *l) { return ozarr_spec_to_json(h_, b, n, l); }));
        return out;
    }

private:
    spec() = default;
    spec &set(ozarr_status status) {
        made(status);
        return *this;
    }
    bool ranked(const char *what, std::size_t found) {
        detail::problem wrong = detail::same_rank(what, found, rank_);
        if (rank_ < 0) wrong = error(OZARR_ERR_STATE, std::string("the ") + what + " of a specification from a document is what stands there");
        if (!wrong) return true;
        fail(*std::move(wrong));
        return false;
    }
    std::int32_t rank_ = -1;
};

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_SPEC_HPP
