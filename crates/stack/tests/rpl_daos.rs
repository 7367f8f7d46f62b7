//! The DAOs of a node that routes by RPL, for itself and for other nodes (RFC 6550 §9).
#![cfg(all(feature = "rpl-root", feature = "rpl-storing"))]

use crate::common;

use common::dodag::*;
use common::lone::{Lone, SLOTS};
use common::{address, packets, prefix};
use redpoll_base::{Addr, Duration};
use redpoll_stack::{DropReason, RplRole, RplRoot};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, hop_by_hop_len};
use redpoll_wire::rpl::{MESSAGE_TYPE, Message, PacketInformation, RplOption, mode, status};

/// Runs the node for `seconds` next to a parent that sends a DIO every 30 s and acknowledges each
/// DAO. Returns the times of the DAOs in seconds.
fn daos_acknowledged(lone: &mut Lone, seconds: u64) -> Vec<u64> {
    let mut came = Vec::new();
    for second in 0..seconds {
        if second % 30 == 0 {
            dio(lone, ROOT, VERSION, 128);
        }
        let daos = said(lone, 2);
        lone.run_for(Duration::from_millis(100));
        for (_, body) in daos {
            came.push(second);
            dao_ack(lone, ROOT, body[3], status::ACCEPTED);
        }
    }
    came
}

fn daos_to_root(lone: &mut Lone) -> Vec<Vec<u8>> {
    let packets = lone.link_packets();
    let daos = packets.into_iter().filter_map(|(_, packet)| {
        let (header, _) = Ipv6Header::parse(&packet).ok()?;
        let at = Ipv6Header::LEN + hop_by_hop_len(&packet);
        let is_dao = packet.get(at..at + 2) == Some(&[MESSAGE_TYPE, 2]);
        (is_dao && header.dst == address(ROOT)).then(|| packet[at + 4..].to_vec())
    });
    daos.collect()
}

/// RFC 6550 §9.5, §9.7: an acknowledged DAO is repeated after about half of its lifetime.
#[test]
fn an_acknowledged_dao_is_not_repeated_before_its_lifetime_asks_for_it() {
    let mut lone = lone_with(RplRole::Router, |config| config.dao_ack = true);
    dio(&mut lone, ROOT, VERSION, 128);
    let came = daos_acknowledged(&mut lone, 1_500);
    assert!((2..=4).contains(&came.len()), "{came:?}");
    assert!(came[1] - came[0] >= 450, "{came:?}");
    let counters = lone.node.rpl_counters();
    assert_eq!((counters.stale, counters.daos_given_up), (0, 0));
}

/// A DAO is repeated until it is acknowledged, at growing intervals, so that the DAOs of many nodes
/// without a working link do not fill the channel.
#[test]
fn a_dao_is_repeated_ever_more_rarely_until_it_is_acknowledged() {
    let mut lone = lone_with(RplRole::Router, |config| config.dao_ack = true);
    dio(&mut lone, ROOT, VERSION, 128);
    let mut came = Vec::new();
    let mut last = 0;
    for second in 0..1_000 {
        if second % 30 == 0 {
            dio(&mut lone, ROOT, VERSION, 128);
        }
        for (_, body) in said(&mut lone, 2) {
            came.push(second);
            last = body[3];
        }
        lone.run_for(Duration::from_millis(100));
    }
    // The timeouts double from 5 s to 160 s, each plus or minus a half.
    assert!((6..=12).contains(&came.len()), "{came:?}");
    let gaps: Vec<u64> = came.windows(2).map(|two| two[1] - two[0]).collect();
    assert!((2..=8).contains(&gaps[0]), "{gaps:?}");
    assert!(gaps[gaps.len() - 1] >= 75, "{gaps:?}");
    assert_eq!(lone.node.rpl_counters().daos_given_up, 1, "{gaps:?}");
    dao_ack(&mut lone, ROOT, last, status::ACCEPTED);
    assert_eq!(daos_acknowledged(&mut lone, 300).len(), 0);
}

