//! The radio of the nRF52840 behind Redpoll's trait, over the driver of `embassy-nrf`.
//!
//! That driver receives, and sends after a clear channel assessment. The address filter and the
//! sequence of operations are in `redpoll-transceiver`, whose tests use a model of this chip on the
//! host. This file has the parts for the target: the driver's calls, and the clock. The node makes
//! the acknowledgements.
//!
//! Limitations, by the chip's manual (§6.20) and the driver's source:
//!
//! - **Acknowledgements are late.** The driver always assesses the channel, so an
//!   acknowledgement leaves 260 µs and the time of two tasks after its frame instead of 192 µs:
//!   128 µs of assessment and 130 until the transmitter is on. If the previous frame was sent
//!   after a real assessment, 130 µs more are needed, because the driver switches the chip off
//!   and on to change the method. A sender that waits for the whole macAckWaitDuration (864 µs;
//!   an acknowledgement takes 352) still receives it; others repeat their frame. The node
//!   counts late acknowledgements (`acks_late`). Products can use Nordic's own radio driver.
//! - A frame that is being received when the node begins to send or changes its state of rest is
//!   lost.
//! - No source match: the node can be a leaf, but no parent of sleepy nodes.

use core::pin::pin;
use core::task::{Context, Poll};

use embassy_nrf::pac;
use embassy_nrf::radio::ieee802154::{Cca, Packet, Radio as Driver};
use embassy_time::{Duration, Timer};
use redpoll_base::Instant;
use redpoll_stack::mac::{FrameBuf, RxInfo};
use redpoll_transceiver::{Assessment, Ticker, Transceiver, nrf52840};

pub struct Nrf<'d> {
    driver: Driver<'d>,
    packet: Packet,
}

impl<'d> Nrf<'d> {
    /// Listens on this channel, 11 to 26.
    pub fn new(mut driver: Driver<'d>, channel: u8) -> Self {
        driver.set_channel(channel);
        let packet = Packet::new();
        Nrf { driver, packet }
    }
}

impl Transceiver for Nrf<'_> {
    async fn receive(&mut self) -> bool {
        self.driver.receive(&mut self.packet).await.is_ok()
    }

    fn received(&self) -> Option<(&[u8], RxInfo)> {
        // The length comes from the air. If too large, the driver would read beyond its buffer.
        let is_possible = usize::from(self.packet.len()) <= FrameBuf::CAPACITY;
        is_possible.then(|| (&self.packet[..], nrf52840::rx_info(self.packet.lqi())))
    }

    fn assess_by(&mut self, assessment: Assessment) {
        self.driver.set_cca(match assessment {
            Assessment::Channel => Cca::CarrierSense,
            // A threshold that no energy reaches.
            Assessment::AlwaysFree => Cca::EnergyDetection { ed_threshold: 0xff },
        });
    }

    async fn try_send(&mut self, frame: &[u8]) -> bool {
        self.packet.copy_from_slice(frame);
        self.driver.try_send(&mut self.packet).await.is_ok()
    }

    fn disable(&mut self) {
        // The driver stops a receiver but leaves it ramped up, at the current of reception. It has
        // no call for switching it off, and can start again from that state.
        pac::RADIO.tasks_disable().write_value(1);
    }
}

/// The clock of `embassy-time`.
pub struct Clock;

/// Returns the time since the start.
pub fn now() -> Instant {
    Instant::from_micros(embassy_time::Instant::now().as_micros())
}

impl Ticker for Clock {
    fn now(&self) -> Instant {
        now()
    }

    fn poll_until(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()> {
        let at = embassy_time::Instant::from_micros(at.as_micros());
        // Without the additional tick, rounding could make the timer early.
        pin!(Timer::at(at + Duration::from_ticks(1))).poll(cx)
    }
}
