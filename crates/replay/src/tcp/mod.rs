//! The algorithms of other TCP engines.

mod choice;
mod chosen;
mod cubic;
mod given;
mod recovery;

use redpoll_tcp::Algorithms;

pub use choice::CongestionChoice;
pub use chosen::Chosen;
pub use given::{CongestionEvent, CongestionUpdate, CongestionWindow, Given, GivenCongestion};
pub use recovery::RecoveryChoice;

/// The algorithms of a TCP connection, chosen when a node is made. The default is that of Redpoll.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OtherTcp {
    pub congestion: CongestionChoice,
    pub recovery: RecoveryChoice,
}

impl Algorithms for OtherTcp {
    type Congestion = Chosen;

    fn congestion(&self, mss: u32) -> Chosen {
        Chosen::new(mss, self.congestion)
    }

    fn detects_by_time(&self) -> bool {
        self.recovery.rack
    }

    fn probes_tails(&self) -> bool {
        self.recovery.rack && self.recovery.tail_probes
    }

    fn paces_recovery(&self) -> bool {
        self.recovery.prr
    }

    fn doubts_timeouts(&self) -> bool {
        self.recovery.f_rto
    }

    fn restarts_estimate(&self) -> bool {
        self.recovery.new_start
    }

    fn rto_margin_ms(&self) -> u32 {
        self.recovery.rto_margin.millis_saturating()
    }
}
