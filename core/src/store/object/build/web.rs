//! Makes the client of a web server.

use super::{Client, Maker, no_retries, unknown};
use crate::error::{Result, bail, err};
use crate::store::remote::percent_decode;
use object_store::client::ClientConfigKey;
use object_store::http::HttpBuilder;
use std::sync::Arc;

impl Maker<'_> {
    pub(super) fn http(mut self) -> Result<Client> {
        let query = self.remote.query.as_ref().map(|query| format!("?{}", query.expose())).unwrap_or_default();
        // A page behind TLS does not lead to one without.
        let plain = self.options.allow_http.unwrap_or(self.remote.base.starts_with("http://"));
        let client_options = self.client_options(Some(&self.remote.base), "")?.with_allow_http(plain);
        self.own.is_web = true;
        if let Some(authorization) = self.authorization()? {
            self.secrets.extend(authorization.split(' ').filter(|text| text.len() >= 6).map(str::to_string));
            let mut value = object_store::HeaderValue::from_str(&authorization)
                .map_err(|_| err!(Argument, "the bearer token: found a line end or another character that no header of HTTP has"))?;
            value.set_sensitive(true);
            let mut headers = object_store::HeaderMap::new();
            headers.insert("authorization", value);
            self.own.headers = headers;
        }
        let url = format!("{}{query}", self.remote.base);
        let mut builder = HttpBuilder::new().with_url(url).with_retry(no_retries()).with_client_options(client_options);
        for (name, value) in self.others(&["bearer_token"]) {
            let key = name.parse::<ClientConfigKey>().map_err(|_| unknown(name, "http"))?;
            builder = builder.with_config(key, value);
        }
        let store = builder.with_http_connector(self.connector()).build().map_err(|e| self.wrong(e))?;
        let withholds = self.options.withheld && self.own.headers.is_empty();
        Ok(Client { withholds, ..Client::without_keys(Arc::new(store), None, None, false, self.secrets) })
    }

    /// The name of the client that a web server is told.
    pub(super) fn authorization(&self) -> Result<Option<String>> {
        use base64::Engine;
        if let Some(token) = self.options.named("bearer_token") {
            return Ok(Some(format!("Bearer {token}")));
        }
        let Some(user) = &self.remote.user else { return Ok(None) };
        let Some(mut text) = percent_decode(user.expose()) else {
            bail!(Location, "user and password of the URL have a % without two digits")
        };
        // There is a colon where no password is, too.
        if !user.expose().contains(':') {
            text.push(b':');
        }
        Ok(Some(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(text))))
    }
}
