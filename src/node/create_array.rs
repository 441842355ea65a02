//! Creating an array: what is in its way, and its documents, the one that makes it an array last.

use super::conventions::missing::{FILL, missing_value};
use super::conventions::time::Calendar;
use super::cut_watch::NodeFolder;
use super::document::array_document;
use super::listed_lengths::names_of;
use super::lost::OpenArray;
use super::store_changes::AsOf;
use super::{Array, Create, Group, NodeKind, Spec, Store, groups_above, hierarchy, in_use, lookup, marker, path, place, transform};
use crate::codec::complete::compared;
use crate::dtype::DataType;
use crate::engine::{Growths, Memory, Selection};
use crate::error::{Result, err};
use crate::grid::key::KeyEncoding;
use crate::limits::{Dims, MAX_DOCUMENT, push, readable};
use crate::metadata::{ArrayMeta, Format, Map, Value, json, v2};
use crate::store::{SharedStore, StorageExt, get};
use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Writes the values of an array that has no document yet.
pub(super) type WriteValues<'a> = dyn Fn(&Array) -> Result<()> + 'a;

impl Array {
    /// Creates an array, and the groups above it that are missing. Its document is written last.
    pub fn create(store: &Store, path: &str, spec: &Spec, how: Create) -> Result<Array> {
        Array::create_with_values(store, (path, None), spec, how, None)
    }

    /// Creates an array like [`Array::create`] where nothing is, by a name that another program has given it: one that begins with `__` is kept.
    pub fn create_kept(store: &Store, path: &str, spec: &Spec) -> Result<Array> {
        Array::create_at(store, (hierarchy::kept_path(store, path)?, None), spec, Create::New, None)
    }

    /// Creates an array where nothing is, and writes all of it from `memory`: its values are stored before it is there.
    ///
    /// # Safety
    /// As for [`crate::engine::write`].
    pub unsafe fn create_from(store: &Store, path: &str, spec: &Spec, memory: &Memory) -> Result<Array> {
        // SAFETY: the caller vouches for the memory.
        let write_values = |array: &Array| unsafe { array.write(&Selection::all(&array.shape()), memory) };
        Array::create_with_values(store, (path, None), spec, Create::New, Some(&write_values))
    }

    /// Creates an array as [`Array::create`] does. What `write_values` writes into the new array, into all of it, is stored before its document:
    /// whatever ends the process, an array that is there has its values. `group`: the open one that it is in, if that is known.
    pub(super) fn create_with_values(
        store: &Store,
        (path, group): (&str, Option<&Group>),
        spec: &Spec,
        how: Create,
        write_values: Option<&WriteValues>,
    ) -> Result<Array> {
        Array::create_at(store, (hierarchy::new_path(store, path)?, group), spec, how, write_values)
    }

    /// As the function above, at a path that was checked.
    fn create_at(
        store: &Store,
        (path, group): (String, Option<&Group>),
        spec: &Spec,
        how: Create,
        write_values: Option<&WriteValues>,
    ) -> Result<Array> {
        // Over a network a look at an open group is a request. One that has gone is found when the array is there, and made again.
        let group = group.filter(|_| store.shared().capabilities().latency);
        let group = group.map(|group| groups_above::Enclosing::open_group(group.path(), group.format()));
        let enclosing = if group.is_none() && spec.own_format().is_none() { groups_above::enclosing(store, &path)? } else { group };
        let (meta, attributes) = spec.resolve(enclosing.map(|found| found.format))?;
        store.context().check_new_attributes(&attributes)?;
        let publish = |store: &Store, path: &str, _| publish(store, path, &meta, &attributes, write_values);
        let wanted = Wanted { meta: &meta, attributes: &attributes, leaves_fill: spec.leaves_fill() };
        let found = || existing(store, &path, &wanted, how);
        let (growths, open) = (Growths::default(), OnceCell::new());
        // Under the lock of the place: whoever takes it away from now on finds the array.
        let behind = || drop(open.set(OpenArray::new(store, &path, &growths, true)));
        let made = hierarchy::create(store, (&path, how), || Ok((meta.format, enclosing)), found, (publish, behind))?;
        let named = meta.dimension_names.iter().flatten().any(Option::is_some) || attributes.contains_key(v2::DIMENSIONS);
        let as_of = match made {
            ControlFlow::Break(array) => {
                store.note_there(&path, named);
                return Ok(array);
            }
            ControlFlow::Continue(as_of) => as_of,
        };
        store.note_named(&path, named);
        let open = open.into_inner().ok_or_else(|| err!(Internal, "an array was made and not noted"))?;
        Array::created((store, &path), meta, (&growths, open), as_of)
    }

