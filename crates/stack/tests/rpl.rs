//! RPL at one node, whose neighbours are simulated by the test: the required behaviour, and what
//! malformed, contradictory or hostile messages cannot cause.
#![cfg(all(feature = "rpl-root", feature = "rpl-storing"))]

use crate::common;

use common::dodag::*;
use common::packets;
use common::{address, prefix};
use redpoll_base::{Addr, Duration};
use redpoll_stack::{DropReason, RplRole, RplRoot};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;
use redpoll_wire::rpl::{
    ALL_NODES, INFINITE_RANK, MESSAGE_TYPE, Message, Options, PacketInformation, RplOption,
    Sequence, SourceRoute, mode, status,
};

/// RFC 6550 §8.2, §9.8: a router makes the root its parent, announces that in DIOs, and sends DAOs
/// for itself and for targets behind it.
#[test]
fn a_router_joins_and_sends_its_targets_to_its_parent() {
    let mut lone = joined();
    assert_eq!(
        lone.node.rpl_place(),
        Some((128 + 192, Some(Address::Short(ROOT))))
    );
    dao(&mut lone, CHILD, 9, &[(CHILD, 240, 30), (8, 240, 30)]);
    assert_eq!(lone.node.rpl_targets(lone.now), 2);
    lone.run_for(Duration::from_secs(3));
    let said = all_said(&mut lone);
    let acks = said.iter().filter(|(code, ..)| *code == 3);
    assert_eq!(
        acks.map(|it| it.2[3]).collect::<Vec<_>>(),
        [status::ACCEPTED]
    );
    let told: Vec<Addr> = said
        .iter()
        .filter(|(code, ..)| *code == 2)
        .flat_map(|(_, dst, body)| {
            assert_eq!(*dst, link_local(ROOT));
            let Ok(Message::Dao(dao)) = Message::parse(2, body) else {
                panic!("a DAO");
            };
            let targets = dao.options.iter().filter_map(|option| match option {
                RplOption::Target(target) => Some(target.prefix),
                _ => None,
            });
            targets.collect::<Vec<_>>()
        })
        .collect();
    assert!(
        told.contains(&address(CHILD)) && told.contains(&address(8)),
        "{told:?}"
    );
}

/// RFC 6550 §8.2.3 (1): a malformed message is counted and has no effect.
#[test]
fn malformed_messages_change_nothing() {
    let mut lone = joined();
    let before = lone.node.rpl_place();
    let broken: &[(u8, &[u8])] = &[
        (0, &[0]),
        (1, &[0; 23]),
        (1, &[0xff; 200]),
        (2, &[0, 0x40, 0, 1, 9]),
        (2, &[0, 0x80, 0, 1, 5, 18, 0, 128]),
        (2, &[0, 0x80, 0, 1, 6, 4, 0, 0, 1, 1]),
        (2, &[0, 0x80, 0, 1, 5, 3, 0, 8, 0xfd]),
        (3, &[0, 0]),
        (0x81, &[0; 64]),
        (9, &[0; 64]),
    ];
    for (code, body) in broken {
        say_bytes(&mut lone, ROUTER, link_local(1), *code, body);
    }
    let counters = lone.node.rpl_counters();
    assert_eq!(counters.implausible, broken.len() as u32);
    assert_eq!(
        (lone.node.rpl_place(), lone.node.rpl_targets(lone.now)),
        (before, 0)
    );
}

#[test]
fn a_message_in_another_neighbour_s_name_is_ignored() {
    let mut lone = joined();
    let options = dio_options(ROOT);
    let message = dio_of(&options, ROOT, VERSION.next(), 128);
    let mut buffer = [0; 256];
    let mut out = Cursor::new(&mut buffer);
    message.emit(&mut out).unwrap();
    let packet = packets::icmp(
        link_local(ROOT),
        ALL_NODES,
        255,
        MESSAGE_TYPE,
        1,
        out.written(),
    );
    lone.link_sends_to(ROUTER, Address::BROADCAST, &packet);
    assert_eq!(lone.node.rpl_counters().implausible, 1);
    assert_eq!(lone.node.rpl_counters().versions, 0);
}

