//! Numbers that are stored in another form than they mean: packed by a scale and an offset, with values that stand for "missing", or
//! counts of time since some moment. Both are undone, and done, in the pass that converts the elements.
//!
//! Packed: value = stored · scale + offset, computed as doubles and rounded once to the type in memory; a missing value is NaN.
//! Times: count = (stored · num + add) / den, exact for integers (rounded down) and to the nearest for real numbers; missing is the
//! least integer of 64 bits, numpy's "not a time". A time is stored only where it comes back: others would lose time.

use super::run::{self, Run};
use super::transfer::Transfer;
use super::{DataType, Element, ElementType, Kind, Overflow};
use crate::error::{Result, bail};

/// Elements of a block.
const BLOCK: usize = 256;
/// "Not a time".
pub const NOT_A_TIME: i64 = i64::MIN;

/// What stored numbers mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Coding {
    /// Elements of the stored type, in this host's byte order, that stand for "missing"; the first is what is written for it.
    pub missing: Vec<Element>,
    /// Stored integers with a sign mean those without one that have the same bits, and the other way round (`_Unsigned`).
    pub other_sign: bool,
    /// What is made of the others.
    pub rule: Rule,
}

/// What is made of a stored number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// stored · scale + offset, a real number.
    Scale {
        /// `scale_factor`.
        scale: f64,
        /// `add_offset`.
        offset: f64,
    },
    /// (stored · num + add) / den, a count of 64 bits.
    Time {
        /// The unit of the stored counts, in parts.
        num: i128,
        /// The moment of the stored count 0, in parts.
        add: i128,
        /// The unit in memory, in parts.
        den: i128,
    },
}

/// Which way the elements go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From stored elements to memory, undoing the coding.
    Decode,
    /// From memory to stored elements, doing the coding.
    Encode,
}

/// A conversion that undoes or does a coding.
#[derive(Clone, Debug)]
pub(super) struct Coded {
    coding: Coding,
    way: Way,
    /// The stored elements' type.
    stored: ElementType,
    /// Between the outside on the left and what the rule works on: stored elements in native order (decoding), memory (encoding).
    first: Transfer,
    /// Stored elements (native ones, decoding) to doubles or counts.
    wide: Transfer,
    /// To the outside on the right.
    last: Transfer,
}

/// Memory for one block of numbers of up to 8 bytes.
type Scratch = run::Scratch<{ BLOCK * 8 }>;

impl Coded {
    /// The conversion between stored elements and memory.
    pub fn new(way: Way, stored: ElementType, memory: ElementType, coding: &Coding, overflow: Overflow) -> Result<Coded> {
        let stored = meant(stored, coding.other_sign);
        let native = ElementType::native(stored.data_type);
        let (middle, memory) = middle(native, memory, coding)?;
        // Real counts of time are computed with as doubles.
        let wide = if is_real(native) { ElementType::native(DataType::Float64) } else { middle };
        let [first, widened, last] = match way {
            Way::Decode => [(stored, native), (native, wide), (middle, memory)],
            Way::Encode => [(memory, middle), (stored, wide), (wide, stored)],
        };
        let made = |(from, to)| Transfer::new(from, to);
        let (first, wide, last) = (made(first)?, made(widened)?, made(last)?.with_overflow(overflow));
        Ok(Coded { coding: coding.clone(), way, stored, first, wide, last })
    }

    /// Converts a run of elements.
    ///
    /// # Safety
    /// As for [`Transfer::run`].
    pub unsafe fn run(&self, run: Run) -> std::result::Result<(), usize> {
        let (mut a, mut b) = (Scratch::new(), Scratch::new());
        run.blocks(BLOCK, |block| {
            // SAFETY: elements among those that the caller vouches for.
            unsafe {
                match self.way {
                    Way::Decode => self.decode(block, a.at(), b.at()),
                    Way::Encode => self.encode(block, a.at(), b.at()),
                }
            }
        })
    }

