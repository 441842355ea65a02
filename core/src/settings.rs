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

/// How far apart the cases are that a long test tries: all of them where the environment has `OZARR_DEEP`, as in `make check-deep`.
#[cfg(any(test, feature = "faults"))]
pub fn apart(cases: usize) -> usize {
    if std::env::var_os("OZARR_DEEP").is_some() { 1 } else { cases }
}
