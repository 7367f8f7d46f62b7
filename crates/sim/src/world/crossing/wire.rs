//! The link between border router and simulated host. Packets arrive in the order of their times;
//! without a fault that delays packets, this is the order in which they were sent.

use std::collections::BTreeMap;

use redpoll_assist::spare::Side;
use redpoll_base::Instant;

/// A packet on the link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Transit {
    pub(super) to: Side,
    pub(super) packet: Vec<u8>,
    /// Whether a fault has delayed the packet. No further fault then applies.
    pub(super) is_late: bool,
}

impl Transit {
    pub(super) fn new(to: Side, packet: Vec<u8>) -> Transit {
        Transit {
            to,
            packet,
            is_late: false,
        }
    }

    pub(super) fn late(to: Side, packet: Vec<u8>) -> Transit {
        Transit {
            is_late: true,
            ..Transit::new(to, packet)
        }
    }
}

#[derive(Default)]
pub(super) struct Wire {
    /// Packets by the time of their arrival, and in the order in which they were sent.
    packets: BTreeMap<(Instant, u64), Transit>,
    sent: u64,
}

impl Wire {
    pub(super) fn push(&mut self, at: Instant, transit: Transit) {
        self.packets.insert((at, self.sent), transit);
        self.sent += 1;
    }

    /// Returns the packet that arrives next.
    pub(super) fn pop(&mut self) -> Option<Transit> {
        self.packets.pop_first().map(|(_, transit)| transit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delayed_packet_arrives_after_later_ones() {
        let mut wire = Wire::default();
        let packet = |byte| Transit::new(Side::Host, vec![byte]);
        wire.push(Instant::from_millis(30), packet(1));
        wire.push(Instant::from_millis(10), packet(2));
        wire.push(Instant::from_millis(10), packet(3));
        let order: Vec<u8> = std::iter::from_fn(|| Some(wire.pop()?.packet[0])).collect();
        assert_eq!(order, [2, 3, 1]);
    }
}
