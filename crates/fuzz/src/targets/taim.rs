//! TAiM with packets of a few flows, in which any byte may be changed. No packet may be lost,
//! duplicated or held forever.

use redpoll_assist::taim::{FlowSlot, HeldSlot, Input, Memory, Params, Taim};
use redpoll_base::{Duration, Instant};

use super::Heap;

const FLOWS: usize = 8;
const PACKETS: usize = 6;

pub fn run(bytes: &[u8]) {
    let memory = Memory::<Heap, usize> {
        flows: vec![FlowSlot::EMPTY; FLOWS].into(),
        index: vec![0; 2 * FLOWS].into(),
        schedule: vec![0; FLOWS].into(),
        held: (0..PACKETS).map(|_| HeldSlot::EMPTY).collect(),
    };
    let params = Params {
        flow_packets: 3,
        max_wait: Some(Duration::from_secs(2)),
        ..Params::default()
    };
    let mut taim = Taim::new(params, [1, 2], memory);
    let mut now = Instant::ZERO;
    let mut inside = std::collections::BTreeSet::new();
    // Bytes of a step: flow and end (0), TCP fields (2 to 9), flags (10), place and value of a
    // change (11, 12), length (13), and elapsed time (1, 14).
    for (handle, step) in bytes.chunks_exact(16).enumerate() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 40, 6, 64];
        let (flow, is_up) = (step[0] % 6, step[0] & 0x80 != 0);
        let mut ends = [[flow, 0, 1], [99, 0, 2]];
        if !is_up {
            ends.reverse();
        }
        for [last, ..] in ends {
            packet.extend([0xfd; 15]);
            packet.push(last);
        }
        for [_, high, low] in ends {
            packet.extend([high, low]);
        }
        packet.extend(&step[2..10]);
        packet.extend([0x50, step[10], 0, 0, 0, 0, 0, 0]);
        packet.resize(80, 0);
        if let Some(byte) = packet.get_mut(usize::from(step[11])) {
            *byte = step[12];
        }
        packet.truncate(usize::from(step[13]).max(40));
        now += Duration::from_millis(u64::from(step[1]) * u64::from(step[14]));
        assert!(inside.insert(handle));
        match taim.input(now, &packet, handle) {
            Input::Wait => {}
            Input::Pass(handle) | Input::WaitInstead(handle) => assert!(inside.remove(&handle)),
        }
        if step[15] & 1 != 0 {
            while let Some(packet) = taim.poll(now) {
                assert!(inside.remove(&packet.handle));
            }
        }
        assert!(taim.waiting_packets() as usize <= PACKETS);
        let (on_probation, confirmed) = taim.flow_counts();
        assert!((on_probation + confirmed) as usize <= FLOWS);
    }
    while taim.waiting_packets() > 0 {
        now = taim
            .poll_at()
            .expect("a timer runs while packets wait")
            .at
            .max(now);
        if let Some(packet) = taim.poll(now) {
            assert!(inside.remove(&packet.handle));
        }
    }
    assert!(inside.is_empty());
}
