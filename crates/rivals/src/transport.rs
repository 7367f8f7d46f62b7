//! A table of connections as a transport of a node.

use redpoll_base::{Addr, Ecn, Instant, Memory, Rng, Wake, copy};
use redpoll_stack::{
    Arrived, Ask, ConnId, DropReason, Error, Handle, ListenerId, NodeCounters, NodeEvent, Outcome,
    Pulled, Reach, Reply, Stream, StreamTransport, Transport,
};
use redpoll_tcp::{
    Endpoint, Event, Gone, Header, IpMeta, Segment, SegmentDesc, SeqNum, State, Stats,
};

use crate::segment::parse_unverified;
use crate::{Out, Protocol, Table};

const SEQ_BITS: u32 = 24;
const SEQ_MASK: u32 = (1 << SEQ_BITS) - 1;

impl<M: Memory + 'static, P: Protocol> Table<M, P> {
    fn request(
        &mut self,
        now: Instant,
        meta: &IpMeta,
        seg: &Segment<'_>,
        counters: &mut NodeCounters,
    ) -> Outcome {
        let local = Endpoint::new(meta.dst, seg.dst_port);
        let remote = Endpoint::new(meta.src, seg.src_port);
        let listener = self.listener(seg.dst_port);
        if listener.is_some() {
            let index = self.free_slot();
            if index.is_none() && seg.flags.syn() {
                counters.drop(DropReason::NoConnectionSlot);
            } else if let Some(index) = index
                && let Some(control) = self.protocol.accept(now, seg)
            {
                self.open(index, (local, remote), control, listener);
                return Outcome::Taken;
            }
        }
        match self.protocol.refuse(meta, seg, listener.is_some()) {
            Some(header) => Outcome::Reset(Reply::from(header)),
            None => Outcome::Drop(DropReason::NoConnection),
        }
    }

    fn make(&mut self, index: usize, out: &Out) -> Option<Pulled> {
        let slot = self.slots.as_mut().get_mut(index)?;
        let body = &mut slot.body;
        let payload = body.tx.pieces(out.offset, out.len);
        let header = Header::encode(&out.fields, &body.local, &body.remote, payload);
        let len = payload[0].len() + payload[1].len();
        let controls = u32::from(out.fields.flags.syn()) + u32::from(out.fields.flags.fin());
        let end = out.fields.seq + len as u32 + controls;
        let occupies = end != out.fields.seq;
        let again = occupies && body.sent_up_to.is_some_and(|up_to| out.fields.seq < up_to);
        if occupies {
            body.sent_up_to = Some(body.sent_up_to.map_or(end, |up_to| up_to.max(end)));
        }
        #[cfg(feature = "stats")]
        {
            let stats = &mut body.stats;
            let is_ack = !occupies && !out.fields.flags.rst();
            let by_timer = body.by_timer;
            for (counter, is_it) in [
                (&mut stats.segments_sent, true),
                (&mut stats.data_segments_sent, len > 0),
                (&mut stats.acks_sent, is_ack),
                (&mut stats.retransmissions.rto, again && by_timer),
                (&mut stats.retransmissions.fast, again && !by_timer),
            ] {
                *counter = counter.wrapping_add(is_it.into());
            }
            stats.bytes_sent = stats.bytes_sent.wrapping_add(len as u32);
        }
        let _ = again;
        let mut desc = SegmentDesc::from(header);
        desc.payload_len = len as u16;
        desc.ecn = Ecn::NotEct;
        let name = (index as u32) << SEQ_BITS | out.fields.seq.0 & SEQ_MASK;
        let (src, dst) = (body.local.addr, body.remote.addr);
        let pulled = Pulled::new(Handle(name), desc, src, dst);
        Some(pulled.labelled(self.protocol.flow_label()))
    }
}

