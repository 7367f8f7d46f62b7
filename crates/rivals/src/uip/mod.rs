//! uIP's TCP as of Contiki 2.5 to 3.0: each connection has at most one unacknowledged segment.
//!
//! uIP sends only at an event: a segment arrives, a tick of half a second passes, or the
//! application writes. A segment must start with the next expected byte; all others are answered by
//! an acknowledgment and dropped. There is no queue: each segment with data is acknowledged at
//! once. The announced window is one segment. Numbers have the same width as in uIP's code.
//!
//! With [`Timing::Standard`] and a longer segment, this rival represents other stacks with one
//! segment in flight.

pub mod forwarding;
mod input;
mod timer;

use redpoll_base::{Bytes, Duration, Instant, Rng};
use redpoll_tcp::{Endpoint, Error, Fields, Header, IpMeta, Segment, SeqNum, State};
use redpoll_wire::tcp::Flags;

pub use timer::{Standard, Timing, Weak};

use crate::{Body, Out, Protocol};
use timer::Timer;

/// The period of uIP's clock.
const TICK: Duration = Duration::from_millis(500);
/// UIP_MAXRTX, UIP_MAXSYNRTX: maximum number of retransmissions of a segment.
const RETRIES: u8 = 8;
const SYN_RETRIES: u8 = 5;
/// UIP_TIME_WAIT_TIMEOUT: the duration of TIME-WAIT and of FIN-WAIT-2, in ticks.
const WAIT: u8 = 120;
/// The longest segment for a peer that announces no segment size (RFC 9293 §3.7.1).
const DEFAULT_MSS: u16 = 536;
/// uIP chooses the ports after the first number and below the second number, and then starts
/// again at the third number.
const PORT_BEFORE: u16 = 1_024;
const PORT_LAST: u16 = 32_000;
const PORT_AGAIN: u16 = 4_096;

/// The differences between stacks of this kind.
#[derive(Clone, PartialEq, Debug)]
pub struct UipConfig {
    /// The longest payload in bytes, sent and received (UIP_TCP_MSS): 48 on a Tmote Sky.
    pub mss: u16,
    /// The window that is announced, in bytes (UIP_RECEIVE_WINDOW).
    pub window: u16,
    pub timing: Timing,
    /// Whether data that the application writes on a connection without outstanding data are sent
    /// at once (tcpip_poll_tcp), instead of with the next tick.
    pub polls: bool,
    /// Whether an unexpected SYN while the connection opens is answered by repeating the SYN or
    /// SYN-ACK, as over IPv6 in 3.0, and not by an acknowledgment. In SYN-RECEIVED, a SYN without
    /// ACK is always answered by the SYN-ACK.
    pub answers_syn: bool,
    /// Whether the window of the peer's SYN limits the first segment, and 536 bytes limit all
    /// segments if the SYN has no option for the size (RFC 9293 §3.7.1). uIP applies neither limit.
    pub heeds_syn: bool,
    /// Whether packets are numbered as in IPv4, so that routers recognise packets that they
    /// have already forwarded ([`forwarding`]). IPv6's flow label contains the number.
    pub numbers: bool,
}

impl Default for UipConfig {
    fn default() -> Self {
        UipConfig {
            mss: 48,
            window: 48,
            timing: Timing::Original,
            polls: true,
            answers_syn: true,
            heeds_syn: false,
            numbers: false,
        }
    }
}

#[derive(Debug)]
pub struct Uip {
    config: UipConfig,
    tick: Option<Instant>,
    /// Next initial sequence number; it increases with each tick of each connection.
    iss: u32,
    last_port: u16,
    /// Counts packets, if they are numbered (ipid).
    packets: u16,
    rng: Rng,
}

impl Uip {
    /// Returns a stack of this kind, with random numbers for its timers.
    pub fn new(config: UipConfig, rng: Rng) -> Uip {
        Uip {
            config,
            tick: None,
            iss: 0,
            last_port: PORT_BEFORE,
            packets: 0,
            rng,
        }
    }

