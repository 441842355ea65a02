//! A data type: what an element is, in the file and in the caller's memory.

use super::element::ByteOrder;
use super::narrow::Narrow;
use super::record::Struct;
use super::registered::RegisteredType;
use super::unit::Unit;
use super::variable::VarItem;
use crate::error::Result;

/// A data type. The numbers have values of `ozarr_type` in the C header ([`DataType::code`]). Elements of variable length are
/// held in memory as [`VarItem`]s, so that every element has a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// One byte, 0 is false, anything else true; written as 0 or 1.
    Bool,
    /// Signed, 8 bits.
    Int8,
    /// Signed, 16 bits.
    Int16,
    /// Signed, 32 bits.
    Int32,
    /// Signed, 64 bits.
    Int64,
    /// Unsigned, 8 bits.
    UInt8,
    /// Unsigned, 16 bits.
    UInt16,
    /// Unsigned, 32 bits.
    UInt32,
    /// Unsigned, 64 bits.
    UInt64,
    /// IEEE 754 binary16.
    Float16,
    /// IEEE 754 binary32.
    Float32,
    /// IEEE 754 binary64.
    Float64,
    /// Two binary32: real, imaginary.
    Complex64,
    /// Two binary64: real, imaginary.
    Complex128,
    /// Text of that number of bytes, padded with NUL (v2 `|S5`, v3 `null_terminated_bytes`).
    Bytes(u32),
    /// Text of that number of code points of four bytes, padded with NUL (v2 `<U5`, v3 `fixed_length_utf32`).
    Text(u32),
    /// That number of bytes without a meaning (v2 `|V5`, v3 `r40`).
    Raw(u32),
    /// In memory only: text that ends at the first NUL of that number of bytes, as C holds it. Arrays have `Bytes` ([`DataType::padded`]).
    CText(u32),
    /// In memory only: text of that number of bytes, padded with blanks, as Fortran holds it.
    Chars(u32),
    /// A point in time: a signed count of 64 bits since 1970 (v2 `<M8[s]`, v3 `numpy.datetime64`); the least one is "not a time".
    DateTime(Unit),
    /// A span of time: a signed count of 64 bits (v2 `<m8[s]`, v3 `numpy.timedelta64`).
    TimeDelta(Unit),
    /// Signed, 2 bits in the low end of a byte; in memory the byte is sign-extended.
    Int2,
    /// Signed, 4 bits in the low end of a byte; in memory the byte is sign-extended.
    Int4,
    /// Unsigned, 2 bits in the low end of a byte.
    UInt2,
    /// Unsigned, 4 bits in the low end of a byte.
    UInt4,
    /// A floating-point number of 4 to 16 bits that is not binary16.
    Narrow(Narrow),
    /// Two narrow floating-point numbers: real, imaginary.
    ComplexNarrow(Narrow),
    /// Named fields one after the other.
    Struct(&'static Struct),
    /// UTF-8 of any length (v3 `string`, v2 `|O` with `vlen-utf8`).
    VarText,
    /// Bytes of any length (v3 `bytes`, v2 `|O` with `vlen-bytes`).
    VarBytes,
    /// Any JSON value, as its text (v2 `|O` with `json2` or `msgpack2`).
    VarJson,
    /// Any number of numbers of that type (v2 `|O` with `vlen-array`), in this host's byte order.
    VarArray(&'static DataType),
    /// One that a program has registered. In memory it is another ([`DataType::in_memory`]), and size, kind and alignment are that
    /// one's.
    Registered(&'static RegisteredType),
}

/// The broad class of a data type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `bool`.
    Bool,
    /// Signed integers.
    Int,
    /// Unsigned integers.
    UInt,
    /// Floating-point numbers.
    Float,
    /// Pairs of floating-point numbers.
    Complex,
    /// Times and spans of time: counts of 64 bits.
    Time,
    /// Bytes, text, and whatever is moved as it is stored.
    Opaque,
    /// Named fields.
    Struct,
    /// Elements of variable length.
    Variable,
}

impl DataType {
    /// NumPy's own numbers: those that numcodecs' codecs know.
    pub const NUMPY: &'static [DataType] = {
        use DataType::{self as D, *};
        &[Bool, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, D::Float16, Float32, Float64, Complex64, Complex128]
    };

    /// The numbers that have a value of their own in the header, in its order: NumPy's first, the narrow ones last. Narrow complex
    /// numbers have none.
    pub const ALL: &'static [DataType] = {
        use DataType::*;
        const NUMPY: &[DataType] = DataType::NUMPY;
        const SMALL: [DataType; 4] = [Int2, Int4, UInt2, UInt4];
        const FIRST: usize = NUMPY.len() + SMALL.len();
        // `Float16` is among the first.
        const ALL: [DataType; FIRST + self::Narrow::ALL.len() - 1] = {
            let mut all = [Bool; FIRST + self::Narrow::ALL.len() - 1];
            let mut i = 0;
            while i < all.len() {
                all[i] = match i {
                    _ if i < NUMPY.len() => NUMPY[i],
                    _ if i < FIRST => SMALL[i - NUMPY.len()],
                    _ => Narrow(self::Narrow::ALL[i - FIRST + 1]),
                };
                i += 1;
            }
            all
        };
        &ALL
    };
    /// Every number, narrow complex ones too.
    pub fn numbers() -> impl Iterator<Item = DataType> {
        DataType::ALL.iter().copied().chain(self::Narrow::ALL.iter().map(|n| DataType::ComplexNarrow(*n)))
    }

    /// Whether it is a number (or a pair of them): what is converted to and from others.
    pub fn is_number(self) -> bool {
        matches!(self.kind(), Kind::Bool | Kind::Int | Kind::UInt | Kind::Float | Kind::Complex)
    }

    /// The bits that count of a number (or of a part of it): the low ones, fewer than its bytes have in `int4` or `float6_e2m3fn`.
    pub fn bits(self) -> u32 {
        match self {
            DataType::Bool => 1,
            DataType::Int2 | DataType::UInt2 => 2,
            DataType::Int4 | DataType::UInt4 => 4,
            DataType::Narrow(n) | DataType::ComplexNarrow(n) => n.bits(),
            DataType::Registered(f) => f.memory().bits(),
            _ => self.swap_unit() as u32 * 8,
        }
    }

    /// The data type of that number in the C header.
    pub fn from_raw(raw: i32) -> Option<DataType> {
        usize::try_from(raw).ok().and_then(|n| DataType::ALL.get(n.checked_sub(1)?)).copied()
    }

    /// The number in the C header; `None` for types that have none.
    pub fn code(self) -> Option<i32> {
        DataType::ALL.iter().position(|t| *t == self).map(|n| n as i32 + 1)
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        use DataType::*;
        match self {
            Bool | Int8 | UInt8 | Int2 | Int4 | UInt2 | UInt4 => 1,
            Int16 | UInt16 | Float16 => 2,
            Int32 | UInt32 | Float32 => 4,
            Int64 | UInt64 | Float64 | Complex64 | DateTime(_) | TimeDelta(_) => 8,
            Complex128 => 16,
            Bytes(n) | Raw(n) | CText(n) | Chars(n) => n as usize,
            Text(n) => n as usize * 4,
            Narrow(n) => n.size(),
            ComplexNarrow(n) => n.size() * 2,
            Struct(s) => s.size(),
            VarText | VarBytes | VarJson | VarArray(_) => size_of::<VarItem>(),
            Registered(f) => f.memory().size(),
        }
    }

    /// Bytes of the unit that byte order applies to: the element, half of a complex one, a code point, a single byte.
    /// 1 where an [`ElementType`]'s order says nothing: the fields of a struct have orders of their own.
    pub fn swap_unit(self) -> usize {
        match self {
            DataType::Bytes(_) | DataType::Raw(_) | DataType::CText(_) | DataType::Chars(_) | DataType::Struct(_) => 1,
            DataType::VarText | DataType::VarBytes | DataType::VarJson | DataType::VarArray(_) => 1,
            DataType::Text(_) => 4,
            DataType::Registered(f) => f.memory().swap_unit(),
            _ if self.kind() == Kind::Complex => self.size() / 2,
            _ => self.size(),
        }
    }

    /// The broad class.
    pub fn kind(self) -> Kind {
        use DataType::*;
        match self {
            Bool => Kind::Bool,
            Int2 | Int4 | Int8 | Int16 | Int32 | Int64 => Kind::Int,
            UInt2 | UInt4 | UInt8 | UInt16 | UInt32 | UInt64 => Kind::UInt,
            Float16 | Float32 | Float64 | Narrow(_) => Kind::Float,
            Complex64 | Complex128 | ComplexNarrow(_) => Kind::Complex,
            DateTime(_) | TimeDelta(_) => Kind::Time,
            Bytes(_) | Text(_) | Raw(_) | CText(_) | Chars(_) => Kind::Opaque,
            Struct(_) => Kind::Struct,
            VarText | VarBytes | VarJson | VarArray(_) => Kind::Variable,
            Registered(f) => f.memory().kind(),
        }
    }

    /// Whether elements have a length of their own, and are held in memory as [`VarItem`]s.
    pub fn is_variable(self) -> bool {
        self.kind() == Kind::Variable
    }

    /// The type of the two parts of a complex type.
    pub fn part(self) -> Option<DataType> {
        match self {
            DataType::Complex64 => Some(DataType::Float32),
            DataType::Complex128 => Some(DataType::Float64),
            DataType::ComplexNarrow(self::Narrow::Float16) => Some(DataType::Float16),
            DataType::ComplexNarrow(n) => Some(DataType::Narrow(n)),
            DataType::Registered(f) => f.memory().part(),
            _ => None,
        }
    }

    /// The type that the library deals with in memory: another one for types that a program has registered.
    pub fn in_memory(self) -> DataType {
        if let DataType::Registered(f) = self { f.memory() } else { self }
    }

    /// Whether it, or a field of it, has no form in a document: text that is padded with blanks.
    pub fn is_memory_only(self) -> bool {
        match self {
            DataType::Chars(_) => true,
            DataType::Struct(s) => s.fields().iter().any(|f| f.element.data_type.is_memory_only()),
            _ => false,
        }
    }

    /// Returns this type as memory holds it: every field of a struct in the order of this host.
    pub fn native(self) -> DataType {
        match self {
            DataType::Struct(s) => DataType::Struct(s.in_order(ByteOrder::NATIVE)),
            _ => self,
        }
    }

    /// Whether an element, or a field of it, has bytes that may have two orders.
    pub fn has_order(self) -> bool {
        match self {
            DataType::Struct(s) => s.fields().iter().any(|f| f.element.data_type.has_order()),
            DataType::Registered(f) => f.carrier().has_order(),
            other => other.swap_unit() > 1,
        }
    }

    /// The order of all the bytes that have one; `None` where the fields of a struct differ or nothing has an order.
    pub fn field_order(self) -> Option<ByteOrder> {
        let DataType::Struct(s) = self else { return None };
        let ordered = s.fields().iter().map(|f| f.element).filter(|e| e.data_type.has_order());
        let mut orders = ordered.map(|e| match e.data_type {
            DataType::Struct(_) => e.data_type.field_order(),
            _ => Some(e.order),
        });
        let first = orders.next()??;
        orders.all(|o| o == Some(first)).then_some(first)
    }

    /// Returns this type without gaps between the fields of structs: how arrays store it.
    pub fn packed(self) -> Result<DataType> {
        match self {
            DataType::Struct(s) => Ok(DataType::Struct(s.without_gaps()?)),
            other => Ok(other),
        }
    }

    /// Returns this type with text of C as the bytes, padded with NUL, that arrays store.
    pub fn padded(self) -> DataType {
        if let DataType::Struct(s) = self { DataType::Struct(s.padded()) } else { self.as_destination() }
    }

    /// Returns what elements are converted to for this type: text of C differs in what is taken from it only.
    pub fn as_destination(self) -> DataType {
        if let DataType::CText(n) = self { DataType::Bytes(n) } else { self }
    }

    /// The name in Zarr v3 metadata (`data_type`), also used in messages.
    pub fn name(self) -> &'static str {
        use DataType::*;
        match self {
            Bool => "bool",
            Int8 => "int8",
            Int16 => "int16",
            Int32 => "int32",
            Int64 => "int64",
            UInt8 => "uint8",
            UInt16 => "uint16",
            UInt32 => "uint32",
            UInt64 => "uint64",
            Float16 => "float16",
            Float32 => "float32",
            Float64 => "float64",
            Complex64 => "complex64",
            Complex128 => "complex128",
            Bytes(_) | CText(_) => "null_terminated_bytes",
            Text(_) => "fixed_length_utf32",
            Raw(_) => "raw_bytes",
            Chars(_) => "blank_padded_bytes",
            DateTime(_) => "numpy.datetime64",
            TimeDelta(_) => "numpy.timedelta64",
            Int2 => "int2",
            Int4 => "int4",
            UInt2 => "uint2",
            UInt4 => "uint4",
            Narrow(n) => n.names().0,
            ComplexNarrow(n) => n.names().1,
            Struct(_) => "struct",
            VarText => "string",
            VarBytes => "bytes",
            VarJson => "object(json)",
            VarArray(_) => "object(vlen-array)",
            Registered(f) => f.name(),
        }
    }
}

