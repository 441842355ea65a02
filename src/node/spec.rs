//! What to create: a builder of array metadata, and the one place where it is validated.
//!
//! Settings are kept as they are given; `resolve` turns them into the model and the document of the format that is
//! asked for, or that of the enclosing group.

use super::compression::{Compression, Compressor, Shuffle, Zfp, configured, rounding};
use super::relist;
use super::state::bind_largest;
use crate::codec::chain::Chain;
use crate::counting::{self, Counting};
use crate::dtype::fill::Fill;
use crate::dtype::resolve::default_scalar;
use crate::dtype::run::Run;
use crate::dtype::transfer::Transfer;
use crate::dtype::{ByteOrder, DataType, ElementType, Kind, check_v3};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::grid::Grid;
use crate::grid::key::{KeyEncoding, Separator};
use crate::grid::rectilinear::{Extents, Runs};
use crate::limits::{self, Dims};
use crate::metadata::extension::Extension;
use crate::metadata::json::{self, brief};
use crate::metadata::v3::NodeType;
use crate::metadata::{ArrayMeta, Codecs, Dialect, Format, Map, Order, Value, codecs_to_v2, number_list, upgrade, v2, v3, v3_grid};

/// The approximate number of bytes in a suggested chunk.
const SUGGESTED_BYTES: u128 = 1 << 20;

/// What array to create. Without further settings: chunks of about 1 MiB, zstd, fill value 0, zarr_format 3 (or that of the
/// enclosing group).
#[derive(Clone, Debug)]
pub struct Spec {
    data_type: DataType,
    /// Zeros until it is set.
    shape: Dims,
    shape_is_set: bool,
    format: Option<Format>,
    chunks: Option<Dims>,
    /// Extents that `chunks` does not say, for each dimension that has them.
    extents: Vec<(usize, Extents)>,
    inner_chunks: Option<Dims>,
    fill: FillSetting,
    /// Whether the fill value was set, or is that of the type.
    fill_is_set: bool,
    dimension_names: Option<Vec<Option<String>>>,
    order: Order,
    byte_order: ByteOrder,
    keys: Option<KeyEncoding>,
    separator: Option<Separator>,
    /// v3: the whole list.
    codecs: Option<Vec<Extension>>,
    compression: Compression,
    /// v2.
    filters: Option<Vec<Extension>>,
    attributes: Map,
    /// The document that the settings come from, for its members that are not settings.
    document: Map,
    /// The codecs are those of an array that is copied: a setting changes one thing in the list, instead of contradicting it.
    loose: bool,
    /// v3: further members.
    members: Map,
}

#[derive(Clone, Debug)]
enum FillSetting {
    Element(Fill),
    /// As in a document, to be read by the rules of the format.
    Json(Value),
}

impl Spec {
    /// An array of that type and shape.
    pub fn new(data_type: DataType, shape: &[u64]) -> Result<Spec> {
        limits::check_rank(shape.len()).map_err(|e| e.at_field("shape"))?;
        if let Some(d) = shape.iter().position(|&n| n > i64::MAX as u64) {
            return Err(err!(Limit, "{} is {}, the limit is 2^63 - 1", counting::dimension(d, shape.len()), shape[d]).at_field("shape"));
        }
        limits::element_count(shape).map_err(|e| e.at_field("shape"))?;
        if matches!(data_type, DataType::Chars(_)) {
            bail!(Type, "{} exists in memory only; an array has null_terminated_bytes", data_type.name());
        }
        // Structs are stored without gaps. Fields that are all in one order are so in this host's, and stored in the other.
        let mut data_type = data_type.packed()?;
        let byte_order = data_type.field_order().unwrap_or(ByteOrder::NATIVE);
        if data_type.field_order().is_some() {
            data_type = data_type.native();
        }
        Ok(Spec {
            data_type,
            shape: Dims::from_slice(shape),
            shape_is_set: true,
            format: None,
            chunks: None,
            extents: Vec::new(),
            inner_chunks: None,
            fill: FillSetting::Element(default_scalar(data_type)),
            fill_is_set: false,
            dimension_names: None,
            order: Order::C,
            byte_order,
            keys: None,
            separator: None,
            codecs: None,
            compression: Compression::new(),
            filters: None,
            attributes: Map::new(),
            document: Map::new(),
            loose: false,
            members: Map::new(),
        })
    }

    /// Makes a spec of an array of that type and rank, whose shape is set later.
    pub fn without_shape(data_type: DataType, rank: usize) -> Result<Spec> {
        limits::check_rank(rank).map_err(|e| e.at_field("shape"))?;
        Ok(Spec { shape_is_set: false, ..Spec::new(data_type, &vec![0; rank])? })
    }

    /// The lengths of the dimensions, as many as there are.
    pub fn set_shape(&mut self, shape: &[u64]) -> Result<()> {
        if shape.len() != self.rank() {
            let e = err!(Rank, "found {} dimensions, expected {}", shape.len(), self.rank());
            return Err(e.at_field("shape"));
        }
        for (dim, extents) in &self.extents {
            if let Extents::Listed(list) = extents
                && list.end() < shape[*dim]
            {
                let e = err!(Argument, "dimension {dim} is {}, the extents of its chunks add up to {}", shape[*dim], list.end());
                return Err(e.at_field("shape"));
            }
        }
        self.shape = Spec::new(self.data_type, shape)?.shape;
        self.shape_is_set = true;
        Ok(())
    }

    fn need_shape(&self) -> Result<()> {
        if self.shape_is_set { Ok(()) } else { Err(err!(State, "the specification has no shape: give it one").at_field("shape")) }
    }

    /// Whether the shape was set.
    pub fn has_shape(&self) -> bool {
        self.shape_is_set
    }

    /// The array that a metadata document describes: a `.zarray`, or a `zarr.json` with its attributes.
    pub fn from_json(text: &str) -> Result<Spec> {
        let document = match json::parse_given(text)? {
            Value::Object(document) => document,
            other => bail!(Metadata, "found {}, expected an object", brief(&other)),
        };
        let meta = if document.get("zarr_format").is_some_and(|f| json::get_u64(f).is_ok_and(|n| n == 2)) {
            v2::array_from(document)?
        } else if v3::node_type(&document)? == NodeType::Array {
            v3::array_from(document)?
        } else {
            bail!(NodeKind, "the document is a group's, expected an array's");
        };
        Spec::from_meta(meta)
    }

    fn from_meta(meta: ArrayMeta) -> Result<Spec> {
        let data_type = match &meta.codecs {
            // The fields of a struct keep the orders that the document gives them.
            Codecs::V2 { element, .. } => element.data_type,
            Codecs::V3(_) => meta.data_type,
        };
        let mut spec = Spec::new(data_type, &meta.shape)?;
        spec.format = Some(meta.format);
        spec.set_grid(&meta.grid);
        spec.fill = FillSetting::Element(meta.fill);
        spec.fill_is_set = true;
        spec.keys = Some(meta.keys);
        spec.dimension_names = meta.dimension_names;
        match meta.codecs {
            Codecs::V3(list) => {
                spec.codecs = Some(list);
                spec.attributes = v3::attributes(&meta.document).cloned().unwrap_or_default();
                spec.document = meta.document;
            }
            Codecs::V2 { order, element, filters, compressor } => {
                spec.order = order;
                if !matches!(element.data_type, DataType::Struct(_)) {
                    spec.byte_order = element.order;
                }
                (spec.filters, spec.compression.compressor) = (Some(filters), Compressor::Json(compressor));
            }
        }
        Ok(spec)
    }

