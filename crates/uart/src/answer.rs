//! Messages from the node's end.

use redpoll_base::Instant;
use redpoll_mac::{FrameBuf, RadioWork};

use crate::cursor::{Reader, Writer};
use crate::{VERSION, head};

pub(crate) mod kind {
    pub(crate) const HELLO: u8 = 8;
    pub(crate) const ANSWER: u8 = 9;
    pub(crate) const NOT_BEGUN: u8 = 10;
    pub(crate) const TEXT: u8 = 11;
}

mod work {
    pub(super) const LOAD: u8 = 0;
    pub(super) const TRANSMIT: u8 = 1;
    pub(super) const TRANSMIT_CCA: u8 = 2;
    pub(super) const LISTEN: u8 = 3;
    pub(super) const DOZE: u8 = 4;
    pub(super) const SLEEP: u8 = 5;
    pub(super) const SOURCE_MATCH: u8 = 6;
}

/// An operation for the radio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work<'a> {
    /// [`RadioWork::Load`], and the frame, at most 125 bytes.
    Load(&'a [u8]),
    /// Any other operation.
    Order(RadioWork),
}

/// The node's answer to a request.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The number of the request.
    pub number: u16,
    /// The latest time of the next request; `None` if the node has no timer.
    pub wakes_at: Option<Instant>,
    /// The operations for the radio, in the order in which the radio does them.
    pub works: Works<'a>,
}

/// The operations of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Works<'a>(Reader<'a>);

/// A message from the node.
#[derive(Clone, Copy, Debug)]
pub enum Reply<'a> {
    /// The node has just been switched on.
    Hello,
    /// The answer to a request.
    Answer(Answer<'a>),
    /// The node received the request of this number before [`Begin`](crate::Begin).
    NotBegun(u16),
    /// Text for the operator.
    Text(&'a [u8]),
}

impl<'a> Iterator for Works<'a> {
    type Item = Work<'a>;

    fn next(&mut self) -> Option<Work<'a>> {
        let reader = &mut self.0;
        let order = match reader.byte()? {
            work::LOAD => {
                let len = reader.byte()?;
                let frame = reader.bytes(len.into())?;
                return (frame.len() <= FrameBuf::CAPACITY).then_some(Work::Load(frame));
            }
            work::TRANSMIT => RadioWork::Transmit { cca: false },
            work::TRANSMIT_CCA => RadioWork::Transmit { cca: true },
            work::LISTEN => RadioWork::Listen,
            work::DOZE => RadioWork::Doze,
            work::SLEEP => RadioWork::Sleep,
            work::SOURCE_MATCH => RadioWork::SourceMatch {
                neighbour: reader.u16()?,
                pending: reader.flag()?,
            },
            _ => return None,
        };
        Some(Work::Order(order))
    }
}

impl<'a> Works<'a> {
    fn checked(reader: Reader<'a>) -> Option<Works<'a>> {
        let works = Works(reader);
        let mut rest = works;
        while !rest.0.is_empty() {
            rest.next()?;
        }
        Some(works)
    }
}

impl<'a> Reply<'a> {
    /// Parses a message; `None` if it is malformed, not a node's, or of another version.
    pub fn parse(message: &'a [u8]) -> Option<Reply<'a>> {
        let mut reader = Reader(message);
        let first = reader.byte()?;
        if first >> 4 != VERSION {
            return None;
        }
        match first & 0xf {
            kind::HELLO => reader.is_empty().then_some(Reply::Hello),
            kind::ANSWER => {
                let number = reader.u16()?;
                let wakes_at = match reader.u64()? {
                    u64::MAX => None,
                    us => Some(Instant::from_micros(us)),
                };
                let works = Works::checked(reader)?;
                Some(Reply::Answer(Answer {
                    number,
                    wakes_at,
                    works,
                }))
            }
            kind::NOT_BEGUN => {
                let number = reader.u16()?;
                reader.is_empty().then_some(Reply::NotBegun(number))
            }
            kind::TEXT => Some(Reply::Text(reader.0)),
            _ => None,
        }
    }
}

/// Begins an answer, without operations yet.
pub(crate) fn begin(writer: &mut Writer<'_>, number: u16, wakes_at: Option<Instant>) {
    writer.byte(head(kind::ANSWER));
    writer.put(&number.to_le_bytes());
    let us = wakes_at.map_or(u64::MAX, Instant::as_micros);
    writer.put(&us.to_le_bytes());
}

/// Adds an operation, and `frame` if the operation loads one.
pub(crate) fn add(writer: &mut Writer<'_>, work: RadioWork, frame: &[u8]) {
    match work {
        RadioWork::Load => {
            writer.byte(work::LOAD);
            writer.byte(u8::try_from(frame.len()).unwrap_or(u8::MAX));
            writer.put(frame);
        }
        RadioWork::Transmit { cca: false } => writer.byte(work::TRANSMIT),
        RadioWork::Transmit { cca: true } => writer.byte(work::TRANSMIT_CCA),
        RadioWork::Listen => writer.byte(work::LISTEN),
        RadioWork::Doze => writer.byte(work::DOZE),
        RadioWork::Sleep => writer.byte(work::SLEEP),
        RadioWork::SourceMatch { neighbour, pending } => {
            writer.byte(work::SOURCE_MATCH);
            writer.put(&neighbour.to_le_bytes());
            writer.byte(pending.into());
        }
    }
}
