//! Structured data types: named fields, each with a place, a type, a byte order, and perhaps a shape.
//! Specification: v2 "Data type encoding" (structured types); v3 extensions `struct`, `structured`.
//!
//! A [`Struct`] is immutable and lives as long as the process: equal ones are kept once, so that a data type stays a value that
//! is copied freely. A program meets as many of them as it opens kinds of particles.

use super::{ByteOrder, DataType, ElementType};
use crate::error::{Result, bail, err};
use crate::fork::{ForkReset, Lazy};
use crate::sort::sort_by;
use std::collections::HashSet;
use std::sync::Mutex;

/// The most fields of a struct, those of nested ones not counted.
pub const MAX_FIELDS: usize = 4096;
/// The most structs inside each other.
pub const MAX_DEPTH: usize = 16;

/// The fields of one element.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Struct {
    fields: Vec<Field>,
    size: usize,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The name; unique in the struct. Empty: padding.
    pub name: String,
    /// The first byte in the element.
    pub offset: usize,
    /// What it holds (each element of it, where there is a shape).
    pub element: ElementType,
    /// The shape of a field that is an array itself, in C order; empty for a single value.
    pub shape: Vec<u64>,
}

impl Field {
    /// The number of values.
    pub fn count(&self) -> usize {
        self.shape.iter().product::<u64>() as usize
    }

    /// Bytes of the field.
    pub fn size(&self) -> usize {
        self.count() * self.element.size()
    }
}

