// ozarr.hpp: Zarr arrays for simulation codes, in C++17 and later.              SPDX-License-Identifier: MIT OR Apache-2.0
//
//     auto t = ozarr::array::create<double>("run.zarr/temperature", {100, 64, 64});
//     t.write(u, {{10, 0, 0}, {1, 64, 64}});                       // u: std::vector<double>; the region's start and shape
//     t.set_attr("units", "K");
//     t.close();                                                  // says whether all is stored; the destructor cannot
//
//     auto t = ozarr::array::open("run.zarr/temperature");
//     std::vector<double> plane = t.read<double>({{10, 0, 0}, {1, 64, 64}});
//
// This header is a thin layer over ozarr.h, whose rules hold; it adds no copy of elements. Handles (array, group, store, spec,
// context) can be moved, not copied, and are given back by their destructors. A member function of a handle that was closed or
// moved from fails like any other failure.
//
// Failures. A function that fails throws ozarr::error: what() is the message; status(), key() and field() say more.
//
// Without exceptions: with -fno-exceptions, or OZARR_NO_EXCEPTIONS defined before this header, the same functions return
// ozarr::result<T> in place of T (`returned<T>` below): `if (auto t = ozarr::array::open(…)) use(*t); else puts(t.error().what());`.
// Setters of a spec return the spec; the first that failed is reported where the spec is used.
//
// Indices are in the array's own order, the last one running fastest; strides are counted in elements.
#ifndef OZARR_HPP
#define OZARR_HPP

#include <ozarr.h>
#include <ozarr_advanced.h>
#include <ozarr_extend.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L && defined(__has_include)
#if __has_include(<span>)
#include <span>
#endif
#endif
#if defined(__STDCPP_FLOAT16_T__)
#include <stdfloat>
#endif

#if !defined(OZARR_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define OZARR_NO_EXCEPTIONS
#endif

// The two modes are two namespaces, so that files of either kind can be linked into one program.
#ifdef OZARR_NO_EXCEPTIONS
#define OZARR_HPP_MODE without_exceptions
#define OZARR_HPP_FAIL(e) return (e)
#else
#define OZARR_HPP_MODE with_exceptions
#define OZARR_HPP_FAIL(e) throw(e)
#endif
#define OZARR_HPP_TRY(call)                                                           \
    do {                                                                              \
        if ((call) != OZARR_OK) OZARR_HPP_FAIL(::ozarr::error::last());               \
    } while (false)
#define OZARR_HPP_CHECK(problem)                                                      \
    do {                                                                              \
        if (auto ozarr_problem = (problem)) OZARR_HPP_FAIL(*std::move(ozarr_problem)); \
    } while (false)

