//! Lets a node use the cache as its assistant.

use redpoll_base::{Instant, Memory, Wake};
use redpoll_stack::assist::{Assist, Disposition, Passing};

use super::Cache;

impl<M: Memory> Assist for Cache<M> {
    fn on_forward(&mut self, now: Instant, packet: &mut Passing<'_>) -> Disposition {
        match Cache::on_forward(self, now, packet.header, packet.bytes) {
            super::Disposition::Forward => Disposition::Forward,
            super::Disposition::Keep => Disposition::Keep,
        }
    }

    fn on_heard(&mut self, now: Instant, passing: Option<&[u8]>) {
        Cache::on_heard(self, now, passing);
    }

    fn poll_packet(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        Cache::poll_packet(self, now, out)
    }

    fn on_no_room(&mut self, now: Instant) {
        Cache::on_no_room(self, now);
    }

    fn poll_at(&self) -> Option<Wake> {
        Cache::poll_at(self)
    }
}
