//! The codecs at the front of a chain that change values one by one (`scale_offset`, `cast_value`, `fixedscaleoffset`, …), decoded in
//! blocks while the elements are placed: the decoded form of a chunk is never in memory as a whole.

use super::scale_offset::ScaledIntegers;
use super::stage::{Dest, StageRef};
use crate::dtype::ElementType;
use crate::dtype::transfer::{BlockBuf, Source};
use crate::error::Result;
use smallvec::SmallVec;

/// The first stages of a chain, each of which decodes every element by itself.
pub struct Fused {
    /// In the order of encoding.
    stages: SmallVec<[StageRef; 2]>,
    /// The bytes of an element before each stage.
    sizes: SmallVec<[usize; 2]>,
    stored: ElementType,
    /// What decodes all stages in one loop, where they are a pair that has one.
    pair: Option<ScaledIntegers>,
}

impl Fused {
    /// Takes the first of `stages` that decode every element by itself; `None` if already the first does not. `element` is the type
    /// before them.
    pub(super) fn of(element: ElementType, stages: &[StageRef]) -> Option<Fused> {
        let mut fused = Fused { stages: SmallVec::new(), sizes: SmallVec::new(), stored: element, pair: None };
        for stage in stages {
            match stage.elements() {
                Some((decoded, encoded)) if decoded.size() == fused.stored.size() && encoded.size() <= MOST && decoded.size() <= MOST => {
                    fused.sizes.push(decoded.size());
                    fused.stages.push(stage.clone());
                    fused.stored = encoded;
                }
                _ => break,
            }
        }
        if let [first, second] = fused.stages.as_slice() {
            fused.pair = ScaledIntegers::of(&**first, &**second);
        }
        (!fused.stages.is_empty()).then_some(fused)
    }

    /// The number of stages.
    pub fn stages(&self) -> usize {
        self.stages.len()
    }

    /// The elements behind the last of the stages.
    pub fn stored(&self) -> ElementType {
        self.stored
    }
}

/// The most bytes of an element.
const MOST: usize = 16;

impl Source for Fused {
    fn decode(&self, src: &[u8], dst: &mut [u8], bufs: &mut [BlockBuf; 2]) -> Result<()> {
        let Some((first, rest)) = self.stages.split_first() else { return Ok(()) };
        let count = src.len() / self.stored.size();
        if let Some(pair) = &self.pair {
            pair.decode(src, dst);
            return Ok(());
        }
        let [now, next] = bufs;
        let (mut now, mut next) = (now, next);
        let mut filled = None;
        for (stage, size) in rest.iter().zip(&self.sizes[1..]).rev() {
            let bytes = count * size;
            let input = filled.map_or(src, |n| &now[..n]);
            stage.decode(input, Dest::Exact(&mut next[..bytes])).map_err(|e| e.at_field(stage.name()))?;
            std::mem::swap(&mut now, &mut next);
            filled = Some(bytes);
        }
        first.decode(filled.map_or(src, |n| &now[..n]), Dest::Exact(dst)).map_err(|e| e.at_field(first.name()))
    }
}
