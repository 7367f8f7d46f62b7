//! Configuration: the duty-cycling method, the release of Contiki, and options.

use redpoll_mac::Meaning;

use super::header;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// NullRDC: the radio is always on, and the node transmits each frame a single time, after a
    /// clear channel assessment.
    NullRdc,
    /// ContikiMAC: the receiver assesses the channel twice per cycle; the sender repeats the frame
    /// until it is acknowledged.
    ContikiMac,
    /// X-MAC: the receiver is on for 6.2 ms of each cycle; the sender repeats a strobe until it is
    /// acknowledged, then sends the frame.
    XMac,
    /// CX-MAC (`cxmac.c`). The frame after the strobes is not acknowledged, and strobes
    /// begin shortly before the expected wake-up of their receiver.
    CxMac,
    /// LPP: the receiver announces each listening time by a probe; the sender waits for the probe.
    Lpp,
}

impl Method {
    /// Returns whether a sender transmits strobes before a frame.
    pub(crate) fn has_strobes(self) -> bool {
        matches!(self, Method::XMac | Method::CxMac)
    }
}

/// The release of Contiki that defines constants and defects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Release {
    /// Contiki 2.5 of September 2011.
    Contiki25,
    /// Contiki 2.7 of November 2013.
    Contiki27,
    /// Contiki 3.0 of August 2015, without X-MAC and LPP.
    Contiki30,
}

/// Contiki's CSMA layer above a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayerConfig {
    /// Transmissions without acknowledgment after which a frame is dropped. Attempts on a busy
    /// channel do not count, and are unlimited. Contiki with 6LoWPAN: 5.
    pub max_transmissions: u8,
    /// Whether timers use Contiki's clock of 128 Hz, with a random phase in each node. If false,
    /// timers are exact.
    pub coarse_tick: bool,
    /// Maximum number of neighbours with waiting datagrams; 0 for no limit. The layer above this
    /// MAC counts these neighbours, and drops datagrams for further ones.
    pub neighbour_queues: u8,
}

/// Parameters of a duty-cycled MAC, for a radio with `auto_ack` and without `csma` and `retries`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DutyConfig {
    pub method: Method,
    pub release: Release,
    /// Cycles per second, 1 to 32; a power of two in Contiki. Default 8.
    pub check_rate_hz: u8,
    /// Whether the sender learns the wake-up times of its neighbours (ContikiMAC's phase lock, or
    /// X-MAC's equivalent).
    pub phase_lock: bool,
    /// Whether a ContikiMAC receiver sleeps as soon as the signal cannot be a repeated frame.
    pub fast_sleep: bool,
    /// Whether frames announced by Frame Pending follow at once, as in Contiki from 2.6 on.
    pub bursts: bool,
    /// Whether NullRDC requests acknowledgments. By default Contiki requests none, and thus never
    /// retransmits.
    pub link_acks: bool,
    /// Contiki's CSMA layer; `None` for the backoffs and retries of this MAC.
    pub layer: Option<LayerConfig>,
    /// Whether the receiver is always on. The node still transmits as to sleeping neighbours.
    pub stays_awake: bool,
}

impl DutyConfig {
    /// Returns the parameters of `method` in a release of Contiki, with 8 cycles per second.
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
                    // All neighbours share one queue.
                    Release::Contiki25 => 0,
                    Release::Contiki27 | Release::Contiki30 => 2,
                },
            }),
            stays_awake: false,
        }
    }

    pub fn read<'f>(&self, payload: &'f [u8]) -> Meaning<'f> {
        header::read(self, payload)
    }

    pub(crate) fn sleeps(&self) -> bool {
        !self.stays_awake && self.method != Method::NullRdc
    }
}
