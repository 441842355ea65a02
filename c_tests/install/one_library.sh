#!/bin/sh
# one_library.sh SOURCES [CMAKE-OPTIONS...]: builds ozarr without the shared library, and without the archive, installs each, and uses what is
# there as a stranger would (run.sh). A project that asks for the library that is missing gets one line.
set -eu
sources=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for missing in shared static; do
    option=OZARR_$(echo "$missing" | tr '[:lower:]' '[:upper:]')
    { cmake -S "$sources" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DOZARR_TESTS=OFF -DOZARR_SHARED=ON -DOZARR_STATIC=ON -DOZARR_MPI=OFF -DOZARR_NETCDF=OFF \
        "$@" "-D$option=OFF" && cmake --build "$work/build" && cmake --install "$work/build" --prefix "$work/$missing"; } > "$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    case $missing in shared) library='libozarr.so*' ;; *) library=libozarr.a ;; esac
    [ -z "$(find "$work/$missing" -name "$library")" ] || { echo "failed: $option=OFF installs $library" >&2; exit 1; }
    mkdir -p "$work/asks"
    printf 'cmake_minimum_required(VERSION 3.18)\nproject(asks LANGUAGES NONE)\nfind_package(ozarr CONFIG REQUIRED COMPONENTS %s)\n' "$missing" > "$work/asks/CMakeLists.txt"
    ! cmake -S "$work/asks" -B "$work/asks-$missing" "-DCMAKE_PREFIX_PATH=$work/$missing" > "$work/log" 2>&1 && grep -q "no component \"$missing\"" "$work/log" || { cat "$work/log" >&2; exit 1; }
    echo "$option=OFF:"
    OZARR_SOURCE='' "$here/run.sh" "$work/$missing"
done
