//! `ozarr ls`: the nodes directly below a group.

use crate::failure::{Outcome, one_line};
use crate::output::{or_unread, print};
use crate::place::{Place, Unread, by_documents};
use clap::Args;
use ozarr::node::{Mode, Value, json};

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
        let group = by_documents(self.place.group(Mode::Read)?);
        let mut unread = Unread::default();
        let children = group.describe_nodes(1, &mut |name, node| match node {
            Ok(Some(array)) => array.describe(),
            Ok(None) => "group".into(),
            Err(e) => {
                unread.count(name, &e);
                format!("unreadable: {}", one_line(&e.to_string()))
            }
        })?;
        let all = children.len();
        let text = if self.json {
            let names = children.into_iter().map(|(name, _)| Value::from(name)).collect();
            format!("{}\n", json::to_text(&Value::Array(names)))
        } else {
            lines(&children)
        };
        or_unread(print(&text))?;
        unread.end(all)
    }
}

/// A line for each child.
fn lines(children: &[(String, String)]) -> String {
    let width = children.iter().map(|(name, _)| one_line(name).chars().count()).max().unwrap_or(0);
    children.iter().map(|(name, what)| format!("{:width$}  {what}\n", one_line(name))).collect()
}
