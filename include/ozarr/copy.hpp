// ozarr.hpp: copies. Part of ozarr.hpp, which includes it.
#ifndef OZARR_COPY_HPP
#define OZARR_COPY_HPP

#include <ozarr_advanced.h>
#include <ozarr/callback.hpp>
#include <ozarr/store.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

/// How a copy is made. What is not said stays as it is.
struct copy_options {
    existing mode = existing::fail;
    /// 2, 3, or 0 for the one that each node has.
    int zarr_format = 0;
    /// A sum of OZARR_COPY_RAW, OZARR_COPY_VERIFY and OZARR_COPY_LINK.
    std::uint32_t flags = 0;
    /// About, in bytes; 0 is 512 MiB.
    std::size_t memory = 0;
    /// Of a single array: what the copy is.
    const ozarr::spec *spec = nullptr;
    /// Called with what is done and the total; false ends the copy with OZARR_ERR_CANCELLED.
    std::function<bool(std::int64_t, std::int64_t)> progress = {};
    /// What becomes of values that do not fit into the type of the copy.
    ozarr_overflow overflow = OZARR_OVERFLOW_ERROR;
};

namespace detail {

/// Gives the options as C has them, or what is wrong with their specification; what `progress` throws becomes an error with its text.
inline problem c_copy_options(const copy_options &options, ozarr_copy_options &o) {
    if (options.spec != nullptr) {
        if (options.spec->problem()) return options.spec->problem();
        // No handle would be "as the source is".
        if (!*options.spec) return error(OZARR_ERR_NULL, "the specification is empty, expected one that was created");
    }
    o.mode = static_cast<ozarr_create_mode>(options.mode);
    o.zarr_format = options.zarr_format;
    o.overflow = options.overflow;
    o.flags = options.flags;
    o.memory = options.memory;
    o.spec = options.spec == nullptr ? nullptr : options.spec->get();
    if (!options.progress) return {};
    o.user = const_cast<copy_options *>(&options);
    o.progress = [](void *user, std::int64_t done, std::int64_t total) -> ozarr_status {
        const auto &function = static_cast<const copy_options *>(user)->progress;
        return caught([&] { return function(done, total) ? OZARR_OK : ozarr_set_error(OZARR_ERR_CANCELLED, "the copy was ended by `progress`, which returned false", nullptr); });
    };
    return {};
}

} // namespace detail

/// Copies the node at a location, with everything below it.
inline returned<void> copy(const std::string &source, const std::string &dest, const copy_options &options = {}) {
    ozarr_copy_options o = OZARR_COPY_OPTIONS_INIT;
    OZARR_HPP_CHECK(detail::c_copy_options(options, o));
    return detail::checked(ozarr_copy(detail::c_text(source), detail::c_text(dest), &o));
}
/// The same between paths of stores.
inline returned<void> copy(const store &from, const std::string &path, store &to, const std::string &to_path, const copy_options &options = {}) {
    ozarr_copy_options o = OZARR_COPY_OPTIONS_INIT;
    OZARR_HPP_CHECK(detail::c_copy_options(options, o));
    return detail::checked(ozarr_copy_at(from.get(), detail::c_text(path), to.get(), detail::c_text(to_path), &o));
}

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_COPY_HPP
