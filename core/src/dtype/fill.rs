//! Fill values: one element, bit for bit, and its JSON in v2 and v3 documents.
//! Specification: v2 "Fill value encoding"; v3 core, "Fill value" of each data type.
//!
//! Both versions are read by one set of rules, which includes the odd spellings of other writers; each is written
//! in its own. A decimal number that exceeds a floating-point type is rounded to infinity, as IEEE 754 rounds.

use super::base64_text::{base64_of, decoded};
pub use super::fill_number::unsigned;
use super::fill_number::{complex_of_text, first, float, float_to_json, integer, integer_to_json};
use super::registered::RegisteredType;
use super::run::Run;
use super::transfer::Transfer;
use super::{DataType, Element, ElementType, Kind, SharedElement, Struct, parse_v3, time, zeros};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::json::{self, List, Map, Value, brief};
use crate::limits::{self, collect, readable, told, try_collect};

/// The value of elements that were never written.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// The element in the order of this host; bytes that are not here are 0, those beyond the element too.
    pub value: SharedElement,
    /// False where a v2 document says `null`: the elements have no defined value (`value` is then 0, of times NaT).
    pub defined: bool,
}

impl Fill {
    /// All bytes zero: 0, false.
    pub fn zero() -> Fill {
        Fill::from_bytes(&[0; 16])
    }

    /// v2's `null`.
    pub fn undefined() -> Fill {
        Fill { defined: false, ..Fill::zero() }
    }

    /// An element of variable length with these bytes; an error instead of an abort when memory is short.
    pub fn variable(bytes: &[u8]) -> Result<Fill> {
        Ok(Fill { value: SharedElement::new(bytes)?, defined: true })
    }

    /// The element with these few bytes, in the order of this host.
    pub fn from_bytes(bytes: &[u8]) -> Fill {
        let mut value = Element::from_slice(bytes);
        value.resize(bytes.len().max(16), 0);
        Fill { value: SharedElement::of_few(&value), defined: true }
    }

    /// The element with these bytes, in the order of this host; an error instead of an abort when memory is short.
    pub fn of_any(bytes: &[u8]) -> Result<Fill> {
        if bytes.len() > 16 { Fill::variable(bytes) } else { Ok(Fill::from_bytes(bytes)) }
    }

    /// The bytes of one element of that type, as [`Fill::element`] has them; an error instead of an abort when memory is short.
    pub fn try_element(&self, data_type: DataType) -> Result<Element> {
        let size = if data_type.is_variable() { self.value.len() } else { data_type.size() };
        let mut element = zeros(size)?;
        let known = size.min(self.value.len());
        element[..known].copy_from_slice(&self.value[..known]);
        Ok(element)
    }

    /// The bytes of one element of that type, which is not long; of variable length: all that it has.
    pub fn element(&self, data_type: DataType) -> Element {
        let mut element = Element::from_slice(&self.value);
        if !data_type.is_variable() {
            element.resize(data_type.size(), 0);
        }
        element
    }

    /// Reads `fill_value` of a `zarr.json`; `null` is refused.
    pub fn from_json_v3(data_type: DataType, value: &Value) -> Result<Fill> {
        if let DataType::Registered(registered) = data_type {
            return registered.fill_from_json(value);
        }
        match data_type.kind() {
            Kind::Complex => complex(data_type, value),
            Kind::Opaque | Kind::Time => opaque(data_type, value),
            Kind::Variable => variable(data_type, value),
            Kind::Struct => structure(data_type.into(), value),
            _ => scalar(data_type, value),
        }
    }

    /// Reads `fill_value` of a `.zarray`: `null` is "undefined", a list of one element is that element, that of a struct is its
    /// bytes as `element` has them.
    pub fn from_json_v2(element: impl Into<ElementType>, value: &Value) -> Result<Fill> {
        let element = element.into();
        let data_type = element.data_type;
        if let (DataType::Registered(registered), false) = (data_type, value.is_null()) {
            return registered.fill_from_json(value);
        }
        match (value, data_type.kind()) {
            (Value::Null, Kind::Variable) => Ok(Fill { defined: false, ..variable(data_type, value)? }),
            // Other writers leave chunks of nothing but NaT out then.
            (Value::Null, Kind::Time) => Ok(Fill { defined: false, ..Fill::from_bytes(&i64::MIN.to_ne_bytes()) }),
            (Value::Null, _) => Ok(Fill::undefined()),
            // Where chunks are missing zarr-python 2, which writes 0 by default, reads the number: those of empty texts are stored.
            (Value::Number(_), Kind::Variable) if is_nothing(value) && matches!(data_type, DataType::VarText | DataType::VarBytes) => {
                Ok(Fill { defined: false, ..Fill::variable(&[])? })
            }
            (_, Kind::Variable) => variable(data_type, value),
            // zarr-python 3.0 writes dates.
            (Value::String(date), Kind::Time) => {
                time::count_of_date(data_type, date).map_or_else(|| opaque(data_type, value), |n| Ok(Fill::from_bytes(&n.to_ne_bytes())))
            }
            (_, Kind::Opaque | Kind::Time) => opaque(data_type, value),
            (_, Kind::Struct) => structure(element, value),
            (Value::Array(items), Kind::Complex) if items.len() == 2 => complex(data_type, value),
            (Value::Array(items), _) if items.len() == 1 => Fill::from_json_v2(element, &items[0]),
            // A real number for a complex type is its real part.
            (Value::Number(_) | Value::String(_), Kind::Complex) => scalar(data_type.part().unwrap_or(data_type), value),
            (_, Kind::Complex) => complex(data_type, value),
            _ => scalar(data_type, value),
        }
    }

    /// Reads `fill_value` of a `.zarray` as the text itself, not as base64: netCDF-C and Zarr.jl write bytes so. `is_char`: netCDF-C, which writes
    /// one digit as a number. `None` for other types, and if it is no text that fits (NZ-13).
    pub fn from_text(data_type: DataType, value: &Value, is_char: bool) -> Result<Option<Fill>> {
        let DataType::Bytes(_) = data_type else { return Ok(None) };
        let text = match value {
            Value::Array(items) if items.len() == 1 => return Fill::from_text(data_type, &items[0], is_char),
            Value::String(text) => text.clone(),
            Value::Number(n) if is_char => n.text(),
            _ => return Ok(None),
        };
        if text.len() <= data_type.size() { padded(text.as_bytes(), data_type.size()).map(Some) } else { Ok(None) }
    }

