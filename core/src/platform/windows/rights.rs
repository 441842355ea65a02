//! The rights with which files are opened. The system's core gives a handle those that were asked for and no others, where the functions of
//! Windows's older interface add that to ask what a file is like. Wine checks hardly any of them.
//!
//! Nothing is called here, so that the tests run on other systems, too.

#![allow(missing_docs, reason = "the names are those of POSIX")]

pub const O_RDONLY: i32 = 0;
pub const O_WRONLY: i32 = 1;
pub const O_RDWR: i32 = 2;
pub const O_PATH: i32 = 0x4_0000;
/// How a file is opened whose bytes are to be made durable.
pub const O_TO_SYNC: i32 = O_RDWR;

const READ_DATA: u32 = 0x1; // of a folder: its names
const WRITE_DATA: u32 = 0x2;
const APPEND_DATA: u32 = 0x4;
const READ_EA: u32 = 0x8;
const WRITE_EA: u32 = 0x10;
const TRAVERSE: u32 = 0x20;
const READ_ATTRIBUTES: u32 = 0x80;
const WRITE_ATTRIBUTES: u32 = 0x100;
const DELETE: u32 = 0x1_0000;
const READ_CONTROL: u32 = 0x2_0000;
const SYNCHRONIZE: u32 = 0x10_0000;

/// To ask what it is like; all others have it, too.
pub const LOOK: u32 = SYNCHRONIZE | READ_ATTRIBUTES;
/// To read a file or the names of a folder.
pub const READ: u32 = LOOK | READ_CONTROL | READ_DATA | READ_EA;
/// To write a file.
pub const WRITE: u32 = LOOK | READ_CONTROL | WRITE_DATA | APPEND_DATA | WRITE_EA | WRITE_ATTRIBUTES;
/// To rename or remove it.
pub const REMOVE: u32 = LOOK | DELETE;
/// To give it another name beside its own.
pub const LINK: u32 = LOOK | WRITE_ATTRIBUTES;

/// The rights of what is opened with these flags.
pub fn rights_of(flags: i32) -> u32 {
    match flags {
        _ if flags & O_PATH != 0 => LOOK | READ_DATA | TRAVERSE,
        _ if flags & O_RDWR != 0 => READ | WRITE,
        _ if flags & O_WRONLY != 0 => WRITE,
        _ => READ,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call of the system's core, with the right that it wants for it.
    type Call = (&'static str, u32);

    const TELL: Call = ("ask for attributes, times and links", READ_ATTRIBUTES);
    const PUT: Call = ("write", WRITE_DATA);
    const GET: Call = ("read, or list a folder", READ_DATA);
    const CUT: Call = ("set the length", WRITE_DATA);
    const FLUSH: Call = ("flush", WRITE_DATA);
    const LOCK: Call = ("lock bytes", READ_DATA);
    const RENAME: Call = ("rename or remove", DELETE);
    const ADD_NAME: Call = ("add a name", WRITE_ATTRIBUTES);
    /// Every handle is one whose calls wait until they are done.
    const WAIT: Call = ("wait", SYNCHRONIZE);

    #[test]
    fn what_is_opened_has_the_rights_of_all_calls_that_are_made_with_it() {
        let opened: [(&str, u32, &[Call]); 10] = [
            ("a new temporary file", rights_of(O_WRONLY), &[TELL, PUT, FLUSH]),
            ("a value", rights_of(O_RDONLY), &[TELL, GET]),
            ("a value that is to be durable", rights_of(O_TO_SYNC), &[TELL, FLUSH]),
            ("a folder that is listed", rights_of(O_RDONLY), &[TELL, GET]),
            ("the folder of a store", rights_of(O_PATH), &[TELL, GET, ("find what is in it", TRAVERSE)]),
            ("a lock file", rights_of(O_RDWR), &[TELL, GET, PUT, CUT, LOCK]),
            ("a zip archive that is written", rights_of(O_RDWR), &[TELL, GET, PUT, CUT, FLUSH, LOCK]),
            ("what is looked at", LOOK, &[TELL]),
            ("what is renamed or removed", REMOVE, &[TELL, RENAME]),
            ("what gets a second name", LINK, &[ADD_NAME]),
        ];
        for (what, rights, calls) in opened {
            for (call, wanted) in calls.iter().chain([&WAIT]) {
                assert_eq!(rights & wanted, *wanted, "{what}: {call}");
            }
        }
    }

    #[test]
    fn rights_are_those_that_the_older_interface_asks_for() {
        assert_eq!(READ, 0x0012_0089, "FILE_GENERIC_READ");
        assert_eq!(WRITE, 0x0012_0116 | READ_ATTRIBUTES, "FILE_GENERIC_WRITE, and what CreateFile adds");
        assert_eq!(REMOVE, 0x0011_0080);
        assert_eq!((LOOK, LINK, rights_of(O_PATH)), (0x0010_0080, 0x0010_0180, 0x0010_00a1));
    }
}
