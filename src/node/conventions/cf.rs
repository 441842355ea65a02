//! What the numbers of an array mean: packing, missing values and units of time, by its attributes.
//! Conventions: CF 2.5.1 and 8.1; xarray, "Zarr Encoding Specification", for `_FillValue`.

use super::missing::{FILL, is_no_number, missing_of, missing_value, stored_value};
use super::sign::{has_other_sign, meant_type};
use super::time::{Calendar, TimeUnits};
use crate::dtype::coding::{Coding, NOT_A_TIME, Rule};
use crate::dtype::transfer::Transfer;
use crate::dtype::{DataType, Element, ElementType, Kind, Overflow, Run, zeros};
use crate::engine::{self, Memory, Selection};
use crate::error::{Result, bail, err};
use crate::metadata::json::{self, brief};
use crate::metadata::{Format, Map, Value};
use crate::node::Array;

impl Array {
    /// How the array's numbers are packed, and which of them are missing: `scale_factor`, `add_offset`, `_Unsigned`, `_FillValue` (in
    /// version 2 the fill value is it), `missing_value`.
    pub fn packing(&self) -> Result<Coding> {
        let (scale, offset) = self.scale_and_offset()?;
        Ok(Coding { missing: self.missing_values()?, other_sign: self.has_other_sign()?, rule: Rule::Scale { scale, offset } })
    }

    /// The attributes `scale_factor` and `add_offset`.
    fn scale_and_offset(&self) -> Result<(f64, f64)> {
        let attributes = self.attributes().view()?;
        let number = |name: &str, default: f64| match attributes.get(name) {
            None => Ok(default),
            Some(value) => real(value).map_err(|e| e.at_field(name)),
        };
        let (scale, offset) = (number("scale_factor", 1.0)?, number("add_offset", 0.0)?);
        if scale == 0.0 || !scale.is_finite() || !offset.is_finite() {
            bail!(Metadata, "the array {:?} has scale_factor {scale} and add_offset {offset}, which cannot be undone", self.path());
        }
        Ok((scale, offset))
    }

    /// Whether signed integers are stored in place of unsigned ones or, by servers that know no signed bytes, the other way round.
    fn has_other_sign(&self) -> Result<bool> {
        Ok(has_other_sign(&*self.attributes().view()?, self.data_type()))
    }

    /// The units of time in which the array counts, once it is unpacked, by its attributes `units` and `calendar`; an array of `datetime64` by
    /// its type.
    pub fn time_units(&self) -> Result<TimeUnits> {
        if let DataType::DateTime(unit) = self.data_type() {
            let name = match unit.name() {
                "W" => "weeks",
                "m" => "minutes",
                name @ ("D" | "h" | "s" | "ms" | "us" | "ns") => name,
                other => bail!(
                    Unsupported,
                    "the array {:?} counts in units of numpy.datetime64 called {other:?}, which are no whole number of nanoseconds; read the counts as int64",
                    self.path()
                ),
            };
            let text = format!("{name} since 1970-01-01");
            let units = TimeUnits::parse(&text, Calendar::ProlepticGregorian)?;
            return Ok(TimeUnits { unit: units.unit * i128::from(unit.scale), ..units });
        }
        let attributes = self.attributes().view()?;
        let text = attributes.get("units").and_then(Value::as_str);
        let Some(text) = text.filter(|text| TimeUnits::is_one(text)) else {
            let found = attributes.get("units").map_or("no attribute \"units\"".to_string(), |v| format!("the units {}", brief(v)));
            bail!(Metadata, "the array {:?} has {found}, expected units of time such as \"days since 2026-01-01\"", self.path());
        };
        let calendar = attributes.get("calendar").and_then(Value::as_str).map_or(Ok(Calendar::Standard), Calendar::parse)?;
        TimeUnits::parse(text, calendar)
    }

    /// Whether the fill value says nothing that version 2 lacks where it means "missing" there: it is zero, or missing by itself.
    pub fn has_idle_fill(&self) -> bool {
        let fill = self.fill().element(self.data_type());
        fill.iter().all(|&byte| byte == 0) || is_no_number(self.data_type(), &fill)
    }

    /// Whether the array says what is missing, and an array of the other version says the same in that version's form.
    pub fn has_missing_of(&self, other: &Array) -> Result<bool> {
        let told = |array: &Array| -> Result<Option<Element>> {
            let (state, attributes) = (array.state(), array.attributes().view()?);
            let missing = missing_of(&state.meta, &attributes);
            let stated = attributes.get(FILL).map(|value| missing_value(array.data_type(), value).flatten());
            Ok(missing.filter(|missing| stated.is_none_or(|stated| stated.as_ref() == Some(missing))))
        };
        Ok(self.format() != other.format() && told(self)?.is_some_and(|missing| matches!(told(other), Ok(Some(same)) if same == missing)))
    }

