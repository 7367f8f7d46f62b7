//! A connection of the server: consecutive requests (RFC 9112 §9.3), each with its deadline.

use redpoll_base::{Delivery, Duration, Instant};
use redpoll_stack::{ConnId, Error, Streams};

use super::request::{MAX_REQUEST, Parsed, Status, parse};
use super::site::{Body, Site};
use crate::oracle::FlowId;
use crate::traffic::Context;
use crate::traffic::sessions;

/// Bytes moved between the app and its connection at a time.
const CHUNK: usize = 512;
/// Time for a complete request from its first byte, and for the first request from the handshake.
const REQUEST_TIME: Duration = Duration::from_secs(60);
/// Time for which a connection stays open without a request after an answer.
const IDLE_TIME: Duration = Duration::from_secs(15);
/// Time for which a client may keep the connection open after the server's close.
const CLOSE_TIME: Duration = Duration::from_secs(60);
/// Period in which a client must read at least [`LEAST_BYTES`] or the remaining bytes of an answer.
const LEAST_TIME: Duration = Duration::from_secs(60);
/// Minimum number of bytes in [`LEAST_TIME`]. This is less than one single-frame segment per
/// second, which even the worst path carries.
const LEAST_BYTES: u64 = 2_000;

/// Time for which a new client is not reset in favour of waiting clients.
const FRESH: Duration = Duration::from_secs(2);
pub(super) struct Exchange {
    conn: ConnId,
    request: Vec<u8>,
    has_served: bool,
    deadline: Instant,
    since: Instant,
    phase: Phase,
    /// Beginning of the present answer, and its bytes that TCP has accepted.
    answer: Option<(Instant, u64)>,
    /// Whether a careful server waits for an acknowledgment before it sends more of the answer.
    waits_for_ack: bool,
    /// Flow of the image that the client fetches, and the bytes already reported to the oracle.
    image: Option<(FlowId, u32)>,
}

enum Phase {
    Reading,
    Writing(Writing),
    /// All data is sent and the connection is closed; the client may still send.
    Closed,
}

struct Writing {
    head: Vec<u8>,
    body: Body,
    stays_open: bool,
    /// Bytes sent since the deadline was set.
    progress: u64,
}

enum Step {
    Again,
    Wait,
    Over,
}

impl sessions::Session for Exchange {
    fn conn(&self) -> ConnId {
        self.conn
    }
}

impl Exchange {
    pub(super) fn new(cx: &mut Context<'_>, conn: ConnId, image: Option<FlowId>) -> Exchange {
        cx.node.expect(conn, true);
        Exchange {
            conn,
            request: Vec::new(),
            has_served: false,
            deadline: cx.now + REQUEST_TIME,
            since: cx.now,
            phase: Phase::Reading,
            answer: None,
            waits_for_ack: false,
            image: image.map(|flow| (flow, 0)),
        }
    }

