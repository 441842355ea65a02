//! The files of the AWS tools: credentials, region and endpoint of a profile.

use crate::error::{Error, Result, bail, err};
use crate::store::option_values::ignores_endpoints;
use crate::store::remote::RemoteOptions;
use std::path::{Path, PathBuf};

/// The entry that names a role.
const ROLE: &str = "role_arn";

/// Entries that say where credentials are from instead of keys, in the order in which AWS's own tools ask them.
const SOURCES: [&str; 7] =
    [ROLE, "sso_account_id", "sso_role_name", "login_session", "credential_process", "sso_session", "credential_source"];
/// The first of them go before keys of both files.
const BEFORE_ALL: usize = 3;
/// The first of them go before keys of the file `config`.
const BEFORE_CONFIG: usize = 5;

/// Key, secret and token.
type Identity = (Option<String>, Option<String>, Option<String>);

/// What a profile says.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Profile {
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<String>,
    pub session_token: Option<String>,
    /// The token by its older name, which goes first.
    old_token: Option<String>,
    pub region: Option<String>,
    /// Where S3 is.
    pub endpoint: Option<String>,
    /// Where the service is that gives out credentials for a web identity.
    pub sts_endpoint: Option<String>,
    pub use_fips: Option<String>,
    pub use_dualstack: Option<String>,
    pub use_dualstack_of_s3: Option<String>,
    /// Its name.
    pub name: String,
    /// What it has instead of keys: the entry that says where its credentials are from.
    other_source: Option<String>,
    /// The section of the endpoints of services.
    services: Option<String>,
    /// Whether it has keys that its other source goes before.
    has_unused_keys: bool,
    /// Whether endpoints of files and variables are to be ignored.
    ignores_endpoints: Option<String>,
}

/// The profile's part, where it has a say.
pub(super) fn of(options: &RemoteOptions, env: &dyn Fn(&str) -> Option<String>) -> Result<Profile> {
    let is_named = options.profile.is_some() || options.credentials_file.is_some();
    let has_keys = options.named("access_key_id").is_some() || env("AWS_ACCESS_KEY_ID").is_some();
    if !is_named && (has_keys || options.anonymous == Some(true)) {
        // Keys that are given otherwise need no file, which may be a broken one. Where the server is, it says all the same.
        let mut found = read(None, None, env).unwrap_or_default();
        found.take_keys();
        (found.other_source, found.name) = (None, String::new());
        return Ok(found);
    }
    read(options.profile.as_deref(), options.credentials_file.as_deref(), env)
}

/// Reads the profile `name` (else `AWS_PROFILE`, else `AWS_DEFAULT_PROFILE`, else `default`) from `file` (else the usual places). Files that nobody named may be
/// missing; a profile that somebody named may not.
fn read(name: Option<&str>, file: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> Result<Profile> {
    let from_env = || ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"].iter().find_map(|variable| env(variable).filter(|name| !name.is_empty()));
    let named = name.map(str::to_string).or_else(from_env);
    let profile = named.as_deref().unwrap_or("default");
    // Without a home there are no usual places; the folder that the process is in is none.
    let home = env("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let place = |given: Option<&str>, key: &str, usual: &str| {
        let path = given.map(str::to_string).or_else(|| env(key)).unwrap_or_else(|| usual.to_string());
        match (path.strip_prefix("~/"), &home) {
            (Some(below), Some(home)) => home.join(below),
            (Some(below), None) => Path::new("/nowhere").join(below),
            (None, _) => PathBuf::from(path),
        }
    };
    let (mut found, mut is_there, mut has_own) = (Profile::default(), false, false);
    let credentials = place(file, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
    let config = place(None, "AWS_CONFIG_FILE", "~/.aws/config");
    for (path, section, must) in [
        (&config, if profile == "default" { profile.to_string() } else { format!("profile {profile}") }, false),
        (&credentials, profile.to_string(), file.is_some()),
    ] {
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let of_config = found.take_keys();
                let other_source = found.other_source.take_if(|_| path == &credentials && file.is_some());
                let text = text.trim_start_matches('\u{feff}');
                is_there |= found.take(text, &section) || path == &config && found.take(text, &format!("profile {profile}"));
                // Keys and token are of one file: of two they would be two identities.
                has_own = path == &credentials && found.access_key_id.is_some();
                if found.access_key_id.is_none() && path == &credentials {
                    found.set_keys(of_config);
                }
                // Keys of a file that the caller names go before what another file has of the section.
                if !has_own {
                    found.other_source = found.other_source.take().or(other_source);
                }
            }
            Err(e) if must => return Err(err!(Location, "the credentials file {}: {e}", path.display())),
            Err(_) => {}
        }
    }
    if !is_there && (named.is_some() || file.is_some()) {
        bail!(Location, "there is no profile {profile:?} in {} or {}", credentials.display(), config.display());
    }
    if ignores_endpoints(env) || found.ignores_endpoints() {
        (found.endpoint, found.sts_endpoint) = (None, None);
    }
    if is_there {
        found.name = profile.to_string();
    }
    let before = if has_own { BEFORE_ALL } else { BEFORE_CONFIG };
    if found.other_source.as_deref().is_some_and(|entry| SOURCES[..before].contains(&entry)) {
        found.has_unused_keys = found.take_keys().0.is_some();
    }
    Ok(found)
}

