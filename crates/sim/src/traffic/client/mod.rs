//! A client that requests a server's file periodically, over HTTP or CoAP, and times each answer.

mod coap;
mod http;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_stack::NodeEvent;

use super::sensor::Clock;
use super::{App, Context, Route};
use crate::oracle::FlowId;
use crate::oracle::counting_lines;
use crate::scenario::ClientSpec;

trait Protocol {
    fn start(&mut self, cx: &mut Context<'_>, flow: FlowId);

    fn ask(&mut self, cx: &mut Context<'_>);

    /// Handles an event of the node. Returns the outcome of the request, if it has ended.
    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) -> Option<Outcome>;

    fn on_timer(&mut self, cx: &mut Context<'_>) -> Option<Outcome>;

    fn next_timer(&self) -> Option<Instant>;
}

enum Outcome {
    Answered(Vec<u8>),
    /// No connection, no answer in time, or an answer without the requested content.
    Failed,
}

pub(super) struct Asks(Box<dyn Protocol>);

impl Asks {
    pub(super) fn http(route: Route, spec: &ClientSpec) -> Asks {
        Asks(Box::new(http::Http::new(route, spec.retry)))
    }

    pub(super) fn coap(route: Route, spec: &ClientSpec, rng: Rng) -> Asks {
        Asks(Box::new(coap::Coap::new(route, spec.block, rng)))
    }
}

pub(super) struct Client {
    route: Route,
    clock: Clock,
    left: Option<u32>,
    retry: Duration,
    flow: Option<FlowId>,
    protocol: Box<dyn Protocol>,
    asked: Option<Instant>,
    /// Earliest time of the next request.
    not_before: Instant,
    is_due: bool,
}

impl Client {
    pub(super) fn new(route: Route, spec: &ClientSpec, clock: Clock, asks: Asks) -> Client {
        Client {
            route,
            clock,
            left: spec.count,
            retry: spec.retry,
            flow: None,
            protocol: asks.0,
            asked: None,
            not_before: Instant::ZERO,
            is_due: false,
        }
    }

    /// Records the outcome of a request, and makes the next one if it is due.
    fn go_on(&mut self, cx: &mut Context<'_>, outcome: Option<Outcome>) {
        let Some(flow) = self.flow else { return };
        if let Some(outcome) = outcome
            && let Some(asked) = self.asked.take()
        {
            match outcome {
                Outcome::Answered(body) => {
                    let mut expected = vec![0; body.len()];
                    counting_lines(0, &mut expected);
                    if body != expected {
                        let name = &self.route.flow;
                        cx.oracle.violated(format!(
                            "{:?}: flow {name}: the received file has wrong content",
                            cx.world_time
                        ));
                    }
                    cx.oracle
                        .request_answered(flow, cx.world_time, asked, body.len());
                }
                Outcome::Failed => {
                    cx.oracle.request_failed(flow);
                    self.not_before = cx.now + self.retry;
                }
            }
        }
        if self.is_due && self.asked.is_none() && self.not_before <= cx.now {
            self.is_due = false;
            if let Some(left) = &mut self.left {
                *left -= 1;
            }
            self.asked = Some(cx.world_time);
            cx.oracle.request_made(flow);
            self.protocol.ask(cx);
        }
    }
}

impl App for Client {
    fn start(&mut self, cx: &mut Context<'_>) {
        let Route { flow, from, to, .. } = &self.route;
        let flow = cx.oracle.flow(flow, from, to);
        self.flow = Some(flow);
        self.clock.start(cx.now);
        self.protocol.start(cx, flow);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        let outcome = self.protocol.on_event(cx, event);
        self.go_on(cx, outcome);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        while self.clock.tick(cx.now) {
            self.is_due = self.left != Some(0);
        }
        let outcome = self.protocol.on_timer(cx);
        self.go_on(cx, outcome);
    }

    fn next_timer(&self) -> Option<Instant> {
        let waits = self.is_due && self.asked.is_none();
        let again = waits.then_some(self.not_before);
        let clock = self.clock.next().filter(|_| self.left != Some(0));
        clock
            .into_iter()
            .chain(again)
            .chain(self.protocol.next_timer())
            .min()
    }
}
