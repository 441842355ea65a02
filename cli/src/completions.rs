//! `ozarr completions`: what shells need to complete the program's arguments.

use crate::failure::Outcome;
use crate::output::print;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Print a script that completes arguments in a shell
#[derive(Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(&self) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Cli::command(), "ozarr", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}
