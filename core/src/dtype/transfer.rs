//! Conversion kernels: n elements of one element type become n of another, over any strides.
//! What fits: integers by their range; a floating-point number becomes an integer by dropping its fraction, as a C cast does, and NaN, infinities
//! and numbers out of range do not fit; a finite number that would become infinite does not fit, lost digits do; only 0 and 1 become a bool. A
//! bool byte other than 0 is true and becomes 1, also as a bool. Complex to real does not exist; real to complex has no imaginary part. Of
//! integers and floating-point numbers with fewer bits than their byte, the upper bits are ignored and set anew: to the sign of an integer that
//! has one, else to 0; also where the type stays the same.
//!
//! The work is done in blocks that stay in the first-level cache: bytes are gathered and swapped, floating-point numbers narrower than binary32
//! become it, one contiguous kernel converts and notes whether something did not fit, and the result is scattered. Only then is the place looked
//! for, element by element; what becomes of such numbers under other policies than an error is `number.rs`'s work.
//! Elements may come from a [`Source`] that decodes them block by block, and go past the caches to a destination that would fill them.

use super::coding::{Coded, Coding, Way};
use super::convert_element::{TypePair, convert_element, load, number_text};
use super::fields::Fields;
use super::kernels::{Kernel, Rows, halves_to_singles, kernel, pairs, singles_to_halves, truth};
use super::relocate::{clear_padding, has_clear_padding, is_padded, is_set_anew, relocate, relocate_padded};
use super::run::{self, Run};
use super::source::BlockBufs;
pub use super::source::{BLOCK, BlockBuf, Source};
use super::text::TextTransfer;
use super::time::Time;
use super::{DataType, ElementType, Kind, Narrow, Overflow, narrow, stream};
use crate::error::{Error, Result, bail, err};
use std::sync::Arc;

/// How elements of one type become elements of another.
#[derive(Clone, Debug)]
pub struct Transfer {
    from: ElementType,
    to: ElementType,
    path: Path,
    overflow: Overflow,
    /// Whether what is contiguous at the destination is stored past the caches.
    streams: bool,
    /// The loops that suffice where elements are contiguous on both sides.
    rows: Option<Rows>,
}

#[derive(Clone, Debug)]
enum Path {
    /// Copies the bytes.
    Copy,
    /// Reverses the bytes of each unit: one type in two byte orders.
    Swap,
    /// Copies a type of fewer bits than its bytes have, and sets the other bits anew; bools to 0 or 1.
    SetAnew,
    /// Converts the numbers of one type to another.
    Convert(Kernel),
    /// A struct to another, field by field.
    Fields(Arc<Fields>),
    /// Text to text.
    Text(TextTransfer),
    /// A time to one of another unit.
    Time(Time),
    /// A coding that is undone or done.
    Coded(Arc<Coded>),
    /// What a source decodes, then as another transfer has it.
    Decoded(Decoded),
}

#[derive(Clone)]
struct Decoded {
    source: Arc<dyn Source>,
    /// From the decoded elements on.
    rest: Box<Transfer>,
}

impl std::fmt::Debug for Decoded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoded").field("rest", &self.rest).finish_non_exhaustive()
    }
}

/// The path of what is no number, where there is one.
fn special(from: ElementType, to: ElementType) -> Result<Option<Path>> {
    if let (DataType::Struct(a), DataType::Struct(b)) = (from.data_type, to.data_type) {
        let fields = Fields::new(a, b)?;
        return Ok(Some(if fields.is_copy(a, b) { Path::Copy } else { Path::Fields(Arc::new(fields)) }));
    }
    if let Some(time) = Time::new(from, to)? {
        return Ok(Some(Path::Time(time)));
    }
    Ok(TextTransfer::new(from, to).map(Path::Text))
}

/// Memory for one block of the largest type.
type Scratch = run::Scratch<{ BLOCK * 16 }>;

impl Transfer {
    /// The conversion from one element type to another; a `Type` error for complex to real. Registered types are what they are in memory, here and
    /// below.
    pub fn new(from: ElementType, to: ElementType) -> Result<Transfer> {
        let (from, to) = (from.in_memory(), to.in_memory());
        let (from, to) = (ElementType::new(from.data_type, from.order), ElementType::new(to.data_type.as_destination(), to.order));
        let by = |path| Transfer { from, to, path, overflow: Overflow::Error, streams: false, rows: None };
        if from.data_type == to.data_type && (!is_set_anew(from.data_type) || from.data_type.is_number()) {
            let whole = if from.order == to.order { Path::Copy } else { Path::Swap };
            return Ok(by(if is_set_anew(from.data_type) { Path::SetAnew } else { whole }));
        }
        if let Some(path) = special(from, to)? {
            return Ok(by(path));
        }
        let complex = |e: ElementType| e.data_type.kind() == Kind::Complex;
        if complex(from) && !complex(to) {
            bail!(Type, "{} cannot be converted to {}: the imaginary part would be lost", from.data_type.name(), to.data_type.name());
        }
        let opaque = |e: ElementType| !e.data_type.is_number();
        // A time is its count.
        let count = |e: ElementType| match e.data_type.kind() {
            Kind::Time => ElementType { data_type: DataType::Int64, ..e },
            _ => e,
        };
        let same_count = (count(from).data_type, count(to).data_type) == (DataType::Int64, DataType::Int64);
        if same_count && opaque(from) != opaque(to) {
            return Transfer::new(count(from), count(to));
        }
        if opaque(from) || opaque(to) {
            bail!(Type, "{} cannot be converted to {}", from.data_type.name(), to.data_type.name());
        }
        let kernel = kernel(from.data_type, to.data_type);
        Ok(Transfer { rows: Rows::new(from, to, kernel), ..by(Path::Convert(kernel)) })
    }

    /// The conversion from stored elements to memory that undoes a coding.
    pub fn decoding(from: ElementType, to: ElementType, coding: &Coding, overflow: Overflow) -> Result<Transfer> {
        let (from, to) = (from.in_memory(), to.in_memory());
        let path = Path::Coded(Arc::new(Coded::new(Way::Decode, from, to, coding, overflow)?));
        Ok(Transfer { from, to, path, overflow, streams: false, rows: None })
    }

