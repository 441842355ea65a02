//! Checked selections by coordinates: which elements of which chunk they pick, kept small. Pure.
//!
//! The engine's items stay boxes (the hull of what is picked in a chunk), and are cut, read and decoded as such; where elements are
//! placed, filled or covered, the chunk's `ChunkPicks` says which of them count. So that it finds a box again, distances in memory count
//! the elements of the chunk instead, in C order; a dimension of which the chunk has one element has the distance 0.

use super::coordinates::{CoordinateSelection, check_lists};
use super::item::{Axes, Axis, Item};
use super::mask_bits::MaskBits;
use super::points::{Point, sorted_points};
use crate::codec::BoundChain;
use crate::error::{Result, err};
use crate::grid::{Grid, Segment};
use crate::limits::{Dims, Strides};
use smallvec::SmallVec;

/// Indices `index, index + 1, …` of a list, at the positions `position, position + 1, …` of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PickRun {
    pub index: u64,
    pub position: u64,
    pub count: u64,
}

pub(super) enum PickKind {
    /// The runs of each dimension's list, by index.
    Orthogonal(Vec<Vec<PickRun>>),
    /// And where each chunk's begin; one more for the end.
    Points(Vec<Point>, Vec<usize>),
    Mask(MaskBits),
}

/// Checked picks of an array, and where they are in memory.
pub(super) struct PickList {
    pub kind: PickKind,
    pub grid: Grid,
    /// The number of chunks along each dimension.
    pub counts: Dims,
    /// The shapes of chunks inside of the array's chunks, the outermost first.
    pub cells: Vec<Dims>,
    /// The distance in bytes between neighbours of the result.
    pub memory: Strides,
    /// The shape of the result.
    shape: Dims,
    /// How the chunks of points are cut into items; `None`: not at all.
    bands: Option<Bands>,
}

/// Equal parts of a chunk along one dimension.
struct Bands {
    d: usize,
    each: u64,
    count: u64,
}

/// How often an element may be picked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeats {
    /// It is there as often.
    All,
    /// The last one of the list counts.
    Last,
}

impl PickList {
    /// Checks the picks of an array of `extents` whose chunks have `chain`; `memory` are the byte strides of the result. An index outside
    /// of the array is an error of kind `Bounds`.
    pub fn new(
        grid: &Grid,
        chain: &BoundChain,
        extents: &[u64],
        picks: &CoordinateSelection<'_>,
        memory: &[i64],
        repeats: Repeats,
    ) -> Result<PickList> {
        let mut list = PickList {
            kind: PickKind::Orthogonal(Vec::new()),
            counts: grid.counts(extents),
            grid: grid.clone(),
            cells: cells_of(chain),
            memory: memory.into(),
            shape: picks.shape(extents),
            bands: None,
        };
        list.kind = match picks {
            CoordinateSelection::Orthogonal(lists) => {
                check_lists(lists, extents)?;
                let each = lists.iter().zip(extents).map(|(l, &n)| runs_of(*l, n, repeats));
                PickKind::Orthogonal(each.collect::<Result<_>>()?)
            }
            CoordinateSelection::Points { count, coordinates } => {
                let lattice = (&list.grid, &list.counts[..], &list.cells[..]);
                let (points, starts) = sorted_points(lattice, extents, *count, coordinates, repeats == Repeats::Last)?;
                PickKind::Points(points, starts)
            }
            CoordinateSelection::Mask { region, mask } => PickKind::Mask(MaskBits::new(region, mask)?),
        };
        Ok(list)
    }

    /// Returns the picks of a mask whose elements are in memory where they are in its box, with the strides `memory`.
    pub fn in_place(grid: &Grid, chain: &BoundChain, extents: &[u64], mask: MaskBits, memory: &[i64]) -> PickList {
        PickList {
            counts: grid.counts(extents),
            grid: grid.clone(),
            cells: cells_of(chain),
            memory: memory.into(),
            shape: mask.shape.clone(),
            bands: None,
            kind: PickKind::Mask(mask),
        }
    }

    /// Cuts the chunks that hold points into at most `pieces` items each, between inner chunks of `extent` along dimension `d`. Only on a
    /// regular grid.
    pub fn cut(&mut self, d: usize, extent: u64, pieces: u64) {
        if let Some(chunk) = self.grid.regular_shape() {
            let each = extent * chunk[d].div_ceil(extent).div_ceil(pieces.max(1));
            self.bands = Some(Bands { d, each, count: chunk[d].div_ceil(each) });
        }
    }

