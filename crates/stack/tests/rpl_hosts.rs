//! Hosts without RPL, under a router with RPL (RFC 9010, RFC 8505).
#![cfg(all(feature = "rpl-hosts", feature = "rpl-root", feature = "rpl-storing"))]

use crate::common;

use common::dodag::*;
use common::lone::Lone;
use common::{address, packets, prefix};
use redpoll_base::{Addr, Duration};
use redpoll_stack::{Advertised, NdConfig, RplConfig, RplMemory, RplRole, RplRoot};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, hop_by_hop_len, next_header};
use redpoll_wire::rpl::{
    Dao, MESSAGE_TYPE, Message, Options, PacketInformation, RplOption, Sequence, SourceRoute,
    TargetOption, Transit, mode,
};

const LEAF: u16 = 9;
const EUI64: [u8; 8] = [0x02, 0, 0, 0, 0, 0, 0, 9];
const OTHER: [u8; 8] = [0x02, 0, 0, 0, 0, 0, 0, 10];
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// RFC 8505 table 1.
const SUCCESS: u8 = 0;
const DUPLICATE: u8 = 1;
const FULL: u8 = 2;
const MOVED: u8 = 3;

fn router(role: RplRole) -> Lone {
    let mut lone = Lone::border(|config| {
        config.nd = NdConfig::default().with(|it| {
            it.advertise = Some(
                Advertised::new(prefix(), address(ROOT)).with(|it| it.context_lifetime_min = 600),
            )
        });
    });
    let config = RplConfig::new(7).with(|it| it.dao_ack = false);
    let memory = RplMemory {
        neighbours: vec![None; 8].into(),
    };
    let now = lone.now;
    lone.node.route_by_rpl(now, role, config, memory);
    lone
}

fn joined_in(mode: u8) -> Lone {
    let mut lone = router(RplRole::Router);
    let options = dio_options(ROOT);
    dio_with(&mut lone, ROOT, VERSION, 128, &options, |dio| {
        dio.mode = mode;
    });
    lone.run_for(Duration::from_secs(3));
    assert_eq!(lone.node.rpl_place().unwrap().1, Some(Address::Short(ROOT)));
    lone.frames.clear();
    lone
}

fn root(mode: u8) -> Lone {
    let root = RplRoot::new(prefix(), mode, CONFIGURATION);
    let mut lone = router(RplRole::Root(root));
    lone.run_for(Duration::from_secs(5));
    lone.frames.clear();
    lone
}

/// A registration, as it arrives over the link.
#[derive(Clone, Copy)]
struct Asked {
    address: u16,
    from: u16,
    link: u16,
    eui64: [u8; 8],
    tid: u8,
    minutes: u16,
}

const ASKED: Asked = Asked {
    address: LEAF,
    from: LEAF,
    link: LEAF,
    eui64: EUI64,
    tid: 240,
    minutes: 60,
};

/// A target of a DAO, its transit information, and where the DAO goes.
type Told = (Addr, Transit, Addr);

/// Sends the registration; returns the status of the answer, and the targets that the router
/// advertises at once.
fn ask(lone: &mut Lone, asked: Asked) -> (Option<u8>, Vec<Told>) {
    let mut rest = vec![0; 4];
    // RFC 8505 §5.5: the target is the registered address.
    rest.extend(address(asked.address).0);
    rest.extend([1, 1, 0, asked.link as u8, 0, 0, 0, 0]);
    rest.extend([33, 2, 0, 0, 3, asked.tid]);
    rest.extend(asked.minutes.to_be_bytes());
    rest.extend(asked.eui64);
    let (src, dst) = (address(asked.address), link_local(1));
    let packet = packets::icmp(src, dst, 255, SOLICITATION, 0, &rest);
    lone.link_sends(asked.from, &packet);
    let packets = lone.link_packets();
    let mut answers = packets.iter().filter(|it| it.1[40] == ADVERTISEMENT);
    let status = answers.next().map(|(_, packet)| packet[40 + 34]);
    (status, targets(&packets))
}

/// Sends the registration; returns the status of the answer, if any.
fn register(lone: &mut Lone, asked: Asked) -> Option<u8> {
    ask(lone, asked).0
}

