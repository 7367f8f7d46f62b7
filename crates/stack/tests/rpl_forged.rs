//! Routes that forged DAOs request, and versions and ranks of forged DIOs (ADR 38).
#![cfg(all(feature = "rpl-root", feature = "rpl-storing"))]

use crate::common;

use common::dodag::*;
use common::lone::Lone;
use common::{address, packets, prefix};
use redpoll_base::{Addr, Duration};
use redpoll_stack::{DropReason, RplRole, RplRoot};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::{
    ALL_NODES, Configuration, INFINITE_RANK, Sequence, SourceRoute, mode, status,
};

/// The attacked node. [`NOBODY`] is the address of a neighbour that does not exist.
const VICTIM: u16 = 12;
const NOBODY: u16 = 0x0999;

fn root_with(mode: u8, configuration: Configuration) -> Lone {
    let root = RplRoot::new(prefix(), mode, configuration);
    let mut lone = lone(RplRole::Root(root));
    lone.run_for(Duration::from_secs(10));
    lone.frames.clear();
    lone
}

fn root() -> Lone {
    root_with(mode::STORING, CONFIGURATION)
}

fn next_hop(lone: &mut Lone, to: u16) -> Option<u16> {
    lone.run_for(Duration::from_secs(1));
    lone.frames.clear();
    let asked = packets::echo_request(Addr([0x20; 16]), address(to));
    let _ = lone.host_sends(&asked);
    let packets = lone.link_packets();
    let is_to = |packet: &[u8]| packet.get(24..40) == Some(&address(to).0[..]);
    packets.into_iter().find_map(|(hop, packet)| match hop {
        Address::Short(hop) if is_to(&packet) || packet.get(6) == Some(&43) => Some(hop),
        _ => None,
    })
}

/// A neighbour that acknowledges no frame takes no node's traffic, regardless of the number, path
/// sequences and lifetimes of its DAOs.
#[test]
fn a_forged_dao_takes_no_traffic() {
    for sequence in [0, 60, 127, 128, 200, 245, 255] {
        let mut lone = root();
        lone.absent.insert(NOBODY);
        for round in 0..10_u8 {
            dao(&mut lone, CHILD, round, &[(VICTIM, 240 + round, 30)]);
            lone.run_for(Duration::from_secs(1));
            dao(&mut lone, NOBODY, round, &[(VICTIM, sequence, 255)]);
            assert_eq!(
                next_hop(&mut lone, VICTIM),
                Some(CHILD),
                "{sequence}, {round}"
            );
        }
        assert_eq!(lone.node.rpl_targets(lone.now), 1);
    }
}

/// A genuine DAO takes the target back at once, also with an older path sequence, because the
/// forged next hop has not acknowledged a frame.
#[test]
fn a_genuine_dao_takes_its_target_back() {
    for sequence in [1, 60, 130, 200, 250] {
        let mut lone = root();
        lone.absent.insert(NOBODY);
        dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30)]);
        lone.run_for(Duration::from_secs(1));
        dao(&mut lone, NOBODY, 1, &[(VICTIM, 200, 255)]);
        dao(&mut lone, CHILD, 2, &[(VICTIM, sequence, 30)]);
        assert_eq!(next_hop(&mut lone, VICTIM), Some(CHILD), "{sequence}");
    }
}

/// Forged DAOs expire without traffic to their targets, and leave room for genuine ones.
#[test]
fn forged_daos_do_not_fill_the_table() {
    let mut lone = root();
    for n in 0..64 {
        lone.absent.insert(NOBODY + n);
        dao(&mut lone, NOBODY + n, 1, &[(0x0400 + n, 200, 255)]);
        lone.run_for(Duration::from_millis(20));
    }
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30), (8, 240, 30)]);
    lone.run_for(Duration::from_secs(3));
    assert_eq!(next_hop(&mut lone, CHILD), Some(CHILD));
    assert_eq!(next_hop(&mut lone, 8), Some(CHILD));
    lone.run_for(Duration::from_secs(120));
    let counters = lone.node.rpl_counters();
    assert_eq!(lone.node.rpl_targets(lone.now), 2, "{counters:?}");
    assert!(counters.routes_unacked > 0, "{counters:?}");
}

