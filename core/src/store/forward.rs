//! What a store around another one hands on as it is.

/// In an `impl Storage`: hands these methods on to the store in the member `$inner`.
#[macro_export]
#[doc(hidden)]
macro_rules! forward {
    ($inner:tt: $($method:ident),+) => {
        $($crate::forward!(@ $inner $method);)+
    };
    (@ $inner:tt capabilities) => {
        $crate::forward!(# $inner capabilities() -> $crate::store::Capabilities);
    };
    (@ $inner:tt open) => {
        $crate::forward!(# $inner open(key: &str) -> $crate::error::Result<Option<$crate::store::Object>>);
    };
    (@ $inner:tt put) => {
        $crate::forward!(# $inner put(key: &str, parts: &[&[u8]], when: $crate::store::Condition) -> $crate::error::Result<()>);
    };
    (@ $inner:tt stage) => {
        $crate::forward!(# $inner stage(key: &str) -> $crate::error::Result<$crate::store::Staged>);
    };
    (@ $inner:tt erase_keys) => {
        $crate::forward!(# $inner erase_keys(keys: $crate::store::Keys<'_>) -> $crate::error::Result<bool>);
    };
    (@ $inner:tt list_keys) => {
        $crate::forward!(# $inner list_keys(prefix: &str, into: $crate::store::ListInto<'_>) -> $crate::error::Result<()>);
    };
    (@ $inner:tt flush) => {
        $crate::forward!(# $inner flush() -> $crate::error::Result<()>);
    };
    (@ $inner:tt lock_key) => {
        $crate::forward!(# $inner lock_key(prefix: &str, key: &str, lock_use: $crate::store::LockUse)
            -> $crate::error::Result<Option<$crate::store::ProcessLock>>);
    };
    (@ $inner:tt files) => {
        $crate::forward!(# $inner files() -> Option<&dyn $crate::store::LocalFiles>);
    };
    (@ $inner:tt describe) => {
        $crate::forward!(# $inner describe() -> String);
    };
    (# $inner:tt $method:ident($($name:ident: $type:ty),*) -> $result:ty) => {
        fn $method(&self, $($name: $type),*) -> $result {
            self.$inner.$method($($name),*)
        }
    };
}
