//! Codec chains: what a list of codecs becomes ([`super::parse`]), and how it is bound to the shape of chunks.

use super::bound::{BoundChain, IndexLocation, Layout, Leaf, Sharded};
use super::fused::Fused;
use super::reshape::Reshape;
use super::stage::{Dest, Size, StageRef, VariableCodec};
use super::transpose::{self, Permutation};
use crate::dtype::fill::Fill;
use crate::dtype::variable::{self, VarItem};
use crate::dtype::{DataType, ElementType};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{self, Dims, told};
use crate::metadata::Value;
use crate::metadata::json::brief;
use std::sync::Arc;

/// A chain whose names, configuration and types are checked; the shape of the chunks is still open.
///
/// Immutable; cheap to clone and to share between threads.
#[derive(Clone)]
pub struct Chain {
    /// All transposes before the array→bytes codec as one.
    pub(super) permutation: Permutation,
    pub(super) body: Body,
    /// The reshapes before the array→bytes codec, each with its place in the list of codecs.
    pub(super) reshapes: Vec<(usize, Reshape)>,
    /// bytes→bytes stages (and v2's filters, v3's kernels before them) in the order of encoding.
    pub(super) stages: Vec<StageRef>,
    /// Why no new array has these codecs: other programs read other values.
    pub(super) unlike: Option<Error>,
}

/// The array→bytes codec.
#[derive(Clone)]
pub(super) enum Body {
    /// `bytes`: how the elements are arranged before the first stage.
    Elements(ElementType),
    /// `vlen-utf8` and its like: elements of that type, and what makes bytes of them.
    Variable(DataType, Arc<dyn VariableCodec>),
    /// `sharding_indexed`, and its place in the list of codecs.
    Shards(Arc<Shards>, usize),
}

/// The configuration of a `sharding_indexed` codec, checked as far as the shard's shape is not needed.
pub(super) struct Shards {
    /// The inner chunk's shape, in the order of dimensions that enters the codec.
    pub inner_shape: Dims,
    /// The chain of the inner chunks.
    pub inner: Chain,
    /// The chain of the index; it has a fixed size.
    pub index: Chain,
    /// Where the index is.
    pub location: IndexLocation,
    /// Codecs before the shard change values, those of inner chunks that are not stored, too.
    pub codes_fill: bool,
}

impl Shards {
    /// Whether any thread may encode and decode with it.
    pub fn any_thread(&self) -> bool {
        self.inner.any_thread() && self.index.any_thread()
    }

    /// Leaves out the comparison of checksums when decoding.
    pub fn unverified(&self) -> Shards {
        let (inner, index) = (self.inner.clone().unverified(), self.index.clone().unverified());
        Shards { inner_shape: self.inner_shape.clone(), inner, index, location: self.location, codes_fill: self.codes_fill }
    }

    /// The number of inner chunks along each dimension of a shard of that shape (as it enters the codec).
    pub(super) fn inner_grid(&self, shard: &[u64]) -> Result<Dims> {
        let mut grid = Dims::with_capacity(shard.len());
        for (&outer, &inner) in shard.iter().zip(&self.inner_shape) {
            if outer % inner != 0 {
                return Err(err!(Metadata, "found {:?}, expected a shape that divides the shard's {shard:?}", self.inner_shape.as_slice())
                    .at_field("chunk_shape"));
            }
            grid.push(outer / inner);
        }
        match limits::element_count(&grid) {
            Ok(n) if n <= limits::MAX_INNER_CHUNKS => Ok(grid),
            _ => bail!(Limit, "a shard of {:?} inner chunks exceeds the limit of {}", grid.as_slice(), limits::MAX_INNER_CHUNKS),
        }
    }

    /// The chain of the index of that grid.
    pub(super) fn bind_index(&self, grid: &[u64]) -> Result<Leaf> {
        if grid.len() >= limits::MAX_RANK {
            bail!(Limit, "rank {} exceeds the limit of {} of shards, whose index has a dimension more", grid.len(), limits::MAX_RANK - 1);
        }
        let mut shape = Dims::from(grid);
        shape.push(2);
        self.index.bind_leaf(&shape)
    }
}

impl Chain {
    /// Fixes all sizes for chunks of that shape.
    ///
    /// Errors: `Rank`; `Limit` where a buffer would exceed the limits; `Metadata` where an inner chunk's shape does not divide
    /// the shard's.
    pub fn bind(&self, shape: &[u64]) -> Result<BoundChain> {
        if shape.len() != self.permutation.len() {
            bail!(Rank, "a chunk of rank {} for codecs of rank {}", shape.len(), self.permutation.len());
        }
        match &self.body {
            Body::Elements(_) | Body::Variable(..) => self.bind_leaf(shape).map(BoundChain::Leaf),
            Body::Shards(shards, at) => {
                let bound = self.bind_shards(shape, shards).map_err(|e| match e.field() {
                    Some(_) => e.at_field(format!("codecs[{at}].configuration")),
                    None => e,
                })?;
                Ok(BoundChain::Sharded(Box::new(bound)))
            }
        }
    }

