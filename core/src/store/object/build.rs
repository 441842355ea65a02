//! Makes the client of a service from a location, options, the environment and the files of the service's own tools, in that order.

mod aws;
mod web;

use super::certificates::certificates;
use super::client::{Own, is_loopback};
use super::credentials::{
    IN_HEADERS_OF_AZURE, Withheld, fit_headers, has_connected_secret, is_azure_credential, is_azure_secret, is_credential,
    is_gcs_credential, redacted, runs_on, secrets,
};
use super::hosts;
use super::made::Client;
use super::profile::{self, Profile};
use super::watch::Connector;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::store::azure::signer;
use crate::store::option_values::IGNORES_ENDPOINTS;
use crate::store::remote::{Env, Remote, RemoteOptions, Service};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{ClientOptions, RetryConfig, StaticCredentialProvider};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The client. `region` is what a server said, and goes before everything.
pub(super) fn client(remote: &Remote, options: &RemoteOptions, region: Option<&str>, requests: &Arc<AtomicU64>) -> Result<Client> {
    // Another part of the program may have chosen one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let env = |key: &str| std::env::var(key).ok().filter(|value| !value.is_empty());
    let mut variables: Vec<_> =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect();
    let options = options.spelled(remote.service);
    let secrets = secrets(remote, &options, &variables, &env);
    let withheld = Withheld::of(remote, &options, &variables, &env);
    variables.retain(|(name, _)| !withheld.has(name));
    let profile = if remote.service == Service::S3 { profile::of(&options, &env)? } else { Profile::default() };
    let ignores = env(IGNORES_ENDPOINTS).is_none() && profile.ignores_endpoints();
    let env =
        |key: &str| if ignores && key == IGNORES_ENDPOINTS { Some("true".to_string()) } else { env(key).filter(|_| !withheld.has(key)) };
    let maker =
        Maker { remote, options: &options, requests, env: &env, profile, variables, secrets, own: Own::default(), withheld: &withheld };
    match remote.service {
        Service::S3 => maker.s3(region),
        Service::Gcs => maker.gcs(),
        Service::Azure => maker.azure(),
        Service::Http => maker.http(),
    }
}

struct Maker<'a> {
    remote: &'a Remote,
    options: &'a RemoteOptions,
    requests: &'a Arc<AtomicU64>,
    env: Env<'a>,
    /// Of AWS's own tools.
    profile: Profile,
    /// All that `env` has, with their names.
    variables: Vec<(String, String)>,
    secrets: Vec<String>,
    own: Own,
    /// What neither `env` nor `variables` have.
    withheld: &'a Withheld,
}

