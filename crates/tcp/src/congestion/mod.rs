//! Congestion control: the number of bytes that may be in flight.

mod newreno;
mod pipe;

pub use newreno::NewReno;
pub(crate) use pipe::Pipe;

use redpoll_base::divide;

use crate::ahead::window;

/// The congestion control of one connection, which computes its congestion window.
///
/// A connection reports events by the methods `on_…`. It reads the [congestion window](Self::cwnd)
/// before it makes a segment, and keeps the bytes in flight within it. A controller knows only the
/// arguments of these methods.
///
/// # Order of events
///
/// 1. [`on_established`](Self::on_established) once, or [`on_thawed`](Self::on_thawed) if the
///    connection continues one that was [frozen](crate::Connection::freeze).
/// 2. Outside of recovery, each acknowledgment of new data is one [`on_ack`](Self::on_ack), or
///    [`on_unfilled`](Self::on_unfilled) if the application does not fill half of the window.
/// 3. [`on_loss`](Self::on_loss) begins fast recovery, and [`on_recovered`](Self::on_recovered)
///    ends it. Between them there is no `on_ack`: the connection moves cwnd towards ssthresh by
///    [`set_cwnd`](Self::set_cwnd) (RFC 9937). A lost retransmission causes another `on_loss`.
/// 4. [`on_timeout`](Self::on_timeout) begins recovery by slow start, in which `on_ack` continues.
/// 5. [`on_undone`](Self::on_undone) follows a spurious loss or timeout, and replaces
///    `on_recovered`.
/// 6. [`on_mark`](Self::on_mark), [`on_idle`](Self::on_idle) and
///    [`on_smaller_mss`](Self::on_smaller_mss) may occur at any time after the first event.
///
/// # Rules
///
/// All windows are in bytes. The peer's window is not scaled, so a cwnd above 65,535 has no further
/// effect. cwnd must be at least one full-sized segment; with less, no segment would be sent. The
/// default methods of this trait follow RFC 5681.
///
/// # Example
///
/// A controller that grows by half a segment a round trip and keeps three quarters of its window
/// after a loss. Six methods suffice:
///
/// ```
/// use redpoll_tcp::{Algorithms, Config, Congestion, FlowState};
///
/// struct Gentle {
///     cwnd: u32,
///     ssthresh: u32,
/// }
///
/// impl Congestion for Gentle {
///     fn cwnd(&self) -> u32 {
///         self.cwnd
///     }
///
///     fn ssthresh(&self) -> u32 {
///         self.ssthresh
///     }
///
///     fn set_cwnd(&mut self, cwnd: u32) {
///         self.cwnd = cwnd;
///     }
///
///     fn set_ssthresh(&mut self, ssthresh: u32) {
///         self.ssthresh = ssthresh;
///     }
///
///     fn on_ack(&mut self, acked: u32, limit: u32, flow: &FlowState) {
///         self.cwnd += match self.cwnd < self.ssthresh {
///             true => acked.min(limit * flow.mss),
///             false => acked * flow.mss / (2 * self.cwnd),
///         };
///     }
///
///     fn on_loss(&mut self, flow: &FlowState) {
///         self.ssthresh = (flow.flight.min(self.cwnd) * 3 / 4).max(2 * flow.mss);
///     }
/// }
///
/// #[derive(Clone)]
/// struct WithGentle;
///
/// impl Algorithms for WithGentle {
///     type Congestion = Gentle;
///
///     fn congestion(&self, mss: u32) -> Gentle {
///         Gentle { cwnd: mss, ssthresh: u16::MAX.into() }
///     }
/// }
///
/// // A connection that `connect` or `accept` makes with this configuration has the controller.
/// let config = Config::default().with_algorithms(WithGentle);
///
/// let mut cc = config.algorithms.congestion(1_000);
/// let flow = FlowState::new(4_000, 1_000);
/// cc.on_established(4_000, &flow);
/// assert_eq!(cc.cwnd(), 4_000);
/// cc.on_loss(&flow);
/// cc.on_recovered(&flow);
/// assert_eq!(cc.cwnd(), 3_000);
/// ```
pub trait Congestion {
    /// Returns the congestion window in bytes (RFC 5681 §2).
    fn cwnd(&self) -> u32;

    /// Returns the slow start threshold in bytes (RFC 5681 §2).
    fn ssthresh(&self) -> u32;

    /// Sets cwnd. The connection calls this method during fast recovery, too.
    fn set_cwnd(&mut self, cwnd: u32);

    /// Sets ssthresh.
    fn set_ssthresh(&mut self, ssthresh: u32);

