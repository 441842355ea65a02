//! Arrays in object stores: what an access costs in requests, how many are on their way at once, and that an error is no fill value.

use crate::int32::{read, write_all};
use crate::proxy::{Action, Fault, Proxy};
use crate::suite::{KEYS, azure, s3, s3s, store, var};
use ozarr::dtype::DataType;
use ozarr::error::{ErrorKind, Result};
use ozarr::node::{Array, Context, Create, Mode, Spec, Store};
use ozarr::store::SharedStore;
use ozarr::store::object::RemoteStore;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn create(shared: &SharedStore, shape: &[u64], chunks: &[u64], inner: Option<&[u64]>) -> Array {
    let store = Store::from_shared(&Context::with_threads(2), shared.clone(), Mode::ReadWrite);
    let mut spec = Spec::new(DataType::Int32, shape).unwrap();
    spec.set_chunks(chunks).unwrap();
    if let Some(inner) = inner {
        spec.set_inner_chunks(inner).unwrap();
    }
    Array::create(&store, "a", &spec, Create::Overwrite).unwrap()
}

fn open(shared: &SharedStore) -> Result<Array> {
    Array::open(&Store::from_shared(&Context::with_threads(2), shared.clone(), Mode::ReadWrite), "a")
}

/// A store on the S3 server behind a proxy.
fn behind(path: &str, proxy: &Proxy, more: &[(&str, &str)]) -> Arc<RemoteStore> {
    let endpoint = proxy.url();
    let options = [&[("endpoint", endpoint.as_str()), ("retries", "1"), ("conditional_put", "always")], &KEYS[..], more].concat();
    Arc::new(store(&format!("s3://bucket/arrays/{path}"), &options))
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn arrays_come_back_and_cost_the_requests_that_they_should() {
    cost_of_arrays(vec![("s3", s3("arrays/cost", &[]), 2), ("azure", azure("arrays/cost"), 3)]);
}

#[test]
#[ignore = "needs servers: tools/cloud --s3s-fs"]
fn arrays_on_s3s_fs_come_back_and_cost_the_requests_that_they_should() {
    cost_of_arrays(vec![("s3s-fs", s3s("bucket/arrays/cost"), 2)]);
}

/// The stores, and the requests that the first read from a shard costs.
fn cost_of_arrays(stores: Vec<(&str, RemoteStore, u64)>) {
    for (name, remote, cold) in stores {
        let remote = Arc::new(remote);
        let shared: SharedStore = remote.clone();
        for inner in [None, Some(&[5u64, 10][..])] {
            let values: Vec<i32> = (0..40 * 60).collect();
            let array = create(&shared, &[40, 60], &[20, 20], inner);
            write_all(&array, &values).unwrap();
            assert_eq!(read(&array, &[0, 0], &[40, 60]).unwrap(), values, "{name}");
            let before = remote.requests();
            let array = open(&shared).unwrap();
            assert_eq!(remote.requests() - before, 3, "{name}: the documents that an array may have, at once");
            let cost = |at: [i64; 2]| {
                let before = remote.requests();
                assert_eq!(read(&array, &at, &[1, 1]).unwrap(), [(at[0] * 60 + at[1]) as i32], "{name}");
                remote.requests() - before
            };
            if inner.is_some() {
                // The end of an object is another request more on Azure.
                assert_eq!([cost([1, 1]), cost([1, 2]), cost([19, 19]), cost([20, 0])], [cold, 1, 1, cold], "{name}");
            } else {
                assert_eq!(cost([1, 1]), 1, "{name}");
            }
        }
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn opening_takes_one_round_trip_and_reads_and_writes_are_in_flight_together() {
    let now = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let wanted = Arc::new(AtomicUsize::new(0));
    let (counted, highest, enough) = (now.clone(), most.clone(), wanted.clone());
    // Requests wait for each other: until as many as are wanted have been there at once.
    let slowly: Action = Arc::new(move || {
        highest.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        for _ in 0..2000 {
            std::thread::sleep(Duration::from_millis(10));
            if highest.load(Ordering::SeqCst) >= enough.load(Ordering::SeqCst) {
                break;
            }
        }
        counted.fetch_sub(1, Ordering::SeqCst);
    });
    let proxy = Proxy::new(&var("OZARR_TEST_S3"), move |_, _| Fault::After(slowly.clone()));
    let shared: SharedStore = behind("flight", &proxy, &[]);
    let array = create(&shared, &[64], &[1], None);
    let values: Vec<i32> = (1..65).collect();
    // How many were on their way at the same time; time itself is the machine's.
    let together = |what: &str, least: usize, f: &mut dyn FnMut()| {
        most.store(0, Ordering::SeqCst);
        wanted.store(least, Ordering::SeqCst);
        f();
        wanted.store(0, Ordering::SeqCst);
        let found = most.load(Ordering::SeqCst);
        assert!(found >= least && found <= 64, "{what}: {found}");
    };
    together("writing", 16, &mut || write_all(&array, &values).unwrap());
    together("opening", 3, &mut || drop(open(&shared).unwrap()));
    together("reading", 16, &mut || assert_eq!(read(&array, &[0], &[64]).unwrap(), values));
    together("clearing", 16, &mut || write_all(&array, &[0; 64]).unwrap());
    assert_eq!(read(&array, &[0], &[64]).unwrap(), [0; 64]);
    write_all(&array, &values).unwrap();
    let few = behind("flight", &proxy, &[("requests", "5")]);
    let array = open(&(few as SharedStore)).unwrap();
    most.store(0, Ordering::SeqCst);
    wanted.store(5, Ordering::SeqCst);
    assert_eq!(read(&array, &[0], &[40]).unwrap(), values[..40]);
    wanted.store(0, Ordering::SeqCst);
    assert_eq!(most.load(Ordering::SeqCst), 5, "as many as were set, and no more");
    let narrow = behind("flight", &proxy, &[("bytes", "65536")]);
    assert_eq!(read(&open(&(narrow as SharedStore)).unwrap(), &[0], &[64]).unwrap(), values);
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn an_error_is_never_a_fill_value() {
    const NO_BUCKET: &str = "<Error><Code>NoSuchBucket</Code></Error>";
    let direct: SharedStore = Arc::new(s3("arrays/errors", &[]));
    for inner in [None, Some(&[2u64][..])] {
        let values: Vec<i32> = (1..9).collect();
        write_all(&create(&direct, &[8], &[4], inner), &values).unwrap();
        for (fault, kind) in [
            (Fault::Answer(403, "", ""), ErrorKind::Permission),
            (Fault::Answer(500, "", ""), ErrorKind::Network),
            (Fault::Answer(503, "", ""), ErrorKind::Throttled),
            (Fault::Answer(404, "", NO_BUCKET), ErrorKind::NotFound),
            (Fault::Answer(200, "Content-Type: text/html\r\nETag: \"1\"\r\n", "<html>0123</html>"), ErrorKind::Network),
            (Fault::Reset, ErrorKind::Network),
            (Fault::Cut(0), ErrorKind::Network),
        ] {
            let proxy =
                Proxy::new(&var("OZARR_TEST_S3"), move |_, seen| if seen.target.contains("/c/1") { fault.clone() } else { Fault::None });
            let array = open(&(behind("errors", &proxy, &[]) as SharedStore)).unwrap();
            let e = read(&array, &[0], &[8]).unwrap_err();
            assert_eq!((e.kind(), e.key()), (kind, Some("a/c/1")), "{e:?}");
            assert_eq!(read(&array, &[0], &[4]).unwrap(), values[..4]);
        }
        let proxy = Proxy::new(
            &var("OZARR_TEST_S3"),
            |_, seen| if seen.target.contains("/c/1") { Fault::Answer(404, "", "") } else { Fault::None },
        );
        assert_eq!(read(&open(&(behind("errors", &proxy, &[]) as SharedStore)).unwrap(), &[2], &[4]).unwrap(), [3, 4, 0, 0]);
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_write_that_fails_in_part_says_so_and_stores_the_rest() {
    let proxy = Proxy::new(&var("OZARR_TEST_S3"), |_, seen| {
        let fails = seen.method == "PUT" && seen.target.contains("/c/2");
        if fails { Fault::Answer(403, "", "") } else { Fault::None }
    });
    let shared: SharedStore = behind("partial", &proxy, &[]);
    let array = create(&shared, &[8], &[2], None);
    let e = write_all(&array, &(1..9).collect::<Vec<_>>()).unwrap_err();
    assert_eq!((e.kind(), e.key(), e.http_status()), (ErrorKind::Permission, Some("a/c/2"), 403));
    assert!(e.message().contains("1 of 4 chunks"), "{e}");
    assert_eq!(read(&array, &[0], &[8]).unwrap(), [1, 2, 3, 4, 0, 0, 7, 8]);
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_host_with_a_runtime_of_its_own_may_call_from_inside_it() {
    let shared: SharedStore = Arc::new(s3("arrays/host", &[]));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let array = create(&shared, &[4], &[2], None);
        write_all(&array, &[1, 2, 3, 4]).unwrap();
        assert_eq!(read(&array, &[1], &[2]).unwrap(), [2, 3]);
        drop((array, shared));
    });
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn locations_and_options_open_what_they_name() {
    let context = Context::with_threads(2);
    let endpoint = var("OZARR_TEST_S3");
    let json = r#"{"access_key_id": "planted-id", "secret_access_key": "planted-secret", "region": "us-east-1", "retries": 2, "aws_unsigned_payload": true}"#;
    let options = [("cloud.endpoint", endpoint.as_str()), ("cloud.options", json), ("cloud.deadline", "20")];
    let store = Store::open(&context, "s3://public/locations/x.zarr", Mode::ReadWrite, &options).unwrap();
    let mut spec = Spec::new(DataType::Int32, &[4]).unwrap();
    spec.set_chunks(&[2]).unwrap();
    let array = Array::create(&store, "run/t", &spec, Create::Overwrite).unwrap();
    write_all(&array, &[1, 2, 3, 4]).unwrap();
    assert_eq!(read(&Array::open(&store, "run/t").unwrap(), &[0], &[4]).unwrap(), [1, 2, 3, 4]);
    assert_eq!(store.key_list("run/t/c/").unwrap(), ["run/t/c/0", "run/t/c/1"]);
    for (name, value) in [
        ("cloud.secret_acess_key", "planted-secret"),
        ("cloud.options", r#"{"a": ["planted-secret"]}"#),
        ("cloud.options", "planted-secret"),
    ] {
        let e = Store::open(&context, "s3://bucket/x.zarr", Mode::Read, &[(name, value)]).err().unwrap();
        assert_eq!(e.kind(), ErrorKind::Argument, "{e}");
        assert!(!e.to_string().contains("planted"), "{e}");
    }
    // Without keys requests go out unsigned; this bucket is public.
    let open = Store::open(&context, "s3://public/locations/x.zarr", Mode::Read, &[("cloud.endpoint", &endpoint)]).unwrap();
    assert_eq!(read(&Array::open(&open, "run/t").unwrap(), &[0], &[4]).unwrap(), [1, 2, 3, 4]);
    let e = Array::open(&open, "run/none").err().unwrap();
    assert!(matches!(e.kind(), ErrorKind::NotFound | ErrorKind::Permission), "{e:?}");
    ozarr::store::Storage::put(&s3("locations/x.zarr/run/t", &[]), "zarr.json", &[b"{}"], ozarr::store::Condition::None).unwrap();
    let private = Store::open(&context, "s3://bucket/locations/x.zarr", Mode::Read, &[("cloud.endpoint", &endpoint)]).unwrap();
    assert_eq!(Array::open(&private, "run/t").err().unwrap().kind(), ErrorKind::Permission);
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_public_web_server_is_one_call() {
    let root = std::path::PathBuf::from(var("OZARR_TEST_HTTP_ROOT"));
    let context = Context::with_threads(2);
    let local = Store::open(&context, root.join("web.zarr").to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    let mut spec = Spec::new(DataType::Int32, &[40]).unwrap();
    spec.set_chunks(&[20]).unwrap();
    spec.set_inner_chunks(&[5]).unwrap();
    let values: Vec<i32> = (0..40).collect();
    write_all(&Array::create(&local, "g/a", &spec, Create::Overwrite).unwrap(), &values).unwrap();
    for place in ["", "/norange"] {
        let (store, path) =
            Store::locate(&context, &format!("{}{place}/web.zarr/g/a?token=planted", var("OZARR_TEST_HTTP")), Mode::Read).unwrap();
        assert_eq!(read(&Array::open(&store, &path).unwrap(), &[0], &[40]).unwrap(), values);
        assert_eq!(read(&Array::open(&store, &path).unwrap(), &[21], &[3]).unwrap(), [21, 22, 23]);
        let e = Array::open(&store, "g/none").err().unwrap();
        assert!(e.kind() == ErrorKind::NotFound && !e.to_string().contains("planted"), "{e}");
        assert_eq!(store.key_list("").unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
