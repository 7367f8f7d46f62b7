//! LISTEN (RFC 9293 §3.10.7.2), apart from connections and as small as a port.

use redpoll_base::{Addr, Instant};

use crate::reset::reset_reply;
use crate::{Endpoint, Flags, Header, IpMeta, Options, Segment, SeqNum, TimestampOption};

/// A passive open: waits for connection requests at an endpoint.
///
/// It keeps nothing of them. The caller turns a [`HalfOpen`] into a
/// connection if it has the memory, and otherwise drops it, as if the SYN had
/// been lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listener {
    local: Endpoint,
}

/// What to do with a segment that reached a listener.
#[derive(Clone, Debug)]
pub enum Action {
    /// Send this segment, without payload, from `meta.dst` to `meta.src`.
    Reply(Header),
    /// A connection request.
    Accept(HalfOpen),
    /// Nothing.
    Drop,
}

/// A connection request: what SYN-RECEIVED needs to know of the peer's SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HalfOpen {
    /// Our end.
    pub local: Endpoint,
    /// The peer's end.
    pub remote: Endpoint,
    /// IRS, the peer's initial sequence number.
    pub irs: SeqNum,
    /// The peer's window.
    pub window: u16,
    /// The peer's MSS in the low bits, 0 if it did not say; then what it
    /// offered.
    offer: u16,
    /// The peer's TSval, if it offered timestamps.
    ts_value: u32,
}

/// A larger MSS is taken for this one: the sender may send less (RFC 9293
/// §3.7.1), and no link of ours takes as much.
const MSS_BITS: u16 = 0x1fff;
const OFFERS_TIMESTAMPS: u16 = 0x8000;
const OFFERS_SACK: u16 = 0x4000;
const OFFERS_ECN: u16 = 0x2000;

/// ECN-setup SYN (RFC 3168 §6.1.1).
const ECN_SETUP: Flags = Flags::ECE.with(Flags::CWR);

impl HalfOpen {
    fn new(meta: &IpMeta, seg: &Segment<'_>) -> Self {
        let bit = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
        let options = &seg.options;
        HalfOpen {
            local: Endpoint::new(meta.dst, seg.dst_port),
            remote: Endpoint::new(meta.src, seg.src_port),
            irs: seg.seq,
            window: seg.window,
            offer: options.mss.map_or(0, |mss| mss.clamp(1, MSS_BITS))
                | bit(options.timestamps.is_some(), OFFERS_TIMESTAMPS)
                | bit(options.sack_permitted, OFFERS_SACK)
                | bit(seg.flags.contains(ECN_SETUP), OFFERS_ECN),
            ts_value: options.timestamps.map_or(0, |option| option.value),
        }
    }

    fn offers(&self, bit: u16) -> bool {
        self.offer & bit != 0
    }

    /// The options of the SYN.
    pub fn options(&self) -> Options {
        let mss = self.offer & MSS_BITS;
        Options {
            mss: (mss != 0).then_some(mss),
            timestamps: self.offers(OFFERS_TIMESTAMPS).then_some(TimestampOption {
                value: self.ts_value,
                echo: 0,
            }),
            sack_permitted: self.offers(OFFERS_SACK),
            ..Options::default()
        }
    }

    /// The control bits of the SYN, as far as they matter.
    pub(crate) fn flags(&self) -> Flags {
        if self.offers(OFFERS_ECN) {
            Flags::SYN.with(ECN_SETUP)
        } else {
            Flags::SYN
        }
    }
}

impl Listener {
    /// Listens at `local`; the unspecified address stands for every address.
    pub const fn new(local: Endpoint) -> Self {
        Listener { local }
    }

    /// Where the listener listens.
    pub const fn local(&self) -> Endpoint {
        self.local
    }

    /// Whether the segment is for this listener, unless a connection claims it.
    pub fn matches(&self, meta: &IpMeta, seg: &Segment<'_>) -> bool {
        let addr = self.local.addr;
        (addr.is_unspecified() || addr == meta.dst) && self.local.port == seg.dst_port
    }

    /// RFC 9293 §3.10.7.2: a segment arrives in LISTEN.
    ///
    /// Neither the time nor the listener's state matter yet; they are where a
    /// limit on half-open connections would need them.
    pub fn input(&mut self, _now: Instant, meta: &IpMeta, seg: &Segment<'_>) -> Action {
        // First, check for a RST: it is ignored.
        if seg.flags.rst() {
            return Action::Drop;
        }
        // Second, check for an ACK: any acknowledgment is bad here.
        if seg.flags.ack() {
            return reset_reply(meta, seg).map_or(Action::Drop, Action::Reply);
        }
        // Third, check for a SYN. RFC 9293 §3.9.2.3, MUST-63 and MUST-57:
        // not from an invalid source, nor to a group.
        let group = |addr: &Addr| addr.is_multicast() || addr.is_unspecified();
        if !seg.flags.syn() || group(&meta.src) || group(&meta.dst) {
            return Action::Drop;
        }
        // Text on the SYN is not kept; the peer will send it again.
        Action::Accept(HalfOpen::new(meta, seg))
    }
}

/// The budgets, in bytes.
const _: () = assert!(size_of::<Listener>() <= 28);
const _: () = assert!(size_of::<HalfOpen>() <= 48);
