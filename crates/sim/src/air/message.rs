//! The types of messages in frames, and the air time that they take.
//!
//! Each node's frame is classified once, when the node loads it into its radio. Every transmission
//! of the frame counts for this type. A later fragment counts for the type of its datagram, whose
//! first fragment the same node sent before.

use redpoll_base::Duration;
use redpoll_mac::Meaning;
use redpoll_replay::DutyConfig;
use redpoll_wire::icmpv6::message_type as icmpv6;
use redpoll_wire::ieee802154::{Address, AuxiliaryHeader, FrameHeader, FrameType};
use redpoll_wire::ipv6::{Ipv6Header, next_header, skip_extension_headers};
use redpoll_wire::rpl::code as rpl;
use redpoll_wire::sixlowpan::{Dispatch, dispatch, fragment, recoverable};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageType {
    DioMulticast,
    DioUnicast,
    Dis,
    Dao,
    DaoAck,
    /// Neighbour discovery: solicitations and advertisements of routers and neighbours, and the
    /// duplicate address messages of RFC 6775.
    Nd,
    /// Beacons, polls and other MAC commands, and strobes and probes of duty-cycled MACs.
    Mac,
    Ack,
    /// Acknowledgment of recoverable fragments (RFC 8931).
    FragmentAck,
    /// Other messages of ICMPv6: echo requests and replies, and errors. A root without storing
    /// routers checks paths by echo requests.
    Icmp,
    /// A packet of TCP or UDP.
    Data,
    /// Any other frame, and those that the simulator cannot read.
    Other,
}

