//! What to create as the model and the document of one version: the one place where the settings are checked together.

use super::{FillSetting, Spec};
use crate::codec::BoundChain;
use crate::codec::chain::Chain;
use crate::codec::complete::completed;
use crate::codec::parse::check_elements_v2;
use crate::dtype::fill::Fill;
use crate::dtype::{DataType, Kind, check_v3};
use crate::error::{Error, Result, err};
use crate::grid::key::{KeyEncoding, Separator};
use crate::limits::Dims;
use crate::metadata::{ArrayMeta, Codecs, Dialect, Format, Map, Value, json, v2, v3};
use crate::node::compression::Compressor;
use crate::node::state::{bind_largest, check_divided};

/// The most shapes of chunks, where their extents are listed, of which is checked that they can be encoded.
const SHAPES: usize = 1000;

impl Spec {
    /// The document that an array of this spec gets: `.zarray` or `zarr.json`.
    pub fn to_json(&self) -> Result<String> {
        json::text_of_any(&Value::Object(self.resolve(None)?.0.document), 0)
    }

    /// The version that is said, or that other settings need; `None` where it is left to the enclosing group.
    pub fn own_format(&self) -> Option<Format> {
        match self.format {
            None if self.only_v2() => Some(Format::V2),
            None if self.only_v3() => Some(Format::V3),
            said => said,
        }
    }

    /// The model of a new array, its `document` ready to be stored, and the attributes (which v3's document contains already).
    pub(in crate::node) fn resolve(&self, enclosing: Option<Format>) -> Result<(ArrayMeta, Map)> {
        self.resolve_as(enclosing, true)
    }

    /// Resolves the spec of a copy of an array, whose chunks may be used as they are: that its codecs encode them, and that other programs read
    /// them as what they are, is not asked for.
    pub(in crate::node) fn resolve_copy(&self) -> Result<(ArrayMeta, Map)> {
        self.resolve_as(None, false)
    }

    fn resolve_as(&self, enclosing: Option<Format>, is_new: bool) -> Result<(ArrayMeta, Map)> {
        let format = self.own_format().or(enclosing).unwrap_or(Format::V3);
        self.need_shape()?;
        self.check_format(format)?;
        if let (Format::V2, DataType::Registered(registered)) = (format, self.data_type)
            && registered.name_v2().is_none()
        {
            let e = err!(Unsupported, "the data type {:?} was registered without a name in zarr_format 2", registered.name());
            return Err(e.at_field("dtype"));
        }
        if format == Format::V3 {
            check_v3(self.data_type).map_err(|e| e.at_field("data_type"))?;
        }
        let grid = self.grid()?;
        let (mut attributes, mut names) = (self.attributes.clone(), self.dimension_names.clone());
        if format == Format::V2 {
            names_to_attributes(names.take(), &mut attributes)?;
        }
        let mut document = self.document.clone();
        document.extend(self.members.clone());
        document.insert("attributes".into(), Value::Object(attributes.clone()));
        let mut meta = ArrayMeta {
            format,
            dialect: Dialect::Final,
            shape: self.shape.clone(),
            data_type: self.data_type.native(),
            codecs: if format == Format::V3 { Codecs::V3(self.codecs_v3(&grid)?) } else { self.codecs_v2()? },
            grid,
            keys: self.key_encoding(format)?,
            fill: self.resolve_fill(format, attributes.contains_key(v2::DIMENSIONS))?,
            dimension_names: names,
            document,
        };
        let chain = Chain::parse(&meta.codecs, meta.data_type, meta.shape.len())?;
        check_shapes(&meta, &chain, if is_new { BoundChain::check_encodable } else { BoundChain::check_sizes })?;
        check_elements_v2(&meta.codecs)?;
        if is_new {
            chain.check_new()?;
        }
        // Other programs look at every listed chunk, and the array may grow into it.
        check_divided(&chain, &meta.grid, &Dims::from_elem(u64::MAX, meta.shape.len()))?;
        if !self.changes_fill && meta.fill.defined {
            chain.check_fill(&meta.fill.try_element(meta.data_type)?)?;
        }
        meta.codecs = completed(&meta.codecs, meta.data_type, meta.shape.len());
        meta.document = if format == Format::V3 { v3::write_array(&meta) } else { v2::write_array(&meta) }?;
        self.keep_number_of_text(&mut meta);
        let is_nc_char = self.is_nc_char && meta.data_type == DataType::Bytes(1);
        if format == Format::V2 && (is_nc_char || v2::has_nczarr_keys(&attributes)) {
            as_netcdf(&mut meta, is_nc_char);
        }
        Ok((meta, attributes))
    }

    /// Keeps the number 0 as the fill value of text in version 2: other readers have it where a chunk is missing (HD-12).
    fn keep_number_of_text(&self, meta: &mut ArrayMeta) {
        if meta.format == Format::V2
            && let (FillSetting::Element(Fill { defined: false, .. }), Some(number)) = (&self.fill, self.document.get("fill_value"))
            && number.is_number()
            && matches!(self.data_type, DataType::VarText | DataType::VarBytes)
        {
            meta.document.insert("fill_value".into(), number.clone());
        }
    }

    fn only_v2(&self) -> bool {
        self.filters.is_some() || matches!(self.compression.compressor, Compressor::Json(_))
    }

