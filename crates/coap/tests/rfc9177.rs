//! RFC 9177, section by section, on the wire.

use crate::common;

use common::{CLIENT, SERVER, at, code, kind};
use proptest::prelude::*;
use redpoll_base::{Duration, Instant, Rng};
use redpoll_coap::{
    BlockSize, QUICK_BLOCKS_MAX, QuickAnswer, QuickConfig, QuickReceiver, QuickSender,
};

const SIZE: usize = 16;

fn config() -> QuickConfig {
    QuickConfig {
        block: BlockSize::at_most(SIZE),
        max_payloads: 4,
        ..QuickConfig::default()
    }
}

fn body(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 % 251) as u8).collect()
}

struct Pair {
    now: Instant,
    sender: QuickSender,
    receiver: QuickReceiver,
    whole: Vec<u8>,
    got: Vec<Option<u8>>,
    is_done: bool,
    /// Numbers of blocks, and codes of answers.
    log: Vec<String>,
}

impl Pair {
    fn new(len: usize) -> Pair {
        let (path, query) = ("image", "from=0");
        Pair {
            now: at(0),
            sender: QuickSender::new(config(), Rng::new(1), path, query, len as u64).unwrap(),
            receiver: QuickReceiver::new(config(), 7),
            whole: body(len),
            got: vec![None; len],
            is_done: false,
            log: Vec::new(),
        }
    }

    /// Delivers all datagrams except those that `loses` selects by the number of the block, or
    /// by the answer.
    fn settle(&mut self, mut loses: impl FnMut(&str) -> bool) {
        loop {
            let mut idle = true;
            while let Some(num) = self.sender.poll_block(self.now) {
                idle = false;
                let begin = num as usize * SIZE;
                let end = self.whole.len().min(begin + SIZE);
                let datagram = self.sender.message(num, &self.whole[begin..end]);
                assert_eq!((kind(&datagram), code(&datagram).as_str()), ("NON", "0.03"));
                assert!(QuickReceiver::is_for(&datagram));
                let name = num.to_string();
                self.log.push(name.clone());
                if loses(&name) {
                    continue;
                }
                if let Some(taken) = self.receiver.input(self.now, CLIENT, &datagram) {
                    assert_eq!(
                        (taken.path.as_str(), taken.query.as_str()),
                        ("image", "from=0")
                    );
                    for (at, byte) in taken.payload.iter().enumerate() {
                        let place = &mut self.got[taken.offset as usize + at];
                        assert_eq!(place.replace(*byte), None, "twice");
                    }
                    self.is_done |= taken.is_whole;
                }
            }
            while let Some((to, datagram)) = self.receiver.poll_datagram() {
                idle = false;
                assert_eq!((to, kind(&datagram)), (CLIENT, "NON"));
                self.log.push(code(&datagram));
                if !loses(&code(&datagram)) {
                    let answer = self.sender.input(&datagram);
                    assert!(matches!(answer, QuickAnswer::Continue | QuickAnswer::Done));
                }
            }
            if idle {
                return;
            }
        }
    }

    fn wait(&mut self) {
        let timers = [self.sender.poll_at(), self.receiver.poll_at()];
        let next = timers.into_iter().flatten().min().expect("a timer");
        self.now = self.now.max(next);
        self.receiver.on_timeout(self.now);
    }

    /// Continues until the server has all blocks or stops asking; returns whether it has all.
    fn deliver(&mut self, seed: u64, percent: u32) -> bool {
        let mut dice = Rng::new(seed);
        loop {
            self.settle(|_| dice.below(100) < percent);
            let timers = [self.sender.poll_at(), self.receiver.poll_at()];
            if self.is_done || timers.iter().flatten().next().is_none() {
                return self.is_done;
            }
            self.wait();
        }
    }

    fn is_whole(&self) -> bool {
        self.got
            .iter()
            .zip(&self.whole)
            .all(|(got, byte)| *got == Some(*byte))
    }

