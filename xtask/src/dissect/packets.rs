//! IPv6 packets with correct checksums, for the frames of [`super::frames`].

use super::rng::Rng;

/// Returns any packet, with at most `most` bytes of upper layer.
pub fn any(rng: &mut Rng, most: usize) -> Vec<u8> {
    let next = rng.of(&[6, 17, 58, 58, 58]);
    let body = upper(rng, next, most);
    let (src, dst) = (address(rng), address(rng));
    let mut packet = checked(rng, src, dst, next, body);
    match rng.below(6) {
        0 => packet = with_information(rng, &packet),
        3 => packet = with_mpl(rng, &packet),
        1 => packet = with_route(rng, src, dst, next, &packet[40..]),
        2 => {
            let (src, dst) = (address(rng), address(rng));
            packet = header(rng, src, dst, 41, &packet);
        }
        _ => {}
    }
    packet
}

/// Returns an address whose interface identifier is derived from a short address, or is arbitrary.
fn address(rng: &mut Rng) -> [u8; 16] {
    let mut addr = [0; 16];
    let prefix: [u8; 8] = match rng.below(3) {
        0 => [0xfe, 0x80, 0, 0, 0, 0, 0, 0],
        _ => [0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c],
    };
    addr[..8].copy_from_slice(&prefix);
    match rng.below(2) {
        0 => addr[8..].copy_from_slice(&[0, 0, 0, 0xff, 0xfe, 0, rng.byte(), rng.byte()]),
        _ => addr[8..].copy_from_slice(&rng.bytes(8)),
    }
    addr
}

fn header(rng: &mut Rng, src: [u8; 16], dst: [u8; 16], next: u8, payload: &[u8]) -> Vec<u8> {
    let first = 6 << 28 | (rng.next() & 0x0fff_ffff);
    let mut packet = first.to_be_bytes().to_vec();
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, rng.byte().max(1)]);
    packet.extend(src);
    packet.extend(dst);
    packet.extend(payload);
    packet
}