    /// Makes the spec of a copy of an array with these attributes, in `format` (`None`: the array's version, or 3 for a draft). Every
    /// setting can be changed on its own. Settings that cannot be kept are added to `notes`.
    pub(super) fn like(meta: &ArrayMeta, attributes: Map, format: Option<Format>, notes: &mut Vec<String>) -> Result<Spec> {
        let is_draft = meta.dialect != Dialect::Final;
        let format = format.unwrap_or(if is_draft { Format::V3 } else { meta.format });
        let mut spec = if (format, meta.format, is_draft) == (Format::V2, Format::V2, false) {
            let mut spec = Spec::from_meta(meta.clone())?;
            spec.attributes = attributes;
            spec
        } else {
            let v3 = upgraded(meta, attributes, notes)?;
            let mut spec = Spec::from_meta(v3)?;
            if meta.format == Format::V2 || is_draft {
                spec.keys = None;
            }
            if format == Format::V2 {
                spec.downgrade(notes)?;
            }
            spec
        };
        spec.loose = true;
        Ok(spec)
    }

    /// From version 3 to 2.
    fn downgrade(&mut self, notes: &mut Vec<String>) -> Result<()> {
        let list = self.codecs.take().unwrap_or_default();
        (self.format, self.keys, self.document) = (Some(Format::V2), None, Map::new());
        match codecs_to_v2::codecs(&list, self.rank()) {
            Ok(members) => {
                self.order = members.order();
                self.byte_order = members.byte_order.unwrap_or(self.byte_order);
                if let Some(inner) = &members.inner {
                    self.set_chunks(inner)?;
                }
                (self.filters, self.compression.compressor) = (Some(members.filters), Compressor::Json(members.compressor));
            }
            Err(e) if e.kind() == ErrorKind::Unsupported => notes.push(format!("encoded anew: {}", located(&e))),
            Err(e) => return Err(e),
        }
        if self.dimension_names.as_ref().is_some_and(|n| n.iter().any(Option::is_some) && n.iter().any(Option::is_none)) {
            self.dimension_names = None;
            notes.push("the dimensions' names are lost: zarr_format 2 can name all or none".into());
        }
        Ok(())
    }

    /// Returns the type of the elements in memory.
    pub fn data_type(&self) -> DataType {
        self.data_type.native()
    }