/// Ranks that only the root can have, and impossible ones, are ignored. A neighbour whose rank
/// falls again and again causes neither DIOs nor parent changes.
#[test]
fn attacks_by_rank_are_bounded() {
    let mut lone = joined();
    let options = dio_options(ROUTER);
    for rank in [0, 1, 127, 128, 255] {
        let impossible = dio_of(&options, ROOT, VERSION, rank);
        say(&mut lone, ROUTER, ALL_NODES, &impossible);
    }
    assert_eq!(lone.node.rpl_counters().implausible, 5);
    let before = lone.node.rpl_counters().dios_sent;
    for step in 0..300 {
        dio(&mut lone, ROUTER, VERSION, 900 - step * 2);
        lone.run_for(Duration::from_millis(100));
    }
    let counters = lone.node.rpl_counters();
    assert_eq!(lone.node.rpl_place().unwrap().1, Some(Address::Short(ROOT)));
    assert!(counters.dios_sent - before <= 8, "{counters:?}");
    assert_eq!(counters.trickle_resets, 0);
}

/// The node follows a new version if its parent has it, or if it has no parent. Other neighbours
/// must advertise it for ten seconds, and can then move the node to it once in five minutes.
#[test]
fn a_flood_of_versions_is_ignored() {
    let mut lone = joined();
    let mut version = VERSION;
    for _ in 0..50 {
        version = version.next();
        dio(&mut lone, ROUTER, version, 256);
        lone.run_for(Duration::from_millis(100));
    }
    let counters = lone.node.rpl_counters();
    assert_eq!(
        (counters.versions, counters.versions_ignored >= 16),
        (0, true),
        "{counters:?}"
    );
    assert_eq!(lone.node.rpl_place().unwrap().1, Some(Address::Short(ROOT)));
    // The node follows its parent to a new version immediately.
    dio(&mut lone, ROOT, VERSION.next(), 128);
    assert_eq!(lone.node.rpl_counters().versions, 1);
}

#[test]
fn a_root_follows_later_versions_at_most_once_a_minute() {
    let root = RplRoot::new(prefix(), mode::STORING, CONFIGURATION);
    let mut lone = lone(RplRole::Root(root));
    lone.run_for(Duration::from_secs(10));
    let mut version = VERSION;
    for _ in 0..50 {
        version = version.next();
        let options = dio_options(ROUTER);
        say(
            &mut lone,
            ROUTER,
            ALL_NODES,
            &dio_of(&options, 1, version, 256),
        );
        lone.run_for(Duration::from_secs(1));
    }
    let counters = lone.node.rpl_counters();
    assert!((1..=2).contains(&counters.versions), "{counters:?}");
    assert!(counters.versions_ignored >= 16, "{counters:?}");
}

/// RFC 6550 §9.2.1: a full table keeps its routes, and the DAO is refused.
#[test]
fn a_flood_of_daos_fills_the_table_and_no_more() {
    let mut lone = joined();
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30)]);
    assert_eq!(acks(&mut lone), [status::ACCEPTED]);
    let sent = lone.node.rpl_counters().daos_sent;
    for n in 0..500_u16 {
        dao(&mut lone, ROUTER, n as u8, &[(1_000 + n, 240, 30)]);
        lone.run_for(Duration::from_millis(20));
    }
    let counters = lone.node.rpl_counters();
    assert!(counters.targets_refused > 400, "{counters:?}");
    assert!(lone.node.rpl_targets(lone.now) < 100);
    assert!(counters.daos_sent - sent < 40, "{counters:?}");
    assert!(acks(&mut lone).contains(&status::REJECTED));
    // Earlier targets are still reachable.
    lone.run_for(Duration::from_secs(2));
    lone.frames.clear();
    lone.link_sends(ROOT, &packets::echo_request(address(ROOT), address(CHILD)));
    let packets = lone.link_packets();
    assert!(
        packets.iter().any(|(to, _)| *to == Address::Short(CHILD)),
        "{packets:?}"
    );
}

