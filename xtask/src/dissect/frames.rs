//! Frames of all header forms, made without the project's codecs: these would hide their faults.

use super::packets;

/// A generator of pseudo-random numbers (xorshift64*).
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }

    pub fn below(&mut self, limit: u32) -> u32 {
        self.next() % limit.max(1)
    }

    pub fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    pub fn byte(&mut self) -> u8 {
        self.next() as u8
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.byte()).collect()
    }

    pub fn of<T: Copy>(&mut self, choice: &[T]) -> T {
        choice[self.below(choice.len() as u32) as usize]
    }
}

/// Payload that fits into a frame with the longest MAC header.
const ROOM: usize = 80;

/// Returns at least `count` frames without check sequence.
pub fn make(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(seed);
    let mut frames = Vec::with_capacity(count + 8);
    while frames.len() < count {
        match frames.len() % 12 {
            0 => frames.push(bare(&mut rng)),
            1 => frames.push(secured(&mut rng)),
            2 => {
                let (prefix, payload) = (mesh(&mut rng), compressed(&mut rng));
                frames.push(data(&mut rng, &[prefix, payload].concat()));
            }
            3 => fragments(&mut rng, &mut frames),
            4 => recoverable(&mut rng, &mut frames),
            5 => {
                let payload = hc1(&mut rng);
                frames.push(data(&mut rng, &payload));
            }
            6 => {
                let (routes, payload) = (routes(&mut rng), compressed(&mut rng));
                frames.push(data(&mut rng, &[routes, payload].concat()));
            }
            7 | 8 => {
                let payload = compressed(&mut rng);
                frames.push(data(&mut rng, &payload));
            }
            _ => {
                let packet = packets::any(&mut rng, 1_000);
                split(&mut rng, &packet, &mut frames);
            }
        }
    }
    frames
}

/// The address fields of a MAC header.
struct Addresses {
    dst_pan: u16,
    src_pan: u16,
    dst: Vec<u8>,
    src: Vec<u8>,
}

impl Addresses {
    fn of(rng: &mut Rng, lens: &[usize]) -> Addresses {
        let dst = rng.of(lens);
        let src = rng.of(lens);
        Addresses {
            dst_pan: rng.next() as u16,
            src_pan: rng.next() as u16,
            dst: rng.bytes(dst),
            src: rng.bytes(src),
        }
    }

    /// Returns a header of this type and version, with `flags` in its frame control. `middle` is
    /// the auxiliary security header. Version 2 may have header elements after it.
    fn header(&self, rng: &mut Rng, kind: u16, version: u16, flags: u16, middle: &[u8]) -> Vec<u8> {
        let mode = |len: usize| match len {
            0 => 0b00,
            2 => 0b10,
            _ => 0b11,
        };
        let (dst, src) = (mode(self.dst.len()), mode(self.src.len()));
        let both = dst != 0 && src != 0;
        let compressed = match version {
            2 => rng.once_in(2),
            _ => both && rng.once_in(2),
        };
        let (has_dst_pan, has_src_pan) = match (version, dst, src) {
            (0 | 1, _, _) => (dst != 0, src != 0 && !compressed),
            (_, 0, 0) => (compressed, false),
            (_, _, 0) => (!compressed, false),
            (_, 0, _) => (false, !compressed),
            (_, 3, 3) => (!compressed, false),
            _ => (true, !compressed),
        };
        let suppressed = version == 2 && rng.once_in(4);
        let elements = if version == 2 && rng.once_in(3) {
            elements(rng)
        } else {
            Vec::new()
        };
        let control = kind
            | flags
            | u16::from(compressed) << 6
            | u16::from(suppressed) << 8
            | u16::from(!elements.is_empty()) << 9
            | dst << 10
            | version << 12
            | src << 14;
        let mut frame = control.to_le_bytes().to_vec();
        if !suppressed {
            frame.push(rng.byte());
        }
        if has_dst_pan {
            frame.extend(self.dst_pan.to_le_bytes());
        }
        frame.extend(&self.dst);
        if has_src_pan {
            frame.extend(self.src_pan.to_le_bytes());
        }
        frame.extend(&self.src);
        frame.extend(middle);
        frame.extend(elements);
        frame
    }
}