impl<M: Memory + 'static, P: Protocol> Transport for Table<M, P> {
    fn input(
        &mut self,
        now: Instant,
        arrived: &Arrived<'_>,
        counters: &mut NodeCounters,
    ) -> Outcome {
        let ip = arrived.header;
        let meta = IpMeta {
            src: ip.src,
            dst: ip.dst,
            ecn: ip.ecn,
            hop_limit: ip.hop_limit,
        };
        let seg = match self.protocol.verifies() {
            true => Segment::parse(&meta, arrived.upper).ok(),
            false => parse_unverified(arrived.upper),
        };
        let Some(seg) = seg else {
            return Outcome::Drop(DropReason::Malformed);
        };
        let local = Endpoint::new(meta.dst, seg.dst_port);
        let remote = Endpoint::new(meta.src, seg.src_port);
        let (protocol, slots) = self.used_mut();
        let slot = slots
            .iter_mut()
            .filter(|slot| slot.is_between(&local, &remote))
            .find_map(|slot| {
                let control = slot.control.as_mut()?;
                (protocol.state(control) != State::Closed).then_some((control, &mut slot.body))
            });
        let Some((control, body)) = slot else {
            return self.request(now, &meta, &seg, counters);
        };
        #[cfg(feature = "stats")]
        {
            body.count(|stats| &mut stats.segments_received);
            if !seg.payload.is_empty() {
                body.count(|stats| &mut stats.data_segments_received);
            }
        }
        protocol.input(now, control, body, &seg);
        self.reap();
        Outcome::Taken
    }

    fn pull<H>(
        &mut self,
        now: Instant,
        ask: &Ask,
        mut reach: impl FnMut(&Addr) -> Reach<H>,
    ) -> Option<(Pulled, Option<H>)> {
        let count = self.slots.as_ref().len();
        let end = self.used().len();
        let turn = usize::from(self.turn).min(end);
        for index in (turn..end).chain(0..turn) {
            let slot = self.slots.as_mut().get_mut(index)?;
            let Some(control) = slot.control.as_mut() else {
                continue;
            };
            let hop = match reach(&slot.body.remote.addr) {
                Reach::Here(hop) => Some(hop),
                Reach::Elsewhere => continue,
                Reach::Nowhere => None,
            };
            let Some(out) = self.protocol.poll_segment(now, control, &mut slot.body) else {
                continue;
            };
            debug_assert!(
                out.len + 20 <= ask.max_len,
                "the segment is too long for a packet"
            );
            let pulled = self.make(index, &out)?;
            self.turn = ((index + 1) % count) as u8;
            self.reap();
            return Some((pulled, hop));
        }
        None
    }

    fn read(&self, handle: Handle, offset: usize, out: &mut [u8]) -> Result<usize, Gone> {
        if out.is_empty() {
            return Ok(0);
        }
        let index = (handle.0 >> SEQ_BITS) as usize;
        let slot = self.slots.as_ref().get(index).ok_or(Gone)?;
        let una: SeqNum = self.protocol.una(slot.control.as_ref().ok_or(Gone)?);
        let ahead = handle.0.wrapping_sub(una.0) & SEQ_MASK;
        if ahead > SEQ_MASK / 2 {
            return Err(Gone);
        }
        let [first, second] = slot.body.tx.pieces(ahead as usize + offset, out.len());
        let taken = copy(first, out);
        Ok(taken + copy(second, out.get_mut(taken..).unwrap_or_default()))
    }

    fn poll_at(&self) -> Option<Wake> {
        let open = self.used().iter();
        let own = open.filter_map(|slot| self.protocol.timer(slot.control.as_ref()?));
        own.chain(self.protocol.next_tick())
            .min()
            .map(Wake::exactly)
    }

    fn on_timeout(&mut self, now: Instant, _counters: &mut NodeCounters) {
        let ticks = self.protocol.next_tick().is_some_and(|at| at <= now);
        let mut open = 0;
        let (protocol, slots) = self.used_mut();
        for slot in slots {
            let Some(control) = slot.control.as_mut() else {
                continue;
            };
            let due = protocol.timer(control).is_some_and(|at| at <= now);
            if ticks || due {
                protocol.on_timeout(now, control, &mut slot.body);
            }
            open += usize::from(protocol.state(control) != State::Closed);
        }
        if ticks {
            self.protocol.on_tick(open);
        }
        self.reap();
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        for (index, slot) in (0..u8::MAX).zip(self.used_mut().1) {
            if slot.released || slot.control.is_none() {
                continue;
            }
            while let Some(event) = slot.body.poll_event() {
                let Some(listener) = slot.waits else {
                    let id = ConnId::new(index, slot.generation);
                    return Some(NodeEvent::Tcp(id, event));
                };
                match event {
                    Event::Connected => return Some(NodeEvent::Accepted(listener)),
                    // The application never saw this connection, so its end is not reported.
                    Event::Failed(_) | Event::Closed => {
                        slot.released = true;
                        break;
                    }
                    _ => {}
                }
            }
        }
        None
    }
}

impl<M: Memory + 'static, P: Protocol> StreamTransport for Table<M, P> {
    fn is_there(&self) -> bool {
        true
    }

    fn listen(&mut self, port: u16) -> Result<ListenerId, Error> {
        Table::listen(self, port)
    }

    fn accept(&mut self, listener: ListenerId) -> Option<ConnId> {
        Table::accept(self, listener)
    }

    fn connect(
        &mut self,
        now: Instant,
        local: Endpoint,
        remote: Endpoint,
        rng: &mut Rng,
    ) -> Result<ConnId, Error> {
        Table::connect(self, now, local, remote, rng)
    }

    fn send(&mut self, now: Instant, id: ConnId, data: &[u8]) -> Result<usize, Error> {
        Table::send(self, now, id, data)
    }

    fn recv(&mut self, now: Instant, id: ConnId, out: &mut [u8]) -> Result<usize, Error> {
        Table::recv(self, now, id, out)
    }

    fn close(&mut self, now: Instant, id: ConnId) {
        Table::close(self, now, id);
    }

    fn abort(&mut self, now: Instant, id: ConnId) {
        Table::abort(self, now, id);
    }

    fn release(&mut self, now: Instant, id: ConnId) {
        Table::release(self, now, id);
    }

    fn stream(&self, id: ConnId) -> Option<Stream> {
        Table::stream(self, id)
    }

    fn live(&self) -> usize {
        let is_live = |state: &State| !matches!(state, State::TimeWait | State::Closed);
        self.states().filter(is_live).count()
    }

    fn expects(&self) -> bool {
        self.live() > 0
    }

    fn stats(&self, id: ConnId) -> Option<&Stats> {
        #[cfg(feature = "stats")]
        return Table::stats(self, id);
        #[cfg(not(feature = "stats"))]
        {
            let _ = id;
            None
        }
    }
}
