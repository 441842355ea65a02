//! An open node of either kind.

use super::stored::StoredDocument;
use super::{Array, Attributes, Group, NodeKind, Store, lookup, path};
use crate::error::Result;
use crate::metadata::{Dialect, Format};

/// An open node of either kind.
pub enum Node {
    /// An array.
    Array(Array),
    /// A group.
    Group(Group),
}

/// What a method gives that arrays and groups both have.
macro_rules! either {
    ($node:ident.$method:ident()) => {
        match $node {
            Node::Array(array) => array.$method(),
            Node::Group(group) => group.$method(),
        }
    };
}

impl Node {
    /// Opens the node at `path`, whatever its kind.
    pub fn open(store: &Store, path: &str) -> Result<Node> {
        let path = path::normalize(path)?;
        let found = lookup::require(store, &path, NodeKind::None)?;
        Node::from_stored(store, path, found)
    }

    /// Makes the node of a document that was found.
    pub(super) fn from_stored(store: &Store, path: String, found: StoredDocument) -> Result<Node> {
        if found.kind == NodeKind::Array {
            Array::from_stored(store, path, found).map(Node::Array)
        } else {
            Group::from_stored(store, path, found).map(Node::Group)
        }
    }

    /// The attributes.
    pub fn attributes(&self) -> &Attributes {
        either!(self.attributes())
    }

    /// The path in the store; empty for the root.
    pub fn path(&self) -> &str {
        either!(self.path())
    }

    /// The version of the document.
    pub fn format(&self) -> Format {
        either!(self.format())
    }

    /// Of which draft of version 3 the node is, if of any.
    pub fn dialect(&self) -> Dialect {
        either!(self.dialect())
    }

    /// The document as JSON, with the attributes as this handle knows them.
    pub fn metadata_json(&self) -> Result<String> {
        either!(self.metadata_json())
    }

    /// The metadata as bytes that [`Node::import`] reads; of a group with those of everything below it.
    pub fn export(&self) -> Result<Vec<u8>> {
        either!(self.export())
    }

    /// Reads the documents again: the handle knows what they say now.
    pub fn refresh(&self) -> Result<()> {
        either!(self.refresh())
    }

    /// Stores what waits to be written, and makes durable what was written, as far as the store's mode promises it.
    pub fn flush(&self) -> Result<()> {
        either!(self.flush())
    }

    /// The store.
    pub fn store(&self) -> &Store {
        either!(self.store())
    }
}
