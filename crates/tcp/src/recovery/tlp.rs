//! TLP: the tail loss probe (RFC 8985 §7).

use super::rack::ON;
use crate::ahead::Ahead;
use crate::{SeqNum, SeqRange};

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Probe {
    /// No probe is outstanding.
    #[default]
    None,
    /// A probe must be sent.
    Due,
    /// A probe with new data is outstanding.
    New,
    /// A probe with old data is outstanding (TLP.is_retrans).
    Again,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tlp {
    /// End of the probe while it is outstanding. Outside recovery, this is TLP.end_seq.
    end_seq: Ahead,
    probe: Probe,
    /// Whether a round-trip time was measured since the last probe, or since the connection opened.
    measured: bool,
}

impl Tlp {
    /// Cancels the probe (RFC 8985 §7.1), because recovery starts or no data are left to probe for.
    pub(crate) fn reset(&mut self) {
        self.probe = Probe::None;
    }

    pub(crate) fn is_due(&self) -> bool {
        ON && self.probe == Probe::Due
    }

    pub(crate) fn is_active(&self) -> bool {
        self.probe != Probe::None
    }

    pub(crate) fn is_repeat(&self) -> bool {
        ON && self.probe == Probe::Again
    }

    /// Processes the expiry of the timer (RFC 8985 §7.3). A probe follows, unless one is
    /// outstanding or no round-trip time was measured since the last one.
    pub(crate) fn on_timeout(&mut self) {
        if ON && self.measured && !self.is_active() {
            self.probe = Probe::Due;
        }
    }

    /// Records the transmission of the probe, which ends at `end`.
    pub(crate) fn on_sent(&mut self, end: Ahead, is_retrans: bool) {
        *self = Tlp {
            end_seq: end,
            probe: if is_retrans { Probe::Again } else { Probe::New },
            measured: false,
        };
    }

    pub(crate) fn on_rtt(&mut self) {
        self.measured = true;
    }

    /// Processes an ACK that advances SND.UNA from `una` (RFC 8985 §7.4.2). Returns whether the
    /// probe repaired a loss that nothing else reports. `dsack` is the duplicate that the ACK
    /// reports, and `is_bare` marks a duplicate ACK without SACK.
    pub(crate) fn on_ack(
        &mut self,
        una: SeqNum,
        advance: u32,
        dsack: Option<SeqRange>,
        is_bare: bool,
    ) -> bool {
        if !ON {
            return false;
        }
        let end = self.end_seq.bytes();
        self.end_seq.on_advance(advance);
        let both_arrived = is_bare || dsack.is_some_and(|block| block.end == una + end);
        match self.probe {
            Probe::None | Probe::Due => self.reset(),
            Probe::New if end <= advance => self.reset(),
            Probe::Again if end < advance || (end == advance && both_arrived) => {
                self.reset();
                return !both_arrived;
            }
            Probe::New | Probe::Again => {}
        }
        false
    }
}

#[cfg(test)]
#[cfg(feature = "rack-tlp")]
mod tests {
    use super::*;

    const UNA: SeqNum = SeqNum(u32::MAX - 450);

    fn probed(is_retrans: bool) -> Tlp {
        let mut tlp = Tlp::default();
        tlp.on_timeout();
        assert!(!tlp.is_due(), "no RTT was measured since the start");
        tlp.on_rtt();
        tlp.on_timeout();
        assert!(tlp.is_due());
        tlp.on_sent(Ahead::by(500), is_retrans);
        tlp
    }

    #[test]
    fn one_probe_a_measurement() {
        let mut tlp = probed(false);
        tlp.on_timeout();
        assert!(!tlp.is_due(), "a probe is in flight");
        assert!(!tlp.on_ack(UNA, 500, None, false));
        tlp.on_timeout();
        assert!(!tlp.is_due(), "no RTT was measured since the probe");
        tlp.on_rtt();
        tlp.on_timeout();
        assert!(tlp.is_due());
    }

    #[test]
    fn a_repaired_loss_shows_when_later_data_is_acknowledged() {
        let mut tlp = probed(true);
        assert!(!tlp.on_ack(UNA, 400, None, false));
        assert!(!tlp.on_ack(UNA + 400, 100, None, false), "not sure yet");
        assert!(tlp.on_ack(UNA + 500, 1, None, false));
        assert!(!tlp.is_active());
    }

    #[test]
    fn a_duplicate_shows_that_no_segment_was_lost() {
        let block = SeqRange::new(UNA + 400, UNA + 500);
        let mut tlp = probed(true);
        assert!(!tlp.on_ack(UNA, 500, None, false));
        assert!(!tlp.on_ack(UNA + 500, 0, Some(block), false));
        assert!(!tlp.on_ack(UNA + 500, 100, None, false));
        let mut tlp = probed(true);
        assert!(!tlp.on_ack(UNA, 500, None, true));
        assert!(!tlp.is_active());
    }
}
