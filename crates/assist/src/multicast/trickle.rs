//! The Trickle timer of a message (RFC 6206 §4.2, RFC 7731 §5.5).

use redpoll_base::{Duration, Instant, Rng};

use super::Params;

#[derive(Clone, Copy, Debug)]
pub(super) struct Trickle {
    /// I, the length of the interval.
    interval: Duration,
    end: Instant,
    /// t: when the message is sent, if it is not suppressed.
    pub(super) at: Instant,
    /// c: how often the message was heard in the interval.
    heard: u8,
    /// Remaining intervals, including the current one.
    left: u8,
}

/// The result of a timer that has reached t.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) sends: bool,
    /// Whether this was the message's last interval.
    pub(super) is_last: bool,
}

impl Trickle {
    pub(super) fn new(now: Instant, params: &Params, rng: &mut Rng) -> Self {
        let mut trickle = Trickle {
            interval: params.imin,
            end: now,
            at: now,
            heard: 0,
            left: params.expirations,
        };
        trickle.begin(rng);
        trickle
    }

    /// Begins an interval at the end of the previous one. Chooses t at random in its second half.
    fn begin(&mut self, rng: &mut Rng) {
        let half = self.interval.divided_by(2);
        let offset = rng.below_u64(half.as_micros().max(1));
        self.at = self.end + half + Duration::from_micros(offset);
        self.end += self.interval;
        self.heard = 0;
    }

    /// Counts a transmission of a neighbour.
    pub(super) fn hear(&mut self) {
        self.heard = self.heard.saturating_add(1);
    }

    pub(super) fn expire(&mut self, params: &Params, rng: &mut Rng) -> Step {
        let sends = self.heard < params.k || params.k == u8::MAX;
        self.left = self.left.saturating_sub(1);
        let is_last = self.left == 0;
        if !is_last {
            self.interval = self.interval.times(2).min(params.imax);
            self.begin(rng);
        }
        Step { sends, is_last }
    }
}
