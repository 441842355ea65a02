//! `ozarr tree`: a group and all below it.

use crate::failure::{Outcome, one_line};
use crate::output::{line, print};
use crate::place::Place;
use clap::Args;
use ozarr::node::{Mode, Node};

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
            Node::Array(array) => line(&format!("{}  {}", one_line(&name), array.describe())),
            Node::Group(group) => print(&format!("{}\n{}", one_line(&name), group.tree(self.depth.unwrap_or(usize::MAX))?)),
        }
    }
}
