//! Duration, charge and aborts of a transfer.

use redpoll_base::{Duration, Instant};
use redpoll_sim::{Report, World};
use serde::{Deserialize, Serialize};

use super::scenes::BEGIN_S;
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
    /// Time from the beginning until the last byte arrived, in seconds; `None` if it is incomplete.
    pub time_s: Option<f64>,
    /// Charge of the leaf's radio in this time, in mC.
    pub charge_mc: Option<f64>,
    pub aborts: u64,
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
