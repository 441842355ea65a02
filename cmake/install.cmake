# Installation: libraries, header, the CMake package, and ozarr.pc.
include(CMakePackageConfigHelpers)

set(_package "${CMAKE_INSTALL_LIBDIR}/cmake/ozarr")
if(OZARR_PROGRAM_FILE)
  install(PROGRAMS "${OZARR_PROGRAM_FILE}" DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(TARGETS ozarr ozarr_cxx EXPORT ozarr-targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES "${OZARR_ARCHIVE}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# For compilers other than that of the module that is installed; and the Julia package.
file(GLOB _fortran_files "${PROJECT_SOURCE_DIR}/fortran/*.f90" "${PROJECT_SOURCE_DIR}/fortran/*.c"
  "${PROJECT_SOURCE_DIR}/fortran/generated/*.f90" "${PROJECT_SOURCE_DIR}/fortran/generated/*.inc")
install(FILES ${_fortran_files} DESTINATION "${CMAKE_INSTALL_DATADIR}/ozarr/fortran")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/julia/OZarr" DESTINATION "${CMAKE_INSTALL_DATADIR}/ozarr/julia"
  PATTERN Manifest.toml EXCLUDE)
install(EXPORT ozarr-targets NAMESPACE ozarr:: DESTINATION "${_package}")

configure_package_config_file(cmake/ozarr-config.cmake.in "${PROJECT_BINARY_DIR}/ozarr-config.cmake"
  INSTALL_DESTINATION "${_package}" PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ozarr-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ozarr-config.cmake" "${PROJECT_BINARY_DIR}/ozarr-config-version.cmake" DESTINATION "${_package}")

# ozarr.pc finds its place from where it lies, so that it is right after `cmake --install --prefix` and when moved.
file(RELATIVE_PATH OZARR_PC_PREFIX "/x/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/x")
string(REGEX REPLACE "/$" "" OZARR_PC_PREFIX "${OZARR_PC_PREFIX}")
list(TRANSFORM OZARR_SYSTEM_LIBS PREPEND "-l" OUTPUT_VARIABLE OZARR_PC_LIBS)
list(JOIN OZARR_PC_LIBS " " OZARR_PC_LIBS)
configure_file(cmake/ozarr.pc.in "${PROJECT_BINARY_DIR}/ozarr.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/ozarr.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
