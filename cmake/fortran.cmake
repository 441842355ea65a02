# ozarr::fortran: the module `ozarr`, compiled by the Fortran compiler that is here. Other compilers' programs compile the sources
# themselves (installed in share/ozarr/fortran), because neither module files nor array descriptors are the same for all compilers.

include(cmake/descriptors.cmake)
if(NOT OZARR_HAS_DESCRIPTORS)
  set(OZARR_FORTRAN OFF)
  return()
endif()

# The modules in the order in which they use each other.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fortran/sources.txt")
file(STRINGS "${PROJECT_SOURCE_DIR}/fortran/sources.txt" _fortran_files)
list(TRANSFORM _fortran_files REPLACE "[.]f90$" "" OUTPUT_VARIABLE _fortran_modules)
set(_fortran_sources "${PROJECT_SOURCE_DIR}/fortran/ozarr_shim.c")
foreach(_file IN LISTS _fortran_files)
  if(EXISTS "${PROJECT_SOURCE_DIR}/fortran/generated/${_file}")
    set(_file "generated/${_file}")
  endif()
  list(APPEND _fortran_sources "${PROJECT_SOURCE_DIR}/fortran/${_file}")
endforeach()
# Ninja learns of none of the files that Fortran's own INCLUDE names.
file(GLOB _fortran_included CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fortran/*.inc" "${PROJECT_SOURCE_DIR}/fortran/generated/*.inc")
set_source_files_properties(${_fortran_sources} PROPERTIES OBJECT_DEPENDS "${_fortran_included}")
add_library(ozarr_fortran STATIC ${_fortran_sources})
target_include_directories(ozarr_fortran PRIVATE "${PROJECT_SOURCE_DIR}/fortran/generated")
target_compile_options(ozarr_fortran PRIVATE "$<$<COMPILE_LANGUAGE:C>:${OZARR_DESCRIPTORS}>")
add_library(ozarr::fortran ALIAS ozarr_fortran)
set(_modules "${PROJECT_BINARY_DIR}/fortran")
set_target_properties(ozarr_fortran PROPERTIES
  EXPORT_NAME fortran
  POSITION_INDEPENDENT_CODE ON
  C_STANDARD 11
  ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
  Fortran_MODULE_DIRECTORY "${_modules}")
target_include_directories(ozarr_fortran INTERFACE
  "$<BUILD_INTERFACE:${_modules}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_LIBDIR}/ozarr/fortran>")
target_link_libraries(ozarr_fortran PUBLIC ozarr)
# Another project's own flags, such as -fdefault-integer-8, are for more than the standard's Fortran.
if(CMAKE_Fortran_COMPILER_ID STREQUAL "GNU" AND _top)
  target_compile_options(ozarr_fortran PRIVATE "$<$<COMPILE_LANGUAGE:Fortran>:-std=f2018;-Wall;-Wextra;-Wno-maybe-uninitialized;-Wno-uninitialized>")
endif()

if(OZARR_INSTALL)
  install(TARGETS ozarr_fortran EXPORT ozarr-fortran-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  list(TRANSFORM _fortran_modules REPLACE "(.+)" "${_modules}/\\1.mod" OUTPUT_VARIABLE _fortran_mod_files)
  install(FILES ${_fortran_mod_files} DESTINATION "${CMAKE_INSTALL_LIBDIR}/ozarr/fortran")
  install(EXPORT ozarr-fortran-targets NAMESPACE ozarr:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/ozarr")
  export(EXPORT ozarr-fortran-targets NAMESPACE ozarr::)
  configure_file(cmake/ozarr-fortran.pc.in "${PROJECT_BINARY_DIR}/ozarr-fortran.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/ozarr-fortran.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
