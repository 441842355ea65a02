//! What a program can call while the process has no more memory: what ends something, what tells of errors, and what says how requests went.

use ozarr::ffi::array::ozarr_array_close;
use ozarr::ffi::checkpoint::{ozarr_checkpoint_abandon, ozarr_checkpoint_begin, ozarr_checkpoint_commit};
use ozarr::ffi::ext_answer::{ozarr_answer_done, ozarr_set_error};
use ozarr::ffi::library::{OZARR_ABI_VERSION, ozarr_abi_version, ozarr_has_feature, ozarr_version};
use ozarr::ffi::node::{ozarr_array_node, ozarr_group_node, ozarr_node_get, ozarr_node_set};
use ozarr::ffi::request::{
    OZARR_REQUEST_COPY, OZARR_REQUEST_STATE_DONE, ozarr_array_iwrite_region, ozarr_request_cancel, ozarr_request_error, ozarr_request_free,
    ozarr_request_get_state, ozarr_request_test, ozarr_request_wait, ozarr_requests_wait_all, ozarr_requests_wait_any, ozarr_shutdown,
};
use ozarr::ffi::spec::{ozarr_spec_free, ozarr_spec_new};
use ozarr::ffi::status::{
    OZARR_ERR_IO, OZARR_ERR_NO_MEMORY, OZARR_ERR_NULL, OZARR_OK, OZARR_ORDER_F, ozarr_error_info, ozarr_last_error, ozarr_last_error_in,
    ozarr_last_error_info, ozarr_status_name,
};
use ozarr::ffi::store::{ozarr_array_create_at, ozarr_array_open_at, ozarr_store_close, ozarr_store_memory};
use ozarr::ffi::types::{OZARR_CREATE_NEW, OZARR_FLOAT64};
use ozarr::reserve;
use ozarr::store::suite::TestFolder;
use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

fn text(p: *const c_char) -> String {
    // SAFETY: the functions under test give NUL-terminated texts.
    unsafe { CStr::from_ptr(p) }.to_str().unwrap().to_string()
}

/// The half of the reserve's slots that must be in use before calls are refused, until this is dropped.
struct Low(Vec<*mut u8>);

impl Low {
    fn new() -> Low {
        let mut taken = Vec::new();
        while !reserve::is_low() {
            taken.push(reserve::take_small(4096));
        }
        Low(taken)
    }
}

impl Drop for Low {
    fn drop(&mut self) {
        // SAFETY: taken above, once each.
        self.0.iter().for_each(|block| unsafe { reserve::put_back(*block) });
    }
}

