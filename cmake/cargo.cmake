# The one call of cargo: makes OZARR_ARCHIVE, the library as a static archive with link-time optimisation over all of its Rust.
# (A plain `cargo build` would drop the optimisation, because the package is also made as an rlib.) Defines ozarr::static.

find_program(OZARR_CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin")
if(NOT OZARR_CARGO)
  message(FATAL_ERROR "ozarr needs Rust 1.89 or newer, and no cargo was found. Get it from https://rustup.rs or from the "
    "system's packages, then run cmake again (or name it: -DOZARR_CARGO=/path/to/cargo).")
endif()

set(_env --unset=RUSTFLAGS)
set(_target_args)
set(_target_folder "")
if(OZARR_SANITIZE STREQUAL "address")
  # --target keeps the flags away from build scripts. Sanitizers of stable compilers hide behind RUSTC_BOOTSTRAP.
  set(_triple x86_64-unknown-linux-gnu)
  set(_env RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CFLAGS_x86_64_unknown_linux_gnu=-fsanitize=address)
  set(_target_args --target ${_triple})
  set(_target_folder "${_triple}/")
elseif(OZARR_SANITIZE)
  message(FATAL_ERROR "OZARR_SANITIZE is ${OZARR_SANITIZE}, expected nothing or address")
endif()
if(OZARR_PROFILE STREQUAL "dev")
  set(_profile_folder debug)
else()
  set(_profile_folder ${OZARR_PROFILE})
endif()

set(_features)
if(OZARR_CLOUD)
  set(_features --features cloud)
endif()

set(OZARR_ARCHIVE "${PROJECT_BINARY_DIR}/lib/libozarr.a")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
file(GLOB_RECURSE _sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.rs")
list(APPEND _sources "${PROJECT_SOURCE_DIR}/Cargo.toml" "${PROJECT_SOURCE_DIR}/Cargo.lock" "${PROJECT_SOURCE_DIR}/build.rs")
add_custom_command(
  OUTPUT "${OZARR_ARCHIVE}"
  COMMAND ${CMAKE_COMMAND} -E env ${_env} "${OZARR_CARGO}" rustc --package ozarr --lib --crate-type staticlib --locked
    --profile ${OZARR_PROFILE} ${_features} ${_target_args} --manifest-path "${PROJECT_SOURCE_DIR}/Cargo.toml"
    --target-dir "${OZARR_TARGET_DIR}" ${OZARR_CARGO_ARGS}
  COMMAND ${CMAKE_COMMAND} -E copy "${OZARR_TARGET_DIR}/${_target_folder}${_profile_folder}/libozarr.a" "${OZARR_ARCHIVE}"
  DEPENDS ${_sources}
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
  COMMENT "Building the Rust library"
  USES_TERMINAL VERBATIM)
add_custom_target(ozarr_archive DEPENDS "${OZARR_ARCHIVE}")

# What the archive needs of the system (cargo rustc ... -- --print native-static-libs).
set(OZARR_SYSTEM_LIBS util rt pthread m dl)

add_library(ozarr_static STATIC IMPORTED GLOBAL)
set_target_properties(ozarr_static PROPERTIES
  IMPORTED_LOCATION "${OZARR_ARCHIVE}"
  INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/include"
  INTERFACE_LINK_LIBRARIES "${OZARR_SYSTEM_LIBS}")
add_dependencies(ozarr_static ozarr_archive)
add_library(ozarr::static ALIAS ozarr_static)
