//! Both ends of Matter's bulk data exchange (BDX), with arbitrary datagrams.

use redpoll_base::{Instant, Rng};
use redpoll_rivals::bdx::{Config, DATAGRAM_MAX, Provider, Receiver};

const IMAGE: u64 = 5_000;

pub fn run(bytes: &[u8]) {
    let config = Config::default();
    let mut now = Instant::ZERO;
    let mut receiver = Receiver::new(now, config, Rng::new(1), 0);
    let mut provider = Provider::new(config, Rng::new(2), IMAGE);
    let mut out = [0; DATAGRAM_MAX];
    // The input is a list of datagrams, each a length byte and as many bytes. Both ends receive
    // each datagram, and also exchange their own messages.
    let mut rest = bytes;
    while let Some((len, tail)) = rest.split_first() {
        let (datagram, tail) = tail.split_at(tail.len().min(usize::from(*len)));
        rest = tail;
        if let Some(piece) = receiver.input(now, datagram) {
            assert!(piece.bytes.len() <= 1_024);
        }
        let mut wanted = provider.input(now, datagram);
        while let Some(len) = receiver.poll_datagram(&mut out) {
            wanted = provider.input(now, &out[..len]).or(wanted);
        }
        if let Some(wanted) = wanted {
            assert!(wanted.offset + wanted.len as u64 <= IMAGE);
            provider.give(now, &vec![7; wanted.len]);
        }
        while let Some(len) = provider.poll_datagram(&mut out) {
            receiver.input(now, &out[..len]);
        }
        let timers = [receiver.poll_at(), provider.poll_at()];
        if let Some(at) = timers.into_iter().flatten().min() {
            now = now.max(at);
            receiver.on_timeout(now);
            provider.on_timeout(now);
        }
    }
}