impl Profile {
    /// Whether it says that endpoints are to be ignored.
    pub fn ignores_endpoints(&self) -> bool {
        self.ignores_endpoints.as_deref().is_some_and(|said| said.eq_ignore_ascii_case("true"))
    }

    fn take_keys(&mut self) -> Identity {
        (self.access_key_id.take(), self.secret_access_key.take(), self.session_token.take())
    }

    fn set_keys(&mut self, identity: Identity) {
        (self.access_key_id, self.secret_access_key, self.session_token) = identity;
    }

    /// The error of a profile whose credentials only the AWS tools can get, or which has a half of them; `None` if it has keys, or nothing of
    /// the kind.
    pub fn unusable(&self) -> Option<Error> {
        let profile = &self.name;
        if self.access_key_id.is_some() != self.secret_access_key.is_some() {
            return Some(err!(
                Permission,
                "the profile {profile:?} has one of \"aws_access_key_id\" and \"aws_secret_access_key\" without the other"
            ));
        }
        let entry = self.other_source.as_ref().filter(|_| self.access_key_id.is_none())?;
        if self.has_unused_keys {
            return Some(err!(
                Permission,
                "the profile {profile:?} gets its credentials by {entry:?}, which goes before the keys that it has; keys are taken of another \
                 profile, or of a file without that entry that \"cloud.credentials_file\" names"
            ));
        }
        Some(err!(
            Permission,
            "the profile {profile:?} gets its credentials by {entry:?}, expected a profile with keys; `aws configure export-credentials` \
             gives some for a profile of their own, and \"cloud.anonymous\" \"true\" asks without any"
        ))
    }

    /// Takes what a section says; false if there is no such section.
    fn take(&mut self, text: &str, section: &str) -> bool {
        let Some(entries) = entries_of(text, section) else { return false };
        for Entry { above, key, value } in entries {
            match (above, key) {
                (None, key) => self.set(key, value),
                (Some("s3"), "use_dualstack_endpoint") => self.use_dualstack_of_s3 = Some(value.to_string()),
                _ => {}
            }
        }
        self.session_token = self.old_token.take().or(self.session_token.take());
        if let Some(services) = self.services.take() {
            for Entry { above, key, value } in entries_of(text, &format!("services {services}")).unwrap_or_default() {
                match (above, key) {
                    (Some("s3"), "endpoint_url") => self.endpoint = Some(value.to_string()),
                    (Some("sts"), "endpoint_url") => self.sts_endpoint = Some(value.to_string()),
                    _ => {}
                }
            }
        }
        true
    }

    fn set(&mut self, key: &str, value: &str) {
        let place = match key.to_ascii_lowercase().as_str() {
            "aws_access_key_id" => &mut self.access_key_id,
            "aws_secret_access_key" => &mut self.secret_access_key,
            "aws_session_token" => &mut self.session_token,
            "aws_security_token" => &mut self.old_token,
            "region" => &mut self.region,
            "endpoint_url" => {
                (self.endpoint, self.sts_endpoint) = (Some(value.to_string()), Some(value.to_string()));
                return;
            }
            "services" => &mut self.services,
            "ignore_configured_endpoint_urls" => &mut self.ignores_endpoints,
            "use_fips_endpoint" => &mut self.use_fips,
            "use_dualstack_endpoint" => &mut self.use_dualstack,
            other => {
                let rank = |entry: &str| SOURCES.iter().position(|source| *source == entry);
                let before = self.other_source.as_deref().and_then(rank);
                if rank(other).is_some_and(|rank| before.is_none_or(|before| rank < before)) {
                    self.other_source = Some(other.to_string());
                }
                return;
            }
        };
        *place = Some(value.to_string());
    }
}

