//! A server on this machine that answers each request with the next of its replies, byte for byte, and tells what
//! happened to it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A piece of a reply.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// These bytes, in one write.
    Bytes(Vec<u8>),
    /// The connection is closed.
    Close,
    /// Nothing more, until the client closes the connection.
    Hang,
}

#[derive(Debug)]
pub(crate) struct Request {
    /// The number of its connection, from 0.
    pub(crate) connection: usize,
    /// Method and path.
    pub(crate) line: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// What happens at the server, in order.
#[derive(Debug)]
pub(crate) enum Happening {
    Request(Request),
    /// The client closed the connection while the server hung.
    Gone,
}

pub(crate) struct Server {
    pub(crate) base_url: String,
    happenings: Receiver<Happening>,
}

type Replies = Arc<Mutex<std::vec::IntoIter<Vec<Piece>>>>;

impl Server {
    pub(crate) fn new(replies: impl IntoIterator<Item = Vec<Piece>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let replies: Vec<Vec<Piece>> = replies.into_iter().collect();
        let replies: Replies = Arc::new(Mutex::new(replies.into_iter()));
        let (sender, happenings) = channel();
        std::thread::spawn(move || {
            for (number, connection) in listener.incoming().enumerate() {
                let (replies, sender) = (replies.clone(), sender.clone());
                std::thread::spawn(move || serve(connection.unwrap(), number, &replies, &sender));
            }
        });
        Self { base_url, happenings }
    }

    /// The next thing that happens.
    pub(crate) fn next(&self) -> Happening {
        self.happenings.recv_timeout(Duration::from_secs(20)).expect("something happens at the server")
    }

    pub(crate) fn next_request(&self) -> Request {
        match self.next() {
            Happening::Request(request) => request,
            Happening::Gone => panic!("the client is gone"),
        }
    }
}

fn serve(connection: TcpStream, number: usize, replies: &Replies, happenings: &Sender<Happening>) -> Option<()> {
    connection.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(connection.try_clone().ok()?);
    loop {
        happenings.send(Happening::Request(read(&mut reader, number)?)).ok()?;
        let reply = replies.lock().unwrap().next();
        for piece in reply.unwrap_or_else(|| panic!("no reply is left")) {
            match piece {
                Piece::Bytes(bytes) => (&connection).write_all(&bytes).ok()?,
                Piece::Close => return connection.shutdown(Shutdown::Both).ok(),
                Piece::Hang => {
                    // The end of the connection, by whichever means, is what this waits for.
                    let end = reader.read(&mut [0]);
                    assert!(!matches!(end, Ok(1)), "the client speaks while the server does");
                    return happenings.send(Happening::Gone).ok();
                }
            }
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>, connection: usize) -> Option<Request> {
    let mut lines = std::iter::from_fn(|| {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end().to_owned();
        (!line.is_empty()).then_some(line)
    });
    let line = lines.next()?;
    let headers: HashMap<String, String> = lines
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_lowercase(), value.trim().to_owned()))
        })
        .collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { connection, line, headers, body })
}

/// How a stream is cut into writes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cut {
    Whole,
    Bytes,
    At(usize),
}

/// A whole answer of this event stream, in chunks of HTTP.
pub(crate) fn stream(events: &str, cut: Cut) -> Vec<Piece> {
    let mut pieces = unfinished_stream(events, cut);
    let Some(Piece::Bytes(last)) = pieces.last_mut() else { panic!("a stream has a head") };
    last.extend_from_slice(b"0\r\n\r\n");
    pieces
}

/// The same without HTTP's own end.
pub(crate) fn unfinished_stream(events: &str, cut: Cut) -> Vec<Piece> {
    let bytes = events.as_bytes();
    let writes: Vec<&[u8]> = match cut {
        Cut::Whole => vec![bytes],
        Cut::Bytes => bytes.chunks(1).collect(),
        Cut::At(at) => vec![&bytes[..at], &bytes[at..]],
    };
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = |write: &&[u8]| {
        let mut chunk = format!("{:x}\r\n", write.len()).into_bytes();
        chunk.extend_from_slice(write);
        chunk.extend_from_slice(b"\r\n");
        Piece::Bytes(chunk)
    };
    let chunks = writes.iter().filter(|write| !write.is_empty()).map(chunk);
    std::iter::once(Piece::Bytes(head.into())).chain(chunks).collect()
}

/// An answer that is no stream.
pub(crate) fn reply(status: &str, headers: &[(&str, &str)], body: &str) -> Vec<Piece> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    vec![Piece::Bytes(format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}").into_bytes())]
}

/// An event stream of these chunks.
pub(crate) fn events(chunks: &[serde_json::Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// A chunk of text.
pub(crate) fn say(text: &str) -> serde_json::Value {
    serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]})
}

/// The chunk that says why the model stopped.
pub(crate) fn finish(reason: &str) -> serde_json::Value {
    serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// A whole answer of one text.
pub(crate) fn hello() -> String {
    events(&[say("hello"), finish("stop")]) + DONE
}
