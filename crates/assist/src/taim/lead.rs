//! The virtual time of [`Lead`](super::Lead): the mean flow's progress.

use redpoll_base::{Duration, Instant};

use super::params::Lead;

/// How often flows are counted.
const COUNTS: Duration = Duration::from_secs(1);
/// Parts of a byte that are counted.
const PARTS: u64 = 256;

#[derive(Clone, Copy, Debug)]
pub(super) struct VirtualTime {
    /// In 256ths of a byte.
    now: u64,
    /// Flows that are active, at least one.
    flows: u64,
    count_at: Instant,
}

impl VirtualTime {
    pub(super) const START: VirtualTime = VirtualTime {
        // So large that no flow is behind it by more than any slack.
        now: 1 << 48,
        flows: 1,
        count_at: Instant::ZERO,
    };

    pub(super) fn count_at(&self) -> Instant {
        self.count_at
    }

    pub(super) fn on_counted(&mut self, now: Instant, flows: u64) {
        self.flows = flows.max(1);
        self.count_at = now + COUNTS;
    }

    /// A flow has become active that was not counted.
    pub(super) fn on_more(&mut self) {
        self.flows = self.flows.saturating_add(1);
    }

    /// Whether a flow may go on that is not in the lead before then.
    pub(super) fn admits(&self, lead_from: u64) -> bool {
        lead_from <= self.now
    }

    /// The flow may have had nothing to send for a while, or begins.
    pub(super) fn catch_up(&self, lead: &Lead, pace: &mut Pace) {
        pace.progress = pace.progress.max(self.now.saturating_sub(pace.slack(lead)));
    }

    pub(super) fn on_served(&mut self, lead: &Lead, pace: &mut Pace, bytes: u32) {
        pace.largest = pace.largest.max(bytes);
        let served = u64::from(bytes).saturating_mul(PARTS);
        let share = served.checked_div(self.flows).unwrap_or(served);
        let share = share.saturating_add(lead.gain.of(share));
        self.now = self.now.saturating_add(share);
        pace.progress = pace.progress.saturating_add(served);
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// In 256ths of a byte of virtual time.
    progress: u64,
    /// Bytes of its largest segment.
    largest: u32,
}

impl Pace {
    pub(super) const NEW: Pace = Pace {
        progress: 0,
        largest: 0,
    };

    /// Before then, in virtual time, it is in the lead.
    pub(super) fn lead_from(&self, lead: &Lead) -> u64 {
        self.progress.saturating_sub(self.slack(lead))
    }

    fn slack(&self, lead: &Lead) -> u64 {
        let bytes = u64::from(lead.slack).saturating_mul(self.largest.into());
        bytes.saturating_mul(PARTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taim::Share;

    const LEAD: Lead = Lead {
        slack: 10,
        gain: Share::from_millionths(0),
        active: Duration::from_secs(10),
        max_hold: Duration::from_secs(1),
    };

    fn serve(time: &mut VirtualTime, flow: &mut Pace) -> u32 {
        let mut times = 0;
        while time.admits(flow.lead_from(&LEAD)) && times < 1_000 {
            time.on_served(&LEAD, flow, 10);
            times += 1;
        }
        times
    }

    /// A flow with segments of 10 bytes.
    fn begin(time: &VirtualTime) -> Pace {
        let mut pace = Pace {
            largest: 10,
            ..Pace::NEW
        };
        time.catch_up(&LEAD, &mut pace);
        pace
    }

    #[test]
    fn a_flow_goes_ahead_by_the_slack_and_on_with_the_others() {
        let mut time = VirtualTime::START;
        time.on_counted(Instant::ZERO, 2);
        let [mut a, mut b] = [begin(&time); 2];
        // From 100 behind: of each 10 bytes it gains 5 on the mean.
        assert_eq!(serve(&mut time, &mut a), 41);
        assert_eq!(serve(&mut time, &mut b), 82);
        assert_eq!(serve(&mut time, &mut a), 82);
    }

    #[test]
    fn alone_it_is_never_in_the_lead() {
        let mut time = VirtualTime::START;
        time.on_counted(Instant::ZERO, 1);
        let mut a = begin(&time);
        assert_eq!(serve(&mut time, &mut a), 1_000);
    }

    #[test]
    fn who_had_nothing_to_send_saves_the_slack_and_no_more() {
        let mut time = VirtualTime::START;
        time.on_counted(Instant::ZERO, 1);
        let mut a = begin(&time);
        let mut b = a;
        serve(&mut time, &mut a);
        time.catch_up(&LEAD, &mut b);
        assert_eq!(time.now - b.progress, 100 * PARTS);
    }
}
