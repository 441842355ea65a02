//! Where a service is, and of which account and region: by options, the location and the environment.

use super::azure::{
    ACCOUNT_VARIABLES, account_of_env, connected_account, connected_place, is_connected, is_of_env, is_second, of_connection, usual_host,
};
use super::option_values::ignores_endpoints;
use super::partitions::partition_of;
use super::remote::{Env, Remote, RemoteOptions, Service};

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
            place = endpoint.is_none().then(|| partition_of(&region).regions.to_string());
        }
        let endpoint = endpoint.map(|url| url.trim_end_matches('/').to_ascii_lowercase());
        [endpoint, place].map(Option::unwrap_or_default).to_vec()
    }

    /// Where the service is, if an option, the location or the environment says so, and it is not where Azure's accounts usually are.
    pub fn endpoint(&self, remote: &Remote, env: Env<'_>) -> Option<String> {
        let is_ignored = remote.service == Service::S3 && ignores_endpoints(env);
        let variables: &[&str] = if is_ignored { &[] } else { remote.service.endpoint_variables() };
        let said = match (self.named("endpoint"), &remote.host) {
            (None, Some(host)) => Some(format!("https://{host}")),
            _ => self.first("endpoint", variables, env).or_else(|| self.connected_endpoint(remote, env)),
        };
        let usual = self.account(remote, env).map(|account| format!("https://{}", usual_host(&account)));
        said.map(|url| url.trim_end_matches('/').to_string()).filter(|url| Some(url) != usual.as_ref())
    }

    /// Where Azure's connection string has the service of the account.
    fn connected_endpoint(&self, remote: &Remote, env: Env<'_>) -> Option<String> {
        let account = self.account(remote, env)?;
        connected_place(is_second(&account), env).filter(|_| is_connected(&account, remote.host.as_deref(), env))
    }

    /// What Azure's connection string says by this name, where it is of the account and the host that are asked: another account may be somebody
    /// else's, who is to get no credentials.
    pub fn connected(&self, name: &str, remote: &Remote, env: Env<'_>) -> Option<String> {
        let account = self.account(remote, env)?;
        of_connection(name, env).filter(|_| is_connected(&account, remote.host.as_deref(), env))
    }

    /// Whether the keys of Azure in the environment, and the tokens that it is a way to, are for whom the location or an option names.
    pub fn is_of_env(&self, remote: &Remote, env: Env<'_>) -> (bool, bool) {
        let host = remote.host.as_deref().filter(|_| self.named("endpoint").is_none());
        let option = self.named("account_name");
        let its = account_of_env(env).or_else(|| option.map(str::to_string));
        is_of_env(remote.account.as_deref().or(option), its.as_deref(), host, env)
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
    use crate::store::remote::tests::parse;

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
            server("s3://b/x", &[("region", "us-iso-east-1")], &[]),
            server("s3://b/x", &[("region", "us-isob-east-1")], &[]),
            server("az://b/x", &[], &[("AZURE_STORAGE_CONNECTION_STRING", "BlobEndpoint=https://h:9;AccountName=c")]),
            server("abfs://b@a.dfs.core.chinacloudapi.cn/x", &[], &[]),
        ];
        for (i, other) in others.iter().enumerate() {
            assert!(*other != same[0] && others[..i].iter().all(|before| before != other), "{other:?}");
        }
        assert_eq!(server("abfs://b@a.dfs.core.windows.net/x", &[], &[]), others[2]);
        for (text, expected) in [
            ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=k=;EndpointSuffix=core.windows.net", ["", "a"]),
            ("DefaultEndpointsProtocol=http;AccountName=a;AccountKey=k=", ["", "a"]),
            ("DefaultEndpointsProtocol=http;AccountName=a;EndpointSuffix=h:9", ["http://a.blob.h:9", "a"]),
            ("AccountName=a;EndpointSuffix=core.chinacloudapi.cn", ["https://a.blob.core.chinacloudapi.cn", "a"]),
            ("BlobEndpoint=https://a.blob.core.usgovcloudapi.net/;SharedAccessSignature=s", ["https://a.blob.core.usgovcloudapi.net", "a"]),
            ("BlobEndpoint=http://127.0.0.1:9/acc;SharedAccessSignature=s", ["http://127.0.0.1:9/acc", "acc"]),
            ("UseDevelopmentStorage=true", ["http://127.0.0.1:10000/devstoreaccount1", "devstoreaccount1"]),
        ] {
            let variables = [("AZURE_STORAGE_CONNECTION_STRING", text)];
            assert_eq!(server("az://b/x", &[], &variables), expected, "{text}");
            assert_eq!(server("abfs://b@other/x", &[], &variables), ["", "other"], "{text}: of another account");
            assert_eq!(server("abfs://b@other.dfs.h.cn/x", &[], &variables), ["https://other.blob.h.cn", "other"], "{text}");
        }
        for (endpoint, expected) in [
            ("https://data.example.org/", ["https://data.example.org", "acct"]),
            ("http://127.0.0.1:9", ["http://127.0.0.1:9", "acct"]),
            ("https://a.blob.core.windows.net/", ["", "acct"]),
        ] {
            let text = format!("BlobEndpoint={endpoint};SharedAccessSignature=s");
            let variables = [("AZURE_STORAGE_CONNECTION_STRING", text.as_str()), ("AZURE_STORAGE_ACCOUNT", "acct")];
            assert_eq!(server("az://b/x", &[], &variables), expected, "{endpoint}: a host with a name of its own");
        }
        for (text, account, second) in [
            ("AccountName=a;EndpointSuffix=core.windows.net", "a-secondary", ""),
            ("AccountName=a;EndpointSuffix=core.chinacloudapi.cn", "a-secondary", "https://a-secondary.blob.core.chinacloudapi.cn"),
            ("BlobEndpoint=https://a.blob.core.usgovcloudapi.net/", "a-secondary", "https://a-secondary.blob.core.usgovcloudapi.net"),
            (
                "BlobEndpoint=https://a-secondary.blob.core.usgovcloudapi.net",
                "a-secondary",
                "https://a-secondary.blob.core.usgovcloudapi.net",
            ),
            ("BlobEndpoint=http://127.0.0.1:9/acc", "acc-secondary", "http://127.0.0.1:9/acc-secondary"),
            ("BlobEndpoint=https://h;BlobSecondaryEndpoint=https://other/;AccountName=a", "a-secondary", "https://other"),
            ("BlobEndpoint=https://data.example.org;AccountName=a", "a-secondary", ""),
        ] {
            let found = server(&format!("abfs://b@{account}/x"), &[], &[("AZURE_STORAGE_CONNECTION_STRING", text)]);
            assert_eq!(found, [second, account], "{text}: the second place");
        }
        // The host that a location names is the one that is asked.
        for variables in [
            ("AZURE_STORAGE_CONNECTION_STRING", "AccountName=a;EndpointSuffix=core.chinacloudapi.cn"),
            ("AZURE_STORAGE_ENDPOINT", "https://a.blob.core.chinacloudapi.cn/"),
        ] {
            assert_eq!(server("abfs://b@a.dfs.core.windows.net/x", &[], &[variables]), ["", "a"], "{variables:?}");
            assert_eq!(server("abfs://b@a/x", &[], &[variables]), ["https://a.blob.core.chinacloudapi.cn", "a"], "{variables:?}");
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
            ("AccountName=a;AccountKey=k;EndpointSuffix=core.chinacloudapi.cn", "abfs://c@a.dfs.core.windows.net/x", None, false),
            ("AccountName=a-secondary;AccountKey=k", "abfs://c@a/x", None, true),
            // The second place would be at Azure's public cloud, where the account may be somebody else's.
            ("BlobEndpoint=https://data.example.org;AccountName=a;AccountKey=k", "abfs://c@a-secondary/x", None, false),
            ("BlobEndpoint=https://a.blob.core.chinacloudapi.cn;AccountKey=k", "abfs://c@a-secondary/x", None, true),
            ("BlobEndpoint=https://a.blob.core.chinacloudapi.cn;AccountKey=k", "az://c/x", Some("a-secondary"), true),
            ("BlobEndpoint=http://127.0.0.1:9/acc;AccountKey=k", "abfs://c@acc-secondary/x", None, true),
        ] {
            let mut options = RemoteOptions::default();
            account.iter().for_each(|account| options.set_named("account_name", account));
            let env = |key: &str| (key == "AZURE_STORAGE_CONNECTION_STRING").then(|| text.to_string());
            let found = options.connected("AccountKey", &parse(location).unwrap(), &env);
            assert_eq!(found.is_some(), is_its, "{text} {location} {account:?}");
            let env = |key: &str| if key == "AZURE_STORAGE_ACCOUNT" { Some("b".to_string()) } else { env(key) };
            let found = options.connected("AccountKey", &parse(location).unwrap(), &env);
            let names_one = account.is_some() || location.contains('@');
            assert_eq!(found.is_some(), is_its && names_one, "{text} {location} {account:?}: a variable names another account");
        }
    }

    #[test]
    fn no_endpoint_ends_in_a_slash() {
        for (url, variable) in [("s3://b", "AWS_ENDPOINT_URL"), ("az://b", "AZURE_STORAGE_ENDPOINT"), ("gs://b", "")] {
            let mut options = RemoteOptions::default();
            let env = |key: &str| (key == variable).then(|| "http://127.0.0.1:9/acc/".to_string());
            let said = |options: &RemoteOptions| options.endpoint(&parse(url).unwrap(), &env);
            assert_eq!(said(&options).as_deref(), (!variable.is_empty()).then_some("http://127.0.0.1:9/acc"), "{variable}");
            options.set_named("endpoint", "http://127.0.0.1:8//");
            assert_eq!(said(&options).as_deref(), Some("http://127.0.0.1:8"), "{url}");
        }
    }
}
