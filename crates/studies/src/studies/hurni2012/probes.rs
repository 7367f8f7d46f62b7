//! Activity levels that the nodes of the chain measure.

use redpoll_base::Duration;
use redpoll_sim::World;
use serde::{Deserialize, Serialize};

use redpoll_experiments::{Look, Probe};

/// Samples the activity levels of all nodes ten times a second.
#[derive(Clone, Copy, Debug)]
pub struct Activity;

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Levels {
    /// Means of the samples, by node and second.
    pub levels: Vec<Vec<f64>>,
}

const SAMPLES: usize = 10;

#[derive(Default)]
struct Watch {
    samples: Vec<Vec<f64>>,
}

impl Probe for Activity {
    type Found = Levels;

    fn every(&self) -> Duration {
        Duration::from_millis(1_000 / SAMPLES as u64)
    }

    fn begin(&self, _: &mut World) -> Box<dyn Look<Levels>> {
        Box::new(Watch::default())
    }
}

impl Look<Levels> for Watch {
    fn look(&mut self, world: &mut World) {
        let now = world.now();
        let mut index = 0;
        while let Some(node) = world.node(index) {
            let level = node.assistant().cache().map_or(0, |it| it.activity(now));
            if self.samples.len() <= index {
                self.samples.push(Vec::new());
            }
            self.samples[index].push(level.into());
            index += 1;
        }
    }

    fn end(self: Box<Self>, _: &mut World) -> Levels {
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let seconds = |of: &Vec<f64>| of.chunks(SAMPLES).map(mean).collect();
        Levels {
            levels: self.samples.iter().map(seconds).collect(),
        }
    }
}
