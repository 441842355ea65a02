//! What programs agree on beyond the specification of Zarr: netCDF's data model and the CF conventions, as xarray stores them.
//!
//! [`dataset`] is the layer that a program writes and reads them with; `cf` says what the numbers of an array mean, `time` what a count
//! of hours since some day does. Everything here is attributes and names of arrays that can be used without it.

mod axis;
pub mod cf;
mod coordinates;
pub mod dataset;
pub(in crate::node) mod missing;
pub mod nczarr;
mod nczarr_group;
pub(in crate::node) mod nczarr_names;
mod nczarr_type;
pub(super) mod nczarr_update;
pub mod ome;
mod open_variable;
pub(in crate::node) mod retyped;
pub(in crate::node) mod sign;
pub mod time;
pub mod variable;
mod variable_names;

pub(in crate::node) use dataset::Compared;
pub use dataset::Dataset;
pub use nczarr_group::NcDimension;
pub use nczarr_names::NcArray;
pub use nczarr_type::NcType;
pub use ome::{ImageAxis, ImageLevel, Multiscale};
pub use time::{Calendar, Moment, TimeUnits};
pub use variable::VariableSpec;
