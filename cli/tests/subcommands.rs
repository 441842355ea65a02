//! Every subcommand, as a user calls it.

mod program;

use program::Folder;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;

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
    for name in
        "tree ls info dump read stats diff digest du tail plot view explain tune create write attrs resize rm consolidate verify cp copy from zip-repair migrate completions man".split(' ')
    {
        assert!(help.contains(&format!("\n  {name} ")), "{name}");
        let told = folder.ok(&format!("{name} --help"));
        assert!(told.contains("Usage: ozarr ") && folder.ok(&format!("help {name}")) == told, "{name}");
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
        ("read run.zarr/t --csv --start -1,-2", "18.0,19.0\n"),
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
fn what_was_changed_is_told_in_json() {
    let folder = store("changed");
    assert_eq!(folder.ok("resize run.zarr/t --shape 6,5 --json"), "{\n  \"before\": [4, 5],\n  \"shape\": [6, 5]\n}\n");
    assert_eq!(folder.ok("rm run.zarr g -r --json"), "{\n  \"erased\": \"run.zarr/g\",\n  \"node_type\": \"group\"\n}\n");
    assert_eq!(folder.ok("rm run.zarr/t --json"), "{\n  \"erased\": \"run.zarr/t\",\n  \"node_type\": \"array\"\n}\n");
}

#[test]
fn netcdf_finds_what_was_copied() {
    let folder = store("named");
    folder.ok("create nc.zarr a --type int8 --shape 2 --format 2");
    let members = r#"{"_nczarr_superblock":{"version":"2.0.0"},"_nczarr_group":{"dimensions":{},"arrays":["a"],"groups":[]}}"#;
    std::fs::write(folder.0.join("nc.zarr/.zattrs"), members).unwrap();
    folder.ok("cp nc.zarr/a nc.zarr/z");
    folder.ok("copy run.zarr/g/u nc.zarr/y --format 2");
    let keys: String = std::fs::read_to_string(folder.0.join("nc.zarr/.zattrs")).unwrap().split_whitespace().collect();
    assert!(keys.contains(r#""arrays":["a","y","z"]"#), "{keys}");
}

#[test]
fn migrating_makes_version_3_and_tells_what_changed_besides() {
    let folder = Folder::new("migrate");
    folder.ok("create old.zarr t --type >i4 --shape 4 --chunks 2 --format 2 --fill null --compressor zlib:3 --order F");
    folder.bytes("write old.zarr t --raw", &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
    folder.ok("create old.zarr g/u --type int8 --shape 3 --format 2");
    folder.bytes("write old.zarr g/u --raw", &[1, 2, 3]);
    let want = folder.bytes("read old.zarr t --raw", &[]);
    assert_eq!(folder.ok("migrate old.zarr new.zarr"), "t: the fill value null became 0\n");
    for store in ["new.zarr", "old.zarr"] {
        if store == "old.zarr" {
            folder.ok("migrate old.zarr --in-place --to 3");
        }
        let info = folder.ok(&format!("info {store} t"));
        assert!(info.contains("numcodecs.zlib") && info.contains("zarr_format     3"), "{info}");
        assert_eq!(folder.bytes(&format!("read {store} t --raw"), &[]), want);
        assert_eq!(folder.ok(&format!("ls {store} --json")), "[\"g\", \"t\"]\n");
    }
    // Chunks are copied, as by ozarr_migrate, unless links are asked for.
    for (options, dest, links) in [("", "copy.zarr", 1), ("--link", "linked.zarr", 2)] {
        assert_eq!(folder.ok(&format!("migrate old.zarr/g {dest} {options}")), "");
        assert_eq!(folder.ok(&format!("ls {dest} --json")), "[\"u\"]\n");
        assert_eq!(std::fs::metadata(folder.0.join(dest).join("u/0")).unwrap().nlink(), links, "{dest}");
    }
}

#[test]
fn what_is_no_part_of_zarr_is_told_by_copies_that_leave_it_out() {
    let folder = Folder::new("left-out");
    folder.ok("create run.zarr x --type int32 --shape 4 --format 2");
    std::fs::create_dir(folder.0.join("run.zarr/points.parquet")).unwrap();
    std::fs::write(folder.0.join("run.zarr/points.parquet/part.0.parquet"), "data").unwrap();
    let told = "left out: what is no part of Zarr: 1 key or folder, the first is points.parquet/; `ozarr cp` takes it along";
    assert_eq!(folder.ok("copy run.zarr a.zarr"), format!("{told}\n"));
    assert!(folder.ok("copy run.zarr b.zarr --json").contains(told));
    assert_eq!(folder.ok("migrate run.zarr c.zarr"), format!("{told}\n"));
    assert!(folder.ok("migrate run.zarr d.zarr --json").contains(told));
    assert_eq!(folder.ok("cp run.zarr e.zarr") + &folder.ok("migrate run.zarr --in-place"), "");
    assert!(["run.zarr", "e.zarr"].iter().all(|store| folder.0.join(store).join("points.parquet/part.0.parquet").exists()));
}

#[test]
fn copies_have_the_chunks_codecs_and_formats_that_are_asked_for() {
    let folder = Folder::new("copy");
    folder.ok("create run.zarr t --type float64 --shape 4,6 --chunks 1,6 --dims y,x --attrs {\"units\":\"K\"}");
    folder.ok("create run.zarr g/n --type int32 --shape 5 --chunks 2 --fill 7");
    let values: Vec<u8> = (0..24).flat_map(|i| f64::from(i).to_le_bytes()).collect();
    folder.bytes("write run.zarr t --raw", &values);
    let cases: &[(&str, &[&str])] = &[
        ("run.zarr/t a.zarr", &["\"chunks\": [1, 6]", "\"zstd\""]),
        ("run.zarr/t b.zarr --chunks 4,2 --compressor gzip:3", &["\"chunks\": [4, 2]", "\"gzip\"", "\"level\": 3"]),
        ("run.zarr/t c.zarr --chunks 4,6 --inner-chunks 2,3 --memory 1M", &["\"inner_chunks\": [2, 3]", "\"zstd\""]),
        ("c.zarr d.zarr --no-shards", &["\"chunks\": [4, 6]", "\"inner_chunks\": null", "\"zstd\""]),
        ("c.zarr e.zarr --inner-chunks 4,1", &["\"inner_chunks\": [4, 1]"]),
        ("c.zarr f.zarr --format 2", &["\"zarr_format\": 2", "\"chunks\": [2, 3]", "\"id\": \"zstd\""]),
        ("f.zarr g.zarr --format 3 --order F --link", &["\"zarr_format\": 3", "\"transpose\""]),
        (
            r#"run.zarr/t h.zarr --codec {"name":"bytes","configuration":{"endian":"big"}} --codec crc32c --inner-chunks 1,2"#,
            &["sharding_indexed", "\"crc32c\""],
        ),
        ("run.zarr/t h.zarr --type float32 --overwrite", &["\"dtype\": \"float32\""]),
    ];
    for (arguments, members) in cases {
        let dest = arguments.split(' ').nth(1).unwrap();
        // In format 2 a fill value of 0 would mean "missing".
        let told = if dest == "g.zarr" { "the root: the fill value null became 0\n" } else { "" };
        assert_eq!(folder.ok(&format!("copy {arguments}")), told, "{arguments}");
        let info = folder.ok(&format!("info {dest} --json"));
        assert!(
            members.iter().all(|m| info.contains(m)) && info.contains("\"units\": \"K\"") && info.contains("\"y\""),
            "{arguments}: {info}"
        );
        assert_eq!(folder.bytes(&format!("read {dest} --raw --type float64"), &[]), values, "{arguments}");
    }
    // Of a group those arrays get the chunks whose rank is theirs.
    let told = folder.ok("copy run.zarr all.zarr --chunks 2,2 --format 2");
    assert!(told.contains("g/n: keeps its chunks, since it has 1 dimension\n") && !told.contains("t: keeps"), "{told}");
    assert!(folder.ok("info all.zarr t --json").contains("\"chunks\": [2, 2]"));
    let n = folder.ok("info all.zarr g/n --json");
    assert!(n.contains("\"chunks\": [2]") && n.contains("\"fill_value\": 7"), "{n}");
    // What cannot be kept is told.
    folder.ok("create odd.zarr t --shape 4 --codec {\"name\":\"bitround\",\"configuration\":{\"keepbits\":2}} --codec {\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}} --type float32");
    assert!(folder.ok("copy odd.zarr old.zarr --format 2").contains("t: encoded anew: the codec \"bitround\" has no form in Zarr v2"));
}

#[test]
fn a_draft_is_named_and_its_members_are_shown() {
    let folder = Folder::new("draft");
    let put = |key: &str, text: &str| {
        let path = folder.0.join("d0.zarr").join(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let uri = "https://purl.org/zarr/spec";
    put("zarr.json", &format!(r#"{{"zarr_format":"{uri}/protocol/core/3.0","metadata_encoding":"{uri}/protocol/core/3.0"}}"#));
    put(
        "meta/root/g/a.array.json",
        &format!(
            r#"{{"shape":[4],"data_type":"u1","chunk_grid":{{"type":"regular","chunk_shape":[2]}},"chunk_memory_layout":"C",
            "fill_value":1,"compressor":{{"codec":"{uri}/codec/gzip/1.0","configuration":{{"level":1}}}},"attributes":{{"k":2}}}}"#
        ),
    );
    assert_eq!(folder.ok("tree d0.zarr"), "d0.zarr\n└── g\n    └── a  uint8 [4] in chunks of [2]\n");
    let info = folder.ok("info d0.zarr g/a");
    for part in ["draft           d0", "zarr_format     3", "dtype           u1", "codec/gzip", "order           C", "k: 2"] {
        assert!(info.contains(part), "{part}: {info}");
    }
    assert!(folder.ok("info d0.zarr g --json").contains("\"draft\": \"d0\""));
    assert_eq!(folder.bytes("read d0.zarr g/a --raw", &[]), [1, 1, 1, 1]);
    for line in ["attrs set d0.zarr g/a k 3", "create d0.zarr x --type int8 --shape 2", "rm -r d0.zarr g", "resize d0.zarr g/a --shape 9"] {
        let ran = folder.run_with(line, &[]);
        assert_eq!(ran.status, Some(1), "ozarr {line}");
        assert!(ran.err.contains("(d0)") && ran.err.contains("ozarr migrate"), "ozarr {line}: {}", ran.err);
    }
    assert_eq!(folder.ok("migrate d0.zarr v3.zarr"), "");
    assert!(!folder.ok("info v3.zarr g/a").contains("draft"));
}

#[test]
fn help_fits_the_terminal() {
    let folder = Folder::new("narrow");
    assert_eq!(folder.ok("help help"), folder.ok("--help"));
    let version = folder.command("--version").env("COLUMNS", "1").output().unwrap();
    assert_eq!(String::from_utf8(version.stdout).unwrap(), folder.ok("--version"), "a version is one line");
    for columns in [40, 80] {
        for line in ["--help", "help read", "from --help", "help plot", "help tune", "help migrate"] {
            let output = folder.command(line).env("COLUMNS", columns.to_string()).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > columns && line.trim().contains(' ')).collect();
            assert!(output.status.success() && long.is_empty(), "{line}, {columns}: {long:#?}");
        }
    }
}

#[test]
fn chunks_inside_of_shards_are_shown() {
    let folder = Folder::new("inner");
    folder.ok("create a.zarr s --type int32 --shape 8,6 --chunks 4,6 --inner-chunks 2,3");
    let what = "int32 [8, 6] in chunks of [4, 6] with inner chunks of [2, 3]";
    assert_eq!(folder.ok("tree a.zarr"), format!("a.zarr\n└── s  {what}\n"));
    assert_eq!(folder.ok("ls a.zarr"), format!("s  {what}\n"));
    assert!(folder.ok("tree a.zarr --json").contains("\"chunks\": [4, 6],\n    \"inner_chunks\": [2, 3]"));
}

/// Whoever compares the figures with a picture, which is of what the numbers mean, finds why they differ.
#[test]
fn figures_of_packed_numbers_say_so() {
    let folder = Folder::new("packed");
    folder.ok("create a.zarr t --type int16 --shape 2,1 --dims time,x");
    for (name, value) in [("scale_factor", "0.5"), ("add_offset", "270")] {
        assert!(folder.command("attrs set a.zarr t").args([name, value]).status().unwrap().success());
    }
    folder.ok("create a.zarr u --type int16 --shape 2,1 --dims time,x");
    for name in ["t", "u"] {
        folder.bytes(&format!("write a.zarr {name} --raw"), &[1, 0, 2, 0]);
    }
    let packed = "packed          scale_factor 0.5, add_offset 270: the figures are of the stored numbers\nelements ";
    assert!(folder.ok("stats a.zarr t").starts_with(packed));
    assert!(folder.ok("stats a.zarr u").starts_with("elements "));
    assert!(folder.ok("stats a.zarr t --json").contains("\"packed\": true"));
    assert!(!folder.ok("stats a.zarr u --json").contains("packed"));
    let told = folder.ok("tail a.zarr --until 2");
    assert!(told.lines().all(|line| line.contains("  t (packed): ") && line.contains("  u: ")), "{told}");
}

#[test]
fn info_has_every_member() {
    let folder = store("info");
    folder.ok("create run.zarr s --type int32 --shape 8,6 --chunks 4,6 --inner-chunks 2,3");
    folder.ok("create run.zarr uneven --type int32 --shape 8,6 --chunks [[4,2,2],6]");
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
        ("uneven", &["\"chunks\": [\n    [4, 2, 2],\n    6\n  ]"]),
        ("g", &["\"node_type\": \"group\"", "\"zarr_format\": 3", "\"attributes\": {}"]),
    ];
    for (node, members) in cases {
        let text = folder.ok(&format!("info run.zarr {node} --json"));
        for member in *members {
            assert!(text.contains(member), "{node}: no {member} in {text}");
        }
    }
    assert!(folder.ok("info run.zarr/t").contains("dtype           float64\n"));
    assert!(folder.ok("info run.zarr/old").contains("fill_value      null\n"));
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
        ("--csv --start 4,0 --shape 0,5", ""),
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
            r#"--type int8 --shape 2 --format 3 --codec [{"name":"bytes"},{"name":"gzip","configuration":{"level":1}}]"#,
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
    folder.ok("create a.zarr copy --metadata a.zarr/g/x9/zarr.json --format 3 --attrs {\"a\":2}");
    let text = folder.ok("info a.zarr copy --json");
    assert!(text.contains("0x7fc00001") && text.contains("\"a\": 2"), "{text}");
    folder.ok("create a.zarr big --metadata a.zarr/g/x0/.zarray --big-endian");
    folder.ok("create a.zarr big16 --metadata a.zarr/g/x3/.zarray --big-endian");
    let text = folder.ok("info a.zarr big16 --json");
    assert!(text.contains(">i2") && text.contains("delta"), "{text}");
    let ran = folder.run_with("create a.zarr none --metadata a.zarr/g/x9/zarr.json --format 3 --big-endian", &[]);
    assert!(ran.status == Some(1) && ran.err.contains("byte_order: is set, and the codecs are given as a list, too"), "{}", ran.err);
}

#[test]
fn attributes_of_a_new_group_are_looked_at_first_and_those_of_an_old_one_stay() {
    let folder = Folder::new("create-attributes");
    folder.ok(r#"create a.zarr --group --attrs {"k":1}"#);
    folder.ok("create a.zarr x --type int8 --shape 2");
    for bad in ["[1]", "{bad", r#"{"k":NaN}"#] {
        let ran = folder.run_with(&format!("create a.zarr --group --overwrite --attrs {bad}"), b"");
        assert_eq!(ran.status, Some(2), "{bad}");
        assert!(folder.0.join("a.zarr/x/zarr.json").exists(), "{bad}: the group was erased");
    }
    folder.ok(r#"create a.zarr --group --exists-ok --attrs {"other":2}"#);
    assert_eq!(folder.ok("attrs get a.zarr k"), "1\n");
    folder.ok(r#"create a.zarr --group --overwrite --attrs {"other":2}"#);
    assert_eq!(folder.ok("attrs get a.zarr other"), "2\n");
}

#[test]
fn a_copy_of_another_type_tells_that_a_missing_value_is_none_any_more() {
    let folder = Folder::new("copy-missing");
    let mut create = folder.command("create a.zarr x --type int32 --shape 2 --attrs");
    assert!(create.arg(r#"{"_FillValue":-70000}"#).status().unwrap().success());
    let told = folder.ok("copy a.zarr/x b.zarr --type int16 --overflow wrap");
    assert!(told.contains("_FillValue") && told.lines().count() == 1, "{told}");
    assert_eq!(folder.ok("copy a.zarr/x c.zarr --type int64"), "");
}

#[test]
fn a_codec_that_does_not_take_the_type_of_a_copy_is_named_with_what_replaces_it() {
    let folder = Folder::new("copy-codec");
    folder.ok("create a.zarr p --type int16 --shape 2 --compressor pcodec");
    folder.ok(r#"create a.zarr z --type float32 --shape 2 --codec {"name":"zfp","configuration":{"mode":"reversible"}}"#);
    folder.ok(r#"create old.zarr z --type float32 --shape 2 --codec {"id":"zfpy","mode":5,"tolerance":-1,"rate":-1,"precision":-1}"#);
    for (source, data_type, named) in
        [("a.zarr/p", "bool", "pcodec of bool"), ("a.zarr/z", "float16", "zfp of float16"), ("old.zarr/z", "int8", "zfpy of int8")]
    {
        let ran = folder.run_with(&format!("copy {source} new.zarr --type {data_type}"), &[]);
        assert!(ran.status == Some(1) && ran.err.contains(named) && ran.err.contains("by --compressor or --codec"), "{}", ran.err);
        assert_eq!(folder.ok(&format!("copy {source} new.zarr --type {data_type} --compressor zstd")), "", "{source}");
        folder.ok("rm new.zarr");
    }
    // What is wrong with the source is not mended by another codec.
    let path = folder.0.join("a.zarr/p/zarr.json");
    let document = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, document.replace("pcodec", "nosuch")).unwrap();
    let ran = folder.run_with("copy a.zarr/p new.zarr --type int32", &[]);
    assert!(ran.status == Some(1) && ran.err.contains("nosuch") && !ran.err.contains("--codec"), "{}", ran.err);
}

#[test]
fn an_array_that_other_programs_do_not_find_below_its_group_is_made_only_where_that_is_asked_for() {
    let folder = Folder::new("create-apart");
    folder.ok("create v2.zarr t --type int8 --shape 2 --format 2");
    folder.ok("create v3.zarr t --type int8 --shape 2");
    for (line, own, above) in [
        ("create v3.zarr x --metadata v2.zarr/t/.zarray", 2, 3),
        (r#"create v3.zarr g/x --type int8 --shape 2 --compressor {"id":"zlib","level":1}"#, 2, 3),
        ("create v2.zarr x --metadata v3.zarr/t/zarr.json", 3, 2),
        ("create v2.zarr/w --type int8 --shape 2 --chunks 2 --inner-chunks 1", 3, 2),
    ] {
        let ran = folder.run_with(line, &[]);
        let wanted = format!("zarr_format {own}, below a group of zarr_format {above}");
        assert!(ran.status == Some(1) && ran.err.contains(&wanted), "ozarr {line}: {}", ran.err);
        folder.ok(&format!("{line} --format {own}"));
        folder.ok(&format!("{line} --exists-ok"));
    }
    folder.ok("create new.zarr x --metadata v2.zarr/t/.zarray");
    folder.ok("create v2.zarr y --metadata v2.zarr/t/.zarray");
}

#[test]
fn structs_are_created_written_and_shown() {
    let folder = Folder::new("structs");
    folder.ok(r#"create run.zarr p --dtype [["x","<f8"],["id","<i4"]] --shape 3 --chunks 2 --format 2 --fill {"id":7}"#);
    let element = |x: f64, id: i32| [&x.to_le_bytes()[..], &id.to_le_bytes()].concat();
    folder.bytes("write run.zarr p --raw --start 0 --shape 2", &[element(1.5, 3), element(-0.5, 4)].concat());
    let text = folder.ok("read run.zarr p --json");
    let want = r#"{"x": 1.5, "id": 3}, {"x": -0.5, "id": 4}, {"x": 0.0, "id": 7}"#;
    assert!(text.contains(want), "{text}");
    assert_eq!(folder.bytes("read run.zarr p --raw --start 1 --shape 1", &[]), element(-0.5, 4));
    let info = folder.ok("info run.zarr p --json");
    assert!(info.contains(r#"["x", "<f8"]"#) && info.contains(r#"["id", "<i4"]"#), "{info}");
    let npy = folder.bytes("read run.zarr p --npy", &[]);
    assert!(npy.windows(36).any(|w| w == br#"'descr': [('x', '<f8'), ('id', '<i4'"#));
    let refused = folder.run_with("create run.zarr q --type int --shape 3", &[]);
    assert!(refused.status == Some(2) && refused.err.contains("<i4 (int32), <i8 (int64)"), "{}", refused.err);
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

    folder.ok("cp run.zarr other.zarr --verify");
    assert_eq!(folder.ok("tree other.zarr").replace("other", "run"), folder.ok("tree run.zarr"));
    assert_eq!(folder.bytes("read other.zarr t --raw", &[]), folder.bytes("read run.zarr t --raw", &[]));
    folder.ok("cp run.zarr/g/u other.zarr/deep/down");
    folder.ok("cp run.zarr/t other.zarr/deep/down --overwrite");
    assert_eq!(folder.ok("ls other.zarr/deep"), "down  float64 [4, 5] in chunks of [2, 5]\n");
    let consolidated = std::fs::read_to_string(folder.0.join("other.zarr/zarr.json")).unwrap();
    assert!(consolidated.contains("deep/down"), "{consolidated}");
    assert_eq!(folder.ok("consolidate --check other.zarr"), "");

    folder.ok("rm run.zarr t");
    folder.ok("rm run.zarr/g -r");
    assert_eq!(folder.ok("ls run.zarr --json"), "[]\n");
    folder.ok("rm run.zarr");
    assert!(!folder.0.join("run.zarr/zarr.json").exists());
}

#[test]
fn a_group_that_holds_other_files_is_erased_only_with_all_below_it() {
    for format in ["2", "3"] {
        for (file, other) in [("table.csv", true), ("sub/deep/zarr.json", true), ("sub/a", true), (".zattrs", false), (".DS_Store", false)]
        {
            let folder = Folder::new("beside");
            folder.ok(&format!("create run.zarr g --group --format {format}"));
            let path = folder.0.join("run.zarr/g").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "{}").unwrap();
            if other {
                let ran = folder.run_with("rm run.zarr/g", &[]);
                let told = format!("run.zarr/g has g/{file} in it, which is no document of the group; erase all below, too, with -r");
                assert!(ran.status == Some(1) && ran.err.contains(&told) && path.exists(), "{}", ran.err);
            }
            folder.ok(if other { "rm -r run.zarr/g" } else { "rm run.zarr/g" });
            assert!(!path.exists(), "{file}");
        }
    }
}

/// A copy is what the source is, documents that cannot be understood among it: the same call gives the same answer.
#[test]
fn a_hierarchy_with_a_damaged_document_is_copied_as_it_is() {
    let folder = Folder::new("copy-damaged");
    for (format, document) in [(3, "zarr.json"), (2, ".zarray"), (2, ".zattrs")] {
        let (source, into) = (format!("run{format}{document}.zarr"), format!("in{format}{document}.zarr"));
        for name in ["a", "g/bad", "g/b"] {
            folder.ok(&format!("create {source} {name} --type uint8 --shape 3 --format {format} --dims x"));
        }
        folder.ok(&format!("create {into} first --type uint8 --shape 3 --format {format}"));
        folder.ok(&format!("consolidate {source}"));
        folder.ok(&format!("consolidate {into}"));
        std::fs::write(folder.0.join(&source).join("g/bad").join(document), "{").unwrap();
        for (line, status) in [
            (format!("cp {source} copy-{source}"), Some(0)),
            (format!("cp {source} copy-{source}"), Some(1)),
            (format!("cp {source} copy-{source} --overwrite"), Some(0)),
            (format!("cp {source} {into}/copy"), Some(0)),
            (format!("cp {source} {into}/copy"), Some(1)),
            (format!("cp {source} {into}/copy --overwrite --verify"), Some(0)),
        ] {
            let ran = folder.run_with(&line, &[]);
            assert_eq!(ran.status, status, "ozarr {line}: {}", ran.err);
            assert!(ran.status == Some(0) || ran.err.contains("--overwrite replaces it"), "ozarr {line}: {}", ran.err);
        }
        let faults = |place: &str| String::from_utf8(folder.run_with(&format!("verify {place}"), &[]).out).unwrap();
        for (place, path) in [(format!("copy-{source}"), ""), (into, "copy/")] {
            let told = faults(&place);
            assert!(told.starts_with(&format!("damaged  {path}g/bad/{document}: ")) && told.contains(", 1 fault, "), "{place}: {told}");
            assert!(folder.ok(&format!("info {place} {path}g/b")).contains("shape"), "{place}");
        }
    }
}

/// All commands that show a hierarchy show the others, too, and end with one status, whatever consolidated metadata say.
#[test]
fn nodes_that_cannot_be_understood_are_shown_with_the_reason() {
    let folder = store("unreadable");
    folder.ok("create run.zarr bad --type int8 --shape 3 --chunks 3");
    folder.ok("create run.zarr deep/er/t --type int8 --shape 3 --chunks 3");
    for consolidated in [true, false] {
        if !consolidated {
            std::fs::write(folder.0.join("run.zarr/zarr.json"), r#"{"zarr_format":3,"node_type":"group"}"#).unwrap();
        }
        for name in ["bad", "new\nline\u{1b}[31m", "deep/er"] {
            std::fs::create_dir_all(folder.0.join("run.zarr").join(name)).unwrap();
            std::fs::write(folder.0.join("run.zarr").join(name).join("zarr.json"), "{").unwrap();
        }
        for (line, parts) in [
            ("ls", &["bad", "unreadable: bad/zarr.json: invalid JSON", "new\\nline\\u{1b}[31m"][..]),
            ("ls --json", &["\"bad\"", r#""new\nline\u001b[31m""#]),
            (
                "tree",
                &["bad", "unreadable: bad/zarr.json: invalid JSON", "new\\nline\\u{1b}[31m", "unreadable: deep/er/zarr.json: invalid JSON"],
            ),
            ("tree --json", &["\"error\": \"bad/zarr.json: invalid JSON"]),
            ("dump", &["bad is left out: bad/zarr.json: invalid JSON", "er is left out: deep/er/zarr.json: invalid JSON"]),
            ("dump --json", &["bad/zarr.json: invalid JSON"]),
        ] {
            let (command, json) = line.split_once(' ').unwrap_or((line, ""));
            let ran = folder.run_with(&format!("{command} run.zarr {json}"), &[]);
            let text = String::from_utf8(ran.out).unwrap();
            assert!(parts.iter().all(|part| text.contains(part)), "{line}, {consolidated}: {text}");
            assert!(line.starts_with("dump") || !text.contains('\u{1b}'), "{line}: {text}");
            assert_eq!((ran.status, ran.err.lines().count()), (Some(1), 1), "{line}, {consolidated}: {}", ran.err);
            assert!(ran.err.contains(" nodes cannot be read, \"bad\" first"), "{line}, {consolidated}: {}", ran.err);
        }
        assert_eq!(folder.run_with("info run.zarr/bad", &[]).status, Some(1));
        for name in ["bad", "deep/er"] {
            std::fs::remove_file(folder.0.join("run.zarr").join(name).join("zarr.json")).unwrap();
        }
        std::fs::remove_dir_all(folder.0.join("run.zarr/new\nline\u{1b}[31m")).unwrap();
        folder.ok("create run.zarr bad --type int8 --shape 3 --chunks 3");
        folder.ok("create run.zarr deep/er/t --type int8 --shape 3 --chunks 3 --overwrite");
    }
}

#[test]
fn images_that_break_the_convention_are_shown_with_the_reason() {
    let folder = store("images");
    let scale = r#"{"type":"scale","scale":[2]}"#;
    for (transformations, told) in [
        (scale.to_string(), " at [2.0]"),
        (r#"{"type":"affine","affine":[[1,0]]}"#.to_string(), "affine"),
        (format!("{scale},{scale}"), "coordinateTransformations"),
    ] {
        let levels = format!(r#"[{{"path":"t","coordinateTransformations":[{transformations}]}}]"#);
        let image = format!(r#"{{"version":"0.5","multiscales":[{{"axes":[{{"name":"x","type":"space"}}],"datasets":{levels}}}]}}"#);
        std::fs::create_dir_all(folder.0.join("run.zarr/image")).unwrap();
        let document = format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{"ome":{image}}}}}"#);
        std::fs::write(folder.0.join("run.zarr/image/zarr.json"), document).unwrap();
        let text = folder.ok("info run.zarr image");
        let row = text.lines().find(|line| line.contains(told) && !line.starts_with("attributes")).unwrap_or_default();
        assert!(row.starts_with("images") == (told == "coordinateTransformations") && !row.is_empty(), "{told}: {text}");
    }
}

#[test]
fn plans_and_counts_are_told() {
    let folder = store("plans");
    let text = folder.ok("explain run.zarr t");
    assert!(text.contains("chunks: 2 (2 whole, 0 in part)") && !text.contains("warning"), "{text}");
    let text = folder.ok("explain run.zarr t --write --start 1,0 --shape 2,5");
    assert!(text.contains("warning: 2 of 2 chunks are covered in part"), "{text}");
    assert!(text.contains("the whole array: 2 objects"), "{text}");
    let json = folder.ok("explain run.zarr t --json --type float32 --fortran");
    assert!(json.contains("\"chunks\": 2") || json.contains("\"chunks\":2"), "{json}");
    assert!(json.contains("\"direct_chunks\": 0") || json.contains("\"direct_chunks\":0"), "{json}");
    let ran = folder.run_with("read run.zarr t --raw --stats", &[]);
    assert!(ran.err.contains("decoded chunks: 2\n") && ran.err.contains("decode ns: "), "{}", ran.err);
}

#[test]
fn shells_and_man_are_served() {
    let folder = Folder::new("served");
    for (shell, word) in [("bash", "complete -F _ozarr"), ("zsh", "#compdef ozarr"), ("fish", "complete -c ozarr")] {
        assert!(folder.ok(&format!("completions {shell}")).contains(word), "{shell}");
    }
    folder.ok("man pages/man1");
    let page = std::fs::read_to_string(folder.0.join("pages/man1/ozarr-read.1")).unwrap();
    assert!(page.contains(concat!(".TH ozarr-read 1  \"ozarr ", env!("CARGO_PKG_VERSION"), "\"")) && page.contains("\\-\\-npy"), "{page}");
    assert!(folder.0.join("pages/man1/ozarr.1").exists() && folder.0.join("pages/man1/ozarr-attrs-set.1").exists());
}

#[test]
fn zip_archives_are_stores() {
    let folder = store("zip");
    folder.ok("cp run.zarr run.zip");
    let shown = |tree: String| tree.lines().skip(1).map(str::to_string).collect::<Vec<_>>();
    assert_eq!(shown(folder.ok("tree run.zip")), shown(folder.ok("tree run.zarr")));
    assert_eq!(folder.ok("ls run.zip --json"), "[\"g\", \"t\"]\n");
    assert_eq!(folder.ok("info run.zip t --json"), folder.ok("info run.zarr t --json"));
    assert_eq!(folder.bytes("read run.zip/t --raw", b""), doubles(0..20));
    assert_eq!(folder.bytes("read zip:run.zip/t --raw --start 1,2 --shape 2,1", b""), doubles([7, 12]));
    folder.ok("cp run.zip back.zarr");
    assert_eq!(folder.bytes("read back.zarr/t --raw", b""), doubles(0..20));
    folder.ok("create run.zip/new --type <i2 --shape 2 --chunks 2 --compressor none");
    folder.bytes("write run.zip/new --raw", &[1, 0, 2, 0]);
    folder.ok("attrs set run.zip new a 1");
    assert_eq!(folder.bytes("read run.zip/new --raw", b""), [1, 0, 2, 0]);
    assert_eq!(folder.ok("attrs get run.zip/new a"), "1\n");
    for line in ["rm run.zip/new", "cp run.zarr/t run.zip/t --overwrite", "resize run.zip/t --shape 1,1"] {
        let ran = folder.run_with(line, b"");
        assert_eq!(ran.status, Some(1), "{line}");
        assert!(ran.err.contains("run.zip cannot erase what it holds"), "{line}: {}", ran.err);
    }
    assert_eq!(folder.bytes("read run.zip/t --raw", b""), doubles(0..20));
}

#[test]
fn a_cut_archive_is_repaired() {
    let folder = store("zip-repair");
    folder.ok("cp run.zarr run.zip");
    let path = folder.0.join("run.zip");
    assert!(folder.ok("zip-repair run.zip").contains("can be read as it is"));
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 100]).unwrap();
    let ran = folder.run_with("ls run.zip", b"");
    assert!(ran.status == Some(1) && ran.err.contains("`ozarr zip-repair` saves what is whole"), "{}", ran.err);
    assert!(folder.ok("zip-repair run.zip").contains("keys, without 0 entries that are not whole"));
    assert_eq!(std::fs::read(&path).unwrap(), whole, "the directory is the same again");
    assert_eq!(folder.run_with("zip-repair none.zip", b"").status, Some(1));
}

#[test]
fn the_steps_of_a_run_are_followed_until_they_are_all_there() {
    let folder = Folder::new("tail");
    folder.ok("create run.zarr u --type float32 --shape 3,2 --chunks 1,2 --dims time,x --fill NaN");
    folder.ok("create run.zarr time --type int32 --shape 3 --chunks 3 --dims time");
    folder.bytes("write run.zarr time --raw --type float64", &doubles([0, 60, 120]));
    folder.bytes("write run.zarr u --raw --type float64", &doubles([1, 2, 3, 5, -4, 4]));
    let cases: &[(&str, &str)] = &[
        ("tail run.zarr --until 2", "time 0  0  u: 1 .. 2, mean 1.5\ntime 1  60  u: 3 .. 5, mean 4\n"),
        ("tail run.zarr -n 1 --timeout 0", "time 2  120  u: -4 .. 4, mean 0\n"),
        ("tail run.zarr --dim x -n 1 --until 2", "x 1  u: 2 .. 5, mean 3.6666667\n"),
    ];
    for (call, want) in cases {
        assert_eq!(folder.ok(call), *want, "{call}");
    }
    folder.ok(r#"create gaps.zarr u --type int16 --shape 2,2 --chunks 1,2 --dims time,x --attrs {"\u005fFillValue":-9}"#);
    folder.bytes("write gaps.zarr u --raw --type float64", &doubles([-9, 3, -9, -9]));
    assert_eq!(folder.ok("tail gaps.zarr --until 2"), "time 0  u: 3 .. 3, mean 3\ntime 1  u: no values\n");
    let json = folder.ok("tail run.zarr --json -n 1 --until 3");
    assert_eq!(json, "{ \"step\": 2, \"time\": 120, \"variables\": { \"u\": { \"min\": -4.0, \"max\": 4.0, \"mean\": 0.0 } } }\n");
    // Integers keep all digits, a dimension may be called as a member of a line is, and names do not speak to the terminal.
    folder.ok("create odd.zarr step --type int64 --shape 2 --chunks 2 --dims step");
    let large = [(1i64 << 60) + 1, (1 << 60) + 3];
    folder.bytes("write odd.zarr step --raw", &large.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>());
    assert_eq!(folder.ok("tail odd.zarr --until 2"), format!("step 0  {}\nstep 1  {}\n", large[0], large[1]));
    let json = folder.ok("tail odd.zarr --json -n 1 --until 2");
    assert_eq!(json, format!("{{ \"step\": 1, \"coordinate\": {}, \"variables\": {{}} }}\n", large[1]));
    folder.ok(r#"create esc.zarr u --type int8 --shape 1 --attrs {"\u005fARRAY\u005fDIMENSIONS":["t\u001b]0;owned\u0007"]}"#);
    assert_eq!(folder.ok("tail esc.zarr --until 1"), "t\\u{1b}]0;owned\\u{7} 0  u: 0 .. 0, mean 0\n");
    let late = folder.run_with("tail run.zarr --until 4 --timeout 0", &[]);
    assert!(late.status == Some(1) && late.err.contains("3 long") && late.err.contains("more than 3"), "{}", late.err);
}

/// A follower that is started first: before the folder is there, before the dimension is, and before there is a step.
#[test]
fn a_run_that_has_not_begun_is_waited_for() {
    let folder = Folder::new("early");
    let begin = |line: &str| folder.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut follower = begin("tail run.zarr --until 12");
    let mut told = BufReader::new(follower.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    assert!(line.starts_with("ozarr: waiting for a run: no group in ") && line.contains("run.zarr"), "{line}");
    folder.ok("create run.zarr --group");
    let mut later = begin("tail run.zarr --until 12");
    let mut told_later = BufReader::new(later.stderr.take().unwrap());
    line.clear();
    told_later.read_line(&mut line).unwrap();
    assert_eq!(line, "ozarr: waiting for a run: run.zarr: no variable has a dimension to follow\n");
    folder.ok("create run.zarr time --type int32 --shape 0 --chunks 3 --dims time");
    folder.ok("create run.zarr u --type float32 --shape 0,2 --chunks 1,2 --dims time,x");
    let late = folder.run_with("tail run.zarr --timeout 0 --until 1", &[]);
    assert!(late.status == Some(1) && late.err.contains("is 0 long"), "{}", late.err);
    assert_eq!(folder.ok("tail run.zarr --timeout 0"), "");
    folder.ok("resize run.zarr u --shape 12,2");
    folder.bytes("write run.zarr u --raw --type float64", &doubles(1..25));
    folder.ok("resize run.zarr time --shape 12");
    for (run, mut told) in [(follower, told), (later, told_later)] {
        let output = run.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!((output.status.code(), text.lines().count()), (Some(0), 12), "{text}");
        assert!(text.starts_with("time 0  0  u: 1 .. 2, mean 1.5\n"), "{text}");
        line.clear();
        assert_eq!(told.read_line(&mut line).unwrap(), 0, "it is told once: {line}");
    }
    for line in ["tail none.zarr --timeout 0", "tail none.zarr --timeout 0.05 --until 3"] {
        let ran = folder.run_with(line, &[]);
        assert!(ran.status == Some(1) && ran.err.contains("no group in "), "{}", ran.err);
    }
}

#[test]
fn what_is_told_is_told_as_json_too() {
    let folder = store("json");
    let tree = folder.ok("tree run.zarr --json");
    for part in [r#""path": "g/u""#, r#""node_type": "group""#, r#""dtype": "<f8""#] {
        assert!(tree.contains(part), "no {part} in {tree}");
    }
    assert_eq!(folder.ok("copy run.zarr/t t.zarr --chunks 4,4 --json"), "[]\n");
    folder.ok("create old.zarr t --type int8 --shape 4 --format 2 --fill null");
    assert_eq!(folder.ok("migrate old.zarr new.zarr --json"), "[\"t: the fill value null became 0\"]\n");
    folder.ok("consolidate run.zarr");
    assert_eq!(folder.ok("consolidate run.zarr --check --json"), "[]\n");
}