    /// The text for which netCDF-C takes this value, which zarr-python understands, too (NZ-13): nothing for zero bytes, and of `char` the letter, as
    /// zarr-python has no such type. Other texts would keep it from opening the group.
    pub fn for_netcdf(&self, data_type: DataType, is_char: bool) -> Option<Value> {
        let DataType::Bytes(_) = data_type else { return None };
        let known = &self.value[..self.value.len().min(data_type.size())];
        let text = std::str::from_utf8(known).ok()?.trim_end_matches('\0');
        // A letter has one byte.
        (self.defined && (text.is_empty() || is_char)).then(|| text.into())
    }

    /// Checks that documents can say it: JSON has no code points that are no characters. Version 2 has structs as bytes.
    pub fn check_text(&self, data_type: DataType, is_v3: bool) -> Result<()> {
        match data_type {
            DataType::Struct(_) if !is_v3 => Ok(()),
            DataType::VarText => check_characters(data_type, &self.value),
            _ => check_characters(data_type, &self.try_element(data_type)?),
        }
    }

    /// The `fill_value` of a `zarr.json`: shortest digits that give the same bits, NaN payloads as `"0x…"`.
    pub fn to_json_v3(&self, data_type: DataType) -> Result<Value> {
        self.json(data_type, true)
    }

    /// As the function above, for a type that is written as `written`: of `raw_bytes` as base64, which zarr-python and TensorStore demand (J-12).
    pub fn to_json_v3_as(&self, data_type: DataType, written: &Value) -> Result<Value> {
        match data_type {
            DataType::Raw(_) if written.as_object().is_some() => self.json(data_type, false),
            DataType::Struct(s) => fill_to_object(s, &self.try_element(data_type)?, written),
            other => self.to_json_v3(other),
        }
    }

    /// The `fill_value` of a `.zarray`; it has no form for the payload of a NaN, which becomes `"NaN"`.
    /// That of a struct is its bytes as `element` has them.
    pub fn to_json_v2(&self, element: impl Into<ElementType>) -> Result<Value> {
        let element = element.into();
        if !self.defined {
            return Ok(Value::Null);
        }
        if element.data_type.kind() == Kind::Struct {
            let mut bytes = zeros(element.size())?;
            let done = from_native(element, &self.try_element(element.data_type)?, &mut bytes);
            return readable(done)?.map_or(Ok(Value::Null), |()| base64_of(&bytes));
        }
        self.json(element.data_type, false)
    }

    fn json(&self, data_type: DataType, hex: bool) -> Result<Value> {
        let v = &self.value;
        Ok(match data_type {
            // That there is one is checked where it is chosen.
            DataType::Registered(registered) => readable(registered.fill_to_json(self))?.unwrap_or(Value::Null),
            DataType::Bool => Value::Bool(v[0] != 0),
            _ if matches!(data_type.kind(), Kind::Int | Kind::UInt) => integer_to_json(data_type, v),
            _ if data_type.kind() == Kind::Float => float_to_json(data_type, v, hex),
            _ if data_type.kind() == Kind::Complex => {
                let half = data_type.part().unwrap_or(data_type);
                [v, &v[half.size()..]].iter().map(|part| float_to_json(half, part, hex)).collect()
            }
            DataType::DateTime(_) | DataType::TimeDelta(_) => match i64::from_ne_bytes(first(v)) {
                i64::MIN if hex => Value::from("NaT"),
                count => Value::from(count),
            },
            DataType::Text(_) => Value::text_of_any(&text(&self.try_element(data_type)?)?)?,
            DataType::Raw(_) if hex => Value::Array(List::of(collect(self.try_element(data_type)?.iter().map(|&b| Value::from(b)))?)?),
            DataType::Bytes(_) | DataType::Raw(_) => base64_of(&self.try_element(data_type)?)?,
            DataType::VarText => Value::text_of_any(&String::from_utf8_lossy(v))?,
            DataType::VarBytes => base64_of(v)?,
            DataType::VarJson => readable(json::parse(v, v.len()))?.unwrap_or(Value::Null),
            DataType::VarArray(_) => Value::from(0),
            DataType::Struct(s) => fill_to_object(s, &self.try_element(data_type)?, &Value::Null)?,
            // The parsers of types know no others.
            _ => Value::Null,
        })
    }
}

impl RegisteredType {
    /// Reads a fill value.
    pub(super) fn fill_from_json(&self, value: &Value) -> Result<Fill> {
        if !self.fills {
            return Fill::from_json_v3(self.memory, value);
        }
        let mut element: Element = smallvec::smallvec![0; self.memory.size()];
        self.calls()?.fill_from_json(&json::to_compact(value), &mut element)?;
        Ok(Fill::from_bytes(&element))
    }

    /// The JSON of a fill value.
    pub fn fill_to_json(&self, fill: &Fill) -> Result<Value> {
        if !self.fills {
            return fill.to_json_v3(self.memory);
        }
        let text = self.calls()?.fill_to_json(&fill.element(self.memory))?;
        json::parse_text(&text)
            .map_err(|e| told(e, ErrorKind::Callback, |why| format!("the fill value of {:?} became {text:?}: {why}", self.name())))
    }
}

/// Decodes code points, trims NULs at the end; an invalid code point becomes U+FFFD.
fn text(element: &[u8]) -> Result<String> {
    let points = element.as_chunks::<4>().0.iter().map(|p| char::from_u32(u32::from_ne_bytes(*p)).unwrap_or('\u{fffd}'));
    let mut text = String::new();
    limits::make_text_room(&mut text, element.len())?;
    text.extend(points);
    text.truncate(text.trim_end_matches('\0').len());
    Ok(text)
}

/// Returns the bytes of a list of numbers, or `None` if the value is no such list.
fn listed(items: &[Value]) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    for item in items {
        let Some(byte) = item.as_u64().and_then(|n| u8::try_from(n).ok()) else { return Ok(None) };
        limits::push(&mut bytes, byte)?;
    }
    Ok(Some(bytes))
}

