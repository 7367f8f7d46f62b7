//! The listeners of a node, with their limits.

use redpoll_base::{Addr, Duration, Instant, Memory};
use redpoll_tcp::{Endpoint, Listener};

use crate::ids::INDICES;
use crate::{Error, ListenerId};

/// The options of a listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listen {
    /// The limit of established connections that wait to be accepted. At the limit, the node drops
    /// the last segment of a handshake, and the peer repeats that segment. Default 8.
    pub backlog: u8,
    /// The limit of connections whose SYN carried data and whose handshake is incomplete (RFC 7413
    /// §4.2, PendingFastOpenRequests). The data of such a SYN may arrive twice, in two connections,
    /// so use this only for applications that tolerate duplicates (§6.1). Default 0: Fast Open is
    /// off.
    pub fast_open: u8,
}

impl Default for Listen {
    fn default() -> Self {
        Listen {
            backlog: 8,
            fast_open: 0,
        }
    }
}

/// Memory for one listener.
#[derive(Default)]
pub struct ListenerSlot {
    generation: u8,
    open: Option<(Listener, Listen)>,
    resets: Resets,
}

/// Fast Opens that were reset recently. RFC 7413 §5.1: they count as pending "until a timeout
/// period has passed". Otherwise the resets of hosts whose addresses an attacker has forged would
/// free the attacker's places.
#[derive(Default)]
struct Resets {
    count: u8,
    last: Instant,
}

/// Time for which a reset Fast Open counts as pending (RFC 7413 §5.1): about as long as a request
/// waits for the end of its handshake.
const RESETS_COUNT_FOR: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
pub(super) struct Listening {
    pub(super) id: ListenerId,
    pub(super) how: Listen,
}

pub(super) struct ListenerTable<M: Memory + 'static>(pub(super) M::Table<ListenerSlot>);

impl<M: Memory + 'static> ListenerTable<M> {
    pub(super) fn open(&mut self, port: u16, how: Listen) -> Result<ListenerId, Error> {
        if self.is_open(port) {
            return Err(Error::PortInUse);
        }
        let mut slots = INDICES.zip(self.0.as_mut());
        let free = slots.find(|(_, slot)| slot.open.is_none());
        let (index, slot) = free.ok_or(Error::NoSlot)?;
        slot.generation = slot.generation.wrapping_add(1);
        let end = Endpoint::new(Addr::UNSPECIFIED, port);
        slot.open = Some((Listener::new(end), how));
        slot.resets = Resets::default();
        let generation = slot.generation;
        Ok(ListenerId { index, generation })
    }

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

    /// Returns the open listeners.
    pub(super) fn iter(&self) -> impl Iterator<Item = ListenerId> {
        let slots = INDICES.zip(self.0.as_ref());
        slots.filter_map(|(index, slot)| {
            let generation = slot.generation;
            slot.open
                .is_some()
                .then_some(ListenerId { index, generation })
        })
    }

    /// Records that a Fast Open at this listener was reset before its handshake was complete.
    pub(super) fn on_fast_open_reset(&mut self, now: Instant, id: ListenerId) {
        if let Some(slot) = self.0.as_mut().get_mut(usize::from(id.index)) {
            slot.resets.count = slot.resets.at(now).saturating_add(1);
            slot.resets.last = now;
        }
    }

    /// Returns the number of reset Fast Opens that still count as pending (RFC 7413 §5.1).
    pub(super) fn fast_open_resets(&self, now: Instant, id: ListenerId) -> u8 {
        let slot = self.0.as_ref().get(usize::from(id.index));
        slot.map_or(0, |slot| slot.resets.at(now))
    }

    pub(super) fn find(&self, is_it: impl Fn(&Listener) -> bool) -> Option<Listening> {
        INDICES.zip(self.0.as_ref()).find_map(|(index, slot)| {
            let (listener, how) = slot.open.as_ref()?;
            let generation = slot.generation;
            let id = ListenerId { index, generation };
            is_it(listener).then_some(Listening { id, how: *how })
        })
    }
}

impl Resets {
    fn at(&self, now: Instant) -> u8 {
        if now < self.last + RESETS_COUNT_FOR {
            self.count
        } else {
            0
        }
    }
}
