//! An honest client that opens a new connection every few seconds, to measure the effect of an
//! attack on new connections.

use std::cell::RefCell;
use std::rc::Rc;

use redpoll_base::{Duration, Instant};
use redpoll_stack::transport::{Endpoint, Event};
use redpoll_stack::{ConnId, NodeEvent};

use crate::traffic::{App, Context};

/// Interval between the beginnings of two visits; a visit that takes longer has failed.
const EACH: Duration = Duration::from_secs(5);
const REQUEST: &[u8] = b"GET / HTTP/1.0\r\n\r\n";

/// Number of visits begun, and of visits that are done: the whole page arrived.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Visits {
    pub(super) begun: u64,
    pub(super) done: u64,
}

pub(super) struct Visitor {
    server: Endpoint,
    /// Time of the next visit; no visit begins after `until`.
    next: Instant,
    until: Instant,
    conn: Option<ConnId>,
    sent: usize,
    answer: Vec<u8>,
    visits: Rc<RefCell<Visits>>,
}

impl Visitor {
    pub(super) fn new(
        server: Endpoint,
        (from, until): (Instant, Instant),
        visits: Rc<RefCell<Visits>>,
    ) -> Visitor {
        Visitor {
            server,
            next: from,
            until,
            conn: None,
            sent: 0,
            answer: Vec::new(),
            visits,
        }
    }

    fn leave(&mut self, cx: &mut Context<'_>) {
        if let Some(conn) = self.conn.take() {
            cx.node.tcp_release(cx.now, conn);
        }
    }

    fn pump(&mut self, cx: &mut Context<'_>) {
        let Some(conn) = self.conn else { return };
        while let Some(rest) = REQUEST.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match cx.node.tcp_send(cx.now, conn, rest) {
                Ok(sent) => self.sent += sent,
                Err(_) => break,
            }
        }
        let mut chunk = [0; 256];
        while let Ok(len) = cx.node.tcp_recv(cx.now, conn, &mut chunk) {
            if len > 0 {
                self.answer.extend_from_slice(&chunk[..len]);
                continue;
            }
            // Some servers answer a request of HTTP/1.0 with that version.
            let is_good = [b"HTTP/1.1 200 ", b"HTTP/1.0 200 "]
                .iter()
                .any(|line| self.answer.starts_with(*line));
            self.visits.borrow_mut().done += u64::from(is_good);
            cx.node.tcp_close(cx.now, conn);
            return self.leave(cx);
        }
    }
}

impl App for Visitor {
    fn start(&mut self, _cx: &mut Context<'_>) {}

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        match event {
            NodeEvent::Tcp(id, Event::Failed(_) | Event::Closed) if Some(*id) == self.conn => {
                self.leave(cx);
            }
            NodeEvent::Tcp(id, _) if Some(*id) == self.conn => self.pump(cx),
            _ => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        if cx.now < self.next {
            return;
        }
        self.leave(cx);
        self.next += EACH;
        if cx.now >= self.until {
            return;
        }
        self.visits.borrow_mut().begun += 1;
        self.sent = 0;
        self.answer.clear();
        self.conn = cx.node.tcp_connect(cx.now, self.server).ok();
    }

    fn next_timer(&self) -> Option<Instant> {
        (self.next < self.until || self.conn.is_some()).then_some(self.next)
    }
}
