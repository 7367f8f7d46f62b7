//! LISTEN (RFC 9293 §3.10.7.2), apart from connections and as small as a port.

use redpoll_base::{Addr, Instant};

use crate::reset::reset_reply;
use crate::{Endpoint, Flags, Header, IpMeta, Segment, SeqNum};

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
    /// The peer's MSS option.
    pub mss: Option<u16>,
    /// The peer's TSval, if it offered timestamps.
    pub timestamp: Option<u32>,
    /// Whether it offered selective acknowledgments.
    pub sack_permitted: bool,
    /// The control bits, of which those of ECN matter.
    pub flags: Flags,
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
        Action::Accept(HalfOpen {
            local: Endpoint::new(meta.dst, seg.dst_port),
            remote: Endpoint::new(meta.src, seg.src_port),
            irs: seg.seq,
            window: seg.window,
            mss: seg.options.mss,
            timestamp: seg.options.timestamps.map(|option| option.value),
            sack_permitted: seg.options.sack_permitted,
            flags: seg.flags,
        })
    }
}

/// The budget of a listener, in bytes.
const _: () = assert!(size_of::<Listener>() <= 28);
