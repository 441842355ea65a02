//! Silence of a server, which ends a request: for some time it takes nothing of what is sent to it, and nothing of its answer comes. The client
//! beneath would count from the beginning of a request to that of its answer, however much of a body goes out meanwhile.

use super::tries::SLOWEST;
use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody};
use object_store::PutPayload;
use object_store::client::{HttpError, HttpErrorKind, HttpRequestBody, HttpResponseBody};
use reqwest::Body;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// A body goes out in pieces of at least this many bytes.
const PIECE: usize = SLOWEST as usize;
/// No more than this number of bytes are on their way at once, in buffers of this machine, of the network and of the server.
const MOST_ON_THE_WAY: u64 = 4 << 20;

/// How much of a request was sent, and when the last of it.
pub(super) struct Sent {
    /// How long a server may be silent that has everything.
    idle: Duration,
    last: Mutex<(u64, Instant)>,
}

impl Sent {
    /// Makes the body of a request, and what tells how it goes out.
    pub(super) async fn of(body: HttpRequestBody, idle: Duration) -> (Arc<Sent>, Body) {
        let len = body.content_length();
        let sent = |bytes: usize| Arc::new(Sent { idle, last: Mutex::new((bytes as u64, Instant::now())) });
        match body.as_bytes() {
            // What is in one piece can be sent again where a redirection wants it.
            Some(bytes) => (sent(len), bytes.clone().into()),
            None if len <= PIECE => (sent(len), Body::wrap(body)),
            None => {
                let (sent, body) = (sent(0), in_pieces(body, PIECE.max(len >> 10)).await);
                let noted = sent.clone();
                let noting = body.map_frame(move |piece| {
                    noted.add(piece.data_ref().map_or(0, Bytes::len));
                    piece
                });
                (sent, Body::wrap(noting))
            }
        }
    }

    fn add(&self, bytes: usize) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = (last.0 + bytes as u64, Instant::now());
    }

    /// The time after which the server counts as silent if nothing more goes out. What went out may need a second for each [`SLOWEST`] bytes to
    /// get there.
    fn left(&self) -> Duration {
        let (bytes, at) = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let on_the_way = Duration::from_secs(bytes.min(MOST_ON_THE_WAY) / SLOWEST);
        self.idle.saturating_add(on_the_way).saturating_sub(at.elapsed())
    }

    /// Waits for the beginning of an answer as long as the server is not silent.
    pub(super) async fn wait_for<T>(&self, answer: impl Future<Output = T>) -> Result<T, HttpError> {
        let mut answer = pin!(answer);
        loop {
            let left = self.left();
            if let Ok(answer) = timeout(left, answer.as_mut()).await {
                return Ok(answer);
            }
            if self.left().is_zero() {
                return Err(silent());
            }
        }
    }
}

/// Gives a body in pieces of at most `most` bytes.
async fn in_pieces(mut body: HttpRequestBody, most: usize) -> HttpRequestBody {
    let mut pieces: Vec<Bytes> = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let mut bytes = frame.into_data().unwrap_or_default();
        while !bytes.is_empty() {
            pieces.push(bytes.split_to(bytes.len().min(most)));
        }
    }
    PutPayload::from_iter(pieces).into()
}

/// The body of an answer, which ends in an error where nothing of it comes for `idle`.
pub(super) fn heard(body: Body, idle: Duration, failed: fn(reqwest::Error) -> HttpError) -> HttpResponseBody {
    let frames = futures_util::stream::unfold(Some(body), move |body| async move {
        let mut body = body?;
        match timeout(idle, body.frame()).await {
            Ok(frame) => Some((frame?.map_err(failed), Some(body))),
            Err(_) => Some((Err(silent()), None)),
        }
    });
    HttpResponseBody::new(StreamBody::new(frames))
}

fn silent() -> HttpError {
    HttpError::new(HttpErrorKind::Timeout, std::io::Error::new(std::io::ErrorKind::TimedOut, "operation timed out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
    }

    fn sent(idle: Duration, bytes: u64) -> Sent {
        Sent { idle, last: Mutex::new((bytes, Instant::now())) }
    }

    #[test]
    fn a_request_of_which_more_goes_out_again_and_again_is_waited_for() {
        let sent = sent(Duration::from_millis(400), 0);
        let answer = run(sent.wait_for(async {
            for _ in 0..12 {
                tokio::time::sleep(Duration::from_millis(50)).await;
                sent.add(1);
            }
            7
        }));
        assert_eq!(answer.unwrap(), 7, "within 600 ms");
        let started = Instant::now();
        let silent = run(sent.wait_for(std::future::pending::<()>())).unwrap_err();
        assert!(silent.kind() == HttpErrorKind::Timeout && started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn what_is_on_its_way_has_time_to_get_there() {
        for (bytes, seconds) in [(0, 100), (SLOWEST - 1, 100), (SLOWEST, 101), (1 << 20, 116), (1 << 40, 164)] {
            let left = sent(Duration::from_secs(100), bytes).left();
            assert!(left <= Duration::from_secs(seconds) && left > Duration::from_secs(seconds - 1), "{bytes}: {left:?}");
        }
    }

    #[test]
    fn a_large_body_goes_out_in_pieces() {
        for (len, pieces) in [(1, 1), (PIECE, 1), (PIECE + 1, 2), (3 * PIECE, 3)] {
            let bytes = Bytes::from((0..len).map(|i| i as u8).collect::<Vec<_>>());
            let mut body = run(in_pieces(PutPayload::from(bytes.clone()).into(), PIECE));
            let mut found = Vec::new();
            while let Some(frame) = run(body.frame()) {
                found.push(frame.unwrap().into_data().unwrap());
            }
            assert_eq!((found.len(), found.concat()), (pieces, bytes.to_vec()));
        }
    }
}
