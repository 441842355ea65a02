//! What differs between operating systems: one file for each of them, with the same items. docs/installing.md says which were run.
//!
//! `libc` has the calls of POSIX that the library makes, by their names: the crate's, or on Windows functions that do the same there.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::*;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::*;

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
pub use macos::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::*;

/// Their tests run on the systems on which the library is made, too.
#[cfg(all(test, not(windows)))]
#[path = "windows/codes.rs"]
mod windows_codes;
#[cfg(all(test, not(windows)))]
#[path = "windows/rights.rs"]
mod windows_rights;

#[cfg(not(target_os = "linux"))]
mod untold_pages;
#[cfg(not(target_os = "linux"))]
pub use untold_pages::*;