namespace ozarr {
inline namespace OZARR_HPP_MODE {

// ---------------------------------------------------------------------------------------------------------------------
// Failures
// ---------------------------------------------------------------------------------------------------------------------

/// What went wrong: the message, and its parts.
class error : public std::exception {
public:
    error(ozarr_status status, std::string message, std::string key = {}, std::string field = {}, int os_errno = 0)
        : status_(status), os_errno_(os_errno), message_(std::move(message)), key_(std::move(key)), field_(std::move(field)) {}

    /// The last failure of a C function in this thread.
    static error last() {
        ozarr_error_info info = OZARR_ERROR_INFO_INIT;
        if (ozarr_last_error_info(&info) != OZARR_OK) return error(OZARR_ERR_INTERNAL, ozarr_last_error());
        return error(info.status, info.message, info.key, info.field, info.os_errno);
    }

    /// The message: one line that says what was found, and what was expected.
    const char *what() const noexcept override { return message_.c_str(); }
    /// One of `OZARR_ERR_...`.
    ozarr_status status() const noexcept { return status_; }
    /// Its name, such as "OZARR_ERR_BOUNDS".
    const char *name() const noexcept { return ozarr_status_name(status_); }
    /// The key in the store that it is about, or an empty text.
    const std::string &key() const noexcept { return key_; }
    /// The member of a metadata document, or the codec; or an empty text.
    const std::string &field() const noexcept { return field_; }
    /// The operating system's number, or 0.
    int os_errno() const noexcept { return os_errno_; }

private:
    ozarr_status status_;
    int os_errno_;
    std::string message_, key_, field_;
};

/// A value, or the error that stands in its place.
template <class T>
class [[nodiscard]] result {
public:
    result(T value) : value_(std::move(value)) {}
    result(ozarr::error e) : error_(std::move(e)) {}
    bool ok() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    /// The value. Only if ok().
    T &operator*() & { return *value_; }
    const T &operator*() const & { return *value_; }
    T &&operator*() && { return std::move(*value_); }
    T *operator->() { return &*value_; }
    const T *operator->() const { return &*value_; }
    /// The error. Only if not ok().
    const ozarr::error &error() const { return *error_; }

private:
    std::optional<T> value_;
    std::optional<ozarr::error> error_;
};

template <>
class [[nodiscard]] result<void> {
public:
    result() = default;
    result(ozarr::error e) : error_(std::move(e)) {}
    bool ok() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    const ozarr::error &error() const { return *error_; }

private:
    std::optional<ozarr::error> error_;
};

/// What a function that can fail returns: T, and result<T> without exceptions.
#ifdef OZARR_NO_EXCEPTIONS
template <class T>
using returned = result<T>;
#else
template <class T>
using returned = T;
#endif

// ---------------------------------------------------------------------------------------------------------------------
// Types, indices, regions, memory
// ---------------------------------------------------------------------------------------------------------------------

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
enum class existing : ozarr_create { fail = OZARR_NEW, overwrite = OZARR_OVERWRITE, open_if_same = OZARR_OPEN_IF_SAME };

/// What stands at a path.
enum class node_kind : ozarr_node_kind {
    none = OZARR_NODE_NONE,
    array = OZARR_NODE_ARRAY,
    group = OZARR_NODE_GROUP,
    unknown = OZARR_NODE_UNKNOWN
};

/// The kind of an attribute's value.
enum class json_kind : ozarr_json_kind {
    null = OZARR_JSON_NULL,
    boolean = OZARR_JSON_BOOL,
    integer = OZARR_JSON_INTEGER,
    number = OZARR_JSON_NUMBER,
    string = OZARR_JSON_STRING,
    array = OZARR_JSON_ARRAY,
    object = OZARR_JSON_OBJECT
};

/// The ozarr type of a C++ type, as type_of<T>::value. To be specialised for types of your own, such as a 16-bit float.
template <class T, class = void>
struct type_of {
    static_assert(sizeof(T) == 0, "this type has no counterpart in ozarr: bool, integers, float, double and std::complex of these have");
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

/// One number for each dimension: a start, a shape, steps, strides. Made from a list, `{10, 0, 0}`, or anything with data() and
/// size(). Needs no memory from the heap.
class index {
public:
    static constexpr std::size_t max_rank = 64;
    index() noexcept : size_(0) {}
    template <class... Int, class = std::enable_if_t<(sizeof...(Int) > 0 && sizeof...(Int) <= max_rank && (std::is_integral_v<Int> && ...))>>
    index(Int... values) noexcept : size_(sizeof...(Int)) {
        std::size_t d = 0;
        ((values_[d++] = static_cast<std::int64_t>(values)), ...);
    }
    /// A list with more than 64 numbers keeps its length, which no array has: its use is an error.
    template <class List, class = std::enable_if_t<std::is_integral_v<std::decay_t<decltype(*std::declval<const List &>().data())>>>,
              class = decltype(std::declval<const List &>().size()), class = std::enable_if_t<!std::is_same_v<List, index>>>
    index(const List &list) noexcept : index(list.data(), list.size()) {}
    template <class Int, class = std::enable_if_t<std::is_integral_v<Int>>>
    index(const Int *values, std::size_t rank) noexcept : size_(rank) {
        for (std::size_t d = 0; d < rank && d < max_rank; d++) values_[d] = static_cast<std::int64_t>(values[d]);
    }
    index(const index &other) noexcept : index(other.values_, other.size_) {}
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

/// Which elements of an array: `{start, shape}` or `{start, shape, step}`; a step may be negative. Without a region, all of them.
struct region {
    region() = default;
    region(const index &start_, const index &shape_, const index &step_ = {}) : start(start_), shape(shape_), step(step_), whole(false) {}
    index start, shape, step;
    bool whole = true;
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

// ---------------------------------------------------------------------------------------------------------------------
// Inside
// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

using problem = std::optional<error>;

/// The text that `get(buf, cap, &len)` writes.
template <class F>
ozarr_status text(std::string &out, F get) {
    char small[256];
    std::size_t len = 0;
    ozarr_status status = get(small, sizeof small, &len);
    if (status == OZARR_OK) {
        out.assign(small, len);
        return status;
    }
    while (status == OZARR_ERR_BUFFER_SIZE) {
        // One more for the NUL; again if it grew in between.
        out.resize(len + 1);
        status = get(&out[0], out.size(), &len);
    }
    if (status == OZARR_OK) out.resize(len);
    return status;
}

inline problem same_rank(const char *what, std::size_t found, std::int32_t rank) {
    if (found == static_cast<std::size_t>(rank)) return {};
    return error(OZARR_ERR_RANK, std::string("the ") + what + " has " + std::to_string(found) + " numbers, expected " + std::to_string(rank) +
                                     ", the rank of the array");
}

/// An owned handle of the C library.
template <class H, void (*Free)(H *)>
class handle {
public:
    handle() = default;
    explicit handle(H *h) noexcept : h_(h) {}
    handle(handle &&other) noexcept : h_(std::exchange(other.h_, nullptr)) {}
    handle &operator=(handle &&other) noexcept {
        if (this != &other) {
            Free(h_);
            h_ = std::exchange(other.h_, nullptr);
        }
        return *this;
    }
    ~handle() {
        if (h_ != nullptr) Free(h_);
    }
    /// The handle for functions of ozarr.h; it stays owned here.
    H *get() const noexcept { return h_; }
    /// Gives the handle away: the caller has to free it.
    H *release() noexcept { return std::exchange(h_, nullptr); }
    explicit operator bool() const noexcept { return h_ != nullptr; }

protected:
    H *h_ = nullptr;
};

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
    if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? OZARR_FLOAT32 : OZARR_FLOAT64;
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
        OZARR_HPP_TRY(ozarr_node_flush(as_node(h_)));
        return returned<void>();
    }
    /// Flushes and frees; the handle is empty afterwards, whatever comes. The destructor frees only.
    returned<void> close() {
        OZARR_HPP_TRY(close_node(this->release()));
        return returned<void>();
    }
    /// Reads the documents again: shape, attributes and all else may have been changed by others.
    returned<void> refresh() {
        OZARR_HPP_TRY(ozarr_node_refresh(as_node(h_)));
        return returned<void>();
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
        return static_cast<int>(format);
    }
    /// Changes a rarely used setting of this handle, such as "write_fill_chunks", "chunk_cache" or "write_back".
    returned<void> set(const std::string &key, const std::string &value) {
        OZARR_HPP_TRY(ozarr_node_set(as_node(h_), key.c_str(), value.c_str()));
        return returned<void>();
    }
    /// The value of a setting of this handle; see ozarr_node_get.
    returned<std::string> setting(const std::string &key) const {
        return text_of([&](char *b, std::size_t n, std::size_t *l) { return ozarr_node_get(as_node(h_), key.c_str(), b, n, l); });
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
        ozarr_status status = ozarr_attr_kind(as_node(h_), name.c_str(), &kind);
        if (status == OZARR_ERR_NOT_FOUND) return false;
        OZARR_HPP_TRY(status);
        return true;
    }
    returned<json_kind> attr_kind(const std::string &name) const {
        ozarr_json_kind kind = 0;
        OZARR_HPP_TRY(ozarr_attr_kind(as_node(h_), name.c_str(), &kind));
        return static_cast<json_kind>(kind);
    }

    /// The value of an attribute as bool, an integer type, a floating type, std::string, or a std::vector of numbers or strings (which
    /// also takes a single one). One of another kind is an error, and so is a number that does not fit.
    template <class T>
    returned<T> attr(const std::string &name) const {
        static_assert(std::is_arithmetic_v<T> || std::is_same_v<T, std::string> || attr_list<T>::value,
                      "attributes are bool, integers, floating point, std::string, or vectors of numbers or strings; else attr_json()");
        T value{};
        OZARR_HPP_TRY(fetch(name.c_str(), value));
        return value;
    }
    /// The value of an attribute of any kind, as JSON.
    returned<std::string> attr_json(const std::string &name) const {
        return text_of([&](char *b, std::size_t n, std::size_t *l) { return ozarr_attr_get_json(as_node(h_), name.c_str(), b, n, l); });
    }
    /// All attributes, as one JSON object.
    returned<std::string> attrs_json() const {
        return text_of([&](char *b, std::size_t n, std::size_t *l) { return ozarr_attrs_get(as_node(h_), b, n, l); });
    }

    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    returned<void> set_attr(const std::string &name, T value) {
        if constexpr (std::is_same_v<T, bool>) {
            OZARR_HPP_TRY(ozarr_attr_set_bool(as_node(h_), name.c_str(), value));
        } else if constexpr (sizeof(T) > 8) {
            OZARR_HPP_TRY(ozarr_attr_set_double(as_node(h_), name.c_str(), static_cast<double>(value)));
        } else {
            OZARR_HPP_TRY(ozarr_attr_set_numbers(as_node(h_), name.c_str(), number_type<T>(), &value, OZARR_SINGLE));
        }
        return returned<void>();
    }
    returned<void> set_attr(const std::string &name, const std::string &value) {
        OZARR_HPP_CHECK(no_nul(value));
        OZARR_HPP_TRY(ozarr_attr_set_string(as_node(h_), name.c_str(), value.c_str()));
        return returned<void>();
    }
    returned<void> set_attr(const std::string &name, const char *value) {
        OZARR_HPP_TRY(ozarr_attr_set_string(as_node(h_), name.c_str(), value));
        return returned<void>();
    }
    /// Sets an attribute to a list of numbers.
    template <class T, class = std::enable_if_t<attr_list<std::vector<T>>::value && std::is_arithmetic_v<T>>>
    returned<void> set_attr(const std::string &name, const std::vector<T> &values) {
        OZARR_HPP_TRY(ozarr_attr_set_numbers(as_node(h_), name.c_str(), number_type<T>(), values.data(), static_cast<std::int64_t>(values.size())));
        return returned<void>();
    }
    /// Sets an attribute to a list of strings.
    returned<void> set_attr(const std::string &name, const std::vector<std::string> &values) {
        std::vector<const char *> pointers;
        for (const std::string &value : values) {
            OZARR_HPP_CHECK(no_nul(value));
            pointers.push_back(value.c_str());
        }
        OZARR_HPP_TRY(ozarr_attr_set_strings(as_node(h_), name.c_str(), pointers.data(), static_cast<std::int64_t>(pointers.size())));
        return returned<void>();
    }
    /// Sets an attribute to any value, given as JSON.
    returned<void> set_attr_json(const std::string &name, const std::string &json) {
        OZARR_HPP_TRY(ozarr_attr_set_json(as_node(h_), name.c_str(), json.c_str()));
        return returned<void>();
    }
    /// Replaces all attributes by those of a JSON object.
    returned<void> set_attrs_json(const std::string &json) {
        OZARR_HPP_TRY(ozarr_attrs_set(as_node(h_), json.c_str()));
        return returned<void>();
    }
    returned<void> erase_attr(const std::string &name) {
        OZARR_HPP_TRY(ozarr_attr_erase(as_node(h_), name.c_str()));
        return returned<void>();
    }
    /// From here on setters are collected; commit_attrs() stores them in one write.
    returned<void> begin_attrs() {
        OZARR_HPP_TRY(ozarr_attrs_begin(as_node(h_)));
        return returned<void>();
    }
    returned<void> commit_attrs() {
        OZARR_HPP_TRY(ozarr_attrs_commit(as_node(h_)));
        return returned<void>();
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
        if (kind == OZARR_JSON_ARRAY) {
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
        return ozarr_attr_get_numbers(as_node(h_), name, number_type<T>(), values.data(), count, &count);
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

protected:
    template <class F>
    static returned<std::string> text_of(F get) {
        std::string out;
        OZARR_HPP_TRY(text(out, get));
        return out;
    }

private:
    static problem no_nul(const std::string &value) {
        std::size_t at = value.find('\0');
        if (at == std::string::npos) return {};
        return ozarr::error(OZARR_ERR_ARGUMENT, "the text has a NUL at byte " + std::to_string(at) + ", expected none");
    }
};

} // namespace detail

// ---------------------------------------------------------------------------------------------------------------------
// Specifications
// ---------------------------------------------------------------------------------------------------------------------

/// What an element is, where no C++ type says it: structs, text, times. A program's own struct is described member by member:
/// `auto d = ozarr::dtype::struct_of<particle>(); d.field("x", &particle::x).field("v", &particle::v);`, where numbers and arrays of numbers
/// know their types.
class dtype : public detail::handle<ozarr_dtype, ozarr_dtype_free> {
    using owner = detail::handle<ozarr_dtype, ozarr_dtype_free>;

public:
    /// Takes over a handle of the C library.
    explicit dtype(ozarr_dtype *h) noexcept : owner(h) {}
    /// From a text: `"<M8[s]"`, `"float64"`, `"double"`, JSON of a metadata document; `format` 2 or 3 takes that format's only.
    static dtype parse(const std::string &text, int format = 0) {
        dtype d(nullptr);
        d.made(ozarr_dtype_parse(text.c_str(), format, &d.h_));
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
        return d;
    }
    /// Adds a member that is a number, or an array of numbers.
    template <class S, class M>
    dtype &field(const std::string &name, M S::*member) {
        return field(name, member, of<std::remove_all_extents_t<M>>());
    }
    /// Adds a member of that type (of each of its values, where it is an array).
    template <class S, class M>
    dtype &field(const std::string &name, M S::*member, const dtype &type) {
        alignas(S) unsigned char place[sizeof(S)] = {};
        const auto *first = reinterpret_cast<const unsigned char *>(std::addressof(reinterpret_cast<const S *>(place)->*member));
        std::size_t values = 1, size = 0;
        if (h_ == nullptr || type.get() == nullptr) return *this;
        if (std::is_array_v<M> && ozarr_dtype_item_size(type.get(), &size) == OZARR_OK && size > 0) values = sizeof(M) / size;
        const std::int64_t shape = static_cast<std::int64_t>(values);
        made(ozarr_dtype_add_field(h_, name.c_str(), static_cast<std::size_t>(first - place), type.get(), values > 1 ? 1 : 0, &shape));
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
    /// The first failure of a setter (without exceptions).
    const std::optional<error> &problem() const noexcept { return problem_; }

private:
    void made(ozarr_status status) {
        if (status == OZARR_OK) return;
#ifdef OZARR_NO_EXCEPTIONS
        if (!problem_) problem_ = error::last();
#else
        throw error::last();
#endif
    }
    std::optional<error> problem_;
};

/// What an array to be created is like. Setters return a reference to the spec: chain them in the call that takes it, as in
/// `array::create("run.zarr/t", ozarr::spec::of<float>({0, 720}).chunks({1, 720}).compressor("zstd", 5))`, or call them on a named
/// one: `auto s = ozarr::spec::of<float>({0, 720}); s.chunks({1, 720}).fill_value(NAN);`.
class spec : public detail::handle<ozarr_spec, ozarr_spec_free> {
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
        s.made(ozarr_spec_from_json(document.c_str(), &s.h_));
        return s;
    }

    spec &chunks(const index &shape) { return ranked("chunk shape", shape.size()) ? set(ozarr_spec_set_chunks(h_, shape.data())) : *this; }
    /// Chunks of uneven extents along dimension `dim`, in all at least the array's length there (a rectilinear grid).
    spec &chunk_extents(int dim, const std::vector<std::int64_t> &extents) {
        return set(ozarr_spec_set_chunk_extents(h_, dim, static_cast<std::int64_t>(extents.size()), extents.data()));
    }
    spec &inner_chunks(const index &shape) {
        return ranked("inner chunk shape", shape.size()) ? set(ozarr_spec_set_inner_chunks(h_, shape.data())) : *this;
    }
    template <class T>
    spec &fill_value(const T &value) { return set(ozarr_spec_set_fill_value(h_, static_cast<ozarr_type>(type_of<T>::value), &value)); }
    spec &fill_json(const std::string &json) { return set(ozarr_spec_set_fill_json(h_, json.c_str())); }
    /// One name for each dimension.
    spec &dimension_names(const std::vector<std::string> &names) {
        if (!ranked("list of names", names.size())) return *this;
        std::vector<const char *> pointers;
        for (const std::string &name : names) pointers.push_back(name.c_str());
        return set(ozarr_spec_set_dimension_names(h_, pointers.data()));
    }
    spec &zarr_format(int format) { return set(ozarr_spec_set_zarr_format(h_, format)); }
    spec &order(ozarr_order order) { return set(ozarr_spec_set_order(h_, order)); }
    spec &big_endian(bool big = true) { return set(ozarr_spec_set_big_endian(h_, big)); }
    spec &separator(char separator) { return set(ozarr_spec_set_separator(h_, separator)); }
    spec &compressor(const std::string &name, int level = -1) { return set(ozarr_spec_set_compressor(h_, name.c_str(), level)); }
    spec &shape(const index &shape) { return ranked("shape", shape.size()) ? set(ozarr_spec_set_shape(h_, shape.data())) : *this; }
    spec &shuffle(ozarr_shuffle shuffle) { return set(ozarr_spec_set_shuffle(h_, shuffle)); }
    spec &keep_bits(int bits) { return set(ozarr_spec_set_keep_bits(h_, bits)); }
    spec &zfp(ozarr_zfp mode, double parameter = 0) { return set(ozarr_spec_set_zfp(h_, mode, parameter)); }
    spec &checksum(bool checksum = true) { return set(ozarr_spec_set_checksum(h_, checksum)); }
    /// A member of the metadata document, such as `codecs`, `compressor` or `filters`.
    spec &member_json(const std::string &name, const std::string &json) { return set(ozarr_spec_set_member_json(h_, name.c_str(), json.c_str())); }
    spec &attributes_json(const std::string &json) { return set(ozarr_spec_set_attributes_json(h_, json.c_str())); }

    /// The metadata document that an array created now would have.
    returned<std::string> to_json() const {
        OZARR_HPP_CHECK(problem());
        std::string out;
        OZARR_HPP_TRY(detail::text(out, [&](char *b, std::size_t n, std::size_t *l) { return ozarr_spec_to_json(h_, b, n, l); }));
        return out;
    }
    /// The first failure of a setter (without exceptions).
    const std::optional<error> &problem() const noexcept { return problem_; }

private:
    spec() = default;
    void fail(error e) {
#ifdef OZARR_NO_EXCEPTIONS
        if (!problem_) problem_ = std::move(e);
#else
        throw e;
#endif
    }
    void made(ozarr_status status) {
        if (status != OZARR_OK) fail(error::last());
    }
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
    std::optional<error> problem_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Arrays
// ---------------------------------------------------------------------------------------------------------------------

/// A read or a write that goes on while the program computes; its memory is the program's again when it is done. Destroyed before
/// that, it is cancelled, unless its elements were copied; then it goes on. The rules are in ozarr.h, "Requests".
class request : public detail::handle<ozarr_request, ozarr_request_free> {
public:
    request() = default;
    explicit request(ozarr_request *h) noexcept : handle(h) {}
    /// Whether it is done; its error, if it has one.
    returned<bool> test() const {
        bool done = false;
        OZARR_HPP_TRY(ozarr_request_test(h_, &done));
        return done;
    }
    returned<void> wait() const {
        OZARR_HPP_TRY(ozarr_request_wait(h_));
        return returned<void>();
    }
    /// At most so many seconds: then OZARR_ERR_TIMEOUT, and the request goes on.
    returned<void> wait_for(double seconds) const {
        OZARR_HPP_TRY(ozarr_request_wait_timeout(h_, seconds));
        return returned<void>();
    }
    returned<void> cancel() const {
        OZARR_HPP_TRY(ozarr_request_cancel(h_));
        return returned<void>();
    }
};

class array : public detail::node<ozarr_array> {
    using node = detail::node<ozarr_array>;

public:
    array() = default;
    /// Takes over a handle of the C library.
    static returned<array> adopt(ozarr_array *handle) {
        array a(handle);
        OZARR_HPP_TRY(ozarr_array_rank(handle, &a.rank_));
        return a;
    }

    /// Opens an array; mode "r" for reading only, "r+" for reading and writing.
    static returned<array> open(const std::string &location, const char *mode = "r") {
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_array_open(location.c_str(), mode, &h));
        return adopt(h);
    }
    /// Creates an array; without chunks their shape is suggested.
    static returned<array> create(const std::string &location, ozarr::type t, const index &shape, const index &chunks = {},
                                  existing flags = existing::fail) {
        std::int32_t rank = static_cast<std::int32_t>(shape.size() <= index::max_rank ? shape.size() : index::max_rank + 1);
        if (!chunks.empty()) OZARR_HPP_CHECK(detail::same_rank("chunk shape", chunks.size(), rank));
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_array_create(location.c_str(), static_cast<ozarr_type>(t), rank, shape.data(),
                                         chunks.empty() ? nullptr : chunks.data(), static_cast<ozarr_create>(flags), &h));
        return adopt(h);
    }
    template <class T>
    static returned<array> create(const std::string &location, const index &shape, const index &chunks = {}, existing flags = existing::fail) {
        return create(location, type_of<T>::value, shape, chunks, flags);
    }
    static returned<array> create(const std::string &location, const spec &s, existing flags = existing::fail) {
        OZARR_HPP_CHECK(s.problem());
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_array_create_ex(location.c_str(), s.get(), static_cast<ozarr_create>(flags), &h));
        return adopt(h);
    }

    /// The number of dimensions.
    int rank() const noexcept { return rank_; }
    returned<index> shape() const { return numbers(ozarr_array_shape); }
    /// The shape of the pieces that are stored as one object each; of the largest one where their extents differ.
    returned<index> chunk_shape() const { return numbers(ozarr_array_chunk_shape); }
    /// The number of chunks along each dimension.
    returned<index> grid_shape() const { return numbers(ozarr_array_grid_shape); }
    /// Where the chunks of that index lie along dimension `dim`: their first element, and how many elements they have.
    returned<std::pair<std::int64_t, std::int64_t>> chunk_extent(int dim, std::int64_t index) const {
        std::int64_t start = 0, extent = 0;
        OZARR_HPP_TRY(ozarr_array_chunk_extent(h_, dim, index, &start, &extent));
        return std::pair<std::int64_t, std::int64_t>(start, extent);
    }
    /// The shape of the smallest piece that can be read by itself.
    returned<index> inner_chunk_shape() const { return numbers(ozarr_array_inner_chunk_shape); }
    returned<ozarr::type> type() const {
        ozarr_type t = 0;
        OZARR_HPP_TRY(ozarr_array_type(h_, &t));
        return static_cast<ozarr::type>(t);
    }
    /// The bytes of one element.
    returned<std::size_t> item_size() const {
        std::size_t bytes = 0;
        OZARR_HPP_TRY(ozarr_array_item_size(h_, &bytes));
        return bytes;
    }
    /// The names of the dimensions; an empty text for one without.
    returned<std::vector<std::string>> dimension_names() const {
        std::vector<std::string> names(static_cast<std::size_t>(rank_));
        for (std::int32_t d = 0; d < rank_; d++)
            OZARR_HPP_TRY(detail::text(names[static_cast<std::size_t>(d)], [&](char *b, std::size_t n, std::size_t *l) {
                return ozarr_array_dimension_name(h_, d, b, n, l, nullptr);
            }));
        return names;
    }
    /// What parts that were never written read as. T has to be the array's type.
    template <class T>
    returned<T> fill_value() const {
        ozarr_type t = 0;
        OZARR_HPP_TRY(ozarr_array_type(h_, &t));
        if (t != static_cast<ozarr_type>(type_of<T>::value))
            OZARR_HPP_FAIL(error(OZARR_ERR_TYPE, "the fill value is asked for as type " + std::to_string(static_cast<ozarr_type>(type_of<T>::value)) +
                                                     ", expected the array's, " + std::to_string(t)));
        T value{};
        OZARR_HPP_TRY(ozarr_array_fill_value(h_, &value, sizeof value, nullptr));
        return value;
    }

    // Reading. T is the type in memory; elements are converted from the array's.

    /// A region, or the whole array, as a new vector: the last index fastest.
    template <class T>
    returned<std::vector<T>> read(const region &r = {}) const {
        std::vector<T> out;
        OZARR_HPP_CHECK(read_resized(out, r));
        return out;
    }
    /// The same into a vector, which gets the size of the region.
    template <class T>
    returned<void> read(std::vector<T> &out, const region &r = {}) const {
        OZARR_HPP_CHECK(read_resized(out, r));
        return returned<void>();
    }
    /// To `size` elements at `data`, which must be enough.
    template <class T>
    returned<void> read(T *data, std::size_t size, const region &r = {}) const {
        static_assert(!std::is_const_v<T>, "cannot read into constant memory");
        OZARR_HPP_CHECK(transfer(ozarr_array_read_ex, data, size, nullptr, 0, r));
        return returned<void>();
    }
    template <class T>
    returned<void> read(const strided<T> &m, const region &r = {}) const {
        static_assert(!std::is_const_v<T>, "cannot read into constant memory");
        OZARR_HPP_CHECK(transfer(ozarr_array_read_ex, m.data, m.size, &m.strides, m.offset, r));
        return returned<void>();
    }

    /// To `size` elements at `data` that are as `what` says: a struct of the program's own, text, times of a unit.
    template <class T>
    returned<void> read(const dtype &what, T *data, std::size_t size, const region &r = {}) const {
        static_assert(!std::is_const_v<T>, "cannot read into constant memory");
        OZARR_HPP_CHECK(what.problem());
        OZARR_HPP_CHECK(transfer<false>(ozarr_array_read_ex, data, size, nullptr, 0, r, what.get()));
        return returned<void>();
    }
    /// One field of the array's structs: `"x"`, or `"a.b"` for the field b of the field a.
    template <class T>
    returned<void> read_field(const std::string &field, T *data, std::size_t size, const region &r = {}) const {
        static_assert(!std::is_const_v<T>, "cannot read into constant memory");
        OZARR_HPP_CHECK(transfer(ozarr_array_read_ex, data, size, nullptr, 0, r, nullptr, field.c_str()));
        return returned<void>();
    }
    /// The type of the elements.
    returned<dtype> data_type() const {
        ozarr_dtype *d = nullptr;
        OZARR_HPP_TRY(ozarr_array_dtype(h_, &d));
        return dtype(d);
    }

    // Writing.

    /// From `size` elements at `data` that are as `what` says.
    template <class T>
    returned<void> write(const dtype &what, const T *data, std::size_t size, const region &r = {}) const {
        OZARR_HPP_CHECK(what.problem());
        OZARR_HPP_CHECK(transfer<false>(ozarr_array_write_ex, data, size, nullptr, 0, r, what.get()));
        return returned<void>();
    }
    /// One field; the others stay as they are.
    template <class T>
    returned<void> write_field(const std::string &field, const T *data, std::size_t size, const region &r = {}) const {
        OZARR_HPP_CHECK(transfer(ozarr_array_write_ex, data, size, nullptr, 0, r, nullptr, field.c_str()));
        return returned<void>();
    }
    template <class T>
    returned<void> write(const std::vector<T> &data, const region &r = {}) const {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> holds no bool: write a pointer to bool, or std::vector<std::uint8_t>");
        if constexpr (std::is_same_v<T, std::string>) {
            OZARR_HPP_CHECK(write_texts(data, r));
            return returned<void>();
        } else {
            return write(data.data(), data.size(), r);
        }
    }
    /// From `size` elements at `data`.
    template <class T>
    returned<void> write(const T *data, std::size_t size, const region &r = {}) const {
        OZARR_HPP_CHECK(transfer(ozarr_array_write_ex, data, size, nullptr, 0, r));
        return returned<void>();
    }
    template <class T>
    returned<void> write(const strided<T> &m, const region &r = {}) const {
        OZARR_HPP_CHECK(transfer(ozarr_array_write_ex, m.data, m.size, &m.strides, m.offset, r));
        return returned<void>();
    }

    // Reading and writing that go on by themselves.

    /// Begins to read to `size` elements at `data`, which mean nothing until the request is done.
    template <class T>
    returned<request> iread(T *data, std::size_t size, const region &r = {}) const {
        static_assert(!std::is_const_v<T>, "cannot read into constant memory");
        ozarr_request *begun = nullptr;
        auto call = [&begun](const ozarr_array *a, const ozarr_region *where, const ozarr_memory *memory) {
            return ozarr_array_iread_ex(a, where, memory, nullptr, &begun);
        };
        OZARR_HPP_CHECK(transfer(call, data, size, nullptr, 0, r));
        return request(begun);
    }
    /// Begins to write from `size` elements at `data`, which must not change until the request is done; or, with `copy`, until this
    /// returns.
    template <class T>
    returned<request> iwrite(const T *data, std::size_t size, const region &r = {}, bool copy = false) const {
        ozarr_request *begun = nullptr;
        ozarr_request_options options = OZARR_REQUEST_OPTIONS_INIT;
        if (copy) options.flags = OZARR_REQUEST_COPY;
        auto call = [&begun, &options](const ozarr_array *a, const ozarr_region *where, const ozarr_memory *memory) {
            return ozarr_array_iwrite_ex(a, where, memory, &options, &begun);
        };
        OZARR_HPP_CHECK(transfer(call, data, size, nullptr, 0, r));
        return request(begun);
    }

#ifdef __cpp_lib_span
    template <class T, std::size_t N>
    returned<void> read(std::span<T, N> data, const region &r = {}) const { return read(data.data(), data.size(), r); }
    template <class T, std::size_t N>
    returned<void> write(std::span<T, N> data, const region &r = {}) const {
        return write(static_cast<const T *>(data.data()), data.size(), r);
    }
#endif

    // Lists of elements, as new vectors, and from vectors of exactly as many elements.

    /// A list of indices for each dimension; none: all of it.
    using lists = std::vector<std::optional<std::vector<std::int64_t>>>;

    /// The product of index lists, the last one fastest.
    template <class T>
    returned<std::vector<T>> read_orthogonal(const lists &indices) const {
        std::vector<const std::int64_t *> given;
        std::vector<std::int64_t> counts;
        std::size_t n = 0;
        OZARR_HPP_CHECK(take_apart(indices, given, counts, n));
        std::vector<T> out(n);
        OZARR_HPP_TRY(ozarr_array_read_orthogonal(h_, counts.data(), given.data(), code_of<T>(), out.data(), n * sizeof(T)));
        return out;
    }
    template <class T>
    returned<void> write_orthogonal(const lists &indices, const std::vector<T> &data) const {
        std::vector<const std::int64_t *> given;
        std::vector<std::int64_t> counts;
        std::size_t n = 0;
        OZARR_HPP_CHECK(take_apart(indices, given, counts, n));
        OZARR_HPP_TRY(ozarr_array_write_orthogonal(h_, counts.data(), given.data(), code_of<T>(), data.data(), data.size() * sizeof(T)));
        return returned<void>();
    }
    /// Points: their coordinates one after the other, as many for each as the array has dimensions (at least 1).
    template <class T>
    returned<std::vector<T>> read_points(const std::vector<std::int64_t> &points) const {
        OZARR_HPP_CHECK(whole_points(points));
        std::vector<T> out(points.size() / static_cast<std::size_t>(rank_));
        OZARR_HPP_TRY(ozarr_array_read_points(h_, static_cast<std::int64_t>(out.size()), points.data(), code_of<T>(), out.data(), out.size() * sizeof(T)));
        return out;
    }
    template <class T>
    returned<void> write_points(const std::vector<std::int64_t> &points, const std::vector<T> &data) const {
        OZARR_HPP_CHECK(whole_points(points));
        const auto n = static_cast<std::int64_t>(points.size() / static_cast<std::size_t>(rank_));
        OZARR_HPP_TRY(ozarr_array_write_points(h_, n, points.data(), code_of<T>(), data.data(), data.size() * sizeof(T)));
        return returned<void>();
    }
    /// The elements of a region without steps whose byte in the mask is not 0, the last index fastest.
    template <class T>
    returned<std::vector<T>> read_mask(const std::vector<std::uint8_t> &mask, const region &r = {}) const {
        OZARR_HPP_CHECK(whole_mask(mask, r));
        std::vector<T> out(mask.size() - static_cast<std::size_t>(std::count(mask.begin(), mask.end(), std::uint8_t(0))));
        const ozarr_region c = {sizeof(ozarr_region), r.start.data(), r.shape.data(), nullptr};
        OZARR_HPP_TRY(ozarr_array_read_mask(h_, r.whole ? nullptr : &c, mask.data(), code_of<T>(), out.data(), out.size() * sizeof(T), nullptr));
        return out;
    }
    template <class T>
    returned<void> write_mask(const std::vector<std::uint8_t> &mask, const std::vector<T> &data, const region &r = {}) const {
        OZARR_HPP_CHECK(whole_mask(mask, r));
        const ozarr_region c = {sizeof(ozarr_region), r.start.data(), r.shape.data(), nullptr};
        OZARR_HPP_TRY(ozarr_array_write_mask(h_, r.whole ? nullptr : &c, mask.data(), code_of<T>(), data.data(), data.size() * sizeof(T)));
        return returned<void>();
    }
    /// One value to all elements of a region.
    template <class T>
    returned<void> fill(const T &value, const region &r = {}) const {
        OZARR_HPP_CHECK(misfit(r));
        const ozarr_region c = {sizeof(ozarr_region), r.start.data(), r.shape.data(), r.step.empty() ? nullptr : r.step.data()};
        OZARR_HPP_TRY(ozarr_array_fill(h_, r.whole ? nullptr : &c, code_of<T>(), &value));
        return returned<void>();
    }

    // Growing.

    /// Changes the shape; `flags`: 0 or OZARR_RESIZE_KEEP.
    returned<void> resize(const index &shape, std::uint32_t flags = 0) {
        OZARR_HPP_CHECK(detail::same_rank("shape", shape.size(), rank_));
        OZARR_HPP_TRY(ozarr_array_resize_ex(h_, shape.data(), flags));
        return returned<void>();
    }
    /// Makes dimension `dim` longer by `count` and writes the new slab from `size` elements at `data`.
    template <class T>
    returned<void> append(const T *data, std::size_t size, int dim, std::int64_t count) {
        if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) size = std::numeric_limits<std::size_t>::max() / sizeof(T);
        OZARR_HPP_TRY(ozarr_array_append(h_, dim, count, static_cast<ozarr_type>(type_of<T>::value), data, size * sizeof(T)));
        return returned<void>();
    }
    /// The same; how many follows from the vector's size, which has to be a multiple of a slab.
    template <class T>
    returned<void> append(const std::vector<T> &data, int dim = 0) {
        index shape = index::zeros(static_cast<std::size_t>(rank_));
        OZARR_HPP_TRY(ozarr_array_shape(h_, shape.data()));
        std::uint64_t slab = 1;
        for (std::int32_t d = 0; d < rank_; d++)
            if (d != dim) slab *= static_cast<std::uint64_t>(shape[static_cast<std::size_t>(d)]);
        if (slab == 0 || data.size() % slab != 0)
            OZARR_HPP_FAIL(error(OZARR_ERR_BUFFER_SIZE, "the vector has " + std::to_string(data.size()) + " elements, expected a multiple of " +
                                                            std::to_string(slab) + ", those of one slab of dimension " + std::to_string(dim)));
        return append(data.data(), data.size(), dim, static_cast<std::int64_t>(data.size() / slab));
    }

    /// Reads the document again: the shape may have been changed elsewhere.
    returned<void> refresh() {
        OZARR_HPP_TRY(ozarr_node_refresh(ozarr_array_node(h_)));
        return returned<void>();
    }
    /// Waits until dimension `dim` is longer than `beyond`, and gives its length; OZARR_ERR_TIMEOUT after so many milliseconds.
    returned<std::int64_t> wait_growth(int dim, std::int64_t beyond, std::int64_t timeout_ms) {
        std::int64_t length = 0;
        OZARR_HPP_TRY(ozarr_array_wait_growth(h_, dim, beyond, timeout_ms, &length));
        return length;
    }

private:
    explicit array(ozarr_array *h) noexcept : node(h) {}

    returned<index> numbers(ozarr_status (*call)(const ozarr_array *, std::int64_t *)) const {
        index out = index::zeros(static_cast<std::size_t>(rank_));
        OZARR_HPP_TRY(call(h_, out.data()));
        return out;
    }

    template <class T>
    static constexpr ozarr_type code_of() {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> holds no bool: take std::vector<std::uint8_t>");
        return static_cast<ozarr_type>(type_of<T>::value);
    }

    /// What the C functions take for lists of indices, and how many elements they select.
    detail::problem take_apart(const lists &indices, std::vector<const std::int64_t *> &given, std::vector<std::int64_t> &counts,
                               std::size_t &n) const {
        static const std::int64_t none = 0;
        if (detail::problem p = detail::same_rank("lists", indices.size(), rank_)) return p;
        index shape = index::zeros(static_cast<std::size_t>(rank_));
        if (ozarr_array_shape(h_, shape.data()) != OZARR_OK) return error::last();
        n = 1;
        for (std::size_t d = 0; d < indices.size(); d++) {
            const auto &list = indices[d];
            // The memory of an empty vector is nowhere, which would be all.
            given.push_back(!list ? nullptr : list->empty() ? &none : list->data());
            counts.push_back(list ? static_cast<std::int64_t>(list->size()) : shape[d]);
            n *= static_cast<std::size_t>(counts.back());
        }
        return detail::problem();
    }
    detail::problem whole_points(const std::vector<std::int64_t> &points) const {
        if (rank_ > 0 && points.size() % static_cast<std::size_t>(rank_) == 0) return detail::problem();
        return detail::problem(error(OZARR_ERR_ARGUMENT, "found " + std::to_string(points.size()) + " coordinates, expected a multiple of the array's rank " +
                                                             std::to_string(rank_)));
    }
    detail::problem whole_mask(const std::vector<std::uint8_t> &mask, const region &r) const {
        if (auto wrong = misfit(r)) return wrong;
        index shape = r.whole ? index::zeros(static_cast<std::size_t>(rank_)) : r.shape;
        if (r.whole && ozarr_array_shape(h_, shape.data()) != OZARR_OK) return error::last();
        std::uint64_t n = 1;
        for (std::size_t d = 0; d < shape.size(); d++) n *= static_cast<std::uint64_t>(shape[d]);
        if (n == mask.size() && r.step.empty()) return detail::problem();
        return detail::problem(error(OZARR_ERR_ARGUMENT, "found a mask of " + std::to_string(mask.size()) + " bytes, expected " + std::to_string(n) +
                                                             ", one for each element of a region without steps"));
    }

    template <bool Typed = true, class Call, class T>
    detail::problem transfer(Call call, T *data, std::size_t size, const index *strides, std::size_t offset, const region &r,
                             const ozarr_dtype *what = nullptr, const char *field = nullptr) const {
        using element = std::remove_const_t<T>;
        constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / sizeof(T);
        ozarr_region c_region = {sizeof(ozarr_region), r.start.data(), r.shape.data(), r.step.empty() ? nullptr : r.step.data()};
        ozarr_memory memory = {sizeof(ozarr_memory), const_cast<element *>(data), (size < most ? size : most) * sizeof(T), 0, nullptr, OZARR_ORDER_C,
                               OZARR_BY_DTYPE, OZARR_OVERFLOW_ERROR, 0, what, field};
        if constexpr (Typed) memory.type = static_cast<ozarr_type>(type_of<element>::value);
        // The memory of an empty vector is nowhere.
        unsigned char nothing;
        if (data == nullptr && size == 0) memory.data = &nothing;
        if (!r.whole && (r.start.size() != static_cast<std::size_t>(rank_) || r.shape.size() != static_cast<std::size_t>(rank_) ||
                         (!r.step.empty() && r.step.size() != static_cast<std::size_t>(rank_)))) {
            if (auto wrong = detail::same_rank("region's start", r.start.size(), rank_)) return wrong;
            if (auto wrong = detail::same_rank("region's shape", r.shape.size(), rank_)) return wrong;
            return detail::same_rank("region's step", r.step.size(), rank_);
        }
        index bytes;
        if (strides != nullptr) {
            if (auto wrong = detail::same_rank("list of strides", strides->size(), rank_)) return wrong;
            if (offset > most) return error(OZARR_ERR_BOUNDS, "the offset is " + std::to_string(offset) + ", beyond all memory");
            bytes = *strides;
            constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(T));
            for (std::size_t d = 0; d < bytes.size(); d++) {
                if (bytes[d] > far || bytes[d] < -far) return error(OZARR_ERR_BOUNDS, "the stride " + std::to_string(bytes[d]) + " is beyond all memory");
                bytes[d] *= static_cast<std::int64_t>(sizeof(T));
            }
            memory.strides = bytes.data();
            memory.offset = offset * sizeof(T);
        }
        if (call(h_, r.whole ? nullptr : &c_region, &memory) != OZARR_OK) return error::last();
        return {};
    }

