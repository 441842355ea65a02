//! Pipes that break, disks that are full, and Ctrl-C.

mod program;

use ozarr::node::{Context, Create, Group, Mode, Store};
use program::Folder;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let folder = Folder::new("pipe");
    folder.ok("create a.zarr t --type float64 --shape 3000000 --fill 0.5");
    for form in ["--json", "--csv", "--raw", "--npy"] {
        let mut child = folder.command(&format!("read a.zarr t {form}")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{form}");
    }
}

/// What was found is found, and what was begun is done, whether anybody reads of it.
#[test]
fn a_reader_that_went_away_changes_neither_the_status_nor_the_work() {
    let folder = Folder::new("unread");
    for name in ["a", "b", "c"] {
        folder.ok(&format!("create a.zarr {name} --type uint8 --shape 3 --compressor none"));
        folder.bytes(&format!("write a.zarr {name} --raw"), &[1, 2, 3]);
    }
    folder.ok("cp a.zarr b.zarr");
    let closed = |line: &str| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = folder.command(line).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for line in ["ls a.zarr", "digest a.zarr", "diff a.zarr b.zarr", "verify a.zarr", "digest a.zarr --store", "consolidate a.zarr --json"]
    {
        assert_eq!(closed(line), (Some(0), String::new()), "ozarr {line}");
    }
    for name in ["a", "b", "c"] {
        assert!(folder.ok(&format!("attrs get a.zarr {name}")).contains("ozarr_digest"), "{name}");
    }
    for name in ["a", "b"] {
        folder.bytes(&format!("write a.zarr {name} --raw"), &[1, 2, 4]);
    }
    folder.ok("create a.zarr d --type uint8 --shape 1");
    std::fs::remove_dir_all(folder.0.join("a.zarr/d")).unwrap();
    std::fs::write(folder.0.join("a.zarr/foreign"), "").unwrap();
    for line in ["diff a.zarr b.zarr", "digest a.zarr --check", "verify a.zarr", "consolidate a.zarr --check"] {
        for json in ["", " --json"] {
            assert_eq!(closed(&format!("{line}{json}")).0, Some(1), "ozarr {line}{json}");
        }
    }
}

#[test]
fn figures_that_cannot_be_told_are_no_error() {
    let folder = Folder::new("untold");
    folder.ok("create a.zarr t --type uint8 --shape 4");
    for line in ["read a.zarr t --raw --stats", "plot a.zarr t -o t.png --stats"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(folder.command(line).stdout(Stdio::piped()).stderr(full).output().unwrap().status.code(), Some(0), "ozarr {line}");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let folder = Folder::new("full");
    folder.ok("create a.zarr t --type float64 --shape 10");
    for line in ["read a.zarr t --raw", "read a.zarr t --json", "info a.zarr t", "ls a.zarr", "tree a.zarr", "--help", "completions bash"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = folder.command(line).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "ozarr {line}");
        assert!(err.starts_with("ozarr: standard output: No space left on device") && err.lines().count() == 1, "{err}");
    }
}

/// The directory of an archive, without which nobody finds the entries, is what is written last.
#[test]
fn an_archive_that_meets_the_limit_of_files_is_whole_or_told() {
    let folder = Folder::new("limit");
    folder.ok("create a.zarr t --type uint8 --shape 1024 --chunks 512 --format 2 --compressor none");
    folder.ok("attrs set a.zarr t of 1");
    let bytes: Vec<u8> = (0..1024_u32).map(|i| (i * i % 251) as u8).collect();
    folder.bytes("write a.zarr t --raw", &bytes);
    folder.ok("digest a.zarr --store");
    for line in ["cp a.zarr b.zip", "copy a.zarr b.zip", "migrate a.zarr b.zip"] {
        let mut were = [0; 2];
        // In half kilobytes; the whole archives have less than eight.
        for limit in 1..16 {
            let _ = std::fs::remove_file(folder.0.join("b.zip"));
            let limited = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" {line}");
            let output = Command::new("sh").current_dir(&folder.0).args(["-c", &limited, program::PROGRAM]).output().unwrap();
            let is_whole = output.status.success();
            were[usize::from(is_whole)] += 1;
            assert!(output.status.code() == Some(i32::from(!is_whole)) && output.stderr.is_empty() == is_whole, "ozarr {line}, {limit}");
            if is_whole {
                assert_eq!(folder.ok("digest b.zip --check"), "", "ozarr {line}, {limit}");
            }
        }
        assert!(were.iter().all(|&n| n > 0), "ozarr {line}: {were:?}");
    }
}

