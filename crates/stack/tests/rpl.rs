//! RPL at one node, whose neighbours are the test: what the standard has it do, and what
//! malformed, contradictory or hostile messages cannot make it do.
#![cfg(all(feature = "rpl-root", feature = "rpl-storing"))]

#[allow(dead_code, reason = "shared with tests that use more of it")]
mod common;

use common::lone::Lone;
use common::packets;
use common::{address, prefix};
use redpoll_base::{Addr, Duration};
use redpoll_stack::{DropReason, RplConfig, RplMemory, RplRole, RplRoot};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, addr};
use redpoll_wire::rpl::{
    ALL_NODES, Configuration, Dao, Dio, INFINITE_RANK, MESSAGE_TYPE, Message, Options,
    PacketInformation, PrefixInformation, RplOption, Sequence, SourceRoute, TargetOption, Transit,
    config_flag, mode, objective, status,
};

const CONFIGURATION: Configuration = Configuration {
    flags: config_flag::RPI_0X23,
    interval_doublings: 8,
    interval_min: 10,
    redundancy: 10,
    max_rank_increase: 1024,
    min_hop_rank_increase: 128,
    objective: objective::MRHOF,
    lifetime: 30,
    lifetime_unit_s: 60,
};
/// The root of the DODAG that the node joins; neighbours that are routers, and one behind
/// the node.
const ROOT: u16 = 2;
const ROUTER: u16 = 3;
const CHILD: u16 = 7;
const VERSION: Sequence = Sequence::FIRST;

fn link_local(short: u16) -> Addr {
    addr::link_local_from_short(short)
}

fn bytes(options: &[RplOption<'_>]) -> Vec<u8> {
    let mut buffer = vec![0; 1200];
    let mut out = Cursor::new(&mut buffer);
    for option in options {
        option.emit(&mut out).unwrap();
    }
    out.written().to_vec()
}

/// A control message from a neighbour.
fn say(lone: &mut Lone, from: u16, to: Addr, message: &Message<'_>) {
    let mut buffer = vec![0; 1200];
    let mut out = Cursor::new(&mut buffer);
    message.emit(&mut out).unwrap();
    let body = out.written().to_vec();
    say_bytes(lone, from, to, message.code(), &body);
}

fn say_bytes(lone: &mut Lone, from: u16, to: Addr, code: u8, body: &[u8]) {
    let packet = packets::icmp(link_local(from), to, 255, MESSAGE_TYPE, code, body);
    let link = match to.is_multicast() {
        true => Address::BROADCAST,
        false => Address::Short(1),
    };
    lone.link_sends_to(from, link, &packet);
}

/// What a DIO of `from` has behind its base object.
fn dio_options(from: u16) -> Vec<u8> {
    bytes(&[
        RplOption::Configuration(CONFIGURATION),
        RplOption::Prefix(PrefixInformation {
            len: 64,
            autonomous: true,
            router_address: true,
            prefix: address(from),
            lifetime_s: u32::MAX,
        }),
    ])
}

fn dio_of(options: &[u8], root: u16, version: Sequence, rank: u16) -> Message<'_> {
    Message::Dio(Dio {
        instance: 0,
        version,
        rank,
        grounded: true,
        mode: mode::STORING,
        preference: 0,
        dtsn: VERSION,
        dodag: address(root),
        options: Options::parse(options).unwrap(),
    })
}

fn dio(lone: &mut Lone, from: u16, version: Sequence, rank: u16) {
    let options = dio_options(from);
    say(
        lone,
        from,
        ALL_NODES,
        &dio_of(&options, ROOT, version, rank),
    );
}

fn dao(lone: &mut Lone, from: u16, sequence: u8, targets: &[(u16, u8, u8)]) {
    let mut list = Vec::new();
    for (target, path_sequence, lifetime) in targets {
        list.push(RplOption::Target(TargetOption {
            prefix: address(*target),
            len: 128,
        }));
        list.push(RplOption::Transit(Transit {
            external: false,
            control: 0,
            sequence: Sequence(*path_sequence),
            lifetime: *lifetime,
            parent: None,
        }));
    }
    let options = bytes(&list);
    let dao = Dao {
        instance: 0,
        acknowledge: true,
        sequence,
        dodag: None,
        options: Options::parse(&options).unwrap(),
    };
    say(lone, from, link_local(1), &Message::Dao(dao));
}

