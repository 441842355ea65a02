//! Help, in lines that fit the terminal.

use console::Term;

/// The most columns of a line, however wide the terminal is.
const MOST: usize = 110;
/// The least columns of what options do, beside them; where there are fewer, it begins a line of its own.
const LEAST: usize = 24;

/// The columns of the terminal that gets standard output, or as many as the environment says; `None`: it is no terminal.
pub fn columns() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|&columns| columns > 0);
    let width: usize = said.or_else(|| Term::stdout().size_checked().map(|(_, columns)| columns.into()))?;
    Some(width.min(MOST))
}

/// The text with its longer lines broken at blanks; what goes on stands below its beginning.
pub fn wrapped(text: &str, width: usize) -> String {
    text.split_inclusive('\n').map(|line| if line.trim_end().chars().count() > width { broken(line, width) } else { line.into() }).collect()
}

fn broken(line: &str, width: usize) -> String {
    let own = line.len() - line.trim_start().len();
    // What an option does stands behind two blanks.
    let gap = line[own..].find("  ").map(|at| own + at);
    let column = gap.map_or(own, |at| at + line[at..].len() - line[at..].trim_start().len());
    let (indent, mut out) = match gap {
        Some(gap) if column + LEAST > width => (own + 4, format!("{}\n{}", &line[..gap], " ".repeat(own + 4))),
        _ => (column, line[..column].to_string()),
    };
    let mut at = indent;
    for (i, word) in line[column..].split_whitespace().enumerate() {
        let length = word.chars().count();
        if i > 0 && at + 1 + length > width {
            out.push_str(&format!("\n{}", " ".repeat(indent)));
            at = indent;
        } else if i > 0 {
            out.push(' ');
            at += 1;
        }
        out.push_str(word);
        at += length;
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_at_blanks_below_their_beginning() {
        let text = "Read elements of an array\n\nUsage: ozarr read\n\n      --raw   Bytes: C order, little-endian, nothing between\n";
        assert_eq!(wrapped(text, 80), text);
        let narrow = "Read elements of an array\n\nUsage: ozarr read\n\n      --raw   Bytes: C order, little-endian,\n              nothing between\n";
        assert_eq!(wrapped(text, 44), narrow);
        let least = "Read elements of\nan array\n\nUsage: ozarr read\n\n      --raw\n          Bytes: C\n          order,\n          little-endian,\n          nothing\n          between\n";
        assert_eq!(wrapped(text, 18), least);
    }
}
