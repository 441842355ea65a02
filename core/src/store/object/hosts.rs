//! Where a service is by its endpoint and its region: what names an endpoint that no client can be made of, emulators, and the hosts of AWS.

use crate::error::{Result, bail};
use crate::store::remote::{Env, Remote, RemoteOptions, Service};
use std::path::{Path, PathBuf};

/// The domains of AWS's partitions but the largest, by how the names of their regions begin.
const DOMAINS: &[(&str, &str)] = &[
    ("cn-", "amazonaws.com.cn"),
    ("us-iso-", "c2s.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("us-isof-", "csp.hci.ic.gov"),
    ("eu-isoe-", "cloud.adc-e.uk"),
    ("eusc-", "amazonaws.eu"),
];

/// The variable that says where an emulator of Google's service is, with a scheme or without.
pub(super) const EMULATOR: &str = "STORAGE_EMULATOR_HOST";

/// Refuses an endpoint that no request can be made for: the crate would panic when it makes one.
pub(super) fn check_endpoint(endpoint: &str, remote: &Remote, options: &RemoteOptions, env: Env<'_>) -> Result<()> {
    let is_whole =
        endpoint.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'));
    let url = reqwest::Url::parse(endpoint).ok();
    if is_whole && url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
        return Ok(());
    }
    let variable = remote.service.endpoint_variables().iter().find(|name| env(name).is_some());
    // It may have a password, and is not told.
    let by = match (options.named("endpoint"), variable) {
        (Some(_), _) => "the option \"cloud.endpoint\"",
        (None, Some(variable)) => variable,
        (None, None) if remote.service == Service::Azure => "the endpoint of AZURE_STORAGE_CONNECTION_STRING",
        (None, None) => "the endpoint of the profile",
    };
    bail!(Argument, "{by} is no URL of a server, expected one such as \"https://host:9000\"")
}

/// Whether the environment names an emulator of Google's service, and nothing else says where that is.
pub(super) fn is_emulated(options: &RemoteOptions, env: Env<'_>) -> bool {
    options.named("endpoint").is_none() && env("GOOGLE_BASE_URL").is_none() && env(EMULATOR).is_some()
}

/// The URL of S3 in a region, where the environment or the region's partition says another one than the usual.
pub(super) fn of_s3(region: &str, env: Env<'_>) -> Result<Option<String>> {
    if let Some(c) = region.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '-') {
        bail!(
            Argument,
            "the region in the options, the environment or a profile: found the character {c:?}, expected letters, digits and \"-\""
        );
    }
    let is_on = |name: &str| env(name).is_some_and(|said| said.eq_ignore_ascii_case("true"));
    let (fips, both) = (is_on("AWS_USE_FIPS_ENDPOINT"), is_on("AWS_USE_DUALSTACK_ENDPOINT"));
    let domain = domain(region);
    let host = format!("{}{}", if fips { "s3-fips" } else { "s3" }, if both { ".dualstack" } else { "" });
    Ok((fips || both || domain.is_some()).then(|| format!("https://{host}.{region}.{}", domain.unwrap_or("amazonaws.com"))))
}

/// The URL of the service that gives out credentials, where it is another one than the usual.
pub(super) fn of_sts(region: &str) -> Option<String> {
    domain(region).map(|domain| format!("https://sts.{region}.{domain}"))
}

fn domain(region: &str) -> Option<&'static str> {
    DOMAINS.iter().find(|(start, _)| region.starts_with(start)).map(|(_, domain)| *domain)
}

/// The file of credentials that Google's own tools keep.
pub(super) fn file_of_google(env: Env<'_>) -> Option<PathBuf> {
    let folder = env("CLOUDSDK_CONFIG").map(PathBuf::from).or_else(|| Some(Path::new(&env("HOME")?).join(".config/gcloud")));
    Some(folder?.join("application_default_credentials.json"))
}

/// A message of what reads JSON without the texts that it quotes of a file: a file of credentials may be one text.
pub(super) fn without_texts(mut message: String) -> String {
    if let Some(start) = message.find("string \"").map(|at| at + "string \"".len())
        && let Some(end) = message.rfind('"').filter(|end| *end >= start)
    {
        message.replace_range(start..end, "***");
    }
    message
}
