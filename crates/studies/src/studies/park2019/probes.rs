//! Progress of each flow, by minutes or by steps of five seconds.

use redpoll_base::Duration;
use redpoll_sim::World;
use serde::{Deserialize, Serialize};

use redpoll_experiments::{Look, Probe};

/// Samples the delivered bytes of flows at the end of each minute.
#[derive(Clone, Copy, Debug)]
pub struct Minutes {
    pub flows: &'static str,
}

/// Delivered bytes of each flow at the end of each minute or step, with the flows in the order of
/// their senders' names.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// One number per flow for each minute or step of the run.
    pub bytes: Vec<Vec<u64>>,
}

/// Samples the delivered bytes of flows every five seconds.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    pub flows: &'static str,
}

pub const STEP_S: u32 = 5;

impl Probe for Steps {
    type Found = Progress;

    fn every(&self) -> Duration {
        Duration::from_secs(STEP_S.into())
    }

    fn begin(&self, _: &mut World) -> Box<dyn Look<Progress>> {
        Box::new(Watch {
            flows: self.flows,
            progress: Progress::default(),
        })
    }
}

struct Watch {
    flows: &'static str,
    progress: Progress,
}

impl Probe for Minutes {
    type Found = Progress;

    fn every(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn begin(&self, _: &mut World) -> Box<dyn Look<Progress>> {
        Box::new(Watch {
            flows: self.flows,
            progress: Progress::default(),
        })
    }
}

impl Look<Progress> for Watch {
    fn look(&mut self, world: &mut World) {
        let report = world.report();
        let flows = report.flows.iter();
        let mut flows: Vec<_> = flows
            .filter(|flow| flow.name.starts_with(self.flows))
            .map(|flow| (&flow.from, flow.delivered_bytes))
            .collect();
        flows.sort();
        let bytes = flows.into_iter().map(|(_, bytes)| bytes).collect();
        self.progress.bytes.push(bytes);
    }

    fn end(self: Box<Self>, _: &mut World) -> Progress {
        self.progress
    }
}
