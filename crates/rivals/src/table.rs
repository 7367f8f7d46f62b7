//! The connections of a node, for any [`Protocol`].

use redpoll_base::{Bytes, Instant, Memory, Rng};
use redpoll_stack::{ConnId, Error, ListenerId, Stream};
use redpoll_tcp::{Endpoint, State};

use crate::{Body, Protocol};

const INDICES: core::ops::Range<u8> = 0..u8::MAX;

#[derive(Debug)]
pub struct Slot<B, C> {
    pub(crate) generation: u8,
    pub(crate) waits: Option<ListenerId>,
    /// Whether the application has released the connection.
    pub(crate) released: bool,
    pub(crate) control: Option<C>,
    pub(crate) body: Body<B>,
}

impl<B: Bytes, C> Slot<B, C> {
    /// Returns a free slot with its send and receive buffers.
    pub fn new(tx: B, rx: B) -> Self {
        Slot {
            generation: 0,
            waits: None,
            released: false,
            control: None,
            body: Body::new(tx, rx),
        }
    }

    pub(crate) fn is_between(&self, local: &Endpoint, remote: &Endpoint) -> bool {
        self.control.is_some() && self.body.local == *local && self.body.remote == *remote
    }
}

type Slots<M, P> = [Slot<<M as Memory>::Buffer, <P as Protocol>::Control>];

#[derive(Clone, Copy, Default, Debug)]
pub struct Port {
    pub(crate) port: Option<u16>,
    generation: u8,
}

/// All connections of a node, under one protocol.
pub struct Table<M: Memory + 'static, P: Protocol> {
    pub(crate) protocol: P,
    pub(crate) slots: M::Table<Slot<M::Buffer, P::Control>>,
    pub(crate) ports: M::Table<Port>,
    pub(crate) turn: u8,
    /// Index after the last slot with a connection. A large table with one connection is then not
    /// searched to its end on every call of its node.
    end: u8,
}

