//! One model for the metadata of all versions, and the documents that it comes from and goes to.
//!
//! A document is parsed into [`ArrayMeta`] or [`GroupMeta`]; its source is kept beside it as JSON (numbers with their
//! source text, members in their order), so that rewriting one member preserves the rest.

pub mod codecs_to_v2;
pub mod codecs_to_v3;
pub mod consolidated;
mod difference;
pub mod draft;
pub mod extension;
mod fields;
pub use crate::json;
pub mod lint;
pub mod registered;

pub mod upgrade;
pub mod v2;
pub mod v3;
pub mod v3_grid;

use crate::dtype::fill::Fill;
use crate::dtype::{DataType, ElementType};
use crate::error::{Result, bail};
use crate::grid::Grid;
use crate::grid::key::KeyEncoding;
pub use crate::json::{Map, Text, Value};
use crate::limits::Dims;
use extension::Extension;
pub use fields::number_list;

/// The version of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.zarray`, `.zgroup`, `.zattrs`.
    V2,
    /// `zarr.json`.
    V3,
}

impl Format {
    /// 2 or 3.
    pub fn number(self) -> i32 {
        match self {
            Format::V2 => 2,
            Format::V3 => 3,
        }
    }
}

/// Whether a document of version 3 (or 2) is final, or of which draft it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Dialect {
    /// The specification itself.
    #[default]
    Final,
    /// 2020 to 2022: one entry point, documents below `meta/root`, chunks below `data/root`.
    D0,
    /// Early 2023: `zarr.json` for each node, with forms that are gone.
    D2,
}

impl Dialect {
    /// The short name of a draft.
    pub fn draft(self) -> Option<&'static str> {
        match self {
            Dialect::Final => None,
            Dialect::D0 => Some("d0"),
            Dialect::D2 => Some("d2"),
        }
    }

    /// An error of kind `ReadOnly` for a draft: none is written.
    pub fn refuse(self) -> Result<()> {
        match self.draft() {
            None => Ok(()),
            Some(name) => bail!(ReadOnly, "a draft of Zarr v3 ({name}) is only read; `ozarr migrate` makes Zarr v3 of it"),
        }
    }
}

/// The order of elements in a v2 chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Last index fastest.
    C,
    /// First index fastest.
    F,
}

/// The codecs of an array as its document lists them, not yet looked up.
#[derive(Clone, Debug, PartialEq)]
pub enum Codecs {
    /// v2: an order, the dtype, filters in the order of encoding, and a compressor.
    V2 {
        /// `order`.
        order: Order,
        /// `dtype`: the elements as they are stored.
        element: ElementType,
        /// `filters`; empty for null. Names are numcodecs ids.
        filters: Vec<Extension>,
        /// `compressor`.
        compressor: Option<Extension>,
    },
    /// v3: a list in the order of encoding.
    V3(Vec<Extension>),
}

/// What an array is, whichever version described it.
#[derive(Clone, Debug)]
pub struct ArrayMeta {
    /// The version of the document.
    pub format: Format,
    /// Whether it is of a draft of version 3.
    pub dialect: Dialect,
    /// The lengths of the dimensions.
    pub shape: Dims,
    /// The type of the elements in memory ([`DataType::native`]).
    pub data_type: DataType,
    /// The chunk grid.
    pub grid: Grid,
    /// The chunk keys.
    pub keys: KeyEncoding,
    /// What missing chunks hold.
    pub fill: Fill,
    /// The codecs.
    pub codecs: Codecs,
    /// A name or null for each dimension (v3 `dimension_names`; v2 `_ARRAY_DIMENSIONS` is among the attributes);
    /// `None` where the document has none.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// The document itself (`.zarray` or `zarr.json`), unknown members included.
    pub document: Map,
}

/// What a group is.
#[derive(Clone, Debug)]
pub struct GroupMeta {
    /// The version of the document.
    pub format: Format,
    /// Whether it is of a draft of version 3.
    pub dialect: Dialect,
    /// The document itself (`.zgroup` or `zarr.json`).
    pub document: Map,
}
