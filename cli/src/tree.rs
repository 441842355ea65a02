//! `ozarr tree`: a group and all below it.

use crate::failure::{Outcome, one_line};
use crate::output::{line, object, print};
use crate::place::{Place, below};
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
        let name = self.place.name();
        let node = self.place.node(Mode::Read)?;
        if self.json {
            let all = below(&node, self.depth.unwrap_or(usize::MAX))?;
            let nodes: Result<Value> = all.each().map(|(path, node)| Ok(describe(path, &limits::certain(node)?))).collect();
            return line(&json::to_text(&nodes?));
        }
        match node {
            Node::Array(array) => line(&format!("{}  {}", one_line(&name), array.describe())),
            Node::Group(group) => print(&format!("{}\n{}", one_line(&name), group.tree(self.depth.unwrap_or(usize::MAX))?)),
        }
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
