//! `ozarr rm`: erasing a node.

use crate::failure::{Failure, Outcome};
use crate::interrupt;
use crate::output::{busy, tell};
use crate::place::{Place, locate};
use clap::Args;
use ozarr::node::{Group, Mode, NodeKind, Store, Value, path};
use std::collections::BTreeSet;

/// Erase an array or a group
#[derive(Args)]
pub struct Rm {
    #[command(flatten)]
    place: Place,
    /// Erase a group with all below it: nodes, and files of other programs
    #[arg(short, long)]
    recursive: bool,
    /// One JSON object: what was erased
    #[arg(long)]
    json: bool,
}

impl Rm {
    pub fn run(&self) -> Outcome {
        let (store, path) = locate(&self.place.location, &self.place.path, Mode::ReadWrite)?;
        let found = store.node_kind(&path)?;
        let below = match found {
            // What cannot erase says so.
            _ if self.recursive || !store.capabilities().erasable => 0,
            NodeKind::Group => Group::open(&store, &path)?.children()?.len(),
            // It may be a group that cannot be understood.
            NodeKind::Unknown => nodes_below(&store, &path)?,
            NodeKind::Array | NodeKind::None => 0,
        };
        if below > 0 {
            let nodes = if below == 1 { "node" } else { "nodes" };
            let is_group = found == NodeKind::Group;
            let (what, place) = if is_group { ("is a group with", "directly in it") } else { ("cannot be understood and has", "in it") };
            return Err(Failure::Error(format!("{} {what} {below} {nodes} {place}; erase all below, too, with -r", self.place.name())));
        }
        // What cannot erase says so.
        if found == NodeKind::Group
            && !self.recursive
            && store.capabilities().erasable
            && let Some(key) = store.key_beside_documents(&path)?
        {
            return Err(Failure::Error(format!(
                "{} has {key} in it, which is no document of the group; erase all below, too, with -r",
                self.place.name()
            )));
        }
        let kind = match found {
            NodeKind::Group => "group".into(),
            NodeKind::Array | NodeKind::None => "array".into(),
            NodeKind::Unknown => Value::Null,
        };
        let (left, node) = (store.clone(), path.clone());
        interrupt::end_with(&store, move || match left.node_kind(&node) {
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
        interrupt::close_changed(&store, "the node itself is gone: not to be erased again")?;
        tell(self.json, [("erased", self.place.name().into()), ("node_type", kind)])
    }
}

/// The number of nodes below a place, by their documents.
fn nodes_below(store: &Store, path: &str) -> Result<usize, Failure> {
    let prefix = path::prefix(&path::normalize(path)?);
    let keys = store.key_list(&prefix)?;
    let document = |key: &str| matches!(key, "zarr.json" | ".zarray" | ".zgroup");
    let nodes = keys.iter().filter_map(|key| key[prefix.len()..].rsplit_once('/')).filter(|(_, name)| document(name));
    Ok(nodes.map(|(node, _)| node).collect::<BTreeSet<_>>().len())
}
