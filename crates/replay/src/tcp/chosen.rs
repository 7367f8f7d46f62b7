//! The chosen congestion control.

use redpoll_tcp::{Congestion, FlowState, NewReno};

use super::choice::CongestionChoice;
use super::cubic::{Acked, Cubic};
use super::given::{CongestionEvent, CongestionUpdate, CongestionWindow, Controlled};

/// The congestion control that a [`CongestionChoice`] selects; it replaces parts of [`NewReno`].
#[derive(Debug)]
pub struct Chosen {
    reno: NewReno,
    way: Algorithm,
}

#[derive(Debug)]
enum Algorithm {
    NewReno,
    /// The curve, and its state before the last loss.
    Cubic(Cubic, Cubic),
    Off,
    Given(Controlled),
}

impl Chosen {
    pub(super) fn new(mss: u32, choice: CongestionChoice) -> Self {
        Chosen {
            reno: NewReno::new(mss),
            way: match choice {
                CongestionChoice::NewReno => Algorithm::NewReno,
                CongestionChoice::Cubic => Algorithm::Cubic(Cubic::default(), Cubic::default()),
                CongestionChoice::Off => Algorithm::Off,
                CongestionChoice::Given(given) => Algorithm::Given(given.begin()),
            },
        }
    }

    fn window(&self) -> CongestionWindow {
        CongestionWindow {
            cwnd: self.reno.cwnd(),
            ssthresh: self.reno.ssthresh(),
        }
    }

    /// Reports an event to an external controller, which may replace the window; the result has at
    /// least one segment.
    fn ask(
        &mut self,
        event: CongestionEvent,
        acked: u32,
        before: CongestionWindow,
        flow: &FlowState,
    ) {
        let Algorithm::Given(controlled) = &self.way else {
            return;
        };
        let mss = flow.mss;
        let answer = controlled.on(&CongestionUpdate {
            event,
            now_ms: flow.now_ms,
            srtt_ms: flow.srtt_ms,
            mss,
            flight: flow.flight,
            acked,
            window: before,
            usual: self.window(),
        });
        if let Some(CongestionWindow { cwnd, ssthresh }) = answer {
            self.reno.set_cwnd(cwnd.max(mss));
            self.reno.set_ssthresh(ssthresh.max(mss));
        }
    }

    fn lose(&mut self, flow: &FlowState) {
        let cwnd = self.reno.cwnd();
        match &mut self.way {
            Algorithm::Cubic(curve, before) => {
                *before = *curve;
                let ssthresh = curve.on_loss(flow.flight, cwnd);
                self.reno.reduce(ssthresh, flow.mss);
            }
            _ => self.reno.on_loss(flow),
        }
    }
}

impl Congestion for Chosen {
    fn cwnd(&self) -> u32 {
        match self.way {
            Algorithm::Off => u16::MAX.into(),
            _ => self.reno.cwnd(),
        }
    }

    fn ssthresh(&self) -> u32 {
        self.reno.ssthresh()
    }

    fn set_cwnd(&mut self, cwnd: u32) {
        self.reno.set_cwnd(cwnd);
    }

    fn set_ssthresh(&mut self, ssthresh: u32) {
        self.reno.set_ssthresh(ssthresh);
    }

    fn limit_cwnd(&mut self, most: u32) {
        self.reno.limit_cwnd(most);
    }

    fn on_established(&mut self, initial_window: u32, flow: &FlowState) {
        let before = self.window();
        self.reno.on_established(initial_window, flow);
        self.ask(CongestionEvent::Established, 0, before, flow);
    }

    fn on_thawed(&mut self, initial_window: u32, ssthresh: u32, flow: &FlowState) {
        let before = self.window();
        self.reno.on_thawed(initial_window, ssthresh, flow);
        self.ask(CongestionEvent::Established, 0, before, flow);
    }

    fn on_ack(&mut self, acked: u32, limit: u32, flow: &FlowState) {
        let before = self.window();
        let cwnd = before.cwnd;
        match &mut self.way {
            Algorithm::Cubic(curve, _) if cwnd >= self.reno.ssthresh() => {
                let cwnd = curve.on_ack(Acked {
                    bytes: acked,
                    cwnd,
                    mss: flow.mss,
                    now_ms: flow.now_ms,
                    srtt_ms: flow.srtt_ms.unwrap_or(0).into(),
                });
                self.reno.set_cwnd(cwnd);
            }
            _ => self.reno.on_ack(acked, limit, flow),
        }
        self.ask(CongestionEvent::Acked { filled: true }, acked, before, flow);
    }

