use redpoll_base::Instant;

use super::Addressee;
use crate::air::FrameClass;
use crate::air::Tape;
use crate::scenario::Scenario;
use crate::world::World;

fn world(name: &str) -> World {
    let scenario = Scenario::load(name, &[]).unwrap();
    World::new(&scenario, 1).unwrap()
}

#[test]
fn observing_a_run_does_not_change_it() {
    let run = |looks: bool| {
        let mut world = world("line-2");
        for second in 1..=5 {
            world.run_until(Instant::from_millis(second * 1_000));
            if looks {
                world.set_live(true);
                let changes = world.live_changes();
                assert_eq!(changes.until, world.now());
                assert!(second == 1 || !changes.frames.is_empty());
                let _ = world.live_sample();
            }
        }
        (world.digest(), world.report().events)
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn each_frame_is_recorded_with_its_outcome() {
    let mut world = world("line-3");
    world.set_live(true);
    world.run_until(Instant::from_millis(3_000));
    let changes = world.live_changes();
    assert_eq!(changes.skipped, 0);
    let mut last = 0;
    for frame in &changes.frames {
        assert!(frame.start < frame.end && !frame.mpdu.is_empty());
        assert!(frame.id == 0 || frame.id > last);
        last = frame.id;
        if frame.end < world.now() && frame.kind != FrameClass::Broadcast {
            let mut fates = changes.fates.iter().filter(|fate| fate.id == frame.id);
            let fate = fates.next().unwrap();
            if let Addressee::Node(node) = frame.to {
                assert_eq!(fate.at, node);
            }
            assert_eq!(fates.next(), None, "{frame:?}");
        }
    }
    assert!(changes.frames.len() > 100);
    world.set_live(false);
    world.run_until(Instant::from_millis(4_000));
    assert!(world.live_changes().frames.is_empty());
}

#[test]
fn unread_recordings_are_bounded() {
    let mut world = world("grid-30");
    world.set_live(true);
    world.run_until(Instant::from_millis(60_000));
    let changes = world.live_changes();
    assert_eq!(changes.frames.len(), Tape::FRAMES);
    assert!(changes.skipped > 0 && changes.fates.len() <= 4 * Tape::FRAMES);
}

#[test]
fn a_sample_has_parents_and_connections() {
    let mut world = world("line-3");
    world.run_until(Instant::from_millis(3_000));
    let sample = world.live_sample();
    let parents: Vec<_> = sample.nodes.iter().map(|node| node.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(2)]);
    let windows: Vec<_> = sample.connections.iter().map(|conn| conn.cwnd).collect();
    assert_eq!(windows.len(), 2);
    assert!(windows.iter().all(|cwnd| *cwnd > 0));
    assert!(sample.connections.iter().any(|conn| conn.rtt_ms > 0.0));
}

mod commands {
    use super::*;
    use crate::drill::{ATTACKS, Side};
    use crate::live::{Command, Refusal};

    fn until(world: &mut World, second: u64) {
        world.run_until(Instant::from_millis(second * 1_000));
    }

    fn delivered(world: &mut World) -> u64 {
        world
            .report()
            .flows
            .iter()
            .map(|flow| flow.delivered_bytes)
            .sum()
    }

    fn is_whole(world: &mut World) {
        let report = world.report();
        assert!(report.oracle.ok, "{:?}", report.oracle.violations);
    }

    #[test]
    fn a_node_that_is_killed_is_silent_until_it_is_revived() {
        let mut world = world("line-3");
        until(&mut world, 5);
        world.command(&Command::Kill { node: 1 }).unwrap();
        assert!(world.command(&Command::Kill { node: 1 }).is_err());
        until(&mut world, 6);
        let before = delivered(&mut world);
        until(&mut world, 10);
        assert_eq!(delivered(&mut world), before);
        world.command(&Command::Revive { node: 1 }).unwrap();
        assert!(world.command(&Command::Revive { node: 1 }).is_err());
        until(&mut world, 40);
        assert!(delivered(&mut world) > before);
        is_whole(&mut world);
    }

    #[test]
    fn a_node_moved_out_of_range_loses_and_regains_its_links() {
        for (scenario, sender) in [("line-3", 3), ("testbed-3", 7)] {
            let mut world = world(scenario);
            until(&mut world, 5);
            // The first router on the path of the flow.
            let node = world.parent_of(sender).unwrap();
            let (x, y) = world.scenario().nodes[node].position_m;
            let moved = |x_m| Command::Move {
                node: node as u32,
                x_m,
                y_m: y,
            };
            // Move the router out of range and back, at many instants and also during frames.
            for step in 0..40 {
                world
                    .command(&moved(x + f64::from(step % 2) * 5_000.0))
                    .unwrap();
                world.run_until(world.now() + redpoll_base::Duration::from_micros(1_700));
            }
            world.command(&moved(x + 5_000.0)).unwrap();
            assert_eq!(world.air().neighbours(node), []);
            until(&mut world, 6);
            let before = delivered(&mut world);
            until(&mut world, 9);
            assert_eq!(delivered(&mut world), before, "{scenario}");
            world.command(&moved(x)).unwrap();
            until(&mut world, 60);
            assert!(delivered(&mut world) > before, "{scenario}");
            is_whole(&mut world);
        }
    }

    #[test]
    fn moves_without_time_between_them_have_a_bound() {
        let mut world = world("line-3");
        until(&mut world, 3);
        while world.air().entries_under_way().iter().sum::<u64>() == 0 {
            let at = world.next_event_at().unwrap();
            world.run_until(at);
        }
        let moved = Command::Move {
            node: 1,
            x_m: 40.0,
            y_m: 1.0,
        };
        let refused = (0..100).find_map(|_| world.command(&moved).err());
        assert_eq!(refused, Some(Refusal::TooManyMoves));
        until(&mut world, 4);
        world.command(&moved).unwrap();
        until(&mut world, 8);
        is_whole(&mut world);
    }

    #[test]
    fn an_interferer_disturbs_until_it_is_silenced() {
        for scenario in ["line-2", "testbed-3"] {
            let mut world = world(scenario);
            until(&mut world, 5);
            let calm = delivered(&mut world);
            let (x_m, y_m) = world.scenario().nodes[1].position_m;
            let range_m = 100.0;
            world
                .command(&Command::Interfere {
                    x_m,
                    y_m,
                    range_m,
                    busy: 0.9,
                })
                .unwrap();
            // After a move during bursts, the bursts affect the node at its new position.
            for step in 0..20 {
                let x_m = x_m + f64::from(step % 2) * 4_000.0;
                world.command(&Command::Move { node: 1, x_m, y_m }).unwrap();
                world.run_until(world.now() + redpoll_base::Duration::from_micros(70_300));
            }
            world.command(&Command::Move { node: 1, x_m, y_m }).unwrap();
            until(&mut world, 8);
            let before = delivered(&mut world);
            until(&mut world, 13);
            let disturbed = delivered(&mut world) - before;
            assert!(disturbed < calm / 2, "{scenario}: {disturbed} of {calm}");
            world.command(&Command::Silence { interferer: 0 }).unwrap();
            until(&mut world, 60);
            let before = delivered(&mut world);
            until(&mut world, 65);
            assert!(delivered(&mut world) - before > calm / 2, "{scenario}");
            is_whole(&mut world);
        }
    }

    #[test]
    fn frames_are_lost_until_they_are_not() {
        let mut world = world("pair");
        until(&mut world, 2);
        let lose = |share| Command::Lose {
            from: Some(0),
            to: None,
            share,
        };
        world.command(&lose(1.0)).unwrap();
        until(&mut world, 3);
        let before = delivered(&mut world);
        until(&mut world, 6);
        assert_eq!(delivered(&mut world), before);
        world.command(&lose(0.0)).unwrap();
        assert_eq!(world.air().faults().rules(world.now()).count(), 0);
        until(&mut world, 40);
        assert!(delivered(&mut world) > before);
    }

    #[test]
    fn a_transfer_arrives() {
        for (scenario, from, to) in [("line-3", 0, 3), ("office", 14, 2), ("office", 0, 12)] {
            let mut world = world(scenario);
            until(&mut world, 1);
            world
                .command(&Command::Transfer {
                    from,
                    to,
                    bytes: 3_000,
                })
                .unwrap();
            world
                .command(&Command::Transfer {
                    from,
                    to,
                    bytes: 500,
                })
                .unwrap();
            until(&mut world, 60);
            let report = world.report();
            let flows = report.flows.iter();
            let sizes: Vec<_> = flows
                .filter(|flow| flow.name.starts_with("transfer"))
                .map(|flow| flow.delivered_bytes)
                .collect();
            assert_eq!(sizes, [3_000, 500], "{scenario}");
            is_whole(&mut world);
        }
    }

    #[test]
    fn a_node_is_attacked_until_the_attack_ends() {
        let office = Scenario::load("office", &[]).unwrap();
        let attacks = ATTACKS.iter().filter(|attack| attack.fits(&office));
        for attack in attacks.clone() {
            let mut world = world("office");
            let command = |name: Option<&str>| Command::Attack {
                node: 11,
                name: name.map(str::to_owned),
            };
            until(&mut world, 5);
            world.set_live(true);
            let said = world.command(&command(Some(attack.name))).unwrap();
            assert!(
                said.contains("leaf-12") && said.contains(attack.name),
                "{said}"
            );
            let packets = |world: &mut World, second: u64| {
                until(world, second);
                let packets = world.live_changes().packets;
                packets.iter().filter(|it| it.into_mesh).count() as u32
            };
            let before = delivered(&mut world);
            let arrived = packets(&mut world, 15);
            let expected = 10 * attack.per_s;
            assert!(arrived >= expected - 1, "{}: {arrived}", attack.name);
            world.command(&command(None)).unwrap();
            packets(&mut world, 16);
            assert_eq!(packets(&mut world, 20), 0, "{}", attack.name);
            assert!(delivered(&mut world) > before);
            is_whole(&mut world);
        }
        assert!(attacks.count() >= 13);
    }

    /// Alternative settings of the scenario `intruder`. For each attack, one of them fits.
    const FORMS: [&[(&str, &str)]; 4] = [
        &[],
        &[("rpl.mode", "non-storing")],
        &[
            ("lowpan.fragment_forwarding", "true"),
            ("lowpan.fragment_recovery", "true"),
        ],
        &[
            ("security.level", "enc-mic-32"),
            ("security.key", "000102030405060708090a0b0c0d0e0f"),
        ],
    ];

    #[test]
    fn every_attack_runs_in_the_mesh_with_an_attacker() {
        let forms = FORMS.map(|form| {
            let settings = form
                .iter()
                .map(|(key, value)| ((*key).into(), (*value).into()));
            Scenario::load("intruder", &settings.collect::<Vec<_>>()).unwrap()
        });
        for attack in &ATTACKS {
            let scenario = forms.iter().find(|scenario| attack.fits(scenario));
            let scenario = scenario.unwrap_or_else(|| panic!("{} fits no form", attack.name));
            let node = |name: &str| scenario.node(name).unwrap() as u32;
            let mut world = World::new(scenario, 1).unwrap();
            until(&mut world, 45);
            let before = delivered(&mut world);
            assert!(before > 0, "{}", attack.name);
            world.set_live(true);
            let sent = |world: &mut World, second: u64| {
                until(world, second);
                let changes = world.live_changes();
                let packets = changes.packets.iter().filter(|it| it.into_mesh).count();
                let foe = node("foe");
                let forged = changes.frames.iter().filter(|frame| frame.from == foe);
                match attack.side {
                    Side::Host => packets as u32,
                    Side::Air => forged.count() as u32,
                }
            };
            let quiet = sent(&mut world, 47);
            let command = |name: Option<&str>| Command::Attack {
                node: node("leaf"),
                name: name.map(str::to_owned),
            };
            world.command(&command(Some(attack.name))).unwrap();
            let during = sent(&mut world, 57);
            let expected = 10 * attack.per_s * 8 / 10;
            assert!(during >= expected, "{}: {during}", attack.name);
            world.command(&command(None)).unwrap();
            sent(&mut world, 58);
            let after = sent(&mut world, 60);
            if attack.side == Side::Air {
                assert_eq!([quiet, after], [0, 0], "{}", attack.name);
            }
            until(&mut world, 90);
            assert!(delivered(&mut world) > before, "{}", attack.name);
            is_whole(&mut world);
        }
    }

    #[test]
    fn the_attacker_itself_is_not_attacked() {
        let mut world = world("intruder");
        let foe = world.scenario().node("foe").unwrap() as u32;
        let refused = world.command(&Command::Attack {
            node: foe,
            name: Some("echo-flood".to_owned()),
        });
        assert_eq!(refused, Err(Refusal::IsAttacker("foe".to_owned())));
    }

    #[test]
    fn invalid_commands_are_refused_without_an_effect() {
        let nonsense = [
            Command::Kill { node: 99 },
            Command::Revive { node: 0 },
            Command::Attack {
                node: 1,
                name: Some("a-plague".to_owned()),
            },
            Command::Move {
                node: 4,
                x_m: 0.0,
                y_m: 0.0,
            },
            Command::Move {
                node: 0,
                x_m: f64::NAN,
                y_m: 0.0,
            },
            Command::Move {
                node: 0,
                x_m: 0.0,
                y_m: 1e300,
            },
            Command::Lose {
                from: Some(9),
                to: None,
                share: 0.5,
            },
            Command::Lose {
                from: None,
                to: None,
                share: 1.5,
            },
            Command::Lose {
                from: None,
                to: None,
                share: f64::NAN,
            },
            Command::Interfere {
                x_m: 0.0,
                y_m: 0.0,
                range_m: -1.0,
                busy: 0.5,
            },
            Command::Interfere {
                x_m: 0.0,
                y_m: 0.0,
                range_m: 9.0,
                busy: 1.0,
            },
            Command::Silence { interferer: 0 },
            Command::Transfer {
                from: 0,
                to: 0,
                bytes: 1,
            },
            Command::Transfer {
                from: 0,
                to: 1,
                bytes: 0,
            },
            Command::Transfer {
                from: 0,
                to: 77,
                bytes: 1,
            },
        ];
        let digest = |commands: &[Command]| {
            let mut world = world("line-3");
            until(&mut world, 1);
            for command in commands {
                assert!(world.command(command).is_err(), "{command:?}");
            }
            until(&mut world, 3);
            world.digest()
        };
        assert_eq!(digest(&nonsense), digest(&[]));
    }
}
