//! How much of the caller's memory is taken: what a test or an operator looks at to
//! see that nothing was left behind.

use redpoll_base::Memory;

use super::Lowpan;

/// Entries in use, by table. All of them are zero on a node with nothing under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LowpanTables {
    /// Datagram slots.
    pub slots: usize,
    /// Slots in which a datagram waits for a sleepy neighbour.
    pub indirect: usize,
    /// Datagrams of which fragments pass through (RFC 8930), or have recently.
    pub forwarded: usize,
    /// Fragments that wait for the radio.
    pub fragments: usize,
    /// Datagrams that leave in recoverable fragments (RFC 8931).
    pub outgoing: usize,
    /// Datagrams that arrive in such, or have recently.
    pub incoming: usize,
    /// Datagrams that pass through in such, or have recently.
    pub paths: usize,
}

impl<M: Memory> Lowpan<M> {
    /// How much of each table is in use.
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
