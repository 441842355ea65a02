# The program ozarr, built by cargo in the same target folder as the library, so that the C codecs are compiled once.

file(GLOB_RECURSE _program_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cli/src/*.rs")
set(OZARR_PROGRAM_FILE "${PROJECT_BINARY_DIR}/bin/ozarr")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
# After the archive: two calls of cargo in one target folder wait for each other anyway.
add_custom_command(
  OUTPUT "${OZARR_PROGRAM_FILE}"
  COMMAND ${CMAKE_COMMAND} -E env ${_env} "${OZARR_CARGO}" build --package ozarr-cli --locked --profile ${OZARR_PROFILE} ${_features}
    --manifest-path "${PROJECT_SOURCE_DIR}/Cargo.toml" --target-dir "${OZARR_TARGET_DIR}" ${OZARR_CARGO_ARGS}
  COMMAND ${CMAKE_COMMAND} -E copy "${OZARR_TARGET_DIR}/${_profile_folder}/ozarr" "${OZARR_PROGRAM_FILE}"
  DEPENDS "${OZARR_ARCHIVE}" ${_program_sources} "${PROJECT_SOURCE_DIR}/cli/Cargo.toml"
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
  COMMENT "Building the program ozarr"
  USES_TERMINAL VERBATIM)
add_custom_target(ozarr_program ALL DEPENDS "${OZARR_PROGRAM_FILE}")
if(OZARR_INSTALL)
  install(PROGRAMS "${OZARR_PROGRAM_FILE}" DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