/// Returns the targets that the router advertises within `seconds`.
fn told(lone: &mut Lone, seconds: u64) -> Vec<Told> {
    lone.run_for(Duration::from_secs(seconds));
    targets(&lone.link_packets())
}

/// Returns the targets of DAOs among these packets, without the router itself.
fn targets(packets: &[(Address, Vec<u8>)]) -> Vec<Told> {
    let mut told = Vec::new();
    for (_, packet) in packets {
        let Ok((header, _)) = Ipv6Header::parse(packet) else {
            continue;
        };
        let at = Ipv6Header::LEN + hop_by_hop_len(packet);
        if packet.get(at..at + 2) != Some(&[MESSAGE_TYPE, 2]) {
            continue;
        }
        let Ok(Message::Dao(dao)) = Message::parse(2, &packet[at + 4..]) else {
            panic!("{packet:?}")
        };
        let mut target = None;
        for option in dao.options.iter() {
            match option {
                RplOption::Target(it) => target = Some(it.prefix),
                RplOption::Transit(transit) => {
                    told.push((target.unwrap(), transit, header.dst));
                }
                _ => {}
            }
        }
    }
    told.retain(|(to, ..)| *to != address(1));
    told
}

/// RFC 9010 §9.2.2: E is set, and the Path Sequence and lifetime are those of the registration. In
/// non-storing mode the router is the parent, and the DAO goes to the root.
#[test]
fn a_registration_is_advertised_as_an_external_target() {
    for mode in [mode::STORING, mode::NON_STORING] {
        let mut lone = joined_in(mode);
        let (status, mut first) = ask(&mut lone, ASKED);
        assert_eq!(status, Some(SUCCESS));
        let stores = mode == mode::STORING;
        let transit = Transit {
            external: true,
            control: 0,
            sequence: Sequence(240),
            lifetime: 60,
            parent: (!stores).then(|| address(1)),
        };
        let to = if stores {
            link_local(ROOT)
        } else {
            address(ROOT)
        };
        first.extend(told(&mut lone, 60));
        assert_eq!(first, [(address(LEAF), transit, to)], "once");
        // A renewed registration is advertised again.
        let renewed = Asked { tid: 241, ..ASKED };
        let (status, mut again) = ask(&mut lone, renewed);
        again.extend(told(&mut lone, 5));
        assert_eq!(
            (status, again[0].1.sequence),
            (Some(SUCCESS), Sequence(241))
        );
        assert_eq!(lone.node.rpl_counters().registrations_refused, 0);
    }
}

#[test]
fn an_ended_registration_causes_a_no_path() {
    for mode in [mode::STORING, mode::NON_STORING] {
        for ends in [true, false] {
            let mut lone = joined_in(mode);
            let short = Asked {
                minutes: 5,
                ..ASKED
            };
            assert_eq!(register(&mut lone, short), Some(SUCCESS));
            told(&mut lone, 5);
            let mut told_of = Vec::new();
            if ends {
                let ended = Asked {
                    minutes: 0,
                    tid: 241,
                    ..ASKED
                };
                let (status, told) = ask(&mut lone, ended);
                assert_eq!(status, Some(SUCCESS));
                told_of = told;
            } else {
                // The router receives DIOs of its parent meanwhile.
                for _ in 0..12 {
                    let options = dio_options(ROOT);
                    dio_with(&mut lone, ROOT, VERSION, 128, &options, |dio| {
                        dio.mode = mode;
                    });
                    told_of.extend(told(&mut lone, 25));
                }
            }
            told_of.extend(told(&mut lone, 70));
            let gone: Vec<_> = told_of.iter().filter(|it| it.1.lifetime == 0).collect();
            assert_eq!(gone.len(), 1, "{told_of:?}");
            assert_eq!((gone[0].0, gone[0].1.external), (address(LEAF), true));
            lone.run_for(Duration::from_secs(70));
            assert_eq!(lone.node.rpl_targets(lone.now), 0);
        }
    }
}

