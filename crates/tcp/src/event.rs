//! Events for the application.

use crate::Error;

/// An event of a connection. Events are edges: a condition raises its event when it occurs, and
/// only once until the event is polled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// Data arrived in order.
    Readable,
    /// Room became free after `send` had accepted less data than the application offered, or a
    /// buffer became free after `send_buffer` had accepted one.
    Writable,
    /// The peer will send no more data: `recv` returns `Ok(0)` after the last byte.
    PeerClosed,
    /// A problem that does not end the connection (RFC 9293 §3.9.1.8).
    Trouble(Trouble),
    /// Both directions closed normally and the state is CLOSED.
    Closed,
    /// The connection ended by an error.
    Failed(Error),
}

/// A problem that does not end a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Trouble {
    /// Three retransmissions were not answered (R1 of RFC 9293 §3.8.3).
    NoAnswer,
    /// A router reported a soft error (RFC 9293 §3.9.2.2), or a hard one on a
    /// synchronised connection.
    Icmp,
}

/// The kind of traffic that a connection waits for. It determines the poll rate of a sleepy node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Expect {
    /// Nothing in particular; the peer may still start to send.
    Nothing,
    /// Data: a transfer is in progress, or there is a gap to fill.
    Data,
    /// An acknowledgment.
    Ack,
}

/// Pending events, one bit each; the lowest bit is reported first.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct EventSet {
    bits: u8,
}

const NO_ANSWER: u8 = 1 << 0;
const ICMP: u8 = 1 << 1;
const CONNECTED: u8 = 1 << 2;
const READABLE: u8 = 1 << 3;
const WRITABLE: u8 = 1 << 4;
const PEER_CLOSED: u8 = 1 << 5;
const CLOSED: u8 = 1 << 6;

impl EventSet {
    pub(crate) fn connected(&mut self) {
        self.bits |= CONNECTED;
    }

    pub(crate) fn readable(&mut self) {
        self.bits |= READABLE;
    }

    pub(crate) fn writable(&mut self) {
        self.bits |= WRITABLE;
    }

    pub(crate) fn peer_closed(&mut self) {
        self.bits |= PEER_CLOSED;
    }

    /// Records that the connection ended, normally or by an error.
    pub(crate) fn closed(&mut self) {
        self.bits |= CLOSED;
    }

    pub(crate) fn trouble(&mut self, trouble: Trouble) {
        self.bits |= match trouble {
            Trouble::NoAnswer => NO_ANSWER,
            Trouble::Icmp => ICMP,
        };
    }

    /// Removes and returns the pending event with the lowest bit, so that `Connected` precedes
    /// `Readable`, and the end of the connection is last. `error` is the reason if an error ended
    /// the connection.
    pub(crate) fn take(&mut self, error: Option<Error>) -> Option<Event> {
        let lowest = self.bits & self.bits.wrapping_neg();
        self.bits &= !lowest;
        match lowest {
            NO_ANSWER => Some(Event::Trouble(Trouble::NoAnswer)),
            ICMP => Some(Event::Trouble(Trouble::Icmp)),
            CONNECTED => Some(Event::Connected),
            READABLE => Some(Event::Readable),
            WRITABLE => Some(Event::Writable),
            PEER_CLOSED => Some(Event::PeerClosed),
            CLOSED => Some(error.map_or(Event::Closed, Event::Failed)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_comes_once_and_in_order() {
        let mut events = EventSet::default();
        events.closed();
        events.readable();
        events.readable();
        events.connected();
        events.trouble(Trouble::Icmp);
        let mut seen = [None; 5];
        for slot in &mut seen {
            *slot = events.take(Some(Error::Reset));
        }
        assert_eq!(
            seen,
            [
                Some(Event::Trouble(Trouble::Icmp)),
                Some(Event::Connected),
                Some(Event::Readable),
                Some(Event::Failed(Error::Reset)),
                None
            ]
        );
    }
}
