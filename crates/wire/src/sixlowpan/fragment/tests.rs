use super::*;

#[test]
fn headers_byte_by_byte() {
    let mut buffer = [0; 9];
    let mut out = Cursor::new(&mut buffer);
    let first = Header::First {
        size: 1280,
        tag: 0x1234,
    };
    let next = Header::Next {
        size: 1280,
        tag: 0x1234,
        offset: 96,
    };
    first.emit(&mut out).unwrap();
    next.emit(&mut out).unwrap();
    // The dispatches 0b11000 and 0b11100 precede the size, 1280 = 0x500; offset 96 is 12 units.
    let expected = [0xc5, 0, 0x12, 0x34, 0xe5, 0, 0x12, 0x34, 12];
    assert_eq!(out.written(), expected);
    assert_eq!(Header::parse(&expected), Ok((first, &expected[4..])));
    assert_eq!(Header::parse(&expected[4..]), Ok((next, &[][..])));
}

#[test]
fn impossible_fragments_are_refused() {
    // The size must not be 0, and the offset must be below the size.
    assert_eq!(Header::parse(&[0xc0, 0, 0, 0]), Err(Error::Length));
    assert_eq!(Header::parse(&[0xe0, 16, 0, 0, 2]), Err(Error::Length));
    assert!(Header::parse(&[0xe0, 17, 0, 0, 2]).is_ok());
    assert_eq!(Header::parse(&[0xe0, 17, 0, 0]), Err(Error::Truncated));
    assert_eq!(Header::parse(&[0xc8, 17, 0, 0]), Err(Error::Reserved));
}
