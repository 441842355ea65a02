//! Disks that fail at the last sync, where the node is gone or there already.
#![cfg(target_os = "linux")]

mod program;

use program::{Folder, Ran};
use std::os::unix::process::CommandExt;

/// A step of a filter of system calls, as linux/filter.h has it.
const fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// Runs the program where every sync of a file or a folder fails.
fn without_sync(folder: &Folder, line: &str) -> Ran {
    let is = |call: i64, jt| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, jt, 0, call as u32);
    let filter = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        is(libc::SYS_fsync, 2),
        is(libc::SYS_fdatasync, 1),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EIO as u32),
    ];
    let mut command = folder.command(line);
    // SAFETY: what is called there may be called between `fork` and `exec`; the filter lives until then.
    unsafe {
        command.pre_exec(move || {
            let all = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
            let set = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const all) == 0;
            if set { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
    let output = command.output().unwrap();
    Ran { status: output.status.code(), out: output.stdout, err: String::from_utf8(output.stderr).unwrap() }
}

/// What waits for the last sync may not be there after a power cut: no command ends as if it were.
#[test]
fn every_command_that_changes_something_tells_that_the_last_sync_failed() {
    let folder = Folder::new("unsynced-all");
    folder.ok("create a.zarr t --type uint8 --shape 3 --chunks 1");
    folder.ok("create old.zarr g/t --type uint8 --shape 3 --format 2");
    std::fs::write(folder.0.join("bytes"), [1, 2, 3]).unwrap();
    folder.ok("attrs set a.zarr t of 1");
    // Before a document or an entry has its name it is synced: nothing is changed then.
    for (line, what, note) in [
        ("write a.zarr t --raw --input bytes", "sync: Input/output error (os error 5)", "(at the end of the write: write again)"),
        ("attrs set a.zarr t units 1", "t/zarr.json: sync", ""),
        ("attrs rm a.zarr t of", "t/zarr.json: sync", ""),
        ("digest a.zarr --store", "t/zarr.json: sync", ""),
        ("resize a.zarr t --shape 2", "t/ozarr-resize.json: sync", ""),
        ("consolidate a.zarr", "zarr.json: sync", ""),
        ("cp a.zarr b.zarr", "sync", ""),
        ("copy a.zarr c.zarr", "sync", ""),
        ("migrate old.zarr d.zarr", "sync", ""),
        ("migrate old.zarr --in-place", "sync", ""),
        ("cp a.zarr e.zip", "sync", ""),
        ("copy a.zarr f.zip", "sync", ""),
        ("migrate old.zarr g.zip", "sync", ""),
    ] {
        let ran = without_sync(&folder, line);
        assert_eq!((ran.status, ran.err.lines().count()), (Some(1), 1), "ozarr {line}: {}", ran.err);
        assert!(ran.err.contains(what) && ran.err.contains(note), "ozarr {line}: {}", ran.err);
    }
}

#[test]
fn the_message_of_a_last_sync_says_what_became_of_the_node() {
    let folder = Folder::new("unsynced");
    folder.ok("create a.zarr h/old --type uint8 --shape 3");
    folder.ok("create a.zarr g --group");
    let there = |node: &str| folder.0.join("a.zarr").join(node).exists();
    for (line, node, stays, note) in [
        ("create a.zarr h/new --type uint8 --shape 3", "h/new", true, "(the node itself is there: "),
        ("create a.zarr i --group", "i", true, "(the node itself is there: "),
        ("rm a.zarr h/old", "h/old", false, "(the node itself is gone: not to be erased again)"),
        ("rm a.zarr g -r", "g", false, "(the node itself is gone: not to be erased again)"),
    ] {
        let ran = without_sync(&folder, line);
        assert_eq!((ran.status, there(node)), (Some(1), stays), "ozarr {line}: {}", ran.err);
        assert!(ran.err.contains(note), "ozarr {line}: {}", ran.err);
    }
}