    /// The conversion from memory to stored elements that does a coding.
    pub fn encoding(from: ElementType, to: ElementType, coding: &Coding, overflow: Overflow) -> Result<Transfer> {
        let (from, to) = (from.in_memory(), to.in_memory());
        let path = Path::Coded(Arc::new(Coded::new(Way::Encode, to, from, coding, overflow)?));
        Ok(Transfer { from, to, path, overflow, streams: false, rows: None })
    }

    /// The element at `src` as text.
    ///
    /// # Safety
    /// One element of the source's type is readable at `src`.
    pub(super) unsafe fn shown(&self, src: *const u8) -> String {
        // SAFETY: the caller's promise.
        let number = unsafe { load(self.from, src) };
        number.map_or_else(|| format!("an element of {}", self.from.data_type.name()), |n| n.to_string())
    }

    /// Sets another policy for numbers that do not fit.
    pub fn with_overflow(mut self, overflow: Overflow) -> Transfer {
        if let Path::Fields(fields) = &self.path {
            self.path = Path::Fields(Arc::new(fields.with_overflow(overflow)));
        }
        Transfer { overflow, ..self }
    }

    /// Puts a source before the conversion, which decodes its elements from `stored` ones.
    pub fn behind(self, source: Arc<dyn Source>, stored: ElementType) -> Transfer {
        let (to, overflow) = (self.to, self.overflow);
        Transfer { from: stored, to, path: Path::Decoded(Decoded { source, rest: Box::new(self) }), overflow, streams: false, rows: None }
    }

    /// Stores past the caches where elements are contiguous at the destination: for destinations that no cache holds, which are
    /// written faster so, as their old content is not read before. What was written is visible to other threads after
    /// [`Transfer::settle`].
    pub fn streaming(mut self) -> Transfer {
        match &mut self.path {
            Path::Decoded(decoded) => decoded.rest.streams = true,
            _ => self.streams = true,
        }
        self
    }

    /// To be called after the last of the runs before anybody else is told of them.
    #[inline]
    pub fn settle(&self) {
        if self.streams() {
            stream::settle();
        }
    }

    /// Whether [`Transfer::streaming`] made it.
    #[inline]
    pub fn streams(&self) -> bool {
        if let Path::Decoded(decoded) = &self.path { decoded.rest.streams } else { self.streams }
    }

    /// The size of an element where its bytes are moved as they are.
    pub fn plain_copy(&self) -> Option<usize> {
        matches!(self.path, Path::Copy).then(|| self.from.size())
    }

    /// Whether some bytes of an element that is written are left as they are: gaps between fields, or fields that the source lacks.
    pub fn is_partial(&self) -> bool {
        matches!(&self.path, Path::Fields(fields) if fields.is_partial())
    }

    /// Why the element at `src` does not fit.
    ///
    /// # Safety
    /// One element is readable at `src`, and it does not fit.
    pub unsafe fn explain(&self, src: *const u8) -> String {
        match &self.path {
            // SAFETY: forwarded from the caller.
            Path::Fields(fields) => unsafe { fields.explain(src) },
            // SAFETY: forwarded from the caller.
            Path::Text(text) => unsafe { text.explain(src) },
            // SAFETY: forwarded from the caller.
            Path::Coded(coded) => unsafe { coded.explain(src) },
            Path::Time(_) => "its count has more than 64 bits in the other unit".into(),
            // SAFETY: forwarded from the caller.
            _ => unsafe { number_text(self.pair(), src) },
        }
    }

    fn pair(&self) -> TypePair {
        TypePair { from: self.from, to: self.to, overflow: self.overflow }
    }

    /// The element type that is read.
    pub fn from(&self) -> ElementType {
        self.from
    }

    /// The element type that is written.
    pub fn to(&self) -> ElementType {
        self.to
    }

    /// Converts a run of elements.
    ///
    /// `Err(i)`: element i is the first that does not fit, and the policy has nothing for it. Those before it are stored;
    /// what the places of i and the later ones hold is not specified.
    ///
    /// # Safety
    /// For each element of the run, `from.size()` bytes must be readable at the source and `to.size()` bytes writable at the
    /// destination; the two must not overlap. Neither needs to be aligned.
    #[inline]
    pub unsafe fn run(&self, run: Run) -> std::result::Result<(), usize> {
        if let Some(rows) = self.rows
            && (run.src_stride, run.dst_stride) == (rows.from as isize, rows.to as isize)
            && let Some(convert) = if self.streams { rows.kernel.past } else { Some(rows.kernel.plain) }
        {
            // SAFETY: the elements that the caller vouches for, contiguous on both sides, native and numbers of the kernel's types.
            if !unsafe { convert(run.src, run.dst, run.n * rows.parts) } || self.wraps() {
                return Ok(());
            }
        }
        // SAFETY: as for this function.
        unsafe { self.run_any(run) }
    }

    /// Whether integers keep their low bits, as kernels leave them.
    fn wraps(&self) -> bool {
        let is_integer = |e: ElementType| matches!(e.data_type.kind(), Kind::Int | Kind::UInt);
        self.overflow == Overflow::Wrap && is_integer(self.from) && is_integer(self.to)
    }

    /// [`Transfer::run`] where nothing is known beforehand.
    ///
    /// # Safety
    /// As for [`Transfer::run`].
    unsafe fn run_any(&self, run: Run) -> std::result::Result<(), usize> {
        // SAFETY: as for this function, throughout; in all moves the types are the same on both sides.
        unsafe {
            match &self.path {
                Path::Convert(kernel) => return self.convert(*kernel, run),
                Path::Fields(fields) => return fields.run(run),
                Path::Text(text) => return text.run(run),
                Path::Time(time) => return time.run(run),
                Path::Coded(coded) => return coded.run(run),
                Path::Decoded(decoded) => return BlockBufs::with(|bufs| self.run_decoded(decoded, bufs, run)),
                Path::Copy | Path::Swap => self.relocate(run),
                Path::SetAnew => relocate_padded(self.from.data_type, run),
            }
        }
        Ok(())
    }

