//! Charge and frames that the transfer of the image costs.

use redpoll_base::{Duration, Instant};
use redpoll_sim::{Report, World};
use serde::{Deserialize, Serialize};

use super::scenes::BEGIN_S;
use redpoll_experiments::{Look, Probe};

/// Samples the leaf four times a second until its image is complete.
#[derive(Debug)]
pub struct Transfer;

/// Costs from the leaf's first request until its flash has the image; `None` if the image is
/// incomplete.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Charge {
    /// Charge of the leaf's radio, in mC.
    pub mc: Option<f64>,
    pub frames: Option<f64>,
}

impl Probe for Transfer {
    type Found = Charge;

    fn every(&self) -> Duration {
        Duration::from_millis(250)
    }

    fn begin(&self, _world: &mut World) -> Box<dyn Look<Charge>> {
        Box::new(Looking {
            before: None,
            found: Charge::default(),
        })
    }
}

struct Looking {
    /// Charge and frames at the first sample after the start of the transfer.
    before: Option<(f64, f64)>,
    found: Charge,
}

/// Returns the charge of the leaf's radio in mC and the frames of all nodes.
fn spent(report: &Report) -> (f64, f64) {
    let leaf = report.nodes.iter().filter(|node| node.name == "leaf");
    let charge = leaf.map(|node| node.energy.radio_charge_mc).sum();
    let frames = report.nodes.iter().map(|node| node.frames_sent as f64);
    (charge, frames.sum())
}

impl Look<Charge> for Looking {
    fn look(&mut self, world: &mut World) {
        let begin = Instant::from_millis(BEGIN_S * 1_000);
        if self.found.mc.is_some() || world.now() < begin {
            return;
        }
        let report = world.report();
        let (charge, frames) = spent(&report);
        let Some(before) = self.before else {
            self.before = Some((charge, frames));
            return;
        };
        let images = report.flows.iter().filter_map(|flow| flow.image.as_ref());
        if images.clone().any(|image| image.took_s.is_some()) {
            self.found.mc = Some(charge - before.0);
            self.found.frames = Some(frames - before.1);
        }
    }

    fn end(self: Box<Self>, _world: &mut World) -> Charge {
        self.found
    }
}
