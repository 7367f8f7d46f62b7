//! The radio of the nRF52840 behind Redpoll's trait, over the driver of `embassy-nrf`.
//!
//! That driver receives, and sends after a clear channel assessment; what is here besides is
//! the address filter. Acknowledgements are the node's, since nobody below it makes them in
//! the standard's time. Two halves share a [`Shared`]: a [`NrfRadio`] is for the node, a
//! [`Runner`] has the chip.
//!
//! What it cannot do, by the chip's manual (§6.20) and the driver's source:
//!
//! - **Acknowledgements are late.** The driver always assesses the channel, so one leaves
//!   390 µs and the time of two tasks after its frame, and not 192: 130 µs until the receiver
//!   is on, 128 of assessment, 130 until the transmitter is. Whoever waits for all of
//!   macAckWaitDuration (864 µs; an acknowledgement takes 352) still gets it, others repeat
//!   their frame. What the node could not answer in time it counts (`acks_late`).
//!   `redpoll-radiotest` finds that. For products there is Nordic's own radio driver.
//! - A frame that is being received when the node wants to send is lost.
//! - No source match: a leaf, and no parent of sleepy nodes.

use core::cell::RefCell;
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll};

use embassy_futures::select::{Either, select};
use embassy_nrf::radio::ieee802154::{Cca, Packet, Radio as Driver};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use embassy_time::{Duration, Timer};
use redpoll_base::Instant;
use redpoll_stack::mac::{
    FrameBuf, Radio, RadioCaps, RadioEvent, RadioIdentity, RadioResult, RadioWork, RxInfo,
};
use redpoll_stack::wire::ieee802154::{Address, FrameHeader, FrameType};

/// Frames and results that wait for the node.
const EVENTS: usize = 4;
/// Orders that wait for the chip: a work, and how to rest.
const ORDERS: usize = 4;
/// What energy never reaches, so that the channel counts as free.
const NEVER_BUSY: Cca = Cca::EnergyDetection { ed_threshold: 0xff };
/// An LQI is so many dB above the sensitivity (§6.20.12.4: ED_RSSIOFFS).
const RSSI_OFFSET: i16 = -93;

enum Event {
    Frame(FrameBuf, RxInfo),
    Done(RadioResult),
}

/// What the two halves share.
pub struct Shared {
    orders: Channel<NoopRawMutex, RadioWork, ORDERS>,
    events: Channel<NoopRawMutex, Event, EVENTS>,
    loaded: RefCell<FrameBuf>,
    identity: RefCell<Option<RadioIdentity>>,
}

impl Shared {
    /// Nothing has happened yet.
    pub const fn new() -> Shared {
        Shared {
            orders: Channel::new(),
            events: Channel::new(),
            loaded: RefCell::new(FrameBuf::new()),
            identity: RefCell::new(None),
        }
    }
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new()
    }
}

/// The node's half.
pub struct NrfRadio<'s> {
    shared: &'s Shared,
    frame: FrameBuf,
    is_loaded: bool,
}

impl<'s> NrfRadio<'s> {
    /// See the [module](self).
    pub fn new(shared: &'s Shared) -> Self {
        NrfRadio {
            shared,
            frame: FrameBuf::new(),
            is_loaded: false,
        }
    }
}

/// The time since the start.
pub fn now() -> Instant {
    Instant::from_micros(embassy_time::Instant::now().as_micros())
}

