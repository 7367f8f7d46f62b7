//! Whether flows compete for a slow network: only then packets wait ([`Contention`]).

use redpoll_base::{Duration, Instant};

use super::params::Contention;

const CHECKS: Duration = Duration::from_secs(2);
/// After this many checks with waiting packets, packets pass for one interval, in which they show
/// how fast the network is.
const TRIES: u32 = 15;
/// A network counts as slow if it carries at most this number of packets per `delaytime`, TAiM's
/// interval between packets that leave. The number is above 1 because `delaytime` may not have
/// adapted to the network yet.
const FASTER: u64 = 2;
/// Amount that a packet adds to [`Recent`].
const PARTS: u32 = 16;

/// Packets of a flow, times [`PARTS`]. Halved at each check, so about two intervals count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recent(u32);

impl Recent {
    pub(super) const NONE: Recent = Recent(0);

    pub(super) fn on_packet(&mut self) {
        self.0 = self.0.saturating_add(PARTS);
    }

    /// Ends an interval. Returns whether the flow always had a packet under way: whether the sum is
    /// at least one packet for each round-trip time in an interval.
    pub(super) fn was_busy(&mut self, rtt: Duration) -> bool {
        let sum = u64::from(self.0);
        self.0 >>= 1;
        let whole = u64::from(PARTS).saturating_mul(CHECKS.as_micros());
        sum.saturating_mul(rtt.as_micros()) >= whole
    }
}

/// Number and total round-trip time of the flows that always have a packet under way.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Busy {
    pub(super) flows: u64,
    /// Sum of the flows' round-trip times, in microseconds.
    pub(super) round_trips_us: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Contest {
    is_on: bool,
    /// Consecutive checks with waiting packets.
    checks: u32,
    /// The beginning of the interval; `None` before the first packet.
    began: Option<Instant>,
    /// Packets of confirmed flows in the interval.
    packets: u64,
}

impl Contest {
    pub(super) fn new(contention: Option<&Contention>) -> Self {
        Contest {
            is_on: contention.is_none(),
            checks: 0,
            began: None,
            packets: 0,
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    pub(super) fn on_packet(&mut self) {
        self.packets = self.packets.saturating_add(1);
    }

    /// Returns whether a check is due; the first call starts the first interval.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let began = *self.began.get_or_insert(now);
        now.since(began) >= CHECKS
    }

    pub(super) fn check_at(&self) -> Option<Instant> {
        self.began.map(|began| began + CHECKS)
    }

    /// Ends an interval. In an interval without waiting packets, the packets and the round-trip
    /// times show whether the network is slow.
    pub(super) fn check(
        &mut self,
        now: Instant,
        contention: &Contention,
        delay_ns: u64,
        busy: Busy,
    ) {
        let lasted = now.since(self.began.unwrap_or(now)).as_micros();
        self.began = Some(now);
        let packets = core::mem::take(&mut self.packets);
        let is_crowded = busy.flows >= u64::from(contention.flows.max(1));
        if self.is_on {
            self.checks = self.checks.saturating_add(1);
            self.is_on = is_crowded && self.checks < TRIES;
            return;
        }
        self.checks = 0;
        // Whether the mean, `us` microseconds divided by `count`, is at least half of `delaytime`.
        let is_slow = |us: u64, count: u64| {
            us.saturating_mul(1_000).saturating_mul(FASTER) >= delay_ns.saturating_mul(count)
        };
        self.is_on =
            is_crowded && is_slow(busy.round_trips_us, busy.flows) && is_slow(lasted, packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY_NS: u64 = 50_000_000;

    fn at(checks: u64) -> Instant {
        Instant::from_micros(checks * CHECKS.as_micros())
    }

    /// Makes check `n` after `packets` packets. Returns whether packets wait.
    fn check(contest: &mut Contest, n: u64, packets: u64, flows: u64, rtt_ms: u64) -> bool {
        assert!(contest.is_due(at(n)));
        for _ in 0..packets {
            contest.on_packet();
        }
        let busy = Busy {
            flows,
            round_trips_us: flows * rtt_ms * 1_000,
        };
        contest.check(at(n), &Contention::default(), DELAY_NS, busy);
        contest.is_on()
    }

    fn begun() -> Contest {
        let mut contest = Contest::new(Some(&Contention::default()));
        assert!(!contest.is_on() && !contest.is_due(at(0)));
        contest
    }

    #[test]
    fn without_the_condition_packets_always_wait() {
        assert!(Contest::new(None).is_on());
    }

    #[test]
    fn one_flow_does_not_compete() {
        let mut contest = begun();
        assert!(!check(&mut contest, 1, 10, 1, 9_000));
        assert!(check(&mut contest, 2, 10, 2, 9_000));
        assert!(!check(&mut contest, 3, 10, 1, 9_000));
    }

    #[test]
    fn a_network_with_short_round_trips_is_no_bottleneck() {
        let mut contest = begun();
        assert!(!check(&mut contest, 1, 10, 2, 24));
        assert!(check(&mut contest, 2, 10, 2, 25));
    }

    #[test]
    fn a_network_that_carries_more_packets_is_no_bottleneck() {
        // 40 packets fit in 2 s (one per `delaytime`). With more than 80, there is no bottleneck.
        let mut contest = begun();
        assert!(!check(&mut contest, 1, 81, 2, 900));
        assert!(check(&mut contest, 2, 80, 2, 900));
    }

    #[test]
    fn packets_pass_for_an_interval_from_time_to_time() {
        let mut contest = begun();
        for n in 1..=40 {
            assert_eq!(check(&mut contest, n, 40, 2, 900), n % 16 != 0, "{n}");
        }
    }

    #[test]
    fn a_flow_is_busy_with_a_packet_in_each_round_trip_time() {
        let rtt = Duration::from_millis(500);
        let busy_after = |packets: [u32; 3]| {
            let mut recent = Recent::NONE;
            packets.map(|count| {
                (0..count).for_each(|_| recent.on_packet());
                recent.was_busy(rtt)
            })
        };
        assert_eq!(busy_after([4, 2, 2]), [true, true, true]);
        assert_eq!(busy_after([1, 1, 1]), [false, false, false]);
        assert_eq!(busy_after([8, 0, 0]), [true, true, false]);
    }
}