    /// Converts block by block, and where a block has an element that does not fit, that block again element by element. What only moves elements has
    /// no room for these blocks on its stack.
    ///
    /// # Safety
    /// As for [`Transfer::run`].
    #[inline(never)]
    unsafe fn convert(&self, kernel: Kernel, run: Run) -> std::result::Result<(), usize> {
        let wraps = self.wraps();
        let mut scratch = [Scratch::new(), Scratch::new(), Scratch::new()];
        let mut first = 0;
        while first < run.n {
            let count = self.block_len(run.dst_at(first), run.dst_stride, run.n - first);
            // SAFETY: the elements first..first + count are among those that the caller vouches for.
            if unsafe { self.block(kernel, &mut scratch, run.part(first, count)) } && !wraps {
                for i in first..first + count {
                    // SAFETY: as above, one element of them.
                    if !unsafe { convert_element(self.pair(), run.src_at(i), run.dst_at(i)) } {
                        return Err(i);
                    }
                }
            }
            first += count;
        }
        Ok(())
    }

    /// Elements of the next block. Blocks that are streamed end at lines of the cache, except for the last, if elements do.
    fn block_len(&self, dst: *const u8, dst_stride: isize, left: usize) -> usize {
        let size = self.to.size();
        if left <= BLOCK || !self.streams || dst_stride != size as isize || !dst.addr().is_multiple_of(size) {
            return BLOCK.min(left);
        }
        let head = dst.align_offset(stream::LINE) / size;
        let a_line = (stream::LINE / size).max(1);
        head + (BLOCK - head) / a_line * a_line
    }

    /// Moves elements as they are, or turned around.
    ///
    /// # Safety
    /// As for [`Transfer::run`].
    #[inline(never)]
    unsafe fn relocate(&self, run: Run) {
        let (size, swap) = (self.from.size(), matches!(self.path, Path::Swap));
        if !self.streams || run.dst_stride != size as isize || size > 16 {
            // SAFETY: forwarded from the caller; the types are the same.
            unsafe { relocate(self.from.data_type, swap, run) };
            return;
        }
        let (mut first, mut scratch) = (0, Scratch::new());
        while first < run.n {
            let part = run.part(first, self.block_len(run.dst_at(first), run.dst_stride, run.n - first));
            // SAFETY: a block of the elements; the scratch has room for it.
            unsafe {
                let moved = if swap || run.src_stride != size as isize {
                    relocate(self.from.data_type, swap, part.gathered(scratch.at(), size));
                    scratch.at().cast_const()
                } else {
                    part.src
                };
                stream::copy(moved, part.dst, part.n * size);
            }
            first += part.n;
        }
    }

    /// [`Transfer::run`] where the elements are decoded first. A source that fails counts as an element that does not fit.
    ///
    /// # Safety
    /// As for [`Transfer::run`].
    unsafe fn run_decoded(&self, decoded: &Decoded, bufs: &mut BlockBufs, run: Run) -> std::result::Result<(), usize> {
        let mut first = 0;
        while first < run.n {
            let count = decoded.rest.block_len(run.dst_at(first), run.dst_stride, run.n - first);
            // SAFETY: a block of what the caller vouches for.
            if unsafe { self.decoded_block(decoded, bufs, run.part(first, count)) }.is_err() {
                // One of them: those before it are stored.
                for i in first..first + count {
                    // SAFETY: as above, one element.
                    unsafe { self.decoded_block(decoded, bufs, run.part(i, 1)) }.map_err(|_| i)?;
                }
            }
            first += count;
        }
        Ok(())
    }

    /// Decodes a block of at most [`BLOCK`] elements and converts it.
    ///
    /// # Safety
    /// As for [`Transfer::run`].
    unsafe fn decoded_block(&self, decoded: &Decoded, bufs: &mut BlockBufs, run: Run) -> std::result::Result<(), usize> {
        let (rest, size, middle) = (&*decoded.rest, self.from.size(), decoded.rest.from.size());
        let input = if run.src_stride == size as isize {
            // SAFETY: the caller vouches for these elements.
            unsafe { std::slice::from_raw_parts(run.src, run.n * size) }
        } else {
            // SAFETY: as above; the buffer holds a block of any type.
            unsafe { relocate(self.from.data_type, false, run.gathered(bufs.gathered.as_mut_ptr(), size)) };
            &bufs.gathered[..run.n * size]
        };
        if rest.plain_copy().is_some() && run.dst_stride == middle as isize && !rest.streams {
            // SAFETY: the caller vouches for these elements, which are contiguous.
            let out = unsafe { std::slice::from_raw_parts_mut(run.dst, run.n * middle) };
            return decoded.source.decode(input, out, &mut bufs.between).map_err(|_| 0);
        }
        let out = &mut bufs.decoded[..run.n * middle];
        decoded.source.decode(input, out, &mut bufs.between).map_err(|_| 0usize)?;
        // SAFETY: a block of decoded elements, to places that the caller vouches for.
        unsafe { rest.run(run.scattered(out.as_ptr(), middle)) }
    }

    /// The error of the element at `src`, which does not fit: of kind `Range`, or what its source says of it.
    ///
    /// # Safety
    /// An element of the type that is read is readable at `src`.
    pub unsafe fn range_error(&self, src: *const u8) -> Error {
        match &self.path {
            Path::Decoded(decoded) => {
                let mut element = [0u8; 16];
                // SAFETY: forwarded from the caller.
                let stored = unsafe { std::slice::from_raw_parts(src, self.from.size()) };
                let out = &mut element[..decoded.rest.from.size()];
                match BlockBufs::with(|bufs| decoded.source.decode(stored, out, &mut bufs.between)) {
                    Err(e) => e,
                    // SAFETY: an element that was just decoded.
                    Ok(()) => unsafe { decoded.rest.range_error(element.as_ptr()) },
                }
            }
            // SAFETY: forwarded from the caller.
            Path::Coded(coded) => err!(Range, "an element is {}", unsafe { coded.explain(src) }),
            // SAFETY: forwarded from the caller.
            Path::Fields(_) | Path::Text(_) | Path::Time(_) => err!(Range, "an element is unfit: {}", unsafe { self.explain(src) }),
            // SAFETY: forwarded from the caller.
            _ => err!(Range, "an element is {}", unsafe { number_text(self.pair(), src) }),
        }
    }