/// The key of an entry and what follows it: a colon may stand between them, but not in those below another.
fn cut(entry: &str, is_below: bool) -> Option<(&str, &str)> {
    entry.split_once(|c| c == '=' || c == ':' && !is_below)
}

/// Whether a section has that name, which may have quotes around parts.
fn is_named(section: &str, name: &str) -> bool {
    section.replace(['"', '\''], " ").split_whitespace().eq(name.split_whitespace())
}

/// An entry of a section.
struct Entry<'a> {
    /// The entry that it is indented below.
    above: Option<&'a str>,
    key: &'a str,
    value: &'a str,
}

/// The entries of a section; `None` if there is no such section.
fn entries_of<'a>(text: &'a str, section: &str) -> Option<Vec<Entry<'a>>> {
    let (mut inside, mut last, mut level, mut found) = (false, None, 0, None);
    for line in text.lines() {
        let (entry, indent) = (line.trim(), line.len() - line.trim_start().len());
        if entry.is_empty() || entry.starts_with(['#', ';']) {
            continue;
        }
        // What is indented more than the last entry of its section stands below that.
        let is_below = last.is_some() && indent > level;
        if !is_below {
            level = indent;
        }
        if let Some(name) = section_of(entry).filter(|_| !is_below) {
            (inside, last) = (is_named(name, section), None);
            found = found.or_else(|| inside.then(Vec::new));
        } else if let Some((key, value)) = cut(entry, is_below) {
            let key = key.trim();
            let above = last.filter(|_| is_below);
            last = above.or(Some(key));
            if inside {
                found.as_mut()?.push(Entry { above, key, value: value.trim() });
            }
        }
    }
    found
}

