//! Ctrl-C in a command that writes: it ends between two pieces of its work, or at once where every piece is whole, and says how to go on.
//! An archive is not whole between a put and the flush, when nobody can open it: no command ends then.

use crate::failure::{Failure, Outcome};
use ozarr::error::{Error, ErrorKind, Result};
use ozarr::node::Store;
use ozarr::threads;
use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level::pipe};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a wait for input takes, in milliseconds, before Ctrl-C is looked for.
const WAIT: i32 = 100;

/// How long a command may go on when Ctrl-C was pressed until it says why: most end before.
const PATIENCE: Duration = Duration::from_secs(1);

/// What it says then.
const AGAIN: &str = "interrupted; it ends when what is under way is done, or at once when Ctrl-C is pressed again";

/// Whether Ctrl-C was pressed since this was made. Pressed again, it ends the program at once, as a line says if the piece of work takes long, as
/// a request may to a server that does not answer.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Watches for Ctrl-C, unless the program was started to ignore it, as shells do in the background.
    pub fn watch() -> Outcome<Interrupt> {
        let asked = Arc::new(AtomicBool::new(false));
        if !is_ignored() {
            let wrong = |e: std::io::Error| Failure::file("SIGINT", &e);
            flag::register_conditional_default(SIGINT, asked.clone()).map_err(wrong)?;
            flag::register(SIGINT, asked.clone()).map_err(wrong)?;
            when_asked(|| {
                std::thread::sleep(PATIENCE);
                // Nothing can be done about a standard error that is closed.
                let _ = writeln!(io::stderr(), "ozarr: {AGAIN}");
            })?;
        }
        Ok(Interrupt(asked))
    }

    /// Returns whether to end.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error that stops a function of the library if Ctrl-C was pressed.
    pub fn check(&self) -> Result<()> {
        if self.is_asked() { Err(Error::new(ErrorKind::Cancelled, "interrupted")) } else { Ok(()) }
    }

    /// The failure of a function that was stopped by [`Interrupt::check`]; `next` says how to go on.
    pub fn failure(&self, e: Error, next: &str) -> Failure {
        if self.is_asked() && e.kind() == ErrorKind::Cancelled { Failure::Interrupted(next.into()) } else { e.into() }
    }
}

/// An open file or pipe, whose reads end with an error when Ctrl-C was pressed: what it waits for may never come.
pub struct WatchedInput {
    input: File,
    interrupt: Interrupt,
}

impl WatchedInput {
    pub fn new(input: File, interrupt: &Interrupt) -> WatchedInput {
        WatchedInput { input, interrupt: interrupt.clone() }
    }
}

impl Read for WatchedInput {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut ready = libc::pollfd { fd: self.input.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        while !self.interrupt.is_asked() {
            // SAFETY: one entry, which lives until the call returns.
            if unsafe { libc::poll(&raw mut ready, 1, WAIT) } > 0 {
                return self.input.read(bytes);
            }
        }
        // Not `Interrupted`, after which callers read again.
        Err(io::Error::other("interrupted"))
    }
}

/// Lets no Ctrl-C but a second one end the program while it writes to an archive; in other stores every piece of its work is whole.
pub fn hold(store: &Store) -> Outcome<Interrupt> {
    if writes_archive(store) { Interrupt::watch() } else { Ok(Interrupt(Arc::default())) }
}

fn writes_archive(store: &Store) -> bool {
    let can = store.capabilities();
    can.writable && !can.erasable
}

/// Ends the program at once when Ctrl-C is pressed, wherever it is in its work; `next` says how to go on. In an archive the caller has to
/// ask what this gives.
pub fn end_with(store: &Store, next: impl FnOnce() -> String + Send + 'static) -> Outcome<Interrupt> {
    let interrupt = hold(store)?;
    if !is_ignored() && !writes_archive(store) {
        when_asked(|| {
            Failure::Interrupted(next()).tell();
        })?;
    }
    Ok(interrupt)
}

