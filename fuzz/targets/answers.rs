//! What HTTP servers answer: statuses, versions, ranges and lengths that lie, bodies that are cut or go on, listings that never end, and bytes
//! that are no HTTP. The input says what a server on loopback answers, and what is asked of the store. Reads end with an error or with the bytes of
//! one version; no answer ends in a panic, and none is waited for without an end.
//! Run: tools/fuzz answers 60
use crate::model::Script;
use ozarr::error::{Error, ErrorKind, Result};
use ozarr::store::object::RemoteStore;
use ozarr::store::remote::{Remote, RemoteOptions};
use ozarr::store::{ByteRange, Condition, Fetched, Storage, StorageExt, get};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::Duration;

/// Each version of the object has other bytes.
const TAGS: &[&str] = &[
    "ETag: \"1\"\r\n",
    "ETag: \"1\"\r\n",
    "ETag: \"2\"\r\n",
    "ETag: W/\"3\"\r\n",
    "",
    "ETag: \"0123456789abcdef0123456789abcdef-2\"\r\n",
    "ETag: \"a tag that is longer than what is kept of a tag as it stands\"\r\n",
    "ETag: six\r\n",
];
const STATUSES: &[u16] = &[204, 301, 304, 400, 401, 403, 404, 409, 410, 412, 416, 429, 500, 501, 503];
const ERRORS: &[&str] =
    &["", "<Error><Code>NoSuchBucket</Code></Error>", "<Error><Code>SlowDown</Code><Message>later</Message></Error>", "<html>"];
/// So many answers are given at most.
const MOST_ANSWERS: usize = 40;

/// How the length of a body is told.
#[derive(Clone, Copy)]
enum Framing {
    Length,
    /// By the end of the connection.
    End,
    /// As if it had so many bytes more or less.
    WrongLength(i64),
    Pieces,
    /// In pieces without the last one.
    CutPieces,
}

#[derive(Clone)]
enum Answer {
    /// The object, or a part of it.
    Object {
        partial: bool,
        version: usize,
        size: u64,
        shift: (i64, i64),
        longer: i64,
        framing: Framing,
        headers: &'static str,
    },
    Status(u16, &'static str, &'static str),
    Listing {
        keys: u8,
        more: bool,
    },
    Raw(Vec<u8>),
}

/// A request, as far as it matters.
struct Request {
    method: String,
    target: String,
    /// The range's first byte (`None`: counted from the end), and its last one.
    range: Option<(Option<u64>, u64)>,
}

/// What is answered now.
#[derive(Default)]
struct Plan {
    /// A text that the requests of this input have in their targets.
    name: String,
    answers: Vec<Answer>,
    given: usize,
}

static PLAN: Mutex<Plan> = Mutex::new(Plan { name: String::new(), answers: Vec::new(), given: 0 });

/// The byte of a version of the object.
fn byte_at(version: usize, offset: u64) -> u8 {
    let x = (version as u64 * 1009 + offset + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 29) as u8
}

fn bytes_of(version: usize, start: u64, len: u64) -> Vec<u8> {
    (start..start + len).map(|offset| byte_at(version, offset)).collect()
}

fn small(script: &mut Script<'_>) -> i64 {
    script.one_of(&[0, 0, 0, 0, 1, -1, 7, -20])
}

/// Takes the next answer from the input.
fn answer(script: &mut Script<'_>) -> Answer {
    match script.below(8) {
        way @ 0..=3 => Answer::Object {
            partial: way != 3,
            version: script.below(TAGS.len() as u64) as usize,
            size: 30 + script.below(3) * 45,
            shift: (small(script), small(script)),
            longer: small(script),
            framing: match script.below(8) {
                0..=3 => Framing::Length,
                4 => Framing::End,
                5 => Framing::WrongLength(small(script)),
                6 => Framing::Pieces,
                _ => Framing::CutPieces,
            },
            headers: script.one_of(&["", "", "", "Content-Type: text/html\r\n", "Retry-After: 0\r\n", "Content-Encoding: gzip\r\n"]),
        },
        4 | 5 => {
            let place =
                if script.below(2) == 0 { "" } else { "Location: elsewhere\r\nRetry-After: 0\r\nx-amz-bucket-region: eu-west-1\r\n" };
            Answer::Status(script.one_of(STATUSES), place, script.one_of(ERRORS))
        }
        6 => Answer::Listing { keys: script.byte() % 4, more: script.below(3) == 0 },
        _ => {
            let len = script.byte() as usize;
            let (raw, rest) = script.0.split_at(len.min(script.0.len()));
            script.0 = rest;
            Answer::Raw(raw.to_vec())
        }
    }
}