    // The wrong rank of a region's list, if one is.
    detail::problem misfit(const region &r) const {
        if (r.whole) return {};
        if (auto wrong = detail::same_rank("region's start", r.start.size(), rank_)) return wrong;
        if (auto wrong = detail::same_rank("region's shape", r.shape.size(), rank_)) return wrong;
        return r.step.empty() ? detail::problem{} : detail::same_rank("region's step", r.step.size(), rank_);
    }

    detail::problem write_texts(const std::vector<std::string> &texts, const region &r) const {
        if (auto wrong = misfit(r)) return wrong;
        index shape = r.shape;
        if (r.whole) {
            shape = index::zeros(static_cast<std::size_t>(rank_));
            if (ozarr_array_shape(h_, shape.data()) != OZARR_OK) return error::last();
        }
        std::size_t count = 1, bytes = 0;
        for (std::size_t d = 0; d < shape.size(); d++) count *= static_cast<std::size_t>(shape[d]);
        if (count != texts.size())
            return error(OZARR_ERR_BUFFER_SIZE, "found " + std::to_string(texts.size()) + " texts, expected " + std::to_string(count));
        for (const std::string &text : texts) bytes += text.size();
        std::vector<std::int64_t> offsets(1, 0);
        std::string all;
        offsets.reserve(texts.size() + 1);
        all.reserve(bytes);
        for (const std::string &text : texts) {
            all += text;
            offsets.push_back(static_cast<std::int64_t>(all.size()));
        }
        ozarr_region c_region = {sizeof(ozarr_region), r.start.data(), r.shape.data(), r.step.empty() ? nullptr : r.step.data()};
        if (ozarr_array_write_varlen(h_, r.whole ? nullptr : &c_region, offsets.data(), all.data(), all.size()) != OZARR_OK) return error::last();
        return {};
    }

