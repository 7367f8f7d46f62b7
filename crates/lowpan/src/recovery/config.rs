//! The parameters, memory and counters of selective fragment recovery.

use redpoll_base::{Duration, Memory};

use super::{Incoming, Outgoing, SwitchedPath};

/// Parameters of selective fragment recovery, by their names in RFC 8931 §7.1.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecoveryConfig {
    /// Window_Size: fragments after which an acknowledgment is asked for, 1 to
    /// 32. Default 32, which is after the last.
    pub window: u8,
    /// MinFragmentSize in bytes: where frames carry less, datagrams leave in
    /// plain fragments. Default 40.
    pub min_fragment: u16,
    /// MaxFragmentSize and OptFragmentSize in bytes, at most 511; frames bound
    /// it as well. Default 511.
    pub max_fragment: u16,
    /// MinARQTimeOut: how long an acknowledgment is waited for at least. The RFC
    /// wants more than the longest round trip and names no value. `None`, the
    /// default, is an eighth more than the longest that was measured of late, so
    /// that it fits however many hops there are, and at least 100 ms.
    pub arq_timeout_min: Option<Duration>,
    /// OptARQTimeOut: how long before the first round trip is known. Default
    /// 500 ms.
    pub arq_timeout: Duration,
    /// MaxARQTimeOut: it grows up to here. Default 2 s.
    pub arq_timeout_max: Duration,
    /// MaxFragRetries: number of rounds of retransmissions for a datagram. Default 3.
    pub fragment_retries: u8,
    /// MaxDatagramRetries: number of restarts of a datagram. Default 1.
    pub datagram_retries: u8,
    /// UseECN: after congestion the rest of a datagram leaves fragment by
    /// fragment. Default true.
    pub use_ecn: bool,
    /// Lifetime of the record of a complete datagram, so that its sender can be answered again.
    /// The RFC asks for about a round trip; it has to exceed the sender's timeouts. Default 2
    /// s.
    pub linger: Duration,
}

impl RecoveryConfig {
    /// Returns this configuration after `set` has changed it.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }
}

impl Default for RecoveryConfig {
    fn default() -> Self {
        RecoveryConfig {
            window: 32,
            min_fragment: 40,
            max_fragment: LARGEST,
            arq_timeout_min: None,
            arq_timeout: Duration::from_millis(500),
            arq_timeout_max: Duration::from_secs(2),
            fragment_retries: 3,
            datagram_retries: 1,
            use_ecn: true,
            linger: Duration::from_secs(2),
        }
    }
}

/// RFC 8931 §7.1: MaxFragmentSize "MUST be less than 512".
pub(super) const LARGEST: u16 = 511;

/// The memory of selective fragment recovery; at most 254 entries of each table
/// are used.
pub struct RecoveryMemory<M: Memory> {
    /// One entry for each datagram of this node's that is under way, filled with
    /// [`Outgoing::EMPTY`].
    pub outgoing: M::Table<Outgoing>,
    /// One for each datagram that comes here, and for some that have just come,
    /// filled with [`Incoming::EMPTY`].
    pub incoming: M::Table<Incoming>,
    /// One for each datagram that passes through, filled with
    /// [`SwitchedPath::EMPTY`].
    pub paths: M::Table<SwitchedPath>,
}

/// Counters of recovery. They wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct RecoveryCounters {
    /// Datagrams sent in recoverable fragments.
    pub datagrams: u32,
    /// Retransmitted fragments.
    pub repeated: u32,
    /// Restarted datagrams.
    pub restarted: u32,
    /// Acknowledgments made or forwarded.
    pub acknowledgments: u32,
    /// Fragments of datagrams that nothing is known of.
    pub refused: u32,
    /// Acknowledgments that did not come in time.
    pub timeouts: u32,
    /// Acknowledgments that reported congestion.
    pub congested: u32,
    /// The mean round trip of late, in microseconds: from the end of a fragment
    /// that asks for an acknowledgment until that comes. Zero before the first.
    pub round_trip_us: u32,
    /// The longest ever, in microseconds.
    pub longest_round_trip_us: u32,
}
