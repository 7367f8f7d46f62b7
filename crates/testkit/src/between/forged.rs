//! The packets that the adversary forges.

use redpoll_tcp::{Fields, Header, IcmpKind, Segment, State};
use redpoll_wire::tcp::{Flags, SeqRange};

use super::input::Input;
use super::{Between, ENDPOINTS, ISS, meta};

impl Between {
    /// Delivers a packet of `side` with a change.
    pub(super) fn forge(&mut self, side: usize, input: &mut Input<'_>) {
        let count = self.past[side].len();
        let which = usize::from(input.byte());
        let packet = match self.flying[side].front() {
            Some(packet) if which & 1 == 0 => packet.clone(),
            _ if count > 0 => self.past[side][which % count].clone(),
            _ => return,
        };
        let segment = Segment::parse(&meta(side), &packet).expect("a segment of ours");
        // Forges no reset: the acknowledgment number of a reset is not an acknowledgment.
        if segment.flags.rst() {
            return;
        }
        let mut fields = fields_of(&segment);
        let mut payload = segment.payload.to_vec();
        match input.byte() % if self.merciless { 12 } else { 9 } {
            0 => fields.window = input.word(),
            1 => fields.window = 0,
            2 => {
                let una = fields.ack;
                for _ in 0..1 + input.byte() % 3 {
                    let start = input.near(una);
                    let end = input.near(una);
                    let block = SeqRange::new(start, end);
                    fields.options.add_sack_block(block);
                }
            }
            3 => {
                if let Some(ts) = &mut fields.options.timestamps {
                    ts.echo = ts.echo.wrapping_add_signed((input.word() as i16).into());
                }
            }
            4 => {
                let bits = Flags::ECE
                    .with(Flags::CWR)
                    .with(Flags::URG)
                    .with(Flags::PSH);
                fields.flags = fields.flags.with(Flags(input.byte() & bits.0));
            }
            5 => {
                // A part of the segment's data, as if the sender had divided them otherwise.
                let cut = usize::from(input.word()) % (payload.len() + 1);
                payload.drain(..cut);
                fields.seq += cut as u32;
                payload.truncate(usize::from(input.word()));
                fields.flags = Flags(fields.flags.0 & !Flags::FIN.0);
            }
            6 => fields.options.mss = Some(input.word()),
            7 => {
                // A pure acknowledgment that is old or repeated.
                payload.clear();
                fields.flags = Flags::ACK;
                fields.ack = fields.ack - u32::from(input.byte());
            }
            8 => {
                // A segment without data, in the window or outside of it.
                payload.clear();
                fields.flags = Flags::ACK;
                fields.seq = input.near(fields.seq);
                fields.window = input.word();
            }
            9 => {
                self.damaged = true;
                fields.ack = input.near(fields.ack);
            }
            10 => {
                self.damaged = true;
                if let Some(ts) = &mut fields.options.timestamps {
                    ts.value = ts.value.wrapping_add_signed((input.word() as i16).into());
                }
            }
            _ => {
                self.damaged = true;
                payload.clear();
                fields.seq = input.near(fields.seq);
                fields.flags = Flags(input.byte());
            }
        }
        self.arrive(side, &encode(side, &fields, &payload));
    }

    /// Sends forged bytes in the name of `side`, which the receiver must reject.
    pub(super) fn inject(&mut self, side: usize, input: &mut Input<'_>) {
        let receiver = &self.ends[1 - side].conn;
        let end = &self.ends[1 - side];
        let nxt = ISS[side] + 1 + end.read as u32 + receiver.recv_queue() as u32;
        let payload = vec![0xee; usize::from(input.byte()) + 1];
        let mut fields = Fields {
            seq: nxt + u32::from(input.byte()),
            ack: ISS[1 - side] + 1,
            flags: Flags::ACK,
            window: input.word(),
            ..Fields::default()
        };
        // Ignores resets: their acknowledgment numbers may lie in the data in flight.
        let past = self.past[side].iter().rev();
        let mut past = past.filter_map(|packet| Segment::parse(&meta(side), packet).ok());
        if let Some(last) = past.find(|segment| !segment.flags.rst()) {
            fields.options.timestamps = last.options.timestamps;
            fields.ack = last.ack;
        }
        match input.byte() % 4 {
            // Other bytes with sequence numbers that were received before.
            0 => fields.seq = nxt - payload.len() as u32,
            // RFC 5961 §5.2: an acknowledgment that is too old, or of data that were not sent yet.
            1 => fields.ack = fields.ack - (1 << 17) - u32::from(input.word()),
            2 => fields.ack = fields.ack + (1 << 17) + u32::from(input.word()),
            // RFC 9293 §3.10.7.4: a segment without the ACK flag.
            _ => fields.flags = Flags::PSH,
        }
        self.arrive(side, &encode(side, &fields, &payload));
    }

    pub(super) fn icmp(&mut self, side: usize, input: &mut Input<'_>) {
        let quoted = input.near(ISS[side] + 1 + self.ends[side].read as u32);
        let (conn, now) = (&mut self.ends[side].conn, self.now);
        let kind = match input.byte() % 4 {
            0 => IcmpKind::PortUnreachable,
            1 => IcmpKind::Prohibited,
            2 => IcmpKind::TimeExceeded,
            _ => return conn.on_packet_too_big(now, input.word(), quoted),
        };
        // A hard error ends a connection that is being opened.
        if matches!(conn.state(), State::SynSent | State::SynReceived) {
            if !self.merciless {
                return;
            }
            self.damaged = true;
        }
        conn.on_icmp(now, kind, quoted);
    }
}

/// Returns a SYN with another MSS, if one is given.
pub(super) fn with_mss(side: usize, bytes: &[u8], mss: Option<u16>) -> Vec<u8> {
    let segment = Segment::parse(&meta(side), bytes).expect("the SYN is well formed");
    let mut fields = fields_of(&segment);
    fields.options.mss = mss.or(fields.options.mss);
    encode(side, &fields, &[])
}

fn fields_of(segment: &Segment<'_>) -> Fields {
    Fields {
        seq: segment.seq,
        ack: segment.ack,
        flags: segment.flags,
        window: segment.window,
        options: segment.options,
    }
}

fn encode(side: usize, fields: &Fields, payload: &[u8]) -> Vec<u8> {
    let (src, dst) = (&ENDPOINTS[side], &ENDPOINTS[1 - side]);
    let header = Header::encode(fields, src, dst, [payload, &[]]);
    [header.as_bytes(), payload].concat()
}
