//! The congestion control that was chosen.

use super::choice::Name;
use super::cubic::{Acked, Cubic};
use super::given::{CongestionEvent, CongestionNews, CongestionWindow, Controlled};
use super::newreno::{InitialWindow, NewReno};
use crate::Config;

/// What a [`CongestionChoice`](super::CongestionChoice) chose. What it does not do otherwise is [`NewReno`]'s.
#[derive(Debug)]
pub(crate) struct Chosen {
    reno: NewReno,
    way: Way,
    present: Present,
}

/// How a connection is at the moment.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Present {
    pub(crate) now_ms: u32,
    /// The smoothed round-trip time, if there is one.
    pub(crate) srtt_ms: Option<u16>,
    pub(crate) flight: u32,
    pub(crate) mss: u32,
}

#[derive(Debug)]
enum Way {
    NewReno,
    /// The curve, and what it was before the last loss.
    Cubic(Cubic, Cubic),
    Off,
    Given(Controlled),
}

impl Chosen {
    pub(crate) fn new(mss: u32, config: &Config) -> Self {
        Chosen {
            reno: NewReno::new(mss, config),
            way: match config.congestion.name {
                Name::NewReno => Way::NewReno,
                Name::Cubic => Way::Cubic(Cubic::default(), Cubic::default()),
                Name::Off => Way::Off,
                Name::Given(given) => Way::Given(given.begin()),
            },
            present: Present::default(),
        }
    }

    /// Before each of the calls that tell what happened.
    pub(crate) fn at(&mut self, present: Present) {
        self.present = present;
    }

    fn window(&self) -> CongestionWindow {
        CongestionWindow {
            cwnd: self.reno.cwnd(),
            ssthresh: self.reno.ssthresh(),
        }
    }

    /// The window is now the usual one; whoever was given decides. At least a segment: with
    /// less nothing would ever be sent again.
    fn ask(&mut self, event: CongestionEvent, acked: u32, before: CongestionWindow) {
        let Way::Given(controlled) = &self.way else {
            return;
        };
        let Present {
            now_ms,
            srtt_ms,
            flight,
            mss,
        } = self.present;
        let answer = controlled.on(&CongestionNews {
            event,
            now_ms,
            srtt_ms,
            mss,
            flight,
            acked,
            window: before,
            usual: self.window(),
        });
        if let Some(CongestionWindow { cwnd, ssthresh }) = answer {
            self.reno.put(cwnd.max(mss), ssthresh.max(mss));
        }
    }

    pub(crate) fn on_established(&mut self, mss: u32, iw: InitialWindow, syn_lost: bool) {
        let before = self.window();
        self.reno.on_established(mss, iw, syn_lost);
        self.ask(CongestionEvent::Established, 0, before);
    }

    pub(crate) fn restart(&mut self, mss: u32, iw: InitialWindow, ssthresh: u16) {
        let before = self.window();
        self.reno.restart(mss, iw, ssthresh);
        self.ask(CongestionEvent::Established, 0, before);
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
        let before = self.window();
        self.reno.on_recovered();
        self.ask(CongestionEvent::Recovered, 0, before);
    }

    pub(crate) fn fall(&mut self) {
        self.reno.fall();
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
        let before = self.window();
        let (cwnd, now_ms) = (before.cwnd, self.present.now_ms);
        let srtt_ms = self.present.srtt_ms.unwrap_or(0).into();
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
        self.ask(CongestionEvent::Acked { filled: true }, bytes, before);
    }

    /// New data was acknowledged, and the window stays as it is.
    pub(crate) fn on_unfilled(&mut self, bytes: u32) {
        let before = self.window();
        self.ask(CongestionEvent::Acked { filled: false }, bytes, before);
    }

    pub(crate) fn on_loss(&mut self, flight: u32, mss: u32) {
        let window = self.window();
        self.lose(flight, mss);
        self.ask(CongestionEvent::Loss, 0, window);
    }

    fn lose(&mut self, flight: u32, mss: u32) {
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
        let before = self.window();
        match self.way {
            // RFC 9438 §4.6: as a loss.
            Way::Cubic(..) => {
                self.lose(flight, mss);
                let most = self.reno.ssthresh();
                self.reno.limit(most);
            }
            _ => self.reno.on_mark(flight, mss),
        }
        self.ask(CongestionEvent::Mark, 0, before);
    }

    pub(crate) fn on_timeout(&mut self, flight: u32, mss: u32, first: bool) {
        let before = self.window();
        if first {
            self.lose(flight, mss);
        }
        if let Way::Cubic(curve, _) = &mut self.way {
            curve.on_timeout();
        }
        self.reno.on_timeout(flight, mss, false);
        self.ask(CongestionEvent::Timeout { first }, 0, before);
    }

    pub(crate) fn restore(&mut self, pipe_prev: u32, flight: u32, bytes: u32, mss: u32) {
        let window = self.window();
        // RFC 9438 §4.9.
        if let Way::Cubic(curve, before) = &mut self.way {
            *curve = *before;
        }
        self.reno.restore(pipe_prev, flight, bytes, mss);
        self.ask(CongestionEvent::Undone, bytes, window);
    }

    pub(crate) fn on_idle(&mut self, mss: u32, iw: InitialWindow) {
        if let Way::Cubic(curve, _) = &mut self.way {
            curve.on_idle();
        }
        let before = self.window();
        self.reno.on_idle(mss, iw);
        self.ask(CongestionEvent::Idle, 0, before);
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
