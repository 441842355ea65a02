//! Listings of folders in which others replace files meanwhile.
//!
//! A file that takes another one's name by a rename gets another place among the names on some file systems: behind all that a listing tells which
//! had begun before (btrfs), or in front (tmpfs). Such a listing misses a name that was there all the time. So the folder is listed again, and from
//! there on what has come behind the last name.

use super::path::is_hidden;
use crate::error::Error;
use crate::limits::{collect, collect_table, put};
use crate::platform::{BorrowedFd, libc};
use crate::store::os::{self, Entries, EntryKind, Errno, Os};
use std::collections::HashMap;
use std::ffi::{CStr, CString};

/// How often a folder is listed from its beginning, as long as more is found.
const LISTINGS: usize = 4;

/// How often what has come behind the last name is asked for.
const ENDS: usize = 16;

/// Adds to the `first` listing of a folder that changes the names it has missed, and takes out what is gone.
#[cold]
pub(super) fn list_again(fd: BorrowedFd<'_>, first: Entries) -> Os<Entries> {
    // By their names: what they are, and which listing has told them last.
    let mut all: HashMap<CString, (EntryKind, usize)> =
        collect_table(first.into_iter().map(|(name, kind)| (name, (kind, 1)))).map_err(no_memory)?;
    let name_of_last = |found: &Entries| found.last().map(|(name, _)| name.clone());
    let (mut listing, mut place, mut last, mut more) = (1, 0, None, true);
    while more && listing < LISTINGS {
        let (found, end) = match os::entries_from(fd, 0) {
            Ok(found) => found,
            Err(Errno(libc::ENOENT)) => return Ok(Vec::new()),
            // What was found is better than nothing, on file systems that cannot go back.
            Err(Errno(libc::ENOMEM)) => return Err(Errno(libc::ENOMEM)),
            Err(_) => break,
        };
        (listing, place, last, more) = (listing + 1, end, name_of_last(&found), false);
        for (name, kind) in found {
            let is_hidden = is_hidden(name.to_bytes());
            more |= put(&mut all, name, (kind, listing)).map_err(no_memory)?.is_none() && !is_hidden;
        }
    }
    for _ in 0..ENDS {
        // Places of some file servers are beyond what can be asked for.
        let Ok((found, end)) = os::entries_from(fd, place) else { break };
        if found.iter().all(|(name, _)| Some(name) == last.as_ref()) {
            break;
        }
        (place, last) = (end, name_of_last(&found));
        found.into_iter().try_for_each(|(name, kind)| put(&mut all, name, (kind, listing)).map(drop)).map_err(no_memory)?;
    }
    let is_there = |name: &CStr| !matches!(os::stat_at(fd, name, false), Err(Errno(libc::ENOENT)));
    let is_left = |(name, (kind, told)): (CString, (EntryKind, usize))| (told == listing || is_there(&name)).then_some((name, kind));
    collect(all.into_iter().filter_map(is_left)).map_err(no_memory)
}

fn no_memory(_: Error) -> Errno {
    Errno(libc::ENOMEM)
}
