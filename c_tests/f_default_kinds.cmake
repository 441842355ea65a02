# Compiles the module's sources with COMPILER as a program does whose own integers and reals have eight bytes; modules go to the current folder.
file(STRINGS "${FORTRAN}/sources.txt" files)
foreach(file IN LISTS files)
  if(EXISTS "${FORTRAN}/generated/${file}")
    set(file "generated/${file}")
  endif()
  execute_process(COMMAND "${COMPILER}" -std=f2018 -fdefault-integer-8 -fdefault-real-8 -fsyntax-only "-I${FORTRAN}" "-I${FORTRAN}/generated" "${FORTRAN}/${file}"
    RESULT_VARIABLE failed ERROR_VARIABLE printed)
  if(failed)
    message(FATAL_ERROR "${printed}")
  endif()
endforeach()
