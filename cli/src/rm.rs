//! `ozarr rm`: erasing a node.

use crate::failure::{Failure, Outcome};
use crate::place::{Place, locate};
use clap::Args;
use ozarr::node::{Group, Mode, NodeKind};

/// Erase an array or a group
#[derive(Args)]
pub struct Rm {
    #[command(flatten)]
    place: Place,
    /// Erase a group with all below it
    #[arg(short, long)]
    recursive: bool,
}

impl Rm {
    pub fn run(&self) -> Outcome {
        let (store, path) = locate(&self.place.location, &self.place.path, Mode::ReadWrite)?;
        if !self.recursive && store.node_kind(&path)? == NodeKind::Group {
            let below = Group::open(&store, &path)?.children()?.len();
            if below > 0 {
                let nodes = if below == 1 { "node" } else { "nodes" };
                return Err(Failure::Error(format!(
                    "{} is a group with {below} {nodes} in it; erase them, too, with -r",
                    self.place.name()
                )));
            }
        }
        store.erase_node(&path)?;
        Ok(store.close(None)?)
    }
}
