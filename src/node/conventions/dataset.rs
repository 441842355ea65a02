//! A dataset: a group as netCDF and xarray see it, with dimensions that its arrays share, variables, and coordinates among them.
//! Convention: xarray, "Zarr Encoding Specification"; CF 5, "Coordinate Systems".

mod close;
mod coordinate;
mod in_step;
mod lengths;

pub(in crate::node) use in_step::Compared;

use super::coordinates;
use super::open_variable::{OpenVariable, changed_dimensions};
use super::variable::{VariableSpec, shape_of};
use super::variable_names::{check_name, check_two_folders, differ_in_case};
use crate::error::{ErrorKind, Result, bail, err};
use crate::fork::ForkPreserved;
use crate::limits::{check_memory, collect, extend, filled, make_room};
use crate::metadata::Format;
use crate::metadata::lint::{Finding, Severity};
use crate::node::create_array::WriteValues;
use crate::node::dimensions::{Dimension, Dimensions};
use crate::node::store_options::Consolidate;
use crate::node::{Array, Create, Group, Store, draft, lookup, path};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often a variable is looked at again that another process changes meanwhile.
const MOST_LOOKS: usize = 100;

/// An open dataset. Clones share it.
#[derive(Clone)]
pub struct Dataset(Arc<Inner>);

struct Inner {
    group: Group,
    state: ForkPreserved<DatasetState>,
    /// Consolidated metadata were believed, and have not been compared with the documents yet.
    unsettled: AtomicBool,
    /// What was there was defined again, or grows.
    goes_on: AtomicBool,
    /// It was created by `OpenIfSame`: a program begins again, and its definitions open what is there and the same.
    reopens: bool,
}

#[derive(Clone, Default)]
struct DatasetState {
    /// The names of dimensions in the order in which they came, with the lengths of those that no variable has yet.
    defined: Vec<(String, u64)>,
    /// In the order of their names.
    variables: Vec<OpenVariable>,
    /// How often a variable came, or took the place of another one.
    changes: u64,
    /// Names of variables that were made coordinates.
    coordinates: Vec<String>,
    /// Whether attributes `coordinates` are to be written.
    marked: bool,
    /// The dimensions that grow: defined with length 0 by this handle, or those of its series.
    growing: BTreeSet<String>,
    /// Dimensions along which the variables differed in the store, as a killed run leaves them, not by this program.
    found_differences: Vec<Dimension>,
}

impl DatasetState {
    /// All dimensions, as long as the variables are by now.
    fn dimensions(&self) -> Result<Dimensions> {
        // The shortest and the longest variable along each, in one pass: datasets have thousands of variables.
        let mut ends: Vec<Option<[(u64, &str); 2]>> = filled(None, self.defined.len())?;
        for variable in &self.variables {
            for (&place, &length) in variable.places.iter().zip(&variable.array.shape()) {
                let own = (length, variable.name.as_str());
                let [shortest, longest] = ends[place].get_or_insert([own; 2]);
                if length < shortest.0 {
                    *shortest = own;
                }
                if length > longest.0 {
                    *longest = own;
                }
            }
        }
        let mut all = Dimensions::default();
        for ((name, length), ends) in self.defined.iter().zip(ends) {
            all.push_new(name, ends.unwrap_or([(*length, ""); 2]))?;
        }
        Ok(all)
    }

    /// The dimension at a place, as long as the variables are by now.
    fn dimension_at(&self, place: usize) -> Option<Dimension> {
        let (name, defined) = self.defined.get(place)?;
        let mut ends = None;
        for variable in self.variables.iter().filter(|variable| variable.places.contains(&place)) {
            for (_, &length) in variable.places.iter().zip(&variable.array.shape()).filter(|(own, _)| **own == place) {
                let (shortest, longest) = ends.unwrap_or((length, length));
                ends = Some((length.min(shortest), length.max(longest)));
            }
        }
        let (length, longest) = ends.unwrap_or((*defined, *defined));
        Some(Dimension { name: name.clone(), length, longest })
    }

    fn place_of_dimension(&self, name: &str) -> Option<usize> {
        self.defined.iter().position(|(there, _)| there == name)
    }

    /// A dimension, as long as the variables are by now. Errors: `NotFound`.
    fn dimension(&self, name: &str) -> Result<Dimension> {
        let found = self.place_of_dimension(name).and_then(|place| self.dimension_at(place));
        found.map_or_else(|| Err(self.dimensions()?.missing(name)), Ok)
    }

    /// Defines a dimension that is not there yet, and gives its place.
    fn define(&mut self, name: &str, length: u64) -> Result<usize> {
        if let Some(place) = self.place_of_dimension(name) {
            return Ok(place);
        }
        make_room(&mut self.defined, 1)?;
        self.defined.push((name.to_string(), length));
        Ok(self.defined.len() - 1)
    }

    /// Takes back the dimension that was defined last, unless a variable has it.
    fn take_back(&mut self, name: &str) {
        let place = self.defined.len().saturating_sub(1);
        if self.defined.last().is_some_and(|(last, _)| last == name) && self.variables.iter().all(|v| !v.places.contains(&place)) {
            self.defined.pop();
            self.growing.remove(name);
        }
    }

    /// Knows a variable, and gives the one of that name that it knew.
    fn insert(&mut self, mut known: OpenVariable) -> Result<Option<OpenVariable>> {
        make_room(&mut self.variables, 1)?;
        let shape = known.array.shape();
        known.places = known.dimensions.iter().zip(&shape).map(|(name, &length)| self.define(name, length)).collect::<Result<_>>()?;
        self.changes += 1;
        Ok(match self.place_of(&known.name) {
            Ok(place) => Some(std::mem::replace(&mut self.variables[place], known)),
            Err(place) => {
                self.variables.insert(place, known);
                None
            }
        })
    }

    /// Forgets variables that are gone, with the dimensions that they alone had, and gives them.
    fn forget(&mut self, gone: &[String]) -> Result<Vec<OpenVariable>> {
        let mut lost = Vec::new();
        make_room(&mut lost, gone.len())?;
        lost.extend(self.variables.extract_if(.., |v| gone.contains(&v.name)));
        self.defined.retain(|(name, _)| !lost.iter().any(|v| v.dimensions.contains(name)));
        self.changes += 1;
        for i in 0..self.variables.len() {
            let known = self.variables[i].clone();
            self.insert(known)?;
        }
        Ok(lost)
    }

    /// Takes on the names that dimensions of a variable have by now.
    fn rename_dimensions(&mut self, name: &str, dimensions: Vec<String>) -> Result<()> {
        if let Ok(place) = self.place_of(name)
            && self.variables[place].array.rank() == dimensions.len()
        {
            let known = OpenVariable { dimensions, ..self.variables[place].clone() };
            self.insert(known)?;
        }
        Ok(())
    }

    /// Where a variable is among the others, or would be.
    fn place_of(&self, name: &str) -> std::result::Result<usize, usize> {
        self.variables.binary_search_by(|v| v.name.as_str().cmp(name))
    }
}

