//! A small HTTP/1.1 server: `GET` and `HEAD` of a page and of a file whose content a user can
//! reproduce, whole or in part, over persistent connections.
//!
//! Every session needs bounded memory and ends. Requests that are too long or malformed get an
//! error and a close. Clients that neither send nor read for too long are reset. If a node has no
//! room for another connection, the client that has been without a request for longest is reset. If
//! all clients are being answered and another one waits, the slowest of the clients that read less
//! than 300 bytes a second is reset. For a minute after such a reset, the server is careful. It
//! sends 176 bytes of an answer, and then only as many unacknowledged bytes as the client has
//! acknowledged. Otherwise, slow clients would use much air time for answers that the server does
//! not complete.

mod request;
mod session;
mod site;

use redpoll_base::{Delivery, Duration, Instant};
use redpoll_stack::{NodeEvent, Streams};

use self::session::Exchange;
use self::site::Site;
use super::peers::{Pair, Peers, irs};
use super::sessions::Sessions;
use super::{App, Context};

pub(super) struct Server {
    name: String,
    file_bytes: u64,
    /// Entity tag of the file, and the clients that fetch it as an image.
    image: Option<(String, Peers)>,
    sessions: Sessions<Exchange>,
    /// Time at which a full server checks for waiting clients.
    look_at: Option<Instant>,
    /// Time until which the server is careful (see the beginning of this file).
    careful_until: Option<Instant>,
}

/// Interval between two checks for waiting clients.
const LOOK: Duration = Duration::from_millis(500);

impl Server {
    /// Returns the server of the node called `name`, which has memory for `connections`.
    pub(super) fn new(name: &str, port: u16, file_bytes: u64, connections: u16) -> Server {
        Server {
            name: name.to_owned(),
            file_bytes,
            image: None,
            sessions: Sessions::new(port, connections),
            look_at: None,
            careful_until: None,
        }
    }

    /// Adds a validator (RFC 9110 §8.8.3) for the image that clients of the scenario fetch.
    pub(super) fn of_image(self, peers: Peers) -> Server {
        // Files of the same length have the same content.
        let etag = format!("\"{:x}\"", self.file_bytes);
        let image = Some((etag, peers));
        Server { image, ..self }
    }
}

impl Server {
    fn is_careful(&self, now: Instant) -> bool {
        self.careful_until.is_some_and(|until| now < until)
    }

    /// Resets the client that has been without a request for longest, if the server is full.
    fn make_room(&mut self, cx: &mut Context<'_>) {
        let now = cx.now;
        self.sessions
            .make_room(cx, |it| it.idle_since(now), |cx, it| it.end(cx));
    }

    /// Resets the slowest client, if the server is full and another client waits.
    fn look_around(&mut self, cx: &mut Context<'_>) {
        if self.look_at.is_none_or(|at| at <= cx.now) {
            self.make_room(cx);
            let relieved =
                self.sessions
                    .relieve(cx, |cx, it| it.slow_pace(cx), |cx, it| it.end(cx));
            if relieved > 0 {
                self.careful_until = Some(cx.now + Delivery::CAREFUL);
            }
            self.look_at = self.sessions.is_crowded(cx).then(|| cx.now + LOOK);
        }
    }
}

impl App for Server {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.sessions.start(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        let is_careful = self.is_careful(cx.now);
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
            |cx, exchange| exchange.pump(cx, &site, is_careful),
        );
        self.make_room(cx);
        self.look_around(cx);
        // Measure every session at every event: TCP also retransmits bytes to a client that no
        // longer answers.
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

    fn wants_acks(&self) -> bool {
        self.sessions.iter().any(Exchange::waits_for_ack)
    }

    fn on_acks(&mut self, cx: &mut Context<'_>) {
        let is_careful = self.is_careful(cx.now);
        let site = Site {
            name: &self.name,
            file_bytes: self.file_bytes,
            etag: self.image.as_ref().map(|(etag, _)| etag.as_str()),
        };
        self.sessions
            .open()
            .retain_mut(|it| !it.waits_for_ack() || it.pump(cx, &site, is_careful));
    }

    fn next_timer(&self) -> Option<Instant> {
        let deadlines = self.sessions.iter().map(Exchange::deadline);
        deadlines.chain(self.look_at).min()
    }
}
