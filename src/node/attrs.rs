//! The attributes of an open node, and changes that lose nothing of what others changed meanwhile. Typed access is in `attr_values`.
//! Specification: v2, "Attributes" (`.zattrs`); v3 core, `attributes`.

use super::attr_change::AttributeChange;
use super::context::not_finite;
use super::hidden::{CHECKPOINT, is_hidden};
use super::listed_lengths::Lengths;
use super::{NodeKind, Store, document, lines, lookup, lost, path, upkeep};
use crate::dtype::{DataType, Kind};
use crate::engine::Growths;
use crate::engine::lock::KeyGuard;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::fork::{ForkPreserved, forks};
use crate::limits::{MAX_CONSOLIDATED, MAX_DOCUMENT, collect, make_room, readable, text_of, try_collect};
use crate::metadata::json::{self, Text, brief};
use crate::metadata::{Dialect, Format, Map, Value, v2, v3};
use crate::store::Condition;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How deep an attribute's value may be nested: what a reader takes, less what consolidated metadata puts around it.
const MAX_DEPTH: usize = 100;

/// The attributes of one open node. A handle sees them as they were when it was opened (v2: first asked for), and its own changes. A change is
/// applied to what is stored at that moment, under the document's lock, so that changes of others by other handles, threads and processes stay.
pub struct Attributes {
    known: Arc<KnownAttributes>,
    /// Whether [`Attributes::shown`] shows all of them.
    raw: AtomicBool,
    /// Between `begin` and `commit`.
    collected: ForkPreserved<Option<Uncommitted>>,
}

/// What all handles of one open node know of its attributes.
struct KnownAttributes {
    store: Store,
    path: String,
    format: Format,
    dialect: Dialect,
    kind: NodeKind,
    /// The type of the array's elements; `None` for a group.
    element: Option<DataType>,
    /// As last read or published.
    current: ForkPreserved<Option<Arc<Map>>>,
    /// What tells that the array was erased or replaced since they were read.
    growths: ForkPreserved<Growths>,
}

/// The changes that one handle collects.
struct Uncommitted {
    /// The attributes that `view` was made of.
    base: Arc<Map>,
    /// The attributes with the changes.
    view: Arc<Map>,
    changes: Vec<AttributeChange>,
    /// Where a commit stores them, which has the lock of the document, so that none is added until it ends: the number of [`forks`] of its process. In a
    /// child of `fork` no thread does it.
    stored_in: Option<u32>,
}

impl Attributes {
    /// The attributes of a node of `dialect`; `None` where they are yet to be read. Those of a draft cannot be changed. `element`: the type of an
    /// array's elements. `growths` tells when an array is lost.
    pub(super) fn new(
        place: (&Store, &str),
        (format, dialect): (Format, Dialect),
        element: Option<DataType>,
        current: Option<Map>,
        growths: Growths,
    ) -> Attributes {
        let kind = if element.is_some() { NodeKind::Array } else { NodeKind::Group };
        let (store, path, current) = (place.0.clone(), place.1.to_string(), ForkPreserved::new(current.map(Arc::new)));
        let growths = ForkPreserved::new(growths);
        Attributes::of(Arc::new(KnownAttributes { store, path, format, dialect, kind, element, current, growths }))
    }

    fn of(known: Arc<KnownAttributes>) -> Attributes {
        Attributes { known, raw: AtomicBool::new(false), collected: ForkPreserved::default() }
    }

    /// These attributes for another handle, which collects changes of its own.
    pub(super) fn for_another_handle(&self) -> Attributes {
        Attributes::of(self.known.clone())
    }

    /// Forgets what was read, and takes `current` instead; `None` where it is to be read when it is asked for. Collected changes stay, and an array
    /// that was lost stays so.
    pub(super) fn renew(&self, current: Option<Map>) -> Result<()> {
        let fresh = match current {
            Some(all) => all,
            None => lookup::reported_attributes_v2(&self.known.store, &self.known.path)?,
        };
        drop(self.known.current.write(|current| current.replace(Arc::new(fresh))));
        Ok(())
    }