    detail::problem read_resized(std::vector<std::string> &out, const region &r) const {
        if (auto wrong = misfit(r)) return wrong;
        ozarr_region c_region = {sizeof(ozarr_region), r.start.data(), r.shape.data(), r.step.empty() ? nullptr : r.step.data()};
        ozarr_varlen *read = nullptr;
        if (ozarr_array_read_varlen(h_, r.whole ? nullptr : &c_region, &read) != OZARR_OK) return error::last();
        detail::handle<ozarr_varlen, ozarr_varlen_free> v(read);
        const std::int64_t *offsets = nullptr;
        const char *data = nullptr;
        std::size_t size = 0;
        std::int64_t count = 0;
        if (ozarr_varlen_count(v.get(), &count) != OZARR_OK || ozarr_varlen_all(v.get(), &offsets, &data, &size) != OZARR_OK) return error::last();
        out.clear();
        out.reserve(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; i++) out.emplace_back(data + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
        return {};
    }

    template <class T>
    detail::problem read_resized(std::vector<T> &out, const region &r) const {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> holds no bool: read to a pointer to bool, or std::vector<std::uint8_t>");
        index shape = index::zeros(static_cast<std::size_t>(rank_));
        if (ozarr_array_shape(h_, shape.data()) != OZARR_OK) return error::last();
        bool inside = true;
        if (!r.whole && r.shape.size() == shape.size())
            for (std::size_t d = 0; d < shape.size(); d++) {
                inside = inside && r.shape[d] >= 0 && r.shape[d] <= shape[d];
                shape[d] = r.shape[d];
            }
        // What leaves the array gets no memory; the call below says what is wrong with it.
        std::size_t count = inside ? 1 : 0;
        for (std::size_t d = 0; inside && d < shape.size(); d++) {
            std::size_t n = static_cast<std::size_t>(shape[d]);
            if (n != 0 && count > std::numeric_limits<std::size_t>::max() / sizeof(T) / n)
                return error(OZARR_ERR_NO_MEMORY, "the region has more elements than fit into memory");
            count *= n;
        }
        out.resize(count);
        return transfer(ozarr_array_read_ex, out.data(), out.size(), nullptr, 0, r);
    }

    std::int32_t rank_ = 0;
};

/// What makes an array longer along one dimension, step by step: see "Time steps" in ozarr.h. It is to be closed: only that tells what
/// could not be stored.
class appender : public detail::handle<ozarr_appender, ozarr_appender_free> {
public:
    /// `publish_every` steps readers see them (0: whenever chunks are whole); at most `memory` bytes wait (0: no limit).
    static returned<appender> open(array &a, int dim = 0, std::int64_t publish_every = 0, std::size_t memory = 0) {
        appender out;
        OZARR_HPP_TRY(ozarr_appender_open(a.get(), dim, publish_every, memory, &out.h_));
        return out;
    }
    /// Takes `count` steps from `size` elements at `data`, which are copied.
    template <class T>
    returned<void> append(const T *data, std::size_t size, std::int64_t count = 1) {
        if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) size = std::numeric_limits<std::size_t>::max() / sizeof(T);
        OZARR_HPP_TRY(ozarr_appender_append(h_, count, static_cast<ozarr_type>(type_of<T>::value), data, size * sizeof(T)));
        return returned<void>();
    }
    template <class T>
    returned<void> append(const std::vector<T> &data, std::int64_t count = 1) {
        return append(data.data(), data.size(), count);
    }
    /// The length of the dimension with all steps that were taken.
    returned<std::int64_t> position() const {
        std::int64_t n = 0;
        OZARR_HPP_TRY(ozarr_appender_position(h_, &n, nullptr));
        return n;
    }
    /// The length that readers see.
    returned<std::int64_t> published() const {
        std::int64_t n = 0;
        OZARR_HPP_TRY(ozarr_appender_position(h_, nullptr, &n));
        return n;
    }
    /// Stores and publishes all steps.
    returned<void> flush() {
        OZARR_HPP_TRY(ozarr_appender_flush(h_));
        return returned<void>();
    }
    /// Flushes and frees.
    returned<void> close() {
        OZARR_HPP_TRY(ozarr_appender_close(release()));
        return returned<void>();
    }
};

