//! Resources of the server: a page and a file, whole or in part (RFC 9110 §14).

use super::request::{Get, Parsed, Status};
use crate::oracle::counting_lines;

pub(super) struct Site<'a> {
    pub(super) name: &'a str,
    pub(super) file_bytes: u64,
    /// Entity tag of the file. Without one, the answer to a request with `If-Range` is the whole
    /// file.
    pub(super) etag: Option<&'a str>,
}

/// An answer: its head, its body, and whether the connection stays open.
pub(super) struct Answer {
    pub(super) head: Vec<u8>,
    pub(super) body: Body,
    pub(super) stays_open: bool,
}

pub(super) enum Body {
    Text(String, usize),
    File { offset: u64, end: u64 },
}

impl Site<'_> {
    fn page(&self) -> String {
        format!(
            "This is {}, a node of an IEEE 802.15.4 mesh with Redpoll's TCP.\n\
             Its /file has {} bytes.\n",
            self.name, self.file_bytes
        )
    }

    pub(super) fn answer(&self, parsed: &Parsed) -> Answer {
        let get = match parsed {
            Parsed::Get(get) => get,
            Parsed::Wrong(status) => {
                let stays_open = false;
                return Answer::new(*status, "", status.body(), stays_open);
            }
        };
        let stays_open = get.stays_open;
        let mut answer = match get.path.as_str() {
            "/" | "/index.html" => {
                Answer::new(Status::OK, "", Body::Text(self.page(), 0), stays_open)
            }
            "/file" => self.file(get, stays_open),
            _ => Answer::new(Status::NOT_FOUND, "", Status::NOT_FOUND.body(), stays_open),
        };
        if get.head_only {
            answer.body = Body::Text(String::new(), 0);
        }
        answer
    }

    fn file(&self, get: &Get, stays_open: bool) -> Answer {
        let whole = self.file_bytes;
        // RFC 9110 §13.1.5: a part is sent if the client knows the same version.
        let is_known = get.if_range.is_none() || get.if_range.as_deref() == self.etag;
        let etag = self.etag.map(|etag| format!("ETag: {etag}\r\n"));
        let etag = etag.unwrap_or_default();
        let Some(part) = get.part.filter(|_| is_known) else {
            let body = Body::File {
                offset: 0,
                end: whole,
            };
            return Answer::new(Status::OK, &etag, body, stays_open);
        };
        match part.of(whole) {
            Some((offset, end)) => {
                let last = end - 1;
                let range = format!("Content-Range: bytes {offset}-{last}/{whole}\r\n{etag}");
                let body = Body::File { offset, end };
                Answer::new(Status::PARTIAL, &range, body, stays_open)
            }
            None => {
                let range = format!("Content-Range: bytes */{whole}\r\n");
                let status = Status::NOT_SATISFIABLE;
                Answer::new(status, &range, status.body(), stays_open)
            }
        }
    }
}

impl Answer {
    fn new(status: Status, fields: &str, body: Body, stays_open: bool) -> Answer {
        let connection = if stays_open { "keep-alive" } else { "close" };
        let head = format!(
            "HTTP/1.1 {} {}\r\nServer: redpoll\r\nContent-Type: text/plain\r\n\
             Content-Length: {}\r\n{}{fields}Connection: {connection}\r\n\r\n",
            status.code,
            status.reason,
            body.left(),
            status.extra,
        );
        Answer {
            head: head.into_bytes(),
            body,
            stays_open,
        }
    }
}

impl Status {
    fn body(&self) -> Body {
        Body::Text(format!("{} {}\n", self.code, self.reason), 0)
    }
}

impl Body {
    pub(super) fn left(&self) -> u64 {
        match self {
            Body::Text(text, out) => (text.len() - out) as u64,
            Body::File { offset, end } => end - offset,
        }
    }

    pub(super) fn peek(&self, chunk: &mut [u8]) -> usize {
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

    pub(super) fn advance(&mut self, bytes: usize) {
        match self {
            Body::Text(_, out) => *out += bytes,
            Body::File { offset, .. } => *offset += bytes as u64,
        }
    }
}