    /// Converts at most [`BLOCK`] elements; true if one of them does not fit.
    ///
    /// # Safety
    /// As for [`Transfer::run`].
    unsafe fn block(&self, kernel: Kernel, [a, b, c]: &mut [Scratch; 3], run: Run) -> bool {
        let (a, b, c) = (a.at(), b.at(), c.at());
        let (from, to) = (self.from.data_type, self.to.data_type);
        let widen = to.kind() == Kind::Complex && from.kind() != Kind::Complex;
        let numbers = if from.kind() == Kind::Complex { 2 * run.n } else { run.n };
        // SAFETY: the caller vouches for n <= BLOCK elements on both sides; each scratch holds BLOCK elements of any type, is aligned
        // for all of them, and every byte of it is written before it is read.
        unsafe {
            let input = self.widened(run, a, b, numbers);
            let plain = !widen && !matches!(to, DataType::Float16 | DataType::Narrow(_) | DataType::ComplexNarrow(_)) && !is_padded(to);
            if run.dst_stride == to.size() as isize && !self.to.swapped() && plain {
                return match kernel.past {
                    _ if !self.streams => (kernel.plain)(input, run.dst, numbers),
                    Some(past) => past(input, run.dst, numbers),
                    None => {
                        let bad = (kernel.plain)(input, c, numbers);
                        stream::copy(c, run.dst, run.n * to.size());
                        bad
                    }
                };
            }
            let mut bad = (kernel.plain)(input, c, numbers);
            // What the kernel read is free now.
            let (all, c) = match to {
                DataType::Complex128 if widen => (2 * run.n, pairs::<f64>(c.cast(), a.cast(), run.n)),
                _ if widen => (2 * run.n, pairs::<f32>(c.cast(), b.cast(), run.n)),
                _ => (numbers, c.cast_const()),
            };
            let output = match to {
                DataType::Float16 | DataType::ComplexNarrow(Narrow::Float16) => {
                    bad |= singles_to_halves(c.cast(), a.cast(), all);
                    a
                }
                DataType::Narrow(f) | DataType::ComplexNarrow(f) => {
                    bad |= narrow::encode(f, c, a, all);
                    a
                }
                _ if is_padded(to) => {
                    a.copy_from_nonoverlapping(c, run.n);
                    bad |= !has_clear_padding(to, a, run.n);
                    clear_padding(to, a, run.n)
                }
                _ => c,
            };
            relocate(to, self.to.swapped(), run.scattered(output, to.size()));
            bad
        }
    }

