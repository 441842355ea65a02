//! The steps of a run: all variables along one dimension of a dataset grow together, and readers see the steps that all of them have.
//!
//! What is published has an order that a kill may cut anywhere: first the chunks of all variables, made durable; then their documents, that
//! of the coordinate last; then the consolidated metadata, in which the lengths of all change at once.

mod lengths;
mod taking;
mod values;

use super::appender::Appender;
use super::claim::Claim;
use super::conventions::{Compared, Dataset};
use super::resize::slab;
use super::state::ArrayState;
use super::steps::{came_late, cut, steps_kept};
use super::told_length::ToldLength;
use super::{Array, document, path, together};
use crate::counting;
use crate::dtype::DataType;
use crate::engine::Memory;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{collect, make_room, push, try_collect};
use crate::store::ProcessLock;
use std::sync::Arc;

/// A dataset that grows step by step along one dimension. Used by one thread at a time, and the only one that changes this length.
pub struct Series {
    dataset: Dataset,
    dimension: String,
    /// The variables along the dimension; its coordinate, if there is one, is the last.
    parts: Vec<SeriesArray>,
    has_coordinate: bool,
    /// How often the dataset's variables had changed when `parts` was made.
    known: u64,
    /// The most bytes that waiting steps may take; 0: as many as are needed.
    memory: usize,
    /// Steps are published when the position passes a multiple of this.
    every: u64,
    /// The number of steps that were taken.
    position: u64,
    /// The number of steps that all documents and the consolidated metadata have.
    published: u64,
    /// The number of steps of others that were to be published last: where that failed midway, some documents have them.
    declared: u64,
    /// What consolidated metadata are told while the documents differ.
    told: ToldLength,
    /// The last values of the coordinate, as far as they are known; the newest is the last.
    values: [Option<f64>; 2],
    /// Keeps other series of the dimension out, where the store has locks. Dropped after all is published.
    _alone: Option<ProcessLock>,
}

struct SeriesArray {
    name: String,
    /// Which of its dimensions is that of the series.
    dim: usize,
    appender: Appender,
    /// Its values of the next step were given to [`Series::step_with`], which failed after that: they are not taken again.
    kept: bool,
    /// Of the coordinate: its value of the next step, where it was put and is a number.
    value: Option<f64>,
}

impl SeriesArray {
    /// `memory` is that of the series, of which each variable has what it needs.
    fn new(name: String, array: &Array, d: usize, (claim, memory): (Claim, usize)) -> Result<SeriesArray> {
        array.note_claim(&claim);
        let appender = Appender::silent(array, d, claim, memory > 0).map_err(|e| e.with_note(&format!(" (the variable {name:?})")))?;
        Ok(SeriesArray { name, dim: d, appender, kept: false, value: None })
    }

    fn is_coordinate(&self, dimension: &str) -> bool {
        self.name == dimension && self.appender.array().rank() == 1
    }

    /// Fills the steps before `end` that were left out.
    fn fill_to(&mut self, end: u64) -> Result<()> {
        match end.checked_sub(self.appender.position().0) {
            None | Some(0) => Ok(()),
            Some(missing) => self.appender.skip(missing),
        }
    }
}

/// Checks that an array has the name of dimension `d` once: steps are slabs along one dimension.
fn check_once(name: &str, array: &Array, d: usize) -> Result<()> {
    let names = array.dimension_names()?;
    match names.get(d) {
        Some(Some(own)) if names.iter().flatten().filter(|there| *there == own).count() > 1 => {
            bail!(Unsupported, "the variable {name:?} has the dimension {own:?} more than once, along which no single step can be written")
        }
        _ => Ok(()),
    }
}

