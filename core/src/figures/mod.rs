//! What is computed of numbers in memory: their figures, and how far two are from one another. These loops are compiled for speed; what brings the
//! numbers is in the crate above, which is compiled for size.

pub mod distance;
pub mod moments;
mod number;

pub use number::{Exact, as_number};
