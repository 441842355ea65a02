//! `ozarr attrs`: the attributes of an array or a group.

use crate::failure::{Failure, Outcome};
use crate::info::text_for_non_finite;
use crate::interrupt;
use crate::layout::json_or_string;
use crate::output::{line, tell};
use crate::place::{Place, context_with, locate};
use clap::{Args, Subcommand};
use ozarr::error::ErrorKind;
use ozarr::node::{Attributes, Mode, Node, Store, Value, json};

/// Show, set and remove attributes
#[derive(Args)]
pub struct Attrs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print all attributes, or one, as JSON
    #[command(override_usage = "ozarr attrs get <LOCATION> [PATH] [NAME]")]
    Get {
        /// A store, or a node in it
        location: String,
        /// PATH below it, and the NAME of an attribute. One word alone is a PATH if a node is there, else a NAME
        #[arg(value_name = "PATH NAME", num_args = 0..=2)]
        words: Vec<String>,
        /// What is printed is JSON in any case
        #[arg(long)]
        json: bool,
    },
    /// Set an attribute
    #[command(override_usage = "ozarr attrs set [--string | --non-finite] <LOCATION> [PATH] <NAME> <VALUE>")]
    Set {
        /// A store, or a node in it
        location: String,
        /// PATH below it, the NAME, and the VALUE: JSON; what is no JSON is a string
        #[arg(value_name = "PATH NAME VALUE", num_args = 2..=3, required = true, allow_negative_numbers = true)]
        words: Vec<String>,
        /// VALUE is a string, even if it is JSON
        #[arg(long)]
        string: bool,
        /// Bare NaN, Infinity and -Infinity in VALUE are numbers, as Python writes them; they are no JSON, and other programs may
        /// refuse to read them
        #[arg(long, conflicts_with = "string")]
        non_finite: bool,
        /// One JSON object: the node, the attribute and its value
        #[arg(long)]
        json: bool,
    },
    /// Remove an attribute
    #[command(override_usage = "ozarr attrs rm <LOCATION> [PATH] <NAME>")]
    Rm {
        /// A store, or a node in it
        location: String,
        /// PATH below it, and the NAME
        #[arg(value_name = "PATH NAME", num_args = 1..=2, required = true)]
        words: Vec<String>,
        /// One JSON object: the node and the attribute
        #[arg(long)]
        json: bool,
    },
}

impl Attrs {
    pub fn run(&self) -> Outcome {
        match &self.command {
            Command::Get { location, words, .. } => get(location, words),
            Command::Set { location, words, string, non_finite, json: as_json } => {
                let (path, name, value) = match words.as_slice() {
                    [name, value] => ("/", name, value),
                    [path, name, value] => (path.as_str(), name, value),
                    _ => return Err(Failure::Usage("expected LOCATION [PATH] NAME VALUE".into())),
                };
                let value = match value {
                    text if *string => json::to_compact(&Value::from(text.as_str())),
                    numbers if *non_finite && json::parse_given(numbers).is_ok() => numbers.clone(),
                    other => json_or_string(other),
                };
                let wrong = |e: ozarr::error::Error| Failure::from(e.at_field(name)).of_usage();
                let parsed = json::parse_allowed(&value, *non_finite).map_err(wrong)?;
                json::check_range(&parsed).map_err(wrong)?;
                let place = change(location, path, *non_finite, |attributes| attributes.set_json(name, &value))?;
                let value = text_for_non_finite(parsed);
                tell(*as_json, [("node", place.name().into()), ("set", name.as_str().into()), ("value", value)])
            }
            Command::Rm { location, words, json } => {
                let (path, name) = match words.as_slice() {
                    [name] => ("/", name),
                    [path, name] => (path.as_str(), name),
                    _ => return Err(Failure::Usage("expected LOCATION [PATH] NAME".into())),
                };
                let place = change(location, path, false, |attributes| attributes.erase(name))?;
                tell(*json, [("node", place.name().into()), ("removed", name.as_str().into())])
            }
        }
    }
}

fn of(node: &Node) -> &Attributes {
    match node {
        Node::Array(array) => array.attributes(),
        Node::Group(group) => group.attributes(),
    }
}

fn open(location: &str, path: &str, mode: Mode) -> Outcome<Node> {
    Place { location: location.into(), path: path.into() }.node(mode)
}

fn get(location: &str, words: &[String]) -> Outcome {
    let (node, name) = match words {
        [] => (open(location, "/", Mode::Read)?, None),
        [word] => {
            let (store, above) = locate(location, "/", Mode::Read)?;
            let node = Node::open(&store, &above);
            let below = if matches!(node, Ok(Node::Array(_))) { None } else { Some(Node::open(&store, &format!("{above}/{word}"))) };
            match below {
                None => (node?, Some(word)),
                // There is none, or none can have such a name.
                Some(Err(e)) if matches!(e.kind(), ErrorKind::Name | ErrorKind::NotFound | ErrorKind::Location | ErrorKind::Limit) => {
                    (node?, Some(word))
                }
                // Servers that list nothing for others say so of keys that are missing, too.
                Some(Err(e)) if e.kind() == ErrorKind::Permission && node.as_ref().is_ok_and(|node| of(node).get(word).is_ok()) => {
                    (node?, Some(word))
                }
                Some(below) => (below?, None),
            }
        }
        [path, name, ..] => (open(location, path, Mode::Read)?, Some(name)),
    };
    let value = match name {
        Some(name) => of(&node).get(name)?,
        None => Value::Object(of(&node).all()?),
    };
    line(&json::to_text(&text_for_non_finite(value)))
}

/// Changes attributes, and gives the node that they are of.
fn change(location: &str, path: &str, non_finite: bool, f: impl FnOnce(&Attributes) -> ozarr::error::Result<()>) -> Outcome<Place> {
    let (store, above) = Store::locate(&context_with(non_finite), location, Mode::ReadWrite)?;
    let node = Node::open(&store, &format!("{above}/{path}"))?;
    let _held = interrupt::hold(&store)?;
    f(of(&node))?;
    interrupt::close_changed(node.store(), "the attributes themselves are changed")?;
    Ok(Place { location: location.into(), path: path.into() })
}
