//! One direction of a connection, from the view of its sender and of its receiver.

use std::collections::VecDeque;

use redpoll_wire::ieee802154::Address;
use redpoll_wire::tcp::SeqNum;

use super::air::Place;
use super::datagrams::{Datagram, Fate};
use super::paths::Paths;
use super::rtt::RoundTrips;
use super::segment::Segment;
use super::tally::{Event, Tally};

const FLIGHT_MAX: usize = 1_024;
/// Number of duplicate acknowledgements that cause a retransmission at once (RFC 5681 §3.2).
const DUPLICATES: u32 = 3;
/// A retransmission by timeout counts as late if it comes after more than this multiple of the
/// timeout by RFC 6298. The sender's own timeout may be longer, because the sender can also measure
/// round trips of retransmitted segments.
const LATE: u64 = 2;
/// Maximum number of doublings of a timeout.
const TIMEOUTS_MAX: u32 = 6;
/// Longest time from an acknowledgement to the next segment of a sender that waited for it, in µs.
const WAITED_US: u64 = 100_000;
/// Shortest delay in microseconds for which an acknowledgement counts as delayed.
const PROMPT_US: u64 = 30_000;
/// Number of hops after which the channel can be used again, because frames three hops away do not
/// disturb a router: a second segment can then follow.
const REUSE_HOPS: u64 = 3;

/// A segment with data, SYN or FIN that has not been acknowledged.
#[derive(Clone, Debug)]
struct Sent {
    seq: SeqNum,
    span: u32,
    is_syn: bool,
    first: Place,
    /// The first frame of the segment's last transmission.
    last: Place,
    last_end_us: u64,
    times: u32,
    /// Loss of the segment's latest transmission, if it was lost.
    lost: Option<Lost>,
    /// The first frame of the datagram, if the datagram arrived; `end_us` is the time of arrival.
    arrived: Option<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Lost {
    last: Place,
    /// Microseconds from the start of the first attempt to the end of the last attempt.
    air_us: u64,
    /// The last frame of a hidden node with which an attempt collided, if at least half of the
    /// attempts collided with such frames.
    hidden: Option<Place>,
}

/// Reason for which a sender waits for each acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The other end's window has no room for two segments.
    Window,
    /// The sender sends no second segment although there is room for it.
    Sender,
}

#[derive(Clone, Debug, Default)]
pub struct Half {
    /// The first node of the mesh on the segments' path: the sender, or a border router.
    pub near: Option<Address>,
    highest: (u8, Option<u8>),
    paths: Paths,
    pub mss: Option<u16>,
    pub shift: Option<u8>,
    /// The window of the other end, in bytes.
    window: u32,
    pub largest_window: u32,
    initial: Option<SeqNum>,
    una: SeqNum,
    nxt: Option<SeqNum>,
    sent: VecDeque<Sent>,
    duplicates: u32,
    has_sack: bool,
    /// Time in microseconds at which a retransmission or an acknowledgement last restarted the
    /// retransmission timer; starts by new segments are not counted.
    timer_us: u64,
    /// Timeouts since a round trip was measured. Each doubles the RTO (RFC 6298 §5.5, §5.7).
    timeouts: u32,
    pub round_trips: RoundTrips,
    busy_since: Option<u64>,
    busy_until: u64,
    acked_at: Option<u64>,
    /// The last acknowledged segment, if it was the only segment in flight.
    alone: Option<Alone>,
    pub longest: u32,
    /// Largest number of attempts for a frame that did not arrive.
    pub attempts_of_lost: u32,
    pub bytes: u64,
    /// Segments with data, including retransmissions.
    pub segments: u64,
    /// Segments with SYN or FIN and without data, including retransmissions.
    pub controls: u64,
    /// Retransmissions of segments with data, SYN or FIN; `needless`: those of segments that had
    /// arrived.
    pub again: u64,
    pub needless: u64,
    pub busy_us: u64,
    pub most: usize,
    /// Number of segments for which the sender waited until all earlier data were acknowledged.
    pub waited: u64,
    waited_for_window: u64,
    pub late_timeouts: Tally,
    pub late_acks: Tally,
    pub lost_frames: Tally,
    pub hidden: Tally,
    pub one_at_a_time: Tally,
}

