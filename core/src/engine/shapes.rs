//! Chains for chunks of many shapes: bound when first needed, and kept by shape.
//!
//! On a regular grid nothing of this is touched. On a rectilinear one the array's chain is bound to the largest chunk; others are
//! found here in a table without locks (a child of `fork` finds it whole). Where it is full a chain is bound for one use.

use crate::codec::BoundChain;
use crate::codec::chain::Chain;
use crate::error::Result;
use crate::fork::Once;
use std::ops::Deref;
use std::sync::Arc;

/// The room for shapes: 6 different extents along each of 3 dimensions.
const SLOTS: usize = 256;
/// In how many places a shape is looked for.
const TRIES: usize = 8;

/// See the module.
pub struct ByShape {
    chain: Chain,
    slots: Box<[Once<BoundChain>]>,
}

impl ByShape {
    /// Nothing is bound yet.
    pub fn new(chain: Chain) -> Arc<ByShape> {
        Arc::new(ByShape { chain, slots: (0..SLOTS).map(|_| Once::new()).collect() })
    }

    /// Returns the chain for chunks of `shape`.
    pub(super) fn get(&self, shape: &[u64]) -> Result<Chosen<'_>> {
        let first = hash(shape);
        for slot in (0..TRIES).filter_map(|i| self.slots.get(first.wrapping_add(i) % SLOTS)) {
            let found = match slot.known() {
                Some(found) => found,
                None => {
                    let fresh = self.chain.bind(shape)?;
                    slot.get(|| fresh)
                }
            };
            if found.shape().as_slice() == shape {
                return Ok(Chosen::Kept(found));
            }
        }
        Ok(Chosen::Fresh(Box::new(self.chain.bind(shape)?)))
    }
}

/// FNV-1a over the extents.
fn hash(shape: &[u64]) -> usize {
    let mixed = shape.iter().fold(0xcbf2_9ce4_8422_2325, |h: u64, &n| (h ^ n).wrapping_mul(0x0000_0100_0000_01b3));
    (mixed ^ (mixed >> 32)) as usize
}

/// The chain of one chunk.
pub(super) enum Chosen<'a> {
    /// It is kept with the array.
    Kept(&'a BoundChain),
    /// For this chunk only.
    Fresh(Box<BoundChain>),
}

impl Deref for Chosen<'_> {
    type Target = BoundChain;

    fn deref(&self) -> &BoundChain {
        match self {
            Chosen::Kept(chain) => chain,
            Chosen::Fresh(chain) => chain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;
    use crate::metadata::Codecs;
    use crate::metadata::extension::Extension;

    fn table() -> Arc<ByShape> {
        let bytes = crate::json::json!({"name": "bytes", "configuration": {"endian": "little"}});
        let codecs = Codecs::V3(vec![Extension::from_v3(&bytes).unwrap()]);
        ByShape::new(Chain::parse(&codecs, DataType::Float64, 2).unwrap())
    }

    #[test]
    fn each_shape_is_bound_once_and_more_shapes_than_there_is_room_for_work_too() {
        let table = table();
        let address = |shape: &[u64]| match table.get(shape).unwrap() {
            Chosen::Kept(chain) => {
                assert_eq!(chain.shape().as_slice(), shape);
                std::ptr::from_ref(chain) as usize
            }
            Chosen::Fresh(chain) => {
                assert_eq!(chain.shape().as_slice(), shape);
                0
            }
        };
        let first = address(&[3, 4]);
        assert!(first != 0 && first == address(&[3, 4]) && first != address(&[4, 3]));
        let fresh = (1..60).flat_map(|i| (1..60).map(move |j| [i, j])).filter(|shape| address(shape) == 0).count();
        assert!(fresh >= 59 * 59 - SLOTS, "{fresh}");
        assert_eq!(address(&[3, 4]), first);
    }

    #[test]
    fn threads_agree_on_the_chain_of_a_shape() {
        let table = table();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in (1..40).cycle().take(2000) {
                        assert_eq!(table.get(&[n, 41 - n]).unwrap().shape().as_slice(), [n, 41 - n]);
                    }
                });
            }
        });
    }

    #[test]
    fn a_shape_that_cannot_be_bound_is_an_error() {
        assert!(table().get(&[1 << 40, 1 << 22]).is_err());
    }
}
