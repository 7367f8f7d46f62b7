//! How much of the caller's memory is taken: what a test or an operator looks at to
//! see that nothing was left behind.

use redpoll_base::Instant;
use redpoll_lowpan::LowpanTables;

use super::Node;
use crate::profile::Profile;

/// Entries in use, by table. On a node that nobody is registered with and that has
/// nothing under way all of them are zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tables {
    /// 6LoWPAN: slots, reassembly, what waits for neighbours that sleep.
    pub lowpan: LowpanTables,
    /// Connections, in whatever state.
    pub connections: usize,
    /// Connection requests that nobody has completed yet.
    pub half_open: usize,
    /// Routes that registrations or DAOs have left behind; given ones are not counted.
    pub routes: usize,
    /// Addresses registered with this router.
    pub neighbours: usize,
    /// Neighbours that sleep.
    pub children: usize,
}

impl<P: Profile> Node<P> {
    /// How much of each table is in use at `now`.
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
