//! Nodes, links and apps, which are the same for all transports.
//!
//! The nodes form a line in which only neighbours hear each other, a ring with two paths, or a
//! grid. Node 1 sends to the last node, and in the grid to all others. OpenThread's settings are
//! its defaults.
//!
//! In trial runs, windows of four segments of 1,200 bytes and acknowledgements delayed by up to 450
//! ms were the best of twelve settings for Redpoll.

use redpoll_experiments::{Case, Scene};

pub const IMAGE: u64 = 386_000;
/// Start of the transfer in seconds; the nodes have attached by then.
pub const BEGIN_S: u64 = 300;
/// End of a run in seconds, if the transfer does not end before.
const END_S: u64 = 5_400;

/// File of OpenThread as a module, which `make thread` builds; `redpoll study --module` names
/// another one.
const MODULE: &str = "target/thread/openthread.so";

/// The kind of the line's last node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaf {
    /// A full Thread device: a router, or able to become one.
    Ftd,
    /// An end device whose receiver is on.
    Med,
    /// A sleepy end device.
    Sed,
}

impl Leaf {
    const fn name(self) -> &'static str {
        match self {
            Leaf::Ftd => "ftd",
            Leaf::Med => "med",
            Leaf::Sed => "sed",
        }
    }

    const fn keys(self) -> &'static str {
        match self {
            Leaf::Ftd => "",
            Leaf::Med => "role = \"leaf\"\n",
            Leaf::Sed => "role = \"leaf\"\nsleepy = true\n",
        }
    }
}

/// Returns the name of the last node of a line with this number of hops.
pub fn leaf_name(hops: u32) -> String {
    format!("node-{}", hops + 1)
}

fn text(hops: u32, leaf: Leaf) -> String {
    let nodes = hops + 1;
    let topology = format!(
        r#"[topology]
kind = "line"
nodes = {nodes}
spacing = "40 m"

[medium]
transmission_range = "50 m"
"#
    );
    let mut text = head(&topology, &leaf_name(hops));
    for node in 1..=nodes {
        let keys = match node {
            1 => pings(nodes),
            _ if node == nodes => leaf.keys().to_owned(),
            _ => String::new(),
        };
        text += &format!("\n[nodes.node-{node}]\nkind = \"openthread\"\n{keys}");
    }
    text
}

/// Returns the console key with which node 1 resolves the address of node `to` before the transfer,
/// which may take half a minute if a query is lost.
fn pings(to: u32) -> String {
    format!("console = [\"200 s: ping fd72:6564:7468::{to} 8 4 20\"]\n")
}

/// Returns the keys of the run, the topology, the module and the transfer to the node `last`.
fn head(topology: &str, last: &str) -> String {
    format!(
        r#"{}
[apps.sink]
type = "bulk-sink"
on = "{last}"
port = 5683

[apps.image]
type = "bulk-sender"
on = "node-1"
to = "{last}:5683"
total = "{IMAGE} B"
start = "{BEGIN_S} s"
"#,
        run(topology, END_S)
    )
}

/// Returns the keys of a run of `end_s` seconds, the topology and the module.
fn run(topology: &str, end_s: u64) -> String {
    format!(
        r#"duration = "{end_s} s"

{topology}
[thread]
module = "{MODULE}"
"#
    )
}

/// Number of nodes of the ring.
pub const RING: u32 = 5;

/// Returns a ring of five full Thread devices. Node 1 sends to the last node over node 2, in two
/// hops. The other path has three hops, over nodes 3 and 4. Node 2 is off from `OFF_S` on.
///
/// The other nodes start Thread 20 s after node 1, so that node 1 is the leader in all runs.
fn ring() -> String {
    let links = [(1, 2), (2, 5), (1, 3), (3, 4), (4, 5)];
    let links = links.map(|(one, other)| format!("\"node-{one} <-> node-{other}\""));
    let topology = format!(
        "[topology]\nkind = \"links\"\nlinks = [{}]\n",
        links.join(", ")
    );
    let mut text = head(&topology, &leaf_name(RING - 1));
    text += &format!(
        "\n[faults.router]\ntype = \"node-off\"\nnode = \"node-2\"\nfrom = \"{OFF_S} s\"\n"
    );
    for node in 1..=RING {
        let keys = match node {
            1 => pings(RING),
            _ => LATER.to_owned(),
        };
        text += &format!("\n[nodes.node-{node}]\nkind = \"openthread\"\n{keys}");
    }
    text
}