/// One neighbour that has not acknowledged a frame gets eight routes, and all of them end.
#[test]
fn an_unproven_neighbour_has_few_routes() {
    let mut lone = root();
    lone.absent.insert(NOBODY);
    for n in 0..20 {
        dao(&mut lone, NOBODY, n as u8, &[(0x0400 + n, 200, 255)]);
    }
    assert!(lone.node.rpl_targets(lone.now) <= 8);
    assert!(lone.node.rpl_counters().targets_refused > 0);
    lone.run_for(Duration::from_secs(60));
    assert_eq!(lone.node.rpl_targets(lone.now), 0);
}

/// A next hop that falls silent loses its routes with the fourth frame. The root then accepts a DAO
/// by another path, whatever its Path Sequence is.
#[test]
fn a_proven_next_hop_that_falls_silent_loses_its_routes() {
    let mut lone = root();
    dao(&mut lone, CHILD, 1, &[(VICTIM, 200, 30)]);
    dao(&mut lone, ROUTER, 1, &[(ROUTER, 240, 30)]);
    assert_eq!(next_hop(&mut lone, VICTIM), Some(CHILD));
    lone.absent.insert(CHILD);
    for n in 1..=4 {
        assert_eq!(lone.node.rpl_targets(lone.now), 2, "{n}");
        next_hop(&mut lone, VICTIM);
    }
    assert_eq!(lone.node.rpl_targets(lone.now), 1);
    assert_eq!(lone.node.rpl_counters().routes_unacked, 1);
    dao(&mut lone, ROUTER, 2, &[(VICTIM, 190, 30)]);
    assert_eq!(next_hop(&mut lone, VICTIM), Some(ROUTER));
}

/// A node that moves is reached by its new path once the new next hop has acknowledged a frame.
#[test]
fn a_node_that_moves_takes_its_route_along() {
    let mut lone = root();
    dao(&mut lone, CHILD, 1, &[(VICTIM, 240, 30)]);
    assert_eq!(next_hop(&mut lone, VICTIM), Some(CHILD));
    // The node has moved and sends its DAO twice. In between, `ROUTER` acknowledges a frame.
    for n in [1, 1] {
        dao(&mut lone, ROUTER, n, &[(VICTIM, 241, 30)]);
        lone.run_for(Duration::from_secs(1));
    }
    assert_eq!(next_hop(&mut lone, VICTIM), Some(ROUTER));
}

/// RFC 6550 §7.2: a restarted counter is accepted by the same path at once, and by another path no
/// later than after the lifetime of routes, regardless of the lifetime in the DAO.
#[test]
fn a_restarted_path_sequence_is_accepted_within_a_lifetime() {
    for (before, after) in [
        (200, 190),
        (250, 240),
        (240, 50),
        (60, 50),
        (255, 128),
        (5, 250),
    ] {
        let configuration = Configuration {
            lifetime: 2,
            ..CONFIGURATION
        };
        let mut lone = root_with(mode::STORING, configuration);
        dao(&mut lone, ROUTER, 1, &[(ROUTER, 240, 2)]);
        dao(&mut lone, CHILD, 1, &[(VICTIM, before, 255)]);
        assert_eq!(next_hop(&mut lone, VICTIM), Some(CHILD));
        let began = lone.now;
        while next_hop(&mut lone, VICTIM) == Some(CHILD) {
            dao(&mut lone, ROUTER, 2, &[(VICTIM, after, 2)]);
            let waited = lone.now.since(began);
            assert!(waited <= Duration::from_secs(125), "{before}, {after}");
            lone.run_for(Duration::from_secs(2));
        }
        dao(&mut lone, ROUTER, 2, &[(VICTIM, after, 2)]);
        assert_eq!(
            next_hop(&mut lone, VICTIM),
            Some(ROUTER),
            "{before}, {after}"
        );
        // Two more DAOs by the same path, with either Path Sequence, keep the route.
        dao(&mut lone, ROUTER, 3, &[(VICTIM, before, 2)]);
        dao(&mut lone, ROUTER, 4, &[(VICTIM, after, 2)]);
        lone.run_for(Duration::from_secs(115));
        assert_eq!(
            next_hop(&mut lone, VICTIM),
            Some(ROUTER),
            "{before}, {after}"
        );
    }
}

