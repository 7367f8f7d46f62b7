//! A small HTTP/1.1 server: `GET` and `HEAD` of a page and of a file whose
//! content everybody can make again. One request a connection.
//!
//! Whatever arrives, a session needs bounded memory and ends: requests that
//! are too long or make no sense get an answer with an error and a close, and
//! clients that say nothing for too long are reset.

mod request;

use redpoll_base::{Duration, Instant};
use redpoll_stack::{ConnId, Error, NodeEvent};

use self::request::{MAX_REQUEST, Parsed, Status, parse};
use super::content::counting_lines;
use super::sessions::{Session, Sessions};
use super::{App, Context};

/// Bytes moved between the app and its connection at once.
const CHUNK: usize = 512;
/// How long a client has for its request; how long it may then go without
/// taking any of the answer; and how long it may leave the connection open.
const PATIENCE: Duration = Duration::from_secs(60);

/// See the [module](self).
pub(super) struct Server {
    name: String,
    file_bytes: u64,
    sessions: Sessions<Request>,
}

impl Server {
    pub(super) fn new(name: &str, port: u16, file_bytes: u64) -> Server {
        Server {
            name: name.to_owned(),
            file_bytes,
            sessions: Sessions::new(port),
        }
    }
}

/// What there is to serve.
struct Site<'a> {
    name: &'a str,
    file_bytes: u64,
}

impl Site<'_> {
    fn page(&self) -> String {
        format!(
            "This is {}, a node of an IEEE 802.15.4 mesh, and Redpoll's TCP.\n\
             Its /file has {} bytes.\n",
            self.name, self.file_bytes
        )
    }

    /// The answer to `parsed`: a head, and a body that follows unless only the
    /// head was asked for.
    fn answer(&self, parsed: &Parsed) -> (Vec<u8>, Body) {
        let (status, body) = match parsed {
            Parsed::Get { path, .. } => match path.as_str() {
                "/" | "/index.html" => (Status::OK, Body::Text(self.page(), 0)),
                "/file" => (
                    Status::OK,
                    Body::File {
                        offset: 0,
                        len: self.file_bytes,
                    },
                ),
                _ => (Status::NOT_FOUND, Status::NOT_FOUND.body()),
            },
            Parsed::Wrong(status) => (*status, status.body()),
        };
        let head = format!(
            "HTTP/1.1 {} {}\r\nServer: redpoll\r\nContent-Type: text/plain\r\n\
             Content-Length: {}\r\n{}Connection: close\r\n\r\n",
            status.code,
            status.reason,
            body.left(),
            status.extra,
        );
        match parsed {
            Parsed::Get {
                head_only: true, ..
            } => (head.into_bytes(), Body::Text(String::new(), 0)),
            _ => (head.into_bytes(), body),
        }
    }
}

/// What follows the head of an answer, and how much of it is out.
enum Body {
    Text(String, usize),
    File { offset: u64, len: u64 },
}

impl Status {
    fn body(&self) -> Body {
        Body::Text(format!("{} {}\n", self.code, self.reason), 0)
    }
}

impl Body {
    fn left(&self) -> u64 {
        match self {
            Body::Text(text, out) => (text.len() - out) as u64,
            Body::File { offset, len } => len - offset,
        }
    }

    /// Copies the next bytes to `chunk`; how many they are.
    fn peek(&self, chunk: &mut [u8]) -> usize {
        let len = chunk
            .len()
            .min(usize::try_from(self.left()).unwrap_or(usize::MAX));
        match self {
            Body::Text(text, out) => {
                chunk[..len].copy_from_slice(&text.as_bytes()[*out..*out + len])
            }
            Body::File { offset, .. } => counting_lines(*offset, &mut chunk[..len]),
        }
        len
    }

    fn advance(&mut self, bytes: usize) {
        match self {
            Body::Text(_, out) => *out += bytes,
            Body::File { offset, .. } => *offset += bytes as u64,
        }
    }
}

/// One connection.
struct Request {
    conn: ConnId,
    /// Without progress until then the client is given up.
    deadline: Instant,
    phase: Phase,
}

