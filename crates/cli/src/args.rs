//! Arguments that several commands share, and those of commands that have no separate file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap_complete::Shell;
use redpoll_base::{Addr, Duration};
use redpoll_sim::BUILT_IN;

/// Print a built-in scenario, as a start for your own
///
/// Exit code: 0, or 2 when no scenario has that name.
#[derive(Debug, ClapArgs)]
pub struct ShowArgs {
    /// Name of the scenario, from `redpoll list`
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// Print a shell's completions of this program's commands and options
///
/// For bash: redpoll completions bash > ~/.local/share/bash-completion/completions/redpoll
#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// Name of the shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
}

/// Print a man page, of the program or of one of its commands
///
/// Example: redpoll man up | man -l -
#[derive(Debug, ClapArgs)]
pub struct ManArgs {
    /// Name of the command, such as taim, or taim-install for `redpoll taim install`
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,

    /// Write the pages of the program and of all its commands to this existing folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub folder: Option<PathBuf>,
}

/// Simulate a scenario in virtual time, as fast as possible, and print the result.
///
/// Exit code: 0 on success; 1 when the oracle found a violation, or a file could not be
/// written; 2 when the scenario cannot be used; 130 after Ctrl-C (the result up to
/// then is printed).
#[derive(Debug, ClapArgs)]
pub struct RunArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,

    /// Virtual time to simulate, such as "60 s"; short for --set duration=T
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub duration: Option<String>,

    /// Write every frame on the air to this pcapng file, for Wireshark, tshark or `redpoll
    /// dissect`; - is standard output, in place of the table
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,

    /// Write the result as one JSON object to this file; - is standard output, in place of the
    /// table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a table of flows and nodes over time to this file, as CSV or Parquet by its
    /// extension: goodput, windows, round-trip times, retransmissions, queues, radio, charge
    #[arg(long, value_name = "FILE", conflicts_with = "web")]
    pub series: Option<PathBuf>,

    /// Virtual time between two rows of --series
    #[arg(long, value_name = "T", default_value = "1 s", value_parser = interval)]
    pub series_interval: Duration,

    /// Write everything to this new folder: the result, its series, its frames, and a
    /// recording. The commands plot, report, compare, diff, view, why and dissect read it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["web", "record"])]
    pub result: Option<PathBuf>,

    #[command(flatten)]
    pub web: WebArgs,

    /// With --web: pause at the start until the page resumes the run
    #[arg(long, requires = "web")]
    pub paused: bool,

    /// Write the run to this file, for `redpoll view`
    #[arg(long, value_name = "FILE", conflicts_with = "web")]
    pub record: Option<PathBuf>,

    /// Write the output of nodes of the kind module to this file: seconds, node, line
    #[arg(long, value_name = "FILE")]
    pub module_log: Option<PathBuf>,
}

/// Show a finished run in a browser: its map, frames and plots, at any moment and speed.
///
/// Exit code: 0 after Ctrl-C, 1 when the file cannot be read, 2 when the file is not a recording or
/// the address cannot be used.
#[derive(Debug, ClapArgs)]
pub struct ViewArgs {
    /// A recording of `redpoll run --record FILE`, or a folder of --result DIR
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Address of this computer at which the page is served
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080",
          value_parser = web_address)]
    pub web: SocketAddr,
}

fn scenario_help() -> String {
    let names: Vec<&str> = BUILT_IN.iter().map(|built_in| built_in.name).collect();
    let names = names.join(", ");
    format!("A scenario's TOML file, or the name of a built-in one: {names}")
}

/// A scenario and changes to it.
#[derive(Debug, ClapArgs)]
pub struct ScenarioArgs {
    #[arg(value_name = "SCENARIO", help = scenario_help())]
    pub file: String,

    /// Seed of every random number: the same seed gives the same run; short for --set seed=N
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub seed: Option<String>,

    /// Override any key of the scenario by its dotted path, such as
    /// radio.model=ideal or mac.link_retry_delay="0 ms". May be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub set: Vec<(String, String)>,
}

impl ScenarioArgs {
    pub fn overrides(&self) -> Vec<(String, String)> {
        let mut overrides = self.set.clone();
        if let Some(seed) = &self.seed {
            overrides.push(("seed".to_owned(), seed.clone()));
        }
        overrides
    }
}

/// Options of the page that shows the run in a browser.
#[derive(Debug, ClapArgs)]
pub struct WebArgs {
    /// Show the mesh in a browser, at this address of this computer. The printed address
    /// contains a token, which is required to change the mesh from the page. Other
    /// computers can reach the page only if you give an address that they can reach
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1,
          default_missing_value = "127.0.0.1:8080", value_parser = web_address)]
    pub web: Option<SocketAddr>,
}

pub fn interval(text: &str) -> Result<Duration, String> {
    const DAY: Duration = Duration::from_secs(86_400);
    redpoll_sim::parse_time(text, Duration::from_millis(1), DAY)
}

fn web_address(text: &str) -> Result<SocketAddr, String> {
    let address = text.parse::<SocketAddr>();
    address.map_err(|_| {
        "allowed: ADDRESS:PORT, such as 127.0.0.1:8080; if this value is the scenario, \
         write it before --web"
            .to_owned()
    })
}

