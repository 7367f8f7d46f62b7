//! Times of the exchange of a full frame.

use redpoll_base::Instant;
use redpoll_sim::World;
use redpoll_sim::trace::TracedFrame;
use redpoll_wire::ieee802154::FrameType;
use redpoll_wire::sixlowpan::Contexts;
use serde::{Deserialize, Serialize};

use super::frame::mac;
use super::{Sight, ms, watch};
use redpoll_experiments::{Gap, Look, Probe, Reading};

/// Bytes of the longest frame without its check sequence.
const FULL: usize = 125;

/// Measures full frames from one node. Counts only frames that are acknowledged and followed by the
/// next frame without a retransmission.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    pub from: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Course {
    pub frames: u32,
    air_ms: f64,
    ack_ms: f64,
    whole_ms: f64,
}

impl Course {
    fn mean(&self, sum: f64) -> Reading {
        match self.frames {
            0 => Err(Gap::Nothing),
            frames => Ok(sum / f64::from(frames)),
        }
    }

    pub fn air(&self) -> Reading {
        self.mean(self.air_ms)
    }

    /// Returns the mean time from a frame's end to its acknowledgment's end, in milliseconds.
    pub fn ack(&self) -> Reading {
        self.mean(self.ack_ms)
    }

    /// Returns the mean time between the starts of two consecutive frames, in milliseconds.
    pub fn whole(&self) -> Reading {
        self.mean(self.whole_ms)
    }
}

struct Sums {
    from: usize,
    last: Option<Sent>,
    frames: u32,
    air_ms: f64,
    ack_ms: f64,
    whole_ms: f64,
}

struct Sent {
    dsn: u8,
    start: Instant,
    end: Instant,
    is_full: bool,
    acked: Option<Instant>,
}

impl Probe for Exchange {
    type Found = Course;

    fn begin(&self, world: &mut World) -> Box<dyn Look<Course>> {
        let sums = Sums {
            from: self.from,
            last: None,
            frames: 0,
            air_ms: 0.0,
            ack_ms: 0.0,
            whole_ms: 0.0,
        };
        watch(world, sums)
    }
}

impl Sight for Sums {
    type Found = Course;

    fn frame(&mut self, frame: &TracedFrame<'_>, _: &Contexts) {
        let Some((header, _)) = mac(frame.mpdu) else {
            return;
        };
        if header.frame_type == FrameType::Ack {
            if let Some(last) = self.last.as_mut().filter(|last| last.dsn == header.dsn) {
                last.acked = Some(frame.end);
            }
            return;
        }
        if frame.from != self.from {
            return;
        }
        let sent = Sent {
            dsn: header.dsn,
            start: frame.start,
            end: frame.end,
            is_full: frame.mpdu.len() == FULL,
            acked: None,
        };
        if let Some(last) = self.last.replace(sent)
            && let Some(acked) = last.acked
            && last.is_full
            && frame.mpdu.len() == FULL
            && header.dsn == last.dsn.wrapping_add(1)
        {
            self.frames += 1;
            self.air_ms += ms(last.start, last.end);
            self.ack_ms += ms(last.end, acked);
            self.whole_ms += ms(last.start, frame.start);
        }
    }

    fn found(&self) -> Course {
        Course {
            frames: self.frames,
            air_ms: self.air_ms,
            ack_ms: self.ack_ms,
            whole_ms: self.whole_ms,
        }
    }
}
