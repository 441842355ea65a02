#!/bin/sh
# run.sh PREFIX [CMAKE-OPTIONS...]: uses the ozarr that is installed under PREFIX as a stranger would, in a copy of this folder:
# by find_package and by pkg-config, with the shared library and the archive (those that are there), in C, C++ and Fortran. Programs run
# without any help to find the library. With OZARR_SOURCE set to ozarr's sources, add_subdirectory is tried too (the options go there).
set -eu
prefix=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$here/CMakeLists.txt" "$here"/*.c "$here"/*.cpp "$here"/*.f90 "$here/sub" "$work"
cd "$work"
unset LD_LIBRARY_PATH

try() {
    rm -rf run.zarr
    "$@" > out || { echo "failed: $*" >&2; exit 1; }
    test -d run.zarr || { echo "nothing was written by: $*" >&2; exit 1; }
}
build() {
    cmake -S . -B "$@" > log 2>&1 && cmake --build "$1" >> log 2>&1 || { cat log >&2; exit 1; }
    for program in c_shared cxx_shared hpp_shared $static; do try "./$1/$program"; done
    if [ -n "$(find "$prefix" -name ozarr-fortran.pc)" ]; then try "./$1/fortran_shared"; fi
    if [ "$mpi" = yes ]; then try "./$1/mpi_shared"; fi
    echo "$how: ok"
}

static=
[ -z "$(find "$prefix" -name libozarr.a)" ] || static="c_static cxx_static"

# Where the commands are of an MPI that is in no environment but that of its module, CMake finds none here.
mpi=no
if [ -n "$(find "$prefix" -name ozarr-mpi.pc)" ]; then
    if command -v mpicc > /dev/null; then mpi=yes; else echo "left out: programs with MPI, of which mpicc is not in PATH"; fi
fi

how=find_package
build package -DCMAKE_PREFIX_PATH="$prefix"

how=pkg-config
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name ozarr.pc)")
export PKG_CONFIG_PATH
LD_RUN_PATH=$(pkg-config --variable=libdir ozarr)
export LD_RUN_PATH
${CC:-cc} main.c $(pkg-config --cflags --libs ozarr) -o c_pc
${CXX:-c++} main.cpp $(pkg-config --cflags --libs ozarr) -o cxx_pc
programs="c_pc cxx_pc"
if [ -n "$static" ]; then
    ${CC:-cc} main.c $(pkg-config --cflags --libs ozarr-static) -o c_pc_static
    programs="$programs c_pc_static"
    # All of the program static, but for what glibc loads when a name is looked up in the network, of which the linker warns. Some systems
    # have no static C library.
    if echo 'int main(void) { return 0; }' > empty.c && ${CC:-cc} -static empty.c -o empty 2> log; then
        ${CC:-cc} -static main.c $(pkg-config --static --cflags --libs ozarr) -o c_pc_whole 2> log || { cat log >&2; exit 1; }
        programs="$programs c_pc_whole"
        if [ -n "$(find "$prefix" -name ozarr-fortran.pc)" ]; then
            ${FC:-gfortran} -static main.f90 $(pkg-config --static --cflags --libs ozarr-fortran) -o fortran_pc_whole 2> log || { cat log >&2; exit 1; }
            programs="$programs fortran_pc_whole"
        fi
    fi
fi
if [ "$mpi" = yes ] && [ -n "$(find "$prefix" -name ozarr_mpi.mod)" ]; then
    mpif90 main_mpi.f90 $(pkg-config --cflags --libs ozarr-mpi-fortran) -o mpi_fortran_pc
    programs="$programs mpi_fortran_pc"
fi
for program in $programs; do try "./$program"; done
! pkg-config --libs ozarr | grep -e rpath -e // >&2 || { echo "failed: flags that packages must not have" >&2; exit 1; }
echo "$how: ok"

