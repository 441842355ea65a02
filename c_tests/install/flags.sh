#!/bin/sh
# flags.sh SOURCES: what a build says to cargo and to the linker, which is seen without compiling Rust: of link-time optimisation in CFLAGS, of a
# compiler that is not the `cc` in the path, and of a linker that has its target's name; that a build for another machine has nothing of this one's
# other compilers; which parts are left out; that a library without its functions is refused; that both libraries are made of cargo's archive, by clang, too;
# and that the Fortran modules are made in projects of older Fortran.
set -eu
sources=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
tell() { echo "failed: $*" >&2; exit 1; }

# A cargo that says what it was told of C.
mkdir bin
printf '#!/bin/sh\necho "flags:$CFLAGS_here_linux_gnu."\n' > bin/cargo
chmod +x bin/cargo
cargo() { cmake -DTARGET=here-linux-gnu -P "$sources/cmake/run-cargo.cmake" -- bin/cargo build; }
while IFS='|' read -r flags expected; do
    out=$(CFLAGS=$flags cargo) && [ "$out" = "flags:$expected." ] || tell "CFLAGS=$flags: cargo has $out"
done <<TABLE
-O2 -g|
-O2 -flto=auto -ffat-lto-objects| -fno-lto
-flto| -fno-lto
TABLE
echo "CFLAGS: ok"

printf 'ozarr_version\nozarr_nothing\n' > exports
echo 'const char *ozarr_version(void) { return ""; }' > part.c
${CC:-cc} -shared -fPIC part.c -o part.so
! cmake -DNM=nm "-DLIBRARY=$work/part.so" "-DEXPORTS=$work/exports" -P "$sources/cmake/exported.cmake" > log 2>&1 && grep -q 'without 1 of its' log || { cat log >&2; exit 1; }
echo "functions that are missing: ok"

# A cross compiler and its tools, as they are named.
target=$(uname -m)-other-linux-gnu
for tool in gcc ar ld ld.bfd nm objcopy ranlib strip; do
    path=$(command -v "$tool") || tell "$tool is missing"
    ln -s "$path" "bin/$target-$tool"
done
cmake -S "$sources" -B build -G "Unix Makefiles" -DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$(uname -m)" "-DCMAKE_C_COMPILER=$work/bin/$target-gcc" > log 2>&1 || { cat log >&2; exit 1; }
grep -q 'No C++ compiler' log || tell "the compiler of C++ is this machine's"
for part in FORTRAN MPI NETCDF; do grep -q "^OZARR_$part:BOOL=OFF" build/CMakeCache.txt || tell "OZARR_$part is this machine's"; done
grep -rhE 'cargo.* build ' build/CMakeFiles/ozarr_archive.dir/build.make > log || tell "cargo is not called"
for told in " CC_[a-z0-9_]*=$work/bin/$target-gcc" " AR_[a-z0-9_]*=$work/bin/$target-ar" " CARGO_TARGET_[A-Z0-9_]*_LINKER=$work/bin/$target-gcc"; do
    grep -qE -e "$told" log || tell "no$told in $(cat log)"
done
grep -q "^OZARR_LINKER:FILEPATH=$work/bin/$target-ld" build/CMakeCache.txt || tell "another linker: $(grep ^OZARR_LINKER build/CMakeCache.txt)"
echo "a compiler for another machine: ok"

# What a folder is configured with, one time after another: what needs the shared library goes and comes with it, and is refused without it where
# it is asked for; the standard variables of CMake are the first defaults.
parts() { # EXPECTED FOLDER [OPTION...], expected: parts, with - those that are left out
    expected=$1 folder=$2
    shift 2
    cmake -S "$sources" -B "$folder" "$@" > log 2>&1 || { cat log >&2; tell "$folder with $*"; }
    for part in $expected; do
        with=with
        case $part in -*) with=without ;; esac
        grep -q "is built $with .*OZARR_${part#-}" log || tell "$folder with $*: not $part in $(grep 'is built' log)"
    done
}
parts "SHARED STATIC TESTS" order
grep 'is built' log > first
parts "-SHARED -MPI -NETCDF TESTS" order -DOZARR_SHARED=OFF
parts "SHARED STATIC TESTS" order -DOZARR_SHARED=ON
grep 'is built' log | diff first - >&2 || tell "other parts than at first"
! cmake -S "$sources" -B order -DOZARR_SHARED=OFF -DOZARR_MPI=ON > log 2>&1 && grep -q 'OZARR_MPI needs OZARR_SHARED=ON' log || tell "MPI that is asked for is not refused: $(cat log)"
parts "-SHARED STATIC -TESTS" standard -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DOZARR_CLOUD=OFF
parts "SHARED STATIC TESTS -CLOUD" standard -DOZARR_SHARED=ON -DOZARR_TESTS=ON
echo "parts: ok"

