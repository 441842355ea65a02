//! What a picture is made of, and its forms: pixels, PNG, animated PNG and SVG.

use super::colours::{Rgb, WHITE};
use super::text;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;
use tiny_skia::{FillRule, Mask, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform};

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

/// Which point of a text is at its place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// One thing that is drawn.
pub enum Mark {
    /// Lines from point to point, cut off at the area.
    Lines { parts: Vec<Vec<(f32, f32)>>, colour: Rgb, width: f32, clip: Area },
    /// A filled rectangle.
    Fill { area: Area, colour: Rgb },
    /// The border of a rectangle.
    Frame { area: Area, colour: Rgb },
    /// A text on a baseline; `upward` turns it by a quarter to the left.
    Text { x: f32, y: f32, text: String, size: f32, anchor: Anchor, upward: bool, colour: Rgb },
    /// Pixels, row by row.
    Image { area: Area, columns: usize, pixels: Vec<Rgb> },
}

/// A picture.
pub struct Scene {
    pub width: u32,
    pub height: u32,
    pub marks: Vec<Mark>,
}

impl Scene {
    pub fn new(width: u32, height: u32) -> Scene {
        Scene { width, height, marks: Vec::new() }
    }

    /// Adds a text.
    pub fn text(&mut self, (x, y): (f32, f32), text: &str, size: f32, anchor: Anchor, upward: bool) {
        // Names come from files: no control characters.
        let text = text.chars().filter(|c| !c.is_control()).collect();
        self.marks.push(Mark::Text { x, y, text, size, anchor, upward, colour: super::colours::INK });
    }

    /// Its pixels on white, row by row.
    pub fn pixels(&self) -> Option<Vec<Rgb>> {
        let mut pixmap = Pixmap::new(self.width, self.height)?;
        pixmap.fill(tiny_skia::Color::WHITE);
        for mark in &self.marks {
            draw(&mut pixmap, mark);
        }
        Some(pixmap.pixels().iter().map(|p| [p.red(), p.green(), p.blue()]).collect())
    }

    /// Its text as SVG.
    pub fn svg(&self) -> Result<String, png::EncodingError> {
        let (w, h) = (self.width, self.height);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" font-family=\"{}\">\n<rect width=\"{w}\" height=\"{h}\" fill=\"{}\"/>\n",
            text::FAMILY,
            hex(WHITE)
        );
        for (i, mark) in self.marks.iter().enumerate() {
            svg_mark(&mut out, i, mark)?;
        }
        out.push_str("</svg>\n");
        Ok(out)
    }
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn paint([r, g, b]: Rgb) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, 255);
    paint
}

/// The path of lines.
fn path_of(parts: &[Vec<(f32, f32)>]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for part in parts {
        for (i, &(x, y)) in part.iter().enumerate() {
            if i == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
        }
    }
    path.finish()
}

fn rect(area: &Area) -> Option<Rect> {
    Rect::from_xywh(area.x, area.y, area.width, area.height)
}

fn draw(pixmap: &mut Pixmap, mark: &Mark) {
    let whole = Transform::identity();
    match mark {
        Mark::Lines { parts, colour, width, clip } => {
            let mut mask = Mask::new(pixmap.width(), pixmap.height());
            if let (Some(mask), Some(rect)) = (&mut mask, rect(clip)) {
                mask.fill_path(&PathBuilder::from_rect(rect), FillRule::Winding, false, whole);
            }
            if let Some(path) = path_of(parts) {
                let stroke = Stroke { width: *width, line_join: tiny_skia::LineJoin::Round, ..Stroke::default() };
                pixmap.stroke_path(&path, &paint(*colour), &stroke, whole, mask.as_ref());
            }
        }
        Mark::Fill { area, colour } => {
            if let Some(rect) = rect(area) {
                pixmap.fill_rect(rect, &paint(*colour), whole, None);
            }
        }
        Mark::Frame { area, colour } => {
            if let Some(rect) = rect(area) {
                pixmap.stroke_path(&PathBuilder::from_rect(rect), &paint(*colour), &Stroke::default(), whole, None);
            }
        }
        Mark::Text { x, y, text, size, anchor, upward, colour } => {
            let width = text::width(text, *size);
            let back = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => width / 2.0,
                Anchor::End => width,
            };
            let turn = if *upward { Transform::from_rotate(-90.0) } else { whole };
            let place = turn.pre_translate(-back, 0.0).post_translate(*x, *y);
            if let Some(path) = text::outlines(text, *size) {
                pixmap.fill_path(&path, &paint(*colour), FillRule::Winding, place, None);
            }
        }
        Mark::Image { area, columns, pixels } => copy_image(pixmap, area, *columns, pixels),
    }
}

