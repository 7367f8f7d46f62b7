//! UDP sockets (RFC 768 over RFC 8200): a port and a ring of received datagrams.

use redpoll_base::{Addr, Bytes, Instant, Memory, copy};
use redpoll_tcp::Endpoint;
use redpoll_wire::udp::UdpHeader;

use crate::counters::{DropReason, NodeCounters};
use crate::ids::INDICES;
use crate::transports::{Arrived, Outcome, Transport};
use crate::{Error, NodeEvent, UdpId};

/// Bytes that a stored datagram needs in addition to its data: length, address, port.
const HEADER: usize = 2 + 16 + 2;
/// A bit of the first byte of a stored length, which marks a multicast datagram. No length needs
/// this bit, because packets of 6LoWPAN are shorter than 2,048 bytes. It is cleared before reading.
const MARK: u8 = 0x80;

/// Memory for one UDP socket: a ring for received datagrams.
pub struct UdpSlot<B: Bytes> {
    port: Option<u16>,
    generation: u8,
    ring: B,
    head: usize,
    used: usize,
    /// Whether a datagram has arrived since the socket's last readable event.
    readable: bool,
}

impl<B: Bytes> UdpSlot<B> {
    /// Returns a free slot. `ring` holds received datagrams, each with 20 bytes of bookkeeping. A
    /// datagram that does not fit is dropped and counted.
    pub fn new(ring: B) -> Self {
        UdpSlot {
            port: None,
            generation: 0,
            ring,
            head: 0,
            used: 0,
            readable: false,
        }
    }

    /// Returns the index in the ring of byte `number` from the front. Subtracts, because a division
    /// is slow on a microcontroller.
    fn place(&self, number: usize) -> usize {
        let len = self.ring.as_ref().len();
        let at = self.head.saturating_add(number);
        at.checked_sub(len).unwrap_or(at)
    }

    fn write(&mut self, bytes: &[u8]) {
        let start = self.place(self.used);
        let ring = self.ring.as_mut();
        let before_end = ring.get_mut(start..).unwrap_or_default();
        let written = copy(bytes, before_end);
        copy(bytes.get(written..).unwrap_or_default(), ring);
        self.used = self.used.saturating_add(bytes.len());
    }

    /// Moves bytes from the front to `out`, then skips `skip` more.
    fn take(&mut self, out: &mut [u8], skip: usize) {
        let ring = self.ring.as_ref();
        let before_end = ring.get(self.head..).unwrap_or_default();
        let taken = copy(before_end, out);
        copy(ring, out.get_mut(taken..).unwrap_or_default());
        let gone = out.len().saturating_add(skip);
        self.head = self.place(gone);
        self.used = self.used.saturating_sub(gone);
    }

    fn push(&mut self, src: &Endpoint, data: &[u8]) -> bool {
        let room = self.ring.as_ref().len().saturating_sub(self.used);
        let Ok(len) = u16::try_from(data.len()) else {
            return false;
        };
        if data.len().saturating_add(HEADER) > room {
            return false;
        }
        self.write(&len.to_be_bytes());
        self.write(&src.addr.0);
        self.write(&src.port.to_be_bytes());
        self.write(data);
        self.readable = true;
        true
    }

    /// Sets or clears [`MARK`] in the stored datagram that begins `number` bytes after the front.
    fn mark(&mut self, number: usize, is_marked: bool) {
        let place = self.place(number);
        if let Some(byte) = self.ring.as_mut().get_mut(place) {
            *byte = *byte & !MARK | if is_marked { MARK } else { 0 };
        }
    }

    fn is_marked(&self) -> bool {
        let first = self.ring.as_ref().get(self.head);
        self.used >= HEADER && first.is_some_and(|byte| byte & MARK != 0)
    }

    fn pop(&mut self, out: &mut [u8]) -> Option<(usize, Endpoint)> {
        if self.used < HEADER {
            return None;
        }
        let (mut len, mut addr, mut port) = ([0; 2], [0; 16], [0; 2]);
        self.take(&mut len, 0);
        self.take(&mut addr, 0);
        self.take(&mut port, 0);
        let len = usize::from(u16::from_be_bytes(len));
        let copied = len.min(out.len());
        if let Some(out) = out.get_mut(..copied) {
            self.take(out, len.saturating_sub(copied));
        }
        let src = Endpoint {
            addr: Addr(addr),
            port: u16::from_be_bytes(port),
        };
        Some((copied, src))
    }
}

pub(crate) struct UdpSockets<M: Memory + 'static> {
    slots: M::Table<UdpSlot<M::Buffer>>,
}

