//! An HTTP request for an image or its missing part, and the response (RFC 9110 §14, §15.3.7).

use core::fmt::{self, Write};

use crate::head::{ETag, Head};

/// Maximum length of a response header, in bytes.
pub const HEAD_MAX: usize = 512;

/// The stored part of an image. The caller keeps this state across reboots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Have {
    /// Bytes written, counted from the start of the image.
    pub bytes: u64,
    /// Size of the image in bytes; `None` before the first response.
    pub size: Option<u64>,
    /// Version of the image; without a tag, a transfer cannot resume.
    pub etag: Option<ETag>,
}

impl Have {
    /// Returns whether the complete image is written.
    pub fn is_whole(&self) -> bool {
        self.size == Some(self.bytes)
    }

    /// Returns the tag of the image, if a transfer can resume.
    fn resumes(&self) -> Option<&ETag> {
        self.etag.as_ref().filter(|_| self.bytes > 0)
    }
}

/// Reason why a response is rejected. The caller must close the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The head is longer than [`HEAD_MAX`].
    HeadTooLong,
    /// The head is not a valid HTTP response head.
    Malformed,
    /// The status code of the final response is not 200, 206 or 416. The image may be available
    /// later.
    Status(u16),
    /// The response does not state the length of its body.
    NoLength,
    /// The body has a content coding or a transfer coding, which the request did not allow.
    Coded,
    /// The response has a different range than requested, or a part of a different version, or the
    /// server has no bytes after the stored part. The stored bytes are then useless.
    OtherPart,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::HeadTooLong => write!(
                f,
                "the header of the response is longer than {HEAD_MAX} bytes"
            ),
            Refused::Malformed => f.write_str("the answer is not HTTP/1.1"),
            Refused::Status(status) => write!(f, "the server answered with status {status}"),
            Refused::NoLength => f.write_str("the answer does not state its length"),
            Refused::Coded => f.write_str(
                "the answer has a content or transfer coding, which is \
                not supported",
            ),
            Refused::OtherPart => f.write_str("the answer is not the requested part of this image"),
        }
    }
}

impl core::error::Error for Refused {}

/// The buffer is too short for the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong;

/// A request and its response on one connection; see the [crate](crate).
#[derive(Clone, Debug)]
pub struct Fetch {
    have: Have,
    head: [u8; HEAD_MAX],
    filled: usize,
    offset: u64,
    /// Position in the image at which the body ends.
    end: u64,
    /// Bytes of the body that have not arrived; `None` before the head is complete.
    left: Option<u64>,
}

impl Fetch {
    /// Makes a request for the part of the image that is not in `have`.
    pub fn new(have: Have) -> Fetch {
        Fetch {
            have,
            head: [0; HEAD_MAX],
            filled: 0,
            offset: 0,
            end: 0,
            left: None,
        }
    }

    /// Writes the request to `out` and returns its length. The request asks only for the missing
    /// part, on condition that the image is unchanged; otherwise the server sends the whole image
    /// (RFC 9110 §13.1.5).
    ///
    /// # Errors
    /// [`TooLong`], if the request does not fit in `out`.
    pub fn request(&self, host: &str, path: &str, out: &mut [u8]) -> Result<usize, TooLong> {
        let mut text = Text { out, len: 0 };
        let range = |text: &mut Text<'_>| match self.have.resumes() {
            Some(etag) => write!(
                text,
                "Range: bytes={}-\r\nIf-Range: {}\r\n",
                self.have.bytes,
                etag.as_str()
            ),
            None => Ok(()),
        };
        write!(text, "GET {path} HTTP/1.1\r\nHost: {host}\r\n")
            .and_then(|()| range(&mut text))
            .and_then(|()| text.write_str("Connection: close\r\n\r\n"))
            .map_err(|_| TooLong)?;
        Ok(text.len)
    }

    /// Parses bytes of the response until its head is complete. Then returns how many of `bytes`
    /// belong to the head; pass the rest to [`body`](Self::body).
    ///
    /// # Errors
    /// [`Refused`], if the response cannot be used.
    pub fn head(&mut self, bytes: &[u8]) -> Result<Option<usize>, Refused> {
        let mut taken = 0;
        while self.left.is_none() {
            let Some((byte, place)) = bytes.get(taken).zip(self.head.get_mut(self.filled)) else {
                return match bytes.len() > taken {
                    true => Err(Refused::HeadTooLong),
                    false => Ok(None),
                };
            };
            *place = *byte;
            self.filled += 1;
            taken += 1;
            let head = self.head.get(..self.filled).unwrap_or_default();
            let end = head
                .strip_suffix(b"\r\n\r\n")
                .or_else(|| head.strip_suffix(b"\n\n"));
            if let Some(head) = end {
                let head = Head::parse(head)?;
                self.filled = 0;
                // RFC 9110 §15.2: interim responses precede the final response.
                if head.status >= 200 {
                    self.begin(&head)?;
                }
            }
        }
        Ok(Some(taken))
    }

    fn begin(&mut self, head: &Head) -> Result<(), Refused> {
        if head.is_coded && matches!(head.status, 200 | 206) {
            return Err(Refused::Coded);
        }
        match head.status {
            // The whole image: a first request, another version, or a server without ranges.
            200 => {
                let length = head.length.ok_or(Refused::NoLength)?;
                self.have = Have {
                    bytes: 0,
                    size: Some(length),
                    etag: head.etag,
                };
                (self.offset, self.end, self.left) = (0, length, Some(length));
                Ok(())
            }
            206 => self.begin_part(head),
            // RFC 9110 §15.5.17: the server has no bytes after the stored part. Because the stored
            // part was incomplete, the server must have another image.
            416 => Err(Refused::OtherPart),
            status => Err(Refused::Status(status)),
        }
    }

    /// Appends a part to the stored bytes of the same strong validator (RFC 9110 §15.3.7.3).
    fn begin_part(&mut self, head: &Head) -> Result<(), Refused> {
        let part = head.range.and_then(|range| range.part.zip(range.whole));
        let ((first, last), whole) = part.ok_or(Refused::OtherPart)?;
        let length = last - first + 1;
        let is_ours = self.have.resumes().is_some()
            && first == self.have.bytes
            && head.etag == self.have.etag
            && self.have.size.is_none_or(|size| size == whole)
            && head.length.is_none_or(|other| other == length);
        if !is_ours {
            return Err(Refused::OtherPart);
        }
        self.have.size = Some(whole);
        (self.offset, self.end, self.left) = (first, last + 1, Some(length));
        Ok(())
    }

    /// Returns the body's offset in the image: the end of the stored part, or 0 if the server sends
    /// the whole image.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the part of `bytes` that belongs to the body, without bytes after its end.
    pub fn body<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let left = self.left.unwrap_or(0);
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        self.left = self.left.map(|left| left - len as u64);
        bytes.get(..len).unwrap_or_default()
    }

    /// Returns whether the body and the image are complete. If the server sent a shorter part than
    /// requested, the caller must request the rest.
    pub fn is_whole(&self) -> bool {
        self.left == Some(0) && self.have.size == Some(self.end)
    }

    /// Returns the state to store when `bytes` bytes of the image are written.
    pub fn have(&self, bytes: u64) -> Have {
        Have { bytes, ..self.have }
    }
}

struct Text<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len.saturating_add(text.len());
        let room = self.out.get_mut(self.len..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
