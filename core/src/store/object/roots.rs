//! The certificates of the system's authorities. They are read when a server first shows a certificate, and once in a process: that takes
//! milliseconds, opens some hundred files, and is for nothing where servers speak plain HTTP.

use crate::fork::{ForkReset, Lazy};
use reqwest::ClientBuilder;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_native_certs::{CertificateResult, load_certs_from_paths, load_native_certs};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Lets a client trust the system's authorities, and those of the certificates besides.
pub(super) fn trust(builder: ClientBuilder, others: Vec<CertificateDer<'static>>) -> Result<ClientBuilder, Error> {
    let provider = CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
    let mut roots = RootCertStore::empty();
    others.into_iter().try_for_each(|other| roots.add(other))?;
    let verifier = SystemVerifier { places: places(), others: roots, provider: provider.clone(), known: OnceLock::new() };
    let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(rustls::ALL_VERSIONS)?;
    let mut config = config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth();
    config.alpn_protocols = vec!["http/1.1".into()];
    Ok(builder.tls_backend_preconfigured(config))
}

/// How often they were read.
#[cfg(test)]
static READS: AtomicUsize = AtomicUsize::new(0);

/// A file of certificates and a list of folders, in place of the system's.
type Places = [Option<OsString>; 2];

/// The places that the variables name. They are looked at in the caller's thread, as the program may set them at any other time.
fn places() -> Places {
    ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(std::env::var_os)
}

/// Reads what is in these places, or, where none is named, in the system's.
fn load([file, folders]: &Places) -> CertificateResult {
    let folders = folders.iter().flat_map(std::env::split_paths).filter(|folder| !folder.as_os_str().is_empty());
    let named = file.iter().map(|file| (Some(Path::new(file)), None));
    let folders: Vec<PathBuf> = folders.collect();
    let all = named.chain(folders.iter().map(|folder| (None, Some(folder.as_path()))));
    let all = all.map(|(file, folder)| load_certs_from_paths(file, folder)).reduce(|mut all, more| {
        all.certs.extend(more.certs);
        all.errors.extend(more.errors);
        all
    });
    all.unwrap_or_else(load_native_certs)
}

/// What was read, and from where.
#[derive(Default)]
struct Read {
    from: Places,
    roots: Option<Arc<RootCertStore>>,
}

/// Gives the system's authorities, and whether all of them could be read: what an error left out is looked for again.
fn system(places: &Places) -> (Arc<RootCertStore>, bool) {
    static READ: Lazy<ForkReset<Mutex<Read>>> = Lazy::new(|| ForkReset::new(Mutex::default));
    let mut read = READ.get().get().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(roots) = read.roots.as_ref().filter(|_| read.from == *places) {
        return (roots.clone(), true);
    }
    #[cfg(test)]
    READS.fetch_add(1, Ordering::Relaxed);
    let found = load(places);
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    let (roots, is_whole) = (Arc::new(roots), found.errors.is_empty());
    if is_whole && !roots.is_empty() {
        *read = Read { from: places.clone(), roots: Some(roots.clone()) };
    }
    (roots, is_whole)
}

/// Looks for the system's authorities when a server shows its certificate.
#[derive(Debug)]
struct SystemVerifier {
    places: Places,
    others: RootCertStore,
    provider: Arc<CryptoProvider>,
    known: OnceLock<Arc<WebPkiServerVerifier>>,
}

impl SystemVerifier {
    fn verifier(&self) -> Result<Arc<WebPkiServerVerifier>, Error> {
        if let Some(known) = self.known.get() {
            return Ok(known.clone());
        }
        let (mut roots, is_whole) = system(&self.places);
        if !self.others.is_empty() {
            let mut all = self.others.clone();
            all.roots.extend(roots.roots.iter().cloned());
            roots = Arc::new(all);
        }
        let none = |_| Error::General("no certificates of authorities are on this system".into());
        let made = WebPkiServerVerifier::builder_with_provider(roots, self.provider.clone()).build().map_err(none)?;
        if is_whole {
            let _ = self.known.set(made.clone());
        }
        Ok(made)
    }
}

impl ServerCertVerifier for SystemVerifier {
    fn verify_server_cert(
        &self,
        of_server: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verifier()?.verify_server_cert(of_server, between, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::get;
    use crate::store::object::tests::{serve, store_at};

    #[test]
    fn the_systems_certificates_are_read_once_and_not_for_plain_http() {
        let (port, _) = serve(|_| "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_string());
        for _ in 0..3 {
            let store = store_at(port, &[("access_key_id", "an-id"), ("secret_access_key", "a-secret")]);
            assert_eq!(get(&store as &dyn crate::store::Storage, "a", 9).unwrap(), None);
        }
        assert_eq!(READS.load(Ordering::Relaxed), 0);
        let verifiers: [_; 3] = std::array::from_fn(|_| SystemVerifier {
            places: places(),
            others: RootCertStore::empty(),
            provider: Arc::new(rustls::crypto::ring::default_provider()),
            known: OnceLock::new(),
        });
        let known = verifiers.each_ref().map(|verifier| verifier.verifier().map(drop));
        let (_, is_whole) = system(&places());
        // A machine without any refuses each server, and is looked at anew.
        assert_eq!(READS.load(Ordering::Relaxed), if known[0].is_ok() && is_whole { 1 } else { 4 });
    }
}
