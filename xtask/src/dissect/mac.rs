//! MAC headers of all versions and frame types (IEEE 802.15.4-2015 §7).

use super::rng::Rng;

/// The bit of the frame control field that marks secured frames.
pub const SECURITY: u16 = 1 << 3;

/// The address fields of a MAC header.
pub struct Addresses {
    dst_pan: u16,
    src_pan: u16,
    dst: Vec<u8>,
    src: Vec<u8>,
}

impl Addresses {
    pub fn of(rng: &mut Rng, lens: &[usize]) -> Addresses {
        let dst = rng.of(lens);
        let src = rng.of(lens);
        Addresses {
            dst_pan: rng.next() as u16,
            src_pan: rng.next() as u16,
            dst: rng.bytes(dst),
            src: rng.bytes(src),
        }
    }

    /// Returns the addressing modes of destination and source (§7.2.2.9).
    fn modes(&self) -> [u16; 2] {
        [&self.dst, &self.src].map(|address| match address.len() {
            0 => 0b00,
            2 => 0b10,
            _ => 0b11,
        })
    }

    /// Returns a header of this type and version, with `flags` in its frame control. `middle` is
    /// the auxiliary security header. Version 2 may have information elements after it.
    pub fn header(
        &self,
        rng: &mut Rng,
        kind: u16,
        version: u16,
        flags: u16,
        middle: &[u8],
    ) -> Vec<u8> {
        let [dst, src] = self.modes();
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
        // In a secured frame, payload elements are a part of the encrypted payload.
        let has_payload = rng.once_in(2) && flags & SECURITY == 0;
        let elements = if version == 2 && rng.once_in(3) {
            elements(rng, has_payload)
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

/// Returns header elements, and payload elements if `has_payload`, up to the element that the
/// payload follows (§7.4).
fn elements(rng: &mut Rng, has_payload: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    if rng.once_in(2) {
        // CSL: phase and period.
        bytes.extend([0x04, 0x0d]);
        bytes.extend(rng.bytes(4));
    }
    if rng.once_in(2) {
        // Time correction.
        bytes.extend([0x02, 0x0f]);
        bytes.extend((rng.next() as u16 & 0x8fff).to_le_bytes());
    }
    if !has_payload {
        // Header termination 2: the payload follows.
        bytes.extend([0x80, 0x3f]);
        return bytes;
    }
    // Header termination 1: payload elements follow.
    bytes.extend([0x00, 0x3f]);
    let kinds = rng.of(&[1, 2, 3]);
    if kinds & 1 != 0 {
        let nested = nested(rng);
        bytes.extend(payload_element(1, &nested));
    }
    if kinds & 2 != 0 {
        // ESDU, or a reserved group.
        let (group, len) = (rng.of(&[0, 4, 9]), rng.below(9) as usize);
        let content = rng.bytes(len);
        bytes.extend(payload_element(group, &content));
    }
    bytes.extend(payload_element(15, &[]));
    bytes
}

/// Returns a payload element of a group, 0 to 15 (§7.4.3).
fn payload_element(group: u16, content: &[u8]) -> Vec<u8> {
    let descriptor = 1 << 15 | group << 11 | content.len() as u16;
    [&descriptor.to_le_bytes(), content].concat()
}

/// Returns elements of an MLME element (§7.4.4).
fn nested(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    if rng.once_in(2) {
        // TSCH synchronization: absolute slot number and join metric.
        bytes.extend([6, 0x1a]);
        bytes.extend(rng.bytes(6));
    }
    if rng.once_in(2) {
        // TSCH timeslot.
        bytes.extend([1, 0x1c, rng.byte()]);
    }
    if rng.once_in(2) {
        // Channel hopping, whose descriptor has the long form.
        bytes.extend([1, 0xc8, rng.byte()]);
    }
    bytes
}

/// Returns a data frame around a 6LoWPAN payload.
pub fn data(rng: &mut Rng, payload: &[u8]) -> Vec<u8> {
    let addresses = Addresses::of(rng, &[2, 8]);
    around(rng, &addresses, payload)
}

pub fn around(rng: &mut Rng, addresses: &Addresses, payload: &[u8]) -> Vec<u8> {
    let version = rng.of(&[0, 1, 1, 1, 2]);
    let flags = rng.of(&[0, 1 << 4, 1 << 5]);
    let mut frame = addresses.header(rng, 1, version, flags, &[]);
    frame.extend(payload);
    frame
}

/// Returns a frame without 6LoWPAN: acknowledgments, commands, beacons.
pub fn bare(rng: &mut Rng) -> Vec<u8> {
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

/// Returns a multipurpose frame of either form (§7.3.5), with elements, and with a datagram or
/// without payload.
pub fn multipurpose(rng: &mut Rng, payload: &[u8]) -> Vec<u8> {
    const LONG: u16 = 1 << 3;
    const PAN: u16 = 1 << 8;
    const NO_SEQUENCE: u16 = 1 << 10;
    const PENDING: u16 = 1 << 11;
    const ACK_REQUEST: u16 = 1 << 14;
    const ELEMENTS: u16 = 1 << 15;
    let addresses = Addresses::of(rng, &[0, 2, 8]);
    let [dst, src] = addresses.modes();
    let mut control = 5 | dst << 4 | src << 6;
    let is_long = !rng.once_in(3);
    if is_long {
        let flags = PAN | NO_SEQUENCE | PENDING | ACK_REQUEST | ELEMENTS;
        control |= LONG | rng.next() as u16 & flags;
    }
    let mut frame = control.to_le_bytes()[..1 + usize::from(is_long)].to_vec();
    if control & NO_SEQUENCE == 0 {
        frame.push(rng.byte());
    }
    if control & PAN != 0 {
        frame.extend(addresses.dst_pan.to_le_bytes());
    }
    frame.extend(addresses.dst);
    frame.extend(addresses.src);
    if control & ELEMENTS != 0 {
        let has_payload = rng.once_in(2);
        frame.extend(elements(rng, has_payload));
    }
    if rng.once_in(2) {
        frame.extend(payload);
    }
    frame
}