impl Dataset {
    /// Creates a group for a dataset. Without a format it has that of the enclosing group, else 3. With `OpenIfSame` this handle's definitions are
    /// by `OpenIfSame`, too, where they are not to overwrite, and a dimension that is defined with length 0 may have grown: a program that
    /// begins again makes the same calls, and completes what a kill left of them.
    pub fn create(store: &Store, path: &str, format: Option<Format>, how: Create) -> Result<Dataset> {
        // Readers that go by consolidated metadata may come before the first step, and a kill at any moment.
        let consolidated = store.options().consolidate != Consolidate::Never && store.capabilities().listable;
        let create = if consolidated { Group::create_consolidated } else { Group::create };
        let dataset = Dataset::open_as(create(store, path, format, how)?, how == Create::OpenIfSame)?;
        dataset.settle()?;
        Ok(dataset)
    }

    /// The dataset that a group is. Errors: `Metadata` where an array directly below it has a dimension without a name; the message names
    /// it. Arrays may differ in length along a dimension, as they do in a run that grows or was killed: the log is told. One that may be
    /// changed reads the documents that consolidated metadata speak for when they are first needed (`settle`), not here.
    pub fn open(group: Group) -> Result<Dataset> {
        Dataset::open_as(group, false)
    }

    fn open_as(group: Group, reopens: bool) -> Result<Dataset> {
        let mut state = DatasetState::default();
        let mut coordinates = coordinates::words(group.attributes())?;
        for (name, array) in group.arrays()? {
            let names = array.dimension_names()?;
            Dimensions::default().add_array(&name, &names, &array.shape())?;
            extend(&mut coordinates, coordinates::words(array.attributes())?)?;
            let dimensions: Vec<String> = names.into_iter().flatten().collect();
            check_memory()?;
            state.insert(OpenVariable { name, dimensions, places: Vec::new(), array })?;
        }
        coordinates.sort_unstable();
        coordinates.dedup();
        coordinates.retain(|name| state.place_of(name).is_ok());
        state.coordinates = coordinates;
        let unsettled = AtomicBool::new(group.store().check_writable().is_ok());
        let goes_on = AtomicBool::new(false);
        let dataset = Dataset(Arc::new(Inner { group, state: ForkPreserved::new(state), unsettled, goes_on, reopens }));
        let told = |(_, text): (_, String)| Finding::new(Severity::Warning, "XR-22", format!("{text}; the shorter one counts"));
        let findings: Vec<Finding> = collect(dataset.known_dimensions()?.differences().map(told))?;
        dataset.note_found_differences(|_| true)?;
        dataset.group().store().context().report(path::display(dataset.group().path()), &findings)?;
        Ok(dataset)
    }

    /// Whether its definitions open what is there and the same.
    pub(super) fn reopens(&self) -> bool {
        self.0.reopens
    }

    /// Whether it has another handle.
    pub(in crate::node) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// The group.
    pub fn group(&self) -> &Group {
        &self.0.group
    }

    /// All dimensions: those of the variables, and those that were defined and have none yet (which are not stored).
    pub fn dimensions(&self) -> Result<Vec<Dimension>> {
        self.settle()?;
        self.renew_names()?;
        self.known_dimensions()?.all()
    }

    /// A dimension, as long as the variables are by now.
    pub fn dimension(&self, name: &str) -> Result<Dimension> {
        self.settle()?;
        self.renew_names()?;
        self.known_dimension(name)
    }

    /// Looks which variables have other names of their dimensions than before: their handles can change these.
    pub(in crate::node) fn renew_names(&self) -> Result<()> {
        let known = self.0.state.read(|state| collect(state.variables.iter().filter(|v| !v.array.is_named(&v.dimensions)).cloned()))?;
        let renamed = collect(known.into_iter().filter_map(|v| v.new_names().map(|names| (v.name, names))))?;
        if renamed.is_empty() {
            return Ok(());
        }
        self.0.state.write(|state| renamed.into_iter().try_for_each(|(name, names)| state.rename_dimensions(&name, names)))
    }

    /// The variables that are known now.
    fn known_variables(&self) -> Result<Vec<OpenVariable>> {
        self.0.state.read(|state| collect(state.variables.iter().cloned()))
    }

    /// A dimension, as long as the variables are as far as this process knows.
    pub(in crate::node) fn known_dimension(&self, name: &str) -> Result<Dimension> {
        self.0.state.read(|state| state.dimension(name))
    }

    fn known_dimensions(&self) -> Result<Dimensions> {
        self.0.state.read(DatasetState::dimensions)
    }

    /// Defines a dimension. One that is there with the same length stays, as one that is to grow does in a dataset that is opened again; with another it
    /// is an error of kind `Exists`.
    pub fn define_dimension(&self, name: &str, length: u64) -> Result<()> {
        self.0.group.store().check_writable()?;
        check_name(name)?;
        self.settle()?;
        if length > i64::MAX as u64 {
            bail!(Limit, "the dimension {name:?} is {length}, the limit is 2^63 - 1");
        }
        let may_have_grown = self.0.reopens && length == 0;
        self.0.state.write(|state| match state.place_of_dimension(name).and_then(|place| state.dimension_at(place)) {
            Some(there) if there.length != length && !may_have_grown => {
                bail!(Exists, "the dimension {name:?} is there with the length {}, not {length}", there.length)
            }
            _ => {
                state.define(name, length)?;
                if length == 0 {
                    state.growing.insert(name.to_string());
                }
                Ok(())
            }
        })
    }

    /// Remembers that a dimension grows: variables that are defined along it by this handle get chunks for that, however long it is by then.
    pub(in crate::node) fn note_growing(&self, name: &str) {
        self.0.state.write(|state| state.growing.insert(name.to_string()));
    }

    /// Defines a dimension, and with it the variable that `variable` makes: where that fails, a dimension that is new is taken back.
    pub(super) fn define_with(&self, name: &str, length: u64, variable: impl FnOnce() -> Result<Array>) -> Result<Array> {
        let was_there = self.0.state.read(|state| state.place_of_dimension(name).is_some());
        self.define_dimension(name, length)?;
        variable().inspect_err(|_| {
            if !was_there {
                self.0.state.write(|state| state.take_back(name));
            }
        })
    }

    /// How many variables there are.
    pub fn variable_count(&self) -> usize {
        self.0.state.read(|state| state.variables.len())
    }

    /// How often a variable came, or took the place of another one, since the dataset was opened.
    pub(in crate::node) fn variable_changes(&self) -> u64 {
        self.0.state.read(|state| state.changes)
    }

    /// The name of a variable by its number in the order of the names, below their count.
    pub fn variable_name(&self, index: usize) -> Option<String> {
        self.0.state.read(|state| state.variables.get(index).map(|v| v.name.clone()))
    }

    /// The names of all variables, sorted.
    pub fn variables(&self) -> Vec<String> {
        self.0.state.read(|state| state.variables.iter().map(|v| v.name.clone()).collect())
    }

    /// A variable's array.
    pub fn variable(&self, name: &str) -> Result<Array> {
        let OpenVariable { array, dimensions, .. } = self.known(name)?;
        if self.0.unsettled.load(Ordering::Acquire) && array.is_listed() {
            let before = array.shape();
            array.read_again()?;
            let changed = changed_dimensions(&dimensions, &before, &array.shape());
            if !changed.is_empty() {
                self.note_found_differences(|name| changed.contains(name))?;
            }
        }
        Ok(array.for_another_handle())
    }

