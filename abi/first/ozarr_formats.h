#ifndef OZARR_FORMATS_H
#define OZARR_FORMATS_H
#include "ozarr.h"
#ifdef __cplusplus
extern "C" {
#endif
OZARR_CHECKED ozarr_status ozarr_group_nc_version(const ozarr_group *group, char *buf, size_t cap,
    size_t *len);
OZARR_CHECKED ozarr_status ozarr_group_nc_dimension_count(const ozarr_group *group, int64_t *count);
OZARR_CHECKED ozarr_status ozarr_group_nc_dimension(const ozarr_group *group, int64_t index, char *buf,
    size_t cap, size_t *len, int64_t *extent, bool *unlimited);
OZARR_CHECKED ozarr_status ozarr_group_nc_define_dimension(ozarr_group *group, const char *name,
    int64_t length, bool unlimited);
OZARR_CHECKED ozarr_status ozarr_array_nc_is_scalar(const ozarr_array *array, bool *scalar);
OZARR_CHECKED ozarr_status ozarr_array_nc_type(const ozarr_array *array, char *buf, size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_attr_nc_type(const ozarr_node *node, const char *name, char *buf, size_t cap,
    size_t *len);
OZARR_CHECKED ozarr_status ozarr_group_image_count(const ozarr_group *group, int64_t *count);
OZARR_CHECKED ozarr_status ozarr_group_image_size(const ozarr_group *group, int64_t image, int64_t *levels,
    int64_t *axes);
OZARR_CHECKED ozarr_status ozarr_group_image_level(const ozarr_group *group, int64_t image, int64_t level,
    char *buf, size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_group_image_scale(const ozarr_group *group, int64_t image, int64_t level,
    double *scale, double *translation, int64_t cap);
OZARR_CHECKED ozarr_status ozarr_group_image_axis(const ozarr_group *group, int64_t image, int64_t axis,
    const char *member, char *buf, size_t cap, size_t *len);
OZARR_CHECKED ozarr_status ozarr_zip_repair(const char *path, int64_t *keys, int64_t *lost);
#ifdef __cplusplus
}
#endif
#endif
