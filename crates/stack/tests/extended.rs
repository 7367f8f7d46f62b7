//! RPL in a mesh in which no node has a short address, as with some other stacks. RFC 4944 §6, §7;
//! RFC 6282 §3.2.2; RFC 6550, RFC 6554.
#![cfg(all(feature = "rpl-eui64", feature = "rpl-root", feature = "rpl-storing"))]

use crate::common;

use common::dodag::behind;
use common::lone::Lone;
use common::packets;
use common::prefix;
use common::rules::TestRules;
use redpoll_base::{Addr, Duration};
use redpoll_mac::RxInfo;
use redpoll_stack::{RplConfig, RplMemory, RplRole, RplRoot};
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, addr, next_header};
use redpoll_wire::rpl::{
    ALL_NODES, Configuration, Dao, Dio, MESSAGE_TYPE, Message, Options, PacketInformation,
    PrefixInformation, RplOption, Sequence, SourceRoute, TargetOption, Transit, mode, objective,
};
use redpoll_wire::sixlowpan::Contexts;
use redpoll_wire::sixlowpan::iphc::decompress;

/// The EUI-64 of the tested node: its number four times, as in Contiki.
const OWN: [u8; 8] = [0, 1, 0, 1, 0, 1, 0, 1];
const ROOT: [u8; 8] = [0, 2, 0, 2, 0, 2, 0, 2];
const CONFIGURATION: Configuration = Configuration {
    // No flag: data packets have the option type of RFC 6553.
    flags: 0,
    interval_doublings: 8,
    interval_min: 10,
    redundancy: 10,
    max_rank_increase: 1024,
    min_hop_rank_increase: 128,
    objective: objective::MRHOF,
    lifetime: 30,
    lifetime_unit_s: 60,
};

fn global(eui64: [u8; 8]) -> Addr {
    addr::from_prefix_and_iid(&prefix(), addr::iid_from_eui64(eui64))
}

fn lone(role: RplRole, adapt: impl FnOnce(&mut RplConfig)) -> Lone {
    lone_by(TestRules::default(), role, adapt)
}

fn lone_by(rules: TestRules, role: RplRole, adapt: impl FnOnce(&mut RplConfig)) -> Lone {
    let mut lone = Lone::border(|config| {
        config.mac.short = 0xfffe;
        config.mac.extended = OWN;
        config.address = match role {
            RplRole::Root(_) => global(OWN),
            _ => Addr::UNSPECIFIED,
        };
    });
    let mut config = RplConfig::new(7).with(|it| {
        it.dao_ack = false;
        it.tunnels = false;
    });
    adapt(&mut config);
    let memory = RplMemory {
        neighbours: vec![None; 8].into(),
    };
    let now = lone.now;
    lone.node
        .route_by_rpl_with(now, rules, role, config, memory);
    lone
}

/// Returns the packets in the node's unfragmented frames, with the EUI-64 of the destination.
fn sent(lone: &mut Lone) -> Vec<(Address, Ipv6Header, Vec<u8>)> {
    let contexts = Contexts::with_prefix(prefix());
    let frames = std::mem::take(&mut lone.frames).into_iter();
    let packets = frames.map(|(to, payload)| {
        let mut out = [0; 1280];
        let whole = decompress(
            &payload,
            Address::Extended(OWN),
            to,
            &contexts,
            None,
            &mut out,
        )
        .expect("a compressed packet");
        let len = whole.written + payload.len() - whole.consumed;
        out[whole.written..len].copy_from_slice(&payload[whole.consumed..]);
        let (header, body) = Ipv6Header::parse(&out[..len]).expect("a packet");
        (to, header, body.to_vec())
    });
    packets.collect()
}

