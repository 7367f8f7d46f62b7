//! Secured frames between two MACs: repetitions, replays, and arbitrary changes of the bytes in
//! transit.
#![cfg(feature = "security")]

use crate::bench;

use bench::*;
use proptest::prelude::*;
use redpoll_base::{Instant, Memory, Rng};
use redpoll_mac::security::{
    Key, Refusal, Security, SecurityConfig, SecurityLevel, SecurityMemory, SoftwareAes,
};
use redpoll_mac::{
    CsmaCa, FrameBuf, Mac, MacConfig, MacEvent, RadioCaps, RadioResult, RxInfo, Service, TxStatus,
};
use redpoll_wire::ieee802154::Address;

enum Heap {}

impl Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

struct Node {
    mac: Mac,
    security: Security<Heap>,
    now: Instant,
}

impl Node {
    fn new(short: u16, level: SecurityLevel, auto_ack: bool) -> Node {
        let eui64 = [2, 0, 0, 0, 0, 0, 0, short as u8];
        let config = SecurityConfig::new(level, Key::new(1, [0x2b; 16]), &SoftwareAes, eui64)
            .with(|it| it.eui64_prefix = Some([2, 0, 0, 0, 0, 0]));
        let memory = SecurityMemory {
            replay: vec![None; 4].into(),
            names: Box::default(),
        };
        let mut security = Security::new(config, memory);
        let end = security.poll_counter().unwrap();
        security.on_counter_stored(end);
        let config = MacConfig::default().with(|it| {
            it.short = short;
            it.extended = eui64;
            it.caps = RadioCaps {
                auto_ack,
                ..RadioCaps::default()
            };
        });
        let mut mac = Mac::new(config, CsmaCa, Rng::new(short.into()));
        mac.make_room(&security);
        Node {
            mac,
            security,
            now: Instant::from_secs(1),
        }
    }

    fn send(&mut self, dst: Address, payload: &[u8]) -> Vec<u8> {
        let room = self.mac.frame_mut(dst).unwrap();
        room[..payload.len()].copy_from_slice(payload);
        self.mac.submit(self.now, payload.len(), Service::default());
        self.on_air(TxStatus::Delivered)
    }

    fn on_air(&mut self, expected: TxStatus) -> Vec<u8> {
        assert!(self.mac.seal(self.now, &mut self.security));
        let mut bench = Bench {
            mac: self.mac.clone(),
            now: self.now,
            buffer: FrameBuf::new(),
        };
        bench.attempt(match expected {
            TxStatus::NoAck => RadioResult::NoAck,
            _ => ACKED,
        });
        self.mac = bench.mac;
        assert!(self.mac.poll_event().is_some());
        bench.buffer.to_vec()
    }

    fn hear(&mut self, frame: &[u8]) -> Option<Vec<u8>> {
        let mut clear = FrameBuf::new();
        let info = RxInfo::default();
        let heard =
            self.mac
                .input_secured(self.now, frame, &info, &mut self.security, &mut clear)?;
        Some(heard.payload.to_vec())
    }

    fn refused(&self, why: Refusal) -> u32 {
        self.security
            .counters()
            .refusals()
            .filter(|(reason, _)| *reason == why)
            .map(|(_, count)| count)
            .sum()
    }
}

#[test]
fn a_repetition_is_a_duplicate_and_later_the_same_bytes_are_a_replay() {
    let mut a = Node::new(1, SecurityLevel::EncMic32, true);
    let mut b = Node::new(2, SecurityLevel::EncMic32, true);
    let frame = a.send(PEER, b"hello");
    assert_eq!(b.hear(&frame).as_deref(), Some(&b"hello"[..]));
    // The Imm-ACK was lost, and the sender has repeated the frame.
    assert_eq!(b.hear(&frame), None);
    assert_eq!(b.mac.counters().rx_duplicates, 1);
    assert_eq!(b.refused(Refusal::Replayed), 0);
    // After 5 s, the same bytes are a replay: a MAC does not repeat a frame this late.
    b.now = Instant::from_secs(5);
    assert_eq!(b.hear(&frame), None);
    assert_eq!(b.refused(Refusal::Replayed), 1);
    let next = a.send(PEER, b"hello");
    assert_eq!(b.hear(&next).as_deref(), Some(&b"hello"[..]));
    assert_eq!(b.hear(&frame), None);
    assert_eq!(b.refused(Refusal::OldCounter), 1);
    assert_eq!(
        (b.mac.counters().rx_frames, b.mac.counters().rx_refused),
        (2, 2)
    );
}

#[test]
fn frames_refused_by_security_are_acknowledged() {
    let mut b = Node::new(2, SecurityLevel::EncMic32, false);
    assert_eq!(b.hear(&data(ME, PEER, 9, b"plain")), None);
    assert_eq!(b.refused(Refusal::Unsecured), 1);
    let mut bench = Bench {
        mac: b.mac,
        now: b.now,
        buffer: FrameBuf::new(),
    };
    assert_eq!(bench.poll(), LOAD);
    assert_eq!(*bench.buffer, [0x02, 0, 9]);
}

