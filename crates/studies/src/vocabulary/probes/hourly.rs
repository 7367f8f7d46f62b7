//! The radios' time on, by the hour.

use redpoll_base::{Duration, Instant};
use redpoll_sim::world::World;
use serde::{Deserialize, Serialize};

use super::seconds;
use crate::engine::probe::{Look, Probe};
use crate::engine::run::{Gap, Reading};

const HOUR: Duration = Duration::from_secs(3_600);

/// The share of each hour in which the radios of nodes were on: their mean.
#[derive(Clone, Copy, Debug)]
pub struct Hourly {
    /// What the nodes' names begin with.
    pub nodes: &'static str,
}

/// What it was.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Hours {
    /// The share in each whole hour of the run.
    pub shares: Vec<f64>,
}

impl Hours {
    /// The share in the hour that begins at `hour` o'clock.
    pub fn share(&self, hour: u32) -> Reading {
        self.shares.get(hour as usize).copied().ok_or(Gap::Nothing)
    }
}

struct Watch {
    prefix: &'static str,
    /// On for so many seconds, all nodes together, by the last hour's end.
    on_s: f64,
    hours: Hours,
}

impl Probe for Hourly {
    type Found = Hours;

    fn begin(&self, _: &mut World) -> Box<dyn Look<Hours>> {
        Box::new(Watch {
            prefix: self.nodes,
            on_s: 0.0,
            hours: Hours::default(),
        })
    }
}

impl Look<Hours> for Watch {
    fn look(&mut self, world: &mut World) {
        let (at, done) = (world.now(), self.hours.shares.len() as u64);
        if at < Instant::ZERO + HOUR.times(done + 1) {
            return;
        }
        let report = world.report();
        let nodes = report.nodes.iter();
        let shares: Vec<f64> = nodes
            .filter(|node| node.name.starts_with(self.prefix))
            .map(|node| node.radio_duty_cycle)
            .collect();
        let on_s = shares.iter().sum::<f64>() * seconds(at);
        let share = (on_s - self.on_s) / (shares.len().max(1) as f64 * 3_600.0);
        self.on_s = on_s;
        self.hours.shares.push(share);
    }

    fn end(self: Box<Self>, _: &mut World) -> Hours {
        self.hours
    }
}
