//! Radio-on time by the hour.

use redpoll_base::{Duration, Instant};
use redpoll_sim::World;
use serde::{Deserialize, Serialize};

use super::seconds;
use redpoll_experiments::{Gap, Look, Probe, Reading};

const HOUR: Duration = Duration::from_secs(3_600);

/// Measures the share of each hour in which nodes' radios are on, averaged over each group.
#[derive(Clone, Copy, Debug)]
pub struct Hourly {
    /// Prefix of the node names of each group.
    pub nodes: &'static [&'static str],
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Hours {
    /// Share of each whole hour in which the radios of a group are on, by group.
    pub shares: Vec<Vec<f64>>,
}

impl Hours {
    /// Returns the share of the hour from `hour` o'clock in which the radios of a group are on.
    pub fn share(&self, group: usize, hour: u32) -> Reading {
        let shares = self.shares.get(group).ok_or(Gap::Nothing)?;
        shares.get(hour as usize).copied().ok_or(Gap::Nothing)
    }
}

struct Watch {
    groups: &'static [&'static str],
    /// Number of complete hours so far.
    done: u64,
    /// Radio-on seconds of each group, summed over its nodes, at the end of the last complete hour.
    on_s: Vec<f64>,
    hours: Hours,
}

impl Probe for Hourly {
    type Found = Hours;

    fn begin(&self, _: &mut World) -> Box<dyn Look<Hours>> {
        Box::new(Watch {
            groups: self.nodes,
            done: 0,
            on_s: vec![0.0; self.nodes.len()],
            hours: Hours {
                shares: vec![Vec::new(); self.nodes.len()],
            },
        })
    }
}

impl Look<Hours> for Watch {
    fn look(&mut self, world: &mut World) {
        let at = world.now();
        if at < Instant::ZERO + HOUR.times(self.done + 1) {
            return;
        }
        self.done += 1;
        let report = world.report();
        for (index, prefix) in self.groups.iter().enumerate() {
            let nodes = report.nodes.iter();
            let shares: Vec<f64> = nodes
                .filter(|node| node.name.starts_with(prefix))
                .map(|node| node.radio_duty_cycle)
                .collect();
            let on_s = shares.iter().sum::<f64>() * seconds(at);
            let share = (on_s - self.on_s[index]) / (shares.len().max(1) as f64 * 3_600.0);
            self.on_s[index] = on_s;
            self.hours.shares[index].push(share);
        }
    }

    fn end(self: Box<Self>, _: &mut World) -> Hours {
        self.hours
    }
}