impl Series {
    /// Opens the steps of a dataset along a dimension behind the first `keep` of them, or behind the last one that is whole (`steps_there`);
    /// what is beyond is cut off, and shorter variables have what is stored there, else the fill value. The steps are published when their number passes a multiple of `every`; 0: of the depth of the chunks of variables with further
    /// dimensions, the largest one. At most `memory` bytes are used for steps that wait (0: as many as are needed).
    ///
    /// Errors: those of [`Appender::open`]; `Argument` if no variable has the dimension; `Unsupported` if one has it twice; `Bounds` for fewer than `keep` steps; `Again` while
    /// another series of the dimension is open, in any process.
    pub fn open(dataset: &Dataset, dimension: &str, keep: Option<u64>, every: u64, memory: usize) -> Result<Series> {
        dataset.group().store().check_writable()?;
        dataset.find_new()?;
        dataset.renew_names()?;
        dataset.known_dimension(dimension)?;
        let known = dataset.variable_changes();
        let mut along = dataset.along(dimension)?;
        if along.is_empty() {
            bail!(Argument, "no variable has the dimension {dimension:?}; define them first");
        }
        along.iter().try_for_each(|(name, array, d)| check_once(name, array, *d))?;
        let _alone = lock_alone(dataset, dimension)?;
        dataset.note_growing(dimension);
        if let Some(own) = along.iter().position(|(name, array, _)| name == dimension && array.rank() == 1) {
            along[own..].rotate_left(1);
        }
        let seen = collect(along.iter().map(|(_, array, _)| array.state()))?;
        let mut compared = dataset.compare(Some(dimension))?;
        let mut claims = claims_of(&along, seen, &mut compared)?;
        let late = came_late(&along, dimension, &compared)?;
        let mut position = steps_kept(&along, dimension, &late, keep)?;
        if along.iter().any(|(_, array, d)| array.shape()[*d] != position) {
            // What cannot be opened stays as it is.
            let unclaimed = || Claim::new(false, Vec::new());
            let parts = along.iter().map(|(name, array, d)| SeriesArray::new(name.clone(), array, *d, (unclaimed(), memory)));
            check_memory(&try_collect(parts)?, memory)?;
            position = cut(dataset, dimension, (&along, &late), &mut claims, keep)?;
        }
        let mut parts = Vec::new();
        for ((name, array, d), claim) in along.into_iter().zip(claims) {
            push(&mut parts, SeriesArray::new(name, &array, d, (claim, memory))?)?;
        }
        check_memory(&parts, memory)?;
        let has_coordinate = parts.last().is_some_and(|part| part.is_coordinate(dimension));
        let every = if every == 0 { depth_of(&parts) } else { every };
        let (dataset, dimension, mut told) = (dataset.clone(), dimension.to_string(), ToldLength::new(position));
        parts.iter().try_for_each(|part| told.add(part.appender.array(), part.dim))?;
        let (published, values) = (position, [None; 2]);
        let mut series = Series {
            dataset,
            dimension,
            parts,
            has_coordinate,
            known,
            memory,
            every,
            position,
            published,
            declared: 0,
            told,
            values,
            _alone,
        };
        series.dataset.consolidate_for_growth(compared.differing)?;
        // Consolidated metadata say the lengths of all variables by now.
        let (store, any_thread) = (series.dataset.group().store(), series.any_thread());
        together::for_each(store, any_thread, &mut series.parts, |part| part.appender.finish_cut())?;
        series.read_values()?;
        Ok(series)
    }

    /// The number of steps that were taken, and how many of them readers see.
    pub fn position(&self) -> (u64, u64) {
        (self.position, self.published)
    }

    /// Takes a variable's values of the step that comes next, of which `memory` says where they are: the strides are those of the
    /// array's shape with one step. Steps before it that the variable lacks get the fill value. After an error nothing is taken.
    ///
    /// Errors: `NotFound`; `State` if it has its values of this step already.
    ///
    /// # Safety
    /// As for [`crate::engine::write`].
    pub unsafe fn put(&mut self, name: &str, memory: impl FnOnce(&Array, &[u64]) -> Result<Memory>) -> Result<()> {
        self.look_for(name)?;
        self.take_late()?;
        let index = self.index_of(name)?;
        if self.is_given(index) {
            return Err(self.given_twice(index));
        }
        let memory = memory(self.parts[index].appender.array(), &self.parts[index].appender.shape_of(1))?;
        // SAFETY: forwarded from the caller.
        unsafe {
            let value = self.value_in(index, &memory)?;
            self.take(index, &memory)?;
            self.parts[index].value = value;
        }
        Ok(())
    }

