//! A node's document as it is stored, and its reading into the model.

use super::listed_lengths::{NamedLengths, named_lengths};
use super::store_changes::AsOf;
use super::{NodeKind, Store, claim};
use crate::dtype::base64_text::is_padded_base64;
use crate::error::{Error, Result, bail};
use crate::limits::{MAX_CONSOLIDATED, MAX_DOCUMENT};
use crate::metadata::draft as drafts;
use crate::metadata::lint::{self, Finding, Severity};
use crate::metadata::v3::{Document, NodeType};
use crate::metadata::{ArrayMeta, Dialect, Format, GroupMeta, Map, Value, json, v2, v3};
use crate::store::get;

/// A node's document as it is stored: JSON whose kind of node is known, and no more.
#[derive(Clone)]
pub(super) struct StoredDocument {
    pub format: Format,
    /// `D0` if it is stored in the layout of that draft; a d2 document is found out when it is parsed.
    pub dialect: Dialect,
    pub kind: NodeKind,
    pub key: String,
    pub document: Map,
    /// The counts before it was read.
    pub as_of: AsOf,
    /// Whether it comes from consolidated metadata, which may be out of date.
    pub listed: bool,
    /// v2: the `.zattrs`, where they are known without reading it.
    pub attributes: Option<Map>,
    /// The mark of an appender behind it, in stores without locks.
    pub mark: Vec<u8>,
    /// The findings in its bytes, if the context asks for them.
    pub findings: Vec<Finding>,
}

impl StoredDocument {
    /// The lengths of an array with the names of their dimensions, if it names them.
    pub fn named_lengths(&self) -> Option<NamedLengths> {
        named_lengths(&self.document, self.attributes.as_ref())
    }

    /// Whether it is an array's of that shape.
    pub fn has_shape(&self, shape: &[u64]) -> bool {
        let lengths = self.document.get("shape").and_then(Value::as_array);
        lengths.is_some_and(|lengths| lengths.iter().map(Value::as_u64).eq(shape.iter().copied().map(Some)))
    }

    /// Reads the document `name` from the bytes under its key.
    pub fn from_bytes(store: &Store, name: &str, key: String, bytes: &[u8], as_of: AsOf) -> Result<StoredDocument> {
        let read = || match name {
            v3::DOCUMENT => read_v3(bytes).map(|(document, kind)| (document, kind, Format::V3)),
            v2::ARRAY => Ok((json::parse_object(bytes, MAX_DOCUMENT)?, NodeKind::Array, Format::V2)),
            _ => Ok((v2::parse_group(bytes)?.document, NodeKind::Group, Format::V2)),
        };
        let (document, kind, format) = read().map_err(|e: Error| e.at_key(&key))?;
        let (dialect, findings, mark) = (Dialect::Final, findings(store, bytes), claim::mark_in(bytes));
        Ok(StoredDocument { format, dialect, kind, key, document, as_of, listed: false, attributes: None, mark, findings })
    }

    /// Reads the document into the model, as the store's options say.
    pub fn parse(&self, store: &Store) -> Result<Document> {
        if self.kind == NodeKind::Array {
            return self.parse_array(store).map(Box::new).map(Document::Array);
        }
        let (format, dialect, document) = (self.format, self.dialect, self.document.clone());
        let parsed = match format {
            _ if dialect == Dialect::D0 => drafts::group_from(document),
            Format::V3 if self.ignores_unknown(store) => {
                let known = v3::without_unknown(NodeType::Group, &document);
                v3::group_from(known).map(|meta| GroupMeta { document, ..meta })
            }
            Format::V3 => v3::group_from(document),
            Format::V2 => Ok(GroupMeta { format, dialect, document }),
        };
        parsed.map(Document::Group).map_err(|e| e.at_key(&self.key))
    }

