//! The arguments of `redpoll taim`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::rules::{RulesCommand, interface};
use redpoll_program::log::LogLevel;
use redpoll_program::rights::RightsArgs;

/// Share the bandwidth fairly between the TCP flows that this Linux border router forwards, by
/// scheduling their packets.
///
/// Reads forwarded packets from an NFQUEUE, to which firewall rules send them: `redpoll taim
/// install` adds these rules, `redpoll taim check` checks them, and `redpoll taim uninstall`
/// removes them. The program delays packets; it never changes or drops them. Packets pass at once
/// unless several flows compete and the mesh is their bottleneck. Packets other than TCP over IPv6
/// always pass at once. If the program does not run or is too slow, the kernel forwards all
/// packets. Ctrl-C releases all held packets and ends the program. Ctrl-Z releases them and
/// suspends the program. If the program is killed, the packets it holds are lost, and TCP
/// retransmits them. SIGHUP makes the program read its configuration file again, unless it runs on
/// a terminal.
///
/// The configuration file has the same names as the options, with - written as _, and times with
/// their unit, such as: delay = "50 ms". An option overrides the file. See docs/taim-linux.md.
///
/// Exit code: 0 after Ctrl-C, 1 when the queue cannot be opened or a file cannot be written, 2
/// when an option or the configuration file cannot be used.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TaimArgs {
    #[command(subcommand)]
    pub rules: Option<RulesCommand>,

    #[command(flatten)]
    pub config: ConfigArgs,

    /// Check the configuration file and the options, and end
    #[arg(long)]
    pub check_config: bool,

    #[command(flatten)]
    pub options: Options,

    #[command(flatten)]
    pub rights: RightsArgs,
}

/// The configuration file.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct ConfigArgs {
    /// Configuration file [default: /etc/redpoll/taim.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Settings of the command line, and those of the configuration file.
#[derive(Debug, Clone, Default, PartialEq, ClapArgs)]
pub struct Options {
    /// Number of the NFQUEUE queue, the same as in the firewall's rules [default: 0]
    #[arg(long, value_name = "N")]
    pub queue: Option<u16>,

    /// Interface of the mesh, for the log and for `redpoll taim install` [default: wpan0]
    #[arg(long, value_name = "NAME", value_parser = interface)]
    pub interface: Option<String>,

    /// Scheduling policy [default: taim]
    #[arg(long, value_enum)]
    pub policy: Option<PolicyArg>,

    /// With the policy taim: delay packets always, as the TAiM paper does, also while no flows
    /// compete or the mesh is not their bottleneck [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true")]
    pub always: Option<bool>,

    /// With the policy taim: initial time between two forwarded packets, in milliseconds (D_init,
    /// for which the TAiM paper states no value) [default: 50]
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub delay: Option<f64>,

    /// Shortest time between two forwarded packets, in milliseconds [default: 1]
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub min_delay: Option<f64>,

    /// Longest time that a packet is held, in milliseconds; 0 means no limit [default: 1000]
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub max_wait: Option<f64>,

    /// Period in seconds for measuring the throughput of flows and adapting the time between
    /// packets [default: 60]
    #[arg(long, value_name = "S",
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub period: Option<u64>,

    /// Largest number of flows to track; a new flow replaces the flow that has been idle for the
    /// longest time [default: 4096]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(4..=1_048_576))]
    pub flows: Option<u32>,

    /// Largest number of packets to hold; if one more arrives, the packet whose turn is next is
    /// forwarded at once [default: 16384]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub packets: Option<u32>,

    /// Largest number of packets in the kernel's queue in addition to the packets that this program
    /// holds. If the queue is full, the kernel forwards arriving packets without queueing them; this
    /// also happens when this program is suspended or hangs [default: 128]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(16..=65_536))]
    pub margin: Option<u32>,

    /// Serve metrics for Prometheus at this address; `[::]:9633` accepts requests from any host
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1,
          default_missing_value = "127.0.0.1:9633")]
    pub metrics: Option<SocketAddr>,

    /// Write the state of all flows to this file every --every seconds, as one JSON object per
    /// line; an existing file is replaced; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Time between two objects of --json, in seconds [default: 60]
    #[arg(long, value_name = "S",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub every: Option<u64>,

    /// Least severe level of the messages on standard error [default: info]
    #[arg(long, value_enum)]
    pub log_level: Option<LogLevel>,
}

/// The scheduling policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyArg {
    /// Forward one packet at a time, from the flow with the least throughput
    Taim,
    /// Forward at once, except packets of flows that have sent more than the mean of all flows:
    /// hold these packets for at most --max-wait, and never longer than a second
    Lead,
}

fn milliseconds(text: &str) -> Result<f64, String> {
    let ms = text.parse::<f64>().ok();
    ms.filter(|ms| (0.0..=3_600_000.0).contains(ms))
        .ok_or_else(|| "allowed: milliseconds from 0 to 3600000, such as 50 or 0.05".to_owned())
}
