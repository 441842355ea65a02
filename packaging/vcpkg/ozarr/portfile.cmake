# ozarr for vcpkg, from this checkout: vcpkg install ozarr --overlay-ports=packaging/vcpkg. Needs cargo (Rust 1.89 or newer) in the PATH.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
vcpkg_check_features(OUT_FEATURE_OPTIONS choices FEATURES cloud OZARR_CLOUD)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "static" static)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${choices} -DOZARR_SHARED=${shared} -DOZARR_STATIC=${static} -DOZARR_TESTS=OFF -DOZARR_PROGRAM=OFF -DOZARR_FORTRAN=OFF -DOZARR_MPI=OFF
    -DOZARR_NETCDF=OFF "-DOZARR_TARGET_DIR=${CURRENT_BUILDTREES_DIR}/cargo")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/ozarr)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE-MIT" "${SOURCE_PATH}/LICENSE-APACHE" "${SOURCE_PATH}/THIRDPARTY")
