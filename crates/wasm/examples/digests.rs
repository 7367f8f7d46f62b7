//! Prints the digest of each built-in scenario at its end, as this machine computes it. The test in
//! a browser (`make wasm-test`) compares the digests with those of WebAssembly.

use redpoll_base::Instant;
use redpoll_sim::{BUILT_IN, Scenario, When, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    for built_in in BUILT_IN {
        if !chosen.is_empty() && !chosen.iter().any(|name| name == built_in.name) {
            continue;
        }
        let mut scenario = Scenario::load(built_in.name, &[])?;
        scenario.retain_apps_of(When::Run);
        let mut world = World::new(&scenario, scenario.seed)?;
        world.run_until(Instant::ZERO + scenario.duration);
        println!("{} {}", built_in.name, world.digest());
    }
    Ok(())
}
