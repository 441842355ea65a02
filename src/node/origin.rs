//! Where data come from: the attributes `history`, `source` and `Conventions`, and the version of the library that wrote them.
//! Conventions: CF 1.11, "Description of file contents"; the netCDF User's Guide, "Attribute Conventions".

use super::Attributes;
use super::conventions::time::Calendar;
use crate::error::{ErrorKind, Result, bail, err};
use crate::metadata::Value;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a program was called with, the newest first; a line each.
const HISTORY: &str = "history";
/// The model, and its version.
const SOURCE: &str = "source";
const CONVENTIONS: &str = "Conventions";
/// The convention that attributes and coordinates of datasets follow.
const CF: &str = "CF-1.11";
const VERSION: &str = "ozarr_version";
/// What a run was given besides its command line.
const PARAMETERS: &str = "run_parameters";

impl Attributes {
    /// Puts the first line of `text`, with the time, in front of the attribute `history`, and sets those that say what wrote the data:
    /// `source` and `Conventions` unless they are there, and the library's version. Further lines become the attribute `run_parameters`.
    ///
    /// Errors: `Argument` if the first line is empty.
    pub fn add_history(&self, text: &str) -> Result<()> {
        let (line, parameters) = text.split_once('\n').unwrap_or((text, ""));
        let line = line.trim();
        if line.is_empty() {
            bail!(Argument, "the first line of the history is empty, expected what was called");
        }
        let before = self.history()?;
        let now = format!("{}: {line}", now()?);
        let mut new = vec![(HISTORY, if before.is_empty() { now } else { format!("{now}\n{before}") })];
        let source = line.split_once(": ").map_or_else(|| line.split_whitespace().next().unwrap_or(line), |(source, _)| source);
        let names = self.names()?;
        let unless_there = [(SOURCE, source), (CONVENTIONS, CF)].into_iter().filter(|(name, _)| !names.iter().any(|there| there == name));
        new.extend(unless_there.map(|(name, value)| (name, value.to_string())));
        new.push((VERSION, env!("CARGO_PKG_VERSION").to_string()));
        if !parameters.trim().is_empty() {
            new.push((PARAMETERS, parameters.trim_end().to_string()));
        }
        // In one write, unless the program is collecting changes itself.
        let begun = match self.begin() {
            Err(e) if e.kind() == ErrorKind::State => false,
            begun => begun.map(|()| true)?,
        };
        new.into_iter().try_for_each(|(name, value)| self.set(name, Value::from(value)))?;
        if begun { self.commit() } else { Ok(()) }
    }

    /// The attribute `history`; empty without one.
    pub fn history(&self) -> Result<String> {
        match self.get(HISTORY) {
            Ok(value) => Ok(value.as_str().unwrap_or_default().to_string()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(String::new()),
            Err(e) => Err(e),
        }
    }
}

/// The time as ISO 8601 has it, in UTC.
fn now() -> Result<String> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| err!(Range, "the system's clock is before 1970"))?;
    let at = Calendar::ProlepticGregorian.moment(i128::from(since.as_secs()) * 1_000_000_000)?;
    let second = at.nanosecond / 1_000_000_000;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Ok(format!("{:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", at.year, at.month, at.day))
}

#[cfg(test)]
mod tests {
    use crate::error::ErrorKind;
    use crate::metadata::Format;
    use crate::node::{Context, Create, Group, Store};

    #[test]
    fn each_call_puts_a_line_in_front_and_keeps_what_the_user_has_set() {
        for format in [Format::V2, Format::V3] {
            let group = Group::create(&Store::memory(&Context::default()), "", Some(format), Create::New).unwrap();
            let text = |name: &str| group.attributes().get_string(name).unwrap();
            group.attributes().add_history("ocean 2.1: ocean run.nml\n&run\n dt = 60\n/\n").unwrap();
            assert_eq!((text("source"), text("Conventions")), ("ocean 2.1".into(), "CF-1.11".into()));
            assert_eq!((text("run_parameters"), text("ozarr_version")), ("&run\n dt = 60\n/".into(), env!("CARGO_PKG_VERSION").into()));
            group.attributes().set_json("Conventions", "\"CF-1.8 UGRID-1.0\"").unwrap();
            group.attributes().add_history("regrid --to 1deg").unwrap();
            let history = text("history");
            let lines: Vec<_> = history.lines().map(|line| line.split_once("Z: ").unwrap()).collect();
            assert_eq!([lines[0].1, lines[1].1], ["regrid --to 1deg", "ocean 2.1: ocean run.nml"]);
            assert!(lines.iter().all(|(time, _)| time.len() == 19 && time.as_bytes()[10] == b'T' && time > &"2024"), "{history}");
            assert_eq!((text("source"), text("Conventions")), ("ocean 2.1".into(), "CF-1.8 UGRID-1.0".into()));
            assert_eq!(group.attributes().add_history(" \nmore").err().unwrap().kind(), ErrorKind::Argument);
        }
    }
}