/// In non-storing mode the intervals between DAOs to the root grow, also when the parent changes.
/// Where DAOs are lost, links look bad, and each new parent would otherwise cause more DAOs.
#[test]
fn a_change_of_parent_does_not_shorten_dao_intervals() {
    let mut lone = lone_with(RplRole::Router, |config| config.dao_ack = true);
    let mut came = 0;
    for second in 0..600 {
        let turn = second / 10 % 2 == 0;
        let ranks = if turn { [256, 900] } else { [900, 256] };
        if second % 5 == 0 {
            dio_non_storing(&mut lone, 5, VERSION, ranks[0]);
            dio_non_storing(&mut lone, ROUTER, VERSION, ranks[1]);
        }
        came += daos_to_root(&mut lone).len();
        lone.run_for(Duration::from_millis(100));
    }
    let counters = lone.node.rpl_counters();
    assert!(counters.parent_changes >= 50, "{counters:?}");
    assert!((6..=25).contains(&came), "{came}");
}

/// In non-storing mode the root can answer a node only when it knows the nodes between them. A node
/// therefore waits before its first DAO: with DAGRank 25, up to 25 * 25 / 8 DelayDAOs.
#[test]
fn the_first_dao_waits_for_the_nodes_nearer_to_the_root() {
    let mean_ms = |rank: u16| {
        let waits = (0..20).map(|seed| {
            let mut lone = lone_with(RplRole::Router, |config| config.seed = seed);
            dio_non_storing(&mut lone, ROUTER, VERSION, rank);
            let began = lone.now;
            while lone.node.rpl_counters().daos_sent == 0 {
                lone.run_for(Duration::from_millis(50));
            }
            lone.now.since(began).as_millis()
        });
        waits.sum::<u64>() / 20
    };
    let (near, far) = (mean_ms(256), mean_ms(256 + 128 * 20));
    assert!((500..4_000).contains(&near), "{near}");
    assert!((50_000..68_000).contains(&far), "{far}");
}

fn advertised(lone: &mut Lone) -> Vec<Addr> {
    let mut targets = Vec::new();
    for (_, body) in said(lone, 2) {
        targets.extend(targets_of(&body));
    }
    targets
}

/// RFC 6550 §9.2.2: a target that moves from one child to another keeps this node as its next hop
/// at the parent, so the parent gets a DAO only if the Path Sequence is new.
#[test]
fn a_target_that_moves_between_children_is_not_advertised_again() {
    for (sequence, is_new) in [(240, false), (241, true)] {
        let mut lone = joined();
        for child in [CHILD, 5] {
            // The child acknowledges a frame: the answer to its DAO.
            dao(&mut lone, child, 1, &[(child, 240, 30)]);
            let _ = daos_acknowledged(&mut lone, 10);
        }
        dao(&mut lone, CHILD, 2, &[(8, 240, 30)]);
        let _ = daos_acknowledged(&mut lone, 10);
        lone.frames.clear();
        dao(&mut lone, 5, 2, &[(8, sequence, 30)]);
        lone.run_for(Duration::from_secs(3));
        let again = advertised(&mut lone).contains(&address(8));
        assert_eq!(again, is_new, "{sequence}");
        lone.host_sends(&packets::echo_request(address(ROOT), address(8)))
            .unwrap();
        let hop = lone.link_packets().pop().map(|(hop, _)| hop);
        assert_eq!(hop, Some(Address::Short(5)), "{sequence}");
    }
}

