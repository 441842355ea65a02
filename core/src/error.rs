//! The library's one error type: what kind (a status of the C ABI), what happened, and where.
//!
//! An error is made where the fact is known; the layers above add the key or the field once, on the way up.
//! Messages are one line, name what was found and what was expected, and never repeat "failed to".

use crate::counting::{self, Counting};
use crate::platform::{libc, text_of};
use std::fmt;

/// Makes the enum, and the list of its values.
macro_rules! kinds {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $kind:ident = $status:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum $name {
            $($(#[$doc])* $kind = $status,)*
        }

        impl $name {
            /// Every kind, in the order of the header.
            pub const ALL: &'static [$name] = &[$($name::$kind),*];
        }
    };
}

kinds! {
    /// What went wrong, as one number for each case that a caller may want to tell apart.
    ///
    /// The discriminants are the values of `ozarr_status` in the C header: append-only, never reused.
    ErrorKind {
        /// An argument has a value that is never allowed.
        Argument = -101,
        /// A pointer argument is NULL that must not be.
        Null = -102,
        /// A region, index or axis is outside the array.
        Bounds = -103,
        /// A rank differs from the array's, or exceeds the limit.
        Rank = -104,
        /// A buffer is smaller (or larger) than the call needs.
        BufferSize = -105,
        /// The types in memory and in the file cannot be converted into each other.
        Type = -106,
        /// A value does not fit into the type that it is converted to.
        Range = -107,
        /// A node or attribute name is not allowed.
        Name = -108,
        /// A location (path or URL) cannot be understood.
        Location = -109,
        /// A handle is stale, freed, or of another kind.
        InvalidHandle = -110,
        /// The store, or the handle, is open for reading only.
        ReadOnly = -201,
        /// A node exists already where one should be created.
        Exists = -202,
        /// The call does not fit the handle's present state.
        State = -203,
        /// The work would have to wait; try again.
        Again = -204,
        /// The request was cancelled.
        Cancelled = -205,
        /// The handle or request belongs to the process before `fork`.
        Forked = -206,
        /// There is no node, attribute or key of that name.
        NotFound = -301,
        /// An array was found where a group is needed, or the reverse.
        NodeKind = -302,
        /// A metadata document is malformed or contradicts itself.
        Metadata = -303,
        /// A codec, data type or feature is known by name only, or not at all.
        Unsupported = -304,
        /// An extension that must be understood is not.
        Extension = -305,
        /// The bytes of a chunk cannot be decoded.
        Chunk = -401,
        /// A checksum does not match.
        Checksum = -402,
        /// The index of a shard is damaged.
        ShardIndex = -403,
        /// A chunk is missing where the caller asked for that to be an error.
        Missing = -404,
        /// Stored bytes end too early.
        Truncated = -405,
        /// The store refuses access.
        Permission = -501,
        /// Another writer changed the key in between.
        Conflict = -502,
        /// The store did not answer in time.
        Timeout = -503,
        /// The network or the server failed.
        Network = -504,
        /// The server asks for fewer requests.
        Throttled = -505,
        /// The server does not serve byte ranges.
        Ranges = -506,
        /// Some chunks of a write are stored and others are not: of stores of the program's own only.
        Partial = -507,
        /// The operating system reports an input or output error.
        Io = -601,
        /// The device or quota is full.
        NoSpace = -602,
        /// Memory cannot be had.
        NoMemory = -603,
        /// The limit of open files is reached.
        TooManyFiles = -604,
        /// A limit of the library is exceeded.
        Limit = -701,
        /// A defect of the library (a caught panic).
        Internal = -901,
        /// A callback of the caller failed.
        Callback = -902,
    }
}

impl ErrorKind {
    /// The status value of the C ABI.
    pub fn status(self) -> i32 {
        self as i32
    }
}

/// What an error says of what may have been done all the same.
const UNSURE: &str = "; the value may have been stored or not";

/// An error with its context. One pointer wide, so that `Result` stays small on the hot path.
#[derive(Clone, thiserror::Error)]
#[error("{}", .0)]
pub struct Error(Box<Facts>);

#[derive(Clone)]
struct Facts {
    kind: ErrorKind,
    message: String,
    key: Option<String>,
    field: Option<String>,
    element: Option<i64>,
    os_errno: i32,
    http_status: i32,
    unsure: bool,
}

/// The most bytes of a message or a field: names and texts of files, which may have many MiB, are cut there.
const LONGEST: usize = 16 << 10;

/// A text that ends where it has as many bytes.
struct CutText(String);

impl fmt::Write for CutText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fitting = cut(text, LONGEST.saturating_sub(self.0.len()));
        self.0.push_str(fitting);
        if fitting.len() < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// What a message shows of a name or text of a file, which may be long.
pub fn beginning(text: &str) -> &str {
    cut(text, LONGEST)
}

/// The beginning of a text, of at most `most` bytes.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    &text[..end]
}

