//! The messages between server and page: one JSON object each.
//!
//! Times are whole microseconds since the run began. Nodes are indices into the list of the
//! greeting. Frequent items are arrays and not objects.

use std::fmt;

use redpoll_sim::live::Command;
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromServer<'a> {
    /// The first message about a run.
    Hello(&'a Hello),
    Scene(&'a Scene),
    /// The present state of nodes and connections; earlier frames are not available.
    State(State<'a>),
    Changes(Changes<'a>),
    Clock(Clock),
    Answer(Answer),
}

/// Formats the message as JSON.
impl fmt::Display for FromServer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Messages consist of numbers, texts and lists, so the conversion to JSON cannot fail.
        f.write_str(&serde_json::to_string(self).unwrap_or_default())
    }
}

/// The version of these messages, and of recordings of them.
pub const VERSION: u32 = 1;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Hello {
    pub version: u32,
    pub scenario: String,
    pub mode: Mode,
    /// End of the run; `None` for a mesh in real time.
    pub duration_us: Option<u64>,
    /// The mesh's prefix, of 64 bits.
    pub prefix: String,
    /// Address of the host behind the border router.
    pub host: Option<String>,
    /// Two distances in metres: up to the first, a frame is received; up to the second, it disturbs
    /// other frames. `None` if the medium has no fixed distances.
    pub ranges_m: Option<[f64; 2]>,
    /// Whether links depend on positions, so that nodes can be moved.
    pub is_movable: bool,
    pub slots: u16,
    pub nodes: Vec<NodeInfo>,
    pub outcomes: Vec<String>,
    /// Names of the types of messages, by number; empty in older recordings.
    #[serde(default)]
    pub messages: Vec<String>,
    /// Name, description and side (`host` or `air`) of each attack that a viewer can start; empty
    /// in a recording and for a mesh in real time.
    #[serde(default)]
    pub attacks: Vec<[String; 3]>,
    /// Type and receiving node of each app on the host, if the app sends on its own initiative to
    /// a node; empty for a mesh in real time and in older recordings.
    #[serde(default)]
    pub host_apps: Vec<[String; 2]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// `redpoll up`: a mesh in real time, connected to this computer.
    Up,
    Run,
    View,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NodeInfo {
    pub name: String,
    /// Border, router, leaf or attacker.
    pub role: String,
    pub sleepy: bool,
    pub address: String,
    pub apps: Vec<String>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Scene {
    /// Pairs of nodes that hear each other.
    pub links: Vec<[u32; 2]>,
    pub interferers: Vec<InterfererInfo>,
    /// Frames that are lost on purpose.
    pub losses: Vec<LossInfo>,
}

/// The state of everything that changes, at one moment.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct State<'a> {
    pub t: u64,
    pub nodes: &'a Nodes,
    pub flows: Vec<&'a FlowInfo>,
    /// The nodes' ends of the connections in `flows`.
    pub ends: Vec<&'a EndRow>,
}

/// Columns of figures, by node.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Nodes {
    /// Coordinates in metres.
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    /// 0 off, 1 asleep, 2 idle, 3 listening, 4 receiving, 5 turning around, 6 sending.
    pub radio: Vec<u8>,
    /// The next hop to the root; −1 if there is none.
    pub parent: Vec<i32>,
    /// Datagram slots in use.
    pub queue: Vec<u16>,
    /// Share of the time since the previous figures in which the radio was asleep.
    pub asleep: Vec<f32>,
    /// Share of the run in which the radio was on.
    pub duty: Vec<f32>,
    /// Charge taken, in millicoulombs.
    pub charge: Vec<f64>,
    pub sent: Vec<u32>,
    /// Retransmissions among the sent frames.
    pub retries: Vec<u32>,
    /// Frames for the node that other frames destroyed.
    pub collisions: Vec<u32>,
    /// Air time of all nodes together since the run began. This column is not by node but by the
    /// number of the message type.
    pub air: Vec<u64>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct InterfererInfo {
    pub name: String,
    /// Coordinates in metres.
    pub x: f64,
    pub y: f64,
    /// Distance in metres up to which the interferer disturbs; `None` if the medium has none.
    pub range: Option<f64>,
    /// Share of the time in which the interferer is on the air.
    pub busy: f64,
}

/// Frames that are lost on purpose.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LossInfo {
    /// Index of the sender of the lost frames; −1: any sender.
    pub from: i32,
    /// Index of the receiver at which the frames are lost; −1: any receiver.
    pub to: i32,
    pub share: f64,
}

/// A TCP connection.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowInfo {
    pub id: u32,
    /// The end that opened the flow, as far as is known.
    pub a: EndInfo,
    pub b: EndInfo,
    /// Time at which the first segment of the flow was seen.
    pub since: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EndInfo {
    /// Index of the node; −1 outside of the mesh.
    pub node: i32,
    /// Address and port, with the name of the node if the end has one.
    pub name: String,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Changes<'a> {
    /// Time up to which the message contains all changes.
    pub t: u64,
    /// Real time of `t`, in milliseconds since 1970, from which browsers compute their delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub frames: &'a [FrameRow],
    /// Outcomes of frames: number of the frame, addressee (the sender, if the frame has no
    /// addressee), and number of the outcome.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub fates: &'a [(u64, u32, u8)],
    /// Segments as their senders send them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub segments: &'a [SegmentRow],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub flows: &'a [&'a FlowInfo],
    /// States of the nodes' ends of connections that have changed.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub ends: &'a [EndRow],
    /// Radios whose state has changed: node, state.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub radios: &'a [(u32, u8)],
    /// All figures of the nodes, in some of the messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<&'a Nodes>,
    /// Number of entries that were dropped for lack of room.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A frame: number, begin, end, sender, receiver (−1 all nodes, −2 none), kind (0 unicast, 1
/// broadcast, 2 acknowledgement), whether it repeats its sender's previous frame, protocol,
/// description, and its bytes in hexadecimal.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FrameRow(
    pub u64,
    pub u64,
    pub u64,
    pub u32,
    pub i32,
    pub u8,
    pub bool,
    pub &'static str,
    pub String,
    pub String,
);

/// A segment: flow; whether the end that opened the flow sent it; time; sequence number, relative
/// to the sender's first one; acknowledgement, relative to the receiver's first sequence number;
/// length; flags; whether it is a retransmission; selectively acknowledged ranges (RFC 2018), each
/// as begin and end, relative like the acknowledgement; and the sender's receive window in bytes
/// (RFC 7323 §2.3).
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SegmentRow(
    pub u32,
    pub bool,
    pub u64,
    pub u32,
    pub u32,
    pub u32,
    pub u8,
    pub bool,
    pub Vec<u32>,
    pub u32,
);

/// An end: flow; whether it opened the flow; state; congestion window; slow start threshold (0:
/// none yet); timeout and last round-trip time in milliseconds (0: none); acknowledged bytes;
/// received bytes; bytes that the application has written and the peer has not acknowledged;
/// segments retransmitted after a timeout, and for another reason.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EndRow(
    pub u32,
    pub bool,
    pub String,
    pub u32,
    pub u32,
    pub f32,
    pub f32,
    pub u32,
    pub u32,
    pub u32,
    pub u32,
    pub u32,
);

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Clock {
    pub paused: bool,
    /// Virtual seconds in a real second; `None`: as fast as possible.
    pub speed: Option<f64>,
    pub ended: bool,
    pub settable: bool,
    /// Whether the page may move the run back in time.
    pub restartable: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Answer {
    pub id: u32,
    pub ok: bool,
    /// The completed action in words, the reason for a refusal, or the requested layers of a frame
    /// as JSON.
    pub text: String,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct FromPage {
    /// Number that the answer repeats.
    pub id: u32,
    /// Token of the run; requests without changes need none.
    #[serde(default)]
    pub token: String,
    pub ask: Ask,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Decodes the layers of the last frame of the list. Frames are in hexadecimal. If this frame
    /// is a later fragment, the first fragment of its datagram precedes it in the list.
    Layers(Vec<String>),
    Clock(ClockAsk),
    Mesh(Command),
}

#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockAsk {
    Pause,
    Resume,
    /// Advances to the next frame, and pauses.
    Step,
    /// Virtual seconds per real second; 0: as fast as possible.
    Speed(f64),
    /// Restarts the run.
    Restart,
    /// Jumps to this time, in microseconds.
    Seek(u64),
}
