// ozarr.hpp: arrays. Part of ozarr.hpp, which includes it.
#ifndef OZARR_ARRAY_HPP
#define OZARR_ARRAY_HPP

#include <ozarr_advanced.h>
#include <ozarr/node.hpp>
#include <ozarr/request.hpp>
#include <ozarr/spec.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

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
        OZARR_HPP_TRY(ozarr_array_create_ex(location.c_str(), s.get(), static_cast<ozarr_create_mode>(flags), &h));
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
        OZARR_HPP_TRY(ozarr_array_copy_dtype(h_, &d));
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
        const ozarr_memory memory = dense(out.data(), n);
        OZARR_HPP_TRY(ozarr_array_read_orthogonal(h_, counts.data(), given.data(), &memory));
        return out;
    }
    template <class T>
    returned<void> write_orthogonal(const lists &indices, const std::vector<T> &data) const {
        std::vector<const std::int64_t *> given;
        std::vector<std::int64_t> counts;
        std::size_t n = 0;
        OZARR_HPP_CHECK(take_apart(indices, given, counts, n));
        const ozarr_memory memory = dense(data.data(), data.size());
        OZARR_HPP_TRY(ozarr_array_write_orthogonal(h_, counts.data(), given.data(), &memory));
        return returned<void>();
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
        const ozarr_memory memory = dense(data.data(), data.size());
        OZARR_HPP_TRY(ozarr_array_write_points(h_, points.data(), n, &memory));
        return returned<void>();
    }
    /// The elements of a region without steps whose byte in the mask is not 0, the last index fastest.
    template <class T>
    returned<std::vector<T>> read_mask(const std::vector<std::uint8_t> &mask, const region &r = {}) const {
        OZARR_HPP_CHECK(whole_mask(mask, r));
        std::vector<T> out(mask.size() - static_cast<std::size_t>(std::count(mask.begin(), mask.end(), std::uint8_t(0))));
        const ozarr_region c = {sizeof(ozarr_region), r.start.data(), r.shape.data(), nullptr};
        const ozarr_memory memory = dense(out.data(), out.size());
        OZARR_HPP_TRY(ozarr_array_read_mask(h_, r.whole ? nullptr : &c, mask.data(), &memory));
        return out;
    }
    template <class T>
    returned<void> write_mask(const std::vector<std::uint8_t> &mask, const std::vector<T> &data, const region &r = {}) const {
        OZARR_HPP_CHECK(whole_mask(mask, r));
        const ozarr_region c = {sizeof(ozarr_region), r.start.data(), r.shape.data(), nullptr};
        const ozarr_memory memory = dense(data.data(), data.size());
        OZARR_HPP_TRY(ozarr_array_write_mask(h_, r.whole ? nullptr : &c, mask.data(), &memory));
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
        OZARR_HPP_TRY(ozarr_array_resize(h_, shape.data(), flags));
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

    /// Contiguous memory of `n` elements; writes only read from it.
    template <class T>
    static ozarr_memory dense(const T *data, std::size_t n) {
        ozarr_memory memory = OZARR_MEMORY_INIT;
        memory.data = const_cast<T *>(data);
        memory.size = n * sizeof(T);
        memory.type = code_of<T>();
        return memory;
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

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_ARRAY_HPP
