//! The driver's half.

use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;

use redpoll_mac::{FrameBuf, RadioResult, RadioWork};
use redpoll_wire::ieee802154::{Address, FrameHeader, FrameType};

use crate::driver::{Assessment, Transceiver};
use crate::exchange::{DriverEvent, Exchange, Order};

/// The broadcast short address, and the broadcast PAN.
const BROADCAST: u16 = 0xffff;

/// Executes the node's orders with the driver, and reports received frames to the node; see the
/// [crate](crate).
pub struct Operator<'e, T> {
    exchange: &'e Exchange,
    transceiver: T,
    rest: RadioWork,
    /// The assessment method last set in the driver; setting it takes time.
    assessment: Option<Assessment>,
}

/// The reason why a rest ends.
enum End {
    /// A frame has arrived, intact or not.
    Received(bool),
    Order(Order),
}

impl<'e, T: Transceiver> Operator<'e, T> {
    /// Returns an operator whose driver is already on its channel.
    pub fn new(exchange: &'e Exchange, transceiver: T) -> Self {
        Operator {
            exchange,
            transceiver,
            rest: RadioWork::Listen,
            assessment: None,
        }
    }

    /// Runs forever. Dropping the future may interrupt a transmission, so run it in a separate
    /// task, or join it with the node's future.
    pub async fn run(&mut self) -> ! {
        loop {
            match self.rest().await {
                End::Received(true) => self.on_frame(),
                // A damaged frame is not reported.
                End::Received(false) => {}
                End::Order(Order::Transmit { cca }) => {
                    let result = self.transmit(cca).await;
                    self.exchange.tell(DriverEvent::Done(result));
                }
                End::Order(Order::Rest(rest)) => {
                    self.rest = rest;
                    if rest != RadioWork::Listen {
                        self.transceiver.disable();
                    }
                }
            }
        }
    }

    /// Keeps the radio in the state that the node wants, until an event.
    async fn rest(&mut self) -> End {
        let (exchange, rest) = (self.exchange, self.rest);
        if rest != RadioWork::Listen {
            let order = poll_fn(|cx| exchange.poll_order(cx, rest)).await;
            return End::Order(order);
        }
        let mut received = pin!(self.transceiver.receive());
        // A received frame is handled before an order.
        poll_fn(|cx| match received.as_mut().poll(cx) {
            Poll::Ready(is_intact) => Poll::Ready(End::Received(is_intact)),
            Poll::Pending => exchange.poll_order(cx, rest).map(End::Order),
        })
        .await
    }

    async fn transmit(&mut self, cca: bool) -> RadioResult {
        let assessment = match cca {
            true => Assessment::Channel,
            false => Assessment::AlwaysFree,
        };
        if self.assessment.replace(assessment) != Some(assessment) {
            self.transceiver.assess_by(assessment);
        }
        // A copy, because the node may change the frame during the transmission.
        let frame = self.exchange.loaded();
        match self.transceiver.try_send(&frame).await {
            true => RadioResult::Sent,
            false => RadioResult::ChannelBusy,
        }
    }

    fn on_frame(&self) {
        let (Some(identity), Some((bytes, info))) =
            (self.exchange.identity(), self.transceiver.received())
        else {
            return;
        };
        let Ok((header, _)) = FrameHeader::parse(bytes) else {
            return;
        };
        let to = [
            Address::Short(BROADCAST),
            Address::Short(identity.short),
            Address::Extended(identity.extended),
        ];
        let pans = [Some(identity.pan_id), Some(BROADCAST)];
        let is_ours = pans.contains(&header.dst_pan) && to.contains(&header.dst);
        // Acknowledgements have no addresses, so all of them are reported.
        if !is_ours && header.frame_type != FrameType::Ack {
            return;
        }
        let mut frame = FrameBuf::new();
        if frame.copy_from(bytes).is_ok() {
            self.exchange.tell(DriverEvent::Frame(frame, info));
        }
    }
}
