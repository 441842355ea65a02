//! Structs to structs: field by field, by name, over blocks of elements, so that each field uses the kernel of its types.
//!
//! Either struct may have fields that the other lacks; what nothing goes to keeps its bytes. Two structs of the same fields in the
//! same order are paired by place, padding included.

use super::run::Run;
use super::transfer::Transfer;
use super::{DataType, Field, Overflow, Struct};
use crate::error::{Result, bail};
use crate::sort::sort_by;

/// Bytes of a block on both sides together: what stays in the first-level cache.
const BLOCK_BYTES: usize = 16 << 10;

/// The moves that make one struct of another.
#[derive(Debug)]
pub(super) struct Fields {
    moves: Vec<Move>,
    block: usize,
    partial: bool,
}

/// `count` values, `src` and `dst` bytes into the element.
#[derive(Debug)]
struct Move {
    name: &'static str,
    src: usize,
    dst: usize,
    count: usize,
    transfer: Transfer,
}

impl Fields {
    /// How elements of `from` become elements of `to`. `Type` where both have fields that the other lacks, where the types of a field
    /// cannot be converted, or where two fields go to one place (`v` and `v[1]`).
    pub fn new(from: &'static Struct, to: &'static Struct) -> Result<Fields> {
        let mut moves = Vec::new();
        for (name, f, t) in pairs(from, to)? {
            if f.count() != t.count() || (f.shape != t.shape && f.shape.len() > 1 && t.shape.len() > 1) {
                bail!(Type, "the field {name:?} has the shape {:?} on one side and {:?} on the other", f.shape, t.shape);
            }
            let transfer = Transfer::new(f.element, t.element).map_err(|e| e.at_field(name))?;
            moves.push(Move { name, src: f.offset, dst: t.offset, count: f.count(), transfer });
        }
        let mut places: Vec<_> = moves.iter().map(|m| (m.dst, m.count * m.transfer.to().size(), m.name)).collect();
        sort_by(&mut places, Ord::cmp);
        if let Some(w) = places.windows(2).find(|w| w[0].0 + w[0].1 > w[1].0) {
            bail!(Type, "the fields {:?} and {:?} go to the same bytes", w[0].2, w[1].2);
        }
        let written: usize = places.iter().map(|(_, size, _)| size).sum();
        let partial = written < to.size() || moves.iter().any(|m| m.transfer.is_partial());
        let block = (BLOCK_BYTES / (from.size() + to.size())).clamp(16, 1024);
        Ok(Fields { moves: joined(moves), block, partial })
    }

    /// Returns these moves under the policy `overflow`.
    pub fn with_overflow(&self, overflow: Overflow) -> Fields {
        let moves = self.moves.iter().map(|m| Move { transfer: m.transfer.clone().with_overflow(overflow), ..*m });
        Fields { moves: moves.collect(), block: self.block, partial: self.partial }
    }

    /// Whether some bytes of the destination are left as they are.
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// Whether all of one element is copied as it is to all of another.
    pub fn is_copy(&self, from: &Struct, to: &Struct) -> bool {
        matches!(self.moves.as_slice(), [m] if m.bytes() == Some(from.size()) && from.size() == to.size())
    }

    /// Which field of the element at `src` does not fit, and why.
    ///
    /// # Safety
    /// As for [`Transfer::explain`].
    pub unsafe fn explain(&self, src: *const u8) -> String {
        for m in &self.moves {
            let (size, mut scratch) = (m.transfer.from().size(), vec![0u8; m.transfer.to().size()]);
            for j in 0..m.count {
                let value = src.wrapping_add(m.src + j * size);
                // SAFETY: value j of the field; the scratch has room for one.
                unsafe {
                    if m.transfer.run(Run::one(value, scratch.as_mut_ptr())).is_err() {
                        return format!("field {:?}: {}", m.name, m.transfer.explain(value));
                    }
                }
            }
        }
        "a field does not fit".into()
    }

    /// Converts a run of elements.
    ///
    /// # Safety
    /// As for [`Transfer::run`].
    pub unsafe fn run(&self, run: Run) -> std::result::Result<(), usize> {
        run.blocks(self.block, |block| {
            let mut good = block.n;
            for m in &self.moves {
                // SAFETY: the first `good` elements of the block are among those that the caller vouches for.
                good = unsafe { m.run(Run { n: good, ..block }) };
            }
            if good < block.n { Err(good) } else { Ok(()) }
        })
    }
}

impl Move {
    /// The bytes of a field that is copied as it is.
    fn bytes(&self) -> Option<usize> {
        self.transfer.plain_copy().map(|size| size * self.count)
    }