/// The first registration of an address wins. The router refuses and counts a registration of the
/// same address by another host, a late registration, one of an address of the root or a DODAG
/// node, and one for which there is no room. It does not answer a registration in a neighbour's
/// name.
#[test]
fn forged_and_superfluous_registrations_are_refused() {
    let mut lone = joined_in(mode::STORING);
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30)]);
    lone.frames.clear();
    assert_eq!(register(&mut lone, ASKED), Some(SUCCESS));
    let refused = [
        (
            Asked {
                eui64: OTHER,
                ..ASKED
            },
            DUPLICATE,
        ),
        (Asked { tid: 239, ..ASKED }, MOVED),
        (
            Asked {
                address: CHILD,
                ..ASKED
            },
            DUPLICATE,
        ),
        (
            Asked {
                address: ROOT,
                ..ASKED
            },
            DUPLICATE,
        ),
    ];
    for (asked, status) in refused {
        assert_eq!(register(&mut lone, asked), Some(status));
    }
    assert_eq!(lone.node.rpl_counters().registrations_refused, 4);
    // A registration in the leaf's name, sent by another neighbour.
    let forged = Asked {
        from: 8,
        tid: 245,
        ..ASKED
    };
    assert_eq!(register(&mut lone, forged), None);
    // A flood of registrations: the table has four entries, and the leaf uses one.
    let mut room = 0;
    for host in 20..120 {
        let mut eui64 = EUI64;
        eui64[7] = host;
        let asked = Asked {
            address: host.into(),
            from: host.into(),
            link: host.into(),
            eui64,
            ..ASKED
        };
        match register(&mut lone, asked) {
            Some(SUCCESS) => room += 1,
            Some(FULL) => {}
            // No answer: no slot is free for it, or the limit on packets to unverified neighbours
            // is reached.
            None => {}
            other => panic!("{other:?}"),
        }
        lone.run_for(Duration::from_millis(200));
        lone.frames.clear();
    }
    assert!(room <= 3, "{room}");
    assert!(lone.node.rpl_counters().registrations_refused >= 90);
    let told = told(&mut lone, 10);
    assert!(told.iter().all(|it| it.0 != address(ROOT)), "{told:?}");
}

/// A host that gets no answer to its registration looks for another router.
#[test]
fn a_router_without_a_way_to_the_root_does_not_answer() {
    let mut lone = router(RplRole::Router);
    assert_eq!(register(&mut lone, ASKED), None);
    assert_eq!(lone.node.rpl_targets(lone.now), 0);
}

/// A packet for the leaf contains no RPL headers when it leaves for the leaf.
#[test]
fn the_router_takes_packet_information_away() {
    let mut lone = joined_in(mode::STORING);
    assert_eq!(register(&mut lone, ASKED), Some(SUCCESS));
    told(&mut lone, 5);
    let host = Addr([0x20; 16]);
    let echo = packets::echo_request(host, address(LEAF));
    let information = PacketInformation {
        down: true,
        sender_rank: 1,
        ignorable: true,
        ..PacketInformation::default()
    };
    let upper = [&information.header(58)[..], &echo[40..]].concat();
    let dressed = packets::packet(host, address(LEAF), next_header::HOP_BY_HOP, 64, &upper);
    lone.link_sends(ROOT, &dressed);
    let packets = lone.link_packets();
    let [(to, packet)] = packets.as_slice() else {
        panic!("{packets:?}")
    };
    assert_eq!((*to, packet[6]), (Address::Short(LEAF), 58));
    assert_eq!(packet[40..], echo[40..]);
}

fn dao_of_leaf(lone: &mut Lone, from: u16, parent: Option<u16>, tid: u8) {
    let transit = |external, sequence, parent| {
        RplOption::Transit(Transit {
            external,
            control: 0,
            sequence: Sequence(sequence),
            lifetime: 30,
            parent,
        })
    };
    let target = |to| {
        RplOption::Target(TargetOption {
            prefix: address(to),
            len: 128,
        })
    };
    let options = bytes(&[target(LEAF), transit(true, tid, parent.map(address))]);
    let dao = Dao {
        instance: 0,
        acknowledge: false,
        sequence: 1,
        dodag: None,
        options: Options::parse(&options).unwrap(),
    };
    say_to_root(lone, from, parent.is_some(), &dao);
}

