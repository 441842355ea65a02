//! Why the program ends otherwise than well, its exit status, and the one line that says so.

use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;

/// What a subcommand gives.
pub type Outcome<T = ()> = Result<T, Failure>;

/// A reason to end.
pub enum Failure {
    /// An error: exit status 1.
    Error(String),
    /// The arguments make no sense: exit status 2.
    Usage(String),
    /// The user pressed Ctrl-C; how to go on. The program ends by that signal.
    Interrupted(String),
    /// What was compared differs, which is told already: exit status 1.
    Different,
    /// Nothing to say: help was printed, or nobody reads the output any more. Exit status 0.
    Quiet,
}

impl Failure {
    /// Prints the line, and gives the exit status.
    pub fn tell(self) -> ExitCode {
        let (message, status) = match self {
            Failure::Quiet => return ExitCode::SUCCESS,
            Failure::Different => return ExitCode::from(1),
            Failure::Interrupted(next) => (format!("interrupted; {next}"), 130),
            Failure::Error(message) => (message, 1),
            Failure::Usage(message) => (message, 2),
        };
        // Nothing can be done about a standard error that is closed.
        let _ = writeln!(io::stderr(), "ozarr: {}", one_line(&message));
        if status == 130 {
            // A shell is to know that it was Ctrl-C.
            let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGINT);
        }
        ExitCode::from(status)
    }

    /// The error of a file of the user's.
    pub fn file(name: &str, e: &io::Error) -> Failure {
        Failure::Error(format!("{name}: {e}"))
    }

    /// The same, with the name of the store or node that an error is about before it.
    pub fn of(self, name: &str) -> Failure {
        if let Failure::Error(message) = self { Failure::Error(format!("{name}: {message}")) } else { self }
    }

    /// The error of standard output; a broken pipe is none.
    pub fn stdout(e: &io::Error) -> Failure {
        if e.kind() == io::ErrorKind::BrokenPipe { Failure::Quiet } else { Failure::file("standard output", e) }
    }
}

impl From<ozarr::error::Error> for Failure {
    fn from(e: ozarr::error::Error) -> Failure {
        Failure::Error(e.to_string())
    }
}

/// A text without control characters: names and messages come from files, and must not speak to the terminal.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect::<String>().into()
}
