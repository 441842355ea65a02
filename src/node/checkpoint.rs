//! Checkpoints: groups that are there as a whole or not at all, whatever is killed when.
//!
//! A checkpoint is written where it stays, but without the document that makes its group a node: that is kept under another key
//! ([`crate::store::prefix::hidden`]). Committing it makes all of it durable and then puts this one document, which also has the consolidated
//! metadata of all below it. One put is atomic in every store, so no store needs to rename.

use super::begun::Mark;
use super::checkpoint_lists::{checkpoints_in, each_above, forget};
use super::committed::{Committed, without_replaced};
use super::dead_links::DeadLinks;
use super::document::DocumentLock;
use super::hidden::CHECKPOINT;
use super::lost::Leaving;
use super::stored::StoredDocument;
use super::{Child, Create, Group, NodeKind, Store, document, hierarchy, kept, lookup, path, store_options::Consolidate, together, upkeep};
use crate::error::{ErrorKind, Result, bail, err};
use crate::limits::{MAX_CONSOLIDATED, collect, extend, readable};
use crate::metadata::{Format, Map, Value, v2, v3};
use crate::sort::sort_by;
use crate::store::prefix::hidden;
use crate::store::{Condition, Listing, StorageExt, get};

/// The documents that make a group a node.
pub(super) const MAKES_A_GROUP: &[&str] = &[v3::DOCUMENT, v2::GROUP];

/// How often a reader looks again when others commit and remove checkpoints meanwhile.
const MOST_LOOKS: usize = 100;

/// The checkpoints in a group.
pub struct Checkpoints {
    store: Store,
    pub(super) path: String,
}

/// What one look at a group has found.
struct CheckpointLook {
    found: Vec<Committed>,
    /// Whether all places had a document.
    is_certain: bool,
    /// The names of what is below the group, nodes or not.
    places: Vec<String>,
    /// Those of links to nothing.
    links: Vec<String>,
}

impl Checkpoints {
    /// The checkpoints in the group at `path`, which need not be there.
    pub fn new(store: &Store, path: &str) -> Result<Checkpoints> {
        Ok(Checkpoints { store: store.clone(), path: path::normalize(path)? })
    }

    /// Begins a checkpoint: a group to put arrays, groups and attributes into. Nobody else finds it before it is committed. What a kill
    /// left of one of that name is removed. One of that name that was committed stays until the new one is.
    pub fn begin(&self, name: &str) -> Result<Group> {
        self.store.check_writable()?;
        if name.is_empty() || name.contains('/') || path::normalize(name)? != name {
            bail!(Name, "found the name {name:?}, expected one that is not empty and has no slash");
        }
        path::check_new(name)?;
        let above = Group::create(&self.store, &self.path, None, Create::OpenIfSame);
        let above = above.map_err(|e| hierarchy::advise(e, "checkpoints are begun in a group"))?;
        let committed = self.committed()?;
        self.mend(&above, &committed)?;
        let mut number = 1 + committed.iter().map(|c| c.number).max().unwrap_or(0);
        let kind = self.kind_of(name);
        let is_unseen = is_refused(&kind);
        let is_one = |all: &[Committed]| all.iter().any(|c| c.node == name);
        // One behind a link to nothing has no node now.
        let taken = is_unseen || kind? != NodeKind::None || is_one(&committed);
        // It may have been committed since they were listed.
        if taken && !is_unseen && !is_one(&committed) && !is_one(&self.committed()?) {
            bail!(Exists, "{} is a node that is no checkpoint; choose another name", path::join(&self.path, name));
        }
        let mut node = if taken { format!("{name}.{number}") } else { name.to_string() };
        let mut is_free = if taken { self.is_free(&node) } else { self.is_emptied(&node) };
        while !is_free? {
            number += 1;
            node = format!("{name}.{number}");
            is_free = self.is_free(&node);
        }
        let place = path::join(&self.path, &node);
        let store = self.store.unfinished(&place, MAKES_A_GROUP)?;
        let mut about = Map::new();
        about.insert("name".into(), name.into());
        about.insert("number".into(), number.into());
        if let Some(begun) = store.checkpoint() {
            about.insert("mark".into(), begun.mark.text().into());
        }
        // From its first moment: what has no mark is taken by a call that prunes for what another process left.
        let attributes = Map::from_iter([(CHECKPOINT.to_string(), Value::Object(about))]);
        Group::create_with(&store, "", Some(above.format()), Create::New, attributes).map_err(|e| {
            let meanwhile = format!("another writer has begun the checkpoint {place} at this moment; begin it when that one is done");
            if e.kind() == ErrorKind::Exists { e.with_message(meanwhile) } else { e }
        })
    }

