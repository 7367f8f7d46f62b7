//! Options of neighbour discovery (RFC 4861 §4.6, RFC 4944 §8, RFC 6775 §4, RFC 8505 §4.1).

use super::Tid;
use crate::cursor::Reader;
use crate::ieee802154::Address;
use crate::ipv6::addr;
use crate::{Cursor, Error, NoRoom};
use redpoll_base::Addr;

mod option_type {
    pub const SOURCE_LINK_LAYER: u8 = 1;
    pub const TARGET_LINK_LAYER: u8 = 2;
    pub const PREFIX_INFORMATION: u8 = 3;
    pub const MTU: u8 = 5;
    pub const ADDRESS_REGISTRATION: u8 = 33;
    pub const CONTEXT: u8 = 34;
    pub const BORDER_ROUTER: u8 = 35;
}

/// The unit of option lengths in bytes (RFC 4861 §4.6).
const UNIT: usize = 8;
const HEAD: usize = 2;

/// One option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NdOption<'a> {
    /// SLLAO: the sender's link-layer address (RFC 4861 §4.6.1, RFC 4944 §8).
    SourceLinkLayer(Address),
    /// TLLAO: the target's link-layer address.
    TargetLinkLayer(Address),
    /// PIO: a prefix (RFC 4861 §4.6.2).
    PrefixInformation(PrefixInformation),
    /// The link's MTU in bytes (RFC 4861 §4.6.4).
    Mtu(u32),
    /// ARO or EARO: a registration or its result (RFC 6775 §4.1, RFC 8505 §4.1). If the owner's
    /// identifier (ROVR) is longer than 64 bits, the option is [`NdOption::Unknown`].
    AddressRegistration(AddressRegistration),
    /// 6CO: a compression context (RFC 6775 §4.2).
    Context(ContextInformation),
    /// ABRO: the border router that is the origin of an advertisement (RFC 6775 §4.3).
    BorderRouter(BorderRouter),
    /// Any other option, or an option with invalid content, which receivers ignore (RFC 4861 §4.6).
    Unknown {
        /// The type.
        option_type: u8,
        /// The bytes after type and length. Their number is 6, 14, 22 and so on.
        body: &'a [u8],
    },
}

/// A prefix for on-link decisions and addresses (RFC 4861 §4.6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PrefixInformation {
    /// The prefix; bits after `prefix_len` are neither sent nor used.
    pub prefix: Addr,
    /// Bits of the prefix, 0 to 128.
    pub prefix_len: u8,
    /// L: addresses with this prefix are on the link.
    pub on_link: bool,
    /// A: hosts form addresses from the prefix.
    pub autonomous: bool,
    /// Valid lifetime in seconds; all bits set: infinite.
    pub valid_lifetime_s: u32,
    /// Preferred lifetime of addresses in seconds; all bits set: infinite.
    pub preferred_lifetime_s: u32,
}

/// A registration of the packet's source address (RFC 6775 §4.1, RFC 8505 §4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AddressRegistration {
    /// 0 success, 1 duplicate address, 2 neighbour cache full, 3 moved: a later registration is
    /// known (RFC 8505 table 1); 0 in a request.
    pub status: u8,
    /// Transaction ID of the registration; `None` from a node that implements only RFC 6775.
    pub tid: Option<Tid>,
    /// R: whether the router should make the address reachable (RFC 8505 §5.1). It has no meaning
    /// without a transaction ID.
    pub routed: bool,
    /// Requested lifetime, in units of 60 seconds.
    pub lifetime_min: u16,
    /// EUI-64 of the registering interface, the owner (ROVR).
    pub eui64: [u8; 8],
}

/// A context for header compression (RFC 6775 §4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ContextInformation {
    /// The context's number, 0 to 15.
    pub cid: u8,
    /// C: whether the context is valid for compression as well as for decompression.
    pub compress: bool,
    /// Bits of the prefix, 0 to 128.
    pub prefix_len: u8,
    /// The prefix; bits after `prefix_len` are neither sent nor used.
    pub prefix: Addr,
    /// Valid lifetime, in units of 60 seconds; 0 removes the context at once.
    pub valid_lifetime_min: u16,
}

/// The origin of an advertisement's information (RFC 6775 §4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BorderRouter {
    /// Version, which grows with each change.
    pub version: u32,
    /// Valid lifetime, in units of 60 seconds; 0 for the default, a week.
    pub valid_lifetime_min: u16,
    /// The border router.
    pub address: Addr,
}

