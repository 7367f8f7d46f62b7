//! Calls for applications, the same for TCP and for a transport in its place.

use redpoll_base::Instant;
use redpoll_tcp::{Endpoint, State, Stats};

use super::Node;
use crate::profile::Profile;
use crate::transports::{Stream, StreamTransport, Streams};
use crate::{ConnId, Error, ListenerId};

impl<P: Profile> Streams for Node<P> {
    fn listen(&mut self, port: u16) -> Result<ListenerId, Error> {
        let streams = &mut self.transports.streams;
        if streams.is_there() {
            return streams.listen(port);
        }
        self.tcp_listen(port)
    }

    fn accept(&mut self, listener: ListenerId) -> Option<ConnId> {
        let streams = &mut self.transports.streams;
        if streams.is_there() {
            return streams.accept(listener);
        }
        self.tcp_accept(listener)
    }

    fn connect(&mut self, now: Instant, remote: Endpoint) -> Result<ConnId, Error> {
        if self.transports.streams.is_there() {
            let local = self.local_for(now, 0, &remote)?;
            let streams = &mut self.transports.streams;
            return streams.connect(now, local, remote, &mut self.rng);
        }
        self.tcp_connect(now, remote)
    }

    fn expect(&mut self, id: ConnId, expected: bool) {
        if !self.transports.streams.is_there() {
            self.tcp_expect(id, expected);
        }
    }

    fn send(&mut self, now: Instant, id: ConnId, data: &[u8]) -> Result<usize, Error> {
        let streams = &mut self.transports.streams;
        if streams.is_there() {
            return streams.send(now, id, data);
        }
        self.tcp_send(now, id, data)
    }

    fn recv(&mut self, now: Instant, id: ConnId, out: &mut [u8]) -> Result<usize, Error> {
        let streams = &mut self.transports.streams;
        if streams.is_there() {
            return streams.recv(now, id, out);
        }
        self.tcp_recv(now, id, out)
    }

    fn close(&mut self, now: Instant, id: ConnId) {
        let streams = &mut self.transports.streams;
        if streams.is_there() {
            return streams.close(now, id);
        }
        self.tcp_close(now, id);
    }

    fn abort(&mut self, now: Instant, id: ConnId) {
        let streams = &mut self.transports.streams;
        if streams.is_there() {
            return streams.abort(now, id);
        }
        self.tcp_abort(now, id);
    }

    fn release(&mut self, now: Instant, id: ConnId) {
        let streams = &mut self.transports.streams;
        if streams.is_there() {
            return streams.release(now, id);
        }
        self.tcp_release(now, id);
    }

    fn stream(&self, id: ConnId) -> Option<Stream> {
        let streams = &self.transports.streams;
        if streams.is_there() {
            return streams.stream(id);
        }
        let connection = self.tcp_connection(id)?;
        Some(Stream {
            local: connection.local(),
            remote: connection.remote(),
            state: connection.state(),
            unacked: connection.unacked(),
            send_room: connection.send_room(),
        })
    }

    fn live(&self) -> usize {
        let streams = &self.transports.streams;
        if streams.is_there() {
            return streams.live();
        }
        let is_live = |state| !matches!(state, State::TimeWait | State::Closed);
        let open = self.tcp_connections();
        open.filter(|(_, c)| is_live(c.state())).count()
    }

    fn stats(&self, id: ConnId) -> Option<&Stats> {
        let streams = &self.transports.streams;
        if streams.is_there() {
            return streams.stats(id);
        }
        self.tcp_connection(id)?.counted()
    }
}
