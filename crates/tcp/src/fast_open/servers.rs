//! The client's memory of servers (RFC 7413 §4.1.3).

use redpoll_base::{Bytes, Instant};

use super::FastOpenCookie;
use crate::send::SendStore;
use crate::{Algorithms, Connection, Endpoint, Error, Flags, Opening, Segment};

/// Time without Fast Open after a failure with a server, in ticks of 2^20 us: one hour. RFC 7413
/// §4.1.3.1: "at least temporarily".
const PAUSE: u32 = 3_433;

/// Memory for one server.
#[derive(Clone, Copy, Default, Debug)]
pub struct FastOpenServer {
    end: Endpoint,
    /// MSS announced by the server; 0 for none.
    mss: u16,
    cookie: FastOpenCookie,
    /// Tick until which Fast Open is not tried; 0 without a failure.
    paused_until: u32,
}

/// A client's memory of servers in a table of the caller: cookies, and failures of Fast Open. The
/// oldest entry is overwritten first. Entries have an address and a port: "TFO is enabled on a
/// per-service-port basis" (RFC 7413 §4.1.3.1), so another port of the same server may work.
#[derive(Debug)]
pub struct FastOpenServers<T> {
    table: T,
    next: u8,
}

impl<T: AsRef<[FastOpenServer]> + AsMut<[FastOpenServer]>> FastOpenServers<T> {
    /// Creates an empty memory, which uses at most 256 entries of `table`. With a table of length
    /// zero, Fast Open is never tried.
    pub fn new(table: T) -> Self {
        FastOpenServers { table, next: 0 }
    }

    /// Returns the cookie and the MSS for a connection to `server` ([`Connection::fast_open`]), or
    /// a request for a cookie. Returns `None` if Fast Open failed recently.
    pub fn find(&self, now: Instant, server: &Endpoint) -> Option<(FastOpenCookie, Option<u16>)> {
        if self.table.as_ref().is_empty() {
            return None;
        }
        match self
            .table
            .as_ref()
            .iter()
            .find(|known| known.end == *server)
        {
            Some(known) if tick(now) < known.paused_until => None,
            Some(known) => Some((known.cookie, Some(known.mss).filter(|mss| *mss > 0))),
            None => Some((FastOpenCookie::REQUEST, None)),
        }
    }

    /// Applies `happen` to a connection (a timeout, an ICMP error, or the segment `seg`), and
    /// records what this shows about Fast Open at the server.
    pub fn watch<B: Bytes, S: SendStore, A: Algorithms>(
        &mut self,
        now: Instant,
        connection: &mut Connection<B, S, A>,
        seg: Option<&Segment<'_>>,
        happen: impl FnOnce(&mut Connection<B, S, A>),
    ) {
        let before = connection.opening().filter(|_| super::ON);
        happen(connection);
        if let Some(before) = before {
            self.judge(now, connection, seg, &before);
        }
    }

    /// Records what the change of a connection since `before` shows about Fast Open at the server.
    #[inline(never)] // size
    fn judge<B: Bytes, S: SendStore, A: Algorithms>(
        &mut self,
        now: Instant,
        connection: &Connection<B, S, A>,
        seg: Option<&Segment<'_>>,
        before: &Opening,
    ) {
        let server = connection.remote();
        let failed = if connection.is_opening() {
            // RFC 7413 §4.1.3.1: the Fast Open SYN timed out, and a plain SYN follows.
            before.is_fast && !connection.is_opening_fast()
        } else if connection.is_closed() {
            before.is_fast && connection.error() != Some(Error::Aborted)
        } else if let Some(seg) = seg
            && seg.flags.contains(Flags::SYN.with(Flags::ACK))
        {
            let theirs = seg.options.fast_open();
            let cookie = theirs.filter(|cookie| !cookie.is_request());
            let is_taken = before.data > 0 && connection.has_acked(before.first + before.data);
            if cookie.is_some() || is_taken {
                return self.learn(server, cookie, seg.options.mss);
            }
            before.is_fast && (before.data > 0 || before.is_request)
        } else {
            false
        };
        if failed {
            self.pause(now, server);
        }
    }

    /// Stores the cookie and the MSS. RFC 7413 §4.2.2: "update the corresponding cookie and MSS
    /// information".
    fn learn(&mut self, server: Endpoint, cookie: Option<&FastOpenCookie>, mss: Option<u16>) {
        let Some(entry) = self.entry(server) else {
            return;
        };
        entry.paused_until = 0;
        if let Some(mss) = mss {
            entry.mss = mss;
        }
        if let Some(cookie) = cookie {
            entry.cookie = *cookie;
        }
    }

    /// Pauses Fast Open with this server and forgets its cookie. RFC 7413 §4.1.3.1: "disable Fast
    /// Open on the specific path".
    fn pause(&mut self, now: Instant, server: Endpoint) {
        if let Some(entry) = self.entry(server) {
            entry.paused_until = tick(now).saturating_add(PAUSE);
            entry.cookie = FastOpenCookie::REQUEST;
        }
    }

    fn entry(&mut self, server: Endpoint) -> Option<&mut FastOpenServer> {
        let table = self.table.as_mut();
        let known = table.iter().position(|known| known.end == server);
        let index = match known {
            Some(index) => index,
            None => {
                let next = usize::from(self.next);
                let index = if next < table.len() { next } else { 0 };
                self.next = (index as u8).wrapping_add(1);
                *table.get_mut(index)? = FastOpenServer {
                    end: server,
                    ..FastOpenServer::default()
                };
                index
            }
        };
        table.get_mut(index)
    }
}

fn tick(now: Instant) -> u32 {
    (now.as_micros() >> 20) as u32
}
