//! Codecs that few files use: kept so that every codec that a maintained implementation writes can be read.

pub mod categorize;
pub mod conditional;
pub mod fixed_texts;
pub mod jenkins;
mod msgpack;
pub mod n5;
pub mod objects;
pub mod offsets;
pub mod packbits;