/// RFC 6550 §9.2.2: a router whose child renews its route with the same Path Sequence advertises
/// the target again, so that the parent keeps the route. The test covers two hours of virtual time,
/// with a lifetime of half an hour. The router does not advertise every DAO that the child repeats
/// within minutes.
#[test]
fn a_route_that_is_renewed_with_the_same_path_sequence_lasts_at_the_parent() {
    for every_s in [60, 300, 600, 900, 1_200] {
        let mut lone = joined();
        // When the target's lifetime at the parent ends, in seconds, and how many DAOs named it.
        let (mut known_until, mut daos) = (0, 0);
        for second in 0..7_200 {
            if second % 30 == 0 {
                dio(&mut lone, ROOT, VERSION, 128);
            }
            if second % every_s == 0 {
                let number = (second / every_s) as u8;
                dao(&mut lone, CHILD, number, &[(CHILD, 0, 30)]);
            }
            for lifetime in lifetimes(&mut lone, address(CHILD)) {
                known_until = second + u64::from(lifetime) * 60;
                daos += 1;
            }
            lone.run_for(Duration::from_millis(100));
            assert!(second < 10 || known_until > second, "{every_s}: {second}");
        }
        // At most one DAO in a quarter of the lifetime, and one more when the child has
        // acknowledged a frame. DAOs for the node itself are not counted.
        assert!((7_200 / 1_800..=18).contains(&daos), "{every_s}: {daos}");
    }
}

/// Returns the lifetimes, in minutes, of the target `to` in the DAOs that the node has sent.
fn lifetimes(lone: &mut Lone, to: Addr) -> Vec<u8> {
    let mut lifetimes = Vec::new();
    for (_, body) in said(lone, 2) {
        let Ok(Message::Dao(dao)) = Message::parse(2, &body) else {
            panic!("a DAO");
        };
        let mut is_it = false;
        for option in dao.options.iter() {
            match option {
                RplOption::Target(target) => is_it = target.prefix == to,
                RplOption::Transit(transit) if is_it => lifetimes.push(transit.lifetime),
                _ => {}
            }
        }
    }
    lifetimes
}

/// Without DAO-ACKs, the node repeats a DAO that was dropped for lack of a slot, and sends DAOs one
/// at a time. The same holds for No-Path DAOs to a former parent.
#[test]
fn no_target_is_lost_for_lack_of_slots() {
    let targets = [CHILD, 100, 101, 102];
    for is_full in [false, true] {
        let mut lone = lone_with(RplRole::Router, |config| {
            config.dao_ack = false;
            config.dao_targets = 1;
        });
        dio(&mut lone, ROOT, VERSION, 128);
        for (number, target) in targets.iter().enumerate() {
            dao(&mut lone, CHILD, number as u8, &[(*target, 240, 30)]);
        }
        let daos = daos_of(&mut lone, is_full);
        // The node moves to another parent.
        dio(&mut lone, ROUTER, VERSION, 256);
        dio(&mut lone, ROOT, VERSION, 3_000);
        let parent = lone.node.rpl_place().unwrap().1;
        assert_eq!(parent, Some(Address::Short(ROUTER)));
        let moved = daos_of(&mut lone, is_full);
        for target in targets {
            let lifetimes = |daos: &[(u16, Addr, u8)], parent: u16| {
                let to = daos
                    .iter()
                    .filter(|it| (it.0, it.1) == (parent, address(target)));
                to.map(|it| it.2).collect::<Vec<_>>()
            };
            let what = format!("{target}, full: {is_full}");
            assert!(lifetimes(&daos, ROOT).iter().any(|it| *it > 1), "{what}");
            assert!(lifetimes(&moved, ROUTER).iter().any(|it| *it > 1), "{what}");
            assert_eq!(lifetimes(&moved, ROOT), [0], "{what}");
        }
    }
}

/// Runs the node for 30 s, during the first five with every slot in use if `is_full`. Returns
/// parent, target and lifetime of the targets in its DAOs.
fn daos_of(lone: &mut Lone, is_full: bool) -> Vec<(u16, Addr, u8)> {
    let began = lone.now;
    let mut daos = Vec::new();
    while lone.now < began + Duration::from_secs(30) {
        let fills = is_full && lone.now < began + Duration::from_secs(5);
        lone.busy = fills;
        let request = packets::echo_request(Addr([0x20; 16]), address(ROUTER));
        for _ in 0..if fills { 2 * SLOTS } else { 0 } {
            let _ = lone.host_sends(&request);
        }
        lone.run_for(Duration::from_millis(5));
        if fills {
            continue;
        }
        for (dst, body) in said(lone, 2) {
            let Ok(Message::Dao(dao)) = Message::parse(2, &body) else {
                panic!("a DAO");
            };
            let to = if dst == link_local(ROOT) {
                ROOT
            } else {
                ROUTER
            };
            let mut last = None;
            for option in dao.options.iter() {
                match option {
                    RplOption::Target(target) => last = Some(target.prefix),
                    RplOption::Transit(transit) => {
                        daos.extend(last.map(|it| (to, it, transit.lifetime)))
                    }
                    _ => {}
                }
            }
        }
    }
    daos
}

