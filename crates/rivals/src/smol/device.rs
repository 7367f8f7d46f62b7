//! The stack's network device: room for a few packets.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use ::smoltcp::phy::{self, DeviceCapabilities, Medium};
use ::smoltcp::time::Instant;

pub(super) struct Device {
    pub mtu: usize,
    /// Number of packets that the stack may queue before the node pulls them.
    pub room: usize,
    pub incoming: Option<Vec<u8>>,
    pub outgoing: VecDeque<Vec<u8>>,
}

impl phy::Device for Device {
    type RxToken<'a> = RxToken;
    type TxToken<'a> = TxToken<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(RxToken, TxToken<'_>)> {
        let packet = self.incoming.take()?;
        // Up to `room` answers to received packets can wait in addition to `room` sent packets.
        let room = 2 * self.room;
        let outgoing = &mut self.outgoing;
        Some((RxToken(packet), TxToken { outgoing, room }))
    }

    fn transmit(&mut self, _now: Instant) -> Option<TxToken<'_>> {
        let (room, outgoing) = (self.room, &mut self.outgoing);
        (outgoing.len() < room).then_some(TxToken { outgoing, room })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

pub(super) struct RxToken(Vec<u8>);

impl phy::RxToken for RxToken {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

pub(super) struct TxToken<'a> {
    outgoing: &'a mut VecDeque<Vec<u8>>,
    room: usize,
}

impl phy::TxToken for TxToken<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        if self.outgoing.len() < self.room {
            self.outgoing.push_back(packet);
        }
        result
    }
}
