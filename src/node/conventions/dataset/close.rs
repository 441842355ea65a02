//! What is written when a dataset is closed: which variables are coordinates, what waits of them, consolidated metadata.

use super::{Dataset, OpenVariable};
use crate::error::{Result, err};
use crate::limits::{collect, collect_table, filled, make_room, push};
use crate::node::conventions::coordinates;
use crate::node::dimensions::Dimension;
use crate::node::{Array, document};

impl Dataset {
    /// Checks that arrays agree on the lengths of their dimensions, as one that was appended to may not. While a series of the dimension is open,
    /// in any process, they differ between two documents of a publication, between which this process may have read them, too. What a killed
    /// run left is no error: the series that goes on brings it in step.
    fn check(&self) -> Result<()> {
        let differ = self.differences()?;
        if differ.is_empty() {
            return Ok(());
        }
        let known = self.known_variables()?;
        known.iter().filter(|v| differ.iter().any(|(of, _)| v.dimensions.contains(&of.name))).try_for_each(|v| v.array.read_again())?;
        let found = self.0.state.read(|state| collect(state.found_differences.iter().cloned()))?;
        match self.differences()?.into_iter().find(|(dimension, _)| !found.contains(dimension)) {
            Some((_, text)) => {
                Err(err!(Metadata, "{text}; a series that is opened along it brings them in step, or resize the dimension to one of them"))
            }
            None => Ok(()),
        }
    }

    /// The dimensions along which arrays differ as far as this process knows, and which no series lengthens, with a text that says which arrays do.
    fn differences(&self) -> Result<Vec<(Dimension, String)>> {
        let (all, group) = (self.known_dimensions()?, self.group());
        let unlocked = all.differences().filter(|(of, _)| !document::is_locked_alone(group.store(), group.path(), &of.name));
        collect(unlocked.map(|(dimension, text)| (dimension.clone(), text)))
    }

    /// Writes which variables are coordinates, stores what waits of variables, consolidates the metadata (unless the store's options forbid it) and
    /// flushes. Arrays that disagree on a dimension since they were opened are an error, after all of that, where the dataset can be changed.
    pub fn close(&self) -> Result<()> {
        if self.group().store().check_writable().is_err() {
            return self.0.group.close();
        }
        let settled = self.settle();
        // Each variable has a handle here, too. Those of arrays that were replaced tell of what waits in them.
        let arrays = self.arrays();
        let lost = self.lost_names().and_then(|lost| lost.iter().map(|name| self.come_since(name).map(drop)).fold(Ok(()), Result::and));
        let found = lost.and(self.renew_names());
        let marked = self.0.state.write(|state| std::mem::take(&mut state.marked));
        let written = if marked { self.write_coordinates() } else { Ok(()) };
        if written.is_err() {
            self.0.state.write(|state| state.marked = true);
        }
        let stored = arrays.and_then(|arrays| arrays.iter().map(Array::finish_writes).fold(Ok(()), Result::and));
        let checked = self.check();
        settled.and(found).and(written).and(stored).and(self.0.group.close()).and(checked)
    }

    /// The arrays of all variables.
    fn arrays(&self) -> Result<Vec<Array>> {
        let mut arrays = Vec::new();
        self.0.state.read(|state| {
            make_room(&mut arrays, state.variables.len())?;
            arrays.extend(state.variables.iter().map(|variable| variable.array.clone()));
            Ok(arrays)
        })
    }

    fn write_coordinates(&self) -> Result<()> {
        let (variables, coordinates) = (self.known_variables()?, self.0.state.read(|state| collect(state.coordinates.iter().cloned()))?);
        // By their names, as they are sorted.
        let of = |name: &String| variables.binary_search_by(|v| v.name.cmp(name)).ok().map(|place| &variables[place]);
        let named = collect_table(coordinates.iter().map(|name| (name.as_str(), ())))?;
        let is_data = |v: &OpenVariable| !v.is_index() && !named.contains_key(v.name.as_str());
        let data = collect(variables.iter().enumerate().filter(|(_, v)| is_data(v)))?;
        let mut of_group = Vec::new();
        let mut lists: Vec<Vec<&str>> = filled(Vec::new(), variables.len())?;
        for coordinate in coordinates.iter().filter_map(of).filter(|c| !c.is_index()) {
            let mut told = false;
            for &(i, variable) in &data {
                if coordinate.dimensions.iter().all(|d| variable.dimensions.contains(d)) {
                    push(&mut lists[i], &coordinate.name)?;
                    told = true;
                }
            }
            if !told {
                push(&mut of_group, coordinate.name.as_str())?;
            }
        }
        // One that was erased needs none; one that cannot be told keeps no other from it.
        let there = variables.iter().zip(lists).filter(|(variable, list)| !list.is_empty() && !variable.array.is_lost());
        let told = there.map(|(variable, list)| coordinates::add_words(variable.array.attributes(), &list)).fold(Ok(()), Result::and);
        told.and(if of_group.is_empty() { Ok(()) } else { coordinates::add_words(self.0.group.attributes(), &of_group) })
    }
}
