use super::*;

#[test]
fn a_write_that_does_not_fit_leaves_no_trace() {
    let mut buffer = [0xee; 5];
    let mut out = Cursor::new(&mut buffer);
    out.put_u8(1).unwrap();
    out.put_u16(0x0203).unwrap();
    assert_eq!(out.put(&[4, 5, 6]), Err(NoRoom));
    assert_eq!(out.reserve(usize::MAX), Err(NoRoom));
    assert_eq!((out.position(), out.remaining()), (3, 2));
    out.put_u16_le(0x0504).unwrap();
    assert_eq!(out.put_u8(6), Err(NoRoom));
    assert_eq!(out.into_written(), [1, 2, 3, 4, 5]);
}

#[test]
fn only_written_bytes_can_be_patched() {
    let mut buffer = [0; 8];
    let mut out = Cursor::new(&mut buffer);
    out.put_u32(0).unwrap();
    out.patch_u16(2, 0xabcd).unwrap();
    for position in [3, 4, usize::MAX] {
        assert_eq!(out.patch_u16(position, 1), Err(NoRoom));
    }
    assert_eq!(out.written(), [0, 0, 0xab, 0xcd]);
    assert_eq!(out.rest_mut().len(), 4);
}

#[test]
fn a_reader_stops_at_the_end_and_stays_there() {
    let mut input = Reader::new(&[1, 2, 3, 4, 5]);
    assert_eq!(input.u16(), Ok(0x0102));
    assert_eq!(input.u32(), Err(Error::Truncated));
    assert_eq!(input.u16_le(), Ok(0x0403));
    assert_eq!(input.peek(), Ok(5));
    assert_eq!(input.take(2), Err(Error::Truncated));
    assert_eq!(input.u8(), Ok(5));
    assert_eq!(input.peek(), Err(Error::Truncated));
    assert_eq!(input.rest(), []);
}
