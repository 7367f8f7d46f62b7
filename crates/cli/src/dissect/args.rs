//! The command line of `redpoll dissect`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Keys;
use crate::args::Prefix;

/// Print a line for every frame of a capture, decoded by Redpoll itself.
///
/// Reads pcapng and pcap with the link types of IEEE 802.15.4 (with TAP header,
/// with or without check sequence). Frames that cannot be decoded say so.
///
/// Exit code: 0 when the capture was read to its end, 1 when it cannot be read
/// or breaks off (what there is is printed), 2 when it is no capture.
#[derive(Debug, ClapArgs)]
pub struct DissectArgs {
    /// The capture, or a folder of `redpoll run --result DIR`; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub mesh: Prefix,

    #[command(flatten)]
    pub keys: Keys,
}
