// ozarr.hpp: arrays. Part of ozarr.hpp, which includes it.
#ifndef OZARR_ARRAY_HPP
#define OZARR_ARRAY_HPP

#include <ozarr/array_base.hpp>
#include <ozarr/request.hpp>
#include <ozarr/spec.hpp>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

namespace detail {
/// What is wrong with a data type, or with taking elements of type T for what it describes.
template <class T>
problem lies_as(const dtype &what) {
    std::size_t size = 0;
    if (what.problem()) return what.problem();
    if (ozarr_dtype_item_size(what.get(), &size) != OZARR_OK) return error::last();
    if (size % sizeof(T) == 0) return {};
    return error(OZARR_ERR_TYPE, "the memory has elements of " + std::to_string(sizeof(T)) + " bytes, expected " + std::to_string(size) + ", as its data type says");
}
} // namespace detail

class array : public detail::array_base {

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
        OZARR_HPP_TRY(ozarr_array_open(detail::c_text(location), mode, &h));
        return adopt(h);
    }
    /// Creates an array; without chunks their shape is suggested.
    static returned<array> create(const std::string &location, ozarr::type t, const index &shape, const index &chunks = {},
                                  existing flags = existing::fail) {
        std::int32_t rank = static_cast<std::int32_t>(shape.size() <= index::max_rank ? shape.size() : index::max_rank + 1);
        if (!chunks.empty()) OZARR_HPP_CHECK(detail::same_rank("chunk shape", chunks.size(), rank));
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_array_create(detail::c_text(location), static_cast<ozarr_type>(t), rank, shape.data(),
                                         chunks.empty() ? nullptr : chunks.data(), static_cast<ozarr_create_mode>(flags), &h));
        return adopt(h);
    }
    template <class T>
    static returned<array> create(const std::string &location, const index &shape, const index &chunks = {}, existing flags = existing::fail) {
        return create(location, type_of<T>::value, shape, chunks, flags);
    }
    static returned<array> create(const std::string &location, const spec &s, existing flags = existing::fail) {
        OZARR_HPP_CHECK(s.problem());
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_array_create_ex(detail::c_text(location), s.get(), static_cast<ozarr_create_mode>(flags), &h));
        return adopt(h);
    }

    /// The number of dimensions; 0 of an array that is empty, closed or moved away.
    int rank() const noexcept { return h_ != nullptr ? rank_ : 0; }
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
        std::int32_t rank = 0;
        OZARR_HPP_TRY(ozarr_array_rank(h_, &rank));
        std::vector<std::string> names(static_cast<std::size_t>(rank));
        for (std::int32_t d = 0; d < rank; d++)
            OZARR_HPP_TRY(detail::text(names[static_cast<std::size_t>(d)], [&](char *b, std::size_t n, std::size_t *l) {
                return ozarr_array_dimension_name(h_, d, b, n, l, nullptr);
            }));
        return names;
    }
    /// Changes the names of the dimensions, one for each; an empty one is none.
    returned<void> set_dimension_names(const std::vector<std::string> &names) {
        OZARR_HPP_CHECK(misranked("list of dimensions", names.size(), "names"));
        return detail::checked(ozarr_array_set_dimension_names(h_, detail::dimension_names(names, true).list));
    }
    /// What parts that were never written read as. T has to be the array's type.
    template <class T>
    returned<T> fill_value() const {
        OZARR_HPP_CHECK((same_type<T>("fill value")));
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
        OZARR_HPP_CHECK(transfer(ozarr_array_read_ex, data, size, r));
        return returned<void>();
    }
    template <class T>
    returned<void> read(const strided<T> &m, const region &r = {}) const {
        static_assert(!std::is_const_v<T>, "cannot read into constant memory");
        OZARR_HPP_CHECK(transfer(ozarr_array_read_ex, detail::view_of(m), r));
        return returned<void>();
    }

    /// To `size` elements at `data` that are as `what` says: a struct of the program's own, text, times of a unit. (Or so many bytes or other equal parts
    /// of them.)
    template <class T>
    returned<void> read(const dtype &what, T *data, std::size_t size, const region &r = {}) const {
        static_assert(!std::is_const_v<T>, "cannot read into constant memory");
        OZARR_HPP_CHECK((detail::lies_as<T>(what)));
        OZARR_HPP_CHECK(transfer<false>(ozarr_array_read_ex, data, size, r, what.get()));
        return returned<void>();
    }
    /// One field of the array's structs: `"x"`, `"a.b"` for the field b of the field a, or `"v[1]"` for one value (from 0) of a field that has a shape.
    template <class T>
    returned<void> read_field(const std::string &field, T *data, std::size_t size, const region &r = {}) const {
        static_assert(!std::is_const_v<T>, "cannot read into constant memory");
        OZARR_HPP_CHECK(transfer(ozarr_array_read_ex, data, size, r, nullptr, detail::c_text(field)));
        return returned<void>();
    }
    /// The type of the elements.
    returned<dtype> data_type() const {
        ozarr_dtype *d = nullptr;
        OZARR_HPP_TRY(ozarr_array_copy_dtype(h_, &d));
        return dtype(d);
    }

    // Writing. A vector that has more elements than the region is refused.

    /// From `size` elements at `data` that are as `what` says.
    template <class T>
    returned<void> write(const dtype &what, const T *data, std::size_t size, const region &r = {}) const {
        OZARR_HPP_CHECK((detail::lies_as<T>(what)));
        OZARR_HPP_CHECK(transfer<false>(ozarr_array_write_ex, data, size, r, what.get()));
        return returned<void>();
    }
    /// One field; the others stay as they are.
    template <class T>
    returned<void> write_field(const std::string &field, const T *data, std::size_t size, const region &r = {}) const {
        OZARR_HPP_CHECK(transfer(ozarr_array_write_ex, data, size, r, nullptr, detail::c_text(field)));
        return returned<void>();
    }
    template <class T>
    returned<void> write(const std::vector<T> &data, const region &r = {}) const {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> holds no bool: write a pointer to bool, or std::vector<std::uint8_t>");
        if constexpr (std::is_same_v<T, std::string>) {
            OZARR_HPP_CHECK(write_texts(data, r));
        } else {
            OZARR_HPP_CHECK(transfer_all(ozarr_array_write_ex, data, r));
        }
        return returned<void>();
    }
    /// From `size` elements at `data`.
    template <class T>
    returned<void> write(const T *data, std::size_t size, const region &r = {}) const {
        OZARR_HPP_CHECK(transfer(ozarr_array_write_ex, data, size, r));
        return returned<void>();
    }
    template <class T>
    returned<void> write(const strided<T> &m, const region &r = {}) const {
        OZARR_HPP_CHECK(transfer(ozarr_array_write_ex, detail::view_of(m), r));
        return returned<void>();
    }

    // Reading and writing that go on by themselves.

    /// Begins to read to memory (a vector, ozarr::strided, a span, an mdspan) that means nothing until the request is done.
    template <class M, class = detail::if_memory<M>>
    returned<request> iread(M &&memory, const region &r = {}, const request_options &options = {}) const {
        request begun;
        OZARR_HPP_CHECK(request::begin(begun, options, [&](const ozarr_request_options *o, ozarr_request **out) {
            return transfer([=](const ozarr_array *a, const ozarr_region *where, const ozarr_memory *m) { return ozarr_array_iread_ex(a, where, m, o, out); },
                            writable(detail::view_of(memory)), r);
        }));
        return begun;
    }
    /// Not to a vector that is gone when this returns.
    template <class T>
    returned<request> iread(std::vector<T> &&memory, const region &r = {}, const request_options &options = {}) const = delete;
    template <class T>
    returned<request> iread(T *data, std::size_t size, const region &r = {}, const request_options &options = {}) const {
        return iread(detail::view<T>{data, size}, r, options);
    }
    /// Begins to write from memory that must not change until the request is done; or, with `copy`, until this returns.
    template <class M, class = detail::if_memory<M>>
    returned<request> iwrite(const M &memory, const region &r = {}, const request_options &options = {}) const {
        request begun;
        OZARR_HPP_CHECK(request::begin(begun, options, [&](const ozarr_request_options *o, ozarr_request **out) {
            return transfer_all([=](const ozarr_array *a, const ozarr_region *where, const ozarr_memory *m) { return ozarr_array_iwrite_ex(a, where, m, o, out); },
                                memory, r);
        }));
        return begun;
    }
    /// Not from a vector that is gone when this returns; where the options have `copy`, it may be.
    template <class T>
    returned<request> iwrite(const std::vector<T> &&memory, const region &r = {}) const = delete;
    template <class T>
    returned<request> iwrite(const std::vector<T> &&memory, const region &r, const request_options &options) const {
        if (!options.copy) OZARR_HPP_FAIL(error(OZARR_ERR_ARGUMENT, "the memory is a vector that is gone after the call, expected options with copy"));
        return iwrite(memory, r, options);
    }
    template <class T>
    returned<request> iwrite(const T *data, std::size_t size, const region &r = {}, const request_options &options = {}) const {
        return iwrite(detail::view<const T>{data, size}, r, options);
    }

    // Spans and mdspans. An mdspan has the region's shape; where a region is 1 long, it may lack the dimension.

