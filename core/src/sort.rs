//! One compiled sort for lists of any kind. The standard library's is compiled anew for each, in 5 to 15 KB.

use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Sorts a list that is not long, or dear to compare; what is equal stays in its order.
pub fn sort_by<T>(all: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    if all.len() < 2 {
        return;
    }
    let mut places = sorted_places(all.len(), &|a, b| order(&all[a], &all[b]));
    for start in 0..all.len() {
        let mut hole = start;
        loop {
            let next = std::mem::replace(&mut places[hole], hole);
            if next == start {
                break;
            }
            all.swap(hole, next);
            hole = next;
        }
    }
}

/// The places of a list, in the order of what is there.
fn sorted_places(n: usize, order: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..n).collect();
    places.sort_unstable_by(|a, b| order(*a, *b).then(a.cmp(b)));
    places
}

/// A set of some entries, added one by one: the standard library's `collect` sorts them first, by a sort that is compiled for their type.
pub fn set_of<T: Ord>(entries: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(entries);
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_as_by_the_standard_library() {
        for n in [0, 1, 2, 3, 10, 100, 1000] {
            let list: Vec<(u64, usize)> = (0..n).map(|i| (i as u64 * 7919 % 101, i)).collect();
            let (mut ours, mut expected) = (list.clone(), list);
            sort_by(&mut ours, |a, b| b.0.cmp(&a.0));
            expected.sort_by_key(|entry| std::cmp::Reverse(entry.0));
            assert_eq!(ours, expected);
        }
    }
}
