use super::*;

/// An IPv4 packet from 192.0.2.1 to 192.168.0.1, constructed by hand: a SYN from port 4660 to 8080
/// with sequence number 1, window 1024.
const SYN: [u8; 40] = [
    0x45, 0x02, 0, 40, 0, 0, 0x40, 0, 255, 6, 0xb8, 0x23, 192, 0, 2, 1, 192, 168, 0, 1, // IP
    0x12, 0x34, 0x1f, 0x90, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x02, 4, 0, 0, 0, 0, 0, // TCP
];

/// Returns [`SYN`] with both checksums, computed as in RFC 1071.
fn syn() -> Vec<u8> {
    let fold = |words: &[u8]| {
        let mut sum: u32 = words
            .chunks(2)
            .map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)))
            .sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (!(sum as u16)).to_be_bytes()
    };
    let mut packet = SYN.to_vec();
    packet[10..12].fill(0);
    let ip = fold(&packet[..20]);
    packet[10..12].copy_from_slice(&ip);
    let mut covered = packet[12..20].to_vec();
    covered.extend([0, 6, 0, 20]);
    covered.extend(&packet[20..]);
    let tcp = fold(&covered);
    packet[36..38].copy_from_slice(&tcp);
    packet
}

#[test]
fn a_segment_goes_in_and_comes_out_the_same() {
    let v6 = to_v6(&syn()).unwrap();
    let (header, payload) = Ipv6Header::parse(&v6).unwrap();
    assert_eq!(extract(&header.src), IpAddr::from([192, 0, 2, 1]));
    assert_eq!((header.ecn, header.hop_limit), (Ecn::Ect0, 255));
    let mut sum = Checksum::pseudo_header(&header.src, &header.dst, 6, payload.len() as u32);
    sum.add(payload);
    assert!(sum.is_valid());
    assert!(is_for_v4(&v6));
    assert_eq!(to_v4(&v6).unwrap(), syn());
}

#[test]
fn malformed_packets_are_dropped() {
    assert!(to_v6(&syn()).is_some());
    for (at, what) in [(8, "header checksum"), (25, "TCP checksum"), (0, "options")] {
        let mut packet = syn();
        packet[at] ^= 1;
        assert!(to_v6(&packet).is_none(), "{what}");
    }
    for len in 0..40 {
        assert!(to_v6(&syn()[..len]).is_none(), "{len} bytes");
    }
}

#[test]
fn an_error_and_its_quote_are_translated() {
    let mut message = vec![3, 3, 0, 0, 0, 0, 0, 0];
    message.extend(&syn()[..28]);
    let mut sum = Checksum::new();
    sum.add(&message);
    message[2..4].copy_from_slice(&sum.finish().to_be_bytes());
    let mut packet = syn()[..20].to_vec();
    packet[9] = ICMP;
    packet[2..4].copy_from_slice(&(20 + message.len() as u16).to_be_bytes());
    packet[10..12].fill(0);
    let mut sum = Checksum::new();
    sum.add(&packet);
    packet[10..12].copy_from_slice(&sum.finish().to_be_bytes());
    packet.extend(&message);

    let v6 = to_v6(&packet).unwrap();
    let (header, body) = Ipv6Header::parse(&v6).unwrap();
    let message = redpoll_wire::icmpv6::Message::parse(&header, body).unwrap();
    let redpoll_wire::icmpv6::Message::DestinationUnreachable { code: 4, quoted } = message else {
        panic!("{message:?}");
    };
    let (inner, ports) = Ipv6Header::parse_partial(quoted).unwrap();
    assert_eq!(inner.src, embed(IpAddr::from([192, 0, 2, 1])));
    assert_eq!(ports, &syn()[20..28]);
}
