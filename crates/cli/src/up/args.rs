//! The command line of `redpoll up`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use redpoll_base::Duration;
use redpoll_linux::reach::Service;

use crate::args::{ScenarioArgs, WebArgs, interval};
use crate::run::outputs::Asked;
use redpoll_program::log::LogLevel;
use redpoll_program::rights::RightsArgs;

/// Run a scenario in real time and connect it to this computer through its border router.
///
/// The mesh appears behind a TUN interface, with the scenario's prefix. If the user may not
/// create that interface, the mesh is connected inside its own network namespace, where the
/// kernel allows this (use --shell, or give a COMMAND). If the kernel does not allow it, only
/// single ports are forwarded to the mesh (--forward). Ctrl-C ends the program and removes
/// everything that the program created.
///
/// When the mesh is up, the program drops its capabilities and restricts itself to the files it
/// still needs. If root starts it with --user, it becomes that user. From then on it cannot start
/// programs, except the program of a --radio URL with forkpty.
///
/// A COMMAND runs next to the mesh, as the --user if one is given. When the COMMAND ends, the mesh
/// ends too, and the program returns the COMMAND's exit code. The COMMAND's environment contains
/// REDPOLL_JOINED (tun, namespace or forward), REDPOLL_HOST (this computer's address) and
/// REDPOLL_FORWARDS.
///
/// Exit code: 0 after Ctrl-C, 1 when the mesh cannot be connected, a file cannot be written or the
/// oracle found a violation, 2 when the scenario or an option cannot be used.
#[derive(Debug, Args)]
pub struct UpArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,

    /// Read the scenario and options from this file, such as /etc/redpoll/border.toml; its keys are
    /// names of options, and options of the command line override them. With --radio and without a
    /// terminal, SIGHUP reads the file again: `expose` and `log_level` apply at once, other keys
    /// need a restart
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Check the file of --config, the options and the scenario, and end
    #[arg(long, requires = "config")]
    pub check_config: bool,

    /// Least severe level of the messages on standard error, with --radio [default: info]
    #[arg(long, value_enum, requires = "radio")]
    pub log_level: Option<LogLevel>,

    /// Forward connections from a port of this computer to a port of a node, such as
    /// 8080:leaf-12:80; needs no privilege. May be repeated
    #[arg(long, value_name = "PORT:NODE:PORT")]
    pub forward: Vec<String>,

    /// Let the nodes reach a service outside the mesh: PORT (at any address), ADDRESS, or
    /// ADDRESS:PORT with an IPv6 address in brackets, each optionally after tcp: or udp:; or the
    /// word any. Without this option the nodes reach only the destinations of the scenario's
    /// applications, and may answer packets from outside. May be repeated
    #[arg(long, value_name = "SERVICE")]
    pub expose: Vec<Service>,

    /// Open a shell in a network namespace that is connected to the mesh; needs no privilege
    /// where the kernel allows this
    #[arg(long, conflicts_with_all = ["command", "demo"])]
    pub shell: bool,

    /// How to connect the mesh to this computer
    #[arg(long, value_enum, default_value_t = Join::Auto)]
    pub join: Join,

    /// Name of the TUN interface, up to 15 characters; %d becomes the first free number
    #[arg(long, value_name = "NAME", default_value = "redpoll%d",
          value_parser = interface_name)]
    pub name: String,

    /// The mesh's prefix; short for --set border.prefix=PREFIX/64. Each mesh on this computer
    /// needs a different prefix. Unless border.host is set, this computer's address on the mesh's
    /// link is derived from the prefix
    #[arg(long, value_name = "PREFIX/64")]
    pub prefix: Option<String>,

    /// Advertise the route to the mesh on this interface's link, in router advertisements (RFC
    /// 4191) that contain only this route; needs root or CAP_NET_RAW, and a TUN interface
    #[arg(long, value_name = "INTERFACE", conflicts_with = "shell")]
    pub advertise: Option<String>,

    /// Be the border router of a real mesh, with this radio: a USB stick with OpenThread's RCP
    /// firmware (spinel+hdlc+uart:///dev/ttyACM0), a program that speaks the same protocol
    /// (spinel+hdlc+forkpty:///path/to/ot-rcp?forkpty-arg=1), or frames in UDP datagrams
    /// (zep://HOST:PORT). Only the border router of the scenario runs. Needs --set routing=rpl
    #[arg(long, value_name = "URL",
          conflicts_with_all = ["shell", "demo", "command", "pcap", "json", "verbose", "taim", "web", "advertise",
                                "series", "record", "result"])]
    pub radio: Option<String>,

    /// The IEEE 802.15.4 channel of --radio
    #[arg(long, value_name = "11..26", default_value_t = 26, requires = "radio",
          value_parser = clap::value_parser!(u8).range(11..=26))]
    pub channel: u8,

    /// File that keeps the frame counter of the border router of --radio; required with
    /// security.level. Use one file for each security key: reusing a counter exposes the encrypted
    /// data
    #[arg(long, value_name = "FILE", requires = "radio")]
    pub state: Option<PathBuf>,

    /// Let the border router schedule packets so that TCP flows get fair shares (TAiM); short for
    /// --set border.taim=true
    #[arg(long)]
    pub taim: bool,

    #[command(flatten)]
    pub web: WebArgs,

    /// Show the mesh in this terminal: nodes with parents, radio and queues, TCP connections, and
    /// a log. Keys switch nodes off and on, drop frames, and start transfers
    #[arg(long, conflicts_with_all = ["command", "shell", "demo", "verbose", "radio"])]
    pub tui: bool,

    /// Write every frame on the air to this pcapng file; - is standard output, allowed if no
    /// program runs next to the mesh
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,

    /// Write the result as one JSON object to this file when the mesh ends; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a table of flows and nodes over time to this file, like --series of `redpoll run`
    #[arg(long, value_name = "FILE")]
    pub series: Option<PathBuf>,

    /// Time between two rows of --series
    #[arg(long, value_name = "T", default_value = "1 s", value_parser = interval)]
    pub series_interval: Duration,

    /// Write a recording to this file, for `redpoll view`
    #[arg(long, value_name = "FILE", conflicts_with = "web")]
    pub record: Option<PathBuf>,

    /// Write all files of the result to this new folder, like --result of `redpoll run`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["web", "record"])]
    pub result: Option<PathBuf>,

    /// Write a line for each node to this file, in the format of /etc/hosts, so that programs can
    /// reach leaf-12 as leaf-12.redpoll; - is standard output
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,

    #[command(flatten)]
    pub rights: RightsArgs,

    /// Print a line for each frame on the air, as `redpoll dissect` does, between the lines about
    /// connections
    #[arg(short, long, conflicts_with_all = ["command", "shell", "demo"])]
    pub verbose: bool,

    /// Run the demonstration and end: ping, curl, an upload, MQTT. With --web the mesh stays up
    /// until Ctrl-C
    #[arg(long, conflicts_with = "command")]
    pub demo: bool,

    /// Run the steps of the demonstration. `up --demo` starts a second process with this option
    #[arg(long, hide = true)]
    pub demo_steps: bool,

    /// Program to run next to the mesh
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// How to connect the mesh to this computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Join {
    /// The first of tun, namespace and forward that works on this computer
    Auto,
    /// TUN interface of this computer; needs root or CAP_NET_ADMIN
    Tun,
    /// TUN interface inside the mesh's own network namespace
    Namespace,
    /// No interface: only forwarded ports of this computer lead into the mesh
    Forward,
}

