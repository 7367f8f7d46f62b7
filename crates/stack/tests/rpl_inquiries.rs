//! A root in non-storing mode sends inquiries to the targets of DAOs that are behind routers (ADR
//! 38): the effect of forged DAOs, No-Paths and errors at the root.
#![cfg(all(feature = "rpl-root", feature = "rpl-storing"))]

use crate::common;

use common::dodag::*;
use common::lone::Lone;
use common::{address, packets, prefix};
use redpoll_base::{Addr, Duration};
use redpoll_stack::{RplRole, RplRoot};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::{Sequence, Transit, mode};

/// Another child of the root. [`DEEP`] is a node behind [`ROUTER`]; [`NOBODY`] does not exist.
const OTHER: u16 = 4;
const DEEP: u16 = 12;
const NOBODY: u16 = 0x0999;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Returns a root with two children, [`ROUTER`] and [`OTHER`], which acknowledge frames.
fn root() -> Lone {
    let root = RplRoot::new(prefix(), mode::NON_STORING, CONFIGURATION);
    let mut lone = lone(RplRole::Root(root));
    lone.run_for(secs(10));
    for child in [ROUTER, OTHER] {
        tell(&mut lone, child, child, child, 1, |_| {});
        assert_eq!(next_hop(&mut lone, child), Some(child));
    }
    lone
}

/// Returns the root of [`root`], after [`DEEP`] behind the router has answered.
fn deep_root() -> Lone {
    let mut lone = root();
    tell(&mut lone, ROUTER, DEEP, DEEP, ROUTER, |_| {});
    assert_eq!(
        run_answering(&mut lone, secs(6), &[DEEP]),
        [address(DEEP)],
        "it is asked once"
    );
    lone
}

fn targets(lone: &Lone) -> usize {
    lone.node.rpl_targets(lone.now)
}

fn next_hop(lone: &mut Lone, to: u16) -> Option<u16> {
    lone.run_for(Duration::from_millis(100));
    lone.frames.clear();
    let asked = packets::echo_request(Addr([0x20; 16]), address(to));
    let _ = lone.host_sends(&asked);
    lone.run_for(Duration::from_millis(100));
    let hop = lone.frames.first().map(|(hop, _)| *hop);
    lone.frames.clear();
    // Discards the errors for the host.
    lone.host_packets();
    match hop {
        Some(Address::Short(hop)) => Some(hop),
        _ => None,
    }
}

/// Sets a Path Sequence of 250 and the infinite lifetime, for a forged DAO.
fn endless(transit: &mut Transit) {
    (transit.sequence, transit.lifetime) = (Sequence(250), 255);
}

/// Delivers an error of `from` about a packet to `to`, source-routed if `code` is 7.
fn error(lone: &mut Lone, from: u16, code: u8, to: u16) {
    let next_header = if code == 7 { 43 } else { 58 };
    let upper = [59, 1, 3, 1, 0xee, 0, 0, 0, 0, 9];
    let quoted = packets::packet(address(1), address(to), next_header, 60, &upper);
    let rest = [&[0; 4][..], &quoted].concat();
    let packet = packets::icmp(address(from), address(1), 64, 1, code, &rest);
    lone.link_sends(from, &packet);
}

/// Forged DAOs that name existing nodes, with other existing nodes as parents, divert no traffic:
/// neither that of the root's child nor that of the node behind the child.
#[test]
fn a_false_parent_takes_no_traffic() {
    for sequence in [0, 60, 127, 200, 241, 255] {
        let mut lone = deep_root();
        for round in 0..10 {
            for (child, parent) in [(ROUTER, DEEP), (ROUTER, OTHER), (DEEP, OTHER), (DEEP, 1)] {
                lone.absent.insert(DEEP);
                tell(&mut lone, NOBODY, child, child, parent, |it| {
                    (it.sequence, it.lifetime) = (Sequence(sequence), 255);
                });
            }
            run_answering(&mut lone, secs(1), &[]);
            for to in [ROUTER, DEEP] {
                assert_eq!(next_hop(&mut lone, to), Some(ROUTER), "{sequence}, {round}");
            }
        }
        assert_eq!(targets(&lone), 3);
    }
}

