//! Transfer by Q-Block1: the leaf announces itself with its progress, and accepts the rest as one
//! body in many messages at a time.

use redpoll_base::{Instant, Rng};
use redpoll_coap::{
    BlockSize, Config, Endpoint as Coap, Event, QuickAnswer, QuickConfig, QuickReceiver,
    QuickSender, Response,
};
use redpoll_ota::Have;
use redpoll_stack::NodeEvent;
use redpoll_tcp::Endpoint;

use super::block1::hello;
use super::datagrams::Datagrams;
use super::source::{LEAVES, piece};
use super::{Flash, IMAGE, ImageTransfer, pusher};
use crate::oracle::FlowId;
use crate::scenario::{ImageLeafSpec, ImageSourceSpec, QuickSpec};
use crate::traffic::coap::peer;
use crate::traffic::peers::Peers;
use crate::traffic::sensor::open_port;
use crate::traffic::{App, Context, Route};

/// Largest offset in the image at which a body that a leaf accepts may begin, in bytes.
const IMAGE_MAX: u64 = 64 << 20;

fn config(block: u16, quick: &QuickSpec) -> QuickConfig {
    QuickConfig {
        block: BlockSize::at_most(block.into()),
        max_payloads: quick.max_payloads,
        non_timeout: quick.non_timeout,
        ..QuickConfig::default()
    }
}

pub(super) struct Quick {
    route: Route,
    config: QuickConfig,
    rng: Rng,
    /// Socket, endpoint and receiver; `None` before the start and after a restart of the node.
    ends: Option<Ends>,
}

/// State that a restart erases.
struct Ends {
    datagrams: Datagrams,
    coap: Coap,
    receiver: QuickReceiver,
    /// Whether each block of the image has arrived, in any body.
    there: Vec<bool>,
}

