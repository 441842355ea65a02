// ozarr.hpp: time steps. Part of ozarr.hpp, which includes it.
#ifndef OZARR_SERIES_HPP
#define OZARR_SERIES_HPP

#include <ozarr/dataset.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

namespace detail {

/// Memory of steps as C has it, with strides in bytes.
struct step_memory {
    step_memory() = default;
    step_memory(const step_memory &) = delete;
    step_memory &operator=(const step_memory &) = delete;
    /// Describes the memory of steps of this shape, which counts where it is not contiguous.
    template <class T>
    detail::problem set(const view<T> &v, const index &shape) {
        value.data = const_cast<std::remove_const_t<T> *>(v.data);
        value.size = v.size * sizeof(T);
        value.offset = v.offset * sizeof(T);
        value.type = static_cast<ozarr_type>(type_of<std::remove_const_t<T>>::value);
        if (v.contiguous) return {};
        value.strides = strides.data();
        return laid(v, shape, strides);
    }
    /// The same; refuses contiguous memory of another size, of which the library would take the first elements.
    template <class T>
    problem set_exactly(const view<T> &v, const index &shape) {
        std::size_t n = 1;
        for (const std::int64_t length : shape) n *= static_cast<std::size_t>(length);
        if (!v.contiguous || v.size == n) return set(v, shape);
        return error(OZARR_ERR_BUFFER_SIZE, "the memory has " + std::to_string(v.size) + " elements, expected the shape " + list(shape));
    }
    index strides;
    ozarr_memory value = OZARR_MEMORY_INIT;
};

inline const char *text_at(const std::string &text) { return detail::c_text(text); }
inline const char *text_at(const char *text) { return text; }

/// The names and memories of the variables of one step; the names live as long as the call.
template <std::size_t N>
struct step_list {
    const char *names[N];
    ozarr_memory values[N];
    step_memory memories[N];
    std::int64_t count = 0;
    template <class Set>
    problem add(Set) { return {}; }
    /// `set(name, memory, out)` describes the memory of a variable.
    template <class Set, class Name, class M, class... More>
    problem add(Set set, const Name &name, const M &memory, const More &...more) {
        step_memory &m = memories[count];
        if (auto wrong = set(text_at(name), memory, m)) return wrong;
        names[count] = text_at(name);
        values[count++] = m.value;
        return add(set, more...);
    }
};

} // namespace detail

/// What makes an array longer along one dimension, step by step: see "Time steps" in ozarr.h. It is to be closed: only that tells what
/// could not be stored.
class appender : public detail::handle<ozarr_appender, ozarr_appender_free> {
public:
    /// `publish_every` steps readers see them (0: whenever chunks are whole); at most `memory` bytes wait (0: no limit).
    static returned<appender> open(array &a, int dim = 0, std::int64_t publish_every = 0, std::size_t memory = 0) {
        appender out;
        OZARR_HPP_TRY(ozarr_appender_open(a.get(), dim, publish_every, memory, &out.h_));
        index shape = index::zeros(static_cast<std::size_t>(a.rank()));
        OZARR_HPP_TRY(ozarr_array_shape(a.get(), shape.data()));
        for (std::size_t d = 0; d < shape.size(); d++)
            if (static_cast<int>(d) != dim) out.step_size_ *= static_cast<std::size_t>(shape[d]);
        out.shape_ = shape;
        out.dim_ = static_cast<std::size_t>(dim);
        return out;
    }
    /// Takes `count` steps from `size` elements at `data`, which are copied.
    template <class T>
    returned<void> append(const T *data, std::size_t size, std::int64_t count = 1) {
        if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) size = std::numeric_limits<std::size_t>::max() / sizeof(T);
        return detail::checked(ozarr_appender_append(h_, count, static_cast<ozarr_type>(type_of<T>::value), data, size * sizeof(T)));
    }
    /// Takes `count` steps from `size` elements at `data` that are as `what` says, such as structs of the program.
    template <class T>
    returned<void> append(const dtype &what, const T *data, std::size_t size, std::int64_t count = 1) {
        OZARR_HPP_CHECK((detail::lies_as<T>(what)));
        if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) size = std::numeric_limits<std::size_t>::max() / sizeof(T);
        ozarr_memory memory = OZARR_MEMORY_INIT;
        memory.data = const_cast<T *>(data);
        memory.size = size * sizeof(T);
        memory.type = OZARR_BY_DTYPE;
        memory.dtype = what.get();
        return detail::checked(ozarr_appender_append_ex(h_, count, &memory));
    }
    /// Takes as many steps as a vector or a span has, whose size has to be a multiple of a step's. From other memory (ozarr::strided, an mdspan),
    /// with one stride for each dimension of the array, it takes one.
    template <class M, class = detail::if_memory<M>>
    returned<void> append(const M &memory) {
        const auto v = detail::view_of(memory);
        if (!v.contiguous || h_ == nullptr) return append(memory, 1);
        if (step_size_ == 0 || v.size % step_size_ != 0)
            OZARR_HPP_FAIL(error(OZARR_ERR_BUFFER_SIZE, "the memory has " + std::to_string(v.size) + " elements, expected a multiple of " +
                                                            std::to_string(step_size_) + ", those of one step"));
        return append(memory, static_cast<std::int64_t>(v.size / step_size_));
    }
    /// Takes `count` steps; a vector or a span has to be of just so many.
    template <class M, class = detail::if_memory<M>>
    returned<void> append(const M &memory, std::int64_t count) {
        index shape = shape_;
        if (!shape.empty()) shape[dim_] = count;
        detail::step_memory m;
        if (h_ != nullptr) OZARR_HPP_CHECK(m.set_exactly(detail::view_of(memory), shape));
        return detail::checked(ozarr_appender_append_ex(h_, count, &m.value));
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
        return detail::checked(ozarr_appender_flush(h_));
    }
    /// Flushes and frees.
    returned<void> close() {
        return detail::checked(ozarr_appender_close(release()));
    }

