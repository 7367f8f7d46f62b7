//! IEEE 802.15.4 headers and check sequences.

use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::{self, FrameHeader};

pub fn run(frame: &[u8]) {
    ieee802154::fcs(frame);
    if let Ok((header, payload)) = FrameHeader::parse(frame) {
        assert!(frame.ends_with(payload));
        let mut buffer = [0; 23];
        let mut out = Cursor::new(&mut buffer);
        header
            .emit(&mut out)
            .expect("23 bytes are the longest header");
        assert_eq!(out.position(), header.len());
        // Frame version 2 is parsed, but never written.
        if header.version < 2 {
            assert_eq!(FrameHeader::parse(out.written()), Ok((header, &[][..])));
        }
    }
}
