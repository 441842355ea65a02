//! `ozarr ls`: the nodes directly below a group.

use crate::failure::{Outcome, one_line};
use crate::output::{line, print};
use crate::place::Place;
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
        let mut text = String::new();
        for child in &children {
            let what = match child.error() {
                None => what(&group, &child.name)?,
                Some(e) => format!("unreadable: {}", one_line(&e.to_string())),
            };
            text.push_str(&format!("{:width$}  {what}\n", one_line(&child.name)));
        }
        print(&text)
    }
}

/// What a node is; an error where memory has ended.
fn what(group: &Group, name: &str) -> Result<String> {
    limits::check_memory()?;
    Ok(match limits::certain(Node::open(group.store(), &format!("{}/{name}", group.path())))? {
        Ok(Node::Array(array)) => array.describe(),
        Ok(Node::Group(_)) => "group".into(),
        Err(e) => format!("unreadable: {}", one_line(&e.to_string())),
    })
}
