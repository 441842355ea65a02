//! Standard output, and what a terminal gets besides: progress. Never a colour.

use crate::failure::{Failure, Outcome, one_line};
use crate::interrupt::Interrupt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ozarr::node::{Array, Value, json};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What takes less has no bar.
const QUIET: Duration = Duration::from_secs(2);

/// Prints text that may be long.
pub fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Failure::stdout(&e))
}

/// Prints a line.
pub fn line(text: &str) -> Outcome {
    print(&format!("{text}\n"))
}

/// Standard output for long texts. A terminal gets escapes for what it would act on: texts come from files, and must not speak to it.
pub fn texts() -> Box<dyn Write> {
    let out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    if io::stdout().is_terminal() { Box::new(Escaped(out)) } else { Box::new(out) }
}

/// Writes ends of lines and tabs as they are, and escapes for all else that terminals act on.
struct Escaped<W: Write>(W);

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.utf8_chunks() {
            for piece in part.valid().split_inclusive(['\n', '\t']) {
                let text = piece.trim_end_matches(['\n', '\t']);
                self.0.write_all(one_line(text).as_bytes())?;
                self.0.write_all(&piece.as_bytes()[text.len()..])?;
            }
            self.0.write_all(part.invalid())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Takes it for printed when nobody reads the output any more: what the command has yet to do, or its exit status, is wanted all the same.
pub fn or_unread(printed: Outcome) -> Outcome {
    match printed {
        Err(Failure::Quiet) => Ok(()),
        other => other,
    }
}

/// How many things there are.
pub fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Prints what there is to tell: a line for each, or a JSON list.
pub fn notes<'a>(all: impl Iterator<Item = &'a String>, as_json: bool) -> Outcome {
    if as_json {
        return line(&json::to_text(&all.map(|note| Value::from(note.as_str())).collect()));
    }
    print(&all.map(|note| format!("{}\n", one_line(note))).collect::<String>())
}

/// Prints what was counted of an array's requests on standard error. Nothing can be done about one that is closed or full.
pub fn tell_stats(array: &Array) {
    let _ = io::stderr().write_all(array.stats().snapshot().text(array.store().retries()).as_bytes());
}

/// Prints a JSON object of what was done, if that is wanted.
pub fn tell<'a>(as_json: bool, members: impl IntoIterator<Item = (&'a str, Value)>) -> Outcome {
    if as_json { line(&json::to_text(&object(members))) } else { Ok(()) }
}

/// A JSON object of those members.
pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

/// What is done of a command's work, shown on standard error from the third second on: only where standard error is a terminal, and
/// standard output, unless it is not used, is none.
pub struct Progress {
    bar: ProgressBar,
    shown: AtomicBool,
    begun: Instant,
    /// How the bar looks from the first time on that it is told how much is done of all.
    counting: Mutex<Option<ProgressStyle>>,
}

/// Whether a bar can be seen.
pub fn can_show(uses_stdout: bool) -> bool {
    io::stderr().is_terminal() && !(uses_stdout && io::stdout().is_terminal())
}

/// A bar that counts bytes, or things if `what` names them.
pub fn progress(total: u64, what: Option<&str>, uses_stdout: bool) -> Progress {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
    bar.set_style(counting(what));
    Progress { bar, shown: AtomicBool::new(!can_show(uses_stdout)), begun: Instant::now(), counting: Mutex::default() }
}

/// How a bar looks that counts bytes, or things if `what` names them.
fn counting(what: Option<&str>) -> ProgressStyle {
    let template = match what {
        None => "{bar:40} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left".to_string(),
        Some(what) => format!("{{bar:40}} {{pos}} of {{len}} {what}, {{per_sec}}, {{eta}} left"),
    };
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// What cannot be counted: how long it takes by now.
pub fn busy(what: &'static str) -> Progress {
    waiting(what.into(), false, None)
}

/// A bar that counts things which a function of the library looks for first: until it tells of them, how long that takes by now.
pub fn looking_for(what: &str, uses_stdout: bool) -> Progress {
    waiting(format!("looking for {what}"), uses_stdout, Some(counting(Some(what))))
}

fn waiting(message: String, uses_stdout: bool, counting: Option<ProgressStyle>) -> Progress {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_message(message);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
        bar.set_style(style);
    }
    if can_show(uses_stdout) {
        let late = bar.downgrade();
        // Without it only the bar is missing.
        let _ = std::thread::Builder::new().spawn(move || {
            std::thread::sleep(QUIET);
            if let Some(bar) = late.upgrade().filter(|bar| !bar.is_finished()) {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(QUIET / 10);
            }
        });
    }
    Progress { bar, shown: AtomicBool::new(true), begun: Instant::now(), counting: Mutex::new(counting) }
}

