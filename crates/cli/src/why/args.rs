//! The command line of `redpoll why`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::dissect::NetworkArgs;

/// Say what makes the TCP connections of a capture slow, with the frames that show it.
///
/// Reads a capture of a 6LoWPAN mesh, of any stack, in all formats of `redpoll dissect`. Follows
/// connections through source routes, tunnels and mesh headers. Six causes are known: a poll for each
/// fragment, a floor of the retransmission timeout, delayed acknowledgments of single
/// segments, lost fragments, hidden terminals, a window of one segment. One is named if it
/// took at least 5 % of the time in which data were in flight.
///
/// The more of the mesh the capture has the more it tells: what one sniffer misses was not
/// there. Losses need link acknowledgments, hidden terminals need both colliding frames.
///
/// Exit code: 0 whatever was found; 1 when the capture breaks off (what there is was looked
/// at) or cannot be read, 2 when it is none of IEEE 802.15.4.
#[derive(Debug, ClapArgs)]
pub struct WhyArgs {
    /// The capture, pcapng or pcap, or a folder of `redpoll run --result DIR`; - is standard
    /// input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub network: NetworkArgs,

    /// Simulate for each cause the same traffic with it and with the remedy: one bulk transfer
    /// over a line of as many hops (four at most), with segments, window, losses and
    /// retries as they were captured
    #[arg(long)]
    pub simulate: bool,

    /// Write what was found as one JSON object to this file; - is standard output, where it
    /// takes the text's place
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
