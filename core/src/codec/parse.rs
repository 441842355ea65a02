//! Parsing codec chains: from the list of codecs in a document to a [`Chain`].
//!
//! Specification: v3 core, "Codecs" (array→array codecs, one array→bytes codec, bytes→bytes codecs, in that order); v2
//! "Filters": `order` is a transpose, the byte order of `dtype` is `bytes`, filters and the compressor are stages.
//! Array→array codecs that change values (`numcodecs.delta`, `bitround`, …) come before `bytes` in v3; they become stages over
//! elements in the order of the buffer, the last of which writes the byte order that `bytes` asks for.

use super::build::{ArrayCodec, Built, Make};
use super::chain::{Body, Chain};
use super::config::{Config, Style};
use super::rare::{n5, offsets};
use super::registered::{self, Class};
use super::reshape::{self, Reshape};
use super::stage::{BYTES, StageRef, VariableCodec};
use super::transpose::{self, Permutation};
use super::{bytes, registry, sharding};
use crate::dtype::{ByteOrder, DataType, ElementType, Kind, parse_v2};
use crate::error::{Error, Result, bail, err};
use crate::limits::{self, Dims};
use crate::metadata::extension::Extension;
use crate::metadata::{Codecs, Map, Order};
use std::cell::Cell;
use std::sync::Arc;

impl Chain {
    /// Looks up every codec, checks their order and configuration for elements of `data_type` in chunks of that rank.
    ///
    /// Errors: `Metadata` (configuration, order; the field is named as in the document: `codecs[0].configuration.level`,
    /// `filters[1].dtype`, `compressor.level`), `Unsupported` (unknown names), `Limit` (too many codecs, shards too deep).
    pub fn parse(codecs: &Codecs, data_type: DataType, rank: usize) -> Result<Chain> {
        limits::check_rank(rank)?;
        match codecs {
            Codecs::V2 { order, element, filters, compressor } => {
                let permutation = if *order == Order::F { transpose::reversal(rank) } else { transpose::identity(rank) };
                parse_v2(permutation, *element, filters, compressor.as_ref())
            }
            Codecs::V3(list) => parse_list(list, data_type, rank, 0).map_err(|e| e.at_field("codecs")),
        }
    }
}

/// Whether a codec of that name can be used, in v2 or in v3.
pub fn has(name: &str) -> bool {
    let name = registry::canonical(name);
    registry::has_built_in(&name) || registered::find_v3(&name).is_some() || registered::find_v2(&name).is_some()
}

/// Whether a v3 codec, a registered one too, makes bytes of bytes.
pub fn takes_bytes(name: &str) -> bool {
    registered::find_v3(name).map_or_else(|| registry::takes_bytes(name), |codec| codec.class() == Class::Bytes)
}

/// Makes the stage of a v2 filter or compressor.
pub(super) fn build_v2(id: &str, configuration: &Map, item: ElementType) -> Result<Built> {
    if let Some(codec) = registered::find_v2(id) {
        return registered::build(id, &*codec, configuration, true, item);
    }
    let config = Config::new(configuration, Style::V2);
    match registry::find_v2(id, item)? {
        Make::Bytes(build) | Make::Serial(build) => build(&config, item),
        Make::Array(build) => build(&config, item).map(|codec| codec.built()),
    }
}

fn check_count(n: usize) -> Result<()> {
    if n > limits::MAX_CODECS {
        bail!(Limit, "found {n} codecs, the limit is {}", limits::MAX_CODECS);
    }
    Ok(())
}

fn parse_v2(
    mut permutation: Permutation,
    mut element: ElementType,
    filters: &[Extension],
    compressor: Option<&Extension>,
) -> Result<Chain> {
    check_count(filters.len()).map_err(|e| e.at_field("filters"))?;
    let fields = (0..).map(|i| format!("filters[{i}]"));
    let listed = filters.iter().zip(fields).chain(compressor.map(|c| (c, "compressor".to_string())));
    let mut stages = Vec::with_capacity(filters.len() + 1);
    let mut item = element;
    if let DataType::Registered(t) = element.data_type {
        item = ElementType::new(t.carrier(), element.order);
        element = item;
        if let Some(codec) = registered::type_codec(t)? {
            element = codec.from;
            stages.push(codec.stage(element, item));
        }
    }
    let mut body = None;
    for (codec, field) in listed {
        if element.data_type.is_variable() && body.is_none() {
            let config = Config::new(&codec.configuration, Style::V2);
            let codec = registry::build_variable(&codec.name, &config, element.data_type).map_err(|e| e.at_field(field))?;
            item = codec.encoded_item();
            // Lists in lists have the array's own order.
            if matches!(element.data_type, DataType::VarJson) {
                permutation = transpose::identity(permutation.len());
            }
            body = Some(Body::Variable(element.data_type, codec));
            continue;
        }
        let built = build_v2(&codec.name, &codec.configuration, item).map_err(|e| e.at_field(field))?;
        item = built.item;
        stages.push(built.stage);
    }
    if element.data_type.is_variable() && body.is_none() {
        return Err(err!(Metadata, "elements of variable length need a codec of objects, such as \"vlen-utf8\"").at_field("filters"));
    }
    Ok(Chain { permutation, body: body.unwrap_or(Body::Elements(element)), reshapes: Vec::new(), stages, unlike: None })
}

/// Reads a v3 list of codecs, nested in `depth` shards. Fields of errors begin with the place in the list.
pub(super) fn parse_list(list: &[Extension], data_type: DataType, rank: usize, depth: usize) -> Result<Chain> {
    parse_behind((data_type, Vec::new()), list, data_type, rank, depth)
}

/// Reads a v3 list behind codecs that change values, and the type of the elements before them.
fn parse_behind(before: (DataType, Vec<ArrayCodec>), list: &[Extension], data_type: DataType, rank: usize, depth: usize) -> Result<Chain> {
    let (first, array_codecs) = before;
    check_count(list.len())?;
    if list.is_empty()
        && array_codecs.is_empty()
        && !data_type.has_order()
        && !data_type.is_variable()
        && !matches!(data_type, DataType::Registered(_))
    {
        // Drafts were written without any codec; where elements have no byte order, that can mean one thing only.
        return Ok(Chain {
            permutation: transpose::identity(rank),
            body: Body::Elements(ElementType::native(data_type)),
            reshapes: Vec::new(),
            stages: Vec::new(),
            unlike: None,
        });
    }
    let mut parser = Parser { array_codecs, first, ..Parser::new(data_type, rank, depth) };
    for (i, codec) in list.iter().enumerate() {
        parser.codec(i, codec).map_err(|e| e.at_field(format!("[{i}]")))?;
    }
    parser.finish()
}

/// What comes out of the first codecs of a v3 list, and into the next one: elements of that type, or a buffer of those items.
pub(super) fn entering(before: &[Extension], data_type: DataType, rank: usize, depth: usize) -> Result<(DataType, ElementType)> {
    check_count(before.len())?;
    let mut parser = Parser::new(data_type, rank, depth);
    before.iter().enumerate().try_for_each(|(i, codec)| parser.codec(i, codec))?;
    let item = if parser.body.is_some() { parser.item } else { ElementType::native(parser.data_type) };
    Ok((parser.data_type, item))
}

/// Whether the codecs of numcodecs take elements as integers of that type, bit for bit, and give them back: times as counts, say.
fn taken_as_integers(elements: DataType, integers: DataType) -> bool {
    use DataType::{Bool, DateTime, Int8, Int16, Int32, Int64, TimeDelta, UInt8, UInt16, UInt32, UInt64};
    matches!(integers.kind(), Kind::Int | Kind::UInt)
        && integers.size() == elements.size()
        && matches!(elements, Bool | DateTime(_) | TimeDelta(_) | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64)
}

/// Whether that codec makes differences of the bits of floating-point numbers, which lose nothing.
fn takes_bits(name: &str, elements: DataType, integers: DataType) -> bool {
    use DataType::{Float16, Float32, Float64, Int16, Int32, Int64};
    name == "numcodecs.delta" && matches!((elements, integers), (Float16, Int16) | (Float32, Int32) | (Float64, Int64))
}

/// Refuses codecs of version 2 that take the elements of a new array for others, whose values they would change: those of arrays that are there are
/// used as they are. An integer may stand for any elements of its size where nothing is lost by that.
pub fn check_elements_v2(codecs: &Codecs) -> Result<()> {
    let Codecs::V2 { element: mut item, filters, compressor, .. } = codecs.clone() else { return Ok(()) };
    if let DataType::Registered(t) = item.data_type {
        item.data_type = t.carrier();
    }
    let fields = (0..filters.len()).map(|i| format!("filters[{i}]")).chain([String::from("compressor")]);
    for (codec, field) in filters.iter().chain(&compressor).zip(fields) {
        // Behind a codec that makes bytes there are no elements any more.
        let (None, Ok(Make::Array(build))) = (registered::find_v2(&codec.name), registry::find_v2(&codec.name, item)) else {
            return Ok(());
        };
        let built = build(&Config::new(&codec.configuration, Style::V2), item).map_err(|e| e.at_field(&*field))?;
        let from = built.from;
        let is_whole = matches!(from.data_type.kind(), Kind::Int | Kind::UInt) && from.size() == item.size();
        let is_alike = matches!(item.data_type.kind(), Kind::Int | Kind::UInt | Kind::Bool | Kind::Time) && from.order == item.order;
        if from != item && !(is_whole && (is_alike || codec.name == "delta")) {
            let (takes, found) = (parse_v2::to_json(from), parse_v2::to_json(item));
            return Err(err!(Metadata, "{:?} takes {takes}, found elements of {found}", codec.name).at_field(field));
        }
        item = built.to;
    }
    Ok(())
}

/// The codecs that may come before shards.
const BEFORE_SHARDS: &[&str] = &["astype", "bitround", "cast_value", "quantize", "scale_offset"];

