//! Groups and arrays at paths in a store: opening, creating, changing, listing. The facade that `ffi` is written on.
//!
//! A node's documents are found by `document`, changed only under their lock after a fresh read, and published whole, so
//! that readers see old or new. `hierarchy` makes ancestors and keeps consolidated metadata right; [`spec`] says what to
//! create; the data themselves are the engine's.

mod appender;
pub mod array;
mod attr_values;
pub mod attrs;
pub mod buffer;
mod catalog;
mod chunk;
mod compression;
pub mod context;
pub mod conventions;
mod copy;
mod dimensions;
mod document;
mod draft;
mod export;
mod gather;
pub mod group;
mod growth;
mod hierarchy;
mod info;
mod migrate;
pub mod path;
mod relist;
mod rename;
pub mod requests;
mod reshape;
mod resize;
pub mod spec;
pub mod store;
mod transfer;
mod transform;
mod usage;
pub mod variable;
mod walk;

pub use crate::codec::parse::has as has_codec;
pub use crate::codec::registered as registered_codec;
pub use crate::dtype::foreign as foreign_type;
pub use appender::Appender;
pub use array::Array;
pub use attrs::{Attributes, JsonKind};
pub use chunk::{ArrayShardWriter, ChunkPlace, Chunks};
pub use compression::{Shuffle, Zfp};
pub use context::{Context, Level, Log, Settings};
pub use conventions::{Axis, Calendar, Dataset, Level as ImageLevel, Multiscale, NcArray, NcDimension, NcType, TimeUnits, Variable};
pub use dimensions::{Dimension, Dimensions};
pub use group::{Child, Group};
pub use migrate::Migrated;
pub use reshape::{Reshaped, Reshaping};
pub use spec::Spec;
pub use store::{Nczarr, Options, Repaired, Store, repair_zip};
pub use transform::{Member, Transformer, register_member, register_transformer, unregister_member, unregister_transformer};
pub use usage::Usage;

// The plain values that the facade's signatures speak of.
pub use crate::engine::explain::Explanation;
pub use crate::engine::pending::wait_any;
pub use crate::engine::stats::{Counters, Stats};
pub use crate::engine::{Budget, ChunkCache, OnDone, Pending, Progress, RequestOptions};
pub use crate::grid::Grid;
pub use crate::grid::key::{KeyEncoding, Separator};
pub use crate::grid::own as own_keys;
pub use crate::metadata::{Dialect, Format, Map, Order, Value, json};
pub use crate::store::local::SyncMode;
pub use crate::store::registered;

use crate::error::{Result, bail};

/// Whether a store may be changed through its handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reading only: every change is an error of kind `ReadOnly`.
    Read,
    /// Reading and writing.
    ReadWrite,
}

impl Mode {
    /// `"r"` or `"r+"`.
    pub fn parse(text: &str) -> Result<Mode> {
        match text {
            "r" => Ok(Mode::Read),
            "r+" => Ok(Mode::ReadWrite),
            other => bail!(Argument, "found mode {other:?}, expected \"r\" or \"r+\""),
        }
    }
}

/// What to do if a node already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// An error of kind `Exists`.
    New,
    /// Erase it with all below it, and create.
    Overwrite,
    /// Open it if it is as it would be created; otherwise an error of kind `Exists` that names the first difference.
    OpenIfSame,
}

/// The kind of node at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Nothing.
    None,
    /// An array.
    Array,
    /// A group.
    Group,
    /// A node whose document cannot be understood.
    Unknown,
}

/// An open node of either kind.
pub enum Node {
    /// An array.
    Array(Array),
    /// A group.
    Group(Group),
}

impl Node {
    /// Opens the node at `path`, whatever its kind.
    pub fn open(store: &Store, path: &str) -> Result<Node> {
        let path = path::normalize(path)?;
        let found = document::require(store, &path, NodeKind::None)?;
        if found.kind == NodeKind::Array {
            Array::from_stored(store, path, found).map(Node::Array)
        } else {
            Group::from_stored(store, path, found).map(Node::Group)
        }
    }

    /// The attributes.
    pub fn attributes(&self) -> &Attributes {
        match self {
            Node::Array(array) => array.attributes(),
            Node::Group(group) => group.attributes(),
        }
    }

    /// The path in the store; empty for the root.
    pub fn path(&self) -> &str {
        match self {
            Node::Array(array) => array.path(),
            Node::Group(group) => group.path(),
        }
    }

    /// The version of the document.
    pub fn format(&self) -> Format {
        match self {
            Node::Array(array) => array.format(),
            Node::Group(group) => group.format(),
        }
    }

    /// Of which draft of version 3 the node is, if of any.
    pub fn dialect(&self) -> Dialect {
        match self {
            Node::Array(array) => array.dialect(),
            Node::Group(group) => group.dialect(),
        }
    }

    /// The document as JSON, with the attributes as this handle knows them.
    pub fn metadata_json(&self) -> String {
        match self {
            Node::Array(array) => array.metadata_json(),
            Node::Group(group) => group.metadata_json(),
        }
    }

    /// The metadata as bytes that [`Node::import`] reads; of a group with those of everything below it.
    pub fn export(&self) -> Result<Vec<u8>> {
        match self {
            Node::Array(array) => array.export(),
            Node::Group(group) => group.export(),
        }
    }

    /// Reads the documents again: the handle knows what they say now.
    pub fn refresh(&self) -> Result<()> {
        match self {
            Node::Array(array) => array.refresh(),
            Node::Group(group) => group.refresh(),
        }
    }

    /// Stores what waits to be written, and makes durable what was written, as far as the store's mode promises it.
    pub fn flush(&self) -> Result<()> {
        match self {
            Node::Array(array) => array.flush(),
            Node::Group(group) => group.flush(),
        }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        match self {
            Node::Array(array) => array.store(),
            Node::Group(group) => group.store(),
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_growth;
#[cfg(test)]
mod tests_hier;
#[cfg(test)]
mod tests_odd;
#[cfg(test)]
mod tests_picks;
