//! The connection string of Azure in the environment: `Key=Value;Key=Value`.

/// Gives a variable of the environment.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

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
        Some(endpoint) => endpoint.split_once("://")?.1.split('/').next().map(str::to_string),
        None => {
            let suffix = of_connection("EndpointSuffix", env).unwrap_or_else(|| "core.windows.net".to_string());
            Some(format!("{}.blob.{suffix}", connected_account(env)?))
        }
    }
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