/// RFC 6550 §9.6: when the parent raises its DTSN, the node repeats all DAOs and raises its own.
#[test]
fn the_parents_dtsn_triggers_daos() {
    let mut lone = joined();
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30)]);
    lone.run_for(Duration::from_secs(30));
    lone.frames.clear();
    let options = dio_options(ROOT);
    let mut dtsn = VERSION;
    let mut said_by_it = Vec::new();
    for expected in [0, 1, 0] {
        if expected == 1 {
            dtsn = dtsn.next();
        }
        dio_with(&mut lone, ROOT, VERSION, 128, &options, |dio| {
            dio.dtsn = dtsn
        });
        lone.run_for(Duration::from_secs(3));
        let all = all_said(&mut lone);
        let daos = all.iter().filter(|(code, ..)| *code == 2);
        let targets = daos.map(|(.., body)| body.iter().filter(|it| **it == 18).count());
        assert_eq!(
            targets.collect::<Vec<_>>(),
            vec![2; expected],
            "two targets"
        );
        let dtsns = all.iter().filter(|it| it.0 == 1).map(|it| it.2[5]);
        said_by_it.extend(dtsns);
    }
    // The node has increased its DTSN when it joined, and when the parent increased its own.
    assert_eq!(said_by_it.last(), Some(&VERSION.next().next().0));
}

/// RFC 6550 §11.2.2.3: when the next hop returns a packet, the router removes the route, makes its
/// children repeat their DAOs, and returns the packet too, marked; at most twenty times an hour.
#[test]
fn a_route_that_gives_packets_back_is_removed_but_not_ever_again() {
    let mut lone = joined();
    let given_back = |dst: u16| {
        let information = PacketInformation {
            down: true,
            forwarding_error: true,
            sender_rank: 3,
            ignorable: true,
            ..PacketInformation::default()
        };
        packets::packet(address(9), address(dst), 0, 64, &information.header(59))
    };
    for n in 0..25_u8 {
        dao(&mut lone, CHILD, n, &[(99, 130 + n, 30)]);
        lone.run_for(Duration::from_secs(2));
        lone.frames.clear();
        lone.link_sends(CHILD, &given_back(99));
        let kept = usize::from(n >= 20);
        assert_eq!(lone.node.rpl_targets(lone.now), kept, "{n}");
        let packets = lone.link_packets();
        let back = packets.iter().find_map(|(to, packet)| {
            let information = PacketInformation::find(packet)?;
            (*to == Address::Short(ROOT)).then_some(information.forwarding_error)
        });
        assert_eq!(back, (kept == 0).then_some(true), "{n}");
    }
    assert_eq!(lone.dropped(DropReason::NoRoute), 5);
    // After an hour, a returned packet removes a route again.
    lone.run_for(Duration::from_secs(3_600));
    dio(&mut lone, ROOT, VERSION, 128);
    dao(&mut lone, CHILD, 26, &[(99, 160, 30)]);
    lone.link_sends(CHILD, &given_back(99));
    assert_eq!(lone.node.rpl_targets(lone.now), 0);
}