impl Maker<'_> {
    /// The settings of the crate in variables with this prefix.
    fn settings<K: FromStr>(&self, prefix: &'static str) -> impl Iterator<Item = (K, &str)> {
        let named = self.variables.iter().filter(move |(name, value)| name.starts_with(prefix) && !value.is_empty());
        named.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value.as_str())))
    }

    /// Whether one of the options is such a setting.
    fn has_option<K: FromStr>(&self, is_such: fn(&K) -> bool) -> bool {
        self.options.named.iter().any(|(name, _)| name.parse().is_ok_and(|key| is_such(&key)))
    }

    /// Whether one of the options, or a variable with this prefix, is such a setting.
    fn has_setting<K: FromStr>(&self, prefix: &'static str, is_such: fn(&K) -> bool) -> bool {
        self.has_option(is_such) || self.settings(prefix).any(|(key, _)| is_such(&key))
    }

    /// Such a setting in the options, or else in a variable with this prefix.
    fn setting<K: FromStr>(&self, prefix: &'static str, is_such: fn(&K) -> bool) -> Option<&str> {
        let of_options = self.options.named.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.expose())));
        of_options.chain(self.settings(prefix)).find(|(key, _)| is_such(key)).map(|(_, value)| value)
    }

    /// Whether such a setting is true, as the crate reads it, in the options, or else in a variable with this prefix.
    fn is_on<K: FromStr>(&self, prefix: &'static str, is_such: fn(&K) -> bool) -> bool {
        self.setting(prefix, is_such).is_some_and(|value| ["1", "true", "on", "yes", "y"].iter().any(|yes| yes.eq_ignore_ascii_case(value)))
    }

    /// Whether requests are to go out unsigned, by the option or by `is_such`, the crate's setting for it; not by the environment beside credentials
    /// of the options.
    fn is_unsigned<K: FromStr>(&self, prefix: &'static str, is_such: fn(&K) -> bool) -> bool {
        let is_of_options = self.has_option(is_such) || !self.has_own_credentials();
        self.options.anonymous.unwrap_or_else(|| is_of_options && self.is_on(prefix, is_such))
    }

    /// Whether the options have credentials, or say where some are.
    fn has_own_credentials(&self) -> bool {
        let names_files = self.options.profile.is_some() || self.options.credentials_file.is_some();
        let has_some = || self.profile.access_key_id.is_some() || self.profile.unusable().is_some();
        names_files && has_some() || self.options.named.iter().any(|(name, _)| is_credential(self.remote.service, name))
    }

    fn gcs(mut self) -> Result<Client> {
        let is_emulated = hosts::is_emulated(self.options, self.env);
        let with_scheme = |url: String| if is_emulated && !url.contains("://") { format!("http://{url}") } else { url };
        let endpoint = self.options.endpoint(self.remote, self.env).map(with_scheme).or_else(|| self.base_url());
        let mut builder = self.gcs_builder().with_bucket_name(&self.remote.base);
        builder = builder.with_client_options(self.client_options(endpoint.as_deref(), "GOOGLE_ALLOW_HTTP")?).with_retry(no_retries());
        if let Some(endpoint) = endpoint {
            builder = builder.with_config(GoogleConfigKey::BaseUrl, endpoint);
        }
        if let Some(path) = self.options.named("service_account") {
            builder = builder.with_service_account_path(path);
        }
        if let Some(token) = self.options.named("bearer_token") {
            builder = builder.with_config(GoogleConfigKey::BearerToken, token);
        }
        let file = hosts::file_of_google(self.env).filter(|file| file.exists());
        let is_told = self.has_setting("GOOGLE_", is_gcs_credential) || (self.env)("SERVICE_ACCOUNT").is_some();
        if let Some(file) = file.as_ref().filter(|_| !is_told) {
            builder = builder.with_application_credentials(file.to_string_lossy());
        }
        let has_credentials = || is_told || file.is_some() || runs_on("Google");
        // An emulator needs no credentials, and gets none of the environment's.
        let is_unsigned_there = is_emulated && self.options.anonymous.is_none() && !self.has_option(is_gcs_credential);
        let is_wanted = is_unsigned_there || self.is_unsigned("GOOGLE_", |key: &GoogleConfigKey| *key == GoogleConfigKey::SkipSignature);
        let found_no_credentials = self.options.anonymous.is_none() && !is_wanted && !has_credentials();
        let is_unsigned = is_wanted || found_no_credentials;
        builder = builder.with_skip_signature(is_unsigned);
        if is_unsigned {
            // The crate signs what changes objects all the same.
            self.own.is_unsigned = true;
            builder = builder.with_credentials(Arc::new(StaticCredentialProvider::new(GcpCredential { bearer: String::new() })));
        }
        builder = builder.with_http_connector(self.connector());
        for (name, value) in self.others(&["endpoint", "service_account", "bearer_token"]) {
            let key = name.parse::<GoogleConfigKey>().map_err(|_| unknown(name, "gs"))?;
            if key == GoogleConfigKey::Bucket {
                return Err(of_location(name));
            }
            builder = builder.with_config(key, value);
        }
        fit_headers(&builder, GoogleCloudStorageBuilder::get_config_value, &[(GoogleConfigKey::BearerToken, "the bearer token")])?;
        let store = Arc::new(builder.build().map_err(|e| self.wrong(e))?);
        let client = Client::without_keys(store.clone(), Some(store.clone()), Some(store), true, self.secrets);
        Ok(Client { found_no_credentials, ..client })
    }

    /// Where the key of the service account has the service: on another machine than this it is not asked in plain HTTP, as any endpoint.
    fn base_url(&self) -> Option<String> {
        let options = self.options.named.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.expose())));
        let builder = options.fold(self.gcs_builder(), |builder, (key, value)| builder.with_config(key, value));
        let of_file = |file: String| std::fs::read_to_string(file).ok();
        let key = builder.get_config_value(&GoogleConfigKey::ServiceAccount).and_then(of_file);
        hosts::base_url_of(&key.or_else(|| builder.get_config_value(&GoogleConfigKey::ServiceAccountKey))?)
    }

    /// What the environment says, without credentials where the options have some: two of them are an error, or one goes before the other.
    fn gcs_builder(&self) -> GoogleCloudStorageBuilder {
        let has_own = self.has_option(is_gcs_credential);
        let builder = GoogleCloudStorageBuilder::new();
        let builder = match (self.env)("SERVICE_ACCOUNT") {
            Some(path) if !has_own => builder.with_service_account_path(path),
            _ => builder,
        };
        let settings = self.settings("GOOGLE_").filter(|(key, _)| !has_own || !is_gcs_credential(key));
        settings.fold(builder, |builder, (key, value)| builder.with_config(key, value))
    }

    fn azure(mut self) -> Result<Client> {
        let is_emulated = self.is_on("AZURE_", |key: &AzureConfigKey| *key == AzureConfigKey::UseEmulator);
        let account = self.options.account(self.remote, self.env).or_else(|| is_emulated.then(|| "devstoreaccount1".to_string()));
        let Some(account) = account else {
            bail!(
                Argument,
                "no account of Azure is named: set \"cloud.account_name\" or AZURE_STORAGE_ACCOUNT, or write abfs://container@account/"
            );
        };
        let endpoint = self.options.endpoint(self.remote, self.env);
        let has_own = self.has_option(is_azure_credential);
        let secret = |option: &str, variables: &[&str], name: &str| {
            let found = self.first(&[option], if has_own { &[] } else { variables });
            found.or_else(|| if has_own { None } else { self.options.connected(name, self.remote, self.env) })
        };
        let key = secret("account_key", &["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY"], "AccountKey");
        let sas = secret("sas_token", &["AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"], "SharedAccessSignature");
        self.secrets.extend([&key, &sas].into_iter().flatten().filter(|text| text.len() >= 6).cloned());
        let (account, host) = signer(account, key.is_some());
        let mut builder = self.azure_builder(key.is_some() || sas.is_some()).with_container_name(&self.remote.base).with_account(account);
        builder = builder.with_client_options(self.client_options(endpoint.as_deref(), "AZURE_ALLOW_HTTP")?).with_retry(no_retries());
        builder = builder.with_http_connector(self.connector());
        if let Some(endpoint) = endpoint.or(host) {
            builder = builder.with_endpoint(endpoint);
        }
        let has_key = key.is_some() || sas.is_some();
        if let Some(key) = key {
            builder = builder.with_access_key(key);
        } else if let Some(sas) = sas {
            builder = builder.with_config(AzureConfigKey::SasKey, sas.trim_start_matches('?'));
        }
        if let Some(token) = self.options.named("bearer_token") {
            builder = builder.with_bearer_token_authorization(token);
        }
        let has_setting = self.has_setting("AZURE_", is_azure_credential) || (self.env)("IDENTITY_ENDPOINT").is_some();
        let asks_tool = || self.is_on("AZURE_", |key: &AzureConfigKey| *key == AzureConfigKey::UseAzureCli);
        let has_credentials = || has_key || has_setting || is_emulated || asks_tool() || runs_on("Microsoft Corporation");
        let is_unsigned = self.is_unsigned("AZURE_", |key: &AzureConfigKey| *key == AzureConfigKey::SkipSignature);
        let found_no_credentials = self.options.anonymous.is_none() && !is_unsigned && !has_credentials();
        // The crate, which then has no key, would ask for a token of this machine.
        let is_withheld = self.withheld.tokens && !is_unsigned && !has_key && !self.has_setting("AZURE_", is_azure_secret);
        builder = builder.with_skip_signature(is_unsigned || found_no_credentials);
        for (name, value) in self.others(&["endpoint", "account_name", "account_key", "sas_token", "bearer_token"]) {
            let key = name.parse::<AzureConfigKey>().map_err(|_| unknown(name, "az"))?;
            if key == AzureConfigKey::ContainerName {
                return Err(of_location(name));
            }
            builder = builder.with_config(key, value);
        }
        if is_withheld {
            builder = builder.with_skip_signature(true);
        }
        fit_headers(&builder, MicrosoftAzureBuilder::get_config_value, &IN_HEADERS_OF_AZURE)?;
        let store = Arc::new(builder.build().map_err(|e| self.wrong(e))?);
        // A connection string of another account is not used.
        let has_withheld = || !self.withheld.names.is_empty() || self.options.withheld || has_connected_secret(self.env);
        let withholds = if found_no_credentials { has_withheld() } else { is_withheld };
        Ok(Client { found_no_credentials, withholds, ..Client::without_keys(store.clone(), Some(store), None, true, self.secrets) })
    }

    /// What the environment says, without credentials where the options have some, or where a key or token `is_found`: the crate knows nothing of
    /// where they are from, and would take the application's first. Those of an application may stand in both.
    fn azure_builder(&self, is_found: bool) -> MicrosoftAzureBuilder {
        let (has_own, has_secret) = (self.has_option(is_azure_credential), is_found || self.has_option(is_azure_secret));
        // Where the location names a host, that of the environment is not asked.
        let is_unwanted = |key: &AzureConfigKey| {
            *key == AzureConfigKey::Endpoint || has_own && is_azure_secret(key) || has_secret && is_azure_credential(key)
        };
        let settings = self.settings("AZURE_").filter(|(key, _)| !is_unwanted(key));
        let builder = settings.fold(MicrosoftAzureBuilder::new(), |builder, (key, value)| builder.with_config(key, value));
        match (self.env)("IDENTITY_ENDPOINT") {
            Some(endpoint) if !has_secret => builder.with_msi_endpoint(endpoint),
            _ => builder,
        }
    }

    fn connector(&self) -> Connector {
        Connector { requests: self.requests.clone(), own: self.own.clone(), made: Arc::default() }
    }

    /// The first that is set of the options and the variables of those names.
    fn first(&self, options: &[&str], variables: &[&str]) -> Option<String> {
        let option = options.iter().find_map(|name| self.options.named(name)).map(str::to_string);
        option.or_else(|| variables.iter().find_map(|name| (self.env)(name)))
    }

    /// The options that were not used by name, as the crate's own.
    fn others(&self, used: &'static [&'static str]) -> impl Iterator<Item = (&str, &str)> {
        let ours = ["ca_file", "proxy", "user_agent"];
        let all = self.options.named.iter().filter(move |(name, _)| !used.contains(&name.as_str()) && !ours.contains(&name.as_str()));
        all.map(|(name, value)| (name.as_str(), value.expose()))
    }

    fn client_options(&mut self, endpoint: Option<&str>, variable: &str) -> Result<ClientOptions> {
        if let Some(endpoint) = endpoint.filter(|_| self.remote.service != Service::Http) {
            hosts::check_endpoint(endpoint, self.remote, self.options, self.env)?;
        }
        let is_near = endpoint.is_some_and(is_loopback);
        let says_so = (self.env)(variable).is_some_and(|value| value == "true");
        let allowed = self.options.allow_http.unwrap_or(is_near || says_so);
        if endpoint.is_some_and(|url| url.starts_with("http://")) && !allowed && self.remote.service != Service::Http {
            bail!(Permission, "the endpoint speaks plain HTTP; allow it with the option \"cloud.allow_http\" \"true\"");
        }
        // The service that gives out S3's credentials may be on this machine, too. The crate would ask it by TLS only.
        let may_be_plain = self.options.allow_http.unwrap_or(says_so);
        let of_tokens = if self.remote.service == Service::S3 { self.sts_endpoint() } else { None };
        self.own.tokens_near = of_tokens.is_some_and(|url| may_be_plain || is_loopback(&url));
        let mut options = ClientOptions::new()
            .with_allow_http(allowed || self.own.tokens_near)
            .with_connect_timeout(self.options.connect_timeout)
            .with_read_timeout(self.options.idle_timeout)
            .with_timeout_disabled();
        let agent = self.options.named("user_agent").map_or(concat!("ozarr/", env!("CARGO_PKG_VERSION")), |agent| agent);
        let agent = object_store::HeaderValue::from_str(agent)
            .map_err(|_| err!(Argument, "the option \"cloud.user_agent\" is no header's value"))?;
        options = options.with_user_agent(agent);
        let bundle: &[&str] = if self.remote.service == Service::S3 { &["AWS_CA_BUNDLE"] } else { &[] };
        if let Some(file) = self.first(&["ca_file"], bundle) {
            self.own.certificates = certificates(&file)?;
        }
        if let Some(proxy) = self.options.named("proxy") {
            options = options.with_proxy_url(proxy);
        }
        Ok(options)
    }

    /// The error of a client that cannot be made.
    fn wrong(&self, e: object_store::Error) -> Error {
        let mut cause: &dyn std::error::Error = &e;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let text = redacted(hosts::without_texts(cause.to_string()), &self.secrets);
        Error::new(ErrorKind::Argument, format!("{} cannot be reached with these options: {text}", self.remote.describe()))
    }
}

/// Tries are counted by us, with what the server says of the time.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, retry_timeout: Duration::ZERO, ..RetryConfig::default() }
}

