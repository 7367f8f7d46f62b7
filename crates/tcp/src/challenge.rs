//! The rate limit of challenge ACKs, of other answers to segments that fail a
//! check, and of resets (RFC 5961 §7).

use redpoll_base::divide;

/// RFC 5961 §7: "in any 5 second window, no more than 10 challenge ACKs".
///
/// The limit is per connection, so that one connection's attacker learns
/// nothing about another's.
const WINDOW_MS: u32 = 5_000;
const LIMIT: u8 = 10;

/// Segments with text or FIN that arrive again are answered more often: a peer that
/// has lost our acknowledgments repeats a window of them. Without any limit whoever
/// repeats an old segment gets an acknowledgment for each.
const TEXT_LIMIT: u8 = 40;

/// Counts answers in the current window: in the low bits, below the number of
/// the window, wrapping.
#[derive(Clone, Debug)]
pub(crate) struct ChallengeLimit(u8);

/// As many bits hold every limit.
const SENT_BITS: u32 = 6;
const SENT: u8 = (1 << SENT_BITS) - 1;
const _: () = assert!(LIMIT < SENT && TEXT_LIMIT < SENT);

impl ChallengeLimit {
    pub(crate) const fn new() -> Self {
        ChallengeLimit(0)
    }

    /// Whether one more answer may be sent now; if so, counts it.
    pub(crate) fn admit(&mut self, now: u32) -> bool {
        self.admit_up_to(LIMIT, now)
    }

    /// Whether one more answer to text or a FIN that came again may be sent now; if
    /// so, counts it.
    pub(crate) fn admit_text(&mut self, now: u32) -> bool {
        self.admit_up_to(TEXT_LIMIT, now)
    }

    #[inline(never)] // size
    fn admit_up_to(&mut self, limit: u8, now: u32) -> bool {
        let window = (divide(now, WINDOW_MS) << SENT_BITS) as u8;
        let mut sent = self.0.wrapping_sub(window);
        if sent > SENT {
            sent = 0;
        }
        let admitted = sent < limit;
        if admitted {
            sent = sent.wrapping_add(1);
        }
        self.0 = window | sent;
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_in_five_seconds() {
        let mut limit = ChallengeLimit::new();
        assert_eq!((0..100).filter(|_| limit.admit(0)).count(), 10);
        assert!(!limit.admit(4_999));
        assert_eq!((0..100).filter(|_| limit.admit_text(0)).count(), 30);
        assert!(limit.admit(5_000));
    }
}