    /// Moves the field of the elements of a run; returns the number of elements before the first that does not fit.
    ///
    /// # Safety
    /// As for [`Fields::run`].
    unsafe fn run(&self, run: Run) -> usize {
        let run = Run { src: run.src.wrapping_add(self.src), dst: run.dst.wrapping_add(self.dst), ..run };
        let (from, to) = (self.transfer.from().size(), self.transfer.to().size());
        if self.count < run.n {
            let mut good = run.n;
            for j in 0..self.count {
                let value = Run { src: run.src.wrapping_add(j * from), dst: run.dst.wrapping_add(j * to), n: good, ..run };
                // SAFETY: value j of the field, in elements that the caller vouches for.
                good = unsafe { self.transfer.run(value) }.err().unwrap_or(good);
            }
            return good;
        }
        for i in 0..run.n {
            let (src, dst) = (run.src_at(i), run.dst_at(i));
            let values = Run { src, src_stride: from as isize, dst, dst_stride: to as isize, n: self.count };
            // SAFETY: all values of the field in element i.
            if unsafe { self.transfer.run(values) }.is_err() {
                return i;
            }
        }
        run.n
    }
}

/// The fields that belong together, with the name of both. Either may be a part of a field of the other struct (`v[1]` of `v`).
fn pairs(from: &'static Struct, to: &'static Struct) -> Result<Vec<(&'static str, Field, Field)>> {
    let (a, b) = (from.fields(), to.fields());
    let alike = |(f, t): (&Field, &Field)| f.name == t.name && (!f.name.is_empty() || f.size() == t.size());
    if a.len() == b.len() && a.iter().zip(b).all(alike) {
        return Ok(a.iter().zip(b).map(|(f, t)| (f.name.as_str(), f.clone(), t.clone())).collect());
    }
    let lacks = |s: &'static Struct, other: &Struct| s.fields().iter().find(|f| !f.name.is_empty() && other.part(&f.name).is_none());
    if let (Some(f), Some(t)) = (lacks(from, to), lacks(to, from)) {
        bail!(Type, "one struct has no field {:?}, the other has no field {:?}", t.name, f.name);
    }
    let whole = b.iter().filter_map(|t| Some((t.name.as_str(), from.part(&t.name)?, t.clone())));
    let parts = a.iter().filter(|f| to.field(&f.name).is_none());
    let parts = parts.filter_map(|f| Some((f.name.as_str(), f.clone(), to.part(&f.name)?)));
    Ok(whole.chain(parts).collect())
}

/// Neighbours that are copied as they are become one copy.
fn joined(moves: Vec<Move>) -> Vec<Move> {
    let mut out: Vec<Move> = Vec::with_capacity(moves.len());
    for m in moves {
        if let (Some(last), Some(bytes)) = (out.last_mut(), m.bytes())
            && let Some(before) = last.bytes()
            && (last.src + before, last.dst + before) == (m.src, m.dst)
            && let Ok(size) = u32::try_from(before + bytes)
            && let Ok(transfer) = Transfer::new(DataType::Raw(size).into(), DataType::Raw(size).into())
        {
            *last = Move { count: 1, transfer, ..*last };
            continue;
        }
        out.push(m);
    }
    out
}

