//! The text that names a store, and the node in it: paths and URLs.
//!
//! | text | store |
//! |---|---|
//! | `dir/x.zarr`, `/dir/x.zarr` | a folder |
//! | `file:///dir/x%20y.zarr`, `file:/dir/x.zarr`, `file:x.zarr` | a folder, percent-decoded |
//! | `dir/x.zip`, `dir/x.ozx`, `file:///dir/x.zip` | a zip archive (or a folder, if a folder is there) |
//! | `zip:dir/x.data`, `zip:///dir/x.data` | a zip archive, whatever its name ends in |
//! | `s3:`, `gs:`, `az:`, `abfs:`, `http:`, `https:` | an object store or a web server ([`super::remote`]) |
//! | `memory:` | a new store in memory |
//! | `memory:name` | the store of that name in this process's memory, as long as anybody has it open |
//!
//! The root of the hierarchy is the shortest prefix whose last component ends in `.zarr`, `.zip` or `.ozx`, else the
//! whole location; what follows is the path of a node. After `zip:` only `.zip` and `.ozx` count. Any other scheme is refused by
//! its name.

use super::SharedStore;
use super::file_options::{FileOptions, Publish};
use super::local::LocalStore;
use super::local::path::not_absolute;
use super::memory::MemoryStore;
use super::remote::{Remote, RemoteOptions, Service, percent_decode, percent_encode};
use super::root_last::RootLast;
use super::zip::{self, ZipStore};
use crate::error::{Result, bail, err};
use crate::fork;
use crate::platform::path_of;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// A folder.
    Folder(PathBuf),
    /// A zip archive.
    Zip(PathBuf),
    /// A place in an object store or on a web server; a zip archive there if it is said so.
    Remote(Box<Remote>, bool),
    /// This process's memory: a new store if the name is empty, else the one of that name.
    Memory(String),
}

impl Root {
    /// Opens the store, and gives the path in it of the node that a location has at `node` below this root. `writable` is for folders, archives
    /// and object stores, `files` for the first two (its `publish` for folders and object stores), `options` for the last.
    pub fn open(&self, node: &str, writable: bool, files: FileOptions, options: &RemoteOptions) -> Result<(SharedStore, String)> {
        let store: SharedStore = match self {
            Root::Folder(path) => Arc::new(LocalStore::open(path, writable, files)?),
            // A folder may have any name.
            Root::Zip(path) if path.is_dir() => Arc::new(LocalStore::open(path, writable, files)?),
            Root::Zip(path) => return Ok(in_archive(zip::open_shared(path, writable, files)?, node)),
            Root::Remote(remote, false) if writable && files.publish == Publish::Flush => {
                Arc::new(RootLast::new(open_remote(remote, options)?))
            }
            Root::Remote(remote, false) => open_remote(remote, options)?,
            Root::Remote(remote, true) => return Ok(in_archive(open_far_archive(remote, writable, options)?, node)),
            Root::Memory(name) if name.is_empty() => Arc::new(MemoryStore::new()),
            Root::Memory(name) => named_memory(name),
        };
        Ok((store, node.to_string()))
    }

    /// This root as an absolute one, wherever the current folder of the program is later, or that of another one is.
    pub fn absolute(&self) -> Result<Root> {
        let absolute = |path: &PathBuf| std::path::absolute(path).map_err(|e| not_absolute(path, &e));
        Ok(match self {
            Root::Folder(path) => Root::Folder(absolute(path)?),
            Root::Zip(path) => Root::Zip(absolute(path)?),
            Root::Remote(..) | Root::Memory(_) => self.clone(),
        })
    }

    /// What is below `path`, as a root of its own; `None` where stores have no such parts.
    pub fn below(&self, path: &str) -> Option<Root> {
        match self {
            _ if path.is_empty() => Some(self.clone()),
            Root::Folder(folder) => Some(Root::Folder(folder.join(path))),
            Root::Zip(folder) if folder.is_dir() => Some(Root::Folder(folder.join(path))),
            Root::Remote(remote, false) => Some(Root::Remote(Box::new(remote.at(&format!("{}/{path}", remote.path))), false)),
            _ => None,
        }
    }

