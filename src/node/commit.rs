//! The end of a checkpoint: it is committed or given up.

use super::checkpoint::{Checkpoints, MAKES_A_GROUP, is_refused, lock_alone};
use super::hidden::CHECKPOINT;
use super::store::{Above, Unfinished};
use super::{Group, Store, document, lookup, path, store_options::Consolidate, upkeep};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{MAX_CONSOLIDATED, extend, readable};
use crate::metadata::{Format, GroupMeta, Value, v2, v3};
use crate::store::prefix::hidden;
use crate::store::{Condition, StorageExt, get};

/// The checkpoint that is made below a group handle. Errors: `Argument` for any other group; `Forked` in a child of `fork`, as the parent still
/// writes it.
fn unfinished(group: &Group) -> Result<&Unfinished> {
    match group.store().checkpoint().filter(|_| group.path().is_empty()) {
        Some(begun) if begun.process != std::process::id() => {
            bail!(Forked, "the checkpoint {} belongs to the process that began it, before fork", path::display(&begun.place.path))
        }
        Some(begun) => Ok(begun),
        None => bail!(Argument, "{} is no checkpoint that was begun", path::display(group.path())),
    }
}

/// Whether a group has the mark of a checkpoint; `None` if there is no group.
fn has_mark(store: &Store, path: &str, mark: &str) -> Result<Option<bool>> {
    // An error that says what is there instead would cost many requests.
    let Some(found) = lookup::find_bare(store, path)? else { return Ok(None) };
    let group = Group::quietly(store, path.to_string(), found)?;
    Ok(Some(group.attributes().view()?.get(CHECKPOINT).is_some_and(|about| is_of(about, mark))))
}

/// The name and the text of the document that is hidden at a place.
fn hidden_at(store: &Store, place: &str) -> Result<Option<(&'static str, Vec<u8>)>> {
    for name in MAKES_A_GROUP {
        if let Some(text) = get(&**store.shared(), &path::join(place, &hidden(name)), MAX_CONSOLIDATED)? {
            return Ok(Some((name, text)));
        }
    }
    Ok(None)
}

/// Whether a document is as the maker of the checkpoint with a mark has hidden it. That of version 2 says nothing of the mark, and is another one once it
/// is disowned.
fn is_marked(name: &str, text: &[u8], mark: &str) -> Result<bool> {
    if name == v2::GROUP {
        return Ok(document::text_of(name, &v2::write_group())?.as_bytes() == text);
    }
    let group = readable(v3::parse_group(text))?;
    let has =
        |group: GroupMeta| v3::attributes(&group.document).and_then(|all| all.get(CHECKPOINT)).is_some_and(|about| is_of(about, mark));
    Ok(group.is_some_and(has))
}

/// Whether what a group says of the checkpoint that it is has that mark.
fn is_of(about: &Value, mark: &str) -> bool {
    about.get("mark").and_then(Value::as_str) == Some(mark)
}

impl Group {
    /// Commits the checkpoint that was begun with this group: from one moment on it is there for everybody, whole and durable. A checkpoint
    /// of the same name that was there before is removed then. After an error before that moment what was written is removed, unless the server's
    /// answer to that moment's put was lost. What fails behind that moment is told to the log.
    pub fn commit(&self) -> Result<()> {
        let begun = unfinished(self)?;
        let (above, place) = (&begun.place.store, &*begun.place.path);
        let erased = self.publish_ours(begun)?;
        // The checkpoint is there. What fails from here on is left to the next calls, as after a kill.
        if let Err(e) = erased.and(self.settle(above, place)) {
            let (place, all) = (path::display(place), above.shared().describe());
            let rest = "what follows is left to the next one of that name, or pruning";
            above.context().warn(&format!("the checkpoint {place} of {all} is committed; {rest}: {e}"));
        }
        Ok(())
    }

