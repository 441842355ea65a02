//! Servers and networks on bad days: the right bytes or a clear error in time; never wrong bytes, never "missing" for an error, and
//! never a credential in a message.

use crate::proxy::{Action, Fault, Proxy, Seen};
use crate::suite::{KEYS, s3, store, var};
use ozarr::error::{Error, ErrorKind, Result};
use ozarr::store::object::RemoteStore;
use ozarr::store::suite::TestFolder;
use ozarr::store::{ByteRange, Condition, Fetched, Storage, StorageExt, get};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

const BODY: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const PLANTED: [&str; 3] = ["planted-id", "planted-secret", "planted-token"];

/// A store on the S3 server behind a proxy; the values of the test are put without it.
struct Case {
    proxy: Proxy,
    store: RemoteStore,
    direct: RemoteStore,
}

impl Case {
    fn new(name: &str, more: &[(&str, &str)], rule: impl Fn(usize, &Seen) -> Fault + Send + Sync + 'static) -> Case {
        let path = format!("faults/{name}");
        let direct = s3(&path, &[]);
        direct.put("k", &[BODY], Condition::None).unwrap();
        let proxy = Proxy::new(&var("OZARR_TEST_S3"), rule);
        let endpoint = proxy.url();
        let usual = [
            ("endpoint", endpoint.as_str()),
            ("session_token", "planted-token"),
            // Longer than a busy machine takes; what is silent on purpose has its own.
            ("deadline", "100"),
            ("idle_timeout", "30"),
            ("retries", "4"),
        ];
        let options = [&usual[..], &KEYS[..], more].concat();
        let store = store(&format!("s3://bucket/{path}"), &options);
        Case { proxy, store, direct }
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        get(&self.store, key, 1 << 30).inspect_err(no_secrets)
    }

    fn read(&self, key: &str, ranges: &[ByteRange]) -> Result<Option<Fetched>> {
        let (sender, receiver) = mpsc::channel();
        self.store.start_read(key, ranges, None, Box::new(move |result| sender.send(result).unwrap()));
        receiver.recv_timeout(Duration::from_secs(200)).expect("a read ends").inspect_err(no_secrets)
    }

    fn requests(&self) -> usize {
        self.proxy.seen().len()
    }
}

/// No message holds a credential.
fn no_secrets(e: &Error) {
    for text in [e.to_string(), format!("{e:?}"), e.message().to_string()] {
        assert!(!PLANTED.iter().any(|secret| text.contains(secret)), "{text}");
    }
}

const SLOW_DOWN: &str = "<Error><Code>SlowDown</Code><Message>key planted-id token planted-token</Message></Error>";
const DENIED: &str = "<Error><Code>AccessDenied</Code><Message>no planted-secret</Message></Error>";

