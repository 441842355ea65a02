/* A library of the project's own that has the name of one of the system's. */
#include <ozarr.h>

const char *util_version(void);
const char *util_version(void) { return ozarr_version(); }
