//! The arguments that name a node, and opening it.

use crate::failure::{Failure, Outcome};
use clap::Args;
use ozarr::error::{Error, ErrorKind, Result};
use ozarr::limits;
use ozarr::node::shown_location as shown;
use ozarr::node::{Array, Context, Group, Log, Mode, Node, NodeKind, Settings, Store};

/// The most arrays that an error names.
const NAMED: usize = 20;

/// LOCATION and PATH.
#[derive(Args)]
pub struct Place {
    /// A store, or a node in it (`run.zarr`, `run.zarr/temperature`)
    pub location: String,
    /// The path of a node below LOCATION; `/` is LOCATION itself
    #[arg(default_value = "/", hide_default_value = true)]
    pub path: String,
}

/// The context of a command, with the log that `OZARR_LOG` asks for.
pub fn context() -> Context {
    context_with(false)
}

/// The same; with `non_finite` attributes may hold NaN and infinities.
pub fn context_with(non_finite: bool) -> Context {
    Context::default().with_settings(Settings { non_finite, log: Log::of_environment(), ..Settings::default() })
}

/// Opens the store of a location, and gives the path of the node in it that the location and `path` name together.
pub fn locate(location: &str, path: &str, mode: Mode) -> Outcome<(Store, String)> {
    let (store, node) = open(&context(), location, mode)?;
    Ok((store, format!("{node}/{path}")))
}

/// Opens the store of a location, and gives the path of the node in it.
pub fn open(context: &Context, location: &str, mode: Mode) -> Outcome<(Store, String)> {
    let in_memory = location.split_once(':').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("memory"));
    if in_memory && mode == Mode::ReadWrite {
        return Err(Failure::Error(format!(
            "{location} is in memory, which ends with the program: expected a folder, an archive or a URL"
        )));
    }
    Ok(Store::locate(context, location, mode)?)
}

impl Place {
    /// Opens the node, whatever it is.
    pub fn node(&self, mode: Mode) -> Outcome<Node> {
        let (store, path) = locate(&self.location, &self.path, mode)?;
        Ok(Node::open(&store, &path)?)
    }

    /// Opens the array.
    pub fn array(&self, mode: Mode) -> Outcome<Array> {
        let (store, path) = locate(&self.location, &self.path, mode)?;
        self.array_at(&store, &path)
    }

    /// Opens the array at the node's path in an open store; of a group the error names the arrays in it.
    pub fn array_at(&self, store: &Store, path: &str) -> Outcome<Array> {
        let group = match Node::open(store, path)? {
            Node::Array(array) => return Ok(array),
            Node::Group(group) => group,
        };
        let all = group.nodes(usize::MAX)?;
        let arrays: Vec<&str> = all.iter().filter(|c| c.kind() == NodeKind::Array).map(|c| c.name.as_str()).collect();
        let more = if arrays.len() > NAMED { ", .." } else { "" };
        let has = match arrays.is_empty() {
            true => "there is none in it".to_string(),
            false => format!("name one of its arrays: {}{more}", arrays[..arrays.len().min(NAMED)].join(", ")),
        };
        Err(Failure::Error(format!("{} is a group, not an array; {has}", self.name())))
    }

    /// Opens the group; of an array the error says so.
    pub fn group(&self, mode: Mode) -> Outcome<Group> {
        Ok(self.open_group(mode)?)
    }

    /// The same with the library's error.
    pub fn open_group(&self, mode: Mode) -> Result<Group> {
        let (store, node) = Store::locate(&context(), &self.location, mode)?;
        Group::open(&store, &format!("{node}/{}", self.path)).map_err(|e| match e.kind() {
            ErrorKind::NodeKind => {
                Error::new(ErrorKind::NodeKind, format!("{} is an array, not a group; name the group that it is in", self.name()))
            }
            _ => e,
        })
    }

    /// As the user named it, without credentials.
    pub fn name(&self) -> String {
        let (location, path) = (shown(&self.location), self.path.trim_matches('/'));
        if path.is_empty() { location } else { format!("{}/{path}", location.trim_end_matches('/')) }
    }
}

