# OZARR_HAS_DESCRIPTORS: whether C has array descriptors, with the option OZARR_DESCRIPTORS. Their header is the Fortran compiler's own, which only a C
# compiler of the same maker finds by itself.
include(CheckIncludeFile)
set(OZARR_DESCRIPTORS "")
if(CMAKE_Fortran_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
  execute_process(COMMAND "${CMAKE_Fortran_COMPILER}" -print-file-name=include OUTPUT_VARIABLE OZARR_DESCRIPTORS OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(OZARR_DESCRIPTORS "-idirafter${OZARR_DESCRIPTORS}")
endif()
check_include_file(ISO_Fortran_binding.h OZARR_HAS_DESCRIPTORS "${OZARR_DESCRIPTORS}")
if(NOT OZARR_HAS_DESCRIPTORS)
  message(STATUS "${CMAKE_C_COMPILER} finds no ISO_Fortran_binding.h: the Fortran module is left out")
endif()
