//! RPL (RFC 6550) on small graphs: whole nodes, whose frames arrive without delay.
//!
//! After every change of one link, or a restart of one node, with every choice of lost DIOs among
//! the first ones: parents never form a loop for longer than a bound, every node with a way to the
//! root finds one within a bound, the root then reaches it, and a node without a way has no parent.

mod graph;
mod mesh;

pub use graph::Graph;
pub use mesh::{Defect, Mesh};

use redpoll_base::Duration;

/// A change of the mesh after it has converged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// This link breaks, or begins to work.
    Toggle(usize, usize),
    /// This node restarts without its state.
    Restart(usize),
}

/// The model: a graph, and how its mesh is run.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The links at the beginning.
    pub graph: Graph,
    /// Whether routers store routes.
    pub storing: bool,
    /// Seed of the nodes' random delays.
    pub seed: u64,
    /// The multicast frames that are lost after the change: bit `n` for the frame number `n`.
    pub lost: u32,
    /// The planted defect.
    pub defect: Option<Defect>,
}

/// The longest times of trials.
#[derive(Clone, Copy, Default, Debug)]
pub struct Longest {
    /// Time until all nodes with a path to the root had a route in both directions.
    pub recovery: Duration,
    /// The same after a restart of the root.
    pub root_restart: Duration,
    /// Time for which parents formed a loop.
    pub looping: Duration,
    /// Number of trials.
    pub trials: usize,
    /// Number of changes.
    pub changes: usize,
}

impl Longest {
    /// Includes the times of another trial.
    pub fn add(&mut self, other: Longest) {
        self.recovery = self.recovery.max(other.recovery);
        self.root_restart = self.root_restart.max(other.root_restart);
        self.looping = self.looping.max(other.looping);
        self.trials += other.trials;
        self.changes += other.changes;
    }
}

/// Longest time for which parents may form a loop: lost DIOs leave neighbours with old ranks until
/// the next DIO or until a packet shows the loop.
const LOOPING: Duration = Duration::from_secs(300);

/// Limit of the time from a change until all nodes have routes. In each round of checks, about
/// every two seconds, each node sends a datagram to the root.
const RECOVERY: Duration = Duration::from_secs(300);
/// The same limit after a restart of the root. If the DIOs are lost by which it would learn the
/// present version of the DODAG, it announces the first one again. The nodes then send their DAOs
/// no earlier than usual, after half of the lifetime of their routes.
const ROOT_RESTART: Duration = Duration::from_secs(1_200);

/// Lets a mesh converge, changes it, and undoes the change.
///
/// # Errors
/// The text says what did not recover.
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

/// Returns all changes of one link and all restarts, for a graph.
pub fn changes(graph: &Graph) -> Vec<Change> {
    let mut changes: Vec<_> = (0..graph.nodes()).map(Change::Restart).collect();
    for a in 0..graph.nodes() {
        changes.extend((0..a).map(|b| Change::Toggle(b, a)));
    }
    changes
}