    /// The array that a call has made at a path since the counts `as_of`, and noted as open.
    fn created((store, path): (&Store, &str), meta: ArrayMeta, (growths, open): (&Growths, Arc<OpenArray>), as_of: AsOf) -> Result<Array> {
        let was_taken = open.was_taken_since(as_of);
        let array = Array::made(store, path, meta, growths, open)?;
        // With the group that it is in.
        if was_taken && !lookup::is_there(store, path)? {
            array.lose();
        }
        Ok(array)
    }
}

/// Stores the documents of a new array, in the way of which nothing is, behind the values that `write_values` gives it. Returns the store's counts of
/// losses just before the documents.
fn publish(store: &Store, path: &str, meta: &ArrayMeta, attributes: &Map, write_values: Option<&WriteValues>) -> Result<AsOf> {
    let Some(write_values) = write_values else {
        erase_leftovers(store, path, meta, false)?;
        let as_of = store.as_of();
        return write_documents(store, path, meta, attributes).map(|()| as_of);
    };
    if store.shared().capabilities().swaps {
        // The put of the document would fail only after the values have replaced those of an array that has come since.
        hierarchy::refuse_existing(store, path)?;
    }
    erase_leftovers(store, path, meta, true)?;
    let above = path::parent(path).and_then(|group| NodeFolder::of(store, group));
    let is_away = || above.as_ref().map_or(Ok(false), |above| above.is_away(store));
    {
        let growths = Growths::default();
        let array = Array::made(store, path, meta.clone(), &growths, OpenArray::new(store, path, &growths, true))?;
        write_values(&array)?;
        array.finish_writes()?;
        // What storage transformers keep is stored before the array is there, too.
        store.transformed().flush()?;
        // Where the group went with values that were stored by then, the later ones are in a new folder.
        if is_away()? {
            return Err(place::taken_away(path));
        }
    }
    let as_of = store.as_of();
    write_documents(store, path, meta, attributes)?;
    // It may have gone between that look and the document, which is in a new folder then, without the values.
    if is_away()? && is_alone(store, path, meta)? {
        let prefix = path::prefix(path);
        store.shared().erase_prefix(&prefix).map_err(|e| e.at_key(prefix))?;
        return Err(place::taken_away(path));
    }
    Ok(as_of)
}

/// The array that is to be made.
struct Wanted<'a> {
    meta: &'a ArrayMeta,
    attributes: &'a Map,
    /// Its fill value is left to the library.
    leaves_fill: bool,
}

/// Looks for a node at `path`: returns the array to use instead of a new one, or `None` if nothing is in the way, or an error.
fn existing(store: &Store, path: &str, wanted: &Wanted<'_>, how: Create) -> Result<Option<Array>> {
    if how == Create::Overwrite {
        return Ok(None);
    }
    let Some(found) = hierarchy::found_on_create(store, path)? else { return Ok(None) };
    let kind = found.kind;
    if how == Create::New || kind != NodeKind::Array {
        return Err(hierarchy::exists(store, path, kind, ""));
    }
    let array = Array::quietly(store, path.to_string(), found)?;
    let there = array.state();
    // A new array says every parameter of its codecs; one that is there may leave some to what they mean.
    let plain = |meta: &ArrayMeta| ArrayMeta { codecs: compared(&meta.codecs, meta.data_type, meta.shape.len()), ..meta.clone() };
    let difference = match plain(&there.meta).difference(&plain(&as_there(&there.meta, wanted)?))? {
        None => difference_in_meaning(&array, wanted)?,
        difference => difference,
    };
    match difference {
        None => Ok(Some(array)),
        Some(text) => Err(hierarchy::exists(store, path, kind, &format!(" with {text}"))),
    }
}