/// The node accepts a No-Path only from the target's next hop. It ignores a DAO that is older than
/// the route, comes from the parent, or names the root or the node itself.
#[test]
fn forged_no_paths_and_daos_are_not_believed() {
    let mut lone = joined();
    dao(&mut lone, CHILD, 1, &[(CHILD, 250, 30)]);
    dao(&mut lone, ROUTER, 1, &[(CHILD, 251, 0)]);
    assert_eq!(
        (
            lone.node.rpl_counters().stale,
            lone.node.rpl_targets(lone.now)
        ),
        (1, 1)
    );
    dao(&mut lone, ROUTER, 2, &[(CHILD, 245, 30)]);
    assert_eq!(lone.node.rpl_counters().stale, 2);
    dao(&mut lone, ROOT, 1, &[(CHILD, 252, 30)]);
    dao(&mut lone, ROUTER, 3, &[(1, 252, 30)]);
    dao(&mut lone, ROUTER, 3, &[(ROOT, 252, 30)]);
    assert_eq!(lone.node.rpl_counters().implausible, 3);
    lone.frames.clear();
    lone.link_sends(ROOT, &packets::echo_request(address(ROOT), address(CHILD)));
    let packets = lone.link_packets();
    assert!(
        packets.iter().any(|(to, _)| *to == Address::Short(CHILD)),
        "{packets:?}"
    );
    // A No-Path of the next hop removes the target.
    dao(&mut lone, CHILD, 2, &[(CHILD, 251, 0)]);
    assert_eq!(lone.node.rpl_targets(lone.now), 0);
    // RFC 6550 §6.4.3: the route ends immediately.
    lone.run_for(Duration::from_millis(100));
    lone.frames.clear();
    lone.link_sends(ROOT, &packets::echo_request(address(ROOT), address(CHILD)));
    let packets = lone.link_packets();
    assert!(
        !packets.iter().any(|(to, _)| *to == Address::Short(CHILD)),
        "{packets:?}"
    );
}

/// Two routers that use each other as parent: a DAO from the parent shows the loop. The node's
/// record of the parent's rank is out of date, so the node asks the parent for a DIO.
#[test]
fn a_dao_of_the_parent_ends_a_loop() {
    let mut lone = lone(RplRole::Router);
    dio(&mut lone, ROUTER, VERSION, 256);
    lone.run_for(Duration::from_secs(3));
    assert_eq!(
        lone.node.rpl_place().unwrap().1,
        Some(Address::Short(ROUTER))
    );
    lone.frames.clear();
    dao(&mut lone, ROUTER, 1, &[(ROUTER, 240, 30)]);
    assert_eq!(lone.node.rpl_place().unwrap().1, None);
    assert_eq!(lone.node.rpl_counters().loops, 1);
    let asked = said(&mut lone, 0);
    assert!(
        asked.iter().any(|(to, _)| *to == link_local(ROUTER)),
        "{asked:?}"
    );
    assert_eq!(lone.node.rpl_targets(lone.now), 0);
    // The root cannot be behind the node.
    let mut lone = joined();
    dao(&mut lone, ROOT, 1, &[(CHILD, 240, 30)]);
    assert_eq!(lone.node.rpl_place().unwrap().1, Some(Address::Short(ROOT)));
}

/// A child with outdated state sends a DAO that names the router itself. Its other targets count
/// and are acknowledged; otherwise the child would repeat the DAO for ever, and the nodes behind it
/// would be unreachable.
#[test]
fn an_invalid_target_does_not_invalidate_the_others() {
    let mut lone = joined();
    dao(
        &mut lone,
        CHILD,
        1,
        &[(CHILD, 240, 30), (1, 240, 30), (8, 240, 30)],
    );
    assert_eq!(acks(&mut lone), [status::ACCEPTED]);
    assert_eq!(lone.node.rpl_targets(lone.now), 2);
    assert_eq!(lone.node.rpl_counters().implausible, 1);
}

