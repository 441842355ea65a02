# The one call of cargo: makes OZARR_ARCHIVE, the library as a static archive, and with OZARR_PROGRAM the program, from the same compiled
# crates. Defines ozarr::static.
#
# The archive has one object, whose only global symbols are the functions of abi/ozarr.map: a program may have its own zstd, blosc, zlib
# or Rust beside it. For Windows it is what cargo made, and the functions are in a module-definition file.

set(_env --unset=RUSTFLAGS --unset=CARGO_BUILD_TARGET "${_cargo_path}")
set(_target_args)
set(_target_folder "")
if(OZARR_SANITIZE STREQUAL "address")
  # --target keeps the flags away from build scripts. Sanitizers of stable compilers hide behind RUSTC_BOOTSTRAP.
  set(_triple x86_64-unknown-linux-gnu)
  set(_env "${_cargo_path}" RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CFLAGS_x86_64_unknown_linux_gnu=-fsanitize=address)
  set(_target_args --target ${_triple})
  set(_target_folder "${_triple}/")
elseif(OZARR_SANITIZE)
  message(FATAL_ERROR "OZARR_SANITIZE is ${OZARR_SANITIZE}, expected nothing or address")
elseif(OZARR_TARGET)
  set(_target_args --target ${OZARR_TARGET})
  set(_target_folder "${OZARR_TARGET}/")
