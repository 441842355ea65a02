// ozarr.hpp: regions and memory of arrays as the C functions take them. Part of ozarr.hpp, which includes it.
#ifndef OZARR_ARRAY_BASE_HPP
#define OZARR_ARRAY_BASE_HPP

#include <ozarr_advanced.h>
#include <ozarr/node.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

class ranks; // of ozarr_mpi.hpp: passes regions and memory to the collective calls

namespace detail {

inline std::string list(const index &numbers) {
    std::string text = "[";
    for (std::size_t d = 0; d < numbers.size(); d++) text += (d == 0 ? "" : ", ") + std::to_string(numbers[d]);
    return text + "]";
}

/// The number of elements of a shape, unless no memory could have so many of that size.
inline problem count_of(const index &shape, std::size_t size, std::size_t &count) {
    count = 1;
    for (const std::int64_t length : shape)
        if (length == 0) count = 0;
    for (const std::int64_t length : shape) {
        const auto n = static_cast<std::size_t>(length);
        if (count > 0 && count > std::numeric_limits<std::size_t>::max() / size / n)
            return error(OZARR_ERR_NO_MEMORY, "the shape " + list(shape) + " has more elements than fit into memory");
        count *= n;
    }
    return {};
}

/// Refuses another number of elements to write than are picked.
inline problem exactly(std::size_t found, std::size_t n) {
    if (found == n) return {};
    return error(OZARR_ERR_BUFFER_SIZE, "found " + std::to_string(found) + " elements, expected " + std::to_string(n));
}
/// Refuses more elements to write than a shape has. What has less, and a shape that is none, the call itself refuses.
inline problem no_more(std::size_t found, const index &shape) {
    std::size_t n = 0;
    for (const std::int64_t length : shape)
        if (length < 0) return {};
    return count_of(shape, 1, n) || found <= n ? problem() : exactly(found, n);
}

/// The strides in bytes of memory that is not contiguous, of a region of this shape: one for each dimension. Dimensions of length 1 of the region may
/// lack in memory whose extents are known.
template <class T>
problem laid(const view<T> &v, const index &shape, index &bytes) {
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(T));
    if (v.offset > static_cast<std::size_t>(far)) return error(OZARR_ERR_BOUNDS, "the offset is " + std::to_string(v.offset) + ", beyond all memory");
    for (const std::int64_t stride : v.strides)
        if (stride > far || stride < -far) return error(OZARR_ERR_BOUNDS, "the stride " + std::to_string(stride) + " is beyond all memory");
    const std::size_t rank = shape.size();
    if (v.extents.empty() && !v.strides.empty()) {
        if (auto wrong = same_rank("list of strides", v.strides.size(), static_cast<std::int32_t>(rank))) return wrong;
        bytes = v.strides;
    } else {
        bytes = index::zeros(rank);
        std::size_t k = 0, spare = rank - (v.extents.size() < rank ? v.extents.size() : rank);
        for (std::size_t d = 0; d < rank; d++) {
            if (k < v.extents.size() && v.extents[k] == shape[d]) bytes[d] = v.strides[k++];
            else if (shape[d] == 1 && spare > 0) spare--;
            else return error(OZARR_ERR_BUFFER_SIZE, "the memory has the shape " + list(v.extents) + ", expected " + list(shape) + ", that of the region");
        }
        if (k != v.extents.size()) return same_rank("memory's shape", v.extents.size(), static_cast<std::int32_t>(rank));
    }
    for (std::size_t d = 0; d < rank; d++) bytes[d] *= static_cast<std::int64_t>(sizeof(T));
    return {};
}

/// The inside of `array`: regions and memory as the C functions take them.
class array_base : public node<ozarr_array> {
    friend ranks;

public:
    /// A list of indices for each dimension; none: all of it.
    using lists = std::vector<std::optional<std::vector<std::int64_t>>>;

protected:
    using node::node;

    /// A region as C has it; it lives as long as the region. NULL is the whole array.
    struct c_region {
        explicit c_region(const region &r) noexcept
            : value{sizeof(ozarr_region), r.start.data(), r.shape.data(), r.step.empty() ? nullptr : r.step.data(), r.periodic_rank == 0 ? nullptr : r.is_periodic},
              pointer(r.whole ? nullptr : &value) {}
        c_region(const c_region &) = delete;
        c_region &operator=(const c_region &) = delete;
        ozarr_region value;
        const ozarr_region *pointer;
    };

    /// A list that has not one entry for each dimension. Of an array without a handle the call itself says that.
    problem misranked(const char *what, std::size_t found, const char *unit = "numbers") const {
        return h_ == nullptr ? problem{} : same_rank(what, found, rank_, unit);
    }
    /// The wrong rank of a region's list, if one is.
    problem misfit(const region &r) const {
        if (r.whole) return {};
        if (auto wrong = misranked("region's start", r.start.size())) return wrong;
        if (auto wrong = misranked("region's shape", r.shape.size())) return wrong;
        if (!r.step.empty())
            if (auto wrong = misranked("region's step", r.step.size())) return wrong;
        return r.periodic_rank == 0 ? problem{} : misranked("region's list of periodic dimensions", r.periodic_rank);
    }