# An archive in C in the place of cargo's: the functions of the interface, and one that nothing calls, which asks for one that is nowhere.
ln -s "$(dirname "$(sed -n 's/^OZARR_CARGO:FILEPATH=//p' build/CMakeCache.txt)")/rustc" bin/rustc
{
    sed -n 's/^    \(ozarr_[a-z0-9_]*\);$/void \1(void) {}/p' "$sources/abi/ozarr.map"
    echo 'int nowhere(void) __attribute__((weak)); int unused(void) { return nowhere ? nowhere() : 0; }'
} > archive.c
mkdir -p cargo/release
${CC:-cc} -c -fPIC -ffunction-sections -w archive.c && ar qc cargo/release/libozarr_abi.a archive.o
made() { # COMPILER [FLAGS]
    rm -rf made
    { cmake -S "$sources" -B made "-DCMAKE_C_COMPILER=$1" "-DCMAKE_C_FLAGS=${2:-}" "-DOZARR_CARGO=$work/bin/cargo" "-DOZARR_TARGET_DIR=$work/cargo" \
        -DOZARR_PROGRAM=OFF -DOZARR_FORTRAN=OFF -DOZARR_MPI=OFF -DOZARR_NETCDF=OFF -DOZARR_TESTS=OFF && cmake --build made; } > log 2>&1 || { cat log >&2; tell "a build with $*"; }
    ! nm -u made/lib/libozarr.a | grep nowhere >&2 || tell "programs need a function that nothing calls"
    echo "libraries made with $*: ok"
}
made "${CC:-cc}"
if echo 'int main(void) { return 0; }' > empty.c && clang empty.c -o empty 2> log; then
    made clang
    ! clang -fsanitize=address empty.c -o empty 2> log || made clang -fsanitize=address
else
    echo "left out: clang, which is not there"
fi

# The Fortran modules as parts of a project whose flags are for older Fortran, and a procedure of that project, in a form that is fixed and free.
mkdir older
cat > older/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.18)
project(older LANGUAGES C Fortran)
add_subdirectory("$sources" ozarr)
add_library(makes OBJECT makes.f90)
target_link_libraries(makes PRIVATE ozarr::fortran)
END
cat > older/makes.f90 <<'END'
      subroutine makes(stat)
      use iso_c_binding, only: c_int32_t
      use ozarr
      integer(c_int32_t), intent(out) :: stat
      type(ozarr_dataset) :: ds
      call ds%create("r.zarr", mode=OZARR_CREATE_NEW, stat=stat)
      end subroutine
END
older() { # OPTION
    rm -rf made
    { cmake -S older -B made "$1" "-DOZARR_CARGO=$work/bin/cargo" "-DOZARR_TARGET_DIR=$work/cargo" &&
        cmake --build made; } > log 2>&1 || { cat log >&2; tell "the Fortran modules in a project with $1"; }
    echo "the Fortran modules in a project with $1: ok"
}
fortran=$(sed -n 's/^CMAKE_Fortran_COMPILER:[A-Z]*=//p' order/CMakeCache.txt)
if [ -n "$fortran" ] && "$fortran" --version | grep -q 'GNU Fortran'; then
    for flags in -fno-automatic -std=f2008 -ffixed-form -ffree-line-length-80 -fdefault-integer-8 -fdefault-real-8; do older "-DCMAKE_Fortran_FLAGS=$flags"; done
    older -DCMAKE_Fortran_FORMAT=FIXED
else
    echo "left out: the flags of gfortran, which is not there"
fi