/// Copies pixels; each has the place of one pixel of the picture, or of a whole number of them.
fn copy_image(pixmap: &mut Pixmap, area: &Area, columns: usize, pixels: &[Rgb]) {
    let rows = pixels.len() / columns.max(1);
    let (x0, y0, width, height) = (area.x as usize, area.y as usize, area.width as usize, area.height as usize);
    let (full, tall) = (pixmap.width() as usize, pixmap.height() as usize);
    let data = pixmap.data_mut();
    for y in 0..height.min(tall.saturating_sub(y0)) {
        for x in 0..width.min(full.saturating_sub(x0)) {
            let [r, g, b] = pixels[y * rows / height * columns + x * columns / width];
            let at = ((y0 + y) * full + x0 + x) * 4;
            data[at..at + 4].copy_from_slice(&[r, g, b, 255]);
        }
    }
}

fn svg_mark(out: &mut String, number: usize, mark: &Mark) -> Result<(), png::EncodingError> {
    // Writing to a string cannot fail.
    let _ = match mark {
        Mark::Lines { parts, colour, width, clip } => {
            let Area { x, y, width: w, height: h } = clip;
            let mut d = String::new();
            for part in parts {
                for (i, (x, y)) in part.iter().enumerate() {
                    let _ = write!(d, "{}{x:.2} {y:.2}", if i == 0 { 'M' } else { 'L' });
                }
            }
            let colour = hex(*colour);
            writeln!(
                out,
                "<clipPath id=\"c{number}\"><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/></clipPath>\n<path clip-path=\"url(#c{number})\" d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"/>"
            )
        }
        Mark::Fill { area: Area { x, y, width, height }, colour } => {
            writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{}\"/>", hex(*colour))
        }
        Mark::Frame { area: Area { x, y, width, height }, colour } => {
            writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"{}\"/>", hex(*colour))
        }
        Mark::Text { x, y, text, size, anchor, upward, colour } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let turn = if *upward { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{}\"{turn}>{}</text>",
                hex(*colour),
                escaped(text)
            )
        }
        Mark::Image { area: Area { x, y, width, height }, columns, pixels } => {
            let data = STANDARD.encode(png(*columns as u32, pixels)?);
            writeln!(
                out,
                "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{data}\"/>"
            )
        }
    };
    Ok(())
}

/// A text as XML and HTML have it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Pixels as a PNG.
pub fn png(columns: u32, pixels: &[Rgb]) -> Result<Vec<u8>, png::EncodingError> {
    animation(columns, &[pixels.to_vec()], 0)
}

/// Pictures of one size as a PNG that moves, each shown for that time; one alone as a PNG that does not.
pub fn animation(columns: u32, frames: &[Vec<Rgb>], milliseconds: u16) -> Result<Vec<u8>, png::EncodingError> {
    let rows = frames.first().map_or(0, Vec::len) as u32 / columns.max(1);
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, columns, rows);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    if frames.len() > 1 {
        encoder.set_animated(frames.len() as u32, 0)?;
        encoder.set_frame_delay(milliseconds, 1000)?;
    }
    let mut writer = encoder.write_header()?;
    for frame in frames {
        writer.write_image_data(frame.as_flattened())?;
    }
    writer.finish()?;
    Ok(out)
}
