//! One point: a mesh, and the measurement of its simulation in this process.

use std::fmt;
use std::sync::Arc;
use std::time::Duration as RealDuration;

use redpoll_base::Instant;
use redpoll_linux::processor::time_of_thread;
use redpoll_sim::{Scenario, World, WorldOptions};
use serde_json::{Value, json};

use super::scene::scene;

/// Simulated seconds of a run.
const SIMULATED_S: u64 = 60;
/// Least total processor time of a point's runs; further runs with other seeds fill this time.
const LEAST: RealDuration = RealDuration::from_millis(300);
/// Processor time after which no new run of a point begins. It includes every set-up but the first.
const MOST: RealDuration = RealDuration::from_secs(3);
const RUNS: u64 = 100;

macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$doc])* $value,)*
        }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$value,)*];

            pub fn name(self) -> &'static str {
                match self {
                    $($name::$value => $text,)*
                }
            }

            fn named(name: &str) -> Option<$name> {
                Self::ALL.iter().copied().find(|it| it.name() == name)
            }
        }
    };
}

named! {
    Topology {
        Line = "line",
        Grid = "grid",
        /// Random places in a square.
        Geometric = "geometric",
        /// Copies of a measured corridor.
        Tiles = "tiles",
    }
}

named! {
    Routing {
        Fixed = "fixed",
        Rpl = "rpl",
    }
}

named! {
    Load {
        Idle = "idle",
        /// Half of the nodes send a datagram every 2 s to a neighbour.
        Busy = "busy",
    }
}

/// A mesh to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    pub topology: Topology,
    pub nodes: usize,
    pub routing: Routing,
    pub load: Load,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{},{},{},{}",
            self.topology.name(),
            self.nodes,
            self.routing.name(),
            self.load.name()
        )
    }
}

impl Point {
    /// Returns all points with these numbers of nodes, small ones first.
    pub fn all(sizes: &[usize]) -> Vec<Point> {
        let mut points = Vec::new();
        for &nodes in sizes {
            for &topology in Topology::ALL {
                for &routing in Routing::ALL {
                    points.extend(Load::ALL.iter().map(|&load| Point {
                        topology,
                        nodes,
                        routing,
                        load,
                    }));
                }
            }
        }
        points
    }

    pub fn parse(text: &str) -> Option<Point> {
        let fields: Vec<&str> = text.split(',').collect();
        let [topology, nodes, routing, load] = fields[..] else {
            return None;
        };
        Some(Point {
            topology: Topology::named(topology)?,
            nodes: nodes.parse().ok().filter(|nodes| *nodes >= 2)?,
            routing: Routing::named(routing)?,
            load: Load::named(load)?,
        })
    }

    pub fn json(&self) -> Value {
        json!({
            "bench": "scale",
            "topology": self.topology.name(),
            "nodes": self.nodes,
            "routing": self.routing.name(),
            "load": self.load.name(),
        })
    }

    /// Measures the point. A process must measure only one point, because peak memory never
    /// shrinks. All times are processor times, because other processes may run. Fails if the
    /// scenario cannot be simulated, or the oracle reports a violation.
    pub fn measure(&self) -> Result<Value, String> {
        let before = [memory("VmRSS:"), memory("RssFile:")];
        let text = scene(self);
        let begun = time_of_thread();
        let scenario =
            Scenario::parse("scale.toml", &text, &[]).map_err(|error| error.to_string())?;
        let scenario = Arc::new(scenario);
        let options = |seed| WorldOptions {
            seed: Some(seed),
            ..WorldOptions::default()
        };
        let build = |seed| {
            let world = World::with(Arc::clone(&scenario), options(seed));
            world.map_err(|error| error.to_string())
        };
        let mut world = build(1)?;
        let setup = time_of_thread() - begun;
        let setup_bytes = growth(before);
        let nodes = scenario.nodes.len();
        let begun_all = time_of_thread();
        let (mut events, mut spent, mut runs) = (0, RealDuration::ZERO, 0);
        let mut bytes = 0;
        loop {
            let begun = time_of_thread();
            world.run_until(Instant::from_millis(1_000 * SIMULATED_S));
            spent += time_of_thread() - begun;
            runs += 1;
            if runs == 1 {
                bytes = growth(before);
            }
            let report = world.report();
            if let Some(violation) = report.oracle.violations.first() {
                return Err(violation.clone());
            }
            events += report.events;
            let is_enough = spent >= LEAST || runs >= RUNS || time_of_thread() - begun_all >= MOST;
            if is_enough || events == 0 {
                break;
            }
            drop(world);
            world = build(1 + runs)?;
        }
        let spent_s = spent.as_secs_f64();
        let per_event = (events > 0).then(|| 1e9 * spent_s / events as f64);
        let simulated_s = (runs * SIMULATED_S) as f64;
        let mut row = self.json();
        row["built_nodes"] = json!(nodes);
        row["finished"] = json!(true);
        row["setup_s"] = json!(setup.as_secs_f64());
        row["setup_bytes_per_node"] = json!(setup_bytes as f64 / nodes as f64);
        row["bytes_per_node"] = json!(bytes as f64 / nodes as f64);
        row["runs"] = json!(runs);
        row["simulated_s"] = json!(simulated_s);
        row["processor_s"] = json!(spent_s);
        row["events"] = json!(events);
        row["events_per_s"] = json!(per_event.map(|ns| 1e9 / ns));
        row["ns_per_event"] = json!(per_event);
        row["simulated_s_per_s"] = json!(simulated_s / spent_s.max(1e-9));
        Ok(row)
    }
}

/// Returns by how many bytes peak memory exceeds `all`, the memory at the start. Pages of the
/// program's file that were loaded after the start are not counted; `of_file` is the number of
/// bytes of the file's pages that were loaded at the start.
fn growth([all, of_file]: [u64; 2]) -> u64 {
    let file = memory("RssFile:").saturating_sub(of_file);
    memory("VmHWM:").saturating_sub(all).saturating_sub(file)
}

/// Returns a figure of this process's memory from the kernel, in bytes; 0 if unknown.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok())
        .map_or(0, |kib| 1_024 * kib)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_as_they_are_displayed() {
        let all = Point::all(&[10, 1_000]);
        assert_eq!(all.len(), 32);
        for point in all {
            assert_eq!(Point::parse(&point.to_string()), Some(point));
        }
        for text in ["", "grid,10,rpl", "grid,1,rpl,idle", "grid,10,ospf,idle"] {
            assert_eq!(Point::parse(text), None, "{text}");
        }
    }
}
