//! Changing the documents of a node: their locks, and publishing them whole.

use super::path::{self, prefix};
use super::{Store, claim};
use crate::engine::footprint;
use crate::engine::lock::KeyGuard;
use crate::engine::request_queue::may_wait;
use crate::error::{ErrorKind, Result, err};
use crate::limits::{MAX_CONSOLIDATED, MAX_DOCUMENT, make_text_room};
use crate::metadata::{Format, Map, Value, json, v2, v3};
use crate::store::{Condition, LockUse, ProcessLock, swap};
use std::time::Duration;

/// The names of documents.
pub(super) const DOCUMENTS: &[&str] = &[v3::DOCUMENT, v2::ARRAY, v2::GROUP, v2::ATTRIBUTES, v2::CONSOLIDATED];

/// Keeps other changes of one document out, in this process and (where the store can) in others.
pub(super) struct DocumentLock {
    // Dropped in this order: other processes first, then other threads.
    process: Option<ProcessLock>,
    _thread: KeyGuard,
}

impl DocumentLock {
    /// Whether other processes wait for it: not where the store has no locks.
    pub(super) fn keeps_processes_out(&self) -> bool {
        self.process.is_some()
    }

    /// Gives back the part that keeps other processes out, where what it locks has another folder by now.
    pub(super) fn let_processes_in(&mut self) {
        self.process = None;
    }
}

/// Takes the lock of the document `name` of the node at `path`.
pub(super) fn lock(store: &Store, path: &str, name: &str) -> Result<DocumentLock> {
    let thread = lock_thread(store, path, name);
    lock_process(store, thread, path, &path::join(path, name))
}

/// Takes the lock of a document that is changed again and again: what makes the lock may stay until the store is closed.
pub(super) fn lock_often(store: &Store, path: &str, name: &str) -> Result<DocumentLock> {
    let (thread, key) = (lock_thread(store, path, name), path::join(path, name));
    let process = store.shared().lock_key(&prefix(path), &key, LockUse::Often).map_err(|e| e.at_key(key))?;
    Ok(DocumentLock { process, _thread: thread })
}

/// Takes only the part of the lock that keeps this process's threads out.
pub(super) fn lock_thread(store: &Store, path: &str, name: &str) -> KeyGuard {
    store.context().document_locks.lock(&place_of(store, path, name))
}

/// What a document is locked by: stores that begin in different folders have different paths for one node.
fn place_of(store: &Store, path: &str, name: &str) -> String {
    footprint::place(&store.shared().describe(), &path::join(path, name))
}

/// Takes the lock that one writer of what belongs to the node at `path` holds while it is the only one, or fails with an error of kind `Again`;
/// `None` where the store has no locks.
pub(super) fn lock_alone(store: &Store, path: &str, name: &str) -> Result<Option<ProcessLock>> {
    lock_alone_waiting(store, path, name, || std::thread::sleep(LOOK_ALONE))
}

/// Does the same; `wait` comes before each further try.
pub(super) fn lock_alone_waiting(store: &Store, path: &str, name: &str, mut wait: impl FnMut()) -> Result<Option<ProcessLock>> {
    // A call that asks whether another holds it has it for a moment.
    for _ in 0..LOOKS_ALONE {
        match try_lock_alone(store, path, name) {
            Err(e) if e.kind() == ErrorKind::Again => wait(),
            taken => return taken,
        }
    }
    try_lock_alone(store, path, name)
}

const LOOKS_ALONE: usize = 3;
const LOOK_ALONE: Duration = Duration::from_millis(4);

fn try_lock_alone(store: &Store, path: &str, name: &str) -> Result<Option<ProcessLock>> {
    store.shared().lock_key(&prefix(path), &series_key(path, name), LockUse::Alone)
}

/// The key whose lock that is.
pub(super) fn series_key(path: &str, name: &str) -> String {
    path::join(path, &format!("series of {name}"))
}

/// Whether somebody holds the lock of [`lock_alone`].
pub(super) fn is_locked_alone(store: &Store, path: &str, name: &str) -> bool {
    let looked = store.shared().lock_key(&prefix(path), &series_key(path, name), LockUse::Look);
    matches!(looked, Err(e) if e.kind() == ErrorKind::Again)
}

/// Adds the other part of the lock of `key`, which is kept in the folder of the node at `folder`.
pub(super) fn lock_process(store: &Store, thread: KeyGuard, folder: &str, key: &str) -> Result<DocumentLock> {
    Ok(DocumentLock { process: lock_others(store, folder, key)?, _thread: thread })
}

/// Keeps other processes from changing `key`, which is kept in the folder of the node at `folder`; `None` where the store has no locks.
pub(super) fn lock_others(store: &Store, folder: &str, key: &str) -> Result<Option<ProcessLock>> {
    store.shared().lock_key(&prefix(folder), key, LockUse::Rare).map_err(|e| e.at_key(key))
}

/// Makes a change of the document `name` of the node at `path`, from reading it ([`read`]) to publishing it, with other changes kept out; where
/// the store has no locks it is made again if another process was faster.
pub(super) fn change<T>(store: &Store, path: &str, name: &str, make: impl FnMut() -> Result<T>) -> Result<T> {
    let _lock = lock(store, path, name)?;
    swap::make(&**store.shared(), make)
}