#[test]
fn a_node_does_not_advertise_its_parent_to_that_parent() {
    let mut lone = lone(RplRole::Router);
    dio(&mut lone, ROUTER, VERSION, 700);
    lone.run_for(Duration::from_secs(3));
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30), (8, 240, 30)]);
    lone.run_for(Duration::from_secs(3));
    lone.frames.clear();
    dio(&mut lone, 8, VERSION, 256);
    lone.run_for(Duration::from_secs(5));
    assert_eq!(lone.node.rpl_place().unwrap().1, Some(Address::Short(8)));
    let to_parent = said(&mut lone, 2)
        .into_iter()
        .filter(|(to, _)| *to == link_local(8));
    let told: Vec<u8> = to_parent.flat_map(|(_, body)| body).collect();
    let contains = |short: u16| told.windows(16).any(|window| window == address(short).0);
    assert!(contains(1) && contains(CHILD) && !contains(8), "{told:?}");
}

/// RFC 6550 §8.2.2.1: in a new version of the DODAG, targets of the previous version are not
/// advertised, because they may now be above the node.
#[test]
fn targets_of_the_previous_version_are_not_advertised() {
    let mut lone = joined();
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30), (8, 240, 30)]);
    lone.run_for(Duration::from_secs(3));
    assert_eq!(lone.node.rpl_targets(lone.now), 2);
    lone.frames.clear();
    dio(&mut lone, ROOT, VERSION.next(), 128);
    assert_eq!(lone.node.rpl_targets(lone.now), 0);
    lone.run_for(Duration::from_secs(20));
    let told = said(&mut lone, 2);
    let contains = |short: u16| {
        let address = address(short).0;
        let mut all = told.iter();
        all.any(|(_, body)| body.windows(16).any(|window| window == address))
    };
    assert!(contains(1) && !contains(CHILD) && !contains(8), "{told:?}");
    // A child that sends its DAO in the new version is a target again.
    dao(&mut lone, CHILD, 2, &[(CHILD, 241, 30)]);
    assert_eq!(lone.node.rpl_targets(lone.now), 1);
}

/// RFC 6550 §9.2.1, and the third correction of Kim et al. 2015: each DAO restarts a route's
/// lifetime.
#[test]
fn a_route_lives_as_long_as_daos_come() {
    let mut lone = joined();
    for n in 0..5 {
        dao(&mut lone, CHILD, n, &[(CHILD, 240 + n, 2)]);
        lone.run_for(Duration::from_secs(90));
        dio(&mut lone, ROOT, VERSION, 128);
        assert_eq!(lone.node.rpl_targets(lone.now), 1, "{n}");
    }
    lone.run_for(Duration::from_secs(200));
    assert_eq!(lone.node.rpl_targets(lone.now), 0);
}

fn with_information(down: bool, sender_rank: u16, rank_error: bool, dst: u16) -> Vec<u8> {
    let information = PacketInformation {
        down,
        rank_error,
        sender_rank,
        ignorable: true,
        ..PacketInformation::default()
    };
    let upper = [&information.header(59)[..], &[]].concat();
    packets::packet(address(9), address(dst), 0, 64, &upper)
}

/// RFC 6550 §11.2.2.2: a packet is marked at its first contradiction, and dropped at its second.
#[test]
fn a_packet_in_a_loop_is_marked_and_then_dropped() {
    let mut lone = joined();
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30)]);
    lone.run_for(Duration::from_secs(3));
    lone.frames.clear();
    // Upwards, from a node that is nearer to the root.
    lone.link_sends(ROUTER, &with_information(false, 1, false, 99));
    let packets = lone.link_packets();
    let marked = packets
        .iter()
        .find_map(|(_, packet)| PacketInformation::find(packet));
    assert!(
        marked.is_some_and(|it| it.rank_error && it.sender_rank == 2),
        "{marked:?}"
    );
    lone.link_sends(ROUTER, &with_information(false, 1, true, 99));
    assert_eq!(lone.dropped(DropReason::RankError), 1);
    // A packet marked as downward that goes down is forwarded.
    lone.link_sends(ROOT, &with_information(true, 1, true, CHILD));
    let packets = lone.link_packets();
    assert!(packets.iter().any(|(to, _)| *to == Address::Short(CHILD)));
    assert_eq!(lone.dropped(DropReason::RankError), 1);
}

