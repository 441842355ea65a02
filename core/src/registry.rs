//! What a program registers under names: found by any thread, and alive until it is unregistered (or replaced) and its last user is
//! gone.

use crate::error::{Result, bail};
use crate::fork::ForkPreserved;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A name, and what it is a name in ("v2", "v3"; empty where there is one kind of names only).
type Name = (&'static str, String);

/// Things under names.
pub struct Registry<T: ?Sized> {
    all: ForkPreserved<Vec<(Name, Arc<T>)>>,
    /// How many there are, so that looking in vain costs nothing.
    count: AtomicUsize,
}

impl<T: ?Sized> Default for Registry<T> {
    fn default() -> Registry<T> {
        Registry { all: ForkPreserved::default(), count: AtomicUsize::new(0) }
    }
}

impl<T: ?Sized> Registry<T> {
    /// Puts a thing under names. One that is taken, here or (`is_built_in`) in the library, is an error of kind `Exists` unless it
    /// shall be replaced. What was there is given back, to be dropped by the caller.
    pub fn add(
        &self,
        names: &[(&'static str, &str)],
        thing: Arc<T>,
        is_built_in: impl Fn(&str, &str) -> bool,
        replace: bool,
    ) -> Result<Vec<Arc<T>>> {
        check_names(names)?;
        if !replace {
            self.check_free(names, is_built_in)?;
        }
        let owned: Vec<Name> = names.iter().map(|(space, name)| (*space, name.to_string())).collect();
        self.all.write(|all| {
            let taken = |wanted: &&Name| !replace && all.iter().any(|(name, _)| name == *wanted);
            if let Some((_, name)) = owned.iter().find(taken) {
                bail!(Exists, "{name:?} is registered already; the flag OZARR_REGISTER_REPLACE replaces it");
            }
            let mut old = Vec::new();
            for name in owned {
                match all.iter_mut().find(|(other, _)| *other == name) {
                    Some((_, there)) => old.push(std::mem::replace(there, thing.clone())),
                    None => all.push((name, thing.clone())),
                }
            }
            self.count.store(all.len(), Ordering::Release);
            Ok(old)
        })
    }

    /// An error of kind `Exists` where a name is taken now.
    pub fn check_free(&self, names: &[(&'static str, &str)], is_built_in: impl Fn(&str, &str) -> bool) -> Result<()> {
        let built_in = names.iter().find(|(space, name)| self.find(space, name).is_none() && is_built_in(space, name));
        if let Some((_, name)) = built_in {
            bail!(Exists, "{name:?} is built in; the flag OZARR_REGISTER_REPLACE replaces it");
        }
        match names.iter().find(|(space, name)| self.find(space, name).is_some()) {
            Some((_, name)) => bail!(Exists, "{name:?} is registered already; the flag OZARR_REGISTER_REPLACE replaces it"),
            None => Ok(()),
        }
    }

    /// Takes away what is under a name, there and under its other names.
    pub fn remove(&self, space: &'static str, name: &str) -> Option<Arc<T>> {
        self.all.write(|all| {
            let gone = under(all, space, name)?.clone();
            all.retain(|(_, other)| !Arc::ptr_eq(other, &gone));
            self.count.store(all.len(), Ordering::Release);
            Some(gone)
        })
    }

    /// What is under a name.
    pub fn find(&self, space: &'static str, name: &str) -> Option<Arc<T>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.all.read(|all| under(all, space, name).cloned())
    }
}

/// What is under a name. Programs register a few things.
fn under<'a, T: ?Sized>(all: &'a [(Name, Arc<T>)], space: &str, name: &str) -> Option<&'a Arc<T>> {
    all.iter().find(|((there, known), _)| *there == space && known == name).map(|(_, thing)| thing)
}

fn check_names(names: &[(&str, &str)]) -> Result<()> {
    if names.is_empty() {
        bail!(Argument, "no name is given to register");
    }
    match names.iter().map(|(_, name)| *name).find(|name| name.is_empty() || name.len() > 255 || name.chars().any(char::is_control)) {
        Some(name) => bail!(Name, "found the name {name:?}, expected 1 to 255 bytes without control characters"),
        None => Ok(()),
    }
}

/// A name that lives for ever; equal names share the memory.
pub fn intern(name: &str) -> &'static str {
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let _no_fork = crate::fork::hold();
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    match names.binary_search(&name) {
        Ok(at) => names[at],
        Err(at) => {
            let kept: &'static str = Box::leak(name.to_string().into_boxed_str());
            names.insert(at, kept);
            kept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn names_are_taken_once_unless_they_are_replaced() {
        let all = Registry::<u8>::default();
        assert!(all.find("", "a").is_none());
        let built_in = |_: &str, name: &str| name == "zstd";
        let named = |names: &[&'static str]| names.iter().map(|n| ("", *n)).collect::<Vec<_>>();
        let kind = |names: &[&'static str], replace| all.add(&named(names), Arc::new(9), built_in, replace).err().map(|e| e.kind());
        assert!(all.add(&named(&["a", "b"]), Arc::new(1), built_in, false).unwrap().is_empty());
        assert_eq!(kind(&["c", "b"], false), Some(ErrorKind::Exists));
        assert!(all.find("", "c").is_none(), "all names or none");
        assert_eq!(kind(&["zstd"], false), Some(ErrorKind::Exists));
        assert_eq!(
            (kind(&[], false), kind(&[""], false), kind(&["a\n"], true)),
            (Some(ErrorKind::Argument), Some(ErrorKind::Name), Some(ErrorKind::Name))
        );
        let first = all.find("", "a").unwrap();
        assert_eq!(*all.add(&named(&["b", "zstd"]), Arc::new(2), built_in, true).unwrap()[0], 1);
        assert_eq!((*first, *all.find("", "a").unwrap(), *all.find("", "b").unwrap()), (1, 1, 2));
        drop(all.remove("", "b"));
        assert!(all.find("", "zstd").is_none() && all.find("", "a").is_some());
        drop((all.remove("", "a"), all.remove("", "a")));
        assert_eq!(Arc::strong_count(&first), 1);
        assert!(std::ptr::eq(intern("n"), intern(&String::from("n"))));
    }
}
