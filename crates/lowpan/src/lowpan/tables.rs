//! Use of the caller's memory, by which a test or an operator verifies that nothing was leaked.

use redpoll_base::Memory;

use super::Lowpan;

/// Entries in use, by table. All are zero on an idle node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LowpanTables {
    /// Datagram slots.
    pub slots: usize,
    /// Slots in which a datagram waits for a sleepy neighbour.
    pub indirect: usize,
    /// Datagrams whose fragments pass through (RFC 8930), now or recently.
    pub forwarded: usize,
    /// Fragments that wait for the radio.
    pub fragments: usize,
    /// Datagrams that leave in recoverable fragments (RFC 8931).
    pub outgoing: usize,
    /// Datagrams that arrive in recoverable fragments, now or recently.
    pub incoming: usize,
    /// Datagrams that pass through in recoverable fragments, now or recently.
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
