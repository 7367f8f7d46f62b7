//! The decision on `delaytime`: Algorithm 1 of Park and Paek 2019.

use redpoll_base::Duration;

use super::params::Params;

const NS_PER_US: u64 = 1_000;

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Census {
    /// The lowest and the highest throughput of the active flows; `None` without active flows.
    pub(super) extremes: Option<(u64, u64)>,
    /// Mean expected retransmission timeout; `None` if none is known.
    pub(super) rto: Option<Duration>,
    /// Mean number of waiting flows, in 256ths.
    pub(super) waiting: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct DelayTime {
    /// Delay in nanoseconds, so that 2 % of a few microseconds is not zero.
    ns: u64,
}

impl DelayTime {
    pub(super) fn new(params: &Params) -> Self {
        let ns = |time: Duration| time.as_micros().saturating_mul(NS_PER_US);
        DelayTime {
            ns: ns(params.initial_delay),
        }
    }

    pub(super) fn as_nanos(&self) -> u64 {
        self.ns
    }

    /// Applies lines 2 to 10 of Algorithm 1 to the smoothed throughputs of its lines 11 to 14. The
    /// cap of lines 5 to 7 holds in every period, as the paper's text says, and not only after
    /// `delaytime` grew.
    pub(super) fn decide(&mut self, params: &Params, census: &Census) {
        if let Some((least, most)) = census.extremes {
            let limit = least.saturating_mul(params.ratio.into());
            let change = |share: super::Share| share.of(self.ns);
            if most > limit {
                self.ns = self.ns.saturating_add(change(params.increase));
            } else if most < limit {
                self.ns = self.ns.saturating_sub(change(params.decrease));
            }
        }
        let floor = params.min_delay.min(params.initial_delay);
        self.ns = self.ns.max(floor.as_micros().saturating_mul(NS_PER_US));
        if let Some(rto) = census.rto {
            let rto = rto
                .max(params.min_rto)
                .as_micros()
                .saturating_mul(NS_PER_US);
            let waiting = census.waiting.max(256);
            let cap = rto.saturating_mul(256).checked_div(waiting);
            self.ns = self.ns.min(cap.unwrap_or(rto));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn census(least: u64, most: u64) -> Census {
        Census {
            extremes: Some((least, most)),
            ..Census::default()
        }
    }

    #[test]
    fn the_delay_grows_by_alpha_falls_by_beta_and_stays_at_twice() {
        let params = Params::default();
        let mut delay = DelayTime::new(&params);
        delay.decide(&params, &census(10, 21));
        assert_eq!(delay.as_nanos(), 51_000_000);
        delay.decide(&params, &census(10, 20));
        assert_eq!(delay.as_nanos(), 51_000_000);
        delay.decide(&params, &census(10, 19));
        assert_eq!(delay.as_nanos(), 48_450_000);
        delay.decide(&params, &Census::default());
        assert_eq!(delay.as_nanos(), 48_450_000);
    }

    #[test]
    fn the_delay_is_at_most_the_expected_rto_over_the_waiting_flows() {
        let params = Params::default();
        let mut delay = DelayTime::new(&params);
        let crowd = Census {
            rto: Some(Duration::from_millis(2_000)),
            waiting: 100 * 256,
            ..census(1, 9)
        };
        delay.decide(&params, &crowd);
        assert_eq!(delay.as_nanos(), 20_000_000);
        // Without waiting flows the cap is the expected retransmission timeout itself.
        let mut long = DelayTime { ns: u64::MAX };
        long.decide(
            &params,
            &Census {
                waiting: 0,
                ..crowd
            },
        );
        assert_eq!(long.as_nanos(), 2_000_000_000);
    }

    #[test]
    fn the_delay_rises_again_from_its_minimum() {
        let params = Params::default();
        let mut delay = DelayTime::new(&params);
        for _ in 0..1_000 {
            delay.decide(&params, &census(10, 10));
        }
        assert_eq!(delay.as_nanos(), 1_000_000);
        delay.decide(&params, &census(1, 10));
        assert_eq!(delay.as_nanos(), 1_020_000);
    }
}