    /// The committed checkpoints, the oldest first. An older one of the same name is not among them.
    pub fn list(&self) -> Result<Vec<Child>> {
        if self.kind_of("")? == NodeKind::None {
            return Ok(Vec::new());
        }
        collect(self.current()?.into_iter().map(|c| Child::seen(c.node, Ok(NodeKind::Group))))
    }

    /// Opens the newest checkpoint. Errors: `NotFound` if no checkpoint was committed.
    pub fn latest(&self) -> Result<Group> {
        self.store.check_listable()?;
        for _ in 0..MOST_LOOKS {
            let CheckpointLook { found, links, .. } = self.look_until_certain(None)?;
            let Some(newest) = without_replaced(&found)?.pop() else { break };
            if links.contains(&newest.node) {
                DeadLinks::at(path::join(&self.path, &newest.node)).refuse("checkpoints", "to go back to an older one")?;
            }
            match self.open(&path::join(&self.path, &newest.node)) {
                // It was removed after a newer one had come.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                opened => return opened,
            }
        }
        Err(err!(NotFound, "no checkpoint at {} of {}", path::display(&self.path), self.store.shared().describe()))
    }

    /// Opens a committed checkpoint. Of version 2 it is looked at again when its attributes are read: those of another one may have come.
    fn open(&self, place: &str) -> Result<Group> {
        let mut found = lookup::require(&self.store, place, NodeKind::Group)?;
        if found.format == Format::V3 {
            return Group::from_stored(&self.store, place.to_string(), found);
        }
        found.attributes = Some(lookup::reported_attributes_v2(&self.store, place)?);
        let group = Group::from_stored(&self.store, place.to_string(), found)?;
        if group.store().1.is_none() {
            return Err(lookup::not_found(&self.store, place, "checkpoint"));
        }
        group.store().check_kept().map(|()| group)
    }

    /// Removes all checkpoints but the newest `keep`, those that others of the same name took the place of, and what was begun and not committed,
    /// unless this process makes it, also in the group's consolidated metadata.
    pub fn prune(&self, keep: usize) -> Result<()> {
        self.store.check_writable()?;
        self.store.check_erasable()?;
        if self.kind_of("")? == NodeKind::None {
            return Ok(());
        }
        // Of one look: what another process commits from here on stays.
        let CheckpointLook { found: all, places, links, .. } = self.look_until_certain(None)?;
        let current = without_replaced(&all)?;
        let kept = &current[current.len().saturating_sub(keep)..];
        let is_kept = |node: &str| kept.iter().any(|c| c.node == node);
        let mut removed = Ok(());
        // Nobody knows of what was left, and there is room then.
        for node in places.iter().filter(|node| !is_kept(node) && all.iter().all(|c| c.node != **node)) {
            let was_left = self.was_left(&path::join(&self.path, node));
            if !is_refused(&was_left) && was_left? {
                removed = removed.and(self.is_cleared(node, &|place| self.was_left(place)).map(drop));
            }
        }
        // Readers that go by consolidated metadata know of those that stay before the others go.
        let mut is_told = self.had_room(self.tell(kept))?;
        // Of one behind a link to nothing there is nothing to remove.
        for old in all.iter().filter(|c| !is_kept(&c.node) && !links.contains(&c.node)) {
            // One that another user keeps is told when all others are gone.
            removed = removed.and(self.remove(old, kept, &mut is_told));
        }
        if is_told { removed } else { removed.and(self.tell(kept)) }
    }