    /// The version, where it is said.
    pub fn format(&self) -> Option<Format> {
        self.format
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Version 2 or 3. Without: that of the enclosing group, else 3.
    pub fn set_format(&mut self, format: Format) -> Result<()> {
        self.format = Some(format);
        Ok(())
    }

    /// The shape of a chunk (of a shard, with inner chunks).
    pub fn set_chunks(&mut self, chunks: &[u64]) -> Result<()> {
        self.chunks = Some(self.check_chunks(chunks).map_err(|e| e.at_field("chunks"))?);
        self.extents.clear();
        Ok(())
    }

    /// The extents of the chunks along dimension `dim`, one after the other; in all at least the array's length there. Other
    /// dimensions keep theirs, of `set_chunks` (before this) or suggested. Equal ones along every dimension make a regular grid, others
    /// a rectilinear one, which v3 has.
    pub fn set_chunk_extents(&mut self, dim: usize, extents: &[u64]) -> Result<()> {
        let extents = self.check_extents(dim, extents).map_err(|e| e.at_field("chunks"))?;
        self.extents.retain(|(d, _)| *d != dim);
        self.extents.push((dim, extents));
        Ok(())
    }

    /// The chunks as `chunk_shapes` of a rectilinear grid has them: for each dimension an integer, or a list of extents and of pairs
    /// `[extent, count]`.
    pub fn set_chunks_json(&mut self, text: &str) -> Result<()> {
        let grid = json::parse_text(text).and_then(|v| v3_grid::rectilinear_grid(&v, &self.shape)).map_err(|e| e.at_field("chunks"))?;
        self.set_grid(&grid);
        Ok(())
    }

    fn set_grid(&mut self, grid: &Grid) {
        self.chunks = Some(grid.largest(&self.shape));
        self.extents = match grid {
            Grid::Regular { .. } => Vec::new(),
            Grid::Rectilinear { extents } => extents.iter().cloned().enumerate().collect(),
        };
    }

    /// v3: chunks become shards that hold chunks of this shape, which must divide that of the shard.
    pub fn set_inner_chunks(&mut self, chunks: &[u64]) -> Result<()> {
        let chunks = self.check_chunks(chunks).map_err(|e| e.at_field("inner_chunks"))?;
        match self.loose_codecs() {
            Some(list) => self.codecs = Some(relist::with_inner_chunks(list, &chunks, index_codecs())),
            None => self.inner_chunks = Some(chunks),
        }
        Ok(())
    }

    /// Chunks that are no shards.
    pub fn unset_inner_chunks(&mut self) -> Result<()> {
        self.inner_chunks = None;
        if let Some(list) = self.loose_codecs() {
            self.codecs = Some(relist::without_shards(list)?);
        }
        Ok(())
    }

    /// The list of an array that is copied, to be changed.
    fn loose_codecs(&mut self) -> Option<Vec<Extension>> {
        if self.loose { self.codecs.take() } else { None }
    }

    /// The type of the elements. The fill value is converted; where it does not fit, it becomes the type's own.
    pub fn set_data_type(&mut self, data_type: DataType) -> Result<()> {
        let fresh = Spec::new(data_type, &self.shape)?;
        let (old, new) = (self.data_type.native(), fresh.data_type.native());
        if let FillSetting::Element(fill) = &self.fill
            && old != new
        {
            self.fill = converted_fill(fill, old, new).map_or(fresh.fill, FillSetting::Element);
        }
        self.data_type = fresh.data_type;
        if old.is_variable() != new.is_variable() && self.filters.as_ref().is_some_and(|filters| filters.len() == 1) {
            // The codec of objects, or none.
            self.filters = Some(self.variable_codec()?.into_iter().collect());
        }
        if let Some(list) = self.loose_codecs() {
            let serial = self.variable_codec()?.unwrap_or_else(|| Extension::new("bytes", Map::new()));
            self.codecs = Some(relist::for_type(list, (old, new), self.byte_order, serial)?);
        }
        Ok(())
    }

    /// The fill value: one native element of type `data_type`, converted to the array's; one that does not fit is an error
    /// of kind `Range`.
    pub fn set_fill(&mut self, data_type: DataType, element: &[u8]) -> Result<()> {
        let fill = convert_fill(data_type, element, self.data_type.native().in_memory()).map_err(|e| e.at_field("fill_value"))?;
        self.fill = FillSetting::Element(fill);
        self.fill_is_set = true;
        Ok(())
    }

    /// The fill value as in a document: `"NaN"`, `"0x7fc00001"`, `[0, 1]`, null (v2).
    pub fn set_fill_json(&mut self, text: &str) -> Result<()> {
        let value = json::parse_text(text).map_err(|e| e.at_field("fill_value"))?;
        let v3 = self.read_fill(&value, Format::V3);
        let read = match self.format {
            Some(Format::V3) => v3,
            Some(Format::V2) => self.read_fill(&value, Format::V2),
            None => v3.or_else(|e| self.read_fill(&value, Format::V2).map_err(|_| e)),
        };
        read?;
        self.fill = FillSetting::Json(value);
        self.fill_is_set = true;
        Ok(())
    }

    /// A name or `None` for each dimension. In v2 they become the attribute `_ARRAY_DIMENSIONS`, which has no place for
    /// unnamed ones beside named ones.
    pub fn set_dimension_names(&mut self, names: Vec<Option<String>>) -> Result<()> {
        if names.len() != self.rank() {
            let e = err!(Rank, "found {} names, expected {}, one for each dimension", names.len(), self.rank());
            return Err(e.at_field("dimension_names"));
        }
        self.dimension_names = Some(names);
        Ok(())
    }

    /// The order of elements inside a chunk: v2 `order`, v3 a transpose.
    pub fn set_order(&mut self, order: Order) -> Result<()> {
        match self.loose_codecs() {
            Some(list) => {
                let reversed = if order == Order::F { self.reversal() } else { None };
                self.codecs = Some(relist::with_order(list, reversed)?);
            }
            None => self.order = order,
        }
        Ok(())
    }

    /// The order of bytes inside an element.
    pub fn set_byte_order(&mut self, byte_order: ByteOrder) -> Result<()> {
        match self.loose_codecs() {
            Some(list) => self.codecs = Some(relist::with_byte_order(list, byte_order)?),
            None => self.byte_order = byte_order,
        }
        Ok(())
    }

    /// How the indices of a chunk become its key: v2 has `KeyEncoding::V2` only.
    pub fn set_key_encoding(&mut self, keys: KeyEncoding) -> Result<()> {
        self.keys = Some(keys);
        Ok(())
    }

    /// Sets the separator between the indices of a chunk's key. Default: `/` in v3, `.` in v2.
    pub fn set_separator(&mut self, separator: Separator) -> Result<()> {
        self.separator = Some(separator);
        Ok(())
    }

    /// The compressor by name: `none`, `zstd`, `gzip`, `zlib`, `bz2`, `lzma`, `lz4`, `pcodec`, `blosc` (that is `blosc:lz4`) or `blosc:`
    /// with a compressor inside. `None` is its default level. It takes the place of `set_zfp`.
    pub fn set_compressor(&mut self, name: &str, level: Option<i32>) -> Result<()> {
        self.replace_compressor(Compressor::named(name, level)?)
    }

    /// Compresses numbers by zfp, in the place of a compressor.
    pub fn set_zfp(&mut self, zfp: Zfp) -> Result<()> {
        self.replace_compressor(Compressor::Zfp(zfp.check()?))
    }

    fn replace_compressor(&mut self, compressor: Compressor) -> Result<()> {
        self.compression.compressor = compressor;
        match self.loose_codecs() {
            Some(list) => {
                let alone = Compression { compressor: self.compression.compressor.clone(), ..Compression::new() };
                let stages = alone.stages(self.data_type, self.byte_order)?;
                self.codecs = Some(relist::with_compressor(list, stages)?);
            }
            None => self.codecs = None,
        }
        Ok(())
    }

    /// Whether and how bytes are put together before compression; `None` leaves it to the compressor.
    pub fn set_shuffle(&mut self, shuffle: Option<Shuffle>) -> Result<()> {
        match self.loose_codecs() {
            Some(list) => self.codecs = Some(relist::with_shuffle(list, shuffle, self.stored_item())?),
            None => self.compression.shuffle = shuffle,
        }
        Ok(())
    }

    /// Rounds numbers to that many bits of their mantissa, so that they compress better; `None` keeps all.
    pub fn set_keep_bits(&mut self, bits: Option<u32>) -> Result<()> {
        let rounding = bits.map(|bits| rounding(bits, self.data_type)).transpose()?;
        match self.loose_codecs() {
            Some(list) => self.codecs = Some(relist::with_rounding(list, rounding)?),
            None => self.compression.keep_bits = bits,
        }
        Ok(())
    }

    /// Whether a CRC-32C is stored behind each chunk (in shards: each inner chunk).
    pub fn set_checksum(&mut self, checksum: bool) -> Result<()> {
        match self.loose_codecs() {
            Some(list) => self.codecs = Some(relist::with_checksum(list, checksum)?),
            None => self.compression.checksum = checksum,
        }
        Ok(())
    }

    /// v3: the whole list `codecs`.
    pub fn set_codecs_json(&mut self, text: &str) -> Result<()> {
        let list = json::parse_text(text).and_then(|v| v3::codec_list(&v)).map_err(|e| e.at_field("codecs"))?;
        self.codecs = Some(list);
        Ok(())
    }

    /// A member as in a document: `codecs`, `compressor`, `filters`; of v3 also `storage_transformers`, `chunk_key_encoding`, one that a program has registered, or
    /// one with `"must_understand": false`.
    pub fn set_member_json(&mut self, name: &str, text: &str) -> Result<()> {
        match name {
            "codecs" => return self.set_codecs_json(text),
            "compressor" => return self.set_compressor_json(text),
            "filters" => return self.set_filters_json(text),
            _ => {}
        }
        let value = json::parse_text(text).map_err(|e| e.at_field(name))?;
        if name == "chunk_key_encoding" {
            self.keys = Some(v3_grid::key_encoding(&value).map_err(|e| e.at_field(name))?);
            return Ok(());
        }
        v3::check_further_member(name, &value)?;
        self.members.insert(name.into(), value);
        Ok(())
    }

    /// v2: `compressor` in numcodecs' form, or null.
    pub fn set_compressor_json(&mut self, text: &str) -> Result<()> {
        let compressor = json::parse_text(text).and_then(|v| v2::compressor(&v)).map_err(|e| e.at_field("compressor"))?;
        self.compression.compressor = Compressor::Json(compressor);
        Ok(())
    }

    /// v2: the list `filters`, or null.
    pub fn set_filters_json(&mut self, text: &str) -> Result<()> {
        let filters = json::parse_text(text).and_then(|v| v2::filter_list(&v)).map_err(|e| e.at_field("filters"))?;
        self.filters = Some(filters);
        Ok(())
    }

    /// The attributes: an object.
    pub fn set_attributes_json(&mut self, text: &str) -> Result<()> {
        // Bare NaN and infinities are refused when the array is created, unless the context allows them.
        match json::parse_given(text).map_err(|e| e.at_field("attributes"))? {
            Value::Object(attributes) => self.attributes = attributes,
            other => return Err(err!(Type, "found {}, expected an object", brief(&other)).at_field("attributes")),
        }
        Ok(())
    }

    /// The lengths of the dimensions.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Whether a fill value was set.
    pub(super) fn fill_is_set(&self) -> bool {
        self.fill_is_set
    }

    /// Adds an attribute to those that are set.
    pub(super) fn insert_attribute(&mut self, name: &str, value: Value) {
        self.attributes.insert(name.into(), value);
    }

    /// The document that an array of this spec gets: `.zarray` or `zarr.json`.
    pub fn to_json(&self) -> Result<String> {
        Ok(json::to_text(&Value::Object(self.resolve(None)?.0.document)))
    }

    /// Sets suggested chunks, and says why these.
    pub fn suggest(&mut self) -> Result<String> {
        self.need_shape()?;
        let item = self.data_type.size();
        let chunks = suggested(&self.shape, item);
        let text = |shape: &[u64]| shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
        let bytes = product(&chunks).saturating_mul(item as u128);
        let count = self.shape.iter().zip(&chunks).map(|(&n, &c)| u128::from(n.div_ceil(c))).fold(1, u128::saturating_mul);
        let why = format!(
            "chunks of [{}] {}: {bytes} bytes each, {count} of them; the longest dimensions of [{}] were halved until a chunk has at most {SUGGESTED_BYTES} bytes",
            text(&chunks),
            self.data_type.name(),
            text(&self.shape),
        );
        self.chunks = Some(chunks);
        self.extents.clear();
        self.inner_chunks = None;
        Ok(why)
    }

    /// Whether the format is left to the enclosing group.
    pub(super) fn needs_format(&self) -> bool {
        self.format.is_none() && !self.only_v2() && !self.only_v3()
    }

    /// The model, its `document` ready to be stored, and the attributes (which v3's document contains already).
    pub(super) fn resolve(&self, enclosing: Option<Format>) -> Result<(ArrayMeta, Map)> {
        let format = match self.format {
            Some(format) => format,
            None if self.only_v2() => Format::V2,
            None if self.only_v3() => Format::V3,
            None => enclosing.unwrap_or(Format::V3),
        };
        self.need_shape()?;
        self.check_format(format)?;
        if let (Format::V2, DataType::Foreign(registered)) = (format, self.data_type)
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
            fill: self.resolve_fill(format)?,
            dimension_names: names,
            document,
        };
        let chain = Chain::parse(&meta.codecs, meta.data_type, meta.shape.len())?;
        bind_largest(&chain, &meta.grid, &meta.shape)?;
        chain.check_fill(&meta.fill.element(meta.data_type))?;
        meta.document = if format == Format::V3 { v3::write_array(&meta) } else { v2::write_array(&meta) };
        Ok((meta, attributes))
    }

