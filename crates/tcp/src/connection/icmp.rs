//! What the network says about the path (RFC 9293 §3.9.2.2, RFC 5927).

use redpoll_base::{Bytes, Instant};

use super::Connection;
use crate::ahead::Span;
use crate::event::Trouble;
use crate::recovery::Loss;
use crate::send::SendStore;
use crate::state::Phase;
use crate::{Error, SeqNum};

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
    pub const fn is_hard(self) -> bool {
        matches!(self, IcmpKind::Prohibited | IcmpKind::PortUnreachable)
    }
}

/// RFC 8200 §5: no path takes less.
const IPV6_LEAST_MTU: u16 = 1280;

impl<B: Bytes, S: SendStore> Connection<B, S> {
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

    /// An ICMPv6 Packet Too Big that quoted a segment of this connection that
    /// began at `quoted`: the path takes packets of `mtu` bytes, it says.
    ///
    /// It is believed (RFC 5927 §7.2) if the quoted number is out, the MTU is
    /// one that IPv6 allows (RFC 8201 §4), and the segment does not get
    /// through: it has timed out since the last progress. Each retransmission
    /// that is too large brings a new message, so the true one is heard; a
    /// blind attacker would have to send during an outage.
    pub fn on_packet_too_big(&mut self, now: Instant, mtu: u16, quoted: SeqNum) {
        let is_out = self.snd.una <= quoted && quoted < self.snd.max();
        if is_out && mtu >= IPV6_LEAST_MTU && !self.rto.is_first() {
            self.on_path_mtu(now, mtu);
        }
    }

    /// The path takes IP packets of `mtu` bytes. The caller has checked that
    /// the message is genuine (RFC 8201 §4; RFC 5927 §7), or has it from
    /// elsewhere.
    ///
    /// A lower MTU makes segments smaller from now on. What is out and too
    /// large is sent again, and not as a sign of congestion; what the link is
    /// sending right now stays as it is.
    pub fn on_path_mtu(&mut self, now: Instant, mtu: u16) {
        self.timers.enter(now);
        let old = self.eff_snd_mss();
        if !self.size.on_path_mtu(mtu, self.option_space()) {
            return;
        }
        self.cc.on_smaller_mss(old, self.eff_snd_mss());
        if self.synchronized().is_some() && self.snd.flight() > 0 {
            for (span, stretch) in self.board.walk(Span::ALL) {
                if !self.pins.overlaps(span) {
                    stretch.lose();
                }
            }
            self.stats.on_loss(Loss::PathMtu);
        }
        self.settle();
    }
}
