//! The codecs of what to create: the settings of compression, shuffling, order and shards, and the list that they make in each version.

use super::Spec;
use crate::counting;
use crate::dtype::{ByteOrder, DataType, ElementType, parse_v2};
use crate::error::{Result, bail, err};
use crate::grid::Grid;
use crate::metadata::extension::Extension;
use crate::metadata::{Codecs, Map, Order, Value, codecs_to_v2, json, number_list, v2, v3};
use crate::node::codec_edit;
use crate::node::compression::{Compression, Compressor, Shuffle, Zfp, configured, rounding};

impl Spec {
    /// v3: chunks become shards that hold chunks of this shape, which must divide that of the shard.
    pub fn set_inner_chunks(&mut self, chunks: &[u64]) -> Result<()> {
        let chunks = self.check_chunks(chunks).map_err(|e| e.at_field("inner_chunks"))?;
        match self.loose_codecs() {
            Some(list) => self.codecs = Some(codec_edit::with_inner_chunks(list, &chunks, index_codecs())?),
            None => self.inner_chunks = Some(chunks),
        }
        Ok(())
    }

    /// Chunks that are no shards.
    pub fn unset_inner_chunks(&mut self) -> Result<()> {
        self.inner_chunks = None;
        if let Some(list) = self.loose_codecs() {
            self.codecs = Some(codec_edit::without_shards(list)?);
        }
        Ok(())
    }

    /// The order of elements inside a chunk: v2 `order`, v3 a transpose.
    pub fn set_order(&mut self, order: Order) -> Result<()> {
        match self.loose_codecs() {
            Some(list) => {
                let reversed = if order == Order::F { self.reversal() } else { None };
                self.codecs = Some(codec_edit::with_order(list, reversed)?);
            }
            None => self.order = order,
        }
        Ok(())
    }

    /// The order of bytes inside an element.
    pub fn set_byte_order(&mut self, byte_order: ByteOrder) -> Result<()> {
        match self.loose_codecs() {
            Some(list) => self.codecs = Some(codec_edit::with_byte_order(list, byte_order)?),
            None => self.byte_order = byte_order,
        }
        Ok(())
    }

    /// The compressor by name: `none`, `zstd`, `gzip`, `zlib`, `bz2`, `lzma`, `lz4`, `pcodec`, `blosc` (that is `blosc:lz4`) or `blosc:`
    /// with a compressor inside. `None` is its default level. It takes the place of `set_zfp`.
    pub fn set_compressor(&mut self, name: &str, level: Option<i32>) -> Result<()> {
        self.replace_compressor(Compressor::named(name, level)?)
    }

    /// Compresses numbers by zfp, in the place of a compressor.
    pub fn set_zfp(&mut self, zfp: Zfp) -> Result<()> {
        self.replace_compressor(Compressor::Zfp(zfp.check()?))?;
        self.note_given(&[Extension::new("zfp", Map::new())])
    }

    fn replace_compressor(&mut self, compressor: Compressor) -> Result<()> {
        // A checksum behind the compressor stays.
        self.compression.checksum |= self.loose && self.take_checksum();
        self.compression.compressor = compressor;
        match self.loose_codecs() {
            Some(list) => {
                let alone = Compression { compressor: self.compression.compressor.clone(), ..Compression::new() };
                let stages = alone.stages(self.data_type, self.byte_order)?;
                self.codecs = Some(codec_edit::with_compressor(list, stages, self.plain_bytes())?);
            }
            None => self.codecs = None,
        }
        Ok(())
    }

    /// Whether and how bytes are put together before compression; `None` leaves it to the compressor.
    pub fn set_shuffle(&mut self, shuffle: Option<Shuffle>) -> Result<()> {
        match self.loose_codecs() {
            Some(list) => {
                // Bytes of an element as compressors see it.
                let item = if self.data_type.is_variable() { 1 } else { self.data_type.size() };
                self.codecs = Some(codec_edit::with_shuffle(list, shuffle, item)?);
            }
            None => {
                self.compression.shuffle = shuffle;
                self.filters.iter_mut().for_each(|filters| filters.retain(|codec| codec.name != "shuffle"));
            }
        }
        Ok(())
    }

    /// Rounds numbers to that many bits of their mantissa, so that they compress better; `None` keeps all.
    pub fn set_keep_bits(&mut self, bits: Option<u32>) -> Result<()> {
        let rounding = bits.map(|bits| rounding(bits, self.data_type)).transpose()?;
        self.note_given(rounding.as_slice())?;
        match self.loose_codecs() {
            Some(list) => self.codecs = Some(codec_edit::with_rounding(list, rounding)?),
            None => {
                self.compression.keep_bits = bits;
                self.filters.iter_mut().for_each(|filters| filters.retain(|codec| !codec_edit::is_rounding(codec)));
            }
        }
        Ok(())
    }

    /// The bits of the mantissa that are kept; `None` if all are.
    pub(in crate::node) fn keep_bits(&self) -> Result<Option<u32>> {
        let listed = self.codecs.as_deref().or(self.filters.as_deref()).map_or(Ok(None), codec_edit::kept_bits)?;
        Ok(listed.or(self.compression.keep_bits))
    }

    /// Whether a CRC-32C is stored behind each chunk (in shards: each inner chunk).
    pub fn set_checksum(&mut self, checksum: bool) -> Result<()> {
        match self.loose_codecs() {
            Some(list) => self.codecs = Some(codec_edit::with_checksum(list, checksum)?),
            None => {
                self.take_checksum();
                self.compression.checksum = checksum;
            }
        }
        Ok(())
    }

