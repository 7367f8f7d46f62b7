//! Parameters and memory, both the caller's.

use redpoll_base::{Duration, Memory};

use crate::{RedConfig, Slot};

/// Parameters of one [`Lowpan`](crate::Lowpan).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LowpanConfig {
    /// How long a reassembly waits for the next fragment that brings something
    /// new before it is given up. Default 3 s, as RIOT; OpenThread takes 2 s.
    pub reassembly_timeout: Duration,
    /// How long a reassembly may take altogether, progress or not. More than
    /// 60 s counts as 60 s, the most that RFC 4944 §5.3 allows. Default 10 s.
    pub reassembly_limit: Duration,
    /// When no slot is free, a reassembly without progress for this long gives
    /// way to a new datagram. Default 250 ms: some tens of frame times.
    pub eviction_stall: Duration,
    /// How long the tags of finished datagrams are remembered, so that late
    /// copies of their fragments are recognised. Default 5 s.
    pub duplicate_memory: Duration,
    /// Free slots that [`Lowpan::allocate`](crate::Lowpan::allocate) leaves for
    /// packets from the radio, so that a flood from the host side cannot
    /// silence the mesh side. Always at least one slot can be allocated.
    /// Default 1.
    pub receive_reserve: u8,
    /// How long a datagram waits for a sleepy node to ask for it: the
    /// standard's macTransactionPersistenceTime. Default 7.68 s.
    pub indirect_persistence: Duration,
    /// Datagrams that wait at most for one sleepy node. Default 4, a window of
    /// Kumar et al. 2020.
    pub indirect_limit: u8,
    /// How long a sleepy node listens after it has asked, and after each frame
    /// that promised another: the data request timeout. Default 100 ms, as
    /// OpenThread.
    pub indirect_window: Duration,
    /// How often a sleepy node may ask for the same frame without getting it
    /// before its datagram is dropped. Default 4, as OpenThread.
    pub indirect_polls: u8,
    /// Whether all frames that wait for a sleepy node follow one data request. Otherwise each
    /// takes its own request, as in the standard. Default true.
    pub indirect_burst: bool,
    /// Whether the rest of a datagram is dropped when one of its frames is
    /// lost. Default true.
    pub drop_rest: bool,
    /// Whether all fragments of a datagram but the last have the frame-pending
    /// bit, so that their receiver holds its own frames back for the next one.
    /// Default true.
    pub fragment_pending: bool,
    /// Whether a pulled datagram that is
    /// [followed](crate::PulledDatagram::is_followed) by another promises that
    /// one in its last fragment. Only with `fragment_pending`. Default true.
    pub segment_pending: bool,
    /// How long the next fragment of a datagram waits after one of them, while
    /// other frames may leave: the inter-frame gap of RFC 8930 §5, for
    /// datagrams that relays forward by fragments. Only while this node
    /// forwards so itself. Default 0.
    pub fragment_gap: Duration,
    /// Collision avoidance: the pause per frame of a datagram that its addressee forwards,
    /// before the next datagram begins; zero for none. Default none; OpenThread waits 8 ms
    /// after each frame. Without effect in memory without
    /// [`Memory::ROUTES`](redpoll_base::Memory::ROUTES).
    pub pause: Duration,
    /// Random early detection on the queue towards the radio; `None` for a
    /// plain queue. Default none.
    pub red: Option<RedConfig>,
    /// Seed of the random numbers of [`Self::red`]. Nodes with different seeds do not drop at
    /// the same moments; an attacker that knows the seed can predict the drops. Default an
    /// arbitrary number.
    pub red_seed: u64,
    /// The first datagram tag. RFC 4944 §5.3 leaves it open; a random one keeps
    /// a restarted node from repeating the tags it has just used. Default 0.
    pub first_tag: u16,
}

impl LowpanConfig {
    /// Returns this configuration after `set` has changed it.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }
}

impl Default for LowpanConfig {
    fn default() -> Self {
        LowpanConfig {
            reassembly_timeout: Duration::from_secs(3),
            reassembly_limit: Duration::from_secs(10),
            eviction_stall: Duration::from_millis(250),
            duplicate_memory: Duration::from_secs(5),
            indirect_persistence: Duration::from_millis(7_680),
            indirect_limit: 4,
            indirect_window: Duration::from_millis(100),
            indirect_polls: 4,
            indirect_burst: true,
            drop_rest: true,
            fragment_pending: true,
            segment_pending: true,
            fragment_gap: Duration::ZERO,
            pause: Duration::ZERO,
            red: None,
            red_seed: 0x7265_6470_6f6c_6c21,
            receive_reserve: 1,
            first_tag: 0,
        }
    }
}

/// The memory of one [`Lowpan`](crate::Lowpan).
///
/// The bytes are divided evenly among the slots: `bytes.len() / slots.len()`
/// bytes each, 1,280 (the IPv6 MTU, [`MTU`](crate::MTU)) in real use. Smaller
/// slots work; a datagram that does not fit is dropped as
/// [`DropReason::TooLarge`](crate::DropReason::TooLarge). At most 254 slots are used.
pub struct LowpanMemory<M: Memory> {
    /// One entry per slot, filled with [`Slot::EMPTY`].
    pub slots: M::Table<Slot>,
    /// The slots' contents.
    pub bytes: M::Buffer,
}