/// The runtime of Rust has something else in its place by then.
#[test]
fn a_closed_output_is_an_error_of_what_prints() {
    let folder = Folder::new("closed");
    folder.ok("create a.zarr t --type uint8 --shape 10");
    let cases = [("read a.zarr t --raw", 1), ("read a.zarr t --csv <&-", 1), ("digest a.zarr", 1), ("create a.zarr u --group", 0)];
    for (line, status) in cases {
        let output =
            Command::new("sh").current_dir(&folder.0).args(["-c", &format!("\"$0\" {line} >&-"), program::PROGRAM]).output().unwrap();
        let told = if status == 1 { "ozarr: standard output is closed\n" } else { "" };
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(status), told), "ozarr {line}");
    }
}

/// There is room for what a small read takes, and 24 MB: less than a piece is otherwise.
#[test]
fn reading_goes_in_smaller_pieces_where_memory_ends() {
    let folder = Folder::new("little");
    folder.ok("create a.zarr t --type uint8 --shape 100,1000000 --chunks 10,100000 --fill 7 --compressor none");
    folder.ok("create a.zarr s --type string --shape 3000000 --chunks 10000 --fill a");
    let within = |kilobytes: usize, line: &str| {
        let mut command = Command::new("sh");
        command.env("OZARR_NUM_THREADS", "1").current_dir(&folder.0);
        let limited = format!("ulimit -v {kilobytes}; exec \"$0\" {line}");
        command.args(["-c", &limited, program::PROGRAM]).output().unwrap()
    };
    let is_enough = |kilobytes: &usize| within(*kilobytes, "read a.zarr t --raw --shape 1,1").status.success();
    let least = (10_000..).step_by(4000).find(is_enough).unwrap();
    for (line, bytes) in [("read a.zarr t --raw", 100_000_000), ("read a.zarr s --csv", 6_000_000)] {
        let output = within(least + 24_000, line);
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""), "ozarr {line}");
        assert_eq!(output.stdout.len(), bytes, "ozarr {line}");
        assert!(output.stdout.iter().all(|b| b"\x07a\n".contains(b)), "ozarr {line}");
    }
}

