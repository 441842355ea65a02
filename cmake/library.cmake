# ozarr::ozarr, the shipped shared library, linked from the archive: exports exactly the functions of abi/ozarr.map, each with the release
# that brought it (ozarr.dll: just those); imports no unwinder (with a foreign one loaded first, a caught panic would end the process); stays
# loaded. With OZARR_SHARED=OFF it is the archive. Defines ozarr::cxx, too.

# The number of the binary interface, which is in the library's name.
file(STRINGS "${PROJECT_SOURCE_DIR}/include/ozarr.h" _abi REGEX "^#define OZARR_ABI_VERSION ")
string(REGEX REPLACE "^#define OZARR_ABI_VERSION ([0-9]+).*" "\\1" OZARR_ABI_VERSION "${_abi}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/ozarr.h")

if(OZARR_SHARED)
  add_library(ozarr SHARED "${PROJECT_SOURCE_DIR}/cmake/shared.c")
  add_dependencies(ozarr ozarr_archive)
  set_target_properties(ozarr PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${OZARR_ABI_VERSION}
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
    LINK_DEPENDS "${OZARR_ARCHIVE};${OZARR_MAP}")
  if(WIN32)
    # ozarr.dll, and libozarr.dll.a to link with.
    set_target_properties(ozarr PROPERTIES PREFIX "" IMPORT_PREFIX lib RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib" ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
    target_link_options(ozarr PRIVATE "${OZARR_DEFINITION}" LINKER:--gc-sections -static-libgcc $<$<CONFIG:Release>:LINKER:--strip-debug>)
  else()
    # The file of options by -Wl: as CMake spells LINKER: for clang, that would take it for a file of its own options.
    target_link_options(ozarr PRIVATE
      "LINKER:--version-script=${OZARR_MAP}" "-Wl,@${OZARR_WANTED}" LINKER:--gc-sections LINKER:-z,nodelete LINKER:-z,relro LINKER:-z,now -static-libgcc)
    # glibc ends the process when it has no memory to note the destructor of a thread's variable. Without its function Rust notes them itself:
    # this name for it is defined nowhere.
    target_link_options(ozarr PRIVATE LINKER:--wrap=__cxa_thread_atexit_impl)
  endif()
  target_link_libraries(ozarr PRIVATE "$<BUILD_INTERFACE:${OZARR_ARCHIVE}>" ${OZARR_SYSTEM_LIBS})
  if(NOT WIN32)
    add_custom_command(TARGET ozarr POST_BUILD VERBATIM COMMAND ${CMAKE_COMMAND} "-DNM=${CMAKE_NM}" "-DLIBRARY=$<TARGET_FILE:ozarr>"
      "-DEXPORTS=${OZARR_EXPORTS}" -P "${PROJECT_SOURCE_DIR}/cmake/exported.cmake")
  endif()
  if(OZARR_SANITIZE)
    target_link_options(ozarr PUBLIC -fsanitize=${OZARR_SANITIZE})
  elseif(NOT WIN32)
    # Clang leaves the functions of its sanitizers and of coverage to the program.
    target_link_options(ozarr PRIVATE $<$<C_COMPILER_ID:GNU>:LINKER:-z,defs> $<$<CONFIG:Release>:LINKER:--strip-debug>)
  endif()
else()
  add_library(ozarr INTERFACE)
  # Of an installation ozarr-config.cmake says it.
  target_link_libraries(ozarr INTERFACE "$<BUILD_INTERFACE:ozarr_static>")
  if(OZARR_SANITIZE)
    target_link_options(ozarr INTERFACE -fsanitize=${OZARR_SANITIZE})
  endif()
endif()
add_library(ozarr::ozarr ALIAS ozarr)
target_include_directories(ozarr INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")

# C++: the header ozarr.hpp over it.
add_library(ozarr_cxx INTERFACE)
add_library(ozarr::cxx ALIAS ozarr_cxx)
set_target_properties(ozarr_cxx PROPERTIES EXPORT_NAME cxx)
target_link_libraries(ozarr_cxx INTERFACE ozarr)
target_compile_features(ozarr_cxx INTERFACE cxx_std_17)