    /// Brings the elements of a block to the form that kernels read: in `a` or `b`, or where they are.
    ///
    /// # Safety
    /// As for [`Transfer::run`], for up to [`BLOCK`] elements, which are as many `numbers`; `a` and `b` have room for them.
    #[inline(always)]
    unsafe fn widened(&self, run: Run, a: *mut u8, b: *mut u8, numbers: usize) -> *const u8 {
        let from = self.from.data_type;
        let direct = !matches!(from, DataType::Bool | DataType::Float16) && !is_padded(from);
        let as_is = run.src_stride == from.size() as isize && !self.from.swapped() && direct;
        // SAFETY: as for this function.
        unsafe {
            if !as_is {
                relocate(from, self.from.swapped(), run.gathered(a, from.size()));
            }
            match from {
                DataType::Bool => truth(a, run.n),
                DataType::Float16 => halves_to_singles(a.cast(), b.cast(), numbers),
                DataType::ComplexNarrow(Narrow::Float16) if !as_is => halves_to_singles(a.cast(), b.cast(), numbers),
                DataType::Narrow(f) | DataType::ComplexNarrow(f) => {
                    narrow::decode(f, if as_is { run.src } else { a }, b, numbers);
                    b
                }
                _ if is_padded(from) => clear_padding(from, a, numbers),
                _ if as_is => run.src,
                _ => a,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ElementType, Kind, Overflow, Run, Transfer};
    use crate::dtype::ByteOrder;
    use crate::dtype::narrow::odd_normal;
    use crate::dtype::{DataType, Field, Narrow as Format, Real as Value, Struct};
    use crate::error::ErrorKind;
    use DataType::*;

    /// A number as the slow reference sees it.
    #[derive(Clone, Copy, Debug)]
    enum Number {
        Int(i128),
        Float(f64),
    }

    fn half_value(bits: u16) -> f64 {
        let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
        let magnitude = match exponent {
            0 => mantissa * 2f64.powi(-24),
            31 if mantissa == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1024.0 + mantissa) * 2f64.powi(exponent - 25),
        };
        if bits >> 15 == 1 { -magnitude } else { magnitude }
    }

    /// The nearest binary16, ties to even, found by counting.
    fn half_bits(value: f64) -> u16 {
        let magnitude = value.abs();
        // The last binary16 that is not greater; above the largest finite one as if there were one more (65536).
        let below = if magnitude >= 65536.0 { 0x7c00 } else { (0..0x7c00).rev().find(|&b| half_value(b) <= magnitude).unwrap() };
        let above = if below >= 0x7bff { 65536.0 } else { half_value(below + 1) };
        let up = below < 0x7c00 && {
            let (down, up) = (magnitude - half_value(below), above - magnitude);
            up < down || (up == down && below & 1 == 1)
        };
        (below + u16::from(up)) | (u16::from(value.is_sign_negative()) << 15)
    }

    /// The parts of a native element.
    fn decode(data_type: DataType, b: &[u8]) -> Vec<Number> {
        use Number::*;
        match data_type {
            Bool => vec![Int(i128::from(b[0] != 0))],
            Int8 => vec![Int((b[0] as i8).into())],
            Int16 => vec![Int(i16::from_le_bytes(b.try_into().unwrap()).into())],
            Int32 => vec![Int(i32::from_le_bytes(b.try_into().unwrap()).into())],
            Int64 => vec![Int(i64::from_le_bytes(b.try_into().unwrap()).into())],
            UInt8 => vec![Int(b[0].into())],
            UInt16 => vec![Int(u16::from_le_bytes(b.try_into().unwrap()).into())],
            UInt32 => vec![Int(u32::from_le_bytes(b.try_into().unwrap()).into())],
            UInt64 => vec![Int(u64::from_le_bytes(b.try_into().unwrap()).into())],
            Float16 => vec![Float(half_value(u16::from_le_bytes(b.try_into().unwrap())))],
            Float32 => vec![Float(f32::from_le_bytes(b.try_into().unwrap()).into())],
            Float64 => vec![Float(f64::from_le_bytes(b.try_into().unwrap()))],
            other if other.kind() == Kind::Complex => {
                let half = other.part().unwrap();
                [decode(half, &b[..half.size()]), decode(half, &b[half.size()..])].concat()
            }
            other => vec![match Value::load(other, b).unwrap() {
                Value::Int(n) => Int(n),
                Value::Float(f) => Float(f),
            }],
        }
    }

    /// The native element, `None` where a part does not fit.
    fn encode(data_type: DataType, parts: &[Number]) -> Option<Vec<u8>> {
        use Number::*;
        let whole = || match parts[0] {
            Int(i) => Some(i),
            Float(f) if f.is_finite() && f.abs() < 1e30 => Some(f.trunc() as i128),
            Float(_) => None,
        };
        let real = |p: Number| match p {
            Int(i) => i as f64,
            Float(f) => f,
        };
        Some(match data_type {
            Bool => vec![match real(parts[0]) {
                0.0 => 0,
                1.0 => 1,
                _ => return None,
            }],
            Int8 => i8::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
            Int16 => i16::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
            Int32 => i32::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
            Int64 => i64::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
            UInt8 => u8::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
            UInt16 => u16::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
            UInt32 => u32::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
            UInt64 => u64::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
            Float16 => {
                let value = real(parts[0]);
                let bits = if value.is_nan() { 0x7e00 } else { half_bits(value) };
                if bits & 0x7fff == 0x7c00 && value.is_finite() {
                    return None;
                }
                bits.to_le_bytes().to_vec()
            }
            Float32 => {
                let value = match parts[0] {
                    Int(i) => i as f32,
                    Float(f) => f as f32,
                };
                if value.is_infinite() && real(parts[0]).is_finite() {
                    return None;
                }
                value.to_le_bytes().to_vec()
            }
            Float64 => real(parts[0]).to_le_bytes().to_vec(),
            _ if data_type.kind() == Kind::Complex => {
                let half = data_type.part().unwrap();
                let imaginary = parts.get(1).copied().unwrap_or(Float(0.0));
                [encode(half, &parts[..1])?, encode(half, &[imaginary])?].concat()
            }
            other => {
                let mut out = vec![0; other.size()];
                let number = match parts[0] {
                    Int(n) => Value::Int(n),
                    Float(f) => Value::Float(f),
                };
                return number.store(other, Overflow::Error, &mut out).then_some(out);
            }
        })
    }

    /// Whether two native elements are the same, all NaN being one.
    fn same(data_type: DataType, a: &[u8], b: &[u8]) -> bool {
        let nan = |n: &Number| matches!(n, Number::Float(f) if f.is_nan());
        let unit = data_type.swap_unit();
        a == b
            || decode(data_type, a)
                .iter()
                .zip(decode(data_type, b))
                .enumerate()
                .all(|(i, (x, y))| (nan(x) && nan(&y)) || a[i * unit..][..unit] == b[i * unit..][..unit])
    }

    /// Elements at and around every limit.
    fn edges(data_type: DataType) -> Vec<Vec<u8>> {
        let limits = || [0, 1, 7, 8, 10, 11, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64].into_iter();
        match data_type.kind() {
            Kind::Bool => vec![vec![0], vec![1], vec![2], vec![255]],
            Kind::Int | Kind::UInt => {
                let near = |b: i32| [(1i128 << b) - 1, 1i128 << b, (1i128 << b) + 1, -(1i128 << b) - 1, -(1i128 << b), 1 - (1i128 << b)];
                let more = [0, 2, 3, 65504, 65519, 65520, 65521, i128::from(u64::MAX), 0x1234_5678_9abc_def0];
                limits().flat_map(near).chain(more).filter_map(|n| encode(data_type, &[Number::Int(n)])).collect()
            }
            Kind::Float if data_type.size() == 1 => (0..1u32 << data_type.bits()).map(|code| vec![code as u8]).collect(),
            Kind::Float => {
                let around = |v: f64| {
                    let single = v as f32;
                    let beside = [single.next_down().into(), single.next_up().into(), v.next_down(), v.next_up(), v - 0.5, v + 0.5];
                    [v, v - 1.0, v + 1.0].into_iter().chain(beside).flat_map(|v| [v, -v])
                };
                let ties = [1.0 + 2f64.powi(-11), 1.0 + 3.0 * 2f64.powi(-11), 2f64.powi(-25), 65504.0, 65520.0, 1.0 + 2f64.powi(-24)];
                let extremes = [0.0, f64::MAX, f32::MAX.into(), f32::MAX as f64 * (1.0 + 2f64.powi(-25)), f64::MIN_POSITIVE, 5e-324];
                let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-45, -0.0, 6e-8];
                let all = limits().map(|b| 2f64.powi(b)).chain(ties).chain(extremes).flat_map(around).chain(special);
                all.filter_map(|n| encode(data_type, &[Number::Float(n)])).collect()
            }
            Kind::Complex => {
                let parts = edges(data_type.part().unwrap());
                let other = parts.iter().rev().cycle().skip(parts.len() / 3);
                parts.iter().zip(other).map(|(re, im)| [re.as_slice(), im].concat()).collect()
            }
            Kind::Time | Kind::Opaque | Kind::Struct | Kind::Variable => Vec::new(),
        }
    }

    fn swapped(element: ElementType, bytes: &[u8]) -> Vec<u8> {
        let unit = element.data_type.swap_unit();
        let reverse = |u: &[u8]| u.iter().rev().copied().collect::<Vec<_>>();
        if element.swapped() { bytes.chunks(unit).flat_map(reverse).collect() } else { bytes.to_vec() }
    }

