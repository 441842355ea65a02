//! `ozarr ls`: the nodes directly below a group.

use crate::failure::{Outcome, one_line};
use crate::output::{or_unread, print};
use crate::place::{Place, Unread};
use clap::Args;
use ozarr::error::Result;
use ozarr::limits;
use ozarr::node::{Child, Group, Mode, Node, Value, json};

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
        let mut unread = Unread::default();
        let all = children.len();
        let text = if self.json {
            // Names alone are printed: no other request is made for them.
            children.iter().for_each(|child| child.error().into_iter().for_each(|e| unread.count(&child.name, e)));
            let names = children.into_iter().map(|child| Value::from(child.name)).collect();
            format!("{}\n", json::to_text(&Value::Array(names)))
        } else {
            lines(&group, &children, &mut unread)?
        };
        or_unread(print(&text))?;
        unread.end(all)
    }
}

/// A line for each child.
fn lines(group: &Group, children: &[Child], unread: &mut Unread) -> Outcome<String> {
    let width = children.iter().map(|child| one_line(&child.name).chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for child in children {
        let found = match child.error() {
            None => what(group, &child.name)?,
            Some(e) => Err(e.clone()),
        };
        let what = found.unwrap_or_else(|e| {
            unread.count(&child.name, &e);
            format!("unreadable: {}", one_line(&e.to_string()))
        });
        text.push_str(&format!("{:width$}  {what}\n", one_line(&child.name)));
    }
    Ok(text)
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