/// An array that is wanted, as long as the one that is there: a length of 0 is that of one that is to be appended to, which may be longer by now.
/// Of texts and bytes the fill value is nothing, too, where the document has null, or 0 as of zarr-python 2. In version 2
/// a fill value that is left open is the type's own or null, by the names of dimensions and by the version of ozarr that made the array.
fn as_there(there: &ArrayMeta, &Wanted { meta, leaves_fill, .. }: &Wanted<'_>) -> Result<ArrayMeta> {
    let mut wanted = meta.clone();
    if there.shape.len() == wanted.shape.len() {
        wanted.shape.iter_mut().zip(&there.shape).filter(|(length, _)| **length == 0).for_each(|(length, now)| *length = *now);
    }
    let is_nothing = |meta: &ArrayMeta| matches!(meta.data_type, DataType::VarText | DataType::VarBytes) && meta.fill.value.is_empty();
    let element = |meta: &ArrayMeta| meta.fill.try_element(wanted.data_type);
    let left_open = leaves_fill && wanted.format == Format::V2 && wanted.data_type == there.data_type;
    let is_default = left_open && element(there)? == element(&wanted)?;
    if is_nothing(there) && is_nothing(&wanted) || is_default {
        wanted.fill = there.fill.clone();
    }
    Ok(wanted)
}

/// The attributes that say which values and times stored numbers are.
const MEANING: [&str; 5] = [FILL, "scale_factor", "add_offset", "units", "calendar"];

/// What is meant where one of them is missing.
fn meant_without(name: &str) -> Option<Value> {
    match name {
        "scale_factor" => Some(1.into()),
        "add_offset" => Some(0.into()),
        "calendar" => Some(Calendar::Standard.name().into()),
        _ => None,
    }
}

/// The first difference in what the elements of an array mean, of which the same document but for this may be wanted: in the names of dimensions
/// and in attributes, where they are given. All else the user may have set since.
fn difference_in_meaning(array: &Array, &Wanted { meta, attributes, .. }: &Wanted<'_>) -> Result<Option<String>> {
    let text = |names: &[Option<String>]| {
        json::to_compact(&Value::Array(names.iter().map(|name| name.clone().map_or(Value::Null, Value::from)).collect()))
    };
    let of_v2 = || names_of(attributes.get(v2::DIMENSIONS)?, meta.shape.len());
    let names = meta.dimension_names.clone().or_else(of_v2).filter(|names| names.iter().any(Option::is_some));
    if let Some(names) = names {
        let there = array.dimension_names()?;
        if names != there {
            return Ok(Some(format!("dimension names {} instead of {}", text(&there), text(&names))));
        }
    }
    // Writers state one element by several numbers.
    let element = |value: &Value| missing_value(meta.data_type, value).flatten();
    let calendar = |value: &Value| Calendar::parse(value.as_str()?).ok();
    for (name, wanted) in MEANING.iter().filter_map(|&name| Some((name, attributes.get(name)?))) {
        let (there, without) = (array.attributes().view()?.get(name).cloned(), meant_without(name));
        let is_meant = |there: &Value| match name {
            "calendar" => calendar(there).is_some() && calendar(there) == calendar(wanted),
            FILL => element(there).is_some() && element(there) == element(wanted),
            _ => false,
        };
        let means_wanted = |there: &Value| is_same(there, wanted) || is_meant(there);
        if there.as_ref().or(without.as_ref()).is_some_and(means_wanted) {
            continue;
        }
        let found = there.map_or_else(|| format!("no attribute {name}"), |there| format!("the attribute {name} {}", json::brief(&there)));
        return Ok(Some(format!("{found} instead of {}", json::brief(wanted))));
    }
    Ok(None)
}

/// Whether two values are the same, however their numbers are written.
fn is_same(a: &Value, b: &Value) -> bool {
    let whole = |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    match (a, b) {
        (Value::Number(_), Value::Number(_)) if whole(a).is_some() && whole(b).is_some() => whole(a) == whole(b),
        (Value::Number(_), Value::Number(_)) => a.as_f64().is_some() && a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        _ => a == b,
    }
}

