//! A node whose address is refused as a duplicate reports that (RFC 6775 §8.2.4): it has no other
//! address, and the operator must know.

use crate::common;

use common::lone::Lone;
use common::packets::icmp;
use common::{address, prefix};
use redpoll_base::Duration;
use redpoll_stack::{NdConfig, NodeEvent};
use redpoll_wire::ipv6::addr;

const ADVERTISEMENT: u8 = 134;
const SOLICITATION: u8 = 135;
const ANSWER: u8 = 136;
const ROUTER: u16 = 6;

/// Returns a host that is registering with `ROUTER`, and the transaction ID of the registration.
fn registering() -> (Lone, u8) {
    let (lone, option) = registration();
    (lone, option[5])
}

/// Returns a host that is registering with `ROUTER`, and the registration option.
fn registration() -> (Lone, Vec<u8>) {
    let mut lone = Lone::border(|config| {
        config.forwards = false;
        config.nd = NdConfig::default().with(|it| {
            it.solicit = true;
            it.advertise = None;
        });
    });
    let router = addr::link_local_from_short(ROUTER);
    let mut rest = vec![64, 0, 2, 88, 0, 0, 0, 0, 0, 0, 0, 0];
    rest.extend([3, 4, 64, 0x40, 0, 0, 9, 9, 0, 0, 9, 9, 0, 0, 0, 0]);
    rest.extend(prefix().0);
    let advertisement = icmp(
        router,
        addr::LINK_LOCAL_ALL_NODES,
        255,
        ADVERTISEMENT,
        0,
        &rest,
    );
    lone.run_for(Duration::from_secs(2));
    lone.link_sends_to(
        ROUTER,
        redpoll_wire::ieee802154::Address::BROADCAST,
        &advertisement,
    );
    for _ in 0..5 {
        lone.run_for(Duration::from_secs(1));
        let sent = lone.link_packets();
        let asked = sent.iter().find(|(_, packet)| packet[40] == SOLICITATION);
        if let Some((_, packet)) = asked {
            // The registration option has the type 33; its sixth byte is the transaction ID.
            let at = packet.windows(2).rposition(|it| it == [33, 2]).unwrap();
            return (lone, packet[at..at + 16].to_vec());
        }
    }
    panic!("it did not register");
}

/// RFC 8505 §6: "A 6LN that supports this specification MUST always use an EARO": the option has the
/// flag T and the transaction ID, which starts at 240 and increases (§5.2).
#[test]
fn a_registration_has_a_transaction_id() {
    let (_, option) = registration();
    assert_eq!(option[..2], [33, 2]);
    let [.., flags, tid] = option[..6] else {
        unreachable!("six bytes")
    };
    assert!(flags & 1 == 1 && tid >= 240, "{flags:#x}, {tid}");
}

fn answer(lone: &mut Lone, tid: u8, status: u8) -> Vec<NodeEvent> {
    let (router, host) = (addr::link_local_from_short(ROUTER), address(1));
    let mut rest = vec![0xc0, 0, 0, 0];
    rest.extend(router.0);
    rest.extend([33, 2, status, 0, 3, tid, 0, 60, 2, 0, 0, 0, 0, 0, 0, 1]);
    lone.link_sends(ROUTER, &icmp(router, host, 255, ANSWER, 0, &rest));
    std::iter::from_fn(|| lone.node.poll_event()).collect()
}

#[test]
fn a_duplicate_address_is_an_event_and_is_counted() {
    let (mut lone, tid) = registering();
    assert_eq!(answer(&mut lone, tid, 1), [NodeEvent::AddressInUse]);
    assert_eq!(lone.node.counters().duplicate_addresses, 1);
    // Repeated answers are ignored, because the registration is over.
    assert_eq!(answer(&mut lone, tid, 1), []);
    assert_eq!(lone.node.counters().duplicate_addresses, 1);
}

#[test]
fn other_statuses_report_no_duplicate() {
    for status in [0, 2] {
        let (mut lone, tid) = registering();
        assert_eq!(answer(&mut lone, tid, status), []);
        assert_eq!(lone.node.counters().duplicate_addresses, 0);
    }
    // An answer with another transaction ID is ignored.
    let (mut lone, tid) = registering();
    assert_eq!(answer(&mut lone, tid.wrapping_add(1), 1), []);
}
