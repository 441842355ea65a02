# The shipped shared library, linked from the archive: exports exactly abi/ozarr.symbols, with a version; imports no unwinder
# (with a foreign one loaded first, a caught panic would end the process); stays loaded. Defines ozarr::ozarr.

file(STRINGS "${PROJECT_SOURCE_DIR}/abi/ozarr.symbols" _symbols)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/abi/ozarr.symbols")
list(JOIN _symbols ";\n    " _exports)
set(_map "${PROJECT_BINARY_DIR}/ozarr.map")
file(CONFIGURE OUTPUT "${_map}" CONTENT "OZARR_${PROJECT_VERSION_MAJOR} {\n  global:\n    ${_exports};\n  local:\n    *;\n};\n" @ONLY)
list(TRANSFORM _symbols PREPEND "LINKER:-u," OUTPUT_VARIABLE _wanted)

add_library(ozarr SHARED "${PROJECT_SOURCE_DIR}/cmake/shared.c")
add_library(ozarr::ozarr ALIAS ozarr)
add_dependencies(ozarr ozarr_archive)
set_target_properties(ozarr PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
  LINK_DEPENDS "${OZARR_ARCHIVE};${_map}")
target_include_directories(ozarr INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_options(ozarr PRIVATE
  "LINKER:--version-script=${_map}" ${_wanted} LINKER:--gc-sections LINKER:-z,nodelete LINKER:-z,relro LINKER:-z,now -static-libgcc)
target_link_libraries(ozarr PRIVATE "$<BUILD_INTERFACE:${OZARR_ARCHIVE}>" ${OZARR_SYSTEM_LIBS})
if(OZARR_SANITIZE)
  target_link_options(ozarr PUBLIC -fsanitize=${OZARR_SANITIZE})
else()
  # Rust's own standard library brings 20 MB of line tables; RelWithDebInfo and Debug keep them.
  target_link_options(ozarr PRIVATE LINKER:-z,defs $<$<CONFIG:Release>:LINKER:--strip-debug>)
endif()

# C++: the header ozarr.hpp over it.
add_library(ozarr_cxx INTERFACE)
add_library(ozarr::cxx ALIAS ozarr_cxx)
set_target_properties(ozarr_cxx PROPERTIES EXPORT_NAME cxx)
target_link_libraries(ozarr_cxx INTERFACE ozarr)
target_compile_features(ozarr_cxx INTERFACE cxx_std_17)
