//! The node's half.

use core::task::{Context, Poll};

use redpoll_base::Instant;
use redpoll_mac::{
    FrameBuf, Radio, RadioCaps, RadioEvent, RadioIdentity, RadioResult, RadioWork, RxInfo,
};

use crate::driver::Ticker;
use crate::exchange::{DriverEvent, Exchange, Order};

/// The radio that a node sees; see the [crate](crate).
pub struct TransceiverRadio<'e, T> {
    exchange: &'e Exchange,
    ticker: T,
    frame: FrameBuf,
    is_loaded: bool,
}

impl<'e, T: Ticker> TransceiverRadio<'e, T> {
    /// Makes the node's half. The driver's half is an [`Operator`](crate::Operator) with the same
    /// exchange.
    pub fn new(exchange: &'e Exchange, ticker: T) -> Self {
        TransceiverRadio {
            exchange,
            ticker,
            frame: FrameBuf::new(),
            is_loaded: false,
        }
    }
}

impl<T: Ticker> Radio for TransceiverRadio<'_, T> {
    fn caps(&self) -> RadioCaps {
        RadioCaps::default()
    }

    fn set_identity(&mut self, identity: RadioIdentity) {
        self.exchange.set_identity(identity);
    }

    fn now(&self) -> Instant {
        self.ticker.now()
    }

    fn start(&mut self, work: RadioWork, frame: &[u8]) {
        match work {
            RadioWork::Load => {
                self.exchange.load(frame);
                self.is_loaded = true;
            }
            RadioWork::Transmit { cca } => self.exchange.order(Order::Transmit { cca }),
            RadioWork::Listen | RadioWork::Doze | RadioWork::Sleep => {
                self.exchange.order(Order::Rest(work));
            }
            // `caps` excludes source matches and the operations of duty-cycled MACs.
            _ => {}
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<RadioEvent> {
        if core::mem::take(&mut self.is_loaded) {
            return Poll::Ready(RadioEvent::Done(RadioResult::Loaded));
        }
        if let Poll::Ready(heard) = self.exchange.poll_heard(cx) {
            return Poll::Ready(match heard {
                DriverEvent::Done(result) => RadioEvent::Done(result),
                DriverEvent::Frame(frame, info) => self.take(frame, info),
            });
        }
        let Some(until) = until else {
            return Poll::Pending;
        };
        match self.ticker.now() >= until {
            true => Poll::Ready(RadioEvent::Time),
            false => self.ticker.poll_until(cx, until).map(|()| RadioEvent::Time),
        }
    }

    fn frame(&self) -> &[u8] {
        &self.frame
    }
}

impl<T> TransceiverRadio<'_, T> {
    fn take(&mut self, frame: FrameBuf, info: RxInfo) -> RadioEvent {
        self.frame = frame;
        RadioEvent::Frame(info)
    }
}
