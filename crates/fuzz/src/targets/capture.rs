//! Captures of every format and link type, decoded without keys, and with keys of IEEE 802.15.4 and
//! of Thread. Reading must end, and every frame must have a text.

use std::io::Cursor;

use redpoll_base::Addr;
use redpoll_dissect::capture::Capture;
use redpoll_dissect::{Dissector, Keys, Reading};

const PREFIX: Addr = Addr([
    0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c, 0, 0, 0, 0, 0, 0, 0, 0,
]);

pub fn run(bytes: &[u8]) {
    read(bytes, Keys::default());
    let names = vec![(1, [2, 0, 0, 0, 0, 0, 0, 1])];
    read(bytes, Keys::new(Some([7; 16]), names, [2, 0, 0, 0, 0, 0]));
    read(bytes, Keys::default().with_thread([7; 16]));
}

fn read(bytes: &[u8], keys: Keys) {
    let input = Cursor::new(bytes.to_vec());
    let Ok(mut capture) = Capture::open(Box::new(input)) else {
        return;
    };
    capture.look_ahead();
    let mut dissector = Dissector::new(Reading {
        keys,
        ..Reading::of(PREFIX)
    });
    let mut frames = 0;
    while let Ok(Some(record)) = capture.next_record() {
        frames += 1;
        let frame = dissector.record(&record);
        frame.checksum();
        assert!(frame.json(record.number, record.at_us).is_object());
    }
    assert!(frames <= capture.frames());
    assert!(capture.odd().count() < 100);
}
