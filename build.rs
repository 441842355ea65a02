//! Link flags of the `.so` that plain cargo makes, which is for development: it has no SONAME, so that programs run against it
//! where it lies. The shipped one is linked by CMake (`CMakeLists.txt`), with SONAME and symbol versions.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Thread-local memory and threads of the library must outlive a dlclose of the host.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
