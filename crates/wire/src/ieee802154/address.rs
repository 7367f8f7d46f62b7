//! Link-layer addresses (IEEE 802.15.4-2015 §7.1, §7.2.1.6).

use crate::cursor::Reader;
use crate::{Cursor, Error, NoRoom};
use core::fmt;

/// A link-layer address: none, 16 bits, or a 64-bit EUI-64.
// The manual `PartialEq` below compares the same parts as the derived `Hash`.
#[allow(clippy::derived_hash_with_manual_eq)]
#[derive(Clone, Copy, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Address {
    /// No address.
    #[default]
    Absent,
    /// A 16-bit address, unique in its PAN.
    Short(u16),
    /// An EUI-64 in the order in which it is printed; on the air its last byte is sent first.
    Extended([u8; 8]),
}

/// The compiler would inline a derived comparison at each use, which would add 3 KB of code.
impl PartialEq for Address {
    #[inline(never)]
    fn eq(&self, other: &Address) -> bool {
        match (self, other) {
            (Address::Absent, Address::Absent) => true,
            (Address::Short(a), Address::Short(b)) => a == b,
            (Address::Extended(a), Address::Extended(b)) => a.iter().eq(b),
            _ => false,
        }
    }
}

impl Address {
    /// The short address that every node accepts (§6.1).
    pub const BROADCAST: Address = Address::Short(0xffff);

    /// Returns whether the address is the broadcast address.
    pub const fn is_broadcast(&self) -> bool {
        matches!(self, Address::Short(0xffff))
    }

    /// Returns the length of the address in a header: 0, 2 or 8 bytes.
    pub const fn len(&self) -> usize {
        match self {
            Address::Absent => 0,
            Address::Short(_) => 2,
            Address::Extended(_) => 8,
        }
    }

    /// Returns whether the address is [`Address::Absent`].
    pub const fn is_empty(&self) -> bool {
        matches!(self, Address::Absent)
    }

    /// Returns the addressing mode in the frame control field (§7.2.1.6).
    pub(super) const fn mode(&self) -> u16 {
        match self {
            Address::Absent => 0b00,
            Address::Short(_) => 0b10,
            Address::Extended(_) => 0b11,
        }
    }

    pub(super) fn read(mode: u16, input: &mut Reader<'_>) -> Result<Address, Error> {
        match mode & 0b11 {
            0b00 => Ok(Address::Absent),
            0b10 => Ok(Address::Short(input.u16_le()?)),
            0b11 => {
                let mut eui64: [u8; 8] = input.array()?;
                eui64.reverse();
                Ok(Address::Extended(eui64))
            }
            _ => Err(Error::Reserved),
        }
    }

    pub(super) fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        match self {
            Address::Absent => Ok(()),
            Address::Short(short) => out.put_u16_le(*short),
            Address::Extended(eui64) => {
                let mut bytes = *eui64;
                bytes.reverse();
                out.put(&bytes)
            }
        }
    }
}

/// `0x0012` for a short address, `02:00:…:12` for an EUI-64.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Absent => f.write_str("-"),
            Address::Short(short) => write!(f, "0x{short:04x}"),
            Address::Extended([first, rest @ ..]) => {
                write!(f, "{first:02x}")?;
                rest.iter().try_for_each(|byte| write!(f, ":{byte:02x}"))
            }
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