/// Run a scenario for many values of its keys.
///
/// A sweep is a TOML file with a scenario, settings of every run, and keys to vary. Each
/// combination of listed values is a point; further points are drawn at random from ranges. For
/// example:
///
/// scenario = "line-3"
///
/// seeds = 5
///
/// grid."mac.link_retry_delay" = ["0 ms", "5 ms", "40 ms"]
///
/// The sweep is checked before the first run. The result of each run is kept in a file, so the
/// same command resumes a stopped sweep, and a larger sweep runs only its new points.
///
/// Exit code: 0 when all runs are done; 1 when a run or a file failed or the oracle found a
/// violation; 2 when the sweep or the results file cannot be used; 130 after Ctrl-C (finished
/// runs are kept).
#[derive(Debug, ClapArgs)]
pub struct SweepArgs {
    /// The sweep's TOML file
    #[arg(value_name = "SWEEP.toml")]
    pub file: PathBuf,

    /// List the points without running them
    #[arg(long)]
    pub list: bool,

    /// Number of runs at the same time; by default one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub jobs: Option<u16>,

    /// File for the results of the runs; by default SWEEP.sqlite in the current folder
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,

    /// Write a table with a row for each run and flow: CSV or Parquet by its extension; - is CSV
    /// on standard output
    #[arg(long, value_name = "FILE")]
    pub flows: Option<PathBuf>,

    /// Write a table with a row for each run and node
    #[arg(long, value_name = "FILE")]
    pub nodes: Option<PathBuf>,
}

/// Reproduce a published study in the simulator, and compare it with the paper.
///
/// Prints which of the paper's claims hold, and the cause of each claim that does not hold. With
/// --rows, also prints every number with its spread over the seeds, next to the paper's number. The
/// result of each run is kept in a file, so the same command resumes a stopped study.
///
/// Exit code: 0 when all runs are done, whether or not the paper is reproduced; 1 when a run or a
/// file failed or the oracle found a violation; 2 when there is no such study or figure, or the
/// results file cannot be used; 130 after Ctrl-C (finished runs are kept).
#[derive(Debug, ClapArgs)]
pub struct StudyArgs {
    /// The study, such as kumar2020
    #[arg(value_name = "STUDY", required_unless_present = "list")]
    pub study: Option<String>,

    /// List the studies, or the figures of the study, without running them
    #[arg(long)]
    pub list: bool,

    /// Run only this figure or table, such as 5b. May be repeated
    #[arg(long = "figure", value_name = "NAME")]
    pub figures: Vec<String>,

    /// Write the scenarios of the figures to this folder, without running them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "html", "json"])]
    pub scenes: Option<PathBuf>,

    /// For kim2015: also run its figure over measured links, read from this file in the K7 format,
    /// plain or compressed with gzip
    #[arg(long, value_name = "FILE")]
    pub links: Option<PathBuf>,

    /// Radio channel whose measured links are read from the file of --links
    #[arg(long, value_name = "N", default_value_t = 26, requires = "links")]
    pub channel: u8,

    /// For the study `thread`: module of OpenThread, which `make thread` builds; by default
    /// target/thread/openthread.so in the current folder
    #[arg(long, value_name = "FILE")]
    pub module: Option<PathBuf>,

    /// Number of runs of each point, each with its own seed; some long points have fewer runs
    /// (column n)
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub seeds: u64,

    /// Number of runs at the same time; by default one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub jobs: Option<u16>,

    /// Print every row, not only the claims
    #[arg(long)]
    pub rows: bool,

    /// Print the duration of each figure's runs
    #[arg(long)]
    pub times: bool,

    /// File for the results of the runs; by default STUDY.sqlite in the current folder
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,

    /// Write the rows to this file as one array of JSON objects; - is standard output, in place
    /// of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write index.html, a page with a plot of every figure, to this folder, and the scenarios to
    /// the folder scenes in this folder
    #[arg(long, value_name = "DIR")]
    pub html: Option<PathBuf>,
}

pub fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("allowed: KEY=VALUE, such as radio.model=ideal".to_owned()),
    }
}

/// Parameters of a mesh that its capture does not contain.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Prefix {
    /// The mesh's prefix, which compressed addresses leave out (6LoWPAN context 0)
    #[arg(long, value_name = "PREFIX/64", default_value = OWN_PREFIX, value_parser = prefix)]
    pub prefix: Addr,
}

/// The prefix of a simulated mesh, unless its scenario sets another one.
const OWN_PREFIX: &str = "fd72:6564:706f:6c6c::/64";

impl Default for Prefix {
    fn default() -> Prefix {
        Prefix {
            prefix: prefix(OWN_PREFIX).unwrap_or_default(),
        }
    }
}

pub fn prefix(text: &str) -> Result<Addr, String> {
    let addr = text
        .strip_suffix("/64")
        .and_then(|addr| addr.parse::<std::net::Ipv6Addr>().ok());
    addr.map(Addr::from)
        .ok_or_else(|| "allowed: a prefix of 64 bits such as fd00::/64".to_owned())
}
