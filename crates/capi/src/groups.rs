//! Multicast groups from C. A library without the feature `groups` has no code for them, and its
//! nodes have no memory for them.

use redpoll_base::{Addr, Rng, StaticMemory};
use redpoll_socket::Errno;
use redpoll_stack::mac::CsmaCa;
use redpoll_stack::transport::Standard;
use redpoll_stack::{NoStreams, Node, NodeConfig, NodeMemory, Parts, Profile, Pull, StandardRules};

use crate::error::{Code, code, value};
use crate::handle::RpNode;
use crate::plan::Room;
use crate::socket::descriptor;

#[cfg(not(feature = "groups"))]
use absent as implementation;
pub use implementation::Groups;
pub(crate) use implementation::{GroupSlot, MessageSlot, NO_GROUP, NO_MESSAGE, NO_SEED, SeedSlot};
#[cfg(feature = "groups")]
use present as implementation;

/// Whether the library has groups.
pub(crate) const AVAILABLE: bool = cfg!(feature = "groups");
/// Longest packet to a group with its outer headers, in bytes.
pub(crate) const PACKET: u16 = 320;
/// Numbers of seeds and messages of a node with groups.
const TABLES: (usize, usize) = (4, 4);

/// The profile of a node for C.
#[derive(Debug)]
pub enum Kind {}

impl Profile for Kind {
    type Memory = StaticMemory;
    type Access = CsmaCa;
    type Algorithms = Standard;
    type Assist = Groups;
    type Streams = NoStreams;
    type Rules = StandardRules;
    type Handover = Pull;
}

/// The memory of a node's groups.
pub(crate) struct GroupTables {
    pub(crate) groups: &'static mut [GroupSlot],
    pub(crate) seeds: &'static mut [SeedSlot],
    pub(crate) messages: &'static mut [MessageSlot],
    pub(crate) bytes: &'static mut [u8],
}

/// Returns the numbers of seeds and messages.
pub(crate) fn tables(room: &Room) -> (usize, usize) {
    if room.groups > 0 { TABLES } else { (0, 0) }
}

/// Creates a node.
pub(crate) fn node(
    config: NodeConfig,
    memory: NodeMemory<StaticMemory>,
    random: Rng,
    groups: Groups,
) -> Node<Kind> {
    let parts = Parts {
        access: CsmaCa,
        assist: groups,
        streams: NoStreams,
        handover: Pull,
    };
    Node::with_parts(config, memory, random, parts)
}

/// # Safety
/// `node` is null or points to a node, `group` to 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_udp_join(node: *mut RpNode, fd: i32, group: *const u8) -> Code {
    // SAFETY: by this function's conditions.
    let (found, group) = unsafe { (RpNode::find(node), value(group.cast::<[u8; 16]>())) };
    code(found.and_then(|node| {
        let group = Addr(group?);
        let joined = node.sockets(0).join_group(descriptor(fd)?, &group);
        let missing = |errno| match errno {
            Errno::ENOMEM if !AVAILABLE => Errno::EOPNOTSUPP,
            errno => errno,
        };
        joined.map(|()| 0).map_err(missing)
    }))
}

/// # Safety
/// `node` is null or points to a node, `group` to 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_udp_leave(node: *mut RpNode, fd: i32, group: *const u8) -> Code {
    // SAFETY: by this function's conditions.
    let (found, group) = unsafe { (RpNode::find(node), value(group.cast::<[u8; 16]>())) };
    code(found.and_then(|node| {
        let group = Addr(group?);
        let left = node.sockets(0).leave_group(descriptor(fd)?, &group);
        left.map(|()| 0)
    }))
}

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_udp_is_for_group(node: *mut RpNode, fd: i32) -> Code {
    // SAFETY: by this function's conditions.
    let found = unsafe { RpNode::find(node) };
    code(found.and_then(|node| {
        let is_for_group = node.sockets(0).is_for_group(descriptor(fd)?)?;
        Ok(is_for_group.into())
    }))
}

