//! What docs/conventions.md says of every function and struct, held against the interface as data.

use serde_json::Value;

/// The plain types of C and what may have them: the names of parameters and of members. Everything else is an `int64_t`, or a choice with a
/// type of its own.
const NUMBERS: &[(&str, &[&str])] = &[
    // Ranks, numbers of dimensions, levels, versions of the format, and what other interfaces have as `int`.
    (
        "int32_t",
        &[
            "rank",
            "dim",
            "depth",
            "format",
            "zarr_format",
            "level",
            "bits",
            "keep_bits",
            "checksum",
            "pad",
            "os_errno",
            "http_status",
            "reserved",
        ],
    ),
    // Bytes of memory.
    ("size_t", &["cap", "len", "size", "bytes", "offset", "memory", "item_size", "struct_size", "version_size", "decoded"]),
    ("uint32_t", &["flags", "capabilities"]),
    ("double", &["seconds", "value", "parameter", "scale", "translation", "scale_factor", "add_offset", "ratio"]),
    // Statistics and differences of numbers.
    ("double", &["min", "max", "mean", "std", "absolute", "relative", "largest_absolute", "largest_relative"]),
    ("uint8_t", &["mask"]),
];

/// The functions, callbacks and structs, each with its parameters or members.
fn parts(abi: &Value) -> impl Iterator<Item = (&str, &Value)> {
    ["functions", "callbacks", "structs"].iter().flat_map(|kind| abi[kind].as_array().unwrap()).flat_map(|item| {
        let list = if item["members"].is_array() { &item["members"] } else { &item["parameters"] };
        list.as_array().unwrap().iter().map(|part| (item["name"].as_str().unwrap(), part))
    })
}

fn bare(part: &Value) -> String {
    part["c"].as_str().unwrap().replace("const", "").replace('*', "").trim().to_string()
}

/// "Counts, indices, lengths, steps and strides are `int64_t` ..."
#[test]
fn numbers_have_the_types_of_the_conventions() {
    let abi: Value = serde_json::from_str(&super::abi()).unwrap();
    let mut seen = 0;
    for (of, part) in parts(&abi) {
        let (name, c) = (part["name"].as_str().unwrap(), bare(part));
        assert!(!["int", "long", "unsigned", "short", "float", "uint64_t", "int8_t"].contains(&c.as_str()), "{of}: `{name}` is a {c}");
        if NUMBERS.iter().any(|(number, _)| *number == c) {
            assert!(
                NUMBERS.iter().any(|(number, names)| *number == c && names.contains(&name)),
                "{of}: `{name}` is a {c}, expected int64_t or the type of a choice (docs/conventions.md, Numbers)"
            );
            seen += 1;
        }
        if name == "seconds" || name == "flags" {
            assert_eq!(c, if name == "flags" { "uint32_t" } else { "double" }, "{of}: {name}");
        }
        let one_char = ["char", "unsigned char"].contains(&c.as_str()) && part["kind"] == "value";
        assert!(!one_char, "{of}: `{name}` is a {c}");
        if ["rank", "dim", "format", "zarr_format"].contains(&name) && part["kind"] == "value" {
            assert_eq!(c, "int32_t", "{of}: {name}");
        }
        // What has a type of its own is of that type everywhere.
        for own in ["order", "overflow", "kind"] {
            assert!(name != own || c.starts_with("ozarr_"), "{of}: `{name}` is a {c}, expected the type of its constants");
        }
    }
    assert!(seen > 150, "{seen}");
}

fn name(part: &Value) -> &str {
    part["name"].as_str().unwrap()
}

fn list<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of[key].as_array().unwrap()
}

/// A parameter that receives a handle.
fn is_new_handle(parameter: &Value) -> bool {
    parameter["kind"] == "handle" && parameter["direction"] == "out"
}