/// Console of a node that starts Thread after the leader.
const LATER: &str = "console = [\"1 ms: thread stop\", \"20 s: thread start\"]\n";
/// Time in seconds at which the router of the ring's shorter path is switched off.
const OFF_S: u64 = 340;

/// Returns the transfer of the image in the ring, with `lost` percent of all frames lost.
pub fn in_ring(by: By, lost: u32) -> Case {
    let scene = Scene {
        name: "thread-router-lost".into(),
        text: ring(),
    };
    with_loss(by.of(Case::new(scene)), lost)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    Tcplp,
    TcplpBest,
    RedpollEqual,
    Redpoll,
    Coap,
}

impl By {
    pub const ALL: [By; 5] = [
        By::Tcplp,
        By::TcplpBest,
        By::RedpollEqual,
        By::Redpoll,
        By::Coap,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            By::Tcplp => "TCPlp as shipped",
            By::TcplpBest => "TCPlp, best settings",
            By::RedpollEqual => "Redpoll, TCPlp's sizes",
            By::Redpoll => "Redpoll",
            By::Coap => "CoAP",
        }
    }

    /// Sets the poll period of sleepy leaves, unless the series has its own.
    fn polls(self, case: Case, poll_ms: u32) -> Case {
        let poll_ms = match self {
            By::TcplpBest => FAST_POLL_MS,
            _ => poll_ms,
        };
        case.set("thread.poll_period", format!("{poll_ms} ms"))
    }

    fn of(self, case: Case) -> Case {
        let buffers = |case: Case, bytes: u32| {
            let bytes = format!("{bytes} B");
            case.set("tcp.send_buffer", &bytes)
                .set("tcp.receive_buffer", &bytes)
        };
        match self {
            By::Tcplp => buffers(case, 2_309).set("thread.tcp", "tcplp"),
            By::TcplpBest => buffers(case, 3_695).set("thread.tcp", "tcplp"),
            By::RedpollEqual => buffers(case, 2_309).set("thread.tcp", "redpoll"),
            By::Redpoll => buffers(case, 4_752)
                .set("tcp.mss", "1200 B")
                .set("tcp.delayed_ack", "450 ms")
                .set("thread.tcp", "redpoll"),
            By::Coap => case.set("thread.tcp", "coap"),
        }
    }
}

/// A transfer of the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    pub by: By,
    pub hops: u32,
    pub leaf: Leaf,
    /// Poll period of a sleepy leaf in milliseconds.
    pub poll_ms: u32,
    /// Percent of frames that are lost.
    pub lost: u32,
}

/// Poll period of a sleepy leaf with TCPlp's best settings.
const FAST_POLL_MS: u32 = 100;

impl Transfer {
    pub fn case(self) -> Case {
        let scene = Scene {
            name: format!("thread-{}-{}", self.hops, self.leaf.name()).into(),
            text: text(self.hops, self.leaf),
        };
        let mut case = self.by.of(Case::new(scene));
        if self.leaf == Leaf::Sed {
            case = self.by.polls(case, self.poll_ms);
        }
        with_loss(case, self.lost)
    }
}

/// Devices that receive an image at the same time, by their numbers in a grid of nine nodes. Node 1
/// in a corner sends; it hears nodes 2, 4 and 5.
pub const FLEET: std::ops::RangeInclusive<u32> = 2..=9;
/// Bytes for each device of the fleet.
pub const FLEET_BYTES: u64 = 100_000;
/// Devices of the fleet that are end devices; the others are full Thread devices.
const FLEET_ENDS: [u32; 4] = [3, 6, 7, 9];
/// End of a run of the fleet in seconds.
const FLEET_END_S: u64 = 2_100;

/// Returns the name of the flow to device `node` of the fleet.
pub fn fleet_flow(node: u32) -> String {
    format!("image-{node}")
}