    /// These are the attributes of the array that is there, as the program asks, whatever was lost until `as_of`.
    pub(super) fn found_again(&self, as_of: &Growths) {
        drop(self.known.growths.replace(as_of.clone()));
    }

    /// All attributes.
    pub fn all(&self) -> Result<Map> {
        Ok((*self.view()?).clone())
    }

    /// All attributes without the changes that this handle collects.
    pub(super) fn stored(&self) -> Result<Map> {
        Ok((*self.current()?).clone())
    }

    /// Those that are not hidden (XR-02, XR-07), unless [`Attributes::set_raw`] asked for all. By their names all are found in any case.
    pub fn shown(&self) -> Result<Map> {
        let mut all = self.all()?;
        all.make_room(0)?;
        all.retain(|name, _| !self.hides(name));
        Ok(all)
    }

    /// Whether lists of the attributes have all of them, and a replacement of all replaces all.
    pub fn set_raw(&self, raw: bool) {
        self.raw.store(raw, Ordering::Relaxed);
    }

    /// Whether [`Attributes::set_raw`] asked for all of them.
    pub fn is_raw(&self) -> bool {
        self.raw.load(Ordering::Relaxed)
    }

    /// Replaces those that are shown.
    pub fn replace_shown(&self, all: Map) -> Result<()> {
        self.change(AttributeChange::Replace(all))
    }

    fn hides(&self, name: &str) -> bool {
        !self.is_raw() && is_hidden(name, self.known.format, self.known.kind)
    }

    /// Whether an attribute of that name says which checkpoint a group is: without it nobody finds the checkpoint.
    fn is_of_checkpoint(&self, name: &str) -> bool {
        name == CHECKPOINT && self.known.kind == NodeKind::Group
    }

    /// One attribute; an error of kind `NotFound` names those that are there.
    pub fn get(&self, name: &str) -> Result<Value> {
        self.with(name, |value| Ok(value.clone()))
    }

    /// Sets one attribute. One without a name is an error of kind `Name`; such attributes of other programs are read all the same.
    pub fn set(&self, name: &str, value: Value) -> Result<()> {
        if name.is_empty() {
            return Err(self.unnamed());
        }
        self.change(AttributeChange::Set(json::text(name)?, value))
    }

    pub(super) fn unnamed(&self) -> Error {
        err!(Name, "the name of an attribute of {} is empty, expected at least one character", self.name())
    }

    /// Removes one attribute; one that is not there is an error of kind `NotFound`.
    pub fn erase(&self, name: &str) -> Result<()> {
        self.change(AttributeChange::Erase(json::text(name)?))
    }

    /// Lets `edit` change all attributes that are stored now, in one write.
    pub(super) fn edit(&self, edit: &dyn Fn(&mut Map) -> Result<()>) -> Result<()> {
        self.known.store.check_writable()?;
        self.store_change(edit)?;
        self.tell()
    }

    /// From here on changes are collected; this handle sees them, the store does not.
    pub fn begin(&self) -> Result<()> {
        self.known.store.check_writable()?;
        self.known.dialect.refuse()?;
        let base = self.current()?;
        self.collected.write(|collected| {
            if collected.is_some() {
                bail!(State, "changes of the attributes of {} are already being collected; commit them first", self.name());
            }
            *collected = Some(Uncommitted { view: base.clone(), base, changes: Vec::new(), stored_in: None });
            Ok(())
        })
    }

    /// Publishes the collected changes in one write. After an error they are still there, and the call may be repeated.
    pub fn commit(&self) -> Result<()> {
        let storing = self.lock_thread();
        let to_store = self.collected.write(|collected| {
            let pending = collected.as_mut()?;
            pending.stored_in = Some(forks());
            Some(collect(pending.changes.iter().cloned()))
        });
        let Some(changes) = to_store else {
            bail!(State, "no changes of the attributes of {} are being collected; begin first", self.name());
        };
        let stored = changes.and_then(|changes| if changes.is_empty() { Ok(()) } else { self.store_all(&changes) });
        let pending = self.collected.write(|collected| {
            collected.as_mut()?.stored_in = None;
            collected.take_if(|_| stored.is_ok())
        });
        drop(storing);
        stored?;
        self.tell().inspect_err(|_| {
            let nothing = pending.map(|pending| Uncommitted { changes: Vec::new(), ..pending });
            self.collected.write(|collected| *collected = collected.take().or(nothing));
        })
    }