    /// Processes the acknowledgment of `acked` bytes of new data outside of fast recovery, while
    /// the application fills at least half of the window. In slow start, cwnd grows by at most
    /// `limit` segments (L of RFC 3465): one after a timeout, otherwise two.
    fn on_ack(&mut self, acked: u32, limit: u32, flow: &FlowState);

    /// Reduces ssthresh after a loss that was found without a timeout; the connection reduces cwnd.
    fn on_loss(&mut self, flow: &FlowState);

    /// Sets cwnd to the initial window at the end of the handshake (RFC 5681 §3.1).
    fn on_established(&mut self, initial_window: u32, _flow: &FlowState) {
        self.set_cwnd(initial_window);
    }

    /// Continues a frozen connection: cwnd is the initial window, and ssthresh is as before.
    fn on_thawed(&mut self, initial_window: u32, ssthresh: u32, _flow: &FlowState) {
        self.set_cwnd(initial_window);
        self.set_ssthresh(ssthresh);
    }

    /// Processes an acknowledgment instead of [`on_ack`](Self::on_ack) if the application fills
    /// less than half of cwnd. The default keeps cwnd, because a partly used window shows nothing
    /// about the path (RFC 7661 §4.3).
    fn on_unfilled(&mut self, _acked: u32, _flow: &FlowState) {}

    /// Responds to a report that a router marked a packet (RFC 3168 §6.1.2), at most once per
    /// window. The default is the response to a loss.
    fn on_mark(&mut self, flow: &FlowState) {
        self.on_loss(flow);
        self.limit_cwnd(self.ssthresh());
    }

    /// Responds to a retransmission timeout; `first` if it is the first since SND.UNA advanced. RFC
    /// 5681 §3.1: ssthresh is reduced once, and the loss window is one segment.
    fn on_timeout(&mut self, first: bool, flow: &FlowState) {
        if first {
            self.on_loss(flow);
        }
        self.set_cwnd(flow.mss);
    }

    /// Records the end of fast recovery (RFC 9937 §6.4).
    fn on_recovered(&mut self, _flow: &FlowState) {
        self.set_cwnd(self.ssthresh());
    }

    /// Undoes the response to a spurious loss or timeout (RFC 4015 §3.2, step 8). ssthresh becomes
    /// `pipe_prev`, the larger of the previous FlightSize and ssthresh. cwnd becomes at least
    /// FlightSize plus the `acked` bytes of this ACK; at most an initial window of them counts.
    fn on_undone(&mut self, pipe_prev: u32, acked: u32, flow: &FlowState) {
        let burst = acked.min(initial_window(flow.mss));
        let cwnd = flow.flight.wrapping_add(burst);
        self.set_cwnd(self.cwnd().max(cwnd));
        self.set_ssthresh(pipe_prev);
    }

    /// Restarts after a pause longer than a retransmission timeout. RFC 5681 §4.1: cwnd is at most
    /// the initial window.
    fn on_idle(&mut self, initial_window: u32, _flow: &FlowState) {
        self.limit_cwnd(initial_window);
    }

    /// Scales cwnd after the size of a full-sized segment decreased from `old` bytes to `flow.mss`
    /// (RFC 5681 §3.1).
    fn on_smaller_mss(&mut self, old: u32, flow: &FlowState) {
        let mss = flow.mss;
        let product = self.cwnd().wrapping_mul(u32::from(window(mss)));
        self.set_cwnd(divide(product, old).max(mss));
    }

    /// Reduces cwnd to `most` bytes if cwnd is larger.
    fn limit_cwnd(&mut self, most: u32) {
        self.set_cwnd(self.cwnd().min(most));
    }
}

/// The state of a connection at an event of [`Congestion`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FlowState {
    /// The time in milliseconds of the node's clock; wrapping.
    pub now_ms: u32,
    /// The smoothed round-trip time in milliseconds (RFC 6298 §2), if one was measured.
    pub srtt_ms: Option<u16>,
    /// Bytes that were sent and are not acknowledged: FlightSize (RFC 5681 §2).
    pub flight: u32,
    /// Bytes of a full-sized segment's payload: SMSS (RFC 5681 §2).
    pub mss: u32,
}

impl FlowState {
    /// Returns a flow at time 0 without a measured round-trip time, for tests of a controller.
    pub const fn new(flight: u32, mss: u32) -> FlowState {
        FlowState {
            now_ms: 0,
            srtt_ms: None,
            flight,
            mss,
        }
    }
}

/// Returns the initial window in bytes (IW, RFC 5681 §3.1).
#[inline(never)] // size
pub(crate) fn initial_window(mss: u32) -> u32 {
    let segments = match mss {
        0..=1095 => 4,
        1096..=2190 => 3,
        _ => 2,
    };
    mss.wrapping_mul(segments)
}