const ON_LINK: u8 = 0x80;
const AUTONOMOUS: u8 = 0x40;
const COMPRESS: u8 = 0x10;
const ROUTED: u8 = 0x02;
const HAS_TID: u8 = 0x01;

impl<'a> NdOption<'a> {
    /// Parses an option; `body` is the part after type and length.
    fn parse(option_type: u8, body: &'a [u8]) -> NdOption<'a> {
        Self::parse_known(option_type, body).unwrap_or(NdOption::Unknown { option_type, body })
    }

    fn parse_known(option_type: u8, body: &[u8]) -> Option<NdOption<'static>> {
        let units = units(body);
        let input = &mut Reader::new(body);
        Some(match option_type {
            option_type::SOURCE_LINK_LAYER => {
                NdOption::SourceLinkLayer(read_address(units, input)?)
            }
            option_type::TARGET_LINK_LAYER => {
                NdOption::TargetLinkLayer(read_address(units, input)?)
            }
            option_type::PREFIX_INFORMATION => {
                NdOption::PrefixInformation(PrefixInformation::read(body)?)
            }
            option_type::MTU if units == 1 => {
                input.u16().ok()?;
                NdOption::Mtu(input.u32().ok()?)
            }
            option_type::ADDRESS_REGISTRATION => {
                NdOption::AddressRegistration(AddressRegistration::read(body)?)
            }
            option_type::CONTEXT => NdOption::Context(ContextInformation::read(body)?),
            option_type::BORDER_ROUTER if units == 3 => {
                NdOption::BorderRouter(BorderRouter::read(input)?)
            }
            _ => return None,
        })
    }

    /// Writes the option. If the compiler knows the kind of the option, the code for other kinds is
    /// not linked. For an absent link-layer address it writes nothing. It pads an unknown option's
    /// body with zeros.
    ///
    /// # Errors
    /// [`NoRoom`], also for an unknown option of more than 2038 bytes.
    #[inline(always)]
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        match self {
            NdOption::SourceLinkLayer(address) => {
                emit_address(option_type::SOURCE_LINK_LAYER, address, out)
            }
            NdOption::TargetLinkLayer(address) => {
                emit_address(option_type::TARGET_LINK_LAYER, address, out)
            }
            NdOption::PrefixInformation(prefix) => prefix.emit(out),
            NdOption::Mtu(mtu) => {
                out.put(&[option_type::MTU, 1, 0, 0])?;
                out.put_u32(*mtu)
            }
            NdOption::AddressRegistration(registration) => registration.emit(out),
            NdOption::Context(context) => context.emit(out),
            NdOption::BorderRouter(router) => router.emit(out),
            NdOption::Unknown { option_type, body } => {
                let units = body.len().saturating_add(HEAD).div_ceil(UNIT);
                let padded = units.saturating_mul(UNIT).saturating_sub(HEAD);
                out.put(&[*option_type, u8::try_from(units).map_err(|_| NoRoom)?])?;
                out.put(body)?;
                out.put_zeros(padded.saturating_sub(body.len()))
            }
        }
    }
}

/// Reads an address (RFC 4944 §8): an EUI-64 in two units, a short address in one.
fn read_address(units: usize, input: &mut Reader<'_>) -> Option<Address> {
    match units {
        1 => Some(Address::Short(input.u16().ok()?)),
        2 => Some(Address::Extended(input.array().ok()?)),
        _ => None,
    }
}

fn emit_address(option_type: u8, address: &Address, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
    match address {
        Address::Absent => Ok(()),
        Address::Short(short) => {
            out.put(&[option_type, 1])?;
            out.put_u16(*short)?;
            out.put_zeros(4)
        }
        Address::Extended(eui64) => {
            out.put(&[option_type, 2])?;
            out.put(eui64)?;
            out.put_zeros(6)
        }
    }
}

