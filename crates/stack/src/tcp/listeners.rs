//! The listeners of a node, and what waits at them.

use redpoll_base::{Addr, Memory};
use redpoll_tcp::{Endpoint, Listener};

use crate::{Error, ListenerId};

/// How a port is listened on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listen {
    /// How many established connections may wait to be accepted. One more
    /// waits with its peer, which has to say again that it is there. Default 8.
    pub backlog: u8,
}

impl Default for Listen {
    fn default() -> Self {
        Listen { backlog: 8 }
    }
}

/// Memory for one listener.
#[derive(Default)]
pub struct ListenerSlot {
    generation: u8,
    open: Option<(Listener, Listen)>,
}

/// The caller's table of listeners.
pub(super) struct Listeners<M: Memory + 'static>(pub(super) M::Table<ListenerSlot>);

impl<M: Memory + 'static> Listeners<M> {
    pub(super) fn open(&mut self, port: u16, how: Listen) -> Result<ListenerId, Error> {
        if self.is_open(port) {
            return Err(Error::PortInUse);
        }
        let mut slots = (0u8..).zip(self.0.as_mut());
        let free = slots.find(|(_, slot)| slot.open.is_none());
        let (index, slot) = free.ok_or(Error::NoSlot)?;
        slot.generation = slot.generation.wrapping_add(1);
        let end = Endpoint::new(Addr::UNSPECIFIED, port);
        slot.open = Some((Listener::new(end), how));
        let generation = slot.generation;
        Ok(ListenerId { index, generation })
    }

    /// Closes a listener; says on which port it was.
    pub(super) fn close(&mut self, id: ListenerId) -> Option<u16> {
        let slot = self.0.as_mut().get_mut(usize::from(id.index));
        let slot = slot.filter(|slot| slot.generation == id.generation)?;
        let (listener, _) = slot.open.take()?;
        Some(listener.local().port)
    }

    pub(super) fn is_open(&self, port: u16) -> bool {
        let mut open = self.0.as_ref().iter().flat_map(|slot| &slot.open);
        open.any(|(listener, _)| listener.local().port == port)
    }

    /// Who listens where this segment goes, and how.
    pub(super) fn find(&self, is_it: impl Fn(&Listener) -> bool) -> Option<(ListenerId, Listen)> {
        (0u8..).zip(self.0.as_ref()).find_map(|(index, slot)| {
            let (listener, how) = slot.open.as_ref()?;
            let generation = slot.generation;
            is_it(listener).then_some((ListenerId { index, generation }, *how))
        })
    }
}
