//! The algorithms that a program chooses for a connection.

use crate::congestion::{Congestion, NewReno, initial_window};

/// The algorithms that a program chooses for a connection: congestion control, and parts of loss
/// recovery.
///
/// The default of [`Config`](crate::Config) and [`Connection`](crate::Connection) is [`Standard`],
/// which occupies no memory. A program chooses others with
/// [`Config::with_algorithms`](crate::Config::with_algorithms). The choice is a type, so an
/// algorithm that no connection uses is not compiled into the program.
///
/// For another congestion control implement [`Congestion`], whose documentation has an example. The
/// methods that return `bool` switch a mechanism off, for comparisons with an engine that lacks it.
/// They cannot switch on a mechanism that the crate's features exclude. The values that a method
/// returns must not change during a connection.
pub trait Algorithms: Clone + 'static {
    /// Congestion control of a connection.
    type Congestion: Congestion;

    /// Makes the congestion control of a new connection whose full-sized segments have `mss`
    /// bytes of payload. [`Congestion::on_established`] follows when the handshake is complete.
    fn congestion(&self, mss: u32) -> Self::Congestion;

    /// Returns the initial window in bytes (RFC 5681 §3.1), which is also the limit of cwnd after a
    /// pause (§4.1), for full-sized segments of `mss` bytes. If the SYN or its answer was lost, the
    /// connection starts with one segment instead. A window above the RFC's limit sends a burst
    /// into queues of a few packets.
    fn initial_window(&self, mss: u32) -> u32 {
        initial_window(mss)
    }

    /// Returns whether losses are detected by time (RFC 8985). If false, three segments that
    /// arrived beyond a gap mark a loss (RFC 6675 §4), or the retransmission timer does.
    fn detects_by_time(&self) -> bool {
        true
    }

    /// Returns whether tail loss probes are sent (RFC 8985 §7).
    fn probes_tails(&self) -> bool {
        true
    }

    /// Returns whether proportional rate reduction paces recovery (RFC 9937). If false, cwnd
    /// becomes ssthresh at once (RFC 6675 §5).
    fn paces_recovery(&self) -> bool {
        true
    }

    /// Returns whether the first acknowledgments after a timeout may show that it was spurious (RFC
    /// 5682).
    fn doubts_timeouts(&self) -> bool {
        true
    }

    /// Returns whether the first data sample restarts the estimate of the round-trip time if this
    /// sample exceeds the handshake's. If false, the handshake's sample remains the first one (RFC
    /// 6298 §2.3).
    fn restarts_estimate(&self) -> bool {
        true
    }

    /// Returns the milliseconds added to each estimated retransmission timeout before
    /// [`Config::min_rto`](crate::Config::min_rto) applies. RFC 6298 adds none.
    fn rto_margin_ms(&self) -> u32 {
        0
    }
}

/// The algorithms that the RFCs recommend: [`NewReno`] with all mechanisms of recovery that the
/// features of this crate include.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Standard;

impl Algorithms for Standard {
    type Congestion = NewReno;

    fn congestion(&self, mss: u32) -> NewReno {
        NewReno::new(mss)
    }
}
