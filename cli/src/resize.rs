//! `ozarr resize`: another shape for an array.

use crate::failure::{Outcome, shell_word};
use crate::interrupt::Interrupt;
use crate::list::List;
use crate::output::{progress, tell};
use crate::place::{Place, lengths};
use clap::Args;
use ozarr::node::Mode;

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
        let interrupt = Interrupt::watch()?;
        let bar = progress(0, Some("chunks"), false);
        let resized = array.resize_telling(&lengths("shape", &self.shape.0)?, self.keep_outside, &mut |done, all| {
            bar.set_length(all);
            bar.set_position(done);
            interrupt.check()
        });
        bar.finish_and_clear();
        resized.map_err(|e| {
            let old = before.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let again = format!("`ozarr resize {} --shape {old}`", shell_word(&self.place.name()));
            interrupt.failure(
                e,
                &format!("the shape is changed, chunks outside of it are left; to erase them {again} and the same command again"),
            )
        })?;
        array.store().close(None)?;
        tell(self.json, [("before", before.to_vec().into()), ("shape", array.shape().to_vec().into())])
    }
}