/// The library's result type.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `kind` that says `message` (one line, no trailing full stop).
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        let (key, field, element, os_errno, http_status, unsure) = (None, None, None, 0, 0, false);
        Error(Box::new(Facts { kind, message: message.into(), key, field, element, os_errno, http_status, unsure }))
    }

    /// Makes an error for the macros. They write no code where they stand but a call of this: there are more than a thousand of them.
    #[cold]
    #[inline(never)]
    pub fn formatted(kind: ErrorKind, message: fmt::Arguments<'_>) -> Error {
        let mut cut = CutText(String::new());
        // It fails where the text is cut.
        let _ = fmt::Write::write_fmt(&mut cut, message);
        Error::new(kind, cut.0)
    }

    /// The error of a failed system call: `errno` decides the kind, `what` says what was tried.
    #[cold]
    pub fn os(errno: i32, what: impl fmt::Display) -> Error {
        let kind = match errno {
            libc::EACCES | libc::EPERM => ErrorKind::Permission,
            libc::EROFS => ErrorKind::ReadOnly,
            libc::ENOSPC | libc::EDQUOT | libc::EFBIG => ErrorKind::NoSpace,
            libc::EMFILE | libc::ENFILE => ErrorKind::TooManyFiles,
            libc::ENOMEM => ErrorKind::NoMemory,
            libc::ENAMETOOLONG => ErrorKind::Limit,
            _ => ErrorKind::Io,
        };
        let mut e = Error::new(kind, format!("{what}: {}", text_of(errno)));
        e.0.os_errno = errno;
        e
    }

    /// Replaces the message. All else that the error says stays.
    pub fn with_message(mut self, message: String) -> Error {
        self.0.message = message;
        self
    }

    /// Sets the operating system's error number.
    pub fn with_errno(mut self, errno: i32) -> Error {
        self.0.os_errno = errno;
        self
    }

    /// Sets the status that a server answered.
    pub fn with_http_status(mut self, status: i32) -> Error {
        self.0.http_status = status;
        self
    }

    /// Notes that what failed may have been done all the same: the server's answer was lost.
    pub fn unsure(mut self) -> Error {
        self.0.unsure = true;
        self.0.message.push_str(UNSURE);
        self
    }

    /// Notes that what failed was not even begun: what may have been done came before it.
    pub fn sure(mut self) -> Error {
        self.0.unsure = false;
        self.0.message = self.0.message.replace(UNSURE, "");
        self
    }

    /// Whether what failed may have been done all the same.
    pub fn is_unsure(&self) -> bool {
        self.0.unsure
    }

    /// Adds the store key that the error is about, unless a deeper layer has named one.
    pub fn at_key(mut self, key: impl AsRef<str>) -> Error {
        self.0.key.get_or_insert_with(|| key.as_ref().to_string());
        self
    }

    /// Puts a prefix before the key, which is that of something below it; without a key the error is about all of the prefix.
    pub fn below(mut self, prefix: &str) -> Error {
        self.0.key.get_or_insert_default().insert_str(0, prefix);
        self
    }

    /// Adds the metadata field or codec (a JSON path such as `codecs[0].configuration.level`); an outer
    /// field is put in front of an inner one.
    pub fn at_field(mut self, field: impl AsRef<str>) -> Error {
        let field = beginning(field.as_ref());
        self.0.field = Some(match self.0.field.take() {
            None => field.to_string(),
            Some(inner) if inner.starts_with('[') => format!("{field}{inner}"),
            Some(inner) => format!("{field}.{inner}"),
        });
        self
    }

    /// Notes that the error is about the element at that distance in bytes from the region's first one in memory. Its message begins
    /// with "an element", until [`Error::name_element`].
    pub fn at_element(mut self, memory: i64) -> Error {
        self.0.element = Some(memory);
        self
    }

    /// The distance that [`Error::at_element`] noted.
    pub fn element(&self) -> Option<i64> {
        self.0.element
    }

    /// Puts the index of the element into the message.
    pub fn name_element(mut self, index: &[u64]) -> Error {
        if let Some(rest) = self.0.message.strip_prefix("an element") {
            self.0.message = format!("element {}{rest}", counting::index(index));
        }
        self.0.element = None;
        self
    }

    /// Adds `note` to the message.
    pub fn with_note(mut self, note: &str) -> Error {
        self.0.message.push_str(note);
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The error as text, with numbers of dimensions and indices in that order; `to_string` gives them in C's.
    pub fn told(&self, counting: Counting) -> String {
        let mut text = String::new();
        for part in [&self.0.key, &self.0.field].into_iter().flatten().filter(|part| !part.is_empty()) {
            text.push_str(part);
            text.push_str(": ");
        }
        text.push_str(&self.0.message);
        counting::render(&text, counting).into_owned()
    }

    /// Whether the text differs between the orders.
    pub fn counts(&self) -> bool {
        counting::is_marked(&self.0.message) || self.0.field.as_deref().is_some_and(counting::is_marked)
    }

    /// The message without key and field, with the marks of [`counting`]: for the messages of further errors.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The store key, if one is known.
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// The metadata field or codec, if one is known.
    pub fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// The operating system's error number, 0 if none.
    pub fn os_errno(&self) -> i32 {
        self.0.os_errno
    }

    /// The status that a server answered, 0 if none did.
    pub fn http_status(&self) -> i32 {
        self.0.http_status
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(key) = self.key.as_ref().filter(|key| !key.is_empty()) {
            write!(f, "{key}: ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "{}: ", counting::render(field, Counting::C))?;
        }
        f.write_str(&counting::render(&self.message, Counting::C))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.0)
    }
}

