//! TCP options (RFC 9293 §3.2): maximum segment size, timestamps, selective acknowledgment, user
//! timeout, and Fast Open.
//!
//! Unknown options are skipped by their length (RFC 9293 §3.1, MUST-6). An option with an
//! impossible length ends the list; the segment is used without the rest (MUST-7).

use redpoll_wire::tcp::kind::{
    FAST_OPEN, MSS, NOP, SACK, SACK_PERMITTED, TIMESTAMPS, USER_TIMEOUT,
};
use redpoll_wire::tcp::{OptionList, two_words};

use crate::{FastOpenCookie, Header, SackBlocks, SeqNum, SeqRange, UserTimeout};
use crate::{fast_open, user_timeout};

/// The options that this TCP supports.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
// This order, small fields first, makes the code smaller: see `Connection`.
#[repr(C)]
pub struct Options {
    /// SACK-permitted; on SYN segments only (RFC 2018 §2).
    pub sack_permitted: bool,
    /// User timeout (RFC 5482 §3.3).
    pub user_timeout: Option<UserTimeout>,
    /// Maximum segment size in bytes; on SYN segments only (RFC 9293 §3.7.1).
    pub mss: Option<u16>,
    /// Timestamps (RFC 7323 §3.2).
    pub timestamps: Option<TimestampOption>,
    /// SACK or Fast Open.
    pub extra: Extra,
}

/// Options that never occur in the same segment. They share memory because segments are moved often
/// and rarely carry these options.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Extra {
    /// The segment has neither a SACK nor a Fast Open option.
    #[default]
    None,
    /// SACK (RFC 2018 §3); not on SYN segments. An empty list means no option.
    Sack(SackBlocks),
    /// Fast Open; on SYN segments only (RFC 7413 §4.1.1).
    FastOpen(FastOpenCookie),
}

/// The two fields of the timestamps option (RFC 7323 §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TimestampOption {
    /// TSval: the sender's timestamp clock.
    pub value: u32,
    /// TSecr: the echoed timestamp; meaningless without ACK.
    pub echo: u32,
}

const MSS_LEN: usize = 4;
const SACK_PERMITTED_LEN: usize = 2;
const TIMESTAMPS_LEN: usize = 10;
pub(crate) const USER_TIMEOUT_LEN: usize = 4;

/// Bytes of the timestamps option in every segment, including two NOPs for alignment as RFC 7323
/// appendix A recommends.
pub(crate) const TIMESTAMPS_SPACE: u16 = 12;

/// Alignment of the emitted options, in bytes.
const WORD: usize = 4;

/// Bytes before the blocks of a SACK option, including two NOPs.
pub(crate) const SACK_HEAD: usize = WORD;

/// Maximum length of all options: the data offset is at most 15 words.
pub(crate) const MAX_OPTIONS: usize = 40;

/// Returns the length of a SACK option with `blocks` blocks, including two NOPs.
pub(crate) fn sack_space(blocks: usize) -> usize {
    match blocks {
        0 => 0,
        some => some
            .wrapping_mul(SackBlocks::BLOCK_LEN)
            .wrapping_add(SACK_HEAD),
    }
}

impl Options {
    /// Returns the blocks of the SACK option.
    pub fn sack(&self) -> Option<&SackBlocks> {
        match &self.extra {
            Extra::Sack(blocks) => Some(blocks),
            _ => None,
        }
    }

    /// Returns the Fast Open option.
    pub fn fast_open(&self) -> Option<&FastOpenCookie> {
        match &self.extra {
            Extra::FastOpen(cookie) => Some(cookie),
            _ => None,
        }
    }

    /// Reads the options of a header. It never fails: see the module documentation.
    // Not inlined, so that the result is constructed in place; moving it is expensive.
    #[inline(never)]
    pub fn parse(list: OptionList<'_>) -> Options {
        let mut options = Options::default();
        for (kind, value) in list.lenient() {
            options.take(kind, value);
        }
        options
    }