impl MessageType {
    pub const ALL: [MessageType; 12] = [
        MessageType::DioMulticast,
        MessageType::DioUnicast,
        MessageType::Dis,
        MessageType::Dao,
        MessageType::DaoAck,
        MessageType::Nd,
        MessageType::Mac,
        MessageType::Ack,
        MessageType::FragmentAck,
        MessageType::Icmp,
        MessageType::Data,
        MessageType::Other,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            MessageType::DioMulticast => "dio_multicast",
            MessageType::DioUnicast => "dio_unicast",
            MessageType::Dis => "dis",
            MessageType::Dao => "dao",
            MessageType::DaoAck => "dao_ack",
            MessageType::Nd => "nd",
            MessageType::Mac => "mac",
            MessageType::Ack => "ack",
            MessageType::FragmentAck => "fragment_ack",
            MessageType::Icmp => "icmp",
            MessageType::Data => "data",
            MessageType::Other => "other",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            MessageType::DioMulticast => "DIO, multicast",
            MessageType::DioUnicast => "DIO, unicast",
            MessageType::Dis => "DIS",
            MessageType::Dao => "DAO",
            MessageType::DaoAck => "DAO-ACK",
            MessageType::Nd => "neighbour discovery",
            MessageType::Mac => "MAC: beacons, data requests",
            MessageType::Ack => "link acknowledgements",
            MessageType::FragmentAck => "fragment acknowledgements",
            MessageType::Icmp => "other ICMPv6 messages",
            MessageType::Data => "data",
            MessageType::Other => "other frames",
        }
    }

    /// Returns whether the message belongs to the control plane: RPL and neighbour discovery.
    pub const fn is_control(self) -> bool {
        matches!(
            self,
            MessageType::DioMulticast
                | MessageType::DioUnicast
                | MessageType::Dis
                | MessageType::Dao
                | MessageType::DaoAck
                | MessageType::Nd
        )
    }

    /// Returns the type of a packet of 6LoWPAN, compressed or not.
    fn of_packet(bytes: &[u8]) -> Option<MessageType> {
        match dispatch(bytes) {
            Dispatch::Ipv6Uncompressed => Self::of_ipv6(bytes.get(1..)?),
            Dispatch::Iphc => Self::of_iphc(bytes),
            _ => None,
        }
    }

    /// Returns the type of an uncompressed packet. A first fragment may end within it.
    fn of_ipv6(packet: &[u8]) -> Option<MessageType> {
        const NEXT_HEADER_AT: usize = 6;
        const DST_AT: usize = 24;
        let next = *packet.get(NEXT_HEADER_AT)?;
        let payload = packet.get(Ipv6Header::LEN..).unwrap_or_default();
        Self::of_payload(next, payload, packet.get(DST_AT) == Some(&0xff))
    }

    /// Returns the type of a packet by its compressed header (RFC 6282 §3.1). Only the length and
    /// the next header matter here.
    fn of_iphc(bytes: &[u8]) -> Option<MessageType> {
        let [first, second, ..] = *bytes else {
            return None;
        };
        let [context, stateful_src, multicast, stateful_dst] =
            [0x80, 0x40, 0x08, 0x04].map(|bit| second & bit != 0);
        let traffic_class = [4, 3, 1, 0][usize::from(first >> 3 & 3)];
        let next_is_inline = usize::from(first & 4 == 0);
        let hop_limit = usize::from(first & 3 == 0);
        let src = [16, 8, 2, 0][usize::from(second >> 4 & 3)];
        let src = if stateful_src { src % 16 } else { src };
        let mode = usize::from(second & 3);
        let dst = match (multicast, stateful_dst) {
            (false, false) => [16, 8, 2, 0][mode],
            (false, true) => [0, 8, 2, 0][mode],
            (true, false) => [16, 6, 4, 1][mode],
            (true, true) => 6,
        };
        let next_at = 2 + usize::from(context) + traffic_class;
        let rest = bytes.get(next_at + next_is_inline + hop_limit + src + dst..)?;
        match next_is_inline {
            1 => Self::of_payload(*bytes.get(next_at)?, rest, multicast),
            _ => Self::of_compressed(rest, multicast),
        }
    }

    /// Returns the type of a packet by the compressed headers after the IPv6 header (RFC 6282 §4).
    fn of_compressed(mut bytes: &[u8], multicast: bool) -> Option<MessageType> {
        loop {
            let encoding = *bytes.first()?;
            match encoding {
                0b1111_0000..=0b1111_0111 => return Some(MessageType::Data),
                0b1110_1110 | 0b1110_1111 => return Self::of_iphc(bytes.get(1..)?),
                0b1110_0000..=0b1110_1101 => {}
                _ => return None,
            }
            let next_is_inline = encoding & 1 == 0;
            let len_at = 1 + usize::from(next_is_inline);
            let len = usize::from(*bytes.get(len_at)?);
            let next = bytes[1];
            bytes = bytes.get(len_at + 1 + len..)?;
            if next_is_inline {
                return Self::of_payload(next, bytes, multicast);
            }
        }
    }

    fn of_payload(next: u8, payload: &[u8], multicast: bool) -> Option<MessageType> {
        let (next, offset) = skip_extension_headers(next, payload).ok()?;
        let payload = payload.get(offset..)?;
        match (next, payload) {
            (next_header::TCP | next_header::UDP, _) => Some(MessageType::Data),
            (next_header::IPV6, inner) => Self::of_ipv6(inner),
            (next_header::ICMPV6, [icmpv6::RPL, code, ..]) => Self::of_rpl(*code, multicast),
            (next_header::ICMPV6, [number, ..]) => match *number {
                icmpv6::ROUTER_SOLICITATION
                | icmpv6::ROUTER_ADVERTISEMENT
                | icmpv6::NEIGHBOR_SOLICITATION
                | icmpv6::NEIGHBOR_ADVERTISEMENT
                | icmpv6::DUPLICATE_ADDRESS_REQUEST
                | icmpv6::DUPLICATE_ADDRESS_CONFIRMATION => Some(MessageType::Nd),
                _ => Some(MessageType::Icmp),
            },
            _ => None,
        }
    }

    fn of_rpl(code: u8, multicast: bool) -> Option<MessageType> {
        /// Bit of the secure variant of a message (RFC 6550 §6).
        const SECURE: u8 = 0x80;
        match code & !SECURE {
            rpl::DIS => Some(MessageType::Dis),
            rpl::DIO if multicast => Some(MessageType::DioMulticast),
            rpl::DIO => Some(MessageType::DioUnicast),
            rpl::DAO => Some(MessageType::Dao),
            rpl::DAO_ACK => Some(MessageType::DaoAck),
            _ => None,
        }
    }
}

