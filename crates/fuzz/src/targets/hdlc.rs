//! HDLC-like framing with both check sequences, on arbitrary bytes and on framed messages.

use redpoll_wire::hdlc::{Check, Deframer, Fcs16, Fcs32, Frame, send};

const ROOM: usize = 64;

pub fn run(bytes: &[u8]) {
    try_one::<Fcs16>(bytes, |_| false);
    try_one::<Fcs16>(bytes, |byte| byte < 0x20 || byte == 0xf8);
    try_one::<Fcs32>(bytes, |_| false);
}

fn try_one<C: Check>(bytes: &[u8], is_special: impl Fn(u8) -> bool) {
    let mut deframer = Deframer::<C, [u8; ROOM]>::default();
    for byte in bytes {
        if let Some(Frame::Good(message)) = deframer.input(*byte) {
            assert!((1..=ROOM - C::LEN).contains(&message.len()));
        }
    }
    // After the arbitrary input, the deframer must receive the message `~first}`. It receives this
    // message twice if the input ends with the same frame without its closing flag.
    let mut good = 0;
    send::<C>(b"~first}", &is_special, |byte| {
        let frame = deframer.input(byte);
        good += usize::from(frame == Some(Frame::Good(b"~first}")));
    });
    assert!(good >= 1);
    // A message is received if the buffer has room for it, and otherwise counts as damaged.
    let mut line = Vec::new();
    send::<C>(bytes, &is_special, |byte| line.push(byte));
    let inner = &line[1..line.len() - 1];
    assert!(!inner.contains(&0x7e) && !inner.iter().any(|byte| is_special(*byte)));
    for room in [bytes.len() + C::LEN, bytes.len() + C::LEN - 1] {
        let mut deframer = Deframer::<C, Vec<u8>>::new(vec![0; room]);
        let expected = match room {
            room if room < bytes.len() + C::LEN => Frame::Damaged,
            _ if bytes.is_empty() => Frame::Damaged,
            _ => Frame::Good(bytes),
        };
        let (last, rest) = line
            .split_last()
            .expect("an encoded frame contains at least the flags");
        assert!(rest.iter().all(|byte| deframer.input(*byte).is_none()));
        assert_eq!(deframer.input(*last), Some(expected));
    }
}
