//! Results on their way from one thread to another. The standard channels are compiled anew, all their kinds of queues, for every type that
//! goes through them, and take memory for the thread that waits.

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

/// What both ends share.
struct Mailbox<T> {
    state: Mutex<Contents<T>>,
    news: Condvar,
}

struct Contents<T> {
    queue: VecDeque<T>,
    senders: usize,
}

/// Sends results. Its receiver knows when no sender is left.
pub(crate) struct Sender<T>(Arc<Mailbox<T>>);

/// Receives results.
pub(crate) struct Receiver<T>(Arc<Mailbox<T>>);

/// Makes both ends.
pub(crate) fn mailbox<T>() -> (Sender<T>, Receiver<T>) {
    let state = Mutex::new(Contents { queue: VecDeque::new(), senders: 1 });
    let shared = Arc::new(Mailbox { state, news: Condvar::new() });
    (Sender(shared.clone()), Receiver(shared))
}

impl<T> Mailbox<T> {
    fn lock(&self) -> MutexGuard<'_, Contents<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Sender<T> {
    pub(crate) fn send(&self, result: T) {
        self.0.lock().queue.push_back(result);
        self.0.news.notify_one();
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.0.lock().senders += 1;
        Sender(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.lock().senders -= 1;
        self.0.news.notify_one();
    }
}

impl<T> Receiver<T> {
    /// Waits for the next result; `None` where none can come any more, because all senders are gone.
    pub(crate) fn recv(&self) -> Option<T> {
        let mut state = self.0.lock();
        while state.queue.is_empty() && state.senders > 0 {
            state = self.0.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.queue.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::mailbox;

    #[test]
    fn results_come_in_their_order_and_then_the_end() {
        let (sender, receiver) = mailbox();
        let other = sender.clone();
        std::thread::spawn(move || (0..100).for_each(|i| other.send(i)));
        drop(sender);
        assert_eq!(std::iter::from_fn(|| receiver.recv()).collect::<Vec<i32>>(), (0..100).collect::<Vec<_>>());
        assert!(receiver.recv().is_none());
    }
}