    /// Removes a committed checkpoint: where there is room (`is_told`) readers that go by consolidated metadata are told before. On a full disk its folder
    /// leaves its name first, which needs no room and makes some.
    fn remove(&self, old: &Committed, kept: &[Committed], is_told: &mut bool) -> Result<()> {
        if *is_told && self.had_room(self.retire(old))? {
            return Ok(());
        }
        hierarchy::erase_folder(&self.store, &path::join(&self.path, &old.node))?;
        *is_told = self.had_room(self.tell(kept))?;
        Ok(())
    }

    /// Says whether a call that may have failed for want of room has not, in files; gives any other error.
    fn had_room(&self, done: Result<()>) -> Result<bool> {
        if hierarchy::is_full(&self.store, &done) { Ok(false) } else { done.map(|()| true) }
    }

    /// Brings the consolidated metadata in step with the checkpoints that stay, and with those that a full disk kept from being told that they are gone.
    fn tell(&self, kept: &[Committed]) -> Result<()> {
        let group = Group::open(&self.store, &self.path)?;
        let listed = group.catalog()?.map(|catalog| checkpoints_in(&catalog, &self.path)).transpose()?.unwrap_or_default();
        self.mend(&group, kept)?;
        let places = self.places()?;
        let mut told = forget(&self.store, &self.path, listed, &places);
        told = told.and_then(|()| each_above(&self.store, &self.path, &mut |store, path, listed| forget(store, path, listed, &places)));
        if is_refused(&told) { Ok(()) } else { told }
    }

    /// The committed checkpoints by number, without those that a newer one of the same name took the place of.
    pub(super) fn current(&self) -> Result<Vec<Committed>> {
        without_replaced(&self.committed()?)
    }

    /// All committed checkpoints by number, as their own documents say. Where a place has no document, a checkpoint may have been removed
    /// since the places were listed, for one that came after that: it is looked again until nothing changes.
    pub(super) fn committed(&self) -> Result<Vec<Committed>> {
        self.committed_but(None)
    }

    /// All but the one at the node `own`, which the caller is about to commit: that there is no document yet is no reason to look again.
    pub(super) fn committed_but(&self, own: Option<&str>) -> Result<Vec<Committed>> {
        Ok(self.look_until_certain(own)?.found)
    }

    fn look_until_certain(&self, own: Option<&str>) -> Result<CheckpointLook> {
        let mut look = self.look(own)?;
        for _ in 0..MOST_LOOKS {
            if look.is_certain {
                break;
            }
            let before = look.found;
            look = self.look(own)?;
            look.is_certain |= look.found == before;
        }
        Ok(look)
    }

    fn look(&self, own: Option<&str>) -> Result<CheckpointLook> {
        let (mut found, mut all, Listing { prefixes: mut places, dead_links: links, .. }) = (Vec::new(), true, self.listing()?);
        places.retain(|node| own != Some(node));
        for nodes in places.chunks(lookup::at_once(&self.store)) {
            let places = collect(nodes.iter().map(|node| path::join(&self.path, node)))?;
            for (node, stored) in nodes.iter().zip(lookup::find_each_bare(&self.store, &places)?) {
                let (committed, is_certain) = self.committed_as(node, stored)?;
                all &= is_certain;
                extend(&mut found, committed)?;
            }
        }
        // One behind a link to nothing, as of a disk that is not mounted, was committed if the consolidated metadata say so.
        for node in &links {
            if let Some(stored) = self.told_above(&path::join(&self.path, node))? {
                extend(&mut found, self.committed_as(node, Ok(Some(stored)))?.0)?;
            }
        }
        sort_by(&mut found, |a, b| (a.number, &a.node).cmp(&(b.number, &b.node)));
        Ok(CheckpointLook { found, is_certain: all, places, links })
    }

    /// The checkpoint that a node is, if it is one, and whether there was a document, which was looked for already: `found`.
    fn committed_as(&self, node: &str, found: Result<Option<StoredDocument>>) -> Result<(Option<Committed>, bool)> {
        let place = path::join(&self.path, node);
        let Some(stored) = (if is_refused(&found) { self.told_above(&place)? } else { found? }) else { return Ok((None, false)) };
        if stored.kind != NodeKind::Group {
            return Ok((None, true));
        }
        let group = Group::quietly(&self.store, place, stored)?;
        if let Some(committed) = Committed::of(node, &*group.attributes().view()?) {
            return Ok((Some(committed), true));
        }
        // Of version 2 it may have been removed before its attributes were read.
        Ok((None, group.format() != Format::V2 || lookup::is_there(&self.store, group.path())?))
    }

