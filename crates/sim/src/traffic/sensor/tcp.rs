//! Readings over one TCP connection.

use redpoll_base::{Duration, Instant};
use redpoll_stack::NodeEvent;

use super::queue::Queue;
use super::{Carrier, Context, Route};
use crate::oracle::FlowId;
use crate::traffic::outgoing::{ConnectionChange, Outgoing};

/// Number of bytes written at a time, as by the anemometer of Kumar et al. 2020.
const CHUNK: usize = 1_024;

pub(super) struct Tcp {
    out: Outgoing,
    /// Bytes of the queue's first reading that the connection has accepted.
    taken: usize,
    /// Number of the first reading of the present connection.
    first: Option<u32>,
}

impl Tcp {
    pub(super) fn new(route: Route, reconnect: Duration) -> Tcp {
        Tcp {
            out: Outgoing::new(route, reconnect),
            taken: 0,
            first: None,
        }
    }

    /// Records the loss of the connection with its undelivered readings. A partially sent reading
    /// is retransmitted as a whole.
    fn forget(&mut self, cx: &mut Context<'_>, queue: &Queue) {
        let next = queue.number(0).unwrap_or(queue.next_number());
        if let (Some(first), Some(flow)) = (self.first.take(), self.out.flow()) {
            cx.oracle.readings_lost(flow, first..next);
        }
        self.taken = 0;
    }
}

impl Carrier for Tcp {
    fn start(&mut self, cx: &mut Context<'_>, _flow: FlowId) {
        self.out.open(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent, queue: &mut Queue) {
        match self.out.on_event(cx, event) {
            Some(ConnectionChange::Opened | ConnectionChange::Progress) => self.pump(cx, queue),
            Some(ConnectionChange::Lost) => self.forget(cx, queue),
            Some(ConnectionChange::Finished) | None => {}
        }
    }

    fn pump(&mut self, cx: &mut Context<'_>, queue: &mut Queue) {
        self.out.on_timer(cx);
        let mut heard = [0; 64];
        while self.out.recv(cx, &mut heard).is_some_and(|len| len > 0) {}
        while queue.due() > 0 && self.out.conn().is_some() {
            let count = (CHUNK / queue.reading_bytes()).clamp(1, queue.due());
            let bytes = queue.readings(count);
            let sent = self.out.send(cx, &bytes[self.taken..]);
            if sent == 0 {
                return;
            }
            self.first = self.first.or(queue.number(0));
            let taken = self.taken + sent;
            self.taken = taken % queue.reading_bytes();
            queue.let_go(taken / queue.reading_bytes());
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.out.next_timer()
    }
}