/// Returns header elements, up to the element that the payload follows.
fn elements(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    if rng.once_in(2) {
        bytes.extend([0x04, 0x0d]);
        bytes.extend(rng.bytes(4));
    }
    if rng.once_in(2) {
        bytes.extend([0x02, 0x0f]);
        bytes.extend((rng.next() as u16 & 0x8fff).to_le_bytes());
    }
    bytes.extend([0x80, 0x3f]);
    bytes
}

/// Returns a data frame around a 6LoWPAN payload.
fn data(rng: &mut Rng, payload: &[u8]) -> Vec<u8> {
    let addresses = Addresses::of(rng, &[2, 8]);
    around(rng, &addresses, payload)
}

fn around(rng: &mut Rng, addresses: &Addresses, payload: &[u8]) -> Vec<u8> {
    let version = rng.of(&[0, 1, 1, 1, 2]);
    let flags = rng.of(&[0, 1 << 4, 1 << 5]);
    let mut frame = addresses.header(rng, 1, version, flags, &[]);
    frame.extend(payload);
    frame
}

/// Returns a frame without 6LoWPAN: acknowledgments, commands, beacons.
fn bare(rng: &mut Rng) -> Vec<u8> {
    let flags = rng.of(&[0, 1 << 4, 1 << 5]);
    let (kind, version) = (rng.below(4) as u16, rng.below(3) as u16);
    match kind {
        2 if version < 2 => vec![0x02 | flags as u8, (version << 4) as u8, rng.byte()],
        3 => {
            let addresses = Addresses::of(rng, &[2, 8]);
            let mut frame = addresses.header(rng, 3, version.min(1), flags, &[]);
            let command = rng.of(&[1, 2, 3, 4, 5, 6, 7]);
            frame.push(command);
            let len = match command {
                1 | 3 => 1,
                2 => 3,
                _ => 0,
            };
            frame.extend(rng.bytes(len));
            frame
        }
        0 if version < 2 => {
            let mut addresses = Addresses::of(rng, &[2, 8]);
            addresses.dst.clear();
            let mut frame = addresses.header(rng, 0, version, flags, &[]);
            // Superframe, no GTS, two pending addresses of each length.
            frame.extend(rng.bytes(2));
            frame.extend([0, 0x22]);
            frame.extend(rng.bytes(2 * 2 + 2 * 8));
            frame
        }
        other => {
            let addresses = Addresses::of(rng, &[2, 8]);
            let kind = if other == 1 { 2 } else { other };
            addresses.header(rng, kind, 2, flags, &[])
        }
    }
}

/// Returns a data frame with a security header and an arbitrary payload and MIC.
fn secured(rng: &mut Rng) -> Vec<u8> {
    let addresses = Addresses::of(rng, &[2, 8]);
    let (level, mode) = (rng.below(8) as u8, rng.below(4) as u8);
    let mut aux = vec![level | mode << 3];
    aux.extend(rng.bytes(4));
    aux.extend(rng.bytes([0, 1, 5, 9][usize::from(mode)]));
    let version = rng.of(&[1, 2]);
    let mut frame = addresses.header(rng, 1, version, 1 << 3, &aux);
    frame.extend(compressed(rng));
    frame.extend(rng.bytes([0, 4, 8, 16][usize::from(level & 3)]));
    frame
}

fn mesh(rng: &mut Rng) -> Vec<u8> {
    let (v, f) = (rng.below(2) as u8, rng.below(2) as u8);
    let hops = rng.below(16) as u8;
    let mut bytes = vec![0x80 | v << 5 | f << 4 | hops];
    if hops == 15 {
        bytes.push(rng.byte());
    }
    for short in [v, f] {
        bytes.extend(rng.bytes(if short == 1 { 2 } else { 8 }));
    }
    if rng.once_in(4) {
        bytes.extend([0x50, rng.byte()]);
    }
    bytes
}

