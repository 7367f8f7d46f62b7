//! The DIOs of a node with RPL, and its choice of a parent (RFC 6550 §8, RFC 6719, RFC 6552).
#![cfg(all(feature = "rpl-root", feature = "rpl-storing"))]

use crate::common;

use common::dodag::*;
use common::lone::Lone;
use common::rules::TestRules;
use common::{address, packets};
use redpoll_base::Duration;
use redpoll_stack::RplRole;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::{
    ALL_NODES, Configuration, INFINITE_RANK, Message, Options, RplOption, objective, status,
};

fn parent(lone: &Lone) -> Option<Address> {
    lone.node.rpl_place().expect("the node routes by RPL").1
}

/// Makes the node lose `count` frames to its parent, each with all its attempts.
fn lose_frames(lone: &mut Lone, count: usize) {
    lone.deaf = true;
    for _ in 0..count {
        lone.link_sends(CHILD, &packets::echo_request(address(CHILD), address(99)));
        lone.run_for(Duration::from_millis(300));
    }
    lone.deaf = false;
    lone.frames.clear();
}

/// Returns how many DIOs the node multicasts in 40 s, while it receives 20 DIOs a second of `rank`.
fn dios_beside(from: u16, rank: u16) -> u32 {
    let mut lone = joined();
    let before = lone.node.rpl_counters().dios_sent;
    for _ in 0..40 * 20 {
        dio(&mut lone, from, VERSION, rank);
        lone.run_for(Duration::from_millis(50));
    }
    lone.node.rpl_counters().dios_sent - before
}

/// RFC 6550 §8.3: a consistent DIO from a node nearer to the root suppresses the node's own DIO.
/// A DIO from any other node does not, because the nodes behind this node may not receive it.
#[test]
fn only_dios_from_nearer_the_root_suppress_ones_own() {
    assert_eq!(dios_beside(ROOT, 128), 0);
    for rank in [300, 600] {
        let sent = dios_beside(ROUTER, rank);
        assert!((3..=8).contains(&sent), "{rank}: {sent}");
    }
}

/// A rank that differs from the last advertised one is not suppressed by DIOs of neighbours.
#[test]
fn a_changed_rank_is_not_suppressed() {
    let mut lone = joined();
    lone.run_for(Duration::from_secs(8));
    lose_frames(&mut lone, 1);
    assert!(lone.node.rpl_place().unwrap().0 > 400);
    let before = lone.node.rpl_counters().dios_sent;
    for _ in 0..40 * 20 {
        dio(&mut lone, ROOT, VERSION, 128);
        lone.run_for(Duration::from_millis(50));
    }
    assert_eq!(lone.node.rpl_counters().dios_sent - before, 1);
}

/// RFC 6550 §8.3: a unicast DIS is answered by a unicast DIO with the configuration, without effect
/// on Trickle.
#[test]
fn a_solicitation_of_one_node_is_answered_to_the_asker() {
    let mut lone = joined();
    lone.run_for(Duration::from_secs(60));
    lone.frames.clear();
    let options = Options::default();
    let ask = Message::Dis { options };
    say(&mut lone, CHILD, link_local(1), &ask);
    let dios = said(&mut lone, 1);
    let [(to, body)] = &dios[..] else {
        panic!("one DIO: {dios:?}");
    };
    assert_eq!(*to, link_local(CHILD));
    let Ok(Message::Dio(dio)) = Message::parse(1, body) else {
        panic!("a DIO");
    };
    assert_eq!(dio.options.configuration(), Some(CONFIGURATION));
    assert_eq!(lone.node.rpl_counters().trickle_resets, 0);
}

/// RFC 6550 §8.5: a leaf joins, sends DAOs for itself, advertises no routes, and accepts no DAO.
#[test]
fn a_leaf_only_joins() {
    let mut lone = lone(RplRole::Leaf);
    dio(&mut lone, ROOT, VERSION, 128);
    lone.run_for(Duration::from_secs(3));
    assert_eq!(parent(&lone), Some(Address::Short(ROOT)));
    assert_eq!(said(&mut lone, 2).len(), 1, "a DAO of its own");
    let options = Options::default();
    say(&mut lone, CHILD, ALL_NODES, &Message::Dis { options });
    lone.run_for(Duration::from_secs(30));
    assert_eq!(said(&mut lone, 1), [], "no DIO to everybody");
    let options = Options::default();
    say(&mut lone, CHILD, link_local(1), &Message::Dis { options });
    let dios = said(&mut lone, 1);
    assert_eq!(dios[0].1[2..4], INFINITE_RANK.to_be_bytes());
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30)]);
    assert_eq!(lone.node.rpl_targets(lone.now), 0);
    assert_eq!(lone.node.rpl_counters().implausible, 1);
}

