//! The header of a response: status line and fields (RFC 9112 §4, §5). The parser reads the fields
//! that state the offset and length of the body, and the entity tag.

use core::str;

use crate::Refused;

/// Maximum length of a stored entity tag in bytes, including quotes.
pub const ETAG_MAX: usize = 40;

/// A strong entity tag (RFC 9110 §8.8.3): the server's name for a version of the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ETag {
    bytes: [u8; ETAG_MAX],
    len: u8,
}

impl ETag {
    /// Returns the tag `text`, with its quotes. Returns `None` if the tag is malformed, longer than
    /// [`ETAG_MAX`], or weak, so that ranges must not be joined (RFC 9110 §13.1.5).
    pub fn new(text: &str) -> Option<ETag> {
        let inner = text.strip_prefix('"')?.strip_suffix('"')?;
        let is_tag = inner
            .bytes()
            .all(|byte| byte > b' ' && byte < 0x7f && byte != b'"');
        let mut bytes = [0; ETAG_MAX];
        bytes
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        let len = text.len() as u8;
        is_tag.then_some(ETag { bytes, len })
    }

    /// Returns the tag with its quotes.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.len.into()).unwrap_or_default();
        str::from_utf8(bytes).unwrap_or_default()
    }
}

/// A `Content-Range` of bytes (RFC 9110 §14.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    /// First and last byte of the part; `None` if the range was not satisfiable (`*`).
    pub(crate) part: Option<(u64, u64)>,
    /// Size of the whole image in bytes; `None` if the header does not state it.
    pub(crate) whole: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) length: Option<u64>,
    pub(crate) range: Option<Range>,
    pub(crate) etag: Option<ETag>,
    /// Whether the body has a transfer coding or a content coding.
    pub(crate) is_coded: bool,
}

impl Head {
    /// Parses a head without the empty line that ends it.
    ///
    /// # Errors
    /// [`Refused::Malformed`], for a head that HTTP does not allow.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Head, Refused> {
        let text = str::from_utf8(bytes).map_err(|_| Refused::Malformed)?;
        // RFC 9112 §2.2: a single line feed may end a line.
        let mut lines = text
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line));
        let status = status(lines.next().unwrap_or_default()).ok_or(Refused::Malformed)?;
        let mut head = Head {
            status,
            ..Head::default()
        };
        for line in lines.filter(|line| !line.is_empty()) {
            head.field(line).ok_or(Refused::Malformed)?;
        }
        Ok(head)
    }

    /// Parses a header field; `None` if the field is malformed.
    fn field(&mut self, line: &str) -> Option<()> {
        let (name, value) = line.split_once(':')?;
        let is_token =
            |byte: u8| byte.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&byte);
        // RFC 9112 §5.1, §5.2: no whitespace before the colon, and no line folding.
        if name.is_empty() || !name.bytes().all(is_token) {
            return None;
        }
        let value = value.trim_matches([' ', '\t']);
        if name.eq_ignore_ascii_case("content-length") {
            let length = number(value)?;
            // RFC 9112 §6.3: two Content-Length fields that differ are an error.
            if self.length.is_some_and(|other| other != length) {
                return None;
            }
            self.length = Some(length);
        } else if name.eq_ignore_ascii_case("content-range") {
            self.range = Some(range(value)?);
        } else if name.eq_ignore_ascii_case("etag") {
            self.etag = ETag::new(value);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            self.is_coded = true;
        } else if name.eq_ignore_ascii_case("content-encoding") {
            self.is_coded |= !value.eq_ignore_ascii_case("identity");
        }
        Some(())
    }
}

/// Parses a status line like `HTTP/1.1 206 Partial Content`; the reason is optional (RFC 9112 §4).
fn status(line: &str) -> Option<u16> {
    let mut words = line.splitn(3, ' ');
    let version = words.next()?.strip_prefix("HTTP/1.")?;
    let code = words.next()?;
    let is_version = version.len() == 1 && version.bytes().all(|byte| byte.is_ascii_digit());
    let code = number(code).filter(|_| code.len() == 3 && is_version)?;
    u16::try_from(code).ok().filter(|code| *code >= 100)
}