    fn only_v3(&self) -> bool {
        self.codecs.is_some() || self.inner_chunks.is_some() || self.has_listed_extents() || !self.members.is_empty()
    }

    fn check_format(&self, format: Format) -> Result<()> {
        let refuse_as = |field: &str, what: &str, other: i32| {
            let e = err!(Unsupported, "{what} in zarr_format {other} only; the array is to be of zarr_format {}", format.number());
            Err(e.at_field(field))
        };
        let refuse = |field: &str, other: i32| refuse_as(field, "exists", other);
        match format {
            Format::V2 if self.codecs.is_some() => refuse("codecs", 3),
            Format::V2 if !self.members.is_empty() => refuse("a member of its own", 3),
            Format::V2 if self.inner_chunks.is_some() => refuse("inner_chunks", 3),
            Format::V2 if self.has_listed_extents() => refuse_as("chunks", "extents are listed", 3),
            Format::V3 if self.filters.is_some() => refuse("filters", 2),
            Format::V3 if matches!(self.compression.compressor, Compressor::Json(_)) => refuse("compressor", 2),
            _ => Ok(()),
        }
    }

    fn key_encoding(&self, format: Format) -> Result<KeyEncoding> {
        let keys = match (self.keys, format) {
            (Some(keys), _) => keys,
            (None, Format::V2) => KeyEncoding::V2(Separator::Dot),
            (None, Format::V3) => KeyEncoding::Default(Separator::Slash),
        };
        if format == Format::V2 && !matches!(keys, KeyEncoding::V2(_)) {
            let e = err!(Unsupported, "found an encoding of zarr_format 3, zarr_format 2 has \"v2\" only");
            return Err(e.at_field("chunk_key_encoding"));
        }
        Ok(self.separator.map_or(keys, |separator| keys.with_separator(separator)))
    }

    /// Whether an array of version 2 gets no fill value, since none was asked for: where its dimensions have names, xarray and netCDF take that of
    /// version 2 for "missing", and 0 is data (XR-11). "Not a time" is no data.
    pub(in crate::node) fn leaves_fill(&self) -> bool {
        !self.fill_is_set && self.data_type.kind() != Kind::Time
    }

    pub(super) fn resolve_fill(&self, format: Format, is_named: bool) -> Result<Fill> {
        let fill = match &self.fill {
            _ if format == Format::V2 && is_named && self.leaves_fill() => self.read_fill(&Value::Null, format)?,
            FillSetting::Element(fill) if self.data_type.is_variable() && *fill == Fill::zero() => {
                Fill::variable(if self.data_type == DataType::VarJson { b"null" } else { b"" })?
            }
            FillSetting::Element(fill) => fill.clone(),
            FillSetting::Json(value) => self.read_fill(value, format)?,
        };
        if format == Format::V3 && !fill.defined {
            return Err(err!(Unsupported, "null exists in zarr_format 2 only").at_field("fill_value"));
        }
        if let (DataType::Registered(registered), true) = (self.data_type, fill.defined) {
            registered.fill_to_json(&fill).map_err(|e| e.at_field("fill_value"))?;
        }
        if fill.defined {
            fill.check_text(self.data_type, format == Format::V3).map_err(|e| e.at_field("fill_value"))?;
        }
        if format == Format::V2 && matches!(self.data_type.kind(), Kind::Float | Kind::Complex) {
            // The document has one NaN for all.
            return self.read_fill(&fill.to_json_v2(self.data_type)?, format);
        }
        Ok(fill)
    }
}

/// The error of v2 arrays that are to have unnamed dimensions beside named ones.
pub(in crate::node) fn v2_unnamed() -> Error {
    err!(Unsupported, "found named and unnamed dimensions; zarr_format 2 can name all of them or none").at_field("dimension_names")
}

/// Makes the document of an array of bytes one for netCDF-C, which takes the fill value for text as it is written, base64 or not (NZ-13), as far as
/// zarr-python can open it then; of those of length 1 its `char`.
fn as_netcdf(meta: &mut ArrayMeta, is_nc_char: bool) {
    if is_nc_char {
        meta.document.insert("dtype".into(), v2::NC_CHAR.into());
    }
    if let Some(text) = meta.fill.for_netcdf(meta.data_type, is_nc_char) {
        meta.document.insert("fill_value".into(), text);
    }
}

/// An array of rank 0 whose (no) names were given gets the empty list: without it xarray does not know the array's dimensions.
fn names_to_attributes(names: Option<Vec<Option<String>>>, attributes: &mut Map) -> Result<()> {
    let Some(names) = names.filter(|names| names.is_empty() || names.iter().any(Option::is_some)) else { return Ok(()) };
    let all: Option<Vec<Value>> = names.into_iter().map(|n| n.map(Value::from)).collect();
    let Some(all) = all else { return Err(v2_unnamed()) };
    attributes.insert(v2::DIMENSIONS.into(), all.into());
    Ok(())
}

/// Checks chunks of an array's shapes.
fn check_shapes(meta: &ArrayMeta, chain: &Chain, check: impl Fn(&BoundChain) -> Result<()>) -> Result<()> {
    check(&bind_largest(chain, &meta.grid, &meta.shape)?)?;
    meta.grid.shapes(&meta.shape, SHAPES).iter().try_for_each(|shape| check(&chain.bind(shape)?))
}