// ---------------------------------------------------------------------------------------------------------------------
// Groups
// ---------------------------------------------------------------------------------------------------------------------

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
        OZARR_HPP_TRY(ozarr_group_create(location.c_str(), static_cast<ozarr_create>(flags), &h));
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
        OZARR_HPP_TRY(ozarr_group_create_array(h_, path.c_str(), s.get(), static_cast<ozarr_create>(flags), &h));
        return array::adopt(h);
    }
    returned<group> create_group(const std::string &path, existing flags = existing::fail) {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_create_group(h_, path.c_str(), static_cast<ozarr_create>(flags), &h));
        return group(h);
    }

    /// The children as they are now, sorted by name: `for (const ozarr::child &c : g.children()) …`
    returned<std::vector<child>> children() const {
        struct iter : detail::handle<ozarr_node_iter, ozarr_node_iter_free> {
            using handle::handle;
        };
        ozarr_node_iter *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_nodes(h_, nullptr, 1, &h));
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

// ---------------------------------------------------------------------------------------------------------------------
// Contexts and stores
// ---------------------------------------------------------------------------------------------------------------------

/// Settings for stores.
class context : public detail::handle<ozarr_context, ozarr_context_free> {
public:
    static returned<context> create() {
        context c;
        OZARR_HPP_TRY(ozarr_context_new(&c.h_));
        return c;
    }
    returned<void> set(const std::string &key, const std::string &value) {
        OZARR_HPP_TRY(ozarr_context_set(h_, key.c_str(), value.c_str()));
        return returned<void>();
    }
};

