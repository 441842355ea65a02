//! The codec chain: from an array's list of codecs to something that encodes and decodes chunks.
//!
//! Three steps, each forgetting what the next does not need: [`chain::Chain::parse`] reads the JSON (names, configuration,
//! types) and refuses what is unknown; [`chain::Chain::bind`] takes a chunk's shape and fixes every size; what comes out, a
//! [`BoundChain`], is a tree of integers and [`Stage`]s that the engine walks. `transpose` and byte order cost no stage: they
//! become strides and an element type, and are applied by the one copy that places the elements.
//!
//! Adding a codec: one file with a [`Stage`] (or a case of [`chain`] if it changes shapes), and a row in `registry.rs`.

pub mod base64;
pub mod bitround;
pub mod blosc;
mod blosclz;
pub mod bytes;
pub mod bz2;
pub mod cast;
pub mod categorize;
pub mod chain;
pub mod checksum;
pub mod conditional;
pub mod filters;
pub mod foreign;
pub mod fused;
pub mod gzip;
pub mod lz4;
pub mod lzma;
pub mod n5;
pub mod objects;
pub mod offsets;
pub mod packbits;
pub mod pcodec;
pub mod registry;
pub mod reshape;
pub mod scale;
pub mod sharding;
mod shuffle;
pub mod transpose;
pub mod vlen;
mod wide;
pub mod zfp;
pub mod zlib;
pub mod zstd;

use crate::dtype::ElementType;
use crate::error::Result;
use crate::limits::{Dims, Strides};

/// What is known of a size before the bytes are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Exactly so many bytes.
    Exact(usize),
    /// At most so many bytes.
    AtMost(usize),
}

impl Size {
    /// The largest size that is possible.
    pub fn max(self) -> usize {
        match self {
            Size::Exact(n) | Size::AtMost(n) => n,
        }
    }
}

/// Where a stage puts what it decodes.
pub enum Dest<'a> {
    /// Exactly this many bytes are expected: fewer or more is an error of kind `Chunk` with both numbers.
    Exact(&'a mut [u8]),
    /// The buffer is cleared and becomes the decoded bytes, at most so many (one more is an error of kind `Chunk`).
    AtMost(&'a mut Vec<u8>, usize),
}

/// One step between bytes and bytes: a compressor, a checksum, or a kernel over typed elements (delta, astype).
///
/// Stages are stateless; contexts of codec libraries are kept by thread, inside the codec's file.
/// Errors say what is wrong with the bytes (kinds `Chunk`, `Checksum`, `Truncated`, `Limit`); the engine adds the key.
pub trait Stage: Send + Sync {
    /// The codec's name as in metadata, for messages.
    fn name(&self) -> &'static str;

    /// What is known of the encoded size, given the size of what is encoded.
    fn encoded_size(&self, decoded: Size) -> Size;

    /// Encodes `src` into `dst`, which is cleared first.
    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()>;

    /// Decodes `src` into `dst`. Never reads past `src`, never allocates more than `dst`'s size and a small constant.
    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()>;

    /// Decodes only bytes `[offset, offset + dst.len())` of the decoded `total` bytes, where that is cheaper than all;
    /// `None` where it is not.
    fn decode_range(&self, src: &[u8], total: usize, offset: usize, dst: &mut [u8]) -> Option<Result<()>> {
        let _ = (src, total, offset, dst);
        None
    }

    /// Of a checksum: the same stage without the comparison when decoding.
    fn unverified(&self) -> Option<StageRef> {
        None
    }

    /// The decoded and the encoded elements, of a codec that decodes each element by itself: then any run of whole elements can be
    /// decoded alone.
    fn elements(&self) -> Option<(ElementType, ElementType)> {
        None
    }

    /// Whether decoding only makes floating-point numbers of integers that they are exactly.
    fn widens_integers(&self) -> bool {
        false
    }

    /// Decodes integers of that type which a stage behind this one would widen ([`Stage::widens_integers`]) to this one's encoded
    /// elements; false, with nothing done, where it has no way that is shorter than both.
    fn decode_widened(&self, integers: ElementType, src: &[u8], dst: &mut [u8]) -> bool {
        let _ = (integers, src, dst);
        false
    }

    /// Whether any thread may use it: not so for codecs of the program that do not say so.
    fn any_thread(&self) -> bool {
        true
    }

    /// The same stage for buffers of elements of that shape (C order), where its bytes depend on it; called once, when the chain
    /// is bound.
    fn for_shape(&self, shape: &[u64]) -> Result<Option<StageRef>> {
        let _ = shape;
        Ok(None)
    }
}

/// The array→bytes codec of elements of variable length, which are [`Item`](crate::dtype::variable::Item)s in memory.
///
/// Stateless, as [`Stage`]s are.
pub trait VariableCodec: Send + Sync {
    /// The codec's name as in metadata, for messages.
    fn name(&self) -> &'static str;

    /// Encodes a buffer of items (each as its bytes), the elements of a chunk of that shape, into `dst`, which is cleared first.
    /// Elements that the data type does not allow are errors of kind `Range`.
    fn encode(&self, items: &[u8], shape: &[u64], dst: &mut Vec<u8>) -> Result<()>;

    /// Decodes `bytes` into exactly as many items as the buffer `items` has room for. They point into the buffer that is returned,
    /// which the caller keeps for as long as it uses them.
    fn decode(&self, bytes: Vec<u8>, items: &mut [u8]) -> Result<Vec<u8>>;

    /// The elements of the encoded buffer, for the stages behind.
    fn encoded_item(&self) -> ElementType {
        registry::BYTES
    }
}

/// A codec chain for chunks of one shape: a tree, because shards hold chunks.
#[allow(clippy::large_enum_variant)] // one for each shape of chunks, never moved
pub enum BoundChain {
    /// Elements, then bytes→bytes stages.
    Leaf(Leaf),
    /// A shard: an index and inner chunks.
    Sharded(Box<Sharded>),
}

/// How the elements of a decoded chunk lie in its buffer.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The type and byte order of the elements.
    pub element: ElementType,
    /// For each dimension of the chunk (in the order that the array's user sees), the distance in bytes between
    /// neighbours. Always a permutation of a dense layout.
    pub strides: Strides,
    /// Bytes of the whole buffer.
    pub bytes: usize,
}

