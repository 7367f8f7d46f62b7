//! Loss recovery of another engine, chosen while the program runs: for simulations that compare.

use redpoll_base::Duration;

/// How a connection detects losses and repairs them, where [`redpoll_tcp::Algorithms`] leaves a
/// choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryChoice {
    /// As [`redpoll_tcp::Algorithms::detects_by_time`]. Without it, tails are not probed either.
    pub rack: bool,
    /// As [`redpoll_tcp::Algorithms::probes_tails`].
    pub tail_probes: bool,
    /// As [`redpoll_tcp::Algorithms::paces_recovery`].
    pub prr: bool,
    /// As [`redpoll_tcp::Algorithms::doubts_timeouts`].
    pub f_rto: bool,
    /// As [`redpoll_tcp::Algorithms::restarts_estimate`].
    pub new_start: bool,
    /// Added to each estimated retransmission timeout, in whole milliseconds. FreeBSD's
    /// `tcp_rexmit_slop` is 200 ms.
    pub rto_margin: Duration,
}

impl RecoveryChoice {
    /// Redpoll's own: the default.
    pub const ALL: RecoveryChoice = RecoveryChoice {
        rack: true,
        tail_probes: true,
        prr: true,
        f_rto: true,
        new_start: true,
        rto_margin: Duration::ZERO,
    };

    /// Losses are detected by three duplicate ACKs, or by SACK blocks that report as much
    /// (RFC 5681 §3.2, RFC 6582, RFC 6675), and otherwise by the retransmission timer, as in
    /// FreeBSD 10.3.
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
