//! Recoverable fragments and their acknowledgments (RFC 8931 §5).
//!
//! Sizes and offsets count bytes of the *compressed* datagram, unlike those of
//! RFC 4944's [fragments](super::fragment).

#[cfg(test)]
mod tests;

use crate::cursor::Reader;
use crate::{Cursor, Error, NoRoom};

const FRAGMENT: u8 = 0b1110_1000;
const ACK: u8 = 0b1110_1010;
/// The congestion bit of both headers.
const ECN: u8 = 1;
const ACK_REQUEST: u16 = 1 << 15;
const SEQUENCE_SHIFT: u32 = 10;

/// The largest fragment that a header can express, in bytes: 10 bits of size.
pub const MAX_SIZE: u16 = 0x3ff;
/// The last sequence number that a fragment can have: 5 bits.
pub const MAX_SEQUENCE: u8 = 31;

/// The fragments that have arrived (RFC 8931 §5.2, figure 2): the leftmost bit is fragment 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bitmap(pub u32);

impl Bitmap {
    /// The datagram was aborted.
    pub const NULL: Bitmap = Bitmap(0);
    /// All fragments of the datagram have arrived, whatever their number.
    pub const FULL: Bitmap = Bitmap(u32::MAX);

    /// Returns the set that contains only the fragment with this sequence number; empty beyond
    /// [`MAX_SEQUENCE`].
    pub const fn of(sequence: u8) -> Bitmap {
        match (1u32 << MAX_SEQUENCE).checked_shr(sequence as u32) {
            Some(bit) => Bitmap(bit),
            None => Bitmap::NULL,
        }
    }

    /// Returns the set of the first `count` sequence numbers.
    pub const fn first(count: u8) -> Bitmap {
        match u32::MAX.checked_shr(count as u32) {
            Some(others) => Bitmap(!others),
            None => Bitmap::FULL,
        }
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn with(self, other: Bitmap) -> Bitmap {
        Bitmap(self.0 | other.0)
    }

    /// Returns the difference of the sets.
    #[must_use]
    pub const fn without(self, other: Bitmap) -> Bitmap {
        Bitmap(self.0 & !other.0)
    }

    /// Returns whether the set has this sequence number.
    pub const fn has(self, sequence: u8) -> bool {
        self.0 & Bitmap::of(sequence).0 != 0
    }

    /// Returns whether the set is empty.
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Returns the lowest sequence number of the set.
    pub const fn lowest(self) -> Option<u8> {
        match self.is_null() {
            true => None,
            false => Some(self.0.leading_zeros() as u8),
        }
    }
}

/// The header of a recoverable fragment, RFRAG (RFC 8931 §5.1, figure 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Whether the fragment met congestion on its path.
    pub ecn: bool,
    /// The sender's number for the datagram.
    pub tag: u8,
    /// Whether the sender requests an acknowledgment.
    pub ack_request: bool,
    /// The fragment's number in the acknowledgment, 0 to [`MAX_SEQUENCE`]; 0 is
    /// the datagram's beginning.
    pub sequence: u8,
    /// Bytes of the fragment, 0 to [`MAX_SIZE`].
    pub size: u16,
    /// Size of the datagram in a first fragment, offset in another fragment; 0 means that the
    /// datagram is aborted.
    pub offset: u16,
}

impl Fragment {
    /// Bytes of the header.
    pub const LEN: usize = 6;

    /// Returns a fragment that aborts a datagram (RFC 8931 §6.3).
    pub const fn abort(tag: u8) -> Fragment {
        Fragment {
            ecn: false,
            tag,
            ack_request: false,
            sequence: 0,
            size: 0,
            offset: 0,
        }
    }

    /// Returns whether the datagram is aborted.
    pub const fn is_abort(&self) -> bool {
        self.offset == 0
    }

    /// Parses the header; returns it and the bytes of the fragment.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::Reserved`] for another dispatch; [`Error::Length`] if the
    /// header states another number of bytes, or zero without an abort.
    pub fn parse(bytes: &[u8]) -> Result<(Fragment, &[u8]), Error> {
        let mut input = Reader::new(bytes);
        let dispatch = input.u8()?;
        if dispatch & !ECN != FRAGMENT {
            return Err(Error::Reserved);
        }
        let tag = input.u8()?;
        let word = input.u16()?;
        let header = Fragment {
            ecn: dispatch & ECN != 0,
            tag,
            ack_request: word & ACK_REQUEST != 0,
            sequence: (word >> SEQUENCE_SHIFT) as u8 & MAX_SEQUENCE,
            size: word & MAX_SIZE,
            offset: input.u16()?,
        };
        let body = input.rest();
        let is_empty = body.is_empty() && !header.is_abort();
        if body.len() != usize::from(header.size) || is_empty {
            return Err(Error::Length);
        }
        Ok((header, body))
    }

    /// Writes the header. Values too large for a field are truncated.
    ///
    /// # Errors
    /// [`NoRoom`] when `out` is too short.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let sequence = u16::from(self.sequence & MAX_SEQUENCE) << SEQUENCE_SHIFT;
        let request = if self.ack_request { ACK_REQUEST } else { 0 };
        let [w0, w1] = (request | sequence | self.size & MAX_SIZE).to_be_bytes();
        let [o0, o1] = self.offset.to_be_bytes();
        out.put(&[FRAGMENT | u8::from(self.ecn), self.tag, w0, w1, o0, o1])
    }
}

/// An acknowledgment, RFRAG-ACK (RFC 8931 §5.2, figure 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// Whether fragments met congestion.
    pub ecn: bool,
    /// The number that the recipient of the acknowledgment gave the datagram.
    pub tag: u8,
    /// The fragments that have arrived.
    pub bitmap: Bitmap,
}

impl Ack {
    /// Length of an acknowledgment in bytes.
    pub const LEN: usize = 6;

    /// Parses the acknowledgment at the start of `bytes`, and ignores what follows.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::Reserved`] for another dispatch.
    pub fn parse(bytes: &[u8]) -> Result<Ack, Error> {
        let mut input = Reader::new(bytes);
        let dispatch = input.u8()?;
        if dispatch & !ECN != ACK {
            return Err(Error::Reserved);
        }
        Ok(Ack {
            ecn: dispatch & ECN != 0,
            tag: input.u8()?,
            bitmap: Bitmap(input.u32()?),
        })
    }

    /// Returns the acknowledgment as bytes.
    pub const fn to_bytes(&self) -> [u8; Ack::LEN] {
        let [a, b, c, d] = self.bitmap.0.to_be_bytes();
        [ACK | self.ecn as u8, self.tag, a, b, c, d]
    }
}
