//! Methods whose receivers are mostly off: a sender repeats a frame until its neighbour wakes up,
//! or waits for the probe by which the neighbour announces that it listens.
//!
//! A [`Cycle`] decides when this node's receiver is on, which fields the method adds to frames, and
//! how a submitted frame is sent. The [`Mac`](crate::Mac) carries out the decisions.

use core::convert::Infallible;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_wire::ieee802154::Address;

use crate::FrameBuf;

/// The result of a channel assessment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// No signal.
    Clear,
    /// The radio detects energy, but receives no frame.
    Busy,
    /// The radio is receiving a frame.
    Receiving,
}

/// The result of a radio job that only an access method with a [`Cycle`] has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CycledResult {
    /// A copy of a repeated frame was acknowledged.
    Answered {
        /// The Imm-ACK's frame-pending bit.
        frame_pending: bool,
        /// Time since the start of the acknowledged copy.
        begun_ago: Duration,
    },
    /// The radio has assessed the channel.
    Assessed(Channel),
}

impl From<Infallible> for CycledResult {
    fn from(none: Infallible) -> Self {
        match none {}
    }
}

/// The next action of the MAC for the submitted frame. `W` is a job of the radio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move<W> {
    /// Wait until this time.
    Wait(Instant),
    /// Listen until this time, or until a probe arrives.
    Await(Instant),
    /// Assess the channel by this job, which ends in [`CycledResult::Assessed`].
    Assess(W),
    /// Send the frame once.
    Send {
        /// Whether the radio assesses the channel first.
        cca: bool,
    },
    /// Repeat the loaded [`CycleStatus::cargo`] by this job. It ends as a transmission does, or in
    /// [`CycledResult::Answered`].
    Repeat(W),
    /// The attempt fails as on a busy channel.
    Collision,
    /// The attempt fails for lack of an acknowledgment.
    Silence,
    /// The broadcast was sent to every neighbour that sent a probe.
    Done,
}

/// The content that the radio must have loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cargo {
    /// No frame yet.
    Nothing,
    /// The submitted frame.
    Frame,
    /// The short frame of [`Cycle::short`], in place of the whole frame.
    Short,
}

/// A task of the radio that [`Cycle::poll`] requests for this node's receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Errand<W> {
    /// Assess the channel by this job.
    Assess(W),
    /// Send a probe: the short frame of [`Cycle::short`].
    Probe,
}

/// The properties of the submitted frame by which a [`Cycle`] makes its decisions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// Destination address.
    pub dst: Address,
    /// Whether the previous frame to the same neighbour announced this one, and was acknowledged.
    pub continues: bool,
}

/// The role of a received data frame in the method of a [`Cycle`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning<'f> {
    /// Data for the upper layer.
    Data(&'f [u8]),
    /// A short frame that is repeated until this node answers.
    Strobe,
    /// The announcement of a neighbour that it listens.
    Probe,
    /// The frame does not belong to this method.
    Malformed,
}

/// The constant properties of a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleProperties {
    /// Whether the receiver is mostly off.
    pub sleeps: bool,
    /// Whether frames to a neighbour request an acknowledgment.
    pub asks_for_acks: bool,
    /// Whether a frame without an acknowledgment request may arrive repeatedly.
    pub repeats_all: bool,
    /// Bytes of the method's header before the payload of a data frame.
    pub header_len: usize,
    /// Number of neighbours for which the upper layer may hold packets; 0 for no limit.
    pub neighbour_queues: usize,
}

/// The present demands of a [`Cycle`] on the MAC and its radio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleStatus {
    /// Whether the receiver is on between jobs of the radio.
    pub listens: bool,
    /// Time of the next [`Cycle::poll`].
    pub next: Option<Instant>,
    /// Whether the frame occupies the channel, so that the receiver's cycle waits.
    pub has_channel: bool,
    /// Whether the frame waits for its receiver's probe.
    pub awaits_probe: bool,
    /// The content that the radio must have before the next step of the frame.
    pub cargo: Cargo,
}

