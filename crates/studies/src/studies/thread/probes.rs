//! Duration, charge and aborts of transfers, and the latency of commands.

use redpoll_base::{Duration, Instant};
use redpoll_sim::{Report, World};
use serde::{Deserialize, Serialize};

use super::scenes::{
    BEGIN_S, COMMAND, COMMANDS, FLEET, FLEET_BYTES, IDLE_S, command_ms, fleet_flow, lock_name,
};
use redpoll_experiments::{Look, Probe};

/// Samples a transfer of `bytes` to the node `leaf` ten times a second until its last byte arrives.
/// Then the run ends.
#[derive(Debug)]
pub struct Watch {
    pub bytes: u64,
    pub leaf: String,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// Time from the beginning until the last byte arrived, in seconds; `None` if the transfer is
    /// incomplete.
    pub time_s: Option<f64>,
    /// Charge of the leaf's radio in this time, in mC.
    pub charge_mc: Option<f64>,
    pub aborts: u64,
    /// Longest time without an arrival between the first and the last byte, in seconds. The value
    /// may be 0.1 s too long, the interval between two samples.
    pub longest_pause_s: f64,
}

impl Probe for Watch {
    type Found = Found;

    fn every(&self) -> Duration {
        Duration::from_millis(100)
    }

    fn begin(&self, _world: &mut World) -> Box<dyn Look<Found>> {
        Box::new(Looking {
            bytes: self.bytes,
            leaf: self.leaf.clone(),
            charge_before: None,
            delivered_before: 0,
            last_arrival_s: None,
            found: Found::default(),
        })
    }
}

struct Looking {
    bytes: u64,
    leaf: String,
    charge_before: Option<f64>,
    /// Bytes that arrived in attempts that failed.
    delivered_before: u64,
    /// Time of the last arrival that the previous sample reported.
    last_arrival_s: Option<f64>,
    found: Found,
}

impl Looking {
    fn charge(&self, report: &Report) -> f64 {
        let leaf = report.nodes.iter().filter(|node| node.name == self.leaf);
        leaf.map(|node| node.energy.radio_charge_mc).sum()
    }
}

impl Look<Found> for Looking {
    fn look(&mut self, world: &mut World) {
        let begin = Instant::from_millis(BEGIN_S * 1_000);
        // The application prints a line for each connection that failed.
        let lines = world.take_printed();
        let failed = lines.iter().filter(|line| line.text.starts_with("bulk: "));
        let failed = failed.count() as u64;
        self.found.aborts += failed;
        if world.now() < begin || self.is_over() {
            return;
        }
        let report = world.report();
        let charge = self.charge(&report);
        let before = *self.charge_before.get_or_insert(charge);
        let flow = report.flows.iter().find(|flow| flow.name == "image");
        let Some(flow) = flow else {
            return;
        };
        if let (Some(previous), Some(last)) = (self.last_arrival_s, flow.last_arrival_s) {
            let pause = last - previous;
            self.found.longest_pause_s = self.found.longest_pause_s.max(pause);
        }
        self.last_arrival_s = flow.last_arrival_s;
        if failed > 0 {
            self.delivered_before = flow.delivered_bytes;
        }
        if flow.delivered_bytes < self.delivered_before + self.bytes {
            return;
        }
        let now_s = world.now().since(begin).as_millis() as f64 / 1e3;
        self.found.time_s = Some(flow.last_arrival_s.map_or(now_s, |at| at - BEGIN_S as f64));
        self.found.charge_mc = Some(charge - before);
    }

    fn is_over(&self) -> bool {
        self.found.time_s.is_some()
    }

    fn end(self: Box<Self>, _world: &mut World) -> Found {
        self.found
    }
}

/// Samples the transfers to a fleet of devices until each device has the image. Then the run ends.
#[derive(Debug)]
pub struct Fleet;

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FleetFound {
    /// Time from the beginning until the last byte arrived at each device, in seconds; `None` for a
    /// device without the image.
    pub times_s: Vec<Option<f64>>,
    pub aborts: u64,
}

impl Probe for Fleet {
    type Found = FleetFound;

    fn every(&self) -> Duration {
        Duration::from_millis(100)
    }

    fn begin(&self, _world: &mut World) -> Box<dyn Look<FleetFound>> {
        let count = FLEET.count();
        Box::new(FleetLooking {
            delivered_before: vec![0; count],
            found: FleetFound {
                times_s: vec![None; count],
                aborts: 0,
            },
        })
    }
}

struct FleetLooking {
    /// Bytes that arrived at each device in attempts that failed.
    delivered_before: Vec<u64>,
    found: FleetFound,
}