fn zero_options(from: u16) -> Vec<u8> {
    let objective = objective::OF0;
    let configuration = Configuration {
        objective,
        ..CONFIGURATION
    };
    let prefix = dio_options(from);
    let prefix = Options::parse(&prefix).unwrap().prefix().unwrap();
    bytes(&[
        RplOption::Configuration(configuration),
        RplOption::Prefix(prefix),
    ])
}

/// RFC 6552 §4.1, with the step of rank of RFC 8180 §5.1.2: 3 * ETX - 2, limited to 1 to 9 steps.
/// The node chooses a parent that gives a lower rank at once.
#[test]
fn objective_function_zero_counts_steps_of_rank() {
    let mut lone = lone(RplRole::Router);
    let dio = |lone: &mut Lone, from: u16, rank: u16| {
        dio_with(lone, from, VERSION, rank, &zero_options(from), |_| ());
    };
    dio(&mut lone, ROUTER, 256);
    // No frame was sent yet, so the ETX is 2: four steps.
    assert_eq!(lone.node.rpl_place().unwrap().0, 256 + 4 * 128);
    lone.run_for(Duration::from_secs(3));
    // The first attempt of a DAO succeeded, so the ETX is 1.5: two steps.
    assert_eq!(lone.node.rpl_place().unwrap().0, 256 + 2 * 128);
    // A slightly lower rank is enough; MRHOF would require a difference of 1.5 transmissions.
    dio(&mut lone, ROOT, 128);
    assert_eq!(parent(&lone), Some(Address::Short(ROUTER)), "four steps");
    // The node changes to the root when the root has acknowledged a frame: the ETX is 1.5 then.
    lone.absent.insert(ROUTER);
    lone.link_sends(CHILD, &packets::echo_request(address(CHILD), address(99)));
    lone.run_for(Duration::from_millis(400));
    assert_eq!(parent(&lone), Some(Address::Short(ROOT)));
    assert_eq!(lone.node.rpl_place().unwrap().0, 128 + 2 * 128);
}

#[test]
fn a_busy_channel_does_not_make_a_link_bad() {
    let mut lone = joined();
    let place = lone.node.rpl_place();
    lone.busy = true;
    for _ in 0..8 {
        lone.link_sends(CHILD, &packets::echo_request(address(CHILD), address(99)));
        lone.run_for(Duration::from_millis(600));
    }
    assert_eq!(lone.node.rpl_place(), place);
}

/// The node measures the links to other possible parents by a DIS from time to time, first to a
/// neighbour to which it has sent no frame. A neighbour of too high a rank gets no DIS.
#[test]
fn possible_parents_are_probed() {
    let mut lone = lone(RplRole::Router);
    let mut probed = Vec::new();
    for _ in 0..20 {
        dio(&mut lone, ROUTER, VERSION, 256);
        dio(&mut lone, 5, VERSION, 280);
        dio(&mut lone, 6, VERSION, 1_100);
        lone.run_for(Duration::from_secs(30));
        probed.extend(said(&mut lone, 0).into_iter().map(|(to, _)| to));
    }
    assert!(
        (4..=14).contains(&probed.len()),
        "in ten minutes: {probed:?}"
    );
    assert!(probed.iter().all(|to| *to == link_local(5)));
}

#[test]
fn a_flood_of_neighbours_keeps_the_parent_and_the_nearest_ones() {
    let mut lone = lone(RplRole::Router);
    dio(&mut lone, ROUTER, VERSION, 256);
    lone.run_for(Duration::from_secs(3));
    dio(&mut lone, 5, VERSION, 300);
    for n in 0..500_u16 {
        dio(&mut lone, 1_000 + n, VERSION, 600 + n % 7);
    }
    assert!(lone.node.rpl_counters().neighbours_refused >= 400);
    assert_eq!(parent(&lone), Some(Address::Short(ROUTER)));
    // The parent is lost, and the next best one is still known.
    lone.run_for(Duration::from_secs(120));
    for _ in 0..4 {
        if parent(&lone) == Some(Address::Short(ROUTER)) {
            lose_frames(&mut lone, 1);
        }
    }
    assert_eq!(parent(&lone), Some(Address::Short(5)));
}

