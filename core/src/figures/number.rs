//! The types of numbers that statistics and differences are computed of.

use crate::dtype::DataType;

/// The type as which a type of numbers is read to be counted; `None` for other types.
pub fn as_number(data_type: DataType) -> Option<DataType> {
    use crate::dtype::Kind::*;
    let data_type = data_type.in_memory();
    Some(match data_type.kind() {
        Bool => DataType::UInt8,
        Time => data_type,
        Int if data_type.bits() < 8 => DataType::Int8,
        UInt if data_type.bits() < 8 => DataType::UInt8,
        Float if !matches!(data_type, DataType::Float32 | DataType::Float64) => DataType::Float32,
        Int | UInt | Float => data_type,
        _ => return None,
    })
}

/// A number that has figures.
pub(super) trait Counted: Copy + PartialOrd + PartialEq {
    const SIZE: usize;
    fn from_bytes(bytes: &[u8]) -> Self;
    fn double(self) -> f64;
    fn exact(self) -> Exact;
}

/// A value that keeps all digits of an integer.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Exact {
    /// An integer, or the count of a time.
    Integer(i128),
    /// A double.
    Float(f64),
    /// Shorter digits than a double's are enough.
    Single(f32),
}

impl Exact {
    /// The nearest double.
    pub fn double(self) -> f64 {
        match self {
            Exact::Integer(n) => n as f64,
            Exact::Float(x) => x,
            Exact::Single(x) => x.into(),
        }
    }
}

macro_rules! number {
    ($($t:ty, $exact:expr;)*) => {$(
        impl Counted for $t {
            const SIZE: usize = size_of::<$t>();
            fn from_bytes(bytes: &[u8]) -> $t {
                let mut own = [0; size_of::<$t>()];
                own.copy_from_slice(bytes);
                <$t>::from_ne_bytes(own)
            }
            #[allow(clippy::cast_lossless)]
            fn double(self) -> f64 {
                self as f64
            }
            fn exact(self) -> Exact {
                $exact(self.into())
            }
        }
    )*};
}
number! { i8, Exact::Integer; i16, Exact::Integer; i32, Exact::Integer; i64, Exact::Integer; u8, Exact::Integer; u16, Exact::Integer;
u32, Exact::Integer; u64, Exact::Integer; f32, Exact::Single; f64, Exact::Float; }

/// Calls `$f::<T>($arguments)` with the type of numbers `T` of a data type that [`as_number`] gives.
macro_rules! with_type {
    ($data_type:expr, $f:ident, $($argument:expr),*) => {
        match $data_type {
            DataType::Int8 => $f::<i8>($($argument),*),
            DataType::Int16 => $f::<i16>($($argument),*),
            DataType::Int32 => $f::<i32>($($argument),*),
            DataType::UInt8 => $f::<u8>($($argument),*),
            DataType::UInt16 => $f::<u16>($($argument),*),
            DataType::UInt32 => $f::<u32>($($argument),*),
            DataType::UInt64 => $f::<u64>($($argument),*),
            DataType::Float32 => $f::<f32>($($argument),*),
            DataType::Float64 => $f::<f64>($($argument),*),
            // Counts of 64 bits: times, too.
            _ => $f::<i64>($($argument),*),
        }
    };
}
pub(super) use with_type;
