//! The serial line to a radio co-processor, its Spinel messages, and ZEP frames in UDP datagrams.

use redpoll_base::{Duration, Instant};
use redpoll_linux::radio::hdlc::{Decoder, encode};
use redpoll_linux::radio::rcp::{Identity, Rcp};
use redpoll_linux::radio::spinel::{Message, Received};
use redpoll_linux::radio::zep::{Datagram, Zep};
use redpoll_wire::hdlc::Frame;

const IDENTITY: Identity = Identity {
    channel: 26,
    pan_id: 0x7270,
    short: 1,
    extended: [2, 0, 0, 0, 0, 0, 0, 1],
    max_csma_backoffs: 4,
    max_frame_retries: 3,
};

pub fn run(bytes: &[u8]) {
    let mut decoder = Decoder::default();
    let mut frames = Vec::new();
    for byte in encode(bytes) {
        if let Some(Frame::Good(frame)) = decoder.input(byte) {
            frames.push(frame.to_vec());
        }
    }
    // The longest accepted frame has 2,048 bytes, including a check sequence of two bytes.
    if !bytes.is_empty() && bytes.len() <= 2_046 {
        assert_eq!(frames, [bytes]);
    }
    if let Some(message) = Message::parse(bytes) {
        assert_eq!(Message::parse(&message.to_frame()), Some(message));
    }
    Received::parse(bytes);
    if let Ok(datagram) = Datagram::parse(bytes) {
        let again = datagram.to_bytes(std::time::Duration::ZERO);
        assert_eq!(Datagram::parse(&again), Ok(datagram));
    }
    Zep::new(IDENTITY).input(bytes);

    // The host's side of a co-processor gets the input as raw bytes, and then in frames of the
    // serial line.
    let mut rcp = Rcp::new(IDENTITY);
    let mut now = Instant::ZERO;
    rcp.on_connected(now);
    rcp.input(now, bytes);
    for piece in bytes.chunks(16) {
        now += Duration::from_millis(300);
        rcp.input(now, &encode(piece));
        rcp.on_timeout(now);
        rcp.output().clear();
        while rcp.poll_event().is_some() {}
    }
}
