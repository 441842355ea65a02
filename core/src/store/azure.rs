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

/// The account of Azure's connection string: where it has no name for it, the last of the endpoint's path, or the first of its host. A host that is not
/// Azure's may have a name of its own: there the account is that of the variables, if they name one.
pub(super) fn connected_account(env: Env<'_>) -> Option<String> {
    of_connection("AccountName", env).or_else(|| {
        let endpoint = of_connection("BlobEndpoint", env)?;
        let place = endpoint.split_once("://")?.1;
        let (host, path) = place.split_once('/').unwrap_or((place, ""));
        let named = if path.is_empty() && !is_azure(host) { first(ACCOUNT_VARIABLES, env) } else { None };
        let name = if path.is_empty() { host.split('.').next()? } else { path.trim_end_matches('/').rsplit('/').next()? };
        named.or_else(|| Some(name.to_string()))
    })
}

/// The account of the environment.
pub(super) fn account_of_env(env: Env<'_>) -> Option<String> {
    first(ACCOUNT_VARIABLES, env).or_else(|| connected_account(env))
}

/// The first of these variables that is set.
fn first(variables: &[&str], env: Env<'_>) -> Option<String> {
    variables.iter().find_map(|name| env(name).filter(|value| !value.is_empty()))
}

/// Where Azure's connection string has the blobs of its account, or has their `second` place, if it names or means one.
pub(super) fn connected_place(second: bool, env: Env<'_>) -> Option<String> {
    let its = connected_account(env)?;
    let account = without_place(&its);
    let said = |name: &str| of_connection(name, env).map(|url| url.trim_end_matches('/').to_string());
    match (said("BlobSecondaryEndpoint").filter(|_| second), said("BlobEndpoint")) {
        (Some(place), _) => Some(place),
        (None, Some(first)) if second => second_of(&first, account),
        (None, Some(first)) => Some(first),
        (None, None) => {
            let suffix = of_connection("EndpointSuffix", env).unwrap_or_else(|| "core.windows.net".to_string());
            // Azure's public cloud is asked by TLS, whatever the string says.
            let protocol = of_connection("DefaultEndpointsProtocol", env).filter(|_| suffix != "core.windows.net");
            let protocol = protocol.unwrap_or_else(|| "https".to_string());
            Some(format!("{protocol}://{account}{}.blob.{suffix}", if second { SECOND } else { "" }))
        }
    }
}

/// The second place of an account beside its first: its host, or the last name of its path, begins with the account. Another host is nobody's
/// second place.
fn second_of(first: &str, account: &str) -> Option<String> {
    let (scheme, rest) = first.split_once("://")?;
    let is_its = |name: &str| is_account(name, account);
    match rest.rsplit_once('/') {
        Some((above, name)) => is_its(name).then(|| format!("{scheme}://{above}/{account}{SECOND}")),
        None => rest.split_once('.').filter(|(name, _)| is_its(name)).map(|(_, domain)| format!("{scheme}://{account}{SECOND}.{domain}")),
    }
}

/// Whether the connection string is of the account, and has that place of it at the host that is named.
pub(super) fn is_connected(account: &str, host: Option<&str>, env: Env<'_>) -> bool {
    let place = connected_place(is_second(account), env).and_then(|url| host_of(&url));
    connected_account(env).is_some_and(|its| is_account(account, &its))
        && place.is_some_and(|its| host.is_none_or(|named| named.eq_ignore_ascii_case(&its)))
}

/// Whether two names are one account's: the second place of an account, from which others may only read, is the same account.
pub(super) fn is_account(named: &str, its: &str) -> bool {
    without_place(named).eq_ignore_ascii_case(without_place(its))
}

/// What the second place of an account has behind the account's name.
const SECOND: &str = "-secondary";

/// The name of an account, whichever of its places is named.
pub(super) fn without_place(account: &str) -> &str {
    account.strip_suffix(SECOND).unwrap_or(account)
}

/// Whether a name is that of the second place of an account.
pub(super) fn is_second(account: &str) -> bool {
    without_place(account) != account
}

/// The account that requests are signed for, and its server if that does not follow from it: what is signed by a key has the name of the account,
/// whichever of its places is asked.
#[cfg(feature = "cloud")]
pub(super) fn signer(account: String, has_key: bool) -> (String, Option<String>) {
    match without_place(&account) {
        own if has_key && own != account => (own.to_string(), Some(format!("https://{}", usual_host(&account)))),
        _ => (account, None),
    }
}

/// The host of an account's blobs where nobody says another.
pub(super) fn usual_host(account: &str) -> String {
    format!("{account}.blob.core.windows.net")
}

/// Whether a host is one of Azure's.
pub(super) fn is_azure(host: &str) -> bool {
    domain(host).is_some()
}

/// The domain of Azure's that a host is in.
fn domain(host: &str) -> Option<&'static str> {
    DOMAINS.into_iter().find(|domain| host.ends_with(domain))
}

/// Whether a key of the environment, which stands beside the account `its`, is for the account and the host of blobs that are asked, and whether a token
/// is for that host. Both are for Azure's own hosts and those that the environment names, whatever the account's name is there: a host may have a
/// name of its own. Keys are for one account, of one of Azure's clouds: another cloud has accounts of its own. Tokens, which the environment has
/// or which are got for a program or a machine, are for all accounts.
pub(super) fn is_of_env(account: Option<&str>, its: Option<&str>, host: Option<&str>, env: Env<'_>) -> (bool, bool) {
    let is_its = account.zip(its).is_none_or(|(asked, its)| is_account(asked, its));
    let Some(host) = host else { return (is_its, true) };
    let named = hosts_of_env(env);
    if named.iter().any(|its| its.eq_ignore_ascii_case(host)) {
        return (true, true);
    }
    let is_in_cloud = named.iter().all(|its| domain(its).is_none_or(|its| domain(host) == Some(its)));
    (is_its && is_in_cloud && is_azure(host), is_azure(host))
}

/// The hosts of blobs that the environment names for its account.
pub(super) fn hosts_of_env(env: Env<'_>) -> Vec<String> {
    let is_connected = account_of_env(env).is_some_and(|account| is_connected(&account, None, env));
    let connected = [false, true].map(|second| connected_place(second, env).filter(|_| is_connected));
    let named = connected.into_iter().chain([first(ENDPOINT_VARIABLES, env)]).flatten();
    named.filter_map(|url| host_of(&url)).collect()
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