#ifndef OZARR_NO_EXCEPTIONS
/// A store of a program's own: derive from it, and give an object to `store::own`. Keys and prefixes come as in ozarr.h, "Stores of
/// your own". What is thrown becomes the error of the call that needed the store: an ozarr::error with its status, anything else
/// OZARR_ERR_CALLBACK. What `can()` does not promise is not called.
class own_store {
public:
    using bytes = std::vector<unsigned char>;

    virtual ~own_store() = default;
    /// What messages call it.
    virtual std::string name() const { return "user:"; }
    /// A sum of OZARR_CAN_WRITE, OZARR_CAN_ERASE, OZARR_CAN_LIST; and OZARR_CALLBACK_ANY_THREAD where any threads may call it at once.
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

/// Runs a member of an own_store; what it throws becomes a status.
template <class F>
ozarr_status caught(F &&call) noexcept {
    try {
        return call();
    } catch (const error &e) {
        return ozarr_set_error(e.status(), e.what());
    } catch (const std::bad_alloc &) {
        return OZARR_ERR_NO_MEMORY;
    } catch (const std::exception &e) {
        return ozarr_set_error(OZARR_ERR_CALLBACK, e.what());
    } catch (...) {
        return ozarr_set_error(OZARR_ERR_CALLBACK, "something was thrown that is no std::exception");
    }
}

inline own_store &own(void *context) { return *static_cast<own_store *>(context); }

/// The functions of an own_store as C calls them.
inline ozarr_store_table own_table(own_store &functions, const std::string &name) {
    ozarr_store_table t = OZARR_STORE_TABLE_INIT;
    const std::uint32_t can = functions.can();
    t.flags = can & OZARR_CALLBACK_ANY_THREAD;
    t.name = name.c_str();
    t.context = &functions;
    t.destroy = [](void *context) { delete &own(context); };
    t.get = [](void *context, const char *key, ozarr_answer *answer) {
        return caught([&] {
            const auto value = own(context).get(key);
            return value ? ozarr_answer_put(answer, value->data(), value->size()) : OZARR_ERR_NOT_FOUND;
        });
    };
    if ((can & OZARR_CAN_WRITE) != 0)
        t.put = [](void *context, const char *key, const void *data, std::size_t size) {
            return caught([&] { return own(context).put(key, data, size), OZARR_OK; });
        };
    if ((can & OZARR_CAN_ERASE) != 0)
        t.erase = [](void *context, const char *key) {
            return caught([&] { return own(context).erase(key) ? OZARR_OK : OZARR_ERR_NOT_FOUND; });
        };
    if ((can & OZARR_CAN_LIST) != 0)
        t.list = [](void *context, const char *prefix, ozarr_keys *keys) {
            return caught([&]() -> ozarr_status {
                for (const std::string &key : own(context).list(prefix))
                    if (const ozarr_status status = ozarr_keys_add(keys, key.c_str())) return status;
                return OZARR_OK;
            });
        };
    t.flush = [](void *context) { return caught([&] { return own(context).flush(), OZARR_OK; }); };
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
        std::vector<const char *> list;
        for (const auto &option : options) {
            list.push_back(option.first.c_str());
            list.push_back(option.second.c_str());
        }
        list.push_back(nullptr);
        store s;
        OZARR_HPP_TRY(ozarr_store_open_ex(settings == nullptr ? nullptr : settings->get(), location.c_str(), mode, list.data(), &s.h_));
        return s;
    }
#ifndef OZARR_NO_EXCEPTIONS
    /// A store of the program's own functions. The object lives as long as any handle on the store.
    static store own(std::unique_ptr<own_store> functions, const char *mode = "r+", const context *settings = nullptr) {
        if (!functions) throw error(OZARR_ERR_NULL, "the store has no functions");
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
        OZARR_HPP_TRY(ozarr_store_below(h_, path.c_str(), mode, &s.h_));
        return s;
    }
    /// This store behind a cache of so many bytes in memory.
    returned<store> cached(std::size_t bytes, const char *mode = "r") const {
        store s;
        OZARR_HPP_TRY(ozarr_store_cached(h_, bytes, mode, &s.h_));
        return s;
    }

