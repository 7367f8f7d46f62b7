//! Fragment headers (RFC 4944 §5.3).

#[cfg(test)]
mod tests;

use crate::cursor::Reader;
use crate::{Cursor, Error, NoRoom};

const FIRST: u16 = 0b11000 << 11;
const NEXT: u16 = 0b11100 << 11;

/// The largest datagram that can be fragmented, in bytes: 11 bits of size.
pub const MAX_DATAGRAM: u16 = 0x7ff;
/// The unit of fragment offsets in bytes of the uncompressed datagram.
pub const OFFSET_UNIT: u16 = 8;

/// The header of a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// FRAG1: the beginning of the datagram follows, compressed or not.
    First {
        /// Length of the whole uncompressed datagram in bytes: 1 to [`MAX_DATAGRAM`].
        size: u16,
        /// The sender's number for the datagram.
        tag: u16,
    },
    /// FRAGN: a later part follows.
    Next {
        /// Length of the whole uncompressed datagram in bytes: 1 to [`MAX_DATAGRAM`].
        size: u16,
        /// The sender's number for the datagram.
        tag: u16,
        /// Offset of the part in the uncompressed datagram, in bytes; a multiple of [`OFFSET_UNIT`]
        /// below `size`.
        offset: u16,
    },
}

impl Header {
    /// Length of a FRAG1 header in bytes.
    pub const FIRST_LEN: usize = 4;
    /// Length of a FRAGN header in bytes.
    pub const NEXT_LEN: usize = 5;

    /// Parses the header; returns the header and the bytes after it.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::Reserved`] if the dispatch is not that of a fragment;
    /// [`Error::Length`] for a size of zero or an offset outside the datagram.
    pub fn parse(bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
        let mut input = Reader::new(bytes);
        let word = input.u16()?;
        let size = word & MAX_DATAGRAM;
        let tag = input.u16()?;
        let header = match word & !MAX_DATAGRAM {
            FIRST => Header::First { size, tag },
            NEXT => Header::Next {
                size,
                tag,
                offset: u16::from(input.u8()?).saturating_mul(OFFSET_UNIT),
            },
            _ => return Err(Error::Reserved),
        };
        if header.offset() >= size {
            return Err(Error::Length);
        }
        Ok((header, input.rest()))
    }

    /// Writes the header. Bits of the size beyond 11 are ignored, and an offset is rounded down to
    /// a multiple of 8.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let [t0, t1] = self.tag().to_be_bytes();
        let size = self.size() & MAX_DATAGRAM;
        match self {
            Header::First { .. } => {
                let [s0, s1] = (FIRST | size).to_be_bytes();
                out.put(&[s0, s1, t0, t1])
            }
            Header::Next { offset, .. } => {
                let [s0, s1] = (NEXT | size).to_be_bytes();
                out.put(&[s0, s1, t0, t1, (offset / OFFSET_UNIT) as u8])
            }
        }
    }

    /// Returns the number of bytes that [`Header::emit`] writes.
    pub const fn len(&self) -> usize {
        match self {
            Header::First { .. } => Self::FIRST_LEN,
            Header::Next { .. } => Self::NEXT_LEN,
        }
    }

    /// Returns `false`: a header is never empty.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Returns the length of the whole uncompressed datagram in bytes.
    pub const fn size(&self) -> u16 {
        match self {
            Header::First { size, .. } | Header::Next { size, .. } => *size,
        }
    }

    /// Returns the sender's number for the datagram.
    pub const fn tag(&self) -> u16 {
        match self {
            Header::First { tag, .. } | Header::Next { tag, .. } => *tag,
        }
    }

    /// Returns the offset of the fragment in the uncompressed datagram, in bytes.
    pub const fn offset(&self) -> u16 {
        match self {
            Header::First { .. } => 0,
            Header::Next { offset, .. } => *offset,
        }
    }
}