    fn known(&self, name: &str) -> Result<OpenVariable> {
        let known = self.find(name);
        // Of an array that was replaced since, what is there now.
        let found = if known.as_ref().is_none_or(|known| known.array.is_lost()) { self.come_since(name)? } else { None };
        if let Some(known) = found.or(known) {
            return Ok(known);
        }
        Err(self.0.state.read(|state| match &state.variables {
            all if all.is_empty() => err!(NotFound, "no variable {name:?}; there are none"),
            all => err!(NotFound, "no variable {name:?}; there are {}", path::near(all.iter().map(|v| v.name.as_str()), name)),
        }))
    }

    /// A variable that another program has defined since the dataset was opened.
    fn come_since(&self, name: &str) -> Result<Option<OpenVariable>> {
        let before = self.find(name);
        let found =
            if check_name(name).and_then(|()| self.check_apart(name)).is_ok() { OpenVariable::find(&self.0.group, name)? } else { None };
        let Some(found) = found else { return Ok(None) };
        self.insert(found, before.as_ref())?;
        Ok(self.find(name))
    }

    /// A variable that is known, or what took its place where its array was erased or replaced.
    fn find_there(&self, name: &str) -> Result<Option<OpenVariable>> {
        match self.find(name) {
            Some(known) if known.array.is_lost() => self.come_since(name),
            known => Ok(known),
        }
    }

    /// The names of variables whose arrays were erased or replaced.
    fn lost_names(&self) -> Result<Vec<String>> {
        self.0.state.read(|state| collect(state.variables.iter().filter(|known| known.array.is_lost()).map(|known| known.name.clone())))
    }

    /// Looks for variables that other programs have defined since the dataset was opened, in stores that list, and for what took the places of others.
    pub(in crate::node) fn find_new(&self) -> Result<()> {
        let group = self.group();
        let mut names = Vec::new();
        if group.store().capabilities().listable {
            names = draft::names_below(group.store(), group.path())?;
            self.0.state.read(|state| names.retain(|name| state.place_of(name).is_err()));
        }
        extend(&mut names, self.lost_names()?)?;
        names.iter().try_for_each(|name| match self.come_since(name) {
            // What another program stores beside the dataset need not be for this one.
            Err(e) if lookup::is_misunderstood(&e) || e.kind() == ErrorKind::Permission => Ok(()),
            found => found.map(drop),
        })
    }

    fn find(&self, name: &str) -> Option<OpenVariable> {
        self.0.state.read(|state| state.place_of(name).ok().map(|place| state.variables[place].clone()))
    }

    /// Defines a variable and creates its array. Its dimensions must be there, each once; their lengths are the array's shape. A variable that is
    /// opened because it is the same keeps the handle that a series of this dataset may have. Errors: `Exists`,
    /// with which the dataset knows an array that came in the meantime, as a failed call of this one may have left it.
    pub fn define_variable(&self, name: &str, variable: &VariableSpec, how: Create) -> Result<Array> {
        self.define_with_values(name, variable, how, None)
    }

    /// Defines a variable as [`Dataset::define_variable`] does; what `write_values` writes is stored before a new one is there.
    pub(super) fn define_with_values(
        &self,
        name: &str,
        variable: &VariableSpec,
        how: Create,
        write_values: Option<&WriteValues>,
    ) -> Result<Array> {
        check_name(name)?;
        self.settle()?;
        let how = if how == Create::New && self.0.reopens { Create::OpenIfSame } else { how };
        let there = if how == Create::OpenIfSame { self.find_there(name)? } else { None };
        let before = self.find(name);
        let path = self.0.group.child_path(name)?;
        self.check_apart(name)?;
        let mut looks = MOST_LOOKS;
        let array = loop {
            let shape = self.shape_to_define(name, variable, there.as_ref())?;
            let grows: Vec<bool> = self.0.state.read(|state| variable.dimensions.iter().map(|name| state.growing.contains(name)).collect());
            let spec = variable.spec_of(self.0.group.format(), (&shape, &grows), there.as_ref().map(|there| &there.array))?;
            match Array::create_with_values(self.0.group.store(), (&path, Some(&self.0.group)), &spec, how, write_values) {
                // Another process made it longer since this one looked: the length that it has by now counts.
                Err(e) if e.kind() == ErrorKind::Exists && looks > 0 && there.as_ref().is_some_and(|there| there.has_changed(&shape)) => {
                    looks -= 1;
                }
                Err(e) if e.kind() == ErrorKind::Exists && self.find(name).is_none() => {
                    // The error is the one to tell.
                    let _ = self.come_since(name);
                    return Err(e);
                }
                done => break done?,
            }
        };
        if let Some(there) = there {
            self.note_root();
            return there.array.read_again().map(|()| there.array.for_another_handle());
        }
        let dimensions = variable.dimensions.clone();
        let defined = OpenVariable { name: name.to_string(), dimensions, places: Vec::new(), array: array.for_another_handle() };
        match self.insert(defined, before.as_ref())? {
            Some(came) => came.array.read_again().map(|()| came.array.for_another_handle()),
            None => Ok(array),
        }
    }

    fn check_apart(&self, name: &str) -> Result<()> {
        let names = |state: &DatasetState| state.variables.iter().map(|v| &v.name).find(|known| differ_in_case(known, name)).cloned();
        self.0.state.read(names).map_or(Ok(()), |other| check_two_folders(&self.0.group, name, &other))
    }

    /// The shape that a variable is to have: that of `there`, if it is there already, else that of its dimensions.
    fn shape_to_define(&self, name: &str, variable: &VariableSpec, there: Option<&OpenVariable>) -> Result<Vec<u64>> {
        match there {
            // Its lengths may differ from those of the dimensions, as a kill leaves them.
            Some(there) if there.dimensions == variable.dimensions => Ok(there.array.shape().to_vec()),
            Some(there) => {
                bail!(Exists, "the variable {name:?} is there with the dimensions {:?}, not {:?}", there.dimensions, variable.dimensions)
            }
            None => self.0.state.read(|state| shape_of(name, &variable.dimensions, |name| Ok(state.dimension(name)?.length))),
        }
    }

    /// Knows a variable, instead of one of that name, which was `before`. One that another thread has made known meanwhile stays and is given, unless its
    /// array is lost: a series may have it already.
    fn insert(&self, known: OpenVariable, before: Option<&OpenVariable>) -> Result<Option<OpenVariable>> {
        // The other one is dropped after the lock, which dropping an array takes, too; and this one, where memory ends.
        let _this = known.array.clone();
        let is_before = |there: &OpenVariable| before.is_some_and(|before| Arc::ptr_eq(&before.array.0, &there.array.0));
        let (came, _gone) = self.0.state.write(|state| match state.place_of(&known.name).map(|place| &state.variables[place]) {
            Ok(there) if !is_before(there) && !there.array.is_lost() => Ok((Some(there.clone()), None)),
            _ => state.insert(known).map(|gone| (None, gone)),
        })?;
        Ok(came)
    }

