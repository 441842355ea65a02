// ozarr.hpp: reads and writes that go on while the program computes. Part of ozarr.hpp, which includes it.
#ifndef OZARR_REQUEST_HPP
#define OZARR_REQUEST_HPP

#include <ozarr/callback.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

/// How a request is carried out.
struct request_options {
    /// The deadline, in seconds from now: then the request ends with OZARR_ERR_TIMEOUT. 0: none.
    double seconds = 0;
    /// Of a write: the elements are copied before the call returns.
    bool copy = false;
    /// Called when the request is done, in the call that finds it done (test, wait, cancel); not if the request is freed before. What it throws is
    /// not passed on.
    std::function<void(ozarr_status, const char *)> done = {};
};

enum class request_state : ozarr_request_state {
    queued = OZARR_REQUEST_STATE_QUEUED,
    running = OZARR_REQUEST_STATE_RUNNING,
    done = OZARR_REQUEST_STATE_DONE,
    failed = OZARR_REQUEST_STATE_FAILED
};

namespace detail {

/// The function that a request calls; a base before the handle, so that it lives longer.
struct request_done {
    std::unique_ptr<std::function<void(ozarr_status, const char *)>> function;
    /// It is called once, and may free or replace its own request: so it is kept here while it runs.
    static ozarr_status call(void *user, ozarr_status status, const char *message) noexcept {
        const auto kept = std::move(*static_cast<std::function<void(ozarr_status, const char *)> *>(user));
        return caught([&] { return kept(status, message), OZARR_OK; });
    }
};

} // namespace detail

/// A read or a write that goes on while the program computes; its memory is the program's again when it is done. Destroyed before
/// that, it is cancelled, unless its elements were copied; then it goes on. The rules are in ozarr.h, "Requests".
class request : private detail::request_done, public detail::handle<ozarr_request, ozarr_request_free> {
public:
    request() = default;
    explicit request(ozarr_request *h) noexcept : handle(h) {}
    /// Begins what `call(options, &request)` begins.
    template <class F>
    static std::optional<error> begin(request &out, const request_options &options, F call) {
        ozarr_request_options o = OZARR_REQUEST_OPTIONS_INIT;
        o.seconds = options.seconds;
        if (options.copy) o.flags = OZARR_REQUEST_COPY;
        if (options.done) {
            out.function = std::make_unique<std::function<void(ozarr_status, const char *)>>(options.done);
            o.done = detail::request_done::call;
            o.user = out.function.get();
        }
        return call(&o, &out.h_);
    }

    /// Whether it is done; its error, if it has one.
    returned<bool> test() const {
        return detail::value<bool>([&](bool *done) { return ozarr_request_test(h_, done); });
    }
    returned<void> wait() const { return detail::checked(ozarr_request_wait(h_, -1)); }
    /// At most so many seconds: then OZARR_ERR_TIMEOUT, and the request goes on.
    returned<void> wait_for(double seconds) const { return detail::checked(ozarr_request_wait(h_, seconds)); }
    returned<void> cancel() const { return detail::checked(ozarr_request_cancel(h_)); }
    /// What it does now, without working on it.
    returned<request_state> state() const {
        ozarr_request_state s = 0;
        OZARR_HPP_TRY(ozarr_request_get_state(h_, &s));
        return static_cast<request_state>(s);
    }
    /// The error of a request that is done, if it has one.
    returned<std::optional<error>> problem() const {
        ozarr_error_info info = OZARR_ERROR_INFO_INIT;
        OZARR_HPP_TRY(ozarr_request_error(h_, &info));
        if (info.status == OZARR_OK) return std::optional<error>();
        return std::optional<error>(error::of(info));
    }
};

namespace detail {
inline std::vector<ozarr_request *> handles(const std::vector<request> &requests) {
    std::vector<ozarr_request *> all;
    for (const request &r : requests) all.push_back(r.get());
    return all;
}
} // namespace detail

/// Waits until all are done, for at most so many seconds (negative: without end); the error is that of the first that failed.
inline returned<void> wait_all(const std::vector<request> &requests, double seconds = -1) {
    const auto all = detail::handles(requests);
    return detail::checked(ozarr_requests_wait_all(all.data(), static_cast<std::int64_t>(all.size()), seconds, nullptr));
}
/// Waits until one is done, and gives its index; its own error is thrown, which does not say of which it is (see below). Make it an empty `request()`
/// before waiting for another.
inline returned<std::int64_t> wait_any(const std::vector<request> &requests, double seconds = -1) {
    const auto all = detail::handles(requests);
    return detail::value<std::int64_t>([&](std::int64_t *i) { return ozarr_requests_wait_any(all.data(), static_cast<std::int64_t>(all.size()), seconds, i); });
}
/// The same, whose index is set of a request that failed, too: -1 where none is done in time, and where all are empty.
inline returned<void> wait_any(const std::vector<request> &requests, double seconds, std::int64_t &index) {
    const auto all = detail::handles(requests);
    index = -1;
    return detail::checked(ozarr_requests_wait_any(all.data(), static_cast<std::int64_t>(all.size()), seconds, &index));
}
/// Waits for all requests of the process, and ends the library's threads: before MPI_Finalize, say.
inline returned<void> shutdown() { return detail::checked(ozarr_shutdown()); }

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_REQUEST_HPP
