// ozarr.hpp: failures, results, owned handles. Part of ozarr.hpp, which includes it.
#ifndef OZARR_BASE_HPP
#define OZARR_BASE_HPP

#include <ozarr.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#if !defined(OZARR_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define OZARR_NO_EXCEPTIONS
#endif

// The two modes are two namespaces, so that files of either kind can be linked into one program.
#ifdef OZARR_NO_EXCEPTIONS
#define OZARR_HPP_MODE without_exceptions
#define OZARR_HPP_FAIL(e) return (e)
#else
#define OZARR_HPP_MODE with_exceptions
#define OZARR_HPP_FAIL(e) throw(e)
#endif
#define OZARR_HPP_TRY(call)                                                           \
    do {                                                                              \
        if ((call) != OZARR_OK) OZARR_HPP_FAIL(::ozarr::error::last());               \
    } while (false)
#define OZARR_HPP_CHECK(problem)                                                      \
    do {                                                                              \
        if (auto ozarr_problem = (problem)) OZARR_HPP_FAIL(*std::move(ozarr_problem)); \
    } while (false)

namespace ozarr {
inline namespace OZARR_HPP_MODE {

/// What went wrong: the message, and its parts.
class error : public std::exception {
public:
    error(ozarr_status status, std::string message, std::string key = {}, std::string field = {}, int os_errno = 0)
        : status_(status), os_errno_(os_errno), message_(std::move(message)), key_(std::move(key)), field_(std::move(field)) {}

    /// The last failure of a C function in this thread.
    static error last() {
        ozarr_error_info info = OZARR_ERROR_INFO_INIT;
        if (ozarr_last_error_info(&info) != OZARR_OK) return error(OZARR_ERR_INTERNAL, ozarr_last_error());
        return of(info);
    }
    /// The failure that the C library describes. Where there is no memory for its texts, the message is one that takes none.
    static error of(const ozarr_error_info &info) {
        if (info.status == OZARR_ERR_NO_MEMORY && !has_room(std::strlen(info.message) + std::strlen(info.key) + std::strlen(info.field)))
            return error(info.status, "no memory");
        return error(info.status, info.message, info.key, info.field, info.os_errno);
    }

    /// The message: one line that says what was found, and what was expected.
    const char *what() const noexcept override { return message_.c_str(); }
    /// One of `OZARR_ERR_...`.
    ozarr_status status() const noexcept { return status_; }
    /// Its name, such as "OZARR_ERR_BOUNDS".
    const char *name() const noexcept { return ozarr_status_name(status_); }
    /// The key in the store that it is about, or an empty text.
    const std::string &key() const noexcept { return key_; }
    /// The member of a metadata document, or the codec; or an empty text.
    const std::string &field() const noexcept { return field_; }
    /// The operating system's number, or 0.
    int os_errno() const noexcept { return os_errno_; }

private:
    /// Whether there is memory for three texts of so many letters: without exceptions std::string ends the program where there is none.
    static bool has_room(std::size_t letters) {
        void *volatile room = std::malloc(letters + 192); // volatile: else the compiler leaves out what is freed at once
        std::free(room);
        return room != nullptr;
    }

    ozarr_status status_;
    int os_errno_;
    std::string message_, key_, field_;
};

/// A value, or the error that stands in its place.
template <class T>
class [[nodiscard]] result {
public:
    result(T value) : value_(std::move(value)) {}
    result(ozarr::error e) : error_(std::move(e)) {}
    bool ok() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    /// The value. Only if ok().
    T &operator*() & { return *value_; }
    const T &operator*() const & { return *value_; }
    // By value, so that it lives as long as a loop or a reference of it: `for (const auto &child : *g.children())`.
    T operator*() && { return std::move(*value_); }
    T *operator->() { return &*value_; }
    const T *operator->() const { return &*value_; }
    /// The error. Only if not ok().
    const ozarr::error &error() const & { return *error_; }
    ozarr::error error() && { return *std::move(error_); }

private:
    std::optional<T> value_;
    std::optional<ozarr::error> error_;
};

template <>
class [[nodiscard]] result<void> {
public:
    result() = default;
    result(ozarr::error e) : error_(std::move(e)) {}
    bool ok() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    const ozarr::error &error() const & { return *error_; }
    ozarr::error error() && { return *std::move(error_); }

private:
    std::optional<ozarr::error> error_;
};

/// What a function that can fail returns: T, and result<T> without exceptions.
#ifdef OZARR_NO_EXCEPTIONS
template <class T>
using returned = result<T>;
#else
template <class T>
using returned = T;
#endif

namespace detail {

using problem = std::optional<error>;

/// A text as C has it. One with a NUL inside, which C would end there, is given as what the library refuses by OZARR_ERR_ARGUMENT.
inline const char *c_text(const std::string &text) noexcept { return text.find('\0') == std::string::npos ? text.c_str() : "\xC0\x80"; }

/// The text that `get(buf, cap, &len)` writes.
template <class F>
ozarr_status text(std::string &out, F get) {
    char small[256];
    std::size_t len = 0;
    ozarr_status status = get(small, sizeof small, &len);
    if (status == OZARR_OK) {
        out.assign(small, len);
        return status;
    }
    while (status == OZARR_ERR_BUFFER_SIZE) {
        // One more for the NUL; again if it grew in between.
        out.resize(len + 1);
        status = get(&out[0], out.size(), &len);
    }
    if (status == OZARR_OK) out.resize(len);
    return status;
}

/// What a call gives that only fails or not.
inline returned<void> checked(ozarr_status status) {
    OZARR_HPP_TRY(status);
    return returned<void>();
}

/// The value that `get(&value)` writes.
template <class T, class F>
returned<T> value(F get) {
    T out{};
    OZARR_HPP_TRY(get(&out));
    return out;
}

/// The text that `get(buf, cap, &len)` writes, as a result.
template <class F>
returned<std::string> text_of(F get) {
    std::string out;
    OZARR_HPP_TRY(text(out, get));
    return out;
}

inline problem same_rank(const char *what, std::size_t found, std::int32_t rank, const char *parts = "numbers") {
    if (found == static_cast<std::size_t>(rank)) return {};
    return error(OZARR_ERR_RANK, std::string("the ") + what + " has " + std::to_string(found) + " " + parts + ", expected " + std::to_string(rank) +
                                     ", the rank of the array");
}

/// An owned handle of the C library.
template <class H, void (*Free)(H *)>
class handle {
public:
    handle() = default;
    explicit handle(H *h) noexcept : h_(h) {}
    handle(handle &&other) noexcept : h_(std::exchange(other.h_, nullptr)) {}
    handle &operator=(handle &&other) noexcept {
        if (this != &other) {
            Free(h_);
            h_ = std::exchange(other.h_, nullptr);
        }
        return *this;
    }
    ~handle() {
        if (h_ != nullptr) Free(h_);
    }
    /// The handle for functions of ozarr.h; it stays owned here.
    H *get() const noexcept { return h_; }
    /// Gives the handle away: the caller has to free it.
    H *release() noexcept { return std::exchange(h_, nullptr); }
    explicit operator bool() const noexcept { return h_ != nullptr; }

protected:
    H *h_ = nullptr;
};

/// A handle whose setters can be chained: the first failure is thrown or, without exceptions, kept until the handle is used.
template <class H, void (*Free)(H *)>
class chained : public handle<H, Free> {
public:
    chained() = default;
    explicit chained(H *h) noexcept : handle<H, Free>(h) {}
    /// The first failure of a setter (without exceptions).
    const std::optional<error> &problem() const noexcept { return problem_; }

protected:
    void fail(error e) {
#ifdef OZARR_NO_EXCEPTIONS
        if (!problem_) problem_ = std::move(e);
#else
        throw e;
#endif
    }
    void made(ozarr_status status) {
        if (status != OZARR_OK) fail(error::last());
    }

private:
    std::optional<error> problem_;
};

} // namespace detail

/// The version of the library that runs, such as "0.2.0".
inline std::string version() { return ozarr_version(); }
/// The number of its binary interface.
inline int abi_version() { return ozarr_abi_version(); }
/// Whether it has a feature, such as "cloud" or a codec's name.
inline bool has_feature(const std::string &name) { return ozarr_has_feature(detail::c_text(name)); }

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_BASE_HPP
