//! Transfer by CoAP's Block1: the leaf announces itself with its progress, and accepts blocks.

use redpoll_base::{Instant, Rng};
use redpoll_coap::{BlockSize, Config, Event, Method, Request, RequestId, Response, Status};
use redpoll_stack::NodeEvent;

use super::{Flash, IMAGE, ImageTransfer, UPDATE};
use crate::scenario::ImageLeafSpec;
use crate::traffic::coap::{Port, peer};
use crate::traffic::sensor::open_port;
use crate::traffic::{Context, Route};

pub(super) struct Block1 {
    route: Route,
    config: Config,
    rng: Rng,
    /// Socket and CoAP endpoint; `None` before the start and after a restart of the node.
    port: Option<Port>,
    /// The request that announces the leaf to the source.
    told: Option<RequestId>,
}

impl Block1 {
    pub(super) fn new(route: Route, spec: &ImageLeafSpec, rng: Rng) -> Block1 {
        let block = BlockSize::at_most(spec.block.into());
        Block1 {
            route,
            config: Config {
                block,
                max_body: block.bytes(),
                takes_parts: true,
                max_requests: 2,
                max_served: 2,
                max_seen: 8,
                ..Config::default()
            },
            rng,
            port: None,
            told: None,
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>, flash: &mut Flash) {
        let Some(port) = &mut self.port else { return };
        while let Some(event) = port.poll(cx) {
            let Event::Request { id, request, .. } = event else {
                continue;
            };
            let part = request.part.filter(|_| request.path == IMAGE);
            let status = match (request.method, part) {
                (Method::Put, Some(part)) => {
                    let (offset, is_last) = (part.offset() as u64, !part.more);
                    match flash.take_block(cx, offset, &request.payload, is_last) {
                        true => Status::Changed,
                        false => Status::RequestEntityIncomplete,
                    }
                }
                _ => Status::NotFound,
            };
            port.expect_requests(!flash.have.is_whole());
            port.endpoint.respond(cx.now, id, Response::new(status));
        }
    }
}

pub(super) fn hello(flash: &Flash) -> Request {
    Request {
        query: format!("have={}", flash.have.bytes),
        ..Request::new(Method::Post, UPDATE)
    }
}

impl ImageTransfer for Block1 {
    fn begin(&mut self, cx: &mut Context<'_>, flash: &mut Flash) {
        if self.port.is_none() {
            let rng = Rng::new(self.rng.next_u64());
            let mut port = Port::new(self.config, rng);
            // Opening succeeds, because the node has memory for this socket.
            let _ = open_port(cx, &self.route, flash.flow, |cx, number| {
                port.open(cx, number)
            });
            port.expect_requests(true);
            self.port = Some(port);
        }
        if let Some(port) = &mut self.port {
            if let Some(told) = self.told.take() {
                port.endpoint.cancel(cx.now, told);
            }
            let to = peer(self.route.remote);
            self.told = port.endpoint.request(cx.now, to, hello(flash)).ok();
        }
        self.serve(cx, flash);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent, flash: &mut Flash) {
        if self
            .port
            .as_mut()
            .is_some_and(|port| port.on_event(cx, event))
        {
            self.serve(cx, flash);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, flash: &mut Flash) {
        if let Some(port) = &mut self.port {
            port.on_timer(cx);
        }
        self.serve(cx, flash);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.port.as_ref()?.next_timer()
    }

    fn forget(&mut self) {
        (self.port, self.told) = (None, None);
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        self.port.as_ref().map_or(Vec::new(), Port::losses)
    }
}
