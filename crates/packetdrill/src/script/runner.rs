//! Runs a script: advances the time, injects packets, and compares sent packets with the script.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use redpoll_base::{Addr, Duration, Instant};
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::Message;
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use super::Failure;
use super::parse::{Call, Event, Moment, Script, What, When};
use super::segment::{self, ACK, Ends, Opt, Options, RST, SYN, Seen, Segment, Value};
use crate::{SentPacket, Settings, Sockets, v4};

const TOLERANCE_US: u64 = 1_000;
const ANY_TIME_US: u64 = 6 * 60 * 60 * 1_000_000;
/// The peer's initial sequence number, near the wrap-around.
const PEER_ISN: u32 = u32::MAX - 999;
const PEER_PORT: u16 = 53_210;
/// The port to which every socket of a script is bound or connects.
pub(super) const PORT: u16 = 8080;

/// Returns the byte of a stream at a relative sequence number, the same for both directions.
pub(super) fn stream(position: u32) -> u8 {
    (position.wrapping_mul(0x9e37_79b1) >> 24) as u8
}

pub(super) struct Runner {
    pub(super) sockets: Sockets,
    pub(super) addresses: Addresses,
    tolerance_us: u64,
    origin: Instant,
    /// Time of the last event, to which relative times refer.
    last_us: u64,
    flow: Flow,
    waiting: Option<Waiting>,
    /// Relative sequence number of the next byte that the script writes; `read`: of the next byte
    /// that it reads.
    pub(super) written: u32,
    pub(super) read: u32,
}

#[derive(Clone, Copy)]
pub(super) struct Addresses {
    pub(super) local: IpAddr,
    pub(super) remote: IpAddr,
}

struct Flow {
    ends: Ends,
    our_isn: Option<u32>,
    reset: bool,
    /// Maps the script's names for the engine's timestamps to the live values.
    timestamps: BTreeMap<u32, u32>,
}

struct Waiting {
    call: Call,
    line: usize,
    until_us: u64,
    progress: usize,
}

impl Runner {
    pub(super) fn run(script: &Script) -> Result<(), Failure> {
        let mut runner = Runner::new(script);
        for event in &script.events {
            runner.event(event).map_err(|message| Failure {
                line: event.line,
                message,
            })?;
        }
        runner.end().map_err(|message| Failure {
            line: script.events.last().map_or(0, |event| event.line),
            message,
        })
    }

