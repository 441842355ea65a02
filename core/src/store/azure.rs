//! What the environment says of Azure's accounts and hosts, in variables and in a connection string, `Key=Value;Key=Value`.

/// Gives a variable of the environment.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The variables of the environment that name the account, and those that say where the service is; the first that is set counts.
pub(super) const ACCOUNT_VARIABLES: &[&str] = &["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"];
pub(super) const ENDPOINT_VARIABLES: &[&str] = &["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"];

/// The domains of Azure's clouds. An account's name stands in front of the rest of its host.
const DOMAINS: [&str; 5] =
    [".core.windows.net", ".core.chinacloudapi.cn", ".core.usgovcloudapi.net", ".storage.azure.net", ".fabric.microsoft.com"];

/// What `UseDevelopmentStorage=true` means in Azure's connection string; the key is no secret.
const DEVELOPMENT: &str = concat!(
    "BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50u",
    "SRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
);

/// The account of Azure's connection string: where it has no name for it, the first of the endpoint's host, or the last of its path.
pub(super) fn connected_account(env: Env<'_>) -> Option<String> {
    of_connection("AccountName", env).or_else(|| {
        let endpoint = of_connection("BlobEndpoint", env)?;
        let (host, path) = endpoint.split_once("://")?.1.split_once('/').unwrap_or((endpoint.split_once("://")?.1, ""));
        let name = if path.is_empty() { host.split('.').next()? } else { path.trim_end_matches('/').rsplit('/').next()? };
        Some(name.to_string())
    })
}

/// The host of the account's blobs that Azure's connection string names, or means.
pub(super) fn connected_host(env: Env<'_>) -> Option<String> {
    match of_connection("BlobEndpoint", env) {
        Some(endpoint) => host_of(&endpoint),
        None => {
            let suffix = of_connection("EndpointSuffix", env).unwrap_or_else(|| "core.windows.net".to_string());
            Some(format!("{}.blob.{suffix}", connected_account(env)?))
        }
    }
}

/// Whether the connection string is of the account and of the host that are named.
pub(super) fn is_connected(account: Option<&str>, host: Option<&str>, env: Env<'_>) -> bool {
    account.is_none_or(|named| connected_account(env).is_some_and(|its| is_account(named, &its)))
        && host.is_none_or(|named| connected_host(env).is_some_and(|its| is_host(named, &its)))
}

/// Whether an account is that of another name of it: the second place of an account, from which others may only read, is the same account.
pub(super) fn is_account(named: &str, its: &str) -> bool {
    without_place(named).eq_ignore_ascii_case(its)
}

/// The name of an account, whichever of its places is named.
pub(super) fn without_place(account: &str) -> &str {
    account.strip_suffix("-secondary").unwrap_or(account)
}

/// Whether a name is that of the second place of an account.
pub(super) fn is_second(account: &str) -> bool {
    without_place(account) != account
}

/// Whether a host is that of an account's blobs, or of their second place.
fn is_host(named: &str, its: &str) -> bool {
    let first = named.split_once('.').map(|(account, rest)| format!("{}.{rest}", without_place(account)));
    named.eq_ignore_ascii_case(its) || first.is_some_and(|first| first.eq_ignore_ascii_case(its))
}

/// Whether a host is one of Azure's.
pub(super) fn is_azure(host: &str) -> bool {
    DOMAINS.iter().any(|domain| host.ends_with(domain))
}

/// Whether a key of the environment is for the account and the host of blobs that a location names, and whether a token is for that host: those that
/// the environment has, or that are got for a program or a machine, are for all of Azure's accounts. A host that the environment names is one, whatever
/// the account: it may have a name of its own. Where the environment names neither account nor host, keys are.
pub(super) fn is_of_env(account: Option<&str>, host: Option<&str>, env: Env<'_>) -> (bool, bool) {
    let first = |names: &[&str]| names.iter().find_map(|name| env(name).filter(|value| !value.is_empty()));
    let its_account = first(ACCOUNT_VARIABLES).or_else(|| connected_account(env));
    let its_hosts = hosts_of_env(env);
    let is_its_account = account.zip(its_account.as_deref()).is_none_or(|(named, its)| is_account(named, its));
    let Some(host) = host else { return (is_its_account, true) };
    if its_hosts.iter().any(|its| its.eq_ignore_ascii_case(host)) {
        return (true, true);
    }
    let names_none = its_account.is_none() && its_hosts.is_empty();
    (names_none || is_its_account && its_account.is_some() && is_azure(host), is_azure(host))
}

/// The hosts of blobs that the environment names.
pub(super) fn hosts_of_env(env: Env<'_>) -> Vec<String> {
    let named = ENDPOINT_VARIABLES.iter().find_map(|name| env(name).filter(|value| !value.is_empty()));
    [named.and_then(|url| host_of(&url)), connected_host(env)].into_iter().flatten().collect()
}

/// The host of a URL, with its port if that is not the usual one.
fn host_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next()?;
    let usual = if scheme.eq_ignore_ascii_case("http") { ":80" } else { ":443" };
    Some(host.strip_suffix(usual).unwrap_or(host).to_string())
}

/// What the environment's `Key=Value;Key=Value` says by this name; also of the service that runs on developers' machines.
pub(super) fn of_connection(name: &str, env: Env<'_>) -> Option<String> {
    let text = env("AZURE_STORAGE_CONNECTION_STRING")?;
    let value = |text: &str, name: &str| {
        let mut pairs = text.split(';').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| key.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_string())
    };
    let is_of_development = || value(&text, "UseDevelopmentStorage").is_some_and(|said| said.eq_ignore_ascii_case("true"));
    value(&text, name).or_else(|| if is_of_development() { value(DEVELOPMENT, name) } else { None })
}
