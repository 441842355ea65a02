//! `ozarr man`: the manual pages.

use crate::failure::{Failure, Outcome};
use clap::{Args, CommandFactory};

/// Write the manual pages into a folder
#[derive(Args)]
pub struct Man {
    /// The folder, which is made if it is not there
    dir: String,
}

impl Man {
    pub fn run(&self) -> Outcome {
        let write = || {
            std::fs::create_dir_all(&self.dir)?;
            clap_mangen::generate_to(crate::Cli::command(), &self.dir)
        };
        write().map_err(|e| Failure::file(&self.dir, &e))
    }
}
