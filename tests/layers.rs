//! Checks every `crate::` path in `src` against the table of layers in docs/architecture.md, and that files form no circles.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A layer, and what it may use besides itself: whole layers, or items of them (`layer::item`).
type Layers = Vec<(String, Vec<String>)>;

/// The words in backquotes of the first and the last column of a table in `docs/architecture.md`, row by row; `first` heads its first column.
fn table(first: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md")).unwrap();
    let words = |column: &str| column.split('`').skip(1).step_by(2).map(String::from).collect::<Vec<_>>();
    let heading = format!("| {first} |");
    let rows = page.lines().skip_while(|line| !line.starts_with(&heading)).skip(2).take_while(|line| line.starts_with('|'));
    let columns = rows.map(|line| line.trim_matches('|').split('|').collect::<Vec<_>>());
    columns.map(|row| (words(row[0]), words(row[row.len() - 1]))).collect()
}

/// The table of layers.
fn may_use() -> Layers {
    table("layer").into_iter().map(|(mut layer, uses)| (layer.remove(0), uses)).collect()
}

/// Crates that only some layers may name.
const CRATES: &[(&str, &[&str])] = &[
    ("blosc", &["codec"]),
    ("zstd_safe", &["codec"]),
    ("libdeflater", &["codec", "store"]),
    ("crc32c", &["codec"]),
    ("base64", &["codec", "dtype", "store"]),
    ("bzip2_sys", &["codec"]),
    ("liblzma", &["codec"]),
    ("libz_sys", &["codec"]),
    ("lz4_sys", &["codec"]),
    ("pco", &["codec"]),
    ("snap", &["codec"]),
    ("twox_hash", &["analysis"]),
    ("object_store", &["store"]),
    ("tokio", &["store"]),
    ("reqwest", &["store"]),
    ("http_body_util", &["store"]),
    ("humantime", &["store"]),
    ("rustls", &["store"]),
    ("rustls_native_certs", &["store"]),
    ("futures_util", &["store"]),
];

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push(path);
        }
    }
}

/// The library's sources with their names in `core/src` or `src`.
fn library() -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for root in ["core/src", "src"].map(|root| Path::new(env!("CARGO_MANIFEST_DIR")).join(root)) {
        let mut files = Vec::new();
        sources(&root, &mut files);
        assert!(files.len() > 30, "the sources are not where they were");
        found.extend(files.into_iter().map(|file| (file.strip_prefix(&root).unwrap().to_path_buf(), file)));
    }
    found
}

/// The layer of a file: its folder, or its own name at the top.
fn layer(inside: &Path) -> String {
    inside.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_string()
}

