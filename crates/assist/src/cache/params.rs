//! What the cache can be told.

use redpoll_base::Duration;

/// The parameters of the cache. Hurni et al. 2012 give `timeout_factor`, `segments`,
/// `regenerates` and what `by_activity` does; the rest is left open there, and the
/// defaults are assumptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// The round-trip time from this node to a segment's target before it has been
    /// measured. Assumption: 3 s, the timeout of uIP's first segment.
    pub initial_rtt: Duration,
    /// A new sample counts 2^-n in the estimate (RFC 6298 §2.3: 3), 0 to 7. The first
    /// one is the estimate (§2.2).
    pub rtt_weight: u8,
    /// After so many estimated round-trip times a segment is sent again: 3.
    pub timeout_factor: u8,
    /// No segment is kept for longer than this, whatever the estimate, so that no copy
    /// is older than a segment may become (RFC 9293 §3.4.1: two minutes).
    /// Assumption: 1 min.
    pub max_wait: Duration,
    /// Segments kept of each direction of a connection: 1.
    pub segments: u8,
    /// A segment that has been acknowledged already is not passed on but acknowledged.
    pub regenerates: bool,
    /// A segment is sent again after two thirds of the time already if nothing was heard
    /// for the last estimated round-trip time.
    pub by_activity: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            initial_rtt: Duration::from_secs(3),
            rtt_weight: 3,
            timeout_factor: 3,
            max_wait: Duration::from_secs(60),
            segments: 1,
            regenerates: true,
            by_activity: false,
        }
    }
}
