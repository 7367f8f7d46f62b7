//! Segments as tests write them down.

use std::fmt;

use redpoll_base::{Duration, Ecn};

use redpoll_tcp::{Endpoint, FastOpenCookie, Fields, Header, Options, SackBlocks, Segment, SeqNum};
use redpoll_tcp::{Extra, TimestampOption, UserTimeout};
use redpoll_wire::tcp::Flags;
use redpoll_wire::tcp::SeqRange;

pub const SYN: Flags = Flags::SYN;
pub const SYN_ACK: Flags = Flags::SYN.with(Flags::ACK);
pub const FIN_ACK: Flags = Flags::FIN.with(Flags::ACK);
pub const RST: Flags = Flags::RST;
pub const RST_ACK: Flags = Flags::RST.with(Flags::ACK);

/// A segment with relative sequence numbers: 0 is the SYN.
///
/// Written by the macros [`send!`](crate::send) and [`recv!`](crate::recv): each word is a
/// method of this type. The default is an ACK without data, with sequence number 0.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    pub(crate) at_ms: Option<u64>,
    flags: Flags,
    seq: u32,
    ack: u32,
    win: Option<u16>,
    mss: Option<u16>,
    ts: Option<(u32, u32)>,
    sack_ok: bool,
    sack: Option<Vec<(u32, u32)>>,
    uto: Option<UserTimeout>,
    fo: Option<FastOpenCookie>,
    ecn: Ecn,
    data: Vec<u8>,
}

impl Default for Record {
    fn default() -> Self {
        Record {
            at_ms: None,
            flags: Flags::ACK,
            seq: 0,
            ack: 0,
            win: None,
            mss: None,
            ts: None,
            sack_ok: false,
            sack: None,
            uto: None,
            fo: None,
            ecn: Ecn::NotEct,
            data: Vec::new(),
        }
    }
}

impl Record {
    /// Returns an ACK from sequence number 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the exact time, in milliseconds since the start (`recv!` only).
    pub fn at(mut self, ms: u64) -> Self {
        self.at_ms = Some(ms);
        self
    }

    /// Control bits. Received PSH is not compared; ECE and CWR are compared if one of them is
    /// expected.
    pub fn flags(mut self, flags: Flags) -> Self {
        self.flags = flags;
        self
    }

    /// Sequence number, relative to the sender's SYN.
    pub fn seq(mut self, seq: u32) -> Self {
        self.seq = seq;
        self
    }

    /// Acknowledgment number, relative to the receiver's SYN.
    pub fn ack(mut self, ack: u32) -> Self {
        self.ack = ack;
        self
    }

    /// Window. By default it is 4096 in `send!`, and not compared in `recv!`.
    pub fn win(mut self, win: u16) -> Self {
        self.win = Some(win);
        self
    }

    pub fn mss(mut self, mss: u16) -> Self {
        self.mss = Some(mss);
        self
    }

    /// Adds the timestamps option, `(TSval, TSecr)`. Not compared in received segments, unless set.
    pub fn ts(mut self, ts: (u32, u32)) -> Self {
        self.ts = Some(ts);
        self
    }

    /// Adds the SACK-permitted option of SYN segments. Not compared in received segments, unless
    /// set.
    pub fn sack_ok(mut self, there: bool) -> Self {
        self.sack_ok = there;
        self
    }

    /// Sets the blocks of the SACK option, relative like acknowledgment numbers; no blocks mean no
    /// option. Not compared in received segments, unless set.
    pub fn sack(mut self, blocks: impl IntoIterator<Item = (u32, u32)>) -> Self {
        self.sack = Some(blocks.into_iter().collect());
        self
    }

    /// Adds the user timeout option. Not compared in received segments, unless set.
    pub fn uto(mut self, timeout: Duration) -> Self {
        self.uto = Some(timeout.into());
        self
    }

    pub fn user_timeout(&self) -> Option<Duration> {
        self.uto.map(UserTimeout::duration)
    }

    /// Adds the Fast Open option with a cookie of these bytes; an empty cookie is a request. Not
    /// compared in received segments, unless set; [`fast_open`](Self::fast_open) returns it.
    pub fn fo(mut self, cookie: &[u8]) -> Self {
        self.fo = FastOpenCookie::new(cookie);
        self
    }

    pub fn fast_open(&self) -> Option<FastOpenCookie> {
        self.fo
    }

    /// Sets the ECN field of the packet. Not compared in received segments;
    /// [`codepoint`](Self::codepoint) returns it.
    pub fn ecn(mut self, ecn: Ecn) -> Self {
        self.ecn = ecn;
        self
    }

    pub fn codepoint(&self) -> Ecn {
        self.ecn
    }

    pub fn data(mut self, data: &[u8]) -> Self {
        self.data = data.to_vec();
        self
    }

