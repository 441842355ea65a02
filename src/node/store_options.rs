//! How a store is used: its options, from their names and texts.

use crate::error::{Result, bail};
use crate::grid::key::Separator;
use crate::limits::readable;
use crate::metadata::{Format, Value, json};
use crate::store::remote::RemoteOptions;

/// When consolidated metadata are written without being asked for. Those that are there are kept in step with every change, but for `Flush`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consolidate {
    /// Never.
    Never,
    /// When the program closes the store or the group, where arrays with named dimensions were made: xarray warns without them.
    Named,
    /// When the program closes the store or the group, if it has made nodes.
    Close,
    /// With the first change on, and in step with every further one.
    Step,
    /// As `Close`, and when the program flushes the store; changes wait for that, so that readers see all of them at once.
    Flush,
}

/// Whether NCZarr's keys are written when the program closes the store or the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nczarr {
    /// Never.
    Off,
    /// Where they are already: netCDF-C finds nodes by them.
    Keep,
    /// In every hierarchy of version 2.
    On,
}

/// How a store is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Whether groups use their consolidated metadata.
    pub consolidated: bool,
    /// When consolidated metadata are written without being asked for.
    pub consolidate: Consolidate,
    /// When NCZarr's keys are written.
    pub nczarr: Nczarr,
    /// Only nodes of this version are seen; `None`: version 3 before version 2 if both exist (V2-33).
    pub format: Option<Format>,
    /// The separator of v2 arrays whose documents do not say; `None`: as it is found (HD-11).
    pub separator: Option<Separator>,
    /// Whether fill values of bytes in v2 documents that do not name their writer are the text itself, not base64 (VM-55).
    pub text_fill: bool,
    /// Whether chunks of no bytes are missing chunks (HD-20).
    pub empty_is_missing: bool,
    /// Whether chunks at the edge may be stored without the part that is outside of the array (HD-21).
    pub clipped: bool,
    /// Whether checksums are verified (HD-34).
    pub verify: bool,
    /// Whether members of a `zarr.json` that must be understood and are not are ignored (V3-27).
    pub ignore_unknown: bool,
    /// What the options of an object store say of the server: buckets of two servers may have one name.
    pub server: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            consolidated: true,
            consolidate: Consolidate::Named,
            nczarr: Nczarr::Keep,
            format: None,
            separator: None,
            text_fill: false,
            empty_is_missing: false,
            clipped: false,
            verify: true,
            ignore_unknown: false,
            server: Vec::new(),
        }
    }
}

impl Options {
    /// Refuses options that contradict one another.
    pub(super) fn check(&self) -> Result<()> {
        if self.nczarr == Nczarr::On && self.format == Some(Format::V3) {
            bail!(Argument, "the option \"nczarr\" is \"on\" and \"zarr_format\" is \"3\": NCZarr's keys are those of format 2");
        }
        Ok(())
    }

