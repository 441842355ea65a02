//! Selections that are lists: an index list for each dimension, points, a mask. Which elements of a box of a chunk they pick, and where
//! each of these lies in memory.
//!
//! The engine's items stay boxes (the hull of what is picked in a chunk), and are cut, read and decoded as such; where elements are
//! placed, filled or covered, the chunk's [`ChunkPicks`] says which of them count. So that it finds a box again, distances in memory count the
//! elements of the chunk instead, in C order; a dimension of which the chunk has one element has the distance 0.

use super::plan::{Axes, Axis, Item};
use super::{BoundArray, Selection};
use crate::codec::BoundChain;
use crate::error::{Result, bail, err};
use crate::grid::{Grid, Segment};
use crate::limits::{Dims, Strides, element_count};
use smallvec::SmallVec;
use std::sync::Arc;

/// Which elements of an array, as the caller says it. Unchecked.
#[derive(Clone, Copy)]
pub enum CoordinateSelection<'a> {
    /// The product of the lists of indices, one for each dimension (`None`: all of it), in any order. The result has their lengths.
    Orthogonal(&'a [Option<&'a [i64]>]),
    /// Points: as many coordinates for each as the array has dimensions. The result has one dimension.
    Points {
        /// The number of points.
        count: u64,
        /// `count` times the rank.
        coordinates: &'a [i64],
    },
    /// The elements of a box (steps of 1) whose byte in the mask, in C order, is not 0. The result has one dimension.
    Mask {
        /// The box.
        region: &'a Selection,
        /// A byte for each element of it.
        mask: &'a [u8],
    },
}

impl CoordinateSelection<'_> {
    /// The shape of what is read or written, of an array of that shape.
    pub fn shape(&self, array_shape: &[u64]) -> Dims {
        match self {
            CoordinateSelection::Orthogonal(lists) => {
                lists.iter().zip(array_shape).map(|(l, &n)| l.map_or(n, |l| l.len() as u64)).collect()
            }
            CoordinateSelection::Points { count, .. } => Dims::from_elem(*count, 1),
            CoordinateSelection::Mask { mask, .. } => Dims::from_elem(mask.iter().filter(|&&b| b != 0).count() as u64, 1),
        }
    }

    /// The same elements in the same order as a region, where evenly spaced lists make one. An error of kind `Bounds` names the list.
    pub fn as_region(&self, array_shape: &[u64]) -> Result<Option<Selection>> {
        let CoordinateSelection::Orthogonal(lists) = self else { return Ok(None) };
        check_lists(lists, array_shape)?;
        let (mut start, mut shape, mut step) = (Vec::new(), Vec::new(), Vec::new());
        for (list, &n) in lists.iter().zip(array_shape) {
            let (first, by) = match list {
                None | Some([]) => (0, 1),
                Some([first]) => (*first, 1),
                Some([first, second, ..]) => (*first, second - first),
            };
            if by == 0 || list.is_some_and(|l| l.windows(2).any(|w| w[1] - w[0] != by)) {
                return Ok(None);
            }
            start.push(first);
            shape.push(list.map_or(n as i64, |l| l.len() as i64));
            step.push(by);
        }
        Selection::new(array_shape, &start, &shape, Some(&step)).map(Some)
    }
}

fn check_lists(lists: &[Option<&[i64]>], array_shape: &[u64]) -> Result<()> {
    if lists.len() != array_shape.len() {
        bail!(Rank, "found {} lists of indices, expected {}, the array's rank", lists.len(), array_shape.len());
    }
    for (d, (list, &n)) in lists.iter().zip(array_shape).enumerate() {
        for (k, &i) in list.iter().flat_map(|l| l.iter().enumerate()) {
            if i < 0 || i as u64 >= n {
                bail!(Bounds, "dimension {d}: the index {i} at position {k} of the list lies outside of the array's length {n}");
            }
        }
    }
    Ok(())
}

/// Indices `index, index + 1, …` of a list, at the positions `position, position + 1, …` of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    index: u64,
    position: u64,
    count: u64,
}

