//! Parameters and memory of a [`Lowpan`](crate::Lowpan), which the caller provides.

use redpoll_base::{Duration, Memory};

use crate::{RedConfig, Slot};

/// Parameters of one [`Lowpan`](crate::Lowpan).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LowpanConfig {
    /// Longest wait of a reassembly for a new fragment. Default 3 s, as RIOT; OpenThread has 2 s.
    pub reassembly_timeout: Duration,
    /// Longest time of a reassembly, with or without progress. More than 60 s counts as 60 s, the
    /// limit of RFC 4944 §5.3. Default 10 s.
    pub reassembly_limit: Duration,
    /// Time without progress after which a new datagram of another source may replace a reassembly
    /// if no slot is free. A new datagram of the same source may replace it at once. Default 250
    /// ms: some tens of frame times.
    pub eviction_stall: Duration,
    /// Time for which the tags of finished datagrams are stored, to recognise late copies of their
    /// fragments. Default 5 s.
    pub duplicate_memory: Duration,
    /// Free slots that [`Lowpan::allocate`](crate::Lowpan::allocate) leaves for packets from the
    /// radio, so that a flood from the host side cannot block the mesh side. At least one slot can
    /// always be allocated. Default 1.
    pub receive_reserve: u8,
    /// Longest wait of a datagram for a sleepy node's request: IEEE 802.15.4's
    /// macTransactionPersistenceTime. Default 7.68 s.
    pub indirect_persistence: Duration,
    /// Datagrams that may wait for one sleepy node. Default 4: the TCP window of Kumar et al. 2020.
    pub indirect_limit: u8,
    /// Time for which a sleepy node listens after its request, and after each frame that announced
    /// another: the data request timeout. Default 100 ms, as OpenThread.
    pub indirect_window: Duration,
    /// Number of requests for the same frame without its delivery, after which the frame's datagram
    /// is dropped. Default 4, as OpenThread.
    pub indirect_polls: u8,
    /// Whether all frames that wait for a sleepy node follow one data request. If false, each needs
    /// its own request, as in IEEE 802.15.4. Default true.
    pub indirect_burst: bool,
    /// Whether the rest of a datagram is dropped if one of its frames is lost. Default true.
    pub drop_rest: bool,
    /// Whether all fragments of a datagram except the last have the frame-pending bit, so that
    /// their receiver briefly delays its own frames for the next fragment. Default true.
    pub fragment_pending: bool,
    /// Whether the last fragment of a datagram of the node's own transport has the frame-pending
    /// bit if [another datagram follows](crate::PulledDatagram::is_followed) to the same next hop.
    /// Only with `fragment_pending`. Default true.
    pub segment_pending: bool,
    /// Gap between two fragments of a datagram, in which other frames may leave: the inter-frame
    /// gap of RFC 8930 §5. Used for recoverable fragments and, in a node that forwards fragments,
    /// for all fragments. Default 0.
    pub fragment_gap: Duration,
    /// Collision avoidance: after a datagram that its addressee forwards, the node pauses for this
    /// time multiplied by the number of the datagram's frames. Default zero; OpenThread waits 8 ms
    /// after each frame. No effect without [`Memory::ROUTES`](redpoll_base::Memory::ROUTES).
    pub pause: Duration,
    /// Random early detection on the queue towards the radio. Default `None`: drop only if slots
    /// are full.
    pub red: Option<RedConfig>,
    /// Seed of the random numbers of [`Self::red`]. Nodes with different seeds do not drop at the
    /// same moments; an attacker that knows the seed can predict the drops. The default is an
    /// arbitrary number.
    pub red_seed: u64,
    /// The first datagram tag. RFC 4944 §5.3 leaves it open; a random one prevents a restarted node
    /// from repeating its recent tags. Default 0.
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
/// The bytes are divided evenly among the slots: `bytes.len() / slots.len()` bytes each, 1,280 (the
/// IPv6 MTU, [`MTU`](crate::MTU)) in real use. Smaller slots work; a datagram that does not fit is
/// dropped as [`DropReason::TooLarge`](crate::DropReason::TooLarge). At most 254 slots are used.
pub struct LowpanMemory<M: Memory> {
    /// One entry per slot, filled with [`Slot::EMPTY`].
    pub slots: M::Table<Slot>,
    /// The slots' contents.
    pub bytes: M::Buffer,
}