fn lone(role: RplRole) -> Lone {
    let mut lone = Lone::border(|_| {});
    let config = RplConfig {
        role,
        // Nobody here answers.
        dao_ack: false,
        ..RplConfig::router(7)
    };
    let memory = RplMemory {
        neighbours: vec![None; 8].into(),
    };
    let now = lone.now;
    lone.node.route_by_rpl(now, config, memory);
    lone
}

/// A router that has joined through the root.
fn joined() -> Lone {
    let mut lone = lone(RplRole::Router);
    dio(&mut lone, ROOT, VERSION, 128);
    lone.run_for(Duration::from_secs(3));
    assert_eq!(lone.node.rpl_place().unwrap().1, Some(Address::Short(ROOT)));
    lone.frames.clear();
    lone
}

/// Control messages that the node has sent: code, destination and body.
fn all_said(lone: &mut Lone) -> Vec<(u8, Addr, Vec<u8>)> {
    let packets = lone.link_packets();
    let messages = packets.iter().filter_map(|(_, packet)| {
        let (header, payload) = Ipv6Header::parse(packet).ok()?;
        let is_it = header.next_header == 58 && payload[0] == MESSAGE_TYPE;
        is_it.then(|| (payload[1], header.dst, payload[4..].to_vec()))
    });
    messages.collect()
}

/// Those with this code.
fn said(lone: &mut Lone, code: u8) -> Vec<(Addr, Vec<u8>)> {
    let all = all_said(lone).into_iter();
    all.filter(|(it, ..)| *it == code)
        .map(|(_, dst, body)| (dst, body))
        .collect()
}

fn acks(lone: &mut Lone) -> Vec<u8> {
    let acks = said(lone, 3);
    acks.iter().map(|(_, body)| body[3]).collect()
}

