"""Compiles a program against the package of ozarr, and runs it; what is made for that goes to build/ of the checkout."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain


class Test(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        self.folders.build = os.path.join(self.recipe_folder, "..", "..", "..", "build", "conan", "test")
        self.folders.generators = os.path.join(self.folders.build, "generators")

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            for name in ("first_write", "field"):
                self.run(os.path.join(self.build_folder, name), env="conanrun", cwd=self.build_folder)