    pub fn config(&self) -> &UipConfig {
        &self.config
    }

    /// Starts the clock, if it does not run.
    fn wind(&mut self, now: Instant) {
        self.tick.get_or_insert(now + TICK);
    }
}

/// Bits of `Control::due`.
const SYN: u8 = 1 << 0;
const SYN_ACK: u8 = 1 << 1;
const FIN: u8 = 1 << 2;
const DATA: u8 = 1 << 3;
const ACK: u8 = 1 << 4;
const RST: u8 = 1 << 5;
/// A reset whose window is that of the segment that it answers: see [`Control::mss`].
const REFUSAL: u8 = 1 << 6;

#[derive(Clone, Copy, Debug)]
pub struct Control {
    pub(crate) state: State,
    /// Segments to send: a bit for each kind.
    due: u8,
    /// Ticks in TIME-WAIT or FIN-WAIT-2.
    waited: u8,
    /// Whether the application accepts no more data (UIP_STOPPED): the window is closed.
    stopped: bool,
    rcv_nxt: SeqNum,
    /// Sequence number after the last acknowledged byte.
    snd_nxt: SeqNum,
    /// Number of outstanding bytes from `snd_nxt` on; a SYN or FIN counts as one byte.
    len: u16,
    /// The longest segment at present, and the longest segment by agreement. With [`REFUSAL`] the
    /// first value is a window.
    mss: u16,
    initial_mss: u16,
    timer: Timer,
}

impl Control {
    fn new(state: State, timer: Timer, iss: u32, mss: u16) -> Control {
        Control {
            state,
            due: 0,
            waited: 0,
            stopped: false,
            rcv_nxt: SeqNum(0),
            snd_nxt: SeqNum(iss),
            len: 1,
            mss,
            initial_mss: mss,
            timer,
        }
    }

    fn end<B: Bytes>(&mut self, body: &mut Body<B>, error: Option<Error>) {
        self.state = State::Closed;
        (self.len, self.stopped) = (0, false);
        self.timer.stop();
        body.closed(error);
    }

    /// Calls the application, which may send: after an acknowledgment, after received data
    /// (`has_new`), or on a tick without outstanding data. The `window` opens again only here and
    /// at a retransmission.
    fn run<B: Bytes>(&mut self, now: Instant, body: &Body<B>, window: u16, has_new: bool) {
        if self.restarts(body, window) || has_new {
            self.due |= ACK;
        }
        if self.len == 0 && !body.tx.is_empty() {
            self.len = body.tx.len().min(self.mss.into()) as u16;
            self.timer.on_sent(now);
            self.due |= DATA;
        } else if self.len == 0 && body.closing {
            self.finish(State::FinWait1);
            self.timer.on_sent(now);
        }
        // uIP also clears the retransmission count here. The timer then takes the next
        // acknowledgment as a sample, even that of a retransmitted segment.
        self.timer.again = 0;
    }

    fn finish(&mut self, state: State) {
        self.state = state;
        self.len = 1;
        self.due |= FIN;
        // The flag belongs to the previous state.
        self.stopped = false;
    }

    /// Returns whether the application had stopped and has room again; it is then no longer
    /// stopped.
    fn restarts<B: Bytes>(&mut self, body: &Body<B>, window: u16) -> bool {
        let restarts = self.stopped && has_room(body, window);
        self.stopped &= !restarts;
        restarts
    }

    fn repeat(&mut self) {
        self.due |= match self.state {
            State::SynSent => SYN,
            State::SynReceived => SYN_ACK,
            State::Established => DATA,
            State::FinWait1 | State::Closing | State::LastAck => FIN,
            _ => 0,
        };
    }
}

fn has_room<B: Bytes>(body: &Body<B>, window: u16) -> bool {
    body.rx.room() >= window.into()
}

