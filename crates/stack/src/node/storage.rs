//! Where everything of a node lies, as a type: how much there is of each kind of thing.
//!
//! Tables are typed and refer to buffers, so they cannot be cut out of an array of bytes
//! without unsafe code. A [`NodeStorage`] has both, sized by its type, and lends them for
//! good: it lives in a `static`.

use core::array::from_fn;

use redpoll_base::StaticKind;
use redpoll_lowpan::{LowpanMemory, Slot};
use redpoll_tcp::HalfOpen;

use super::config::NodeMemory;
use crate::net::routing::{Neighbour, RouteSlot};
use crate::transports::tcp::{ConnectionSlot, ListenerSlot};
use crate::transports::udp::UdpSlot;

/// The memory of a node, to be put into a `static`: tables, and the buffers they refer to.
///
/// ```
/// use redpoll_base::LeafMemory;
/// use redpoll_stack::{LeafStorage, NodeMemory};
///
/// // On a microcontroller a cell of the crate `static_cell`, or of your own.
/// let storage: &'static mut LeafStorage = Box::leak(Box::new(LeafStorage::new()));
/// let memory: NodeMemory<LeafMemory> = storage.memory();
/// assert_eq!(memory.connections.len(), 1);
/// ```
///
/// [`LeafStorage`], [`RouterStorage`] and [`BorderStorage`] are what such nodes begin with; a
/// product writes its own numbers into a type:
///
/// ```
/// use redpoll_stack::{Connections, Datagrams, Listeners, NodeStorage, Packets, Routes};
///
/// /// Two connections, which send little and receive images.
/// type Storage = NodeStorage<
///     Connections<2, 512, 4_096>,
///     Listeners<1, 2>,
///     Datagrams<1, 256>,
///     Routes<1, 0>,
///     Packets<4, 544>,
/// >;
/// # let _ = core::mem::size_of::<Storage>();
/// ```
///
/// Begin with a longest packet of 1,280 bytes where the node must take any IPv6 packet
/// (RFC 8200 §5); with less it takes what its own MSS allows.
pub struct NodeStorage<C, L, D, R, P> {
    connections: C,
    listeners: L,
    datagrams: D,
    routes: R,
    packets: P,
}

/// What a leaf begins with: one connection with windows of four segments, two ports that
/// listen, one for datagrams, one route, and three packets of a segment.
pub type LeafStorage = NodeStorage<
    Connections<1, 1_848, 1_848>,
    Listeners<2, 1>,
    Datagrams<1, 192>,
    Routes<1, 0>,
    Packets<3, 544>,
>;

/// What a router begins with: a leaf's own sockets, 32 routes, eight neighbours that
/// register, and eight packets of any length.
pub type RouterStorage = NodeStorage<
    Connections<1, 1_848, 1_848>,
    Listeners<2, 1>,
    Datagrams<1, 512>,
    Routes<32, 8>,
    Packets<8, 1_280>,
>;

/// What a border router begins with: a route for each of 128 nodes, and sixteen packets.
pub type BorderStorage = NodeStorage<
    Connections<2, 1_848, 1_848>,
    Listeners<2, 4>,
    Datagrams<2, 512>,
    Routes<128, 16>,
    Packets<16, 1_280>,
>;

/// Bytes at a multiple of four, so that copies are of words.
#[derive(Clone, Copy)]
#[repr(align(4))]
struct Aligned<const LEN: usize>([u8; LEN]);

impl<const LEN: usize> Aligned<LEN> {
    const ZERO: Aligned<LEN> = Aligned([0; LEN]);
}

type Static = &'static mut [u8];

/// No buffer yet.
fn none() -> Static {
    &mut []
}

/// `N` connections, each with so many bytes to send and to receive.
pub struct Connections<const N: usize, const SEND: usize, const RECEIVE: usize> {
    slots: [ConnectionSlot<Static>; N],
    send: [Aligned<SEND>; N],
    receive: [Aligned<RECEIVE>; N],
}

/// `N` ports that listen, and `HALF_OPEN` connections that are being opened there.
pub struct Listeners<const N: usize, const HALF_OPEN: usize> {
    slots: [ListenerSlot; N],
    half_open: [HalfOpen; HALF_OPEN],
}