fn say_to_root(lone: &mut Lone, from: u16, is_routed: bool, dao: &Dao<'_>) {
    let mut buffer = vec![0; 600];
    let mut out = redpoll_wire::Cursor::new(&mut buffer);
    dao.emit(&mut out).unwrap();
    let (src, dst) = match is_routed {
        true => (address(from), address(1)),
        false => (link_local(from), link_local(1)),
    };
    let packet = packets::icmp(src, dst, 64, MESSAGE_TYPE, 2, out.written());
    lone.link_sends(ROUTER, &packet);
}

/// Returns the frame that the root sends when the host sends to the leaf.
fn sent_to_leaf(lone: &mut Lone) -> (Address, Vec<u8>) {
    lone.frames.clear();
    let packet = packets::echo_request(Addr([0x20; 16]), address(LEAF));
    lone.host_sends(&packet).unwrap();
    // Take the last frame, because acknowledgments may precede the packet.
    lone.link_packets().pop().expect("the packet is sent")
}

/// RFC 9008 §7.3, RFC 9010 §9.2.2: the root's outer header and source route end at the leaf's
/// router, which takes out the leaf's packet as the host has sent it.
#[test]
fn a_source_route_ends_at_the_router_of_the_leaf() {
    let mut lone = root(mode::NON_STORING);
    tell_root(&mut lone, ROUTER, ROUTER, address(1));
    tell_root(&mut lone, ROUTER, CHILD, address(ROUTER));
    dao_of_leaf(&mut lone, CHILD, Some(CHILD), 240);
    let (to, packet) = sent_to_leaf(&mut lone);
    let (header, payload) = Ipv6Header::parse(&packet).unwrap();
    assert_eq!((to, header.dst), (Address::Short(ROUTER), address(ROUTER)));
    assert_eq!(header.next_header, next_header::ROUTING);
    let route = SourceRoute::parse(payload).unwrap();
    let stops: Vec<_> = route.addresses(header.dst).collect();
    assert_eq!(
        (stops.as_slice(), payload[0]),
        (&[address(CHILD)][..], next_header::IPV6)
    );
    let inner = &payload[8 + 8 * usize::from(payload[1])..];
    assert_eq!((inner[6], &inner[24..40]), (58, &address(LEAF).0[..]));
    // The leaf moves to a router that is the root's child, and a late DAO changes nothing.
    dao_of_leaf(&mut lone, ROUTER, Some(ROUTER), 241);
    dao_of_leaf(&mut lone, CHILD, Some(CHILD), 240);
    let (to, packet) = sent_to_leaf(&mut lone);
    assert_eq!((to, packet[6]), (Address::Short(ROUTER), 58), "as it came");
    assert_eq!(lone.node.rpl_counters().stale, 1);
}

/// In storing mode the route leads to the neighbour that advertised the leaf. The packet gets no
/// extra header, because no node would remove it.
#[test]
fn in_storing_mode_the_packet_stays_as_it_is() {
    let mut lone = root(mode::STORING);
    dao_of_leaf(&mut lone, ROUTER, None, 240);
    let (to, packet) = sent_to_leaf(&mut lone);
    assert_eq!((to, packet[6]), (Address::Short(ROUTER), 58));
    // A DAO that names the leaf as a node of the DODAG is implausible, and changes no route.
    dao(&mut lone, CHILD, 2, &[(CHILD, 240, 30)]);
    let before = lone.node.rpl_counters().implausible;
    dao(&mut lone, ROUTER, 3, &[(LEAF, 245, 30)]);
    assert_eq!(lone.node.rpl_counters().implausible, before + 1);
    assert_eq!(sent_to_leaf(&mut lone).0, Address::Short(ROUTER));
}

#[test]
fn a_leaf_may_register_with_the_root() {
    for mode in [mode::STORING, mode::NON_STORING] {
        let mut lone = root(mode);
        assert_eq!(register(&mut lone, ASKED), Some(SUCCESS));
        let (to, packet) = sent_to_leaf(&mut lone);
        assert_eq!((to, packet[6]), (Address::Short(LEAF), 58));
    }
}