/// RFC 6550 §9.8: a parent whose table is full refuses the DAO, and the node changes to
/// another parent. Without another one, it stays and repeats the DAO.
#[test]
fn a_parent_without_room_is_left() {
    let mut lone = lone_with(RplRole::Router, |config| config.dao_ack = true);
    dio(&mut lone, ROUTER, VERSION, 256);
    dio(&mut lone, 5, VERSION, 300);
    assert_eq!(parent(&lone), Some(Address::Short(ROUTER)));
    lone.run_for(Duration::from_secs(2));
    let daos = said(&mut lone, 2);
    dao_ack(&mut lone, ROUTER, daos[0].1[3], status::REJECTED);
    assert_eq!(lone.node.rpl_counters().daos_refused, 1);
    lone.run_for(Duration::from_secs(2));
    assert_eq!(parent(&lone), Some(Address::Short(5)));
    let daos = said(&mut lone, 2);
    let to_it = daos.iter().find(|(to, _)| *to == link_local(5));
    dao_ack(&mut lone, 5, to_it.expect("a DAO").1[3], status::REJECTED);
    assert!(parent(&lone).is_some(), "better than none");
    lone.run_for(Duration::from_secs(100));
    assert!(!said(&mut lone, 2).is_empty(), "it asks again");
}

/// RFC 6551 §3.1: with load awareness an overloaded neighbour counts as two transmissions farther
/// away; without load awareness, its load does not count.
#[test]
fn an_overloaded_neighbour_is_avoided() {
    for (aware, chosen) in [(false, ROUTER), (true, 5)] {
        let mut lone = lone_with(RplRole::Router, |config| {
            config.dao_ack = false;
            config.load_aware = aware;
        });
        dio(&mut lone, ROUTER, VERSION, 256);
        dio(&mut lone, 5, VERSION, 280);
        lone.run_for(Duration::from_secs(3));
        assert_eq!(parent(&lone), Some(Address::Short(ROUTER)));
        let state = bytes(&[RplOption::NodeState { overloaded: true }]);
        let options = [dio_options(ROUTER), state].concat();
        // The link to neighbour 5 proves to be as good as the link to `ROUTER`.
        for _ in 0..10 {
            dio(&mut lone, 5, VERSION, 280);
            lone.run_for(Duration::from_secs(60));
        }
        dio_with(&mut lone, ROUTER, VERSION, 256, &options, |_| ());
        assert_eq!(parent(&lone), Some(Address::Short(chosen)), "{aware}");
    }
}

/// RFC 6719 §3.2.2 (3): the rules set the switch threshold, and the ETX of an unused link.
#[test]
fn a_neighbour_better_by_the_threshold_becomes_the_parent() {
    for (initial_etx, switch_threshold, rank, chosen) in [
        (256, 192, 318, ROUTER),
        (128, 192, 318, ROUTER),
        (128, 64, 318, 5),
        (128, 64, 328, ROUTER),
        // An equal neighbour does not replace the parent, even with the lowest threshold.
        (128, 0, 384, ROUTER),
    ] {
        let rules = TestRules {
            initial_etx,
            switch_threshold: Some(switch_threshold),
            ..TestRules::default()
        };
        let mut lone = lone_by(rules, RplRole::Router, |config| config.dao_ack = false);
        dio(&mut lone, ROUTER, VERSION, 384);
        // A DAO measures the link to the parent: one transmission.
        lone.run_for(Duration::from_secs(3));
        dio(&mut lone, 5, VERSION, rank);
        // Neighbour 5 must acknowledge a frame first.
        lone.run_for(Duration::from_millis(100));
        let what = (initial_etx, switch_threshold, rank);
        assert_eq!(parent(&lone), Some(Address::Short(chosen)), "{what:?}");
    }
}

/// With [`TestRules::by_hops`] a node stays with the root over a lossy link. When the link's ETX
/// exceeds 3, the node gives up the root, although it has no other parent, and joins with the next
/// DIO, of any rank. With ranks by ETX, the node changes to a router with a good link at once.
#[test]
fn by_hops_a_node_stays_with_the_root_over_a_bad_link() {
    for (by_hops, lost, rank, kept, chosen) in [
        (false, 1, 256, true, ROUTER),
        (true, 1, 256, true, ROOT),
        (true, 2, 256, false, ROUTER),
        (true, 2, 384, false, ROUTER),
    ] {
        let rules = TestRules {
            by_hops,
            initial_etx: 128,
            ..TestRules::default()
        };
        let mut lone = lone_by(rules, RplRole::Router, |config| config.dao_ack = false);
        let zero = |mut configuration: Configuration| {
            configuration.objective = objective::OF0;
            RplOption::Configuration(configuration)
        };
        let options = [bytes(&[zero(CONFIGURATION)]), dio_options(ROOT)].concat();
        let say = |lone: &mut Lone, from, rank| {
            dio_with(lone, from, VERSION, rank, &options, |_| ());
        };
        say(&mut lone, ROOT, 128);
        lone.run_for(Duration::from_secs(8));
        lose_frames(&mut lone, lost);
        lone.run_for(Duration::from_secs(60));
        let what = (by_hops, lost, rank);
        let present = kept.then_some(Address::Short(ROOT));
        assert_eq!(parent(&lone), present, "{what:?}");
        say(&mut lone, ROUTER, rank);
        lone.run_for(Duration::from_millis(100));
        assert_eq!(parent(&lone), Some(Address::Short(chosen)), "{what:?}");
    }
}

