//! Encoder of the TCP header (RFC 9293 §3.1).

use core::fmt;

use redpoll_base::checksum::Checksum;

use redpoll_wire::tcp::HeaderView;

use crate::{Endpoint, Flags, Options, PROTOCOL, SeqNum};

/// Length of the longest header, in words of 32 bits.
const WORDS: usize = HeaderView::MAX_LEN / 4;

/// Contents of a header, except for ports and checksum.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
// This order, small fields first, makes the code smaller: see `Connection`.
#[repr(C)]
pub struct Fields {
    /// Control bits.
    pub flags: Flags,
    /// Receive window in bytes.
    pub window: u16,
    /// Sequence number of the first byte, or of the SYN.
    pub seq: SeqNum,
    /// Next sequence number expected; 0 on the wire without the ACK flag.
    pub ack: SeqNum,
    /// Options.
    pub options: Options,
}

/// An encoded header, including the checksum. It is aligned to words, so a processor that stores
/// only aligned words does not assemble it byte by byte.
#[derive(Clone, Copy)]
#[repr(align(4))]
pub struct Header {
    words: [[u8; 4]; WORDS],
    len: u8,
}

impl Header {
    pub(crate) const EMPTY: Header = Header {
        words: [[0; 4]; WORDS],
        len: 0,
    };

    /// Encodes a header from `src` to `dst` for a payload in up to two pieces. The checksum covers
    /// the payload (RFC 9293 §3.1, MUST-2).
    pub fn encode(fields: &Fields, src: &Endpoint, dst: &Endpoint, payload: [&[u8]; 2]) -> Header {
        let [first, second] = payload;
        let len = first.len().wrapping_add(second.len());
        let mut sum = Checksum::new();
        sum.add(first);
        sum.add(second);
        let mut header = Header::EMPTY;
        header.begin(fields.flags, fields.window, fields.seq, fields.ack);
        fields.options.emit(&mut header);
        header.end(src, dst, len as u32, sum);
        header
    }

    /// Writes the fields before the options. [`put`](Self::put) appends options, and
    /// [`end`](Self::end) finishes the header.
    pub(crate) fn begin(&mut self, flags: Flags, window: u16, seq: SeqNum, ack: SeqNum) {
        self.len = HeaderView::MIN_LEN as u8 / 4;
        let ack = if flags.ack() { ack.0 } else { 0 };
        self.words[1] = seq.0.to_be_bytes();
        self.words[2] = ack.to_be_bytes();
        self.words[3] = (u32::from(flags.0) << 16 | u32::from(window)).to_be_bytes();
    }

    /// Finishes the header with ports, data offset and checksum. `payload` is the one's-complement
    /// sum of the payload, `len` its length in bytes.
    #[inline(never)] // size
    pub(crate) fn end(&mut self, src: &Endpoint, dst: &Endpoint, len: u32, payload: Checksum) {
        self.words[0] = (u32::from(src.port) << 16 | u32::from(dst.port)).to_be_bytes();
        // The data offset, in words, is the upper half of its byte.
        self.words[3][0] = self.len << 4;
        let len = len.wrapping_add(self.len() as u32);
        let mut sum = Checksum::pseudo_header(&src.addr, &dst.addr, PROTOCOL, len);
        sum.add(self.as_bytes());
        sum.append(payload);
        // The lower half of this word is the urgent pointer, which is 0.
        self.words[4] = (u32::from(sum.finish()) << 16).to_be_bytes();
    }

    /// Returns the encoded header, 20 to 60 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        let bytes = self.words.as_flattened();
        bytes.get(..self.len()).unwrap_or(&[])
    }

    pub(crate) const fn len(&self) -> usize {
        (self.len as usize) << 2
    }

    #[inline(never)] // size
    pub(crate) fn put(&mut self, word: u32) {
        if let Some(room) = self.words.get_mut(usize::from(self.len)) {
            *room = word.to_be_bytes();
            self.len = self.len.wrapping_add(1);
        }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Header").field(&self.as_bytes()).finish()
    }
}