impl<M: Memory + 'static, P: Protocol> Table<M, P> {
    pub fn new(
        protocol: P,
        slots: M::Table<Slot<M::Buffer, P::Control>>,
        ports: M::Table<Port>,
    ) -> Self {
        Table {
            protocol,
            slots,
            ports,
            turn: 0,
            end: 0,
        }
    }

    /// Returns the slots up to the last that has a connection.
    pub(crate) fn used(&self) -> &Slots<M, P> {
        let slots = self.slots.as_ref();
        slots.get(..usize::from(self.end)).unwrap_or(slots)
    }

    pub(crate) fn used_mut(&mut self) -> (&mut P, &mut Slots<M, P>) {
        let slots = self.slots.as_mut();
        let end = usize::from(self.end).min(slots.len());
        (&mut self.protocol, slots.get_mut(..end).unwrap_or_default())
    }

    pub fn protocol(&self) -> &P {
        &self.protocol
    }

    fn slot(&self, id: ConnId) -> Option<&Slot<M::Buffer, P::Control>> {
        let (index, generation) = id.parts();
        let slot = self.slots.as_ref().get(usize::from(index))?;
        (slot.generation == generation && slot.control.is_some()).then_some(slot)
    }

    fn with<R>(
        &mut self,
        id: ConnId,
        act: impl FnOnce(&mut P, &mut P::Control, &mut Body<M::Buffer>) -> R,
    ) -> Option<R> {
        let (index, generation) = id.parts();
        let slot = self.slots.as_mut().get_mut(usize::from(index))?;
        let control = slot.control.as_mut()?;
        let held = slot.generation == generation && !slot.released;
        held.then(|| act(&mut self.protocol, control, &mut slot.body))
    }

    pub(crate) fn listener(&self, port: u16) -> Option<ListenerId> {
        let (index, at) = INDICES
            .zip(self.ports.as_ref())
            .find(|(_, at)| at.port == Some(port))?;
        Some(ListenerId::new(index, at.generation))
    }

    pub(crate) fn listen(&mut self, port: u16) -> Result<ListenerId, Error> {
        if self.listener(port).is_some() {
            return Err(Error::PortInUse);
        }
        let (index, free) = INDICES
            .zip(self.ports.as_mut())
            .find(|(_, at)| at.port.is_none())
            .ok_or(Error::NoSlot)?;
        free.port = Some(port);
        free.generation = free.generation.wrapping_add(1);
        Ok(ListenerId::new(index, free.generation))
    }

    pub(crate) fn accept(&mut self, listener: ListenerId) -> Option<ConnId> {
        let (protocol, slots) = self.used_mut();
        let (index, slot) = INDICES.zip(slots).find(|(_, slot)| {
            slot.waits == Some(listener)
                && slot.control.as_ref().is_some_and(|control| {
                    let state = protocol.state(control);
                    !matches!(state, State::SynSent | State::SynReceived | State::Closed)
                })
        })?;
        slot.waits = None;
        Some(ConnId::new(index, slot.generation))
    }

    /// Returns a free slot; otherwise the first released one in TIME-WAIT.
    pub(crate) fn free_slot(&mut self) -> Option<u8> {
        self.reap();
        let protocol = &self.protocol;
        let slots = self.slots.as_mut();
        let free = slots.iter().position(|slot| slot.control.is_none());
        let free = free.or_else(|| {
            slots.iter().position(|slot| {
                let state = slot.control.as_ref().map(|c| protocol.state(c));
                slot.released && state == Some(State::TimeWait)
            })
        })?;
        slots.get_mut(free)?.control = None;
        u8::try_from(free).ok().filter(|index| *index < u8::MAX)
    }

    pub(crate) fn open(
        &mut self,
        index: u8,
        (local, remote): (Endpoint, Endpoint),
        control: P::Control,
        waits: Option<ListenerId>,
    ) -> Option<ConnId> {
        let slot = self.slots.as_mut().get_mut(usize::from(index))?;
        slot.body.open(local, remote);
        slot.generation = slot.generation.wrapping_add(1);
        (slot.waits, slot.released) = (waits, false);
        slot.control = Some(control);
        let id = ConnId::new(index, slot.generation);
        self.end = self.end.max(index.saturating_add(1));
        Some(id)
    }

    pub(crate) fn connect(
        &mut self,
        now: Instant,
        local: Endpoint,
        remote: Endpoint,
        rng: &mut Rng,
    ) -> Result<ConnId, Error> {
        let index = self.free_slot().ok_or(Error::NoSlot)?;
        let (slots, ports) = (self.slots.as_ref(), self.ports.as_ref());
        let is_free = |port| {
            let local = Endpoint { port, ..local };
            !slots.iter().any(|slot| slot.is_between(&local, &remote))
                && !ports.iter().any(|at| at.port == Some(port))
        };
        let port = self.protocol.port(rng, is_free).ok_or(Error::PortInUse)?;
        let local = Endpoint { port, ..local };
        let control = self.protocol.connect(now);
        let opened = self.open(index, (local, remote), control, None);
        opened.ok_or(Error::NoSlot)
    }

    pub(crate) fn send(&mut self, now: Instant, id: ConnId, data: &[u8]) -> Result<usize, Error> {
        self.with(id, |protocol, control, body| {
            if let Some(error) = body.error {
                return Err(Error::Failed(error));
            }
            let state = protocol.state(control);
            if body.closing || !matches!(state, State::Established | State::CloseWait) {
                return Err(match state {
                    State::SynSent | State::SynReceived => Error::WouldBlock,
                    _ => Error::NotConnected,
                });
            }
            let room = protocol.room(control, body);
            let taken = body.write(data, room);
            if taken < data.len() {
                body.starve();
            }
            if taken == 0 && !data.is_empty() {
                return Err(Error::WouldBlock);
            }
            protocol.on_write(now, control, body);
            Ok(taken)
        })
        .unwrap_or(Err(Error::UnknownHandle))
    }

    pub(crate) fn recv(
        &mut self,
        now: Instant,
        id: ConnId,
        out: &mut [u8],
    ) -> Result<usize, Error> {
        self.with(id, |protocol, control, body| {
            let taken = body.read(out);
            if taken > 0 {
                protocol.on_read(now, control, body);
                return Ok(taken);
            }
            match body.error {
                Some(error) => Err(Error::Failed(error)),
                None if body.ended => Ok(0),
                None => Err(Error::WouldBlock),
            }
        })
        .unwrap_or(Err(Error::UnknownHandle))
    }

    pub(crate) fn close(&mut self, now: Instant, id: ConnId) {
        self.with(id, |protocol, control, body| {
            if !body.closing {
                body.closing = true;
                protocol.on_close(now, control, body);
            }
        });
    }

    pub(crate) fn abort(&mut self, now: Instant, id: ConnId) {
        self.with(id, |protocol, control, body| {
            body.closing = true;
            protocol.abort(now, control, body);
        });
    }

    pub(crate) fn release(&mut self, now: Instant, id: ConnId) {
        self.with(id, |protocol, control, body| {
            if !body.closing {
                protocol.abort(now, control, body);
            }
        });
        let (index, generation) = id.parts();
        let slot = self.slots.as_mut().get_mut(usize::from(index));
        if let Some(slot) = slot.filter(|slot| slot.generation == generation) {
            slot.released = true;
        }
        self.reap();
    }

    /// Frees the slots of released connections that have ended.
    pub(crate) fn reap(&mut self) {
        let (protocol, slots) = self.used_mut();
        let mut end = 0;
        for (index, slot) in (1..=u8::MAX).zip(slots) {
            let Some(control) = &slot.control else {
                continue;
            };
            let over = protocol.state(control) == State::Closed;
            let held = !slot.released && slot.waits.is_none();
            if over && !held && !protocol.owes(control) {
                slot.control = None;
                slot.waits = None;
            } else {
                end = index;
            }
        }
        self.end = end;
    }

    pub(crate) fn stream(&self, id: ConnId) -> Option<Stream> {
        let slot = self.slot(id)?;
        let control = slot.control.as_ref()?;
        Some(Stream {
            local: slot.body.local,
            remote: slot.body.remote,
            state: self.protocol.state(control),
            unacked: slot.body.tx.len(),
            send_room: self.protocol.room(control, &slot.body),
        })
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = State> {
        let open = self.used().iter();
        open.filter_map(|slot| Some(self.protocol.state(slot.control.as_ref()?)))
    }

    #[cfg(feature = "stats")]
    pub(crate) fn stats(&self, id: ConnId) -> Option<&redpoll_tcp::Stats> {
        Some(&self.slot(id)?.body.stats)
    }
}