    /// The variables that have a dimension: their names and arrays, and which of their dimensions it is, the first one.
    pub(in crate::node) fn along(&self, name: &str) -> Result<Vec<(String, Array, usize)>> {
        self.0.state.read(|state| {
            let place = |v: &OpenVariable| v.dimensions.iter().position(|d| d == name);
            collect(state.variables.iter().filter_map(|v| Some((v.name.clone(), v.array.clone(), place(v)?))))
        })
    }

    /// Whether a variable has a dimension.
    fn has_along(&self, name: &str) -> bool {
        self.0.state.read(|state| state.variables.iter().any(|v| v.dimensions.iter().any(|d| d == name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;
    use crate::dtype::Element;
    use crate::engine::{Memory, Selection};
    use crate::metadata::json;
    use crate::node::tests::{memory, new_dataset, own, put};
    use crate::node::{Attributes, Context, Create, NodeKind, Series, Spec};
    use crate::store::StorageExt;

    #[test]
    fn a_dataset_goes_on_with_variables_that_take_the_places_of_its_own() {
        for erased in ["", "v"] {
            let (store, ds) = new_dataset(None);
            ["x", "y"].iter().for_each(|name| ds.define_dimension(name, 4).unwrap());
            let variable = VariableSpec::new(DataType::Float32, &["x", "y"]);
            let arrays = ["lat", "u", "v", "w"].map(|name| ds.define_variable(name, &variable, Create::New).unwrap());
            ds.set_coordinate("lat").unwrap();
            let other = Dataset::open(Group::open(&store, "").unwrap()).unwrap();
            let new = other.define_variable("u", &variable, Create::Overwrite).unwrap();
            assert!(arrays[1].is_lost() && !new.is_lost());
            if !erased.is_empty() {
                store.erase_node(erased).unwrap();
            }
            ds.variable("u").and_then(|u| u.attributes().set("units", "m".into())).unwrap();
            assert_eq!(arrays[1].attributes().set("units", "km".into()).unwrap_err().kind(), ErrorKind::State);
            other.define_variable("u", &variable, Create::Overwrite).unwrap();
            ds.close().unwrap();
            for name in ["u", "v", "w"].iter().filter(|name| **name != erased) {
                let told = coordinates::words(Array::open(&store, name).unwrap().attributes()).unwrap();
                assert_eq!(told, ["lat"], "{name}");
            }
        }
    }

    #[test]
    fn a_variable_that_is_there_already_is_known_after_its_definition_failed() {
        let (store, ds) = new_dataset(None);
        ds.define_dimension("x", 4).unwrap();
        let variable = VariableSpec::new(DataType::Float32, &["x"]);
        let before = Dataset::open(Group::open(&store, "").unwrap()).unwrap();
        // As a call leaves it that failed behind the array's creation, for want of memory say.
        Dataset::open(Group::open(&store, "").unwrap())
            .and_then(|other| {
                other.define_dimension("x", 4)?;
                other.define_variable("t", &variable, Create::New)
            })
            .unwrap();
        assert_eq!(ds.define_variable("t", &variable, Create::New).err().unwrap().kind(), ErrorKind::Exists);
        // Another program's is looked for.
        assert_eq!((before.variables(), before.variable("t").unwrap().shape()[0], before.variables()), (vec![], 4, vec!["t".to_string()]));
        for name in ["q", "", "t/x"] {
            assert_eq!(before.variable(name).err().unwrap().kind(), ErrorKind::NotFound, "{name}");
        }
        assert_eq!((ds.variable("t").unwrap().shape()[0], ds.variables()), (4, vec!["t".to_string()]));
    }

    #[test]
    fn a_variable_that_is_defined_again_takes_the_place_of_the_one_that_was_known() {
        for format in [Format::V2, Format::V3] {
            let (_, ds) = new_dataset(Some(format));
            ds.define_dimension("time", 4).unwrap();
            ds.define_dimension("x", 3).unwrap();
            let define = |data_type, dimensions: &[&str], how| {
                let variable = VariableSpec { chunks: Some(vec![2; dimensions.len()]), ..VariableSpec::new(data_type, dimensions) };
                ds.define_variable("t", &variable, how)
            };
            drop(define(DataType::Float32, &["time", "x"], Create::New).unwrap());
            // The handle that is known stays, with all that was done to it.
            let kept = ds.variable("t").unwrap();
            kept.resize(&[5, 3], false).unwrap();
            drop(define(DataType::Float32, &["time", "x"], Create::OpenIfSame).unwrap());
            kept.resize(&[6, 3], false).unwrap();
            assert_eq!(ds.dimension("time").unwrap().length, 6, "{format:?}");
            for (data_type, dimensions) in [(DataType::Int16, ["time", "x"]), (DataType::Float32, ["x", "time"])] {
                let e = define(data_type, &dimensions, Create::OpenIfSame).err().unwrap();
                assert_eq!(e.kind(), ErrorKind::Exists, "{e}");
            }
            drop(kept);
            // Nobody else has the handle that goes.
            drop(define(DataType::Int16, &["x"], Create::Overwrite).unwrap());
            assert_eq!((ds.variables(), ds.variable("t").unwrap().shape().to_vec()), (vec!["t".to_string()], vec![3]));
        }
    }

    #[test]
    fn a_variable_that_another_process_made_longer_is_the_same() {
        for format in [Format::V2, Format::V3] {
            let (store, ds) = new_dataset(Some(format));
            ds.define_time("time", 0, Some(4), "days since 2026-01-01", "standard", Create::New).unwrap();
            let variable = VariableSpec { chunks: Some(vec![4]), ..VariableSpec::new(DataType::Float32, &["time"]) };
            ds.define_variable("t", &variable, Create::New).unwrap();
            let anew = Store::from_shared(&Context::default(), store.shared().clone(), crate::node::Mode::ReadWrite);
            let other = Dataset::open(Group::open(&anew, "").unwrap()).unwrap();
            assert_eq!(other.dimension("time").unwrap().length, 0);
            ds.resize_dimension("time", 3).unwrap();
            let t = other.define_variable("t", &variable, Create::OpenIfSame).unwrap();
            assert_eq!((t.shape()[0], other.variable("t").unwrap().shape()[0]), (3, 3), "{format:?}");
            let shorter = VariableSpec { chunks: Some(vec![5]), ..variable };
            assert_eq!(other.define_variable("t", &shorter, Create::OpenIfSame).err().map(|e| e.kind()), Some(ErrorKind::Exists));
        }
    }

    #[test]
    fn a_variable_that_has_grown_is_the_same_without_chunks_of_its_own() {
        // With suggested chunks, and with suggested shards.
        for (format, width) in [(Format::V2, 3), (Format::V3, 3), (Format::V3, 4_000_000)] {
            let (store, ds) = new_dataset(Some(format));
            ds.define_dimension("time", 0).unwrap();
            ds.define_dimension("x", width).unwrap();
            let variable = VariableSpec::new(DataType::Float32, &["time", "x"]);
            let first = ds.define_variable("t", &variable, Create::New).unwrap();
            first.resize(&[5000, width], false).unwrap();
            let chunks = first.chunk_shape();
            ds.close().unwrap();
            let again = Dataset::open(Group::open(&store, "").unwrap()).unwrap();
            let array = again.define_variable("t", &variable, Create::OpenIfSame).unwrap();
            assert_eq!((array.shape()[0], array.chunk_shape()), (5000, chunks), "{format:?} {width}");
            let other = VariableSpec { chunks: Some(vec![7, 1]), ..variable.clone() };
            assert_eq!(again.define_variable("t", &other, Create::OpenIfSame).err().unwrap().kind(), ErrorKind::Exists);
        }
    }

    #[test]
    fn what_a_handle_of_a_variable_collects_is_gone_with_it() {
        let (store, ds) = new_dataset(None);
        ds.define_dimension("x", 2).unwrap();
        let made = ds.define_variable("t", &VariableSpec::new(DataType::Float32, &["x"]), Create::New).unwrap();
        for given_up in [made, ds.variable("t").unwrap()] {
            given_up.attributes().begin().unwrap();
            given_up.attributes().set_i64("given_up", 1).unwrap();
        }
        ds.variable("t").unwrap().attributes().set_i64("kept", 2).unwrap();
        ds.close().unwrap();
        assert_eq!(Array::open(&store, "t").unwrap().attributes().names().unwrap(), ["kept"]);
    }

    #[test]
    fn a_coordinate_that_could_not_be_made_leaves_no_dimension() {
        let (_, ds) = new_dataset(None);
        ds.define_dimension("y", 3).unwrap();
        let fails = |_: &Array| -> Result<()> { bail!(Range, "no") };
        for name in ["x", "y"] {
            let length = if name == "y" { 3 } else { 4 };
            let failed = ds.define_coordinate(name, length, None, DataType::Float64, None, Some(&fails));
            assert_eq!(failed.err().unwrap().kind(), ErrorKind::Range);
        }
        assert!(ds.define_time("time", 2, None, "hours since 2000-01-01", "standard", Create::OpenIfSame).is_ok());
        let names: Vec<_> = ds.dimensions().unwrap().into_iter().map(|d| d.name).collect();
        assert_eq!(names, ["y", "time"]);
        ds.define_coordinate("x", 5, None, DataType::Float64, None, None).unwrap();
    }

    #[test]
    fn a_dimension_that_is_looked_up_alone_is_the_one_among_all() {
        let (_, ds) = new_dataset(Some(Format::V3));
        for (name, length) in [("unused", 7), ("x", 3), ("t", 0), ("y", 5)] {
            ds.define_dimension(name, length).unwrap();
        }
        for (name, of) in [("a", &["t", "x"][..]), ("b", &["y", "t"]), ("c", &["t"]), ("d", &["x"])] {
            ds.define_variable(name, &VariableSpec::new(DataType::Int8, of), Create::New).unwrap();
        }
        ds.variable("b").unwrap().resize(&[5, 4], false).unwrap();
        ds.variable("c").unwrap().resize(&[2], false).unwrap();
        ds.variable("d").unwrap().set_dimension_names(&[Some("z".into())]).unwrap();
        let all = ds.dimensions().unwrap();
        let lengths: Vec<_> = all.iter().map(|d| (d.name.as_str(), d.length, d.longest)).collect();
        assert_eq!(lengths, [("unused", 7, 7), ("x", 3, 3), ("t", 0, 4), ("y", 5, 5), ("z", 3, 3)]);
        assert_eq!(ds.dimension_count().unwrap(), all.len());
        for (place, dimension) in all.iter().enumerate() {
            assert_eq!(ds.dimension_at(place).as_ref(), Some(dimension));
            assert_eq!(ds.dimension(&dimension.name).as_ref().unwrap(), dimension);
            ds.define_dimension(&dimension.name, dimension.length).unwrap();
            assert_eq!(ds.define_dimension(&dimension.name, 9).unwrap_err().kind(), ErrorKind::Exists);
        }
        assert_eq!(ds.dimension_at(all.len()), None);
        assert!(ds.dimension("zz").unwrap_err().message().starts_with("no dimension \"zz\"; there are "));
        let texts: Vec<_> = ds.known_dimensions().unwrap().differences().map(|(_, text)| text).collect();
        assert_eq!(texts, ["the dimension \"t\" of the array \"a\" is 0 long, that of \"b\" is 4"]);
    }

    #[test]
    fn words_of_an_attribute_coordinates_stay_when_others_are_added() {
        let (store, ds) = new_dataset(None);
        ds.define_dimension("x", 2).unwrap();
        for name in ["t", "lat", "area"] {
            ds.define_variable(name, &VariableSpec::new(DataType::Float32, &["x"]), Create::New).unwrap();
        }
        ds.variable("t").unwrap().attributes().set_string("coordinates", "station_name lat /grid/height").unwrap();
        ds.group().attributes().set_string("coordinates", "crs").unwrap();
        ds.close().unwrap();
        let ds = Dataset::open(Group::open(&store, "").unwrap()).unwrap();
        ds.set_coordinate("area").unwrap();
        ds.close().unwrap();
        let of = |node: &Attributes| node.get_string("coordinates").unwrap();
        assert_eq!(of(Array::open(&store, "t").unwrap().attributes()), "station_name lat /grid/height area");
        assert_eq!(of(Group::open(&store, "").unwrap().attributes()), "crs");
    }

    #[test]
    fn coordinates_that_two_programs_name_at_the_same_time_are_all_named() {
        let (store, ds) = new_dataset(None);
        ds.define_dimension("x", 2).unwrap();
        for name in ["t", "lat", "area"] {
            ds.define_variable(name, &VariableSpec::new(DataType::Float32, &["x"]), Create::New).unwrap();
        }
        ds.close().unwrap();
        let others = ["lat", "area"].map(|name| {
            let store = Store::from_shared(&Context::default(), store.shared().clone(), crate::node::Mode::ReadWrite);
            let ds = Dataset::open(Group::open(&store, "").unwrap()).unwrap();
            ds.set_coordinate(name).map(|()| ds).unwrap()
        });
        others.iter().for_each(|ds| ds.close().unwrap());
        assert_eq!(Array::open(&store, "t").unwrap().attributes().get_string("coordinates").unwrap(), "lat area");
    }

    #[test]
    fn coordinates_that_could_not_be_written_are_written_by_the_next_close() {
        let (store, ds) = new_dataset(None);
        ds.define_dimension("x", 2).unwrap();
        for name in ["t", "area"] {
            ds.define_variable(name, &VariableSpec::new(DataType::Float32, &["x"]), Create::New).unwrap();
        }
        ds.set_coordinate("area").unwrap();
        let document = store.key_get("t/zarr.json").unwrap().unwrap();
        put(&store, "t/zarr.json", "{");
        ds.close().unwrap_err();
        put(&store, "t/zarr.json", std::str::from_utf8(&document).unwrap());
        ds.close().unwrap();
        assert_eq!(Array::open(&store, "t").unwrap().attributes().get_string("coordinates").unwrap(), "area");
    }

    #[test]
    fn what_is_defined_is_there_when_it_is_opened_again() {
        for format in [Format::V2, Format::V3] {
            let (store, ds) = new_dataset(Some(format));
            ds.define_time("time", 3, None, "hours since 2026-01-01", "noleap", Create::New).unwrap();
            ds.define_coordinate("x", 4, None, DataType::Float64, Some("m"), None).unwrap();
            ds.define_variable("t", &VariableSpec::new(DataType::Float32, &["time", "x"]).with("units", "K"), Create::New).unwrap();
            ds.define_variable("lat", &VariableSpec::new(DataType::Float32, &["x"]), Create::New).unwrap();
            ds.define_variable("crs", &VariableSpec::new(DataType::Int32, &[]), Create::New).unwrap();
            ds.define_variable("run", &VariableSpec::new(DataType::Int32, &["run"]), Create::New).err().unwrap();
            ds.set_coordinate("lat").unwrap();
            ds.set_coordinate("crs").unwrap();
            ds.close().unwrap();

            let group = Group::open(&store, "").unwrap();
            assert_eq!(group.consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
            let ds = Dataset::open(group).unwrap();
            let dims: Vec<_> = ds.dimensions().unwrap().into_iter().map(|d| (d.name, d.length)).collect();
            assert_eq!(dims, [("x".to_string(), 4), ("time".to_string(), 3)]);
            assert_eq!(ds.variables(), ["crs", "lat", "t", "time", "x"]);
            let coordinates: Vec<_> = ds.variables().into_iter().filter(|v| ds.is_coordinate(v).unwrap()).collect();
            assert_eq!(coordinates, ["crs", "lat", "time", "x"]);
            assert_eq!(ds.variable("t").unwrap().attributes().get_string("coordinates").unwrap(), "lat crs");
            assert_eq!(ds.variable("t").unwrap().attributes().names().unwrap(), ["units", "coordinates"], "{format:?}");
            assert_eq!(ds.variable("tt").err().unwrap().kind(), ErrorKind::NotFound);
        }
    }

    /// As another process leaves it that is erasing one of them at that moment.
    #[test]
    fn a_variable_that_is_listed_and_gone_is_left_out() {
        for (format, document) in [(Format::V2, "u/.zarray"), (Format::V3, "u/zarr.json")] {
            let store = memory();
            let define = |names: &[(&str, &str)]| -> Result<Dataset> {
                let ds = Dataset::create(&store, "", Some(format), Create::OpenIfSame)?;
                for (name, dim) in names {
                    ds.define_dimension(dim, if *dim == "x" { 4 } else { 5 })?;
                    ds.define_variable(name, &VariableSpec::new(DataType::Float32, &[dim]), Create::OpenIfSame)?;
                }
                Ok(ds)
            };
            define(&[("t", "x"), ("u", "z"), ("v", "x")]).unwrap().close().unwrap();
            store.shared().erase(document).unwrap();
            let ds = define(&[("t", "x")]).unwrap();
            assert_eq!((ds.variables(), ds.dimensions().unwrap().len()), (vec!["t".to_string(), "v".to_string()], 1), "{format:?}");
            assert_eq!(ds.variable("u").err().unwrap().kind(), ErrorKind::NotFound);
            ds.define_dimension("z", 3).unwrap();
            ds.close().unwrap();
            assert_eq!(Group::open(&store, "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
        }
    }

    #[test]
    fn dimensions_that_are_missing_or_differ_name_the_array() {
        let store = memory();
        let group = Group::create(&store, "", None, Create::New).unwrap();
        let make = |name: &str, names: &[Option<&str>], shape: &[u64]| {
            let mut spec = Spec::new(DataType::Int8, shape).unwrap();
            spec.set_dimension_names(names.iter().map(|n| n.map(str::to_string)).collect()).unwrap();
            Array::create(&store, name, &spec, Create::Overwrite).unwrap()
        };
        make("alpha", &[Some("x"), Some("y")], &[2, 3]);
        let beta = make("beta", &[Some("y"), Some("z")], &[3, 4]);
        let dimensions = || Dataset::open(group.clone()).unwrap().dimensions().unwrap();
        assert_eq!(dimensions().len(), 3);
        beta.resize(&[5, 4], false).unwrap();
        let y = dimensions().into_iter().find(|d| d.name == "y").unwrap();
        assert_eq!((y.length, y.longest), (3, 5));
        assert_eq!(Dataset::open(group.clone()).unwrap().dimension("y").unwrap(), y);
        make("beta", &[Some("y"), None], &[3, 4]);
        let e = Dataset::open(group.clone()).err().unwrap();
        assert!(e.to_string().contains("dimension 1 of the array \"beta\""), "{e}");
        make("beta", &[Some("x")], &[2]);
        let ds = Dataset::open(group).unwrap();
        let e = ds.define_dimension("x", 3).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Exists, "{e}");
        ds.define_dimension("x", 2).unwrap();
        ds.define_dimension("unused", 7).unwrap();
        assert_eq!(ds.dimension("unused").unwrap().length, 7);
        for bad in ["", "a/b", "__x", ".", "zarr.json", "a\\b", "a\n"] {
            assert_eq!(ds.define_dimension(bad, 1).unwrap_err().kind(), ErrorKind::Name, "{bad:?}");
        }
        let twice = VariableSpec::new(DataType::Int8, &["x", "x"]);
        assert_eq!(ds.define_variable("v", &twice, Create::New).err().unwrap().kind(), ErrorKind::Argument);
        assert_eq!(store.node_kind("v").unwrap(), NodeKind::None);
    }

    #[test]
    fn a_dimension_grows_in_all_its_variables() {
        let store = memory();
        let ds = Dataset::create(&store, "d", None, Create::New).unwrap();
        ds.define_dimension("t", 0).unwrap();
        ds.define_dimension("x", 3).unwrap();
        let a = ds.define_variable("a", &VariableSpec::new(DataType::Int16, &["x", "t"]), Create::New).unwrap();
        ds.define_variable("b", &VariableSpec::new(DataType::Int16, &["t"]), Create::New).unwrap();
        ds.resize_dimension("t", 5).unwrap();
        assert_eq!((a.shape().as_slice(), ds.dimension("t").unwrap().length), (&[3, 5][..], 5));
        a.resize(&[3, 6], false).unwrap();
        let t = ds.dimension("t").unwrap();
        assert_eq!((t.length, t.longest), (5, 6));
        let e = ds.close().unwrap_err();
        assert!(e.message().contains("\"a\"") && e.message().contains("\"b\""), "{e}");
    }

    /// As zarr-python and xarray write covariances.
    #[test]
    fn a_dimension_that_a_variable_has_twice_is_resized_in_both_places() {
        for format in [Format::V2, Format::V3] {
            let store = memory();
            let root = Group::create(&store, "", Some(format), Create::New).unwrap();
            let make = |name: &str, names: &[&str], shape: &[u64]| {
                let mut spec = Spec::new(DataType::Int16, shape).unwrap();
                spec.set_format(format).unwrap();
                spec.set_chunks(&vec![4; shape.len()]).unwrap();
                spec.set_fill(DataType::Int16, &7i16.to_ne_bytes()).unwrap();
                spec.set_dimension_names(names.iter().map(|n| Some(n.to_string())).collect()).unwrap();
                Array::create(&store, name, &spec, Create::New).unwrap()
            };
            make("x", &["x"], &[5]);
            let cov = make("cov", &["x", "y", "x"], &[5, 2, 5]);
            let all = |n: u64| Selection::all(&[n, 2, n]);
            own!(cov.write(&all(5), &Memory::of(&mut [1i16; 50], &[5, 2, 5], DataType::Int16))).unwrap();
            drop(cov);
            let ds = Dataset::open(root).unwrap();
            let e = Series::open(&ds, "x", None, 0, 0).err().unwrap();
            assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("\"cov\""), "{e}");
            for n in [10, 3, 5] {
                ds.resize_dimension("x", n).unwrap();
                let cov = ds.variable("cov").unwrap();
                assert_eq!((cov.shape().as_slice(), ds.dimension("x").unwrap().longest), (&[n, 2, n][..], n), "{format:?}");
            }
            ds.close().unwrap();
            let mut got = [0i16; 50];
            own!(ds.variable("cov").unwrap().read(&all(5), &Memory::of(&mut got, &[5, 2, 5], DataType::Int16))).unwrap();
            for (at, found) in got.into_iter().enumerate() {
                assert_eq!(found, if at / 10 < 3 && at % 5 < 3 { 1 } else { 7 }, "{at}");
            }
        }
    }

    /// What another handle made longer along another dimension is not cut off.
    #[test]
    fn a_dimension_grows_beside_others() {
        let store = memory();
        let ds = Dataset::create(&store, "d", None, Create::New).unwrap();
        ds.define_dimension("t", 0).unwrap();
        ds.define_dimension("x", 0).unwrap();
        let a = ds.define_variable("a", &VariableSpec::new(DataType::Int16, &["x", "t"]), Create::New).unwrap();
        let other = Dataset::open(Group::open(&store, "d").unwrap()).unwrap();
        ds.resize_dimension("t", 5).unwrap();
        other.resize_dimension("x", 3).unwrap();
        ds.resize_dimension("t", 6).unwrap();
        other.resize_dimension("x", 2).unwrap();
        a.refresh().unwrap();
        assert_eq!(a.shape().as_slice(), &[2, 6]);
    }

    /// The stored numbers, and what they mean; regions, missing chunks, fill values, both versions.
    #[test]
    fn packed_variables_read_as_what_they_mean() {
        for format in [Format::V2, Format::V3] {
            let (store, ds) = new_dataset(Some(format));
            ds.define_dimension("x", 6).unwrap();
            let missing = Some(Element::from_slice(&(-9999i16).to_ne_bytes()));
            let v = VariableSpec {
                missing,
                scale: Some(0.5),
                offset: Some(100.0),
                chunks: Some(vec![2]),
                ..VariableSpec::new(DataType::Int16, &["x"])
            };
            let array = ds.define_variable("v", &v, Create::New).unwrap();
            let mut values = [1.0, f64::NAN, 100.5];
            let part = Selection::new(&[6], &[1], &[3], None).unwrap();
            own!(array.write_packed(&part, &Memory::of(&mut values, &[3], DataType::Float64))).unwrap();
            let mut raw = [0i16; 6];
            own!(array.read(&Selection::all(&[6]), &Memory::of(&mut raw, &[6], DataType::Int16))).unwrap();
            assert_eq!(raw, [-9999, -198, -9999, 1, -9999, -9999], "{format:?}");
            let mut got = [0f32; 6];
            let again = Array::open(&store, "v").unwrap();
            own!(again.read_unpacked(&Selection::all(&[6]), &Memory::of(&mut got, &[6], DataType::Float32))).unwrap();
            assert_eq!((got[1], got[3]), (1.0, 100.5));
            assert!([0, 2, 4, 5].iter().all(|&i| got[i].is_nan()), "{format:?}: {got:?}");
            let mut whole = [0i32; 6];
            let e = own!(again.read_unpacked(&Selection::all(&[6]), &Memory::of(&mut whole, &[6], DataType::Int32))).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Type);
            let e = own!(again.write_packed(&part, &Memory::of(&mut [0.0, 0.0, 1e9], &[3], DataType::Float64))).unwrap_err();
            assert!(e.kind() == ErrorKind::Range && e.to_string().contains("[2]") && e.message().contains("scale_factor 0.5"), "{e}");
            let has = again.attributes().names().unwrap();
            assert!(has.contains(&"_FillValue".to_string()), "{has:?}");
        }
    }

    /// A fill value of version 2 means "missing" to xarray.
    #[test]
    fn variables_of_version_2_without_a_missing_value_have_no_fill_value_that_data_may_have() {
        let (_, ds) = new_dataset(Some(Format::V2));
        ds.define_dimension("x", 6).unwrap();
        let pair = r#"[["a","<i4"],["b","<f8"]]"#;
        for (i, (dtype, fill)) in [
            ("\"<i2\"", "null"),
            ("\"|b1\"", "null"),
            ("\"<c8\"", "null"),
            ("\"<f4\"", "\"NaN\""),
            ("\"<M8[s]\"", "-9223372036854775808"),
            ("\"<U3\"", "null"),
            ("\"|S3\"", "null"),
            ("\"|V2\"", "null"),
            (pair, "null"),
            ("\"|O\"", "null"),
        ]
        .into_iter()
        .enumerate()
        {
            let data_type = match dtype {
                "\"|O\"" => DataType::VarText,
                _ => crate::dtype::parse_v2::parse(&json::parse_text(dtype).unwrap()).unwrap().data_type,
            };
            let name = format!("v{i}");
            let variable = VariableSpec::new(data_type, &["x"]);
            let array = ds.define_variable(&name, &variable, Create::New).unwrap();
            let document = json::parse_object(array.metadata_json().unwrap().as_bytes(), 10_000).unwrap();
            assert_eq!(document["fill_value"].to_string(), fill, "{dtype}");
            let spec = Some(Spec::without_shape(data_type, 1).unwrap());
            ds.define_variable(&name, &VariableSpec { spec, ..variable }, Create::OpenIfSame).unwrap_or_else(|e| panic!("{dtype}: {e}"));
        }
        // As they were made before.
        let mut spec = Spec::new(DataType::VarText, &[6]).unwrap();
        spec.set_fill_json("\"\"").unwrap();
        let old = VariableSpec { spec: Some(spec), ..VariableSpec::new(DataType::VarText, &["x"]) };
        ds.define_variable("old", &old, Create::New).unwrap();
        ds.define_variable("old", &VariableSpec::new(DataType::VarText, &["x"]), Create::OpenIfSame).unwrap();
    }

    #[test]
    fn missing_values_are_found_in_all_their_forms() {
        let nan = "\"AAAAAAAA+H8=\"";
        let cases = [
            (DataType::Float32, nan, vec![f64::NAN]),
            (DataType::Float32, "\"AAAAAIhtq8A=\"", vec![-3510.765625]),
            (DataType::Float64, "-9999.0", vec![-9999.0]),
            (DataType::Float64, "\"NaN\"", vec![f64::NAN]),
            (DataType::Float64, "\"AAAAAAAA8H8=\"", vec![f64::INFINITY]),
            (DataType::Float32, "\"AAAAAAAA8P8=\"", vec![f64::NEG_INFINITY]),
            (DataType::Float32, "1e400", vec![f64::INFINITY]),
            (DataType::Float64, "[-1, 1e20]", vec![-1.0, 1e20]),
            (DataType::Int16, "-9999", vec![-9999.0]),
            (DataType::Int16, "-9999.0", vec![-9999.0]),
            (DataType::UInt8, "-9999", vec![]),
            (DataType::Float64, "0", vec![0.0, -0.0]),
        ];
        for (data_type, text, want) in cases {
            let store = memory();
            let array = Array::create(&store, "a", &Spec::new(data_type, &[1]).unwrap(), Create::New).unwrap();
            array.attributes().set("_FillValue", json::parse_given(text).unwrap()).unwrap();
            let got: Vec<f64> = array
                .missing_values()
                .unwrap()
                .iter()
                .map(|e| match crate::dtype::Real::load(data_type, e).unwrap() {
                    crate::dtype::Real::Int(n) => n as f64,
                    crate::dtype::Real::Float(x) => x,
                })
                .collect();
            let same = got.len() == want.len() && got.iter().zip(&want).all(|(a, b)| a == b || a.is_nan() && b.is_nan());
            assert!(same, "{data_type:?} {text}: {got:?}");
        }
        let store = memory();
        let mut spec = Spec::new(DataType::Int16, &[1]).unwrap();
        spec.set_attributes_json("{\"_FillValue\": {}, \"scale_factor\": 0}").unwrap();
        let array = Array::create(&store, "a", &spec, Create::New).unwrap();
        assert_eq!(array.missing_values().unwrap_err().field(), Some("_FillValue"));
        assert_eq!(array.packing().unwrap_err().kind(), ErrorKind::Metadata);
    }

    /// xarray refuses a store of version 3 in which text has `_FillValue`.
    #[test]
    fn the_missing_value_of_text_is_the_fill_value_alone() {
        let (_, ds) = new_dataset(Some(Format::V3));
        ds.define_dimension("x", 2).unwrap();
        let variable = VariableSpec { missing: Some(Element::from_slice(b"-")), ..VariableSpec::new(DataType::Bytes(1), &["x"]) };
        let text = ds.define_variable("text", &variable, Create::New).unwrap();
        assert!(text.attributes().get_json("_FillValue").is_err());
        assert_eq!(text.fill().element(text.data_type()).as_slice(), b"-");
    }

    #[test]
    fn times_are_read_and_written_in_the_units_that_are_asked_for() {
        let (store, ds) = new_dataset(Some(Format::V3));
        let time = ds.define_time("time", 3, None, "hours since 2000-02-28", "noleap", Create::New).unwrap();
        let all = Selection::all(&[3]);
        let mut seconds = [0i64, 3600, 86_400];
        own!(time.write_times(&all, "seconds since 2000-03-01", &Memory::of(&mut seconds, &[3], DataType::Int64))).unwrap();
        let mut raw = [0i64; 3];
        own!(time.read(&all, &Memory::of(&mut raw, &[3], DataType::Int64))).unwrap();
        assert_eq!(raw, [24, 25, 48]);
        let mut got = [0i64; 3];
        own!(time.read_times(&all, "milliseconds since 2000-03-01", &Memory::of(&mut got, &[3], DataType::Int64))).unwrap();
        assert_eq!(got, [0, 3_600_000, 86_400_000]);
        // xarray opens no dataset with the least integer as a time of such a calendar.
        let mut none = [3600i64, i64::MIN, 7200];
        let e = own!(time.write_times(&all, "seconds since 2000-02-28", &Memory::of(&mut none, &[3], DataType::Int64))).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Range);
        assert!(e.message().contains("no missing value"), "{e}");
        // The least integer is no time, in the store, too, whether or not an attribute names another value for that.
        for (name, calendar, more, stored) in [("standard", "standard", "{}", i64::MIN), ("later", "noleap", r#"{"_FillValue":-1}"#, -1)] {
            let axis = ds.define_time(name, 3, None, "hours since 2000-02-28", calendar, Create::OpenIfSame).unwrap();
            for (name, value) in json::parse_text(more).unwrap().as_object().unwrap() {
                axis.attributes().set_json(name, &value.to_string()).unwrap();
            }
            let mut none = [3600i64, i64::MIN, 7200];
            own!(axis.write_times(&all, "seconds since 2000-02-28", &Memory::of(&mut none, &[3], DataType::Int64))).unwrap();
            own!(axis.read(&all, &Memory::of(&mut raw, &[3], DataType::Int64))).unwrap();
            assert_eq!(raw, [1, stored, 2]);
            own!(axis.write(&all, &Memory::of(&mut [1i64, i64::MIN, 2], &[3], DataType::Int64))).unwrap();
            own!(axis.read_times(&all, "seconds since 2000-02-28", &Memory::of(&mut got, &[3], DataType::Int64))).unwrap();
            assert_eq!(got, none, "{name}");
        }
        let mut half = [1i64, 0, 0];
        let e = own!(time.write_times(&all, "minutes since 2000-03-01", &Memory::of(&mut half, &[3], DataType::Int64))).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Range, "{e}");
        let plain = ds.define_coordinate("x", 3, None, DataType::Int64, Some("m"), None).unwrap();
        let e = own!(plain.read_times(&all, "days since 2000-01-01", &Memory::of(&mut got, &[3], DataType::Int64))).unwrap_err();
        assert!(e.message().contains("\"x\"") && e.message().contains("\"m\""), "{e}");
        // Packed counts: 24 hours and twice the number, which has no sign; then what makes no whole nanoseconds.
        let packed = ds
            .define_variable("packed", &VariableSpec::new(DataType::Int8, &["x"]).with("units", "hours since 2000-01-01"), Create::New)
            .unwrap();
        for (name, value) in [("scale_factor", "2.0"), ("add_offset", "24"), ("_Unsigned", "\"true\"")] {
            packed.attributes().set_json(name, value).unwrap();
        }
        own!(packed.write(&all, &Memory::of(&mut [0i8, 3, -1], &[3], DataType::Int8))).unwrap();
        own!(packed.read_times(&all, "minutes since 2000-01-02", &Memory::of(&mut got, &[3], DataType::Int64))).unwrap();
        assert_eq!(got, [0, 360, 510 * 60]);
        own!(packed.write_times(&all, "days since 2000-01-01", &Memory::of(&mut [1i64, 2, 22], &[3], DataType::Int64))).unwrap();
        own!(packed.read(&all, &Memory::of(&mut raw, &[3], DataType::Int64))).unwrap();
        assert_eq!(raw, [0, 12, 252 - 256]);
        packed.attributes().set_json("scale_factor", "1e-14").unwrap();
        let e = own!(packed.read_times(&all, "days since 2000-01-01", &Memory::of(&mut got, &[3], DataType::Int64))).unwrap_err();
        assert_eq!((e.kind(), e.field()), (ErrorKind::Metadata, Some("scale_factor")), "{e}");
        let stamps = Array::create(
            &store,
            "stamps",
            &Spec::new(DataType::DateTime(crate::dtype::Unit::new("D", 1).unwrap()), &[3]).unwrap(),
            Create::New,
        )
        .unwrap();
        own!(stamps.write(&all, &Memory::of(&mut [1i64, i64::MIN, 3], &[3], DataType::Int64))).unwrap();
        own!(stamps.read_times(&all, "hours since 1970-01-01", &Memory::of(&mut got, &[3], DataType::Int64))).unwrap();
        assert_eq!(got, [24, i64::MIN, 72]);
    }
}
