//! Credentials of Azure in the options that one variable of the environment has for all locations of a process: whom they are not given to.

use super::azure::{Env, hosts_of_env, is_account, is_azure};
use super::remote::{Remote, RemoteOptions, Service};

/// Leaves out of `options` the credentials that are from `variable`, where that names their account, too, and the location is of another account, or of
/// a host that is neither Azure's nor named by the environment: it may come from somebody else. What is `given` for the location goes there, and may name
/// the endpoint.
pub fn withhold(options: &mut RemoteOptions, (variable, given): (&RemoteOptions, &RemoteOptions), remote: &Remote, env: Env<'_>) {
    if remote.service != Service::Azure || options.spelled(remote.service).named("endpoint").is_some() {
        return;
    }
    let spelled = variable.spelled(remote.service);
    let Some(own) = spelled.named("account_name") else { return };
    let is_named = |host: &str| hosts_of_env(env).iter().any(|its| its.eq_ignore_ascii_case(host));
    let is_at_azure = remote.host.as_deref().is_none_or(|host| is_azure(host) || is_named(host));
    let spelled = options.spelled(remote.service);
    let is_its = remote.account.as_deref().or(spelled.named("account_name")).is_none_or(|named| is_account(named, own));
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

    /// The location, what the variable and an option say, and what is left of the secrets.
    #[test]
    fn secrets_of_the_variable_go_to_the_account_that_stands_beside_them() {
        type Pairs = &'static [(&'static str, &'static str)];
        const KEY: Pairs = &[("account_name", "a"), ("account_key", "k")];
        const SAS: Pairs = &[("azure_storage_account_name", "A"), ("azure_storage_sas_token", "sig=1")];
        const TOKEN: Pairs = &[("account_name", "a"), ("bearer_token", "t"), ("timeout", "9")];
        let cases: [(&str, Pairs, Pairs, &[&str]); 18] = [
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
            ("s3://b/x", KEY, &[], &["account_key"]),
            ("abfs://c@b/x", &[("account_name", "a"), ("endpoint", "https://h"), ("sas_token", "s")], &[], &["endpoint", "sas_token"]),
        ];
        for (url, said, given, expected) in cases {
            let (scheme, rest) = url.split_once(':').unwrap();
            let remote = Remote::parse(scheme, rest).unwrap().unwrap();
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
}