    #[inline(never)] // size
    fn take(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (MSS, &[a, b]) => self.mss = Some(u16::from_be_bytes([a, b])),
            (TIMESTAMPS, value) => {
                if let Some((value, echo)) = value.try_into().ok().map(two_words) {
                    self.timestamps = Some(TimestampOption { value, echo });
                }
            }
            (SACK_PERMITTED, &[]) => self.sack_permitted = true,
            (SACK, blocks) => self.take_sack(blocks),
            (USER_TIMEOUT, &[a, b]) if user_timeout::ON => {
                self.user_timeout = UserTimeout::from_bits(u16::from_be_bytes([a, b]));
            }
            (FAST_OPEN, cookie) if fast_open::ON => {
                if let Some(cookie) = FastOpenCookie::new(cookie)
                    && self.extra == Extra::None
                {
                    self.extra = Extra::FastOpen(cookie);
                }
            }
            _ => {}
        }
    }

    fn take_sack(&mut self, blocks: &[u8]) {
        let (blocks, rest) = blocks.as_chunks();
        for block in blocks.iter().filter(|_| rest.is_empty()) {
            let (start, end) = two_words(block);
            self.add_sack_block(SeqRange::new(SeqNum(start), SeqNum(end)));
        }
    }

    /// Adds a block to the SACK option.
    pub fn add_sack_block(&mut self, block: SeqRange) {
        if self.sack().is_none() {
            self.extra = Extra::Sack(SackBlocks::NONE);
        }
        if let Extra::Sack(sack) = &mut self.extra {
            sack.push(block);
        }
    }

    pub(crate) fn emit(&self, header: &mut Header) {
        if let Some(mss) = self.mss {
            header.put_mss(mss);
        }
        header.put_timestamps(self.timestamps, self.sack_permitted);
        if let Some(timeout) = self.user_timeout {
            header.put_user_timeout(timeout);
        }
        match &self.extra {
            Extra::FastOpen(cookie) => header.put_fast_open(cookie),
            Extra::Sack(sack) => header.put_sack(sack.iter(), sack.len()),
            Extra::None => {}
        }
    }
}

/// Returns the 16-bit number whose upper byte is `a`.
const fn pair(a: u8, b: u8) -> u32 {
    (a as u32) << 8 | b as u32
}

const NOPS: u32 = pair(NOP, NOP) << 16;

/// Encoders of the options. The caller determines their order.
impl Header {
    pub(crate) fn put_mss(&mut self, mss: u16) {
        self.put(pair(MSS, MSS_LEN as u8) << 16 | u32::from(mss));
    }

    /// Appends timestamps and SACK-permitted, which replaces the NOPs.
    #[inline(never)] // size
    pub(crate) fn put_timestamps(&mut self, timestamps: Option<TimestampOption>, permitted: bool) {
        let first = if permitted {
            pair(SACK_PERMITTED, SACK_PERMITTED_LEN as u8) << 16
        } else {
            NOPS
        };
        if let Some(timestamps) = timestamps {
            self.put(first | pair(TIMESTAMPS, TIMESTAMPS_LEN as u8));
            self.put(timestamps.value);
            self.put(timestamps.echo);
        } else if permitted {
            self.put(NOPS | first >> 16);
        }
    }

    pub(crate) fn put_user_timeout(&mut self, timeout: UserTimeout) {
        if user_timeout::ON {
            let head = pair(USER_TIMEOUT, USER_TIMEOUT_LEN as u8) << 16;
            self.put(head | u32::from(timeout.bits()));
        }
    }

    #[inline(never)] // size
    pub(crate) fn put_fast_open(&mut self, cookie: &FastOpenCookie) {
        if fast_open::ON {
            self.put(NOPS | pair(FAST_OPEN, cookie.len().wrapping_add(2)));
            // Zero bytes pad a cookie to whole words; the first of them ends the list of options.
            for four in cookie.words() {
                self.put(u32::from_be_bytes(*four));
            }
        }
    }

