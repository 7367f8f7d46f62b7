//! Linux's rules for sending: the length of a segment, and the time at which it is sent.

use redpoll_base::{Bytes, Instant};
use redpoll_tcp::{Segment, SeqNum, State};
use redpoll_wire::tcp::Flags;

use super::{ACK, Control, Linux};
use crate::{Body, Out};

/// The MSS of a peer that sends no MSS option (RFC 9293 §3.7.1), and the limit above which a window
/// holds at least two segments.
const DEFAULT_MSS: u16 = 536;
/// The minimum segment size: 68 bytes minus the TCP header of 20 bytes.
const LEAST_MSS: u16 = 48;
/// Largest number of doublings of the interval between probes of a closed window, while the peer
/// answers them.
const LONGEST_PROBE: u8 = 8;
/// Maximum number of segments in flight whose ends are recorded. If more are in flight, the last
/// ones count as one segment.
const TOLD_APART: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Sender {
    iss: SeqNum,
    una: SeqNum,
    nxt: SeqNum,
    /// Sequence number after the last byte that was ever sent.
    max: SeqNum,
    wnd: u16,
    /// The largest window that the peer has announced, in bytes.
    max_wnd: u16,
    mss: u16,
    /// Sequence number after the last byte of each segment in flight, in ascending order.
    ends: [SeqNum; TOLD_APART],
    count: usize,
    duplicates: u8,
    /// Sequence number whose acknowledgment ends fast recovery, or the recovery after a timeout.
    recover: Option<SeqNum>,
    /// Whether the first segment in flight is to be retransmitted at once.
    again: bool,
    /// Segment by which the round trip is measured, and the time at which it was sent.
    timed: Option<(SeqNum, Instant)>,
    /// Sequence number after the last segment that was shorter than a full one.
    short: SeqNum,
    /// Sequence number after the remaining part of a segment that was cut at the window's edge
    /// while later segments already existed. That part is a separate segment and does not grow.
    rest: Option<SeqNum>,
    pub(super) syn_due: bool,
    pub(super) probe_due: bool,
}

impl Sender {
    pub(super) fn new(iss: SeqNum) -> Sender {
        Sender {
            iss,
            una: iss,
            nxt: iss,
            max: iss,
            wnd: 0,
            max_wnd: 0,
            mss: DEFAULT_MSS,
            ends: [SeqNum(0); TOLD_APART],
            count: 0,
            duplicates: 0,
            recover: None,
            again: false,
            timed: None,
            short: iss,
            rest: None,
            syn_due: false,
            probe_due: false,
        }
    }

    pub(super) fn first(&self) -> SeqNum {
        self.una.max(self.iss + 1)
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.count as u32
    }

    pub(super) fn on_syn(&mut self, own_mss: u16, seg: &Segment<'_>) {
        self.mss = seg
            .options
            .mss
            .unwrap_or(DEFAULT_MSS)
            .min(own_mss)
            .max(LEAST_MSS);
        self.on_window(seg.window);
    }

    fn on_window(&mut self, window: u16) {
        self.wnd = window;
        self.max_wnd = self.max_wnd.max(window);
    }

    /// Returns the payload of a full segment: at least 48 bytes, and at most the largest window, or
    /// half of a window above 536 bytes.
    pub(super) fn segment_size(&self) -> usize {
        let bound = match self.max_wnd > DEFAULT_MSS {
            true => self.max_wnd / 2,
            false => self.max_wnd,
        };
        let bound = bound.max(LEAST_MSS);
        self.mss.min(bound).into()
    }

    /// Counts the data in flight as lost, and retransmits them from the first byte.
    pub(super) fn on_timeout(&mut self) {
        self.nxt = self.first();
        self.count = 0;
        self.recover = Some(self.max);
        self.again = false;
        self.timed = None;
        self.duplicates = 0;
    }

    fn note(&mut self, end: SeqNum) {
        match self.ends.get_mut(self.count) {
            Some(place) => {
                *place = end;
                self.count += 1;
            }
            None => self.ends[TOLD_APART - 1] = end,
        }
    }
}

