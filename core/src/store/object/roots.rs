//! The certificates of the system's authorities. They are read when a server first shows a certificate, and once in a process: that takes
//! milliseconds, opens some hundred files, and is for nothing where servers speak plain HTTP.

use crate::fork::{ForkReset, Lazy};
use reqwest::ClientBuilder;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_native_certs::{CertificateResult, ErrorKind, load_certs_from_paths, load_native_certs};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Lets a client trust the system's authorities, and those of the certificates besides.
pub(super) fn trust(builder: ClientBuilder, others: Vec<CertificateDer<'static>>) -> Result<ClientBuilder, Error> {
    let provider = CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
    let mut roots = RootCertStore::empty();
    others.into_iter().try_for_each(|other| roots.add(other))?;
    let verifier = SystemVerifier::new(places(), roots, provider.clone());
    let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(rustls::ALL_VERSIONS)?;
    let mut config = config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth();
    config.alpn_protocols = vec!["http/1.1".into()];
    Ok(builder.tls_backend_preconfigured(config))
}

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
    #[cfg(test)]
    count: usize,
}

/// Keeps what was read; a child of `fork` reads again.
type Kept = ForkReset<Mutex<Read>>;

/// What the process keeps. A test has its own for the clients that its thread makes.
fn kept() -> Arc<Kept> {
    static KEPT: Lazy<Arc<Kept>> = Lazy::new(|| Arc::new(Kept::new(Mutex::default)));
    #[cfg(test)]
    if let Some(own) = tests::OWN.with_borrow(Clone::clone) {
        return own;
    }
    KEPT.get().clone()
}

/// Gives the system's authorities, and whether they are to be kept: what an error left out that may pass is looked for again.
fn system(kept: &Kept, places: &Places) -> (Arc<RootCertStore>, bool) {
    let mut read = kept.get().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(roots) = read.roots.as_ref().filter(|_| read.from == *places) {
        return (roots.clone(), true);
    }
    #[cfg(test)]
    {
        read.count += 1;
    }
    let found = load(places);
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    let (roots, lasts) = (Arc::new(roots), found.errors.iter().all(lasts));
    if lasts && !roots.is_empty() {
        (read.from, read.roots) = (places.clone(), Some(roots.clone()));
    }
    (roots, lasts)
}

/// Whether the next look would end with the same error: a file that this user may not read, that is not there, or that holds something else.
fn lasts(e: &rustls_native_certs::Error) -> bool {
    use std::io::ErrorKind::{NotFound, PermissionDenied};
    match &e.kind {
        ErrorKind::Io { inner, .. } => matches!(inner.kind(), NotFound | PermissionDenied),
        ErrorKind::Pem(_) => true,
        _ => false,
    }
}

/// Looks for the system's authorities when a server shows its certificate.
struct SystemVerifier {
    places: Places,
    kept: Arc<Kept>,
    others: RootCertStore,
    provider: Arc<CryptoProvider>,
    known: OnceLock<Arc<WebPkiServerVerifier>>,
}

impl fmt::Debug for SystemVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemVerifier").field("places", &self.places).finish_non_exhaustive()
    }
}

impl SystemVerifier {
    fn new(places: Places, others: RootCertStore, provider: Arc<CryptoProvider>) -> SystemVerifier {
        SystemVerifier { places, kept: kept(), others, provider, known: OnceLock::new() }
    }

    fn verifier(&self) -> Result<Arc<WebPkiServerVerifier>, Error> {
        if let Some(known) = self.known.get() {
            return Ok(known.clone());
        }
        let (mut roots, lasts) = system(&self.kept, &self.places);
        if !self.others.is_empty() {
            let mut all = self.others.clone();
            all.roots.extend(roots.roots.iter().cloned());
            roots = Arc::new(all);
        }
        let none = |_| Error::General("no certificates of authorities are on this system".into());
        let made = WebPkiServerVerifier::builder_with_provider(roots, self.provider.clone()).build().map_err(none)?;
        if lasts {
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
    use crate::store::object::certificates::tests::AUTHORITY;
    use crate::store::object::tests::{serve, store_at};
    use crate::store::suite::TestFolder;
    use std::cell::RefCell;
    use std::io;

    thread_local! {
        /// What the clients keep that this thread makes.
        pub(super) static OWN: RefCell<Option<Arc<Kept>>> = const { RefCell::new(None) };
    }

    /// Gives the clients of this thread something of their own in which they keep what they read.
    fn own() -> Arc<Kept> {
        let own = Arc::new(Kept::new(Mutex::default));
        OWN.set(Some(own.clone()));
        own
    }

    fn reads(own: &Kept) -> usize {
        own.get().lock().unwrap().count
    }

    fn verifiers(places: &Places) -> [SystemVerifier; 3] {
        let provider = || Arc::new(rustls::crypto::ring::default_provider());
        std::array::from_fn(|_| SystemVerifier::new(places.clone(), RootCertStore::empty(), provider()))
    }

    #[test]
    fn the_systems_certificates_are_read_once_and_not_for_plain_http() {
        let own = own();
        let (port, _) = serve(|_| "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_string());
        for _ in 0..3 {
            let store = store_at(port, &[("access_key_id", "an-id"), ("secret_access_key", "a-secret")]);
            assert_eq!(get(&store as &dyn crate::store::Storage, "a", 9).unwrap(), None);
            assert!(Arc::strong_count(&own) > 2, "its client has it, too");
        }
        assert_eq!(reads(&own), 0);
        let known = verifiers(&places()).map(|verifier| verifier.verifier().map(drop));
        let (_, lasts) = system(&own, &places());
        // A machine without any refuses each server, and is looked at anew.
        assert_eq!(reads(&own), if known[0].is_ok() && lasts { 1 } else { 4 });
    }

    #[test]
    fn a_file_that_holds_no_certificate_keeps_none_from_being_kept() {
        let (own, folder) = (own(), TestFolder::new("authorities"));
        std::fs::create_dir_all(&*folder).unwrap();
        for (name, text) in [("a.pem", AUTHORITY), ("b.pem", "-----BEGIN CERTIFICATE-----\nno end\n")] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        for verifier in verifiers(&[None, Some(folder.as_os_str().to_owned())]) {
            assert!(verifier.verifier().is_ok() && verifier.verifier().is_ok());
        }
        assert_eq!(reads(&own), 1);
    }

    #[test]
    fn errors_that_pass_are_no_reason_to_keep_what_was_read() {
        for (kind, expected) in
            [(io::ErrorKind::PermissionDenied, true), (io::ErrorKind::NotFound, true), (io::ErrorKind::Interrupted, false)]
        {
            let kind = ErrorKind::Io { inner: kind.into(), path: PathBuf::new() };
            assert_eq!(lasts(&rustls_native_certs::Error { context: "", kind }), expected);
        }
    }
}
