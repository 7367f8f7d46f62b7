//! IPv6 packets with TCP in them, as far as the bench must know them.

/// Length of the IPv6 header, which every packet carries.
pub const IPV6_LEN: usize = 40;

/// What the meter reads of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The sequence number.
    pub seq: u32,
    /// SYN.
    pub syn: bool,
    /// FIN or RST.
    pub ends: bool,
    /// Bytes of payload.
    pub payload: u32,
}

/// The address of a side, 0 or 1: fd00::1 or fd00::2.
pub const fn address(side: usize) -> [u8; 16] {
    let mut octets = [0; 16];
    octets[0] = 0xfd;
    octets[15] = side as u8 + 1;
    octets
}

/// Puts a TCP segment behind an IPv6 header. `ecn` is the field's value, 0 to 3.
pub fn wrap(from: usize, ecn: u8, segment: &[&[u8]]) -> Vec<u8> {
    let length: usize = segment.iter().map(|part| part.len()).sum();
    let length = u16::try_from(length).expect("a segment fits into a packet");
    let mut packet = vec![0x60, ecn << 4, 0, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([6, 64]);
    packet.extend(address(from));
    packet.extend(address(1 - from));
    segment.iter().for_each(|part| packet.extend(*part));
    packet
}

/// The TCP segment in a packet and the packet's ECN field.
pub fn unwrap(packet: &[u8]) -> (&[u8], u8) {
    (&packet[IPV6_LEN..], packet[1] >> 4 & 3)
}

/// What the meter must know of a packet that one of the stacks made.
///
/// # Panics
///
/// If it is not TCP right behind an IPv6 header: then a peer's glue is wrong.
pub fn summary(packet: &[u8]) -> Summary {
    assert_eq!((packet[0] >> 4, packet[6]), (6, 6), "TCP over IPv6");
    let length = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
    assert_eq!(packet.len(), IPV6_LEN + length, "the packet's length");
    let tcp = &packet[IPV6_LEN..];
    let header = usize::from(tcp[12] >> 4) * 4;
    Summary {
        seq: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
        syn: tcp[13] & 0x02 != 0,
        ends: tcp[13] & 0x05 != 0,
        payload: (tcp.len() - header) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrapped_can_be_read() {
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
            seq: 7,
            syn: true,
            ends: false,
            payload: 3,
        };
        assert_eq!(summary(&packet), expected);
    }
}
