//! Back-pressure (TSS): a packet of a direction is forwarded after the next hop has received the
//! previous packet.

use redpoll_base::{Instant, Memory as Kinds};

use super::flow::DataKind;
use super::held::{Copied, Stage};
use super::packet::Segment;
use super::{Cache, Disposition, count};

/// Least number of bytes at the end of a received frame that must equal the end of a copied
/// segment. A last fragment with fewer bytes of the segment is not recognised.
const TAIL: usize = 8;
const HEADER: usize = redpoll_wire::ipv6::Ipv6Header::LEN;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    Now,
    /// An earlier packet is in transit to the next hop.
    Later,
    /// The cache has the same segment, or no room for the packet.
    Never,
}

impl<M: Kinds> Cache<M> {
    pub(super) fn has_waiting(&self, flow: usize) -> bool {
        let mut all = self.held.iter();
        all.any(|(_, it)| it.flow == flow && it.stage.waits())
    }

    /// Decides when an arriving packet may be forwarded.
    pub(super) fn turn(
        &mut self,
        now: Instant,
        flow: usize,
        segment: &Segment,
        packet_len: usize,
    ) -> Turn {
        if !self.params.holds_back {
            return Turn::Now;
        }
        let kept = self.held.iter();
        let kept = kept.filter(|(_, it)| it.is_of(flow, segment.from_upper));
        let (mut copies, mut waits, mut same) = (0, false, None);
        for (place, it) in kept {
            copies = usize::saturating_add(copies, 1);
            waits |= it.stage.waits();
            if segment.len > 0 && (it.seq, it.end) == (segment.seq, segment.end()) {
                same = Some((place, it.stage));
            }
        }
        match same {
            // The packet is a retransmission and is dropped: the same segment still waits here, or
            // the cache sends its copy of it now.
            Some((_, Stage::Waiting { .. })) => return Turn::Never,
            Some((place, Stage::Passed)) => {
                if let Some(copied) = self.held.get_mut(place) {
                    (copied.due, copied.deadline) = (now, now);
                }
                return Turn::Never;
            }
            Some((_, Stage::Repeated)) | None => {}
        }
        let is_free = !waits && (segment.len == 0 || copies == 0);
        let has_room = copies < usize::from(self.params.segments) && self.held.has_room(packet_len);
        match (is_free, has_room) {
            (true, _) => Turn::Now,
            (false, true) => Turn::Later,
            (false, false) => Turn::Never,
        }
    }

    pub(super) fn wait(
        &mut self,
        now: Instant,
        flow: usize,
        segment: &Segment,
        kind: DataKind,
        packet: &[u8],
    ) -> Disposition {
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        let stays = kind == DataKind::New;
        let copied = Copied {
            stage: Stage::Waiting { stays },
            number,
            due: now + self.params.max_wait,
            ..Copied::of(flow, segment.from_upper, segment.seq, segment.end())
        };
        match self.held.keep(copied, packet) {
            true => {
                count(&mut self.counters.waited);
                Disposition::Keep
            }
            false => Disposition::Forward,
        }
    }

    pub(super) fn next_turn(&self) -> Option<usize> {
        if !self.params.holds_back {
            return None;
        }
        let waiting = self.held.iter().filter(|(_, it)| it.stage.waits());
        let free = waiting.filter(|(_, it)| {
            let mut others = self.held.iter();
            !others.any(|(_, other)| other.is_of(it.flow, it.upper) && !other.stage.waits())
        });
        // The packets' numbers wrap around, so the distance to `next_number` gives their order.
        let age = |it: &Copied| self.next_number.wrapping_sub(it.number);
        free.max_by_key(|(_, it)| age(it)).map(|(place, _)| place)
    }

    pub(super) fn pass_next(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        let place = self.next_turn()?;
        let len = self.held.write(place, out);
        let copied = *self.held.get_mut(place)?;
        match copied.stage {
            Stage::Waiting { stays: true } => {
                let timed = self.timed(now, copied);
                *self.held.get_mut(place)? = timed;
                if let Some(flow) = self.flow_mut(copied.flow) {
                    flow.side_mut(copied.upper).on_passed(now, copied.end);
                }
                count(&mut self.counters.cached);
            }
            _ => self.held.free(place),
        }
        len
    }

    /// Handles a frame for another node: a next hop that forwards a copied segment has received
    /// that segment.
    pub(super) fn on_passing(&mut self, passing: &[u8]) {
        let ends_it = |place: usize| {
            let packet = self.held.packet(place).unwrap_or_default();
            let upper_layer = packet.get(HEADER..).unwrap_or_default();
            let both = upper_layer.iter().rev().zip(passing.iter().rev());
            let same = both.take_while(|(a, b)| a == b).count();
            same >= TAIL && (same >= upper_layer.len() || is_last_fragment(passing))
        };
        let copies = self.held.iter();
        let found = copies
            .filter(|(_, it)| !it.stage.waits())
            .map(|(place, _)| place)
            .find(|place| ends_it(*place));
        let Some(place) = found else {
            return;
        };
        count(&mut self.counters.reached);
        match self.held.get_mut(place) {
            Some(copied) if !self.params.holds_back => copied.is_locked = false,
            _ => self.held.free(place),
        }
    }
}

/// Returns whether a frame is a subsequent fragment (RFC 4944 §5.3). It is the last fragment if its
/// end also matches the end of the segment.
fn is_last_fragment(passing: &[u8]) -> bool {
    matches!(passing, [dispatch, ..] if dispatch >> 3 == 0b11100)
}