    /// Returns the elements, in this host's byte order, that mean "missing": first the one to write for it.
    pub fn missing_values(&self) -> Result<Vec<Element>> {
        let (data_type, attributes) = (self.data_type(), self.attributes().view()?);
        let mut missing = Vec::new();
        if !matches!(data_type.kind(), Kind::Bool | Kind::Int | Kind::UInt | Kind::Float | Kind::Time) {
            return Ok(missing);
        }
        if data_type.kind() == Kind::Time {
            missing.push(Element::from_slice(&NOT_A_TIME.to_ne_bytes()));
        }
        let meant = meant_type(&attributes, data_type);
        let state = self.state();
        if self.format() == Format::V2 && state.meta.fill.defined {
            missing.push(state.meta.fill.try_element(data_type)?);
        }
        for name in [FILL, "missing_value"] {
            let values = match attributes.get(name) {
                None => continue,
                Some(Value::Array(values)) => values.as_slice(),
                Some(value) => std::slice::from_ref(value),
            };
            for value in values {
                let element = stored_value((data_type, meant), value).ok_or_else(|| {
                    err!(Metadata, "the array {:?} has {name} {}, which is no {}", self.path(), brief(value), data_type.name())
                        .at_field(name)
                })?;
                missing.extend(element.filter(|e| !missing.contains(e)));
            }
        }
        if let Some(minus) = minus_zero(data_type) {
            let zero = Element::from_elem(0, data_type.size());
            let other = if missing.contains(&zero) { Some(minus) } else { missing.contains(&minus).then_some(zero) };
            missing.extend(other);
        }
        Ok(missing)
    }

    /// Converts an element of the array, in this host's byte order, to another type: as it is stored, or what it means by a coding. Errors: `Type`,
    /// and `Range` if it does not fit.
    pub fn convert(&self, element: &[u8], data_type: DataType, coding: Option<&Coding>) -> Result<Element> {
        let (from, to) = (ElementType::native(self.data_type()), ElementType::native(data_type));
        let transfer = match coding {
            Some(coding) => Transfer::decoding(from, to, coding, Overflow::Error)?,
            None => Transfer::new(from, to)?,
        };
        let mut out = zeros(to.size())?;
        // SAFETY: both hold one element of their type.
        let done = unsafe { transfer.run(Run::one(element.as_ptr(), out.as_mut_ptr())) };
        // SAFETY: as above.
        done.map(|()| out).map_err(|_| unsafe { transfer.range_error(element.as_ptr()) })
    }

    /// The fill value as an element of another type: as it is stored or, `unpacked`, what it means. Errors: those of [`Array::convert`] and
    /// [`Array::packing`].
    pub fn fill_as(&self, data_type: DataType, unpacked: bool) -> Result<Element> {
        let coding = unpacked.then(|| self.packing()).transpose()?;
        self.convert(&self.state().meta.fill.try_element(self.data_type())?, data_type, coding.as_ref())
    }

    /// Reads what the selected elements mean: packed numbers unpacked, missing ones as NaN. The memory's type is a floating-point one.
    ///
    /// # Safety
    /// As for [`engine::read`].
    pub unsafe fn read_unpacked(&self, selection: &Selection, memory: &Memory) -> Result<()> {
        let (bound, coding) = (self.bound_for_reading(selection)?, self.packing()?);
        // SAFETY: the caller vouches for the memory.
        unsafe { engine::read_decoded(&bound, selection, memory, &coding) }
    }

    /// Writes elements that mean what the memory holds: packed, NaN as the missing value.
    ///
    /// # Safety
    /// As for [`engine::write`].
    pub unsafe fn write_packed(&self, selection: &Selection, memory: &Memory) -> Result<()> {
        let (bound, coding) = (self.bound_for_writing(selection)?, self.packing()?);
        // SAFETY: the caller vouches for the memory.
        unsafe { engine::write_encoded(&bound, selection, memory, &coding) }
    }