/// A point: its chunk's number, the inner chunk's number in it, its place in the chunk (C order), its place in the list. Sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    chunk: u64,
    cell: u64,
    at: u64,
    position: u64,
}

/// Bits of a mask in C order, and how many are set before each block of words.
struct Bits {
    start: Dims,
    shape: Dims,
    words: Vec<u64>,
    before: Vec<u64>,
}

/// Words of a block.
const BLOCK: usize = 8;

enum Kind {
    /// The runs of each dimension's list, by index.
    Orthogonal(Vec<Vec<Run>>),
    /// And where each chunk's begin; one more for the end.
    Points(Vec<Point>, Vec<usize>),
    Mask(Bits),
}

/// Checked picks of an array, and where they are in memory.
pub(super) struct PickList {
    kind: Kind,
    grid: Grid,
    /// The number of chunks along each dimension.
    counts: Dims,
    /// The shapes of chunks inside of the array's chunks, the outermost first.
    cells: Vec<Dims>,
    /// The distance in bytes between neighbours of the result.
    memory: Strides,
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
    /// Checks the picks; `memory` are the byte strides of the result. An index outside of the array is an error of kind `Bounds`.
    pub fn new(array: &BoundArray, picks: &CoordinateSelection<'_>, memory: &[i64], repeats: Repeats) -> Result<PickList> {
        let grid = array.grid.clone();
        let mut list = PickList {
            kind: Kind::Orthogonal(Vec::new()),
            counts: grid.counts(&array.shape),
            grid,
            cells: cells_of(&array.chain),
            memory: memory.into(),
            shape: picks.shape(&array.shape),
            bands: None,
        };
        list.kind = match picks {
            CoordinateSelection::Orthogonal(lists) => {
                check_lists(lists, &array.shape)?;
                let each = lists.iter().zip(&array.shape).map(|(l, &n)| runs_of(*l, n, repeats));
                Kind::Orthogonal(each.collect::<Result<_>>()?)
            }
            CoordinateSelection::Points { count, coordinates } => list.points(&array.shape, *count, coordinates, repeats)?,
            CoordinateSelection::Mask { region, mask } => Kind::Mask(Bits::new(region, mask)?),
        };
        Ok(list)
    }

    fn points(&self, shape: &[u64], count: u64, coordinates: &[i64], repeats: Repeats) -> Result<Kind> {
        let rank = shape.len();
        if element_count(&self.counts).is_err() {
            bail!(Limit, "the array has more than 2^63 chunks, too many for points");
        }
        let places = Places::new(self, shape);
        let place = |position: u64| {
            let here = coordinates.get(position as usize * rank..).unwrap_or_default();
            if let Some(d) = (0..rank).find(|&d| here[d] < 0 || here[d] as u64 >= shape[d]) {
                bail!(Bounds, "point {position}, dimension {d}: the index {} lies outside of the array's length {}", here[d], shape[d]);
            }
            Ok(places.locate(&here[..rank]))
        };
        let mut points: Vec<Point> = room_for(count)?;
        match places.span {
            Some((cells, volume)) => {
                let mut keys = room_for(count)?;
                for position in 0..count {
                    let (chunk, cell, at) = place(position)?;
                    keys.push(Keyed { key: (chunk * cells + cell) * volume + at, position });
                }
                sort(&mut keys)?;
                points.extend(keys.iter().map(|&Keyed { key, position }| {
                    let (number, at) = (key / volume, key % volume);
                    Point { chunk: number / cells, cell: number % cells, at, position }
                }));
            }
            None => {
                for position in 0..count {
                    let (chunk, cell, at) = place(position)?;
                    points.push(Point { chunk, cell, at, position });
                }
                points.sort_unstable();
            }
        }
        if repeats == Repeats::Last {
            // `dedup_by` keeps the first of its run: it gets the position of the last.
            points.dedup_by(|later, kept| {
                let same = (later.chunk, later.at) == (kept.chunk, kept.at);
                if same {
                    kept.position = later.position;
                }
                same
            });
        }
        let mut starts = vec![0; usize::from(!points.is_empty())];
        starts.extend((1..points.len()).filter(|&i| points[i].chunk != points[i - 1].chunk));
        starts.push(points.len());
        Ok(Kind::Points(points, starts))
    }

