//! `ozarr tree`: a group and all below it.

use crate::failure::Outcome;
use crate::ls::describe;
use crate::output::{line, one_line};
use crate::place::Place;
use clap::Args;
use ozarr::node::{Group, Mode, Node, NodeKind};

/// Show a group with all below it
#[derive(Args)]
pub struct Tree {
    #[command(flatten)]
    place: Place,
    /// How many levels to show
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
}

impl Tree {
    pub fn run(&self) -> Outcome {
        let name = self.place.name();
        match self.place.node(Mode::Read)? {
            Node::Array(array) => line(&format!("{}  {}", one_line(&name), describe(&array))),
            Node::Group(group) => {
                line(&one_line(&name))?;
                below(&group, "", self.depth.unwrap_or(usize::MAX))
            }
        }
    }
}

/// The nodes below a group, each line behind `margin`.
fn below(group: &Group, margin: &str, depth: usize) -> Outcome {
    if depth == 0 {
        return Ok(());
    }
    let children = group.children()?;
    for (i, child) in children.iter().enumerate() {
        let (branch, further) = if i + 1 < children.len() { ("├── ", "│   ") } else { ("└── ", "    ") };
        let name = one_line(&child.name);
        let path = format!("{}/{}", group.path(), child.name);
        match (child.kind, &child.error) {
            (NodeKind::Array | NodeKind::Group, None) => match Node::open(group.store(), &path) {
                Ok(Node::Array(array)) => line(&format!("{margin}{branch}{name}  {}", describe(&array)))?,
                Ok(Node::Group(child)) => {
                    line(&format!("{margin}{branch}{name}"))?;
                    below(&child, &format!("{margin}{further}"), depth - 1)?;
                }
                Err(e) => line(&format!("{margin}{branch}{name}  unreadable: {}", one_line(&e.to_string())))?,
            },
            (_, error) => {
                let why = error.as_ref().map(ToString::to_string).unwrap_or_default();
                line(&format!("{margin}{branch}{name}  unreadable: {}", one_line(&why)))?;
            }
        }
    }
    Ok(())
}
