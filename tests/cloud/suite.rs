//! The store suite over each server.

use ozarr::error::Result;
use ozarr::node::{Context, Mode, Store};
use ozarr::store::object::RemoteStore;
use ozarr::store::remote::{Remote, RemoteOptions};
use ozarr::store::{Storage, StorageExt, suite};

/// A variable that `tools/cloud` sets.
pub fn var(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run tools/cloud"))
}

/// A hierarchy in the bucket of a server that takes any credentials, as a process of two threads opens it.
pub fn open_in_bucket(place: &str, endpoint: &str) -> Result<Store> {
    let options = [
        ("cloud.endpoint", endpoint),
        ("cloud.access_key_id", "planted-id"),
        ("cloud.secret_access_key", "planted-secret"),
        ("cloud.region", "us-east-1"),
    ];
    Store::open(&Context::with_threads(2), &format!("s3://bucket/{place}.zarr"), Mode::ReadWrite, &options)
}

/// A store at a URL with options.
pub fn store(url: &str, pairs: &[(&str, &str)]) -> RemoteStore {
    let (scheme, rest) = url.split_once(':').unwrap();
    let mut options = RemoteOptions::default();
    for (name, value) in pairs {
        if !options.set(name, value).unwrap() {
            // What only the service knows.
            options.set_named(name, value);
        }
    }
    RemoteStore::open(&Remote::parse(scheme, rest).unwrap().unwrap(), &options).unwrap()
}

/// The keys of the S3 server.
pub const KEYS: [(&str, &str); 3] = [("access_key_id", "planted-id"), ("secret_access_key", "planted-secret"), ("region", "us-east-1")];

/// A store on the S3 server.
pub fn s3(path: &str, more: &[(&str, &str)]) -> RemoteStore {
    let endpoint = var("OZARR_TEST_S3");
    let options = [&[("endpoint", endpoint.as_str())], &KEYS[..], more].concat();
    store(&format!("s3://bucket/{path}"), &options)
}

/// The keys of the Azure server.
pub const AZURE_KEYS: [(&str, &str); 2] = [
    ("account_name", "devstoreaccount1"),
    ("account_key", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="),
];

/// A store on the Azure server.
pub fn azure(path: &str) -> RemoteStore {
    let endpoint = var("OZARR_TEST_AZURE");
    store(&format!("az://bucket/{path}"), &[&[("endpoint", endpoint.as_str())], &AZURE_KEYS[..]].concat())
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn s3_behaves_like_every_store() {
    suite::check(&s3("suite", &[]));
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_whole_bucket_behaves_like_every_store() {
    let endpoint = var("OZARR_TEST_S3");
    let options = [&[("endpoint", endpoint.as_str())], &KEYS[..]].concat();
    // Which are the same below a prefix: the long checks try them here, too.
    let same = [
        "conditions are kept",
        "ranges are read",
        "objects are snapshots",
        "a started read ends once",
        "no change is lost under a lock",
        "readers see whole values only",
        "of several writers of a new key one wins",
    ];
    suite::check_but(&store("s3://empty", &options), if ozarr::settings::apart(2) == 1 { &[] } else { &same });
}

/// A store on the second S3 server, at `bucket/path`.
pub fn s3s(place: &str) -> RemoteStore {
    let endpoint = var("OZARR_TEST_S3S");
    store(&format!("s3://{place}"), &[&[("endpoint", endpoint.as_str())], &KEYS[..]].concat())
}

#[test]
#[ignore = "needs servers: tools/cloud --s3s-fs"]
fn s3s_fs_behaves_like_every_store() {
    let not = [
        // Keys become names of files: these are too long, or would be a file and a folder.
        "keys may be as long as they get",
        "prefixes are erased and no more",
        // It looks at a condition and stores in two steps.
        "no change is lost under a lock",
        "of several writers of a new key one wins",
    ];
    suite::check_but(&s3s("empty"), &not);
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn azure_behaves_like_every_store() {
    suite::check(&azure("suite"));
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_web_server_is_read_by_keys_and_says_what_it_cannot_do() {
    use ozarr::error::ErrorKind;
    use ozarr::store::{ByteRange, Condition, get, read_now};
    let root = std::path::PathBuf::from(var("OZARR_TEST_HTTP_ROOT")).join("plain");
    std::fs::create_dir_all(root.join("d")).unwrap();
    std::fs::write(root.join("d/a b%41"), b"0123456789").unwrap();
    std::fs::write(root.join("empty"), b"").unwrap();
    let large: Vec<u8> = (0..700_001u32).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect();
    std::fs::write(root.join("large"), &large).unwrap();
    let store = store(&format!("{}/plain", var("OZARR_TEST_HTTP")), &[]);
    assert_eq!(get(&store, "d/a b%41", 100).unwrap().unwrap(), b"0123456789");
    assert_eq!(get(&store, "empty", 100).unwrap().unwrap(), b"");
    assert!(get(&store, "large", 1 << 20).unwrap().unwrap() == large);
    assert!(get(&store, "none", 100).unwrap().is_none());
    let parts = read_now(&store, "large", &[ByteRange::Span { offset: 600_000, len: 5 }, ByteRange::Suffix { len: 3 }], None)
        .unwrap()
        .unwrap()
        .parts;
    assert_eq!(parts, [&large[600_000..600_005], &large[699_998..]]);
    let can = store.capabilities();
    assert!(!can.writable && !can.listable && !can.erasable && can.latency);
    assert_eq!(store.list_dir("").unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(store.list("", &mut |_| Ok(())).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(store.put("x", &[b"1"], Condition::None).unwrap_err().kind(), ErrorKind::ReadOnly);
}
