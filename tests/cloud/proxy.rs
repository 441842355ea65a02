//! A proxy before a real server that does what networks and servers do on bad days.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is done at some moment.
pub type Action = Arc<dyn Fn() + Send + Sync>;

/// What becomes of one request.
#[derive(Clone)]
pub enum Fault {
    /// The server's answer.
    None,
    /// The server's answer, later.
    Late(Duration),
    /// This answer: status, further headers, body.
    Answer(u16, &'static str, &'static str),
    /// The server's answer, which ends after so many bytes of its body.
    Cut(usize),
    /// The server is not told of the range.
    Whole,
    /// The server is not told of conditions.
    Unconditional,
    /// The server's answer with another `Content-Range`.
    WrongRange,
    /// The server's answer; a `Content-Range` does not tell the object's length.
    Unmeasured,
    /// The server's bytes without a length, so many of them.
    Short(usize),
    /// This answer: status and headers, and then zeros without an end.
    Flood(u16, &'static str),
    /// The server does what is asked; its answer is lost.
    Lost,
    /// The server does what is asked; its answer, which comes in chunks, ends before the last of them.
    Torn,
    /// No answer, the connection stays.
    Hang,
    /// The connection ends.
    Reset,
    /// The server's answer, so many bytes at a time, each time a moment later.
    Pieces(usize),
    /// The server's answer by HTTP/1.0, with its length or without.
    Old { told: bool },
    /// The server's answer; then the connection ends, which it does not say.
    Unsaid,
    /// The server's answer; the connection stays for another request.
    Kept,
    /// Something happens first.
    After(Action),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub target: String,
    pub range: Option<String>,
    /// The header `Authorization`.
    pub signed: String,
    /// Whether another request came on the same connection before.
    pub again: bool,
}

type Rule = Arc<dyn Fn(usize, &Seen) -> Fault + Send + Sync>;

/// What its threads share.
#[derive(Default)]
struct Shared {
    seen: Mutex<Vec<Seen>>,
    flooded: AtomicU64,
    stop: AtomicBool,
}

/// The proxy; it ends when dropped.
pub struct Proxy {
    pub port: u16,
    shared: Arc<Shared>,
}

impl Proxy {
    /// A proxy before `upstream` (`http://host:port`); `rule` says what becomes of the request of each number, counted from 0.
    pub fn new(upstream: &str, rule: impl Fn(usize, &Seen) -> Fault + Send + Sync + 'static) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (rule, upstream): (Rule, String) = (Arc::new(rule), upstream.trim_start_matches("http://").to_string());
        let shared = Arc::<Shared>::default();
        let all = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if all.stop.load(Ordering::Relaxed) {
                    return;
                }
                let (rule, upstream, all) = (rule.clone(), upstream.clone(), all.clone());
                std::thread::spawn(move || {
                    let (mut client, mut again) = (stream.unwrap(), false);
                    while serve_one(&mut client, again, &upstream, &rule, &all).unwrap_or(false) {
                        again = true;
                    }
                });
            }
        });
        Proxy { port, shared }
    }

    /// What was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// How many zeros of [`Fault::Flood`] left so far.
    pub fn flooded(&self) -> u64 {
        self.shared.flooded.load(Ordering::Relaxed)
    }

    /// The address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// A message's head in lines, and what was read behind it.
pub fn read_head(stream: &mut TcpStream) -> std::io::Result<Option<(Vec<String>, Vec<u8>)>> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 16 << 10]);
    loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).split("\r\n").map(str::to_string).collect();
            return Ok(Some((head, bytes[end + 4..].to_vec())));
        }
        match stream.read(&mut piece)? {
            0 => return Ok(None),
            n => bytes.extend_from_slice(&piece[..n]),
        }
    }
}

pub fn header(head: &[String], name: &str) -> Option<String> {
    let found = head.iter().skip(1).find_map(|line| line.split_once(':').filter(|(key, _)| key.eq_ignore_ascii_case(name)));
    found.map(|(_, value)| value.trim().to_string())
}

fn without(head: &mut Vec<String>, names: &[&str]) {
    let first = head.remove(0);
    head.retain(|line| !names.iter().any(|name| line.split(':').next().unwrap().eq_ignore_ascii_case(name)));
    head.insert(0, first);
}

