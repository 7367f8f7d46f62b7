//! DAOs with several targets (RFC 6550 §6.4, §9.4).
#![cfg(all(feature = "rpl-root", feature = "rpl-storing"))]

use crate::common;

use common::dodag::*;
use common::lone::Lone;
use common::rules::TestRules;
use common::{address, packets, prefix};
use redpoll_base::{Addr, Duration};
use redpoll_mac::RxInfo;
use redpoll_stack::{RplRole, RplRoot};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::{
    Dao, MESSAGE_TYPE, Message, Options, RplOption, Sequence, TargetOption, Transit, mode, status,
};

/// Returns a DAO of a neighbour with the targets 100 to 119. Each has its own transit information
/// or, if `is_group`, all share one.
fn twenty(number: u8, is_group: bool) -> Vec<u8> {
    let transit = RplOption::Transit(Transit {
        external: false,
        control: 0,
        sequence: Sequence(240),
        lifetime: 30,
        parent: None,
    });
    let mut options = Vec::new();
    for target in 100..120 {
        options.push(RplOption::Target(TargetOption {
            prefix: address(target),
            len: 128,
        }));
        if !is_group || target == 119 {
            options.push(transit);
        }
    }
    [&[0, 0x80, 0, number][..], &bytes(&options)].concat()
}

/// RFC 6550 §6.4: a neighbour's DAO may have more targets than fit into a frame. The node
/// reassembles its fragments in any order, also if fragments of another neighbour's DAO come in
/// between, and accepts all targets. If a fragment is lost, it accepts no target and sends no
/// acknowledgement until the repeated DAO arrives.
#[test]
fn a_dao_of_twenty_targets_arrives_in_fragments() {
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Way {
        InOrder,
        Reversed,
        Twice,
        Interleaved,
        WithoutFirst,
        WithoutThird,
        WithoutLast,
    }
    use Way::*;
    let root = RplRole::Root(RplRoot::new(prefix(), mode::STORING, CONFIGURATION));
    let ways = [
        InOrder,
        Reversed,
        Twice,
        Interleaved,
        WithoutFirst,
        WithoutThird,
        WithoutLast,
    ];
    for (way, is_group) in ways.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let what = format!("{way:?}, one group: {is_group}");
        let rules = TestRules::default();
        let mut lone = route(Lone::with_routes(20), rules, root, |_| {});
        lone.run_for(Duration::from_secs(10));
        // The neighbour acknowledges the answer to its first DAO.
        dao(&mut lone, CHILD, 0, &[(100, 240, 30)]);
        let _ = acks(&mut lone);
        let fragments = |lone: &mut Lone, from: u16, number: u8| {
            let body = twenty(number, is_group);
            let (src, dst) = (link_local(from), link_local(1));
            let packet = packets::icmp(src, dst, 255, MESSAGE_TYPE, 2, &body);
            lone.frames_of(Address::Short(from), Address::Short(1), &packet)
        };
        let mut frames = fragments(&mut lone, CHILD, 1);
        assert!(frames.len() >= 5, "{what}: {} frames", frames.len());
        match way {
            InOrder => {}
            Reversed => frames.reverse(),
            Twice => {
                frames = frames
                    .iter()
                    .flat_map(|it| [it.clone(), it.clone()])
                    .collect()
            }
            Interleaved => {
                let others = fragments(&mut lone, 5, 1);
                let both = frames.into_iter().zip(others);
                frames = both.flat_map(|(one, other)| [other, one]).collect();
            }
            WithoutFirst => _ = frames.remove(0),
            WithoutThird => _ = frames.remove(2),
            WithoutLast => _ = frames.pop(),
        }
        let is_whole = !matches!(way, WithoutFirst | WithoutThird | WithoutLast);
        let arrive = |lone: &mut Lone, frames: &[Vec<u8>]| {
            for frame in frames {
                lone.node.input_frame(lone.now, frame, RxInfo::default());
            }
        };
        arrive(&mut lone, &frames);
        let (targets, answers) = if is_whole { (20, vec![0]) } else { (1, vec![]) };
        assert_eq!(lone.node.rpl_targets(lone.now), targets, "{what}");
        let answered = acks(&mut lone);
        assert!(
            answered == answers || way == Interleaved,
            "{what}: {answered:?}"
        );
        // The repeated DAO need not wait for the reassembly timeout of 60 s (RFC 4944 §5.3).
        lone.run_for(Duration::from_secs(5));
        let _ = acks(&mut lone);
        let again = fragments(&mut lone, CHILD, 2);
        arrive(&mut lone, &again);
        assert_eq!(lone.node.rpl_targets(lone.now), 20, "{what}");
        assert_eq!(acks(&mut lone), [status::ACCEPTED], "{what}");
    }
}

