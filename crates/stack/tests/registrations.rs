//! RFC 8505: of two registrations of an address the later one wins, in any order of arrival.

use crate::common;

use common::lone::Lone;
use common::packets;
use common::{address, prefix};
use redpoll_base::{Addr, Duration};
use redpoll_stack::{Advertised, NdConfig};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

const LEAF: u16 = 9;
const EUI64: [u8; 8] = [0x02, 0, 0, 0, 0, 0, 0, 9];
const SUCCESS: u8 = 0;
const MOVED: u8 = 3;
const REQUEST: u8 = 157;
const CONFIRMATION: u8 = 158;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
const ECHO_REPLY: u8 = 129;

/// Returns the border router, which receives all registrations.
fn router() -> Lone {
    Lone::border(|config| {
        config.nd = NdConfig::default().with(|it| {
            it.advertise =
                Some(Advertised::new(prefix(), address(1)).with(|it| it.context_lifetime_min = 600))
        });
    })
}

fn link_local(short: u16) -> Addr {
    addr::link_local(Address::Short(short)).unwrap()
}

/// Router `from` reports the leaf's registration with this transaction ID, or without one.
fn report(lone: &mut Lone, from: u16, tid: Option<u8>) {
    report_as(lone, from, tid, EUI64, 60);
}

/// Router `from` reports that the node `eui64` registers the leaf's address for `minutes`.
fn report_as(lone: &mut Lone, from: u16, tid: Option<u8>, eui64: [u8; 8], minutes: u16) {
    meet(lone, from);
    report_unmet(lone, from, tid, eui64, minutes);
}

fn meet(lone: &mut Lone, from: u16) {
    let asked = packets::echo_request(link_local(from), link_local(1));
    lone.link_sends(from, &asked);
    lone.run_for(Duration::from_millis(20));
}

/// Like [`report_as`], but does not make the neighbour acknowledge a frame first.
fn report_unmet(lone: &mut Lone, from: u16, tid: Option<u8>, eui64: [u8; 8], minutes: u16) {
    let mut rest = vec![0, tid.unwrap_or(0)];
    rest.extend(minutes.to_be_bytes());
    rest.extend(eui64);
    rest.extend(address(LEAF).0);
    let code = u8::from(tid.is_some());
    let (src, dst) = (link_local(from), link_local(1));
    let packet = packets::icmp(src, dst, 255, REQUEST, code, &rest);
    lone.link_sends(from, &packet);
}

/// The leaf itself registers here.
fn register(lone: &mut Lone, tid: u8, routed: bool) {
    let mut rest = vec![0; 4];
    // RFC 8505 §5.5: the target is the registered address.
    rest.extend(address(LEAF).0);
    rest.extend([1, 1, 0, LEAF as u8, 0, 0, 0, 0]);
    let flags = 1 | u8::from(routed) << 1;
    rest.extend([33, 2, 0, 0, flags, tid, 0, 60]);
    rest.extend(EUI64);
    let (src, dst) = (address(LEAF), link_local(1));
    let packet = packets::icmp(src, dst, 255, SOLICITATION, 0, &rest);
    lone.link_sends(LEAF, &packet);
}

/// Returns the answers of the node: destination, message type, status and transaction ID.
fn answers(lone: &mut Lone) -> Vec<(u16, u8, u8, u8)> {
    let packets = lone.link_packets().into_iter();
    let packets = packets.filter(|(_, packet)| packet[40] != ECHO_REPLY);
    let read = |(to, packet): (Address, Vec<u8>)| {
        let Address::Short(to) = to else {
            panic!("{to}")
        };
        let message = &packet[40..];
        let (status, tid) = match message[0] {
            CONFIRMATION => (message[4], message[5]),
            // The registration option follows the target and the link-layer address.
            ADVERTISEMENT => (message[34], message[37]),
            other => panic!("type {other}"),
        };
        (to, message[0], status, tid)
    };
    packets.map(read).collect()
}