/// Reads a document that is to be changed, and the condition on which it is then published.
pub(super) fn read(store: &Store, key: &str, limit: usize) -> Result<(Option<Vec<u8>>, Condition)> {
    swap::read_to_change(&**store.shared(), key, limit)
}

/// How deep a document may be nested so that it can be read again.
const MAX_DEPTH: usize = 127;

/// How deep a value is nested; 0 for a scalar.
pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The member `attributes` of a document, made if it is missing or null.
pub(super) fn attributes_member(document: &mut Map) -> Option<&mut Map> {
    if document.get("attributes").is_none_or(Value::is_null) {
        document.insert("attributes".into(), Map::new().into());
    }
    document.get_mut("attributes")?.as_object_mut()
}

/// Stores a document, atomically. One that could not be read again is refused.
pub(super) fn publish(store: &Store, key: &str, document: &Map, condition: Condition) -> Result<()> {
    publish_over(store, key, document, &[], condition)
}

/// Stores a document like [`publish`] in place of the text `before`, whose mark of an appender stays.
pub(super) fn publish_over(store: &Store, key: &str, document: &Map, before: &[u8], condition: Condition) -> Result<()> {
    let mut text = text_of(key, document)?.into_bytes();
    claim::keep_mark(before, &mut text);
    let holds_many = document.contains_key(v3::CONSOLIDATED) || key.ends_with(v2::CONSOLIDATED);
    publish_text(store, key, &text, if holds_many { MAX_CONSOLIDATED } else { MAX_DOCUMENT }, condition)
}

/// The text that a document is stored as, with room for the mark of an appender. One that could not be read again is refused.
pub(super) fn text_of(key: &str, document: &Map) -> Result<String> {
    check_depth(1 + document.values().map(depth).max().unwrap_or(0), key)?;
    let mut text = json::text_of_any(&Value::Object(document.clone()), 0)?;
    make_text_room(&mut text, 1 + claim::MARK)?;
    text.push('\n');
    Ok(text)
}

/// Refuses to replace a document whose node was renamed or erased, in its folder, since it was read: another one would come in its place, without
/// what the node had. What another process renames between this look and the put is not seen. A store that puts on a condition needs no look. Errors:
/// `NotFound`.
pub(super) fn check_there(store: &Store, key: &str) -> Result<()> {
    let shared = store.shared();
    if shared.files().is_none() && shared.capabilities().swaps {
        return Ok(());
    }
    match shared.stamp(key).map_err(|e| e.at_key(key))? {
        None => Err(err!(NotFound, "the node was renamed or erased meanwhile").at_key(key)),
        Some(_) => Ok(()),
    }
}

/// Stores the text of a document of at most `limit` bytes, atomically.
pub(super) fn publish_text(store: &Store, key: &str, text: &[u8], limit: usize, condition: Condition) -> Result<()> {
    if text.len() > limit {
        return Err(err!(Limit, "a document of {} bytes exceeds the limit of {limit} bytes", text.len()).at_key(key));
    }
    store.shared().put(key, &[text], condition).map_err(|e| e.at_key(key))?;
    store.note_document(key);
    Ok(())
}

/// Refuses a document that is nested so deep that it could not be read again.
pub(super) fn check_depth(depth: usize, key: &str) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(err!(Limit, "a document of {depth} nested levels exceeds the limit of {MAX_DEPTH}").at_key(key));
    }
    Ok(())
}

/// Takes the lock under which a node is created or erased at `path`. It is kept in the enclosing folder, which outlives
/// the node.
pub(super) fn lock_place(store: &Store, path: &str) -> Result<DocumentLock> {
    let name = "node";
    let thread = store.context().document_locks.lock_place(&place_of(store, path, name));
    let folder = prefix(path::parent(path).unwrap_or_default());
    // Nothing is stored at the lock's key.
    let process = store.shared().lock_key(&folder, &path::join(path, name), LockUse::Rare).map_err(|e| e.at_key(path))?;
    Ok(DocumentLock { process, _thread: thread })
}

/// Lets one thread at a time tell what waits in the store: another one that flushes it comes back when that is done.
///
/// No two threads wait for each other by it. A thread that has the lock gets it again, as where telling a step is a part of a close. It is taken before
/// documents' locks and behind those of places where nodes are made, none of which the library takes while it has this one. A thread that has a document's or a
/// chunk's lock, as in a store's function that flushes, and one that works for another thread, which may have this one, go on without it.
pub(super) fn lock_flush(store: &Store) -> Option<KeyGuard> {
    may_wait().then(|| store.context().document_locks.lock_place(&format!("flush of {}", store.number())))
}

/// Whether somebody holds that lock.
pub(super) fn is_place_locked(store: &Store, path: &str) -> bool {
    let folder = prefix(path::parent(path).unwrap_or_default());
    store.shared().lock_key(&folder, &path::join(path, "node"), LockUse::Look).is_err()
}

/// The name of an array's document.
pub(super) fn array_document(format: Format) -> &'static str {
    if format == Format::V3 { v3::DOCUMENT } else { v2::ARRAY }
}
