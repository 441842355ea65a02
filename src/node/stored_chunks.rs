//! The chunks of an array that are stored, found by listing; a file or folder in the place of the other is told, and what is beside them.

use super::dead_links::DeadLinks;
use super::state::ArrayState;
use crate::error::{Error, Result, err};
use crate::grid::key::KeyEncoding;
use crate::limits::{Dims, push};
use crate::platform::libc;
use crate::store::{Listing, SharedStore, StorageExt};

/// What a listing has where chunks are.
pub(super) enum ListedPlace {
    /// A chunk inside of the array's shape: its key and its index.
    Chunk(String, Dims),
    /// A file where chunks have a folder, a folder at a chunk's key, or what is neither.
    Misplaced(Error),
    /// A link to nothing at the key of a chunk, or in the place of a folder of chunks: these read as if they were not stored.
    DeadLink(String),
    /// What is neither a chunk, inside of the array's shape or beyond it, nor leads to one: a key, or a folder with a slash behind its name. Not in
    /// each store is a folder told once.
    Other(String),
}

/// Calls `each` with the key and the index of every chunk of the array in `store` that is inside of its shape. In a folder, a file where
/// chunks have a folder, a folder at a chunk's key, and a pipe or the like, or a link in a circle, at either, are errors, as they are when the chunk is read: they
/// are no missing chunks.
pub(super) fn each_chunk(store: &SharedStore, array: &ArrayState, each: &mut dyn FnMut(&str, &Dims) -> Result<()>) -> Result<()> {
    each_place(store, &Places::new(array), None, &mut |place| match place {
        ListedPlace::Chunk(key, index) => each(&key, &index),
        ListedPlace::Misplaced(e) => Err(e),
        ListedPlace::DeadLink(_) | ListedPlace::Other(_) => Ok(()),
    })
}

/// As [`each_chunk`] for copies: at the end, links to nothing in the place of chunks are an error, too. What they lead to may be elsewhere, as files that
/// git-annex has not fetched; a copy would have the fill value there for good.
pub(super) fn each_chunk_to_copy(store: &SharedStore, array: &ArrayState, each: &mut dyn FnMut(&str, &Dims) -> Result<()>) -> Result<()> {
    let mut dead = DeadLinks::default();
    each_place(store, &Places::new(array), None, &mut |place| match place {
        ListedPlace::Chunk(key, index) => each(&key, &index),
        ListedPlace::Misplaced(e) => Err(e),
        ListedPlace::DeadLink(key) => {
            dead.add(key);
            Ok(())
        }
        ListedPlace::Other(_) => Ok(()),
    })?;
    dead.refuse("chunks", "where the fill value is to be copied")
}

/// Calls `each` with all that a listing has where an array's chunks are. `listed` is what is in the folder of that name, if it was listed already.
pub(super) fn each_place(
    store: &SharedStore,
    places: &Places,
    listed: Option<(String, Listing)>,
    each: &mut dyn FnMut(ListedPlace) -> Result<()>,
) -> Result<()> {
    if store.files().is_none() {
        return store.list(places.folder(), &mut |key| match places.index(key)? {
            Some(index) if places.is_inside(&index) => each(ListedPlace::Chunk(key.to_string(), index)),
            Some(_) => Ok(()),
            None => each(ListedPlace::Other(places.other(key).to_string())),
        });
    }
    let misplaced = |e: Error, key: String| ListedPlace::Misplaced(e.at_key(key));
    let mut folders = vec![places.folder().to_string()];
    let mut listed = listed.filter(|(folder, _)| folder == places.folder());
    while let Some(folder) = folders.pop() {
        let listing = listed.take().map_or_else(|| store.list_dir(&folder), |(_, listing)| Ok(listing))?;
        for key in listing.keys.iter().map(|name| format!("{folder}{name}")) {
            if let Some(index) = places.chunk(&key)? {
                each(ListedPlace::Chunk(key, index))?;
            } else if places.needs_folder(&key) {
                each(misplaced(err!(Io, "found a file, expected a folder of chunks").with_errno(libc::ENOTDIR), key))?;
            } else if !places.is_outside(&key)? {
                each(ListedPlace::Other(key))?;
            }
        }
        for key in listing.prefixes.iter().map(|name| format!("{folder}{name}")) {
            if places.chunk(&key)?.is_some() {
                each(misplaced(err!(Io, "found a folder, expected the file of a chunk").with_errno(libc::EISDIR), key))?;
            } else if places.leads_to_chunks(&key) {
                push(&mut folders, format!("{key}/"))?;
            } else if !places.leads_anywhere(&key) {
                each(ListedPlace::Other(format!("{key}/")))?;
            }
        }
        for key in listing.others.iter().map(|name| format!("{folder}{name}")) {
            if places.is_among_chunks(&key)? {
                each(misplaced(err!(Io, "found neither a file nor a folder, expected chunks"), key))?;
            }
        }
        for key in listing.dead_links.iter().map(|name| format!("{folder}{name}")) {
            if places.is_among_chunks(&key)? {
                each(ListedPlace::DeadLink(key))?;
            }
        }
    }
    Ok(())
}

