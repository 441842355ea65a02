//! Which of the chunks that wait are to be stored: those of a selection, and the oldest ones where memory is short.

use super::{WaitingPart, WriteBack};
use crate::engine::Selection;
use crate::engine::lock::lock;
use crate::engine::plan::Plan;
use crate::engine::waiting_box::Span;
use crate::error::Result;
use crate::grid::Grid;
use crate::limits::{Dims, collect};
use std::sync::{Arc, Mutex};

/// Where room is made, one of that many chunks that wait is stored: looking for the oldest ones costs more than to store one.
const SHARE: usize = 8;

/// A chunk with what waits of it.
type Part = (Dims, Arc<Mutex<WaitingPart>>);

impl WriteBack {
    /// Returns the chunks of which selected elements wait; without a selection all of which any wait.
    pub(in crate::engine) fn touched(&self, grid: &Grid, selection: Option<&Selection>) -> Result<Vec<Dims>> {
        let Some(selection) = selection else { return self.chunks(|_, _| true) };
        if selection.shape().contains(&0) {
            return Ok(Vec::new());
        }
        let selected = Span::of(selection);
        let is_touched = |chunk: &Dims, part: &Mutex<WaitingPart>| {
            if selected.start.len() != chunk.len() {
                return false;
            }
            lock(part).touches(&selected, |d| grid.origin(d, chunk[d]))
        };
        match self.parts_in(grid, &selected)? {
            Some(few) => chosen(few, is_touched),
            None => self.chunks(is_touched),
        }
    }

    /// Returns what waits in the chunks that a box of the array meets, where they are fewer than all that wait.
    fn parts_in(&self, grid: &Grid, selected: &Span) -> Result<Option<Vec<Part>>> {
        let parts = &lock(self.state.get()).parts;
        let Some(chunks) = selected.chunks(grid, parts.len() as u64) else { return Ok(None) };
        let waiting = |chunk: Dims| parts.get(&chunk).map(|waiting| (chunk, waiting.part.clone()));
        collect(chunks.filter_map(waiting)).map(Some)
    }

    /// Returns the chunks of which parts wait that were not lost.
    pub fn not_lost(&self) -> Result<Vec<Dims>> {
        self.chunks(|_, part| !lock(part).is_lost)
    }

    pub(super) fn chunks(&self, is_wanted: impl Fn(&Dims, &Mutex<WaitingPart>) -> bool) -> Result<Vec<Dims>> {
        let parts = collect(lock(self.state.get()).parts.iter().map(|(chunk, waiting)| (chunk.clone(), waiting.part.clone())))?;
        chosen(parts, is_wanted)
    }

    /// Returns whether `chunks` more chunks of `each` bytes have room, and their bits of `bits` bytes where some have any.
    pub(in crate::engine) fn has_room(&self, chunks: u64, each: u64, bits: u64) -> bool {
        let state = lock(self.state.get());
        let each = if state.has_bits { each.saturating_add(bits) } else { each };
        (state.bytes as u64).saturating_add(chunks.saturating_mul(each)) <= self.limit as u64
    }

    /// Returns the chunks to be stored so that those of `plan`, of `each` bytes, have room: those that were not used for the longest time. Of
    /// many more are stored than have to be, so that the next calls find room.
    pub(in crate::engine) fn oldest_for(&self, plan: &Plan, each: u64, bits: u64) -> Result<Vec<Dims>> {
        // In more chunks than have room at all, none of the others need wait.
        let most = (self.limit as u64 / each.max(1)).min(plan.items());
        let state = lock(self.state.get());
        let bits = if state.has_bits { bits } else { 0 };
        let needed = |n: u64| match state.parts.get(&plan.region_item(n).chunk) {
            None => each + bits,
            Some(waiting) if waiting.has_bits => 0,
            Some(_) => bits,
        };
        let needed = (0..most).map(needed).sum::<u64>() as usize;
        let surplus = state.bytes.saturating_add(needed).saturating_sub(self.limit);
        if surplus == 0 {
            return Ok(Vec::new());
        }
        let mut items = collect((0..most).map(|n| plan.region_item(n).chunk))?;
        items.sort_unstable();
        let is_other = |chunk: &Dims| items.binary_search(chunk).is_err();
        let mut others = collect(state.parts.iter().filter(|(chunk, _)| is_other(chunk)).map(|(chunk, waiting)| (waiting.used, chunk)))?;
        others.sort_unstable();
        let count = surplus.div_ceil(each.max(1) as usize).max(others.len() / SHARE);
        collect(others.into_iter().take(count).map(|(_, chunk)| chunk.clone()))
    }
}