fn unknown(name: &str, scheme: &str) -> Error {
    err!(Argument, "the option {name:?} of \"cloud.options\" is unknown for {scheme}:// locations")
}

fn of_location(name: &str) -> Error {
    err!(Argument, "the option {name:?} of \"cloud.options\": the location names the bucket or container")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::remote::tests::parse;
    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

    fn build(url: &str, pairs: &[(&str, &str)]) -> Result<Client> {
        let remote = parse(url)?;
        let mut options = RemoteOptions::default();
        for (name, value) in pairs {
            if !options.set(name, value)? {
                options.set_named(name, value);
            }
        }
        client(&remote, &options, None, &Arc::default())
    }

    #[test]
    fn what_is_wrong_with_options_is_told_without_their_values() {
        type Row = (&'static str, &'static [(&'static str, &'static str)], &'static str);
        let cases: &[Row] = &[
            (
                "s3://b",
                &[("endpoint", "http://example.org"), ("access_key_id", "planted-id"), ("secret_access_key", "planted-secret")],
                "allow_http",
            ),
            ("s3://b", &[("endpoint", "planted-no-url")], "\"cloud.endpoint\" is no URL"),
            ("gs://b", &[("endpoint", "127.0.0.1:9000")], "\"cloud.endpoint\" is no URL"),
            ("gs://b", &[("endpoint", "http://planted host:9000")], "\"cloud.endpoint\" is no URL"),
            ("s3://b", &[("endpoint", "http://planted host:9000")], "\"cloud.endpoint\" is no URL"),
            ("s3://b", &[("endpoint", "https://pl\u{e4}nted:9000")], "\"cloud.endpoint\" is no URL"),
            ("s3://b", &[("endpoint", "https://us:planted/word@h")], "\"cloud.endpoint\" is no URL"),
            ("az://c", &[("account_name", "a"), ("endpoint", "us:planted@h:9000")], "\"cloud.endpoint\" is no URL"),
            ("s3://b", &[("endpoint", "ftp://h")], "\"cloud.endpoint\" is no URL"),
            ("s3://b", &[("endpoint", "http://localhost:planted@example.org:9")], "allow_http"),
            ("s3://b", &[("region", "example.org/")], "the region"),
            ("s3://b", &[("colour", "planted-colour")], "colour"),
            ("az://c", &[("account_key", "planted-key")], "account"),
            ("az://c", &[("account_name", "a"), ("account_key", "planted-key!!")], "cannot be reached"),
            ("gs://b", &[("service_account", "/nowhere.json")], "cannot be reached"),
            ("s3://b", &[("aws_bucket", "planted-bucket")], "the location names the bucket"),
            ("gs://b", &[("bucket", "planted-bucket")], "the location names the bucket"),
            ("az://c", &[("account_name", "a"), ("container_name", "planted-bucket")], "the location names the bucket"),
            ("s3://b", &[("access_key_id", "planted-id")], "secret_access_key"),
            ("https://h", &[("proxy", "::planted-proxy::")], "cannot be reached"),
            ("https://h", &[("region", "planted-region")], "region"),
            ("https://h", &[("http2_only", "yes")], "HTTP/1.1"),
            ("s3://b", &[("pool_idle_timeout", "planted-time")], "pool_idle_timeout"),
            ("s3://b", &[("pool_max_idle_per_host", "-1")], "pool_max_idle_per_host"),
            ("gs://b", &[("no_system_certificates", "perhaps")], "no_system_certificates"),
            ("https://h", &[("ca_file", "/nowhere.pem")], "/nowhere.pem"),
            ("s3://b", &[("ca_file", "Cargo.toml")], "no certificate"),
        ];
        for (url, pairs, text) in cases {
            let e = build(url, pairs).err().unwrap();
            assert!(e.message().contains(text), "{url}: {e}");
            assert!(!e.message().contains("planted"), "{url}: {e}");
        }
    }

    #[test]
    fn an_endpoint_may_end_in_a_slash() {
        let (remote, requests) = (parse("s3://b/x").unwrap(), Arc::default());
        for (path_style, expected) in [("false", "https://b.h:9"), ("true", "https://h:9"), ("auto", "https://h:9")] {
            let mut options = RemoteOptions::default();
            options.set("path_style", path_style).unwrap();
            let (env, own): (Env<'_>, _) = (&|_| None, Own::default());
            let (variables, secrets, profile) = (Vec::new(), Vec::new(), Profile::default());
            let withheld = &Withheld::default();
            let maker = Maker { remote: &remote, options: &options, requests: &requests, env, profile, variables, secrets, own, withheld };
            for endpoint in ["https://h:9", "https://h:9/"] {
                assert_eq!(maker.s3_endpoint(endpoint), expected, "{path_style} {endpoint}");
            }
        }
    }

    type Pairs = &'static [(&'static str, &'static str)];

    /// Calls `look` with what makes a client of these options in this environment.
    fn with_maker(url: &str, named: Pairs, variables: &[(&str, &str)], look: &dyn Fn(Maker<'_>)) {
        // As `client` does: another test may not have come first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (remote, requests) = (parse(url).unwrap(), Arc::default());
        let mut options = RemoteOptions::default();
        for (name, value) in named {
            if !options.set(name, value).unwrap() {
                options.set_named(name, value);
            }
        }
        let options = options.spelled(remote.service);
        let env = |key: &str| variables.iter().find(|(name, _)| *name == key).map(|(_, value)| value.to_string());
        let variables: Vec<_> = variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let withheld = Withheld::of(&remote, &options, &variables, &env);
        let all = variables.clone();
        let env = |key: &str| env(key).filter(|_| !withheld.has(key));
        let variables = variables.into_iter().filter(|(name, _)| !withheld.has(name)).collect();
        let (secrets, own) = (secrets(&remote, &options, &all, &env), Own::default());
        let profile = if remote.service == Service::S3 { profile::of(&options, &env).unwrap() } else { Profile::default() };
        look(Maker {
            remote: &remote,
            options: &options,
            requests: &requests,
            env: &env,
            profile,
            variables,
            secrets,
            own,
            withheld: &withheld,
        });
    }

    #[test]
    fn credentials_of_the_options_go_without_those_of_the_environment() {
        use AzureConfigKey::{AccessKey, ClientId, ClientSecret, SasKey};
        let variables = [
            ("AWS_ACCESS_KEY_ID", "of-env"),
            ("AWS_SECRET_ACCESS_KEY", "of-env"),
            ("AWS_SECURITY_TOKEN", "of-env"),
            ("AWS_ENDPOINT_URL_S3", "https://of.env"),
            ("AWS_REQUEST_PAYER", "true"),
            ("AZURE_STORAGE_ACCOUNT_KEY", "of-env"),
            ("AZURE_STORAGE_TOKEN", "of-env"),
            ("AZURE_CLIENT_ID", "of-env"),
            ("AZURE_CLIENT_SECRET", "of-env"),
            ("GOOGLE_SERVICE_ACCOUNT_KEY", "of-env"),
            ("GOOGLE_BASE_URL", "https://of.env"),
        ];
        let with = |url: &str, named: Pairs, look: &dyn Fn(Maker<'_>)| with_maker(url, named, &variables, look);
        let s3 = |maker: &Maker<'_>| maker.s3_builder(maker.s3_keys().as_ref());
        let s3_keys =
            [AmazonS3ConfigKey::AccessKeyId, AmazonS3ConfigKey::Token, AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::RequestPayer];
        let of = |builder: AmazonS3Builder| s3_keys.each_ref().map(|key| builder.get_config_value(key));
        let text = |text: &str| Some(text.to_string());
        let cases: [(Pairs, Option<&str>, Option<&str>); 4] = [
            (&[("access_key_id", "mine"), ("secret_access_key", "mine")], Some("mine"), None),
            (&[("aws_access_key_id", "mine"), ("aws_secret_access_key", "mine")], Some("mine"), None),
            (&[("container_credentials_full_uri", "mine"), ("container_authorization_token_file", "mine")], None, None),
            (&[], Some("of-env"), Some("of-env")),
        ];
        for (named, id, token) in cases {
            with("s3://b/x", named, &|maker| {
                assert_eq!(of(s3(&maker)), [id.and_then(text), token.and_then(text), None, text("true")], "{named:?}");
            });
        }
        let cases: [(Pairs, [Option<&str>; 4]); 4] = [
            (&[], [Some("of-env"), Some("of-env"), Some("of-env"), Some("of-env")]),
            (&[("account_key", "mine")], [None, None, None, None]),
            (&[("sas_token", "mine")], [None, None, None, None]),
            (&[("client_id", "mine")], [None, None, Some("of-env"), Some("of-env")]),
        ];
        for (named, expected) in cases {
            with("az://c/x", named, &|maker| {
                let builder = maker.azure_builder(false);
                let found = [AccessKey, AzureConfigKey::Token, ClientId, ClientSecret].map(|key| builder.get_config_value(&key));
                assert_eq!(found.each_ref().map(Option::as_deref), expected, "{named:?}");
                assert!(builder.get_config_value(&SasKey).is_none());
                assert!(maker.azure_builder(true).get_config_value(&ClientSecret).is_none(), "{named:?}: beside a token that was found");
            });
        }
        for (named, expected) in [(&[][..], Some("of-env")), (&[("service_account", "/mine")], None), (&[("bearer_token", "mine")], None)] {
            with("gs://b/x", named, &|maker| {
                let builder = maker.gcs_builder();
                assert_eq!(builder.get_config_value(&GoogleConfigKey::ServiceAccountKey).as_deref(), expected, "{named:?}");
                assert_eq!(builder.get_config_value(&GoogleConfigKey::BaseUrl).as_deref(), Some("https://of.env"));
            });
        }
    }

    #[test]
    fn requests_are_signed_by_credentials_of_any_name() {
        let keys: Pairs = &[("AWS_ACCESS_KEY_ID", "c"), ("AWS_SECRET_ACCESS_KEY", "d")];
        let azure_key: Pairs = &[("AZURE_STORAGE_ACCOUNT_KEY", "bWluZQ==")];
        let cases: [(&str, Pairs, Pairs); 9] = [
            ("s3://b/x", &[("aws_access_key_id", "a"), ("aws_secret_access_key", "b")], &[]),
            ("s3://b/x", &[("web_identity_token_file", "a"), ("role_arn", "b")], keys),
            ("abfs://c@a/x", &[("access_key", "bWluZQ==")], azure_key),
            ("abfs://c@a/x", &[("sas_key", "a=b")], &[("AZURE_STORAGE_SAS_TOKEN", "c=d")]),
            ("abfs://c@a/x", &[("token", "a")], &[("AZURE_STORAGE_CONNECTION_STRING", "AccountKey=bWluZQ==")]),
            ("abfs://c@a/x", &[("client_id", "a"), ("client_secret", "b"), ("tenant_id", "c")], azure_key),
            ("s3://b/x", &[("access_key_id", "a"), ("secret_access_key", "b")], &[("AWS_SKIP_SIGNATURE", "true")]),
            ("gs://b/x", &[("google_bearer_token", "a")], &[]),
            ("gs://b/x", &[], &[("GOOGLE_BEARER_TOKEN", "a")]),
        ];
        for (url, named, variables) in cases {
            with_maker(url, named, variables, &|maker| {
                let client = match maker.remote.service {
                    Service::S3 => maker.s3(None),
                    Service::Azure => maker.azure(),
                    _ => maker.gcs(),
                };
                let shown = format!("{:?}", client.unwrap().store);
                assert!(shown.contains("skip_signature: false"), "{url} {named:?}");
            });
        }
    }

    #[test]
    fn sources_of_credentials_that_cannot_be_used_are_told() {
        const FULL: (&str, &str) = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1");
        const FILE: (&str, &str) = ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "f");
        const OF_FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
        let cases: &[(Pairs, Pairs, Option<&str>)] = &[
            // Plain HTTP is for services of this machine.
            (&[], &[(OF_FULL, "http://h.example.org/creds"), FILE], Some(OF_FULL)),
            (&[], &[(OF_FULL, "http://localhost.example.org/creds"), FILE], Some(OF_FULL)),
            (&[], &[(OF_FULL, "http://localhost:x@example.org/creds"), FILE], Some(OF_FULL)),
            (&[], &[(OF_FULL, "http://localhost:9/creds"), FILE], None),
            (&[], &[(OF_FULL, "http://127.0.0.2:9/creds"), FILE], None),
            (&[], &[(OF_FULL, "http://169.254.170.23/v1/credentials"), FILE], None),
            (&[], &[(OF_FULL, "http://[fd00:ec2::23]/v1/credentials"), FILE], None),
            (&[], &[(OF_FULL, "https://h.example.org/creds"), FILE], None),
            // Others go before it.
            (&[], &[FULL, ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/r")], None),
            (&[], &[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "r")], Some("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")),
            (&[], &[FULL, ("AWS_WEB_IDENTITY_TOKEN_FILE", "f"), ("AWS_ROLE_ARN", "r")], None),
            (&[], &[("AWS_WEB_IDENTITY_TOKEN_FILE", "f")], Some("AWS_ROLE_ARN")),
            (&[], &[("AWS_WEB_IDENTITY_TOKEN_FILE", "f"), ("AWS_ROLE_ARN", "r")], None),
            // Such a service may ask for no token.
            (&[], &[FULL], None),
            (&[], &[FULL, ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "t")], None),
            (&[("container_credentials_full_uri", "https://h")], &[], None),
            (&[], &[(OF_FULL, "http://169.254.1.1/creds"), FILE], Some(OF_FULL)),
            (&[("container_credentials_full_uri", "https://h"), ("container_authorization_token_file", "f")], &[], None),
            (&[("container_credentials_full_uri", "http://h"), ("container_authorization_token_file", "f")], &[], Some("plain HTTP")),
            (&[("access_key_id", "a"), ("secret_access_key", "b")], &[("AWS_WEB_IDENTITY_TOKEN_FILE", "f")], None),
            (&[("metadata_endpoint", "http://h")], &[], None),
            (&[("session_token", "t")], &[("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")], Some("cloud.session_token")),
            (&[("aws_session_token", "t"), ("access_key_id", "a"), ("secret_access_key", "b")], &[], None),
        ];
        for (named, variables, expected) in cases {
            with_maker("s3://b/x", named, variables, &|maker| match (maker.s3(None), expected) {
                (Ok(client), None) => assert!(format!("{:?}", client.store).contains("skip_signature: false"), "{named:?} {variables:?}"),
                (Err(e), Some(text)) => assert!(e.to_string().contains(*text), "{e}"),
                (made, _) => panic!("{named:?} {variables:?}: {:?}", made.err()),
            });
        }
    }

    #[test]
    fn a_web_identity_goes_to_the_server_that_the_environment_names() {
        const SITE: (&str, &str) = ("AWS_ENDPOINT_URL", "https://site:9/");
        const STS: (&str, &str) = ("AWS_ENDPOINT_URL_STS", "https://sts");
        const NEAR: (&str, &str) = ("AWS_ENDPOINT_URL", "http://127.0.0.1:9");
        const PLAIN: (&str, &str) = ("AWS_ENDPOINT_URL", "http://site");
        let cases: &[(Pairs, Pairs, Option<&str>, bool)] = &[
            (&[], &[SITE], Some("https://site:9"), false),
            (&[], &[SITE, STS], Some("https://sts"), false),
            (&[("endpoint_url_sts", "https://mine")], &[SITE, STS], Some("https://mine"), false),
            (&[], &[NEAR], Some("http://127.0.0.1:9"), true),
            (&[("allow_http", "true")], &[PLAIN], Some("http://site"), true),
            (&[("endpoint", "http://127.0.0.1:9")], &[PLAIN], Some("http://site"), false),
            (&[], &[("AWS_ENDPOINT_URL_S3", "https://s3")], None, false),
            (&[], &[SITE, STS, ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")], None, false),
        ];
        for (named, variables, expected, is_plain) in cases {
            with_maker("s3://b/x", named, variables, &|mut maker| {
                let endpoint = maker.options.endpoint(maker.remote, maker.env);
                maker.client_options(endpoint.as_deref(), "AWS_ALLOW_HTTP").unwrap();
                let mut builder = maker.s3_builder(None);
                for (name, value) in maker.others(&["endpoint"]) {
                    builder = builder.with_config(name.parse().unwrap(), value);
                }
                let found = builder.get_config_value(&AmazonS3ConfigKey::StsEndpoint);
                assert_eq!((found.as_deref(), maker.own.tokens_near), (*expected, *is_plain), "{named:?} {variables:?}");
            });
        }
    }

    #[test]
    fn who_wants_no_signature_needs_no_usable_credentials() {
        let folder = crate::store::suite::TestFolder::new("skip-signature");
        std::fs::create_dir_all(&*folder).unwrap();
        let config = folder.join("config");
        std::fs::write(&config, "[default]\nsso_session = s\n[profile place]\nregion = r\nendpoint_url = http://127.0.0.1:9\n").unwrap();
        let file = ("AWS_CONFIG_FILE", config.to_str().unwrap());
        let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];
        let (skip, of_env): (Pairs, _) = (&[("skip_signature", "True")], ("AWS_SKIP_SIGNATURE", "yes"));
        // This profile only says where the server is.
        let place: Pairs = &[("profile", "place")];
        for (named, variables) in
            [(skip, vec![file]), (&[], vec![file, of_env]), (&[], vec![keys[0], keys[1], of_env]), (place, vec![file, of_env])]
        {
            with_maker("s3://b/x", named, &variables, &|maker| {
                let client = maker.s3(None).unwrap_or_else(|e| panic!("{named:?} {variables:?}: {e}"));
                let told = format!("{:?}", client.store);
                assert!(told.contains("skip_signature: true") && !client.found_no_credentials, "{named:?} {variables:?}");
            });
        }
    }

    #[test]
    fn a_web_identity_of_the_environment_goes_before_the_keys_of_a_profile_that_no_option_names() {
        let folder = crate::store::suite::TestFolder::new("web-identity-first");
        std::fs::create_dir_all(&*folder).unwrap();
        let config = folder.join("config");
        std::fs::write(&config, "[default]\naws_access_key_id = of-file\naws_secret_access_key = of-file\n").unwrap();
        let file = ("AWS_CONFIG_FILE", config.to_str().unwrap());
        let identity = [("AWS_WEB_IDENTITY_TOKEN_FILE", "f"), ("AWS_ROLE_ARN", "r")];
        let keys = [("AWS_ACCESS_KEY_ID", "of-env"), ("AWS_SECRET_ACCESS_KEY", "of-env")];
        let sign_on = folder.join("sign-on");
        std::fs::write(&sign_on, "[default]\nsso_account_id = 1\n").unwrap();
        let sign_on = ("AWS_CONFIG_FILE", sign_on.to_str().unwrap());
        const CONTAINER: (&str, &str) = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/r");
        // What only AWS's own tools can get goes before the container's credentials, which are another identity's.
        for (named, variables, is_refused) in [
            (&[][..], vec![sign_on, CONTAINER], true),
            (&[], vec![sign_on, CONTAINER, identity[0], identity[1]], false),
            (&[("container_credentials_relative_uri", "/r")], vec![sign_on], false),
        ] {
            with_maker("s3://b/x", named, &variables, &|maker| {
                let told = maker.s3(None).err().map(|e| e.to_string()).unwrap_or_default();
                assert_eq!(told.contains("sso_account_id"), is_refused, "{named:?} {variables:?}: {told:?}");
            });
        }
        for (named, variables, expected) in [
            (&[][..], vec![file], Some("of-file")),
            (&[], vec![file, identity[0], identity[1]], None),
            (&[], vec![file, identity[0]], Some("of-file")),
            (&[], vec![file, identity[0], identity[1], keys[0], keys[1]], Some("of-env")),
            (&[("profile", "default")], vec![file, identity[0], identity[1]], Some("of-file")),
        ] {
            with_maker("s3://b/x", named, &variables, &|maker| {
                let found = maker.s3(None).unwrap().keys;
                assert_eq!(found.as_ref().map(|(id, ..)| id.as_str()), expected, "{named:?} {variables:?}");
            });
        }
    }

    #[test]
    fn a_named_profile_goes_before_the_keys_of_the_environment_even_without_keys() {
        let folder = crate::store::suite::TestFolder::new("profile-without-keys");
        std::fs::create_dir_all(&*folder).unwrap();
        let config = folder.join("config");
        std::fs::write(&config, "[default]\nregion = r\n[profile p]\nregion = r\n").unwrap();
        let file = ("AWS_CONFIG_FILE", config.to_str().unwrap());
        let keys = [("AWS_ACCESS_KEY_ID", "of-env"), ("AWS_SECRET_ACCESS_KEY", "of-env")];
        const OWN: Pairs = &[("profile", "p"), ("access_key_id", "a"), ("secret_access_key", "b")];
        for (named, variables, is_refused) in [
            (&[("profile", "p")][..], vec![file, keys[0], keys[1]], true),
            (&[("profile", "p")], vec![file], true),
            (&[("profile", "p"), ("anonymous", "true")], vec![file, keys[0], keys[1]], false),
            (OWN, vec![file, keys[0], keys[1]], false),
            (&[], vec![file, keys[0], keys[1], ("AWS_PROFILE", "p")], false),
            (&[("profile", "p")], vec![file, ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/r")], false),
        ] {
            // The service of the machine may give credentials.
            let is_refused = is_refused && !runs_on("Amazon EC2");
            with_maker("s3://b/x", named, &variables, &|maker| match maker.s3(None) {
                Ok(_) => assert!(!is_refused, "{named:?} {variables:?}"),
                Err(e) => {
                    let has_keys = variables.contains(&keys[0]);
                    let text = if has_keys { "no keys; those of the environment" } else { "no keys; \"cloud.anonymous\"" };
                    assert!(is_refused && e.to_string().contains(text), "{named:?} {variables:?}: {e}");
                }
            });
        }
    }

    /// The region, variables, and where S3 and the service of tokens are.
    #[test]
    fn hosts_of_aws_are_those_of_the_partition() {
        const FIPS: (&str, &str) = ("AWS_USE_FIPS_ENDPOINT", "true");
        const DUAL: (&str, &str) = ("AWS_USE_DUALSTACK_ENDPOINT", "TRUE");
        let cases: [(&str, Pairs, &str, &str); 14] = [
            ("eu-north-1", &[], "s3.eu-north-1.amazonaws.com", ""),
            ("us-gov-west-1", &[], "s3.us-gov-west-1.amazonaws.com", ""),
            ("cn-north-1", &[], "s3.cn-north-1.amazonaws.com.cn", "https://sts.cn-north-1.amazonaws.com.cn"),
            ("us-iso-east-1", &[], "s3.us-iso-east-1.c2s.ic.gov", "https://sts.us-iso-east-1.c2s.ic.gov"),
            ("us-isob-east-1", &[], "s3.us-isob-east-1.sc2s.sgov.gov", "https://sts.us-isob-east-1.sc2s.sgov.gov"),
            ("us-isof-south-1", &[], "s3.us-isof-south-1.csp.hci.ic.gov", "https://sts.us-isof-south-1.csp.hci.ic.gov"),
            ("eu-isoe-west-1", &[], "s3.eu-isoe-west-1.cloud.adc-e.uk", "https://sts.eu-isoe-west-1.cloud.adc-e.uk"),
            ("eusc-de-east-1", &[], "s3.eusc-de-east-1.amazonaws.eu", "https://sts.eusc-de-east-1.amazonaws.eu"),
            ("us-east-2", &[FIPS], "s3-fips.us-east-2.amazonaws.com", "https://sts-fips.us-east-2.amazonaws.com"),
            ("us-east-2", &[DUAL], "s3.dualstack.us-east-2.amazonaws.com", "https://sts.us-east-2.api.aws"),
            ("us-gov-west-1", &[FIPS], "s3-fips.us-gov-west-1.amazonaws.com", "https://sts.us-gov-west-1.amazonaws.com"),
            ("us-gov-west-1", &[FIPS, DUAL], "s3-fips.dualstack.us-gov-west-1.amazonaws.com", "https://sts-fips.us-gov-west-1.api.aws"),
            ("cn-north-1", &[DUAL], "s3.dualstack.cn-north-1.amazonaws.com.cn", "https://sts.cn-north-1.api.amazonwebservices.com.cn"),
            ("us-east-2", &[("AWS_USE_FIPS_ENDPOINT", "false")], "s3.us-east-2.amazonaws.com", ""),
        ];
        for (region, variables, host, sts) in cases {
            let variables = [variables, &[("AWS_REGION", region)]].concat();
            let told = |named: Pairs| {
                let mut told = String::new();
                let found = std::cell::RefCell::new(&mut told);
                with_maker("s3://b/x", named, &variables, &|maker| **found.borrow_mut() = format!("{:?}", maker.s3(None).unwrap().store));
                told
            };
            assert!(told(&[]).contains(&format!("\"https://{host}/b\"")), "{region} {variables:?}: {}", told(&[]));
            assert!(told(&[("path_style", "false")]).contains(&format!("\"https://b.{host}\"")), "{region} {variables:?}");
            let identity = told(&[("web_identity_token_file", "f"), ("role_arn", "r")]);
            assert!(identity.contains(if sts.is_empty() { "https://sts." } else { sts }), "{region}: {identity}");
            let own = told(&[("web_identity_token_file", "f"), ("role_arn", "r"), ("endpoint_url_sts", "https://own.sts")]);
            assert!(own.contains("https://own.sts"), "{region}: {own}");
            let there = told(&[("endpoint", "https://site:9")]);
            assert!(there.contains("\"https://site:9/b\""), "{region}: {there}");
        }
    }

    /// What the file of a profile says, variables, the host of S3, and that of the service of tokens.
    #[test]
    fn hosts_of_aws_are_those_that_a_profile_chooses() {
        const US: &str = "amazonaws.com";
        let cases: [(&str, Pairs, String, String); 10] = [
            ("use_fips_endpoint = true\n", &[], format!("s3-fips.us-east-2.{US}"), format!("sts-fips.us-east-2.{US}")),
            (
                "use_fips_endpoint = True\n",
                &[("AWS_USE_FIPS_ENDPOINT", "false")],
                format!("s3.us-east-2.{US}"),
                format!("sts.us-east-2.{US}"),
            ),
            ("use_dualstack_endpoint=TRUE\n", &[], format!("s3.dualstack.us-east-2.{US}"), "sts.us-east-2.api.aws".to_string()),
            ("s3 =\n  use_dualstack_endpoint = true\n", &[], format!("s3.dualstack.us-east-2.{US}"), format!("sts.us-east-2.{US}")),
            ("sts =\n  use_dualstack_endpoint = true\n", &[], format!("s3.us-east-2.{US}"), format!("sts.us-east-2.{US}")),
            ("endpoint_url = https://site\n", &[], "site".to_string(), "site".to_string()),
            ("services = s\n[services s]\nsts =\n  endpoint_url = https://site\n", &[], format!("s3.us-east-2.{US}"), "site".to_string()),
            ("endpoint_url = https://site\n", &[("AWS_ENDPOINT_URL", "https://env")], "env".to_string(), "env".to_string()),
            ("endpoint_url = https://site\n", &[("AWS_ENDPOINT_URL_S3", "https://env")], "env".to_string(), "site".to_string()),
            (
                "endpoint_url = https://site\n",
                &[("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")],
                format!("s3.us-east-2.{US}"),
                format!("sts.us-east-2.{US}"),
            ),
        ];
        let folder = crate::store::suite::TestFolder::new("hosts-of-a-profile");
        std::fs::create_dir_all(&*folder).unwrap();
        let config = folder.join("config");
        for (text, variables, host, sts) in &cases {
            std::fs::write(&config, format!("[default]\nregion = us-east-2\n{text}")).unwrap();
            let named: Pairs = &[("web_identity_token_file", "f"), ("role_arn", "r")];
            with_maker("s3://b/x", named, &[variables, &[("AWS_CONFIG_FILE", config.to_str().unwrap())][..]].concat(), &|maker| {
                let told = format!("{:?}", maker.s3(None).unwrap().store);
                assert!(told.contains(&format!("\"https://{host}/b\"")), "{text:?} {variables:?}: {told}");
                assert!(told.contains(&format!("\"https://{sts}\"")), "{text:?} {variables:?}: {told}");
            });
        }
    }

    #[test]
    fn what_names_a_wrong_endpoint_is_told() {
        for (url, named, variable, by) in [
            ("s3://b", &[][..], ("AWS_ENDPOINT_URL", "planted:9"), "AWS_ENDPOINT_URL is no URL"),
            ("s3://b", &[], ("AWS_ENDPOINT_URL_S3", "http://planted h"), "AWS_ENDPOINT_URL_S3 is no URL"),
            ("az://c", &[("account_name", "a")], ("AZURE_STORAGE_ENDPOINT", "planted:9"), "AZURE_STORAGE_ENDPOINT is no URL"),
            ("gs://b", &[], ("GOOGLE_BASE_URL", "planted:9"), "GOOGLE_BASE_URL is no URL"),
            ("gs://b", &[], ("STORAGE_EMULATOR_HOST", "planted h:9"), "STORAGE_EMULATOR_HOST is no URL"),
        ] {
            with_maker(url, named, &[variable], &|maker| {
                let made = match maker.remote.service {
                    Service::S3 => maker.s3(None),
                    Service::Azure => maker.azure(),
                    _ => maker.gcs(),
                };
                let e = made.err().unwrap_or_else(|| panic!("{variable:?} is taken"));
                assert!(e.to_string().contains(by) && !e.to_string().contains("planted"), "{variable:?}: {e}");
            });
        }
    }

    /// Variables, and whether a request goes to the emulator, and is signed.
    #[test]
    fn an_emulator_that_the_environment_names_is_asked() {
        const NEAR: &str = "http://127.0.0.1:4443";
        const TOKEN: (&str, &str) = ("GOOGLE_BEARER_TOKEN", "t");
        let cases: [(&str, Pairs, Pairs, &str, bool); 8] = [
            ("gs://b/x", &[], &[("STORAGE_EMULATOR_HOST", "127.0.0.1:4443")], NEAR, false),
            ("gs://b/x", &[], &[("STORAGE_EMULATOR_HOST", "http://127.0.0.1:4443"), TOKEN], NEAR, false),
            ("gs://b/x", &[("bearer_token", "t")], &[("STORAGE_EMULATOR_HOST", NEAR)], NEAR, true),
            ("gs://b/x", &[], &[("GOOGLE_BASE_URL", NEAR), TOKEN], NEAR, true),
            ("gs://b/x", &[], &[("GOOGLE_BASE_URL", NEAR), ("STORAGE_EMULATOR_HOST", "h:1"), TOKEN], NEAR, true),
            ("gs://b/x", &[("endpoint", "https://h:9")], &[("STORAGE_EMULATOR_HOST", NEAR), TOKEN], "https://h:9", true),
            ("az://c/x", &[], &[("AZURE_STORAGE_USE_EMULATOR", "true")], "http://127.0.0.1:10000", true),
            ("az://c/x", &[("use_emulator", "true")], &[], "http://127.0.0.1:10000", true),
        ];
        for (url, named, variables, place, is_signed) in cases {
            with_maker(url, named, variables, &|maker| {
                let client = if maker.remote.service == Service::Azure { maker.azure() } else { maker.gcs() };
                let client = client.unwrap_or_else(|e| panic!("{named:?} {variables:?}: {e}"));
                let told = format!("{:?}", client.store).replace("port: Some(10000)", "http://127.0.0.1:10000");
                assert!(
                    told.contains(place) && told.contains(&format!("skip_signature: {}", !is_signed)),
                    "{named:?} {variables:?}: {told}"
                );
            });
        }
    }

    #[test]
    fn the_folder_of_googles_tools_may_be_another_one() {
        const OF_USER: &str = r#"{"type":"authorized_user","client_id":"NAME","client_secret":"s","refresh_token":"r"}"#;
        let folder = crate::store::suite::TestFolder::new("cloudsdk");
        let (home, other, none) = (folder.join("home"), folder.join("other"), folder.join("none"));
        let usual = home.join(".config/gcloud");
        for (place, name) in [(&usual, "of-home"), (&other, "of-folder")] {
            std::fs::create_dir_all(place).unwrap();
            std::fs::write(place.join("application_default_credentials.json"), OF_USER.replace("NAME", name)).unwrap();
        }
        let home = ("HOME", home.to_str().unwrap());
        for (place, finds) in [(&other, true), (&none, runs_on("Google"))] {
            with_maker("gs://b/x", &[], &[home, ("CLOUDSDK_CONFIG", place.to_str().unwrap())], &|maker| {
                let client = maker.gcs().unwrap();
                assert_eq!(client.found_no_credentials, !finds, "{place:?}");
                let told = format!("{:?}", client.store);
                assert!(!told.contains("of-home") && (told.contains("of-folder") || place == &none), "{place:?}: {told}");
            });
        }
    }

    #[test]
    fn no_message_shows_what_a_file_of_credentials_has() {
        let folder = crate::store::suite::TestFolder::new("gs-key-text");
        std::fs::create_dir_all(&*folder).unwrap();
        let file = folder.join("key.json");
        let far = r#"{"private_key": "k", "private_key_id": "i", "client_email": "planted", "gcs_base_url": "http://planted.org", "disable_oauth": true}"#;
        std::fs::write(&file, far).unwrap();
        for (named, is_refused) in [(&[][..], true), (&[("allow_http", "true")], false)] {
            let made = build("gs://b", &[&[("service_account", file.to_str().unwrap())], named].concat());
            let told = made.err().map(|e| e.to_string()).unwrap_or_default();
            assert!(told.contains("plain HTTP") == is_refused && !told.contains("planted"), "{named:?}: {told:?}");
        }
        std::fs::write(&file, far.replace("http://planted.org", "http://127.0.0.1:9")).unwrap();
        let near = build("gs://b", &[("service_account", file.to_str().unwrap())]).unwrap();
        assert!(format!("{:?}", near.store).contains("allow_http: Parsed(true)"), "this machine may be asked in plain HTTP");
        for text in ["\"planted\"", "\"a \\\"planted\\\" b\"", r#"{"private_key": "k", "private_key_id": {"planted": 1}}"#] {
            std::fs::write(&file, text).unwrap();
            for name in ["service_account", "application_credentials"] {
                let e = build("gs://b", &[(name, file.to_str().unwrap())]).err().unwrap();
                assert!(!e.to_string().contains("planted"), "{name}: {e}");
            }
        }
    }

    #[test]
    fn a_user_without_a_password_is_sent_with_a_colon() {
        for (url, expected) in [
            ("https://TOKEN@h/x", Some("Basic VE9LRU46")),
            ("https://TOKEN:@h/x", Some("Basic VE9LRU46")),
            ("https://u:w@h/x", Some("Basic dTp3")),
            ("https://u%3Aw@h/x", Some("Basic dTp3Og==")),
            ("https://h/x", None),
        ] {
            with_maker(url, &[], &[], &|maker| assert_eq!(maker.authorization().unwrap().as_deref(), expected, "{url}"));
        }
    }

    #[test]
    fn no_message_names_a_part_of_the_password_of_a_proxy() {
        use super::super::client::proxy_hint;
        for url in [
            "http://us:planted@h:9",
            "http://us:planted/word@h:9",
            "http://us:a/planted@h:9/",
            "us:planted@h:9",
            "socks5://u:p/planted@h:9",
        ] {
            let env = |key: &str| (key == "HTTPS_PROXY").then(|| url.to_string());
            for told in [proxy_hint(Some(url), &|_| None), proxy_hint(None, &env)] {
                assert!(told.contains("h:9") && !told.contains("planted") && !told.contains("us"), "{url}: {told}");
            }
        }
    }

    #[test]
    fn keys_of_azure_in_the_environment_are_for_the_account_and_the_hosts_that_it_names() {
        const ACCOUNT: (&str, &str) = ("AZURE_STORAGE_ACCOUNT_NAME", "a");
        const SECRETS: [(&str, &str); 4] = [
            ("AZURE_STORAGE_SAS_TOKEN", "sig=planted"),
            ("AZURE_STORAGE_TOKEN", "planted"),
            ("AZURE_STORAGE_KEY", "a2V5"),
            ("AZURE_STORAGE_ACCOUNT_KEY", "a2V5"),
        ];
        const PROGRAM: [(&str, &str); 3] = [("AZURE_CLIENT_ID", "i"), ("AZURE_CLIENT_SECRET", "planted"), ("AZURE_TENANT_ID", "t")];
        const ENDPOINT: (&str, &str) = ("AZURE_STORAGE_ENDPOINT", "https://a.blob.example.org");
        // The location, the options, what the environment names, and whether it gives its keys, and tokens for a program.
        const CHINA: (&str, &str) = ("AZURE_STORAGE_ENDPOINT", "https://a.blob.core.chinacloudapi.cn/");
        const SECOND: (&str, &str) = ("AZURE_STORAGE_ACCOUNT", "a-secondary");
        const FRONT: (&str, &str) = ("AZURE_STORAGE_ENDPOINT", "https://data.example.org:443/");
        let cases: &[(&str, Pairs, Pairs, bool, bool)] = &[
            ("az://c/x", &[], &[ACCOUNT], true, true),
            ("abfs://c@a/x", &[], &[ACCOUNT], true, true),
            ("abfs://c@A.dfs.core.windows.net/x", &[], &[ACCOUNT], true, true),
            ("abfs://c@a-secondary.blob.core.windows.net/x", &[], &[ACCOUNT], true, true),
            ("abfs://c@a.dfs.core.chinacloudapi.cn/x", &[], &[ACCOUNT], true, true),
            ("abfs://c@a.blob.example.org/x", &[], &[ACCOUNT, ENDPOINT], true, true),
            ("abfs://c@a.blob.example.org/x", &[], &[ENDPOINT], true, true),
            ("abfs://c@a.blob.example.org/x", &[("endpoint", "https://h")], &[ACCOUNT], true, true),
            // The account has a name of its own for its host.
            ("abfs://c@data.example.org/x", &[], &[ACCOUNT, FRONT], true, true),
            ("abfs://c@data.example.org/x", &[], &[FRONT], true, true),
            // Nobody says whose keys they are; tokens for a program are Azure's.
            ("abfs://c@other.example.org/x", &[], &[], false, false),
            ("abfs://c@a.example.org/x", &[("account_name", "a")], &[], false, false),
            ("abfs://c@other/x", &[("account_name", "a")], &[], false, true),
            ("abfs://c@other.example.org/x", &[("endpoint", "https://h")], &[], true, true),
            ("abfs://c@other/x", &[], &[], true, true),
            ("abfs://c@other/x", &[], &[ACCOUNT], false, true),
            ("abfs://c@other/x", &[], &[("AZURE_STORAGE_ACCOUNT", "a")], false, true),
            ("abfs://c@other.dfs.core.windows.net/x", &[], &[ACCOUNT], false, true),
            ("az://c/x", &[("account_name", "other")], &[ACCOUNT], false, true),
            ("az://c/x", &[("account_name", "a")], &[ACCOUNT], true, true),
            ("az://c/x", &[("account_name", "other"), ("endpoint", "https://h")], &[ACCOUNT], false, true),
            // Another cloud's accounts may be somebody else's.
            ("abfs://c@a.dfs.core.windows.net/x", &[], &[ACCOUNT, CHINA], false, true),
            ("abfs://c@a.dfs.core.chinacloudapi.cn/x", &[], &[ACCOUNT, CHINA], true, true),
            ("abfs://c@a/x", &[], &[ACCOUNT, CHINA], true, true),
            // The second place has a name of its own.
            ("abfs://c@a/x", &[], &[SECOND], true, true),
            ("abfs://c@a-secondary/x", &[], &[SECOND], true, true),
            ("az://c/x", &[], &[SECOND], true, true),
            ("abfs://c@other/x", &[("account_name", "other")], &[ACCOUNT], false, true),
            ("abfs://c@other.example.org/x", &[], &[ACCOUNT], false, false),
            ("abfs://c@a.example.org/x", &[], &[ACCOUNT], false, false),
            ("abfs://c@a.example.org/x", &[("azure_client_id", "i")], &[ACCOUNT], false, false),
            ("abfs://c@a.blob.core.windows.net.example.org/x", &[], &[ACCOUNT], false, false),
            ("abfs://c@b.blob.example.org/x", &[], &[ENDPOINT], false, false),
        ];
        for ((url, named, names, gives_keys, gives_tokens), secret) in cases.iter().flat_map(|case| SECRETS.map(|secret| (case, secret))) {
            // Who may have a token for all accounts is another question than who may have one account's key.
            let gives = if secret.0 == "AZURE_STORAGE_TOKEN" { *gives_tokens } else { *gives_keys };
            let is_signed = gives || runs_on("Microsoft Corporation") && *gives_tokens;
            with_maker(url, named, &[*names, &[secret]].concat(), &|maker| {
                let client = maker.azure().unwrap();
                let told = format!("{:?}", client.store);
                let found = (told.contains("skip_signature: false"), client.withholds);
                assert_eq!(found, (is_signed, !is_signed), "{url} {named:?} {names:?} {secret:?}");
            });
            with_maker(url, named, &[*names, &PROGRAM, &[SECRETS[2]][..if *gives_keys { 0 } else { 1 }]].concat(), &|maker| {
                let client = maker.azure().unwrap();
                let told = format!("{:?}", client.store);
                assert_eq!(
                    (told.contains("skip_signature: false"), client.withholds),
                    (*gives_tokens, !gives_tokens),
                    "{url} {named:?} {names:?}"
                );
            });
        }
        // The setting that chooses a secret goes with it.
        with_maker("abfs://c@other.example.org/x", &[], &[ACCOUNT, SECRETS[0], ("AZURE_CREDENTIAL_TYPE", "sas_token")], &|maker| {
            let client = maker.azure().unwrap();
            assert!(format!("{:?}", client.store).contains("skip_signature: true") && client.withholds);
        });
        with_maker("abfs://c@other/x", &[], &[ACCOUNT, SECRETS[0], ("AZURE_CREDENTIAL_TYPE", "sas_token")], &|maker| {
            assert!(maker.azure().is_ok());
        });
        // What the options give is given to whom they name.
        with_maker("abfs://c@other/x", &[("sas_token", "sig=mine")], &[ACCOUNT, SECRETS[0]], &|maker| {
            let client = maker.azure().unwrap();
            assert!(format!("{:?}", client.store).contains("skip_signature: false") && !client.withholds);
        });
    }

    #[test]
    fn what_a_server_tells_shows_no_secret_of_the_environment() {
        let rows: [(&str, &str, &str, &str); 11] = [
            ("https://h/x?Expires=1&Signature=planted%2Fsig", "", "", "the signature planted/sig"),
            ("abfs://c@a/x", "AZURE_STORAGE_TOKEN", "planted-token", "bad header Bearer planted-token"),
            ("abfs://c@a/x", "AZURE_CLIENT_SECRET", "planted-word", "client_secret=planted-word"),
            ("abfs://c@a/x", "AZURE_STORAGE_KEY", "planted-key", "planted-key"),
            ("abfs://c@a/x", "AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=planted%2Fsig", "https://h/?sv=1&amp;sig=planted%2Fsig"),
            ("abfs://c@a/x", "AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=planted%2Fsig", "the signature planted/sig"),
            ("abfs://c@a/x", "AZURE_STORAGE_CONNECTION_STRING", "AccountName=a;SharedAccessSignature=sv=1&sig=planted", "sig=planted"),
            ("gs://b/x", "GOOGLE_BEARER_TOKEN", "planted-token", "bad header Bearer planted-token"),
            ("s3://b/x", "AWS_TOKEN", "planted-token", "planted-token"),
            ("s3://b/x", "AWS_SECRET_ACCESS_KEY", "planted-key", "planted-key"),
            // The text of an answer is cut.
            ("s3://b/x", "AWS_SESSION_TOKEN", "planted-token-that-is-rather-long", "the token planted-token-that-is-ra"),
        ];
        for (url, name, value, text) in rows {
            with_maker(url, &[], &[(name, value)], &|maker| {
                let told = redacted(text.to_string(), &maker.secrets);
                assert!(told.contains("***") && !told.contains("planted"), "{name}: {told}");
            });
        }
    }

    #[test]
    fn a_key_signs_for_the_account_whichever_of_its_places_is_named() {
        const KEY: Pairs = &[("AZURE_STORAGE_ACCOUNT_NAME", "acct"), ("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")];
        const STRING: Pairs = &[("AZURE_STORAGE_CONNECTION_STRING", "AccountName=acct;AccountKey=a2V5;EndpointSuffix=core.windows.net")];
        let cases = ["abfs://c@acct-secondary/x", "abfs://c@acct-secondary.dfs.core.windows.net/x", "abfs://c@acct/x"];
        for (url, variables) in cases.iter().flat_map(|url| [KEY, STRING].map(|variables| (url, variables))) {
            with_maker(url, &[], variables, &|maker| {
                let told = format!("{:?}", maker.azure().unwrap().store);
                let host = if url.contains("secondary") { "acct-secondary.blob" } else { "acct.blob" };
                assert!(told.contains("account: \"acct\"") && told.contains(host), "{url} {variables:?}: {told}");
                assert!(told.contains("skip_signature: false"), "{url} {variables:?}: {told}");
            });
        }
    }

    #[test]
    fn the_host_that_a_location_names_is_asked() {
        const CHINA: (&str, &str) = ("AZURE_STORAGE_ENDPOINT", "https://a.blob.core.chinacloudapi.cn/");
        for (url, host) in
            [("abfs://c@a.dfs.core.windows.net/x", "a.blob.core.windows.net"), ("abfs://c@a/x", "a.blob.core.chinacloudapi.cn")]
        {
            with_maker(url, &[], &[CHINA], &|maker| {
                let told = format!("{:?}", maker.azure().unwrap().store);
                assert!(told.contains(&format!("Domain({host:?})")), "{url}");
            });
        }
    }

    #[test]
    fn a_connection_string_of_another_account_is_told_to_be_kept_back() {
        const STRING: &[(&str, &str)] = &[("AZURE_STORAGE_CONNECTION_STRING", "AccountName=a;AccountKey=a2V5")];
        for (url, variables, withholds) in [
            ("abfs://c@a/x", STRING, false),
            ("abfs://c@other/x", STRING, !runs_on("Microsoft Corporation")),
            ("abfs://c@other/x", &[], false),
        ] {
            with_maker(url, &[], variables, &|maker| assert_eq!(maker.azure().unwrap().withholds, withholds, "{url} {variables:?}"));
        }
    }

    #[test]
    fn another_host_gets_no_token_of_this_machine() {
        const ASKED: [Pairs; 5] = [
            &[("anonymous", "false")],
            &[("skip_signature", "false")],
            &[("azure_client_id", "i")],
            &[("use_azure_cli", "true")],
            &[("credential_type", "managed_identity")],
        ];
        for (named, names) in
            ASKED.into_iter().flat_map(|named| [&[][..], &[("AZURE_STORAGE_ACCOUNT_NAME", "a")]].map(|names| (named, names)))
        {
            for key in [&[][..], &[("AZURE_MSI_ENDPOINT", "https://h")], &[("IDENTITY_ENDPOINT", "https://h")]] {
                with_maker("abfs://c@a.example.org/x", named, &[names, key].concat(), &|maker| {
                    let told = format!("{:?}", maker.azure().unwrap().store);
                    assert!(told.contains("skip_signature: true"), "{named:?} {names:?} {key:?}");
                });
            }
        }
        with_maker("abfs://c@a/x", &[("anonymous", "false")], &[], &|maker| {
            assert!(format!("{:?}", maker.azure().unwrap().store).contains("skip_signature: false"));
        });
    }

    #[test]
    fn what_the_tool_of_azure_gives_is_asked_for() {
        const ACCOUNT: (&str, &str) = ("account_name", "a");
        let cases: [(Pairs, Pairs, bool); 4] = [
            (&[ACCOUNT, ("use_azure_cli", "true")], &[], true),
            (&[ACCOUNT], &[("AZURE_USE_AZURE_CLI", "true")], true),
            (&[ACCOUNT], &[("AZURE_USE_AZURE_CLI", "false")], false),
            (&[ACCOUNT], &[], false),
        ];
        for (named, variables, is_signed) in cases.into_iter().filter(|_| !runs_on("Microsoft Corporation")) {
            with_maker("az://c/x", named, variables, &|maker| {
                let client = maker.azure().unwrap();
                let told = format!("{:?}", client.store);
                assert_eq!(
                    (told.contains("skip_signature: false"), !client.found_no_credentials),
                    (is_signed, is_signed),
                    "{named:?} {variables:?}"
                );
            });
        }
    }

    #[test]
    fn what_no_header_can_have_is_refused_before_a_request_is_made() {
        const OF_S3: Pairs = &[("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];
        const ID: Pairs = &[("AWS_ACCESS_KEY_ID", "id\n"), OF_S3[1]];
        const TOKEN: Pairs = &[OF_S3[0], OF_S3[1], ("AWS_SESSION_TOKEN", "token\n")];
        let cases: [(&str, Pairs, Pairs, &str); 8] = [
            ("s3://b/x", &[], TOKEN, "the session token"),
            ("s3://b/x", &[], ID, "the access key"),
            ("s3://b/x", &[("region", "us east\n")], OF_S3, "the region"),
            ("s3://b/x", &[("access_key_id", "caf\u{e9}"), ("secret_access_key", "b")], &[], "the access key"),
            ("abfs://c@a/x", &[("bearer_token", "planted\r")], &[], "the bearer token"),
            ("abfs://c@a/x", &[], &[("AZURE_STORAGE_TOKEN", "planted\n")], "the bearer token"),
            ("gs://b/x", &[("bearer_token", "planted\n")], &[], "the bearer token"),
            ("https://h/x", &[("bearer_token", "planted\n")], &[], "the bearer token"),
        ];
        for (url, named, variables, what) in cases {
            with_maker(url, named, variables, &|maker| {
                let client = match maker.remote.service {
                    Service::S3 => maker.s3(None),
                    Service::Azure => maker.azure(),
                    Service::Gcs => maker.gcs(),
                    Service::Http => maker.http(),
                };
                let e = client.err().unwrap_or_else(|| panic!("{named:?} {variables:?}: is not refused"));
                assert!(e.kind() == ErrorKind::Argument && e.to_string().contains(what), "{named:?} {variables:?}: {e}");
                assert!(!e.to_string().contains("planted"), "{e}");
            });
        }
    }

    #[test]
    fn clients_are_made_without_a_network() {
        let keys = [("access_key_id", "planted-id"), ("secret_access_key", "planted-secret")];
        let client = build("s3://b/x", &keys).unwrap();
        assert_eq!((client.conditional, client.secrets.len() >= 2), (Some(true), true));
        assert!(
            build("s3://b/x", &[("anonymous", "true"), ("path_style", "false"), ("endpoint", "http://localhost:1")])
                .unwrap()
                .conditional
                .is_none()
        );
        assert!(build("gs://b/x", &[("anonymous", "true")]).is_ok());
        assert!(build("abfs://c@account.dfs.core.windows.net/x", &[("anonymous", "true")]).is_ok());
        assert!(build("https://user:word@h/x?sig=1", &[]).unwrap().parts.is_none());
        let proxy = build("https://h", &[("proxy", "http://planted%2Duser:planted-word@h:1")]).unwrap();
        assert!(["planted-user", "planted%2Duser", "planted-word"].iter().all(|text| proxy.secrets.iter().any(|secret| secret == text)));
        for (url, is_near) in [
            ("http://127.0.0.1:9000/x", true),
            ("http://localhost", true),
            ("http://[::1]:9/x", true),
            ("http://us:word@localhost:9/x", true),
            ("http://localhost.evil.org", false),
            ("http://localhost:x@evil.org", false),
            ("http://localhost:80@evil.org/x", false),
            ("http://evil.org/@localhost", false),
        ] {
            assert_eq!(is_loopback(url), is_near, "{url}");
        }
    }
}
