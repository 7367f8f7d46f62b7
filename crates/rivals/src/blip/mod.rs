//! BLIP's TCP as of TinyOS 2.1.2.
//!
//! One clock with ticks of half a second, which runs from the start of the node, drives the timers
//! and the transmission of written data. After a write, BLIP sends all unacknowledged data, old and
//! new. It has no estimate of the round trip, no backoff, no memory for data out of order, and no
//! delay of acknowledgments. The announced window never changes. This rival has the defects of the
//! original; each defect that [`Corrections`] names can be corrected separately.
//!
//! One defect is always corrected: the original overwrites bytes of a full buffer, because it
//! counts the memory of the buffer's own header as room for data.
//!
//! - `corrections`: the defects that can be corrected;
//! - `control`: the state of a connection;
//! - `input`: the processing of a segment;
//! - `burst`: the transmission of data;
//! - `timer`: the expiry of the timer.

mod burst;
mod control;
mod corrections;
mod input;
mod timer;

use redpoll_base::{Bytes, Duration, Instant, Rng};
use redpoll_tcp::{Header, IpMeta, Segment, SeqNum, State};
use redpoll_wire::tcp::Flags;

use crate::{Body, Out, Protocol};
use burst::Burst;
pub use control::Control;
use control::{ACK, FIN, FIN_ACK, LATE_ACK, LATE_FIN, RST, SYN, SYN_ACK};
pub use corrections::Corrections;

/// The period of BLIP's clock: 512 binary milliseconds of 1/1,024 s each.
const TICK: Duration = Duration::from_millis(500);
/// TCPLIB_2MSL: ticks between two transmissions of a FIN, and ticks that FIN-WAIT-2 lasts.
const FIN_TICKS: u8 = 4;
/// Ticks until the answer to a FIN is retransmitted.
const LAST_ACK_TICKS: u8 = 6;
/// TIMEWAIT_LEN, in ticks.
const TIME_WAIT: u8 = 1;
/// Initial sequence numbers: BLIP opens connections with the first, and accepts with the second.
const ISS_ACTIVE: u32 = 0xcafe_babe;
const ISS_PASSIVE: u32 = 0xcafe_babf;
const PORT: u16 = 21_310;

#[derive(Clone, PartialEq, Debug)]
pub struct BlipConfig {
    /// The payload of a full segment in bytes.
    pub mss: u16,
    /// The window that every segment announces, in bytes.
    pub window: u16,
    /// The retransmission timeout in ticks, 1 to 127.
    pub rto: u8,
    /// Number of timer-driven sends in a row that end a connection: 7 in the source, 6 in the
    /// text of Kim et al. 2015.
    pub give_up: u8,
    pub corrections: Corrections,
}

impl Default for BlipConfig {
    fn default() -> Self {
        BlipConfig {
            mss: 200,
            window: 200,
            rto: 6,
            give_up: 7,
            corrections: Corrections::KIM2015,
        }
    }
}

#[derive(Debug)]
pub struct Blip {
    config: BlipConfig,
    /// Position of the clock's ticks within a period.
    phase: Duration,
    /// The next tick, while there is a connection.
    tick: Option<Instant>,
    rng: Rng,
}

impl Blip {
    /// Returns a stack whose clock ticks at a random time of each half second.
    pub fn new(config: BlipConfig, mut rng: Rng) -> Blip {
        Blip {
            phase: Duration::from_micros(rng.below_u64(TICK.as_micros())),
            config,
            tick: None,
            rng,
        }
    }

    pub fn config(&self) -> &BlipConfig {
        &self.config
    }

    /// Starts to poll the clock, which has been ticking since the start.
    fn wind(&mut self, now: Instant) {
        let (phase, period) = (self.phase, TICK.as_micros());
        self.tick.get_or_insert_with(|| {
            let since = now.as_micros().saturating_sub(phase.as_micros());
            let ticks = since.checked_div(period).unwrap_or(0);
            Instant::ZERO + phase + TICK.times(ticks + 1)
        });
    }

    fn iss(&mut self, constant: u32) -> SeqNum {
        match self.config.corrections.numbers {
            true => SeqNum(self.rng.next_u32()),
            false => SeqNum(constant),
        }
    }
}

impl Protocol for Blip {
    type Control = Control;

    fn port(&mut self, rng: &mut Rng, is_free: impl Fn(u16) -> bool) -> Option<u16> {
        if !self.config.corrections.numbers {
            return Some(PORT).filter(|port| is_free(*port));
        }
        (0..1_000)
            .map(|_| 49_152 + rng.below(16_384) as u16)
            .find(|port| is_free(*port))
    }

    fn connect(&mut self, now: Instant) -> Control {
        self.wind(now);
        let iss = self.iss(ISS_ACTIVE);
        let mut control = Control::new(State::SynSent, iss, self.config.mss);
        control.due = SYN;
        control.retx = self.config.rto;
        control
    }