impl Answer {
    /// The answer's bytes, and whether the connection can be used again.
    fn bytes(&self, request: &Request, name: &str) -> (Vec<u8>, bool) {
        match self {
            Answer::Raw(bytes) => (bytes.clone(), false),
            Answer::Status(status, headers, text) => {
                let text = if request.method == "HEAD" { "" } else { text };
                (format!("HTTP/1.1 {status} Planned\r\n{headers}Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes(), true)
            }
            Answer::Listing { keys, more } => {
                let text = listing(*keys, *more, name);
                let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n{text}", text.len());
                (head.into_bytes(), true)
            }
            Answer::Object { .. } => self.object(request),
        }
    }

    fn object(&self, request: &Request) -> (Vec<u8>, bool) {
        let Answer::Object { partial, version, size, shift, longer, framing, headers } = self else { return (Vec::new(), false) };
        let (start, end) = match request.range {
            Some((Some(first), last)) if *partial => (first, last.saturating_add(1).min(*size)),
            Some((None, len)) if *partial => (size.saturating_sub(len), *size),
            _ => (0, *size),
        };
        let is_part = *partial && request.range.is_some();
        if is_part && start >= end {
            return (b"HTTP/1.1 416 Planned\r\nContent-Length: 0\r\n\r\n".to_vec(), true);
        }
        // The body always is what the answer says of its beginning: nobody could find out that it is not.
        let (start, end) = if is_part { (start.saturating_add_signed(shift.0), end.saturating_add_signed(shift.1)) } else { (start, end) };
        let (len, status) = (end.saturating_sub(start), if is_part { "206 Partial Content" } else { "200 OK" });
        let mut head = format!("HTTP/1.1 {status}\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n{}{headers}", TAGS[*version]);
        if is_part {
            head.push_str(&format!("Content-Range: bytes {start}-{}/{size}\r\n", end.saturating_sub(1)));
        }
        let mut body = bytes_of(*version, start, len.saturating_add_signed(*longer));
        if request.method == "HEAD" {
            return (format!("{head}Content-Length: {len}\r\n\r\n").into_bytes(), true);
        }
        match framing {
            Framing::Length => head.push_str(&format!("Content-Length: {len}\r\n\r\n")),
            Framing::WrongLength(by) => head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len() as i64 + by)),
            Framing::End => head.push_str("Connection: close\r\n\r\n"),
            Framing::Pieces | Framing::CutPieces => {
                head.push_str("Transfer-Encoding: chunked\r\n\r\n");
                let pieces = body.chunks(16).map(|piece| [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat());
                body = pieces.collect::<Vec<_>>().concat();
                body.extend_from_slice(if matches!(framing, Framing::Pieces) { b"0\r\n\r\n" } else { b"" });
            }
        }
        ([head.as_bytes(), &body].concat(), matches!(framing, Framing::Pieces) || matches!(framing, Framing::Length) && *longer == 0)
    }
}

/// A page of a listing of S3.
fn listing(keys: u8, more: bool, name: &str) -> String {
    let each = |i: u8| {
        format!(
            "<Contents><Key>{name}/k{i}</Key><Size>1</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>e</ETag></Contents>"
        )
    };
    let more = if more { "<IsTruncated>true</IsTruncated><NextContinuationToken>next</NextContinuationToken>" } else { "" };
    format!("<ListBucketResult>{}{more}</ListBucketResult>", (0..keys).map(each).collect::<String>())
}

/// Reads the head and the body of a request.
fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 8192]);
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&piece[..n]),
            _ => return None,
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_string();
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_string())
    };
    let mut left = header("content-length").map_or(0, |n| n.parse().unwrap_or(0)) - (bytes.len() - end) as i64;
    while left > 0 {
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => left -= n as i64,
            _ => return None,
        }
    }
    let range = header("range").and_then(|range| {
        let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
        Some((if first.is_empty() { None } else { Some(first.parse().ok()?) }, last.parse().ok()?))
    });
    let mut words = head.split(' ').map(str::to_string);
    Some(Request { method: words.next()?, target: words.next()?, range })
}