/// RFC 6550 §8.2, §9.8: a router takes the root for its parent, says so in DIOs and tells
/// it of itself and, when somebody has told it, of others.
#[test]
fn a_router_joins_and_tells_its_parent_whom_it_reaches() {
    let mut lone = joined();
    assert_eq!(
        lone.node.rpl_place(),
        Some((128 + 128, Some(Address::Short(ROOT))))
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

/// RFC 6550 §8.2.3 (1): nothing comes of what is malformed; and it is counted.
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

/// A message that claims to come from another neighbour than the one that sent it.
#[test]
fn nobody_speaks_for_another() {
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

/// Ranks that only the root can have, and such that nobody has, are not believed; and a
/// neighbour whose rank falls and falls makes the node neither talk nor wander.
#[test]
fn attacks_by_rank_are_bounded() {
    let mut lone = joined();
    for rank in [0, 1, 127, 128, 255] {
        dio(&mut lone, ROUTER, VERSION, rank);
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

/// A new version counts if the parent has it, or if there is none. Others have to insist
/// for ten seconds, and then can pull a node out of its version once in five minutes.
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
    // The parent's word counts.
    dio(&mut lone, ROOT, VERSION.next(), 128);
    assert_eq!(lone.node.rpl_counters().versions, 1);
}

/// A root begins a new version when others claim to know a later one, but no more than one
/// a minute.
#[test]
fn a_root_follows_others_into_few_versions() {
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

/// RFC 6550 §9.2.1; a full table keeps what it has, and says so.
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
    // Who was known before is reached still.
    lone.run_for(Duration::from_secs(2));
    lone.frames.clear();
    lone.link_sends(ROOT, &packets::echo_request(address(ROOT), address(CHILD)));
    let packets = lone.link_packets();
    assert!(
        packets.iter().any(|(to, _)| *to == Address::Short(CHILD)),
        "{packets:?}"
    );
}

/// A No-Path counts from the neighbour through which the target was reached; a DAO that is
/// older than what is known does not, nor one of the parent's or about the node itself.
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
    // The true one's is.
    dao(&mut lone, CHILD, 2, &[(CHILD, 251, 0)]);
    assert_eq!(lone.node.rpl_targets(lone.now), 0);
    lone.run_for(Duration::from_secs(20));
    lone.frames.clear();
    lone.link_sends(ROOT, &packets::echo_request(address(ROOT), address(CHILD)));
    let packets = lone.link_packets();
    assert!(
        !packets.iter().any(|(to, _)| *to == Address::Short(CHILD)),
        "{packets:?}"
    );
}

/// Two routers that take each other for their parent: a DAO from the parent shows it. What
/// is known of its rank is out of date, and it is asked for a DIO.
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
    // Whom the parent cannot be behind: the root.
    let mut lone = joined();
    dao(&mut lone, ROOT, 1, &[(CHILD, 240, 30)]);
    assert_eq!(lone.node.rpl_place().unwrap().1, Some(Address::Short(ROOT)));
}

/// A child whose knowledge is out of date tells a router of the router itself. Its other
/// targets count, and are acknowledged: or it would repeat the DAO for ever, and nobody
/// behind it would be reached.
#[test]
fn one_target_that_cannot_be_does_not_cost_the_others() {
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

/// A new parent is above the node: a way down to it, through somebody else, is not told.
#[test]
fn a_parent_is_not_told_of_itself() {
    let mut lone = lone(RplRole::Router);
    dio(&mut lone, ROUTER, VERSION, 700);
    lone.run_for(Duration::from_secs(3));
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30), (8, 240, 30)]);
    lone.run_for(Duration::from_secs(3));
    lone.frames.clear();
    dio(&mut lone, 8, VERSION, 256);
    assert_eq!(lone.node.rpl_place().unwrap().1, Some(Address::Short(8)));
    lone.run_for(Duration::from_secs(5));
    let to_parent = said(&mut lone, 2)
        .into_iter()
        .filter(|(to, _)| *to == link_local(8));
    let told: Vec<u8> = to_parent.flat_map(|(_, body)| body).collect();
    let contains = |short: u16| told.windows(16).any(|window| window == address(short).0);
    assert!(contains(1) && contains(CHILD) && !contains(8), "{told:?}");
}

/// RFC 6550 §8.2.2.1: a new version of the DODAG forms anew. Targets of the version before
/// are told to nobody: they may lie above the node now.
#[test]
fn what_was_behind_a_router_in_one_version_is_not_told_in_the_next() {
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
    // A child that says so again is behind it in this version, too.
    dao(&mut lone, CHILD, 2, &[(CHILD, 241, 30)]);
    assert_eq!(lone.node.rpl_targets(lone.now), 1);
}

/// RFC 6550 §9.2.1, kim2015's third correction: each DAO begins a route's lifetime anew.
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

/// RFC 6550 §11.2.2.2: one contradiction is noted in the packet, the second ends it.
#[test]
fn a_packet_in_a_loop_is_marked_and_then_dropped() {
    let mut lone = joined();
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30)]);
    lone.run_for(Duration::from_secs(3));
    lone.frames.clear();
    // Up, from a node that is nearer to the root.
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
    // Down, as it should be.
    lone.link_sends(ROOT, &with_information(true, 1, true, CHILD));
    let packets = lone.link_packets();
    assert!(packets.iter().any(|(to, _)| *to == Address::Short(CHILD)));
    assert_eq!(lone.dropped(DropReason::RankError), 1);
}

/// RFC 6550 §11.2.2.3: what has no way down goes back, and what comes back ends the route.
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

/// RFC 6554 §4.2: a source route goes on to the next stop; one that comes through a router
/// twice does not.
#[test]
fn source_routes_are_followed_and_loops_are_not() {
    let mut lone = joined();
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
    // Not over the border either.
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

/// RFC 9008 §7.2.1: what leaves the DODAG has no packet information any more.
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

/// A node whose last parent has gone tells its children, and joins again; who asks over
/// and over is not answered over and over.
#[test]
fn a_lost_parent_is_told_of_and_solicitations_are_bounded() {
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
