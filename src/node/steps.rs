//! How many steps a run has that is opened again, and what is beyond them.

use super::claim::Claim;
use super::conventions::{Compared, Dataset};
use super::cut::is_longer;
use super::resize::slab;
use super::{Array, cut_watch, document, together};
use crate::engine::Memory;
use crate::error::{Result, bail};
use crate::limits::{MAX_DOCUMENT, collect, filled, try_collect};
use std::sync::{Mutex, PoisonError};

/// A variable along a dimension: its name, its array, and which of the array's dimensions it is.
type Along = (String, Array, usize);

/// Which variables along a dimension, whose documents were just read, came when the others had more steps, and took part in none since: consolidated
/// metadata tell more steps of others, which they do when all variables of a run have these, and of this one none or those of its document. One that a
/// call has cut, which was interrupted, had them; so had a coordinate that has values.
pub(super) fn came_late(along: &[Along], dimension: &str, compared: &Compared) -> Result<Vec<bool>> {
    let listed = |(name, _, d): &Along| compared.listed_shape(name)?.get(*d).copied();
    let listed: Vec<Option<u64>> = collect(along.iter().map(listed))?;
    let most = listed.iter().flatten().copied().max().unwrap_or(0);
    try_collect(along.iter().zip(listed).map(|(part, listed)| {
        let (_, array, d) = part;
        let length = array.shape()[*d];
        let is_behind = length > 0 && length < most && listed.is_none_or(|listed| listed == length);
        let was_cut = || Ok(array.interrupted_cut(array.rank())?.is_some_and(|left| is_longer(&left, &array.shape())));
        Ok(is_behind && !was_cut()? && !(is_coordinate(part, dimension) && has_values(array)?))
    }))
}

fn is_coordinate((name, array, _): &Along, dimension: &str) -> bool {
    name == dimension && array.rank() == 1
}

/// Whether the last elements of an array of rank 1 are others than the fill value. Those of a coordinate that was put differ from each other.
fn has_values(array: &Array) -> Result<bool> {
    let bound = array.state().bound(array.path())?;
    let (length, data_type) = (bound.shape[0], bound.data_type);
    if data_type.is_variable() {
        return Ok(true);
    }
    let count = length.min(2);
    let mut found = filled(0u8, data_type.size() * count as usize)?;
    // SAFETY: the memory lives as long as the call.
    unsafe { array.read(&slab(&bound.shape, 0, length - count, count)?, &Memory::of(&mut found, &[count], data_type)) }?;
    Ok(found.chunks(data_type.size()).any(|element| *element != *bound.fill))
}

/// The number of whole steps of variables along a dimension, of which the coordinate is the last. The coordinate's length tells, since it is
/// published when all others are; a shorter variable came from another program, and nothing of the others is cut off for it. Where it tells
/// nothing, all variables have the whole steps, but for those that have none yet: what is declared of one variable is stored of all; and but for those
/// that came `late`. One that was cut to nothing, by a call that was interrupted, has none any more.
fn steps_there(along: &[Along], dimension: &str, late: &[bool]) -> Result<u64> {
    let length = |(_, array, d): &Along| array.shape()[*d];
    match along.last() {
        Some(last) if is_coordinate(last, dimension) && length(last) > 0 && late.last() != Some(&true) => return Ok(length(last)),
        _ => {}
    }
    let whole = along.iter().zip(late).filter(|(part, late)| length(part) > 0 && !**late).map(|(part, _)| length(part)).min();
    let steps = whole.or(along.iter().map(length).filter(|&length| length > 0).min()).unwrap_or(0);
    for part in along.iter().filter(|part| steps > 0 && length(part) == 0) {
        if part.1.interrupted_cut(part.1.rank())?.is_some() {
            return Ok(0);
        }
    }
    Ok(steps)
}

/// The number of steps that a series begins behind: `keep`, or all that are whole. Errors: `Bounds` for fewer than `keep`.
pub(super) fn steps_kept(along: &[Along], dimension: &str, late: &[bool], keep: Option<u64>) -> Result<u64> {
    let there = steps_there(along, dimension, late)?;
    match keep {
        Some(keep) if keep > there => bail!(
            Bounds,
            "found {there} steps of {dimension:?}, expected {keep} to keep or more; restart from a checkpoint of {there} steps or fewer"
        ),
        _ => Ok(keep.unwrap_or(there)),
    }
}

/// Gives all variables along a dimension the length that a series begins behind, and tells it.
pub(super) fn cut(
    dataset: &Dataset,
    dimension: &str,
    (along, late): (&[Along], &[bool]),
    claims: &mut [Claim],
    keep: Option<u64>,
) -> Result<u64> {
    let note = || cut_watch::note(dataset.group().store(), dataset.group().path());
    note()?;
    claims.iter_mut().for_each(Claim::note_cut);
    // Another program that publishes a step at this moment makes no variable longer that was just cut. Of two, one gets the first variable.
    let (store, any_thread) = (dataset.group().store(), along.iter().all(|(_, array, _)| array.any_thread()));
    let mut parts = collect(along.iter().zip(&mut *claims).map(|((_, array, _), claim)| (array, claim)))?;
    let (first, others) = parts.split_at_mut(1.min(along.len()));
    first.iter_mut().try_for_each(|(array, claim)| put_claim(claim, array, false))?;
    together::for_each(store, any_thread, others, |(array, claim)| put_claim(claim, array, true))?;
    // What it has published before its variables were claimed counts.
    let position = steps_kept(along, dimension, late, keep)?;
    // Each step is written again before it is published, so where nothing can be erased it may stay.
    let keep_outside = !dataset.group().store().capabilities().erasable;
    let claims = collect(claims.iter_mut().map(Mutex::new))?;
    dataset.resize_along(dimension, position, keep_outside, |array, text| {
        let mine = along.iter().position(|(_, own, _)| own.path() == array.path()).and_then(|i| claims.get(i));
        let check = |claim: &Mutex<&mut Claim>| claim.lock().unwrap_or_else(PoisonError::into_inner).check(text);
        mine.map_or(Ok(()), check).map_err(|e| e.at_key(array.document_key()))
    })?;
    // Copies that began meanwhile may have read an array as it was before.
    claims.into_iter().for_each(|claim| claim.into_inner().unwrap_or_else(PoisonError::into_inner).note_cut());
    note().map(|()| position)
}

/// Claims an array now, where claims are needed: it is what its document says then. `over`: from whoever has claimed it since its document was read.
fn put_claim(claim: &mut Claim, array: &Array, over: bool) -> Result<()> {
    if !claim.is_due() {
        return Ok(());
    }
    let (store, key) = (array.store(), array.document_key());
    document::change(store, array.path(), document::array_document(array.format()), || {
        let (fresh, mut text, condition) = array.read_to_change()?;
        if over {
            claim.take_over(&text);
        }
        claim.check(&text).map_err(|e| e.at_key(key.clone()))?;
        if claim.is_due() {
            claim.mark(&mut text);
            fresh.while_there(|| document::publish_text(store, &key, &text, MAX_DOCUMENT, condition))?;
        }
        array.renew(fresh, None)
    })
}