impl Look<FleetFound> for FleetLooking {
    fn look(&mut self, world: &mut World) {
        let begin = Instant::from_millis(BEGIN_S * 1_000);
        let lines = world.take_printed();
        // "bulk: fd72:6564:7468:0:0:0:0:5: timed out": the transfer to node 5 failed.
        let failed = lines.iter().filter_map(|line| {
            let (address, _) = line.text.strip_prefix("bulk: ")?.split_once(": ")?;
            let (_, node) = address.rsplit_once(':')?;
            u32::from_str_radix(node, 16).ok()
        });
        let failed: Vec<u32> = failed.collect();
        self.found.aborts += failed.len() as u64;
        if world.now() < begin || self.is_over() {
            return;
        }
        let report = world.report();
        for (index, node) in FLEET.enumerate() {
            let name = fleet_flow(node);
            let Some(flow) = report.flows.iter().find(|flow| flow.name == name) else {
                continue;
            };
            if failed.contains(&node) {
                self.delivered_before[index] = flow.delivered_bytes;
            }
            let time = &mut self.found.times_s[index];
            if time.is_none() && flow.delivered_bytes >= self.delivered_before[index] + FLEET_BYTES
            {
                *time = flow.last_arrival_s.map(|at| at - BEGIN_S as f64);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.found.times_s.iter().all(Option::is_some)
    }

    fn end(self: Box<Self>, _world: &mut World) -> FleetFound {
        self.found
    }
}

/// Measures the latency of commands to a lock, and the charge of its radio without commands.
#[derive(Debug)]
pub struct Lock;

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LockFound {
    /// Times from writing each command until its last byte arrived, in milliseconds and in
    /// ascending order. Empty if a connection failed or a command is missing.
    pub latencies_ms: Vec<u64>,
    /// Charge of the lock's radio in the time without commands, in mC.
    pub idle_mc: f64,
    pub aborts: u64,
}

impl Probe for Lock {
    type Found = LockFound;

    fn begin(&self, _world: &mut World) -> Box<dyn Look<LockFound>> {
        Box::new(LockLooking {
            arrivals: Vec::new(),
            charge_before: None,
            charge_after: None,
            aborts: 0,
        })
    }
}

struct LockLooking {
    /// Time of each arrival, and all bytes that have arrived by then.
    arrivals: Vec<(Instant, u64)>,
    /// Charge of the lock's radio at the beginning and at the end of the time without commands.
    charge_before: Option<f64>,
    charge_after: Option<f64>,
    aborts: u64,
}

impl LockLooking {
    /// Returns the latencies, or `None` if the number of arrived bytes is wrong.
    fn latencies_ms(&self) -> Option<Vec<u64>> {
        // The first command opens the connection and is not measured.
        let total = (COMMANDS + 1) * COMMAND;
        let (_, arrived) = self.arrivals.last()?;
        if *arrived != total || self.aborts > 0 {
            return None;
        }
        let latencies = (0..COMMANDS).map(|index| {
            let end = (index + 2) * COMMAND;
            let mut arrivals = self.arrivals.iter();
            let (at, _) = arrivals.find(|(_, arrived)| *arrived >= end)?;
            Some(
                at.since(Instant::from_millis(command_ms(index)))
                    .as_millis(),
            )
        });
        let mut latencies: Vec<u64> = latencies.collect::<Option<_>>()?;
        latencies.sort_unstable();
        Some(latencies)
    }
}

impl Look<LockFound> for LockLooking {
    fn look(&mut self, world: &mut World) {
        for line in world.take_printed() {
            if line.text.starts_with("bulk: ") {
                self.aborts += 1;
            } else if let Some(bytes) = line.text.strip_prefix("arrived: ") {
                self.arrivals.push((line.at, bytes.parse().unwrap_or(0)));
            }
        }
        let (from, until) = IDLE_S;
        let now_s = world.now().since(Instant::ZERO).as_millis() / 1_000;
        let is_due = |charge: Option<f64>, at: u64| charge.is_none() && now_s >= at;
        if is_due(self.charge_before, from) || is_due(self.charge_after, until) {
            let report = world.report();
            let name = lock_name();
            let lock = report.nodes.iter().find(|node| node.name == name);
            let charge = lock.map(|node| node.energy.radio_charge_mc);
            match self.charge_before {
                None => self.charge_before = charge,
                Some(_) => self.charge_after = charge,
            }
        }
    }

    fn end(self: Box<Self>, _world: &mut World) -> LockFound {
        let charge = self.charge_after.zip(self.charge_before);
        LockFound {
            latencies_ms: self.latencies_ms().unwrap_or_default(),
            idle_mc: charge.map_or(0.0, |(after, before)| after - before),
            aborts: self.aborts,
        }
    }
}
