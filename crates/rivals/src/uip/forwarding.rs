//! Forwarding by uIP's routers in Contiki 2.5 (uip-fw): a packet that a router has already
//! forwarded is dropped.
//!
//! A router remembers thirty packets. A clock counts their age, but it runs only on nodes with
//! connections of their own. On a router the first 29 packets therefore stay forever, and each
//! later packet takes the thirtieth place. Addresses and number identify a packet
//! ([`UipConfig::numbers`](super::UipConfig::numbers)): a retransmission by its sender has a new
//! number, a router's copy has the number of the original.

use redpoll_base::Addr;

/// Packets that are remembered (FWCACHE_SIZE).
const SIZE: usize = 30;

/// Source, destination and number of a packet.
type Known = (Addr, Addr, u32);

#[derive(Clone, Debug)]
pub struct Forwarded {
    known: [Known; SIZE],
    len: usize,
    pub dropped: u32,
}

impl Default for Forwarded {
    fn default() -> Self {
        Forwarded {
            known: [(Addr::UNSPECIFIED, Addr::UNSPECIFIED, 0); SIZE],
            len: 0,
            dropped: 0,
        }
    }
}

impl Forwarded {
    /// Returns whether a packet is dropped instead of forwarded. A packet with a flow label of 0
    /// has no number and is never dropped.
    pub fn drops(&mut self, src: Addr, dst: Addr, flow_label: u32) -> bool {
        if flow_label == 0 {
            return false;
        }
        let packet = (src, dst, flow_label);
        if self.known[..self.len].contains(&packet) {
            self.dropped = self.dropped.wrapping_add(1);
            return true;
        }
        let place = self.len.min(SIZE - 1);
        self.known[place] = packet;
        self.len = place + 1;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_29_and_the_last_one_are_known() {
        let mut forwarded = Forwarded::default();
        let (a, b) = (Addr([1; 16]), Addr([2; 16]));
        for number in 1..=40 {
            assert!(!forwarded.drops(a, b, number));
        }
        let again: std::vec::Vec<u32> = (1..=40)
            .filter(|number| forwarded.clone().drops(a, b, *number))
            .collect();
        let expected: std::vec::Vec<u32> = (1..=29).chain([40]).collect();
        assert_eq!(again, expected);
        assert!(!forwarded.drops(b, a, 1), "another source");
        assert!(!forwarded.drops(a, b, 40), "a later packet took its place");
        assert!(
            !forwarded.drops(a, b, 0) && !forwarded.drops(a, b, 0),
            "a packet without a number"
        );
    }
}
