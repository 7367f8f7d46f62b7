//! A datagram for each reading.

use redpoll_base::Instant;
use redpoll_stack::UdpId;

use super::queue::Queue;
use super::{Carrier, Context, NO_ROOM, Route, open_socket};
use crate::oracle::FlowId;

pub(super) struct Udp {
    route: Route,
    socket: Option<(UdpId, FlowId)>,
    /// Time of the next attempt after the node had no room for a datagram.
    blocked: Option<Instant>,
}

impl Udp {
    pub(super) fn new(route: Route) -> Udp {
        Udp {
            route,
            socket: None,
            blocked: None,
        }
    }
}

impl Carrier for Udp {
    fn start(&mut self, cx: &mut Context<'_>, flow: FlowId) {
        self.socket = open_socket(cx, &self.route, flow).map(|socket| (socket, flow));
    }

    fn pump(&mut self, cx: &mut Context<'_>, queue: &mut Queue) {
        let Some((socket, flow)) = self.socket else {
            return;
        };
        if self.blocked.is_some_and(|until| until > cx.now) {
            return;
        }
        self.blocked = None;
        while queue.due() > 0
            && let Some(number) = queue.number(0)
        {
            let reading = queue.reading(0);
            let to = self.route.remote;
            if cx.node.udp_send(cx.now, socket, to, &reading).is_err() {
                self.blocked = Some(cx.now + NO_ROOM);
                return;
            }
            queue.let_go(1);
            if self.route.is_inside {
                cx.oracle.datagram_sent(flow, cx.world_time, number);
            }
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.blocked
    }
}
