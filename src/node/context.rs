//! What the handles on stores share: threads and locks, how strict reading is, and where warnings go.

use crate::engine::lock::{ChunkLocks, KeyLocks};
use crate::engine::pool::{self, Pool};
use crate::engine::stats::Counters;
use crate::engine::{Budget, ChunkCache};
use crate::error::{Error, ErrorKind, Result, err};
use crate::fork::Lazy;
use crate::metadata::lint::{Finding, Severity};
use crate::metadata::{Map, json};
use crate::store::local::FileOptions;
use std::io::Write;
use std::sync::Arc;

/// The threads that calls may use, the locks that keep writers of this process apart, and the settings. Clones share all of it.
#[derive(Clone)]
pub struct Context {
    pub(super) pool: Arc<Pool>,
    pub(super) chunk_locks: Arc<ChunkLocks>,
    pub(super) document_locks: Arc<KeyLocks>,
    stats: Arc<Counters>,
    settings: Arc<Settings>,
}

/// Settings of a context.
#[derive(Clone, Default)]
pub struct Settings {
    /// What the specification does not allow is an error, where it would be a warning.
    pub strict: bool,
    /// Attributes may hold bare NaN and infinities.
    pub non_finite: bool,
    /// Large reads into fresh memory ask for huge pages.
    pub huge_pages: bool,
    /// The receiver of messages, and their lowest level.
    pub log: Option<Log>,
    /// How much may be in flight.
    pub budget: Arc<Budget>,
    /// Where the arrays that are opened keep decoded chunks, all of them in the same.
    pub chunk_cache: Option<Arc<ChunkCache>>,
    /// How stores of local files sync and lock, where the store's options do not say.
    pub files: FileOptions,
}

/// How important a message of the log is. The discriminants are those of the C header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Level {
    /// A document deviates from the specification and was read all the same.
    Warning = 1,
    /// Something may be of interest.
    Info = 2,
}

/// The receiver of messages about files that deviate from the specification, and their lowest level. The thread of the call that meets one calls it, without locks held.
#[derive(Clone)]
pub struct Log {
    /// The last level that is told.
    pub level: Level,
    /// Takes one message of one line.
    pub call: Listener,
}

impl Log {
    /// The log that the variable `OZARR_LOG` asks for: `warning` or `info`, to standard error; none for anything else.
    pub fn of_environment() -> Option<Log> {
        let level = match std::env::var("OZARR_LOG").ok()?.as_str() {
            "warning" | "1" => Level::Warning,
            "info" | "2" => Level::Info,
            _ => return None,
        };
        // Names come from files, and may hold anything. Nobody is left to be told if standard error is closed.
        let line = |text: &str| text.replace(|c: char| c.is_control(), " ");
        Some(Log { level, call: Arc::new(move |_, text| drop(writeln!(std::io::stderr(), "ozarr: {}", line(text)))) })
    }
}

/// Takes a message and its level.
pub type Listener = Arc<dyn Fn(Level, &str) + Send + Sync>;

impl Default for Context {
    /// The context of programs that do not ask for one: `OZARR_NUM_THREADS` threads, else as many as the process may run on.
    fn default() -> Context {
        static SHARED: Lazy<Context> = Lazy::new(|| Context {
            pool: Pool::shared(),
            chunk_locks: ChunkLocks::new(),
            document_locks: KeyLocks::new(),
            stats: Counters::process(),
            settings: Arc::default(),
        });
        SHARED.get().clone()
    }
}

impl Context {
    /// The most threads that can be asked for.
    pub const MAX_THREADS: usize = pool::MAX_THREADS;

    /// What is to be told of the environment: a number of threads that is not valid, and is not heeded.
    pub fn odd_environment() -> Option<String> {
        let text = pool::asked_threads()?.err()?;
        Some(format!(
            "OZARR_NUM_THREADS is {text:?}, expected a number from 1 to {}; as many are used as the process may run on",
            pool::MAX_THREADS
        ))
    }

    /// A context whose calls use up to `n` threads, the caller's included (at least 1). The locks are those of the process,
    /// because handles of two contexts may stand on one array.
    pub fn with_threads(n: usize) -> Context {
        Context { pool: Pool::new(n.max(1)), ..Context::default() }
    }

    /// Returns this context with other settings.
    pub fn with_settings(self, settings: Settings) -> Context {
        Context { settings: Arc::new(settings), ..self }
    }

    /// Returns this context with its work counted in `stats`, too; by default it counts for the process only.
    pub fn counting(self, stats: Arc<Counters>) -> Context {
        Context { stats, ..self }
    }

    /// The counters of what is done with it.
    pub fn stats(&self) -> &Arc<Counters> {
        &self.stats
    }

    /// Whether attributes may hold bare NaN and infinities.
    pub fn allows_non_finite(&self) -> bool {
        self.settings.non_finite
    }

    /// Refuses attributes of a new node that its document cannot hold, before anything is erased for it.
    pub(super) fn check_new_attributes(&self, attributes: &Map) -> Result<()> {
        if !self.allows_non_finite() && attributes.values().any(json::has_non_finite) {
            return Err(not_finite("an attribute", ErrorKind::Argument).at_field("attributes"));
        }
        Ok(())
    }

    /// Whether large reads into fresh memory ask for huge pages.
    pub(super) fn huge_pages(&self) -> bool {
        self.settings.huge_pages
    }

    /// How much may be in flight.
    pub(super) fn budget(&self) -> Arc<Budget> {
        self.settings.budget.clone()
    }

    /// Where the arrays that are opened keep decoded chunks.
    pub(super) fn chunk_cache(&self) -> Option<&Arc<ChunkCache>> {
        self.settings.chunk_cache.as_ref()
    }

    /// How stores of local files sync and lock.
    pub(super) fn files(&self) -> FileOptions {
        self.settings.files
    }

    /// How many threads a call may use, the calling one among them.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// Returns whether deviations in files are to be looked for: in strict mode, or with a log.
    pub(super) fn watches(&self) -> bool {
        self.settings.strict || self.settings.log.is_some()
    }

    /// Writes a warning to the log, if there is one. No lock may be held: the host's code runs.
    pub(super) fn warn(&self, text: &str) {
        if let Some(log) = &self.settings.log {
            (log.call)(Level::Warning, text);
        }
    }

    /// Writes a message to the log, if there is one that wants more than warnings. No lock may be held: the host's code runs.
    pub(super) fn inform(&self, text: &str) {
        if let Some(log) = self.settings.log.as_ref().filter(|log| Level::Info <= log.level) {
            (log.call)(Level::Info, text);
        }
    }

    /// Reports the deviations of the document at `key`; in strict mode fails with `Metadata`. No lock may be held: the host's code runs.
    pub(super) fn report(&self, key: &str, findings: &[Finding]) -> Result<()> {
        if let (true, Some(finding)) = (self.settings.strict, findings.iter().find(|finding| finding.severity == Severity::Deviation)) {
            return Err(err!(Metadata, "{}: {} (strict mode)", finding.id, finding.text).at_key(key));
        }
        let Some(log) = &self.settings.log else { return Ok(()) };
        for finding in findings {
            let level = if finding.severity == Severity::Info { Level::Info } else { Level::Warning };
            if level <= log.level {
                (log.call)(level, &format!("{}: {key}: {}", finding.id, finding.text));
            }
        }
        Ok(())
    }
}

/// The error of NaN or an infinity that a caller wants to store; what it is in comes in front.
pub(super) fn not_finite(what: &str, kind: ErrorKind) -> Error {
    Error::new(kind, format!("{what} holds NaN or an infinity; {}", crate::metadata::json::NO_FORM))
}