    fn new(script: &Script) -> Runner {
        let addresses = if script.ipv4 {
            Addresses {
                local: Ipv4Addr::new(192, 168, 0, 1).into(),
                remote: Ipv4Addr::new(192, 0, 2, 1).into(),
            }
        } else {
            Addresses {
                local: Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1).into(),
                remote: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
            }
        };
        let mut settings = Settings {
            local: Some(addresses.local),
            ..Settings::default()
        };
        settings.apply(&script.flags);
        let sockets = Sockets::new(settings);
        Runner {
            addresses,
            tolerance_us: script.tolerance_us.unwrap_or(TOLERANCE_US),
            origin: sockets.now(),
            last_us: 0,
            flow: Flow {
                ends: Ends {
                    local: v4::embed(addresses.local),
                    remote: v4::embed(addresses.remote),
                    local_port: PORT,
                    remote_port: PEER_PORT,
                },
                our_isn: None,
                reset: false,
                timestamps: BTreeMap::new(),
            },
            sockets,
            waiting: None,
            written: 1,
            read: 1,
        }
    }

    fn event(&mut self, event: &Event) -> Result<(), String> {
        let (from_us, to_us) = match event.when {
            When::At(at) => (self.us(at), self.us(at)),
            When::Between(from, to) | When::Lasting(from, to) => (self.us(from), self.us(to)),
            When::Any => (0, self.now_us() + ANY_TIME_US),
        };
        match &event.what {
            What::Expect(expected) => return self.expect(expected, event.when, from_us, to_us),
            What::Inject(_) | What::Unreachable(..) | What::Call(_) => self.advance(from_us)?,
        }
        self.last_us = from_us;
        match &event.what {
            What::Inject(segment) => self.inject(segment)?,
            What::Unreachable(code, seq) => self.inject_icmp(*code, *seq)?,
            What::Call(call) if matches!(event.when, When::Lasting(..)) => {
                if self.waiting.is_some() {
                    return Err("another call still waits; only one call can wait at a time".into());
                }
                self.waiting = Some(Waiting {
                    call: call.clone(),
                    line: event.line,
                    until_us: to_us,
                    progress: 0,
                });
            }
            What::Call(call) => self.instant_call(call)?,
            What::Expect(_) => {}
        }
        self.try_waiting()
    }

    fn end(&mut self) -> Result<(), String> {
        if let Some(waiting) = &self.waiting {
            return Err(format!(
                "the call of line {} still waits at the end of the script",
                waiting.line
            ));
        }
        match self.sockets.next_packet() {
            Some(packet) => Err(format!("not expected: {}", self.describe(&packet))),
            None => Ok(()),
        }
    }

    fn us(&self, moment: Moment) -> u64 {
        moment.us + if moment.relative { self.last_us } else { 0 }
    }

    fn now_us(&self) -> u64 {
        self.sockets.now().since(self.origin).as_micros()
    }

    /// Advances the time to an event. Does nothing if the time is already past the event.
    fn advance(&mut self, target_us: u64) -> Result<(), String> {
        let target = self.origin + Duration::from_micros(target_us);
        while self.sockets.step(target) {
            self.try_waiting()?;
        }
        self.try_waiting()
    }

    fn instant_call(&mut self, call: &Call) -> Result<(), String> {
        match self.call(call, None)? {
            Some(answer) => compare_answers(call, answer),
            None => Err(format!(
                "{} would block; give its line an end time, as in `+0...+.1 read(...)`",
                call.name
            )),
        }
    }

    fn try_waiting(&mut self) -> Result<(), String> {
        let Some(mut waiting) = self.waiting.take() else {
            return Ok(());
        };
        let (now, tolerance) = (self.now_us(), self.tolerance_us);
        let name = format!("{} of line {}", waiting.call.name, waiting.line);
        match self.call(&waiting.call, Some(&mut waiting.progress))? {
            None if now > waiting.until_us + tolerance => Err(format!(
                "{name} waits too long: it has not returned at the end time of its line"
            )),
            None => {
                self.waiting = Some(waiting);
                Ok(())
            }
            Some(_) if now.abs_diff(waiting.until_us) > tolerance => Err(format!(
                "{name} returns at {}, which is not the end time of its line",
                seconds(now)
            )),
            Some(answer) => compare_answers(&waiting.call, answer),
        }
    }

    fn inject(&mut self, script: &Segment) -> Result<(), String> {
        let ours = self.flow.our_isn.unwrap_or(0);
        self.flow.reset |= script.flags & RST != 0;
        let mut live = script.clone();
        live.seq = PEER_ISN.wrapping_add(script.seq);
        live.ack = script.ack.map(|ack| ours.wrapping_add(ack));
        if let Options::Exactly(options) = &mut live.options {
            for option in options {
                match option {
                    Opt::Timestamps(_, Value::Is(echo)) => {
                        *echo = *self.flow.timestamps.get(echo).unwrap_or(echo);
                    }
                    Opt::Sack(blocks) => {
                        for (start, end) in blocks {
                            *start = start.wrapping_add(ours);
                            *end = end.wrapping_add(ours);
                        }
                    }
                    _ => {}
                }
            }
        }
        let payload: Vec<u8> = (0..script.len)
            .map(|offset| stream(script.first_byte().wrapping_add(offset)))
            .collect();
        let packet = segment::build(&live, &payload, &self.flow.ends)?;
        self.deliver(&packet)
    }

    fn inject_icmp(&mut self, code: u8, seq: u32) -> Result<(), String> {
        let ends = self.flow.ends;
        let live = self.flow.our_isn.unwrap_or(0).wrapping_add(seq);
        let mut quoted = header(ends.local, ends.remote, next_header::TCP, 20);
        quoted.extend(ends.local_port.to_be_bytes());
        quoted.extend(ends.remote_port.to_be_bytes());
        quoted.extend(live.to_be_bytes());
        quoted.extend([0, 0, 0, 0, 0x50, ACK, 0, 0, 0, 0, 0, 0]);
        let message = Message::DestinationUnreachable {
            code,
            quoted: &quoted,
        };
        let mut room = [0; 256];
        let mut cursor = Cursor::new(&mut room);
        message
            .emit(&ends.remote, &ends.local, &mut cursor)
            .map_err(|_| "the quoted packet is too long for the ICMP error")?;
        let body = cursor.into_written();
        let mut packet = header(ends.remote, ends.local, next_header::ICMPV6, body.len());
        packet.extend_from_slice(body);
        if self.addresses.local.is_ipv4() {
            return Err("ICMP events need a script with --ip_version=ipv6".into());
        }
        self.deliver(&packet)
    }

    fn deliver(&mut self, packet: &[u8]) -> Result<(), String> {
        if self.addresses.local.is_ipv4() {
            let packet = v4::to_v4(packet).ok_or("the packet cannot be translated to IPv4")?;
            self.sockets.input(&packet);
        } else {
            self.sockets.input(packet);
        }
        Ok(())
    }

    fn expect(
        &mut self,
        expected: &Segment,
        when: When,
        from_us: u64,
        to_us: u64,
    ) -> Result<(), String> {
        let last = self.origin + Duration::from_micros(to_us + self.tolerance_us);
        while !self.sockets.has_packet() && self.sockets.now() < last {
            self.sockets.step(last);
            self.try_waiting()?;
        }
        let Some(packet) = self.sockets.next_packet() else {
            let by = seconds(to_us + self.tolerance_us);
            return Err(format!(
                "expected  {expected}\nbut no packet was sent until {by}"
            ));
        };
        let at = packet.at.since(self.origin).as_micros();
        let what = self.describe(&packet);
        if at + self.tolerance_us < from_us || at > to_us + self.tolerance_us {
            let (from, to) = (seconds(from_us), seconds(to_us));
            return Err(format!(
                "expected at {from} to {to}: {expected}\nbut the packet was {what}"
            ));
        }
        self.last_us = match when {
            When::At(_) => from_us,
            _ => at,
        };
        let seen = self.decode(&packet)?;
        let is_syn = seen.segment.flags & SYN != 0;
        let is_first = self.flow.our_isn.is_none() || self.flow.reset;
        let is_another =
            seen.segment.flags & ACK == 0 && seen.ends.local_port != self.flow.ends.local_port;
        if is_syn && (is_first || is_another) {
            // An active open: the SYN determines the ports.
            self.flow = Flow {
                ends: seen.ends,
                our_isn: Some(seen.segment.seq),
                reset: false,
                timestamps: BTreeMap::new(),
            };
        }
        self.compare(expected, &seen)
            .map_err(|why| format!("{why}\nexpected  {expected}\nbut the packet was {what}"))
    }

    fn decode(&self, packet: &SentPacket) -> Result<Seen, String> {
        match v4::to_v6(&packet.bytes) {
            Some(bytes) => segment::decode(&bytes),
            None => segment::decode(&packet.bytes),
        }
    }

    fn relative(&self, live: &Segment) -> Segment {
        let ours = self.flow.our_isn.unwrap_or(0);
        let mut segment = live.clone();
        segment.seq = live.seq.wrapping_sub(ours);
        segment.ack = live.ack.map(|ack| ack.wrapping_sub(PEER_ISN));
        if let Options::Exactly(options) = &mut segment.options {
            for option in options {
                if let Opt::Sack(blocks) = option {
                    for (start, end) in blocks {
                        *start = start.wrapping_sub(PEER_ISN);
                        *end = end.wrapping_sub(PEER_ISN);
                    }
                }
            }
        }
        segment
    }

    fn describe(&self, packet: &SentPacket) -> String {
        let at = seconds(packet.at.since(self.origin).as_micros());
        match self.decode(packet) {
            Ok(seen) => format!("sent at {at}: {}", self.relative(&seen.segment)),
            Err(why) => format!("sent at {at}: an invalid packet: {why}"),
        }
    }

    fn compare(&mut self, expected: &Segment, seen: &Seen) -> Result<(), String> {
        if seen.ends.local_port != self.flow.ends.local_port
            || seen.ends.remote_port != self.flow.ends.remote_port
            || seen.ends.local != self.flow.ends.local
            || seen.ends.remote != self.flow.ends.remote
        {
            return Err("the packet belongs to another connection".into());
        }
        let live = self.relative(&seen.segment);
        let differs = [
            ("ECN", expected.ecn.is_some() && expected.ecn != live.ecn),
            ("flags", expected.flags != live.flags),
            ("sequence number", expected.seq != live.seq),
            ("length", expected.len != live.len),
            ("acknowledgment number", expected.ack != live.ack),
            ("window", expected.win.is_some() && expected.win != live.win),
        ];
        if let Some((what, _)) = differs.iter().find(|(_, differs)| *differs) {
            return Err(format!("unexpected {what}"));
        }
        self.compare_options(&expected.options, &live.options)?;
        for (offset, byte) in (0..).zip(&seen.payload) {
            if *byte != stream(live.first_byte().wrapping_add(offset)) {
                return Err(format!("byte {offset} of the payload is wrong"));
            }
        }
        Ok(())
    }

    fn compare_options(&mut self, expected: &Options, seen: &Options) -> Result<(), String> {
        let (list, open) = match expected {
            Options::Exactly(list) => (list, false),
            Options::Begins(list) => (list, true),
        };
        let Options::Exactly(seen) = seen else {
            return Err("the options of the packet cannot be parsed".into());
        };
        if seen.len() < list.len() || seen.len() > list.len() && !open {
            return Err("the number of options differs".into());
        }
        for pair in list.iter().zip(seen) {
            let same = match pair {
                (
                    Opt::Timestamps(value, echo),
                    Opt::Timestamps(Value::Is(live_value), Value::Is(live_echo)),
                ) => {
                    let named = match value {
                        Value::Is(name) => {
                            let names = &mut self.flow.timestamps;
                            names.entry(*name).or_insert(*live_value) == live_value
                        }
                        Value::Any => true,
                    };
                    named && (*echo == Value::Any || *echo == Value::Is(*live_echo))
                }
                (expected, seen) => expected == seen,
            };
            if !same {
                return Err(format!(
                    "an option differs: expected {}, got {}",
                    pair.0, pair.1
                ));
            }
        }
        Ok(())
    }
}

fn seconds(us: u64) -> String {
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}

fn header(src: Addr, dst: Addr, next_header: u8, len: usize) -> Vec<u8> {
    let header = Ipv6Header {
        payload_len: len as u16,
        next_header,
        hop_limit: 64,
        src,
        dst,
        ..Ipv6Header::default()
    };
    header.to_bytes().to_vec()
}

fn compare_answers(call: &Call, answer: Result<i64, crate::Errno>) -> Result<(), String> {
    if answer == call.returns {
        return Ok(());
    }
    let text = |answer: &Result<i64, crate::Errno>| match answer {
        Ok(value) => value.to_string(),
        Err(error) => format!("-1 {error}"),
    };
    let (got, wanted) = (text(&answer), text(&call.returns));
    Err(format!("{} returned {got}; expected: {wanted}", call.name))
}
