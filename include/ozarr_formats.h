/*
 * ozarr_formats.h: conventions and containers: NCZarr, OME-Zarr, zip archives. As stable as ozarr.h.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

/* Generated from the sources by cbindgen: a change here is lost. */

#ifndef OZARR_FORMATS_H
#define OZARR_FORMATS_H

#include "ozarr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ========================================================================================================
 * NCZarr: what netCDF-C adds
 * ========================================================================================================
 *
 * netCDF-C writes keys of its own into hierarchies of format 2 (`_nczarr_group` and its like, in four
 * generations): dimensions that groups define, unlimited ones among them, and the types of attributes.
 * They are read here; dimensions' names of arrays come with `ozarr_array_dimension_name` as all others do.
 * The option `"nczarr"` of `ozarr_store_open_ex` says when they are written, so that netCDF-C opens
 * `file://PATH#mode=nczarr,file`. Without them it opens what has names of dimensions by `mode=zarr`.
 * Where netCDF-C lacks the plugin of a compressor, as Debian's 4.9.0 does, it gives the compressed bytes
 * as elements, without an error: write for it with the compressor `none`, or read with `ozarr-netcdf`. */

/**
 * Gets the version in the superblock of a root that NCZarr wrote (`"2.0.0"`), or an empty string.
 *
 * Errors: those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_nc_version(const ozarr_group *group, char *buf, size_t cap,
    size_t *len);

/**
 * Gets the number of dimensions that the group itself defines for netCDF: 0 if netCDF-C did not write
 * it.
 *
 * Errors: those of documents and stores.
 *
 * @param[out] count
 */
OZARR_CHECKED ozarr_status ozarr_group_nc_dimension_count(const ozarr_group *group, int64_t *count);

/**
 * Gets the name, the length (`*extent`) and whether it is unlimited (`*unlimited`) of dimension number
 * `index`, from 0. `extent` and `unlimited` may be NULL.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no dimension `index`; those of documents and stores.
 *
 * @param[out] extent,unlimited may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_group_nc_dimension(const ozarr_group *group, int64_t index, char *buf,
    size_t cap, size_t *len, int64_t *extent, bool *unlimited);

/**
 * Defines a dimension of the group for netCDF, of format 2, or changes one. An unlimited one may grow, and
 * is as long as the longest array along it when the store is closed.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative length; `OZARR_ERR_UNSUPPORTED` in format 3;
 * `OZARR_ERR_NAME`; `OZARR_ERR_READ_ONLY`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_nc_define_dimension(ozarr_group *group, const char *name,
    int64_t length, bool unlimited);

/**
 * Gets whether netCDF sees a variable without dimensions, which it stores as an array of one element.
 *
 * Errors: those of documents and stores.
 *
 * @param[out] scalar
 */
OZARR_CHECKED ozarr_status ozarr_array_nc_is_scalar(const ozarr_array *array, bool *scalar);

/**
 * Gets the type that netCDF has for the array's elements: `"char"`, `"string"` or that of a number
 * (`"float32"`); an empty text for what netCDF does not have.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_array_nc_type(const ozarr_array *array, char *buf, size_t cap, size_t *len);

/**
 * Gets the type that netCDF wrote for an attribute: `"char"`, `"string"`, `"json"` or that of a number;
 * an empty text where it is not said.
 *
 * Errors: those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_attr_nc_type(const ozarr_node *node, const char *name, char *buf, size_t cap,
    size_t *len);

/* ========================================================================================================
 * OME-Zarr: images in several resolutions
 * ========================================================================================================
 *
 * A group with the metadata of OME-Zarr (0.4 in format 2, 0.5 in format 3) holds images, each as arrays of
 * falling resolution. These functions only read the metadata; the arrays are opened by their paths. */

/**
 * Gets the number of images in the group: 0 for groups of other kinds. Members of a wrong form are
 * `OZARR_ERR_METADATA`, with the field. Not all rules of OME-Zarr are checked: what is missing is none (no
 * axes, no levels, no scale), and any version is taken.
 *
 * Errors: those of documents and stores.
 *
 * @param[out] count
 */
OZARR_CHECKED ozarr_status ozarr_group_image_count(const ozarr_group *group, int64_t *count);

/**
 * Gets the numbers of levels and of axes of image number `image`, from 0; either may be NULL.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no such image; those of documents and stores.
 *
 * @param[out] levels,axes may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_group_image_size(const ozarr_group *group, int64_t image, int64_t *levels,
    int64_t *axes);

/**
 * Gets the path of a level's array below the group; level 0 has the highest resolution.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no such image or level; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_image_level(const ozarr_group *group, int64_t image, int64_t level,
    char *buf, size_t cap, size_t *len);

/**
 * Gets the distance between neighbours (`scale`) and the location of the first element (`translation`)
 * along each axis of a level. Each has a capacity of `cap` numbers, at least the number of axes.
 * Either may be NULL.
 *
 * Where the metadata give no scale or no translation it is 1 or 0.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no such image or level; `OZARR_ERR_BUFFER_SIZE` for a capacity
 * below the number of axes; `OZARR_ERR_UNSUPPORTED`, with the field, for other transformations than a scale,
 * a translation and the identity; those of documents and stores.
 *
 * @param[out] scale,translation array(cap), may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_group_image_scale(const ozarr_group *group, int64_t image, int64_t level,
    double *scale, double *translation, int64_t cap);

/**
 * Gets what is said of an axis (from 0, in the order of the arrays' dimensions), by the `member` of its
 * description: `"name"`, such as `y`; `"type"`: `space`, `time`, `channel` or another word; `"unit"`, such
 * as `micrometer`. An empty text where nothing is said.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no such image or axis; `OZARR_ERR_ARGUMENT` for another
 * `member`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_image_axis(const ozarr_group *group, int64_t image, int64_t axis,
    const char *member, char *buf, size_t cap, size_t *len);

/* ========================================================================================================
 * Zip archives
 * ======================================================================================================== */

/**
 * Repairs the zip archive `path` (a file) whose writer died before it flushed: its complete entries get
 * a new directory, and an incomplete one at the end is cut off. `*keys` (unless NULL) becomes the
 * number of keys that the archive has now, `*lost` (unless NULL) the number of entries that were begun
 * and are lost. A file that can be read is left as it is; so is one that is refused for another reason,
 * such as an entry's name, with the error of opening it.
 *
 * Errors: `OZARR_ERR_LOCATION` for a folder; those of documents and stores.
 *
 * @param[out] keys,lost may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_zip_repair(const char *path, int64_t *keys, int64_t *lost);

#ifdef __cplusplus
}
#endif

#endif /* OZARR_FORMATS_H */
