//! Asking for single dimensions, changing the length of one, and waiting for another program that does.

use super::Dataset;
use crate::error::{ErrorKind, Result, bail};
use crate::limits::{collect, make_room};
use crate::node::dimensions::Dimension;
use crate::node::listed_lengths::Lengths;
use crate::node::resize::{Outside, Reshaped};
use crate::node::watch::Pauses;
use crate::node::{Array, path, together, upkeep};
use crate::sort::sort_by;
use std::time::{Duration, Instant};

/// A variable along a dimension whose length changes.
struct Resized<'a> {
    array: &'a Array,
    /// Which of its dimensions is that one.
    is_along: Vec<bool>,
    /// It gets the length behind the others.
    is_late: bool,
    done: Reshaped,
}

impl Dataset {
    /// How many dimensions there are.
    pub(crate) fn dimension_count(&self) -> Result<usize> {
        self.settle()?;
        self.renew_names()?;
        Ok(self.0.state.read(|state| state.defined.len()))
    }

    /// A dimension by its number, below the count that was given last.
    pub(crate) fn dimension_at(&self, index: usize) -> Option<Dimension> {
        self.0.state.read(|state| state.dimension_at(index))
    }

    /// Changes the length of a dimension: all variables along it are resized, those of other programs, too. Readers that go by consolidated metadata see all lengths
    /// change at once. After an error some are resized, and the call may be repeated.
    pub fn resize_dimension(&self, name: &str, length: u64) -> Result<()> {
        self.find_new()?;
        self.dimension(name)?;
        self.note_root();
        self.resize_along(name, length, false, |_, _| Ok(()))
    }

    /// As [`Dataset::resize_dimension`] of a dimension that is there; with `keep_outside` chunks beyond the length stay. `check` may refuse a
    /// variable by the text of its document.
    pub(in crate::node) fn resize_along(
        &self,
        name: &str,
        length: u64,
        keep_outside: bool,
        check: impl Fn(&Array, &[u8]) -> Result<()> + Sync,
    ) -> Result<()> {
        let (store, along, mut parts, mut changes) = (self.group().store(), self.along(name)?, Vec::new(), Vec::new());
        let any_thread = along.iter().all(|(_, array, _)| array.any_thread());
        make_room(&mut parts, along.len())?;
        make_room(&mut changes, along.len())?;
        for (variable, array, d) in &along {
            // The coordinate tells how many steps are whole: it becomes longer last, and shorter first.
            let is_late = (variable == name) == (array.shape()[*d] < length);
            // A variable may have the dimension twice.
            let is_along: Vec<bool> = collect(array.dimension_names()?.iter().map(|there| there.as_deref() == Some(name)))?;
            let dims = (0..is_along.len()).filter(|&d| is_along[d]);
            changes.push((array.path(), dims.fold(Lengths::NONE, |told, d| told.and(Lengths::along(d)))));
            parts.push(Resized { array, is_along, is_late, done: Reshaped { is_cut: false, settled: Ok(()) } });
        }
        sort_by(&mut parts, |a, b| a.is_late.cmp(&b.is_late));
        let early = parts.iter().filter(|part| !part.is_late).count();
        let (early, late) = parts.split_at_mut(early);
        let outside = if keep_outside { Outside::KeptBySeries } else { Outside::Erased };
        for parts in [early, late] {
            together::for_each(store, any_thread, parts, |Resized { array, is_along, done, .. }| {
                // The others stay as long as they are there, whatever this handle knows.
                let resized = |now: &[u64]| now.iter().zip(&*is_along).map(|(&n, along)| if *along { length } else { n }).collect();
                *done = array.resize_document(|now, text| check(array, text).map(|()| resized(now)), outside)?;
                Ok(())
            })?;
        }
        let told = match parts.iter().any(|part| part.done.is_cut) {
            true => upkeep::after_changes_now(store, &changes, None),
            false => upkeep::after_changes(store, &changes, None),
        };
        let settled = parts.iter_mut().try_for_each(|part| std::mem::replace(&mut part.done.settled, Ok(())));
        settled.and(told)?;
        parts.retain(|part| part.done.is_cut);
        together::for_each(store, any_thread, &mut parts, |Resized { array, .. }| {
            array.erase_beyond(&|text| check(array, text), &mut |_, _| Ok(()))
        })?;
        self.0.state.write(|state| state.defined.iter_mut().filter(|(there, _)| there == name).for_each(|(_, old)| *old = length));
        Ok(())
    }

    /// Waits until all variables along a dimension are longer than `beyond`, and gives the length that all have then, which is that of these
    /// handles from then on. A dimension without variables is 0 long: those that other programs define are looked for, as are further ones when
    /// the first steps came. Errors: those of [`Array::wait_growth`].
    pub fn wait_growth(&self, name: &str, beyond: u64, timeout: Duration) -> Result<u64> {
        let began = Instant::now();
        self.settle()?;
        self.wait_for_variables(name, beyond, timeout)?;
        let mut is_new = self.known_dimension(name)?.length == 0;
        loop {
            let mut is_cut = false;
            for (_, array, d) in self.along(name)? {
                let known = array.shape()[d];
                is_cut |= array.wait_growth(d, beyond, timeout.saturating_sub(began.elapsed()))? < known;
            }
            // A run has all of its variables when its first steps are published.
            if std::mem::take(&mut is_new) {
                self.find_new()?;
                continue;
            }
            // Those that were looked at before may be cut, too.
            if !is_cut {
                return Ok(self.known_dimension(name)?.length);
            }
        }
    }

    /// Waits until a variable has the dimension, which another program may define any time.
    fn wait_for_variables(&self, name: &str, beyond: u64, timeout: Duration) -> Result<()> {
        let mut pauses = Pauses::new(self.group().store(), timeout);
        // One that this handle has defined is as long as that, without a variable.
        let is_long = || self.known_dimension(name).is_ok_and(|there| there.length > beyond);
        while !self.has_along(name) && !is_long() {
            // The coordinate is found by its name in stores that do not list, too.
            match self.variable(name) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                found if found.is_ok() && self.has_along(name) => break,
                _ => {}
            }
            self.find_new()?;
            if !self.has_along(name) && !pauses.sleep() {
                let missing = self
                    .known_dimension(name)
                    .map_or_else(|e| e.message().to_string(), |_| format!("no variable has the dimension {name:?}"));
                bail!(Timeout, "{missing} in {} after {timeout:?}, expected one longer than {beyond}", path::display(self.group().path()));
            }
        }
        Ok(())
    }
}