/// Routes end with the lifetime that the root announces; routes of hosts end after a day.
#[test]
fn lifetimes_are_capped() {
    for (external, lifetime) in [(false, 255), (false, 254), (false, 31)] {
        let mut lone = root_with(mode::NON_STORING, CONFIGURATION);
        tell(&mut lone, VICTIM, VICTIM, VICTIM, 1, |it| {
            it.lifetime = lifetime;
            it.external = external;
        });
        assert_eq!(lone.node.rpl_targets(lone.now), 1);
        lone.run_for(Duration::from_secs(30 * 60 + 5));
        assert_eq!(lone.node.rpl_targets(lone.now), 0, "{lifetime}");
    }
    let mut lone = root_with(mode::NON_STORING, CONFIGURATION);
    tell(&mut lone, CHILD, CHILD, CHILD, 1, |_| {});
    tell(&mut lone, CHILD, CHILD, VICTIM, CHILD, |it| {
        it.external = true;
        it.lifetime = 255;
    });
    lone.run_for(Duration::from_secs(24 * 3_600 - 60));
    assert_eq!(lone.node.rpl_targets(lone.now), 1);
    lone.run_for(Duration::from_secs(120));
    assert_eq!(lone.node.rpl_targets(lone.now), 0);
}

/// RFC 9010 §9.2.2, RFC 6550 §9.7: in non-storing mode a node sends the root DAOs for itself, and
/// for hosts whose parent it is.
#[test]
fn the_root_ignores_daos_for_other_nodes() {
    let mut lone = root_with(mode::NON_STORING, CONFIGURATION);
    tell(&mut lone, CHILD, CHILD, CHILD, 1, |_| {});
    tell(&mut lone, CHILD, VICTIM, VICTIM, CHILD, |_| {});
    run_answering(&mut lone, Duration::from_secs(5), &[VICTIM]);
    let reached = |lone: &mut Lone| next_hop(lone, VICTIM);
    assert_eq!(reached(&mut lone), Some(CHILD));
    let before = lone.node.rpl_counters().implausible;
    // DAOs of ROUTER: a route to VICTIM, a host behind CHILD, and a No-Path for VICTIM.
    tell(&mut lone, ROUTER, ROUTER, VICTIM, ROUTER, |it| {
        it.sequence = Sequence(245)
    });
    tell(&mut lone, ROUTER, ROUTER, 77, CHILD, |it| {
        it.external = true
    });
    tell(&mut lone, ROUTER, ROUTER, VICTIM, ROUTER, |it| {
        it.lifetime = 0
    });
    assert_eq!(lone.node.rpl_counters().implausible, before + 3);
    assert_eq!(reached(&mut lone), Some(CHILD));
    // DAOs in the node's name with a false parent: the root itself, or an address without a router.
    lone.absent.insert(VICTIM);
    for parent in [1, NOBODY] {
        for _ in 0..3 {
            tell(&mut lone, ROUTER, VICTIM, VICTIM, parent, |it| {
                it.sequence = Sequence(250);
            });
            assert_eq!(reached(&mut lone), Some(CHILD), "{parent}");
        }
    }
    assert_eq!(lone.node.rpl_counters().daos_unproven, 6);
}

