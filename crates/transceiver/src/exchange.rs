//! The exchange between the node's half and the driver's half.

use core::cell::{Cell, RefCell};
use core::task::{Context, Poll, Waker};

use redpoll_mac::{FrameBuf, RadioIdentity, RadioResult, RadioWork, RxInfo};

/// Maximum number of events that wait for the node: frames, and the result of its work.
const EVENTS: usize = 4;

pub(crate) enum DriverEvent {
    Frame(FrameBuf, RxInfo),
    Done(RadioResult),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// Send the loaded frame.
    Transmit { cca: bool },
    /// Switch the radio to this state, and keep the state between transmissions.
    Rest(RadioWork),
}

/// The state that the node's half and the driver's half share. It has no lock, so both halves run
/// on one executor.
pub struct Exchange {
    /// A transmission that waits for the driver: whether it begins with a channel assessment.
    transmit: Cell<Option<bool>>,
    /// State in which the node wants the radio between operations.
    rest: Cell<RadioWork>,
    loaded: RefCell<FrameBuf>,
    identity: Cell<Option<RadioIdentity>>,
    /// Events in the order of their arrival; `None` after the last one.
    events: RefCell<[Option<DriverEvent>; EVENTS]>,
    operator: Cell<Option<Waker>>,
    node: Cell<Option<Waker>>,
}

impl Exchange {
    /// Makes an exchange. The radio listens, but reports no frame before the node has an identity.
    pub const fn new() -> Exchange {
        Exchange {
            transmit: Cell::new(None),
            rest: Cell::new(RadioWork::Listen),
            loaded: RefCell::new(FrameBuf::new()),
            identity: Cell::new(None),
            events: RefCell::new([const { None }; EVENTS]),
            operator: Cell::new(None),
            node: Cell::new(None),
        }
    }

    pub(crate) fn set_identity(&self, identity: RadioIdentity) {
        self.identity.set(Some(identity));
    }

    pub(crate) fn identity(&self) -> Option<RadioIdentity> {
        self.identity.get()
    }

    pub(crate) fn load(&self, frame: &[u8]) {
        // A MAC's frame always fits.
        let _ = self.loaded.borrow_mut().copy_from(frame);
    }

    pub(crate) fn loaded(&self) -> FrameBuf {
        self.loaded.borrow().clone()
    }

    /// Issues an order, which replaces a waiting order of the same kind.
    pub(crate) fn order(&self, order: Order) {
        match order {
            Order::Transmit { cca } => self.transmit.set(Some(cca)),
            Order::Rest(rest) => self.rest.set(rest),
        }
        self.operator.take().into_iter().for_each(Waker::wake);
    }

    /// Returns the next order for a driver in the state `rests`. An order that does not change
    /// the state is skipped, because it could cost a frame in reception.
    pub(crate) fn poll_order(&self, cx: &Context<'_>, rests: RadioWork) -> Poll<Order> {
        if let Some(cca) = self.transmit.take() {
            return Poll::Ready(Order::Transmit { cca });
        }
        let rest = self.rest.get();
        if rest != rests {
            return Poll::Ready(Order::Rest(rest));
        }
        self.operator.set(Some(cx.waker().clone()));
        Poll::Pending
    }

    /// Stores an event. If the node is too slow, a frame is lost; a result always finds room.
    pub(crate) fn tell(&self, heard: DriverEvent) {
        let mut events = self.events.borrow_mut();
        let room = match heard {
            DriverEvent::Frame(..) => EVENTS.saturating_sub(1),
            DriverEvent::Done(_) => EVENTS,
        };
        if let Some(place) = events.iter_mut().take(room).find(|it| it.is_none()) {
            *place = Some(heard);
            self.node.take().into_iter().for_each(Waker::wake);
        }
    }

    pub(crate) fn poll_heard(&self, cx: &Context<'_>) -> Poll<DriverEvent> {
        let mut events = self.events.borrow_mut();
        let first = events.first_mut().and_then(Option::take);
        if let Some(heard) = first {
            events.rotate_left(1);
            return Poll::Ready(heard);
        }
        self.node.set(Some(cx.waker().clone()));
        Poll::Pending
    }
}

impl Default for Exchange {
    fn default() -> Self {
        Exchange::new()
    }
}
