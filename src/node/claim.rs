//! Claims of array documents: which one of several appenders at an array goes on, in stores without locks.
//!
//! An appender stores chunks first and the length that has them later, so the length does not tell a second appender that its chunks would
//! replace those of the first. Before its first chunk an appender therefore stores the array's document with a mark of its own, on the
//! condition that nobody changed the document since. The mark is blanks behind the JSON text: every reader passes over them, and nothing that
//! the document says changes. Of two appenders that begin at once only one can store its mark; an appender that is opened after a kill takes
//! the mark of the dead one away, and the dead one, if it only slept, finds that when it looks before the next thing that it stores. What it puts
//! between that look and this one replaces no chunk of the other: see `engine/fence.rs`. Where one publishes some arrays of a series while the next takes over
//! the first of them, neither can go on: what of these arrays is longer may be what a program without a series has appended.
//!
//! The last blanks of a mark are those of the mark before it, unless the array was cut: a copy that ends finds them changed.

use crate::error::{Error, Result, err};
use std::hash::{BuildHasher, RandomState};

/// The number of blanks of a mark, one for each bit of a random number.
const BLANKS: usize = 128;

/// The most bytes of a mark.
pub(super) const MARK: usize = BLANKS + 2;

/// How the mark of a resize begins, which an appender finds in place of its own.
const OF_RESIZE: u8 = b'\r';

/// Where those begin that stay until the array is cut, behind the line's end.
const UNCUT: usize = 1 + 96;

/// The claim of one appender.
pub(super) struct Claim {
    /// The blanks behind the document while this appender has the claim.
    mine: Vec<u8>,
    /// The mark that was there when the appender was opened; empty without one.
    found: Vec<u8>,
    state: ClaimState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ClaimState {
    /// Locks, or nothing, keep others out.
    Unneeded,
    /// Nothing may be stored yet.
    Due,
    Held,
}

impl Claim {
    /// Makes the claim of an appender that found the mark `found`; with `needed` false the store has locks.
    pub fn new(needed: bool, found: Vec<u8>) -> Claim {
        if !needed {
            return Claim { mine: Vec::new(), found: Vec::new(), state: ClaimState::Unneeded };
        }
        let mut mine = new_mark();
        if is_mark(&found) {
            mine[UNCUT..].copy_from_slice(&found[UNCUT..]);
        }
        Claim { mine, found, state: ClaimState::Due }
    }

    /// Says by the next mark, which is due before anything else is stored, that the array is cut.
    pub fn note_cut(&mut self) {
        match self.state {
            ClaimState::Unneeded => return,
            ClaimState::Due => {}
            ClaimState::Held => self.found = std::mem::take(&mut self.mine),
        }
        (self.mine, self.state) = (new_mark(), ClaimState::Due);
    }

    /// Whether the document is to be stored with the mark before anything else is.
    pub fn is_due(&self) -> bool {
        self.state == ClaimState::Due
    }

    /// Compares with the document as it is now. One that another program stored anew has no mark, and is claimed again.
    ///
    /// Errors: `State` if another appender has claimed the array since this one was opened.
    pub fn check(&mut self, text: &[u8]) -> Result<()> {
        if self.state == ClaimState::Unneeded {
            return Ok(());
        }
        let now = mark_of(text);
        self.state = match self.state {
            _ if now == self.mine => ClaimState::Held,
            ClaimState::Due if now == self.found => ClaimState::Due,
            _ if !is_mark(now) => ClaimState::Due,
            _ => return Err(lost(now)),
        };
        Ok(())
    }

    /// The mark by which this appender has the array, or will have it; `None` where claims are not needed.
    pub fn own_mark(&self) -> Option<&[u8]> {
        Some(&*self.mine).filter(|_| self.state != ClaimState::Unneeded)
    }

    /// Takes the array over from whoever has claimed it by the mark behind `text`.
    pub fn take_over(&mut self, text: &[u8]) {
        self.found = mark_in(text);
    }

