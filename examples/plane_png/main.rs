//! Makes a picture of a plane: `plane-png PLANE OUT.png [WIDTH]`, PLANE being rows of native float64 as heat_read writes them.
//!
//! Dark is cold, bright is hot; the first row is at the bottom, as on a map. WIDTH is that of a row; without it the plane is square.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

/// From cold to hot, evenly spaced; brightness rises all the way, so that it also reads in grey.
const COLOURS: [[f64; 3]; 9] = [
    [0.0, 0.0, 4.0],
    [31.0, 12.0, 72.0],
    [85.0, 15.0, 109.0],
    [136.0, 34.0, 106.0],
    [186.0, 54.0, 85.0],
    [227.0, 89.0, 51.0],
    [249.0, 140.0, 10.0],
    [249.0, 201.0, 50.0],
    [252.0, 255.0, 164.0],
];

/// The picture is enlarged by a whole factor to at least this many pixels a side.
const SIDE: usize = 512;

fn colour(t: f64) -> [u8; 3] {
    let at = t.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let i = (at as usize).min(COLOURS.len() - 2);
    let part = at - i as f64;
    std::array::from_fn(|c| (COLOURS[i][c] + part * (COLOURS[i + 1][c] - COLOURS[i][c])).round() as u8)
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, plane, out, rest @ ..] = args.as_slice() else {
        return Err("usage: plane-png PLANE OUT.png [WIDTH]".into());
    };
    let bytes = std::fs::read(plane)?;
    let (words, []) = bytes.as_chunks::<8>() else {
        return Err(format!("{plane}: {} bytes are no whole number of float64", bytes.len()).into());
    };
    let values: Vec<f64> = words.iter().map(|w| f64::from_ne_bytes(*w)).collect();
    let width = match rest.first() {
        Some(w) => w.parse()?,
        None => values.len().isqrt(),
    };
    if width == 0 || !values.len().is_multiple_of(width) {
        return Err(format!("{plane}: {} values do not make rows of {width}", values.len()).into());
    }
    let height = values.len() / width;

    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let scale = if high > low { 1.0 / (high - low) } else { 0.0 };
    let zoom = SIDE.div_ceil(width.max(height)).max(1);

    let mut pixels = Vec::with_capacity(width * height * zoom * zoom * 3);
    for row in values.chunks_exact(width).rev() {
        let line: Vec<u8> = row.iter().flat_map(|v| colour((v - low) * scale).repeat(zoom)).collect();
        for _ in 0..zoom {
            pixels.extend_from_slice(&line);
        }
    }
    let mut png = png::Encoder::new(BufWriter::new(File::create(out)?), (width * zoom).try_into()?, (height * zoom).try_into()?);
    png.set_color(png::ColorType::Rgb);
    png.set_depth(png::BitDepth::Eight);
    png.write_header()?.write_image_data(&pixels)?;
    println!("{out}: {} x {} pixels, {low:.2} (dark) to {high:.2} (bright)", width * zoom, height * zoom);
    Ok(())
}
