//! Recovery as another engine has it, chosen while the program runs: for
//! simulations that compare. Only with the feature `other-engines`; without it
//! nothing can be chosen, and the choice takes neither memory nor code.

#[cfg(feature = "other-engines")]
use redpoll_base::Duration;

use super::{prr, rack};

/// Mechanisms that can be left out, a bit each.
mod part {
    pub(super) const RACK: u8 = 1;
    pub(super) const TAIL_PROBES: u8 = 2;
    pub(super) const PRR: u8 = 4;
    pub(super) const FRTO: u8 = 8;
    pub(super) const NEW_START: u8 = 16;
}

/// How a connection finds out about losses and repairs them, where that is a
/// matter of choice ([`Config::recovery`](crate::Config)).
///
/// The default is all that is compiled in. With the feature `other-engines` each
/// mechanism can be left out ([`RecoveryChoice::without_rack`] and its like, and
/// [`RecoveryChoice::by_duplicates`] for all of them), and
/// [`RecoveryChoice::with_rto_margin`] adds to the timeout.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RecoveryChoice {
    #[cfg(feature = "other-engines")]
    without: u8,
    #[cfg(feature = "other-engines")]
    rto_margin_ms: u16,
}

#[cfg(feature = "other-engines")]
impl RecoveryChoice {
    /// All that is compiled in: the default.
    pub const ALL: RecoveryChoice = RecoveryChoice {
        without: 0,
        rto_margin_ms: 0,
    };

    /// Losses are found by three duplicate ACKs, or by SACK blocks that say as
    /// much (RFC 5681 §3.2, RFC 6582, RFC 6675), and else by the retransmission
    /// timer: neither RACK-TLP (RFC 8985) nor PRR (RFC 9937) nor F-RTO (RFC 5682),
    /// nor a new start of the estimate with the first data, as in FreeBSD 10.3.
    #[must_use]
    pub const fn by_duplicates(self) -> Self {
        self.without_rack()
            .without_prr()
            .without_frto()
            .without_new_start()
    }

    /// Losses are not found by time, and tails are not probed (RFC 8985): three segments
    /// beyond a gap tell of it, or the timer.
    #[must_use]
    pub const fn without_rack(self) -> Self {
        self.less(part::RACK | part::TAIL_PROBES)
    }

    /// Tails are not probed (RFC 8985 §7).
    #[must_use]
    pub const fn without_tail_probes(self) -> Self {
        self.less(part::TAIL_PROBES)
    }

    /// Recovery is not paced by what arrives (RFC 9937): cwnd is cut at once.
    #[must_use]
    pub const fn without_prr(self) -> Self {
        self.less(part::PRR)
    }

    /// A timeout is not put in doubt by the first acknowledgments after it (RFC 5682).
    #[must_use]
    pub const fn without_frto(self) -> Self {
        self.less(part::FRTO)
    }

    /// The handshake's round trip stays the first of the estimate, even if the first data
    /// takes longer (RFC 6298 §2.3).
    #[must_use]
    pub const fn without_new_start(self) -> Self {
        self.less(part::NEW_START)
    }

    const fn less(self, what: u8) -> Self {
        RecoveryChoice {
            without: self.without | what,
            ..self
        }
    }

    /// Adds so much to every retransmission timeout that was estimated, before
    /// [`Config::min_rto`](crate::Config) counts: at most 65,535 ms, in whole
    /// milliseconds. FreeBSD's `tcp_rexmit_slop` is 200 ms; RFC 6298 has none.
    #[must_use]
    pub fn with_rto_margin(self, margin: Duration) -> Self {
        RecoveryChoice {
            rto_margin_ms: u16::try_from(margin.millis_saturating()).unwrap_or(u16::MAX),
            ..self
        }
    }
}

impl RecoveryChoice {
    /// Whether losses are found by time (RFC 8985).
    pub(crate) fn has_rack(self) -> bool {
        rack::ON && !self.lacks(part::RACK)
    }

    /// Whether tails are probed (RFC 8985 §7).
    pub(crate) fn has_tail_probes(self) -> bool {
        rack::ON && !self.lacks(part::TAIL_PROBES)
    }

    /// Whether recovery is paced by RFC 9937.
    pub(crate) fn has_prr(self) -> bool {
        prr::ON && !self.lacks(part::PRR)
    }

    /// Whether a timeout may be put in doubt by RFC 5682.
    pub(crate) fn has_frto(self) -> bool {
        !self.lacks(part::FRTO)
    }

    /// Whether first data that is slower than the handshake begins the estimate anew.
    pub(crate) fn has_new_start(self) -> bool {
        !self.lacks(part::NEW_START)
    }

    #[cfg(feature = "other-engines")]
    fn lacks(self, what: u8) -> bool {
        self.without & what != 0
    }

    #[cfg(not(feature = "other-engines"))]
    fn lacks(self, _: u8) -> bool {
        false
    }

    /// An estimated timeout, in milliseconds, with what is added to it.
    #[cfg(feature = "other-engines")]
    pub(crate) fn with_margin(self, rto_ms: u32) -> u32 {
        rto_ms.saturating_add(self.rto_margin_ms.into())
    }

    /// An estimated timeout as it is.
    #[cfg(not(feature = "other-engines"))]
    pub(crate) fn with_margin(self, rto_ms: u32) -> u32 {
        rto_ms
    }
}
