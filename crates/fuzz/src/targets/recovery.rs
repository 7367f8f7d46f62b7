//! A relay that receives plain and recoverable fragments (RFC 4944 §5.3, RFC 8931 §5) and sends its
//! own datagrams. The relay must not panic. After all its timers have expired, it must have no
//! timer set, no slot in use and no queued datagram.
//!
//! The input is a list of steps: a byte for the kind of step, a byte for a length, a time or a
//! result, and the bytes of a frame if any.

use redpoll_base::{Duration, Instant};
use redpoll_lowpan::{
    ForwardingMemory, FragmentBuffer, Gone, Incoming, Lowpan, LowpanConfig, LowpanMemory, Note,
    Onward, Outgoing, PayloadSource, RecoveryConfig, RecoveryMemory, Slot, SwitchedPath,
    VirtualBuffer,
};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;

use super::Heap;

struct NoTransport;

impl PayloadSource for NoTransport {
    fn read(&mut self, _: u32, _: usize, _: &mut [u8]) -> Result<usize, Gone> {
        Err(Gone)
    }
}

const BEFORE: Address = Address::Short(1);
const HERE: Address = Address::Short(2);
const BEHIND: Address = Address::Short(3);
const SLOTS: usize = 3;

fn relay() -> Lowpan<Heap> {
    let memory = LowpanMemory {
        slots: vec![Slot::EMPTY; SLOTS].into(),
        bytes: vec![0; SLOTS * 600].into(),
    };
    let mut relay = Lowpan::new(LowpanConfig::default(), memory);
    relay.forward_fragments(ForwardingMemory {
        datagrams: vec![VirtualBuffer::EMPTY; 2].into(),
        fragments: vec![FragmentBuffer::EMPTY; 4].into(),
    });
    let recovery = RecoveryMemory {
        outgoing: vec![Outgoing::EMPTY; 2].into(),
        incoming: vec![Incoming::EMPTY; 2].into(),
        paths: vec![SwitchedPath::EMPTY; 2].into(),
    };
    let config = RecoveryConfig::default().with(|it| it.window = 2);
    relay.recover_fragments(config, recovery);
    relay
}

fn own(relay: &mut Lowpan<Heap>, now: Instant, len: usize) {
    let Some(slot) = relay.allocate(40 + len) else {
        return;
    };
    let header = Ipv6Header {
        payload_len: len as u16,
        next_header: 59,
        ..Ipv6Header::default()
    };
    relay.packet_mut(slot)[..40].copy_from_slice(&header.to_bytes());
    relay.queue(now, slot, BEHIND);
}

pub fn run(input: &[u8]) {
    let mut relay = relay();
    let mut now = Instant::from_millis(1);
    let mut frame = [0; 116];
    let mut rest = input;
    while let [what, number, tail @ ..] = rest {
        let is_frame = what % 8 < 4;
        let len = if is_frame {
            tail.len().min(usize::from(*number))
        } else {
            0
        };
        let (bytes, tail) = tail.split_at(len);
        rest = tail;
        match what % 8 {
            0..=3 => {
                let from = if what & 1 == 0 { BEFORE } else { BEHIND };
                let onward = Onward {
                    next_hop: BEHIND,
                    link_src: HERE,
                    capacity: 116,
                };
                let route = |_: &Ipv6Header| (what & 2 == 0).then_some(onward);
                if let Ok(Some(slot)) = relay.input_routed(now, from, HERE, bytes, route) {
                    relay.release(slot);
                }
            }
            4 => own(&mut relay, now, usize::from(*number) * 2),
            5 => {
                now += Duration::from_millis(u64::from(*number) * 8);
                relay.on_timeout(now);
            }
            _ => {
                let built = relay.next_frame(now, HERE, 116, &mut frame, &mut NoTransport);
                match number % 4 {
                    0 if built.is_some() => relay.on_frame_suspended(now, Note(7)),
                    1 => relay.on_frame_done(now, false),
                    _ => relay.on_frame_done(now, true),
                }
            }
        }
        while relay.poll_event().is_some() {}
    }
    // No more acknowledgments arrive, and all timers expire.
    for _ in 0..2_000 {
        while relay
            .next_frame(now, HERE, 116, &mut frame, &mut NoTransport)
            .is_some()
        {
            relay.on_frame_done(now, true);
        }
        while relay.poll_event().is_some() {}
        let Some(wake) = relay.poll_at() else {
            break;
        };
        now = now.max(wake.at);
        relay.on_timeout(now);
    }
    assert_eq!(relay.poll_at(), None);
    assert_eq!(relay.free_slots(), SLOTS);
    assert_eq!(relay.occupancy().current, 0);
}
