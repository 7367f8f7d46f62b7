//! The course of a congestion window.

use redpoll_base::Duration;
use redpoll_sim::World;
use serde::{Deserialize, Serialize};

use super::seconds;
use redpoll_experiments::{Look, Probe};

/// The congestion window of the first connection of a node, ten times a second.
#[derive(Clone, Copy, Debug)]
pub struct Cwnd {
    /// Index of the node.
    pub node: usize,
}

/// What it was.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Course {
    /// Seconds after the run's beginning, and bytes, while there is a connection.
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
        let cwnd = first.map(|(_, connection)| f64::from(connection.cwnd()));
        let samples = &mut self.course.samples;
        samples.extend(cwnd.map(|cwnd| (seconds(world.now()), cwnd)));
    }

    fn end(self: Box<Self>, _: &mut World) -> Course {
        self.course
    }
}
