//! Reads what is selected of a chunk whose elements are stored as they are: pieces that are all alike, by one call each, with one copy for many.

use super::decode::Machine;
use super::item::{Axes, Item};
use super::leaf::{first_byte, low_byte};
use super::raw_spans::advance_counter;
use super::stats;
use crate::codec::Leaf;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{Dims, check_exact, grow, reserve};
use crate::store::Object;

/// How many bytes of pieces are copied at once: the caches hold them until then.
const TOGETHER: u64 = 64 << 10;

/// Reads of at least this many bytes are checked against the object's length before memory is taken for them.
pub(super) const CHECK_LENGTH: u64 = 1 << 20;

/// What is read of one item: all from its first byte to its last one, or pieces of which the `outer` dimensions, those of the largest strides,
/// are stepped through. A piece has `len` bytes.
pub(super) struct Pieces<'a> {
    pub object: &'a Object,
    pub machine: &'a Machine<'a>,
    pub leaf: &'a Leaf,
    pub item: &'a Item,
    pub outer: usize,
    pub len: u64,
}

impl<'a> Pieces<'a> {
    /// Returns whether the chunk is read as a whole.
    pub fn are_whole(&self) -> bool {
        self.outer == 0 && self.len == self.leaf.layout.bytes as u64
    }

    /// Reads all pieces into their places.
    pub fn read(&self, io: &mut Vec<u8>) -> Result<()> {
        let (axes, strides) = (&self.item.axes, &self.leaf.layout.strides);
        let stepped = &self.machine.target.order[..self.outer];
        let Some((&along, rows)) = stepped.split_last() else { return self.read_one(io) };
        let mut piece = Axes::from_slice(axes);
        stepped.iter().for_each(|&d| piece[d].count = 1);
        // From the lowest byte on, whichever way the selection goes: systems read ahead of reads that rise.
        let moved = |d: usize, (offset, memory): (u64, i64), i: u64| {
            let i = if axes[d].step < 0 { axes[d].count - 1 - i } else { i } as i64;
            (offset.wrapping_add_signed(axes[d].step.wrapping_mul(strides[d]).wrapping_mul(i)), memory + axes[d].memory * i)
        };
        let low = low_byte(self.leaf, &piece);
        let ahead = first_byte(self.leaf, &piece) - low;
        let is_direct = self.machine.target.in_place(self.leaf, &piece) == Some(self.len);
        let counts: Dims = rows.iter().map(|&d| axes[d].count).collect();
        let mut at = Dims::from_elem(0, rows.len());
        loop {
            let row = rows.iter().zip(&at).fold((low, self.item.memory), |row, (&d, &i)| moved(d, row, i));
            let place = |i: u64| moved(along, row, i);
            if is_direct {
                (0..axes[along].count).map(place).try_for_each(|(offset, memory)| self.read_at(offset, self.memory(memory)))?;
            } else {
                self.read_row((along, ahead), &place, &mut piece, io)?;
            }
            if !advance_counter(&mut at, &counts) {
                return Ok(());
            }
        }
    }

    /// Reads the pieces along one dimension, and copies as many at once as caches hold. `place` says where each is in the object and in memory,
    /// `ahead` how far its first element is from its first byte.
    fn read_row(&self, (along, ahead): (usize, u64), place: &dyn Fn(u64) -> (u64, i64), piece: &mut Axes, io: &mut Vec<u8>) -> Result<()> {
        let (count, len) = (self.item.axes[along].count, self.len as usize);
        let together = if self.is_outermost(along) { (TOGETHER / self.len).clamp(1, count) } else { 1 };
        if self.item.axes[along].step < 0 {
            piece[along].memory = -self.item.axes[along].memory;
        }
        for i in (0..count).step_by(together as usize) {
            piece[along].count = together.min(count - i);
            self.check_length(place(i).0)?;
            let bytes = grow(io, piece[along].count as usize * len)?;
            bytes.chunks_exact_mut(len).zip(i..).try_for_each(|(bytes, i)| self.read_at(place(i).0, bytes))?;
            self.place((bytes, ahead), piece, Some(along), place(i).1)?;
        }
        Ok(())
    }

    /// Returns whether the elements of a piece lie closer together in memory than pieces along that dimension do. Else a few pieces at once would be
    /// transposed, a few elements at a time, which takes many times as long as to place one after the other.
    fn is_outermost(&self, along: usize) -> bool {
        let axes = &self.item.axes;
        let inner = self.machine.target.order[self.outer..].iter();
        inner.filter(|&&d| axes[d].count > 1).all(|&d| axes[d].memory.abs() <= axes[along].memory.abs())
    }

