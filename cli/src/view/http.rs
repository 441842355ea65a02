//! HTTP/1.1 for the page: requests of GET without a body. Every user of the machine can connect, so that whoever does not know the address gets
//! little memory, little time, and no place that the page needs.

use super::answer::Answer;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections that are open at once.
const CONNECTIONS: usize = 64;
/// Requests that are answered at once.
const ANSWERS: usize = 4;
/// Bytes of a request: other pages of this host may have left many cookies.
const LONGEST: usize = 64 << 10;
/// The time in which the first request of a connection comes.
const FIRST: Duration = Duration::from_secs(5);
/// The time in which a later one comes, of those who know the address.
const LATER: Duration = Duration::from_secs(60);
/// The time in which a browser takes nothing of an answer before it counts as gone.
const STALLED: Duration = Duration::from_secs(30);

const HEADERS: &str = "Cache-Control: no-store\r\n\
    Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Referrer-Policy: no-referrer\r\n\
    X-Content-Type-Options: nosniff\r\n";

/// What is served.
pub trait Page: Sync {
    /// The path that is asked for, of those who know the address.
    fn admitted<'a>(&self, host: Option<&str>, target: &'a str) -> Option<&'a str>;
    fn answer(&self, path: &str) -> Answer;
}

/// A request without its other headers.
#[derive(Debug, PartialEq)]
struct Request<'a> {
    method: &'a str,
    target: &'a str,
    /// None where several are named, too.
    host: Option<&'a str>,
    /// Whether another request may come after it. A body is not read.
    goes_on: bool,
}

impl Request<'_> {
    fn parse(head: &[u8]) -> Option<Request<'_>> {
        let mut lines = std::str::from_utf8(head).ok()?.split("\r\n").filter(|line| !line.is_empty());
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?.strip_prefix("HTTP/1.")?);
        let (mut hosts, mut goes_on) = (Vec::new(), version != "0" && words.next().is_none());
        for line in lines {
            let (name, value) = line.split_once(':')?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "host" => hosts.push(value),
                "connection" => goes_on &= !value.eq_ignore_ascii_case("close"),
                "content-length" => goes_on &= value == "0",
                "transfer-encoding" => goes_on = false,
                _ => {}
            }
        }
        let host = if let [host] = hosts[..] { Some(host) } else { None };
        Some(Request { method, target, host, goes_on })
    }
}

/// A connection.
struct Connection {
    stream: TcpStream,
    /// Whether its user knows the address.
    is_known: AtomicBool,
}

