//! What is done when a program closes a store or a node: NCZarr's keys, consolidated metadata that wait, and a flush.

use super::conventions::{nczarr, nczarr_update};
use super::store_options::Consolidate;
use super::stored::StoredDocument;
use super::v2_changes::{ChangesLook, V2Changes};
use super::{Array, Group, Nczarr, NodeKind, Store, consolidate, document, lookup, path, together, upkeep};
use crate::error::Result;
use crate::limits::collect;
use crate::metadata::Dialect;
use std::collections::BTreeMap;

impl Store {
    /// The program closes an array, a group or the store: groups that are to be consolidated by then are, and all is flushed. An array of a store
    /// that stays open, or of which a group does, waits for that.
    pub fn close(&self, array: Option<&str>) -> Result<()> {
        let is_last = || self.is_let_go() && !self.known_groups().is_any_open();
        if array.is_some() && self.opened_for() != array && !is_last() {
            return self.flush_node();
        }
        let stored = if array.is_none() { self.store_waiting("") } else { Ok(()) };
        stored.and(self.consolidate_all(false)).and(self.flush())
    }

    /// Stores what waits in its arrays at a place or below ([`Store::place`]; empty: in all), behind the requests that are under way.
    pub(super) fn store_waiting(&self, place: &str) -> Result<()> {
        if self.is_for_reading() {
            return Ok(());
        }
        self.settle("");
        self.waiting().store(place)
    }

    /// The program flushes a group: what waits in arrays of the store is stored, and all is made durable.
    pub(super) fn flush_group(&self) -> Result<()> {
        let stored = self.store_waiting("");
        stored.and(self.flush_node())
    }

    /// The program flushes a node, for the whole store once it has let that go.
    pub(super) fn flush_node(&self) -> Result<()> {
        if self.is_let_go() { self.flush_and_tell() } else { self.flush() }
    }

    /// The program flushes the store: where its options say so, metadata are consolidated as by [`Store::close`], after all that they lead
    /// readers to is durable.
    pub fn flush_all(&self) -> Result<()> {
        let stored = self.store_waiting("");
        stored.and(self.flush_and_tell())
    }

    fn flush_and_tell(&self) -> Result<()> {
        self.flush()?;
        if !self.consolidates(Consolidate::Flush) {
            return upkeep::catch_up(self);
        }
        self.consolidate_all(true).and(self.flush())
    }

    /// With `some`, NCZarr's keys are looked at of changed nodes only, if that will do for now.
    fn consolidate_all(&self, some: bool) -> Result<()> {
        if self.is_for_reading() {
            return Ok(());
        }
        let _alone = document::lock_flush(self);
        // What NCZarr's keys cannot say (a dimension of a fixed length that grew) keeps no reader from the metadata of Zarr.
        let written = self.write_nczarr(some);
        upkeep::catch_up_alone(self)?;
        self.consolidate_alone().and(written)
    }

    /// A node was made, or the dimensions of an array were named: its group and the root are consolidated when they are closed, if
    /// the options say so. Those that are consolidated already are kept in step anyway.
    pub(super) fn note_named(&self, path: &str, named: bool) {
        if self.is_noted(named) && !path.is_empty() {
            self.unconsolidated().write(|nodes| nodes.insert(path.to_string(), true));
        }
    }

    /// A node is there, perhaps of a process that was killed before its first close (or "" for the root, below which there may be such): its group
    /// and the root are consolidated as where it was made, unless something keeps them from that.
    pub(super) fn note_there(&self, path: &str, named: bool) {
        if self.is_noted(named) {
            self.unconsolidated().write(|nodes| {
                nodes.entry(path.to_string()).or_insert(false);
            });
        }
    }

    /// Whether closing consolidates the groups above a node whose dimensions have names, or have none.
    fn is_noted(&self, named: bool) -> bool {
        match self.options().consolidate {
            Consolidate::Never => false,
            Consolidate::Named => named,
            Consolidate::Close | Consolidate::Step | Consolidate::Flush => true,
        }
    }

    /// Consolidates the root and the groups of the nodes that wait for it. Where the store cannot list its keys nothing is done.
    pub(super) fn consolidate_pending(&self) -> Result<()> {
        let _alone = document::lock_flush(self);
        self.consolidate_alone()
    }

