"""ozarr for Conan 2, from this checkout: `conan create packaging/conan`. Needs cargo (Rust 1.89 or newer) in the PATH."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, load


class Ozarr(ConanFile):
    name = "ozarr"
    license = "MIT OR Apache-2.0"
    description = "Zarr arrays for simulation codes"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "cloud": [True, False]}
    default_options = {"shared": True, "cloud": True}
    # A C interface: programs of any C++ library may use it.
    languages = "C"
    # Nothing is written beside the sources.
    no_copy_source = True

    def set_version(self):
        self.version = re.search(r'^version = "(.*)"', load(self, os.path.join(self.recipe_folder, "..", "..", "Cargo.toml")), re.M)[1]

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for what in ("src/*", "core/*", "abi/*", "cli/*", "patches/*", "cmake/*", "tools/manpages", "include/*", "fortran/*", "julia/OZarr/*", "benches/*", "examples/*", "fuzz/Cargo.toml",
                     "CMakeLists.txt", "Cargo.*", "LICENSE-*", "THIRDPARTY"):
            copy(self, what, root, self.export_sources_folder)

    def generate(self):
        toolchain = CMakeToolchain(self)
        values = {"OZARR_TESTS": False, "OZARR_PROGRAM": False, "OZARR_FORTRAN": False, "OZARR_MPI": False, "OZARR_NETCDF": False,
                  "OZARR_CLOUD": bool(self.options.cloud), "OZARR_SHARED": bool(self.options.shared), "OZARR_STATIC": not self.options.shared}
        toolchain.cache_variables.update(values)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        for what in ("LICENSE-*", "THIRDPARTY"):
            copy(self, what, self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # CMake finds the package's own files, with all of its targets and components; other build systems are told what follows.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "ozarr")]
        self.cpp_info.libs = ["ozarr"]
        if not self.options.shared:
            self.cpp_info.system_libs = ["util", "rt", "pthread", "m", "dl"]
