//! How many steps a run has that is opened again, and what is beyond them.

use super::claim::Claim;
use super::conventions::Dataset;
use super::{Array, cut_watch, document, together};
use crate::error::{Result, bail};
use crate::limits::{MAX_DOCUMENT, collect};
use std::sync::{Mutex, PoisonError};

/// The number of whole steps of variables along a dimension, of which the coordinate is the last. The coordinate's length tells, since it is
/// published when all others are; a shorter variable came from another program, and nothing of the others is cut off for it. Where it tells
/// nothing, all variables have the whole steps, but for those that have none yet: what is declared of one variable is stored of all. One that
/// was cut to nothing, by a call that was interrupted, has none any more.
fn steps_there(along: &[(String, Array, usize)], dimension: &str) -> Result<u64> {
    let length = |(_, array, d): &(String, Array, usize)| array.shape()[*d];
    match along.last() {
        Some(last) if last.0 == dimension && last.1.rank() == 1 && length(last) > 0 => return Ok(length(last)),
        _ => {}
    }
    let steps = along.iter().map(length).filter(|&length| length > 0).min().unwrap_or(0);
    for part in along.iter().filter(|part| steps > 0 && length(part) == 0) {
        if part.1.interrupted_cut(part.1.rank())?.is_some() {
            return Ok(0);
        }
    }
    Ok(steps)
}

/// The number of steps that a series begins behind: `keep`, or all that are whole. Errors: `Bounds` for fewer than `keep`.
pub(super) fn steps_kept(along: &[(String, Array, usize)], dimension: &str, keep: Option<u64>) -> Result<u64> {
    let there = steps_there(along, dimension)?;
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
    along: &[(String, Array, usize)],
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
    let position = steps_kept(along, dimension, keep)?;
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
