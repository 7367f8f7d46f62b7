//! BLIP's TCP as of TinyOS 2.1.2.
//!
//! One clock with ticks of half a second, which runs from the start of the node, drives all
//! transmissions and retransmissions. After a write, BLIP sends all unacknowledged data, old and
//! new. It has no estimate of the round trip, no backoff, no memory for data out of order, and no
//! delay of acknowledgments. The announced window never changes. This rival has the defects of the
//! original; each defect that [`Corrections`] names can be corrected separately.
//!
//! One defect is always corrected: the original overwrites bytes of a full buffer, because it
//! counts the room of the buffer's own header.

mod input;

use redpoll_base::{Bytes, Duration, Instant, Rng};
use redpoll_tcp::{Error, Header, IpMeta, Segment, SeqNum, State};
use redpoll_wire::tcp::Flags;

use crate::{Body, Out, Protocol};

/// The period of BLIP's clock: 512 binary milliseconds (1/1,024 s).
const TICK: Duration = Duration::from_millis(500);
/// TCPLIB_2MSL: ticks between FINs, and of FIN-WAIT-2.
const FIN_TICKS: u8 = 4;
/// Ticks until the answer to a FIN is retransmitted.
const LAST_ACK_TICKS: u8 = 6;
/// TIMEWAIT_LEN, in ticks.
const TIME_WAIT: u8 = 1;
/// Initial sequence numbers: BLIP opens connections with the first, and accepts with the second.
const ISS_ACTIVE: u32 = 0xcafe_babe;
const ISS_PASSIVE: u32 = 0xcafe_babf;
const PORT: u16 = 21_310;
/// Maximum payload of a segment in bytes, whatever the congestion window: 1,280 minus headers.
const LONGEST: usize = 1_220;

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Corrections {
    /// An acknowledgment of new data resets the counter of timer-driven sends. Without this
    /// correction, a connection ends at its seventh timer-driven send in total.
    pub counter: bool,
    /// A retransmitted SYN keeps its sequence number; BLIP uses the number after it.
    pub syn: bool,
    /// A write sends only new data. Without this correction it also retransmits all data in flight.
    pub write: bool,
    /// The peer's window and the congestion window bound all segments, not only the
    /// first of a burst.
    pub window: bool,
    /// Only three acknowledgments without data count as duplicates, and they cause the
    /// retransmission of one segment.
    pub duplicates: bool,
    /// Acknowledgments of data that were never sent are ignored, and sequence numbers wrap.
    pub acknowledgments: bool,
    /// A segment farther away than a window is answered by an acknowledgment, not by a reset.
    pub old: bool,
    /// A closed window is probed with one byte for as long as the peer answers.
    pub probe: bool,
    /// The timer retransmits SYN-ACKs. In SYN-SENT only a SYN-ACK opens the connection.
    pub handshake: bool,
    /// A FIN is accepted also with data and in FIN-WAIT-2; a retransmitted FIN is unchanged.
    pub fin: bool,
    /// Checksums of received segments are verified.
    pub checksum: bool,
    /// Ports and initial sequence numbers are random.
    pub numbers: bool,
}

impl Corrections {
    /// The corrections of Kim et al. 2015.
    pub const KIM2015: Corrections = Corrections {
        counter: true,
        syn: true,
        ..Corrections::NONE
    };

    /// No correction: BLIP as published.
    pub const NONE: Corrections = Corrections {
        counter: false,
        syn: false,
        write: false,
        window: false,
        duplicates: false,
        acknowledgments: false,
        old: false,
        probe: false,
        handshake: false,
        fin: false,
        checksum: false,
        numbers: false,
    };

    pub const NAMES: [&'static str; 12] = [
        "counter",
        "syn",
        "write",
        "window",
        "duplicates",
        "acknowledgments",
        "old",
        "probe",
        "handshake",
        "fin",
        "checksum",
        "numbers",
    ];

