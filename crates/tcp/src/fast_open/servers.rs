//! What a client remembers of servers (RFC 7413 §4.1.3).

use redpoll_base::{Bytes, Instant};

use super::FastOpenCookie;
use crate::send::SendStore;
use crate::{Algorithms, Connection, Endpoint, Error, Flags, Segment};

/// How long a server is left in peace that did not answer a Fast Open, or not
/// well, in ticks of 2^20 us: an hour. RFC 7413 §4.1.3.1 has "at least
/// temporarily".
const PAUSE: u32 = 3_433;

/// Memory for what is known of one server.
#[derive(Clone, Copy, Default, Debug)]
pub struct FastOpenServer {
    end: Endpoint,
    /// The MSS it announced; 0 for none.
    mss: u16,
    cookie: FastOpenCookie,
    /// Before this tick nothing is tried; 0 if nothing went wrong.
    paused_until: u32,
}

/// What a client remembers of servers, in a table of the caller's: cookies, and
/// who does not take them. The longest known makes room for another.
///
/// By address and port: "TFO is enabled on a per-service-port basis" (RFC 7413
/// §4.1.3.1), so what fails at one port may work at another.
#[derive(Debug)]
pub struct FastOpenServers<T> {
    table: T,
    /// The next to be overwritten.
    next: u8,
}

impl<T: AsRef<[FastOpenServer]> + AsMut<[FastOpenServer]>> FastOpenServers<T> {
    /// Nothing is known yet. At most 255 entries; with none of them, Fast Open
    /// is never tried.
    pub fn new(table: T) -> Self {
        FastOpenServers { table, next: 0 }
    }

    /// What to open a connection to `server` with
    /// ([`Connection::fast_open`]): its cookie and MSS, or a request for the
    /// cookie. `None`: the usual way, because it failed lately.
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

    /// Lets `happen` to a connection whatever it is (time passes, an ICMP error
    /// arrives, or the segment `seg`), and remembers what it tells of the
    /// server's Fast Open.
    pub fn watch<B: Bytes, S: SendStore, A: Algorithms>(
        &mut self,
        now: Instant,
        connection: &mut Connection<B, S, A>,
        seg: Option<&Segment<'_>>,
        happen: impl FnOnce(&mut Connection<B, S, A>),
    ) {
        let before = match connection.opening() {
            Some(before) if super::ON => before,
            _ => return happen(connection),
        };
        happen(connection);
        let server = connection.remote();
        let failed = if connection.is_opening() {
            // RFC 7413 §4.1.3.1: no answer. One may yet come.
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

    /// RFC 7413 §4.2.2: "update the corresponding cookie and MSS information".
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

    /// RFC 7413 §4.1.3.1: "disable Fast Open on the specific path". Afterwards
    /// it is asked for a cookie anew.
    fn pause(&mut self, now: Instant, server: Endpoint) {
        if let Some(entry) = self.entry(server) {
            entry.paused_until = tick(now).saturating_add(PAUSE);
            entry.cookie = FastOpenCookie::REQUEST;
        }
    }

    /// The server's entry, or else a new one.
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