    /// Reports to the oracle the bytes of an image that were sent since the last report.
    pub(super) fn measure(&mut self, cx: &mut Context<'_>) {
        if let (Some((flow, counted)), Some(stats)) = (&mut self.image, cx.node.stats(self.conn)) {
            let new = stats.bytes_sent.saturating_sub(*counted);
            *counted += new;
            cx.oracle.image_sent(*flow, new.into());
        }
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(super) fn waits_for_ack(&self) -> bool {
        self.waits_for_ack
    }

    /// Returns since when the session has had no complete request or only waits for its end; it may
    /// then be reset for a new client. `None` until [`FRESH`] has passed.
    pub(super) fn idle_since(&self, now: Instant) -> Option<Instant> {
        let is_fresh = !self.has_served && now < self.since + FRESH;
        (!matches!(self.phase, Phase::Writing(_)) && !is_fresh).then_some(self.since)
    }

    /// Returns how many bytes per second the client reads, if it is slow enough to be reset in
    /// favour of a waiting client.
    pub(super) fn slow_pace(&self, cx: &Context<'_>) -> Option<u32> {
        let delivery = self.delivery(cx)?;
        if delivery.unacked == 0 && !matches!(self.phase, Phase::Writing(_)) {
            return None;
        }
        delivery.slow_pace()
    }

    /// Returns how far the client has received the present answer.
    fn delivery(&self, cx: &Context<'_>) -> Option<Delivery> {
        let (since, given) = self.answer?;
        let unacked = cx.node.stream(self.conn).map_or(0, |it| it.unacked as u64);
        Some(Delivery {
            taken: given.saturating_sub(unacked),
            unacked,
            age: cx.now.since(since),
        })
    }

    /// Handles the deadline: closes a connection that waits for the first byte of a request, and
    /// resets any other. Returns false once the connection is over.
    pub(super) fn on_deadline(&mut self, cx: &mut Context<'_>) -> bool {
        let between = matches!(self.phase, Phase::Reading) && self.request.is_empty();
        if between {
            cx.node.close(cx.now, self.conn);
            self.turn(cx, Phase::Closed, CLOSE_TIME);
            return true;
        }
        self.end(cx);
        false
    }

    pub(super) fn end(&mut self, cx: &mut Context<'_>) {
        self.measure(cx);
        cx.node.abort(cx.now, self.conn);
        cx.node.release(cx.now, self.conn);
    }

    /// Serves the connection as far as possible, with [limits](Self::allowance) if the server
    /// `is_careful`. Returns false once the connection is over.
    pub(super) fn pump(&mut self, cx: &mut Context<'_>, site: &Site<'_>, is_careful: bool) -> bool {
        loop {
            let step = match &mut self.phase {
                Phase::Reading => self.read(cx, site),
                Phase::Writing(_) => self.write(cx, is_careful),
                Phase::Closed => self.drain(cx),
            };
            match step {
                Step::Again => {}
                Step::Wait => return true,
                Step::Over => {
                    self.measure(cx);
                    cx.node.release(cx.now, self.conn);
                    return false;
                }
            }
        }
    }

    fn turn(&mut self, cx: &mut Context<'_>, phase: Phase, time: Duration) {
        let expects = matches!(phase, Phase::Reading) && !self.request.is_empty();
        cx.node.expect(self.conn, expects);
        self.phase = phase;
        self.since = cx.now;
        self.deadline = cx.now + time;
    }

    fn read(&mut self, cx: &mut Context<'_>, site: &Site<'_>) -> Step {
        if let Some((parsed, len)) = parse(&self.request) {
            return self.begin(cx, site, &parsed, len);
        }
        if self.request.len() > MAX_REQUEST {
            return self.begin(cx, site, &Parsed::Wrong(Status::TOO_LARGE), 0);
        }
        let mut chunk = [0; CHUNK];
        match cx.node.recv(cx.now, self.conn, &mut chunk) {
            Ok(0) => {
                // The client has closed without a complete request.
                cx.node.close(cx.now, self.conn);
                Step::Over
            }
            Ok(len) => {
                // The deadline of the first request counts from the handshake; data do not move it.
                if self.request.is_empty() && self.has_served {
                    self.deadline = cx.now + REQUEST_TIME;
                    cx.node.expect(self.conn, true);
                }
                self.request.extend_from_slice(&chunk[..len]);
                Step::Again
            }
            Err(Error::WouldBlock) => Step::Wait,
            Err(_) => Step::Over,
        }
    }

    fn begin(
        &mut self,
        cx: &mut Context<'_>,
        site: &Site<'_>,
        parsed: &Parsed,
        len: usize,
    ) -> Step {
        self.request.drain(..len);
        self.has_served = true;
        let answer = site.answer(parsed);
        if let Some((_, counted)) = &mut self.image {
            // The header of a response is not part of the image.
            *counted += answer.head.len() as u32;
        }
        let writing = Writing {
            head: answer.head,
            body: answer.body,
            stays_open: answer.stays_open,
            progress: 0,
        };
        self.turn(cx, Phase::Writing(writing), LEAST_TIME);
        self.answer = Some((cx.now, 0));
        Step::Again
    }

    /// Returns how many bytes a careful server may send now. The client's pace is measured from the
    /// acknowledgment of the first bytes, because the server made the client wait.
    fn allowance(&mut self, cx: &Context<'_>) -> u64 {
        let delivery = self.delivery(cx);
        let (Some(delivery), Phase::Writing(writing)) = (delivery, &self.phase) else {
            return 0;
        };
        if self.waits_for_ack
            && delivery.is_beginning()
            && let Some((since, _)) = &mut self.answer
        {
            *since = cx.now;
        }
        delivery.allowance(writing.left())
    }

    fn write(&mut self, cx: &mut Context<'_>, is_careful: bool) -> Step {
        let most = match is_careful {
            true => self.allowance(cx),
            false => u64::MAX,
        };
        let Phase::Writing(writing) = &mut self.phase else {
            return Step::Wait;
        };
        if writing.is_over() {
            if writing.stays_open {
                // The next request may have arrived already.
                let time = match self.request.is_empty() {
                    true => IDLE_TIME,
                    false => REQUEST_TIME,
                };
                self.turn(cx, Phase::Reading, time);
            } else {
                cx.node.close(cx.now, self.conn);
                self.turn(cx, Phase::Closed, CLOSE_TIME);
            }
            return Step::Again;
        }
        self.waits_for_ack = most == 0;
        if self.waits_for_ack {
            return Step::Wait;
        }
        let mut chunk = [0; CHUNK];
        let len = writing.peek(&mut chunk).min(most as usize);
        match cx.node.send(cx.now, self.conn, &chunk[..len]) {
            Ok(0) | Err(Error::WouldBlock) => Step::Wait,
            Ok(sent) => {
                writing.advance(sent);
                if let Some((_, given)) = &mut self.answer {
                    *given += sent as u64;
                }
                if writing.progress >= LEAST_BYTES {
                    writing.progress = 0;
                    self.deadline = cx.now + LEAST_TIME;
                }
                Step::Again
            }
            Err(_) => Step::Over,
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Step {
        match cx.node.recv(cx.now, self.conn, &mut [0; CHUNK]) {
            Ok(0) => Step::Over,
            // Further data does not prolong the session.
            Ok(_) => Step::Again,
            Err(Error::WouldBlock) => Step::Wait,
            Err(_) => Step::Over,
        }
    }
}

impl Writing {
    fn is_over(&self) -> bool {
        self.left() == 0
    }

    fn left(&self) -> u64 {
        self.head.len() as u64 + self.body.left()
    }

    fn peek(&self, chunk: &mut [u8]) -> usize {
        if self.head.is_empty() {
            return self.body.peek(chunk);
        }
        let len = self.head.len().min(chunk.len());
        chunk[..len].copy_from_slice(&self.head[..len]);
        len
    }

    fn advance(&mut self, sent: usize) {
        self.progress += sent as u64;
        match self.head.is_empty() {
            true => self.body.advance(sent),
            false => drop(self.head.drain(..sent)),
        }
    }
}
