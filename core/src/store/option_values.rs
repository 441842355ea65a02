//! Reads the values of options of object stores.

use crate::error::{Result, bail};
use crate::settings::{TRUTHS, truth};
use std::time::Duration;

pub(super) fn auto_or_bool(name: &str, value: &str) -> Result<Option<bool>> {
    match value {
        "auto" => Ok(None),
        other => match truth(other) {
            Some(value) => Ok(Some(value)),
            None => bail!(Argument, "the option \"cloud.{name}\" is {other:?}, expected \"auto\", {TRUTHS}"),
        },
    }
}

/// A time in seconds, such as `"0.5"`.
pub(super) fn seconds(name: &str, value: &str) -> Result<Duration> {
    let number = value.parse::<f64>().ok().filter(|s| (0.001..=1e6).contains(s));
    match number {
        Some(number) => Ok(Duration::from_secs_f64(number)),
        None => bail!(Argument, "the option \"cloud.{name}\" is {value:?}, expected seconds from 0.001 to 1000000"),
    }
}

pub(super) fn whole(name: &str, value: &str, least: u64, most: u64) -> Result<u64> {
    match value.parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => bail!(Argument, "the option \"cloud.{name}\" is {value:?}, expected a number from {least} to {most}"),
    }
}
