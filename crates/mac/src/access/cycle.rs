//! Methods whose receivers are mostly off: a sender repeats a frame until its neighbour wakes
//! up, or waits for the neighbour's probe, which says that it listens.
//!
//! A [`Cycle`] decides; the [`Mac`](crate::Mac) carries out. Three kinds of calls come to it:
//! about this node's own receiver, about what frames contain, and about the frame in service.

use core::convert::Infallible;

use redpoll_base::{Duration, Instant, Rng};
use redpoll_wire::ieee802154::Address;

use crate::FrameBuf;

/// The result of a channel assessment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// The channel is clear.
    Clear,
    /// Energy.
    Busy,
    /// A frame whose beginning the radio has heard.
    Receiving,
}

/// The result of a work that only such a method has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CycledResult {
    /// One of the copies of a repeated frame has been acknowledged.
    Answered {
        /// The Imm-ACK's frame-pending bit.
        frame_pending: bool,
        /// How long ago that copy began to be sent.
        begun_ago: Duration,
    },
    /// The channel has been assessed.
    Assessed(Channel),
}

impl From<Infallible> for CycledResult {
    fn from(none: Infallible) -> Self {
        match none {}
    }
}

/// The next action of the MAC for the frame in service. `W` is a work of the radio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move<W> {
    /// Wait until this time.
    Wait(Instant),
    /// Listen until then, unless a probe comes.
    Await(Instant),
    /// Assess the channel by this work, which ends in [`CycledResult::Assessed`].
    Assess(W),
    /// Send the frame once.
    Send {
        /// Whether the channel is assessed first.
        cca: bool,
    },
    /// Repeat what [`Cycle::cargo`] has put into the radio by this work, which ends as a
    /// transmission does, or in [`CycledResult::Answered`].
    Repeat(W),
    /// The attempt fails as on a busy channel.
    Collision,
    /// It fails as without an acknowledgement.
    Silence,
    /// The broadcast has been sent to every neighbour that asked for it.
    Done,
}

/// The content that the radio must have loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cargo {
    /// Nothing yet.
    Nothing,
    /// The frame in service.
    Frame,
    /// The short frame of [`Cycle::short`], which is repeated in its place.
    Short,
}

/// A task of the radio for the receiver's cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Errand<W> {
    /// Assess the channel by this work.
    Assess(W),
    /// Send a probe: the short frame of [`Cycle::short`].
    Probe,
}

/// The frame in service: its addressee and its circumstances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// Its addressee.
    pub dst: Address,
    /// The frame before it promised this one to the same neighbour, which has
    /// acknowledged that.
    pub continues: bool,
}

impl Target {
    /// Whether the frame is a broadcast.
    pub fn is_broadcast(&self) -> bool {
        self.dst == Address::BROADCAST
    }
}

/// The role of a received data frame in a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning<'f> {
    /// Data for the layer above.
    Data(&'f [u8]),
    /// A short frame that is repeated until this node answers it.
    Strobe,
    /// A neighbour says that it listens.
    Probe,
    /// No frame of this method.
    Malformed,
}

/// The state that a [`Mac`](crate::Mac) stores in its [`Cycle`].
#[derive(Clone, Debug)]
pub struct CycleState {
    /// The earliest start of the next attempt.
    pub(crate) not_before: Instant,
    /// The strobe or probe that is being loaded.
    pub(crate) short: FrameBuf,
    pub(crate) probes: bool,
}

impl CycleState {
    /// The state of a node that starts.
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
/// `W` are the radio's works that such a method has, [`Access::Work`](super::Access::Work).
/// By default the receiver is always on, and a frame is sent after one channel assessment.
pub trait Cycle<W> {
    /// The state that the MAC stores here.
    fn state(&self) -> &CycleState;

    /// As [`Self::state`].
    fn state_mut(&mut self) -> &mut CycleState;

    // --- this node's receiver ---

    /// Whether the receiver is mostly off.
    fn sleeps(&self) -> bool {
        false
    }

    /// Whether the receiver is to be on between works.
    fn listens(&self) -> bool {
        true
    }

    /// The time of the next [`Self::poll`].
    fn next(&self) -> Option<Instant> {
        None
    }

    /// Continues the receiver's cycle. The MAC carries out the returned task.
    fn poll(&mut self, now: Instant) -> Option<Errand<W>> {
        let _ = now;
        None
    }

    /// The assessment is done that the receiver's cycle needed.
    fn on_assessed(&mut self, now: Instant, channel: Channel, rng: &mut Rng) {
        let _ = (now, channel, rng);
    }

