use super::*;

const SRC: Addr = Addr([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
const DST: Addr = Addr([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);

#[test]
fn a_datagram_byte_by_byte() {
    let header = UdpHeader::for_payload(&SRC, 5683, &DST, 5684, b"hi").unwrap();
    // Checksum: fe80 + 1 + fe80 + 2 = 1fd03; + length 10 + 17 + ports 1633 + 1634
    // + length 10 + "hi" 6869 -> 291f8 -> 91fa; ~91fa = 6e05.
    assert_eq!(
        header.to_bytes(),
        [0x16, 0x33, 0x16, 0x34, 0, 10, 0x6e, 0x05]
    );
    assert!(header.verify(&SRC, &DST, b"hi"));
    assert!(!header.verify(&SRC, &DST, b"ha"));
}

#[test]
fn a_zero_checksum_is_neither_sent_nor_accepted() {
    let header = UdpHeader::for_payload(&SRC, 0, &DST, 0, &[0, 0]).unwrap();
    let payload = header.checksum.to_be_bytes();
    // The payload with which all bits of the sum are set.
    let header = UdpHeader::for_payload(&SRC, 0, &DST, 0, &payload).unwrap();
    assert_eq!(header.checksum, 0xffff);
    assert!(header.verify(&SRC, &DST, &payload));
    let without = UdpHeader {
        checksum: 0,
        ..header
    };
    assert!(!without.verify(&SRC, &DST, &payload));
}

#[test]
fn lengths_below_the_header_and_past_the_end_are_refused() {
    let mut bytes = [0; 12];
    bytes[5] = 7;
    assert_eq!(UdpHeader::parse(&bytes), Err(Error::Length));
    bytes[5] = 13;
    assert_eq!(UdpHeader::parse(&bytes), Err(Error::Truncated));
    bytes[5] = 11;
    assert_eq!(UdpHeader::parse(&bytes).unwrap().1.len(), 3);
    assert_eq!(UdpHeader::parse(&bytes[..7]), Err(Error::Truncated));
    let long = std::vec![0; 65_528];
    assert_eq!(UdpHeader::for_payload(&SRC, 0, &DST, 0, &long), None);
}
