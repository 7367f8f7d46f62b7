//! Datagrams for sleepy nodes (IEEE 802.15.4-2015 §6.7.3): they wait until their node requests
//! them. They are then sent before all other datagrams, frame after frame, while that node listens.
//!
//! If the node stops listening before the end of its datagram, the datagram keeps its position in
//! the queue, and continues with the same frame at the next request.

use redpoll_base::{Duration, Instant, Memory, Wake};
use redpoll_wire::ieee802154::Address;

use crate::pool::{Pool, State};
use crate::queue::Queue;
use crate::waiting::Indirect;
use crate::waiting::SendProgress;
use crate::{LowpanConfig, SlotId};

#[derive(Clone, Debug)]
pub(crate) struct IndirectQueue {
    queue: Queue,
    persistence: Duration,
    limit: u8,
    window: Duration,
    polls: u8,
    burst: bool,
}

impl IndirectQueue {
    pub(crate) fn new(config: &LowpanConfig) -> Self {
        IndirectQueue {
            queue: Queue::default(),
            persistence: config.indirect_persistence,
            limit: config.indirect_limit,
            window: config.indirect_window,
            polls: config.indirect_polls,
            burst: config.indirect_burst,
        }
    }

    pub(crate) fn len(&self) -> u8 {
        self.queue.len()
    }

    fn iter<'p, M: Memory>(
        &'p self,
        pool: &'p Pool<M>,
    ) -> impl Iterator<Item = (SlotId, &'p Indirect)> {
        let next = |id: &SlotId| self.queue.next(pool, *id);
        core::iter::successors(self.queue.first(), next)
            .filter_map(|id| Some((id, pool.slot(id)?.indirect()?)))
    }

    fn of<'p, M: Memory>(
        &'p self,
        pool: &'p Pool<M>,
        child: Address,
    ) -> impl Iterator<Item = SlotId> {
        self.iter(pool)
            .filter(move |(_, indirect)| indirect.next_hop == child)
            .map(|(id, _)| id)
    }

    fn update<M: Memory>(
        &self,
        pool: &mut Pool<M>,
        child: Address,
        mut change: impl FnMut(&mut Indirect),
    ) {
        let mut next = self.queue.first();
        while let Some(id) = next {
            next = self.queue.next(pool, id);
            let indirect = pool.slot_mut(id).and_then(|slot| slot.indirect_mut());
            if let Some(indirect) = indirect.filter(|indirect| indirect.next_hop == child) {
                change(indirect);
            }
        }
    }

    pub(crate) fn has<M: Memory>(&self, pool: &Pool<M>, child: Address) -> bool {
        self.of(pool, child).next().is_some()
    }

    pub(crate) fn has_room<M: Memory>(&self, pool: &Pool<M>, child: Address) -> bool {
        self.of(pool, child).count() < usize::from(self.limit)
    }

    pub(crate) fn push<M: Memory>(
        &mut self,
        now: Instant,
        pool: &mut Pool<M>,
        id: SlotId,
        next_hop: Address,
        handle: Option<u32>,
    ) {
        if let Some(slot) = pool.slot_mut(id) {
            slot.state = State::Indirect(Indirect {
                next_hop,
                handle,
                expires: now + self.persistence,
                awake_until: None,
                covered: 0,
                tag: 0,
                repeats: None,
                vain: 0,
            });
            self.queue.push(pool, id);
        }
    }

    pub(crate) fn remove<M: Memory>(&mut self, pool: &mut Pool<M>, id: SlotId) {
        self.queue.remove(pool, id);
    }

    /// Handles a request of `child`, which listens for a while.
    pub(crate) fn wake<M: Memory>(&self, now: Instant, pool: &mut Pool<M>, child: Address) {
        let until = now + self.window;
        self.update(pool, child, |indirect| indirect.awake_until = Some(until));
    }

    /// Handles a frame delivered to `child`, which listens on only if `indirect_burst` is set.
    pub(crate) fn on_delivered<M: Memory>(&self, now: Instant, pool: &mut Pool<M>, child: Address) {
        let until = self.burst.then(|| now + self.window);
        self.update(pool, child, |indirect| {
            indirect.awake_until = indirect.awake_until.and(until);
        });
    }

    /// Handles an undelivered frame of the datagram in slot `id`: the sleepy node does not listen.
    /// Stores `progress`, so that the datagram continues there at the next request. Returns `false`
    /// after too many failures.
    pub(crate) fn on_failed<M: Memory>(
        &self,
        pool: &mut Pool<M>,
        id: SlotId,
        progress: SendProgress,
    ) -> bool {
        let Some(indirect) = pool.slot_mut(id).and_then(|slot| slot.indirect_mut()) else {
            return false;
        };
        indirect.resume_at(progress);
        indirect.vain = indirect.vain.saturating_add(1);
        let (child, vain) = (indirect.next_hop, indirect.vain);
        self.update(pool, child, |indirect| indirect.awake_until = None);
        vain < self.polls
    }

    pub(crate) fn park<M: Memory>(&self, pool: &mut Pool<M>, id: SlotId, progress: SendProgress) {
        if let Some(indirect) = pool.slot_mut(id).and_then(|slot| slot.indirect_mut()) {
            indirect.resume_at(progress);
            indirect.vain = 0;
        }
    }

    pub(crate) fn is_awake<M: Memory>(&self, now: Instant, pool: &Pool<M>, id: SlotId) -> bool {
        let indirect = pool.slot(id).and_then(|slot| slot.indirect());
        indirect.is_some_and(|indirect| indirect.listens(now))
    }

    /// Returns the next datagram to send: the first one whose sleepy node listens now.
    pub(crate) fn ready<M: Memory>(&self, now: Instant, pool: &Pool<M>) -> Option<SlotId> {
        self.iter(pool)
            .find(|(_, indirect)| indirect.listens(now))
            .map(|(id, _)| id)
    }

    /// Returns whether a datagram other than `id` waits for `child`, and `child` listens.
    pub(crate) fn follows<M: Memory>(&self, pool: &Pool<M>, id: SlotId, child: Address) -> bool {
        self.iter(pool).any(|(other, indirect)| {
            other != id && indirect.next_hop == child && indirect.awake_until.is_some()
        })
    }

    /// Returns a datagram that was not requested in time, other than `except`, which is being sent.
    pub(crate) fn expired<M: Memory>(
        &self,
        now: Instant,
        pool: &Pool<M>,
        except: Option<SlotId>,
    ) -> Option<SlotId> {
        self.iter(pool)
            .find(|(id, indirect)| indirect.expires <= now && Some(*id) != except)
            .map(|(id, _)| id)
    }

    pub(crate) fn poll_at<M: Memory>(
        &self,
        pool: &Pool<M>,
        except: Option<SlotId>,
    ) -> Option<Wake> {
        let waiting = self.iter(pool).filter(|(id, _)| Some(*id) != except);
        let first = waiting.map(|(_, indirect)| indirect.expires).min()?;
        Some(Wake::within(first, Duration::from_millis(100)))
    }
}
