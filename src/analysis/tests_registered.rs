//! Types that a program registered, with numbers as their types in memory: their figures are those of these types.

use super::difference::{Tolerance, compare};
use super::digest::digest;
use super::statistics::Numbers;
use crate::dtype::{DataType, Kind};
use crate::engine::{Memory, Selection};
use crate::node::type_registration::{Description, SameBytes, register};
use crate::node::{Array, Context, Create, Dataset, Format, Group, Series, Spec, Store, Value};
use std::sync::Arc;

/// The spec of an array of that type, and that of one of a registered type that is it in memory.
fn specs(test: &str, memory: DataType, shape: &[u64]) -> [Spec; 2] {
    let name = format!("test.{test}.{}", memory.name());
    let what = Description { v3: Some(&name), v2: None, size: memory.size(), ordered: false, memory: Some(memory), fills: false };
    register(&what, Arc::new(SameBytes), true).unwrap();
    let registered = crate::dtype::parse_v3::parse(&Value::from(name.as_str())).unwrap();
    [memory, registered].map(|data_type| Spec::new(data_type, shape).unwrap())
}

fn write(array: &Array, values: &[f64; 6]) {
    let mut values = *values;
    let memory = Memory::of(&mut values, &[6], DataType::Float64);
    // SAFETY: the memory is all of `values`.
    unsafe { array.write(&Selection::all(&[6]), &memory) }.unwrap();
}

/// Types, and values of them that are no others as integers without a sign of as many bits; the third means "missing".
const ROWS: &[(DataType, [f64; 6])] = &[
    (DataType::Int32, [1.0, 2.0, -3.0, 4.0, 5.0, 6.0]),
    (DataType::Int16, [1.0, 2.0, -99.0, 4.0, -5.0, 6.0]),
    (DataType::UInt8, [1.0, 2.0, 3.0, 4.0, 5.0, 200.0]),
    (DataType::UInt64, [1.0, 2.0, 3.0, 4.0, 5.0, 9_007_199_254_740_992.0]),
    (DataType::Float32, [1.25, 2.5, -99.0, 4.0, -5.0, 6.0]),
    (DataType::Float64, [1.1, 2.7, -99.0, 4.0, 1e300, 6.0]),
    (DataType::Float16, [1.25, 2.5, -99.0, 4.0, -5.0, 6.0]),
    (DataType::Int4, [1.0, 2.0, -3.0, 4.0, -5.0, 6.0]),
    (DataType::Bool, [0.0, 1.0, 0.0, 1.0, 1.0, 1.0]),
];

#[test]
fn figures_and_differences_of_registered_types_are_those_of_the_types_in_memory() {
    let store = Store::memory(&Context::default());
    let all = Selection::all(&[6]);
    for (memory, values) in ROWS {
        let arrays = specs("figures", *memory, &[6]).map(|mut spec| {
            if *memory != DataType::Bool {
                spec.set_attributes_json(&format!(r#"{{"_FillValue":{}}}"#, values[2])).unwrap();
            }
            let array = Array::create(&store, spec.data_type().name(), &spec, Create::Overwrite).unwrap();
            write(&array, values);
            let moments = Numbers::new(&array, all.clone(), false).unwrap().moments(&|_| Ok(()), |_, _| Ok(())).unwrap();
            (format!("{moments:?}"), array)
        });
        assert_eq!(arrays[1].0, arrays[0].0, "{memory:?}");
        let differing = || {
            let sides = [&arrays[0].1, &arrays[1].1].map(|array| (array, &all));
            compare(sides[0], sides[1], Tolerance::default(), &|e, _| e, &|_| Ok(())).unwrap().differing
        };
        assert_eq!(differing(), 0, "{memory:?}");
        write(&arrays[1].1, &[1.0, values[1], values[2], values[3], values[4], 0.0]);
        assert_eq!(differing(), 1 + u64::from(values[0] != 1.0), "{memory:?}");
    }
}

#[test]
fn the_digest_of_a_registered_type_tells_its_elements_apart() {
    let store = Store::memory(&Context::default());
    for (memory, values) in ROWS {
        let [_, spec] = specs("digest", *memory, &[6]);
        let array = Array::create(&store, "", &spec, Create::Overwrite).unwrap();
        let of = |values: &[f64; 6]| {
            write(&array, values);
            digest(&array, Selection::all(&[6]), &|_| Ok(())).unwrap()
        };
        let first = of(values);
        // Another number with the same whole part, where there is one.
        let other = if memory.kind() == Kind::Float { 1.75 } else { 1.0 - values[0].min(1.0) };
        assert_ne!(of(&[other, values[1], values[2], values[3], values[4], values[5]]), first, "{memory:?}");
        assert_eq!(of(values), first, "{memory:?}");
    }
}

#[test]
fn fill_and_missing_values_of_a_registered_type_stay_in_another_one() {
    for (memory, values) in ROWS.iter().filter(|(memory, _)| *memory != DataType::Bool) {
        // A type that stays keeps its attributes as they are.
        let others = [DataType::Float64, DataType::Float32, DataType::Int64, DataType::Int16, DataType::Int8];
        for to in others.into_iter().filter(|to| to != memory) {
            let made = specs("fill", *memory, &[6]).map(|mut spec| {
                spec.set_attributes_json(&format!(r#"{{"_FillValue":{}}}"#, values[2])).unwrap();
                spec.set_fill(DataType::Float64, &values[1].to_ne_bytes()).unwrap();
                let store = Store::memory(&Context::default());
                let array = Array::create(&store, "", &spec, Create::New).unwrap();
                let mut copy = array.spec(Some(Format::V3)).unwrap();
                copy.set_data_type(to).unwrap();
                copy.to_json().unwrap()
            });
            assert_eq!(made[1], made[0], "{memory:?} to {to:?}");
        }
    }
}

#[test]
fn a_series_goes_by_the_values_of_a_registered_type() {
    for (memory, values) in [
        (DataType::Float64, [0.25, 0.5, 0.75]),
        (DataType::Float32, [-0.5, 0.25, 1.75]),
        (DataType::Int32, [-2.0, 0.0, 1.0]),
        (DataType::UInt8, [0.0, 1.0, 200.0]),
    ] {
        let [_, mut spec] = specs("series", memory, &[0]);
        spec.set_chunks(&[4]).unwrap();
        spec.set_dimension_names(vec![Some("t".into())]).unwrap();
        let store = Store::memory(&Context::default());
        let group = Group::create(&store, "", Some(Format::V3), Create::New).unwrap();
        Array::create(&store, "t", &spec, Create::New).unwrap();
        let mut series = Series::open(&Dataset::open(group).unwrap(), "t", None, 1, 0).unwrap();
        values.iter().for_each(|value| series.step(*value).unwrap_or_else(|e| panic!("{memory:?} {value}: {e}")));
        assert!(series.step(values[0]).is_err(), "{memory:?}");
    }
}
