//! A connection that an app opens, and reopens after a failure.

use redpoll_base::{Duration, Instant};
use redpoll_stack::{ConnId, Error, NodeEvent, Streams};
use redpoll_tcp::Event;

use super::content::pattern;
use super::peers::{Pair, iss};
use super::{Context, Route};
use crate::oracle::{End, FlowId};

/// The longest pause between two attempts, unless the scenario has a longer one.
const PAUSE_CEILING: Duration = Duration::from_secs(1_800);

/// Maximum number of bytes that a connection sends with its SYN.
const EARLY: usize = 512;

#[derive(Debug)]
pub(super) struct Outgoing {
    route: Route,
    /// Pause after a lost connection and after a first failed attempt. It doubles with each further
    /// failure, up to [`PAUSE_CEILING`].
    retry: Duration,
    /// Consecutive failed attempts.
    in_vain: u32,
    state: State,
    /// Bytes of the present connection that a far end outside of the simulation has acknowledged.
    acked: u32,
    flow: Option<FlowId>,
    /// Bytes that the app will send in total; the first of them may go with the SYN.
    offered: u64,
    /// Bytes that went with the SYN of the present connection.
    early: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The app is not connected; the next attempt is due at this time.
    Waiting(Instant),
    Connecting(ConnId),
    Open(ConnId),
    /// Closed by the app; TCP delivers the queued bytes.
    Closing(ConnId),
    Over,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ConnectionChange {
    Opened,
    /// There is room to send, or data to read, or the peer has closed.
    Progress,
    /// The connection failed; there will be another attempt.
    Lost,
    /// All bytes have arrived after [`Outgoing::close`].
    Finished,
}

impl Outgoing {
    pub(super) fn new(route: Route, retry: Duration) -> Outgoing {
        Outgoing {
            route,
            retry,
            in_vain: 0,
            state: State::Waiting(Instant::FAR_FUTURE),
            acked: 0,
            flow: None,
            offered: 0,
            early: 0,
        }
    }

    pub(super) fn conn(&self) -> Option<ConnId> {
        match self.state {
            State::Open(conn) => Some(conn),
            _ => None,
        }
    }

    /// Returns the flow; `None` before the first attempt.
    pub(super) fn flow(&self) -> Option<FlowId> {
        self.flow
    }

    pub(super) fn is_inside(&self) -> bool {
        self.route.is_inside
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        match self.state {
            State::Waiting(until) if until < Instant::FAR_FUTURE => Some(until),
            _ => None,
        }
    }

    /// Sends the first bytes of `total` with the SYN; `None` means an endless transfer.
    pub(super) fn open_fast(&mut self, total: Option<u64>) {
        self.offered = total.unwrap_or(u64::MAX);
    }

    /// Returns the number of bytes that the SYN of the current connection carried.
    pub(super) fn early(&self) -> u64 {
        self.early
    }

    pub(super) fn open(&mut self, cx: &mut Context<'_>) {
        let Route {
            flow,
            from,
            to,
            remote,
            is_inside,
            peers,
        } = &self.route;
        let flow = cx.oracle.flow(flow, from, to);
        self.flow = Some(flow);
        self.acked = 0;
        cx.oracle.restart(flow);
        peers.forget(flow);
        let mut first = [0; EARLY];
        let first = &mut first[..self.offered.min(EARLY as u64) as usize];
        let opened = match *is_inside && !first.is_empty() {
            true => {
                pattern(flow, 0, first);
                cx.node.tcp_connect_with_data(cx.now, 0, *remote, first)
            }
            false => cx.node.connect(cx.now, *remote).map(|conn| (conn, 0)),
        };
        let Ok((conn, early)) = opened else {
            self.pause(cx);
            return;
        };
        self.early = early as u64;
        let iss = iss(cx.node, conn);
        cx.oracle.watch(flow, End::Sender, conn);
        if early > 0 {
            cx.oracle.sent(flow, cx.world_time, &first[..early]);
        }
        if *is_inside && let Some(stream) = cx.node.stream(conn) {
            peers.set(Pair::new(stream.local, *remote), iss, flow);
        }
        self.state = State::Connecting(conn);
    }

    pub(super) fn on_timer(&mut self, cx: &mut Context<'_>) {
        if self.next_timer().is_some_and(|at| at <= cx.now) {
            self.open(cx);
        }
    }