impl Struct {
    /// A struct of `size` bytes. Fields are in the order in which they are listed and may leave gaps.
    ///
    /// Errors: `Metadata` for no fields, a name that is there twice, fields that overlap or pass the end, fields of variable length;
    /// `Limit`.
    pub fn new(fields: Vec<Field>, size: usize) -> Result<&'static Struct> {
        Struct::check(&fields, size)?;
        Ok(keep(Struct { fields, size }))
    }

    /// Whether there can be such a struct, without making it.
    pub fn check(fields: &[Field], size: usize) -> Result<()> {
        if fields.is_empty() || fields.len() > MAX_FIELDS {
            bail!(Metadata, "found a struct of {} fields, expected 1 to {MAX_FIELDS}", fields.len());
        }
        if size == 0 || size > super::MAX_LENGTH as usize {
            bail!(Limit, "found a struct of {size} bytes, expected 1 to {}", super::MAX_LENGTH);
        }
        if let Some(field) = fields.iter().find(|f| matches!(f.element.data_type, DataType::Registered(_))) {
            bail!(Unsupported, "the field {:?} has a registered data type, which fields cannot have", field.name);
        }
        check_fields(fields, size)?;
        let depth = depth(fields);
        if depth > MAX_DEPTH {
            bail!(Limit, "found structs {depth} deep, the limit is {MAX_DEPTH}");
        }
        Ok(())
    }

    /// A struct without gaps; the offsets of `fields` are set.
    pub fn packed(mut fields: Vec<Field>) -> Result<&'static Struct> {
        let mut at = 0usize;
        for field in &mut fields {
            field.offset = at;
            let count = field.shape.iter().try_fold(1u64, |n, &s| n.checked_mul(s)).and_then(|n| usize::try_from(n).ok());
            let size = count.and_then(|n| n.checked_mul(field.element.size())).filter(|n| *n <= super::MAX_LENGTH as usize);
            at += size.ok_or_else(|| err!(Limit, "the field {:?} is too large: {:?} values", field.name, field.shape))?;
            if at > super::MAX_LENGTH as usize {
                bail!(Limit, "found a struct of more than {} bytes", super::MAX_LENGTH);
            }
        }
        Struct::new(fields, at)
    }

    /// The fields in their order, padding included.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name && !name.is_empty())
    }

    /// The field of that name, or what is at an index of a field that has a shape: `v[1]`, `m[0,2]`, or the row `m[0]`.
    pub fn part(&self, name: &str) -> Option<Field> {
        if let Some(field) = self.field(name) {
            return Some(field.clone());
        }
        let (whole, indices) = name.strip_suffix(']')?.rsplit_once('[')?;
        let mut part = Field { name: name.into(), ..self.field(whole)?.clone() };
        for index in indices.split(',') {
            let index: u64 = index.parse().ok()?;
            if part.shape.is_empty() || index >= part.shape.remove(0) {
                return None;
            }
            part.offset += index as usize * part.size();
        }
        Some(part)
    }

    /// Bytes of one element.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns this struct with every field in the byte order `order`.
    pub fn in_order(&'static self, order: ByteOrder) -> &'static Struct {
        let turn = |f: &Field| {
            let data_type = match f.element.data_type {
                DataType::Struct(inner) => DataType::Struct(inner.in_order(order)),
                other => other,
            };
            let order = if data_type.swap_unit() == 1 { ByteOrder::NATIVE } else { order };
            Field { element: ElementType { data_type, order }, ..f.clone() }
        };
        let fields: Vec<Field> = self.fields.iter().map(turn).collect();
        if fields == self.fields { self } else { keep(Struct { fields, size: self.size }) }
    }

    /// Returns this struct with text of C as the bytes, padded with NUL, that arrays store.
    pub fn padded(&'static self) -> &'static Struct {
        let pad = |f: &Field| Field { element: ElementType { data_type: f.element.data_type.padded(), ..f.element }, ..f.clone() };
        let fields: Vec<Field> = self.fields.iter().map(pad).collect();
        if fields == self.fields { self } else { keep(Struct { fields, size: self.size }) }
    }

    /// Returns a struct of these fields in their order, one directly after the other, in nested structs too.
    pub fn without_gaps(&'static self) -> Result<&'static Struct> {
        let pack = |f: &Field| {
            let data_type = f.element.data_type.packed()?;
            Ok(Field { element: ElementType { data_type, ..f.element }, ..f.clone() })
        };
        Struct::packed(self.fields.iter().map(pack).collect::<Result<_>>()?)
    }
}

/// The number of structs inside each other.
fn depth(fields: &[Field]) -> usize {
    let below = fields.iter().map(|f| match f.element.data_type {
        DataType::Struct(inner) => depth(&inner.fields),
        _ => 0,
    });
    1 + below.max().unwrap_or(0)
}

fn check_fields(fields: &[Field], size: usize) -> Result<()> {
    let mut names = HashSet::new();
    let mut spans = Vec::with_capacity(fields.len());
    for field in fields {
        if !field.name.is_empty() && !names.insert(field.name.as_str()) {
            bail!(Metadata, "found the field {:?} twice", field.name);
        }
        if field.element.data_type.is_variable() {
            bail!(Unsupported, "the field {:?} is of variable length ({})", field.name, field.element.data_type.name());
        }
        let count = field.shape.iter().try_fold(1u64, |n, &s| n.checked_mul(s)).and_then(|n| usize::try_from(n).ok());
        let end = count.and_then(|n| n.checked_mul(field.element.size())).and_then(|n| n.checked_add(field.offset));
        match end {
            Some(end) if end <= size => spans.push((field.offset, end, &field.name)),
            _ => bail!(Metadata, "the field {:?} ends beyond the {size} bytes of the struct", field.name),
        }
    }
    sort_by(&mut spans, Ord::cmp);
    if let Some(w) = spans.windows(2).find(|w| w[0].1 > w[1].0) {
        bail!(Metadata, "the fields {:?} and {:?} overlap", w[0].2, w[1].2);
    }
    Ok(())
}

/// The one kept copy of a struct.
fn keep(found: Struct) -> &'static Struct {
    static KEPT: Lazy<ForkReset<Mutex<HashSet<&'static Struct>>>> = Lazy::new(|| ForkReset::new(Mutex::default));
    let mut kept = KEPT.get().get().lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = kept.get(&found) {
        return known;
    }
    let known: &'static Struct = Box::leak(Box::new(found));
    kept.insert(known);
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, data_type: DataType, order: ByteOrder, shape: &[u64]) -> Field {
        Field { name: name.into(), offset: 0, element: ElementType::new(data_type, order), shape: shape.into() }
    }

    #[test]
    fn packed_fields_follow_each_other_and_equal_structs_are_one() {
        let make = || {
            Struct::packed(vec![
                field("a", DataType::Int16, ByteOrder::Big, &[]),
                field("b", DataType::Float32, ByteOrder::Little, &[2, 3]),
                field("", DataType::Raw(3), ByteOrder::Little, &[]),
            ])
            .unwrap()
        };
        let s = make();
        assert_eq!(s.fields().iter().map(|f| f.offset).collect::<Vec<_>>(), [0, 2, 26]);
        assert_eq!((s.size(), s.fields()[0].element.swapped()), (29, true));
        assert!(std::ptr::eq(s, make()));
        let native = DataType::Struct(s).native();
        assert!(matches!(native, DataType::Struct(n) if !n.fields()[0].element.swapped() && n.size() == 29));
        assert_eq!(ElementType::new(native, ByteOrder::Big).size(), 29);
    }

    #[test]
    fn structs_that_make_no_sense_are_refused() {
        let number = |name: &str| field(name, DataType::Int32, ByteOrder::Little, &[]);
        let text = |e: Result<&'static Struct>| e.unwrap_err().message().to_string();
        assert!(text(Struct::packed(vec![])).contains("0 fields"));
        assert!(text(Struct::packed(vec![number("x"), number("x")])).contains("twice"));
        assert!(text(Struct::new(vec![number("x"), number("y")], 8)).contains("overlap"));
        assert!(text(Struct::new(vec![number("x")], 3)).contains("ends beyond"));
        assert!(text(Struct::packed(vec![field("x", DataType::VarText, ByteOrder::Little, &[])])).contains("variable"));
        assert!(text(Struct::packed(vec![field("x", DataType::Int8, ByteOrder::Little, &[1 << 40, 1 << 40])])).contains("too large"));
        let mut deep = DataType::Int8;
        for _ in 0..MAX_DEPTH {
            deep = DataType::Struct(Struct::packed(vec![field("x", deep, ByteOrder::Little, &[])]).unwrap());
        }
        assert!(text(Struct::packed(vec![field("x", deep, ByteOrder::Little, &[])])).contains("deep"));
    }
}