/// `err!(Kind, "format {}", x)`: an [`Error`] of that kind.
#[macro_export]
macro_rules! err {
    ($kind:ident, $($arg:tt)*) => {
        $crate::error::Error::formatted($crate::error::ErrorKind::$kind, format_args!($($arg)*))
    };
}
/// `bail!(Kind, "format {}", x)`: returns such an error.
#[macro_export]
macro_rules! bail {
    ($kind:ident, $($arg:tt)*) => {
        return Err($crate::err!($kind, $($arg)*))
    };
}
pub use crate::{bail, err};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_is_added_from_the_inside_out() {
        let e = err!(Metadata, "found 3, expected 2").at_field("shape").at_field("configuration").at_key("a/zarr.json").at_key("b");
        assert_eq!(e.to_string(), "a/zarr.json: configuration.shape: found 3, expected 2");
        assert_eq!(e.kind().status(), -303);
    }

    #[test]
    fn status_values_are_unique() {
        let mut seen: Vec<i32> = ErrorKind::ALL.iter().map(|k| k.status()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), ErrorKind::ALL.len());
    }

    #[test]
    fn another_message_keeps_all_else_that_an_error_says() {
        let e = Error::os(libc::ENOSPC, "write").with_http_status(507).at_key("a/0").at_field("zstd").at_element(24);
        let other = e.clone().with_message("entry 1: full".into());
        assert_eq!(other.message(), "entry 1: full");
        let rest = |e: &Error| {
            let (key, field) = (e.key().map(str::to_string), e.field().map(str::to_string));
            (e.kind(), key, field, e.element(), e.os_errno(), e.http_status())
        };
        assert_eq!(rest(&other), rest(&e));
        assert_eq!(other.element(), Some(24));
    }
}
