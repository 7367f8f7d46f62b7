//! Packets to multicast groups: the decisions of an assistant, and the packets that UDP sockets
//! get.

use crate::common;

use common::address;
use common::lone::Lone;
use common::packets::udp;
use redpoll_base::{Addr, Instant, Wake};
use redpoll_stack::assist::{Assist, Disposition, Passing, ToGroup};
use redpoll_stack::{DropReason, Error, NodeEvent, Side};
use redpoll_tcp::Endpoint;

const GROUP: Addr = Addr([0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfd]);
const CLOUD: Addr = Addr([0xfd, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);

/// An assistant that is a member of one multicast group and forwards no multicast packets.
#[derive(Default)]
struct Member {
    group: Option<Addr>,
    /// The side from which each multicast packet came; `None` for the node's own packets.
    seen: Vec<Option<Side>>,
}

impl Assist for Member {
    const GROUPS: bool = true;

    fn on_group(
        &mut self,
        _: Instant,
        packet: &mut ToGroup<'_>,
    ) -> Result<Option<usize>, DropReason> {
        self.seen.push(packet.from);
        assert_eq!(packet.node, address(1));
        match self.group == Some(packet.header.dst) {
            true => Ok(Some(0)),
            false => Err(DropReason::NoRoute),
        }
    }

    fn set_member(&mut self, group: &Addr, joins: bool) -> bool {
        let changes = self.group.is_none() == joins;
        if changes {
            self.group = joins.then_some(*group);
        }
        changes
    }

    fn on_forward(&mut self, _: Instant, _: &mut Passing<'_>) -> Disposition {
        Disposition::Forward
    }

    fn poll_packet(&mut self, _: Instant, _: &mut [u8]) -> Option<usize> {
        None
    }

    fn poll_at(&self) -> Option<Wake> {
        None
    }
}

#[test]
fn a_member_gets_datagrams_marked_as_for_a_group() {
    let mut lone = Lone::border_with(|_| {}, Member::default());
    let socket = lone.node.udp_bind(5_683).unwrap();
    let to_group = udp(CLOUD, GROUP, (7, 5_683), &[1, 2, 3]);
    let refused = lone.host_sends(&to_group);
    assert_eq!(refused, Ok(()), "refused inside the node");
    assert_eq!(lone.node.counters().dropped(DropReason::NoRoute), 1);
    lone.node.join_group(&GROUP).unwrap();
    lone.host_sends(&to_group).unwrap();
    let to_node = udp(CLOUD, address(1), (8, 5_683), &[4]);
    lone.host_sends(&to_node).unwrap();
    assert_eq!(lone.node.poll_event(), Some(NodeEvent::UdpReadable(socket)));
    let mut out = [0; 16];
    assert!(lone.node.udp_is_for_group(socket));
    let from = |port| Endpoint { addr: CLOUD, port };
    assert_eq!(lone.node.udp_recv(socket, &mut out), Some((3, from(7))));
    assert_eq!(out[..3], [1, 2, 3]);
    assert!(!lone.node.udp_is_for_group(socket));
    assert_eq!(lone.node.udp_recv(socket, &mut out), Some((1, from(8))));
    assert_eq!(lone.node.udp_recv(socket, &mut out), None);
    assert!(!lone.node.udp_is_for_group(socket));
    assert_eq!(lone.node.assistant().seen, [Some(Side::Host); 2]);
}

#[test]
fn only_udp_is_delivered_to_groups_and_no_error_is_sent() {
    let mut lone = Lone::border_with(|_| {}, Member::default());
    lone.node.join_group(&GROUP).unwrap();
    let mut packet = udp(CLOUD, GROUP, (7, 5_683), &[1; 20]);
    // No socket is bound to the port.
    lone.host_sends(&packet).unwrap();
    for protocol in [6, 58, 41, 43, 99] {
        packet[6] = protocol;
        lone.host_sends(&packet).unwrap();
    }
    let counters = lone.node.counters();
    assert_eq!(counters.dropped(DropReason::NoUdpSocket), 1);
    assert_eq!(counters.dropped(DropReason::UnknownProtocol), 5);
    assert_eq!(counters.icmp_errors_sent, 0);
    assert_eq!(lone.node.lowpan().free_slots(), common::lone::SLOTS);
}

#[test]
fn sources_and_scopes_are_checked_before_the_assistant() {
    let mut lone = Lone::border_with(|_| {}, Member::default());
    lone.node.join_group(&GROUP).unwrap();
    let link_local = Addr([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
    for src in [GROUP, Addr::UNSPECIFIED, address(1)] {
        lone.host_sends(&udp(src, GROUP, (7, 8), &[])).unwrap();
    }
    let mdns = Addr([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfb]);
    lone.host_sends(&udp(CLOUD, mdns, (7, 8), &[])).unwrap();
    lone.host_sends(&udp(link_local, GROUP, (7, 8), &[]))
        .unwrap();
    let counters = lone.node.counters();
    assert_eq!(counters.dropped(DropReason::BadSource), 3);
    assert_eq!(counters.dropped(DropReason::Scope), 2);
    assert_eq!(lone.node.assistant().seen, []);
}

#[test]
fn own_datagrams_to_groups_beyond_the_link_go_to_the_assistant() {
    let mut lone = Lone::border_with(|_| {}, Member::default());
    lone.node.join_group(&GROUP).unwrap();
    let socket = lone.node.udp_bind(5_683).unwrap();
    let to = |last| Endpoint {
        addr: Addr([0xff, last, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfd]),
        port: 5_683,
    };
    let now = Instant::ZERO;
    lone.node.udp_send(now, socket, to(5), &[1]).unwrap();
    // A packet to a group of the link is broadcast, as without an assistant.
    lone.node.udp_send(now, socket, to(2), &[2]).unwrap();
    assert_eq!(lone.node.assistant().seen, [None]);
    assert_eq!(lone.link_packets().len(), 1);
    assert_eq!(lone.node.counters().originated, 2);
}

#[test]
fn membership_needs_an_assistant_and_room() {
    let mut lone = Lone::border_with(|_| {}, Member::default());
    let other = Addr([0xff, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(lone.node.join_group(&address(1)), Err(Error::NoSlot));
    assert_eq!(lone.node.leave_group(&GROUP), Err(Error::UnknownHandle));
    assert_eq!(lone.node.join_group(&GROUP), Ok(()));
    assert_eq!(lone.node.join_group(&other), Err(Error::NoSlot));
    assert_eq!(lone.node.leave_group(&GROUP), Ok(()));
    let mut plain = common::node(1, 600);
    assert_eq!(plain.join_group(&GROUP), Err(Error::NoSlot));
    assert_eq!(plain.leave_group(&GROUP), Err(Error::UnknownHandle));
}
