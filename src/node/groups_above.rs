//! The groups above a node: made where they are missing, and again where another process has taken them away meanwhile.
//! Specification: v2, "Groups"; v3 core, "Group metadata".

use super::lookup::{self, find_bare};
use super::{NodeKind, Store, document, known_groups, path, upkeep};
use crate::error::{ErrorKind, Result, bail};
use crate::metadata::{Format, Map, v2, v3};
use crate::store::Condition;

/// How often groups are made again that others take away all the time.
const MOST: usize = 64;

/// The nearest node above another one, as it was found.
#[derive(Clone, Copy)]
pub(super) struct Enclosing<'a> {
    path: &'a str,
    kind: NodeKind,
    pub format: Format,
}

impl<'a> Enclosing<'a> {
    /// A group that is open.
    pub(super) fn open_group(path: &'a str, format: Format) -> Enclosing<'a> {
        Enclosing { path, kind: NodeKind::Group, format }
    }
}

/// The nearest node above `path`, if there is one.
pub(super) fn enclosing<'a>(store: &Store, path: &'a str) -> Result<Option<Enclosing<'a>>> {
    for above in path::ancestors(path).into_iter().rev() {
        if let Some((kind, format)) = look(store, above)? {
            return Ok(Some(Enclosing { path: above, kind, format }));
        }
    }
    Ok(None)
}

/// The kind and the format of the node at `path`. A group that is known is not read again.
fn look(store: &Store, path: &str) -> Result<Option<(NodeKind, Format)>> {
    let file = known_groups::file_of(store.shared(), path);
    if file.is_some_and(|file| store.known_groups().holds(path, file)) {
        return Ok(Some((NodeKind::Group, Format::V3)));
    }
    let found = find_bare(store, path)?.map(|found| (found.kind, found.format));
    if let (Some(file), Some((NodeKind::Group, Format::V3))) = (file, found) {
        store.known_groups().note(path, file);
    }
    Ok(found)
}

impl Store {
    /// The format of the nearest group above `path`, if there is one.
    pub fn format_above(&self, path: &str) -> Result<Option<Format>> {
        let path = path::normalize(path)?;
        Ok(enclosing(self, &path)?.filter(|found| found.kind == NodeKind::Group).map(|found| found.format))
    }
}

/// Creates the groups that are missing between the root and `path`, and returns their paths. Those that exist are left
/// untouched, in either format, of which the log is told; an array among them is an error.
pub(super) fn ensure(store: &Store, path: &str, format: Format) -> Result<Vec<String>> {
    ensure_with(store, path, format, None)
}

/// Creates those groups like [`ensure`]. The one that the caller has found just now is not looked for again.
pub(super) fn ensure_with(store: &Store, path: &str, format: Format, known: Option<Enclosing<'_>>) -> Result<Vec<String>> {
    let (mut missing, mut nearest) = (Vec::new(), None);
    for above in path::ancestors(path) {
        let known = known.filter(|known| known.path == above).map(|known| (known.kind, known.format));
        match known.map_or_else(|| look(store, above), |known| Ok(Some(known)))? {
            None => missing.push(above),
            Some((kind, format)) => {
                refuse_array(store, above, kind)?;
                nearest = Some((above, format));
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
                    refuse_array(store, above, found.kind)?;
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

/// Refuses a node below an array, as far as the nodes above `path` can be read.
pub(super) fn refuse_arrays(store: &Store, path: &str) -> Result<()> {
    path::ancestors(path).into_iter().try_for_each(|above| match look(store, above) {
        Ok(Some((kind, _))) => refuse_array(store, above, kind),
        _ => Ok(()),
    })
}

fn refuse_array(store: &Store, above: &str, kind: NodeKind) -> Result<()> {
    if kind == NodeKind::Array {
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

/// Whether all of these groups have documents, most likely of `format`. Over a network it takes no longer to read them: there an open group was not looked at
/// before, and may be an array by now, which is an error.
fn are_there(store: &Store, groups: &[&str], format: Format) -> Result<bool> {
    let names = if format == Format::V3 { [v3::DOCUMENT, v2::GROUP] } else { [v2::GROUP, v3::DOCUMENT] };
    for group in groups {
        if store.shared().capabilities().latency {
            let Some(found) = find_bare(store, group)? else { return Ok(false) };
            refuse_array(store, group, found.kind)?;
            continue;
        }
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