    /// For tests: this store, each request of which takes so much longer.
    returned<store> delayed(std::chrono::microseconds delay, const char *mode = "r") const {
        const std::int64_t most = UINT32_MAX, count = delay.count() < 0 ? 0 : delay.count() > most ? most : delay.count();
        store s;
        OZARR_HPP_TRY(ozarr_store_delayed(h_, static_cast<std::uint32_t>(count), mode, &s.h_));
        return s;
    }
    /// For tests: this store over a line that carries so much in a second, shared by all requests; 0 sets no limit.
    returned<store> throttled(std::uint64_t bytes_per_second, std::uint32_t requests_per_second = 0, const char *mode = "r") const {
        store s;
        OZARR_HPP_TRY(ozarr_store_throttled(h_, bytes_per_second, requests_per_second, mode, &s.h_));
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
        OZARR_HPP_TRY(ozarr_array_open_at(h_, path.c_str(), &h));
        return array::adopt(h);
    }
    returned<group> open_group(const std::string &path) const {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_open_at(h_, path.c_str(), &h));
        return group(h);
    }
    returned<array> create_array(const std::string &path, const spec &s, existing flags = existing::fail) {
        OZARR_HPP_CHECK(s.problem());
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_array_create_at(h_, path.c_str(), s.get(), static_cast<ozarr_create>(flags), &h));
        return array::adopt(h);
    }
    /// `zarr_format`: 2, 3, or 0 for that of the group above.
    returned<group> create_group(const std::string &path, existing flags = existing::fail, int zarr_format = 0) {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_group_create_at(h_, path.c_str(), zarr_format, static_cast<ozarr_create>(flags), &h));
        return group(h);
    }
    /// What stands at a path; nothing is no error.
    returned<node_kind> kind(const std::string &path) const {
        ozarr_node_kind k = 0;
        OZARR_HPP_TRY(ozarr_store_node_kind(h_, path.c_str(), &k));
        return static_cast<node_kind>(k);
    }
    /// Erases a node with everything below it.
    returned<void> erase(const std::string &path) {
        OZARR_HPP_TRY(ozarr_store_node_erase(h_, path.c_str()));
        return returned<void>();
    }
    returned<void> flush() {
        OZARR_HPP_TRY(ozarr_store_flush(h_));
        return returned<void>();
    }
    /// Flushes and frees; the handle is empty afterwards.
    returned<void> close() {
        OZARR_HPP_TRY(ozarr_store_close(release()));
        return returned<void>();
    }
};