    fn log(&mut self) -> String {
        std::mem::take(&mut self.log).join(" ")
    }
}

/// §10.1.1: sets follow one another at once while the server answers 2.31.
#[test]
fn without_loss_sets_of_blocks_follow_at_once() {
    let mut pair = Pair::new(10 * SIZE - 3);
    pair.settle(|_| false);
    assert_eq!(pair.log(), "0 1 2 3 2.31 4 5 6 7 2.31 8 9 2.04");
    assert!(pair.is_whole() && pair.is_done);
    assert_eq!(pair.receiver.poll_at(), None);
    for len in [1, SIZE, SIZE + 1, 4 * SIZE, 8 * SIZE] {
        let mut pair = Pair::new(len);
        pair.settle(|_| false);
        assert!(pair.is_whole() && pair.is_done, "{len}");
    }
}

/// §7.2: without a 2.31 the next set follows after NON_TIMEOUT_RANDOM. Together with the 2.31 the
/// server reports the missing blocks.
#[test]
fn a_block_is_lost() {
    let mut pair = Pair::new(10 * SIZE);
    let mut lost = false;
    pair.settle(|what| what == "1" && !std::mem::replace(&mut lost, true));
    assert_eq!(pair.log(), "0 1 2 3");
    pair.wait();
    assert!((2_000..=3_000).contains(&pair.now.as_millis()));
    pair.settle(|_| false);
    assert_eq!(pair.log(), "4 5 6 7 4.08 1 2.31 8 9 2.04");
    assert!(pair.is_whole());
}

/// §7.2: the server requests missing blocks of the last set after NON_RECEIVE_TIMEOUT, then after
/// twice this time, and at most NON_MAX_RETRANSMIT times.
#[test]
fn the_last_block_is_lost() {
    let mut pair = Pair::new(3 * SIZE);
    pair.settle(|what| what == "2");
    assert_eq!(pair.log(), "0 1 2");
    let mut times = Vec::new();
    for _ in 0..4 {
        pair.wait();
        pair.settle(|what| what == "2");
        assert_eq!(pair.log(), "4.08 2");
        times.push(pair.now.as_millis());
    }
    assert_eq!(times, [4_000, 12_000, 28_000, 60_000]);
    pair.wait();
    pair.settle(|_| false);
    assert_eq!((pair.now.as_millis(), pair.log().as_str()), (124_000, ""));
    assert_eq!(pair.receiver.poll_at(), None);
}

/// A body is lost only if the same block and the requests for it are lost five times in a row.
#[test]
fn bodies_arrive_over_a_lossy_path() {
    let done = (0..100).filter(|seed| Pair::new(700).deliver(*seed, 10));
    assert!(done.count() >= 98);
}

/// §4.3: two bodies whose Request-Tags alternate are both continued.
#[test]
fn two_bodies_with_alternating_blocks_arrive() {
    let new =
        |seed| QuickSender::new(config(), Rng::new(seed), "image", "", 3 * SIZE as u64).unwrap();
    let mut senders = [new(1), new(2)];
    let mut receiver = QuickReceiver::new(config(), 7);
    let mut whole = 0;
    for num in 0..3 {
        for sender in &mut senders {
            let datagram = sender.message(num, &[num as u8; SIZE]);
            let taken = receiver
                .input(at(0), CLIENT, &datagram)
                .expect("a new block");
            whole += usize::from(taken.is_whole);
        }
    }
    assert_eq!(whole, 2);
}

/// §4.3: a repeated block is answered again, and not delivered.
#[test]
fn a_repeated_block_is_answered_and_not_delivered() {
    let mut pair = Pair::new(2 * SIZE);
    pair.settle(|_| false);
    let (again, whole) = (pair.whole[..SIZE].to_vec(), "0 1 2.04");
    assert_eq!(pair.log(), whole);
    let datagram = pair.sender.message(0, &again);
    assert_eq!(pair.receiver.input(pair.now, CLIENT, &datagram), None);
    assert_eq!(code(&pair.receiver.poll_datagram().unwrap().1), "2.04");
}

