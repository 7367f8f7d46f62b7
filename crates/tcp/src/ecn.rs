//! Explicit congestion notification (RFC 3168 §6.1): negotiation, echoes of marks, and one
//! reduction per window of data in response to echoes.

use redpoll_base::Ecn;

use crate::Flags;
use crate::ahead::Ahead;

/// The flags of an ECN-setup SYN (RFC 3168 §6.1.1).
const SETUP: Flags = Flags::ECE.with(Flags::CWR);

#[derive(Clone, Debug)]
pub(crate) struct EcnState {
    /// Whether both ends use ECN; during the handshake, whether this end wants to use ECN.
    enabled: bool,
    /// Flags that report to the peer. ECE: a mark arrived. CWR: the window was reduced.
    news: Flags,
    /// End of the data sent before the last reduction, plus one. Echoes for these data cause no
    /// further reduction.
    answered: Ahead,
}

impl EcnState {
    pub(crate) fn new(wanted: bool) -> Self {
        EcnState {
            enabled: wanted,
            news: Flags::NONE,
            answered: Ahead::UNA,
        }
    }

    /// Returns whether both ends use ECN, and whether a mark must be echoed.
    pub(crate) fn frozen(&self) -> (bool, bool) {
        (self.enabled, self.news.0 & Flags::ECE.0 != 0)
    }

    pub(crate) fn restore(&mut self, enabled: bool, echoes: bool) {
        self.enabled = enabled;
        self.news = if echoes { Flags::ECE } else { Flags::NONE };
    }

    /// Processes the flags of the peer's SYN, which has ACK if `is_answer`. RFC 3168 §6.1.1: an
    /// ECN-setup SYN has both flags, an ECN-setup SYN-ACK only ECE.
    pub(crate) fn on_peer_syn(&mut self, flags: Flags, is_answer: bool) {
        let expected = if is_answer { Flags::ECE } else { SETUP };
        self.enabled &= flags.0 & SETUP.0 == expected.0;
    }

    /// Disables ECN after two of our SYNs were lost, because a middlebox may have dropped them for
    /// their flags (RFC 3168 §6.1.1.1). One loss does not suffice, because a loss on a radio link
    /// is more likely than such a middlebox. In managed queues, a connection without ECN gets less
    /// than its share.
    pub(crate) fn on_syns_lost(&mut self) {
        self.enabled = false;
    }

    /// Returns the ECN flags of our SYN, or of the SYN-ACK if `is_answer`.
    pub(crate) fn syn_flags(&self, is_answer: bool) -> Flags {
        match (self.enabled, is_answer) {
            (false, _) => Flags::NONE,
            (true, false) => SETUP,
            (true, true) => Flags::ECE,
        }
    }

    /// Returns the ECN flags of a segment without SYN: ECE while a mark is echoed, and CWR with the
    /// first new data after a reduction (RFC 3168 §6.1.2).
    pub(crate) fn flags(&self, is_new_data: bool) -> Flags {
        if is_new_data {
            self.news
        } else {
            self.news.without(Flags::CWR)
        }
    }

    /// Returns the ECN field of a packet: ECT(0) only for new data (RFC 3168 §6.1.4 to §6.1.6).
    pub(crate) fn field(&self, is_new_data: bool) -> Ecn {
        if self.enabled && is_new_data {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        }
    }

    /// Clears CWR after a segment with new data was sent.
    pub(crate) fn on_new_data_sent(&mut self) {
        self.news = self.news.without(Flags::CWR);
    }

    /// Processes data inside the window (RFC 3168 §6.1.3): CWR ends the echo of earlier marks, and
    /// a mark starts a new echo.
    pub(crate) fn on_data(&mut self, field: Ecn, flags: Flags) {
        if self.enabled && field == Ecn::Ce {
            self.news = self.news.with(Flags::ECE);
        } else if flags.contains(Flags::CWR) {
            self.news = self.news.without(Flags::ECE);
        }
    }

    /// Returns whether an acknowledgment with these flags reports a mark (RFC 3168 §6.1.2).
    pub(crate) fn is_echo(&self, flags: Flags) -> bool {
        self.enabled && flags.contains(Flags::ECE)
    }

    /// Returns whether an echo calls for a reduction: once per window.
    pub(crate) fn is_news(&self) -> bool {
        self.answered == Ahead::UNA
    }

    /// Records a reduction of the window, for any reason: echoes for the `flight` outstanding bytes
    /// cause no further reduction.
    pub(crate) fn on_reduced(&mut self, flight: u32) {
        if self.enabled {
            self.news = self.news.with(Flags::CWR);
        }
        self.answered = Ahead::by(flight.wrapping_add(1));
    }

    pub(crate) fn on_advance(&mut self, advance: u32) {
        self.answered.on_advance(advance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ecn_needs_both_ends() {
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
        assert_eq!(ecn.flags(false), Flags::ECE, "a new mark");
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
