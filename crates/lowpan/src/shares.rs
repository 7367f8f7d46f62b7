//! The recent shares of conversations (pairs of nodes) in the bytes that a node sends. Random early
//! detection marks the conversations with the largest shares first.
//!
//! The method is "approximate fairness through differential dropping" (Pan, Breslau, Prabhakar and
//! Shenker 2003), which drops the packets that a flow sends above its fair share. The paper samples
//! past packets; here all bytes are counted, because few conversations share a relay.

use redpoll_base::{Addr, divide, least};

/// Greatest number of known conversations. A new one replaces the one with the fewest bytes.
const LEN: usize = 8;

/// Total of all counts, in bytes, at which they are halved: about 50 datagrams of three frames. So
/// the counts cover the last five to ten seconds of a busy relay, which are several round trips.
const MEMORY: u16 = 16_384;

/// A conversation is active if it has more than 1/8 of the largest share. Without this limit, small
/// conversations would lower the fair share, and all others would exceed it.
const ACTIVE: u16 = 8;

/// A conversation: the two nodes, without direction, because data and their acknowledgments use the
/// same channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pair(u16);

impl Pair {
    pub(crate) fn of(a: &Addr, b: &Addr) -> Self {
        Pair(fold(a) ^ fold(b))
    }
}

/// Hashes an address with FNV-1a, and folds the hash to 16 bits. Two pairs have the same value, and
/// share a count, with a probability of 1/65,536; this only reduces fairness.
fn fold(addr: &Addr) -> u16 {
    let hash = addr.0.iter().fold(0x811c_9dc5_u32, |hash, octet| {
        (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193)
    });
    (hash >> 16) as u16 ^ hash as u16
}

#[derive(Clone, Copy, Default, Debug)]
struct Share {
    pair: u16,
    /// Recent bytes of the conversation; zero for a free entry.
    bytes: u16,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Shares {
    table: [Share; LEN],
}

impl Shares {
    pub(crate) fn note(&mut self, pair: Pair, len: usize) {
        let len = u16::try_from(len).unwrap_or(u16::MAX).min(MEMORY);
        let total: u32 = self.table.iter().map(|share| u32::from(share.bytes)).sum();
        if total.saturating_add(u32::from(len)) > u32::from(MEMORY) {
            self.table.iter_mut().for_each(|share| share.bytes >>= 1);
        }
        if let Some(known) = self.table.iter_mut().find(|share| share.is(pair)) {
            known.bytes = known.bytes.saturating_add(len);
        } else if let Some(share) = least(self.table.iter_mut().map(|it| (it.bytes, it))) {
            *share = Share {
                pair: pair.0,
                bytes: len,
            };
        }
    }

    pub(crate) fn of(&self, pair: Pair) -> u32 {
        let share = self.table.iter().find(|share| share.is(pair));
        share.map_or(0, |share| share.bytes.into())
    }

    pub(crate) fn fair(&self) -> u32 {
        let bytes: u32 = self.active().map(u32::from).sum();
        divide(bytes, self.active().count() as u32)
    }

    pub(crate) fn are_several(&self) -> bool {
        self.active().nth(1).is_some()
    }

    fn active(&self) -> impl Iterator<Item = u16> {
        let all = self.table.iter().map(|share| share.bytes);
        let least = all.clone().max().unwrap_or(0) / ACTIVE;
        all.filter(move |bytes| *bytes > least)
    }
}

impl Share {
    fn is(&self, pair: Pair) -> bool {
        self.bytes > 0 && self.pair == pair.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u8) -> Addr {
        let mut addr = Addr([0; 16]);
        addr.0[0] = 0xfd;
        addr.0[15] = number;
        addr
    }

    fn pair(number: u8) -> Pair {
        Pair::of(&node(number), &node(255))
    }

    #[test]
    fn both_directions_are_one_conversation() {
        assert_eq!(Pair::of(&node(1), &node(2)), Pair::of(&node(2), &node(1)));
        assert_ne!(Pair::of(&node(1), &node(2)), Pair::of(&node(1), &node(3)));
    }

    #[test]
    fn the_conversation_with_more_bytes_exceeds_the_fair_share() {
        let mut shares = Shares::default();
        assert_eq!((shares.of(pair(1)), shares.fair()), (0, 0));
        for _ in 0..10 {
            shares.note(pair(1), 300);
            shares.note(pair(1), 300);
            shares.note(pair(2), 300);
        }
        let counts = (shares.of(pair(1)), shares.of(pair(2)), shares.fair());
        assert_eq!(counts, (6000, 3000, 4500));
    }

    #[test]
    fn a_small_conversation_does_not_lower_the_fair_share() {
        let mut shares = Shares::default();
        for _ in 0..9 {
            shares.note(pair(1), 300);
        }
        shares.note(pair(2), 300);
        assert_eq!(shares.fair(), 2700);
        assert!(!shares.are_several());
        shares.note(pair(2), 300);
        assert!(shares.are_several());
    }

    #[test]
    fn old_bytes_do_not_count_for_the_share() {
        let mut shares = Shares::default();
        (0..40).for_each(|_| shares.note(pair(1), 400));
        (0..80).for_each(|_| shares.note(pair(2), 400));
        assert!(!shares.are_several(), "{shares:?}");
        let total: u32 = (0..=u8::MAX).map(|n| shares.of(pair(n))).sum();
        assert!(total <= u32::from(MEMORY), "{total}");
    }

    #[test]
    fn a_ninth_conversation_replaces_the_smallest() {
        let mut shares = Shares::default();
        (1..=8).for_each(|n| shares.note(pair(n), 100 * usize::from(n)));
        shares.note(pair(9), 500);
        assert_eq!((shares.of(pair(1)), shares.of(pair(9))), (0, 500));
        assert_eq!(shares.of(pair(2)), 200);
    }
}