    /// The names of what is below the group, nodes or not, and links to nothing, in order.
    fn places(&self) -> Result<Vec<String>> {
        let Listing { prefixes: mut places, dead_links: links, .. } = self.listing()?;
        extend(&mut places, links)?;
        sort_by(&mut places, Ord::cmp);
        Ok(places)
    }

    fn listing(&self) -> Result<Listing> {
        self.store.check_listable()?;
        self.store.shared().list_dir(&path::prefix(&self.path))
    }

    /// What the consolidated metadata of the group say of a place that only another user may look into: without it he has committed none there.
    fn told_above(&self, place: &str) -> Result<Option<StoredDocument>> {
        Ok(Group::open(&self.store, &self.path)?.catalog()?.and_then(|catalog| catalog.find(place)))
    }

    /// Whether a checkpoint can be begun in the place of a node, from which what a kill has left of another one is removed. Where there is a node,
    /// or anything else, that stays.
    fn is_free(&self, node: &str) -> Result<bool> {
        let found = lookup::find_bare(&self.store, &path::join(&self.path, node));
        if is_refused(&found) || found.as_ref().is_err_and(lookup::is_misunderstood) {
            return lookup::check_listed(&self.store, &self.path, node).map(|()| false);
        }
        if found?.is_some() { Ok(false) } else { self.is_emptied(node) }
    }

    /// Whether a checkpoint can be begun in a place that has no node.
    fn is_emptied(&self, node: &str) -> Result<bool> {
        let is_empty = self.is_empty(node);
        if is_refused(&is_empty) {
            return lookup::check_listed(&self.store, &self.path, node).map(|()| false);
        }
        let is_empty = is_empty?;
        if is_empty && self.store.shared().files().is_none() {
            return Ok(true);
        }
        if !is_empty && !self.was_begun(&path::join(&self.path, node))? {
            return Ok(false);
        }
        self.is_cleared(node, &|place| Ok(lookup::find_bare(&self.store, place)?.is_none()))
    }

    /// Whether what is at a place without a node is what is left of a checkpoint.
    fn was_begun(&self, place: &str) -> Result<bool> {
        for name in MAKES_A_GROUP.iter().map(|name| path::join(place, &hidden(name))) {
            if self.store.shared().open(&name).map_err(|e| e.at_key(name))?.is_some() {
                return Ok(true);
            }
        }
        // Of version 2 the attributes may go last.
        Ok(readable(lookup::attributes_v2(&self.store, place))?.is_some_and(|attributes| attributes.contains_key(CHECKPOINT)))
    }

    /// Removes what a kill has left in the place of a node; `false` if it stays, because nothing can be erased, it is another user's, or `is_left` says
    /// when nobody else can commit it any more that it has changed since it was judged.
    fn is_cleared(&self, node: &str, is_left: &dyn Fn(&str) -> Result<bool>) -> Result<bool> {
        if !self.store.capabilities().erasable {
            return self.is_empty(node);
        }
        let place = path::join(&self.path, node);
        let removed = lock_alone(&self.store, &place).and_then(|lock| {
            let keeps_out = lock.as_ref().is_some_and(DocumentLock::keeps_processes_out);
            let is_left = is_left(&place)? && (keeps_out || self.is_disowned(&place)?);
            if is_left { self.remove_leftovers(&place).map(|()| true) } else { Ok(false) }
        });
        if is_refused(&removed) { Ok(false) } else { removed }
    }

