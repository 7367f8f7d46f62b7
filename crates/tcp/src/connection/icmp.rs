//! ICMP errors and the path MTU (RFC 9293 §3.9.2.2, RFC 5927).

use redpoll_base::{Bytes, Instant};

use super::Connection;
use super::marks::Marks;
use crate::ahead::Span;
use crate::congestion::Congestion;
use crate::event::Trouble;
use crate::recovery::Loss;
use crate::send::SendStore;
use crate::state::Phase;
use crate::{Algorithms, Error, SeqNum, pmtu};

/// The kind of an ICMPv6 error message that quotes one of our segments (RFC 4443).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IcmpKind {
    /// Destination Unreachable, code 0: no route.
    NoRoute,
    /// Destination Unreachable, code 1: administratively prohibited.
    Prohibited,
    /// Destination Unreachable, code 3: address unreachable.
    AddressUnreachable,
    /// Destination Unreachable, code 4: port unreachable.
    PortUnreachable,
    /// Time Exceeded, any code.
    TimeExceeded,
    /// Parameter Problem, any code.
    ParameterProblem,
}

impl IcmpKind {
    /// Returns whether RFC 9293 §3.9.2.2 classifies the message as a hard error.
    pub(crate) const fn is_hard(self) -> bool {
        matches!(self, IcmpKind::Prohibited | IcmpKind::PortUnreachable)
    }
}

/// RFC 8200 §5: every path carries packets of this size, in bytes.
const IPV6_LEAST_MTU: u16 = 1280;

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// Processes an ICMP error that quoted a segment of this connection; `quoted` is the segment's
    /// sequence number. A hard error ends an attempt to connect. A synchronised connection treats
    /// every error as soft (RFC 5927 §5.2) and reports it.
    pub fn on_icmp(&mut self, now: Instant, kind: IcmpKind, quoted: SeqNum) {
        self.timers.enter(now);
        // RFC 5927 §4.1: the quoted sequence number must be outstanding.
        if !(self.snd.una <= quoted && quoted < self.snd.max()) {
            return;
        }
        match self.phase {
            Phase::SynSent(_) | Phase::SynReceived(_) if kind.is_hard() => {
                self.fail(match kind {
                    IcmpKind::PortUnreachable => Error::Refused,
                    _ => Error::Unreachable,
                });
            }
            Phase::Closed(_) => {}
            // MUST-56: a soft error does not abort the connection. SHLD-25: it is reported.
            _ => self.events.trouble(Trouble::Icmp),
        }
        self.settle();
    }

    /// Processes an ICMPv6 Packet Too Big that quoted a segment of this connection. `mtu` is the
    /// reported MTU in bytes, and `quoted` the segment's sequence number. Does nothing without the
    /// feature `large-windows`.
    ///
    /// The message is accepted (RFC 5927 §7.2) under three conditions. The quoted number is
    /// outstanding, and IPv6 allows the MTU (RFC 8201 §4). In addition, no full-sized segment was
    /// acknowledged, or the retransmission timer has expired since SND.UNA advanced. An ignored
    /// message is repeated: each retransmission that is too large elicits one. A blind attacker
    /// must therefore send during an outage or before the first full-sized segment is acknowledged.
    pub fn on_packet_too_big(&mut self, now: Instant, mtu: u16, quoted: SeqNum) {
        if !pmtu::ON {
            return;
        }
        let is_out = self.snd.una <= quoted && quoted < self.snd.max();
        let is_doubtful = !self.rto.is_first() || !self.marks.has(Marks::PROVEN);
        if is_out && mtu >= IPV6_LEAST_MTU && is_doubtful {
            self.on_path_mtu(now, mtu);
        }
    }

    /// Applies a path MTU of `mtu` bytes. The caller must have verified the message (RFC 8201 §4;
    /// RFC 5927 §7) or know the MTU from another source. Does nothing without the feature
    /// `large-windows`. A lower MTU reduces the size of later segments. Outstanding segments that
    /// are too large are retransmitted, without a reduction of the congestion window. Segments that
    /// the link holds do not change.
    pub fn on_path_mtu(&mut self, now: Instant, mtu: u16) {
        if !pmtu::ON {
            return;
        }
        self.timers.enter(now);
        self.shrink_segments(mtu);
        self.settle();
    }

    fn shrink_segments(&mut self, mtu: u16) {
        let old = self.eff_snd_mss();
        if !self.size.on_path_mtu(mtu, self.option_space()) {
            return;
        }
        let mss = self.eff_snd_mss();
        self.cc.on_smaller_mss(old, &self.flow());
        if self.synchronized().is_some() && self.snd.flight() > 0 {
            for (span, stretch) in self.board.walk(Span::ALL) {
                if span.len() > mss && !self.pins.overlaps(span) {
                    stretch.lose();
                }
            }
            self.stats.on_loss(Loss::PathMtu);
        }
    }

    /// Limits segments to the minimum MTU of IPv6 (RFC 8200 §5) after a repeated timeout, if the
    /// missing segment may have been larger. RFC 9293 §3.7.2: not every path reports packets that
    /// are too large.
    pub(super) fn suspect_path_mtu(&mut self) {
        let headers = pmtu::HEADERS.wrapping_add(self.option_space());
        if pmtu::ON && self.snd.flight() > u32::from(IPV6_LEAST_MTU.wrapping_sub(headers)) {
            self.shrink_segments(IPV6_LEAST_MTU);
        }
    }

    /// Records that the peer has received a full-sized segment (RFC 5927 §7.2: maxsizeacked). One
    /// acknowledgment covers `advance` new bytes. If these are as many bytes as a full-sized
    /// segment has, the sender assumes that they were one segment.
    pub(super) fn note_segment_size(&mut self, advance: u32) {
        if pmtu::ON && advance >= self.eff_snd_mss() {
            self.marks.set(Marks::PROVEN);
        }
    }
}
