//! Reads the values of options of object stores.

use super::azure::Env;
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

/// The variable that says whether the environment's and the profile's endpoints of AWS's services are to be ignored.
pub(super) const IGNORES_ENDPOINTS: &str = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS";

/// Whether that is so.
pub(super) fn ignores_endpoints(env: Env<'_>) -> bool {
    env(IGNORES_ENDPOINTS).is_some_and(|said| said.eq_ignore_ascii_case("true"))
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