    pub(super) fn on_event(
        &mut self,
        cx: &mut Context<'_>,
        event: &NodeEvent,
    ) -> Option<ConnectionChange> {
        let (State::Connecting(conn) | State::Open(conn) | State::Closing(conn)) = self.state
        else {
            return None;
        };
        let event = match event {
            NodeEvent::Tcp(id, event) if *id == conn => event,
            _ => return None,
        };
        self.measure(cx, conn);
        match event {
            Event::Connected => {
                self.state = State::Open(conn);
                self.in_vain = 0;
                Some(ConnectionChange::Opened)
            }
            Event::Readable | Event::Writable | Event::PeerClosed => {
                Some(ConnectionChange::Progress)
            }
            Event::Closed if matches!(self.state, State::Closing(_)) => {
                cx.node.release(cx.now, conn);
                self.state = State::Over;
                Some(ConnectionChange::Finished)
            }
            Event::Closed | Event::Failed(_) => {
                if let (State::Open(_), Some(flow)) = (&self.state, self.flow) {
                    cx.oracle.connection_lost(flow);
                }
                self.lose(cx, conn);
                Some(ConnectionChange::Lost)
            }
            _ => None,
        }
    }

    pub(super) fn close(&mut self, cx: &mut Context<'_>) {
        if let State::Open(conn) = self.state {
            cx.node.close(cx.now, conn);
            self.state = State::Closing(conn);
        }
    }

    pub(super) fn stop(&mut self) {
        self.state = State::Over;
    }

    /// Resets the connection and schedules another attempt.
    pub(super) fn abandon(&mut self, cx: &mut Context<'_>) {
        if let State::Connecting(conn) | State::Open(conn) | State::Closing(conn) = self.state {
            cx.node.abort(cx.now, conn);
            self.lose(cx, conn);
        }
    }

    fn lose(&mut self, cx: &mut Context<'_>, conn: ConnId) {
        cx.node.release(cx.now, conn);
        self.pause(cx);
    }

    fn pause(&mut self, cx: &mut Context<'_>) {
        if let Some(flow) = self.flow {
            cx.oracle.paused(flow);
        }
        let doubled = self.retry.times(1 << self.in_vain.min(20));
        let pause = doubled.min(PAUSE_CEILING).max(self.retry);
        self.in_vain = self.in_vain.saturating_add(1);
        self.state = State::Waiting(cx.now + pause);
    }

    /// Sends as much of `data` as fits, and reports it to the oracle. Returns the number of bytes.
    pub(super) fn send(&mut self, cx: &mut Context<'_>, data: &[u8]) -> usize {
        let (Some(conn), Some(flow)) = (self.conn(), self.flow) else {
            return 0;
        };
        match cx.node.send(cx.now, conn, data) {
            Ok(sent) => {
                if self.route.is_inside {
                    cx.oracle.sent(flow, cx.world_time, &data[..sent]);
                }
                sent
            }
            // An event will report the error.
            Err(_) => 0,
        }
    }

    /// Sends `data` after its first `sent` bytes, as far as there is room.
    pub(super) fn send_rest(&mut self, cx: &mut Context<'_>, data: &[u8], sent: &mut usize) {
        while let Some(rest) = data.get(*sent..).filter(|rest| !rest.is_empty()) {
            match self.send(cx, rest) {
                0 => break,
                taken => *sent += taken,
            }
        }
    }

    /// Reads received data; `None` if there is none, `Some(0)` at the end of the peer's stream.
    pub(super) fn recv(&mut self, cx: &mut Context<'_>, out: &mut [u8]) -> Option<usize> {
        match cx.node.recv(cx.now, self.conn()?, out) {
            Ok(len) => Some(len),
            Err(Error::WouldBlock) => None,
            Err(_) => None,
        }
    }

    /// Records the bytes that a far end outside of the simulation has acknowledged.
    fn measure(&mut self, cx: &mut Context<'_>, conn: ConnId) {
        let (false, Some(flow)) = (self.route.is_inside, self.flow) else {
            return;
        };
        if let Some(stats) = cx.node.stats(conn) {
            let acked = stats.bytes_acked;
            let new = acked.wrapping_sub(self.acked);
            self.acked = acked;
            if new > 0 {
                cx.oracle.delivered(flow, cx.world_time, new as usize);
            }
        }
    }
}