    /// Sets the data to this number of bytes `x`. `recv!` compares only the length.
    pub fn len(mut self, len: usize) -> Self {
        self.data = vec![b'x'; len];
        self
    }

    pub fn seq_number(&self) -> u32 {
        self.seq
    }

    pub fn ack_number(&self) -> u32 {
        self.ack
    }

    pub fn control(&self) -> Flags {
        self.flags
    }

    pub fn payload(&self) -> &[u8] {
        &self.data
    }

    pub fn timestamps(&self) -> Option<(u32, u32)> {
        self.ts
    }

    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        self.sack.as_deref().unwrap_or(&[])
    }

    pub fn window(&self) -> Option<u16> {
        self.win
    }

    /// Returns the bytes of this segment with absolute numbers.
    pub fn encode_between(&self, src: &Endpoint, dst: &Endpoint) -> Vec<u8> {
        self.encode(src, dst, SeqNum(0), SeqNum(0))
    }

    pub(crate) fn encode(
        &self,
        src: &Endpoint,
        dst: &Endpoint,
        iss: SeqNum,
        irs: SeqNum,
    ) -> Vec<u8> {
        let fields = Fields {
            seq: iss + self.seq,
            ack: irs + self.ack,
            flags: self.flags,
            window: self.win.unwrap_or(4096),
            options: Options {
                mss: self.mss,
                timestamps: self.ts.map(|(value, echo)| TimestampOption { value, echo }),
                sack_permitted: self.sack_ok,
                user_timeout: self.uto,
                extra: match self.fo {
                    Some(cookie) => Extra::FastOpen(cookie),
                    None => Extra::Sack(self.blocks(irs)),
                },
            },
        };
        let header = Header::encode(&fields, src, dst, [&self.data, &[]]);
        [header.as_bytes(), &self.data].concat()
    }

    fn blocks(&self, base: SeqNum) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        for &(start, end) in self.sack.iter().flatten() {
            blocks.push(SeqRange::new(base + start, base + end));
        }
        blocks
    }

    pub(crate) fn read(seg: &Segment<'_>, iss: SeqNum, irs: SeqNum) -> Record {
        Record {
            at_ms: None,
            flags: seg.flags,
            seq: seg.seq.0.wrapping_sub(iss.0),
            ack: if seg.flags.ack() {
                seg.ack.0.wrapping_sub(irs.0)
            } else {
                0
            },
            win: Some(seg.window),
            mss: seg.options.mss,
            ts: seg.options.timestamps.map(|ts| (ts.value, ts.echo)),
            sack_ok: seg.options.sack_permitted,
            sack: Some(
                seg.options
                    .sack()
                    .into_iter()
                    .flat_map(SackBlocks::iter)
                    .map(|block| {
                        let relative = |seq: SeqNum| seq.0.wrapping_sub(irs.0);
                        (relative(block.start), relative(block.end))
                    })
                    .collect(),
            ),
            uto: seg.options.user_timeout,
            fo: seg.options.fast_open().copied(),
            ecn: Ecn::NotEct,
            data: seg.payload.to_vec(),
        }
    }

    pub(crate) fn is_as(&self, expected: &Record) -> bool {
        let ecn = Flags::ECE.with(Flags::CWR).0;
        let hidden = match expected.flags.0 & ecn {
            0 => Flags::PSH.0 | ecn,
            _ => Flags::PSH.0,
        };
        let control = |flags: Flags| flags.0 & !hidden;
        let filler = expected.data.iter().all(|byte| *byte == b'x');
        let same_data = if filler {
            self.data.len() == expected.data.len()
        } else {
            self.data == expected.data
        };
        control(self.flags) == control(expected.flags)
            && self.seq == expected.seq
            && (!self.flags.ack() || self.ack == expected.ack)
            && same_data
            && self.mss == expected.mss
            && (expected.win.is_none() || self.win == expected.win)
            && (expected.ts.is_none() || self.ts == expected.ts)
            && (expected.uto.is_none() || self.uto == expected.uto)
            && (expected.fo.is_none() || self.fo == expected.fo)
            && (!expected.sack_ok || self.sack_ok)
            && (expected.sack.is_none() || self.sack == expected.sack)
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "flags {:?}, seq {}, ack {}",
            self.flags, self.seq, self.ack
        )?;
        if let Some(win) = self.win {
            write!(f, ", win {win}")?;
        }
        if let Some(mss) = self.mss {
            write!(f, ", mss {mss}")?;
        }
        if let Some(ts) = self.ts {
            write!(f, ", ts {ts:?}")?;
        }
        if self.sack_ok {
            f.write_str(", sack_ok")?;
        }
        if let Some(sack) = self.sack.as_ref().filter(|sack| !sack.is_empty()) {
            write!(f, ", sack {sack:?}")?;
        }
        if !self.data.is_empty() {
            write!(f, ", {} bytes", self.data.len())?;
        }
        Ok(())
    }
}