/// Ctrl-C, in a program that does not ignore it, wherever the tests run.
#[test]
fn ctrl_c_in_a_write_says_how_to_go_on() {
    let folder = Folder::new("ctrl-c");
    folder.ok("create a.zarr t --type uint8 --shape 8,67108864 --chunks 1,1048576 --compressor none");
    let mut command = Command::new("env");
    command.current_dir(&folder.0).args(["--default-signal=INT", program::PROGRAM, "write", "a.zarr/t", "--raw"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&vec![1; 64 << 20]).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    // Enough for the slab that is being read; more is not taken.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&vec![1; 448 << 20])));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.signal(), Some(2), "{err}");
    // Where what is under way takes long, that is said first.
    let last = err.lines().last().unwrap_or_default();
    assert!(last.starts_with("ozarr: interrupted; the first ") && last.contains("--start") && err.lines().count() <= 2, "{err}");
    let bytes = folder.bytes("read a.zarr t --raw --shape 8,1048576", &[]);
    assert!(bytes.chunks(1 << 20).all(|chunk| chunk.iter().all(|b| *b == chunk[0])));
    std::fs::remove_dir_all(&folder.0).unwrap();
}

/// What standard input or a pipe has may never come: nothing at all, the rest of a slab, the end behind the last one.
#[test]
fn ctrl_c_ends_a_write_that_waits_for_its_input() {
    let folder = Folder::new("ctrl-c-waiting");
    folder.ok("create a.zarr t --type uint8 --shape 4,1000 --chunks 1,1000");
    assert!(Command::new("mkfifo").arg(folder.0.join("pipe")).status().unwrap().success());
    let cases = [
        (0, "--npy", "nothing is written; "),
        (0, "--raw", "the first 0 of 4000 "),
        (2500, "--raw", "the first "),
        (4000, "--raw", "the first "),
    ];
    for ((given, form, told), by_name) in cases.into_iter().flat_map(|case| [(case, false), (case, true)]) {
        let mut command = Command::new("env");
        command.current_dir(&folder.0).args(["--default-signal=INT", program::PROGRAM, "write", "a.zarr/t", form]);
        command.args(if by_name { &["--input", "pipe"][..] } else { &[] });
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // Who opens a pipe waits for who reads.
        let mut pipe = by_name.then(|| std::fs::File::options().write(true).open(folder.0.join("pipe")).unwrap());
        pipe.as_mut().map_or_else(|| stdin.write_all(&vec![1; given]), |pipe| pipe.write_all(&vec![1; given])).unwrap();
        // As long as it waits, with Ctrl-C watched for.
        let status = format!("/proc/{}/status", child.id());
        let is_waiting = |text: String| {
            let mask = text.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok());
            mask.is_some_and(|mask| mask >> 1 & 1 == 1) && text.contains("State:\tS")
        };
        let begun = Instant::now();
        while !is_waiting(std::fs::read_to_string(&status).unwrap()) {
            assert!(begun.elapsed() < Duration::from_secs(60), "the program does not wait");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        drop((stdin, pipe));
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.signal(), Some(2), "{given}: {err}");
        assert!(err.starts_with(&format!("ozarr: interrupted; {told}")), "{given}: {err}");
    }
}

/// The first digest is printed, and stored, while the second one would take hours.
#[test]
fn ctrl_c_in_a_digest_says_which_arrays_have_none() {
    let folder = Folder::new("ctrl-c-digest");
    folder.ok("create a.zarr a --type uint8 --shape 4");
    folder.ok("create a.zarr b --type uint8 --shape 100000000,1000000 --chunks 1000,1000");
    let mut command = Command::new("env");
    command.current_dir(&folder.0).args(["--default-signal=INT", program::PROGRAM, "digest", "a.zarr", "--store"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.signal(), Some(2), "{err}");
    assert!(err.starts_with("ozarr: interrupted; b has no new digest") && err.lines().count() == 1, "{err}");
    assert!(folder.ok("attrs get a.zarr a").contains(line.split(' ').next().unwrap()), "{line}");
    assert_eq!(folder.ok("attrs get a.zarr b"), "{}\n");
}

/// Ctrl-C comes when the archive has grown: between the put of a document and the flush nobody can open it.
#[test]
fn ctrl_c_leaves_archives_that_can_be_opened() {
    let folder = Folder::new("ctrl-c-archive");
    let archive = folder.0.join("a.zip");
    let open = || Store::locate(&Context::default(), archive.to_str().unwrap(), Mode::ReadWrite).unwrap().0;
    let store = open();
    for i in 0..3000 {
        Group::create(&store, &format!("g{i}"), None, Create::New).unwrap();
    }
    store.close(None).unwrap();
    drop(store);
    let plain = std::fs::read(&archive).unwrap();
    folder.ok("consolidate a.zip");
    let store = open();
    store.key_put("late/zarr.json", br#"{"zarr_format":3,"node_type":"group"}"#).unwrap();
    store.close(None).unwrap();
    drop(store);
    let stale = std::fs::read(&archive).unwrap();
    let cases = [
        ("consolidate a.zip", &plain),
        ("verify a.zip --repair", &stale),
        ("attrs set a.zip k 1", &plain),
        ("create a.zip h --group", &plain),
    ];
    for (line, bytes) in cases {
        std::fs::write(&archive, bytes).unwrap();
        let mut command = Command::new("env");
        command.current_dir(&folder.0).args(["--default-signal=INT", program::PROGRAM]).args(line.split(' '));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            if std::fs::metadata(&archive).unwrap().len() > bytes.len() as u64 {
                Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
                break;
            }
        }
        let err = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
        assert!(err.is_empty() || err.starts_with("ozarr: interrupted; "), "ozarr {line}: {err}");
        assert!(folder.ok("ls a.zip").lines().count() >= 3000, "ozarr {line}");
    }
}

/// 96 MiB in chunks of 256 KiB go in, and the program is interrupted when the first chunks are there.
#[test]
fn an_interrupted_write_leaves_whole_chunks() {
    const CHUNK: usize = 256 << 10;
    const CHUNKS: usize = 384;
    let folder = Folder::new("interrupt");
    folder.ok(&format!("create a.zarr t --type uint8 --shape {} --chunks {CHUNK} --compressor none", CHUNK * CHUNKS));
    let mut child = folder.command("write a.zarr t --raw").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Less than the array takes: however late the interrupt comes, the program is still writing or waiting for the rest.
    let (ended, end) = std::sync::mpsc::channel::<()>();
    let feeder = std::thread::spawn(move || {
        let ones = vec![1u8; 1 << 20];
        (0..CHUNK * CHUNKS / ones.len() - 16).all(|_| stdin.write_all(&ones).is_ok());
        let _ = end.recv();
    });
    let chunks = folder.0.join("a.zarr/t/c");
    let begun = Instant::now();
    while std::fs::read_dir(&chunks).map_or(0, |d| d.count()) < 3 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no chunk is written");
        std::thread::sleep(Duration::from_micros(200));
    }
    // Not SIGINT, which is ignored in the background jobs of shells, and in all that they start.
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    drop(ended);
    feeder.join().unwrap();
    assert_eq!((output.status.signal(), output.stderr.len()), (Some(15), 0));
    let bytes = folder.bytes("read a.zarr t --raw", &[]);
    assert_eq!(bytes.len(), CHUNK * CHUNKS);
    for (i, chunk) in bytes.chunks(CHUNK).enumerate() {
        assert!(chunk.iter().all(|b| *b == chunk[0]), "chunk {i} is torn");
    }
    folder.ok("ls a.zarr");
    std::fs::remove_dir_all(&folder.0).unwrap();
}

