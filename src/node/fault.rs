//! What verifying finds: the kinds of faults, and a fault; and what can be made of a broken archive.

use crate::counting::{self, Counting};
use crate::error::{Error, ErrorKind, Result};
use crate::store::zip;
use std::path::Path;

pub use crate::store::zip::repair::Repaired;

/// Makes an archive of what is whole in a zip file whose writer died; one that can be read is left as it is.
pub fn repair_zip(path: &str) -> Result<Repaired> {
    zip::repair::repair(Path::new(path))
}

/// What a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A document, or a chunk, is not what its codecs or the specification make: cut, of a wrong length, with a wrong checksum.
    Damaged,
    /// The system or the server does not give an object, or a file and a folder are in each other's place.
    Unreadable,
    /// An array has a codec, a data type or an extension that this library lacks: its chunks cannot be looked at.
    Unsupported,
    /// A chunk beyond the array's shape: it shows when the array grows.
    Outside,
    /// A key that is neither a document nor a chunk of a node.
    Foreign,
    /// A temporary file that a writer has left, or has yet to rename; what a call that was interrupted has left to go on with.
    Temporary,
    /// Consolidated metadata that say something else than the documents.
    Stale,
}

impl FaultKind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Damaged => "damaged",
            FaultKind::Unreadable => "unreadable",
            FaultKind::Unsupported => "unsupported",
            FaultKind::Outside => "outside",
            FaultKind::Foreign => "foreign",
            FaultKind::Temporary => "temporary",
            FaultKind::Stale => "stale",
        }
    }

    /// What an error says of the object that it was met at.
    fn of(e: &Error) -> FaultKind {
        match e.kind() {
            _ if e.os_errno() != 0 => FaultKind::Unreadable,
            ErrorKind::Unsupported | ErrorKind::Extension => FaultKind::Unsupported,
            ErrorKind::Io | ErrorKind::Permission | ErrorKind::Network | ErrorKind::Timeout | ErrorKind::Throttled => FaultKind::Unreadable,
            _ => FaultKind::Damaged,
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What it is.
    pub kind: FaultKind,
    /// The key, or the path of the node.
    pub key: String,
    /// What was found there.
    pub message: String,
    /// How many bytes are stored there, where that is known.
    pub bytes: Option<u64>,
    /// Whether it was mended.
    pub repaired: bool,
}

impl Fault {
    pub(super) fn new(kind: FaultKind, key: &str, message: &str) -> Fault {
        Fault { kind, key: key.to_string(), message: message.to_string(), bytes: None, repaired: false }
    }

    /// The fault that an error tells of, which was met at `key` or at its own; the error itself where it is about this process.
    pub(super) fn of(e: Error, key: &str) -> Result<Fault> {
        match e.kind() {
            ErrorKind::NoMemory | ErrorKind::TooManyFiles | ErrorKind::Cancelled => Err(e),
            _ => {
                let field = e.field().map(|field| format!("{field}: ")).unwrap_or_default();
                let message = counting::render(&format!("{field}{}", e.message()), Counting::C).into_owned();
                Ok(Fault::new(FaultKind::of(&e), e.key().unwrap_or(key), &message))
            }
        }
    }

    /// Mends it, or says why that failed.
    pub(super) fn mend(&mut self, mend: impl FnOnce() -> Result<()>) -> Result<()> {
        match mend() {
            Ok(()) => self.repaired = true,
            Err(e) => self.message += &format!("; it could not be mended: {}", Fault::of(e, &self.key)?.message),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::err;

    #[test]
    fn messages_name_the_field_and_count_as_c_does() {
        let e = err!(Metadata, "found {}, expected {}", counting::shape(&[2, 3]), counting::index(&[0]))
            .at_field("shape")
            .at_key("a/zarr.json");
        let fault = Fault::of(e, "a").unwrap();
        assert_eq!((fault.key.as_str(), fault.message.as_str()), ("a/zarr.json", "shape: found [2, 3], expected [0]"));
        assert_eq!(Fault::of(err!(Chunk, "cut"), "a/c/0").unwrap().message, "cut");
    }
}