    /// The number of the innermost chunk that an element of a chunk lies in. It grows (or stays) with each coordinate, and those of an
    /// inner chunk of any level follow one another.
    fn cell(&self, inside: &[u64], extents: &[u64]) -> u64 {
        let (mut number, mut rest, mut outer): (u64, Dims, &[u64]) = (0, inside.into(), extents);
        for inner in &self.cells {
            for d in 0..rest.len() {
                number = number.wrapping_mul(outer[d].div_ceil(inner[d])).wrapping_add(rest[d] / inner[d]);
                rest[d] %= inner[d];
            }
            outer = inner;
        }
        number
    }

    /// Cuts the chunks that points lie in into at most so many items each, between inner chunks that have that extent along dimension
    /// `d`. Only on a regular grid.
    pub fn cut(&mut self, d: usize, extent: u64, pieces: u64) {
        if let Some(chunk) = self.grid.regular_shape() {
            let each = extent * chunk[d].div_ceil(extent).div_ceil(pieces.max(1));
            self.bands = Some(Bands { d, each, count: chunk[d].div_ceil(each) });
        }
    }

    /// The box around all that is picked, where chunks are numbered by dimension; `None` of points, whose chunks are [`PickList::chunks`].
    pub fn segments(&self, d: usize) -> Option<Vec<Segment>> {
        let mut out: Vec<Segment> = Vec::new();
        match &self.kind {
            Kind::Points(..) => return None,
            Kind::Mask(bits) => self.grid.segments(d, bits.start[d], bits.shape[d], 1, &mut out),
            Kind::Orthogonal(lists) => {
                let mut cut = Vec::new();
                for run in &lists[d] {
                    cut.clear();
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
        Some(out)
    }

    /// Whether the items are the chunks of points, not combinations of segments.
    pub fn is_points(&self) -> bool {
        matches!(self.kind, Kind::Points(..))
    }

    /// The number of chunks that points lie in, or of the items that these are cut into.
    pub fn chunks(&self) -> u64 {
        let bands = self.bands.as_ref().map_or(1, |bands| bands.count);
        if let Kind::Points(_, starts) = &self.kind { (starts.len() as u64 - 1) * bands } else { 0 }
    }

    /// All of the chunk that points lie in, the `n`-th of them; or a band of it, where they are cut.
    pub fn chunk(&self, n: u64) -> Item {
        let (n, band) = self.bands.as_ref().map_or((n, 0), |bands| (n / bands.count, n % bands.count));
        let mut item = Item { chunk: Dims::from_elem(0, self.counts.len()), axes: Axes::new(), memory: 0 };
        if let Kind::Points(points, starts) = &self.kind {
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

    /// The picks in one chunk.
    pub fn picks_in(self: &Arc<Self>, chunk: &[u64]) -> ChunkPicks {
        let extents = self.grid.shape_of(chunk);
        ChunkPicks {
            origin: chunk.iter().enumerate().map(|(d, &c)| self.grid.origin(d, c)).collect(),
            number: chunk.iter().zip(&self.counts).fold(0, |n, (&c, &count)| n.wrapping_mul(count).wrapping_add(c)),
            distances: distances(&extents),
            extents,
            list: self.clone(),
        }
    }

    /// Makes of an item whose axes select a box of its chunk one whose distances count the chunk's elements, and takes off what is
    /// around the picks; `None` where there are none.
    pub fn narrowed(self: &Arc<Self>, mut item: Item) -> Option<Item> {
        let picks = self.picks_in(&item.chunk);
        item.memory = 0;
        for (axis, &distance) in item.axes.iter_mut().zip(&picks.distances) {
            axis.memory = distance;
            item.memory += axis.start as i64 * distance;
        }
        picks.narrow(&mut item.axes, &mut item.memory).then_some(item)
    }

    /// The result's shape and its strides in memory.
    pub fn result(&self) -> (&[u64], &[i64]) {
        (&self.shape, &self.memory)
    }
}

/// Room for so many things of a list.
fn room_for<T>(count: u64) -> Result<Vec<T>> {
    let mut room = Vec::new();
    match usize::try_from(count).is_ok_and(|n| room.try_reserve_exact(n).is_ok()) {
        true => Ok(room),
        false => bail!(NoMemory, "no memory for {count} points"),
    }
}

/// Where points lie.
struct Places<'a> {
    list: &'a PickList,
    /// Each dimension of a regular grid with at most one level of inner chunks.
    along: Option<SmallVec<[Along; 6]>>,
    /// The most inner chunks and elements of a chunk, where the numbers of all chunks, inner chunks and elements fit in one.
    span: Option<(u64, u64)>,
}

/// The extents of chunks and inner chunks along one dimension, how many there are of them, and a chunk's distance between neighbours.
struct Along {
    extent: u64,
    count: u64,
    distance: u64,
    inner: u64,
    inners: u64,
}

impl Places<'_> {
    fn new<'a>(list: &'a PickList, shape: &[u64]) -> Places<'a> {
        let chunk = list.grid.largest(shape);
        let (mut cells, mut outer) = (Some(1u64), &chunk);
        for inner in &list.cells {
            let more = outer.iter().zip(inner).map(|(n, m)| n.div_ceil(*m));
            cells = more.fold(cells, |product, n| product?.checked_mul(n));
            outer = inner;
        }
        let product = |dims: &Dims| dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n));
        let span = cells.zip(product(&chunk));
        let span = span.filter(|&(cells, volume)| {
            product(&list.counts).and_then(|n| n.checked_mul(cells)).and_then(|n| n.checked_mul(volume)).is_some_and(|n| n > 0)
        });
        let inner = list.cells.first().unwrap_or(&chunk);
        let along = |d: usize| Along {
            extent: chunk[d],
            count: list.counts[d],
            distance: distances(&chunk)[d] as u64,
            inner: inner[d],
            inners: chunk[d].div_ceil(inner[d]),
        };
        let simple = list.grid.regular_shape().is_some() && list.cells.len() < 2;
        Places { list, along: simple.then(|| (0..chunk.len()).map(along).collect()), span }
    }

    /// The numbers of a point's chunk, of the inner chunk in it, and of the element in the chunk. The point lies in the array.
    fn locate(&self, point: &[i64]) -> (u64, u64, u64) {
        let (mut number, mut cell, mut at) = (0, 0, 0);
        if let Some(along) = &self.along {
            for (&i, a) in point.iter().zip(along) {
                let chunk = i as u64 / a.extent;
                let inside = i as u64 - chunk * a.extent;
                number = number * a.count + chunk;
                at += inside * a.distance;
                if a.inners > 1 {
                    cell = cell * a.inners + inside / a.inner;
                }
            }
            return (number, cell, at);
        }
        let (mut inside, mut extents) = (Dims::new(), Dims::new());
        for (d, &i) in point.iter().enumerate() {
            let chunk = self.list.grid.chunk_of(d, i as u64);
            inside.push(i as u64 - self.list.grid.origin(d, chunk));
            extents.push(self.list.grid.extent(d, chunk));
            number = number * self.list.counts[d] + chunk;
        }
        at = inside.iter().zip(&distances(&extents)).map(|(&i, &s)| i * s as u64).sum();
        (number, self.list.cell(&inside, &extents), at)
    }
}

