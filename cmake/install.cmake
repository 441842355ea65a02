# Installation: libraries, header, the CMake package, and ozarr.pc.
include(CMakePackageConfigHelpers)

set(_package "${CMAKE_INSTALL_LIBDIR}/cmake/ozarr")
if(OZARR_PROGRAM_FILE)
  install(PROGRAMS "${OZARR_PROGRAM_FILE}" DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
  if(NOT CMAKE_CROSSCOMPILING)
    # The program writes its manual pages and completions itself.
    set(_pages "${PROJECT_BINARY_DIR}/pages")
    install(CODE "
      file(REMOVE_RECURSE \"${_pages}\")
      execute_process(COMMAND \"${OZARR_PROGRAM_FILE}\" man \"${_pages}/man1\" RESULT_VARIABLE failed)
      foreach(shell bash zsh fish)
        execute_process(COMMAND \"${OZARR_PROGRAM_FILE}\" completions \${shell} OUTPUT_FILE \"${_pages}/\${shell}\" RESULT_VARIABLE also)
        if(also)
          set(failed \${also})
        endif()
      endforeach()
      if(failed)
        message(FATAL_ERROR \"${OZARR_PROGRAM_FILE} does not write its manual pages: \${failed}\")
      endif()" COMPONENT program)
    install(DIRECTORY "${_pages}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT program)
    install(FILES "${_pages}/bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME ozarr COMPONENT program)
    install(FILES "${_pages}/zsh" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" RENAME _ozarr COMPONENT program)
    install(FILES "${_pages}/fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" RENAME ozarr.fish COMPONENT program)
  endif()
endif()
install(TARGETS ozarr ozarr_cxx EXPORT ozarr-targets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT dev
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev)
if(OZARR_STATIC)
  install(FILES "${OZARR_ARCHIVE}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
# Licences, and those of the crates in the library (tools/thirdparty).
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE-MIT" "${PROJECT_SOURCE_DIR}/LICENSE-APACHE" "${PROJECT_SOURCE_DIR}/THIRDPARTY"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# A manual page for each function, written from the interface as data.
find_program(OZARR_PYTHON python3)
if(OZARR_PYTHON)
  set(_man3 "${PROJECT_BINARY_DIR}/man3")
  install(CODE "
    file(REMOVE_RECURSE \"${_man3}\")
    execute_process(COMMAND \"${OZARR_PYTHON}\" \"${PROJECT_SOURCE_DIR}/tools/manpages\" \"${_man3}\" OUTPUT_QUIET RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR \"tools/manpages does not write the manual pages: \${failed}\")
    endif()")
  install(DIRECTORY "${_man3}" DESTINATION "${CMAKE_INSTALL_MANDIR}")
else()
  message(STATUS "No python3: the manual pages of the functions are left out")
endif()
# For compilers other than that of the module that is installed; and the Julia package.
file(GLOB _fortran_files "${PROJECT_SOURCE_DIR}/fortran/*.f90" "${PROJECT_SOURCE_DIR}/fortran/*.[ch]"
  "${PROJECT_SOURCE_DIR}/fortran/*.inc" "${PROJECT_SOURCE_DIR}/fortran/sources.txt"
  "${PROJECT_SOURCE_DIR}/fortran/generated/*.f90" "${PROJECT_SOURCE_DIR}/fortran/generated/*.inc")
install(FILES ${_fortran_files} DESTINATION "${CMAKE_INSTALL_DATADIR}/ozarr/fortran")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/julia/OZarr" DESTINATION "${CMAKE_INSTALL_DATADIR}/ozarr/julia" COMPONENT julia
  PATTERN Manifest.toml EXCLUDE)
install(EXPORT ozarr-targets NAMESPACE ozarr:: DESTINATION "${_package}")
# A project that builds ozarr as a part of itself may export targets of its own that link it.
export(EXPORT ozarr-targets NAMESPACE ozarr::)

configure_package_config_file(cmake/ozarr-config.cmake.in "${PROJECT_BINARY_DIR}/ozarr-config.cmake"
  INSTALL_DESTINATION "${_package}" PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# Any later version will do, back to the release that brought this ABI number: docs/stability.md. A range (0.1...0.9) says itself up to which one.
file(STRINGS "${OZARR_MAP}" _first REGEX "^OZARR_[0-9.]+ {" LIMIT_COUNT 1)
string(REGEX REPLACE "OZARR_([0-9.]+) {" "\\1" _first "${_first}")
set(_version_file "${PROJECT_BINARY_DIR}/ozarr-config-version.cmake")
write_basic_package_version_file("${_version_file}" COMPATIBILITY AnyNewerVersion)
file(READ "${_version_file}" _any_newer)
# Before what CMake writes, which ends early in projects without a language.
file(WRITE "${_version_file}" "if(PACKAGE_FIND_VERSION AND NOT PACKAGE_FIND_VERSION_RANGE AND PACKAGE_FIND_VERSION VERSION_LESS \"${_first}\")
  set(PACKAGE_VERSION \"${PROJECT_VERSION}\")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
  return()
endif()
${_any_newer}")
install(FILES "${PROJECT_BINARY_DIR}/ozarr-config.cmake" "${PROJECT_BINARY_DIR}/ozarr-config-version.cmake" DESTINATION "${_package}")

# The files of pkg-config name folders below the prefix from the place of the file itself, so that they are right after
# `cmake --install --prefix` and when moved; folders that were given as absolute paths, as they are.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(OZARR_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
  set(OZARR_PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
else()
  file(RELATIVE_PATH _up "/x/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/x")
  string(REGEX REPLACE "/$" "" _up "${_up}")
  set(OZARR_PC_PREFIX "\${pcfiledir}/${_up}")
  set(OZARR_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(OZARR_PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
else()
  set(OZARR_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
list(JOIN OZARR_SYSTEM_LIBS " " OZARR_PC_LIBS)
if(OZARR_LINK_OPTIONS)
  string(APPEND OZARR_PC_LIBS " ${OZARR_LINK_OPTIONS}")
endif()
set(_pcs ozarr)
# What a program links, besides the library: with the archive all of it, with the shared library nothing unless it is linked statically.
set(OZARR_PC_OWN "")
set(OZARR_PC_PRIVATE "${OZARR_PC_LIBS}")
if(NOT OZARR_SHARED)
  set(OZARR_PC_OWN " ${OZARR_PC_LIBS}")
  set(OZARR_PC_PRIVATE "")
endif()
if(OZARR_STATIC)
  list(APPEND _pcs ozarr-static)
endif()
foreach(_pc IN LISTS _pcs)
  configure_file(cmake/${_pc}.pc.in "${PROJECT_BINARY_DIR}/${_pc}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${_pc}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
