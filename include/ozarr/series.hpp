// ozarr.hpp: time steps. Part of ozarr.hpp, which includes it.
#ifndef OZARR_SERIES_HPP
#define OZARR_SERIES_HPP

#include <ozarr/array.hpp>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

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
        return detail::checked(ozarr_appender_append(h_, count, static_cast<ozarr_type>(type_of<T>::value), data, size * sizeof(T)));
    }
    template <class T>
    returned<void> append(const std::vector<T> &data, std::int64_t count = 1) {
        return append(data.data(), data.size(), count);
    }
    /// From any memory: ozarr::strided, a span, an mdspan; one stride for each dimension of the array.
    template <class M, class = detail::if_memory<M>, class = std::enable_if_t<!std::is_same_v<M, std::vector<typename std::decay_t<decltype(*detail::view_of(std::declval<const M &>()).data)>>>>>
    returned<void> append(const M &memory, std::int64_t count = 1) {
        auto v = detail::view_of(memory);
        using element = std::remove_const_t<std::remove_pointer_t<decltype(v.data)>>;
        ozarr_memory m = OZARR_MEMORY_INIT;
        m.data = const_cast<element *>(v.data);
        m.size = v.size * sizeof(element);
        m.offset = v.offset * sizeof(element);
        m.type = static_cast<ozarr_type>(type_of<element>::value);
        for (std::size_t d = 0; d < v.strides.size() && d < index::max_rank; d++) v.strides[d] *= static_cast<std::int64_t>(sizeof(element));
        if (!v.contiguous) m.strides = v.strides.data();
        return detail::checked(ozarr_appender_append_ex(h_, count, &m));
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
};

/// A count of units, as in "hours since 2026-01-01", as a date and time: "2026-01-31 12:30:00". Without a calendar: the standard one.
inline returned<std::string> time_to_text(const std::string &units, std::int64_t count, const char *calendar = nullptr) {
    return detail::text_of([&](char *b, std::size_t n, std::size_t *l) { return ozarr_time_to_text(units.c_str(), calendar, count, b, n, l); });
}
/// A date and time as a count of units.
inline returned<std::int64_t> time_from_text(const std::string &units, const std::string &moment, const char *calendar = nullptr) {
    return detail::value<std::int64_t>([&](std::int64_t *count) { return ozarr_time_from_text(units.c_str(), calendar, moment.c_str(), count); });
}

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_SERIES_HPP
