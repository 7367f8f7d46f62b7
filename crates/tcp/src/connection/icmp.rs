//! What the network says about the path (RFC 9293 §3.9.2.2, RFC 5927).

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

/// An ICMPv6 error message that quoted a segment of ours (RFC 4443).
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
    /// Whether RFC 9293 §3.9.2.2 counts the message as a hard error.
    pub(crate) const fn is_hard(self) -> bool {
        matches!(self, IcmpKind::Prohibited | IcmpKind::PortUnreachable)
    }
}

/// RFC 8200 §5: no path takes less.
const IPV6_LEAST_MTU: u16 = 1280;

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// An ICMP error quoted a segment of this connection that began at `quoted`.
    ///
    /// A hard error ends an attempt to connect. A synchronised connection
    /// takes every error for a soft one (RFC 5927 §5.2) and reports it.
    pub fn on_icmp(&mut self, now: Instant, kind: IcmpKind, quoted: SeqNum) {
        self.timers.enter(now);
        // RFC 5927 §4.1: the quoted number must be one that is out.
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
            // MUST-56: a soft error does not abort; SHLD-25: it is reported.
            _ => self.events.trouble(Trouble::Icmp),
        }
        self.settle();
    }

    /// An ICMPv6 Packet Too Big quoted a segment of this connection that began
    /// at `quoted`: according to it, the path takes packets of `mtu` bytes.
    /// Does nothing without the feature `large-windows`.
    ///
    /// The message counts (RFC 5927 §7.2) if the quoted number is out, the MTU
    /// is one that IPv6 allows (RFC 8201 §4), and the segment may not have got
    /// through: none as large was acknowledged yet, or this one has timed out
    /// since the last progress. Each retransmission that is too large brings a
    /// new message. A blind attacker has to send during an outage, or before
    /// the first full-sized segment is acknowledged.
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

    /// The path takes IP packets of `mtu` bytes. The caller has checked that
    /// the message is genuine (RFC 8201 §4; RFC 5927 §7), or has it from
    /// elsewhere. Does nothing without the feature `large-windows`.
    ///
    /// A lower MTU makes segments smaller from now on. What is out and too
    /// large is sent again, and not as a sign of congestion; what the link is
    /// sending right now stays as it is.
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

    /// A segment has timed out again. RFC 9293 §3.7.2: not every path reports
    /// what is too large for it. From now on segments are no larger than what
    /// every path of IPv6 takes (RFC 8200 §5), if the one that is missing may
    /// have been.
    pub(super) fn suspect_path_mtu(&mut self) {
        let headers = pmtu::HEADERS.wrapping_add(self.option_space());
        if pmtu::ON && self.snd.flight() > u32::from(IPV6_LEAST_MTU.wrapping_sub(headers)) {
            self.shrink_segments(IPV6_LEAST_MTU);
        }
    }

    /// `advance` bytes were acknowledged at once: as many as in a full-sized
    /// segment, and so probably one such (RFC 5927 §7.2: maxsizeacked).
    pub(super) fn note_segment_size(&mut self, advance: u32) {
        if pmtu::ON && advance >= self.eff_snd_mss() {
            self.marks.set(Marks::PROVEN);
        }
    }
}