/// Children compute their ranks from the rank that the router has advertised. The router drops no
/// packet because of a new rank that no DIO has advertised yet.
#[test]
fn a_rank_that_was_not_advertised_ends_no_packet() {
    let mut lone = joined();
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30)]);
    // DIOs have announced 256; then the link to the root becomes worse.
    lone.run_for(Duration::from_secs(30));
    lone.deaf = true;
    lone.link_sends(CHILD, &with_information(false, 3, false, 99));
    lone.run_for(Duration::from_millis(300));
    lone.deaf = false;
    lone.frames.clear();
    let rank = lone.node.rpl_place().unwrap().0;
    assert!((512..256 + 512).contains(&rank), "{rank}");
    // The child's rank 384 is below the actual rank, but the node forwards packets to and from it.
    lone.link_sends(ROOT, &with_information(true, 1, false, CHILD));
    let down = lone.link_packets();
    let down = down.iter().find(|(to, _)| *to == Address::Short(CHILD));
    let said = PacketInformation::find(&down.expect("a packet").1).unwrap();
    assert_eq!((said.rank_error, said.sender_rank), (false, 2));
    lone.link_sends(CHILD, &with_information(false, 3, false, 99));
    // After a second contradiction, a packet is dropped only when a DIO has advertised the rank.
    lone.run_for(Duration::from_millis(100));
    lone.link_sends(CHILD, &with_information(false, 3, true, 99));
    assert_eq!(lone.dropped(DropReason::RankError), 0);
    let up = lone.link_packets();
    let up = up.iter().find(|(to, _)| *to == Address::Short(ROOT));
    let said = PacketInformation::find(&up.expect("a packet").1).unwrap();
    assert_eq!((said.rank_error, said.sender_rank), (true, rank / 128));
    // The contradiction triggers a DIO.
    lone.run_for(Duration::from_secs(2));
    lone.link_sends(CHILD, &with_information(false, 2, true, 99));
    assert_eq!(lone.dropped(DropReason::RankError), 1);
}

#[test]
fn a_packet_that_the_parent_sends_up_ends_a_loop() {
    let mut lone = lone(RplRole::Router);
    dio(&mut lone, ROUTER, VERSION, 256);
    dio(&mut lone, 5, VERSION, 320);
    lone.run_for(Duration::from_secs(3));
    let parent = |lone: &common::lone::Lone| lone.node.rpl_place().unwrap().1;
    assert_eq!(parent(&lone), Some(Address::Short(ROUTER)));
    lone.frames.clear();
    lone.link_sends(ROUTER, &with_information(false, 5, false, 99));
    assert_eq!(parent(&lone), Some(Address::Short(5)));
    let packets = lone.link_packets();
    assert!(packets.iter().any(|(to, packet)| {
        *to == Address::Short(5) && PacketInformation::find(packet).is_some()
    }));
    assert_eq!(lone.node.rpl_counters().loops, 1);
    // Not a loop: the root, which has no parent, sends a packet up, and the parent sends one down.
    let mut lone = joined();
    lone.link_sends(ROOT, &with_information(false, 5, false, 99));
    lone.link_sends(ROOT, &with_information(true, 1, false, 99));
    assert_eq!(parent(&lone), Some(Address::Short(ROOT)));
    assert_eq!(lone.node.rpl_counters().loops, 0);
}

/// RFC 6550 §11.2.2.3: a packet without a route down goes back, and removes the route.
#[test]
fn packets_without_a_way_down_are_given_back() {
    let mut lone = joined();
    lone.link_sends(ROOT, &with_information(true, 1, false, 99));
    let packets = lone.link_packets();
    let back = packets.iter().find_map(|(to, packet)| {
        let information = PacketInformation::find(packet)?;
        (*to == Address::Short(ROOT)).then_some(information)
    });
    assert!(
        back.is_some_and(|it| it.forwarding_error && it.down),
        "{back:?}"
    );
    dao(&mut lone, CHILD, 1, &[(99, 240, 30)]);
    assert_eq!(lone.node.rpl_targets(lone.now), 1);
    let information = PacketInformation {
        down: true,
        forwarding_error: true,
        sender_rank: 3,
        ignorable: true,
        ..PacketInformation::default()
    };
    let packet = packets::packet(address(9), address(99), 0, 64, &information.header(59));
    lone.link_sends(ROUTER, &packet);
    assert_eq!(lone.node.rpl_targets(lone.now), 1, "not by that neighbour");
    lone.link_sends(CHILD, &packet);
    assert_eq!(lone.node.rpl_targets(lone.now), 0);
}