    /// Sets one option from its texts; returns false if no option has that name.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        let one_of = |no: &str, yes: &str| match value {
            v if v == no => Ok(false),
            v if v == yes => Ok(true),
            other => bail!(Argument, "the option {name:?} is {other:?}, expected {no:?} or {yes:?}"),
        };
        match name {
            "consolidated" => self.consolidated = one_of("never", "auto")?,
            "bytes_fill" => self.text_fill = one_of("base64", "text")?,
            "empty_chunks" => self.empty_is_missing = one_of("error", "missing")?,
            "clipped_chunks" => self.clipped = one_of("error", "read")?,
            "checksums" => self.verify = one_of("ignore", "verify")?,
            "unknown_members" => self.ignore_unknown = one_of("error", "ignore")?,
            "consolidate" => {
                self.consolidate = match value {
                    "never" => Consolidate::Never,
                    "named" => Consolidate::Named,
                    "close" => Consolidate::Close,
                    "step" => Consolidate::Step,
                    "flush" => Consolidate::Flush,
                    other => {
                        bail!(Argument, "the option {name:?} is {other:?}, expected \"never\", \"named\", \"close\", \"step\" or \"flush\"")
                    }
                }
            }
            "nczarr" => {
                self.nczarr = match value {
                    "off" => Nczarr::Off,
                    "keep" => Nczarr::Keep,
                    "on" => Nczarr::On,
                    other => bail!(Argument, "the option {name:?} is {other:?}, expected \"off\", \"keep\" or \"on\""),
                }
            }
            "zarr_format" => {
                self.format = match value {
                    "auto" => None,
                    "2" => Some(Format::V2),
                    "3" => Some(Format::V3),
                    other => bail!(Argument, "the option {name:?} is {other:?}, expected \"auto\", \"2\" or \"3\""),
                }
            }
            "dimension_separator" => {
                self.separator = match value {
                    "auto" => None,
                    "." => Some(Separator::Dot),
                    "/" => Some(Separator::Slash),
                    other => bail!(Argument, "the option {name:?} is {other:?}, expected \"auto\", \".\" or \"/\""),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// What makes the places of nodes of two stores comparable.
pub(super) struct PlaceOf {
    /// The address of the innermost store.
    pub store: usize,
    /// What the options say of the server; nothing of folders. `None` where several stores may have one name.
    pub server: Option<Vec<String>>,
}

impl PlaceOf {
    /// Whether nodes of one place in both are one node.
    pub fn is_one_with(&self, other: &PlaceOf) -> bool {
        self.store == other.store || (self.server.is_some() && self.server == other.server)
    }
}

/// The names of all options, for messages.
pub(super) const OPTIONS: &str = "one of \"cloud.…\", \"file.sync\", \"file.lock\", \"file.publish\", \"consolidated\", \"consolidate\", \"nczarr\", \"zarr_format\", \"dimension_separator\", \"bytes_fill\", \"empty_chunks\", \"clipped_chunks\", \"checksums\" or \"unknown_members\"";

/// The names of all options of object stores and web servers, for messages.
pub(super) const CLOUD_OPTIONS: &str = "cloud.options, cloud.endpoint, cloud.region, cloud.access_key_id, cloud.secret_access_key, cloud.session_token, cloud.profile, cloud.credentials_file, cloud.account_name, cloud.account_key, cloud.sas_token, cloud.service_account, cloud.bearer_token, cloud.anonymous, cloud.path_style, cloud.allow_http, cloud.deadline, cloud.connect_timeout, cloud.idle_timeout, cloud.retries, cloud.requests, cloud.bytes, cloud.merge_gap, cloud.part_size, cloud.conditional_put, cloud.forbidden, cloud.ca_file, cloud.proxy or cloud.user_agent";

/// The variable with options of object stores, for calls that take none.
pub(super) const REMOTE_OPTIONS: &str = "OZARR_CLOUD_OPTIONS";

/// Sets options from a JSON object: those of `cloud.` without the prefix, and others that only the service's client knows.
pub(super) fn set_remote_json(options: &mut RemoteOptions, text: &str) -> Result<()> {
    let object = json::parse_object(text.as_bytes(), MAX_OPTIONS);
    // The parser's own message could show a credential.
    let Some(object) = readable(object)? else { bail!(Argument, "expected a JSON object of texts") };
    for (name, value) in &object {
        let text = match value {
            Value::String(text) => text.to_string(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => bail!(Argument, "the member {name:?} is no text, number or bool"),
        };
        if !options.set(name, &text)? {
            options.set_named(name, &text);
        }
    }
    Ok(())
}

/// The maximum number of bytes of options as JSON.
const MAX_OPTIONS: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::limits::memory_ended;
    use crate::node::{Context, Mode, Store};

    #[test]
    fn remote_options_that_no_memory_was_left_to_read_are_not_called_malformed() {
        let set = |text: &str| set_remote_json(&mut RemoteOptions::default(), text).map_err(|e| e.kind());
        for (text, kind) in [(r#"{"region":"x"}"#, Ok(())), ("[1]", Err(ErrorKind::Argument)), (r#"{"region":"#, Err(ErrorKind::Argument))]
        {
            memory_ended();
            assert_eq!((set(text), set(text)), (Err(ErrorKind::NoMemory), kind), "{text}");
        }
    }

    #[test]
    fn values_that_cannot_be_are_refused_by_the_name_of_their_option() {
        for (options, words) in [
            (&[("file.sync", "sometimes")][..], &["\"file.sync\" is \"sometimes\"", "\"batch\""][..]),
            (&[("file.lock", "sometimes")], &["\"file.lock\" is \"sometimes\"", "\"require\""]),
            (&[("nczarr", "yes")], &["\"nczarr\" is \"yes\"", "\"keep\""]),
            (&[("nczarr", "on"), ("zarr_format", "3")], &["\"nczarr\" is \"on\"", "\"zarr_format\" is \"3\""]),
            (&[("zarr_format", "3"), ("nczarr", "on")], &["\"nczarr\" is \"on\"", "\"zarr_format\" is \"3\""]),
        ] {
            let e = Store::open(&Context::default(), "none.zarr", Mode::ReadWrite, options).err().unwrap();
            assert!(e.kind() == ErrorKind::Argument && words.iter().all(|word| e.message().contains(word)), "{options:?}: {e}");
        }
    }

    #[test]
    fn each_option_that_a_message_names_is_known() {
        let names = CLOUD_OPTIONS.split([',', ' ']).filter_map(|word| word.strip_prefix("cloud."));
        for name in names.filter(|name| *name != "options") {
            assert!(RemoteOptions::default().set(name, "1").ok() != Some(false), "{name}");
        }
        let opened = Store::open(&Context::default(), "s3://bucket/x.zarr", Mode::Read, &[("cloud.endpont", "x")]);
        let told = opened.map(drop).unwrap_err().message().to_string();
        assert!(
            told.starts_with("unknown option \"cloud.endpont\" of a store, expected one of ") && told.contains("cloud.endpoint,"),
            "{told}"
        );
    }
}
