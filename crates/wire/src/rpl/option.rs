//! Options of RPL's control messages (RFC 6550 §6.7), and the metrics of RFC 6551
//! that a DAG metric container holds.

use redpoll_base::Addr;

use super::{Sequence, put};
use crate::ipv6::addr;
use crate::{Cursor, Error, NoRoom};

const PAD1: u8 = 0;
const PADN: u8 = 1;
const METRIC_CONTAINER: u8 = 2;
const CONFIGURATION: u8 = 4;
const TARGET: u8 = 5;
const TRANSIT: u8 = 6;
const PREFIX: u8 = 8;

/// Node State and Attribute (RFC 6551 §3.1), a metric object.
const NODE_STATE: u8 = 1;
/// O: the node is overloaded.
const OVERLOAD: u8 = 1;
/// C, in the first byte of an object's flags (RFC 6551 §2.1): the object is a constraint.
const CONSTRAINT: u8 = 2;

/// The validated options of a message, in the message's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options<'a>(&'a [u8]);

/// One option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RplOption<'a> {
    /// The parameters of the DODAG (RFC 6550 §6.7.6).
    Configuration(Configuration),
    /// The prefix of the DODAG's nodes (RFC 6550 §6.7.10).
    Prefix(PrefixInformation),
    /// A reachable node or prefix (RFC 6550 §6.7.7).
    Target(TargetOption),
    /// The path to the targets in the options before this one (RFC 6550 §6.7.8).
    Transit(Transit),
    /// A metric container with the node's state (RFC 6550 §6.7.4, RFC 6551 §3.1).
    NodeState {
        /// Whether the sender is overloaded.
        overloaded: bool,
    },
    /// Any other option, and padding.
    Unknown {
        /// The type.
        kind: u8,
        /// The content.
        data: &'a [u8],
    },
}

/// Flags of [`Configuration::flags`].
pub mod config_flag {
    /// RPI 0x23 enable (RFC 9008 §4.1.3): data packets have the option type 0x23.
    pub const RPI_0X23: u8 = 0x10;
}

/// DODAG Configuration (RFC 6550 §6.7.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Configuration {
    /// Flags, A and PCS; see [`config_flag`].
    pub flags: u8,
    /// DIOIntervalDoublings.
    pub interval_doublings: u8,
    /// DIOIntervalMin: the binary logarithm of Imin in milliseconds.
    pub interval_min: u8,
    /// DIORedundancyConstant; 0 is infinity.
    pub redundancy: u8,
    /// MaxRankIncrease; 0: unlimited.
    pub max_rank_increase: u16,
    /// MinHopRankIncrease; never 0.
    pub min_hop_rank_increase: u16,
    /// Objective code point; see [`super::objective`].
    pub objective: u16,
    /// Default Lifetime of routes, in units of [`Self::lifetime_unit_s`].
    pub lifetime: u8,
    /// Lifetime Unit, in seconds.
    pub lifetime_unit_s: u16,
}

/// Prefix Information (RFC 6550 §6.7.10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrefixInformation {
    /// Bits of the prefix, 0 to 128.
    pub len: u8,
    /// A: whether nodes may form addresses from the prefix.
    pub autonomous: bool,
    /// R: whether [`Self::prefix`] is the sender's whole address.
    pub router_address: bool,
    /// Prefix or address.
    pub prefix: Addr,
    /// Valid lifetime in seconds.
    pub lifetime_s: u32,
}

/// RPL Target (RFC 6550 §6.7.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TargetOption {
    /// Address or prefix; the bits after the prefix are zero.
    pub prefix: Addr,
    /// Bits of the prefix, 0 to 128.
    pub len: u8,
}

/// Transit Information (RFC 6550 §6.7.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transit {
    /// E: whether the targets are not RPL nodes.
    pub external: bool,
    /// Path Control.
    pub control: u8,
    /// Path Sequence.
    pub sequence: Sequence,
    /// Path Lifetime in lifetime units; 0: No-Path, 255: infinite.
    pub lifetime: u8,
    /// The targets' parent, in non-storing mode.
    pub parent: Option<Addr>,
}

