//! Frames of all header forms, made without the project's codecs, because frames from a faulty
//! codec would hide the codec's fault.

use super::lowpan::{compressed, hc1, mesh, routes};
use super::mac::{self, Addresses, around, data};
use super::packets;
use super::rng::Rng;

/// Payload that fits into a frame with the longest MAC header.
const ROOM: usize = 80;

/// Returns at least `count` frames without check sequence.
pub fn make(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(seed);
    let mut frames = Vec::with_capacity(count + 8);
    while frames.len() < count {
        match frames.len() % 13 {
            0 => frames.push(mac::bare(&mut rng)),
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
            7 => {
                let payload = compressed(&mut rng);
                frames.push(mac::multipurpose(&mut rng, &payload));
            }
            8 | 9 => {
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

/// Returns a data frame with a security header and an arbitrary payload and MIC.
fn secured(rng: &mut Rng) -> Vec<u8> {
    let addresses = Addresses::of(rng, &[2, 8]);
    let (level, mode) = (rng.below(8) as u8, rng.below(4) as u8);
    let mut aux = vec![level | mode << 3];
    let version = rng.of(&[1, 2]);
    // Version 2 may suppress the frame counter.
    if version == 2 && rng.once_in(3) {
        aux[0] |= 1 << 5;
    } else {
        aux.extend(rng.bytes(4));
    }
    aux.extend(rng.bytes([0, 1, 5, 9][usize::from(mode)]));
    let mut frame = addresses.header(rng, 1, version, mac::SECURITY, &aux);
    frame.extend(compressed(rng));
    frame.extend(rng.bytes([0, 4, 8, 16][usize::from(level & 3)]));
    frame
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
