//! The one connection for which a leaf has room, and the service that uses it.

use redpoll_base::{Duration, Instant};
use redpoll_stack::{ConnId, DropReason, Error, UdpId};

use crate::Device;
use crate::held::{HELD, Held, Next};
use crate::web::{Status, Web};

const DATAGRAM: usize = 128;
/// A connection without progress for this time is reset.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time for which a connection may exist while another client waits. After that it is reset if its
/// peer accepts fewer bytes than [`LEAST_PACE`] in a second.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes that a peer must accept in a second, see [`GRACE`].
const LEAST_PACE: u64 = 300;
/// Size of the send buffer of [`Storage`](crate::Storage), in bytes: the greatest number of bytes
/// that the session has handed over without an acknowledgment.
const SEND_BUFFER: u32 = 1_848;

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
    moved: Instant,
    begun: Instant,
    given: u32,
    /// Completed handshakes that were refused, because there is one connection.
    turned_away: u32,
    /// Whether a peer with a refused connection waits.
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
            given: 0,
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
        let look = self.begun + GRACE;
        self.conn
            .map(|_| if self.is_wanted { end.min(look) } else { end })
    }

    /// Resets a connection without progress, or whose peer accepts too little while another peer
    /// waits. A forged SYN does not count, because its sender completes no handshake.
    pub(crate) fn look(&mut self, now: Instant, node: &mut Device) {
        let turned_away = node.counters().dropped(DropReason::NoConnectionSlot);
        self.is_wanted |= turned_away != self.turned_away;
        self.turned_away = turned_away;
        if self.conn.is_none() {
            self.is_wanted = false;
            return;
        }
        let age = now.since(self.begun);
        if self.is_wanted && age >= GRACE {
            self.is_wanted = false;
            let least = LEAST_PACE.saturating_mul(age.as_micros());
            let taken = u64::from(self.given.saturating_sub(SEND_BUFFER));
            if taken.saturating_mul(1_000_000) < least {
                self.give_up(now, node);
            }
        }
        if self.deadline().is_some_and(|at| at <= now) {
            self.give_up(now, node);
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
            node.tcp_release(now, conn);
            self.conn = None;
        }
    }
}
