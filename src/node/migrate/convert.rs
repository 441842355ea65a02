//! What each node becomes that is migrated: its document in version 3, or why its chunks are encoded anew.

use super::super::conventions::missing::missing_to_v3;
use super::super::conventions::nczarr_names::name_by_references;
use super::super::lookup::{self, find, find_v2};
use super::super::state::{ArrayState, Handling};
use super::super::stored::StoredDocument;
use super::super::{path, transform};
use super::{Job, New, NewArray};
use crate::error::{Error, Result, err};
use crate::metadata::v3::Document;
use crate::metadata::{ArrayMeta, Dialect, Format, Map, draft, upgrade, v3};

impl Job<'_> {
    /// What a node becomes; `None` where it is of version 3 already, and nothing moves.
    pub(super) fn convert(&self, node: &str) -> Result<Option<New>> {
        let Some(found) = self.find(node)? else { return Ok(None) };
        let (format, dialect, document) = (found.format, found.dialect, found.document.clone());
        let check = if (format, dialect) == (Format::V3, Dialect::Final) { path::check_kept } else { path::check_new };
        check(&self.target(node))?;
        let as_read = found.attributes.clone();
        let attributes = || match format {
            Format::V2 => as_read.map_or_else(|| lookup::attributes_v2(self.from, node), Ok),
            Format::V3 => Ok(v3::attributes(&document).cloned().unwrap_or_default()),
        };
        match found.parse(self.from)? {
            Document::Group(_) if format == Format::V3 && dialect == Dialect::Final => {
                let mut document = document;
                document.shift_remove(v3::CONSOLIDATED);
                Ok((!self.in_place).then_some(New::Group(document)))
            }
            Document::Group(meta) => Ok(Some(New::Group(v3::write_group(upgrade::with_nczarr_members(&meta.document, attributes()?))))),
            Document::Array(meta) if meta.format == Format::V3 && meta.dialect == Dialect::Final && !draft::is_odd(&meta.document) => {
                let old = ArrayState::new(self.from, node, (*meta).clone(), &Handling::default())?;
                let recode = self.transformed(&old, node)?;
                Ok((!self.in_place).then(|| New::Array(Box::new(NewArray { old, new: *meta, recode }))))
            }
            Document::Array(meta) => self.array(node, *meta, attributes()?).map(|array| Some(New::Array(Box::new(array)))),
        }
    }

    /// Finds what is to be converted. In place: where others have changed it since an interrupted run made a document of it, the old one.
    fn find(&self, node: &str) -> Result<Option<StoredDocument>> {
        if !self.in_place {
            return Ok(self.read.get(node).cloned());
        }
        if let Some(converted) = &self.converted
            && converted.was_changed(node)
            && let Some(old) = find_v2(self.from, node)?
        {
            return Ok(Some(old));
        }
        find(self.from, node)
    }

    /// Why the chunks of an array with storage transformers are encoded anew elsewhere: they are not what is stored under their keys.
    fn transformed(&self, old: &ArrayState, node: &str) -> Result<Option<Error>> {
        if self.in_place || !transform::transforms(&old.meta)? {
            return Ok(None);
        }
        old.bound(node)?;
        Ok(Some(err!(Unsupported, "what is stored is not its chunks").at_field("storage_transformers")))
    }

    fn array(&self, node: &str, meta: ArrayMeta, mut attributes: Map) -> Result<NewArray> {
        // What the state knows of the chunks' keys may be more than what the document says.
        let old = ArrayState::new(self.from, node, meta, &Handling::default())?;
        let meta = &old.meta;
        if meta.format == Format::V2 {
            name_by_references(&mut attributes, meta);
            missing_to_v3(&mut attributes, meta);
        }
        let (new, recode) = match upgrade::array(meta, attributes.clone()) {
            Ok(new) => (new, self.transformed(&old, node)?),
            Err(e) if upgrade::may_recode(&e) && !meta.data_type.is_variable() => (upgrade::recoded(meta, attributes)?, Some(e)),
            Err(e) => return Err(e),
        };
        // A codec that cannot be used can be moved all the same; to be encoded anew it must be known.
        let known = old.bound.is_ok();
        if recode.is_some() {
            old.bound(node)?;
        }
        if known {
            ArrayState::new(self.to, &self.target(node), new.clone(), &Handling::default())?.bound(&self.target(node))?;
        }
        Ok(NewArray { old, new, recode })
    }
}
