// ozarr.hpp: reads and writes that go on while the program computes. Part of ozarr.hpp, which includes it.
#ifndef OZARR_REQUEST_HPP
#define OZARR_REQUEST_HPP

#include <ozarr/base.hpp>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

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
        OZARR_HPP_TRY(ozarr_request_wait(h_, -1));
        return returned<void>();
    }
    /// At most so many seconds: then OZARR_ERR_TIMEOUT, and the request goes on.
    returned<void> wait_for(double seconds) const {
        OZARR_HPP_TRY(ozarr_request_wait(h_, seconds));
        return returned<void>();
    }
    returned<void> cancel() const {
        OZARR_HPP_TRY(ozarr_request_cancel(h_));
        return returned<void>();
    }
};

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_REQUEST_HPP
