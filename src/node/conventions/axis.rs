//! Axes of a dataset: a dimension together with the variable of the same name that gives its values.
//! Convention: CF 5, "Coordinate Systems".

use super::dataset::Dataset;
use super::time::{Calendar, TimeUnits};
use super::variable::VariableSpec;
use crate::dtype::DataType;
use crate::error::Result;
use crate::node::create_array::WriteValues;
use crate::node::{Array, Create};

impl Dataset {
    /// Defines a dimension of that length, and the variable of the same name that gives its values, in chunks of `chunk` or suggested ones.
    /// `units` is its attribute. What `write_values` writes is stored before the variable is there.
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

    /// Defines a time axis: a dimension of that length and the variable of the same name, counts of 64 bits of `units`
    /// (`"hours since 2026-01-01"`) in a calendar, in chunks of `chunk` or suggested ones.
    pub fn define_time(&self, name: &str, length: u64, chunk: Option<u64>, units: &str, calendar: &str, how: Create) -> Result<Array> {
        TimeUnits::parse(units, Calendar::parse(calendar)?)?;
        let variable = VariableSpec { chunks: chunk.map(|n| vec![n]), ..VariableSpec::new(DataType::Int64, &[name]) };
        let variable = variable.with("units", units).with("calendar", calendar).with("standard_name", "time");
        self.define_with(name, length, || self.define_variable(name, &variable, how))
    }
}