/// `N` ports for datagrams, in each of which `BYTES` wait, 20 a datagram besides.
pub struct Datagrams<const N: usize, const BYTES: usize> {
    slots: [UdpSlot<Static>; N],
    bytes: [Aligned<BYTES>; N],
}

/// `N` routes, and `NEIGHBOURS` that register with this router.
pub struct Routes<const N: usize, const NEIGHBOURS: usize> {
    routes: [Option<RouteSlot>; N],
    neighbours: [Option<Neighbour>; NEIGHBOURS],
}

/// `N` packets of `BYTES` that are put together, or wait for the radio, at the same time.
pub struct Packets<const N: usize, const BYTES: usize> {
    slots: [Slot; N],
    bytes: Packed<N, BYTES>,
}

#[repr(align(4))]
struct Packed<const N: usize, const BYTES: usize>([[u8; BYTES]; N]);

impl<
    const CONNECTIONS: usize,
    const SEND: usize,
    const RECEIVE: usize,
    const LISTENERS: usize,
    const HALF_OPEN: usize,
    const SOCKETS: usize,
    const DATAGRAMS: usize,
    const ROUTES: usize,
    const NEIGHBOURS: usize,
    const PACKETS: usize,
    const PACKET: usize,
>
    NodeStorage<
        Connections<CONNECTIONS, SEND, RECEIVE>,
        Listeners<LISTENERS, HALF_OPEN>,
        Datagrams<SOCKETS, DATAGRAMS>,
        Routes<ROUTES, NEIGHBOURS>,
        Packets<PACKETS, PACKET>,
    >
{
    /// Nothing in it, for a `static`: made in its place there, it does not pass over the
    /// stack.
    #[inline(always)]
    #[allow(
        clippy::new_without_default,
        reason = "kilobytes are not for the stack"
    )]
    pub fn new() -> Self {
        NodeStorage {
            connections: Connections {
                slots: from_fn(|_| ConnectionSlot::new(none(), none())),
                send: [Aligned::ZERO; CONNECTIONS],
                receive: [Aligned::ZERO; CONNECTIONS],
            },
            listeners: Listeners {
                slots: from_fn(|_| ListenerSlot::default()),
                half_open: from_fn(|_| HalfOpen::default()),
            },
            datagrams: Datagrams {
                slots: from_fn(|_| UdpSlot::new(none())),
                bytes: [Aligned::ZERO; SOCKETS],
            },
            routes: Routes {
                routes: [const { None }; ROUTES],
                neighbours: [const { None }; NEIGHBOURS],
            },
            packets: Packets {
                slots: [Slot::EMPTY; PACKETS],
                bytes: Packed([[0; PACKET]; PACKETS]),
            },
        }
    }

    /// All of it, for a node: of the kind `LeafMemory` for one that forwards nothing, else
    /// `StaticMemory`. There is no room for servers to which connections are opened with
    /// data (RFC 7413); who wants that puts a table of them into its place.
    #[inline(always)]
    pub fn memory<M: StaticKind>(&'static mut self) -> NodeMemory<M> {
        let Connections {
            slots: connections,
            send,
            receive,
        } = &mut self.connections;
        let buffers = send.iter_mut().zip(receive);
        for (slot, (send, receive)) in connections.iter_mut().zip(buffers) {
            *slot = ConnectionSlot::new(&mut send.0, &mut receive.0);
        }
        let Datagrams { slots: udp, bytes } = &mut self.datagrams;
        for (slot, bytes) in udp.iter_mut().zip(bytes) {
            *slot = UdpSlot::new(&mut bytes.0);
        }
        NodeMemory {
            connections: M::table(connections),
            listeners: M::table(&mut self.listeners.slots),
            half_open: M::table(&mut self.listeners.half_open),
            servers: M::table(&mut []),
            udp: M::table(udp),
            routes: M::table(&mut self.routes.routes),
            neighbours: M::table(&mut self.routes.neighbours),
            lowpan: LowpanMemory {
                slots: M::table(&mut self.packets.slots),
                bytes: self.packets.bytes.0.as_flattened_mut(),
            },
        }
    }
}
