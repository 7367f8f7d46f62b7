//! The applications of scenarios, in whole worlds and against misbehaving clients and servers.

mod bulk;
mod host;
mod http;
mod mqtt;
mod sensors;

use redpoll_base::Instant;
use redpoll_sim::{Scenario, World};

fn pair(apps: &str) -> Scenario {
    let text = format!(
        "[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"10 m\"\n\
         [radio]\nmodel = \"ideal\"\n{apps}"
    );
    Scenario::parse("pair", &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn run(world: &mut World, until_s: u64) {
    world.run_until(Instant::from_millis(until_s * 1_000));
    assert_eq!(world.report().oracle.violations, [""; 0]);
}
