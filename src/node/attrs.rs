//! The attributes of an open node: typed access, and changes that lose nothing of what others changed meanwhile.
//! Specification: v2, "Attributes" (`.zattrs`); v3 core, `attributes`.

use super::context::not_finite;
use super::dimensions::is_hidden;
use super::{NodeKind, Store, document, hierarchy, path};
use crate::error::{ErrorKind, Result, bail, err};
use crate::fork::ForkPreserved;
use crate::limits::MAX_CONSOLIDATED;
use crate::metadata::json::{self, Number, Text, brief};
use crate::metadata::{Dialect, Format, Map, Value, v2, v3};
use crate::store::{Condition, get};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How deep an attribute's value may be nested: what a reader takes, less what consolidated metadata puts around it.
const MAX_DEPTH: usize = 100;

/// The attributes of one open node. A handle sees them as they were when it was opened (v2: first asked for), and its own
/// changes. A change is applied to what is stored at that moment, under the document's lock, so that changes of other
/// attributes by other handles, threads and processes stay.
pub struct Attributes {
    store: Store,
    path: String,
    format: Format,
    dialect: Dialect,
    kind: NodeKind,
    /// Whether [`Attributes::shown`] shows all of them.
    raw: AtomicBool,
    state: ForkPreserved<State>,
}

#[derive(Default)]
struct State {
    /// As last read or published.
    current: Option<Arc<Map>>,
    /// Between `begin` and `commit`.
    pending: Option<Pending>,
}

struct Pending {
    /// The attributes with the changes.
    view: Arc<Map>,
    changes: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Set(String, Value),
    Erase(String),
    Replace(Map),
}

/// What kind of JSON value an attribute is. The discriminants are those of the C header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum JsonKind {
    /// `null`.
    Null = 0,
    /// `true` or `false`.
    Bool = 1,
    /// A number without fraction and exponent.
    Integer = 2,
    /// Any other number; a bare `NaN` or `Infinity` of another writer, too.
    Number = 3,
    /// A string.
    String = 4,
    /// A list.
    Array = 5,
    /// An object.
    Object = 6,
}

impl JsonKind {
    fn of(value: &Value) -> JsonKind {
        match value {
            Value::Null => JsonKind::Null,
            Value::Bool(_) => JsonKind::Bool,
            Value::Number(n) if is_integer(n) => JsonKind::Integer,
            Value::Number(_) => JsonKind::Number,
            Value::String(_) => JsonKind::String,
            Value::Array(_) => JsonKind::Array,
            Value::Object(_) => JsonKind::Object,
        }
    }
}

/// The items of a list; anything else is a list of itself.
fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

fn is_integer(number: &Number) -> bool {
    number.as_str().bytes().all(|b| b.is_ascii_digit() || b == b'-')
}

impl Attributes {
    /// The attributes of a node; `None` where they are yet to be read.
    pub(super) fn new(store: &Store, path: &str, format: Format, kind: NodeKind, current: Option<Map>) -> Attributes {
        let state = State { current: current.map(Arc::new), pending: None };
        let (path, dialect, state) = (path.to_string(), Dialect::Final, ForkPreserved::new(state));
        Attributes { store: store.clone(), path, format, dialect, kind, raw: AtomicBool::new(false), state }
    }

    /// The same of a node of a draft of version 3, where nothing is changed.
    pub(super) fn of(self, dialect: Dialect) -> Attributes {
        Attributes { dialect, ..self }
    }

    /// All attributes.
    pub fn all(&self) -> Result<Map> {
        Ok((*self.view()?).clone())
    }

    /// Those that are the user's: without the names of a v2 array's dimensions, and without what NCZarr keeps here (XR-02, XR-07),
    /// unless [`Attributes::set_raw`] asked for them. By their names these are found in any case.
    pub fn shown(&self) -> Result<Map> {
        let mut all = self.all()?;
        all.retain(|name, _| !self.hides(name));
        Ok(all)
    }

    /// Whether lists of the attributes have all of them, and a replacement of all replaces all.
    pub fn set_raw(&self, raw: bool) {
        self.raw.store(raw, Ordering::Relaxed);
    }

    /// Replaces those that are shown.
    pub fn replace_shown(&self, all: Map) -> Result<()> {
        let mut kept = self.all()?;
        kept.retain(|name, _| self.hides(name) && !all.contains_key(name));
        kept.extend(all);
        self.replace(kept)
    }