impl<'a> Options<'a> {
    /// Parses the options in `bytes`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the last one runs past the end, [`Error::Length`] if one is too
    /// short for its content, [`Error::Reserved`] for an invalid prefix length or
    /// MinHopRankIncrease.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut rest = bytes;
        while !rest.is_empty() {
            read(&mut rest)?;
        }
        Ok(Options(bytes))
    }

    /// Returns the options one by one, without padding.
    pub fn iter(&self) -> impl Iterator<Item = RplOption<'a>> + use<'a> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            loop {
                match read(&mut rest).ok()? {
                    RplOption::Unknown {
                        kind: PAD1 | PADN, ..
                    } => {}
                    option => return Some(option),
                }
            }
        })
    }

    /// Returns the encoded options.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Returns the configuration, if there is one.
    pub fn configuration(&self) -> Option<Configuration> {
        self.iter().find_map(|option| match option {
            RplOption::Configuration(configuration) => Some(configuration),
            _ => None,
        })
    }

    /// Returns the first prefix, if there is one.
    pub fn prefix(&self) -> Option<PrefixInformation> {
        self.iter().find_map(|option| match option {
            RplOption::Prefix(prefix) => Some(prefix),
            _ => None,
        })
    }

    /// Returns whether the sender reports that it is overloaded.
    pub fn is_overloaded(&self) -> bool {
        let overloaded = RplOption::NodeState { overloaded: true };
        self.iter().any(|option| option == overloaded)
    }
}

/// Reads the next option. The function is not inlined, because many callers use it.
#[inline(never)]
fn read<'a>(rest: &mut &'a [u8]) -> Result<RplOption<'a>, Error> {
    let (&kind, behind) = rest.split_first().ok_or(Error::Truncated)?;
    if kind == PAD1 {
        *rest = behind;
        return Ok(RplOption::Unknown { kind, data: &[] });
    }
    let (&len, behind) = behind.split_first().ok_or(Error::Truncated)?;
    let (data, behind) = behind
        .split_at_checked(len.into())
        .ok_or(Error::Truncated)?;
    *rest = behind;
    contents(kind, data)
}

/// Parses an option's content. Content that ends early contradicts the option's length.
fn contents(kind: u8, data: &[u8]) -> Result<RplOption<'_>, Error> {
    Ok(match (kind, data) {
        (CONFIGURATION, _) => RplOption::Configuration(Configuration::read(first(data)?)?),
        (PREFIX, _) => RplOption::Prefix(PrefixInformation::read(first(data)?)?),
        (TARGET, [_, len, bytes @ ..]) => {
            let len = prefix_len(*len)?;
            let bytes = bytes.get(..usize::from(len).div_ceil(8));
            let mut prefix = Addr::default();
            for (to, from) in prefix.0.iter_mut().zip(bytes.ok_or(Error::Length)?) {
                *to = *from;
            }
            let prefix = addr::prefix(&prefix, len);
            RplOption::Target(TargetOption { prefix, len })
        }
        (TRANSIT, [flags, control, sequence, lifetime, parent @ ..]) => {
            let parent = match parent {
                [] => None,
                parent => Some(Addr(*first(parent)?)),
            };
            RplOption::Transit(Transit {
                external: flags & 0x80 != 0,
                control: *control,
                sequence: Sequence(*sequence),
                lifetime: *lifetime,
                parent,
            })
        }
        (TARGET | TRANSIT, _) => return Err(Error::Length),
        (METRIC_CONTAINER, _) => match node_state(data)? {
            Some(overloaded) => RplOption::NodeState { overloaded },
            None => RplOption::Unknown { kind, data },
        },
        _ => RplOption::Unknown { kind, data },
    })
}

fn first<const N: usize>(data: &[u8]) -> Result<&[u8; N], Error> {
    data.first_chunk().ok_or(Error::Length)
}

/// Returns the O flag of the node state in a metric container, if present. The first object that is
/// not a constraint counts (RFC 6551 §3). Each object has type, flags and length (RFC 6551 §2.1).
fn node_state(mut objects: &[u8]) -> Result<Option<bool>, Error> {
    let mut found = None;
    while let [kind, rest @ ..] = objects {
        let [flags, _, len, rest @ ..] = rest else {
            return Err(Error::Length);
        };
        let object = rest.split_at_checked(usize::from(*len));
        let (object, rest) = object.ok_or(Error::Length)?;
        if let (NODE_STATE, [_, state, ..], true) = (*kind, object, flags & CONSTRAINT == 0) {
            found.get_or_insert(state & OVERLOAD != 0);
        }
        objects = rest;
    }
    Ok(found)
}

fn prefix_len(len: u8) -> Result<u8, Error> {
    match len {
        0..=128 => Ok(len),
        _ => Err(Error::Reserved),
    }
}