/// Parses digits; `None` for anything else, and for a number of more than 64 bits.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Parses `bytes 0-499/1234`, `bytes 0-499/*` or `bytes */1234` (RFC 9110 §14.4).
fn range(value: &str) -> Option<Range> {
    let (part, whole) = value.strip_prefix("bytes ")?.split_once('/')?;
    let whole = match whole {
        "*" => None,
        whole => Some(number(whole)?),
    };
    let part = match part {
        "*" => None,
        part => {
            let (first, last) = part.split_once('-')?;
            Some((number(first)?, number(last)?))
        }
    };
    let is_valid = part.is_none_or(|(first, last)| {
        first <= last && last < u64::MAX && whole.is_none_or(|whole| last < whole)
    });
    (is_valid && (part.is_some() || whole.is_some())).then_some(Range { part, whole })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;

    #[test]
    fn the_needed_header_fields_are_read() {
        let head = Head::parse(
            b"HTTP/1.1 206 Partial Content\r\nServer: a\r\ncontent-RANGE:  bytes 5-9/10 \r\n\
              ETag: \"x\"\r\nContent-Length: 5\r\nContent-Length: 5",
        );
        let expected = Head {
            status: 206,
            length: Some(5),
            range: Some(Range {
                part: Some((5, 9)),
                whole: Some(10),
            }),
            etag: ETag::new("\"x\""),
            is_coded: false,
        };
        assert_eq!(head, Ok(expected));
        assert_eq!(Head::parse(b"HTTP/1.0 404").unwrap().status, 404);
        assert!(
            Head::parse(b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked")
                .unwrap()
                .is_coded
        );
        assert!(
            Head::parse(b"HTTP/1.1 200 OK\nContent-Encoding: gzip")
                .unwrap()
                .is_coded
        );
        assert!(
            !Head::parse(b"HTTP/1.1 200 OK\nContent-Encoding: identity")
                .unwrap()
                .is_coded
        );
    }

    #[test]
    fn invalid_response_heads_are_refused() {
        for line in [
            "",
            "HTTP/2 200",
            "HTTP/1.x 200",
            "HTTP/1.1 20",
            "HTTP/1.1 2000",
            "HTTP/1.1 +20",
            "HTTP/1.1 099",
            "\u{16}\u{3}\u{1}",
        ] {
            assert_eq!(
                Head::parse(line.as_bytes()),
                Err(Refused::Malformed),
                "{line}"
            );
        }
        for field in [
            "no colon",
            ": no name",
            "Content-Length : 5",
            " folded: line",
            "Content-Length: -1",
            "Content-Length: 99999999999999999999",
            "Content-Length: 1\r\nContent-Length: 2",
            "Content-Range: bytes 5-4/10",
            "Content-Range: bytes 5-10/10",
            "Content-Range: bytes 0-18446744073709551615/*",
            "Content-Range: bytes */*",
            "Content-Range: lines 1-2/3",
        ] {
            let text = format!("HTTP/1.1 200 OK\r\n{field}");
            assert_eq!(
                Head::parse(text.as_bytes()),
                Err(Refused::Malformed),
                "{field}"
            );
        }
        assert_eq!(Head::parse(b"HTTP/1.1 200 \xff"), Err(Refused::Malformed));
    }

    #[test]
    fn weak_tags_and_long_ones_are_not_kept() {
        let long = format!("\"{}\"", "x".repeat(ETAG_MAX));
        for none in ["", "\"", "x", "W/\"x\"", "\"a\"b\"", "\"a b\"", &long] {
            assert_eq!(ETag::new(none), None, "{none}");
        }
        let longest = format!("\"{}\"", "x".repeat(ETAG_MAX - 2));
        assert_eq!(ETag::new(&longest).unwrap().as_str(), longest);
    }
}