/// Returns whether a segment has exactly these flags, apart from those of ECN.
fn is_only(seg: &Segment<'_>, flags: Flags) -> bool {
    seg.flags.0 & 0x3f == flags.0
}

impl Protocol for Uip {
    type Control = Control;

    fn port(&mut self, _: &mut Rng, is_free: impl Fn(u16) -> bool) -> Option<u16> {
        for _ in PORT_BEFORE..PORT_LAST {
            self.last_port += 1;
            if self.last_port >= PORT_LAST {
                self.last_port = PORT_AGAIN;
            }
            if is_free(self.last_port) {
                return Some(self.last_port);
            }
        }
        None
    }

    fn flow_label(&mut self) -> u32 {
        if !self.config.numbers {
            return 0;
        }
        self.packets = self.packets.wrapping_add(1).max(1);
        self.packets.into()
    }

    fn connect(&mut self, now: Instant) -> Control {
        self.wind(now);
        let timer = Timer::new(&self.config.timing, now, true);
        let mut control = Control::new(State::SynSent, timer, self.iss, self.config.mss);
        control.due = SYN;
        control
    }

    fn accept(&mut self, now: Instant, seg: &Segment<'_>) -> Option<Control> {
        if !is_only(seg, Flags::SYN) {
            return None;
        }
        self.wind(now);
        let timer = Timer::new(&self.config.timing, now, false);
        let mss = self.agreed(seg);
        let mut control = Control::new(State::SynReceived, timer, self.iss, mss);
        control.initial_mss = self.agreed_at_most(seg);
        control.rcv_nxt = seg.seq + 1;
        control.due = SYN_ACK;
        Some(control)
    }

