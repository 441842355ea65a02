//! The groups above a node: made where they are missing, and again where another process has taken them away meanwhile.
//! Specification: v2, "Groups"; v3 core, "Group metadata".

use super::lookup::{self, find_bare};
use super::stored::StoredDocument;
use super::{NodeKind, Store, document, known_groups, path, upkeep};
use crate::error::{ErrorKind, Result, bail};
use crate::metadata::{Format, Map, v2, v3};
use crate::store::Condition;

/// How often groups are made again that others take away all the time.
const MOST: usize = 64;

/// The format of the nearest group above `path`, if there is one.
pub(super) fn enclosing_format(store: &Store, path: &str) -> Result<Option<Format>> {
    for above in path::ancestors(path).into_iter().rev() {
        if let Some(found) = find_bare(store, above)? {
            return Ok(Some(found.format));
        }
    }
    Ok(None)
}

/// Creates the groups that are missing between the root and `path`, and returns their paths. Those that exist are left
/// untouched, in either format, of which the log is told; an array among them is an error.
pub(super) fn ensure(store: &Store, path: &str, format: Format) -> Result<Vec<String>> {
    let (mut missing, mut nearest) = (Vec::new(), None);
    for above in path::ancestors(path) {
        let file = known_groups::file_of(store.shared(), above);
        if file.is_some_and(|file| store.known_groups().holds(above, file)) {
            nearest = Some((above, Format::V3));
            continue;
        }
        match find_bare(store, above)? {
            None => missing.push(above),
            Some(found) => {
                refuse_array(store, above, &found)?;
                nearest = Some((above, found.format));
                if let Some(file) = file.filter(|_| found.format == Format::V3) {
                    store.known_groups().note(above, file);
                }
            }
        }
    }
    if let Some((above, theirs)) = nearest.filter(|(_, theirs)| *theirs != format) {
        let (place, path, above) = (store.shared().describe(), path::display(path), path::display(above));
        let text = "other programs, such as zarr-python, do not find it";
        let (ours, theirs) = (format.number(), theirs.number());
        store.context().warn(&format!("{path} of {place} is made in format {ours} below {above}, a group in format {theirs}: {text}"));
    }
    let (name, document) = match format {
        Format::V2 => (v2::GROUP, v2::write_group()),
        Format::V3 => (v3::DOCUMENT, v3::write_group(Map::new())),
    };
    for (made, above) in missing.iter().enumerate() {
        match document::publish(store, &path::join(above, name), &document, Condition::Absent) {
            // Another writer was faster; what it made must be a group, too.
            Err(e) if e.kind() == ErrorKind::Conflict => {
                if let Some(found) = find_bare(store, above)? {
                    refuse_array(store, above, &found)?;
                }
            }
            other => other.inspect_err(|_| {
                let made: Vec<String> = missing[..made].iter().map(|above| above.to_string()).collect();
                upkeep::tell_later(store, &made);
            })?,
        }
    }
    Ok(missing.into_iter().map(str::to_string).collect())
}

fn refuse_array(store: &Store, above: &str, found: &StoredDocument) -> Result<()> {
    if found.kind == NodeKind::Array {
        bail!(
            NodeKind,
            "{} of {} is an array, which has no nodes below it; expected a group",
            path::display(above),
            store.shared().describe()
        );
    }
    Ok(())
}

/// Makes groups above a new node again that another process has erased or renamed since they were found, and adds them to those `made` for it: the node
/// would be below no group. A program that takes a group away takes those below it along, so that one look is enough where all were found.
pub(super) fn restore(store: &Store, path: &str, format: Format, made: &mut Vec<String>) -> Result<()> {
    for _ in 0..MOST {
        let above = path::ancestors(path);
        let looked_at = if made.is_empty() { &above[above.len().saturating_sub(1)..] } else { &above };
        // A node that went with them needs none.
        if are_there(store, looked_at, format)? || !lookup::is_there(store, path)? {
            break;
        }
        made.extend(ensure(store, path, format)?);
    }
    Ok(())
}

/// Whether all of these groups have documents, most likely of `format`.
fn are_there(store: &Store, groups: &[&str], format: Format) -> Result<bool> {
    let names = if format == Format::V3 { [v3::DOCUMENT, v2::GROUP] } else { [v2::GROUP, v3::DOCUMENT] };
    for group in groups {
        let mut there = false;
        for key in names.iter().map(|name| path::join(group, name)) {
            there = there || store.shared().stamp(&key).map_err(|e| e.at_key(key))?.is_some();
        }
        if !there {
            return Ok(false);
        }
    }
    Ok(true)
}
