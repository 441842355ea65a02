//! The threads that carry requests: one small runtime for all object stores of the process, started with the first of them and
//! stopped with the last. A child of `fork` starts its own.

use crate::error::{Error, Result, err};
use crate::fork::{ForkReset, Lazy};
use crate::store::mailbox::{Receiver, mailbox};
use crate::store::os::block_signals;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::runtime::{Builder, Runtime};

/// Requests mostly wait; two threads decrypt and copy what comes.
const THREADS: usize = 2;

/// The runtime, as long as anybody holds it.
pub(super) struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        // The last holder may be a task of the runtime itself, or a thread of a host's: neither may wait for it.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// This process's.
pub(super) fn threads() -> Result<Arc<Threads>> {
    static CURRENT: Lazy<ForkReset<Mutex<Weak<Threads>>>> = Lazy::new(|| ForkReset::new(Mutex::default));
    let mut current = CURRENT.get().get().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = current.upgrade() {
        return Ok(running);
    }
    let built = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(4)
        .thread_name("ozarr-net")
        .on_thread_start(block_signals)
        .enable_all()
        .build();
    let runtime = built.map_err(|e| Error::os(e.raw_os_error().unwrap_or(libc::EAGAIN), "start threads for the network"))?;
    let started = Arc::new(Threads(Some(runtime)));
    *current = Arc::downgrade(&started);
    Ok(started)
}

/// A task that ends without a result. The runtime is compiled for this one type of tasks.
type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The result of a task, which comes.
pub(super) struct Coming<T>(Receiver<Result<T>>);

impl<T> Coming<T> {
    /// Waits for it.
    pub(super) fn wait(self) -> Result<T> {
        // A task that panicked drops the sender.
        self.0.recv().unwrap_or_else(|| Err(err!(Internal, "a defect of the library: a request ended without a result")))
    }
}

impl Threads {
    /// Starts a task.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn_boxed(Box::pin(task));
    }

    fn spawn_boxed(&self, task: Task) {
        if let Some(runtime) = &self.0 {
            runtime.spawn(task);
        }
    }

    /// Starts a task whose result somebody waits for.
    pub(super) fn start<T: Send + 'static>(&self, task: impl Future<Output = Result<T>> + Send + 'static) -> Coming<T> {
        let (sender, receiver) = mailbox();
        self.spawn(async move { sender.send(task.await) });
        Coming(receiver)
    }

    /// Carries out a task while the calling thread waits for it, which may be one of a runtime of the host's.
    pub(super) fn wait<T: Send + 'static>(&self, task: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
        self.start(task).wait()
    }
}
