//! The only connection for which a leaf has memory, and the service that uses it.

use redpoll_base::{Duration, Instant};
use redpoll_stack::transport::State;
use redpoll_stack::{ConnId, DropReason, Error, UdpId};

use crate::Device;
use crate::held::{HELD, Held, Next};
use crate::web::{Status, Web};

const DATAGRAM: usize = 128;
/// A connection without progress for this time is reset.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time after its start for which a connection keeps its place even if another client waits. After
/// this time, the leaf resets the connection for a waiting client if the connection's peer has
/// accepted fewer than [`LEAST_PACE`] bytes per second since the start.
const GRACE: Duration = Duration::from_secs(2);
/// Minimum of the shorter grace that replaces [`GRACE`] while the leaf is
/// [strict](Session::strict_until). If the handshake measured no round trip, this minimum is used.
const LEAST_GRACE: Duration = Duration::from_millis(300);
/// The shorter grace, in round-trip times of the connection.
const GRACE_ROUND_TRIPS: u64 = 4;
/// Bytes that a peer must accept in a second, see [`GRACE`].
const LEAST_PACE: u64 = 300;
/// Time for which the leaf is strict after it has reset a slow connection for a waiting client.
const STRICT: Duration = Duration::from_secs(60);

pub(crate) enum Service {
    /// Echoes all data (RFC 862).
    Echo,
    /// A connection with one HTTP request and its answer.
    Web(Web),
}

pub(crate) struct Session {
    conn: Option<ConnId>,
    service: Service,
    held: Held,
    /// Time of the last progress: data for the application, or an acknowledgment of its data.
    moved: Instant,
    begun: Instant,
    /// Time after `begun` for which the connection keeps its place.
    grace: Duration,
    /// Bytes written to the connection.
    given: u32,
    /// Bytes that the peer has acknowledged.
    taken: u32,
    /// Whether the service has closed the connection. The session still monitors the connection: if
    /// the peer does not accept the remaining data, another client takes its place.
    is_closed: bool,
    /// End of the time in which new connections have the shorter grace.
    strict_until: Instant,
    /// Number of completed handshakes that the node had refused for lack of a free connection when
    /// [`Session::look`] was last called.
    turned_away: u32,
    /// Whether a peer waits whose connection the node has refused.
    is_wanted: bool,
}

impl Default for Session {
    fn default() -> Self {
        Session {
            conn: None,
            service: Service::Echo,
            held: Held {
                bytes: [0; HELD],
                sent: 0,
                end: 0,
            },
            moved: Instant::ZERO,
            begun: Instant::ZERO,
            grace: GRACE,
            given: 0,
            taken: 0,
            is_closed: false,
            strict_until: Instant::ZERO,
            turned_away: 0,
            is_wanted: false,
        }
    }
}

impl Session {
    pub(crate) fn is_about(&self, conn: ConnId) -> bool {
        self.conn == Some(conn)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let end = self.moved + PATIENCE;
        let look = self.begun + self.grace;
        self.conn
            .map(|_| if self.is_wanted { end.min(look) } else { end })
    }

    /// Resets the connection if it makes no progress, or if its peer accepts too little while
    /// another peer waits. A peer waits only after it has completed a handshake, so forged SYNs
    /// have no effect.
    pub(crate) fn look(&mut self, now: Instant, node: &mut Device) {
        let turned_away = node.counters().dropped(DropReason::NoConnectionSlot);
        self.is_wanted |= turned_away != self.turned_away;
        self.turned_away = turned_away;
        self.settle(now, node);
        if self.conn.is_none() {
            self.is_wanted = false;
            return;
        }
        let age = now.since(self.begun);
        if self.is_wanted && age >= self.grace {
            self.is_wanted = false;
            let least = LEAST_PACE.saturating_mul(age.as_micros());
            if u64::from(self.taken).saturating_mul(1_000_000) < least {
                self.strict_until = now + STRICT;
                self.give_up(now, node);
            }
        }
        if self.deadline().is_some_and(|at| at <= now) {
            self.give_up(now, node);
        }
    }