    /// The names of those that are shown, in the order of the document.
    pub fn names(&self) -> Result<Vec<String>> {
        try_collect(self.view()?.keys().filter(|name| !self.hides(name)).map(|name| text_of(name)))
    }

    /// How many are shown.
    pub fn count(&self) -> Result<usize> {
        Ok(self.view()?.keys().filter(|name| !self.hides(name)).count())
    }

    /// The name at that place of those that are shown; the error is `Bounds`.
    pub fn name_at(&self, index: i64) -> Result<Text> {
        let view = self.view()?;
        let shown = || view.keys().filter(|name| !self.hides(name));
        let found = usize::try_from(index).ok().and_then(|index| shown().nth(index));
        found.cloned().ok_or_else(|| {
            let count = shown().count();
            err!(Bounds, "found the index {index}, expected 0 or more and less than {count}, the number of attributes")
        })
    }

    /// Those that are shown as a JSON object.
    pub fn to_json(&self) -> Result<String> {
        json::text_of_any(&Value::Object(self.shown()?), 0)
    }

    /// Replaces those that are shown by those of a JSON object.
    pub fn replace_json(&self, text: &str) -> Result<()> {
        let all = json::parse_allowed(text, self.allows_non_finite())?;
        json::check_range(&all)?;
        match all {
            Value::Object(all) if all.contains_key("") && !self.all()?.contains_key("") => Err(self.unnamed()),
            Value::Object(all) => self.replace_shown(all),
            other => bail!(Type, "found {}, expected an object of attributes", brief(&other)),
        }
    }

    /// Calls `f` with the attribute of that name.
    pub(super) fn with<T>(&self, name: &str, f: impl FnOnce(&Value) -> Result<T>) -> Result<T> {
        let view = self.view()?;
        match view.get(name) {
            Some(value) => f(value),
            None => Err(self.missing(&view, name)),
        }
    }

    /// What getters see: the collected changes included.
    pub(super) fn view(&self) -> Result<Arc<Map>> {
        let current = self.current()?;
        // Only changes are rare: a handle that collects none takes no exclusive lock.
        if self.collected.read(Option::is_none) {
            return Ok(current);
        }
        self.collected.write(|collected| match collected {
            Some(pending) => self.rebase(pending, &current).map(|()| pending.view.clone()),
            None => Ok(current),
        })
    }

    /// Applies the collected changes to what is known now, where that has changed. A change that is of no use by now (what it erases is gone)
    /// is told by the commit.
    fn rebase(&self, pending: &mut Uncommitted, current: &Arc<Map>) -> Result<()> {
        if !Arc::ptr_eq(&pending.base, current) {
            let mut view = (**current).clone();
            pending.changes.iter().try_for_each(|change| readable(self.apply(&mut view, change)).map(drop))?;
            (pending.base, pending.view) = (current.clone(), Arc::new(view));
        }
        Ok(())
    }

    /// As last read or published; read now, if not yet.
    fn current(&self) -> Result<Arc<Map>> {
        if let Some(known) = self.published() {
            return Ok(known);
        }
        let read = Arc::new(lookup::reported_attributes_v2(&self.known.store, &self.known.path)?);
        Ok(self.known.current.write(|current| current.get_or_insert(read).clone()))
    }

    /// As last read or published, without collected changes; `None` if not yet read.
    pub(super) fn published(&self) -> Option<Arc<Map>> {
        self.known.current.read(Option::clone)
    }

    fn change(&self, change: AttributeChange) -> Result<()> {
        self.change_all(vec![change])
    }

