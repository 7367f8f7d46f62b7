//! SLIP (RFC 1055): arbitrary bytes on a line, and packets that must arrive unchanged.

use redpoll_wire::slip::{Decoder, encode};

pub fn run(bytes: &[u8]) {
    let mut room = [0; 64];
    let mut decoder = Decoder::new(&mut room);
    for byte in bytes {
        if let Some(packet) = decoder.push(*byte) {
            assert!((1..=64).contains(&packet.len()));
        }
    }
    // After arbitrary bytes, the second complete packet must be delivered.
    let mut packets = 0;
    for byte in encode(b"first").chain(encode(&[0xc0, 0xdb, 0xdc, 0xdd])) {
        packets = match decoder.push(byte) {
            Some([0xc0, 0xdb, 0xdc, 0xdd]) => packets + 1,
            _ => packets,
        };
    }
    assert_eq!(packets, 1);
    if !bytes.is_empty() {
        let mut room = vec![0; bytes.len()];
        let mut decoder = Decoder::new(&mut room);
        let mut whole = false;
        for byte in encode(bytes) {
            whole |= decoder.push(byte).is_some_and(|packet| packet == bytes);
        }
        assert!(whole && decoder.broken() == 0);
    }
}
