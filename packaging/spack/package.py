# ozarr for Spack: put this file into a repository of your own as packages/ozarr/package.py. cargo fetches crates while it builds;
# where nodes have no network, build from the vendored sources of `make dist`.
from spack.package import *


class Ozarr(CMakePackage):
    """Zarr arrays for simulation codes, from C, C++, Fortran and Julia."""

    homepage = "https://github.com/ozarr/ozarr"
    git = "https://github.com/ozarr/ozarr.git"

    license("MIT OR Apache-2.0")
    version("main", branch="main")

    variant("cloud", default=True, description="Object stores and web servers")
    variant("fortran", default=True, description="The Fortran module")
    variant("mpi", default=False, description="Collective reads and writes (libozarr_mpi)")
    variant("shared", default=True, description="Build the shared library")
    variant("static", default=True, description="Install the static archive")
    variant("program", default=True, description="The program ozarr")

    conflicts("~shared~static", msg="one of the libraries is needed")
    conflicts("~shared+mpi", msg="libozarr_mpi needs the shared library")
    conflicts("platform=darwin", msg="ozarr is built for Linux only")
    conflicts("platform=windows", msg="ozarr is built for Linux only")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.89:", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("ninja", type="build")
    depends_on("mpi", when="+mpi")

    generator("ninja")

    def cmake_args(self):
        choices = [self.define_from_variant(f"OZARR_{name.upper()}", name) for name in ("cloud", "fortran", "mpi", "shared", "static", "program")]
        profile = "dev" if self.spec.satisfies("build_type=Debug") else "release"
        return choices + [self.define("OZARR_PROFILE", profile), self.define("OZARR_TESTS", self.run_tests), self.define("OZARR_NETCDF", False)]