    /// Does what [`Store::consolidate_pending`] does for a thread that has its lock.
    fn consolidate_alone(&self) -> Result<()> {
        let noted = self.unconsolidated().write(std::mem::take);
        if noted.is_empty() || !self.shared().capabilities().listable || self.check_writable().is_err() {
            return Ok(());
        }
        // The groups, and whether something that this process made needs them: others may have left what cannot be read in the rest of
        // them, or only they may write there.
        let mut groups = BTreeMap::new();
        groups.insert("", false);
        for (node, made) in &noted {
            for group in [path::parent(node).unwrap_or(""), ""] {
                *groups.entry(group).or_insert(false) |= made;
            }
        }
        let mut groups: Vec<_> = groups.into_iter().map(|(group, made)| (group, made, Ok(None))).collect();
        let mut done = groups.chunks_mut(lookup::at_once(self)).try_for_each(|some| self.consolidate_some(some, &noted));
        let is_whole = done.is_ok() && groups.iter().all(|(_, _, consolidated)| consolidated.is_ok());
        for (_, made, consolidated) in groups {
            done = done.and(if made { consolidated.map(drop) } else { Ok(()) });
        }
        if !is_whole {
            // The next call tries it again.
            self.unconsolidated().write(|now| noted.into_iter().for_each(|(node, made)| *now.entry(node).or_insert(false) |= made));
        }
        done
    }

    /// Consolidates groups, of each with the error that it met. Functions of the program may check a group, in its own thread.
    fn consolidate_some(&self, groups: &mut [(&str, bool, Result<Option<Group>>)], nodes: &BTreeMap<String, bool>) -> Result<()> {
        let paths: Vec<String> = collect(groups.iter().map(|(path, ..)| path.to_string()))?;
        for ((path, _, group), found) in groups.iter_mut().zip(lookup::find_each_bare(self, &paths)?) {
            let is_group = |found: &StoredDocument| found.kind == NodeKind::Group && found.dialect == Dialect::Final;
            *group = found.map(|found| Group::quietly(self, path.to_string(), found.filter(is_group)?).ok());
        }
        together::for_each(self, true, groups, |(_, _, group)| {
            if let Ok(Some(found)) = group
                && let Err(e) = consolidate::consolidate_unless(found, nodes)
            {
                *group = Err(e);
            }
            Ok(())
        })
    }

    /// Brings NCZarr's keys up to date, where that is wanted and documents of version 2 were changed: of all nodes, or (`some`) of the
    /// changed ones and those above, if that will do for now.
    fn write_nczarr(&self, some: bool) -> Result<()> {
        let wanted = self.options().nczarr != Nczarr::Off && self.shared().capabilities().listable && self.check_writable().is_ok();
        let mut look = ChangesLook::begin(self.v2_changed());
        let V2Changes { nodes, others, .. } = &look.left;
        if !wanted || nodes.is_empty() && (some || !others) {
            look.left.nodes.clear();
            return Ok(());
        }
        let tolerant = self.options().nczarr == Nczarr::Keep;
        let update = || Ok(some && nczarr_update::update(self, tolerant, &look.left.nodes)?);
        let written = update().and_then(|others| if others { Ok(true) } else { nczarr::write(self, tolerant).map(|()| false) });
        // What was just written needs no second look; what could not be is tried again.
        look.left = written.map(V2Changes::of_others)?;
        Ok(())
    }
}

impl Array {
    /// The program closes the array: if it was opened by its location, groups that are to be consolidated are; all is flushed.
    pub fn close(&self) -> Result<()> {
        let stored = self.finish_writes();
        stored.and(self.store().close(Some(self.path())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Format;
    use crate::node::{Context, Create, Member, Mode, Options, register_member};
    use crate::store::latency::LatencyStore;
    use crate::store::memory::MemoryStore;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    /// A member of groups that the program has registered is checked in the thread of its call.
    #[test]
    fn groups_that_are_consolidated_at_the_same_time_are_checked_in_one_thread() {
        struct Own(Mutex<Vec<std::thread::ThreadId>>);
        impl Member for Own {
            fn check(&self, _: &str) -> crate::error::Result<()> {
                self.0.lock().unwrap().push(std::thread::current().id());
                Ok(())
            }
        }
        let own = Arc::new(Own(Mutex::default()));
        register_member("test.checked", own.clone(), true).unwrap();
        let slow = Arc::new(LatencyStore::new(Arc::new(MemoryStore::new()), Duration::from_millis(20)));
        let store =
            Store::new(&Context::default(), slow, Mode::ReadWrite, Options { consolidate: Consolidate::Close, ..Options::default() });
        for group in ["a", "b", "c", "d"] {
            Group::create(&store, &format!("{group}/x"), Some(Format::V3), Create::New).unwrap();
            store.key_put(&format!("{group}/zarr.json"), br#"{"zarr_format":3,"node_type":"group","test.checked":{"x":1}}"#).unwrap();
        }
        store.close(None).unwrap();
        let threads = std::mem::take(&mut *own.0.lock().unwrap());
        assert!(threads.len() >= 4 && threads.iter().all(|thread| *thread == std::thread::current().id()), "{threads:?}");
        let is_consolidated = |group: &str| Group::open(&store, group).unwrap().consolidated_differences().unwrap() == Some(Vec::new());
        assert!(["", "a", "b", "c", "d"].iter().all(|group| is_consolidated(group)));
    }
}
