extern crate std;
use std::vec::Vec;

use super::*;

const IRS: SeqNum = SeqNum(u32::MAX - 4);

struct Rig {
    inbox: Inbox<[u8; 16]>,
    nxt: SeqNum,
}

impl Rig {
    fn new() -> Self {
        Rig {
            inbox: Inbox::new([0; 16]),
            nxt: IRS,
        }
    }

    /// Receives `text`, whose first byte is `at` bytes after the start of the stream.
    fn take(&mut self, at: u32, text: &[u8]) -> Arrival {
        let edge = self.nxt + self.inbox.room();
        let (nxt, arrival) = self.inbox.take(self.nxt, edge, IRS + at, text);
        self.nxt = nxt;
        arrival
    }

    fn read(&mut self, count: usize) -> Vec<u8> {
        let (first, second) = self.inbox.peek();
        let mut out = [first, second].concat();
        out.truncate(count);
        assert_eq!(self.inbox.consume(count), out.len());
        out
    }
}

#[test]
fn text_in_order_is_ready_at_once() {
    let mut rig = Rig::new();
    assert_eq!(rig.take(0, b"abc"), Arrival::InOrder);
    assert_eq!(rig.take(0, b"abc"), Arrival::Nothing);
    assert_eq!(rig.take(1, b"bcde"), Arrival::InOrder);
    assert_eq!(rig.read(9), b"abcde");
}

#[test]
fn text_beyond_a_gap_waits_in_place() {
    let mut rig = Rig::new();
    assert_eq!(rig.take(6, b"gh"), Arrival::OutOfOrder);
    assert_eq!(rig.take(3, b"de"), Arrival::OutOfOrder);
    assert_eq!(rig.inbox.ready(), 0);
    assert_eq!(rig.take(0, b"abcd"), Arrival::FilledGap);
    assert_eq!(rig.read(9), b"abcde");
    assert!(rig.inbox.has_gap());
    assert_eq!(rig.take(4, b"ef"), Arrival::FilledGap);
    assert_eq!(rig.read(9), b"fgh");
    assert!(!rig.inbox.has_gap());
}

#[test]
fn text_outside_the_window_is_cut_off() {
    let mut rig = Rig::new();
    assert_eq!(rig.take(14, b"XYZ"), Arrival::OutOfOrder);
    assert_eq!(rig.take(0, b"0123456789abcd"), Arrival::FilledGap);
    assert_eq!(rig.inbox.room(), 0);
    assert_eq!(rig.take(16, b"Z"), Arrival::Nothing);
    assert_eq!(rig.read(20), b"0123456789abcdXY");
}

#[test]
fn text_after_the_fin_is_ignored() {
    let mut rig = Rig::new();
    rig.inbox.on_fin(rig.nxt, IRS + 3);
    rig.inbox.on_fin(rig.nxt, IRS + 9);
    assert_eq!(rig.take(3, b"xxx"), Arrival::Nothing);
    assert!(!rig.inbox.fin_is_next(rig.nxt));
    assert_eq!(rig.take(0, b"abcdef"), Arrival::InOrder);
    assert!(rig.inbox.fin_is_next(rig.nxt));
    assert_eq!(rig.read(9), b"abc");
}

#[test]
fn every_order_of_four_pieces_at_every_ring_position() {
    let stream: Vec<u8> = (0..12).collect();
    let pieces = [(0u32, 4usize), (3, 3), (6, 4), (9, 3)];
    let mut orders = Vec::new();
    for a in 0..4 {
        for b in (0..4).filter(|b| *b != a) {
            for c in (0..4).filter(|c| *c != a && *c != b) {
                orders.push([a, b, c, 6 - a - b - c]);
            }
        }
    }
    for shift in 0..16u32 {
        for order in &orders {
            let mut rig = Rig::new();
            rig.take(0, &std::vec![0; shift as usize]);
            rig.read(16);
            for &piece in order {
                let (at, len) = pieces[piece];
                let at_usize = at as usize;
                rig.take(shift + at, &stream[at_usize..at_usize + len]);
            }
            assert_eq!(rig.read(16), stream, "{order:?} at {shift}");
        }
    }
}
