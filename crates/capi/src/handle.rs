//! A node's handle for C: a pointer that the library recognises, and the memory at this pointer.

use core::alloc::Layout;
use core::mem::MaybeUninit;

use redpoll_base::Instant;
use redpoll_socket::Errno;
use redpoll_socket::posix::{Socket, Sockets};
use redpoll_stack::Node;

use crate::candidate::Candidate;
use crate::error::reference;
use crate::groups::{Groups, Kind, KindMemory};
use crate::plan::{ALIGN, Plan, Room};

/// Value of the first field of every existing node, by which the library recognises a node.
const ALIVE: u32 = 0x7270_6f4b;

/// The layer below a node. Some calls need a particular layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Below {
    /// A radio: frames, and packets of its host side.
    #[cfg(feature = "radio")]
    Radio,
    /// The caller's IPv6 stack, without a radio.
    Ip,
}

/// Sizes of the buffers of each socket, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    pub(crate) send: u16,
    pub(crate) receive: u16,
    pub(crate) udp: u16,
}

/// Parameters for the start of RPL.
#[derive(Debug)]
// A library without RPL never reads the fields.
#[cfg_attr(not(feature = "rpl"), allow(dead_code))]
pub(crate) struct Rpl {
    /// Memory for RPL's neighbours; empty if the node does not route by RPL, or after the start.
    pub(crate) candidates: &'static mut [Candidate],
    /// One of `RP_LEAF`, `RP_ROUTER` and `RP_BORDER`.
    pub(crate) role: u8,
    pub(crate) is_started: bool,
    /// Seed of RPL's random delays.
    pub(crate) seed: u64,
}

/// `struct rp_node`, which C only uses by pointer.
#[repr(C, align(8))]
pub struct RpNode {
    alive: u32,
    /// Kind of the radio operation in progress (`RP_WORK_*`), 0 for none.
    #[cfg(feature = "radio")]
    pub(crate) work: u8,
    below: Below,
    /// Length of the longest packet that the node's packet buffers can hold, in bytes.
    pub(crate) packet_bytes: u16,
    pub(crate) buffers: Buffers,
    pub(crate) rpl: Rpl,
    /// Address at which the node was made. The node must not be moved: its tables follow it in
    /// memory.
    here: *const RpNode,
    node: MaybeUninit<Node<Kind>>,
    sockets: &'static mut [Socket],
}

impl RpNode {
    /// Returns the positions of a node's parts in its memory, for the sizes in `room`.
    ///
    /// # Errors
    /// `EINVAL` if the node needs more memory than an object can have.
    pub(crate) fn plan(room: &Room) -> Result<Plan, Errno> {
        Plan::of(room, Layout::new::<RpNode>())
    }

    /// Writes a node to the beginning of the memory, and the pointer to the node to `made`. The
    /// node's tables follow in the memory; `birth` creates the node from these tables.
    ///
    /// # Errors
    /// `EFAULT`, `EINVAL` and, if the memory is too small, `ENOMEM`; nothing is written then.
    ///
    /// # Safety
    /// `memory` is null or has `len` bytes that no other code uses during the node's life; for
    /// `made`, see [`reference`].
    pub(crate) unsafe fn make(
        (memory, len): (*mut u8, usize),
        room: &Room,
        below: Below,
        made: *mut *mut RpNode,
        birth: impl FnOnce(KindMemory, Groups) -> Node<Kind>,
    ) -> Result<(), Errno> {
        // SAFETY: by this function's conditions.
        let made = unsafe { reference(made)? };
        let plan = RpNode::plan(room)?;
        if memory.is_null() || !memory.addr().is_multiple_of(ALIGN) {
            return Err(Errno::EFAULT);
        }
        if len < plan.len() {
            return Err(Errno::ENOMEM);
        }
        // SAFETY: the memory is long enough and aligned, and belongs to the caller.
        let tables = unsafe { plan.carve(memory, room) };
        let place = memory.cast::<RpNode>();
        // SAFETY: the plan begins with the place of an `RpNode`.
        unsafe {
            place.write(RpNode {
                alive: ALIVE,
                #[cfg(feature = "radio")]
                work: 0,
                below,
                packet_bytes: room.packet_bytes,
                buffers: Buffers {
                    send: room.send_buffer,
                    receive: room.receive_buffer,
                    udp: room.udp_buffer,
                },
                here: place,
                rpl: Rpl {
                    candidates: tables.candidates,
                    role: room.role,
                    is_started: false,
                    seed: room.seed,
                },
                node: MaybeUninit::new(birth(tables.node, tables.groups)),
                sockets: tables.sockets,
            });
        }
        *made = place;
        Ok(())
    }

    /// Returns the node, if it exists.
    ///
    /// # Safety
    /// As [`reference`].
    pub(crate) unsafe fn find<'a>(pointer: *mut RpNode) -> Result<&'a mut RpNode, Errno> {
        if pointer.is_null() || !pointer.is_aligned() {
            return Err(Errno::EFAULT);
        }
        // SAFETY: by this function's conditions. Only these two fields are read before the
        // pointer is known to be a node.
        let (alive, here) = unsafe {
            let here = &raw const (*pointer).here;
            ((&raw const (*pointer).alive).read(), here.read())
        };
        if alive != ALIVE || !core::ptr::eq(here, pointer) {
            return Err(Errno::EINVAL);
        }
        // SAFETY: by this function's conditions.
        unsafe { reference(pointer) }
    }

    /// Returns the node, if it exists and has a radio; `EOPNOTSUPP` if it has none.
    ///
    /// # Safety
    /// As [`reference`].
    #[cfg(feature = "radio")]
    pub(crate) unsafe fn on_radio<'a>(pointer: *mut RpNode) -> Result<&'a mut RpNode, Errno> {
        // SAFETY: by this function's conditions.
        unsafe { RpNode::find(pointer) }?.if_over(Below::Radio)
    }

    /// Returns the node if it exists and uses the caller's IPv6 stack; `EOPNOTSUPP` if it has a
    /// radio.
    ///
    /// # Safety
    /// As [`reference`].
    pub(crate) unsafe fn over_ip<'a>(pointer: *mut RpNode) -> Result<&'a mut RpNode, Errno> {
        // SAFETY: by this function's conditions.
        unsafe { RpNode::find(pointer) }?.if_over(Below::Ip)
    }

    fn if_over(&mut self, below: Below) -> Result<&mut RpNode, Errno> {
        match self.below == below {
            true => Ok(self),
            false => Err(Errno::EOPNOTSUPP),
        }
    }

    /// Ends the node: later calls with its pointer fail.
    pub(crate) fn end(&mut self) {
        self.alive = 0;
    }

    pub(crate) fn node(&mut self) -> &mut Node<Kind> {
        // SAFETY: `find` gives only nodes that `make` has made.
        unsafe { self.node.assume_init_mut() }
    }

    /// Returns the node's sockets at the time `now_us`.
    pub(crate) fn sockets(&mut self, now_us: u64) -> Sockets<'_, Kind> {
        // SAFETY: as in `node`.
        let node = unsafe { self.node.assume_init_mut() };
        let (table, now) = (&mut *self.sockets, Instant::from_micros(now_us));
        Sockets { node, table, now }
    }
}