    fn hides(&self, name: &str) -> bool {
        !self.raw.load(Ordering::Relaxed) && is_hidden(name, self.format, self.kind)
    }

    /// One attribute; an error of kind `NotFound` names those that are there.
    pub fn get(&self, name: &str) -> Result<Value> {
        self.with(name, |value| Ok(value.clone()))
    }

    /// Sets one attribute.
    pub fn set(&self, name: &str, value: Value) -> Result<()> {
        self.change(Change::Set(name.to_string(), value))
    }

    /// Removes one attribute; one that is not there is an error of kind `NotFound`.
    pub fn erase(&self, name: &str) -> Result<()> {
        self.change(Change::Erase(name.to_string()))
    }

    /// Replaces all attributes.
    pub fn replace(&self, all: Map) -> Result<()> {
        self.change(Change::Replace(all))
    }

    /// From here on changes are collected; this handle sees them, the store does not.
    pub fn begin(&self) -> Result<()> {
        self.store.check_writable()?;
        self.dialect.refuse()?;
        let view = self.view()?;
        self.state.write(|state| {
            if state.pending.is_some() {
                bail!(State, "changes of the attributes of {} are already being collected; commit them first", self.name());
            }
            state.pending = Some(Pending { view, changes: Vec::new() });
            Ok(())
        })
    }

    /// Publishes the collected changes in one write. After an error they are still there, and the call may be repeated.
    pub fn commit(&self) -> Result<()> {
        let Some(changes) = self.state.read(|state| state.pending.as_ref().map(|p| p.changes.clone())) else {
            bail!(State, "no changes of the attributes of {} are being collected; begin first", self.name());
        };
        if !changes.is_empty() {
            self.publish(&changes)?;
        }
        self.state.write(|state| {
            if let Some(pending) = &mut state.pending {
                // What another thread added meanwhile is kept for its own commit.
                pending.changes.drain(..changes.len().min(pending.changes.len()));
                if pending.changes.is_empty() {
                    state.pending = None;
                }
            }
        });
        Ok(())
    }

    /// An attribute that is an integer of 64 bits. `1.0` is no integer.
    pub fn get_i64(&self, name: &str) -> Result<i64> {
        self.with(name, |value| match value {
            Value::Number(n) if is_integer(n) => n
                .as_str()
                .parse()
                .map_err(|_| err!(Range, "attribute {name:?} of {} is {}, which does not fit into 64 bits", self.name(), brief(value))),
            other => Err(self.wrong_kind(name, other, "an integer")),
        })
    }

    /// An attribute that is an integer from 0 to 2^64 - 1.
    pub fn get_u64(&self, name: &str) -> Result<u64> {
        self.with(name, |value| match value {
            Value::Number(n) if is_integer(n) => n
                .as_str()
                .parse()
                .map_err(|_| err!(Range, "attribute {name:?} of {} is {}, expected 0 to 2^64 - 1", self.name(), brief(value))),
            other => Err(self.wrong_kind(name, other, "an integer")),
        })
    }

    /// An attribute that is a list of integers of 64 bits, or one of them.
    pub fn get_i64s(&self, name: &str) -> Result<Vec<i64>> {
        self.with(name, |value| {
            let one = |item: &Value| match item {
                Value::Number(n) if is_integer(n) => n
                    .as_str()
                    .parse()
                    .map_err(|_| err!(Range, "attribute {name:?} of {} has {}, which does not fit into 64 bits", self.name(), brief(item))),
                _ => Err(self.wrong_kind(name, value, "a list of integers")),
            };
            items(value).iter().map(one).collect()
        })
    }

    /// An attribute that is a list of numbers, or one of them.
    pub fn get_f64s(&self, name: &str) -> Result<Vec<f64>> {
        self.with(name, |value| {
            let one = |item: &Value| match item {
                Value::Number(n) => match n.as_str().parse::<f64>() {
                    Ok(x) if x.is_finite() || json::is_non_finite(n) => Ok(x),
                    _ => bail!(Range, "attribute {name:?} of {} has {}, which no double can hold", self.name(), brief(item)),
                },
                _ => Err(self.wrong_kind(name, value, "a list of numbers")),
            };
            items(value).iter().map(one).collect()
        })
    }

    /// Sets an integer from 0 to 2^64 - 1.
    pub fn set_u64(&self, name: &str, value: u64) -> Result<()> {
        self.set(name, value.into())
    }

