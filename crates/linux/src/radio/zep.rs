//! Frames in UDP datagrams: the ZigBee Encapsulation Protocol, version 2, as in Wireshark,
//! RIOT's native nodes and others. This module performs the functions of a chip: address
//! filter, acknowledgements, and the wait for them. There is no channel to assess, and frames
//! do not collide.

use redpoll_base::{Duration, Instant};
use redpoll_stack::mac::{RadioResult, RxInfo};
use redpoll_stack::wire::ieee802154::{
    self, Address, BROADCAST_PAN, DATA_REQUEST, FrameHeader, FrameType, fcs, imm_ack,
};
use std::collections::{BTreeSet, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

use super::rcp::{Event, Identity};

const HEADER_LEN: usize = 32;
/// Type of a datagram that contains a frame and its check sequence.
const DATA: u8 = 1;
/// Seconds from 1900, where NTP's time begins, to 1970.
const NTP_EPOCH_S: u64 = 2_208_988_800;
/// Longest wait for an acknowledgement: more than the standard's 864 µs, because two processes must
/// wake up before it arrives.
const ACK_WAIT: Duration = Duration::from_millis(30);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram<'a> {
    /// Channel, 11 to 26.
    pub channel: u8,
    /// Device that sent or shall receive the frame.
    pub device: u16,
    pub lqi: u8,
    pub sequence: u32,
    /// The MPDU without its check sequence, which was correct.
    pub mpdu: &'a [u8],
}

/// Reason for which a datagram was ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotZep {
    /// The datagram is too short, is not ZEP, or has an unsupported version or type.
    Unknown,
    /// The datagram's length contradicts its content.
    Length,
    /// The frame's check sequence is wrong.
    Fcs,
}