    /// Lays the elements out with that stride from an odd address, converts, and reads the results back as native elements.
    fn convert(
        from: ElementType,
        to: ElementType,
        elements: &[Vec<u8>],
        strides: (isize, isize),
    ) -> (std::result::Result<(), usize>, Vec<Vec<u8>>) {
        const GUARD: u8 = 0xa5;
        let n = elements.len();
        let layout = |size: usize, stride: isize| {
            let length = 1 + stride.unsigned_abs() * n.saturating_sub(1) + size;
            let start = if stride < 0 { length - size } else { 1 };
            (length, start, move |i: usize| (start as isize + stride * i as isize) as usize)
        };
        let (src_len, src_start, src_at) = layout(from.size(), strides.0);
        let (dst_len, dst_start, dst_at) = layout(to.size(), strides.1);
        let (mut src, mut dst) = (vec![GUARD; src_len], vec![GUARD; dst_len]);
        elements.iter().enumerate().for_each(|(i, e)| src[src_at(i)..][..from.size()].copy_from_slice(&swapped(from, e)));
        let transfer = Transfer::new(from, to).unwrap();
        // SAFETY: the buffers hold n elements with these strides.
        let result = unsafe {
            transfer.run(Run {
                src: src.as_ptr().add(src_start),
                src_stride: strides.0,
                dst: dst.as_mut_ptr().add(dst_start),
                dst_stride: strides.1,
                n,
            })
        };
        let out: Vec<_> = (0..n).map(|i| swapped(to, &dst[dst_at(i)..][..to.size()])).collect();
        (0..n).for_each(|i| dst[dst_at(i)..][..to.size()].fill(GUARD));
        assert!(dst.iter().all(|&b| b == GUARD), "wrote between the elements");
        (result, out)
    }

    /// The pairs that can be converted: each n-th of those with NumPy's types, and fewer of the others.
    fn pairs_of_types(n_th: usize) -> impl Iterator<Item = (DataType, DataType)> {
        let numpy = |t: &DataType| DataType::NUMPY.contains(t);
        let all = DataType::numbers().flat_map(|from| DataType::numbers().map(move |to| (from, to)));
        let all = all.filter(|(from, to)| from.kind() != Kind::Complex || to.kind() == Kind::Complex);
        let (of_numpy, others): (Vec<_>, Vec<_>) = all.partition(|(from, to)| numpy(from) && numpy(to));
        let (n_th, apart) = (crate::settings::apart(n_th), crate::settings::apart(11 * n_th));
        of_numpy.into_iter().step_by(n_th).chain(others.into_iter().step_by(apart))
    }

    fn expected(from: DataType, to: DataType, element: &[u8]) -> Option<Vec<u8>> {
        if from == to && from != Bool { Some(element.to_vec()) } else { encode(to, &decode(from, element)) }
    }

    #[test]
    fn every_pair_converts_every_edge_as_the_reference_does() {
        for (from, to) in pairs_of_types(3) {
            let native = (ElementType::native(from), ElementType::native(to));
            for element in edges(from) {
                let (result, out) = convert(native.0, native.1, std::slice::from_ref(&element), (from.size() as isize, to.size() as isize));
                match expected(from, to, &element) {
                    Some(e) => assert!(
                        result.is_ok() && same(to, &out[0], &e),
                        "{from:?} -> {to:?}: {:?}: {out:?}, expected {e:?}",
                        decode(from, &element)
                    ),
                    None => assert_eq!(result, Err(0), "{from:?} -> {to:?}: {:?}", decode(from, &element)),
                }
            }
        }
    }

