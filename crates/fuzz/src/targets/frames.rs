//! A series of frames, each a length byte and its bytes, decoded to layers. Fragments are
//! reassembled across the frames.

use redpoll_base::Addr;
use redpoll_dissect::{Dissector, Keys, Reading};

pub fn run(bytes: &[u8]) {
    let Some((choice, mut rest)) = bytes.split_first() else {
        return;
    };
    let mut reading = Reading::of(Addr([0xfd; 16]));
    match choice % 3 {
        0 => {}
        1 => reading.keys = Keys::new(Some([7; 16]), Vec::new(), [2, 0, 0, 0, 0, 0]),
        _ => reading.keys = Keys::default().with_thread([7; 16]),
    }
    let mut dissector = Dissector::new(reading);
    let mut at_us = 0;
    while let Some((len, tail)) = rest.split_first() {
        let (frame, tail) = tail.split_at(tail.len().min(usize::from(*len)));
        rest = tail;
        // Some frames arrive after the reassembly timeout.
        at_us += u64::from(*len) * 100_000;
        let frame = dissector.mpdu(frame, at_us);
        frame.checksum();
        assert!(!frame.json(1, Some(at_us)).is_null());
    }
}