/// §7.2: NON_RECEIVE_TIMEOUT is at least a second longer than the longest pause.
#[test]
fn non_receive_timeout_exceeds_the_longest_pause_by_a_second() {
    let of = |ms| {
        let non_timeout = Duration::from_millis(ms);
        let config = QuickConfig {
            non_timeout,
            ..config()
        };
        config.non_receive_timeout().as_millis()
    };
    assert_eq!([of(2_000), of(1_000), of(200)], [4_000, 2_500, 1_300]);
}

#[test]
fn bodies_of_no_size_and_of_too_many_blocks() {
    let new = |bytes| QuickSender::new(config(), Rng::new(1), "a", "", bytes).is_some();
    let most = u64::from(QUICK_BLOCKS_MAX) * SIZE as u64;
    assert_eq!(
        [new(0), new(most), new(most + 1), new(u64::MAX)],
        [false, true, false, false]
    );
}

#[test]
fn malformed_and_inconsistent_datagrams_are_refused() {
    let mut sender = QuickSender::new(config(), Rng::new(1), "a", "", 40).unwrap();
    let mut receiver = QuickReceiver::new(config(), 7);
    let good = sender.message(0, &[1; SIZE]);
    let refused = |receiver: &mut QuickReceiver, datagram: &[u8]| {
        assert_eq!(
            receiver.input(at(0), CLIENT, datagram),
            None,
            "{datagram:x?}"
        );
        receiver.poll_datagram().map(|(_, answer)| code(&answer))
    };
    // The receiver refuses short blocks, blocks after the end, and wrong last blocks.
    for (num, len) in [(0, SIZE - 1), (3, 8), (2, SIZE), (2, 7), (1, 0)] {
        let datagram = sender.message(num, &vec![1; len]);
        assert!(refused(&mut receiver, &datagram).is_some_and(|code| code.starts_with("4.0")));
    }
    // A block without Request-Tag: option 292 becomes 290, which is elective and unassigned, by a
    // change of its delta after Size1 (60) from 232 to 230.
    let mut other = good.clone();
    let at_tag = good
        .windows(2)
        .position(|bytes| bytes == [0xd4, 219])
        .unwrap();
    other[at_tag + 1] = 217;
    assert_eq!(refused(&mut receiver, &other).as_deref(), Some("4.00"));
    for end in 0..good.len() {
        let _ = refused(&mut receiver, &good[..end]);
    }
    assert_eq!(receiver.poll_at(), None);
    // A block of another client's body replaces an incomplete body.
    assert!(receiver.input(at(0), CLIENT, &good).is_some());
    assert!(receiver.input(at(0), SERVER, &good).is_some());
    // The sender ignores messages that do not answer its own.
    assert_eq!(sender.input(&good), QuickAnswer::Unrelated);
    assert_eq!(
        sender.input(&[0x52, 0x44, 0, 1, 0, 0]),
        QuickAnswer::Unrelated
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn with_any_losses_each_block_is_delivered_once(seed in any::<u64>(), len in 1..700_usize, percent in 0..45_u32) {
        let mut pair = Pair::new(len);
        let is_done = pair.deliver(seed, percent);
        prop_assert_eq!(is_done, pair.is_whole());
        prop_assert!(is_done || percent > 0);
    }

    #[test]
    fn random_datagrams_cause_no_panic_in_either_end(bytes in proptest::collection::vec(any::<u8>(), 0..80), cut in 0..80_usize) {
        let mut pair = Pair::new(300);
        let block = pair.sender.message(3, &[5; SIZE]);
        let cut = cut.min(block.len());
        for datagram in [bytes.clone(), [&block[..cut], &bytes].concat()] {
            pair.receiver.input(at(0), CLIENT, &datagram);
            pair.sender.input(&datagram);
        }
        pair.receiver.on_timeout(at(100_000));
        while pair.receiver.poll_datagram().is_some() {}
    }
}