/// Answers the requests of a connection as the plan has it. The last answer is given again and again.
fn serve(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    while let Some(request) = read_request(&mut stream) {
        let (bytes, again) = {
            let mut plan = PLAN.lock().unwrap_or_else(PoisonError::into_inner);
            plan.given += 1;
            if !request.target.contains(&plan.name) || plan.given > MOST_ANSWERS {
                return;
            }
            match plan.answers.get((plan.given - 1).min(plan.answers.len().saturating_sub(1))) {
                Some(answer) => answer.bytes(&request, &plan.name),
                None => return,
            }
        };
        if stream.write_all(&bytes).is_err() || !again {
            return;
        }
    }
}

/// The port of the server, which is started by the first who asks.
fn port() -> u16 {
    static PORT: OnceLock<u16> = OnceLock::new();
    *PORT.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| drop(std::thread::spawn(move || serve(stream)))));
        port
    })
}

/// A kind of store: scheme, place, options.
type Kind = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const KINDS: &[Kind] = &[
    ("http", "127.0.0.1", &[("retries", "0")]),
    ("s3", "bucket", &[("retries", "0")]),
    ("http", "127.0.0.1", &[("retries", "1")]),
    ("s3", "bucket", &[("retries", "1"), ("conditional_put", "always")]),
];
/// A store is made anew after so many inputs: making one takes longer than an input, and one remembers what its server can do.
const MOST_USES: usize = 100;

fn store(kind: usize) -> Arc<RemoteStore> {
    static STORES: Mutex<[(usize, Option<Arc<RemoteStore>>); 4]> = Mutex::new([const { (0, None) }; 4]);
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    let (uses, kept) = &mut stores[kind];
    *uses += 1;
    match kept {
        Some(store) if *uses % MOST_USES != 0 => store.clone(),
        _ => kept.insert(Arc::new(open(KINDS[kind]))).clone(),
    }
}

fn open((scheme, place, given): Kind) -> RemoteStore {
    let port = port();
    let rest = if scheme == "s3" { format!("//{place}") } else { format!("//{place}:{port}") };
    let mut options = RemoteOptions::default();
    for (option, value) in [("deadline", "20"), ("idle_timeout", "10")].iter().chain(given) {
        assert!(options.set(option, value).unwrap());
    }
    if scheme == "s3" {
        options.set_named("endpoint", &format!("http://127.0.0.1:{port}"));
        options.set("anonymous", "true").unwrap();
    }
    RemoteStore::open(&Remote::parse(scheme, &rest).unwrap().unwrap(), &options).unwrap()
}

/// No error is a defect of the library, and none says nothing.
fn check_error(e: &Error) {
    assert!(e.kind() != ErrorKind::Internal && !e.message().is_empty(), "{e:?}");
}

fn told<T>(result: Result<T>) -> Option<T> {
    result.inspect_err(check_error).ok()
}

fn read(store: &RemoteStore, key: &str, ranges: &[ByteRange]) -> Result<Option<Fetched>> {
    let (sender, receiver) = mpsc::channel();
    store.start_read(key, ranges, None, Box::new(move |result| sender.send(result).unwrap()));
    receiver.recv_timeout(Duration::from_secs(60)).expect("a read ends")
}

/// Checks that there is one version of the object that all parts are of, each read from its offset (`None`: anywhere).
fn check_parts(parts: &[(Option<u64>, Vec<u8>)]) {
    let is_at =
        |version: usize, offset: u64, part: &[u8]| part.iter().zip(offset..).all(|(byte, offset)| *byte == byte_at(version, offset));
    let fits = |version: usize| {
        parts.iter().all(|(offset, part)| match offset {
            Some(offset) => is_at(version, *offset, part),
            None => (0..300).any(|offset| is_at(version, offset, part)),
        })
    };
    assert!((0..TAGS.len()).any(fits), "bytes of no version, or of several: {parts:?}");
}

