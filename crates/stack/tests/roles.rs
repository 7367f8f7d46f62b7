//! Messages of neighbour discovery that do not concern the receiver: each type (RFC 4861 §4, RFC
//! 6775 §4, RFC 8505 §4) and each role. Such a message changes no table, no route and no address,
//! and is not answered.

use crate::common;

use common::lone::Lone;
use common::{address, node_with, packets, prefix};
use redpoll_base::{Addr, Duration};
use redpoll_stack::{Advertised, NdConfig, Route, SleepyConfig, Via};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

/// The next hop of default routes. The neighbour [`FROM`] sends the messages.
const UP: u16 = 4;
const FROM: u16 = 7;
const HOST: u16 = 9;
const OUTSIDE: Addr = Addr([0x20; 16]);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// A leaf with a configured parent.
    Leaf,
    SleepyLeaf,
    /// A router with configured routes, and with which no host registers.
    Plain,
    Router,
    /// A router with which hosts register, and which is the border router.
    Border,
    #[cfg(feature = "rpl")]
    RplRouter,
    #[cfg(feature = "rpl")]
    RplLeaf,
    #[cfg(feature = "rpl-root")]
    RplRoot,
}

const ROLES: &[Role] = &[
    Role::Leaf,
    Role::SleepyLeaf,
    Role::Plain,
    Role::Router,
    Role::Border,
    #[cfg(feature = "rpl")]
    Role::RplRouter,
    #[cfg(feature = "rpl")]
    Role::RplLeaf,
    #[cfg(feature = "rpl-root")]
    Role::RplRoot,
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    RouterSolicitation,
    RouterAdvertisement,
    /// A registration (RFC 6775 §5.5, RFC 8505 §5.5), with or without a transaction ID.
    Registration(bool),
    /// An answer to a registration that the node did not request.
    RegistrationAnswer(u8),
    Redirect,
    /// With or without a transaction ID. The sender is in no route and has acknowledged no frame.
    DuplicateAddressRequest(bool),
    DuplicateAddressConfirmation(u8),
}

const KINDS: [Kind; 13] = [
    Kind::RouterSolicitation,
    Kind::RouterAdvertisement,
    Kind::Registration(true),
    Kind::Registration(false),
    Kind::RegistrationAnswer(0),
    Kind::RegistrationAnswer(1),
    Kind::RegistrationAnswer(3),
    Kind::Redirect,
    Kind::DuplicateAddressRequest(true),
    Kind::DuplicateAddressRequest(false),
    Kind::DuplicateAddressConfirmation(0),
    Kind::DuplicateAddressConfirmation(1),
    Kind::DuplicateAddressConfirmation(3),
];

fn link_local(short: u16) -> Addr {
    addr::link_local(Address::Short(short)).unwrap()
}

/// Returns a node of this role, with the address 1.
fn node(role: Role) -> Lone {
    #[cfg(feature = "rpl")]
    {
        use common::dodag;
        use redpoll_stack::RplRole;
        match role {
            Role::RplRouter => return dodag::joined(),
            Role::RplLeaf => return dodag::lone(RplRole::Leaf),
            #[cfg(feature = "rpl-root")]
            Role::RplRoot => {
                use redpoll_wire::rpl::mode;
                let root =
                    redpoll_stack::RplRoot::new(prefix(), mode::STORING, dodag::CONFIGURATION);
                let mut lone = dodag::lone(RplRole::Root(root));
                lone.run_for(Duration::from_secs(10));
                return lone;
            }
            _ => {}
        }
    }
    let border = match role {
        Role::Border => 1,
        _ => UP,
    };
    let is_leaf = matches!(role, Role::Leaf | Role::SleepyLeaf);
    let mut lone = Lone::border(|_| {});
    lone.node = node_with(1, 1_500, |config| {
        config.forwards = !is_leaf;
        if role == Role::SleepyLeaf {
            config.sleepy = Some(SleepyConfig::new([Some(UP), None, None, None]));
        }
        config.nd = NdConfig::default().with(|it| {
            it.advertise = matches!(role, Role::Router | Role::Border).then_some(
                Advertised::new(prefix(), address(border)).with(|it| it.context_lifetime_min = 600),
            )
        });
    });
    let via = match role {
        Role::Border => Via::Host,
        _ => Via::Neighbour(Address::Short(UP)),
    };
    let (prefix, len) = (Addr::UNSPECIFIED, 0);
    lone.node.add_route(Route { prefix, len, via }).unwrap();
    lone
}