/// Checks the name of an interface by the rules of Linux; `%d` is allowed and becomes the first
/// free number. `all` and `default` are not: they have special meanings in `net.ipv6.conf`.
fn interface_name(text: &str) -> Result<String, String> {
    const ALLOWED: &str = "allowed: 1 to 15 printable ASCII characters without spaces, / and :, \
        not \".\", \"..\", \"all\" or \"default\"; % only as one %d, which becomes a number";
    const LONGEST: usize = 15;
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'/' && byte != b':');
    let reserved = [".", "..", "all", "default"].contains(&text);
    let one_number = match text.split_once('%') {
        Some((_, rest)) => rest.starts_with('d') && !rest.contains('%'),
        None => true,
    };
    if plain && !reserved && one_number && (1..=LONGEST).contains(&text.len()) {
        Ok(text.to_owned())
    } else {
        Err(ALLOWED.to_owned())
    }
}

impl UpArgs {
    /// Refuses combinations of options that clap's rules cannot express. Returns what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let join = match self.join {
            Join::Tun => "tun",
            Join::Forward => "forward",
            Join::Auto | Join::Namespace => return Ok(()),
        };
        if self.shell {
            return Err(format!(
                "--shell opens a shell in a network namespace, and --join {join} creates none; \
                 allowed with --shell: --join auto, --join namespace"
            ));
        }
        Ok(())
    }

    /// Returns the overrides of the scenario, in the order in which they apply.
    pub fn overrides(&self) -> Vec<(String, String)> {
        let mut overrides = self.scenario.overrides();
        if let Some(prefix) = &self.prefix {
            overrides.push(("border.prefix".to_owned(), prefix.clone()));
        }
        if self.taim {
            overrides.push(("border.taim".to_owned(), "true".to_owned()));
        }
        overrides
    }

    pub fn files(&self) -> Asked<'_> {
        Asked {
            folder: self.result.as_deref(),
            json: self.json.as_deref(),
            pcap: self.pcap.as_deref(),
            record: self.record.as_deref(),
            series: self.series.as_deref(),
            interval: self.series_interval,
            log: None,
            in_place: true,
        }
    }

    pub fn is_alone(&self) -> bool {
        !self.shell && !self.demo && self.command.is_empty()
    }
}