#[test]
fn frames_for_others_and_acknowledgements_are_not_decrypted() {
    let mut b = Node::new(2, SecurityLevel::EncMic32, true);
    assert_eq!(b.hear(&data(ME, Address::Short(3), 9, b"plain")), None);
    assert_eq!(b.hear(&[0x02, 0, 9]), None);
    assert_eq!(b.hear(&[]), None);
    let counters = b.mac.counters();
    assert_eq!(counters.rx_not_for_us, 1);
    assert_eq!((counters.rx_stray_acks, counters.rx_malformed), (1, 1));
    assert_eq!(counters.rx_refused, 0);
}

#[test]
fn a_data_request_is_authenticated_and_its_identifier_in_the_clear() {
    let mut child = Node::new(1, SecurityLevel::EncMic32, true);
    let mut parent = Node::new(2, SecurityLevel::EncMic32, true);
    assert!(child.mac.request_data(child.now, PEER));
    let frame = child.on_air(TxStatus::Delivered);
    assert_eq!(frame.len(), 9 + 6 + 1 + 4);
    assert_eq!(frame[15], 4);
    assert_eq!(parent.hear(&frame), None);
    assert_eq!(parent.mac.counters().rx_data_requests, 1);
    assert!(matches!(
        parent.mac.poll_event(),
        Some(MacEvent::DataRequest { child, .. }) if child == ME
    ));
    assert_eq!(parent.hear(&frame), None);
    assert_eq!(parent.mac.counters().rx_data_requests, 1);
    assert_eq!(parent.refused(Refusal::Replayed), 1);
}

#[test]
fn a_frame_that_cannot_be_protected_is_given_up_at_once() {
    let mut a = Node::new(1, SecurityLevel::EncMic32, true);
    let config = a.mac.config().clone().with(|it| it.security_bytes = 0);
    a.mac = Mac::new(config, CsmaCa, Rng::new(1));
    let room = a.mac.frame_mut(PEER).unwrap().len();
    a.mac.submit(a.now, room, Service::default());
    assert!(!a.mac.seal(a.now, &mut a.security));
    let MacEvent::Done { status, .. } = a.mac.poll_event().unwrap() else {
        panic!("another event");
    };
    assert_eq!(status, TxStatus::Unsealed);
    assert_eq!(a.mac.counters().dropped_unsealed, 1);
    assert!(a.mac.is_idle());
}

proptest! {
    #[test]
    fn a_flipped_bit_is_refused(
        level in prop::sample::select(&SecurityLevel::ALL[..]),
        payload in prop::collection::vec(any::<u8>(), 0..=90),
        bit in any::<prop::sample::Index>(),
    ) {
        let mut a = Node::new(1, level, true);
        let mut b = Node::new(2, level, true);
        let frame = a.send(PEER, &payload);
        let mut changed = frame.clone();
        let at = bit.index(8 * frame.len());
        changed[at / 8] ^= 1 << (at % 8);
        prop_assert_eq!(b.hear(&changed), None);
        prop_assert_eq!(b.hear(&frame), Some(payload));
    }

    /// Random bytes after a header for this node cause no panic; every frame is refused and
    /// counted.
    #[test]
    fn garbage_is_refused_and_counted(
        control in any::<u16>(),
        tail in prop::collection::vec(any::<u8>(), 0..=116),
    ) {
        let mut b = Node::new(2, SecurityLevel::Mic32, true);
        let mut frame = data(ME, PEER, 1, &tail);
        // The bits of security, pending, acknowledgement and version.
        let chosen = control & 0x1038;
        frame[0] = frame[0] & !0x38 | chosen as u8;
        frame[1] = frame[1] & !0x10 | (chosen >> 8) as u8;
        prop_assert_eq!(b.hear(&frame), None);
        let refused: u32 = b.security.counters().refusals().map(|(_, n)| n).sum();
        prop_assert_eq!(refused, b.mac.counters().rx_refused);
        prop_assert_eq!(refused, 1);
    }

    #[test]
    fn no_frame_is_accepted_twice(order in prop::collection::vec(0..8_usize, 1..60)) {
        let mut a = Node::new(1, SecurityLevel::EncMic32, true);
        let mut b = Node::new(2, SecurityLevel::EncMic32, true);
        let frames: Vec<_> = (0..8).map(|i| a.send(PEER, &[i])).collect();
        let mut newest = None;
        for which in order {
            b.now += redpoll_base::Duration::from_secs(10);
            let is_new = newest.is_none_or(|newest| which > newest);
            prop_assert_eq!(b.hear(&frames[which]).is_some(), is_new);
            newest = newest.max(Some(which));
        }
    }
}
