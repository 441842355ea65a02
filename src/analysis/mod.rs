//! What is computed of all elements of a region: statistics, digests, differences of two regions.
//!
//! A region is cut into [`blocks`] near the borders of chunks, which the threads of the context read and compute one by one, so that memory
//! stays bounded whatever the region's size.

pub mod blocks;
mod borders;
pub mod difference;
pub mod digest;
pub mod statistics;
mod stored;
#[cfg(test)]
mod tests_registered;

pub use crate::figures::{Exact, as_number, moments};
