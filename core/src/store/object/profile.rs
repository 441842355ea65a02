//! The files of the AWS tools: credentials, region and endpoint of a profile.

use crate::error::{Result, bail, err};
use crate::store::remote::RemoteOptions;
use std::path::PathBuf;

/// What a profile says.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Profile {
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<String>,
    pub session_token: Option<String>,
    pub region: Option<String>,
    pub endpoint: Option<String>,
}

/// The profile's part, where it has a say.
pub(super) fn of(options: &RemoteOptions, env: &dyn Fn(&str) -> Option<String>) -> Result<Profile> {
    let is_named = options.profile.is_some() || options.credentials_file.is_some();
    // Keys that are given otherwise need no file, which may be a broken one.
    let has_keys = options.named("access_key_id").is_some() || env("AWS_ACCESS_KEY_ID").is_some();
    if !is_named && (has_keys || options.anonymous == Some(true)) {
        return Ok(Profile::default());
    }
    read(options.profile.as_deref(), options.credentials_file.as_deref(), env)
}

/// Reads the profile `name` (else `AWS_PROFILE`, else `default`) from `file` (else the usual places). Files that nobody named may be
/// missing; a profile that somebody named may not.
fn read(name: Option<&str>, file: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> Result<Profile> {
    let from_env = env("AWS_PROFILE").filter(|name| !name.is_empty());
    let named = name.map(str::to_string).or(from_env);
    let profile = named.as_deref().unwrap_or("default");
    let home = env("HOME").map(PathBuf::from).unwrap_or_default();
    let place = |given: Option<&str>, key: &str, usual: &str| {
        given.map(PathBuf::from).or_else(|| env(key).map(PathBuf::from)).unwrap_or_else(|| home.join(usual))
    };
    let mut found = Profile::default();
    let mut is_there = false;
    let credentials = place(file, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
    let config = place(None, "AWS_CONFIG_FILE", ".aws/config");
    for (path, section, must) in [
        (&config, if profile == "default" { profile.to_string() } else { format!("profile {profile}") }, false),
        (&credentials, profile.to_string(), file.is_some()),
    ] {
        match std::fs::read_to_string(path) {
            Ok(text) => is_there |= found.take(&text, &section),
            Err(e) if must => return Err(err!(Location, "the credentials file {}: {e}", path.display())),
            Err(_) => {}
        }
    }
    if !is_there && (named.is_some() || file.is_some()) {
        bail!(Location, "there is no profile {profile:?} in {} or {}", credentials.display(), config.display());
    }
    Ok(found)
}

impl Profile {
    /// Takes what a section says; false if there is no such section.
    fn take(&mut self, text: &str, section: &str) -> bool {
        let (mut inside, mut is_there) = (false, false);
        for line in text.lines() {
            // What is indented belongs to the entry above it.
            if line.starts_with([' ', '\t', '#', ';']) {
                continue;
            }
            let line = line.trim();
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                inside = name.split_whitespace().collect::<Vec<_>>().join(" ") == section;
                is_there |= inside;
            } else if let (true, Some((key, value))) = (inside, line.split_once('=')) {
                self.set(key.trim(), value.trim());
            }
        }
        is_there
    }

    fn set(&mut self, key: &str, value: &str) {
        let place = match key.to_ascii_lowercase().as_str() {
            "aws_access_key_id" => &mut self.access_key_id,
            "aws_secret_access_key" => &mut self.secret_access_key,
            "aws_session_token" => &mut self.session_token,
            "region" => &mut self.region,
            "endpoint_url" => &mut self.endpoint,
            _ => return,
        };
        *place = Some(value.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::suite::TestFolder;

    #[test]
    fn a_profile_is_found_in_both_files() {
        let folder = TestFolder::new("profile");
        std::fs::create_dir_all(&folder).unwrap();
        let (credentials, config) = (folder.join("credentials"), folder.join("config"));
        std::fs::write(&credentials, "# c\n[default]\naws_access_key_id = A\naws_secret_access_key=B=\n[ other ]\naws_access_key_id=C\n")
            .unwrap();
        std::fs::write(&config, "[default]\nregion=r0\n[profile other]\nregion = r1\ns3 =\n  region = no\nendpoint_url = http://h\n")
            .unwrap();
        let env = |key: &str| match key {
            "AWS_SHARED_CREDENTIALS_FILE" => Some(credentials.display().to_string()),
            "AWS_CONFIG_FILE" => Some(config.display().to_string()),
            _ => None,
        };
        let found = read(None, None, &env).unwrap();
        assert_eq!(
            (found.access_key_id.as_deref(), found.secret_access_key.as_deref(), found.region.as_deref()),
            (Some("A"), Some("B="), Some("r0"))
        );
        let found = read(Some("other"), None, &env).unwrap();
        assert_eq!((found.access_key_id.as_deref(), found.secret_access_key.as_deref()), (Some("C"), None));
        assert_eq!((found.region.as_deref(), found.endpoint.as_deref()), (Some("r1"), Some("http://h")));
        assert!(read(Some("none"), None, &env).is_err());
        assert!(read(None, Some("/nowhere/credentials"), &|_| None).is_err());
        assert!(read(None, None, &|_| None).unwrap() == Profile::default());
    }
}
