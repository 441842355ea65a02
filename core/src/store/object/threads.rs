//! The threads that carry requests: a few small runtimes for all object stores of the process, started with the first of them and
//! stopped with the last. A child of `fork` starts its own.

use crate::error::{Error, ErrorKind, Result, err};
use crate::fork::{ForkReset, Lazy};
use crate::limits::check_memory;
use crate::platform::{self, errno_of, libc};
use crate::store::mailbox::{Receiver, mailbox};
use crate::threads::{block_signals, start};
use futures_util::FutureExt;
use std::any::Any;
use std::fmt::Display;
use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;

/// Requests mostly wait; two threads decrypt and copy what comes.
const THREADS: usize = 2;

/// The runtimes, as long as anybody holds them.
pub(super) struct Threads {
    runners: Vec<Runner>,
    /// Tasks are given out in turn.
    turn: AtomicUsize,
}

/// A runtime in a thread of its own. A runtime of several threads would end in a panic where one cannot be started.
struct Runner {
    runtime: Handle,
    stop: Arc<Notify>,
}

impl Runner {
    fn start() -> Result<Runner> {
        let stop = Arc::new(Notify::new());
        let (stopped, (sender, receiver)) = (stop.clone(), mailbox());
        // Made there, because what makes one calls `std::thread::current`, which panics in destructors that run late in a thread's end.
        let run = move || match BackgroundRuntime::new() {
            Ok((runtime, handle)) => {
                sender.send(Ok(handle));
                if let Some(runtime) = &runtime.0 {
                    runtime.block_on(stopped.notified());
                }
            }
            Err(e) => sender.send(Err(errno_of(&e).unwrap_or(libc::EAGAIN))),
        };
        start(c"ozarr-net", Box::new(run)).map_err(not_started)?;
        let runtime = receiver.recv().unwrap_or(Err(libc::EAGAIN)).map_err(not_started)?;
        Ok(Runner { runtime, stop })
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // The last holder may be a task of the runtime itself, or a thread of a host's: neither may wait for it.
        self.stop.notify_one();
    }
}

/// A runtime whose end waits for nothing.
struct BackgroundRuntime(Option<Runtime>);

impl BackgroundRuntime {
    /// Makes one for this thread.
    fn new() -> io::Result<(BackgroundRuntime, Handle)> {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(2)
            .thread_name("ozarr-net")
            .on_thread_start(block_signals)
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        Ok((BackgroundRuntime(Some(runtime)), handle))
    }
}

impl Drop for BackgroundRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// This process's.
pub(super) fn threads() -> Result<Arc<Threads>> {
    platform::hold_standard();
    static CURRENT: Lazy<ForkReset<Mutex<Weak<Threads>>>> = Lazy::new(|| ForkReset::new(Mutex::default));
    let mut current = CURRENT.get().get().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = current.upgrade() {
        return Ok(running);
    }
    let mut runners = vec![Runner::start()?];
    // One is enough where no more can be had.
    runners.extend((1..THREADS).map_while(|_| Runner::start().ok()));
    let started = Arc::new(Threads { runners, turn: AtomicUsize::new(0) });
    *current = Arc::downgrade(&started);
    Ok(started)
}

/// A task that ends without a result. The runtime is compiled for this one type of tasks.
pub(super) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The result of a task, which comes.
pub(super) struct Coming<T>(Receiver<Result<T>>);

impl<T> Coming<T> {
    /// Waits for it.
    pub(super) fn wait(self) -> Result<T> {
        self.0.recv().unwrap_or_else(|| Err(err!(Internal, "a defect of the library: a request ended without a result")))
    }
}

