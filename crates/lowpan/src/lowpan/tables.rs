//! Use of the caller's memory, which a test or an operator reads to find leaks.

use redpoll_base::Memory;

use super::Lowpan;

/// Number of entries in use in each table: all zero if a node is idle and all timers have ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LowpanTables {
    /// Datagram slots.
    pub slots: usize,
    /// Slots in which a datagram waits for a sleepy neighbour.
    pub indirect: usize,
    /// Datagrams that this node forwards by fragments (RFC 8930), and that are still arriving.
    pub forwarded: usize,
    /// Fragments to forward that wait for the radio.
    pub fragments: usize,
    /// Datagrams that this node is sending in recoverable fragments (RFC 8931).
    pub outgoing: usize,
    /// Datagrams that are arriving, or have recently arrived, in recoverable fragments.
    pub incoming: usize,
    /// Datagrams that this node forwards, or has recently forwarded, in recoverable fragments.
    pub paths: usize,
}

impl<M: Memory> Lowpan<M> {
    /// Returns the number of entries in use of each table.
    pub fn tables(&self) -> LowpanTables {
        let (forwarded, fragments) = self
            .forwarding
            .get()
            .map_or((0, 0), |forwarding| forwarding.in_use());
        let [outgoing, incoming, paths] = self
            .recovery
            .get()
            .map_or([0; 3], |recovery| recovery.in_use());
        LowpanTables {
            slots: self.pool.count().saturating_sub(self.pool.free()),
            indirect: self.indirect.len().into(),
            forwarded,
            fragments,
            outgoing,
            incoming,
            paths,
        }
    }
}