/// `count` DIOs at intervals of 200 ms, each from another neighbour that does not exist. Their
/// versions are newer than that of the root.
fn forged_dios(lone: &mut Lone, count: u16) {
    for n in 0..count {
        lone.absent.insert(NOBODY + n);
        let version = (0..=n % 14).fold(VERSION, |it, _| it.next());
        dio(lone, NOBODY + n, version, 256);
        lone.run_for(Duration::from_millis(200));
    }
}

/// A node does not leave its version for one that only neighbours without acknowledged frames
/// advertise. It sends a DIS to one of these neighbours every three seconds.
#[test]
fn a_forged_version_is_not_followed() {
    let mut lone = joined();
    forged_dios(&mut lone, 300);
    let counters = lone.node.rpl_counters();
    assert_eq!(counters.versions, 0, "{counters:?}");
    assert!((10..=25).contains(&counters.diss_sent), "{counters:?}");
    let place = lone.node.rpl_place().unwrap();
    assert_eq!(place.1, Some(Address::Short(ROOT)));
}

/// If some neighbours acknowledge frames, a root begins no new version because of neighbours that
/// acknowledge none.
#[test]
fn a_forged_version_makes_the_root_begin_no_new_one() {
    let mut lone = root();
    dio_at_root(&mut lone, CHILD, VERSION);
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30)]);
    lone.run_for(Duration::from_secs(1));
    for n in 0..300 {
        lone.absent.insert(NOBODY + n);
        let version = (0..=n % 14).fold(VERSION, |it, _| it.next());
        dio_at_root(&mut lone, NOBODY + n, version);
        lone.run_for(Duration::from_millis(200));
    }
    let counters = lone.node.rpl_counters();
    assert_eq!(counters.versions, 0, "{counters:?}");
    // If a neighbour repeats a newer version in a unicast DIO, the version is genuine and the
    // root has forgotten it: the root begins a new version.
    lone.run_for(Duration::from_secs(5));
    dio_at_root(&mut lone, CHILD, VERSION.next());
    assert_eq!(lone.node.rpl_counters().versions, 0);
    let options = dio_options(CHILD);
    let answer = dio_of(&options, 1, VERSION.next(), 256);
    say(&mut lone, CHILD, link_local(1), &answer);
    assert_eq!(lone.node.rpl_counters().versions, 1);
}

fn dio_at_root(lone: &mut Lone, from: u16, version: Sequence) {
    let options = dio_options(from);
    say(lone, from, ALL_NODES, &dio_of(&options, 1, version, 256));
}

/// Forged DIOs do no lasting harm to a node that has lost its parent: it joins again when it hears
/// a router that acknowledges frames, although the forged ranks were lower.
#[test]
fn forged_dios_do_not_hide_the_parent() {
    let mut lone = lone(RplRole::Router);
    dio(&mut lone, ROUTER, VERSION, 300);
    lone.run_for(Duration::from_secs(3));
    dio(&mut lone, ROUTER, VERSION, INFINITE_RANK);
    forged_dios(&mut lone, 100);
    for _ in 0..6 {
        lone.run_for(Duration::from_secs(10));
        dio(&mut lone, ROUTER, VERSION, 300);
    }
    let place = lone.node.rpl_place().unwrap();
    assert_eq!(place.1, Some(Address::Short(ROUTER)));
}

