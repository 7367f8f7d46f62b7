//! The congestion control that was chosen.

use super::choice::Name;
use super::cubic::{Acked, Cubic};
use super::newreno::{InitialWindow, NewReno};
use crate::Config;

/// What a [`CongestionChoice`](super::CongestionChoice) chose. What it does not do otherwise is [`NewReno`]'s.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    reno: NewReno,
    way: Way,
    now_ms: u32,
    srtt_ms: u32,
}

#[derive(Clone, Debug)]
enum Way {
    NewReno,
    /// The curve, and what it was before the last loss.
    Cubic(Cubic, Cubic),
    Off,
}

impl Chosen {
    pub(crate) fn new(mss: u32, config: &Config) -> Self {
        Chosen {
            reno: NewReno::new(mss, config),
            way: match config.congestion.name {
                Name::NewReno => Way::NewReno,
                Name::Cubic => Way::Cubic(Cubic::default(), Cubic::default()),
                Name::Off => Way::Off,
            },
            now_ms: 0,
            srtt_ms: 0,
        }
    }

    /// The present moment, and the smoothed round-trip time if there is one.
    pub(crate) fn at(&mut self, now_ms: u32, srtt_ms: Option<u16>) {
        (self.now_ms, self.srtt_ms) = (now_ms, srtt_ms.unwrap_or(0).into());
    }

    pub(crate) fn on_established(&mut self, mss: u32, iw: InitialWindow, syn_lost: bool) {
        self.reno.on_established(mss, iw, syn_lost);
    }

    pub(crate) fn restart(&mut self, mss: u32, iw: InitialWindow, ssthresh: u16) {
        self.reno.restart(mss, iw, ssthresh);
    }

    pub(crate) fn ssthresh(&self) -> u32 {
        self.reno.ssthresh()
    }

    pub(crate) fn set(&mut self, cwnd: u32) {
        self.reno.set(cwnd);
    }

    pub(crate) fn limit(&mut self, most: u32) {
        self.reno.limit(most);
    }

    pub(crate) fn on_recovered(&mut self) {
        self.reno.on_recovered();
    }

    pub(crate) fn on_smaller_mss(&mut self, old: u32, new: u32) {
        self.reno.on_smaller_mss(old, new);
    }

    pub(crate) fn cwnd(&self) -> u32 {
        match self.way {
            Way::Off => u16::MAX.into(),
            _ => self.reno.cwnd(),
        }
    }

    pub(crate) fn on_ack(&mut self, bytes: u32, mss: u32, limit: u32) {
        let (cwnd, now_ms, srtt_ms) = (self.reno.cwnd(), self.now_ms, self.srtt_ms);
        match &mut self.way {
            Way::Cubic(curve, _) if cwnd >= self.reno.ssthresh() => {
                let cwnd = curve.on_ack(Acked {
                    bytes,
                    cwnd,
                    mss,
                    now_ms,
                    srtt_ms,
                });
                self.reno.set(cwnd);
            }
            _ => self.reno.on_ack(bytes, mss, limit),
        }
    }

    pub(crate) fn on_loss(&mut self, flight: u32, mss: u32) {
        let cwnd = self.reno.cwnd();
        match &mut self.way {
            Way::Cubic(curve, before) => {
                *before = *curve;
                let ssthresh = curve.on_loss(flight, cwnd);
                self.reno.reduce(ssthresh, mss);
            }
            _ => self.reno.on_loss(flight, mss),
        }
    }

    pub(crate) fn on_mark(&mut self, flight: u32, mss: u32) {
        match self.way {
            // RFC 9438 §4.6: as a loss.
            Way::Cubic(..) => {
                self.on_loss(flight, mss);
                let most = self.reno.ssthresh();
                self.reno.limit(most);
            }
            _ => self.reno.on_mark(flight, mss),
        }
    }

    pub(crate) fn on_timeout(&mut self, flight: u32, mss: u32, first: bool) {
        if first {
            self.on_loss(flight, mss);
        }
        if let Way::Cubic(curve, _) = &mut self.way {
            curve.on_timeout();
        }
        self.reno.on_timeout(flight, mss, false);
    }

    pub(crate) fn restore(&mut self, pipe_prev: u32, flight: u32, bytes: u32, mss: u32) {
        // RFC 9438 §4.9.
        if let Way::Cubic(curve, before) = &mut self.way {
            *curve = *before;
        }
        self.reno.restore(pipe_prev, flight, bytes, mss);
    }

    pub(crate) fn on_idle(&mut self, mss: u32, iw: InitialWindow) {
        if let Way::Cubic(curve, _) = &mut self.way {
            curve.on_idle();
        }
        self.reno.on_idle(mss, iw);
    }
}

#[cfg(test)]
mod tests {
    use super::super::CongestionChoice;
    use super::*;

    const MSS: u32 = 462;

    fn chosen(congestion: CongestionChoice) -> Chosen {
        let config = Config {
            congestion,
            ..Config::default()
        };
        let mut cc = Chosen::new(MSS, &config);
        cc.set(10 * MSS);
        cc
    }

    #[test]
    fn each_leaves_its_share_after_a_loss() {
        let shares = [
            (CongestionChoice::NEW_RENO, 5 * MSS, 5 * MSS),
            (CongestionChoice::CUBIC, 7 * MSS, 7 * MSS),
            (CongestionChoice::OFF, 5 * MSS, u16::MAX.into()),
        ];
        for (congestion, ssthresh, cwnd) in shares {
            let mut cc = chosen(congestion);
            cc.on_loss(10 * MSS, MSS);
            cc.on_recovered();
            assert_eq!(
                (cc.ssthresh(), cc.cwnd()),
                (ssthresh, cwnd),
                "{congestion:?}"
            );
        }
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_its_share_once() {
        let mut cc = chosen(CongestionChoice::CUBIC);
        cc.on_timeout(10 * MSS, MSS, true);
        cc.on_timeout(MSS, MSS, false);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 7 * MSS));
    }

    #[test]
    fn a_loss_that_was_none_leaves_no_trace() {
        let mut cc = chosen(CongestionChoice::CUBIC);
        cc.on_loss(10 * MSS, MSS);
        cc.restore(10 * MSS, 10 * MSS, 0, MSS);
        let Way::Cubic(curve, before) = &cc.way else {
            panic!("it has a curve");
        };
        assert_eq!(curve, before);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10 * MSS, 10 * MSS));
    }
}
