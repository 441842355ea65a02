//! The values of the coordinate, which rise or fall from step to step.

use super::{Series, counted, numbers};
use crate::dtype::{Kind, Real};
use crate::engine::{Memory, Overflow};
use crate::error::{Result, bail};

impl Series {
    /// The number that the coordinate has for a value; the value itself where it has no numbers, or none for this one.
    pub(super) fn as_stored(&self, value: f64) -> f64 {
        let mut element = [0; 8];
        let stored = self.coordinate().and_then(|index| {
            let data_type = self.parts[index].appender.array().data_type();
            Real::Float(value).store(data_type, Overflow::Error, &mut element).then(|| Real::load(data_type, &element))?
        });
        stored.map_or(value, Real::double)
    }

    /// Checks that the coordinate can have a value, and goes on with it.
    pub(super) fn check_value(&self, value: f64) -> Result<()> {
        let (dimension, step) = (&self.dimension, counted(self.position));
        if value.is_nan() {
            bail!(Argument, "the value of {dimension:?} for step {step} is NaN");
        }
        if let Some(index) = self.coordinate() {
            let checked = self.parts[index].appender.check(&numbers(&mut [value]));
            checked.map_err(|e| e.with_note(&format!(" (the variable {dimension:?})")))?;
        }
        let data_type = self.coordinate().map(|index| self.parts[index].appender.array().data_type());
        if let Some(data_type) = data_type
            && matches!(data_type.kind(), Kind::Int | Kind::UInt)
            && value.fract() != 0.0
        {
            bail!(
                Range,
                "the value {value} of {dimension:?} has a fraction, which {} has no place for: define the coordinate as float64, or with smaller units",
                data_type.name()
            );
        }
        self.check_order(value)
    }

    /// The number that is to be put as the coordinate's value of the next step; `None` for other variables, and for what is no number.
    ///
    /// Errors: `Argument` for one that goes back.
    ///
    /// # Safety
    /// As for [`crate::engine::write`].
    pub(super) unsafe fn value_in(&self, index: usize, memory: &Memory) -> Result<Option<f64>> {
        let is_number = self.coordinate() == Some(index) && matches!(memory.data_type.kind(), Kind::Int | Kind::UInt | Kind::Float);
        if !is_number || self.is_given(index) || self.parts[index].appender.check(memory).is_err() {
            return Ok(None);
        }
        // SAFETY: the memory holds the element, as was checked.
        let element = unsafe { std::slice::from_raw_parts(memory.data.add(memory.offset), memory.data_type.size()) };
        let Some(value) = Real::load(memory.data_type, element).map(Real::double) else { return Ok(None) };
        if value.is_nan() {
            bail!(Argument, "the value of {:?} for step {} is NaN", self.dimension, counted(self.position));
        }
        // Of integers beyond this a double tells only some from each other.
        let is_exact = memory.data_type.kind() == Kind::Float || value.abs() < (1u64 << 53) as f64;
        if is_exact || self.values[1] != Some(self.as_stored(value)) {
            self.check_order(value)?;
        }
        Ok(Some(value))
    }

    /// Checks that a number goes on in the direction that the coordinate has, and can be told from the last one there.
    fn check_order(&self, value: f64) -> Result<()> {
        let (dimension, step, before) = (&self.dimension, counted(self.position), self.values);
        let data_type = self.coordinate().map(|index| self.parts[index].appender.array().data_type());
        let stored = self.as_stored(value);
        let (is_directed, falls) = (before[0].is_some() && before[0] != before[1], before[1] < before[0]);
        match before[1] {
            Some(last) if stored == last && value != last => {
                let name = data_type.map(|data_type| data_type.name()).unwrap_or_default();
                bail!(
                    Range,
                    "the value {value} of {dimension:?} for step {step} is {last} in {name}, as that of the step before is; expected a coordinate \
                     that tells them apart, such as one of float64"
                )
            }
            Some(last) if stored == last || (is_directed && (stored < last) != falls) => {
                let expected = if is_directed && falls { "less" } else { "more" };
                bail!(
                    Argument,
                    "found {value} as the value of {dimension:?} for step {step}, expected {expected} than {last}, that of the step before"
                )
            }
            _ => Ok(()),
        }
    }
}
