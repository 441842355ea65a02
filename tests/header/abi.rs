//! The interface as data, `abi/ozarr.json`: read from the C of the headers and the tags of its comments.
//!
//! What the types of C say is taken from them: a handle, a text, a struct, a callback. What they do not say is said by tags at the end
//! of a function's comment, and a parameter that needs a tag and has none fails the test:
//!
//! ```text
//! @param[out] rank                          one number
//! @param[in] start,shape array(rank)        as many as another parameter says, or as the first argument's array has dimensions
//! @param[out] length may be NULL            together: `array(rank), may be NULL`
//! @since 0.3                                the release that brought the function; without it, the first
//! ```
//!
//! Its errors are in a paragraph that begins with `Errors:`: statuses, and `those of documents, chunks and stores` for those that many
//! functions share ([`CLASSES`]). What its parameters can do to any function is added ([`errors`]).
//!
//! `array(NULL)` is a list that ends in NULL. `(char *, size_t, size_t *)` is a text out, `(void *, size_t)` are bytes, and a
//! `void *` behind a callback is handed on to it: these need no tag.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The first release of the interface: functions without `@since` are of it.
pub const FIRST: &str = "0.2";

/// What a function can return that names one of these in its paragraph `Errors:`; `every` is for all. The head of ozarr.h says the same.
pub const CLASSES: &[(&str, &[&str])] = &[
    ("every", &["INTERNAL", "INVALID_HANDLE", "FORKED", "NO_MEMORY", "NULL"]),
    ("documents", &["CONFLICT", "EXTENSION", "LIMIT", "LOCATION", "METADATA", "NODE_KIND", "NOT_FOUND", "STATE", "UNSUPPORTED"]),
    ("chunks", &["CHECKSUM", "CHUNK", "LIMIT", "MISSING", "NOT_FOUND", "SHARD_INDEX", "STATE", "TRUNCATED", "UNSUPPORTED"]),
    (
        "stores",
        &[
            "CALLBACK",
            "CONFLICT",
            "IO",
            "LIMIT",
            "NETWORK",
            "NO_SPACE",
            "PARTIAL",
            "PERMISSION",
            "RANGES",
            "THROTTLED",
            "TIMEOUT",
            "TOO_MANY_FILES",
            "TRUNCATED",
            "UNSUPPORTED",
        ],
    ),
];

/// One item of a header.
pub struct Item {
    pub header: &'static str,
    pub section: String,
    pub name: String,
    pub block: String,
}

/// A constant, which has no text of its own in the data.
pub struct Constant {
    pub header: &'static str,
    pub name: String,
    pub r#type: String,
    pub value: i64,
}

/// What a tag says of a parameter.
#[derive(Clone, Default)]
struct Tag {
    direction: String,
    length: Option<String>,
    null: bool,
}

/// A type of C: its name, its stars, and whether what the first star points to is const.
struct CType<'a> {
    base: &'a str,
    stars: usize,
    is_const: bool,
    is_const_inside: bool,
}