#[test]
fn a_node_that_moves_takes_its_route_along() {
    let mut lone = deep_root();
    tell(&mut lone, OTHER, DEEP, DEEP, OTHER, |it| {
        it.sequence = Sequence(241);
    });
    assert_eq!(next_hop(&mut lone, DEEP), Some(ROUTER));
    tell(&mut lone, OTHER, DEEP, DEEP, OTHER, |it| {
        it.sequence = Sequence(242);
    });
    let asked = inquiries(&mut lone);
    let mut began = lone.now;
    for inquiry in asked {
        assert_eq!((inquiry.0, inquiry.1), (OTHER, address(DEEP)));
        answer(&mut lone, OTHER, inquiry);
        began = lone.now;
    }
    run_answering(&mut lone, secs(4), &[DEEP]);
    assert!(lone.now.since(began) < secs(6));
    assert_eq!(next_hop(&mut lone, DEEP), Some(OTHER));
    // A DAO by the former path, with an older Path Sequence, has no effect.
    tell(&mut lone, ROUTER, DEEP, DEEP, ROUTER, |it| {
        it.sequence = Sequence(240);
    });
    run_answering(&mut lone, secs(4), &[]);
    assert_eq!(next_hop(&mut lone, DEEP), Some(OTHER));
}

/// A genuine DAO gets its route although a forged DAO came first, whatever the Path Sequence of the
/// forged one.
#[test]
fn a_genuine_dao_takes_its_target_back() {
    for sequence in [0, 60, 127, 200, 250, 255] {
        let mut lone = root();
        tell(&mut lone, NOBODY, DEEP, DEEP, OTHER, |it| {
            (it.sequence, it.lifetime) = (Sequence(sequence), 255);
        });
        let mut rounds = 0;
        while next_hop(&mut lone, DEEP) != Some(ROUTER) {
            tell(&mut lone, ROUTER, DEEP, DEEP, ROUTER, |_| {});
            for inquiry in inquiries(&mut lone) {
                if inquiry.0 == ROUTER {
                    answer(&mut lone, ROUTER, inquiry);
                }
            }
            rounds += 1;
            assert!(rounds < 15, "{sequence}");
        }
    }
}

/// The root removes forged targets: within 62 s if they do not answer or if it has no path to
/// them, and at once if their parent returns the inquiry, however many there are.
#[test]
fn forged_targets_leave_the_root() {
    for parent in [ROUTER, NOBODY] {
        let mut lone = deep_root();
        for n in 0..3 {
            tell(&mut lone, NOBODY, 0x0400 + n, 0x0400 + n, parent, endless);
        }
        assert_eq!(targets(&lone), 6);
        run_answering(&mut lone, secs(62), &[]);
        assert_eq!(targets(&lone), 3, "{parent}");
    }
    let mut lone = deep_root();
    for n in 0..60 {
        let forged = 0x0400 + n;
        tell(&mut lone, NOBODY, forged, forged, ROUTER, endless);
        assert_eq!(targets(&lone), 4, "{n}");
        error(&mut lone, OTHER, 7, forged);
        assert_eq!(targets(&lone), 4, "{n}: another router");
        error(&mut lone, ROUTER, 7, forged);
        assert_eq!(targets(&lone), 3, "{n}");
    }
}

/// The root removes a host that a forged DAO names when the DAO's parent returns the inquiry
/// (RFC 4443 §3.1). It keeps a host that has answered, and one that only sleeps.
#[test]
fn forged_hosts_leave_the_root() {
    let external = |transit: &mut Transit| {
        endless(transit);
        transit.external = true;
    };
    for code in [0, 3, 7] {
        let mut lone = deep_root();
        tell(&mut lone, NOBODY, ROUTER, NOBODY, ROUTER, external);
        assert_eq!(targets(&lone), 4);
        assert_eq!(run_answering(&mut lone, secs(3), &[]), [address(NOBODY)]);
        error(&mut lone, OTHER, code, NOBODY);
        assert_eq!(targets(&lone), 4, "{code}: another router");
        error(&mut lone, ROUTER, code, NOBODY);
        assert_eq!(targets(&lone), 3, "{code}");
    }
    let mut lone = deep_root();
    tell(&mut lone, ROUTER, ROUTER, 77, ROUTER, external);
    assert_eq!(run_answering(&mut lone, secs(60), &[]).len(), 4);
    assert_eq!(targets(&lone), 4);
}

