//! Chunk-key encodings that a program has registered.

use crate::error::{Result, bail, err};
use crate::fork::{ForkPreserved, Lazy};
use crate::limits::{Dims, MAX_KEY};
use crate::registry::{Registry, intern};
use std::sync::{Arc, Weak};

/// The functions of an encoding. `configuration` is an object of JSON.
pub trait KeyCalls: Send + Sync {
    /// Whether any thread may call them.
    fn any_thread(&self) -> bool;
    /// Whether the program understands a configuration.
    fn check(&self, configuration: &str) -> Result<()>;
    /// The end of the key of a chunk, behind the array's prefix.
    fn encode(&self, configuration: &str, index: &[u64]) -> Result<String>;
    /// Returns the index of the chunk whose key ends in `tail`, or `None` if no chunk's key does.
    fn decode(&self, configuration: &str, tail: &str, rank: usize) -> Result<Option<Dims>>;
}

/// A registered encoding with a configuration: kept for ever, so that a [`KeyEncoding`](super::key::KeyEncoding) stays a value. Its
/// functions are kept by the registration and by open arrays.
pub struct RegisteredKeys {
    name: &'static str,
    configuration: &'static str,
    calls: Weak<dyn KeyCalls>,
}

impl std::fmt::Debug for RegisteredKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.name, self.configuration)
    }
}

impl PartialEq for RegisteredKeys {
    fn eq(&self, other: &RegisteredKeys) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for RegisteredKeys {}

/// The registered encodings.
static ENCODINGS: Lazy<Registry<Arc<dyn KeyCalls>>> = Lazy::new(Registry::default);

/// Those that were ever used.
static USED: Lazy<ForkPreserved<Vec<&'static RegisteredKeys>>> = Lazy::new(ForkPreserved::default);

/// Registers an encoding.
pub fn register(name: &str, calls: Arc<dyn KeyCalls>, replace: bool) -> Result<()> {
    if matches!(name, "default" | "v2" | "zarrs.default_suffix") {
        bail!(Exists, "the chunk key encoding {name:?} is built in and cannot be replaced");
    }
    ENCODINGS.get().add(&[("", name)], Arc::new(calls), |_, _| false, replace).map(drop)
}

/// Unregisters the encoding `name`. Arrays that are open keep it. Returns false if no encoding has that name.
pub fn unregister(name: &str) -> bool {
    ENCODINGS.get().remove("", name).is_some()
}

/// The encoding of that name with that configuration, which the program checks; `None` if none is registered.
pub fn find(name: &str, configuration: impl FnOnce() -> String) -> Result<Option<&'static RegisteredKeys>> {
    let Some(calls) = ENCODINGS.get().find("", name) else { return Ok(None) };
    let configuration = configuration();
    calls.check(&configuration)?;
    let weak = Arc::downgrade(&*calls);
    let (name, configuration) = (intern(name), intern(&configuration));
    let same = |own: &RegisteredKeys| own.name == name && own.configuration == configuration && Weak::ptr_eq(&own.calls, &weak);
    let used = USED.get();
    if let Some(known) = used.read(|all| all.iter().find(|own| same(own)).copied()) {
        return Ok(Some(known));
    }
    let fresh: &'static RegisteredKeys = Box::leak(Box::new(RegisteredKeys { name, configuration, calls: weak }));
    used.write(|all| all.push(fresh));
    Ok(Some(fresh))
}

impl RegisteredKeys {
    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The configuration as JSON.
    pub fn configuration(&self) -> &'static str {
        self.configuration
    }

    /// The program's functions.
    pub fn calls(&self) -> Result<Arc<dyn KeyCalls>> {
        self.calls.upgrade().ok_or_else(|| err!(Unsupported, "the chunk key encoding {:?} is registered no more", self.name))
    }

    /// Appends the key of a chunk.
    pub(super) fn push(&self, index: &[u64], key: &mut String) -> Result<()> {
        let tail = self.calls()?.encode(self.configuration, index)?;
        if tail.len() >= MAX_KEY || tail == "zarr.json" {
            bail!(Callback, "`encode` of the chunk key encoding {:?} gave {tail:?}", self.name);
        }
        key.push_str(&tail);
        Ok(())
    }

    /// Returns the index of the chunk whose key ends in `tail`, or `None` if no chunk's key does.
    pub(super) fn parse(&self, tail: &str, rank: usize) -> Result<Option<Dims>> {
        if tail == "zarr.json" {
            return Ok(None);
        }
        let Some(index) = self.calls()?.decode(self.configuration, tail, rank)? else { return Ok(None) };
        // One key for one chunk: what would be written elsewhere is not read from here.
        let mut again = String::new();
        self.push(&index, &mut again)?;
        Ok((again == tail).then_some(index))
    }
}
