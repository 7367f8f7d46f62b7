//! RPL: control messages, options, packet information, source routes (RFC 6550, 6553, 6554).

use redpoll_wire::Cursor;
use redpoll_wire::ipv6::hop_by_hop_len;
use redpoll_wire::rpl::{Advance, Message, Options, PacketInformation, SourceRoute, advance};

pub fn run(bytes: &[u8]) {
    if let Ok(options) = Options::parse(bytes) {
        // Emitting zeroes the bits after a prefix, and may write options shorter.
        let mut buffer = vec![0; bytes.len() * 2 + 64];
        let mut out = Cursor::new(&mut buffer);
        for option in options.iter() {
            if option.emit(&mut out).is_err() {
                return;
            }
        }
        let again = Options::parse(out.written()).expect("the emitted options can be parsed");
        assert!(again.iter().eq(options.iter()));
    }
    if let Some((code, body)) = bytes.split_first()
        && let Ok(message) = Message::parse(*code, body)
    {
        let mut buffer = vec![0; body.len() + 64];
        let mut out = Cursor::new(&mut buffer);
        message
            .emit(&mut out)
            .expect("the emitted bytes are no longer than the parsed ones");
        assert_eq!(Message::parse(*code, out.written()), Ok(message));
    }
    let mut packet = bytes.to_vec();
    let at = 40 + hop_by_hop_len(&packet);
    assert!(at == 40 || at <= packet.len());
    if let Some(information) = PacketInformation::find(&packet) {
        assert!(information.replace(&mut packet));
        assert_eq!(PacketInformation::find(&packet), Some(information));
    }
    let left = SourceRoute::parse(packet.get(at..).unwrap_or_default());
    // A source route must end after its number of segments left.
    let mut stops = left.map_or(0, |route| u32::from(route.segments_left));
    while let Advance::Onward(_) = advance(&mut packet, at, |_| false) {
        assert!(stops > 0);
        stops -= 1;
    }
}