/// Before its first DAO, no route leads to a node. Until then any better parent replaces the one
/// that answered first; afterwards the threshold applies.
#[test]
fn before_its_first_dao_a_node_takes_any_better_parent() {
    for role in [RplRole::Leaf, RplRole::Router] {
        for (waits, chosen) in [(false, 5), (true, ROUTER)] {
            let mut lone = lone_with(role, |config| config.dao_ack = false);
            dio(&mut lone, ROUTER, VERSION, 384);
            if waits {
                // DelayDAO is a second.
                lone.run_for(Duration::from_secs(3));
            }
            // Neighbour 5 is a hop nearer to the root: the rank falls by 128; the threshold is 192.
            dio(&mut lone, 5, VERSION, 256);
            assert_eq!(parent(&lone), Some(Address::Short(chosen)), "{role:?}");
            lone.run_for(Duration::from_secs(3));
            let (to, _) = said(&mut lone, 2).remove(0);
            let first = if waits { ROUTER } else { chosen };
            assert_eq!(to, link_local(first), "{role:?}");
        }
    }
}

/// RFC 6719 §3.2.2: of several neighbours with the smallest cost, any may be chosen. Not all nodes
/// choose the first one that they hear, or the one with the lowest address. Once a DAO has left,
/// the node stays with its choice.
#[test]
fn equal_neighbours_are_chosen_equally_often() {
    let mut chosen = [0; 3];
    for base in (10..310).step_by(3) {
        let mut lone = lone_with(RplRole::Router, |config| config.dao_ack = false);
        let neighbours = [base, base + 1, base + 2];
        for neighbour in neighbours {
            dio(&mut lone, neighbour, VERSION, 384);
        }
        let Some(Address::Short(first)) = parent(&lone) else {
            panic!("a parent");
        };
        chosen[usize::from(first - base)] += 1;
        lone.run_for(Duration::from_secs(3));
        for neighbour in neighbours {
            dio(&mut lone, neighbour, VERSION, 384);
        }
        assert_eq!(parent(&lone), Some(Address::Short(first)));
    }
    // A hundred draws from three: 33 each, with a standard deviation of 4.7.
    assert!(chosen.iter().all(|it| (19..=47).contains(it)), "{chosen:?}");
}

/// The more targets a router has, the higher is its threshold for a change of parent, because DAOs
/// for all of them have to reach the root by the new path. An improvement equal to the threshold is
/// enough (RFC 6719 §3.2.2 (3)).
#[test]
fn a_router_with_targets_keeps_its_parent_longer() {
    // Every frame needs one transmission, so the first frame does not change the ETX of a link.
    let etx = 128;
    let rules = TestRules {
        initial_etx: etx,
        ..TestRules::default()
    };
    for (targets, threshold) in [(0, 192), (3, 192), (4, 384), (15, 384), (16, 768)] {
        for better in [threshold - 1, threshold] {
            let mut lone = route(Lone::with_routes(20), rules, RplRole::Router, |config| {
                config.dao_ack = false;
            });
            dio(&mut lone, ROUTER, VERSION, 1_400);
            for target in 0..targets {
                let to = 100 + u16::from(target);
                dao(&mut lone, CHILD, target, &[(to, 240, 30)]);
                // The child acknowledges the answer to its first DAO.
                lone.run_for(Duration::from_millis(100));
            }
            lone.run_for(Duration::from_secs(10));
            assert_eq!(lone.node.rpl_targets(lone.now), usize::from(targets));
            for _ in 0..3 {
                dio(&mut lone, 5, VERSION, 1_400 - better);
                lone.run_for(Duration::from_secs(5));
            }
            let chosen = if better < threshold { ROUTER } else { 5 };
            let what = format!("{targets} targets, better by {better}");
            assert_eq!(parent(&lone), Some(Address::Short(chosen)), "{what}");
        }
    }
}

#[test]
fn daos_come_again_by_their_interval() {
    for (interval_s, least, most) in [(None, 1, 1), (Some(10), 9, 10)] {
        let rules = TestRules {
            dao_interval: interval_s.map(Duration::from_secs),
            ..TestRules::default()
        };
        let mut lone = lone_by(rules, RplRole::Router, |config| config.dao_ack = false);
        dio(&mut lone, ROUTER, VERSION, 256);
        lone.run_for(Duration::from_secs(100));
        let daos = said(&mut lone, 2).len();
        assert!((least..=most).contains(&daos), "{interval_s:?} s: {daos}");
    }
}
