//! Bytes that the methods add to frames: the short frames of X-MAC and LPP, and the headers of LPP
//! and of ContikiMAC before 3.0.
//!
//! All these frames and headers begin with a zero byte, which is not a 6LoWPAN dispatch (RFC 4944
//! §5.1: not a LoWPAN frame). The formats are not Contiki's, but have the same lengths.

use redpoll_mac::Meaning;
use redpoll_wire::ieee802154::Address;

use super::{DutyConfig, Method, Release};

const DISPATCH: u8 = 0;
/// X-MAC: a frame for the receiver follows.
const STROBE: u8 = 0x10;
/// LPP: the sender listens.
const PROBE: u8 = 0x01;
const DATA: u8 = 0x02;

/// Bytes of LPP's header: dispatch, type, sender and receiver.
const LPP_LEN: usize = 6;
/// Bytes of ContikiMAC's header before 3.0: dispatch and the length of the payload.
const CONTIKIMAC_LEN: usize = 2;
/// Minimum length of a frame without FCS. ContikiMAC before 3.0 pads frames to it, so that no frame
/// fits between the two assessments of a wake-up.
const SHORTEST: usize = 43;

/// Returns the length in bytes of the header before a frame's payload.
pub(super) fn len(config: &DutyConfig) -> usize {
    match config.method {
        Method::ContikiMac if config.release < Release::Contiki30 => CONTIKIMAC_LEN,
        Method::Lpp => LPP_LEN,
        _ => 0,
    }
}

/// Writes the header, and any padding, around a payload of `payload_len` bytes to `area`, the part
/// of the frame after the MAC header. Returns the bytes of `area` that the frame uses.
pub(super) fn write(
    config: &DutyConfig,
    addresses: (Address, Address),
    mac_header_len: usize,
    area: &mut [u8],
    payload_len: usize,
) -> usize {
    let total = len(config).saturating_add(payload_len);
    match config.method {
        Method::ContikiMac if config.release < Release::Contiki30 => {
            if let Some(header) = area.first_chunk_mut() {
                *header = [DISPATCH, u8::try_from(payload_len).unwrap_or(u8::MAX)];
            }
            let shortest = SHORTEST.saturating_sub(mac_header_len);
            if let Some(padding) = area.get_mut(total..shortest) {
                padding.fill(0);
            }
            total.max(shortest)
        }
        Method::Lpp => {
            if let Some(header) = area.first_chunk_mut() {
                *header = lpp(DATA, addresses);
            }
            total
        }
        _ => total,
    }
}

/// Returns the payload of X-MAC's strobe or LPP's probe, and its length.
pub(super) fn short(config: &DutyConfig, from: Address) -> ([u8; LPP_LEN], usize) {
    match config.method {
        Method::Lpp => (lpp(PROBE, (from, Address::BROADCAST)), LPP_LEN),
        _ => ([DISPATCH, STROBE, 0, 0, 0, 0], 2),
    }
}

pub(super) fn read<'f>(config: &DutyConfig, payload: &'f [u8]) -> Meaning<'f> {
    match (config.method, payload) {
        (Method::XMac | Method::CxMac, [DISPATCH, STROBE, ..]) => Meaning::Strobe,
        (Method::Lpp, [DISPATCH, PROBE, ..]) => Meaning::Probe,
        (Method::Lpp, [DISPATCH, DATA, ..]) => payload
            .get(LPP_LEN..)
            .map_or(Meaning::Malformed, Meaning::Data),
        (Method::Lpp, _) => Meaning::Malformed,
        (Method::ContikiMac, _) if config.release < Release::Contiki30 => match payload {
            [DISPATCH, len, rest @ ..] => rest
                .get(..usize::from(*len))
                .map_or(Meaning::Malformed, Meaning::Data),
            _ => Meaning::Malformed,
        },
        _ => Meaning::Data(payload),
    }
}

fn lpp(kind: u8, (from, to): (Address, Address)) -> [u8; LPP_LEN] {
    let [from_high, from_low] = short_of(from);
    let [to_high, to_low] = short_of(to);
    [DISPATCH, kind, from_high, from_low, to_high, to_low]
}

fn short_of(address: Address) -> [u8; 2] {
    match address {
        Address::Short(short) => short.to_be_bytes(),
        Address::Extended([.., high, low]) => [high, low],
        Address::Absent => [0, 0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: (Address, Address) = (Address::Short(0x0102), Address::Short(0x0304));

    #[test]
    fn old_releases_of_contikimac_pad_short_frames() {
        let old = DutyConfig::of(Method::ContikiMac, Release::Contiki27);
        let mut area = [9; 60];
        area[2..5].copy_from_slice(b"abc");
        let frame_len = write(&old, ENDS, 9, &mut area, 3);
        assert_eq!(frame_len, 43 - 9);
        assert_eq!(area[..6], [0, 3, b'a', b'b', b'c', 0]);
        assert_eq!(read(&old, &area[..frame_len]), Meaning::Data(b"abc"));
        assert_eq!(write(&old, ENDS, 9, &mut area, 50), 52);
        for bad in [&[][..], &[0], &[0, 3, 1, 2], &[0x60, 1, 1]] {
            assert_eq!(read(&old, bad), Meaning::Malformed, "{bad:?}");
        }
        let new = DutyConfig::of(Method::ContikiMac, Release::Contiki30);
        assert_eq!((len(&new), write(&new, ENDS, 9, &mut area, 3)), (0, 3));
        assert_eq!(read(&new, b"abc"), Meaning::Data(b"abc"));
    }

    #[test]
    fn frames_of_lpp_and_x_mac_are_distinguished_from_their_short_ones() {
        let lpp = DutyConfig::of(Method::Lpp, Release::Contiki27);
        let mut area = [7; 20];
        assert_eq!(write(&lpp, ENDS, 9, &mut area, 4), 10);
        assert_eq!(area[..7], [0, 2, 1, 2, 3, 4, 7]);
        assert_eq!(read(&lpp, &area[..10]), Meaning::Data(&[7; 4]));
        let (probe, len) = short(&lpp, ENDS.0);
        assert_eq!(read(&lpp, &probe[..len]), Meaning::Probe);
        assert_eq!(probe, [0, 1, 1, 2, 0xff, 0xff]);
        for bad in [&[][..], &[0], &[0, 2, 1, 2, 3], &[0x60, 2]] {
            assert_eq!(read(&lpp, bad), Meaning::Malformed, "{bad:?}");
        }
        let xmac = DutyConfig::of(Method::XMac, Release::Contiki27);
        let (strobe, len) = short(&xmac, ENDS.0);
        assert_eq!((len, read(&xmac, &strobe[..len])), (2, Meaning::Strobe));
        assert_eq!(read(&xmac, b"abc"), Meaning::Data(b"abc"));
    }
}
