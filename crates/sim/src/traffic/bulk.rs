//! Bulk transfers: a sender that always has data, and a sink that reads everything.

use redpoll_base::{Duration, Instant};
use redpoll_stack::{ConnId, Error, NodeEvent, Streams};
use redpoll_tcp::SeqNum;

use super::content::pattern;
use super::outgoing::{ConnectionChange, Outgoing};
use super::peers::{Pair, Peers, irs};
use super::sessions::{Session, Sessions};
use super::{App, Context, Route};
use crate::oracle::{End, counting_lines};

/// Bytes moved between an app and its connection at a time.
const CHUNK: usize = 512;
/// Maximum number of connections that may carry data before their handshake is complete.
const FAST: u8 = 8;

/// Connects, sends a number of bytes or without end, and closes. It sends the oracle's pattern to a
/// node, and numbered lines of text to a host. After a lost connection, it starts again at the
/// first byte, or sends as many bytes as were not acknowledged.
pub(super) struct Sender {
    out: Outgoing,
    /// Bytes to send in the present connection; `None`: the sender never stops.
    total: Option<u64>,
    offset: u64,
    resumes: bool,
    acked: u64,
}

impl Sender {
    pub(super) fn new(route: Route, total: Option<u64>, retry: Duration, resumes: bool) -> Sender {
        Sender {
            out: Outgoing::new(route, retry),
            total,
            offset: 0,
            resumes,
            acked: 0,
        }
    }

    /// With `fast`, sends data with the SYN where possible (TCP Fast Open).
    pub(super) fn opens_fast(mut self, fast: bool) -> Sender {
        if fast {
            self.out.open_fast(self.total);
        }
        self
    }

    fn begin(&mut self) {
        if self.resumes {
            // Sends at least one byte, so that the far end learns of the close.
            let left = |total: u64| total.saturating_sub(self.acked).max(1);
            self.total = self.total.map(left);
        }
        (self.offset, self.acked) = (self.out.early(), 0);
    }

    /// Records the acknowledged bytes, because the connection may be lost.
    fn measure(&mut self, cx: &Context<'_>) {
        let stats = self.out.conn().and_then(|conn| cx.node.stats(conn));
        if let Some(stats) = stats {
            self.acked = u64::from(stats.bytes_acked).min(self.offset);
        }
    }

    fn pump(&mut self, cx: &mut Context<'_>) {
        let mut chunk = [0; CHUNK];
        // Discards received data. The end of the peer's stream does not end this direction.
        while self.out.recv(cx, &mut chunk).is_some_and(|len| len > 0) {}
        while let (Some(conn), Some(flow)) = (self.out.conn(), self.out.flow()) {
            let left = self.total.map_or(u64::MAX, |total| total - self.offset);
            if left == 0 {
                self.out.close(cx);
                return;
            }
            let room = cx.node.stream(conn).map_or(0, |stream| stream.send_room);
            // The sender offers one byte more than TCP has room for: TCP reports new room only
            // after it has refused data.
            let len = CHUNK
                .min(room + 1)
                .min(usize::try_from(left).unwrap_or(CHUNK));
            let chunk = &mut chunk[..len];
            if self.out.is_inside() {
                pattern(flow, self.offset, chunk);
            } else {
                counting_lines(self.offset, chunk);
            }
            let sent = self.out.send(cx, chunk);
            if sent == 0 {
                return;
            }
            self.offset += sent as u64;
        }
    }
}

impl App for Sender {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.out.open(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        self.measure(cx);
        match self.out.on_event(cx, event) {
            Some(ConnectionChange::Opened) => {
                self.begin();
                self.pump(cx);
            }
            Some(ConnectionChange::Progress) => self.pump(cx),
            Some(ConnectionChange::Lost | ConnectionChange::Finished) | None => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.out.on_timer(cx);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.out.next_timer()
    }
}

/// Time without data after which a peer that is not a sender of the scenario is reset.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Interval at which a slow sink may read.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// Accepts connections and reads from each as fast as possible, or as many bytes per second as the
/// scenario says. The scenario's own senders may be silent without limit. Other peers are reset
/// after [`IDLE_TIMEOUT`] without data, or when there is no room for another connection.
pub(super) struct Sink {
    peers: Peers,
    sessions: Sessions<Upload>,
    /// Bytes per second that the sink reads from a connection.
    rate: u64,
    /// Time of the next read of a slow sink with connections.
    reads_at: Option<Instant>,
}

struct Upload {
    conn: ConnId,
    pair: Pair,
    irs: Option<SeqNum>,
    heard: Instant,
    /// Bytes that may be read before the next interval.
    may_read: u64,
}

impl Session for Upload {
    fn conn(&self) -> ConnId {
        self.conn
    }
}

impl Sink {
    /// Returns a sink on a node with memory for `connections`, which reads at most `rate` bytes per
    /// second from each; `None` means without a limit.
    pub(super) fn new(port: u16, peers: Peers, connections: u16, rate: Option<u64>) -> Sink {
        Sink {
            peers,
            sessions: Sessions::new(port, connections),
            rate: rate.unwrap_or(u64::MAX),
            reads_at: None,
        }
    }

