//! Places of a node's parts in the caller's memory.
//!
//! One list of parts determines the beginning of each part and the length of the memory, so the
//! memory is always long enough for all parts.

use core::alloc::Layout;

use redpoll_socket::Errno;
use redpoll_socket::posix::Socket;
use redpoll_stack::lowpan::{LowpanMemory, Slot};
use redpoll_stack::transport::HalfOpen;
use redpoll_stack::{ConnectionSlot, ListenerSlot, Neighbour, NodeMemory, RouteSlot, UdpSlot};

use crate::candidate::{Candidate, NO_CANDIDATE};
use crate::groups::{
    self, GroupSlot, GroupTables, Groups, KindMemory, MessageSlot, NO_GROUP, NO_MESSAGE, NO_SEED,
    SeedSlot,
};

type Connection = ConnectionSlot<&'static mut [u8]>;
type Udp = UdpSlot<&'static mut [u8]>;

/// The size of the memory is a multiple of this, and so is its address. C's `max_align_t` has at
/// least this alignment, and no part of a node needs more.
pub(crate) const ALIGN: usize = 8;

/// Numbers and sizes of a node's buffers and tables (sizes of buffers in bytes), and the parameters
/// that RPL takes later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) connections: u8,
    pub(crate) listeners: u8,
    pub(crate) half_open: u8,
    pub(crate) udp_sockets: u8,
    pub(crate) sockets: u8,
    pub(crate) packets: u8,
    pub(crate) children: u8,
    pub(crate) rpl_neighbours: u8,
    /// Number of multicast groups.
    pub(crate) groups: u8,
    pub(crate) routes: u16,
    pub(crate) send_buffer: u16,
    pub(crate) receive_buffer: u16,
    pub(crate) udp_buffer: u16,
    pub(crate) packet_bytes: u16,
    /// Role of a node on a radio, one of `RP_LEAF`, `RP_ROUTER` and `RP_BORDER`.
    pub(crate) role: u8,
    /// Seed of the node's random choices.
    pub(crate) seed: u64,
}

/// A part: its offset in bytes, and the number of its elements.
#[derive(Clone, Copy)]
struct Part {
    offset: usize,
    count: usize,
}

pub(crate) struct Plan {
    connections: Part,
    listeners: Part,
    half_open: Part,
    udp: Part,
    routes: Part,
    neighbours: Part,
    candidates: Part,
    groups: Part,
    seeds: Part,
    messages: Part,
    slots: Part,
    sockets: Part,
    // Bytes of buffers. Each connection has one part of `sending` and one of `receiving`.
    sending: Part,
    receiving: Part,
    datagrams: Part,
    packets: Part,
    group_packets: Part,
    len: usize,
}

/// The tables of a node and those of its sockets and of RPL.
pub(crate) struct Tables {
    pub(crate) node: KindMemory,
    pub(crate) sockets: &'static mut [Socket],
    pub(crate) candidates: &'static mut [Candidate],
    pub(crate) groups: Groups,
}

/// A sequence of parts, each of which begins after the end of the previous one.
struct Line(Layout);

impl Line {
    fn put<T>(&mut self, count: usize) -> Result<Part, Errno> {
        let array = Layout::array::<T>(count).or(Err(Errno::EINVAL))?;
        let (layout, offset) = self.0.extend(array).or(Err(Errno::EINVAL))?;
        self.0 = layout;
        Ok(Part { offset, count })
    }
}

