//! A chain whose sizes are fixed for chunks of one shape: the tree of integers and stages that the engine walks.

use super::fused::Fused;
use super::stage::{Dest, Size, StageRef, VariableCodec};
use super::streams::check_input;
use crate::dtype::ElementType;
use crate::error::{Result, bail};
use crate::limits::{Dims, Strides};
use smallvec::SmallVec;
use std::sync::Arc;

/// A codec chain for chunks of one shape: a tree, because shards hold chunks.
#[allow(clippy::large_enum_variant)] // one for each shape of chunks, never moved
pub enum BoundChain {
    /// Elements, then bytes→bytes stages.
    Leaf(Leaf),
    /// A shard: an index and inner chunks.
    Sharded(Box<Sharded>),
}

/// How the elements of a decoded chunk are arranged in its buffer.
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
    pub variable: Option<Arc<dyn VariableCodec>>,
    /// Stages in the order of encoding. Empty: the stored bytes are the elements.
    pub stages: Vec<StageRef>,
    /// What is known of the sizes: `sizes[i]` before stage `i`, the last one of the stored bytes. `sizes[0]` is exact
    /// unless elements are of variable length.
    pub sizes: Vec<Size>,
    /// The first stages, if they decode each element by itself.
    pub fused: Option<Arc<Fused>>,
}

impl Leaf {
    /// Whether the stored bytes are the elements as they are.
    pub fn is_raw(&self) -> bool {
        self.stages.is_empty() && self.variable.is_none()
    }

    pub(super) fn check_encodable(&self) -> Result<()> {
        self.variable.iter().try_for_each(|codec| codec.check_writing())?;
        self.stages.iter().try_for_each(|stage| stage.check_writing())?;
        self.check_sizes()?;
        self.check_behind()
    }

    fn check_sizes(&self) -> Result<()> {
        for (stage, size) in self.stages.iter().zip(&self.sizes) {
            let Size::Exact(n) = *size else { continue };
            check_input(stage.name(), n, stage.unit())?;
            if n > stage.most() {
                let (name, most) = (stage.name(), stage.most());
                bail!(Limit, "a chunk of shape {:?} has {n} bytes for {name}, which takes at most {most}", self.shape.as_slice());
            }
        }
        Ok(())
    }

    /// Refuses codecs that change values behind one that makes bytes, which must come back as they were.
    fn check_behind(&self) -> Result<()> {
        let first = self.sizes.iter().position(|size| matches!(size, Size::AtMost(_))).unwrap_or(self.stages.len());
        let behind = self.stages.get(first..).unwrap_or_default();
        // What takes whole elements only may be lucky.
        if behind.iter().any(|stage| stage.keeps_fill())
            && come_back(behind, &(0..=255).cycle().take(2048).collect::<Vec<u8>>()) == Some(false)
        {
            let names: Vec<&str> = behind.iter().map(|stage| stage.name()).collect();
            bail!(Unsupported, "{} would change the bytes that another codec makes", names.join(", "));
        }
        Ok(())
    }

    /// Checks that integers come back as they were: of any that mean places in a file.
    ///
    /// Errors: `Unsupported`.
    pub(super) fn check_exact(&self) -> Result<()> {
        self.check_encodable()?;
        if self.stages.iter().all(|stage| stage.unverified().is_some()) {
            return Ok(());
        }
        let words = [0, u64::MAX, 0x0102_0304_0506_0708, 1, 0x89ab_cdef].map(u64::to_ne_bytes);
        // A large index is like a small one of as many whole elements of any size, and no memory of its size is asked for, which could not be refused.
        let buffer: Vec<u8> = words.as_flattened().iter().copied().cycle().take(self.layout.bytes.min(20_160)).collect();
        if come_back(&self.stages, &buffer) != Some(true) {
            let names: Vec<&str> = self.stages.iter().map(|stage| stage.name()).collect();
            bail!(Unsupported, "{} would change {} of an index", names.join(", "), self.layout.element.data_type.name());
        }
        Ok(())
    }
}

/// Whether bytes come back from stages as they were; `None` where they cannot be encoded.
fn come_back(stages: &[StageRef], bytes: &[u8]) -> Option<bool> {
    let mut sizes = Vec::new();
    let mut now = bytes.to_vec();
    for stage in stages {
        let mut encoded = Vec::new();
        stage.encode(&now, &mut encoded).ok()?;
        sizes.push(now.len());
        now = encoded;
    }
    for (stage, size) in stages.iter().zip(sizes).rev() {
        let mut decoded = Vec::new();
        if stage.decode(&now, Dest::AtMost(&mut decoded, size)).is_err() {
            return Some(false);
        }
        now = decoded;
    }
    Some(now == bytes)
}

/// The end of a shard at which its index is.
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
    pub axes: SmallVec<[usize; 6]>,
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

    /// Checks that chunks and the indexes of shards are not too large for their codecs, and whole numbers of their elements.
    ///
    /// Errors: `Limit`, `Unsupported`.
    pub fn check_sizes(&self) -> Result<()> {
        match self {
            BoundChain::Leaf(leaf) => leaf.check_sizes(),
            BoundChain::Sharded(shard) => shard.index.check_sizes().and_then(|()| shard.inner.check_sizes()),
        }
    }

    /// Checks that their codecs encode chunks, the indexes of shards and shards, that these are not too large for them, and whole numbers of their
    /// elements: better when an array is made than when it is written.
    ///
    /// Errors: `Limit`, `Unsupported`.
    pub fn check_encodable(&self) -> Result<()> {
        match self {
            BoundChain::Leaf(leaf) => leaf.check_encodable(),
            BoundChain::Sharded(shard) => {
                shard.index.check_exact().map_err(|e| e.at_field("index_codecs"))?;
                shard.inner.check_encodable()?;
                shard.stages.iter().try_for_each(|stage| stage.check_writing())
            }
        }
    }
}
