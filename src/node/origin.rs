//! Where data come from: the attributes `history`, `source` and `Conventions`, and the version of the library that wrote them.
//! Conventions: CF 1.11, "Description of file contents"; the netCDF User's Guide, "Attribute Conventions".

use super::Attributes;
use super::attr_change::AttributeChange;
use super::conventions::time::Calendar;
use super::lines;
use crate::error::{ErrorKind, Result, bail, err};
use crate::limits::joined;
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
        let source = line.split_once(": ").map_or_else(|| line.split_whitespace().next().unwrap_or(line), |(source, _)| source);
        let mut changes = vec![
            // First: it is the only one that may be refused.
            AttributeChange::PutInFront(HISTORY.into(), joined([&now()?, line], ": ")?),
            AttributeChange::SetDefault(SOURCE.into(), Value::text_of_any(source)?),
            AttributeChange::SetDefault(CONVENTIONS.into(), CF.into()),
            AttributeChange::Set(VERSION.into(), env!("CARGO_PKG_VERSION").into()),
        ];
        if !parameters.trim().is_empty() {
            changes.push(AttributeChange::Set(PARAMETERS.into(), Value::text_of_any(parameters.trim_end())?));
        }
        self.change_all(changes)
    }

    /// The attribute `history`, of a list of texts a line each; empty without one. Errors: `Type` for anything else.
    pub fn history(&self) -> Result<String> {
        match self.get(HISTORY) {
            Ok(value) => lines::text_of(&value).map_err(|e| e.at_field(HISTORY)),
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
    use crate::node::{Context, Create, Group, Mode, Store};

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

    #[test]
    fn a_line_comes_in_front_of_what_is_stored_by_then() {
        let lines =
            |text: &str| text.lines().map(|line| line.split_once("Z: ").map_or(line, |(_, line)| line).to_string()).collect::<Vec<_>>();
        for format in [Format::V2, Format::V3] {
            let store = Store::memory(&Context::default());
            let ours = Group::create(&store, "", Some(format), Create::New).unwrap();
            ours.attributes().names().unwrap();
            for (collecting, expected) in [(false, &["ours", "theirs"][..]), (true, &["ours", "theirs", "ours", "theirs"])] {
                if collecting {
                    ours.attributes().begin().unwrap();
                    ours.attributes().add_history("ours").unwrap();
                }
                let theirs = Group::open(&Store::from_shared(&Context::default(), store.shared().clone(), Mode::ReadWrite), "").unwrap();
                theirs.attributes().add_history("theirs").unwrap();
                theirs.attributes().set("source", "of them".into()).unwrap();
                if collecting {
                    ours.attributes().commit().unwrap()
                } else {
                    ours.attributes().add_history("ours").unwrap()
                }
                assert_eq!(lines(&ours.attributes().history().unwrap()), expected, "{format:?}");
                assert_eq!(ours.attributes().get_string("source").unwrap(), "of them", "{format:?}");
            }
            // As netCDF-4 has it: an attribute of several texts.
            ours.attributes().set_json("history", r#"["second", "first"]"#).unwrap();
            assert_eq!(ours.attributes().history().unwrap(), "second\nfirst");
            ours.attributes().add_history("third").unwrap();
            assert_eq!(lines(&ours.attributes().history().unwrap()), ["third", "second", "first"]);
            assert!(ours.attributes().get_json("history").unwrap().starts_with('['));
            for other in ["7", r#"["a", 7]"#, "{}"] {
                ours.attributes().set_json("history", other).unwrap();
                let before = ours.attributes().to_json().unwrap();
                assert_eq!(ours.attributes().add_history("x").err().unwrap().kind(), ErrorKind::Type, "{other}");
                assert_eq!(ours.attributes().history().err().unwrap().kind(), ErrorKind::Type, "{other}");
                assert_eq!(ours.attributes().to_json().unwrap(), before);
                // Nothing is left collected.
                assert_eq!(ours.attributes().commit().err().unwrap().kind(), ErrorKind::State);
            }
        }
    }
}
