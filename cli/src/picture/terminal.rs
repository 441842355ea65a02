//! Pictures in the terminal itself: the protocols of kitty and iTerm, sixel, and half blocks where it has none of them.

use super::colours::{Rgb, WHITE};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::ValueEnum;
use std::fmt::Write;

/// How a terminal shows pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// What the environment tells of the terminal
    Auto,
    /// kitty, Ghostty, Konsole
    Kitty,
    /// iTerm2, WezTerm
    Iterm,
    /// xterm, foot, mlterm
    Sixel,
    /// Two colours in each character: any terminal
    Blocks,
    /// Characters alone, light and dark: where NO_COLOR is set, or TERM is dumb
    Text,
}

impl Protocol {
    /// The protocol itself, by the terminal's environment variables.
    pub fn chosen(self, variable: &dyn Fn(&str) -> Option<String>) -> Protocol {
        match self {
            Protocol::Auto if variable("TERM").is_some_and(|term| term == "dumb") => Protocol::Text,
            Protocol::Auto => match Protocol::of_terminal(variable) {
                Protocol::Blocks if variable("NO_COLOR").is_some_and(|set| !set.is_empty()) => Protocol::Text,
                other => other,
            },
            other => other,
        }
    }

    /// Whether the picture is made of characters.
    pub fn is_of_characters(self) -> bool {
        matches!(self, Protocol::Blocks | Protocol::Text)
    }

    fn of_terminal(variable: &dyn Fn(&str) -> Option<String>) -> Protocol {
        let (term, program) = (variable("TERM").unwrap_or_default(), variable("TERM_PROGRAM").unwrap_or_default());
        // A multiplexer shows characters only.
        if variable("TMUX").is_some() || term.starts_with("screen") || term.starts_with("tmux") {
            return Protocol::Blocks;
        }
        match () {
            () if variable("KITTY_WINDOW_ID").is_some() || term.contains("kitty") || program == "ghostty" => Protocol::Kitty,
            () if program == "iTerm.app" || program == "WezTerm" => Protocol::Iterm,
            () if term.starts_with("foot") || term.starts_with("mlterm") || term.contains("sixel") => Protocol::Sixel,
            () => Protocol::Blocks,
        }
    }
}

/// The columns and rows of the terminal; where nothing tells them, those of the first ones.
pub fn size() -> (u32, u32) {
    let (rows, columns) = console::Term::stdout().size_checked().unwrap_or((24, 80));
    (u32::from(columns), u32::from(rows))
}

/// A PNG for kitty, in pieces of at most 4096 characters.
pub fn kitty(png: &[u8]) -> String {
    let data = STANDARD.encode(png);
    let pieces: Vec<&[u8]> = data.as_bytes().chunks(4096).collect();
    let mut out = String::new();
    for (i, piece) in pieces.iter().enumerate() {
        let (first, more) = (if i == 0 { "a=T,f=100," } else { "" }, u8::from(i + 1 < pieces.len()));
        let _ = write!(out, "\x1b_G{first}m={more};{}\x1b\\", String::from_utf8_lossy(piece));
    }
    out.push('\n');
    out
}

/// A PNG for iTerm.
pub fn iterm(png: &[u8]) -> String {
    format!("\x1b]1337;File=inline=1;size={}:{}\x07\n", png.len(), STANDARD.encode(png))
}

/// The steps of one colour in sixels: 6 of red, 7 of green, 6 of blue.
const LEVELS: [u16; 3] = [6, 7, 6];

/// Pixels as sixels, in 252 colours.
pub fn sixel(pixels: &[Rgb], columns: usize) -> String {
    let rows = pixels.len() / columns.max(1);
    let step = |value: u8, levels: u16| (u16::from(value) * (levels - 1) + 127) / 255;
    let number = |c: &Rgb| (step(c[0], LEVELS[0]) * LEVELS[1] + step(c[1], LEVELS[1])) * LEVELS[2] + step(c[2], LEVELS[2]);
    let indices: Vec<u16> = pixels.iter().map(number).collect();
    let mut out = format!("\x1bP0;1;0q\"1;1;{columns};{rows}");
    let mut used = indices.clone();
    used.sort_unstable();
    used.dedup();
    for i in &used {
        let (r, g, b) = (i / LEVELS[2] / LEVELS[1], i / LEVELS[2] % LEVELS[1], i % LEVELS[2]);
        let percent = |value: u16, levels: u16| value * 100 / (levels - 1);
        let _ = write!(out, "#{i};2;{};{};{}", percent(r, LEVELS[0]), percent(g, LEVELS[1]), percent(b, LEVELS[2]));
    }
    for band in (0..rows).step_by(6) {
        let rows_here = band..rows.min(band + 6);
        let mut here: Vec<u16> = indices[band * columns..rows_here.end * columns].to_vec();
        here.sort_unstable();
        here.dedup();
        for colour in here {
            let bits = |x: usize| rows_here.clone().filter(|y| indices[y * columns + x] == colour).fold(0u8, |b, y| b | 1 << (y - band));
            let _ = write!(out, "#{colour}");
            let all: Vec<u8> = (0..columns).map(bits).collect();
            for run in all.chunk_by(|a, b| a == b) {
                let c = char::from(63 + run[0]);
                let _ = if run.len() > 3 { write!(out, "!{}{c}", run.len()) } else { write!(out, "{}", c.to_string().repeat(run.len())) };
            }
            out.push('$');
        }
        out.push('-');
    }
    out.push_str("\x1b\\\n");
    out
}

