//! The MPL option (RFC 7731 §6.1) in a hop-by-hop header. It identifies a multicast packet by its
//! seed and a sequence number, so that forwarders recognise duplicates.

use core::ops::Range;

use super::{Ipv6Header, hop_by_hop_len};
use redpoll_base::Addr;

/// Type of the option. A node without MPL drops the packet (RFC 8200 §4.2).
pub const OPTION: u8 = 0x6d;
/// `ff03::fc`, the forwarders of a mesh (RFC 7731 §4.1, RFC 7346).
pub const ALL_FORWARDERS: Addr = Addr([0xff, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfc]);

const PAD1: u8 = 0;
const PADN: u8 = 1;
const LATEST: u8 = 0x20;
const VERSION: u8 = 0x10;

/// The identifier of a seed, a node that puts messages into an MPL domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeedId {
    /// S = 0: the source address of the packet.
    Source,
    /// S = 1: a number of 16 bits.
    Short(u16),
    /// S = 2: a number of 64 bits.
    Long([u8; 8]),
    /// S = 3: a number of 128 bits.
    Full([u8; 16]),
}

/// An MPL option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MplOption {
    /// The identifier of the seed.
    pub seed: SeedId,
    /// M: the sender knows no larger sequence number of this seed.
    pub is_latest: bool,
    /// The number of the message among those of the seed.
    pub sequence: u8,
}

impl MplOption {
    /// Length of a hop-by-hop header with only this option and a seed identifier of 16 bits.
    pub const LEN: usize = 8;

    /// Returns the hop-by-hop header with this option and the seed identifier `seed`, followed by
    /// a header of type `next`. M is set: a seed knows its largest sequence number.
    pub const fn header(seed: u16, sequence: u8, next: u8) -> [u8; Self::LEN] {
        let [high, low] = seed.to_be_bytes();
        [next, 0, OPTION, 4, 1 << 6 | LATEST, sequence, high, low]
    }

    /// Returns the option in the hop-by-hop header of `packet`, which begins with the IPv6 header,
    /// and its place in the packet. Returns `None` if there is no option, or if it is malformed or
    /// of another version (§6.1: V).
    pub fn find(packet: &[u8]) -> Option<(MplOption, Range<usize>)> {
        let end = hop_by_hop_len(packet).checked_add(Ipv6Header::LEN)?;
        let mut at = Ipv6Header::LEN.checked_add(2)?;
        while at < end {
            let options = packet.get(at..end)?;
            let len = match *options {
                [PAD1, ..] => 1,
                [_, len, ..] => usize::from(len).checked_add(2)?,
                _ => return None,
            };
            let option = options.get(..len)?;
            let next = at.checked_add(len)?;
            if let Some((&OPTION, _)) = option.split_first() {
                return Some((Self::parse(option)?, at..next));
            }
            at = next;
        }
        None
    }

    /// Parses an option with its type and length. Bytes after the seed identifier are ignored.
    fn parse(option: &[u8]) -> Option<MplOption> {
        let &[OPTION, _, flags, sequence, ref rest @ ..] = option else {
            return None;
        };
        if flags & VERSION != 0 {
            return None;
        }
        let seed = match flags >> 6 {
            0 => SeedId::Source,
            1 => SeedId::Short(u16::from_be_bytes(*rest.first_chunk()?)),
            2 => SeedId::Long(*rest.first_chunk()?),
            _ => SeedId::Full(*rest.first_chunk()?),
        };
        Some(MplOption {
            seed,
            is_latest: flags & LATEST != 0,
            sequence,
        })
    }

    /// Overwrites the option at `place`, as [`Self::find`] returned it, with padding of the same
    /// length, for an upper layer that does not know the option.
    pub fn blank(packet: &mut [u8], place: Range<usize>) {
        if let Some([kind, _, data @ ..]) = packet.get_mut(place) {
            *kind = PADN;
            data.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipv6::next_header;

    fn packet(hop_by_hop: &[u8]) -> std::vec::Vec<u8> {
        let header = Ipv6Header {
            payload_len: hop_by_hop.len() as u16,
            next_header: next_header::HOP_BY_HOP,
            ..Ipv6Header::default()
        };
        [&header.to_bytes(), hop_by_hop].concat()
    }

    #[test]
    fn the_own_header_is_found() {
        let header = MplOption::header(0xbeef, 7, next_header::IPV6);
        assert_eq!(header, [41, 0, 0x6d, 4, 0x60, 7, 0xbe, 0xef]);
        let (option, place) = MplOption::find(&packet(&header)).unwrap();
        assert_eq!(option.seed, SeedId::Short(0xbeef));
        assert_eq!((option.is_latest, option.sequence), (true, 7));
        assert_eq!(place, 42..48);
    }

    /// RFC 7731 §6.1: seed identifiers have four lengths; other options may precede an MPL option.
    #[test]
    fn seeds_of_each_length_are_read() {
        let source = packet(&[17, 0, 0x6d, 2, 0, 9, 1, 0]);
        let (option, _) = MplOption::find(&source).unwrap();
        assert_eq!((option.seed, option.sequence), (SeedId::Source, 9));
        let long = packet(&[17, 1, 1, 0, 0x6d, 10, 0x80, 9, 1, 2, 3, 4, 5, 6, 7, 8]);
        let (option, place) = MplOption::find(&long).unwrap();
        assert_eq!(option.seed, SeedId::Long([1, 2, 3, 4, 5, 6, 7, 8]));
        assert_eq!(place, 44..56);
        let full = [&[17, 2, 0x6d, 18, 0xc0, 9][..], &[7; 16], &[0; 2]].concat();
        let (option, _) = MplOption::find(&packet(&full)).unwrap();
        assert_eq!(option.seed, SeedId::Full([7; 16]));
    }

    #[test]
    fn other_versions_and_short_options_are_not_found() {
        let found = |bytes: &[u8]| MplOption::find(&packet(bytes)).is_some();
        assert!(!found(&[17, 0, 0x6d, 2, 0x10, 9, 1, 0]), "another version");
        assert!(
            !found(&[17, 0, 0x6d, 2, 0x40, 9, 1, 0]),
            "no room for a seed"
        );
        assert!(!found(&[17, 0, 0x6d, 1, 0, 1, 1, 0]), "no sequence number");
        assert!(!found(&[17, 0, 0x6d, 9, 0, 0, 0, 0]), "beyond the header");
        assert!(!found(&[17, 0, 1, 4, 0, 0, 0, 0]), "another option type");
        assert!(!found(&[17]), "cut short");
    }

    #[test]
    fn a_blank_option_is_padding() {
        let mut bytes = packet(&MplOption::header(1, 2, 17));
        let (_, place) = MplOption::find(&bytes).unwrap();
        MplOption::blank(&mut bytes, place);
        assert_eq!(bytes[40..], [17, 0, 1, 4, 0, 0, 0, 0]);
    }
}