/// A segment that was the only one in flight when the receiver sent its acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Alone {
    first: Place,
    air_us: u64,
    wait_us: u64,
    /// Microseconds for which the receiver delayed the acknowledgement.
    delay_us: u64,
    ack: Place,
}

impl Half {
    /// Determines the first node of this direction, which sends with the highest hop limits, and
    /// the number of hops of the segments.
    pub fn locate(&mut self, datagram: &Datagram) {
        let limits = datagram.segment.hop_limits;
        // A packet that is not in a tunnel yet comes before the same packet in a tunnel.
        let rank = |(inner, outer): (u8, Option<u8>)| (inner, outer.unwrap_or(u8::MAX));
        if self.near.is_none() || rank(limits) > rank(self.highest) {
            self.near = Some(datagram.src);
            self.highest = limits;
        }
        if datagram.fate == Fate::Begun {
            let is_first = self.near == Some(datagram.src);
            self.paths.follow(datagram, is_first);
        }
    }

    pub fn hops(&self) -> u8 {
        self.paths.most.saturating_add(1)
    }

    /// Returns whether a SYN with this sequence number is or may be this direction's first segment.
    pub fn began_with(&self, seq: SeqNum) -> bool {
        self.initial.is_none_or(|initial| initial == seq)
    }

    /// Handles the first frame of a segment from its sender's node.
    pub fn left(&mut self, datagram: &Datagram) {
        let segment = &datagram.segment;
        self.mss = segment.mss.or(self.mss);
        if segment.is_syn {
            self.shift = segment.shift;
        }
        if segment.span() == 0 {
            return;
        }
        self.segments += u64::from(segment.len > 0);
        self.controls += u64::from(segment.len == 0);
        self.longest = self.longest.max(segment.len);
        let end = segment.seq + segment.span();
        let nxt = *self.nxt.get_or_insert(segment.seq);
        if segment.is_syn {
            self.initial = Some(segment.seq);
            self.una = segment.seq;
        }
        if segment.seq < nxt {
            self.repeated(datagram);
        } else {
            self.nxt = Some(end);
            self.bytes += u64::from(segment.len);
            self.begun(datagram);
        }
    }

