//! The TCP of this crate that a node uses.

use redpoll_base::{Addr, Instant, Memory, Rng, Wake};
use redpoll_stack::{
    Arrived, Ask, ConnId, Error, Handle, ListenerId, NoStreams, NodeCounters, NodeEvent, Outcome,
    Pulled, Reach, Stream, StreamTransport, Transport, Trouble,
};
use redpoll_tcp::{Endpoint, Gone, Stats};

use crate::Table;
use crate::blip::Blip;
use crate::linux::Linux;
use crate::uip::Uip;

#[derive(Debug)]
pub enum Rival<M: Memory + 'static> {
    None(NoStreams),
    /// uIP's TCP, with one segment at a time: see [`uip`](crate::uip).
    Uip(Table<M, Uip>),
    Blip(Table<M, Blip>),
    Linux(Table<M, Linux>),
    #[cfg(feature = "smoltcp")]
    Smoltcp(crate::smol::Smol),
}

impl<M: Memory + 'static> Default for Rival<M> {
    fn default() -> Self {
        Rival::None(NoStreams)
    }
}

macro_rules! the_one {
    ($of:expr, $one:ident => $call:expr) => {
        match $of {
            Rival::None($one) => $call,
            Rival::Uip($one) => $call,
            Rival::Blip($one) => $call,
            Rival::Linux($one) => $call,
            #[cfg(feature = "smoltcp")]
            Rival::Smoltcp($one) => $call,
        }
    };
}

impl<M: Memory + 'static> Transport for Rival<M> {
    fn input(
        &mut self,
        now: Instant,
        arrived: &Arrived<'_>,
        counters: &mut NodeCounters,
    ) -> Outcome {
        the_one!(self, one => one.input(now, arrived, counters))
    }

    fn pull<H>(
        &mut self,
        now: Instant,
        ask: &Ask,
        reach: impl FnMut(&Addr) -> Reach<H>,
    ) -> Option<(Pulled, Option<H>)> {
        the_one!(self, one => one.pull(now, ask, reach))
    }

    fn read(&self, handle: Handle, offset: usize, out: &mut [u8]) -> Result<usize, Gone> {
        the_one!(self, one => one.read(handle, offset, out))
    }

    fn on_sent(&mut self, now: Instant, handle: Handle) {
        the_one!(self, one => one.on_sent(now, handle));
    }

    fn on_lost(&mut self, now: Instant, handle: Handle) {
        the_one!(self, one => one.on_lost(now, handle));
    }

    fn on_icmp(
        &mut self,
        now: Instant,
        trouble: Trouble,
        ip: &redpoll_stack::wire::ipv6::Ipv6Header,
        rest: &[u8],
    ) {
        the_one!(self, one => one.on_icmp(now, trouble, ip, rest));
    }

    fn poll_at(&self) -> Option<Wake> {
        the_one!(self, one => one.poll_at())
    }

    fn on_timeout(&mut self, now: Instant, counters: &mut NodeCounters) {
        the_one!(self, one => one.on_timeout(now, counters));
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        the_one!(self, one => one.poll_event())
    }
}

impl<M: Memory + 'static> StreamTransport for Rival<M> {
    fn is_there(&self) -> bool {
        the_one!(self, one => one.is_there())
    }

    fn listen(&mut self, port: u16) -> Result<ListenerId, Error> {
        the_one!(self, one => StreamTransport::listen(one, port))
    }

    fn accept(&mut self, listener: ListenerId) -> Option<ConnId> {
        the_one!(self, one => StreamTransport::accept(one, listener))
    }

    fn connect(
        &mut self,
        now: Instant,
        local: Endpoint,
        remote: Endpoint,
        rng: &mut Rng,
    ) -> Result<ConnId, Error> {
        the_one!(self, one => StreamTransport::connect(one, now, local, remote, rng))
    }

    fn send(&mut self, now: Instant, id: ConnId, data: &[u8]) -> Result<usize, Error> {
        the_one!(self, one => StreamTransport::send(one, now, id, data))
    }

    fn recv(&mut self, now: Instant, id: ConnId, out: &mut [u8]) -> Result<usize, Error> {
        the_one!(self, one => StreamTransport::recv(one, now, id, out))
    }

    fn close(&mut self, now: Instant, id: ConnId) {
        the_one!(self, one => StreamTransport::close(one, now, id));
    }

    fn abort(&mut self, now: Instant, id: ConnId) {
        the_one!(self, one => StreamTransport::abort(one, now, id));
    }

    fn release(&mut self, now: Instant, id: ConnId) {
        the_one!(self, one => StreamTransport::release(one, now, id));
    }

    fn stream(&self, id: ConnId) -> Option<Stream> {
        the_one!(self, one => StreamTransport::stream(one, id))
    }

    fn live(&self) -> usize {
        the_one!(self, one => one.live())
    }

    fn expects(&self) -> bool {
        the_one!(self, one => one.expects())
    }

    fn stats(&self, id: ConnId) -> Option<&Stats> {
        the_one!(self, one => StreamTransport::stats(one, id))
    }
}
