//! `ozarr cp`: copying a node.

use crate::failure::Outcome;
use crate::interrupt::{Interrupt, close_copy, copied_in_part};
use crate::output::{looking_for, tell};
use crate::place::{locate, named_in_group};
use clap::Args;
use ozarr::node::shown_location as shown;
use ozarr::node::{Create, Mode};

/// Copy an array, or a group with all below it; every stored object stays as it is (`ozarr copy` changes chunks and formats)
///
/// What links lead to is copied; those that lead back to a group above are left out. A web server, which cannot list its keys, is no source, but archives
/// there are.
#[derive(Args)]
pub struct Cp {
    /// The store or node to copy
    source: String,
    /// Where the copy is to be (its name, not that of a group to put it into)
    dest: String,
    /// Replace what is there, with all below it: in a folder at once, when the copy is whole
    #[arg(long)]
    overwrite: bool,
    /// Read everything again, and compare it with the source
    #[arg(long)]
    verify: bool,
    /// One JSON object: what was copied where, and how many objects
    #[arg(long)]
    json: bool,
}

impl Cp {
    pub fn run(&self) -> Outcome {
        let (from, path) = locate(&self.source, "/", Mode::Read)?;
        let (to, to_path) = locate(&self.dest, "/", Mode::ReadWrite)?;
        let interrupt = Interrupt::watch()?;
        let bar = looking_for("objects", false);
        let how = if self.overwrite { Create::Overwrite } else { Create::New };
        let mut steps = 0;
        let copied = from.copy_node(&path, (&to, &to_path), how, self.verify, &mut |done, all| {
            steps = all;
            bar.until(&interrupt)(done, all)
        });
        bar.finish_and_clear();
        let copied = copied.map_err(|e| named_in_group(e, &path, (&self.dest, &to, &to_path)));
        copied.map_err(|e| interrupt.failure(e, &copied_in_part(&to, "source", "the same command with --overwrite")))?;
        close_copy(&to)?;
        let objects = if self.verify { steps / 2 } else { steps };
        let from_to = [("copied", shown(&self.source).into()), ("to", shown(&self.dest).into())];
        tell(self.json, from_to.into_iter().chain([("objects", objects.into()), ("verified", self.verify.into())]))
    }
}
