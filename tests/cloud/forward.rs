//! A forward proxy, as companies have them: it wants to know who asks, and leads requests and tunnels on.

use crate::proxy::{header, read_head};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// `planted-user:planted-word`, as a header says it.
const USER: &str = "Basic cGxhbnRlZC11c2VyOnBsYW50ZWQtd29yZA==";

/// The proxy; its threads end with the test's process.
pub struct Forward {
    pub port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Forward {
    pub fn new() -> Forward {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, seen) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<String>>>::default());
        let all = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let all = all.clone();
                std::thread::spawn(move || drop(serve(stream.unwrap(), &all)));
            }
        });
        Forward { port, seen }
    }

    /// Its address with that user and password.
    pub fn url(&self, user: &str) -> String {
        format!("http://{user}@127.0.0.1:{}", self.port)
    }

    /// The first lines of the requests that came.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// Serves one request or tunnel; all connections end after it.
fn serve(mut client: TcpStream, all: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let Some((head, rest)) = read_head(&mut client)? else { return Ok(()) };
    all.lock().unwrap().push(head[0].clone());
    if header(&head, "proxy-authorization").as_deref() != Some(USER) {
        let refusal = "HTTP/1.1 407 Who Are You\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        return client.write_all(refusal.as_bytes());
    }
    let mut words = head[0].split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    if method == "CONNECT" {
        let Ok(server) = TcpStream::connect(target) else {
            return client.write_all(b"HTTP/1.1 502 Nobody There\r\nContent-Length: 0\r\n\r\n");
        };
        client.write_all(b"HTTP/1.1 200 Go On\r\n\r\n")?;
        return both_ways(client, server);
    }
    let (host, path) = target.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut server = TcpStream::connect(host)?;
    let kept = head[1..]
        .iter()
        .filter(|line| !line.to_ascii_lowercase().starts_with("proxy-") && !line.to_ascii_lowercase().starts_with("connection:"));
    let lines: String = kept.map(|line| format!("{line}\r\n")).collect();
    server.write_all(format!("{method} /{path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n").as_bytes())?;
    server.write_all(&rest)?;
    pump(server, client)
}

fn both_ways(client: TcpStream, server: TcpStream) -> std::io::Result<()> {
    let (from, to) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || pump(from, to));
    pump(server, client)
}

fn pump(mut from: TcpStream, mut to: TcpStream) -> std::io::Result<()> {
    let mut piece = [0; 64 << 10];
    loop {
        match from.read(&mut piece) {
            Ok(0) | Err(_) => return to.shutdown(Shutdown::Write),
            Ok(n) => to.write_all(&piece[..n])?,
        }
    }
}
