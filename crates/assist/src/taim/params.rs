//! The parameters of TAiM.

use redpoll_base::Duration;

/// A share in millionths: 20,000 is 2 %.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Share(u32);

impl Share {
    const WHOLE: u64 = 1_000_000;

    /// A share in millionths, a million at most.
    pub const fn from_millionths(millionths: u32) -> Share {
        Share(if millionths > 1_000_000 {
            1_000_000
        } else {
            millionths
        })
    }

    /// A share in percent, a hundred at most.
    pub const fn from_percent(percent: u32) -> Share {
        Share::from_millionths(percent.saturating_mul(10_000))
    }

    /// In millionths.
    pub const fn as_millionths(self) -> u32 {
        self.0
    }

    /// This share of `whole`, rounded down, at most 2^64 millionths.
    pub(super) const fn of(self, whole: u64) -> u64 {
        // `WHOLE` is not zero.
        whole.saturating_mul(self.0 as u64) / Self::WHOLE
    }

    /// Exponentially weighted moving average: `old`, moved by this share towards `new`.
    pub(super) const fn towards(self, old: u64, new: u64) -> u64 {
        if new >= old {
            old.saturating_add(self.of(new.saturating_sub(old)))
        } else {
            old.saturating_sub(self.of(old.saturating_sub(new)))
        }
    }
}

/// Which packet leaves when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// TAiM's: one packet each `delaytime`, of the flow with the least throughput.
    Taim,
    /// See [`Lead`].
    Lead(Lead),
}

/// A limit on how far a flow is ahead of the others, which needs no knowledge of the network: a
/// packet with new data leaves at once unless its flow is in the lead. The mean flow's progress
/// is a virtual time, as in processor sharing: a byte of any flow advances it by a byte divided
/// by the number of active flows, and by `gain` of that. A flow is in the lead if it has sent
/// `slack` segments more; then its packets wait for the others, for `max_hold` at most. A flow
/// that has sent less saves at most `slack` segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lead {
    /// Largest segments that a flow may be ahead, or behind. Assumption: 2, the number after
    /// which many receivers acknowledge (RFC 9293 §3.8.6.3).
    pub slack: u32,
    /// By how much a flow may be faster than the mean. With less than one over the other
    /// flows' number, one flow that cannot go faster slows down all others. Assumption: 10 %.
    pub gain: Share,
    /// The greatest age of the last new byte of an active flow. Assumption: 10 s.
    pub active: Duration,
    /// No packet waits longer. Assumption: 1 s, the least retransmission timeout
    /// (RFC 6298 §2.4).
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

/// The parameters of TAiM. Park and Paek 2019 give `period`, `increase`, `decrease`
/// and `ratio`. All others are left open there; their defaults are assumptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Whose rules.
    pub policy: Policy,
    /// `delaytime` at the beginning, the paper's D_init, for which it gives no number:
    /// the 50 ms of its example.
    pub initial_delay: Duration,
    /// `delaytime` does not fall below this, or it could never grow again by parts of
    /// itself. Assumption: 1 ms.
    pub min_delay: Duration,
    /// How often throughputs are measured and `delaytime` is decided upon: 1 minute.
    pub period: Duration,
    /// The paper's α, by which `delaytime` grows in a period that was not fair: 2 %.
    pub increase: Share,
    /// The paper's β, by which `delaytime` falls in a period that was fair: 5 %.
    pub decrease: Share,
    /// A period is fair if the fastest flow had less than this multiple of the slowest one's
    /// throughput: 2.
    pub ratio: u32,
    /// Weight of the last period in a flow's throughput. Assumption: 25 %.
    pub throughput_weight: Share,
    /// Weight of the last period in the number of flows that wait. Assumption: 25 %.
    pub waiting_weight: Share,
    /// The greatest age of the last new byte of a flow that counts among the slowest and
    /// fastest. Assumption: 3 minutes.
    pub active: Duration,
    /// The least retransmission timeout that an end is expected to have.
    /// Assumption: 1 s (RFC 6298 §2.4).
    pub min_rto: Duration,
    /// Packets that may wait of one flow; with one more its first leaves at once.
    /// Assumption: 64.
    pub flow_packets: u32,
    /// No packet waits longer, whatever `delaytime` says. `None` is the paper's.
    pub max_wait: Option<Duration>,
}

impl Params {
    /// How long a packet waits at most.
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
        }
    }
}
