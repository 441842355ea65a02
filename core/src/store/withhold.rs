//! What is taken of the options that one variable of the environment has for all locations of a process: what the service knows, no credentials where
//! the call has some, and credentials of Azure only for whom they are.

use super::azure::{Env, hosts_of_env, is_account, is_azure};
#[cfg(feature = "cloud")]
use super::object::{is_credential, is_known};
use super::remote::{Remote, RemoteOptions, Service};
use crate::error::{Result, bail};

/// Without the services nobody is sent anything.
#[cfg(not(feature = "cloud"))]
fn is_known(_: Service, _: &str) -> bool {
    true
}

#[cfg(not(feature = "cloud"))]
fn is_credential(_: Service, _: &str) -> bool {
    false
}

impl RemoteOptions {
    /// Leaves out what is for another service: what only others know, and where there is something of the kind, what others know as well, such as an
    /// endpoint or a token. Nobody says which web server a token is for: web servers get none. An endpoint beside options of this service and of others is an
    /// error: without it what is left would go elsewhere.
    pub fn keep_for(&mut self, service: Service) -> Result<()> {
        let is_of_others = |name: &str| {
            let mut others = [Service::S3, Service::Gcs, Service::Azure].into_iter().filter(|other| *other != service);
            others.any(|other| is_known(other, name)) && !is_known(Service::Http, name)
        };
        let is_for_others = self.named.iter().any(|(name, _)| is_of_others(name) && !is_known(service, name));
        self.withheld = service == Service::Http && self.named("bearer_token").is_some();
        let names_endpoint = is_for_others && service != Service::Http && self.named("endpoint").is_some();
        self.named.retain(|(name, _)| !is_of_others(name) || is_known(service, name) && !is_for_others);
        let is_own = |name: &str| is_known(service, name) && !is_known(Service::Http, name);
        if names_endpoint && self.spelled(service).named("endpoint").is_none() && self.named.iter().any(|(name, _)| is_own(name)) {
            let name = match service {
                Service::S3 => "aws_endpoint_url",
                Service::Gcs => "google_base_url",
                _ => "azure_storage_endpoint",
            };
            bail!(
                Argument,
                "\"endpoint\" stands beside options of several services, expected {name:?}, where it is of this location's service"
            );
        }
        Ok(())
    }
}

/// Leaves out of `options` the credentials that are from `variable`, where some are `given` for the location: one source is taken whole. Also those of Azure,
/// where the location is of another account than the variable names, or of a host that is neither Azure's nor named by the environment: it may come
/// from somebody else. What is `given` goes there, and may name the endpoint.
pub fn withhold(options: &mut RemoteOptions, (variable, given): (&RemoteOptions, &RemoteOptions), remote: &Remote, env: Env<'_>) {
    let service = remote.service;
    let names_files = service == Service::S3 && (given.profile.is_some() || given.credentials_file.is_some());
    let has_credential = given.named.iter().any(|(name, _)| is_credential(service, name));
    if names_files || has_credential {
        let goes = |name: &str| is_credential(service, name) || name.ends_with("skip_signature");
        options.named.retain(|option| !goes(&option.0) || given.named.contains(option));
        // The keys of a profile would go before another source, not before keys; and a profile says where the server is, too.
        if has_credential && given.spelled(service).named("access_key_id").is_none() {
            options.profile.clone_from(&given.profile);
            options.credentials_file.clone_from(&given.credentials_file);
        }
        options.anonymous = given.anonymous;
    }
    let spelled = options.spelled(service);
    if service != Service::Azure || spelled.named("endpoint").is_some() {
        return;
    }
    let is_named = |host: &str| hosts_of_env(env).iter().any(|its| its.eq_ignore_ascii_case(host));
    let is_at_azure = remote.host.as_deref().is_none_or(|host| is_azure(host) || is_named(host));
    let asked = remote.account.as_deref().or(spelled.named("account_name"));
    let is_its = variable.spelled(service).named("account_name").zip(asked).is_none_or(|(own, asked)| is_account(asked, own));
    let is_foreign = |name: &str| is_key(name) && !(is_its && is_at_azure) || is_token(name) && !is_at_azure;
    let before = options.named.len();
    options.named.retain(|option| !is_foreign(&option.0) || !variable.named.contains(option) || given.named.contains(option));
    options.withheld = options.named.len() != before;
}