fn bytes(options: &[RplOption<'_>]) -> Vec<u8> {
    let mut buffer = vec![0; 400];
    let mut out = Cursor::new(&mut buffer);
    for option in options {
        option.emit(&mut out).unwrap();
    }
    out.written().to_vec()
}

fn say(lone: &mut Lone, from: [u8; 8], to: Address, dst: Addr, message: &Message<'_>) {
    let mut buffer = vec![0; 400];
    let mut out = Cursor::new(&mut buffer);
    message.emit(&mut out).unwrap();
    let src = addr::link_local_from_eui64(from);
    let packet = packets::icmp(src, dst, 255, MESSAGE_TYPE, message.code(), out.written());
    for frame in lone.frames_of(Address::Extended(from), to, &packet) {
        lone.node.input_frame(lone.now, &frame, RxInfo::default());
    }
}

fn dio(lone: &mut Lone, mode: u8) {
    let options = bytes(&[
        RplOption::Configuration(CONFIGURATION),
        RplOption::Prefix(PrefixInformation {
            len: 64,
            autonomous: true,
            router_address: false,
            prefix: prefix(),
            lifetime_s: u32::MAX,
        }),
    ]);
    let dio = Message::Dio(Dio {
        instance: 0,
        version: Sequence::FIRST,
        rank: 128,
        grounded: true,
        mode,
        preference: 0,
        dtsn: Sequence::FIRST,
        dodag: global(ROOT),
        options: Options::parse(&options).unwrap(),
    });
    say(lone, ROOT, Address::BROADCAST, ALL_NODES, &dio);
}

/// RFC 4944 §6, §7: before the node has joined, the source of its messages is the link-local
/// address of its EUI-64. The checksum covers that address, however the header is compressed.
#[test]
fn its_link_local_address_is_its_euis() {
    let mut lone = lone(RplRole::Router, |_| {});
    lone.run_for(Duration::from_secs(40));
    let packets = sent(&mut lone);
    assert!(!packets.is_empty(), "it asks for a DODAG");
    for (to, header, body) in packets {
        assert_eq!(to, Address::BROADCAST);
        assert_eq!(header.src, addr::link_local_from_eui64(OWN));
        assert!(icmpv6::Message::parse(&header, &body).is_ok(), "checksum");
    }
}

/// RFC 6550 §6.7.10, §9: the node joins, forms its address from its EUI-64, and sends a DAO for it
/// to the root or to its parent.
#[test]
fn it_joins_through_a_router_like_it() {
    for mode in [mode::NON_STORING, mode::STORING] {
        let mut lone = lone(RplRole::Router, |_| {});
        dio(&mut lone, mode);
        lone.run_for(Duration::from_secs(3));
        let place = lone.node.rpl_place().expect("the node routes by RPL");
        assert_eq!(place.1, Some(Address::Extended(ROOT)));
        let daos: Vec<_> = sent(&mut lone)
            .into_iter()
            .filter(|(_, header, _)| !header.dst.is_multicast())
            .collect();
        let (to, header, body) = daos.first().expect("a DAO");
        assert_eq!(*to, Address::Extended(ROOT));
        let (src, dst) = match mode {
            mode::STORING => (
                addr::link_local_from_eui64(OWN),
                addr::link_local_from_eui64(ROOT),
            ),
            _ => (global(OWN), global(ROOT)),
        };
        assert_eq!((header.src, header.dst), (src, dst));
        let own = global(OWN).0;
        assert!(body.windows(16).any(|window| window == own), "its target");
    }
}

/// RFC 6550 §9.4: with one target per DAO, its own address and three others need four DAOs; by
/// default they need one.
#[test]
fn with_one_target_per_dao_each_target_has_its_dao() {
    for (dao_targets, expected) in [(4, 1), (1, 4)] {
        let mut lone = lone(RplRole::Router, |config| config.dao_targets = dao_targets);
        dio(&mut lone, mode::STORING);
        let child = [0, 7, 0, 7, 0, 7, 0, 7];
        let targets = [7, 8, 9].map(|number| {
            let target = global([0, number, 0, number, 0, number, 0, number]);
            let transit = Transit {
                external: false,
                control: 0,
                sequence: Sequence(240),
                lifetime: 30,
                parent: None,
            };
            let len = 128;
            [
                RplOption::Target(TargetOption {
                    prefix: target,
                    len,
                }),
                RplOption::Transit(transit),
            ]
        });
        let options = bytes(&targets.concat());
        let dao = Message::Dao(Dao {
            instance: 0,
            acknowledge: false,
            sequence: 1,
            dodag: None,
            options: Options::parse(&options).unwrap(),
        });
        let to = addr::link_local_from_eui64(OWN);
        say(&mut lone, child, Address::Extended(OWN), to, &dao);
        assert_eq!(lone.node.rpl_targets(lone.now), 3);
        lone.run_for(Duration::from_secs(8));
        // Frames to the parent, except further fragments (RFC 4944 §5.3): four targets do not fit
        // into a frame. The child receives a DIS, which it has to acknowledge (ADR 38).
        let daos = lone.frames.iter().filter(|(to, payload)| {
            *to == Address::Extended(ROOT) && payload.first().is_some_and(|it| it & 0xf8 != 0xe0)
        });
        assert_eq!(daos.count(), expected, "{dao_targets}");
    }
}

/// RFC 6554 §3: a source route omits only the prefix that all its addresses share. Here the first
/// and the last differ in one byte, and the middle one has another EUI-64.
#[test]
fn a_source_route_names_every_stop_in_full() {
    let stops = [
        [0x02, 0x72, 0x70, 0, 0, 0, 0, 2],
        [0, 3, 0, 3, 0, 3, 0, 3],
        [0x02, 0x72, 0x70, 0, 0, 0, 0, 4],
    ];
    let root = RplRoot::new(prefix(), mode::NON_STORING, CONFIGURATION);
    let mut lone = lone(RplRole::Root(root), |_| {});
    lone.run_for(Duration::from_secs(5));
    let mut parent = OWN;
    for stop in stops {
        let options = behind(global(stop), global(parent));
        let dao = Message::Dao(Dao {
            instance: 0,
            acknowledge: false,
            sequence: 1,
            dodag: None,
            options: Options::parse(&options).unwrap(),
        });
        let mut buffer = vec![0; 400];
        let mut out = Cursor::new(&mut buffer);
        dao.emit(&mut out).unwrap();
        let (src, dst) = (global(stop), global(OWN));
        let packet = packets::icmp(src, dst, 64, MESSAGE_TYPE, dao.code(), out.written());
        let near = Address::Extended(stops[0]);
        for frame in lone.frames_of(near, Address::Extended(OWN), &packet) {
            lone.node.input_frame(lone.now, &frame, RxInfo::default());
        }
        parent = stop;
    }
    assert_eq!(lone.node.rpl_targets(lone.now), 3);
    lone.frames.clear();
    let far = global(stops[2]);
    lone.node
        .ping(lone.now, far, 1, 1, 8)
        .expect("a way to the last");
    lone.run_for(Duration::from_millis(900));
    let packets = sent(&mut lone);
    let routed = packets
        .iter()
        .find(|(_, header, _)| header.next_header == next_header::ROUTING);
    let (to, header, body) = routed.expect("a source route");
    assert_eq!(*to, Address::Extended(stops[0]));
    assert_eq!(header.dst, global(stops[0]));
    let route = SourceRoute::parse(body).expect("a routing header");
    let named: Vec<Addr> = route.addresses(header.dst).collect();
    assert_eq!(named, [global(stops[1]), far]);
}

/// RFC 6550 §11.2: SenderRank in packet information is DAGRank, or the rank if the rules say so.
#[test]
fn packet_information_has_dagrank_or_the_plain_rank() {
    for (plain, expected) in [(false, 2), (true, 256)] {
        let rules = TestRules {
            sends_plain_rank: plain,
            ..TestRules::default()
        };
        let mut lone = lone_by(rules, RplRole::Router, |_| {});
        dio(&mut lone, mode::NON_STORING);
        lone.run_for(Duration::from_secs(3));
        let (rank, _) = lone.node.rpl_place().expect("the node routes by RPL");
        lone.frames.clear();
        lone.node
            .ping(lone.now, global(ROOT), 1, 1, 8)
            .expect("a way to the root");
        lone.run_for(Duration::from_millis(900));
        let found = sent(&mut lone).into_iter().find_map(|(_, header, body)| {
            let packet = [&header.to_bytes()[..], &body].concat();
            PacketInformation::find(&packet)
        });
        let information = found.expect("packet information");
        let expected = if plain { rank } else { expected };
        assert_eq!(information.sender_rank, expected);
        assert!(!information.ignorable, "RFC 6553's option");
    }
}
