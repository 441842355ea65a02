// A file with exceptions, linked with one without (cxx_result.cpp).
#include <ozarr.hpp>

bool with_exceptions();

bool with_exceptions() {
    try {
        ozarr::array::open("nowhere.zarr");
    } catch (const ozarr::error &e) {
        return e.status() == OZARR_ERR_NOT_FOUND;
    }
    return false;
}
