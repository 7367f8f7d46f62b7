//! The memory of a node, sized by a type.
//!
//! Tables are typed and refer to buffers, so they cannot be cut out of a byte array without unsafe
//! code. A [`NodeStorage`] contains both. It is put into a `static` and lent for the whole run. It
//! starts as zeros, including the tables, so that it needs neither flash nor stack.

use core::array::from_fn;
use core::slice::IterMut;

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
/// // On a microcontroller: `static STORAGE: ConstStaticCell<LeafStorage> =
/// // ConstStaticCell::new(LeafStorage::NEW);` of the crate `static_cell`, and `STORAGE.take()`.
/// let storage: &'static mut LeafStorage = Box::leak(Box::new(LeafStorage::NEW));
/// let memory: NodeMemory<LeafMemory> = storage.memory();
/// assert_eq!(memory.connections.len(), 1);
/// ```
///
/// [`LeafStorage`], [`RouterStorage`] and [`BorderStorage`] are starting points; a product defines
/// a type with its own numbers:
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
/// Use packets of 1,280 bytes if the node must accept any IPv6 packet (RFC 8200 §5). Shorter ones
/// suffice for segments of the node's own MSS.
pub struct NodeStorage<C, L, D, R, P> {
    connections: C,
    listeners: L,
    datagrams: D,
    routes: R,
    packets: P,
}

/// The storage of a leaf: one connection with windows of four segments, two listening ports, four
/// half-open connections, one UDP socket, one route, and three packets as long as a segment.
pub type LeafStorage = NodeStorage<
    Connections<1, 1_848, 1_848>,
    Listeners<2, 4>,
    Datagrams<1, 192>,
    Routes<1, 0>,
    Packets<3, 544>,
>;

/// The storage of a router: sockets as in [`LeafStorage`] with one half-open connection, 32 routes,
/// eight registered neighbours, and eight packets of any length.
pub type RouterStorage = NodeStorage<
    Connections<1, 1_848, 1_848>,
    Listeners<2, 1>,
    Datagrams<1, 512>,
    Routes<32, 8>,
    Packets<8, 1_280>,
>;

/// The storage of a border router: a route for each of 128 nodes, and sixteen packets.
pub type BorderStorage = NodeStorage<
    Connections<2, 1_848, 1_848>,
    Listeners<2, 4>,
    Datagrams<2, 512>,
    Routes<128, 16>,
    Packets<16, 1_280>,
>;

/// `N` buffers of `LEN` bytes, aligned to four: copies use words if four divides `LEN`.
#[repr(align(4))]
struct Buffers<const N: usize, const LEN: usize>([[u8; LEN]; N]);

impl<const N: usize, const LEN: usize> Buffers<N, LEN> {
    const ZERO: Self = Buffers([[0; LEN]; N]);
}

type Static = &'static mut [u8];

fn next<const LEN: usize>(buffers: &mut IterMut<'static, [u8; LEN]>) -> Static {
    buffers.next().map_or(&mut [], |it| it.as_mut_slice())
}

/// A table that is created later. Until then all its bytes are zero, whatever `T` is.
#[repr(u8)]
enum Later<T, const N: usize> {
    Nothing = 0,
    Made([T; N]) = 1,
}

impl<T, const N: usize> Later<T, N> {
    fn make(&mut self, entry: impl FnMut(usize) -> T) -> &mut [T] {
        *self = Later::Made(from_fn(entry));
        match self {
            Later::Made(table) => table,
            Later::Nothing => &mut [],
        }
    }
}

/// `N` connections, each with buffers of `SEND` and `RECEIVE` bytes.
pub struct Connections<const N: usize, const SEND: usize, const RECEIVE: usize> {
    slots: Later<ConnectionSlot<Static>, N>,
    send: Buffers<N, SEND>,
    receive: Buffers<N, RECEIVE>,
}