/// A non-storing root makes source routes from the parents that nodes announce. A circle of parents
/// or an impossible parent makes no route, and needs no memory.
#[test]
fn parents_in_a_circle_make_no_source_route() {
    let root = RplRoot::new(prefix(), mode::NON_STORING, CONFIGURATION);
    let mut lone = lone(RplRole::Root(root));
    lone.run_for(Duration::from_secs(10));
    // 5 behind 6 behind 7 behind 5; 8 behind itself.
    for (target, parent) in [(5, 6), (6, 7), (7, 5), (8, 8)] {
        tell_root(&mut lone, target, target, address(parent));
    }
    assert_eq!(lone.node.rpl_targets(lone.now), 4);
    tell_root(&mut lone, 9, 9, Addr([0x20; 16]));
    assert_eq!(lone.node.rpl_counters().implausible, 1);
    lone.frames.clear();
    for target in 5..=9 {
        let _ = lone.host_sends(&packets::echo_request(Addr([0x20; 16]), address(target)));
    }
    let to_mesh = lone.link_packets();
    assert!(
        to_mesh.iter().all(|(to, _)| *to == Address::BROADCAST),
        "{to_mesh:?}"
    );
    // The host gets an error.
    assert!(!lone.host_packets().is_empty());
    // When node 7 announces its true parent, the root has a route to node 5, too.
    tell_root(&mut lone, 7, 7, address(1));
    let asked = packets::echo_request(Addr([0x20; 16]), address(5));
    lone.host_sends(&asked).expect("the root has a route");
    let to_mesh = lone.link_packets();
    assert!(
        to_mesh.iter().any(|(to, _)| *to == Address::Short(7)),
        "{to_mesh:?}"
    );
}

/// A parent has rejected a DAO that renews routes, and more renewals are due: they wait as long as
/// the rejected DAO. Otherwise the node would send a DAO after each rejection.
#[test]
fn renewals_wait_after_a_rejected_dao() {
    let mut lone = lone_with(RplRole::Router, |config| config.dao_ack = true);
    dio(&mut lone, ROOT, VERSION, 128);
    daos_acknowledged(&mut lone, 50);
    let advertise = |lone: &mut Lone, number: u8| {
        let targets: Vec<_> = (CHILD..CHILD + 8).map(|it| (it, number, 30)).collect();
        for (sequence, part) in (number..).zip(targets.chunks(4)) {
            dao(lone, CHILD, sequence, part);
        }
    };
    advertise(&mut lone, 240);
    daos_acknowledged(&mut lone, 100);
    advertise(&mut lone, 242);
    let mut daos = Vec::new();
    while daos.is_empty() {
        lone.run_for(Duration::from_millis(100));
        daos = said(&mut lone, 2);
    }
    dao_ack(&mut lone, ROOT, daos[0].1[3], status::REJECTED);
    assert_eq!(lone.node.rpl_counters().daos_refused, 1);
    lone.run_for(Duration::from_secs(20));
    assert_eq!(said(&mut lone, 2), []);
    lone.run_for(Duration::from_secs(60));
    assert!(!said(&mut lone, 2).is_empty(), "they are sent later");
}

/// After a DAO-ACK, the router waits before it advertises targets that did not fit into the DAO:
/// 1.5 to 4.5 times as long as the DAO-ACK took, so that the channel becomes less busy (ADR 62).
#[test]
fn the_other_targets_wait_after_an_acknowledgement() {
    let mut lone = lone_with(RplRole::Router, |config| {
        config.dao_ack = true;
        config.dao_targets = 1;
    });
    dio(&mut lone, ROOT, VERSION, 128);
    daos_acknowledged(&mut lone, 50);
    let targets: Vec<_> = (CHILD..CHILD + 4).map(|it| (it, 240, 30)).collect();
    dao(&mut lone, CHILD, 1, &targets);
    let next = |lone: &mut Lone| {
        let before = lone.node.rpl_counters().daos_sent;
        let began = lone.now;
        while lone.node.rpl_counters().daos_sent == before {
            lone.run_for(Duration::from_millis(5));
        }
        lone.now.since(began).as_millis()
    };
    next(&mut lone);
    for _ in 0..3 {
        let sent = lone.now;
        let (_, body) = said(&mut lone, 2).pop().expect("a DAO");
        let took_ms = lone.now.since(sent).as_millis();
        assert!(took_ms > 100, "{took_ms}");
        dao_ack(&mut lone, ROOT, body[3], status::ACCEPTED);
        let waited_ms = next(&mut lone);
        let range = took_ms * 3 / 2..took_ms * 9 / 2 + 50;
        assert!(range.contains(&waited_ms), "{waited_ms} after {took_ms}");
    }
}