impl Quick {
    pub(super) fn new(route: Route, spec: &ImageLeafSpec, rng: Rng) -> Quick {
        Quick {
            route,
            config: config(spec.block, &spec.quick),
            rng,
            ends: None,
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>, flash: &Flash) {
        let Some(ends) = &mut self.ends else { return };
        while let Some((to, datagram)) = ends.receiver.poll_datagram() {
            let to = Endpoint {
                addr: to.addr,
                port: to.port,
            };
            ends.datagrams.send(cx, to, datagram);
        }
        while let Some((_, datagram)) = ends.coap.poll_datagram() {
            ends.datagrams.send(cx, self.route.remote, datagram);
        }
        // Discards the events of the endpoint: the arrival of blocks shows whether the source has
        // got the announcement.
        while ends.coap.poll_event().is_some() {}
        cx.node.expect_packets(!flash.have.is_whole());
    }

    fn take(&mut self, cx: &mut Context<'_>, flash: &mut Flash, from: Endpoint, datagram: &[u8]) {
        let Some(ends) = &mut self.ends else { return };
        if !QuickReceiver::is_for(datagram) {
            ends.coap.input(cx.now, peer(from), datagram);
            return;
        }
        flash.heard = cx.now;
        let Some(taken) = ends.receiver.input(cx.now, peer(from), datagram) else {
            return;
        };
        let begin = taken.query.strip_prefix("from=");
        let begin = begin.and_then(|begin| begin.parse::<u64>().ok());
        let block = self.config.block.bytes() as u64;
        let is_place = |begin: &u64| *begin <= IMAGE_MAX && begin.is_multiple_of(block);
        let (true, Some(begin)) = (taken.path == IMAGE, begin.filter(is_place)) else {
            return;
        };
        let size = begin + taken.bytes;
        let offset = begin + taken.offset;
        ends.there.resize(size.div_ceil(block) as usize, false);
        let place = ends.there.get_mut((offset / block) as usize);
        let is_new = place.is_some_and(|place| !std::mem::replace(place, true));
        // After a restart, blocks beyond a missing one are unknown, and are written again.
        if is_new && offset >= flash.have.bytes {
            flash.write(cx, offset, &taken.payload);
        }
        let known = (flash.have.bytes / block) as usize;
        let behind = ends.there.iter().skip(known).take_while(|it| **it).count();
        let end = ((known + behind) as u64 * block).min(size);
        let have = Have {
            bytes: end.max(flash.have.bytes),
            size: Some(size),
            ..flash.have
        };
        flash.keep(cx, have);
    }
}

impl ImageTransfer for Quick {
    fn begin(&mut self, cx: &mut Context<'_>, flash: &mut Flash) {
        if self.ends.is_none() {
            let mut datagrams = Datagrams::default();
            let bind = |cx: &mut Context<'_>, number| cx.node.udp_bind(number);
            datagrams.socket = open_port(cx, &self.route, flash.flow, bind);
            let first_id = self.rng.next_u32() as u16;
            self.ends = Some(Ends {
                datagrams,
                coap: Coap::new(Config::default(), Rng::new(self.rng.next_u64())),
                receiver: QuickReceiver::new(self.config, first_id),
                there: Vec::new(),
            });
        }
        if let Some(ends) = &mut self.ends {
            let to = peer(self.route.remote);
            // A failure is harmless: it means that other announcements are still in progress.
            let _ = ends.coap.request(cx.now, to, hello(flash));
        }
        self.serve(cx, flash);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent, flash: &mut Flash) {
        while let Some(ends) = &mut self.ends
            && let Some((from, datagram)) = ends.datagrams.receive(cx, event)
        {
            self.take(cx, flash, from, &datagram);
            self.serve(cx, flash);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, flash: &mut Flash) {
        if let Some(ends) = &mut self.ends {
            ends.datagrams.flush(cx);
            ends.receiver.on_timeout(cx.now);
            if ends.coap.poll_at().is_some_and(|at| at <= cx.now) {
                ends.coap.on_timeout(cx.now);
            }
        }
        self.serve(cx, flash);
    }

    fn next_timer(&self) -> Option<Instant> {
        let ends = self.ends.as_ref()?;
        let timers = [
            ends.datagrams.next_timer(),
            ends.receiver.poll_at(),
            ends.coap.poll_at(),
        ];
        timers.into_iter().flatten().min()
    }

    fn forget(&mut self) {
        self.ends = None;
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        self.ends
            .as_ref()
            .map_or(Vec::new(), |it| it.datagrams.losses())
    }
}

pub(super) struct Source {
    spec: ImageSourceSpec,
    config: QuickConfig,
    peers: Peers,
    rng: Rng,
    coap: Coap,
    datagrams: Datagrams,
    pushes: Vec<LeafTransfer>,
}

struct LeafTransfer {
    to: Endpoint,
    flow: FlowId,
    begin: u64,
    sender: QuickSender,
}

impl Source {
    pub(super) fn new(spec: &ImageSourceSpec, peers: Peers, mut rng: Rng) -> Source {
        let own = Rng::new(rng.next_u64());
        Source {
            spec: *spec,
            config: config(spec.block, &spec.quick),
            peers,
            rng,
            coap: Coap::new(Config::default(), own),
            datagrams: Datagrams::default(),
            pushes: Vec::new(),
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>) {
        while let Some(event) = self.coap.poll_event() {
            if let Event::Request { id, from, request } = event {
                let here = (cx.node.address(), self.spec.port);
                let hello = pusher::hello(&request, from, here, &self.peers, self.spec.bytes);
                let status = match hello {
                    Ok((flow, have)) => {
                        let (addr, port) = (from.addr, from.port);
                        self.begin(Endpoint { addr, port }, flow, have);
                        redpoll_coap::Status::Changed
                    }
                    Err(status) => status,
                };
                self.coap.respond(cx.now, id, Response::new(status));
            }
        }
        while let Some((to, datagram)) = self.coap.poll_datagram() {
            let (addr, port) = (to.addr, to.port);
            self.datagrams.send(cx, Endpoint { addr, port }, datagram);
        }
        for push in &mut self.pushes {
            // Send one message at a time: a waiting message would be outdated when it leaves.
            while self.datagrams.is_idle()
                && let Some(num) = push.sender.poll_block(cx.now)
            {
                let block = self.config.block.bytes();
                let offset = push.begin + u64::from(num) * block as u64;
                let payload = piece(self.spec.bytes, offset, block);
                cx.oracle.image_sent(push.flow, payload.len() as u64);
                let datagram = push.sender.message(num, &payload);
                self.datagrams.send(cx, push.to, datagram);
            }
        }
    }

    fn begin(&mut self, to: Endpoint, flow: FlowId, have: u64) {
        self.pushes.retain(|push| push.to != to);
        if self.pushes.len() >= LEAVES {
            self.pushes.remove(0);
        }
        let query = format!("from={have}");
        let rng = Rng::new(self.rng.next_u64());
        let left = self.spec.bytes - have;
        if let Some(sender) = QuickSender::new(self.config, rng, IMAGE, &query, left) {
            let begin = have;
            self.pushes.push(LeafTransfer {
                to,
                flow,
                begin,
                sender,
            });
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
            let push = self.pushes.iter_mut().find(|push| push.to == from);
            let answer = push.map(|push| push.sender.input(&datagram));
            match answer {
                None | Some(QuickAnswer::Unrelated) => {
                    self.coap.input(cx.now, peer(from), &datagram);
                }
                Some(QuickAnswer::Continue) => {}
                Some(QuickAnswer::Done | QuickAnswer::Refused) => {
                    self.pushes.retain(|push| push.to != from);
                }
            }
            self.serve(cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.datagrams.flush(cx);
        if self.coap.poll_at().is_some_and(|at| at <= cx.now) {
            self.coap.on_timeout(cx.now);
        }
        self.serve(cx);
    }

    fn next_timer(&self) -> Option<Instant> {
        let pushes = self.pushes.iter().filter_map(|push| push.sender.poll_at());
        // While datagrams wait for room, due messages wait as well.
        let pushes = pushes.filter(|_| self.datagrams.is_idle());
        let others = [self.datagrams.next_timer(), self.coap.poll_at()];
        pushes.chain(others.into_iter().flatten()).min()
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        self.datagrams.losses()
    }
}
