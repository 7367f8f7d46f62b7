//! Connections of a server: a listener, and the app's state of each accepted connection.

use redpoll_base::{Duration, Instant};
use redpoll_stack::{ConnId, DropReason, Listen, ListenerId, NodeEvent, Streams};
use redpoll_tcp::State;

use super::Context;

pub(super) trait Session {
    fn conn(&self) -> ConnId;
}

pub(super) struct Sessions<S> {
    port: u16,
    /// Maximum number of connections that may carry data before their handshake is complete.
    fast_open: u8,
    connections: usize,
    listener: Option<ListenerId>,
    open: Vec<S>,
    /// Number of completed handshakes that had found no free slot by the last check.
    turned_away: u32,
    /// End of the period [`WANTED`].
    wanted_until: Option<Instant>,
}

/// Period in which the server expects further clients after a client has found no free slot.
const WANTED: Duration = Duration::from_secs(10);

impl<S: Session> Sessions<S> {
    pub(super) fn new(port: u16, connections: u16) -> Sessions<S> {
        Sessions {
            port,
            fast_open: 0,
            connections: connections.into(),
            listener: None,
            open: Vec::new(),
            turned_away: 0,
            wanted_until: None,
        }
    }

    /// Accepts data with the SYN, on `pending` connections at the same time.
    pub(super) fn open_fast(&mut self, pending: u8) {
        self.fast_open = pending;
    }

    pub(super) fn start(&mut self, cx: &mut Context<'_>) {
        let how = Listen {
            fast_open: self.fast_open,
            ..Listen::default()
        };
        self.listener = match self.fast_open {
            0 => cx.node.listen(self.port).ok(),
            _ => cx.node.tcp_listen_with(self.port, how).ok(),
        };
    }

    /// Accepts the connection that `event` reports, or serves the session that it concerns. `begin`
    /// creates a session from a connection. `serve` returns whether the session continues.
    pub(super) fn on_event(
        &mut self,
        cx: &mut Context<'_>,
        event: &NodeEvent,
        begin: impl Fn(&mut Context<'_>, ConnId) -> Option<S>,
        serve: impl Fn(&mut Context<'_>, &mut S) -> bool,
    ) {
        match event {
            NodeEvent::Accepted(listener) if Some(*listener) == self.listener => {
                while let Some(conn) = cx.node.accept(*listener) {
                    if let Some(mut session) = begin(cx, conn)
                        && serve(cx, &mut session)
                    {
                        self.open.push(session);
                    }
                }
            }
            NodeEvent::Tcp(conn, _) => {
                let is_it = |session: &S| session.conn() == *conn;
                if let Some(at) = self.open.iter().position(is_it)
                    && !serve(cx, &mut self.open[at])
                {
                    self.open.swap_remove(at);
                }
            }
            _ => {}
        }
    }

    /// Makes room for another connection: if the node is full, ends the session that has been idle
    /// for longest. `idle` returns since when a session has been idle, if it may be ended; `end`
    /// resets it. A session whose peer has not received all data is not ended, because a reset
    /// would discard that data.
    pub(super) fn make_room(
        &mut self,
        cx: &mut Context<'_>,
        idle: impl Fn(&S) -> Option<Instant>,
        end: impl Fn(&mut Context<'_>, &mut S),
    ) {
        while self.open.len() >= self.connections || self.is_full(cx) {
            let sessions = self.open.iter().enumerate();
            let heard = sessions.filter(|(_, session)| is_heard(cx, session.conn()));
            let idle = heard.filter_map(|(at, session)| Some((idle(session)?, at)));
            let Some((_, longest)) = idle.min() else {
                return;
            };
            end(cx, &mut self.open.swap_remove(longest));
        }
    }

    /// Ends the slowest session for each client that has completed a handshake without a free slot
    /// since the last check, and returns the number of ended sessions. `pace` returns the bytes per
    /// second of a session that may be ended; `end` resets it. A forged SYN does not count, because
    /// its sender completes no handshake.
    pub(super) fn relieve(
        &mut self,
        cx: &mut Context<'_>,
        pace: impl Fn(&Context<'_>, &S) -> Option<u32>,
        end: impl Fn(&mut Context<'_>, &mut S),
    ) -> u32 {
        let counters = cx.node.counters();
        let turned_away = counters.dropped(DropReason::NoConnectionSlot);
        let before = std::mem::replace(&mut self.turned_away, turned_away);
        let more = turned_away.wrapping_sub(before);
        if more > 0 {
            self.wanted_until = Some(cx.now + WANTED);
        }
        // While the server expects further clients, it keeps one slot free.
        let is_wanted = self.wanted_until.is_some_and(|until| cx.now < until);
        let spare = u32::from(is_wanted && self.is_crowded(cx));
        let wanted = more.max(spare);
        for ended in 0..wanted {
            let sessions = self.open.iter().enumerate();
            let slow = sessions.filter_map(|(at, session)| Some((pace(cx, session)?, at)));
            let Some((_, slowest)) = slow.min() else {
                return ended;
            };
            end(cx, &mut self.open.swap_remove(slowest));
        }
        wanted
    }

    pub(super) fn is_crowded(&self, cx: &Context<'_>) -> bool {
        self.open.len() >= self.connections || self.is_full(cx)
    }

    /// Returns whether no more connections can be accepted. A connection in TIME-WAIT, or one that
    /// only has to send its reset, makes room automatically.
    fn is_full(&self, cx: &Context<'_>) -> bool {
        cx.node.live() >= self.connections
    }

    pub(super) fn open(&mut self) -> &mut Vec<S> {
        &mut self.open
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &S> {
        self.open.iter()
    }
}

/// Returns whether the peer has acknowledged all sent data, including the end of the stream.
fn is_heard(cx: &Context<'_>, conn: ConnId) -> bool {
    cx.node.stream(conn).is_none_or(|stream| {
        let ends = matches!(
            stream.state,
            State::FinWait1 | State::Closing | State::LastAck
        );
        stream.unacked == 0 && !ends
    })
}
