//! `ozarr zip-repair`: an archive whose writer died is made readable.

use crate::failure::Outcome;
use crate::output::line;
use clap::Args;
use ozarr::node::repair_zip;

/// Give a zip archive whose writer died a directory of what is whole; a readable one stays as it is
#[derive(Args)]
pub struct ZipRepair {
    /// The archive; it is changed in place, behind its last whole entry only
    file: String,
}

impl ZipRepair {
    pub fn run(&self) -> Outcome {
        let done = repair_zip(&self.file)?;
        if !done.changed {
            return line(&format!("{} can be read as it is: {} keys", self.file, done.keys));
        }
        let lost = if done.lost == 1 { "1 entry that is not whole".into() } else { format!("{} entries that are not whole", done.lost) };
        line(&format!("{}: {} keys, without {lost}; {} bytes behind the last whole one are cut off", self.file, done.keys, done.cut))
    }
}
