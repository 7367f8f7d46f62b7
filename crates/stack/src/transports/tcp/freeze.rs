//! Freezes connections to bytes, and thaws them.

use redpoll_base::{Duration, Instant, Memory};
use redpoll_tcp::{Algorithms, Connection, FreezeError};

use super::TcpSockets;
use super::slot::Open;
use crate::counters::NodeCounters;
use crate::{ConnId, Error};

impl<M: Memory + 'static, A: Algorithms> TcpSockets<M, A> {
    /// Writes the state of a connection to `out` and frees its slot. Late packets of the peer are
    /// dropped until the connection is thawed, or `recycled` has no place for it any more.
    pub(crate) fn freeze(
        &mut self,
        now: Instant,
        id: ConnId,
        out: &mut [u8],
    ) -> Result<usize, FreezeError> {
        let slots = self.connections.as_mut();
        let slot = slots.get_mut(usize::from(id.index));
        let slot = slot.filter(|slot| slot.generation == id.generation);
        let slot = slot.ok_or(FreezeError::State)?;
        let open = slot.open_mut().filter(|open| !open.released);
        let open = open.filter(|open| open.waits.is_none());
        let open = open.ok_or(FreezeError::State)?;
        let len = open.connection.freeze(now, out)?;
        self.recycled.remember_frozen(&self.isn, &open.connection);
        slot.free();
        Ok(len)
    }

    pub(crate) fn thaw(
        &mut self,
        now: Instant,
        slept: Duration,
        frozen: &mut [u8],
        counters: &mut NodeCounters,
    ) -> Result<ConnId, Error> {
        let index = self.free_slot(counters).ok_or(Error::NoSlot)?;
        let config = &self.config;
        let slot = self.connections.as_mut().get_mut(usize::from(index));
        let slot = slot.ok_or(Error::NoSlot)?;
        slot.try_start(|tx, rx| {
            let connection = Connection::thaw(now, config, slept, frozen, tx, rx)?;
            let mut open = Open::new(connection, None);
            // The peer has sent segments of this connection before.
            open.is_proven = true;
            Ok(open)
        })
        .map_err(Error::Thaw)?;
        if let Some(open) = slot.open() {
            self.recycled.on_thawed(&self.isn, &open.connection);
        }
        self.dirty = true;
        let generation = slot.generation;
        Ok(ConnId { index, generation })
    }
}
