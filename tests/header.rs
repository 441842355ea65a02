//! The headers in `include/`, `abi/ozarr.json` and `abi/ozarr.map` are what the sources say. `OZARR_UPDATE=1 cargo test --test header` rewrites them.
//!
//! cbindgen turns the items of `src/ffi` into C. Here they are put in the order of [`HEADERS`] and, within a section, of the
//! source; the module documentation of the file becomes the section's heading. Constants become the members of enums. `abi.rs` writes the same as data.

#[path = "header/abi.rs"]
mod abi;
#[path = "header/conventions.rs"]
mod conventions;

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A header: its name, what it says of itself (`ozarr.h` says what is in cbindgen.toml), and its sections: files of `src/ffi`.
struct Header {
    name: &'static str,
    about: &'static str,
    sections: &'static [&'static str],
}

/// The headers by stability; their sections from simple to advanced.
const HEADERS: &[Header] = &[
    Header {
        name: "ozarr.h",
        about: "",
        sections: &[
            "status",
            "library",
            "types",
            "context",
            "array",
            "region",
            "attr",
            "group",
            "iter",
            "node",
            "spec",
            "layout",
            "dtype",
            "dataset",
            "packing",
            "series",
            "checkpoint",
            "parallel",
            "request",
            "store",
        ],
    },
    Header {
        name: "ozarr_advanced.h",
        about: "what few simulations need: the steps of one array, searching hierarchies, lists of elements, batches, plans and counts, elements of \
                variable length, raw chunks, copies, verifying, keys of stores. As stable as ozarr.h.",
        sections: &[
            "appender",
            "tree",
            "select",
            "batch",
            "inspect",
            "analysis",
            "varlen",
            "dtype_info",
            "chunk",
            "copy",
            "migrate",
            "verify",
            "store_keys",
            "buffer",
        ],
    },
    Header {
        name: "ozarr_formats.h",
        about: "conventions and containers: NCZarr, OME-Zarr, zip archives. As stable as ozarr.h.",
        sections: &["nczarr", "image", "zip"],
    },
    Header {
        name: "ozarr_extend.h",
        about: "stores, codecs, data types and other extensions that a program brings itself. Not yet stable: a minor version \
                may change what is declared here.",
        sections: &["ext_store", "ext_answer", "ext_misc", "ext_codec", "ext_dtype"],
    },
];

/// Every file of `src/ffi` that is a section, in the order of the headers.
fn sections() -> impl Iterator<Item = &'static str> {
    HEADERS.iter().flat_map(|h| h.sections.iter().copied())
}

/// The width of the header's text.
const WIDTH: usize = 110;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn source(section: &str) -> String {
    read(&root().join("src/ffi").join(format!("{section}.rs")))
}

#[test]
fn the_headers_are_what_the_sources_say() {
    for (name, text) in headers() {
        for (i, line) in text.lines().enumerate() {
            assert!(line.len() <= WIDTH, "line {} of {name} has more than {WIDTH} columns: {line}", i + 1);
        }
        check_or_update(&format!("include/{name}"), &text);
    }
}

