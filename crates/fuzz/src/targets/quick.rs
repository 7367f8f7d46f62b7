//! Sender and receiver of a body with Q-Block1 (RFC 9177), with arbitrary datagrams.

use redpoll_base::{Addr, Instant, Rng};
use redpoll_coap::{BlockSize, Peer, QuickConfig, QuickReceiver, QuickSender};

const BODY: u64 = 1_000;

pub fn run(bytes: &[u8]) {
    let config = QuickConfig {
        block: BlockSize::at_most(64),
        ..QuickConfig::default()
    };
    let peer = Peer {
        addr: Addr::UNSPECIFIED,
        port: 5_683,
    };
    let Some(mut sender) = QuickSender::new(config, Rng::new(1), "a", "b=1", BODY) else {
        return;
    };
    let mut receiver = QuickReceiver::new(config, 1);
    let mut now = Instant::ZERO;
    // The input is a list of datagrams, each a length byte and as many bytes. Before each datagram,
    // the sender sends its next block, if one is due.
    let mut rest = bytes;
    while let Some((len, tail)) = rest.split_first() {
        let (datagram, tail) = tail.split_at(tail.len().min(usize::from(*len)));
        rest = tail;
        if let Some(num) = sender.poll_block(now) {
            let left = BODY as usize - num as usize * 64;
            let message = sender.message(num, &vec![7; left.min(64)]);
            // The receiver gets the complete block, and then a truncated block that is followed by
            // bytes of the input.
            let cut = usize::from(*len).min(message.len());
            receiver.input(now, peer, &message);
            receiver.input(now, peer, &[&message[..cut], datagram].concat());
        }
        if let Some(taken) = receiver.input(now, peer, datagram) {
            assert!(taken.offset + taken.payload.len() as u64 <= taken.bytes);
        }
        sender.input(datagram);
        while let Some((_, answer)) = receiver.poll_datagram() {
            assert!(answer.len() <= 1_152);
            sender.input(&answer);
        }
        if let Some(at) = receiver.poll_at() {
            now = now.max(at);
            receiver.on_timeout(now);
        }
    }
}