    /// Records the bytes that the peer has acknowledged, and releases a connection that has ended.
    fn settle(&mut self, now: Instant, node: &mut Device) {
        let Some(conn) = self.conn else { return };
        let Some(connection) = node.tcp_connection(conn) else {
            return;
        };
        let unacked = u32::try_from(connection.unacked()).unwrap_or(u32::MAX);
        let taken = self.given.saturating_sub(unacked);
        if taken > self.taken {
            self.taken = taken;
            self.moved = now;
        }
        let has_ended = matches!(connection.state(), State::TimeWait | State::Closed);
        if self.is_closed && has_ended {
            node.tcp_release(now, conn);
            self.conn = None;
        }
    }

    /// Serves a new connection; an earlier connection that still exists is reset.
    pub(crate) fn begin(&mut self, now: Instant, node: &mut Device, conn: ConnId, what: Service) {
        self.give_up(now, node);
        self.conn = Some(conn);
        self.service = what;
        self.held.fill(|_| 0);
        self.moved = now;
        self.begun = now;
        self.given = 0;
        self.taken = 0;
        self.is_closed = false;
        self.grace = GRACE;
        if now < self.strict_until {
            let measured = node.tcp_connection(conn).and_then(|it| it.info().srtt);
            self.grace = measured.map_or(LEAST_GRACE, |round_trip| {
                let grace = round_trip.times(GRACE_ROUND_TRIPS);
                grace.clamp(LEAST_GRACE, GRACE)
            });
        }
    }

    pub(crate) fn give_up(&mut self, now: Instant, node: &mut Device) {
        if let Some(conn) = self.conn.take() {
            node.tcp_abort(now, conn);
            node.tcp_release(now, conn);
        }
    }

    /// Echoes waiting datagrams, at most [`DATAGRAM`] bytes of each.
    #[inline(never)] // stack: the buffer of a datagram is in this function's stack frame
    pub(crate) fn echo_datagrams(&self, now: Instant, node: &mut Device, id: UdpId) {
        let mut bytes = [0; DATAGRAM];
        while let Some((len, from)) = node.udp_recv(id, &mut bytes) {
            let datagram = bytes.get(..len).unwrap_or_default();
            // A datagram that finds no room is lost, as datagrams may be.
            let _ = node.udp_send(now, id, from, datagram);
        }
    }

    pub(crate) fn pump(&mut self, now: Instant, node: &mut Device, status: &mut Status) {
        let Some(conn) = self.conn else { return };
        if self.is_closed {
            // The service has closed the connection: discard the rest of the peer's data.
            while let Ok(1..) = node.tcp_recv(now, conn, &mut self.held.bytes) {}
            return;
        }
        let goes_on = loop {
            while !self.held.rest().is_empty() {
                match node.tcp_send(now, conn, self.held.rest()) {
                    Ok(0) | Err(Error::WouldBlock) => return,
                    Ok(sent) => {
                        self.held.sent = self.held.sent.saturating_add(sent);
                        self.given = self.given.saturating_add(sent as u32);
                    }
                    Err(_) => break,
                }
                self.moved = now;
            }
            if let Service::Web(web) = &mut self.service {
                match web.next(&mut self.held, status) {
                    Next::Send => continue,
                    Next::Close => {
                        node.tcp_close(now, conn);
                        break false;
                    }
                    Next::Wait => {}
                }
            }
            match node.tcp_recv(now, conn, &mut self.held.bytes) {
                Ok(0) => {
                    node.tcp_close(now, conn);
                    break false;
                }
                Ok(len) => {
                    self.moved = now;
                    match &mut self.service {
                        Service::Echo => (self.held.sent, self.held.end) = (0, len),
                        Service::Web(web) => {
                            web.read(self.held.bytes.get(..len).unwrap_or_default());
                            self.held.fill(|_| 0);
                        }
                    }
                }
                Err(Error::WouldBlock) => return,
                Err(_) => break false,
            }
        };
        if !goes_on {
            self.is_closed = true;
            self.settle(now, node);
        }
    }
}
