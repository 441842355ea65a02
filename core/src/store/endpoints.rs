//! Where a service is, and of which account and region: by options, the location and the environment.

use super::azure::{self, ACCOUNT_VARIABLES, connected_account, is_of_env, is_second, of_connection};
use super::option_values::ignores_endpoints;
use super::remote::{Env, Remote, RemoteOptions, Service};

/// How the regions of AWS begin that are in a partition of their own.
const PARTITIONS: &[&str] = &["us-gov-", "cn-", "us-iso"];

/// Gives the endpoint and the region of the profile that options lead to.
pub type OfProfile<'a> = &'a dyn Fn(&RemoteOptions) -> (Option<String>, Option<String>);

impl RemoteOptions {
    /// What they, the location and the environment say of the server: buckets of two servers may have one name.
    /// `of_profile` gives the endpoint and the region that a profile says.
    pub fn server(&self, remote: &Remote, env: Env<'_>, of_profile: OfProfile<'_>) -> Vec<String> {
        let options = self.spelled(remote.service);
        let (mut endpoint, mut place) = (options.endpoint(remote, env), options.account(remote, env));
        if remote.service == Service::S3 {
            let profile = of_profile(&options);
            endpoint = endpoint.or(profile.0);
            let region = options.region(env).or(profile.1).unwrap_or_default();
            // Names of buckets are one in a partition of the service.
            place = PARTITIONS.iter().find(|start| region.starts_with(**start) && endpoint.is_none()).map(|start| start.to_string());
        }
        let endpoint = endpoint.map(|url| url.trim_end_matches('/').to_ascii_lowercase());
        [endpoint, place].map(Option::unwrap_or_default).to_vec()
    }

    /// Where the service is, if an option, the location or the environment says so.
    pub fn endpoint(&self, remote: &Remote, env: Env<'_>) -> Option<String> {
        if let (None, Some(host)) = (self.named("endpoint"), &remote.host) {
            return Some(format!("https://{host}"));
        }
        let is_ignored = remote.service == Service::S3 && ignores_endpoints(env);
        let said = self.first("endpoint", if is_ignored { &[] } else { remote.service.endpoint_variables() }, env);
        if remote.service != Service::Azure { said } else { said.or_else(|| self.connected_endpoint(remote, env)) }
    }

    /// Where Azure's connection string has the service of the account.
    fn connected_endpoint(&self, remote: &Remote, env: Env<'_>) -> Option<String> {
        let account = self.account(remote, env);
        let name = if account.as_deref().is_some_and(is_second) { "BlobSecondaryEndpoint" } else { "BlobEndpoint" };
        let endpoint = self.connected(name, remote, env).map(|url| url.trim_end_matches('/').to_string());
        endpoint.or_else(|| {
            let suffix = self.connected("EndpointSuffix", remote, env).filter(|suffix| suffix != "core.windows.net")?;
            let protocol = self.connected("DefaultEndpointsProtocol", remote, env).unwrap_or_else(|| "https".to_string());
            Some(format!("{protocol}://{}.blob.{suffix}", account?))
        })
    }

    /// What Azure's connection string says by this name, where it is of the account and the host that the location or an option names: another
    /// account may be somebody else's, who is to get no credentials.
    pub fn connected(&self, name: &str, remote: &Remote, env: Env<'_>) -> Option<String> {
        let account = remote.account.as_deref().or(self.named("account_name"));
        of_connection(name, env).filter(|_| azure::is_connected(account, remote.host.as_deref(), env))
    }

    /// Whether the keys of Azure in the environment, and the tokens that it is a way to, are for whom the location names, or an option does.
    pub fn is_of_env(&self, remote: &Remote, env: Env<'_>) -> (bool, bool) {
        let host = remote.host.as_deref().filter(|_| self.named("endpoint").is_none());
        is_of_env(remote.account.as_deref(), host, env)
    }

    /// The account of Azure.
    pub fn account(&self, remote: &Remote, env: Env<'_>) -> Option<String> {
        let is_azure = remote.service == Service::Azure;
        let said = || self.first("account_name", ACCOUNT_VARIABLES, env).or_else(|| connected_account(env));
        if is_azure { remote.account.clone().or_else(said) } else { None }
    }

