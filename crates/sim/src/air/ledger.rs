//! The frame ledger: what became of every frame at everyone it was for.

use serde::Serialize;

/// What became of a frame at one addressee.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It arrived.
    Delivered,
    /// Other transmissions destroyed it at the receiver.
    Collision,
    /// The addressee is too far away, too weakly heard, or does not exist.
    OutOfRange,
    /// The link's success ratio, or noise.
    RandomLoss,
    /// The addressee was sending or about to send.
    ReceiverTransmitting,
    /// The addressee's single frame buffer held a frame not yet read.
    RxOverrun,
    /// The addressee's radio was asleep, or its receiver off.
    ReceiverAsleep,
    /// A fault had switched the addressee's radio off.
    ReceiverOff,
    /// A fault had switched the sender's radio off.
    SenderOff,
    /// A fault took it.
    Fault,
    /// An acknowledgement for which nobody waited any more.
    Unexpected,
    /// An interferer destroyed it at the receiver.
    Interference,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Outcome {
    /// All outcomes, in the order of their numbers.
    pub const ALL: [Outcome; 12] = [
        Outcome::Delivered,
        Outcome::Collision,
        Outcome::OutOfRange,
        Outcome::RandomLoss,
        Outcome::ReceiverTransmitting,
        Outcome::RxOverrun,
        Outcome::ReceiverAsleep,
        Outcome::ReceiverOff,
        Outcome::SenderOff,
        Outcome::Fault,
        Outcome::Unexpected,
        Outcome::Interference,
    ];

    /// The name in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Outcome::Delivered => "delivered",
            Outcome::Collision => "collision",
            Outcome::OutOfRange => "out_of_range",
            Outcome::RandomLoss => "random_loss",
            Outcome::ReceiverTransmitting => "receiver_transmitting",
            Outcome::RxOverrun => "rx_overrun",
            Outcome::ReceiverAsleep => "receiver_asleep",
            Outcome::ReceiverOff => "receiver_off",
            Outcome::SenderOff => "sender_off",
            Outcome::Fault => "fault",
            Outcome::Unexpected => "unexpected",
            Outcome::Interference => "interference",
        }
    }

    /// Whether it is the sender's doing, and counted there.
    const fn is_of_sender(self) -> bool {
        matches!(self, Outcome::OutOfRange | Outcome::SenderOff)
    }
}

/// Kinds of frames, counted apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// For one node.
    Unicast,
    /// For everyone; each node within reception range is an addressee.
    Broadcast,
    /// A link acknowledgement.
    Ack,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub(crate) const ALL: [Kind; 3] = [Kind::Unicast, Kind::Broadcast, Kind::Ack];
}

/// Counters, one an outcome.
pub type Counts = [u32; Outcome::ALL.len()];

/// The ledger: an entry is opened for every addressee when a frame is sent and
/// closed, once, with an outcome.
#[derive(Clone, Debug)]
pub struct Ledger {
    opened: [u64; Kind::ALL.len()],
    closed: [[u64; Outcome::ALL.len()]; Kind::ALL.len()],
    /// Unicast and broadcast frames lost, at the node that is to blame.
    lost_at: Vec<Counts>,
}

impl Ledger {
    /// An empty ledger for so many nodes.
    pub fn new(nodes: usize) -> Self {
        Ledger {
            opened: [0; Kind::ALL.len()],
            closed: [[0; Outcome::ALL.len()]; Kind::ALL.len()],
            lost_at: vec![[0; Outcome::ALL.len()]; nodes],
        }
    }

    /// A frame was sent to one more addressee.
    pub fn open(&mut self, kind: Kind) {
        self.opened[kind as usize] += 1;
    }

    /// It ended there.
    pub fn close(&mut self, kind: Kind, outcome: Outcome, from: usize, at: usize) {
        self.closed[kind as usize][outcome as usize] += 1;
        if kind != Kind::Ack && outcome != Outcome::Delivered {
            let blamed = if outcome.is_of_sender() { from } else { at };
            self.lost_at[blamed][outcome as usize] += 1;
        }
    }

    /// How many frames of a kind ended so.
    pub fn count(&self, kind: Kind, outcome: Outcome) -> u64 {
        self.closed[kind as usize][outcome as usize]
    }

    /// Entries opened for a kind.
    pub fn opened(&self, kind: Kind) -> u64 {
        self.opened[kind as usize]
    }

    /// Entries of a kind that are not closed.
    pub fn outstanding(&self, kind: Kind) -> i64 {
        let closed: u64 = self.closed[kind as usize].iter().sum();
        self.opened[kind as usize] as i64 - closed as i64
    }

    /// Frames lost at a node, by outcome.
    pub fn lost_at(&self, node: usize) -> &Counts {
        &self.lost_at[node]
    }
}
