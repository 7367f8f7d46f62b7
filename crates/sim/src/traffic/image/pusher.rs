//! A CoAP endpoint that puts an image to announced leaves, block after block.

use redpoll_base::{Addr, Duration, Instant, Rng};
use redpoll_coap::{
    BlockSize, Config, Event, Incoming, Method, Part, Peer, Request, RequestId, Response, Status,
};
use redpoll_stack::NodeEvent;
use redpoll_tcp::Endpoint;

use super::source::{LEAVES, piece};
use super::{IMAGE, UPDATE};
use crate::oracle::FlowId;
use crate::scenario::ImageSourceSpec;
use crate::traffic::coap::Port;
use crate::traffic::peers::{Pair, Peers};
use crate::traffic::{App, Context};

/// Pause after an unanswered or refused block.
const PAUSE: Duration = Duration::from_secs(3);

/// Returns the flow of an announced leaf, and its progress in an image of `bytes` bytes.
pub(super) fn hello(
    request: &Incoming,
    from: Peer,
    here: (Addr, u16),
    peers: &Peers,
    bytes: u64,
) -> Result<(FlowId, u64), Status> {
    if (request.method, request.path.as_str()) != (Method::Post, UPDATE) {
        return Err(Status::NotFound);
    }
    let ends = [(from.addr, from.port), here].map(|(addr, port)| Endpoint { addr, port });
    let flow = peers.flow(&Pair::new(ends[0], ends[1]), None);
    let have = request.query.strip_prefix("have=");
    let have: Option<u64> = have.and_then(|have| have.parse().ok());
    let have = have.filter(|have| *have <= bytes);
    flow.zip(have).ok_or(Status::BadRequest)
}

/// Sends the blocks of an image one after the other by PUT (RFC 7959 §2.3).
pub(super) struct Pusher {
    spec: ImageSourceSpec,
    size: BlockSize,
    peers: Peers,
    port: Port,
    pushes: Vec<LeafTransfer>,
}

struct LeafTransfer {
    to: Peer,
    flow: FlowId,
    num: u32,
    under_way: Option<RequestId>,
    repeats: u8,
    not_before: Instant,
}

impl Pusher {
    pub(super) fn new(spec: &ImageSourceSpec, peers: Peers, rng: Rng) -> Pusher {
        let size = BlockSize::at_most(spec.block.into());
        let config = Config {
            block: size,
            max_requests: LEAVES,
            ..Config::default()
        };
        Pusher {
            spec: *spec,
            size,
            peers,
            port: Port::new(config, rng),
            pushes: Vec::new(),
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>) {
        loop {
            self.push(cx);
            match self.port.poll(cx) {
                Some(Event::Request { id, from, request }) => {
                    let status = self.on_hello(cx, from, &request);
                    self.port
                        .endpoint
                        .respond(cx.now, id, Response::new(status));
                }
                Some(Event::Response { request, response }) => {
                    self.on_answer(cx, request, response.status);
                }
                Some(Event::Failed { request, .. }) => {
                    if let Some(push) = self.of(request) {
                        push.under_way = None;
                        push.not_before = cx.now + PAUSE;
                    }
                }
                None => return,
            }
        }
    }

    /// Handles the first or a repeated announcement of a leaf.
    fn on_hello(&mut self, cx: &mut Context<'_>, from: Peer, request: &Incoming) -> Status {
        let here = (cx.node.address(), self.spec.port);
        let (flow, have) = match hello(request, from, here, &self.peers, self.spec.bytes) {
            Ok(hello) => hello,
            Err(status) => return status,
        };
        let old = self.pushes.iter().position(|push| push.to == from);
        let old = old.or((self.pushes.len() >= LEAVES).then_some(0));
        if let Some(old) = old.map(|index| self.pushes.remove(index))
            && let Some(under_way) = old.under_way
        {
            self.port.endpoint.cancel(cx.now, under_way);
        }
        self.pushes.push(LeafTransfer {
            to: from,
            flow,
            num: (have / self.size.bytes() as u64) as u32,
            under_way: None,
            repeats: 0,
            not_before: cx.now,
        });
        Status::Changed
    }

    fn push(&mut self, cx: &mut Context<'_>) {
        for push in &mut self.pushes {
            let offset = u64::from(push.num) * self.size.bytes() as u64;
            if push.under_way.is_some() || push.not_before > cx.now || offset >= self.spec.bytes {
                continue;
            }
            let payload = piece(self.spec.bytes, offset, self.size.bytes());
            let (len, size) = (payload.len() as u64, self.size);
            let more = offset + len < self.spec.bytes;
            let num = push.num;
            let request =
                Request::new(Method::Put, IMAGE).with_part(Part { num, more, size }, payload);
            if let Ok(id) = self.port.endpoint.request(cx.now, push.to, request) {
                (push.under_way, push.repeats) = (Some(id), 0);
                cx.oracle.image_sent(push.flow, len);
            }
        }
    }

    fn on_answer(&mut self, cx: &mut Context<'_>, request: RequestId, status: Status) {
        let Some(push) = self.of(request) else { return };
        push.under_way = None;
        match status {
            Status::Changed => push.num += 1,
            // The leaf has restarted, and will announce itself.
            _ => push.not_before = cx.now + PAUSE,
        }
    }

    fn of(&mut self, request: RequestId) -> Option<&mut LeafTransfer> {
        let is_it = |push: &&mut LeafTransfer| push.under_way == Some(request);
        self.pushes.iter_mut().find(is_it)
    }

    fn count_repeats(&mut self, cx: &mut Context<'_>) {
        for push in &mut self.pushes {
            let Some(request) = push.under_way else {
                continue;
            };
            let repeats = self.port.endpoint.repeats(request);
            let new = repeats.saturating_sub(push.repeats);
            push.repeats = repeats;
            let offset = u64::from(push.num) * self.size.bytes() as u64;
            let len = self.size.bytes() as u64;
            let len = len.min(self.spec.bytes.saturating_sub(offset));
            cx.oracle.image_sent(push.flow, u64::from(new) * len);
        }
    }
}

impl App for Pusher {
    fn start(&mut self, cx: &mut Context<'_>) {
        // The scenario ensures that no other app of the node uses the port.
        let _ = self.port.open(cx, self.spec.port);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        if self.port.on_event(cx, event) {
            self.serve(cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.port.on_timer(cx);
        self.count_repeats(cx);
        self.serve(cx);
    }

    fn next_timer(&self) -> Option<Instant> {
        let pauses = self.pushes.iter().filter(|push| {
            let offset = u64::from(push.num) * self.size.bytes() as u64;
            push.under_way.is_none() && offset < self.spec.bytes
        });
        let pauses = pauses.map(|push| push.not_before);
        pauses.chain(self.port.next_timer()).min()
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        self.port.losses()
    }
}
