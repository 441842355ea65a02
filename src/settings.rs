//! Values of settings and options, which are given as texts.

/// Whether a text means true or false; `None` if it means neither.
pub fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "true" | "on" => Some(true),
        "0" | "false" | "off" => Some(false),
        _ => None,
    }
}

/// The texts of [`truth`], for messages.
pub const TRUTHS: &str = "\"1\", \"true\", \"on\", \"0\", \"false\" or \"off\"";
