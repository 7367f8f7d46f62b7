//! Linux's rules for received segments: which data are stored, and when they are acknowledged.

use redpoll_base::{Bytes, Duration, Instant};
use redpoll_tcp::{Error, Segment, SeqNum, State};
use redpoll_wire::tcp::Flags;

use super::{Control, Linux};
use crate::Body;

/// Number of first acknowledgments that are not delayed.
const QUICK: u8 = 16;
/// Maximum delay of an acknowledgment.
const LONGEST: Duration = Duration::from_millis(200);
/// Maximum number of ranges of data beyond a gap. A segment that would add another range is
/// dropped.
const GAPS: usize = 8;
/// The assumed payload of a full segment in bytes, until a longer segment arrives.
const FIRST_MSS: usize = 536;

#[derive(Clone, Debug)]
pub(super) struct Receiver {
    pub(super) nxt: SeqNum,
    pub(super) acked: SeqNum,
    /// The end of the window that was announced.
    pub(super) edge: SeqNum,
    /// Ranges of received data beyond a gap, in ascending order.
    beyond: [Option<(SeqNum, SeqNum)>; GAPS],
    /// Sequence number of the peer's FIN, after it has arrived.
    fin: Option<SeqNum>,
    pub(super) ack_due: bool,
    pub(super) ack_at: Option<Instant>,
    quick: u8,
    ato: Duration,
    last: Option<Instant>,
    /// Whether a segment with PSH, or a short one, arrived since the last acknowledgment.
    pushed: bool,
    /// Payload of the longest segment so far in bytes, at least [`FIRST_MSS`].
    mss: usize,
}

impl Receiver {
    pub(super) fn new(ato: Duration) -> Receiver {
        Receiver {
            nxt: SeqNum(0),
            acked: SeqNum(0),
            edge: SeqNum(0),
            beyond: [None; GAPS],
            fin: None,
            ack_due: false,
            ack_at: None,
            quick: QUICK,
            ato,
            last: None,
            pushed: false,
            mss: FIRST_MSS,
        }
    }

    /// Returns the window to announce: the whole free space, without moving the window's end back.
    pub(super) fn window<B: Bytes>(&mut self, body: &Body<B>) -> u16 {
        let room = body.rx.room().min(usize::from(u16::MAX)) as u32;
        let edge = self.nxt + room;
        if self.edge < edge || self.edge < self.nxt {
            self.edge = edge;
        }
        (self.edge - self.nxt).min(u16::MAX.into()) as u16
    }

    pub(super) fn on_ack_sent(&mut self) {
        (self.ack_due, self.ack_at, self.pushed) = (false, None, false);
        self.acked = self.nxt;
        self.quick = self.quick.saturating_sub(1);
    }

    pub(super) fn on_delay_over(&mut self) {
        self.ack_at = None;
        self.ack_due = true;
    }

    /// Handles a read. An ACK is due for more than a segment of unacknowledged data, or for pushed
    /// data after the application has read all data.
    pub(super) fn on_read<B: Bytes>(&mut self, body: &Body<B>) {
        let since = (self.nxt - self.acked) as usize;
        if since > self.mss || since > 0 && self.pushed && body.rx.is_empty() {
            self.ack_due = true;
        }
        // A closed window that opens is announced.
        if self.edge - self.nxt == 0 && body.rx.room() >= self.mss.min(body.rx.capacity() / 2) {
            self.ack_due = true;
        }
    }

    fn on_data(&mut self, now: Instant, len: usize, is_pushed: bool) {
        self.mss = self.mss.max(len);
        let since = self.last.replace(now).map(|last| now.since(last));
        if let Some(since) = since {
            let least = Duration::from_millis(40);
            if since <= least.divided_by(2) {
                self.ato = self.ato.divided_by(2) + least.divided_by(2);
            } else if since < self.ato {
                self.ato = (self.ato.divided_by(2) + since).min(LONGEST);
            }
        }
        self.pushed |= is_pushed || len < self.mss;
        if self.quick > 0 {
            self.ack_due = true;
        } else {
            let wait = self.ato.min(LONGEST);
            self.ack_at = self.ack_at.or(Some(now + wait));
        }
    }

    /// Records a range of data beyond the gap; returns whether there was room for it.
    fn keep(&mut self, mut start: SeqNum, mut end: SeqNum) -> bool {
        for place in &mut self.beyond {
            if let Some((from, to)) = *place
                && from <= end
                && start <= to
            {
                (start, end) = (start.min(from), end.max(to));
                *place = None;
            }
        }
        let free = self.beyond.iter_mut().find(|place| place.is_none());
        let Some(free) = free else { return false };
        *free = Some((start, end));
        true
    }