    fn begun(&mut self, datagram: &Datagram) {
        let segment = &datagram.segment;
        let start_us = datagram.first.start_us;
        if self.sent.is_empty() {
            self.busy_since = Some(start_us.max(self.busy_until));
            self.una = segment.seq;
            match self.acked_at {
                // The segment was already in transit when the previous one was acknowledged.
                Some(acked_at) if start_us < acked_at => self.most = self.most.max(2),
                Some(acked_at) if start_us - acked_at <= WAITED_US => self.waits(segment),
                _ => {}
            }
        }
        self.alone = None;
        if self.sent.len() == FLIGHT_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent {
            seq: segment.seq,
            span: segment.span(),
            is_syn: segment.is_syn,
            first: datagram.first,
            last: datagram.first,
            last_end_us: datagram.end_us,
            times: 1,
            lost: None,
            arrived: None,
        });
        self.most = self.most.max(self.sent.len());
    }

    /// Determines why the sender waited before it sent `segment` with no other data in flight.
    fn waits(&mut self, segment: &Segment) {
        let Some(alone) = self.alone.filter(|_| segment.len > 0) else {
            return;
        };
        self.waited += 1;
        let fits_one = self.window < 2 * segment.len;
        self.waited_for_window += u64::from(fits_one);
        let frames = [alone.first, alone.ack];
        if alone.delay_us > PROMPT_US {
            self.late_acks.add(Event {
                frames,
                cost_us: alone.delay_us,
                detail_us: alone.delay_us,
            });
        }
        // While a segment is on the first hops, a second segment could not be sent with any window,
        // so this time is not a cost.
        let shared = u64::from(self.hops()).min(REUSE_HOPS) - 1;
        let way_us = alone.air_us.saturating_mul(shared);
        let idle_us = alone.wait_us.saturating_sub(alone.delay_us);
        self.one_at_a_time.add(Event {
            frames,
            cost_us: idle_us.saturating_sub(way_us),
            detail_us: alone.wait_us,
        });
    }

    fn repeated(&mut self, datagram: &Datagram) {
        self.again += 1;
        let segment = &datagram.segment;
        let start_us = datagram.first.start_us;
        let by_duplicates = self.duplicates >= DUPLICATES || self.has_sack;
        let rto_us = self.round_trips.rto_us();
        let Some(sent) = self.sent.iter_mut().find(|it| it.seq == segment.seq) else {
            self.needless += 1;
            return;
        };
        let gap_us = start_us.saturating_sub(sent.last.start_us.max(self.timer_us));
        let doubled = 1 << self.timeouts.min(TIMEOUTS_MAX);
        let needed_us = rto_us.map_or(gap_us, |rto_us| gap_us.min(rto_us * doubled));
        let frames = [sent.last, datagram.first];
        if !by_duplicates && rto_us.is_none_or(|rto_us| gap_us >= rto_us) {
            self.timeouts += 1;
        }
        self.timer_us = start_us;
        if !by_duplicates && gap_us > LATE * needed_us {
            self.late_timeouts.add(Event {
                frames,
                cost_us: gap_us - needed_us,
                detail_us: gap_us,
            });
        }
        self.needless += u64::from(sent.arrived.is_some());
        if let Some(lost) = sent.lost.take() {
            let (tally, because) = match lost.hidden {
                Some(other) => (&mut self.hidden, other),
                None => (&mut self.lost_frames, datagram.first),
            };
            let waited_us = if by_duplicates { 0 } else { needed_us };
            tally.add(Event {
                frames: [lost.last, because],
                cost_us: waited_us.max(lost.air_us),
                detail_us: lost.air_us,
            });
        }
        sent.times += 1;
        sent.last = datagram.first;
        sent.last_end_us = datagram.end_us;
        self.duplicates = 0;
        self.has_sack = false;
    }

    pub fn lost(&mut self, datagram: &Datagram) {
        let Fate::Lost {
            last,
            attempts,
            hidden,
            is_sure,
        } = datagram.fate
        else {
            return;
        };
        self.attempts_of_lost = self.attempts_of_lost.max(attempts);
        let seq = datagram.segment.seq;
        if let Some(sent) = self.sent.iter_mut().find(|it| it.seq == seq)
            && datagram.segment.len > 0
            && (is_sure || sent.lost.is_none())
        {
            sent.lost = Some(Lost {
                last,
                air_us: last.end_us.saturating_sub(datagram.first.start_us),
                hidden,
            });
        }
    }

    /// Handles the end of a segment's datagram on its first link.
    pub fn passed(&mut self, datagram: &Datagram) {
        let (seq, start_us) = (datagram.segment.seq, datagram.first.start_us);
        let is_it = |it: &&mut Sent| (it.seq, it.last.start_us) == (seq, start_us);
        if let Some(sent) = self.sent.iter_mut().find(is_it) {
            sent.last_end_us = datagram.end_us;
        }
    }

    pub fn arrived(&mut self, datagram: &Datagram) {
        let seq = datagram.segment.seq;
        if let Some(sent) = self.sent.iter_mut().find(|it| it.seq == seq) {
            sent.arrived.get_or_insert(Place {
                end_us: datagram.end_us,
                ..datagram.first
            });
        }
    }

    /// Handles the first frame of an acknowledgement of this direction's data, sent by the
    /// receiver.
    pub fn ack_left(&mut self, datagram: &Datagram) {
        let Some(ack) = datagram.segment.ack else {
            return;
        };
        // An acknowledgement with data may have waited for the application, so it is not counted.
        let delay_us = match (self.sent.front(), datagram.segment.len) {
            (
                Some(Sent {
                    arrived: Some(arrived),
                    ..
                }),
                0,
            ) => datagram.first.start_us.saturating_sub(arrived.end_us),
            _ => 0,
        };
        if self.sent.len() == 1
            && let Some(sent) = self.sent.front()
            && ack >= sent.seq + sent.span
            && !sent.is_syn
        {
            self.alone = Some(Alone {
                first: sent.first,
                air_us: sent.last_end_us.saturating_sub(sent.last.start_us),
                wait_us: 0,
                delay_us,
                ack: datagram.first,
            });
        }
    }

    pub fn acknowledged(&mut self, datagram: &Datagram, shift: u8) {
        let segment = &datagram.segment;
        let Some(ack) = segment.ack else {
            return;
        };
        let shift = if segment.is_syn { 0 } else { shift };
        self.window = u32::from(segment.window) << shift;
        self.largest_window = self.largest_window.max(self.window);
        self.acked_at = Some(datagram.end_us);
        self.has_sack |= segment.has_sack;
        if ack == self.una && segment.span() == 0 && !self.sent.is_empty() {
            self.duplicates += 1;
        }
        if self.una >= ack {
            return;
        }
        self.una = ack;
        self.duplicates = 0;
        self.has_sack = segment.has_sack;
        self.timer_us = datagram.end_us;
        while let Some(sent) = self.sent.front() {
            if ack < sent.seq + sent.span {
                break;
            }
            if sent.times == 1 {
                let rtt_us = datagram.end_us.saturating_sub(sent.first.start_us);
                self.round_trips.sample(rtt_us);
                self.timeouts = 0;
            }
            let end_us = sent.last_end_us;
            self.sent.pop_front();
            match (&mut self.alone, self.sent.is_empty()) {
                (Some(alone), true) => {
                    alone.wait_us = datagram.end_us.saturating_sub(end_us);
                }
                _ => self.alone = None,
            }
        }
        if self.sent.is_empty()
            && let Some(since) = self.busy_since.take()
        {
            self.busy_us += datagram.end_us.saturating_sub(since);
            self.busy_until = datagram.end_us;
        }
    }

    pub fn finish(&mut self, end_us: u64) {
        if let Some(since) = self.busy_since.take() {
            self.busy_us += end_us.saturating_sub(since);
        }
    }

    /// Adds the values of another connection between the same ends.
    pub fn join(&mut self, other: Half) {
        self.paths.most = self.paths.most.max(other.paths.most);
        self.mss = other.mss.or(self.mss);
        self.largest_window = self.largest_window.max(other.largest_window);
        self.round_trips.join(other.round_trips);
        self.longest = self.longest.max(other.longest);
        self.attempts_of_lost = self.attempts_of_lost.max(other.attempts_of_lost);
        self.bytes += other.bytes;
        self.segments += other.segments;
        self.again += other.again;
        self.needless += other.needless;
        self.controls += other.controls;
        self.busy_us += other.busy_us;
        self.most = self.most.max(other.most);
        self.waited += other.waited;
        self.waited_for_window += other.waited_for_window;
        self.late_timeouts.join(other.late_timeouts);
        self.late_acks.join(other.late_acks);
        self.lost_frames.join(other.lost_frames);
        self.hidden.join(other.hidden);
        self.one_at_a_time.join(other.one_at_a_time);
    }

    /// Returns the reason for which the sender has at most one segment in flight; `None` if it has
    /// more, or if the sender waited too few times.
    pub fn limit(&self) -> Option<Limit> {
        const ENOUGH: u64 = 8;
        let is_one = self.most == 1 && self.waited >= ENOUGH;
        is_one.then(|| {
            if 2 * self.waited_for_window > self.waited {
                Limit::Window
            } else {
                Limit::Sender
            }
        })
    }
}
