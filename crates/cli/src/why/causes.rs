//! The causes that slow a connection, in words.

use super::flow::Flow;
use super::half::{Half, Limit};
use super::tally::Tally;

/// Smallest share of the time with data in flight for which a cause is reported. The value was
/// chosen before the first capture was analysed. A cause with a smaller share does not make a
/// connection slow.
pub const NAMED_FROM: f64 = 0.05;
/// Smallest number of occurrences for which a cause is reported; fewer may be chance.
pub const TIMES_MIN: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    PollPerFragment,
    RtoFloor,
    DelayedAck,
    LostFragments,
    HiddenTerminals,
    WindowOfOne,
}

#[derive(Clone, Debug)]
pub struct Finding {
    pub cause: Cause,
    /// Index of the affected direction, if only one direction is affected: 0 is from the first end
    /// to the second.
    pub side: Option<usize>,
    pub tally: Tally,
    /// Time that the cause took, as a share of the time with data in flight.
    pub share: f64,
    pub seen: String,
    pub remedy: &'static str,
}

impl Finding {
    fn is_named(&self) -> bool {
        self.tally.count >= TIMES_MIN && self.share >= NAMED_FROM
    }
}

impl Cause {
    pub const fn name(self) -> &'static str {
        match self {
            Cause::PollPerFragment => "poll-per-fragment",
            Cause::RtoFloor => "rto-floor",
            Cause::DelayedAck => "delayed-ack",
            Cause::LostFragments => "lost-fragments",
            Cause::HiddenTerminals => "hidden-terminals",
            Cause::WindowOfOne => "window-of-one",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Cause::PollPerFragment => "a poll per fragment",
            Cause::RtoFloor => "a retransmission timeout raised to its lower bound",
            Cause::DelayedAck => "delayed acknowledgements of single segments",
            Cause::LostFragments => "lost fragments",
            Cause::HiddenTerminals => "hidden terminals",
            Cause::WindowOfOne => "a window of one segment",
        }
    }

    const fn remedy(self) -> &'static str {
        match self {
            Cause::PollPerFragment => {
                "let the parent send all frames of a datagram after one data request, with the \
                 frame-pending bit in all frames except the last (indirect.burst), or let the \
                 leaf send the next data request immediately while that bit is set"
            }
            Cause::RtoFloor => {
                "let the timeout follow the round-trip time: use a smaller lower bound \
                 (tcp.min_rto; Linux: `ip route change ... rto_min 200ms`), and tail loss probes \
                 (RACK-TLP, RFC 8985)"
            }
            Cause::DelayedAck => {
                "let the receiver acknowledge a single segment immediately (Linux: TCP_QUICKACK, `ip \
                 route change ... quickack 1`), or let the sender have two segments in flight"
            }
            Cause::LostFragments => {
                "lose fewer frames, or lose less with each frame: more link retries \
                 (mac.max_frame_retries), a random delay before each retry \
                 (mac.link_retry_delay), recovery of single fragments (lowpan.fragment_recovery, \
                 RFC 8931), shorter segments (tcp.mss)"
            }
            Cause::HiddenTerminals => {
                "use a random delay of up to 40 ms before each link retry (mac.link_retry_delay), \
                 so that the retries of two nodes that do not hear each other do not collide \
                 again"
            }
            Cause::WindowOfOne => {
                "use a TCP with several segments in flight, each of at most five frames: three to \
                 four segments are enough for a mesh (tcp.mss, and buffers of that many segments: \
                 tcp.send_buffer and tcp.receive_buffer)"
            }
        }
    }
}

/// Returns the causes that are reported for a flow, the most costly one first.
pub fn of(flow: &Flow) -> Vec<Finding> {
    let mut found = all(flow);
    found.retain(Finding::is_named);
    found
}

/// Returns the most costly cause among those that are not reported for a flow, because they cost
/// too little or occurred too few times.
pub fn below(flow: &Flow) -> Option<Finding> {
    let mut rest = all(flow).into_iter().filter(|it| !it.is_named());
    rest.next()
}