impl<'a> Datagram<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Datagram<'a>, NotZep> {
        let (header, psdu) = bytes.split_at_checked(HEADER_LEN).ok_or(NotZep::Unknown)?;
        let [b'E', b'X', 2, DATA, channel, d1, d0, _mode, lqi, rest @ ..] = header else {
            return Err(NotZep::Unknown);
        };
        let [_, _, _, _, _, _, _, _, s3, s2, s1, s0, .., len] = rest else {
            return Err(NotZep::Unknown);
        };
        if usize::from(*len) != psdu.len() || psdu.len() > ieee802154::timing::MAX_PSDU {
            return Err(NotZep::Length);
        }
        let (mpdu, check) = psdu.split_last_chunk::<2>().ok_or(NotZep::Length)?;
        if fcs(mpdu) != u16::from_le_bytes(*check) {
            return Err(NotZep::Fcs);
        }
        Ok(Datagram {
            channel: *channel,
            device: u16::from_be_bytes([*d1, *d0]),
            lqi: *lqi,
            sequence: u32::from_be_bytes([*s3, *s2, *s1, *s0]),
            mpdu,
        })
    }

    /// Returns the bytes of the datagram; `at` is its time since the beginning of 1970.
    pub fn to_bytes(&self, at: std::time::Duration) -> Vec<u8> {
        let mut bytes = vec![b'E', b'X', 2, DATA, self.channel];
        bytes.extend(self.device.to_be_bytes());
        // Mode 1: the check sequence follows the frame.
        bytes.extend([1, self.lqi]);
        let seconds = (at.as_secs() + NTP_EPOCH_S) as u32;
        let fraction = (u64::from(at.subsec_nanos()) << 32) / 1_000_000_000;
        bytes.extend(seconds.to_be_bytes());
        bytes.extend((fraction as u32).to_be_bytes());
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend([0; 10]);
        bytes.push((self.mpdu.len() + 2) as u8);
        bytes.extend(self.mpdu);
        bytes.extend(fcs(self.mpdu).to_le_bytes());
        bytes
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ZepCounters {
    pub sent: u64,
    pub received: u64,
    /// Datagrams that are not ZEP, or have a contradictory length.
    pub nonsense: u64,
    pub bad_fcs: u64,
    /// Frames for other nodes, or on another channel.
    pub not_for_us: u64,
}

/// A radio made of datagrams, without the socket.
#[derive(Debug)]
pub struct Zep {
    identity: Identity,
    sequence: u32,
    /// The sequence number of the frame whose acknowledgement is awaited, and the end of the wait.
    awaited: Option<(u8, Instant)>,
    pending: BTreeSet<u16>,
    output: VecDeque<Vec<u8>>,
    events: VecDeque<Event>,
    counters: ZepCounters,
}

impl Zep {
    pub fn new(identity: Identity) -> Zep {
        Zep {
            identity,
            sequence: 0,
            awaited: None,
            pending: BTreeSet::new(),
            output: VecDeque::new(),
            events: VecDeque::new(),
            counters: ZepCounters::default(),
        }
    }

    /// Handles a received datagram, with any bytes.
    pub fn input(&mut self, bytes: &[u8]) {
        let datagram = match Datagram::parse(bytes) {
            Ok(datagram) => datagram,
            Err(NotZep::Fcs) => return self.counters.bad_fcs += 1,
            Err(_) => return self.counters.nonsense += 1,
        };
        let Ok((header, payload)) = FrameHeader::parse(datagram.mpdu) else {
            return self.counters.nonsense += 1;
        };
        if datagram.channel != self.identity.channel {
            return self.counters.not_for_us += 1;
        }
        if header.frame_type == FrameType::Ack {
            return self.on_ack(&header);
        }
        if !self.is_for_us(&header) {
            return self.counters.not_for_us += 1;
        }
        self.counters.received += 1;
        let asks = header.ack_request && !header.dst.is_broadcast();
        let is_request = header.frame_type == FrameType::Command && payload.contains(&DATA_REQUEST);
        let has_more = matches!(header.src, Address::Short(short) if self.pending.contains(&short));
        let pending = asks && is_request && has_more;
        if asks {
            self.send(&imm_ack(header.dsn, pending));
        }
        self.events.push_back(Event::Received {
            mpdu: datagram.mpdu.to_vec(),
            info: RxInfo {
                rssi_dbm: 0,
                lqi: datagram.lqi,
                ack_sent_pending: pending,
            },
        });
    }

    /// Sends a frame. [`Event::Done`] reports the end, before which no other frame may be sent.
    pub fn transmit(&mut self, now: Instant, mpdu: &[u8]) {
        self.counters.sent += 1;
        self.send(mpdu);
        match FrameHeader::parse(mpdu) {
            Ok((header, _)) if header.ack_request => {
                self.awaited = Some((header.dsn, now + ACK_WAIT));
            }
            _ => self.events.push_back(Event::Done(RadioResult::Sent)),
        }
    }

    /// Sets whether Imm-ACKs to data requests of this neighbour announce a waiting frame.
    pub fn set_pending(&mut self, neighbour: u16, pending: bool) {
        if pending {
            self.pending.insert(neighbour)
        } else {
            self.pending.remove(&neighbour)
        };
    }

    pub fn poll_output(&mut self) -> Option<Vec<u8>> {
        self.output.pop_front()
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the time at which [`Zep::on_timeout`] is due.
    pub fn poll_at(&self) -> Option<Instant> {
        self.awaited.map(|(_, until)| until)
    }

    /// Handles a timeout; a call that is too early has no effect.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.awaited.is_some_and(|(_, until)| until <= now) {
            self.awaited = None;
            self.events.push_back(Event::Done(RadioResult::NoAck));
        }
    }

    pub fn counters(&self) -> &ZepCounters {
        &self.counters
    }

    fn on_ack(&mut self, header: &FrameHeader) {
        if self.awaited.is_some_and(|(dsn, _)| dsn == header.dsn) {
            self.awaited = None;
            let frame_pending = header.frame_pending;
            let acked = RadioResult::Acked { frame_pending };
            self.events.push_back(Event::Done(acked));
        }
    }

    fn is_for_us(&self, header: &FrameHeader) -> bool {
        let Identity {
            pan_id,
            short,
            extended,
            ..
        } = self.identity;
        let in_pan = header
            .dst_pan
            .is_none_or(|pan| pan == pan_id || pan == BROADCAST_PAN);
        in_pan
            && match header.dst {
                Address::Short(dst) => dst == short || header.dst.is_broadcast(),
                Address::Extended(dst) => dst == extended,
                Address::Absent => false,
            }
    }

    fn send(&mut self, mpdu: &[u8]) {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let datagram = Datagram {
            channel: self.identity.channel,
            device: self.identity.short,
            lqi: 255,
            sequence: self.sequence,
            mpdu,
        };
        self.sequence = self.sequence.wrapping_add(1);
        let bytes = datagram.to_bytes(since_1970.unwrap_or_default());
        self.output.push_back(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTITY: Identity = Identity {
        channel: 26,
        pan_id: 0x7270,
        short: 2,
        extended: [2, 0, 0, 0, 0, 0, 0, 2],
        max_csma_backoffs: 4,
        max_frame_retries: 3,
    };

    /// Returns a frame from 1 to `to` that requests an acknowledgement.
    fn frame(to: u16, dsn: u8) -> Vec<u8> {
        let [high, low] = to.to_be_bytes();
        vec![0x61, 0x98, dsn, 0x70, 0x72, low, high, 1, 0, b'h', b'i']
    }

    fn datagram(mpdu: &[u8]) -> Vec<u8> {
        let datagram = Datagram {
            channel: 26,
            device: 1,
            lqi: 200,
            sequence: 7,
            mpdu,
        };
        datagram.to_bytes(std::time::Duration::from_millis(1_500))
    }

    #[test]
    fn a_datagram_is_laid_out_as_others_read_it() {
        let bytes = datagram(&[0x02, 0x00, 0x6a]);
        let expected = [
            &b"EX\x02\x01\x1a\x00\x01\x01\xc8"[..],
            &[0x83, 0xaa, 0x7e, 0x81, 0x80, 0, 0, 0, 0, 0, 0, 7],
            &[0; 10],
            &[5, 0x02, 0x00, 0x6a, 0xe4, 0x79],
        ];
        assert_eq!(bytes, expected.concat());
        let parsed = Datagram::parse(&bytes).unwrap();
        assert_eq!((parsed.device, parsed.sequence, parsed.lqi), (1, 7, 200));
        for cut in 0..bytes.len() {
            assert!(Datagram::parse(&bytes[..cut]).is_err());
        }
        let mut bad = bytes.clone();
        bad[33] ^= 1;
        assert_eq!(Datagram::parse(&bad), Err(NotZep::Fcs));
        for (at, value) in [(0, b'X'), (2, 1), (3, 2)] {
            let mut other = bytes.clone();
            other[at] = value;
            assert_eq!(Datagram::parse(&other), Err(NotZep::Unknown));
        }
    }

    #[test]
    fn a_frame_for_this_node_is_acknowledged_and_others_are_not() {
        let mut zep = Zep::new(IDENTITY);
        zep.input(&datagram(&frame(2, 9)));
        let ack = zep.poll_output().unwrap();
        assert_eq!(Datagram::parse(&ack).unwrap().mpdu, [0x02, 0, 9]);
        assert!(
            matches!(zep.poll_event(), Some(Event::Received { mpdu, .. }) if mpdu == frame(2, 9))
        );
        zep.input(&datagram(&frame(3, 10)));
        zep.input(b"what is this");
        zep.input(&[]);
        assert_eq!((zep.poll_output(), zep.poll_event()), (None, None));
        assert_eq!((zep.counters().not_for_us, zep.counters().nonsense), (1, 2));
    }

    #[test]
    fn a_transmission_ends_by_its_acknowledgement_or_without() {
        let mut zep = Zep::new(IDENTITY);
        let now = Instant::from_millis(1);
        zep.transmit(now, &frame(1, 5));
        assert!(zep.poll_output().is_some());
        zep.input(&datagram(&imm_ack(4, false)));
        assert_eq!(zep.poll_event(), None);
        zep.input(&datagram(&imm_ack(5, true)));
        let acked = RadioResult::Acked {
            frame_pending: true,
        };
        assert_eq!(zep.poll_event(), Some(Event::Done(acked)));
        zep.transmit(now, &frame(1, 6));
        zep.on_timeout(now);
        assert_eq!(zep.poll_event(), None);
        zep.on_timeout(zep.poll_at().unwrap());
        assert_eq!(zep.poll_event(), Some(Event::Done(RadioResult::NoAck)));
        assert_eq!(zep.poll_at(), None);
    }
}