/// An event for a [`Cycle`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CycleEvent<'f> {
    /// The assessment that the receiver's cycle requested has ended.
    Assessed(Channel),
    /// The requested probe has ended, sent or not.
    Probed,
    /// A frame for this node has arrived.
    Frame {
        /// Whether the sender of the frame has another frame.
        more: bool,
    },
    /// A strobe for this node has arrived.
    Strobe,
    /// This node has overheard a data frame for another node, with this payload.
    Overheard(&'f [u8]),
    /// A frame was submitted. [`Move::Wait`] delays its first attempt.
    Submitted(Target),
    /// The radio is free for the submitted frame. The answer is the next step; without one the
    /// frame is transmitted once, after a channel assessment.
    Ready(Target),
    /// The channel was assessed before a transmission. [`Move::Wait`] delays the next step; any
    /// other answer ends the attempt as on a busy channel.
    Sensed(Channel),
    /// A probe has arrived. Any answer ends the wait of the submitted frame.
    Probe {
        /// Address of the probe's sender.
        src: Address,
        /// The submitted frame.
        target: Target,
    },
    /// A neighbour has answered a strobe for this frame.
    StrobeAnswered(Target),
    /// A copy of a repeated frame was acknowledged.
    Answered {
        /// The submitted frame.
        target: Target,
        /// Time since the start of the acknowledged copy.
        begun_ago: Duration,
    },
    /// A frame that was not repeated was acknowledged.
    Acked(Target),
    /// The acknowledgment is missing.
    Silence(Target),
    /// A frame without an acknowledgment request was sent. Any answer continues the frame's
    /// service, to send it after further probes; without an answer the frame is delivered.
    Sent,
    /// The channel was busy, and the frame was not sent. [`Move::Wait`] continues its service,
    /// [`Move::Silence`] fails the attempt for lack of an acknowledgment, and any other answer
    /// fails it as on a busy channel.
    Blocked,
    /// The attempt has failed. [`Move::Wait`] delays the next attempt, any other answer drops the
    /// frame, and without an answer the retransmission rules of the MAC apply.
    Failed {
        /// Number of transmissions without an acknowledgment.
        transmissions: u8,
    },
    /// The MAC has returned the frame to the upper layer.
    Preempted,
    /// The frame's service has ended.
    Ended,
}

/// A [`Cycle`] with the state that the [`Mac`](crate::Mac) keeps for it.
#[derive(Clone, Debug)]
pub struct Cycled<C> {
    /// The cycle, which makes the decisions.
    pub cycle: C,
    /// The constant properties of the cycle's method.
    pub properties: CycleProperties,
    pub(crate) not_before: Instant,
    pub(crate) short: FrameBuf,
    pub(crate) probes: bool,
}

impl<C> Cycled<C> {
    /// Returns `cycle` with the MAC's initial state for it.
    pub const fn new(cycle: C, properties: CycleProperties) -> Self {
        Cycled {
            cycle,
            properties,
            not_before: Instant::ZERO,
            short: FrameBuf::new(),
            probes: false,
        }
    }
}

/// The decisions of a method whose receivers are mostly off. The method needs a radio with
/// [`auto_ack`](crate::RadioCaps::auto_ack) and without `csma` and `retries`.
///
/// `W` is the type of the method's own radio jobs, [`Access::Work`](super::Access::Work).
pub trait Cycle<W> {
    /// Returns the demands on the MAC. The submitted frame, or the last one, is `target`.
    fn status(&self, target: &Target) -> CycleStatus;

    /// Continues the receiver's cycle. The MAC carries out the returned task.
    fn poll(&mut self, now: Instant) -> Option<Errand<W>>;

    /// Handles an event; returns an answer, which has only the effects that [`CycleEvent`] states.
    fn on_event(&mut self, now: Instant, event: CycleEvent<'_>, rng: &mut Rng) -> Option<Move<W>>;

    /// Writes the method's header to `area`, which follows the MAC header of `mac_header_len`
    /// bytes. `src` and `dst` are the addresses of the frame. Returns how many bytes of `area` the
    /// frame uses: the method's header, `payload_len`, and any padding.
    fn write_header(
        &self,
        src: Address,
        dst: Address,
        mac_header_len: usize,
        area: &mut [u8],
        payload_len: usize,
    ) -> usize;

    /// Returns the role of a data frame with this payload.
    fn read<'f>(&self, payload: &'f [u8]) -> Meaning<'f>;

    /// Returns the content of this node's strobe or probe after the MAC header, and its length.
    fn short(&self, from: Address) -> ([u8; 6], usize);
}

impl<W> Cycle<W> for Infallible {
    fn status(&self, _: &Target) -> CycleStatus {
        match *self {}
    }

    fn poll(&mut self, _: Instant) -> Option<Errand<W>> {
        match *self {}
    }

    fn on_event(&mut self, _: Instant, _: CycleEvent<'_>, _: &mut Rng) -> Option<Move<W>> {
        match *self {}
    }

    fn write_header(&self, _: Address, _: Address, _: usize, _: &mut [u8], _: usize) -> usize {
        match *self {}
    }

    fn read<'f>(&self, _: &'f [u8]) -> Meaning<'f> {
        match *self {}
    }

    fn short(&self, _: Address) -> ([u8; 6], usize) {
        match *self {}
    }
}