/// A neighbour that has not acknowledged a frame yet has eight routes at most (ADR 38). A DAO with
/// more targets is not rejected: it is left without an answer, the neighbour acknowledges a DIS,
/// and its repeated DAO is accepted.
#[test]
fn a_large_dao_of_a_new_neighbour_is_accepted_when_it_is_repeated() {
    let root = RplRole::Root(RplRoot::new(prefix(), mode::STORING, CONFIGURATION));
    let rules = TestRules::default();
    let mut lone = route(Lone::with_routes(20), rules, root, |_| {});
    lone.run_for(Duration::from_secs(10));
    say_bytes(&mut lone, CHILD, link_local(1), 2, &twenty(1, false));
    assert_eq!(lone.node.rpl_targets(lone.now), 8);
    assert_eq!(acks(&mut lone), []);
    say_bytes(&mut lone, CHILD, link_local(1), 2, &twenty(1, false));
    assert_eq!(lone.node.rpl_targets(lone.now), 20);
    assert_eq!(acks(&mut lone), [status::ACCEPTED]);
}

/// RFC 6550 §9.4: a DAO has as many targets as `dao_targets` allows, at most twenty. By default a
/// DAO fits into a frame.
#[test]
fn a_dao_has_as_many_targets_as_its_sender_may_put_into_it() {
    for (dao_targets, most) in [(0, 1), (1, 1), (4, 4), (5, 5), (20, 20), (255, 20)] {
        let rules = TestRules::default();
        let mut lone = route(Lone::with_routes(40), rules, RplRole::Router, |config| {
            config.dao_ack = false;
            config.dao_targets = dao_targets;
        });
        dio(&mut lone, ROOT, VERSION, 128);
        lone.run_for(Duration::from_secs(3));
        let _ = said(&mut lone, 2);
        for part in 0..10_u16 {
            let targets: Vec<_> = (0..4).map(|it| (100 + part * 4 + it, 240, 30)).collect();
            dao(&mut lone, CHILD, part as u8, &targets);
            // The child acknowledges the answer.
            lone.run_for(Duration::from_millis(100));
        }
        let (mut all, mut fragments) = (Vec::new(), 0);
        for _ in 0..120 {
            lone.run_for(Duration::from_secs(1));
            // RFC 4944 §5.3: fragments begin with the bits 11.
            let to_parent = lone.frames.iter().filter(|it| it.0 == Address::Short(ROOT));
            fragments += to_parent.filter(|it| it.1[0] >> 6 == 3).count();
            for (_, body) in said(&mut lone, 2) {
                let targets = targets_of(&body);
                assert!((1..=most).contains(&targets.len()), "{dao_targets}");
                all.push(targets);
            }
        }
        assert!(
            all.iter().any(|it| it.len() == most),
            "{dao_targets}: {all:?}"
        );
        assert_eq!(fragments > 0, most > 4, "{dao_targets}: {fragments}");
        let mut targets = all.concat();
        targets.retain(|it| *it != address(1));
        targets.sort();
        targets.dedup();
        assert_eq!(targets.len(), 40, "{dao_targets}");
    }
}

/// RFC 6550 §9.4: a group has any number of targets. The node processes every target that fits in a
/// packet, in groups of any size, and also a No-Path for each of these groups.
#[test]
fn groups_of_targets_have_any_size() {
    let root = RplRoot::new(prefix(), mode::STORING, CONFIGURATION);
    for sizes in [&[1][..], &[4], &[5], &[6], &[1, 5], &[5, 1], &[3, 3]] {
        let mut lone = lone(RplRole::Root(root));
        lone.run_for(Duration::from_secs(10));
        let told = |lifetime: u8| {
            let mut options = Vec::new();
            let mut target = 100;
            for &size in sizes {
                for _ in 0..size {
                    options.push(RplOption::Target(TargetOption {
                        prefix: address(target),
                        len: 128,
                    }));
                    target += 1;
                }
                options.push(RplOption::Transit(Transit {
                    external: false,
                    control: 0,
                    sequence: Sequence(240),
                    lifetime,
                    parent: None,
                }));
            }
            bytes(&options)
        };
        let count: usize = sizes.iter().sum();
        for (lifetime, reachable) in [(30, count), (0, 0)] {
            let options = told(lifetime);
            let dao = Message::Dao(Dao {
                instance: 0,
                acknowledge: true,
                sequence: 1,
                dodag: None,
                options: Options::parse(&options).unwrap(),
            });
            say(&mut lone, CHILD, link_local(1), &dao);
            assert_eq!(acks(&mut lone), [status::ACCEPTED], "{sizes:?}");
            assert_eq!(lone.node.rpl_targets(lone.now), reachable, "{sizes:?}");
            for target in 100..100 + count as u16 {
                lone.frames.clear();
                let asked = packets::echo_request(Addr([0x20; 16]), address(target));
                let _ = lone.host_sends(&asked);
                let to_child = |(to, _): &(Address, Vec<u8>)| *to == Address::Short(CHILD);
                let is_reached = lone.link_packets().iter().any(to_child);
                assert_eq!(is_reached, lifetime > 0, "{sizes:?}: {target}");
            }
        }
    }
}

