//! Use of the caller's tables, which a test or an operator reads to find leaks.

use redpoll_base::Instant;
use redpoll_lowpan::LowpanTables;

use super::Node;
use crate::profile::Profile;

/// Entries in use, by table. All are zero on an idle node without registrations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tables {
    /// 6LoWPAN: slots, reassembly, packets for sleeping neighbours.
    pub lowpan: LowpanTables,
    /// Connections in any state.
    pub connections: usize,
    /// Half-open connections, whose handshake is not complete.
    pub half_open: usize,
    /// Routes from registrations or DAOs, without configured ones.
    pub routes: usize,
    /// Addresses registered with this router.
    pub neighbours: usize,
    /// Sleeping neighbours.
    pub children: usize,
}

impl<P: Profile> Node<P> {
    /// Returns the entries in use at `now`.
    pub fn tables(&self, now: Instant) -> Tables {
        Tables {
            lowpan: self.link.lowpan.tables(),
            connections: self.transports.tcp.iter().count(),
            half_open: self.transports.tcp.half_open(),
            routes: self.net.routing.learnt(now),
            neighbours: self.net.routing.neighbours(now),
            children: self.link.children(),
        }
    }
}