/// A node and all below it, each group before what is in it, by their paths relative to the node (whose own is empty). They are opened one by
/// one: open all at once they would need memory.
pub struct Below {
    store: Store,
    top: String,
    pub paths: Vec<String>,
}

/// Lists a node and all below it down to `depth` levels.
pub fn below(top: &Node, depth: usize) -> Outcome<Below> {
    let mut paths = vec![String::new()];
    if let Node::Group(group) = top {
        paths.extend(group.nodes(depth)?.into_iter().map(|child| child.name));
    }
    Ok(Below { store: top.store().clone(), top: top.path().to_string(), paths })
}

impl Below {
    /// Opens one of them, unless memory has ended.
    pub fn open(&self, path: &str) -> Result<Node> {
        limits::check_memory().and_then(|()| limits::check_reserve())?;
        Node::open(&self.store, &format!("{}/{path}", self.top))
    }

    /// All, with the errors of those that cannot be opened.
    pub fn each(&self) -> impl Iterator<Item = (&str, Result<Node>)> {
        self.paths.iter().map(|path| (path.as_str(), self.open(path)))
    }

    /// All, with the errors of those whose documents cannot be understood; the others are errors by themselves.
    pub fn each_readable(&self) -> impl Iterator<Item = Result<(&str, Result<Node>)>> {
        self.each().map(|(path, node)| Ok((path, understood(node)?)))
    }

    /// The bytes of all elements.
    pub fn element_bytes(&self) -> u64 {
        let bytes = |node| if let Ok(Node::Array(array)) = node { array.element_bytes().unwrap_or(0) } else { 0 };
        self.each().fold(0, |n: u64, (_, node)| n.saturating_add(bytes(node)))
    }
}

/// The group, whose nodes are shown by their own documents, whatever consolidated metadata say of them; but of a store that cannot list its keys.
pub fn by_documents(group: Group) -> Group {
    if group.store().capabilities().listable { group.by_documents() } else { group }
}

/// What came of an opening, unless its error says nothing of what is stored: a file or a server that cannot be read, memory that ends.
pub fn understood<T>(opened: Result<T>) -> Result<Result<T>> {
    match opened {
        Err(e) if !is_of_stored(&e) => Err(e),
        opened => Ok(opened),
    }
}

/// Says in the error of a copy to the place of a group what its name is in the group.
pub fn named_in_group(e: Error, source: &str, (dest, to, path): (&str, &Store, &str)) -> Error {
    let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    match e.kind() == ErrorKind::Exists && !name.is_empty() && to.node_kind(path).is_ok_and(|kind| kind == NodeKind::Group) {
        true => e.with_note(&format!(", and {}/{name} is a place in it", shown(dest).trim_end_matches('/'))),
        false => e,
    }
}

/// The nodes that a command shows, or leaves out, without having understood their documents.
#[derive(Default)]
pub struct Unread {
    first: Option<String>,
    count: usize,
}

impl Unread {
    /// Counts a node that could not be opened, unless it is gone since it was listed.
    pub fn count(&mut self, name: &str, e: &Error) {
        if e.kind() != ErrorKind::NotFound {
            self.first.get_or_insert_with(|| name.to_string());
            self.count += 1;
        }
    }

    /// Ends a command that has shown so many nodes.
    pub fn end(self, all: usize) -> Outcome {
        match self.first {
            None => Ok(()),
            Some(first) => Err(Failure::Error(format!("{} of {all} nodes cannot be read, {first:?} first", self.count))),
        }
    }
}

/// Whether an error says something of what is stored.
fn is_of_stored(e: &Error) -> bool {
    use ErrorKind::{Extension, Limit, Metadata, NodeKind, NotFound, Rank, Type, Unsupported};
    e.os_errno() == 0 && matches!(e.kind(), Extension | Limit | Metadata | NodeKind | NotFound | Rank | Type | Unsupported)
}

/// Lengths that came from the command line, none less than `least`.
pub fn lengths(option: &str, list: &[i64], least: u64) -> Outcome<Vec<u64>> {
    let wrong = |n: i64| Failure::Usage(format!("--{option}: found {n}, expected at least {least}"));
    let length = |&n: &i64| u64::try_from(n).ok().filter(|&length| length >= least).ok_or_else(|| wrong(n));
    list.iter().map(length).collect()
}