    /// Leaves out the comparison of checksums when decoding.
    pub fn unverified(mut self) -> Chain {
        for stage in &mut self.stages {
            if let Some(other) = stage.unverified() {
                *stage = other;
            }
        }
        match &mut self.body {
            Body::Elements(_) => {}
            Body::Variable(_, codec) => *codec = codec.unverified().unwrap_or_else(|| codec.clone()),
            Body::Shards(shards, _) => *shards = Arc::new(shards.unverified()),
        }
        self
    }

    /// Whether any thread may encode and decode with it.
    pub fn any_thread(&self) -> bool {
        let inside = match &self.body {
            Body::Elements(_) => true,
            Body::Variable(_, codec) => codec.any_thread(),
            Body::Shards(shards, _) => shards.any_thread(),
        };
        inside && self.stages.iter().all(|stage| stage.any_thread())
    }

    /// Whether chunks are shards.
    pub fn is_sharded(&self) -> bool {
        matches!(self.body, Body::Shards(..))
    }

    /// The shape of the inner chunks of a shard (of the outermost level), in the order that the array's user sees.
    pub fn inner_shape(&self) -> Option<Dims> {
        match &self.body {
            Body::Elements(_) | Body::Variable(..) => None,
            Body::Shards(shards, _) => Some(transpose::decoded_shape(&shards.inner_shape, &self.permutation)),
        }
    }

    /// Whether the encoded size follows from the shape alone, as a shard's index needs it.
    pub(super) fn has_fixed_size(&self) -> bool {
        let size = self.stages.iter().fold(Size::Exact(1 << 10), |size, stage| stage.encoded_size(size));
        matches!(self.body, Body::Elements(_)) && matches!(size, Size::Exact(_))
    }

    /// Binds a chain that must not be of shards.
    pub(super) fn bind_leaf(&self, shape: &[u64]) -> Result<Leaf> {
        let (element, variable) = match &self.body {
            Body::Elements(element) => (*element, None),
            Body::Variable(data_type, codec) => (ElementType::native(*data_type), Some(codec.clone())),
            Body::Shards(..) => bail!(Unsupported, "shards where only elements can be stored"),
        };
        let bytes = limits::chunk_bytes(shape, element.size())?;
        let strides = transpose::strides(shape, &self.permutation, element.size());
        let encoded = self.reshaped(transpose::encoded_shape(shape, &self.permutation))?;
        let mut stages = Vec::with_capacity(self.stages.len());
        for stage in &self.stages {
            stages.push(stage.for_shape(&encoded)?.unwrap_or_else(|| stage.clone()));
        }
        let mut sizes = Vec::with_capacity(self.stages.len() + 1);
        let most = usize::try_from(limits::max_chunk()).unwrap_or(usize::MAX);
        let mut size = if variable.is_some() { Size::AtMost(most) } else { Size::Exact(bytes) };
        sizes.push(size);
        for stage in &stages {
            size = stage.encoded_size(size);
            if variable.is_some() {
                // Only the limit is known; that no stage multiplies it matters little.
                size = Size::AtMost(most);
            } else if size.max() as u64 > limits::max_chunk().saturating_mul(2) {
                bail!(Limit, "{} makes up to {} bytes of a chunk of shape {shape:?}", stage.name(), size.max());
            }
            sizes.push(size);
        }
        let fused = if variable.is_none() { Fused::of(element, &stages).map(Arc::new) } else { None };
        Ok(Leaf { shape: shape.into(), layout: Layout { element, strides, bytes }, variable, stages, sizes, fused })
    }

    /// The shape behind the reshapes.
    fn reshaped(&self, mut shape: Dims) -> Result<Dims> {
        for (at, reshape) in &self.reshapes {
            shape = reshape.apply(&shape).map_err(|e| e.at_field(format!("codecs[{at}].configuration")))?;
        }
        Ok(shape)
    }

    /// Refuses codecs whose chunks other programs read as other values: those of arrays that are there are used as they are.
    ///
    /// Errors: `Unsupported`.
    pub fn check_new(&self) -> Result<()> {
        match (&self.unlike, &self.body) {
            (Some(e), _) => Err(e.clone().at_field("codecs")),
            (None, Body::Shards(shards, _)) => shards.inner.check_new().and_then(|()| shards.index.check_new()),
            (None, _) => Ok(()),
        }
    }

