//! Storage transformers that a program has registered: stores over the store that holds an array's chunks.
//! Specification: v3 core, "Storage transformers": the array asks the first of the list, that one the second, the last one the store.
//!
//! Their keys are those of the chunks (`c/0/0`). The engine goes on using the keys of the whole store, so that locks and messages have
//! them: the array's prefix is taken off in front of the first transformer, and put on again behind the last.

use super::{Mode, Store, path};
use crate::error::{Error, Result, err};
use crate::metadata::extension::Extension;
pub use crate::metadata::registered::Member;
use crate::metadata::registered::{MEMBERS, TRANSFORMERS};
use crate::metadata::{ArrayMeta, Dialect, Format, Value, json, v3};
use crate::store::SharedStore;
use crate::store::prefix::PrefixStore;
use crate::store::registered::{CallbackStore, Calls};
use std::sync::Arc;

/// Makes the store for a configuration (an object of JSON) over another store.
type Transformer = Box<dyn Fn(&str, Store) -> Result<Arc<dyn Calls>> + Send + Sync>;

/// A transformer as the registry holds it.
struct Registered(Transformer);

/// Registers a transformer under its name.
pub fn register_transformer(name: &str, transformer: Transformer, replace: bool) -> Result<()> {
    TRANSFORMERS.get().add(&[("", name)], Arc::new(Registered(transformer)), |_, _| false, replace).map(drop)
}

/// Unregisters a transformer. Arrays that are open keep theirs. Returns false if no transformer has that name.
pub fn unregister_transformer(name: &str) -> bool {
    TRANSFORMERS.get().remove("", name).is_some()
}

/// Registers a member of `zarr.json` as understood.
pub fn register_member(name: &str, member: Arc<dyn Member>, replace: bool) -> Result<()> {
    let is_own = v3::is_own_member(name);
    if is_own {
        return Err(err!(Exists, "{name:?} is a member that the specification names"));
    }
    MEMBERS.get().add(&[("", name)], member, |_, _| false, replace).map(drop)
}

/// Unregisters a member. Returns false if no member has that name.
pub fn unregister_member(name: &str) -> bool {
    MEMBERS.get().remove("", name).is_some()
}

/// Whether what is stored under an array's keys of chunks is not its chunks, but what transformers make of them.
pub(super) fn transforms(meta: &ArrayMeta) -> Result<bool> {
    transformers(meta).map(|list| !list.is_empty())
}

/// Whether two documents of one array name the same transformers.
pub(super) fn are_same(a: &ArrayMeta, b: &ArrayMeta) -> Result<bool> {
    Ok(transformers(a)? == transformers(b)?)
}

/// The transformers of an array that must be understood or are registered.
fn transformers(meta: &ArrayMeta) -> Result<Vec<Extension>> {
    // v2 has none, and those of d0 are its shards.
    if meta.format != Format::V3 || meta.dialect == Dialect::D0 {
        return Ok(Vec::new());
    }
    let mut list = v3::storage_transformers(&meta.document).map_err(|e| e.at_field("storage_transformers"))?;
    list.retain(|extension| extension.must_understand || TRANSFORMERS.get().find("", &extension.name).is_some());
    Ok(list)
}

/// The store that the chunks of an array are read from and written to: `store` itself unless its document has transformers.
pub(super) fn chunk_store(store: &Store, array: &str, meta: &ArrayMeta) -> Result<SharedStore> {
    let list = transformers(meta)?;
    if list.is_empty() {
        return Ok(store.shared().clone());
    }
    let prefix = path::prefix(array);
    let mut stack: SharedStore = Arc::new(PrefixStore::below(store.shared().clone(), &prefix)?);
    let mut levels = Vec::new();
    for (i, extension) in list.iter().enumerate().rev() {
        let at = |e: Error| e.at_field(format!("storage_transformers[{i}]"));
        let found = TRANSFORMERS.get().find("", &extension.name).and_then(|any| Arc::downcast::<Registered>(any).ok());
        let found = found.ok_or_else(|| at(err!(Extension, "unknown storage transformer {:?}", extension.name)))?;
        let mode = if store.capabilities().writable { Mode::ReadWrite } else { Mode::Read };
        let inner = Store::from_shared(store.context(), stack.clone(), mode);
        let calls = (found.0)(&json::to_text(&Value::Object(extension.configuration.clone())), inner).map_err(at)?;
        stack = Arc::new(CallbackStore::over(store.transformed().until_flushed(calls), &*stack));
        levels.push(stack.clone());
    }
    levels.reverse();
    store.transformed().note(&levels);
    Ok(Arc::new(PrefixStore::above(stack, &prefix)?))
}