impl Linux {
    pub(super) fn next_segment<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
    ) -> Option<Out> {
        if c.reset {
            c.reset = false;
            return Some(Out::new(Flags::RST.with(ACK), c.snd.max, c.rcv.nxt, 0));
        }
        if c.state == State::Closed {
            return None;
        }
        let window = c.rcv.window(body);
        if c.snd.syn_due {
            return Some(self.syn(now, c, window));
        }
        if c.can_send()
            && let Some(out) = self.data(now, c, body, window)
        {
            c.rcv.on_ack_sent();
            return Some(out);
        }
        if c.rcv.ack_due {
            c.rcv.on_ack_sent();
            return Some(Out::new(ACK, c.snd.max, c.rcv.nxt, window));
        }
        None
    }

    fn syn(&mut self, now: Instant, c: &mut Control, window: u16) -> Out {
        c.snd.syn_due = false;
        let seq = c.snd.iss;
        c.snd.timed = (c.backoff == 0).then_some((seq + 1, now));
        (c.snd.nxt, c.snd.max) = (seq + 1, seq + 1);
        c.rto_at = c.rto_at.or(Some(now + c.rtt.timeout(c.backoff)));
        let flags = match c.state {
            State::SynSent => Flags::SYN,
            _ => Flags::SYN.with(ACK),
        };
        Out::new(flags, seq, c.rcv.nxt, window).with_mss(self.config.mss)
    }

    fn data<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
        window: u16,
    ) -> Option<Out> {
        let first = c.snd.first();
        let end = first + body.tx.len() as u32;
        let size = c.snd.segment_size();
        if c.snd.again {
            c.snd.again = false;
            let len = ((end.min(c.snd.max) - first) as usize).min(size);
            return Some(self.out(now, c, (first, first, len), end, window, body));
        }
        let (nxt, edge) = (c.snd.nxt.max(first), first + u32::from(c.snd.wnd));
        let (rest, room) = ((end - nxt) as usize, (edge - nxt) as usize);
        let mut len = rest.min(size);
        if nxt < c.snd.max {
            // A retransmission is not joined with new data.
            len = len.min((c.snd.max - nxt) as usize);
        }
        c.snd.rest = c.snd.rest.filter(|behind| *behind > nxt);
        if let Some(behind) = c.snd.rest {
            len = len.min((behind - nxt) as usize);
        }
        let fin = body.closing && !c.fin_acked && (nxt + len as u32 == end) && nxt <= end;
        if c.snd.probe_due {
            c.snd.probe_due = false;
            return Some(match room.min(len) {
                // A probe without data, whose sequence number was already acknowledged: the peer
                // answers with its window.
                0 => Out::new(ACK, first - 1, c.rcv.nxt, window),
                cut => {
                    let is_last = nxt + len as u32 == end;
                    if !self.config.gso && cut < len && !is_last {
                        c.snd.rest = Some(nxt + len as u32);
                    }
                    self.out(now, c, (first, nxt, cut), end, window, body)
                }
            });
        }
        if len == 0 && !(fin && (nxt == end)) {
            return None;
        }
        if len > room {
            // A segment that does not fit the window waits as a whole. If no data are in flight,
            // the probe timer ends the wait.
            if c.snd.count == 0 && c.snd.una >= c.snd.nxt {
                let wait = c.rtt.timeout(c.backoff);
                c.probe_at = c.probe_at.or(Some(now + wait));
            }
            return None;
        }
        if c.snd.in_flight() >= c.cc.cwnd {
            return None;
        }
        // Nagle's algorithm in Minshall's variant: at most one short segment is in flight. The rule
        // does not apply to a segment that has other pieces after it.
        let is_last = c.snd.rest.is_none();
        let waits = self.config.nagle && is_last && len < size && !fin && nxt >= c.snd.max;
        if waits && c.snd.count > 0 && c.snd.short > first {
            return None;
        }
        Some(self.out(now, c, (first, nxt, len), end, window, body))
    }

    /// Makes the segment of `len` bytes from `seq` on; the FIN leaves with the last bytes.
    fn out<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        (first, seq, len): (SeqNum, SeqNum, usize),
        end: SeqNum,
        window: u16,
        body: &Body<B>,
    ) -> Out {
        let to = seq + len as u32;
        let fin = body.closing && to == end;
        let mut flags = if len > 0 && to == end {
            ACK.with(Flags::PSH)
        } else {
            ACK
        };
        let mut after = to;
        if fin {
            flags = flags.with(Flags::FIN);
            c.fin_sent = true;
            after += 1;
        }
        let is_new = after > c.snd.max;
        if is_new && c.snd.timed.is_none() && seq >= c.snd.max {
            c.snd.timed = Some((after, now));
        }
        if seq < c.snd.max {
            c.snd.timed = None;
        }
        if seq >= c.snd.nxt || c.snd.count == 0 {
            c.snd.note(after);
        }
        if len < c.snd.segment_size() {
            c.snd.short = c.snd.short.max(after);
        }
        c.snd.nxt = c.snd.nxt.max(after);
        c.snd.max = c.snd.max.max(after);
        c.rto_at = c.rto_at.or(Some(now + c.rtt.timeout(c.backoff)));
        c.probe_at = None;
        Out::new(flags, seq, c.rcv.nxt, window).with_payload((seq - first) as usize, len)
    }

    pub(super) fn on_acknowledgment<B: Bytes>(
        &mut self,
        now: Instant,
        c: &mut Control,
        body: &mut Body<B>,
        seg: &Segment<'_>,
    ) {
        let (ack, snd) = (seg.ack, &mut c.snd);
        if ack > snd.max || ack < snd.una {
            return;
        }
        let same = seg.window == snd.wnd;
        snd.on_window(seg.window);
        if ack == snd.una {
            let waits = snd.max > snd.una && snd.count > 0;
            if seg.payload.is_empty() && same && waits {
                self.on_duplicate(c, body);
            } else if c.snd.count == 0 {
                // The answer to a probe shows that the peer is alive, so the connection must not
                // reach RETRIES. The time of the next probe does not change.
                c.backoff = c.backoff.min(LONGEST_PROBE);
            }
            return;
        }
        let limited = snd.in_flight() >= c.cc.cwnd;
        let acked = snd
            .ends
            .iter()
            .take(snd.count)
            .filter(|end| **end <= ack)
            .count();
        snd.ends.copy_within(acked..snd.count, 0);
        snd.count -= acked;
        let first = snd.first();
        let fin = u32::from(c.fin_sent && ack == snd.max);
        body.acknowledge(((ack - first) - fin.min(ack - first)) as usize);
        if let Some((_, sent)) = snd.timed.take_if(|(end, _)| *end <= ack) {
            let rtt = now.since(sent);
            c.rtt.sample(rtt);
            body.on_sample(rtt);
        }
        snd.una = ack;
        snd.nxt = snd.nxt.max(ack);
        (snd.duplicates, c.backoff) = (0, 0);
        c.probe_at = None;
        c.fin_acked |= fin == 1;
        match snd.recover {
            Some(recover) if ack < recover => {
                // A partial acknowledgment shows that one more segment is missing (RFC 6582). After
                // a timeout, all segments are retransmitted in any case.
                snd.again = snd.nxt >= snd.max;
                if snd.nxt < snd.max {
                    c.cc.on_acknowledged(now, acked.max(1) as u32, true);
                }
            }
            _ => {
                snd.recover = None;
                c.cc.on_acknowledged(now, acked.max(1) as u32, limited);
            }
        }
        let outstanding = snd.max > ack;
        c.rto_at = outstanding.then(|| now + c.rtt.timeout(0));
    }

    fn on_duplicate<B: Bytes>(&mut self, c: &mut Control, body: &mut Body<B>) {
        c.snd.duplicates = c.snd.duplicates.saturating_add(1);
        if c.snd.duplicates == 3 && c.snd.recover.is_none() {
            c.snd.recover = Some(c.snd.max);
            c.snd.again = true;
            c.cc.on_loss();
            body.on_fast();
        }
    }
}