#[test]
#[ignore = "needs servers: tools/cloud"]
fn what_passes_is_waited_for_and_what_stays_is_told() {
    /// Name, what happens to the first requests, how many of them, what comes of it, requests at most.
    type Row = (&'static str, Fault, usize, std::result::Result<(), ErrorKind>, usize);
    let cases: &[Row] = &[
        ("busy", Fault::Answer(503, "", SLOW_DOWN), 3, Ok(()), 4),
        ("busy-for-ever", Fault::Answer(503, "", SLOW_DOWN), 99, Err(ErrorKind::Throttled), 5),
        ("told-to-wait", Fault::Answer(429, "Retry-After: 1\r\n", ""), 1, Ok(()), 2),
        ("told-to-wait-long", Fault::Answer(429, "Retry-After: 900\r\n", ""), 1, Err(ErrorKind::Throttled), 1),
        ("told-to-wait-for-ever", Fault::Answer(503, "Retry-After: 18446744073709551615\r\n", ""), 1, Err(ErrorKind::Throttled), 1),
        ("broken", Fault::Answer(500, "", "<html>planted-secret</html>"), 99, Err(ErrorKind::Network), 5),
        ("reset", Fault::Reset, 2, Ok(()), 3),
        ("reset-for-ever", Fault::Reset, 99, Err(ErrorKind::Network), 5),
        // On a busy machine the others may be late, too.
        ("silent", Fault::Hang, 1, Ok(()), 5),
        ("silent-for-ever", Fault::Hang, 99, Err(ErrorKind::Timeout), 5),
        ("forbidden", Fault::Answer(403, "", DENIED), 99, Err(ErrorKind::Permission), 1),
        ("unknown", Fault::Answer(401, "", ""), 99, Err(ErrorKind::Permission), 1),
        ("no-bucket", Fault::Answer(404, "", "<Error><Code>NoSuchBucket</Code></Error>"), 99, Err(ErrorKind::NotFound), 1),
        ("not-made", Fault::Answer(501, "", ""), 99, Err(ErrorKind::Unsupported), 1),
        ("elsewhere", Fault::Answer(301, "", ""), 99, Err(ErrorKind::Network), 1),
        (
            "login-page",
            Fault::Answer(200, "Content-Type: text/html\r\nETag: \"1\"\r\n", "<html>who are you</html>"),
            99,
            Err(ErrorKind::Network),
            1,
        ),
        ("cut", Fault::Cut(10), 2, Ok(()), 3),
        ("cut-for-ever", Fault::Cut(0), 99, Err(ErrorKind::Network), 5),
        ("short", Fault::Short(10), 1, Ok(()), 2),
        ("without-ranges", Fault::Whole, 99, Ok(()), 1),
        ("late", Fault::Late(Duration::from_millis(200)), 1, Ok(()), 1),
    ];
    std::thread::scope(|scope| {
        for (name, fault, times, expected, most) in cases {
            scope.spawn(move || {
                for by_start in [false, true] {
                    let (fault, times) = (fault.clone(), *times);
                    // One that answers in the end has the time of a busy machine.
                    let options: &[(&str, &str)] = match *name {
                        "silent" => &[("idle_timeout", "8")],
                        "silent-for-ever" => &[("idle_timeout", "0.5")],
                        _ => &[],
                    };
                    let rule = move |n: usize, _: &Seen| if n < times { fault.clone() } else { Fault::None };
                    let case = Case::new(&format!("{name}-{by_start}"), options, rule);
                    let result = match by_start {
                        false => case.get("k"),
                        true => case.read("k", &[ByteRange::Span { offset: 0, len: 20 }]).map(|f| f.map(|mut f| f.parts.remove(0))),
                    };
                    match (expected, result) {
                        (Ok(()), Ok(Some(bytes))) => assert!(bytes == BODY || (by_start && bytes == BODY[..20]), "{name}: {bytes:?}"),
                        (Err(kind), Err(e)) => assert_eq!(e.kind(), *kind, "{name}: {e:?}"),
                        (_, other) => panic!("{name}: {other:?}"),
                    }
                    assert!(case.requests() <= *most, "{name}: {} requests", case.requests());
                }
            });
        }
    });
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn the_end_of_an_answer_is_asked_for_again_from_where_it_broke_off() {
    let case = Case::new("resume", &[], |n, _| if n == 0 { Fault::Cut(12) } else { Fault::None });
    assert_eq!(case.get("k").unwrap().unwrap(), BODY);
    assert_eq!(case.proxy.seen()[1].range.as_deref(), Some("bytes=12-35"));
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn another_range_than_was_asked_for_is_an_error_and_a_whole_object_is_read_as_one() {
    let case = Case::new("wrong-range", &[], |_, _| Fault::WrongRange);
    assert_eq!(case.get("k").unwrap().unwrap(), BODY);
    for range in [ByteRange::Span { offset: 3, len: 10 }, ByteRange::Suffix { len: 4 }] {
        assert_eq!(case.read("k", &[range]).err().unwrap().kind(), ErrorKind::Ranges, "{range:?}");
    }
    // A server without ranges serves small objects, and says so of large ones.
    let case = Case::new("no-ranges", &[], |_, _| Fault::Whole);
    case.direct.put("large", &[&vec![7; 20 << 20]], Condition::None).unwrap();
    let got = case.read("k", &[ByteRange::Span { offset: 3, len: 10 }, ByteRange::Suffix { len: 4 }]).unwrap().unwrap();
    assert_eq!(got.parts, [&BODY[3..13], &BODY[32..]]);
    assert_eq!(case.read("large", &[ByteRange::Span { offset: 3, len: 10 }]).err().unwrap().kind(), ErrorKind::Ranges);
    assert_eq!(case.get("large").unwrap().unwrap().len(), 20 << 20);
}

/// What is on the way at most: the system's buffers of both ends of a connection, which grow up to these limits while the reader waits for a core,
/// and what is in the hands of both programs.
fn under_way() -> u64 {
    let largest = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap();
        text.split_whitespace().last().unwrap().parse::<u64>().unwrap()
    };
    largest("tcp_rmem") + largest("tcp_wmem") + (8 << 20)
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn no_more_is_taken_of_an_answer_without_an_end_than_was_asked_for() {
    const UNTOLD: &str = "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n";
    const PART: &str = "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\nContent-Range: bytes 0-19/36\r\n";
    const HUGE: &str = "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\nContent-Length: 300000000\r\n";
    let (span, whole) = (ByteRange::Span { offset: 0, len: 20 }, ByteRange::up_to(1000));
    /// Name, status, headers, what is asked for (`None`: a document), the error, a piece of its text, bytes that may be taken.
    type Row = (&'static str, u16, &'static str, Option<ByteRange>, ErrorKind, &'static str, u64);
    let cases: [Row; 8] = [
        ("document", 200, UNTOLD, None, ErrorKind::Limit, "found more than 67108864 bytes", (16 + 64) << 20),
        ("huge-document", 200, HUGE, None, ErrorKind::Limit, "found 300000000 bytes, expected at most 200000000", 0),
        ("part", 206, PART, Some(span), ErrorKind::Ranges, "found more than 20 bytes", 20),
        ("whole-for-part", 200, UNTOLD, Some(span), ErrorKind::Ranges, "has no ranges", 16 << 20),
        ("whole", 200, UNTOLD, Some(whole), ErrorKind::Limit, "found more than 1000 bytes", 1000),
        ("huge-whole", 200, HUGE, Some(whole), ErrorKind::Limit, "found 300000000 bytes, expected at most 1000", 0),
        ("chunk", 200, UNTOLD, Some(ByteRange::chunk(1 << 40, 1 << 20)), ErrorKind::Limit, "found more than 68157440 bytes", 65 << 20),
        ("any", 200, UNTOLD, Some(ByteRange::WHOLE), ErrorKind::Limit, "found more than 67108864 bytes", 64 << 20),
    ];
    for (name, status, headers, range, kind, text, most) in cases {
        let case = Case::new(&format!("flood-{name}"), &[], move |_, _| Fault::Flood(status, headers));
        let e = match range {
            None => get(&case.store, "k", 200_000_000).unwrap_err(),
            Some(range) => case.read("k", &[range]).err().unwrap(),
        };
        assert_eq!(e.kind(), kind, "{name}: {e}");
        assert!(e.message().contains(text), "{name}: {e}");
        assert!(range.is_some() || e.key() == Some("k"), "{name}: {e:?}");
        let taken = case.proxy.flooded();
        assert!(taken <= most + under_way(), "{name}: {taken} bytes were taken");
    }
    let case = Case::new("flood-put", &[("conditional_put", "never")], move |_, _| Fault::Flood(200, UNTOLD));
    assert_eq!(case.store.put("k", &[b"1"], Condition::None).unwrap_err().kind(), ErrorKind::Network);
    assert!(case.proxy.flooded() <= (16 << 20) + under_way(), "{} bytes of a reply were taken", case.proxy.flooded());
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn only_the_objects_own_404_is_missing_and_a_403_if_it_is_said_so() {
    let case = Case::new("missing", &[("forbidden", "missing")], |n, _| if n == 0 { Fault::Answer(403, "", DENIED) } else { Fault::None });
    assert!(case.get("k").unwrap().is_none());
    assert_eq!(case.get("k").unwrap().unwrap(), BODY);
    assert!(case.get("none").unwrap().is_none());
    let case = Case::new("gone", &[], |_, _| Fault::Answer(410, "", ""));
    assert!(case.get("k").unwrap().is_none(), "what is gone for good is not there");
    let case = Case::new("hint", &[], |_, _| Fault::Answer(403, "", DENIED));
    let e = case.get("none").unwrap_err();
    assert!(e.message().contains("cloud.forbidden") && e.http_status() == 403, "{e}");
    let list = case.store.list_dir("").inspect_err(no_secrets).unwrap_err();
    assert_eq!(list.kind(), ErrorKind::Permission);
    let case = Case::new("list-404", &[], |_, _| Fault::Answer(404, "", "<Error><Code>NoSuchBucket</Code></Error>"));
    assert_eq!(case.store.list_dir("").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(case.store.list("", &mut |_| Ok(())).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn an_object_that_is_replaced_between_two_ranges_is_never_mixed() {
    let large: Vec<u8> = vec![1; 600_000];
    let direct = s3("faults/replaced", &[]);
    let replace: Action = Arc::new(move || direct.put("large", &[&vec![2; 600_000]], Condition::None).unwrap());
    let case = Case::new("replaced", &[], move |n, _| if n == 1 { Fault::After(replace.clone()) } else { Fault::None });
    case.direct.put("large", &[&large], Condition::None).unwrap();
    // Opening brings the first part; the rest is of another object by then.
    let object = case.store.open("large").unwrap().unwrap();
    assert_eq!(object.read_whole(&mut Vec::new(), 1 << 20).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(case.get("large").unwrap().unwrap(), vec![2; 600_000]);
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn an_object_that_is_replaced_while_its_body_comes_is_read_anew() {
    let direct = s3("faults/replaced-body", &[]);
    let replace: Action = Arc::new(move || direct.put("k", &[b"another value of the same length...."], Condition::None).unwrap());
    let case = Case::new("replaced-body", &[], move |n, _| match n {
        0 => Fault::Cut(12),
        1 => Fault::After(replace.clone()),
        _ => Fault::None,
    });
    assert_eq!(case.get("k").unwrap().unwrap(), b"another value of the same length....");
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_put_whose_answer_was_lost_is_known_again() {
    // With `always` no probe comes before it.
    let always = [("conditional_put", "always")];
    // All of an answer is lost, or what follows its status line.
    for (name, fault) in [("lost", Fault::Lost), ("torn", Fault::Torn)] {
        let lose_first_put = || {
            let (puts, fault) = (AtomicUsize::new(0), fault.clone());
            move |_: usize, seen: &Seen| {
                let lost = seen.method == "PUT" && !seen.target.contains(".ozarr") && puts.fetch_add(1, Ordering::Relaxed) == 0;
                if lost { fault.clone() } else { Fault::None }
            }
        };
        let case = Case::new(name, &always, lose_first_put());
        case.store.put("a", &[b"1"], Condition::None).unwrap();
        assert_eq!(case.get("a").unwrap().unwrap(), b"1");
        let case = Case::new(&format!("{name}-absent"), &always, lose_first_put());
        case.store.put("new", &[b"mine"], Condition::Absent).unwrap();
        assert_eq!(case.get("new").unwrap().unwrap(), b"mine");
        assert_eq!(case.store.put("new", &[b"mine"], Condition::Absent).unwrap_err().kind(), ErrorKind::Conflict);
        let case = Case::new(&format!("{name}-match"), &always, lose_first_put());
        let version = case.direct.open("k").unwrap().unwrap().version().unwrap();
        case.store.put("k", &[b"changed"], Condition::Match(version)).unwrap();
        assert_eq!(case.store.put("k", &[b"changed"], Condition::Match(version)).unwrap_err().kind(), ErrorKind::Conflict);
    }
    // The value of another writer is not taken for one's own, though it has the same bytes.
    let direct = s3("faults/lost-other", &[]);
    direct.erase("new").unwrap();
    let other: Action = Arc::new(move || direct.put("new", &[b"same"], Condition::None).unwrap());
    let case = Case::new("lost-other", &always, move |n, seen| match (n, seen.method.as_str()) {
        (0, "PUT") => Fault::Reset,
        (1, "PUT") => Fault::After(other.clone()),
        _ => Fault::None,
    });
    let e = case.store.put("new", &[b"same"], Condition::Absent).unwrap_err();
    assert!(e.kind() == ErrorKind::Conflict && e.is_unsure(), "{e}");
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn an_upload_whose_last_answer_breaks_off_is_done_and_one_that_says_so_too_late_is_ended_again() {
    let value = vec![7; 23_000_001];
    let xml = "Content-Type: application/xml\r\n";
    let busy = Fault::Answer(200, xml, "  <Error><Code>InternalError</Code><Message>Please try again.</Message></Error>");
    let denied = Fault::Answer(200, xml, "  <Error><Code>AccessDenied</Code></Error>");
    // What services answer that know nothing of an upload any more.
    let gone = Fault::Answer(404, xml, "<Error><Code>NoSuchUpload</Code></Error>");
    for (name, faults, expected) in [
        ("end-cut", vec![Fault::Cut(20), gone.clone()], Ok(())),
        ("end-torn", vec![Fault::Torn, gone.clone()], Ok(())),
        ("end-lost", vec![Fault::Lost, gone.clone()], Ok(())),
        ("end-busy", vec![busy.clone()], Ok(())),
        ("end-busy-for-ever", vec![busy; 9], Err(ErrorKind::Network)),
        ("end-denied", vec![denied], Err(ErrorKind::Permission)),
        ("end-gone", vec![gone], Err(ErrorKind::NotFound)),
    ] {
        let ends = AtomicUsize::new(0);
        let case = Case::new(name, &[("part_size", "5242880")], move |_, seen| {
            let is_end = seen.method == "POST" && seen.target.contains("uploadId=");
            let fault = is_end.then(|| faults.get(ends.fetch_add(1, Ordering::Relaxed))).flatten();
            fault.cloned().unwrap_or(Fault::None)
        });
        let done = case.store.put("large", &[&value], Condition::None).inspect_err(no_secrets);
        assert_eq!(done.as_ref().copied().map_err(Error::kind), expected, "{name}: {done:?}");
        assert!(expected.is_err() || case.direct.open("large").unwrap().unwrap().len().unwrap() == 23_000_001, "{name}");
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn errors_of_single_keys_in_an_answer_to_many_mean_what_they_say() {
    /// Name, the code, how often it comes, what comes of it, requests that erase.
    type Row = (&'static str, &'static str, usize, std::result::Result<(), ErrorKind>, usize);
    let cases: [Row; 5] = [
        ("bulk", "", 0, Ok(()), 1),
        ("bulk-internal", "InternalError", 2, Ok(()), 3),
        ("bulk-busy", "ServiceUnavailable", 1, Ok(()), 2),
        ("bulk-busy-for-ever", "SlowDown", 99, Err(ErrorKind::Throttled), 5),
        ("bulk-denied", "AccessDenied", 99, Err(ErrorKind::Permission), 1),
    ];
    for (name, code, times, expected, requests) in cases {
        for below in [false, true] {
            let name = format!("{name}-{below}");
            let text = format!(
                "<DeleteResult><Error><Key>faults/{name}/d/1</Key><Code>{code}</Code><Message>planted-token</Message></Error></DeleteResult>"
            );
            let (text, erased): (&'static str, _) = (Box::leak(text.into_boxed_str()), AtomicUsize::new(0));
            let is_bulk = |seen: &Seen| seen.method == "POST" && seen.target.contains("?delete");
            let case = Case::new(&name, &[("disable_bulk_delete", "false")], move |_, seen| {
                let fails = is_bulk(seen) && erased.fetch_add(1, Ordering::Relaxed) < times;
                if fails { Fault::Answer(200, "Content-Type: application/xml\r\n", text) } else { Fault::None }
            });
            (0..3).for_each(|i| case.direct.put(&format!("d/{i}"), &[b"1"], Condition::None).unwrap());
            let done = if below { case.store.erase_prefix("d/") } else { case.store.erase("d/1").map(drop) }.inspect_err(no_secrets);
            assert_eq!(done.as_ref().copied().map_err(Error::kind), expected, "{name}: {done:?}");
            assert_eq!(case.proxy.seen().iter().filter(|seen| is_bulk(seen)).count(), requests, "{name}");
            assert!(expected.is_err() || case.direct.open("d/1").unwrap().is_none(), "{name}");
        }
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_server_that_ignores_conditions_is_found_out() {
    // What it is asked for a probe is always granted.
    let case = Case::new("no-conditions", &[], |_, seen| match (seen.method.as_str(), seen.target.contains("k.")) {
        ("PUT", true) => Fault::Answer(200, "ETag: \"1\"\r\n", ""),
        _ => Fault::None,
    });
    assert_eq!(case.store.put("k", &[b"1"], Condition::Absent).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(case.get("k").unwrap().unwrap(), BODY, "what is there is looked at instead");
    let before = case.requests();
    case.store.put("k2", &[b"1"], Condition::Absent).unwrap();
    assert_eq!(case.requests() - before, 2, "the probe is made once");
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn what_is_no_listing_is_no_empty_one_and_one_that_repeats_itself_ends() {
    const CIRCLE: &str = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>same</NextContinuationToken>\
        <Contents><Key>cloud/faults/circle/k</Key><Size>1</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>e</ETag></Contents>\
        </ListBucketResult>";
    let xml = "Content-Type: application/xml\r\n";
    for (name, body, text) in
        [("other", "<Maintenance>back soon</Maintenance>", "instead of a listing"), ("circle", CIRCLE, "again and again")]
    {
        let case = Case::new(
            name,
            &[],
            move |_, seen| if seen.target.contains("list-type") { Fault::Answer(200, xml, body) } else { Fault::None },
        );
        let e = case.store.list("", &mut |_| Ok(())).unwrap_err();
        assert!(e.kind() == ErrorKind::Network && e.message().contains(text), "{name}: {e}");
        if name == "other" {
            assert_eq!(case.store.list_dir("").unwrap_err().kind(), ErrorKind::Network);
            assert_eq!(case.store.erase_prefix("").unwrap_err().kind(), ErrorKind::Network);
            assert_eq!(case.get("k").unwrap().unwrap(), BODY, "nothing was erased");
        }
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_large_value_goes_up_in_parts_and_leaves_nothing_when_it_fails() {
    let value: Vec<u8> = (0..23_000_001u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let case = Case::new("parts", &[("part_size", "5242880")], |n, _| match n {
        2 => Fault::Lost,
        4 => Fault::Answer(503, "", SLOW_DOWN),
        _ => Fault::None,
    });
    case.store.put("large", &[&value[..1], &value[1..]], Condition::None).unwrap();
    assert!(case.get("large").unwrap().unwrap() == value);
    let uploads = case.proxy.seen().iter().filter(|seen| seen.target.contains("partNumber=")).count();
    assert!(uploads >= 5, "{uploads}");
    let mut staged = case.store.stage("staged").unwrap();
    staged.append(&value).unwrap();
    staged.replace_head(b"head").unwrap();
    (&case.store as &dyn Storage).publish("staged", staged).unwrap();
    let stored = case.get("staged").unwrap().unwrap();
    assert!(stored[..4] == *b"head" && stored[4..] == value[4..]);
    let mut gone = case.store.stage("gone").unwrap();
    gone.append(&value).unwrap();
    drop(gone);
    let until = Instant::now() + Duration::from_secs(200);
    while !case.proxy.seen().iter().any(|seen| seen.method == "DELETE" && seen.target.contains("uploadId=")) {
        assert!(Instant::now() < until, "an upload that was given up is taken back");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(case.direct.open("gone").unwrap().is_none());
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_bucket_in_another_region_is_looked_for_there() {
    let away = |_: usize, seen: &Seen| match seen.signed.contains("/eu-west-1/") {
        true => Fault::None,
        false => Fault::Answer(301, "x-amz-bucket-region: eu-west-1\r\n", "<Error><Code>PermanentRedirect</Code></Error>"),
    };
    let proxy = Proxy::new(&var("OZARR_TEST_S3"), away);
    let endpoint = proxy.url();
    s3("faults/region", &[]).put("k", &[BODY], Condition::None).unwrap();
    let guessed = store("s3://bucket/faults/region", &[("endpoint", &endpoint), KEYS[0], KEYS[1]]);
    assert_eq!(get(&guessed, "k", 100).unwrap().unwrap(), BODY);
    assert_eq!(get(&guessed, "k", 100).unwrap().unwrap(), BODY);
    assert_eq!(proxy.seen().len(), 3, "once it is known it is kept");
    // The answer of the first put there is lost: the redirection before says nothing of it.
    let puts = AtomicUsize::new(0);
    let lossy = Proxy::new(&var("OZARR_TEST_S3"), move |n, seen| match away(n, seen) {
        Fault::None if seen.method == "PUT" && puts.fetch_add(1, Ordering::Relaxed) == 0 => Fault::Lost,
        fault => fault,
    });
    s3("faults/region", &[]).erase("new").unwrap();
    let url = lossy.url();
    let store_there = store("s3://bucket/faults/region", &[("endpoint", &url), ("conditional_put", "always"), KEYS[0], KEYS[1]]);
    store_there.put("new", &[b"mine"], Condition::Absent).unwrap();
    let said = store("s3://bucket/faults/region", &[&[("endpoint", endpoint.as_str())], &KEYS[..]].concat());
    let e = get(&said, "k", 100).unwrap_err();
    assert!(e.kind() == ErrorKind::Network && e.message().contains("eu-west-1"), "{e:?}");
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn keys_that_expire_midway_are_read_anew_from_their_file() {
    let good = Arc::new(Mutex::new("first"));
    let accepted = good.clone();
    let proxy = Proxy::new(&var("OZARR_TEST_S3"), move |_, seen| {
        match seen.signed.contains(&format!("Credential={}/", accepted.lock().unwrap())) {
            true => Fault::None,
            false => Fault::Answer(400, "", "<Error><Code>ExpiredToken</Code></Error>"),
        }
    });
    let folder = TestFolder::new("expired");
    std::fs::create_dir_all(&folder).unwrap();
    let (file, endpoint) = (folder.join("credentials"), proxy.url());
    let renew = |id: &'static str| {
        let text = format!("[default]\naws_access_key_id={id}\naws_secret_access_key=planted-secret\naws_session_token=token-of-{id}\n");
        std::fs::write(&file, text).unwrap();
        *good.lock().unwrap() = id;
    };
    renew("first");
    let options =
        [("endpoint", endpoint.as_str()), ("credentials_file", file.to_str().unwrap()), ("region", "us-east-1"), ("part_size", "5242880")];
    let store = store("s3://bucket/faults/expired", &options);
    store.put("k", &[BODY], Condition::None).unwrap();
    let version = store.open("k").unwrap().unwrap().version().unwrap();
    *good.lock().unwrap() = "second";
    let e = store.put("k", &[b"new"], Condition::Match(version)).unwrap_err();
    assert!(e.kind() == ErrorKind::Permission && e.message().contains("ExpiredToken"), "{e:?}");
    renew("second");
    store.put("k", &[b"new"], Condition::Match(version)).unwrap();
    let mut staged = store.stage("large").unwrap();
    staged.append(&vec![1; 11 << 20]).unwrap();
    renew("third");
    staged.append(&vec![2; 6 << 20]).unwrap();
    (&store as &dyn Storage).publish("large", staged).unwrap();
    renew("fourth");
    assert_eq!(store.keys("").unwrap(), ["k", "large"]);
    renew("fifth");
    assert_eq!(get(&store, "k", 100).unwrap().unwrap(), b"new");
    renew("sixth");
    store.erase_prefix("").unwrap();
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_web_server_is_told_who_asks_and_nobody_else_is() {
    let elsewhere = Proxy::new(&var("OZARR_TEST_HTTP"), |_, _| Fault::None);
    let place: &'static str = Box::leak(format!("Location: http://localhost:{}/ready\r\n", elsewhere.port).into_boxed_str());
    let proxy = Proxy::new(&var("OZARR_TEST_HTTP"), move |n, _| if n == 0 { Fault::None } else { Fault::Answer(302, place, "") });
    let host = proxy.url().replace("http://", "");
    let store = store(&format!("http://us%65r:planted-word@{host}/"), &[]);
    assert_eq!(get(&store, "ready", 100).unwrap().unwrap(), b"yes");
    assert_eq!(proxy.seen()[0].signed, "Basic dXNlcjpwbGFudGVkLXdvcmQ=");
    assert_eq!(get(&store, "ready", 100).unwrap().unwrap(), b"yes");
    assert_eq!(elsewhere.seen()[0].signed, "", "credentials do not go to another host");
    let e = get(&store, "none", 1).unwrap_err();
    assert!(!e.to_string().contains("planted") && !store.describe().contains("planted"), "{e}");
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn erasing_a_prefix_and_listing_go_on_after_failures() {
    let case = Case::new("list", &[], |n, _| if n % 3 == 0 { Fault::Answer(500, "", "") } else { Fault::None });
    for i in 0..5 {
        case.direct.put(&format!("d/{i}"), &[b"1"], Condition::None).unwrap();
    }
    assert_eq!(case.store.keys("").unwrap(), ["d/0", "d/1", "d/2", "d/3", "d/4", "k"]);
    case.store.erase_prefix("d/").unwrap();
    assert_eq!(case.direct.list_dir("").unwrap().keys, ["k"]);
    assert!(case.direct.list_dir("").unwrap().prefixes.is_empty());
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn of_requests_that_go_out_together_the_one_that_broke_off_is_made_again() {
    for (name, fault) in [("reset", Fault::Reset), ("lost", Fault::Lost)] {
        let erased = AtomicUsize::new(0);
        let case = Case::new(&format!("together-{name}"), &[], move |_, seen| match seen.method.as_str() {
            "DELETE" if erased.fetch_add(1, Ordering::Relaxed) == 0 => fault.clone(),
            // Their answers come behind the end of the first.
            "DELETE" => Fault::Late(Duration::from_millis(300)),
            _ => Fault::None,
        });
        for i in 0..5 {
            case.direct.put(&format!("d/{i}"), &[b"1"], Condition::None).unwrap();
        }
        case.store.erase_prefix("d/").inspect_err(no_secrets).unwrap();
        assert_eq!(case.direct.list_dir("").unwrap().keys, ["k"], "{name}");
        assert!(case.direct.list_dir("").unwrap().prefixes.is_empty(), "{name}");
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn requests_are_made_in_a_child_of_fork() {
    let store = s3("faults/fork", &[]);
    store.put("k", &[BODY], Condition::None).unwrap();
    let object = store.open("k").unwrap().unwrap();
    // SAFETY: the child reads, and ends without unwinding.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let good = matches!(get(&store, "k", 100), Ok(Some(bytes)) if bytes == BODY) && object.still_current().is_ok_and(|is| is);
        // SAFETY: ends the child.
        unsafe { libc::_exit(if good { 42 } else { 1 }) };
    }
    let (mut status, until) = (0, Instant::now() + Duration::from_secs(200));
    // SAFETY: `status` is an int; the child is ours.
    while unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } == 0 {
        if Instant::now() > until {
            // SAFETY: as above.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(libc::WEXITSTATUS(status), 42);
    assert_eq!(get(&store, "k", 100).unwrap().unwrap(), BODY);
}
