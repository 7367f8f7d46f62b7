//! A small part of HTTP/1.1 (RFC 9112): `GET` and `HEAD` of a page and of a file, one request for
//! each connection. A request may have any length: the server reads the beginning of the first
//! line, and searches the other lines for the empty line at the end.

use redpoll_base::{Instant, divide, divide_long};

use crate::held::{HELD, Held, Next};

const LINE: usize = 24;
const FILE: u32 = 20_000;
const ROW: u32 = 8;

#[derive(Clone, Copy, Debug, Default)]
pub struct Status {
    pub board: &'static str,
    pub now: Instant,
    /// Requests that have been answered since the node started.
    pub requests: u32,
    /// Measures the peak use of the stack, and returns it with the stack's size, both in bytes. The
    /// measurement takes long.
    pub stack: Option<fn() -> [u32; 2]>,
    /// Messages that were damaged on the serial line.
    pub damaged: u32,
}

/// The only field that the server evaluates.
const HOST: &[u8] = b"host";

#[derive(Default)]
pub(crate) struct Web {
    line: [u8; LINE],
    len: usize,
    /// Whether the first line has ended.
    has_line: bool,
    /// Number of consecutive line ends.
    ends: u8,
    field: Field,
    hosts: u8,
    /// Whether a field violates RFC 9112 §3.2 or §5.1.
    is_bad: bool,
    phase: Phase,
}

#[derive(Default, Clone, Copy)]
enum Field {
    /// Reading a field's name: its length so far, and whether it is a prefix of [`HOST`].
    Name(u8, bool),
    /// Reading a value: whether the field is Host, whether a byte other than a space has arrived,
    /// and whether a space has followed it.
    Value {
        is_host: bool,
        has_begun: bool,
        has_ended: bool,
    },
    /// No byte of the line has arrived.
    #[default]
    Start,
}

#[derive(Default, Clone, Copy)]
enum Phase {
    #[default]
    Reading,
    File(u32),
    Over,
}

impl Web {
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\r' => {}
                b'\n' => {
                    // A line that ends within the field name has no colon.
                    self.is_bad |= matches!(self.field, Field::Name(..));
                    self.field = Field::Start;
                    self.has_line = true;
                    self.ends = self.ends.saturating_add(1);
                }
                _ if self.is_whole() => return,
                _ => {
                    self.ends = 0;
                    let place = self.line.get_mut(self.len);
                    if let Some(place) = place.filter(|_| !self.has_line) {
                        *place = *byte;
                        self.len = self.len.saturating_add(1);
                    }
                    if self.has_line {
                        self.field(*byte);
                    }
                }
            }
        }
    }

    fn field(&mut self, byte: u8) {
        let (at, is_host) = match self.field {
            Field::Start => (0, true),
            Field::Name(at, is_host) => (at, is_host),
            Field::Value {
                is_host,
                has_begun,
                has_ended,
            } => {
                let is_space = matches!(byte, b' ' | b'\t');
                let is_bad = has_ended || !is_of_host(byte);
                self.is_bad |= is_host && !is_space && is_bad;
                self.field = Field::Value {
                    is_host,
                    has_begun: has_begun || !is_space,
                    has_ended: has_ended || has_begun && is_space,
                };
                return;
            }
        };
        self.field = match byte {
            b':' => {
                let is_host = is_host && usize::from(at) == HOST.len();
                self.hosts = self.hosts.saturating_add(is_host.into());
                self.is_bad |= at == 0;
                Field::Value {
                    is_host,
                    has_begun: false,
                    has_ended: false,
                }
            }
            _ => {
                self.is_bad |= byte <= b' ';
                let expected = HOST.get(usize::from(at));
                let is_host = is_host && expected == Some(&byte.to_ascii_lowercase());
                Field::Name(at.saturating_add(1), is_host)
            }
        };
    }

    /// Returns whether the empty line at the end of the request's head has arrived.
    fn is_whole(&self) -> bool {
        self.ends >= 2
    }

    pub(crate) fn next(&mut self, held: &mut Held, status: &mut Status) -> Next {
        match self.phase {
            Phase::Reading if !self.is_whole() => Next::Wait,
            Phase::Reading => {
                status.requests = status.requests.wrapping_add(1);
                self.begin(held, status);
                Next::Send
            }
            Phase::File(FILE..) | Phase::Over => Next::Close,
            Phase::File(offset) => {
                let end = offset.saturating_add(HELD as u32).min(FILE);
                held.fill(|bytes| rows(offset..end, bytes));
                self.phase = Phase::File(end);
                Next::Send
            }
        }
    }

    fn begin(&mut self, held: &mut Held, status: &Status) {
        let line = self.line.get(..self.len).unwrap_or_default();
        let mut words = line.split(|byte| *byte == b' ');
        let (method, path) = (words.next(), words.next());
        let is_old = words.next() == Some(b"HTTP/1.0");
        // RFC 9112 §3.2: a request has one Host field, which only HTTP/1.0 may omit.
        if self.is_bad || self.hosts > 1 || self.hosts == 0 && !is_old {
            self.phase = Phase::Over;
            held.fill(|out| Text::of(out).head("400 Bad Request", 0).len);
            return;
        }
        let has_body = match method {
            Some(b"GET") => true,
            Some(b"HEAD") => false,
            _ => {
                self.phase = Phase::Over;
                held.fill(|out| Text::of(out).head("501 Not Implemented", 0).len);
                return;
            }
        };
        self.phase = match path {
            Some(b"/file") if has_body => Phase::File(0),
            _ => Phase::Over,
        };
        held.fill(|out| match path {
            Some(b"/") => {
                let mut page = [0; HELD];
                let len = status.page(&mut page);
                let text = Text::of(out).head("200 OK", len as u32);
                let body = page.get(..len).filter(|_| has_body);
                text.put(body.unwrap_or_default()).len
            }
            Some(b"/file") => Text::of(out).head("200 OK", FILE).len,
            _ => Text::of(out).head("404 Not Found", 0).len,
        });
    }
}

