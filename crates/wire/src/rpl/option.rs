//! Options of RPL's control messages (RFC 6550 §6.7), and the metrics of RFC 6551
//! that a DAG metric container holds.

use redpoll_base::Addr;

use super::{Sequence, put, take};
use crate::cursor::Reader;
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

/// Options of one message, in the order they stand: valid by construction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options<'a>(&'a [u8]);

/// One option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RplOption<'a> {
    /// How the DODAG works (§6.7.6).
    Configuration(Configuration),
    /// The prefix of the DODAG's nodes (§6.7.10).
    Prefix(PrefixInformation),
    /// Who can be reached (§6.7.7).
    Target(TargetOption),
    /// How the targets before it can be reached (§6.7.8).
    Transit(Transit),
    /// A metric container with the node's state (§6.7.4, RFC 6551 §3.1).
    NodeState {
        /// The sender has more to carry than it can.
        overloaded: bool,
    },
    /// Any other; padding, too.
    Unknown {
        /// Its type.
        kind: u8,
        /// What it holds.
        data: &'a [u8],
    },
}

/// Flags of [`Configuration::flags`].
pub mod config_flag {
    /// RPI 0x23 enable (RFC 9008 §4.1.3): data packets carry the option type 0x23.
    pub const RPI_0X23: u8 = 0x10;
}

/// DODAG Configuration (RFC 6550 §6.7.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Configuration {
    /// Flags, A and PCS; see [`config_flag`].
    pub flags: u8,
    /// DIOIntervalDoublings.
    pub interval_doublings: u8,
    /// DIOIntervalMin: Imin is 2 to the power of this, in milliseconds.
    pub interval_min: u8,
    /// DIORedundancyConstant; 0 is infinity.
    pub redundancy: u8,
    /// MaxRankIncrease; 0 is no limit.
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
    /// A: nodes may form their addresses from it.
    pub autonomous: bool,
    /// R: [`Self::prefix`] is the sender's whole address.
    pub router_address: bool,
    /// Prefix or address.
    pub prefix: Addr,
    /// How long it is valid, in seconds.
    pub lifetime_s: u32,
}

/// RPL Target (RFC 6550 §6.7.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TargetOption {
    /// Address or prefix; bits behind the prefix are zero.
    pub prefix: Addr,
    /// Its bits, 0 to 128.
    pub len: u8,
}

/// Transit Information (RFC 6550 §6.7.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transit {
    /// E: the targets are no RPL nodes.
    pub external: bool,
    /// Path Control.
    pub control: u8,
    /// Path Sequence.
    pub sequence: Sequence,
    /// Path Lifetime in lifetime units: 0 is a No-Path, 255 is for ever.
    pub lifetime: u8,
    /// The targets' parent, in non-storing mode.
    pub parent: Option<Addr>,
}

impl<'a> Options<'a> {
    /// The options in `bytes`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the last one does not end within them, [`Error::Length`]
    /// if one is too short for what it must hold, [`Error::Reserved`] for a length of
    /// a prefix or a MinHopRankIncrease that cannot be.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut input = Reader::new(bytes);
        while !input.rest().is_empty() {
            read(&mut input)?;
        }
        Ok(Options(bytes))
    }

    /// The options one by one, without what only fills space.
    pub fn iter(&self) -> impl Iterator<Item = RplOption<'a>> + use<'a> {
        let mut input = Reader::new(self.0);
        core::iter::from_fn(move || {
            loop {
                match read(&mut input).ok()? {
                    RplOption::Unknown {
                        kind: PAD1 | PADN, ..
                    } => {}
                    option => return Some(option),
                }
            }
        })
    }

    /// As they go over the wire.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The configuration, if there is one.
    pub fn configuration(&self) -> Option<Configuration> {
        self.iter().find_map(|option| match option {
            RplOption::Configuration(configuration) => Some(configuration),
            _ => None,
        })
    }

    /// The first prefix, if there is one.
    pub fn prefix(&self) -> Option<PrefixInformation> {
        self.iter().find_map(|option| match option {
            RplOption::Prefix(prefix) => Some(prefix),
            _ => None,
        })
    }

    /// Whether the sender says that it is overloaded.
    pub fn is_overloaded(&self) -> bool {
        let overloaded = RplOption::NodeState { overloaded: true };
        self.iter().any(|option| option == overloaded)
    }
}