    /// A location that [`parse`] understands as this root, with the credentials that it was given; `None` if no text says it.
    pub fn location(&self) -> Option<String> {
        match self {
            Root::Folder(path) => match path.to_str().filter(|text| scheme(text).is_none()) {
                Some(text) => Some(text.to_string()),
                None => Some(format!("file:{}", percent_encode(path.as_os_str().as_encoded_bytes()))),
            },
            Root::Zip(path) => match path.to_str() {
                // A name that looks like a URL follows its folder.
                Some(text) if text.starts_with(':') || scheme(text).is_some() => Some(format!("zip:./{text}")),
                Some(text) if !text.starts_with("//") => Some(format!("zip:{text}")),
                _ => path.has_root().then(|| format!("zip://{}", percent_encode(path.as_os_str().as_encoded_bytes()))),
            },
            Root::Remote(remote, _) => Some(remote.location()),
            Root::Memory(name) => Some(name).filter(|name| !name.is_empty()).map(|name| format!("memory:{name}")),
        }
    }

    /// What tells an object store with these options from one of another server; nothing of folders.
    pub fn server(&self, options: &RemoteOptions) -> Vec<String> {
        let env = |name: &str| std::env::var(name).ok();
        match self {
            Root::Remote(remote, _) => options.server(remote, &env, &|options| of_profile(options, &env)),
            _ => Vec::new(),
        }
    }
}

fn in_archive(store: Arc<ZipStore>, node: &str) -> (SharedStore, String) {
    let path = store.path_below(node);
    (store, path)
}

/// Opens a zip archive in an object store.
fn open_far_archive(remote: &Remote, writable: bool, options: &RemoteOptions) -> Result<Arc<ZipStore>> {
    let (folder, name) = remote.path.rsplit_once('/').unwrap_or(("", &remote.path));
    if writable && cfg!(feature = "cloud") {
        bail!(ReadOnly, "{}: a zip archive in an object store is for reading only; write it into a file and copy that", remote.describe());
    }
    Ok(Arc::new(ZipStore::over(open_remote(&remote.at(folder), options)?, name)?))
}

#[cfg(feature = "cloud")]
fn open_remote(remote: &Remote, options: &RemoteOptions) -> Result<SharedStore> {
    Ok(Arc::new(super::object::RemoteStore::open(remote, options)?))
}

#[cfg(not(feature = "cloud"))]
fn open_remote(remote: &Remote, _: &RemoteOptions) -> Result<SharedStore> {
    bail!(Unsupported, "{}: this library was built without the feature \"cloud\" (cmake -DOZARR_CLOUD=ON)", remote.describe())
}

#[cfg(feature = "cloud")]
fn of_profile(options: &RemoteOptions, env: &dyn Fn(&str) -> Option<String>) -> (Option<String>, Option<String>) {
    super::object::of_profile(options, env)
}

#[cfg(not(feature = "cloud"))]
fn of_profile(_: &RemoteOptions, _: &dyn Fn(&str) -> Option<String>) -> (Option<String>, Option<String>) {
    (None, None)
}

/// A location as it is written, to be shown: without the user, the password and the query of a web server's URL.
pub fn shown(location: &str) -> String {
    let Some((scheme, rest)) = scheme(location) else { return location.to_string() };
    match Remote::parse(scheme, rest) {
        // What is none may have a password anywhere.
        Err(_) => return format!("{scheme}://"),
        Ok(None) if scheme.eq_ignore_ascii_case("zip") && is_url(rest) => return format!("{scheme}:"),
        Ok(Some(remote)) if remote.service == Service::Http => {}
        // The URL of a service that is not known may have one, too.
        Ok(None) if rest.starts_with('/') && !["file", "zip", "memory"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) => {
            return format!("{scheme}://");
        }
        Ok(_) => return location.to_string(),
    }
    let place = rest.strip_prefix("//").unwrap_or(rest).split(['?', '#']).next().unwrap_or_default();
    let authority = place.split('/').next().unwrap_or_default();
    let user = authority.rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &place[user..])
}

