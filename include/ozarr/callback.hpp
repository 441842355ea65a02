// ozarr.hpp: functions of the program that the library calls. Part of ozarr.hpp, which includes it.
#ifndef OZARR_CALLBACK_HPP
#define OZARR_CALLBACK_HPP

#include <ozarr_extend.h>
#include <ozarr/base.hpp>

#include <cstring>
#include <exception>
#include <new>

namespace ozarr {
inline namespace OZARR_HPP_MODE {
namespace detail {

/// Makes an error the thread's last one. A key and a field that its text has already would be put in front of it once more.
inline ozarr_status told(const error &e) noexcept {
    ozarr_error_info details = OZARR_ERROR_INFO_INIT;
    details.os_errno = e.os_errno();
    if (std::strstr(e.what(), e.key().c_str()) == nullptr) details.key = e.key().c_str();
    if (std::strstr(e.what(), e.field().c_str()) == nullptr) details.field = e.field().c_str();
    return ozarr_set_error(e.status(), e.what(), &details);
}

/// Runs a function of the program, which gives a status; what it throws becomes one. A program may have exceptions where this header gives results.
template <class F>
ozarr_status caught(F &&call) noexcept {
#ifdef __cpp_exceptions
    try {
        return call();
    } catch (const error &e) {
        return told(e);
    } catch (const std::bad_alloc &) {
        return ozarr_set_error(OZARR_ERR_NO_MEMORY, "std::bad_alloc", nullptr);
    } catch (const std::exception &e) {
        return ozarr_set_error(OZARR_ERR_CALLBACK, e.what(), nullptr);
    } catch (...) {
        return ozarr_set_error(OZARR_ERR_CALLBACK, "something was thrown that is no std::exception", nullptr);
    }
#else
    return call();
#endif
}

} // namespace detail
} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_CALLBACK_HPP
