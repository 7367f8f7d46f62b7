//! Requests over CoAP.

use redpoll_base::{Instant, Rng};
use redpoll_coap::{BlockSize, Config, Event, Method, Request};
use redpoll_stack::NodeEvent;

use super::{Context, Outcome, Protocol, Route};
use crate::oracle::FlowId;
use crate::traffic::coap::{Port, peer};
use crate::traffic::sensor::open_port;

/// Maximum length of a received file in bytes: that of the largest file of a server.
const MAX_FILE: usize = 1 << 30;

pub(super) struct Coap {
    route: Route,
    port: Port,
    flow: Option<FlowId>,
    /// Number of round-trip times reported to the oracle.
    samples: u64,
}

impl Coap {
    pub(super) fn new(route: Route, block: u16, rng: Rng) -> Coap {
        let config = Config {
            block: BlockSize::at_most(block.into()),
            negotiates_early: true,
            max_body: MAX_FILE,
            ..Config::default()
        };
        Coap {
            route,
            port: Port::new(config, rng),
            flow: None,
            samples: 0,
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>) -> Option<Outcome> {
        let mut outcome = None;
        while let Some(event) = self.port.poll(cx) {
            outcome = match event {
                Event::Response { response, .. } if response.is_success() => {
                    Some(Outcome::Answered(response.payload))
                }
                Event::Response { .. } | Event::Failed { .. } => Some(Outcome::Failed),
                Event::Request { .. } => outcome,
            };
        }
        if let Some(flow) = self.flow {
            self.port.report_counters(cx, flow, &mut self.samples);
        }
        outcome
    }
}

impl Protocol for Coap {
    fn start(&mut self, cx: &mut Context<'_>, flow: FlowId) {
        let Coap { route, port, .. } = self;
        let opened = open_port(cx, route, flow, |cx, number| port.open(cx, number));
        self.flow = opened.map(|()| flow);
    }

    fn ask(&mut self, cx: &mut Context<'_>) {
        let request = Request::new(Method::Get, "file");
        // The endpoint has room, because the client makes only one request at a time.
        let _ = self
            .port
            .endpoint
            .request(cx.now, peer(self.route.remote), request);
        self.serve(cx);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) -> Option<Outcome> {
        match self.port.on_event(cx, event) {
            true => self.serve(cx),
            false => None,
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) -> Option<Outcome> {
        self.port.on_timer(cx);
        self.serve(cx)
    }

    fn next_timer(&self) -> Option<Instant> {
        self.port.next_timer()
    }
}
