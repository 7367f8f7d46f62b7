//! The echo service (RFC 862), which returns all data.

use redpoll_base::Instant;
use redpoll_stack::{ConnId, Error, NodeEvent, Streams};

use super::bulk::IDLE_TIMEOUT;
use super::sessions::{Session, Sessions};
use super::{App, Context};

/// Bytes of a connection that are buffered for their return. Until these are sent, the next ones
/// stay in the receive buffer, and the peer's window shrinks.
const HELD: usize = 512;

/// Accepts connections and returns their data. Resets a connection without progress for
/// [`IDLE_TIMEOUT`], or earlier if there is no room for another.
pub(super) struct Echo {
    sessions: Sessions<Conversation>,
}

struct Conversation {
    conn: ConnId,
    held: [u8; HELD],
    /// Offset in the buffer at which the sent bytes end; `end` is the end of all bytes.
    sent: usize,
    end: usize,
    moved: Instant,
}

impl Session for Conversation {
    fn conn(&self) -> ConnId {
        self.conn
    }
}

impl Echo {
    /// Returns the service on a node with memory for `connections`.
    pub(super) fn new(port: u16, connections: u16) -> Echo {
        Echo {
            sessions: Sessions::new(port, connections),
        }
    }
}

impl Conversation {
    fn begin(cx: &mut Context<'_>, conn: ConnId) -> Option<Conversation> {
        cx.node.stream(conn)?;
        Some(Conversation {
            conn,
            held: [0; HELD],
            sent: 0,
            end: 0,
            moved: cx.now,
        })
    }

    fn abort(&self, cx: &mut Context<'_>) {
        cx.node.abort(cx.now, self.conn);
        cx.node.release(cx.now, self.conn);
    }

    /// Returns available data to the peer. Returns false once the connection is over.
    fn pump(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            while self.sent < self.end {
                let rest = &self.held[self.sent..self.end];
                match cx.node.send(cx.now, self.conn, rest) {
                    Ok(0) | Err(Error::WouldBlock) => return true,
                    Ok(sent) => self.sent += sent,
                    Err(_) => return self.over(cx),
                }
                self.moved = cx.now;
            }
            match cx.node.recv(cx.now, self.conn, &mut self.held) {
                Ok(0) => {
                    cx.node.close(cx.now, self.conn);
                    return self.over(cx);
                }
                Ok(len) => (self.sent, self.end, self.moved) = (0, len, cx.now),
                Err(Error::WouldBlock) => return true,
                Err(_) => return self.over(cx),
            }
        }
    }

    fn over(&self, cx: &mut Context<'_>) -> bool {
        cx.node.release(cx.now, self.conn);
        false
    }
}

impl App for Echo {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.sessions.start(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        let serve = |cx: &mut Context<'_>, talk: &mut Conversation| talk.pump(cx);
        self.sessions
            .on_event(cx, event, Conversation::begin, serve);
        let idle = |talk: &Conversation| Some(talk.moved);
        self.sessions.make_room(cx, idle, |cx, talk| talk.abort(cx));
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.sessions.open().retain(|talk| {
            let is_late = talk.moved + IDLE_TIMEOUT <= cx.now;
            if is_late {
                talk.abort(cx);
            }
            !is_late
        });
    }

    fn next_timer(&self) -> Option<Instant> {
        let moved = self.sessions.iter().map(|talk| talk.moved);
        moved.min().map(|since| since + IDLE_TIMEOUT)
    }
}
