//! Running the program that was built, in a folder of the test's own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_ozarr");

/// What a run gave.
pub struct Ran {
    pub status: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

/// A folder that is empty at first.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// The program with the words of `line` as arguments, in this folder. `''` is an empty argument, `_` in a word a blank.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .current_dir(&self.0)
            .args(line.split_whitespace().map(|word| if word == "''" { String::new() } else { word.replace('_', " ") }));
        command
    }

    /// Runs it with that standard input.
    pub fn run_with(&self, line: &str, input: &[u8]) -> Ran {
        let mut command = self.command(line);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A program that ends before it has read all is not the test's fault.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        Ran { status: output.status.code(), out: output.stdout, err: String::from_utf8(output.stderr).unwrap() }
    }

    /// What it prints; it must end well, without a word on standard error.
    pub fn ok(&self, line: &str) -> String {
        String::from_utf8(self.bytes(line, &[])).unwrap()
    }

    /// The bytes that it prints.
    pub fn bytes(&self, line: &str, input: &[u8]) -> Vec<u8> {
        let ran = self.run_with(line, input);
        assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "ozarr {line}");
        ran.out
    }
}
