//! Requests to the server (RFC 9112 §2, §3).

/// Bytes of the longest request, headers included.
pub(super) const MAX_REQUEST: usize = 2_048;

/// What a client asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Parsed {
    Get { path: String, head_only: bool },
    Wrong(Status),
}

/// The status line of an answer, and a header that goes with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Status {
    pub code: u16,
    pub reason: &'static str,
    pub extra: &'static str,
}

impl Status {
    const fn new(code: u16, reason: &'static str) -> Status {
        Status {
            code,
            reason,
            extra: "",
        }
    }

    pub(super) const OK: Status = Status::new(200, "OK");
    pub(super) const BAD_REQUEST: Status = Status::new(400, "Bad Request");
    pub(super) const NOT_FOUND: Status = Status::new(404, "Not Found");
    pub(super) const NOT_ALLOWED: Status = Status {
        code: 405,
        reason: "Method Not Allowed",
        extra: "Allow: GET, HEAD\r\n",
    };
    pub(super) const TOO_LARGE: Status = Status::new(431, "Request Header Fields Too Large");
    pub(super) const VERSION: Status = Status::new(505, "HTTP Version Not Supported");
}

/// The request at the beginning of `bytes`; `None` while its end is not there.
pub(super) fn parse(bytes: &[u8]) -> Option<Parsed> {
    // RFC 9112 §2.2: a single line feed may end a line.
    let crlf = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let lf = bytes.windows(2).position(|two| two == b"\n\n");
    let end = crlf.into_iter().chain(lf).min();
    let Some(end) = end else {
        // What does not begin like a request needs no end to be refused.
        let begins = bytes.iter().take(8).take_while(|byte| **byte != b' ');
        let is_method = begins.clone().all(u8::is_ascii_uppercase);
        return (!is_method).then_some(Parsed::Wrong(Status::BAD_REQUEST));
    };
    let line = bytes[..end]
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Some(match std::str::from_utf8(line) {
        Ok(line) => request_line(line),
        Err(_) => Parsed::Wrong(Status::BAD_REQUEST),
    })
}

fn request_line(line: &str) -> Parsed {
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Parsed::Wrong(Status::BAD_REQUEST);
    };
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    if !is_method || !version.starts_with("HTTP/") {
        return Parsed::Wrong(Status::BAD_REQUEST);
    }
    if !version.starts_with("HTTP/1.") {
        return Parsed::Wrong(Status::VERSION);
    }
    if !matches!(method, "GET" | "HEAD") {
        return Parsed::Wrong(Status::NOT_ALLOWED);
    }
    // RFC 9112 §3.2.2: a server accepts the absolute form, too.
    let path = match target.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => target,
    };
    if !path.starts_with('/') {
        return Parsed::Wrong(Status::BAD_REQUEST);
    }
    let path = path.split('?').next().unwrap_or(path);
    Parsed::Get {
        path: path.to_owned(),
        head_only: method == "HEAD",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str) -> Option<Parsed> {
        Some(Parsed::Get {
            path: path.to_owned(),
            head_only: false,
        })
    }

    #[test]
    fn requests_are_read_once_they_are_whole() {
        assert_eq!(parse(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"), get("/"));
        assert_eq!(parse(b"GET /file?x=1 HTTP/1.0\n\n"), get("/file"));
        assert_eq!(
            parse(b"GET http://[fd00::1]/file HTTP/1.1\r\n\r\n"),
            get("/file")
        );
        assert_eq!(parse(b"GET http://node HTTP/1.1\r\n\r\n"), get("/"));
        let head = Some(Parsed::Get {
            path: "/".to_owned(),
            head_only: true,
        });
        assert_eq!(parse(b"HEAD / HTTP/1.1\r\n\r\n"), head);
        assert_eq!(parse(b"GET / HTTP/1.1\r\nHost: a\r\n"), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let wrong = |bytes: &[u8], status| assert_eq!(parse(bytes), Some(Parsed::Wrong(status)));
        wrong(b"POST / HTTP/1.1\r\n\r\n", Status::NOT_ALLOWED);
        wrong(b"GET / HTTP/2\r\n\r\n", Status::VERSION);
        wrong(b"GET /\r\n\r\n", Status::BAD_REQUEST);
        wrong(b"GET file HTTP/1.1\r\n\r\n", Status::BAD_REQUEST);
        wrong(b"GET  / HTTP/1.1\r\n\r\n", Status::BAD_REQUEST);
        wrong(b"GET /\xff HTTP/1.1\r\n\r\n", Status::BAD_REQUEST);
        wrong(b"\x16\x03\x01", Status::BAD_REQUEST);
        wrong(b"get / HTTP/1.1", Status::BAD_REQUEST);
    }
}
