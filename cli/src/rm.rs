//! `ozarr rm`: erasing a node.

use crate::failure::{Failure, Outcome};
use crate::output::{line, object};
use crate::place::{Place, locate};
use clap::Args;
use ozarr::node::{Group, Mode, NodeKind, json};

/// Erase an array or a group
#[derive(Args)]
pub struct Rm {
    #[command(flatten)]
    place: Place,
    /// Erase a group with all below it
    #[arg(short, long)]
    recursive: bool,
    /// One JSON object: what was erased
    #[arg(long)]
    json: bool,
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
        let kind = if store.node_kind(&path)? == NodeKind::Group { "group" } else { "array" };
        store.erase_node(&path)?;
        store.close(None)?;
        if self.json {
            let erased = object([("erased", self.place.name().as_str().into()), ("node_type", kind.into())]);
            line(&json::to_text(&erased))?;
        }
        Ok(())
    }
}
