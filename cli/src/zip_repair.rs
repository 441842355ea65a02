//! `ozarr zip-repair`: an archive whose writer died is made readable.

use crate::failure::Outcome;
use crate::output::{line, object};
use clap::Args;
use ozarr::node::{json, repair_zip};

/// Give a zip archive whose writer died a directory of what is whole; a readable one stays as it is
#[derive(Args)]
pub struct ZipRepair {
    /// The archive; it is changed in place, behind its last whole entry only
    file: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl ZipRepair {
    pub fn run(&self) -> Outcome {
        let done = repair_zip(&self.file)?;
        if self.json {
            let members =
                [("changed", done.changed.into()), ("keys", done.keys.into()), ("lost", done.lost.into()), ("cut", done.cut.into())];
            return line(&json::to_text(&object(members)));
        }
        if !done.changed {
            return line(&format!("{} can be read as it is: {} keys", self.file, done.keys));
        }
        let lost = if done.lost == 1 { "1 entry that is not whole".into() } else { format!("{} entries that are not whole", done.lost) };
        line(&format!("{}: {} keys, without {lost}; {} bytes behind the last whole one are cut off", self.file, done.keys, done.cut))
    }
}
