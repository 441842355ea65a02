//! Calls of several features at one hierarchy: what one has made, kept or noted, another finds, replaces or tells.

use super::tests::{memory, object, put, read_all, spec, spec_v2, write_all};
use super::tests_checkpoint::{fill, make, names, newest};
use super::tests_growth::Folder;
use super::tests_store::{Next, Told};
use super::*;
use crate::error::{ErrorKind, Result, err};
use crate::store::memory::MemoryStore;
use crate::store::{SharedStore, Storage};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn open(shared: SharedStore, options: Options) -> Store {
    Store::new(&Context::with_threads(1), shared, Mode::ReadWrite, options)
}

#[test]
fn a_checkpoint_is_begun_where_nothing_of_others_is() {
    for format in [Format::V2, Format::V3] {
        let store = memory();
        Group::create(&store, "", Some(format), Create::New).unwrap();
        let all = Checkpoints::new(&store, "").unwrap();
        make(&all, "t", 1).unwrap();
        make(&all, "t.3", 2).unwrap();
        // Its place would be that of the second one.
        let begun = all.begin("t").unwrap();
        assert_eq!((newest(&store, ""), names(&all)), (2, ["t", "t.3"].map(String::from).to_vec()), "{format:?}");
        fill(&begun, 3).unwrap();
        begun.commit().unwrap();
        assert_eq!(newest(&store, ""), 3);
        // So are an array and a group, and files that are of no node.
        let mut array = spec(&[2], &[2]);
        array.set_format(format).unwrap();
        write_all(&Array::create(&store, "t.5", &array, Create::New).unwrap(), &mut [7, 8]);
        Group::create(&store, "t.6", None, Create::New).unwrap();
        put(&store, "output/table.csv", "1,2");
        for name in ["t", "output", "output"] {
            make(&all, name, 4).unwrap();
        }
        assert_eq!(read_all(&Array::open(&store, "t.5").unwrap()), [7, 8]);
        assert_eq!((store.node_kind("t.6").unwrap(), store.key_get("output/table.csv").unwrap()), (NodeKind::Group, Some(b"1,2".to_vec())));
        assert_eq!(newest(&store, ""), 4);
    }
}

/// A store that another name is given to.
struct Named(&'static str, SharedStore);

impl Storage for Named {
    fn capabilities(&self) -> crate::store::Capabilities {
        self.1.capabilities()
    }

    fn open(&self, key: &str) -> Result<Option<crate::store::Object>> {
        self.1.open(key)
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: crate::store::Condition) -> Result<()> {
        self.1.put(key, parts, condition)
    }

    fn erase_keys(&self, keys: crate::store::Keys<'_>) -> Result<bool> {
        self.1.erase_keys(keys)
    }

    fn list_keys(&self, prefix: &str, into: crate::store::ListInto<'_>) -> Result<()> {
        self.1.list_keys(prefix, into)
    }

    fn flush(&self) -> Result<()> {
        self.1.flush()
    }

    fn describe(&self) -> String {
        self.0.to_string()
    }
}

#[test]
fn a_copy_over_its_own_source_is_refused_whichever_handles_name_it() {
    let shared: SharedStore = Arc::new(MemoryStore::new());
    let memory: SharedStore = Arc::new(Told { inner: shared.clone(), tell: |_: Next<'_>| Ok(()) });
    let server = |host: &str| {
        let named: SharedStore = Arc::new(Named("s3://bucket/run.zarr", shared.clone()));
        open(named, Options { server: vec![host.to_string()], ..Options::default() })
    };
    let pairs = [(open(shared.clone(), Options::default()), open(memory, Options::default())), (server("a"), server("a"))];
    write_all(&Array::create(&pairs[0].0, "g/a", &spec(&[4], &[2]), Create::New).unwrap(), &mut [1, 2, 3, 4]);
    let options = RechunkOptions { format: None, memory: 0, link: false, how: Create::Overwrite, overflow: crate::dtype::Overflow::Error };
    for (from, to) in &pairs {
        for (path, to_path, what) in [("g/a", "g/a", "is the same as"), ("g/a", "g", "holds"), ("g", "g/a/b", "lies inside of")] {
            let raw = from.copy_node(path, (to, to_path), Create::Overwrite, false, &mut |_, _| Ok(()));
            let other = from.rechunk_node(path, (to, to_path), options, &mut |_, _| Ok(()), &mut |_, _| Ok(()));
            for e in [raw.unwrap_err(), other.map(drop).unwrap_err()] {
                assert!(e.kind() == ErrorKind::Argument && e.message().contains(what), "{path} to {to_path}: {e}");
            }
        }
        assert_eq!(read_all(&Array::open(from, "g/a").unwrap()), [1, 2, 3, 4]);
    }
    // Buckets of two servers may have one name.
    server("a").copy_node("g/a", (&server("b"), "g/b"), Create::New, false, &mut |_, _| Ok(())).unwrap();
}

#[test]
fn what_is_renamed_or_copied_is_told_of_in_the_keys_of_nczarr() {
    let (folder, options) = (Folder::new("nczarr"), Options { nczarr: Nczarr::On, ..Options::default() });
    let local = || open(folder.1.shared().clone(), options.clone());
    let store = local();
    Group::create(&store, "", Some(Format::V2), Create::New).unwrap();
    for path in ["t", "g/u"] {
        Array::create(&store, path, &spec_v2(&[4], &[2]), Create::New).unwrap();
    }
    store.close(None).unwrap();
    let arrays = |group: &str| {
        let attributes = object(&local(), &path::join(group, ".zattrs"));
        let key = attributes.get("_nczarr_group").or_else(|| attributes.get("_NCZARR_GROUP")).unwrap().as_object().unwrap().clone();
        let mut names: Vec<String> = key["arrays"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_string()).collect();
        names.sort();
        names
    };
    assert_eq!((arrays(""), arrays("g")), (vec!["t".to_string()], vec!["u".to_string()]));
    let keep = || open(folder.1.shared().clone(), Options::default());
    let store = keep();
    store.rename_node("t", "v").unwrap();
    store.rename_node("g/u", "g/w").unwrap();
    store.close(None).unwrap();
    assert_eq!((arrays(""), arrays("g")), (vec!["v".to_string()], vec!["w".to_string()]));
    let store = keep();
    store.copy_node("v", (&store, "g/x"), Create::New, false, &mut |_, _| Ok(())).unwrap();
    store.close(None).unwrap();
    assert_eq!(arrays("g"), ["w", "x"]);
}

#[test]
fn consolidated_metadata_that_could_not_be_written_are_written_by_the_next_call() {
    for consolidate in [Consolidate::Flush, Consolidate::Close, Consolidate::Named] {
        let (shared, fails): (SharedStore, _) = (Arc::new(MemoryStore::new()), Arc::new(AtomicBool::new(false)));
        let told = fails.clone();
        let tell = move |next: Next<'_>| match next {
            Next::Change if told.load(Ordering::Relaxed) => Err(err!(NoSpace, "the store is full")),
            _ => Ok(()),
        };
        let store = open(Arc::new(Told { inner: shared.clone(), tell }), Options { consolidate, ..Options::default() });
        let mut named = spec(&[2], &[2]);
        named.set_dimension_names(vec![Some("x".into())]).unwrap();
        Group::create(&store, "", None, Create::New).unwrap();
        Array::create(&store, "g/a", &named, Create::New).unwrap();
        let end = || if consolidate == Consolidate::Flush { store.flush_all() } else { store.close(None) };
        fails.store(true, Ordering::Relaxed);
        assert_eq!(end().unwrap_err().kind(), ErrorKind::NoSpace);
        fails.store(false, Ordering::Relaxed);
        end().unwrap();
        let root = Group::open(&open(shared, Options::default()), "").unwrap();
        assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]), "{consolidate:?}");
    }
}

