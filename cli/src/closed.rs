//! A standard output that is closed (`>&-`). Rust's runtime opens /dev/null in its place before `main`, and what is printed would be lost
//! without a word. Here, before that, a file that is always full is opened, so that only commands that print something fail.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns whether the program was started without a standard output.
pub fn is_stdout() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Looks for it; systems without /dev/full, and those whose linkers have other sections, get /dev/null as before.
extern "C" fn look() {
    // SAFETY: these calls take a descriptor or a text that ends with a zero.
    unsafe {
        if libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) != -1 {
            return;
        }
        let full = libc::open(c"/dev/full".as_ptr(), libc::O_WRONLY);
        if full < 0 {
            return;
        }
        // It is standard input's number where that is closed, too.
        if full != libc::STDOUT_FILENO {
            libc::dup2(full, libc::STDOUT_FILENO);
            libc::close(full);
        }
    }
    CLOSED.store(true, Ordering::Relaxed);
}

// SAFETY: the section holds functions that the C library calls one by one before `main`.
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[used]
static LOOK: extern "C" fn() = look;