/// Returns the wanted chunks of `parts` in order. The table is free meanwhile: the holder of a part may take it.
fn chosen(parts: Vec<Part>, is_wanted: impl Fn(&Dims, &Mutex<WaitingPart>) -> bool) -> Result<Vec<Dims>> {
    let mut chunks = collect(parts.into_iter().filter(|(chunk, part)| is_wanted(chunk, part)).map(|(chunk, _)| chunk))?;
    chunks.sort_unstable();
    Ok(chunks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;
    use crate::engine::item::Axis;
    use crate::engine::write_back::Arrival;
    use crate::limits::Strides;
    use smallvec::smallvec;

    /// Lets an element of a chunk of 2 x 2 bytes wait.
    fn wait(kept: &WriteBack, chunk: &Dims, [i, j]: [u64; 2]) {
        let shape: Dims = smallvec![2, 2];
        let axes = [Axis { start: i, count: 1, step: 1, memory: 0 }, Axis { start: j, count: 1, step: 1, memory: 0 }];
        let (place, check) = (&|_: *mut u8, _: &[i64]| Ok(()), &|| Ok(()));
        let inside = &[2, 2];
        let (shape, axes, data_type) = (&shape, &axes, DataType::UInt8);
        let new = Arrival { chunk, shape, inside, data_type, axes, is_partial: false, may_fail: false, place, check };
        kept.take(&new).unwrap();
    }

    /// Lets one element of each of `count` chunks of a grid of 2 x 2 bytes wait, in rows of 10 chunks.
    fn waiting(kept: &WriteBack, count: u64) {
        (0..count).for_each(|n| wait(kept, &smallvec![n / 10, n % 10], [1, 0]));
    }

    fn grid() -> Grid {
        Grid::regular(smallvec![2, 2]).unwrap()
    }

    #[test]
    fn a_box_finds_the_same_chunks_by_their_indices_as_among_all_that_wait() {
        let kept = WriteBack::new(1 << 20);
        waiting(&kept, 40);
        for (start, count, step, want) in [
            ([3, 0], [1, 1], [1, 1], &[[1, 0]][..]),
            ([2, 0], [1, 1], [1, 1], &[]),
            ([3, 1], [1, 4], [1, 1], &[[1, 1], [1, 2]]),
            ([5, 6], [2, 2], [-2, -2], &[[1, 2], [1, 3], [2, 2], [2, 3]]),
            ([9, 0], [4, 4], [1, 1], &[]),
            ([6, 17], [5, 2], [1, 1], &[[3, 9]]),
        ] {
            let selection = Selection::new(&[20, 20], &start, &count, Some(&step)).unwrap();
            assert!(kept.parts_in(&grid(), &Span::of(&selection)).unwrap().is_some_and(|few| few.len() <= 9), "{start:?}");
            let found = kept.touched(&grid(), Some(&selection)).unwrap();
            assert!(found.iter().map(Dims::as_slice).eq(want.iter().map(<[u64; 2]>::as_slice)), "{start:?}: {found:?}");
        }
        let all = Selection::all(&[20, 20]);
        assert!(kept.parts_in(&grid(), &Span::of(&all)).unwrap().is_none());
        assert_eq!(kept.touched(&grid(), Some(&all)).unwrap().len(), 40);
    }

    #[test]
    fn of_many_chunks_that_wait_a_share_makes_room_at_once_and_of_few_one() {
        for (count, want) in [(4, 1), (15, 1), (16, 2), (800, 100)] {
            let kept = WriteBack::new(4 * count);
            waiting(&kept, count as u64);
            let selection = Selection::new(&[400, 20], &[399, 0], &[1, 1], None).unwrap();
            let plan = Plan::new(&grid(), &selection, &Strides::from_elem(0, 2), 1).unwrap();
            let oldest = kept.oldest_for(&plan, 4, 8).unwrap();
            assert_eq!(oldest.len(), want, "{count}");
            let first = (0..want as u64).map(|n| Dims::from_slice(&[n / 10, n % 10]));
            assert!(first.eq(oldest), "{count}");
        }
    }

    #[test]
    fn boxes_need_no_room_for_bits_once_all_that_had_some_are_stored() {
        let kept = WriteBack::new(4 * 4);
        let corner: Dims = smallvec![0, 0];
        [[0, 0], [1, 1]].iter().for_each(|&at| wait(&kept, &corner, at));
        kept.forget(&corner);
        waiting(&kept, 4);
        let first = Selection::new(&[2, 20], &[0, 0], &[1, 1], None).unwrap();
        let plan = Plan::new(&grid(), &first, &Strides::from_elem(0, 2), 1).unwrap();
        assert_eq!(kept.oldest_for(&plan, 4, 8).unwrap(), [] as [Dims; 0]);
    }
}
