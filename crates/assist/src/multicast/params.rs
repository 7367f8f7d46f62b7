//! The parameters of MPL (RFC 7731 §5.4) and of the border.

use redpoll_base::Duration;

/// Parameters. All forwarders of a mesh should have the same ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Params {
    /// `DATA_MESSAGE_IMIN`: the first interval of Trickle.
    pub imin: Duration,
    /// `DATA_MESSAGE_IMAX`: the longest interval of Trickle.
    pub imax: Duration,
    /// `DATA_MESSAGE_K`: a forwarder that heard a message this often in an interval of Trickle does
    /// not send it in that interval. With 255 it always sends the message; with 255 and
    /// [`Self::expirations`] of 1 this is classic flooding.
    pub k: u8,
    /// `DATA_MESSAGE_TIMER_EXPIRATIONS`: the number of intervals. With 0 the node is a member
    /// only, and forwards nothing.
    pub expirations: u8,
    /// `SEED_SET_ENTRY_LIFETIME`: for how long a seed is remembered after its last message.
    pub seed_lifetime: Duration,
    /// Interval at which a border router lets packets into the mesh, after [`Self::burst`].
    pub interval: Duration,
    /// Number of packets that a border router lets into the mesh without a pause.
    pub burst: u8,
    /// Whether the host side is a link to another machine, so that a packet which enters the mesh
    /// uses up a hop (RFC 8200 §3). `false`: a TUN interface of the same machine, whose clients
    /// mostly send with the kernel's hop limit for groups, 1.
    pub host_is_far: bool,
}

impl Default for Params {
    /// Returns the RFC's defaults, with a link latency of 10 ms; for the border, 4 packets in a row
    /// and then one every 2 s.
    fn default() -> Self {
        let imin = Duration::from_millis(100);
        Params {
            imin,
            imax: imin,
            k: 1,
            expirations: 3,
            seed_lifetime: Duration::from_secs(30 * 60),
            interval: Duration::from_secs(2),
            burst: 4,
            host_is_far: true,
        }
    }
}

impl Params {
    /// Returns these parameters after `set` has changed them.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }
}