/// Datagrams in fragments that a node's classifier remembers.
const DATAGRAMS: usize = 8;

#[derive(Clone, Debug, Default)]
pub struct Classifier {
    /// Latest datagrams in fragments.
    datagrams: [Option<Datagram>; DATAGRAMS],
    /// Entry of `datagrams` that is replaced next.
    next: usize,
    /// Type of the latest frame that the node encrypted.
    sealed: Option<MessageType>,
}

#[derive(Clone, Copy, Debug)]
struct Datagram {
    number: Number,
    message: MessageType,
}

/// Identifier of a datagram among those of its sender: the tag, and the destination if the
/// fragments are recoverable, because their tags are separate for each destination.
type Number = (u16, Option<Address>);

impl Classifier {
    /// Returns the type of a frame; `parsed` is its header and payload. `duty` are the parameters
    /// of the MAC, if it is duty-cycled.
    pub fn classify(
        &mut self,
        duty: Option<&DutyConfig>,
        parsed: Option<&(FrameHeader, &[u8])>,
    ) -> MessageType {
        let Some((header, payload)) = parsed else {
            return MessageType::Other;
        };
        match header.frame_type {
            FrameType::Ack => MessageType::Ack,
            FrameType::Beacon | FrameType::Command => MessageType::Mac,
            FrameType::Data if !header.security => self.of_data(duty, header.dst, payload),
            FrameType::Data => match AuxiliaryHeader::parse(payload) {
                Ok((aux, _)) if aux.level.encrypts() => self.sealed.unwrap_or(MessageType::Other),
                Ok((_, payload)) => self.of_data(duty, header.dst, payload),
                Err(_) => MessageType::Other,
            },
        }
    }

    /// Records the payload of a data frame to `dst` that the node is about to load encrypted.
    pub fn on_sealed(&mut self, duty: Option<&DutyConfig>, dst: Address, payload: &[u8]) {
        self.sealed = Some(self.of_data(duty, dst, payload));
    }

    fn of_data(&mut self, duty: Option<&DutyConfig>, dst: Address, payload: &[u8]) -> MessageType {
        let meaning = duty.map_or(Meaning::Data(payload), |duty| duty.read(payload));
        match meaning {
            Meaning::Data(payload) => self.of_lowpan(dst, payload).unwrap_or(MessageType::Other),
            Meaning::Strobe | Meaning::Probe => MessageType::Mac,
            Meaning::Malformed => MessageType::Other,
        }
    }

    fn of_lowpan(&mut self, dst: Address, payload: &[u8]) -> Option<MessageType> {
        match dispatch(payload) {
            Dispatch::First => {
                let (header, rest) = fragment::Header::parse(payload).ok()?;
                Some(self.remember((header.tag(), None), rest))
            }
            Dispatch::Next => {
                let (header, _) = fragment::Header::parse(payload).ok()?;
                self.known((header.tag(), None))
            }
            Dispatch::Recoverable => {
                let (header, rest) = recoverable::Fragment::parse(payload).ok()?;
                let number = (header.tag.into(), Some(dst));
                match header.sequence == 0 && !header.is_abort() {
                    true => Some(self.remember(number, rest)),
                    false => self.known(number),
                }
            }
            Dispatch::RecoverableAck => Some(MessageType::FragmentAck),
            _ => MessageType::of_packet(payload),
        }
    }

    /// Records the datagram whose first fragment contains `packet`, and returns its type.
    fn remember(&mut self, number: Number, packet: &[u8]) -> MessageType {
        let message = MessageType::of_packet(packet).unwrap_or(MessageType::Other);
        let mut known = self.datagrams.iter().flatten();
        if known.any(|it| it.number == number && it.message == message) {
            return message;
        }
        self.datagrams[self.next] = Some(Datagram { number, message });
        self.next = (self.next + 1) % DATAGRAMS;
        message
    }

