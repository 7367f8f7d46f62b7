//! The bench's interface to a TCP stack.

use redpoll_base::Instant;

/// One end of a connection in some stack. Packets are IPv6 with TCP in it.
///
/// Side 0 (see [`packet::address`](crate::packet::address)) opens actively,
/// side 1 passively.
pub trait Peer {
    /// A packet arrives.
    fn input(&mut self, now: Instant, packet: &[u8]);
    /// The next packet that the stack wants to send.
    fn output(&mut self, now: Instant) -> Option<Vec<u8>>;
    /// When to call [`on_timeout`](Self::on_timeout) next.
    fn poll_at(&mut self, now: Instant) -> Option<Instant>;
    /// A timer may have run out.
    fn on_timeout(&mut self, now: Instant);
    /// Takes what there is room for, and says how much.
    fn send(&mut self, now: Instant, bytes: &[u8]) -> usize;
    /// Gives received bytes, and says how many.
    fn recv(&mut self, now: Instant, out: &mut [u8]) -> usize;
    /// Whether the connection is established.
    fn is_established(&self) -> bool;
    /// Whether the connection was given up.
    fn has_failed(&self) -> bool;
    /// How often the retransmission timer made the stack send data again.
    fn timeouts(&self) -> u32;
}

/// The limits that are the same for all stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Payload of a full-sized segment in bytes, options not counted.
    pub payload_bytes: u16,
    /// Send buffer and receive buffer of each end in bytes.
    pub buffer_bytes: usize,
}
