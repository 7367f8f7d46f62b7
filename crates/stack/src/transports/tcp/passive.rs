//! Passive connections, from the request until the application has accepted the connection.

use redpoll_base::{Instant, Memory, least};
use redpoll_tcp::{
    Algorithms, Answer, Connection, FAST_OPEN, Handshake, Incoming, Overflow, Request, SendRing,
    SeqNum, State, Terms,
};

use super::listeners::Listening;
use super::slot::{Open, Waits};
use super::{ConnectionSlot, Flooded, Listen, TcpSockets};
use crate::counters::{DropReason, NodeCounters};
use crate::ids::INDICES;
use crate::transports::{Outcome, Reply};
use crate::{ConnId, Error, ListenerId};

impl<M: Memory + 'static, A: Algorithms> TcpSockets<M, A> {
    pub(crate) fn listen(&mut self, port: u16, how: Listen) -> Result<ListenerId, Error> {
        self.listeners.open(port, how)
    }

    /// RFC 9293 §3.10.4, CLOSE in LISTEN. No application would close connections that were not
    /// accepted, so they are reset.
    pub(crate) fn unlisten(&mut self, now: Instant, listener: ListenerId) {
        let Some(port) = self.listeners.close(listener) else {
            return;
        };
        self.half_open.forget(port);
        let limit = self.config.orphan;
        for slot in self.connections.as_mut() {
            if let Some(open) = slot.open_mut().filter(|open| open.waits_at(listener)) {
                open.release(now, limit);
            }
        }
        self.dirty = true;
    }

    pub(crate) fn listeners(&self) -> impl Iterator<Item = ListenerId> {
        self.listeners.iter()
    }

    pub(crate) fn may_accept(&self, listener: ListenerId) -> bool {
        let mut open = self.slots().iter().flat_map(|slot| slot.open());
        open.any(|open| open.waits_at(listener) && !open.connection.is_closed())
    }

    pub(crate) fn accept(&mut self, listener: ListenerId) -> Option<ConnId> {
        let next = self.turn;
        let waiting = INDICES.zip(self.connections.as_mut());
        let (index, generation, open) = least(waiting.filter_map(|(index, slot)| {
            let generation = slot.generation;
            let open = slot.open_mut().filter(|open| open.waits_at(listener))?;
            // Turns wrap. All turns precede `next`, so the differences have the order of the turns.
            let turn = open.waits?.turn.wrapping_sub(next);
            (!open.connection.is_closed()).then_some((turn, (index, generation, open)))
        }))?;
        open.waits = None;
        self.dirty = true;
        Some(ConnId { index, generation })
    }

    /// Processes a segment that belongs to no connection and is for a listener.
    pub(super) fn request(
        &mut self,
        listening: Listening,
        incoming: &Incoming<'_>,
        counters: &mut NodeCounters,
    ) -> Outcome {
        let fast = self.may_open_fast(incoming.now, listening, incoming.seg.dst_port);
        let mut answer = self.answer(fast, incoming);
        if FAST_OPEN && let Answer::Open(request) = &answer {
            if self.open_fast(listening, request, incoming, counters) {
                return Outcome::Taken;
            }
            answer = self.answer(false, incoming);
        }
        let handshake = match answer {
            Answer::Reply(header) => return Outcome::Reply(Reply(header)),
            Answer::Cookie(header) if Flooded::<M>::COOKIES => {
                counters.syn_cookies_sent = counters.syn_cookies_sent.wrapping_add(1);
                return Outcome::Reply(Reply(header));
            }
            Answer::Reset(header) => return Outcome::Reset(Reply(header)),
            Answer::Open(_) | Answer::Cookie(_) | Answer::Drop => {
                return Outcome::Drop(DropReason::NoConnection);
            }
            Answer::Complete(handshake) => handshake,
        };
        if self.is_backlog_full(listening) {
            return Outcome::Drop(DropReason::BacklogFull);
        }
        if !self.complete(listening.id, &handshake, incoming, counters) {
            return Outcome::Drop(DropReason::NoConnectionSlot);
        }
        Outcome::Taken
    }

    fn answer(&mut self, fast_open: bool, incoming: &Incoming<'_>) -> Answer {
        let terms = Terms {
            config: &self.config,
            isn: &self.isn,
            window: self.window,
            fast_open,
        };
        self.half_open.input(&terms, incoming)
    }

    pub(super) fn is_backlog_full(&self, listening: Listening) -> bool {
        let slots = self.slots().iter().flat_map(|slot| slot.open());
        let waiting = slots.filter(|open| open.waits_at(listening.id)).count();
        waiting >= listening.how.backlog.into()
    }

    /// Creates a connection in a free slot, in the queue of the listener `at`. The caller then
    /// passes the received segment to the connection.
    // Not inlined, so that its stack frame is free afterwards.
    #[inline(never)]
    pub(super) fn begin(
        &mut self,
        at: ListenerId,
        now: Instant,
        request: &Request,
        iss: SeqNum,
        counters: &mut NodeCounters,
    ) -> Option<&mut ConnectionSlot<M::Buffer, A>> {
        let index = self.free_slot(counters)?;
        let (config, turn) = (&self.config, self.turn);
        let slot = self.connections.as_mut().get_mut(usize::from(index))?;
        slot.start(|tx, rx| {
            let connection = Connection::prepare(now, config, request, iss, SendRing::new(tx), rx);
            Open::new(connection, Some(Waits { at, turn }))
        });
        Some(slot)
    }

    /// Creates a connection for a handshake that this segment completes. Returns `false` if no
    /// connection slot is free.
    fn complete(
        &mut self,
        at: ListenerId,
        handshake: &Handshake,
        incoming: &Incoming<'_>,
        counters: &mut NodeCounters,
    ) -> bool {
        let &Incoming { now, meta, seg, .. } = incoming;
        let (request, iss) = (&handshake.request, handshake.iss());
        let Some(slot) = self.begin(at, now, request, iss, counters) else {
            return false;
        };
        let Some(open) = slot.open_mut() else {
            return false;
        };
        open.connection.resume(handshake);
        open.connection.input(now, meta, seg);
        // The connection may have refused the segment, for example because of its timestamp.
        if matches!(open.connection.state(), State::SynReceived | State::Closed) {
            slot.free();
            return true;
        }
        self.turn = self.turn.wrapping_add(1);
        self.half_open.remove(handshake);
        let count = &mut counters.syn_cookies_used;
        *count = count.wrapping_add(handshake.is_by_cookie().into());
        true
    }
}