enum Phase {
    /// The request so far.
    Reading(Vec<u8>),
    /// What is left of the head, and the body.
    Writing(Vec<u8>, Body),
    /// All is out and closed; the client may still say something.
    Closed,
}

enum Step {
    Again,
    Wait,
    Over,
}

impl Session for Request {
    fn conn(&self) -> ConnId {
        self.conn
    }
}

impl Request {
    fn new(cx: &mut Context<'_>, conn: ConnId) -> Request {
        cx.node.tcp_expect(conn, true);
        Request {
            conn,
            deadline: cx.now + PATIENCE,
            phase: Phase::Reading(Vec::new()),
        }
    }

    /// Serves the connection as far as it goes; false once it is over.
    fn pump(&mut self, cx: &mut Context<'_>, site: &Site<'_>) -> bool {
        loop {
            match self.step(cx, site) {
                Step::Again if self.is_reading() => {}
                Step::Again => self.deadline = cx.now + PATIENCE,
                Step::Wait => return true,
                Step::Over => {
                    cx.node.tcp_release(cx.now, self.conn);
                    return false;
                }
            }
        }
    }

    fn is_reading(&self) -> bool {
        matches!(self.phase, Phase::Reading(_))
    }

    fn step(&mut self, cx: &mut Context<'_>, site: &Site<'_>) -> Step {
        let mut chunk = [0; CHUNK];
        match &mut self.phase {
            Phase::Reading(request) => match cx.node.tcp_recv(cx.now, self.conn, &mut chunk) {
                Ok(0) => {
                    // The client has gone without a whole request.
                    cx.node.tcp_close(cx.now, self.conn);
                    Step::Over
                }
                Ok(len) => {
                    request.extend_from_slice(&chunk[..len]);
                    let parsed = match parse(request) {
                        Some(parsed) => parsed,
                        None if request.len() > MAX_REQUEST => Parsed::Wrong(Status::TOO_LARGE),
                        None => return Step::Again,
                    };
                    let (head, body) = site.answer(&parsed);
                    cx.node.tcp_expect(self.conn, false);
                    self.phase = Phase::Writing(head, body);
                    Step::Again
                }
                Err(Error::WouldBlock) => Step::Wait,
                Err(_) => Step::Over,
            },
            Phase::Writing(head, body) => {
                if head.is_empty() && body.left() == 0 {
                    cx.node.tcp_close(cx.now, self.conn);
                    self.phase = Phase::Closed;
                    return Step::Again;
                }
                let from_head = !head.is_empty();
                let len = if from_head {
                    let len = head.len().min(CHUNK);
                    chunk[..len].copy_from_slice(&head[..len]);
                    len
                } else {
                    body.peek(&mut chunk)
                };
                match cx.node.tcp_send(cx.now, self.conn, &chunk[..len]) {
                    Ok(0) | Err(Error::WouldBlock) => Step::Wait,
                    Ok(sent) if from_head => {
                        head.drain(..sent);
                        Step::Again
                    }
                    Ok(sent) => {
                        body.advance(sent);
                        Step::Again
                    }
                    Err(_) => Step::Over,
                }
            }
            Phase::Closed => match cx.node.tcp_recv(cx.now, self.conn, &mut chunk) {
                Ok(0) => Step::Over,
                // More talk does not prolong the session.
                Ok(_) => self.step(cx, site),
                Err(Error::WouldBlock) => Step::Wait,
                Err(_) => Step::Over,
            },
        }
    }
}

impl App for Server {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.sessions.start(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        let site = Site {
            name: &self.name,
            file_bytes: self.file_bytes,
        };
        self.sessions.on_event(
            cx,
            event,
            |cx, conn| Some(Request::new(cx, conn)),
            |cx, request| request.pump(cx, &site),
        );
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.sessions.open().retain(|session| {
            let late = session.deadline <= cx.now;
            if late {
                cx.node.tcp_abort(cx.now, session.conn);
                cx.node.tcp_release(cx.now, session.conn);
            }
            !late
        });
    }

    fn next_timer(&self) -> Option<Instant> {
        self.sessions.iter().map(|session| session.deadline).min()
    }
}
