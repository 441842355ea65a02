//! `ozarr consolidate`: the metadata of all nodes below a group in one document.

use crate::failure::{Failure, Outcome};
use crate::interrupt;
use crate::output::{busy, notes, or_unread, tell};
use crate::place::Place;
use clap::Args;
use ozarr::node::Mode;

/// Write consolidated metadata of all nodes below a group
#[derive(Args)]
pub struct Consolidate {
    #[command(flatten)]
    place: Place,
    /// Only compare those that are there with the documents, a line for each difference
    #[arg(long)]
    check: bool,
    /// One JSON object: the group whose nodes are consolidated; with --check the differences as a JSON list
    #[arg(long)]
    json: bool,
}

impl Consolidate {
    pub fn run(&self) -> Outcome {
        if self.check {
            return self.compare();
        }
        let group = self.place.group(Mode::ReadWrite)?;
        let next = "the consolidated metadata are the old or the new; the same command begins anew";
        let interrupt = interrupt::end_with(group.store(), || next.into())?;
        let bar = busy("reading documents");
        let done = group.consolidate();
        bar.finish_and_clear();
        done?;
        interrupt::close_changed(group.store(), "the consolidated metadata themselves are written")?;
        interrupt.check().map_err(|e| interrupt.failure(e, next))?;
        tell(self.json, [("consolidated", self.place.name().into())])
    }

    fn compare(&self) -> Outcome {
        let name = self.place.name();
        match self.place.group(Mode::Read)?.consolidated_differences()? {
            None => Err(Failure::Error(format!("{name} has no consolidated metadata"))),
            Some(lines) => {
                or_unread(notes(lines.iter(), self.json))?;
                if lines.is_empty() {
                    return Ok(());
                }
                Err(Failure::Error(format!("the consolidated metadata of {name} differ from the documents in {} places", lines.len())))
            }
        }
    }
}