    /// Calls `call(handle, region, memory)` with contiguous memory.
    template <bool Typed = true, class Call, class T>
    problem transfer(Call call, T *data, std::size_t size, const region &r, const ozarr_dtype *what = nullptr, const char *field = nullptr) const {
        using element = std::remove_const_t<T>;
        constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / sizeof(T);
        if (auto wrong = misfit(r)) return wrong;
        ozarr_memory memory = OZARR_MEMORY_INIT;
        // The memory of an empty vector is nowhere.
        unsigned char nothing;
        memory.data = data == nullptr && size == 0 ? static_cast<void *>(&nothing) : const_cast<element *>(data);
        memory.size = (size < most ? size : most) * sizeof(T);
        memory.type = OZARR_BY_DTYPE;
        if constexpr (Typed) memory.type = static_cast<ozarr_type>(type_of<element>::value);
        memory.dtype = what;
        memory.field = field;
        const c_region where(r);
        if (call(h_, where.pointer, &memory) != OZARR_OK) return error::last();
        return {};
    }
    /// Calls it with any memory.
    template <class Call, class T>
    problem transfer(Call call, view<T> v, const region &r) const {
        if (v.contiguous) return transfer(call, v.data, v.size, r);
        index strides;
        if (auto wrong = strides_of(v, r, strides)) return wrong;
        const auto with = [&](const ozarr_array *a, const ozarr_region *where, ozarr_memory *memory) {
            memory->strides = strides.data();
            memory->offset = v.offset * sizeof(T);
            return call(a, where, memory);
        };
        return transfer(with, v.data, v.size, r);
    }

    /// The same to write: from a vector, of which all is meant, of no more elements than the region has.
    template <class Call, class M>
    problem transfer_all(Call call, const M &memory, const region &r) const {
        if constexpr (is_vector<M>::value) {
            index shape = r.shape;
            if (auto wrong = misfit(r)) return wrong;
            if (r.whole)
                if (auto wrong = whole_shape(shape)) return wrong;
            if (auto wrong = no_more(memory.size(), shape)) return wrong;
        }
        return transfer(call, view_of(memory), r);
    }

    /// The strides in bytes of memory that is not contiguous; see laid.
    template <class T>
    problem strides_of(const view<T> &v, const region &r, index &bytes) const {
        index shape = r.shape;
        if (r.whole)
            if (auto wrong = whole_shape(shape)) return wrong;
        if (auto wrong = misfit(r)) return wrong;
        return laid(v, shape, bytes);
    }

    problem whole_shape(index &shape) const {
        shape = index::zeros(static_cast<std::size_t>(rank_));
        if (ozarr_array_shape(h_, shape.data()) != OZARR_OK) return error::last();
        return {};
    }

    returned<index> numbers(ozarr_status (*call)(const ozarr_array *, std::int64_t *)) const {
        index out = index::zeros(static_cast<std::size_t>(rank_));
        OZARR_HPP_TRY(call(h_, out.data()));
        return out;
    }

