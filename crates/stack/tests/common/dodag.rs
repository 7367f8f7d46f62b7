//! One node that routes by RPL, whose neighbours and root are simulated by the test.

use redpoll_base::{Addr, Duration};
use redpoll_stack::{RplConfig, RplMemory, RplRole};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, addr};
use redpoll_wire::rpl::{
    ALL_NODES, Configuration, Dao, DaoAck, Dio, MESSAGE_TYPE, Message, Options, PrefixInformation,
    RplOption, Sequence, SourceRoute, TargetOption, Transit, config_flag, mode, objective,
};

use super::lone::Lone;
use super::rules::TestRules;
use super::{address, packets};

pub const CONFIGURATION: Configuration = Configuration {
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
/// The DODAG's root. [`ROUTER`] is another neighbour; [`CHILD`] is a neighbour behind the node.
pub const ROOT: u16 = 2;
pub const ROUTER: u16 = 3;
pub const CHILD: u16 = 7;
pub const VERSION: Sequence = Sequence::FIRST;

pub fn link_local(short: u16) -> Addr {
    addr::link_local_from_short(short)
}

pub fn bytes(options: &[RplOption<'_>]) -> Vec<u8> {
    let mut buffer = vec![0; 1200];
    let mut out = Cursor::new(&mut buffer);
    for option in options {
        option.emit(&mut out).unwrap();
    }
    out.written().to_vec()
}

/// Returns the options of a DAO from which a root in non-storing mode learns a node's parent.
pub fn behind(target: Addr, parent: Addr) -> Vec<u8> {
    bytes(&[
        RplOption::Target(TargetOption {
            prefix: target,
            len: 128,
        }),
        RplOption::Transit(Transit {
            external: false,
            control: 0,
            sequence: Sequence(240),
            lifetime: 30,
            parent: Some(parent),
        }),
    ])
}

pub fn say(lone: &mut Lone, from: u16, to: Addr, message: &Message<'_>) {
    let mut buffer = vec![0; 1200];
    let mut out = Cursor::new(&mut buffer);
    message.emit(&mut out).unwrap();
    let body = out.written().to_vec();
    say_bytes(lone, from, to, message.code(), &body);
}

pub fn say_bytes(lone: &mut Lone, from: u16, to: Addr, code: u8, body: &[u8]) {
    let packet = packets::icmp(link_local(from), to, 255, MESSAGE_TYPE, code, body);
    let link = match to.is_multicast() {
        true => Address::BROADCAST,
        false => Address::Short(1),
    };
    lone.link_sends_to(from, link, &packet);
}

pub fn dio_options(from: u16) -> Vec<u8> {
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

pub fn dio_of(options: &[u8], root: u16, version: Sequence, rank: u16) -> Message<'_> {
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

pub fn dio_non_storing(lone: &mut Lone, from: u16, version: Sequence, rank: u16) {
    let options = dio_options(from);
    dio_with(lone, from, version, rank, &options, |dio| {
        dio.mode = mode::NON_STORING;
    });
}

pub fn dio_with(
    lone: &mut Lone,
    from: u16,
    version: Sequence,
    rank: u16,
    options: &[u8],
    adapt: impl FnOnce(&mut Dio<'_>),
) {
    let Message::Dio(mut dio) = dio_of(options, ROOT, version, rank) else {
        unreachable!("it is a DIO");
    };
    adapt(&mut dio);
    announce(lone, from, &Message::Dio(dio));
}

/// Multicasts a DIO of `from`. If the node counts the DIO as doubtful, sends it by unicast too, as
/// the answer of `from` to the node's DIS. An absent `from` does not answer.
fn announce(lone: &mut Lone, from: u16, dio: &Message<'_>) {
    let doubts = |lone: &Lone| {
        let counters = lone.node.rpl_counters();
        (counters.versions_ignored, counters.implausible)
    };
    let before = doubts(lone);
    say(lone, from, ALL_NODES, dio);
    if doubts(lone) != before && !lone.absent.contains(&from) {
        say(lone, from, link_local(1), dio);
    }
}

pub fn dio(lone: &mut Lone, from: u16, version: Sequence, rank: u16) {
    let options = dio_options(from);
    announce(lone, from, &dio_of(&options, ROOT, version, rank));
}

pub fn dao(lone: &mut Lone, from: u16, sequence: u8, targets: &[(u16, u8, u8)]) {
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

pub fn lone(role: RplRole) -> Lone {
    // The test sends no DAO-ACKs.
    lone_with(role, |config| config.dao_ack = false)
}

pub fn lone_with(role: RplRole, adapt: impl FnOnce(&mut RplConfig)) -> Lone {
    lone_by(TestRules::default(), role, adapt)
}

pub fn lone_by(rules: TestRules, role: RplRole, adapt: impl FnOnce(&mut RplConfig)) -> Lone {
    route(Lone::border(|_| {}), rules, role, adapt)
}

/// Makes the node of `lone` route by RPL with these rules, in this role.
pub fn route(
    mut lone: Lone,
    rules: TestRules,
    role: RplRole,
    adapt: impl FnOnce(&mut RplConfig),
) -> Lone {
    let mut config = RplConfig::new(7);
    adapt(&mut config);
    let memory = RplMemory {
        neighbours: vec![None; 8].into(),
    };
    let now = lone.now;
    let node = &mut lone.node;
    node.route_by_rpl_with(now, rules, role, config, memory);
    lone
}

pub fn joined() -> Lone {
    let mut lone = lone(RplRole::Router);
    dio(&mut lone, ROOT, VERSION, 128);
    lone.run_for(Duration::from_secs(3));
    assert_eq!(lone.node.rpl_place().unwrap().1, Some(Address::Short(ROOT)));
    lone.frames.clear();
    lone
}

/// Returns the code, destination and body of each RPL message that the node has sent.
pub fn all_said(lone: &mut Lone) -> Vec<(u8, Addr, Vec<u8>)> {
    let packets = lone.link_packets();
    let messages = packets.iter().filter_map(|(_, packet)| {
        let (header, payload) = Ipv6Header::parse(packet).ok()?;
        let is_it = header.next_header == 58 && payload[0] == MESSAGE_TYPE;
        is_it.then(|| (payload[1], header.dst, payload[4..].to_vec()))
    });
    messages.collect()
}

pub fn said(lone: &mut Lone, code: u8) -> Vec<(Addr, Vec<u8>)> {
    let all = all_said(lone).into_iter();
    all.filter(|(it, ..)| *it == code)
        .map(|(_, dst, body)| (dst, body))
        .collect()
}

/// Returns the targets of a DAO.
pub fn targets_of(body: &[u8]) -> Vec<Addr> {
    let Ok(Message::Dao(dao)) = Message::parse(2, body) else {
        panic!("a DAO");
    };
    let targets = dao.options.iter().filter_map(|option| match option {
        RplOption::Target(target) => Some(target.prefix),
        _ => None,
    });
    targets.collect()
}

pub fn acks(lone: &mut Lone) -> Vec<u8> {
    let acks = said(lone, 3);
    acks.iter().map(|(_, body)| body[3]).collect()
}

pub fn dao_ack(lone: &mut Lone, from: u16, sequence: u8, status: u8) {
    let ack = DaoAck {
        instance: 0,
        sequence,
        status,
        dodag: None,
    };
    say(lone, from, link_local(1), &Message::DaoAck(ack));
}

/// The node `target` reports its parent to the root in non-storing mode; the neighbour `via`
/// forwards the DAO.
pub fn tell_root(lone: &mut Lone, via: u16, target: u16, parent: Addr) {
    let options = behind(address(target), parent);
    let dao = Dao {
        instance: 0,
        acknowledge: false,
        sequence: 1,
        dodag: None,
        options: Options::parse(&options).unwrap(),
    };
    let mut buffer = [0; 1200];
    let mut out = Cursor::new(&mut buffer);
    dao.emit(&mut out).unwrap();
    let (src, dst) = (address(target), address(1));
    let packet = packets::icmp(src, dst, 64, MESSAGE_TYPE, 2, out.written());
    lone.link_sends(via, &packet);
}

/// A DAO of a non-storing DODAG: the source `src` reports that `target` is behind `parent`; the
/// neighbour `via` forwards it. A No-Path asks for an acknowledgement.
pub fn tell(
    lone: &mut Lone,
    via: u16,
    src: u16,
    target: u16,
    parent: u16,
    adapt: impl Fn(&mut Transit),
) {
    let mut transit = Transit {
        external: false,
        control: 0,
        sequence: Sequence(240),
        lifetime: 30,
        parent: Some(address(parent)),
    };
    adapt(&mut transit);
    let options = bytes(&[
        RplOption::Target(TargetOption {
            prefix: address(target),
            len: 128,
        }),
        RplOption::Transit(transit),
    ]);
    let message = Message::Dao(Dao {
        instance: 0,
        acknowledge: transit.lifetime == 0,
        sequence: 1,
        dodag: None,
        options: Options::parse(&options).unwrap(),
    });
    let mut buffer = [0; 256];
    let mut out = Cursor::new(&mut buffer);
    message.emit(&mut out).unwrap();
    let (src, dst) = (address(src), address(1));
    let packet = packets::icmp(src, dst, 64, MESSAGE_TYPE, 2, out.written());
    lone.link_sends(via, &packet);
}

/// An echo request of a root: its receiving neighbour, target, identifier and sequence number.
pub type Inquiry = (u16, Addr, [u8; 4]);

pub fn inquiries(lone: &mut Lone) -> Vec<Inquiry> {
    let packets = lone.link_packets().into_iter();
    packets.filter_map(|it| inquiry(&it)).collect()
}

fn inquiry((hop, packet): &(Address, Vec<u8>)) -> Option<Inquiry> {
    let Address::Short(hop) = *hop else {
        return None;
    };
    let (mut header, mut rest) = Ipv6Header::parse(packet).ok()?;
    let mut next = header.next_header;
    loop {
        match next {
            // Skips hop-by-hop options.
            0 => (next, rest) = (rest[0], &rest[8 + 8 * usize::from(rest[1])..]),
            41 => {
                (header, rest) = Ipv6Header::parse(rest).ok()?;
                next = header.next_header;
            }
            43 => {
                let route = SourceRoute::parse(rest).ok()?;
                header.dst = route.addresses(header.dst).last()?;
                (next, rest) = (rest[0], &rest[8 + 8 * usize::from(rest[1])..]);
            }
            58 if rest[0] == 128 && header.src == address(1) => {
                return Some((hop, header.dst, rest[4..8].try_into().ok()?));
            }
            _ => return None,
        }
    }
}

pub fn answer(lone: &mut Lone, via: u16, (_, to, number): Inquiry) {
    let reply = packets::icmp(to, address(1), 64, 129, 0, &number);
    lone.link_sends(via, &reply);
}

/// Runs a root in non-storing mode for `time`, while the targets in `honest` answer the root's
/// inquiries. Returns the destinations of all inquiries.
pub fn run_answering(lone: &mut Lone, time: Duration, honest: &[u16]) -> Vec<Addr> {
    let until = lone.now + time;
    let mut asked = Vec::new();
    while lone.now < until {
        for inquiry in inquiries(lone) {
            asked.push(inquiry.1);
            if honest.iter().any(|it| address(*it) == inquiry.1) {
                answer(lone, inquiry.0, inquiry);
            }
        }
        lone.run_for(Duration::from_millis(100));
    }
    asked
}
