//! The format of frozen connections, and its reader and writer.
//!
//! | bytes | content |
//! | --- | --- |
//! | 1 | version of this format |
//! | 4 | CRC-32 of all following bytes |
//! | 91 | state of the connection: see `Connection::freeze` |
//! | 2, 2 | number of bytes to be sent or acknowledged, and to be read |
//! | … | these bytes |

use core::fmt;

use redpoll_base::copy;
use redpoll_base::crc::crc32;

/// Format version. Versions differ in several bits, because the CRC does not cover this byte.
const VERSION: u8 = 0x71;
/// Replaces the version after the connection was restored.
const SPENT: u8 = 0;
/// Length of version and checksum, in bytes.
const PROLOGUE: usize = 5;

/// Reason why a connection cannot be frozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FreezeError {
    /// The handshake is not complete, the connection has ended, or it is orphaned.
    State,
    /// The output buffer is shorter than [`frozen_len`](crate::Connection::frozen_len).
    NoRoom,
}

/// Reason why a frozen connection cannot be restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ThawError {
    /// Bytes are damaged or missing.
    Damaged,
    /// Another version of this library wrote the bytes.
    Version,
    /// The connection was already restored from these bytes.
    Spent,
    /// The peer may have given up: the user timeout for unacknowledged data has passed.
    TooOld,
    /// The buffers are too small for the frozen data or for the window announced to the peer.
    NoRoom,
}

impl fmt::Display for FreezeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FreezeError::State => "a connection in this state cannot be frozen",
            FreezeError::NoRoom => "the buffer for the frozen connection is too small",
        })
    }
}

impl fmt::Display for ThawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ThawError::Damaged => "the frozen connection is damaged",
            ThawError::Version => "another version of Redpoll froze the connection",
            ThawError::Spent => "the frozen connection has already been restored",
            ThawError::TooOld => {
                "the user timeout for unacknowledged data has passed, so the peer may have given \
                 up the frozen connection"
            }
            ThawError::NoRoom => "the buffers are too small for the frozen connection",
        })
    }
}

impl core::error::Error for FreezeError {}
impl core::error::Error for ThawError {}

pub(crate) struct Writer<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(out: &'a mut [u8]) -> Self {
        Writer { out, len: PROLOGUE }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let rest = self.out.get_mut(self.len..).unwrap_or(&mut []);
        copy(bytes, rest);
        self.len = self.len.saturating_add(bytes.len());
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }

    /// Writes version and checksum, and returns the length if everything fitted.
    pub(crate) fn finish(self) -> Result<usize, FreezeError> {
        let all = self.out.get_mut(..self.len).ok_or(FreezeError::NoRoom)?;
        let (head, body) = all
            .split_first_chunk_mut::<PROLOGUE>()
            .ok_or(FreezeError::NoRoom)?;
        let [a, b, c, d] = crc(body).to_be_bytes();
        *head = [VERSION, a, b, c, d];
        Ok(self.len)
    }
}

pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, ThawError> {
        let (&[version, a, b, c, d], body) = bytes
            .split_first_chunk::<PROLOGUE>()
            .ok_or(ThawError::Damaged)?;
        match version {
            VERSION => {}
            SPENT => return Err(ThawError::Spent),
            _ => return Err(ThawError::Version),
        }
        if crc(body) != u32::from_be_bytes([a, b, c, d]) {
            return Err(ThawError::Damaged);
        }
        Ok(Reader(body))
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], ThawError> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(ThawError::Damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ThawError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(ThawError::Damaged)?;
        self.0 = rest;
        Ok(*bytes)
    }

    pub(crate) fn address(&mut self) -> Result<[u8; 16], ThawError> {
        self.array()
    }

    pub(crate) fn u8(&mut self) -> Result<u8, ThawError> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, ThawError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ThawError> {
        self.array().map(u32::from_be_bytes)
    }
}

/// Marks the bytes as restored, so that they cannot be restored again.
pub(crate) fn spend(bytes: &mut [u8]) {
    if let Some(version) = bytes.first_mut() {
        *version = SPENT;
    }
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| crc32(sum, *byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_ethernet() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
    }
}
