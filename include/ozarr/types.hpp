// ozarr.hpp: types of elements, indices, regions, memory. Part of ozarr.hpp, which includes it.
#ifndef OZARR_TYPES_HPP
#define OZARR_TYPES_HPP

#include <ozarr/base.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// MSVC says so of its standard where __cplusplus does not.
#if (__cplusplus >= 202002L || (defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)) && defined(__has_include)
#if __has_include(<span>)
#include <span>
#endif
#endif
#if defined(__STDCPP_FLOAT16_T__) || defined(__STDCPP_BFLOAT16_T__)
#include <stdfloat>
#endif

namespace ozarr {
inline namespace OZARR_HPP_MODE {

/// The type of elements.
enum class type : ozarr_type {
    as_stored = OZARR_AS_STORED,
    boolean = OZARR_BOOL,
    int8 = OZARR_INT8,
    int16 = OZARR_INT16,
    int32 = OZARR_INT32,
    int64 = OZARR_INT64,
    uint8 = OZARR_UINT8,
    uint16 = OZARR_UINT16,
    uint32 = OZARR_UINT32,
    uint64 = OZARR_UINT64,
    float16 = OZARR_FLOAT16,
    float32 = OZARR_FLOAT32,
    float64 = OZARR_FLOAT64,
    complex64 = OZARR_COMPLEX64,
    complex128 = OZARR_COMPLEX128,
    int2 = OZARR_INT2,
    int4 = OZARR_INT4,
    uint2 = OZARR_UINT2,
    uint4 = OZARR_UINT4,
    bfloat16 = OZARR_BFLOAT16,
    float8_e3m4 = OZARR_FLOAT8_E3M4,
    float8_e4m3 = OZARR_FLOAT8_E4M3,
    float8_e4m3b11fnuz = OZARR_FLOAT8_E4M3B11FNUZ,
    float8_e4m3fnuz = OZARR_FLOAT8_E4M3FNUZ,
    float8_e4m3fn = OZARR_FLOAT8_E4M3FN,
    float8_e5m2 = OZARR_FLOAT8_E5M2,
    float8_e5m2fnuz = OZARR_FLOAT8_E5M2FNUZ,
    float8_e8m0fnu = OZARR_FLOAT8_E8M0FNU,
    float6_e2m3fn = OZARR_FLOAT6_E2M3FN,
    float6_e3m2fn = OZARR_FLOAT6_E3M2FN,
    float4_e2m1fn = OZARR_FLOAT4_E2M1FN,
    by_dtype = OZARR_BY_DTYPE,
    string = OZARR_STRING,
    bytes = OZARR_BYTES,
    json = OZARR_JSON,
    list = OZARR_LIST
};

/// What to do if something stands already where a node is to be created.
enum class existing : ozarr_create_mode { fail = OZARR_CREATE_NEW, overwrite = OZARR_CREATE_OVERWRITE, open_if_same = OZARR_CREATE_OPEN_IF_SAME };

/// The kind of the node at a path.
enum class node_kind : ozarr_node_kind {
    none = OZARR_NODE_KIND_NONE,
    array = OZARR_NODE_KIND_ARRAY,
    group = OZARR_NODE_KIND_GROUP,
    unknown = OZARR_NODE_KIND_UNKNOWN
};

/// The kind of an attribute's value.
enum class json_kind : ozarr_json_kind {
    null = OZARR_JSON_KIND_NULL,
    boolean = OZARR_JSON_KIND_BOOL,
    integer = OZARR_JSON_KIND_INTEGER,
    number = OZARR_JSON_KIND_NUMBER,
    string = OZARR_JSON_KIND_STRING,
    array = OZARR_JSON_KIND_ARRAY,
    object = OZARR_JSON_KIND_OBJECT
};

/// The ozarr type of a C++ type, as type_of<T>::value. To be specialised for types of your own, such as a 16-bit float.
template <class T, class = void>
struct type_of {
    static_assert(sizeof(T) == 0, "this type has no counterpart in ozarr: bool, integers, float, double and std::complex of these have; of others, such as "
                                  "structs, an ozarr::dtype says what they are, which read, write and appender::append take first");
};
template <>
struct type_of<bool> { static constexpr type value = type::boolean; };
template <class T>
struct type_of<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8>> {
    static constexpr type value = static_cast<type>((std::is_signed_v<T> ? OZARR_INT8 : OZARR_UINT8) +
                                                    (sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3));
};
template <>
struct type_of<float> { static constexpr type value = type::float32; };
template <>
struct type_of<double> { static constexpr type value = type::float64; };
template <>
struct type_of<std::complex<float>> { static constexpr type value = type::complex64; };
template <>
struct type_of<std::complex<double>> { static constexpr type value = type::complex128; };
/// Text of any length. (An array of bytes or JSON is read as std::string, too, and created by ozarr::type::bytes.)
template <>
struct type_of<std::string> { static constexpr type value = type::string; };
#if defined(__STDCPP_FLOAT16_T__)
template <>
struct type_of<std::float16_t> { static constexpr type value = type::float16; };
#endif
#if defined(__STDCPP_BFLOAT16_T__)
template <>
struct type_of<std::bfloat16_t> { static constexpr type value = type::bfloat16; };
#endif

namespace detail {
/// Integers, and enumerators without a class, by which many programs name lengths.
template <class T>
inline constexpr bool is_length = std::is_integral_v<T> || (std::is_enum_v<T> && std::is_convertible_v<T, std::int64_t>);
}  // namespace detail

/// One number for each dimension: a start, a shape, steps, strides. Made from a list, `{10, 0, 0}`, or anything with data() and
/// size(). Needs no memory from the heap.
class index {
public:
    static constexpr std::size_t max_rank = 64;
    index() noexcept : size_(0) {}
    template <class... Int, class = std::enable_if_t<(sizeof...(Int) > 0 && sizeof...(Int) <= max_rank && (detail::is_length<Int> && ...))>>
    index(Int... values) noexcept : size_(sizeof...(Int)) {
        std::size_t d = 0;
        ((values_[d++] = static_cast<std::int64_t>(values)), ...);
    }
    /// A list with more than 64 numbers keeps its length, which no array has: its use is an error.
    template <class List, class = std::enable_if_t<detail::is_length<std::decay_t<decltype(*std::declval<const List &>().data())>>>,
              class = decltype(std::declval<const List &>().size()), class = std::enable_if_t<!std::is_same_v<List, index>>>
    index(const List &list) noexcept : index(list.data(), list.size()) {}
    template <class Int, class = std::enable_if_t<detail::is_length<Int>>>
    index(const Int *values, std::size_t rank) noexcept : size_(rank) {
        for (std::size_t d = 0; d < rank && d < max_rank; d++) values_[d] = static_cast<std::int64_t>(values[d]);
    }
    // Not by the constructor above: compilers warn of what a pointer to memory leads to that is not filled yet.
    index(const index &other) noexcept : size_(other.size_) {
        for (std::size_t d = 0; d < size_ && d < max_rank; d++) values_[d] = other.values_[d];
    }
    index &operator=(const index &other) noexcept {
        size_ = other.size_;
        for (std::size_t d = 0; d < size_ && d < max_rank; d++) values_[d] = other.values_[d];
        return *this;
    }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    const std::int64_t *data() const noexcept { return values_; }
    std::int64_t *data() noexcept { return values_; }
    std::int64_t operator[](std::size_t d) const noexcept { return values_[d]; }
    std::int64_t &operator[](std::size_t d) noexcept { return values_[d]; }
    const std::int64_t *begin() const noexcept { return values_; }
    const std::int64_t *end() const noexcept { return values_ + (size_ < max_rank ? size_ : max_rank); }
    friend bool operator==(const index &a, const index &b) noexcept {
        if (a.size_ != b.size_ || a.size_ > max_rank) return false;
        for (std::size_t d = 0; d < a.size_; d++)
            if (a.values_[d] != b.values_[d]) return false;
        return true;
    }
    friend bool operator!=(const index &a, const index &b) noexcept { return !(a == b); }

    /// An index of that many zeros (at most 64), to be filled.
    static index zeros(std::size_t rank) noexcept {
        index made;
        made.size_ = rank < max_rank ? rank : max_rank;
        for (std::size_t d = 0; d < made.size_; d++) made.values_[d] = 0;
        return made;
    }

private:
    std::size_t size_;
    std::int64_t values_[max_rank];
};

namespace detail {

/// The names of dimensions as C has them, which takes no memory. Of more than an array can have, which the library refuses by their number, the
/// first ones are there.
struct dimension_names {
    explicit dimension_names(const std::vector<std::string> &names, bool empty_is_none = false)
        : count(static_cast<std::int32_t>(names.size() <= index::max_rank ? names.size() : index::max_rank + 1)) {
        for (std::size_t d = 0; d < names.size() && d < index::max_rank; d++) list[d] = empty_is_none && names[d].empty() ? nullptr : c_text(names[d]);
    }
    std::int32_t count;
    const char *list[index::max_rank] = {};
};

} // namespace detail

/// Which elements of an array: `{start, shape}` or `{start, shape, step}`; a step may be negative. Without a region, all of them.
struct region {
    region() = default;
    region(const index &start_, const index &shape_, const index &step_ = {}) : start(start_), shape(shape_), step(step_), whole(false) {}
    /// This region where the dimensions that are true are periodic: it may begin before their first element and go on behind their last one.
    region periodic(std::initializer_list<bool> which) const {
        region r = *this;
        r.periodic_rank = which.size();
        std::size_t d = 0;
        for (const bool one : which)
            if (d < index::max_rank) r.is_periodic[d++] = one;
        return r;
    }
    index start, shape, step;
    bool whole = true;
    std::size_t periodic_rank = 0;
    bool is_periodic[index::max_rank] = {};
};

/// Memory whose elements lie apart: `size` elements from `data` on may be touched; the region's first element is data[offset], and
/// neighbours along dimension d are strides[d] elements apart (negative allowed; 0 repeats an element when writing). All of these
/// count elements, where ozarr.h counts bytes. One stride for each dimension of the array; 0 where the memory has none because the
/// region is 1 long there.
template <class T>
struct strided {
    /// `data_` is a pointer to elements. (A template, so that the list {0} is never taken for a null pointer.)
    template <class Pointer, class = std::enable_if_t<std::is_pointer_v<Pointer> && std::is_convertible_v<Pointer, T *>>>
    strided(Pointer data_, std::size_t size_, const index &strides_, std::size_t offset_ = 0)
        : data(data_), size(size_), strides(strides_), offset(offset_) {}
    T *data;
    std::size_t size;
    index strides;
    std::size_t offset;
};

template <class T>
strided(T *, std::size_t, const index &, std::size_t = 0) -> strided<T>;

namespace detail {

/// Whether T is an mdspan of the standard, or of another library that looks like it: Kokkos' for C++17. Its accessor has to give the elements
/// themselves: those of `std::linalg::scaled` and the like compute others.
template <class T, class = void>
struct is_mdspan : std::false_type {};
template <class T>
struct is_mdspan<T, std::void_t<std::enable_if_t<std::is_same_v<typename T::reference, typename T::element_type &>>, typename T::extents_type,
                                decltype(std::declval<const T &>().data_handle()), decltype(std::declval<const T &>().mapping().required_span_size()),
                                decltype(std::declval<const T &>().stride(0))>>
    : std::true_type {};

/// The memory of a call: elements from `data` on; contiguous, or with strides that count elements, and then with extents if these are known.
template <class T>
struct view {
    T *data;
    std::size_t size;
    std::size_t offset = 0;
    bool contiguous = true;
    index strides = {}, extents = {};
};

template <class T>
view<T> view_of(const view<T> &v) {
    return v;
}
template <class T>
view<T> view_of(const strided<T> &m) {
    return {m.data, m.size, m.offset, false, m.strides, {}};
}
template <class T>
view<T> view_of(std::vector<T> &v) {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> holds no bool: take std::vector<std::uint8_t>");
    return {v.data(), v.size()};
}
template <class T>
view<const T> view_of(const std::vector<T> &v) {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> holds no bool: take std::vector<std::uint8_t>");
    return {v.data(), v.size()};
}
#ifdef __cpp_lib_span
template <class T, std::size_t N>
view<T> view_of(std::span<T, N> s) {
    return {s.data(), s.size()};
}
#endif
template <class M, class = std::enable_if_t<is_mdspan<M>::value>>
view<typename M::element_type> view_of(const M &m) {
    view<typename M::element_type> v{m.data_handle(), static_cast<std::size_t>(m.mapping().required_span_size())};
    v.contiguous = false;
    v.strides = v.extents = index::zeros(M::extents_type::rank());
    // Those of rank 0 have no strides.
    if constexpr (M::extents_type::rank() > 0) {
        for (std::size_t d = 0; d < v.strides.size(); d++) {
            v.strides[d] = static_cast<std::int64_t>(m.stride(d));
            v.extents[d] = static_cast<std::int64_t>(m.extents().extent(d));
        }
    }
    return v;
}

/// Whether M is a vector.
template <class M>
struct is_vector : std::false_type {};
template <class T, class A>
struct is_vector<std::vector<T, A>> : std::true_type {};

/// Whether T is memory that view_of takes.
template <class T, class = void>
struct is_memory : std::false_type {};
template <class T>
struct is_memory<T, std::void_t<decltype(view_of(std::declval<T &>()))>> : std::true_type {};
template <class M>
using if_memory = std::enable_if_t<is_memory<std::remove_reference_t<M>>::value>;
template <class M>
using if_mdspan = std::enable_if_t<is_mdspan<std::decay_t<M>>::value>;

} // namespace detail

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_TYPES_HPP
