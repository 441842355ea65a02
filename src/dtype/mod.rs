//! Data types: what an element of an array is, in the file and in the caller's memory.
//!
//! A [`DataType`] has no byte order; an [`ElementType`] is a data type as it lies in some buffer, with one.
//! Conversion kernels between element types are in `convert.rs`, fill values in `fill.rs`.

pub mod convert;
pub mod fill;
pub mod parse_v2;
pub mod parse_v3;

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first; the order of every host that the library runs on.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The order of this host.
    pub const NATIVE: ByteOrder = ByteOrder::Little;
}

/// A data type of fixed size. The discriminants are the values of `ozarr_type` in the C header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum DataType {
    /// One byte, 0 is false, anything else true; written as 0 or 1.
    Bool = 1,
    /// Signed, 8 bits.
    Int8 = 2,
    /// Signed, 16 bits.
    Int16 = 3,
    /// Signed, 32 bits.
    Int32 = 4,
    /// Signed, 64 bits.
    Int64 = 5,
    /// Unsigned, 8 bits.
    UInt8 = 6,
    /// Unsigned, 16 bits.
    UInt16 = 7,
    /// Unsigned, 32 bits.
    UInt32 = 8,
    /// Unsigned, 64 bits.
    UInt64 = 9,
    /// IEEE 754 binary16.
    Float16 = 10,
    /// IEEE 754 binary32.
    Float32 = 11,
    /// IEEE 754 binary64.
    Float64 = 12,
    /// Two binary32: real, imaginary.
    Complex64 = 13,
    /// Two binary64: real, imaginary.
    Complex128 = 14,
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
}

impl DataType {
    /// Every data type, in the order of the header.
    pub const ALL: &'static [DataType] = {
        use DataType::*;
        &[Bool, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, Float32, Float64, Complex64, Complex128]
    };

    /// The data type of that number in the C header.
    pub fn from_raw(raw: i32) -> Option<DataType> {
        DataType::ALL.iter().copied().find(|t| *t as i32 == raw)
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        use DataType::*;
        match self {
            Bool | Int8 | UInt8 => 1,
            Int16 | UInt16 | Float16 => 2,
            Int32 | UInt32 | Float32 => 4,
            Int64 | UInt64 | Float64 | Complex64 => 8,
            Complex128 => 16,
        }
    }

    /// Bytes of the unit that byte order applies to: the element, or half of a complex one.
    pub fn swap_unit(self) -> usize {
        if self.kind() == Kind::Complex { self.size() / 2 } else { self.size() }
    }

    /// The broad class.
    pub fn kind(self) -> Kind {
        use DataType::*;
        match self {
            Bool => Kind::Bool,
            Int8 | Int16 | Int32 | Int64 => Kind::Int,
            UInt8 | UInt16 | UInt32 | UInt64 => Kind::UInt,
            Float16 | Float32 | Float64 => Kind::Float,
            Complex64 | Complex128 => Kind::Complex,
        }
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

impl ElementType {
    /// `data_type` in the order of this host.
    pub fn native(data_type: DataType) -> ElementType {
        ElementType { data_type, order: ByteOrder::NATIVE }
    }

    /// `data_type` in that order.
    pub fn new(data_type: DataType, order: ByteOrder) -> ElementType {
        ElementType { data_type, order: if data_type.swap_unit() == 1 { ByteOrder::NATIVE } else { order } }
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
