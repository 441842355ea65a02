//! `ozarr view`: a page in the browser that shows a store, served by the program itself to this machine only.

mod answer;
mod http;
mod levels;
mod plane;

use crate::failure::{Failure, Outcome};
use crate::output;
use answer::{Answer, Shown};
use clap::Args;
use std::collections::hash_map::RandomState;
use std::fs::{File, remove_file};
use std::hash::BuildHasher;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Look at a store in the browser: its hierarchy, attributes, chunks, and slices of its arrays as pictures
///
/// The page comes from this program, on the loopback interface, under an address with a random part that only you see. It ends by Ctrl-C.
#[derive(Args)]
pub struct View {
    /// A store, or a node in it (`run.zarr`, `run.zarr/temperature`)
    location: String,
    /// The port (one that is free)
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the address and open no browser
    #[arg(long)]
    no_browser: bool,
    /// The address as a JSON object
    #[arg(long)]
    json: bool,
}

impl View {
    pub fn run(&self) -> Outcome {
        let shown = Shown::open(&self.location)?;
        let wrong = |e: io::Error| Failure::Error(format!("127.0.0.1:{}: {e}", self.port));
        let listener = TcpListener::bind(("127.0.0.1", self.port)).map_err(wrong)?;
        let port = listener.local_addr().map_err(wrong)?.port();
        let site = Site { token: token(), port, way: Mutex::default() };
        let address = site.address();
        match self.json {
            true => output::tell(true, [("address", address.as_str().into()), ("port", u64::from(port).into())])?,
            false => output::line(&address)?,
        }
        if !self.no_browser {
            site.browse();
        }
        http::serve(&listener, &Served { site, shown });
        Ok(())
    }
}

/// The page with the store that it shows.
struct Served {
    site: Site,
    shown: Shown,
}

impl http::Page for Served {
    fn admitted<'a>(&self, host: Option<&str>, target: &'a str) -> Option<&'a str> {
        self.site.admitted(host, target)
    }

    fn answer(&self, path: &str) -> Answer {
        self.site.forget_way();
        self.shown.answer(path)
    }
}

/// Where the page is.
struct Site {
    token: String,
    port: u16,
    /// The file that leads the browser there, until it was there.
    way: Mutex<Option<PathBuf>>,
}

/// 128 bits that nobody else knows: two values of a keyed hash whose key the system made.
fn token() -> String {
    let word = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", word(), word())
}

/// Makes a page in the folder that only this user can read, and that leads on to the address.
fn way_to(address: &str, folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join(format!("ozarr-view-{}.html", token()));
    let page = format!("<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={address}\"><a href=\"{address}\">The store</a>\n");
    File::options().write(true).create_new(true).mode(0o600).open(&path)?.write_all(page.as_bytes())?;
    Ok(path)
}

impl Site {
    fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Opens the address in the browser, by a file: everybody on this machine sees the arguments of programs. Where that cannot be, the
    /// address is printed all the same.
    fn browse(&self) {
        // A user's own folder may be another user's, or gone, as in batch jobs and containers.
        let own = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let mut folders = own.into_iter().chain([std::env::temp_dir()]);
        let Some(way) = folders.find_map(|folder| way_to(&self.address(), &folder).ok()) else { return };
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let null = std::process::Stdio::null;
        *self.way() = Some(way.clone());
        if std::process::Command::new(program).arg(&way).stdin(null()).stdout(null()).stderr(null()).spawn().is_err() {
            self.forget_way();
        }
    }

    fn way(&self) -> std::sync::MutexGuard<'_, Option<PathBuf>> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the file, which is of no use any more.
    fn forget_way(&self) {
        if let Some(way) = self.way().take() {
            let _ = remove_file(way);
        }
    }

    /// The path below the token, if the request may be answered: from a page of this very address, which a foreign page cannot make a
    /// browser name, and with the token.
    fn admitted<'a>(&self, host: Option<&str>, url: &'a str) -> Option<&'a str> {
        let own = ["127.0.0.1", "localhost"].iter().any(|name| host == Some(format!("{name}:{}", self.port).as_str()));
        url.strip_prefix('/')?.strip_prefix(self.token.as_str())?.strip_prefix('/').filter(|_| own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_requests_with_token_and_own_host_are_admitted() {
        let site = Site { token: "abc".into(), port: 80, way: Mutex::default() };
        assert_eq!(site.admitted(Some("127.0.0.1:80"), "/abc/api/tree?path="), Some("api/tree?path="));
        assert_eq!(site.admitted(Some("localhost:80"), "/abc/"), Some(""));
        for (host, url) in [
            (None, "/abc/"),
            (Some("evil.example:80"), "/abc/"),
            (Some("127.0.0.1"), "/abc/"),
            (Some("127.0.0.1:81"), "/abc/"),
            (Some("127.0.0.1:80"), "/"),
            (Some("127.0.0.1:80"), "/abcd/"),
            (Some("127.0.0.1:80"), "/abd/"),
            (Some("127.0.0.1:80"), "//abc/"),
        ] {
            assert_eq!(site.admitted(host, url), None, "{host:?} {url}");
        }
        assert!(token() != token() && token().len() == 32);
    }

    #[test]
    fn the_way_to_the_page_is_for_its_user_only_and_is_gone_when_it_was_taken() {
        // Not of the digits of the file's own random name.
        let address = "http://127.0.0.1:80/planted/";
        let way = way_to(address, &std::env::temp_dir()).unwrap();
        assert!(std::fs::read_to_string(&way).unwrap().contains(&format!("url={address}\"")));
        assert_eq!(std::fs::metadata(&way).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!way.to_str().unwrap().contains("planted"));
        let site = Site { token: "planted".into(), port: 80, way: Mutex::new(Some(way.clone())) };
        assert_eq!(site.address(), address);
        site.forget_way();
        assert!(!way.exists() && site.way().is_none());
    }
}