/// A point's chunk, inner chunk and place in one number.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Keyed {
    key: u64,
    position: u64,
}

/// Bits of a digit, and how many keys are sorted by comparing them.
const DIGIT: u32 = 11;
const FEW: usize = 1 << 10;

/// Sorts by key, those of one key by position, as which they come: digit by digit from the last one on. Of a million points that takes a
/// tenth of what comparing takes.
fn sort(keys: &mut Vec<Keyed>) -> Result<()> {
    if keys.len() <= FEW {
        keys.sort_unstable();
        return Ok(());
    }
    let most = keys.iter().fold(0, |bits, k| bits | k.key);
    let mut other = room_for(keys.len() as u64)?;
    other.resize(keys.len(), Keyed::default());
    for shift in (0..u64::BITS - most.leading_zeros()).step_by(DIGIT as usize) {
        let digit = |k: &Keyed| (k.key >> shift) as usize & ((1 << DIGIT) - 1);
        let mut next = [0usize; 1 << DIGIT];
        keys.iter().for_each(|k| next[digit(k)] += 1);
        let mut sum = 0;
        next.iter_mut().for_each(|n| sum += std::mem::replace(n, sum));
        for k in keys.iter() {
            let place = &mut next[digit(k)];
            other[*place] = *k;
            *place += 1;
        }
        std::mem::swap(keys, &mut other);
    }
    Ok(())
}

