//! Loss recovery of another engine, chosen at run time, for simulations that compare algorithms.

use redpoll_base::Duration;

/// The mechanisms by which a connection detects and repairs losses, where
/// [`redpoll_tcp::Algorithms`] leaves a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryChoice {
    /// [`redpoll_tcp::Algorithms::detects_by_time`]. Without it, tail loss probes are also
    /// disabled.
    pub rack: bool,
    /// [`redpoll_tcp::Algorithms::probes_tails`].
    pub tail_probes: bool,
    /// [`redpoll_tcp::Algorithms::paces_recovery`].
    pub prr: bool,
    /// [`redpoll_tcp::Algorithms::doubts_timeouts`].
    pub f_rto: bool,
    /// [`redpoll_tcp::Algorithms::restarts_estimate`].
    pub new_start: bool,
    /// Addition to each estimated retransmission timeout, in whole milliseconds. FreeBSD's
    /// `tcp_rexmit_slop` is 200 ms.
    pub rto_margin: Duration,
}

impl RecoveryChoice {
    /// Redpoll's own mechanisms, which are the default.
    pub const ALL: RecoveryChoice = RecoveryChoice {
        rack: true,
        tail_probes: true,
        prr: true,
        f_rto: true,
        new_start: true,
        rto_margin: Duration::ZERO,
    };

    /// Loss detection by three duplicate ACKs or equivalent SACK blocks (RFC 5681 §3.2, RFC 6582,
    /// RFC 6675), and otherwise by the retransmission timer, as in FreeBSD 10.3.
    pub const BY_DUPLICATES: RecoveryChoice = RecoveryChoice {
        rack: false,
        tail_probes: false,
        prr: false,
        f_rto: false,
        new_start: false,
        rto_margin: Duration::ZERO,
    };
}

impl Default for RecoveryChoice {
    fn default() -> Self {
        RecoveryChoice::ALL
    }
}