/// Pixels as characters of two colours each, one line for two rows; 24 bits of colour, or one of 256.
pub fn blocks(pixels: &[Rgb], columns: usize, all_colours: bool) -> String {
    let colour = |out: &mut String, what: u8, [r, g, b]: Rgb| {
        let six = |v: u8| (u16::from(v) * 5 + 127) / 255;
        let _ = if all_colours {
            write!(out, "\x1b[{what}8;2;{r};{g};{b}m")
        } else {
            write!(out, "\x1b[{what}8;5;{}m", 16 + 36 * six(r) + 6 * six(g) + six(b))
        };
    };
    let mut out = String::new();
    for two in pixels.chunks(columns.max(1) * 2) {
        let (top, bottom) = two.split_at(columns.min(two.len()));
        let mut last = None;
        for (i, &above) in top.iter().enumerate() {
            let below = bottom.get(i).copied().unwrap_or(WHITE);
            if last != Some((above, below)) {
                colour(&mut out, 3, above);
                colour(&mut out, 4, below);
                last = Some((above, below));
            }
            out.push('\u{2580}');
        }
        out.push_str("\x1b[0m\n");
    }
    out
}

/// Characters from dark to light.
const SHADES: &[u8] = b"@%#*+=-:. ";

/// Pixels as characters that are as light as they, one line for two rows.
pub fn shades(pixels: &[Rgb], columns: usize) -> String {
    let light = |[r, g, b]: Rgb| (u32::from(r) * 299 + u32::from(g) * 587 + u32::from(b) * 114) / 1000;
    let mut out = String::new();
    for two in pixels.chunks(columns.max(1) * 2) {
        let (top, bottom) = two.split_at(columns.min(two.len()));
        for (i, &above) in top.iter().enumerate() {
            let mean = (light(above) + light(bottom.get(i).copied().unwrap_or(above))) / 2;
            out.push(char::from(SHADES[mean as usize * (SHADES.len() - 1) / 255]));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: Rgb = [255, 0, 0];

    #[test]
    fn the_environment_tells_the_protocol() {
        for (variables, want) in [
            (&[("TERM", "xterm-kitty")][..], Protocol::Kitty),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")], Protocol::Iterm),
            (&[("TERM", "foot")], Protocol::Sixel),
            (&[("TERM", "xterm-256color")], Protocol::Blocks),
            (&[("TERM", "screen"), ("KITTY_WINDOW_ID", "1")], Protocol::Blocks),
            (&[], Protocol::Blocks),
            (&[("TERM", "xterm-256color"), ("NO_COLOR", "1")], Protocol::Text),
            (&[("TERM", "xterm-256color"), ("NO_COLOR", "")], Protocol::Blocks),
            (&[("TERM", "screen"), ("NO_COLOR", "1")], Protocol::Text),
            // It is of colours in texts.
            (&[("TERM", "xterm-kitty"), ("NO_COLOR", "1")], Protocol::Kitty),
            (&[("TERM", "dumb"), ("KITTY_WINDOW_ID", "1")], Protocol::Text),
        ] {
            let variable = |name: &str| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_string());
            assert_eq!(Protocol::Auto.chosen(&variable), want, "{variables:?}");
            assert_eq!(Protocol::Sixel.chosen(&variable), Protocol::Sixel);
        }
    }

    #[test]
    fn pictures_are_sent_as_each_protocol_has_them() {
        let sent = kitty(&[7; 6000]);
        let pieces: Vec<&str> = sent.trim_end().split_terminator("\x1b\\").collect();
        assert_eq!(pieces.len(), 2);
        assert!(pieces[0].starts_with("\x1b_Ga=T,f=100,m=1;") && pieces[1].starts_with("\x1b_Gm=0;"));
        let data: String = pieces.iter().map(|p| p.split_once(';').map_or("", |p| p.1)).collect();
        assert_eq!(STANDARD.decode(data).ok(), Some(vec![7; 6000]));
        assert_eq!(iterm(&[1, 2, 3]), "\x1b]1337;File=inline=1;size=3:AQID\x07\n");
        // Two rows of four red pixels over one of white ones: bits 0 and 1, then bit 2.
        let pixels = [[RED; 8].as_slice(), &[WHITE; 4]].concat();
        assert_eq!(sixel(&pixels, 4), "\x1bP0;1;0q\"1;1;4;3#210;2;100;0;0#251;2;100;100;100#210!4B$#251!4C$-\x1b\\\n");
        assert_eq!(blocks(&[RED, RED, WHITE, WHITE], 2, true), "\x1b[38;2;255;0;0m\x1b[48;2;255;255;255m\u{2580}\u{2580}\x1b[0m\n");
        assert_eq!(shades(&[WHITE, [0; 3], RED, WHITE, [0; 3], RED, WHITE], 3), " @#\n \n");
        assert_eq!(blocks(&[RED], 1, false), "\x1b[38;5;196m\x1b[48;5;231m\u{2580}\x1b[0m\n");
    }
}
