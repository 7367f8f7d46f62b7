//! The order of datagrams: own and queued ones take turns. Before the first fragment of a datagram,
//! random early detection decides whether to mark or drop the datagram.

use redpoll_base::{Ecn, Memory};
use redpoll_wire::ipv6::{self, Ipv6Header};

use super::{Lowpan, Turn};
use crate::SlotId;
use crate::counters::count;
use crate::event::LossReason;
use crate::pool::State;
use crate::red::RedAction;
use crate::shares::Pair;
use crate::transmit::{InService, Origin};

impl<M: Memory> Lowpan<M> {
    #[inline(never)] // size
    pub(super) fn start_next(&mut self) -> Option<InService> {
        let passing = self.next_ack().or_else(|| self.next_fragment());
        if passing.is_some() {
            return passing;
        }
        self.start_own_turn();
        let after_train = self.segment_follows_train() && self.pulled.is_some();
        if !after_train && let Some(train) = self.next_train() {
            self.train_left = true;
            return Some(train);
        }
        if self.recovery.get().is_some() {
            self.train_left = false;
        }
        if self.paused_until.is_some() {
            return None;
        }
        let own_first = after_train || self.turn == Turn::Own || self.queue.is_empty();
        if self.pulled.is_some() && own_first {
            self.turn = Turn::Queued;
            return self.start_own();
        }
        loop {
            let id = self.queue.pop(&mut self.pool)?;
            self.note_red();
            self.turn = Turn::Own;
            let slot = self.pool.slot(id)?;
            let State::Queued { next_hop } = slot.state else {
                return None;
            };
            let len = usize::from(slot.len);
            if self.passes_red(id) {
                return Some(InService::new(Origin::Slot(id), next_hop, len));
            }
            self.pool.free_slot(id);
            self.drop_datagram(next_hop, LossReason::Red);
        }
    }

    /// Returns whether a segment of the node's own transport is sent before the next train of
    /// recoverable fragments (`recovery/outgoing.rs`). One segment is sent after each train:
    /// otherwise a few datagrams that a neighbour does not acknowledge would delay all segments
    /// until the last retransmission of these datagrams.
    pub(super) fn segment_follows_train(&self) -> bool {
        self.recovery.get().is_some() && self.train_left && self.paused_until.is_none()
    }

    /// Starts the node's own datagram. Random early detection may mark it like a forwarded one, so
    /// that its conversation gets only a fair share of the bytes that the node sends. It never
    /// drops the datagram, because TCP would only retransmit it.
    fn start_own(&mut self) -> Option<InService> {
        let pulled = self.pulled.as_mut()?;
        let (pair, len) = (Pair::of(&pulled.ip.src, &pulled.ip.dst), pulled.len());
        if M::ROUTES
            && let Some(red) = &mut self.red
            && red.judge(pulled.ip.ecn, pair, len) == RedAction::Mark
        {
            pulled.ip.ecn = Ecn::Ce;
            count(&mut self.counters.marked);
        }
        Some(InService::new(Origin::Pulled, pulled.next_hop, len))
    }

    /// Returns `false` if random early detection drops the queued datagram; marks it if necessary.
    fn passes_red(&mut self, id: SlotId) -> bool {
        let Some(red) = self.red.as_mut().filter(|_| M::ROUTES) else {
            return true;
        };
        let packet = self.pool.packet_mut(id);
        let Ok((ip, _)) = Ipv6Header::parse(packet) else {
            return true;
        };
        match red.judge(ip.ecn, Pair::of(&ip.src, &ip.dst), packet.len()) {
            RedAction::Send => true,
            RedAction::Drop => false,
            RedAction::Mark => {
                ipv6::mark_ce(packet);
                count(&mut self.counters.marked);
                true
            }
        }
    }

    pub(super) fn note_red(&mut self) {
        if M::ROUTES
            && let Some(red) = &mut self.red
        {
            red.on_change(self.queue.len());
        }
    }
}
