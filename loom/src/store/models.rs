//! Models of results on their way from thread to thread.

use super::mailbox::mailbox;
use crate::models::Model;
use loom::thread::spawn;

pub const ALL: &[Model] = &[("results come, and then the end, whoever sends last", Some(2), results_and_the_end)];

fn results_and_the_end() {
    let (sender, receiver) = mailbox();
    let other = sender.clone();
    let threads = [
        spawn(move || {
            sender.send(1);
        }),
        spawn(move || {
            other.send(2);
        }),
    ];
    let mut came: Vec<u32> = std::iter::from_fn(|| receiver.recv()).collect();
    came.sort();
    assert_eq!(came, [1, 2]);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
