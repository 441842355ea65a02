// ozarr.hpp: contexts, and the settings that all programs start with. Part of ozarr.hpp, which includes it.
#ifndef OZARR_CONTEXT_HPP
#define OZARR_CONTEXT_HPP

#include <ozarr_advanced.h>
#include <ozarr/callback.hpp>

#include <memory>
#include <string>
#include <type_traits>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

enum class log_level : ozarr_log_level { off = OZARR_LOG_LEVEL_OFF, warning = OZARR_LOG_LEVEL_WARNING, info = OZARR_LOG_LEVEL_INFO };

namespace detail {

/// Settings of a context; of the default one where `c` is NULL.
inline returned<void> set_context(ozarr_context *c, const std::string &key, const std::string &value) {
    return checked(ozarr_context_set(c, detail::c_text(key), detail::c_text(value)));
}
inline returned<std::string> context_setting(const ozarr_context *c, const std::string &key) {
    return text_of([&](char *b, std::size_t n, std::size_t *l) { return ozarr_context_get(c, detail::c_text(key), b, n, l); });
}
/// Logs by a function or a function object, which the program keeps; nullptr ends it.
template <class F>
returned<void> set_context_log(ozarr_context *c, log_level level, F *log) {
    if (log == nullptr) return checked(ozarr_context_set_log(c, static_cast<ozarr_log_level>(level), nullptr, nullptr));
    const ozarr_log_fn call = [](void *user, ozarr_log_level at, const char *message) -> ozarr_status {
        F *function = nullptr;
        if constexpr (std::is_function_v<F>) function = reinterpret_cast<F *>(user);
        else function = static_cast<F *>(user);
        return caught([&] { return (*function)(static_cast<log_level>(at), message), OZARR_OK; });
    };
    void *user = nullptr;
    if constexpr (std::is_function_v<F>) user = reinterpret_cast<void *>(log);
    else user = const_cast<void *>(static_cast<const void *>(log));
    return checked(ozarr_context_set_log(c, static_cast<ozarr_log_level>(level), call, user));
}

} // namespace detail

class store;

/// Settings for stores.
class context : public detail::handle<ozarr_context, ozarr_context_free> {
public:
    static returned<context> create() {
        context c;
        OZARR_HPP_TRY(ozarr_context_new(&c.h_));
        return c;
    }
    returned<void> set(const std::string &key, const std::string &value) {
        OZARR_HPP_CHECK(empty());
        return detail::set_context(h_, key, value);
    }
    /// By an integer; else a 0 would be a text that is nowhere.
    template <class Int, class = std::enable_if_t<std::is_integral_v<Int>>>
    returned<void> set(const std::string &key, Int value) {
        return set(key, std::to_string(value));
    }
    returned<std::string> setting(const std::string &key) const {
        OZARR_HPP_CHECK(empty());
        return detail::context_setting(h_, key);
    }
    /// Calls `log(level, message)` for what is odd, or of interest, in the call that finds it. `log` has to live as long as the context and the stores
    /// that were opened with it.
    template <class F>
    returned<void> set_log(log_level level, F &log) {
        OZARR_HPP_CHECK(empty());
        return detail::set_context_log(h_, level, std::addressof(log));
    }
    returned<void> set_log(log_level level, std::nullptr_t) {
        OZARR_HPP_CHECK(empty());
        return detail::set_context_log<void(log_level, const std::string &)>(h_, level, nullptr);
    }
    /// The same by a function; nullptr ends it.
    template <class F, class = std::enable_if_t<std::is_function_v<F>>>
    returned<void> set_log(log_level level, F *log) {
        OZARR_HPP_CHECK(empty());
        return detail::set_context_log(h_, level, log);
    }
    /// The counters of all its stores.
    returned<ozarr_stats> stats() const {
        OZARR_HPP_CHECK(empty());
        ozarr_stats counters = OZARR_STATS_INIT;
        OZARR_HPP_TRY(ozarr_context_stats(h_, &counters));
        return counters;
    }

private:
    friend class store;
    // No handle would be the default context.
    detail::problem empty() const {
        if (h_ != nullptr) return {};
        return error(OZARR_ERR_NULL, "the context is empty, expected one that was created");
    }
};

/// The default context, which functions that take a location use: `ozarr::defaults::set("threads", "4")`.
struct defaults {
    static returned<void> set(const std::string &key, const std::string &value) { return detail::set_context(nullptr, key, value); }
    template <class Int, class = std::enable_if_t<std::is_integral_v<Int>>>
    static returned<void> set(const std::string &key, Int value) {
        return set(key, std::to_string(value));
    }
    static returned<std::string> setting(const std::string &key) { return detail::context_setting(nullptr, key); }
    /// As context::set_log; `log` has to live until the end, or until another is set.
    template <class F>
    static returned<void> set_log(log_level level, F &log) {
        return detail::set_context_log(nullptr, level, std::addressof(log));
    }
    static returned<void> set_log(log_level level, std::nullptr_t) {
        return detail::set_context_log<void(log_level, const std::string &)>(nullptr, level, nullptr);
    }
    template <class F, class = std::enable_if_t<std::is_function_v<F>>>
    static returned<void> set_log(log_level level, F *log) {
        return detail::set_context_log(nullptr, level, log);
    }
};

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_CONTEXT_HPP
