//! Every subcommand, as a user calls it.

mod program;

use program::Folder;

fn doubles(values: impl IntoIterator<Item = i32>) -> Vec<u8> {
    values.into_iter().flat_map(|v| f64::from(v).to_le_bytes()).collect()
}

/// A store with `t`, 4 x 5 doubles from 0 up, a group `g` with an array in it, and attributes.
fn store(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.ok(r#"create run.zarr t --type float64 --shape 4,5 --chunks 2,5 --dims y,x --attrs {"units":"K"} --fill NaN"#);
    folder.bytes("write run.zarr t --raw", &doubles(0..20));
    folder.ok("create run.zarr/g/u --type <i2 --shape 3 --chunks 3 --compressor none");
    folder
}

#[test]
fn help_names_every_subcommand_and_every_option_says_what_it_does() {
    let folder = Folder::new("help");
    let help = folder.ok("--help");
    for name in "tree ls info read create write attrs resize rm consolidate cp completions man".split(' ') {
        assert!(help.contains(&format!("\n  {name} ")), "{name}");
        assert!(folder.ok(&format!("{name} --help")).contains("Usage: ozarr "), "{name}");
    }
    assert_eq!(folder.ok("--version"), format!("ozarr {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn what_is_there_is_shown() {
    let folder = store("shown");
    let tree = "run.zarr\n├── g\n│   └── u  int16 [3] in chunks of [3]\n└── t  float64 [4, 5] in chunks of [2, 5]\n";
    let cases: &[(&str, &str)] = &[
        ("tree run.zarr", tree),
        ("tree run.zarr --depth 1", "run.zarr\n├── g\n└── t  float64 [4, 5] in chunks of [2, 5]\n"),
        ("tree run.zarr/g/u", "run.zarr/g/u  int16 [3] in chunks of [3]\n"),
        ("tree run.zarr g", "run.zarr/g\n└── u  int16 [3] in chunks of [3]\n"),
        ("ls run.zarr", "g  group\nt  float64 [4, 5] in chunks of [2, 5]\n"),
        ("ls run.zarr --json", "[\"g\", \"t\"]\n"),
        ("ls run.zarr / --json", "[\"g\", \"t\"]\n"),
        ("ls run.zarr/g --json", "[\"u\"]\n"),
        ("attrs get run.zarr t", "{\n  \"units\": \"K\"\n}\n"),
        ("attrs get run.zarr/t units", "\"K\"\n"),
        ("attrs get run.zarr t units", "\"K\"\n"),
        ("attrs get run.zarr", "{}\n"),
    ];
    for (line, want) in cases {
        assert_eq!(folder.ok(line), *want, "ozarr {line}");
    }
}

#[test]
fn info_has_every_member() {
    let folder = store("info");
    folder.ok("create run.zarr s --type int32 --shape 8,6 --chunks 4,6 --inner-chunks 2,3");
    folder.ok("create run.zarr old --type >f4 --shape 7 --chunks 4 --format 2 --fill null --compressor zlib:3");
    folder.ok("create run.zarr shards --type int8 --shape 8 --chunks 8 --inner-chunks 4 --codec bytes --codec crc32c");
    let cases: &[(&str, &[&str])] = &[
        ("t", &["\"node_type\": \"array\"", "\"zarr_format\": 3", "\"shape\": [4, 5]", "\"chunks\": [2, 5]", "\"inner_chunks\": null"]),
        (
            "t",
            &[
                "\"dtype\": \"float64\"",
                "\"fill_value\": \"NaN\"",
                "\"name\": \"zstd\"",
                "\"dimension_names\": [\"y\", \"x\"]",
                "\"units\": \"K\"",
            ],
        ),
        (
            "s",
            &["\"chunks\": [4, 6]", "\"inner_chunks\": [2, 3]", "\"sharding_indexed\"", "\"dimension_names\": null", "\"attributes\": {}"],
        ),
        ("old", &["\"zarr_format\": 2", "\"dtype\": \">f4\"", "\"fill_value\": null", "\"id\": \"zlib\"", "\"order\": \"C\""]),
        ("shards", &["\"chunks\": [8]", "\"inner_chunks\": [4]", "\"crc32c\""]),
        ("g", &["\"node_type\": \"group\"", "\"zarr_format\": 3", "\"attributes\": {}"]),
    ];
    for (node, members) in cases {
        let text = folder.ok(&format!("info run.zarr {node} --json"));
        for member in *members {
            assert!(text.contains(member), "{node}: no {member} in {text}");
        }
    }
    assert!(folder.ok("info run.zarr/t").contains("dtype           float64\n"));
    assert!(folder.ok("info run.zarr g/u --stored").contains("stored          0 of 1 chunks, 0 bytes, ratio null\n"));
    folder.bytes("write run.zarr g/u --raw", &[1, 0, 2, 0, 3, 0]);
    let stored = "\"stored\": {\n    \"chunks\": 1,\n    \"possible_chunks\": 1,\n    \"bytes\": 6,\n    \"ratio\": 1.0\n  }";
    let text = folder.ok("info run.zarr g/u --json --stored");
    assert!(text.contains(stored), "{text}");
}

#[test]
fn numbers_that_are_none_are_strings_in_info() {
    let folder = Folder::new("nonfinite");
    std::fs::create_dir_all(folder.0.join("a.zarr")).unwrap();
    std::fs::write(folder.0.join("a.zarr/.zgroup"), "{\"zarr_format\": 2}").unwrap();
    std::fs::write(folder.0.join("a.zarr/.zattrs"), "{\"a\": NaN, \"b\": [-Infinity, 1]}").unwrap();
    let text = folder.ok("info a.zarr --json");
    assert!(text.contains("\"a\": \"NaN\"") && text.contains("[\"-Infinity\", 1]"), "{text}");
    assert_eq!(folder.ok("attrs get a.zarr a"), "\"NaN\"\n");
    folder.ok("attrs set a.zarr c NaN");
    folder.ok("attrs set --non-finite a.zarr d [NaN,1]");
    folder.ok("attrs set --non-finite a.zarr e text");
    let stored = std::fs::read_to_string(folder.0.join("a.zarr/.zattrs")).unwrap();
    for member in ["\"a\": NaN", "[-Infinity, 1]", "\"c\": \"NaN\"", "\"d\": [NaN, 1]", "\"e\": \"text\""] {
        assert!(stored.contains(member), "{stored}");
    }
}

#[test]
fn regions_are_read_in_every_form() {
    let folder = store("read");
    let cases: &[(&str, &str)] = &[
        ("--json --shape 1,3", "[0.0, 1.0, 2.0]\n"),
        ("--json --start 2,4 --shape 0,1", "[]\n"),
        ("--csv --start 2,0", "10.0,11.0,12.0,13.0,14.0\n15.0,16.0,17.0,18.0,19.0\n"),
        ("--csv --step -3,-2", "19.0,17.0,15.0\n4.0,2.0,0.0\n"),
        ("--csv --step=2,1 --start=1,3", "8.0,9.0\n18.0,19.0\n"),
        ("--csv --type uint8 --shape 1,2", "0,1\n"),
        ("--csv --start 4,0", ""),
    ];
    for (options, want) in cases {
        assert_eq!(folder.ok(&format!("read run.zarr t {options}")), *want, "{options}");
    }
    assert_eq!(folder.bytes("read run.zarr/t --raw", &[]), doubles(0..20));
    assert_eq!(folder.bytes("read run.zarr t --raw --start 1,1 --shape 2,1", &[]), doubles([6, 11]));
    let npy = folder.bytes("read run.zarr t --npy --shape 2,1", &[]);
    assert!(npy.starts_with(b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }"));
    assert_eq!(npy[128..], doubles([0, 5]));
    folder.ok("create run.zarr scalar --type float16 --shape= --fill 0.5");
    assert_eq!(folder.ok("read run.zarr scalar --csv"), "0.5\n");
    assert_eq!(folder.bytes("read run.zarr scalar --raw", &[]), [0x00, 0x38]);
    folder.ok("create run.zarr line --type complex64 --shape 2 --fill [0,-1]");
    assert_eq!(folder.ok("read run.zarr line --csv"), "0.0-1.0j\n0.0-1.0j\n");
    assert_eq!(folder.ok("read run.zarr line --json"), "[[0.0, -1.0], [0.0, -1.0]]\n");
}

#[test]
fn regions_are_written_from_every_source() {
    let folder = store("write");
    folder.bytes("write run.zarr t --raw --start 1,1 --shape 2,2", &doubles([-1, -2, -3, -4]));
    assert_eq!(folder.ok("read run.zarr t --csv --start 1,0 --shape 2,3"), "5.0,-1.0,-2.0\n10.0,-3.0,-4.0\n");
    folder.bytes("write run.zarr t --raw --step 1,2", &doubles((0..12).map(|_| 7)));
    assert_eq!(folder.ok("read run.zarr t --csv --shape 2,5"), "7.0,1.0,7.0,3.0,7.0\n7.0,-1.0,7.0,8.0,7.0\n");
    folder.bytes("write run.zarr g/u --raw --type float64", &doubles([1, 2, 3]));
    assert_eq!(folder.ok("read run.zarr g/u --json"), "[1, 2, 3]\n");
    let npy = folder.bytes("read run.zarr g/u --npy", &[]);
    std::fs::write(folder.0.join("u.npy"), &npy).unwrap();
    folder.ok("create run.zarr v --type float32 --shape 5");
    folder.ok("write run.zarr v --npy -i u.npy --start 2");
    assert_eq!(folder.ok("read run.zarr v --json"), "[0.0, 0.0, 1.0, 2.0, 3.0]\n");
    folder.bytes("write run.zarr v --npy --start 4 --step -2 --input -", &npy);
    assert_eq!(folder.ok("read run.zarr v --json"), "[3.0, 0.0, 2.0, 2.0, 1.0]\n");
    // Big-endian elements, the first dimension fastest.
    let mut fortran = b"\x93NUMPY\x01\x00\x76\x00{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }".to_vec();
    fortran.resize(127, b' ');
    fortran.push(b'\n');
    fortran.extend((1..=6).flat_map(i16::to_be_bytes));
    folder.ok("create run.zarr f --type int32 --shape 2,3");
    folder.bytes("write run.zarr f --npy", &fortran);
    assert_eq!(folder.ok("read run.zarr f --csv"), "1,3,5\n2,4,6\n");
}

#[test]
fn arrays_and_groups_are_created_as_asked() {
    let folder = Folder::new("create");
    folder.ok(r#"create a.zarr g --group --format 2 --attrs {"k":1}"#);
    assert_eq!(folder.ok("attrs get a.zarr g k"), "1\n");
    folder.ok("create a.zarr g --group --exists-ok");
    let cases: &[(&str, &[&str])] = &[
        ("--type bool --shape 2", &["|b1", "zstd"]),
        ("--type int16 --shape 2,2 --order F --separator / --big-endian", &[">i2", "\"order\": \"F\""]),
        (r#"--type int16 --shape 2 --codec {"id":"delta","dtype":"<i2"} --codec {"id":"zlib","level":1}"#, &["delta", "zlib"]),
        (r#"--type int16 --shape 2 --codec {"id":"delta","dtype":"<i2"} --compressor none"#, &["delta"]),
        (r#"--type int16 --shape 2 --compressor {"id":"gzip","level":2}"#, &["gzip"]),
        ("--type float64 --shape 2,2 --dims time,x", &["[\"time\", \"x\"]"]),
        ("--type float64 --shape 2,2 --format 3 --dims time,", &["[\"time\", null]"]),
        ("--type int8 --shape 2 --format 3 --key-encoding v2 --fill -1", &["\"fill_value\": -1"]),
        (
            r#"--type int8 --shape 2 --codec [{"name":"bytes"},{"name":"gzip","configuration":{"level":1}}]"#,
            &["gzip", "\"zarr_format\": 3"],
        ),
        ("--type float32 --shape 0,3 --chunks 1,3 --compressor blosc:9 --format 3 --fill 0x7fc00001", &["blosc", "0x7fc00001"]),
    ];
    for (i, (options, members)) in cases.iter().enumerate() {
        folder.ok(&format!("create a.zarr g/x{i} {options}"));
        let text = folder.ok(&format!("info a.zarr g/x{i} --json"));
        for member in *members {
            assert!(text.contains(member), "{options}: no {member} in {text}");
        }
        folder.ok(&format!("create a.zarr g/x{i} {options} --exists-ok"));
        folder.ok(&format!("create a.zarr g/x{i} {options} --overwrite"));
    }
    assert!(folder.0.join("a.zarr/g/x9/zarr.json").exists() && folder.0.join("a.zarr/g/x1/.zarray").exists());
    folder.ok("create a.zarr copy --metadata a.zarr/g/x9/zarr.json --attrs {\"a\":2}");
    let text = folder.ok("info a.zarr copy --json");
    assert!(text.contains("0x7fc00001") && text.contains("\"a\": 2"), "{text}");
}

#[test]
fn nodes_are_changed_copied_and_erased() {
    let folder = store("changed");
    folder.ok(r#"attrs set run.zarr t count 3"#);
    folder.ok(r#"attrs set run.zarr/t count 3 --string"#);
    folder.ok(r#"attrs set run.zarr/t list [1,{"a":null}]"#);
    folder.ok("attrs set run.zarr/t name two_words");
    folder.ok("attrs set run.zarr/t low -1");
    folder.ok("attrs rm run.zarr t units");
    assert_eq!(
        folder.ok("attrs get run.zarr t").split_whitespace().collect::<String>(),
        r#"{"count":"3","list":[1,{"a":null}],"name":"twowords","low":-1}"#
    );

    folder.ok("consolidate run.zarr");
    folder.ok("resize run.zarr t --shape 3,6");
    assert_eq!(folder.ok("read run.zarr t --csv --start 2,0"), "10.0,11.0,12.0,13.0,14.0,nan\n");
    folder.ok("resize run.zarr t --shape 2,5 --keep-outside");
    folder.ok("resize run.zarr t --shape 4,5");
    assert_eq!(folder.ok("read run.zarr t --csv --start 2,3"), "13.0,14.0\nnan,nan\n");

    folder.ok("cp run.zarr other.zarr");
    assert_eq!(folder.ok("tree other.zarr").replace("other", "run"), folder.ok("tree run.zarr"));
    assert_eq!(folder.bytes("read other.zarr t --raw", &[]), folder.bytes("read run.zarr t --raw", &[]));
    folder.ok("cp run.zarr/g/u other.zarr/deep/down");
    folder.ok("cp run.zarr/t other.zarr/deep/down --overwrite");
    assert_eq!(folder.ok("ls other.zarr/deep"), "down  float64 [4, 5] in chunks of [2, 5]\n");
    let consolidated = std::fs::read_to_string(folder.0.join("other.zarr/zarr.json")).unwrap();
    assert!(consolidated.contains("deep/down"), "{consolidated}");

    folder.ok("rm run.zarr t");
    folder.ok("rm run.zarr/g -r");
    assert_eq!(folder.ok("ls run.zarr --json"), "[]\n");
    folder.ok("rm run.zarr");
    assert!(!folder.0.join("run.zarr/zarr.json").exists());
}

#[test]
fn nodes_that_cannot_be_understood_are_shown_with_the_reason() {
    let folder = store("unreadable");
    for name in ["bad", "new\nline\u{1b}[31m"] {
        std::fs::create_dir_all(folder.0.join("run.zarr").join(name)).unwrap();
        std::fs::write(folder.0.join("run.zarr").join(name).join("zarr.json"), "{").unwrap();
    }
    for command in ["ls", "tree"] {
        let text = folder.ok(&format!("{command} run.zarr"));
        assert!(text.contains("bad") && text.contains("unreadable: bad/zarr.json: invalid JSON"), "{text}");
        assert!(text.contains("new\\nline\\u{1b}[31m") && !text.contains('\u{1b}'), "{text}");
    }
    assert!(folder.ok("ls run.zarr --json").contains(r#""new\nline\u001b[31m""#));
}

#[test]
fn shells_and_man_are_served() {
    let folder = Folder::new("served");
    for (shell, word) in [("bash", "complete -F _ozarr"), ("zsh", "#compdef ozarr"), ("fish", "complete -c ozarr")] {
        assert!(folder.ok(&format!("completions {shell}")).contains(word), "{shell}");
    }
    folder.ok("man pages/man1");
    let page = std::fs::read_to_string(folder.0.join("pages/man1/ozarr-read.1")).unwrap();
    assert!(page.contains(".TH ozarr-read 1") && page.contains("\\-\\-npy"), "{page}");
    assert!(folder.0.join("pages/man1/ozarr.1").exists() && folder.0.join("pages/man1/ozarr-attrs-set.1").exists());
}
