//! The frame ledger: the outcome of every frame at every addressee.

use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Delivered,
    /// Other transmissions destroyed the frame at the receiver.
    Collision,
    /// The addressee is too far away, receives too weak a signal, or does not exist.
    OutOfRange,
    /// The link's success ratio or noise destroyed the frame.
    RandomLoss,
    /// The addressee was transmitting or about to transmit.
    ReceiverTransmitting,
    /// The addressee's single frame buffer held an unread frame.
    RxOverrun,
    /// The addressee's radio was asleep, or its receiver off.
    ReceiverAsleep,
    /// A fault had switched the addressee's radio off.
    ReceiverOff,
    /// A fault had switched the sender's radio off.
    SenderOff,
    /// A fault dropped the frame.
    Fault,
    /// An acknowledgment arrived at its addressee, which did not wait for it.
    Unexpected,
    /// An interferer destroyed the frame at the receiver.
    Interference,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl TryFrom<usize> for Outcome {
    type Error = ();

    /// Returns the outcome with this number, from 0.
    fn try_from(number: usize) -> Result<Outcome, ()> {
        Outcome::ALL.get(number).copied().ok_or(())
    }
}

impl Outcome {
    pub(crate) const ALL: [Outcome; 12] = [
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

    const fn is_of_sender(self) -> bool {
        matches!(self, Outcome::OutOfRange | Outcome::SenderOff)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameClass {
    Unicast,
    /// A frame for all nodes; each node within reception range is an addressee.
    Broadcast,
    Ack,
}

impl FrameClass {
    pub(crate) const ALL: [FrameClass; 3] =
        [FrameClass::Unicast, FrameClass::Broadcast, FrameClass::Ack];
}

pub type Counts = [u32; Outcome::ALL.len()];

/// The ledger: a transmission opens an entry per addressee; each is closed once with an outcome.
#[derive(Clone, Debug)]
pub struct Ledger {
    opened: [u64; FrameClass::ALL.len()],
    closed: [[u64; Outcome::ALL.len()]; FrameClass::ALL.len()],
    lost_at: Vec<Counts>,
}

impl Ledger {
    pub fn new(nodes: usize) -> Self {
        Ledger {
            opened: [0; FrameClass::ALL.len()],
            closed: [[0; Outcome::ALL.len()]; FrameClass::ALL.len()],
            lost_at: vec![[0; Outcome::ALL.len()]; nodes],
        }
    }

    pub fn open(&mut self, kind: FrameClass) {
        self.opened[kind as usize] += 1;
    }

    pub fn close(&mut self, kind: FrameClass, outcome: Outcome, from: usize, at: usize) {
        self.closed[kind as usize][outcome as usize] += 1;
        if kind != FrameClass::Ack && outcome != Outcome::Delivered {
            let blamed = if outcome.is_of_sender() { from } else { at };
            self.lost_at[blamed][outcome as usize] += 1;
        }
    }

    pub fn count(&self, kind: FrameClass, outcome: Outcome) -> u64 {
        self.closed[kind as usize][outcome as usize]
    }

    pub fn opened(&self, kind: FrameClass) -> u64 {
        self.opened[kind as usize]
    }

    pub fn outstanding(&self, kind: FrameClass) -> i64 {
        let closed: u64 = self.closed[kind as usize].iter().sum();
        self.opened[kind as usize] as i64 - closed as i64
    }

    pub fn lost_at(&self, node: usize) -> &Counts {
        &self.lost_at[node]
    }
}