    /// Contiguous memory of `n` elements; writes only read from it.
    template <class T>
    static ozarr_memory dense(const T *data, std::size_t n) {
        static_assert(!std::is_same_v<T, std::string>, "texts are read and written by regions: read<std::string>(region), write(texts, region)");
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

    /// What the C functions take for lists of indices, and how many elements of that size they select.
    problem take_apart(const lists &indices, std::vector<const std::int64_t *> &given, std::vector<std::int64_t> &counts, std::size_t size, std::size_t &n) const {
        static const std::int64_t none = 0;
        index shape;
        if (problem p = misranked("selection", indices.size(), "lists")) return p;
        if (problem p = whole_shape(shape)) return p;
        for (std::size_t d = 0; d < indices.size(); d++) {
            const auto &list = indices[d];
            // The memory of an empty vector is nowhere, which would be all.
            given.push_back(!list ? nullptr : list->empty() ? &none : list->data());
            if (list) shape[d] = static_cast<std::int64_t>(list->size());
            counts.push_back(shape[d]);
        }
        return count_of(shape, size, n);
    }
    problem whole_points(const std::vector<std::int64_t> &points) const {
        index shape;
        if (problem p = whole_shape(shape)) return p;
        if (rank_ > 0 && points.size() % static_cast<std::size_t>(rank_) == 0) return problem();
        return problem(error(OZARR_ERR_ARGUMENT, "found " + std::to_string(points.size()) + " coordinates, expected a multiple of the array's rank " +
                                                             std::to_string(rank_)));
    }
    /// The elements that a mask picks.
    static std::size_t picked(const std::vector<std::uint8_t> &mask) {
        return mask.size() - static_cast<std::size_t>(std::count(mask.begin(), mask.end(), std::uint8_t(0)));
    }
    problem whole_mask(const std::vector<std::uint8_t> &mask, const region &r) const {
        if (auto wrong = misfit(r)) return wrong;
        index shape = r.shape;
        if (!r.step.empty()) return problem(error(OZARR_ERR_ARGUMENT, "the region has steps, expected one without for a mask"));
        if (r.whole)
            if (auto wrong = whole_shape(shape)) return wrong;
        std::uint64_t n = 1;
        for (std::size_t d = 0; d < shape.size(); d++) n *= static_cast<std::uint64_t>(shape[d]);
        if (n == mask.size()) return problem();
        return problem(error(OZARR_ERR_ARGUMENT, "found a mask of " + std::to_string(mask.size()) + " bytes, expected " + std::to_string(n) +
                                                             ", one for each element of the region"));
    }

    problem write_texts(const std::vector<std::string> &texts, const region &r) const {
        if (auto wrong = misfit(r)) return wrong;
        index shape = r.shape;
        if (r.whole)
            if (auto wrong = whole_shape(shape)) return wrong;
        std::size_t count = 1;
        for (std::size_t d = 0; d < shape.size(); d++) count *= static_cast<std::size_t>(shape[d]);
        if (count != texts.size())
            return error(OZARR_ERR_BUFFER_SIZE, "found " + std::to_string(texts.size()) + " texts, expected " + std::to_string(count));
        const c_region where(r);
        const packed_texts packed(texts);
        if (ozarr_array_write_varlen(h_, where.pointer, packed.offsets.data(), packed.all.data(), packed.all.size()) != OZARR_OK) return error::last();
        return {};
    }

    /// Texts one behind the other, and where each begins and the last one ends.
    struct packed_texts {
        explicit packed_texts(const std::vector<std::string> &texts) : offsets(1, 0) {
            std::size_t bytes = 0;
            for (const std::string &text : texts) bytes += text.size();
            offsets.reserve(texts.size() + 1);
            all.reserve(bytes);
            for (const std::string &text : texts) {
                all += text;
                offsets.push_back(static_cast<std::int64_t>(all.size()));
            }
        }
        std::vector<std::int64_t> offsets;
        std::string all;
    };

    /// How many slabs of dimension `dim` so many elements are. Of a dimension that is not there it is one: the call says that.
    problem count_slabs(std::size_t size, int dim, std::int64_t &count) const {
        index shape;
        if (auto wrong = whole_shape(shape)) return wrong;
        std::uint64_t slab = 1;
        for (std::int32_t d = 0; d < rank_; d++)
            if (d != dim) slab *= static_cast<std::uint64_t>(shape[static_cast<std::size_t>(d)]);
        const bool is_there = dim >= 0 && dim < rank_;
        if (is_there && (slab == 0 || size % slab != 0))
            return error(OZARR_ERR_BUFFER_SIZE, "the vector has " + std::to_string(size) + " elements, expected a multiple of " + std::to_string(slab) +
                                                    ", those of one slab of dimension " + std::to_string(dim));
        count = is_there ? static_cast<std::int64_t>(size / slab) : 1;
        return {};
    }

    problem read_resized(std::vector<std::string> &out, const region &r) const {
        if (auto wrong = misfit(r)) return wrong;
        const c_region where(r);
        ozarr_varlen *read = nullptr;
        if (ozarr_array_read_varlen(h_, where.pointer, &read) != OZARR_OK) return error::last();
        handle<ozarr_varlen, ozarr_varlen_free> v(read);
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

    template <class T, class Call = decltype(&ozarr_array_read_ex)>
    problem read_resized(std::vector<T> &out, const region &r, Call call = &ozarr_array_read_ex) const {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> holds no bool: read to a pointer to bool, or std::vector<std::uint8_t>");
        index shape;
        if (auto wrong = misfit(r)) return wrong;
        if (auto wrong = whole_shape(shape)) return wrong;
        bool inside = true;
        for (std::size_t d = 0; !r.whole && d < shape.size(); d++) {
            const bool is_periodic = d < r.periodic_rank && r.is_periodic[d];
            inside = inside && r.shape[d] >= 0 && (is_periodic || r.shape[d] <= shape[d]);
            shape[d] = r.shape[d];
        }
        // What leaves the array gets no memory; the call below says what is wrong with it.
        std::size_t count = 0;
        if (inside)
            if (auto wrong = count_of(shape, sizeof(T), count)) return wrong;
        out.resize(count);
        return transfer(call, out.data(), out.size(), r);
    }

    /// Of the handle, while it is here.
    std::int32_t rank_ = 0;
};

} // namespace detail

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_ARRAY_BASE_HPP
