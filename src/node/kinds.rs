//! Enums of the public interface: the mode of a store, what to do with a node that exists, the kinds of nodes.

use crate::error::{Result, bail};

/// What to do about a store that cannot be written.
pub const OPEN_FOR_READING: &str = "open it with mode \"r\"";

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