impl Plan {
    /// Returns the positions of a node's parts, for the sizes in `room`. The parts follow the
    /// node's own struct, whose layout is `node`.
    ///
    /// # Errors
    /// `EINVAL` if the parts need more memory than an object can have.
    pub(crate) fn of(room: &Room, node: Layout) -> Result<Plan, Errno> {
        let mut line = Line(node);
        let connections = usize::from(room.connections);
        let udp = usize::from(room.udp_sockets);
        let packets = usize::from(room.packets);
        let (seeds, messages) = groups::tables(room.groups);
        let bytes = |count: usize, each: u16| count.saturating_mul(each.into());
        let mut plan = Plan {
            connections: line.put::<Connection>(connections)?,
            listeners: line.put::<ListenerSlot>(room.listeners.into())?,
            half_open: line.put::<HalfOpen>(room.half_open.into())?,
            udp: line.put::<Udp>(udp)?,
            routes: line.put::<Option<RouteSlot>>(room.routes.into())?,
            neighbours: line.put::<Option<Neighbour>>(room.children.into())?,
            candidates: line.put::<Candidate>(room.rpl_neighbours.into())?,
            groups: line.put::<GroupSlot>(room.groups.into())?,
            seeds: line.put::<SeedSlot>(seeds)?,
            messages: line.put::<MessageSlot>(messages)?,
            slots: line.put::<Slot>(packets)?,
            sockets: line.put::<Socket>(room.sockets.into())?,
            sending: line.put::<u8>(bytes(connections, room.send_buffer))?,
            receiving: line.put::<u8>(bytes(connections, room.receive_buffer))?,
            datagrams: line.put::<u8>(bytes(udp, room.udp_buffer))?,
            packets: line.put::<u8>(bytes(packets, room.packet_bytes))?,
            group_packets: line.put::<u8>(bytes(messages, groups::PACKET))?,
            len: 0,
        };
        if line.0.align() > ALIGN {
            return Err(Errno::EINVAL);
        }
        plan.len = line.0.size().next_multiple_of(ALIGN);
        Ok(plan)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Creates the node's tables and its sockets in the memory.
    ///
    /// # Safety
    /// `memory` is aligned to [`ALIGN`], has [`Plan::len`] bytes, and no other code uses it during
    /// the node's life.
    pub(crate) unsafe fn carve(&self, memory: *mut u8, room: &Room) -> Tables {
        let place = |part: Part| Place { memory, part };
        // SAFETY, for each call in this block: the part lies within the memory, is aligned and
        // overlaps no other part; by the caller's promise, no other code uses the memory.
        unsafe {
            let mut sending = place(self.sending).bytes();
            let mut receiving = place(self.receiving).bytes();
            let mut datagrams = place(self.datagrams).bytes();
            let (tx, rx) = (room.send_buffer.into(), room.receive_buffer.into());
            let connections = place(self.connections)
                .table(|| ConnectionSlot::new(cut(&mut sending, tx), cut(&mut receiving, rx)));
            let udp =
                place(self.udp).table(|| UdpSlot::new(cut(&mut datagrams, room.udp_buffer.into())));
            let memory = NodeMemory {
                connections,
                listeners: place(self.listeners).table(ListenerSlot::default),
                half_open: place(self.half_open).table(HalfOpen::default),
                servers: Default::default(),
                udp,
                routes: place(self.routes).table(|| None),
                neighbours: place(self.neighbours).table(|| None),
                lowpan: LowpanMemory {
                    slots: place(self.slots).table(|| Slot::EMPTY),
                    bytes: place(self.packets).bytes(),
                },
            };
            let groups = GroupTables {
                groups: place(self.groups).table(|| NO_GROUP),
                seeds: place(self.seeds).table(|| NO_SEED),
                messages: place(self.messages).table(|| NO_MESSAGE),
                bytes: place(self.group_packets).bytes(),
            };
            Tables {
                node: memory,
                groups: Groups::of(room.role, room.seed, groups),
                sockets: place(self.sockets).table(|| Socket::FREE),
                candidates: place(self.candidates).table(|| NO_CANDIDATE),
            }
        }
    }
}

struct Place {
    memory: *mut u8,
    part: Part,
}

impl Place {
    /// Creates a table with the part's number of elements, each from `make`.
    ///
    /// # Safety
    /// The place has room for the table, is aligned, and no other code uses it.
    unsafe fn table<T>(self, mut make: impl FnMut() -> T) -> &'static mut [T] {
        let Part { offset, count } = self.part;
        // SAFETY: the place is within the memory; all of it is written before it is read.
        unsafe {
            let first = self.memory.add(offset).cast::<T>();
            for index in 0..count {
                first.add(index).write(make());
            }
            core::slice::from_raw_parts_mut(first, count)
        }
    }

    /// Returns the part's bytes, all 0.
    ///
    /// # Safety
    /// As [`Place::table`].
    unsafe fn bytes(self) -> &'static mut [u8] {
        // SAFETY: by this function's conditions.
        unsafe { self.table(|| 0) }
    }
}

/// Cuts the first `len` bytes off the remaining memory.
fn cut(left: &mut &'static mut [u8], len: usize) -> &'static mut [u8] {
    let all = core::mem::take(left);
    match all.split_at_mut_checked(len) {
        Some((first, rest)) => {
            *left = rest;
            first
        }
        None => &mut [],
    }
}