    /// Ends a step: gives the coordinate its value, unless that was put, and publishes if it is time. After an error the position says
    /// whether the step was taken; if it was, publishing is tried again with the next one.
    ///
    /// Errors: `Argument` for a value that is not beyond those before; `Range` for one that the coordinate cannot hold, or not tell from the one before.
    pub fn step(&mut self, value: f64) -> Result<()> {
        let Some(next) = self.position.checked_add(1) else { bail!(Limit, "2^64 steps") };
        self.take_late()?;
        if let Some(index) = self.coordinate() {
            if !self.is_given(index) {
                self.check_value(value)?;
                let mut number = value;
                // SAFETY: the number lives as long as the call.
                unsafe { self.take(index, &numbers(std::slice::from_mut(&mut number))) }?;
                self.parts[index].value = Some(value);
            }
            if let Some(value) = self.parts[index].value.take() {
                self.values = [self.values[1], Some(self.as_stored(value))];
            }
        }
        self.parts.iter_mut().for_each(|part| part.kept = false);
        self.position = next;
        if next / self.every > self.published / self.every { self.publish() } else { Ok(()) }
    }

    /// Takes the values of the variables `names`, of which `memory` says where each of them is, as [`Series::put`] does, and ends the step as
    /// [`Series::step`] does. All arguments are checked before anything is taken. After an error that leaves the step open the call may be
    /// repeated; the variables that were taken keep their values.
    ///
    /// # Safety
    /// As for [`crate::engine::write`].
    pub unsafe fn step_with(
        &mut self,
        value: f64,
        names: &[&str],
        mut memory: impl FnMut(usize, &Array, &[u64]) -> Result<Memory>,
    ) -> Result<()> {
        names.iter().try_for_each(|name| self.look_for(name))?;
        // Those that come late move others: indices are taken after that.
        self.take_late()?;
        let mut given: Vec<(usize, Memory, Option<f64>)> = Vec::new();
        make_room(&mut given, names.len())?;
        for (i, name) in names.iter().enumerate() {
            let index = self.index_of(name)?;
            let part = &self.parts[index];
            if given.iter().any(|(other, ..)| *other == index) || (self.is_given(index) && !part.kept) {
                return Err(self.given_twice(index));
            }
            let found = memory(i, part.appender.array(), &part.appender.shape_of(1));
            let checked = found.and_then(|memory| part.appender.check(&memory).map(|()| memory));
            let memory = checked.map_err(|e| e.with_note(&format!(" (the variable {name:?})")))?;
            // SAFETY: forwarded from the caller.
            let value = unsafe { self.value_in(index, &memory) }?;
            given.push((index, memory, value));
        }
        if self.coordinate().is_some_and(|index| !self.is_given(index) && given.iter().all(|(other, ..)| *other != index)) {
            self.check_value(value)?;
        }
        given.retain(|(index, ..)| !self.is_given(*index));
        // SAFETY: forwarded from the caller.
        unsafe { self.take_all(given) }?;
        self.step(value)
    }

    /// Publishes the steps before `end`, which others have stored and made durable; this series has none of its own that wait. First, and
    /// with the number of steps that are published at any time, it finds out whether the variables are as it knows them, and claims them.
    ///
    /// Errors: `State` if another program has made them longer, claimed or replaced them: nothing is to be stored then.
    pub fn declare(&mut self, end: u64) -> Result<()> {
        let (taken, published) = (self.position, self.published);
        self.dataset.renew_names()?;
        self.take_late()?;
        // A variable whose document alone has steps of others, as publishing failed behind it, has none of ours.
        let most = taken.max(self.declared);
        let is_ahead = |part: &SeriesArray| {
            let (own, stored) = part.appender.position();
            own > stored || own > most
        };
        if taken > published || self.parts.iter().any(is_ahead) {
            bail!(State, "the series has steps of its own that wait; publish them before those of others");
        }
        if end < published {
            bail!(Argument, "found the end {end}, expected the {published} steps that are published, or more");
        }
        let longest = self.longest();
        let looked = self.claim_by(|appender| appender.look_again(end));
        looked.inspect_err(|_| self.end_at_longest(longest))?;
        if end == published {
            return Ok(());
        }
        self.declared = self.declared.max(end);
        self.publish_documents(end, Appender::declare_stored).inspect_err(|_| self.end_at_longest(longest))?;
        (self.position, self.published) = (end, end);
        Ok(())
    }