/// The name of the section that a line begins; a comment may stand behind it.
fn section_of(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    (rest.trim().is_empty() || rest.trim_start().starts_with(['#', ';'])).then_some(name)
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
        std::fs::write(
            &credentials,
            "\u{feff}[default] # c\naws_access_key_id = A\naws_secret_access_key=B=\n[ other ]\naws_access_key_id=C\n",
        )
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

    #[test]
    fn region_and_endpoint_of_the_file_count_beside_keys_of_the_environment() {
        let folder = TestFolder::new("profile-keys");
        std::fs::create_dir_all(&folder).unwrap();
        let config = folder.join("config");
        let text = "[default]\nregion = r0\nservices = site\nendpoint_url = http://all\naws_access_key_id = of-file\n\
                    [services site]\nec2 =\n  endpoint_url = http://ec2\ns3 =\n  endpoint_url = http://s3\n[services other]\ns3 =\n  endpoint_url = http://no\n";
        std::fs::write(&config, text).unwrap();
        let found = |variable: &str, pairs: &[(&str, &str)]| {
            let mut options = RemoteOptions::default();
            pairs.iter().for_each(|(name, value)| assert!(options.set(name, value).unwrap()));
            let found = of(&options, &|key: &str| match key {
                "AWS_CONFIG_FILE" => Some(config.display().to_string()),
                key => (key == variable).then(|| "of-env".to_string()),
            });
            let found = found.unwrap();
            assert_eq!((found.region.as_deref(), found.endpoint.as_deref()), (Some("r0"), Some("http://s3")), "{variable} {pairs:?}");
            found.access_key_id
        };
        assert_eq!(found("AWS_ACCESS_KEY_ID", &[]), None);
        assert_eq!(found("", &[("anonymous", "true")]), None);
        assert_eq!(found("", &[("access_key_id", "a")]), None);
        assert_eq!(found("", &[]).as_deref(), Some("of-file"));
        for (variable, pairs) in [("AWS_ACCESS_KEY_ID", &[][..]), ("", &[("profile", "default")])] {
            let mut options = RemoteOptions::default();
            pairs.iter().for_each(|(name, value)| assert!(options.set(name, value).unwrap()));
            let env = |key: &str| match key {
                "AWS_CONFIG_FILE" => Some(config.display().to_string()),
                "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS" => Some("TRUE".to_string()),
                key => (key == variable).then(|| "of-env".to_string()),
            };
            let found = of(&options, &env).unwrap();
            assert_eq!((found.region.as_deref(), found.endpoint.as_deref()), (Some("r0"), None), "endpoints are to be ignored");
        }
        std::fs::write(&config, text.replace("region", "ignore_configured_endpoint_urls = True\nregion")).unwrap();
        for variable in ["AWS_ACCESS_KEY_ID", ""] {
            let env = |key: &str| match key {
                "AWS_CONFIG_FILE" => Some(config.display().to_string()),
                key => (key == variable).then(|| "of-env".to_string()),
            };
            let found = of(&RemoteOptions::default(), &env).unwrap();
            assert_eq!((found.region.as_deref(), found.endpoint.as_deref()), (Some("r0"), None), "{variable}: endpoints are to be ignored");
            assert!(found.ignores_endpoints());
        }
        std::fs::write(&config, [0xff, 0xfe]).unwrap();
        let env = |key: &str| matches!(key, "AWS_CONFIG_FILE" | "AWS_ACCESS_KEY_ID").then(|| config.display().to_string());
        assert!(of(&RemoteOptions::default(), &env).unwrap() == Profile::default());
    }

    #[test]
    fn a_profile_whose_credentials_are_got_otherwise_is_told() {
        let folder = TestFolder::new("profile-role");
        std::fs::create_dir_all(&folder).unwrap();
        let config = folder.join("config");
        let env = |key: &str| (key == "AWS_CONFIG_FILE").then(|| config.display().to_string());
        for (entries, told) in [
            ("role_arn = arn:x\nsource_profile = default", Some("\"role_arn\"")),
            ("credential_process = /bin/x", Some("\"credential_process\"")),
            ("sso_session = s\nsso_account_id = 1", Some("\"sso_account_id\"")),
            ("sso_session = s", Some("\"sso_session\", expected a profile with keys")),
            ("role_arn = arn:x\naws_access_key_id = A\naws_secret_access_key = B", Some("\"role_arn\", which goes before the keys")),
            ("aws_access_key_id = A\naws_secret_access_key = B\ncredential_process = /bin/x", Some("\"credential_process\"")),
            ("aws_access_key_id = A\naws_secret_access_key = B\nsso_role_name = r", Some("\"sso_role_name\"")),
            ("aws_access_key_id = A\naws_secret_access_key = B\nlogin_session = l", Some("\"login_session\"")),
            ("sso_account_id = 1\nrole_arn = arn:x", Some("\"role_arn\"")),
            ("credential_process = /bin/x\nsso_account_id = 1", Some("\"sso_account_id\"")),
            // Without an account or a role a session is no source, and a source without a role is none.
            ("aws_access_key_id = A\naws_secret_access_key = B\nsso_session = s\ncredential_source = Environment", None),
            ("aws_access_key_id = A\naws_secret_access_key = B", None),
            ("aws_access_key_id = A", Some("\"aws_access_key_id\"")),
            ("aws_secret_access_key = B", Some("\"aws_access_key_id\"")),
            ("region = r", None),
        ] {
            std::fs::write(&config, format!("[profile p]\n{entries}\n")).unwrap();
            let found = read(Some("p"), None, &env).unwrap().unusable().map(|e| e.to_string());
            match (told, found) {
                (None, None) => {}
                (Some(told), Some(found)) => assert!(found.contains(told) && found.contains("\"p\""), "{found}"),
                other => panic!("{entries}: {other:?}"),
            }
        }
    }

    /// What the two files have, and the identity: of one file, as AWS's own tools find it.
    #[test]
    fn keys_and_token_are_of_one_file() {
        const ID: &str = "aws_access_key_id = I\n";
        const SECRET: &str = "aws_secret_access_key = S\n";
        const TOKEN: &str = "aws_session_token = T\n";
        let folder = TestFolder::new("profile-mixed");
        std::fs::create_dir_all(&folder).unwrap();
        let (credentials, config) = (folder.join("credentials"), folder.join("config"));
        let env = |key: &str| match key {
            "AWS_SHARED_CREDENTIALS_FILE" => Some(credentials.display().to_string()),
            "AWS_CONFIG_FILE" => Some(config.display().to_string()),
            _ => None,
        };
        let role = "role_arn = arn:x\nsource_profile = default\n".to_string();
        let process = "credential_process = /bin/x\n".to_string();
        let sign_on = "sso_session = s\nsso_account_id = 1\n".to_string();
        for (own, other, expected) in [
            (format!("{ID}{SECRET}"), TOKEN.to_string(), (Some("I"), Some("S"), None)),
            (format!("{ID}{SECRET}{TOKEN}"), "aws_access_key_id = other\n".to_string(), (Some("I"), Some("S"), Some("T"))),
            (ID.to_string(), SECRET.to_string(), (Some("I"), None, None)),
            (SECRET.to_string(), format!("{ID}aws_secret_access_key = of-config\n"), (Some("I"), Some("of-config"), None)),
            (TOKEN.to_string(), format!("{ID}{SECRET}"), (Some("I"), Some("S"), None)),
            (format!("{ID}{SECRET}"), process, (Some("I"), Some("S"), None)),
            (format!("{ID}{SECRET}"), role, (None, None, None)),
            (format!("{ID}{SECRET}"), sign_on, (None, None, None)),
            (format!("{ID}{SECRET}"), "login_session = l\n".to_string(), (Some("I"), Some("S"), None)),
        ] {
            std::fs::write(&credentials, format!("[default]\n{own}")).unwrap();
            std::fs::write(&config, format!("[default]\nregion = r\n{other}")).unwrap();
            let found = read(None, None, &env).unwrap();
            let keys = (found.access_key_id.as_deref(), found.secret_access_key.as_deref(), found.session_token.as_deref());
            assert_eq!((keys, found.region.as_deref()), (expected, Some("r")), "{own} beside {other}");
        }
        for (own, config, expected) in [
            (format!("{ID}{SECRET}aws_security_token = OLD\n{TOKEN}"), "", (Some("I"), Some("S"), Some("OLD"))),
            ("aws_access_key_id: I\naws_secret_access_key : S=:\n".to_string(), "", (Some("I"), Some("S=:"), None)),
            ("  aws_access_key_id = I\n  # c\n\n  aws_secret_access_key = S\n".to_string(), "", (Some("I"), Some("S"), None)),
            (String::new(), "  [default]\n  aws_access_key_id = I\n  aws_secret_access_key = S\n", (Some("I"), Some("S"), None)),
            (
                String::new(),
                " [other]\n a = b\n[default]\n  s3 =\n    aws_access_key_id = no\n  aws_access_key_id = I\n aws_secret_access_key = S\n",
                (Some("I"), Some("S"), None),
            ),
            (String::new(), "[default]\nregion = r\n  [default]\n  aws_access_key_id = I\n", (None, None, None)),
            (String::new(), "[profile default]\naws_access_key_id=I\naws_secret_access_key=S\n", (Some("I"), Some("S"), None)),
            (String::new(), "[ profile \"default\" ]\naws_access_key_id=I\naws_secret_access_key=S\n", (Some("I"), Some("S"), None)),
        ] {
            std::fs::write(&credentials, format!("[default]\n{own}")).unwrap();
            std::fs::write(folder.join("config"), config).unwrap();
            let found = read(None, None, &env).unwrap();
            let keys = (found.access_key_id.as_deref(), found.secret_access_key.as_deref(), found.session_token.as_deref());
            assert_eq!(keys, expected, "{own} beside {config}");
        }
        const ROLES: &str = "role_arn = arn:x\nsource_profile = default\n";
        for (own, other, expected) in [
            (format!("{ID}{SECRET}"), ROLES, (Some("I"), None)),
            (format!("{ID}{SECRET}{ROLES}"), "", (None, Some(ROLE))),
            ("region = r\n".to_string(), ROLES, (None, Some(ROLE))),
            (String::new(), "credential_process = /bin/x\n", (None, Some("credential_process"))),
        ] {
            std::fs::write(&credentials, format!("[default]\n{own}")).unwrap();
            std::fs::write(&config, format!("[default]\n{other}")).unwrap();
            let found = read(None, credentials.to_str(), &env).unwrap();
            let found = (found.access_key_id.as_deref(), found.other_source.as_deref());
            assert_eq!(found, expected, "{own} in a file that the caller names, beside {other}");
        }
    }

    #[test]
    fn a_profile_may_be_named_by_either_variable() {
        let folder = TestFolder::new("profile-variable");
        std::fs::create_dir_all(&folder).unwrap();
        let config = folder.join("config");
        std::fs::write(
            &config,
            "[default]\nregion = r0\n[profile a]\nregion = ra\n[profile b]\nregion = rb\n[profile \"a b\"]\nregion = rab\n",
        )
        .unwrap();
        for (variables, expected) in [
            (&[][..], "r0"),
            (&[("AWS_PROFILE", "a")], "ra"),
            (&[("AWS_DEFAULT_PROFILE", "b")], "rb"),
            (&[("AWS_PROFILE", "a b")], "rab"),
            (&[("AWS_DEFAULT_PROFILE", "b"), ("AWS_PROFILE", "a")], "ra"),
        ] {
            let env = |key: &str| match key {
                "AWS_CONFIG_FILE" => Some(config.display().to_string()),
                key => variables.iter().find(|(name, _)| *name == key).map(|(_, value)| value.to_string()),
            };
            assert_eq!(read(None, None, &env).unwrap().region.as_deref(), Some(expected), "{variables:?}");
        }
    }
}