    /// Makes the checkpoint known while no other process removes it, or begins one in its place, where the store has locks. Returns what came of
    /// the removal of the document that was hidden: that of another process begins with such a one.
    fn publish_ours(&self, begun: &Unfinished) -> Result<Result<()>> {
        let Unfinished { place: Above { store: above, path: place }, mark, .. } = begun;
        // What cannot be locked stays for another try, or for pruning: another process may be at it.
        let _lock = lock_alone(above, place).map_err(Error::sure)?;
        let ours = self.is_ours(above, place, mark.text());
        let ours = ours.and_then(|ours| if ours == Some(true) { Ok(()) } else { Err(Group::taken(above, place)) });
        let ours = ours.and_then(|()| self.count_last(above, place)).map_err(Error::sure);
        let put = ours.and_then(|()| self.publish(above, place, mark.text()));
        // What was there at first may not be any more.
        let is_gone = || {
            !hidden_at(above, place)
                .is_ok_and(|found| found.is_some_and(|(name, text)| is_marked(name, &text, mark.text()).unwrap_or(true)))
        };
        let put = put.map_err(|e| if e.kind() == ErrorKind::NotFound && is_gone() { Group::taken(above, place) } else { e });
        put.inspect_err(|e| {
            // The error is the one to tell; what cannot be removed now is removed by the next checkpoint.
            // A document whose fate is not known may come late: then all below it is to be there.
            if e.kind() != ErrorKind::State && !e.is_unsure() && matches!(lookup::find_bare(above, place), Ok(None)) {
                let _ = self.remove_ours(begun);
            }
        })?;
        Ok(self.erase_hidden(above, place))
    }

    /// Does what is left when the checkpoint is there: tells readers that go by consolidated metadata, then removes the one whose name it has.
    fn settle(&self, above: &Store, place: &str) -> Result<()> {
        let all = Checkpoints::new(above, path::parent(place).unwrap_or_default())?;
        self.tell(above, place)?;
        let committed = all.committed()?;
        let Some(this) = committed.iter().find(|c| path::join(&all.path, &c.node) == *place) else { return Ok(()) };
        for old in committed.iter().filter(|c| c.name == this.name && c.number < this.number && above.capabilities().erasable) {
            let retired = all.retire(old);
            // One that another user keeps is left to his call of `prune`.
            if !is_refused(&retired) {
                retired?;
            }
        }
        Ok(())
    }

    /// Whether what is at the checkpoint's place is what was begun with this group; `None` if there is nothing.
    fn is_ours(&self, above: &Store, place: &str, mark: &str) -> Result<Option<bool>> {
        let mut found = None;
        for (store, path) in [(self.store(), ""), (above, place)] {
            let Some(is_ours) = has_mark(store, path, mark)? else { continue };
            found = Some(is_ours || found == Some(true));
        }
        Ok(found)
    }