/// The next option. Out of line: many look through options.
#[inline(never)]
fn read<'a>(input: &mut Reader<'a>) -> Result<RplOption<'a>, Error> {
    let &[kind] = take(input)?;
    if kind == PAD1 {
        return Ok(RplOption::Unknown { kind, data: &[] });
    }
    let &[len] = take(input)?;
    let data = input.take(len.into())?;
    // What ends too early inside an option contradicts the option's length.
    contents(kind, data).map_err(|error| match error {
        Error::Truncated => Error::Length,
        error => error,
    })
}

fn contents(kind: u8, data: &[u8]) -> Result<RplOption<'_>, Error> {
    let mut input = Reader::new(data);
    let input = &mut input;
    Ok(match kind {
        CONFIGURATION => RplOption::Configuration(Configuration::read(take(input)?)?),
        PREFIX => RplOption::Prefix(PrefixInformation::read(take(input)?)?),
        TARGET => {
            let &[_, len] = take(input)?;
            let len = prefix_len(len)?;
            let bytes = input.take(usize::from(len).div_ceil(8))?;
            let mut prefix = Addr::default();
            for (to, from) in prefix.0.iter_mut().zip(bytes) {
                *to = *from;
            }
            let prefix = addr::prefix(&prefix, len);
            RplOption::Target(TargetOption { prefix, len })
        }
        TRANSIT => {
            let &[flags, control, sequence, lifetime] = take(input)?;
            let parent = match input.rest() {
                [] => None,
                _ => Some(Addr(*take(input)?)),
            };
            RplOption::Transit(Transit {
                external: flags & 0x80 != 0,
                control,
                sequence: Sequence(sequence),
                lifetime,
                parent,
            })
        }
        METRIC_CONTAINER => match node_state(data)? {
            Some(overloaded) => RplOption::NodeState { overloaded },
            None => RplOption::Unknown { kind, data },
        },
        _ => RplOption::Unknown { kind, data },
    })
}

/// The O flag of a metric container's node state, if it has one; each object has
/// type, flags and length (RFC 6551 §2.1).
fn node_state(data: &[u8]) -> Result<Option<bool>, Error> {
    let mut input = Reader::new(data);
    let mut found = None;
    while !input.rest().is_empty() {
        let &[kind, _, _, len] = take(&mut input)?;
        let object = input.take(len.into())?;
        if let (NODE_STATE, [_, flags, ..]) = (kind, object) {
            found = Some(flags & OVERLOAD != 0);
        }
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
        // A rank could not grow from hop to hop.
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

    fn to_bytes(self) -> [u8; 16] {
        let [max_high, max_low] = self.max_rank_increase.to_be_bytes();
        let [min_high, min_low] = self.min_hop_rank_increase.to_be_bytes();
        let [of_high, of_low] = self.objective.to_be_bytes();
        let [unit_high, unit_low] = self.lifetime_unit_s.to_be_bytes();
        [
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
        ]
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
}

impl RplOption<'_> {
    /// Writes the option.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        match self {
            RplOption::Configuration(it) => put(out, &it.to_bytes()),
            RplOption::Prefix(it) => {
                let autonomous = if it.autonomous { 0x40 } else { 0 };
                let router = if it.router_address { 0x20 } else { 0 };
                let lifetime = it.lifetime_s.to_be_bytes();
                put(out, &[PREFIX, 30, it.len, autonomous | router])?;
                put(out, &lifetime)?;
                put(out, &lifetime)?;
                put(out, &[0; 4])?;
                put(out, &it.prefix.0)
            }
            RplOption::Target(it) => {
                let bytes = usize::from(it.len.min(128)).div_ceil(8);
                let prefix = it.prefix.0.get(..bytes).unwrap_or(&it.prefix.0);
                put(
                    out,
                    &[TARGET, prefix.len().saturating_add(2) as u8, 0, it.len],
                )?;
                put(out, prefix)
            }
            RplOption::Transit(it) => {
                let len = if it.parent.is_some() { 20 } else { 4 };
                let external = if it.external { 0x80 } else { 0 };
                let [sequence, lifetime] = [it.sequence.0, it.lifetime];
                put(
                    out,
                    &[TRANSIT, len, external, it.control, sequence, lifetime],
                )?;
                match it.parent {
                    Some(parent) => put(out, &parent.0),
                    None => Ok(()),
                }
            }
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
