//! The parameters of the cache.

use redpoll_base::Duration;

/// Which segments are copied, in each direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The next data in sequence, if there is room: the copy is the oldest unacknowledged segment.
    Oldest,
    /// The next data in sequence replace an older copy that [`Params::locks`] permits to replace;
    /// other data do so only with this probability in percent.
    Newest {
        /// 0 to 100.
        others_percent: u8,
    },
}

/// The parameters of the cache, by family: [`Params::cctrl`], [`Params::dtc`], [`Params::tss`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Assumed round-trip time from this node to a segment's target before the first measurement: 3
    /// s, the initial timeout of RFC 1122 §4.2.3.1.
    pub initial_rtt: Duration,
    /// Exponent n of the weight 2^-n of a new sample (RFC 6298 §2.3: 3), 0 to 7. The first sample
    /// is the estimate (§2.2).
    pub rtt_weight: u8,
    /// Whether the round trip of the handshake is the first sample.
    pub times_handshake: bool,
    /// Retransmission timeout in tenths of an estimated round-trip time.
    pub timeout_tenths: u16,
    /// Longest time for which a segment is stored, so that no copy exceeds the maximum segment
    /// lifetime (RFC 9293 §3.4.1: two minutes). Assumption: 1 min.
    pub max_wait: Duration,
    /// Maximum number of stored segments per direction of a connection, including those that wait.
    pub segments: u8,
    /// The segments to copy.
    pub choice: Choice,
    /// Whether a copy is replaced only after the next hop was heard forwarding it.
    pub locks: bool,
    /// Whether a segment with acknowledged data is acknowledged instead of forwarded.
    pub regenerates: bool,
    /// Whether a segment is retransmitted after two thirds of the timeout if no frame has been
    /// heard for an estimated round-trip time.
    pub by_activity: bool,
    /// Whether a duplicate acknowledgment that requests a cached segment is replaced by the
    /// retransmission of the copy.
    pub answers_duplicates: bool,
    /// Back-pressure: whether the following packets of a direction wait while a copy is stored. The
    /// copy is stored until the next hop was heard forwarding it, until it is acknowledged, or
    /// until another timeout after its retransmission.
    pub holds_back: bool,
    /// Whether an acknowledgment is repeated once if its receiver sends nothing for the
    /// retransmission timeout that results from the round-trip time to that receiver.
    pub acknowledges_again: bool,
}

impl Params {
    /// cctrl: Hurni et al. 2012 define `timeout_tenths`, `segments`, `regenerates` and the effect
    /// of `by_activity`; the other values are assumptions.
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
    /// "Connecting Wireless Sensornets with TCP/IP Networks", WWIC 2004), without its false SACK:
    /// the original puts the sequence number of a retransmitted segment into the acknowledgment's
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

    /// TCP Support for Sensor networks (T. Braun, T. Voigt, A. Dunkels, "TCP Support for Sensor
    /// Networks", WONS 2007), without its forged acknowledgments of data that the receiver has not
    /// acknowledged.
    pub const fn tss() -> Params {
        Params {
            times_handshake: true,
            timeout_tenths: 15,
            // A packet waits at most this long, and its copy waits at most as long for the
            // retransmission.
            max_wait: Duration::from_secs(15),
            segments: 3,
            holds_back: true,
            acknowledges_again: true,
            ..Params::cctrl()
        }
    }

    /// Returns whether a retransmitted copy is stored for another timeout.
    pub(super) const fn remembers(&self) -> bool {
        self.holds_back || self.answers_duplicates
    }

    /// Returns the retransmission timeout for an estimated round-trip time, at most `max_wait`.
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
