//! The dimensions that a group has in NCZarr's keys, and what libozarr_netcdf has recorded of a group that those say, too.
//! Convention: netCDF-C, "NetCDF-4 Zarr Implementation" (checklist NZ-03, NZ-05, NZ-08).

use super::nczarr_type::of_netcdf;
use crate::error::{Result, err};
use crate::limits::{MAX_DOCUMENT, check_memory, push, readable, try_collect};
use crate::metadata::{Map, Value, json};
use crate::node::Group;

/// A dimension that a group defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NcDimension {
    /// Its name.
    pub name: String,
    /// Its length; of an unlimited one that which it has now.
    pub length: u64,
    /// Whether variables along it may grow.
    pub is_unlimited: bool,
}

/// A length, alone or in an object with whether it is unlimited (NZ-03); `None` for anything else.
fn dimension(name: &str, value: &Value) -> Option<NcDimension> {
    let is_set = |value: &Value| value.as_bool().or_else(|| value.as_i64().map(|n| n != 0)).unwrap_or(false);
    let (length, is_unlimited) = match value {
        Value::Object(members) => (members.get("size")?.as_u64()?, members.get("unlimited").is_some_and(is_set)),
        other => (other.as_u64()?, false),
    };
    Some(NcDimension { name: name.to_string(), length, is_unlimited })
}

/// The dimensions that a group defines: an object of lengths, in the documents of version 3 a list of objects (NZ-19).
pub(super) fn dimensions_of(group: &Map) -> Result<Vec<NcDimension>> {
    let Some(value) = group.get("dimensions").or_else(|| group.get("dims")) else { return Ok(Vec::new()) };
    let wrong = || err!(Metadata, "found {}, expected lengths of dimensions", json::brief(value)).at_field("_nczarr_group.dimensions");
    let named = |value: &Value| dimension(value.get("name")?.as_str()?, value);
    match value {
        Value::Object(all) => try_collect(all.iter().map(|(name, value)| dimension(name, value).ok_or_else(wrong))),
        Value::Array(all) => try_collect(all.iter().map(|value| named(value).ok_or_else(wrong))),
        _ => Err(wrong()),
    }
}

pub(super) fn dimensions_value(all: &[NcDimension]) -> Result<Value> {
    let mut members = Map::new();
    members.make_room(all.len())?;
    for d in all {
        check_memory()?;
        let value = if d.is_unlimited {
            let mut object = Map::new();
            object.insert("size".into(), d.length.into());
            object.insert("unlimited".into(), 1.into());
            Value::Object(object)
        } else {
            d.length.into()
        };
        members.insert(d.name.as_str().into(), value);
    }
    Ok(Value::Object(members))
}

/// What libozarr_netcdf has recorded of a group of version 2: which dimensions it defines, and the types of attributes.
#[derive(Default)]
pub(super) struct NcRecord(Map);

impl NcRecord {
    pub fn of(group: &Group) -> Result<NcRecord> {
        let attributes = group.attributes().view()?;
        let Some(text) = attributes.get("_nc_model").and_then(Value::as_str) else { return Ok(NcRecord::default()) };
        Ok(NcRecord(readable(json::parse_object(text.as_bytes(), MAX_DOCUMENT))?.unwrap_or_default()))
    }

    /// The dimensions; unlimited ones have the length of their arrays, 0 here.
    fn dimensions(&self) -> impl Iterator<Item = NcDimension> {
        self.0.get("dimensions").and_then(Value::as_object).into_iter().flat_map(Map::iter).filter_map(|(name, value)| {
            let is_unlimited = value.get("unlimited").and_then(Value::as_bool) == Some(true);
            let length = if is_unlimited { 0 } else { value.get("size")?.as_u64()? };
            (!name.is_empty() && !name.contains('/')).then(|| NcDimension { name: name.to_string(), length, is_unlimited })
        })
    }

    /// Whether all its dimensions are among those that the keys have; makes these unlimited where the record says so.
    pub fn is_told(&self, known: &mut [NcDimension]) -> bool {
        self.dimensions()
            .all(|d| known.iter_mut().find(|known| known.name == d.name).map(|known| known.is_unlimited |= d.is_unlimited).is_some())
    }

    /// Adds its dimensions to those that the keys have; a fixed one is left out where an array `differs`, which has another length along it.
    pub fn complete(&self, known: &mut Vec<NcDimension>, differs: impl Fn(&NcDimension) -> bool) -> Result<()> {
        for d in self.dimensions() {
            match known.iter_mut().find(|known| known.name == d.name) {
                Some(known) => known.is_unlimited |= d.is_unlimited,
                None if d.is_unlimited || !differs(&d) => push(known, d)?,
                None => {}
            }
        }
        Ok(())
    }

    /// The types of numbers in the attributes of the group, or of one of its arrays, as `_nczarr_attr` has them; `None` where it tells of no such array.
    pub fn types(&self, array: Option<&str>) -> Option<Map> {
        let node = match array {
            Some(name) => self.0.get("variables")?.get(name)?.as_object()?,
            None => Some(&self.0).filter(|all| !all.is_empty())?,
        };
        let recorded = node.get("types").and_then(Value::as_object).into_iter().flat_map(Map::iter);
        let mut types = Map::new();
        recorded
            .filter_map(|(name, text)| Some((name, of_netcdf(text.as_str()?)?)))
            .for_each(|(name, text)| drop(types.insert(name.clone(), text.into())));
        Some(types)
    }
}
