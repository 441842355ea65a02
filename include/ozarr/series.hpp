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

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_SERIES_HPP
