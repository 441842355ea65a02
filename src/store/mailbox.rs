//! Results on their way from one thread to another. The standard channels are compiled anew, all their kinds of queues, for every type that
//! goes through them; here they carry the news that something came, and a plain queue carries what it is.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

/// Sends results. Its receiver knows when no sender is left.
pub(crate) struct Sender<T> {
    queue: Arc<Mutex<VecDeque<T>>>,
    news: mpsc::Sender<()>,
}

/// Receives results.
pub(crate) struct Receiver<T> {
    queue: Arc<Mutex<VecDeque<T>>>,
    news: mpsc::Receiver<()>,
}

/// Makes both ends.
pub(crate) fn mailbox<T>() -> (Sender<T>, Receiver<T>) {
    let (queue, (sender, receiver)) = (Arc::new(Mutex::default()), mpsc::channel());
    (Sender { queue: queue.clone(), news: sender }, Receiver { queue, news: receiver })
}

impl<T> Sender<T> {
    pub(crate) fn send(&self, result: T) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(result);
        // A receiver that is gone wants nothing.
        let _ = self.news.send(());
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender { queue: self.queue.clone(), news: self.news.clone() }
    }
}

impl<T> Receiver<T> {
    /// Waits for the next result; `None` where none can come any more, because all senders are gone.
    pub(crate) fn recv(&self) -> Option<T> {
        self.news.recv().ok()?;
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
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