    fn only_v2(&self) -> bool {
        self.filters.is_some() || matches!(self.compression.compressor, Compressor::Json(_))
    }

    fn only_v3(&self) -> bool {
        self.codecs.is_some() || self.inner_chunks.is_some() || self.has_listed_extents() || !self.members.is_empty()
    }

    /// Whether the chunks are to be suggested.
    pub(super) fn leaves_chunks(&self) -> bool {
        !self.chunks_are_set() && self.inner_chunks.is_none()
    }

    fn chunks_are_set(&self) -> bool {
        self.chunks.is_some() || !self.extents.is_empty()
    }

    fn has_listed_extents(&self) -> bool {
        self.extents.iter().any(|(_, e)| matches!(e, Extents::Listed(_)))
    }

    fn grid(&self) -> Result<Grid> {
        let chunks = self.chunks.clone().unwrap_or_else(|| self.suggested_beside());
        let mut all: Vec<Extents> = chunks.into_iter().map(Extents::Repeat).collect();
        for (d, extents) in &self.extents {
            all[*d] = extents.clone();
        }
        Grid::rectilinear(all)
    }

    /// Suggested chunks, where the extents along some dimensions are given.
    fn suggested_beside(&self) -> Dims {
        let (mut shape, mut item) = (self.shape.clone(), self.data_type.size());
        for (d, extents) in &self.extents {
            let largest = extents.within(self.shape[*d]).max().unwrap_or(1);
            shape[*d] = 1;
            item = usize::try_from(largest).map_or(usize::MAX, |n| item.saturating_mul(n));
        }
        suggested(&shape, item)
    }

    fn check_extents(&self, dim: usize, extents: &[u64]) -> Result<Extents> {
        let Some(&length) = self.shape.get(dim) else {
            bail!(Bounds, "{} of an array of rank {}", counting::dimension(dim, self.rank()), self.rank())
        };
        let mut list = Runs::new();
        for (i, &extent) in extents.iter().enumerate() {
            if extent == 0 {
                bail!(
                    Argument,
                    "extent {} along {} is 0, expected at least 1",
                    counting::position(i as i64),
                    counting::dimension(dim, self.rank())
                );
            }
            list.push(extent, 1)?;
        }
        if extents.is_empty() || self.shape_is_set && list.end() < length {
            bail!(
                Argument,
                "the extents along {} add up to {}, expected at least its length {length}",
                counting::dimension(dim, self.rank()),
                list.end()
            );
        }
        let mut runs = list.iter();
        match (runs.next(), runs.next()) {
            (Some((extent, _)), None) => Ok(Extents::Repeat(extent)),
            _ => {
                drop(runs);
                Ok(Extents::Listed(list))
            }
        }
    }

    fn check_format(&self, format: Format) -> Result<()> {
        let refuse = |field: &str, other: i32| {
            let e = err!(Unsupported, "exists in zarr_format {other} only; the array is to be of zarr_format {}", format.number());
            Err(e.at_field(field))
        };
        match format {
            Format::V2 if self.codecs.is_some() => refuse("codecs", 3),
            Format::V2 if !self.members.is_empty() => refuse("a member of its own", 3),
            Format::V2 if self.inner_chunks.is_some() => refuse("inner_chunks", 3),
            Format::V2 if self.has_listed_extents() => refuse("chunks", 3),
            Format::V3 if self.filters.is_some() => refuse("filters", 2),
            Format::V3 if matches!(self.compression.compressor, Compressor::Json(_)) => refuse("compressor", 2),
            _ => Ok(()),
        }
    }