fn fleet() -> String {
    let topology = r#"[topology]
kind = "grid"
columns = 3
rows = 3
spacing = "30 m"

[medium]
transmission_range = "50 m"
"#;
    let devices: Vec<String> = FLEET.map(|node| format!("\"node-{node}\"")).collect();
    let mut text = run(topology, FLEET_END_S);
    text += &format!(
        "\n[apps.sink]\ntype = \"bulk-sink\"\non = [{}]\nport = 5683\n",
        devices.join(", ")
    );
    for node in FLEET {
        text += &format!(
            "\n[apps.{}]\ntype = \"bulk-sender\"\non = \"node-1\"\nto = \"node-{node}:5683\"\n\
             total = \"{FLEET_BYTES} B\"\nstart = \"{BEGIN_S} s\"\n",
            fleet_flow(node)
        );
    }
    // Node 1 resolves all addresses before the transfers, twice because a query may be lost.
    let rounds = [200, 250].into_iter();
    let pings = rounds.flat_map(|from| {
        FLEET.map(move |node| {
            let at = from + 5 * u64::from(node);
            format!("\"{at} s: ping fd72:6564:7468::{node} 8 1 1\"")
        })
    });
    let pings: Vec<String> = pings.collect();
    let pings = format!("console = [{}]\n", pings.join(", "));
    text += &format!("\n[nodes.node-1]\nkind = \"openthread\"\n{pings}");
    for node in FLEET {
        let role = if FLEET_ENDS.contains(&node) {
            Leaf::Med.keys()
        } else {
            Leaf::Ftd.keys()
        };
        text += &format!("\n[nodes.node-{node}]\nkind = \"openthread\"\n{LATER}{role}");
    }
    text
}

/// Returns the transfers to all devices of the fleet, with `lost` percent of all frames lost.
pub fn of_fleet(by: By, lost: u32) -> Case {
    let scene = Scene {
        name: "thread-fleet".into(),
        text: fleet(),
    };
    with_loss(by.of(Case::new(scene)), lost)
}

/// Bytes of a command to a lock.
pub const COMMAND: u64 = 50;
/// Number of measured commands.
pub const COMMANDS: u64 = 100;
/// Beginning and end in seconds of the time without commands, in which the connection is open.
pub const IDLE_S: (u64, u64) = (330, 930);
const FIRST_COMMAND_MS: u64 = 1_000_000;
const LOCK_END_S: u64 = 2_600;

/// Returns the time at which the application writes the measured command `index`, in milliseconds.
/// The pauses between commands are 11.8 or 16.8 s, so that commands come at all phases of the
/// polls.
pub fn command_ms(index: u64) -> u64 {
    FIRST_COMMAND_MS + 15_000 * index + 1_789 * index % 5_000
}

/// Number of nodes in the line to the lock, which has two hops.
const LOCK_NODES: u32 = 3;

/// Returns the line in which node 1 sends commands to the last node, a sleepy lock. A connection
/// stays open if `is_held`.
fn lock(is_held: bool) -> String {
    let topology = format!(
        r#"[topology]
kind = "line"
nodes = {LOCK_NODES}
spacing = "40 m"

[medium]
transmission_range = "50 m"
"#
    );
    let last = leaf_name(LOCK_NODES - 1);
    let mut text = run(&topology, LOCK_END_S);
    text += &format!(
        r#"
[apps.sink]
type = "bulk-sink"
on = "{last}"
port = 5683

[apps.image]
type = "bulk-sender"
on = "node-1"
to = "{last}:5683"
total = "{COMMAND} B"
start = "{BEGIN_S} s"
"#
    );
    let mut lines = vec![format!("200 s: ping fd72:6564:7468::{LOCK_NODES} 8 4 20")];
    lines.extend(is_held.then(|| "299 s: bulk hold".to_owned()));
    lines.extend((0..COMMANDS).map(|at| format!("{} ms: bulk more {COMMAND}", command_ms(at))));
    text += &format!("\n[nodes.node-1]\nkind = \"openthread\"\nconsole = {lines:?}\n");
    text += "\n[nodes.node-2]\nkind = \"openthread\"\n";
    text += &format!(
        "\n[nodes.{last}]\nkind = \"openthread\"\nconsole = [\"299 s: bulk log\"]\n{}",
        Leaf::Sed.keys()
    );
    text
}

/// Returns the commands to a sleepy lock that polls every `poll_ms` milliseconds, with `lost`
/// percent of all frames lost.
pub fn to_lock(by: By, poll_ms: u32, lost: u32) -> Case {
    let (name, is_held) = match by {
        By::Coap => ("thread-lock-coap", false),
        _ => ("thread-lock", true),
    };
    let scene = Scene {
        name: name.into(),
        text: lock(is_held),
    };
    with_loss(by.polls(by.of(Case::new(scene)), poll_ms), lost)
}

/// Returns the name of the lock.
pub fn lock_name() -> String {
    leaf_name(LOCK_NODES - 1)
}

/// Loses `lost` percent of all frames in addition to those that collide.
fn with_loss(case: Case, lost: u32) -> Case {
    match lost {
        0 => case,
        _ => case
            .set("faults.loss.type", "drop-frames")
            .set("faults.loss.share", format!("{lost} %")),
    }
}
