//! `ozarr resize`: another shape for an array.

use crate::failure::Outcome;
use crate::interrupt::{Interrupt, close_changed};
use crate::list::List;
use crate::output::{looking_for, tell};
use crate::place::{Place, lengths};
use clap::Args;
use ozarr::node::Mode;

/// Give an array another shape; what is cut off is erased
#[derive(Args)]
pub struct Resize {
    #[command(flatten)]
    place: Place,
    /// The new lengths of the dimensions
    #[arg(long, value_name = "N,M,..", allow_hyphen_values = true)]
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
        let interrupt = Interrupt::watch()?;
        let bar = looking_for("chunks", false);
        let resized = array.resize_telling(&lengths("shape", &self.shape.0, 0)?, self.keep_outside, &mut bar.until(&interrupt));
        bar.finish_and_clear();
        let next = "the shape is changed, chunks outside of it are left; the same command erases them";
        resized.map_err(|e| interrupt.failure(e, next))?;
        close_changed(array.store(), "the shape itself is changed")?;
        tell(self.json, [("before", before.to_vec().into()), ("shape", array.shape().to_vec().into())])
    }
}