/// RFC 6554 §4.2: a source route is followed to the next hop, unless it passes a router twice.
#[test]
fn source_routes_are_followed_and_loops_are_not() {
    let mut lone = lone(RplRole::Router);
    dio_non_storing(&mut lone, ROOT, VERSION, 128);
    lone.run_for(Duration::from_secs(3));
    lone.frames.clear();
    let routed = |first: u16, stops: &[u16]| {
        let mut buffer = [0; 64];
        let mut out = Cursor::new(&mut buffer);
        let stops = stops.iter().map(|stop| address(*stop));
        SourceRoute::emit(59, 14, stops, &mut out).unwrap();
        packets::packet(address(ROOT), address(first), 43, 64, out.written())
    };
    lone.link_sends(ROOT, &routed(1, &[5, 6]));
    let packets = lone.link_packets();
    let onward = packets.iter().find(|(to, _)| *to == Address::Short(5));
    let (header, _) = Ipv6Header::parse(&onward.expect("a packet").1).unwrap();
    assert_eq!((header.dst, header.hop_limit), (address(5), 63));
    lone.link_sends(ROOT, &routed(1, &[1, 5, 1]));
    assert_eq!(lone.dropped(DropReason::SourceRoute), 1);
    let mut broken = routed(1, &[5]);
    broken[43] = 9;
    lone.link_sends(ROOT, &broken);
    assert_eq!(lone.dropped(DropReason::SourceRoute), 2);
    // The border router also drops a source route to an address outside the mesh.
    let outside = Addr([0x20; 16]);
    let mut leaving = routed(1, &[5]);
    leaving[24..40].copy_from_slice(&outside.0);
    let mut root = self::lone(RplRole::Root(RplRoot::new(
        prefix(),
        mode::STORING,
        CONFIGURATION,
    )));
    root.link_sends(ROUTER, &leaving);
    assert_eq!(root.dropped(DropReason::SourceRoute), 1);
    assert!(root.host_packets().is_empty());
}

/// RFC 9008 §7.2.1: a packet that leaves the DODAG has no packet information.
#[test]
fn packet_information_stays_within_the_dodag() {
    let root = RplRoot::new(prefix(), mode::STORING, CONFIGURATION);
    let mut lone = lone(RplRole::Root(root));
    let information = PacketInformation {
        sender_rank: 2,
        ignorable: true,
        ..PacketInformation::default()
    };
    let upper = [&information.header(17)[..], &[1, 2, 3, 4, 0, 8, 0, 0]].concat();
    let outside = Addr([0x20; 16]);
    lone.link_sends(ROUTER, &packets::packet(address(9), outside, 0, 64, &upper));
    let out = lone.host_packets();
    let (header, payload) = Ipv6Header::parse(&out[0]).unwrap();
    assert_eq!((header.next_header, payload), (17, &upper[8..]));
}

/// A node that has lost its last parent poisons its children's routes and joins again. Repeated
/// solicitations are not all answered.
#[test]
fn a_lost_parent_poisons_the_routes_and_solicitations_are_bounded() {
    let mut lone = joined();
    let before = lone.node.rpl_counters().dios_sent;
    for _ in 0..100 {
        let options = Options::default();
        say(&mut lone, ROUTER, ALL_NODES, &Message::Dis { options });
        lone.run_for(Duration::from_millis(100));
    }
    let sent = lone.node.rpl_counters().dios_sent - before;
    assert!((4..=22).contains(&sent), "{sent} in 10 s");
    lone.run_for(Duration::from_secs(60));
    lone.frames.clear();
    dio(&mut lone, ROOT, VERSION, INFINITE_RANK);
    assert_eq!(lone.node.rpl_place(), Some((INFINITE_RANK, None)));
    let poison = said(&mut lone, 1);
    assert!(
        poison.iter().any(|(_, body)| body[2..4] == [0xff, 0xff]),
        "{poison:?}"
    );
    lone.run_for(Duration::from_secs(6));
    dio(&mut lone, ROOT, VERSION, 128);
    assert_eq!(lone.node.rpl_place().unwrap().1, Some(Address::Short(ROOT)));
}