    /// The probe that the receiver's cycle needed has been sent, or could not be.
    fn on_probed(&mut self, now: Instant) {
        let _ = now;
    }

    /// A frame for this node has come; `more`: its sender has another.
    fn on_frame(&mut self, now: Instant, more: bool) {
        let _ = (now, more);
    }

    /// A strobe for this node has come.
    fn on_strobe(&mut self, now: Instant) {
        let _ = now;
    }

    /// The payload of a data frame for another node was heard.
    fn on_overheard(&mut self, payload: &[u8]) {
        let _ = payload;
    }

    // --- contents of frames ---

    /// Whether frames to a neighbour ask for an acknowledgement.
    fn asks_for_acks(&self) -> bool {
        true
    }

    /// Whether a frame that asks for no acknowledgement can come more than once.
    fn repeats_all(&self) -> bool {
        false
    }

    /// The bytes that the method puts before the payload of a data frame.
    fn header_len(&self) -> usize {
        0
    }

    /// Writes them into `area`, which follows the MAC header of `mac_header_len` bytes.
    /// `addresses` are the sender's and the receiver's. Returns the length of the frame's part
    /// in `area`.
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

    /// The role of a data frame with this payload.
    fn read<'f>(&self, payload: &'f [u8]) -> Meaning<'f> {
        Meaning::Data(payload)
    }

    /// The bytes of a strobe or probe of this node behind the MAC header, and their number.
    fn short(&self, from: Address) -> ([u8; 6], usize) {
        let _ = from;
        ([0; 6], 0)
    }

    // --- the frame in service ---

    /// A frame comes into service. Returns the start of its first attempt.
    fn on_submit(&mut self, now: Instant, target: &Target) -> Instant {
        let _ = target;
        now
    }

    /// The content that the radio must have before the next step.
    fn cargo(&self, target: &Target) -> Cargo {
        let _ = target;
        Cargo::Frame
    }

    /// The next step.
    fn advance(&mut self, now: Instant, target: &Target) -> Move<W> {
        let _ = (now, target);
        Move::Send { cca: true }
    }

    /// Whether the frame has the channel, so that the receiver's cycle waits.
    fn has_channel(&self) -> bool {
        false
    }

    /// Whether it waits until its receiver says that it listens.
    fn awaits_probe(&self) -> bool {
        false
    }

    /// A channel assessment before a transmission has ended. Returns [`Move::Wait`] until the
    /// next step; any other result ends the attempt as on a busy channel.
    fn on_sensed(&mut self, now: Instant, channel: Channel) -> Move<W> {
        let _ = (now, channel);
        Move::Collision
    }

    /// A probe has come from `src`; whether the frame goes out now.
    fn on_probe(&mut self, src: Address, target: &Target) -> bool {
        let _ = (src, target);
        false
    }

    /// A strobe has been answered.
    fn on_strobe_answer(&mut self, now: Instant, target: &Target) {
        let _ = (now, target);
    }

    /// A copy that began so long ago has been acknowledged.
    fn on_answer(&mut self, now: Instant, target: &Target, begun_ago: Duration) {
        let _ = (now, target, begun_ago);
    }

    /// A frame that was sent without repetition has been acknowledged.
    fn on_ack(&mut self, now: Instant, target: &Target) {
        let _ = (now, target);
    }

    /// No acknowledgement has come.
    fn on_silence(&mut self, now: Instant, target: &Target) {
        let _ = (now, target);
    }

    /// The channel was busy. Returns whether the attempt fails as on a busy channel (true) or as
    /// without an acknowledgement.
    fn on_collision(&mut self) -> bool {
        true
    }

    /// A frame that asks for no acknowledgement has been sent, or its channel was busy. Returns
    /// whether it waits for more probes.
    fn goes_on(&mut self) -> bool {
        false
    }

    /// The frame is given back.
    fn on_preempted(&mut self) {}

    /// The service of the frame ends.
    fn on_end(&mut self, now: Instant) {
        let _ = now;
    }

    // --- retransmissions ---

    /// Whether [`Self::again`] replaces the retransmission rules of the MAC.
    fn has_layer(&self) -> bool {
        false
    }

    /// The time of the next retransmission after `transmissions` without an acknowledgement;
    /// `None`: the frame is given up.
    fn again(&self, now: Instant, transmissions: u8, rng: &mut Rng) -> Option<Instant> {
        let _ = (now, transmissions, rng);
        None
    }

    /// The number of neighbours for which the layer above may hold packets; 0: no limit.
    fn neighbour_queues(&self) -> usize {
        0
    }
}

/// The cycle of a method that has none.
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
