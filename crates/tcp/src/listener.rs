//! The state LISTEN (RFC 9293 §3.10.7.2), separate from connections to save memory.

use redpoll_base::Addr;

use crate::reset::reset_reply;
use crate::{
    Config, Endpoint, Flags, Header, IpMeta, IsnGenerator, Options, Segment, SeqNum, Standard,
    TimestampOption,
};

/// A passive open: waits for connection requests at an endpoint. The listener does not store
/// requests. The caller accepts a [`Request`] if it has the memory for a connection, and otherwise
/// drops the request as if the SYN had been lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listener {
    // Not an [`Endpoint`], which is padded to whole words.
    addr: [u8; 16],
    port: u16,
}

/// Inputs for the answers to connection requests.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a, A = Standard> {
    /// Parameters of the connections.
    pub config: &'a Config<A>,
    /// Source of initial sequence numbers.
    pub isn: &'a IsnGenerator,
    /// Window to announce, in bytes: at most the receive buffer of any future connection.
    pub window: u16,
    /// Whether the listener accepts data on a SYN and issues the cookies for it (RFC 7413).
    pub fast_open: bool,
}

/// Response to a segment that reached a listener.
#[derive(Clone, Debug)]
pub enum Action {
    /// Send this segment, without payload, from `meta.dst` to `meta.src`.
    Reply(Header),
    /// Process this connection request.
    Accept(Request),
    /// Drop the segment.
    Drop,
}

/// A connection request: the contents of the peer's SYN that SYN-RECEIVED needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Our end.
    pub local: Endpoint,
    /// The peer's end.
    pub remote: Endpoint,
    pub(crate) syn: PeerSyn,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct PeerSyn {
    /// IRS, the peer's initial sequence number.
    pub(crate) irs: SeqNum,
    /// TSval of the peer, if it offered timestamps.
    pub(crate) ts_value: u32,
    pub(crate) window: u16,
    pub(crate) offer: Offer,
}

/// Offers of the peer's SYN: timestamps, SACK and ECN, one bit each, and the MSS (0: no option).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Offer(u16);

/// Mask and maximum of the MSS. A larger MSS is reduced to it: the sender may send less (RFC 9293
/// §3.7.1), and no supported link carries more.
const MSS_BITS: u16 = 0x1fff;

/// Position of the lowest bit of the flags in [`Offer::others`].
const OTHERS_AT: u32 = MSS_BITS.count_ones();

/// ECN-setup SYN (RFC 3168 §6.1.1).
const ECN_SETUP: Flags = Flags::ECE.with(Flags::CWR);

impl Offer {
    pub(crate) const TIMESTAMPS: Offer = Offer(0x8000);
    pub(crate) const SACK: Offer = Offer(0x4000);
    pub(crate) const ECN: Offer = Offer(0x2000);

    pub(crate) fn of_mss(mss: Option<u16>) -> Offer {
        Offer(mss.map_or(0, |mss| mss.clamp(1, MSS_BITS)))
    }

    pub(crate) fn mss(self) -> Option<u16> {
        Some(self.0 & MSS_BITS).filter(|mss| *mss != 0)
    }

    pub(crate) fn with(self, what: Offer, is_so: bool) -> Offer {
        Offer(if is_so { self.0 | what.0 } else { self.0 })
    }

    /// Returns the flags other than timestamps, in bits of [`OTHERS`](Self::OTHERS).
    pub(crate) fn others(self) -> u32 {
        u32::from(self.0 >> OTHERS_AT) & Self::OTHERS
    }

    pub(crate) fn with_others(self, bits: u32) -> Offer {
        Offer(self.0 | ((bits & Self::OTHERS) << OTHERS_AT) as u16)
    }

    /// Mask of the flags other than timestamps.
    pub(crate) const OTHERS: u32 = 3;

    /// Processes a repeated SYN. RFC 3168 §6.1.1: one SYN without ECN-setup disables ECN.
    pub(crate) fn on_syn_again(&mut self, flags: Flags) {
        if !flags.contains(ECN_SETUP) {
            self.0 &= !Offer::ECN.0;
        }
    }

