//! The TCP header (RFC 9293 §3.1): flags and encoding.

use core::fmt;

use redpoll_base::checksum::Checksum;

use crate::{Endpoint, Options, SeqNum};

/// TCP's protocol number in an IP header.
pub const PROTOCOL: u8 = 6;

/// Length of a header without options, in bytes.
pub(crate) const BASE_LEN: usize = 20;

/// Length of the longest header, in bytes: the data offset counts to 15 words.
pub(crate) const MAX_LEN: usize = 60;

/// Length of the longest header, in words of 32 bits.
const WORDS: usize = MAX_LEN / 4;

/// The control bits (RFC 9293 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Flags = Flags(0x10);
    /// The urgent pointer is significant; never sent, ignored when received.
    pub const URG: Flags = Flags(0x20);

    /// ECN-Echo (RFC 3168 §6.1).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Flags = Flags(0x80);

    /// These flags and those of `other`.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These flags but for those of `other`.
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// Whether every flag of `other` is set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether SYN is set.
    pub const fn syn(self) -> bool {
        self.contains(Flags::SYN)
    }

    /// Whether ACK is set.
    pub const fn ack(self) -> bool {
        self.contains(Flags::ACK)
    }

    /// Whether RST is set.
    pub const fn rst(self) -> bool {
        self.contains(Flags::RST)
    }

    /// Whether FIN is set.
    pub const fn fin(self) -> bool {
        self.contains(Flags::FIN)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Flags::SYN, "SYN"),
            (Flags::FIN, "FIN"),
            (Flags::RST, "RST"),
            (Flags::PSH, "PSH"),
            (Flags::ACK, "ACK"),
            (Flags::URG, "URG"),
            (Flags::ECE, "ECE"),
            (Flags::CWR, "CWR"),
        ];
        let mut separator = "";
        for (flag, name) in names {
            if self.contains(flag) {
                write!(f, "{separator}{name}")?;
                separator = "|";
            }
        }
        if separator.is_empty() {
            f.write_str("-")
        } else {
            Ok(())
        }
    }
}

/// What a header says, apart from ports and checksum.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
// In this order on purpose, small things first: see `Connection`.
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

/// An encoded header, checksum included.
///
/// At a place for words, so that a processor that stores only aligned words
/// does not make it byte by byte.
#[derive(Clone, Copy)]
#[repr(align(4))]
pub struct Header {
    words: [[u8; 4]; WORDS],
    /// How many words are in use.
    len: u8,
}

impl Header {
    /// No header yet.
    pub(crate) const EMPTY: Header = Header {
        words: [[0; 4]; WORDS],
        len: 0,
    };

    /// Encodes a header from `src` to `dst` over a payload that lies in up to
    /// two pieces. The checksum covers the payload (RFC 9293 §3.1, MUST-2).
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

    /// What comes before the options; those are [put](Self::put) behind it, and
    /// then comes the [end](Self::end).
    pub(crate) fn begin(&mut self, flags: Flags, window: u16, seq: SeqNum, ack: SeqNum) {
        self.len = BASE_LEN as u8 / 4;
        let ack = if flags.ack() { ack.0 } else { 0 };
        self.words[1] = seq.0.to_be_bytes();
        self.words[2] = ack.to_be_bytes();
        self.words[3] = (u32::from(flags.0) << 16 | u32::from(window)).to_be_bytes();
    }

    /// What can only be said at the end: ports, the data offset, and the
    /// checksum over a payload of `len` bytes that have this sum.
    #[inline(never)] // size
    pub(crate) fn end(&mut self, src: &Endpoint, dst: &Endpoint, len: u32, payload: Checksum) {
        self.words[0] = (u32::from(src.port) << 16 | u32::from(dst.port)).to_be_bytes();
        // The data offset, in words, fills the upper half of its byte.
        self.words[3][0] = self.len << 4;
        // The checksum, and no urgent pointer.
        let len = len.wrapping_add(self.len() as u32);
        let mut sum = Checksum::pseudo_header(&src.addr, &dst.addr, PROTOCOL, len);
        sum.add(self.as_bytes());
        sum.append(payload);
        self.words[4] = (u32::from(sum.finish()) << 16).to_be_bytes();
    }

    /// The encoded header, 20 to 60 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        let bytes = self.words.as_flattened();
        bytes.get(..self.len()).unwrap_or(&[])
    }

    /// Length in bytes.
    pub const fn len(&self) -> usize {
        (self.len as usize) << 2
    }

    /// Never: a header has at least 20 bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a word of options.
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