/// Returns the value of an element of `size` bytes that begins with these.
fn padded(bytes: &[u8], size: usize) -> Result<Fill> {
    let mut element = zeros(size.max(16))?;
    element[..bytes.len()].copy_from_slice(bytes);
    Fill::of_any(&element)
}

/// Checks the text in an element.
fn check_characters(data_type: DataType, element: &[u8]) -> Result<()> {
    match data_type {
        DataType::Text(_) => {
            let mut points = element.as_chunks::<4>().0.iter().map(|p| u32::from_ne_bytes(*p));
            match points.find(|p| char::from_u32(*p).is_none()) {
                Some(point) => Err(err!(Range, "the code point {point:#x} is no character, and has no form in JSON")),
                None => Ok(()),
            }
        }
        DataType::VarText if std::str::from_utf8(element).is_err() => Err(err!(Range, "the text is not UTF-8")),
        DataType::Struct(s) => s.fields().iter().try_for_each(|f| {
            let bytes = element.get(f.offset..f.offset + f.size()).unwrap_or_default();
            let mut values = bytes.chunks_exact(f.element.size().max(1));
            values.try_for_each(|value| check_characters(f.element.data_type, value)).map_err(|e| e.at_field(&f.name))
        }),
        _ => Ok(()),
    }
}

/// A value of bytes, text or time. Old writers put 0 for "nothing"; bytes are base64, or else the text itself.
fn opaque(data_type: DataType, value: &Value) -> Result<Fill> {
    let size = data_type.size();
    let bytes = match (data_type, value) {
        (DataType::DateTime(_) | DataType::TimeDelta(_), Value::String(s)) if s == "NaT" => i64::MIN.to_ne_bytes().to_vec(),
        (DataType::DateTime(_) | DataType::TimeDelta(_), _) => {
            return scalar(DataType::Int64, value).map_err(|_| unfit(data_type, value));
        }
        (_, Value::Number(n)) if n.as_u64() == Some(0) => Vec::new(),
        (DataType::Text(_), Value::String(s)) => collect(s.chars().flat_map(|c| u32::from(c).to_ne_bytes()))?,
        (DataType::Bytes(_) | DataType::Raw(_), Value::String(s)) => match (decoded(s)?, data_type) {
            (Some(bytes), DataType::Raw(_)) if bytes.len() != size => return Err(unfit(data_type, value)),
            (Some(bytes), _) => bytes,
            (None, DataType::Bytes(_)) => collect(s.bytes())?,
            (None, _) => return Err(unfit(data_type, value)),
        },
        (DataType::Bytes(_) | DataType::Raw(_), Value::Array(items)) if items.len() == size => {
            listed(items)?.ok_or_else(|| unfit(data_type, value))?
        }
        _ => return Err(unfit(data_type, value)),
    };
    if bytes.len() > size {
        return Err(unfit(data_type, value));
    }
    padded(&bytes, size)
}

/// Whether a value of variable length is "nothing", for which null and 0 stand in many documents.
fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_u64() == Some(0) || value.as_str() == Some("")
}

/// A value of variable length.
fn variable(data_type: DataType, value: &Value) -> Result<Fill> {
    match (data_type, value) {
        (DataType::VarJson, _) => Fill::variable(json::compact_of_any(value)?.as_bytes()),
        _ if is_nothing(value) => Fill::variable(&[]),
        (DataType::VarText, Value::String(s)) => Fill::variable(s.as_bytes()),
        // zarr-python takes numbers as their text.
        (DataType::VarText, Value::Number(n)) => Fill::variable(n.text().as_bytes()),
        (DataType::VarBytes, Value::String(s)) => Fill::variable(&decoded(s)?.ok_or_else(|| unfit(data_type, value))?),
        (DataType::VarBytes, Value::Array(items)) => Fill::variable(&listed(items)?.ok_or_else(|| unfit(data_type, value))?),
        _ => Err(unfit(data_type, value)),
    }
}

/// A value of a struct: base64 of its bytes as `element` has them, an object of its fields, the value of its only field, or 0.
fn structure(element: ElementType, value: &Value) -> Result<Fill> {
    let refuse = || unfit(element.data_type, value);
    let bytes = if let Value::String(text) = value { decoded(text)?.filter(|bytes| bytes.len() == element.size()) } else { None };
    if let Some(bytes) = bytes {
        return Fill::of_any(&to_native(element, &bytes)?);
    }
    match (value, element.data_type) {
        (Value::Object(members), DataType::Struct(_)) => match element.data_type.native() {
            DataType::Struct(native) => fill_from_object(native, members),
            _ => Err(refuse()),
        },
        (Value::Number(n), _) if n.as_u64() == Some(0) => Fill::of_any(&zeros(element.size())?),
        (_, DataType::Struct(s)) => fill_from_only_field(s, value)?.ok_or_else(refuse),
        _ => Err(refuse()),
    }
}

/// What was found, and what fits the type.
#[cold]
fn unfit(data_type: DataType, value: &Value) -> Error {
    let expected = match data_type.kind() {
        Kind::Bool => "true or false",
        Kind::Int | Kind::UInt => "an integer in its range",
        Kind::Float => "a number, \"NaN\", \"Infinity\", \"-Infinity\" or \"0x…\"",
        Kind::Complex => "a list of two numbers",
        Kind::Time => "an integer or \"NaT\"",
        Kind::Opaque if matches!(data_type, DataType::Text(_)) => "a text that fits",
        Kind::Opaque => "base64 or a list of bytes, of the type's length,",
        Kind::Struct => "an object with the fields, or base64 of all bytes,",
        Kind::Variable if data_type == DataType::VarText => "a text",
        Kind::Variable => "base64 or a list of bytes",
    };
    err!(Metadata, "found {}, expected {expected} for {}", brief(value), data_type.name())
}

