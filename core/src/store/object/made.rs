//! A client of a service that was made, and what is to be known of it.

use object_store::ObjectStore;
use object_store::list::PaginatedListStore;
use object_store::multipart::MultipartStore;
use std::sync::Arc;

/// A client and what is to be known of it.
pub(super) struct Client {
    pub store: Arc<dyn ObjectStore>,
    /// For uploads in parts.
    pub parts: Option<Arc<dyn MultipartStore>>,
    /// For listings by pages.
    pub pages: Option<Arc<dyn PaginatedListStore>>,
    /// Tells servers apart that are known to keep conditions of puts.
    pub server: u64,
    /// Whether conditions of puts are kept, where that is known.
    pub conditional: Option<bool>,
    /// Nobody said which region the bucket is in.
    pub region_is_guessed: bool,
    /// The region that a server has named.
    pub region: Option<String>,
    /// The keys of S3 that requests are signed with, where they were given or stand in a file.
    pub keys: Option<S3Keys>,
    /// Texts that no message may hold.
    pub secrets: Vec<String>,
    /// Requests are not signed because no credentials were found.
    pub found_no_credentials: bool,
    /// Credentials of the environment are not used, as they are for another account or host.
    pub withholds: bool,
}

impl Client {
    /// That of another service than S3.
    pub fn without_keys(
        store: Arc<dyn ObjectStore>,
        parts: Option<Arc<dyn MultipartStore>>,
        pages: Option<Arc<dyn PaginatedListStore>>,
        conditional: bool,
        secrets: Vec<String>,
    ) -> Client {
        let (conditional, region, keys) = (Some(conditional), None, None);
        let (region_is_guessed, found_no_credentials, withholds) = (false, false, false);
        Client { store, parts, pages, server: 0, conditional, region_is_guessed, region, keys, secrets, found_no_credentials, withholds }
    }
}

/// Key, secret and token of S3.
pub(super) type S3Keys = (String, String, Option<String>);
