use super::*;

#[test]
fn dispatch_bytes_of_rfc4944_and_rfc6282() {
    assert_eq!(dispatch(&[]), Dispatch::NotALowpan);
    assert_eq!(dispatch(&[0x3f]), Dispatch::NotALowpan);
    assert_eq!(dispatch(&[0x41]), Dispatch::Ipv6Uncompressed);
    assert_eq!(dispatch(&[0x42]), Dispatch::Unknown(0x42));
    assert_eq!(dispatch(&[0x50]), Dispatch::Bc0);
    assert_eq!(dispatch(&[0x60]), Dispatch::Iphc);
    assert_eq!(dispatch(&[0x7f]), Dispatch::Iphc);
    assert_eq!(dispatch(&[0x80]), Dispatch::Mesh);
    assert_eq!(dispatch(&[0xbf]), Dispatch::Mesh);
    assert_eq!(dispatch(&[0xc0]), Dispatch::First);
    assert_eq!(dispatch(&[0xc7]), Dispatch::First);
    assert_eq!(dispatch(&[0xc8]), Dispatch::Unknown(0xc8));
    assert_eq!(dispatch(&[0xe0]), Dispatch::Next);
    assert_eq!(dispatch(&[0xe7]), Dispatch::Next);
    assert_eq!(dispatch(&[0xec]), Dispatch::Unknown(0xec));
}
