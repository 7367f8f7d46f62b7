//! The base objects of RPL's control messages (RFC 6550 §6.2 to §6.5).

use redpoll_base::Addr;

use super::{Options, Sequence, code, put};
use crate::{Cursor, Error, NoRoom};

/// A control message of RPL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// A DODAG Information Solicitation (RFC 6550 §6.2).
    Dis {
        /// Options; Solicited Information selects the DODAGs that answer (RFC 6550 §6.7.9).
        options: Options<'a>,
    },
    /// A DODAG Information Object (RFC 6550 §6.3).
    Dio(Dio<'a>),
    /// A Destination Advertisement Object (RFC 6550 §6.4).
    Dao(Dao<'a>),
    /// The acknowledgement of a DAO (RFC 6550 §6.5).
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
    /// Whether the DODAG satisfies the application's goal.
    pub grounded: bool,
    /// Mode of operation; see [`super::mode`].
    pub mode: u8,
    /// DODAGPreference, 0 to 7.
    pub preference: u8,
    /// Destination Advertisement Trigger Sequence Number.
    pub dtsn: Sequence,
    /// The root's address.
    pub dodag: Addr,
    /// Options: configuration, prefix, metrics.
    pub options: Options<'a>,
}

/// A Destination Advertisement Object (RFC 6550 §6.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dao<'a> {
    /// RPLInstanceID.
    pub instance: u8,
    /// K: whether the sender requests an acknowledgement.
    pub acknowledge: bool,
    /// DAOSequence.
    pub sequence: u8,
    /// The DODAG, if present.
    pub dodag: Option<Addr>,
    /// Groups of targets, each followed by its transit information.
    pub options: Options<'a>,
}

/// The acknowledgement of a DAO (RFC 6550 §6.5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DaoAck {
    /// RPLInstanceID.
    pub instance: u8,
    /// The DAOSequence of the acknowledged DAO.
    pub sequence: u8,
    /// See [`status`].
    pub status: u8,
    /// The DODAG, if present.
    pub dodag: Option<Addr>,
}

/// Status of a DAO (RFC 6550 §6.5.1). Values from [`REJECTED`](status::REJECTED) on are rejections,
/// whose meaning the RFC leaves open.
pub mod status {
    /// Accepted.
    pub const ACCEPTED: u8 = 0;
    /// Rejected: the sender of the DAO should select another parent.
    pub const REJECTED: u8 = 128;
}

const GROUNDED: u8 = 0x80;
const ACKNOWLEDGE: u8 = 0x80;
const HAS_DODAG: u8 = 0x40;
/// D: the acknowledgement has a DODAGID.
const ACK_HAS_DODAG: u8 = 0x80;

impl<'a> Message<'a> {
    /// Parses the message with this `code`; `body` is the part after the checksum.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::Unsupported`] for an unknown code; [`Error::Length`] or
    /// [`Error::Reserved`] for an invalid option, as [`Options::parse`] returns them.
    pub fn parse(code: u8, body: &'a [u8]) -> Result<Self, Error> {
        Ok(match code {
            code::DIS => Message::Dis {
                options: parse_dis(body)?,
            },
            code::DIO => Message::Dio(Dio::parse(body)?),
            code::DAO => Message::Dao(Dao::parse(body)?),
            code::DAO_ACK => Message::DaoAck(DaoAck::parse(body)?),
            _ => return Err(Error::Unsupported),
        })
    }

    /// Returns the code of the message.
    pub const fn code(&self) -> u8 {
        match self {
            Message::Dis { .. } => code::DIS,
            Message::Dio(_) => code::DIO,
            Message::Dao(_) => code::DAO,
            Message::DaoAck(_) => code::DAO_ACK,
        }
    }

    /// Writes the part of the message after the checksum.
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

/// Parses the options of a DIS; `body` is the part after the checksum.
///
/// # Errors
/// As [`Message::parse`].
pub fn parse_dis(body: &[u8]) -> Result<Options<'_>, Error> {
    Options::parse(body.get(2..).ok_or(Error::Truncated)?)
}

impl<'a> Dio<'a> {
    /// Parses the part of a DIO after the checksum.
    ///
    /// # Errors
    /// As [`Message::parse`].
    pub fn parse(body: &'a [u8]) -> Result<Self, Error> {
        let [instance, version, high, low, flags, dtsn, _, _, rest @ ..] = body else {
            return Err(Error::Truncated);
        };
        let (dodag, options) = rest.split_first_chunk().ok_or(Error::Truncated)?;
        let (flags, rank) = (*flags, [*high, *low]);
        Ok(Dio {
            instance: *instance,
            version: Sequence(*version),
            rank: u16::from_be_bytes(rank),
            grounded: flags & GROUNDED != 0,
            mode: flags >> 3 & 0b111,
            preference: flags & 0b111,
            dtsn: Sequence(*dtsn),
            dodag: Addr(*dodag),
            options: Options::parse(options)?,
        })
    }

    /// Writes the part of a DIO after the checksum; more options may follow.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
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
    /// Parses the part of a DAO after the checksum.
    ///
    /// # Errors
    /// As [`Message::parse`].
    pub fn parse(body: &'a [u8]) -> Result<Self, Error> {
        let [instance, flags, _, sequence, rest @ ..] = body else {
            return Err(Error::Truncated);
        };
        let (dodag, options) = dodag_if(flags & HAS_DODAG != 0, rest)?;
        Ok(Dao {
            instance: *instance,
            acknowledge: flags & ACKNOWLEDGE != 0,
            sequence: *sequence,
            dodag,
            options: Options::parse(options)?,
        })
    }

    /// Writes the part of a DAO after the checksum; more options may follow.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let acknowledge = if self.acknowledge { ACKNOWLEDGE } else { 0 };
        let has_dodag = if self.dodag.is_some() { HAS_DODAG } else { 0 };
        put(
            out,
            &[self.instance, acknowledge | has_dodag, 0, self.sequence],
        )?;
        put(out, bytes_of(self.dodag.as_ref()))?;
        put(out, self.options.as_bytes())
    }
}

impl DaoAck {
    /// Parses the part of a DAO-ACK after the checksum.
    ///
    /// # Errors
    /// As [`Message::parse`].
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        let [instance, flags, sequence, status, rest @ ..] = body else {
            return Err(Error::Truncated);
        };
        let (dodag, _) = dodag_if(flags & ACK_HAS_DODAG != 0, rest)?;
        Ok(DaoAck {
            instance: *instance,
            sequence: *sequence,
            status: *status,
            dodag,
        })
    }

    /// Writes the part of a DAO-ACK after the checksum.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let has_dodag = match self.dodag {
            Some(_) => ACK_HAS_DODAG,
            None => 0,
        };
        put(out, &[self.instance, has_dodag, self.sequence, self.status])?;
        put(out, bytes_of(self.dodag.as_ref()))
    }
}

/// Returns the DODAGID at the start of `bytes` if it `is_there`, and the rest.
#[inline(never)] // size
fn dodag_if(is_there: bool, bytes: &[u8]) -> Result<(Option<Addr>, &[u8]), Error> {
    if !is_there {
        return Ok((None, bytes));
    }
    let (dodag, rest) = bytes.split_first_chunk().ok_or(Error::Truncated)?;
    Ok((Some(Addr(*dodag)), rest))
}

fn bytes_of(dodag: Option<&Addr>) -> &[u8] {
    dodag.map_or([].as_slice(), |dodag| &dodag.0)
}
