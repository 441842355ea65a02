//! Axes of a dataset: a dimension together with the variable of the same name that gives its values.
//! Convention: CF 5, "Coordinate Systems".

use super::dataset::Dataset;
use super::time::{Calendar, TimeUnits};
use super::variable::VariableSpec;
use crate::counting;
use crate::dtype::DataType;
use crate::engine::{Memory, Selection};
use crate::error::{Result, bail};
use crate::limits::filled;
use crate::node::create_array::WriteValues;
use crate::node::{Array, Create, path};

impl Dataset {
    /// Defines a dimension of that length, and the variable of the same name that gives its values, in chunks of `chunk` or suggested ones.
    /// `units` is its attribute. What `write_values` writes is stored before the variable is there; see [`Dataset::check_values`].
    pub fn define_coordinate(
        &self,
        name: &str,
        length: u64,
        chunk: Option<u64>,
        data_type: DataType,
        units: Option<&str>,
        write_values: Option<&WriteValues>,
    ) -> Result<Array> {
        let mut variable = VariableSpec { chunks: chunk.map(|n| vec![n]), ..VariableSpec::new(data_type, &[name]) };
        if let Some(units) = units {
            variable = variable.with("units", units);
        }
        self.define_with(name, length, || self.define_with_values(name, &variable, Create::New, write_values))
    }

    /// Checks, in a dataset that is opened again, that a coordinate has the values that it is defined with, in its own type: those of one that was there
    /// are not written. Errors: `Exists`.
    pub fn check_values(&self, coordinate: &Array, values: &[u8]) -> Result<()> {
        if !self.reopens() || values.is_empty() {
            return Ok(());
        }
        let (shape, data_type) = (coordinate.shape(), coordinate.data_type());
        let mut found = filled(0u8, values.len())?;
        let memory = Memory::of(&mut found, &shape, data_type);
        // SAFETY: the memory lives as long as the call.
        unsafe { coordinate.read(&Selection::all(&shape), &memory) }?;
        let element = data_type.size().max(1);
        // A truth value is stored as 0 or 1, whatever the program has for it.
        let is_true = |value: &[u8]| value.iter().any(|&byte| byte != 0);
        let differs = |found: &[u8], value: &[u8]| match data_type {
            DataType::Bool => is_true(found) != is_true(value),
            _ => found != value,
        };
        match found.chunks(element).zip(values.chunks(element)).position(|(found, value)| differs(found, value)) {
            None => Ok(()),
            Some(index) => bail!(
                Exists,
                "the coordinate {} is there with another value at {}; open the dataset, or create it with overwriting",
                path::display(coordinate.path()),
                counting::position(index as i64)
            ),
        }
    }

    /// Defines a time axis: a dimension of that length and the variable of the same name, counts of 64 bits of `units`
    /// (`"hours since 2026-01-01"`) in a calendar, in chunks of `chunk` or suggested ones.
    pub fn define_time(&self, name: &str, length: u64, chunk: Option<u64>, units: &str, calendar: &str, how: Create) -> Result<Array> {
        TimeUnits::parse(units, Calendar::parse(calendar)?)?;
        let variable = VariableSpec { chunks: chunk.map(|n| vec![n]), ..VariableSpec::new(DataType::Int64, &[name]) };
        let variable = variable.with("units", units).with("calendar", calendar).with("standard_name", "time");
        self.define_with(name, length, || self.define_variable(name, &variable, how))
    }
}
