//! The parameters of the cache.

use redpoll_base::Duration;

/// Which segments of a direction of a connection are copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Data that come next, while there is room: the copy is that of the oldest segment that
    /// is not acknowledged.
    Oldest,
    /// The next data in sequence replace an older copy; other data do so with this probability
    /// in percent.
    Newest {
        /// 0 to 100.
        others_percent: u8,
    },
}

/// The parameters of the cache, of three families: [`Params::cctrl`], [`Params::dtc`] and
/// [`Params::tss`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// The round-trip time from this node to a segment's target before it has been
    /// measured. Assumption: 3 s, the timeout of uIP's first segment.
    pub initial_rtt: Duration,
    /// A new sample counts 2^-n in the estimate (RFC 6298 §2.3: 3), 0 to 7. The first
    /// one is the estimate (§2.2).
    pub rtt_weight: u8,
    /// The first sample is that of the handshake.
    pub times_handshake: bool,
    /// Retransmission timeout in tenths of an estimated round-trip time.
    pub timeout_tenths: u16,
    /// No segment is kept for longer than this, whatever the estimate, so that no copy
    /// is older than a segment may become (RFC 9293 §3.4.1: two minutes).
    /// Assumption: 1 min.
    pub max_wait: Duration,
    /// Segments kept of each direction of a connection, those that wait included.
    pub segments: u8,
    /// Which ones.
    pub choice: Choice,
    /// A copy is not replaced before the next hop was heard forwarding it.
    pub locks: bool,
    /// A segment with acknowledged data is not forwarded but acknowledged.
    pub regenerates: bool,
    /// A segment is retransmitted after two thirds of the timeout if no frame was heard for the
    /// last estimated round-trip time.
    pub by_activity: bool,
    /// A duplicate acknowledgment that requests a cached segment is not forwarded: the copy is
    /// sent.
    pub answers_duplicates: bool,
    /// Back-pressure: while a copy is kept, the following packets of its direction wait. It is
    /// kept until the next hop was heard forwarding it, or it is acknowledged; or until one
    /// more timeout after its retransmission.
    pub holds_back: bool,
    /// An acknowledgment is repeated if nothing of the end that it was for has come by for
    /// as long as a segment to that end would wait for its acknowledgment.
    pub acknowledges_again: bool,
}

impl Params {
    /// cctrl: Hurni et al. 2012 give `timeout_tenths`, `segments`, `regenerates` and what
    /// `by_activity` does; the rest is left open there, and the values are assumptions.
    pub const fn cctrl() -> Params {
        Params {
            initial_rtt: Duration::from_secs(3),
            rtt_weight: 3,
            times_handshake: false,
            timeout_tenths: 30,
            max_wait: Duration::from_secs(60),
            segments: 1,
            choice: Choice::Oldest,
            locks: false,
            regenerates: true,
            by_activity: false,
            answers_duplicates: false,
            holds_back: false,
            acknowledges_again: false,
        }
    }

    /// Distributed TCP Caching (A. Dunkels, J. Alonso, T. Voigt, H. Ritter, J. Schiller,
    /// "Connecting Wireless Sensornets with TCP/IP Networks", WWIC 2004), without its false
    /// SACK: the original puts the number of a retransmitted segment into the acknowledgment's
    /// SACK option before the segment arrives.
    pub const fn dtc() -> Params {
        Params {
            times_handshake: true,
            timeout_tenths: 15,
            choice: Choice::Newest { others_percent: 50 },
            locks: true,
            answers_duplicates: true,
            ..Params::cctrl()
        }
    }

    /// TCP Support for Sensor networks (T. Braun, T. Voigt, A. Dunkels, "TCP Support for
    /// Sensor Networks", WONS 2007). Without its spoofed acknowledgments, which the receiver
    /// has not made.
    pub const fn tss() -> Params {
        Params {
            times_handshake: true,
            timeout_tenths: 15,
            // Two copies go before the last of three packets, each for two timeouts: it waits
            // for a minute at most.
            max_wait: Duration::from_secs(15),
            segments: 3,
            holds_back: true,
            acknowledges_again: true,
            ..Params::cctrl()
        }
    }

    /// Whether a retransmitted copy is remembered for as long again as it was kept before.
    pub(super) const fn remembers(&self) -> bool {
        self.holds_back || self.answers_duplicates
    }

    /// How long a segment waits for its acknowledgment, over a round-trip time.
    pub(super) fn timeout(&self, rtt: Duration) -> Duration {
        let whole = rtt.times(self.timeout_tenths.into()).divided_by(10);
        whole.min(self.max_wait)
    }
}

impl Default for Params {
    fn default() -> Self {
        Params::cctrl()
    }
}
