//! `redpoll taim`: TAiM for a Linux border router, on packets that it forwards.
//!
//! - `notify`: reports to a service manager that the program is alive;
//! - `daemon`: the kernel's queue, the engine, and the loop between them;
//! - `tell`: the reports: status line, JSON and Prometheus;
//! - `rules`: the firewall rules that fill the queue;
//! - `bench`: the cost of the engine.

pub mod bench;
mod daemon;
mod notify;
pub mod rules;
mod tell;

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args as ClapArgs;
use redpoll_assist::taim::{FlowSlot, HeldSlot, Lead, Memory, Params, Policy, Taim};
use redpoll_base::Duration;
use redpoll_linux::nfqueue::NfQueue;
use redpoll_linux::privilege::Keep;
use redpoll_linux::privilege::sandbox::Sandbox;
use redpoll_linux::signals::Signals;
use redpoll_web::{PageKind, PageServer};

use crate::output::{self, fail};
use crate::rights::{Rights, RightsArgs};
use crate::{FAILED, USAGE};
use daemon::Daemon;
use notify::Supervisor;
use rules::RulesCommand;

/// Share the bandwidth fairly between the TCP flows that this Linux border router forwards, by
/// scheduling their packets.
///
/// Reads forwarded packets from an NFQUEUE, to which firewall rules send them: `redpoll taim
/// install` adds these rules, `redpoll taim check` checks them, and `redpoll taim uninstall`
/// removes them. The program delays packets; it never changes or drops them. It forwards
/// packets other than TCP over IPv6 at once. If the program does not run or is too slow, the
/// kernel forwards all packets. Ctrl-C releases all held packets and ends the program. Ctrl-Z
/// releases them and suspends the program. If the program is killed, the packets it holds are
/// lost, and TCP retransmits them. See docs/taim.md.
///
/// Exit code: 0 after Ctrl-C, 1 when the queue cannot be opened or a file cannot be written, 2
/// when an option cannot be used.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TaimArgs {
    #[command(subcommand)]
    pub rules: Option<RulesCommand>,

    /// Number of the NFQUEUE queue, the same as in the firewall's rules
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub queue: u16,

    /// Scheduling policy
    #[arg(long, value_enum, default_value_t = PolicyArg::Taim)]
    pub policy: PolicyArg,

    /// With the policy taim: initial time between two forwarded packets, in milliseconds (D_init,
    /// for which the TAiM paper states no value)
    #[arg(long, value_name = "MS", default_value_t = 50.0, value_parser = milliseconds)]
    pub delay: f64,

    /// Shortest time between two forwarded packets, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1.0, value_parser = milliseconds)]
    pub min_delay: f64,

    /// Longest time that a packet is held, in milliseconds; 0 means no limit
    #[arg(long, value_name = "MS", default_value_t = 1_000.0, value_parser = milliseconds)]
    pub max_wait: f64,

    /// Period in seconds for measuring the throughput of flows and adapting the time between
    /// packets
    #[arg(long, value_name = "S", default_value_t = 60,
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub period: u64,

    /// Largest number of flows to track; a new flow replaces the flow that has been idle for the longest time
    #[arg(long, value_name = "N", default_value_t = 8_192,
          value_parser = clap::value_parser!(u32).range(4..=1_048_576))]
    pub flows: u32,

    /// Largest number of packets to hold; if one more arrives, the packet whose turn is next is forwarded at
    /// once
    #[arg(long, value_name = "N", default_value_t = 16_384,
          value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub packets: u32,

    /// Largest number of packets in the kernel's queue in addition to those held here. Beyond this number the kernel
    /// forwards all packets, as it does when this program is suspended or hangs
    #[arg(long, value_name = "N", default_value_t = 128,
          value_parser = clap::value_parser!(u32).range(16..=65_536))]
    pub margin: u32,

    /// Serve metrics for Prometheus at this address; `[::]:9633` accepts requests from any host
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1,
          default_missing_value = "127.0.0.1:9633")]
    pub metrics: Option<SocketAddr>,

    /// Append the state of all flows to this file every --every seconds, as one JSON object per
    /// line; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Time between two objects of --json, in seconds
    #[arg(long, value_name = "S", default_value_t = 60,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub every: u64,

    #[command(flatten)]
    pub rights: RightsArgs,
}

/// Path of the metrics, and the version of Prometheus's text format.
const METRICS: PageKind = PageKind {
    path: "/metrics",
    media_type: "text/plain; version=0.0.4",
};

/// Whose rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PolicyArg {
    /// Forward one packet at a time, from the flow with the least throughput
    Taim,
    /// Forward at once, except packets of flows that are ahead of the others: hold those for at
    /// most --max-wait, and never longer than a second
    Lead,
}

