//! TLP: a probe for losses at the tail (RFC 8985 §7).

use crate::{SeqNum, SeqRange};

/// The tail loss probe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tlp {
    /// TLP.end_seq, while a probe is under way.
    end_seq: SeqNum,
    is_out: bool,
    /// TLP.is_retrans.
    is_retrans: bool,
    /// A round-trip time was measured since the last probe, or since the start.
    measured: bool,
    /// A probe is to be sent.
    due: bool,
}

impl Tlp {
    /// §7.1: recovery begins, or there is nothing to probe for.
    pub(crate) fn reset(&mut self) {
        self.is_out = false;
        self.is_retrans = false;
        self.due = false;
    }

    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// Whether a probe is under way or waits to be.
    pub(crate) fn is_active(&self) -> bool {
        self.due || self.is_out
    }

    /// §7.3: the timer ran out. A probe follows, unless one is still out or
    /// no round-trip time was measured since the last.
    pub(crate) fn on_timeout(&mut self) {
        self.due = !self.is_out && self.measured;
    }

    /// The probe left; everything before `nxt` is out.
    pub(crate) fn on_sent(&mut self, nxt: SeqNum, is_retrans: bool) {
        *self = Tlp {
            end_seq: nxt,
            is_out: true,
            is_retrans,
            measured: false,
            due: false,
        };
    }

    /// A round-trip time was measured.
    pub(crate) fn on_rtt(&mut self) {
        self.measured = true;
    }

    /// §7.4.2: an ACK arrived. Returns whether the probe has repaired a loss
    /// that nothing else tells of. `dsack` is the duplicate that the ACK
    /// reports, `is_bare` says that it is a duplicate ACK without SACK.
    pub(crate) fn on_ack(&mut self, ack: SeqNum, dsack: Option<SeqRange>, is_bare: bool) -> bool {
        self.due = false;
        let end = self.end_seq;
        let is_reached = self.is_out && end <= ack;
        if !is_reached {
            return false;
        }
        let both_arrived = dsack.is_some_and(|block| block.end == end) || is_bare;
        let done = !self.is_retrans || both_arrived || end < ack;
        let repaired = done && self.is_retrans && !both_arrived;
        if done {
            self.is_out = false;
        }
        repaired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probed(is_retrans: bool) -> Tlp {
        let mut tlp = Tlp::default();
        tlp.on_timeout();
        assert!(!tlp.is_due(), "nothing was measured since the start");
        tlp.on_rtt();
        tlp.on_timeout();
        assert!(tlp.is_due());
        tlp.on_sent(SeqNum(500), is_retrans);
        tlp
    }

    #[test]
    fn one_probe_a_measurement() {
        let mut tlp = probed(false);
        tlp.on_timeout();
        assert!(!tlp.is_due(), "one is out");
        assert!(!tlp.on_ack(SeqNum(500), None, false));
        tlp.on_timeout();
        assert!(!tlp.is_due(), "nothing was measured");
        tlp.on_rtt();
        tlp.on_timeout();
        assert!(tlp.is_due());
    }

    #[test]
    fn a_repaired_loss_shows_when_later_data_is_acknowledged() {
        let mut tlp = probed(true);
        assert!(!tlp.on_ack(SeqNum(400), None, false));
        assert!(!tlp.on_ack(SeqNum(500), None, false), "not sure yet");
        assert!(tlp.on_ack(SeqNum(501), None, false));
        assert!(!tlp.is_active());
    }

    #[test]
    fn a_duplicate_says_that_nothing_was_lost() {
        let block = SeqRange::new(SeqNum(400), SeqNum(500));
        let mut tlp = probed(true);
        assert!(!tlp.on_ack(SeqNum(500), Some(block), false));
        assert!(!tlp.on_ack(SeqNum(600), None, false));
        let mut tlp = probed(true);
        assert!(!tlp.on_ack(SeqNum(500), None, true));
        assert!(!tlp.is_active());
    }
}
