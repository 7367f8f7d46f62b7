//! The ideal protocol of Kumar et al. 2020 §8.2.2: it has as many header bytes as TCP, and learns
//! of lost messages without communication. Its cost is a lower bound for reliable protocols.

use std::collections::VecDeque;

use redpoll_base::{Duration, Instant};
use redpoll_stack::UdpId;

use super::queue::Queue;
use super::{Carrier, Context, NO_ROOM, Route, open_socket};
use crate::oracle::FlowId;
use crate::scenario::SensorSpec;

/// Bytes that fill UDP's header of 8 bytes up to the length of TCP's with timestamps, 32 bytes.
pub(super) const HEADER: usize = 24;
/// Time after which the outcome of a message is known: longer than a message takes, including link
/// retries.
const NEWS: Duration = Duration::from_secs(10);

pub(super) struct Ideal {
    route: Route,
    socket: Option<(UdpId, FlowId)>,
    message_bytes: usize,
    /// Time between two messages, long enough to prevent a collision.
    spacing: Duration,
    /// Sent messages: the time at which their outcome is known, and their numbered readings.
    sent: VecDeque<(Instant, Vec<Reading>)>,
    /// Readings that are known to be lost.
    again: VecDeque<Reading>,
    blocked: Option<Instant>,
    counts: (u64, u64),
}

type Reading = (u32, Vec<u8>);

impl Ideal {
    pub(super) fn new(route: Route, spec: &SensorSpec) -> Ideal {
        Ideal {
            route,
            socket: None,
            message_bytes: spec.message.into(),
            spacing: spec.spacing,
            sent: VecDeque::new(),
            again: VecDeque::new(),
            blocked: None,
            counts: (0, 0),
        }
    }

    fn learn(&mut self, cx: &mut Context<'_>, flow: FlowId) {
        while self.sent.front().is_some_and(|(at, _)| *at <= cx.now) {
            let readings = self.sent.pop_front().map_or(Vec::new(), |(_, all)| all);
            let lost = readings
                .into_iter()
                .filter(|(number, _)| !cx.oracle.has_arrived(flow, *number));
            self.again.extend(lost);
        }
    }
}

impl Carrier for Ideal {
    fn start(&mut self, cx: &mut Context<'_>, flow: FlowId) {
        self.socket = open_socket(cx, &self.route, flow).map(|socket| (socket, flow));
    }

    fn pump(&mut self, cx: &mut Context<'_>, queue: &mut Queue) {
        let Some((socket, flow)) = self.socket else {
            return;
        };
        self.learn(cx, flow);
        if self.blocked.is_some_and(|until| until > cx.now) {
            return;
        }
        self.blocked = None;
        let most = (self.message_bytes / queue.reading_bytes()).max(1);
        let is_again = !self.again.is_empty();
        let readings: Vec<Reading> = if is_again {
            self.again.iter().take(most).cloned().collect()
        } else {
            let numbers = (0..most.min(queue.due())).filter_map(|i| Some((i, queue.number(i)?)));
            numbers
                .map(|(i, number)| (number, queue.reading(i)))
                .collect()
        };
        if readings.is_empty() {
            return;
        }
        let mut message = vec![0; HEADER];
        message.extend(readings.iter().flat_map(|(_, bytes)| bytes));
        let to = self.route.remote;
        if cx.node.udp_send(cx.now, socket, to, &message).is_err() {
            self.blocked = Some(cx.now + NO_ROOM);
            return;
        }
        self.blocked = Some(cx.now + self.spacing);
        let (sent, repeated) = &mut self.counts;
        *sent += 1;
        if is_again {
            *repeated += 1;
            self.again.drain(..readings.len());
        } else {
            queue.let_go(readings.len());
        }
        cx.oracle.messages_sent(flow, *sent, *repeated, None);
        self.sent.push_back((cx.now + NEWS, readings));
    }

    fn next_timer(&self) -> Option<Instant> {
        let news = self.sent.front().map(|(at, _)| *at);
        news.into_iter().chain(self.blocked).min()
    }
}
