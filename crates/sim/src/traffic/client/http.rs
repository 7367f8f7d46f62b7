//! Requests over HTTP/1.1, with a connection for each.

use redpoll_base::{Duration, Instant};
use redpoll_stack::NodeEvent;

use super::{Context, Outcome, Protocol, Route};
use crate::oracle::FlowId;
use crate::traffic::outgoing::{ConnectionChange, Outgoing};

/// Time after which an answer is no longer expected.
const PATIENCE: Duration = Duration::from_secs(240);

pub(super) struct Http {
    out: Outgoing,
    request: Vec<u8>,
    sent: usize,
    answer: Vec<u8>,
    /// Time until which an answer is expected.
    deadline: Option<Instant>,
}

impl Http {
    pub(super) fn new(route: Route, retry: Duration) -> Http {
        Http {
            request: b"GET /file HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n".to_vec(),
            out: Outgoing::new(route, retry),
            sent: 0,
            answer: Vec::new(),
            deadline: None,
        }
    }

    fn pump(&mut self, cx: &mut Context<'_>) -> Option<Outcome> {
        self.out.send_rest(cx, &self.request, &mut self.sent);
        let mut chunk = [0; 512];
        while let Some(len) = self.out.recv(cx, &mut chunk) {
            self.answer.extend_from_slice(&chunk[..len]);
            if len == 0 {
                self.out.close(cx);
                return self.finish(body(&self.answer).map(<[u8]>::to_vec));
            }
        }
        None
    }

    /// Ends the exchange, unless it has already ended.
    fn finish(&mut self, body: Option<Vec<u8>>) -> Option<Outcome> {
        self.deadline.take()?;
        Some(body.map_or(Outcome::Failed, Outcome::Answered))
    }
}

impl Protocol for Http {
    fn start(&mut self, _cx: &mut Context<'_>, _flow: FlowId) {}

    fn ask(&mut self, cx: &mut Context<'_>) {
        // The rest of the previous exchange is discarded.
        self.out.abandon(cx);
        self.sent = 0;
        self.answer.clear();
        self.deadline = Some(cx.now + PATIENCE);
        self.out.open(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) -> Option<Outcome> {
        match self.out.on_event(cx, event)? {
            ConnectionChange::Opened | ConnectionChange::Progress => self.pump(cx),
            ConnectionChange::Lost => self.finish(None),
            ConnectionChange::Finished => None,
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) -> Option<Outcome> {
        if self.deadline.is_some_and(|at| at <= cx.now) {
            self.out.abandon(cx);
            return self.finish(None);
        }
        None
    }

    fn next_timer(&self) -> Option<Instant> {
        self.deadline
    }
}

fn body(answer: &[u8]) -> Option<&[u8]> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let (head, body) = answer.split_at(end + 4);
    let head = std::str::from_utf8(head).ok()?;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))?;
    let is_whole = length.parse() == Ok(body.len());
    (head.starts_with("HTTP/1.1 200 ") && is_whole).then_some(body)
}