// ---------------------------------------------------------------------------------------------------------------------
// Datasets
// ---------------------------------------------------------------------------------------------------------------------

/// A dimension of a dataset.
struct dimension {
    std::string name;
    std::int64_t length = 0;
};

/// A group as netCDF and xarray see it: named dimensions, variables, coordinates. It is to be closed: only then is written which
/// variables are coordinates, and are the metadata consolidated.
class dataset : public detail::handle<ozarr_dataset, ozarr_dataset_free> {
public:
    /// `zarr_format`: 2, 3, or 0 for that of the group above.
    static returned<dataset> create(const std::string &location, existing flags = existing::fail, int zarr_format = 0) {
        dataset d;
        OZARR_HPP_TRY(ozarr_dataset_create(location.c_str(), zarr_format, static_cast<ozarr_create>(flags), &d.h_));
        return d;
    }
    static returned<dataset> open(const std::string &location, const char *mode = "r") {
        dataset d;
        OZARR_HPP_TRY(ozarr_dataset_open(location.c_str(), mode, &d.h_));
        return d;
    }

    returned<void> define_dimension(const std::string &name, std::int64_t length) {
        OZARR_HPP_TRY(ozarr_dataset_define_dimension(h_, name.c_str(), length));
        return returned<void>();
    }
    /// Resizes all variables that have the dimension.
    returned<void> resize_dimension(const std::string &name, std::int64_t length) {
        OZARR_HPP_TRY(ozarr_dataset_resize_dimension(h_, name.c_str(), length));
        return returned<void>();
    }
    returned<std::vector<dimension>> dimensions() const {
        std::size_t n = 0;
        OZARR_HPP_TRY(ozarr_dataset_dimension_count(h_, &n));
        std::vector<dimension> all(n);
        for (std::size_t i = 0; i < n; i++) {
            OZARR_HPP_TRY(detail::text(all[i].name, [&](char *b, std::size_t c, std::size_t *l) { return ozarr_dataset_dimension(h_, i, b, c, l, &all[i].length); }));
        }
        return all;
    }

    /// A variable of elements of type T along dimensions that are defined.
    template <class T>
    returned<array> define_variable(const std::string &name, const std::vector<std::string> &along) {
        std::vector<const char *> names;
        for (const std::string &d : along) names.push_back(d.c_str());
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_define_variable(h_, name.c_str(), static_cast<ozarr_type>(type_of<T>::value), static_cast<std::int32_t>(names.size()),
                                                    names.data(), &h));
        return array::adopt(h);
    }
    /// As above, with every choice of the struct of C.
    returned<array> define_variable(const std::string &name, const ozarr_variable &v, existing flags = existing::fail) {
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_define_variable_ex(h_, name.c_str(), &v, static_cast<ozarr_create>(flags), &h));
        return array::adopt(h);
    }
    /// A dimension of as many values, and the variable that holds them.
    template <class T>
    returned<array> define_coordinate(const std::string &name, const std::vector<T> &values, const char *units = nullptr) {
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_define_coordinate(h_, name.c_str(), static_cast<ozarr_type>(type_of<T>::value), static_cast<std::int64_t>(values.size()),
                                                      values.data(), values.size() * sizeof(T), units, &h));
        return array::adopt(h);
    }
    /// A time axis, counts of units such as "hours since 2026-01-01".
    returned<array> define_time(const std::string &name, std::int64_t length, const std::string &units, const char *calendar = nullptr) {
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_define_time(h_, name.c_str(), length, units.c_str(), calendar, &h));
        return array::adopt(h);
    }
    returned<void> set_coordinate(const std::string &name) {
        OZARR_HPP_TRY(ozarr_dataset_set_coordinate(h_, name.c_str()));
        return returned<void>();
    }

    /// The names of all variables; with `coordinates` only of those.
    returned<std::vector<std::string>> variables(bool coordinates = false) const {
        std::size_t n = 0;
        OZARR_HPP_TRY(ozarr_dataset_variable_count(h_, &n));
        std::vector<std::string> all;
        for (std::size_t i = 0; i < n; i++) {
            std::string name;
            bool is_coordinate = false;
            OZARR_HPP_TRY(detail::text(name, [&](char *b, std::size_t c, std::size_t *l) { return ozarr_dataset_variable(h_, i, b, c, l, &is_coordinate); }));
            if (is_coordinate || !coordinates) all.push_back(std::move(name));
        }
        return all;
    }
    returned<array> variable(const std::string &name) const {
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_open_variable(h_, name.c_str(), &h));
        return array::adopt(h);
    }
    /// The group that it is, for its attributes.
    returned<group> as_group() const {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_group(h_, &h));
        return group(h);
    }
    /// Writes what closing writes, and frees; the handle is empty afterwards.
    returned<void> close() {
        OZARR_HPP_TRY(ozarr_dataset_close(release()));
        return returned<void>();
    }
};

/// Erases what stands at a location, with everything below it.
inline returned<void> erase(const std::string &location) {
    OZARR_HPP_TRY(ozarr_node_erase(location.c_str()));
    return returned<void>();
}

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#undef OZARR_HPP_MODE
#undef OZARR_HPP_FAIL
#undef OZARR_HPP_TRY
#undef OZARR_HPP_CHECK

#endif // OZARR_HPP
