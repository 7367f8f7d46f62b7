//! Matter's bulk data exchange over a wire, in virtual time.

use proptest::prelude::*;
use redpoll_base::{Duration, Instant, Rng};
use redpoll_rivals::bdx::{Config, DATAGRAM_MAX, Provider, Receiver};

struct Pair {
    now: Instant,
    receiver: Receiver,
    provider: Provider,
    image: Vec<u8>,
    got: Vec<u8>,
    is_done: bool,
    /// The messages on the wire: sender, opcode.
    log: Vec<String>,
    /// Retransmitted bytes of the image.
    again: u64,
}

impl Pair {
    fn new(len: usize, have: usize) -> Pair {
        let (now, config) = (Instant::from_millis(0), Config::default());
        let image: Vec<u8> = (0..len).map(|at| (at * 7 % 251) as u8).collect();
        Pair {
            now,
            receiver: Receiver::new(now, config, Rng::new(1), have as u64),
            provider: Provider::new(config, Rng::new(2), len as u64),
            got: image[..have].to_vec(),
            image,
            is_done: false,
            log: Vec::new(),
            again: 0,
        }
    }

    /// Delivers all datagrams except those that `loses` selects.
    fn settle(&mut self, mut loses: impl FnMut(&str) -> bool) {
        let mut out = [0; DATAGRAM_MAX];
        loop {
            let mut idle = true;
            while let Some(len) = self.receiver.poll_datagram(&mut out) {
                idle = false;
                let name = format!("R {:x}", out[9]);
                self.log.push(name.clone());
                if loses(&name) {
                    continue;
                }
                if let Some(wanted) = self.provider.input(self.now, &out[..len]) {
                    let begin = wanted.offset as usize;
                    let bytes = &self.image[begin..begin + wanted.len];
                    self.provider.give(self.now, bytes);
                }
            }
            while let Some(len) = self.provider.poll_datagram(&mut out) {
                idle = false;
                let name = format!("P {:x}", out[9]);
                self.log.push(name.clone());
                if loses(&name) {
                    continue;
                }
                if let Some(piece) = self.receiver.input(self.now, &out[..len]) {
                    assert_eq!(piece.offset as usize, self.got.len());
                    self.got.extend_from_slice(piece.bytes);
                    self.is_done |= piece.is_last;
                }
            }
            if idle {
                return;
            }
        }
    }

    fn wait(&mut self) -> bool {
        let timers = [self.receiver.poll_at(), self.provider.poll_at()];
        let Some(next) = timers.into_iter().flatten().min() else {
            return false;
        };
        self.now = self.now.max(next);
        self.receiver.on_timeout(self.now);
        self.again += self.provider.on_timeout(self.now);
        true
    }

    fn log(&mut self) -> String {
        std::mem::take(&mut self.log).join(", ")
    }
}

/// Each query gets a block. Messages carry the acknowledgments; only the last is sent separately.
#[test]
fn a_block_at_a_time() {
    let mut pair = Pair::new(2_500, 0);
    pair.settle(|_| false);
    let blocks = "R 4, P 5, R 10, P 11, R 10, P 11, R 10, P 12, R 14";
    assert_eq!(pair.log(), blocks);
    assert!(pair.is_done && pair.got == pair.image);
    assert!(pair.wait());
    pair.settle(|_| false);
    assert_eq!((pair.log().as_str(), pair.now.as_millis()), ("P 10", 200));
    assert!(!pair.wait() && !pair.receiver.has_failed());
    assert_eq!(pair.again, 0);
}

#[test]
fn a_transfer_continues_at_the_first_missing_byte() {
    for have in [0, 1_024, 2_048, 2_500] {
        let mut pair = Pair::new(2_500, have);
        pair.settle(|_| false);
        assert!(pair.is_done && pair.got == pair.image, "{have}");
    }
}

/// 4.11.2.1: the first two timeouts are 330 to 412.5 ms, and each later one is 1.6 times as long;
/// then the transfer ends.
#[test]
fn a_message_is_repeated_four_times() {
    let mut pair = Pair::new(5_000, 0);
    let mut seen = 0;
    pair.settle(|what| {
        seen += usize::from(what == "P 11");
        what == "P 11" && seen > 1
    });
    pair.log();
    let begin = pair.now;
    let mut times = Vec::new();
    while !pair.receiver.has_failed() && pair.wait() {
        pair.settle(|what| what.starts_with("P "));
        if pair.log().contains("R 10") {
            times.push(pair.now.since(begin).as_millis());
        }
    }
    let least = [330, 660, 1_188, 2_032];
    assert_eq!(times.len(), 4, "{times:?}");
    for (time, least) in times.iter().zip(least) {
        assert!((least..=least * 5 / 4 + 4).contains(time), "{times:?}");
    }
    let end = pair.now.since(begin);
    assert!((Duration::from_millis(3_380)..Duration::from_millis(4_300)).contains(&end));
    assert!(pair.again >= 3 * 1_024);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn with_any_losses_data_arrive_in_order_and_once(seed in any::<u64>(), len in 0..9_000_usize, percent in 0..60_u32) {
        let mut pair = Pair::new(len, 0);
        let mut dice = Rng::new(seed);
        for _ in 0..500 {
            pair.settle(|_| dice.below(100) < percent);
            if pair.is_done || pair.receiver.has_failed() || !pair.wait() {
                break;
            }
        }
        prop_assert!(pair.image.starts_with(&pair.got));
        prop_assert_eq!(pair.is_done, pair.got.len() == len && pair.is_done);
        prop_assert!(pair.is_done || percent > 0);
    }

    #[test]
    fn random_datagrams_cause_no_panic_in_bdx(bytes in proptest::collection::vec(any::<u8>(), 0..40), cut in 0..24_usize) {
        let mut pair = Pair::new(5_000, 0);
        let mut out = [0; DATAGRAM_MAX];
        let len = pair.receiver.poll_datagram(&mut out).unwrap();
        let known = [&out[..cut.min(len)], &bytes[..]].concat();
        for datagram in [bytes, known] {
            if let Some(wanted) = pair.provider.input(pair.now, &datagram) {
                pair.provider.give(pair.now, &vec![0; wanted.len]);
            }
            pair.receiver.input(pair.now, &datagram);
            while pair.provider.poll_datagram(&mut out).is_some() {}
            while pair.receiver.poll_datagram(&mut out).is_some() {}
        }
        pair.wait();
    }
}