/// The state between two codecs of a v3 list.
struct Parser {
    permutation: Permutation,
    /// The type of the elements after the codecs so far.
    data_type: DataType,
    array_codecs: Vec<ArrayCodec>,
    /// Whether the last of them is one of numcodecs, which gives bits on and takes them back: numpy makes numbers of the array's type of what
    /// the first gives back.
    gives_bits: bool,
    /// The name of the last codec of numcodecs that says a type, and that type: numcodecs takes bytes for it, whatever their order.
    said: Option<(String, ElementType)>,
    /// Why no new array has these codecs.
    unlike: Option<Error>,
    /// One of them that cannot come before shards: its result depends on the order of the elements, or peers differ in what it makes of a fill value.
    inside_only: Option<String>,
    /// The type of the elements before the first of them.
    first: DataType,
    body: Option<Body>,
    reshapes: Vec<(usize, Reshape)>,
    stages: Vec<StageRef>,
    /// The elements of the buffer after the codecs so far.
    item: ElementType,
    depth: usize,
}

impl Parser {
    fn new(data_type: DataType, rank: usize, depth: usize) -> Parser {
        Parser {
            permutation: transpose::identity(rank),
            data_type,
            array_codecs: Vec::new(),
            gives_bits: false,
            said: None,
            unlike: None,
            inside_only: None,
            first: data_type,
            body: None,
            reshapes: Vec::new(),
            stages: Vec::new(),
            item: BYTES,
            depth,
        }
    }

    fn codec(&mut self, at: usize, codec: &Extension) -> Result<()> {
        let name = registry::canonical(&codec.name);
        if !matches!(&*name, "transpose" | "sharding_indexed" | "reshape" | "zarrs.squeeze") {
            self.settle_type()?;
        }
        let config = Config::new(&codec.configuration, if name.starts_with("numcodecs.") { Style::Numcodecs } else { Style::V3 });
        if let Some(found) = registered::find_v3(&codec.name) {
            return self.registered(&codec.name, &*found, &codec.configuration);
        }
        match &*name {
            "transpose" => self.expect_elements(&name).and_then(|()| self.transpose(&config)),
            "bytes" | "endian" => self.expect_elements(&name).and_then(|()| self.bytes(&config)),
            "sharding_indexed" => self.expect_elements(&name).and_then(|()| self.shards(at, &config)),
            // The second is what older releases call it.
            "zarrs.vlen" | "vlen" => self.expect_elements(&name).and_then(|()| self.offsets(&config)),
            _ if registry::is_variable(&name) => self.expect_elements(&name).and_then(|()| self.variable(&name, &config)),
            "n5_default" => self.expect_elements(&name).and_then(|()| self.n5(&config)),
            "reshape" | "zarrs.squeeze" => {
                self.expect_elements(&name)?;
                let reshape = if name == "reshape" { reshape::parse(&config)? } else { Reshape::Squeeze };
                self.reshapes.push((at, reshape));
                Ok(())
            }
            _ => match registry::find_v3(&name) {
                Some((Make::Bytes(build), style)) => self.stage(&name, |item| build(&Config::new(&codec.configuration, style), item)),
                Some((Make::Array(build), style)) => {
                    self.expect_elements(&name)?;
                    let codec = build(&Config::new(&codec.configuration, style), ElementType::native(self.data_type))?;
                    self.array_codec(&name, codec)
                }
                Some((Make::Serial(build), style)) => {
                    self.expect_elements(&name)?;
                    self.elements(&name, ByteOrder::NATIVE)?;
                    self.stage(&name, |item| build(&Config::new(&codec.configuration, style), item))
                }
                None if codec.must_understand => Err(registry::unknown_v3(&codec.name)),
                None => Ok(()),
            },
        }
    }

    /// A registered data type becomes what it is in the file, by an array→array codec unless that is what it is in memory. Shards leave this to
    /// their inner chunks.
    fn settle_type(&mut self) -> Result<()> {
        let DataType::Registered(t) = self.data_type else { return Ok(()) };
        self.data_type = t.memory();
        match registered::type_codec(t)? {
            Some(codec) => self.array_codec(t.name(), codec),
            None => Ok(()),
        }
    }

    /// A codec that the program has registered.
    fn registered(&mut self, name: &str, codec: &dyn registered::Codec, configuration: &Map) -> Result<()> {
        match codec.class() {
            Class::Bytes => self.stage(name, |item| registered::build(name, codec, configuration, false, item)),
            Class::Array { .. } => {
                self.expect_elements(name)?;
                let codec = registered::array_codec(name, codec, configuration, false, ElementType::native(self.data_type))?;
                self.array_codec(name, codec)
            }
            Class::Serial => {
                self.expect_elements(name)?;
                self.elements(name, ByteOrder::NATIVE)?;
                self.stage(name, |item| registered::build(name, codec, configuration, false, item))
            }
        }
    }

    /// Checks that elements, not bytes, come in.
    fn expect_elements(&self, name: &str) -> Result<()> {
        if self.body.is_some() {
            bail!(Metadata, "{name:?} comes after the codec that makes bytes of the elements, expected a bytes→bytes codec");
        }
        Ok(())
    }

    /// `n5_default`: a full transposition, big-endian elements, and at most one compressor behind the block's header.
    fn n5(&mut self, config: &Config<'_>) -> Result<()> {
        let list = config.codec_list("codecs")?;
        let rank = self.permutation.len();
        let fail = |i: usize, e: Error| e.at_field(format!("[{i}]")).at_field(config.path("codecs"));
        let [turn, bytes, rest @ ..] = list.as_slice() else {
            return Err(config.error("codecs", format!("found {} codecs, expected \"transpose\" and \"bytes\"", list.len())));
        };
        if turn.name != "transpose" || transpose::parse(&Config::new(&turn.configuration, Style::V3), rank)? != transpose::reversal(rank) {
            return Err(fail(0, err!(Metadata, "found {:?}, expected a \"transpose\" that reverses the dimensions", turn.name)));
        }
        let order = bytes::parse(&Config::new(&bytes.configuration, Style::V3), self.data_type).map_err(|e| fail(1, e))?;
        if bytes.name != "bytes" || order != ByteOrder::Big && self.data_type.swap_unit() > 1 {
            return Err(fail(1, err!(Metadata, "found {:?}, expected \"bytes\" with big-endian elements", bytes.name)));
        }
        self.transpose(&Config::new(&turn.configuration, Style::V3))?;
        self.elements("n5_default", ByteOrder::Big)?;
        let is_left_out = |codec: &Extension| registry::is_ignored(codec) && registered::find_v3(&codec.name).is_none();
        let mut rest = (2..).zip(rest).filter(|(_, codec)| !is_left_out(codec));
        let inner = match (rest.next(), rest.next()) {
            (None, _) => None,
            (Some((i, codec)), None) => match registry::find_v3(&registry::canonical(&codec.name)) {
                Some((Make::Bytes(build), style)) => {
                    Some(build(&Config::new(&codec.configuration, style), self.item).map_err(|e| fail(i, e))?.stage)
                }
                Some(_) => return Err(fail(i, err!(Metadata, "{:?} makes no bytes of bytes, expected a bytes→bytes codec", codec.name))),
                None => return Err(fail(i, registry::unknown_v3(&codec.name))),
            },
            _ => return Err(config.error("codecs", format!("found {} codecs, expected at most three", list.len()))),
        };
        self.stages.push(Arc::new(n5::BlockStage { item: self.data_type.size(), inner, shape: Dims::new() }));
        self.item = BYTES;
        Ok(())
    }

    fn transpose(&mut self, config: &Config<'_>) -> Result<()> {
        if !self.reshapes.is_empty() {
            bail!(Unsupported, "a transpose behind a reshape is not supported");
        }
        let order = transpose::parse(config, self.permutation.len())?;
        if self.array_codecs.iter().any(|k| k.depends_on_order) && order != transpose::identity(order.len()) {
            bail!(Unsupported, "a transpose behind a codec that depends on the order of the elements is not supported");
        }
        self.permutation = transpose::compose(&self.permutation, &order);
        Ok(())
    }

    fn array_codec(&mut self, name: &str, codec: ArrayCodec) -> Result<()> {
        let from = codec.from.data_type;
        let is_numcodecs = name.starts_with("numcodecs.");
        let is_taken = is_numcodecs && taken_as_integers(self.data_type, from) || self.gives_bits && takes_bits(name, self.data_type, from);
        if from != self.data_type && !is_taken {
            bail!(Metadata, "{name:?} takes {}, found elements of {}", from.name(), self.data_type.name());
        }
        if self.array_codecs.is_empty() {
            self.first = self.data_type;
        }
        self.data_type = codec.to.data_type;
        self.gives_bits = is_numcodecs;
        if name != "numcodecs.bitround" {
            self.check_order(if is_numcodecs { codec.from.order } else { ByteOrder::NATIVE })?;
            self.said = is_numcodecs.then(|| (name.into(), codec.to));
        }
        // A registered codec may have the name of one of them.
        if codec.depends_on_order || !BEFORE_SHARDS.contains(&name.strip_prefix("numcodecs.").unwrap_or(name)) {
            self.inside_only.get_or_insert_with(|| name.into());
        }
        self.array_codecs.push(codec);
        Ok(())
    }

    /// Checks that the elements behind the last codec of numcodecs have the byte order that it says, as numcodecs would take other bytes for them.
    fn check_order(&mut self, order: ByteOrder) -> Result<()> {
        let Some((name, said)) = self.said.take().filter(|(_, said)| said.order != order && said.data_type.swap_unit() > 1) else {
            return Ok(());
        };
        let (found, expected) = (parse_v2::to_json(said), parse_v2::to_json(ElementType::new(said.data_type, order)));
        let e = err!(Unsupported, "{name:?} makes elements of {found}, whose bytes come in another order here, expected {expected}");
        // zarr-python 3.4 reads what every version writes so, and older ones do not.
        if said.order == ByteOrder::NATIVE && self.body.is_some() {
            self.unlike = Some(e);
            return Ok(());
        }
        Err(e)
    }