    /// Reads an item that is one piece, or a whole chunk.
    fn read_one(&self, io: &mut Vec<u8>) -> Result<()> {
        let (object, axes, memory) = (self.object, &self.item.axes, self.item.memory);
        let (first, low) = (first_byte(self.leaf, axes), low_byte(self.leaf, axes));
        match self.machine.target.in_place(self.leaf, axes) == Some(self.len) {
            true if self.are_whole() => {
                stats::read(self.len);
                object.read_exact_whole(self.memory(memory))
            }
            true => self.read_at(low, self.memory(memory)),
            false if self.are_whole() => {
                read_exactly(object, io, self.len as usize)?;
                self.place((io, first), axes, None, memory)
            }
            false => {
                self.check_length(low)?;
                let bytes = grow(io, self.len as usize)?;
                self.read_at(low, bytes)?;
                self.place((bytes, first - low), axes, None, memory)
            }
        }
    }

    /// Gives the memory of a piece, which is written next.
    fn memory(&self, memory: i64) -> &'a mut [u8] {
        // SAFETY: the plan stays within the checked memory, and no other piece is there.
        let dst = unsafe { std::slice::from_raw_parts_mut(self.machine.target.base.offset(memory as isize), self.len as usize) };
        self.machine.target.expect_bytes(dst.as_ptr(), dst.len());
        dst
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        stats::read(bytes.len() as u64);
        self.object.read_exact_at(offset, bytes)
    }

    /// Checks a long piece against the object's length before memory is taken for it.
    fn check_length(&self, offset: u64) -> Result<()> {
        let end = offset.saturating_add(self.len);
        if self.len > CHECK_LENGTH && end > self.object.len()? {
            bail!(Truncated, "found {} bytes, expected at least {end}", self.object.len()?);
        }
        Ok(())
    }

    /// Places the elements of `axes`, the first of which is so far from the start of the bytes; those along one dimension are each in a piece
    /// of its own.
    fn place(&self, (bytes, ahead): (&[u8], u64), axes: &Axes, along: Option<usize>, memory: i64) -> Result<()> {
        let strides = self.leaf.layout.strides.iter().enumerate();
        let step = |(d, stride): (usize, &i64)| if Some(d) == along { self.len as i64 } else { axes[d].step.wrapping_mul(*stride) };
        let src = bytes.as_ptr().wrapping_add(ahead as usize);
        self.machine.place_box(src, axes, strides.map(step), memory, &self.machine.target.transfer)
    }
}

/// Reads an object of exactly so many bytes.
pub(super) fn read_exactly(object: &Object, io: &mut Vec<u8>, len: usize) -> Result<()> {
    // Room for one byte more: then one short read tells that there are not more. What the buffer holds is overwritten.
    let more = (len + 1).saturating_sub(io.len());
    reserve(io, more)?;
    let too_long = |e: Error| if e.kind() == ErrorKind::Limit { err!(Chunk, "found more than {len} bytes, expected {len}") } else { e };
    object.read_encoded(io, len).map_err(too_long)?;
    if io.len() < len {
        // The read may have come back short before the end.
        object.read_whole(io, len)?;
    }
    stats::read(io.len() as u64);
    check_exact(io.len() as u64, len)
}

#[cfg(test)]
mod tests {
    use crate::codec::chain::Chain;
    use crate::dtype::DataType;
    use crate::engine::{BoundArray, Memory, Selection, read, write};
    use crate::error::ErrorKind;
    use crate::metadata::{Codecs, v3::codec_list};
    use crate::store::fault;
    use crate::store::local::{LocalStore, SyncMode};
    use crate::store::os::Call;
    use crate::store::suite::TestFolder;
    use std::sync::Arc;

    const SHAPE: [u64; 3] = [4, 6, 5000];

