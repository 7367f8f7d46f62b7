//! Streams of bytes, whichever transport carries them.

use redpoll_base::{Instant, Rng};
use redpoll_tcp::{Endpoint, State, Stats};

use super::{Arrived, Outcome, Transport};
use crate::counters::{DropReason, NodeCounters};
use crate::{ConnId, Error, ListenerId, NodeEvent};

/// A transport with connections that a node may have in the place of its TCP: it
/// gets every packet with TCP's number, and makes every such segment.
///
/// What it must hold to is what [`Transport`] and [`Streams`] say; its handles and
/// events are its own.
pub trait StreamTransport: Transport {
    /// Whether it is there. If not, nothing else of it is ever called but
    /// [`Transport::poll_at`] and [`Transport::poll_event`].
    fn is_there(&self) -> bool;

    /// See [`Streams::listen`].
    ///
    /// # Errors
    /// As there.
    fn listen(&mut self, port: u16) -> Result<ListenerId, Error>;

    /// See [`Streams::accept`].
    fn accept(&mut self, listener: ListenerId) -> Option<ConnId>;

    /// Opens a connection from `local`, whose port is its own choice, to `remote`.
    ///
    /// # Errors
    /// As [`Streams::connect`].
    fn connect(
        &mut self,
        now: Instant,
        local: Endpoint,
        remote: Endpoint,
        rng: &mut Rng,
    ) -> Result<ConnId, Error>;

    /// See [`Streams::send`].
    ///
    /// # Errors
    /// As there.
    fn send(&mut self, now: Instant, id: ConnId, data: &[u8]) -> Result<usize, Error>;

    /// See [`Streams::recv`].
    ///
    /// # Errors
    /// As there.
    fn recv(&mut self, now: Instant, id: ConnId, out: &mut [u8]) -> Result<usize, Error>;

    /// See [`Streams::close`].
    fn close(&mut self, now: Instant, id: ConnId);

    /// See [`Streams::abort`].
    fn abort(&mut self, now: Instant, id: ConnId);

    /// See [`Streams::release`].
    fn release(&mut self, now: Instant, id: ConnId);

    /// See [`Streams::stream`].
    fn stream(&self, id: ConnId) -> Option<Stream>;

    /// See [`Streams::live`].
    fn live(&self) -> usize;

    /// Whether a packet of a peer is about to come: a node that sleeps then asks
    /// for it often.
    fn expects(&self) -> bool;

    /// See [`Streams::stats`].
    fn stats(&self, _: ConnId) -> Option<&Stats> {
        None
    }
}

/// What a connection is like at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream {
    /// This end.
    pub local: Endpoint,
    /// The other end.
    pub remote: Endpoint,
    /// Its state.
    pub state: State,
    /// Bytes given to it that the peer has not acknowledged.
    pub unacked: usize,
    /// Bytes that it would take now.
    pub send_room: usize,
}

/// The calls that any transport with connections has: what an application needs
/// that works over whichever of them a [`Node`](crate::Node) has. More of TCP's own
/// is in the node's calls that begin with `tcp_`.
pub trait Streams {
    /// Listens for connections to `port`.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::NoSlot`].
    fn listen(&mut self, port: u16) -> Result<ListenerId, Error>;

    /// The next established connection of a listener.
    fn accept(&mut self, listener: ListenerId) -> Option<ConnId>;

    /// Opens a connection to `remote`; the result comes as an event.
    ///
    /// # Errors
    /// [`Error::NoRoute`], [`Error::NoSlot`], [`Error::PortInUse`].
    fn connect(&mut self, now: Instant, remote: Endpoint) -> Result<ConnId, Error>;

    /// The application waits for the peer to say something, or no longer does:
    /// [`Node::tcp_expect`](crate::Node::tcp_expect).
    fn expect(&mut self, id: ConnId, expected: bool);

    /// Queues `data` for sending; how many bytes were taken.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if there is no room, [`Error::NotConnected`],
    /// [`Error::Failed`], [`Error::UnknownHandle`].
    fn send(&mut self, now: Instant, id: ConnId, data: &[u8]) -> Result<usize, Error>;

    /// Takes received bytes; `Ok(0)` says that the peer has closed.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if nothing is there yet, [`Error::NotConnected`],
    /// [`Error::Failed`], [`Error::UnknownHandle`].
    fn recv(&mut self, now: Instant, id: ConnId, out: &mut [u8]) -> Result<usize, Error>;

    /// Ends this direction once everything queued is out.
    fn close(&mut self, now: Instant, id: ConnId);

    /// Resets the connection.
    fn abort(&mut self, now: Instant, id: ConnId);

    /// Lets go of a connection: none of its events come any more.
    fn release(&mut self, now: Instant, id: ConnId);

    /// What a connection is like now.
    fn stream(&self, id: ConnId) -> Option<Stream>;

    /// Connections that are neither closed nor only wait for late segments.
    fn live(&self) -> usize;

    /// What a connection has done so far; `None` where nothing is counted.
    fn stats(&self, id: ConnId) -> Option<&Stats>;
}

/// Nothing in the place of TCP. It takes neither memory nor code.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoStreams;

impl Transport for NoStreams {
    fn input(&mut self, _: Instant, _: &Arrived<'_>, _: &mut NodeCounters) -> Outcome {
        Outcome::Drop(DropReason::UnknownProtocol)
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        None
    }
}

impl StreamTransport for NoStreams {
    fn is_there(&self) -> bool {
        false
    }

    fn listen(&mut self, _: u16) -> Result<ListenerId, Error> {
        Err(Error::NoSlot)
    }

    fn accept(&mut self, _: ListenerId) -> Option<ConnId> {
        None
    }

    fn connect(
        &mut self,
        _: Instant,
        _: Endpoint,
        _: Endpoint,
        _: &mut Rng,
    ) -> Result<ConnId, Error> {
        Err(Error::NoSlot)
    }

    fn send(&mut self, _: Instant, _: ConnId, _: &[u8]) -> Result<usize, Error> {
        Err(Error::UnknownHandle)
    }

    fn recv(&mut self, _: Instant, _: ConnId, _: &mut [u8]) -> Result<usize, Error> {
        Err(Error::UnknownHandle)
    }

    fn close(&mut self, _: Instant, _: ConnId) {}

    fn abort(&mut self, _: Instant, _: ConnId) {}

    fn release(&mut self, _: Instant, _: ConnId) {}

    fn stream(&self, _: ConnId) -> Option<Stream> {
        None
    }

    fn live(&self) -> usize {
        0
    }

    fn expects(&self) -> bool {
        false
    }
}
