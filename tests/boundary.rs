//! Every exported function is guarded, and called with wrong arguments: nothing is left to be remembered.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The file's name and text of every source of the boundary, without its inline tests.
fn sources() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(root().join("src/ffi")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
        all.push((path.file_name().unwrap().to_str().unwrap().to_string(), text.to_string()));
    }
    assert!(all.len() > 10, "the sources are not where they were");
    all
}

fn word(text: &str) -> &str {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap()
}

/// What is wrong with the exported function that begins at `text`; `attributes` are the lines before it.
fn fault(name: &str, attributes: &str, text: &str) -> Option<&'static str> {
    let Some(open) = text.find("{\n") else { return Some("has no body") };
    let body = &text[open + 2..text.find("\n}").unwrap_or(text.len())];
    let status = text[..open].contains("-> ozarr_status");
    let first = body.trim_start();
    if !first.starts_with(&format!("entry!(\"{name}\", ")) {
        return Some("does not begin with entry! and its own name");
    }
    if first.starts_with(&format!("entry!(\"{name}\", else")) == status {
        return Some("gives a status by the form for values, or the reverse");
    }
    let makes_handles = text[..open].contains("out: *mut *mut ") || text[..open].contains("group: *mut *mut ");
    let clears = ["new", "cleared"].iter().any(|form| first.starts_with(&format!("entry!(\"{name}\", {form}")));
    if makes_handles != clears {
        return Some("makes a handle and does not make the caller's variable NULL at once, by entry!'s `new(out)`, or the reverse");
    }
    if !body.trim_end().ends_with("})") || body.matches("entry!(").count() != 1 {
        return Some("has code outside of entry!");
    }
    (!attributes.contains("#[unsafe(no_mangle)]")).then_some("is not exported under its name")
}

/// The functions of the linker's version script.
fn exported() -> BTreeSet<String> {
    let map = fs::read_to_string(root().join("abi/ozarr.map")).unwrap();
    map.lines().map(str::trim).filter(|l| l.starts_with("ozarr_")).map(|l| l.trim_end_matches(';').to_string()).collect()
}

#[test]
fn every_export_is_one_guarded_entry() {
    let mut found = BTreeSet::new();
    for (file, source) in sources() {
        for (at, start) in source.match_indices("extern \"C\" fn ") {
            let text = &source[at + start.len()..];
            let name = word(text);
            if !name.starts_with("ozarr_") {
                panic!("{file}: an exported function without the prefix ozarr_: {name}");
            }
            let attributes = &source[source[..at].rfind("\n\n").unwrap_or(0)..at];
            if let Some(fault) = fault(name, attributes, text) {
                panic!("{file}: {name} {fault}");
            }
            assert!(found.insert(name.to_string()), "{name} twice");
        }
    }
    assert_eq!(found, exported(), "exports and abi/ozarr.map");
}

#[test]
fn faults_are_found() {
    let good = "ozarr_x() -> ozarr_status {\n    entry!(\"ozarr_x\", { f() })\n}\n";
    let attributes = "#[unsafe(no_mangle)]\n";
    assert_eq!(fault("ozarr_x", attributes, good), None);
    assert!(fault("ozarr_x", "", good).is_some());
    assert!(fault("ozarr_y", attributes, good).is_some());
    assert!(fault("ozarr_x", attributes, "ozarr_x() -> ozarr_status {\n    f()\n}\n").is_some());
    assert!(fault("ozarr_x", attributes, "ozarr_x() -> ozarr_status {\n    f();\n    entry!(\"ozarr_x\", { g() })\n}\n").is_some());
    assert!(fault("ozarr_x", attributes, "ozarr_x() -> ozarr_status {\n    entry!(\"ozarr_x\", else 0, { g() })\n}\n").is_some());
}

#[test]
fn functions_are_exported_by_the_boundary_only() {
    fn walk(folder: &Path, boundary: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path != boundary {
                    walk(&path, boundary);
                }
            } else {
                let exports = fs::read_to_string(&path).unwrap().contains("no_mangle");
                assert!(!exports, "{} exports a function", path.display());
            }
        }
    }
    walk(&root().join("src"), &root().join("src/ffi"));
    walk(&root().join("core/src"), &root().join("src/ffi"));
}

#[test]
fn every_function_is_called_with_wrong_arguments() {
    let table = fs::read_to_string(root().join("c_tests/misuse/calls.txt")).unwrap();
    let called: BTreeSet<String> = table.lines().filter(|l| l.starts_with("ozarr_")).map(|l| word(l).to_string()).collect();
    assert_eq!(called, exported(), "c_tests/misuse/calls.txt and abi/ozarr.map");
}
