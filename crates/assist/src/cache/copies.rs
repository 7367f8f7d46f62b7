//! Storage, retransmission and acknowledgment of the copies of forwarded segments.

use redpoll_base::{Duration, Instant, Memory as Kinds};
use redpoll_wire::tcp::SeqNum;

use super::counters::count;
use super::held::{Copied, Stage};
use super::packet::{self, Segment};
use super::{Cache, Choice};

impl<M: Kinds> Cache<M> {
    /// Releases the copies of acknowledged data: those that one end of the connection sent, with
    /// sequence numbers before `ack`. `upper`: whether this end has the greater address and port.
    pub(super) fn on_acked(&mut self, place: usize, upper: bool, ack: SeqNum) {
        let is_over = |it: &Copied| it.is_of(place, upper) && !it.stage.waits() && ack > it.seq;
        let over = self
            .held
            .iter()
            .filter(|(_, copied)| is_over(copied))
            .count();
        let acknowledged = &mut self.counters.acknowledged;
        *acknowledged = acknowledged.wrapping_add(over as u32);
        self.held.release(is_over);
    }

    /// Copies a forwarded segment, if there is room or an older copy can be replaced.
    pub(super) fn keep(&mut self, now: Instant, place: usize, segment: &Segment, packet: &[u8]) {
        let upper = segment.from_upper;
        let copies = self.held.iter().filter(|(_, it)| it.is_of(place, upper));
        if copies.count() >= usize::from(self.params.segments) {
            match self.replaceable(place, upper) {
                Some(older) => self.held.free(older),
                None => return count(&mut self.counters.without_room),
            }
        } else {
            // If a segment is repeated, only the later copy is stored.
            let is_same =
                |it: &Copied| it.is_of(place, upper) && it.seq == segment.seq && !it.stage.waits();
            self.held.release(is_same);
        }
        let copied = Copied::of(place, upper, segment.seq, segment.end());
        match self.held.keep(self.timed(now, copied), packet) {
            true => count(&mut self.counters.cached),
            false => count(&mut self.counters.without_room),
        }
    }

    fn replaceable(&self, flow: usize, upper: bool) -> Option<usize> {
        let Choice::Newest { .. } = self.params.choice else {
            return None;
        };
        let is_free = |it: &Copied| it.is_of(flow, upper) && !(self.params.locks && it.is_locked);
        self.held.iter().find(|(_, it)| is_free(it)).map(|it| it.0)
    }

    pub(super) fn timed(&self, now: Instant, copied: Copied) -> Copied {
        let flow = self.flows.as_ref().get(copied.flow).and_then(|slot| slot.0);
        let rtt = flow.map_or(self.params.initial_rtt, |flow| {
            flow.rtt(copied.upper, &self.params)
        });
        let whole = self.params.timeout(rtt);
        let wait = match self.params.by_activity {
            true => whole.times(2).divided_by(3),
            false => whole,
        };
        Copied {
            stage: Stage::Passed,
            due: now + wait,
            deadline: now + whole,
            ..copied
        }
    }

    /// Writes an acknowledgment for the sender of a dropped segment, or for a sender that seems to
    /// have missed an acknowledgment.
    pub(super) fn acknowledge(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        for slot in self.flows.as_mut() {
            let Some(flow) = &mut slot.0 else { continue };
            for upper in [false, true] {
                let side = flow.side_mut(upper);
                let is_owed = core::mem::take(&mut side.answer);
                if !is_owed && side.again.is_none_or(|at| at > now) {
                    continue;
                }
                side.again = None;
                let made = flow.acknowledgment(upper);
                if let Some(len) = made.and_then(|made| made.write(out)) {
                    count(match is_owed {
                        true => &mut self.counters.regenerated,
                        false => &mut self.counters.again,
                    });
                    return Some(len);
                }
            }
        }
        None
    }

    pub(super) fn repeat(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        loop {
            let due = self.held.iter().filter(|(_, copied)| copied.due <= now);
            let (place, copied) = due.min_by_key(|(_, copied)| copied.due)?;
            let copied = *copied;
            if copied.stage != Stage::Passed {
                self.held.free(place);
                if copied.stage.waits() {
                    count(&mut self.counters.refused);
                }
                if let Some(len) = self.pass_next(now, out) {
                    return Some(len);
                }
                continue;
            }
            let flow = self.flows.as_ref().get(copied.flow).and_then(|slot| slot.0);
            let rtt = flow.map(|flow| flow.rtt(copied.upper, &self.params));
            let is_early = now < copied.deadline && self.params.by_activity;
            let quiet = rtt.is_some_and(|rtt| self.activity.level(now, rtt) == 0);
            if is_early && !quiet {
                if let Some(copied) = self.held.get_mut(place) {
                    copied.due = copied.deadline;
                }
                continue;
            }
            let len = self.held.write(place, out);
            match self.held.get_mut(place) {
                Some(copied) if self.params.remembers() => {
                    let wait = rtt.map_or(Duration::ZERO, |rtt| self.params.timeout(rtt));
                    copied.stage = Stage::Repeated;
                    copied.due = now + wait;
                }
                _ => self.held.free(place),
            }
            let len = len?;
            if let Some(flow) = self.flow_mut(copied.flow) {
                flow.side_mut(copied.upper).on_repeated();
            }
            count(&mut self.counters.repeated);
            if is_early {
                count(&mut self.counters.repeated_early);
            }
            packet::clear_ecn(out);
            return Some(len);
        }
    }
}
