//! The retransmission timeout (RFC 6298 §2 and §5) and the end of retries (RFC 9293 §3.8.3).

use crate::config::{Millis, Params};
use crate::timers::doubled;

/// RFC 9293 §3.8.3, SHLD-10: R1 corresponds to at least three retransmissions.
const R1: u8 = 3;

/// RFC 6298 §5.7: the timeout after a lost SYN.
const AFTER_LOST_SYN: Millis = Millis::exactly(3_000);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expiry {
    Retransmit,
    /// Retransmit, and inform the application (R1).
    Warn,
    /// End the connection (R2).
    GiveUp,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Rto {
    backoff: u8,
    /// Timeouts since SND.UNA last advanced.
    retries: u8,
}

impl Rto {
    /// Returns the current timeout in milliseconds. `estimated` is SRTT + max(G, K·RTTVAR).
    pub(crate) fn value(&self, estimated: Option<u32>, params: &Params) -> u32 {
        let (base, least) = match estimated {
            // RFC 6298 §2.4: the timeout is at least the minimum.
            Some(rto) => (rto, params.min_rto),
            // RFC 6298 §2.1: the initial timeout, before the first measurement.
            None => (0, params.initial_rto),
        };
        // RFC 6298 §5.5: doubled at each timeout; §2.5: up to the maximum.
        doubled(base.max(least.get()), self.backoff, params.max_rto.get())
    }

    pub(crate) fn is_first(&self) -> bool {
        self.retries == 0
    }

    pub(crate) fn retries(&self) -> u8 {
        self.retries
    }

    /// Processes a timeout; at most `max_retries` consecutive timeouts lead to a retry.
    pub(crate) fn on_timeout(&mut self, max_retries: u8) -> Expiry {
        if self.retries >= max_retries {
            return Expiry::GiveUp;
        }
        self.retries = self.retries.wrapping_add(1);
        // RFC 6298 §5.5: back off the timer.
        self.backoff = self.backoff.wrapping_add(1).min(32);
        if self.retries == R1 {
            Expiry::Warn
        } else {
            Expiry::Retransmit
        }
    }

    pub(crate) fn on_progress(&mut self) {
        self.retries = 0;
    }

    /// Ends the backoff after a round-trip time was measured. RFC 6298 §5 and RFC 9293 §3.8.2: the
    /// backoff persists until data are acknowledged that give a valid measurement.
    pub(crate) fn on_measurement(&mut self) {
        self.backoff = 0;
    }

    /// Initialises the timeout again at the end of the handshake (RFC 6298 §5.7); `syn_lost` if a
    /// SYN timed out.
    pub(crate) fn on_established(&mut self, syn_lost: bool, params: &mut Params) {
        *self = Rto::default();
        if syn_lost {
            params.initial_rto = params.initial_rto.max(AFTER_LOST_SYN);
        }
    }
}

#[cfg(test)]
mod tests {
    use redpoll_base::Duration;

    use super::*;
    use crate::Config;

    fn params() -> Params {
        Params::from(&Config {
            min_rto: Duration::from_secs(1),
            ..Config::default()
        })
    }

    fn seconds(rto: &Rto, estimated: Option<u32>) -> u32 {
        rto.value(estimated, &params()) / 1000
    }

    #[test]
    fn the_timeout_doubles_up_to_its_limit_and_fails_after_r2() {
        let mut rto = Rto::default();
        let mut seen = [0; 8];
        for slot in &mut seen {
            *slot = seconds(&rto, None);
            assert_ne!(rto.on_timeout(8), Expiry::GiveUp);
        }
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(rto.on_timeout(8), Expiry::GiveUp);
    }

    #[test]
    fn the_third_retransmission_is_reported() {
        let mut rto = Rto::default();
        let verdicts = [(); 4].map(|()| rto.on_timeout(12));
        use Expiry::*;
        assert_eq!(verdicts, [Retransmit, Retransmit, Warn, Retransmit]);
    }

    #[test]
    fn progress_resets_the_retries_and_a_measurement_the_backoff() {
        let mut rto = Rto::default();
        rto.on_timeout(12);
        rto.on_progress();
        assert!(rto.is_first());
        assert_eq!(seconds(&rto, None), 2);
        rto.on_measurement();
        assert_eq!(seconds(&rto, None), 1);
        assert_eq!(seconds(&rto, Some(300)), 1);
        assert_eq!(seconds(&rto, Some(4300)), 4);
    }

    #[test]
    fn a_lost_syn_makes_it_three_seconds() {
        for (syn_lost, expected) in [(true, 3_000), (false, 1_000)] {
            let (mut rto, mut params) = (Rto::default(), params());
            rto.on_timeout(7);
            rto.on_established(syn_lost, &mut params);
            assert_eq!(rto.value(None, &params), expected);
        }
    }
}
