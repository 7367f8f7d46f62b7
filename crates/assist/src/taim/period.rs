//! Tasks at intervals: the measurement and the decision of each period, the number of active
//! flows, and whether flows compete.

use redpoll_base::{Duration, Instant, Memory as Kind};

use super::contention::{Busy, Contest};
use super::delay::{Census, DelayTime};
use super::flow::{FlowSlot, Standing, rate};
use super::params::{Params, Policy};
use super::{Taim, count};

impl<M: Kind, H: 'static> Taim<M, H> {
    /// Updates the sum of waiting flows over time, before their number changes.
    pub(super) fn sum_up(&mut self, now: Instant) {
        let time = now.since(self.summed_at).as_micros();
        let sum = u64::from(self.schedule.len()).saturating_mul(time);
        self.waiting_sum = self.waiting_sum.saturating_add(sum);
        self.summed_at = self.summed_at.max(now);
    }

    /// Counts the active flows for [`Policy::Lead`], once a second.
    pub(super) fn count_active(&mut self, now: Instant) {
        let Policy::Lead(lead) = &self.params.policy else {
            return;
        };
        if self.virtual_time.count_at() > now {
            return;
        }
        let is_active = |flow: &&FlowSlot| {
            flow.standing == Standing::Confirmed
                && !flow.estimate.is_over()
                && now.since(flow.active_at) <= lead.active
        };
        let active = self.flows.iter().filter(is_active).count();
        self.virtual_time.on_counted(now, active as u64);
    }

    /// Applies Algorithm 1 at the end of a period.
    pub(super) fn end_period(&mut self, now: Instant) {
        let Some(began) = self.period_began else {
            return;
        };
        let lasted = now.since(began);
        if lasted < self.params.period {
            return;
        }
        self.period_began = Some(now);
        self.sum_up(now);
        count(&mut self.counters.periods);
        let census = self.census(now, began, lasted);
        // Without active flows, `decide` applies only the limits of `delaytime`.
        self.delay.decide(&self.params, &census);
        self.schedule.order_again(self.flows.slots_mut());
    }

    /// Smooths the measurements of a period, and summarises all flows.
    fn census(&mut self, now: Instant, began: Instant, lasted: Duration) -> Census {
        let us = lasted.as_micros().max(1);
        let sum = core::mem::take(&mut self.waiting_sum);
        let waited = sum.saturating_mul(256).checked_div(us).unwrap_or(0);
        let waiting = match self.waiting {
            None => waited,
            Some(old) => self.params.waiting_weight.towards(old, waited),
        };
        self.waiting = Some(waiting);

        let params = &self.params;
        let mut extremes: Option<(u64, u64)> = None;
        let (mut rto_sum, mut rtos) = (0u64, 0u64);
        for flow in self.flows.iter_mut() {
            let bytes = core::mem::take(&mut flow.bytes);
            let rate = rate(bytes, lasted);
            if flow.standing != Standing::Confirmed || flow.confirmed_at > began {
                if params.policy == Policy::Taim {
                    flow.take_stock(params.period);
                }
                continue;
            }
            flow.throughput = match flow.is_measured {
                true => params.throughput_weight.towards(flow.throughput, rate),
                false => rate,
            };
            flow.is_measured = true;
            if params.policy == Policy::Taim {
                flow.take_stock(params.period);
            }
            if flow.estimate.is_over() || now.since(flow.active_at) > params.active {
                continue;
            }
            let (least, most) = extremes.unwrap_or((u64::MAX, 0));
            extremes = Some((least.min(flow.throughput), most.max(flow.throughput)));
            if let Some(rto) = flow.estimate.rto() {
                rto_sum = rto_sum.saturating_add(rto.max(params.min_rto).as_micros());
                rtos = rtos.saturating_add(1);
            }
        }
        Census {
            extremes,
            rto: rto_sum.checked_div(rtos).map(Duration::from_micros),
            waiting,
        }
    }

    /// Checks at intervals whether flows compete for a slow network. When they no longer do, the
    /// waiting packets leave.
    pub(super) fn check_contention(&mut self, now: Instant) {
        let Some(contention) = &self.params.contention else {
            return;
        };
        if !self.contest.is_due(now) {
            return;
        }
        let mut busy = Busy::default();
        for flow in self.flows.iter_mut() {
            let Some(rtt) = flow.estimate.rtt() else {
                continue;
            };
            if flow.recent.was_busy(rtt) && !flow.estimate.is_over() {
                busy.flows = busy.flows.saturating_add(1);
                busy.round_trips_us = busy.round_trips_us.saturating_add(rtt.as_micros());
            }
        }
        let delay_ns = self.delay.as_nanos();
        self.contest.check(now, contention, delay_ns, busy);
    }

    /// Replaces the parameters. Flows and waiting packets stay. `delaytime` starts again at
    /// [`Params::initial_delay`](super::Params::initial_delay) if that has changed.
    pub fn set_params(&mut self, params: Params) {
        if params.initial_delay != self.params.initial_delay {
            self.delay = DelayTime::new(&params);
        }
        let has_condition = params.contention.is_some();
        if has_condition != self.params.contention.is_some() {
            self.contest = Contest::new(params.contention.as_ref());
        }
        if params.policy != self.params.policy {
            for flow in self.flows.iter_mut() {
                match &params.policy {
                    Policy::Taim => flow.take_stock(params.period),
                    Policy::Lead(lead) => {
                        self.virtual_time.catch_up(lead, &mut flow.pace);
                        flow.share = flow.pace.lead_from(lead);
                    }
                }
            }
            self.schedule.order_again(self.flows.slots_mut());
        }
        self.params = params;
        // The time of the next packet was computed with the old `delaytime`.
        self.next_ns = 0;
    }
}