# pkg-config writes a space in a path for the shell, which make and build systems are.
how="pkg-config, a prefix with a space"
ln -s "$prefix" "a prefix"
spaced() { # PACKAGE COMPILER SOURCE
    eval "$2 $3 $(PKG_CONFIG_PATH="$work/a prefix${PKG_CONFIG_PATH#"$prefix"}" pkg-config --cflags --libs "$1") -o spaced"
    try ./spaced
}
spaced ozarr "${CC:-cc}" main.c
[ -z "$static" ] || spaced ozarr-static "${CC:-cc}" main.c
[ -z "$(find "$prefix" -name ozarr-fortran.pc)" ] || spaced ozarr-fortran "${FC:-gfortran}" main.f90
echo "$how: ok"

how="a component that is missing"
mkdir missing
echo 'cmake_minimum_required(VERSION 3.18)
project(missing LANGUAGES NONE)
find_package(ozarr CONFIG REQUIRED COMPONENTS cxx pascal)' > missing/CMakeLists.txt
! cmake -S missing -B missing/build -DCMAKE_PREFIX_PATH="$prefix" > log 2>&1 && grep -q 'no component "pascal"' log || { cat log >&2; exit 1; }
echo "$how: ok"

# Versions that a project asks for: one from before the ABI number is refused, but for a range (of CMake 3.19) which says that a later one will do.
asks() { # yes OR no, VERSION [LANGUAGE]
    how="find_package(ozarr $2)"
    printf 'cmake_minimum_required(VERSION 3.18)\nproject(asks LANGUAGES %s)\nfind_package(ozarr %s CONFIG REQUIRED)\n' "${3:-NONE}" "$2" > missing/CMakeLists.txt
    found=no
    rm -rf missing/build
    cmake -S missing -B missing/build -DCMAKE_PREFIX_PATH="$prefix" > log 2>&1 && found=yes
    [ "$found" = "$1" ] || { cat log >&2; exit 1; }
    echo "$how: ok"
}
asks no 0.1
asks no 0.1 C
asks yes 0.2
asks no 99
echo 'cmake_minimum_required(VERSION 3.19)' > ranges.cmake
if cmake -P ranges.cmake 2> log; then
    asks yes 0.1...98 C
    asks yes '0.1...<98'
    asks no '0.1...<0.2'
    asks no 97...98
fi

# A project with the rules of an older CMake; and projects of one language, for which CMake finds MPI of that language only.
project() { # NAME LANGUAGES COMPONENTS [LINES [THE-LEAST-CMAKE]], which today's CMake takes when it is told to
    how="a project: $1"
    rm -rf one
    mkdir one
    cp ./*.f90 ./*.c one
    printf 'cmake_minimum_required(VERSION %s)\nproject(one LANGUAGES %s)\nfind_package(ozarr CONFIG REQUIRED COMPONENTS %s)\n%s\n' "${5:-3.18}" "$2" "$3" "${4:-}" > one/CMakeLists.txt
    cmake -S one -B one/build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_POLICY_VERSION_MINIMUM=3.5 > log 2>&1 && cmake --build one/build >> log 2>&1 || { cat log >&2; exit 1; }
    echo "$how: ok"
}
project "older rules" NONE cxx "" 3.0
project "C++ alone, with MPI where it is" CXX "cxx OPTIONAL_COMPONENTS mpi" 'if(TARGET ozarr::mpi)
  set_source_files_properties(main_mpi.c PROPERTIES LANGUAGE CXX)
  add_executable(one main_mpi.c)
  target_link_libraries(one ozarr::mpi)
endif()'
if [ "$mpi" = yes ] && [ -n "$(find "$prefix" -name ozarr_mpi.mod)" ]; then
    project "Fortran alone, with MPI" Fortran "fortran mpi" 'add_executable(one main_mpi.f90)
target_link_libraries(one ozarr::mpi_fortran)'
    try one/build/one
fi

if [ -n "$(find "$prefix" -name ozarr.3)" ]; then
    how="manual pages of the functions"
    # Each function that the header declares, and nothing that troff warns of.
    functions=$(grep -v '^static' "$prefix/include/ozarr.h" | sed -n 's/^[A-Za-z][A-Za-z0-9_ ]*[ *]\(ozarr_[a-z0-9_]*\)(.*/\1/p' | sort -u)
    test "$(echo "$functions" | wc -w)" -gt 150 || { echo "failed: ozarr.h declares $functions" >&2; exit 1; }
    pages=$(dirname "$(find "$prefix" -name ozarr.3)")
    for function in $functions; do test -s "$pages/$function.3" || { echo "failed: $function has no manual page" >&2; exit 1; }; done
    ! command -v groff > log || { groff -man -Tutf8 -ww -z "$pages"/*.3 > log 2>&1 && test ! -s log; } || { echo "failed: $(cat log)" >&2; exit 1; }
    # On a terminal of 80 columns the parts of the first line are apart, also of the longest name.
    longest=$(for function in $functions; do echo "${#function} $function"; done | sort -n | tail -n 1 | cut -d' ' -f2)
    if command -v groff > log; then
        groff -man -Tascii -rLL=80n "$pages/$longest.3" > log
        grep -qE '^[A-Z_0-9]+[(]3[)] +[^ ].*[^ ] +[A-Z_0-9]+[(]3[)]$' log || { echo "failed: $(head -n 1 log)" >&2; exit 1; }
    fi
    echo "$how: ok"
fi

if [ -x "$prefix/bin/ozarr" ]; then
    how="manual pages and completions"
    commands=$("$prefix/bin/ozarr" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')
    test "$(echo "$commands" | wc -w)" -gt 20 || { echo "failed: ozarr --help lists $commands" >&2; exit 1; }
    for command in $commands; do
        test -s "$(find "$prefix" -name "ozarr-$command.1")" || { echo "failed: ozarr $command has no manual page" >&2; exit 1; }
        for shell in bash-completion/completions/ozarr zsh/site-functions/_ozarr fish/vendor_completions.d/ozarr.fish; do
            grep -q -e "\b$command\b" "$prefix/share/$shell" || { echo "failed: $shell does not complete ozarr $command" >&2; exit 1; }
        done
    done
    ! command -v bash > log || bash -n "$prefix/share/bash-completion/completions/ozarr"
    echo "$how: ok"
fi

if [ -n "${OZARR_SOURCE:-}" ]; then
    how=add_subdirectory
    build subdirectory -DOZARR_SOURCE="$OZARR_SOURCE" "$@"
fi