    #[test]
    fn policies_give_every_edge_what_single_numbers_get() {
        for (from, to) in pairs_of_types(5) {
            for overflow in [Overflow::Wrap, Overflow::Saturate] {
                let transfer = Transfer::new(ElementType::new(from, ByteOrder::Big), ElementType::new(to, ByteOrder::Big)).unwrap();
                let transfer = transfer.with_overflow(overflow);
                let (big_from, big_to) = (transfer.from(), transfer.to());
                for element in edges(from) {
                    let mut parts = decode(from, &element);
                    if to.kind() == Kind::Complex && parts.len() == 1 {
                        parts.push(Number::Int(0));
                    }
                    let one = |part: &Number| {
                        let mut out = vec![0; to.part().unwrap_or(to).size()];
                        let number = match *part {
                            Number::Int(n) => Value::Int(n),
                            Number::Float(f) => Value::Float(f),
                        };
                        number.store(to, overflow, &mut out).then_some(out)
                    };
                    let want: Option<Vec<u8>> = parts.iter().map(one).collect::<Option<Vec<_>>>().map(|p| p.concat());
                    let (src, mut dst) = (swapped(big_from, &element), vec![0; to.size()]);
                    // SAFETY: one element on both sides.
                    let result = unsafe { transfer.run(Run::one(src.as_ptr(), dst.as_mut_ptr())) };
                    assert_eq!(result.is_ok(), want.is_some() || from == to, "{from:?} -> {to:?} {overflow:?} {parts:?}");
                    if let Some(want) = want.filter(|_| from != to) {
                        assert!(same(to, &swapped(big_to, &dst), &want), "{from:?} -> {to:?} {overflow:?} {parts:?}: {dst:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn upper_bits_of_padded_types_are_set_anew_even_by_a_copy() {
        let narrow = ComplexNarrow(Format::Float4E2M1Fn);
        for (t, bytes, want) in [
            (Int4, [0x0f, 0x78, 0xf7], [0xff, 0xf8, 7]),
            (UInt2, [0xff, 0x04, 0x02], [3, 0, 2]),
            (Narrow(Format::Float6E2M3Fn), [0xff, 0x40, 0x20], [0x3f, 0, 0x20]),
        ] {
            let elements: Vec<Vec<u8>> = bytes.iter().map(|b| vec![*b]).collect();
            for strides in [(1, 1), (2, -1)] {
                assert_eq!(convert(ElementType::native(t), ElementType::native(t), &elements, strides).1.concat(), want, "{t:?}");
            }
            assert_eq!(Transfer::new(ElementType::native(t), ElementType::native(t)).unwrap().plain_copy(), None);
        }
        assert_eq!(convert(ElementType::native(narrow), ElementType::native(narrow), &[vec![0x1f, 0xf0]], (2, 2)).1.concat(), [0xf, 0]);
    }

    #[test]
    fn misfits_name_the_value_and_the_limit() {
        let text = |from: ElementType, to, element: &[u8]| {
            // SAFETY: one element.
            unsafe { Transfer::new(from, ElementType::native(to)).unwrap().explain(element.as_ptr()) }
        };
        assert_eq!(text(ElementType::new(Int32, ByteOrder::Big), Int16, &70000i32.to_be_bytes()), "70000, int16 ends at 32767");
        let pair = [1f64.to_le_bytes(), (-1e300f64).to_le_bytes()].concat();
        assert_eq!(text(ElementType::native(Complex128), Complex64, &pair), "-1e300, float32 begins at -3.4028234663852886e38");
        assert_eq!(text(ElementType::native(Int8), Int16, &[1]), "");
    }

    #[test]
    fn orders_strides_and_lengths_do_not_matter() {
        for (from, to) in pairs_of_types(5) {
            let fitting: Vec<_> = edges(from).into_iter().filter_map(|e| expected(from, to, &e).map(|there| (e, there))).collect();
            let (s, d) = (from.size() as isize, to.size() as isize);
            for order in [
                (ByteOrder::Little, ByteOrder::Little),
                (ByteOrder::Big, ByteOrder::Little),
                (ByteOrder::Little, ByteOrder::Big),
                (ByteOrder::Big, ByteOrder::Big),
            ] {
                let types = (ElementType::new(from, order.0), ElementType::new(to, order.1));
                for (strides, n) in
                    [((s, d), 600), ((s + 3, d), 300), ((s, d + 5), 257), ((-s, -d - 1), 256), ((-2 * s - 1, d), 9), ((s, d), 0)]
                {
                    let elements: Vec<_> = fitting.iter().cycle().take(n).map(|(element, _)| element.clone()).collect();
                    let (result, out) = convert(types.0, types.1, &elements, strides);
                    assert_eq!(result, Ok(()), "{types:?}");
                    for ((element, e), out) in fitting.iter().cycle().zip(&out) {
                        assert!(same(to, out, e), "{types:?} {strides:?}: {element:?}: {out:?}, expected {e:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_element_that_does_not_fit_is_named_and_those_before_it_are_stored() {
        for (from, to) in pairs_of_types(5) {
            let (fitting, unfit): (Vec<_>, Vec<_>) = edges(from).into_iter().partition(|e| expected(from, to, e).is_some());
            let (Some(good), Some(bad)) = (fitting.last(), unfit.first()) else { continue };
            for (place, order, stride) in
                [(0, ByteOrder::Little, 1), (255, ByteOrder::Big, 1), (256, ByteOrder::Little, -1), (517, ByteOrder::Big, 2)]
            {
                let mut elements = vec![good.clone(); 600];
                elements[place] = bad.clone();
                elements[599] = bad.clone();
                let strides = (stride * from.size() as isize, stride * to.size() as isize);
                let (result, out) = convert(ElementType::new(from, order), ElementType::native(to), &elements, strides);
                assert_eq!(result, Err(place), "{from:?} -> {to:?}");
                let e = expected(from, to, good).unwrap();
                assert!(out[..place].iter().all(|o| same(to, o, &e)), "{from:?} -> {to:?}");
            }
        }
    }

    #[test]
    fn every_binary16_becomes_wider_and_comes_back() {
        let all: Vec<Vec<u8>> = (0..=u16::MAX).map(|b| b.to_le_bytes().to_vec()).collect();
        for wide in [Float32, Float64] {
            let size = wide.size() as isize;
            let (result, out) = convert(ElementType::native(Float16), ElementType::native(wide), &all, (2, size));
            assert_eq!(result, Ok(()));
            for (narrow, out) in all.iter().zip(&out) {
                assert!(same(wide, out, &encode(wide, &decode(Float16, narrow)).unwrap()), "{narrow:?}");
            }
            let (result, back) = convert(ElementType::native(wide), ElementType::new(Float16, ByteOrder::Big), &out, (size, 2));
            assert_eq!(result, Ok(()));
            assert!(all.iter().zip(&back).all(|(a, b)| same(Float16, a, b)));
        }
    }

    #[test]
    fn binary64_is_rounded_to_binary16_once() {
        for bits in 0..0x7bffu16 {
            let (low, high) = (half_value(bits), half_value(bits + 1));
            let tie = (low + high) / 2.0;
            for (value, expected) in [(tie.next_down(), bits), (tie, bits + (bits & 1)), (tie.next_up(), bits + 1)] {
                assert_eq!(half::f16::from_f32(odd_normal(value)).to_bits(), expected, "{value:e}");
                assert_eq!(half::f16::from_f32(odd_normal(-value)).to_bits(), expected | 0x8000, "-{value:e}");
            }
        }
        for (value, expected) in [(1e300, 0x7c00), (1e-300, 0), (-1e-300, 0x8000)] {
            assert_eq!(half::f16::from_f32(odd_normal(value)).to_bits(), expected, "{value:e}");
        }
        assert!(half::f16::from_f32(odd_normal(f64::NAN)).is_nan());
    }

    #[test]
    fn payloads_of_nan_survive_between_binary32_and_binary64() {
        let nan = 0xffc0_1234u32.to_le_bytes().to_vec();
        let (_, wide) = convert(ElementType::native(Float32), ElementType::native(Float64), std::slice::from_ref(&nan), (4, 8));
        assert_eq!(wide[0], 0xfff8_0246_8000_0000u64.to_le_bytes());
        let (_, back) = convert(ElementType::native(Float64), ElementType::native(Float32), &wide, (8, 4));
        assert_eq!(back[0], nan);
    }

    #[test]
    fn bool_bytes_become_0_or_1() {
        let bytes = [0u8, 1, 2, 255].map(|byte| vec![byte]);
        for (to, strides) in [(Bool, (1, 1)), (Bool, (2, -1)), (UInt8, (1, 1))] {
            let done = convert(ElementType::native(Bool), ElementType::native(to), &bytes, strides).1;
            assert_eq!(done.concat(), [0, 1, 1, 1], "{to:?} {strides:?}");
        }
    }

    #[test]
    fn fields_of_a_struct_that_stays_the_same_are_set_anew_too() {
        let field = |name: &str, data_type: DataType| Field { name: name.into(), offset: 0, element: data_type.into(), shape: vec![] };
        let inner = Struct::packed(vec![field("n", Int4), field("", Raw(1))]).unwrap();
        let whole = Struct::packed(vec![field("x", Int16), field("b", Bool), field("s", DataType::Struct(inner))]).unwrap();
        let t = ElementType::native(DataType::Struct(whole));
        assert_eq!(convert(t, t, &[vec![0x34, 0x12, 2, 0x7f, 0xa5]], (5, 5)).1.concat(), [0x34, 0x12, 1, 0xff, 0xa5]);
        let plain = Struct::packed(vec![field("x", Int16), field("y", UInt8)]).unwrap();
        assert_eq!(Transfer::new(DataType::Struct(plain).into(), DataType::Struct(plain).into()).unwrap().plain_copy(), Some(3));
    }

    #[test]
    fn a_source_of_one_element_can_be_spread() {
        let (src, mut dst) = (1.5f32, [0f64; 300]);
        let transfer = Transfer::new(ElementType::native(Float32), ElementType::native(Float64)).unwrap();
        // SAFETY: one element with stride 0, and room for 300.
        unsafe { transfer.run(Run { src: (&raw const src).cast(), src_stride: 0, dst: dst.as_mut_ptr().cast(), dst_stride: 8, n: 300 }) }
            .unwrap();
        assert_eq!(dst, [1.5; 300]);
    }

    #[test]
    fn plain_copies_are_known_and_complex_to_real_is_refused() {
        let big = |t| ElementType::new(t, ByteOrder::Big);
        assert_eq!(Transfer::new(big(Complex128), big(Complex128)).unwrap().plain_copy(), Some(16));
        assert_eq!(
            Transfer::new(ElementType { data_type: Int8, order: ByteOrder::Big }, ElementType::native(Int8)).unwrap().plain_copy(),
            Some(1)
        );
        assert_eq!(Transfer::new(big(Int16), ElementType::native(Int16)).unwrap().plain_copy(), None);
        assert_eq!(Transfer::new(big(Int16), big(UInt16)).unwrap().plain_copy(), None);
        for to in [Bool, Int32, Float64] {
            assert_eq!(Transfer::new(ElementType::native(Complex64), ElementType::native(to)).unwrap_err().kind(), ErrorKind::Type);
        }
    }

    #[test]
    fn what_is_no_number_is_moved_and_its_units_turned_around() {
        let run = |from: ElementType, to: ElementType, src: &[u8]| {
            let mut dst = vec![0; src.len()];
            let size = from.size() as isize;
            // SAFETY: two elements on either side.
            unsafe {
                Transfer::new(from, to)
                    .unwrap()
                    .run(Run { src: src.as_ptr(), src_stride: size, dst: dst.as_mut_ptr(), dst_stride: size, n: 2 })
                    .unwrap()
            };
            dst
        };
        let (big, native) = (|t| ElementType::new(t, ByteOrder::Big), ElementType::native);
        assert_eq!(run(big(Bytes(3)), native(Bytes(3)), b"abcdef"), b"abcdef");
        let text = [0, 0, 0, 65, 0, 1, 0xf6, 0, 0, 0, 0, 66, 0, 0, 0, 0];
        assert_eq!(run(big(Text(2)), native(Text(2)), &text), [65, 0, 0, 0, 0, 0xf6, 1, 0, 66, 0, 0, 0, 0, 0, 0, 0]);
        let second = DateTime(crate::dtype::Unit::new("s", 1).unwrap());
        let counts = [0, 0, 0, 0, 0, 0, 1, 2, 0x80, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(run(big(second), native(Int64), &counts), [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80]);
        assert_eq!(Transfer::new(native(second), native(second)).unwrap().plain_copy(), Some(8));
        for (from, to) in [(Bytes(4), Int32), (second, Float64), (Int64, Text(2)), (Raw(4), Raw(5))] {
            assert_eq!(Transfer::new(native(from), native(to)).unwrap_err().kind(), ErrorKind::Type);
        }
        // A time and its count are the same 64 bits.
        assert_eq!(Transfer::new(native(Int64), native(second)).unwrap().plain_copy(), Some(8));
    }

    #[test]
    fn what_goes_past_the_caches_is_what_goes_through_them() {
        const COUNT: usize = 2500;
        // 200 does not fit into int8.
        let bytes: Vec<u8> = (0..COUNT).map(|i| if i == 1500 { 200 } else { (i % 100) as u8 }).collect();
        let convert = |transfer: &Transfer, src: &[u8], dst: &mut [u8]| {
            let [from, to] = [transfer.from(), transfer.to()].map(|e| e.size() as isize);
            // SAFETY: as many elements on both sides.
            let done =
                unsafe { transfer.run(Run { src: src.as_ptr(), src_stride: from, dst: dst.as_mut_ptr(), dst_stride: to, n: COUNT }) };
            transfer.settle();
            done
        };
        for from in [UInt8, Int32, Float64] {
            let native = ElementType::native;
            let mut src = vec![0; COUNT * from.size()];
            convert(&Transfer::new(native(UInt8), native(from)).unwrap(), &bytes, &mut src).unwrap();
            for to in [Int8, UInt16, Int64, Float16, Float32, Float64, Complex128] {
                let transfer = Transfer::new(native(from), native(to)).unwrap();
                let mut through = vec![0; COUNT * to.size()];
                let done = convert(&transfer, &src, &mut through);
                let same = done.err().unwrap_or(COUNT) * to.size();
                for offset in [0, 1, 2, 8, 24, 63] {
                    let mut room = vec![0; through.len() + 128];
                    let first = room.as_ptr().align_offset(64) + offset;
                    assert_eq!(convert(&transfer.clone().streaming(), &src, &mut room[first..][..through.len()]), done, "{from:?} {to:?}");
                    assert!(room[first..][..same] == through[..same], "{from:?} to {to:?} at {offset}");
                    assert!(room[..first].iter().chain(&room[first + through.len()..]).all(|b| *b == 0), "{from:?} to {to:?} at {offset}");
                }
            }
        }
    }
}
