//! The connections of a server: a listener, and what the app keeps of each
//! connection that it has accepted.

use redpoll_base::{Duration, Instant};
use redpoll_stack::{ConnId, DropReason, Listen, ListenerId, NodeEvent, Streams};
use redpoll_tcp::State;

use super::Context;

/// What an app keeps of a connection.
pub(super) trait Session {
    /// The connection.
    fn conn(&self) -> ConnId;
}

/// See the [module](self).
pub(super) struct Sessions<S> {
    port: u16,
    /// Requests that may bring data before their handshake is complete.
    fast_open: u8,
    /// Connections that the node has memory for.
    connections: usize,
    listener: Option<ListenerId>,
    open: Vec<S>,
    /// Handshakes that clients had completed and for which there was no slot, at the last look.
    turned_away: u32,
    /// Until when clients are expected to come in vain.
    wanted_until: Option<Instant>,
}

/// The time for which one client that came in vain has others expected.
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

    /// Takes data with a SYN, of so many connections at once.
    pub(super) fn open_fast(&mut self, pending: u8) {
        self.fast_open = pending;
    }

    /// Begins to listen.
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

    /// Accepts what `event` says has come, and has the session that it is
    /// about served. `begin` makes a session of a connection, `serve` says
    /// whether it goes on.
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

    /// Keeps room for one connection more: where the node has none left, the session
    /// that has been idle for longest gives way. `idle` says since when one has been,
    /// if it may give way at all; `end` resets it. Whose peer has not got everything
    /// yet stays: a reset would take from it what was said.
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

    /// Ends the session with the slowest client for each client that has completed its handshake
    /// in vain since the last look. `pace` gives the bytes a second that a client takes, if its session
    /// may end for that; `end` resets it. A forged SYN does not count, because its sender
    /// completes no handshake.
    pub(super) fn relieve(
        &mut self,
        cx: &mut Context<'_>,
        pace: impl Fn(&Context<'_>, &S) -> Option<u64>,
        end: impl Fn(&mut Context<'_>, &mut S),
    ) {
        let counters = cx.node.counters();
        let turned_away = counters.dropped(DropReason::NoConnectionSlot);
        let before = std::mem::replace(&mut self.turned_away, turned_away);
        let more = turned_away.wrapping_sub(before);
        if more > 0 {
            self.wanted_until = Some(cx.now + WANTED);
        }
        // While clients come in vain one slot is kept free.
        let is_wanted = self.wanted_until.is_some_and(|until| cx.now < until);
        let spare = u32::from(is_wanted && self.is_crowded(cx));
        for _ in 0..more.max(spare) {
            let sessions = self.open.iter().enumerate();
            let slow = sessions.filter_map(|(at, session)| Some((pace(cx, session)?, at)));
            let Some((_, slowest)) = slow.min() else {
                return;
            };
            end(cx, &mut self.open.swap_remove(slowest));
        }
    }

    /// Whether every slot for a session is taken.
    pub(super) fn is_crowded(&self, cx: &Context<'_>) -> bool {
        self.open.len() >= self.connections || self.is_full(cx)
    }

    /// Whether nobody else can be accepted. A connection that only waits for late
    /// segments, or has only its reset to send, makes room by itself.
    fn is_full(&self, cx: &Context<'_>) -> bool {
        cx.node.live() >= self.connections
    }

    /// The sessions that are not over.
    pub(super) fn open(&mut self) -> &mut Vec<S> {
        &mut self.open
    }

    /// The sessions that are not over, to look at.
    pub(super) fn iter(&self) -> impl Iterator<Item = &S> {
        self.open.iter()
    }
}

/// Whether the peer has acknowledged all that was said to it, the end included if
/// there is one.
fn is_heard(cx: &Context<'_>, conn: ConnId) -> bool {
    cx.node.stream(conn).is_none_or(|stream| {
        let ends = matches!(
            stream.state,
            State::FinWait1 | State::Closing | State::LastAck
        );
        stream.unacked == 0 && !ends
    })
}
