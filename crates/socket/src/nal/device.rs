//! A node whose packets use an IP device: TCP over an existing IPv6 link.
//!
//! The device is any driver of `embassy-net-driver` that carries whole IP packets: Thread by
//! OpenThread, a TUN interface, PPP. Redpoll's MAC and 6LoWPAN are not used, and the node has no
//! radio.

use core::convert::Infallible;
use core::future::{Future, pending, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll};

use embassy_net_driver::{Driver, HardwareAddress, RxToken, TxToken};
use redpoll_base::{Instant, copy};

use super::{Clock, Net, Profile, Watch, yield_now};
use crate::Errno;

/// The minimum MTU of IPv6 in bytes (RFC 8200 §5). A node sends longer segments if its
/// configuration and packet buffer allow them.
const MTU: usize = 1_280;
/// Greatest number of packets that are received before other tasks run. At most twice this number
/// are sent: an answer for each received packet, and as many further packets.
const AT_ONCE: usize = 8;

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Net<P, C, T> {
    /// Drives a node that has no radio: carries packets between the node and `device`, and runs the
    /// node's timers, until the future is dropped.
    ///
    /// `packet` holds a packet of 1,280 bytes, or of the device's MTU if longer segments are
    /// configured. `sleep` makes a future that ends at or after a time of this net's clock, as
    /// `embassy_time::Timer::at` does.
    ///
    /// Packets that the device cannot accept wait in the node, and packets for which the node has
    /// no room wait in the device.
    ///
    /// # Errors
    /// `EOPNOTSUPP` if the device does not carry IP packets, `EMSGSIZE` if its MTU or `packet` is
    /// too short. Without an error, the future does not end.
    pub async fn run_over<D: Driver, S: Future<Output = ()>>(
        &self,
        device: &mut D,
        packet: &mut [u8],
        mut sleep: impl FnMut(Instant) -> S,
    ) -> Result<Infallible, Errno> {
        if device.hardware_address() != HardwareAddress::Ip {
            return Err(Errno::EOPNOTSUPP);
        }
        let mtu = device.capabilities().max_transmission_unit;
        if mtu.min(packet.len()) < MTU {
            return Err(Errno::EMSGSIZE);
        }
        let (packet, _) = packet.split_at_mut(mtu.min(packet.len()));
        loop {
            let moved = poll_fn(|cx| Poll::Ready(self.exchange(device, packet, cx))).await;
            // The exchange may have changed the node's next timeout.
            let at = self.poll_at();
            let mut timer = pin!(async {
                match at {
                    Some(at) => sleep(at).await,
                    None => pending().await,
                }
            });
            let moved = match moved {
                true => true,
                false => {
                    poll_fn(|cx| {
                        let moved = self.exchange(device, packet, cx);
                        // A socket has something to send, or has changed the next timeout.
                        if moved || self.take_work(cx) {
                            return Poll::Ready(moved);
                        }
                        timer.as_mut().poll(cx).map(|()| false)
                    })
                    .await
                }
            };
            self.with(|node, now| node.on_timeout(now));
            if moved {
                // Other tasks run even while the device is never idle.
                yield_now().await;
            }
        }
    }

    /// Exchanges some packets in both directions; returns whether it moved any.
    fn exchange<D: Driver>(&self, device: &mut D, packet: &mut [u8], cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        for _ in 0..AT_ONCE {
            if !self.with(|node, _| node.has_room()) {
                break;
            }
            let Some((token, _)) = device.receive(cx) else {
                break;
            };
            token.consume(|bytes| {
                // The node counts packets that it drops.
                self.with(|node, now| node.input_packet(now, bytes).ok());
            });
            moved = true;
            // Send the answer now, so that its slot is free for the next received packet.
            moved |= self.send_one(device, packet, cx);
        }
        for _ in 0..AT_ONCE {
            if !self.send_one(device, packet, cx) {
                break;
            }
            moved = true;
        }
        moved
    }

    fn send_one<D: Driver>(&self, device: &mut D, packet: &mut [u8], cx: &mut Context<'_>) -> bool {
        let Some(token) = device.transmit(cx) else {
            return false;
        };
        let made = self.with(|node, now| node.poll_packet(now, packet));
        let Some(bytes) = made.and_then(|len| packet.get(..len)) else {
            return false;
        };
        token.consume(bytes.len(), |out| copy(bytes, out));
        true
    }
}
