//! The virtual time of [`Lead`](super::Lead): the mean progress of the flows.

use redpoll_base::{Duration, Instant};

use super::params::Lead;

/// Interval between two counts of the active flows.
const COUNTS: Duration = Duration::from_secs(1);
/// Units of virtual time per byte.
const PARTS: u64 = 256;

#[derive(Clone, Copy, Debug)]
pub(super) struct VirtualTime {
    /// The virtual time, in 256ths of a byte.
    now: u64,
    /// Active flows, at least one.
    flows: u64,
    count_at: Instant,
}

impl VirtualTime {
    pub(super) const START: VirtualTime = VirtualTime {
        // The initial value is so large that a flow's progress, which may be behind `now` by the
        // slack, is positive.
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

    /// Adds one to the number of active flows, for a flow that became active since the last count.
    pub(super) fn on_more(&mut self) {
        self.flows = self.flows.saturating_add(1);
    }

    /// Returns whether a flow that is in the lead until the virtual time `lead_from` may send now.
    pub(super) fn admits(&self, lead_from: u64) -> bool {
        lead_from <= self.now
    }

    /// Limits how far a flow that begins, or had no data, is behind the virtual time.
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
    /// Progress of the flow in virtual time, in 256ths of a byte.
    progress: u64,
    largest: u32,
}

impl Pace {
    pub(super) const NEW: Pace = Pace {
        progress: 0,
        largest: 0,
    };

    /// Returns the virtual time until which the flow is ahead.
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

    /// Returns a flow with segments of 10 bytes.
    fn begin(time: &VirtualTime) -> Pace {
        let mut pace = Pace {
            largest: 10,
            ..Pace::NEW
        };
        time.catch_up(&LEAD, &mut pace);
        pace
    }

    #[test]
    fn a_flow_runs_ahead_by_at_most_the_slack() {
        let mut time = VirtualTime::START;
        time.on_counted(Instant::ZERO, 2);
        let [mut a, mut b] = [begin(&time); 2];
        // The flow moves from 100 bytes behind the mean to 100 bytes ahead of it. Each segment of
        // 10 bytes also advances the mean by 5 bytes. One more segment is sent at the limit.
        assert_eq!(serve(&mut time, &mut a), 41);
        assert_eq!(serve(&mut time, &mut b), 82);
        assert_eq!(serve(&mut time, &mut a), 82);
    }

    #[test]
    fn a_lone_flow_is_never_ahead() {
        let mut time = VirtualTime::START;
        time.on_counted(Instant::ZERO, 1);
        let mut a = begin(&time);
        assert_eq!(serve(&mut time, &mut a), 1_000);
    }

    #[test]
    fn an_idle_flow_falls_behind_by_at_most_the_slack() {
        let mut time = VirtualTime::START;
        time.on_counted(Instant::ZERO, 1);
        let mut a = begin(&time);
        let mut b = a;
        serve(&mut time, &mut a);
        time.catch_up(&LEAD, &mut b);
        assert_eq!(time.now - b.progress, 100 * PARTS);
    }
}
