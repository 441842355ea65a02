//! Reads the variables that a program describes to a dataset.

use super::dataset::ozarr_variable;
use super::spec::{bits_of, shuffle_of};
use super::strings::{lengths, names, optional};
use super::types::data_type;
use crate::dtype::{DataType, Element};
use crate::error::{Result, bail};
use crate::node::{Spec, TimeUnits, Value, VariableSpec};

impl ozarr_variable {
    /// Reads the description of a variable.
    ///
    /// # Safety
    /// The members are as the struct says.
    pub(super) unsafe fn described(&self) -> Result<VariableSpec> {
        let spec = if self.spec.is_null() { None } else { Some(super::spec::snapshot(self.spec)?) };
        let stored = match (&spec, self.r#type) {
            (Some(spec), 0) => spec.data_type(),
            (_, raw) => data_type(raw, None)?,
        };
        // SAFETY: the caller's promise.
        let dimensions = unsafe { names(self.rank, self.dimensions, "variable->dimensions") }?;
        // SAFETY: the caller's promise.
        let spec = unsafe { compressed(self, spec, stored, dimensions.len()) }?;
        let mut variable = VariableSpec { dimensions, spec, ..VariableSpec::new(stored, &[]) };
        if !self.chunks.is_null() {
            // SAFETY: the caller's promise.
            variable.chunks = Some(unsafe { lengths(self.chunks, variable.dimensions.len(), "variable->chunks", 1) }?.to_vec());
        }
        let members =
            [("units", self.units), ("calendar", self.calendar), ("long_name", self.long_name), ("standard_name", self.standard_name)];
        for (name, value) in members {
            // SAFETY: the caller's promise.
            if let Some(value) = unsafe { optional(value, name) }? {
                variable = variable.with(name, value);
            }
        }
        // SAFETY: the caller's promise.
        if let Some(json) = unsafe { optional(self.attributes, "variable->attributes") }? {
            let members = variable.attributes.clone();
            variable = variable.with_json(json)?;
            if let Some((name, value)) = members.iter().find(|(name, value)| variable.attributes.get(name.as_str()) != Some(value)) {
                bail!(Argument, "`variable->{name}` is {value}, in `variable->attributes` it is another one");
            }
        }
        let units = variable.attributes.get("units").and_then(Value::as_str);
        if let Some(units) = units.filter(|units| !self.calendar.is_null() && !TimeUnits::is_one(units)) {
            bail!(Argument, "`variable->calendar` is given, and the units {units:?} are not those of time");
        }
        if !self.missing.is_null() {
            if stored.is_variable() {
                bail!(Type, "elements of {} have no missing value", stored.name());
            }
            // SAFETY: one element of the type, by the caller's promise.
            variable.missing = Some(Element::from_slice(unsafe { std::slice::from_raw_parts(self.missing.cast::<u8>(), stored.size()) }));
        }
        if (self.scale_factor, self.add_offset) != (0.0, 0.0) {
            variable.scale = Some(if self.scale_factor == 0.0 { 1.0 } else { self.scale_factor });
            variable.offset = Some(self.add_offset);
        }
        Ok(variable)
    }
}

/// The specification of a variable with its choices of compression; `None` if it has neither.
///
/// # Safety
/// The member `compressor` is NULL or a NUL-terminated text.
unsafe fn compressed(v: &ozarr_variable, spec: Option<Spec>, data_type: DataType, rank: usize) -> Result<Option<Spec>> {
    // SAFETY: the caller's promise.
    let name = unsafe { optional(v.compressor, "variable->compressor") }?;
    let (shuffle, bits) = (shuffle_of(v.shuffle, "variable->shuffle")?, bits_of(v.keep_bits, "variable->keep_bits")?);
    if name.is_none() && v.level != 0 {
        bail!(Argument, "`variable->level` is {} and `variable->compressor` is NULL", v.level);
    }
    if name.is_none() && shuffle.is_none() && bits.is_none() {
        return Ok(spec);
    }
    let mut spec = match spec {
        Some(spec) => spec,
        None => Spec::without_shape(data_type, rank)?,
    };
    if let Some(name) = name {
        spec.set_compressor(name, (v.level != 0).then_some(v.level))?;
    }
    if shuffle.is_some() {
        spec.set_shuffle(shuffle)?;
    }
    if bits.is_some() {
        spec.set_keep_bits(bits)?;
    }
    Ok(Some(spec))
}
