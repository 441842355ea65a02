//! How a program registers a data type, and takes it back.

use super::data_type::DataType;
use super::element::MAX_LENGTH;
use super::registered::{CallsRef, RegisteredType, TYPES, TypeCalls, TypeEntry, V2, V3};
use super::{parse_v2, parse_v3};
use crate::error::{Result, bail};
use crate::fork::{ForkPreserved, Lazy};
use crate::json::Value;
use crate::registry::intern;
use std::sync::Arc;

/// What a program says of its type.
#[derive(Clone, Debug)]
pub struct Description<'a> {
    /// The name in v3.
    pub v3: Option<&'a str>,
    /// The name in v2.
    pub v2: Option<&'a str>,
    /// Bytes of an element in the file.
    pub size: usize,
    /// Whether these bytes have an order, which `bytes` turns.
    pub ordered: bool,
    /// The type in memory, if there are functions that convert.
    pub memory: Option<DataType>,
    /// Whether there are functions for fill values; else they are those of the type in memory.
    pub fills: bool,
}

/// All that were ever registered.
static RECORDS: Lazy<ForkPreserved<Vec<&'static RegisteredType>>> = Lazy::new(ForkPreserved::default);

/// Registers a type. `is_built_in` tells of a name in v3 (else in v2) whether the library has a type of that name.
pub fn register(what: &Description<'_>, calls: Arc<dyn TypeCalls>, replace: bool) -> Result<()> {
    let carrier = match (what.size, what.ordered) {
        (0, _) => bail!(Argument, "the element's size is 0"),
        (n, _) if n > MAX_LENGTH as usize => bail!(Limit, "an element of {n} bytes exceeds the limit of {}", MAX_LENGTH),
        (2, true) => DataType::UInt16,
        (4, true) => DataType::UInt32,
        (8, true) => DataType::UInt64,
        (n, true) => bail!(Argument, "bytes that have an order make 2, 4 or 8 bytes an element, found {n}"),
        (n, false) => DataType::Raw(n as u32),
    };
    if what.memory.is_some_and(|memory| !memory.is_number() || memory.code().is_none()) {
        bail!(Argument, "the type in memory is not that of a number");
    }
    let names: Vec<(&'static str, &str)> = what.v3.map(|n| (V3, n)).into_iter().chain(what.v2.map(|n| (V2, n))).collect();
    let is_built_in = |space: &str, name: &str| {
        let value = Value::from(name);
        if space == V3 { parse_v3::parse(&value).is_ok() } else { parse_v2::parse(&value).is_ok() }
    };
    if !replace {
        // Before anything is made that stays for ever.
        TYPES.get().check_free(&names, is_built_in)?;
    }
    let record: &'static RegisteredType = Box::leak(Box::new(RegisteredType {
        v3: what.v3.map(intern),
        v2: what.v2.map(intern),
        carrier,
        memory: what.memory.unwrap_or(carrier),
        converts: what.memory.is_some(),
        fills: what.fills,
        calls: CallsRef(Arc::downgrade(&calls)),
    }));
    RECORDS.get().write(|all| all.push(record));
    TYPES.get().add(&names, Arc::new(TypeEntry { record, _calls: calls }), is_built_in, replace).map(drop)
}

/// Forgets the type of that name. False if no type has it.
pub fn unregister(name: &str) -> bool {
    let gone = TYPES.get().remove(V3, name);
    gone.or_else(|| TYPES.get().remove(V2, name)).is_some()
}

/// The functions of a test: the same bytes in the file as in memory, and a fill value that is a number.
#[cfg(any(test, feature = "faults"))]
pub struct SameBytes;

#[cfg(any(test, feature = "faults"))]
impl TypeCalls for SameBytes {
    fn any_thread(&self) -> bool {
        true
    }
    fn encode(&self, memory: &[u8], file: &mut [u8]) -> Result<()> {
        file.copy_from_slice(memory);
        Ok(())
    }
    fn decode(&self, file: &[u8], memory: &mut [u8]) -> Result<()> {
        memory.copy_from_slice(file);
        Ok(())
    }
    fn fill_from_json(&self, json: &str, element: &mut [u8]) -> Result<()> {
        element[0] = json.parse().map_err(|_| crate::error::err!(Metadata, "no number"))?;
        Ok(())
    }
    fn fill_to_json(&self, element: &[u8]) -> Result<String> {
        Ok(element[0].to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::fill::Fill;
    use crate::error::ErrorKind;
    use crate::json::json;

    fn description(name: &'static str) -> Description<'static> {
        Description { v3: Some(name), v2: Some(name), size: 3, ordered: false, memory: None, fills: true }
    }

    #[test]
    fn a_registered_type_is_read_and_written_by_its_names() {
        register(&description("test.three"), Arc::new(SameBytes), false).unwrap();
        let three = parse_v3::parse(&json!("test.three")).unwrap();
        assert_eq!(parse_v2::parse(&json!("test.three")).unwrap().data_type, three);
        assert_eq!((parse_v3::to_json(three), parse_v2::to_json(three.into())), (json!("test.three"), json!("test.three")));
        assert_eq!((three.size(), three.in_memory(), three.has_order()), (3, DataType::Raw(3), false));
        let fill = Fill::from_json_v3(three, &json!(7)).unwrap();
        assert_eq!(
            (fill.element(three).as_slice(), fill.to_json_v3(three).unwrap(), fill.to_json_v2(three).unwrap()),
            (&[7u8, 0, 0][..], json!(7), json!(7))
        );
        assert!(Fill::from_json_v3(three, &json!("x")).is_err());
        assert!(!Fill::from_json_v2(three, &json!(null)).unwrap().defined);
        for record in [json!([["a", "test.three"]]), json!([["a", "<i4"], ["b", "test.three"]])] {
            assert_eq!(parse_v2::parse(&record).unwrap_err().kind(), ErrorKind::Unsupported, "{record}");
        }
        let again = register(&description("test.three"), Arc::new(SameBytes), false);
        assert_eq!(again.unwrap_err().kind(), ErrorKind::Exists);
        register(&Description { size: 2, ordered: true, ..description("test.three") }, Arc::new(SameBytes), true).unwrap();
        let two = parse_v3::parse(&json!({"name": "test.three", "configuration": {}})).unwrap();
        assert!(two != three && two.in_memory() == DataType::UInt16 && two.has_order());
        assert!(parse_v3::parse(&json!({"name": "test.three", "configuration": {"a": 1}})).is_err());
        assert!(Fill::from_json_v3(three, &json!(7)).is_err(), "its functions are gone");
        assert!(unregister("test.three") && !unregister("test.three"));
        assert_eq!(parse_v3::parse(&json!("test.three")).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn built_in_names_are_replaced_if_that_is_asked_for() {
        let int4 = Description { size: 1, memory: Some(DataType::Int8), fills: false, ..description("uint2") };
        assert_eq!(register(&int4, Arc::new(SameBytes), false).unwrap_err().kind(), ErrorKind::Exists);
        for bad in [
            Description { size: 0, ..description("test.bad") },
            Description { size: 3, ordered: true, ..description("test.bad") },
            Description { memory: Some(DataType::Raw(3)), ..description("test.bad") },
            Description { v2: None, v3: None, ..description("test.bad") },
        ] {
            assert_eq!(register(&bad, Arc::new(SameBytes), false).unwrap_err().kind(), ErrorKind::Argument, "{bad:?}");
        }
    }
}
