//! A host whose TCP behaves as Linux's does towards peers that offer no more than a
//! maximum segment size: for the host's end of comparisons with small stacks.
//!
//! Like Linux: the segment size is bounded by the largest window that the peer ever had, with a
//! floor of 48 bytes. A segment that does not fit the window waits; it is cut at the window's edge
//! and sent when no data are in flight and the probe timer has run out. The retransmission timeout
//! is at least 200 ms above the mean round trip; the initial window is ten segments; CUBIC or Reno
//! count in segments. The first sixteen acknowledgments leave at once, others within 40 to 200 ms,
//! or when the application has read a pushed segment.
//!
//! Not modelled: timestamps, SACK with RACK and tail loss probes, window scaling, ECN, Fast
//! Open, segmentation offload. A real Linux performs better with a peer that supports them.

mod congestion;
mod receive;
mod rtt;
mod send;

use redpoll_base::{Bytes, Duration, Instant, Rng};
use redpoll_tcp::{Error, Segment, SeqNum, State};
use redpoll_wire::tcp::Flags;

use crate::{Body, Out, Protocol};
use congestion::Window;
use receive::Receiver;
use rtt::Rtt;
use send::Sender;

#[derive(Clone, PartialEq, Debug)]
pub struct LinuxConfig {
    /// The maximum segment size that the host announces, in bytes.
    pub mss: u16,
    pub cubic: bool,
    pub initial_window: u16,
    /// Minimum of the margin that the retransmission timeout adds to the mean round trip.
    pub min_rto: Duration,
    /// Initial delay of an acknowledgment; the maximum is 200 ms.
    pub delayed_ack: Duration,
    /// Nagle's algorithm: off with TCP_NODELAY.
    pub nagle: bool,
    /// Whether written data form pieces of several segments, as in Linux from 4.17 on. If false, a
    /// piece is one segment, as earlier on an interface without segmentation: the remaining part of
    /// a piece that is cut at the window's edge is then a separate segment.
    pub gso: bool,
}

impl Default for LinuxConfig {
    fn default() -> Self {
        LinuxConfig {
            mss: 1_220,
            cubic: true,
            initial_window: 10,
            min_rto: Duration::from_millis(200),
            delayed_ack: Duration::from_millis(40),
            nagle: true,
            gso: true,
        }
    }
}

/// tcp_syn_retries, tcp_synack_retries, tcp_retries2.
const SYN_RETRIES: u8 = 6;
const SYN_ACK_RETRIES: u8 = 5;
const RETRIES: u8 = 15;
/// Duration of TIME-WAIT and FIN-WAIT-2. Linux limits FIN-WAIT-2 only for orphans.
const TIME_WAIT: Duration = Duration::from_secs(60);
/// The ports that the host chooses (ip_local_port_range).
const PORT_FIRST: u16 = 32_768;
const PORTS: u32 = 28_232;

#[derive(Debug)]
pub struct Linux {
    config: LinuxConfig,
    rng: Rng,
}

impl Linux {
    /// Returns a host of this kind; its sequence numbers and ports are random.
    pub fn new(config: LinuxConfig, rng: Rng) -> Linux {
        Linux { config, rng }
    }
}

/// State of a connection with Linux's rules.
#[derive(Clone, Debug)]
pub struct Control {
    pub(crate) state: State,
    reset: bool,
    /// Whether the FIN has been sent; its sequence number follows all data.
    fin_sent: bool,
    fin_acked: bool,
    snd: Sender,
    rcv: Receiver,
    cc: Window,
    rtt: Rtt,
    /// Expiry of the retransmission timer; `probe_at`: of the probe timer; `wait_until`: of
    /// TIME-WAIT or FIN-WAIT-2.
    rto_at: Option<Instant>,
    probe_at: Option<Instant>,
    wait_until: Option<Instant>,
    /// Number of consecutive timeouts or probes.
    backoff: u8,
}

impl Control {
    fn new(config: &LinuxConfig, state: State, iss: SeqNum) -> Control {
        Control {
            state,
            reset: false,
            fin_sent: false,
            fin_acked: false,
            snd: Sender::new(iss),
            rcv: Receiver::new(config.delayed_ack),
            cc: Window::new(config.cubic, config.initial_window),
            rtt: Rtt::new(config.min_rto),
            rto_at: None,
            probe_at: None,
            wait_until: None,
            backoff: 0,
        }
    }

    fn end<B: Bytes>(&mut self, body: &mut Body<B>, error: Option<Error>) {
        self.state = State::Closed;
        (self.rto_at, self.probe_at, self.wait_until) = (None, None, None);
        self.rcv.ack_at = None;
        body.closed(error);
    }

