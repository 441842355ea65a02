//! Everything that can be wrong: the exit status, and one line that says what.

mod program;

use program::Folder;

fn store(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.ok("create run.zarr t --type float64 --shape 4,5 --chunks 2,5");
    folder.ok("create run.zarr g/u --type uint8 --shape 3 --chunks 3 --compressor none");
    folder.bytes("write run.zarr g/u --raw", &[1, 2, 3]);
    folder.ok("create shards.zarr s --type uint8 --shape 8 --chunks 8 --inner-chunks 4");
    folder.ok("create run.zarr odd/u --type uint8 --shape 3");
    folder.ok("create run.zarr odd/v/w --type uint8 --shape 3 --format 2");
    std::fs::write(folder.0.join("run.zarr/odd/zarr.json"), r#"{"zarr_format":3,"node_type":"group","newthing":{"a":1}}"#).unwrap();
    std::fs::write(folder.0.join("bytes"), [0; 7]).unwrap();
    std::fs::write(folder.0.join("empty.json"), "{}").unwrap();
    folder.ok("create z.zip t --type uint8 --shape 3");
    folder.ok("create only2.zarr t --type uint8 --shape 3,3");
    std::fs::write(folder.0.join("old.nc"), b"CDF\x01\0\0\0\0").unwrap();
    std::fs::write(folder.0.join("new.h5"), b"\x89HDF\r\n\x1a\n").unwrap();
    folder
}

#[test]
fn each_error_has_its_status_and_says_what_is_wrong() {
    let folder = store("errors");
    let cases: &[(&str, i32, &[&str])] = &[
        // Usage.
        ("", 2, &["a subcommand is missing"]),
        ("frobnicate", 2, &["unrecognized subcommand 'frobnicate'"]),
        ("help xyz", 2, &["unrecognized subcommand 'xyz'", "`ozarr --help` lists them"]),
        ("attrs run.zarr t", 2, &["unrecognized subcommand 'run.zarr'", "`ozarr attrs --help` lists them"]),
        ("create run.zarr new --type int8 --shape -3,4", 2, &["-3"]),
        ("crate run.zarr x", 2, &["unrecognized subcommand 'crate'", "did you mean `create`?"]),
        ("info", 2, &["<LOCATION>"]),
        ("info run.zarr --jsno", 2, &["unexpected argument '--jsno'", "did you mean `--json`?"]),
        ("info run.zarr t extra", 2, &["unexpected argument 'extra' found; `ozarr info --help` lists those that there are"]),
        ("cp -r run.zarr x.zarr", 2, &["unexpected argument '-r' found; `ozarr cp --help` lists"]),
        ("attrs set run.zarr t a 1 --x", 2, &["unexpected argument '--x' found; `ozarr attrs set --help` lists"]),
        ("mv run.zarr/t run.zarr/u", 2, &["unrecognized subcommand 'mv'; `ozarr cp` and then `ozarr rm` move a node"]),
        ("rename run.zarr t u", 2, &["unrecognized subcommand 'rename'; `ozarr cp` and then"]),
        ("attrs delete run.zarr t", 2, &["unrecognized subcommand 'delete'", "`ozarr attrs --help` lists them"]),
        ("read run.zarr t", 2, &["--csv", "--json", "--npy", "--raw"]),
        ("read run.zarr t --raw --json", 2, &["'--raw' cannot be used with"]),
        ("read run.zarr t --raw --start 1;2", 2, &["is not an integer", "such as 100,64,64"]),
        ("read run.zarr t --raw --type float65", 2, &["the data type \"float65\" is not known"]),
        ("create run.zarr x", 2, &["--type", "--shape"]),
        ("create run.zarr x --type int8", 2, &["--shape"]),
        ("create run.zarr x --type int8 --shape 2 --format 4", 2, &["expected 2 or 3"]),
        ("create run.zarr x --type int8 --shape 2 --separator :", 2, &["expected / or ."]),
        ("create run.zarr x --type int8 --shape 2 --compressor gzip:x", 2, &["the level \"x\" is not an integer"]),
        ("create run.zarr x --type int8 --shape 2 --codec bytes --compressor gzip", 2, &["leave --compressor out"]),
        ("create run.zarr x --group --type int8", 2, &["cannot be used with"]),
        ("create run.zarr x --type int8 --shape 2 --overwrite --exists-ok", 2, &["cannot be used with"]),
        ("create run.zarr x --metadata empty.json", 1, &["empty.json: zarr_format: the member is missing"]),
        ("create run.zarr x --metadata bytes --shape 2", 2, &["leave --type and --shape out"]),
        ("write run.zarr t", 2, &["--raw|--npy"]),
        ("write run.zarr t --npy --type int8", 2, &["cannot be used with"]),
        ("attrs", 2, &["a subcommand is missing; `ozarr attrs --help` lists them"]),
        ("attrs set run.zarr t", 2, &["2 values required"]),
        ("resize run.zarr t", 2, &["--shape"]),
        ("cp run.zarr", 2, &["<DEST>"]),
        ("completions tcsh", 2, &["invalid value 'tcsh'"]),
        ("tree run.zarr --depth few", 2, &["--depth", "few"]),
        // What is there, and what is not.
        ("info nothing.zarr", 1, &["no node in", "nothing.zarr"]),
        ("info run.zarr g/x", 1, &["no node g/x", "g has u"]),
        ("ls run.zarr t", 1, &["run.zarr/t is an array, not a group; name the group that it is in"]),
        ("consolidate run.zarr t", 1, &["is an array, not a group; name the group"]),
        ("tail run.zarr/t", 1, &["is an array, not a group; name the group"]),
        ("read run.zarr g --raw", 1, &["run.zarr/g is a group, not an array; name one of its arrays: u"]),
        ("write run.zarr g --raw", 1, &["is a group, not an array"]),
        ("resize run.zarr --shape 1", 1, &["is a group, not an array"]),
        ("info run.zarr g --stored", 1, &["run.zarr/g is a group", "--stored is for arrays"]),
        ("info run.zarr ../x", 1, &["\"..\""]),
        ("info nosuch://bucket/x", 1, &["the scheme nosuch: is unknown"]),
        ("attrs get run.zarr t none", 1, &["no attribute \"none\" of t; it has none"]),
        ("attrs get run.zarr none", 1, &["no attribute \"none\""]),
        ("attrs rm run.zarr t none", 1, &["no attribute \"none\""]),
        ("attrs set run.zarr t a {", 2, &["a: invalid JSON"]),
        ("attrs set run.zarr t a [NaN]", 2, &["a: invalid JSON", "--non-finite"]),
        ("tune run.zarr t --latency=nan", 2, &["--latency", "found nan, expected a number from 0"]),
        ("tune run.zarr t --latency=1e308", 2, &["--latency", "found 1e308, expected a number from 0"]),
        ("tune run.zarr t --latency=-1", 2, &["found -1"]),
        ("tail run.zarr --timeout inf", 2, &["--timeout", "found inf, expected a number from 0 to 1.8"]),
        ("tail run.zarr --timeout nan", 2, &["found nan, expected a number from 0"]),
        ("tail run.zarr --timeout -1", 2, &["found -1, expected a number from 0"]),
        ("tail run.zarr --timeout=1e30", 2, &["found 1e30, expected a number from 0"]),
        ("rm run.zarr none", 1, &["no node none"]),
        ("rm run.zarr g", 1, &["run.zarr/g is a group with 1 node directly in it", "-r"]),
        ("rm run.zarr odd", 1, &["run.zarr/odd cannot be understood and has 3 nodes in it", "-r"]),
        ("cp nothing.zarr x.zarr", 1, &["no node in"]),
        ("cp run.zarr/t run.zarr/g/u", 1, &["g/u"]),
        ("cp run.zarr run.zarr/g/v", 1, &["lies inside of", "; expected a place apart from what is copied"]),
        ("cp run.zarr run.zarr", 1, &["is the same as", "; expected a place apart from what is copied"]),
        ("cp run.zarr/t run.zarr/g", 1, &["a group is already at g of", "; --overwrite replaces it, and run.zarr/g/t is a place in it"]),
        ("copy run.zarr/t run.zarr/g/", 1, &["a group is already at g of", "; --overwrite replaces it, and run.zarr/g/t is a place in it"]),
        ("rm z.zip", 1, &["z.zip cannot erase what it holds"]),
        ("zip-repair run.zarr", 1, &["run.zarr is a folder, expected a zip archive"]),
        ("tree old.nc", 1, &["old.nc is a file, expected a directory; `ozarr from` makes Zarr of a file of netCDF or HDF5"]),
        ("dump new.h5/t", 1, &["new.h5 is a file, expected a directory; `ozarr from` makes Zarr of a file of netCDF or HDF5"]),
        ("tree bytes", 1, &["bytes is a file, expected a directory (or a zip archive, as \"zip:"]),
        ("copy only2.zarr x.zarr --chunks 7", 2, &["chunks of 1 length fit no array of the group: none has 1 dimension\n"]),
        ("cp run.zarr/g run.zarr --overwrite", 1, &["holds"]),
        ("copy run.zarr", 2, &["<DEST>"]),
        ("copy run.zarr x.zarr --memory lots", 2, &["--memory", "\"lots\" is no size", "512M"]),
        ("copy run.zarr x.zarr --no-shards --inner-chunks 1,1", 2, &["cannot be used with"]),
        ("copy run.zarr x.zarr --codec bytes --compressor gzip", 2, &["leave --compressor out"]),
        ("copy run.zarr/t x.zarr --chunks 3", 1, &["t: ", "found 1 extents, expected 2"]),
        ("copy run.zarr/t x.zarr --chunks 3,3 --inner-chunks 2,2", 1, &["t: ", "2"]),
        ("copy run.zarr/t x.zarr --format 2 --inner-chunks 1,1", 1, &["t: ", "zarr_format 3 only"]),
        ("copy run.zarr x.zarr --chunks 7,7,7", 2, &["chunks of 3 lengths", "none has 3 dimensions"]),
        ("copy run.zarr/g x.zarr --inner-chunks 7,7", 2, &["chunks of 2 lengths", "none has 2 dimensions"]),
        ("copy nothing.zarr x.zarr", 1, &["no node in"]),
        ("copy run.zarr/t run.zarr/g/u", 1, &["g/u"]),
        ("copy run.zarr run.zarr/x", 1, &["lies inside of"]),
        ("copy run.zarr memory:", 1, &["memory: is in memory, which ends with the program"]),
        ("create Memory:x y --group", 1, &["is in memory"]),
        ("migrate run.zarr", 2, &["<DEST>"]),
        ("migrate run.zarr x.zarr --in-place", 2, &["cannot be used with"]),
        ("migrate run.zarr x.zarr --to 2", 2, &["invalid value '2'"]),
        ("migrate nothing.zarr x.zarr", 1, &["no node in"]),
        ("migrate run.zarr run.zarr/x", 1, &["lies inside of"]),
        ("migrate run.zarr/t run.zarr/g/u", 1, &["g/u", "holds something already"]),
        ("man bytes", 1, &["bytes: "]),
        // Regions.
        ("read run.zarr t --raw --start 4,0 --shape 1,1", 1, &["dimension 0", "length 4"]),
        ("read run.zarr t --raw --start 0", 1, &["rank"]),
        ("read run.zarr t --raw --start -5,0", 1, &["dimension 0", "start -5", "length 4"]),
        ("read run.zarr t --raw --start 4,0", 1, &["--start: dimension 0: found 4, expected less than the length 4"]),
        ("stats run.zarr t --start 0,5", 1, &["--start: dimension 1: found 5"]),
        ("read run.zarr t --raw --step 0,1", 2, &["--step: found 0"]),
        ("read run.zarr t --raw --shape -1,1", 2, &["--shape: found -1"]),
        // Creating.
        ("create run.zarr t --type int8 --shape 2", 1, &["an array is already at t", "; --overwrite replaces it"]),
        ("cp run.zarr/t run.zarr/g/u", 1, &["is already at g/u", "; --overwrite replaces it"]),
        ("copy run.zarr/t run.zarr/g/u", 1, &["is already at g/u", "; --overwrite replaces it"]),
        ("copy run.zarr/t x.zarr --chunks 0,1", 2, &["--chunks: found 0, expected at least 1"]),
        ("copy shards.zarr/s x.zarr --chunks 5", 1, &["shard's [5]", "; give --inner-chunks, or --no-shards"]),
        ("copy run.zarr/t x.zarr --compressor lzw", 2, &["compressor: found \"lzw\""]),
        ("create run.zarr t --type int8 --shape 2 --exists-ok", 1, &["shape [4, 5] instead of [2]"]),
        ("create run.zarr t/x --type int8 --shape 2", 1, &["t of", "is an array"]),
        ("create run.zarr x --type int8 --shape=-2", 2, &["--shape: found -2"]),
        ("create run.zarr x --type int8 --shape 2 --chunks 0", 2, &["--chunks: found 0, expected at least 1"]),
        ("create run.zarr x --type int8 --shape 2 --chunks 1,1", 2, &["chunks", "expected 1"]),
        ("create run.zarr x --type int8 --shape 4 --chunks [[2,1]]", 2, &["chunks[0]: found extents of 3 elements", "the 4 of"]),
        ("create run.zarr x --type int8 --shape 4 --chunks [[1,3]] --format 2", 2, &["chunks: extents are listed in zarr_format 3 only"]),
        ("create run.zarr x --type int8 --shape 4 --chunks 4 --inner-chunks 3", 2, &["inner_chunks", "does not divide"]),
        ("create run.zarr x --type int8 --shape 2 --fill 300", 2, &["fill_value"]),
        ("create run.zarr x --type int8 --shape 2 --attrs {\"a\":1e999}", 2, &["attributes: found 1e999, which no double can hold"]),
        ("create run.zarr x --group --attrs {\"a\":-1e999}", 2, &["attributes: found -1e999, which no double can hold"]),
        ("create run.zarr x --group --attrs {bad", 2, &["attributes: invalid JSON"]),
        ("attrs set run.zarr t a 1e999", 2, &["a: found 1e999, which no double can hold"]),
        ("attrs set run.zarr t a [1e999] --non-finite", 2, &["a: found 1e999, which no double can hold"]),
        ("create run.zarr x --type int8 --shape 2 --attrs [1]", 2, &["attributes: found [1], expected an object"]),
        ("create run.zarr x --type int8 --shape 2 --dims a,b", 2, &["dimension_names", "expected 1"]),
        ("create run.zarr x --type int8 --shape 2 --codec {", 2, &["--codec: invalid JSON"]),
        ("create run.zarr x --type int8 --shape 2 --codec nope", 2, &["nope"]),
        ("create run.zarr x --type int8 --shape 2 --compressor lzw", 2, &["compressor: found \"lzw\""]),
        ("create run.zarr x --metadata nothing", 1, &["nothing: No such file"]),
        ("create run.zarr x --metadata bytes", 1, &["invalid JSON"]),
        ("resize run.zarr t --shape 1", 1, &["rank"]),
        ("resize run.zarr t --shape -1,20", 2, &["--shape", "found -1"]),
        // Input.
        ("write run.zarr t --raw", 1, &["standard input: it ends before the 160 bytes of the region"]),
        ("write run.zarr t --raw -i nothing", 1, &["nothing: No such file"]),
        ("write run.zarr t --raw -i bytes", 1, &["bytes: found 7 bytes of elements, expected 160 for the region"]),
        ("write run.zarr t --npy", 1, &["standard input: no .npy file: it ends within the header"]),
        ("write run.zarr t --npy -i bytes", 1, &["bytes: no .npy file"]),
    ];
    for (line, status, words) in cases {
        let ran = folder.run_with(line, &[]);
        let err = &ran.err;
        assert_eq!(ran.status, Some(*status), "ozarr {line}: {err}");
        assert!(ran.out.is_empty(), "ozarr {line} prints {:?}", String::from_utf8_lossy(&ran.out));
        assert!(err.starts_with("ozarr: ") && err.ends_with('\n') && err.lines().count() == 1, "ozarr {line}: {err:?}");
        for word in *words {
            assert!(err.contains(word), "ozarr {line}: no {word:?} in {err:?}");
        }
    }
    let listed = folder.run_with("ls run.zarr --json", &[]);
    assert_eq!(listed.out, b"[\"g\", \"odd\", \"t\"]\n");
    assert_eq!((listed.status, listed.err.as_str()), (Some(1), "ozarr: 1 of 3 nodes cannot be read, \"odd\" first\n"));
}

#[test]
fn input_that_does_not_fit_writes_nothing() {
    let folder = store("fit");
    let npy = folder.bytes("read run.zarr g/u --npy", &[]);
    let mut wrong_type = npy.clone();
    wrong_type[21..24].copy_from_slice(b"|O1");
    let cases: &[(&str, &[u8], &str)] = &[
        ("write run.zarr g/u --raw", &[9; 4], "it goes on after the 3 bytes of the region"),
        ("write run.zarr g/u --raw", &[9; 2], "it ends before the 3 bytes of the region"),
        ("write run.zarr g/u --npy --shape 2", &npy, "the data has shape [3], --shape says [2]"),
        ("write run.zarr g/u --npy --start 1", &npy, "dimension 0"),
        ("write run.zarr t --npy", &npy, "rank"),
        ("write run.zarr g/u --npy", &npy[..npy.len() - 1], "it ends before the 3 bytes"),
        ("write run.zarr g/u --npy", &wrong_type, "is not understood"),
        ("write run.zarr g/u --raw --type int16", &[0xff; 6], "is -1, uint8 begins at 0"),
    ];
    for (line, input, word) in cases {
        let ran = folder.run_with(line, input);
        assert_eq!(ran.status, Some(1), "ozarr {line}");
        assert!(ran.err.contains(word), "ozarr {line}: {}", ran.err);
        assert_eq!(folder.ok("read run.zarr g/u --json"), "[1, 2, 3]\n", "ozarr {line}");
    }
}

/// What comes in is no place in memory, neither as it is nor as 16 bytes that numpy names no better.
#[test]
fn elements_of_variable_length_are_not_taken_from_bytes() {
    let folder = store("pointers");
    folder.ok("create run.zarr s --type string --shape 3 --fill none");
    folder.ok("create run.zarr w --type <U4 --shape 3");
    let header = b"{'descr': '|V16', 'fortran_order': False, 'shape': (3,), }\n";
    let npy = [&b"\x93NUMPY\x01\0"[..], &(header.len() as u16).to_le_bytes(), header, &[1; 48]].concat();
    let cases: &[(&str, &[u8])] =
        &[("write run.zarr s --raw", &[1; 48]), ("write run.zarr s --npy", &npy), ("write run.zarr w --raw --type string", &[1; 48])];
    for (line, input) in cases {
        let ran = folder.run_with(line, input);
        assert_eq!(ran.status, Some(1), "ozarr {line}: {}", ran.err);
        assert!(ran.err.contains("elements of string have no fixed size"), "ozarr {line}: {}", ran.err);
    }
    assert_eq!(folder.ok("read run.zarr s --json"), "[\"none\", \"none\", \"none\"]\n");
    assert_eq!(folder.ok("read run.zarr s --json --type string"), "[\"none\", \"none\", \"none\"]\n");
    for data_type in ["float64", "bool", "complex128", "<U4", "bytes"] {
        for form in ["--json", "--csv"] {
            let ran = folder.run_with(&format!("read run.zarr s {form} --type {data_type}"), &[]);
            let told = ran.err.starts_with("ozarr: elements of string cannot be converted to ");
            assert!(ran.status == Some(1) && told, "{form} --type {data_type}: {}", ran.err);
        }
    }
}

/// Only of the types that numpy has no name for the bytes are taken as they are.
#[test]
fn bytes_of_numpy_are_no_numbers() {
    let folder = store("bytes");
    folder.ok("create run.zarr i --type int32 --shape 3 --fill 7");
    folder.ok("create run.zarr b --type bfloat16 --shape 6");
    let npy = |n: usize, count: usize| {
        let header = format!("{{'descr': '|V{n}', 'fortran_order': False, 'shape': ({count},), }}\n");
        [&b"\x93NUMPY\x01\0"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), &vec![64; n * count]].concat()
    };
    let ran = folder.run_with("write run.zarr i --npy", &npy(4, 3));
    assert!(ran.status == Some(1) && ran.err.contains("raw_bytes cannot be converted to int32"), "{}", ran.err);
    assert_eq!(folder.ok("read run.zarr i --json"), "[7, 7, 7]\n");
    assert_eq!(folder.run_with("write run.zarr b --npy", &npy(2, 6)).status, Some(0));
    assert_eq!(folder.ok("read run.zarr b --json"), "[3.0, 3.0, 3.0, 3.0, 3.0, 3.0]\n");
}

