//! What the link holds of a connection.

use redpoll_base::Duration;
use redpoll_sim::world::World;
use serde::{Deserialize, Serialize};

use crate::engine::probe::{Look, Probe};

/// The most bytes that the link held at once of the first connection of a node.
#[derive(Clone, Copy, Debug)]
pub struct Pinned {
    /// Index of the node.
    pub node: usize,
}

/// How many.
#[derive(Debug, Serialize, Deserialize)]
pub struct Held {
    /// Bytes at most.
    pub most: usize,
}

struct Watch {
    node: usize,
    most: usize,
}

impl Probe for Pinned {
    type Found = Held;

    /// A frame takes longer.
    fn every(&self) -> Duration {
        Duration::from_millis(5)
    }

    fn begin(&self, _: &mut World) -> Box<dyn Look<Held>> {
        Box::new(Watch {
            node: self.node,
            most: 0,
        })
    }
}

impl Look<Held> for Watch {
    fn look(&mut self, world: &mut World) {
        let node = world.node(self.node);
        let first = node.and_then(|node| node.tcp_connections().next());
        let held = first.map_or(0, |(_, connection)| connection.pinned());
        self.most = self.most.max(held);
    }

    fn end(self: Box<Self>, _: &mut World) -> Held {
        Held { most: self.most }
    }
}