    /// Sets the correction `name`; returns whether there is such a correction.
    pub fn set(&mut self, name: &str) -> bool {
        let switch = match name {
            "counter" => &mut self.counter,
            "syn" => &mut self.syn,
            "write" => &mut self.write,
            "window" => &mut self.window,
            "duplicates" => &mut self.duplicates,
            "acknowledgments" => &mut self.acknowledgments,
            "old" => &mut self.old,
            "probe" => &mut self.probe,
            "handshake" => &mut self.handshake,
            "fin" => &mut self.fin,
            "checksum" => &mut self.checksum,
            "numbers" => &mut self.numbers,
            _ => return false,
        };
        *switch = true;
        true
    }
}

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

const SYN: u8 = 1 << 0;
const SYN_ACK: u8 = 1 << 1;
const FIN: u8 = 1 << 2;
const ACK: u8 = 1 << 3;
const RST: u8 = 1 << 4;
/// An acknowledgment of the received data, after that of a segment out of order.
const LATE_ACK: u8 = 1 << 5;
/// An acknowledgment of one number more than was received: that of a FIN.
const FIN_ACK: u8 = 1 << 6;
/// A FIN that acknowledges one number more than was received.
const LATE_FIN: u8 = 1 << 7;

/// Segments that are sent one after the other.
#[derive(Clone, Copy, Debug)]
struct Burst {
    next: SeqNum,
    is_first: bool,
    /// Sequence number after the last byte of the burst.
    end: SeqNum,
    /// Acknowledgment number of the segments: its value when the burst began.
    ack: SeqNum,
}

#[derive(Clone, Copy, Debug)]
pub struct Control {
    pub(crate) state: State,
    due: u8,
    /// Ticks until the timer acts; 0: it is stopped.
    retx: u8,
    /// Number of timer-driven sends. With the correction `counter`, an ACK of new data clears it.
    count: u8,
    /// Number of segments that acknowledged no new data.
    duplicates: u8,
    /// Whether an acknowledgment has been sent for a segment out of order.
    ack_sent: bool,
    /// A reset made from the header of a segment that it answers: its sequence number and its
    /// acknowledgment number.
    refusal: Option<(SeqNum, SeqNum)>,
    /// With [`Corrections::write`]: whether new data wait for the next tick.
    has_new: bool,
    /// Sequence number after the last byte that the application has written.
    seqno: SeqNum,
    /// The first byte that is not acknowledged.
    head: SeqNum,
    /// Sequence number of the first byte in the send buffer.
    start: SeqNum,
    /// Sequence number after the last byte that was sent.
    sent: SeqNum,
    /// The next byte that is expected.
    ackno: SeqNum,
    rwnd: u16,
    cwnd: u16,
    ssthresh: u16,
    burst: Option<Burst>,
}

impl Control {
    fn new(state: State, iss: SeqNum, mss: u16) -> Control {
        Control {
            state,
            due: 0,
            retx: 0,
            count: 0,
            duplicates: 0,
            ack_sent: false,
            refusal: None,
            has_new: false,
            seqno: iss + 1,
            head: iss + 1,
            start: iss + 1,
            sent: iss + 1,
            ackno: SeqNum(0),
            rwnd: mss,
            cwnd: mss,
            ssthresh: u16::MAX,
            burst: None,
        }
    }

    /// Returns the number of bytes that are written and not acknowledged.
    fn outstanding(&self) -> u32 {
        self.seqno - self.head
    }

    /// Returns the first sequence number in the send buffer. In an accepted connection, `head` is
    /// one less until the first acknowledgment.
    fn first(&self) -> SeqNum {
        self.head.max(self.start)
    }

    /// Reduces the slow start threshold after an assumed loss.
    fn reduce(&mut self, mss: u16) {
        let floor = mss.saturating_mul(2);
        self.ssthresh = (self.cwnd.min(self.rwnd) / 2).max(floor);
    }

    fn end<B: Bytes>(&mut self, body: &mut Body<B>, error: Option<Error>) {
        self.state = State::Closed;
        (self.retx, self.burst, self.refusal) = (0, None, None);
        body.closed(error);
    }

    /// Gives the connection up without a message to the peer.
    fn give_up<B: Bytes>(&mut self, body: &mut Body<B>) {
        self.state = State::TimeWait;
        (self.retx, self.burst, self.due) = (TIME_WAIT, None, 0);
        body.error = Some(Error::TimedOut);
    }

