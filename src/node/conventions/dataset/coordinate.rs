//! Which variables of a dataset are coordinates. Convention: CF 5, "Coordinate Systems".

use super::Dataset;
use crate::error::{Result, bail};

impl Dataset {
    /// Whether a variable is a coordinate: of its only dimension, whose name it has, or named in an attribute `coordinates`.
    pub fn is_coordinate(&self, name: &str) -> Result<bool> {
        let known = self.known(name)?;
        Ok(known.is_index() || self.0.state.read(|state| state.coordinates.iter().any(|c| c == name)))
    }

    /// Makes a variable a coordinate: when the dataset is closed, the variables along its dimensions name it in their attribute
    /// `coordinates` (or the group, if no variable does). One that has the name of its only dimension is one anyway.
    pub fn set_coordinate(&self, name: &str) -> Result<()> {
        self.0.group.store().check_writable()?;
        self.settle()?;
        if self.known(name)?.is_index() {
            return Ok(());
        }
        if name.contains(char::is_whitespace) {
            bail!(Name, "the coordinate {name:?} has a blank in its name, which an attribute `coordinates` cannot tell");
        }
        self.0.state.write(|state| {
            state.marked = true;
            if !state.coordinates.iter().any(|c| c == name) {
                state.coordinates.push(name.to_string());
            }
        });
        Ok(())
    }
}
