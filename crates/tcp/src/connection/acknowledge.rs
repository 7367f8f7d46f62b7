//! The fifth step in the synchronised states: processing of an acknowledgment (RFC 9293 §3.10.7.4,
//! RFC 6298, RFC 2018). The module `recover` draws the conclusions for losses and the congestion
//! window.

use core::ops::ControlFlow::{Break, Continue};

use redpoll_base::{Bytes, Duration};

use super::Connection;
use super::input::Step;
use super::marks::Marks;
use crate::ahead::Span;
use crate::recovery::Mode;
use crate::send::{SendStore, Tick};
use crate::state::Cause;
use crate::timers::Timer;
use crate::{Algorithms, Segment, SeqNum, SeqRange};

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct AckInfo {
    /// Advance of SND.UNA, in bytes.
    pub(super) advance: u32,
    /// DeliveredData of RFC 9937 as far as SACK shows it, in bytes.
    pub(super) delivered: u32,
    /// Without SACK: part of `advance` that earlier duplicate ACKs reported, in bytes.
    pub(super) told: u32,
    /// Mode before the acknowledgment, in which the acknowledged data were sent.
    pub(super) mode: Mode,
    pub(super) is_over: bool,
    /// Whether the acknowledgment is a duplicate ACK by RFC 5681 §2.
    pub(super) is_duplicate: bool,
    /// Whether the acknowledgment is a duplicate ACK without SACK blocks.
    pub(super) is_bare: bool,
    /// Range of data that the acknowledgment reports as received twice.
    pub(super) dsack: Option<SeqRange>,
    /// Whether the acknowledgment reports a mark (RFC 3168 §6.1.2).
    pub(super) is_marked: bool,
    /// TSecr.
    pub(super) echo: Option<u32>,
}

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    #[inline(never)] // size
    pub(super) fn acknowledge(&mut self, seg: &Segment<'_>) -> Step {
        // RFC 9293 §3.10.7.4: "If SND.UNA =< SEG.ACK =< SND.NXT, the send window should be
        // updated." Acknowledgments below SND.UNA are ignored.
        if seg.ack == self.snd.max() && seg.ack == self.snd.una && seg.options.sack().is_none() {
            // Nothing is outstanding, so only the window may be new.
            self.snd.update(seg, self.rcv.nxt);
        } else if self.snd.una <= seg.ack {
            let info = self.read_ack(seg);
            self.snd.update(seg, self.rcv.nxt);
            self.respond(&info);
        }
        if self.marks.has(Marks::CLOSING) && self.snd.una > self.outbox.end() {
            self.transition(Cause::FinAcked);
        }
        if self.is_closed() {
            Break(())
        } else {
            Continue(())
        }
    }

    fn read_ack(&mut self, seg: &Segment<'_>) -> AckInfo {
        let sack = seg.options.sack().filter(|_| self.has_sack());
        let is_duplicate = self.is_duplicate_ack(seg);
        let mut info = AckInfo {
            is_duplicate,
            is_bare: is_duplicate && sack.is_none(),
            dsack: sack.and_then(|sack| sack.duplicate(seg.ack)),
            echo: self.ts.echo(seg),
            is_marked: self.ecn.is_echo(seg.flags),
            mode: self.episode.mode(),
            ..AckInfo::default()
        };
        if self.snd.is_new_ack(seg.ack) {
            self.on_new_ack(seg, &mut info);
        }
        if let Some(sack) = sack {
            let fack = self.rack.fack();
            let tick = self.tick();
            // Processes the latest arrival last; the first block reports it.
            for block in sack.iter().rev() {
                let block = Span::beyond(self.snd.una, block);
                // Ignores blocks of data that were never sent.
                if self.board.holds(block) {
                    let bytes = self
                        .rack
                        .on_delivered(&mut self.board, block, fack, tick, None);
                    info.delivered = info.delivered.wrapping_add(bytes);
                }
            }
        }
        info
    }

    /// Returns whether the segment is a duplicate acknowledgment (RFC 5681 §2, (a) to (e)).
    fn is_duplicate_ack(&self, seg: &Segment<'_>) -> bool {
        self.snd.flight() > 0
            && seg.is_empty()
            && seg.ack == self.snd.una
            && u32::from(seg.window) == self.snd.wnd()
    }

    fn on_new_ack(&mut self, seg: &Segment<'_>, info: &mut AckInfo) {
        // A FIN does not count as a byte.
        let bytes = seg.ack.min(self.outbox.end()).since(self.snd.una);
        self.stats.add(|stats| &mut stats.bytes_acked, bytes);
        info.advance = seg.ack.since(self.snd.una);
        if !self.has_sack() {
            let mss = self.eff_snd_mss();
            info.told = self.episode.explain_dup_acks(info.advance, mss);
        }
        self.measure_rtt(seg.ack, info.echo);
        // Before the scoreboard removes the ranges, counts the bytes that SACK had not reported.
        let (tick, acked) = (self.tick(), Span::new(0, info.advance));
        let (fack, echo) = (self.rack.fack(), info.echo.map(Tick::of_ms));
        info.delivered = self
            .rack
            .on_delivered(&mut self.board, acked, fack, tick, echo);
        info.is_over = self.advance(seg.ack);
        self.note_segment_size(info.advance);
        self.rto.on_progress();
        self.link.on_sent();
        self.timers.cancel(Timer::User);
    }

    /// Advances SND.UNA to `ack`, and adjusts everything that is stored relative to it. (The
    /// round-trip time is measured before, while the oldest segment is known.) Returns whether a
    /// recovery ended.
    // Not inlined: a copy for each of the two callers would cost 100 bytes of flash.
    #[inline(never)]
    pub(super) fn advance(&mut self, ack: SeqNum) -> bool {
        let bytes = ack.since(self.snd.una);
        self.snd.on_ack(ack);
        self.board.on_ack(bytes);
        self.rack.on_advance(bytes);
        self.nagle.on_ack(bytes);
        self.pins.on_advance(bytes);
        self.ecn.on_advance(bytes);
        let is_over = self.episode.on_advance(bytes);
        self.free_acked();
        is_over
    }

    pub(super) fn free_acked(&mut self) {
        let freed = self.outbox.free_before(self.pins.oldest(self.snd.una));
        if freed && self.marks.has(Marks::STARVED) {
            self.marks.clear(Marks::STARVED);
            self.events.writable();
        }
    }

    /// Measures the round-trip time if this ACK permits it (RFC 6298 §3, RFC 7323 §4).
    pub(super) fn measure_rtt(&mut self, ack: SeqNum, echo: Option<u32>) {
        let advance = ack.since(self.snd.una);
        if let Some(rtt) = self.rtt.on_ack(advance, self.timers.now(), echo) {
            self.rto.on_measurement();
            self.rack.on_rtt(rtt);
            self.tlp.on_rtt();
            self.stats.count(|stats| &mut stats.rtt_samples);
            self.stats
                .note(|stats| stats.last_rtt = Duration::from_millis_u32(rtt.into()));
        }
    }
}
