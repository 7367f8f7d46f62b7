//! Messages of the live view's page to a running mesh, one per line. Every rejection must have a
//! text, and the run must continue.

use redpoll_base::Duration;
use redpoll_sim::{Scenario, World};
use redpoll_web::message::{Ask, FromPage};

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut asks = Vec::new();
    for line in text.lines() {
        if let Ok(message) = serde_json::from_str::<FromPage>(line) {
            asks.push(message.ask);
        }
    }
    let is_command = |ask: &Ask| matches!(ask, Ask::Mesh(_));
    if !asks.iter().any(is_command) {
        return;
    }
    let scenario = Scenario::load("line-3", &[]).expect("a scenario of the program");
    let mut world = World::new(&scenario, 1).expect("a mesh");
    for ask in asks {
        if let Ask::Mesh(command) = ask {
            match world.command(&command) {
                Ok(said) => assert!(!said.is_empty()),
                Err(refusal) => assert!(!refusal.to_string().is_empty()),
            }
        }
        world.run_until(world.now() + Duration::from_millis(50));
    }
    assert!(world.stall().is_none());
}
