//! Methods whose receivers are mostly off: a sender repeats a frame until its neighbour wakes up,
//! or waits for the probe by which the neighbour announces that it listens.
//!
//! A [`Cycle`] decides, and the [`Mac`](crate::Mac) carries out the decisions. Its calls are about
//! this node's own receiver, about the contents of frames, and about the frame in service.

use core::convert::Infallible;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_wire::ieee802154::Address;

use crate::FrameBuf;

/// The result of a channel assessment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// No signal.
    Clear,
    /// The radio measures energy.
    Busy,
    /// The radio is receiving a frame.
    Receiving,
}

/// The result of a radio job that only such a method has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CycledResult {
    /// A copy of a repeated frame was acknowledged.
    Answered {
        /// The Imm-ACK's frame-pending bit.
        frame_pending: bool,
        /// Time since the start of that copy.
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

/// The next action of the MAC for the frame in service. `W` is a job of the radio.
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
    /// Repeat the loaded [`Cycle::cargo`] by this job. It ends as a transmission does, or in
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
    /// The frame in service.
    Frame,
    /// The short frame of [`Cycle::short`], which is repeated instead.
    Short,
}

/// A task of the radio for the receiver's cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Errand<W> {
    /// Assess the channel by this job.
    Assess(W),
    /// Send a probe: the short frame of [`Cycle::short`].
    Probe,
}

/// The frame in service: its addressee and its circumstances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// Destination address.
    pub dst: Address,
    /// Whether the previous frame to the same neighbour announced this one, and was acknowledged.
    pub continues: bool,
}

impl Target {
    /// Returns whether the frame is a broadcast.
    pub fn is_broadcast(&self) -> bool {
        self.dst == Address::BROADCAST
    }
}

/// The role of a received data frame in a method.
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

/// The state that a [`Mac`](crate::Mac) stores in its [`Cycle`].
#[derive(Clone, Debug)]
pub struct CycleState {
    /// Earliest start of the next attempt.
    pub(crate) not_before: Instant,
    /// The strobe or probe being loaded.
    pub(crate) short: FrameBuf,
    pub(crate) probes: bool,
}

impl CycleState {
    /// Returns the state of a node that starts.
    pub const fn new() -> Self {
        CycleState {
            not_before: Instant::ZERO,
            short: FrameBuf::new(),
            probes: false,
        }
    }
}

impl Default for CycleState {
    fn default() -> Self {
        CycleState::new()
    }
}

/// The decisions of a method whose receivers are mostly off. It needs a radio with
/// [`auto_ack`](crate::RadioCaps::auto_ack) and without `csma` and `retries`.
///
/// `W` are the radio jobs that such a method has, [`Access::Work`](super::Access::Work). By default
/// the receiver is always on, and a frame is sent after one channel assessment.
pub trait Cycle<W> {
    /// Returns the state that the MAC stores here.
    fn state(&self) -> &CycleState;

    /// Returns the state as [`Self::state`].
    fn state_mut(&mut self) -> &mut CycleState;

    // --- this node's receiver ---

    /// Returns whether the receiver is mostly off.
    fn sleeps(&self) -> bool {
        false
    }

    /// Returns whether the receiver is on between jobs of the radio.
    fn listens(&self) -> bool {
        true
    }

    /// Returns the time of the next [`Self::poll`].
    fn next(&self) -> Option<Instant> {
        None
    }

    /// Continues the receiver's cycle. The MAC carries out the returned task.
    fn poll(&mut self, now: Instant) -> Option<Errand<W>> {
        let _ = now;
        None
    }

    /// Handles the assessment that the receiver's cycle requested.
    fn on_assessed(&mut self, now: Instant, channel: Channel, rng: &mut Rng) {
        let _ = (now, channel, rng);
    }

    /// Handles the end of the requested probe, sent or not.
    fn on_probed(&mut self, now: Instant) {
        let _ = now;
    }

    /// Handles a frame for this node; `more` is whether its sender has another.
    fn on_frame(&mut self, now: Instant, more: bool) {
        let _ = (now, more);
    }

    /// Handles a strobe for this node.
    fn on_strobe(&mut self, now: Instant) {
        let _ = now;
    }

    /// Handles the payload of an overheard data frame for another node.
    fn on_overheard(&mut self, payload: &[u8]) {
        let _ = payload;
    }

    // --- frame contents ---

    /// Returns whether frames to a neighbour request an acknowledgment.
    fn asks_for_acks(&self) -> bool {
        true
    }

