/* libozarr.so has no C of its own: its code is the Rust archive (cmake/cargo.cmake). CMake wants one source file. */
typedef int ozarr_shared_library_has_no_c_of_its_own;