    /// Returns a reset made from the segment's own header: it acknowledges one sequence number,
    /// whatever the segment contains.
    fn refuse(&self, meta: &IpMeta, seg: &Segment<'_>, listens: bool) -> Option<Header> {
        if seg.flags.rst() || listens && is_only(seg, Flags::SYN) {
            return None;
        }
        let fields = Fields {
            flags: Flags::RST.with(Flags::ACK),
            window: seg.window,
            seq: seg.ack,
            ack: seg.seq + 1,
            ..Fields::default()
        };
        let from = Endpoint::new(meta.dst, seg.dst_port);
        let to = Endpoint::new(meta.src, seg.src_port);
        Some(Header::encode(&fields, &from, &to, [&[], &[]]))
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

    fn next_tick(&self) -> Option<Instant> {
        self.tick
    }

    fn on_tick(&mut self, open: usize) {
        self.tick = self.tick.filter(|_| open > 0).map(|at| at + TICK);
    }

    fn timer(&self, control: &Control) -> Option<Instant> {
        control.timer.due()
    }

    fn on_timeout<B: Bytes>(&mut self, now: Instant, c: &mut Control, body: &mut Body<B>) {
        let ticks = self.tick.is_some_and(|at| at <= now);
        if ticks {
            self.iss = self.iss.wrapping_add(1);
        }
        match c.state {
            State::TimeWait | State::FinWait2 if ticks => {
                c.waited = c.waited.wrapping_add(1);
                if c.waited == WAIT {
                    c.end(body, None);
                }
            }
            State::Closed | State::TimeWait | State::FinWait2 => {}
            _ if c.len > 0 => {
                let due = c.timer.due().is_some_and(|at| at <= now);
                if due || ticks && c.timer.on_tick() {
                    self.on_expiry(now, c, body);
                }
            }
            State::Established if ticks => c.run(now, body, self.config.window, false),
            _ => {}
        }
    }

    fn poll_segment<B: Bytes>(
        &mut self,
        _now: Instant,
        c: &mut Control,
        _body: &mut Body<B>,
    ) -> Option<Out> {
        let lowest = |kinds: [u8; 7]| kinds.into_iter().find(|kind| c.due & kind != 0);
        let kind = lowest([REFUSAL, RST, SYN, SYN_ACK, FIN, DATA, ACK])?;
        // A segment of any kind except `SYN` carries the acknowledgment: no separate `ACK` is due.
        c.due &= !(kind | ACK);
        let window = if c.stopped { 0 } else { self.config.window };
        let out = |flags: Flags| Out::new(flags, c.snd_nxt, c.rcv_nxt, window);
        let ack = Flags::ACK;
        Some(match kind {
            REFUSAL => Out::new(ack.with(Flags::RST), c.snd_nxt, c.rcv_nxt, c.mss),
            RST => out(ack.with(Flags::RST)),
            SYN => out(Flags::SYN).with_mss(self.config.mss),
            SYN_ACK => out(ack.with(Flags::SYN)).with_mss(self.config.mss),
            FIN => out(ack.with(Flags::FIN)),
            DATA => out(ack.with(Flags::PSH)).with_payload(0, c.len.into()),
            // While a segment is outstanding, the acknowledgment has the sequence number of this
            // segment. A peer that has received the segment treats the number as old.
            _ => out(ack),
        })
    }

    fn on_write<B: Bytes>(&mut self, now: Instant, c: &mut Control, body: &mut Body<B>) {
        if self.config.polls && c.state == State::Established && c.len == 0 {
            self.wind(now);
            c.run(now, body, self.config.window, false);
        }
    }

    fn on_read<B: Bytes>(&mut self, now: Instant, c: &mut Control, body: &mut Body<B>) {
        if c.stopped && has_room(body, self.config.window) {
            self.on_write(now, c, body);
        }
    }

    fn on_close<B: Bytes>(&mut self, now: Instant, c: &mut Control, body: &mut Body<B>) {
        match c.state {
            State::SynSent | State::SynReceived => c.end(body, None),
            State::Established if c.len == 0 => c.run(now, body, self.config.window, false),
            _ => {}
        }
    }

    fn abort<B: Bytes>(&mut self, _now: Instant, c: &mut Control, body: &mut Body<B>) {
        if c.state != State::Closed {
            c.due = if c.state == State::SynSent { 0 } else { RST };
            c.end(body, None);
        }
    }

    fn state(&self, control: &Control) -> State {
        control.state
    }

    fn una(&self, c: &Control) -> SeqNum {
        match c.state {
            State::SynSent | State::SynReceived => c.snd_nxt + 1,
            _ => c.snd_nxt,
        }
    }

    fn owes(&self, control: &Control) -> bool {
        control.due != 0
    }
}

impl Uip {
    /// Returns the segment size that the peer's option allows.
    fn agreed(&self, seg: &Segment<'_>) -> u16 {
        let own = self.config.mss;
        let theirs = match self.config.heeds_syn {
            true => seg.options.mss.unwrap_or(DEFAULT_MSS).min(seg.window),
            false => seg.options.mss.unwrap_or(own),
        };
        theirs.min(own).max(1)
    }

    /// Returns the segment size that would apply without a limit by the peer's window. No later
    /// window raises the size above this value.
    fn agreed_at_most(&self, seg: &Segment<'_>) -> u16 {
        let own = self.config.mss;
        let without = if self.config.heeds_syn {
            DEFAULT_MSS
        } else {
            own
        };
        seg.options.mss.unwrap_or(without).min(own).max(1)
    }

    fn on_expiry<B: Bytes>(&mut self, now: Instant, c: &mut Control, body: &mut Body<B>) {
        body.on_rto();
        let opening = matches!(c.state, State::SynSent | State::SynReceived);
        if c.timer.again >= RETRIES || opening && c.timer.again >= SYN_RETRIES {
            c.due = RST;
            c.end(body, Some(Error::TimedOut));
            return;
        }
        c.timer.back_off(&self.config.timing, now, &mut self.rng);
        c.restarts(body, self.config.window);
        c.repeat();
    }
}

#[cfg(test)]
mod tests;