    fn is_slow(&self) -> bool {
        self.rate < u64::MAX
    }

    pub(super) fn opens_fast(mut self, fast: bool) -> Sink {
        self.sessions.open_fast(if fast { FAST } else { 0 });
        self
    }
}

impl Upload {
    fn begin(cx: &mut Context<'_>, conn: ConnId, peers: &Peers, may_read: u64) -> Option<Upload> {
        let stream = cx.node.stream(conn)?;
        let pair = Pair::new(stream.remote, stream.local);
        let irs = irs(cx.node, conn);
        if let Some(flow) = peers.flow(&pair, irs) {
            cx.oracle.watch(flow, End::Receiver, conn);
        }
        // Expect packets: a sleepy node would otherwise poll only at its base interval between two
        // segments.
        cx.node.expect(conn, true);
        let heard = cx.now;
        Some(Upload {
            conn,
            pair,
            irs,
            heard,
            may_read,
        })
    }

    /// Returns the time of the latest data, if the peer is not a sender of the scenario.
    fn idle_since(&self, peers: &Peers) -> Option<Instant> {
        peers
            .flow(&self.pair, self.irs)
            .is_none()
            .then_some(self.heard)
    }

    fn end(&self, cx: &mut Context<'_>) {
        cx.node.abort(cx.now, self.conn);
        cx.node.release(cx.now, self.conn);
    }

    /// Reads the available data within the limit. Returns false once the session is over.
    fn pump(&mut self, cx: &mut Context<'_>, peers: &Peers) -> bool {
        let mut chunk = [0; CHUNK];
        while self.may_read > 0 {
            let most = usize::try_from(self.may_read).unwrap_or(CHUNK).min(CHUNK);
            // A connection that its sender abandoned may still hold bytes, which belong to no flow.
            let flow = peers.flow(&self.pair, self.irs);
            match cx.node.recv(cx.now, self.conn, &mut chunk[..most]) {
                Ok(0) => {
                    if let Some(flow) = flow {
                        cx.oracle.ended(flow, cx.world_time);
                    }
                    cx.node.close(cx.now, self.conn);
                    cx.node.release(cx.now, self.conn);
                    return false;
                }
                Ok(len) => {
                    self.heard = cx.now;
                    if self.may_read < u64::MAX {
                        self.may_read -= len as u64;
                    }
                    if let Some(flow) = flow {
                        cx.oracle.received(flow, cx.world_time, &chunk[..len]);
                    }
                }
                Err(Error::WouldBlock) => return true,
                Err(_) => {
                    cx.node.release(cx.now, self.conn);
                    return false;
                }
            }
        }
        true
    }
}

impl App for Sink {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.sessions.start(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        let (peers, rate) = (&self.peers, self.rate);
        self.sessions.on_event(
            cx,
            event,
            |cx, conn| Upload::begin(cx, conn, peers, rate),
            |cx, upload| upload.pump(cx, peers),
        );
        if self.is_slow() && self.reads_at.is_none() && !self.sessions.open().is_empty() {
            self.reads_at = Some(cx.now + READ_INTERVAL);
        }
        let peers = &self.peers;
        let idle = |upload: &Upload| upload.idle_since(peers);
        self.sessions
            .make_room(cx, idle, |cx, upload| upload.end(cx));
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let peers = &self.peers;
        if self.reads_at.is_some_and(|at| at <= cx.now) {
            let rate = self.rate;
            self.sessions.open().retain_mut(|upload| {
                upload.may_read = rate;
                upload.pump(cx, peers)
            });
            let goes_on = !self.sessions.open().is_empty();
            self.reads_at = goes_on.then_some(cx.now + READ_INTERVAL);
        }
        self.sessions.open().retain(|upload| {
            let idle = upload.idle_since(peers);
            let late = idle.is_some_and(|since| since + IDLE_TIMEOUT <= cx.now);
            if late {
                upload.end(cx);
            }
            !late
        });
    }

    fn next_timer(&self) -> Option<Instant> {
        let idle = self.sessions.iter();
        let idle = idle.filter_map(|upload| upload.idle_since(&self.peers));
        let late = idle.min().map(|since| since + IDLE_TIMEOUT);
        late.into_iter().chain(self.reads_at).min()
    }
}
