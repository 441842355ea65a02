# Builds libozarr and the program for Julia's registry of binaries: julia build_tarballs.jl --verbose, with BinaryBuilder, from what is
# committed in this checkout.
using BinaryBuilder

checkout = joinpath(@__DIR__, "..", "..")
name = "ozarr"
version = VersionNumber(match(r"^version = \"(.*)\""m, read(joinpath(checkout, "Cargo.toml"), String))[1])
folder = mktempdir()
run(pipeline(`git -C $checkout archive HEAD`, `tar -x -C $folder`))
sources = [DirectorySource(folder)]

script = raw"""
cd ${WORKSPACE}/srcdir
cmake -S . -B build -G Ninja -DCMAKE_INSTALL_PREFIX=${prefix} -DCMAKE_TOOLCHAIN_FILE=${CMAKE_TARGET_TOOLCHAIN} -DCMAKE_BUILD_TYPE=Release \
    -DOZARR_TARGET=${rust_target} -DOZARR_STATIC=OFF -DOZARR_TESTS=OFF -DOZARR_FORTRAN=OFF -DOZARR_MPI=OFF -DOZARR_NETCDF=OFF
cmake --build build -j ${nproc}
cmake --install build
install_license LICENSE-MIT LICENSE-APACHE THIRDPARTY
"""

# The systems that ozarr is built for.
platforms = [Platform("x86_64", "linux"; libc="glibc"), Platform("aarch64", "linux"; libc="glibc")]
products = [LibraryProduct("libozarr", :libozarr), ExecutableProduct("ozarr", :ozarr_program)]
build_tarballs(ARGS, name, version, sources, script, platforms, products, Dependency[]; compilers=[:c, :rust], julia_compat="1.6")