    /// v2: takes a checksum from the codecs that were given, and returns whether there was one.
    fn take_checksum(&mut self) -> bool {
        match (&mut self.compression.compressor, &mut self.filters) {
            (Compressor::Json(compressor), Some(filters)) => codec_edit::take_checksum(filters, compressor),
            (Compressor::Json(compressor), None) => codec_edit::take_checksum(&mut Vec::new(), compressor),
            _ => false,
        }
    }

    /// v3: the whole list `codecs`.
    pub fn set_codecs_json(&mut self, text: &str) -> Result<()> {
        let list = json::parse_text(text).and_then(|v| v3::codec_list(&v)).map_err(|e| e.at_field("codecs"))?;
        self.note_given(&list)?;
        self.codecs = Some(list);
        Ok(())
    }

    /// v2: `compressor` in numcodecs' form, or null.
    pub fn set_compressor_json(&mut self, text: &str) -> Result<()> {
        let compressor = json::parse_text(text).and_then(|v| v2::compressor(&v)).map_err(|e| e.at_field("compressor"))?;
        self.note_given(compressor.as_slice())?;
        self.compression.compressor = Compressor::Json(compressor);
        Ok(())
    }

    /// v2: the list `filters`, or null.
    pub fn set_filters_json(&mut self, text: &str) -> Result<()> {
        let filters = json::parse_text(text).and_then(|v| v2::filter_list(&v)).map_err(|e| e.at_field("filters"))?;
        self.note_given(&filters)?;
        self.filters = Some(filters);
        Ok(())
    }

    pub(super) fn codecs_v2(&self) -> Result<Codecs> {
        let element = ElementType::new(self.data_type, self.byte_order);
        if let Some(number) = parse_v2::without_order(element) {
            let e = err!(Unsupported, "zarr_format 2 has no name for {} with the most significant byte first", number.name());
            return Err(e.at_field("byte_order"));
        }
        let mut filters = match &self.filters {
            Some(filters) => filters.clone(),
            None => self.variable_codec()?.into_iter().collect(),
        };
        let stages = self.compression.stages(self.data_type, self.byte_order)?;
        let plain = |codec: &Extension| codecs_to_v2::plain(codec).map_err(|e| e.at_field("compression"));
        // Rounding comes before anything else changes numbers.
        filters.splice(0..0, stages.filter.as_ref().map(plain).transpose()?);
        let mut rest = stages.serial.iter().chain(&stages.bytes).map(plain).collect::<Result<Vec<_>>>()?;
        if let Compressor::Json(Some(codec)) = &self.compression.compressor {
            rest.push(match self.compression.shuffle {
                Some(shuffle) if codec.name == "blosc" => codecs_to_v2::with_shuffle(codec, shuffle.word())?,
                _ => codec.clone(),
            });
        }
        rest.extend(stages.checksum.as_ref().map(plain).transpose()?);
        // The last codec is the compressor, the others are filters that come before it.
        let compressor = rest.pop();
        filters.append(&mut rest);
        Ok(Codecs::V2 { order: self.order, element, filters, compressor })
    }

    /// The codec that makes bytes of elements of variable length, where they are.
    pub(super) fn variable_codec(&self) -> Result<Option<Extension>> {
        Ok(match self.data_type {
            DataType::VarText => Some(Extension::new("vlen-utf8", Map::new())),
            DataType::VarBytes => Some(Extension::new("vlen-bytes", Map::new())),
            DataType::VarJson => Some(Extension::new("json2", Map::new())),
            DataType::VarArray(number) => Some(configured("vlen-array", [("dtype", number.numpy().into())])),
            _ => None,
        })
    }

    pub(super) fn codecs_v3(&self, grid: &Grid) -> Result<Vec<Extension>> {
        let simple = match &self.codecs {
            Some(list) => return self.listed_codecs(list),
            None => self.simple_codecs()?,
        };
        let Some(inner) = &self.inner_chunks else { return Ok(simple) };
        for (d, &inner) in inner.iter().enumerate() {
            // Those behind the end, too, which the array may grow into.
            if let Some(extent) = grid.odd_extent(d, u64::MAX, inner) {
                let at = counting::dimension(d, self.rank());
                let e = match self.chunks_are_set() {
                    true => err!(Argument, "{at} is {inner}, which does not divide the chunk's {extent}"),
                    false => err!(Argument, "{at} is {inner}, and no chunks are set: set chunks of a multiple of the inner ones"),
                };
                return Err(e.at_field("inner_chunks"));
            }
        }
        Ok(vec![codec_edit::shards(inner, &simple, index_codecs())])
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
        codecs.push(match stages.serial {
            Some(serial) => serial,
            None if self.data_type.is_variable() => match self.data_type {
                DataType::VarText | DataType::VarBytes => self.variable_codec()?.unwrap_or_else(|| self.plain_bytes()),
                other => bail!(Unsupported, "{} exists in zarr_format 2 only", other.name()),
            },
            None => self.plain_bytes(),
        });
        codecs.extend(stages.bytes.into_iter().chain(stages.checksum));
        Ok(codecs)
    }

    /// The codec that makes bytes of elements as they are.
    fn plain_bytes(&self) -> Extension {
        match (self.data_type.has_order(), self.byte_order) {
            (false, _) => Extension::new("bytes", Map::new()),
            (true, ByteOrder::Little) => configured("bytes", [("endian", "little".into())]),
            (true, ByteOrder::Big) => configured("bytes", [("endian", "big".into())]),
        }
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