/// Does something in a thread of its own when Ctrl-C is pressed.
fn when_asked(act: impl FnOnce() + Send + 'static) -> Outcome {
    let wrong = |e: std::io::Error| Failure::file("SIGINT", &e);
    let (mut asked, tell) = UnixStream::pair().map_err(wrong)?;
    pipe::register(SIGINT, tell).map_err(wrong)?;
    let wait = move || {
        if asked.read_exact(&mut [0]).is_ok() {
            act();
        }
    };
    // The standard library ends the process where a thread has no memory for a stack of signals.
    threads::start(c"interrupt", Box::new(wait)).map_err(|code| wrong(io::Error::from_raw_os_error(code)))?;
    Ok(())
}

/// How a copy that was stopped goes on: `again` makes it anew, but in an archive, which keeps what was put into it.
pub fn copied_in_part(dest: &Store, source: &str, again: &str) -> String {
    let next = match dest.capabilities().erasable {
        true => format!("{again} begins anew"),
        false => "an archive cannot erase what it holds: copy into a new one".to_string(),
    };
    format!("the copy is not complete, the {source} is untouched; {next}")
}

/// Closes the store of a copy that is whole: an error says so, but of an archive, which is whole only then.
pub fn close_copy(dest: &Store) -> Result<()> {
    dest.close(None).map_err(|e| of_whole_copy(dest, e))
}

/// Closes the store of a command that has changed something; an error says what is `done` all the same.
pub fn close_changed(store: &Store, done: &str) -> Result<()> {
    store.close(None).map_err(|e| e.with_note(&format!(" ({done})")))
}

fn of_whole_copy(dest: &Store, e: Error) -> Error {
    if dest.capabilities().archive { e } else { e.with_note(" (the copy itself is whole: not to be made again)") }
}

/// Returns whether SIGINT is ignored, as the kernel tells it.
fn is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (SIGINT - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::locate;
    use ozarr::node::{Create, Group, Mode};

    #[test]
    fn a_copy_that_was_stopped_begins_anew_where_it_can() {
        let folder = std::env::temp_dir().join(format!("ozarr-stopped-{}", std::process::id()));
        let told = |name: &str| {
            let (dest, _) = locate(folder.join(name).to_str().unwrap(), "/", Mode::ReadWrite).map_err(|_| name).unwrap();
            copied_in_part(&dest, "source", "the same command")
        };
        assert_eq!(told("a.zarr"), "the copy is not complete, the source is untouched; the same command begins anew");
        let of_archive = "the copy is not complete, the source is untouched; an archive cannot erase what it holds: copy into a new one";
        assert_eq!(told("a.zip"), of_archive);
    }

    #[test]
    fn an_error_behind_a_copy_says_that_it_is_whole_where_it_is() {
        let folder = std::env::temp_dir().join(format!("ozarr-whole-{}", std::process::id()));
        let told = |name: &str| {
            let (dest, _) = locate(folder.join(name).to_str().unwrap(), "/", Mode::ReadWrite).map_err(|_| name).unwrap();
            of_whole_copy(&dest, Error::new(ErrorKind::Io, "lost")).message().to_string()
        };
        assert_eq!(told("a.zarr"), "lost (the copy itself is whole: not to be made again)");
        assert_eq!(told("a.zip"), "lost");
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn only_writing_to_an_archive_is_held() {
        let folder = std::env::temp_dir().join(format!("ozarr-held-{}", std::process::id()));
        for (name, is_archive) in [("a.zarr", false), ("a.zip", true)] {
            let open = |mode| locate(folder.join(name).to_str().unwrap(), "/", mode).map_err(|_| name).unwrap().0;
            let store = open(Mode::ReadWrite);
            Group::create(&store, "", None, Create::New).unwrap();
            store.close(None).unwrap();
            assert_eq!((writes_archive(&store), writes_archive(&open(Mode::Read))), (is_archive, false), "{name}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
