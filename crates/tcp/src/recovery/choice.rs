//! Recovery as another engine has it, chosen while the program runs: for
//! simulations that compare. Only with the feature `other-engines`; without it
//! nothing can be chosen, and the choice takes neither memory nor code.

#[cfg(feature = "other-engines")]
use redpoll_base::Duration;

use super::{prr, rack};

/// How a connection finds out about losses and repairs them, where that is a
/// matter of choice ([`Config::recovery`](crate::Config)).
///
/// The default is all that is compiled in. With the feature `other-engines`
/// [`RecoveryChoice::by_duplicates`] and [`RecoveryChoice::with_rto_margin`] give
/// others.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RecoveryChoice {
    #[cfg(feature = "other-engines")]
    by_duplicates: bool,
    #[cfg(feature = "other-engines")]
    rto_margin_ms: u16,
}

#[cfg(feature = "other-engines")]
impl RecoveryChoice {
    /// All that is compiled in: the default.
    pub const ALL: RecoveryChoice = RecoveryChoice {
        by_duplicates: false,
        rto_margin_ms: 0,
    };

    /// Losses are found by three duplicate ACKs, or by SACK blocks that say as
    /// much (RFC 5681 §3.2, RFC 6582, RFC 6675), and else by the retransmission
    /// timer: neither RACK-TLP (RFC 8985) nor PRR (RFC 9937) nor F-RTO (RFC 5682),
    /// as in FreeBSD 10.3.
    #[must_use]
    pub const fn by_duplicates(self) -> Self {
        RecoveryChoice {
            by_duplicates: true,
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
    /// Whether losses are found by time, and tails are probed (RFC 8985).
    pub(crate) fn has_rack(self) -> bool {
        rack::ON && !self.is_by_duplicates()
    }

    /// Whether recovery is paced by RFC 9937.
    pub(crate) fn has_prr(self) -> bool {
        prr::ON && !self.is_by_duplicates()
    }

    /// Whether a timeout may be put in doubt by RFC 5682.
    pub(crate) fn has_frto(self) -> bool {
        !self.is_by_duplicates()
    }

    #[cfg(feature = "other-engines")]
    fn is_by_duplicates(self) -> bool {
        self.by_duplicates
    }

    #[cfg(not(feature = "other-engines"))]
    fn is_by_duplicates(self) -> bool {
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
