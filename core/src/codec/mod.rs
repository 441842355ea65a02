//! The codec chain: from an array's list of codecs to something that encodes and decodes chunks.
//!
//! Three steps, each of which drops what the next does not need: [`chain::Chain::parse`] reads the JSON (names, configuration,
//! types) and refuses what is unknown; [`chain::Chain::bind`] takes a chunk's shape and fixes every size; what comes out, a
//! [`BoundChain`], is a tree of integers and [`Stage`]s that the engine walks. `transpose` and byte order cost no stage: they
//! become strides and an element type, and are applied by the one copy that places the elements.
//!
//! Adding a codec: one file with a [`Stage`] (or a case of [`parse`] if it changes shapes), and a row in `registry.rs` (docs/adding.md).

mod arithmetic;
pub mod astype;
pub mod base64;
pub mod bitround;
pub mod blosc;
mod blosc_encode;
mod blosclz;
mod bound;
mod build;
pub mod bytes;
pub mod bz2;
pub mod cast_value;
pub mod chain;
pub mod checksum;
pub mod complete;
mod config;
mod deflate;
pub mod delta;
mod elementwise;
pub mod fixed_scale_offset;
pub mod fused;
pub mod gzip;
pub mod lz4;
pub mod lzma;
pub mod parse;
pub mod pcodec;
pub mod quantize;
pub mod rare;
pub mod registered;
pub mod registry;
pub mod reshape;
mod scalar;
pub mod scale_offset;
pub mod sharding;
mod shuffle;
mod stage;
mod streams;
#[cfg(test)]
mod testing;
pub mod transpose;
mod unpack;
mod unscale;
pub mod vlen;
pub mod zfp;
pub mod zlib;
pub mod zstd;

pub use bound::{BoundChain, IndexLocation, Layout, Leaf, Sharded};
pub use stage::{CheckFirst, Dest, FIRST_BYTES, FIRST_ROOM, Size, Stage, StageRef, VariableCodec};
pub use unpack::Packing;
