//! Data types that a program has registered, under a name in v3, one in v2, or both.
//!
//! An element has a fixed size in the file. In memory it is an element of a type that the library knows: of the one that the program's
//! functions convert from and to, or, without them, raw bits, or (where bytes have an order) an unsigned integer of its size. The
//! engine deals with that type only; the conversion is the first codec of the chain.

use super::data_type::DataType;
use crate::error::{Result, err};
use crate::fork::Lazy;
use crate::registry::Registry;
use std::sync::{Arc, Weak};

/// The functions of a program's type. Each is there if the [`Description`](super::registration::Description) says so.
pub trait TypeCalls: Send + Sync {
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

/// A registered type: kept for ever, so that a [`DataType`] stays a value. The functions are kept by the registration and by
/// the chains of open arrays.
#[derive(Debug)]
pub struct RegisteredType {
    pub(super) v3: Option<&'static str>,
    pub(super) v2: Option<&'static str>,
    pub(super) carrier: DataType,
    pub(super) memory: DataType,
    pub(super) converts: bool,
    pub(super) fills: bool,
    pub(super) calls: CallsRef,
}

pub(super) struct CallsRef(pub(super) Weak<dyn TypeCalls>);

impl std::fmt::Debug for CallsRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

impl PartialEq for RegisteredType {
    fn eq(&self, other: &RegisteredType) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for RegisteredType {}

impl std::hash::Hash for RegisteredType {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}

/// What the registry keeps alive.
pub(super) struct TypeEntry {
    pub(super) record: &'static RegisteredType,
    pub(super) _calls: Arc<dyn TypeCalls>,
}

pub(super) static TYPES: Lazy<Registry<TypeEntry>> = Lazy::new(Registry::default);

/// The registry's names of the two formats.
pub(super) const V2: &str = "v2";
pub(super) const V3: &str = "v3";

fn find(space: &'static str, name: &str) -> Option<DataType> {
    TYPES.get().find(space, name).map(|entry| DataType::Registered(entry.record))
}

/// The registered type of a v3 name.
pub(super) fn find_v3(name: &str) -> Option<DataType> {
    find(V3, name)
}

/// The registered type of a v2 name.
pub(super) fn find_v2(name: &str) -> Option<DataType> {
    find(V2, name)
}

impl RegisteredType {
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
    pub fn calls(&self) -> Result<Arc<dyn TypeCalls>> {
        self.calls.0.upgrade().ok_or_else(|| err!(Unsupported, "the data type {:?} is registered no more", self.name()))
    }
}
