//! `ozarr tree`: a group and all below it.

use crate::failure::{Outcome, one_line};
use crate::output::{line, object, or_unread, print};
use crate::place::{Place, Unread, by_documents};
use clap::Args;
use ozarr::error::Result;
use ozarr::node::{Array, Mode, Node, Value, json};

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
        let node = match self.place.node(Mode::Read)? {
            Node::Group(group) => Node::Group(by_documents(group)),
            array => array,
        };
        if self.json {
            let own = if let Node::Array(array) = &node { Some(array.clone()) } else { None };
            let mut nodes = vec![describe("", &Ok(own))];
            if let Node::Group(group) = &node {
                let below = group.describe_nodes(depth, &mut |path, node| describe(path, &node.inspect_err(|e| unread.count(path, e))))?;
                nodes.extend(below.into_iter().map(|(_, what)| what));
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

/// A node in JSON, an array or a group; its path is relative to the one that is shown.
fn describe(path: &str, node: &Result<Option<Array>>) -> Value {
    let path = ("path", path.into());
    match node {
        Ok(None) => object([path, ("node_type", "group".into())]),
        Ok(Some(array)) => {
            let inner = array.inner_chunk_listed().map(|inner| ("inner_chunks", inner.to_vec().into()));
            let members = [path, ("node_type", "array".into()), ("shape", array.shape().to_vec().into()), ("chunks", array.chunks_json())];
            object(members.into_iter().chain(inner).chain([("dtype", array.data_type().numpy().into())]))
        }
        Err(e) => object([path, ("node_type", Value::Null), ("error", e.to_string().into())]),
    }
}