    /// Reads the document of an array like [`StoredDocument::parse`].
    pub fn parse_array(&self, store: &Store) -> Result<ArrayMeta> {
        let document = self.document.clone();
        let parsed = match self.format {
            _ if self.dialect == Dialect::D0 => drafts::array_from(document),
            Format::V3 if self.ignores_unknown(store) => {
                let known = v3::without_unknown(NodeType::Array, &document);
                v3::array_from(known).map(|meta| ArrayMeta { document, ..meta })
            }
            Format::V3 => drafts::array_from_v3(document),
            Format::V2 => v2::array_from(document).and_then(|meta| with_fill(store, &self.key, self.attributes.clone(), meta)),
        };
        parsed.map_err(|e| e.at_key(&self.key))
    }

    /// Whether unknown members of a document of version 3 that must be understood are ignored; the document is kept whole.
    fn ignores_unknown(&self, store: &Store) -> bool {
        store.options().ignore_unknown && self.dialect == Dialect::Final
    }

    /// Reports the findings of the document to the context (see [`Context::report`](super::Context)).
    pub fn report(&self, store: &Store) -> Result<()> {
        let context = store.context();
        if !context.watches() {
            return Ok(());
        }
        let mut findings = self.findings.clone();
        let is_array = self.kind == NodeKind::Array;
        findings.extend(match self.dialect {
            Dialect::D0 => lint::in_draft(is_array, &self.document),
            Dialect::Final | Dialect::D2 => lint::in_document(self.format, is_array, &self.document),
        });
        findings.extend(self.attributes.iter().flat_map(lint::in_attributes));
        if self.format == Format::V3 && self.dialect != Dialect::D0 && !self.listed {
            let folder = self.key.strip_suffix(v3::DOCUMENT).unwrap_or_default();
            let beside = [v2::ARRAY, v2::GROUP].into_iter().find(|name| {
                // A warning is not worth an error.
                matches!(store.shared().open(&format!("{folder}{name}")), Ok(Some(_)))
            });
            findings.extend(beside.map(|name| Finding::new(Severity::Warning, "V2-33", format!("{name} is beside it and is ignored"))));
        }
        context.report(&self.key, &findings)
    }
}

/// Gives an array of bytes its fill value as the text itself where the document leaves that open, and the store's options say so (VM-55) or the
/// attributes that netCDF-C wrote the array (NZ-13).
fn with_fill(store: &Store, key: &str, attributes: Option<Map>, meta: ArrayMeta) -> Result<ArrayMeta> {
    let Some(fill) = v2::fill_as_text(&meta)? else { return Ok(meta) };
    if store.options().text_fill {
        return Ok(ArrayMeta { fill, ..meta });
    }
    let attributes = match attributes {
        Some(known) => known,
        None => {
            let key = format!("{}{}", key.strip_suffix(v2::ARRAY).unwrap_or_default(), v2::ATTRIBUTES);
            let bytes = get(&**store.shared(), &key, MAX_DOCUMENT).map_err(|e| e.at_key(&key))?;
            bytes.map(|bytes| v2::parse_attributes(&bytes)).transpose().map_err(|e| e.at_key(&key))?.unwrap_or_default()
        }
    };
    let is_text = v2::has_nczarr_keys(&attributes) && !meta.document.get("fill_value").is_some_and(is_padded_base64);
    Ok(if is_text { ArrayMeta { fill, ..meta } } else { meta })
}

/// Returns the findings in the bytes of a document; empty unless the context asks for them.
fn findings(store: &Store, bytes: &[u8]) -> Vec<Finding> {
    if store.context().watches() { lint::in_text(bytes) } else { Vec::new() }
}

fn read_v3(bytes: &[u8]) -> Result<(Map, NodeKind)> {
    let document = json::parse_object(bytes, MAX_CONSOLIDATED)?;
    if drafts::is_entry(&document) {
        drafts::EntryPoint::from_document(&document)?;
        bail!(Unsupported, "the root of a hierarchy in a draft of Zarr v3 (d0); open the store there");
    }
    let kind = match v3::node_type(&document)? {
        NodeType::Array => NodeKind::Array,
        NodeType::Group => NodeKind::Group,
    };
    Ok((document, kind))
}