/// Returns whether a packet of the host, or of the neighbour `from`, for `to` leaves for the child.
fn reaches_child(lone: &mut Lone, from: Option<u16>, to: u16) -> bool {
    let _ = lone.link_packets();
    let asked = packets::echo_request(Addr([0x20; 16]), address(to));
    match from {
        None => _ = lone.host_sends(&asked),
        Some(from) => lone.link_sends(from, &asked),
    }
    let sent = lone.link_packets();
    sent.iter().any(|(hop, _)| *hop == Address::Short(CHILD))
}

/// RFC 6550 §6.4.3: an acknowledged No-Path ends the route at once, at a root and at a router. No
/// packet of the host, the parent or another neighbour goes to the child afterwards. A No-Path with
/// an older Path Sequence, or from another neighbour, changes nothing. Other targets in the same
/// DAO make no difference.
#[test]
fn an_acknowledged_no_path_ends_the_route_at_once() {
    const OTHER: u16 = 8;
    let root = RplRoot::new(prefix(), mode::STORING, CONFIGURATION);
    for is_root in [true, false] {
        for (from, sequence, ends) in [
            (CHILD, 240, true),
            (CHILD, 241, true),
            (CHILD, 255, true),
            (CHILD, 239, false),
            (OTHER, 241, false),
        ] {
            for (others, withdrawn) in [(0, 0), (1, 0), (1, 1), (3, 0), (3, 3)] {
                let what =
                    format!("root {is_root}, from {from}, {sequence}, {withdrawn} of {others}");
                let mut lone = match is_root {
                    true => {
                        let mut lone = lone(RplRole::Root(root));
                        lone.run_for(Duration::from_secs(10));
                        lone
                    }
                    false => joined(),
                };
                let told = |lifetime: u8, own: u8, path: u8| -> Vec<(u16, u8, u8)> {
                    let more = (0..others).map(|it| (101 + it, path, lifetime));
                    [(100, path, own)].into_iter().chain(more).collect()
                };
                dao(&mut lone, CHILD, 1, &told(30, 30, 240));
                assert_eq!(acks(&mut lone), [status::ACCEPTED], "{what}");
                let senders = [None, Some(ROUTER), Some(OTHER)];
                for sender in senders {
                    assert!(reaches_child(&mut lone, sender, 100), "{what}, {sender:?}");
                }
                let rest = if withdrawn > 0 { 0 } else { 30 };
                dao(&mut lone, from, 2, &told(rest, 0, sequence));
                let _ = acks(&mut lone);
                for sender in senders {
                    let reaches = reaches_child(&mut lone, sender, 100);
                    assert_eq!(reaches, !ends, "{what}, {sender:?}");
                    for other in 0..others {
                        let reaches = reaches_child(&mut lone, sender, 101 + other);
                        let is_withdrawn = ends && withdrawn > 0;
                        assert_eq!(reaches, !is_withdrawn, "{what}, {sender:?}, {other}");
                    }
                }
            }
        }
    }
}

/// RFC 6550 §9.4: a target may have several parents. The root uses the first one.
#[test]
fn of_several_parents_of_a_target_the_first_one_is_used() {
    let root = RplRoot::new(prefix(), mode::NON_STORING, CONFIGURATION);
    for parents in [[ROUTER, 4], [4, ROUTER]] {
        let mut lone = lone(RplRole::Root(root));
        lone.run_for(Duration::from_secs(10));
        for child in [ROUTER, 4] {
            tell(&mut lone, child, child, child, 1, |_| {});
        }
        let mut options = vec![RplOption::Target(TargetOption {
            prefix: address(12),
            len: 128,
        })];
        options.extend(parents.map(|parent| {
            RplOption::Transit(Transit {
                external: false,
                control: 0,
                sequence: Sequence(240),
                lifetime: 30,
                parent: Some(address(parent)),
            })
        }));
        let body = [&[0, 0, 0, 1][..], &bytes(&options)].concat();
        let packet = packets::icmp(address(12), address(1), 64, MESSAGE_TYPE, 2, &body);
        lone.link_sends(ROUTER, &packet);
        assert_eq!(
            run_answering(&mut lone, Duration::from_secs(6), &[12]),
            [address(12)],
            "the target has one route"
        );
        let _ = lone.link_packets();
        let asked = packets::echo_request(Addr([0x20; 16]), address(12));
        lone.host_sends(&asked).unwrap();
        let hops: Vec<_> = lone.link_packets().iter().map(|(hop, _)| *hop).collect();
        assert_eq!(hops, [Address::Short(parents[0])]);
    }
}