fn milliseconds(text: &str) -> Result<f64, String> {
    let ms = text.parse::<f64>().ok();
    ms.filter(|ms| (0.0..=3_600_000.0).contains(ms))
        .ok_or_else(|| "allowed: milliseconds from 0 to 3600000, such as 50 or 0.05".to_owned())
}

fn duration(ms: f64) -> Duration {
    Duration::from_micros((ms * 1e3).round() as u64)
}

/// Memory of the packets and flow tables, allocated on the heap.
#[derive(Debug)]
pub enum Heap {}

impl redpoll_base::Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

/// Returns an engine with room for `flows` and `packets`, which are identified by numbers.
pub fn engine(params: Params, secret: [u32; 2], flows: u32, packets: u32) -> Taim<Heap, u32> {
    let (flows, packets) = (flows as usize, packets as usize);
    let memory = Memory {
        flows: vec![FlowSlot::EMPTY; flows].into(),
        index: vec![0; (2 * flows).next_power_of_two()].into(),
        schedule: vec![0; flows].into(),
        held: (0..packets).map(|_| HeldSlot::EMPTY).collect(),
    };
    Taim::new(params, secret, memory)
}

pub fn run(args: &TaimArgs) -> ExitCode {
    if let Some(command) = &args.rules {
        return rules::run(command);
    }
    match live(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, line)) => fail(code, line),
    }
}

fn live(args: &TaimArgs) -> Result<(), (u8, String)> {
    let failed = |error: &dyn std::fmt::Display| (FAILED, error.to_string());
    // Signals are watched first, so that no signal arrives between the opening and the closing of
    // the queue.
    let signals = Signals::watch_stop().map_err(|e| failed(&e))?;
    let rights = Rights::of(&args.rights)?;
    if args.min_delay > args.delay {
        let line = "--min-delay is longer than --delay; allowed: at most --delay";
        return Err((USAGE, line.to_owned()));
    }
    let json = match &args.json {
        None => None,
        Some(path) if output::is_standard(path) => Some(Box::new(io::stdout()) as Box<dyn Write>),
        Some(path) => {
            let file = rights.files(|| {
                let file = File::create(path);
                file.map_err(|e| failed(&format!("cannot write {}: {e}", path.display())))
            })?;
            Some(Box::new(file) as Box<dyn Write>)
        }
    };
    let metrics = match args.metrics {
        None => None,
        Some(address) => Some(PageServer::listen(address, METRICS).map_err(|e| {
            failed(&format!(
                "cannot listen at {address}: {e}; choose another with --metrics ADDRESS:PORT"
            ))
        })?),
    };
    let address = metrics.as_ref().map(PageServer::address);
    let mut secret = [0; 8];
    redpoll_linux::entropy::fill(&mut secret).map_err(|e| failed(&e))?;
    let secret = u64::from_le_bytes(secret);
    let params = Params {
        policy: match args.policy {
            PolicyArg::Taim => Policy::Taim,
            PolicyArg::Lead => Policy::Lead(Lead::default()),
        },
        initial_delay: duration(args.delay),
        min_delay: duration(args.min_delay),
        period: Duration::from_secs(args.period),
        max_wait: Some(duration(args.max_wait)).filter(|wait| !wait.is_zero()),
        ..Params::default()
    };
    let secret = [secret as u32, (secret >> 32) as u32];
    let (number, flows, packets, margin) = (args.queue, args.flows, args.packets, args.margin);
    let begin = move || {
        let queue = NfQueue::open(number, margin).map_err(io::Error::other)?;
        Ok((queue, engine(params, secret, flows, packets)))
    };
    let supervisor = Supervisor::of_environment();
    let daemon = Daemon::new(Box::new(begin), signals, supervisor, margin);
    let mut daemon = daemon.map_err(|e| failed(&e))?;
    // Rights are given up before the server's thread begins, because the thread inherits them.
    let warnings = rights.give_up(&[Keep::NetAdmin], &Sandbox::default())?;
    if let Some(metrics) = metrics {
        daemon.answers(metrics.start().map_err(|e| failed(&e))?);
    }
    eprintln!(
        "redpoll: reading queue {}{}; Ctrl-C ends it",
        args.queue,
        address.map_or(String::new(), |address| {
            format!(", metrics at http://{address}/metrics")
        })
    );
    for line in warnings {
        eprintln!("redpoll: {line}");
    }
    let every = Duration::from_secs(args.every);
    daemon.live(json, every).map_err(|e| failed(&e))
}