#[test]
fn damaged_chunks_and_unknown_codecs_are_named() {
    let folder = store("damaged");
    std::fs::write(folder.0.join("run.zarr/g/u/c/0"), [1, 2]).unwrap();
    let ran = folder.run_with("read run.zarr g/u --raw", &[]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("g/u/c/0") && ran.err.contains("found 2 bytes, expected 3"), "{}", ran.err);
    let document = folder.0.join("run.zarr/t/zarr.json");
    let text = std::fs::read_to_string(&document).unwrap().replace("zstd", "unheard-of");
    std::fs::write(&document, text).unwrap();
    let ran = folder.run_with("read run.zarr t --json --shape 0,0", &[]);
    assert!(ran.status == Some(1) && ran.err.contains("unheard-of"), "{}", ran.err);
    assert!(folder.ok("info run.zarr t").contains("unheard-of"));
}

#[test]
fn names_that_terminals_act_on_are_escaped() {
    let folder = Folder::new("hostile");
    // The beginning of a terminal's command in one character, and a mark that turns the direction of text.
    let name = "a\u{9b}31m\u{202e}b";
    folder.ok(&format!("create h.zarr t --type int8 --shape 4,4 --dims {name},x --attrs {{\"{name}\":\"{name}\"}}"));
    // Other programs make such names, this one refuses to.
    std::fs::rename(folder.0.join("h.zarr/t"), folder.0.join("h.zarr").join(name)).unwrap();
    for line in "ls|ls --json|tree|tree --json|du|du --json|digest|digest --json|consolidate".split('|') {
        let line = line.replacen(' ', " h.zarr ", 1);
        let line = if line.contains("h.zarr") { line } else { format!("{line} h.zarr") };
        let out = folder.ok(&line);
        assert!(!out.contains(['\u{9b}', '\u{202e}']), "ozarr {line}: {out:?}");
    }
    for line in "info|info --json|attrs get|stats --json|explain|read --csv --shape 0,0|tune --sample 4K --access whole".split('|') {
        let out = folder.ok(&format!("{line} h.zarr {name}"));
        assert!(!out.contains(['\u{9b}', '\u{202e}']), "ozarr {line}: {out:?}");
    }
    folder.ok("create none.zarr t --type int8 --shape 4,4");
    for line in ["diff none.zarr/t h.zarr", "diff none.zarr/t h.zarr --json"] {
        let ran = folder.run_with(&line.replace("h.zarr", &format!("h.zarr/{name}")), &[]);
        let out = String::from_utf8(ran.out).unwrap();
        assert!(ran.status == Some(1) && out.contains("attribute a") && !out.contains(['\u{9b}', '\u{202e}']), "ozarr {line}: {out:?}");
    }
    let err = folder.run_with(&format!("info h.zarr {name}x"), &[]).err;
    assert!(err.contains("\\u{9b}31m\\u{202e}bx") && !err.contains('\u{9b}'), "{err:?}");
    assert_eq!(folder.ok("ls h.zarr --json"), "[\"a\\u009b31m\\u202eb\"]\n");
}

