use super::*;
use crate::sixlowpan::{Dispatch, dispatch};

/// RFC 8931 §5.1, figure 1, field by field.
#[test]
fn a_fragment_byte_by_byte() {
    let header = Fragment {
        ecn: false,
        tag: 0x5a,
        ack_request: true,
        sequence: 19,
        size: 3,
        offset: 0x0123,
    };
    let mut buffer = [0; 9];
    let mut out = Cursor::new(&mut buffer);
    header.emit(&mut out).unwrap();
    // 1110100 E; tag; X 10011 and ten bits of size; offset.
    assert_eq!(
        out.written(),
        [0b1110_1000, 0x5a, 0b1100_1100, 3, 0x01, 0x23]
    );
    out.put(b"abc").unwrap();
    let bytes = buffer;
    assert_eq!(Fragment::parse(&bytes), Ok((header, &b"abc"[..])));
    assert_eq!(dispatch(&bytes), Dispatch::Recoverable);
    let mut congested = bytes;
    congested[0] |= 1;
    assert!(Fragment::parse(&congested).unwrap().0.ecn);
    assert_eq!(dispatch(&congested), Dispatch::Recoverable);
}

#[test]
fn fields_do_not_touch_each_other() {
    for (sequence, size, ack_request) in [(31, 1, false), (0, 1023, false), (0, 1, true)] {
        let header = Fragment {
            sequence,
            size,
            ack_request,
            offset: 9,
            ..Fragment::abort(1)
        };
        let mut buffer = [0; 6 + 1023];
        header.emit(&mut Cursor::new(&mut buffer)).unwrap();
        let len = Fragment::LEN + usize::from(size);
        assert_eq!(Fragment::parse(&buffer[..len]).unwrap().0, header);
    }
}

/// RFC 8931 §5.2, figures 2, 3 and 4.
#[test]
fn an_acknowledgment_byte_by_byte() {
    let missing = Bitmap::of(1).with(Bitmap::of(2)).with(Bitmap::of(16));
    let ack = Ack {
        ecn: true,
        tag: 7,
        bitmap: Bitmap::first(21).without(missing),
    };
    let bytes = [
        0b1110_1011,
        7,
        0b1001_1111,
        0b1111_1111,
        0b0111_1000,
        0b0000_0000,
    ];
    assert_eq!(ack.to_bytes(), bytes);
    assert_eq!(Ack::parse(&bytes), Ok(ack));
    assert_eq!(dispatch(&bytes), Dispatch::RecoverableAck);
    assert!(ack.bitmap.has(0) && !ack.bitmap.has(16) && ack.bitmap.has(20));
    assert!(!ack.bitmap.has(21) && !ack.bitmap.has(32));
}

#[test]
fn bitmaps() {
    assert_eq!(Bitmap::first(0), Bitmap::NULL);
    assert_eq!(Bitmap::first(1), Bitmap::of(0));
    assert_eq!(Bitmap::first(32), Bitmap::FULL);
    assert_eq!(Bitmap::first(33), Bitmap::FULL);
    assert_eq!(Bitmap::of(31), Bitmap(1));
    assert_eq!(Bitmap::of(32), Bitmap::NULL);
    assert_eq!(Bitmap::of(9).with(Bitmap::of(5)).lowest(), Some(5));
    assert_eq!(Bitmap::NULL.lowest(), None);
}

#[test]
fn contradictory_headers_are_refused() {
    let fragment = [0xe8, 1, 0x04, 2, 0, 9, b'a', b'b'];
    assert!(Fragment::parse(&fragment).is_ok());
    assert_eq!(Fragment::parse(&fragment[..7]), Err(Error::Length));
    assert_eq!(Fragment::parse(&fragment[..5]), Err(Error::Truncated));
    assert_eq!(Fragment::parse(&[0xe8, 1, 4, 0, 0, 9]), Err(Error::Length));
    assert_eq!(
        Fragment::parse(&[0xea, 1, 4, 0, 0, 9]),
        Err(Error::Reserved)
    );
    assert_eq!(Ack::parse(&[0xe8, 1, 4, 0, 0, 9]), Err(Error::Reserved));
    assert_eq!(Ack::parse(&[0xea, 1, 4, 0, 0]), Err(Error::Truncated));
    let abort = Fragment::parse(&[0xe8, 1, 0, 0, 0, 0]);
    assert_eq!(abort, Ok((Fragment::abort(1), &[][..])));
    assert!(abort.unwrap().0.is_abort());
}