    /// Takes the mark off what was begun at a place that is not locked: its maker, which may be about to commit it, looks for that when it is
    /// known. Returns `false` where it is known by now, or was changed meanwhile.
    fn is_disowned(&self, place: &str) -> Result<bool> {
        for name in MAKES_A_GROUP {
            let key = path::join(place, &hidden(name));
            let (Some(mut text), condition) = document::read(&self.store, &key, MAX_CONSOLIDATED)? else { continue };
            // That of version 2 has no attributes.
            text.push(b'\n');
            if *name == v3::DOCUMENT {
                text = document::text_of(&key, &v3::write_group(kept::retired()))?.into_bytes();
            }
            match document::publish_text(&self.store, &key, &text, MAX_CONSOLIDATED, condition) {
                Err(e) if e.kind() == ErrorKind::Conflict => return Ok(false),
                // What is removed makes room.
                Err(e) if e.kind() == ErrorKind::NoSpace => {}
                put => put?,
            }
        }
        Ok(lookup::find_bare(&self.store, place)?.is_none())
    }

    fn is_empty(&self, node: &str) -> Result<bool> {
        let listing = self.store.shared().list_dir(&path::prefix(&path::join(&self.path, node)))?;
        Ok(listing.keys.is_empty() && listing.prefixes.is_empty())
    }

    fn kind_of(&self, node: &str) -> Result<NodeKind> {
        let place = if node.is_empty() { self.path.clone() } else { path::join(&self.path, node) };
        Ok(lookup::find_bare(&self.store, &place)?.map_or(NodeKind::None, |found| found.kind))
    }

