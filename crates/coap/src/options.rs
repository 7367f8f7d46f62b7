//! The options that this endpoint understands in requests and responses (RFC 7252 §5.4, §5.10; RFC
//! 7959 §2.1; RFC 7967; RFC 9175 §2.2).

use alloc::string::String;
use alloc::vec::Vec;
use coap_lite::{CoapOption, Packet};

/// An option: its number, the least and greatest length of its value, and whether it may be
/// repeated.
pub(crate) type Known = (u16, usize, usize, bool);

const UNDERSTOOD: [Known; 14] = [
    (3, 1, 255, false),  // Uri-Host
    (4, 1, 8, true),     // ETag
    (7, 0, 2, false),    // Uri-Port
    (11, 0, 255, true),  // Uri-Path
    (12, 0, 2, false),   // Content-Format
    (14, 0, 4, false),   // Max-Age
    (15, 0, 255, true),  // Uri-Query
    (17, 0, 2, false),   // Accept
    (23, 0, 3, false),   // Block2
    (27, 0, 3, false),   // Block1
    (28, 0, 4, false),   // Size2
    (60, 0, 4, false),   // Size1
    (252, 1, 40, false), // Echo
    (258, 0, 1, false),  // No-Response
];

/// Returns whether an option is critical: its number is odd (RFC 7252 §5.4.1).
fn is_critical(number: u16) -> bool {
    number & 1 == 1
}

/// Returns the first critical option of `packet` that must be rejected: unknown, with an invalid
/// length (RFC 7252 §5.4.3), or repeated (§5.4.5). Removes elective options with the same faults.
pub(crate) fn check(packet: &mut Packet) -> Result<(), u16> {
    check_with(packet, &[])
}

/// Checks `packet` as [`check`] does, for an endpoint that also understands the options `more`.
pub(crate) fn check_with(packet: &mut Packet, more: &[Known]) -> Result<(), u16> {
    let mut ignored = Vec::new();
    for (number, values) in packet.options() {
        let fits = UNDERSTOOD
            .iter()
            .chain(more)
            .any(|(known, least, most, repeats)| {
                known == number
                    && (*repeats || values.len() <= 1)
                    && values
                        .iter()
                        .all(|value| (*least..=*most).contains(&value.len()))
            });
        match fits {
            true => {}
            false if is_critical(*number) => return Err(*number),
            false => ignored.push(*number),
        }
    }
    for number in ignored {
        packet.clear_option(CoapOption::from(number));
    }
    Ok(())
}

/// Returns whether the request is for a proxy (RFC 7252 §5.7.2).
pub(crate) fn asks_for_proxy(packet: &Packet) -> bool {
    [CoapOption::ProxyUri, CoapOption::ProxyScheme]
        .into_iter()
        .any(|option| packet.get_option(option).is_some())
}

/// Returns the values of a repeatable string option, joined by `with`; `None` if they are not UTF-8
/// (RFC 7252 §3.2).
pub(crate) fn joined(packet: &Packet, which: CoapOption, with: &str) -> Option<String> {
    let Some(values) = packet.get_option(which) else {
        return Some(String::new());
    };
    let texts: Option<Vec<&str>> = values
        .iter()
        .map(|value| core::str::from_utf8(value).ok())
        .collect();
    Some(texts?.join(with))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(options: &[(u16, &[u8])]) -> Packet {
        let mut packet = Packet::new();
        for (number, value) in options {
            packet.add_option(CoapOption::from(*number), value.to_vec());
        }
        packet
    }

    #[test]
    fn unknown_critical_options_are_named() {
        assert_eq!(check(&mut packet(&[(11, b"a"), (11, b"b")])), Ok(()));
        assert_eq!(check(&mut packet(&[(9, b"")])), Err(9));
        assert_eq!(check(&mut packet(&[(65_001, b"x")])), Err(65_001));
        // Also refused: a value that is too long, and a second instance of a non-repeatable option.
        assert_eq!(check(&mut packet(&[(27, b"1234")])), Err(27));
        assert_eq!(check(&mut packet(&[(17, b""), (17, b"")])), Err(17));
    }

    #[test]
    fn unknown_elective_options_are_ignored() {
        let mut packet = packet(&[(6, b""), (28, b"12345"), (12, b"")]);
        assert_eq!(check(&mut packet), Ok(()));
        assert!(packet.get_first_option(CoapOption::Observe).is_none());
        assert!(packet.get_first_option(CoapOption::Size2).is_none());
        assert!(packet.get_first_option(CoapOption::ContentFormat).is_some());
    }
}