fn message(kind: Kind) -> Vec<u8> {
    let eui64 = [2, 0, 0, 0, 0, 0, 0, 1];
    let earo = |status: u8, tid: bool| {
        let flags = if tid { 3 } else { 0 };
        [
            &[33, 2, status, 0, flags, u8::from(tid) * 240, 0, 60],
            &eui64[..],
        ]
        .concat()
    };
    let source = [1, 1, 0, FROM as u8, 0, 0, 0, 0];
    let multihop = |status: u8, tid: bool| {
        let tid = u8::from(tid) * 240;
        [&[status, tid, 0xff, 0xff], &eui64[..], &address(HOST).0].concat()
    };
    let (src, dst) = (link_local(FROM), link_local(1));
    let registers = |tid: bool| {
        let target = if tid { address(HOST) } else { link_local(1) };
        [&[0; 4][..], &target.0, &source, &earo(0, tid)].concat()
    };
    let (kind, code, src, rest) = match kind {
        Kind::RouterSolicitation => (133, 0, src, [&[0; 4][..], &source].concat()),
        Kind::RouterAdvertisement => {
            let mut prefix = vec![3, 4, 64, 0xc0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
            prefix.extend(Addr([0xfd; 16]).0);
            (
                134,
                0,
                src,
                [&[64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0][..], &prefix].concat(),
            )
        }
        Kind::Registration(tid) => (135, 0, address(HOST), registers(tid)),
        Kind::RegistrationAnswer(status) => {
            let head = [&[0xc0, 0, 0, 0][..], &address(1).0].concat();
            (136, 0, src, [head, earo(status, true)].concat())
        }
        Kind::Redirect => {
            let (to, about) = (link_local(FROM), OUTSIDE);
            (137, 0, src, [&[0; 4][..], &to.0, &about.0].concat())
        }
        Kind::DuplicateAddressRequest(tid) => (157, u8::from(tid), src, multihop(0, tid)),
        Kind::DuplicateAddressConfirmation(status) => (158, 1, src, multihop(status, true)),
    };
    packets::icmp(src, dst, 255, kind, code, &rest)
}

/// Returns whether a node of this role acts on the message. A router accepts the registration of a
/// host, and answers a solicitation of hosts. It ignores a report whose sender acknowledges no
/// frame.
fn acts(role: Role, kind: Kind) -> bool {
    let advertises = matches!(role, Role::Router | Role::Border);
    match kind {
        Kind::RouterSolicitation | Kind::Registration(_) => advertises,
        _ => false,
    }
}

/// Returns the neighbour that gets a packet of the node to `to`, if any.
fn way(lone: &mut Lone, to: Addr) -> Option<Address> {
    lone.link_packets();
    let _ = lone.node.ping(lone.now, to, 1, 1, 8);
    let packets = lone.link_packets();
    lone.host_packets();
    let mut ours = packets
        .iter()
        .filter(|(_, it)| it.get(24..40) == Some(&to.0[..]));
    ours.next().map(|(to, _)| *to)
}

#[test]
fn a_message_for_other_roles_changes_nothing() {
    for role in ROLES {
        for kind in KINDS {
            let mut lone = node(*role);
            if matches!(kind, Kind::DuplicateAddressRequest(_)) {
                lone.absent.insert(FROM);
            }
            let ways = [address(HOST), OUTSIDE].map(|to| way(&mut lone, to));
            let before = lone.node.tables(lone.now);
            lone.frames.clear();
            for _ in 0..5 {
                lone.link_sends(FROM, &message(kind));
                lone.run_for(Duration::from_millis(200));
            }
            let what = format!("{kind:?} at {role:?}");
            if acts(*role, kind) {
                assert!(!lone.frames.is_empty(), "{what}: no answer");
                continue;
            }
            let mut frames = lone.frames.iter();
            let answered = frames.any(|(to, _)| *to == Address::Short(FROM));
            // Without a transaction ID the target is the node's own address: the node answers as to
            // any other solicitation (RFC 4861 §7.2.4), without a registration.
            let may_answer = kind == Kind::Registration(false);
            assert!(!answered || may_answer, "{what}: answered");
            assert_eq!(lone.node.tables(lone.now), before, "{what}");
            assert_eq!(lone.node.address(), address(1), "{what}");
            let after = [address(HOST), OUTSIDE].map(|to| way(&mut lone, to));
            assert_eq!(after, ways, "{what}: routes");
        }
    }
}
