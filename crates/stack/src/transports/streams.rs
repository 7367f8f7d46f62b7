//! Byte streams, independent of the transport.

use redpoll_base::{Instant, Rng};
use redpoll_tcp::{Endpoint, State, Stats};

use super::{Arrived, Outcome, Transport};
use crate::counters::{DropReason, NodeCounters};
use crate::{ConnId, Error, ListenerId, NodeEvent};

/// A transport with connections that a node may have in place of TCP. It processes all packets with
/// TCP's protocol number that the node receives, and makes all that the node sends. It follows the
/// contracts of [`Transport`] and [`Streams`], and assigns the handles of its connections.
pub trait StreamTransport: Transport {
    /// Returns `false` for the placeholder of a node without such a transport. The node then uses
    /// its own TCP, and calls only the placeholder's `poll_at` and `poll_event`.
    fn is_there(&self) -> bool;

    /// See [`Streams::listen`].
    fn listen(&mut self, port: u16) -> Result<ListenerId, Error>;

    /// See [`Streams::accept`].
    fn accept(&mut self, listener: ListenerId) -> Option<ConnId>;

    /// Opens a connection from `local` to `remote`; the transport chooses the local port.
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
    fn send(&mut self, now: Instant, id: ConnId, data: &[u8]) -> Result<usize, Error>;

    /// See [`Streams::recv`].
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

    /// Returns whether the transport expects a packet of a peer soon, so that a sleepy node polls
    /// often.
    fn expects(&self) -> bool;

    /// See [`Streams::stats`].
    fn stats(&self, _: ConnId) -> Option<&Stats> {
        None
    }
}

/// The state of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream {
    /// The local endpoint.
    pub local: Endpoint,
    /// The remote endpoint.
    pub remote: Endpoint,
    /// The state of the connection, as the TCP state that corresponds to it.
    pub state: State,
    /// Queued bytes that the peer has not acknowledged.
    pub unacked: usize,
    /// Free bytes of the send buffer.
    pub send_room: usize,
}

/// The calls that every transport with connections has, TCP included. The calls of
/// [`Node`](crate::Node) that begin with `tcp_` exist only for TCP.
pub trait Streams {
    /// Listens for connections to `port`.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::NoSlot`].
    fn listen(&mut self, port: u16) -> Result<ListenerId, Error>;

    /// Returns the next established connection of a listener.
    fn accept(&mut self, listener: ListenerId) -> Option<ConnId>;

    /// Opens a connection to `remote`; the result comes as an event.
    ///
    /// # Errors
    /// [`Error::NoRoute`], [`Error::NoSlot`], [`Error::PortInUse`].
    fn connect(&mut self, now: Instant, remote: Endpoint) -> Result<ConnId, Error>;

    /// Sets whether the application waits for data of the peer: see
    /// [`Node::tcp_expect`](crate::Node::tcp_expect).
    fn expect(&mut self, id: ConnId, expected: bool);

    /// Queues `data` for sending; returns the number of bytes queued.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if the buffer is full, [`Error::NotConnected`], [`Error::Failed`],
    /// [`Error::UnknownHandle`].
    fn send(&mut self, now: Instant, id: ConnId, data: &[u8]) -> Result<usize, Error>;

    /// Reads received bytes; `Ok(0)` means that the peer has closed.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if no data has arrived, [`Error::NotConnected`], [`Error::Failed`],
    /// [`Error::UnknownHandle`].
    fn recv(&mut self, now: Instant, id: ConnId, out: &mut [u8]) -> Result<usize, Error>;

    /// Closes the sending direction after everything queued was sent.
    fn close(&mut self, now: Instant, id: ConnId);

    /// Resets the connection.
    fn abort(&mut self, now: Instant, id: ConnId);

    /// Releases a connection, which then reports no more events.
    fn release(&mut self, now: Instant, id: ConnId);

    /// Returns the state of a connection.
    fn stream(&self, id: ConnId) -> Option<Stream>;

    /// Returns the number of connections that are neither closed nor in TIME-WAIT.
    fn live(&self) -> usize;

    /// Returns the statistics of a connection; `None` if nothing is counted.
    fn stats(&self, id: ConnId) -> Option<&Stats>;
}

/// No transport in place of TCP. It needs neither memory nor code.
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