    /// Sets a list of integers.
    pub fn set_i64s(&self, name: &str, values: &[i64]) -> Result<()> {
        self.set(name, Value::Array(values.iter().map(|v| (*v).into()).collect()))
    }

    /// Sets a list of numbers; NaN and infinities as for [`Attributes::set_f64`].
    pub fn set_f64s(&self, name: &str, values: &[f64]) -> Result<()> {
        self.set(name, Value::Array(values.iter().map(|v| Value::Number(json::number(*v))).collect()))
    }

    /// An attribute that is a number, an integer or a bare `NaN` or `Infinity` among them.
    pub fn get_f64(&self, name: &str) -> Result<f64> {
        self.with(name, |value| match value {
            Value::Number(n) => match n.as_str().parse::<f64>() {
                Ok(x) if x.is_finite() || json::is_non_finite(n) => Ok(x),
                _ => bail!(Range, "attribute {name:?} of {} is {}, which no double can hold", self.name(), brief(value)),
            },
            other => Err(self.wrong_kind(name, other, "a number")),
        })
    }

    /// An attribute that is a string.
    pub fn get_string(&self, name: &str) -> Result<String> {
        self.with(name, |value| match value {
            Value::String(s) => Ok(s.to_string()),
            other => Err(self.wrong_kind(name, other, "a string")),
        })
    }

    /// An attribute of any kind as JSON, in the shortest form.
    pub fn get_json(&self, name: &str) -> Result<String> {
        self.with(name, |value| Ok(json::to_compact(value)))
    }

    /// Sets an integer.
    pub fn set_i64(&self, name: &str, value: i64) -> Result<()> {
        self.set(name, value.into())
    }

    /// Sets a number. NaN and infinities have no form in JSON: an error of kind `Range` where the context does not allow them.
    pub fn set_f64(&self, name: &str, value: f64) -> Result<()> {
        self.set(name, Value::Number(json::number(value)))
    }

    /// Sets a string.
    pub fn set_string(&self, name: &str, value: &str) -> Result<()> {
        self.set(name, value.into())
    }

    /// Sets what a JSON text says.
    pub fn set_json(&self, name: &str, text: &str) -> Result<()> {
        self.set(name, json::parse_allowed(text, self.store.context().allows_non_finite()).map_err(|e| e.at_field(name))?)
    }

    /// What kind of value an attribute is.
    pub fn kind(&self, name: &str) -> Result<JsonKind> {
        self.with(name, |value| Ok(JsonKind::of(value)))
    }

    /// The names of those that are shown, in the order of the document.
    pub fn names(&self) -> Result<Vec<String>> {
        Ok(self.view()?.keys().filter(|name| !self.hides(name)).map(Text::to_string).collect())
    }

    /// Those that are shown as a JSON object.
    pub fn to_json(&self) -> Result<String> {
        Ok(json::to_text(&Value::Object(self.shown()?)))
    }

    /// Replaces those that are shown by those of a JSON object.
    pub fn replace_json(&self, text: &str) -> Result<()> {
        match json::parse_allowed(text, self.store.context().allows_non_finite())? {
            Value::Object(all) => self.replace_shown(all),
            other => bail!(Type, "found {}, expected an object of attributes", brief(&other)),
        }
    }

    /// Calls `f` with the attribute of that name.
    fn with<T>(&self, name: &str, f: impl FnOnce(&Value) -> Result<T>) -> Result<T> {
        let view = self.view()?;
        match view.get(name) {
            Some(value) => f(value),
            None => Err(self.missing(&view, name)),
        }
    }