#[cfg(feature = "groups")]
mod present {
    pub(crate) use redpoll_assist::multicast::{GroupSlot, MessageSlot, SeedSlot};
    use redpoll_assist::multicast::{Memory, Multicast, Params};
    use redpoll_base::{Addr, Instant, Rng, StaticMemory, Wake};
    use redpoll_stack::DropReason;
    use redpoll_stack::assist::{Assist, Disposition, Passing, ToGroup};

    use super::GroupTables;
    use crate::config::{BORDER, LEAF};
    use crate::plan::Room;

    pub(crate) const NO_GROUP: GroupSlot = GroupSlot::EMPTY;
    pub(crate) const NO_SEED: SeedSlot = SeedSlot::EMPTY;
    pub(crate) const NO_MESSAGE: MessageSlot = MessageSlot::EMPTY;
    /// Distinguishes the random numbers of groups from others of the same seed.
    const STREAM: u64 = 0x6d70_6c00;

    /// The groups of a node, if it has memory for them.
    #[derive(Debug)]
    pub struct Groups {
        multicast: Option<Multicast<StaticMemory>>,
        /// Whether packets from the host side to joined groups enter the mesh.
        is_border: bool,
    }

    impl Groups {
        pub(crate) fn of(room: &Room, tables: GroupTables) -> Groups {
            let params = Params::default().with(|it| {
                // A leaf is a member and forwards nothing.
                if room.role == LEAF {
                    it.expirations = 0;
                }
            });
            let memory = Memory {
                groups: tables.groups,
                seeds: tables.seeds,
                messages: tables.messages,
                bytes: tables.bytes,
            };
            let random = Rng::stream(room.seed, STREAM);
            Groups {
                multicast: (room.groups > 0).then(|| Multicast::new(params, random, memory)),
                is_border: room.role == BORDER,
            }
        }
    }

    impl Assist for Groups {
        const GROUPS: bool = true;

        fn on_group(
            &mut self,
            now: Instant,
            packet: &mut ToGroup<'_>,
        ) -> Result<Option<usize>, DropReason> {
            let multicast = self.multicast.as_mut().ok_or(DropReason::NoRoute)?;
            multicast.on_group(now, packet)
        }

        fn set_member(&mut self, group: &Addr, joins: bool) -> bool {
            let Some(multicast) = &mut self.multicast else {
                return false;
            };
            let is_set = multicast.set_member(group, joins);
            if is_set && joins && self.is_border {
                multicast.let_in(group);
            }
            is_set
        }

        fn on_forward(&mut self, _: Instant, _: &mut Passing<'_>) -> Disposition {
            Disposition::Forward
        }

        fn poll_packet(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
            self.multicast.as_mut()?.poll_packet(now, out)
        }

        fn on_no_room(&mut self, now: Instant) {
            if let Some(multicast) = &mut self.multicast {
                multicast.on_no_room(now);
            }
        }

        fn poll_at(&self) -> Option<Wake> {
            self.multicast.as_ref()?.poll_at()
        }
    }
}

#[cfg(not(feature = "groups"))]
mod absent {
    use redpoll_base::{Instant, Wake};
    use redpoll_stack::assist::{Assist, Disposition, Passing};

    use super::GroupTables;
    use crate::plan::Room;

    pub(crate) type GroupSlot = ();
    pub(crate) type SeedSlot = ();
    pub(crate) type MessageSlot = ();
    pub(crate) const NO_GROUP: GroupSlot = ();
    pub(crate) const NO_SEED: SeedSlot = ();
    pub(crate) const NO_MESSAGE: MessageSlot = ();

    /// A node without groups.
    #[derive(Debug)]
    pub struct Groups;

    impl Groups {
        pub(crate) fn of(_: &Room, _: GroupTables) -> Groups {
            Groups
        }
    }

    impl Assist for Groups {
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
}
