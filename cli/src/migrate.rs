//! `ozarr migrate`: Zarr v3 of what is v2, or a draft.

use crate::failure::{Failure, Outcome};
use crate::interrupt::{Interrupt, close_changed, close_copy, copied_in_part};
use crate::output::{looking_for, notes};
use crate::place::locate;
use clap::Args;
use ozarr::node::{Mode, Store};

/// Make Zarr v3 of v2, or of a draft of v3; chunks stay as they are
///
/// Documents are written anew, chunks are copied (or linked), and encoded anew only where v3 has no form for their codecs; each such
/// array is told. Nothing is written unless everything can be migrated. After an interruption the same command begins anew, but in an
/// archive, which cannot erase what it holds; where all nodes were made it completes that, unless the source has changed since; in place it
/// completes the migration. Of a run that goes on the copy has the steps that all variables have; in place nobody may write meanwhile. Files
/// and folders beside the nodes that are no part of Zarr are left out, and told; in place they stay.
#[derive(Args)]
pub struct Migrate {
    /// The store or node to migrate; it is not changed unless --in-place is given
    source: String,
    /// Where to; nothing may be there yet
    #[arg(required_unless_present = "in_place")]
    dest: Option<String>,
    /// Put the new documents beside the old ones, and erase these when all is done
    #[arg(long, conflicts_with = "dest")]
    in_place: bool,
    /// Make hard links to chunk files instead of copying them, where source and copy are folders of one file system
    #[arg(long)]
    link: bool,
    /// The Zarr format to migrate to: 3
    #[arg(long, default_value = "3", value_parser = ["3"], hide_default_value = true)]
    to: String,
    /// What changed besides as a JSON list
    #[arg(long)]
    json: bool,
}

impl Migrate {
    pub fn run(&self) -> Outcome {
        let mode = if self.in_place { Mode::ReadWrite } else { Mode::Read };
        let (from, path) = locate(&self.source, "/", mode)?;
        let dest: Option<(Store, String)> = match &self.dest {
            Some(dest) => Some(locate(dest, "/", Mode::ReadWrite)?),
            None if self.in_place => None,
            None => return Err(Failure::Usage("name a place to migrate to, or give --in-place".into())),
        };
        let interrupt = Interrupt::watch()?;
        let bar = looking_for("objects", true);
        let to = dest.as_ref().map(|(store, path)| (store, path.as_str()));
        let done = from.migrate(&path, to, !self.link && !self.in_place, &mut bar.until(&interrupt));
        bar.finish_and_clear();
        let next = match &dest {
            Some((to, _)) => copied_in_part(to, "source", "the same command"),
            None => "the same command completes it".into(),
        };
        let done = done.map_err(|e| interrupt.failure(e, &next))?;
        match &dest {
            Some((to, _)) => close_copy(to)?,
            None => close_changed(&from, "all nodes are migrated: not to be migrated again")?,
        }
        notes(done.notes.iter(), self.json)
    }
}
