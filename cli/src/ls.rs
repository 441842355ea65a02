//! `ozarr ls`: the nodes directly below a group.

use crate::failure::{Failure, Outcome, one_line};
use crate::output::{line, or_unread, print};
use crate::place::{Place, is_of_stored};
use clap::Args;
use ozarr::error::Result;
use ozarr::limits;
use ozarr::node::{Group, Mode, Node, Value, json};

/// List the nodes directly below a group
#[derive(Args)]
pub struct Ls {
    #[command(flatten)]
    place: Place,
    /// A JSON list of the names
    #[arg(long)]
    json: bool,
}

impl Ls {
    pub fn run(&self) -> Outcome {
        let group = self.place.group(Mode::Read)?;
        let children = group.children()?;
        if self.json {
            let names = children.into_iter().map(|child| Value::from(child.name)).collect();
            return line(&json::to_text(&Value::Array(names)));
        }
        let width = children.iter().map(|child| one_line(&child.name).chars().count()).max().unwrap_or(0);
        let (mut text, mut unread) = (String::new(), Vec::new());
        for child in &children {
            let found = match child.error() {
                None => what(&group, &child.name)?,
                Some(e) => Err(e.clone()),
            };
            let what = found.unwrap_or_else(|e| {
                unread.extend((!is_of_stored(&e)).then_some(&child.name));
                format!("unreadable: {}", one_line(&e.to_string()))
            });
            text.push_str(&format!("{:width$}  {what}\n", one_line(&child.name)));
        }
        or_unread(print(&text))?;
        match unread.first() {
            None => Ok(()),
            Some(first) => Err(Failure::Error(format!("{} of {} nodes cannot be read, {first:?} first", unread.len(), children.len()))),
        }
    }
}

/// What a node is, or why it cannot be opened; an error where memory has ended.
fn what(group: &Group, name: &str) -> Result<Result<String>> {
    limits::check_memory()?;
    let node = limits::certain(Node::open(group.store(), &format!("{}/{name}", group.path())))?;
    Ok(node.map(|node| match node {
        Node::Array(array) => array.describe(),
        Node::Group(_) => "group".into(),
    }))
}
