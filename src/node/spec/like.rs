//! What to create, taken from what is there: from a document, or like an array, whose settings can then be changed one by one.

use super::{FillSetting, Spec};
use crate::codec::chain::Chain;
use crate::codec::registered;
use crate::counting::{self, Counting};
use crate::dtype::fill::Fill;
use crate::dtype::{ByteOrder, DataType, ElementType, parse_v2};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::readable;
use crate::metadata::json::{self, brief};
use crate::metadata::v3::NodeType;
use crate::metadata::{ArrayMeta, Codecs, Dialect, Format, Map, Value, codecs_to_v2, upgrade, v2, v3};
use crate::node::compression::Compressor;
use crate::node::conventions::missing::{missing_to_v2, missing_to_v3};

/// What is told of a fill value that is none in version 2.
const FILL_LOST: &str = "the fill value is lost: in zarr_format 2 it means \"missing\"";

/// What is told of a fill value that is not defined, and is in the copy.
pub(in crate::node) fn undefined_fill(meta: &ArrayMeta) -> String {
    let given = brief(meta.document.get("fill_value").unwrap_or(&Value::Null));
    let became = if matches!(meta.data_type, DataType::VarText | DataType::VarBytes) { "\"\"" } else { "0" };
    format!("the fill value {given} became {became}")
}

impl Spec {
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
                spec.is_nc_char = meta.document.get("dtype").and_then(Value::as_str) == Some(v2::NC_CHAR);
                if !matches!(element.data_type, DataType::Struct(_)) {
                    spec.byte_order = element.order;
                }
                (spec.filters, spec.compression.compressor) = (Some(filters), Compressor::Json(compressor));
                if let Some(fill) = meta.document.get("fill_value") {
                    spec.document.insert("fill_value".into(), fill.clone());
                }
            }
        }
        Ok(spec)
    }

    /// Makes the spec of a copy of an array with these attributes, in `format` (`None`: the array's version, or 3 for a draft). Every
    /// setting can be changed on its own. Settings that cannot be kept are added to `notes`.
    pub(in crate::node) fn like(meta: &ArrayMeta, mut attributes: Map, format: Option<Format>, notes: &mut Vec<String>) -> Result<Spec> {
        let is_draft = meta.dialect != Dialect::Final;
        let format = format.unwrap_or(if is_draft { Format::V3 } else { meta.format });
        let mut spec = if (format, meta.format, is_draft) == (Format::V2, Format::V2, false) {
            let mut spec = Spec::from_meta(meta.clone())?;
            spec.attributes = upgrade::with_nczarr_members(&meta.document, attributes);
            spec
        } else {
            if meta.format == Format::V2 && !is_draft {
                missing_to_v3(&mut attributes, meta);
            }
            let v3 = upgraded(meta, attributes, notes)?;
            let mut spec = Spec::from_meta(v3)?;
            if meta.format == Format::V2 || is_draft {
                spec.keys = None;
            }
            if format == Format::V2 {
                spec.downgrade(notes)?;
            } else if matches!(&spec.fill, FillSetting::Element(fill) if !fill.defined) {
                // What others wrote and is read (HD-40) is not written.
                spec.fill = FillSetting::Element(Fill::zero());
                notes.push(undefined_fill(meta));
            }
            spec
        };
        spec.loose = true;
        let chain = Chain::parse(&meta.codecs, meta.data_type, meta.shape.len());
        spec.changes_fill = match readable(chain)? {
            Some(chain) => readable(chain.check_fill(&meta.fill.try_element(meta.data_type)?))?.is_none(),
            None => false,
        };
        Ok(spec)
    }

    /// Whether the fill value of [`Spec::like`] is this one, of the array that it is like.
    pub(in crate::node) fn fill_is_like(&self, old: &Fill) -> bool {
        matches!(&self.fill, FillSetting::Element(fill) if fill == old || !old.defined)
    }

    /// Whether the codecs of the array that it is like make another value of its fill value.
    pub(in crate::node) fn changes_fill(&self) -> bool {
        self.changes_fill
    }

    /// Takes the fill value of the array that it is like, although it means "missing" here.
    pub(in crate::node) fn keep_fill(&mut self, old: Fill, notes: &mut Vec<String>) {
        self.fill = FillSetting::Element(old);
        notes.retain(|note| note != FILL_LOST);
        notes.push(
            "the fill value is kept, and means \"missing\" in zarr_format 2: for another one too many chunks would have to be stored, or other \
             elements in them"
                .into(),
        );
    }

    /// From version 3 to 2.
    fn downgrade(&mut self, notes: &mut Vec<String>) -> Result<()> {
        let list = self.codecs.take().unwrap_or_default();
        (self.format, self.keys, self.document) = (Some(Format::V2), None, Map::new());
        let members = match registered::first_in(&list) {
            Some(name) => Err(err!(Unsupported, "the codec {name:?} is registered by the program, and has no form in Zarr v2")),
            None => codecs_to_v2::codecs(&list, self.rank()),
        };
        match members {
            Ok(members) => {
                self.order = members.order();
                self.byte_order = members.byte_order.unwrap_or(self.byte_order);
                if let Some(number) = parse_v2::without_order(ElementType::new(self.data_type, self.byte_order)) {
                    self.byte_order = ByteOrder::Little;
                    notes.push(format!(
                        "stored with the least significant byte first: zarr_format 2 has no other name for {}",
                        number.name()
                    ));
                }
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
        // Variables of xarray without dimensions have no names in version 3, and have to have them in version 2.
        if self.rank() == 0 {
            self.dimension_names = Some(Vec::new());
        }
        let FillSetting::Element(fill) = &mut self.fill else { return Ok(()) };
        let is_named = self.dimension_names.as_ref().is_some_and(|names| names.is_empty() || names.iter().any(Option::is_some));
        if is_named && missing_to_v2(&mut self.attributes, self.data_type, fill) {
            notes.push(FILL_LOST.into());
        }
        Ok(())
    }
}

/// The array in version 3; with a plain list of codecs where its own has no form there.
fn upgraded(meta: &ArrayMeta, attributes: Map, notes: &mut Vec<String>) -> Result<ArrayMeta> {
    if meta.format == Format::V3 && meta.dialect == Dialect::Final {
        let mut same = meta.clone();
        same.document.insert("attributes".into(), Value::Object(attributes));
        return Ok(same);
    }
    if !meta.fill.defined {
        notes.push(undefined_fill(meta));
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