private:
    std::size_t step_size_ = 1, dim_ = 0;
    index shape_;
};

/// The steps of all variables of a dataset along one dimension: readers see a step when all have it, and a run that was killed goes on behind
/// the last step that all have. See "Time steps" in ozarr.h. It is to be closed: only that tells what could not be stored.
class series : public detail::handle<ozarr_series, ozarr_series_free> {
public:
    /// The first `keep` steps stay (negative: all that all variables have), those beyond are cut off. Every `publish_every` steps readers
    /// see them (0: whenever chunks are whole); at most `memory` bytes wait (0: no limit).
    static returned<series> open(dataset &d, const std::string &dimension, std::int64_t keep = -1, std::int64_t publish_every = 0,
                                 std::size_t memory = 0) {
        series s;
        OZARR_HPP_TRY(ozarr_series_open(d.get(), detail::c_text(dimension), keep, publish_every, memory, &s.h_));
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_open_group(d.get(), &h));
        s.group_ = detail::handle<ozarr_group, ozarr_group_free>(h);
        // Without exceptions, too, memory that ends is a status.
        s.known_.reset(new (std::nothrow) known);
        if (!s.known_) OZARR_HPP_FAIL(error(OZARR_ERR_NO_MEMORY, "no memory"));
        s.known_->dimension = dimension;
        return s;
    }
    /// The values of a variable for the step that comes next, from `size` elements at `data`; they are copied.
    template <class T>
    returned<void> put(const std::string &name, const T *data, std::size_t size) {
        if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) size = std::numeric_limits<std::size_t>::max() / sizeof(T);
        return detail::checked(ozarr_series_put(h_, detail::c_text(name), static_cast<ozarr_type>(type_of<T>::value), data, size * sizeof(T)));
    }
    /// From any memory: a vector or a span of just the elements of a step; or with one stride for each dimension of the variable.
    template <class M, class = detail::if_memory<M>>
    returned<void> put(const std::string &name, const M &memory) {
        detail::step_memory m;
        OZARR_HPP_CHECK(describe(detail::c_text(name), memory, m));
        return detail::checked(ozarr_series_put_ex(h_, detail::c_text(name), &m.value));
    }
    /// Ends the step; `value` is that of the coordinate, unless it was put.
    returned<void> step(double value) { return detail::checked(ozarr_series_step(h_, value, 0, nullptr, nullptr)); }
    /// Gives variables their values and ends the step, in one call: s.step(60 * k, "t", t, "p", p), each from any memory.
    template <class... NamesAndMemories>
    returned<void> step(double value, const std::string &name, const NamesAndMemories &...more) {
        static_assert(sizeof...(more) % 2 == 1, "after the coordinate's value come names, each with the memory of its variable");
        detail::step_list<(sizeof...(more) + 1) / 2> list;
        OZARR_HPP_CHECK(list.add([this](const char *variable, const auto &memory, detail::step_memory &m) { return this->describe(variable, memory, m); }, name, more...));
        return detail::checked(ozarr_series_step(h_, value, list.count, list.names, list.values));
    }
    /// The number of steps that were taken: the index of the next one.
    returned<std::int64_t> position() const {
        return detail::value<std::int64_t>([&](std::int64_t *n) { return ozarr_series_position(h_, n, nullptr); });
    }
    /// The number of steps that readers see.
    returned<std::int64_t> published() const {
        return detail::value<std::int64_t>([&](std::int64_t *n) { return ozarr_series_position(h_, nullptr, n); });
    }
    /// Stores and publishes all steps that were taken.
    returned<void> flush() { return detail::checked(ozarr_series_flush(h_)); }
    /// Flushes and frees.
    returned<void> close() { return detail::checked(ozarr_series_close(release())); }

