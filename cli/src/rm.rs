//! `ozarr rm`: erasing a node.

use crate::failure::{Failure, Outcome};
use crate::interrupt;
use crate::output::{busy, tell};
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
        let (left, node) = (store.clone(), path.clone());
        interrupt::end_with(move || match left.node_kind(&node) {
            Ok(NodeKind::None) if node.trim_matches('/').is_empty() => {
                "the root is gone; what is left of the store is for rm or the like".into()
            }
            Ok(NodeKind::None) => "the node is gone; `ozarr verify --repair` of the store erases or names what is left of it".into(),
            _ => "a part of it may be erased; the same command goes on".into(),
        })?;
        let bar = busy("erasing");
        let erased = store.erase_node(&path);
        bar.finish_and_clear();
        erased?;
        store.close(None)?;
        tell(self.json, [("erased", self.place.name().into()), ("node_type", kind.into())])
    }
}