impl<M: Memory + 'static> UdpSockets<M> {
    pub(crate) fn new(slots: M::Table<UdpSlot<M::Buffer>>) -> Self {
        UdpSockets { slots }
    }

    pub(crate) fn bind(&mut self, port: u16) -> Result<UdpId, Error> {
        let slots = self.slots.as_mut();
        if slots.iter().any(|s| s.port == Some(port)) {
            return Err(Error::PortInUse);
        }
        let free = INDICES.zip(slots).find(|(_, s)| s.port.is_none());
        let (index, slot) = free.ok_or(Error::NoSlot)?;
        slot.port = Some(port);
        slot.generation = slot.generation.wrapping_add(1);
        (slot.head, slot.used, slot.readable) = (0, 0, false);
        let generation = slot.generation;
        Ok(UdpId { index, generation })
    }

    fn slot_mut(&mut self, id: UdpId) -> Option<&mut UdpSlot<M::Buffer>> {
        let slot = self.slots.as_mut().get_mut(usize::from(id.index))?;
        (slot.port.is_some() && slot.generation == id.generation).then_some(slot)
    }

    pub(crate) fn close(&mut self, id: UdpId) {
        if let Some(slot) = self.slot_mut(id) {
            slot.port = None;
            slot.readable = false;
        }
    }

    pub(crate) fn port(&self, id: UdpId) -> Option<u16> {
        let slot = self.slots.as_ref().get(usize::from(id.index))?;
        slot.port.filter(|_| slot.generation == id.generation)
    }

    pub(crate) fn is_readable(&self, id: UdpId) -> bool {
        let slot = self.slots.as_ref().get(usize::from(id.index));
        slot.is_some_and(|s| s.port.is_some() && s.generation == id.generation && s.used > 0)
    }

    /// Marks the datagram `upper`, which has just been stored, as one for a group.
    pub(crate) fn mark_newest(&mut self, upper: &[u8]) {
        let Ok((udp, data)) = UdpHeader::parse(upper) else {
            return;
        };
        let mut slots = self.slots.as_mut().iter_mut();
        if let Some(slot) = slots.find(|s| s.port == Some(udp.dst_port)) {
            let stored = data.len().saturating_add(HEADER);
            slot.mark(slot.used.saturating_sub(stored), true);
        }
    }

    /// Clears the mark of the next datagram, which says that it was sent to a group.
    pub(crate) fn take_mark(&mut self, id: UdpId) {
        if let Some(slot) = self.slot_mut(id).filter(|slot| slot.used > 0) {
            slot.mark(0, false);
        }
    }

    /// Returns whether the next datagram is marked as one for a group.
    pub(crate) fn is_marked(&self, id: UdpId) -> bool {
        let slot = self.slots.as_ref().get(usize::from(id.index));
        slot.is_some_and(|s| s.port.is_some() && s.generation == id.generation && s.is_marked())
    }

    pub(crate) fn recv(&mut self, id: UdpId, out: &mut [u8]) -> Option<(usize, Endpoint)> {
        self.slot_mut(id)?.pop(out)
    }
}

impl<M: Memory + 'static> Transport for UdpSockets<M> {
    fn input(
        &mut self,
        _now: Instant,
        arrived: &Arrived<'_>,
        counters: &mut NodeCounters,
    ) -> Outcome {
        let Ok((udp, data)) = UdpHeader::parse(arrived.upper) else {
            return Outcome::Drop(DropReason::Malformed);
        };
        let ip = arrived.header;
        if !udp.verify(&ip.src, &ip.dst, data) {
            return Outcome::Drop(DropReason::BadChecksum);
        }
        let mut slots = self.slots.as_mut().iter_mut();
        let Some(slot) = slots.find(|s| s.port == Some(udp.dst_port)) else {
            return Outcome::NoPort;
        };
        let src = Endpoint {
            addr: ip.src,
            port: udp.src_port,
        };
        if !slot.push(&src, data) {
            return Outcome::Drop(DropReason::UdpFull);
        }
        counters.datagrams = counters.datagrams.wrapping_add(1);
        Outcome::Taken
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        let mut slots = INDICES.zip(self.slots.as_mut());
        let (index, slot) = slots.find(|(_, s)| s.readable)?;
        slot.readable = false;
        let generation = slot.generation;
        Some(NodeEvent::UdpReadable(UdpId { index, generation }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(port: u16) -> Endpoint {
        Endpoint {
            addr: Addr([port as u8; 16]),
            port,
        }
    }

    #[test]
    fn datagrams_come_out_as_they_went_in_around_the_ring() {
        let mut slot = UdpSlot::new([0u8; 100]);
        for round in 0..50u16 {
            let data: [u8; 37] = core::array::from_fn(|i| i as u8 ^ round as u8);
            assert!(slot.push(&endpoint(round), &data));
            assert!(!slot.push(&endpoint(round), &data), "no room for two");
            assert!(slot.push(&endpoint(7), &[]));
            let mut out = [0; 64];
            assert_eq!(slot.pop(&mut out), Some((37, endpoint(round))));
            assert_eq!(out[..37], data);
            assert_eq!(slot.pop(&mut out), Some((0, endpoint(7))));
            assert_eq!(slot.pop(&mut out), None);
        }
    }

    #[test]
    fn a_short_buffer_truncates_one_datagram_only() {
        let mut slot = UdpSlot::new([0u8; 100]);
        assert!(slot.push(&endpoint(1), &[1; 30]));
        assert!(slot.push(&endpoint(2), &[2; 10]));
        let mut out = [0; 8];
        assert_eq!(slot.pop(&mut out), Some((8, endpoint(1))));
        assert_eq!(slot.pop(&mut out), Some((8, endpoint(2))));
        assert_eq!(out, [2; 8]);
    }
}