endif()
# The codecs in C are compiled, and the program is linked, by CMake's compiler. For this machine cargo is told so where that is not the `cc` that
# it takes by itself, as it compiles all anew for another one; and of GNU's and Clang only, whose options Rust and the codecs give.
find_program(OZARR_CC cc)
if(OZARR_TARGET OR (CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$" AND NOT CMAKE_C_COMPILER STREQUAL OZARR_CC AND NOT CMAKE_C_COMPILER_ARG1))
  string(REPLACE "-" "_" _triple "${OZARR_RUST_TARGET}")
  string(TOUPPER "${_triple}" _upper)
  list(APPEND _env "CC_${_triple}=${CMAKE_C_COMPILER}" "AR_${_triple}=${CMAKE_AR}" "CARGO_TARGET_${_upper}_LINKER=${CMAKE_C_COMPILER}")
endif()
# Calls from one crate to another are direct: rustc calls through a table of addresses where all of it is written when the library is loaded, unless it
# is told that this may happen later. The linker is told that it does not. Flags that a configuration of cargo has stay.
set(_rustflags)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT OZARR_SANITIZE AND NOT OZARR_PROFILE STREQUAL "dev")
  set(_rustflags --config "build.rustflags=['-Crelro-level=partial','-Clink-arg=-Wl,-z,now']")
endif()
if(OZARR_PROFILE STREQUAL "dev")
  set(_profile_folder debug)
else()
  set(_profile_folder ${OZARR_PROFILE})
endif()

set(_packages --package ozarr-abi)
set(_features)
if(OZARR_CLOUD)
  set(_features --features ozarr-abi/cloud)
endif()
set(_built "${OZARR_TARGET_DIR}/${_target_folder}${_profile_folder}")

# The functions that are exported: the linker's version script, their names, and options that ask for them.
set(OZARR_MAP "${PROJECT_SOURCE_DIR}/abi/ozarr.map")
set(OZARR_EXPORTS "${PROJECT_BINARY_DIR}/ozarr.exports")
set(OZARR_WANTED "${PROJECT_BINARY_DIR}/ozarr.wanted")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${OZARR_MAP}")
file(STRINGS "${OZARR_MAP}" _lines REGEX "^    ozarr_")
string(REGEX MATCHALL "ozarr_[a-z0-9_]+" _symbols "${_lines}")
list(JOIN _symbols "\n" _exports)
list(JOIN _symbols "\n-u " _wanted)
# Writes a text to a file where another text is, or none. (`file(CONFIGURE)` of CMake 3.18 loses the ends of lines.)
function(ozarr_write file content)
  set(_there "")
  if(EXISTS "${file}")
    file(READ "${file}" _there)
  endif()
  if(NOT _there STREQUAL content)
    file(WRITE "${file}" "${content}")
  endif()
endfunction()
ozarr_write("${OZARR_EXPORTS}" "${_exports}\n")
ozarr_write("${OZARR_WANTED}" "-u ${_wanted}\n")
set(OZARR_DEFINITION "${PROJECT_BINARY_DIR}/ozarr.def")
ozarr_write("${OZARR_DEFINITION}" "EXPORTS\n${_exports}\n")

set(OZARR_ARCHIVE "${PROJECT_BINARY_DIR}/lib/libozarr.a")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
file(GLOB_RECURSE _sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.rs" "${PROJECT_SOURCE_DIR}/core/src/*.rs" "${PROJECT_SOURCE_DIR}/abi/*.rs" "${PROJECT_SOURCE_DIR}/patches/*.rs")
list(APPEND _sources "${PROJECT_SOURCE_DIR}/Cargo.toml" "${PROJECT_SOURCE_DIR}/Cargo.lock" "${PROJECT_SOURCE_DIR}/core/Cargo.toml" "${PROJECT_SOURCE_DIR}/abi/Cargo.toml" "${PROJECT_SOURCE_DIR}/patches/crc-fast/Cargo.toml")
set(_outputs "${OZARR_ARCHIVE}")
if(NOT WIN32)
  # The one beside the compiler's other tools first, which may have the target's name before its own: x86_64-conda-linux-gnu-ld.
  get_filename_component(_folder "${CMAKE_LINKER}" DIRECTORY)
  get_filename_component(_name "${CMAKE_LINKER}" NAME)
  set(_names "${_name}.bfd")
  execute_process(COMMAND "${CMAKE_LINKER}" --version OUTPUT_VARIABLE _told ERROR_QUIET)
  if(_told MATCHES "GNU ld")
    list(APPEND _names "${_name}")
  endif()
  if(NOT CMAKE_CROSSCOMPILING)
    list(APPEND _names ld.bfd ld)
  endif()
  find_program(OZARR_LINKER NAMES ${_names} HINTS "${_folder}" REQUIRED DOC "GNU's linker for the target")
endif()
# Debian's compiler for musl has the unwinder of glibc only; rustup's standard library for musl brings one.
set(_unwinder)
if(OZARR_RUST_TARGET MATCHES "-musl")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env "${_cargo_path}" rustc --print sysroot OUTPUT_VARIABLE _sysroot OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(GLOB _unwinder "${_sysroot}/lib/rustlib/${OZARR_RUST_TARGET}/lib/self-contained/libunwind.a")
endif()
if(OZARR_SANITIZE OR WIN32)
  # The sanitizer looks for its own sections by symbols; objects of Windows have no such groups and wraps.
  set(_copies COMMAND ${CMAKE_COMMAND} -E copy "${_built}/libozarr_abi.a" "${OZARR_ARCHIVE}")
else()
  # Groups of sections are dissolved: a linker that drops a group since the program has it, too, would drop what local symbols name.
  # Rust's own standard library brings its bitcode, and 20 MB of line tables, which RelWithDebInfo and Debug keep.
  # malloc and its family are those of abi/malloc.rs.
  list(APPEND _features --features ozarr-abi/reserve)
  set(_object "${PROJECT_BINARY_DIR}/lib/ozarr.o")
  # Linked twice: of functions that only dropped code calls the linker leaves the names, which objcopy makes undefined symbols that programs have to
  # have, such as those of a later glibc. The second time it drops these.
  set(_linked "${PROJECT_BINARY_DIR}/lib/ozarr-linked.o")
  set(_copies
    COMMAND "${OZARR_LINKER}" -r --gc-sections --force-group-allocation --wrap=malloc --wrap=calloc --wrap=realloc --wrap=free "@${OZARR_WANTED}" "${_built}/libozarr_abi.a" ${_unwinder} -o "${_linked}"
    COMMAND "${OZARR_LINKER}" -r "${_linked}" -o "${_object}"
    COMMAND "${CMAKE_OBJCOPY}" --remove-section=.llvmbc --remove-section=.llvmcmd --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_* $<$<CONFIG:Release>:--strip-debug>
      "--keep-global-symbols=${OZARR_EXPORTS}" "${_object}"
    COMMAND ${CMAKE_COMMAND} -E rm -f "${OZARR_ARCHIVE}"
    COMMAND "${CMAKE_AR}" qcsD "${OZARR_ARCHIVE}" "${_object}"
    COMMAND ${CMAKE_COMMAND} -E rm -f "${_linked}" "${_object}")
endif()
set(_what "the Rust library")

# A sanitizer's runtime is linked by the C compiler, which the program has not.
if(OZARR_PROGRAM AND NOT OZARR_SANITIZE)
  set(OZARR_PROGRAM_FILE "${PROJECT_BINARY_DIR}/bin/ozarr")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  file(GLOB_RECURSE _program_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cli/src/*.rs")
  list(APPEND _sources ${_program_sources} "${PROJECT_SOURCE_DIR}/cli/Cargo.toml")
  list(APPEND _packages --package ozarr-cli)
  if(OZARR_CLOUD)
    list(APPEND _features --features ozarr-cli/cloud)
  endif()
  list(APPEND _outputs "${OZARR_PROGRAM_FILE}")
  list(APPEND _copies COMMAND ${CMAKE_COMMAND} -E copy "${_built}/ozarr" "${OZARR_PROGRAM_FILE}")
  set(_what "the Rust library and the program ozarr")
endif()

add_custom_command(
  OUTPUT ${_outputs}
  COMMAND ${CMAKE_COMMAND} -E env ${_env} ${CMAKE_COMMAND} -DTARGET=${OZARR_RUST_TARGET} -P "${PROJECT_SOURCE_DIR}/cmake/run-cargo.cmake" -- "${OZARR_CARGO}" build ${_packages} --locked
    --profile ${OZARR_PROFILE} ${_features} ${_target_args} ${_rustflags} --manifest-path "${PROJECT_SOURCE_DIR}/Cargo.toml"
    --target-dir "${OZARR_TARGET_DIR}" ${OZARR_CARGO_ARGS}
  ${_copies}
  DEPENDS ${_sources} "${OZARR_EXPORTS}" "${OZARR_WANTED}"
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
  COMMENT "Building ${_what}"
  USES_TERMINAL VERBATIM COMMAND_EXPAND_LISTS)
add_custom_target(ozarr_archive ALL DEPENDS ${_outputs})

# What the archive needs of the system (cargo rustc ... -- --print native-static-libs).
# As options: a plain name would be the target of that name that a project has, which builds ozarr as a part of itself.
set(OZARR_SYSTEM_LIBS -lutil -lrt -lpthread -lm -ldl)
if(WIN32)
  set(OZARR_SYSTEM_LIBS -lntdll -lkernel32 -luserenv -lws2_32 -ldbghelp)
endif()
# A plugin that has the archive in it stays when it is unloaded, as the shared library does: the library's threads are in its code. No library:
# Meson leaves out what is none among a target's libraries.
set(OZARR_LINK_OPTIONS "")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(OZARR_LINK_OPTIONS -Wl,-z,nodelete)
endif()

add_library(ozarr_static STATIC IMPORTED GLOBAL)
set_target_properties(ozarr_static PROPERTIES
  IMPORTED_LOCATION "${OZARR_ARCHIVE}"
  INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/include"
  INTERFACE_LINK_LIBRARIES "${OZARR_SYSTEM_LIBS}"
  INTERFACE_LINK_OPTIONS "${OZARR_LINK_OPTIONS}")
add_dependencies(ozarr_static ozarr_archive)
add_library(ozarr::static ALIAS ozarr_static)