/// Answers as an object store in which nothing is, and leaves the first PUT without an answer; tells of it.
#[cfg(feature = "cloud")]
fn stalling_server() -> (u16, std::sync::mpsc::Receiver<()>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, (tell, told)) = (listener.local_addr().unwrap().port(), std::sync::mpsc::channel());
    let serve = move |mut stream: std::net::TcpStream, tell: std::sync::mpsc::Sender<()>| {
        let mut head = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        while head.read_line(&mut line).is_ok_and(|read| read > 0) {
            let request = std::mem::take(&mut line);
            while head.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            line.clear();
            let (status, text) = match request.split(' ').next() {
                Some("PUT") => {
                    let _ = tell.send(());
                    return std::thread::sleep(Duration::from_secs(600));
                }
                _ if request.contains("list-type") => ("200 OK", "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"),
                _ => ("404 Not Found", "<Error><Code>NoSuchKey</Code></Error>"),
            };
            let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{text}", text.len());
        }
    };
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, tell) = (stream.unwrap(), tell.clone());
            std::thread::spawn(move || serve(stream, tell));
        }
    });
    (port, told)
}

#[cfg(feature = "cloud")]
#[test]
fn a_command_that_waits_for_a_server_says_that_another_ctrl_c_ends_it() {
    use std::os::unix::process::CommandExt;
    let folder = Folder::new("again");
    folder.ok("create a.zarr t --type uint8 --shape 3");
    let (port, stalled) = stalling_server();
    let mut command = folder.command("cp a.zarr s3://bucket/b.zarr");
    command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")).env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "an-id").env("AWS_SECRET_ACCESS_KEY", "a-secret");
    // SAFETY: one system call.
    unsafe {
        // It is ignored in the background jobs of shells, and in all that they start.
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    stalled.recv_timeout(Duration::from_secs(60)).unwrap();
    let id = child.id().to_string();
    let interrupt = || assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    interrupt();
    let mut said = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "ozarr: interrupted; it ends when what is under way is done, or at once when Ctrl-C is pressed again\n");
    interrupt();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
    std::fs::remove_dir_all(&folder.0).unwrap();
}