/// Returns all causes that occurred in a flow, the most costly one first.
fn all(flow: &Flow) -> Vec<Finding> {
    let busy_us = flow.busy_us();
    let mut found = Vec::new();
    let mut name = |cause: Cause, side: Option<usize>, tally: &Tally, seen: String| {
        if tally.count > 0 {
            found.push(Finding {
                cause,
                side,
                tally: tally.clone(),
                share: tally.cost_us as f64 / busy_us.max(1) as f64,
                seen,
                remedy: cause.remedy(),
            });
        }
    };
    name(
        Cause::PollPerFragment,
        None,
        &flow.polled,
        polled(&flow.polled),
    );
    for (side, half) in flow.halves.iter().enumerate() {
        let side = Some(side);
        name(Cause::RtoFloor, side, &half.late_timeouts, rto(half));
        name(Cause::LostFragments, side, &half.lost_frames, lost(half));
        name(
            Cause::HiddenTerminals,
            side,
            &half.hidden,
            hidden(flow, half),
        );
        if let Some(limit) = half.limit() {
            name(Cause::DelayedAck, side, &half.late_acks, late(half));
            name(
                Cause::WindowOfOne,
                side,
                &half.one_at_a_time,
                one(half, limit),
            );
        }
    }
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

fn ms(us: u64) -> String {
    match us {
        0..10_000 => format!("{:.1} ms", us as f64 / 1e3),
        10_000..1_000_000 => format!("{:.0} ms", us as f64 / 1e3),
        _ => format!("{:.2} s", us as f64 / 1e6),
    }
}

fn range(tally: &Tally) -> String {
    let (least, most) = tally.details_us.unwrap_or_default();
    if least == most {
        ms(least)
    } else {
        format!("{} to {}", ms(least), ms(most))
    }
}

fn polled(tally: &Tally) -> String {
    format!(
        "{} fragments each waited {} for the sleepy node's next data request",
        tally.count,
        range(tally)
    )
}

fn hidden(flow: &Flow, half: &Half) -> String {
    format!(
        "{} of {} segments were lost because of a frame for which at least half of the attempts \
         collided with a hidden terminal (a neighbour of the receiver that does not hear the \
         sender, or that the sender does not hear); in total, {} of {} attempts collided with a \
         hidden terminal",
        half.hidden.count, half.segments, flow.collided, flow.attempts
    )
}

fn rto(half: &Half) -> String {
    let rto = half.round_trips.rto_us().map_or_else(String::new, |rto| {
        format!(
            "; the timeout by RFC 6298 without a lower bound would be {} at the end of the \
             connection",
            ms(rto)
        )
    });
    let rtt = half.round_trips.median_us().unwrap_or_default();
    format!(
        "{} segments were retransmitted {} after they were lost; the round-trip time is {} \
         (median){rto}",
        half.late_timeouts.count,
        range(&half.late_timeouts),
        ms(rtt)
    )
}

fn lost(half: &Half) -> String {
    format!(
        "{} of {} segments were lost because all link retries of one of their frames failed, and \
         were retransmitted as a whole",
        half.lost_frames.count, half.segments
    )
}

fn late(half: &Half) -> String {
    format!(
        "in {} cases the receiver acknowledged the only segment in flight {} after its arrival, \
         while the sender waited to send more data",
        half.late_acks.count,
        range(&half.late_acks)
    )
}

fn one(half: &Half, limit: Limit) -> String {
    let why = match limit {
        Limit::Window => "the receiver's window has no room for a second segment",
        Limit::Sender => "the receiver's window has room for more, but the sender does not use it",
    };
    format!(
        "at most one segment was in flight over {} hops: {why}; {} times the sender waited for an \
         acknowledgement, each time {}",
        half.hops(),
        half.waited,
        range(&half.one_at_a_time)
    )
}
