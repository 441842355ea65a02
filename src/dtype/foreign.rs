//! Data types that a program has registered, under a name in v3, one in v2, or both.
//!
//! An element has a fixed size in the file. In memory it is an element of a type that the library knows: of the one that the program's
//! functions convert from and to, or, without them, raw bits, or (where bytes have an order) an unsigned integer of its size. The
//! engine deals with that type only; the conversion is the first codec of the chain.

use super::fill::Fill;
use super::{DataType, Element};
use crate::error::{Result, bail, err};
use crate::fork::{ForkPreserved, Lazy};
use crate::json;
use crate::json::Value;
use crate::registry::{Registry, intern};
use std::sync::{Arc, Weak};

/// The functions of a program's type. Each is there if [`Description`] says so.
pub trait Calls: Send + Sync {
    /// Whether any thread may call them.
    fn any_thread(&self) -> bool;
    /// From elements in memory to elements of the file, both in this host's byte order.
    fn encode(&self, memory: &[u8], file: &mut [u8]) -> Result<()>;
    /// The reverse.
    fn decode(&self, file: &[u8], memory: &mut [u8]) -> Result<()>;
    /// Reads the JSON of a fill value into an element in memory.
    fn fill_from_json(&self, json: &str, element: &mut [u8]) -> Result<()>;
    /// The reverse.
    fn fill_to_json(&self, element: &[u8]) -> Result<String>;
}

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

/// A registered type: kept for ever, so that a [`DataType`] stays a value. The functions are kept by the registration and by
/// the chains of open arrays.
#[derive(Debug)]
pub struct Foreign {
    v3: Option<&'static str>,
    v2: Option<&'static str>,
    carrier: DataType,
    memory: DataType,
    converts: bool,
    fills: bool,
    calls: CallsRef,
}

struct CallsRef(Weak<dyn Calls>);

impl std::fmt::Debug for CallsRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Foreign) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Foreign {}

impl std::hash::Hash for Foreign {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}

/// What the registry keeps alive.
struct Entry {
    record: &'static Foreign,
    _calls: Arc<dyn Calls>,
}

static TYPES: Lazy<Registry<Entry>> = Lazy::new(Registry::default);

/// All that were ever registered.
static RECORDS: Lazy<ForkPreserved<Vec<&'static Foreign>>> = Lazy::new(ForkPreserved::default);

/// The registry's names of the two formats.
const V2: &str = "v2";
const V3: &str = "v3";

/// Registers a type. `is_built_in` tells of a name in v3 (else in v2) whether the library has a type of that name.
pub fn register(what: &Description<'_>, calls: Arc<dyn Calls>, replace: bool) -> Result<()> {
    let carrier = match (what.size, what.ordered) {
        (0, _) => bail!(Argument, "the element's size is 0"),
        (n, _) if n > super::MAX_LENGTH as usize => bail!(Limit, "an element of {n} bytes exceeds the limit of {}", super::MAX_LENGTH),
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
        if space == V3 { super::parse_v3::parse(&value).is_ok() } else { super::parse_v2::parse(&value).is_ok() }
    };
    if !replace {
        // Before anything is made that stays for ever.
        TYPES.get().check_free(&names, is_built_in)?;
    }
    let record: &'static Foreign = Box::leak(Box::new(Foreign {
        v3: what.v3.map(intern),
        v2: what.v2.map(intern),
        carrier,
        memory: what.memory.unwrap_or(carrier),
        converts: what.memory.is_some(),
        fills: what.fills,
        calls: CallsRef(Arc::downgrade(&calls)),
    }));
    RECORDS.get().write(|all| all.push(record));
    TYPES.get().add(&names, Arc::new(Entry { record, _calls: calls }), is_built_in, replace).map(drop)
}

/// Forgets the type of that name. False if there is none.
pub fn unregister(name: &str) -> bool {
    let gone = TYPES.get().remove(V3, name);
    gone.or_else(|| TYPES.get().remove(V2, name)).is_some()
}

fn find(space: &'static str, name: &str) -> Option<DataType> {
    TYPES.get().find(space, name).map(|entry| DataType::Foreign(entry.record))
}

/// The registered type of a v3 name.
pub(super) fn find_v3(name: &str) -> Option<DataType> {
    find(V3, name)
}

