//! Compare and swap: changes of keys that other processes may change at the same time, in stores without locks whose puts have conditions.
//!
//! What is changed is put on the condition that the key still holds what was read. Where another writer was faster the whole change, from the
//! reading on, is made again after a random time.

use super::opened::Object;
use super::{ByteRange, Condition, Storage, get, start_and_wait};
use crate::error::{Error, ErrorKind, Result, err};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// How often a change is made again: each time another one succeeded.
const MOST: u32 = 200;
/// The bound of the first wait, and of the longest.
const FIRST_WAIT: Duration = Duration::from_millis(4);
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// Gives the condition on which a change of what was opened may be put.
pub fn condition_of(store: &dyn Storage, found: Option<&Object>) -> Result<Condition> {
    match found {
        _ if !store.capabilities().swaps => Ok(Condition::None),
        None => Ok(Condition::Absent),
        Some(object) => Ok(Condition::Match(object.version()?)),
    }
}

/// Reads all bytes of a key that is to be changed (at most `max`), and gives the condition on which the change may be put.
pub fn read_to_change(store: &dyn Storage, key: &str, max: usize) -> Result<(Option<Vec<u8>>, Condition)> {
    if !store.capabilities().swaps {
        return Ok((get(store, key, max)?, Condition::None));
    }
    let read = start_and_wait(store, key, &[ByteRange::up_to(max)], None);
    let Some(fetched) = read.map_err(|e| e.at_key(key))? else { return Ok((None, Condition::Absent)) };
    let bytes = fetched.parts.into_iter().next().unwrap_or_default();
    if bytes.len() > max {
        return Err(err!(Limit, "found {} bytes, the limit is {max}", bytes.len()).at_key(key));
    }
    Ok((Some(bytes), Condition::Match(fetched.version)))
}

/// Says whether a change failed because another writer was faster.
pub fn is_overtaken<T>(store: &dyn Storage, result: &Result<T>) -> bool {
    matches!(result, Err(e) if e.kind() == ErrorKind::Conflict) && store.capabilities().swaps
}

/// Makes a change, from reading to putting, until no other writer is faster.
pub fn make<T>(store: &dyn Storage, change: impl FnMut() -> Result<T>) -> Result<T> {
    repeat(store, change, true)
}

/// Makes a change like [`make`] that would be another one when it is made twice. Where it may have been made already, its answer lost, and another
/// writer came behind it, that is the error.
pub fn make_once<T>(store: &dyn Storage, change: impl FnMut() -> Result<T>) -> Result<T> {
    repeat(store, change, false)
}

fn repeat<T>(store: &dyn Storage, mut change: impl FnMut() -> Result<T>, twice: bool) -> Result<T> {
    let mut bound = FIRST_WAIT;
    for _ in 0..MOST {
        let result = change();
        if !is_overtaken(store, &result) || !twice && is_unsure(&result) {
            return result;
        }
        bound = wait(bound);
    }
    change().map_err(given_up)
}

/// Says whether a change may have been made in spite of its error.
pub fn is_unsure<T>(result: &Result<T>) -> bool {
    result.as_ref().is_err_and(Error::is_unsure)
}

/// Waits for a random time up to a bound, and gives that of the next wait.
fn wait(bound: Duration) -> Duration {
    let random = RandomState::new().hash_one(MOST) >> 11;
    std::thread::sleep(bound.mul_f64(random as f64 / (1u64 << 53) as f64));
    (bound * 2).min(LONGEST_WAIT)
}

fn given_up(e: Error) -> Error {
    if e.kind() == ErrorKind::Conflict { e.with_note(&format!("; others were faster {MOST} times")) } else { e }
}
