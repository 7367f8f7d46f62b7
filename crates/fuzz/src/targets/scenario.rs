//! Scenario files: every mistake gives a one-line message, and small valid scenarios can be built.

use redpoll_sim::{Scenario, World};

/// Maximum number of nodes of a scenario that the target builds, which bounds its time.
const NODES: usize = 40;

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Scenario::parse("scenario", text, &[]) {
        Ok(scenario) if scenario.nodes.len() <= NODES => drop(World::new(&scenario, 1)),
        Ok(_) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