impl<M: Memory + 'static, P: Protocol> core::fmt::Debug for Table<M, P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Table").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::boxed::Box;

    use redpoll_base::Addr;

    use super::*;
    use crate::blip::{Blip, BlipConfig, Corrections};

    enum Heap {}

    impl Memory for Heap {
        type Buffer = Box<[u8]>;
        type Table<T: 'static> = Box<[T]>;
        type Forwards = bool;
    }

    /// A scan reaches the last connection, even if earlier ones have ended; free places are reused.
    #[test]
    fn slots_behind_the_last_connection_are_not_looked_at() {
        let corrections = Corrections {
            numbers: true,
            ..Corrections::KIM2015
        };
        let config = BlipConfig {
            corrections,
            ..BlipConfig::default()
        };
        let slots = (0..9).map(|_| Slot::new([0; 50].into(), [0; 50].into()));
        let ports = [Port::default()].into();
        let blip = Blip::new(config, Rng::new(1));
        let mut table: Table<Heap, Blip> = Table::new(blip, slots.collect(), ports);
        let mut rng = Rng::new(2);
        let mut connect = |table: &mut Table<Heap, Blip>| {
            let local = Endpoint::new(Addr([1; 16]), 0);
            let remote = Endpoint::new(Addr([2; 16]), 9);
            let opened = table.connect(Instant::ZERO, local, remote, &mut rng);
            opened.unwrap()
        };
        assert_eq!(table.used().len(), 0);
        let [first, second, third] = [0; 3].map(|_| connect(&mut table));
        assert_eq!(table.used().len(), 3);
        table.release(Instant::ZERO, first);
        assert_eq!(table.used().len(), 3);
        table.release(Instant::ZERO, third);
        assert_eq!(table.used().len(), 2);
        let again = connect(&mut table);
        assert_eq!((again.parts().0, table.used().len()), (0, 2));
        table.release(Instant::ZERO, second);
        table.release(Instant::ZERO, again);
        assert_eq!(table.used().len(), 0);
    }
}