/// Whether an option of the service is a key for one account.
fn is_key(option: &str) -> bool {
    ["account_key", "access_key", "master_key", "sas_key", "sas_token"].iter().any(|name| option.ends_with(name))
}

/// Whether an option of the service is a token for all accounts, or a way to one.
fn is_token(option: &str) -> bool {
    ["token", "client_secret", "federated_token_file"].iter().any(|name| option.ends_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::remote::tests::parse;

    /// The location, what the variable and an option say, and what is left of the secrets.
    #[test]
    fn secrets_of_the_variable_go_to_the_account_that_stands_beside_them() {
        type Pairs = &'static [(&'static str, &'static str)];
        const KEY: Pairs = &[("account_name", "a"), ("account_key", "k")];
        const SAS: Pairs = &[("azure_storage_account_name", "A"), ("azure_storage_sas_token", "sig=1")];
        const TOKEN: Pairs = &[("account_name", "a"), ("bearer_token", "t"), ("timeout", "9")];
        let cases: &[(&str, Pairs, Pairs, &[&str])] = &[
            ("az://c/x", KEY, &[], &["account_key"]),
            ("abfs://c@a/x", KEY, &[], &["account_key"]),
            ("abfs://c@a-secondary.blob.core.windows.net/x", SAS, &[], &["azure_storage_sas_token"]),
            ("abfs://c@a.dfs.core.chinacloudapi.cn/x", KEY, &[], &["account_key"]),
            ("abfs://c@b/x", KEY, &[], &[]),
            ("abfs://c@b/x", SAS, &[], &[]),
            ("abfs://c@a.example.org/x", SAS, &[], &[]),
            ("abfs://c@a.example.org/x", TOKEN, &[], &["timeout"]),
            ("abfs://c@b/x", TOKEN, &[], &["bearer_token", "timeout"]),
            // What is given for the location is for it.
            ("abfs://c@b/x", KEY, &[("account_key", "mine")], &["account_key"]),
            ("abfs://c@b/x", KEY, &[("account_key", "k")], &["account_key"]),
            ("abfs://c@a.of-the-environment.org/x", KEY, &[], &["account_key"]),
            ("abfs://c@a.example.org/x", KEY, &[("endpoint", "https://h")], &["account_key", "endpoint"]),
            ("az://c/x", KEY, &[("account_name", "other")], &[]),
            ("az://c/x", TOKEN, &[("account_name", "other")], &["bearer_token", "timeout"]),
            // Nobody says whose it is.
            ("abfs://c@b/x", &[("account_key", "k")], &[], &["account_key"]),
            ("abfs://c@b.example.org/x", &[("account_key", "k"), ("sas_token", "s"), ("bearer_token", "t")], &[], &[]),
            ("abfs://c@a/x", &[("account_name", "a-secondary"), ("account_key", "k")], &[], &["account_key"]),
            ("s3://b/x", KEY, &[], &["account_key"]),
            ("abfs://c@b/x", &[("account_name", "a"), ("endpoint", "https://h"), ("sas_token", "s")], &[], &["endpoint", "sas_token"]),
        ];
        for &(url, said, given, expected) in cases {
            let remote = parse(url).unwrap();
            let mut options = RemoteOptions::default();
            said.iter().for_each(|(name, value)| options.set_named(name, value));
            let variable = options.clone();
            let mut own = RemoteOptions::default();
            given.iter().for_each(|(name, value)| (options.set_named(name, value), own.set_named(name, value)).0);
            let env = |name: &str| (name == "AZURE_STORAGE_ENDPOINT").then(|| "https://a.of-the-environment.org/".to_string());
            withhold(&mut options, (&variable, &own), &remote, &env);
            let mut left: Vec<_> =
                options.named.iter().map(|(name, _)| name.as_str()).filter(|name| !name.ends_with("account_name")).collect();
            left.sort_unstable();
            assert_eq!(
                (left.as_slice(), options.withheld),
                (expected, options.named.len() < variable.named.len()),
                "{url} {said:?} {given:?}"
            );
        }
    }

    /// Reads options as `set_remote_json` does.
    #[cfg(feature = "cloud")]
    fn read(pairs: &[(&str, &str)]) -> RemoteOptions {
        let mut options = RemoteOptions::default();
        pairs.iter().for_each(|(name, value)| {
            if !options.set(name, value).unwrap() {
                options.set_named(name, value);
            }
        });
        options
    }

    /// What the variable and the call say, and whose credentials are left.
    #[test]
    #[cfg(feature = "cloud")]
    fn credentials_of_the_call_go_without_those_of_the_variable() {
        type Pairs = &'static [(&'static str, &'static str)];
        const KEYS: Pairs = &[("access_key_id", "v"), ("secret_access_key", "v"), ("session_token", "v"), ("region", "r")];
        const MINE: Pairs = &[("access_key_id", "c"), ("aws_secret_access_key", "c")];
        const AZURE: Pairs = &[("account_name", "a"), ("azure_storage_account_key", "v"), ("client_id", "v"), ("timeout", "v")];
        type Case = (&'static str, Pairs, Pairs, &'static [&'static str], Option<&'static str>);
        let cases: &[Case] = &[
            ("s3://b", KEYS, MINE, &["access_key_id=c", "aws_secret_access_key=c", "region=r"], None),
            ("s3://b", KEYS, &[("profile", "c")], &["region=r"], Some("c")),
            ("s3://b", KEYS, &[("credentials_file", "c")], &["credentials_file=c", "region=r"], None),
            ("s3://b", &[("credentials_file", "v")], &[("profile", "c")], &["credentials_file=v"], Some("c")),
            ("s3://b", &[("profile", "v")], &[("credentials_file", "c")], &["credentials_file=c"], Some("v")),
            ("s3://b", &[("profile", "v")], &[("metadata_endpoint", "c")], &["metadata_endpoint=c"], None),
            ("s3://b", KEYS, &[("container_credentials_relative_uri", "c")], &["container_credentials_relative_uri=c", "region=r"], None),
            ("s3://b", &[("profile", "v"), ("anonymous", "true")], MINE, &["access_key_id=c", "aws_secret_access_key=c"], Some("v")),
            ("s3://b", &[("skip_signature", "true")], MINE, &["access_key_id=c", "aws_secret_access_key=c"], None),
            ("s3://b", &[("aws_skip_signature", "true")], &[("profile", "c")], &[], Some("c")),
            ("az://c", &[("azure_skip_signature", "true")], &[("sas_token", "c")], &["sas_token=c"], None),
            ("gs://b", &[("skip_signature", "true")], &[("bearer_token", "c")], &["bearer_token=c"], None),
            ("s3://b", &[("skip_signature", "true"), ("region", "r")], &[("region", "c")], &["region=c", "skip_signature=true"], None),
            ("s3://b", &[("skip_signature", "true")], &[("skip_signature", "true"), ("profile", "c")], &["skip_signature=true"], Some("c")),
            ("s3://b", KEYS, &[("region", "c")], &["access_key_id=v", "region=c", "secret_access_key=v", "session_token=v"], None),
            ("s3://b", KEYS, &[], &["access_key_id=v", "region=r", "secret_access_key=v", "session_token=v"], None),
            ("az://c", AZURE, &[("sas_token", "c")], &["account_name=a", "client_id=v", "sas_token=c", "timeout=v"], None),
            ("az://c", AZURE, &[("client_secret", "c")], &["account_name=a", "client_id=v", "client_secret=c", "timeout=v"], None),
            ("gs://b", &[("bearer_token", "v")], &[("service_account", "c")], &["service_account=c"], None),
            ("gs://b", &[("service_account_key", "v")], &[("google_bearer_token", "c")], &["google_bearer_token=c"], None),
        ];
        for &(url, said, own, expected, profile) in cases {
            let (variable, given, mut options) = (read(said), read(own), read(&[said, own].concat()));
            withhold(&mut options, (&variable, &given), &parse(url).unwrap(), &|_| None);
            let mut left: Vec<_> = options.named.iter().map(|(name, value)| format!("{name}={}", value.expose())).collect();
            left.extend(options.credentials_file.iter().map(|file| format!("credentials_file={file}")));
            left.sort_unstable();
            assert_eq!(
                (left, options.profile.as_deref()),
                (expected.iter().map(|text| text.to_string()).collect(), profile),
                "{said:?} {own:?}"
            );
            assert!(options.anonymous.is_none() && !options.withheld, "{said:?} {own:?}");
        }
    }

    #[test]
    #[cfg(feature = "cloud")]
    fn members_of_the_variable_that_only_another_service_knows_are_of_no_effect() {
        const ALL: &[(&str, &str)] = &[
            ("endpoint", "https://h"),
            ("region", "r"),
            ("access_key_id", "i"),
            ("aws_request_payer", "true"),
            ("account_name", "a"),
            ("azure_storage_token", "t"),
            ("client_id", "i"),
            ("sas_token", "s"),
            ("bearer_token", "t"),
            ("service_account", "f"),
            ("ca_file", "f"),
            ("proxy", "p"),
            ("pool_max_idle_per_host", "1"),
            ("no_such", "x"),
        ];
        const PLAIN: &[(&str, &str)] = &[("endpoint", "https://h"), ("bearer_token", "t"), ("timeout", "1 s")];
        const OF_AZURE: &[(&str, &str)] = &[("endpoint", "https://h"), ("bearer_token", "t"), ("account_name", "a")];
        const EVERYWHERE: &[&str] = &["ca_file", "no_such", "pool_max_idle_per_host", "proxy"];
        const MIXED: &[(&str, &str)] =
            &[("endpoint", "https://h"), ("aws_endpoint_url", "https://s3"), ("access_key_id", "i"), ("account_name", "a")];
        const SAS: &[(&str, &str)] = &[("endpoint", "https://h"), ("account_name", "a"), ("sas_token", "s"), ("region", "r")];
        const WITHOUT: &[(&str, &str)] = ALL.split_at(1).1;
        const REFUSED: &[&[&str]] = &[&["expected"]];
        type Case = (Service, &'static [(&'static str, &'static str)], &'static [&'static [&'static str]]);
        const CASES: &[Case] = &[
            (Service::Http, ALL, &[EVERYWHERE]),
            // What is left would go to the service's own hosts.
            (Service::Gcs, ALL, REFUSED),
            (Service::S3, ALL, REFUSED),
            (Service::Azure, ALL, REFUSED),
            (Service::Azure, SAS, REFUSED),
            (Service::Gcs, WITHOUT, &[EVERYWHERE, &["service_account"]]),
            (Service::S3, WITHOUT, &[EVERYWHERE, &["access_key_id", "aws_request_payer", "region"]]),
            (Service::Azure, WITHOUT, &[EVERYWHERE, &["account_name", "azure_storage_token", "client_id", "sas_token"]]),
            (Service::S3, MIXED, &[&["access_key_id", "aws_endpoint_url"]]),
            (Service::Azure, MIXED, REFUSED),
            (Service::Gcs, MIXED, &[]),
            (Service::Http, PLAIN, &[&["timeout"]]),
            (Service::Gcs, PLAIN, &[&["bearer_token", "endpoint", "timeout"]]),
            (Service::Azure, PLAIN, &[&["bearer_token", "endpoint", "timeout"]]),
            // Whose the token and the endpoint are is said by what stands beside them.
            (Service::Azure, OF_AZURE, &[&["account_name", "bearer_token", "endpoint"]]),
            (Service::Gcs, OF_AZURE, &[]),
            (Service::S3, OF_AZURE, &[]),
        ];
        for (service, said, its) in CASES {
            let (service, mut options) = (*service, read(said));
            if let Err(e) = options.keep_for(service) {
                assert!(*its == REFUSED && e.to_string().contains("expected"), "{service:?} {said:?}: {e}");
                continue;
            }
            let mut left: Vec<_> = options.named.iter().map(|(name, _)| name.as_str()).collect();
            left.sort_unstable();
            let mut expected = its.concat();
            expected.sort_unstable();
            let withholds = service == Service::Http && said.iter().any(|(name, _)| *name == "bearer_token");
            assert_eq!((left, options.withheld), (expected, withholds), "{service:?} {said:?}");
        }
    }
}