    fn accept(&mut self, now: Instant, seg: &Segment<'_>) -> Option<Control> {
        if !seg.flags.syn() || seg.flags.rst() {
            return None;
        }
        self.wind(now);
        let iss = self.iss(ISS_PASSIVE);
        let mut control = Control::new(State::SynReceived, iss, self.config.mss);
        control.ackno = seg.seq + 1;
        control.rwnd = seg.window;
        // The buffer begins one sequence number before the first byte, because the acknowledgment
        // of the handshake counts as one byte of data.
        control.head = iss;
        control.due = SYN_ACK;
        if self.config.corrections.handshake {
            control.retx = self.config.rto;
        }
        Some(control)
    }

    /// Returns a reset in answer to any segment, even to a reset. Only a reset to a listening port
    /// gets no answer.
    fn refuse(&self, meta: &IpMeta, seg: &Segment<'_>, listens: bool) -> Option<Header> {
        if listens && seg.flags.rst() {
            return None;
        }
        let fields = refusal((seg.ack, seg.seq + 1)).fields;
        let from = redpoll_tcp::Endpoint::new(meta.dst, seg.dst_port);
        let to = redpoll_tcp::Endpoint::new(meta.src, seg.src_port);
        Some(Header::encode(&fields, &from, &to, [&[], &[]]))
    }

    fn verifies(&self) -> bool {
        self.config.corrections.checksum
    }

    fn input<B: Bytes>(
        &mut self,
        _now: Instant,
        control: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) {
        self.on_segment(control, body, seg);
    }

    fn next_tick(&self) -> Option<Instant> {
        self.tick
    }

    fn on_tick(&mut self, open: usize) {
        self.tick = self.tick.filter(|_| open > 0).map(|at| at + TICK);
    }

    fn on_timeout<B: Bytes>(&mut self, _now: Instant, c: &mut Control, body: &mut Body<B>) {
        if c.has_new && c.state == State::Established {
            c.has_new = false;
            c.burst = c.burst.or(Some(Burst {
                next: c.sent.max(c.head),
                is_first: true,
                end: c.seqno,
                ack: c.ackno,
            }));
            if c.retx == 0 {
                c.retx = self.config.rto + 1;
            }
        }
        if c.retx > 0 {
            c.retx -= 1;
            if c.retx == 0 {
                self.on_expiry(c, body);
            }
        }
    }

    fn poll_segment<B: Bytes>(
        &mut self,
        _now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
    ) -> Option<Out> {
        let (ackno, window, kinds) = (c.ackno, self.config.window, c.due);
        let out = |flags: Flags, seq| Out::new(flags, seq, ackno, window);
        let due = |kind| kinds & kind != 0;
        if due(RST) {
            c.due = 0;
            return Some(out(Flags::RST, c.seqno));
        }
        if due(SYN) {
            c.due &= !SYN;
            let again = body.sent_up_to.is_some() && !self.config.corrections.syn;
            let seq = if again { c.seqno } else { c.seqno - 1 };
            return Some(out(Flags::SYN, seq));
        }
        if due(SYN_ACK) {
            c.due &= !SYN_ACK;
            return Some(out(Flags::SYN.with(Flags::ACK), c.seqno - 1));
        }
        if let Some(out) = self.next_of_burst(c) {
            return Some(out);
        }
        if let Some(numbers) = c.refusal.take() {
            return Some(refusal(numbers));
        }
        let fin = Flags::FIN.with(Flags::ACK);
        for (kind, flags, more) in [
            (ACK, Flags::ACK, 0),
            (LATE_ACK, Flags::ACK, 0),
            (FIN_ACK, Flags::ACK, 1),
            (FIN, fin, 0),
            (LATE_FIN, fin, 1),
        ] {
            if due(kind) {
                c.due &= !kind;
                return Some(Out::new(flags, c.seqno, ackno + more, window));
            }
        }
        None
    }

    fn on_write<B: Bytes>(&mut self, _now: Instant, c: &mut Control, body: &mut Body<B>) {
        let written = body.tx.len() as u32 - (c.seqno - c.first());
        c.seqno += written;
        if self.config.corrections.write {
            c.has_new = true;
        } else {
            // The next tick counts as the end of the timeout.
            c.retx = 1;
        }
    }

    fn on_close<B: Bytes>(&mut self, _now: Instant, c: &mut Control, body: &mut Body<B>) {
        match c.state {
            State::SynSent | State::SynReceived => c.end(body, None),
            _ => c.close_when_done(body),
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
        c.first()
    }

    fn owes(&self, control: &Control) -> bool {
        control.due != 0
    }
}

/// Returns a reset with sequence number `seq`, acknowledgment number `ack` and a closed window.
fn refusal((seq, ack): (SeqNum, SeqNum)) -> Out {
    Out::new(Flags::RST.with(Flags::ACK), seq, ack, 0)
}

#[cfg(test)]
mod tests;
