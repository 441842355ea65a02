//! `ozarr resize`: another shape for an array.

use crate::failure::Outcome;
use crate::list::List;
use crate::output::{line, object};
use crate::place::{Place, lengths};
use clap::Args;
use ozarr::node::{Mode, json};

/// Give an array another shape; what is cut off is erased
#[derive(Args)]
pub struct Resize {
    #[command(flatten)]
    place: Place,
    /// The new lengths of the dimensions
    #[arg(long, value_name = "N,M,..")]
    shape: List,
    /// Change the shape only: elements outside stay stored, and come back when the array grows again
    #[arg(long)]
    keep_outside: bool,
    /// One JSON object: the shapes before and after
    #[arg(long)]
    json: bool,
}

impl Resize {
    pub fn run(&self) -> Outcome {
        let array = self.place.array(Mode::ReadWrite)?;
        let before = array.shape();
        array.resize(&lengths("shape", &self.shape.0)?, self.keep_outside)?;
        array.store().close(None)?;
        if self.json {
            let shapes = [("before", before.to_vec().into()), ("shape", array.shape().to_vec().into())];
            line(&json::to_text(&object(shapes)))?;
        }
        Ok(())
    }
}