    /// Checks that the fill value (in native byte order) comes back from the codecs that must keep it. Reading
    /// what others wrote needs no such check; making an array does.
    ///
    /// Errors: `Metadata`, at the field `fill_value`.
    pub fn check_fill(&self, fill: &[u8]) -> Result<()> {
        let changed = match &self.body {
            Body::Shards(shards, _) => return shards.inner.check_fill(fill),
            Body::Variable(_, codec) if codec.keeps_fill() => changed_text(&**codec, fill),
            Body::Variable(..) => return Ok(()),
            Body::Elements(element) => self.changed_fill(*element, fill),
        };
        match changed {
            Ok(None) => Ok(()),
            Ok(Some(changed)) => Err(err!(Metadata, "{changed}: set another fill value").at_field("fill_value")),
            Err(e) => {
                let refused = |why: &str| format!("cannot pass the codecs ({why}): set another fill value");
                Err(told(e, ErrorKind::Metadata, refused).at_field("fill_value"))
            }
        }
    }

    /// Checks that elements which are not stored are the array's fill value: they pass codecs before a shard as those do that are stored.
    pub fn check_missing(&self, fill: &[u8]) -> Result<()> {
        match &self.body {
            Body::Shards(shards, _) if shards.codes_fill => self.check_fill(fill),
            Body::Shards(shards, _) => shards.inner.check_missing(fill),
            _ => Ok(()),
        }
    }

    /// How the codecs up to the last one that must keep the fill value change it.
    fn changed_fill(&self, element: ElementType, fill: &[u8]) -> Result<Option<String>> {
        let count = self.stages.iter().rposition(|stage| stage.keeps_fill()).map_or(0, |last| last + 1);
        if count == 0 {
            return Ok(None);
        }
        let in_order = |mut fill: Vec<u8>| {
            if element.swapped() {
                fill.chunks_exact_mut(element.data_type.swap_unit()).for_each(<[u8]>::reverse);
            }
            fill
        };
        let mut encoded = vec![in_order(fill.to_vec())];
        for stage in self.stages.iter().take(count) {
            let (mut out, before) = (Vec::new(), encoded.last().map_or(&[][..], Vec::as_slice));
            if stage.spoils(before) {
                return Ok(Some(format!("changes the elements behind it in the codec {:?}", stage.name())));
            }
            stage.encode(before, &mut out)?;
            encoded.push(out);
        }
        let (mut back, mut codec) = (encoded.pop().unwrap_or_default(), None);
        for (stage, before) in self.stages.iter().take(count).zip(&encoded).rev() {
            let mut out = vec![0; before.len()];
            stage.decode(&back, Dest::Exact(&mut out))?;
            back = out;
            // What one changes another may restore: in the end it counts.
            codec = if back == *before { None } else { codec.or(Some(stage.name())) };
        }
        let Some(codec) = codec else { return Ok(None) };
        let back = Fill::of_any(&in_order(back))?.to_json_v3(element.data_type)?;
        Ok(Some(format!("does not come back from the codec {codec:?} as it was, but as {}", brief(&back))))
    }

    fn bind_shards(&self, shape: &[u64], shards: &Shards) -> Result<Sharded> {
        let encoded = transpose::encoded_shape(shape, &self.permutation);
        let grid = shards.inner_grid(&encoded)?;
        let index = shards.bind_index(&grid)?;
        let inner = shards.inner.bind(&shards.inner_shape)?;
        Ok(Sharded {
            shape: shape.into(),
            axes: self.permutation.clone(),
            inner_shape: shards.inner_shape.clone(),
            grid,
            location: shards.location,
            index,
            inner,
            stages: self.stages.clone(),
        })
    }
}

/// How a codec for elements of variable length changes that text.
fn changed_text(codec: &dyn VariableCodec, text: &[u8]) -> Result<Option<String>> {
    let (mut encoded, mut items) = (Vec::new(), VarItem::EMPTY.to_element());
    codec.encode(&VarItem::new(text).to_element(), &[1], &mut encoded)?;
    let kept = codec.decode(encoded, &mut items)?;
    // SAFETY: one item, into what is kept.
    let back = unsafe { variable::items(&items).next().unwrap_or(VarItem::EMPTY).bytes() };
    let changed = (back != text).then(|| {
        let back = brief(&Value::from(String::from_utf8_lossy(&back[..back.len().min(256)])));
        format!("does not come back from the codec {:?} as it was, but as {back}", codec.name())
    });
    drop(kept);
    Ok(changed)
}