impl Configuration {
    fn read(bytes: &[u8; 14]) -> Result<Self, Error> {
        let [
            flags,
            interval_doublings,
            interval_min,
            redundancy,
            rest @ ..,
        ] = *bytes;
        let [
            max_high,
            max_low,
            min_high,
            min_low,
            of_high,
            of_low,
            rest @ ..,
        ] = rest;
        let [_, lifetime, unit_high, unit_low] = rest;
        let min_hop_rank_increase = u16::from_be_bytes([min_high, min_low]);
        // With 0, ranks could not increase from hop to hop.
        if min_hop_rank_increase == 0 {
            return Err(Error::Reserved);
        }
        Ok(Configuration {
            flags,
            interval_doublings,
            interval_min,
            redundancy,
            max_rank_increase: u16::from_be_bytes([max_high, max_low]),
            min_hop_rank_increase,
            objective: u16::from_be_bytes([of_high, of_low]),
            lifetime,
            lifetime_unit_s: u16::from_be_bytes([unit_high, unit_low]),
        })
    }

    /// Writes the option.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let [max_high, max_low] = self.max_rank_increase.to_be_bytes();
        let [min_high, min_low] = self.min_hop_rank_increase.to_be_bytes();
        let [of_high, of_low] = self.objective.to_be_bytes();
        let [unit_high, unit_low] = self.lifetime_unit_s.to_be_bytes();
        let bytes = [
            CONFIGURATION,
            14,
            self.flags,
            self.interval_doublings,
            self.interval_min,
            self.redundancy,
            max_high,
            max_low,
            min_high,
            min_low,
            of_high,
            of_low,
            0,
            self.lifetime,
            unit_high,
            unit_low,
        ];
        put(out, &bytes)
    }
}

impl PrefixInformation {
    fn read(bytes: &[u8; 30]) -> Result<Self, Error> {
        let [len, flags, a, b, c, d, _, _, _, _, _, _, _, _, prefix @ ..] = *bytes;
        Ok(PrefixInformation {
            len: prefix_len(len)?,
            autonomous: flags & 0x40 != 0,
            router_address: flags & 0x20 != 0,
            prefix: Addr(prefix),
            lifetime_s: u32::from_be_bytes([a, b, c, d]),
        })
    }

    /// Writes the option.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let autonomous = if self.autonomous { 0x40 } else { 0 };
        let router = if self.router_address { 0x20 } else { 0 };
        let lifetime = self.lifetime_s.to_be_bytes();
        put(out, &[PREFIX, 30, self.len, autonomous | router])?;
        put(out, &lifetime)?;
        put(out, &lifetime)?;
        put(out, &[0; 4])?;
        put(out, &self.prefix.0)
    }
}

impl TargetOption {
    /// Writes the option.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let bytes = usize::from(self.len.min(128)).div_ceil(8);
        let prefix = self.prefix.0.get(..bytes).unwrap_or(&self.prefix.0);
        let len = prefix.len().saturating_add(2) as u8;
        put(out, &[TARGET, len, 0, self.len])?;
        put(out, prefix)
    }
}

impl Transit {
    /// Writes the option.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        let parent = self.parent.as_ref();
        let parent = parent.map_or([].as_slice(), |parent| &parent.0);
        let len = parent.len().saturating_add(4) as u8;
        let external = if self.external { 0x80 } else { 0 };
        let [sequence, lifetime] = [self.sequence.0, self.lifetime];
        put(
            out,
            &[TRANSIT, len, external, self.control, sequence, lifetime],
        )?;
        put(out, parent)
    }
}

impl RplOption<'_> {
    /// Writes the option.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        match self {
            RplOption::Configuration(it) => it.emit(out),
            RplOption::Prefix(it) => it.emit(out),
            RplOption::Target(it) => it.emit(out),
            RplOption::Transit(it) => it.emit(out),
            RplOption::NodeState { overloaded } => {
                let flags = if *overloaded { OVERLOAD } else { 0 };
                put(out, &[METRIC_CONTAINER, 6, NODE_STATE, 0, 0, 2, 0, flags])
            }
            RplOption::Unknown { kind: PAD1, .. } => put(out, &[PAD1]),
            RplOption::Unknown { kind, data } => {
                let data = data.get(..usize::from(u8::MAX)).unwrap_or(data);
                put(out, &[*kind, data.len() as u8])?;
                put(out, data)
            }
        }
    }
}
