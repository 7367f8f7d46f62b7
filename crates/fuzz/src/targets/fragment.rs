//! 6LoWPAN dispatch and fragment headers (RFC 4944 §5, RFC 8931 §5).

use redpoll_wire::Cursor;
use redpoll_wire::sixlowpan::fragment::Header;
use redpoll_wire::sixlowpan::recoverable::{Ack, Fragment};
use redpoll_wire::sixlowpan::{Dispatch, dispatch};

pub fn run(payload: &[u8]) {
    let kind = dispatch(payload);
    if let Ok((header, part)) = Header::parse(payload) {
        assert!(matches!(kind, Dispatch::First | Dispatch::Next));
        assert!(header.offset() < header.size());
        let mut buffer = [0; Header::NEXT_LEN];
        let mut out = Cursor::new(&mut buffer);
        header
            .emit(&mut out)
            .expect("the buffer is as long as the longer header");
        assert_eq!([out.written(), part].concat(), payload);
    }
    if let Ok((header, part)) = Fragment::parse(payload) {
        assert_eq!(kind, Dispatch::Recoverable);
        let mut buffer = [0; Fragment::LEN];
        let mut out = Cursor::new(&mut buffer);
        header
            .emit(&mut out)
            .expect("the buffer is as long as the header");
        assert_eq!([out.written(), part].concat(), payload);
    }
    if let Ok(ack) = Ack::parse(payload) {
        assert_eq!(kind, Dispatch::RecoverableAck);
        assert_eq!(ack.to_bytes(), payload[..Ack::LEN]);
    }
}
