//! Why the program ends otherwise than well, its exit status, and the one line that says so.

use crate::closed;
use ozarr::node::json::{NO_FORM, acts_on_terminals};
use ozarr::node::shown_location as shown;
use ozarr::node::{COMPLETE_OR_OVERWRITE, OPEN_FOR_READING, OPEN_OR_OVERWRITE};
use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;

/// What the library advises those who call it to do, and what the program says in its place.
const ADVICE: &[(&str, &str)] = &[
    (OPEN_OR_OVERWRITE, "--overwrite replaces it"),
    (COMPLETE_OR_OVERWRITE, "complete it, or replace what it left by --overwrite"),
    (OPEN_FOR_READING, "it can only be read"),
    (NO_FORM, "NaN and infinities have no form in JSON: give a text, as \"NaN\" (for attributes there is `ozarr attrs set --non-finite`)"),
];

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
        let _ = writeln!(io::stderr(), "ozarr: {}", one_line(&without_credentials(message)));
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

    /// The failure of arguments that are wrong whatever is stored.
    pub fn of_usage(self) -> Failure {
        if let Failure::Error(message) = self { Failure::Usage(message) } else { self }
    }

    /// The error of standard output; a broken pipe is none.
    pub fn stdout(e: &io::Error) -> Failure {
        if closed::is_stdout() {
            return Failure::Error("standard output is closed".into());
        }
        if e.kind() == io::ErrorKind::BrokenPipe { Failure::Quiet } else { Failure::file("standard output", e) }
    }
}

impl From<ozarr::error::Error> for Failure {
    fn from(e: ozarr::error::Error) -> Failure {
        let text = ADVICE.iter().fold(e.to_string(), |text, (of_library, of_program)| text.replace(of_library, of_program));
        Failure::Error(text)
    }
}

/// A message without the credentials of locations among the arguments: it may quote one as it was given, as of a file that is none.
fn without_credentials(message: String) -> String {
    let arguments = std::env::args_os().filter_map(|argument| argument.into_string().ok());
    arguments.fold(message, |message, argument| match shown(&argument) {
        shown if shown != argument => message.replace(&argument, &shown),
        _ => message,
    })
}

/// A text without what terminals act on: names and messages come from files, and must not speak to the terminal.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts_on_terminals) {
        return Cow::Borrowed(text);
    }
    text.chars().flat_map(|c| if acts_on_terminals(c) { c.escape_default().collect() } else { vec![c] }).collect::<String>().into()
}

/// A word of a command that a shell takes as it is, whatever is in it.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:,@%+=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    if !text.chars().any(acts_on_terminals) {
        return format!("'{}'", text.replace('\'', r"'\''")).into();
    }
    let byte = |b: u8| match b {
        b'\'' | b'\\' => format!("\\{}", char::from(b)),
        b' '..=b'~' => char::from(b).to_string(),
        _ => format!("\\x{b:02x}"),
    };
    format!("$'{}'", text.bytes().map(byte).collect::<String>()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_gives_advice_of_its_own() {
        for (of_library, of_program) in ADVICE {
            let e = ozarr::error::Error::new(ozarr::error::ErrorKind::Argument, format!("x; {of_library}"));
            let Failure::Error(told) = Failure::from(e) else { panic!("no error") };
            assert_eq!(told, format!("x; {of_program}"));
        }
    }

    #[test]
    fn what_terminals_and_shells_act_on_is_escaped() {
        let cases = [
            ("run.zarr/a-b", "run.zarr/a-b", "run.zarr/a-b"),
            ("été", "été", "été"),
            ("a b", "a b", "'a b'"),
            ("$(x)", "$(x)", "'$(x)'"),
            ("it's", "it's", r"'it'\''s'"),
            ("a\u{1b}[31m'", r"a\u{1b}[31m'", r"$'a\x1b[31m\''"),
            ("\u{202e}evil\u{9b}", r"\u{202e}evil\u{9b}", r"$'\xe2\x80\xaeevil\xc2\x9b'"),
        ];
        for (text, line, word) in cases {
            assert_eq!((&*one_line(text), &*shell_word(text)), (line, word));
        }
    }
}