/// Makes routing headers of RFC 8138.
fn routes(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0xf1];
    if rng.once_in(2) {
        let kind = rng.below(5) as u8;
        let stops = rng.below(3) as u8;
        let each = [1, 2, 4, 8, 16][usize::from(kind)];
        if usize::from(stops + 1) * each <= 24 {
            bytes.extend([0x80 | stops, kind]);
            bytes.extend(rng.bytes(usize::from(stops + 1) * each));
        }
    }
    let bits = rng.below(32) as u8;
    bytes.extend([0x80 | bits, 5]);
    let len = usize::from(bits & 2 == 0) + if bits & 1 == 0 { 2 } else { 1 };
    bytes.extend(rng.bytes(len));
    bytes
}

/// Returns a compressed header of any form (RFC 6282 §3, §4), and some payload.
fn compressed(rng: &mut Rng) -> Vec<u8> {
    let mut out = Vec::new();
    let tail = iphc(rng, &mut out);
    out.extend(tail);
    out
}

/// Writes a compressed header; returns the bytes that follow it.
fn iphc(rng: &mut Rng, out: &mut Vec<u8>) -> Vec<u8> {
    let field = |rng: &mut Rng, bits: u32| rng.below(1 << bits) as u16;
    let (tf, hlim, sam, dam) = (field(rng, 2), field(rng, 2), field(rng, 2), field(rng, 2));
    let (cid, sac, m) = (field(rng, 1), field(rng, 1), field(rng, 1));
    let nh = field(rng, 1);
    let dac = match (m, dam) {
        (1, 1..) | (0, 0) => 0,
        _ => field(rng, 1),
    };
    let bits = 0b011 << 13 | tf << 11 | nh << 10 | hlim << 8 | cid << 7 | sac << 6;
    let bits = bits | sam << 4 | m << 3 | dac << 2 | dam;
    out.extend(bits.to_be_bytes());
    if cid == 1 {
        // Both programs know these contexts.
        out.push((rng.below(4) << 4 | rng.below(4)) as u8);
    }
    let mut class = rng.bytes([4, 3, 1, 0][usize::from(tf)]);
    match tf {
        0 => class[1] &= 0x0f,
        1 => class[0] &= 0xcf,
        _ => {}
    }
    out.extend(class);
    let next = rng.of(&[6, 17, 58, 59, 0xfd]);
    if nh == 0 {
        out.push(next);
    }
    if hlim == 0 {
        out.push(rng.byte());
    }
    out.extend(rng.bytes(match (sac, sam) {
        (1, 0) => 0,
        (_, mode) => [16, 8, 2, 0][usize::from(mode)],
    }));
    out.extend(rng.bytes(match (m, dac, dam) {
        (1, 0, mode) => [16, 6, 4, 1][usize::from(mode)],
        (1, _, _) => 6,
        (_, _, mode) => [16, 8, 2, 0][usize::from(mode)],
    }));
    match nh {
        1 => chain(rng, out),
        _ => packets::upper(rng, next, 30),
    }
}

/// Writes compressed next headers; returns the bytes that follow them.
fn chain(rng: &mut Rng, out: &mut Vec<u8>) -> Vec<u8> {
    if rng.once_in(3) {
        let is_more = rng.once_in(2);
        let eid = rng.of(&[0, 3]);
        out.push(0xe0 | eid << 1 | u8::from(is_more));
        let next = rng.of(&[6, 17, 58, 59]);
        if !is_more {
            out.push(next);
        }
        // RPL packet information.
        let content = [vec![6, 0x63, 4], rng.bytes(4)].concat();
        out.extend(content);
        if !is_more {
            return packets::upper(rng, next, 30);
        }
    }
    let ports = rng.below(4) as u8;
    let elided = rng.once_in(6);
    out.push(0xf0 | u8::from(elided) << 2 | ports);
    out.extend(rng.bytes([4, 3, 3, 1][usize::from(ports)]));
    if !elided {
        out.extend(rng.bytes(2));
    }
    rng.bytes(9)
}

