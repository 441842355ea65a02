//! What a specification says, held against what a variable of a dataset says itself.

use super::Spec;
use crate::error::{Result, bail, err};
use crate::metadata::json::brief;
use crate::metadata::{Format, Map};

impl Spec {
    /// Refuses what contradicts the variable: another version than the dataset's, other names of dimensions, another fill value than the missing one. What
    /// a specification has from the array that it is like gives way.
    pub(in crate::node) fn check_agrees(&self, format: Format, dimensions: &[String], missing: Option<&[u8]>) -> Result<()> {
        if self.loose {
            return Ok(());
        }
        if let Some(own) = self.format
            && own != format
        {
            bail!(Argument, "the specification is of zarr_format {}, the dataset of {}", own.number(), format.number());
        }
        let names = self.dimension_names.iter().flatten().zip(dimensions);
        if let Some((own, name)) = names.filter_map(|(own, name)| Some((own.as_ref()?, name))).find(|(own, name)| own != name) {
            bail!(Argument, "the specification names a dimension {own:?}, the variable {name:?}");
        }
        if let (Some(missing), true) = (missing, self.fill_is_set) {
            let mut other = self.clone();
            other.set_fill(self.data_type(), missing)?;
            // In version 2 all NaN are one.
            let (own, other) = (self.resolve_fill(Format::V2, false)?, other.resolve_fill(Format::V2, false)?);
            if own != other {
                let text = |fill: &crate::dtype::fill::Fill| fill.to_json_v2(self.data_type());
                let e = err!(
                    Argument,
                    "the specification has the fill value {}, the missing value is {}",
                    brief(&text(&own)?),
                    brief(&text(&other)?)
                );
                return Err(e.at_field("missing"));
            }
        }
        Ok(())
    }

    /// Adds attributes to those that are set. One that has another value there is an error of kind `Argument`, but in a specification that is like an array.
    pub(in crate::node) fn add_attributes(&mut self, attributes: Map) -> Result<()> {
        for (name, value) in attributes {
            match self.attributes.get(&name) {
                Some(own) if !self.loose && *own != value => {
                    let e = err!(Argument, "the specification has the value {}, the variable {}", brief(own), brief(&value));
                    return Err(e.at_field(&name));
                }
                _ => drop(self.attributes.insert(name, value)),
            }
        }
        Ok(())
    }
}
