//! Congestion control from outside of the crate, chosen while the program runs: for simulations
//! of an algorithm that is still being designed.

use core::fmt;

/// What congestion control hears of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionEvent {
    /// The connection is open, or goes on after it was frozen.
    Established,
    /// New data was acknowledged while nothing was being repaired, and without a mark.
    Acked {
        /// The application fills half of the window at least. If not, the window tells nothing of
        /// the path, and usually stays (RFC 7661 §4.3).
        filled: bool,
    },
    /// A loss was found without a timeout; it is being repaired from now on.
    Loss,
    /// The retransmission timer ran out; `first` if for the first time since SND.UNA moved
    /// (RFC 5681 §3.1).
    Timeout {
        /// For the first time.
        first: bool,
    },
    /// The peer tells that a router has marked a packet (RFC 3168 §6.1.2); at most once for
    /// each window.
    Mark,
    /// What was lost has arrived.
    Recovered,
    /// The last loss was none (RFC 4015).
    Undone,
    /// Data is to be sent after a pause longer than a retransmission timeout (RFC 5681 §4.1).
    Idle,
}

/// The congestion window and its threshold, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestionWindow {
    /// cwnd.
    pub cwnd: u32,
    /// ssthresh.
    pub ssthresh: u32,
}

/// What happened, and how the connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestionNews {
    /// What happened.
    pub event: CongestionEvent,
    /// When, in milliseconds of the node's clock; wrapping.
    pub now_ms: u32,
    /// The smoothed round-trip time in milliseconds (RFC 6298 §2), if one was measured.
    pub srtt_ms: Option<u16>,
    /// Bytes of a full segment's payload: SMSS.
    pub mss: u32,
    /// Bytes that were sent and are not acknowledged: FlightSize.
    pub flight: u32,
    /// Bytes of new data that were acknowledged now.
    pub acked: u32,
    /// The window before.
    pub window: CongestionWindow,
    /// The window that RFC 5681 makes of it.
    pub usual: CongestionWindow,
}

/// Congestion control from outside of the engine, of any number of connections. Calls are made
/// in the middle of a connection's: whoever is called cannot use that.
pub trait GivenCongestion: Sync {
    /// A connection begins that has the choice made by
    /// [`CongestionChoice::given`](super::CongestionChoice::given) with `place`. The number that
    /// the calls for it will have.
    fn begin(&self, place: u32) -> u32;

    /// What the window is after `news`, which is in force at once: at least a segment, 65,535
    /// bytes at most. `None`: the usual one. While losses are repaired, proportional rate
    /// reduction (RFC 9937) leads cwnd to ssthresh; nothing is asked for that.
    fn on(&self, connection: u32, news: &CongestionNews) -> Option<CongestionWindow>;

    /// The connection is no more.
    fn end(&self, connection: u32);
}

/// A congestion control from outside, as [`CongestionChoice::given`](super::CongestionChoice::given)
/// makes it.
#[derive(Clone, Copy)]
pub struct Given {
    by: &'static dyn GivenCongestion,
    place: u32,
}

impl Given {
    pub(super) const fn new(by: &'static dyn GivenCongestion, place: u32) -> Given {
        Given { by, place }
    }

    pub(super) fn begin(self) -> Controlled {
        Controlled {
            by: self.by,
            connection: self.by.begin(self.place),
        }
    }
}

impl PartialEq for Given {
    fn eq(&self, other: &Given) -> bool {
        self.place == other.place && core::ptr::addr_eq(self.by, other.by)
    }
}

impl Eq for Given {}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Given({})", self.place)
    }
}

/// A connection's part of it.
pub(super) struct Controlled {
    by: &'static dyn GivenCongestion,
    connection: u32,
}

impl Controlled {
    pub(super) fn on(&self, news: &CongestionNews) -> Option<CongestionWindow> {
        self.by.on(self.connection, news)
    }
}

impl Drop for Controlled {
    fn drop(&mut self) {
        self.by.end(self.connection);
    }
}

impl fmt::Debug for Controlled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Controlled({})", self.connection)
    }
}