/// Whether what follows `zip:` is a URL.
fn is_url(rest: &str) -> bool {
    rest.starts_with(':') || scheme(rest).is_some()
}

/// The place in an object store that a location names, if it is one.
fn remote_of(location: &str) -> Result<Option<Remote>> {
    scheme(location).map_or(Ok(None), |(scheme, rest)| Remote::parse(scheme, rest))
}

/// The memory store of that name, a new one if nobody has it open.
fn named_memory(name: &str) -> SharedStore {
    static NAMED: Mutex<Vec<(String, Weak<MemoryStore>)>> = Mutex::new(Vec::new());
    // A child of `fork` must not find the names locked.
    let _no_fork = fork::hold();
    let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(store) = named.iter().find(|(known, _)| known == name).and_then(|(_, store)| store.upgrade()) {
        return store;
    }
    named.retain(|(_, store)| store.strong_count() > 0);
    let store = Arc::new(MemoryStore::new());
    named.push((name.to_string(), Arc::downgrade(&store)));
    store
}

/// Understands a location that is a root as a whole.
pub fn parse(location: &str) -> Result<Root> {
    if let Some(remote) = remote_of(location)? {
        let mut components = remote.path.rsplit('/').map(|component| ends_in(component.as_bytes(), ARCHIVES));
        let is_fixed = is_fixed_archive(&remote);
        let is_archive = components.next() == Some(true) || is_fixed;
        if components.any(|is_archive| is_archive) || is_fixed && !remote.path.is_empty() {
            bail!(
                Location,
                "{}: the root lies inside of an archive; open the archive, and name the node by its path in it",
                remote.describe()
            );
        }
        return Ok(Root::Remote(Box::new(remote), is_archive));
    }
    let place = BarePath::of(location)?;
    let root = place.bytes.clone();
    let mut above = root.split(|&b| b == b'/');
    let last = above.next_back().unwrap_or_default();
    if place.scheme != Scheme::Memory
        && above.any(|component| ends_in(component, ARCHIVES))
        && !path_of(root.clone()).is_some_and(|path| path.is_dir())
    {
        bail!(Location, "{location}: the root lies inside of an archive; open the archive, and name the node by its path in it");
    }
    let is_archive = ends_in(last, ARCHIVES);
    place.root(root, is_archive)
}

/// Splits a location into its root and the path of a node (without slashes at its ends, empty for the root itself).
pub fn split(location: &str) -> Result<(Root, String)> {
    if let Some(remote) = remote_of(location)? {
        return Ok(split_remote(remote));
    }
    let place = BarePath::of(location)?;
    let endings: &[&[u8]] = if place.scheme == Scheme::Zip { &[] } else { &[b".zarr"] };
    let mut end = 0;
    let mut found = None;
    let mut is_archive = false;
    for component in place.bytes.split(|&b| b == b'/') {
        end += component.len();
        is_archive = ends_in(component, ARCHIVES);
        if is_archive || ends_in(component, endings) {
            found = Some(end);
            break;
        }
        end += 1;
    }
    let (root, rest) = place.bytes.split_at(found.unwrap_or(place.bytes.len()));
    let rest = std::str::from_utf8(rest).map_err(|_| err!(Location, "{location}: the path in the store is not UTF-8"))?;
    let path: Vec<&str> = rest.split('/').filter(|component| !component.is_empty()).collect();
    Ok((place.root(root.to_vec(), is_archive)?, path.join("/")))
}

/// As [`split`]. A bucket may have the name of a store, too.
fn split_remote(remote: Remote) -> (Root, String) {
    if remote.base.ends_with(".zarr") && !remote.base.contains("://") {
        return (Root::Remote(Box::new(remote.at("")), false), remote.path.clone());
    }
    if is_fixed_archive(&remote) {
        return (Root::Remote(Box::new(remote.at("")), true), remote.path.clone());
    }
    let (mut end, mut is_archive) = (0, false);
    for component in remote.path.split('/') {
        end += component.len();
        is_archive = ends_in(component.as_bytes(), ARCHIVES);
        if is_archive || component.ends_with(".zarr") {
            break;
        }
        end = (end + 1).min(remote.path.len());
    }
    let (root, rest) = remote.path.split_at(end);
    (Root::Remote(Box::new(remote.at(root)), is_archive), rest.trim_start_matches('/').to_string())
}