/// RFC 6550 §8.2.2.1: a node without a parent follows a neighbour into a forged version once the
/// neighbour has acknowledged a frame. If the node has no parent in that version any more, it joins
/// the root's version again as a new node, but only after a solicitation.
#[test]
fn a_node_in_a_forged_version_joins_again() {
    let mut lone = joined();
    dio(&mut lone, ROOT, VERSION, INFINITE_RANK);
    lone.run_for(Duration::from_secs(6));
    let invented = (0..5).fold(VERSION, |it, _| it.next());
    dio(&mut lone, ROUTER, invented, 256);
    assert_eq!(lone.node.rpl_place(), Some((INFINITE_RANK, None)));
    lone.run_for(Duration::from_secs(1));
    dio(&mut lone, ROUTER, invented, 256);
    assert_eq!(
        lone.node.rpl_place().unwrap().1,
        Some(Address::Short(ROUTER))
    );
    dio(&mut lone, ROUTER, invented, INFINITE_RANK);
    dio(&mut lone, ROOT, VERSION, 128);
    assert_eq!(lone.node.rpl_place(), Some((INFINITE_RANK, None)));
    lone.run_for(Duration::from_secs(120));
    dio(&mut lone, ROOT, VERSION, 128);
    assert_eq!(lone.node.rpl_place().unwrap().1, Some(Address::Short(ROOT)));
}

/// RFC 6550 §7.2 (4): if versions cannot be compared, the root's is the latest.
#[test]
fn the_root_is_followed_into_a_version_that_cannot_be_compared() {
    let mut lone = joined();
    let later = |version, by| (0..by).fold(version, |it: Sequence, _| it.next());
    let near = later(VERSION, 16);
    dio(&mut lone, ROOT, near, 128);
    assert_eq!(lone.node.rpl_counters().versions, 1);
    let far = later(near, 40);
    assert_eq!(near.compare(far), None);
    dio(&mut lone, ROUTER, far, 256);
    assert_eq!(lone.node.rpl_counters().versions, 1);
    dio(&mut lone, ROOT, far, 128);
    assert_eq!(lone.node.rpl_counters().versions, 2);
    assert_eq!(lone.node.rpl_place().unwrap().1, Some(Address::Short(ROOT)));
}

/// Returns an echo request behind extension headers, given by type and all bytes from the third on.
fn extended(src: Addr, dst: Addr, headers: &[(u8, &[u8])]) -> Vec<u8> {
    let inner = packets::echo_request(src, dst);
    let mut upper = Vec::new();
    for (at, (_, body)) in headers.iter().enumerate() {
        let next = headers.get(at + 1).map_or(58, |(kind, _)| *kind);
        upper.extend([next, (body.len() as u8 + 2) / 8 - 1]);
        upper.extend(*body);
    }
    upper.extend(&inner[40..]);
    let first = headers.first().map_or(58, |(kind, _)| *kind);
    packets::packet(src, dst, first, 64, &upper)
}

/// RFC 6554 §5: no packet with a source route enters the DODAG, wherever the routing header is in
/// the chain, and with or without remaining segments. Packets with other routing headers and
/// options enter.
#[test]
fn source_routes_do_not_enter_from_outside() {
    let outside = Addr([0x20; 16]);
    let pad: &[u8] = &[1, 4, 0, 0, 0, 0];
    let mut route = vec![3, 1, 0, 0, 0, 0];
    route.extend(address(ROUTER).0);
    let spent = [3, 0, 0, 0, 0, 0];
    let other = [253, 0, 0, 0, 0, 0];
    for mode in [mode::STORING, mode::NON_STORING] {
        for dst in [address(1), address(CHILD)] {
            for headers in [
                &[(43, &route[..])][..],
                &[(43, &spent)],
                &[(0, pad), (43, &route)],
                &[(60, pad), (43, &route)],
                &[(0, pad), (60, pad), (43, &route), (60, pad)],
                &[(43, &other), (43, &route)],
            ] {
                let mut root = lone(RplRole::Root(RplRoot::new(prefix(), mode, CONFIGURATION)));
                root.run_for(Duration::from_secs(5));
                root.frames.clear();
                let _ = root.host_sends(&extended(outside, dst, headers));
                assert_eq!(root.dropped(DropReason::SourceRoute), 1, "{headers:?}");
                let sent = root.link_packets();
                assert!(
                    sent.iter().all(|(to, _)| *to == Address::BROADCAST),
                    "{sent:?}"
                );
            }
            let mut root = lone(RplRole::Root(RplRoot::new(prefix(), mode, CONFIGURATION)));
            root.run_for(Duration::from_secs(5));
            let _ = root.host_sends(&extended(outside, dst, &[(60, pad), (43, &other)]));
            assert_eq!(root.dropped(DropReason::SourceRoute), 0);
        }
    }
}

