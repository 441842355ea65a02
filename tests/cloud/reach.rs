//! What lies between a program and a server: names and ports, certificates, proxies. What cannot succeed is told at once, and clearly.

use crate::forward::Forward;
use crate::proxy::{Fault, Proxy};
use crate::suite::{KEYS, store, var};
use ozarr::error::{Error, ErrorKind};
use ozarr::store::get;
use ozarr::store::object::RemoteStore;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A URL, options or variables, and what the error says.
type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

/// Reads a key of a store; how many requests that took, and the value or the error, which names no credential.
fn ask(store: &RemoteStore) -> (u64, Result<Vec<u8>, Error>) {
    let before = store.requests();
    let result = get(store, "ready", 100).map(|found| found.expect("a value"));
    if let Err(e) = &result {
        assert!(!format!("{e:?} {e}").contains("planted"), "{e:?}");
    }
    (store.requests() - before, result)
}

/// A port at which nobody listens.
fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_host_that_never_answered_is_tried_a_few_times_only() {
    let refused = format!("http://127.0.0.1:{}", closed_port());
    let cases = [
        ("http://nonexistent.invalid", "http://nonexistent.invalid", 3, "the server nonexistent.invalid cannot be reached"),
        ("https://nonexistent.invalid", "https://nonexistent.invalid", 3, "the server nonexistent.invalid cannot be reached"),
        ("s3://bucket", "http://nonexistent.invalid", 3, "the server nonexistent.invalid cannot be reached"),
        ("s3://bucket", refused.as_str(), 3, "refused"),
        (refused.as_str(), refused.as_str(), 3, "refused"),
    ];
    for (url, endpoint, tries, text) in cases {
        let more = [("endpoint", endpoint), ("allow_http", "true")];
        let options = if url.starts_with("s3:") { [&more[..], &KEYS[..]].concat() } else { Vec::new() };
        let (asked, result) = ask(&store(url, &options));
        let e = result.unwrap_err();
        assert_eq!((e.kind(), asked), (ErrorKind::Network, tries), "{url} {endpoint}: {e}");
        assert!(e.message().contains(text) && e.message().contains("tried 3 times"), "{e}");
    }
    let once = store(&refused, &[("retries", "0")]);
    assert_eq!(ask(&once).0, 1, "fewer tries where fewer are set");
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_server_that_has_answered_and_is_gone_is_waited_for() {
    let endpoint = |port: u16| format!("http://127.0.0.1:{port}");
    let proxy = Proxy::new(&var("OZARR_TEST_HTTP"), |_, _| Fault::None);
    let (port, store) = (proxy.port, store(&proxy.url(), &[("retries", "5")]));
    assert_eq!(ask(&store).1.unwrap(), b"yes");
    drop(proxy);
    // The listener goes with its thread.
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let (asked, result) = ask(&store);
    let e = result.unwrap_err();
    assert_eq!((asked, e.kind()), (6, ErrorKind::Network), "{}: {e}", endpoint(port));
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn certificates_of_an_authority_that_is_named_are_trusted_and_no_others() {
    let (url, folder) = (var("OZARR_TEST_HTTPS"), var("OZARR_TEST_CERTIFICATES"));
    let (ca, other) = (format!("{folder}/ca.pem"), format!("{folder}/other.pem"));
    let elsewhere = url.replace("localhost", "127.0.0.1");
    assert_eq!(ask(&store(&url, &[("ca_file", &ca)])).1.unwrap(), b"yes");
    let cases: [Row; 4] = [
        (&url, &[], "UnknownIssuer"),
        (&url, &[("ca_file", &other)], "cloud.ca_file"),
        (&elsewhere, &[("ca_file", &ca)], "not valid for name \"127.0.0.1\""),
        (&var("OZARR_TEST_HTTP").replace("http:", "https:"), &[("ca_file", &ca)], "does it speak TLS?"),
    ];
    for (url, options, text) in cases {
        let (asked, result) = ask(&store(url, options));
        let e = result.unwrap_err();
        assert_eq!((e.kind(), asked), (ErrorKind::Network, 1), "{e}");
        assert!(e.message().contains(text), "{e}");
    }
}

/// Reads the URL of the variable `OZARR_TEST_READ` as the environment of this process says; see below.
#[test]
#[ignore = "run by other tests in an environment of its own"]
fn reads_as_the_environment_says() {
    let Ok(url) = std::env::var("OZARR_TEST_READ") else { return };
    let store = match url.split_once("://").unwrap().0 {
        "s3" => store(&url, &[&[("endpoint", var("OZARR_TEST_HTTPS").as_str()), ("retries", "0")], &KEYS[..]].concat()),
        _ => store(&url, &[]),
    };
    match ask(&store).1 {
        Ok(value) => assert_eq!(value, b"yes"),
        Err(e) => panic!("{e}"),
    }
}

/// What a process in that environment says, and whether it could read.
fn in_environment(url: &str, variables: &[(&str, &str)]) -> (bool, String) {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["reach::reads_as_the_environment_says", "--exact", "--ignored", "--nocapture"]).env("OZARR_TEST_READ", url);
    let output = child.envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("running 1 test") && !said.contains("planted"), "{said}");
    (output.status.success(), said)
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn the_environment_names_certificates() {
    let (url, folder) = (var("OZARR_TEST_HTTPS"), var("OZARR_TEST_CERTIFICATES"));
    let (ca, other) = (format!("{folder}/ca.pem"), format!("{folder}/other.pem"));
    let cases: [Row; 4] = [
        (&url, &[("SSL_CERT_FILE", &ca)], ""),
        (&url, &[("SSL_CERT_FILE", &other)], "UnknownIssuer"),
        // What answers is no S3 server, but it is one that is trusted.
        ("s3://nothing", &[("AWS_CA_BUNDLE", &ca)], "answered 404 with a text that is not the service's"),
        ("s3://nothing", &[("AWS_CA_BUNDLE", &other)], "UnknownIssuer"),
    ];
    for (url, variables, text) in cases {
        let (good, said) = in_environment(url, variables);
        assert!(good == text.is_empty() && said.contains(text), "{url} {variables:?}: {said}");
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_proxy_is_gone_through_and_its_password_is_not_told() {
    let (plain, secure) = (var("OZARR_TEST_HTTP"), var("OZARR_TEST_HTTPS"));
    let ca = format!("{}/ca.pem", var("OZARR_TEST_CERTIFICATES"));
    let proxy = Forward::new();
    let (known, unknown) = (proxy.url("planted%2Duser:planted-word"), proxy.url("planted-user:planted-wrong"));
    for (url, first) in [(&plain, format!("GET {plain}/ready")), (&secure, format!("CONNECT {}", &secure["https://".len()..]))] {
        let before = proxy.seen().len();
        assert_eq!(ask(&store(url, &[("proxy", &known), ("ca_file", &ca)])).1.unwrap(), b"yes", "{url}");
        assert!(proxy.seen().len() == before + 1 && proxy.seen()[before].starts_with(&first), "{:?}", proxy.seen());
        let (asked, result) = ask(&store(url, &[("proxy", &unknown), ("ca_file", &ca)]));
        let e = result.unwrap_err();
        assert_eq!((e.kind(), asked, proxy.seen().len()), (ErrorKind::Permission, 1, before + 2), "{url}: {e}");
        assert!(e.message().contains("407") || e.message().contains("proxy authorization required"), "{e}");
    }
    let nobody = format!("http://planted-user:planted-word@127.0.0.1:{}", closed_port());
    let away = format!("https://127.0.0.1:{}", closed_port());
    for (url, proxy) in [(&plain, &nobody), (&secure, &nobody), (&away, &known)] {
        let (asked, result) = ask(&store(url, &[("proxy", proxy), ("retries", "4")]));
        let e = result.unwrap_err();
        assert_eq!((e.kind(), asked), (ErrorKind::Network, 3), "{url}: {e}");
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn the_environment_names_a_proxy() {
    let (plain, secure) = (var("OZARR_TEST_HTTP"), var("OZARR_TEST_HTTPS"));
    let ca = format!("{}/ca.pem", var("OZARR_TEST_CERTIFICATES"));
    let proxy = Forward::new();
    let (known, unknown) = (proxy.url("planted-user:planted-word"), proxy.url("planted-user:planted-wrong"));
    let asked = AtomicUsize::new(0);
    let through = |url: &str, variables: &[(&str, &str)], requests: usize| {
        let (good, said) = in_environment(url, &[&[("SSL_CERT_FILE", ca.as_str())], variables].concat());
        let before = asked.swap(proxy.seen().len(), Ordering::Relaxed);
        assert_eq!(proxy.seen().len() - before, requests, "{url} {variables:?}: {said}");
        (good, said)
    };
    assert!(through(&plain, &[("http_proxy", &known)], 1).0);
    assert!(through(&secure, &[("HTTPS_PROXY", &known)], 1).0);
    assert!(through(&secure, &[("ALL_PROXY", &known), ("NO_PROXY", "localhost")], 0).0);
    let (good, said) = through(&secure, &[("HTTPS_PROXY", &unknown)], 1);
    assert!(!good && said.contains("proxy authorization required"), "{said}");
}

/// Reads without standard input, output and error, and ends the process itself: whether it failed cannot be printed.
#[test]
#[ignore = "run by another test in a process of its own"]
fn reads_without_standard_files() {
    let Ok(url) = std::env::var("OZARR_TEST_READ") else { return };
    // SAFETY: nothing else in this process uses the three descriptors.
    (0..3).for_each(|fd| assert_eq!(unsafe { libc::close(fd) }, 0));
    let store = store(&url, &[]);
    let is_read = matches!(get(&store, "ready", 100), Ok(Some(value)) if value == b"yes");
    let is_socket = |fd| std::fs::read_link(format!("/proc/self/fd/{fd}")).is_ok_and(|to| to.to_string_lossy().starts_with("socket"));
    let taken = (0..3).any(is_socket);
    // SAFETY: the call ends the process.
    unsafe { libc::_exit(i32::from(taken) + 2 * i32::from(!is_read)) };
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn no_connection_takes_the_place_of_standard_output() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child
        .args(["reach::reads_without_standard_files", "--exact", "--ignored", "--nocapture"])
        .env("OZARR_TEST_READ", var("OZARR_TEST_HTTP"));
    assert_eq!(child.output().unwrap().status.code(), Some(0), "1: a connection has a standard number; 2: nothing was read");
}