/// A chain without shards: a dense buffer of elements, passed through stages.
pub struct Leaf {
    /// The chunk's shape, in the order that the array's user sees.
    pub shape: Dims,
    /// The buffer before the first stage (and before `variable`).
    pub layout: Layout,
    /// What makes bytes of elements of variable length; `None` for all others, whose bytes are the buffer.
    pub variable: Option<std::sync::Arc<dyn VariableCodec>>,
    /// Stages in the order of encoding. Empty: the stored bytes are the elements.
    pub stages: Vec<StageRef>,
    /// What is known of the sizes: `sizes[i]` before stage `i`, the last one of the stored bytes. `sizes[0]` is exact
    /// unless elements are of variable length.
    pub sizes: Vec<Size>,
    /// The first stages, if they decode each element by itself.
    pub fused: Option<std::sync::Arc<fused::Fused>>,
}

impl Leaf {
    /// Whether the stored bytes are the elements as they are.
    pub fn is_raw(&self) -> bool {
        self.stages.is_empty() && self.variable.is_none()
    }
}

/// A stage, shared by the chains bound for different shapes.
pub type StageRef = std::sync::Arc<dyn Stage>;

/// Where the index of a shard stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexLocation {
    /// Before the inner chunks.
    Start,
    /// After them.
    End,
}

/// A shard (`sharding_indexed`): inner chunks, found through an index of (offset, length).
pub struct Sharded {
    /// The shard's shape, in the order that the array's user sees.
    pub shape: Dims,
    /// For each dimension of the inner grid, the dimension of `shape` that it is (the transposes before sharding).
    pub axes: smallvec::SmallVec<[usize; 6]>,
    /// The inner chunk's shape, in the inner grid's order of dimensions.
    pub inner_shape: Dims,
    /// The number of inner chunks along each dimension of the inner grid; C order in the index.
    pub grid: Dims,
    /// Where the index is.
    pub location: IndexLocation,
    /// The chain of the index: uint64 of shape `grid + [2]`. Its last size is exact: the bytes to read.
    pub index: Leaf,
    /// The chain of one inner chunk.
    pub inner: BoundChain,
    /// bytes→bytes stages over the whole shard, in the order of encoding; with any, only whole shards can be read.
    pub stages: Vec<StageRef>,
}

impl BoundChain {
    /// The chunk's shape, in the order that the array's user sees.
    pub fn shape(&self) -> &Dims {
        match self {
            BoundChain::Leaf(c) => &c.shape,
            BoundChain::Sharded(c) => &c.shape,
        }
    }
}