/// `N` listening ports, and `HALF_OPEN` half-open connections.
pub struct Listeners<const N: usize, const HALF_OPEN: usize> {
    slots: Later<ListenerSlot, N>,
    half_open: Later<HalfOpen, HALF_OPEN>,
}

/// `N` UDP sockets, each with a buffer of `BYTES`. A waiting datagram needs 20 bytes and its data.
pub struct Datagrams<const N: usize, const BYTES: usize> {
    slots: Later<UdpSlot<Static>, N>,
    bytes: Buffers<N, BYTES>,
}

/// `N` routes, and `NEIGHBOURS` registrations with this router.
pub struct Routes<const N: usize, const NEIGHBOURS: usize> {
    routes: Later<Option<RouteSlot>, N>,
    neighbours: Later<Option<Neighbour>, NEIGHBOURS>,
}

/// `N` packets of `BYTES` each, in reassembly or in a queue.
pub struct Packets<const N: usize, const BYTES: usize> {
    slots: Later<Slot, N>,
    bytes: Buffers<N, BYTES>,
}

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
    /// Empty storage, the initial value of the `static`.
    pub const NEW: Self = NodeStorage {
        connections: Connections {
            slots: Later::Nothing,
            send: Buffers::ZERO,
            receive: Buffers::ZERO,
        },
        listeners: Listeners {
            slots: Later::Nothing,
            half_open: Later::Nothing,
        },
        datagrams: Datagrams {
            slots: Later::Nothing,
            bytes: Buffers::ZERO,
        },
        routes: Routes {
            routes: Later::Nothing,
            neighbours: Later::Nothing,
        },
        packets: Packets {
            slots: Later::Nothing,
            bytes: Buffers::ZERO,
        },
    };

    /// Lends everything to a node, for memory of the kind `LeafMemory` if the node forwards
    /// nothing, otherwise `StaticMemory`. The table of servers for Fast Open (RFC 7413) is empty;
    /// replace it if you need one.
    ///
    /// A leaf accepts no registrations. The compiler therefore refuses a [`RouterStorage`] or
    /// [`BorderStorage`] of the kind `LeafMemory`, with which a router would drop every packet that
    /// it should forward.
    ///
    /// ```compile_fail,E0080
    /// use redpoll_base::LeafMemory;
    /// use redpoll_stack::{NodeMemory, RouterStorage};
    ///
    /// let storage: &'static mut RouterStorage = Box::leak(Box::new(RouterStorage::NEW));
    /// let memory: NodeMemory<LeafMemory> = storage.memory();
    /// ```
    pub fn memory<M: StaticKind>(&'static mut self) -> NodeMemory<M> {
        const {
            assert!(
                M::ROUTES || NEIGHBOURS == 0,
                "the storage of a router needs a kind of memory that can route: StaticMemory, not \
                 LeafMemory"
            );
        }
        let mut send = self.connections.send.0.iter_mut();
        let mut receive = self.connections.receive.0.iter_mut();
        let connection = |_| ConnectionSlot::new(next(&mut send), next(&mut receive));
        let mut datagrams = self.datagrams.bytes.0.iter_mut();
        let socket = |_| UdpSlot::new(next(&mut datagrams));
        let (listeners, routes) = (&mut self.listeners, &mut self.routes);
        NodeMemory {
            connections: M::table(self.connections.slots.make(connection)),
            listeners: M::table(listeners.slots.make(|_| ListenerSlot::default())),
            half_open: M::table(listeners.half_open.make(|_| HalfOpen::default())),
            servers: M::table(&mut []),
            udp: M::table(self.datagrams.slots.make(socket)),
            routes: M::table(routes.routes.make(|_| None)),
            neighbours: M::table(routes.neighbours.make(|_| None)),
            lowpan: LowpanMemory {
                slots: M::table(self.packets.slots.make(|_| Slot::EMPTY)),
                bytes: self.packets.bytes.0.as_flattened_mut(),
            },
        }
    }
}
