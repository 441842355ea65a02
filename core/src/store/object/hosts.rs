//! Where a service is by its endpoint and its region: what names an endpoint that no client can be made of, emulators, and the hosts of AWS.

use super::profile::Profile;
use crate::error::{Result, bail};
use crate::store::partitions::partition_of;
use crate::store::remote::{Env, Remote, RemoteOptions, Service};
use std::path::{Path, PathBuf};

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
        (None, None) if remote.service == Service::Gcs => "\"gcs_base_url\" of the file of the service account",
        (None, None) => "the endpoint of the profile",
    };
    bail!(Argument, "{by} is no URL of a server, expected one such as \"https://host:9000\"")
}

/// Whether the environment names an emulator of Google's service, and nothing else says where that is.
pub(super) fn is_emulated(options: &RemoteOptions, env: Env<'_>) -> bool {
    options.named("endpoint").is_none() && env("GOOGLE_BASE_URL").is_none() && env(EMULATOR).is_some()
}

/// Which of the hosts are asked that services of AWS have.
#[derive(Clone, Copy)]
pub(super) struct Variant {
    /// Those whose encryption is of a certain standard.
    fips: bool,
    /// Those that are reached by IPv4 and IPv6.
    dual: bool,
    /// Those of S3.
    dual_of_s3: bool,
}

impl Variant {
    /// As the environment says, else the profile.
    pub fn of(profile: &Profile, env: Env<'_>) -> Variant {
        let is_on = |variable: &str, entry: &Option<String>| {
            env(variable).as_deref().or(entry.as_deref()).is_some_and(|said| said.eq_ignore_ascii_case("true"))
        };
        let dual = is_on("AWS_USE_DUALSTACK_ENDPOINT", &profile.use_dualstack);
        let dual_of_s3 = dual || is_on("", &profile.use_dualstack_of_s3);
        Variant { fips: is_on("AWS_USE_FIPS_ENDPOINT", &profile.use_fips), dual, dual_of_s3 }
    }
}

/// The URL of S3 in a region, where that is another one than the usual.
pub(super) fn of_s3(region: &str, variant: Variant) -> Result<Option<String>> {
    if let Some(c) = region.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '-') {
        bail!(
            Argument,
            "the region in the options, the environment or a profile: found the character {c:?}, expected letters, digits and \"-\""
        );
    }
    let (partition, Variant { fips, dual_of_s3, .. }) = (partition_of(region), variant);
    let host = format!("{}{}", if fips { "s3-fips" } else { "s3" }, if dual_of_s3 { ".dualstack" } else { "" });
    let is_usual = !fips && !dual_of_s3 && partition.regions.is_empty();
    Ok((!is_usual).then(|| format!("https://{host}.{region}.{}", partition.domain)))
}

/// The URL of the service that gives out credentials in a region.
pub(super) fn of_sts(region: &str, variant: Variant) -> String {
    let (partition, Variant { fips, dual, .. }) = (partition_of(region), variant);
    // All hosts of that partition are such ones.
    let is_named_so = fips && (dual || partition.regions != "us-gov-");
    let domain = if dual { partition.dual_domain } else { partition.domain };
    format!("https://{}.{region}.{domain}", if is_named_so { "sts-fips" } else { "sts" })
}

/// The file of credentials that Google's own tools keep.
pub(super) fn file_of_google(env: Env<'_>) -> Option<PathBuf> {
    let folder = env("CLOUDSDK_CONFIG").map(PathBuf::from).or_else(|| Some(Path::new(&env("HOME")?).join(".config/gcloud")));
    Some(folder?.join("application_default_credentials.json"))
}

/// Where the key of a service account of Google says that the service is.
pub(super) fn base_url_of(key: &str) -> Option<String> {
    let key: serde_json::Value = serde_json::from_str(key).ok()?;
    Some(key.get("gcs_base_url")?.as_str()?.trim_end_matches('/').to_string())
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
