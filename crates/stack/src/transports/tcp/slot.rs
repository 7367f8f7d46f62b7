//! The memory of one connection, and its use.

use redpoll_base::{Bytes, Duration, Instant};
use redpoll_tcp::{Algorithms, Connection, Expect, SendRing, Standard, State};

use crate::ListenerId;

/// A connection with a send buffer of the same kind as its receive buffer.
pub(super) type RingConnection<B, A> = Connection<B, SendRing<B>, A>;

/// Memory for one connection: its buffers, and the connection while one is open.
pub struct ConnectionSlot<B: Bytes, A: Algorithms = Standard> {
    pub(super) generation: u8,
    use_: Use<B, A>,
}

// The slot is the connection's memory, so it has the size of a connection.
#[allow(clippy::large_enum_variant)]
enum Use<B: Bytes, A: Algorithms> {
    /// The slot's buffers; `None` only while the slot changes its use.
    Free(Option<(B, B)>),
    Open(Open<B, A>),
}

/// A connection and the state of its socket.
pub(super) struct Open<B: Bytes, A: Algorithms> {
    pub(super) connection: RingConnection<B, A>,
    pub(super) waits: Option<Waits>,
    /// Whether the application released the socket. The slot is then free when TCP has finished.
    pub(super) released: bool,
    pub(super) ended: bool,
    pub(super) expects_data: bool,
    /// Whether the peer has sent a segment since the handshake.
    pub(super) is_proven: bool,
}

/// A place in the queue of a listener.
#[derive(Clone, Copy)]
pub(super) struct Waits {
    pub(super) at: ListenerId,
    /// A number that grows with each connection that starts to wait, wrapping.
    pub(super) turn: u8,
}

impl<B: Bytes, A: Algorithms> Open<B, A> {
    pub(super) fn new(connection: RingConnection<B, A>, waits: Option<Waits>) -> Self {
        Open {
            connection,
            waits,
            released: false,
            ended: false,
            expects_data: false,
            is_proven: false,
        }
    }

    /// Releases the connection from the application. TCP has `limit` to finish.
    pub(super) fn release(&mut self, now: Instant, limit: Duration) {
        self.released = true;
        self.waits = None;
        if !self.ended {
            // The application has not closed the connection, and no longer can.
            self.connection.abort(now);
        }
        self.connection.orphan(now, limit);
    }

    /// Discards data for an application that has released the connection. RFC 9293 §3.6.1: "if new
    /// data is received after CLOSE is called, its TCP implementation SHOULD send a RST to show
    /// that data was lost". The node's own data goes first: the reset waits until the peer has
    /// acknowledged the FIN. Without the reset, a peer that never stops sending would occupy the
    /// slot for ever.
    pub(super) fn discard_input(&mut self, now: Instant) {
        if !self.released || self.connection.recv_queue() == 0 {
            return;
        }
        match self.connection.state() {
            State::FinWait2 => self.connection.abort(now),
            State::FinWait1 => {
                let mut waste = [0; 64];
                while matches!(self.connection.recv(now, &mut waste), Ok(1..)) {}
            }
            _ => {}
        }
    }

    pub(super) fn expects(&self) -> bool {
        let by_application = self.expects_data && !self.released;
        !self.connection.is_closed()
            && (by_application || self.connection.expects() != Expect::Nothing)
    }

    pub(super) fn waits_at(&self, listener: ListenerId) -> bool {
        self.waits.is_some_and(|waits| waits.at == listener)
    }

    pub(super) fn is_over(&self) -> bool {
        self.released && self.connection.is_finished()
    }
}

impl<B: Bytes, A: Algorithms> ConnectionSlot<B, A> {
    /// Returns a free slot with its send and receive buffer. Their lengths limit the windows of its
    /// connections.
    pub fn new(tx: B, rx: B) -> Self {
        ConnectionSlot {
            generation: 0,
            use_: Use::Free(Some((tx, rx))),
        }
    }

    pub(super) fn open(&self) -> Option<&Open<B, A>> {
        match &self.use_ {
            Use::Open(open) => Some(open),
            _ => None,
        }
    }

    pub(super) fn open_mut(&mut self) -> Option<&mut Open<B, A>> {
        match &mut self.use_ {
            Use::Open(open) => Some(open),
            _ => None,
        }
    }

    pub(super) fn receive_capacity(&self) -> usize {
        match &self.use_ {
            Use::Free(Some((_, rx))) => rx.as_ref().len(),
            _ => 0,
        }
    }

    pub(super) fn is_free(&self) -> bool {
        matches!(self.use_, Use::Free(..))
    }

    /// Takes only the buffers out of a free slot: moving the whole slot would need stack of the
    /// size of a connection.
    fn take_buffers(&mut self) -> Option<(B, B)> {
        match &mut self.use_ {
            Use::Free(buffers) => buffers.take(),
            Use::Open(_) => None,
        }
    }

    /// Opens a connection that `make` creates from the buffers; `false` if the slot is in use.
    pub(super) fn start(&mut self, make: impl FnOnce(B, B) -> Open<B, A>) -> bool {
        let Some((tx, rx)) = self.take_buffers() else {
            return false;
        };
        self.use_ = Use::Open(make(tx, rx));
        self.generation = self.generation.wrapping_add(1);
        true
    }

    /// As [`start`](Self::start), for a connection that may fail; then the slot keeps its buffers.
    pub(super) fn try_start<E>(
        &mut self,
        make: impl FnOnce(B, B) -> Result<Open<B, A>, (E, B, B)>,
    ) -> Result<(), E> {
        let Some((tx, rx)) = self.take_buffers() else {
            return Ok(());
        };
        match make(tx, rx) {
            Ok(open) => {
                self.use_ = Use::Open(open);
                self.generation = self.generation.wrapping_add(1);
                Ok(())
            }
            Err((error, tx, rx)) => {
                self.use_ = Use::Free(Some((tx, rx)));
                Err(error)
            }
        }
    }

    pub(super) fn free(&mut self) {
        self.use_ = match core::mem::replace(&mut self.use_, Use::Free(None)) {
            Use::Open(open) => Use::Free(Some(open.connection.into_buffers())),
            other => other,
        };
    }
}
