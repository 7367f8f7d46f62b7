//! The IPv6 and TCP headers of the benches.

use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::tcp::{HeaderView, SeqNum};

/// Length of the IPv6 header of every packet.
pub const IPV6_LEN: usize = Ipv6Header::LEN;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Summary {
    pub seq: SeqNum,
    pub syn: bool,
    /// Whether FIN or RST is set.
    pub ends: bool,
    pub payload: u32,
}

/// Returns the address of side 0 or 1: fd00::1 or fd00::2.
pub const fn address(side: usize) -> [u8; 16] {
    let mut octets = [0; 16];
    octets[0] = 0xfd;
    octets[15] = side as u8 + 1;
    octets
}

/// Returns a packet with an IPv6 header and a TCP segment. `ecn` is the ECN field, 0 to 3.
pub fn wrap(from: usize, ecn: u8, segment: &[&[u8]]) -> Vec<u8> {
    let length: usize = segment.iter().map(|part| part.len()).sum();
    let length = u16::try_from(length).expect("the segment is short enough for a packet");
    let mut packet = vec![0x60, ecn << 4, 0, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([6, 64]);
    packet.extend(address(from));
    packet.extend(address(1 - from));
    segment.iter().for_each(|part| packet.extend(*part));
    packet
}

/// Returns the TCP segment in a packet, and the packet's ECN field.
pub fn unwrap(packet: &[u8]) -> (&[u8], u8) {
    (&packet[IPV6_LEN..], packet[1] >> 4 & 3)
}

/// Returns the fields of a stack's packet that the meter uses. Panics if TCP does not follow the
/// IPv6 header, or a length field is impossible, which indicates a fault in this stack's interface.
pub fn summary(packet: &[u8]) -> Summary {
    let (ip, segment) = Ipv6Header::parse(packet).expect("the packet has an IPv6 header");
    assert_eq!(
        ip.next_header,
        next_header::TCP,
        "TCP must follow the IPv6 header"
    );
    let len = IPV6_LEN + segment.len();
    assert_eq!(
        packet.len(),
        len,
        "the packet's length must be that in its IPv6 header"
    );
    let tcp = HeaderView::parse(segment).expect("the segment has a TCP header");
    let flags = tcp.flags();
    Summary {
        seq: tcp.seq(),
        syn: flags.syn(),
        ends: flags.fin() || flags.rst(),
        payload: tcp.payload_len() as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_packet_is_parsed_back() {
        let mut header = [0; 20];
        header[4..8].copy_from_slice(&7u32.to_be_bytes());
        header[12] = 5 << 4;
        header[13] = 0x02;
        let packet = wrap(1, 2, &[&header, b"abc"]);
        assert_eq!(packet.len(), 63);
        assert_eq!(packet[8..24], address(1));
        let (segment, ecn) = unwrap(&packet);
        assert_eq!((segment.len(), ecn), (23, 2));
        let expected = Summary {
            seq: SeqNum(7),
            syn: true,
            ends: false,
            payload: 3,
        };
        assert_eq!(summary(&packet), expected);
    }
    #[test]
    fn a_header_longer_than_its_segment_is_refused() {
        for words in [0, 4, 6, 15] {
            let mut header = [0; 20];
            header[12] = words << 4;
            let packet = wrap(1, 0, &[&header]);
            let read = std::panic::catch_unwind(|| summary(&packet));
            let problem = read.expect_err("an impossible data offset");
            let text = problem.downcast_ref::<String>().map_or("", String::as_str);
            assert!(
                text.starts_with("the segment has a TCP header"),
                "{words}: {text}"
            );
        }
    }
}
