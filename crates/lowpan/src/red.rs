//! Random early detection on the queue towards the radio (Floyd and Jacobson 1993; RFC 7567),
//! counted in datagrams, with ECN (RFC 3168).
//!
//! The average queue length is updated when a datagram arrives and when one leaves. Before the
//! first fragment of a datagram, the node decides whether to mark it: later fragments do not
//! contain the IPv6 header, and a mark on arrival would not report the present queue.
//!
//! With windows of two or three segments, the round-trip time determines the rate of a flow, and
//! marks on a random part of all datagrams do not make the rates equal. So marks go to
//! conversations (pairs of nodes) with more than their share. While several conversations are
//! active, the node pauses after each datagram ([`RedConfig::pause`]).

use redpoll_base::{Duration, Ecn, Rng};

use crate::shares::{Pair, Shares};

/// Parameters of random early detection. The queue is a few datagrams long, so an average over
/// hundreds of packets, as in Internet routers, would be useless. Kumar et al. 2020 do not publish
/// their parameters. The defaults are choices of this project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RedConfig {
    /// The weight of the present queue length in the average is 1 / 2^`weight_shift`. Default 4:
    /// 1/16, so the average covers about two seconds of a busy relay.
    pub weight_shift: u8,
    /// Average queue length at which marking begins, in sixteenths of a datagram. Default 8, half a
    /// datagram: most of the time the queue then has no datagram or one.
    pub min_threshold: u8,
    /// Average queue length, in sixteenths of a datagram, from which on all datagrams are marked,
    /// except those that `fair` exempts. Default 48, three datagrams: half of six slots.
    pub max_threshold: u8,
    /// Probability of a mark if the average is just below `max_threshold`, in 1/256. Default 26.
    pub max_probability: u8,
    /// Whether marks depend on the recent share of a conversation (two nodes, both directions).
    /// Below the fair share, its datagrams are not marked. Above the fair share, and with an
    /// average of at least `min_threshold`, the marked part of its datagrams is twice the part that
    /// exceeds the fair share. Default true.
    pub fair: bool,
    /// As [`LowpanConfig::pause`](crate::LowpanConfig::pause): the pause after a datagram that its
    /// addressee forwards, for each frame of it. Applies while the average is at least
    /// `min_threshold` and several conversations are active. Default 16 ms, in which the next two
    /// nodes of the path can each send a full frame without a collision with this node.
    pub pause: Duration,
}

impl RedConfig {
    /// Returns this configuration after `set` has changed it.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }
}

