//! Memory that ends: an error of one line, whatever the limit of the process.
#![cfg(target_os = "linux")]

mod program;

use program::Folder;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Output};

/// How many arrays the group has.
const ARRAYS: usize = 4000;

/// Runs the program with at most that many KiB of addresses.
fn within(mut command: Command, kib: u64) -> Output {
    let limit = libc::rlimit { rlim_cur: kib << 10, rlim_max: kib << 10 };
    // SAFETY: what is called there may be called between `fork` and `exec`.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_AS, &raw const limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    command.env("OZARR_NUM_THREADS", "2").output().unwrap()
}

/// A large group with consolidated metadata; most of its arrays have no chunk.
fn large(folder: &Folder) {
    folder.ok("create big.zarr a --type uint8 --shape 4 --chunks 2 --attrs {\"long_name\":\"what_is_counted\"}");
    let document = fs::read(folder.0.join("big.zarr/a/zarr.json")).unwrap();
    folder.bytes("write big.zarr a --raw", &[1, 2, 3, 4]);
    for i in 0..ARRAYS {
        let array = folder.0.join(format!("big.zarr/a{i}"));
        fs::create_dir(&array).unwrap();
        fs::write(array.join("zarr.json"), &document).unwrap();
    }
    folder.ok("consolidate big.zarr");
}

#[test]
fn a_limit_of_memory_ends_no_command_but_by_an_error() {
    let folder = Folder::new("memory");
    large(&folder);
    // What the program takes before its first line.
    let starts = |kib: &u64| within(folder.command("--version"), *kib).status.success();
    let least = (20_000..).step_by(1000).find(starts).unwrap();
    let mut wrong = Vec::new();
    for line in [
        "tree big.zarr",
        "ls big.zarr",
        "dump big.zarr",
        "digest big.zarr",
        "du big.zarr",
        "verify big.zarr --quick",
        "consolidate big.zarr",
        "copy big.zarr copy.zarr --overwrite",
    ] {
        let mut ended = 0;
        for more in [500, 5000, 10_000, 20_000] {
            let output = within(folder.command(line), least + more);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            match output.status.code() {
                Some(0) if told.is_empty() => {}
                Some(1) if told.starts_with("ozarr: ") && told.lines().count() == 1 => ended += 1,
                _ => wrong.push(format!("{line}, {more} KiB more: {:?} {:?} {told}", output.status.code(), output.status.signal())),
            }
        }
        if ended == 0 {
            wrong.push(format!("{line}: memory never ended"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
