//! The value of a whole struct as JSON: an object of its fields, or the value of its only one.

use super::fill::Fill;
use super::run::Run;
use super::transfer::Transfer;
use super::{Element, ElementType, Kind, Struct};
use crate::error::{Result, bail, err};
use crate::json::{Map, Value, brief};

/// A value of all fields: an object with a member for each (those that are missing are 0), in native order.
pub(super) fn fill_from_object(s: &Struct, members: &Map) -> Result<Fill> {
    let mut out = Element::from_elem(0, s.size());
    if let Some(other) = members.keys().find(|k| s.field(k).is_none()) {
        bail!(Metadata, "found a value of the field {other:?}, which the type does not have");
    }
    for f in s.fields() {
        let Some(value) = members.get(&f.name).filter(|_| !f.name.is_empty()) else { continue };
        let place = out.get_mut(f.offset..f.offset + f.size()).unwrap_or_default();
        put_values(f.element, &f.shape, value, place).map_err(|e| e.at_field(&f.name))?;
    }
    Ok(Fill::from_bytes(&out))
}

/// The value of a struct of one field without that field's name, as TensorStore writes it.
pub(super) fn fill_from_only_field(s: &Struct, value: &Value) -> Option<Fill> {
    match s.fields() {
        [field] if field.shape.is_empty() && field.element.data_type.kind() != Kind::Struct => {
            let mut out = Element::from_elem(0, s.size());
            put_values(ElementType::native(field.element.data_type), &[], value, &mut out).ok()?;
            Some(Fill::from_bytes(&out))
        }
        _ => None,
    }
}

/// The values of a field with a shape are lists in lists.
fn put_values(element: ElementType, shape: &[u64], value: &Value, place: &mut [u8]) -> Result<()> {
    let Some((&n, rest)) = shape.split_first() else {
        let fill = Fill::from_json_v3(element.data_type.native(), value)?;
        return from_native(element, &fill.element(element.data_type), place);
    };
    let Value::Array(items) = value else { bail!(Metadata, "found {}, expected a list of {n} values", brief(value)) };
    if items.len() as u64 != n {
        bail!(Metadata, "found {} values, expected {n}", items.len());
    }
    let step = place.len() / items.len().max(1);
    for (i, (item, place)) in items.iter().zip(place.chunks_mut(step.max(1))).enumerate() {
        put_values(element, rest, item, place).map_err(|e| e.at_field(format!("[{i}]")))?;
    }
    Ok(())
}

/// The object for one native element.
pub(super) fn fill_to_object(s: &Struct, bytes: &[u8]) -> Value {
    let mut members = Map::new();
    for f in s.fields().iter().filter(|f| !f.name.is_empty()) {
        let place = bytes.get(f.offset..f.offset + f.size()).unwrap_or_default();
        members.insert(f.name.as_str().into(), values_of(f.element, &f.shape, place));
    }
    Value::Object(members)
}

fn values_of(element: ElementType, shape: &[u64], place: &[u8]) -> Value {
    match shape.split_first() {
        None => to_native(element, place).map_or(Value::Null, |native| Fill::from_bytes(&native).to_json_v3(element.data_type.native())),
        Some((&n, rest)) => place.chunks((place.len() / n.max(1) as usize).max(1)).map(|part| values_of(element, rest, part)).collect(),
    }
}

/// One element in the order of this host, from the order of `element`.
pub(super) fn to_native(element: ElementType, bytes: &[u8]) -> Result<Element> {
    let native = ElementType::native(element.data_type.native());
    let mut out = Element::from_elem(0, native.size());
    turn(element, native, bytes, &mut out)?;
    Ok(out)
}

/// One element of the order of `element`, from that of this host.
pub(super) fn from_native(element: ElementType, bytes: &[u8], out: &mut [u8]) -> Result<()> {
    turn(ElementType::native(element.data_type.native()), element, bytes, out)
}

fn turn(from: ElementType, to: ElementType, bytes: &[u8], out: &mut [u8]) -> Result<()> {
    if bytes.len() != from.size() || out.len() != to.size() {
        bail!(Internal, "{} bytes of {} for {} of {}", bytes.len(), from.size(), out.len(), to.size());
    }
    let transfer = Transfer::new(from, to)?;
    // SAFETY: one element on either side, of the sizes that were just checked.
    let done = unsafe { transfer.run(Run::one(bytes.as_ptr(), out.as_mut_ptr())) };
    done.map_err(|_| err!(Internal, "an element does not fit its own type"))
}
