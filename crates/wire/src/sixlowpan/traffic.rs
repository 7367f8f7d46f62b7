//! Traffic class and flow label in compressed headers (RFC 6282 §3.2.1).
//!
//! The traffic class is rotated right by two bits, so that ECN is in the two high bits of the
//! first in-line byte of every form that has it.

use crate::cursor::Reader;
use crate::ipv6::Ipv6Header;
use crate::{Cursor, Error, NoRoom};
use redpoll_base::Ecn;

/// The shift of ECN in the first in-line byte.
pub const ECN_SHIFT: u32 = 6;

/// The TF field: which of ECN, DSCP and flow label are in-line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tf {
    /// 00: ECN, DSCP, flow label; four bytes.
    All,
    /// 01: ECN, flow label; three bytes.
    EcnFlow,
    /// 10: ECN, DSCP; one byte.
    Class,
    Elided,
}

impl Tf {
    /// Returns the form with the TF bits `bits`, 0 to 3.
    pub fn from_bits(bits: u16) -> Tf {
        match bits & 0b11 {
            0b00 => Tf::All,
            0b01 => Tf::EcnFlow,
            0b10 => Tf::Class,
            _ => Tf::Elided,
        }
    }

    pub fn bits(self) -> u16 {
        match self {
            Tf::All => 0b00,
            Tf::EcnFlow => 0b01,
            Tf::Class => 0b10,
            Tf::Elided => 0b11,
        }
    }

    /// Returns the shortest lossless form.
    pub fn of(ip: &Ipv6Header) -> Tf {
        match (ip.dscp & 0x3f, ip.ecn, ip.flow_label & 0xf_ffff) {
            (0, Ecn::NotEct, 0) => Tf::Elided,
            (_, _, 0) => Tf::Class,
            (0, _, _) => Tf::EcnFlow,
            _ => Tf::All,
        }
    }

    pub fn emit(self, ip: &Ipv6Header, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let class = (ip.ecn.bits() << ECN_SHIFT) | ip.dscp & 0x3f;
        let flow = ip.flow_label & 0xf_ffff;
        let [_, high, middle, low] = flow.to_be_bytes();
        match self {
            Tf::All => out.put(&[class, high, middle, low]),
            Tf::EcnFlow => out.put(&[ip.ecn.bits() << ECN_SHIFT | high, middle, low]),
            Tf::Class => out.put_u8(class),
            Tf::Elided => Ok(()),
        }
    }

    /// Reads the in-line bytes into `ip`; reserved bits are ignored.
    pub fn parse(self, input: &mut Reader<'_>, ip: &mut Ipv6Header) -> Result<(), Error> {
        if self == Tf::Elided {
            return Ok(());
        }
        let first = input.peek()?;
        ip.ecn = Ecn::from_bits(first >> ECN_SHIFT);
        if self != Tf::EcnFlow {
            ip.dscp = first & 0x3f;
        }
        ip.flow_label = match self {
            Tf::All => input.u32()? & 0xf_ffff,
            Tf::EcnFlow => {
                let [high, middle, low] = input.array()?;
                u32::from_be_bytes([0, high & 0xf, middle, low])
            }
            Tf::Class | Tf::Elided => {
                input.u8()?;
                0
            }
        };
        Ok(())
    }
}