/// The registered type of a v2 name.
pub(super) fn find_v2(name: &str) -> Option<DataType> {
    find(V2, name)
}

/// The registered type of a name, in v3 or else in v2.
pub fn find_any(name: &str) -> Option<DataType> {
    find_v3(name).or_else(|| find_v2(name))
}

impl Foreign {
    /// The name: that of v3 where there is one.
    pub fn name(&self) -> &'static str {
        self.v3.or(self.v2).unwrap_or("")
    }

    /// The name in v3.
    pub fn name_v3(&self) -> Option<&'static str> {
        self.v3
    }

    /// The name in v2.
    pub fn name_v2(&self) -> Option<&'static str> {
        self.v2
    }

    /// What it is in the file: raw bits, or an unsigned integer where its bytes have an order.
    pub fn carrier(&self) -> DataType {
        self.carrier
    }

    /// What it is in memory.
    pub fn memory(&self) -> DataType {
        self.memory
    }

    /// Whether the program converts between the two.
    pub fn converts(&self) -> bool {
        self.converts
    }

    /// The program's functions.
    pub fn calls(&self) -> Result<Arc<dyn Calls>> {
        self.calls.0.upgrade().ok_or_else(|| err!(Unsupported, "the data type {:?} is registered no more", self.name()))
    }

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
            return Ok(fill.to_json_v3(self.memory));
        }
        let text = self.calls()?.fill_to_json(&fill.element(self.memory))?;
        json::parse_text(&text).map_err(|e| err!(Callback, "the fill value of {:?} became {text:?}: {}", self.name(), e.message()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::{parse_v2, parse_v3};
    use crate::error::ErrorKind;
    use crate::json::json;

    /// Raw bits with a fill value as a number.
    struct Plain;

    impl Calls for Plain {
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
            element[0] = json.parse().map_err(|_| err!(Metadata, "no number"))?;
            Ok(())
        }
        fn fill_to_json(&self, element: &[u8]) -> Result<String> {
            Ok(element[0].to_string())
        }
    }

    fn description(name: &'static str) -> Description<'static> {
        Description { v3: Some(name), v2: Some(name), size: 3, ordered: false, memory: None, fills: true }
    }

    #[test]
    fn a_registered_type_is_read_and_written_by_its_names() {
        register(&description("test.three"), Arc::new(Plain), false).unwrap();
        let three = parse_v3::parse(&json!("test.three")).unwrap();
        assert_eq!(parse_v2::parse(&json!("test.three")).unwrap().data_type, three);
        assert_eq!((parse_v3::to_json(three), parse_v2::to_json(three.into())), (json!("test.three"), json!("test.three")));
        assert_eq!((three.size(), three.in_memory(), three.has_order()), (3, DataType::Raw(3), false));
        let fill = Fill::from_json_v3(three, &json!(7)).unwrap();
        assert_eq!(
            (fill.element(three).as_slice(), fill.to_json_v3(three), fill.to_json_v2(three)),
            (&[7u8, 0, 0][..], json!(7), json!(7))
        );
        assert!(Fill::from_json_v3(three, &json!("x")).is_err());
        assert!(!Fill::from_json_v2(three, &json!(null)).unwrap().defined);
        for record in [json!([["a", "test.three"]]), json!([["a", "<i4"], ["b", "test.three"]])] {
            assert_eq!(parse_v2::parse(&record).unwrap_err().kind(), ErrorKind::Unsupported, "{record}");
        }
        let again = register(&description("test.three"), Arc::new(Plain), false);
        assert_eq!(again.unwrap_err().kind(), ErrorKind::Exists);
        register(&Description { size: 2, ordered: true, ..description("test.three") }, Arc::new(Plain), true).unwrap();
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
        assert_eq!(register(&int4, Arc::new(Plain), false).unwrap_err().kind(), ErrorKind::Exists);
        for bad in [
            Description { size: 0, ..description("test.bad") },
            Description { size: 3, ordered: true, ..description("test.bad") },
            Description { memory: Some(DataType::Raw(3)), ..description("test.bad") },
            Description { v2: None, v3: None, ..description("test.bad") },
        ] {
            assert_eq!(register(&bad, Arc::new(Plain), false).unwrap_err().kind(), ErrorKind::Argument, "{bad:?}");
        }
    }
}
