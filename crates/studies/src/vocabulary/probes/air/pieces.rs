//! Lengths of the segments that a node sends or forwards.

use redpoll_sim::World;
use redpoll_sim::trace::TracedFrame;
use redpoll_wire::sixlowpan::Contexts;
use serde::{Deserialize, Serialize};

use super::frame::{mac, parts};
use super::{Sight, watch};
use redpoll_experiments::{Gap, Look, Probe, Reading};

/// Counts the segments with data that a node sends, and how many of them are small. Link
/// retransmissions are not counted.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    pub from: usize,
    /// Maximum number of data bytes in a segment that counts as small.
    pub small: usize,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Counted {
    pub data: u32,
    pub small: u32,
}

impl Counted {
    pub fn small_percent(&self) -> Reading {
        match self.data {
            0 => Err(Gap::Nothing),
            data => Ok(100.0 * f64::from(self.small) / f64::from(data)),
        }
    }
}

struct Count {
    of: Pieces,
    /// Data sequence number of the last frame.
    dsn: Option<u8>,
    counted: Counted,
}

impl Probe for Pieces {
    type Found = Counted;

    fn begin(&self, world: &mut World) -> Box<dyn Look<Counted>> {
        let count = Count {
            of: *self,
            dsn: None,
            counted: Counted::default(),
        };
        watch(world, count)
    }
}

impl Sight for Count {
    type Found = Counted;

    fn frame(&mut self, frame: &TracedFrame<'_>, contexts: &Contexts) {
        if frame.from != self.of.from {
            return;
        }
        let dsn = mac(frame.mpdu).map(|(header, _)| header.dsn);
        if std::mem::replace(&mut self.dsn, dsn) == dsn {
            return;
        }
        let tcp = parts(frame.mpdu, contexts).and_then(|parts| parts.tcp);
        let Some(tcp) = tcp.filter(|tcp| tcp.payload > 0) else {
            return;
        };
        self.counted.data += 1;
        self.counted.small += u32::from(tcp.payload <= self.of.small);
    }

    fn found(&self) -> Counted {
        self.counted
    }
}