    /// Returns the box around all that is picked, where chunks are numbered by dimension; `None` of points, whose chunks are
    /// [`PickList::chunks`].
    pub fn segments(&self, d: usize) -> Result<Option<Vec<Segment>>> {
        let mut out: Vec<Segment> = Vec::new();
        match &self.kind {
            PickKind::Points(..) => return Ok(None),
            PickKind::Mask(bits) => {
                self.grid.reserve_segments(d, bits.start[d], bits.shape[d], 1, &mut out)?;
                self.grid.segments(d, bits.start[d], bits.shape[d], 1, &mut out);
            }
            PickKind::Orthogonal(lists) => {
                let mut cut = Vec::new();
                for run in &lists[d] {
                    cut.clear();
                    self.grid.reserve_segments(d, run.index, run.count, 1, &mut cut)?;
                    out.try_reserve(cut.capacity()).map_err(|_| err!(NoMemory, "no memory for {} chunks", out.len()))?;
                    self.grid.segments(d, run.index, run.count, 1, &mut cut);
                    for s in &cut {
                        match out.last_mut() {
                            Some(last) if last.chunk == s.chunk => last.count = last.count.max(s.start + s.count - last.start),
                            _ => out.push(*s),
                        }
                    }
                }
            }
        }
        Ok(Some(out))
    }

    /// Returns whether the items are the chunks of points, not combinations of segments.
    pub fn is_points(&self) -> bool {
        matches!(self.kind, PickKind::Points(..))
    }

    /// Returns the number of chunks that hold points, or of the items that these are cut into.
    pub fn chunks(&self) -> u64 {
        let bands = self.bands.as_ref().map_or(1, |bands| bands.count);
        if let PickKind::Points(_, starts) = &self.kind { (starts.len() as u64 - 1) * bands } else { 0 }
    }

    /// Returns all of the `n`-th chunk that holds points, or band `n` where chunks are cut.
    pub fn chunk(&self, n: u64) -> Item {
        let (n, band) = self.bands.as_ref().map_or((n, 0), |bands| (n / bands.count, n % bands.count));
        let mut item = Item { chunk: Dims::from_elem(0, self.counts.len()), axes: Axes::new(), memory: 0 };
        if let PickKind::Points(points, starts) = &self.kind {
            let mut number = points[starts[n as usize]].chunk;
            for d in (0..self.counts.len()).rev() {
                item.chunk[d] = number % self.counts[d];
                number /= self.counts[d];
            }
        }
        let each = item.chunk.iter().enumerate();
        item.axes = each.map(|(d, &c)| Axis { start: 0, count: self.grid.extent(d, c), step: 1, memory: 0 }).collect();
        if let Some(&Bands { d, each, .. }) = self.bands.as_ref() {
            let axis = &mut item.axes[d];
            (axis.start, axis.count) = (band * each, each.min(axis.count - band * each));
        }
        item
    }

    /// Returns the result's shape and its strides in memory.
    pub fn result(&self) -> (&[u64], &[i64]) {
        (&self.shape, &self.memory)
    }
}

/// Returns the shapes of inner chunks at every level, in the array's order of dimensions.
pub(super) fn cells_of(chain: &BoundChain) -> Vec<Dims> {
    let (mut all, mut chain) = (Vec::new(), chain);
    let mut dims: SmallVec<[usize; 6]> = (0..chain.shape().len()).collect();
    while let BoundChain::Sharded(shard) = chain {
        dims = shard.axes.iter().map(|&d| dims[d]).collect();
        let mut inner = Dims::from_elem(1, dims.len());
        dims.iter().zip(&shard.inner_shape).for_each(|(&d, &n)| inner[d] = n);
        all.push(inner);
        chain = &shard.inner;
    }
    all
}

fn runs_of(list: Option<&[i64]>, length: u64, repeats: Repeats) -> Result<Vec<PickRun>> {
    let Some(list) = list else { return Ok(if length == 0 { Vec::new() } else { vec![PickRun { index: 0, position: 0, count: length }] }) };
    let no_memory = |_| err!(NoMemory, "no memory for a list of {} indices", list.len());
    let mut sorted: Vec<(u64, u64)> = Vec::new();
    sorted.try_reserve_exact(list.len()).map_err(no_memory)?;
    sorted.extend(list.iter().enumerate().map(|(k, &i)| (i as u64, k as u64)));
    sorted.sort_unstable();
    let mut runs: Vec<PickRun> = Vec::new();
    for (k, &(index, position)) in sorted.iter().enumerate() {
        if repeats == Repeats::Last && sorted.get(k + 1).is_some_and(|next| next.0 == index) {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.index + run.count == index && run.position + run.count == position => run.count += 1,
            _ => {
                runs.try_reserve(1).map_err(no_memory)?;
                runs.push(PickRun { index, position, count: 1 });
            }
        }
    }
    Ok(runs)
}
