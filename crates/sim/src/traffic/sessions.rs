//! The connections of a server: a listener, and what the app keeps of each
//! connection that it has accepted.

use redpoll_stack::{ConnId, ListenerId, NodeEvent};

use super::Context;

/// What an app keeps of a connection.
pub(super) trait Session {
    /// The connection.
    fn conn(&self) -> ConnId;
}

/// See the [module](self).
pub(super) struct Sessions<S> {
    port: u16,
    listener: Option<ListenerId>,
    open: Vec<S>,
}

impl<S: Session> Sessions<S> {
    pub(super) fn new(port: u16) -> Sessions<S> {
        Sessions {
            port,
            listener: None,
            open: Vec::new(),
        }
    }

    /// Begins to listen.
    pub(super) fn start(&mut self, cx: &mut Context<'_>) {
        self.listener = cx.node.tcp_listen(self.port).ok();
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
                while let Some(conn) = cx.node.tcp_accept(*listener) {
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

    /// The sessions that are not over.
    pub(super) fn open(&mut self) -> &mut Vec<S> {
        &mut self.open
    }

    /// The same, to look at.
    pub(super) fn iter(&self) -> impl Iterator<Item = &S> {
        self.open.iter()
    }
}