impl Progress {
    /// How much there is to do.
    pub fn set_length(&self, total: u64) {
        self.bar.set_length(total);
    }

    /// How much is done.
    pub fn set_position(&self, done: u64) {
        self.bar.set_position(done);
        self.show();
    }

    /// So much more is done.
    pub fn inc(&self, more: u64) {
        self.bar.inc(more);
        self.show();
    }

    /// The same for a function that could be told to end.
    pub fn told(&self, more: u64) -> ozarr::error::Result<()> {
        self.inc(more);
        Ok(())
    }

    /// What a function of the library tells how much is done of all, and which ends it when Ctrl-C was pressed.
    pub fn until(&self, interrupt: &Interrupt) -> impl FnMut(u64, u64) -> ozarr::error::Result<()> {
        move |done, all| {
            if let Some(style) = self.counting.lock().unwrap_or_else(PoisonError::into_inner).take() {
                self.bar.set_style(style);
                self.bar.reset_eta();
            }
            self.set_length(all);
            self.set_position(done);
            interrupt.check()
        }
    }

    /// Prints something while it is shown.
    pub fn above(&self, print: impl FnOnce() -> Outcome) -> Outcome {
        self.bar.suspend(print)
    }

    /// Takes it off the terminal.
    pub fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&self) {
        if self.begun.elapsed() >= QUIET && !self.shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

/// Writes a file beside its name, so that what had the name stays where there is no room. What is no file or may not be
/// changed, or lies where none can be made, is written as it is. Nobody else knows the name: in a shared folder a link there would lead the bytes elsewhere.
pub fn write_whole(name: &str, bytes: &[u8]) -> io::Result<()> {
    let path = std::fs::canonicalize(name).unwrap_or_else(|_| name.into());
    let there = std::fs::metadata(&path).ok();
    let beside = path.with_file_name(format!("ozarr-{:016x}.tmp", RandomState::new().hash_one(&path)));
    let made = match &there {
        Some(there) if !there.is_file() || there.permissions().readonly() => None,
        _ => Some(std::fs::File::create_new(&beside))
            .filter(|made| !made.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied)),
    };
    let Some(made) = made else { return std::fs::write(&path, bytes) };
    let written = made.and_then(|mut file| {
        file.write_all(bytes)?;
        there.map_or(Ok(()), |there| file.set_permissions(there.permissions()))?;
        std::fs::rename(&beside, &path)
    });
    // The error is the one to tell.
    written.inspect_err(|_| drop(std::fs::remove_file(&beside)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_that_waits_beside_a_file_is_not_written_through() {
        let folder = std::env::temp_dir().join(format!("ozarr-links-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let (picture, other) = (folder.join("p.png"), folder.join("other"));
        std::fs::write(&other, "precious").unwrap();
        std::os::unix::fs::symlink(&other, folder.join(format!("p.png.{}.tmp", std::process::id()))).unwrap();
        write_whole(picture.to_str().unwrap(), b"picture").unwrap();
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
        assert_eq!(std::fs::symlink_metadata(&picture).unwrap().len(), 7);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3, "nothing else stays");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn terminals_get_escapes_for_what_they_act_on() {
        let mut out = Escaped(Vec::new());
        out.write_all("a\tb\n\n\u{1b}]0;owned\u{7}\u{9b}é\u{202e}\r\n".as_bytes()).unwrap();
        out.write_all(b"\xff|").unwrap();
        let want = "a\tb\n\n\\u{1b}]0;owned\\u{7}\\u{9b}é\\u{202e}\\r\n".as_bytes();
        assert_eq!(out.0, [want, b"\xff|"].concat());
    }
}