/// A node whose link to its parent has become worse does not leave the parent for neighbours that
/// acknowledge no frame, whatever ranks they advertise. It leaves the parent at once for a
/// neighbour that acknowledges a frame.
#[test]
fn a_forged_rank_takes_no_node_from_its_parent() {
    let mut lone = lone(RplRole::Router);
    dio(&mut lone, ROUTER, VERSION, 300);
    lone.run_for(Duration::from_secs(3));
    lone.deaf = true;
    let asked = packets::echo_request(address(CHILD), address(99));
    lone.link_sends(CHILD, &asked);
    lone.run_for(Duration::from_millis(300));
    lone.deaf = false;
    for n in 0..100 {
        lone.absent.insert(NOBODY + n);
        dio(&mut lone, NOBODY + n, VERSION, 256);
        lone.run_for(Duration::from_millis(200));
        let place = lone.node.rpl_place().unwrap();
        assert_eq!(place.1, Some(Address::Short(ROUTER)), "{n}");
    }
    lone.run_for(Duration::from_secs(5));
    dio(&mut lone, ROOT, VERSION, 128);
    lone.run_for(Duration::from_millis(100));
    let place = lone.node.rpl_place().unwrap();
    assert_eq!(place.1, Some(Address::Short(ROOT)));
}

/// A DIO with the address of the parent or of another neighbour that acknowledges frames has no
/// effect if this neighbour does not confirm the DIO's rank and version by a unicast DIO.
#[test]
fn a_dio_in_the_name_of_a_neighbour_is_not_believed() {
    for (claimed, version, rank) in [
        (ROUTER, VERSION, 300),
        (ROUTER, VERSION.next(), 5_000),
        (CHILD, VERSION, 300),
        (CHILD, VERSION.next(), 300),
    ] {
        let mut lone = lone(RplRole::Router);
        dio(&mut lone, CHILD, VERSION, 4_000);
        dio(&mut lone, ROUTER, VERSION, 4_200);
        lone.run_for(Duration::from_secs(600));
        dio(&mut lone, CHILD, VERSION, 4_000);
        dio(&mut lone, ROUTER, VERSION, 4_200);
        let place = lone.node.rpl_place();
        assert_eq!(place.unwrap().1, Some(Address::Short(CHILD)));
        lone.frames.clear();
        let options = dio_options(claimed);
        let forged = dio_of(&options, ROOT, version, rank);
        for round in 0..100 {
            say(&mut lone, claimed, ALL_NODES, &forged);
            if round % 10 == 0 {
                // After each tenth forged DIO, the neighbour itself sends a genuine one.
                let rank = if claimed == CHILD { 4_000 } else { 4_200 };
                let answer = dio_of(&options, ROOT, VERSION, rank);
                say(&mut lone, claimed, link_local(1), &answer);
            }
            lone.run_for(Duration::from_millis(200));
            let place = lone.node.rpl_place();
            assert_eq!(place.unwrap().1, Some(Address::Short(CHILD)), "{claimed}");
            assert!(place.unwrap().0 > 4_000, "{claimed}: {place:?}");
        }
        let counters = lone.node.rpl_counters();
        assert_eq!(counters.versions, 0, "{counters:?}");
        let asked = said(&mut lone, 0);
        let asked = asked.iter().filter(|(to, _)| *to == link_local(claimed));
        assert!((1..=110).contains(&asked.count()), "{claimed}");
    }
}

/// A node drops, without an error, a source route that its root cannot have sent: in storing mode,
/// from an unknown neighbour, or at the root itself.
#[test]
fn a_source_route_that_no_root_has_sent_is_not_followed() {
    let routed = |from: u16| {
        let mut buffer = [0; 64];
        let mut out = Cursor::new(&mut buffer);
        SourceRoute::emit(59, 14, [5, 6].map(address).into_iter(), &mut out).unwrap();
        packets::packet(address(from), address(1), 43, 64, out.written())
    };
    let mut non_storing = lone(RplRole::Router);
    dio_non_storing(&mut non_storing, ROUTER, VERSION, 256);
    non_storing.run_for(Duration::from_secs(3));
    let root = root_with(mode::NON_STORING, CONFIGURATION);
    for (what, lone, from) in [
        ("storing", joined(), ROOT),
        ("unknown neighbour", non_storing, NOBODY),
        ("root", root, CHILD),
    ] {
        let mut lone = lone;
        lone.frames.clear();
        lone.link_sends(from, &routed(from));
        assert_eq!(lone.dropped(DropReason::SourceRoute), 1, "{what}");
        lone.run_for(Duration::from_millis(100));
        let packets = lone.link_packets();
        let is_it = |packet: &[u8]| packet[6] == 43 || packet[6] == 58 && packet[40] < 128;
        assert!(!packets.iter().any(|(_, it)| is_it(it)), "{what}");
    }
}

