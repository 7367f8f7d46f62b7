//! TAiM for a Linux border router, on packets that it forwards: the program `redpoll-taim`, and the
//! command `redpoll taim`.
//!
//! - `args`, `config`, `settings`: the options, the configuration file, and the result of both;
//! - `daemon`: the kernel's queue, the engine, and the loop between them;
//! - `events`: the changes that the log reports;
//! - `tell`: the status line and the JSON; `reports`: the file of JSON; `metrics`: Prometheus;
//! - `rules`: the firewall rules that fill the queue;
//! - `standalone`: the command line of `redpoll-taim`.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod args;
mod config;
mod daemon;
mod events;
mod metrics;
mod reports;
mod rules;
mod settings;
pub mod standalone;
mod tell;

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::ExitCode;

use redpoll_assist::taim::{FlowSlot, HeldSlot, Memory, Params, Taim};
use redpoll_linux::nfqueue::NfQueue;
use redpoll_linux::privilege::Keep;
use redpoll_linux::privilege::sandbox::Sandbox;
use redpoll_linux::signals::Signals;
use redpoll_page::{PageKind, PageServer};
use tracing::{info, warn};

pub use args::TaimArgs;
use config::ConfigFile;
use daemon::{Daemon, Reload};
use redpoll_program::FAILED;
use redpoll_program::log;
use redpoll_program::notify::Supervisor;
use redpoll_program::output::{self, fail};
use redpoll_program::rights::Rights;
use reports::Reports;
use settings::Settings;

/// Name of the program that contains only this daemon.
pub const NAME: &str = "redpoll-taim";
/// Command of the program `redpoll` that is the same daemon.
const COMMAND: &str = "redpoll taim";

/// Returns the command that starts this daemon in the running program.
fn called() -> &'static str {
    if output::name() == NAME {
        NAME
    } else {
        COMMAND
    }
}

/// Path of the metrics, and the version of Prometheus's text format.
const METRICS: PageKind = PageKind {
    path: "/metrics",
    media_type: "text/plain; version=0.0.4",
};

/// Memory of the packets and flow tables, allocated on the heap.
#[derive(Debug)]
pub enum Heap {}

impl redpoll_base::Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

/// Returns an engine with room for `flows` flows and `packets` packets. A number identifies each
/// packet.
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
    // Signals are watched first, so that none ends the program abruptly while the queue is open.
    let signals = Signals::watch_stop().map_err(|e| failed(&e))?;
    let rights = Rights::of(&args.rights)?;
    let file = ConfigFile::of(&args.config);
    let settings = Settings::read(&args.options, &file)?;
    if args.check_config {
        let text = format!("{}: no errors\n", file.path().display());
        return output::print(&text).map_err(|e| failed(&e));
    }
    log::begin(settings.log_level);
    let json = match &settings.json {
        None => None,
        Some(path) => Some(rights.files(|| {
            let file = Reports::create(path);
            file.map_err(|e| failed(&format!("cannot write {}: {e}", path.display())))
        })?),
    };
    let metrics = match settings.metrics {
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
    let secret = [secret as u32, (secret >> 32) as u32];
    let begin = move |settings: &Settings| {
        let queue = NfQueue::open(settings.queue, settings.margin).map_err(io::Error::other)?;
        let engine = engine(settings.params(), secret, settings.flows, settings.packets);
        Ok((queue, engine))
    };
    let reload = Reload {
        options: args.options.clone(),
        file: file.clone(),
        ends_on_hangup: io::stderr().is_terminal(),
    };
    let supervisor = Supervisor::of_environment();
    let queue = settings.queue;
    let daemon = Daemon::new(Box::new(begin), signals, supervisor, settings, reload);
    let mut daemon = daemon.map_err(|e| failed(&e))?;
    // Rights are given up before the server's thread begins, because the thread inherits them. An
    // editor replaces the configuration file, so its folder stays readable.
    let folder = file.path().parent().unwrap_or(Path::new("/"));
    let sandbox = Sandbox::default().with_reading(folder);
    let warnings = rights.give_up(&[Keep::NetAdmin], &sandbox)?;
    if let Some(metrics) = metrics {
        daemon.answers(metrics.start().map_err(|e| failed(&e))?);
    }
    let shown = address.map_or(String::new(), |address| {
        format!(", metrics at http://{address}/metrics")
    });
    info!("reading queue {queue}{shown}; Ctrl-C ends the program");
    for line in warnings {
        warn!("{}", line.trim_start_matches("warning: "));
    }
    daemon.live(json).map_err(|e| failed(&e))
}