/// Returns the neighbour that gets the host's packets to the leaf.
fn way_to_leaf(lone: &mut Lone) -> u16 {
    let host = Addr([0x20; 16]);
    let packet = packets::echo_request(host, address(LEAF));
    lone.host_sends(&packet).unwrap();
    match lone.link_packets().as_slice() {
        [(Address::Short(to), _)] => *to,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_late_registration_through_a_former_parent_changes_nothing() {
    let mut lone = router();
    report(&mut lone, 3, Some(241));
    assert_eq!(answers(&mut lone), [(3, CONFIRMATION, SUCCESS, 241)]);
    // The former parent reports the previous registration late.
    report(&mut lone, 2, Some(240));
    assert_eq!(answers(&mut lone), [(2, CONFIRMATION, MOVED, 240)]);
    assert_eq!(way_to_leaf(&mut lone), 3);
    // The status is also MOVED if the late registration comes from the leaf itself.
    register(&mut lone, 240, true);
    assert_eq!(answers(&mut lone), [(LEAF, ADVERTISEMENT, MOVED, 240)]);
    assert_eq!(way_to_leaf(&mut lone), 3);
    // The report is repeated, as after a lost answer.
    report(&mut lone, 3, Some(241));
    assert_eq!(answers(&mut lone), [(3, CONFIRMATION, SUCCESS, 241)]);
}

/// RFC 8505 §5.6: the state in the previous location is cleaned up.
#[test]
fn a_later_registration_replaces_the_route_and_the_former_router_is_informed() {
    let mut lone = router();
    report(&mut lone, 3, Some(255));
    answers(&mut lone);
    report(&mut lone, 2, Some(0));
    let told = [(3, CONFIRMATION, MOVED, 255), (2, CONFIRMATION, SUCCESS, 0)];
    assert_eq!(answers(&mut lone), told);
    assert_eq!(way_to_leaf(&mut lone), 2);
    // The leaf registers with this router itself, and later with another one.
    register(&mut lone, 1, true);
    assert_eq!(answers(&mut lone), [(LEAF, ADVERTISEMENT, SUCCESS, 1)]);
    assert_eq!(way_to_leaf(&mut lone), LEAF);
    report(&mut lone, 2, Some(0));
    assert_eq!(answers(&mut lone), [(2, CONFIRMATION, MOVED, 0)]);
    assert_eq!(way_to_leaf(&mut lone), LEAF);
    report(&mut lone, 2, Some(2));
    assert_eq!(answers(&mut lone), [(2, CONFIRMATION, SUCCESS, 2)]);
    assert_eq!(way_to_leaf(&mut lone), 2);
}

/// RFC 8505 §6: a node or router that implements only RFC 6775 has no transaction IDs.
#[test]
fn without_a_transaction_id_the_latest_registration_counts() {
    let mut lone = router();
    report(&mut lone, 3, Some(241));
    report(&mut lone, 2, None);
    answers(&mut lone);
    assert_eq!(way_to_leaf(&mut lone), 2);
    report(&mut lone, 3, Some(240));
    assert_eq!(answers(&mut lone), [(3, CONFIRMATION, SUCCESS, 240)]);
    assert_eq!(way_to_leaf(&mut lone), 3);
}

/// Returns a router that forwards reports to the border router through router 4.
fn relay() -> Lone {
    let mut lone = router();
    lone.node = common::node_with(1, 1_500, |config| {
        config.nd.advertise =
            Some(Advertised::new(prefix(), address(4)).with(|it| it.context_lifetime_min = 600));
    });
    let via = redpoll_stack::Via::Neighbour(Address::Short(4));
    let default = redpoll_stack::Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via,
    };
    lone.node.add_route(default).unwrap();
    lone
}

/// The next router's answer.
fn confirm(lone: &mut Lone, status: u8, tid: u8) {
    confirm_from(lone, 4, status, tid);
}

fn confirm_from(lone: &mut Lone, from: u16, status: u8, tid: u8) {
    let mut rest = vec![status, tid, 0, 60];
    rest.extend(EUI64);
    rest.extend(address(LEAF).0);
    let (src, dst) = (link_local(from), link_local(1));
    let packet = packets::icmp(src, dst, 255, CONFIRMATION, 1, &rest);
    lone.link_sends(from, &packet);
}

/// Returns the reports that the node has forwarded: destination, type, transaction ID.
fn passed(lone: &mut Lone) -> Vec<(Address, u8, u8)> {
    let packets = lone.link_packets().into_iter();
    packets
        .filter(|(_, packet)| packet[40] != ECHO_REPLY)
        .map(|(to, packet)| (to, packet[40], packet[45]))
        .collect()
}

#[test]
fn a_router_with_an_outdated_registration_removes_its_route() {
    let (up, down) = (Address::Short(4), Address::Short(7));
    let to_leaf = packets::echo_request(address(8), address(LEAF));
    let mut lone = relay();
    report(&mut lone, 7, Some(240));
    assert_eq!(passed(&mut lone), [(up, REQUEST, 240)]);
    lone.link_sends(8, &to_leaf);
    assert_eq!(lone.link_packets()[0].0, down);
    confirm(&mut lone, MOVED, 240);
    assert_eq!(passed(&mut lone), [(down, CONFIRMATION, 240)]);
    lone.link_sends(8, &to_leaf);
    assert_eq!(lone.link_packets()[0].0, up);
    // An answer to an outdated report changes nothing.
    report(&mut lone, 7, Some(242));
    assert_eq!(passed(&mut lone), [(up, REQUEST, 242)]);
    confirm(&mut lone, MOVED, 241);
    assert_eq!(passed(&mut lone), []);
    lone.link_sends(8, &to_leaf);
    assert_eq!(lone.link_packets()[0].0, down);
}

/// RFC 8505 §5.1: a node that does not set R manages its routes itself.
#[test]
fn a_registration_without_the_r_flag_is_not_reported() {
    let mut lone = relay();
    register(&mut lone, 240, false);
    assert_eq!(answers(&mut lone), [(LEAF, ADVERTISEMENT, SUCCESS, 240)]);
    register(&mut lone, 241, true);
    assert_eq!(passed(&mut lone), [(Address::Short(4), REQUEST, 241)]);
    confirm(&mut lone, SUCCESS, 241);
    assert_eq!(answers(&mut lone), [(LEAF, ADVERTISEMENT, SUCCESS, 241)]);
}

const DUPLICATE: u8 = 1;
const STRANGER: [u8; 8] = [0x66; 8];

/// RFC 6775 §8.2.4: a registered address is not given to another node, for any transaction ID, and
/// whichever router sends the DAR.
#[test]
fn a_registered_address_is_not_given_to_another() {
    let mut lone = router();
    report(&mut lone, 3, Some(241));
    answers(&mut lone);
    for from in [3, 2] {
        report_as(&mut lone, from, Some(250), STRANGER, 60);
        let answer = (from, CONFIRMATION, DUPLICATE, 250);
        assert_eq!(answers(&mut lone), [answer]);
        assert_eq!(way_to_leaf(&mut lone), 3);
    }
    // The stranger cannot end the registration.
    report_as(&mut lone, 3, Some(250), STRANGER, 0);
    assert_eq!(answers(&mut lone)[0].2, DUPLICATE);
    assert_eq!(way_to_leaf(&mut lone), 3);

    // The leaf has registered the address with this router itself: another router's report fails.
    let mut lone = router();
    register(&mut lone, 241, true);
    answers(&mut lone);
    report_as(&mut lone, 2, Some(250), STRANGER, 60);
    assert_eq!(answers(&mut lone)[0].2, DUPLICATE);
    assert_eq!(way_to_leaf(&mut lone), LEAF);

    // Another node has the address: the leaf's registration with this router fails.
    let mut lone = router();
    report_as(&mut lone, 2, Some(241), STRANGER, 60);
    answers(&mut lone);
    register(&mut lone, 250, true);
    assert_eq!(answers(&mut lone), [(LEAF, ADVERTISEMENT, DUPLICATE, 250)]);
    assert_eq!(way_to_leaf(&mut lone), 2);
}

#[test]
fn a_route_ends_with_its_registration() {
    let mut lone = router();
    report_as(&mut lone, 3, Some(241), EUI64, 5);
    answers(&mut lone);
    lone.now += Duration::from_secs(290);
    assert_eq!(way_to_leaf(&mut lone), 3);
    lone.now += Duration::from_secs(70);
    assert_eq!(way_to_leaf(&mut lone), LEAF, "by the route of the mesh");
    report_as(&mut lone, 2, Some(1), STRANGER, 5);
    assert_eq!(answers(&mut lone), [(2, CONFIRMATION, SUCCESS, 1)]);
}

/// RFC 6775 §6.5.3: a lifetime of zero ends a registration, and adds none.
#[test]
fn a_lifetime_of_zero_leaves_no_route_behind() {
    let mut lone = router();
    report_as(&mut lone, 3, Some(240), EUI64, 0);
    assert_eq!(answers(&mut lone), [(3, CONFIRMATION, SUCCESS, 240)]);
    assert_eq!(way_to_leaf(&mut lone), LEAF, "by the route of the mesh");
    report(&mut lone, 3, Some(241));
    answers(&mut lone);
    assert_eq!(way_to_leaf(&mut lone), 3);
    // A lifetime of zero from another router ends nothing: the leaf has left that router.
    report_as(&mut lone, 2, Some(242), EUI64, 0);
    answers(&mut lone);
    assert_eq!(way_to_leaf(&mut lone), 3);
    report_as(&mut lone, 3, Some(242), EUI64, 0);
    assert_eq!(answers(&mut lone), [(3, CONFIRMATION, SUCCESS, 242)]);
    assert_eq!(way_to_leaf(&mut lone), LEAF);
}

/// 65,535 minutes are 45 days; the router accepts one day.
#[test]
fn a_long_registration_is_cut() {
    let mut lone = router();
    report_as(&mut lone, 3, Some(240), EUI64, u16::MAX);
    answers(&mut lone);
    lone.now += Duration::from_secs(86_000);
    assert_eq!(way_to_leaf(&mut lone), 3);
    lone.now += Duration::from_secs(500);
    assert_eq!(way_to_leaf(&mut lone), LEAF);
}

/// A configured route is not changed by registrations, neither of a neighbour nor reported by
/// another router.
#[test]
fn a_given_route_is_not_displaced() {
    use redpoll_stack::{Route, Via};
    for given in [true, false] {
        let mut lone = router();
        let (to, via) = (address(LEAF), Via::Neighbour(Address::Short(5)));
        match given {
            true => lone.node.add_route(Route {
                prefix: to,
                len: 128,
                via,
            }),
            false => lone.node.add_route_until_registered(to, via),
        }
        .unwrap();
        let expected = |status| if given { 1 } else { status };
        report(&mut lone, 6, Some(241));
        assert_eq!(answers(&mut lone)[0].2, expected(SUCCESS), "reported by 6");
        let way = |lone: &mut Lone| {
            let host = Addr([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
            lone.host_sends(&packets::echo_request(host, to)).unwrap();
            lone.link_packets()[0].0
        };
        let now_at = if given { 5 } else { 6 };
        assert_eq!(way(&mut lone), Address::Short(now_at));
        register(&mut lone, 242, true);
        let all = answers(&mut lone);
        let to_leaf = all.iter().find(|answer| answer.1 == ADVERTISEMENT);
        assert_eq!(to_leaf.map(|answer| answer.2), Some(expected(SUCCESS)));
        let now_at = if given { 5 } else { LEAF };
        assert_eq!(way(&mut lone), Address::Short(now_at));
        // A report through the configured next hop is answered with success.
        if given {
            report(&mut lone, 5, Some(243));
            assert_eq!(answers(&mut lone)[0].2, SUCCESS);
            assert_eq!(way(&mut lone), Address::Short(5));
        }
    }
}

/// RFC 8505 §5.5: the registered address is the target of the solicitation, whatever its source is;
/// in the answer it is the target, too.
#[test]
fn the_registered_address_is_the_target() {
    for src in [link_local(LEAF), address(LEAF)] {
        let mut lone = router();
        let mut rest = vec![0; 4];
        rest.extend(address(LEAF).0);
        rest.extend([1, 1, 0, LEAF as u8, 0, 0, 0, 0]);
        rest.extend([33, 2, 0, 0, 3, 240, 0, 60]);
        rest.extend(EUI64);
        let packet = packets::icmp(src, link_local(1), 255, SOLICITATION, 0, &rest);
        lone.link_sends(LEAF, &packet);
        let (_, answer) = lone.link_packets().pop().expect("an answer");
        assert_eq!((answer[40], answer[40 + 34]), (ADVERTISEMENT, SUCCESS));
        assert_eq!(answer[48..64], address(LEAF).0, "the target");
        assert_eq!(answer[24..40], link_local(LEAF).0, "to the host");
        assert_eq!(way_to_leaf(&mut lone), LEAF);
    }
}

/// RFC 6775 §5.5.1, §6.5.2: a host without RFC 8505 registers its source address and solicits an
/// address of the router.
#[test]
fn without_a_number_the_registered_address_is_the_source() {
    let mut lone = router();
    let mut rest = vec![0; 4];
    rest.extend(link_local(1).0);
    rest.extend([1, 1, 0, LEAF as u8, 0, 0, 0, 0]);
    rest.extend([33, 2, 0, 0, 0, 0, 0, 60]);
    rest.extend(EUI64);
    let packet = packets::icmp(address(LEAF), link_local(1), 255, SOLICITATION, 0, &rest);
    lone.link_sends(LEAF, &packet);
    let (_, answer) = lone.link_packets().pop().expect("an answer");
    assert_eq!((answer[40], answer[40 + 34]), (ADVERTISEMENT, SUCCESS));
    assert_eq!(answer[48..64], link_local(1).0, "the target");
    assert_eq!(way_to_leaf(&mut lone), LEAF);
}

/// RFC 8505 §6: the answer to a registration has the registration option, with the flag T and the
/// transaction ID if the registration has one. Nodes of RFC 6775 have none.
#[test]
fn an_answer_has_a_transaction_id_if_the_registration_has_one() {
    for tid in [None, Some(0), Some(127), Some(240), Some(255)] {
        let mut lone = router();
        let (src, target) = match tid {
            Some(_) => (link_local(LEAF), address(LEAF)),
            None => (address(LEAF), link_local(1)),
        };
        let mut rest = vec![0; 4];
        rest.extend(target.0);
        rest.extend([1, 1, 0, LEAF as u8, 0, 0, 0, 0]);
        rest.extend([
            33,
            2,
            0,
            0,
            u8::from(tid.is_some()),
            tid.unwrap_or(0),
            0,
            60,
        ]);
        rest.extend(EUI64);
        let packet = packets::icmp(src, link_local(1), 255, SOLICITATION, 0, &rest);
        lone.link_sends(LEAF, &packet);
        let (_, answer) = lone.link_packets().pop().expect("an answer");
        assert_eq!((answer[40], answer[40 + 34]), (ADVERTISEMENT, SUCCESS));
        let flags = answer[40 + 36] & 1;
        assert_eq!(flags, u8::from(tid.is_some()), "{tid:?}");
        assert_eq!(answer[40 + 37], tid.unwrap_or(0), "{tid:?}");
    }
}

#[test]
fn addresses_of_others_are_not_registered() {
    for (target, status) in [(address(1), Some(1)), (Addr([0x20; 16]), None)] {
        let mut lone = router();
        let mut rest = vec![0; 4];
        rest.extend(target.0);
        rest.extend([1, 1, 0, LEAF as u8, 0, 0, 0, 0]);
        rest.extend([33, 2, 0, 0, 3, 240, 0, 60]);
        rest.extend(EUI64);
        let packet = packets::icmp(link_local(LEAF), link_local(1), 255, SOLICITATION, 0, &rest);
        lone.link_sends(LEAF, &packet);
        let answers = lone.link_packets();
        let answered = answers.first().map(|(_, answer)| answer[40 + 34]);
        assert_eq!(answered, status, "{target:?}");
    }
}

/// A forged report has no lasting effect at a border router or a router on the path, because its
/// sender acknowledges no frame. The report costs few frames, adds no route, and is not forwarded.
#[test]
fn a_forged_registration_report_leaves_no_route() {
    for border in [true, false] {
        let mut lone = if border { router() } else { relay() };
        let empty = lone.node.tables(lone.now).routes;
        for n in 0..600 {
            let nobody = 0x0400 + n;
            lone.absent.insert(nobody);
            report_unmet(&mut lone, nobody, Some(240), STRANGER, u16::MAX);
            lone.run_for(Duration::from_millis(200));
            assert_eq!(lone.node.tables(lone.now).routes, empty, "{n}");
        }
        assert_eq!(passed(&mut lone), [], "reported further");
        assert!(lone.attempts < 1_500, "{}", lone.attempts);
        // Router 3, which has acknowledged no frame yet, repeats its report: the leaf gets a route.
        report_unmet(&mut lone, 3, Some(241), EUI64, 60);
        lone.run_for(Duration::from_secs(3));
        report_unmet(&mut lone, 3, Some(241), EUI64, 60);
        lone.run_for(Duration::from_millis(100));
        assert_eq!(lone.node.tables(lone.now).routes, empty + 1);
    }
}

/// A report over several hops (RFC 6775 §8.2.3) creates no route and gets no answer: reports are not
/// authenticated, and the hop limit of 255 and the link-local source prove that the sender is a
/// neighbour.
#[test]
fn a_report_over_several_hops_is_dropped() {
    for (src, dst, hop_limit) in [
        (address(7), address(1), 64),
        (address(7), address(1), 255),
        (link_local(7), link_local(1), 64),
    ] {
        let mut lone = router();
        meet(&mut lone, 7);
        lone.link_packets();
        let empty = lone.node.tables(lone.now).routes;
        let rest = [&[0, 240, 0, 60][..], &EUI64, &address(LEAF).0].concat();
        let packet = packets::icmp(src, dst, hop_limit, REQUEST, 1, &rest);
        lone.link_sends(7, &packet);
        assert_eq!(lone.link_packets(), [], "{src}, {hop_limit}");
        assert_eq!(lone.node.tables(lone.now).routes, empty);
    }
}

/// RFC 6775 §8.2.5: an answer with an error goes to the host. It ends the registration at the host's
/// router and at the routers on the path.
#[test]
fn a_refused_registration_leaves_no_route() {
    const CACHE_FULL: u8 = 2;
    let (up, down) = (Address::Short(4), Address::Short(7));
    let to_leaf = packets::echo_request(address(8), address(LEAF));
    for status in [DUPLICATE, CACHE_FULL] {
        let mut lone = relay();
        register(&mut lone, 240, true);
        assert_eq!(passed(&mut lone), [(up, REQUEST, 240)]);
        lone.link_sends(8, &to_leaf);
        assert_eq!(lone.link_packets()[0].0, Address::Short(LEAF));
        confirm(&mut lone, status, 240);
        assert_eq!(answers(&mut lone), [(LEAF, ADVERTISEMENT, status, 240)]);
        lone.link_sends(8, &to_leaf);
        assert_eq!(lone.link_packets()[0].0, up, "status {status}");

        let mut lone = relay();
        report(&mut lone, 7, Some(240));
        assert_eq!(passed(&mut lone), [(up, REQUEST, 240)]);
        lone.link_sends(8, &to_leaf);
        assert_eq!(lone.link_packets()[0].0, down);
        confirm(&mut lone, status, 240);
        assert_eq!(passed(&mut lone), [(down, CONFIRMATION, 240)]);
        lone.link_sends(8, &to_leaf);
        assert_eq!(lone.link_packets()[0].0, up, "status {status}");
    }
}

/// RFC 6775 §8.2.5: a router accepts an answer only from the router to which it has sent the
/// report. A border router accepts none, because it sends no reports.
#[test]
fn an_answer_of_another_neighbour_is_ignored() {
    for status in [SUCCESS, DUPLICATE, MOVED] {
        let mut lone = relay();
        report(&mut lone, 7, Some(240));
        passed(&mut lone);
        for from in [7, 8] {
            confirm_from(&mut lone, from, status, 240);
            assert_eq!(passed(&mut lone), [], "{status}, {from}");
        }
        lone.link_sends(8, &packets::echo_request(address(8), address(LEAF)));
        assert_eq!(lone.link_packets()[0].0, Address::Short(7));
        let mut lone = router();
        report(&mut lone, 3, Some(240));
        answers(&mut lone);
        confirm_from(&mut lone, 4, status, 240);
        assert_eq!(answers(&mut lone), []);
        assert_eq!(way_to_leaf(&mut lone), 3);
    }
}
