//! Where keys are in a hierarchy that is verified.

use super::copied_documents::folder_of;
use super::document;
use super::verify_left::is_begun;
use crate::metadata::{v2, v3};
use std::collections::{HashMap, HashSet};

/// Where a key is in the hierarchy.
pub(super) enum KeyPlace {
    /// It is a document's.
    Document,
    /// It is a document's of a node that was not read.
    Stray,
    /// It is below the array of this number, maybe one of its chunks.
    Array(usize),
    /// It is below a node that cannot be read, maybe a chunk of the array of this number.
    Unknown(Option<usize>),
    Elsewhere,
}

/// What was read, but the arrays, and what could not be.
#[derive(Default)]
pub(super) struct Known {
    /// Groups whose documents were read.
    pub groups: HashSet<String>,
    /// Nodes that could not be read: what is below them may be theirs.
    pub unread: HashSet<String>,
}

impl Known {
    /// Where a key is in the hierarchy.
    pub fn place_of(&self, key: &str, numbers: &HashMap<&str, usize>) -> KeyPlace {
        let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
        let is_document = document::DOCUMENTS.contains(&name);
        // A checkpoint's document from before it was committed stays where nothing can be erased, or after a kill just then.
        if self.groups.contains(folder_of(key)) && (is_document || is_begun(name)) {
            return KeyPlace::Document;
        }
        match self.place_below(folder_of(key), numbers) {
            KeyPlace::Elsewhere if [v3::DOCUMENT, v2::ARRAY, v2::GROUP].contains(&name) => KeyPlace::Stray,
            _ if is_document => KeyPlace::Document,
            place => place,
        }
    }

    /// Where a key in a folder is that is no document's.
    fn place_below(&self, folder: &str, numbers: &HashMap<&str, usize>) -> KeyPlace {
        let mut above = Some(folder);
        while let Some(node) = above {
            let number = numbers.get(node).copied();
            if self.unread.contains(node) {
                return KeyPlace::Unknown(number);
            }
            if let Some(number) = number {
                return KeyPlace::Array(number);
            }
            above = (!node.is_empty()).then(|| folder_of(node));
        }
        KeyPlace::Elsewhere
    }
}