/// The shapes of inner chunks at every level, in the array's order of dimensions.
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

/// The distances in a chunk, in elements; 0 along dimensions of one.
fn distances(extents: &[u64]) -> Strides {
    let mut distances = crate::limits::c_strides(extents, 1);
    distances.iter_mut().zip(extents).filter(|(_, n)| **n == 1).for_each(|(s, _)| *s = 0);
    distances
}

fn runs_of(list: Option<&[i64]>, length: u64, repeats: Repeats) -> Result<Vec<Run>> {
    let Some(list) = list else { return Ok(if length == 0 { Vec::new() } else { vec![Run { index: 0, position: 0, count: length }] }) };
    let no_memory = |_| err!(NoMemory, "no memory for a list of {} indices", list.len());
    let mut sorted: Vec<(u64, u64)> = Vec::new();
    sorted.try_reserve_exact(list.len()).map_err(no_memory)?;
    sorted.extend(list.iter().enumerate().map(|(k, &i)| (i as u64, k as u64)));
    sorted.sort_unstable();
    let mut runs: Vec<Run> = Vec::new();
    for (k, &(index, position)) in sorted.iter().enumerate() {
        if repeats == Repeats::Last && sorted.get(k + 1).is_some_and(|next| next.0 == index) {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.index + run.count == index && run.position + run.count == position => run.count += 1,
            _ => {
                runs.try_reserve(1).map_err(no_memory)?;
                runs.push(Run { index, position, count: 1 });
            }
        }
    }
    Ok(runs)
}

impl Bits {
    fn new(region: &Selection, mask: &[u8]) -> Result<Bits> {
        let elements = element_count(region.shape())?;
        if let Some(d) = (0..region.step().len()).find(|&d| region.step()[d] != 1) {
            bail!(Argument, "dimension {d}: the step of a mask's region is {}, expected 1", region.step()[d]);
        }
        if mask.len() as u64 != elements {
            bail!(BufferSize, "the mask has {} bytes, expected {elements}, one for each element of {:?}", mask.len(), region.shape());
        }
        let mut bits = Bits { start: region.start().into(), shape: region.shape().into(), words: Vec::new(), before: Vec::new() };
        let count = mask.len().div_ceil(64) + 1;
        let room = bits.words.try_reserve_exact(count).is_ok() && bits.before.try_reserve_exact(count / BLOCK + 2).is_ok();
        if !room {
            bail!(NoMemory, "no memory for a mask of {} elements", mask.len());
        }
        bits.words.extend(mask.chunks(64).map(|c| c.iter().enumerate().fold(0, |word, (i, &b)| word | u64::from(b != 0) << i)));
        bits.words.push(0);
        let mut sum = 0;
        for block in bits.words.chunks(BLOCK) {
            bits.before.push(sum);
            sum += block.iter().map(|w| u64::from(w.count_ones())).sum::<u64>();
        }
        Ok(bits)
    }

    /// How many bits are set before bit `i`.
    fn rank(&self, i: u64) -> u64 {
        let (word, bit) = ((i / 64) as usize, i % 64);
        let block = word / BLOCK;
        let whole: u64 = self.words[block * BLOCK..word].iter().map(|w| u64::from(w.count_ones())).sum();
        self.before[block] + whole + u64::from((self.words[word] & ((1 << bit) - 1)).count_ones())
    }

