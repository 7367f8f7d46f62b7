//! Lines of a text file that may be compressed with gzip (RFC 1952), with limits.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read as _};

use flate2::bufread::MultiGzDecoder;

pub const MOST_BYTES: u64 = 512 << 20;
const LONGEST_LINE: u64 = 64 << 10;
/// First bytes of a file compressed with gzip (RFC 1952 §2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileError {
    pub line: usize,
    pub column: usize,
    pub problem: String,
}

impl FileError {
    pub(super) fn new(line: usize, column: usize, problem: impl Into<String>) -> FileError {
        FileError {
            line,
            column,
            problem: problem.into(),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.problem)
    }
}

impl std::error::Error for FileError {}

/// Returns the content of `reader`, decompressed if it begins with `GZIP`.
pub fn open<'a>(reader: impl io::Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut reader = BufReader::new(reader);
    let is_gzip = reader.fill_buf()?.starts_with(&GZIP);
    Ok(match is_gzip {
        true => Box::new(BufReader::new(MultiGzDecoder::new(reader))),
        false => Box::new(reader),
    })
}

pub(super) struct Lines<R> {
    reader: R,
    number: usize,
    left: u64,
    text: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Lines {
            reader,
            number: 0,
            left: MOST_BYTES,
            text: Vec::new(),
        }
    }

    /// Returns the number of the line last read, from 1.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Returns the next line without its end; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<&str>, FileError> {
        self.number += 1;
        self.text.clear();
        let number = self.number;
        let error = |column, problem: String| Err(FileError::new(number, column, problem));
        let limit = LONGEST_LINE.min(self.left) + 1;
        let mut reader = self.reader.by_ref().take(limit);
        let len = match reader.read_until(b'\n', &mut self.text) {
            Ok(0) => return Ok(None),
            Ok(len) => len as u64,
            Err(read) => {
                return error(
                    1,
                    format!("cannot be read ({read}); allowed: text, or text compressed with gzip"),
                );
            }
        };
        if len > self.left {
            let problem = format!(
                "got more than {0} MiB; allowed: at most {0} MiB",
                MOST_BYTES >> 20
            );
            return error(1, problem);
        }
        if len > LONGEST_LINE {
            let problem = format!(
                "got a line of more than {LONGEST_LINE} bytes; allowed: at most {LONGEST_LINE} \
                 bytes"
            );
            return error(1, problem);
        }
        self.left -= len;
        while matches!(self.text.last(), Some(b'\n' | b'\r')) {
            self.text.pop();
        }
        match std::str::from_utf8(&self.text) {
            Ok(text) => Ok(Some(text)),
            Err(wrong) => {
                let problem = "got bytes that are not text; allowed: UTF-8";
                error(wrong.valid_up_to() + 1, problem.to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn all(bytes: &[u8]) -> Result<Vec<String>, FileError> {
        let mut lines = Lines::new(open(bytes).unwrap());
        let mut found = Vec::new();
        while let Some(line) = lines.next()? {
            found.push(line.to_owned());
        }
        Ok(found)
    }

    #[test]
    fn plain_and_compressed_text_are_the_same() {
        let text = b"one\r\ntwo\n\nthree";
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(all(text).unwrap(), ["one", "two", "", "three"]);
        assert_eq!(all(&gzip).unwrap(), all(text).unwrap());
        let half = all(&gzip[..gzip.len() / 2]).unwrap_err().to_string();
        assert!(half.contains("cannot be read"), "{half}");
    }

    #[test]
    fn a_line_without_end_and_bytes_that_are_no_text_are_refused() {
        let long = all(&vec![b'x'; 1 << 20]).unwrap_err();
        assert_eq!((long.line, long.column), (1, 1));
        let wrong = all(b"fine\nab\xffc\n").unwrap_err();
        assert_eq!((wrong.line, wrong.column), (2, 3));
    }
}
