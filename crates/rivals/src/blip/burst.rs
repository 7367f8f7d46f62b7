//! The transmission of data, in bursts of segments.

use redpoll_tcp::SeqNum;
use redpoll_wire::tcp::Flags;

use super::{Blip, Control};
use crate::Out;

/// Maximum payload of a segment in bytes, whatever the congestion window: 1,280 minus headers.
const LONGEST: usize = 1_220;

/// Segments that are sent one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    pub(super) next: SeqNum,
    pub(super) is_first: bool,
    /// Sequence number after the last byte of the burst.
    pub(super) end: SeqNum,
    /// Acknowledgment number of the segments: its value when the burst began.
    pub(super) ack: SeqNum,
}

impl Blip {
    pub(super) fn send_all(&self, c: &mut Control) {
        c.burst = Some(Burst {
            next: c.head,
            is_first: true,
            end: c.seqno,
            ack: c.ackno,
        });
        c.retx = self.config.rto;
    }

    pub(super) fn next_of_burst(&self, c: &mut Control) -> Option<Out> {
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
}
