// ozarr.hpp: datasets. Part of ozarr.hpp, which includes it.
#ifndef OZARR_DATASET_HPP
#define OZARR_DATASET_HPP

#include <ozarr/group.hpp>

namespace ozarr {
inline namespace OZARR_HPP_MODE {

/// A dimension of a dataset.
struct dimension {
    std::string name;
    std::int64_t length = 0;
};

/// A group as netCDF and xarray see it: named dimensions, variables, coordinates. It is to be closed: only then is written which
/// variables are coordinates, and are the metadata consolidated.
class dataset : public detail::handle<ozarr_dataset, ozarr_dataset_free> {
public:
    /// `zarr_format`: 2, 3, or 0 for that of the group above.
    static returned<dataset> create(const std::string &location, existing flags = existing::fail, int zarr_format = 0) {
        dataset d;
        OZARR_HPP_TRY(ozarr_dataset_create(detail::c_text(location), zarr_format, static_cast<ozarr_create_mode>(flags), &d.h_));
        return d;
    }
    static returned<dataset> open(const std::string &location, const char *mode = "r") {
        dataset d;
        OZARR_HPP_TRY(ozarr_dataset_open(detail::c_text(location), mode, &d.h_));
        return d;
    }

    /// The dataset that a group is.
    static returned<dataset> of(const group &g) {
        dataset d;
        OZARR_HPP_TRY(ozarr_group_open_dataset(g.get(), &d.h_));
        return d;
    }

    returned<void> define_dimension(const std::string &name, std::int64_t length) {
        return detail::checked(ozarr_dataset_define_dimension(h_, detail::c_text(name), length));
    }
    /// Resizes all variables that have the dimension.
    returned<void> resize_dimension(const std::string &name, std::int64_t length) {
        return detail::checked(ozarr_dataset_resize_dimension(h_, detail::c_text(name), length));
    }
    returned<std::vector<dimension>> dimensions() const {
        std::int64_t n = 0;
        OZARR_HPP_TRY(ozarr_dataset_dimension_count(h_, &n));
        std::vector<dimension> all(static_cast<std::size_t>(n));
        std::int64_t i = 0;
        for (dimension &d : all) {
            OZARR_HPP_TRY(detail::text(d.name, [&](char *b, std::size_t c, std::size_t *l) { return ozarr_dataset_dimension(h_, i, b, c, l, &d.length); }));
            i++;
        }
        return all;
    }

    /// The length of a dimension: what all its variables have.
    returned<std::int64_t> dimension_length(const std::string &name) const {
        return detail::value<std::int64_t>([&](std::int64_t *n) { return ozarr_dataset_dimension_length(h_, detail::c_text(name), n, nullptr); });
    }
    /// The length of its longest variable: steps of a run that ended early may be in some of them only.
    returned<std::int64_t> longest(const std::string &name) const {
        std::int64_t shared = 0;
        return detail::value<std::int64_t>([&](std::int64_t *n) { return ozarr_dataset_dimension_length(h_, detail::c_text(name), &shared, n); });
    }

    /// Waits until all variables along a dimension are longer than `beyond`, and gives the length that all have; OZARR_ERR_TIMEOUT after so many
    /// seconds; negative: no limit.
    returned<std::int64_t> wait_growth(const std::string &name, std::int64_t beyond, double seconds = -1) {
        return detail::value<std::int64_t>([&](std::int64_t *n) { return ozarr_dataset_wait_growth(h_, detail::c_text(name), beyond, seconds, n); });
    }

    /// A variable of elements of type T along dimensions that are defined.
    template <class T>
    returned<array> define_variable(const std::string &name, const std::vector<std::string> &along) {
        const detail::dimension_names names(along);
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_define_variable(h_, detail::c_text(name), static_cast<ozarr_type>(type_of<T>::value), names.count, names.list, &h));
        return array::adopt(h);
    }
    /// As above, with every choice of the struct of C.
    returned<array> define_variable(const std::string &name, const ozarr_variable &v, existing flags = existing::fail) {
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_define_variable_ex(h_, detail::c_text(name), &v, static_cast<ozarr_create_mode>(flags), &h));
        return array::adopt(h);
    }
    /// A dimension of as many values, and the variable that holds them.
    template <class T>
    returned<array> define_coordinate(const std::string &name, const std::vector<T> &values, const char *units = nullptr, std::int64_t chunk = 0) {
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_define_coordinate(h_, detail::c_text(name), static_cast<ozarr_type>(type_of<T>::value), static_cast<std::int64_t>(values.size()), chunk,
                                                      values.data(), values.size() * sizeof(T), units, &h));
        return array::adopt(h);
    }
    /// Not of texts: define_dimension and define_variable<std::string>(name, {name}) make a coordinate that takes them.
    returned<array> define_coordinate(const std::string &name, const std::vector<std::string> &values, const char *units = nullptr, std::int64_t chunk = 0) = delete;
    /// A time axis, counts of units such as "hours since 2026-01-01".
    returned<array> define_time(const std::string &name, std::int64_t length, const std::string &units, const char *calendar = nullptr, std::int64_t chunk = 0) {
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_define_time(h_, detail::c_text(name), length, chunk, detail::c_text(units), calendar, &h));
        return array::adopt(h);
    }
    returned<void> set_coordinate(const std::string &name) {
        return detail::checked(ozarr_dataset_set_coordinate(h_, detail::c_text(name)));
    }

    /// The names of all variables; with `coordinates` only of those.
    returned<std::vector<std::string>> variables(bool coordinates = false) const {
        std::int64_t n = 0;
        OZARR_HPP_TRY(ozarr_dataset_variable_count(h_, &n));
        std::vector<std::string> all;
        for (std::int64_t i = 0; i < n; i++) {
            std::string name;
            bool is_coordinate = false;
            OZARR_HPP_TRY(detail::text(name, [&](char *b, std::size_t c, std::size_t *l) { return ozarr_dataset_variable(h_, i, b, c, l, &is_coordinate); }));
            if (is_coordinate || !coordinates) all.push_back(std::move(name));
        }
        return all;
    }
    returned<array> variable(const std::string &name) const {
        ozarr_array *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_open_variable(h_, detail::c_text(name), &h));
        return array::adopt(h);
    }
    /// The group that it is, for its attributes.
    returned<group> as_group() const {
        ozarr_group *h = nullptr;
        OZARR_HPP_TRY(ozarr_dataset_open_group(h_, &h));
        return group(h);
    }
    /// Writes what closing writes, and frees; the handle is empty afterwards.
    returned<void> close() {
        return detail::checked(ozarr_dataset_close(release()));
    }
};

} // namespace OZARR_HPP_MODE
} // namespace ozarr

#endif // OZARR_DATASET_HPP
