//! The radio of the nRF52840 behind Redpoll's trait, over the driver of `embassy-nrf`.
//!
//! That driver receives, and sends after a clear channel assessment; the rest is here: the
//! address filter, acknowledgements, the wait for them. Two halves share a [`Shared`]: a
//! [`NrfRadio`] is for the node, a [`Runner`] has the chip.
//!
//! What it cannot do, by the chip's manual (§6.20) and the driver's source:
//!
//! - **Acknowledgements are late.** The driver always assesses the channel, so one leaves
//!   some 390 µs after its frame and not 192: 130 µs until the receiver is on, 128 of
//!   assessment, 130 until the transmitter is. Whoever waits for all of macAckWaitDuration
//!   (864 µs; an acknowledgement takes 352) still gets it, others repeat their frame.
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
use redpoll_stack::wire::ieee802154::{Address, FrameHeader, FrameType, imm_ack, timing};

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
        RadioCaps {
            auto_ack: true,
            ..RadioCaps::default()
        }
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
                        self.on_frame().await;
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
        let (dsn, wants_ack) = {
            let loaded = self.shared.loaded.borrow();
            self.packet.copy_from_slice(loaded.as_slice());
            match FrameHeader::parse(loaded.as_slice()) {
                Ok((header, _)) => (header.dsn, header.ack_request),
                Err(_) => (0, false),
            }
        };
        self.driver.set_cca(match cca {
            true => Cca::CarrierSense,
            false => NEVER_BUSY,
        });
        if self.driver.try_send(&mut self.packet).await.is_err() {
            return RadioResult::ChannelBusy;
        }
        if !wants_ack {
            return RadioResult::Sent;
        }
        let end = Timer::after_micros(timing::ACK_WAIT_US);
        match select(self.await_ack(dsn), end).await {
            Either::First(frame_pending) => RadioResult::Acked { frame_pending },
            Either::Second(()) => RadioResult::NoAck,
        }
    }

    /// Its frame-pending bit, once it comes. Other frames are lost meanwhile, as on any radio
    /// that sends by a procedure of its own.
    async fn await_ack(&mut self, dsn: u8) -> bool {
        loop {
            if self.driver.receive(&mut self.packet).await.is_ok()
                && let Ok((header, _)) = FrameHeader::parse(&self.packet)
                && header.frame_type == FrameType::Ack
                && header.dsn == dsn
            {
                return header.frame_pending;
            }
        }
    }

    /// A frame has arrived intact.
    async fn on_frame(&mut self) {
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
        if !in_pan || !(is_own || is_broadcast) || header.frame_type == FrameType::Ack {
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
        if is_own && header.ack_request {
            self.packet.copy_from_slice(&imm_ack(header.dsn, false));
            self.driver.set_cca(NEVER_BUSY);
            let _ = self.driver.try_send(&mut self.packet).await;
        }
        // Where the node is slower than its neighbours a frame is lost, after it was
        // acknowledged: TCP has it sent again.
        let _ = self.shared.events.try_send(Event::Frame(frame, info));
    }
}