fn complex(data_type: DataType, value: &Value) -> Result<Fill> {
    let half = data_type.part().unwrap_or(data_type);
    match value {
        Value::Array(parts) if parts.len() == 2 => {
            let mut both = [0; 16];
            for (i, part) in parts.iter().enumerate() {
                let bytes = scalar(half, part).map_err(|e| e.at_field(format!("[{i}]")))?.value;
                both[i * half.size()..][..half.size()].copy_from_slice(&bytes[..half.size()]);
            }
            Ok(Fill::from_bytes(&both))
        }
        Value::String(text) => complex_of_text(text).map_or_else(|| Err(unfit(data_type, value)), |parts| complex(data_type, &parts)),
        _ => Err(unfit(data_type, value)),
    }
}

/// A value of a type that is not complex.
fn scalar(data_type: DataType, value: &Value) -> Result<Fill> {
    let text = match value {
        Value::Number(number) => number.text(),
        Value::String(text) if data_type != DataType::Bool => text.clone(),
        Value::Bool(b) if data_type == DataType::Bool => return Ok(Fill::from_bytes(&[u8::from(*b)])),
        _ => return Err(unfit(data_type, value)),
    };
    let fill = if data_type.kind() == Kind::Float { float(data_type, &text) } else { integer(data_type, &text) };
    fill.map(|bytes| Fill::from_bytes(&bytes)).ok_or_else(|| unfit(data_type, value))
}

/// A value of all fields: an object with a member for each (those that are missing are 0, times NaT), in native order.
fn fill_from_object(s: &Struct, members: &Map) -> Result<Fill> {
    let mut out = zeros(s.size())?;
    put_no_times(s, &mut out)?;
    if let Some(other) = members.keys().find(|k| s.field(k).is_none()) {
        bail!(Metadata, "found a value of the field {other:?}, which the type does not have");
    }
    for f in s.fields() {
        let Some(value) = members.get(&f.name).filter(|_| !f.name.is_empty()) else { continue };
        let place = out.get_mut(f.offset..f.offset + f.size()).unwrap_or_default();
        put_values(f.element, &f.shape, value, place).map_err(|e| e.at_field(&f.name))?;
    }
    Fill::of_any(&out)
}

/// Makes every time in a struct of zeros NaT.
fn put_no_times(s: &Struct, place: &mut [u8]) -> Result<()> {
    for f in s.fields() {
        let values = place.get_mut(f.offset..f.offset + f.size()).unwrap_or_default();
        values.chunks_exact_mut(f.element.size().max(1)).try_for_each(|one| match f.element.data_type {
            DataType::Struct(inner) => put_no_times(inner, one),
            other if other.kind() == Kind::Time => from_native(f.element, &i64::MIN.to_ne_bytes(), one),
            _ => Ok(()),
        })?;
    }
    Ok(())
}

/// The value of a struct of one field without that field's name, as TensorStore writes it.
fn fill_from_only_field(s: &Struct, value: &Value) -> Result<Option<Fill>> {
    match s.fields() {
        [field] if field.shape.is_empty() && field.element.data_type.kind() != Kind::Struct => {
            let mut out = zeros(s.size())?;
            let put = readable(put_values(ElementType::native(field.element.data_type), &[], value, &mut out))?;
            put.map(|()| Fill::of_any(&out)).transpose()
        }
        _ => Ok(None),
    }
}