#ifdef __cpp_lib_span
    template <class T, std::size_t N>
    returned<void> read(std::span<T, N> data, const region &r = {}) const { return read(data.data(), data.size(), r); }
    template <class T, std::size_t N>
    returned<void> write(std::span<T, N> data, const region &r = {}) const {
        return write(static_cast<const T *>(data.data()), data.size(), r);
    }
#endif
    template <class M, class = detail::if_mdspan<M>>
    returned<void> read(const M &data, const region &r = {}) const {
        OZARR_HPP_CHECK(transfer(ozarr_array_read_ex, writable(detail::view_of(data)), r));
        return returned<void>();
    }
    template <class M, class = detail::if_mdspan<M>, class = void>
    returned<void> write(const M &data, const region &r = {}) const {
        OZARR_HPP_CHECK(transfer(ozarr_array_write_ex, detail::view_of(data), r));
        return returned<void>();
    }

    // What numbers mean by the CF conventions: packing, missing values, times.

    /// The numbers that the stored ones stand for: times scale_factor plus add_offset, NaN where they are missing.
    template <class T = double>
    returned<std::vector<T>> read_unpacked(const region &r = {}) const {
        std::vector<T> out;
        OZARR_HPP_CHECK(read_resized(out, r, ozarr_array_read_unpacked));
        return out;
    }
    template <class M, class = detail::if_memory<M>>
    returned<void> read_unpacked(M &&memory, const region &r = {}) const {
        OZARR_HPP_CHECK(transfer(ozarr_array_read_unpacked, writable(detail::view_of(memory)), r));
        return returned<void>();
    }
    /// Packs numbers and writes them: rounded where the array is of integers, NaN as the missing value.
    template <class M, class = detail::if_memory<M>>
    returned<void> write_packed(const M &memory, const region &r = {}) const {
        OZARR_HPP_CHECK(transfer_all(ozarr_array_write_packed, memory, r));
        return returned<void>();
    }
    /// Times as counts of units such as "seconds since 1970-01-01"; INT64_MIN where they are missing.
    returned<std::vector<std::int64_t>> read_times(const std::string &units, const region &r = {}) const {
        std::vector<std::int64_t> out;
        OZARR_HPP_CHECK(read_resized(out, r, [&](const ozarr_array *a, const ozarr_region *where, const ozarr_memory *m) {
            return ozarr_array_read_times(a, where, detail::c_text(units), static_cast<std::int64_t *>(m->data), m->size);
        }));
        return out;
    }
    returned<void> write_times(const std::string &units, const std::vector<std::int64_t> &counts, const region &r = {}) const {
        OZARR_HPP_CHECK(transfer_all([&](const ozarr_array *a, const ozarr_region *where, const ozarr_memory *m) {
            return ozarr_array_write_times(a, where, detail::c_text(units), static_cast<const std::int64_t *>(m->data), m->size);
        }, counts, r));
        return returned<void>();
    }
    /// The stored value that means "missing", if there is one. T has to be the array's type.
    template <class T>
    returned<std::optional<T>> missing_value() const {
        OZARR_HPP_CHECK((same_type<T>("missing value")));
        T found{};
        bool defined = false;
        OZARR_HPP_TRY(ozarr_array_missing_value(h_, &found, sizeof found, &defined));
        return defined ? std::optional<T>(found) : std::nullopt;
    }

    // Parallel programs, and what a call does.

    /// The part of a region (without steps) for worker `index`, from 0, of `workers`: it ends only where chunks end, so that workers write without
    /// waiting for each other; with `inner` where inner chunks end, for reading.
    returned<region> partition(std::int64_t workers, std::int64_t index_, const region &r = {}, bool inner = false) const {
        OZARR_HPP_CHECK(misfit(r));
        const c_region where(r);
        index start = index::zeros(static_cast<std::size_t>(rank_)), shape = start;
        OZARR_HPP_TRY(ozarr_array_partition(h_, where.pointer, workers, index_, inner ? static_cast<std::uint32_t>(OZARR_PARTITION_INNER) : 0U, start.data(), shape.data()));
        return region(start, shape);
    }
    /// What reading (or writing) a region would do: chunks, reads, bytes, threads. Its members are those of C's struct.
    returned<ozarr_explanation> explain(const region &r = {}, bool write = false) const {
        OZARR_HPP_CHECK(misfit(r));
        const c_region where(r);
        ozarr_explanation plan = OZARR_EXPLANATION_INIT;
        OZARR_HPP_TRY(ozarr_array_explain(h_, where.pointer, nullptr, write, &plan));
        return plan;
    }
    /// Statistics of a region's numbers: how many are missing or NaN, minimum, maximum, mean, standard deviation.
    returned<ozarr_summary> summarize(const region &r = {}) const {
        OZARR_HPP_CHECK(misfit(r));
        const c_region where(r);
        ozarr_summary found = OZARR_SUMMARY_INIT;
        OZARR_HPP_TRY(ozarr_array_summarize(h_, where.pointer, &found));
        return found;
    }
    /// A checksum of a region's elements that depends on nothing else: 32 hexadecimal digits.
    returned<std::string> digest(const region &r = {}) const {
        OZARR_HPP_CHECK(misfit(r));
        const c_region where(r);
        std::string digits(32, '0');
        OZARR_HPP_TRY(ozarr_array_digest(h_, where.pointer, &digits[0], digits.size() + 1, nullptr));
        return digits;
    }
    /// What differs between all elements and those of another array, by more than `absolute` plus `relative` times the larger number.
    returned<ozarr_comparison> compare(const array &other, double absolute = 0, double relative = 0) const {
        ozarr_comparison found = OZARR_COMPARISON_INIT;
        OZARR_HPP_TRY(ozarr_array_compare(h_, nullptr, other.h_, nullptr, absolute, relative, &found, nullptr));
        return found;
    }
    /// The counters of this handle.
    returned<ozarr_stats> stats() const {
        ozarr_stats counters = OZARR_STATS_INIT;
        OZARR_HPP_TRY(ozarr_array_stats(h_, &counters));
        return counters;
    }
    /// What is stored: chunks, bytes, the ratio of compression.
    returned<ozarr_info> info() const {
        ozarr_info found = OZARR_INFO_INIT;
        OZARR_HPP_TRY(ozarr_array_info(h_, &found));
        return found;
    }

    // Lists of elements, as new vectors, and from vectors of exactly as many elements.

    /// The product of index lists, the last one fastest.
    template <class T>
    returned<std::vector<T>> read_orthogonal(const lists &indices) const {
        std::vector<const std::int64_t *> given;
        std::vector<std::int64_t> counts;
        std::size_t n = 0;
        OZARR_HPP_CHECK(take_apart(indices, given, counts, sizeof(T), n));
        std::vector<T> out(n);
        const ozarr_memory memory = dense(out.data(), n);
        OZARR_HPP_TRY(ozarr_array_read_orthogonal(h_, counts.data(), given.data(), &memory));
        return out;
    }
    template <class T>
    returned<void> write_orthogonal(const lists &indices, const std::vector<T> &data) const {
        std::vector<const std::int64_t *> given;
        std::vector<std::int64_t> counts;
        std::size_t n = 0;
        OZARR_HPP_CHECK(take_apart(indices, given, counts, sizeof(T), n));
        OZARR_HPP_CHECK(detail::exactly(data.size(), n));
        const ozarr_memory memory = dense(data.data(), data.size());
        return detail::checked(ozarr_array_write_orthogonal(h_, counts.data(), given.data(), &memory));
    }
    /// Points: their coordinates one after the other, as many for each as the array has dimensions (at least 1).
    template <class T>
    returned<std::vector<T>> read_points(const std::vector<std::int64_t> &points) const {
        OZARR_HPP_CHECK(whole_points(points));
        std::vector<T> out(points.size() / static_cast<std::size_t>(rank_));
        const ozarr_memory memory = dense(out.data(), out.size());
        OZARR_HPP_TRY(ozarr_array_read_points(h_, points.data(), static_cast<std::int64_t>(out.size()), &memory));
        return out;
    }
    template <class T>
    returned<void> write_points(const std::vector<std::int64_t> &points, const std::vector<T> &data) const {
        OZARR_HPP_CHECK(whole_points(points));
        const auto n = static_cast<std::int64_t>(points.size() / static_cast<std::size_t>(rank_));
        OZARR_HPP_CHECK(detail::exactly(data.size(), static_cast<std::size_t>(n)));
        const ozarr_memory memory = dense(data.data(), data.size());
        return detail::checked(ozarr_array_write_points(h_, points.data(), n, &memory));
    }
    /// The elements of a region without steps whose byte in the mask is not 0, the last index fastest.
    template <class T>
    returned<std::vector<T>> read_mask(const std::vector<std::uint8_t> &mask, const region &r = {}) const {
        OZARR_HPP_CHECK(whole_mask(mask, r));
        std::vector<T> out(picked(mask));
        const c_region where(r);
        const ozarr_memory memory = dense(out.data(), out.size());
        OZARR_HPP_TRY(ozarr_array_read_mask(h_, where.pointer, mask.data(), &memory));
        return out;
    }
    template <class T>
    returned<void> write_mask(const std::vector<std::uint8_t> &mask, const std::vector<T> &data, const region &r = {}) const {
        OZARR_HPP_CHECK(whole_mask(mask, r));
        OZARR_HPP_CHECK(detail::exactly(data.size(), picked(mask)));
        const c_region where(r);
        const ozarr_memory memory = dense(data.data(), data.size());
        return detail::checked(ozarr_array_write_mask(h_, where.pointer, mask.data(), &memory));
    }
    /// One value to all elements of a region.
    template <class T>
    returned<void> fill(const T &value, const region &r = {}) const {
        OZARR_HPP_CHECK(misfit(r));
        const c_region where(r);
        return detail::checked(ozarr_array_fill(h_, where.pointer, static_cast<ozarr_type>(type_of<T>::value), &value));
    }

    // Growing.

    /// Changes the shape; `flags`: 0 or OZARR_RESIZE_KEEP.
    returned<void> resize(const index &shape, std::uint32_t flags = 0) {
        OZARR_HPP_CHECK(misranked("shape", shape.size()));
        return detail::checked(ozarr_array_resize(h_, shape.data(), flags));
    }
    /// Makes dimension `dim` longer by `count` and writes the new slab from `size` elements at `data`. Structs are appended by an appender.
    template <class T>
    returned<void> append(const T *data, std::size_t size, int dim, std::int64_t count) {
        if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) size = std::numeric_limits<std::size_t>::max() / sizeof(T);
        return detail::checked(ozarr_array_append(h_, dim, count, static_cast<ozarr_type>(type_of<T>::value), data, size * sizeof(T)));
    }
    /// The same; how many follows from the vector's size, which has to be a multiple of a slab.
    template <class T>
    returned<void> append(const std::vector<T> &data, int dim = 0) {
        std::int64_t count = 0;
        OZARR_HPP_CHECK(count_slabs(data.size(), dim, count));
        return append(data.data(), data.size(), dim, count);
    }
    /// The same with texts, of an array of texts.
    returned<void> append(const std::vector<std::string> &texts, int dim = 0) {
        std::int64_t count = 0;
        OZARR_HPP_CHECK(count_slabs(texts.size(), dim, count));
        const packed_texts packed(texts);
        return detail::checked(ozarr_array_append_varlen(h_, dim, count, packed.offsets.data(), packed.all.data(), packed.all.size()));
    }

    /// Waits until dimension `dim` is longer than `beyond`, and gives its length; OZARR_ERR_TIMEOUT after so many seconds; negative: no limit.
    returned<std::int64_t> wait_growth(int dim, std::int64_t beyond, double seconds) {
        std::int64_t length = 0;
        OZARR_HPP_TRY(ozarr_array_wait_growth(h_, dim, beyond, seconds, &length));
        return length;
    }

private:
    explicit array(ozarr_array *h) noexcept : array_base(h) {}

    template <class T>
    static detail::view<T> writable(const detail::view<T> &v) noexcept {
        static_assert(!std::is_const_v<T>, "cannot read into constant memory");
        return v;
    }

    /// A value is asked for as T: that is to be the array's type.
    template <class T>
    detail::problem same_type(const char *what) const {
        ozarr_type t = 0;
        if (ozarr_array_type(h_, &t) != OZARR_OK) return error::last();
        constexpr auto wanted = static_cast<ozarr_type>(type_of<T>::value);
        if (t == wanted) return {};
        return error(OZARR_ERR_TYPE, std::string("the ") + what + " is asked for as type " + std::to_string(wanted) + ", expected the array's, " + std::to_string(t));
    }
};

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_ARRAY_HPP
