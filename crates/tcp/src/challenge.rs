//! The rate limit of challenge ACKs, of other answers to segments that fail a
//! check, and of resets (RFC 5961 §7).

use redpoll_base::divide;

/// RFC 5961 §7: "in any 5 second window, no more than 10 challenge ACKs". Each connection has its
/// own limit, so an attacker of one connection learns nothing about another.
const WINDOW_MS: u32 = 5_000;
const LIMIT: u8 = 10;

/// Limit of answers to repeated text or FINs in each window of 5 s. It is higher than `LIMIT`
/// because a peer that did not receive our acknowledgments repeats a window of segments. Without a
/// limit, every repeated old segment would elicit an acknowledgment.
const TEXT_LIMIT: u8 = 40;

/// Answers sent in the current window (low bits), and the window's wrapping number (high bits).
#[derive(Clone, Debug)]
pub(crate) struct ChallengeLimit(u8);

const SENT_BITS: u32 = 6;
const SENT: u8 = (1 << SENT_BITS) - 1;
const _: () = assert!(LIMIT < SENT && TEXT_LIMIT < SENT);

impl ChallengeLimit {
    pub(crate) const fn new() -> Self {
        ChallengeLimit(0)
    }

    /// Returns whether another answer may be sent now, and counts it if so.
    pub(crate) fn admit(&mut self, now: u32) -> bool {
        self.admit_up_to(LIMIT, now)
    }

    /// Returns whether one more answer to repeated text or a repeated FIN may be sent now, and
    /// counts it if so.
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
    fn ten_challenges_are_sent_in_five_seconds() {
        let mut limit = ChallengeLimit::new();
        assert_eq!((0..100).filter(|_| limit.admit(0)).count(), 10);
        assert!(!limit.admit(4_999));
        assert_eq!((0..100).filter(|_| limit.admit_text(0)).count(), 30);
        assert!(limit.admit(5_000));
    }
}