/// The values of a field with a shape are lists in lists.
fn put_values(element: ElementType, shape: &[u64], value: &Value, place: &mut [u8]) -> Result<()> {
    let Some((&n, rest)) = shape.split_first() else {
        let fill = Fill::from_json_v3(element.data_type.native(), value)?;
        return from_native(element, &fill.try_element(element.data_type)?, place);
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
fn fill_to_object(s: &Struct, bytes: &[u8], written: &Value) -> Result<Value> {
    let mut members = Map::new();
    for (i, f) in s.fields().iter().enumerate().filter(|(_, f)| !f.name.is_empty()) {
        let place = bytes.get(f.offset..f.offset + f.size()).unwrap_or_default();
        members.insert(f.name.as_str().into(), values_of(f.element, &f.shape, place, parse_v3::type_of_field(written, i))?);
    }
    Ok(Value::Object(members))
}

fn values_of(element: ElementType, shape: &[u64], place: &[u8], written: &Value) -> Result<Value> {
    match shape.split_first() {
        None => {
            let Some(native) = readable(to_native(element, place))? else { return Ok(Value::Null) };
            Fill::of_any(&native)?.to_json_v3_as(element.data_type.native(), written)
        }
        Some((&n, rest)) => {
            let parts = place.chunks((place.len() / n.max(1) as usize).max(1));
            let values = try_collect(parts.map(|part| values_of(element, rest, part, written)))?;
            Ok(Value::Array(List::of(values)?))
        }
    }
}

/// One element in the order of this host, from the order of `element`.
fn to_native(element: ElementType, bytes: &[u8]) -> Result<Element> {
    let native = ElementType::native(element.data_type.native());
    let mut out = zeros(native.size())?;
    turn(element, native, bytes, &mut out)?;
    Ok(out)
}

/// One element of the order of `element`, from that of this host.
fn from_native(element: ElementType, bytes: &[u8], out: &mut [u8]) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::{Fill, Value, brief, first, unsigned};
    use crate::dtype::narrow::odd;
    use crate::dtype::{DataType, Narrow as Format};
    use crate::error::ErrorKind;
    use crate::json::json;
    use crate::json::{BRIEF, Number};
    use DataType::*;

    fn number(text: &str) -> Value {
        crate::json::parse(text.as_bytes(), 1 << 20).unwrap()
    }

    fn bytes<const N: usize>(data_type: DataType, value: &Value) -> [u8; N] {
        let fill = Fill::from_json_v3(data_type, value).unwrap_or_else(|e| panic!("{value}: {e}"));
        assert_eq!(fill.element(data_type).len(), N);
        assert!(fill.defined && fill.value[N..].iter().all(|&b| b == 0));
        assert_eq!(Fill::from_json_v2(data_type, value).unwrap(), fill, "v2 reads the same");
        first(&fill.element(data_type))
    }

    fn refused(data_type: DataType, value: &Value) {
        let e = Fill::from_json_v3(data_type, value).expect_err(&format!("{data_type:?} {value}"));
        assert_eq!(e.kind(), ErrorKind::Metadata);
        assert!(e.message().contains("found") && e.message().contains("expected"), "{e}");
    }

    #[test]
    fn integers_are_exact_at_their_limits_and_refused_beyond() {
        for (data_type, low, high) in [
            (Int8, -128i128, 127i128),
            (Int16, -32768, 32767),
            (Int32, i32::MIN.into(), i32::MAX.into()),
            (Int64, i64::MIN.into(), i64::MAX.into()),
            (UInt8, 0, 255),
            (UInt16, 0, 65535),
            (UInt32, 0, u32::MAX.into()),
            (UInt64, 0, u64::MAX.into()),
            (Int2, -2, 1),
            (Int4, -8, 7),
            (UInt2, 0, 3),
            (UInt4, 0, 15),
        ] {
            for n in [low, high] {
                let fill = Fill::from_json_v3(data_type, &number(&n.to_string())).unwrap();
                assert_eq!(fill.value[..data_type.size()], n.to_le_bytes()[..data_type.size()]);
                assert_eq!(fill.to_json_v3(data_type).unwrap().to_string(), n.to_string());
                assert_eq!(fill.to_json_v2(data_type).unwrap().to_string(), n.to_string());
                assert_eq!(Fill::from_json_v3(data_type, &json!(n.to_string())).unwrap(), fill, "as a string");
                assert_eq!(Fill::from_json_v3(data_type, &number(&format!("{n}.0"))).unwrap(), fill, "with a fraction of zeros");
            }
            refused(data_type, &number(&(low - 1).to_string()));
            refused(data_type, &number(&(high + 1).to_string()));
            for value in
                [number("0.5"), json!("x"), json!(""), json!(true), json!([1]), json!({}), number("NaN"), number("1e30"), number("1e-1")]
            {
                refused(data_type, &value);
            }
        }
        for (data_type, given, want) in [
            (UInt8, "-1", Some("255")),
            (UInt8, "-128", Some("128")),
            (UInt8, "-129", None),
            (UInt16, "-1", Some("65535")),
            (UInt64, "-9223372036854775808", Some("9223372036854775808")),
            (UInt2, "-3", None),
            (UInt8, "0", None),
            (Int8, "-1", None),
            (Float32, "-1", None),
        ] {
            assert_eq!(unsigned(data_type, &number(given)).map(|n| n.to_string()).as_deref(), want, "{data_type:?} {given}");
        }
        assert_eq!(bytes::<8>(Int64, &number("-1.20e2")), (-120i64).to_le_bytes());
        assert_eq!(bytes::<8>(Int64, &number("-0")), [0; 8]);
        refused(Int64, &number("1e99999999999999999999"));
    }

    #[test]
    fn special_values_have_the_bits_of_the_specification() {
        for (text, half, single, double) in [
            ("NaN", 0x7e00u16, 0x7fc0_0000u32, 0x7ff8_0000_0000_0000u64),
            ("nan", 0x7e00, 0x7fc0_0000, 0x7ff8_0000_0000_0000),
            ("Infinity", 0x7c00, 0x7f80_0000, 0x7ff0_0000_0000_0000),
            ("+Infinity", 0x7c00, 0x7f80_0000, 0x7ff0_0000_0000_0000),
            ("inf", 0x7c00, 0x7f80_0000, 0x7ff0_0000_0000_0000),
            ("-Infinity", 0xfc00, 0xff80_0000, 0xfff0_0000_0000_0000),
            ("-0.0", 0x8000, 0x8000_0000, 0x8000_0000_0000_0000),
            ("1.5", 0x3e00, 0x3fc0_0000, 0x3ff8_0000_0000_0000),
            ("1e400", 0x7c00, 0x7f80_0000, 0x7ff0_0000_0000_0000),
            ("0", 0, 0, 0),
        ] {
            for value in [Some(json!(text)), crate::json::parse(text.as_bytes(), 99).ok()].into_iter().flatten() {
                assert_eq!(u16::from_le_bytes(bytes(Float16, &value)), half, "{text}");
                assert_eq!(u32::from_le_bytes(bytes(Float32, &value)), single, "{text}");
                assert_eq!(u64::from_le_bytes(bytes(Float64, &value)), double, "{text}");
            }
        }
        for value in [json!("x"), json!(""), json!("1.5f"), json!("1e"), json!("."), json!(true), json!(null), json!([1, 2]), json!("0x")] {
            refused(Float32, &value);
        }
    }

    #[test]
    fn hex_gives_the_bits() {
        assert_eq!(u16::from_le_bytes(bytes(Float16, &json!("0x7E01"))), 0x7e01);
        assert_eq!(u32::from_le_bytes(bytes(Float32, &json!("0x7FC00001"))), 0x7fc0_0001);
        assert_eq!(u32::from_le_bytes(bytes(Float32, &json!("0x1"))), 1);
        assert_eq!(u64::from_le_bytes(bytes(Float64, &json!("0xfff8000000000001"))), 0xfff8_0000_0000_0001);
        for text in ["0x1ffffffff", "0xg", "0x+1", "0x-1", "-0x1"] {
            refused(Float32, &json!(text));
        }
        refused(Int32, &json!("0x1"));
    }

    #[test]
    fn nan_payloads_are_written_as_hex_in_v3_only() {
        let fill = Fill::from_bytes(&0xffc0_0000u32.to_le_bytes());
        assert_eq!(fill.to_json_v3(Float32).unwrap(), json!("0xffc00000"));
        assert_eq!(fill.to_json_v2(Float32).unwrap(), json!("NaN"));
        assert_eq!(Fill::from_bytes(&0x7e00u16.to_le_bytes()).to_json_v3(Float16).unwrap(), json!("NaN"));
        assert_eq!(Fill::from_bytes(&0x7c01u16.to_le_bytes()).to_json_v3(Float16).unwrap(), json!("0x7c01"));
        assert_eq!(Fill::from_bytes(&f64::NEG_INFINITY.to_le_bytes()).to_json_v2(Float64).unwrap(), json!("-Infinity"));
    }

    #[test]
    fn a_negative_quiet_nan_keeps_its_sign() {
        for (data_type, bits, text) in [
            (Float16, 0xfe00u64, "0xfe00"),
            (Float32, 0xffc0_0000, "0xffc00000"),
            (Float64, 0xfff8_0000_0000_0000, "0xfff8000000000000"),
            (Narrow(Format::BFloat16), 0xffc0, "0xffc0"),
            (Narrow(Format::Float8E5M2), 0xfe, "0xfe"),
        ] {
            let fill = Fill::from_bytes(&bits.to_le_bytes()[..data_type.size()]);
            assert_eq!(fill.to_json_v3(data_type).unwrap(), json!(text), "{data_type:?}");
            assert_eq!(Fill::from_json_v3(data_type, &json!(text)).unwrap(), fill, "{data_type:?}");
            assert_eq!(fill.element(data_type).as_slice(), &bits.to_le_bytes()[..data_type.size()], "{data_type:?}");
        }
    }

    #[test]
    fn every_narrow_number_comes_back_in_both_versions() {
        for &n in Format::ALL {
            let data_type = if n == Format::Float16 { Float16 } else { Narrow(n) };
            let apart = if n.bits() > 8 { crate::settings::apart(41) } else { 1 };
            for code in (0..1u32 << n.bits()).step_by(apart) {
                let fill = Fill::from_bytes(&code.to_le_bytes()[..n.size()]);
                let value = fill.to_json_v3(data_type).unwrap();
                assert_eq!(Fill::from_json_v3(data_type, &value).unwrap(), fill, "{n:?} {code:#x} {value}");
                assert!(n != Format::Float16 || value.to_string().len() <= 12, "{value}");
                // Readers round a double, or a float32 of it.
                if let Ok(double) = value.to_string().parse::<f64>() {
                    let codes = [odd(double), double as f32].map(|x| u32::from(n.of_f32(x).0));
                    assert_eq!(codes, [code; 2], "{n:?} {value}");
                }
                let back = Fill::from_json_v2(data_type, &fill.to_json_v2(data_type).unwrap()).unwrap();
                assert!(back == fill || n.to_f32(code as u16).is_nan() && back.value[..2] == n.nan().unwrap().to_le_bytes());
                let pair = Fill::from_bytes(&[&code.to_le_bytes()[..n.size()], &1u16.to_le_bytes()[..n.size()]].concat());
                let value = pair.to_json_v3(ComplexNarrow(n)).unwrap();
                assert_eq!(Fill::from_json_v3(ComplexNarrow(n), &value).unwrap(), pair, "{n:?} {code:#x} {value}");
            }
        }
    }

    #[test]
    fn narrow_numbers_have_the_special_values_of_their_format_only() {
        for (n, text, code) in [
            (Format::BFloat16, "NaN", Some(0x7fc0u16)),
            (Format::BFloat16, "1e39", Some(0x7f80)),
            (Format::BFloat16, "1.00390625000000000000000000000000000001", Some(0x3f81)),
            (Format::BFloat16, "0x7fc1", Some(0x7fc1)),
            (Format::Float8E3M4, "NaN", Some(0x78)),
            (Format::Float8E4M3, "Infinity", Some(0x78)),
            (Format::Float8E5M2, "-Infinity", Some(0xfc)),
            (Format::Float8E5M2, "0x7d", Some(0x7d)),
            (Format::Float8E5M2, "0x17d", None),
            (Format::Float8E4M3Fn, "NaN", Some(0x7f)),
            (Format::Float8E4M3Fn, "Infinity", None),
            (Format::Float8E4M3Fn, "448", Some(0x7e)),
            (Format::Float8E4M3Fn, "1000", None),
            (Format::Float8E4M3Fnuz, "NaN", Some(0x80)),
            (Format::Float8E4M3Fnuz, "-0.0", Some(0)),
            (Format::Float8E8M0Fnu, "NaN", Some(0xff)),
            (Format::Float8E8M0Fnu, "0", Some(0)),
            (Format::Float8E8M0Fnu, "-1", None),
            (Format::Float8E8M0Fnu, "1", Some(0x7f)),
            (Format::Float6E2M3Fn, "NaN", None),
            (Format::Float6E3M2Fn, "-Infinity", None),
            (Format::Float6E3M2Fn, "0x3f", Some(0x3f)),
            (Format::Float6E3M2Fn, "0x40", None),
            (Format::Float4E2M1Fn, "-6", Some(0xf)),
            (Format::Float4E2M1Fn, "8", None),
        ] {
            let got = Fill::from_json_v3(Narrow(n), &json!(text)).ok().map(|f| u16::from_le_bytes(first(&f.value)));
            assert_eq!(got, code, "{n:?} {text}");
        }
        assert_eq!(Fill::from_bytes(&[0xff]).to_json_v3(Narrow(Format::Float8E4M3Fn)).unwrap(), json!("0xff"));
        assert_eq!(Fill::from_bytes(&[0xff]).to_json_v2(Narrow(Format::Float8E4M3Fn)).unwrap(), json!("NaN"));
    }

    #[test]
    fn floats_come_back_from_the_shortest_digits() {
        for (v, text) in
            [(0.1f32, "0.1"), (1.0, "1.0"), (-0.0, "-0.0"), (f32::MAX, "3.4028235e38"), (1e-45, "1e-45"), (9.96921e36, "9.96921e36")]
        {
            let value = Fill::from_bytes(&v.to_le_bytes()).to_json_v3(Float32).unwrap();
            assert_eq!(value.to_string(), text);
            assert_eq!(bytes(Float32, &value), v.to_le_bytes());
        }
        // Many readers make a double of the text first, whose nearest float32 must be the same.
        for bits in [0x15ae_43fdu32, 0x95ae_43fd, 0x15ae_43fc, 0x15ae_43fe, 1, 0x807f_ffff, 0x7f7f_ffff, 0xff7f_ffff] {
            let fill = Fill::from_bytes(&bits.to_le_bytes());
            let of_attribute = Value::Number(Number::from_f32(f32::from_bits(bits)));
            for value in [fill.to_json_v2(Float32).unwrap(), fill.to_json_v3(Float32).unwrap(), of_attribute] {
                let text = value.to_string();
                assert_eq!(bytes(Float32, &value), bits.to_le_bytes(), "{text}");
                assert_eq!((text.parse::<f64>().unwrap() as f32).to_bits(), bits, "{text}");
            }
            let pair = Fill::from_bytes(&[bits.to_le_bytes(), 0x95ae_43fdu32.to_le_bytes()].concat());
            for (i, bits) in [bits, 0x95ae_43fd].into_iter().enumerate() {
                let text = pair.to_json_v3(Complex64).unwrap()[i].to_string();
                assert_eq!((text.parse::<f64>().unwrap() as f32).to_bits(), bits, "{text}");
            }
        }
        for v in [0.1f64, 1e300, 5e-324, f64::MAX, std::f64::consts::PI, 1e16, -1e-7] {
            let value = Fill::from_bytes(&v.to_le_bytes()).to_json_v2(Float64).unwrap();
            assert_eq!(bytes(Float64, &value), v.to_le_bytes());
        }
    }

    #[test]
    fn decimals_are_rounded_once_and_to_even() {
        // 1 + 2^-11 is the tie between 1 and the next binary16; the others are just beside it, closer than binary64 can tell.
        let tie = "1.00048828125";
        for (text, bits) in [
            (tie.to_string(), 0x3c00u16),
            (format!("{tie}00000000000000000000000000000000001"), 0x3c01),
            ("1.00048828124999999999999999999999999".into(), 0x3c00),
            ("1.00146484375".into(), 0x3c02),
            ("1.00146484374999999999999999999999999".into(), 0x3c01),
            (format!("-{tie}00000000000000000000000000000000001"), 0xbc01),
            ("65519.99999999999999999999999999999".into(), 0x7bff),
            ("65520".into(), 0x7c00),
            ("2.98023223876953125e-8".into(), 0),
            ("2.980232238769531250000000000000000000001e-8".into(), 1),
            ("1e-400".into(), 0),
            ("-1e-400".into(), 0x8000),
        ] {
            assert_eq!(u16::from_le_bytes(bytes(Float16, &number(&text))), bits, "{text}");
        }
        // 1 + 2^-24 + 2^-60: through binary64 it would be a tie and go to 1.
        let text = "1.0000000596046447762790769";
        assert_eq!(u32::from_le_bytes(bytes(Float32, &number(text))), 0x3f80_0001);
    }

    #[test]
    fn complex_values_are_pairs() {
        let value = json!(["NaN", "-Infinity"]);
        let fill = Fill::from_json_v3(Complex64, &value).unwrap();
        assert_eq!(fill.element(Complex64).to_vec(), [0x7fc0_0000u32.to_le_bytes(), 0xff80_0000u32.to_le_bytes()].concat());
        assert_eq!(fill.to_json_v3(Complex64).unwrap(), value);
        assert_eq!(fill.to_json_v2(Complex64).unwrap(), value);
        let fill = Fill::from_json_v2(Complex128, &json!([1.5, -0.0])).unwrap();
        assert_eq!(fill.to_json_v3(Complex128).unwrap().to_string(), "[1.5,-0.0]");
        assert_eq!(Fill::from_json_v2(Complex128, &json!(2)).unwrap().to_json_v2(Complex128).unwrap().to_string(), "[2.0,0.0]");
        for value in [json!(1), json!([1]), json!([1, 2, 3]), json!([1, true]), json!("NaN"), json!(null)] {
            refused(Complex64, &value);
        }
        for (text, parts) in
            [("0j", json!([0, 0])), ("-1.5j", json!([0, -1.5])), ("1+2j", json!([1, 2])), ("(-1e-05-2.5e+20j)", json!([-1e-05, -2.5e20]))]
        {
            assert_eq!(Fill::from_json_v3(Complex128, &json!(text)).unwrap(), Fill::from_json_v3(Complex128, &parts).unwrap(), "{text}");
        }
        for text in ["", "j", "1", "(1+2j", "1+j", "nanj", "1+2", "1 + 2j", "1e+j", "+"] {
            refused(Complex128, &json!(text));
        }
        assert_eq!(Fill::from_json_v3(Complex64, &json!([1, null])).unwrap_err().field(), Some("[1]"));
    }

    #[test]
    fn bools_are_words_or_0_and_1() {
        for (value, byte) in [(json!(true), 1), (json!(false), 0), (json!(1), 1), (json!(0), 0), (number("0.0"), 0)] {
            assert_eq!(bytes(Bool, &value), [byte]);
        }
        for value in [json!(2), json!(-1), json!("true"), json!(null), number("0.5")] {
            refused(Bool, &value);
        }
        assert_eq!(Fill::from_bytes(&[7]).to_json_v3(Bool).unwrap(), json!(true));
    }

    #[test]
    fn null_is_undefined_in_v2_and_refused_in_v3() {
        for data_type in DataType::numbers() {
            let fill = Fill::from_json_v2(data_type, &Value::Null).unwrap();
            assert_eq!(fill, Fill::undefined());
            assert_eq!(fill.to_json_v2(data_type).unwrap(), Value::Null);
            refused(data_type, &Value::Null);
        }
        for name in ["<M8[s]", ">m8[10ns]"] {
            let time = crate::dtype::parse_v2::parse(&Value::from(name)).unwrap();
            let fill = Fill::from_json_v2(time, &Value::Null).unwrap();
            assert_eq!(
                (fill.element(time.data_type).as_slice(), fill.to_json_v2(time).unwrap()),
                (&i64::MIN.to_ne_bytes()[..], Value::Null),
                "{name}"
            );
        }
    }

    #[test]
    fn times_of_version_2_may_be_dates_as_numpy_writes_them() {
        let time = |unit: &str| crate::dtype::parse_v2::parse(&Value::from(format!("<M8[{unit}]"))).unwrap();
        for (unit, text, count) in [
            ("ns", "1970-01-01T00:00:00.000000000", 0),
            ("ns", "2020-01-01", 1_577_836_800_000_000_000),
            ("ns", "1969-12-31T23:59:59.999999999", -1),
            ("as", "1970-01-01T00:00:00.000000000000000005", 5),
            ("us", "2000-02-29 12:30:15.25", 951_827_415_250_000),
            ("25s", "1970-01-01T00:02:05", 5),
            ("m", "1970-01-01T01:01", 61),
            ("h", "1970-01-01T03", 3),
            ("D", "-25410-12-06", -10_000_000),
            // The sign counts for one of the four digits.
            ("m", "-590-05-30T09:55", -1_346_215_085),
            ("D", "-999-12-31", -1_084_041),
            ("M", "-005-01", -23_700),
            ("Y", "-590", -2_560),
            ("D", "29349-01-26", 10_000_000),
            ("D", "1969-12-31T12", -1),
            ("W", "1970-02-05", 5),
            ("M", "1969-10", -3),
            ("Y", "1973", 3),
            ("10Y", "1969-12-31", -1),
        ] {
            let fill = Fill::from_json_v2(time(unit), &json!(text)).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(fill, Fill::from_bytes(&i64::to_ne_bytes(count)), "{text} in {unit}");
            if !["1973", "-590"].contains(&text) {
                refused(time(unit).data_type, &json!(text));
            }
        }
        // A number is a year only where the unit is the year.
        assert_eq!(Fill::from_json_v2(time("ns"), &json!("1973")).unwrap(), Fill::from_bytes(&1973i64.to_ne_bytes()));
        for text in [
            "",
            "-",
            "2020-",
            "590-05-30",
            "-90-05-30",
            "2020-1-1",
            "2020-13",
            "2020-00",
            "2021-02-29",
            "2020-01-01-01",
            "2020-01-01T",
            "2020-01-01T24",
            "2020-01-01T00:60",
            "2020-01-01T00:00:60",
            "2020-01-01T00:00:00.",
            "2020-01-01T00:00.5",
            "2020-01-01T00:00:00.0000000000000000001",
            "2020-01-01T00:00:00Z",
            "9999999999999999999-01",
            "3000-01-01",
            "2020-+1-01",
            "now",
        ] {
            assert_eq!(Fill::from_json_v2(time("ns"), &json!(text)).unwrap_err().kind(), ErrorKind::Metadata, "{text}");
        }
        let span = crate::dtype::parse_v2::parse(&Value::from("<m8[s]")).unwrap();
        assert!(Fill::from_json_v2(span, &json!("1970-01-01")).is_err());
    }

    #[test]
    fn the_number_0_is_no_value_of_text_in_v2() {
        for data_type in [VarText, VarBytes] {
            assert_eq!(
                Fill::from_json_v2(data_type, &json!(0)).unwrap(),
                Fill { defined: false, ..Fill::variable(&[]).unwrap() },
                "{data_type:?}"
            );
            assert!(Fill::from_json_v3(data_type, &json!(0)).unwrap().defined);
            assert!(Fill::from_json_v2(data_type, &json!("")).unwrap().defined);
        }
    }

    #[test]
    fn a_list_of_one_element_is_the_element_in_v2() {
        assert_eq!(Fill::from_json_v2(Int16, &json!([-32767])).unwrap().to_json_v2(Int16).unwrap(), json!(-32767));
        assert!(Fill::from_json_v2(Int16, &json!([1, 2])).is_err());
        assert!(Fill::from_json_v2(Int16, &json!([])).is_err());
        refused(Int16, &json!([1]));
    }

    #[test]
    fn values_in_messages_are_short() {
        assert_eq!(brief(&json!({"a": [1, "x"]})), "{\"a\":[1,\"x\"]}");
        assert_eq!(brief(&number("NaN")), "NaN");
        let long = brief(&json!("é".repeat(100)));
        assert!(long.ends_with("é…") && long.len() <= BRIEF + "…".len(), "{long}");
        assert!(brief(&Value::from(vec![0u8; 1 << 20])).ends_with('…'));
        assert_eq!(brief(&json!("a".repeat(38))).len(), 40);
    }

    #[test]
    fn bytes_text_and_times_in_every_spelling() {
        let second = DateTime(crate::dtype::Unit::new("s", 1).unwrap());
        let v2: &[(DataType, Value, &[u8], Value)] = &[
            (Bytes(3), json!("QUI="), b"AB\0", json!("QUIA")),
            (Bytes(3), json!("A-B"), b"A-B", json!("QS1C")),
            (Bytes(2), json!(0), b"\0\0", json!("AAA=")),
            (Raw(2), json!("AQI="), &[1, 2], json!("AQI=")),
            (Text(2), json!("é"), &[0xe9, 0, 0, 0, 0, 0, 0, 0], json!("é")),
            (Text(1), json!(""), &[0; 4], json!("")),
            (second, json!("NaT"), &[0, 0, 0, 0, 0, 0, 0, 0x80], json!(i64::MIN)),
            (second, json!(3), &[3, 0, 0, 0, 0, 0, 0, 0], json!(3)),
            (Text(30), json!("x"), &[&[0x78, 0, 0, 0][..], &[0; 116]].concat(), json!("x")),
        ];
        for (data_type, value, bytes, written) in v2 {
            let fill = Fill::from_json_v2(*data_type, value).unwrap_or_else(|e| panic!("{value}: {e}"));
            assert_eq!(&fill.element(*data_type)[..], *bytes, "{value}");
            assert_eq!(&fill.to_json_v2(*data_type).unwrap(), written);
        }
        // Other writers' fill value of text may be a number: its digits, but 0 is no text.
        for (number, text) in [(json!(0), ""), (json!(7), "7"), (json!(-2.5), "-2.5")] {
            assert_eq!(Fill::from_json_v3(VarText, &number).unwrap().to_json_v3(VarText).unwrap(), json!(text));
        }
        let raw = Fill::from_json_v3(Raw(3), &json!([1, 2, 255])).unwrap();
        assert_eq!((&raw.element(Raw(3))[..], raw.to_json_v3(Raw(3)).unwrap()), (&[1, 2, 255][..], json!([1, 2, 255])));
        assert_eq!(Fill::from_json_v3(second, &json!("NaT")).unwrap().to_json_v3(second).unwrap(), json!("NaT"));
        for (data_type, value) in [
            (Raw(3), json!("AQI=")),
            (Raw(3), json!([1, 2])),
            (Raw(3), json!([1, 2, 256])),
            (Bytes(1), json!("QUI=")),
            (Text(1), json!("ab")),
            (Text(1), json!(7)),
            (second, json!("soon")),
            (second, json!(1.5)),
            (second, json!(null)),
        ] {
            refused(data_type, &value);
        }
    }
}