/// Which keys are chunks of an array, or lead to them.
pub(super) struct Places {
    /// In front of every chunk's key.
    prefix: String,
    keys: KeyEncoding,
    /// How many chunks there are along each dimension.
    pub counts: Dims,
}

impl Places {
    pub fn new(array: &ArrayState) -> Places {
        let (prefix, keys) = array.chunks.clone();
        Places { prefix, keys, counts: array.meta.grid.counts(&array.meta.shape).into_iter().collect() }
    }

    /// The folder that all chunks are below.
    fn folder(&self) -> &str {
        &self.prefix[..self.prefix.rfind('/').map_or(0, |at| at + 1)]
    }

    /// The index in a key, inside of the array's shape or beyond it.
    fn index(&self, key: &str) -> Result<Option<Dims>> {
        let Some(tail) = key.strip_prefix(self.prefix.as_str()) else { return Ok(None) };
        self.keys.parse(tail, self.counts.len()).map_err(|e| e.at_key(key))
    }

    fn is_inside(&self, index: &[u64]) -> bool {
        index.iter().zip(&self.counts).all(|(i, n)| i < n)
    }

    /// The index of the chunk with this key, inside of the array's shape.
    pub fn chunk(&self, key: &str) -> Result<Option<Dims>> {
        Ok(self.index(key)?.filter(|index| self.is_inside(index)))
    }

    /// Whether this is the key of a chunk inside of the array's shape, or of what has to lead to such chunks.
    pub fn is_among_chunks(&self, key: &str) -> Result<bool> {
        Ok(self.chunk(key)?.is_some() || self.needs_folder(key))
    }

    /// Whether chunks inside of the array's shape have keys that go on behind this one and a slash: a folder is to be there. Of a registered
    /// encoding only the keys of chunks are known.
    fn needs_folder(&self, key: &str) -> bool {
        !matches!(self.keys, KeyEncoding::Registered(_)) && self.leads_to_chunks(key)
    }

    /// Whether this is the key of a chunk beyond the array's shape.
    pub fn is_outside(&self, key: &str) -> Result<bool> {
        Ok(self.index(key)?.is_some_and(|index| !self.is_inside(&index)))
    }

    /// Whether chunks, inside of the array's shape or beyond it, may have keys that go on behind this one and a slash.
    fn leads_anywhere(&self, key: &str) -> bool {
        key.strip_prefix(self.prefix.as_str()).is_some_and(|tail| self.keys.parse_folder(tail, self.counts.len()).is_some())
    }

    /// The outermost folder of a key in which no chunks are, with a slash; else the key, which is no chunk's.
    fn other<'k>(&self, key: &'k str) -> &'k str {
        let mut ends = key.match_indices('/').map(|(at, _)| at).filter(|&at| at >= self.folder().len());
        ends.find(|&at| !self.leads_anywhere(&key[..at])).map_or(key, |at| &key[..=at])
    }

    /// Whether chunks inside of the array's shape may have keys that go on behind this one and a slash.
    fn leads_to_chunks(&self, key: &str) -> bool {
        match key.strip_prefix(self.prefix.as_str()) {
            Some(tail) => self.keys.parse_folder(tail, self.counts.len()).is_some_and(|index| self.is_inside(&index)),
            None => self.prefix.strip_prefix(key).is_some_and(|rest| rest.starts_with('/')),
        }
    }
}
