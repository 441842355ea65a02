//! Giving a node another path in its store, with all below it.

use super::copy::CopyMode;
use super::lookup::{self, require};
use super::lost::Leaving;
use super::walk::{self, ListedGroup, Wanted};
use super::{Create, NodeKind, Store, document, groups_above, hierarchy, in_use, marker, overlap, path, place, transfer, upkeep};
use crate::error::{Error, ErrorKind, Result, err};
use crate::limits::extend;
use crate::metadata::{Format, Map, Value};

const HAS_NEW_NAME: &str = " (the node itself has its new name: not to be renamed again)";

/// What the marker says of a copy that is to take the node's place.
fn renamed(store: &Store, path: &str) -> String {
    format!("{}, renamed", place::source_of(store, path))
}

impl Store {
    /// Moves the node at `path`, with all below it, to `to_path`, which must be free, and makes missing groups above it. A folder is
    /// renamed at once; elsewhere the node's keys are copied, its document last, and then erased. Handles on the node and on those below it
    /// are to be closed before.
    ///
    /// Errors: `NotFound`, `Exists`; `Argument` if one of the places is inside the other; `Again` while a series of it is open (`in_use.rs`).
    pub fn rename_node(&self, path: &str, to_path: &str) -> Result<()> {
        let (path, to_path) = (path::normalize(path)?, hierarchy::new_path(self, to_path)?);
        let found = match require(self, &path, NodeKind::None) {
            Err(e) if e.kind() == ErrorKind::NotFound && self.has_new_name(&path, &to_path)? => return self.leave_old(&path, &to_path),
            // After a kill behind the move the node is where it was to go. The error is the one to tell.
            found => found.inspect_err(|_| drop(self.forget_begun(&path, &to_path).and_then(|()| upkeep::add_missed(self, &to_path))))?,
        };
        overlap::refuse((self, &path), (self, &to_path))?;
        overlap::refuse_case(self, &path, &to_path)?;
        self.check_erasable()?;
        in_use::refuse(self, &path)?;
        let mut changed = groups_above::ensure(self, &to_path, found.format)?;
        // What is stored later would be left where the node was.
        self.settle(&path);
        let mut untold = Vec::new();
        let moved = self.move_node((&path, &to_path), found.format, (&mut changed, &mut untold)).inspect_err(|_| {
            // A node that stays where it was is told of there again, now or when the store is flushed. The error is the one to tell.
            let _ = if untold.is_empty() { Ok(()) } else { upkeep::add_missed(self, &path) };
            for place in untold {
                changed.extend(transfer::at_and_below(self, &place));
            }
            upkeep::tell_later(self, &changed);
            let _ = upkeep::catch_up(self);
        });
        let copied = !moved.map_err(|e| self.or_renamed((&path, &to_path), e))?;
        if !copied {
            return Ok(());
        }
        self.leave_old(&path, &to_path)
    }

    /// Whether the node at `to_path` is the copy that a renaming which was interrupted has made of the one that was at `path` then.
    fn has_new_name(&self, path: &str, to_path: &str) -> Result<bool> {
        Ok(place::says_whole(self, to_path, &renamed(self, path))?.is_some() && lookup::is_there(self, to_path)?)
    }

    /// Erases the marker of a renaming that has ended, which came late from a process that was killed.
    fn forget_begun(&self, path: &str, to_path: &str) -> Result<()> {
        let is_late = place::is_begun_by(self, to_path, &renamed(self, path))? && lookup::is_there(self, to_path)?;
        if is_late { marker::erase(self, to_path, marker::COPY) } else { Ok(()) }
    }

    /// Says of an error because of what is at the new path where the node has left its old one: it may be the node itself, and is to be kept.
    fn or_renamed(&self, (path, to_path): (&str, &str), e: Error) -> Error {
        if e.kind() != ErrorKind::Exists || !matches!(lookup::is_there(self, path), Ok(false)) {
            return e;
        }
        let place = self.shared().describe();
        err!(
            Again,
            "{path} of {place} was renamed or erased by another process meanwhile: see what is at {to_path}, which may be that node"
        )
    }

    /// Says that what is at the new path is not what is at the old one.
    fn differ(&self, path: &str, to_path: &str) -> Error {
        let place = self.shared().describe();
        err!(
            Exists,
            "{path} and {to_path} of {place} differ since a renaming was interrupted, or another process renames it now: see which of them is whole before the other one is erased"
        )
    }

