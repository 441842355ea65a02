# Sees that the shared library has all functions of the interface, as a linker with options of its own may leave them out without a word:
# cmake -DNM=NM -DLIBRARY=FILE -DEXPORTS=FILE -P exported.cmake, where the file EXPORTS has their names.
execute_process(COMMAND "${NM}" -D --defined-only "${LIBRARY}" OUTPUT_VARIABLE _told)
string(REGEX MATCHALL " T ozarr_[a-z0-9_]+" _found "${_told}")
list(TRANSFORM _found REPLACE " T " "")
file(STRINGS "${EXPORTS}" _missing)
list(REMOVE_ITEM _missing ${_found})
if(_missing)
  list(LENGTH _missing _count)
  list(GET _missing 0 _first)
  file(REMOVE "${LIBRARY}")
  message(FATAL_ERROR "ozarr: ${LIBRARY} was linked without ${_count} of its functions, such as ${_first}: look for link-time optimisation in the flags of the C compiler and linker.")
endif()