    /// Appends a SACK option with the first `count` blocks, if `count` is not 0.
    pub(crate) fn put_sack(&mut self, blocks: impl Iterator<Item = SeqRange>, count: usize) {
        if count == 0 {
            return;
        }
        let len = count.wrapping_mul(SackBlocks::BLOCK_LEN).wrapping_add(2);
        self.put(NOPS | pair(SACK, len as u8));
        for block in blocks.take(count) {
            self.put(block.start.0);
            self.put(block.end.0);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use redpoll_wire::tcp::kind::END;

    use super::*;

    fn emitted(options: &Options) -> Vec<u8> {
        let mut header = Header::EMPTY;
        options.emit(&mut header);
        header.as_bytes().to_vec()
    }

    fn blocks(count: u32) -> SackBlocks {
        let mut sack = SackBlocks::NONE;
        for n in 0..count {
            sack.push(SeqRange::new(SeqNum(n * 10), SeqNum(n * 10 + 5)));
        }
        sack
    }

    #[test]
    fn emitted_options_are_parsed_back() {
        let timestamps = Some(TimestampOption {
            value: 7,
            echo: u32::MAX,
        });
        assert_read_back(&[
            Options::default(),
            Options {
                mss: Some(462),
                ..Options::default()
            },
            Options {
                timestamps,
                ..Options::default()
            },
            Options {
                mss: Some(1220),
                timestamps,
                sack_permitted: true,
                ..Options::default()
            },
            Options {
                sack_permitted: true,
                ..Options::default()
            },
            Options {
                timestamps,
                extra: Extra::Sack(blocks(3)),
                ..Options::default()
            },
            Options {
                extra: Extra::Sack(blocks(4)),
                ..Options::default()
            },
        ]);
    }

    #[test]
    #[cfg(feature = "more-options")]
    fn options_of_features_are_parsed_back() {
        let timestamps = Some(TimestampOption { value: 7, echo: 8 });
        assert_read_back(&[
            Options {
                mss: Some(462),
                user_timeout: UserTimeout::from_bits(300),
                ..Options::default()
            },
            Options {
                extra: Extra::FastOpen(FastOpenCookie::REQUEST),
                ..Options::default()
            },
            Options {
                mss: Some(462),
                timestamps,
                sack_permitted: true,
                user_timeout: UserTimeout::from_bits(300),
                extra: Extra::FastOpen(FastOpenCookie::new(&[5; 16]).unwrap()),
            },
        ]);
    }

    fn assert_read_back(all: &[Options]) {
        for options in all {
            let bytes = emitted(options);
            assert_eq!(bytes.len() % 4, 0);
            assert!(bytes.len() <= 40);
            assert_eq!(Options::parse(OptionList(&bytes)), *options);
        }
    }

    #[test]
    fn a_sack_option_of_odd_length_is_ignored() {
        let mut bytes = emitted(&Options {
            extra: Extra::Sack(blocks(1)),
            ..Options::default()
        });
        bytes[3] = 9;
        assert_eq!(Options::parse(OptionList(&bytes)), Options::default());
    }

    #[test]
    fn unknown_options_are_skipped_and_the_end_ends() {
        let bytes = [
            3, 3, 7, NOP, 254, 4, 1, 2, MSS, 4, 1, 206, END, MSS, 4, 0, 1,
        ];
        assert_eq!(Options::parse(OptionList(&bytes)).mss, Some(462));
    }

    #[test]
    fn impossible_lengths_end_the_options() {
        for bytes in [
            &[MSS, 4, 1, 206, 99, 0, MSS, 4, 0, 1][..],
            &[MSS, 4, 1, 206, 99, 1, MSS, 4, 0, 1],
            &[MSS, 4, 1, 206, 99, 200],
            &[MSS, 4, 1, 206, 99],
        ] {
            assert_eq!(
                Options::parse(OptionList(bytes)).mss,
                Some(462),
                "{bytes:?}"
            );
        }
        assert_eq!(
            Options::parse(OptionList(&[MSS, 3, 1, TIMESTAMPS, 2])),
            Options::default()
        );
    }
}
