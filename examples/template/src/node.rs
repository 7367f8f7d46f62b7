//! The node of every board: a leaf with the short address 2, below a parent with the address 1.

use redpoll_socket::nal::{LeafNet, Watch};
use redpoll_socket::stack::base::{Addr, Instant, Rng};
use redpoll_socket::stack::mac::{MacConfig, Radio};
use redpoll_socket::stack::wire::ieee802154::Address;
use redpoll_socket::stack::{LeafStorage, Node, NodeConfig, Route, Via};

/// IEEE 802.15.4 channel, 11 to 26.
#[cfg(target_os = "none")]
pub const CHANNEL: u8 = 15;
pub const PAN: u16 = 0xabcd;
pub const PARENT: u16 = 1;
pub const LEAF: u16 = 2;
/// Prefix of the mesh, a /64.
pub const PREFIX: Addr = Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

/// A node with its sockets: at most six connections, listeners and UDP sockets in use.
pub type Net = LeafNet<fn() -> Instant, [Watch; 6]>;

/// Short addresses of a node and of the neighbour through which it reaches all others.
pub struct Place {
    pub short: u16,
    pub parent: u16,
}

/// Random bytes of the board, new after each start: for keys, ports and backoffs.
pub struct Random {
    pub secret: [u8; 16],
    pub seed: u64,
}

/// Makes a node in `storage`. The caller runs it by `Net::run_on` with the same radio.
pub fn start(
    radio: &mut impl Radio,
    now: fn() -> Instant,
    storage: &'static mut LeafStorage,
    place: Place,
    random: Random,
) -> Net {
    let mac = MacConfig::default().with(|it| {
        it.pan_id = PAN;
        it.short = place.short;
        it.extended = (0x0200_0000_0000_0000 | u64::from(place.short)).to_be_bytes();
        it.caps = radio.caps();
    });
    radio.set_identity((&mac).into());
    let config = NodeConfig::leaf(mac, PREFIX, random.seed as u16, random.secret);
    let mut node = Node::new(config, storage.memory(), Rng::new(random.seed));
    let everything = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Neighbour(Address::Short(place.parent)),
    };
    node.add_route(everything)
        .expect("the table of routes has room");
    Net::new(node, now, [const { Watch::FREE }; 6])
}
