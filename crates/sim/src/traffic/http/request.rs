//! Requests to the server (RFC 9112 §2, §3).

/// Maximum number of bytes of a still incomplete request, including headers.
pub(super) const MAX_REQUEST: usize = 2_048;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Parsed {
    Get(Get),
    Wrong(Status),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Get {
    pub path: String,
    pub head_only: bool,
    pub part: Option<Part>,
    /// `If-Range`: the part is sent if the file has this validator, otherwise the whole file.
    pub if_range: Option<String>,
    pub stays_open: bool,
    /// Whether the method is `GET` or `HEAD`.
    is_allowed: bool,
    /// Whether the request is HTTP/1.0, which may omit Host.
    is_old: bool,
    hosts: u8,
    content_length: Option<u64>,
    /// Whether `chunked` is the last transfer coding; `None` without `Transfer-Encoding`.
    is_chunked: Option<bool>,
}

/// A range of bytes (RFC 9110 §14.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// From the first to the last byte, both included; `None`: to the end.
    From(u64, Option<u64>),
    Last(u64),
}

impl Part {
    /// Returns the offsets of the range's beginning and end in a file of `whole` bytes; `None` if
    /// the range is empty.
    pub(super) fn of(self, whole: u64) -> Option<(u64, u64)> {
        let (first, end) = match self {
            Part::From(first, last) => {
                let last = last.unwrap_or(u64::MAX);
                (first, last.saturating_add(1).min(whole))
            }
            Part::Last(count) => (whole.saturating_sub(count), whole),
        };
        (first < end).then_some((first, end))
    }

    /// Parses the field `Range`. Anything other than a single range of bytes is ignored, as RFC
    /// 9110 §14.2 allows, and the whole file is sent.
    fn parse(value: &str) -> Option<Part> {
        let range = value.strip_prefix("bytes=")?;
        let (first, last) = range.split_once('-')?;
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().unwrap_or(u64::MAX))
        };
        match (first, last) {
            ("", count) => number(count).map(Part::Last),
            (first, "") => number(first).map(|first| Part::From(first, None)),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Part::From(first, Some(last)))
            }
        }
    }
}

/// Status line of an answer, and an additional header line.
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
    pub(super) const PARTIAL: Status = Status::new(206, "Partial Content");
    pub(super) const BAD_REQUEST: Status = Status::new(400, "Bad Request");
    pub(super) const NOT_FOUND: Status = Status::new(404, "Not Found");
    pub(super) const NOT_ALLOWED: Status = Status {
        code: 405,
        reason: "Method Not Allowed",
        extra: "Allow: GET, HEAD\r\n",
    };
    pub(super) const NOT_SATISFIABLE: Status = Status::new(416, "Range Not Satisfiable");
    pub(super) const TOO_LARGE: Status = Status::new(431, "Request Header Fields Too Large");
    pub(super) const VERSION: Status = Status::new(505, "HTTP Version Not Supported");
}

/// Parses the request at the beginning of `bytes`. Returns it and its length; `None`: incomplete.
pub(super) fn parse(bytes: &[u8]) -> Option<(Parsed, usize)> {
    // RFC 9112 §2.2: a line feed alone may end a line; empty lines before a request are ignored.
    let blank = bytes.iter().take_while(|byte| b"\r\n".contains(byte));
    let start = blank.count();
    let bytes = &bytes[start..];
    let find = |end: &[u8]| {
        let at = bytes.windows(end.len()).position(|window| window == end)?;
        Some((at, start + at + end.len()))
    };
    let Some((end, taken)) = find(b"\r\n\r\n").into_iter().chain(find(b"\n\n")).min() else {
        // Bytes that do not begin like a request are refused before their end arrives.
        let begins = bytes.iter().take(8).take_while(|byte| **byte != b' ');
        let is_method = begins.clone().all(u8::is_ascii_uppercase);
        return (!is_method).then_some((Parsed::Wrong(Status::BAD_REQUEST), 0));
    };
    let mut lines = bytes[..end].split(|byte| *byte == b'\n');
    let line = lines.next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut parsed = match std::str::from_utf8(line) {
        Ok(line) => request_line(line),
        Err(_) => Parsed::Wrong(Status::BAD_REQUEST),
    };
    if let Parsed::Get(get) = &mut parsed {
        let is_good = lines.all(|line| get.field(line));
        let hosts = usize::from(get.hosts);
        // RFC 9112 §3.2: exactly one Host, which only HTTP/1.0 may omit, regardless of the method.
        // RFC 9112 §6.3: a request whose last transfer coding is not `chunked` has an unknown
        // length.
        let has_length = get.is_chunked != Some(false);
        if !is_good || !has_length || hosts > 1 || hosts == 0 && !get.is_old {
            return Some((Parsed::Wrong(Status::BAD_REQUEST), taken));
        }
        if !get.is_allowed {
            return Some((Parsed::Wrong(Status::NOT_ALLOWED), taken));
        }
        if get.head_only {
            // RFC 9110 §14.2: a range applies only to GET.
            get.part = None;
        }
    }
    Some((parsed, taken))
}

