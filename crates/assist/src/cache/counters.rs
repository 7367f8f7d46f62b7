//! Counters of a cache.

/// Counters of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Segments copied.
    pub cached: u32,
    /// Copies released because they were acknowledged.
    pub acknowledged: u32,
    /// Retransmitted copies.
    pub repeated: u32,
    /// Copies sent before the timeout, because no frame was heard for a round-trip time.
    pub repeated_early: u32,
    /// Segments dropped because their data were already acknowledged.
    pub dropped: u32,
    /// Acknowledgments that the cache sent in answer to dropped segments.
    pub regenerated: u32,
    /// Segments not copied for lack of room.
    pub without_room: u32,
    /// Connections replaced by others.
    pub evicted: u32,
    /// Frames heard, for any receiver.
    pub heard: u32,
    /// Copies that the next hop was heard forwarding.
    pub reached: u32,
    /// Duplicate acknowledgments dropped because the cache retransmits the requested copy.
    pub duplicates: u32,
    /// Packets that waited for earlier packets.
    pub waited: u32,
    /// Packets dropped: the cache has the same segment or no room, or they waited too long.
    pub refused: u32,
    /// Acknowledgments that the cache repeated ([`acknowledges_again`]).
    ///
    /// [`acknowledges_again`]: super::Params::acknowledges_again
    pub again: u32,
}

pub(super) fn count(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}