/// Reads in one of the ways that there are, and checks what comes.
fn read_somehow(store: &RemoteStore, key: &str, script: &mut Script<'_>, honest: bool) {
    let mut parts = Vec::new();
    match script.below(4) {
        0 => parts.extend(told(get(store, key, 1 << 20)).flatten().map(|bytes| (Some(0), bytes))),
        1 => {
            let Some(object) = told(store.open(key)).flatten() else { return };
            for _ in 0..1 + script.below(2) {
                let (offset, mut bytes) = (script.below(90), vec![0; 1 + script.below(30) as usize]);
                if told(object.read_exact_at(offset, &mut bytes)).is_some() {
                    parts.push((Some(offset), bytes));
                }
            }
            told(object.still_current());
        }
        _ => {
            let range = |script: &mut Script<'_>| match script.below(4) {
                0 => ByteRange::Suffix { len: script.below(40) },
                1 => ByteRange::up_to(script.one_of(&[50, 1000])),
                _ => ByteRange::Span { offset: script.below(90), len: script.below(30) },
            };
            let ranges: Vec<ByteRange> = (0..script.below(4)).map(|_| range(script)).collect();
            let Some(fetched) = told(read(store, key, &ranges)).flatten() else { return };
            assert_eq!(fetched.parts.len(), ranges.len());
            for (range, part) in ranges.iter().zip(fetched.parts) {
                let (offset, len) = match range {
                    ByteRange::Whole { most, .. } => (Some(0), part.len().min(*most as usize)),
                    ByteRange::Span { offset, len } => (Some(*offset), *len as usize),
                    ByteRange::Suffix { len } => (None, *len as usize),
                };
                assert_eq!(part.len(), len, "the length of {range:?}");
                parts.push((offset, part));
            }
        }
    }
    if honest {
        check_parts(&parts);
    }
}

/// Lists, stores or erases: what comes of it is only that nothing breaks.
fn change_somehow(store: &RemoteStore, folder: &str, script: &mut Script<'_>) {
    let key = format!("{folder}k");
    let value = [7; 40];
    match script.below(6) {
        0 => drop(told(store.list_dir(folder))),
        1 => drop(told(store.list(folder, &mut |_| Ok(())))),
        2 => drop(told(store.put(&key, &[&value], script.one_of(&[Condition::None, Condition::Absent])))),
        3 => drop(told(store.erase(&key))),
        4 => drop(told(store.erase_prefix(folder))),
        _ => {
            let Some(mut staged) = told(store.stage(&key)) else { return };
            if told(staged.append(&value)).is_some() {
                told((store as &dyn Storage).publish(&key, staged));
            }
        }
    }
}

/// Runs one input: the kind of store, the number of answers, the answers, and what is asked.
pub fn run(bytes: &[u8]) {
    static INPUTS: AtomicU64 = AtomicU64::new(0);
    let mut script = Script(bytes);
    let first = script.byte();
    let answers: Vec<Answer> = (0..1 + script.below(5)).map(|_| answer(&mut script)).collect();
    let honest = !answers.iter().any(|answer| matches!(answer, Answer::Raw(_) | Answer::Listing { .. }));
    let name = format!("input{}x", INPUTS.fetch_add(1, Ordering::Relaxed));
    *PLAN.lock().unwrap_or_else(PoisonError::into_inner) = Plan { name: name.clone(), answers, given: 0 };
    // Each try after the first takes some time: most inputs have none.
    let kind = usize::from(first & 1) + if first & 0x0e == 0x0e { 2 } else { 0 };
    let store = store(kind);
    if KINDS[kind].0 == "s3" && script.below(3) == 0 {
        change_somehow(&store, &format!("{name}/"), &mut script);
    } else {
        read_somehow(&store, &format!("{name}/k"), &mut script, honest);
    }
}
