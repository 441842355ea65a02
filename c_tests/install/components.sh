#!/bin/sh
# components.sh BUILD: installs each component of ozarr's build by itself, and sees what it holds: nothing but what its line below allows,
# what its line demands, and together exactly what an installation without --component has. Then compiles a program with runtime and dev.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tell() { echo "failed: $*" >&2; exit 1; }
# The files below a folder; the library's folder (lib, lib64, lib/x86_64-linux-gnu) as LIB.
files() { (cd "$1" && find . -type f -o -type l) | sed -e 's|^\./||' -e 's|^lib[^/]*/\([a-z0-9_]*-linux-gnu/\)*|LIB/|' | sort; }

cmake --install "$build" --prefix "$work/whole" > /dev/null 2> "$work/log" || tell "$(cat "$work/log")"
# The component, what it holds (a regular expression for whole names), and a file that it cannot lack.
while IFS=' ' read -r component pattern wanted; do
    cmake --install "$build" --prefix "$work/$component" --component "$component" > /dev/null 2> "$work/log" || tell "$(cat "$work/log")"
    [ -d "$work/$component" ] || { echo "component $component: not built here"; continue; }
    files "$work/$component" > "$work/$component.txt"
    other=$(grep -vxE "$pattern" "$work/$component.txt" || true)
    [ -z "$other" ] || tell "component $component has" $other
    grep -qxE "$wanted" "$work/$component.txt" || tell "component $component lacks $wanted"
    cat "$work/$component.txt" >> "$work/all.txt"
    echo "component $component: $(wc -l < "$work/$component.txt") files"
done <<TABLE
runtime LIB/libozarr\.so\.[0-9.]+|share/doc/ozarr/(LICENSE-(MIT|APACHE)|THIRDPARTY) LIB/libozarr\.so\.[0-9]+
dev include/ozarr[a-z_]*\.h(pp)?|include/ozarr/[a-z_]+\.hpp|LIB/libozarr\.(so|a)|LIB/cmake/ozarr/ozarr-(config|config-version|targets|targets-[a-z]+)\.cmake|LIB/pkgconfig/ozarr(-static)?\.pc|share/ozarr/fortran/.*|share/man/man3/ozarr[a-z0-9_]*\.3 include/ozarr\.h
fortran LIB/libozarr_fortran\.a|LIB/ozarr/fortran/.*\.mod|LIB/cmake/ozarr/ozarr-fortran-targets(-[a-z]+)?\.cmake|LIB/pkgconfig/ozarr-fortran\.pc LIB/ozarr/fortran/ozarr\.mod
julia share/ozarr/julia/OZarr/.*\.(jl|toml|md) share/ozarr/julia/OZarr/Project\.toml
program bin/ozarr|share/man/man1/ozarr.*\.1|share/(bash-completion|zsh|fish)/.*ozarr.* bin/ozarr
mpi include/ozarr_mpi[a-z_]*\.h(pp)?|LIB/libozarr_mpi[a-z_]*\.(so.*|a)|LIB/ozarr/fortran/ozarr_mpi[a-z_]*\.mod|LIB/cmake/ozarr/ozarr-mpi-.*\.cmake|LIB/pkgconfig/ozarr-mpi[a-z-]*\.pc LIB/libozarr_mpi\.so
netcdf include/ozarr_netcdf[a-z_]*\.h|LIB/libozarr_netcdf[a-z_]*\.so|bin/ozarr-netcdf LIB/libozarr_netcdf\.so
TABLE
files "$work/whole" > "$work/whole.txt"
sort "$work/all.txt" | diff - "$work/whole.txt" > "$work/log" || tell "the components together are not the installation:" "$(cat "$work/log")"

cp -R "$work/runtime" "$work/both" && cp -R "$work/dev/." "$work/both"
PKG_CONFIG_PATH=$(dirname "$(find "$work/both" -name ozarr.pc)")
export PKG_CONFIG_PATH
LD_RUN_PATH=$(pkg-config --variable=libdir ozarr)
export LD_RUN_PATH
${CC:-cc} "$here/main.c" $(pkg-config --cflags --libs ozarr) -o "$work/a.out"
(cd "$work" && ./a.out > log && test -d run.zarr) || tell "a program with the components runtime and dev: $(cat "$work/log")"
echo "components: ok"