#[test]
fn the_version_script_is_that_of_the_sources() {
    check_or_update("abi/ozarr.map", &abi::version_script(&abi(), env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_place_that_names_the_version_names_the_same() {
    let version = env!("CARGO_PKG_VERSION");
    let numbers: Vec<i64> = version.split('.').map(|n| n.parse().unwrap()).collect();
    let library = source("library");
    let constant = |name: &str| -> i64 {
        let line = library.lines().find_map(|l| l.strip_prefix(&format!("pub const OZARR_VERSION_{name}: i32 = "))).unwrap();
        line.trim_end_matches(';').parse().unwrap()
    };
    assert_eq!([constant("MAJOR"), constant("MINOR"), constant("PATCH")], numbers[..]);
    assert_eq!(constant("NUMBER"), numbers[0] * 10000 + numbers[1] * 100 + numbers[2]);
    assert!(
        read(&root().join("CMakeLists.txt")).contains(&format!("project(ozarr VERSION {version} ")),
        "CMakeLists.txt, expected {version}"
    );
}

/// The most functions that the front header may have, and all headers together.
const MOST: (usize, usize) = (190, 300);

#[test]
fn the_interface_stays_small() {
    let functions = |section: &str| source(section).lines().filter(|l| l.starts_with("pub unsafe extern \"C\" fn ")).count();
    let counts: Vec<(&str, usize)> = HEADERS.iter().map(|h| (h.name, h.sections.iter().map(|s| functions(s)).sum())).collect();
    println!("functions: {counts:?}");
    let all: usize = counts.iter().map(|(_, n)| n).sum();
    assert!(counts[0].1 <= MOST.0 && all <= MOST.1, "{counts:?}, expected at most {} in ozarr.h and {} in all", MOST.0, MOST.1);
}

/// The numbers of the types of elements have short names, as netCDF's and HDF5's have; statuses have two forms.
#[test]
fn constants_are_named_after_their_types() {
    for section in sections() {
        for line in source(section).lines().filter_map(|l| l.strip_prefix("pub const ")) {
            let (name, rest) = line.split_once(": ").unwrap();
            let r#type = rest.split_once(" = ").unwrap().0;
            let prefix = match r#type {
                "ozarr_type" | "u32" | "i32" | "i64" => "OZARR_".to_string(),
                "ozarr_status" if name != "OZARR_OK" => "OZARR_ERR_".to_string(),
                "ozarr_status" => "OZARR_OK".to_string(),
                other => format!("{}_", other.to_uppercase()),
            };
            let prefix = prefix.replace("_MODE_", "_");
            assert!(name.starts_with(&prefix), "found {name} of type {}, expected a name that begins with {prefix}", r#type);
        }
    }
}

/// Nothing but comments stands between a struct and its initialiser, so that a reader finds the one by the other.
#[test]
fn the_initialiser_of_a_struct_follows_it() {
    let mut found = 0;
    for header in HEADERS {
        let text = std::fs::read_to_string(root().join("include").join(header.name)).unwrap();
        for (at, define) in text.match_indices("#define OZARR_").filter(|(at, _)| text[*at..].lines().next().unwrap().contains("_INIT ")) {
            let name = text[at + define.len()..].split("_INIT").next().unwrap().to_lowercase();
            let end = text[..at].rfind("\n} ").expect("a struct is before its initialiser");
            let (last, between) = text[end + 3..at].split_once(";\n").unwrap();
            assert_eq!(last, format!("ozarr_{name}"), "{}: the struct before OZARR_{}_INIT", header.name, name.to_uppercase());
            assert!(between.lines().all(|l| l.trim().is_empty() || l.starts_with("/*") || l.starts_with(" *")), "{}: {name}", header.name);
            found += 1;
        }
    }
    assert!(found >= 15, "found {found} initialisers");
}

#[test]
fn the_data_are_those_of_the_headers() {
    check_or_update("abi/ozarr.json", &abi());
}

#[test]
fn every_file_with_exports_is_a_section() {
    for entry in fs::read_dir(root().join("src/ffi")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let exports = read(&path).lines().any(|l| l.starts_with("#[unsafe(no_mangle)]"));
        assert!(!exports || sections().any(|s| s == name), "{} exports functions and is no section of a header", path.display());
    }
}

#[test]
fn the_interface_serves_programs_of_the_first_release() {
    if std::env::var_os("OZARR_UPDATE").is_some() {
        return; // what is compared is being written
    }
    let output = std::process::Command::new("python3").arg(root().join("tools/first")).arg("--check").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Once something is released, what is new says so.
    if env!("CARGO_PKG_VERSION") != "0.2.0" {
        let first = read(&root().join("abi/first/interface.json"));
        let abi: serde_json::Value = serde_json::from_str(&abi()).unwrap();
        let names = |kind: &str| abi[kind].as_array().unwrap().iter().map(|f| (f["name"].as_str().unwrap(), f["since"].as_str().unwrap()));
        let untold: Vec<_> =
            names("functions").filter(|(name, since)| *since == abi::FIRST && !first.contains(&format!("\"{name}\""))).collect();
        assert!(untold.is_empty(), "new functions need @since: {untold:?}");
    }
}

/// Compares a checked-in file with what it should be, or writes it.
fn check_or_update(file: &str, want: &str) {
    let path = root().join(file);
    if std::env::var_os("OZARR_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, want).unwrap();
        return;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let line = found.lines().zip(want.lines()).take_while(|(a, b)| a == b).count() + 1;
    assert!(found == want, "{file} is stale from line {line} on; OZARR_UPDATE=1 cargo test --test header rewrites it");
}

fn config() -> cbindgen::Config {
    cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap()
}

/// The interface as data: every item of the headers with what its comment's tags say.
fn abi() -> String {
    let blocks = blocks(config());
    let (mut items, mut constants) = (Vec::new(), Vec::new());
    for header in HEADERS {
        for section in header.sections {
            let source = source(section);
            let title = source.lines().next().unwrap().trim_start_matches("//! ").to_string();
            for name in self::items(&source) {
                for block in blocks.get(&name).into_iter().flatten() {
                    let name = if block.contains("static inline") { name_of(block) } else { name.clone() };
                    items.push(abi::Item { header: header.name, section: title.clone(), name, block: block.clone() });
                }
            }
            let all = source.lines().filter_map(|l| l.strip_prefix("pub const ")?.split_once(": "));
            constants.extend(all.map(|(name, rest)| {
                let (r#type, value) = rest.trim_end_matches(';').split_once(" = ").unwrap();
                abi::Constant { header: header.name, name: name.into(), r#type: r#type.into(), value: value.parse().unwrap() }
            }));
        }
    }
    abi::document(&items, &constants, env!("CARGO_PKG_VERSION"))
}

/// Name and text of every header.
fn headers() -> Vec<(&'static str, String)> {
    let config = config();
    let mut blocks = blocks(config.clone());
    let texts = HEADERS.iter().map(|h| (h.name, header(h, &config, &mut blocks))).collect();
    assert!(blocks.is_empty(), "items that belong to no section: {:?}", blocks.keys());
    texts
}

fn header(header: &Header, config: &cbindgen::Config, blocks: &mut HashMap<String, Vec<String>>) -> String {
    let guard = header.name.to_uppercase().replace('.', "_");
    let mut text = head(header, config, &guard);
    for section in header.sections {
        let source = source(section);
        text += &heading(&source);
        text += &body(&source, blocks);
    }
    text + &format!("\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */\n")
}

/// What stands in front of a header's first section.
fn head(header: &Header, config: &cbindgen::Config, guard: &str) -> String {
    let generated = "/* Generated from the sources by cbindgen: a change here is lost. */";
    let open = format!("{generated}\n\n#ifndef {guard}\n#define {guard}\n");
    if header.about.is_empty() {
        let (head, prologue) = (config.header.as_ref().unwrap(), config.after_includes.as_ref().unwrap());
        let includes: String = config.sys_includes.iter().map(|i| format!("#include <{i}>\n")).collect();
        return format!("{}\n\n{open}\n{includes}\n{}\n", head.trim(), prologue.trim());
    }
    let title = filled(&format!("{}: {}", header.name, header.about), " * ");
    format!(
        "/*\n{title} *\n * SPDX-License-Identifier: MIT OR Apache-2.0\n */\n\n{open}\n#include \"ozarr.h\"\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n"
    )
}

/// A folder of the sources as cbindgen gets them: with a mark at each function that gives a status, which becomes `OZARR_CHECKED`.
static MARKED: LazyLock<PathBuf> = LazyLock::new(|| {
    const EXPORTED: &str = "#[unsafe(no_mangle)]\n";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("marked");
    fs::create_dir_all(&folder).unwrap();
    for section in sections() {
        let marked = |function: &str| {
            let gives_status = function.split(" {\n").next().unwrap().contains("-> ozarr_status");
            format!("{EXPORTED}{}{function}", if gives_status { "#[must_use]\n" } else { "" })
        };
        let source = source(section);
        let (head, functions) = source.split_once(EXPORTED).unwrap_or((&source, ""));
        let functions = functions.split(EXPORTED).filter(|function| !function.is_empty()).map(marked);
        fs::write(folder.join(format!("{section}.rs")), head.to_string() + &functions.collect::<String>()).unwrap();
    }
    folder
});

/// What cbindgen writes for each item, by the item's name: one block, or more for a struct that programs fill.
fn blocks(mut config: cbindgen::Config) -> HashMap<String, Vec<String>> {
    (config.header, config.after_includes, config.no_includes, config.sys_includes) = (None, None, true, Vec::new());
    let mut builder = cbindgen::Builder::new().with_config(config);
    for section in sections() {
        builder = builder.with_src(MARKED.join(format!("{section}.rs")));
    }
    let mut out = Vec::new();
    builder.generate().expect("cbindgen").write(&mut out);
    let text = String::from_utf8(out).unwrap();
    let all: Vec<&str> = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()).collect();
    let callbacks: HashSet<String> = all.iter().filter(|block| block.contains("(*")).map(|block| name_of(block)).collect();
    let mut blocks: HashMap<String, Vec<String>> = HashMap::new();
    for block in all {
        let name = name_of(block);
        let made = initialisers(&name, block, &callbacks);
        blocks.entry(name).or_default().extend([block.to_string()].into_iter().chain(made));
    }
    blocks
}

/// The macro and the function that give a struct that begins with its size its first value. They list every member: other forms
/// draw warnings in C or in C++.
fn initialisers(name: &str, block: &str, callbacks: &HashSet<String>) -> Vec<String> {
    let (Some(open), Some(close)) = (block.find(&format!("struct {name} {{")), block.rfind('}')) else { return Vec::new() };
    let members = block[open..close].lines().map(str::trim).filter(|line| line.ends_with(';') && !line.starts_with('*'));
    let values: Vec<String> = members
        .map(|member| match member {
            "size_t struct_size;" => format!("sizeof({name})"),
            _ if member.contains('*') || callbacks.contains(&identifier(member)) => "NULL".into(),
            _ => "0".into(),
        })
        .collect();
    if !values.first().is_some_and(|first| first.starts_with("sizeof")) {
        return Vec::new();
    }
    let (macro_name, short) = (format!("{}_INIT", name.to_uppercase()), name.strip_prefix("ozarr_").unwrap_or(name));
    let list = filled_to(&format!("{{{}}}", values.join(", ")), "", WIDTH - 5).trim_end().replace('\n', " \\\n   ");
    vec![
        format!("/** The first value of an `{name}`: {{0}} with its size. */\n#define {macro_name} \\\n   {list}"),
        format!(
            "/** Gives `*{short}` the value {macro_name}. */\nstatic inline void {name}_init({name} *{short}) {{\n    \
             const {name} init = {macro_name};\n    *{short} = init;\n}}"
        ),
    ]
}

/// The name of the item that a block of C declares.
fn name_of(block: &str) -> String {
    let code = &block[block.find("*/").map_or(0, |i| i + 2)..].trim_start();
    if let Some(define) = code.strip_prefix("#define ") {
        return identifier(define);
    }
    if let (true, Some(pointer)) = (code.starts_with("typedef"), code.find("(*")) {
        return identifier(&code[pointer + 2..]);
    }
    if code.starts_with("typedef") {
        let end = code.trim_end_matches(';');
        return end[end.rfind(|c: char| !is_word(c)).unwrap() + 1..].to_string();
    }
    let open = code.find('(').unwrap_or_else(|| panic!("no declaration: {block}"));
    code[code[..open].rfind(|c: char| !is_word(c)).unwrap() + 1..open].to_string()
}

/// The public items of a source file, in their order.
fn items(source: &str) -> impl Iterator<Item = String> {
    let starts = ["pub unsafe extern \"C\" fn ", "pub const ", "pub type ", "pub struct "];
    source.lines().filter_map(move |line| starts.iter().find_map(|s| line.strip_prefix(s)).map(identifier))
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|&c| is_word(c)).collect()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The module documentation as a section's heading: its first line between rules, the rest below.
fn heading(source: &str) -> String {
    let mut lines = source.lines().take_while(|l| l.starts_with("//!")).map(|l| l[3..].strip_prefix(' ').unwrap_or(&l[3..]));
    let rule = "=".repeat(WIDTH - 6);
    let mut text = format!("\n/* {rule}\n * {}\n * {rule}", lines.next().unwrap());
    let mut code = false;
    for line in lines {
        if line.starts_with("```") {
            code = line != "```";
        } else if line.is_empty() {
            text += "\n *";
        } else {
            write!(text, "\n * {}{line}", if code { "    " } else { "" }).unwrap();
        }
    }
    text + " */\n"
}

/// The words of a text on lines of at most [`WIDTH`] columns, each after `margin`.
fn filled(text: &str, margin: &str) -> String {
    filled_to(text, margin, WIDTH)
}

/// As `filled`, with lines of at most `width` columns.
fn filled_to(text: &str, margin: &str, width: usize) -> String {
    let mut lines = vec![margin.trim_end().to_string()];
    for word in text.split_whitespace() {
        if lines.last().unwrap().len() + 1 + word.len() > width {
            lines.push(margin.trim_end().to_string());
        }
        *lines.last_mut().unwrap() += &format!(" {word}");
    }
    lines.join("\n") + "\n"
}

/// The items of a section. Constants without an empty line between them in the source are the members of one `enum`.
fn body(source: &str, blocks: &mut HashMap<String, Vec<String>>) -> String {
    let mut text = String::new();
    let mut members: Vec<(String, String, String)> = Vec::new();
    let empty_line = |name: &str| {
        source
            .lines()
            .position(|l| l.starts_with(&format!("pub const {name}: ")))
            .and_then(|at| source.lines().take(at).collect::<Vec<_>>().into_iter().rposition(str::is_empty))
    };
    let mut group = None;
    for name in items(source) {
        for block in blocks.remove(&name).unwrap_or_default() {
            let constant = constant(&block);
            if constant.is_none() || empty_line(&name) != group {
                text += &enumeration(&std::mem::take(&mut members));
            }
            match constant {
                Some(constant) => {
                    group = empty_line(&name);
                    members.push(constant);
                }
                None => write!(text, "\n{}\n", wrapped(&compact(&block))).unwrap(),
            }
        }
    }
    text + &enumeration(&members)
}

/// Name, value and words of a constant; `None` for other items.
fn constant(block: &str) -> Option<(String, String, String)> {
    let define = &block[block.find("#define ")? + "#define ".len()..];
    let (name, value) = define.split_once(' ')?;
    value.parse::<i64>().ok()?;
    Some((name.to_string(), value.to_string(), comment(block)))
}

/// Constants as C: an `enum`, or macros where programs ask for them with `#if`. The words are behind them, or above where they are long.
fn enumeration(members: &[(String, String, String)]) -> String {
    let Some((first, ..)) = members.first() else { return String::new() };
    let is_macro = first.starts_with("OZARR_VERSION_") || first == "OZARR_ABI_VERSION";
    let mut text = String::from(if is_macro { "\n" } else { "\nenum {\n" });
    for (i, (name, value, words)) in members.iter().enumerate() {
        let comma = if i + 1 < members.len() { "," } else { "" };
        let code = if is_macro { format!("#define {name} {value}") } else { format!("    {name} = {value}{comma}") };
        let line = format!("{code:<40} /**< {words} */\n");
        let indent = if is_macro { "" } else { "    " };
        text += &if line.len() <= WIDTH + 1 { line } else { format!("{}{code}\n", above(words, indent)) };
    }
    text + if is_macro { "" } else { "};\n" }
}

/// A comment of its own lines.
fn above(words: &str, indent: &str) -> String {
    let line = format!("{indent}/** {words} */\n");
    if line.len() <= WIDTH + 1 { line } else { format!("{indent}/**\n{}{indent} */\n", filled(words, &format!("{indent} * "))) }
}

/// The words of a block's comment, without its stars.
fn comment(block: &str) -> String {
    let Some(end) = block.find("*/") else { return String::new() };
    let lines = block[..end].trim_start_matches("/**").lines().map(|l| l.trim().trim_start_matches('*').trim());
    lines.filter(|l| !l.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A block whose prototype, if it is one, fills its lines and names types without `struct`.
fn wrapped(block: &str) -> String {
    let at = block.find("*/").map_or(0, |i| i + 2);
    let (comment, code) = block.split_at(at);
    if code.contains('{') || !code.contains('(') {
        return block.to_string();
    }
    let words: Vec<&str> = code.split_whitespace().filter(|w| *w != "struct").collect();
    let joined = words.join(" ").replace("(struct ", "(");
    let mut lines = vec![String::new()];
    for piece in joined.split_inclusive(", ") {
        if lines.last().unwrap().len() + piece.trim_end().len() > WIDTH {
            lines.push("    ".to_string());
        }
        *lines.last_mut().unwrap() += piece;
    }
    format!("{comment}\n{}", lines.iter().map(|l| l.trim_end()).collect::<Vec<_>>().join("\n"))
}

/// A block whose comments of one line stand on one line.
fn compact(block: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let lines: Vec<&str> = block.trim().lines().collect();
    let mut i = 0;
    while i < lines.len() {
        let indent = &lines[i][..lines[i].len() - lines[i].trim_start().len()];
        let one_line = lines[i].trim() == "/**" && lines.get(i + 2).is_some_and(|l| l.trim() == "*/");
        if one_line {
            out.push(format!("{indent}/** {} */", lines[i + 1].trim().trim_start_matches('*').trim()));
            i += 3;
        } else {
            out.push(lines[i].trim_end().to_string());
            i += 1;
        }
    }
    out.join("\n")
}
