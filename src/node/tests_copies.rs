//! Copies, migrations, moves and cuts: what is as it was, what is refused, and what others find after an error.

use super::tests::{kind, memory, put, spec, write_all};
use super::tests_growth::Folder;
use super::*;
use crate::error::ErrorKind;
use crate::platform::libc;
use crate::store::fault;
use crate::store::os::Call;

#[test]
fn a_node_that_could_not_be_moved_stays_in_consolidated_metadata() {
    let folder = Folder::new("unmoved");
    for (store, format) in [(&folder.1, Format::V3), (&memory(), Format::V3), (&memory(), Format::V2)] {
        let root = Group::create(store, "", Some(format), Create::New).unwrap();
        let mut array = spec(&[2], &[2]);
        array.set_format(format).unwrap();
        Array::create(store, "g/x", &array, Create::New).unwrap();
        root.consolidate().unwrap();
        put(store, "g/y/README", "mine");
        put(store, "h/README", "mine");
        assert_eq!(kind(store.rename_node("g/x", "g/y")), ErrorKind::Exists);
        assert_eq!(kind(store.rename_node("g", "h")), ErrorKind::Exists);
        let root = Group::open(store, "").unwrap();
        assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
        assert!(root.open_array("g/x").is_ok(), "{format:?}");
    }
}

/// The call that fails is each one in turn, and so are all that follow.
#[test]
fn what_could_not_be_replaced_or_moved_in_a_folder_stays_in_consolidated_metadata() {
    for (call, moves) in [Call::Rename, Call::RenameNew].into_iter().flat_map(|call| [(call, false), (call, true)]) {
        for after in 0.. {
            let folder = Folder::new("unreplaced");
            let anew = || Store::from_shared(&Context::with_threads(1), folder.1.shared().clone(), Mode::ReadWrite);
            let root = Group::create(&folder.1, "", None, Create::New).unwrap();
            write_all(&Array::create(&folder.1, "a", &spec(&[2], &[2]), Create::New).unwrap(), &mut [1, 2]);
            root.consolidate().unwrap();
            let hit = fault::Fault { call, after, times: 1, effect: fault::Effect::Fail(libc::EIO) };
            let store = anew();
            let change = || match moves {
                true => store.rename_node("a", "b"),
                false => Array::create(&store, "a", &spec(&[3], &[3]), Create::Overwrite).map(drop),
            };
            let (done, _) = fault::with(&[hit], change);
            // What is there and could not be told of is told now.
            store.close(None).unwrap();
            let listed = Group::open(&anew(), "").unwrap().consolidated_differences().unwrap();
            assert_eq!(listed, Some(vec![]), "{call:?} after {after}, moves: {moves}: {done:?}");
            if done.is_ok() {
                break;
            }
        }
    }
}
