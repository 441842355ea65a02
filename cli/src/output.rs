//! Standard output, and what a terminal gets besides: progress. Never a colour.

use crate::failure::{Failure, Outcome};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};

/// Prints text that may be long.
pub fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Failure::stdout(&e))
}

/// Prints a line.
pub fn line(text: &str) -> Outcome {
    print(&format!("{text}\n"))
}

/// A bar on standard error that counts bytes, or things if `what` names them. Only where standard error is a terminal and
/// standard output, unless it is not used, is none.
pub fn progress(total: u64, what: Option<&str>, uses_stdout: bool) -> ProgressBar {
    let hidden = !io::stderr().is_terminal() || (uses_stdout && io::stdout().is_terminal());
    let bar = ProgressBar::with_draw_target(Some(total), if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() });
    let template = match what {
        None => "{bar:40} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left".to_string(),
        Some(what) => format!("{{bar:40}} {{pos}} of {{len}} {what}, {{eta}} left"),
    };
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}
