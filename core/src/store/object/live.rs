//! A service that is reached now: its client, how many requests are in flight, and when one is made again.

use super::build;
use super::client::proxy_hint;
use super::made::Client;
use super::threads::{Threads, threads};
use super::tries::{Failure, Patience, Tries};
use crate::error::{Result, err};
use crate::limits::{check_memory, check_reserve};
use crate::store::remote::{Remote, RemoteOptions, Service};
use object_store::ObjectStore;
use object_store::multipart::MultipartStore;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

/// What is added to a refusal that may stand for "missing".
const FORBIDDEN: &str =
    "; where listing is not permitted S3 says so of missing keys, too: the option \"cloud.forbidden\" \"missing\" takes them for missing";

/// What is added to a refusal of requests that nobody wanted unsigned.
const UNSIGNED: &str =
    "; the request was not signed: no credentials were found in the options, the environment and the files of the service's tools";

/// What is added to a refusal where the environment has credentials that are not for whom a location or an option names.
const WITHHELD: &str = "; credentials of the environment were not sent: they are for the account of AZURE_STORAGE_ACCOUNT_NAME, \
    AZURE_STORAGE_ACCOUNT, OZARR_CLOUD_OPTIONS or the connection string, at Azure's own hosts, or for AZURE_STORAGE_ENDPOINT or an option's endpoint";

/// What is added to a refusal of a web server, where the variable has a token.
const WITHHELD_TOKEN: &str =
    "; the token of OZARR_CLOUD_OPTIONS was not sent, as it is for no web server: the option \"cloud.bearer_token\" names one";

/// A service that is reached now. A child of `fork` has another.
pub(super) struct Live {
    pub threads: Arc<Threads>,
    pub(super) remote: Remote,
    pub(super) options: RemoteOptions,
    client: Mutex<Arc<Client>>,
    requests: Arc<AtomicU64>,
    in_flight: Semaphore,
    /// What is said of a server that cannot be reached.
    proxy: Arc<str>,
    pub(super) conditional: OnceCell<bool>,
    /// A put was made without the condition that it had.
    pub(super) unconditional: AtomicBool,
    /// The server does not serve the ends of objects.
    pub(super) no_suffix: AtomicBool,
    /// The server answers to a GET what it does not to a HEAD.
    pub(super) no_head: AtomicBool,
    /// The server has answered once.
    answered: Arc<AtomicBool>,
    /// Requests that were made again.
    pub(super) retries: AtomicU64,
    /// How often credentials were found that were renewed.
    renewals: AtomicU64,
}

impl Live {
    pub(super) fn start(remote: &Remote, options: &RemoteOptions, requests: &Arc<AtomicU64>) -> Result<Arc<Live>> {
        // A client takes more than most calls.
        check_memory()?;
        check_reserve()?;
        let threads = threads()?;
        let client = build::client(remote, options, None, requests)?;
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let proxy = proxy_hint(options.named("proxy"), &env).into();
        let conditional = client.conditional.map(|known| OnceCell::new_with(Some(known))).unwrap_or_default();
        Ok(Arc::new(Live {
            threads,
            remote: remote.clone(),
            options: options.clone(),
            client: Mutex::new(Arc::new(client)),
            requests: requests.clone(),
            in_flight: Semaphore::new(options.requests),
            proxy,
            conditional,
            unconditional: AtomicBool::new(false),
            no_suffix: AtomicBool::new(remote.service == Service::Azure),
            no_head: AtomicBool::new(false),
            answered: Arc::default(),
            retries: AtomicU64::new(0),
            renewals: AtomicU64::new(0),
        }))
    }

    pub(super) fn client(&self) -> Arc<Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn store(&self) -> Arc<dyn ObjectStore> {
        self.client().store.clone()
    }

    pub(super) fn parts(&self) -> Option<Arc<dyn MultipartStore>> {
        self.client().parts.clone()
    }

    /// Waits until one more request may be in flight.
    pub(super) async fn permit(&self) -> Result<SemaphorePermit<'_>> {
        check_reserve()?;
        self.in_flight.acquire().await.map_err(|_| err!(Internal, "a closed semaphore"))
    }

    pub(super) fn tries(&self, reading: bool) -> Tries {
        let client = self.client();
        let unsigned = match client.found_no_credentials {
            _ if client.withholds && self.remote.service == Service::Http => WITHHELD_TOKEN,
            _ if client.withholds => WITHHELD,
            true => UNSIGNED,
            false => "",
        };
        let hints = [unsigned, if reading && self.remote.service == Service::S3 { FORBIDDEN } else { "" }];
        let (deadline, retries) = (self.options.deadline, self.options.retries);
        let (secrets, answered) = (Arc::new(client.secrets.clone()), self.answered.clone());
        let mut tries = Tries::new(&Patience { deadline, retries, secrets, hints, answered, proxy: self.proxy.clone() });
        tries.renewals = self.renewals.load(Ordering::Acquire);
        tries
    }

    /// Goes on with the next try, or says why not. A bucket in another region than was guessed is looked for there; credentials that are no longer
    /// good are looked for in the files that they came from.
    pub(super) async fn again(&self, tries: &mut Tries, fault: Failure) -> Result<()> {
        let sight = tries.sight();
        if let (true, Some(region)) = (!sight.credentials && matches!(sight.status, 301 | 307 | 400), &sight.region) {
            let client = self.client();
            if client.region_is_guessed {
                let there = build::client(&self.remote, &self.options, Some(region), &self.requests)?;
                *self.client.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(there);
                tries.note_anew();
                return Ok(());
            }
            // Another operation has found it meanwhile.
            if self.options.named("region").is_none() && !client.region_is_guessed && tries.once() {
                tries.note_anew();
                return Ok(());
            }
        }
        if sight.has_old_credentials() && self.renew(tries) {
            tries.note_anew();
            return Ok(());
        }
        tries.again(fault).await?;
        self.retries.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Makes the client anew where the files have other keys by now. Returns whether there are keys that the operation was not tried with.
    fn renew(&self, tries: &mut Tries) -> bool {
        let old = self.client();
        if old.keys.is_none() {
            return false;
        }
        // What is wrong with the files, which may be written just now, says less than the server.
        let Ok(fresh) = build::client(&self.remote, &self.options, old.region.as_deref(), &self.requests) else { return false };
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if fresh.keys.is_some() && fresh.keys != client.keys {
            *client = Arc::new(fresh);
            self.renewals.fetch_add(1, Ordering::Release);
        }
        tries.is_renewed(self.renewals.load(Ordering::Acquire), &client.secrets)
    }
}