/// Whether a slash is written as `%2F` in the name of an archive on a web server.
fn is_fixed_archive(remote: &Remote) -> bool {
    remote.fixed_name().is_some_and(|name| ends_in(name.as_bytes(), ARCHIVES))
}

/// How names of archives end.
const ARCHIVES: &[&[u8]] = &[b".zip", b".ozx"];

fn ends_in(component: &[u8], endings: &[&[u8]]) -> bool {
    endings.iter().any(|ending| component.ends_with(ending))
}

/// What a location's scheme says of its root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    File,
    Memory,
    Zip,
}

/// A location without its scheme: a path of bytes without slashes at its end.
struct BarePath {
    scheme: Scheme,
    bytes: Vec<u8>,
}

impl BarePath {
    fn of(location: &str) -> Result<BarePath> {
        if location.is_empty() {
            bail!(Location, "the location is empty");
        }
        let (scheme, mut bytes) = match scheme(location) {
            None => (Scheme::File, path_bytes(location)),
            Some((scheme, rest)) => match scheme.to_ascii_lowercase().as_str() {
                "file" => match rest.split_once("#mode=") {
                    // How netCDF-C is told of a Zarr hierarchy.
                    Some((path, modes)) if modes.split(',').any(|mode| mode == "zip") => (Scheme::Zip, file_path(location, path)?),
                    Some((path, _)) => (Scheme::File, file_path(location, path)?),
                    None => (Scheme::File, file_path(location, rest)?),
                },
                "zip" if rest.starts_with("//") => (Scheme::Zip, file_path(location, rest)?),
                "zip" if rest.is_empty() => bail!(Location, "{location} names no archive"),
                // It may have a password, and is not told.
                "zip" if is_url(rest) => bail!(
                    Unsupported,
                    "{scheme}: a local file follows zip:, not a URL (put ./ in front of its name); an archive on a server ends in .zip or .ozx"
                ),
                "zip" => (Scheme::Zip, path_bytes(rest)),
                "memory" => (Scheme::Memory, rest.trim_start_matches('/').as_bytes().to_vec()),
                _ => bail!(Unsupported, "the scheme {scheme}: is unknown; for a file of that name put ./ in front"),
            },
        };
        if bytes.contains(&0) {
            bail!(Location, "the location contains a NUL");
        }
        while bytes.len() > 1 && bytes.ends_with(b"/") && !(cfg!(windows) && bytes.ends_with(b":/")) {
            bytes.pop();
        }
        Ok(BarePath { scheme, bytes })
    }

    fn root(&self, bytes: Vec<u8>, is_archive: bool) -> Result<Root> {
        let path = |bytes| path_of(bytes).ok_or_else(|| err!(Location, "the path is not UTF-8"));
        match self.scheme {
            Scheme::Memory if is_archive => bail!(Unsupported, "a zip archive in memory has no location"),
            Scheme::Memory => {
                String::from_utf8(bytes).map(Root::Memory).map_err(|_| err!(Location, "the name of a memory store is not UTF-8"))
            }
            Scheme::File if !is_archive => Ok(Root::Folder(path(bytes)?)),
            Scheme::File | Scheme::Zip => Ok(Root::Zip(path(bytes)?)),
        }
    }
}

/// The scheme of a URL and what follows its colon; `None` for a path.
fn scheme(location: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = location.split_once(':')?;
    // The letter of a drive.
    if cfg!(windows) && scheme.len() == 1 {
        return None;
    }
    let letters = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let is_scheme = letters && scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    is_scheme.then_some((scheme, rest))
}

/// The bytes of a path, with slashes between its names.
fn path_bytes(path: &str) -> Vec<u8> {
    if cfg!(windows) { path.replace('\\', "/").into_bytes() } else { path.as_bytes().to_vec() }
}

