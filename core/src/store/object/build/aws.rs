//! Makes the client of S3.

use super::{Client, Maker, no_retries, of_location, unknown};
use crate::error::{Result, bail};
use crate::store::object::client::is_for_machines;
use crate::store::object::container::{Container, Token};
use crate::store::object::credentials::{IN_HEADERS_OF_S3, fit_headers, is_s3_source, runs_on};
use crate::store::object::hosts::{self, Variant};
use crate::store::object::kept;
use crate::store::object::made::S3Keys;
use crate::store::option_values::ignores_endpoints;
use crate::store::remote::Conditional;
use object_store::ClientOptions;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::HttpConnector;
use object_store::list::PaginatedListStore;
use object_store::multipart::MultipartStore;
use std::sync::Arc;

impl Maker<'_> {
    pub(super) fn s3(mut self, told: Option<&str>) -> Result<Client> {
        let endpoint = self.options.endpoint(self.remote, self.env).or(self.profile.endpoint.clone());
        let named_region = self.options.region(self.env).or(self.profile.region.clone());
        let region_is_guessed = named_region.is_none() && told.is_none();
        let region = told.map(str::to_string).or(named_region).unwrap_or_else(|| "us-east-1".to_string());
        let explicit = self.s3_keys();
        self.check_s3_sources(explicit.is_some())?;
        let mut builder = self.s3_builder(explicit.as_ref()).with_bucket_name(&self.remote.base).with_region(&region);
        let client_options = self.client_options(endpoint.as_deref(), "AWS_ALLOW_HTTP")?;
        builder = builder.with_client_options(client_options.clone()).with_retry(no_retries());
        let connector = self.connector();
        builder = builder.with_http_connector(connector.clone());
        builder = self.with_hosts(builder, &region, endpoint.as_deref())?;
        if self.options.path_style == Some(false) {
            builder = builder.with_virtual_hosted_style_request(true);
        }
        if let Some((id, secret, token)) = &explicit {
            self.secrets.extend([Some(id), Some(secret), token.as_ref()].into_iter().flatten().filter(|text| text.len() >= 6).cloned());
        }
        let has_credentials = || explicit.is_some() || self.has_setting("AWS_", is_s3_source) || runs_on("Amazon EC2");
        let is_unsigned = self.is_unsigned("AWS_", |key: &AmazonS3ConfigKey| *key == AmazonS3ConfigKey::SkipSignature);
        let found_no_credentials = self.options.anonymous.is_none() && !is_unsigned && !has_credentials();
        builder = builder.with_skip_signature(is_unsigned || found_no_credentials);
        for (name, value) in self.others(&["endpoint", "region", "access_key_id", "secret_access_key", "session_token"]) {
            let key = name.parse::<AmazonS3ConfigKey>().map_err(|_| unknown(name, "s3"))?;
            if key == AmazonS3ConfigKey::Bucket {
                return Err(of_location(name));
            }
            builder = builder.with_config(key, value);
        }
        if let Some(container) = self.container(&builder, &connector, client_options)? {
            builder = builder.with_credentials(Arc::new(container));
        }
        fit_headers(&builder, AmazonS3Builder::get_config_value, &IN_HEADERS_OF_S3)?;
        let server = kept::server((&endpoint, &self.remote.base, &explicit, self.options.named("proxy")));
        let conditional = match self.options.conditional {
            Conditional::Always => Some(true),
            Conditional::Never => Some(false),
            Conditional::Auto | Conditional::Require => (endpoint.is_none() || kept::is_known(server)).then_some(true),
        };
        let store = Arc::new(builder.build().map_err(|e| self.wrong(e))?);
        let (parts, region) = (Some(store.clone() as Arc<dyn MultipartStore>), told.map(str::to_string));
        let pages = Some(store.clone() as Arc<dyn PaginatedListStore>);
        Ok(Client {
            store,
            parts,
            pages,
            server,
            conditional,
            region_is_guessed,
            region,
            keys: explicit,
            secrets: self.secrets,
            found_no_credentials,
            withholds: false,
        })
    }

    /// The service of the container, if that is the first source of credentials.
    fn container(&self, builder: &AmazonS3Builder, connector: &impl HttpConnector, options: ClientOptions) -> Result<Option<Container>> {
        use AmazonS3ConfigKey::{
            AccessKeyId, ContainerAuthorizationTokenFile, ContainerCredentialsFullUri, ContainerCredentialsRelativeUri, RoleArn,
            SkipSignature, WebIdentityTokenFile,
        };
        let value = |key: AmazonS3ConfigKey| builder.get_config_value(&key);
        let has_other = value(AccessKeyId).is_some() || value(WebIdentityTokenFile).is_some() && value(RoleArn).is_some();
        let relative = value(ContainerCredentialsRelativeUri);
        let is_wrong = relative.as_ref().is_some_and(|path| !path.starts_with('/'));
        let relative = relative.map(|path| format!("http://169.254.170.2{path}"));
        let Some(url) = relative.or_else(|| value(ContainerCredentialsFullUri)).filter(|_| !has_other) else { return Ok(None) };
        if value(SkipSignature).as_deref() == Some("true") {
            return Ok(None);
        }
        if is_wrong {
            bail!(Argument, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is no path, expected one that begins with \"/\"");
        }
        if !is_for_machines(&url) {
            bail!(
                Permission,
                "AWS_CONTAINER_CREDENTIALS_FULL_URI names another machine in plain HTTP, expected https://, this machine or a container's service"
            );
        }
        let variable = || (self.env)("AWS_CONTAINER_AUTHORIZATION_TOKEN").filter(|_| !self.has_option(is_s3_source));
        let token = match value(ContainerAuthorizationTokenFile) {
            Some(file) => Some(Token::File(file)),
            None => variable().map(Token::Text),
        };
        let client = connector.connect(&options.with_allow_http(true)).map_err(|e| self.wrong(e))?;
        Ok(Some(Container::new(url, token, client)))
    }

    /// Refuses sources of credentials that are named and cannot be used: requests would go out with others, or unsigned.
    fn check_s3_sources(&self, has_keys: bool) -> Result<()> {
        use AmazonS3ConfigKey::{RoleArn, WebIdentityTokenFile};
        let (profile, is_named) = (&self.profile, self.options.profile.is_some() || self.options.credentials_file.is_some());
        if self.is_unsigned("AWS_", |key: &AmazonS3ConfigKey| *key == AmazonS3ConfigKey::SkipSignature) {
            return Ok(());
        }
        let has_own_keys = self.options.named("access_key_id").is_some();
        if has_own_keys != self.options.named("secret_access_key").is_some() {
            bail!(Argument, "of the options \"cloud.access_key_id\" and \"cloud.secret_access_key\" one is given without the other");
        }
        if !has_own_keys && self.options.named("session_token").is_some() {
            bail!(Argument, "the option \"cloud.session_token\" is given without \"cloud.access_key_id\"");
        }
        // The service of a container or a machine comes behind the profile, as in AWS's own tools.
        let is_wanted = if is_named { !has_own_keys } else { !has_keys && !self.has_role() && !self.has_option(is_s3_source) };
        if let Some(e) = profile.unusable().filter(|_| is_wanted) {
            return Err(e);
        }
        if is_named && !has_keys && !self.has_setting("AWS_", is_s3_source) && !runs_on("Amazon EC2") {
            let hint = match (self.env)("AWS_ACCESS_KEY_ID") {
                Some(_) => "those of the environment are not taken beside a profile that an option names: choose it by AWS_PROFILE",
                None => "\"cloud.anonymous\" \"true\" asks without any",
            };
            bail!(Permission, "the profile {:?} has no keys; {hint}", profile.name);
        }
        let has = |key: fn(&AmazonS3ConfigKey) -> bool| self.has_setting("AWS_", key);
        if !has_keys && has(|key| *key == WebIdentityTokenFile) && !has(|key| *key == RoleArn) {
            bail!(Argument, "AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN, which it needs");
        }
        Ok(())
    }

    /// Whether a web identity is named that credentials can be got for.
    fn has_role(&self) -> bool {
        use AmazonS3ConfigKey::{RoleArn, WebIdentityTokenFile};
        let has = |is_such: fn(&AmazonS3ConfigKey) -> bool| self.has_setting("AWS_", is_such);
        has(|key| *key == WebIdentityTokenFile) && has(|key| *key == RoleArn)
    }

    /// What the environment says but the keys and the endpoint, and `keys`, which are of one source: a token of another would go with each request.
    /// Keys would go before another source that the options name.
    pub(super) fn s3_builder(&self, keys: Option<&S3Keys>) -> AmazonS3Builder {
        use AmazonS3ConfigKey::{AccessKeyId, ContainerAuthorizationTokenFile, Endpoint, S3Endpoint, SecretAccessKey, StsEndpoint, Token};
        let has_source = self.has_option(is_s3_source);
        let is_chosen = |key: &AmazonS3ConfigKey| match key {
            AccessKeyId | SecretAccessKey | Token => keys.is_some() || has_source,
            ContainerAuthorizationTokenFile => has_source,
            key if is_s3_source(key) => has_source,
            Endpoint | S3Endpoint => true,
            StsEndpoint => true,
            _ => false,
        };
        let settings = self.settings("AWS_").filter(|(key, _)| !is_chosen(key));
        let builder = settings.fold(AmazonS3Builder::new(), |builder, (key, value)| builder.with_config(key, value));
        let builder = self.sts_endpoint().into_iter().fold(builder, |builder, url| builder.with_config(StsEndpoint, url));
        let Some((id, secret, token)) = keys else { return builder };
        let builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        token.iter().fold(builder, |builder, token| builder.with_token(token))
    }

    /// Where the service is that gives out S3's credentials for a web identity, if an option, the environment or the profile says so, as AWS's own
    /// tools read it.
    pub(super) fn sts_endpoint(&self) -> Option<String> {
        let variables: &[&str] = if ignores_endpoints(self.env) { &[] } else { &["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"] };
        let said = self.first(&["endpoint_url_sts", "aws_endpoint_url_sts"], variables).or_else(|| self.profile.sts_endpoint.clone());
        said.map(|url| url.trim_end_matches('/').to_string())
    }

    /// Key, secret and token: of the options, of a profile that the options name, of the environment, of the usual profile. Options that name
    /// another source of credentials go before those that no option names; a web identity goes before the usual profile, as in AWS's own tools.
    pub(super) fn s3_keys(&self) -> Option<S3Keys> {
        let (option, profile) = (|name: &str| self.options.named(name).map(str::to_string), &self.profile);
        let given = (option("access_key_id"), option("secret_access_key"), option("session_token"));
        let is_named = self.options.profile.is_some() || self.options.credentials_file.is_some();
        let has_source = self.has_option(is_s3_source);
        let from_profile = match (has_source || self.has_role()) && !is_named {
            true => (None, None, None),
            false => (profile.access_key_id.clone(), profile.secret_access_key.clone(), profile.session_token.clone()),
        };
        let from_env = match has_source || is_named {
            true => (None, None, None),
            false => {
                let token = self.first(&[], &["AWS_SECURITY_TOKEN", "AWS_SESSION_TOKEN", "AWS_TOKEN"]);
                ((self.env)("AWS_ACCESS_KEY_ID"), (self.env)("AWS_SECRET_ACCESS_KEY"), token)
            }
        };
        [given, from_env, from_profile].into_iter().find_map(|(id, secret, token)| Some((id?, secret?, token)))
    }

    /// Where S3 and the service that gives out credentials are: at `endpoint`, or as the region says.
    fn with_hosts(&self, builder: AmazonS3Builder, region: &str, endpoint: Option<&str>) -> Result<AmazonS3Builder> {
        let is_express = || self.is_on("AWS_", |key: &AmazonS3ConfigKey| *key == AmazonS3ConfigKey::S3Express);
        let variant = Variant::of(&self.profile, self.env);
        let builder = if let Some(endpoint) = endpoint {
            // Not every server has the bulk form.
            builder.with_endpoint(self.s3_endpoint(endpoint)).with_disable_bulk_delete(true)
        } else if let Some(url) = hosts::of_s3(region, variant)?.filter(|_| !is_express()) {
            builder.with_endpoint(self.s3_endpoint(&url))
        } else {
            builder
        };
        let is_said = builder.get_config_value(&AmazonS3ConfigKey::StsEndpoint).is_some();
        Ok(if is_said { builder } else { builder.with_config(AmazonS3ConfigKey::StsEndpoint, hosts::of_sts(region, variant)) })
    }

    /// Puts the bucket's name in front of the host's, where a URL has it there.
    pub(super) fn s3_endpoint(&self, endpoint: &str) -> String {
        let (scheme, host) = endpoint.trim_end_matches('/').split_once("://").unwrap_or(("https", endpoint));
        match self.options.path_style {
            Some(false) => format!("{scheme}://{}.{host}", self.remote.base),
            _ => format!("{scheme}://{host}"),
        }
    }
}