    /// The region of S3.
    pub fn region(&self, env: Env<'_>) -> Option<String> {
        self.first("region", &["AWS_REGION", "AWS_DEFAULT_REGION"], env)
    }

    /// An option, or the first variable that is set.
    fn first(&self, option: &str, variables: &[&str], env: Env<'_>) -> Option<String> {
        let from_env = || variables.iter().find_map(|name| env(name).filter(|value| !value.is_empty()));
        self.named(option).map(str::to_string).or_else(from_env)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;

    fn parse(url: &str) -> Result<Remote> {
        let (scheme, rest) = url.split_once(':').unwrap();
        Remote::parse(scheme, rest).map(|found| found.unwrap())
    }

    #[test]
    fn a_server_is_one_however_it_is_named() {
        let server = |url: &str, pairs: &[(&str, &str)], variables: &[(&str, &str)]| {
            let mut options = RemoteOptions::default();
            for (name, value) in pairs {
                if !options.set(name, value).unwrap() {
                    options.set_named(name, value);
                }
            }
            let env = |key: &str| variables.iter().find(|(name, _)| *name == key).map(|(_, value)| value.to_string());
            let of_profile = |options: &RemoteOptions| match options.profile.as_deref() {
                Some("gov") => (None, Some("us-gov-west-1".to_string())),
                profile => (profile.map(|_| "https://h:9/".to_string()), None),
            };
            options.server(&parse(url).unwrap(), &env, &of_profile)
        };
        let same = [
            server("s3://b/x", &[("endpoint", "https://h:9")], &[]),
            server("s3://b/x", &[("endpoint", "https://h:9/")], &[]),
            server("s3://b/y", &[("endpoint", "https://H:9")], &[("AWS_ENDPOINT_URL", "https://other")]),
            server("s3://b/x", &[], &[("AWS_ENDPOINT_URL", "https://h:9/")]),
            server("s3://b/x", &[("profile", "p")], &[]),
            server("s3://b/x", &[("endpoint_url", "https://h:9"), ("region", "us-gov-west-1")], &[]),
            server("s3://b/x", &[("aws_endpoint", "https://h:9")], &[]),
        ];
        assert!(same.iter().all(|other| *other == same[0]), "{same:?}");
        let ignored =
            [("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "True"), ("AWS_ENDPOINT_URL_S3", "https://h:8"), ("AWS_ENDPOINT_URL", "https://h:8")];
        assert_eq!(server("s3://b/x", &[("endpoint", "https://h:9")], &ignored), same[0], "an option");
        assert_eq!(server("s3://b/x", &[], &ignored), ["", ""]);
        assert_eq!(
            server("s3://b/x", &[], &[("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "false"), ("AWS_ENDPOINT_URL", "https://h:9")]),
            same[0]
        );
        let others = [
            server("s3://b/x", &[], &[]),
            server("s3://b/x", &[("endpoint", "https://h:8")], &[]),
            server("az://b/x", &[("account_name", "a")], &[]),
            server("az://b/x", &[], &[("AZURE_STORAGE_ACCOUNT", "b")]),
            server("s3://b/x", &[("profile", "gov")], &[]),
            server("s3://b/x", &[("region", "cn-north-1")], &[]),
            server("az://b/x", &[], &[("AZURE_STORAGE_CONNECTION_STRING", "BlobEndpoint=https://h:9;AccountName=c")]),
            server("abfs://b@a.dfs.core.chinacloudapi.cn/x", &[], &[]),
        ];
        for (i, other) in others.iter().enumerate() {
            assert!(*other != same[0] && others[..i].iter().all(|before| before != other), "{other:?}");
        }
        assert_eq!(server("abfs://b@a.dfs.core.windows.net/x", &[], &[]), others[2]);
        for (text, expected) in [
            ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=k=;EndpointSuffix=core.windows.net", ["", "a"]),
            ("AccountName=a;EndpointSuffix=core.chinacloudapi.cn", ["https://a.blob.core.chinacloudapi.cn", "a"]),
            ("BlobEndpoint=https://a.blob.core.usgovcloudapi.net/;SharedAccessSignature=s", ["https://a.blob.core.usgovcloudapi.net", "a"]),
            ("BlobEndpoint=http://127.0.0.1:9/acc;SharedAccessSignature=s", ["http://127.0.0.1:9/acc", "acc"]),
            ("UseDevelopmentStorage=true", ["http://127.0.0.1:10000/devstoreaccount1", "devstoreaccount1"]),
        ] {
            let variables = [("AZURE_STORAGE_CONNECTION_STRING", text)];
            assert_eq!(server("az://b/x", &[], &variables), expected, "{text}");
            assert_eq!(server("abfs://b@other/x", &[], &variables), ["", "other"], "{text}: of another account");
            let second = if text.contains("Suffix=core.china") { "https://a-secondary.blob.core.chinacloudapi.cn" } else { "" };
            assert_eq!(server("abfs://b@a-secondary/x", &[], &variables), [second, "a-secondary"], "{text}: the second place");
            assert_eq!(server("abfs://b@other.dfs.h.cn/x", &[], &variables), ["https://other.blob.h.cn", "other"], "{text}");
        }
        let of_a = [("AZURE_STORAGE_CONNECTION_STRING", "AccountName=a;EndpointSuffix=core.chinacloudapi.cn")];
        assert_eq!(server("az://b/x", &[("account_name", "other")], &of_a), ["", "other"], "an option names another account");
        assert_eq!(server("az://b/x", &[], &[("AZURE_STORAGE_CONNECTION_STRING", "x=y;accountname = a ;AccountKey=k=")]), others[2]);
        assert_eq!(server("s3://b/x", &[], &[("AWS_REGION", "eu-west-1")]), others[0]);
        assert_eq!(server("s3://b/x", &[], &[("AWS_REGION", "us-gov-east-1")]), others[4]);
    }

    #[test]
    fn a_connection_string_is_for_its_own_account_at_its_own_host() {
        for (text, location, account, is_its) in [
            ("AccountName=a;AccountKey=k", "az://c/x", None, true),
            ("AccountName=a;AccountKey=k", "az://c/x", Some("A"), true),
            ("AccountName=a;AccountKey=k", "az://c/x", Some("other"), false),
            ("AccountName=a;AccountKey=k", "abfs://c@a/x", None, true),
            ("AccountName=a;AccountKey=k", "abfs://c@a.dfs.core.windows.net/x", None, true),
            ("AccountName=a;AccountKey=k", "abfs://c@a.dfs.core.chinacloudapi.cn/x", None, false),
            ("AccountName=a;AccountKey=k", "abfs://c@a.example.org/x", None, false),
            ("AccountName=a;AccountKey=k;EndpointSuffix=core.chinacloudapi.cn", "abfs://c@a.dfs.core.chinacloudapi.cn/x", None, true),
            ("AccountName=a;AccountKey=k;EndpointSuffix=core.usgovcloudapi.net", "abfs://c@a.dfs.core.chinacloudapi.cn/x", None, false),
            ("BlobEndpoint=https://a.blob.core.chinacloudapi.cn/;AccountKey=k", "abfs://c@a.dfs.core.chinacloudapi.cn/x", None, true),
            ("AccountName=a;AccountKey=k", "abfs://c@a-secondary/x", None, true),
            ("AccountName=a;AccountKey=k", "abfs://c@a-secondary.blob.core.windows.net/x", None, true),
            ("AccountName=a;AccountKey=k", "abfs://c@a-secondary.blob.core.chinacloudapi.cn/x", None, false),
            ("AccountName=a;AccountKey=k", "abfs://c@b-secondary/x", None, false),
        ] {
            let mut options = RemoteOptions::default();
            account.iter().for_each(|account| options.set_named("account_name", account));
            let env = |key: &str| (key == "AZURE_STORAGE_CONNECTION_STRING").then(|| text.to_string());
            let found = options.connected("AccountKey", &parse(location).unwrap(), &env);
            assert_eq!(found.is_some(), is_its, "{text} {location} {account:?}");
        }
    }
}
