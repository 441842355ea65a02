//! Another type of the elements: what of the settings follows them, and what is left out.

use super::{FillSetting, Spec, converted_fill};
use crate::codec::parse::takes_bytes;
use crate::codec::registry::canonical;
use crate::dtype::DataType;
use crate::dtype::fill::Fill;
use crate::error::{Result, err};
use crate::metadata::extension::Extension;
use crate::metadata::v2::DIMENSIONS;
use crate::metadata::{Format, Map};
use crate::node::codec_edit;
use crate::node::compression::Compressor;
use crate::node::conventions::missing::{in_type, is_number};
use crate::node::conventions::retyped::{times_to_type, values_to_type};
use crate::node::conventions::sign::{UNSIGNED, meant_type};
use crate::node::follow_type::{Walk, is_shuffle_of_lengths};

/// The attribute with the digest of the elements, which is one of their type, too.
pub const DIGEST: &str = "ozarr_digest";

impl Spec {
    /// The type of the elements. The fill value is converted; where it does not fit, it becomes the type's own. In an array that is copied it is that
    /// of the numbers that elements mean (`_Unsigned`), and codecs are left out that would make other values of the new type's, but for those that the
    /// caller has named.
    pub fn set_data_type(&mut self, data_type: DataType) -> Result<()> {
        let fresh = Spec::new(data_type, &self.shape)?;
        let (old, new) = (self.data_type.native(), fresh.data_type.native());
        self.check_followed((old, new))?;
        let meant = if self.loose { meant_type(&self.attributes, old) } else { old };
        if let FillSetting::Element(fill) = &self.fill
            && old != new
        {
            // Any other fill value would mean "missing" in version 2, of a variable true or false, too, or zeros where it is rounded to one.
            let is_copy = self.loose && self.format == Some(Format::V2);
            let none = if is_copy && (new.is_number() || new.is_variable()) { FillSetting::Element(Fill::undefined()) } else { fresh.fill };
            let is_named = self.dimension_names.is_some() || self.attributes.contains_key(DIMENSIONS);
            let is_other =
                || new == DataType::Bool || fill.defined && is_number(new) && in_type((old, meant), new, &fill.element(old)).is_none();
            let is_none = is_copy && is_named && is_number(old) && is_other();
            self.fill = converted_fill(fill, meant, new)?.filter(|_| !is_none).map_or(none, FillSetting::Element);
        }
        if self.loose && old != new {
            if self.attributes.shift_remove(DIGEST).is_some() {
                self.left_out.push(format!("the attribute {DIGEST:?} is left out: it is that of elements of {}", old.name()));
            }
            let before = self.attributes.clone();
            self.change_attributes((old, meant), new);
            self.has_followed |= self.attributes != before;
        }
        self.data_type = fresh.data_type;
        self.change_kind((old, new))?;
        if self.loose && old != new { self.change_codecs((old, new)) } else { Ok(()) }
    }

    /// Refuses a further type where attributes have followed one already: elements would be converted from those of the array, and not mean by the
    /// attributes what they did.
    fn check_followed(&self, (old, new): (DataType, DataType)) -> Result<()> {
        if old != new && self.has_followed {
            let e = err!(Argument, "found {} after {}, which attributes have followed: make a new specification", new.name(), old.name());
            return Err(e.at_field("data_type"));
        }
        Ok(())
    }

    /// Lets the attributes that speak of elements, of `old` for numbers of `meant`, follow the type, or leaves them out.
    fn change_attributes(&mut self, (old, meant): (DataType, DataType), new: DataType) {
        self.attributes.shift_remove(UNSIGNED);
        self.left_out.extend(times_to_type(&self.attributes, old, new));
        self.left_out.extend(values_to_type(&mut self.attributes, (old, meant), new, self.format.unwrap_or(Format::V3)));
    }

    /// Gives version 2's codecs the one of objects that elements of variable length need, and takes that of others away.
    fn change_kind(&mut self, (old, new): (DataType, DataType)) -> Result<()> {
        let objects = self.variable_codec()?;
        if let Some(filters) = &mut self.filters
            && old != new
            && (old.is_variable() || new.is_variable())
        {
            // Those of bytes go on behind the codec of objects, or without one.
            let is_gone = |codec: &Extension| is_shuffle_of_lengths(&codec.name, (old, new));
            filters.retain(|filter| takes_bytes(&format!("numcodecs.{}", filter.name)) && !is_gone(filter));
            filters.splice(0..0, objects);
            if let Compressor::Json(compressor) = &mut self.compression.compressor {
                drop(compressor.take_if(|compressor| is_gone(compressor)));
            }
        }
        Ok(())
    }

    /// Lets the codecs of the array that is copied follow the type.
    fn change_codecs(&mut self, types: (DataType, DataType)) -> Result<()> {
        let mut walk = Walk::new(types, &self.given);
        self.filters.iter_mut().for_each(|filters| filters.retain_mut(|codec| walk.keeps_v2(codec)));
        if let Compressor::Json(compressor) = &mut self.compression.compressor {
            drop(compressor.take_if(|codec| !walk.keeps_v2(codec)));
        }
        if let Some(list) = self.codecs.take() {
            let serial = self.variable_codec()?.unwrap_or_else(|| Extension::new("bytes", Map::new()));
            self.codecs = Some(walk.along(list, self.byte_order, &serial)?);
        }
        self.codecs_left_out.extend(walk.left_out.into_iter().map(|codec| (codec, types.0)));
        Ok(())
    }

    /// Remembers codecs that the caller names.
    pub(super) fn note_given(&mut self, codecs: &[Extension]) -> Result<()> {
        if self.loose {
            self.given.extend(codec_edit::ids(codecs)?);
        }
        Ok(())
    }

    /// What of the array that it is like was left out as its type changed, but for codecs that the caller has named since.
    pub(in crate::node) fn left_out(&self) -> Vec<String> {
        let is_given = |codec: &str| self.given.iter().any(|given| given == codec_edit::id_of(&canonical(codec)));
        let codecs = self.codecs_left_out.iter().filter(|(codec, _)| !is_given(codec));
        let told = codecs.map(|(codec, old)| format!("the codec {codec:?} is left out: it is made for {}", old.name()));
        self.left_out.iter().cloned().chain(told).collect()
    }
}
