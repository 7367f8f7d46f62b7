//! What a node that sleeps must not miss: that packets no longer find it, and
//! that its peer has not heard the end of a handshake.
//!
//! If it waits for a packet for long and none comes, perhaps they go elsewhere: a
//! router on the way may have forgotten its route, or knows no numbers of
//! registrations (RFC 8505) and took one for the last that was late. The route
//! would be wrong until the registration is due, half an hour later; registering
//! again mends it.

use redpoll_base::{Duration, Instant};

/// So long an answer is waited for before the node registers anew, and then
/// again: longer than three timeouts in a row take, whoever repeats.
const PATIENCE: Duration = Duration::from_secs(20);

/// Since when nothing has come although something was expected.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence {
    since: Option<Instant>,
}

impl Silence {
    /// Whether an answer is expected now; `true` is returned if it is time to
    /// register anew.
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

    /// A frame has come from the parent.
    pub(crate) fn on_frame(&mut self) {
        self.since = None;
    }
}

/// So long a peer repeats its part of a handshake at least: until its third
/// answer, with a first timeout of one second.
const REPETITION: Duration = Duration::from_secs(8);

/// Since when a connection is open of which the peer may not know: the last
/// segment of the handshake may be lost. The peer then repeats its own, and forgets
/// the connection if nobody answers, as a node would not that has gone to sleep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doubt {
    since: Option<Instant>,
}

impl Doubt {
    /// Whether a repetition may come, if a connection is `unproven` or not.
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
    fn the_end_of_a_handshake_is_in_doubt_for_a_while() {
        let mut doubt = Doubt::default();
        let at = |s: u64| Instant::from_millis(s * 1_000);
        assert!(!doubt.expects(at(1), false));
        assert!(doubt.expects(at(5), true) && doubt.expects(at(12), true));
        assert!(!doubt.expects(at(13), true), "the peer has given up");
        assert!(!doubt.expects(at(20), false));
        assert!(doubt.expects(at(30), true), "another connection");
    }

    #[test]
    fn a_long_silence_calls_for_a_registration_now_and_then() {
        let mut silence = Silence::default();
        let at = Instant::from_millis;
        let mut called = std::vec::Vec::new();
        for s in 1..=100 {
            let now = at(s * 1_000);
            // Nothing is expected in the 5th second; something comes in the 55th.
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
