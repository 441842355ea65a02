//! The option --json, which every command has that tells or does something.

mod program;

use ozarr::node::{Value, json};
use program::Folder;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// A store with an array along `time`, a group with an array in it, the same in version 2, and an archive.
fn stores(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.ok(r#"create run.zarr t --type float32 --shape 2,3 --chunks 1,3 --dims time,x --attrs {"units":"K"} --fill NaN"#);
    folder.bytes("write run.zarr t --raw", &[0u8; 24]);
    folder.ok("create run.zarr g/u --type int16 --shape 3");
    folder.ok("create old.zarr t --type <i4 --shape 4 --format 2 --fill null");
    folder.ok("cp run.zarr run.zip");
    folder
}

/// Runs a command, and gives what it printed, as JSON.
fn told(folder: &Folder, line: &str, input: &[u8]) -> Value {
    let text = String::from_utf8(folder.bytes(line, input)).unwrap();
    json::parse_text(&text).unwrap_or_else(|e| panic!("ozarr {line}: {e}: {text}"))
}

/// Each command with its arguments, and a part of what it tells.
const COMMANDS: &[(&str, &str)] = &[
    ("tree run.zarr", r#"{"path":"g","node_type":"group"}"#),
    ("ls run.zarr", r#"["g","t"]"#),
    ("info run.zarr t", r#""shape":[2,3]"#),
    ("dump run.zarr", r#""dimensions":{"time":2,"x":3}"#),
    ("read run.zarr t --shape 1,2", "[0.0,0.0]"),
    ("stats run.zarr t", r#""elements":6"#),
    ("diff run.zarr run.zip", r#""equal":true"#),
    ("digest run.zarr", r#""g/u":"#),
    ("digest run.zarr --store", r#""t":"#),
    ("digest run.zarr --check", r#""equal":true"#),
    ("du run.zarr", r#""path":"g/u""#),
    ("tail run.zarr --until 1", r#""step":0"#),
    ("plot run.zarr t -o t.png", r#""output":"t.png""#),
    ("explain run.zarr t", r#""chunks""#),
    ("tune run.zarr t --sample 4K --access whole", r#""layouts""#),
    (
        "create run.zarr new --type int8 --shape 4",
        r#"{"node":"run.zarr/new","created":true,"node_type":"array","zarr_format":3,"shape":[4],"chunks":[4]}"#,
    ),
    ("create run.zarr new --type int8 --shape 4 --exists-ok", r#""created":false"#),
    ("create run.zarr/h --group", r#"{"node":"run.zarr/h","created":true,"node_type":"group","zarr_format":3}"#),
    ("write run.zarr new --raw --start 1", r#"{"written":"run.zarr/new","start":[1],"shape":[3],"step":[1],"bytes":3}"#),
    ("attrs get run.zarr t units", r#""K""#),
    ("attrs set run.zarr t k [1,2]", r#"{"node":"run.zarr/t","set":"k","value":[1,2]}"#),
    ("attrs rm run.zarr t k", r#"{"node":"run.zarr/t","removed":"k"}"#),
    ("resize run.zarr/new --shape 6", r#"{"before":[4],"shape":[6]}"#),
    ("consolidate run.zarr", r#"{"consolidated":"run.zarr"}"#),
    ("consolidate run.zarr --check", "[]"),
    ("cp run.zarr g.zarr --verify", r#""to":"g.zarr","objects":"#),
    ("copy run.zarr/t c.zarr --chunks 2,3", "[]"),
    ("migrate old.zarr new.zarr", r#"["t: the fill value null became 0"]"#),
    ("zip-repair run.zip", r#""changed":false"#),
    ("rm run.zarr/new", r#"{"erased":"run.zarr/new","node_type":"array"}"#),
];

#[test]
fn every_command_tells_json() {
    let folder = stores("json");
    for (line, part) in COMMANDS {
        let input: &[u8] = if line.starts_with("write") { &[7; 3] } else { &[] };
        let found = json::to_compact(&told(&folder, &format!("{line} --json"), input));
        assert!(found.contains(part), "ozarr {line} --json: no {part} in {found}");
    }
    // One object for each fault, and one at the end.
    std::fs::write(folder.0.join("run.zarr/t/foreign"), "").unwrap();
    let ran = folder.run_with("verify run.zarr --json", &[]);
    let lines: Vec<Value> = String::from_utf8(ran.out).unwrap().lines().map(|line| json::parse_text(line).unwrap()).collect();
    assert_eq!((ran.status, lines.len()), (Some(1), 2), "{}", ran.err);
    // The page is served until somebody ends it.
    let mut child = folder.command("view run.zarr --no-browser --json").stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !text.ends_with("}\n") {
        text.push_str(&lines.next().unwrap().unwrap());
        text.push('\n');
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let address = json::parse_text(&text).unwrap();
    assert!(address["address"].as_str().unwrap().contains(&format!(":{}/", address["port"].as_u64().unwrap())), "{text}");
}

#[test]
fn the_table_has_every_command() {
    let folder = Folder::new("json_help");
    let help = folder.ok("--help");
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    for name in list.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()) {
        // These make files of other kinds, and `from` needs the library of netCDF: tests/peers/from_check.py runs it.
        let elsewhere = ["completions", "man", "verify", "view", "from"].contains(&name);
        assert!(elsewhere || COMMANDS.iter().any(|(line, _)| line.split(' ').next() == Some(name)), "{name} is in no row");
        assert!(
            ["completions", "man"].contains(&name) || name == "attrs" || folder.ok(&format!("{name} --help")).contains("--json"),
            "{name}"
        );
    }
}

/// Other programs put bare NaN and infinities into attributes, which JSON has no form for.
#[test]
fn numbers_that_are_none_are_strings_in_json() {
    let folder = Folder::new("json_nan");
    for (store, value) in [("a.zarr", "NaN"), ("b.zarr", "[-Infinity]")] {
        folder.ok(&format!("create {store} t --type float32 --shape 2,3"));
        folder.ok(&format!("attrs set {store} t lowest {value} --non-finite"));
    }
    let ran = folder.run_with("diff a.zarr b.zarr --json", &[]);
    let found = json::parse_text(std::str::from_utf8(&ran.out).unwrap()).unwrap();
    assert_eq!(json::to_compact(&found["differences"][0]), r#"{"path":"t","what":"attribute lowest","a":"NaN","b":["-Infinity"]}"#);
    assert_eq!(
        told(&folder, "tune a.zarr t --sample 4K --access whole --json", &[])["metadata"]["attributes"]["lowest"].as_str(),
        Some("NaN")
    );
}

#[test]
fn the_times_of_tune_have_the_latency_of_each_read_in_them() {
    let folder = Folder::new("json_tune");
    folder.ok("create a.zarr t --type uint8 --shape 2,3");
    folder.bytes("write a.zarr t --raw", &[1, 2, 3, 4, 5, 6]);
    let found = told(&folder, "tune a.zarr t --sample 4K --access whole --latency 100000 --json", &[]);
    let access = &found["layouts"][0]["accesses"][0];
    let (ms, reads) = (access["ms"].as_f64().unwrap(), access["reads"].as_f64().unwrap());
    assert!(reads > 0.0 && ms >= reads * 1e5, "{reads} reads in {ms} ms");
}

#[test]
fn errors_print_no_json() {
    let folder = stores("json_errors");
    for line in ["create run.zarr t --type int8 --shape 2", "rm run.zarr none", "cp run.zarr/t run.zarr/g/u", "dump none.zarr"] {
        let ran = folder.run_with(&format!("{line} --json"), &[]);
        assert_eq!((ran.status, ran.out.len(), ran.err.lines().count()), (Some(1), 0, 1), "ozarr {line}: {}", ran.err);
    }
}

#[test]
fn a_dimension_of_another_length_gets_a_name_of_its_own() {
    let folder = Folder::new("json_dims");
    // The second array's dimension `x` cannot be the first one's, and `x_3` is there with another length.
    for (name, shape, dims) in [("a", "2", "x"), ("b", "1", "x_3"), ("c", "2,3", "t,x"), ("d", "2,3", "t,x")] {
        let mut create = folder.command(&format!("create d.zarr {name} --type int8 --shape {shape} --dims"));
        assert!(create.arg(dims).status().unwrap().success());
    }
    for name in ["c", "d"] {
        folder.bytes(&format!("write d.zarr {name} --raw"), &[0, 1, 2, 3, 4, 5]);
    }
    let all = told(&folder, "dump d.zarr --json", &[]);
    for name in ["c", "d"] {
        let variable = &all["variables"][name];
        assert_eq!(json::to_compact(&variable["data"]), "[[0,1,2],[3,4,5]]");
        assert_eq!(json::to_compact(&variable["shape"]), r#"["t","x_3_2"]"#);
    }
    assert_eq!(json::to_compact(&all["dimensions"]), r#"{"x":2,"x_3":1,"t":2,"x_3_2":3}"#);
}

#[test]
fn a_dump_in_json_has_what_cdl_has() {
    let folder = Folder::new("json_dump");
    folder.ok(r#"create d.zarr t --type float32 --shape 2,2 --chunks 1,2 --dims time,x --attrs {"\u005fFillValue":0.1,"n":[1,2.5]}"#);
    let floats = [0.1f32, f32::NAN, 1e20, f32::INFINITY];
    folder.bytes("write d.zarr t --raw", &floats.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
    folder.ok("create d.zarr g/names --type |S1 --shape 2,3 --dims n,len");
    folder.bytes("write d.zarr g/names --raw", b"ab\0\"\0\0");
    folder.ok("create d.zarr g/none --type int8 --shape 0");
    folder.ok("create d.zarr scalar --type int64 --shape=");
    folder.ok("create d.zarr z --type complex64 --shape 1");
    folder.ok("create d.zarr text --type string --shape 2");
    for (name, data_type) in [("day", "<M8[D]"), ("fort", "<M8[2W]"), ("lag", "<m8[ms]")] {
        folder.ok(&format!("create d.zarr {name} --type {data_type} --shape 2"));
        folder.bytes(&format!("write d.zarr {name} --raw"), &[365i64, i64::MIN].map(i64::to_le_bytes).concat());
    }
    let all = told(&folder, "dump d.zarr --json", &[]);
    let compact = |value: &Value| json::to_compact(value);
    let cases: &[(&Value, &str)] = &[
        (&all["variables"]["t"]["data"], r#"[[null,"NaN"],[1e20,"Infinity"]]"#),
        (&all["variables"]["t"]["shape"], r#"["time","x"]"#),
        (&all["variables"]["t"]["type"], r#""float""#),
        (&all["variables"]["t"]["attributes"], r#"{"_FillValue":0.1,"n":[1.0,2.5]}"#),
        (&all["variables"]["scalar"]["data"], "0"),
        (&all["variables"]["text"]["data"], "[null,null]"),
        (&all["groups"]["g"]["variables"]["names"]["data"], r#"["ab","\""]"#),
        (&all["groups"]["g"]["variables"]["none"]["data"], "[]"),
        (&all["dimensions"]["time"], "2"),
        // What the type of times says is said by attributes.
        (&all["variables"]["day"]["data"], "[365,null]"),
        (&all["variables"]["day"]["attributes"], r#"{"_FillValue":-9223372036854775808,"units":"days since 1970-01-01"}"#),
        (&all["variables"]["lag"]["attributes"], r#"{"_FillValue":-9223372036854775808,"units":"milliseconds"}"#),
        (&all["variables"]["fort"]["attributes"], r#"{"_FillValue":-9223372036854775808}"#),
    ];
    for (value, want) in cases {
        assert_eq!(compact(value), *want);
    }
    assert!(compact(&all["left_out"]["z"]).contains("no type"), "{}", compact(&all));
    let header = told(&folder, "dump d.zarr --json -h", &[]);
    assert!(header["variables"]["t"].get("data").is_none() && compact(&header["groups"]).contains("names"));
}
