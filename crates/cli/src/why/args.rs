//! The command line of `redpoll why`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::dissect::NetworkArgs;

/// Find out what makes the TCP connections of a capture slow, and list the frames that show it.
///
/// Reads a capture of a 6LoWPAN mesh, of any TCP stack, in all formats of `redpoll dissect`.
/// Follows connections through source routes, tunnels and mesh headers. Looks for six causes: a
/// poll for each fragment, a retransmission timeout raised to its lower bound, delayed
/// acknowledgements of single segments, lost fragments, hidden terminals, and a window of one
/// segment. A cause is reported if it occurred at least three times, and cost at least 5 % of the
/// time in which data were in flight.
///
/// Capture as much of the mesh as possible, because a frame that the sniffer missed counts as
/// never sent. To detect losses, the capture must contain link acknowledgements; to detect hidden
/// terminals, it must contain both colliding frames.
///
/// Exit code: 0 whatever was found, 1 when the capture cannot be read or ends within a record (the
/// part before that is analysed), 2 when the capture has no frame of IEEE 802.15.4.
#[derive(Debug, ClapArgs)]
pub struct WhyArgs {
    /// The capture (pcapng or pcap), or a folder of `redpoll run --result DIR`; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub network: NetworkArgs,

    /// Simulate similar traffic for each cause, with the cause and with its remedy: one bulk
    /// transfer over a line with the captured number of hops (at most four), segment size,
    /// window, losses and retries
    #[arg(long)]
    pub simulate: bool,

    /// Write a page to this file, with the links, the segments of each slowed connection over time
    /// with the causes marked, the remedies, and similar traffic simulated with each remedy
    /// (--simulate). The page is one HTML file without external resources; - is standard output,
    /// in place of the text
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the findings as one JSON object to this file; - is standard output, in place of the
    /// text
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
