//! The serial line between the two parts of a border router: the mote that is its radio, and its
//! host side.
//!
//! TinyOS's PppRouter has a buffer for one packet from the serial line (`PPP_HDLC_RX_FRAME_LIMIT`
//! 1). While the mote processes a packet, arriving bytes find no buffer, and their packet is lost.
//! Up to eight packets wait for transmission to the host (`PPP_HDLC_TX_FRAME_LIMIT`).

use std::collections::VecDeque;

use redpoll_assist::spare::Side;
use redpoll_base::{Duration, Instant};

use crate::scenario::SerialParams;

/// Bytes around a packet: flag, address, control, protocol, check sequence, flag; without escapes.
const FRAMING: u64 = 8;
/// Bits on the line for each byte, with start and stop bits.
const BITS: u64 = 10;
/// Maximum number of packets in transit to the host, including the one in transmission.
const WAITING_UP: usize = 8;

pub(super) struct Serial {
    params: SerialParams,
    down: Direction,
    up: Direction,
    /// Time until which the mote has no buffer for a packet from the host.
    taken_until: Instant,
    /// Packets from the host that found no buffer.
    busy: u64,
    /// Packets from the mote that found the queue full.
    full: u64,
}

struct Direction {
    /// Time at which the last byte in this direction has left.
    free_at: Instant,
    under_way: VecDeque<Vec<u8>>,
}

impl Direction {
    const IDLE: Direction = Direction {
        free_at: Instant::ZERO,
        under_way: VecDeque::new(),
    };
}

impl Serial {
    pub(super) fn new(params: SerialParams) -> Serial {
        Serial {
            params,
            down: Direction::IDLE,
            up: Direction::IDLE,
            taken_until: Instant::ZERO,
            busy: 0,
            full: 0,
        }
    }

    /// Accepts a packet. Returns when it arrives at the other end, unless it is lost.
    pub(super) fn input(&mut self, now: Instant, to: Side, packet: Vec<u8>) -> Option<Instant> {
        match to {
            Side::Mesh => self.down(now, packet),
            Side::Host => self.up(now, packet),
        }
    }

    pub(super) fn output(&mut self, to: Side) -> Option<Vec<u8>> {
        let way = match to {
            Side::Mesh => &mut self.down,
            Side::Host => &mut self.up,
        };
        way.under_way.pop_front()
    }

    /// Returns the number of packets for the mote lost because it was busy, and for the host because
    /// the queue was full.
    pub(super) fn losses(&self) -> (u64, u64) {
        (self.busy, self.full)
    }

    fn time(&self, packet: &[u8]) -> Duration {
        let bits = (packet.len() as u64 + FRAMING) * BITS;
        Duration::from_micros((bits * 1_000_000).div_ceil(self.params.rate.into()))
    }

    /// Accepts a packet for the mote. Returns when the mote has processed it, unless it is lost.
    fn down(&mut self, now: Instant, packet: Vec<u8>) -> Option<Instant> {
        let begins = now.max(self.down.free_at);
        let ends = begins + self.time(&packet);
        self.down.free_at = ends;
        if begins < self.taken_until {
            self.busy += 1;
            return None;
        }
        self.taken_until = ends + self.params.turn;
        self.down.under_way.push_back(packet);
        Some(self.taken_until)
    }

    /// Accepts a packet from the mote. Returns when the host has it, unless it is lost.
    fn up(&mut self, now: Instant, packet: Vec<u8>) -> Option<Instant> {
        if self.up.under_way.len() >= WAITING_UP {
            self.full += 1;
            return None;
        }
        let ends = now.max(self.up.free_at) + self.time(&packet);
        self.up.free_at = ends;
        self.up.under_way.push_back(packet);
        Some(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serial() -> Serial {
        Serial::new(SerialParams {
            rate: 115_200,
            turn: Duration::from_millis(5),
        })
    }

    const AT: fn(u64) -> Instant = Instant::from_micros;

    #[test]
    fn a_packet_takes_its_time_on_the_line() {
        // 60 bytes and 8 bytes of framing: 680 bits.
        let mut serial = serial();
        assert_eq!(serial.down(AT(0), vec![0; 60]), Some(AT(5_903 + 5_000)));
        assert_eq!(serial.up(AT(100), vec![0; 60]), Some(AT(100 + 5_903)));
        // The second packet to the host follows the first.
        assert_eq!(serial.up(AT(200), vec![0; 60]), Some(AT(100 + 2 * 5_903)));
    }

    #[test]
    fn a_packet_directly_after_another_is_lost() {
        let mut serial = serial();
        assert!(serial.down(AT(0), vec![0; 60]).is_some());
        // The line is free 5 ms before the mote, so the packet finds no buffer.
        assert_eq!(serial.down(AT(1_000), vec![0; 60]), None);
        // The lost packet occupied the line until 11.8 ms; the mote was busy until 10.9 ms.
        let later = serial.down(AT(11_000), vec![0; 60]);
        assert_eq!(later, Some(AT(3 * 5_903 + 5_000)));
        assert_eq!((serial.busy, serial.full), (1, 0));
    }

    #[test]
    fn eight_wait_for_the_way_up() {
        let mut serial = serial();
        let sent = (0..10).filter(|_| serial.up(AT(0), vec![0; 60]).is_some());
        assert_eq!(sent.count(), WAITING_UP);
        assert_eq!(serial.full, 2);
    }
}