    /// Makes changes in one write, or collects them.
    pub(super) fn change_all(&self, changes: Vec<AttributeChange>) -> Result<()> {
        self.known.store.check_writable()?;
        changes.iter().try_for_each(|change| self.check(change))?;
        let left = self.collect(changes)?;
        if left.is_empty() {
            return Ok(());
        }
        // A commit comes first. If it fails, what it was to store is collected still, and these come behind it.
        let storing = self.lock_thread();
        let left = self.collect(left)?;
        if left.is_empty() {
            return Ok(());
        }
        self.store_all(&left)?;
        drop(storing);
        self.tell()
    }

    /// Collects changes, all or none; gives them back where none are collected.
    fn collect(&self, changes: Vec<AttributeChange>) -> Result<Vec<AttributeChange>> {
        if self.collected.read(Option::is_none) {
            return Ok(changes);
        }
        let current = self.current()?;
        self.collected.write(|collected| {
            let Some(pending) = collected.as_mut().filter(|pending| pending.stored_in != Some(forks())) else { return Ok(changes) };
            self.rebase(pending, &current)?;
            make_room(&mut pending.changes, changes.len())?;
            if let [change] = &changes[..] {
                // One that fails changes nothing: no copy of all is needed.
                self.apply(Arc::make_mut(&mut pending.view), change)?;
            } else {
                let mut view = (*pending.view).clone();
                changes.iter().try_for_each(|change| self.apply(&mut view, change))?;
                pending.view = Arc::new(view);
            }
            pending.changes.extend(changes);
            Ok(Vec::new())
        })
    }

    /// Whether bare NaN and infinities may be stored.
    pub(super) fn allows_non_finite(&self) -> bool {
        self.known.store.context().allows_non_finite()
    }

    /// Whether `_FillValue` of this node is text: of floating-point arrays of version 3, where xarray wants a double as base64.
    pub(super) fn fill_is_text(&self) -> bool {
        self.known.format == Format::V3 && self.is_real()
    }

    /// Whether the node is an array of floating-point numbers.
    pub(super) fn is_real(&self) -> bool {
        self.known.element.is_some_and(|element| element.kind() == Kind::Float)
    }

    fn check(&self, change: &AttributeChange) -> Result<()> {
        let depth = change.depth();
        if depth > MAX_DEPTH {
            bail!(Limit, "an attribute of {} has {depth} nested levels, the limit is {MAX_DEPTH}", self.name());
        }
        // Bare NaN and infinities of other writers stay; new ones must be allowed.
        if !self.allows_non_finite() && change.has_non_finite() {
            return Err(not_finite(&format!("an attribute of {}", self.name()), ErrorKind::Range));
        }
        Ok(())
    }

    fn apply(&self, attributes: &mut Map, change: &AttributeChange) -> Result<()> {
        attributes.make_room(if let AttributeChange::Replace(all) = change { all.len() } else { 1 })?;
        match change {
            AttributeChange::Set(name, value) => drop(attributes.insert(name.clone(), value.clone())),
            AttributeChange::SetDefault(name, _) if attributes.contains_key(name) => {}
            AttributeChange::SetDefault(name, value) => drop(attributes.insert(name.clone(), value.clone())),
            AttributeChange::PutInFront(name, line) => {
                let now = lines::in_front(line, attributes.get(name)).map_err(|e| e.at_field(name))?;
                drop(attributes.insert(name.clone(), now));
            }
            AttributeChange::Replace(all) => {
                let own = attributes.get(CHECKPOINT).filter(|_| self.is_of_checkpoint(CHECKPOINT)).cloned();
                attributes.retain(|name, _| self.hides(name) && !all.contains_key(name));
                attributes.extend(all.iter().map(|(name, value)| (name.clone(), value.clone())));
                own.map(|own| attributes.insert(CHECKPOINT.into(), own));
            }
            AttributeChange::Erase(name) if self.is_of_checkpoint(name) && attributes.contains_key(name) => {
                bail!(Argument, "the attribute {name:?} of {} says which checkpoint the group is, and stays with it", self.name())
            }
            AttributeChange::Erase(name) => {
                if attributes.shift_remove(name).is_none() {
                    return Err(self.missing(attributes, name));
                }
            }
        }
        Ok(())
    }

    fn tell(&self) -> Result<()> {
        upkeep::of_stored(upkeep::after_node_change(&self.known.store, &self.known.path, self.known.format, Lengths::NONE))
    }

