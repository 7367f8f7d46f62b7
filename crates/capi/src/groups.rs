//! The multicast groups of a node. A library without the feature `groups` has no code for them, and
//! its nodes have no memory for them.

use redpoll_base::{Memory, Rng};
use redpoll_stack::mac::CsmaCa;
use redpoll_stack::transport::Standard;
use redpoll_stack::{NoStreams, Node, NodeConfig, NodeMemory, Parts, Profile, Pull, StandardRules};

use crate::store::Store;

#[cfg(not(feature = "groups"))]
use absent as implementation;
pub use implementation::Groups;
pub(crate) use implementation::{GroupSlot, MessageSlot, NO_GROUP, NO_MESSAGE, NO_SEED, SeedSlot};
#[cfg(feature = "groups")]
use present as implementation;

/// Whether the library has groups.
pub(crate) const AVAILABLE: bool = cfg!(feature = "groups");
/// Longest multicast packet with its outer headers, in bytes.
pub(crate) const PACKET: u16 = 320;
/// Sizes of the Seed Set and the Buffered Message Set (RFC 7731) of a node with groups.
const TABLES: (usize, usize) = (4, 4);

/// The [`Profile`] of every node of the C library.
#[derive(Debug)]
pub enum Kind {}

impl Profile for Kind {
    type Memory = Store;
    type Access = CsmaCa;
    type Algorithms = Standard;
    type Assist = Groups;
    type Streams = NoStreams;
    type Rules = StandardRules;
    type Handover = Pull;
}

/// The memory of a node for C, and its configuration.
pub(crate) type KindMemory = NodeMemory<Store>;
pub(crate) type KindConfig = NodeConfig<Standard, <Store as Memory>::Forwards>;

/// The memory of a node's groups.
#[cfg_attr(
    not(feature = "groups"),
    allow(
        dead_code,
        reason = "without the feature `groups` no code reads these fields"
    )
)]
pub(crate) struct GroupTables {
    pub(crate) groups: &'static mut [GroupSlot],
    pub(crate) seeds: &'static mut [SeedSlot],
    pub(crate) messages: &'static mut [MessageSlot],
    pub(crate) bytes: &'static mut [u8],
}

/// Returns the sizes of the Seed Set and the Buffered Message Set for `groups` groups.
pub(crate) fn tables(groups: u8) -> (usize, usize) {
    if groups > 0 { TABLES } else { (0, 0) }
}

pub(crate) fn node(
    config: KindConfig,
    memory: KindMemory,
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

#[cfg(feature = "groups")]
mod present {
    pub(crate) use redpoll_assist::multicast::{GroupSlot, MessageSlot, SeedSlot};
    use redpoll_assist::multicast::{Memory, Multicast, Params};
    use redpoll_base::{Addr, Instant, Rng, StaticMemory, Wake};
    use redpoll_stack::DropReason;
    use redpoll_stack::assist::{Assist, Disposition, Passing, ToGroup};

    use super::GroupTables;
    use crate::role::{BORDER, LEAF};

    pub(crate) const NO_GROUP: GroupSlot = GroupSlot::EMPTY;
    pub(crate) const NO_SEED: SeedSlot = SeedSlot::EMPTY;
    pub(crate) const NO_MESSAGE: MessageSlot = MessageSlot::EMPTY;
    /// Distinguishes the random stream of groups from the other streams of the same seed.
    const STREAM: u64 = 0x6d70_6c00;

    /// The groups of a node, if it has memory for them.
    #[derive(Debug)]
    pub struct Groups {
        multicast: Option<Multicast<StaticMemory>>,
        /// Whether packets from the host side to joined groups enter the mesh.
        is_border: bool,
    }

    impl Groups {
        /// Returns the groups of a node with this role, and with this seed of its random numbers.
        pub(crate) fn of(role: u8, seed: u64, tables: GroupTables) -> Groups {
            let params = Params::default().with(|it| {
                // A leaf is a member and forwards nothing.
                if role == LEAF {
                    it.expirations = 0;
                }
            });
            let has_groups = !tables.groups.is_empty();
            let memory = Memory {
                groups: tables.groups,
                seeds: tables.seeds,
                messages: tables.messages,
                bytes: tables.bytes,
            };
            let random = Rng::stream(seed, STREAM);
            Groups {
                multicast: has_groups.then(|| Multicast::new(params, random, memory)),
                is_border: role == BORDER,
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
        pub(crate) fn of(_: u8, _: u64, _: GroupTables) -> Groups {
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