fn lifetimes(daos: &[(Addr, Vec<u8>)], target: u16) -> Vec<u8> {
    let address = address(target).0;
    let told = daos.iter().filter_map(|(_, body)| {
        let at = body.windows(16).position(|window| window == address)?;
        // A transit option follows: type, length, flags, path control, path sequence.
        body.get(at + 16 + 5).copied()
    });
    told.collect()
}

/// A router advertises a target to its own parent at once. Until the target's next hop has
/// acknowledged a frame, the advertised lifetime is one unit; afterwards it is the whole lifetime.
#[test]
fn an_unproven_target_is_advertised_for_one_unit() {
    let mut lone = joined();
    lone.absent.extend([CHILD, NOBODY]);
    dao(&mut lone, CHILD, 1, &[(VICTIM, 240, 30)]);
    dao(&mut lone, NOBODY, 1, &[(0x0400, 240, 30)]);
    lone.run_for(Duration::from_secs(2));
    let mut daos = said(&mut lone, 2);
    assert_eq!(lifetimes(&daos, VICTIM), [1]);
    assert_eq!(lifetimes(&daos, 0x0400), [1]);
    lone.absent.remove(&CHILD);
    lone.frames.clear();
    lone.run_for(Duration::from_secs(60));
    daos.extend(said(&mut lone, 2));
    assert_eq!(lifetimes(&daos, VICTIM), [1, 30]);
    assert_eq!(lifetimes(&daos, 0x0400), [1, 0], "it is gone");
    // The router does not forward a DAO that repeats the known target.
    lone.frames.clear();
    dao(&mut lone, CHILD, 2, &[(VICTIM, 240, 30)]);
    lone.run_for(Duration::from_secs(5));
    assert_eq!(lifetimes(&said(&mut lone, 2), VICTIM), []);
}

/// A router forwards to its parent that a target lasts longer now, with the same path sequence.
#[test]
fn a_longer_lifetime_is_forwarded() {
    let mut lone = joined();
    for (sequence, lifetime) in [(1, 1), (2, 30)] {
        dao(&mut lone, CHILD, sequence, &[(VICTIM, 240, lifetime)]);
        lone.run_for(Duration::from_secs(5));
    }
    assert_eq!(lifetimes(&said(&mut lone, 2), VICTIM), [1, 30]);
}

/// The root removes targets that a router advertises for one lifetime unit when the unit is over.
/// Until then, targets with a longer lifetime replace them if the table is full. The root does not
/// refuse the DAO, because the router would have to repeat the other targets.
#[test]
fn brief_targets_keep_no_room_at_the_root() {
    let mut lone = root();
    for n in 0..64 {
        dao(&mut lone, CHILD, n, &[(0x0400 + u16::from(n), 200, 1)]);
        lone.run_for(Duration::from_millis(20));
    }
    let full = lone.node.rpl_targets(lone.now);
    assert!(lone.node.rpl_counters().targets_refused > 0);
    let mut statuses = acks(&mut lone);
    statuses.dedup();
    assert_eq!(statuses, [status::ACCEPTED]);
    for n in 0..4 {
        dao(&mut lone, CHILD, 100 + n as u8, &[(VICTIM + n, 240, 30)]);
        lone.run_for(Duration::from_secs(1));
        assert_eq!(next_hop(&mut lone, VICTIM + n), Some(CHILD), "{n}");
    }
    assert_eq!(lone.node.rpl_targets(lone.now), full);
    lone.run_for(Duration::from_secs(61));
    assert_eq!(lone.node.rpl_targets(lone.now), 4);
}
