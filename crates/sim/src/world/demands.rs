//! The scenario's demands on a run (`[oracle]`), which are checked once a simulated second.
//!
//! - Rest: after the end of the apps, every pool of every node must be empty at least once in the
//!   last minute. A pool that is never empty has leaked an entry. The minutes before the last one
//!   are examined in the same way, so that a caller can end the run after the first one that
//!   meets the demand.
//! - Progress: after the last fault, a stream with bytes in transit soon delivers a byte or fails.
//! - Work: a simulated second has a bounded number of events.

use redpoll_base::{Duration, Instant};
use redpoll_stack::Tables;

use super::{Event, World};
use crate::scenario::{OracleParams, Scenario};

const INTERVAL: Duration = Duration::from_secs(1);

/// The pools of a node, each with its name and the number of its entries in use. In
/// [`Demands::least`], this is the least number in the present minute.
type Pools = [(&'static str, usize); 9];

#[derive(Default)]
pub(super) struct Demands {
    params: OracleParams,
    /// End of the last fault or interferer; `None` if one of them lasts until the end of the run.
    calm: Option<Instant>,
    end: Instant,
    apps_ended: bool,
    /// Number of events of the run up to the previous check.
    events: u64,
    /// Progress of each flow, and since when it has been the same.
    streams: Vec<Stream>,
    /// Pools of each place in the present minute after the end of the apps.
    least: Vec<Option<Pools>>,
    /// Number of checks in the present minute.
    checks: u64,
}

#[derive(Clone, Copy)]
struct Stream {
    progress: Option<(u64, u64)>,
    since: Instant,
    is_reported: bool,
}

impl Demands {
    pub(super) fn of(scenario: &Scenario) -> Demands {
        let faults = scenario.faults.iter().map(|fault| fault.until);
        let interferers = scenario
            .interferers
            .iter()
            .map(|interferer| Instant::ZERO + interferer.hours.1);
        let calm = faults.chain(interferers).max().unwrap_or(Instant::ZERO);
        let end = Instant::ZERO + scenario.duration;
        Demands {
            params: scenario.oracle,
            calm: (calm < end).then_some(calm),
            end,
            ..Demands::default()
        }
    }

    pub(super) fn first_check(&self) -> Option<Instant> {
        self.params
            .demands_something()
            .then_some(Instant::ZERO + INTERVAL)
    }
}

impl Demands {
    /// Returns whether the present minute ends at `now`. Minutes are counted back from the end of
    /// the run, so that the last one is complete.
    fn is_minute_over(&self, now: Instant) -> bool {
        let left = self.end.since(now).as_micros();
        left % OracleParams::REST.as_micros() < INTERVAL.as_micros()
    }

    /// Returns whether every pool was empty at least once in the minute that ends now.
    fn end_minute(&mut self) -> bool {
        let minute = OracleParams::REST.as_micros() / INTERVAL.as_micros();
        let is_complete = self.checks >= minute;
        let mut pools = self.least.iter().flatten().flatten();
        let is_at_rest = is_complete && pools.all(|(_, used)| *used == 0);
        self.least.clear();
        self.checks = 0;
        is_at_rest
    }
}

fn pools(tables: &Tables) -> Pools {
    let lowpan = &tables.lowpan;
    [
        ("slots of 6LoWPAN", lowpan.slots),
        ("packets for sleepy neighbours", lowpan.indirect),
        ("datagrams with forwarded fragments", lowpan.forwarded),
        ("forwarded fragments", lowpan.fragments),
        ("outgoing datagrams with fragment recovery", lowpan.outgoing),
        ("incoming datagrams with fragment recovery", lowpan.incoming),
        ("forwarded datagrams with fragment recovery", lowpan.paths),
        ("connections", tables.connections),
        ("half-open connections", tables.half_open),
    ]
}

impl World {
    pub(super) fn on_check(&mut self) {
        let now = self.env.now;
        self.check_work();
        self.check_progress();
        let apps_end = self.demands.params.apps_end;
        if apps_end.is_some_and(|end| now >= Instant::ZERO + end) && !self.demands.apps_ended {
            self.demands.apps_ended = true;
            for index in 0..self.places.len() {
                self.stop_apps(index);
            }
        }
        let next = now + INTERVAL;
        if self.demands.apps_ended {
            self.note_pools();
            if next > self.demands.end {
                self.check_rest();
            } else if self.demands.is_minute_over(now) && self.demands.end_minute() {
                self.env.oracle.rest();
            }
        }
        self.env.queue.schedule(next, Event::Check);
    }

    fn check_work(&mut self) {
        let before = std::mem::replace(&mut self.demands.events, self.events);
        let Some(limit) = self.demands.params.events else {
            return;
        };
        let events = self.events - before;
        if events > limit && self.env.stall.is_none() {
            let now = self.env.now;
            let why = format!(
                "{now:?}: {events} events in a simulated second, but oracle.events allows only \
                 {limit}; \
                 the run ends here"
            );
            self.env.oracle.violated(why.clone());
            self.env.stall = Some((now, why));
        }
    }

    fn check_progress(&mut self) {
        let (now, demands) = (self.env.now, &mut self.demands);
        let (Some(patience), Some(calm)) = (demands.params.patience, demands.calm) else {
            return;
        };
        if demands.apps_ended {
            return;
        }
        let mut stuck = Vec::new();
        for (index, progress) in self.env.oracle.progress().enumerate() {
            let fresh = Stream {
                progress,
                since: now,
                is_reported: false,
            };
            let Some(stream) = demands.streams.get_mut(index) else {
                demands.streams.push(fresh);
                continue;
            };
            if stream.progress != progress || now < calm {
                *stream = fresh;
            } else if progress.is_some()
                && now.since(stream.since) >= patience
                && !stream.is_reported
            {
                stream.is_reported = true;
                stuck.push(index);
            }
        }
        for index in stuck {
            let names = self.env.oracle.names().nth(index);
            let (flow, from, to) = names.unwrap_or_default();
            let why = format!(
                "{now:?}: flow {flow} from {from} to {to}: bytes are in transit, but none has \
                 arrived for {} s",
                patience.as_millis() / 1_000
            );
            self.env.oracle.violated(why);
        }
    }

    /// Updates the least use of each pool in the present minute.
    fn note_pools(&mut self) {
        let now = self.env.now;
        let mut least = std::mem::take(&mut self.demands.least);
        least.resize(self.places.len(), None);
        for (index, least) in least.iter_mut().enumerate() {
            let Some(node) = self.node(index) else {
                continue;
            };
            let used = pools(&node.tables(now));
            let least = least.get_or_insert(used);
            for ((_, least), (_, used)) in least.iter_mut().zip(used) {
                *least = used.min(*least);
            }
        }
        self.demands.least = least;
        self.demands.checks += 1;
    }

    fn check_rest(&mut self) {
        let least = std::mem::take(&mut self.demands.least);
        for (index, pools) in least.iter().enumerate() {
            let place = self.env.scenario.place(index);
            let name = place.map_or_else(String::new, |place| place.name.clone());
            for (pool, used) in pools.iter().flatten().filter(|(_, used)| *used > 0) {
                let ended = self.demands.params.apps_end.unwrap_or_default();
                let why = format!(
                    "{:?}: {name}: the number of {pool} in use was never below {used} in the last \
                     60 s, although all apps ended at {} s",
                    self.env.now,
                    ended.as_millis() / 1_000
                );
                self.env.oracle.violated(why);
            }
        }
    }
}