impl Get {
    /// Parses a line of the header. Returns whether it is valid: a name that is a token directly
    /// before a colon (RFC 9112 §5.1), and not a continuation of another line (§5.2). The value has
    /// no CR or NUL (RFC 9110 §5.5), and a length is one number (RFC 9112 §6.3).
    fn field(&mut self, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.contains(&b'\r') || line.contains(&0) {
            return false;
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return false;
        };
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
            return false;
        }
        let name = String::from_utf8_lossy(name);
        let value = String::from_utf8_lossy(value);
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "connection" => {
                let options = value.split(',').map(str::trim);
                for option in options {
                    match option.to_ascii_lowercase().as_str() {
                        "close" => self.stays_open = false,
                        "keep-alive" => self.stays_open = true,
                        _ => {}
                    }
                }
            }
            "range" => self.part = Part::parse(value),
            "if-range" => self.if_range = Some(value.to_owned()),
            // The server does not read requests that follow a request with content.
            "content-length" => {
                let is_number = !value.is_empty() && value.bytes().all(|it| it.is_ascii_digit());
                let Some(length) = value.parse().ok().filter(|_| is_number) else {
                    return false;
                };
                self.stays_open &= length == 0;
                return *self.content_length.get_or_insert(length) == length;
            }
            "transfer-encoding" => {
                let last = value.rsplit(',').next().unwrap_or(value).trim();
                self.is_chunked = Some(last.eq_ignore_ascii_case("chunked"));
                self.stays_open = false;
            }
            "host" => {
                self.hosts = self.hosts.saturating_add(1);
                return is_host(value);
            }
            _ => {}
        }
        true
    }
}

