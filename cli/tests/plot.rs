//! `ozarr plot`: pictures by their pixels.

mod program;

use program::Folder;

fn bytes(values: impl IntoIterator<Item = f64>) -> Vec<u8> {
    values.into_iter().flat_map(f64::to_le_bytes).collect()
}

/// `t` over time, y and x: 2 x 4 x 6, the number of the element; one is missing. Coordinates of all three, y falling.
fn store(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.ok(r#"create run.zarr/t --type float64 --shape 2,4,6 --chunks 1,2,3 --dims time,y,x --attrs {"units":"K<2>"}"#);
    folder.bytes("write run.zarr/t --raw", &bytes((0..48).map(|i| if i == 7 { f64::NAN } else { f64::from(i) })));
    folder.ok(r#"create run.zarr/time --type int64 --shape 2 --chunks 2 --dims time --attrs {"units":"days_since_2026-03-01"}"#);
    folder.bytes("write run.zarr/time --raw", &[0i64, 1].map(i64::to_le_bytes).concat());
    for (dim, values) in [("y", vec![60.0, 50.0, 40.0, 30.0]), ("x", vec![-5.0, -3.0, -1.0, 1.0, 3.0, 5.0])] {
        folder.ok(&format!("create run.zarr/{dim} --type float64 --shape {0} --chunks {0} --dims {dim}", values.len()));
        folder.bytes(&format!("write run.zarr/{dim} --raw"), &bytes(values));
    }
    folder
}

/// A PNG: its width, and the pixels of each of its pictures.
fn png(folder: &Folder, name: &str) -> (usize, Vec<Vec<[u8; 3]>>) {
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(folder.0.join(name)).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let pictures = reader.info().animation_control().map_or(1, |a| a.num_frames);
    let mut all = Vec::new();
    for _ in 0..pictures {
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        all.push(pixels.as_chunks::<3>().0.to_vec());
    }
    (reader.info().width as usize, all)
}

/// The colour of a share of viridis, by the picture of a ramp.
fn viridis(folder: &Folder) -> Vec<[u8; 3]> {
    folder.ok("create ramp.zarr --type float64 --shape 2,256 --chunks 2,256");
    folder.bytes("write ramp.zarr --raw", &bytes((0..512).map(|i| f64::from(i % 256))));
    folder.ok("plot ramp.zarr --bare -o ramp.png");
    let (width, pictures) = png(folder, "ramp.png");
    let ramp = pictures[0][..width].to_vec();
    // Anchors of the public table.
    for (i, want) in [(0, [68u8, 1, 84]), (128, [33, 145, 140]), (255, [253, 231, 37])] {
        assert!(ramp[i].iter().zip(want).all(|(a, b)| a.abs_diff(b) <= 2), "{i}: {:?}", ramp[i]);
    }
    ramp
}

const MISSING: [u8; 3] = [190, 190, 190];

/// The colours that a plane of numbers has in a range.
fn colours(ramp: &[[u8; 3]], values: &[f64], low: f64, high: f64) -> Vec<[u8; 3]> {
    let colour = |v: &f64| if v.is_nan() { MISSING } else { ramp[((v - low) / (high - low) * 255.0).round() as usize] };
    values.iter().map(colour).collect()
}

#[test]
fn a_group_names_its_arrays_and_json_names_the_file() {
    let folder = store("group");
    folder.ok("create run.zarr/g/inner --type float32 --shape 4,4");
    folder.ok("create run.zarr/none --group");
    for (line, words) in [
        ("plot run.zarr -o p.png", "run.zarr is a group, not an array; name one of its arrays: g/inner, t, time, x, y"),
        ("plot run.zarr/g -o p.png", "run.zarr/g is a group, not an array; name one of its arrays: inner"),
        ("plot run.zarr g -o p.png", "run.zarr/g is a group, not an array; name one of its arrays: inner"),
        ("plot run.zarr/none -o p.png", "run.zarr/none is a group, not an array; there is none in it"),
    ] {
        let ran = folder.run_with(line, &[]);
        assert!(ran.status == Some(1) && ran.err.contains(words), "ozarr {line}: {}", ran.err);
    }
    let told = folder.ok("plot run.zarr t -o p.png --json");
    assert_eq!(told, "{\n  \"output\": \"p.png\",\n  \"arrays\": [\"t\"]\n}\n");
}

#[test]
fn each_element_has_the_colour_of_its_value() {
    let folder = store("plot-colours");
    let ramp = viridis(&folder);
    // y falls, so that the first row is on top.
    let plane = |first: i32| (first..first + 24).map(|i| if i == 7 { f64::NAN } else { f64::from(i) }).collect::<Vec<_>>();
    let mean: Vec<f64> = (0..24).map(|i| f64::from(i) + if i == 7 { 24.0 } else { 12.0 }).collect();
    let cases: &[(&str, usize, Vec<f64>, f64, f64)] = &[
        ("", 6, plane(0), 0.0, 23.0),
        ("--index time=-1", 6, plane(24), 24.0, 47.0),
        ("--at time=2026-03-02", 6, plane(24), 24.0, 47.0),
        ("--start 1,0,0 --shape 1,4,6", 6, plane(24), 24.0, 47.0),
        ("--range 0:100", 6, plane(0), 0.0, 100.0),
        ("--mean time", 6, mean, 12.0, 35.0),
        ("--max time", 6, plane(24), 24.0, 47.0),
        ("--at y=45:100 --at x=-3:0", 2, vec![1.0, 2.0, f64::NAN, 8.0], 1.0, 8.0),
        ("--mean x --at y=:45", 2, vec![], 0.0, 0.0),
    ];
    for (options, width, values, low, high) in cases {
        folder.ok(&format!("plot run.zarr/t {options} --bare -o p.png"));
        let (found, pictures) = png(&folder, "p.png");
        assert_eq!(found, *width, "{options}");
        if !values.is_empty() {
            assert_eq!(pictures[0], colours(&ramp, values, *low, *high), "{options}");
        }
    }
    folder.ok("plot run.zarr t --animate time --bare -o a.png");
    let (_, pictures) = png(&folder, "a.png");
    assert_eq!(pictures, [colours(&ramp, &plane(0), 0.0, 47.0), colours(&ramp, &plane(24), 0.0, 47.0)]);
}

#[test]
fn a_picture_with_axes_has_the_plane_where_its_svg_says() {
    let folder = store("plot-axes");
    let ramp = viridis(&folder);
    folder.ok("plot run.zarr/t --contours -o p.svg --size 500,400");
    folder.ok("plot run.zarr/t -o p.png --size 500,400");
    let svg = std::fs::read_to_string(folder.0.join("p.svg")).unwrap();
    for text in ["t [K&lt;2&gt;]", "time = 2026-03-01 (0 of 2)", ">60<", ">missing<", "<path"] {
        assert!(svg.contains(text), "{text}");
    }
    let image = svg.split("<image ").nth(1).unwrap();
    let number = |name: &str| -> f64 { image.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap() };
    let (x0, y0, w, h) = (number("x"), number("y"), number("width"), number("height"));
    let (width, pictures) = png(&folder, "p.png");
    assert_eq!((width, pictures[0].len()), (500, 500 * 400));
    for (row, column) in [(0, 0), (0, 5), (1, 1), (2, 3), (3, 5)] {
        let at = |start: f64, length: f64, cell: usize, cells: f64| (start + length * (cell as f64 + 0.5) / cells) as usize;
        let pixel = pictures[0][at(y0, h, row, 4.0) * width + at(x0, w, column, 6.0)];
        let value = if (row, column) == (1, 1) { f64::NAN } else { (row * 6 + column) as f64 };
        assert_eq!(pixel, colours(&ramp, &[value], 0.0, 23.0)[0], "{row}, {column}");
    }
}

#[test]
fn lines_and_histograms_are_drawn() {
    let folder = store("plot-lines");
    folder.ok("create run.zarr/u --type float64 --shape 2 --chunks 2 --dims time");
    folder.ok("create run.zarr/w --type float64 --shape 2 --chunks 2 --dims time");
    for (line, texts) in [
        ("plot run.zarr t --at y=50 --at x=3", &["2026-03-01", "y = 50 (1 of 4)"][..]),
        ("plot run.zarr w u --kind line", &["2026-03-01", ">w<", ">u<"]),
        ("plot run.zarr/t --mean x,y", &["mean over y, mean over x"]),
        ("plot run.zarr/t --kind histogram --bins 4", &["47 elements"]),
    ] {
        folder.ok(&format!("{line} -o p.svg"));
        let svg = std::fs::read_to_string(folder.0.join("p.svg")).unwrap();
        texts.iter().for_each(|text| assert!(svg.contains(text), "{line}: {text} in {svg}"));
    }
}

/// The lines of an SVG that have a colour: their points.
fn points(svg: &str, colour: &str) -> Vec<f64> {
    let path = svg.split("<path ").find(|path| path.contains(&format!("stroke=\"{colour}\""))).unwrap_or_else(|| panic!("{svg}"));
    let path = path.split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
    path.split(['M', 'L', ' ', ',']).filter(|n| !n.is_empty()).map(|n| n.parse().unwrap_or_else(|_| panic!("{path}"))).collect()
}

#[test]
fn lines_in_one_picture_share_the_times_of_the_first() {
    let folder = Folder::new("plot-times");
    for (group, units) in [("a", "days_since_2000-01-01"), ("b", "hours_since_1999-12-31")] {
        folder.ok(&format!("create run.zarr/{group}/v --type float64 --shape 3 --chunks 3 --dims time"));
        folder
            .ok(&format!(r#"create run.zarr/{group}/time --type float64 --shape 3 --chunks 3 --dims time --attrs {{"units":"{units}"}}"#));
        folder.bytes(&format!("write run.zarr/{group}/v --raw"), &bytes([1.0, 2.0, 3.0]));
    }
    folder.bytes("write run.zarr/a/time --raw", &bytes([0.0, 1.0, 2.0]));
    // From 1999-12-31 to 2000-01-02, so that it begins and ends a day before the other.
    folder.bytes("write run.zarr/b/time --raw", &bytes([0.0, 24.0, 48.0]));
    folder.ok("plot run.zarr a/v b/v -o p.svg");
    let svg = std::fs::read_to_string(folder.0.join("p.svg")).unwrap();
    let (a, b) = (points(&svg, "#0072b2"), points(&svg, "#d55e00"));
    assert!((a[0] - b[2]).abs() < 0.1 && (a[2] - b[4]).abs() < 0.1 && a[2] - a[0] > 50.0, "{a:?} {b:?}");
}

#[test]
fn values_whose_range_is_more_than_a_double_holds_are_drawn() {
    let folder = Folder::new("plot-far");
    folder.ok("create a.zarr --type float64 --shape 6 --chunks 6");
    folder.bytes("write a.zarr --raw", &bytes([-1.7e308, 1.7e308, 0.0, 1.0, 1e308, 1.6e308]));
    for line in ["plot a.zarr", "plot a.zarr --kind histogram --bins 4"] {
        folder.ok(&format!("{line} -o p.svg"));
        let svg = std::fs::read_to_string(folder.0.join("p.svg")).unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{line}: {svg}");
    }
}

#[test]
fn a_dimension_whose_name_no_array_can_have_has_no_coordinate() {
    let folder = Folder::new("plot-names");
    for (i, dim) in ["..", "../x", "file", "file/x", &"d".repeat(256)].into_iter().enumerate() {
        folder.ok(&format!("create run{i}.zarr/v --type float64 --shape 3 --chunks 3 --dims {dim}"));
        std::fs::write(folder.0.join(format!("run{i}.zarr/file")), "a file").unwrap();
        folder.ok(&format!("plot run{i}.zarr v -o p{i}.png"));
    }
}

#[test]
fn a_long_line_over_reduced_dimensions_is_of_the_results() {
    let folder = Folder::new("plot-reduced");
    folder.ok("create r.zarr t --type float64 --shape 4000,3 --chunks 1000,3 --dims r,y");
    folder.bytes("write r.zarr t --raw", &bytes((0..12_000).map(|i| f64::from(i / 3 % 7 * 10 + i % 3))));
    let drawn = |line: &str| {
        folder.ok(&format!("plot r.zarr {line} -o p.svg"));
        let svg = std::fs::read_to_string(folder.0.join("p.svg")).unwrap();
        svg.split(" d=\"").skip(1).map(|path| path.split('"').next().unwrap().to_string()).collect::<Vec<_>>()
    };
    for (how, column) in [("min", 0), ("mean", 1), ("max", 2)] {
        assert!(drawn(&format!("t --{how} y")) == drawn(&format!("t --at y={column}")), "{how}");
    }
}

#[test]
fn only_the_chunks_of_the_plane_are_read() {
    let folder = store("plot-chunks");
    for (options, chunks) in [("", 4), ("--at y=60:50 --at x=-5", 2), ("--at time=2026-03-02 --at y=60:50", 2), ("--mean time", 8)] {
        let ran = folder.run_with(&format!("plot run.zarr/t {options} --stats -o p.png"), &[]);
        assert_eq!(ran.status, Some(0), "{}", ran.err);
        assert!(ran.err.lines().any(|l| l == format!("decoded chunks: {chunks}")), "{options}: {}", ran.err);
    }
}

#[test]
fn a_line_of_more_elements_than_can_be_read_shows_some() {
    let folder = Folder::new("plot-long");
    folder.ok("create long.zarr t --type uint8 --shape 1000000000000 --chunks 1000000 --fill 5");
    folder.bytes("write long.zarr t --raw --start 500000000000 --shape 3", &[1, 2, 9]);
    folder.ok("plot long.zarr/t -o long.svg");
    folder.ok("plot long.zarr/t --at 0=500000000000:500000000002.5 --kind histogram -o three.svg");
    assert!(std::fs::read_to_string(folder.0.join("three.svg")).unwrap().contains(">3 elements<"));
    let told = folder.run_with("plot long.zarr/t --at 0=500000000001.4 -o one.svg", &[]).err;
    assert!(told.contains("one value is selected, 2;"), "{told}");
    // One element is missing, those that are not stored mean 2.5.
    for attribute in [["scale_factor", "0.5"], ["missing_value", "9"]] {
        assert!(folder.command("attrs set long.zarr t").args(attribute).status().unwrap().success());
    }
    folder.ok("plot long.zarr/t --kind histogram --bins 2 -o all.svg");
    let svg = std::fs::read_to_string(folder.0.join("all.svg")).unwrap();
    assert!(svg.contains(">999999999999 elements<") && svg.contains(">2.4<") && !svg.contains(">2.6<"), "{svg}");
}

#[test]
fn terminals_get_what_they_show() {
    let folder = store("plot-terminal");
    let text = folder.ok("plot run.zarr/t --terminal blocks");
    assert!(
        text.starts_with("t [K<2>]\ntime = 2026-03-01 (0 of 2)\nx to the right: -5 to 5\ny upwards: 30 to 60\ncolours: 0 to 23\n"),
        "{text}"
    );
    assert!(text.contains('\u{2580}'));
    assert!(folder.ok("plot run.zarr/t --terminal kitty").starts_with("\x1b_Ga=T,f=100,m=1;iVBOR"));
    assert!(folder.ok("plot run.zarr/t --terminal iterm").starts_with("\x1b]1337;File=inline=1;"));
    assert!(folder.ok("plot run.zarr/t --terminal sixel --bare").starts_with("\x1bP0;1;0q\"1;1;6;4#"));
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let folder = store("plot-errors");
    folder.ok("create run.zarr/empty --type float64 --shape 0,4 --chunks 1,1");
    folder.ok("create run.zarr/text --type string --shape 4 --chunks 1");
    folder.ok("create run.zarr/none --type float64 --shape 3,4 --chunks 3,4 --fill NaN");
    folder.ok("create run.zarr/u --type float64 --shape 2 --chunks 2 --dims time");
    for (line, status, word) in [
        ("plot run.zarr/t", 2, "no terminal"),
        ("plot run.zarr/t -o p.gif", 2, ".png or .svg"),
        ("plot run.zarr/t --json", 2, "--output <FILE>"),
        ("plot run.zarr/t --terminal text --json", 2, "--json"),
        ("plot run.zarr/t -o p.png --at z=3", 1, "no dimension \"z\", expected one of time, y, x"),
        ("plot run.zarr/t -o p.png --at y=90", 1, "outside of the dimension; the coordinates are 30 to 60"),
        ("plot run.zarr/t -o p.png --at time=soon", 1, "expected a date such as 2026-03-01"),
        ("plot run.zarr/t -o p.png --at time=2027-01-01:", 1, "nothing is between them"),
        ("plot run.zarr/t -o p.png --index x=6", 1, "the dimension has 6 elements"),
        ("plot run.zarr/t -o p.png --range 5:5", 2, "the lower one first"),
        ("plot run.zarr/t -o p.png --size 1,1", 2, "from 120 to 8000"),
        ("plot run.zarr/t -o p.png --index x=0 --index y=0 --index time=0", 1, "one value is selected, 0"),
        ("plot run.zarr/t -o p.png --animate z", 1, "no dimension"),
        ("plot run.zarr t x -o p.png --kind map", 2, "lines in one picture"),
        ("plot run.zarr u none --kind line -o p.png", 1, "none: found values over the numbers \"1\", expected them over the times"),
        ("plot run.zarr/empty -o p.png", 1, "no elements"),
        ("plot run.zarr/text -o p.png", 1, "expected real numbers"),
        ("plot run.zarr -o p.png", 1, "is a group"),
        ("plot run.zarr/none -o p.png --at 1=4", 1, "outside of the dimension; the dimension has no coordinates, its indices are 0 to 3"),
        ("plot run.zarr/none -o p.png --at 1=1.2:1.8", 1, "nothing is between them"),
        ("plot run.zarr/none -o p.png --at 1=x", 1, "expected a number"),
        ("plot run.zarr/t -o no/p.png", 1, "no/p.png"),
    ] {
        let ran = folder.run_with(line, &[]);
        assert_eq!(ran.status, Some(status), "{line}: {}", ran.err);
        assert!(ran.err.starts_with("ozarr: ") && ran.err.contains(word) && ran.err.lines().count() == 1, "{line}: {}", ran.err);
    }
    folder.ok("plot run.zarr/none --bare -o p.png");
    assert_eq!(png(&folder, "p.png").1[0], [MISSING; 12]);
}
