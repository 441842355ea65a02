//! `ozarr consolidate`: the metadata of all nodes below a group in one document.

use crate::failure::Outcome;
use crate::place::Place;
use clap::Args;
use ozarr::node::Mode;

/// Write consolidated metadata of all nodes below a group
#[derive(Args)]
pub struct Consolidate {
    #[command(flatten)]
    place: Place,
}

impl Consolidate {
    pub fn run(&self) -> Outcome {
        let group = self.place.group(Mode::ReadWrite)?;
        group.consolidate()?;
        Ok(group.flush()?)
    }
}
