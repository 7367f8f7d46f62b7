//! A node whose packets an IP device carries: TCP where IPv6 is already.
//!
//! The device is any driver of `embassy-net-driver` that takes whole IP packets: Thread by
//! OpenThread, a TUN interface, PPP. There is no MAC and no 6LoWPAN of ours below, and the
//! node has no radio to be asked for.

use core::convert::Infallible;
use core::future::{Future, pending, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll};

use embassy_net_driver::{Driver, HardwareAddress, RxToken, TxToken};
use redpoll_base::{Instant, copy};

use super::{Clock, Net, Profile, Watch, give_way};
use crate::Errno;

/// The least MTU of IPv6 (RFC 8200 §5). A node's own segments are longer where its
/// configuration and the room for a packet allow that.
const MTU: usize = 1_280;
/// So many packets pass in each direction before other tasks have their turn.
const AT_ONCE: usize = 8;

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Net<P, C, T> {
    /// Is the driver of a node that has no radio: carries packets between it and `device`,
    /// and its timeouts, until it is dropped.
    ///
    /// `packet` is room for a packet of 1,280 bytes, or of the device's MTU if segments are
    /// configured to be as long. `sleep` makes a future that ends at a
    /// time of this net's clock or later, as `embassy_time::Timer::at` does.
    ///
    /// What the device cannot take waits in the node; what the node has no room for waits in
    /// the device.
    ///
    /// # Errors
    /// `EOPNOTSUPP` if the device takes other frames than IP packets, `EMSGSIZE` if its MTU
    /// or `packet` is too short. Else it does not end.
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
            // What has passed may have changed when the node wants to be called.
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
                        // A socket may want something sent, and another time to be woken.
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
                // Other tasks go on even while the device is never idle.
                give_way().await;
            }
        }
    }

    /// Lets some packets pass both ways; whether there were any.
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
                // What is dropped is counted.
                self.with(|node, now| node.input_packet(now, bytes).ok());
            });
            moved = true;
            // An answer leaves before the next packet takes its room.
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

    /// Sends a packet if there is one and the device takes it.
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