/// RFC 9008 §12: packet information from outside is not seen by the DODAG's routers. Its flags could
/// remove routes, and its instance could select other routes.
#[test]
fn packet_information_from_outside_is_not_believed() {
    let outside = Addr([0x20; 16]);
    for (mode, tunnels) in [
        (mode::STORING, false),
        (mode::STORING, true),
        (mode::NON_STORING, false),
    ] {
        for kind in [0x63, 0x23] {
            for flags in [0x80, 0x40, 0x20, 0xe0] {
                let role = RplRole::Root(RplRoot::new(prefix(), mode, CONFIGURATION));
                let mut root = lone_with(role, |config| {
                    config.dao_ack = false;
                    config.tunnels = tunnels;
                });
                root.run_for(Duration::from_secs(5));
                match mode {
                    mode::STORING => dao(&mut root, CHILD, 1, &[(CHILD, 240, 30)]),
                    _ => tell(&mut root, CHILD, CHILD, CHILD, 1, |_| {}),
                }
                root.run_for(Duration::from_secs(1));
                root.frames.clear();
                let option = [kind, 4, flags, 0x7f, 0x12, 0x34];
                let _ = root.host_sends(&extended(outside, address(CHILD), &[(0, &option)]));
                let sent = root.link_packets();
                let packets = sent.iter().filter(|(_, it)| it[24..40] == address(CHILD).0);
                let seen: Vec<&[u8]> = packets.map(|(_, it)| &it[42..48]).collect();
                let [seen] = seen.as_slice() else {
                    panic!("{sent:?}")
                };
                assert_eq!(seen[2..4], [0x80, 0], "flags and instance: {seen:02x?}");
            }
        }
    }
}

/// RFC 9008 §4.1: only nodes of the DODAG encapsulate. A tunnel from outside is not opened, at the
/// border router or behind it.
#[test]
fn tunnels_from_outside_are_not_opened() {
    let outside = Addr([0x20; 16]);
    for inner_src in [outside, address(ROUTER), Addr([0x30; 16])] {
        for inner_dst in [address(CHILD), address(1), outside] {
            let inner = packets::echo_request(inner_src, inner_dst);
            let tunnel = |src, dst| packets::packet(src, dst, 41, 64, &inner);
            let root = RplRoot::new(prefix(), mode::STORING, CONFIGURATION);
            let mut root = lone(RplRole::Root(root));
            root.run_for(Duration::from_secs(5));
            root.frames.clear();
            let _ = root.host_sends(&tunnel(outside, address(1)));
            assert_eq!(root.dropped(DropReason::UnknownProtocol), 1);
            let answers = root.host_packets();
            assert!(
                answers.iter().all(|it| it[40] == 4),
                "a parameter problem: {answers:?}"
            );
            // A router of the mesh also drops the packet.
            let mut router = joined();
            router.link_sends(ROOT, &tunnel(outside, address(1)));
            assert_eq!(router.dropped(DropReason::UnknownProtocol), 1);
            // From the root of its DODAG, the router opens the tunnel.
            let mut router = joined();
            router.link_sends(ROOT, &tunnel(address(ROOT), address(1)));
            assert_eq!(router.dropped(DropReason::UnknownProtocol), 0);
        }
    }
}