    /// Returns whether a frame without an acknowledgment request may arrive repeatedly.
    fn repeats_all(&self) -> bool {
        false
    }

    /// Returns the bytes of the method's header before the payload of a data frame.
    fn header_len(&self) -> usize {
        0
    }

    /// Writes the method's header to `area`, which follows the MAC header of `mac_header_len`
    /// bytes. `addresses` are the sender's and the receiver's. Returns the length of the frame's
    /// part in `area`.
    fn write_header(
        &self,
        addresses: (Address, Address),
        mac_header_len: usize,
        area: &mut [u8],
        payload_len: usize,
    ) -> usize {
        let _ = (addresses, mac_header_len, area);
        payload_len
    }

    /// Returns the role of a data frame with this payload.
    fn read<'f>(&self, payload: &'f [u8]) -> Meaning<'f> {
        Meaning::Data(payload)
    }

    /// Returns the bytes after the MAC header of this node's strobe or probe, and their number.
    fn short(&self, from: Address) -> ([u8; 6], usize) {
        let _ = from;
        ([0; 6], 0)
    }

    // --- the frame in service ---

    /// Handles a new frame in service; returns the start of its first attempt.
    fn on_submit(&mut self, now: Instant, target: &Target) -> Instant {
        let _ = target;
        now
    }

    /// Returns the content that the radio must have before the next step.
    fn cargo(&self, target: &Target) -> Cargo {
        let _ = target;
        Cargo::Frame
    }

    /// Returns the next step.
    fn advance(&mut self, now: Instant, target: &Target) -> Move<W> {
        let _ = (now, target);
        Move::Send { cca: true }
    }

    /// Returns whether the frame occupies the channel, so that the receiver's cycle waits.
    fn has_channel(&self) -> bool {
        false
    }

    /// Returns whether the frame waits for its receiver's probe.
    fn awaits_probe(&self) -> bool {
        false
    }

    /// Handles a channel assessment before a transmission. Returns [`Move::Wait`] until the next
    /// step; any other result ends the attempt as on a busy channel.
    fn on_sensed(&mut self, now: Instant, channel: Channel) -> Move<W> {
        let _ = (now, channel);
        Move::Collision
    }

    /// Handles a probe from `src`; returns whether the frame is sent now.
    fn on_probe(&mut self, src: Address, target: &Target) -> bool {
        let _ = (src, target);
        false
    }

    /// Handles an answered strobe.
    fn on_strobe_answer(&mut self, now: Instant, target: &Target) {
        let _ = (now, target);
    }

    /// Handles the acknowledgment of a copy that began `begun_ago` ago.
    fn on_answer(&mut self, now: Instant, target: &Target, begun_ago: Duration) {
        let _ = (now, target, begun_ago);
    }

    /// Handles the acknowledgment of a frame that was not repeated.
    fn on_ack(&mut self, now: Instant, target: &Target) {
        let _ = (now, target);
    }

    /// Handles a missing acknowledgment.
    fn on_silence(&mut self, now: Instant, target: &Target) {
        let _ = (now, target);
    }

    /// Handles a busy channel. Returns whether the attempt fails as on a busy channel (true) or for
    /// lack of an acknowledgment.
    fn on_collision(&mut self) -> bool {
        true
    }

    /// Handles the end of a frame without an acknowledgment request, sent or not. Returns whether
    /// it waits for more probes.
    fn goes_on(&mut self) -> bool {
        false
    }

    /// Handles that the MAC returns the frame to the upper layer.
    fn on_preempted(&mut self) {}

    /// Handles the end of the frame's service.
    fn on_end(&mut self, now: Instant) {
        let _ = now;
    }

    // --- retransmissions ---

    /// Returns whether [`Self::again`] replaces the retransmission rules of the MAC.
    fn has_layer(&self) -> bool {
        false
    }

    /// Returns the time of the next retransmission after `transmissions` without an acknowledgment;
    /// `None` to drop the frame.
    fn again(&self, now: Instant, transmissions: u8, rng: &mut Rng) -> Option<Instant> {
        let _ = (now, transmissions, rng);
        None
    }

    /// Returns the number of neighbours for which the upper layer may hold packets; 0 for no limit.
    fn neighbour_queues(&self) -> usize {
        0
    }
}

/// The cycle of a method without one.
#[derive(Clone, Copy, Debug)]
pub enum NoCycle {}

impl<W> Cycle<W> for NoCycle {
    fn state(&self) -> &CycleState {
        match *self {}
    }

    fn state_mut(&mut self) -> &mut CycleState {
        match *self {}
    }
}
