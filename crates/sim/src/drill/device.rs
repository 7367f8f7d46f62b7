//! The attacks of slow readers on a leaf that runs the web server for devices of `redpoll-apps`.

use redpoll_base::Duration;
use redpoll_samples::http;

use super::KEEPS;
use super::attack::ATTACKS;
use super::play::{self, RunResult};
use super::scene::{Mesh, Scene, Target};
use crate::scenario::AppKind;
use crate::tasks::Tasks;
use crate::world::World;

const ATTACK: Duration = Duration::from_secs(120);
const SEEDS: u64 = 3;

/// Returns the leaf's scene without the simulator's own web server on the leaf.
fn scene() -> Scene {
    let mut scene = Scene::new(Target::Leaf, Mesh::Plain).expect("the generated scenario is valid");
    let apps = &mut scene.scenario.nodes[scene.attacked].apps;
    apps.retain(|app| !matches!(app.kind, AppKind::HttpServer { .. }));
    scene
}

/// Returns a world whose leaf runs the web server for devices.
fn world(scene: &Scene, seed: u64) -> World {
    let mut world = World::new(&scene.scenario, seed).expect("the generated scenario is valid");
    let server = Tasks::start(http::AT_ONCE + 1, |net, time| async move {
        let pause = |ms: u32| time.sleep(Duration::from_millis(ms.into()));
        panic!("{:?}", http::serve(&*net, 80, 50_000, pause).await);
    });
    world.add_app(scene.attacked, server);
    world
}

#[test]
fn slow_readers_leave_an_honest_flow_its_share_beside_the_web_server_for_devices() {
    let scene = scene();
    for name in ["trickle-readers", "slow-readers"] {
        let attack = ATTACKS.iter().find(|it| it.name == name);
        let attack = attack.expect("the drill has this attack");
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for seed in 1..=SEEDS {
            let alone = play::play_in(&mut world(&scene, seed), &scene, None, seed, ATTACK);
            let beside = Some((attack, &alone));
            with.push(play::play_in(
                &mut world(&scene, seed),
                &scene,
                beside,
                seed,
                ATTACK,
            ));
            without.push(alone);
        }
        let sum = |runs: &[RunResult], of: fn(&RunResult) -> u64| -> f64 {
            runs.iter().map(of).sum::<u64>() as f64
        };
        let share = sum(&with, |it| it.bytes) / sum(&without, |it| it.bytes);
        let new = sum(&with, |it| it.visits.done) / sum(&without, |it| it.visits.done);
        println!(
            "{name}: ratio of the values with and without the attack: {share:.3} for the bytes of the open connection, {new:.3} for the new visits that were served"
        );
        assert!(share >= KEEPS && new >= KEEPS, "{name}: {share}, {new}");
    }
}
