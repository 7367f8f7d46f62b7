//! What passes between the half of the node and that of the driver.

use core::cell::{Cell, RefCell};
use core::task::{Context, Poll, Waker};

use redpoll_mac::{FrameBuf, RadioIdentity, RadioResult, RadioWork, RxInfo};

/// Events that wait for the node: frames, and the result of its one work.
const EVENTS: usize = 4;

/// What has come from the driver.
pub(crate) enum Heard {
    Frame(FrameBuf, RxInfo),
    Done(RadioResult),
}

/// What the driver is to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// Send what is loaded.
    Transmit { cca: bool },
    /// Rest so from now on.
    Rest(RadioWork),
}

/// What the two halves share. It is for one executor: it has no lock.
pub struct Exchange {
    /// A transmission that waits for the driver.
    transmit: Cell<Option<bool>>,
    /// How the node wants the radio to rest.
    rest: Cell<RadioWork>,
    loaded: RefCell<FrameBuf>,
    identity: Cell<Option<RadioIdentity>>,
    /// The first of them came first; behind the last there is nothing.
    events: RefCell<[Option<Heard>; EVENTS]>,
    operator: Cell<Option<Waker>>,
    node: Cell<Option<Waker>>,
}

impl Exchange {
    /// Nothing has happened yet; the radio listens, and no frame is its own.
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
        // A frame of a MAC's fits.
        let _ = self.loaded.borrow_mut().copy_from(frame);
    }

    pub(crate) fn loaded(&self) -> FrameBuf {
        self.loaded.borrow().clone()
    }

    /// The node has an order: a second transmission is none, for works come one at a time.
    pub(crate) fn order(&self, order: Order) {
        match order {
            Order::Transmit { cca } => self.transmit.set(Some(cca)),
            Order::Rest(rest) => self.rest.set(rest),
        }
        self.operator.take().into_iter().for_each(Waker::wake);
    }

    /// The next order for a driver that rests so. One that changes nothing is none: it must not
    /// cost a frame that is being received.
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

    /// Something has come. Where the node is slower than its neighbours a frame is lost; for a
    /// result there is always room.
    pub(crate) fn tell(&self, heard: Heard) {
        let mut events = self.events.borrow_mut();
        let room = match heard {
            Heard::Frame(..) => EVENTS.saturating_sub(1),
            Heard::Done(_) => EVENTS,
        };
        if let Some(place) = events.iter_mut().take(room).find(|it| it.is_none()) {
            *place = Some(heard);
            self.node.take().into_iter().for_each(Waker::wake);
        }
    }

    /// What has come first.
    pub(crate) fn poll_heard(&self, cx: &Context<'_>) -> Poll<Heard> {
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