impl Threads {
    /// Starts a task.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn_boxed(Box::pin(async move {
            // That memory ended in a task before, on the same thread, is no failure of this one.
            let _ = check_memory();
            task.await;
        }));
    }

    fn spawn_boxed(&self, task: Task) {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.runners.len();
        self.runners[turn].runtime.spawn(task);
    }

    /// Starts a task whose result somebody waits for.
    pub(super) fn start<T: Send + 'static>(&self, task: impl Future<Output = Result<T>> + Send + 'static) -> Coming<T> {
        let (sender, receiver) = mailbox();
        self.spawn(async move {
            sender.send(caught(task).await);
        });
        Coming(receiver)
    }

    /// Carries out a task while the calling thread waits for it, which may be one of a runtime of the host's.
    pub(super) fn wait<T: Send + 'static>(&self, task: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
        self.start(task).wait()
    }
}

/// Carries out a task; a panic in it is its error.
pub(super) async fn caught<T>(task: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(task).catch_unwind().await.unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// The error of a thread that the system did not start.
fn not_started(errno: i32) -> Error {
    match errno {
        libc::EAGAIN => no_thread(platform::text_of(errno)).with_errno(errno),
        errno => Error::os(errno, "start a thread for the network"),
    }
}

/// The error of a thread for which something is missing, as the system says in `why`.
fn no_thread(why: impl Display) -> Error {
    let limits = "the user or the container may have all threads that it may have (`ulimit -u`), or all memory (`ulimit -v`)";
    Error::new(ErrorKind::NoMemory, format!("start a thread for the network: {why}; {limits}"))
}

/// The error of a task that panicked.
fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    // The runtime's own, of a thread that looks up the name of a host.
    if text.starts_with("OS can't spawn worker thread") {
        return no_thread(text);
    }
    // Those of what signs requests and of what checks certificates.
    if text.contains("SystemTimeError") {
        return err!(
            Network,
            "the clock of this machine says that it is before 1970: requests are signed, and certificates checked, by the time"
        );
    }
    err!(Internal, "a defect of the library: a request ended without a result: {text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::memory_ended;
    use std::time::{SystemTime, SystemTimeError};

    #[test]
    fn a_panic_in_a_task_is_its_error() {
        let e = caught::<()>(async { panic!("planted") }).now_or_never().unwrap().unwrap_err();
        assert!(e.kind() == ErrorKind::Internal && e.to_string().contains("planted"), "{e}");
        assert!(caught(async { Ok(1) }).now_or_never().unwrap().is_ok_and(|one| one == 1));
    }

    #[test]
    fn a_thread_that_cannot_be_started_is_told_as_one() {
        let e = caught::<()>(async { panic!("OS can't spawn worker thread: {}", platform::text_of(libc::EAGAIN)) });
        for e in [e.now_or_never().unwrap().unwrap_err(), not_started(libc::EAGAIN)] {
            let is_plain = e.message().contains("thread") && e.message().contains("ulimit -u") && !e.message().contains("allocate memory");
            assert!(e.kind() == ErrorKind::NoMemory && is_plain, "{e}");
        }
        assert_eq!(not_started(libc::EPERM).kind(), ErrorKind::Permission);
    }

    #[test]
    fn a_clock_before_1970_is_told_where_a_request_needs_the_time() {
        let before = SystemTime::UNIX_EPOCH.duration_since(SystemTime::now());
        let signs: fn(&SystemTimeError) = |e| panic!("system time before Unix epoch: {e:?}");
        let checks: fn(&SystemTimeError) = |e| panic!("called `Result::unwrap()` on an `Err` value: {e:?}");
        for panics in [signs, checks] {
            let e = caught::<()>(async { before.as_ref().map(drop).map_err(panics).map_err(|()| err!(Io, "none")) });
            let e = e.now_or_never().unwrap().unwrap_err();
            assert!(e.kind() == ErrorKind::Network && e.message().contains("before 1970"), "{e}");
        }
    }

    #[test]
    fn memory_that_ended_in_a_task_is_no_failure_of_the_next_one() {
        let threads = threads().unwrap();
        let each_thread = 0..threads.runners.len();
        for _ in each_thread.clone() {
            threads
                .wait(async {
                    memory_ended();
                    Ok(())
                })
                .unwrap();
        }
        for _ in each_thread {
            threads.wait(async { check_memory() }).unwrap();
        }
    }
}