/// Checks that every field of a struct in memory is there in the array's.
pub fn check_memory(memory: DataType, file: DataType) -> Result<()> {
    let (DataType::Struct(memory), DataType::Struct(file)) = (memory, file) else { return Ok(()) };
    for f in memory.fields().iter().filter(|f| !f.name.is_empty()) {
        let Some(stored) = file.part(&f.name) else {
            let names: Vec<&str> = file.fields().iter().map(|f| f.name.as_str()).filter(|n| !n.is_empty()).take(20).collect();
            bail!(Type, "the array has no field {:?}; it has {}", f.name, names.join(", "));
        };
        check_memory(f.element.data_type, stored.element.data_type).map_err(|e| e.at_field(&f.name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::{ByteOrder, ElementType};
    use crate::error::ErrorKind;

    fn field(name: &str, offset: usize, data_type: DataType, order: ByteOrder, shape: &[u64]) -> Field {
        Field { name: name.into(), offset, element: ElementType::new(data_type, order), shape: shape.into() }
    }

    /// `x: >f8, id: <i2, v: >f4[3], n: {a: >i2, b: |S2}, pad`
    fn stored() -> &'static Struct {
        use DataType::{Bytes, Float32, Float64, Int16, Raw};
        let (little, big) = (ByteOrder::Little, ByteOrder::Big);
        let n = Struct::packed(vec![field("a", 0, Int16, big, &[]), field("b", 0, Bytes(2), little, &[])]).unwrap();
        Struct::packed(vec![
            field("x", 0, Float64, big, &[]),
            field("id", 0, Int16, little, &[]),
            field("v", 0, Float32, big, &[3]),
            field("n", 0, DataType::Struct(n), little, &[]),
            field("", 0, Raw(3), little, &[]),
        ])
        .unwrap()
    }

    fn element(i: usize) -> Vec<u8> {
        let v = [i as f32, i as f32 + 0.5, -1.0].map(f32::to_be_bytes).concat();
        let n = [&(i as i16).to_be_bytes()[..], b"ab"].concat();
        [&(i as f64).to_be_bytes()[..], &(-(i as i16)).to_le_bytes(), &v, &n, b"pad"].concat()
    }

    fn run(from: DataType, to: DataType, src: &[u8], n: usize, byte: u8) -> (std::result::Result<(), usize>, Vec<u8>) {
        let mut dst = vec![byte; to.size() * n];
        let transfer = Transfer::new(from.into(), to.into()).unwrap();
        // SAFETY: n contiguous elements on either side.
        let done = unsafe {
            transfer.run(Run {
                src: src.as_ptr(),
                src_stride: from.size() as isize,
                dst: dst.as_mut_ptr(),
                dst_stride: to.size() as isize,
                n,
            })
        };
        (done, dst)
    }

    #[test]
    fn fields_go_by_name_to_other_places_types_and_orders_and_gaps_stay() {
        let inner = Struct::new(vec![field("a", 4, DataType::Int64.native(), ByteOrder::Little, &[])], 12).unwrap();
        let memory = Struct::new(
            vec![
                field("v", 8, DataType::Float64, ByteOrder::Little, &[3]),
                field("n", 36, DataType::Struct(inner), ByteOrder::Little, &[]),
                field("x", 0, DataType::Float32, ByteOrder::Little, &[]),
            ],
            48,
        )
        .unwrap();
        let src: Vec<u8> = (0..1000).flat_map(element).collect();
        let (done, dst) = run(DataType::Struct(stored()), DataType::Struct(memory), &src, 1000, 0xa5);
        assert_eq!(done, Ok(()));
        for (i, e) in dst.chunks(48).enumerate() {
            assert_eq!(e[..4], (i as f32).to_le_bytes());
            assert_eq!(e[8..32], [i as f64, i as f64 + 0.5, -1.0].map(f64::to_le_bytes).concat());
            assert_eq!(e[40..48], (i as i64).to_le_bytes());
            assert!(e[4..8].iter().chain(&e[32..40]).all(|&b| b == 0xa5), "element {i}");
        }
        assert!(Transfer::new(DataType::Struct(stored()).into(), DataType::Struct(memory).into()).unwrap().is_partial());
    }

    #[test]
    fn parts_of_a_field_that_has_a_shape_go_by_their_index() {
        let (little, f64) = (ByteOrder::Little, DataType::Float64);
        let parts = |names: &[(&str, &[u64])]| {
            let fields = names.iter().map(|(name, shape)| field(name, 0, f64, little, shape)).collect();
            DataType::Struct(Struct::packed(fields).unwrap())
        };
        let file = DataType::Struct(stored());
        let src: Vec<u8> = (0..100).flat_map(element).collect();
        let some = parts(&[("v[1]", &[]), ("x", &[]), ("v[0]", &[])]);
        check_memory(some, file).unwrap();
        let (_, dst) = run(file, some, &src, 100, 0);
        for (i, e) in dst.chunks(24).enumerate() {
            assert_eq!(e, [i as f64 + 0.5, i as f64, i as f64].map(f64::to_le_bytes).concat(), "element {i}");
        }
        // The other way nothing else is touched.
        let (_, back) = run(some, file, &dst, 100, 0x5a);
        for (b, s) in back.chunks(29).zip(src.chunks(29)) {
            assert_eq!((&b[..8], &b[10..18]), (&s[..8], &s[10..18]));
            assert!(b[8..10].iter().chain(&b[18..]).all(|&byte| byte == 0x5a));
        }
        assert!(Transfer::new(some.into(), file.into()).unwrap().is_partial());
        // Rows and values of more dimensions.
        let matrix = DataType::Struct(Struct::packed(vec![field("m", 0, f64, little, &[2, 3])]).unwrap());
        let six: Vec<u8> = (0..6).flat_map(|i| f64::from(i).to_le_bytes()).collect();
        for (name, shape, want) in [("m[1]", &[3u64][..], &[3.0, 4.0, 5.0][..]), ("m[1,2]", &[], &[5.0]), ("m[0,1]", &[], &[1.0])] {
            let want: Vec<u8> = want.iter().flat_map(|v: &f64| v.to_le_bytes()).collect();
            assert_eq!(run(matrix, parts(&[(name, shape)]), &six, 1, 0).1, want, "{name}");
        }
        for none in ["v[3]", "v[-1]", "v[]", "v[0,0]", "v[0", "x[0]", "[0]", "w[0]", "v[18446744073709551616]"] {
            assert_eq!(check_memory(parts(&[(none, &[])]), file).unwrap_err().kind(), ErrorKind::Type, "{none}");
        }
        // One place is written once.
        let twice = Transfer::new(parts(&[("v", &[3]), ("v[1]", &[])]).into(), file.into()).unwrap_err();
        assert!(twice.message().contains("\"v\" and \"v[1]\""), "{twice}");
    }

    #[test]
    fn the_same_fields_in_other_orders_keep_their_padding() {
        let native = DataType::Struct(stored()).native();
        let src: Vec<u8> = (0..3).flat_map(element).collect();
        let (_, there) = run(DataType::Struct(stored()), native, &src, 3, 0);
        assert_eq!(there[..8], 0f64.to_le_bytes());
        assert_eq!(there[26..29], *b"pad");
        let (_, back) = run(native, DataType::Struct(stored()), &there, 3, 0);
        assert_eq!(back, src);
        assert!(!Transfer::new(native.into(), DataType::Struct(stored()).into()).unwrap().is_partial());
    }

    #[test]
    fn neighbours_that_are_copied_become_one_copy() {
        let (little, i16, f64) = (ByteOrder::Little, DataType::Int16, DataType::Float64);
        let a = Struct::new(vec![field("a", 0, i16, little, &[]), field("b", 2, f64, little, &[2]), field("c", 18, i16, little, &[])], 20);
        let b = Struct::new(vec![field("b", 2, f64, little, &[2]), field("a", 0, i16, little, &[]), field("c", 18, i16, little, &[])], 20);
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!(Transfer::new(DataType::Struct(b).into(), DataType::Struct(a).into()).unwrap().plain_copy(), Some(20));
        let part = Struct::new(vec![field("c", 0, i16, little, &[])], 2).unwrap();
        let transfer = Transfer::new(DataType::Struct(part).into(), DataType::Struct(a).into()).unwrap();
        assert_eq!((transfer.plain_copy(), transfer.is_partial()), (None, true));
        let transfer = Transfer::new(DataType::Struct(a).into(), DataType::Struct(part).into()).unwrap();
        assert!(!transfer.is_partial());
    }

    #[test]
    fn the_first_element_that_does_not_fit_is_named_and_those_before_it_are_stored() {
        let big = Struct::packed(vec![
            field("a", 0, DataType::Int16, ByteOrder::Little, &[]),
            field("b", 0, DataType::Int16, ByteOrder::Little, &[2]),
        ])
        .unwrap();
        let small = Struct::packed(vec![
            field("a", 0, DataType::Int8, ByteOrder::Little, &[]),
            field("b", 0, DataType::Int8, ByteOrder::Little, &[2]),
        ])
        .unwrap();
        for (at, which) in [(700, 0), (0, 2), (701, 1)] {
            let mut values: Vec<[i16; 3]> = (0..2000).map(|i| [i % 100; 3]).collect();
            values[at][which] = 300;
            values[at + 1][0] = 300;
            let src: Vec<u8> = values.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
            let (done, dst) = run(DataType::Struct(big), DataType::Struct(small), &src, 2000, 0xff);
            assert_eq!(done, Err(at));
            assert!(dst.chunks(3).take(at).enumerate().all(|(i, e)| e == [(i % 100) as u8; 3]));
        }
    }

    #[test]
    fn what_cannot_be_paired_is_refused() {
        let make = |fields: &[(&str, DataType, &[u64])]| {
            let fields = fields.iter().map(|(n, t, s)| field(n, 0, *t, ByteOrder::Little, s)).collect();
            DataType::Struct(Struct::packed(fields).unwrap())
        };
        let xy = make(&[("x", DataType::Float64, &[]), ("y", DataType::Float64, &[2, 2])]);
        let refused = |other: DataType| {
            let e = Transfer::new(xy.into(), other.into()).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Type, "{e}");
            e.to_string()
        };
        assert!(refused(make(&[("x", DataType::Float64, &[]), ("z", DataType::Int8, &[])])).contains("\"z\""));
        assert!(refused(make(&[("y", DataType::Float64, &[4, 1])])).contains("shape"));
        assert!(refused(make(&[("x", DataType::Text(3), &[])])).contains('x'));
        assert!(Transfer::new(xy.into(), make(&[("y", DataType::Int8, &[4])]).into()).is_ok());
        assert!(Transfer::new(xy.into(), DataType::Float64.into()).is_err());
        let e = check_memory(make(&[("x", DataType::Int8, &[]), ("q", DataType::Int8, &[])]), xy).unwrap_err();
        assert!(e.message().contains("no field \"q\"; it has x, y"), "{e}");
    }
}