    fn bytes(&mut self, config: &Config<'_>) -> Result<()> {
        let order = bytes::parse(config, self.data_type)?;
        self.elements("bytes", order)
    }

    /// The array→array codecs so far become stages, the last of which writes that byte order. What makes bytes of them is the codec `name`.
    ///
    /// Errors: `Metadata`, where the elements are of variable length: what is in memory of them are addresses.
    fn elements(&mut self, name: &str, order: ByteOrder) -> Result<()> {
        if self.data_type.is_variable() {
            let found = self.data_type.name();
            bail!(Metadata, "{name:?} takes elements of one size, found {found}; expected \"vlen-utf8\" or \"vlen-bytes\"");
        }
        let count = self.array_codecs.len();
        let mut element = ElementType::new(self.data_type, order);
        self.item = element;
        for (i, codec) in std::mem::take(&mut self.array_codecs).into_iter().enumerate() {
            let native = ElementType::native(codec.from.data_type);
            let to = ElementType::new(codec.to.data_type, if i + 1 == count { order } else { ByteOrder::NATIVE });
            if i == 0 {
                element = ElementType::native(self.first);
            }
            self.stages.push(codec.stage(native, to));
        }
        self.body = Some(Body::Elements(element));
        // The one codec whose type zarr-python 3.4 does not go by.
        let is_misread = self.said.as_ref().is_some_and(|(name, said)| name == "numcodecs.quantize" && said.order == ByteOrder::Big);
        self.unlike = is_misread.then(|| err!(Unsupported, "\"numcodecs.quantize\" of big-endian numbers is misread by zarr-python"));
        self.check_order(order)
    }

    fn variable(&mut self, name: &str, config: &Config<'_>) -> Result<()> {
        self.serial(registry::build_variable(name, config, self.data_type)?)
    }

    fn offsets(&mut self, config: &Config<'_>) -> Result<()> {
        let depth = self.depth + 1;
        self.serial(offsets::build(config, self.data_type, |list, data_type| parse_list(list, data_type, 1, depth))?)
    }

    /// The codec that makes bytes of elements of variable length, which no codec changes before.
    fn serial(&mut self, codec: Arc<dyn VariableCodec>) -> Result<()> {
        if !self.array_codecs.is_empty() {
            bail!(Metadata, "{:?} behind a codec of numbers, expected a transpose at most", codec.name());
        }
        self.item = codec.encoded_item();
        self.body = Some(Body::Variable(self.data_type, codec));
        Ok(())
    }

    fn shards(&mut self, at: usize, config: &Config<'_>) -> Result<()> {
        if let Some(name) = &self.inside_only {
            bail!(Unsupported, "{name:?} before \"sharding_indexed\" is not supported; inside it it is");
        }
        if !self.reshapes.is_empty() {
            bail!(Unsupported, "shards behind a reshape are not supported");
        }
        if self.depth >= limits::MAX_SHARD_NESTING {
            bail!(Limit, "shards are nested more than {} deep", limits::MAX_SHARD_NESTING);
        }
        self.check_order(ByteOrder::NATIVE)?;
        let (depth, first) = (self.depth + 1, self.first);
        // Codecs that change each element by itself are the same before the first codec of the inner chunks, which are parsed before the index.
        let codes_fill = !self.array_codecs.is_empty();
        let before = Cell::new(std::mem::take(&mut self.array_codecs));
        let mut shards = sharding::parse(config, self.data_type, self.permutation.len(), |list, data_type, rank| match before.take() {
            none if none.is_empty() => parse_list(list, data_type, rank, depth),
            before => parse_behind((first, before), list, data_type, rank, depth),
        })?;
        shards.codes_fill |= codes_fill;
        self.item = BYTES;
        self.body = Some(Body::Shards(Arc::new(shards), at));
        Ok(())
    }

    fn stage(&mut self, name: &str, build: impl FnOnce(ElementType) -> Result<Built>) -> Result<()> {
        if self.body.is_none() {
            bail!(Metadata, "{name:?} takes bytes, expected a codec that makes bytes of the elements before it");
        }
        let built = build(self.item)?;
        self.item = built.item;
        self.stages.push(built.stage);
        Ok(())
    }