    /// Ends the renaming of a node that was copied. What fails or is killed on the way is completed by the same call, which the marker tells of the copy.
    fn leave_old(&self, path: &str, to_path: &str) -> Result<()> {
        let left = || -> Result<()> {
            // What is written from now on is not in the copy.
            let _leaving = Leaving::new(self, path);
            let was_erased = |marker: Map| marker.get("from").and_then(Value::as_str) == Some("");
            let is_left = lookup::is_there(self, path)? || marker::read(self, path, marker::COPY)?.is_some_and(was_erased);
            if is_left { self.erase_node(path) } else { Ok(()) }
        };
        let note = |e: Error, note: &str| {
            let message = e.message().replace(hierarchy::IS_GONE, "");
            e.with_message(message).with_note(note)
        };
        left().map_err(|e| note(e, " (the node itself has its new name: the same call erases what is left at the old one)"))?;
        marker::erase(self, to_path, marker::COPY).map_err(|e| note(e, HAS_NEW_NAME))
    }

    /// Copies a node to its new place, or finds it there, copied by a call that was interrupted: it goes from its old one next, so that must have nothing else.
    fn copy_renamed(&self, path: &str, to_path: &str) -> Result<()> {
        let mode = CopyMode { source: &renamed(self, path), how: Create::New, verify: false, keeps_marker: true };
        self.copy_marked(path, (self, to_path), mode, &mut |_, _| Ok(())).map_err(|e| {
            // The node stays where it was alone, or the same call goes on: of another process it may be doing so, where the store has no locks.
            let (swaps, is_copied) = (self.shared().capabilities().swaps, matches!(self.has_new_name(path, to_path), Ok(true)));
            if swaps && is_copied && e.kind() == ErrorKind::Exists {
                return self.differ(path, to_path);
            }
            let back = || hierarchy::erase_around(self, to_path, marker::COPY).and_then(|()| marker::erase(self, to_path, marker::COPY));
            if swaps || !is_copied || back().is_err() {
                return hierarchy::advise(e, "erase it, or choose another path");
            }
            let message = e.message().replace(place::IS_THERE, "");
            e.with_message(message)
        })
    }

    /// Errors: `Exists` where something is at the new place but a copy that an interrupted call has made. Returns whether there is one.
    fn refuse_other(&self, path: &str, to_path: &str) -> Result<bool> {
        let Err(e) = hierarchy::refuse_existing(self, to_path) else { return Ok(false) };
        if e.kind() != ErrorKind::Exists || !self.has_new_name(path, to_path)? {
            return Err(hierarchy::advise(e, "erase it, or choose another path"));
        }
        if !self.is_copied_to(path, (self, to_path))? {
            return Err(self.differ(path, to_path));
        }
        Ok(true)
    }

    /// Moves the keys of a node, or copies them where they cannot be moved; returns whether they were moved. `changed` are groups that were made,
    /// `untold` the places of which consolidated metadata may not say any more, or not yet, what is there.
    fn move_node(
        &self,
        (path, to_path): (&str, &str),
        format: Format,
        (changed, untold): (&mut Vec<String>, &mut Vec<String>),
    ) -> Result<bool> {
        let moved = {
            let _lock = document::lock_place(self, to_path)?;
            if self.refuse_other(path, to_path)? {
                upkeep::after_change(self, changed, None)?;
                return upkeep::add_missed(self, to_path).map(|()| false);
            }
            // What waits for a flush is told where the node is now, for it is not there then.
            upkeep::catch_up(self)?;
            // From here on nothing says any more that it is where it was.
            untold.push(path.to_string());
            upkeep::after_change(self, &[], Some(path))?;
            // What is written from now on would be left in a folder of the old name.
            let leaving = Leaving::new(self, path);
            untold.push(to_path.to_string());
            let moved = self.shared().rename_prefix(&path::prefix(path), &path::prefix(to_path));
            if !matches!(moved, Ok(false)) {
                leaving.end(moved.is_ok());
            }
            moved?
        };
        if !moved {
            // What is made there is told of by the copy.
            untold.pop();
            upkeep::after_change(self, changed, None)?;
            // A copy would stay beside what may not be erased.
            self.shared().check_erase(&path::prefix(path))?;
            self.copy_renamed(path, to_path)?;
            // What cannot be told now waits for a flush.
            let _ = upkeep::catch_up(self);
            return Ok(false);
        }
        let restored = groups_above::restore(self, to_path, format, changed);
        changed.push(to_path.to_string());
        let told = restored.and_then(|()| self.tell_moved((path, to_path), format, changed));
        told.map(|()| true).map_err(|e| e.with_note(HAS_NEW_NAME))
    }