/// Returns a header in the older compression (RFC 4944 §10).
fn hc1(rng: &mut Rng) -> Vec<u8> {
    let encoding = rng.byte() & 0xfe | 0x08;
    let is_udp = encoding >> 1 & 3 == 1 && rng.once_in(2);
    let mut bytes = vec![0x42, encoding | u8::from(is_udp)];
    if is_udp {
        // The ports take whole bytes: both are compressed, or neither.
        bytes.push(rng.of(&[0xe0, 0x20, 0xc0, 0x00]));
    }
    bytes.push(rng.byte());
    for bit in [0x80, 0x40, 0x20, 0x10] {
        if encoding & bit == 0 {
            bytes.extend(rng.bytes(8));
        }
    }
    let next = match encoding >> 1 & 3 {
        0 => {
            bytes.push(59);
            59
        }
        1 => 17,
        2 => 58,
        _ => 6,
    };
    if is_udp {
        let short = bytes[2] & 0xc0 == 0xc0;
        bytes.extend(rng.bytes(if short { 1 } else { 4 }));
        if bytes[2] & 0x20 == 0 {
            bytes.extend(20_u16.to_be_bytes());
        }
        bytes.extend(rng.bytes(2 + 12));
    } else {
        bytes.extend(packets::upper(rng, next, 20));
    }
    bytes
}

/// Appends a packet with a correct checksum, in one frame or in fragments of RFC 4944.
fn split(rng: &mut Rng, packet: &[u8], frames: &mut Vec<Vec<u8>>) {
    let addresses = Addresses::of(rng, &[2, 8]);
    if packet.len() < ROOM {
        let payload = [&[0x41], packet].concat();
        frames.push(around(rng, &addresses, &payload));
        return;
    }
    let (size, tag) = (packet.len() as u16, rng.next() as u16);
    let mut at = 0;
    while at < packet.len() {
        let len = (8 * (1 + rng.below(9)) as usize).min(packet.len() - at);
        let part = &packet[at..at + len];
        let kind: u16 = if at == 0 { 0xc000 } else { 0xe000 };
        let mut payload = (kind | size).to_be_bytes().to_vec();
        payload.extend(tag.to_be_bytes());
        match at {
            0 => payload.push(0x41),
            _ => payload.push((at / 8) as u8),
        }
        payload.extend(part);
        frames.push(around(rng, &addresses, &payload));
        at += len;
    }
}

fn fragments(rng: &mut Rng, frames: &mut Vec<Vec<u8>>) {
    let mut packet = packets::any(rng, 1_000);
    while packet.len() < ROOM {
        packet = packets::any(rng, 1_000);
    }
    split(rng, &packet, frames);
}

/// Appends recoverable fragments of a datagram, and an acknowledgment of them (RFC 8931).
fn recoverable(rng: &mut Rng, frames: &mut Vec<Vec<u8>>) {
    let addresses = Addresses::of(rng, &[2, 8]);
    let packet = packets::any(rng, 400);
    let whole = [&[0x41], packet.as_slice()].concat();
    let (tag, mut at, mut sequence) = (rng.byte(), 0, 0_u16);
    while at < whole.len() {
        let len = (40 + rng.below(30) as usize).min(whole.len() - at);
        let ask = u16::from(at + len == whole.len()) << 15;
        let word = ask | sequence << 10 | len as u16;
        let place = if sequence == 0 { whole.len() } else { at } as u16;
        let mut payload = vec![0xe8 | u8::from(rng.once_in(8)), tag];
        payload.extend(word.to_be_bytes());
        payload.extend(place.to_be_bytes());
        payload.extend(&whole[at..at + len]);
        frames.push(around(rng, &addresses, &payload));
        at += len;
        sequence += 1;
    }
    let mut ack = vec![0xea | u8::from(rng.once_in(8)), tag];
    ack.extend(rng.bytes(4));
    frames.push(around(rng, &addresses, &ack));
}