    fn time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        (self.rto_at, self.probe_at) = (None, None);
        self.wait_until = Some(now + TIME_WAIT);
    }

    fn can_send(&self) -> bool {
        matches!(
            self.state,
            State::Established
                | State::CloseWait
                | State::FinWait1
                | State::LastAck
                | State::Closing
        )
    }

    /// Changes the state after the application has closed: the FIN follows the data.
    fn close_state(&mut self) {
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            state => state,
        };
    }
}

impl Protocol for Linux {
    type Control = Control;

    fn port(&mut self, rng: &mut Rng, is_free: impl Fn(u16) -> bool) -> Option<u16> {
        (0..PORTS)
            .map(|_| PORT_FIRST + rng.below(PORTS) as u16)
            .find(|port| is_free(*port))
    }

    fn connect(&mut self, _now: Instant) -> Control {
        let iss = SeqNum(self.rng.next_u32());
        let mut control = Control::new(&self.config, State::SynSent, iss);
        control.snd.syn_due = true;
        control
    }

    fn accept(&mut self, _now: Instant, seg: &Segment<'_>) -> Option<Control> {
        if !seg.flags.syn() || seg.flags.ack() || seg.flags.rst() || seg.flags.fin() {
            return None;
        }
        let iss = SeqNum(self.rng.next_u32());
        let mut control = Control::new(&self.config, State::SynReceived, iss);
        control.on_syn(&self.config, seg);
        control.snd.syn_due = true;
        Some(control)
    }

    fn input<B: Bytes>(
        &mut self,
        now: Instant,
        control: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) {
        self.on_segment(now, control, body, seg);
    }

    fn timer(&self, c: &Control) -> Option<Instant> {
        let timers = [c.rto_at, c.probe_at, c.wait_until, c.rcv.ack_at];
        timers.into_iter().flatten().min()
    }

    fn on_timeout<B: Bytes>(&mut self, now: Instant, c: &mut Control, body: &mut Body<B>) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(c.rcv.ack_at) {
            c.rcv.on_delay_over();
        }
        if due(c.wait_until) {
            c.end(body, None);
            return;
        }
        if due(c.rto_at) {
            self.on_rto(now, c, body);
        }
        if due(c.probe_at) {
            self.on_probe_time(c, body);
        }
    }

    fn poll_segment<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
    ) -> Option<Out> {
        self.next_segment(now, c, body)
    }

    fn on_write<B: Bytes>(&mut self, _now: Instant, _c: &mut Control, _body: &mut Body<B>) {}

    fn on_read<B: Bytes>(&mut self, _now: Instant, c: &mut Control, body: &mut Body<B>) {
        c.rcv.on_read(body);
    }

    fn on_close<B: Bytes>(&mut self, _now: Instant, c: &mut Control, body: &mut Body<B>) {
        match c.state {
            State::SynSent => c.end(body, None),
            _ => c.close_state(),
        }
    }

    fn abort<B: Bytes>(&mut self, _now: Instant, c: &mut Control, body: &mut Body<B>) {
        if !matches!(c.state, State::Closed | State::TimeWait) {
            c.reset = c.state != State::SynSent;
        }
        c.end(body, None);
    }

    fn state(&self, control: &Control) -> State {
        control.state
    }

    fn una(&self, c: &Control) -> SeqNum {
        c.snd.first()
    }

    fn owes(&self, control: &Control) -> bool {
        control.reset
    }
}

impl Linux {
    fn on_rto<B: Bytes>(&mut self, now: Instant, c: &mut Control, body: &mut Body<B>) {
        body.on_rto();
        c.backoff = c.backoff.saturating_add(1);
        let limit = match c.state {
            State::SynSent => SYN_RETRIES,
            State::SynReceived => SYN_ACK_RETRIES,
            _ => RETRIES,
        };
        if c.backoff > limit {
            c.end(body, Some(Error::TimedOut));
            return;
        }
        if matches!(c.state, State::SynSent | State::SynReceived) {
            c.snd.syn_due = true;
        } else {
            c.cc.on_timeout(c.snd.in_flight());
            c.snd.on_timeout();
        }
        c.rto_at = Some(now + c.rtt.timeout(c.backoff));
    }

    /// Handles the time of a window probe: no data are in flight, and the next bytes do not fit the
    /// window.
    fn on_probe_time<B: Bytes>(&mut self, c: &mut Control, body: &mut Body<B>) {
        c.probe_at = None;
        c.backoff = c.backoff.saturating_add(1);
        if c.backoff > RETRIES {
            c.end(body, Some(Error::TimedOut));
            return;
        }
        c.snd.probe_due = true;
    }
}

impl Control {
    fn on_syn(&mut self, config: &LinuxConfig, seg: &Segment<'_>) {
        self.rcv.nxt = seg.seq + 1;
        (self.rcv.acked, self.rcv.edge) = (self.rcv.nxt, self.rcv.nxt);
        self.snd.on_syn(config.mss, seg);
    }
}

const ACK: Flags = Flags::ACK;

#[cfg(test)]
mod tests;