/// Forged targets fill the table and take no room from a target that has answered. A new node is
/// admitted as soon as it answers.
#[test]
fn forged_targets_displace_no_honest_node() {
    let mut lone = deep_root();
    let forge = |lone: &mut Lone, n: u16| {
        let forged = 0x0400 + n;
        tell(lone, NOBODY, forged, forged, ROUTER, endless);
    };
    for n in 0..200 {
        forge(&mut lone, n);
    }
    let full = targets(&lone);
    assert!(lone.node.rpl_counters().targets_refused > 0 && full > 4);
    let mut rounds = 0;
    let mut n = 200;
    while next_hop(&mut lone, 13) != Some(OTHER) {
        for _ in 0..5 {
            forge(&mut lone, n);
            n += 1;
        }
        if rounds % 5 == 4 {
            lone.run_for(secs(3));
            tell(&mut lone, OTHER, 13, 13, OTHER, |_| {});
        }
        run_answering(&mut lone, secs(1), &[13]);
        assert_eq!(next_hop(&mut lone, DEEP), Some(ROUTER), "{rounds}");
        rounds += 1;
        assert!(rounds < 100);
    }
    for _ in 0..200 {
        forge(&mut lone, n);
        n += 1;
    }
    run_answering(&mut lone, secs(1), &[]);
    assert_eq!(next_hop(&mut lone, 13), Some(OTHER));
    assert_eq!(next_hop(&mut lone, DEEP), Some(ROUTER));
}

/// After a No-Path the root sends the target an inquiry, and removes the target only if it does not
/// answer. It does not acknowledge this No-Path, because packets still go to the target. A forged
/// DAO with a short lifetime does not end the route of a target that answers.
#[test]
fn a_no_path_removes_a_target_that_does_not_answer() {
    let withdraw = |lone: &mut Lone| {
        tell(lone, NOBODY, DEEP, DEEP, ROUTER, |it| {
            (it.sequence, it.lifetime) = (Sequence(253), 0);
        });
    };
    let mut lone = deep_root();
    let acknowledged = lone.node.rpl_counters().dao_acks_sent;
    for round in 0..20 {
        withdraw(&mut lone);
        run_answering(&mut lone, secs(1), &[DEEP]);
        assert_eq!(next_hop(&mut lone, DEEP), Some(ROUTER), "{round}");
    }
    tell(&mut lone, NOBODY, DEEP, DEEP, ROUTER, |it| {
        (it.sequence, it.lifetime) = (Sequence(251), 1);
    });
    run_answering(&mut lone, secs(70), &[DEEP]);
    assert_eq!(next_hop(&mut lone, DEEP), Some(ROUTER));
    withdraw(&mut lone);
    run_answering(&mut lone, secs(20), &[]);
    assert_eq!(next_hop(&mut lone, DEEP), None);
    assert_eq!(targets(&lone), 2);
    assert_eq!(lone.node.rpl_counters().dao_acks_sent, acknowledged);
}

/// Only the target's answer with the inquiry's identifier and sequence number confirms the target.
#[test]
fn a_guessed_answer_confirms_no_target() {
    let mut lone = root();
    tell(&mut lone, NOBODY, NOBODY, NOBODY, ROUTER, endless);
    let mut asked = 0;
    for _ in 0..30 {
        for inquiry in inquiries(&mut lone) {
            asked += 1;
            let (hop, to, [a, b, c, d]) = inquiry;
            answer(&mut lone, ROUTER, (hop, to, [a, b, c, d ^ 1]));
            answer(&mut lone, ROUTER, (hop, address(DEEP), [a, b, c, d]));
        }
    }
    assert_eq!((asked, targets(&lone)), (4, 2));
}

/// A root in storing mode sends no inquiries, nor does a root whose targets are all its children.
#[test]
fn a_root_without_need_sends_no_inquiries() {
    let storing = RplRoot::new(prefix(), mode::STORING, CONFIGURATION);
    let mut lone = lone(RplRole::Root(storing));
    lone.run_for(secs(10));
    dao(&mut lone, CHILD, 1, &[(CHILD, 240, 30), (DEEP, 240, 30)]);
    assert_eq!(run_answering(&mut lone, secs(30), &[]), []);
    assert_eq!(run_answering(&mut root(), secs(30), &[]), []);
}
