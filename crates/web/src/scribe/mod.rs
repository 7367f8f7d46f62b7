//! Turns the recorded events of a world into messages.
//!
//! - [`scene`]: values that do not change, and values that change rarely;
//! - [`flows`]: the segments of each TCP connection, found in the frames that their senders send
//!   and in the packets of the host.

mod flows;
mod scene;

use std::collections::BTreeMap;

use redpoll_base::Addr;
use redpoll_sim::live::{Addressee, Changes, Frame, NodeSample, Sample};
use redpoll_sim::live::{FrameClass, Outcome};
use redpoll_sim::{RadioState, World};
use redpoll_wire::sixlowpan::Contexts;

use crate::layers::{Opened, words};
use crate::message::{self, FrameRow, FromServer, Hello, Mode, Nodes, Scene};
use flows::Flows;

/// Turns the recorded events of a world into messages.
#[derive(Debug)]
pub struct Scribe {
    hello: Hello,
    scene: Scene,
    contexts: Contexts,
    nodes: Nodes,
    /// Time at which the nodes' figures were last written, and each node's sleep time by then.
    figures: (u64, Vec<f64>),
    flows: Flows,
    /// Sequence number of the frame that each node has sent last.
    dsn: Vec<Option<u8>>,
    now: u64,
}

/// Returns the time of a node's radio asleep, in seconds.
fn asleep_s(node: &NodeSample) -> f64 {
    node.spent(RadioState::Sleep).as_micros() as f64 / 1e6
}

impl Scribe {
    pub fn new(world: &World, mode: Mode) -> Scribe {
        let scenario = world.scenario();
        let addresses: BTreeMap<Addr, u32> = (0..scenario.nodes.len())
            .filter_map(|index| Some((scenario.address(index)?, index as u32)))
            .collect();
        let names = scenario
            .nodes
            .iter()
            .map(|node| node.name.clone())
            .collect();
        let mut scribe = Scribe {
            hello: scene::hello(scenario, mode),
            scene: scene::of(world),
            contexts: Contexts::with_prefix(scenario.border.prefix),
            nodes: Nodes::default(),
            figures: (0, Vec::new()),
            flows: Flows::new(addresses, names, scenario.border.host),
            dsn: vec![None; scenario.nodes.len()],
            now: 0,
        };
        let sample = world.live_sample();
        let messages = sample.air_times.iter();
        scribe.hello.messages = messages.map(|(name, _)| (*name).to_owned()).collect();
        scribe.read(&sample);
        scribe
    }

    /// Returns the first message for a page.
    pub fn hello(&self) -> String {
        FromServer::Hello(&self.hello).to_string()
    }

    /// Returns the pairs of nodes that hear and disturb one another, as a message.
    pub fn scene(&self) -> String {
        FromServer::Scene(&self.scene).to_string()
    }

    /// Replaces the scene after a change.
    pub fn set_scene(&mut self, scene: Scene) {
        self.scene = scene;
    }

    /// Returns the pairs of nodes of `world` that hear and disturb one another.
    pub fn scene_of(world: &World) -> Scene {
        scene::of(world)
    }

    /// Returns the present state of nodes and connections.
    pub fn state(&self) -> String {
        FromServer::State(message::State {
            t: self.now,
            nodes: &self.nodes,
            flows: self.flows.since(0),
            ends: self.flows.ends().collect(),
        })
        .to_string()
    }

    /// Returns the message with the changes, and with the nodes' figures if `figures`. `wall_ms` is
    /// the real time of the message in milliseconds since 1970; `None` except in `redpoll up`.
    pub fn changes(
        &mut self,
        changes: &Changes,
        sample: &Sample,
        figures: bool,
        wall_ms: Option<f64>,
    ) -> String {
        let mut frames = Vec::with_capacity(changes.frames.len());
        let mut segments = Vec::new();
        let known = self.flows.next();
        let mut packets = changes.packets.iter().peekable();
        for frame in &changes.frames {
            while let Some(packet) = packets.next_if(|packet| packet.at <= frame.start) {
                segments.extend(self.flows.packet(packet));
            }
            let opened = Opened::of(&frame.mpdu, &self.contexts);
            let is_again = self.is_again(frame, opened.as_ref());
            if let Some(opened) = opened.as_ref().filter(|_| !is_again) {
                segments.extend(self.flows.frame(frame, opened));
            }
            frames.push(row(frame, opened.as_ref(), is_again));
        }
        for packet in packets {
            segments.extend(self.flows.packet(packet));
        }
        let fates = changes.fates.iter();
        let fates: Vec<_> = fates
            .map(|fate| (fate.id, fate.at, fate.outcome as u8))
            .collect();
        let ends = self.flows.sample(sample);
        let radios = self.read(sample);
        if figures {
            self.note_figures(sample);
        }
        FromServer::Changes(message::Changes {
            t: self.now,
            wall_ms,
            frames: &frames,
            fates: &fates,
            segments: &segments,
            flows: &self.flows.since(known),
            ends: &ends,
            radios: &radios,
            nodes: figures.then_some(&self.nodes),
            skipped: changes.skipped,
        })
        .to_string()
    }