    /// Whether what is at a place was begun and not committed, by another process, or by this one, which gave its handles up.
    fn was_left(&self, place: &str) -> Result<bool> {
        let is_there = |name: &&&str| self.store.shared().open(&path::join(place, &hidden(name))).is_ok_and(|found| found.is_some());
        if lookup::find_bare(&self.store, place)?.is_some() {
            return Ok(false);
        }
        let is_ours = |about: &Value| about.get("mark").and_then(Value::as_str).is_some_and(Mark::is_of_this_process);
        if MAKES_A_GROUP.iter().find(is_there).is_none() {
            // Of version 2 the attributes may go last. One that was committed meanwhile has its document by now.
            let attributes = readable(lookup::attributes_v2(&self.store, place))?;
            let is_left = attributes.is_some_and(|all| all.get(CHECKPOINT).is_some_and(|about| !is_ours(about)));
            return Ok(is_left && lookup::find_bare(&self.store, place)?.is_none());
        }
        let group = match Group::open(&self.store.unfinished(place, MAKES_A_GROUP)?, "") {
            // Another process has removed it meanwhile.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        let view = group.attributes().view()?;
        Ok(!view.get(CHECKPOINT).is_some_and(is_ours))
    }

    /// Removes a committed checkpoint: it becomes one that was begun, whose leftovers are removed. A reader that has it open finds by its attribute that it is
    /// none any more, from before anything below it goes.
    pub(super) fn retire(&self, old: &Committed) -> Result<()> {
        let place = path::join(&self.path, &old.node);
        self.store.shared().check_erase(&path::prefix(&place))?;
        let _lock = lock_alone(&self.store, &place)?;
        // Another process may have removed it, and made another one in its place.
        let found = lookup::find_bare(&self.store, &path::join(&self.path, &old.node));
        if self.committed_as(&old.node, found)?.0.as_ref() != Some(old) {
            return Ok(());
        }
        let _leaving = Leaving::new(&self.store, &place);
        upkeep::after_change(&self.store, &[], Some(&place))?;
        let shared = self.store.shared();
        let is_there = |key: &str| shared.open(key).map(|found| found.is_some()).map_err(|e| e.at_key(key));
        for name in MAKES_A_GROUP {
            let key = path::join(&place, name);
            if is_there(&key)? {
                let document = if *name == v3::DOCUMENT { v3::write_group(kept::retired()) } else { v2::write_group() };
                let put = document::publish(&self.store, &path::join(&place, &hidden(name)), &document, Condition::None);
                if put.is_err() && !is_there(&key)? {
                    // Another process removes it, and its folder went before the document came.
                    continue;
                }
                put?;
                let beside: &[&str] = if *name == v2::GROUP { &[v2::ATTRIBUTES, v2::CONSOLIDATED] } else { &[] };
                for key in [*name].iter().chain(beside).map(|name| path::join(&place, name)) {
                    shared.erase(&key).map_err(|e| e.at_key(&key))?;
                    self.store.note_document(&key);
                }
            }
        }
        self.remove_leftovers(&place)
    }

    /// Removes what is at a place where there is no node; what tells that it was a checkpoint goes last. The next one may be in the same place.
    pub(super) fn remove_leftovers(&self, place: &str) -> Result<()> {
        Leaving::during(&self.store, place, || {
            self.store.settle(place);
            let (prefix, shared) = (path::prefix(place), self.store.shared());
            let mut listing = shared.list_dir(&prefix)?;
            if listing.keys.is_empty() && listing.prefixes.is_empty() {
                // A folder that seems empty may be another user's, in which nothing can be made.
                return if shared.files().is_some() { shared.erase_prefix(&prefix).map_err(|e| e.at_key(prefix)) } else { Ok(()) };
            }
            self.store.check_erasable()?;
            together::for_each(&self.store, true, &mut listing.prefixes, |name| {
                let below = format!("{prefix}{name}/");
                shared.erase_prefix(&below).map_err(|e| e.at_key(below))
            })?;
            shared.erase_prefix(&prefix).map_err(|e| e.at_key(prefix))
        })
    }

    /// Removes what a kill just behind a commit has left: the checkpoint's document under the name that it had before. Another one is that of a
    /// checkpoint that is being removed.
    fn erase_begun(&self, place: &str) -> Result<()> {
        if !self.store.capabilities().erasable {
            return Ok(());
        }
        for name in MAKES_A_GROUP {
            let key = path::join(place, &hidden(name));
            let text = |key: &str| get(&**self.store.shared(), key, MAX_CONSOLIDATED);
            if let Some(left) = text(&key)?
                && text(&path::join(place, name))?.is_some_and(|text| text == left)
            {
                self.store.shared().erase(&key).map_err(|e| e.at_key(key))?;
            }
        }
        Ok(())
    }

    /// Brings the consolidated metadata of the group in step with the checkpoints that are there: other programs list them by these, and
    /// do not meet one that is not finished.
    fn mend(&self, group: &Group, committed: &[Committed]) -> Result<()> {
        let listed = group.catalog()?.map(|catalog| catalog.names(&self.path)).transpose()?;
        let never = self.store.options().consolidate == Consolidate::Never;
        if never && listed.is_none() {
            return Ok(());
        }
        let untold = committed.iter().filter(|c| listed.as_ref().is_none_or(|names| names.binary_search(&c.node).is_err()));
        let untold: Vec<&Committed> = collect(untold)?;
        let mended = if never || (listed.is_some() && untold.is_empty()) { Ok(()) } else { group.consolidate() };
        let add = |store: &Store, path: &str, listed: Vec<String>| {
            let missed = committed.iter().filter(|c| listed.binary_search(&c.node).is_err());
            missed.map(|c| path::join(path, &c.node)).try_for_each(|place| upkeep::add_missed(store, &place))
        };
        let mended = mended.and_then(|()| if never { add(&self.store, &self.path, listed.unwrap_or_default()) } else { Ok(()) });
        let mended = mended.and_then(|()| each_above(&self.store, &self.path, &mut &add));
        let mended = mended.and_then(|()| untold.iter().try_for_each(|c| self.erase_begun(&path::join(&self.path, &c.node))));
        // Where only another user may look into something, what is consolidated stays as it is.
        if is_refused(&mended) { Ok(()) } else { mended }
    }
}

/// Takes the lock of a place under which a checkpoint is committed or removed there. It is a file, too: on a full disk nobody has it, nor has a
/// program that may not make it.
pub(super) fn lock_alone(store: &Store, place: &str) -> Result<Option<DocumentLock>> {
    let lock = document::lock_place(store, place).map(Some);
    if hierarchy::is_full(store, &lock) || is_refused(&lock) { Ok(None) } else { lock }
}

/// Whether the system refused something because of whose it is.
pub(super) fn is_refused<T>(done: &Result<T>) -> bool {
    done.as_ref().is_err_and(|e| e.kind() == ErrorKind::Permission)
}
