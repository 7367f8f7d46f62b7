//! Confirmable messages until they are acknowledged (RFC 7252 §4.2).

use alloc::vec::Vec;
use redpoll_base::{Duration, Instant};

use crate::message::{MessageId, Peer};
use crate::rto::{Estimators, Timeout};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cargo {
    Request(u32),
    Response,
}

#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) peer: Peer,
    pub(crate) id: MessageId,
    pub(crate) cargo: Cargo,
    datagram: Vec<u8>,
    timeout: Timeout,
    due: Instant,
    pub(crate) first_sent: Instant,
    pub(crate) retransmissions: u8,
}

#[derive(Debug, Default)]
pub(crate) struct Reliable {
    pending: Vec<Pending>,
}

#[derive(Debug)]
pub(crate) enum Overdue {
    Again(Peer, Vec<u8>),
    /// MAX_RETRANSMIT is reached.
    GivenUp(Pending),
}

impl Reliable {
    /// Stores a message that is sent now, for retransmission.
    pub(crate) fn keep(
        &mut self,
        now: Instant,
        (peer, id): (Peer, MessageId),
        cargo: Cargo,
        datagram: Vec<u8>,
        timeout: Timeout,
    ) {
        self.pending.push(Pending {
            peer,
            id,
            cargo,
            datagram,
            timeout,
            due: now + timeout.current,
            first_sent: now,
            retransmissions: 0,
        });
    }

    pub(crate) fn to(&self, peer: Peer) -> impl Iterator<Item = &Pending> {
        self.pending
            .iter()
            .filter(move |pending| pending.peer == peer)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Pending> {
        self.pending.iter()
    }

    /// RFC 7252 §4.4: returns the message to which an Acknowledgement or Reset belongs.
    pub(crate) fn find(&self, peer: Peer, id: MessageId) -> Option<&Pending> {
        self.to(peer).find(|pending| pending.id == id)
    }

    pub(crate) fn take(&mut self, peer: Peer, id: MessageId) -> Option<Pending> {
        let is_it = |pending: &Pending| pending.peer == peer && pending.id == id;
        let index = self.pending.iter().position(is_it)?;
        Some(self.pending.swap_remove(index))
    }

    /// Ends the wait for the acknowledgement of the message with `cargo`.
    pub(crate) fn take_cargo(&mut self, cargo: Cargo) -> Option<Pending> {
        let is_it = |pending: &Pending| pending.cargo == cargo;
        let index = self.pending.iter().position(is_it)?;
        Some(self.pending.swap_remove(index))
    }

    pub(crate) fn poll_at(&self) -> Option<Instant> {
        self.pending.iter().map(|pending| pending.due).min()
    }

    /// RFC 7252 §4.2: retransmits the next message whose timeout has passed, with a longer timeout,
    /// or gives the message up.
    pub(crate) fn overdue(
        &mut self,
        now: Instant,
        max_retransmit: u8,
        estimators: &Estimators,
    ) -> Option<Overdue> {
        let index = self.pending.iter().position(|pending| pending.due <= now)?;
        let pending = self.pending.get_mut(index)?;
        if pending.retransmissions >= max_retransmit {
            return Some(Overdue::GivenUp(self.pending.swap_remove(index)));
        }
        pending.retransmissions += 1;
        pending.timeout = estimators.backed_off(pending.timeout);
        pending.due = now + pending.timeout.current.max(Duration::from_millis(1));
        Some(Overdue::Again(pending.peer, pending.datagram.clone()))
    }
}