impl Connection {
    /// Reads until `received` has all of a request's head, and gives its length; `None` where it is too long.
    fn head(&self, received: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let until = Instant::now() + if self.is_known.load(Ordering::Relaxed) { LATER } else { FIRST };
        let mut searched = 0;
        loop {
            if let Some(at) = received[searched..].windows(4).position(|end| end == b"\r\n\r\n") {
                return Ok(Some(searched + at + 4));
            }
            searched = received.len().saturating_sub(3);
            if received.len() >= LONGEST {
                return Ok(None);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
            let mut part = [0; 4096];
            match (&self.stream).read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => received.extend_from_slice(&part[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    fn send(&self, answer: &Answer, goes_on: bool) -> io::Result<()> {
        let reason = if answer.status == 200 { "OK" } else { "Refused" };
        let connection = if goes_on { "keep-alive" } else { "close" };
        let mut head = format!("HTTP/1.1 {} {reason}\r\nConnection: {connection}\r\n{HEADERS}", answer.status);
        let length = answer.body.len().to_string();
        for (name, value) in
            [("Content-Length", length.as_str()), ("Content-Type", answer.kind), ("X-Shape", &answer.shape), ("X-Numbers", answer.numbers)]
        {
            if !value.is_empty() {
                head += &format!("{name}: {value}\r\n");
            }
        }
        head += "\r\n";
        (&self.stream).write_all(head.as_bytes())?;
        (&self.stream).write_all(&answer.body)
    }
}

/// The connections, and how many requests are being answered.
#[derive(Default)]
struct Server {
    open: Mutex<Vec<Arc<Connection>>>,
    answered: Mutex<usize>,
    free: Condvar,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is undone when a thread is done with it, or panics.
struct Finally<F: Fn()>(F);

impl<F: Fn()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Serves a page for ever.
pub fn serve(listener: &TcpListener, page: &dyn Page) {
    let server = Server::default();
    std::thread::scope(|threads| {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // As where the process may open no more files.
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            let Some(connection) = server.entered(stream) else { continue };
            let attend = {
                let (server, connection) = (&server, connection.clone());
                move || {
                    let _leave = Finally(|| server.leave(&connection));
                    // A browser that went away is no error.
                    let _ = server.attend(&connection, page);
                }
            };
            if std::thread::Builder::new().spawn_scoped(threads, attend).is_err() {
                server.leave(&connection);
            }
        }
    });
}

impl Server {
    /// A place for a connection: where all are taken that of the oldest one which does not know the address.
    fn entered(&self, stream: TcpStream) -> Option<Arc<Connection>> {
        let connection = Arc::new(Connection { stream, is_known: AtomicBool::new(false) });
        let mut open = locked(&self.open);
        if open.len() >= CONNECTIONS {
            let oldest = open.iter().position(|c| !c.is_known.load(Ordering::Relaxed))?;
            let _ = open.remove(oldest).stream.shutdown(Shutdown::Both);
        }
        open.push(connection.clone());
        Some(connection)
    }

    fn leave(&self, connection: &Arc<Connection>) {
        let _ = connection.stream.shutdown(Shutdown::Both);
        locked(&self.open).retain(|c| !Arc::ptr_eq(c, connection));
    }

    /// Answers the requests of a connection until it ends.
    fn attend(&self, connection: &Connection, page: &dyn Page) -> io::Result<()> {
        connection.stream.set_nodelay(true)?;
        connection.stream.set_write_timeout(Some(STALLED))?;
        let mut received = Vec::new();
        loop {
            let Some(length) = connection.head(&mut received)? else {
                return connection.send(&Answer::refused(431, "the request is too long"), false);
            };
            let Some(request) = Request::parse(&received[..length]) else {
                return connection.send(&Answer::refused(400, "expected a request of HTTP/1.1"), false);
            };
            let Some(path) = page.admitted(request.host, request.target) else {
                let why = "the address of this page has a random part; take the one that `ozarr view` printed";
                return connection.send(&Answer::refused(403, why), false);
            };
            connection.is_known.store(true, Ordering::Relaxed);
            let answer = if request.method == "GET" { self.answer(page, path) } else { Answer::refused(405, "expected GET") };
            connection.send(&answer, request.goes_on)?;
            if !request.goes_on {
                return Ok(());
            }
            received.drain(..length);
        }
    }

    /// The answer, as soon as few enough others are worked at.
    fn answer(&self, page: &dyn Page, path: &str) -> Answer {
        let wait = self.free.wait_while(locked(&self.answered), |answered| *answered >= ANSWERS);
        *wait.unwrap_or_else(PoisonError::into_inner) += 1;
        let _free = Finally(|| {
            *locked(&self.answered) -= 1;
            self.free.notify_one();
        });
        page.answer(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    /// Admits paths below `/known/` of the host `own`.
    struct Known;

    impl Page for Known {
        fn admitted<'a>(&self, host: Option<&str>, target: &'a str) -> Option<&'a str> {
            target.strip_prefix("/known/").filter(|_| host == Some("own"))
        }

        fn answer(&self, path: &str) -> Answer {
            assert!(path != "panic", "a request that panics");
            let size = path.strip_prefix("bytes=").and_then(|n| n.parse().ok()).unwrap_or(0);
            Answer { body: vec![b'x'; size], ..Answer::refused(200, "") }
        }
    }

    fn start() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || serve(&listener, &Known));
        address
    }

    fn connect(address: SocketAddr, sent: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = stream.write_all(sent);
        stream
    }

    /// All that comes until the server closes.
    fn all(mut stream: TcpStream) -> String {
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        String::from_utf8(text).unwrap()
    }

    const LAST: &str = "GET /known/ HTTP/1.1\r\nHost: own\r\nConnection: close\r\n\r\n";

    #[test]
    fn requests_are_answered_once_and_bodies_are_not_read() {
        let address = start();
        let next = "GET /known/bytes=3 HTTP/1.1\r\nHost: own\r\n\r\n";
        let line = "GET /known/".to_string() + &"a".repeat(LONGEST);
        let cookies = format!("GET /known/ HTTP/1.1\r\nHost: own\r\nCookie: {}\r\nConnection: close\r\n\r\n", "c".repeat(20_000));
        let cases: &[(&str, &[u16])] = &[
            (LAST, &[200]),
            (&format!("{next}{next}{LAST}"), &[200, 200, 200]),
            (&cookies, &[200]),
            ("GET /known/ HTTP/1.0\r\nhost:own\r\n\r\n", &[200]),
            ("POST /known/ HTTP/1.1\r\nHost: own\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", &[405]),
            ("GET / HTTP/1.1\r\nHost: own\r\n\r\n", &[403]),
            ("GET /known/ HTTP/1.1\r\nHost: own\r\nHost: own\r\n\r\n", &[403]),
            ("GET /known/ HTTP/1.1\r\n\r\n", &[403]),
            ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", &[403]),
            ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\nabc", &[403]),
            ("GET /known/ HTTP/1.1\r\nHost: own\r\nContent-Length: 100\r\n\r\nabc", &[200]),
            ("GET /known/ HTTP/1.1\r\nHost: own\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n", &[200]),
            (&line, &[431]),
            ("GET /known/\r\n\r\n", &[400]),
            ("GET /known/ HTTP/1.1\r\nno header\r\n\r\n", &[400]),
            ("\r\n\r\n", &[400]),
        ];
        for (sent, want) in cases {
            let text = all(connect(address, sent.as_bytes()));
            let found: Vec<u16> = text.split("HTTP/1.1 ").skip(1).map(|answer| answer[..3].parse().unwrap()).collect();
            assert_eq!(found, *want, "{:.200} {text}", sent);
        }
        assert!(
            all(connect(address, LAST.replace("/ ", "/bytes=5 ").as_bytes()))
                .ends_with("Content-Length: 5\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nxxxxx")
        );
    }

    #[test]
    fn nobody_holds_the_places_of_others() {
        let address = start();
        // Those who send nothing or a part, who do not read what they asked for, and whose request panics.
        let mut held: Vec<TcpStream> = (0..CONNECTIONS * 3).map(|i| connect(address, if i % 2 == 0 { b"" } else { b"GET /" })).collect();
        held.extend((0..ANSWERS * 2).map(|_| connect(address, b"GET /known/bytes=16000000 HTTP/1.1\r\nHost: own\r\n\r\n")));
        held.extend((0..ANSWERS * 2).map(|_| connect(address, b"GET /known/panic HTTP/1.1\r\nHost: own\r\n\r\n")));
        let began = Instant::now();
        assert!(all(connect(address, LAST.as_bytes())).starts_with("HTTP/1.1 200 "));
        assert!(began.elapsed() < FIRST);
        // Who knows the address keeps the place while others come.
        let mut known = connect(address, b"GET /known/ HTTP/1.1\r\nHost: own\r\n\r\n");
        let mut answer = [0; 4096];
        assert!(known.read(&mut answer).unwrap() > 0);
        held.extend((0..CONNECTIONS * 2).map(|_| connect(address, b"")));
        known.write_all(LAST.as_bytes()).unwrap();
        assert!(all(known).starts_with("HTTP/1.1 200 "));
        // Who sends nothing is gone after a while.
        let began = Instant::now();
        assert_eq!(all(held.pop().unwrap()), "");
        assert!(began.elapsed() < FIRST * 2);
    }
}
