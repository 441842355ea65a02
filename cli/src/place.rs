//! The arguments that name a node, and opening it.

use crate::failure::{Failure, Outcome};
use clap::Args;
use ozarr::error::Result;
use ozarr::node::{Array, Context, Group, Mode, Node, NodeKind, Store};

/// An error names so many arrays at most.
const NAMED: usize = 20;

/// LOCATION and PATH.
#[derive(Args)]
pub struct Place {
    /// A store, or a node in it (`run.zarr`, `run.zarr/temperature`)
    pub location: String,
    /// The path of a node below LOCATION; `/` is LOCATION itself
    #[arg(default_value = "/", hide_default_value = true)]
    pub path: String,
}

/// Opens the store of a location, and gives the path of the node in it that the location and `path` name together.
pub fn locate(location: &str, path: &str, mode: Mode) -> Outcome<(Store, String)> {
    let (store, node) = Store::locate(&Context::default(), location, mode)?;
    Ok((store, format!("{node}/{path}")))
}

impl Place {
    /// Opens the node, whatever it is.
    pub fn node(&self, mode: Mode) -> Outcome<Node> {
        let (store, path) = locate(&self.location, &self.path, mode)?;
        Ok(Node::open(&store, &path)?)
    }

    /// Opens the array.
    pub fn array(&self, mode: Mode) -> Outcome<Array> {
        let (store, path) = locate(&self.location, &self.path, mode)?;
        self.array_at(&store, &path)
    }

    /// Opens the array at the node's path in an open store; of a group the error names the arrays in it.
    pub fn array_at(&self, store: &Store, path: &str) -> Outcome<Array> {
        let group = match Node::open(store, path)? {
            Node::Array(array) => return Ok(array),
            Node::Group(group) => group,
        };
        let all = group.nodes(usize::MAX)?;
        let arrays: Vec<&str> = all.iter().filter(|c| c.kind() == NodeKind::Array).map(|c| c.name.as_str()).collect();
        let more = if arrays.len() > NAMED { ", .." } else { "" };
        let has = match arrays.is_empty() {
            true => "there is none in it".to_string(),
            false => format!("name one of its arrays: {}{more}", arrays[..arrays.len().min(NAMED)].join(", ")),
        };
        Err(Failure::Error(format!("{} is a group, not an array; {has}", self.name())))
    }

    /// Opens the group.
    pub fn group(&self, mode: Mode) -> Outcome<Group> {
        let (store, path) = locate(&self.location, &self.path, mode)?;
        Ok(Group::open(&store, &path)?)
    }

    /// As the user named it.
    pub fn name(&self) -> String {
        let path = self.path.trim_matches('/');
        if path.is_empty() { self.location.clone() } else { format!("{}/{path}", self.location.trim_end_matches('/')) }
    }
}

/// A node and all below it down to `depth` levels, each group before what is in it, by their paths relative to the node (whose own is
/// empty). One that cannot be opened is there with its error.
pub fn below(top: &Node, depth: usize) -> Outcome<Vec<(String, Result<Node>)>> {
    let open = |path: &str| Node::open(top.store(), path);
    let mut all = vec![(String::new(), open(top.path()))];
    if let Node::Group(group) = top {
        for child in group.nodes(depth)? {
            let node = open(&format!("{}/{}", group.path(), child.name));
            all.push((child.name, node));
        }
    }
    Ok(all)
}

/// Lengths that came from the command line.
pub fn lengths(option: &str, list: &[i64]) -> Outcome<Vec<u64>> {
    let length = |&n: &i64| u64::try_from(n).map_err(|_| Failure::Error(format!("--{option}: found {n}, expected at least 0")));
    list.iter().map(length).collect()
}
