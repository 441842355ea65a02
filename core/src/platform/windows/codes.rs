//! What numbers of Windows mean to POSIX: statuses of the system's core, error codes, times, names, and tags of what is more than a file
//! or a folder.
//!
//! Nothing is called here, so that the tests run on other systems, too.

/// No number of the C runtime, but of sockets.
pub const EDQUOT: i32 = 10069;
/// As above.
pub const ESTALE: i32 = 10070;

/// The error number of a status of the system's core; `None` where it is that of the error code that the system has for the status.
pub fn errno_of_status(status: u32) -> Option<i32> {
    Some(match status {
        0xc000_00ba => libc::EISDIR,
        0xc000_0103 => libc::ENOTDIR,
        0xc000_0056 => ESTALE, // it is being deleted
        0xc000_0002 | 0xc000_0003 | 0xc000_000d | 0xc000_0010 | 0xc000_00bb => libc::ENOSYS,
        0xc000_0033 => libc::ENOENT, // no name that could be
        // A disk that was pulled out, a server or a share that cannot be reached: what is there is not known. The system's codes of some of them
        // are those of a file that is not there.
        0xc000_000e | 0xc000_00be | 0xc000_00cc | 0xc000_00fb => libc::EIO,
        0xc000_00d4 => libc::EXDEV,
        0xc000_0101 => libc::ENOTEMPTY,
        _ => return None,
    })
}

/// The error number of one of Windows's error codes.
pub fn errno_of_code(code: i32) -> i32 {
    match code {
        // Not 53 and 67, as the C runtime has it: a server or a share that cannot be reached.
        2 | 3 | 123 | 161 => libc::ENOENT,
        4 => libc::EMFILE,
        5 | 19 | 65 => libc::EACCES,
        6 => libc::EBADF,
        8 | 14 | 1450 | 1455 => libc::ENOMEM,
        15 => libc::ENODEV,
        17 => libc::EXDEV,
        1 | 50 | 87 | 120 => libc::ENOSYS,
        32 => libc::EBUSY,
        33 | 36 => libc::EAGAIN,
        39 | 112 => libc::ENOSPC,
        80 | 183 => libc::EEXIST,
        145 => libc::ENOTEMPTY,
        206 => libc::ENAMETOOLONG,
        223 => libc::EFBIG,
        267 => libc::ENOTDIR,
        1142 => libc::EMLINK,
        1295 | 1816 => EDQUOT,
        1921 => libc::ELOOP,
        _ => libc::EIO,
    }
}

/// Whether the tag of a reparse point is that of a link, as one is taken for that has none. Files that the system keeps elsewhere or in another
/// form have tags as well.
pub fn is_tag_of_link(tag: u32) -> bool {
    const NAMES_ANOTHER: u32 = 0x2000_0000;
    tag == 0 || tag & NAMES_ANOTHER != 0
}

/// The seconds since 1970 and nanoseconds of a time, which Windows counts in units of 100 ns from 1601.
pub fn time_of(units: i64) -> (i64, i64) {
    const TO_1970: i64 = 11_644_473_600;
    (units.div_euclid(10_000_000) - TO_1970, units.rem_euclid(10_000_000) * 100)
}

/// Returns whether Windows lets a file have these names, one below the other: none with a character of its own or at the end a dot or a
/// space, none of a device, and none that is too long.
pub fn can_name(key: &str) -> bool {
    /// Units of UTF-16.
    const LONGEST: usize = 255;
    const DEVICES: [&str; 4] = ["CON", "PRN", "AUX", "NUL"];
    key.split('/').all(|name| {
        let odd = |c: char| c < ' ' || "<>:\"\\|?*".contains(c);
        let device = name.split('.').next().unwrap_or_default().trim_end_matches(' ');
        let numbered = |device: &str| {
            device.get(..3).is_some_and(|d| d.eq_ignore_ascii_case("COM") || d.eq_ignore_ascii_case("LPT"))
                && matches!(device.as_bytes().get(3..), Some([b'1'..=b'9']))
        };
        let is_device = DEVICES.iter().any(|d| d.eq_ignore_ascii_case(device)) || numbered(device);
        !name.contains(odd) && !name.ends_with(['.', ' ']) && !is_device && name.encode_utf16().count() <= LONGEST
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_that_is_certainly_not_there_is_missing() {
        // The last two are names that none can have.
        let missing = [Some(2), Some(3), Some(123), Some(161)];
        assert!(missing.iter().all(|code| code.map(errno_of_code) == Some(libc::ENOENT)));
        // No such file, no such name, no such path: the system's codes 2 and 3.
        assert_eq!([0xc000_000f, 0xc000_0034, 0xc000_003a].map(errno_of_status), [None; 3]);
        let unknown = [0xc000_000e, 0xc000_00be, 0xc000_00cc, 0xc000_00fb].map(errno_of_status);
        assert_eq!(unknown, [Some(libc::EIO); 4], "no device, no server, no share, no network");
        // No server, no share, a lost network name, a device that is not ready, a network that cannot be reached.
        assert_eq!([53, 67, 64, 21, 1231].map(errno_of_code), [libc::EIO; 5]);
        assert_eq!((0..20_000).filter(|&code| errno_of_code(code) == libc::ENOENT).count(), missing.len());
    }

    #[test]
    fn times_count_from_1970_in_seconds_and_nanoseconds() {
        for (units, time) in [
            (116_444_736_000_000_000, (0, 0)),
            (116_444_736_000_000_001, (0, 100)),
            (116_444_735_999_999_999, (-1, 999_999_900)),
            (125_911_584_000_000_000, (946_684_800, 0)), // 2000-01-01
            (0, (-11_644_473_600, 0)),
        ] {
            assert_eq!(time_of(units), time, "{units}");
        }
    }

    #[test]
    fn names_are_those_that_a_file_can_have() {
        let long = |unit: &str, n: usize| unit.repeat(n);
        // Of the last, each character is two units of UTF-16.
        let taken = [
            "console",
            "com10",
            "com",
            ".hidden",
            "a.b",
            "a b/100%",
            "größe",
            "",
            &long("a", 255),
            &long("ü", 255),
            &long("\u{1f30d}", 127),
        ];
        let refused = ["con", "a/NUL.txt", "Com1", "lpt9.x", "a:b", "a.", "a /b", "what?", "a*", "\"a\"", "a<b", "a|b", "a\\b", "a\tb"];
        let too_long = [long("a", 256), format!("a/{}/b", long("ü", 256)), long("\u{1f30d}", 128)];
        taken.into_iter().for_each(|name| assert!(can_name(name), "{name}"));
        refused.into_iter().chain(too_long.iter().map(|name| &**name)).for_each(|name| assert!(!can_name(name), "{name}"));
    }

    #[test]
    fn links_and_mount_points_are_links_and_files_that_are_kept_elsewhere_are_files() {
        // Symbolic links, mount points (junctions), links of Linux.
        assert!([0xa000_000c, 0xa000_0003, 0xa000_001d, 0].into_iter().all(is_tag_of_link));
        // Data deduplication, hierarchical storage, clouds, compression of the system's own files.
        assert!(![0x8000_0013, 0xc000_0004, 0x9000_001a, 0x9000_701a, 0x8000_0017].into_iter().any(is_tag_of_link));
    }
}
