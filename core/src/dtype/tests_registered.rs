//! Registered types: as numbers they are those of the type that they are in memory.

use super::coding::{Coding, Rule, of_other_sign};
use super::registration::{Description, SameBytes, register};
use super::transfer::Transfer;
use super::{ByteOrder, DataType, ElementType, Kind, Overflow, Real, Run, parse_v3};
use crate::error::Result;
use crate::json::json;
use std::sync::Arc;

/// Each number that has a value in the header, and a registered type that is it in memory.
fn types(test: &str) -> Vec<(DataType, DataType)> {
    let make = |&memory: &DataType| {
        let name = format!("{test}.{}", memory.name());
        let what = Description { v3: Some(&name), v2: None, size: memory.size(), ordered: false, memory: Some(memory), fills: false };
        register(&what, Arc::new(SameBytes), true).unwrap();
        (memory, parse_v3::parse(&json!(name)).unwrap())
    };
    DataType::ALL.iter().map(make).collect()
}

/// What a transfer makes of some bytes, whether they fit, and why not.
fn made(transfer: Result<Transfer>, element: &[u8]) -> String {
    let Ok(transfer) = transfer else { return "no such conversion".into() };
    let mut out = vec![0xa5; transfer.to().size()];
    // SAFETY: one element on both sides.
    let (done, why) = unsafe {
        let done = transfer.run(Run::one(element.as_ptr(), out.as_mut_ptr()));
        (done, if done.is_err() { transfer.explain(element.as_ptr()) } else { String::new() })
    };
    if done.is_ok() { format!("{out:?}") } else { why }
}

#[test]
fn a_registered_type_converts_as_the_type_that_it_is_in_memory() {
    let types = types("test.converts");
    for &(memory, registered) in &types {
        assert_eq!((registered.bits(), registered.part()), (memory.bits(), memory.part()), "{memory:?}");
        assert_eq!(of_other_sign(registered), of_other_sign(memory), "{memory:?}");
        for value in [0.0, 1.0, -1.0, 1.5, -99.0, 200.0, 70_000.0, f64::NAN] {
            let [mut element, mut same] = [[0; 16]; 2];
            let fits = Real::Float(value).store(memory, Overflow::Saturate, &mut element);
            assert_eq!(Real::Float(value).store(registered, Overflow::Saturate, &mut same), fits, "{memory:?} {value}");
            assert_eq!(same, element, "{memory:?} {value}");
            let loaded = [registered, memory].map(|t| format!("{:?}", Real::load(t, &element)));
            assert_eq!(loaded[0], loaded[1], "{memory:?} {value}");
            let limits = [registered, memory].map(|t| Real::Float(value).limit_text(t));
            assert_eq!(limits[0], limits[1], "{memory:?} {value}");
            for &(other, other_registered) in &types {
                for order in [ByteOrder::Little, ByteOrder::Big] {
                    let made = |from, to| made(Transfer::new(ElementType::new(from, order), ElementType::native(to)), &element);
                    let want = made(memory, other);
                    assert_eq!(made(registered, other), want, "{memory:?} {value} to {other:?}");
                    assert_eq!(made(memory, other_registered), want, "{memory:?} {value} to {other:?}");
                    assert_eq!(made(registered, other_registered), want, "{memory:?} {value} to {other:?}");
                }
            }
        }
    }
}

#[test]
fn a_registered_type_is_decoded_as_the_type_that_it_is_in_memory() {
    let wide = ElementType::native(DataType::Float64);
    let packed = |t: DataType| t.kind() != Kind::Complex;
    for (memory, registered) in types("test.decoded").into_iter().filter(|(memory, _)| packed(*memory)) {
        let mut missing = [0; 16];
        assert!(Real::Int(1).store(memory, Overflow::Error, &mut missing), "{memory:?}");
        for other_sign in [false, true] {
            let rule = Rule::Scale { scale: 0.5, offset: 10.0 };
            let coding = Coding { missing: vec![missing[..memory.size()].into()], other_sign, rule };
            for value in [2.0, 1.0, -1.0, 200.0] {
                let mut element = [0; 16];
                Real::Float(value).store(memory, Overflow::Saturate, &mut element);
                let decoded = |t| made(Transfer::decoding(ElementType::native(t), wide, &coding, Overflow::Error), &element);
                assert_eq!(decoded(registered), decoded(memory), "{memory:?} {value}");
                let bytes = (value * 0.5 + 10.0).to_ne_bytes();
                let encoded = |t| made(Transfer::encoding(wide, ElementType::native(t), &coding, Overflow::Error), &bytes);
                assert_eq!(encoded(registered), encoded(memory), "{memory:?} {value}");
            }
        }
    }
}