    /// # Safety
    /// As for [`Transfer::run`], for up to [`BLOCK`] elements; `a` and `b` have room for as many of 8 bytes, aligned.
    unsafe fn decode(&self, run: Run, a: *mut u8, b: *mut u8) -> std::result::Result<(), usize> {
        let (size, n) = (self.stored.size(), run.n);
        // SAFETY: the caller vouches for both sides and for the scratch memory; every byte of it is written before it is read.
        unsafe {
            self.first.run(run.gathered(a, size))?;
            self.widen(Run { src: a, src_stride: size as isize, dst: b, dst_stride: 8, n })?;
            match self.coding.rule {
                Rule::Scale { scale, offset } => {
                    let values = std::slice::from_raw_parts_mut(b.cast::<f64>(), n);
                    if (scale, offset) != (1.0, 0.0) {
                        values.iter_mut().for_each(|v| *v = *v * scale + offset);
                    }
                    self.mark(a, n, |i| values[i] = f64::NAN);
                }
                Rule::Time { num, add, den } => {
                    let counts = b.cast::<i64>();
                    for i in 0..n {
                        let count = match is_real(self.stored) {
                            true => real_count(b.cast::<f64>().add(i).read(), num, add, den),
                            false => count_of(counts.add(i).read(), num, add, den),
                        };
                        let Some(count) = count.or_else(|| self.is_missing(a.add(i * size)).then_some(NOT_A_TIME)) else { return Err(i) };
                        counts.add(i).write(count);
                    }
                    self.mark(a, n, |i| counts.add(i).write(NOT_A_TIME));
                }
            }
            self.last.run(run.scattered(b, 8))
        }
    }

