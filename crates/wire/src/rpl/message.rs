//! The base objects of RPL's control messages (RFC 6550 §6.2 to §6.5).

use redpoll_base::Addr;

use super::{Options, Sequence, code, put, take};
use crate::cursor::Reader;
use crate::{Cursor, Error, NoRoom};

/// A control message of RPL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// Is there a DODAG here? (§6.2)
    Dis {
        /// Which ones are asked, perhaps.
        options: Options<'a>,
    },
    /// There is (§6.3).
    Dio(Dio<'a>),
    /// Who can be reached through the sender (§6.4).
    Dao(Dao<'a>),
    /// What has become of that (§6.5).
    DaoAck(DaoAck),
}

/// A DODAG Information Object (RFC 6550 §6.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dio<'a> {
    /// RPLInstanceID.
    pub instance: u8,
    /// DODAGVersionNumber.
    pub version: Sequence,
    /// The sender's rank.
    pub rank: u16,
    /// The DODAG satisfies the goal that it is for.
    pub grounded: bool,
    /// Mode of operation; see [`super::mode`].
    pub mode: u8,
    /// DODAGPreference, 0 to 7.
    pub preference: u8,
    /// Destination Advertisement Trigger Sequence Number.
    pub dtsn: Sequence,
    /// The root's address.
    pub dodag: Addr,
    /// Configuration, prefix, metrics.
    pub options: Options<'a>,
}

/// A Destination Advertisement Object (RFC 6550 §6.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dao<'a> {
    /// RPLInstanceID.
    pub instance: u8,
    /// K: the sender wants an acknowledgement.
    pub acknowledge: bool,
    /// DAOSequence.
    pub sequence: u8,
    /// The DODAG, if the sender says so.
    pub dodag: Option<Addr>,
    /// Targets, each group followed by its transit information.
    pub options: Options<'a>,
}

/// The acknowledgement of a DAO (RFC 6550 §6.5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DaoAck {
    /// RPLInstanceID.
    pub instance: u8,
    /// The DAOSequence that is acknowledged.
    pub sequence: u8,
    /// See [`status`].
    pub status: u8,
    /// The DODAG, if the sender says so.
    pub dodag: Option<Addr>,
}

/// Status of a DAO (RFC 6550 §6.5.1): from [`REJECTED`](status::REJECTED) on it is
/// a rejection, whose codes the RFC leaves to others.
pub mod status {
    /// Accepted.
    pub const ACCEPTED: u8 = 0;
    /// Rejected: the sender should look for another parent.
    pub const REJECTED: u8 = 128;
}

const GROUNDED: u8 = 0x80;
const ACKNOWLEDGE: u8 = 0x80;
const HAS_DODAG: u8 = 0x40;
/// The same in an acknowledgement.
const ACK_HAS_DODAG: u8 = 0x80;

impl<'a> Message<'a> {
    /// The message with this `code`, of which `body` is what stands behind the
    /// checksum.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Length`] for an option that contradicts itself,
    /// [`Error::Unsupported`] for a code that is not here.
    pub fn parse(code: u8, body: &'a [u8]) -> Result<Self, Error> {
        let mut input = Reader::new(body);
        Ok(match code {
            code::DIS => {
                let [_, _] = take(&mut input)?;
                let options = Options::parse(input.rest())?;
                Message::Dis { options }
            }
            code::DIO => Message::Dio(Dio::read(&mut input)?),
            code::DAO => Message::Dao(Dao::read(&mut input)?),
            code::DAO_ACK => Message::DaoAck(DaoAck::read(&mut input)?),
            _ => return Err(Error::Unsupported),
        })
    }

    /// Its code.
    pub const fn code(&self) -> u8 {
        match self {
            Message::Dis { .. } => code::DIS,
            Message::Dio(_) => code::DIO,
            Message::Dao(_) => code::DAO,
            Message::DaoAck(_) => code::DAO_ACK,
        }
    }

    /// Writes what stands behind the checksum.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        match self {
            Message::Dis { options } => {
                put(out, &[0; 2])?;
                put(out, options.as_bytes())
            }
            Message::Dio(dio) => dio.emit(out),
            Message::Dao(dao) => dao.emit(out),
            Message::DaoAck(ack) => ack.emit(out),
        }
    }
}

impl<'a> Dio<'a> {
    fn read(input: &mut Reader<'a>) -> Result<Self, Error> {
        let &[instance, version, high, low, flags, dtsn, _, _] = take(input)?;
        Ok(Dio {
            instance,
            version: Sequence(version),
            rank: u16::from_be_bytes([high, low]),
            grounded: flags & GROUNDED != 0,
            mode: flags >> 3 & 0b111,
            preference: flags & 0b111,
            dtsn: Sequence(dtsn),
            dodag: Addr(*take(input)?),
            options: Options::parse(input.rest())?,
        })
    }

    fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let grounded = if self.grounded { GROUNDED } else { 0 };
        let flags = grounded | (self.mode & 0b111) << 3 | self.preference & 0b111;
        let [high, low] = self.rank.to_be_bytes();
        let [version, dtsn] = [self.version.0, self.dtsn.0];
        put(out, &[self.instance, version, high, low, flags, dtsn, 0, 0])?;
        put(out, &self.dodag.0)?;
        put(out, self.options.as_bytes())
    }
}

impl<'a> Dao<'a> {
    fn read(input: &mut Reader<'a>) -> Result<Self, Error> {
        let &[instance, flags, _, sequence] = take(input)?;
        let has_dodag = flags & HAS_DODAG != 0;
        Ok(Dao {
            instance,
            acknowledge: flags & ACKNOWLEDGE != 0,
            sequence,
            dodag: dodag_if(has_dodag, input)?,
            options: Options::parse(input.rest())?,
        })
    }

    fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let acknowledge = if self.acknowledge { ACKNOWLEDGE } else { 0 };
        let has_dodag = if self.dodag.is_some() { HAS_DODAG } else { 0 };
        put(
            out,
            &[self.instance, acknowledge | has_dodag, 0, self.sequence],
        )?;
        if let Some(dodag) = self.dodag {
            put(out, &dodag.0)?;
        }
        put(out, self.options.as_bytes())
    }
}

impl DaoAck {
    fn read(input: &mut Reader<'_>) -> Result<Self, Error> {
        let &[instance, flags, sequence, status] = take(input)?;
        Ok(DaoAck {
            instance,
            sequence,
            status,
            dodag: dodag_if(flags & ACK_HAS_DODAG != 0, input)?,
        })
    }

    fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let has_dodag = match self.dodag {
            Some(_) => ACK_HAS_DODAG,
            None => 0,
        };
        put(out, &[self.instance, has_dodag, self.sequence, self.status])?;
        match self.dodag {
            Some(dodag) => put(out, &dodag.0),
            None => Ok(()),
        }
    }
}

fn dodag_if(is_there: bool, input: &mut Reader<'_>) -> Result<Option<Addr>, Error> {
    Ok(match is_there {
        true => Some(Addr(*take(input)?)),
        false => None,
    })
}
