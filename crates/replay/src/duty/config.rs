//! Which method, of which release of Contiki, and what of it is switched off.

/// How a node and its neighbours save radio time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The radio is always on, and each frame is sent once after one clear channel
    /// assessment (NullRDC).
    NullRdc,
    /// The receiver looks at the channel twice each cycle; the sender repeats the frame
    /// until it is acknowledged (ContikiMAC).
    ContikiMac,
    /// The receiver is on for a twentieth of each cycle; the sender repeats a short
    /// frame until that is acknowledged, then sends (X-MAC).
    XMac,
    /// As X-MAC, by software alone: the frame behind the strobes is sent without an
    /// acknowledgment, and strobes begin shortly before their receiver is expected to
    /// wake up (CX-MAC).
    CxMac,
    /// The receiver says each cycle that it listens; the sender waits for that (LPP).
    Lpp,
}

impl Method {
    /// Whether short frames are repeated before a frame.
    pub(crate) fn has_strobes(self) -> bool {
        matches!(self, Method::XMac | Method::CxMac)
    }
}

/// The release of Contiki whose constants and defects a node has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Release {
    /// Of September 2011.
    Contiki25,
    /// Of November 2013.
    Contiki27,
    /// Of August 2015. It has neither X-MAC nor LPP.
    Contiki30,
}

/// Contiki's CSMA layer above a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayerConfig {
    /// Transmissions that may go unacknowledged before a frame is given up; busy
    /// channels do not count and are not limited. Contiki with 6LoWPAN: 5.
    pub max_transmissions: u8,
    /// Whether its timers run on Contiki's clock of 128 Hz, with a phase of its own in
    /// each node; else they are exact.
    pub coarse_tick: bool,
    /// Neighbours for which datagrams may wait at the same time; one for another is
    /// dropped. 0: no limit. This MAC does not count them, the layer above does.
    pub neighbour_queues: u8,
}

/// Parameters of a duty-cycled MAC. It needs a radio with
/// `auto_ack` and without `csma` and `retries`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DutyConfig {
    /// The method.
    pub method: Method,
    /// Whose constants.
    pub release: Release,
    /// Cycles a second, 1 to 32: a power of two in Contiki, whose default is 8.
    pub check_rate_hz: u8,
    /// Whether the sender remembers when its neighbours wake up: ContikiMAC's phase
    /// lock, and what X-MAC has in its place.
    pub phase_lock: bool,
    /// Whether the receiver of ContikiMAC goes to sleep again as soon as what it hears
    /// cannot be a frame that is repeated.
    pub fast_sleep: bool,
    /// Whether frames that the one before them promised follow at once. Contiki has that
    /// from 2.6 on.
    pub bursts: bool,
    /// Whether NullRDC asks for acknowledgements; Contiki's own setting is that it does
    /// not, and so sends nothing twice.
    pub link_acks: bool,
    /// Contiki's CSMA layer; `None`: the backoffs and retries of this MAC.
    pub layer: Option<LayerConfig>,
    /// This node's own receiver is always on. It still sends as to neighbours that sleep.
    pub stays_awake: bool,
}

impl DutyConfig {
    /// The method as it is in a release, at 8 Hz.
    pub const fn of(method: Method, release: Release) -> Self {
        DutyConfig {
            method,
            release,
            check_rate_hz: 8,
            phase_lock: true,
            fast_sleep: true,
            bursts: !matches!(release, Release::Contiki25),
            link_acks: false,
            layer: Some(LayerConfig {
                max_transmissions: 5,
                coarse_tick: true,
                neighbour_queues: match release {
                    // One queue for all.
                    Release::Contiki25 => 0,
                    Release::Contiki27 | Release::Contiki30 => 2,
                },
            }),
            stays_awake: false,
        }
    }

    /// Whether this node's receiver is mostly off.
    pub(crate) fn sleeps(&self) -> bool {
        !self.stays_awake && self.method != Method::NullRdc
    }
}