/// Nothing says what it is, nor that it is nothing.
#[cfg(unix)]
#[test]
fn a_dump_of_a_hierarchy_of_which_something_cannot_be_read_fails() {
    let folder = Folder::new("unread");
    for (name, more) in [("t", ""), ("uu", "--format 2"), ("g/v", "")] {
        folder.ok(&format!("create run{}.zarr {name} --type int8 --shape 2 {more}", name.len()));
    }
    for (store, document) in [("run1.zarr", "t/zarr.json"), ("run2.zarr", "uu/.zarray"), ("run3.zarr", "g/v/zarr.json")] {
        let place = folder.0.join(store).join(document);
        let text = std::fs::read(&place).unwrap();
        std::fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink(&place, &place).unwrap();
        for line in [format!("dump {store}"), format!("dump {store} --json"), format!("dump {store} -h")] {
            let ran = folder.run_with(&line, b"");
            assert_eq!(ran.status, Some(1), "{line} without {document}: {}", ran.err);
        }
        std::fs::remove_file(&place).unwrap();
        std::fs::write(&place, text).unwrap();
        folder.ok(&format!("dump {store}"));
    }
}

/// What a command leaves out where it cannot be read would change what it prints of the rest. One that is damaged is an error for those that show it.
#[test]
fn a_document_that_cannot_be_read_is_an_error_and_one_that_is_damaged_is_none_for_all() {
    let folder = Folder::new("unread-document");
    folder.ok("create a.zarr g/u --type uint8 --shape 3,4 --dims time,x --compressor none");
    folder.ok("create a.zarr time --type float64 --shape 3 --dims time --compressor none");
    folder.bytes("write a.zarr g/u --raw", &[1; 12]);
    folder.bytes("write a.zarr time --raw", &[10f64, 20., 30.].map(f64::to_ne_bytes).concat());
    let document = folder.0.join("a.zarr/time/zarr.json");
    let commands = ["du a.zarr", "plot a.zarr g/u --terminal blocks --index time=1"].map(|line| (line, folder.run_with(line, &[])));
    // A link to itself cannot be opened.
    std::fs::remove_file(&document).unwrap();
    std::os::unix::fs::symlink("zarr.json", &document).unwrap();
    for (line, _) in &commands {
        let ran = folder.run_with(line, &[]);
        assert_eq!((ran.status, ran.err.lines().count()), (Some(1), 1), "ozarr {line}: {}", ran.err);
        assert!(ran.err.contains("time/zarr.json"), "ozarr {line}: {}", ran.err);
    }
    let listed = folder.run_with("ls a.zarr", &[]);
    assert_eq!((listed.status, listed.err.as_str()), (Some(1), "ozarr: 1 of 2 nodes cannot be read, \"time\" first\n"));
    let out = String::from_utf8_lossy(&listed.out);
    assert!(out.starts_with("g     group\n") && out.contains("time  unreadable: "), "{out}");
    std::fs::remove_file(&document).unwrap();
    std::fs::write(&document, "{").unwrap();
    let listed = folder.run_with("ls a.zarr", &[]);
    assert_eq!((listed.status, listed.err.as_str()), (Some(1), "ozarr: 1 of 2 nodes cannot be read, \"time\" first\n"));
    for (line, whole) in &commands {
        let ran = folder.run_with(line, &[]);
        assert_eq!((ran.status, ran.err.as_str()), (whole.status, whole.err.as_str()), "ozarr {line}");
    }
}

