//! ICMPv6 messages and neighbour-discovery options (RFC 4443, 4861, 6775).

use redpoll_base::Addr;
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::Message;
use redpoll_wire::icmpv6::nd::Options;

pub fn run(bytes: &[u8]) {
    if let Ok(options) = Options::parse(bytes) {
        let mut buffer = vec![0; bytes.len() + 8];
        let mut out = Cursor::new(&mut buffer);
        for option in options.iter() {
            option
                .emit(&mut out)
                .expect("the emitted bytes are no longer than the parsed ones");
        }
        let again = Options::parse(out.written()).expect("the emitted options can be parsed");
        assert!(again.iter().eq(options.iter()));
    }
    if let Ok(message) = Message::parse_unverified(bytes) {
        let addr = Addr::UNSPECIFIED;
        let mut buffer = vec![0; bytes.len()];
        let mut out = Cursor::new(&mut buffer);
        message
            .emit(&addr, &addr, &mut out)
            .expect("the emitted bytes are no longer than the parsed ones");
        assert_eq!(out.position(), message.len());
        // Emitting shortens only an error message whose quoted packet is too long.
        if message.len() == bytes.len() {
            assert_eq!(Message::parse_unverified(out.written()), Ok(message));
        }
    }
}