    /// What getters see: the collected changes included.
    pub(super) fn view(&self) -> Result<Arc<Map>> {
        let known = self.state.read(|state| state.pending.as_ref().map(|p| &p.view).or(state.current.as_ref()).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        let read = Arc::new(document::reported_attributes_v2(&self.store, &self.path)?);
        Ok(self.state.write(|state| state.current.get_or_insert(read).clone()))
    }

    /// As last read or published, without collected changes; `None` if not yet read.
    pub(super) fn published(&self) -> Option<Arc<Map>> {
        self.state.read(|state| state.current.clone())
    }

    fn change(&self, change: Change) -> Result<()> {
        self.store.check_writable()?;
        self.check_depth(&change)?;
        self.check_numbers(&change)?;
        let left = self.state.write(|state| {
            let Some(pending) = &mut state.pending else { return Ok(Some(change)) };
            self.apply(Arc::make_mut(&mut pending.view), &change)?;
            pending.changes.push(change);
            Ok(None)
        })?;
        left.map_or(Ok(()), |change| self.publish(&[change]))
    }

    /// Bare NaN and infinities of other writers stay; new ones must be allowed.
    fn check_numbers(&self, change: &Change) -> Result<()> {
        let found = match change {
            Change::Set(_, value) => json::has_non_finite(value),
            Change::Replace(all) => all.values().any(json::has_non_finite),
            Change::Erase(_) => false,
        };
        if found && !self.store.context().allows_non_finite() {
            return Err(not_finite(&format!("an attribute of {}", self.name()), ErrorKind::Range));
        }
        Ok(())
    }

    fn check_depth(&self, change: &Change) -> Result<()> {
        let depth = match change {
            Change::Set(_, value) => document::depth(value),
            Change::Replace(all) => all.values().map(document::depth).max().unwrap_or(0),
            Change::Erase(_) => 0,
        };
        if depth > MAX_DEPTH {
            bail!(Limit, "an attribute of {} has {depth} nested levels, the limit is {MAX_DEPTH}", self.name());
        }
        Ok(())
    }

    fn apply(&self, attributes: &mut Map, change: &Change) -> Result<()> {
        match change {
            Change::Set(name, value) => drop(attributes.insert(name.into(), value.clone())),
            Change::Replace(all) => attributes.clone_from(all),
            Change::Erase(name) => {
                if attributes.shift_remove(name).is_none() {
                    return Err(self.missing(attributes, name));
                }
            }
        }
        Ok(())
    }

    /// Applies changes to what is stored now, and stores that.
    fn publish(&self, changes: &[Change]) -> Result<()> {
        self.dialect.refuse()?;
        let name = if self.format == Format::V3 { v3::DOCUMENT } else { v2::ATTRIBUTES };
        let key = path::join(&self.path, name);
        {
            let _lock = document::lock(&self.store, &self.path, name)?;
            let mut document = self.read_fresh(&key)?;
            let attributes = match self.format {
                Format::V2 => &mut document,
                Format::V3 => attributes_member(&mut document)
                    .ok_or_else(|| err!(Metadata, "expected an object").at_field("attributes").at_key(&key))?,
            };
            for change in changes {
                self.apply(attributes, change)?;
            }
            let changed = Arc::new(attributes.clone());
            document::publish(&self.store, &key, &document, Condition::None)?;
            drop(self.state.write(|state| state.current.replace(changed)));
        }
        hierarchy::refresh(&self.store, std::slice::from_ref(&self.path), None)
    }

    fn read_fresh(&self, key: &str) -> Result<Map> {
        let gone = || document::not_found(&self.store, &self.path, if self.kind == NodeKind::Array { "array" } else { "group" });
        let shared = &**self.store.shared();
        match self.format {
            Format::V3 => {
                let bytes = get(shared, key, MAX_CONSOLIDATED)?.ok_or_else(gone)?;
                json::parse_object(&bytes, MAX_CONSOLIDATED).map_err(|e| e.at_key(key))
            }
            Format::V2 => {
                let own = path::join(&self.path, if self.kind == NodeKind::Array { v2::ARRAY } else { v2::GROUP });
                shared.open(&own).map_err(|e| e.at_key(&own))?.ok_or_else(gone)?;
                document::attributes_v2(&self.store, &self.path)
            }
        }
    }

    fn missing(&self, attributes: &Map, name: &str) -> crate::error::Error {
        if attributes.is_empty() {
            return err!(NotFound, "no attribute {name:?} of {}; it has none", self.name());
        }
        err!(NotFound, "no attribute {name:?} of {}; it has {}", self.name(), path::near(attributes.keys().map(Text::as_str), name))
    }

    fn wrong_kind(&self, name: &str, value: &Value, expected: &str) -> crate::error::Error {
        err!(Type, "attribute {name:?} of {} is {}, expected {expected}", self.name(), brief(value))
    }

    fn name(&self) -> &str {
        path::display(&self.path)
    }
}

/// The member `attributes` of a document, made if it is missing or null.
fn attributes_member(document: &mut Map) -> Option<&mut Map> {
    if document.get("attributes").is_none_or(Value::is_null) {
        document.insert("attributes".into(), Map::new().into());
    }
    document.get_mut("attributes")?.as_object_mut()
}
