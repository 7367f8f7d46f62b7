//! Congestion control from outside of the crate, chosen at run time: for simulations of an
//! algorithm under development.

use core::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionEvent {
    /// The connection is open, or continues after it was frozen.
    Established,
    /// New data was acknowledged outside of recovery and without a congestion mark.
    Acked {
        /// Whether the application fills at least half of the window. If false, the window does not
        /// reflect the path, and usually does not change (RFC 7661 §4.3).
        filled: bool,
    },
    /// A loss was detected without a timeout; recovery begins.
    Loss,
    Timeout {
        /// Whether this is the first timeout since SND.UNA advanced (RFC 5681 §3.1).
        first: bool,
    },
    /// The peer reports that a router marked a packet (RFC 3168 §6.1.2); at most once per window.
    Mark,
    /// The lost data has arrived, and recovery ends.
    Recovered,
    /// The last loss was spurious (RFC 4015).
    Undone,
    /// Data is ready after a pause longer than a retransmission timeout (RFC 5681 §4.1).
    Idle,
}

/// The congestion window and its threshold, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestionWindow {
    pub cwnd: u32,
    pub ssthresh: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestionUpdate {
    pub event: CongestionEvent,
    /// Time of the event in milliseconds of the node's clock; wrapping.
    pub now_ms: u32,
    /// Smoothed round-trip time in milliseconds (RFC 6298 §2), if measured.
    pub srtt_ms: Option<u16>,
    /// Payload bytes of a full segment: SMSS.
    pub mss: u32,
    /// Sent and unacknowledged bytes: FlightSize.
    pub flight: u32,
    /// Bytes of new data whose acknowledgment the event reports.
    pub acked: u32,
    pub window: CongestionWindow,
    /// The window that RFC 5681 sets after the event.
    pub usual: CongestionWindow,
}

/// Congestion control from outside of the engine, for any number of connections. An implementation
/// must not use a connection, because the engine calls it while it processes that connection.
pub trait GivenCongestion: Sync {
    /// Starts a connection with the choice of
    /// [`CongestionChoice::given`](super::CongestionChoice::given) for `place`. Returns the number
    /// of the connection in later calls.
    fn begin(&self, place: u32) -> u32;

    /// Returns the window after `update`, which applies at once: at least a segment, at most 65,535
    /// bytes. `None` keeps [`CongestionUpdate::usual`]. During recovery, proportional rate
    /// reduction (RFC 9937) moves cwnd to ssthresh without a call.
    fn on(&self, connection: u32, update: &CongestionUpdate) -> Option<CongestionWindow>;

    fn end(&self, connection: u32);
}

/// An external congestion control, made by
/// [`CongestionChoice::given`](super::CongestionChoice::given).
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

pub(super) struct Controlled {
    by: &'static dyn GivenCongestion,
    connection: u32,
}

impl Controlled {
    pub(super) fn on(&self, update: &CongestionUpdate) -> Option<CongestionWindow> {
        self.by.on(self.connection, update)
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