    /// Says in consolidated metadata where a node is now, which `changed` then has with all below it.
    fn tell_moved(&self, (path, to_path): (&str, &str), format: Format, changed: &mut Vec<String>) -> Result<()> {
        let top = ListedGroup::new(to_path, format, None).fresh();
        let below = walk::walk(self, top, Wanted { depth: usize::MAX, attributes: false, format: None, checked: true, unlisted: false })?;
        extend(changed, below.into_iter().map(|found| found.path))?;
        if format == Format::V2 {
            changed.iter().map(String::as_str).chain([path]).for_each(|path| hierarchy::note_documents(self, path));
        }
        // Another program that consolidated all before the renaming has named it again; or it has made another node there since, which is named.
        upkeep::after_change(self, &[], Some(path)).and_then(|()| upkeep::add_missed(self, path))?;
        upkeep::after_copy(self, changed, None)?;
        // Nothing tells any more of the place where it was, and a flush may never come.
        upkeep::catch_up(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::dtype::DataType;
    use crate::error::ErrorKind;
    use crate::metadata::Format;
    use crate::node::store_options::{Consolidate, Options};
    use crate::node::tests::{read_all, write_all};
    use crate::node::{Array, Context, Create, Group, Mode, NodeKind, Spec, Store};
    use crate::store::suite::TestFolder;

    /// Readers would find it by neither name until the flush, and for good after a kill.
    #[test]
    fn a_renamed_node_is_listed_at_once_also_where_other_changes_wait_for_a_flush() {
        let folder = TestFolder::new("rename-listed");
        let local = Store::open(&Context::default(), folder.to_str().unwrap(), Mode::ReadWrite, &[("consolidate", "flush")]).unwrap();
        let flush = Options { consolidate: Consolidate::Flush, ..Options::default() };
        let memory = Store::new(&Context::default(), Store::memory(&Context::default()).shared().clone(), Mode::ReadWrite, flush);
        for (store, format) in [&local, &memory].into_iter().flat_map(|store| [(store, Format::V2), (store, Format::V3)]) {
            let root = Group::create(store, "", Some(format), Create::Overwrite).unwrap();
            let mut spec = Spec::new(DataType::Int32, &[2]).unwrap();
            spec.set_format(format).unwrap();
            Array::create(store, "g/a", &spec, Create::New).unwrap();
            root.consolidate().unwrap();
            for (path, to_path) in [("g/a", "g/b"), ("g", "h"), ("h/b", "c")] {
                store.rename_node(path, to_path).unwrap();
                let root = Group::open(&Store::from_shared(&Context::default(), store.shared().clone(), Mode::Read), "").unwrap();
                assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]), "{format:?} {path}");
            }
        }
    }

    #[test]
    fn a_node_moves_with_all_below_it_and_consolidated_metadata_follow() {
        let folder = TestFolder::new("rename");
        let local = Store::open(&Context::default(), folder.to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
        for (store, format) in
            [(&local, Format::V3), (&Store::memory(&Context::default()), Format::V3), (&Store::memory(&Context::default()), Format::V2)]
        {
            let root = Group::create(store, "", Some(format), Create::New).unwrap();
            let mut spec = Spec::new(DataType::Int32, &[2]).unwrap();
            spec.set_format(format).unwrap();
            let array = Array::create(store, "a/b/c", &spec, Create::New).unwrap();
            write_all(&array, &mut [5, 6]);
            Array::create(store, "ab", &spec, Create::New).unwrap();
            root.consolidate().unwrap();
            let kind = |path: &str, to: &str| store.rename_node(path, to).unwrap_err().kind();
            assert_eq!((kind("x", "y"), kind("a", "ab"), kind("a", "a/d")), (ErrorKind::NotFound, ErrorKind::Exists, ErrorKind::Argument));
            assert_eq!((kind("a/b", "ab/x"), kind("a", "__x"), kind("", "z")), (ErrorKind::NodeKind, ErrorKind::Name, ErrorKind::Argument));
            store.rename_node("a/b", "new/er/name").unwrap();
            assert_eq!((store.node_kind("a/b").unwrap(), store.node_kind("a").unwrap()), (NodeKind::None, NodeKind::Group));
            let root = Group::open(store, "").unwrap();
            assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]));
            assert_eq!(read_all(&root.open_array("new/er/name/c").unwrap()), [5, 6]);
            store.rename_node("new/er/name/c", "c").unwrap();
            assert_eq!(store.node_kind("c").unwrap(), NodeKind::Array);
            store.flush().unwrap();
        }
    }
}