/// Readers that go by consolidated metadata would find the fill value in the place of what is erased.
#[test]
fn consolidated_metadata_say_a_shorter_shape_before_chunks_are_erased() {
    for format in [Format::V2, Format::V3] {
        let shared: SharedStore = Arc::new(MemoryStore::new());
        let flushing = || open(shared.clone(), Options { consolidate: Consolidate::Flush, ..Options::default() });
        let mut spec = spec(&[8], &[2]);
        spec.set_format(format).unwrap();
        let store = flushing();
        Group::create(&store, "", Some(format), Create::New).unwrap();
        let array = Array::create(&store, "g/a", &spec, Create::New).unwrap();
        write_all(&array, &mut [1, 2, 3, 4, 5, 6, 7, 8]);
        store.flush_all().unwrap();
        array.resize(&[4], false).unwrap();
        let root = Group::open(&open(shared.clone(), Options::default()), "").unwrap();
        assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
        assert_eq!(root.open_array("g/a").unwrap().shape().as_slice(), [4]);
    }
}

#[test]
fn a_replacement_of_all_attributes_keeps_what_another_handle_has_hidden_among_them() {
    let store = memory();
    Array::create(&store, "t", &spec_v2(&[4], &[2]), Create::New).unwrap();
    let (one, other) = (Array::open(&store, "t").unwrap(), Array::open(&store, "t").unwrap());
    assert_eq!(one.attributes().names().unwrap().len(), 0);
    other.set_dimension_names(&[Some("x".to_string())]).unwrap();
    one.attributes().replace_json(r#"{"units":"K"}"#).unwrap();
    let attributes = object(&store, "t/.zattrs");
    assert_eq!((attributes.contains_key("_ARRAY_DIMENSIONS"), attributes.contains_key("units")), (true, true));
}

#[test]
fn keys_of_nczarr_leave_attributes_that_consolidated_metadata_do_not_tell_of() {
    let shared: SharedStore = Arc::new(MemoryStore::new());
    let on = || open(shared.clone(), Options { nczarr: Nczarr::On, ..Options::default() });
    let store = on();
    let root = Group::create(&store, "", Some(Format::V2), Create::New).unwrap();
    Array::create(&store, "t", &spec_v2(&[4], &[2]), Create::New).unwrap().attributes().set_json("long_name", "\"t\"").unwrap();
    root.consolidate().unwrap();
    // Another writer, which does not consolidate anew.
    put(&store, "t/.zattrs", r#"{"long_name":"t","units":"K"}"#);
    let store = on();
    Group::open(&store, "").unwrap();
    Array::create(&store, "u", &spec_v2(&[4], &[2]), Create::New).unwrap();
    store.close(None).unwrap();
    let attributes = object(&store, "t/.zattrs");
    assert!(attributes.contains_key("units") && attributes.contains_key("_nczarr_array"), "{attributes:?}");
}
