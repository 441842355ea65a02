//! Which settings are credentials, which of them no message may hold, and which no header can.

use crate::error::{Result, bail};
use crate::store::azure::of_connection;
use crate::store::remote::{Env, Remote, RemoteOptions, Service, percent_decode, signatures};
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::client::ClientConfigKey;
use object_store::gcp::GoogleConfigKey;

/// Settings that go into headers as they are, and how messages name them.
pub(super) const IN_HEADERS_OF_S3: [(AmazonS3ConfigKey, &str); 3] = [
    (AmazonS3ConfigKey::AccessKeyId, "the access key"),
    (AmazonS3ConfigKey::Token, "the session token"),
    (AmazonS3ConfigKey::Region, "the region"),
];

pub(super) const IN_HEADERS_OF_AZURE: [(AzureConfigKey, &str); 2] =
    [(AzureConfigKey::Token, "the bearer token"), (AzureConfigKey::AccountName, "the account")];

/// The least length of a secret: shorter texts could not be told from words.
const LEAST: usize = 6;
/// So much of the beginning of a secret is one, where the text of a server is cut.
const BEGINNING: usize = 16;

/// Credentials of the options, the location and the environment, of which `variables` are all.
pub(super) fn secrets(remote: &Remote, options: &RemoteOptions, variables: &[(String, String)], env: Env<'_>) -> Vec<String> {
    const PUBLIC: &[&str] = &["endpoint", "region", "account_name", "service_account", "ca_file", "user_agent"];
    const PROXIES: &[&str] = &["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    // Places, of which user and password are looked for below.
    const PLACES: &[&str] = &["endpoint", "proxy", "_file", "host", "tenant"];
    let is_public = |name: &str| PUBLIC.contains(&name) || PLACES.iter().any(|part| name.contains(part));
    let named = options.named.iter().filter(|(name, _)| !is_public(name));
    let mut all: Vec<String> = named.map(|(_, value)| value.expose().to_string()).collect();
    for secret in [&remote.user, &remote.query].into_iter().flatten() {
        all.push(secret.expose().to_string());
        all.extend(secret.expose().split([':', '&', '=']).map(str::to_string));
    }
    all.extend(variables.iter().filter(|(name, _)| is_secret_variable(name)).map(|(_, value)| value.clone()));
    all.extend(["AccountKey", "SharedAccessSignature"].iter().filter_map(|name| of_connection(name, env)));
    let signatures: Vec<String> = all.iter().flat_map(|text| signatures_of(text)).collect();
    all.extend(signatures);
    let proxies = PROXIES.iter().filter_map(|name| env(name)).chain(options.named("proxy").map(str::to_string));
    all.extend(proxies.flat_map(|proxy| user_of(&proxy)));
    all.retain(|text| text.len() >= LEAST);
    all
}

/// Whether Azure's connection string has a credential.
pub(super) fn has_connected_secret(env: Env<'_>) -> bool {
    ["AccountKey", "SharedAccessSignature"].iter().any(|name| of_connection(name, env).is_some())
}

/// Whether a variable of the environment holds a credential.
fn is_secret_variable(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_of_s3 = |key| matches!(key, AmazonS3ConfigKey::AccessKeyId | AmazonS3ConfigKey::SecretAccessKey | AmazonS3ConfigKey::Token);
    let is_of_azure = |key| is_azure_secret(&key) || matches!(key, AzureConfigKey::ClientSecret | AzureConfigKey::FabricSessionToken);
    let is_of_gcs = |key| matches!(key, GoogleConfigKey::BearerToken | GoogleConfigKey::ServiceAccountKey);
    match name.split_once('_').map(|(service, _)| service) {
        Some("AWS") => matches!(name, "AWS_CONTAINER_AUTHORIZATION_TOKEN" | "AWS_SECURITY_TOKEN") || lower.parse().is_ok_and(is_of_s3),
        Some("AZURE") => name == "AZURE_STORAGE_KEY" || lower.parse().is_ok_and(is_of_azure),
        Some("GOOGLE") => lower.parse().is_ok_and(is_of_gcs),
        _ => name == "IDENTITY_HEADER",
    }
}

/// The signatures of a query, as they stand there and as they are meant: a server may tell one without the rest.
fn signatures_of(query: &str) -> Vec<String> {
    let meant = |value| percent_decode(value).and_then(|bytes| String::from_utf8(bytes).ok());
    signatures(query).flat_map(|value| [Some(value.to_string()), meant(value)]).flatten().collect()
}

/// A text of a server without secrets, which may be cut at its end.
pub(super) fn redacted(mut text: String, secrets: &[String]) -> String {
    let mut secrets: Vec<&String> = secrets.iter().collect();
    // A shorter one may be a part of a longer one.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    for secret in secrets {
        text = text.replace(secret.as_str(), "***");
        let Some(beginning) = secret.get(..BEGINNING) else { continue };
        while let Some(at) = text.find(beginning) {
            let same = text[at..].chars().zip(secret.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>();
            text.replace_range(at..at + same, "***");
        }
    }
    text
}

/// Refuses settings that no header can have: the crate would panic when it makes a request.
pub(super) fn fit_headers<B, K>(builder: &B, setting: impl Fn(&B, &K) -> Option<String>, keys: &[(K, &str)]) -> Result<()> {
    for (key, what) in keys {
        let value = setting(builder, key).unwrap_or_default();
        if let Some(c) = value.chars().find(|c| !matches!(c, ' '..='~')) {
            bail!(Argument, "{what} in the options, the environment or a profile: found the character {c:?}, expected printable ASCII");
        }
    }
    Ok(())
}

/// User and password of a URL, as they stand there and as they are meant.
pub(super) fn user_of(url: &str) -> Vec<String> {
    // A password may have a slash.
    let Some((user, _)) = url.split_once("://").map_or(url, |(_, rest)| rest).rsplit_once('@') else { return Vec::new() };
    let parts = user.split(':').chain([user]);
    let meant = |part: &str| percent_decode(part).and_then(|bytes| String::from_utf8(bytes).ok());
    parts.flat_map(|part| [Some(part.to_string()), meant(part)]).flatten().collect()
}

/// Whether a service has an option of this name.
pub fn is_known(service: Service, name: &str) -> bool {
    let is_ours = matches!(name, "ca_file" | "proxy" | "user_agent") || name == "endpoint" && service != Service::Http;
    let is_its = || match service {
        Service::S3 => name.parse::<AmazonS3ConfigKey>().is_ok(),
        Service::Gcs => name.parse::<GoogleConfigKey>().is_ok(),
        Service::Azure => name.parse::<AzureConfigKey>().is_ok(),
        Service::Http => name.parse::<ClientConfigKey>().is_ok(),
    };
    is_ours || is_its()
}

/// Whether an option is a credential of the service, or says how to get one; not what only chooses among identities.
pub fn is_credential(service: Service, name: &str) -> bool {
    use AmazonS3ConfigKey::{AccessKeyId, SecretAccessKey, Token};
    match service {
        Service::S3 => name.parse().is_ok_and(|key| is_s3_source(&key) || matches!(key, AccessKeyId | SecretAccessKey | Token)),
        Service::Gcs => name.parse().is_ok_and(|key| is_gcs_credential(&key)),
        Service::Azure => name.parse().is_ok_and(|key| is_azure_credential(&key) && !is_azure_id(&key)),
        Service::Http => name == "bearer_token",
    }
}

/// Whether a setting says where credentials of S3 are got that are no keys.
pub(super) fn is_s3_source(key: &AmazonS3ConfigKey) -> bool {
    use AmazonS3ConfigKey::{ContainerCredentialsFullUri, ContainerCredentialsRelativeUri, MetadataEndpoint, WebIdentityTokenFile};
    matches!(key, WebIdentityTokenFile | ContainerCredentialsRelativeUri | ContainerCredentialsFullUri | MetadataEndpoint)
}

/// Whether a setting is a credential of Google's, or names a file with one.
pub(super) fn is_gcs_credential(key: &GoogleConfigKey) -> bool {
    use GoogleConfigKey::{ApplicationCredentials, BearerToken, ServiceAccount, ServiceAccountKey};
    matches!(key, ServiceAccount | ServiceAccountKey | ApplicationCredentials | BearerToken)
}

/// Whether a setting is a credential that needs no other one.
pub(super) fn is_azure_secret(key: &AzureConfigKey) -> bool {
    matches!(key, AzureConfigKey::AccessKey | AzureConfigKey::SasKey | AzureConfigKey::Token)
}

/// Whether a setting is a credential, or says how to get one.
pub(super) fn is_azure_credential(key: &AzureConfigKey) -> bool {
    use AzureConfigKey::*;
    let is_of_application = matches!(key, ClientId | ClientSecret | FederatedTokenFile);
    let is_of_machine = matches!(key, MsiEndpoint | ObjectId | MsiResourceId);
    let is_of_fabric = matches!(key, FabricTokenServiceUrl | FabricWorkloadHost | FabricSessionToken | FabricClusterIdentifier);
    is_azure_secret(key) || is_of_application || is_of_machine || is_of_fabric
}

/// Whether a setting only chooses among the identities of a machine or the applications: it is no secret, and no source of one.
fn is_azure_id(key: &AzureConfigKey) -> bool {
    matches!(key, AzureConfigKey::ClientId | AzureConfigKey::ObjectId | AzureConfigKey::MsiResourceId)
}

/// What of the environment's credentials of Azure is for another account or host than the one that is asked, and not given to it.
#[derive(Default)]
pub(super) struct Withheld {
    /// The variables that are taken as not set.
    pub names: Vec<String>,
    /// Nor is a token given that this machine would get.
    pub tokens: bool,
}

impl Withheld {
    pub fn of(remote: &Remote, options: &RemoteOptions, variables: &[(String, String)], env: Env<'_>) -> Withheld {
        let has_own = options.named.iter().any(|(name, _)| name.parse().is_ok_and(|key| is_azure_credential(&key) && !is_azure_id(&key)));
        if remote.service != Service::Azure || has_own || options.anonymous == Some(true) {
            return Withheld::default();
        }
        let (gives_keys, gives_tokens) = options.is_of_env(remote, env);
        let is_withheld = |name: &str, value: &str| match name.to_ascii_lowercase().parse() {
            _ if name == "AZURE_STORAGE_KEY" => !gives_keys,
            _ if name == "IDENTITY_ENDPOINT" => !gives_tokens,
            _ if !name.starts_with("AZURE_") => false,
            Ok(AzureConfigKey::AccessKey | AzureConfigKey::SasKey) => !gives_keys,
            Ok(AzureConfigKey::CredentialType) if matches!(value, "access_key" | "sas_token") => !gives_keys,
            Ok(AzureConfigKey::UseAzureCli | AzureConfigKey::CredentialType) => !gives_tokens,
            Ok(key) => !gives_tokens && is_azure_credential(&key),
            _ => false,
        };
        let names = variables.iter().filter(|(name, value)| !value.is_empty() && is_withheld(name, value)).map(|(name, _)| name.clone());
        Withheld { names: names.collect(), tokens: !gives_tokens }
    }

    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|withheld| withheld == name)
    }
}

/// Whether this machine is one of that maker's, so that its instance's credentials can be asked for without a wait.
pub(super) fn runs_on(maker: &str) -> bool {
    ["/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"]
        .iter()
        .any(|file| std::fs::read_to_string(file).is_ok_and(|text| text.trim().starts_with(maker)))
}