    fn finish(self) -> Result<Chain> {
        match self.body {
            Some(body) => {
                Ok(Chain { permutation: self.permutation, body, reshapes: self.reshapes, stages: self.stages, unlike: self.unlike })
            }
            None => Err(err!(Metadata, "no codec makes bytes of the elements, expected \"bytes\" or \"sharding_indexed\"")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::IndexLocation;
    use crate::codec::bound::{BoundChain, Leaf, Sharded};
    use crate::codec::stage::{Dest, Size};
    use crate::error::ErrorKind;

    const I32: ElementType = ElementType { data_type: DataType::Int32, order: ByteOrder::Little };

    fn v3(json: &str) -> Codecs {
        let list = crate::json::parse_text(json).unwrap();
        let list = list.as_array().unwrap();
        Codecs::V3(list.iter().map(|v| Extension::from_v3(v).unwrap()).collect())
    }

    fn v2(order: Order, element: ElementType, filters: &str, compressor: Option<&str>) -> Codecs {
        let list = crate::json::parse_text(filters).unwrap();
        let list = list.as_array().unwrap();
        let filters = list.iter().map(|v| Extension::from_v2(v).unwrap()).collect();
        let compressor = compressor.map(|c| Extension::from_v2(&crate::json::parse_text(c).unwrap()).unwrap());
        Codecs::V2 { order, element, filters, compressor }
    }

    fn leaf(codecs: &Codecs, t: DataType, shape: &[u64]) -> Leaf {
        match Chain::parse(codecs, t, shape.len()).unwrap().bind(shape).unwrap() {
            BoundChain::Leaf(leaf) => leaf,
            BoundChain::Sharded(_) => panic!("sharded"),
        }
    }

    fn sharded(codecs: &Codecs, t: DataType, shape: &[u64]) -> Box<Sharded> {
        match Chain::parse(codecs, t, shape.len()).unwrap().bind(shape).unwrap() {
            BoundChain::Sharded(s) => s,
            BoundChain::Leaf(_) => panic!("not sharded"),
        }
    }

    fn parse_error(codecs: &Codecs, t: DataType, rank: usize) -> Error {
        Chain::parse(codecs, t, rank).err().unwrap()
    }

    fn encode(leaf: &Leaf, data: &[u8]) -> Vec<u8> {
        let mut buf = data.to_vec();
        for stage in &leaf.stages {
            let mut out = Vec::new();
            stage.encode(&buf, &mut out).unwrap();
            buf = out;
        }
        buf
    }

    fn decode(leaf: &Leaf, stored: &[u8]) -> Vec<u8> {
        let mut buf = stored.to_vec();
        for (stage, size) in leaf.stages.iter().zip(&leaf.sizes).rev() {
            let mut out = Vec::new();
            match size {
                Size::Exact(n) => {
                    out.resize(*n, 0);
                    stage.decode(&buf, Dest::Exact(&mut out)).unwrap();
                }
                Size::AtMost(n) => stage.decode(&buf, Dest::AtMost(&mut out, *n)).unwrap(),
            }
            buf = out;
        }
        buf
    }

    fn le32(values: &[i32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn byte_order_and_transposes_cost_no_stage() {
        let codecs = v3(
            r#"[{"name": "transpose", "configuration": {"order": [1, 2, 0]}}, {"name": "transpose", "configuration": {"order": [0, 2, 1]}},
            {"name": "bytes", "configuration": {"endian": "big"}}]"#,
        );
        let leaf = leaf(&codecs, DataType::Int32, &[2, 3, 4]);
        // Encoded dimensions are the user's 1, 0, 2.
        assert_eq!(leaf.layout.strides.as_slice(), &[16, 32, 4]);
        assert_eq!(leaf.layout.element, ElementType::new(DataType::Int32, ByteOrder::Big));
        assert_eq!(leaf.layout.bytes, 96);
        assert!(leaf.stages.is_empty());
        assert_eq!(leaf.sizes, [Size::Exact(96)]);
    }

    #[test]
    fn v2_order_f_reverses() {
        let leaf = leaf(&v2(Order::F, ElementType::new(DataType::Float64, ByteOrder::Big), "[]", None), DataType::Float64, &[2, 3, 4]);
        assert_eq!(leaf.layout.strides.as_slice(), &[8, 16, 48]);
        assert!(leaf.layout.element.swapped());
    }

    #[test]
    fn scalars_and_single_bytes_need_little() {
        let scalar = leaf(&v3(r#"["bytes"]"#), DataType::UInt8, &[]);
        assert_eq!((scalar.layout.bytes, scalar.layout.strides.len()), (1, 0));
        assert_eq!(leaf(&v3(r#"[{"name": "endian", "configuration": {"endian": "little"}}]"#), DataType::Float64, &[]).layout.bytes, 8);
    }

    #[test]
    fn a_list_without_codecs_is_read_for_single_bytes() {
        assert!(leaf(&v3("[]"), DataType::Int8, &[5]).stages.is_empty());
        assert!(Chain::parse(&v3("[]"), DataType::Int16, 1).is_err());
    }

    #[test]
    fn chains_are_shared_between_threads() {
        fn shared<T: Send + Sync + Clone>() {}
        shared::<Chain>();
    }

    #[test]
    fn sizes_follow_the_stages() {
        let codecs = v3(r#"[{"name": "bytes", "configuration": {"endian": "little"}}, "crc32c", "gzip", "crc32c"]"#);
        let leaf = leaf(&codecs, DataType::Int32, &[10]);
        assert_eq!(leaf.sizes[..2], [Size::Exact(40), Size::Exact(44)]);
        assert!(matches!((leaf.sizes[2], leaf.sizes[3]), (Size::AtMost(a), Size::AtMost(b)) if b == a + 4 && a > 44));
        let data = le32(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(decode(&leaf, &encode(&leaf, &data)), data);
    }

    #[test]
    fn v2_filters_see_typed_buffers() {
        let codecs = v2(
            Order::C,
            I32,
            r#"[{"id": "delta", "dtype": "<i4", "astype": "<i2"}, {"id": "shuffle", "elementsize": 2}]"#,
            Some(r#"{"id": "zstd", "level": 1}"#),
        );
        let leaf = leaf(&codecs, DataType::Int32, &[2, 2]);
        assert_eq!(leaf.sizes[..3], [Size::Exact(16), Size::Exact(8), Size::Exact(8)]);
        let data = le32(&[100, 101, 103, 90]);
        let mut delta = Vec::new();
        leaf.stages[0].encode(&data, &mut delta).unwrap();
        assert_eq!(delta, [100i16, 1, 2, -13].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
        assert_eq!(decode(&leaf, &encode(&leaf, &data)), data);
    }

    #[test]
    fn v3_kernels_end_in_the_byte_order_of_bytes() {
        let codecs = v3(r#"[{"name": "numcodecs.astype", "configuration": {"encode_dtype": "<i4", "decode_dtype": "<i8"}},
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "numcodecs.delta", "configuration": {"dtype": "int32"}},
            {"name": "bytes", "configuration": {"endian": "big"}}]"#);
        let leaf = leaf(&codecs, DataType::Int64, &[2, 2]);
        assert_eq!(leaf.layout.element, ElementType::native(DataType::Int64));
        assert_eq!(leaf.layout.strides.as_slice(), &[8, 16]);
        assert_eq!(leaf.sizes, [Size::Exact(32), Size::Exact(16), Size::Exact(16)]);
        let data: Vec<u8> = [5i64, 7, 6, 1].iter().flat_map(|v| v.to_le_bytes()).collect();
        let stored = encode(&leaf, &data);
        assert_eq!(stored, [5i32, 2, -1, -5].iter().flat_map(|v| v.to_be_bytes()).collect::<Vec<u8>>());
        assert_eq!(decode(&leaf, &stored), data);
    }

    #[test]
    fn the_order_of_codecs_is_checked() {
        let little = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
        let cases = [
            ("[]".to_string(), "codecs", "makes bytes"),
            (r#"["gzip"]"#.into(), "codecs[0]", "takes bytes"),
            (format!("[{little}, {little}]"), "codecs[1]", "comes after"),
            (format!(r#"[{little}, {{"name": "transpose", "configuration": {{"order": [0]}}}}]"#), "codecs[1]", "comes after"),
            (format!(r#"["gzip", {little}]"#), "codecs[0]", "takes bytes"),
        ];
        for (json, field, text) in cases {
            let e = parse_error(&v3(&json), DataType::Int32, 1);
            assert_eq!((e.kind(), e.field()), (ErrorKind::Metadata, Some(field)), "{json}");
            assert!(e.message().contains(text), "{e}");
        }
    }

    #[test]
    fn errors_name_the_field_of_the_document() {
        let sharded = r#"[{"name": "sharding_indexed", "configuration": {"chunk_shape": [2], "index_codecs": ["bytes"], "codecs": [
            {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 77}}]}}]"#;
        let cases = [
            (v3(r#"["bytes"]"#), "codecs[0].configuration.endian"),
            (v3(r#"[{"name": "transpose"}, "bytes"]"#), "codecs[0].configuration.order"),
            (
                v3(r#"[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": "x"}}]"#),
                "codecs[1].configuration.level",
            ),
            (v3(sharded), "codecs[0].configuration.codecs[1].configuration.level"),
            (v3(&sharded.replace("77", "7")), "codecs[0].configuration.index_codecs[0].configuration.endian"),
            (v2(Order::C, I32, r#"[{"id": "delta", "dtype": 3}]"#, None), "filters[0].dtype"),
            (v2(Order::C, I32, "[]", Some(r#"{"id": "gzip", "level": 10}"#)), "compressor.level"),
        ];
        for (codecs, field) in cases {
            let e = parse_error(&codecs, DataType::Int32, 1);
            assert_eq!((e.kind(), e.field()), (ErrorKind::Metadata, Some(field)), "{e}");
        }
    }

    #[test]
    fn unknown_codecs_are_refused_by_name_or_skipped() {
        let bytes = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
        let e = parse_error(&v3(&format!(r#"[{bytes}, "foo"]"#)), DataType::Int32, 1);
        assert_eq!((e.kind(), e.field()), (ErrorKind::Unsupported, Some("codecs[1]")));
        assert!(e.message().starts_with("the codec \"foo\" is not known; known are "), "{e}");
        let e = parse_error(&v2(Order::C, I32, r#"[{"id": "szip"}]"#, None), DataType::Int32, 1);
        assert_eq!((e.kind(), e.field()), (ErrorKind::Unsupported, Some("filters[0]")));
        for id in ["json2", "msgpack2"] {
            let e = parse_error(&v2(Order::C, I32, &format!(r#"[{{"id": "{id}"}}]"#), None), DataType::Int32, 1);
            assert_eq!((e.kind(), e.field()), (ErrorKind::Unsupported, Some("filters[0]")), "{e}");
        }
        let skipped = v3(&format!(r#"[{bytes}, {{"name": "foo", "must_understand": false}}]"#));
        assert!(leaf(&skipped, DataType::Int32, &[4]).stages.is_empty());
    }

    #[test]
    fn codecs_of_numcodecs_take_other_elements_as_integers_of_their_size() {
        let bytes = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
        let delta = |dtype: &str| v3(&format!(r#"[{{"name": "numcodecs.delta", "configuration": {{"dtype": "{dtype}"}}}}, {bytes}]"#));
        let seconds = DataType::DateTime(crate::dtype::Unit::new("s", 1).unwrap());
        let times = leaf(&delta("<i8"), seconds, &[3]);
        assert_eq!(times.layout.element, ElementType::native(seconds));
        let data: Vec<u8> = [5i64, 7, i64::MIN].iter().flat_map(|v| v.to_le_bytes()).collect();
        let stored = encode(&times, &data);
        assert_eq!(stored, [5i64, 2, i64::MIN.wrapping_sub(7)].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
        assert_eq!(decode(&times, &stored), data);
        for (elements, dtype) in [(DataType::Int32, "<u4"), (DataType::Bool, "|i1"), (DataType::UInt8, "|i1")] {
            assert_eq!(leaf(&delta(dtype), elements, &[3]).layout.element, ElementType::native(elements), "{dtype}");
        }
        // Of these numcodecs gives back other elements, or none.
        for (elements, dtype) in
            [(DataType::Float32, "<i4"), (DataType::Int32, "<f4"), (seconds, "<i4"), (DataType::Int4, "|i1"), (DataType::Raw(4), "<i4")]
        {
            assert_eq!(parse_error(&delta(dtype), elements, 1).kind(), ErrorKind::Metadata, "{dtype}");
        }
    }

    #[test]
    fn delta_behind_a_codec_of_numcodecs_takes_the_bits_of_floating_point_numbers() {
        let codecs = |name: &str, t: &str| {
            v3(&format!(
                r#"[{{"name": "{name}", "configuration": {{"keepbits": 5, "digits": 2, "offset": 0, "scale": 1}}}},
                {{"name": "numcodecs.delta", "configuration": {{"dtype": "{t}"}}}}, {{"name": "bytes", "configuration": {{"endian": "little"}}}}]"#
            ))
        };
        let chain = leaf(&codecs("numcodecs.bitround", "<i4"), DataType::Float32, &[4]);
        assert_eq!(chain.layout.element, ElementType::native(DataType::Float32));
        // What zarr-python 3.1.6 stores of 1, 3.13, -2.5, 1e4, and reads.
        let stored = encode(&chain, &[1f32, 3.13, -2.5, 1e4].map(f32::to_le_bytes).concat());
        assert_eq!(stored, [0x3f80_0000u32, 0x00c8_0000, 0x7fd8_0000, 0x85fc_0000].map(u32::to_le_bytes).concat());
        assert_eq!(decode(&chain, &stored), [1f32, 3.125, -2.5, 9984.0].map(f32::to_le_bytes).concat());
        for (name, t, dtype) in [("numcodecs.quantize", DataType::Float64, "<i8"), ("numcodecs.bitround", DataType::Float16, "<i2")] {
            leaf(&codecs(name, dtype), t, &[4]);
        }
        // Of these numcodecs gives back other elements, or other programs may hand on something else.
        for (name, dtype) in [("numcodecs.bitround", "<u4"), ("numcodecs.bitround", "<i8"), ("bitround", "<i4")] {
            assert_eq!(parse_error(&codecs(name, dtype), DataType::Float32, 1).kind(), ErrorKind::Metadata, "{name} {dtype}");
        }
    }

    #[test]
    fn structs_go_through_bytes_and_not_through_arithmetic() {
        let field = |name: &str, t: DataType| crate::dtype::Field { name: name.into(), offset: 0, element: t.into(), shape: Vec::new() };
        let fields = vec![field("x", DataType::Float64), field("id", DataType::Int32)];
        let s = DataType::Struct(crate::dtype::Struct::packed(fields).unwrap());
        let big = r#"{"name": "bytes", "configuration": {"endian": "big"}}"#;
        let blosc = r#"{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0}}"#;
        let bound = leaf(&v3(&format!("[{big}, {blosc}]")), s, &[4]);
        assert_eq!((bound.layout.element, bound.layout.bytes), (ElementType::new(s, ByteOrder::Big), 48));
        assert!(matches!(bound.layout.element.data_type, DataType::Struct(turned) if turned.fields().iter().any(|f| f.element.swapped())));
        let shuffle = leaf(&v2(Order::F, s.into(), r#"[{"id": "shuffle", "elementsize": 12}]"#, None), s, &[4]);
        assert_eq!(encode(&shuffle, &[7; 48]), [7; 48]);
        for codec in
            ["numcodecs.delta", "numcodecs.quantize", "numcodecs.bitround", "scale_offset", "pcodec", "packbits", "numcodecs.packbits"]
        {
            let configuration = if codec.ends_with("quantize") { r#"{"digits": 2}"# } else { r#"{"keepbits": 3}"# };
            let tail = if matches!(codec, "pcodec" | "packbits") { String::new() } else { format!(", {big}") };
            let list = format!(r#"[{{"name": "{codec}", "configuration": {configuration}}}{tail}]"#);
            assert!(Chain::parse(&v3(&list), s, 1).is_err(), "{codec}");
        }
        assert!(Chain::parse(&v2(Order::C, s.into(), r#"[{"id": "delta", "dtype": [["x", "<f8"]]}]"#, None), s, 1).is_err());
    }

    #[test]
    fn limits_hold() {
        let many =
            format!(r#"[{{"name": "bytes", "configuration": {{"endian": "little"}}}}{}]"#, r#", "crc32c""#.repeat(limits::MAX_CODECS));
        assert_eq!(parse_error(&v3(&many), DataType::Int32, 1).kind(), ErrorKind::Limit);
        let chain = Chain::parse(&v3(r#"["bytes"]"#), DataType::UInt8, 2).unwrap();
        assert_eq!(chain.bind(&[1 << 40, 1 << 40]).err().unwrap().kind(), ErrorKind::Limit);
        assert_eq!(chain.bind(&[1]).err().unwrap().kind(), ErrorKind::Rank);
    }

    fn shards(inner: &str, codecs: &str) -> String {
        format!(
            r#"{{"name": "sharding_indexed", "configuration": {{"chunk_shape": {inner}, "codecs": {codecs},
                "index_codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}}, "crc32c"]}}}}"#
        )
    }

    #[test]
    fn shards_bind_with_their_index() {
        let s = sharded(&v3(&format!("[{}]", shards("[32, 32]", r#"["bytes"]"#))), DataType::UInt8, &[64, 64]);
        assert_eq!((s.grid.as_slice(), s.inner_shape.as_slice(), s.axes.as_slice()), (&[2u64, 2][..], &[32u64, 32][..], &[0usize, 1][..]));
        assert_eq!(s.index.sizes, [Size::Exact(64), Size::Exact(68)]);
        assert_eq!((s.location, s.stages.len()), (IndexLocation::End, 0));
        assert_eq!(s.inner.shape().as_slice(), &[32, 32]);
    }

    #[test]
    fn transposes_before_shards_become_axes() {
        let json = format!(
            r#"[{{"name": "transpose", "configuration": {{"order": [2, 0, 1]}}}}, {}, "gzip"]"#,
            shards("[4, 1, 3]", r#"["bytes"]"#)
        );
        let chain = Chain::parse(&v3(&json), DataType::UInt8, 3).unwrap();
        assert_eq!(chain.inner_shape().unwrap().as_slice(), &[1, 3, 4]);
        let s = sharded(&v3(&json), DataType::UInt8, &[2, 3, 8]);
        assert_eq!((s.axes.as_slice(), s.grid.as_slice()), (&[2usize, 0, 1][..], &[2u64, 2, 1][..]));
        assert_eq!(s.stages.len(), 1);
        let e = chain.bind(&[2, 3, 6]).err().unwrap();
        assert_eq!((e.kind(), e.field()), (ErrorKind::Metadata, Some("codecs[1].configuration.chunk_shape")));
    }

    #[test]
    fn shards_nest_up_to_the_limit() {
        let mut json = r#"["bytes"]"#.to_string();
        for size in [1, 2, 4, 8] {
            json = format!("[{}]", shards(&format!("[{size}]"), &json));
        }
        let s = sharded(&v3(&json), DataType::UInt8, &[16]);
        let BoundChain::Sharded(inner) = &s.inner else { panic!("not nested") };
        assert_eq!(
            (s.inner_shape.as_slice(), inner.inner_shape.as_slice(), inner.grid.as_slice()),
            (&[8u64][..], &[4u64][..], &[2u64][..])
        );
        let deeper = format!("[{}]", shards("[16]", &json));
        assert_eq!(parse_error(&v3(&deeper), DataType::UInt8, 1).kind(), ErrorKind::Limit);
        let uneven = format!("[{}]", shards("[6]", &format!("[{}]", shards("[4]", r#"["bytes"]"#))));
        let e = Chain::parse(&v3(&uneven), DataType::UInt8, 1).unwrap().bind(&[12]).err().unwrap();
        assert_eq!(e.field(), Some("codecs[0].configuration.codecs[0].configuration.chunk_shape"));
    }

    #[test]
    fn an_index_must_have_a_fixed_size() {
        for index in [r#"["bytes", "gzip"]"#.to_string(), format!("[{}]", shards("[1, 2]", r#"["bytes"]"#))] {
            let json = format!(
                r#"[{{"name": "sharding_indexed", "configuration": {{"chunk_shape": [2], "codecs": ["bytes"], "index_codecs": {index}}}}}]"#
            );
            let json = json.replace(r#"["bytes", "gzip"]"#, r#"[{"name": "bytes", "configuration": {"endian": "little"}}, "gzip"]"#);
            let e = parse_error(&v3(&json), DataType::UInt8, 1);
            assert!(e.field().unwrap().starts_with("codecs[0].configuration.index_codecs"), "{e}");
        }
    }

    #[test]
    fn codecs_that_change_each_element_mean_the_same_before_shards_as_inside() {
        let data: Vec<u8> = [1.0f64, -2.5, 1234.5678, 0.0].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let big = r#"{"name": "bytes", "configuration": {"endian": "big"}}"#;
        for codecs in [
            r#"{"name": "bitround", "configuration": {"keepbits": 5}}"#,
            r#"{"name": "numcodecs.quantize", "configuration": {"digits": 1, "dtype": "<f8"}}"#,
            r#"{"name": "numcodecs.astype", "configuration": {"encode_dtype": "<f4", "decode_dtype": "<f8"}}"#,
            r#"{"name": "scale_offset", "configuration": {"offset": 1.0, "scale": 2.0}},
                {"name": "cast_value", "configuration": {"data_type": "float32"}}"#,
        ] {
            let before = format!("[{codecs}, {}]", shards("[4]", &format!("[{}]", shards("[2]", &format!("[{big}]")))));
            let inside = format!("[{}]", shards("[4]", &format!("[{}]", shards("[2]", &format!("[{codecs}, {big}]")))));
            let stored = [before, inside].map(|json| {
                let outer = sharded(&v3(&json), DataType::Float64, &[8]);
                let BoundChain::Sharded(inner) = &outer.inner else { panic!("not nested") };
                let BoundChain::Leaf(leaf) = &inner.inner else { panic!("nested too deep") };
                assert_eq!((outer.index.sizes[0], inner.index.sizes[0]), (Size::Exact(32), Size::Exact(32)));
                encode(leaf, &data[..16])
            });
            assert_eq!(stored[0], stored[1], "{codecs}");
        }
    }

    #[test]
    fn other_codecs_of_elements_stay_inside_shards() {
        for (codec, name) in [
            (r#"{"name": "numcodecs.delta", "configuration": {"dtype": "|u1"}}"#, "delta"),
            (r#"{"name": "numcodecs.fixedscaleoffset", "configuration": {"offset": 1, "scale": 1, "dtype": "|u1"}}"#, "fixedscaleoffset"),
        ] {
            let e = parse_error(&v3(&format!("[{codec}, {}]", shards("[2]", r#"["bytes"]"#))), DataType::UInt8, 1);
            assert!(e.kind() == ErrorKind::Unsupported && e.message().contains(name), "{name}: {:?} {e}", e.kind());
        }
    }

    /// An inner chunk that is not stored is the fill value as it is behind the codecs before the shard.
    #[test]
    fn a_fill_value_that_codecs_before_shards_change_is_found() {
        let round = r#"{"name": "bitround", "configuration": {"keepbits": 2}}"#;
        let big = r#"{"name": "bytes", "configuration": {"endian": "big"}}"#;
        let before = format!("[{round}, {}]", shards("[4]", &format!("[{}]", shards("[2]", &format!("[{big}]")))));
        let inside = format!("[{}]", shards("[4]", &format!("[{}]", shards("[2]", &format!("[{round}, {big}]")))));
        for (json, fill, is_right) in [(&before, 0.0, true), (&before, 1.1, false), (&inside, 1.1, true)] {
            let chain = Chain::parse(&v3(json), DataType::Float32, 1).unwrap();
            assert_eq!(chain.check_missing(&f32::to_ne_bytes(fill)).is_ok(), is_right, "{json} {fill}");
        }
    }

    #[test]
    fn chunks_without_elements_bind() {
        assert_eq!(leaf(&v3(r#"["bytes"]"#), DataType::UInt8, &[0, 3]).layout.bytes, 0);
        assert_eq!(sharded(&v3(&format!("[{}]", shards("[1, 2]", r#"["bytes"]"#))), DataType::UInt8, &[3, 4]).index.layout.bytes, 96);
    }

    #[test]
    fn reshapes_change_the_shape_that_codecs_behind_them_see() {
        let zfp = r#"{"name": "zfp", "configuration": {"mode": "reversible"}}"#;
        let five = [2, 1, 3, 1, 4];
        assert!(Chain::parse(&v3(&format!("[{zfp}]")), DataType::Float32, 5).unwrap().bind(&five).is_err());
        let data: Vec<u8> = (0..24).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let flat = leaf(&v3(&format!("[{zfp}]")), DataType::Float32, &[2, 3, 4]);
        for codec in [r#""zarrs.squeeze""#, r#"{"name": "reshape", "configuration": {"shape": [[0], [2], 4]}}"#] {
            let chain = leaf(&v3(&format!("[{codec}, {zfp}]")), DataType::Float32, &five);
            assert_eq!(encode(&chain, &data), encode(&flat, &data));
            assert_eq!(decode(&chain, &encode(&chain, &data)), data);
        }
        let plain = leaf(
            &v3(
                r#"[{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "reshape", "configuration": {"shape": [-1]}}, {"name": "bytes", "configuration": {"endian": "little"}}]"#,
            ),
            DataType::Int32,
            &[2, 3],
        );
        assert_eq!((plain.layout.strides.as_slice(), plain.stages.len()), (&[4, 8][..], 0));
        let e = Chain::parse(&v3(r#"[{"name": "reshape", "configuration": {"shape": [5, -1]}}, "bytes"]"#), DataType::Int8, 1)
            .unwrap()
            .bind(&[7]);
        assert_eq!(e.err().unwrap().field(), Some("codecs[0].configuration.shape"));
        let turned =
            r#"[{"name": "reshape", "configuration": {"shape": [-1]}}, {"name": "transpose", "configuration": {"order": [0]}}, "bytes"]"#;
        assert_eq!(parse_error(&v3(turned), DataType::Int8, 1).kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn n5_blocks_are_big_endian_and_column_major() {
        let codecs = |more: &str| {
            v3(&format!(
                r#"[{{"name": "n5_default", "configuration": {{"codecs": [{{"name": "transpose", "configuration": {{"order": [1, 0]}}}}, {{"name": "bytes", "configuration": {{"endian": "big"}}}}{more}]}}}}]"#
            ))
        };
        let plain = leaf(&codecs(""), DataType::Int16, &[3, 2]);
        assert_eq!(plain.layout.strides.as_slice(), &[2, 6]);
        assert!(plain.layout.element.swapped());
        let data: Vec<u8> = (0..12).collect();
        assert_eq!(encode(&plain, &data)[..12], [0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 2]);
        let note = r#", {"name": "acme.note", "must_understand": false}"#;
        for more in ["", r#", "gzip""#, r#", {"name": "zstd", "configuration": {"level": 1}}"#, note, &format!(r#"{note}, "gzip"{note}"#)] {
            let chain = leaf(&codecs(more), DataType::Int16, &[3, 2]);
            assert_eq!(decode(&chain, &encode(&chain, &data)), data);
        }
        for (list, field) in [
            ("[]", "codecs[0].configuration.codecs"),
            (r#"[{"name": "transpose", "configuration": {"order": [0, 1]}}, "bytes"]"#, "codecs[0].configuration.codecs[0]"),
            (
                r#"[{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes", "configuration": {"endian": "little"}}]"#,
                "codecs[0].configuration.codecs[1]",
            ),
            (
                r#"[{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes", "configuration": {"endian": "big"}}, "bytes"]"#,
                "codecs[0].configuration.codecs[2]",
            ),
            (
                r#"[{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes", "configuration": {"endian": "big"}},
                    {"name": "bytes", "must_understand": false}]"#,
                "codecs[0].configuration.codecs[2]",
            ),
        ] {
            let e = parse_error(&v3(&format!(r#"[{{"name": "n5_default", "configuration": {{"codecs": {list}}}}}]"#)), DataType::Int16, 2);
            assert!(e.field().unwrap().starts_with(field), "{list}: {e}");
        }
    }

    #[test]
    fn fill_values_must_come_back_from_casts() {
        let cast = |more: &str| v3(&format!(r#"[{{"name": "cast_value", "configuration": {{"data_type": "uint8"{more}}}}}, "bytes"]"#));
        let check = |codecs: &Codecs, fill: f32| Chain::parse(codecs, DataType::Float32, 1).unwrap().check_fill(&fill.to_le_bytes());
        assert!(check(&cast(""), 7.0).is_ok());
        for (codecs, fill) in [(cast(""), 7.5), (cast(""), f32::NAN), (cast(r#", "out_of_range": "clamp""#), 300.0)] {
            let e = check(&codecs, fill).unwrap_err();
            assert_eq!((e.kind(), e.field()), (ErrorKind::Metadata, Some("fill_value")), "{fill}");
        }
        let mapped = cast(r#", "scalar_map": {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}"#);
        assert!(check(&mapped, f32::NAN).is_ok());
    }

    #[test]
    fn fill_values_must_come_back_from_rounding() {
        // Digits are kept to a 128th.
        let (bits, digits) = (r#"bitround", "keepbits": 10"#, r#"quantize", "digits": 2, "dtype": "<f4""#);
        let bytes = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
        let shards = |list: &str| {
            let rest = format!(r#""index_codecs": [{bytes}], "index_location": "end""#);
            v3(&format!(r#"[{{"name": "sharding_indexed", "configuration": {{"chunk_shape": [2], "codecs": {list}, {rest}}}}}]"#))
        };
        for (codec, kept, changed) in [
            (bits, &[0.0, -0.0, -8192.0, f32::NAN, f32::INFINITY, f32::from_bits(u32::MAX), 9.969_21e36][..], &[1e20, -9999.0, 0.1][..]),
            (digits, &[0.0, -9999.0, 0.125, 1e20, f32::NAN, f32::NEG_INFINITY, 9.969_21e36], &[0.1, -9999.003]),
        ] {
            let (name, members) = codec.split_once("\", ").unwrap();
            let list = format!(r#"[{{"name": "numcodecs.{name}", "configuration": {{{members}}}}}, {bytes}]"#);
            let filters = |more: &str| format!(r#"[{{"id": "{codec}}}{more}]"#);
            let float = |order| ElementType::new(DataType::Float32, order);
            for codecs in [
                v3(&list),
                shards(&list),
                v2(Order::C, float(ByteOrder::Little), &filters(r#", {"id": "zlib", "level": 1}"#), None),
                v2(Order::F, float(ByteOrder::Big), &filters("").replace("<f4", ">f4"), None),
            ] {
                let check = |fill: &f32| Chain::parse(&codecs, DataType::Float32, 1).unwrap().check_fill(&fill.to_ne_bytes());
                kept.iter().for_each(|fill| check(fill).unwrap());
                for fill in changed {
                    let e = check(fill).unwrap_err();
                    assert_eq!((e.kind(), e.field()), (ErrorKind::Metadata, Some("fill_value")), "{fill}");
                    assert!(e.message().contains(name), "{e}");
                }
            }
        }
        // What changes it on the way does not count if the next codec restores it.
        let tenths = r#"[{"name": "scale_offset", "configuration": {"scale": 10}}, {"name": "cast_value", "configuration": {"data_type": "int8"}}, "bytes"]"#;
        Chain::parse(&v3(tenths), DataType::Float32, 1).unwrap().check_fill(&7.3f32.to_ne_bytes()).unwrap();
    }

    #[test]
    fn fill_values_must_come_back_from_arithmetic() {
        let tenths =
            r#"{"name": "numcodecs.fixedscaleoffset", "configuration": {"offset": 0, "scale": 10, "dtype": "<f4", "astype": "<i2"}}"#;
        let cast = r#"{"name": "numcodecs.astype", "configuration": {"encode_dtype": "<i2", "decode_dtype": "<f4"}}"#;
        let short = r#"{"name": "numcodecs.delta", "configuration": {"dtype": "<f4", "astype": "<i2"}}"#;
        let delta = r#"{"name": "numcodecs.delta", "configuration": {"dtype": "<f4"}}"#;
        let kelvin = r#"{"name": "scale_offset", "configuration": {"offset": 273.15, "scale": 0.1}}"#;
        // What it changes, and what that becomes.
        for (codec, kept, changed) in [
            (tenths, &[0.0, -7.5, 3276.7][..], &[(f32::NAN, "0.0"), (1e9, "-0.1"), (9.969_21e36, "-0.1"), (0.25, "0.2")][..]),
            (cast, &[0.0, -9999.0], &[(f32::NAN, "0.0"), (0.3, "0.0"), (1e9, "-13824.0"), (9.969_21e36, "-1.0")]),
            (short, &[0.0, -9999.0], &[(1e9, "-13824.0"), (f32::NAN, ""), (f32::INFINITY, "")]),
            (delta, &[0.0, 0.1, 1e20], &[(f32::NAN, ""), (f32::NEG_INFINITY, "")]),
            (kelvin, &[f32::NAN], &[(-32768.0, "-32767.998"), (0.3, "0.2999")]),
        ] {
            let codecs = v3(&format!(r#"[{codec}, {{"name": "bytes", "configuration": {{"endian": "little"}}}}]"#));
            let check = |fill: f32| Chain::parse(&codecs, DataType::Float32, 1).unwrap().check_fill(&fill.to_ne_bytes());
            kept.iter().for_each(|fill| check(*fill).unwrap_or_else(|e| panic!("{codec} {fill}: {e}")));
            for (fill, back) in changed {
                let e = check(*fill).expect_err(codec);
                assert_eq!((e.kind(), e.field()), (ErrorKind::Metadata, Some("fill_value")), "{fill}");
                assert!(e.message().contains(&format!("as it was, but as {back}")) || back.is_empty(), "{fill}: {e}");
                assert!(e.message().contains("set"), "{e}");
            }
        }
        let labels = |data_type, order, text: &str| {
            let filter = format!(r#"[{{"id": "categorize", "labels": ["a", "bc"], "dtype": "{text}", "astype": "|u1"}}]"#);
            Chain::parse(&v2(Order::C, ElementType::new(data_type, order), &filter, None), data_type, 1).unwrap()
        };
        let objects = labels(DataType::VarText, ByteOrder::Little, "|O");
        [&b""[..], b"a", b"bc"].iter().for_each(|fill| objects.check_fill(fill).unwrap());
        assert_eq!(objects.check_fill(b"zz").unwrap_err().field(), Some("fill_value"));
        for (order, name) in [(ByteOrder::Little, "<U2"), (ByteOrder::Big, ">U2")] {
            let check = |text: &str| {
                let mut points: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_ne_bytes()).collect();
                points.resize(8, 0);
                labels(DataType::Text(2), order, name).check_fill(&points)
            };
            ["", "a", "bc"].iter().for_each(|fill| check(fill).unwrap());
            assert_eq!(check("zz").unwrap_err().field(), Some("fill_value"), "{name}");
        }
    }

    #[test]
    fn chunks_that_are_no_whole_number_of_a_codecs_elements_are_refused_when_an_array_is_made() {
        let little = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
        let shuffle = |size: u64| format!(r#"{{"name": "numcodecs.shuffle", "configuration": {{"elementsize": {size}}}}}"#);
        let packed = r#"{"name": "packbits"}"#;
        let crc = r#"{"name": "crc32c"}"#;
        for (codecs, t, n, fits) in [
            (format!("{little}, {}", shuffle(3)), DataType::Float32, 8, false),
            (format!("{little}, {}", shuffle(3)), DataType::Float32, 9, true),
            (format!("{little}, {}", shuffle(0)), DataType::Float32, 8, true),
            (format!("{little}, {crc}, {}", shuffle(8)), DataType::Float32, 8, false),
            (format!("{packed}, {}", shuffle(4)), DataType::Bool, 9, false),
            (format!("{packed}, {}", shuffle(2)), DataType::Bool, 9, true),
        ] {
            let chain = Chain::parse(&v3(&format!("[{codecs}]")), t, 1).unwrap().bind(&[n]).unwrap();
            let checked = chain.check_encodable();
            assert_eq!(checked.map_err(|e| e.kind()), if fits { Ok(()) } else { Err(ErrorKind::Unsupported) }, "{codecs}");
        }
        for (n, want) in [(8, Err(ErrorKind::Unsupported)), (6, Ok(()))] {
            let index = format!(r#""chunk_shape": [2], "codecs": [{little}], "index_codecs": [{little}, {}]"#, shuffle(3));
            let codecs = format!(r#"[{{"name": "sharding_indexed", "configuration": {{{index}}}}}]"#);
            let chain = Chain::parse(&v3(&codecs), DataType::Float32, 1).unwrap().bind(&[n]).unwrap();
            assert_eq!(chain.check_encodable().map_err(|e| e.kind()), want, "the index of a shard of {n}");
        }
        let stage = crate::codec::testing::stage_v2("shuffle", r#"{"elementsize": 3}"#, DataType::UInt8);
        assert_eq!(stage.encode(&[0; 8], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn addresses_of_elements_of_any_length_are_no_elements() {
        let n5 = r#"{"name": "n5_default", "configuration": {"codecs":
            [{"name": "transpose", "configuration": {"order": [0]}}, {"name": "bytes", "configuration": {"endian": "big"}}]}}"#;
        let serial = ["packbits", "pcodec", "numcodecs.pcodec", "zfp", "numcodecs.zfpy", "bytes"];
        for codec in serial
            .map(|name| format!(r#""{name}""#))
            .into_iter()
            .chain([n5.into(), r#"{"name": "bytes", "configuration": {"endian": "little"}}"#.into()])
        {
            for t in [DataType::VarText, DataType::VarBytes] {
                let index = r#"[{"name": "bytes", "configuration": {"endian": "little"}}]"#;
                let config = format!(r#"{{"chunk_shape": [2], "codecs": [{codec}], "index_codecs": {index}}}"#);
                for list in [format!("[{codec}]"), format!(r#"[{{"name": "sharding_indexed", "configuration": {config}}}]"#)] {
                    let e = Chain::parse(&v3(&list), t, 1).err().unwrap_or_else(|| panic!("{list} takes {t:?}"));
                    assert!(matches!(e.kind(), ErrorKind::Metadata | ErrorKind::Unsupported), "{list}: {e}");
                }
            }
        }
    }

    #[test]
    fn what_is_decoded_only_is_refused_when_an_array_is_made() {
        let pcodec = r#"{"id": "pcodec"}"#;
        let cases = [
            ("[]", Some(pcodec), DataType::UInt8, false),
            ("[]", Some(pcodec), DataType::UInt16, true),
            ("[]", Some(pcodec), DataType::Complex64, true),
            (r#"[{"id": "zlib"}, {"id": "pcodec"}]"#, None, DataType::Int32, false),
            ("[]", Some(r#"{"id": "zfpy", "mode": -1}"#), DataType::Float32, false),
            ("[]", Some(r#"{"id": "lzma", "format": 0}"#), DataType::Float32, false),
            (r#"[{"id": "delta", "dtype": "|b1"}]"#, None, DataType::Bool, false),
            (r#"[{"id": "packbits"}]"#, None, DataType::Bool, true),
            (r#"[{"id": "packbits"}]"#, None, DataType::Int8, false),
            (r#"[{"id": "zlib"}, {"id": "packbits"}]"#, None, DataType::Float32, false),
        ];
        for (filters, compressor, t, fits) in cases {
            let codecs = v2(Order::C, ElementType::new(t, ByteOrder::Little), filters, compressor);
            let checked = Chain::parse(&codecs, t, 1).unwrap().bind(&[4]).unwrap().check_encodable();
            assert_eq!(checked.is_ok(), fits, "{filters} {compressor:?} of {t:?}: {checked:?}");
        }
        let list = format!("[{}, {}]", shards("[2]", r#"["bytes"]"#), r#"{"name": "numcodecs.lzma", "configuration": {"format": 0}}"#);
        assert!(Chain::parse(&v3(&list), DataType::UInt8, 1).unwrap().bind(&[4]).unwrap().check_encodable().is_err(), "{list}");
        let packed = leaf(&v2(Order::C, ElementType::native(DataType::Int8), r#"[{"id": "packbits"}]"#, None), DataType::Int8, &[4]);
        assert_eq!(decode(&packed, &encode(&packed, &[1, 0, 0, 1])), [1, 0, 0, 1]);
        assert_eq!(packed.stages[0].encode(&[1, 5], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn numcodecs_takes_elements_in_the_order_of_bytes() {
        let round = r#"{"name": "numcodecs.bitround", "configuration": {"keepbits": 3}}"#;
        let bytes = |endian: &str| format!(r#"{{"name": "bytes", "configuration": {{"endian": "{endian}"}}}}"#);
        let delta = |(dtype, astype): &(&str, &str)| {
            format!(r#"{{"name": "numcodecs.delta", "configuration": {{"dtype": "{dtype}", "astype": "{astype}"}}}}"#)
        };
        // Whether arrays that are there are read, and whether one is made.
        let check = |codecs: &str, t, read: bool, made| {
            let chain = Chain::parse(&v3(codecs), t, 1);
            assert_eq!(chain.as_ref().map(|chain| chain.check_new().is_ok()).ok(), read.then_some(made), "{codecs}: {:?}", chain.err());
        };
        for (deltas, endian, read, made) in [
            (&[("<u4", "<u4")][..], "little", true, true),
            (&[(">u4", ">u4")], "little", false, false),
            (&[(">u4", ">u4")], "big", true, true),
            (&[("<u4", "<u4")], "big", true, false),
            (&[(">u4", "|u1")], "little", true, true),
            (&[("<u4", ">u2")], "little", false, false),
            (&[("<u4", ">u2"), ("<u2", "<u2")], "little", false, false),
            (&[("<u4", ">u2"), (">u2", ">u2")], "big", true, true),
        ] {
            let codecs: String = deltas.iter().map(|types| delta(types) + ",").collect();
            check(&format!("[{codecs}{}]", bytes(endian)), DataType::UInt32, read, made);
            // It has the order of what is around it.
            let (first, last) = (format!("[{round},{codecs}{}]", bytes(endian)), format!("[{codecs}{round},{}]", bytes(endian)));
            [first, last].iter().for_each(|codecs| check(codecs, DataType::UInt32, read, made));
        }
        check(&format!("[{round},{}]", bytes("big")), DataType::Float32, true, true);
        for (t, read) in [("<f4", true), (">f4", false)] {
            let before = format!(r#"{{"name": "numcodecs.quantize", "configuration": {{"digits": 2, "dtype": "{t}"}}}}"#);
            check(&format!("[{before},{}]", shards("[2]", &format!("[{}]", bytes("big")))), DataType::Float32, read, read);
            // Big-endian elements are read, and right before zarr-python 3.4.
            let (endian, made) = if read { ("little", true) } else { ("big", false) };
            let inner = format!("[{before},{}]", bytes(endian));
            let rounded = format!("[{before},{round},{}]", bytes(endian));
            [&inner, &rounded, &format!("[{}]", shards("[2]", &inner))]
                .iter()
                .for_each(|codecs| check(codecs, DataType::Float32, true, made));
            check(&format!("[{before},{},{}]", delta(&(t, t)), bytes(endian)), DataType::Float32, true, true);
        }
        let e = parse_error(&v3(&format!("[{},{}]", delta(&(">u4", ">u4")), bytes("little"))), DataType::UInt32, 1);
        assert_eq!((e.kind(), e.field()), (ErrorKind::Unsupported, Some("codecs[1]")));
        let text = r#""numcodecs.delta" makes elements of ">u4", whose bytes come in another order here, expected "<u4""#;
        assert_eq!(e.message(), text);
    }

    #[test]
    fn what_zarr_python_misreads_is_not_made() {
        let bytes = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
        let round = format!(r#"[{{"name": "NAME", "configuration": {{"keepbits": 3}}}}, {bytes}]"#);
        for (list, name, t, made) in [
            (&*round, "numcodecs.bitround", DataType::Int32, false),
            (&round, "numcodecs.bitround", DataType::Int8, false),
            (&round, "numcodecs.bitround", DataType::UInt32, true),
            (&round, "numcodecs.bitround", DataType::Float32, true),
            (&round, "bitround", DataType::Int32, true),
            (r#"["NAME"]"#, "numcodecs.pcodec", DataType::Complex64, false),
            (r#"["NAME"]"#, "numcodecs.pcodec", DataType::Float64, true),
            (r#"["NAME"]"#, "pcodec", DataType::Complex64, true),
        ] {
            let bound = Chain::parse(&v3(&list.replace("NAME", name)), t, 1).unwrap().bind(&[4]).unwrap();
            assert_eq!(
                bound.check_encodable().map_err(|e| e.kind()),
                if made { Ok(()) } else { Err(ErrorKind::Unsupported) },
                "{name} {t:?}"
            );
        }
    }

    #[test]
    fn elements_of_any_length_pass_no_codec_of_numbers() {
        for name in ["bitround", "numcodecs.bitround"] {
            let list = format!(r#"[{{"name": "{name}", "configuration": {{"keepbits": 3}}}}, "vlen-utf8"]"#);
            assert!(Chain::parse(&v3(&list), DataType::VarText, 1).is_err(), "{list}");
        }
    }

    #[test]
    fn what_would_change_bytes_or_places_is_refused_when_an_array_is_made() {
        let little = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
        let shard = |index: &str| {
            format!(
                r#"[{{"name": "sharding_indexed", "configuration": {{"chunk_shape": [2], "codecs": ["bytes"], "index_codecs": [{index}]}}}}]"#
            )
        };
        let offsets = |data: &str, index: &str| {
            format!(r#"[{{"name": "zarrs.vlen", "configuration": {{"data_codecs": [{data}], "index_codecs": [{index}]}}}}]"#)
        };
        let round = r#"{"name": "bitround", "configuration": {"keepbits": 3}}"#;
        let narrow = r#"{"name": "numcodecs.astype", "configuration": {"encode_dtype": "|u1"}}"#;
        let delta = r#"{"name": "numcodecs.delta", "configuration": {"dtype": "<u8"}}"#;
        let lzma = r#""bytes", {"name": "numcodecs.lzma", "configuration": {"format": 0}}"#;
        for (list, t, made) in [
            (shard(&format!("{little}, \"crc32c\"")), DataType::UInt8, true),
            (shard(&format!("{delta}, {little}")), DataType::UInt8, true),
            (shard(r#""packbits""#), DataType::UInt8, true),
            (shard(&format!("{round}, {little}")), DataType::UInt8, false),
            (shard(&format!("{narrow}, \"bytes\"")), DataType::UInt8, false),
            (offsets(r#""bytes", "gzip""#, r#""pcodec""#), DataType::VarText, true),
            (offsets(r#""bytes""#, &format!("{narrow}, \"bytes\"")), DataType::VarText, false),
            (offsets(&format!("{round}, \"bytes\""), little), DataType::VarText, false),
            (offsets(lzma, little), DataType::VarText, false),
        ] {
            let checked = Chain::parse(&v3(&list), t, 1).unwrap().bind(&[4]).unwrap().check_encodable();
            assert_eq!(checked.as_ref().map_err(Error::kind), if made { Ok(&()) } else { Err(ErrorKind::Unsupported) }, "{list}");
        }
        let object = ElementType::native(DataType::VarText);
        for (filters, made) in [
            (r#"{"id": "delta", "dtype": "|u1"}"#, true),
            (r#"{"id": "astype", "decode_dtype": "|u1", "encode_dtype": "<f4"}, {"id": "zlib"}"#, true),
            (r#"{"id": "astype", "decode_dtype": "|u1", "encode_dtype": "|b1"}"#, false),
            (r#"{"id": "zlib"}, {"id": "fixedscaleoffset", "dtype": "|u1", "offset": 0, "scale": 4}"#, false),
            (r#"{"id": "bitround", "keepbits": 3}"#, false),
        ] {
            let codecs = v2(Order::C, object, &format!(r#"[{{"id": "vlen-utf8"}}, {filters}]"#), None);
            let checked = Chain::parse(&codecs, DataType::VarText, 1).unwrap().bind(&[4]).unwrap().check_encodable();
            assert_eq!(checked.as_ref().map_err(Error::kind), if made { Ok(&()) } else { Err(ErrorKind::Unsupported) }, "{filters}");
        }
    }

    #[test]
    fn what_a_codec_cannot_encode_is_no_damage() {
        use crate::codec::testing::{stage_v2, stage_v3};
        let packed = stage_v3("packbits", &Map::new(), ElementType::native(DataType::UInt16)).unwrap();
        let field = stage_v2("zfpy", "{}", DataType::Int32).for_shape(&[3]).unwrap().unwrap();
        for (stage, bytes, unit) in [
            (stage_v2("pcodec", "{}", DataType::Float32), 7, 4),
            (stage_v2("zfpy", "{}", DataType::Float64), 15, 8),
            (stage_v2("vlen-bytes", "{}", DataType::Bytes(5)), 7, 5),
            (stage_v2("vlen-utf8", "{}", DataType::Text(2)), 12, 8),
            (packed, 3, 2),
            // Another number of values than its chunk has.
            (field, 16, 4),
        ] {
            let e = stage.encode(&vec![0; bytes], &mut Vec::new()).unwrap_err();
            assert_eq!((e.kind(), stage.unit()), (ErrorKind::Unsupported, unit), "{}: {e}", stage.name());
        }
    }

    #[test]
    fn chunks_larger_than_a_codec_encodes_are_refused_when_an_array_is_made() {
        let little = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
        let checked = |codecs: &str, n: u64| {
            let chain = Chain::parse(&v3(&format!("[{codecs}]")), DataType::Int64, 1).unwrap();
            chain.bind(&[n]).and_then(|bound| bound.check_encodable())
        };
        let blosc =
            r#"{"name": "blosc", "configuration": {"cname": "zstd", "clevel": 1, "shuffle": "shuffle", "typesize": 8, "blocksize": 0}}"#;
        for (codec, most) in [(r#"{"name": "numcodecs.lz4", "configuration": {}}"#, 2_113_929_216), (blosc, 2_147_483_631)] {
            let codecs = format!("{little}, {codec}");
            let shards = format!(
                r#"{{"name": "sharding_indexed", "configuration": {{"chunk_shape": [1024], "codecs": [{codecs}],
                "index_codecs": [{little}], "index_location": "end"}}}}"#
            );
            checked(&codecs, most / 8).unwrap();
            let e = checked(&codecs, most / 8 + 1).unwrap_err();
            assert!(e.kind() == ErrorKind::Limit && e.message().contains(&most.to_string()), "{e}");
            checked(&shards, 1 << 28).unwrap();
        }
        checked(&format!(r#"{little}, {{"name": "zstd", "configuration": {{"level": 1, "checksum": false}}}}"#), 1 << 28).unwrap();
    }

    #[test]
    fn names_of_both_versions_are_known() {
        for name in [
            "zstd",
            "zlib",
            "numcodecs.zlib",
            "bytes",
            "endian",
            "transpose",
            "sharding_indexed",
            "delta",
            "https://zarr.dev/numcodecs/shuffle",
        ] {
            assert!(has(name), "{name}");
        }
        assert!(!has("pickle") && !has("zarrs.optional"));
        for (url, name) in [
            ("bytes_to_bytes/zstd", "zstd"),
            ("bytes_to_bytes/bz2", "numcodecs.bz2"),
            ("bytes_to_bytes/fletcher32", "numcodecs.fletcher32"),
            ("array_to_array/bitround", "bitround"),
            ("array_to_bytes/pcodec", "pcodec"),
            ("array_to_bytes/zfp", "zfp"),
            ("array_to_bytes/vlen", "zarrs.vlen"),
            ("array_to_bytes/vlen_v2", "zarrs.vlen_v2"),
            ("bytes_to_bytes/gdeflate", "gdeflate"),
        ] {
            let url = format!("https://codec.zarrs.dev/{url}");
            assert_eq!(registry::canonical(&url), name);
            assert_eq!(has(&url), name != "gdeflate", "{name}");
        }
    }

    #[test]
    fn codecs_of_old_urls_are_read() {
        let bz2 = r#"["bytes",{"name":"https://codec.zarrs.dev/bytes_to_bytes/bz2","configuration":{"level":9}}]"#;
        let sum = r#"["bytes",{"name":"https://codec.zarrs.dev/bytes_to_bytes/fletcher32"}]"#;
        for (codecs, stage) in [(bz2, "bz2"), (sum, "fletcher32")] {
            assert_eq!(leaf(&v3(codecs), DataType::UInt8, &[4]).stages[0].name(), stage);
        }
        for name in ["https://codec.zarrs.dev/array_to_bytes/vlen_v2", "zarrs.vlen_v2"] {
            for (t, codec) in [(DataType::VarText, "vlen-utf8"), (DataType::VarBytes, "vlen-bytes")] {
                let chain = Chain::parse(&v3(&format!(r#"["{name}"]"#)), t, 1).unwrap();
                assert!(matches!(&chain.body, Body::Variable(_, found) if found.name() == codec), "{name} {t:?}");
            }
            let e = Chain::parse(&v3(&format!(r#"["{name}"]"#)), DataType::Int32, 1).err().unwrap();
            assert_eq!((e.kind(), e.field()), (ErrorKind::Metadata, Some("codecs[0]")), "{e}");
        }
    }

    /// simplezarr and zarrita.js write numcodecs' ids as they are.
    #[test]
    fn bare_names_of_numcodecs_are_read() {
        for name in ["adler32", "bz2", "crc32", "fletcher32", "jenkins_lookup3", "lz4", "lzma", "zlib"] {
            let stage = |name: &str| leaf(&v3(&format!(r#"["bytes","{name}"]"#)), DataType::UInt8, &[4]).stages.remove(0);
            let (bare, full) = (stage(name), stage(&format!("numcodecs.{name}")));
            assert_eq!((bare.name(), registry::canonical(name)), (full.name(), format!("numcodecs.{name}").into()));
            let inside = v3(&format!(r#"["bytes",{{"name":"conditional","configuration":{{"codecs":["{name}"]}}}}]"#));
            assert!(Chain::parse(&inside, DataType::UInt8, 1).is_ok(), "{name}");
        }
    }

    #[test]
    fn unknown_names_are_listed_with_the_known_ones() {
        let e = build_v2("nosuch", &Map::new(), BYTES).err().unwrap();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
        assert!(e.message().starts_with("the codec \"nosuch\" is not known; known are adler32, astype, b"), "{e}");
        let e = build_v2("pickle", &Map::new(), BYTES).err().unwrap();
        assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("runs code"), "{e}");
        assert_eq!(registry::canonical("delta"), "delta");
        assert!(registry::unknown_v3("foo").message().contains("transpose"));
    }
}
