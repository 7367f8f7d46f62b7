//! Data on a SYN (TCP Fast Open, RFC 7413).

use redpoll_base::{Instant, Memory};
use redpoll_tcp::{Algorithms, Endpoint, FAST_OPEN, Incoming, Request, State};

use super::TcpSockets;
use super::listeners::Listening;
use crate::ConnId;
use crate::counters::NodeCounters;

impl<M: Memory + 'static, A: Algorithms> TcpSockets<M, A> {
    /// Queues `data` on a connection that was just created. The SYN carries the data if the server
    /// is known to accept data on a SYN. Returns the number of bytes queued.
    pub(crate) fn open_with(&mut self, now: Instant, id: ConnId, data: &[u8]) -> usize {
        self.dirty = true;
        let slot = self.connections.as_mut().get_mut(usize::from(id.index));
        let Some(open) = slot.and_then(super::ConnectionSlot::open_mut) else {
            return 0;
        };
        let connection = &mut open.connection;
        if let Some((cookie, mss)) = self.servers.find(now, &connection.remote()) {
            connection.fast_open(&cookie, mss);
        }
        connection.send(now, data).unwrap_or(0)
    }

    /// Returns whether a server has given a cookie that may be used now.
    pub(crate) fn knows(&self, now: Instant, server: &Endpoint) -> bool {
        let found = self.servers.find(now, server);
        found.is_some_and(|(cookie, _)| !cookie.is_request())
    }

    /// Returns whether this listener accepts data on a SYN now. It does not if
    /// PendingFastOpenRequests has reached the listener's limit (RFC 7413 §4.2).
    pub(super) fn may_open_fast(&self, now: Instant, listening: Listening, port: u16) -> bool {
        if !FAST_OPEN {
            return false;
        }
        // Only Fast Opens are in SYN-RECEIVED here: other connections begin after the handshake.
        let pending = self
            .slots()
            .iter()
            .flat_map(|slot| slot.open())
            .filter(|open| {
                open.connection.state() == State::SynReceived
                    && open.connection.local().port == port
            });
        let resets = self.listeners.fast_open_resets(now, listening.id);
        pending.count().saturating_add(resets.into()) < listening.how.fast_open.into()
    }

    /// Creates a connection for a request whose SYN carried a cookie and data. Returns `false` if
    /// the backlog is full or no connection slot is free.
    pub(super) fn open_fast(
        &mut self,
        listening: Listening,
        request: &Request,
        incoming: &Incoming<'_>,
        counters: &mut NodeCounters,
    ) -> bool {
        if self.is_backlog_full(listening) {
            return false;
        }
        let &Incoming { now, seg, .. } = incoming;
        let (local, remote) = (&request.local, &request.remote);
        let iss = self.isn.isn(now, local, remote);
        let offset = self.isn.timestamp_offset(local, remote);
        let slot = self.begin(listening.id, now, request, iss, counters);
        let Some(open) = slot.and_then(super::ConnectionSlot::open_mut) else {
            return false;
        };
        let connection = &mut open.connection;
        connection.on_request(request);
        connection.set_timestamp_offset(offset);
        connection.take_syn_data(seg);
        self.turn = self.turn.wrapping_add(1);
        counters.fast_opens = counters.fast_opens.wrapping_add(1);
        true
    }
}