impl Radio for NrfRadio<'_> {
    fn caps(&self) -> RadioCaps {
        RadioCaps::default()
    }

    fn set_identity(&mut self, identity: RadioIdentity) {
        *self.shared.identity.borrow_mut() = Some(identity);
    }

    fn now(&self) -> Instant {
        now()
    }

    fn start(&mut self, work: RadioWork, frame: &[u8]) {
        if work == RadioWork::Load {
            // A MAC's frame fits.
            let _ = self.shared.loaded.borrow_mut().copy_from(frame);
            self.is_loaded = true;
        } else {
            // A node has one work under way, and changes how it rests between two.
            let _ = self.shared.orders.try_send(work);
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<RadioEvent> {
        if core::mem::take(&mut self.is_loaded) {
            return Poll::Ready(RadioEvent::Done(RadioResult::Loaded));
        }
        if let Poll::Ready(event) = pin!(self.shared.events.receive()).poll(cx) {
            return Poll::Ready(match event {
                Event::Done(result) => RadioEvent::Done(result),
                Event::Frame(frame, info) => {
                    self.frame = frame;
                    RadioEvent::Frame(info)
                }
            });
        }
        let Some(until) = until else {
            return Poll::Pending;
        };
        let at = embassy_time::Instant::from_micros(until.as_micros());
        // Rounded down to a tick, it may be before its time.
        let tick = Duration::from_ticks(1);
        pin!(Timer::at(at + tick))
            .poll(cx)
            .map(|()| RadioEvent::Time)
    }

    fn frame(&self) -> &[u8] {
        self.frame.as_slice()
    }
}

/// The chip's half.
pub struct Runner<'s, 'd> {
    shared: &'s Shared,
    driver: Driver<'d>,
    packet: Packet,
    rest: RadioWork,
}

impl<'s, 'd> Runner<'s, 'd> {
    /// Listens on this channel, 11 to 26.
    pub fn new(shared: &'s Shared, mut driver: Driver<'d>, channel: u8) -> Self {
        driver.set_channel(channel);
        Runner {
            shared,
            driver,
            packet: Packet::new(),
            rest: RadioWork::Listen,
        }
    }

    /// Does what the node's half says, until it is dropped.
    pub async fn run(&mut self) -> ! {
        loop {
            let order = if self.rest == RadioWork::Listen {
                let heard = self.driver.receive(&mut self.packet);
                match select(heard, self.shared.orders.receive()).await {
                    Either::First(Ok(())) => {
                        self.on_frame();
                        continue;
                    }
                    // Damaged: nobody is told.
                    Either::First(Err(_)) => continue,
                    Either::Second(order) => order,
                }
            } else {
                self.shared.orders.receive().await
            };
            match order {
                RadioWork::Transmit { cca } => {
                    let result = self.transmit(cca).await;
                    self.shared.events.send(Event::Done(result)).await;
                }
                RadioWork::Listen | RadioWork::Doze | RadioWork::Sleep => self.rest = order,
                RadioWork::Load | RadioWork::SourceMatch { .. } => {}
            }
        }
    }

    async fn transmit(&mut self, cca: bool) -> RadioResult {
        self.packet
            .copy_from_slice(self.shared.loaded.borrow().as_slice());
        self.driver.set_cca(match cca {
            true => Cca::CarrierSense,
            false => NEVER_BUSY,
        });
        match self.driver.try_send(&mut self.packet).await {
            Ok(()) => RadioResult::Sent,
            Err(_) => RadioResult::ChannelBusy,
        }
    }

    /// A frame has arrived intact.
    fn on_frame(&self) {
        let (Some(identity), Ok((header, _))) = (
            *self.shared.identity.borrow(),
            FrameHeader::parse(&self.packet),
        ) else {
            return;
        };
        let is_broadcast = header.dst == Address::Short(0xffff);
        let is_own = header.dst == Address::Short(identity.short)
            || header.dst == Address::Extended(identity.extended);
        let in_pan = [Some(identity.pan_id), Some(0xffff)].contains(&header.dst_pan);
        let is_ours = in_pan && (is_own || is_broadcast);
        // An acknowledgement has no addresses.
        if !is_ours && header.frame_type != FrameType::Ack {
            return;
        }
        let lqi = self.packet.lqi();
        let info = RxInfo {
            rssi_dbm: (RSSI_OFFSET + i16::from(lqi)).min(0) as i8,
            // To the standard's range (§6.20.12.4).
            lqi: lqi.saturating_mul(4),
            ack_sent_pending: false,
        };
        let mut frame = FrameBuf::new();
        // A packet has 125 bytes at most.
        let _ = frame.copy_from(&self.packet);
        // Where the node is slower than its neighbours a frame is lost.
        let _ = self.shared.events.try_send(Event::Frame(frame, info));
    }
}