/// Returns a packet whose upper layer has a correct checksum.
fn checked(rng: &mut Rng, src: [u8; 16], dst: [u8; 16], next: u8, mut body: Vec<u8>) -> Vec<u8> {
    let at = match next {
        6 => Some(16),
        17 => Some(6),
        58 => Some(2),
        _ => None,
    };
    if let Some(at) = at.filter(|at| body.len() > at + 1) {
        body[at..at + 2].fill(0);
        let pseudo = [src.as_slice(), &dst, &(body.len() as u32).to_be_bytes()].concat();
        let all = [pseudo, vec![0, 0, 0, next], body.clone()].concat();
        let mut sum = 0_u32;
        for pair in all.chunks(2) {
            let low = pair.get(1).copied().unwrap_or(0);
            sum += u32::from(u16::from_be_bytes([pair[0], low]));
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        let sum = match !(sum as u16) {
            0 => 0xffff,
            sum => sum,
        };
        body[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        if rng.once_in(10) {
            body[at] ^= 0x55;
        }
    }
    header(rng, src, dst, next, &body)
}

/// Inserts RPL packet information.
fn with_information(rng: &mut Rng, packet: &[u8]) -> Vec<u8> {
    let mut options = vec![packet[6], 0, 0x63, 4];
    options.extend(rng.bytes(4));
    options[4] &= 0xe0;
    with_options(packet, &options)
}

/// Inserts an MPL option with a seed identifier of any length (RFC 7731 §6.1).
fn with_mpl(rng: &mut Rng, packet: &[u8]) -> Vec<u8> {
    let kind = rng.below(4) as u8;
    let (seed, units, padding): (usize, u8, &[u8]) = match kind {
        0 => (0, 0, &[1, 0]),
        1 => (2, 0, &[]),
        2 => (8, 1, &[1, 0]),
        _ => (16, 2, &[1, 0]),
    };
    let mut options = vec![packet[6], units, 0x6d, 2 + seed as u8];
    options.extend([kind << 6 | rng.byte() & 0x20, rng.byte()]);
    options.extend(rng.bytes(seed));
    options.extend(padding);
    with_options(packet, &options)
}

/// Inserts a hop-by-hop header.
fn with_options(packet: &[u8], options: &[u8]) -> Vec<u8> {
    let mut whole = packet[..40].to_vec();
    whole[6] = 0;
    let len = (packet.len() - 40 + options.len()) as u16;
    whole[4..6].copy_from_slice(&len.to_be_bytes());
    whole.extend(options);
    whole.extend(&packet[40..]);
    whole
}

/// Returns a packet to `last` with a source route of two addresses (RFC 6554). A random number of
/// them, from 0 to 2, is left.
fn with_route(rng: &mut Rng, src: [u8; 16], last: [u8; 16], next: u8, body: &[u8]) -> Vec<u8> {
    let mut stop = last;
    stop[14..].copy_from_slice(&[0x11, rng.byte()]);
    let left = rng.below(3) as u8;
    // The two addresses omit their first 8 bytes, which the destination has, and need no padding.
    let mut route = vec![next, 2, 3, left, 0x88, 0, 0, 0];
    route.extend([&[0, 0, 0, 0xff, 0xfe, 0, 0x22], [rng.byte()].as_slice()].concat());
    route.extend(&last[8..]);
    route.extend(body);
    let dst = if left == 0 { last } else { stop };
    header(rng, src, dst, 43, &route)
}

/// Returns an upper layer of at most `most` bytes, with an arbitrary checksum.
pub fn upper(rng: &mut Rng, next: u8, most: usize) -> Vec<u8> {
    match next {
        6 => tcp(rng, most),
        17 => udp(rng, most),
        58 => icmp(rng),
        _ => {
            let len = rng.below(10) as usize;
            rng.bytes(len)
        }
    }
}

fn tcp(rng: &mut Rng, most: usize) -> Vec<u8> {
    let mut options = Vec::new();
    if rng.once_in(2) {
        options.extend([2, 4]);
        options.extend(rng.bytes(2));
    }
    if rng.once_in(3) {
        options.extend([1, 3, 3, rng.byte() & 0x0f]);
    }
    if rng.once_in(3) {
        options.extend([4, 2, 1, 1]);
    }
    if rng.once_in(2) {
        options.extend([1, 1, 8, 10]);
        options.extend(rng.bytes(8));
    } else if rng.once_in(2) {
        options.extend([1, 1, 5, 18]);
        options.extend(rng.bytes(16));
    }
    // Ports without an assigned protocol.
    let mut segment = vec![0xc0, rng.byte(), 0xc1, rng.byte()];
    segment.extend(rng.bytes(8));
    segment.extend([(5 + options.len() as u8 / 4) << 4, rng.byte()]);
    segment.extend(rng.bytes(4));
    segment.extend([0, 0]);
    segment.extend(options);
    let len = rng.below(most as u32) as usize;
    segment.extend(rng.bytes(len));
    segment
}

fn udp(rng: &mut Rng, most: usize) -> Vec<u8> {
    let (port, body) = match rng.below(3) {
        0 => (5_683_u16, coap(rng)),
        1 => (19_788, mle(rng)),
        _ => {
            let len = rng.below(most as u32) as usize;
            (0xc200 | u16::from(rng.byte()), rng.bytes(len))
        }
    };
    let mut datagram = vec![0xc1, rng.byte()];
    datagram.extend(port.to_be_bytes());
    datagram.extend((body.len() as u16 + 8).to_be_bytes());
    datagram.extend(rng.bytes(2));
    datagram.extend(body);
    datagram
}

fn coap(rng: &mut Rng) -> Vec<u8> {
    let token = rng.below(9) as u8;
    let kind = rng.below(4) as u8;
    let code = rng.of(&[1, 2, 3, 4, 0x45, 0x44, 0x84]);
    let mut message = vec![0x40 | kind << 4 | token, code];
    message.extend(rng.bytes(2 + usize::from(token)));
    let mut last = 0;
    let option = |number: u8, value: &[u8], last: &mut u8, message: &mut Vec<u8>| {
        let delta = number - *last;
        let head = |nibble: u8| if nibble < 13 { nibble } else { 13 };
        message.push(head(delta) << 4 | head(value.len() as u8));
        if delta >= 13 {
            message.push(delta - 13);
        }
        message.extend(value);
        *last = number;
    };
    if rng.once_in(3) {
        option(6, &[rng.byte().max(1)], &mut last, &mut message);
    }
    for _ in 0..rng.below(3) {
        option(
            11,
            rng.of(&[b"temp", b"node", b"echo"]),
            &mut last,
            &mut message,
        );
    }
    if rng.once_in(3) {
        option(14, &[rng.byte().max(1)], &mut last, &mut message);
    }
    if rng.once_in(2) {
        option(23, &[rng.byte() & 0xfe | 0x10], &mut last, &mut message);
    }
    if rng.once_in(2) {
        message.push(0xff);
        message.extend(b"payload");
    }
    message
}

fn mle(rng: &mut Rng) -> Vec<u8> {
    let mut message = vec![255, rng.below(16) as u8];
    let mut tlv = |kind: u8, content: Vec<u8>| {
        message.extend([kind, content.len() as u8]);
        message.extend(content);
    };
    let short = rng.bytes(2);
    tlv(0, short);
    tlv(1, vec![rng.byte() & 0x0f]);
    tlv(2, rng.bytes(4));
    tlv(3, rng.bytes(8));
    tlv(5, rng.bytes(4));
    message
}

/// Returns an ICMPv6 message without checksum.
fn message(kind: u8, code: u8, body: Vec<u8>) -> Vec<u8> {
    [vec![kind, code, 0, 0], body].concat()
}

fn icmp(rng: &mut Rng) -> Vec<u8> {
    match rng.below(10) {
        0 => {
            let body = rng.bytes(20);
            message(rng.of(&[128, 129]), 0, body)
        }
        1 => {
            let quoted = header(rng, [0x20; 16], [0x21; 16], 59, &[]);
            let word = rng.bytes(4);
            message(rng.of(&[1, 2, 3, 4]), 0, [word, quoted].concat())
        }
        2 => message(133, 0, [vec![0; 4], options(rng)].concat()),
        3 => {
            let mut fixed = rng.bytes(12);
            fixed[1] &= 0xc0;
            message(134, 0, [fixed, options(rng)].concat())
        }
        4 => {
            let target = rng.bytes(16);
            message(135, 0, [vec![0; 4], target, options(rng)].concat())
        }
        5 => {
            let flags = vec![rng.byte() & 0xe0, 0, 0, 0];
            let target = rng.bytes(16);
            message(136, 0, [flags, target, options(rng)].concat())
        }
        6 => {
            // RFC 8505 §4.2: the code gives the length of the ROVR; code 0 is of RFC 6775.
            let suffix = rng.below(5) as u8;
            let mut body = rng.bytes(4 + 8 * usize::from(suffix.max(1)) + 16);
            if suffix == 0 {
                body[1] = 0;
            }
            message(rng.of(&[157, 158]), suffix, body)
        }
        7 => message(155, 0, [vec![0, 0], rpl_options(rng)].concat()),
        8 => {
            let mut fixed = rng.bytes(24);
            fixed[4] &= 0xbf;
            fixed[6..8].fill(0);
            message(155, 1, [fixed, rpl_options(rng)].concat())
        }
        _ => match rng.below(2) {
            0 => {
                let flags = rng.of(&[0, 0x40, 0x80, 0xc0]);
                let mut fixed = vec![rng.byte(), flags, 0, rng.byte()];
                if flags & 0x40 != 0 {
                    fixed.extend(rng.bytes(16));
                }
                message(155, 2, [fixed, rpl_options(rng)].concat())
            }
            _ => {
                let flags = rng.of(&[0, 0x80]);
                let mut fixed = vec![rng.byte(), flags, rng.byte(), rng.byte()];
                if flags & 0x80 != 0 {
                    fixed.extend(rng.bytes(16));
                }
                message(155, 3, fixed)
            }
        },
    }
}

fn options(rng: &mut Rng) -> Vec<u8> {
    let mut all = Vec::new();
    if rng.once_in(2) {
        // A link-layer address of 64 bits, and padding.
        all.extend([rng.of(&[1, 2]), 2]);
        all.extend(rng.bytes(8));
        all.extend([0; 6]);
    }
    if rng.once_in(3) {
        all.extend([3, 4, 64, rng.byte() & 0xe0]);
        all.extend(rng.bytes(8));
        all.extend([0; 4]);
        all.extend(rng.bytes(16));
    }
    if rng.once_in(3) {
        all.extend([5, 1, 0, 0]);
        all.extend(rng.bytes(4));
    }
    if rng.once_in(3) {
        // An address registration of RFC 6775, or of RFC 8505 with a ROVR of 64 to 256 bits.
        let units = rng.below(5) as u8;
        let flags = if units == 0 { 0 } else { rng.byte() & 3 };
        let units = units.max(1);
        let tid = if flags & 1 == 0 { 0 } else { rng.byte() };
        all.extend([33, 1 + units, rng.byte() & 3, 0, flags, tid]);
        all.extend(rng.bytes(2 + 8 * usize::from(units)));
    }
    if rng.once_in(3) {
        // tshark learns these contexts, so no frame uses them.
        all.extend([34, 2, 64, rng.byte() & 0x13 | 0x0c, 0, 0]);
        all.extend(rng.bytes(10));
    }
    if rng.once_in(3) {
        all.extend([35, 3]);
        all.extend(rng.bytes(22));
    }
    all
}

fn rpl_options(rng: &mut Rng) -> Vec<u8> {
    let mut all = Vec::new();
    if rng.once_in(3) {
        all.extend(rng.of(&[&[0][..], &[1, 0], &[1, 2, 0, 0]]));
    }
    if rng.once_in(2) {
        all.extend([4, 14, rng.byte() & 0x0f]);
        all.extend(rng.bytes(9));
        all.push(0);
        all.extend(rng.bytes(3));
    }
    if rng.once_in(3) {
        all.extend([8, 30, 64, rng.byte() & 0xe0]);
        all.extend(rng.bytes(8));
        all.extend([0; 4]);
        all.extend(rng.bytes(16));
    }
    if rng.once_in(3) {
        all.extend([5, 18, 0, 128]);
        all.extend(rng.bytes(16));
    }
    if rng.once_in(3) {
        let with_parent = rng.once_in(2);
        all.extend([6, if with_parent { 20 } else { 4 }, rng.of(&[0, 0x80])]);
        all.extend(rng.bytes(3));
        if with_parent {
            all.extend(rng.bytes(16));
        }
    }
    if rng.once_in(3) {
        all.extend([2, 6, 7, 0, 0, 2]);
        all.extend(rng.bytes(2));
    }
    if rng.once_in(4) {
        all.extend([3, 14, 64, rng.byte() & 0x18]);
        all.extend(rng.bytes(12));
    }
    if rng.once_in(4) {
        all.extend([7, 19, rng.byte(), rng.byte() & 0xe0]);
        all.extend(rng.bytes(17));
    }
    if rng.once_in(4) {
        all.extend([9, 4]);
        all.extend(rng.bytes(4));
    }
    all
}
