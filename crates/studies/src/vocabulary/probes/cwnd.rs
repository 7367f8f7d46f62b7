//! Congestion window over time.

use redpoll_base::Duration;
use redpoll_sim::World;
use serde::{Deserialize, Serialize};

use super::seconds;
use redpoll_experiments::{Look, Probe};

/// Samples the congestion window of a node's first connection ten times a second.
#[derive(Clone, Copy, Debug)]
pub struct Cwnd {
    pub node: usize,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Course {
    /// Seconds since the start of the run, and bytes, while a connection exists.
    pub samples: Vec<(f64, f64)>,
}

struct Watch {
    node: usize,
    course: Course,
}

impl Probe for Cwnd {
    type Found = Course;

    fn every(&self) -> Duration {
        Duration::from_millis(100)
    }

    fn begin(&self, _: &mut World) -> Box<dyn Look<Course>> {
        Box::new(Watch {
            node: self.node,
            course: Course::default(),
        })
    }
}

impl Look<Course> for Watch {
    fn look(&mut self, world: &mut World) {
        let node = world.node(self.node);
        let first = node.and_then(|node| node.tcp_connections().next());
        let cwnd = first.map(|(_, connection)| f64::from(connection.info().cwnd));
        let samples = &mut self.course.samples;
        samples.extend(cwnd.map(|cwnd| (seconds(world.now()), cwnd)));
    }

    fn end(self: Box<Self>, _: &mut World) -> Course {
        self.course
    }
}