    pub(crate) fn has(self, what: Offer) -> bool {
        self.0 & what.0 != 0
    }
}

impl Request {
    #[inline(never)] // size
    pub(crate) fn new(meta: &IpMeta, seg: &Segment<'_>) -> Self {
        Request {
            local: Endpoint::new(meta.dst, seg.dst_port),
            remote: Endpoint::new(meta.src, seg.src_port),
            syn: PeerSyn::of(seg),
        }
    }

    /// Returns the options of the SYN.
    pub fn options(&self) -> Options {
        let PeerSyn { offer, .. } = self.syn;
        Options {
            mss: offer.mss(),
            timestamps: offer.has(Offer::TIMESTAMPS).then_some(TimestampOption {
                value: self.syn.ts_value,
                echo: 0,
            }),
            sack_permitted: offer.has(Offer::SACK),
            ..Options::default()
        }
    }

    pub(crate) fn flags(&self) -> Flags {
        if self.syn.offer.has(Offer::ECN) {
            Flags::SYN.with(ECN_SETUP)
        } else {
            Flags::SYN
        }
    }
}

impl PeerSyn {
    #[inline(never)] // size
    pub(crate) fn of(seg: &Segment<'_>) -> Self {
        let options = &seg.options;
        PeerSyn {
            irs: seg.seq,
            ts_value: options.timestamps.map_or(0, |option| option.value),
            window: seg.window,
            offer: Offer::of_mss(options.mss)
                .with(Offer::TIMESTAMPS, options.timestamps.is_some())
                .with(Offer::SACK, options.sack_permitted)
                .with(Offer::ECN, seg.flags.contains(ECN_SETUP)),
        }
    }
}

impl Listener {
    /// Creates a listener at `local`; the unspecified address stands for every address.
    pub const fn new(local: Endpoint) -> Self {
        Listener {
            addr: local.addr.0,
            port: local.port,
        }
    }

    /// Returns the endpoint of the listener.
    pub const fn local(&self) -> Endpoint {
        Endpoint::new(Addr(self.addr), self.port)
    }

    /// Returns whether the segment is for this listener. Call this if no connection matches.
    pub fn matches(&self, meta: &IpMeta, seg: &Segment<'_>) -> bool {
        let Endpoint { addr, port } = self.local();
        (addr.is_unspecified() || addr == meta.dst) && port == seg.dst_port
    }

    /// Processes a segment in LISTEN (RFC 9293 §3.10.7.2), for which [`matches`](Self::matches)
    /// returned true.
    pub fn input(&self, meta: &IpMeta, seg: &Segment<'_>) -> Action {
        match in_listen(&meta.src, &meta.dst, seg) {
            Demand::Nothing => Action::Drop,
            Demand::Reset => reset_reply(meta, seg).map_or(Action::Drop, Action::Reply),
            Demand::Connection => Action::Accept(Request::new(meta, seg)),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Demand {
    Nothing,
    Reset,
    Connection,
}

pub(crate) fn in_listen(src: &Addr, dst: &Addr, seg: &Segment<'_>) -> Demand {
    // First, check for a RST: ignore the segment.
    if seg.flags.rst() {
        return Demand::Nothing;
    }
    // Second, check for an ACK: no acknowledgment is acceptable in LISTEN.
    if seg.flags.ack() {
        return Demand::Reset;
    }
    // Third, check for a SYN. RFC 9293 §3.9.2.3, MUST-63 and MUST-57: it must not come from an
    // invalid source or go to a group.
    let group = |addr: &Addr| addr.is_multicast() || addr.is_unspecified();
    if !seg.flags.syn() || group(src) || group(dst) {
        return Demand::Nothing;
    }
    // Without Fast Open, a FIN or text on the SYN is neither kept nor acknowledged; the peer
    // retransmits both.
    Demand::Connection
}

const _: () = assert!(size_of::<Listener>() <= 28);
