//! The parameters of TAiM.

use redpoll_base::Duration;

/// A share in millionths: 20,000 is 2 %.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Share(u32);

impl Share {
    const WHOLE: u64 = 1_000_000;

    /// Returns a share in millionths, at most a million.
    pub const fn from_millionths(millionths: u32) -> Share {
        Share(if millionths > 1_000_000 {
            1_000_000
        } else {
            millionths
        })
    }

    /// Returns a share in percent, at most a hundred.
    pub const fn from_percent(percent: u32) -> Share {
        Share::from_millionths(percent.saturating_mul(10_000))
    }

    /// Returns the share in millionths.
    pub const fn as_millionths(self) -> u32 {
        self.0
    }

    /// Returns this share of `whole`, rounded down; the product is limited to 2^64 millionths.
    pub(super) const fn of(self, whole: u64) -> u64 {
        // `WHOLE` is not zero.
        whole.saturating_mul(self.0 as u64) / Self::WHOLE
    }

    /// Returns the exponentially weighted moving average: `old`, moved by this share towards `new`.
    pub(super) const fn towards(self, old: u64, new: u64) -> u64 {
        if new >= old {
            old.saturating_add(self.of(new.saturating_sub(old)))
        } else {
            old.saturating_sub(self.of(old.saturating_sub(new)))
        }
    }
}

/// The rule for the order and the times of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// TAiM's rule: one packet each `delaytime`, of the flow with the least throughput.
    Taim,
    /// See [`Lead`].
    Lead(Lead),
}

/// A limit on a flow's lead over the mean flow, which needs no knowledge of the network: a packet
/// with new data leaves at once unless its flow is in the lead. The mean flow's progress is a
/// virtual time, as in processor sharing. Each byte of any flow advances this time by 1 + `gain`
/// bytes, divided by the number of active flows. A flow is in the lead if it has sent `slack`
/// segments more than the mean flow. Its packets then wait until the mean flow has caught up, at
/// most for `max_hold`. A flow that has sent less can make up for at most `slack` segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lead {
    /// Largest lead or lag of a flow relative to the mean flow, in segments of the flow's largest
    /// size. Assumption: 2, the number after which many receivers acknowledge (RFC 9293 §3.8.6.3).
    pub slack: u32,
    /// Share by which a flow may be faster than the mean. If the share is below one divided by the
    /// number of other flows, a flow that cannot be faster slows down all others. Assumption: 10 %.
    pub gain: Share,
    /// A flow is active until this time after its last new byte. Assumption: 10 s.
    pub active: Duration,
    /// Longest waiting time of a packet. Assumption: 1 s, the minimum RTO (RFC 6298 §2.4).
    pub max_hold: Duration,
}

impl Default for Lead {
    fn default() -> Self {
        Lead {
            slack: 2,
            gain: Share::from_percent(10),
            active: Duration::from_secs(10),
            max_hold: Duration::from_secs(1),
        }
    }
}

/// The condition under which packets wait, an addition to the paper: flows compete, and the network
/// behind the border router is their bottleneck. If not, packets pass at once. Only
/// [`Policy::Taim`] has this condition; [`Policy::Lead`] never delays a single flow.
///
/// A flow competes while it always has a packet under way. The network counts as a bottleneck if
/// the mean round-trip time of these flows is at least half of `delaytime`, and if they send at
/// most twice as many packets as `delaytime` permits. Both are measured while no packet waits:
/// at the beginning, and then for 2 s in every 32 s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contention {
    /// Least number of competing flows: 2.
    pub flows: u32,
}

impl Default for Contention {
    fn default() -> Self {
        Contention { flows: 2 }
    }
}

/// The parameters of TAiM. Park and Paek 2019 define `period`, `increase`, `decrease` and `ratio`;
/// the other defaults are assumptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// The rule for the order and the times of packets.
    pub policy: Policy,
    /// Initial `delaytime`, the interval between packets that leave (D_init in the paper).
    /// Assumption: 50 ms, the value of the paper's example.
    pub initial_delay: Duration,
    /// Minimum `delaytime`: from zero it could not grow by shares of itself. Assumption: 1 ms.
    pub min_delay: Duration,
    /// Interval between two measurements and decisions: 1 minute.
    pub period: Duration,
    /// The paper's α, the increase of `delaytime` after an unfair period: 2 %.
    pub increase: Share,
    /// The paper's β, the decrease of `delaytime` after a fair period: 5 %.
    pub decrease: Share,
    /// A period is fair if the throughput of the fastest flow was less than this multiple of that
    /// of the slowest flow: 2.
    pub ratio: u32,
    /// Weight of the most recent period in a flow's throughput. Assumption: 25 %.
    pub throughput_weight: Share,
    /// Weight of the most recent period in the number of waiting flows. Assumption: 25 %.
    pub waiting_weight: Share,
    /// A flow is active until this time after its last new byte. Only active flows count as slowest
    /// and fastest. Assumption: 3 minutes.
    pub active: Duration,
    /// Minimum expected retransmission timeout of an end. Assumption: 1 s (RFC 6298 §2.4).
    pub min_rto: Duration,
    /// Maximum number of waiting packets of a flow. If one more arrives, the longest-waiting
    /// packet of this flow leaves at once. Assumption: 64.
    pub flow_packets: u32,
    /// Longest waiting time of a packet, whatever `delaytime`; `None`: no limit, as in the paper.
    pub max_wait: Option<Duration>,
    /// Condition under which packets wait; `None` means always, as in the paper.
    pub contention: Option<Contention>,
}

impl Params {
    pub(super) fn longest_wait(&self) -> Option<Duration> {
        match &self.policy {
            Policy::Taim => self.max_wait,
            Policy::Lead(lead) => Some(
                self.max_wait
                    .map_or(lead.max_hold, |it| it.min(lead.max_hold)),
            ),
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Params {
            policy: Policy::Taim,
            initial_delay: Duration::from_millis(50),
            min_delay: Duration::from_millis(1),
            period: Duration::from_secs(60),
            increase: Share::from_percent(2),
            decrease: Share::from_percent(5),
            ratio: 2,
            throughput_weight: Share::from_percent(25),
            waiting_weight: Share::from_percent(25),
            active: Duration::from_secs(180),
            min_rto: Duration::from_secs(1),
            flow_packets: 64,
            max_wait: None,
            contention: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_at_most_the_whole() {
        let millionths = |share: Share| share.as_millionths();
        assert_eq!(millionths(Share::from_millionths(20_000)), 20_000);
        assert_eq!(millionths(Share::from_percent(2)), 20_000);
        for whole in [
            Share::from_millionths(1_000_000),
            Share::from_millionths(1_000_001),
            Share::from_percent(100),
            Share::from_percent(u32::MAX),
        ] {
            assert_eq!(millionths(whole), 1_000_000);
            assert_eq!(whole.of(7), 7);
        }
    }

    #[test]
    fn an_average_moves_by_its_share_in_both_directions() {
        let quarter = Share::from_percent(25);
        assert_eq!((quarter.of(100), quarter.of(3)), (25, 0));
        assert_eq!(quarter.towards(100, 200), 125);
        assert_eq!(quarter.towards(200, 100), 175);
        assert_eq!(quarter.towards(100, 100), 100);
    }
}