    /// Reads times as counts of `units`, which are of the array's calendar; missing ones as the least integer of 64 bits.
    ///
    /// # Safety
    /// As for [`engine::read`].
    pub unsafe fn read_times(&self, selection: &Selection, units: &str, memory: &Memory) -> Result<()> {
        let (bound, coding) = (self.bound_for_reading(selection)?, self.time_coding(units, |_| true)?);
        // SAFETY: the caller vouches for the memory.
        unsafe { engine::read_decoded(&bound, selection, memory, &coding) }
    }

    /// Writes times that are given as counts of `units`, which are of the array's calendar. Errors: `Range` for a missing one in an array of integers
    /// without a missing value, unless its calendar is a Gregorian one: with the least integer xarray opens no dataset of another.
    ///
    /// # Safety
    /// As for [`engine::write`].
    pub unsafe fn write_times(&self, selection: &Selection, units: &str, memory: &Memory) -> Result<()> {
        let is_gregorian = |calendar| matches!(calendar, Calendar::Standard | Calendar::ProlepticGregorian);
        let (bound, coding) = (self.bound_for_writing(selection)?, self.time_coding(units, is_gregorian)?);
        // SAFETY: the caller vouches for the memory.
        unsafe { engine::write_encoded(&bound, selection, memory, &coding) }
    }

    /// `has_least`: whether in that calendar the least integer is missing by itself.
    fn time_coding(&self, units: &str, has_least: impl Fn(Calendar) -> bool) -> Result<Coding> {
        let stored = self.time_units()?;
        let wanted = TimeUnits::parse(units, stored.calendar)?;
        let stored = match (self.data_type().kind(), self.scale_and_offset()?) {
            (Kind::Time, _) | (_, (1.0, 0.0)) => stored,
            (_, (scale, offset)) => stored.packed(scale, offset).map_err(|e| e.at_field("scale_factor"))?,
        };
        let mut missing = self.missing_values()?;
        // xarray stores "not a time" as the least integer, and names it in no attribute.
        let not_a_time = Element::from_slice(&NOT_A_TIME.to_ne_bytes());
        if has_least(stored.calendar) && self.data_type().in_memory() == DataType::Int64 && !missing.contains(&not_a_time) {
            missing.push(not_a_time);
        }
        Ok(Coding { missing, other_sign: self.has_other_sign()?, rule: stored.rule(&wanted) })
    }
}

/// The other form of zero, of real types that have two.
fn minus_zero(data_type: DataType) -> Option<Element> {
    let code = |code: u16, size: usize| match u8::try_from(code) {
        Ok(byte) if size == 1 => Element::from_slice(&[byte]),
        _ => Element::from_slice(&code.to_ne_bytes()),
    };
    match data_type.in_memory() {
        DataType::Float16 => Some(code(0x8000, 2)),
        DataType::Float32 => Some(Element::from_slice(&(-0.0_f32).to_ne_bytes())),
        DataType::Float64 => Some(Element::from_slice(&(-0.0_f64).to_ne_bytes())),
        DataType::Narrow(narrow) => narrow.minus_zero().map(|minus| code(minus, narrow.size())),
        _ => None,
    }
}

/// A number that an attribute holds, alone or in a list of one.
fn real(value: &Value) -> Result<f64> {
    let one = match value {
        Value::Array(items) if items.len() == 1 => &items[0],
        other => other,
    };
    match one {
        Value::Number(n) => n.text().parse().map_err(|_| err!(Metadata, "found {}, expected a number", brief(value))),
        _ => bail!(Metadata, "found {}, expected a number", brief(value)),
    }
}