    /// Looks, behind the put that makes the checkpoint known, whether another process has removed it before: a store without locks lets it. What
    /// was hidden goes last then; without it, which one that lists the new checkpoint removes too, the nodes in it are looked for.
    fn is_whole(&self, above: &Store, place: &str, mark: &str) -> Result<bool> {
        if let Some((name, text)) = hidden_at(above, place)? {
            return Ok(is_marked(name, &text, mark)? && (name == v3::DOCUMENT || has_mark(above, place, mark)? == Some(true)));
        }
        if has_mark(above, place, mark)? != Some(true) {
            return Ok(false);
        }
        let listed = Group::open(above, place)?.catalog()?.map(|catalog| catalog.names(place)).transpose()?.unwrap_or_default();
        for name in listed {
            if lookup::find_bare(above, &path::join(place, &name))?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The error of a checkpoint that another writer has taken the place of.
    fn taken(above: &Store, place: &str) -> Error {
        let all = above.shared().describe();
        err!(
            State,
            "the checkpoint {} of {all} is not what was begun here: another writer began one of that name, or removed it",
            path::display(place)
        )
    }

    /// Says whether values that are the same as in the newest checkpoint become hard links to that one's, where both are files. Only what is
    /// put from then on is compared. Files of checkpoints are replaced, never changed, so each keeps its own values.
    pub fn set_link_unchanged(&self, wanted: bool) -> Result<()> {
        let Unfinished { place: Above { store: above, path: place }, links, .. } = unfinished(self)?;
        let all = Checkpoints::new(above, path::parent(place).unwrap_or_default())?;
        let newest = if wanted { all.current()?.pop() } else { None };
        links.set(newest.map(|newest| path::prefix(&path::join(&all.path, &newest.node))));
        Ok(())
    }

    /// Whether values are compared with those of an earlier checkpoint.
    pub fn links_unchanged(&self) -> bool {
        unfinished(self).is_ok_and(|place| place.links.is_set())
    }

    /// Makes this the newest checkpoint: others may have been committed since it was begun.
    fn count_last(&self, above: &Store, place: &str) -> Result<()> {
        let all = Checkpoints::new(above, path::parent(place).unwrap_or_default())?;
        let others = all.committed_but(Some(path::relative(&all.path, place)))?;
        let newest = others.iter().map(|c| c.number).max().unwrap_or(0);
        let view = self.attributes().view()?;
        let Some(about) = view.get(CHECKPOINT).and_then(Value::as_object) else { return Ok(()) };
        if about.get("number").and_then(Value::as_u64).is_some_and(|number| number > newest) {
            return Ok(());
        }
        let mut about = about.clone();
        about.insert("number".into(), (newest + 1).into());
        // Changes of the user's that are collected wait on.
        self.attributes().edit(&|all| {
            all.insert(CHECKPOINT.into(), Value::Object(about.clone()));
            Ok(())
        })
    }

    /// Makes the checkpoint known with the consolidated metadata of all below it, behind what waits of arrays in it that are open.
    fn publish(&self, above: &Store, place: &str, mark: &str) -> Result<()> {
        self.store().store_waiting(&self.store().place("")).map_err(Error::sure)?;
        if self.store().options().consolidate != Consolidate::Never {
            self.consolidate().map_err(Error::sure)?;
        }
        let put = self.reveal(above, place, Some(mark))?;
        // What cannot be looked at is there.
        if !self.is_whole(above, place, mark).unwrap_or(true) {
            // What has its name no more is not taken for what was begun here: the document that is hidden by now is that of another writer.
            self.store().checkpoint().iter().for_each(|begun| begun.revealed.set(false));
            for key in put {
                above.shared().erase(&key).map_err(|e| e.at_key(&key))?;
                above.note_document(&key);
            }
            return Err(Group::taken(above, place));
        }
        above.flush().map_err(|e| e.with_note(" (it is there for readers, but a crash of the system may take it away)"))
    }

    /// Makes all below durable, then what the document that is hidden at `place` says known, if that is of the checkpoint with the mark that is given.
    /// It is not flushed. Returns the keys that were put.
    pub(super) fn reveal(&self, above: &Store, place: &str, mark: Option<&str>) -> Result<Vec<String>> {
        self.store().flush()?;
        let mut made = Vec::new();
        // What other threads set of the group meanwhile comes into the document before it is read, or into the one that is known.
        let _alone = [v3::DOCUMENT, v2::GROUP].map(|name| document::lock_thread(self.store(), "", name));
        for name in MAKES_A_GROUP {
            let (from, to) = (path::join(place, &hidden(name)), path::join(place, name));
            let Some(text) = get(&**above.shared(), &from, MAX_CONSOLIDATED)? else { continue };
            if let Some(mark) = mark
                && !is_marked(name, &text, mark)?
            {
                return Err(Group::taken(above, place));
            }
            // Its name alone would be a checkpoint that nobody can read.
            above.shared().sync_first(&to)?;
            // One that is there already is of another writer, which began at the same time.
            match document::publish_text(above, &to, &text, MAX_CONSOLIDATED, Condition::Absent) {
                // This is the second try of a commit whose end failed.
                Err(e) if e.kind() == ErrorKind::Conflict && get(&**above.shared(), &to, MAX_CONSOLIDATED)?.as_ref() == Some(&text) => {}
                Err(e) if e.kind() == ErrorKind::Conflict => return Err(Group::taken(above, place)),
                put => put.map(|()| made.push(to))?,
            }
        }
        self.store().checkpoint().iter().for_each(|begun| begun.revealed.set(true));
        Ok(made)
    }

    /// Removes the document that was hidden, when it is known by its name.
    pub(super) fn erase_hidden(&self, above: &Store, place: &str) -> Result<()> {
        if !above.capabilities().erasable {
            return Ok(());
        }
        let key = path::join(place, &hidden(if self.format() == Format::V3 { v3::DOCUMENT } else { v2::GROUP }));
        above.shared().erase(&key).map(drop).map_err(|e| e.at_key(key))
    }

    /// Brings the consolidated metadata above a checkpoint up to date.
    fn tell(&self, above: &Store, place: &str) -> Result<()> {
        let below = self.nodes(usize::MAX)?;
        let mut paths = vec![place.to_string()];
        extend(&mut paths, below.into_iter().map(|child| path::join(place, &child.name)))?;
        upkeep::after_change(above, &paths, None)
    }

    /// Gives up the checkpoint that was begun with this group, and removes what was written of it. The next one of that name is in the same place.
    pub fn abandon(&self) -> Result<()> {
        let begun = unfinished(self)?;
        let _lock = lock_alone(&begun.place.store, &begun.place.path)?;
        self.remove_ours(begun)
    }

    /// Removes what was written of the checkpoint, whose lock is held, unless it is another writer's by now.
    fn remove_ours(&self, Unfinished { place: Above { store: above, path: place }, mark, .. }: &Unfinished) -> Result<()> {
        if self.is_ours(above, place, mark.text())? == Some(false) {
            return Err(Group::taken(above, place));
        }
        Checkpoints::new(above, path::parent(place).unwrap_or_default()).and_then(|all| all.remove_leftovers(place))
    }
}
