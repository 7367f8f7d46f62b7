//! The command line of `redpoll dissect`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use redpoll_base::Addr;
use redpoll_dissect::Reading;
use redpoll_dissect::capture::Fcs;
use redpoll_wire::sixlowpan::Contexts;

use super::KeyArgs;
use crate::args::Prefix;

/// Print a line for every frame of a capture, decoded by Redpoll's own dissectors.
///
/// Reads pcapng and pcap files, also compressed as .gz or .zst. Link types: IEEE 802.15.4 (with
/// and without check sequence, PHY header, TAP header), IEEE 802.15.4 or 6LoWPAN in Ethernet, ZEP
/// in UDP, raw IPv6, Linux cooked capture, and the loopback of BSD systems. Fragmented datagrams
/// are reassembled. A frame that cannot be decoded is marked as such. Frames of other link types
/// are counted, and reported on standard error.
///
/// Exit code: 0 when the capture was read to its end, 1 when it cannot be read or ends within a
/// record (the frames before that are printed), 2 when the file is not a capture or has no frame
/// of IEEE 802.15.4.
#[derive(Debug, ClapArgs)]
pub struct DissectArgs {
    /// The capture, or a folder of `redpoll run --result DIR`; - is standard input, and each
    /// frame is printed when it arrives
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub network: NetworkArgs,

    /// Print one JSON object for each frame, with the field names of Wireshark
    #[arg(long)]
    pub json: bool,
}

/// Parameters of the captured network.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct NetworkArgs {
    #[command(flatten)]
    pub mesh: Prefix,

    /// The prefix of 6LoWPAN context N, 0 to 15, such as 1=fd00:1::/64. May be repeated
    #[arg(long = "context", value_name = "N=PREFIX", value_parser = context)]
    pub contexts: Vec<(u8, Addr, u8)>,

    #[command(flatten)]
    pub keys: KeyArgs,

    /// Last two bytes of each frame: the check sequence, or metadata of TI CC24xx radios in its
    /// place. By default detected from the first frames
    #[arg(long, value_enum, default_value_t = FcsArg::Auto)]
    pub fcs: FcsArg,
}

/// See [`NetworkArgs::fcs`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FcsArg {
    #[default]
    /// The program detects the content from the first frames
    Auto,
    /// The check sequence
    Crc,
    /// RSSI, correlation and a bit that states whether the check sequence was correct
    Ti,
}

impl NetworkArgs {
    pub fn contexts(&self) -> Contexts {
        let mut contexts = Contexts::with_prefix(self.mesh.prefix);
        for (cid, prefix, len) in &self.contexts {
            contexts.set(*cid, *prefix, *len);
        }
        contexts
    }

    pub fn reading(&self) -> Reading {
        Reading {
            contexts: self.contexts(),
            keys: self.keys.keys(),
        }
    }

    pub fn fcs(&self) -> Fcs {
        match self.fcs {
            FcsArg::Auto => Fcs::Auto,
            FcsArg::Crc => Fcs::Crc,
            FcsArg::Ti => Fcs::Ti,
        }
    }
}

fn context(text: &str) -> Result<(u8, Addr, u8), String> {
    const ALLOWED: &str = "allowed: N=PREFIX/LEN with N from 0 to 15, such as 1=fd00:1::/64";
    let read = text.split_once('=').and_then(|(cid, prefix)| {
        let cid = cid.parse().ok().filter(|cid| *cid <= 15)?;
        let (addr, len) = prefix.split_once('/').unwrap_or((prefix, "64"));
        let addr = addr.parse::<std::net::Ipv6Addr>().ok()?;
        let len = len.parse().ok().filter(|len| *len <= 128)?;
        Some((cid, Addr::from(addr), len))
    });
    read.ok_or_else(|| ALLOWED.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_read_and_others_refused() {
        let addr = Addr::from("fd00:1::".parse::<std::net::Ipv6Addr>().unwrap());
        assert_eq!(context("1=fd00:1::/48"), Ok((1, addr, 48)));
        assert_eq!(context("15=fd00:1::"), Ok((15, addr, 64)));
        for wrong in ["", "1", "16=fd00::", "x=fd00::", "1=fd00", "1=fd00::/129"] {
            assert!(context(wrong).unwrap_err().contains("N=PREFIX"), "{wrong}");
        }
    }
}