    /// The first bit from `i` on that is (not) set, or `end`.
    fn next(&self, i: u64, end: u64, set: bool) -> u64 {
        let mut at = i;
        while at < end {
            let word = self.words[(at / 64) as usize];
            let rest = (if set { word } else { !word }) >> (at % 64);
            if rest != 0 {
                return (at + u64::from(rest.trailing_zeros())).min(end);
            }
            at = (at / 64 + 1) * 64;
        }
        end
    }

    /// The last bit that is set between `i`, which is, and `end`.
    fn last(&self, i: u64, end: u64) -> u64 {
        let mut at = end;
        while at > i {
            let first = (at - 1) / 64 * 64;
            let word = self.words[(first / 64) as usize] << (first + 64 - at);
            if word != 0 {
                return at - 1 - u64::from(word.leading_zeros());
            }
            at = first;
        }
        i
    }
}

/// Elements that follow one another along the array's last dimension, in a buffer of the chunk and in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The distance of the first one from the box's first element in the buffer.
    pub buffer: i64,
    /// And between neighbours.
    pub buffer_step: i64,
    /// The distance of the first one from the result's first element in memory.
    pub memory: i64,
    /// And between neighbours.
    pub memory_step: i64,
    /// The number of elements.
    pub count: u64,
}

/// The picks in one chunk.
#[derive(Clone)]
pub(super) struct ChunkPicks {
    list: Arc<PickList>,
    /// The chunk's number in C order.
    number: u64,
    /// The chunk's first element.
    origin: Dims,
    extents: Dims,
    /// What the axes of the chunk's boxes have as distances.
    distances: Strides,
}

/// A box of the array.
struct Window {
    low: Dims,
    high: Dims,
    /// The axis that runs along each dimension, where there is one of more than one element.
    axis: SmallVec<[Option<usize>; 6]>,
}

impl ChunkPicks {
    fn window(&self, axes: &[Axis], memory: i64) -> Window {
        let rank = self.origin.len();
        let mut w = Window { low: self.origin.clone(), high: Dims::new(), axis: SmallVec::from_elem(None, rank) };
        let mut rest = memory;
        for d in 0..rank {
            if self.distances[d] != 0 {
                w.low[d] += (rest / self.distances[d]) as u64;
                rest %= self.distances[d];
            }
            w.high.push(w.low[d] + 1);
        }
        for (j, axis) in axes.iter().enumerate().filter(|(_, axis)| axis.memory != 0) {
            if let Some(d) = self.distances.iter().position(|&s| s == axis.memory) {
                w.high[d] = w.low[d] + axis.count;
                w.axis[d] = Some(j);
            }
        }
        w
    }

    /// Shrinks a box to the one around its picks; false if there are none.
    pub fn narrow(&self, axes: &mut [Axis], memory: &mut i64) -> bool {
        let mut w = self.window(axes, *memory);
        if !self.hull(&mut w) {
            return false;
        }
        let before = self.window(axes, *memory).low;
        for d in 0..w.low.len() {
            if let Some(j) = w.axis[d] {
                let down = w.low[d] - before[d];
                axes[j].start += down;
                axes[j].count = w.high[d] - w.low[d];
                *memory += down as i64 * axes[j].memory;
            }
        }
        true
    }

