//! `ozarr consolidate`: the metadata of all nodes below a group in one document.

use crate::failure::{Failure, Outcome};
use crate::output::notes;
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
    /// With --check: the differences as a JSON list
    #[arg(long, requires = "check")]
    json: bool,
}

impl Consolidate {
    pub fn run(&self) -> Outcome {
        if self.check {
            return self.compare();
        }
        let group = self.place.group(Mode::ReadWrite)?;
        group.consolidate()?;
        Ok(group.flush()?)
    }

    fn compare(&self) -> Outcome {
        let name = self.place.name();
        match self.place.group(Mode::Read)?.consolidated_differences()? {
            None => Err(Failure::Error(format!("{name} has no consolidated metadata"))),
            Some(lines) => {
                notes(lines.iter(), self.json)?;
                if lines.is_empty() {
                    return Ok(());
                }
                Err(Failure::Error(format!("the consolidated metadata of {name} differ from the documents in {} places", lines.len())))
            }
        }
    }
}