impl<'a> CType<'a> {
    fn of(text: &'a str) -> CType<'a> {
        let base = text.split([' ', '*']).find(|w| !["", "const", "struct"].contains(w)).unwrap();
        let (front, back) = text.split_at(text.find('*').unwrap_or(text.len()));
        CType { base, stars: text.matches('*').count(), is_const: front.contains("const"), is_const_inside: back.contains("const") }
    }

    fn is(&self, base: &str, stars: usize) -> bool {
        self.base == base && self.stars == stars
    }
}

/// The names of the types, by what they are.
#[derive(Default)]
struct Names {
    handles: Vec<String>,
    structs: Vec<String>,
    callbacks: Vec<String>,
}

pub fn document(items: &[Item], constants: &[Constant], version: &str) -> String {
    let mut names = Names::default();
    for item in items {
        let code = code(&item.block);
        let list = match () {
            () if is_callback(code) => &mut names.callbacks,
            () if is_struct(code) => &mut names.structs,
            () if code.starts_with("typedef struct ") => &mut names.handles,
            () => continue,
        };
        list.push(item.name.clone());
    }
    let mut sections: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for item in items {
        let code = code(&item.block);
        let (kind, value) = match () {
            () if code.starts_with("static inline") => ("inline_functions", callable(item, &names)),
            () if is_callback(code) => ("callbacks", callable(item, &names)),
            () if is_struct(code) => ("structs", structure(item, code)),
            () if code.starts_with("typedef struct ") => ("handles", described(item, json!({}))),
            () if code.starts_with("typedef ") => ("types", described(item, json!({ "c": code.split(' ').nth(1).unwrap() }))),
            () if code.contains('(') && !code.starts_with('#') => ("functions", callable(item, &names)),
            () => continue,
        };
        sections.entry(kind).or_default().push(value);
    }
    let constants = constants.iter().map(|c| json!({"name": c.name, "header": c.header, "type": c.r#type, "value": c.value}));
    let mut text = format!("{{\n\"version\": \"{version}\",\n");
    let classes: Map<String, Value> = CLASSES.iter().map(|(name, all)| (name.to_string(), statuses(all).into())).collect();
    text += &format!("\"error_classes\": {},\n", Value::Object(classes));
    text += &list("constants", &constants.collect::<Vec<_>>());
    for kind in ["types", "handles", "callbacks", "structs", "inline_functions", "functions"] {
        text += ",\n";
        text += &list(kind, &sections.remove(kind).unwrap_or_default());
    }
    text + "\n}\n"
}

/// A member of the document: a list with one value a line.
fn list(name: &str, values: &[Value]) -> String {
    let lines: Vec<String> = values.iter().map(Value::to_string).collect();
    format!("\"{name}\": [\n{}\n]", lines.join(",\n"))
}

fn code(block: &str) -> &str {
    block[block.find("*/").map_or(0, |i| i + 2)..].trim()
}

fn is_struct(code: &str) -> bool {
    code.starts_with("typedef struct ") && code.contains('{')
}

fn is_callback(code: &str) -> bool {
    code.starts_with("typedef") && code.contains("(*") && !code.contains('{')
}

/// Name, place and text of an item, and the members of `more`.
fn described(item: &Item, more: Value) -> Value {
    let mut all = Map::new();
    all.insert("name".into(), item.name.clone().into());
    all.insert("header".into(), item.header.into());
    all.insert("section".into(), item.section.clone().into());
    if let Value::Object(more) = more {
        all.extend(more);
    }
    all.insert("text".into(), text_and_tags(&item.block).0.into());
    all.into()
}

/// A comment's text, a paragraph a line, and its tags, each on one line.
fn text_and_tags(block: &str) -> (String, Vec<String>) {
    let Some(end) = block.find("*/") else { return Default::default() };
    let lines = block[..end].trim_start_matches("/**").lines().map(|l| l.trim().trim_start_matches('*').trim());
    let (mut text, mut tags) = (Vec::<String>::new(), Vec::<String>::new());
    let mut open = false;
    for line in lines {
        let to = if line.starts_with('@') || (!tags.is_empty() && open) { &mut tags } else { &mut text };
        if line.is_empty() {
            open = false;
        } else if open && !line.starts_with(['@', '-']) {
            *to.last_mut().unwrap() += &format!(" {line}");
        } else {
            to.push(line.to_string());
            open = true;
        }
    }
    (text.join("\n"), tags)
}

/// The tags of parameters, by name, and the release of `@since`.
fn parsed(item: &Item, tags: &[String]) -> (BTreeMap<String, Tag>, Option<String>) {
    let (mut parameters, mut since) = (BTreeMap::new(), None);
    for tag in tags {
        if let Some(version) = tag.strip_prefix("@since ") {
            since = Some(version.to_string());
            continue;
        }
        let wrong = || panic!("{}: {tag:?} is no tag of tests/header/abi.rs", item.name);
        let Some((direction, rest)) = tag.strip_prefix("@param[").and_then(|t| t.split_once("] ")) else { wrong() };
        let rest = rest.split(": ").next().unwrap();
        let (names, what) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut tag = Tag { direction: direction.to_string(), ..Tag::default() };
        for part in what.split(", ").filter(|p| !p.is_empty()) {
            match part.strip_prefix("array(").and_then(|p| p.strip_suffix(')')) {
                Some(length) => tag.length = Some(length.to_string()),
                None if part == "may be NULL" => tag.null = true,
                None => wrong(),
            }
        }
        if !["in", "out", "in,out"].contains(&direction) {
            wrong();
        }
        parameters.extend(names.split(',').map(|n| (n.to_string(), tag.clone())));
    }
    (parameters, since)
}

/// A function or a callback.
fn callable(item: &Item, names: &Names) -> Value {
    let code = code(&item.block).trim_start_matches("static inline ").trim_start_matches("typedef ");
    let head = code.split(" {").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ").replace("struct ", "");
    let head = head.trim_start_matches("OZARR_CHECKED ");
    let close = head.rfind(')').unwrap();
    let open = head[..close].rfind('(').unwrap();
    let result = head[..head.find(&item.name).unwrap()].trim().trim_end_matches("(*").trim();
    let (text, tags) = text_and_tags(&item.block);
    let (tags, since) = parsed(item, &tags);
    let given: Vec<(&str, &str)> = head[open + 1..close].split(", ").filter(|p| *p != "void").map(declaration).collect();
    for name in tags.keys() {
        assert!(given.iter().any(|(_, n)| n == name), "{}: a tag of `{name}`, which is no parameter", item.name);
    }
    let is_function = !is_callback(self::code(&item.block));
    let parameters: Vec<Value> = (0..given.len()).map(|i| parameter(item, &given, i, &tags, names, is_function)).collect();
    let mut more = json!({ "result": result, "parameters": &parameters });
    if is_function {
        more["errors"] = if result == "ozarr_status" { errors(&text, &parameters).into() } else { json!([]) };
        more["since"] = since.as_deref().unwrap_or(FIRST).into();
    }
    described(item, more)
}

/// `const char *const *names` as type and name.
fn declaration(text: &str) -> (&str, &str) {
    let at = text.rfind([' ', '*']).unwrap() + 1;
    (text[..at].trim(), &text[at..])
}

fn statuses(short: &[&str]) -> Vec<String> {
    short.iter().map(|name| format!("OZARR_ERR_{name}")).collect()
}

/// The statuses and classes of them with which a function fails: those that its text names, outside of lists of settings, and those of a text
/// that is not UTF-8, of a struct of a wrong size, and of a buffer that is too small.
fn errors(text: &str, parameters: &[Value]) -> Vec<String> {
    let prose: Vec<&str> = text.lines().filter(|line| !line.starts_with('-')).collect();
    let named = prose.iter().flat_map(|line| line.split('`')).filter(|w| w.starts_with("OZARR_ERR_") && !w.contains(' '));
    let mut all: Vec<String> = named.map(str::to_string).collect();
    let own = prose.iter().find_map(|line| line.strip_prefix("Errors: ")).unwrap_or("");
    let shared = own.split([';', '.']).filter_map(|part| part.trim().strip_prefix("those of ")).flat_map(|part| part.split([',', ' ']));
    all.extend(shared.filter(|word| CLASSES.iter().any(|(name, _)| name == word)).map(str::to_string));
    for p in parameters {
        all.extend(match (p["kind"].as_str(), p["direction"].as_str()) {
            (Some("text"), Some("in")) => statuses(&["ARGUMENT"]),
            (Some("struct"), _) => statuses(&["ARGUMENT", "UNSUPPORTED"]),
            (Some("text" | "bytes"), Some("out")) => statuses(&["BUFFER_SIZE"]),
            _ => Vec::new(),
        });
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// A parameter: its type, what it is, its direction, and where it is a pointer its length and whether it may be NULL.
fn parameter(item: &Item, given: &[(&str, &str)], i: usize, tags: &BTreeMap<String, Tag>, names: &Names, is_function: bool) -> Value {
    let (c, name) = given[i];
    let t = CType::of(c);
    let tag = tags.get(name);
    let next = |k: usize, base: &str, stars: usize| given.get(i + k).is_some_and(|(c, _)| CType::of(c).is(base, stars));
    let before = |k: usize| i.checked_sub(k).map(|j| CType::of(given[j].0));
    let is = |list: &[String]| list.iter().any(|n| n == t.base);
    let bytes = |t: &CType| t.stars == 1 && ["char", "void"].contains(&t.base) && !t.is_const;
    let is_length = t.is("size_t", 1) && before(1).is_some_and(|b| b.is("size_t", 0)) && before(2).is_some_and(|b| bytes(&b));
    let mut length = tag.and_then(|t| t.length.clone());
    let mut null = tag.is_some_and(|t| t.null);
    let is_read = if t.stars > 1 { t.is_const_inside } else { t.stars == 0 || t.is_const };
    let direction = if is_read { "in" } else { "out" };
    let (kind, mut direction) = match () {
        () if is(&names.callbacks) => ("callback", "in"),
        () if t.is("void", 1) && !is_function && i == 0 => {
            null = true;
            ("user", "in")
        }
        () if t.stars == 0 => ("value", "in"),
        () if is(&names.handles) && t.stars == 1 => ("handle", "in"),
        () if is(&names.handles) && t.stars == 2 && !t.is_const_inside && length.is_none() => ("handle", "out"),
        () if is(&names.handles) => ("handle", "in"),
        () if t.is("char", 1) && t.is_const => ("text", "in"),
        () if t.is("char", 1) && next(1, "size_t", 0) => {
            (null, length) = (true, Some(given[i + 1].1.to_string()));
            ("text", "out")
        }
        () if t.base == "void" && t.stars == 1 && before(1).is_some_and(|b| names.callbacks.iter().any(|n| n == b.base)) => {
            null = true;
            ("user", "in")
        }
        () if t.is("void", 1) && next(1, "size_t", 0) => {
            null |= bytes(&t) && next(2, "size_t", 1);
            length = Some(given[i + 1].1.to_string());
            ("bytes", direction)
        }
        () if is_length => {
            null = true;
            ("number", "out")
        }
        () if is(&names.structs) => ("struct", if t.is_const { "in" } else { "in,out" }),
        () => {
            let needs = is_function && tag.is_none();
            assert!(!needs, "{}: the parameter `{c}{name}` needs a tag, as tests/header/abi.rs says", item.name);
            (
                if t.base == "char" {
                    "text"
                } else if t.base == "void" {
                    "bytes"
                } else {
                    "number"
                },
                direction,
            )
        }
    };
    if let Some(tag) = tag {
        let fits = tag.direction == direction || (direction == "out" && tag.direction == "in,out") || kind == "bytes";
        assert!(fits, "{}: `{name}` is tagged [{}], its type says [{direction}]", item.name, tag.direction);
        direction = tag.direction.as_str();
    }
    let mut value = json!({ "name": name, "c": c, "kind": kind, "direction": direction });
    if t.stars > 0 || kind == "callback" {
        value["null"] = null.into();
    }
    if let Some(length) = length {
        value["length"] = length.into();
    }
    if kind == "handle" && direction == "out" {
        value["owner"] = "caller".into();
    }
    value
}

/// A struct and its members.
fn structure(item: &Item, code: &str) -> Value {
    let mut rest = code[code.find('{').unwrap() + 1..code.rfind('}').unwrap()].trim();
    let mut members = Vec::new();
    while !rest.is_empty() {
        let start = if rest.starts_with("/*") { rest.find("*/").unwrap() + 2 } else { 0 };
        let end = start + rest[start..].find(';').unwrap();
        let words = rest[start..end].split_whitespace().collect::<Vec<_>>().join(" ").replace("struct ", "");
        let (c, name) = declaration(&words);
        members.push(json!({ "name": name, "c": c, "text": text_and_tags(&rest[..start]).0 }));
        rest = rest[end + 1..].trim();
    }
    described(item, json!({ "members": members }))
}

/// The linker's version script: a node for each release with the functions that it brought. Those of `ozarr_extend.h` have a node of the
/// present minor version alone, so that a program that was made with another one is refused when it starts.
pub fn version_script(document: &str, version: &str) -> String {
    let document: Value = serde_json::from_str(document).unwrap();
    let minor = version.rsplit_once('.').unwrap().0;
    let number = |release: &str| release.split('.').map(|n| n.parse::<u32>().unwrap()).collect::<Vec<_>>();
    let mut releases: BTreeMap<Vec<u32>, Vec<&str>> = BTreeMap::new();
    let mut extend = Vec::new();
    for function in document["functions"].as_array().unwrap() {
        let (name, since) = (function["name"].as_str().unwrap(), function["since"].as_str().unwrap());
        assert!(number(since) <= number(minor), "{name}: @since {since}, expected at most {minor}");
        if function["header"] == "ozarr_extend.h" { &mut extend } else { releases.entry(number(since)).or_default() }.push(name);
    }
    let node = |name: &str, functions: &mut Vec<&str>, end: &str| {
        functions.sort_unstable();
        format!("{name} {{\n  global:\n    {};\n{end}", functions.join(";\n    "))
    };
    let mut text = String::from("/* Generated from the sources by tests/header.rs: a change here is lost. */\n");
    let mut before = String::new();
    for (release, mut functions) in releases {
        let name = format!("OZARR_{}", release.iter().map(u32::to_string).collect::<Vec<_>>().join("."));
        let end = if before.is_empty() { "  local:\n    *;\n};\n".into() } else { format!("}} {before};\n") };
        text += &node(&name, &mut functions, &end);
        before = name;
    }
    text + &node(&format!("OZARR_EXTEND_{minor}"), &mut extend, "};\n")
}
