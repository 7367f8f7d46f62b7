//! Transfer by Matter's bulk data exchange: the leaf requests block after block.

use redpoll_base::{Instant, Rng};
use redpoll_rivals::bdx::{Config, DATAGRAM_MAX, Provider, Receiver};
use redpoll_stack::NodeEvent;
use redpoll_tcp::Endpoint;

use super::datagrams::Datagrams;
use super::source::{LEAVES, piece};
use super::{Flash, ImageTransfer};
use crate::oracle::FlowId;
use crate::scenario::{ImageLeafSpec, ImageSourceSpec};
use crate::traffic::peers::{Pair, Peers};
use crate::traffic::sensor::open_port;
use crate::traffic::{App, Context, Route};

pub(super) struct Bdx {
    route: Route,
    spec: ImageLeafSpec,
    rng: Rng,
    datagrams: Datagrams,
    receiver: Option<Receiver>,
    /// Time at which a failed transfer begins again.
    again: Option<Instant>,
}

impl Bdx {
    pub(super) fn new(route: Route, spec: &ImageLeafSpec, rng: Rng) -> Bdx {
        Bdx {
            route,
            spec: *spec,
            rng,
            datagrams: Datagrams::default(),
            receiver: None,
            again: None,
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>, flash: &Flash) {
        let mut out = [0; DATAGRAM_MAX];
        while let Some(len) = self
            .receiver
            .as_mut()
            .and_then(|it| it.poll_datagram(&mut out))
        {
            self.datagrams
                .send(cx, self.route.remote, out[..len].to_vec());
        }
        if self.receiver.take_if(|it| it.has_failed()).is_some() {
            self.again = Some(cx.now + self.spec.retry);
        }
        cx.node.expect_packets(!flash.have.is_whole());
    }
}

impl ImageTransfer for Bdx {
    fn begin(&mut self, cx: &mut Context<'_>, flash: &mut Flash) {
        if self.datagrams.socket.is_none() {
            let bind = |cx: &mut Context<'_>, number| cx.node.udp_bind(number);
            self.datagrams.socket = open_port(cx, &self.route, flash.flow, bind);
        }
        self.again = None;
        let config = Config {
            block: self.spec.block,
            active_interval: self.spec.interval,
            ..Config::default()
        };
        let rng = Rng::new(self.rng.next_u64());
        let receiver = Receiver::new(cx.now, config, rng, flash.have.bytes);
        self.receiver = Some(receiver);
        self.serve(cx, flash);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent, flash: &mut Flash) {
        while let Some((from, datagram)) = self.datagrams.receive(cx, event) {
            if from != self.route.remote {
                continue;
            }
            let receiver = self.receiver.as_mut();
            if let Some(piece) = receiver.and_then(|it| it.input(cx.now, &datagram)) {
                flash.take_block(cx, piece.offset, piece.bytes, piece.is_last);
            }
            self.serve(cx, flash);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, flash: &mut Flash) {
        self.datagrams.flush(cx);
        if let Some(receiver) = &mut self.receiver {
            receiver.on_timeout(cx.now);
        }
        if self.again.is_some_and(|at| at <= cx.now) && !flash.have.is_whole() {
            flash.heard = cx.now;
            cx.oracle.image_begun(flash.flow, cx.world_time);
            self.begin(cx, flash);
        }
        self.serve(cx, flash);
    }

    fn next_timer(&self) -> Option<Instant> {
        let receiver = self.receiver.as_ref().and_then(Receiver::poll_at);
        let timers = [receiver, self.again, self.datagrams.next_timer()];
        timers.into_iter().flatten().min()
    }

    fn forget(&mut self) {
        self.datagrams = Datagrams::default();
        (self.receiver, self.again) = (None, None);
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        self.datagrams.losses()
    }
}

pub(super) struct Source {
    spec: ImageSourceSpec,
    peers: Peers,
    rng: Rng,
    datagrams: Datagrams,
    leaves: Vec<Leaf>,
}

struct Leaf {
    at: Endpoint,
    flow: FlowId,
    provider: Provider,
}

impl Source {
    pub(super) fn new(spec: &ImageSourceSpec, peers: Peers, rng: Rng) -> Source {
        Source {
            spec: *spec,
            peers,
            rng,
            datagrams: Datagrams::default(),
            leaves: Vec::new(),
        }
    }

    fn take(&mut self, cx: &mut Context<'_>, from: Endpoint, datagram: &[u8]) {
        let known = self.leaves.iter().position(|leaf| leaf.at == from);
        let index = match known {
            Some(index) => index,
            None => {
                let (addr, port) = (cx.node.address(), self.spec.port);
                let here = Endpoint { addr, port };
                let Some(flow) = self.peers.flow(&Pair::new(from, here), None) else {
                    return;
                };
                if self.leaves.len() >= LEAVES {
                    self.leaves.remove(0);
                }
                let config = Config {
                    block: self.spec.block,
                    active_interval: self.spec.interval,
                    ..Config::default()
                };
                let rng = Rng::new(self.rng.next_u64());
                let provider = Provider::new(config, rng, self.spec.bytes);
                self.leaves.push(Leaf {
                    at: from,
                    flow,
                    provider,
                });
                self.leaves.len() - 1
            }
        };
        let leaf = &mut self.leaves[index];
        if let Some(wanted) = leaf.provider.input(cx.now, datagram) {
            let bytes = piece(self.spec.bytes, wanted.offset, wanted.len);
            cx.oracle.image_sent(leaf.flow, bytes.len() as u64);
            leaf.provider.give(cx.now, &bytes);
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>) {
        let mut out = [0; DATAGRAM_MAX];
        for leaf in &mut self.leaves {
            while let Some(len) = leaf.provider.poll_datagram(&mut out) {
                self.datagrams.send(cx, leaf.at, out[..len].to_vec());
            }
        }
    }
}

impl App for Source {
    fn start(&mut self, cx: &mut Context<'_>) {
        // The scenario ensures that no other app of the node uses the port.
        self.datagrams.socket = cx.node.udp_bind(self.spec.port).ok();
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        while let Some((from, datagram)) = self.datagrams.receive(cx, event) {
            self.take(cx, from, &datagram);
            self.serve(cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.datagrams.flush(cx);
        for leaf in &mut self.leaves {
            let again = leaf.provider.on_timeout(cx.now);
            cx.oracle.image_sent(leaf.flow, again);
        }
        self.serve(cx);
    }

    fn next_timer(&self) -> Option<Instant> {
        let leaves = self
            .leaves
            .iter()
            .filter_map(|leaf| leaf.provider.poll_at());
        leaves.chain(self.datagrams.next_timer()).min()
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        self.datagrams.losses()
    }
}