/// Erases chunks without a document at the keys of the new array, which a kill while erasing leaves behind: they would be taken for the new
/// array's. Touches nothing else, unless a copy or a migration was begun there: all that it made goes, with its marker, which would say that the new
/// array is what it made. `all_written`: the new array's chunks are about to be stored, all of them. A store that cannot erase (a zip archive) keeps those of a
/// run that was killed until then; so does one without locks, where they may be those of another process that is about to store its document.
fn erase_leftovers(store: &Store, path: &str, meta: &ArrayMeta, all_written: bool) -> Result<()> {
    let (plain, chunks) = (store.shared(), transform::chunk_store(store, path, meta)?);
    let erase = |shared: &SharedStore| {
        let (found, marked) = leftovers(shared, path, meta, all_written)?;
        if marked && marker::is_begun(store, path)? {
            hierarchy::refuse_existing(store, path)?;
            in_use::refuse(store, path)?;
            store.shared().check_erase(&path::prefix(path))?;
            // Which says that it goes on, until all else is gone.
            hierarchy::erase_around(store, path, marker::COPY)?;
            return marker::erase(store, path, marker::COPY);
        }
        if !found.is_empty() {
            // Those of another process's array, which may be there by now, were stored after its document.
            hierarchy::refuse_existing(store, path)?;
        }
        found.iter().try_for_each(|key| shared.erase(key).map(drop).map_err(|e| e.at_key(key)))
    };
    erase(plain)?;
    if Arc::ptr_eq(plain, &chunks) { Ok(()) } else { erase(&chunks) }
}

/// The keys of chunks that are to be erased, and whether a marker is among the other keys.
pub(super) fn leftovers(shared: &SharedStore, path: &str, meta: &ArrayMeta, all_written: bool) -> Result<(Vec<String>, bool)> {
    let prefix = path::prefix(path);
    if !shared.capabilities().listable {
        return Ok((Vec::new(), false));
    }
    let (can, counts) = (shared.capabilities(), meta.grid.counts(&meta.shape));
    let kept = all_written && (!can.erasable || can.swaps);
    let is_inside = |chunk: &Dims| chunk.iter().zip(&counts).all(|(index, count)| index < count);
    let (mut found, mut marked) = (Vec::new(), false);
    let mut note = |key: &str| {
        let tail = key.strip_prefix(&prefix).unwrap_or_default();
        marked |= marker::ALL.contains(&tail);
        let index = meta.keys.parse(tail, meta.shape.len()).map_err(|e| e.at_key(key))?;
        // What would be taken for the only chunk of an array without dimensions (HD-53).
        let is_behind_c = meta.shape.is_empty() && matches!(tail.strip_suffix(meta.keys.suffix()), Some("c/0" | "c.0"));
        if is_behind_c || index.is_some_and(|chunk| !(kept && is_inside(&chunk))) {
            push(&mut found, key.to_string())?;
        }
        Ok(())
    };
    if let KeyEncoding::Registered(_) = meta.keys {
        shared.list(&prefix, &mut note)?;
    } else {
        let listing = shared.list_dir(&prefix)?;
        listing.keys.iter().try_for_each(|tail| note(&format!("{prefix}{tail}")))?;
        // Other folders cannot hold chunks, and may be large.
        for folder in listing.prefixes.iter().filter(|name| *name == "c" || name.bytes().all(|b| b.is_ascii_digit())) {
            shared.list(&format!("{prefix}{folder}/"), &mut note)?;
        }
    }
    Ok((found, marked))
}

/// Whether the document of a new array is at its place, without anything else: another process's array has values, or a document of its own.
fn is_alone(store: &Store, path: &str, meta: &ArrayMeta) -> Result<bool> {
    let (name, listing) = (array_document(meta.format), store.shared().list_dir(&path::prefix(path))?);
    let key = path::join(path, name);
    let text = get(&**store.shared(), &key, MAX_DOCUMENT)?;
    let now = text.map_or(Ok(None), |text| readable(json::parse_object(&text, MAX_DOCUMENT)))?;
    let is_own = now.is_some_and(|now| now == meta.document);
    Ok(is_own && listing.prefixes.is_empty() && listing.keys.iter().all(|key| key == name || key == v2::ATTRIBUTES))
}

/// Writes the documents of a new array, the one that makes it an array last.
pub(super) fn write_documents(store: &Store, path: &str, meta: &ArrayMeta, attributes: &Map) -> Result<()> {
    if meta.format == Format::V2 {
        hierarchy::publish_attributes(store, path, false, attributes)?;
    }
    hierarchy::publish_new(store, path, array_document(meta.format), &meta.document)
}
