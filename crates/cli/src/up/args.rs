//! The command line of `redpoll up`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use redpoll_base::Duration;
use redpoll_linux::reach::Service;

use crate::args::{ScenarioArgs, WebArgs, interval};
use crate::rights::RightsArgs;
use crate::run::outputs::Asked;

/// Live a scenario in real time, joined to this computer by its border router.
///
/// The mesh appears behind a TUN interface, with the scenario's prefix. Without
/// the privilege for that it is joined inside a network namespace of its own,
/// where the kernel allows that (use --shell, or give a COMMAND), or single
/// ports are forwarded into it (--forward). Ctrl-C ends it and leaves nothing
/// behind.
///
/// Once it is up, the program drops its capabilities, can open only files that it
/// still needs, and as root becomes the --user. It does not stay able to start programs.
///
/// With a COMMAND, that is run beside the mesh, which ends with it and with its
/// exit code; as the --user, if there is one. It finds in its environment: REDPOLL_JOINED (tun, namespace or
/// forward), REDPOLL_HOST (this computer's address), REDPOLL_FORWARDS.
///
/// Exit code: 0 after Ctrl-C, 1 when the mesh cannot be joined or a file cannot
/// be written, 2 when the scenario or an option cannot be used.
#[derive(Debug, Args)]
pub struct UpArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,

    /// Carry connections to a port of this computer to a node's port, such as
    /// 8080:leaf-12:80; needs no privilege. May be repeated
    #[arg(long, value_name = "PORT:NODE:PORT")]
    pub forward: Vec<String>,

    /// Let the nodes reach a service outside the mesh: PORT of any address, ADDRESS,
    /// or ADDRESS:PORT with an IPv6 address in brackets, each after tcp: or udp:, or any. Without it they reach what the
    /// scenario's applications name, and answer what comes from outside. May be repeated
    #[arg(long, value_name = "SERVICE")]
    pub expose: Vec<Service>,

    /// Open a shell in a network namespace that the mesh is joined to; needs no
    /// privilege where the kernel allows that
    #[arg(long, conflicts_with_all = ["command", "demo"])]
    pub shell: bool,

    /// How to join the mesh to this computer
    #[arg(long, value_enum, default_value_t = Join::Auto)]
    pub join: Join,

    /// Name of the TUN interface, up to 15 characters; %d stands for the
    /// first free number
    #[arg(long, value_name = "NAME", default_value = "redpoll%d",
          value_parser = interface_name)]
    pub name: String,

    /// The mesh's prefix; short for --set border.prefix=PREFIX/64. A second mesh
    /// on this computer needs one of its own; this computer's address beside it
    /// is made of the prefix, if border.host does not say another
    #[arg(long, value_name = "PREFIX/64")]
    pub prefix: Option<String>,

    /// Tell the computers on this interface's link the way to the mesh, by router
    /// advertisements with a route (RFC 4191) and nothing else; needs root or
    /// CAP_NET_RAW, and a TUN interface
    #[arg(long, value_name = "INTERFACE", conflicts_with = "shell")]
    pub advertise: Option<String>,

    /// Be the border router of a mesh that is in the air, with this radio: a stick with
    /// OpenThread's RCP firmware (spinel+hdlc+uart:///dev/ttyACM0), such a program
    /// (spinel+hdlc+forkpty:///path/to/ot-rcp?forkpty-arg=1), or frames in UDP datagrams
    /// (zep://HOST:PORT). Of the scenario only the border router lives; it wants
    /// --set routing=rpl
    #[arg(long, value_name = "URL",
          conflicts_with_all = ["shell", "demo", "command", "pcap", "json", "verbose", "taim", "web", "advertise",
                                "series", "record", "result"])]
    pub radio: Option<String>,

    /// The IEEE 802.15.4 channel of --radio
    #[arg(long, value_name = "11..26", default_value_t = 26, requires = "radio",
          value_parser = clap::value_parser!(u8).range(11..=26))]
    pub channel: u8,

    /// Where the border router of --radio keeps its frame counter; needed with
    /// security.level. One file for each key: a counter that is used twice gives what is
    /// encrypted away
    #[arg(long, value_name = "FILE", requires = "radio")]
    pub state: Option<PathBuf>,

    /// Let the border router forward so that TCP flows get fair shares (TAiM); short for
    /// --set border.taim=true
    #[arg(long)]
    pub taim: bool,

    #[command(flatten)]
    pub web: WebArgs,

    /// Show the mesh in this terminal: nodes with parents, radio and queues, TCP connections, a
    /// log; keys switch nodes off and on, lose frames, start transfers
    #[arg(long, conflicts_with_all = ["command", "shell", "demo", "verbose", "radio"])]
    pub tui: bool,

    /// Write every frame on the air to this pcapng file; - is standard output,
    /// if nothing runs beside the mesh
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,

    /// Write the result as one JSON object to this file when the mesh ends; -
    /// is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write how flows and nodes fare over time to this file, as of `redpoll run --series`
    #[arg(long, value_name = "FILE")]
    pub series: Option<PathBuf>,

    /// How far apart the rows of --series are
    #[arg(long, value_name = "T", default_value = "1 s", value_parser = interval)]
    pub series_interval: Duration,

    /// Write what happens to this file, for `redpoll view`
    #[arg(long, value_name = "FILE", conflicts_with = "web")]
    pub record: Option<PathBuf>,

    /// Write all there is to this new folder, as of `redpoll run --result`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["web", "record"])]
    pub result: Option<PathBuf>,

    /// Write a line for each node, as /etc/hosts has them, to this file, so that
    /// leaf-12 can be called leaf-12.redpoll; - is standard output
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,

    #[command(flatten)]
    pub rights: RightsArgs,

    /// Write a line for each frame on the air, as `redpoll dissect` does, between
    /// those about connections
    #[arg(short, long, conflicts_with_all = ["command", "shell", "demo"])]
    pub verbose: bool,

    /// Walk through the demonstration and end: ping, curl, an upload, MQTT. With --web the mesh
    /// stays until Ctrl-C
    #[arg(long, conflicts_with = "command")]
    pub demo: bool,

    /// The steps themselves, for the program that runs beside the mesh
    #[arg(long, hide = true)]
    pub demo_steps: bool,

    /// A program to run beside the mesh
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// How to join the mesh to this computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Join {
    /// The first of the others that is possible here
    Auto,
    /// A TUN interface of this computer; needs root or CAP_NET_ADMIN
    Tun,
    /// A TUN interface inside a network namespace of its own
    Namespace,
    /// Forwarded ports only
    Forward,
}

/// What Linux allows as the name of an interface; `%d` becomes the first free
/// number. `all` and `default` mean others in `net.ipv6.conf`.
fn interface_name(text: &str) -> Result<String, String> {
    const ALLOWED: &str = "allowed: 1 to 15 printable ASCII characters without spaces, / and :, not \".\", \"..\", \"all\" or \"default\"; % only in one %d, which stands for a number";
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
    /// Refuses what cannot be had together, beyond what clap's rules can say.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let join = match self.join {
            Join::Tun => "tun",
            Join::Forward => "forward",
            Join::Auto | Join::Namespace => return Ok(()),
        };
        if self.shell {
            return Err(format!(
                "--shell opens a shell in a network namespace, which --join {join} does not make; allowed with --shell: --join auto, --join namespace"
            ));
        }
        Ok(())
    }

    /// The overrides of the scenario, in the order in which they apply.
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

    /// The files that are asked for.
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

    /// Whether nothing runs beside the mesh.
    pub fn is_alone(&self) -> bool {
        !self.shell && !self.demo && self.command.is_empty()
    }
}