    fn hull(&self, w: &mut Window) -> bool {
        let (rank, mut any) = (w.low.len(), false);
        let (mut low, mut high) = (w.high.clone(), w.low.clone());
        match &self.list.kind {
            Kind::Orthogonal(lists) => {
                for d in 0..rank {
                    let runs = within(&lists[d], w.low[d], w.high[d]);
                    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return false };
                    (low[d], high[d]) = (first.index.max(w.low[d]), (last.index + last.count).min(w.high[d]));
                }
                any = true;
            }
            Kind::Points(points, _) => {
                let (low, high) = (&mut low[..], &mut high[..]);
                self.points(points, w, |_, at| {
                    any = true;
                    at.iter().enumerate().for_each(|(d, &i)| (low[d], high[d]) = (low[d].min(i), high[d].max(i + 1)));
                    true
                });
            }
            Kind::Mask(bits) => rows(bits, w, &mut |row, at, n| {
                let first = bits.next(at, at + n, true);
                if first == at + n {
                    return;
                }
                any = true;
                let last = bits.last(first, at + n);
                for d in 0..rank {
                    let (from, to) = if d + 1 == rank { (row[d] + (first - at), row[d] + (last - at)) } else { (row[d], row[d]) };
                    (low[d], high[d]) = (low[d].min(from), high[d].max(to + 1));
                }
            }),
        }
        if any {
            (w.low, w.high) = (low, high);
        }
        any
    }

    /// Gives the points in a box to `each`, with their coordinates, until it returns false. False where `each` said so.
    fn points(&self, points: &[Point], w: &Window, mut each: impl FnMut(&Point, &[u64]) -> bool) -> bool {
        let key = |corner: &dyn Fn(usize) -> u64| {
            let inside: Dims = (0..self.origin.len()).map(|d| corner(d) - self.origin[d]).collect();
            let at: u64 = inside.iter().zip(&self.distances).map(|(&i, &s)| i * s as u64).sum();
            (self.number, self.list.cell(&inside, &self.extents), at)
        };
        let (first, last) = (key(&|d| w.low[d]), key(&|d| w.high[d] - 1));
        let from = points.partition_point(|p| (p.chunk, p.cell, p.at) < first);
        let to = points.partition_point(|p| (p.chunk, p.cell, p.at) <= last);
        let (mut at, distances) = (self.origin.clone(), &self.distances[..]);
        let (at, origin, low, high) = (&mut at[..], &self.origin[..], &w.low[..], &w.high[..]);
        points[from..to].iter().all(|p| {
            let (mut rest, mut inside) = (p.at, true);
            for (d, &distance) in distances.iter().enumerate() {
                let along = rest.checked_div(distance as u64).unwrap_or(0);
                rest -= along * distance as u64;
                at[d] = origin[d] + along;
                inside &= low[d] <= at[d] && at[d] < high[d];
            }
            !inside || each(p, at)
        })
    }

    /// The number of picks in a box.
    pub fn count(&self, axes: &[Axis], memory: i64) -> u64 {
        let w = self.window(axes, memory);
        match &self.list.kind {
            Kind::Orthogonal(lists) => {
                let along =
                    |d: usize| within(&lists[d], w.low[d], w.high[d]).iter().map(|r| clipped(r, w.low[d], w.high[d]).count).sum::<u64>();
                (0..w.low.len()).map(along).product()
            }
            Kind::Points(points, _) => {
                let mut count = 0;
                self.points(points, &w, |_, _| {
                    count += 1;
                    true
                });
                count
            }
            Kind::Mask(bits) => {
                let mut sum = 0;
                rows(bits, &w, &mut |_, at, n| sum += bits.rank(at + n) - bits.rank(at));
                sum
            }
        }
    }

    /// Gives the picks in a box to `each`, until it returns false. `buffer` are the strides of the buffer that the box is in, one for each
    /// axis. False where `each` said so.
    pub fn each(&self, axes: &[Axis], memory: i64, buffer: &[i64], each: &mut dyn FnMut(Piece) -> bool) -> bool {
        let w = self.window(axes, memory);
        let strides: Strides = w.axis.iter().map(|j| j.map_or(0, |j| buffer[j])).collect();
        let rank = w.low.len();
        let (low, by) = (&w.low[..], &strides[..]);
        let at = |index: &[u64]| -> i64 { index.iter().zip(low).zip(by).map(|((&i, &low), &s)| (i - low) as i64 * s).sum() };
        let step = strides.last().copied().unwrap_or(0);
        let result = &self.list.memory;
        match &self.list.kind {
            Kind::Orthogonal(lists) => {
                let runs: Vec<Vec<Run>> = (0..rank)
                    .map(|d| within(&lists[d], w.low[d], w.high[d]).iter().map(|r| clipped(r, w.low[d], w.high[d])).collect())
                    .collect();
                product(&runs, (&w, &strides, result), (0, 0), each)
            }
            Kind::Points(points, _) => self.points(points, &w, |p, index| {
                let memory = p.position as i64 * result[0];
                each(Piece { buffer: at(index), buffer_step: step, memory, memory_step: result[0], count: 1 })
            }),
            Kind::Mask(bits) => {
                let mut going = true;
                rows(bits, &w, &mut |row, from, n| {
                    let (mut i, end, mut position) = (from, from + n, None);
                    while going {
                        let first = bits.next(i, end, true);
                        if first >= end {
                            break;
                        }
                        let after = bits.next(first, end, false);
                        let place = position.unwrap_or_else(|| bits.rank(first));
                        let buffer = at(row) + (first - from) as i64 * step;
                        let memory = place as i64 * result[0];
                        going = each(Piece { buffer, buffer_step: step, memory, memory_step: result[0], count: after - first });
                        position = Some(place + (after - first));
                        i = after;
                    }
                });
                going
            }
        }
    }
}