    /// Sends a FIN once all written data are acknowledged. Applications that must not lose data
    /// close in this way.
    fn close_when_done<B: Bytes>(&mut self, body: &Body<B>) {
        if !body.closing || self.outstanding() > 0 {
            return;
        }
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            _ => return,
        };
        self.due |= FIN;
        self.retx = match self.state {
            State::LastAck => LAST_ACK_TICKS,
            _ => FIN_TICKS,
        };
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
        // The buffer begins one number before the first byte, because the acknowledgment of the
        // handshake counts as one byte of data.
        control.head = iss;
        control.due = SYN_ACK;
        if self.config.corrections.handshake {
            control.retx = self.config.rto;
        }
        Some(control)
    }

    /// Returns a reset, even in answer to a reset; a listening port does not answer resets.
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

impl Blip {
    fn send_all(&self, c: &mut Control) {
        c.burst = Some(Burst {
            next: c.head,
            is_first: true,
            end: c.seqno,
            ack: c.ackno,
        });
        c.retx = self.config.rto;
    }

    fn next_of_burst(&self, c: &mut Control) -> Option<Out> {
        let burst = c.burst?;
        let next = burst.next.max(c.first());
        let rest = (burst.end - next) as usize;
        let bound = usize::from(c.rwnd.min(c.cwnd));
        let limit = match self.config.corrections.window {
            true => bound
                .saturating_sub((next - c.first()) as usize)
                .min(self.config.mss.into()),
            false if burst.is_first => bound,
            false => self.config.mss.into(),
        };
        let len = rest.min(limit).min(LONGEST);
        if len == 0 {
            c.burst = None;
            return None;
        }
        let end = next + len as u32;
        c.burst = (end < burst.end).then_some(Burst {
            next: end,
            is_first: false,
            ..burst
        });
        c.sent = c.sent.max(end);
        let out = Out::new(Flags::ACK, next, burst.ack, self.config.window);
        Some(out.with_payload((next - c.first()) as usize, len))
    }

    /// Handles the end of the timer's countdown.
    fn on_expiry<B: Bytes>(&mut self, c: &mut Control, body: &mut Body<B>) {
        let config = &self.config;
        match c.state {
            State::SynSent => {
                c.due |= SYN;
                c.retx = config.rto;
                self.count(c, body);
                body.on_rto();
            }
            State::SynReceived => {
                c.due |= SYN_ACK;
                c.retx = config.rto;
                self.count(c, body);
                body.on_rto();
            }
            State::Established | State::CloseWait if c.outstanding() > 0 => {
                if c.sent > c.head {
                    body.on_rto();
                }
                c.reduce(config.mss);
                c.cwnd = config.mss;
                self.send_all(c);
                if c.rwnd == 0 && config.corrections.probe {
                    c.burst = Some(Burst {
                        next: c.head,
                        is_first: true,
                        end: c.head + 1,
                        ack: c.ackno,
                    });
                    (c.rwnd, c.count) = (1, 0);
                }
                self.count(c, body);
            }
            State::LastAck | State::FinWait1 | State::Closing => {
                // Without the correction, BLIP acknowledges one number more than was received.
                c.due |= if config.corrections.fin {
                    FIN
                } else {
                    LATE_FIN
                };
                c.retx = FIN_TICKS;
                self.count(c, body);
            }
            State::FinWait2 => c.end(body, None),
            State::TimeWait => {
                let error = body.error;
                c.end(body, error);
            }
            State::Established | State::CloseWait | State::Closed => {}
        }
    }

    /// Counts a timer-driven send; at the limit, gives the connection up. The first transmission of
    /// a SYN is not counted.
    fn count<B: Bytes>(&self, c: &mut Control, body: &mut Body<B>) {
        c.count += 1;
        let burst = c.burst;
        let due = c.due;
        if c.count >= self.config.give_up {
            c.give_up(body);
            // Keep the transmission that was due before the connection was given up.
            (c.burst, c.due) = (burst, due);
        }
    }
}

#[cfg(test)]
mod tests;
