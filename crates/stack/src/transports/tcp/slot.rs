//! The memory of one connection, and what it is being used for.

use redpoll_base::{Bytes, Duration, Instant};
use redpoll_tcp::{Algorithms, Connection, Expect, SendRing, Standard, State};

use crate::ListenerId;

/// A connection whose bytes to send are in a buffer like the one for received bytes.
pub(super) type RingConnection<B, A> = Connection<B, SendRing<B>, A>;

/// Memory for one connection: its buffers, and the connection while one is open.
pub struct ConnectionSlot<B: Bytes, A: Algorithms = Standard> {
    pub(super) generation: u8,
    use_: Use<B, A>,
}

// The slot is the connection's memory: it is as large as one on purpose.
#[allow(clippy::large_enum_variant)]
enum Use<B: Bytes, A: Algorithms> {
    /// Its buffers; nothing only while a slot changes from one use to the other.
    Free(Option<(B, B)>),
    Open(Open<B, A>),
}

/// A connection and what the sockets know about it.
pub(super) struct Open<B: Bytes, A: Algorithms> {
    pub(super) connection: RingConnection<B, A>,
    /// The listener at which a passive connection waits to be accepted.
    pub(super) waits: Option<Waits>,
    /// The application has let go: the slot is free again when TCP is done.
    pub(super) released: bool,
    /// The application has closed or aborted.
    pub(super) ended: bool,
    /// The application waits for data that is about to come.
    pub(super) expects_data: bool,
    /// The peer has said something since the handshake.
    pub(super) is_proven: bool,
}

/// A place in the queue of a listener.
#[derive(Clone, Copy)]
pub(super) struct Waits {
    pub(super) at: ListenerId,
    /// Counts up with each connection that comes to wait, wrapping.
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

    /// Nobody will read from this connection, or write to it, any more.
    /// TCP has `limit` to come to an end.
    pub(super) fn release(&mut self, now: Instant, limit: Duration) {
        self.released = true;
        self.waits = None;
        if !self.ended {
            // Nobody can end it later.
            self.connection.abort(now);
        }
        self.connection.orphan(now, limit);
    }

    /// Gets rid of data that arrived for an application that has let go.
    ///
    /// RFC 9293 §3.6.1: "if new data is received after CLOSE is called, its
    /// TCP implementation SHOULD send a RST to show that data was lost". Our
    /// own data goes first: until the FIN is acknowledged the peer may talk.
    /// Without this a peer that never stops would hold the slot for ever.
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

    /// Whether a packet of the peer is about to come.
    pub(super) fn expects(&self) -> bool {
        let by_application = self.expects_data && !self.released;
        !self.connection.is_closed()
            && (by_application || self.connection.expects() != Expect::Nothing)
    }

    pub(super) fn waits_at(&self, listener: ListenerId) -> bool {
        self.waits.is_some_and(|waits| waits.at == listener)
    }

    /// Whether the memory may serve another connection.
    pub(super) fn is_over(&self) -> bool {
        self.released && self.connection.is_finished()
    }
}

impl<B: Bytes, A: Algorithms> ConnectionSlot<B, A> {
    /// A free slot with its send and receive buffer. Their lengths bound the
    /// windows of the connections that will live here.
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

    /// The receive buffer's length, of a free slot.
    pub(super) fn receive_capacity(&self) -> usize {
        match &self.use_ {
            Use::Free(Some((_, rx))) => rx.as_ref().len(),
            _ => 0,
        }
    }

    pub(super) fn is_free(&self) -> bool {
        matches!(self.use_, Use::Free(..))
    }

    /// Takes the buffers out of a free slot, alone: the slot is as large as a connection, and
    /// to move all of it takes as much stack.
    fn take_buffers(&mut self) -> Option<(B, B)> {
        match &mut self.use_ {
            Use::Free(buffers) => buffers.take(),
            Use::Open(_) => None,
        }
    }

    /// Takes the buffers out of a free slot and puts the connection made of
    /// them in. `false` if the slot was not free.
    pub(super) fn start(&mut self, make: impl FnOnce(B, B) -> Open<B, A>) -> bool {
        let Some((tx, rx)) = self.take_buffers() else {
            return false;
        };
        self.use_ = Use::Open(make(tx, rx));
        self.generation = self.generation.wrapping_add(1);
        true
    }

    /// As [`start`](Self::start), with a connection that may come to nothing; then the slot has
    /// its buffers again.
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