    /// Removes a range that begins at or before `at`; returns its end.
    fn take(&mut self, at: SeqNum) -> Option<SeqNum> {
        self.beyond.iter_mut().find_map(|place| {
            let (_, end) = place.take_if(|(from, _)| *from <= at)?;
            Some(end)
        })
    }
}

impl Linux {
    pub(super) fn on_segment<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) {
        if c.state == State::SynSent {
            self.on_answer(now, c, body, seg);
            return;
        }
        let room = c.rcv.window(body);
        let in_window = seg.seq <= c.rcv.nxt + u32::from(room) && seg.end() >= c.rcv.acked;
        if seg.flags.rst() {
            // RFC 5961 §3.2: only a RST at RCV.NXT resets; others in the window get an ACK.
            if seg.seq == c.rcv.nxt {
                let is_over = c.state == State::TimeWait;
                c.end(body, (!is_over).then_some(Error::Reset));
            } else if in_window {
                c.rcv.ack_due = true;
            }
            return;
        }
        if seg.flags.syn() {
            // The peer repeats its SYN because the answer was lost, or an attacker sends SYNs.
            match c.state {
                State::SynReceived => c.snd.syn_due = true,
                _ => c.rcv.ack_due = true,
            }
            return;
        }
        if !in_window || !seg.flags.ack() {
            c.rcv.ack_due = true;
            return;
        }
        if c.state == State::SynReceived {
            self.on_acknowledgment(now, c, body, seg);
            if c.snd.first() != seg.ack {
                return;
            }
            c.state = State::Established;
            body.connected();
            if body.closing {
                c.close_state();
            }
        } else {
            self.on_acknowledgment(now, c, body, seg);
        }
        if c.fin_acked {
            match c.state {
                State::FinWait1 => {
                    c.state = State::FinWait2;
                    c.wait_until = Some(now + super::TIME_WAIT);
                }
                State::Closing => c.time_wait(now),
                State::LastAck => c.end(body, None),
                _ => {}
            }
        }
        self.on_text(now, c, body, seg);
    }

    fn on_answer<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) {
        let acks = seg.flags.ack() && seg.ack == c.snd.first();
        if seg.flags.rst() && acks {
            c.end(body, Some(Error::Refused));
        } else if acks && seg.flags.contains(Flags::SYN) {
            c.on_syn(&self.config, seg);
            self.on_acknowledgment(now, c, body, seg);
            c.state = State::Established;
            c.rcv.ack_due = true;
            body.connected();
        }
    }

    /// Handles the text of a segment in the window, and its FIN.
    fn on_text<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) {
        if seg.is_empty() || matches!(c.state, State::Closed) {
            return;
        }
        let end = seg.seq + seg.payload.len() as u32;
        if seg.flags.fin() {
            c.rcv.fin = Some(end);
        }
        let rcv = &mut c.rcv;
        if seg.seq > rcv.nxt || end < rcv.nxt || seg.end() == rcv.nxt {
            // A segment beyond a gap, or one that has arrived before, is acknowledged at once.
            rcv.ack_due = true;
        }
        let known = (rcv.nxt - seg.seq) as usize;
        let text = seg.payload.get(known..).unwrap_or_default();
        let at = seg.seq.max(rcv.nxt);
        let fits = (at - rcv.nxt) as usize + text.len() <= body.rx.room();
        if !text.is_empty() && fits {
            let closes = rcv.beyond.iter().any(Option::is_some);
            let to = at + text.len() as u32;
            if at == rcv.nxt || rcv.keep(at, to) {
                body.rx.write_at((at - rcv.nxt) as usize, text);
            }
            if at == rcv.nxt {
                let mut until = to;
                while let Some(next) = rcv.take(until) {
                    until = until.max(next);
                }
                let count = (until - rcv.nxt) as usize;
                body.rx.keep(count);
                body.on_delivered(count);
                rcv.nxt = until;
                rcv.on_data(now, text.len(), seg.flags.contains(Flags::PSH));
                rcv.ack_due |= closes;
            }
        } else if !text.is_empty() {
            rcv.ack_due = true;
        }
        if rcv.fin == Some(rcv.nxt) {
            rcv.fin = None;
            rcv.nxt += 1;
            rcv.ack_due = true;
            body.peer_closed();
            match c.state {
                State::Established => c.state = State::CloseWait,
                State::FinWait1 => c.state = State::Closing,
                State::FinWait2 => c.time_wait(now),
                _ => {}
            }
        }
    }
}