    fn store_all(&self, changes: &[AttributeChange]) -> Result<()> {
        self.store_change(&|attributes| changes.iter().try_for_each(|change| self.apply(attributes, change)))
    }

    /// The document that has the attributes.
    fn document_name(&self) -> &'static str {
        if self.known.format == Format::V3 { v3::DOCUMENT } else { v2::ATTRIBUTES }
    }

    /// Keeps other threads from changing what is stored.
    fn lock_thread(&self) -> KeyGuard {
        document::lock_thread(&self.known.store, &self.known.path, self.document_name())
    }

    fn store_change(&self, edit: &dyn Fn(&mut Map) -> Result<()>) -> Result<()> {
        self.known.dialect.refuse()?;
        let name = self.document_name();
        let key = path::join(&self.known.path, name);
        document::change(&self.known.store, &self.known.path, name, || {
            let change = || self.change_document(&key, edit);
            // Handles of groups are not noted.
            if self.known.kind == NodeKind::Array { change() } else { lost::change_there(&self.known.store, &self.known.path, change) }
        })
    }

    /// Makes a change under the lock of the document.
    fn change_document(&self, key: &str, edit: &dyn Fn(&mut Map) -> Result<()>) -> Result<()> {
        let (known, growths, read) = (&self.known, self.known.growths.read(Growths::clone), self.read_fresh(key));
        growths.check_there(|| known.store.place(&known.path))?;
        let (mut document, before, condition) = read?;
        let attributes = if known.format == Format::V2 { Some(&mut document) } else { document::attributes_member(&mut document) };
        let attributes = attributes.ok_or_else(|| err!(Metadata, "expected an object").at_field("attributes").at_key(key))?;
        edit(attributes)?;
        let changed = Arc::new(attributes.clone());
        let publish = || document::publish_over(&known.store, key, &document, &before, condition);
        growths.while_there(|| known.store.place(&known.path), publish)?;
        drop(known.current.write(|current| current.replace(changed)));
        Ok(())
    }

    fn gone(&self) -> Error {
        lookup::not_found(&self.known.store, &self.known.path, if self.known.kind == NodeKind::Array { "array" } else { "group" })
    }

    /// Reads what is stored now, as a text, too, and the condition on which it may be replaced.
    fn read_fresh(&self, key: &str) -> Result<(Map, Vec<u8>, Condition)> {
        let shared = &**self.known.store.shared();
        match self.known.format {
            Format::V3 => {
                let (bytes, condition) = document::read(&self.known.store, key, MAX_CONSOLIDATED)?;
                let bytes = bytes.ok_or_else(|| self.gone())?;
                let document = json::parse_object(&bytes, MAX_CONSOLIDATED).map_err(|e| e.at_key(key))?;
                Ok((document, bytes, condition))
            }
            Format::V2 => {
                let own = path::join(&self.known.path, if self.known.kind == NodeKind::Array { v2::ARRAY } else { v2::GROUP });
                shared.open(&own).map_err(|e| e.at_key(&own))?.ok_or_else(|| self.gone())?;
                let (bytes, condition) = document::read(&self.known.store, key, MAX_DOCUMENT)?;
                let attributes = bytes.as_deref().map(v2::parse_attributes).transpose().map_err(|e| e.at_key(key))?;
                Ok((attributes.unwrap_or_default(), bytes.unwrap_or_default(), condition))
            }
        }
    }

    fn missing(&self, attributes: &Map, name: &str) -> Error {
        if attributes.is_empty() {
            return err!(NotFound, "no attribute {name:?} of {}; it has none", self.name());
        }
        err!(NotFound, "no attribute {name:?} of {}; it has {}", self.name(), path::near(attributes.keys().map(Text::as_str), name))
    }

    pub(super) fn wrong_kind(&self, name: &str, value: &Value, expected: &str) -> Error {
        err!(Type, "attribute {name:?} of {} is {}, expected {expected}", self.name(), brief(value))
    }

    pub(super) fn name(&self) -> &str {
        path::display(&self.known.path)
    }
}