    fn check_chunks(&self, chunks: &[u64]) -> Result<Dims> {
        if chunks.len() != self.rank() {
            bail!(Rank, "found {} extents, expected {}, one for each dimension", chunks.len(), self.rank());
        }
        match chunks.iter().position(|&c| c == 0 || c > i64::MAX as u64) {
            Some(d) => bail!(Argument, "{} is {}, expected 1 to 2^63 - 1", counting::dimension(d, chunks.len()), chunks[d]),
            None => Ok(Dims::from_slice(chunks)),
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

    fn read_fill(&self, value: &Value, format: Format) -> Result<Fill> {
        let read = match format {
            Format::V3 => Fill::from_json_v3(self.data_type.native(), value),
            Format::V2 => Fill::from_json_v2(ElementType::new(self.data_type, self.byte_order), value),
        };
        read.map_err(|e| e.at_field("fill_value"))
    }

    fn resolve_fill(&self, format: Format) -> Result<Fill> {
        let fill = match &self.fill {
            FillSetting::Element(fill) if self.data_type.is_variable() && *fill == Fill::zero() => {
                Fill::variable(if self.data_type == DataType::VarJson { b"null" } else { b"" })
            }
            FillSetting::Element(fill) => fill.clone(),
            FillSetting::Json(value) => self.read_fill(value, format)?,
        };
        if format == Format::V3 && !fill.defined {
            return Err(err!(Unsupported, "null exists in zarr_format 2 only").at_field("fill_value"));
        }
        if let (DataType::Foreign(registered), true) = (self.data_type, fill.defined) {
            registered.fill_to_json(&fill).map_err(|e| e.at_field("fill_value"))?;
        }
        Ok(fill)
    }

    fn codecs_v2(&self) -> Result<Codecs> {
        let element = ElementType::new(self.data_type, self.byte_order);
        if element.swapped() && self.data_type.is_number() && !DataType::NUMPY.contains(&self.data_type) {
            let e = err!(Unsupported, "zarr_format 2 has no name for {} with the most significant byte first", self.data_type.name());
            return Err(e.at_field("byte_order"));
        }
        let mut filters = match &self.filters {
            Some(filters) => filters.clone(),
            None => self.variable_codec()?.into_iter().collect(),
        };
        let stages = self.compression.stages(self.data_type, self.byte_order)?;
        let plain = |codec: &Extension| codecs_to_v2::plain(codec).map_err(|e| e.at_field("compression"));
        filters.extend(stages.filter.as_ref().map(plain).transpose()?);
        let mut rest = stages.serial.iter().chain(&stages.bytes).map(plain).collect::<Result<Vec<_>>>()?;
        if let Compressor::Json(Some(codec)) = &self.compression.compressor {
            rest.push(codec.clone());
        }
        rest.extend(stages.checksum.as_ref().map(plain).transpose()?);
        // The last codec is the compressor, the others are filters that come before it.
        let compressor = rest.pop();
        filters.append(&mut rest);
        Ok(Codecs::V2 { order: self.order, element, filters, compressor })
    }

    /// Bytes of an element as compressors see it.
    fn stored_item(&self) -> usize {
        if self.data_type.is_variable() { 1 } else { self.data_type.size() }
    }

    /// The codec that makes bytes of elements of variable length, where they are.
    fn variable_codec(&self) -> Result<Option<Extension>> {
        Ok(match self.data_type {
            DataType::VarText => Some(Extension::new("vlen-utf8", Map::new())),
            DataType::VarBytes => Some(Extension::new("vlen-bytes", Map::new())),
            DataType::VarJson => Some(Extension::new("json2", Map::new())),
            DataType::VarArray(number) => Some(configured("vlen-array", [("dtype", number.numpy().into())])),
            _ => None,
        })
    }

    fn codecs_v3(&self, grid: &Grid) -> Result<Vec<Extension>> {
        let simple = match &self.codecs {
            Some(list) => return self.listed_codecs(list),
            None => self.simple_codecs()?,
        };
        let Some(inner) = &self.inner_chunks else { return Ok(simple) };
        for (d, &inner) in inner.iter().enumerate() {
            if let Some(extent) = grid.odd_extent(d, self.shape[d], inner) {
                let at = counting::dimension(d, self.rank());
                let e = match self.chunks_are_set() {
                    true => err!(Argument, "{at} is {inner}, which does not divide the chunk's {extent}"),
                    false => err!(Argument, "{at} is {inner}, and no chunks are set: set chunks of a multiple of the inner ones"),
                };
                return Err(e.at_field("inner_chunks"));
            }
        }
        Ok(vec![relist::shards(inner, &simple, index_codecs())])
    }

    /// A list that is given says everything; other settings of the same things would be lost.
    fn listed_codecs(&self, list: &[Extension]) -> Result<Vec<Extension>> {
        let lost = match (&self.inner_chunks, self.order, self.byte_order) {
            (Some(_), ..) => "inner_chunks",
            (_, Order::F, _) => "order",
            (.., ByteOrder::Big) => "byte_order",
            _ => match self.compression.beside_compressor() {
                Some(name) => name,
                None => return Ok(list.to_vec()),
            },
        };
        Err(err!(Argument, "is set, and the codecs are given as a list, too; put it into the list").at_field(lost))
    }

    /// The chain without shards.
    fn simple_codecs(&self) -> Result<Vec<Extension>> {
        let mut codecs = Vec::new();
        if self.order == Order::F {
            codecs.extend(self.reversal());
        }
        let stages = self.compression.stages(self.data_type, self.byte_order)?;
        codecs.extend(stages.filter);
        codecs.push(match (stages.serial, self.data_type.has_order(), self.byte_order) {
            (Some(serial), ..) => serial,
            _ if self.data_type.is_variable() => match self.data_type {
                DataType::VarText | DataType::VarBytes => self.variable_codec()?.unwrap_or_else(|| Extension::new("bytes", Map::new())),
                other => bail!(Unsupported, "{} exists in zarr_format 2 only", other.name()),
            },
            (_, false, _) => Extension::new("bytes", Map::new()),
            (.., ByteOrder::Little) => configured("bytes", [("endian", "little".into())]),
            (.., ByteOrder::Big) => configured("bytes", [("endian", "big".into())]),
        });
        codecs.extend(stages.bytes.into_iter().chain(stages.checksum));
        Ok(codecs)
    }

    /// The transpose that makes F order.
    fn reversal(&self) -> Option<Extension> {
        let reversed: Vec<u64> = (0..self.rank() as u64).rev().collect();
        (self.rank() > 1).then(|| configured("transpose", [("order", number_list(&reversed))]))
    }
}

/// The codecs of a shard's index.
fn index_codecs() -> Value {
    let index = [configured("bytes", [("endian", "little".into())]), Extension::new("crc32c", Map::new())];
    Value::Array(index.iter().map(Extension::to_v3).collect())
}

/// An array of rank 0 whose (no) names were given gets the empty list: without it xarray does not know the array's dimensions.
fn names_to_attributes(names: Option<Vec<Option<String>>>, attributes: &mut Map) -> Result<()> {
    let Some(names) = names.filter(|names| names.is_empty() || names.iter().any(Option::is_some)) else { return Ok(()) };
    let all: Option<Vec<Value>> = names.into_iter().map(|n| n.map(Value::from)).collect();
    let Some(all) = all else { return Err(v2_unnamed()) };
    attributes.insert(v2::DIMENSIONS.into(), all.into());
    Ok(())
}

/// The error of v2 arrays that are to have unnamed dimensions beside named ones.
pub(super) fn v2_unnamed() -> Error {
    err!(Unsupported, "found named and unnamed dimensions; zarr_format 2 can name all of them or none").at_field("dimension_names")
}

/// The array in version 3; with a plain list of codecs where its own has no form there.
fn upgraded(meta: &ArrayMeta, attributes: Map, notes: &mut Vec<String>) -> Result<ArrayMeta> {
    if meta.format == Format::V3 && meta.dialect == Dialect::Final {
        let mut same = meta.clone();
        same.document.insert("attributes".into(), Value::Object(attributes));
        return Ok(same);
    }
    if !meta.fill.defined {
        notes.push("the fill value null became 0".into());
    }
    match upgrade::array(meta, attributes.clone()) {
        Err(e) if upgrade::may_recode(&e) && !meta.data_type.is_variable() => {
            notes.push(format!("encoded anew: {}", located(&e)));
            upgrade::recoded(meta, attributes)
        }
        other => other,
    }
}

/// What an error says, and where.
fn located(e: &Error) -> String {
    let field = e.field().map(|f| format!(" ({f})")).unwrap_or_default();
    format!("{}{field}", counting::render(e.message(), Counting::C))
}

/// The fill value as one of another type, if it fits.
pub(super) fn converted_fill(fill: &Fill, from: DataType, to: DataType) -> Option<Fill> {
    let sized = !from.is_variable() && !to.is_variable();
    let converted = if sized { convert_fill(from, &fill.element(from), to).ok()? } else { return None };
    Some(Fill { defined: fill.defined, ..converted })
}

fn convert_fill(from: DataType, element: &[u8], to: DataType) -> Result<Fill> {
    if element.len() != from.size() {
        bail!(BufferSize, "found {} bytes, expected the {} of one {}", element.len(), from.size(), from.name());
    }
    if from == to {
        return Ok(Fill::from_bytes(element));
    }
    let fill = convert_one(from, element, to)?;
    // The elements of a region lose their fractions; a fill value is stated once, so that losing it would be an oversight.
    if from.kind() == Kind::Float && matches!(to.kind(), Kind::Int | Kind::UInt) {
        let value = f64::from_ne_bytes(convert_one(from, element, DataType::Float64)?.try_into().unwrap_or_default());
        if value.fract() != 0.0 {
            bail!(Range, "the value {value} has a fraction, which {} has no place for", to.name());
        }
    }
    Ok(Fill::from_bytes(&fill))
}

/// One element of `from` (of its size) as one of `to`.
fn convert_one(from: DataType, element: &[u8], to: DataType) -> Result<Vec<u8>> {
    let transfer = Transfer::new(ElementType::native(from), ElementType::native(to))?;
    let mut out = vec![0u8; to.size()];
    // SAFETY: the source holds one element of `from` (checked by the caller), the destination has room for one of `to`.
    let done = unsafe { transfer.run(Run::one(element.as_ptr(), out.as_mut_ptr())) };
    match done {
        Ok(()) => Ok(out),
        Err(_) => bail!(Range, "the value of type {} does not fit into {}", from.name(), to.name()),
    }
}

fn product(dims: &[u64]) -> u128 {
    dims.iter().map(|&n| u128::from(n)).fold(1, u128::saturating_mul)
}

/// The whole shape, its longest dimensions halved until a chunk has at most about 1 MiB. The first dimension of length 0, which is there to be
/// appended to, gets as many of what is beside it as fit into 1 MiB: a power of two; further ones get 1.
pub(super) fn suggested(shape: &[u64], item: usize) -> Dims {
    let mut chunk: Dims = shape.iter().map(|&n| n.max(1)).collect();
    while product(&chunk).saturating_mul(item as u128) > SUGGESTED_BYTES {
        // The first of equals: elements along the last dimension are adjacent in memory.
        let longest = chunk.iter().copied().max().unwrap_or(1);
        match chunk.iter_mut().find(|c| **c == longest) {
            Some(c) if *c > 1 => *c = c.div_ceil(2),
            _ => break,
        }
    }
    if let Some(grows) = shape.iter().position(|&n| n == 0) {
        let step = product(&chunk).saturating_mul(item.max(1) as u128);
        let fit = u64::try_from(SUGGESTED_BYTES / step).unwrap_or(1);
        chunk[grows] = fit.checked_ilog2().map_or(1, |n| 1 << n);
    }
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        Spec::new(DataType::Float32, &[100, 64]).unwrap()
    }

    fn document(spec: &Spec) -> Map {
        json::parse_object(spec.to_json().unwrap().as_bytes(), 1 << 20).unwrap()
    }

    #[test]
    fn chunks_are_suggested_by_halving() {
        let cases: &[(&[u64], usize, &[u64])] = &[
            (&[], 8, &[]),
            (&[0, 64, 64], 8, &[32, 64, 64]),
            (&[64, 0, 96], 4, &[64, 32, 96]),
            (&[0, 0], 4, &[1 << 18, 1]),
            (&[0, 1 << 10, 1 << 10], 8, &[1, 256, 512]),
            (&[0], 8, &[1 << 17]),
            (&[100, 64, 64], 8, &[50, 32, 64]),
            (&[10], 8, &[10]),
            (&[1 << 40], 1, &[1 << 20]),
            (&[1024, 1024], 4, &[512, 512]),
        ];
        for (shape, item, want) in cases {
            assert_eq!(suggested(shape, *item).as_slice(), *want, "{shape:?}");
        }
        let huge = suggested(&[i64::MAX as u64; 64], 16);
        assert!(product(&huge) * 16 <= SUGGESTED_BYTES && huge.iter().all(|&c| c >= 1));
    }

    #[test]
    fn a_suggestion_is_set_and_explained() {
        let mut s = Spec::new(DataType::Float64, &[100, 64, 64]).unwrap();
        let why = s.suggest().unwrap();
        assert!(why.contains("[50 x 32 x 64] float64: 819200 bytes each, 4 of them"), "{why}");
        assert_eq!(s.chunks.unwrap().as_slice(), [50, 32, 64]);
    }

    #[test]
    fn the_default_is_version_3_with_zstd() {
        let d = document(&spec());
        let codecs =
            r#"[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1,"checksum":false}}]"#;
        assert_eq!(d["codecs"].to_string(), codecs);
        assert_eq!(d["chunk_key_encoding"].to_string(), r#"{"name":"default","configuration":{"separator":"/"}}"#);
        assert_eq!((d["zarr_format"].to_string(), d["attributes"].to_string()), ("3".into(), "{}".into()));
    }

    #[test]
    fn compressors_have_the_form_of_their_format() {
        let cases: &[(&str, Option<i32>, Format, &str)] = &[
            ("zstd", Some(3), Format::V2, r#"{"id":"zstd","level":3}"#),
            ("gzip", None, Format::V2, r#"{"id":"gzip","level":5}"#),
            ("zlib", Some(9), Format::V2, r#"{"id":"zlib","level":9}"#),
            ("blosc", None, Format::V2, r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#),
            ("none", None, Format::V2, "null"),
            ("gzip", Some(1), Format::V3, r#"{"name":"gzip","configuration":{"level":1}}"#),
            (
                "blosc",
                Some(9),
                Format::V3,
                r#"{"name":"blosc","configuration":{"cname":"lz4","clevel":9,"shuffle":"shuffle","typesize":4,"blocksize":0}}"#,
            ),
        ];
        for (name, level, format, want) in cases {
            let mut s = spec();
            s.set_compressor(name, *level).unwrap();
            s.set_format(*format).unwrap();
            let d = document(&s);
            let got = if *format == Format::V2 { &d["compressor"] } else { &d["codecs"][1] };
            assert_eq!(got.to_string(), *want);
        }
    }

    /// Settings of compression, and the list or the members that the setters of JSON would have been given.
    #[test]
    fn compression_is_typed_in_both_formats() {
        type Set = fn(&mut Spec) -> Result<()>;
        const BYTES: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        const ROUND: &str = r#"{"name":"numcodecs.bitround","configuration":{"keepbits":12}}"#;
        const SHUFFLE: &str = r#"{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}"#;
        let cases: &[(Set, &[&str], &str, &str)] = &[
            (
                |s| s.set_compressor("lz4", None),
                &[BYTES, r#"{"name":"numcodecs.lz4","configuration":{"acceleration":1}}"#],
                "null",
                r#"{"id":"lz4","acceleration":1}"#,
            ),
            (
                |s| s.set_compressor("zlib", Some(2)),
                &[BYTES, r#"{"name":"numcodecs.zlib","configuration":{"level":2}}"#],
                "null",
                r#"{"id":"zlib","level":2}"#,
            ),
            (
                |s| s.set_compressor("bz2", None),
                &[BYTES, r#"{"name":"numcodecs.bz2","configuration":{"level":5}}"#],
                "null",
                r#"{"id":"bz2","level":5}"#,
            ),
            (
                |s| s.set_compressor("lzma", Some(1)),
                &[BYTES, r#"{"name":"numcodecs.lzma","configuration":{"preset":1}}"#],
                "null",
                r#"{"id":"lzma","preset":1}"#,
            ),
            (
                |s| s.set_compressor("pcodec", None),
                &[r#"{"name":"numcodecs.pcodec","configuration":{"level":8}}"#],
                "null",
                r#"{"id":"pcodec","level":8}"#,
            ),
            (
                |s| s.set_compressor("blosc:zstd", Some(3)).and(s.set_shuffle(Some(Shuffle::Bit))).and(s.set_keep_bits(Some(12))),
                &[
                    ROUND,
                    BYTES,
                    r#"{"name":"blosc","configuration":{"cname":"zstd","clevel":3,"shuffle":"bitshuffle","typesize":4,"blocksize":0}}"#,
                ],
                r#"[{"id":"bitround","keepbits":12}]"#,
                r#"{"id":"blosc","cname":"zstd","clevel":3,"shuffle":2,"blocksize":0}"#,
            ),
            (
                |s| s.set_shuffle(Some(Shuffle::Byte)).and(s.set_checksum(true)),
                &[BYTES, SHUFFLE, r#"{"name":"zstd","configuration":{"level":1,"checksum":false}}"#, r#"{"name":"crc32c"}"#],
                r#"[{"id":"shuffle","elementsize":4},{"id":"zstd","level":1}]"#,
                r#"{"id":"crc32c","location":"end"}"#,
            ),
            (
                |s| s.set_zfp(Zfp::Accuracy(0.5)),
                &[r#"{"name":"numcodecs.zfpy","configuration":{"mode":4,"tolerance":0.5}}"#],
                "null",
                r#"{"id":"zfpy","mode":4,"tolerance":0.5}"#,
            ),
            (
                |s| s.set_zfp(Zfp::Precision(20)),
                &[r#"{"name":"numcodecs.zfpy","configuration":{"mode":3,"precision":20}}"#],
                "null",
                r#"{"id":"zfpy","mode":3,"precision":20}"#,
            ),
            (
                |s| s.set_compressor("none", None).and(s.set_keep_bits(Some(12))),
                &[ROUND, BYTES],
                r#"[{"id":"bitround","keepbits":12}]"#,
                "null",
            ),
        ];
        for (set, v3, filters, compressor) in cases {
            let mut typed = spec();
            set(&mut typed).unwrap();
            let codecs = format!("[{}]", v3.join(","));
            let mut given = spec();
            given.set_codecs_json(&codecs).unwrap();
            assert_eq!(document(&typed), document(&given), "{codecs}");
            typed.set_chunks(&[50, 64]).unwrap();
            typed.set_inner_chunks(&[10, 32]).unwrap();
            assert_eq!(document(&typed)["codecs"][0]["configuration"]["codecs"].to_string(), codecs);
            let (mut typed, mut given) = (spec(), spec());
            set(&mut typed).unwrap();
            typed.set_format(Format::V2).unwrap();
            given.set_filters_json(filters).unwrap();
            given.set_compressor_json(compressor).unwrap();
            assert_eq!(document(&typed), document(&given), "{filters} {compressor}");
        }
        let mut other = Spec::new(DataType::Int16, &[8]).unwrap();
        other.set_zfp(Zfp::Reversible).unwrap();
        assert_eq!(document(&other)["codecs"].to_string(), r#"[{"name":"zfp","configuration":{"mode":"reversible"}}]"#);
        assert_eq!(other.set_keep_bits(Some(1)).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    /// A copy's list changes in one place.
    #[test]
    fn typed_compression_changes_the_list_of_a_copy() {
        let mut source = spec();
        source.set_chunks(&[50, 64]).unwrap();
        source.set_inner_chunks(&[10, 32]).unwrap();
        source.set_compressor("blosc", None).unwrap();
        let (meta, attributes) = source.resolve(None).unwrap();
        let mut copy = Spec::like(&meta, attributes, None, &mut Vec::new()).unwrap();
        let inner = |s: &Spec| {
            let list = document(s)["codecs"][0]["configuration"]["codecs"].clone();
            list.as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap().to_string()).collect::<Vec<_>>()
        };
        copy.set_shuffle(Some(Shuffle::Bit)).unwrap();
        assert_eq!(document(&copy)["codecs"][0]["configuration"]["codecs"][1]["configuration"]["shuffle"].to_string(), "\"bitshuffle\"");
        copy.set_keep_bits(Some(9)).unwrap();
        copy.set_checksum(true).unwrap();
        assert_eq!(inner(&copy), ["numcodecs.bitround", "bytes", "blosc", "crc32c"]);
        copy.set_compressor("zstd", None).unwrap();
        assert_eq!(copy.set_shuffle(Some(Shuffle::Bit)).unwrap_err().field(), Some("shuffle"));
    }

    #[test]
    fn a_shape_may_come_later() {
        let mut s = Spec::without_shape(DataType::Float32, 2).unwrap();
        s.set_chunk_extents(0, &[3, 4]).unwrap();
        let e = s.to_json().unwrap_err();
        assert_eq!((e.kind(), e.field()), (ErrorKind::State, Some("shape")));
        assert_eq!(s.suggest().unwrap_err().kind(), ErrorKind::State);
        assert_eq!(s.set_shape(&[8, 5]).unwrap_err().field(), Some("shape"));
        s.set_shape(&[7, 5]).unwrap();
        assert_eq!(document(&s)["shape"].to_string(), "[7,5]");
    }

    #[test]
    fn shards_hold_the_simple_chain() {
        let mut s = spec();
        s.set_chunks(&[50, 64]).unwrap();
        s.set_inner_chunks(&[10, 32]).unwrap();
        s.set_compressor("none", None).unwrap();
        let d = document(&s);
        let sharding = &d["codecs"][0]["configuration"];
        assert_eq!(d["codecs"].as_array().unwrap().len(), 1);
        assert_eq!(sharding["chunk_shape"].to_string(), "[10,32]");
        assert_eq!(sharding["codecs"].to_string(), r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#);
        assert_eq!(sharding["index_codecs"][1].to_string(), r#"{"name":"crc32c"}"#);
        s.set_inner_chunks(&[7, 32]).unwrap();
        assert_eq!(s.to_json().unwrap_err().field(), Some("inner_chunks"));
    }

    #[test]
    fn order_and_byte_order() {
        let mut s = spec();
        s.set_order(Order::F).unwrap();
        let mut narrow = Spec::new(DataType::Narrow(crate::dtype::Narrow::BFloat16), &[4]).unwrap();
        narrow.set_format(Format::V2).unwrap();
        assert!(narrow.to_json().is_ok());
        narrow.set_byte_order(ByteOrder::Big).unwrap();
        assert_eq!(narrow.to_json().unwrap_err().field(), Some("byte_order"));
        s.set_byte_order(ByteOrder::Big).unwrap();
        s.set_compressor("none", None).unwrap();
        assert_eq!(
            document(&s)["codecs"].to_string(),
            r#"[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}}]"#
        );
        s.set_format(Format::V2).unwrap();
        s.set_separator(Separator::Slash).unwrap();
        let d = document(&s);
        assert_eq!((d["dtype"].to_string(), d["order"].to_string()), ("\">f4\"".into(), "\"F\"".into()));
        assert_eq!(d["dimension_separator"].to_string(), "\"/\"");
    }

    #[test]
    fn wrong_settings_name_their_field() {
        use ErrorKind::*;
        type Set = fn(&mut Spec) -> Result<()>;
        let cases: &[(Set, ErrorKind, &str)] = &[
            (|s| s.set_chunks(&[1]), Rank, "chunks"),
            (|s| s.set_chunks(&[1, 0]), Argument, "chunks"),
            (|s| s.set_inner_chunks(&[0, 1]), Argument, "inner_chunks"),
            (|s| s.set_dimension_names(vec![None]), Rank, "dimension_names"),
            (|s| s.set_compressor("zstd", Some(23)), Argument, "compressor"),
            (|s| s.set_compressor("gzip", Some(10)), Argument, "compressor"),
            (|s| s.set_compressor("snappy", None), Unsupported, "compressor"),
            (|s| s.set_compressor("blosc:snappy", None), Unsupported, "compressor"),
            (|s| s.set_compressor("lz4", Some(0)), Argument, "compressor"),
            (|s| s.set_zfp(Zfp::Accuracy(f64::NAN)), Argument, "zfp"),
            (|s| s.set_zfp(Zfp::Precision(65)), Argument, "zfp"),
            (|s| s.set_keep_bits(Some(24)), Argument, "keep_bits"),
            (|s| s.set_keep_bits(Some(0)), Argument, "keep_bits"),
            (|s| s.set_shape(&[1]), Rank, "shape"),
            (|s| s.set_fill_json("\"x\""), Metadata, "fill_value"),
            (|s| s.set_fill_json("{"), Argument, "fill_value"),
            (|s| s.set_fill(DataType::Float64, &[0; 4]), BufferSize, "fill_value"),
            (|s| s.set_codecs_json("{}"), Metadata, "codecs"),
            (|s| s.set_filters_json("7"), Metadata, "filters"),
            (|s| s.set_compressor_json("\"zlib\""), Metadata, "compressor"),
            (|s| s.set_attributes_json("[]"), Type, "attributes"),
            (|s| s.set_attributes_json("{\"a\":NaN"), Argument, "attributes"),
            (|s| s.set_codecs_json("["), Argument, "codecs"),
        ];
        for (i, (set, kind, field)) in cases.iter().enumerate() {
            let e = set(&mut spec()).expect_err(field);
            assert_eq!((e.kind(), e.field().map(|f| f.starts_with(field))), (*kind, Some(true)), "{i}: {e}");
        }
    }

    #[test]
    fn settings_that_contradict_are_refused_at_the_end() {
        use ErrorKind::*;
        type Set = fn(&mut Spec);
        let cases: &[(Set, ErrorKind, &str)] = &[
            (|s| drop((s.set_format(Format::V2), s.set_inner_chunks(&[1, 1]))), Unsupported, "inner_chunks"),
            (|s| drop((s.set_format(Format::V2), s.set_codecs_json("[\"bytes\"]"))), Unsupported, "codecs"),
            (|s| drop((s.set_format(Format::V3), s.set_filters_json("null"))), Unsupported, "filters"),
            (|s| drop((s.set_format(Format::V3), s.set_compressor_json("null"))), Unsupported, "compressor"),
            (|s| drop((s.set_compressor("zstd", None), s.set_shuffle(Some(Shuffle::Bit)))), Unsupported, "shuffle"),
            (|s| drop((s.set_zfp(Zfp::Rate(8.0)), s.set_shuffle(Some(Shuffle::Byte)))), Unsupported, "shuffle"),
            (|s| drop((s.set_keep_bits(Some(20)), s.set_data_type(DataType::Float16))), Argument, "keep_bits"),
            (|s| drop((s.set_checksum(true), s.set_codecs_json("[\"bytes\"]"))), Argument, "checksum"),
            (|s| drop(s.set_inner_chunks(&[7, 32])), Argument, "inner_chunks"),
            (|s| drop(s.set_fill_json("null")), Metadata, "fill_value"),
            (|s| drop((s.set_codecs_json("[\"bytes\"]"), s.set_order(Order::F))), Argument, "order"),
            (|s| drop((s.set_codecs_json("[\"bytes\"]"), s.set_inner_chunks(&[1, 1]))), Argument, "inner_chunks"),
            (|s| drop((s.set_format(Format::V2), s.set_dimension_names(vec![None, Some("x".into())]))), Unsupported, "dimension_names"),
        ];
        for (i, (set, kind, field)) in cases.iter().enumerate() {
            let mut s = spec();
            set(&mut s);
            let e = s.to_json().expect_err(field);
            assert_eq!((e.kind(), e.field()), (*kind, Some(*field)), "{i}: {e}");
        }
        assert!(Spec::new(DataType::Int8, &[1; 65]).is_err());
        assert!(Spec::new(DataType::Int8, &[u64::MAX]).is_err());
    }

    #[test]
    fn fill_values_are_converted_and_checked() {
        let mut s = Spec::new(DataType::Int16, &[4]).unwrap();
        s.set_fill(DataType::Float64, &7f64.to_ne_bytes()).unwrap();
        assert_eq!(document(&s)["fill_value"].to_string(), "7");
        let e = s.set_fill(DataType::Int32, &70_000i32.to_ne_bytes()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Range);
        let e = s.set_fill(DataType::Float64, &1.5f64.to_ne_bytes()).unwrap_err();
        assert!(e.kind() == ErrorKind::Range && e.to_string().contains("fill_value: the value 1.5 has a fraction"), "{e}");
        s.set_format(Format::V2).unwrap();
        s.set_fill_json("null").unwrap();
        assert!(document(&s)["fill_value"].is_null());
    }

    #[test]
    fn a_document_gives_the_same_document() {
        let text = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
            "chunk_key_encoding":{"name":"v2","configuration":{"separator":"."}},"fill_value":1,"codecs":[{"name":"bytes"}],
            "dimension_names":["x"],"note":{"must_understand":false,"n":1},"attributes":{"a":12345678901234567890123}}"#;
        let d = document(&Spec::from_json(text).unwrap());
        let source = json::parse_object(text.as_bytes(), 1 << 20).unwrap();
        assert_eq!(Value::Object(d), Value::Object(source));
        let v2 = r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"|i1","order":"C","filters":null,
            "compressor":{"id":"zlib","level":1},"fill_value":null,"dimension_separator":"."}"#;
        let d = document(&Spec::from_json(v2).unwrap());
        assert_eq!(Value::Object(d), Value::Object(json::parse_object(v2.as_bytes(), 1 << 20).unwrap()));
        for (text, kind) in [("{", ErrorKind::Argument), ("[]", ErrorKind::Metadata), ("{}", ErrorKind::Metadata)] {
            assert_eq!(Spec::from_json(text).unwrap_err().kind(), kind, "{text}");
        }
        assert_eq!(Spec::from_json(r#"{"zarr_format":3,"node_type":"group"}"#).unwrap_err().kind(), ErrorKind::NodeKind);
    }

    #[test]
    fn v2_names_become_an_attribute() {
        let mut s = spec();
        s.set_format(Format::V2).unwrap();
        s.set_dimension_names(vec![Some("t".into()), Some("x".into())]).unwrap();
        let (_, attributes) = s.resolve(None).unwrap();
        assert_eq!(attributes[v2::DIMENSIONS].to_string(), r#"["t","x"]"#);
        s.set_dimension_names(vec![None, None]).unwrap();
        assert!(s.resolve(None).unwrap().1.is_empty());
        let mut scalar = Spec::new(DataType::Int32, &[]).unwrap();
        scalar.set_format(Format::V2).unwrap();
        assert!(scalar.resolve(None).unwrap().1.is_empty());
        scalar.set_dimension_names(vec![]).unwrap();
        assert_eq!(scalar.resolve(None).unwrap().1[v2::DIMENSIONS].to_string(), "[]");
    }

    #[test]
    fn the_format_follows_the_settings_then_the_group() {
        let format = |s: &Spec| s.resolve(Some(Format::V2)).unwrap().0.format;
        let mut s = spec();
        assert_eq!((s.needs_format(), format(&s)), (true, Format::V2));
        s.set_codecs_json("[\"bytes\"]").unwrap_or_default();
        let mut sharded = spec();
        sharded.set_inner_chunks(&[1, 1]).unwrap();
        assert_eq!((sharded.needs_format(), format(&sharded)), (false, Format::V3));
        let mut filtered = spec();
        filtered.set_filters_json("null").unwrap();
        assert_eq!((filtered.needs_format(), filtered.resolve(None).unwrap().0.format), (false, Format::V2));
        let mut fixed = spec();
        fixed.set_format(Format::V3).unwrap();
        assert_eq!((fixed.needs_format(), format(&fixed)), (false, Format::V3));
    }
}