    /// Returns the type of a datagram whose first fragment was sent before.
    fn known(&self, number: Number) -> Option<MessageType> {
        // The newest entry is the one before `next`.
        let (newer, older) = self.datagrams.split_at(self.next);
        let mut latest = newer.iter().rev().chain(older.iter().rev()).flatten();
        latest.find(|it| it.number == number).map(|it| it.message)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AirTimes {
    entries: [(u64, Duration); MessageType::ALL.len()],
}

impl AirTimes {
    pub fn add(&mut self, message: MessageType, time: Duration) {
        let (frames, spent) = &mut self.entries[message as usize];
        *frames += 1;
        *spent += time;
    }

    /// Subtracts the rest of a transmission that has not ended.
    pub fn subtract(&mut self, message: MessageType, rest: Duration) {
        let (_, spent) = &mut self.entries[message as usize];
        *spent = spent.minus(rest);
    }

    pub fn of(&self, message: MessageType) -> (u64, Duration) {
        self.entries[message as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MessageType::{Dao, Data, DioMulticast, DioUnicast, FragmentAck, Icmp, Mac, Nd, Other};

    /// Compressed header to a multicast address of one byte, and to a unicast address without
    /// bytes; the next header follows.
    const MULTICAST: [u8; 2] = [0x7b, 0x3b];
    const UNICAST: [u8; 2] = [0x7b, 0x33];

    fn data_frame(payload: &[u8]) -> (FrameHeader, &[u8]) {
        let header = FrameHeader {
            frame_type: FrameType::Data,
            dst: Address::Short(2),
            ..FrameHeader::default()
        };
        (header, payload)
    }

    fn classify(payload: &[u8]) -> MessageType {
        Classifier::default().classify(None, Some(&data_frame(payload)))
    }

    #[test]
    fn compressed_packets_are_classified() {
        let multicast = |rest: &[u8]| [&MULTICAST[..], &[58, 0x1a], rest].concat();
        let unicast = |rest: &[u8]| [&UNICAST[..], rest].concat();
        let cases = [
            (multicast(&[155, 1, 0]), DioMulticast),
            (unicast(&[58, 155, 1, 0]), DioUnicast),
            // The secure variant of RFC 6550 §6.
            (unicast(&[58, 155, 0x81, 0]), DioUnicast),
            (multicast(&[155, 0, 0]), MessageType::Dis),
            (unicast(&[58, 155, 2, 0]), Dao),
            (unicast(&[58, 155, 3, 0]), MessageType::DaoAck),
            // RPL's consistency check has none of the types above.
            (unicast(&[58, 155, 0x8a, 0]), Other),
            (unicast(&[58, 133, 0]), Nd),
            (unicast(&[58, 134, 0]), Nd),
            (unicast(&[58, 135, 0]), Nd),
            (unicast(&[58, 136, 0]), Nd),
            (unicast(&[58, 157, 0]), Nd),
            (unicast(&[58, 128, 0]), Icmp),
            (unicast(&[6]), Data),
            (unicast(&[17]), Data),
            (unicast(&[59]), Other),
            // A compressed UDP header.
            (vec![0x7f, 0x33, 0xf0, 0, 0], Data),
            // A hop-by-hop header in-line, and compressed (RFC 6282 §4.2).
            (unicast(&[0, 58, 0, 1, 4, 0, 0, 0, 0, 155, 2]), Dao),
            (vec![0x7f, 0x33, 0xe0, 58, 2, 0x63, 0, 155, 2], Dao),
            (vec![0x7f, 0x33, 0xe1, 2, 0x63, 0, 0xf0, 0, 0], Data),
            // A compressed packet in a compressed packet (RFC 6282 §4.2, EID 7).
            (vec![0x7f, 0x33, 0xee, 0x7b, 0x33, 58, 155, 2], Dao),
            // Every field in-line: context, traffic class, hop limit and both addresses.
            (
                [
                    &[0x60, 0x80, 0, 1, 2, 3, 4, 58, 64][..],
                    &[0; 32],
                    &[155, 2],
                ]
                .concat(),
                Dao,
            ),
            (vec![], Other),
            (vec![0x7b], Other),
            (unicast(&[]), Other),
        ];
        for (payload, expected) in cases {
            assert_eq!(classify(&payload), expected, "{payload:02x?}");
        }
    }

    #[test]
    fn uncompressed_packets_and_tunnels_are_classified() {
        let packet = |next: u8, dst: u8, payload: &[u8]| {
            let mut packet = [0; 40];
            packet[0] = 0x60;
            packet[6] = next;
            packet[24] = dst;
            [&packet[..], payload].concat()
        };
        let whole = |packet: &[u8]| [&[0x41][..], packet].concat();
        let dio = packet(58, 0xff, &[155, 1]);
        assert_eq!(classify(&whole(&dio)), DioMulticast);
        assert_eq!(classify(&whole(&packet(58, 0xfd, &[155, 1]))), DioUnicast);
        let tunnel = packet(41, 0xfd, &packet(58, 0xfd, &[155, 2]));
        assert_eq!(classify(&whole(&tunnel)), Dao);
        let tunnel = [&UNICAST[..], &[41], &packet(6, 0xfd, &[])].concat();
        assert_eq!(classify(&tunnel), Data);
        // The first fragment may end within the inner header.
        assert_eq!(classify(&tunnel[..20]), Data);
        assert_eq!(classify(&whole(&dio)[..20]), Other);
    }

    /// Checks fragments of several datagrams, of RFC 4944 and of RFC 8931.
    #[test]
    fn later_fragments_count_for_their_datagram() {
        let mut classifier = Classifier::default();
        let mut of = |payload: &[u8]| classifier.classify(None, Some(&data_frame(payload)));
        let first = |tag: u8, rest: &[u8]| [&[0xc1, 0, 0, tag][..], &UNICAST, rest].concat();
        let later = |tag: u8| [0xe1, 0, 0, tag, 5, 0];
        assert_eq!(of(&later(1)), Other);
        assert_eq!(of(&first(1, &[6])), Data);
        assert_eq!(of(&first(2, &[58, 155, 2])), Dao);
        assert_eq!(of(&later(1)), Data);
        assert_eq!(of(&later(2)), Dao);
        // Tags repeat after 65,536 datagrams: a new first fragment replaces the type of its tag.
        assert_eq!(of(&first(1, &[58, 135])), Nd);
        assert_eq!(of(&later(1)), Nd);
        let recoverable = |sequence: u8, rest: &[u8]| {
            let (size, offset) = (rest.len() as u8, 100);
            [&[0xe8, 2, sequence << 2, size, 0, offset][..], rest].concat()
        };
        let packet = [&UNICAST[..], &[6]].concat();
        assert_eq!(of(&recoverable(0, &packet)), Data);
        assert_eq!(of(&recoverable(1, &[1])), Data);
        assert_eq!(of(&later(2)), Dao);
        assert_eq!(of(&[0xea, 2, 0, 0, 0, 0]), FragmentAck);
    }

    #[test]
    fn frames_without_a_readable_packet_are_counted_as_mac_or_other() {
        let mut classifier = Classifier::default();
        let command = FrameHeader {
            frame_type: FrameType::Command,
            ..FrameHeader::default()
        };
        let beacon = FrameHeader {
            frame_type: FrameType::Beacon,
            ..FrameHeader::default()
        };
        assert_eq!(classifier.classify(None, Some(&(command, &[4]))), Mac);
        assert_eq!(classifier.classify(None, Some(&(beacon, &[]))), Mac);
        assert_eq!(classifier.classify(None, None), Other);
        // The type of a frame encrypted at level ENC-MIC-32 is known only after `on_sealed`.
        let (mut header, payload) = data_frame(&[0x0d, 1, 0, 0, 0, 1, 9, 9, 9]);
        header.security = true;
        assert_eq!(classifier.classify(None, Some(&(header, payload))), Other);
        classifier.on_sealed(None, header.dst, &[UNICAST[0], UNICAST[1], 6]);
        assert_eq!(classifier.classify(None, Some(&(header, payload))), Data);
    }

    #[test]
    fn arbitrary_bytes_are_classified() {
        let mut rng = redpoll_base::Rng::new(1);
        let mut classifier = Classifier::default();
        for _ in 0..200_000 {
            let len = rng.below_u64(60) as usize;
            let mut payload: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
            if let Some(first) = payload.first_mut() {
                *first = [0x41, 0x60 | *first, 0xc0 | *first & 7, 0xe0 | *first & 11][len % 4];
            }
            classifier.classify(None, Some(&data_frame(&payload)));
        }
    }
}