    /// Makes doubles or counts of native stored elements. One that is missing may be anything.
    ///
    /// # Safety
    /// As for [`Transfer::run`], with elements of 8 bytes, aligned, on the right.
    unsafe fn widen(&self, run: Run) -> std::result::Result<(), usize> {
        let mut at = 0;
        // SAFETY: elements among those that the caller vouches for.
        unsafe {
            while let Err(i) = self.wide.run(run.part(at, run.n - at)) {
                at += i;
                if !self.is_missing(run.src_at(at)) {
                    return Err(at);
                }
                run.dst_at(at).cast::<i64>().write(NOT_A_TIME);
                at += 1;
            }
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Coded::decode`].
    unsafe fn encode(&self, run: Run, a: *mut u8, b: *mut u8) -> std::result::Result<(), usize> {
        let (n, mut gone) = (run.n, [false; BLOCK]);
        let real = is_real(self.stored);
        // SAFETY: the caller vouches for both sides and for the scratch memory; every byte of it is written before it is read.
        unsafe {
            self.first.run(run.gathered(a, 8))?;
            match self.coding.rule {
                Rule::Scale { scale, offset } => {
                    let values = std::slice::from_raw_parts_mut(a.cast::<f64>(), n);
                    for (value, gone) in values.iter_mut().zip(&mut gone) {
                        *gone = value.is_nan();
                        *value = (*value - offset) / scale;
                        if !real {
                            *value = if *gone { 0.0 } else { value.round_ties_even() };
                        }
                    }
                }
                Rule::Time { num, add, den } => {
                    for (i, gone) in gone.iter_mut().enumerate().take(n) {
                        let count = a.cast::<i64>().add(i).read();
                        *gone = count == NOT_A_TIME;
                        let parts = if *gone { Some(0) } else { i128::from(count).checked_mul(den).and_then(|p| p.checked_sub(add)) };
                        let parts = parts.ok_or(i)?;
                        if real {
                            let value = (parts / num) as f64 + (parts % num) as f64 / num as f64;
                            a.cast::<f64>().add(i).write(if *gone { f64::NAN } else { value });
                        } else {
                            // Stored counts are whole.
                            let stored = Some(parts).filter(|p| p % num == 0).and_then(|p| i64::try_from(p / num).ok());
                            a.cast::<i64>().add(i).write(stored.ok_or(i)?);
                        }
                    }
                }
            }
            self.last.run(run.scattered(a, 8))?;
            if let Rule::Time { num, add, den } = self.coding.rule
                && real
            {
                // What was stored, as doubles, and the counts once more.
                let (values, counts) = (a.cast::<f64>(), b.cast::<i64>());
                self.wide.run(Run { src: run.dst, src_stride: run.dst_stride, dst: a, dst_stride: 8, n })?;
                self.first.run(run.gathered(b, 8))?;
                let comes_back = |i: usize| real_count(values.add(i).read(), num, add, den) == Some(counts.add(i).read());
                (0..n).find(|i| !comes_back(*i)).map_or(Ok(()), Err)?;
            }
            if matches!(self.coding.rule, Rule::Time { .. }) {
                (0..n).find(|i| !gone[*i] && self.is_missing_in(run.dst_at(*i))).map_or(Ok(()), Err)?;
            }
            let Some(any) = gone[..n].iter().position(|gone| *gone) else { return Ok(()) };
            let Some(missing) = self.coding.missing.first() else { return if real { Ok(()) } else { Err(any) } };
            let mut bytes = missing.clone();
            if self.stored.swapped() {
                bytes.reverse();
            }
            for i in (any..n).filter(|i| gone[*i]) {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), run.dst_at(i), bytes.len());
            }
        }
        Ok(())
    }

    /// Calls `set` with the numbers of the stored elements (native, dense) that are missing.
    ///
    /// # Safety
    /// `n` stored elements at `a`.
    unsafe fn mark(&self, a: *const u8, n: usize, mut set: impl FnMut(usize)) {
        for missing in &self.coding.missing {
            // SAFETY: the caller's promise; the scratch memory is aligned.
            unsafe {
                match missing.len() {
                    1 => equal::<u8>(a, n, missing, &mut set),
                    2 => equal::<u16>(a, n, missing, &mut set),
                    4 => equal::<u32>(a, n, missing, &mut set),
                    8 => equal::<u64>(a, n, missing, &mut set),
                    _ => {}
                }
            }
        }
    }

    /// # Safety
    /// One stored element at `a`, in this host's byte order.
    unsafe fn is_missing(&self, a: *const u8) -> bool {
        // SAFETY: the caller's promise.
        let element = unsafe { std::slice::from_raw_parts(a, self.stored.size()) };
        self.coding.missing.iter().any(|m| m.as_slice() == element)
    }

    /// # Safety
    /// One stored element at `at`, in the order in which it is stored.
    unsafe fn is_missing_in(&self, at: *const u8) -> bool {
        // SAFETY: the caller's promise.
        let element = unsafe { std::slice::from_raw_parts(at, self.stored.size()) };
        let swapped = self.stored.swapped();
        self.coding.missing.iter().any(|m| if swapped { m.iter().rev().eq(element) } else { m.as_slice() == element })
    }

    /// Why the element at `src` does not fit.
    ///
    /// # Safety
    /// One element of the source's type is readable at `src`.
    pub unsafe fn explain(&self, src: *const u8) -> String {
        // SAFETY: the caller's promise, of one element of the type that comes first.
        let what = unsafe { self.first.shown(src) };
        let stored = self.stored.data_type.name();
        match (self.way, self.coding.rule) {
            (Way::Decode, _) => format!("{what}, which as a decoded number does not fit into the type in memory"),
            (Way::Encode, Rule::Scale { scale, offset }) if what == "NaN" && self.coding.missing.is_empty() => {
                format!("{what}, and the array has no value for \"missing\" (scale_factor {scale}, add_offset {offset}, {stored})")
            }
            (Way::Encode, Rule::Scale { scale, offset }) => {
                format!("{what}, which packed by scale_factor {scale} and add_offset {offset} does not fit into {stored}")
            }
            (Way::Encode, Rule::Time { .. }) if self.coding.missing.is_empty() && what == NOT_A_TIME.to_string() => {
                format!("{what}, a missing time, and the array has no missing value: give it the attribute _FillValue ({stored})")
            }
            (Way::Encode, Rule::Time { .. }) => {
                format!("{what}, no count of the array's unit that {stored} holds and that does not mean \"missing\"")
            }
        }
    }
}

/// What the rule works on, and the type in memory, checked.
fn middle(stored: ElementType, memory: ElementType, coding: &Coding) -> Result<(ElementType, ElementType)> {
    let kind = stored.data_type.kind();
    if !matches!(kind, Kind::Int | Kind::UInt | Kind::Float | Kind::Bool) && kind != Kind::Time || stored.size() > 8 {
        bail!(Type, "{} is no real number, and cannot be decoded", stored.data_type.name());
    }
    if coding.missing.iter().any(|m| m.len() != stored.size()) {
        bail!(Type, "a missing value is not of the type {}", stored.data_type.name());
    }
    match coding.rule {
        Rule::Scale { .. } if memory.data_type.kind() == Kind::Float => Ok((ElementType::native(DataType::Float64), memory)),
        Rule::Scale { .. } => {
            bail!(Type, "decoded numbers are floating-point numbers, and missing ones are NaN; found {} in memory", memory.data_type.name())
        }
        Rule::Time { .. } if memory.data_type == DataType::Int64 => Ok((memory, memory)),
        Rule::Time { .. } => bail!(Type, "counts of time are int64; found {} in memory", memory.data_type.name()),
    }
}

/// The type that stored elements are taken as.
fn meant(stored: ElementType, other_sign: bool) -> ElementType {
    if other_sign { ElementType { data_type: of_other_sign(stored.data_type), ..stored } } else { stored }
}

/// Returns the integers of the same size with a sign for those without one, and the other way round; any other type as it is.
pub fn of_other_sign(data_type: DataType) -> DataType {
    use DataType::*;
    match data_type.in_memory() {
        Int8 => UInt8,
        Int16 => UInt16,
        Int32 => UInt32,
        Int64 => UInt64,
        UInt8 => Int8,
        UInt16 => Int16,
        UInt32 => Int32,
        UInt64 => Int64,
        other => other,
    }
}

fn is_real(element: ElementType) -> bool {
    element.data_type.kind() == Kind::Float
}

fn count_of(stored: i64, num: i128, add: i128, den: i128) -> Option<i64> {
    let count = i128::from(stored).checked_mul(num)?.checked_add(add)?.div_euclid(den);
    i64::try_from(count).ok().filter(|c| *c != NOT_A_TIME)
}

fn real_count(stored: f64, num: i128, add: i128, den: i128) -> Option<i64> {
    if stored.is_nan() {
        return Some(NOT_A_TIME);
    }
    // What is left of the whole counts keeps its digits.
    let (whole, part) = (stored.trunc(), stored.fract());
    if whole.abs() >= 9.2e18 {
        return None;
    }
    let scaled = (whole as i128).checked_mul(num)?.checked_add(add)?;
    let rest = scaled.rem_euclid(den) as f64 + part * num as f64;
    let count = scaled.div_euclid(den).checked_add((rest / den as f64).round_ties_even() as i128)?;
    i64::try_from(count).ok().filter(|c| *c != NOT_A_TIME)
}

/// # Safety
/// `n` aligned numbers at `a`.
unsafe fn equal<T: Copy + PartialEq>(a: *const u8, n: usize, missing: &[u8], set: &mut impl FnMut(usize)) {
    // SAFETY: the caller's promise; `missing` has the bytes of one `T`.
    let (all, wanted) = unsafe { (std::slice::from_raw_parts(a.cast::<T>(), n), missing.as_ptr().cast::<T>().read_unaligned()) };
    all.iter().enumerate().filter(|(_, v)| **v == wanted).for_each(|(i, _)| set(i));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::ByteOrder;

    fn scaled(missing: &[&[u8]], scale: f64, offset: f64) -> Coding {
        let missing = missing.iter().map(|m| Element::from_slice(m)).collect();
        Coding { missing, other_sign: false, rule: Rule::Scale { scale, offset } }
    }

    fn times(missing: &[&[u8]], num: i128, den: i128, add: i128) -> Coding {
        Coding { rule: Rule::Time { num, add, den }, ..scaled(missing, 1.0, 0.0) }
    }

    /// Decodes stored bytes to doubles (or counts, as their bits).
    fn decode(stored: ElementType, coding: &Coding, bytes: &[u8], memory: DataType) -> std::result::Result<Vec<u64>, usize> {
        let n = bytes.len() / stored.size();
        let mut out = vec![0u64; n];
        let coded = Coded::new(Way::Decode, stored, ElementType::native(memory), coding, Overflow::Error).unwrap();
        // SAFETY: both sides have n elements.
        unsafe {
            coded.run(Run { src: bytes.as_ptr(), src_stride: stored.size() as isize, dst: out.as_mut_ptr().cast(), dst_stride: 8, n })
        }
        .map(|()| out)
    }

    #[test]
    fn packed_numbers_become_real_ones_and_back_in_any_order_and_type() {
        let values: Vec<i16> = (-300..300).collect();
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let stored = ElementType::new(DataType::Int16, order);
            let bytes: Vec<u8> =
                values.iter().flat_map(|v| if order == ByteOrder::Big { v.to_be_bytes() } else { v.to_le_bytes() }).collect();
            let coding = scaled(&[&(-99i16).to_ne_bytes(), &7i16.to_ne_bytes()], 0.5, 10.0);
            let got = decode(stored, &coding, &bytes, DataType::Float64).unwrap();
            for (v, got) in values.iter().zip(&got) {
                let got = f64::from_bits(*got);
                let missing = [-99, 7].contains(v);
                assert!(if missing { got.is_nan() } else { got == f64::from(*v) * 0.5 + 10.0 }, "{v}: {got}");
            }
            let coded = Coded::new(Way::Encode, stored, ElementType::native(DataType::Float64), &coding, Overflow::Error).unwrap();
            let mut back = vec![0u8; bytes.len()];
            // SAFETY: both sides have as many elements.
            unsafe { coded.run(Run { src: got.as_ptr().cast(), src_stride: 8, dst: back.as_mut_ptr(), dst_stride: 2, n: values.len() }) }
                .unwrap();
            for (i, v) in values.iter().enumerate() {
                let want = if *v == 7 { -99 } else { *v };
                assert_eq!(back[2 * i..2 * i + 2], if order == ByteOrder::Big { want.to_be_bytes() } else { want.to_le_bytes() });
            }
        }
    }

    #[test]
    fn what_cannot_be_packed_is_named_by_its_place() {
        let stored = ElementType::native(DataType::Int8);
        let run = |coding: &Coding, values: &[f64]| {
            let coded = Coded::new(Way::Encode, stored, ElementType::native(DataType::Float64), coding, Overflow::Error).unwrap();
            let mut out = vec![0u8; values.len()];
            // SAFETY: both sides have as many elements.
            let done = unsafe {
                coded.run(Run { src: values.as_ptr().cast(), src_stride: 8, dst: out.as_mut_ptr(), dst_stride: 1, n: values.len() })
            };
            // SAFETY: an element of the values.
            (done, out, done.err().map(|i| unsafe { coded.explain(values[i..].as_ptr().cast()) }))
        };
        let none = scaled(&[], 0.1, 0.0);
        assert_eq!(run(&none, &[0.1, -0.24, 12.7]).1, [1, 254, 127]);
        let (done, _, why) = run(&none, &[0.0, 20.0]);
        assert_eq!((done, why.unwrap().contains("scale_factor 0.1")), (Err(1), true));
        let (done, _, why) = run(&none, &[0.0, 1.0, f64::NAN]);
        assert_eq!((done, why.unwrap().contains("no value for \"missing\"")), (Err(2), true));
        assert_eq!(run(&scaled(&[&[0x80]], 0.1, 0.0), &[f64::NAN, 1.0]).1, [0x80, 10]);
    }

    #[test]
    fn integers_of_64_bits_are_compared_exactly_and_signs_can_be_dropped() {
        let big = (1i64 << 53) + 1;
        let bytes: Vec<u8> = [big, big - 1].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let got =
            decode(ElementType::native(DataType::Int64), &scaled(&[&big.to_ne_bytes()], 1.0, 0.0), &bytes, DataType::Float64).unwrap();
        assert!(f64::from_bits(got[0]).is_nan() && f64::from_bits(got[1]) == (big - 1) as f64);
        let other_sign = Coding { other_sign: true, ..scaled(&[&[0xff]], 1.0, 0.0) };
        let got = decode(ElementType::native(DataType::Int8), &other_sign, &[0xff, 0xfe, 3], DataType::Float64).unwrap();
        assert!(f64::from_bits(got[0]).is_nan());
        assert_eq!(got[1..].iter().map(|g| f64::from_bits(*g)).collect::<Vec<_>>(), [254.0, 3.0]);
    }

    #[test]
    fn times_are_exact_and_missing_ones_are_none() {
        let hours: Vec<u8> = [0i32, 25, -1, -9].iter().flat_map(|v| v.to_be_bytes()).collect();
        let stored = ElementType::new(DataType::Int32, ByteOrder::Big);
        let got = decode(stored, &times(&[&(-9i32).to_ne_bytes()], 3600, 1, 100), &hours, DataType::Int64).unwrap();
        assert_eq!(got.iter().map(|g| *g as i64).collect::<Vec<_>>(), [100, 90_100, -3500, NOT_A_TIME]);
        // Days of hours: rounded down.
        let got = decode(stored, &times(&[], 1, 24, 0), &hours, DataType::Int64).unwrap();
        assert_eq!(got.iter().map(|g| *g as i64).collect::<Vec<_>>(), [0, 1, -1, -1]);
        let real: Vec<u8> = [0.5f64, f64::NAN, -0.25, 100_000.000_000_1].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let got = decode(ElementType::native(DataType::Float64), &times(&[], 86_400_000_000, 1, 0), &real, DataType::Int64).unwrap();
        let got: Vec<i64> = got.iter().map(|g| *g as i64).collect();
        assert_eq!(got[..3], [43_200_000_000, NOT_A_TIME, -21_600_000_000]);
        assert!((got[3] - 8_640_000_000_008_640).abs() <= 1, "{}", got[3]);
        assert_eq!(
            decode(ElementType::native(DataType::Int64), &times(&[], 1 << 40, 1, 0), &i64::MAX.to_ne_bytes(), DataType::Int64),
            Err(0)
        );
        // A missing value that no count of 64 bits is.
        let (most, missing): ([u8; 8], Coding) = (u64::MAX.to_ne_bytes(), times(&[&u64::MAX.to_ne_bytes()], 60, 1, 0));
        let counts: Vec<u8> = [most, 5u64.to_ne_bytes(), most, most, 7u64.to_ne_bytes()].concat();
        let unsigned = ElementType::native(DataType::UInt64);
        let got = decode(unsigned, &missing, &counts, DataType::Int64).unwrap();
        assert_eq!(got.iter().map(|g| *g as i64).collect::<Vec<_>>(), [NOT_A_TIME, 300, NOT_A_TIME, NOT_A_TIME, 420]);
        let other = [most, (u64::MAX - 1).to_ne_bytes()].concat();
        assert_eq!(decode(unsigned, &missing, &other, DataType::Int64), Err(1));
        assert_eq!(decode(unsigned, &times(&[], 60, 1, 0), &counts, DataType::Int64), Err(0));
    }

    #[test]
    fn counts_that_the_stored_unit_does_not_have_are_refused() {
        let stored = ElementType::native(DataType::Int16);
        let coded =
            Coded::new(Way::Encode, stored, ElementType::native(DataType::Int64), &times(&[&[1, 2]], 3600, 1, 0), Overflow::Error).unwrap();
        let run = |values: &[i64]| {
            let mut out = vec![0i16; values.len()];
            // SAFETY: both sides have as many elements.
            let done = unsafe {
                coded.run(Run { src: values.as_ptr().cast(), src_stride: 8, dst: out.as_mut_ptr().cast(), dst_stride: 2, n: values.len() })
            };
            done.map(|()| out)
        };
        assert_eq!(run(&[7200, -3600, NOT_A_TIME]), Ok(vec![2, -1, i16::from_ne_bytes([1, 2])]));
        assert_eq!((run(&[0, 1800]), run(&[3600 << 20])), (Err(1), Err(0)));
    }

    /// The bytes of times in the stored type, or the number of the first that it does not hold.
    fn encoded(coded: &Coded, stored: DataType, values: &[i64]) -> std::result::Result<Vec<u8>, usize> {
        let mut out = vec![0u8; values.len() * stored.size()];
        let dst_stride = stored.size() as isize;
        // SAFETY: both sides have as many elements.
        let done =
            unsafe { coded.run(Run { src: values.as_ptr().cast(), src_stride: 8, dst: out.as_mut_ptr(), dst_stride, n: values.len() }) };
        done.map(|()| out)
    }

    #[test]
    fn a_time_that_would_be_read_as_missing_is_refused() {
        for (t, missing, good, bad) in [
            (DataType::Int32, 0i32.to_ne_bytes().to_vec(), &[3600, -3600, NOT_A_TIME][..], 0),
            (DataType::Int64, (-999i64).to_ne_bytes().to_vec(), &[0, 3600, NOT_A_TIME], -999 * 3600),
            (DataType::Float32, 2f32.to_ne_bytes().to_vec(), &[0, 3600, NOT_A_TIME], 7200),
            (DataType::Float64, (-9f64).to_ne_bytes().to_vec(), &[1800, NOT_A_TIME], -9 * 3600),
        ] {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let (stored, coding) = (ElementType::new(t, order), times(&[&missing], 3600, 1, 0));
                let coded = Coded::new(Way::Encode, stored, ElementType::native(DataType::Int64), &coding, Overflow::Error).unwrap();
                let run = |values: &[i64]| encoded(&coded, t, values);
                let back = decode(stored, &coding, &run(good).unwrap(), DataType::Int64).unwrap();
                assert_eq!(back.iter().map(|count| *count as i64).collect::<Vec<_>>(), good, "{t:?}");
                assert_eq!(run(&[good[0], bad, good[1]]), Err(1), "{t:?} {bad}");
                // SAFETY: one element of the source's type.
                let why = unsafe { coded.explain((&raw const bad).cast()) };
                assert!(why.contains("\"missing\""), "{why}");
            }
        }
    }

    #[test]
    fn times_that_real_counts_round_are_refused() {
        let days = |num: i128| times(&[], num, 1, 0);
        for (t, order, coding, good, bad) in [
            (DataType::Float32, ByteOrder::Little, times(&[], 1, 1, 0), &[0, 1_700_000_000, NOT_A_TIME][..], &[1_700_000_001][..]),
            (DataType::Float32, ByteOrder::Big, times(&[], 1, 1, 0), &[-(1 << 24)], &[(1 << 24) + 1]),
            (DataType::Float64, ByteOrder::Big, times(&[], 1, 1, 0), &[1 << 53], &[(1 << 53) + 1]),
            // Days of seconds and of milliseconds: doubles have them all, singles have not.
            (DataType::Float64, ByteOrder::Little, days(86_400), &[43_200, 1_700_000_001, -7], &[]),
            (DataType::Float64, ByteOrder::Little, days(86_400_000), &[1_700_000_000_001, -62_135_596_799_999], &[]),
            (DataType::Float32, ByteOrder::Little, days(86_400), &[43_200, NOT_A_TIME], &[1_700_000_001]),
        ] {
            let stored = ElementType::new(t, order);
            let coded = Coded::new(Way::Encode, stored, ElementType::native(DataType::Int64), &coding, Overflow::Error).unwrap();
            let run = |values: &[i64]| encoded(&coded, t, values);
            let back = decode(stored, &coding, &run(good).unwrap(), DataType::Int64).unwrap();
            assert_eq!(back.iter().map(|count| *count as i64).collect::<Vec<_>>(), good, "{t:?}");
            bad.iter().for_each(|count| assert_eq!(run(&[0, *count]), Err(1), "{t:?} {count}"));
        }
    }
}
