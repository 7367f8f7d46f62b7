//! Explicit congestion notification (RFC 3168 §6.1): negotiating it, echoing
//! marks, and answering echoes once for each window of data.

use redpoll_base::Ecn;

use crate::Flags;
use crate::ahead::Ahead;

/// The flags of an ECN-setup SYN (RFC 3168 §6.1.1).
const SETUP: Flags = Flags::ECE.with(Flags::CWR);

/// The ECN state of a connection.
#[derive(Clone, Debug)]
pub(crate) struct EcnState {
    /// Both ends take part; before the handshake is over, we would.
    enabled: bool,
    /// What the peer does not know yet. ECE: a mark arrived; CWR: the window
    /// was reduced.
    news: Flags,
    /// What was sent before the last reduction has had its answer. One beyond
    /// its end: SND.UNA once more than it is acknowledged.
    answered: Ahead,
}

impl EcnState {
    /// `wanted` by the configuration; for an active opener.
    pub(crate) fn new(wanted: bool) -> Self {
        EcnState {
            enabled: wanted,
            news: Flags::NONE,
            answered: Ahead::UNA,
        }
    }

    /// Whether both ends take part, and whether a mark is to be echoed.
    pub(crate) fn frozen(&self) -> (bool, bool) {
        (self.enabled, self.news.0 & Flags::ECE.0 != 0)
    }

    /// What [`frozen`](Self::frozen) said.
    pub(crate) fn restore(&mut self, enabled: bool, echoes: bool) {
        self.enabled = enabled;
        self.news = if echoes { Flags::ECE } else { Flags::NONE };
    }

    /// The peer's SYN arrived, with ACK if `is_answer`. §6.1.1: an ECN-setup
    /// SYN has both flags, an ECN-setup SYN-ACK only ECE.
    pub(crate) fn on_peer_syn(&mut self, flags: Flags, is_answer: bool) {
        let expected = if is_answer { Flags::ECE } else { SETUP };
        self.enabled &= flags.0 & SETUP.0 == expected.0;
    }

    /// Two of our SYNs were lost. §6.1.1.1: something on the way may have dropped
    /// them for their flags. What follows has none, and then there is no ECN. Not
    /// after the first: a radio link loses more than such things do, and where
    /// queues are managed a connection without ECN has less than its share.
    pub(crate) fn on_syns_lost(&mut self) {
        self.enabled = false;
    }

    /// What a SYN carries besides SYN, with ACK if `is_answer`.
    pub(crate) fn syn_flags(&self, is_answer: bool) -> Flags {
        match (self.enabled, is_answer) {
            (false, _) => Flags::NONE,
            (true, false) => SETUP,
            (true, true) => Flags::ECE,
        }
    }

    /// What another segment carries: ECE while a mark is echoed; CWR with the
    /// first new data after a reduction (§6.1.2).
    pub(crate) fn flags(&self, is_new_data: bool) -> Flags {
        if is_new_data {
            self.news
        } else {
            self.news.without(Flags::CWR)
        }
    }

    /// The ECN field of a packet: ECT(0) on new data only (§6.1.4 to §6.1.6).
    pub(crate) fn field(&self, is_new_data: bool) -> Ecn {
        if self.enabled && is_new_data {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        }
    }

    /// A segment with new data left.
    pub(crate) fn on_new_data_sent(&mut self) {
        self.news = self.news.without(Flags::CWR);
    }

    /// Data inside the window arrived (§6.1.3): CWR ends the echo of what was
    /// before it, a mark begins another.
    pub(crate) fn on_data(&mut self, field: Ecn, flags: Flags) {
        if self.enabled && field == Ecn::Ce {
            self.news = self.news.with(Flags::ECE);
        } else if flags.contains(Flags::CWR) {
            self.news = self.news.without(Flags::ECE);
        }
    }

    /// Whether an acknowledgment with these flags tells of a mark (§6.1.2).
    pub(crate) fn is_echo(&self, flags: Flags) -> bool {
        self.enabled && flags.contains(Flags::ECE)
    }

    /// Whether an echo calls for a reduction: once a window.
    pub(crate) fn is_news(&self) -> bool {
        self.answered == Ahead::UNA
    }

    /// The window was reduced, for whatever reason; the `flight` bytes that are
    /// out are answered for.
    pub(crate) fn on_reduced(&mut self, flight: u32) {
        if self.enabled {
            self.news = self.news.with(Flags::CWR);
        }
        self.answered = Ahead::by(flight.wrapping_add(1));
    }

    /// SND.UNA moved by `advance`.
    pub(crate) fn on_advance(&mut self, advance: u32) {
        self.answered.on_advance(advance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_must_want_it() {
        for (flags, is_answer, agreed) in [
            (SETUP, false, true),
            (Flags::ECE, false, false),
            (Flags::NONE, false, false),
            (Flags::ECE, true, true),
            (SETUP, true, false),
            (Flags::NONE, true, false),
        ] {
            let mut ecn = EcnState::new(true);
            ecn.on_peer_syn(flags, is_answer);
            assert_eq!(ecn.field(true).is_capable(), agreed);
            let mut ecn = EcnState::new(false);
            ecn.on_peer_syn(flags, is_answer);
            assert!(!ecn.field(true).is_capable());
        }
    }

    #[test]
    fn a_mark_is_echoed_until_cwr() {
        let mut ecn = EcnState::new(true);
        ecn.on_data(Ecn::Ect0, Flags::ACK);
        assert_eq!(ecn.flags(false), Flags::NONE);
        ecn.on_data(Ecn::Ce, Flags::ACK);
        ecn.on_data(Ecn::Ect0, Flags::ACK);
        assert_eq!(ecn.flags(false), Flags::ECE);
        ecn.on_data(Ecn::Ce, Flags::CWR);
        assert_eq!(ecn.flags(false), Flags::ECE, "marked anew");
        ecn.on_data(Ecn::Ect0, Flags::CWR);
        assert_eq!(ecn.flags(false), Flags::NONE);
    }

    #[test]
    fn one_reduction_for_a_window() {
        let mut ecn = EcnState::new(true);
        ecn.on_advance(10);
        assert!(ecn.is_echo(Flags::ECE) && ecn.is_news());
        ecn.on_reduced(100);
        ecn.on_advance(100);
        assert!(!ecn.is_news());
        ecn.on_advance(1);
        assert!(ecn.is_news());
        assert_eq!(ecn.flags(false), Flags::NONE);
        assert_eq!(ecn.flags(true), Flags::CWR);
        ecn.on_new_data_sent();
        assert_eq!(ecn.flags(true), Flags::NONE);
    }
}