/// Sends zeros until the client has enough, or far more than it may take.
fn flood(client: &mut TcpStream, sent: &AtomicU64) -> std::io::Result<()> {
    let piece = [0; 64 << 10];
    for _ in 0..(400 << 20) / piece.len() {
        client.write_all(&piece)?;
        sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// A message with its body.
fn read_message(stream: &mut TcpStream) -> std::io::Result<Option<(Vec<String>, Vec<u8>)>> {
    let Some((head, mut body)) = read_head(stream)? else { return Ok(None) };
    let wanted = header(&head, "content-length").map_or(0, |n| n.parse().unwrap());
    while body.len() < wanted {
        let mut piece = [0; 64 << 10];
        match stream.read(&mut piece)? {
            0 => return Ok(None),
            n => body.extend_from_slice(&piece[..n]),
        }
    }
    Ok(Some((head, body)))
}

/// The server's answer to a request, changed as the fault wants it.
fn answer(upstream: &str, mut head: Vec<String>, body: &[u8], fault: &Fault) -> std::io::Result<Option<(Vec<String>, Vec<u8>)>> {
    without(&mut head, &["connection"]);
    match fault {
        Fault::Whole => without(&mut head, &["range"]),
        Fault::Unconditional => without(&mut head, &["if-match", "if-none-match"]),
        // An answer to an old client does not come in chunks.
        Fault::Old { .. } | Fault::Kept => head[0] = head[0].replace("HTTP/1.1", "HTTP/1.0"),
        _ => {}
    }
    let is_head = head[0].starts_with("HEAD ");
    let mut server = TcpStream::connect(upstream)?;
    server.write_all(format!("{}\r\nConnection: close\r\n\r\n", head.join("\r\n")).as_bytes())?;
    server.write_all(body)?;
    let Some((mut answer, mut bytes)) = read_head(&mut server)? else { return Ok(None) };
    server.read_to_end(&mut bytes)?;
    without(&mut answer, &["connection"]);
    match fault {
        Fault::WrongRange => {
            if let Some(line) = answer.iter_mut().find(|line| line.to_ascii_lowercase().starts_with("content-range:")) {
                *line = "Content-Range: bytes 1000-1009/2000".to_string();
            }
        }
        Fault::Unmeasured => {
            if let Some(line) = answer.iter_mut().find(|line| line.to_ascii_lowercase().starts_with("content-range:")) {
                *line = line.split('/').next().unwrap().to_string() + "/*";
            }
        }
        Fault::Cut(n) => bytes.truncate(*n),
        Fault::Torn => {
            without(&mut answer, &["content-length"]);
            answer.push("Transfer-Encoding: chunked".to_string());
            bytes = b"1\r\n \r\n".to_vec();
        }
        Fault::Short(n) => {
            bytes.truncate(*n);
            without(&mut answer, &["content-length"]);
        }
        Fault::Old { told } => {
            answer[0] = answer[0].replace("HTTP/1.1", "HTTP/1.0");
            let length = header(&answer, "content-length").unwrap_or_else(|| bytes.len().to_string());
            without(&mut answer, &["content-length"]);
            // What HEAD asks for is the length.
            if *told || is_head {
                answer.push(format!("Content-Length: {length}"));
            }
        }
        Fault::Kept => {
            answer[0] = answer[0].replace("HTTP/1.0", "HTTP/1.1");
            if header(&answer, "content-length").is_none() {
                answer.push(format!("Content-Length: {}", bytes.len()));
            }
        }
        _ => {}
    }
    if !matches!(fault, Fault::Old { .. } | Fault::Unsaid | Fault::Kept) {
        answer.push("Connection: close".to_string());
    }
    Ok(Some((answer, bytes)))
}

/// Serves one request; whether another may come on the same connection.
fn serve_one(client: &mut TcpStream, again: bool, upstream: &str, rule: &Rule, shared: &Shared) -> std::io::Result<bool> {
    let Some((head, body)) = read_message(client)? else { return Ok(false) };
    let mut words = head[0].split(' ').map(str::to_string);
    let seen = Seen {
        method: words.next().unwrap(),
        target: words.next().unwrap(),
        range: header(&head, "range"),
        signed: header(&head, "authorization").unwrap_or_default(),
        again,
    };
    let fault = {
        let mut all = shared.seen.lock().unwrap();
        all.push(seen.clone());
        rule(all.len() - 1, &seen)
    };
    match &fault {
        Fault::Answer(status, headers, text) => {
            let text = if seen.method == "HEAD" { "" } else { text };
            write!(client, "HTTP/1.1 {status} Planned\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len())?;
            return client.shutdown(Shutdown::Both).map(|()| false);
        }
        Fault::Flood(status, headers) => {
            write!(client, "HTTP/1.1 {status} Planned\r\n{headers}Connection: close\r\n\r\n")?;
            return flood(client, &shared.flooded).map(|()| false);
        }
        Fault::Hang => {
            while !shared.stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
            }
            return Ok(false);
        }
        Fault::Reset => return client.shutdown(Shutdown::Both).map(|()| false),
        Fault::Late(time) => std::thread::sleep(*time),
        Fault::After(action) => action(),
        _ => {}
    }
    let Some((answer, bytes)) = answer(upstream, head, &body, &fault)? else { return Ok(false) };
    let answer = format!("{}\r\n\r\n", answer.join("\r\n"));
    match fault {
        Fault::Lost => return client.shutdown(Shutdown::Both).map(|()| false),
        Fault::Pieces(size) => {
            client.set_nodelay(true)?;
            for piece in [answer.as_bytes(), &bytes].concat().chunks(size) {
                client.write_all(piece)?;
                // The client takes one before the next comes, mostly.
                std::thread::sleep(Duration::from_micros(50));
            }
        }
        _ => {
            client.write_all(answer.as_bytes())?;
            client.write_all(&bytes)?;
        }
    }
    if matches!(fault, Fault::Kept) {
        return Ok(true);
    }
    client.shutdown(Shutdown::Write).map(|()| false)
}