    /// Returns the layers of the last of `frames`, which are hexadecimal (see
    /// [`Ask::Layers`](message::Ask)), as a JSON array; `None` if the frames are invalid.
    pub fn layers(&self, frames: &[String]) -> Option<String> {
        layers(frames, &self.contexts)
    }

    /// Returns the contexts of compressed addresses.
    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// Returns whether a frame is a link retry: it has the sequence number of its sender's previous
    /// frame.
    fn is_again(&mut self, frame: &Frame, opened: Option<&Opened<'_>>) -> bool {
        if frame.kind == FrameClass::Ack {
            return false;
        }
        let dsn = opened.and_then(|opened| opened.mac.dsn);
        let last = self.dsn.get_mut(frame.from as usize);
        last.is_some_and(|last| dsn.is_some() && std::mem::replace(last, dsn) == dsn)
    }

    /// Records the present state of the nodes; returns the radios whose state has changed.
    fn read(&mut self, sample: &Sample) -> Vec<(u32, u8)> {
        self.now = sample.at.as_micros();
        let mut radios = Vec::new();
        let is_first = self.nodes.radio.is_empty();
        if is_first {
            self.note_figures(sample);
        }
        for (index, node) in sample.nodes.iter().enumerate() {
            let radio = node.radio as u8;
            if let Some(known) = self.nodes.radio.get_mut(index)
                && std::mem::replace(known, radio) != radio
            {
                radios.push((index as u32, radio));
            }
        }
        radios
    }

    fn note_figures(&mut self, sample: &Sample) {
        let (at, slept) = &self.figures;
        let span_s = self.now.saturating_sub(*at) as f64 / 1e6;
        let all = sample.nodes.iter();
        let asleep = all.clone().enumerate().map(|(index, node)| {
            let before = slept.get(index).copied().unwrap_or(0.0);
            if span_s > 0.0 {
                ((asleep_s(node) - before) / span_s) as f32
            } else {
                0.0
            }
        });
        let asleep = asleep.collect();
        self.nodes = Nodes {
            x: all.clone().map(|node| node.position_m.0).collect(),
            y: all.clone().map(|node| node.position_m.1).collect(),
            radio: all.clone().map(|node| node.radio as u8).collect(),
            parent: all
                .clone()
                .map(|node| node.parent.map_or(-1, |parent| parent as i32))
                .collect(),
            queue: all.clone().map(|node| node.queued).collect(),
            asleep,
            duty: all.clone().map(|node| node.duty_cycle as f32).collect(),
            charge: all.clone().map(|node| node.charge_mc).collect(),
            sent: all.clone().map(|node| node.sent).collect(),
            retries: all.clone().map(|node| node.retries).collect(),
            collisions: all.clone().map(|node| node.collisions).collect(),
            air: sample
                .air_times
                .iter()
                .map(|(_, time)| time.as_micros())
                .collect(),
        };
        self.figures = (self.now, all.map(asleep_s).collect());
    }
}

/// Returns the layers of the last of `frames`, which are hexadecimal (see
/// [`Ask::Layers`](message::Ask)), as a JSON array; `None` if the frames are invalid.
pub(crate) fn layers(frames: &[String], contexts: &Contexts) -> Option<String> {
    /// Bytes of the longest IEEE 802.15.4 frame.
    const LONGEST: usize = 127;
    let frames: Option<Vec<Vec<u8>>> = frames.iter().map(|text| from_hex(text, LONGEST)).collect();
    let frames = frames?;
    let (frame, before) = frames.split_last().filter(|(_, before)| before.len() < 2)?;
    let layers = words::layers(frame, before.first().map(Vec::as_slice), contexts);
    serde_json::to_string(&layers).ok()
}

fn row(frame: &Frame, opened: Option<&Opened<'_>>, is_again: bool) -> FrameRow {
    let line = words::line(opened);
    FrameRow(
        frame.id,
        frame.start.as_micros(),
        frame.end.as_micros(),
        frame.from,
        match frame.to {
            Addressee::Node(node) => node as i32,
            Addressee::All => -1,
            Addressee::Nobody => -2,
        },
        frame.kind as u8,
        is_again,
        line.protocol,
        line.info,
        hex(&frame.mpdu),
    )
}

fn outcomes() -> Vec<String> {
    let all = (0_usize..).map_while(|number| Outcome::try_from(number).ok());
    all.map(|outcome| outcome.to_string().replace('_', " "))
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
    let both = |byte: &u8| [digit(byte >> 4), digit(*byte)];
    bytes.iter().flat_map(both).collect()
}

fn from_hex(text: &str, longest: usize) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| digit.to_digit(16).map(|value| value as u8))
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0 && digits.len() <= 2 * longest)?;
    Some(
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}