/// Returns whether a host and a port may have this byte (RFC 3986 §3.2.2).
fn is_of_host(byte: u8) -> bool {
    byte > b' ' && byte < 127 && !matches!(byte, b'/' | b'?' | b'#' | b'@' | b'"' | b'<' | b'>')
}

impl Status {
    fn page(&self, out: &mut [u8; HELD]) -> usize {
        let [used, there_are] = self.stack.map_or([0; 2], |look| look());
        Text::of(out)
            .put(b"A leaf of an IEEE 802.15.4 mesh with Redpoll's TCP, on ")
            .put(self.board.as_bytes())
            .put(b"\nup, s: ")
            .number(divide_long(self.now.as_micros(), 1_000_000))
            .put(b"\nrequests: ")
            .number(self.requests)
            .put(b"\ndamaged messages: ")
            .number(self.damaged)
            .put(b"\nstack, bytes: ")
            .number(used)
            .put(b" of ")
            .number(there_are)
            .put(b"\n")
            .len
    }
}

/// Writes the `wanted` bytes of the file, and returns their number. Line *n* of the file is the
/// number *n* in seven digits, as `seq -f %07.0f 0 2499` prints; a simulated web server has the
/// same file.
fn rows(wanted: core::ops::Range<u32>, out: &mut [u8; HELD]) -> usize {
    let mut len = 0;
    for (at, place) in wanted.zip(out.iter_mut()) {
        let mut rest = divide(at, ROW);
        let column = remainder(at, rest, ROW);
        let before_end = (ROW - 2).saturating_sub(column);
        *place = match column {
            7 => b'\n',
            _ => {
                for _ in 0..before_end {
                    rest = divide(rest, 10);
                }
                b'0'.wrapping_add(remainder(rest, divide(rest, 10), 10) as u8)
            }
        };
        len = usize::wrapping_add(len, 1);
    }
    len
}

fn remainder(n: u32, quotient: u32, by: u32) -> u32 {
    n.wrapping_sub(quotient.wrapping_mul(by))
}

/// Text in a buffer; text that does not fit is left out.
struct Text<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl<'a> Text<'a> {
    fn of(out: &'a mut [u8]) -> Text<'a> {
        Text { out, len: 0 }
    }

    fn put(mut self, bytes: &[u8]) -> Text<'a> {
        let room = self.out.get_mut(self.len..).unwrap_or_default();
        let len = redpoll_base::copy(bytes, room);
        self.len = self.len.saturating_add(len);
        self
    }

    fn number(self, number: u32) -> Text<'a> {
        let mut digits = [b'0'; 10];
        let (mut rest, mut used) = (number, 0);
        for digit in digits.iter_mut().rev() {
            if rest == 0 && used > 0 {
                break;
            }
            let quotient = divide(rest, 10);
            *digit = b'0'.wrapping_add(remainder(rest, quotient, 10) as u8);
            rest = quotient;
            used = usize::wrapping_add(used, 1);
        }
        let from = digits.len().saturating_sub(used);
        self.put(digits.get(from..).unwrap_or_default())
    }

    fn head(self, status: &str, body: u32) -> Text<'a> {
        self.put(b"HTTP/1.1 ")
            .put(status.as_bytes())
            .put(b"\r\nServer: redpoll\r\nContent-Type: text/plain\r\nContent-Length: ")
            .number(body)
            .put(b"\r\nConnection: close\r\n\r\n")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn the_file_counts_its_lines() {
        let mut out = [0; HELD];
        assert_eq!(rows(16..32, &mut out), 16);
        assert_eq!(&out[..16], b"0000002\n0000003\n");
        assert_eq!(rows(19_990..20_000, &mut out), 10);
        assert_eq!(&out[..10], b"8\n0002499\n");
    }

    #[test]
    fn requests_need_one_host_and_names_without_spaces() {
        for (request, is_wrong) in redpoll_testkit::requests() {
            for piece in [1, 7, request.len()] {
                let mut web = Web::default();
                request.chunks(piece).for_each(|bytes| web.read(bytes));
                let mut held = Held {
                    bytes: [0; HELD],
                    sent: 0,
                    end: 0,
                };
                let next = web.next(&mut held, &mut Status::default());
                assert!(matches!(next, Next::Send));
                let status: &[u8] = if is_wrong { b"400" } else { b"200" };
                let text = std::str::from_utf8(&request).unwrap();
                assert_eq!(&held.rest()[9..12], status, "{text}");
            }
        }
    }

    #[test]
    fn a_request_ends_with_an_empty_line() {
        let mut web = Web::default();
        for piece in [&b"GET /fi"[..], b"le HTTP/1.1\r", b"\nHost: x\r\n\r"] {
            web.read(piece);
            assert!(!web.is_whole());
        }
        web.read(b"\n");
        assert!(web.is_whole());
        assert_eq!(&web.line[..9], b"GET /file");
    }
}