private:
    /// Describes the memory of a variable, whose strides or extents have to be those of a step.
    template <class M>
    detail::problem describe(const char *name, const M &memory, detail::step_memory &out) {
        const auto v = detail::view_of(memory);
        index shape;
        if (h_ == nullptr) return {};
        if (auto wrong = step_shape(name, shape)) return wrong;
        return out.set_exactly(v, shape);
    }
    /// The shape of a step of a variable: that of its array, 1 long along the dimension of the series.
    detail::problem step_shape(const char *name, index &shape) {
        if (known_->find(name, shape)) return {};
        ozarr_array *a = nullptr;
        if (ozarr_group_open_array(group_.get(), name, &a) != OZARR_OK) return error::last();
        const detail::handle<ozarr_array, ozarr_array_free> owned(a);
        // What the group knows may be from before the series was opened.
        if (ozarr_node_refresh(ozarr_array_node(a), nullptr, 0) != OZARR_OK) return error::last();
        std::int32_t rank = 0;
        if (ozarr_array_rank(a, &rank) != OZARR_OK) return error::last();
        shape = index::zeros(static_cast<std::size_t>(rank));
        if (ozarr_array_shape(a, shape.data()) != OZARR_OK) return error::last();
        std::string of_dimension;
        for (std::int32_t d = 0; d < rank; d++) {
            if (detail::text(of_dimension, [&](char *b, std::size_t n, std::size_t *l) { return ozarr_array_dimension_name(a, d, b, n, l, nullptr); }) != OZARR_OK)
                return error::last();
            if (of_dimension == known_->dimension) shape[static_cast<std::size_t>(d)] = 1;
        }
        const std::lock_guard<std::mutex> lock(known_->mutex);
        known_->shapes.emplace(name, shape);
        return {};
    }

    /// What is known of the variables, which several threads may put at the same time.
    struct known {
        std::string dimension;
        std::mutex mutex;
        std::map<std::string, index> shapes;
        /// Gives the shape of a step of a variable, if it was asked for before.
        bool find(const char *name, index &shape) {
            const std::lock_guard<std::mutex> lock(mutex);
            const auto at = shapes.find(name);
            if (at == shapes.end()) return false;
            shape = at->second;
            return true;
        }
    };

    detail::handle<ozarr_group, ozarr_group_free> group_;
    std::unique_ptr<known> known_;
};

/// A count of units, as in "hours since 2026-01-01", as a date and time: "2026-01-31 12:30:00". Without a calendar: the standard one.
inline returned<std::string> time_to_text(const std::string &units, std::int64_t count, const char *calendar = nullptr) {
    return detail::text_of([&](char *b, std::size_t n, std::size_t *l) { return ozarr_time_to_text(detail::c_text(units), calendar, count, b, n, l); });
}
/// A date and time as a count of units.
inline returned<std::int64_t> time_from_text(const std::string &units, const std::string &moment, const char *calendar = nullptr) {
    return detail::value<std::int64_t>([&](std::int64_t *count) { return ozarr_time_from_text(detail::c_text(units), calendar, detail::c_text(moment), count); });
}

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_SERIES_HPP
