//! What sending a full frame takes.

use redpoll_base::Instant;
use redpoll_sim::trace::TracedFrame;
use redpoll_wire::ieee802154::FrameType;
use redpoll_wire::sixlowpan::Contexts;

use super::frame::mac;
use super::{Found, Look, ms};

/// The longest frame without its check sequence.
const FULL: usize = 125;

/// See `View::Exchange`.
pub struct Exchange {
    from: usize,
    /// The last data frame of that node.
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
    /// When its acknowledgment ended.
    acked: Option<Instant>,
}

impl Exchange {
    /// Of frames that the node with this index sends.
    pub fn of(from: usize) -> Exchange {
        Exchange {
            from,
            last: None,
            frames: 0,
            air_ms: 0.0,
            ack_ms: 0.0,
            whole_ms: 0.0,
        }
    }
}

impl Look for Exchange {
    fn look(&mut self, frame: &TracedFrame<'_>, _: &Contexts) {
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

    fn found(&self) -> Found {
        let count = f64::from(self.frames);
        let mut found = Found::from([("frames".to_owned(), count)]);
        if self.frames > 0 {
            for (name, sum) in [
                ("air", self.air_ms),
                ("ack", self.ack_ms),
                ("whole", self.whole_ms),
            ] {
                found.insert(name.to_owned(), sum / count);
            }
        }
        found
    }
}