impl PrefixInformation {
    fn read(body: &[u8]) -> Option<Self> {
        let input = &mut Reader::new(body);
        if units(body) != 4 {
            return None;
        }
        let [prefix_len, flags] = input.array().ok()?;
        let valid_lifetime_s = input.u32().ok()?;
        let preferred_lifetime_s = input.u32().ok()?;
        input.u32().ok()?;
        let information = PrefixInformation {
            prefix: addr::prefix(&Addr(input.array().ok()?), prefix_len),
            prefix_len,
            on_link: flags & ON_LINK != 0,
            autonomous: flags & AUTONOMOUS != 0,
            valid_lifetime_s,
            preferred_lifetime_s,
        };
        (prefix_len <= 128).then_some(information)
    }

    fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let on_link = if self.on_link { ON_LINK } else { 0 };
        let autonomous = if self.autonomous { AUTONOMOUS } else { 0 };
        out.put(&[option_type::PREFIX_INFORMATION, 4])?;
        out.put(&[self.prefix_len, on_link | autonomous])?;
        out.put_u32(self.valid_lifetime_s)?;
        out.put_u32(self.preferred_lifetime_s)?;
        out.put_u32(0)?;
        out.put(&addr::prefix(&self.prefix, self.prefix_len).0)
    }
}

impl AddressRegistration {
    /// Returns `None` if the owner's identifier (ROVR) does not have eight bytes (RFC 8505 §4.1).
    fn read(body: &[u8]) -> Option<Self> {
        let input = &mut Reader::new(body);
        if units(body) != 2 {
            return None;
        }
        let [status, _opaque, flags, tid] = input.array().ok()?;
        // RFC 6775 §4.1: without the T flag, the R flag and the transaction ID are reserved bits.
        let tid = (flags & HAS_TID != 0).then_some(Tid(tid));
        Some(AddressRegistration {
            status,
            tid,
            routed: tid.is_some() && flags & ROUTED != 0,
            lifetime_min: input.u16().ok()?,
            eui64: input.array().ok()?,
        })
    }

    fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let (flags, tid) = match self.tid {
            Some(tid) if self.routed => (HAS_TID | ROUTED, tid.0),
            Some(tid) => (HAS_TID, tid.0),
            None => (0, 0),
        };
        out.put(&[option_type::ADDRESS_REGISTRATION, 2, self.status, 0])?;
        out.put(&[flags, tid])?;
        out.put_u16(self.lifetime_min)?;
        out.put(&self.eui64)
    }
}

impl ContextInformation {
    fn read(body: &[u8]) -> Option<Self> {
        let input = &mut Reader::new(body);
        if !(2..=3).contains(&units(body)) {
            return None;
        }
        let [prefix_len, flags] = input.array().ok()?;
        input.u16().ok()?;
        let valid_lifetime_min = input.u16().ok()?;
        let prefix = match input.array::<16>() {
            Ok(prefix) => Addr(prefix),
            // RFC 6775 §4.2: eight bytes hold a prefix of up to 64 bits.
            Err(_) if prefix_len <= 64 => {
                let [a, b, c, d, e, f, g, h] = input.array().ok()?;
                Addr([a, b, c, d, e, f, g, h, 0, 0, 0, 0, 0, 0, 0, 0])
            }
            Err(_) => return None,
        };
        let information = ContextInformation {
            cid: flags & 0x0f,
            compress: flags & COMPRESS != 0,
            prefix_len,
            prefix: addr::prefix(&prefix, prefix_len),
            valid_lifetime_min,
        };
        (prefix_len <= 128).then_some(information)
    }

    fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let compress = if self.compress { COMPRESS } else { 0 };
        let whole = addr::prefix(&self.prefix, self.prefix_len).0;
        let (short, _) = whole.split_at(8);
        let (units, prefix) = if self.prefix_len <= 64 {
            (2, short)
        } else {
            (3, whole.as_slice())
        };
        out.put(&[option_type::CONTEXT, units])?;
        out.put(&[self.prefix_len, compress | self.cid & 0x0f, 0, 0])?;
        out.put_u16(self.valid_lifetime_min)?;
        out.put(prefix)
    }
}

impl BorderRouter {
    fn read(input: &mut Reader<'_>) -> Option<Self> {
        // RFC 6775 §4.3: the lower half of the version comes first.
        let low = input.u16().ok()?;
        let high = input.u16().ok()?;
        Some(BorderRouter {
            version: u32::from(high) << 16 | u32::from(low),
            valid_lifetime_min: input.u16().ok()?,
            address: Addr(input.array().ok()?),
        })
    }

    fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        out.put(&[option_type::BORDER_ROUTER, 3])?;
        out.put_u16(self.version as u16)?;
        out.put_u16((self.version >> 16) as u16)?;
        out.put_u16(self.valid_lifetime_min)?;
        out.put(&self.address.0)
    }
}

/// The options of a message: bytes that are known to be a chain of options.
///
/// To send options, emit them one after the other into a buffer:
///
/// ```
/// use redpoll_wire::Cursor;
/// use redpoll_wire::icmpv6::nd::{NdOption, Options};
/// use redpoll_wire::ieee802154::Address;
///
/// let mut buffer = [0; 16];
/// let mut out = Cursor::new(&mut buffer);
/// NdOption::SourceLinkLayer(Address::Short(7)).emit(&mut out)?;
/// NdOption::Mtu(1280).emit(&mut out)?;
/// let options = Options::parse(out.into_written())?;
/// assert_eq!(options.iter().nth(1), Some(NdOption::Mtu(1280)));
/// # Ok::<(), redpoll_wire::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options<'a> {
    bytes: &'a [u8],
}

impl<'a> Options<'a> {
    /// No options.
    pub const NONE: Options<'static> = Options { bytes: &[] };

    /// Parses the options in `bytes`.
    ///
    /// # Errors
    /// [`Error::Length`] when one has length zero (RFC 4861 §4.6: the packet must be discarded),
    /// [`Error::Truncated`] when one runs past the end.
    pub fn parse(bytes: &'a [u8]) -> Result<Options<'a>, Error> {
        let mut input = Reader::new(bytes);
        while !input.rest().is_empty() {
            next(&mut input)?;
        }
        Ok(Options { bytes })
    }

    /// Returns the encoded options.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the options one by one.
    pub fn iter(&self) -> impl Iterator<Item = NdOption<'a>> + use<'a> {
        let mut input = Reader::new(self.bytes);
        core::iter::from_fn(move || {
            let (option_type, body) = next(&mut input).ok()?;
            Some(NdOption::parse(option_type, body))
        })
    }

    /// Returns the address in the first valid source-link-layer option.
    pub fn source_link_layer(&self) -> Option<Address> {
        self.link_layer(option_type::SOURCE_LINK_LAYER)
    }

    /// Returns the address in the first valid target-link-layer option.
    pub fn target_link_layer(&self) -> Option<Address> {
        self.link_layer(option_type::TARGET_LINK_LAYER)
    }

    fn link_layer(&self, wanted: u8) -> Option<Address> {
        let mut bodies = self.bodies(wanted);
        bodies.find_map(|body| read_address(units(body), &mut Reader::new(body)))
    }

    /// Returns the first valid registration.
    pub fn address_registration(&self) -> Option<AddressRegistration> {
        let mut bodies = self.bodies(option_type::ADDRESS_REGISTRATION);
        bodies.find_map(AddressRegistration::read)
    }

    /// Returns the prefixes.
    pub fn prefixes(&self) -> impl Iterator<Item = PrefixInformation> + use<'a> {
        let bodies = self.bodies(option_type::PREFIX_INFORMATION);
        bodies.filter_map(PrefixInformation::read)
    }

    /// Returns the contexts for compression.
    pub fn contexts(&self) -> impl Iterator<Item = ContextInformation> + use<'a> {
        let bodies = self.bodies(option_type::CONTEXT);
        bodies.filter_map(ContextInformation::read)
    }

    /// Returns the contents of all options of one type, after type and length.
    fn bodies(&self, wanted: u8) -> Bodies<'a> {
        let input = Reader::new(self.bytes);
        Bodies { input, wanted }
    }
}

struct Bodies<'a> {
    input: Reader<'a>,
    wanted: u8,
}

impl<'a> Iterator for Bodies<'a> {
    type Item = &'a [u8];

    #[inline(never)] // size
    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let (option_type, body) = next(&mut self.input).ok()?;
            if option_type == self.wanted {
                return Some(body);
            }
        }
    }
}

fn units(body: &[u8]) -> usize {
    body.len().saturating_add(HEAD) / UNIT
}

fn next<'a>(input: &mut Reader<'a>) -> Result<(u8, &'a [u8]), Error> {
    let [option_type, units] = input.array()?;
    let len = usize::from(units).saturating_mul(UNIT);
    let body = len.checked_sub(HEAD).ok_or(Error::Length)?;
    Ok((option_type, input.take(body)?))
}