/// The runs that reach into `low..high`. They are sorted by their first index and by their last one, too: where an index is repeated, it
/// ends a run.
fn within(runs: &[Run], low: u64, high: u64) -> &[Run] {
    let to = runs.partition_point(|r| r.index < high);
    &runs[runs.partition_point(|r| r.index + r.count <= low).min(to)..to]
}

fn clipped(run: &Run, low: u64, high: u64) -> Run {
    let (from, to) = (run.index.max(low), (run.index + run.count).min(high));
    Run { index: from, position: run.position + (from - run.index), count: to - from }
}

/// Every combination of one index for each dimension, runs along the last one at once.
fn product(
    runs: &[Vec<Run>],
    (w, strides, result): (&Window, &[i64], &[i64]),
    (buffer, memory): (i64, i64),
    each: &mut dyn FnMut(Piece) -> bool,
) -> bool {
    let d = result.len() - runs.len();
    let Some((first, rest)) = runs.split_first() else {
        return each(Piece { buffer, buffer_step: 0, memory, memory_step: 0, count: 1 });
    };
    first.iter().all(|run| {
        let to = |k: u64| {
            let buffer = buffer + (run.index + k - w.low[d]) as i64 * strides[d];
            (buffer, memory + (run.position + k) as i64 * result[d])
        };
        if rest.is_empty() {
            let (buffer, memory) = to(0);
            return each(Piece { buffer, buffer_step: strides[d], memory, memory_step: result[d], count: run.count });
        }
        (0..run.count).all(|k| product(rest, (w, strides, result), to(k), each))
    })
}

/// Calls `row` with the first element of each row of a box, the number of its bit, and its length.
fn rows(bits: &Bits, w: &Window, row: &mut dyn FnMut(&[u64], u64, u64)) {
    let rank = w.low.len();
    let n = rank.checked_sub(1).map_or(1, |d| w.high[d] - w.low[d]);
    let mut at = w.low.clone();
    loop {
        let bit = (0..rank).fold(0, |bit, d| bit * bits.shape[d] + (at[d] - bits.start[d]));
        row(&at, bit, n);
        let mut d = rank.saturating_sub(1);
        loop {
            if d == 0 {
                return;
            }
            d -= 1;
            at[d] += 1;
            if at[d] < w.high[d] {
                break;
            }
            at[d] = w.low[d];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_and_those_of_one_key_stay_in_order() {
        let mut seed = 7u64;
        for (count, most) in [(0, 1), (FEW, 50), (FEW + 1, 1), (5000, 300), (5000, 1 << 30), (5000, u64::MAX)] {
            let mut keys: Vec<Keyed> = (0..count as u64)
                .map(|position| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    Keyed { key: (seed ^ seed >> 29) % most, position }
                })
                .collect();
            let mut wanted = keys.clone();
            wanted.sort();
            sort(&mut keys).unwrap();
            assert!(keys == wanted, "{count} keys below {most}");
        }
    }
}
