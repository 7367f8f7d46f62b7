//! LISTEN (RFC 9293 §3.10.7.2), apart from connections and as small as a port.

use redpoll_base::Addr;

use crate::reset::reset_reply;
use crate::{
    Config, Endpoint, Flags, Header, IpMeta, IsnGenerator, Options, Segment, SeqNum, Standard,
    TimestampOption,
};

/// A passive open: waits for connection requests at an endpoint.
///
/// It keeps nothing of them. The caller turns a [`Request`] into a
/// connection if it has the memory, and otherwise drops it, as if the SYN had
/// been lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listener {
    // By bytes: an [`Endpoint`] fills up its last word.
    addr: [u8; 16],
    port: u16,
}

/// What a node answers requests with.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a, A = Standard> {
    /// The parameters of the connections.
    pub config: &'a Config<A>,
    /// Where sequence numbers come from.
    pub isn: &'a IsnGenerator,
    /// The window to announce, in bytes: no more than the receive buffer of
    /// any connection that may come of the request.
    pub window: u16,
    /// Whether the listener takes data on a SYN, and gives out the cookies for
    /// that (RFC 7413).
    pub fast_open: bool,
}

/// What to do with a segment that reached a listener.
#[derive(Clone, Debug)]
pub enum Action {
    /// Send this segment, without payload, from `meta.dst` to `meta.src`.
    Reply(Header),
    /// A connection request.
    Accept(Request),
    /// Nothing.
    Drop,
}

/// A connection request: what SYN-RECEIVED needs to know of the peer's SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Our end.
    pub local: Endpoint,
    /// The peer's end.
    pub remote: Endpoint,
    pub(crate) syn: PeerSyn,
}

/// What the peer's SYN said.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct PeerSyn {
    /// IRS, the peer's initial sequence number.
    pub(crate) irs: SeqNum,
    /// The peer's TSval, if it offered timestamps.
    pub(crate) ts_value: u32,
    /// The peer's window.
    pub(crate) window: u16,
    pub(crate) offer: Offer,
}

/// What the peer's SYN offered. The peer's MSS in the low bits, 0 if it did
/// not say.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Offer(u16);

/// A larger MSS is taken for this one: the sender may send less (RFC 9293
/// §3.7.1), and no link of ours takes as much.
const MSS_BITS: u16 = 0x1fff;

/// The lowest bit that is not the MSS's.
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

    /// The offer with `what` besides, if it is so.
    pub(crate) fn with(self, what: Offer, is_so: bool) -> Offer {
        Offer(if is_so { self.0 | what.0 } else { self.0 })
    }

    /// What was offered besides timestamps and an MSS, in bits of [`OTHERS`](Self::OTHERS).
    pub(crate) fn others(self) -> u32 {
        u32::from(self.0 >> OTHERS_AT) & Self::OTHERS
    }

    pub(crate) fn with_others(self, bits: u32) -> Offer {
        Offer(self.0 | ((bits & Self::OTHERS) << OTHERS_AT) as u16)
    }

    /// As a mask.
    pub(crate) const OTHERS: u32 = 3;

    /// The peer's SYN came again with `flags`. RFC 3168 §6.1.1: one without
    /// ECN-setup is enough to refuse.
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
    /// The request that `seg` makes if it is a SYN.
    #[inline(never)] // size
    pub(crate) fn new(meta: &IpMeta, seg: &Segment<'_>) -> Self {
        Request {
            local: Endpoint::new(meta.dst, seg.dst_port),
            remote: Endpoint::new(meta.src, seg.src_port),
            syn: PeerSyn::of(seg),
        }
    }

    /// The options of the SYN.
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

    /// The control bits of the SYN, as far as they matter.
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
    /// Listens at `local`; the unspecified address stands for every address.
    pub const fn new(local: Endpoint) -> Self {
        Listener {
            addr: local.addr.0,
            port: local.port,
        }
    }

    /// Where the listener listens.
    pub const fn local(&self) -> Endpoint {
        Endpoint::new(Addr(self.addr), self.port)
    }

    /// Whether the segment is for this listener, unless a connection claims it.
    pub fn matches(&self, meta: &IpMeta, seg: &Segment<'_>) -> bool {
        let Endpoint { addr, port } = self.local();
        (addr.is_unspecified() || addr == meta.dst) && port == seg.dst_port
    }

    /// RFC 9293 §3.10.7.2: a segment arrives in LISTEN.
    ///
    /// [`matches`](Self::matches) has said that it is for this listener.
    pub fn input(&self, meta: &IpMeta, seg: &Segment<'_>) -> Action {
        match in_listen(&meta.src, &meta.dst, seg) {
            Demand::Nothing => Action::Drop,
            Demand::Reset => reset_reply(meta, seg).map_or(Action::Drop, Action::Reply),
            Demand::Connection => Action::Accept(Request::new(meta, seg)),
        }
    }
}

/// What a segment that arrives in LISTEN calls for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Demand {
    Nothing,
    Reset,
    Connection,
}

/// A segment from `src` to `dst` arrives in LISTEN.
pub(crate) fn in_listen(src: &Addr, dst: &Addr, seg: &Segment<'_>) -> Demand {
    // First, check for a RST: it is ignored.
    if seg.flags.rst() {
        return Demand::Nothing;
    }
    // Second, check for an ACK: any acknowledgment is bad here.
    if seg.flags.ack() {
        return Demand::Reset;
    }
    // Third, check for a SYN. RFC 9293 §3.9.2.3, MUST-63 and MUST-57:
    // not from an invalid source, nor to a group.
    let group = |addr: &Addr| addr.is_multicast() || addr.is_unspecified();
    if !seg.flags.syn() || group(src) || group(dst) {
        return Demand::Nothing;
    }
    // A FIN or text on the SYN is not kept, nor acknowledged: the peer
    // retransmits both.
    Demand::Connection
}

/// The budget, in bytes.
const _: () = assert!(size_of::<Listener>() <= 28);
