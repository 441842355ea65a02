//! `ozarr tree`: a group and all below it.

use crate::failure::{Outcome, one_line};
use crate::output::{line, object, or_unread, print};
use crate::place::{Place, Unread, below};
use clap::Args;
use ozarr::error::Result;
use ozarr::limits;
use ozarr::node::{Mode, Node, Value, json};

/// Show a group with all below it
#[derive(Args)]
pub struct Tree {
    #[command(flatten)]
    place: Place,
    /// How many levels to show
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// A JSON list of an object for each node
    #[arg(long)]
    json: bool,
}

impl Tree {
    pub fn run(&self) -> Outcome {
        let (name, depth, mut unread) = (self.place.name(), self.depth.unwrap_or(usize::MAX), Unread::default());
        let node = self.place.node(Mode::Read)?;
        if self.json {
            let all = below(&node, depth)?;
            let mut nodes = Vec::new();
            for (path, node) in all.each() {
                let node = limits::certain(node)?.inspect_err(|e| unread.count(path, e));
                nodes.push(describe(path, &node));
            }
            let shown = nodes.len();
            or_unread(line(&json::to_text(&nodes.into())))?;
            return unread.end(shown);
        }
        let group = match node {
            Node::Array(array) => return line(&format!("{}  {}", one_line(&name), array.describe())),
            Node::Group(group) => group,
        };
        let tree = group.tree_telling(depth, &mut |path, e| unread.count(path, e))?;
        or_unread(print(&format!("{}\n{tree}", one_line(&name))))?;
        // With the group itself.
        unread.end(1 + tree.lines().count())
    }
}

/// A node in JSON; its path is relative to the one that is shown.
fn describe(path: &str, node: &Result<Node>) -> Value {
    let path = ("path", path.into());
    match node {
        Ok(Node::Group(_)) => object([path, ("node_type", "group".into())]),
        Ok(Node::Array(array)) => object([
            path,
            ("node_type", "array".into()),
            ("shape", array.shape().to_vec().into()),
            ("chunks", array.chunks_json()),
            ("dtype", array.data_type().numpy().into()),
        ]),
        Err(e) => object([path, ("node_type", Value::Null), ("error", e.to_string().into())]),
    }
}
