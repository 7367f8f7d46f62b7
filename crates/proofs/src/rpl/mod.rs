//! RPL (RFC 6550) on small graphs of complete nodes.
//!
//! Each trial changes one link or restarts one node, and loses some of the first DIOs. Parents must
//! not form a loop for long. Every node with a path to the root must soon find a route, and the
//! root must then reach this node. A node without a path must have no parent.

mod graph;
mod mesh;

pub use graph::Graph;
pub use mesh::{Defect, Mesh};

use redpoll_base::Duration;

/// A change of the mesh after it has converged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// This link breaks, or a missing link appears.
    Toggle(usize, usize),
    /// This node restarts and loses its state.
    Restart(usize),
}

/// The model: a graph, and the settings, losses and defect of its run.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The links at the start.
    pub graph: Graph,
    /// Whether routers store routes.
    pub storing: bool,
    /// Seed of the nodes' random delays.
    pub seed: u64,
    /// The multicast frames that are lost after the change: bit `n` stands for frame `n`.
    pub lost: u32,
    /// The planted defect.
    pub defect: Option<Defect>,
}

/// The longest times over all trials.
#[derive(Clone, Copy, Default, Debug)]
pub struct Longest {
    /// Longest time until all nodes with a path to the root had a route in both directions.
    pub recovery: Duration,
    /// Longest recovery after a restart of the root.
    pub root_restart: Duration,
    /// Longest time for which parents formed a loop.
    pub looping: Duration,
    /// Number of trials.
    pub trials: usize,
    /// Number of changes.
    pub changes: usize,
}

impl Longest {
    /// Adds the results of other trials.
    pub fn add(&mut self, other: Longest) {
        self.recovery = self.recovery.max(other.recovery);
        self.root_restart = self.root_restart.max(other.root_restart);
        self.looping = self.looping.max(other.looping);
        self.trials += other.trials;
        self.changes += other.changes;
    }
}

/// Maximum time for which parents may form a loop. After lost DIOs, neighbours keep old ranks until
/// the next DIO arrives, or until a packet reveals the loop.
const LOOPING: Duration = Duration::from_secs(300);

/// Limit of the time from a change until all nodes have routes. In each round of checks, about
/// every two seconds, each node sends a datagram to the root.
const RECOVERY: Duration = Duration::from_secs(300);
/// The limit after a restart of the root. If the root misses the DIOs with the current version of
/// the DODAG, it advertises the first version again. The nodes then send their DAOs at the usual
/// time, after half of the lifetime of their routes.
const ROOT_RESTART: Duration = Duration::from_secs(1_200);

/// Lets a mesh converge, changes it, and lets it converge again. If `change` changes a link, then
/// undoes the change, and lets the mesh converge a third time.
///
/// # Errors
/// A text that describes what did not recover.
pub fn run(trial: &Trial, change: Change) -> Result<Longest, String> {
    let mut mesh = Mesh::new(trial);
    let mut longest = Longest {
        trials: 1,
        ..Longest::default()
    };
    mesh.converge(RECOVERY)?;
    let limit = match change {
        Change::Restart(0) => ROOT_RESTART,
        _ => RECOVERY,
    };
    let rounds = match change {
        Change::Toggle(..) => 2,
        Change::Restart(_) => 1,
    };
    for _ in 0..rounds {
        mesh.change(change);
        mesh.lose(trial.lost);
        let time = mesh.converge(limit)?;
        match change {
            Change::Restart(0) => longest.root_restart = time,
            _ => longest.recovery = longest.recovery.max(time),
        }
        longest.changes += 1;
    }
    longest.looping = mesh.longest_loop();
    if longest.looping > LOOPING {
        return Err(format!("parents formed a loop for {:?}", longest.looping));
    }
    Ok(longest)
}

/// Returns all changes of one link and all restarts of one node that `graph` allows.
pub fn changes(graph: &Graph) -> Vec<Change> {
    let mut changes: Vec<_> = (0..graph.nodes()).map(Change::Restart).collect();
    for a in 0..graph.nodes() {
        changes.extend((0..a).map(|b| Change::Toggle(b, a)));
    }
    changes
}