impl Default for RedConfig {
    fn default() -> Self {
        RedConfig {
            weight_shift: 4,
            min_threshold: 8,
            max_threshold: 48,
            max_probability: 26,
            fair: true,
            pause: Duration::from_millis(16),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RedAction {
    Send,
    /// The datagram gets the CE codepoint.
    Mark,
    /// The datagram is not ECN-capable, so it is dropped.
    Drop,
}

#[derive(Clone, Debug)]
pub(crate) struct Red {
    config: RedConfig,
    rng: Rng,
    /// Average length of the queue, in 1/4096 of a datagram.
    average: u32,
    shares: Shares,
}

impl Red {
    pub(crate) fn new(config: RedConfig, seed: u64) -> Self {
        Red {
            config,
            rng: Rng::new(seed),
            average: 0,
            shares: Shares::default(),
        }
    }

    pub(crate) fn on_change(&mut self, len: u8) {
        let target = u32::from(len) << 12;
        let shift = u32::from(self.config.weight_shift.min(12));
        let part = target.abs_diff(self.average) >> shift;
        self.average = match target > self.average {
            true => self.average.saturating_add(part),
            false => self.average.saturating_sub(part),
        };
    }

    /// Decides whether to send, mark or drop a datagram of `len` bytes with the codepoint `ecn`.
    pub(crate) fn judge(&mut self, ecn: Ecn, pair: Pair, len: usize) -> RedAction {
        self.shares.note(pair, len);
        let (own, fair) = match self.config.fair {
            true => (self.shares.of(pair), self.shares.fair()),
            false => (0, 0),
        };
        if own < fair {
            return RedAction::Send;
        }
        let strikes = self.strikes();
        // RFC 3168 §5: a packet that is not ECN-capable is dropped instead of marked. A large share
        // of its conversation alone does not cause a drop: the packet may be an acknowledgment, and
        // its loss would not slow the sender of the data.
        match ecn {
            Ecn::NotEct if strikes => RedAction::Drop,
            Ecn::Ect0 | Ecn::Ect1 | Ecn::Ce if strikes || self.exceeds(own, fair) => {
                RedAction::Mark
            }
            _ => RedAction::Send,
        }
    }

    pub(crate) fn pause(&self) -> Duration {
        if self.is_long() && self.shares.are_several() {
            self.config.pause
        } else {
            Duration::ZERO
        }
    }

    fn is_long(&self) -> bool {
        self.average >= u32::from(self.config.min_threshold) << 8
    }

    /// Returns whether to mark a datagram because its conversation exceeds the fair share. The
    /// chance is twice the excess, because the marks of one round trip together shrink a window by
    /// only a fifth.
    fn exceeds(&mut self, own: u32, fair: u32) -> bool {
        let excess = own.saturating_sub(fair).saturating_mul(2);
        self.is_long() && excess > 0 && self.rng.below(own) < excess
    }

    fn strikes(&mut self) -> bool {
        let least = u32::from(self.config.min_threshold) << 8;
        let most = u32::from(self.config.max_threshold) << 8;
        if !self.is_long() {
            return false;
        }
        if self.average >= most {
            return true;
        }
        let above = self.average.saturating_sub(least);
        // A mark has the probability `max_probability` / 256 · `above` / (`most` - `least`). The
        // comparison multiplies both sides by the divisors.
        let dice = self
            .rng
            .below(most.saturating_sub(least).saturating_mul(16));
        dice.saturating_mul(16) < above.saturating_mul(u32::from(self.config.max_probability))
    }
}

#[cfg(test)]
mod tests {
    use redpoll_base::Addr;

    use super::*;

    fn after(len: u8, times: u32) -> Red {
        let mut red = Red::new(RedConfig::default(), 1);
        for _ in 0..times {
            red.on_change(len);
        }
        red
    }

    fn strikes_in_10_000(mut red: Red) -> u32 {
        (0..10_000).map(|_| u32::from(red.strikes())).sum()
    }

    #[test]
    fn no_datagram_below_the_lower_and_every_one_above_the_upper_threshold() {
        assert_eq!(strikes_in_10_000(after(0, 9)), 0);
        assert_eq!(strikes_in_10_000(after(0, 90)), 0, "the queue is short");
        assert_eq!(strikes_in_10_000(after(4, 90)), 10_000);
    }

    #[test]
    fn between_the_thresholds_by_the_average() {
        // The averages are 1/5 and 3/5 of the way from the lower to the upper threshold. With 10 %
        // at the upper one, the probabilities of a mark are 2 % and 6 %.
        let low = strikes_in_10_000(after(1, 90));
        assert!((170..240).contains(&low), "{low}");
        let high = strikes_in_10_000(after(2, 90));
        assert!((550..660).contains(&high), "{high}");
    }

    const LEN: usize = 300;

    fn pair(number: u8) -> Pair {
        Pair::of(&Addr([number; 16]), &Addr([255; 16]))
    }

    #[test]
    fn a_short_burst_passes() {
        let mut red = after(0, 1);
        red.on_change(3);
        assert_eq!(red.judge(Ecn::NotEct, pair(1), LEN), RedAction::Send);
    }

    #[test]
    fn datagrams_without_ecn_are_dropped_instead_of_marked() {
        let mut red = after(6, 90);
        assert_eq!(red.judge(Ecn::Ect0, pair(1), LEN), RedAction::Mark);
        assert_eq!(red.judge(Ecn::Ce, pair(1), LEN), RedAction::Mark);
        assert_eq!(red.judge(Ecn::NotEct, pair(1), LEN), RedAction::Drop);
    }

    /// Returns how many of a thousand datagrams of each conversation are marked; the first
    /// conversation sends three times as many bytes as the second.
    fn marks(red: &mut Red) -> (u32, u32) {
        let (mut greedy, mut modest) = (0, 0);
        for _ in 0..1000 {
            greedy += u32::from(red.judge(Ecn::Ect0, pair(1), 3 * LEN) == RedAction::Mark);
            modest += u32::from(red.judge(Ecn::Ect0, pair(2), LEN) == RedAction::Mark);
        }
        (greedy, modest)
    }

    #[test]
    fn marks_go_to_those_with_more_than_their_share() {
        let (greedy, modest) = marks(&mut after(1, 90));
        // The greedy share is 3/4 instead of 1/2, so 1/3 of its packets are excess, and 2/3 are
        // marked.
        assert!((600..740).contains(&greedy), "{greedy}");
        assert_eq!(modest, 0);
        assert_eq!(marks(&mut after(0, 90)), (0, 0), "the queue is short");
    }

    #[test]
    fn without_fairness_all_are_marked_alike() {
        let config = RedConfig {
            fair: false,
            ..RedConfig::default()
        };
        let mut red = Red::new(config, 1);
        (0..90).for_each(|_| red.on_change(2));
        let (greedy, modest) = marks(&mut red);
        assert!((30..90).contains(&greedy), "{greedy}");
        assert!((30..90).contains(&modest), "{modest}");
    }

    #[test]
    fn acknowledgments_are_not_lost_for_their_share() {
        let mut red = after(1, 90);
        let dropped = (0..1000).filter(|_| {
            red.judge(Ecn::NotEct, pair(2), LEN);
            red.judge(Ecn::NotEct, pair(1), 3 * LEN) == RedAction::Drop
        });
        assert!(dropped.count() < 60);
    }

    #[test]
    fn red_pauses_only_while_several_conversations_wait() {
        let mut red = after(2, 90);
        red.judge(Ecn::Ect0, pair(1), LEN);
        assert_eq!(red.pause(), Duration::ZERO, "one conversation");
        red.judge(Ecn::Ect0, pair(2), LEN);
        assert_eq!(red.pause(), RedConfig::default().pause);
        (0..90).for_each(|_| red.on_change(0));
        assert_eq!(red.pause(), Duration::ZERO, "the queue is short");
    }
}
