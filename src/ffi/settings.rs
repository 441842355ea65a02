//! Settings of nodes and contexts: their names, and their values as texts.

use crate::error::{Result, bail, err};
use crate::limits::check_reserve;
use crate::node::{Array, Node};
use crate::settings::TRUTHS;

/// The settings of an array, for messages; those of a group are [`GROUP`].
const ARRAY: &str = "\"write_fill_chunks\", \"chunk_cache\", \"write_back\", \"raw_attributes\", \"history\", \"attributes\", \"measure_time\", \"list_changes\", \"lost\", \"claim\"; \"mode\", \"draft\", \"location\" and \"changes\" can only be asked for";
const GROUP: &str =
    "\"raw_attributes\", \"history\", \"attributes\", \"link_unchanged\"; \"mode\", \"draft\" and \"location\" can only be asked for";

/// Whether the setting `key` of `value` is true or false.
pub(super) fn truth(key: &str, value: &str) -> Result<bool> {
    crate::settings::truth(value).ok_or_else(|| err!(Argument, "the setting {key:?} is {value:?}, expected {TRUTHS}"))
}

/// A number of bytes that the setting `key` is.
pub(super) fn bytes(key: &str, value: &str) -> Result<usize> {
    value.parse().map_err(|_| err!(Argument, "the setting {key:?} is {value:?}, expected a number of bytes"))
}

/// The text of a truth value.
pub(super) fn text_of(value: bool) -> String {
    if value { "1" } else { "0" }.into()
}

/// Lets no setting but `"lost"` be read or set while the reserve of memory is low: some store, or read documents. A rank is told by it what another
/// one has erased or replaced.
fn check_memory_for(key: &str) -> Result<()> {
    if key == "lost" { Ok(()) } else { check_reserve() }
}

/// Changes a setting of a node's handle.
pub(super) fn set(node: &Node, key: &str, value: &str) -> Result<()> {
    check_memory_for(key)?;
    match (node, key) {
        (_, "raw_attributes") => node.attributes().set_raw(truth(key, value)?),
        (_, "history") => node.attributes().add_history(value)?,
        (_, "attributes") => node.attributes().update_json(value)?,
        (Node::Group(group), "link_unchanged") => group.set_link_unchanged(truth(key, value)?)?,
        (Node::Array(array), "write_fill_chunks") => array.set_write_fill_chunks(truth(key, value)?),
        (Node::Array(array), "chunk_cache") => array.set_chunk_cache(bytes(key, value)?)?,
        (Node::Array(array), "write_back") => array.set_write_back(bytes(key, value)?)?,
        (Node::Array(array), "measure_time") => array.stats().measure_time(truth(key, value)?),
        (Node::Array(array), "list_changes") => array.set_list_changes(truth(key, value)?),
        (Node::Array(array), "lost") if truth(key, value)? => array.lose(),
        (Node::Array(_), "lost") => {}
        (Node::Array(array), "claim") => array.set_claim(value)?,
        _ => return unknown(node, key),
    }
    Ok(())
}

/// The value of a setting of a node's handle.
pub(super) fn get(node: &Node, key: &str) -> Result<String> {
    check_memory_for(key)?;
    Ok(match (node, key) {
        (_, "mode") => if node.store().check_writable().is_ok() { "r+" } else { "r" }.into(),
        (_, "location") => node.store().root().and_then(|root| root.location()).unwrap_or_default(),
        (_, "draft") => node.dialect().draft().unwrap_or("").into(),
        (_, "raw_attributes") => text_of(node.attributes().is_raw()),
        (_, "history") => node.attributes().history()?,
        (_, "attributes") => node.attributes().to_json()?,
        (Node::Group(group), "link_unchanged") => text_of(group.links_unchanged()),
        (Node::Array(array), _) => return of_array(array, key)?.map_or_else(|| unknown(node, key), Ok),
        _ => return unknown(node, key),
    })
}

/// The value of a setting that only arrays have; `None` if `key` names no setting.
fn of_array(array: &Array, key: &str) -> Result<Option<String>> {
    Ok(Some(match key {
        "write_fill_chunks" => text_of(array.writes_fill_chunks()),
        "chunk_cache" => array.chunk_cache().to_string(),
        "write_back" => array.write_back().to_string(),
        "measure_time" => text_of(array.stats().measures_time()),
        "list_changes" => text_of(array.changes()?.is_some()),
        "changes" => array.changes()?.unwrap_or_default(),
        "lost" => text_of(array.is_lost()),
        "claim" => array.claim(),
        _ => return Ok(None),
    }))
}

fn unknown<T>(node: &Node, key: &str) -> Result<T> {
    let known = if matches!(node, Node::Array(_)) { ARRAY } else { GROUP };
    bail!(Argument, "found the setting {key:?}, expected one of: {known}")
}