/// Returns whether a field's name may contain `byte` (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns whether `value` may be a host with a port, or empty (RFC 9112 §3.2, RFC 3986 §3.2.2).
fn is_host(value: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(&byte);
    value.bytes().all(allowed)
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
    // RFC 9112 §3.2.2: a server also accepts the absolute form.
    let path = match target.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => target,
    };
    let is_allowed = matches!(method, "GET" | "HEAD");
    if is_allowed && !path.starts_with('/') {
        return Parsed::Wrong(Status::BAD_REQUEST);
    }
    let path = path.split('?').next().unwrap_or(path);
    Parsed::Get(Get {
        path: path.to_owned(),
        head_only: method == "HEAD",
        part: None,
        if_range: None,
        // RFC 9112 §9.3: connections of HTTP/1.1 persist by default.
        stays_open: version != "HTTP/1.0",
        is_allowed,
        is_old: version == "HTTP/1.0",
        hosts: 0,
        content_length: None,
        is_chunked: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn got(bytes: &[u8]) -> Get {
        match parse(bytes) {
            Some((Parsed::Get(get), len)) if len == bytes.len() => get,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_are_read_once_they_are_whole() {
        assert_eq!(got(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").path, "/");
        assert_eq!(got(b"\r\nGET /file?x=1 HTTP/1.0\n\n").path, "/file");
        let absolute = b"GET http://[fd00::1]/file HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(got(absolute).path, "/file");
        assert_eq!(
            got(b"GET http://node HTTP/1.1\r\nHost: a\r\n\r\n").path,
            "/"
        );
        assert!(got(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").head_only);
        assert_eq!(parse(b"GET / HTTP/1.1\r\nHost: a\r\n"), None);
        assert_eq!(parse(b""), None);
        let two = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(parse(two).map(|(_, len)| len), Some(two.len() / 2));
    }

    #[test]
    fn requests_need_one_host_and_names_without_spaces() {
        for (request, is_wrong) in redpoll_testkit::requests() {
            let parsed = parse(&request).map(|(parsed, _)| parsed);
            let is_refused = parsed == Some(Parsed::Wrong(Status::BAD_REQUEST));
            let text = String::from_utf8_lossy(&request);
            assert_eq!(is_refused, is_wrong, "{text}: {parsed:?}");
        }
    }

    /// RFC 9112 §3.2: "any" request message without one Host is refused with 400.
    #[test]
    fn requests_of_other_methods_need_one_host_too() {
        for (request, is_wrong) in redpoll_testkit::requests() {
            for start in ["POST /", "OPTIONS *", "CONNECT a:80"] {
                let fields = &request[b"GET /".len()..];
                let parsed = parse(&[start.as_bytes(), fields].concat()).map(|(parsed, _)| parsed);
                let status = match is_wrong {
                    true => Status::BAD_REQUEST,
                    false => Status::NOT_ALLOWED,
                };
                let text = String::from_utf8_lossy(fields);
                assert_eq!(parsed, Some(Parsed::Wrong(status)), "{start}{text}");
            }
        }
    }

    /// RFC 9110 §5.5, RFC 9112 §6.3: values with CR or NUL, a length that is not one number, and a
    /// last transfer coding other than `chunked` are refused, whatever the method is.
    #[test]
    fn requests_with_an_unclear_length_or_value_are_refused() {
        for (fields, is_wrong) in [
            ("Content-Length: 0", false),
            ("Content-Length: 5", false),
            ("Content-Length: 5\r\nContent-Length: 5", false),
            ("Content-Length: 5\r\nContent-Length: 6", true),
            ("Content-Length: 0\r\nContent-Length: 5", true),
            ("Content-Length: 5, 5", true),
            ("Content-Length: -1", true),
            ("Content-Length: +1", true),
            ("Content-Length: 0x5", true),
            ("Content-Length:", true),
            ("Content-Length: 99999999999999999999", true),
            ("Transfer-Encoding: chunked", false),
            ("Transfer-Encoding: gzip, Chunked", false),
            (
                "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
                false,
            ),
            ("Transfer-Encoding: chunked, gzip", true),
            ("Transfer-Encoding: identity", true),
            ("Transfer-Encoding:", true),
            ("Content-Length: 5\r\nTransfer-Encoding: chunked", false),
            ("X: a\0b", true),
            ("X: a\rb", true),
            ("X:\ta b", false),
        ] {
            for method in ["GET", "HEAD", "POST"] {
                for version in ["1.0", "1.1"] {
                    let request =
                        format!("{method} / HTTP/{version}\r\nHost: a\r\n{fields}\r\n\r\n");
                    let parsed = parse(request.as_bytes()).map(|(parsed, _)| parsed);
                    let is_refused = parsed == Some(Parsed::Wrong(Status::BAD_REQUEST));
                    assert_eq!(is_refused, is_wrong, "{request:?}: {parsed:?}");
                    if let Some(Parsed::Get(get)) = parsed {
                        let has_content = fields.contains("5") || fields.contains("unked");
                        let stays = version == "1.1" && !has_content;
                        assert_eq!(get.stays_open, stays, "{request:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_connection_stays_open_unless_it_may_not() {
        let stays =
            |head: &str| got(format!("GET / HTTP/{head}\r\nHost: a\r\n\r\n").as_bytes()).stays_open;
        assert!(stays("1.1"));
        assert!(!stays("1.0"));
        assert!(stays("1.0\r\nConnection: Keep-Alive"));
        assert!(!stays("1.1\r\nconnection: TE, Close"));
        assert!(!stays("1.1\r\nContent-Length: 5"));
        assert!(!stays("1.1\r\nTransfer-Encoding: chunked"));
    }

    #[test]
    fn parts_of_a_file() {
        let part = |range: &str| {
            let request = format!("GET /file HTTP/1.1\r\nHost: a\r\nRange: {range}\r\n\r\n");
            got(request.as_bytes()).part.map(|part| part.of(1_000))
        };
        assert_eq!(part("bytes=0-0"), Some(Some((0, 1))));
        assert_eq!(part("bytes=10-"), Some(Some((10, 1_000))));
        assert_eq!(part("bytes=-10"), Some(Some((990, 1_000))));
        assert_eq!(part("bytes=990-5000"), Some(Some((990, 1_000))));
        assert_eq!(
            part("bytes=-99999999999999999999999"),
            Some(Some((0, 1_000)))
        );
        for beyond in ["bytes=1000-", "bytes=-0", "bytes=99999999999999999999-"] {
            assert_eq!(part(beyond), Some(None), "{beyond}");
        }
        for none in [
            "bytes=0-1,3-4",
            "bytes=5-4",
            "bytes=",
            "bytes=-",
            "lines=1-2",
            "bytes=+1-2",
        ] {
            assert_eq!(part(none), None, "{none}");
        }
        let head = got(b"HEAD /file HTTP/1.1\r\nHost: a\r\nRange: bytes=1-2\r\n\r\n");
        assert_eq!(head.part, None);
    }

    #[test]
    fn malformed_http_requests_are_refused() {
        let wrong = |bytes: &[u8], status| {
            let parsed = parse(bytes).map(|(parsed, _)| parsed);
            assert_eq!(parsed, Some(Parsed::Wrong(status)));
        };
        wrong(b"POST / HTTP/1.1\r\n\r\n", Status::BAD_REQUEST);
        wrong(b"POST / HTTP/1.1\r\nHost: a\r\n\r\n", Status::NOT_ALLOWED);
        wrong(b"GET / HTTP/2\r\n\r\n", Status::VERSION);
        wrong(b"GET /\r\n\r\n", Status::BAD_REQUEST);
        wrong(b"GET file HTTP/1.1\r\nHost: a\r\n\r\n", Status::BAD_REQUEST);
        wrong(b"GET  / HTTP/1.1\r\n\r\n", Status::BAD_REQUEST);
        wrong(
            b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
            Status::BAD_REQUEST,
        );
        wrong(b"\x16\x03\x01", Status::BAD_REQUEST);
        wrong(b"get / HTTP/1.1", Status::BAD_REQUEST);
    }
}
