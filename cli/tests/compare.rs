//! Figures, differences, checksums and sizes: `stats`, `diff`, `digest` and `du`.

mod program;

use program::Folder;
use twox_hash::XxHash3_128;

fn doubles(values: impl IntoIterator<Item = f64>) -> Vec<u8> {
    values.into_iter().flat_map(f64::to_le_bytes).collect()
}

/// `t` of 4 x 5 doubles from 0 up with one NaN, one infinity and one missing value, text, and a group.
fn store(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.ok(r#"create run.zarr t --type float64 --shape 4,5 --chunks 2,5 --dims y,x --attrs {"units":"K"}"#);
    // In the words of a line an underscore is a blank.
    assert!(folder.command("attrs set run.zarr t").args(["missing_value", "3.0"]).status().unwrap().success());
    let value = |i: i32| match i {
        7 => f64::NAN,
        8 => f64::INFINITY,
        _ => f64::from(i),
    };
    folder.bytes("write run.zarr t --raw", &doubles((0..20).map(value)));
    folder.ok("create run.zarr/g/n --type int64 --shape 300 --chunks 7");
    let counts: Vec<u8> = (0..300i64).flat_map(|i| (i - 5).to_le_bytes()).collect();
    folder.bytes("write run.zarr/g/n --raw", &counts);
    folder.ok("create run.zarr s --type string --shape 3 --fill ab");
    folder.ok("create run.zarr empty --type float32 --shape 0,3");
    folder.ok("create run.zarr z --type complex64 --shape 2");
    folder
}

#[test]
fn figures_leave_out_what_is_missing() {
    let folder = store("stats");
    let want = "elements        20\nmissing         1\nNaN             1\ninfinite        1\nmin             0.0\nmax             19.0\nmean            10.117647058823529\n";
    let text = folder.ok("stats run.zarr/t");
    assert!(text.starts_with(want), "{text}");
    let json = folder.ok("stats run.zarr g/n --start -2 --json --histogram 2");
    for part in ["\"min\": 293", "\"max\": 294", "\"mean\": 293.5", "\"std\": 0.5", "\"counts\": [1, 1]"] {
        assert!(json.contains(part), "no {part} in {json}");
    }
    let map = folder.ok("stats run.zarr t --map");
    assert!(
        map.starts_with("[0, 0]  0.0 .. 9.0, mean 3.857142857142857, 1 missing, 1 NaN, 1 infinite\n[1, 0]  10.0 .. 19.0, mean 14.5\n"),
        "{map}"
    );
    assert!(folder.ok("stats run.zarr/empty").contains("elements        0\n"));
    for name in ["s", "z"] {
        let ran = folder.run_with(&format!("stats run.zarr/{name}"), &[]);
        assert!(ran.status == Some(1) && ran.err.contains("statistics are of real numbers"), "{}", ran.err);
    }
}

#[test]
fn differences_are_found_and_told() {
    let folder = store("diff");
    folder.ok("copy run.zarr other.zarr --format 2 --compressor gzip:1");
    assert_eq!(folder.ok("diff run.zarr other.zarr"), "");
    let differs = |line: &str, words: &[&str]| {
        let ran = folder.run_with(line, &[]);
        let out = String::from_utf8(ran.out).unwrap();
        assert_eq!((ran.status, ran.err.as_str()), (Some(1), ""), "ozarr {line}: {out}");
        words.iter().for_each(|word| assert!(out.contains(word), "ozarr {line}: no {word:?} in {out}"));
    };
    differs("diff run.zarr/t other.zarr/t --layout", &["/: zarr_format: 3 and 2", "/: codecs: "]);
    folder.bytes("write other.zarr t --raw --start 3,1 --shape 1,2", &doubles([16.0, 17.5]));
    folder.ok("attrs set other.zarr t units C");
    folder.ok("attrs set other.zarr t note null");
    folder.ok("attrs set run.zarr t comment x");
    folder.ok("create other.zarr more --group");
    folder.ok("rm other.zarr s");
    let words = [
        "only in run.zarr: s\n",
        "only in other.zarr: more\n",
        "t: attribute units: \"K\" and \"C\"\n",
        "t: attribute note: null, missing in run.zarr\n",
        "t: attribute comment: \"x\", missing in other.zarr\n",
        "t: 1 of 20 elements differ, the first at [3, 2]: 17.0 and 17.5; the largest difference is 0.5 at [3, 2]",
    ];
    differs("diff run.zarr other.zarr", &words);
    differs("diff run.zarr other.zarr --json", &["\"equal\": false", "\"only_in_a\": [\"s\"]", "\"differing\": 1", "\"value\": 0.5"]);
    assert_eq!(folder.ok("diff run.zarr/t other.zarr/t --elements --tolerance 0.5"), "");
    assert_eq!(folder.ok("diff run.zarr/t other.zarr/t --elements --relative 0.03"), "");
    differs("diff run.zarr/t other.zarr/t --elements --tolerance 0.4", &["1 of 20 elements"]);
    differs("diff run.zarr/t run.zarr/g", &["/: node: \"array\" and \"group\""]);
    for dim in ["x", "y"] {
        folder.ok(&format!(r#"create {dim}.zarr --type int8 --shape 1 --attrs {{"\u005fARRAY\u005fDIMENSIONS":["{dim}"]}}"#));
    }
    differs("diff x.zarr y.zarr", &[r#"/: dimension_names: ["x"] and ["y"]"#]);
    differs("diff run.zarr/t run.zarr/z", &["/: shape: [4,5] and [2]"]);
    folder.ok("copy run.zarr/s s.zarr");
    assert_eq!(folder.ok("diff run.zarr/s s.zarr"), "");
    let ran = folder.run_with("diff run.zarr nothing.zarr", &[]);
    assert!(ran.status == Some(2) && ran.err.contains("no node in"), "{}", ran.err);
}

/// A format has it as a text, the other as an object, and other programs have none.
#[test]
fn what_groups_have_for_programs_only_is_no_difference() {
    let folder = Folder::new("diff-programs");
    for (name, record) in [("a", r#"{"version":1,"dimensions":{}}"#), ("b", r#""{\"version\":1,\"dimensions\":{}}""#)] {
        folder.ok(&format!(r#"create {name}.zarr --group --attrs {{"title":"run","\u005fnc\u005fmodel":{record}}}"#));
    }
    folder.ok(r#"create none.zarr --group --attrs {"title":"run"}"#);
    for line in ["diff a.zarr b.zarr", "diff a.zarr none.zarr", "diff none.zarr b.zarr"] {
        assert_eq!(folder.ok(line), "", "{line}");
        let ran = folder.run_with(&format!("{line} --layout"), &[]);
        assert!(ran.status == Some(1) && String::from_utf8_lossy(&ran.out).contains("/: attribute _nc_model: "), "{line}");
    }
}

/// Format 2 has the missing value as the fill value and a number, format 3 beside it, as base64 of a double.
#[test]
fn a_missing_value_is_the_same_in_both_formats() {
    let folder = Folder::new("missing");
    // In the words of a line an underscore is a blank.
    let set = |store: &str, name: &str, value: &str| {
        let line = format!("attrs set {store}.zarr {name}");
        assert!(folder.command(&line).args(["_FillValue", value]).status().unwrap().success());
    };
    let cases = [
        ("nan", "float64", r#""AAAAAAAA+H8=""#, "0"),
        ("number", "float32", r#""AAAAAAA4j8A=""#, "0"),
        ("xarray", "float64", r#""AAAAAAA4j8A=""#, "NaN"),
        ("both", "float64", r#""AAAAAAA4j8A=""#, "-999"),
        ("packed", "int16", "-32768", "0"),
    ];
    for (name, data_type, missing, fill) in cases {
        folder.ok(&format!("create a.zarr {name} --type {data_type} --shape 2 --dims x --fill={fill}"));
        set("a", name, missing);
        let size = if name == "packed" { 2 } else { data_type[5..].parse::<usize>().unwrap() / 8 };
        folder.bytes(&format!("write a.zarr {name} --raw"), &vec![65; 2 * size]);
    }
    // Copies tell that the NaN is no longer the fill value.
    folder.ok("copy a.zarr b.zarr --format 2");
    folder.ok("copy b.zarr c.zarr --format 3");
    for (a, b) in [("a", "b"), ("b", "a"), ("b", "c")] {
        assert_eq!(folder.ok(&format!("diff {a}.zarr {b}.zarr")), "", "{a} {b}");
    }
    let told = |line: &str| String::from_utf8(folder.run_with(line, &[]).out).unwrap();
    assert!(told("diff a.zarr b.zarr --layout").contains("packed: fill_value: 0 and -32768\n"));
    set("a", "packed", "-999");
    set("b", "nan", "5");
    let text = told("diff a.zarr b.zarr");
    for word in ["packed: attribute _FillValue: -999", "packed: fill_value: 0 and -32768\n", "nan: attribute _FillValue: "] {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
}

#[test]
fn numbers_in_attributes_are_compared_by_value() {
    let folder = Folder::new("diff-spelt");
    let cases = [
        ("1.0", "1.00", true),
        ("1e3", "1000.0", true),
        ("0.1", "0.10000000000000001", true),
        ("[1.50,2,{\"a\":1E+05}]", "[1.5,2,{\"a\":1e5}]", true),
        ("18446744073709551616", "18446744073709551616", true),
        ("1e400", "1e400", true),
        ("18446744073709551616", "18446744073709551617", false),
        ("1", "1.0", false),
        ("0.0", "-0.0", false),
        ("1e400", "2e400", false),
        ("[1.0]", "[1.0,2.0]", false),
        ("{\"a\":1.0}", "{\"b\":1.0}", false),
    ];
    for (a, b, is_same) in cases {
        for (name, value) in [("a", a), ("b", b)] {
            let document = format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{"n":{value}}}}}"#);
            std::fs::create_dir_all(folder.0.join(name)).unwrap();
            std::fs::write(folder.0.join(name).join("zarr.json"), document).unwrap();
        }
        let ran = folder.run_with("diff a b", &[]);
        assert_eq!(ran.status, Some(i32::from(!is_same)), "{a} {b}: {}", String::from_utf8_lossy(&ran.out));
    }
}

#[test]
fn what_differs_is_never_equal_whatever_its_kind() {
    let folder = Folder::new("diff-kinds");
    let arrays: &[(&str, &str, Vec<u8>)] = &[
        ("plain", "float64", doubles([1.0, 5.0])),
        ("infinite", "float64", doubles([1.0, f64::INFINITY])),
        ("nan", "float64", doubles([1.0, f64::NAN])),
        ("single", "float32", [1.0f32, 5.0].iter().flat_map(|x| x.to_le_bytes()).collect()),
        ("signed", "int64", [1i64, (1 << 53) + 1].iter().flat_map(|n| n.to_le_bytes()).collect()),
        ("unsigned", "uint64", [1u64, 1 << 53].iter().flat_map(|n| n.to_le_bytes()).collect()),
        ("wide", "float64", doubles([1.0, 9007199254740992.0])),
        ("complex", "complex128", doubles([1.0, 0.0, 5.0, 0.0])),
        ("seconds", "<M8[s]", [1i64, 5].iter().flat_map(|n| n.to_le_bytes()).collect()),
        ("zeros", "int64", [1i64, 0].iter().flat_map(|n| n.to_le_bytes()).collect()),
        ("never", "<M8[s]", [1i64, i64::MIN].iter().flat_map(|n| n.to_le_bytes()).collect()),
        ("days", "<M8[D]", [1i64, 5].iter().flat_map(|n| n.to_le_bytes()).collect()),
    ];
    for (name, data_type, bytes) in arrays {
        folder.ok(&format!("create a.zarr {name} --type {data_type} --shape 2 --chunks 2"));
        folder.bytes(&format!("write a.zarr {name} --raw"), bytes);
    }
    folder.ok("create a.zarr text --type string --shape 2");
    let one = "1 of 2 elements differ, the first at [1]: ";
    let cases: &[(&str, &str, &str, i32, &str)] = &[
        ("plain", "infinite", "", 1, one),
        ("plain", "infinite", "--relative 1e-6", 1, one),
        ("infinite", "plain", "--tolerance inf", 1, one),
        ("infinite", "infinite", "", 0, ""),
        ("plain", "nan", "--tolerance 1e9", 1, one),
        ("infinite", "nan", "--tolerance inf", 1, one),
        ("nan", "nan", "", 0, ""),
        ("plain", "single", "", 0, ""),
        ("plain", "wide", "--tolerance inf", 0, ""),
        ("signed", "unsigned", "", 1, "9007199254740993 and 9007199254740992; the largest difference is 1.0"),
        ("wide", "signed", "", 1, "the largest difference is 1.0"),
        ("wide", "signed", "--tolerance 1", 0, ""),
        ("signed", "zeros", "--tolerance 9007199254740992", 1, "the first at [1]: 9007199254740993 and 0"),
        ("unsigned", "wide", "", 0, ""),
        ("seconds", "never", "--tolerance 1e300", 1, one),
        (
            "seconds",
            "days",
            "",
            1,
            r#"/: dtype: {"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}} and {"name":"numpy.datetime64","configuration":{"unit":"D","scale_factor":1}}"#,
        ),
        ("text", "plain", "", 1, "/: dtype: \"string\" and \"float64\""),
        ("complex", "plain", "", 1, "/: dtype: "),
        ("plain", "nan", "--tolerance nan", 2, "found nan, expected a number that is not negative"),
        ("plain", "nan", "--relative -1", 2, "found -1, expected a number that is not negative"),
    ];
    for (a, b, options, status, words) in cases {
        let ran = folder.run_with(&format!("diff a.zarr/{a} a.zarr/{b} --elements {options}"), &[]);
        let told = String::from_utf8(ran.out).unwrap() + &ran.err;
        assert!(ran.status == Some(*status) && told.contains(words), "{a} {b} {options}: {:?} {told}", ran.status);
    }
    // The keys are the same on both sides: the error says whose chunk is damaged.
    folder.ok("cp a.zarr b.zarr");
    std::fs::write(folder.0.join("b.zarr/plain/c/0"), [1, 2]).unwrap();
    let ran = folder.run_with("diff a.zarr b.zarr", &[]);
    assert!(ran.status == Some(2) && ran.err.starts_with("ozarr: b.zarr: plain/c/0: "), "{}", ran.err);
}

/// The definition of docs/digest.md, computed without the program's code: runs of 256 elements of an array of one dimension.
fn digest(name: &str, shape: &str, bytes: &[u8], size: usize) -> String {
    let runs = bytes.chunks(256 * size).enumerate();
    let sum = runs.fold(0u128, |sum, (i, run)| sum.wrapping_add(XxHash3_128::oneshot_with_seed(i as u64 * 256, run)));
    let mut all = format!("ozarr digest 1\n{name}\n{shape}\n").into_bytes();
    all.extend(sum.to_le_bytes());
    format!("{:032x}", XxHash3_128::oneshot(&all))
}

#[test]
fn a_digest_depends_on_the_elements_only() {
    let folder = store("digest");
    let bytes = folder.bytes("read run.zarr/g/n --raw", &[]);
    let want = digest("<i8", "300", &bytes, 8);
    assert_eq!(folder.ok("digest run.zarr/g/n"), format!("{want}  run.zarr/g/n\n"));
    let whole = folder.ok("digest run.zarr");
    assert!(whole.lines().count() == 5 && whole.contains(&format!("{want}  g/n\n")), "{whole}");
    for options in ["--format 2", "--chunks 300 --inner-chunks 50", "--compressor none --chunks 256"] {
        folder.ok(&format!("copy run.zarr/g/n n.zarr {options} --overwrite"));
        assert_eq!(folder.ok("digest n.zarr"), format!("{want}  n.zarr\n"), "{options}");
    }
    folder.ok("create big.zarr t --type >i8 --shape 300 --big-endian --chunks 11");
    folder.bytes("write big.zarr t --raw", &bytes);
    assert!(folder.ok("digest big.zarr t").starts_with(&want));
    folder.ok("digest run.zarr --store");
    assert_eq!(folder.ok("digest run.zarr --check"), "");
    assert!(folder.ok("attrs get run.zarr/g/n").contains(&format!("\"ozarr_digest\": \"{want}\"")));
    folder.bytes("write run.zarr/g/n --raw --start -1", &[0; 8]);
    let ran = folder.run_with("digest run.zarr --check", &[]);
    let out = String::from_utf8(ran.out).unwrap();
    assert!(ran.status == Some(1) && out.starts_with("g/n: found ") && out.lines().count() == 1, "{out}");
    let ran = folder.run_with("digest n.zarr --check", &[]);
    assert!(ran.status == Some(1) && ran.err.contains("--store"), "{}", ran.err);
}

#[test]
fn sizes_are_those_of_the_objects() {
    let folder = store("du");
    let size = |path: &str| -> u64 {
        let output = std::process::Command::new("find").arg(folder.0.join(path)).args(["-type", "f", "-printf", "%s\\n"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(|n| n.parse::<u64>().unwrap()).sum()
    };
    let text = folder.ok("du run.zarr");
    let row = |name: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.split_whitespace().nth(3) == Some(name)).unwrap_or_default();
        line.split_whitespace().map(String::from).collect()
    };
    assert_eq!(row("run.zarr")[0], size("run.zarr").to_string(), "{text}");
    // The document and 43 chunks.
    assert_eq!(row("g/n")[..2], [size("run.zarr/g/n").to_string(), "44".into()], "{text}");
    assert_eq!(row("g")[0], size("run.zarr/g").to_string(), "{text}");
    assert!(folder.ok("du run.zarr --depth 0 --json").starts_with("[\n  {\n    \"path\": \"\",\n    \"bytes\": "));
}

#[test]
fn chunks_that_are_not_stored_count_without_being_read() {
    let folder = Folder::new("empty-chunks");
    // 10^12 elements in 10^9 chunks, of which one is stored: its folder names it.
    folder.ok("create run.zarr t --type float32 --shape 1000000,1000000 --chunks 1,1000 --fill 2.5");
    folder.bytes("write run.zarr/t --raw --start 700000,5000 --shape 1,3", &[1.0f32, f32::NAN, 9.0].map(f32::to_le_bytes).concat());
    let text = folder.ok("stats run.zarr/t --histogram 3");
    for row in
        ["elements        1000000000000\n", "NaN             1\n", "min             1.0\n", "max             9.0\n", "mean            2.5"]
    {
        assert!(text.contains(row), "{text}");
    }
    assert!(text.contains(&format!("{:>12} ", 999_999_999_998u64)), "{text}");
    let text = folder.ok("stats run.zarr/t --start 0,0 --shape 600000,1000000 --json");
    assert!(text.contains("\"elements\": 600000000000,") && text.contains("\"min\": 2.5,"), "{text}");
}

#[test]
fn integers_of_64_bits_are_exact() {
    let folder = Folder::new("exact");
    for (kind, values) in [("uint64", [u64::MAX, (1 << 53) + 1]), ("int64", [i64::MIN as u64 + 1, i64::MAX as u64])] {
        let file = format!("{kind}.zarr");
        folder.ok(&format!("create {file} --type {kind} --shape 2"));
        folder.bytes(&format!("write {file} --raw"), &values.map(u64::to_le_bytes).concat());
        let shown = values.map(|n| if kind == "int64" { (n as i64).to_string() } else { n.to_string() });
        let (low, high) = if kind == "int64" { (&shown[0], &shown[1]) } else { (&shown[1], &shown[0]) };
        let (text, json) = (folder.ok(&format!("stats {file}")), folder.ok(&format!("stats {file} --json")));
        assert!(text.contains(&format!("min             {low}\nmax             {high}\n")), "{text}");
        assert!(json.contains(&format!("\"min\": {low},\n  \"max\": {high},")), "{json}");
        let (text, json) = (folder.ok(&format!("stats {file} --histogram 2")), folder.ok(&format!("stats {file} --histogram 2 --json")));
        assert!(text.contains(&format!("{low} .. ")) && text.contains(&format!(" .. {high} ")), "{text}");
        assert!(json.contains(&format!("\"edges\": [{low}, ")) && json.contains(&format!(", {high}],\n    \"counts\": [1, 1]")), "{json}");
    }
}