/// A data type with the byte order that its elements have in some buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ElementType {
    /// What the element is.
    pub data_type: DataType,
    /// How its bytes are ordered; of no meaning (and `Little`) for one-byte types.
    pub order: ByteOrder,
}

impl From<DataType> for ElementType {
    fn from(data_type: DataType) -> ElementType {
        ElementType::native(data_type)
    }
}

impl ElementType {
    /// `data_type` in the order of this host.
    pub fn native(data_type: DataType) -> ElementType {
        ElementType { data_type, order: ByteOrder::NATIVE }
    }

    /// `data_type` in that order. For structs, `Big` turns every field; `Little` leaves each field the order that it has.
    pub fn new(data_type: DataType, order: ByteOrder) -> ElementType {
        match data_type {
            DataType::Struct(s) if order == ByteOrder::Big => ElementType::native(DataType::Struct(s.in_order(order))),
            _ => ElementType { data_type, order: if data_type.swap_unit() == 1 { ByteOrder::NATIVE } else { order } },
        }
    }

    /// The type that the library deals with in memory, in the same order.
    pub fn in_memory(self) -> ElementType {
        ElementType { data_type: self.data_type.in_memory(), ..self }
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        self.data_type.size()
    }

    /// Whether the bytes must be swapped to be used on this host.
    pub fn swapped(self) -> bool {
        self.order != ByteOrder::NATIVE
    }
}