    /// One chunk, stored as it is, whose elements are the numbers from 0 on.
    fn numbers(root: &TestFolder) -> Arc<BoundArray> {
        let list = crate::json::parse_text(r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#).unwrap();
        let codecs = Codecs::V3(codec_list(&list).unwrap());
        let chain = Chain::parse(&codecs, DataType::Int32, 3).unwrap();
        let store = Arc::new(LocalStore::open(root, true, SyncMode::None).unwrap());
        let array = Arc::new(BoundArray::plain((store, "a/"), (&SHAPE, &SHAPE), DataType::Int32, &chain));
        let mut values: Vec<i32> = (0..SHAPE.iter().product::<u64>() as i32).collect();
        // SAFETY: the memory lives as long as the call.
        unsafe { write(&array, &Selection::all(&SHAPE), &Memory::of(&mut values, &SHAPE, DataType::Int32)).unwrap() };
        array
    }

    #[test]
    fn pieces_come_to_their_places_whatever_the_steps_are_and_the_type_in_memory() {
        let root = TestFolder::new("pieces");
        let array = numbers(&root);
        for (start, count, step, reads) in [
            ([0, 2, 100], [4, 1, 50], [1, 1, 1], 4),
            ([3, 5, 4000], [4, 3, 20], [-1, -2, 1], 12),
            ([1, 1, 700], [2, 4, 500], [2, 1, -1], 8),
            ([0, 0, 4999], [4, 6, 1500], [1, 1, -2], 24),
            ([0, 5, 0], [4, 6, 3000], [1, -1, 1], 24),
            ([2, 4, 9], [1, 1, 4000], [1, 1, 1], 1),
            ([0, 0, 4999], [4, 6, 5000], [1, 1, -1], 1),
            // Two rows of neighbouring planes are read as one.
            ([0, 0, 0], [4, 2, 4900], [1, 5, 1], 5),
        ] {
            let selection = Selection::new(&SHAPE, &start, &count, Some(&step)).unwrap();
            let (shape, index) = (count.map(|n| n as u64), |d: usize, i: i64| start[d] + i * step[d]);
            let mut expected = Vec::new();
            for i in 0..count[0] {
                for j in 0..count[1] {
                    expected.extend((0..count[2]).map(|k| ((index(0, i) * 6 + index(1, j)) * 5000 + index(2, k)) as i32));
                }
            }
            let (mut same, mut wider) = (vec![-1i32; expected.len()], vec![-1f64; expected.len()]);
            let as_stored = Memory::of(&mut same, &shape, DataType::Int32);
            let converted = Memory::of(&mut wider, &shape, DataType::Float64);
            // SAFETY: the memory lives as long as the calls.
            fault::count(Call::Read, || unsafe { read(&array, &selection, &as_stored).unwrap() });
            // SAFETY: as above.
            let made = fault::count(Call::Read, || unsafe { read(&array, &selection, &converted).unwrap() });
            assert!(same == expected && wider.iter().zip(&expected).all(|(a, b)| *a == f64::from(*b)), "{start:?} {count:?} {step:?}");
            assert_eq!(made, reads, "{start:?} {count:?} {step:?}");
        }
    }

    #[test]
    fn a_piece_behind_the_end_of_the_file_is_an_error() {
        let root = TestFolder::new("pieces-cut");
        let array = numbers(&root);
        let file = root.join("a/c.0.0.0");
        std::fs::File::options().write(true).open(file).unwrap().set_len(400_000).unwrap();
        let selection = Selection::new(&SHAPE, &[0, 0, 0], &[4, 1, 10], None).unwrap();
        let (mut same, mut wider) = (vec![0i32; 40], vec![0f64; 40]);
        let shape = [4, 1, 10];
        for memory in [Memory::of(&mut same, &shape, DataType::Int32), Memory::of(&mut wider, &shape, DataType::Float64)] {
            // The last plane is there in part.
            // SAFETY: the memory lives as long as the calls.
            unsafe { read(&array, &selection, &memory).unwrap() };
            let behind = Selection::new(&SHAPE, &[0, 5, 0], &[4, 1, 10], None).unwrap();
            // SAFETY: as above.
            let e = unsafe { read(&array, &behind, &memory) }.unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Truncated);
        }
        // All four are; the first one in the file is read first, whichever way the selection goes.
        for (start, step) in [(0, 1), (3, -1)] {
            std::fs::File::options().write(true).open(root.join("a/c.0.0.0")).unwrap().set_len(100_000).unwrap();
            let behind = Selection::new(&SHAPE, &[start, 5, 0], &[4, 1, 10], Some(&[step, 1, 1])).unwrap();
            // SAFETY: as above.
            let e = unsafe { read(&array, &behind, &Memory::of(&mut wider, &shape, DataType::Float64)) }.unwrap_err();
            assert!(e.message().contains("offset 100000"), "{e}");
        }
    }
}