/// The code of a source without comments and without its unit tests, which may use anything.
fn code(text: &str) -> String {
    let tests = ["#[cfg(test)]\nmod tests", "#[cfg(test)]\npub(super) mod tests"];
    let text = &text[..tests.iter().find_map(|tests| text.find(tests)).unwrap_or(text.len())];
    text.lines().map(|l| l.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// Every path after `crate::`, those in braces one by one: `crate::a::{b, c::d}` gives `a::b` and `a::c::d`.
fn paths(code: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (at, found) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before != Some('$') && !before.is_some_and(is_word) {
            expand("", &code[at + found.len()..], &mut all);
        }
    }
    all
}

/// Reads one path (with its braces) from the beginning of `text`; gives the number of bytes read.
fn expand(prefix: &str, text: &str, all: &mut Vec<String>) -> usize {
    let end = text.find(|c: char| !is_word(c) && c != ':').unwrap_or(text.len());
    let here = format!("{prefix}{}", &text[..end]);
    if !text[end..].starts_with('{') || !here.ends_with("::") {
        all.push(here.trim_end_matches(':').to_string());
        return end;
    }
    let mut at = end + 1;
    loop {
        at += text[at..].len() - text[at..].trim_start_matches([' ', '\n', ',']).len();
        if at >= text.len() || text[at..].starts_with('}') {
            return at + 1;
        }
        let read = expand(&here, &text[at..], all);
        at += read.max(1);
        if let Some(renamed) = text[at..].strip_prefix(" as ") {
            at += 4 + renamed.find(|c| !is_word(c)).unwrap_or(renamed.len());
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a layer may use a path.
fn allowed(layers: &Layers, from: &str, path: &str) -> bool {
    let Some((_, uses)) = layers.iter().find(|(layer, _)| layer == from) else { return false };
    let first = path.split("::").next().unwrap();
    // Macros are at the top of the crate, in no layer.
    first == from || first.is_empty() || uses.iter().any(|u| path == u || path.starts_with(&format!("{u}::")))
}

#[test]
fn layers_use_only_what_stands_below_them() {
    let mut faults = Vec::new();
    let layers = may_use();
    for (inside, file) in library() {
        let from = layer(&inside);
        let code = code(&fs::read_to_string(&file).unwrap());
        for path in paths(&code).iter().filter(|p| !allowed(&layers, &from, p)) {
            faults.push(format!("{}: crate::{path}", inside.display()));
        }
        for (name, layers) in CRATES {
            if code.contains(&format!("{name}::")) && !layers.contains(&from.as_str()) {
                faults.push(format!("{}: the crate {name}", inside.display()));
            }
        }
    }
    assert!(faults.is_empty(), "against the table of layers:\n{}", faults.join("\n"));
}

/// What not every system has, or has in another form.
const OF_ONE_SYSTEM: &[&str] = &["std::os::", "MetadataExt", "OpenOptionsExt"];

#[test]
fn what_differs_between_systems_is_used_by_the_platforms_only() {
    let mut faults = Vec::new();
    for (inside, file) in library() {
        let name = inside.display().to_string();
        let code = code(&fs::read_to_string(&file).unwrap());
        if name.contains("tests") || layer(&inside) == "platform" {
            continue;
        }
        faults.extend(OF_ONE_SYSTEM.iter().filter(|what| code.contains(**what)).map(|what| format!("{name}: {what}")));
        // The handles of std's files are not the platforms' own.
        if code.contains("fs::File") && code.contains("as_fd") {
            faults.push(format!("{name}: File"));
        }
    }
    assert!(faults.is_empty(), "not on every system:\n{}", faults.join("\n"));
}

#[test]
fn values_of_the_process_are_made_without_a_lock() {
    let mut faults = Vec::new();
    for (inside, file) in library() {
        let code = code(&fs::read_to_string(&file).unwrap());
        let statics = code.lines().filter(|line| line.trim_start().trim_start_matches("pub ").starts_with("static "));
        // What a child makes anew may have one.
        let kept = statics.filter(|line| !line.contains("ForkReset<"));
        let locked = kept.filter(|line| ["OnceLock<", "LazyLock<", "sync::Once "].iter().any(|made| line.contains(made)));
        faults.extend(locked.map(|line| format!("{}: {}", inside.display(), line.trim())));
    }
    assert!(faults.is_empty(), "a child of fork may wait for them for ever (docs/design/fork.md):\n{}", faults.join("\n"));
}

/// What `tools/figures` prints.
fn figures(options: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/figures");
    let output = Command::new("python3").arg(script).args(options).output().expect("python3 runs tools/figures");
    assert!(output.status.success(), "tools/figures: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn no_file_and_no_function_is_too_long() {
    let found = figures(&[]);
    for kind in ["files over 500 lines without their inline tests: ", "functions over 60 lines: "] {
        let of_kind = |line: &&str| !line.starts_with(kind);
        let mut lines = found.lines().skip_while(of_kind);
        let count = lines.next().expect(kind);
        let list: Vec<_> = lines.take_while(|line| line.starts_with(' ')).collect();
        assert_eq!(count.strip_prefix(kind), Some("0"), "{}", list.join("\n"));
    }
}

#[test]
fn files_form_no_circles_but_those_with_a_reason() {
    let found = figures(&["--circles"]);
    let mut allowed: Vec<_> = table("circle").into_iter().map(|(files, _)| files.join(" ")).collect();
    allowed.sort();
    assert_eq!(found.lines().collect::<Vec<_>>(), allowed, "circles of files that were found, and those of docs/architecture.md");
}

/// What the program `ozarr` may use of the library: the facade, and what keeps it alive where memory ends.
const PROGRAM_MAY_USE: &[&str] = &[
    "error",
    "node",
    "analysis",
    "dtype",
    "engine::Selection",
    "engine::Memory",
    "engine::Overflow",
    "limits",
    "reserve::Allocator",
    "threads",
];

#[test]
fn the_program_uses_the_facade_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cli/src");
    let (mut files, mut found) = (Vec::new(), Vec::new());
    sources(&root, &mut files);
    for file in files {
        // The paths of the library, as if they were those of this crate.
        let code = code(&fs::read_to_string(&file).unwrap()).replace("crate::", "own::").replace("ozarr::", "crate::");
        found.extend(paths(&code).into_iter().map(|path| (file.clone(), path)));
    }
    assert!(found.len() > 30, "the program's sources are not where they were");
    let allowed = |path: &str| PROGRAM_MAY_USE.iter().any(|&u| path == u || path.starts_with(&format!("{u}::")));
    let faults: Vec<_> = found.iter().filter(|(_, path)| !allowed(path)).collect();
    assert!(faults.is_empty(), "not of the facade: {faults:?}");
}

#[test]
fn paths_are_found_in_every_form() {
    let text = "use crate::a::{B, c::{D, e}, f as g};\nlet x = crate::h::i(); mycrate::z; // crate::no\n$crate::m!()";
    assert_eq!(paths(&code(text)), ["a::B", "a::c::D", "a::c::e", "a::f", "h::i"]);
    let layers = may_use();
    let allowed = |from: &str, path: &str| allowed(&layers, from, path);
    assert!(allowed("ffi", "node::Array") && allowed("ffi", "engine::Memory") && !allowed("ffi", "engine::place"));
    assert!(!allowed("metadata", "store::Storage") && !allowed("engine", "node") && !allowed("unknown", "error"));
}
