//! A small HTTP/1.1 server: `GET` and `HEAD` of a page and of a file whose
//! content everybody can make again, whole or in part, over connections that stay
//! open for more.
//!
//! Whatever arrives, a session needs bounded memory and ends: requests that
//! are too long or make no sense get an answer with an error and a close, and
//! clients that say nothing, or take nothing, for too long are reset. When a node
//! has no room for another connection, the client that has been without a request
//! for longest gives way. If all of them are being answered and a client waits, the slowest of
//! those that take less than 300 bytes a second gives way.

mod request;
mod session;
mod site;

use redpoll_base::{Duration, Instant};
use redpoll_stack::{NodeEvent, Streams};

use self::session::Exchange;
use self::site::Site;
use super::peers::{Pair, Peers, irs};
use super::sessions::Sessions;
use super::{App, Context};

/// See the [module](self).
pub(super) struct Server {
    name: String,
    file_bytes: u64,
    /// The entity tag of the file, and who the clients are that ask for it as an image.
    image: Option<(String, Peers)>,
    sessions: Sessions<Exchange>,
    /// When the server looks for clients that wait, if it is full.
    look_at: Option<Instant>,
}

/// The time between two looks for clients that wait.
const LOOK: Duration = Duration::from_millis(500);

impl Server {
    /// The server of the node called `name`, which has memory for `connections`.
    pub(super) fn new(name: &str, port: u16, file_bytes: u64, connections: u16) -> Server {
        Server {
            name: name.to_owned(),
            file_bytes,
            image: None,
            sessions: Sessions::new(port, connections),
            look_at: None,
        }
    }

    /// A server with a validator for its file (RFC 9110 §8.8.3), which is the image that
    /// clients of the scenario fetch.
    pub(super) fn of_image(self, peers: Peers) -> Server {
        // The content follows from the length.
        let etag = format!("\"{:x}\"", self.file_bytes);
        let image = Some((etag, peers));
        Server { image, ..self }
    }
}

impl Server {
    /// Has the client give way that has been without a request for longest, if the server is full.
    fn make_room(&mut self, cx: &mut Context<'_>) {
        let now = cx.now;
        self.sessions
            .make_room(cx, |it| it.idle_since(now), |cx, it| it.end(cx));
    }

    /// Has the slowest client give way if the server is full and another one waits.
    fn look_around(&mut self, cx: &mut Context<'_>) {
        if self.look_at.is_none_or(|at| at <= cx.now) {
            self.make_room(cx);
            self.sessions
                .relieve(cx, |cx, it| it.slow_pace(cx), |cx, it| it.end(cx));
            self.look_at = self.sessions.is_crowded(cx).then(|| cx.now + LOOK);
        }
    }
}

impl App for Server {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.sessions.start(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        let site = Site {
            name: &self.name,
            file_bytes: self.file_bytes,
            etag: self.image.as_ref().map(|(etag, _)| etag.as_str()),
        };
        let peers = self.image.as_ref().map(|(_, peers)| peers);
        self.sessions.on_event(
            cx,
            event,
            |cx, conn| {
                let ends = cx
                    .node
                    .stream(conn)
                    .map(|it| Pair::new(it.remote, it.local));
                let irs = irs(cx.node, conn);
                let flow = peers
                    .zip(ends)
                    .and_then(|(peers, ends)| peers.flow(&ends, irs));
                Some(Exchange::new(cx, conn, flow))
            },
            |cx, exchange| exchange.pump(cx, &site),
        );
        self.make_room(cx);
        self.look_around(cx);
        // What a connection repeats whose client has gone elsewhere counts, too.
        for exchange in self.sessions.open() {
            exchange.measure(cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.sessions
            .open()
            .retain_mut(|exchange| exchange.deadline() > cx.now || exchange.on_deadline(cx));
        self.look_around(cx);
    }

    fn next_timer(&self) -> Option<Instant> {
        let deadlines = self.sessions.iter().map(Exchange::deadline);
        deadlines.chain(self.look_at).min()
    }
}