// One test, because the reserve is one for all threads.
#[test]
fn a_program_without_memory_learns_why_and_ends_what_it_began() {
    let folder = TestFolder::new("low-memory");
    let place = CString::new(folder.join("run.zarr").to_str().unwrap()).unwrap();
    let (mut store, mut spec, mut array, mut other) = (null_mut(), null_mut(), null_mut(), null_mut());
    let (mut requests, mut begun) = ([null_mut(); 2], [null_mut(); 2]);
    let (shape, start, elements) = ([8], [0], [7.0f64; 8]);
    // SAFETY: texts end in NUL, lists are as long as is said, variables have room, and each handle is freed once.
    unsafe {
        assert_eq!(ozarr_store_memory(&mut store), OZARR_OK);
        assert_eq!(ozarr_spec_new(OZARR_FLOAT64, 1, shape.as_ptr(), &mut spec), OZARR_OK);
        assert_eq!(ozarr_array_create_at(store, c"a".as_ptr(), spec, OZARR_CREATE_NEW, &mut array), OZARR_OK);
        for (begun, name) in begun.iter_mut().zip([c"one", c"two"]) {
            assert_eq!(ozarr_checkpoint_begin(place.as_ptr(), name.as_ptr(), begun), OZARR_OK, "{}", text(ozarr_last_error()));
        }
        for request in &mut requests {
            let data = elements.as_ptr().cast();
            let begun =
                ozarr_array_iwrite_region(array, start.as_ptr(), shape.as_ptr(), OZARR_FLOAT64, data, 64, OZARR_REQUEST_COPY, request);
            assert_eq!(begun, OZARR_OK);
        }
        let low = Low::new();
        assert_eq!(ozarr_array_open_at(store, c"a".as_ptr(), &mut other), OZARR_ERR_NO_MEMORY);
        // What tells of that and of the library.
        let why = "the system has no more memory for this process, and what ozarr keeps for that is half used";
        assert_eq!([text(ozarr_last_error()), text(ozarr_last_error_in(OZARR_ORDER_F))], [why; 2]);
        let mut info = std::mem::zeroed::<ozarr_error_info>();
        info.struct_size = size_of::<ozarr_error_info>();
        assert_eq!((ozarr_last_error_info(&mut info), info.status), (OZARR_OK, OZARR_ERR_NO_MEMORY));
        assert_eq!(text(ozarr_status_name(info.status)), "OZARR_ERR_NO_MEMORY");
        assert_eq!((ozarr_abi_version(), text(ozarr_version())), (OZARR_ABI_VERSION, env!("CARGO_PKG_VERSION").to_string()));
        assert!(ozarr_has_feature(c"v3".as_ptr()) && !ozarr_array_node(array).is_null() && !ozarr_group_node(begun[0]).is_null());
        assert_eq!((ozarr_array_close(null_mut()), text(ozarr_last_error()).contains("array")), (OZARR_ERR_NULL, true));
        assert_eq!(ozarr_set_error(OZARR_ERR_IO, c"the tape is torn".as_ptr(), null()), OZARR_ERR_IO);
        assert_eq!((text(ozarr_last_error()).as_str(), ozarr_answer_done(null_mut(), OZARR_OK)), ("the tape is torn", OZARR_ERR_NULL));
        // Whether an array is lost, and no other setting: these may store something.
        let (node, mut value) = (ozarr_array_node(array), [0; 8]);
        let mut get = |key: &CStr| ozarr_node_get(node, key.as_ptr(), value.as_mut_ptr(), 8, null_mut());
        assert_eq!([get(c"lost"), get(c"history")], [OZARR_OK, OZARR_ERR_NO_MEMORY]);
        let set = |key: &CStr| ozarr_node_set(node, key.as_ptr(), c"0".as_ptr());
        assert_eq!([set(c"lost"), set(c"write_back"), set(c"history")], [OZARR_OK, OZARR_ERR_NO_MEMORY, OZARR_ERR_NO_MEMORY]);
        // What became of requests, whose memory is the caller's.
        let (mut done, mut state, mut index, mut statuses) = (false, 0, -1, [1; 2]);
        assert_eq!(ozarr_request_wait(requests[0], -1.0), OZARR_OK);
        assert_eq!((ozarr_request_test(requests[0], &mut done), done), (OZARR_OK, true));
        assert_eq!((ozarr_request_get_state(requests[0], &mut state), state), (OZARR_OK, OZARR_REQUEST_STATE_DONE));
        assert_eq!((ozarr_request_error(requests[0], &mut info), info.status), (OZARR_OK, OZARR_OK));
        assert_eq!((ozarr_requests_wait_any(requests.as_ptr(), 2, -1.0, &mut index), index >= 0), (OZARR_OK, true));
        assert_eq!((ozarr_requests_wait_all(requests.as_ptr(), 2, -1.0, statuses.as_mut_ptr()), statuses), (OZARR_OK, [OZARR_OK; 2]));
        assert_eq!(ozarr_request_cancel(requests[1]), OZARR_OK);
        requests.iter().for_each(|request| ozarr_request_free(*request));
        // What frees its handle, whatever the status says.
        assert_eq!([ozarr_checkpoint_commit(begun[0]), ozarr_checkpoint_abandon(begun[1])], [OZARR_OK; 2], "{}", text(ozarr_last_error()));
        ozarr_spec_free(spec);
        assert_eq!([ozarr_array_close(array), ozarr_store_close(store), ozarr_shutdown()], [OZARR_OK; 3]);
        drop(low);
    }
}
