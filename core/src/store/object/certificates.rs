//! Files of certificates that options name. Each store that is opened asks for them: they are kept until the file is another one.

use crate::error::{Error, Result, bail};
use crate::fork::{ForkReset, Lazy};
use crate::platform::{errno_of, libc};
use crate::store::stamp::{is_settled_at, nanos_now};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use std::collections::HashMap;
use std::io::Read;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The most files that are kept.
const MOST_FILES: usize = 16;

/// When a file was written, and its length.
type Seen = (SystemTime, u64);

/// What was read of files, by their paths.
type Kept = HashMap<String, (Seen, Vec<CertificateDer<'static>>)>;

/// The certificates of a PEM file.
pub(super) fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>> {
    static KEPT: Lazy<ForkReset<Mutex<Kept>>> = Lazy::new(|| ForkReset::new(Mutex::default));
    let kept = || KEPT.get().get().lock().unwrap_or_else(PoisonError::into_inner);
    let seen = see(file);
    if let Some((_, known)) = kept().get(file).filter(|(then, _)| seen == Some(*then)) {
        return Ok(known.clone());
    }
    let found = read(file)?;
    if let Some(seen) = seen {
        let mut kept = kept();
        if kept.len() >= MOST_FILES {
            kept.clear();
        }
        kept.insert(file.to_string(), (seen, found.clone()));
    }
    Ok(found)
}

/// What a look at a file tells; `None` where a later change may leave that as it is.
fn see(file: &str) -> Option<Seen> {
    let moment = nanos_now();
    let found = std::fs::metadata(file).ok().filter(|found| found.is_file())?;
    let written = found.modified().ok()?;
    let nanos = written.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos() as u64;
    is_settled_at(moment, nanos).then_some((written, found.len()))
}

fn read(file: &str) -> Result<Vec<CertificateDer<'static>>> {
    const MOST: u64 = 16 << 20;
    let what = format!("the file of certificates {file:?}");
    let cannot = |e: std::io::Error| Error::os(errno_of(&e).unwrap_or(libc::EIO), format!("read {what}"));
    let mut pem = Vec::new();
    std::fs::File::open(file).and_then(|file| file.take(MOST).read_to_end(&mut pem)).map_err(cannot)?;
    match CertificateDer::pem_slice_iter(&pem).collect::<std::result::Result<Vec<_>, _>>() {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => bail!(Argument, "{what} holds no certificate in the form PEM"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::store::suite::TestFolder;
    use std::time::Duration;

    /// A certificate that an authority has made for itself.
    pub const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----\n\
MIIBbzCCARWgAwIBAgIUXPlpGlS58E3Y2e59ISBZZhEHFAYwCgYIKoZIzj0EAwIw\n\
DDEKMAgGA1UEAwwBYTAgFw0yNjExMjgxNzM4NTJaGA8yMTI2MTEwNDE3Mzg1Mlow\n\
DDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCn9Vi57OKzb\n\
ESsC1j/Bd/a4KT/Qb8RstLoC2fGHwKOeZfNvDxtgepp3NH8qLuLmNJxlWqsqaVUc\n\
A4+7L3OLTvGjUzBRMB0GA1UdDgQWBBQHPCJs2hQJEnORh11x3DbucW3tSDAfBgNV\n\
HSMEGDAWgBQHPCJs2hQJEnORh11x3DbucW3tSDAPBgNVHRMBAf8EBTADAQH/MAoG\n\
CCqGSM49BAMCA0gAMEUCIE2poxHnTgsc8JvOXR9i370nqNQNZ79rHUD0lxuTjT1f\n\
AiEA1X0Uw61Rpk2U8yK1eJZsfm0XcVJTKwtIaIIm75tcy8o=\n\
-----END CERTIFICATE-----\n";

    #[test]
    fn a_file_of_certificates_is_read_again_when_it_was_written_again() {
        let folder = TestFolder::new("ca-file");
        std::fs::create_dir_all(&*folder).unwrap();
        let path = folder.join("ca.pem");
        let write = |text: &str, age: u64| {
            std::fs::write(&path, text).unwrap();
            let written = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 - age);
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
        };
        let count = || certificates(path.to_str().unwrap()).map(|found| found.len()).ok();
        let damaged = AUTHORITY.replace("BEGIN", "begin");
        write(AUTHORITY, 2);
        assert_eq!(count(), Some(1));
        // Only what reads it again finds the other bytes.
        write(&damaged, 2);
        assert_eq!(count(), Some(1));
        write(&damaged, 1);
        assert_eq!((count(), count()), (None, None));
        write(AUTHORITY, 1);
        assert_eq!(count(), Some(1));
        write(&AUTHORITY.repeat(2), 1);
        assert_eq!(count(), Some(2));
        // A change of the moment may have the time of the next one.
        std::fs::write(&path, AUTHORITY).unwrap();
        let now = std::fs::metadata(&path).unwrap().modified().unwrap() + Duration::from_secs(3600);
        let at = |text: &str| {
            std::fs::write(&path, text).unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(now).unwrap();
        };
        at(AUTHORITY);
        assert_eq!(count(), Some(1));
        at(&damaged);
        assert_eq!(count(), None);
    }
}
