//! Messages from the radio's end.

use redpoll_base::{Addr, Instant};
use redpoll_mac::{FrameBuf, RadioCaps, RadioResult, RxInfo};

use crate::cursor::{Reader, Writer};
use crate::{MESSAGE_MAX, VERSION, head};

mod kind {
    pub(super) const BEGIN: u8 = 0;
    pub(super) const TIME: u8 = 1;
    pub(super) const FRAME: u8 = 2;
    pub(super) const DONE: u8 = 3;
}

mod caps {
    pub(super) const AUTO_ACK: u8 = 1;
    pub(super) const CSMA: u8 = 1 << 1;
    pub(super) const RETRIES: u8 = 1 << 2;
    pub(super) const SOURCE_MATCH: u8 = 1 << 3;
}

/// The parameters of a node that starts. On hardware they come from the radio's memory, from
/// commissioning and from a source of random numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Begin {
    /// PAN identifier of the mesh.
    pub pan_id: u16,
    /// The node's short address.
    pub short: u16,
    /// The node's extended address, in the order in which it is printed.
    pub extended: [u8; 8],
    /// The functions that the radio performs by itself.
    pub caps: RadioCaps,
    /// The mesh's prefix: its first 64 bits, and 6LoWPAN's context 0.
    pub prefix: Addr,
    /// The short address of the next hop to all destinations; 0xffff if there is none.
    pub parent: u16,
    /// The key of initial sequence numbers (RFC 6528 §3).
    pub secret: [u8; 16],
    /// The state of the node's random number generator, [`redpoll_base::Rng::resume`].
    pub random: [u64; 2],
    /// 6LoWPAN's first datagram tag.
    pub first_tag: u16,
}

/// An event at the radio's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestEvent<'a> {
    /// The node must start, also if it runs already.
    Begin(Begin),
    /// The time has come at which the node requested to be called
    /// ([`Answer::wakes_at`](crate::Answer::wakes_at)).
    Time,
    /// The radio has received a frame.
    Frame {
        /// Properties of the frame.
        info: RxInfo,
        /// The frame without its FCS, at most 125 bytes.
        frame: &'a [u8],
    },
    /// The radio has finished an operation.
    Done(RadioResult),
}

/// A request: reports an event, and asks the node for operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request<'a> {
    /// The number of the request: one more than the previous one, modulo 2^16.
    pub number: u16,
    /// Time at the radio's end when the event is reported.
    pub at: Instant,
    /// The event that this request reports.
    pub event: RequestEvent<'a>,
}

impl<'a> Request<'a> {
    /// Writes the message and returns its length; `None` if the frame is too long.
    pub fn write(&self, out: &mut [u8; MESSAGE_MAX]) -> Option<usize> {
        let mut writer = Writer::new(out);
        writer.byte(head(match self.event {
            RequestEvent::Begin(_) => kind::BEGIN,
            RequestEvent::Time => kind::TIME,
            RequestEvent::Frame { .. } => kind::FRAME,
            RequestEvent::Done(_) => kind::DONE,
        }));
        writer.put(&self.number.to_le_bytes());
        writer.put(&self.at.as_micros().to_le_bytes());
        match self.event {
            RequestEvent::Begin(begin) => begin.write(&mut writer),
            RequestEvent::Time => {}
            RequestEvent::Frame { info, frame } => {
                if frame.len() > FrameBuf::CAPACITY {
                    return None;
                }
                writer.put(&info.rssi_dbm.to_le_bytes());
                writer.byte(info.lqi);
                writer.byte(info.ack_sent_pending.into());
                writer.put(frame);
            }
            RequestEvent::Done(result) => writer.byte(code_of(result)),
        }
        writer.finish()
    }

    /// Parses a message; `None` if it is not a well-formed request of this version.
    pub fn parse(message: &'a [u8]) -> Option<Request<'a>> {
        let mut reader = Reader(message);
        let first = reader.byte()?;
        if first >> 4 != VERSION {
            return None;
        }
        let number = reader.u16()?;
        let at = Instant::from_micros(reader.u64()?);
        let event = match first & 0xf {
            kind::BEGIN => RequestEvent::Begin(Begin::read(&mut reader)?),
            kind::TIME => RequestEvent::Time,
            kind::FRAME => {
                let info = RxInfo {
                    rssi_dbm: i8::from_le_bytes(reader.array()?),
                    lqi: reader.byte()?,
                    ack_sent_pending: reader.flag()?,
                };
                let frame = reader.bytes(reader.0.len())?;
                if frame.len() > FrameBuf::CAPACITY {
                    return None;
                }
                RequestEvent::Frame { info, frame }
            }
            kind::DONE => RequestEvent::Done(result_of(reader.byte()?)?),
            _ => return None,
        };
        reader.is_empty().then_some(Request { number, at, event })
    }
}

impl Begin {
    /// The value of `parent` for no parent.
    pub const NO_PARENT: u16 = 0xffff;

    fn write(&self, writer: &mut Writer<'_>) {
        let bit = |is_there, bit| if is_there { bit } else { 0 };
        writer.put(&self.pan_id.to_le_bytes());
        writer.put(&self.short.to_le_bytes());
        writer.put(&self.extended);
        writer.byte(
            bit(self.caps.auto_ack, caps::AUTO_ACK)
                | bit(self.caps.csma, caps::CSMA)
                | bit(self.caps.retries, caps::RETRIES)
                | bit(self.caps.source_match, caps::SOURCE_MATCH),
        );
        writer.put(&self.prefix.0);
        writer.put(&self.parent.to_le_bytes());
        writer.put(&self.secret);
        let [state, increment] = self.random;
        writer.put(&state.to_le_bytes());
        writer.put(&increment.to_le_bytes());
        writer.put(&self.first_tag.to_le_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Option<Begin> {
        Some(Begin {
            pan_id: reader.u16()?,
            short: reader.u16()?,
            extended: reader.array()?,
            caps: {
                let bits = reader.byte()?;
                RadioCaps {
                    auto_ack: bits & caps::AUTO_ACK != 0,
                    csma: bits & caps::CSMA != 0,
                    retries: bits & caps::RETRIES != 0,
                    source_match: bits & caps::SOURCE_MATCH != 0,
                }
            },
            prefix: Addr(reader.array()?),
            parent: reader.u16()?,
            secret: reader.array()?,
            random: [reader.u64()?, reader.u64()?],
            first_tag: reader.u16()?,
        })
    }
}

fn code_of(result: RadioResult) -> u8 {
    match result {
        RadioResult::Loaded => 0,
        RadioResult::ChannelBusy => 1,
        RadioResult::Sent => 2,
        RadioResult::Acked {
            frame_pending: false,
        } => 3,
        RadioResult::Acked {
            frame_pending: true,
        } => 4,
        RadioResult::NoAck => 5,
    }
}

fn result_of(code: u8) -> Option<RadioResult> {
    Some(match code {
        0 => RadioResult::Loaded,
        1 => RadioResult::ChannelBusy,
        2 => RadioResult::Sent,
        3 | 4 => RadioResult::Acked {
            frame_pending: code == 4,
        },
        5 => RadioResult::NoAck,
        _ => return None,
    })
}
