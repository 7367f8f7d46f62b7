//! How far each flow is, by the minute or by five seconds.

use redpoll_base::Duration;
use redpoll_sim::World;
use serde::{Deserialize, Serialize};

use redpoll_experiments::{Look, Probe};

/// Bytes that the flows whose names begin so have brought, at the end of each minute.
#[derive(Clone, Copy, Debug)]
pub struct Minutes {
    /// How their names begin.
    pub flows: &'static str,
}

/// How many bytes had arrived of each flow, at the end of each minute or step; flows in the
/// order of their senders' names.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// For each minute or step of the run, one number a flow.
    pub bytes: Vec<Vec<u64>>,
}

/// How many bytes had arrived of each flow, at the end of each five seconds.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// How the flows' names begin.
    pub flows: &'static str,
}

/// Seconds of a step.
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
