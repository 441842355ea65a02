# Refuses what ozarr cannot be built with, each in one line that says what to do: the system, the compilers, cargo, and options that exclude each
# other. tools/refused tries each.

if(NOT CMAKE_SYSTEM_NAME MATCHES "^(Linux|Windows)$")
  message(FATAL_ERROR "ozarr is built for Linux and Windows on 64-bit little-endian processors; this is ${CMAKE_SYSTEM_NAME}. See Platforms in docs/installing.md.")
endif()
if(NOT OZARR_SHARED AND NOT OZARR_STATIC)
  message(FATAL_ERROR "OZARR_SHARED and OZARR_STATIC are both OFF: one of them is needed.")
endif()
if(WIN32)
  foreach(_part CLOUD PROGRAM MPI NETCDF)
    if(OZARR_${_part})
      message(FATAL_ERROR "OZARR_${_part} is ON, and ozarr for Windows has no such part yet: turn it off with -DOZARR_${_part}=OFF. See Platforms in docs/installing.md.")
    endif()
  endforeach()
endif()
# What was chosen while there was a shared library is kept in the cache, with the option's own text, and is no choice now.
foreach(_part MPI NETCDF)
  get_property(_text CACHE OZARR_${_part} PROPERTY HELPSTRING)
  if(OZARR_${_part} AND NOT OZARR_SHARED AND NOT _text MATCHES "^Build libozarr_")
    message(FATAL_ERROR "OZARR_${_part} needs OZARR_SHARED=ON: a program and that library have to share one ozarr.")
  endif()
endforeach()

include(CheckLanguage)
check_language(C)
if(NOT CMAKE_C_COMPILER)
  message(FATAL_ERROR "ozarr needs a C compiler, and none was found: install one (Debian: apt-get install gcc libc6-dev; Fedora: dnf install gcc), "
    "or name it: -DCMAKE_C_COMPILER=/path/to/cc.")
endif()
enable_language(C)
if(WIN32 AND NOT MINGW)
  message(FATAL_ERROR "ozarr for Windows is built with MinGW's gcc; this is ${CMAKE_C_COMPILER_ID}: name the one to build with, as in -DCMAKE_C_COMPILER=gcc. See Platforms in docs/installing.md.")
endif()
include(CheckCSourceCompiles)
check_c_source_compiles("#if __SIZEOF_POINTER__ != 8 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error refused
#endif
int main(void) { return 0; }" OZARR_C_TARGET)
if(NOT OZARR_C_TARGET)
  message(FATAL_ERROR "ozarr is built for Linux and Windows on 64-bit little-endian processors; ${CMAKE_C_COMPILER} compiles for another one. See Platforms in docs/installing.md.")
endif()

# The cargo that is first in PATH, as modules and environments put it there; then that of rustup, which is not in every PATH.
find_program(OZARR_CARGO cargo PATHS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin")
file(STRINGS "${PROJECT_SOURCE_DIR}/Cargo.toml" _rust REGEX "^rust-version = ")
string(REGEX REPLACE ".*\"(.*)\"" "\\1" _rust "${_rust}")
if(NOT OZARR_CARGO)
  message(FATAL_ERROR "ozarr needs Rust ${_rust} or newer, and no cargo was found. Get it from https://rustup.rs or from the "
    "system's packages, then run cmake again (or name it: -DOZARR_CARGO=/path/to/cargo).")
endif()
# rustc is beside cargo, which looks for it in the PATH only, where another one may come first.
get_filename_component(_cargo_folder "${OZARR_CARGO}" DIRECTORY)
set(_cargo_path "PATH=$ENV{PATH}:${_cargo_folder}")
string(REPLACE ":" ";" _folders "$ENV{PATH}")
foreach(_folder IN LISTS _folders)
  if(EXISTS "${_folder}/rustc")
    break()
  endif()
endforeach()
if(EXISTS "${_cargo_folder}/rustc" AND NOT _folder STREQUAL _cargo_folder)
  set(_cargo_path "PATH=${_cargo_folder}:$ENV{PATH}")
endif()
# The folders of Windows's PATH are separated as CMake's lists are.
if(CMAKE_HOST_WIN32)
  set(_cargo_path --unset=RUSTFLAGS)
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E env "${_cargo_path}" rustc -vV OUTPUT_VARIABLE _told ERROR_VARIABLE _said RESULT_VARIABLE _failed)
if(_failed OR NOT _told MATCHES "release: ([0-9.]+)")
  string(REGEX REPLACE "\n.*" "" _said "${_said}")
  message(FATAL_ERROR "ozarr needs Rust ${_rust} or newer, and the rustc of ${OZARR_CARGO} does not run: ${_said}. Get it from https://rustup.rs, or add its folder to PATH.")
endif()
if(CMAKE_MATCH_1 VERSION_LESS _rust)
  message(FATAL_ERROR "ozarr needs Rust ${_rust} or newer; this is ${CMAKE_MATCH_1}, of ${OZARR_CARGO}. Run `rustup update stable`, or get a newer one from "
    "https://rustup.rs, or name another one: -DOZARR_CARGO=/path/to/cargo.")
endif()

# What Rust compiles for, unless OZARR_TARGET says it, and what the C compiler does.
string(REGEX MATCH "host: ([A-Za-z0-9_.-]+)" _told "${_told}")
set(OZARR_RUST_TARGET "${CMAKE_MATCH_1}")
# Whether that is another machine than this one, or another C library: what is found here of other languages, MPI and netCDF is not for it.
set(OZARR_ELSEWHERE ${CMAKE_CROSSCOMPILING})
if(OZARR_TARGET AND NOT OZARR_TARGET STREQUAL OZARR_RUST_TARGET)
  set(OZARR_ELSEWHERE TRUE)
  set(OZARR_RUST_TARGET "${OZARR_TARGET}")
endif()
set(_targets "^[a-z0-9_]*64[a-z0-9_]*-.*linux-(gnu|musl)$")
if(WIN32)
  set(_targets "^x86_64-pc-windows-gnu$")
endif()
if(NOT OZARR_RUST_TARGET MATCHES "${_targets}")
  message(FATAL_ERROR "ozarr is built for Linux and Windows on 64-bit little-endian processors; Rust compiles for ${OZARR_RUST_TARGET}. See Platforms in docs/installing.md.")
endif()
string(REGEX REPLACE "-.*" "" _machine "${OZARR_RUST_TARGET}")
set(_wrong 0)
if(_machine MATCHES "^(x86_64|aarch64)$")
  set(_wrong "!defined __${_machine}__")
endif()
if(OZARR_RUST_TARGET MATCHES "-musl$")
  string(APPEND _wrong " || defined __GLIBC__")
elseif(NOT WIN32)
  string(APPEND _wrong " || !defined __GLIBC__")
endif()
string(MAKE_C_IDENTIFIER "OZARR_C_IS_${OZARR_RUST_TARGET}" _known)
check_c_source_compiles("#include <stdlib.h>
#if ${_wrong}
#error refused
#endif
int main(void) { return 0; }" ${_known})
if(NOT ${_known})
  message(FATAL_ERROR "Rust compiles for ${OZARR_RUST_TARGET}, and ${CMAKE_C_COMPILER} for another processor or C library: name the one to build for, "
    "as in -DOZARR_TARGET=aarch64-unknown-linux-gnu (`rustup target add` brings its standard library), with CMake's toolchain file for C.")
endif()
