//! Folders of file systems that do not tell upper case from lower.

use super::tests::{read_all, spec_as, write_all};
use super::*;
use crate::dtype::DataType;
use crate::error::{ErrorKind, Result};
use crate::store::fault::folding_case;
use crate::store::suite::TestFolder;

/// A store whose calls stay in the thread that is told how its file system is.
fn open(folder: &TestFolder, options: &[(&str, &str)]) -> Store {
    Store::open(&Context::with_threads(1), folder.to_str().unwrap(), Mode::ReadWrite, options).unwrap()
}

fn copy(from: &Store, to: &Store, verify: bool) -> Result<()> {
    from.copy_node("", (to, ""), Create::New, verify, &mut |_, _| Ok(()))
}

#[test]
fn a_copy_in_which_two_names_would_be_one_is_refused() {
    for format in [Format::V2, Format::V3] {
        let from = Store::memory(&Context::with_threads(1));
        Group::create(&from, "", Some(format), Create::New).unwrap();
        for (name, value) in [("t", 1), ("g/u", 2)] {
            write_all(&Array::create(&from, name, &spec_as(format, &[2], &[2]), Create::New).unwrap(), &mut [value; 2]);
        }
        let whole = TestFolder::new("folded-whole");
        folding_case(|| copy(&from, &open(&whole, &[]), true)).unwrap();
        write_all(&Array::create(&from, "g/U", &spec_as(format, &[2], &[2]), Create::New).unwrap(), &mut [3; 2]);
        for verify in [false, true] {
            let folder = TestFolder::new("folded-copy");
            let e = folding_case(|| copy(&from, &open(&folder, &[]), verify)).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Exists, "{format:?} {verify}: {e}");
            assert!(["g/U/", "g/u/"].iter().all(|name| e.message().contains(name)), "{e}");
            assert_eq!(open(&folder, &[]).node_kind("").unwrap(), NodeKind::None, "{format:?} {verify}");
        }
    }
}

#[test]
fn consolidated_metadata_have_no_second_name_of_a_node() {
    for (format, how) in [Format::V2, Format::V3].into_iter().flat_map(|format| [(format, Create::New), (format, Create::OpenIfSame)]) {
        let folder = TestFolder::new("folded-consolidated");
        let store = open(&folder, &[]);
        let root = Group::create(&store, "", Some(format), Create::New).unwrap();
        let spec = spec_as(format, &[2], &[2]);
        Array::create(&store, "g/t", &spec, Create::New).unwrap();
        root.consolidate().unwrap();
        folding_case(|| {
            for name in ["g/T", "G/t"] {
                let made = Array::create(&store, name, &spec, how).map(drop);
                let expected = if how == Create::New { Err(ErrorKind::Exists) } else { Ok(()) };
                assert_eq!(made.map_err(|e| e.kind()), expected, "{format:?} {name}");
            }
        });
        store.flush().unwrap();
        assert_eq!(Group::open(&store, "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?} {how:?}");
    }
}

#[test]
fn a_variable_is_not_defined_as_another_one_of_the_same_folder() {
    for (format, first) in [Format::V2, Format::V3].into_iter().flat_map(|format| [(format, Create::New), (format, Create::OpenIfSame)]) {
        let folder = TestFolder::new("folded-variables");
        let store = open(&folder, &[]);
        let variable = VariableSpec::new(DataType::Int32, &["x"]);
        for how in [first, Create::OpenIfSame] {
            folding_case(|| {
                let dataset = Dataset::create(&store, "", Some(format), how).unwrap();
                dataset.define_dimension("x", 2).unwrap();
                let array = dataset.define_variable("t\u{e4}", &variable, Create::OpenIfSame).unwrap();
                write_all(&array, &mut [1, 2]);
                for define in [Create::OpenIfSame, Create::Overwrite, Create::New] {
                    let e = dataset.define_variable("T\u{e4}", &variable, define).err().unwrap();
                    assert_eq!(e.kind(), ErrorKind::Exists, "{format:?} {how:?} {define:?}");
                    assert!(e.message().contains("t\u{e4} and T\u{e4} are one and the same"), "{e}");
                }
                assert_eq!(dataset.variable("T\u{e4}").err().map(|e| e.kind()), Some(ErrorKind::NotFound));
                assert_eq!((dataset.variable_count(), read_all(&array)), (1, vec![1, 2]));
            });
        }
        // Where these are two they may both be there.
        let dataset = Dataset::create(&store, "", Some(format), Create::OpenIfSame).unwrap();
        dataset.define_variable("T\u{e4}", &variable, Create::OpenIfSame).unwrap();
        assert_eq!(dataset.variable_count(), 2);
    }
}

#[test]
fn a_group_is_not_moved_into_itself_by_another_spelling() {
    let folder = TestFolder::new("folded-rename");
    let store = open(&folder, &[]);
    write_all(&Array::create(&store, "g/t", &spec_as(Format::V3, &[2], &[2]), Create::New).unwrap(), &mut [1, 2]);
    folding_case(|| {
        for (from, to, is) in [("g", "G/h", "lies inside of"), ("g/t", "G/T/u", "lies inside of"), ("g", "G", "is the same as")] {
            let e = store.rename_node(from, to).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Argument);
            assert!(e.message().contains(is), "{e}");
        }
    });
    assert_eq!(read_all(&Array::open(&store, "g/t").unwrap()), [1, 2]);
}

#[test]
fn copies_into_other_chunks_and_migrations_in_which_two_names_would_be_one_are_refused() {
    for (format, migrates, names) in [Format::V2, Format::V3]
        .into_iter()
        .flat_map(|format| [(format, false), (format, true)])
        .flat_map(|(format, migrates)| [["g/u", "g/U"], ["g/u", "G/u"]].map(|names| (format, migrates, names)))
    {
        let from = Store::memory(&Context::with_threads(1));
        Group::create(&from, "", Some(format), Create::New).unwrap();
        for (name, value) in names.into_iter().zip([2, 3]) {
            write_all(&Array::create(&from, name, &spec_as(format, &[2], &[2]), Create::New).unwrap(), &mut [value; 2]);
        }
        let folder = TestFolder::new("folded-changed");
        let to = open(&folder, &[]);
        let (change, progress) = (&mut |_: &str, _: &mut Spec| Ok(()), &mut |_, _| Ok(()));
        let done = folding_case(|| match migrates {
            true => from.migrate("", Some((&to, "")), true, progress).map(drop),
            false => from.rechunk_node("", (&to, ""), Default::default(), change, progress).map(drop),
        });
        assert_eq!(done.unwrap_err().kind(), ErrorKind::Exists, "{format:?} {migrates} {names:?}");
        assert_eq!(to.node_kind("").unwrap(), NodeKind::None, "{format:?} {migrates} {names:?}");
    }
}
