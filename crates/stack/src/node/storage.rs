//! Where everything of a node lies, as a type: how much there is of each kind of thing.
//!
//! Tables are typed and refer to buffers, so they cannot be cut out of an array of bytes
//! without unsafe code. A [`NodeStorage`] has both, sized by its type, and lends them for
//! good: it lives in a `static`. Before that all of it is zero, tables as well, so that it
//! takes room neither in flash nor on the stack.

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

/// `N` buffers at a multiple of four, as long as their length is one, so that copies are of
/// words.
#[repr(align(4))]
struct Buffers<const N: usize, const LEN: usize>([[u8; LEN]; N]);

impl<const N: usize, const LEN: usize> Buffers<N, LEN> {
    const ZERO: Self = Buffers([[0; LEN]; N]);
}

type Static = &'static mut [u8];

/// The next of these buffers.
fn next<const LEN: usize>(buffers: &mut IterMut<'static, [u8; LEN]>) -> Static {
    buffers.next().map_or(&mut [], |it| it.as_mut_slice())
}

/// A table that is made later; before, its bytes are zero whatever it holds.
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

/// `N` connections, each with so many bytes to send and to receive.
pub struct Connections<const N: usize, const SEND: usize, const RECEIVE: usize> {
    slots: Later<ConnectionSlot<Static>, N>,
    send: Buffers<N, SEND>,
    receive: Buffers<N, RECEIVE>,
}

/// `N` ports that listen, and `HALF_OPEN` connections that are being opened there.
pub struct Listeners<const N: usize, const HALF_OPEN: usize> {
    slots: Later<ListenerSlot, N>,
    half_open: Later<HalfOpen, HALF_OPEN>,
}

/// `N` ports for datagrams, in each of which `BYTES` wait, 20 a datagram besides.
pub struct Datagrams<const N: usize, const BYTES: usize> {
    slots: Later<UdpSlot<Static>, N>,
    bytes: Buffers<N, BYTES>,
}

/// `N` routes, and `NEIGHBOURS` that register with this router.
pub struct Routes<const N: usize, const NEIGHBOURS: usize> {
    routes: Later<Option<RouteSlot>, N>,
    neighbours: Later<Option<Neighbour>, NEIGHBOURS>,
}

/// `N` packets of `BYTES` that are put together, or wait for the radio, at the same time.
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
    /// Nothing in it: what a `static` begins with.
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

    /// All of it, for a node: of the kind `LeafMemory` for one that forwards nothing, else
    /// `StaticMemory`. There is no room for servers to which connections are opened with
    /// data (RFC 7413); who wants that puts a table of them into its place.
    ///
    /// A leaf takes no registrations, so storage with room for them is not a leaf's: the compiler
    /// refuses a [`RouterStorage`] or a [`BorderStorage`] of the kind `LeafMemory`, with which a
    /// router would drop each packet that it should forward.
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
                "the storage of a router needs the memory of a router: StaticMemory"
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