/// "The object first, then inputs, then outputs; a list before its length, a buffer before its capacity ..."
#[test]
fn arguments_are_in_the_order_of_the_conventions() {
    let abi: Value = serde_json::from_str(&super::abi()).unwrap();
    for function in list(&abi, "functions") {
        let (of, all) = (name(function), list(function, "parameters"));
        let at = |wanted: &str| all.iter().position(|p| name(p) == wanted);
        let mut output = None;
        for (i, p) in all.iter().enumerate() {
            match (p["direction"] == "out", output) {
                (true, _) => output = Some(name(p)),
                // The size of what is written belongs to it.
                (false, Some(before)) => assert!(["cap", "size"].contains(&name(p)), "{of}: `{}` is behind the output `{before}`", name(p)),
                (false, None) => {}
            }
            if let Some(length) = p["length"].as_str().and_then(&at)
                && !["rank", "count"].contains(&name(&all[length]))
            {
                assert!(length > i, "{of}: `{}` is behind its length", name(p));
            }
            if let (true, Some(length @ ("size" | "cap"))) = (p["kind"] == "bytes" || p["kind"] == "text", p["length"].as_str()) {
                let next: Vec<&str> = all[i + 1..].iter().take(2).map(name).collect();
                assert_eq!(next.first(), Some(&length), "{of}: behind `{}`", name(p));
                let is_text_out = p["kind"] == "text" && p["direction"] == "out" && length == "cap";
                assert!(!is_text_out || next.get(1) == Some(&"len"), "{of}: `{}` and cap are not followed by len", name(p));
            }
            assert!(!is_new_handle(p) || p["owner"] == "caller", "{of}: nobody owns `{}`", name(p));
        }
        let new: Vec<usize> = (0..all.len()).filter(|&i| is_new_handle(&all[i])).collect();
        if let (Some(first), Some(last)) = (new.first(), new.last()) {
            assert_eq!((last - first + 1, last + 1), (new.len(), all.len()), "{of}: a new handle is not the last argument");
            assert!(new.iter().all(|&i| ["out", "array", "group"].contains(&name(&all[i]))), "{of}");
        }
    }
}

/// The rows: what begins the function's name, and the type of its first argument. The first row that fits counts.
const OBJECTS: &[(&str, &str)] = &[
    ("ozarr_node_iter_", "ozarr_node_iter"),
    ("ozarr_array_", "ozarr_array"),
    ("ozarr_group_", "ozarr_group"),
    ("ozarr_node_", "ozarr_node"),
    ("ozarr_attr_", "ozarr_node"),
    ("ozarr_spec_", "ozarr_spec"),
    ("ozarr_dtype_", "ozarr_dtype"),
    ("ozarr_dataset_", "ozarr_dataset"),
    ("ozarr_series_", "ozarr_series"),
    ("ozarr_appender_", "ozarr_appender"),
    ("ozarr_context_", "ozarr_context"),
    ("ozarr_request_", "ozarr_request"),
    ("ozarr_store_", "ozarr_store"),
    ("ozarr_varlen_", "ozarr_varlen"),
    ("ozarr_chunk_iter_", "ozarr_chunk_iter"),
    ("ozarr_shard_writer_", "ozarr_shard_writer"),
];

/// "`ozarr_`, the object, what is done": the object is the first argument, but where one is made, or is erased by its location.
#[test]
fn functions_are_named_after_their_first_argument() {
    let abi: Value = serde_json::from_str(&super::abi()).unwrap();
    let mut seen = 0;
    for function in list(&abi, "functions") {
        let (of, all) = (name(function), list(function, "parameters"));
        let Some((_, object)) = OBJECTS.iter().find(|(start, _)| of.starts_with(start)) else { continue };
        if all.iter().any(is_new_handle) || of == "ozarr_node_erase" {
            continue;
        }
        assert_eq!(all.first().map(bare).as_deref(), Some(*object), "{of}");
        seen += 1;
    }
    assert!(seen > 150, "{seen}");
}

/// Statuses, callbacks and structs.
#[test]
fn results_callbacks_and_structs_are_as_the_conventions_say() {
    let abi: Value = serde_json::from_str(&super::abi()).unwrap();
    for function in list(&abi, "functions") {
        let (of, result) = (name(function), function["result"].as_str().unwrap());
        let fits = match result {
            "ozarr_status" => true,
            "void" => of.ends_with("_free"),
            "ozarr_node *" => of.ends_with("_node"),
            // What cannot fail.
            _ => {
                ["ozarr_status_name", "ozarr_last_error", "ozarr_last_error_in", "ozarr_version", "ozarr_abi_version", "ozarr_has_feature"]
                    .contains(&of)
            }
        };
        assert!(fits, "{of} returns {result}, expected ozarr_status");
    }
    for callback in list(&abi, "callbacks") {
        let (of, result, first) = (name(callback), callback["result"].as_str().unwrap(), &list(callback, "parameters")[0]);
        assert!(of.ends_with("_fn") && name(first) == "user" && first["c"] == "void *", "{of}");
        let frees = of.contains("destroy") || of.contains("close");
        assert_eq!(result, if frees { "void" } else { "ozarr_status" }, "{of}");
    }
    for of in list(&abi, "structs").iter().filter(|s| name(s) != "ozarr_byte_range") {
        let first = &list(of, "members")[0];
        assert!(name(first) == "struct_size" && first["c"] == "size_t", "{} does not begin with its size", name(of));
    }
}

