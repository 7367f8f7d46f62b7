//! The bench's interface to a TCP stack.

use redpoll_base::Instant;

/// One end of a connection in a stack. Packets are TCP over IPv6.
///
/// Side 0 (see [`packet::address`](crate::packet::address)) opens actively, side 1 passively.
pub trait Peer {
    fn input(&mut self, now: Instant, packet: &[u8]);
    fn output(&mut self, now: Instant) -> Option<Vec<u8>>;
    fn poll_at(&mut self, now: Instant) -> Option<Instant>;
    /// Handles timers that may have expired.
    fn on_timeout(&mut self, now: Instant);
    /// Stores as many bytes as fit in the send buffer; returns their number.
    fn send(&mut self, now: Instant, bytes: &[u8]) -> usize;
    /// Writes received bytes to `out`; returns their number.
    fn recv(&mut self, now: Instant, out: &mut [u8]) -> usize;
    fn is_established(&self) -> bool;
    /// Returns whether the stack has aborted the connection.
    fn has_failed(&self) -> bool;
    /// Returns the number of retransmissions that the retransmission timer caused.
    fn timeouts(&self) -> u32;
}

/// The limits that are the same for all stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Payload of a full-sized segment in bytes, without options.
    pub payload_bytes: u16,
    /// Send buffer and receive buffer of each end, in bytes.
    pub buffer_bytes: usize,
}
