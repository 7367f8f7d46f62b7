//! Failures that a sleepy node must detect: packets that no longer reach it, and a peer that did
//! not receive the end of a handshake.
//!
//! If an expected packet does not arrive for long, a router on the path may have lost its route, or
//! may have mistaken an earlier registration for the latest because it does not compare
//! registration numbers (RFC 8505). The next regular registration would correct the route only half
//! an hour later, so the node registers again at once.

use redpoll_base::{Duration, Instant};

/// How long the node waits for an answer before it registers, and between registrations: longer
/// than the first three retransmission timeouts of a peer together (7 s, if the first one is 1 s).
const PATIENCE: Duration = Duration::from_secs(20);

/// The time since which an expected packet has been missing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence {
    since: Option<Instant>,
}

impl Silence {
    /// Sets whether an answer is expected; returns `true` if the node must register again now.
    pub(crate) fn expect(&mut self, now: Instant, expected: bool) -> bool {
        if !expected {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        let is_long = now.since(since) >= PATIENCE;
        if is_long {
            self.since = Some(now);
        }
        is_long
    }

    pub(crate) fn on_frame(&mut self) {
        self.since = None;
    }
}

/// Minimum time for which a peer repeats its part of a handshake. With a first timeout of one
/// second, the peer retransmits after 1, 3 and 7 s.
const REPETITION: Duration = Duration::from_secs(8);

/// The time at which a connection was established without proof that the peer received the last
/// segment of the handshake. If this segment is lost, the peer repeats its own, and drops the
/// connection if this node sleeps and does not answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doubt {
    since: Option<Instant>,
}

impl Doubt {
    /// Returns whether a peer may still repeat its part of a handshake. `unproven`: a connection is
    /// established whose peer possibly does not know this yet.
    pub(crate) fn expects(&mut self, now: Instant, unproven: bool) -> bool {
        if !unproven {
            self.since = None;
            return false;
        }
        now.since(*self.since.get_or_insert(now)) < REPETITION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_segment_of_a_handshake_is_unconfirmed_for_a_limited_time() {
        let mut doubt = Doubt::default();
        let at = |s: u64| Instant::from_millis(s * 1_000);
        assert!(!doubt.expects(at(1), false));
        assert!(doubt.expects(at(5), true) && doubt.expects(at(12), true));
        assert!(!doubt.expects(at(13), true), "the peer has given up");
        assert!(!doubt.expects(at(20), false));
        assert!(doubt.expects(at(30), true), "another connection");
    }

    #[test]
    fn a_long_silence_triggers_registrations_at_intervals() {
        let mut silence = Silence::default();
        let at = Instant::from_millis;
        let mut called = std::vec::Vec::new();
        for s in 1..=100 {
            let now = at(s * 1_000);
            if silence.expect(now, s != 5) {
                called.push(s);
            }
            if s == 55 {
                silence.on_frame();
            }
        }
        assert_eq!(called, [26, 46, 76, 96]);
    }
}
