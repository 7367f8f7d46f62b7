//! A UDP socket of an image's app, with a queue for datagrams that find no room in the node.

use std::collections::VecDeque;

use redpoll_base::{Duration, Instant};
use redpoll_stack::{NodeEvent, UdpId};
use redpoll_tcp::Endpoint;

use crate::traffic::Context;

/// Interval between attempts to send a datagram for which the node has no room.
const NO_ROOM: Duration = Duration::from_millis(5);
/// Maximum number of waiting datagrams; more datagrams are dropped.
const WAITING: usize = 64;

#[derive(Default)]
pub(super) struct Datagrams {
    pub(super) socket: Option<UdpId>,
    waiting: VecDeque<(Endpoint, Vec<u8>)>,
    /// Time of the next attempt after the node had no room for a datagram.
    blocked: Option<Instant>,
    lost: u64,
}

impl Datagrams {
    pub(super) fn send(&mut self, cx: &mut Context<'_>, to: Endpoint, datagram: Vec<u8>) {
        match self.waiting.len() < WAITING {
            true => self.waiting.push_back((to, datagram)),
            false => self.lost += 1,
        }
        self.flush(cx);
    }

    pub(super) fn flush(&mut self, cx: &mut Context<'_>) {
        let Some(socket) = self.socket else { return };
        if self.blocked.is_some_and(|at| at > cx.now) {
            return;
        }
        self.blocked = None;
        while let Some((to, datagram)) = self.waiting.front() {
            if cx.node.udp_send(cx.now, socket, *to, datagram).is_err() {
                self.blocked = Some(cx.now + NO_ROOM);
                return;
            }
            cx.labour.message_out(datagram.len());
            self.waiting.pop_front();
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.blocked
    }

    pub(super) fn receive(
        &mut self,
        cx: &mut Context<'_>,
        event: &NodeEvent,
    ) -> Option<(Endpoint, Vec<u8>)> {
        let NodeEvent::UdpReadable(socket) = event else {
            return None;
        };
        if Some(*socket) != self.socket {
            return None;
        }
        let mut datagram = vec![0; 1_280];
        let (len, from) = cx.node.udp_recv(*socket, &mut datagram)?;
        cx.labour.message_in(len);
        datagram.truncate(len);
        Some((from, datagram))
    }

    pub(super) fn losses(&self) -> Vec<(&'static str, u64)> {
        vec![("image_datagram_without_room", self.lost)]
    }
}
