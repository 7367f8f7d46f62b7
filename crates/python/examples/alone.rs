//! Runs a scenario without Python, for comparison: `alone SCENARIO DURATION` prints the report. The
//! sources and the compiler are those of the Python module.

use redpoll_base::Instant;
use redpoll_sim::{Scenario, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (name, duration) = (args.next(), args.next());
    let (name, duration) = name.zip(duration).ok_or("alone SCENARIO DURATION")?;
    let scenario = Scenario::load(&name, &[("duration".to_owned(), duration)])?;
    let mut world = World::new(&scenario, scenario.seed)?;
    world.run_until(Instant::ZERO + scenario.duration);
    println!("{}", serde_json::to_string(&world.report())?);
    Ok(())
}
