//! The groups as a node calls them: the outcome of a packet from each side, and the reason of each
//! drop.

use redpoll_stack::assist::{Assist, Disposition, Passing, ToGroup};
use redpoll_stack::{DropReason, Side};

use super::*;

type Outcome = Result<Option<usize>, DropReason>;

/// Gives `packet` to the node's assistant, as [`redpoll_stack::Node`] does.
fn give(multicast: &mut impl Assist, from: Option<Side>, packet: &[u8]) -> Outcome {
    multicast.on_group(
        Instant::ZERO,
        &mut ToGroup {
            header: &header_of(packet),
            bytes: &mut packet.to_vec(),
            from,
            node: NODE,
        },
    )
}

/// Polls the assistant at the time that it has requested, and returns its packet.
fn first_sent(multicast: &mut impl Assist) -> Option<Vec<u8>> {
    let mut out = vec![0; 1_280];
    let wake = multicast.poll_at()?;
    let len = multicast.poll_packet(wake.at, &mut out)?;
    out.truncate(len);
    Some(out)
}

#[test]
fn packets_of_the_node_and_of_its_host_enter_the_mesh() {
    let packet = packet_to(GROUP, 20);
    // The node itself needs no copy of its own packet.
    for (from, outcome) in [(None, None), (Some(Side::Host), Some(0))] {
        let mut border = border(1);
        assert_eq!(give(&mut border, from, &packet), Ok(outcome));
        let message = first_sent(&mut border).unwrap();
        assert_eq!(header_of(&message).src, NODE);
        assert_eq!(message[56..], packet[8..]);
        // A member in the mesh gets the packet inside the message, and forwards the message.
        let mut node = member(2);
        let delivered = give(&mut node, Some(Side::Link), &message);
        assert_eq!(delivered, Ok(Some(48)));
        let forwarded = first_sent(&mut node).unwrap();
        assert_eq!(forwarded[8..], message[8..]);
        let again = give(&mut node, Some(Side::Link), &message);
        assert_eq!(again, Ok(None), "a duplicate");
        let other = give(&mut with(3, Params::default()), Some(Side::Link), &message);
        assert_eq!(other, Ok(None), "not a member");
    }
}

#[test]
fn the_node_learns_the_reason_of_a_drop() {
    let far = packet_to(GROUP, 20);
    let mut tcp = far.clone();
    tcp[6] = 6;
    let mut spent = far.clone();
    spent[7] = 1;
    let host = Some(Side::Host);
    for (packet, from, reason) in [
        (&tcp, host, DropReason::Malformed),
        (&tcp, Some(Side::Link), DropReason::Malformed),
        (&spent, host, DropReason::HopLimit),
        (&packet_to(GROUP, 113), host, DropReason::NoSlot),
        (&packet_to(GROUP, 113), None, DropReason::NoSlot),
    ] {
        assert_eq!(give(&mut border(1), from, packet), Err(reason));
    }
    let refused = give(&mut member(1), host, &far);
    assert_eq!(refused, Err(DropReason::NoRoute), "not let in");
}

#[test]
fn the_node_joins_and_leaves_groups() {
    let mut multicast = with(1, Params::default());
    let mut set = |joins| multicast.set_member(&GROUP, joins);
    assert!(!set(false) && set(true) && set(false) && !set(false));
    assert!(set(true));
    assert!(multicast.is_member(&GROUP));
}

/// The assistant does not change unicast packets. If the node has no room, the message is sent
/// later.
#[test]
fn other_packets_pass_and_messages_wait_for_room() {
    let mut multicast = border(1);
    let packet = packet_to(NODE, 20);
    let mut bytes = packet.clone();
    let mut passing = Passing {
        header: &header_of(&packet),
        bytes: &mut bytes,
    };
    let disposition = multicast.on_forward(Instant::ZERO, &mut passing);
    assert_eq!(disposition, Disposition::Forward);
    assert_eq!(bytes, packet);
    assert_eq!(Assist::poll_at(&multicast), None);

    give(&mut multicast, None, &packet_to(GROUP, 20)).unwrap();
    let due = Assist::poll_at(&multicast).unwrap().at;
    Assist::on_no_room(&mut multicast, due);
    let later = Assist::poll_at(&multicast).unwrap().at;
    assert_eq!(later.since(due), Duration::from_millis(20));
    assert!(first_sent(&mut multicast).is_some());
}
