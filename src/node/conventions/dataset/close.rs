//! What is written when a dataset is closed: which variables are coordinates, what waits of them, consolidated metadata.

use super::{Dataset, DatasetState};
use crate::error::{Result, err};
use crate::node::conventions::coordinates;
use crate::node::dimensions::Dimension;
use crate::node::{Array, document};

impl Dataset {
    /// Checks that arrays agree on the lengths of their dimensions, as one that was appended to may not. While a series of the dimension is open,
    /// in any process, they differ between two documents of a publication, between which this process may have read them, too. What a killed
    /// run left is no error: the series that goes on brings it in step.
    fn check(&self) -> Result<()> {
        let differ = self.differences();
        if differ.is_empty() {
            return Ok(());
        }
        let known = self.0.state.read(|state| state.variables.clone());
        known.iter().filter(|v| differ.iter().any(|(of, _)| v.dimensions.contains(&of.name))).try_for_each(|v| v.array.read_again())?;
        let found = self.0.state.read(|state| state.found_differences.clone());
        match self.differences().into_iter().find(|(dimension, _)| !found.contains(dimension)) {
            Some((_, text)) => {
                Err(err!(Metadata, "{text}; a series that is opened along it brings them in step, or resize the dimension to one of them"))
            }
            None => Ok(()),
        }
    }

    /// The dimensions along which arrays differ as far as this process knows, and which no series lengthens, with a text that says which arrays do.
    fn differences(&self) -> Vec<(Dimension, String)> {
        let (all, group) = (self.known_dimensions(), self.group());
        let unlocked = all.differences().filter(|(of, _)| !document::is_locked_alone(group.store(), group.path(), &of.name));
        unlocked.map(|(dimension, text)| (dimension.clone(), text)).collect()
    }

    /// Writes which variables are coordinates, stores what waits of variables, consolidates the metadata (unless the store's options forbid it) and
    /// flushes. Arrays that disagree on a dimension since they were opened are an error, after all of that, where the dataset can be changed.
    pub fn close(&self) -> Result<()> {
        if self.group().store().check_writable().is_err() {
            return self.0.group.close();
        }
        let settled = self.settle();
        // Each variable has a handle here, too. Those of arrays that were replaced tell of what waits in them.
        let variables = self.0.state.read(|state| state.variables.clone());
        let arrays: Vec<Array> = variables.iter().map(|variable| variable.array.clone()).collect();
        let found = self.lost_names().iter().map(|name| self.come_since(name).map(drop)).fold(Ok(()), Result::and);
        self.renew_names();
        let marked = self.0.state.write(|state| std::mem::take(&mut state.marked));
        let written = if marked { self.write_coordinates() } else { Ok(()) };
        let stored = arrays.iter().map(Array::finish_writes).reduce(Result::and).unwrap_or(Ok(()));
        let checked = self.check();
        settled.and(found).and(written).and(stored).and(self.0.group.close()).and(checked)
    }

    fn write_coordinates(&self) -> Result<()> {
        let state = self.0.state.read(DatasetState::clone);
        let of = |name: &String| state.variables.iter().find(|v| v.name == *name);
        let mut of_group = Vec::new();
        let mut lists: Vec<Vec<&str>> = vec![Vec::new(); state.variables.len()];
        for coordinate in state.coordinates.iter().filter_map(of).filter(|c| !c.is_index()) {
            let mut told = false;
            for (i, variable) in state.variables.iter().enumerate() {
                let is_data = !variable.is_index() && !state.coordinates.contains(&variable.name);
                if is_data && coordinate.dimensions.iter().all(|d| variable.dimensions.contains(d)) {
                    lists[i].push(&coordinate.name);
                    told = true;
                }
            }
            if !told {
                of_group.push(coordinate.name.as_str());
            }
        }
        // One that was erased needs none; one that cannot be told keeps no other from it.
        let there = state.variables.iter().zip(lists).filter(|(variable, list)| !list.is_empty() && !variable.array.is_lost());
        let told = there.map(|(variable, list)| coordinates::add_words(variable.array.attributes(), &list)).fold(Ok(()), Result::and);
        told.and(if of_group.is_empty() { Ok(()) } else { coordinates::add_words(self.0.group.attributes(), &of_group) })
    }
}