/// The path of a `file:` URL, percent-decoded.
fn file_path(location: &str, rest: &str) -> Result<Vec<u8>> {
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                bail!(Location, "{location}: files of the host {host} cannot be reached; local ones begin with file:///");
            }
            path
        }
    };
    if path.is_empty() {
        bail!(Location, "{location}: the URL has no path");
    }
    if let Some(odd) = path.chars().find(|c| matches!(c, '?' | '#')) {
        bail!(Location, "{location}: a {odd} in a path is written %{:02X} in a URL", odd as u32);
    }
    // file:///C:/x is C:/x.
    let path = if cfg!(windows) && path.as_bytes().get(2) == Some(&b':') { path.trim_start_matches('/') } else { path };
    percent_decode(path).ok_or_else(|| err!(Location, "{location}: a % is not followed by two hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};
    use crate::store::{Condition, get};

    fn folder(path: &str) -> Root {
        Root::Folder(PathBuf::from(path))
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_location_is_shown_without_credentials() {
        for (location, expected) in [
            ("dir/a?b.zarr", "dir/a?b.zarr"),
            ("file:///dir/us:w@h?x.zarr", "file:///dir/us:w@h?x.zarr"),
            ("s3://b/x?y.zarr", "s3://b/x?y.zarr"),
            ("abfs://c@a/x.zarr", "abfs://c@a/x.zarr"),
            ("https://h/a%20b/x.zarr", "https://h/a%20b/x.zarr"),
            ("HTTPS://us:w@h:9/x.zarr?sig=1#f", "HTTPS://h:9/x.zarr"),
            ("http://us@w@h/a@b/x.zarr", "http://h/a@b/x.zarr"),
            ("https://h?sig=1", "https://h"),
            ("https://us:w/x@h/x.zarr", "https://"),
            ("http:/us:w@h/x.zarr", "http://"),
            ("s3://key:w@b/x.zarr", "s3://"),
            ("abfs://us:w@h:9/x.zarr", "abfs://"),
            ("az:?sig=1", "az://"),
            ("zip:https://us:w@h/x.zip?sig=1", "zip:"),
            ("zip:HTTP:us:w@h/x.zip", "zip:"),
            ("zip::s3://key:w@b/x.zip", "zip:"),
            ("zip:///d/us:w@h.zip", "zip:///d/us:w@h.zip"),
            ("ftp://us:w@h/x", "ftp://"),
            ("sftp:/us:w/x@h", "sftp://"),
            ("ftps://h/x?token=w", "ftps://"),
            ("FILE:/d/us:w@h", "FILE:/d/us:w@h"),
            ("memory:/a@b", "memory:/a@b"),
            ("az://c/x?sv=1&sig=w", "az://"),
            ("s3://b/x?AWSAccessKeyId=a&Expires=1&Signature=w", "s3://"),
            ("run:1.zarr", "run:1.zarr"),
        ] {
            assert_eq!(shown(location), expected, "{location}");
        }
    }

    #[test]
    fn a_path_that_counts_from_a_current_folder_that_is_gone_is_told_as_that() {
        use crate::store::local::{LocalStore, SyncMode};
        let gone = crate::store::suite::TestFolder::made("gone");
        let is_told = |e: Error| {
            let (kind, errno, text) = (e.kind(), e.os_errno(), e.to_string());
            (kind, errno) == (ErrorKind::Location, libc::ENOENT)
                && text.contains("\"x/a.zarr\" counts from the current folder, which cannot")
        };
        let path = std::path::Path::new("x/a.zarr");
        let ended = crate::fork::tests::in_child(|| {
            if std::env::set_current_dir(&*gone).and_then(|()| std::fs::remove_dir_all(&*gone)).is_err() {
                return 1;
            }
            let roots = [folder("x/a.zarr"), Root::Zip(path.into())].map(|root| root.absolute());
            2 * i32::from(!roots.into_iter().all(|root| root.is_err_and(is_told)))
                + 4 * i32::from(!LocalStore::open(path, true, SyncMode::None).is_err_and(is_told))
                + 8 * i32::from(!ZipStore::open(path, true, SyncMode::None).is_err_and(is_told))
                + 16 * i32::from(!zip::open_shared(path, true, SyncMode::None).is_err_and(is_told))
        });
        assert_eq!(ended, 0);
    }

    #[test]
    fn a_fragment_of_netcdf_is_taken_off() {
        assert_eq!(parse("file:///d/x.zarr#mode=nczarr,file").unwrap(), folder("/d/x.zarr"));
        assert_eq!(parse("file:///d/x.nz#mode=nczarr,zip").unwrap(), Root::Zip(PathBuf::from("/d/x.nz")));
        assert_eq!(parse("/d/x#mode=a").unwrap(), folder("/d/x#mode=a"));
    }

    /// Other processes open a store by the location that it tells, whatever it was opened by.
    #[test]
    fn a_root_tells_a_location_that_is_understood_as_the_same_root() {
        let texts = [
            ("/d/x.zarr", "/d/x.zarr"),
            ("./run:1.zarr", "./run:1.zarr"),
            ("file:run:1.zarr", "file:run%3A1.zarr"),
            ("file:///d/a%20b.zarr#mode=zarr", "/d/a b.zarr"),
            ("file:///d/%FF%23.zarr", "file:/d/%FF%23.zarr"),
            ("d/x.zip", "zip:d/x.zip"),
            ("zip:///d/x.data", "zip:/d/x.data"),
            ("memory:sim.zarr", "memory:sim.zarr"),
            ("s3a://bucket/a b/x.zarr/", "s3://bucket/a b/x.zarr"),
            ("az://c/x.zarr", "az://c/x.zarr"),
            ("abfs://c@account/x.zarr", "abfs://c@account/x.zarr"),
            ("abfs://c@account.dfs.core.windows.net/x.zarr", "abfs://c@account.blob.core.windows.net/x.zarr"),
            ("https://u:w@h:80/a%20%3F/x.zarr?token", "https://u:w@h:80/a%20%3F/x.zarr?token"),
            ("https://u:w@h/api/a%2Fb/raw%20/x.zarr", "https://u:w@h/api/a%2Fb/raw%20/x.zarr"),
            ("https://u:w@h//a%2fx.zarr", "https://u:w@h/a%2fx.zarr/"),
        ];
        for (location, told) in texts {
            let root = parse(location).unwrap();
            assert_eq!(root.location().as_deref(), Some(told), "{location}");
            assert_eq!(parse(told).unwrap(), root, "{location}");
        }
        #[cfg(unix)]
        for path in [&b"/d/\xff/x.zip"[..], b"//d/x.zip"] {
            let root = Root::Zip(path_of(path.to_vec()).unwrap());
            assert_eq!(parse(&root.location().unwrap()).unwrap(), root);
        }
        let archive = parse("file:run:1.zip").unwrap().location().unwrap();
        assert_eq!((archive.as_str(), parse(&archive).unwrap()), ("zip:./run:1.zip", Root::Zip(PathBuf::from("./run:1.zip"))));
        assert_eq!(parse("memory:").unwrap().location(), None);
        let below = |location: &str| parse(location).unwrap().below("states/one").and_then(|root| root.location());
        assert_eq!(below("file:///d/x.zarr#mode=zarr").as_deref(), Some("/d/x.zarr/states/one"));
        assert_eq!(below("s3://bucket").as_deref(), Some("s3://bucket/states/one"));
        assert_eq!(below("https://h/x.zarr?token").as_deref(), Some("https://h/x.zarr/states/one?token"));
        assert_eq!(below("d/x.zip"), None);
    }

    #[test]
    fn a_root_is_the_same_in_other_current_folders() {
        let here = std::env::current_dir().unwrap();
        let absolute = |location: &str| parse(location).unwrap().absolute().unwrap();
        assert_eq!(absolute("./d/x.zarr"), Root::Folder(here.join("d/x.zarr")));
        assert_eq!(absolute("zip:x.data"), Root::Zip(here.join("x.data")));
        for same in ["/d/x.zarr", "file:///d/x.zip", "memory:sim", "s3://bucket/x.zarr"] {
            assert_eq!(absolute(same), parse(same).unwrap(), "{same}");
        }
    }

    #[test]
    fn a_location_is_split_after_the_first_component_that_names_a_store() {
        let memory = |name: &str| Root::Memory(name.to_string());
        let archive = |path: &str| Root::Zip(PathBuf::from(path));
        let cases = [
            ("x.zarr", folder("x.zarr"), ""),
            ("x.zarr/", folder("x.zarr"), ""),
            ("x.zarr//a//b/", folder("x.zarr"), "a/b"),
            ("/d/x.zarr/a/y.zarr/b", folder("/d/x.zarr"), "a/y.zarr/b"),
            ("./d/../x.zarr/a", folder("./d/../x.zarr"), "a"),
            ("plain/folder/", folder("plain/folder"), ""),
            ("x.zarr.bak/a", folder("x.zarr.bak/a"), ""),
            (".zarr/a", folder(".zarr"), "a"),
            ("/", folder("/"), ""),
            ("///", folder("/"), ""),
            ("12:30.zarr/t", folder("12:30.zarr"), "t"),
            ("./run:1.zarr/t", folder("./run:1.zarr"), "t"),
            ("a b/ü.zarr/t%20", folder("a b/ü.zarr"), "t%20"),
            ("file:///d/a%20b.zarr/t%C3%BC", folder("/d/a b.zarr"), "tü"),
            ("file://localhost/d/x.zarr", folder("/d/x.zarr"), ""),
            ("FILE:/d/x.zarr/a", folder("/d/x.zarr"), "a"),
            ("file:x.zarr/a", folder("x.zarr"), "a"),
            ("d/x.zip", archive("d/x.zip"), ""),
            ("d/x.zip/a.zarr/b/", archive("d/x.zip"), "a.zarr/b"),
            ("d/x.ozx/a", archive("d/x.ozx"), "a"),
            ("d.zarr/x.zip/a", folder("d.zarr"), "x.zip/a"),
            ("file:///d/a%20b.zip/t", archive("/d/a b.zip"), "t"),
            ("zip:x.data", archive("x.data"), ""),
            ("zip:./run:1.data", archive("./run:1.data"), ""),
            ("zip:d.zarr/x.zip/a", archive("d.zarr/x.zip"), "a"),
            ("zip:///d/a%20b", archive("/d/a b"), ""),
            ("memory:", memory(""), ""),
            ("memory://", memory(""), ""),
            ("memory:sim.zarr/t", memory("sim.zarr"), "t"),
            ("memory:sim/t", memory("sim/t"), ""),
        ];
        for (location, root, path) in cases {
            assert_eq!(split(location).unwrap(), (root, path.to_string()), "{location}");
        }
    }

    #[test]
    fn a_whole_location_is_not_split() {
        assert_eq!(parse("d/x.zarr/a/").unwrap(), folder("d/x.zarr/a"));
        assert_eq!(parse("file:///d/x.zarr/a").unwrap(), folder("/d/x.zarr/a"));
        assert_eq!(parse("d/x.zip").unwrap(), Root::Zip(PathBuf::from("d/x.zip")));
        assert_eq!(parse("zip:d/x").unwrap(), Root::Zip(PathBuf::from("d/x")));
        let e = parse("d/x.zip/a").unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Location, "{e}");
    }

    #[test]
    fn what_cannot_be_opened_is_refused_by_name() {
        let cases = [
            ("", ErrorKind::Location, "empty"),
            ("a\0b", ErrorKind::Location, "NUL"),
            ("file:///a%00b", ErrorKind::Location, "NUL"),
            ("file:///a%2", ErrorKind::Location, "hexadecimal"),
            ("file:///a%+1", ErrorKind::Location, "hexadecimal"),
            ("file:///a?b", ErrorKind::Location, "%3F"),
            ("file://host/a", ErrorKind::Location, "host"),
            ("file://", ErrorKind::Location, "no path"),
            ("file:///x.zarr/%FF", ErrorKind::Location, "UTF-8"),
            ("s3:bucket/x.zarr", ErrorKind::Location, "s3://"),
            ("https:///x.zarr", ErrorKind::Location, "no host"),
            ("zip:", ErrorKind::Location, "no archive"),
            ("zip:s3://b/run.zip", ErrorKind::Unsupported, "local file"),
            ("zip::s3://b/run.zip", ErrorKind::Unsupported, "local file"),
            ("zip:https://h/run.zip", ErrorKind::Unsupported, "local file"),
            ("memory:x.zip/a", ErrorKind::Unsupported, "zip archive in memory"),
            ("ftp://host/x.zarr", ErrorKind::Unsupported, "ftp:"),
            ("run:1.zarr", ErrorKind::Unsupported, "./"),
        ];
        for (location, kind, text) in cases {
            let e = split(location).unwrap_err();
            assert_eq!(e.kind(), kind, "{location}");
            assert!(e.message().contains(text), "{location}: {e}");
            assert!(!e.message().contains("run.zip"), "{location}: a URL may have a password: {e}");
        }
    }

    #[test]
    fn a_url_is_split_like_a_path_and_keeps_its_query() {
        let cases = [
            ("s3://b/d/x.zarr/a/b", "s3://b/d/x.zarr", "a/b", false),
            ("s3://b/d/x", "s3://b/d/x", "", false),
            ("s3://b/d/x.zarr#mode=nczarr,s3", "s3://b/d/x.zarr", "", false),
            ("s3://b/d/x.zarr#1/a", "s3://b/d/x.zarr#1/a", "", false),
            ("s3://b", "s3://b", "", false),
            ("s3://b.zarr/x.zarr/a", "s3://b.zarr", "x.zarr/a", false),
            ("gs://b/x.zip/a", "gs://b/x.zip", "a", true),
            ("az://c/x.ozx", "az://c/x.ozx", "", true),
            ("https://h.zarr/d/x.zarr/a?sig=1", "https://h.zarr/d/x.zarr", "a", false),
            ("https://h/o/d%2Fx.zip/g/a?sig=1", "https://h/o/d%2Fx.zip", "g/a", true),
            ("https://h/o/d%2Fx.zip", "https://h/o/d%2Fx.zip", "", true),
            ("https://h.zip/o%2Fd/a", "https://h.zip/o%2Fd/a", "", false),
        ];
        for (location, root, path, archive) in cases {
            let (found, rest) = split(location).unwrap();
            let Root::Remote(remote, is_archive) = &found else { panic!("{location}: {found:?}") };
            assert_eq!((remote.describe().as_str(), rest.as_str(), *is_archive), (root, path, archive), "{location}");
            assert_eq!(remote.query.is_some(), location.contains('?'), "{location}");
        }
        assert!(matches!(parse("s3://b/x.zarr/a").unwrap(), Root::Remote(remote, false) if remote.path == "x.zarr/a"));
        assert!(matches!(parse("s3://b/x.zip").unwrap(), Root::Remote(_, true)));
        assert!(matches!(parse("https://h/d%2Fx.zip").unwrap(), Root::Remote(_, true)));
        for inside in ["s3://b/x.zip/a", "https://h/d%2Fx.zip/a", "https://h/d%2Fx.zip/y.zip"] {
            assert_eq!(parse(inside).unwrap_err().kind(), ErrorKind::Location);
        }
    }

    #[cfg(not(feature = "cloud"))]
    #[test]
    fn without_the_feature_a_url_is_refused_by_its_name() {
        let e = parse("s3://b/x.zarr").unwrap().open("", true, FileOptions::default(), &RemoteOptions::default()).err().unwrap();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
        assert!(e.message().contains("feature \"cloud\""), "{e}");
    }

    #[test]
    fn a_named_memory_store_is_shared_as_long_as_it_is_open() {
        let open = |name: &str| Root::Memory(name.to_string()).open("", true, FileOptions::default(), &RemoteOptions::default()).unwrap().0;
        let (a, b) = (open("shared-test"), open("shared-test"));
        a.put("k", &[b"v"], Condition::None).unwrap();
        assert_eq!(get(&*b, "k", 9).unwrap().unwrap(), b"v");
        assert!(get(&*open(""), "k", 9).unwrap().is_none());
        drop((a, b));
        assert!(get(&*open("shared-test"), "k", 9).unwrap().is_none());
    }
}