/// The attributes of packing. One that is there with another value is an error of kind `Argument`.
pub(super) fn packing_attributes(attributes: &mut Map, scale: Option<f64>, offset: Option<f64>) -> Result<()> {
    for (name, value) in [("scale_factor", scale), ("add_offset", offset)] {
        let Some(value) = value else { continue };
        if !value.is_finite() || name == "scale_factor" && value == 0.0 {
            return Err(err!(Argument, "found {value}, which cannot be undone").at_field(name));
        }
        if let Some(there) = attributes.get(name).filter(|there| real(there).ok() != Some(value)) {
            return Err(err!(Argument, "found {value}, the attribute is {}", brief(there)).at_field(name));
        }
        attributes.insert(name.into(), Value::Number(json::number(value)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Narrow;
    use crate::node::tests::own;

    use crate::limits::c_strides;
    use crate::node::{Context, Create, Mode, Options, Spec, Store};
    use crate::store::latency::LatencyStore;
    use crate::store::memory::MemoryStore;
    use crate::store::suite::Random;
    use std::sync::Arc;
    use std::time::Duration;

    const ATTRIBUTES: &str = r#"{"scale_factor": 0.25, "add_offset": -3, "_FillValue": -99}"#;

    /// Shards, transposes, both byte orders, raw and compressed chunks, in both versions.
    fn specs() -> Vec<Spec> {
        let plain = || Spec::new(DataType::Int16, &[7, 9]).unwrap();
        let mut all = Vec::new();
        for format in [Format::V2, Format::V3] {
            for order in [crate::metadata::Order::C, crate::metadata::Order::F] {
                for compressor in ["none", "zstd"] {
                    let mut spec = plain();
                    spec.set_format(format).unwrap();
                    spec.set_order(order).unwrap();
                    spec.set_byte_order(crate::dtype::ByteOrder::Big).unwrap();
                    spec.set_compressor(compressor, None).unwrap();
                    spec.set_chunks(&[4, 5]).unwrap();
                    all.push(spec);
                }
            }
        }
        let mut shards = plain();
        shards.set_chunks(&[4, 6]).unwrap();
        shards.set_inner_chunks(&[2, 3]).unwrap();
        all.push(shards);
        for spec in &mut all {
            spec.set_attributes_json(ATTRIBUTES).unwrap();
            spec.set_fill(DataType::Int16, &(-99i16).to_ne_bytes()).unwrap();
        }
        all
    }

    fn memory(data: &mut [f64], shape: &[u64]) -> Memory {
        Memory::of(data, shape, DataType::Float64)
    }

    #[test]
    fn what_is_missing_has_the_forms_that_its_type_has() {
        let missing = |data_type, text: &str| {
            let array = Array::create(&Store::memory(&Context::default()), "a", &Spec::new(data_type, &[1]).unwrap(), Create::New).unwrap();
            array.attributes().set("_FillValue", json::parse_given(text).unwrap()).unwrap();
            array.missing_values().unwrap()
        };
        for narrow in Narrow::ALL.iter().copied().filter(|narrow| *narrow != Narrow::Float16) {
            let element = |code: u16| Element::from_slice(&code.to_ne_bytes()[..narrow.size()]);
            let least = narrow.to_f32(0);
            let mut got = missing(DataType::Narrow(narrow), &format!("{least:e}"));
            got.sort_by_key(|e| e.to_vec());
            let want: Vec<_> = (0..=u16::MAX >> (16 - narrow.bits())).filter(|code| narrow.to_f32(*code) == least).map(element).collect();
            assert_eq!(got, want, "{narrow:?}");
            if let Some(minus) = narrow.minus_zero() {
                assert_eq!(missing(DataType::Narrow(narrow), "-0.0"), [element(minus), element(0)], "{narrow:?}");
            }
            if let Some(nan) = narrow.nan() {
                assert_eq!(missing(DataType::Narrow(narrow), "\"NaN\""), [element(nan)], "{narrow:?}");
            }
        }
        assert_eq!(missing(DataType::Float16, "0"), [[0, 0], 0x8000u16.to_ne_bytes()].map(|e| Element::from_slice(&e)));
        for (data_type, minus) in [(DataType::Float32, &(-0.0f32).to_ne_bytes()[..]), (DataType::Float64, &(-0.0f64).to_ne_bytes()[..])] {
            assert_eq!(missing(data_type, "-0.0"), [Element::from_slice(minus), Element::from_elem(0, minus.len())], "{data_type:?}");
        }
    }

    #[test]
    fn points_in_time_have_the_units_of_their_type() {
        let store = Store::memory(&Context::default());
        for (name, nanoseconds) in [
            ("W", Some(604_800_000_000_000i128)),
            ("D", Some(86_400_000_000_000)),
            ("m", Some(60_000_000_000)),
            ("ns", Some(1)),
            ("ps", None),
            ("Y", None),
            ("generic", None),
        ] {
            let unit = crate::dtype::Unit::new(name, if name == "generic" { 1 } else { 3 }).unwrap();
            let array = Array::create(&store, name, &Spec::new(DataType::DateTime(unit), &[2]).unwrap(), Create::New).unwrap();
            match nanoseconds {
                Some(length) => assert_eq!(array.time_units().unwrap().unit, 3 * length, "{name}"),
                None => {
                    let e = array.time_units().unwrap_err();
                    assert!(e.kind() == crate::error::ErrorKind::Unsupported && e.message().contains(&format!("{name:?}")), "{e}");
                }
            }
        }
    }

    /// Random regions against a list of numbers; written through one store, read through it and one with latency.
    #[test]
    fn every_region_means_what_was_written_last() {
        for (i, spec) in specs().into_iter().enumerate() {
            let inner = Arc::new(MemoryStore::new());
            let store = Store::from_shared(&Context::default(), inner.clone(), Mode::ReadWrite);
            let slow = Store::new(&Context::default(), Arc::new(LatencyStore::new(inner, Duration::ZERO)), Mode::Read, Options::default());
            let array = Array::create(&store, "a", &spec, Create::New).unwrap();
            let far = Array::open(&slow, "a").unwrap();
            let (mut model, mut random) = (vec![f64::NAN; 63], Random(5 + i as u64));
            for round in 0..60 {
                let start = [random.below(7), random.below(9)];
                let count = [1 + random.below(7 - start[0]), 1 + random.below(9 - start[1])];
                let places: Vec<usize> =
                    (0..count[0]).flat_map(|y| (0..count[1]).map(move |x| ((start[0] + y) * 9 + start[1] + x) as usize)).collect();
                let signed = |v: [u64; 2]| [v[0] as i64, v[1] as i64];
                let region = Selection::new(&[7, 9], &signed(start), &signed(count), None).unwrap();
                let mut values: Vec<f64> =
                    places.iter().map(|_| if random.below(4) == 0 { f64::NAN } else { random.below(4000) as f64 * 0.25 - 3.0 }).collect();
                if round % 2 == 0 {
                    own!(array.write_packed(&region, &memory(&mut values, &count))).unwrap();
                    places.iter().zip(&values).for_each(|(&p, v)| model[p] = *v);
                } else {
                    for from in [&array, &far] {
                        own!(from.read_unpacked(&region, &memory(&mut values, &count))).unwrap();
                        for (&p, v) in places.iter().zip(&values) {
                            assert!(
                                *v == model[p] || v.is_nan() && model[p].is_nan(),
                                "spec {i}, round {round}: {v}, expected {}",
                                model[p]
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn integers_of_either_sign_mean_those_of_the_other_as_unsigned_says() {
        let store = Store::new(&Context::default(), Arc::new(MemoryStore::new()), Mode::ReadWrite, Options::default());
        let all = Selection::all(&[3]);
        let nan = f64::NAN;
        // What xarray 2026.9 makes of the bytes 200, 255 and 5; it fails on 255 where the number meant is -1, and the other way round.
        for (name, data_type, attributes, want) in [
            ("a", DataType::UInt8, r#"{"_Unsigned":"false"}"#, [-56.0, -1.0, 5.0]),
            ("b", DataType::UInt8, r#"{"_Unsigned":"false","_FillValue":-1}"#, [-56.0, nan, 5.0]),
            ("c", DataType::UInt8, r#"{"_Unsigned":"false","_FillValue":255}"#, [-56.0, nan, 5.0]),
            ("d", DataType::UInt8, r#"{"_Unsigned":"true","_FillValue":200}"#, [nan, 255.0, 5.0]),
            ("e", DataType::Int8, r#"{"_Unsigned":"true","_FillValue":-1}"#, [200.0, nan, 5.0]),
            ("f", DataType::Int8, r#"{"_Unsigned":"true","_FillValue":255}"#, [200.0, nan, 5.0]),
            ("g", DataType::Int8, r#"{"_Unsigned":"false","_FillValue":-1}"#, [-56.0, nan, 5.0]),
            ("h", DataType::Int8, r#"{"_FillValue":255}"#, [-56.0, -1.0, 5.0]),
        ] {
            let mut spec = Spec::new(data_type, &[3]).unwrap();
            spec.set_attributes_json(attributes).unwrap();
            let array = Array::create(&store, name, &spec, Create::New).unwrap();
            let (mut bytes, mut got) = ([200u8, 255, 5], [0.0; 3]);
            let raw = |bytes: &mut [u8; 3]| Memory {
                data: bytes.as_mut_ptr().cast(),
                size: 3,
                strides: c_strides(&[3], 1),
                data_type,
                ..memory(&mut [], &[3])
            };
            own!(array.write(&all, &raw(&mut bytes))).unwrap();
            own!(array.read_unpacked(&all, &memory(&mut got, &[3]))).unwrap();
            assert!(got.iter().zip(want).all(|(x, want)| *x == want || x.is_nan() && want.is_nan()), "{name}: {got:?}, expected {want:?}");
            own!(array.write_packed(&all, &memory(&mut got, &[3]))).unwrap();
            let mut back = [0u8; 3];
            own!(array.read(&all, &raw(&mut back))).unwrap();
            assert_eq!(back, bytes, "{name}");
        }
    }
}
