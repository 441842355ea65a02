//! `ozarr ls`: the nodes directly below a group.

use crate::failure::{Outcome, one_line};
use crate::output::{or_unread, print};
use crate::place::{Place, Unread, by_documents, listed};
use clap::Args;
use ozarr::node::{Child, Group, Mode, Value, json};

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
        // Names alone are printed in JSON: no document is read for them where consolidated metadata have them.
        let group = if self.json { group } else { by_documents(group) };
        let children = group.children()?;
        let mut unread = Unread::default();
        let all = children.len();
        let text = if self.json {
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
        let what = match listed(group, child)? {
            Ok(Some(array)) => array.describe(),
            Ok(None) => "group".into(),
            Err(e) => {
                unread.count(&child.name, &e);
                format!("unreadable: {}", one_line(&e.to_string()))
            }
        };
        text.push_str(&format!("{:width$}  {what}\n", one_line(&child.name)));
    }
    Ok(text)
}