    /// The index of the coordinate.
    fn coordinate(&self) -> Option<usize> {
        self.parts.len().checked_sub(1).filter(|_| self.has_coordinate)
    }

    /// Takes the variables that were defined since the series was opened: they have the fill value in the steps before. Without them the dataset
    /// would stay as long as they are, and the next series would cut off what the others have beyond.
    ///
    /// Errors: `State` where another program has made the others longer, of which the dataset that defined them knew nothing.
    fn take_late(&mut self) -> Result<()> {
        let known = self.dataset.variable_changes();
        if known == self.known {
            return Ok(());
        }
        let mut late = Vec::new();
        for (name, array, d) in self.dataset.along(&self.dimension)? {
            if self.parts.iter().all(|part| part.name != name) {
                check_once(&name, &array, d)?;
                let mark = Appender::prepare(&array, None)?;
                let claim = Claim::new(array.store().shared().capabilities().swaps, mark);
                let mut part = SeriesArray::new(name, &array, d, (claim, self.memory))?;
                part.appender.finish_cut()?;
                push(&mut late, part)?;
            }
        }
        // One that is longer was not defined by this program's dataset.
        if late.iter().any(|part| part.appender.position().1 <= self.published) {
            self.look_at_length()?;
        }
        check_memory(self.parts.iter().chain(&late), self.memory)?;
        late.iter().try_for_each(|part| self.told.add(part.appender.array(), part.dim))?;
        make_room(&mut self.parts, late.len())?;
        for part in late {
            let is_coordinate = part.is_coordinate(&self.dimension);
            let place = self.coordinate().unwrap_or(self.parts.len());
            self.parts.insert(place, part);
            self.has_coordinate |= is_coordinate;
        }
        self.known = known;
        Ok(())
    }

    /// Lets the dataset look for a variable that another program defined.
    fn look_for(&self, name: &str) -> Result<()> {
        if self.parts.iter().all(|part| part.name != name) {
            self.dataset.variable(name)?;
            self.dataset.renew_names()?;
        }
        Ok(())
    }

    /// The index of a variable that has the dimension, until others come late.
    fn index_of(&self, name: &str) -> Result<usize> {
        if let Some(index) = self.parts.iter().position(|part| part.name == name) {
            return Ok(index);
        }
        bail!(Argument, "the variable {name:?} does not have the dimension {:?}", self.dimension)
    }

    /// Whether a variable has its values of the next step.
    fn is_given(&self, index: usize) -> bool {
        self.parts[index].appender.position().0 > self.position
    }

    fn given_twice(&self, index: usize) -> Error {
        let step = counted(self.position);
        err!(State, "the variable {:?} has its values of step {step} already; end the step first", self.parts[index].name)
    }

    /// Stores and publishes all steps, and makes both durable as far as the store's mode promises it.
    pub fn flush(&mut self) -> Result<()> {
        self.publish()?;
        let late = self.take_late();
        let flushed = self.dataset.group().flush();
        late.and(flushed)
    }

    /// Flushes like [`Series::flush`], as the last call; what closing the dataset brings up to date is by this call where the dataset is closed.
    pub fn close(&mut self) -> Result<()> {
        self.publish_or("are lost")?;
        let late = self.publish_late();
        let open = self.take_back();
        let group = self.dataset.group();
        let flushed = if self.dataset.is_shared() { group.flush() } else { group.close() };
        late.and(open).and(flushed)
    }

    fn publish(&mut self) -> Result<()> {
        self.publish_or("wait: the next step, flush or close publishes them")
    }

    /// Publishes all steps; an error says what becomes of them.
    fn publish_or(&mut self, what: &str) -> Result<()> {
        let (end, published) = (self.position, self.published);
        if end == published {
            return Ok(());
        }
        let late = self.dataset.renew_names().and_then(|()| self.take_late());
        let longest = self.longest();
        let done = self.publish_until(end).inspect_err(|_| self.end_at_longest(longest));
        let done = done.map_err(|e| match is_of_store(&e) {
            true => e.with_note(&format!(" (readers see {published} steps, {} more {what})", end - published)),
            false => e,
        });
        done.and(late)
    }