    /// Puts the mark behind the JSON of a document.
    pub fn mark(&self, text: &mut Vec<u8>) {
        if self.state != ClaimState::Unneeded {
            carry(&self.mine, text);
        }
    }
}

/// Errors: `State` if another appender than the one of the mark `mine`, which had the array, has claimed it by the document `text`.
pub(super) fn check_mark(mine: &[u8], text: &[u8]) -> Result<()> {
    let now = mark_of(text);
    if is_mark(now) && now != mine { Err(lost(now)) } else { Ok(()) }
}

/// What an appender is told that finds the mark `now` in place of its own.
fn lost(now: &[u8]) -> Error {
    match now.first() {
        Some(&OF_RESIZE) => err!(
            State,
            "a resize that keeps what is outside has made the array shorter since this one was opened: close this one, whose steps behind the new \
             end are outside"
        ),
        _ => err!(
            State,
            "another appender or series has begun to store steps of the array since this one was opened: close this one: what was published until \
             then stays; where the server keeps no conditions of puts, a chunk that this one was storing just then may be among the steps of the other"
        ),
    }
}

/// A mark that nobody else has.
fn new_mark() -> Vec<u8> {
    let random = || RandomState::new().hash_one(BLANKS);
    let bits = (u128::from(random()) << 64) | u128::from(random());
    let blanks = (0..BLANKS).map(|bit| if bits >> bit & 1 == 1 { b'\t' } else { b' ' });
    std::iter::once(b'\n').chain(blanks).chain([b'\n']).collect()
}

/// Whether the marks of two moments tell that the array was cut between them. One that has no mark was not appended to, or by another program.
pub(super) fn was_cut(then: &[u8], now: &[u8]) -> bool {
    is_mark(then) && is_mark(now) && then[UNCUT..] != now[UNCUT..]
}

/// The mark behind a document; empty without one.
pub(super) fn mark_in(text: &[u8]) -> Vec<u8> {
    Some(mark_of(text)).filter(|blanks| is_mark(blanks)).map(<[u8]>::to_vec).unwrap_or_default()
}

/// Puts the mark of a resize behind a document, which no other one has had.
pub(super) fn mark_resized(text: &mut Vec<u8>) {
    let mut mark = new_mark();
    mark[0] = OF_RESIZE;
    carry(&mark, text);
}

/// Puts the mark that is behind the document `from`, if there is one, behind the document `text`.
pub(super) fn keep_mark(from: &[u8], text: &mut Vec<u8>) {
    let mark = mark_of(from);
    if is_mark(mark) {
        carry(mark, text);
    }
}

fn carry(mark: &[u8], text: &mut Vec<u8>) {
    text.truncate(text.len() - mark_of(text).len());
    text.extend_from_slice(mark);
}

fn mark_of(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&b| b == b'}').map_or(text.len(), |brace| brace + 1);
    &text[end..]
}

pub(super) fn is_mark(blanks: &[u8]) -> bool {
    blanks.len() == MARK && blanks.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_tell_of_a_cut_and_not_of_who_goes_on() {
        let mut claim = Claim::new(true, Vec::new());
        let first = claim.mine.clone();
        let mut next = Claim::new(true, first.clone());
        assert!(next.mine != first && !was_cut(&first, &next.mine) && is_mark(&next.mine));
        next.note_cut();
        assert!(was_cut(&first, &next.mine) && next.is_due());
        // Whoever reads it between the cut and the first step that is stored behind it finds another one later.
        let mut text = b"{}".to_vec();
        next.mark(&mut text);
        next.check(&text).unwrap();
        let between = next.mine.clone();
        next.note_cut();
        next.check(&text).unwrap();
        assert!(next.is_due() && was_cut(&between, &next.mine));
        // The one that was killed finds that somebody goes on.
        claim.check(b"{}").unwrap();
        claim.mark(&mut text);
        claim.check(&text).unwrap();
        next.mark(&mut text);
        assert!(claim.check(&text).is_err());
        assert!(!was_cut(&[], &first) && !was_cut(&first, &[]));
    }
}