    fn on_unfilled(&mut self, acked: u32, flow: &FlowState) {
        let before = self.window();
        self.ask(
            CongestionEvent::Acked { filled: false },
            acked,
            before,
            flow,
        );
    }

    fn on_loss(&mut self, flow: &FlowState) {
        let before = self.window();
        self.lose(flow);
        self.ask(CongestionEvent::Loss, 0, before, flow);
    }

    fn on_mark(&mut self, flow: &FlowState) {
        let before = self.window();
        match self.way {
            // RFC 9438 §4.6: a mark reduces the window as a loss does.
            Algorithm::Cubic(..) => {
                self.lose(flow);
                let most = self.reno.ssthresh();
                self.reno.limit_cwnd(most);
            }
            _ => self.reno.on_mark(flow),
        }
        self.ask(CongestionEvent::Mark, 0, before, flow);
    }

    fn on_timeout(&mut self, first: bool, flow: &FlowState) {
        let before = self.window();
        if first {
            self.lose(flow);
        }
        if let Algorithm::Cubic(curve, _) = &mut self.way {
            curve.on_timeout();
        }
        self.reno.on_timeout(false, flow);
        self.ask(CongestionEvent::Timeout { first }, 0, before, flow);
    }

    fn on_recovered(&mut self, flow: &FlowState) {
        let before = self.window();
        self.reno.on_recovered(flow);
        self.ask(CongestionEvent::Recovered, 0, before, flow);
    }

    fn on_undone(&mut self, pipe_prev: u32, acked: u32, flow: &FlowState) {
        let before = self.window();
        // RFC 9438 §4.9: after a spurious reduction, the previous curve is restored.
        if let Algorithm::Cubic(curve, previous) = &mut self.way {
            *curve = *previous;
        }
        self.reno.on_undone(pipe_prev, acked, flow);
        self.ask(CongestionEvent::Undone, acked, before, flow);
    }

    fn on_idle(&mut self, initial_window: u32, flow: &FlowState) {
        if let Algorithm::Cubic(curve, _) = &mut self.way {
            curve.on_idle();
        }
        let before = self.window();
        self.reno.on_idle(initial_window, flow);
        self.ask(CongestionEvent::Idle, 0, before, flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 462;

    fn flow(flight: u32) -> FlowState {
        FlowState::new(flight, MSS)
    }

    fn chosen(congestion: CongestionChoice) -> Chosen {
        let mut cc = Chosen::new(MSS, congestion);
        cc.set_cwnd(10 * MSS);
        cc
    }

    #[test]
    fn each_leaves_its_share_after_a_loss() {
        let shares = [
            (CongestionChoice::NewReno, 5 * MSS, 5 * MSS),
            (CongestionChoice::Cubic, 7 * MSS, 7 * MSS),
            (CongestionChoice::Off, 5 * MSS, u16::MAX.into()),
        ];
        for (congestion, ssthresh, cwnd) in shares {
            let mut cc = chosen(congestion);
            cc.on_loss(&flow(10 * MSS));
            cc.on_recovered(&flow(0));
            assert_eq!(
                (cc.ssthresh(), cc.cwnd()),
                (ssthresh, cwnd),
                "{congestion:?}"
            );
        }
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_its_share_once() {
        let mut cc = chosen(CongestionChoice::Cubic);
        cc.on_timeout(true, &flow(10 * MSS));
        cc.on_timeout(false, &flow(MSS));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (MSS, 7 * MSS));
    }

    #[test]
    fn an_undone_loss_restores_the_curve() {
        let mut cc = chosen(CongestionChoice::Cubic);
        cc.on_loss(&flow(10 * MSS));
        cc.on_undone(10 * MSS, 0, &flow(10 * MSS));
        let Algorithm::Cubic(curve, before) = &cc.way else {
            panic!("it has a curve");
        };
        assert_eq!(curve, before);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10 * MSS, 10 * MSS));
    }
}