/// Statuses are `OZARR_OK` and negative numbers, each once; the members of an enum in a header are of one type.
#[test]
fn statuses_are_0_and_negative_and_constants_of_one_enum_have_one_type() {
    let abi: Value = serde_json::from_str(&super::abi()).unwrap();
    let constants = list(&abi, "constants");
    let mut statuses: Vec<i64> = constants.iter().filter(|c| c["type"] == "ozarr_status").map(|c| c["value"].as_i64().unwrap()).collect();
    let all = statuses.len();
    statuses.sort_unstable();
    statuses.dedup();
    assert!(all > 20 && statuses.len() == all && statuses.last() == Some(&0), "{statuses:?}");
    let type_of = |constant: &str| constants.iter().find(|c| name(c) == constant).map(|c| &c["type"]);
    let mut enums = 0;
    let headers: std::collections::BTreeSet<_> = constants.iter().map(|c| c["header"].as_str().unwrap()).collect();
    for header in headers {
        let text = std::fs::read_to_string(super::root().join("include").join(header)).unwrap();
        for body in text.split("\nenum {").skip(1).map(|rest| rest.split("\n};").next().unwrap()) {
            let members = body.lines().filter_map(|line| line.trim().split_once(" = ").map(|(name, _)| name));
            let types: Vec<_> = members.filter(|member| member.starts_with("OZARR_")).map(type_of).collect();
            assert!(!types.is_empty() && types.iter().all(|t| t.is_some() && *t == types[0]), "{header}: an enum of several types: {body}");
            enums += 1;
        }
    }
    assert!(enums > 3, "{enums}");
}

/// "Each function's text names the statuses with which it can fail ..."
#[test]
fn functions_name_their_errors() {
    let abi: Value = serde_json::from_str(&super::abi()).unwrap();
    let known: Vec<&str> = list(&abi, "constants").iter().filter(|c| c["type"] == "ozarr_status").map(name).collect();
    for function in list(&abi, "functions") {
        let (of, text) = (name(function), function["text"].as_str().unwrap());
        let said: Vec<&str> = text.lines().filter(|line| line.starts_with("Errors: ")).collect();
        assert_eq!(said.len(), usize::from(function["result"] == "ozarr_status"), "{of}: the paragraphs `Errors:` are {said:?}");
        let of_a_class = |error: &str| super::abi::CLASSES.iter().any(|(class, _)| *class == error);
        for error in list(function, "errors").iter().map(|e| e.as_str().unwrap()) {
            assert!(known.contains(&error) || of_a_class(error), "{of}: {error} is no status");
        }
        let Some(line) = said.first() else { continue };
        let none = *line == "Errors: none of its own.";
        assert!(none || line.contains("`OZARR_ERR_") || line.contains("those of "), "{of}: {line:?} names no error");
    }
}

/// The head of ozarr.h says what the words of the paragraphs `Errors:` stand for.
#[test]
fn the_head_of_the_header_has_the_classes_of_errors() {
    let head = super::config().header.unwrap().replace("\n *", "");
    let text: Vec<&str> = head.split("Errors.").nth(1).unwrap().split("Threads.").next().unwrap().split(" - ").collect();
    for ((class, statuses), part) in super::abi::CLASSES.iter().zip(text) {
        let words: Vec<&str> =
            part.split(|c: char| !(c.is_ascii_uppercase() || c == '_')).filter_map(|w| w.strip_prefix("OZARR_ERR_")).collect();
        let missing: Vec<_> = statuses.iter().filter(|s| !words.contains(s)).collect();
        assert!(missing.is_empty() && (*class == "every" || part.contains(class)), "{class}: {missing:?} are not in {part:?}");
    }
}
