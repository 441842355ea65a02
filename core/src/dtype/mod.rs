//! Data types: what an element of an array is, in the file and in the caller's memory.
//!
//! A [`DataType`] has no byte order; an [`ElementType`] is a data type with the order that it has in some buffer.
//! Conversion kernels between element types are in `kernels.rs`, fill values in `fill.rs`.

pub mod base64_text;
pub mod coding;
mod convert_element;
mod data_type;
mod element;
mod fields;
pub mod fill;
mod fill_number;
mod kernels;
pub mod narrow;
pub mod number;
pub mod parse_v2;
pub mod parse_v3;
pub mod record;
pub mod registered;
pub mod registration;
mod relocate;
pub mod resolve;
pub mod run;
mod source;
pub mod stream;
#[cfg(test)]
mod tests_registered;
#[cfg(test)]
mod tests_structs;
mod text;
mod time;
pub mod transfer;
mod unit;
pub mod variable;

pub use data_type::{DataType, ElementType, Kind};
pub use element::{ByteOrder, Element, MAX_LENGTH, SharedElement, zeros};
pub use fields::check_memory;
pub use narrow::Narrow;
pub use number::{Overflow, Real};
pub use parse_v3::check_v3;
pub use record::{Field, Struct};
pub use run::Run;
pub use time::{convert_times, unlike_units};
pub use unit::Unit;
