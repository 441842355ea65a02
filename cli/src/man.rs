//! `ozarr man`: the manual pages.

use crate::failure::{Failure, Outcome};
use clap::{Args, Command, CommandFactory};
use std::path::Path;

/// Write the manual pages into a folder
#[derive(Args)]
pub struct Man {
    /// The folder, which is made if it is not there
    dir: String,
}

impl Man {
    pub fn run(&self) -> Outcome {
        let mut command = crate::Cli::command().disable_help_subcommand(true);
        command.build();
        let write = || {
            std::fs::create_dir_all(&self.dir)?;
            pages(&command, Path::new(&self.dir))
        };
        write().map_err(|e| Failure::file(&self.dir, &e))
    }
}

/// Writes the page of a command and of those below it. Its footer names the program, which those below do not know the version of.
fn pages(command: &Command, dir: &Path) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        pages(below, dir)?;
    }
    clap_mangen::Man::new(command.clone()).source(concat!("ozarr ", env!("CARGO_PKG_VERSION"))).generate_to(dir).map(drop)
}