/// The status says it where a command shows all the others, and what it prints does not depend on that.
#[cfg(target_os = "linux")]
#[test]
fn each_command_ends_with_an_error_where_one_node_of_several_cannot_be_read() {
    let folder = Folder::new("one-unread");
    for (name, shape, dims) in [("a", "2,3", "time,x"), ("g/b", "2,3,1", "time,x,y"), ("g/c", "2,3", "time,x")] {
        folder.ok(&format!("create s.zarr {name} --type uint8 --shape {shape} --chunks {shape} --dims {dims} --compressor none"));
        folder.bytes(&format!("write s.zarr {name} --raw"), &[1; 6]);
    }
    // Consolidated metadata would tell of it.
    let image =
        r#"{"axes":[{"name":"y"},{"name":"x"}],"datasets":[{"path":"b","coordinateTransformations":[{"type":"scale","scale":[1,1]}]}]}"#;
    for (group, attributes) in [("", String::new()), ("g/", format!(r#""b":1,"multiscales":[{image}]"#))] {
        let text = format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{{attributes}}}}}"#);
        std::fs::write(folder.0.join(format!("s.zarr/{group}zarr.json")), text).unwrap();
    }
    folder.ok("cp s.zarr whole.zarr");
    let lines = "ls s.zarr/g|tree s.zarr|info s.zarr/g|dump s.zarr|diff s.zarr whole.zarr|diff whole.zarr s.zarr|digest s.zarr|du s.zarr|\
        consolidate s.zarr|verify s.zarr|cp s.zarr new.zarr|copy s.zarr new.zarr --chunks 1,3,1|copy s.zarr/g new.zarr --format 2|\
        migrate s.zarr new.zarr|attrs get s.zarr/g b|stats s.zarr/g/b|explain s.zarr/g/b|read s.zarr/g/b|resize s.zarr/g/b --shape 3,3|\
        tail s.zarr/g --timeout 0 --dim time|plot s.zarr g/c g/b --terminal blocks|tune s.zarr/g/b --access whole";
    let lines = lines.split('|').map(|line| if line.starts_with("read ") { format!("{line} --csv") } else { line.to_string() });
    let lines: Vec<String> = lines.collect();
    let of = |line: &str| {
        let _ = std::fs::remove_dir_all(folder.0.join("new.zarr"));
        folder.run_with(line, &[])
    };
    // The memory of whoever reads it has nothing at 0: as a broken disk, it is a file that cannot be read.
    let document = folder.0.join("s.zarr/g/b/zarr.json");
    std::fs::remove_file(&document).unwrap();
    std::os::unix::fs::symlink("/proc/self/mem", &document).unwrap();
    for line in
        lines.iter().flat_map(|line| [line.clone(), line.replace("--csv", "").replace("--terminal blocks", "--output new.png") + " --json"])
    {
        let ran = of(&line);
        let status = if line.starts_with("diff") { 2 } else { 1 };
        assert_eq!(
            (ran.status, ran.err.lines().count()),
            (Some(status), 1),
            "ozarr {line}: {}{}",
            String::from_utf8_lossy(&ran.out),
            ran.err
        );
    }
    for (line, told, out) in [
        ("ls s.zarr/g", "1 of 2 nodes cannot be read, \"b\" first", "c  uint8"),
        ("ls s.zarr/g --json", "1 of 2 nodes cannot be read, \"b\" first", "[\"b\", \"c\"]"),
        ("tree s.zarr", "1 of 5 nodes cannot be read, \"g/b\" first", "├── b  unreadable: "),
        ("tree s.zarr --json", "1 of 5 nodes cannot be read, \"g/b\" first", "\"path\": \"g/c\""),
        ("tree s.zarr --depth 1", "", "└── g"),
    ] {
        let ran = of(line);
        let printed = String::from_utf8(ran.out).unwrap();
        let err = if told.is_empty() { String::new() } else { format!("ozarr: {told}\n") };
        assert!(ran.err == err && printed.contains(out), "ozarr {line}: {printed}{}", ran.err);
    }
}

/// As with programs in C.
#[test]
fn what_is_odd_is_told_where_the_environment_asks_for_it() {
    let folder = Folder::new("log");
    folder.ok("create a.zarr t --type uint8 --shape 3 --format 2");
    let document = folder.0.join("a.zarr/t/.zarray");
    let text = std::fs::read(&document).unwrap();
    std::fs::write(&document, [b"\xEF\xBB\xBF".as_slice(), &text].concat()).unwrap();
    for line in ["info a.zarr t", "attrs set a.zarr t k 1"] {
        for (level, told) in [("warning", true), ("info", true), ("off", false)] {
            let output = folder.command(line).env("OZARR_LOG", level).env("OZARR_NUM_THREADS", "many").output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success(), "ozarr {line}: {err}");
            for part in ["ozarr: HD-01: t/.zarray: ", "ozarr: OZARR_NUM_THREADS is \"many\""] {
                assert_eq!(err.matches(part).count(), usize::from(told), "OZARR_LOG={level} ozarr {line}: {err}");
            }
        }
        // Stored anew it has no mark.
        std::fs::write(&document, [b"\xEF\xBB\xBF".as_slice(), &text].concat()).unwrap();
    }
}