    /// Publishes the steps before `end` of all variables that have fewer.
    fn publish_until(&mut self, end: u64) -> Result<()> {
        self.claim()?;
        let any_thread = self.any_thread();
        together::for_each(self.dataset.group().store(), any_thread, &mut self.parts, |part| {
            part.fill_to(end)?;
            part.appender.store(end)
        })?;
        self.parts.iter().try_for_each(|part| part.appender.array().flush_store())?;
        self.publish_documents(end, Appender::declare)?;
        self.published = end;
        Ok(())
    }

    /// Whether threads that are not inside of a call may work on all variables.
    fn any_thread(&self) -> bool {
        self.parts.iter().all(|part| part.appender.array().any_thread())
    }

    /// Reads the coordinate's last values, where they are numbers: without them no step that goes back would be found.
    fn read_values(&mut self) -> Result<()> {
        let Some(part) = self.parts.last().filter(|_| self.has_coordinate) else { return Ok(()) };
        let count = self.position.min(2);
        let mut found = [0.0; 2];
        let selection = slab(&[self.position], 0, self.position - count, count)?;
        // SAFETY: the memory lives as long as the call.
        match unsafe { part.appender.array().read(&selection, &numbers(&mut found[..count as usize])) } {
            Err(e) if e.kind() == ErrorKind::Type => return Ok(()),
            read => read?,
        }
        // Steps before it was defined have the fill value.
        let value = |i: usize| found.get(i).copied().filter(|x| (i as u64) < count && !x.is_nan());
        self.values = if count == 1 { [None, value(0)] } else { [value(0), value(1)] };
        Ok(())
    }
}

/// Errors: `Again` if another series of the dimension is open, whose steps would be written over.
fn lock_alone(dataset: &Dataset, dimension: &str) -> Result<Option<ProcessLock>> {
    let group = dataset.group();
    document::lock_alone(group.store(), group.path(), dimension).map_err(|e| match e.kind() {
        ErrorKind::Again => err!(
            Again,
            "another series of {dimension:?} in {} is open, here or in another process; open this one when that one is closed or its process \
             has ended: nothing was changed",
            path::display(group.path())
        ),
        _ => e,
    })
}

/// The number of a step, as the program that reads the message counts.
fn counted(step: u64) -> counting::Marked<'static> {
    counting::position(step as i64)
}

/// Whether the store failed in a way that may pass, such as a full disk: what waits is kept for another try.
fn is_of_store(e: &Error) -> bool {
    use ErrorKind::{Io, Network, NoMemory, NoSpace, Partial, Permission, Throttled, Timeout, TooManyFiles};
    matches!(e.kind(), Io | Network | NoMemory | NoSpace | Partial | Permission | Throttled | Timeout | TooManyFiles)
}

/// What claims the variables, whose documents were read while they had the states `seen`, before their first step.
fn claims_of(along: &[(String, Array, usize)], seen: Vec<Arc<ArrayState>>, compared: &mut Compared) -> Result<Vec<Claim>> {
    let mut found = |array: &Array, seen| compared.documents.remove(array.path()).map(|found| (seen, found));
    try_collect(along.iter().zip(seen).map(|((_, array, _), seen)| {
        let mark = Appender::prepare(array, found(array, seen))?;
        Ok(Claim::new(array.store().shared().capabilities().swaps, mark))
    }))
}

/// The depth of the chunks: the largest of variables that have further dimensions, else of all.
fn depth_of(parts: &[SeriesArray]) -> u64 {
    let deepest = |least: usize| parts.iter().filter(|p| p.appender.array().rank() >= least).map(|p| p.appender.depth()).max();
    deepest(2).or(deepest(1)).unwrap_or(1)
}

/// Errors: `Limit` if the steps that wait may need more.
fn check_memory<'a>(parts: impl IntoIterator<Item = &'a SeriesArray>, memory: usize) -> Result<()> {
    let needed = parts.into_iter().fold(0usize, |sum, part| sum.saturating_add(part.appender.needed()));
    if memory > 0 && needed > memory {
        bail!(Limit, "found a limit of {memory} bytes, expected at least {needed}: one chunk along the dimension across each variable");
    }
    Ok(())
}

/// Numbers as the memory of a region of rank 1.
fn numbers(values: &mut [f64]) -> Memory {
    let shape = [values.len() as u64];
    Memory::of(values, &shape, DataType::Float64)
}
