//! Datagrams that a node holds.

use redpoll_base::Duration;
use redpoll_sim::World;
use serde::{Deserialize, Serialize};

use redpoll_experiments::{Look, Probe};

/// Measures the greatest number of datagram slots that a node uses at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    pub node: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Taken {
    pub most: usize,
}

struct Watch {
    node: usize,
    all: usize,
    most: usize,
}

impl Probe for Slots {
    type Found = Taken;

    /// Returns an interval that is shorter than the exchange of a full frame.
    fn every(&self) -> Duration {
        Duration::from_millis(5)
    }

    fn begin(&self, world: &mut World) -> Box<dyn Look<Taken>> {
        Box::new(Watch {
            node: self.node,
            all: free(world, self.node),
            most: 0,
        })
    }
}

impl Look<Taken> for Watch {
    fn look(&mut self, world: &mut World) {
        let taken = self.all.saturating_sub(free(world, self.node));
        self.most = self.most.max(taken);
    }

    fn end(self: Box<Self>, _: &mut World) -> Taken {
        Taken { most: self.most }
    }
}

fn free(world: &World, node: usize) -> usize {
    world
        .node(node)
        .map_or(0, |node| node.lowpan().free_slots())
}
