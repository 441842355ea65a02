# Runs PROGRAM in the empty folder FOLDER; fails if it fails, or prints anything.
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
execute_process(COMMAND "${PROGRAM}" WORKING_DIRECTORY "${FOLDER}" RESULT_VARIABLE _status OUTPUT_VARIABLE _out ERROR_VARIABLE _err)
if(NOT _status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${_status}:\n${_out}${_err}")
elseif(NOT "${_out}${_err}" STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} printed:\n${_out}${_err}")
endif()
